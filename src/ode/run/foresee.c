// SPDX-License-Identifier: MIT
// See foresee.h. What makes a step a hit is what kernels/ode/stiff.h says; here every attempt is
// looked at.
#include "ode/run/foresee.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTEMPTS = 600,
    WORK = 400000, // nodes that are evaluated, about two milliseconds
    HITS = 15,
    MISSES = 6,
    LEFT = 2000, // steps
};

struct trial {
    const struct plan *plan;
    const struct system *system;
    const struct method *method;
    uint32_t states;
    double t, h;
    double *par, *derived, *values; // of the model, and of all nodes
    double *y, *y1;                 // [states]
    double *k;                      // [stages][states]
};

static double *slope(const struct trial *r, uint32_t stage) {
    return r->k + (size_t)stage * r->states;
}

static void evaluate(const struct trial *r, double t, const double *y, double *out) {
    struct leaf_values v = {.t = t, .state = y, .par = r->par, .derived = r->derived};
    dag_evaluate(&r->system->dag, &v, r->values);
    for (uint32_t j = 0; j < r->states; j++)
        out[j] = r->values[r->system->rhs[j]];
}

// Root mean square of a vector in units of the tolerance, squared and times the states.
static double square(const struct trial *r, const double *x) {
    const struct tolerances *tol = &r->plan->tolerances[PLAN_FIRST];
    double sum = 0;
    for (uint32_t j = 0; j < r->states; j++) {
        double e = x[j] / (tol->rtol * fabs(r->y[j]) + tol->atol[j]);
        sum += e * e;
    }
    return sum;
}

// h times a sum over the first stages; `from` may be NULL.
static void add_up(const struct trial *r, const double *weight, uint32_t stages, const double *from,
                   double *out) {
    for (uint32_t j = 0; j < r->states; j++) {
        double sum = 0;
        for (uint32_t i = 0; i < stages; i++)
            sum += weight[i] * slope(r, i)[j];
        out[j] = (from ? from[j] : 0) + r->h * sum;
    }
}

// Where the model's run begins. Initial values that are formulas may need the derived ones.
static void start(struct trial *r) {
    const struct model *m = r->plan->model;
    const struct system *s = r->system;
    for (uint32_t i = 0; i < s->pars; i++)
        r->par[i] = m->symbols.items[m->pars.items[i]].value;
    for (uint32_t i = 0; i < s->states; i++)
        r->y[i] = m->symbols.items[m->states.items[i]].value;
    r->t = r->plan->t0;
    struct leaf_values v = {.t = r->t,
                            .state = r->y,
                            .par = r->par,
                            .derive = s->derive,
                            .init = s->starts ? s->init : NULL};
    dag_evaluate(&s->dag, &v, r->values);
    for (uint32_t i = 0; i < s->derived; i++)
        r->derived[i] = r->values[s->derive[i]];
    for (uint32_t i = 0; i < s->states; i++)
        if (s->init[i] != NODE_NONE)
            r->y[i] = r->values[s->init[i]];
    evaluate(r, r->t, r->y, slope(r, 0));
    double first = 0.01 * sqrt(square(r, r->y) / square(r, slope(r, 0))),
           all = fabs(r->plan->t1 - r->t);
    r->h = copysign(first > 0 && first < all ? first : 1e-6 * all, r->plan->t1 - r->t);
}

// Whether the last two stages show an eigenvalue at the end of stability, and a long way is left.
static bool is_hit(const struct trial *r, double *scratch) {
    const struct method *m = r->method;
    const uint32_t last = m->stages - 1;
    double apart[METHOD_STAGES], limit = 0.9 * method_stability(m);
    method_apart(m, apart);
    add_up(r, apart, last, NULL, scratch);
    double states = square(r, scratch);
    for (uint32_t j = 0; j < r->states; j++)
        scratch[j] = r->h * (slope(r, last)[j] - slope(r, last - 1)[j]);
    return square(r, scratch) > limit * limit * states &&
           fabs(r->plan->t1 - r->t) > LEFT * fabs(r->h);
}

// One attempt: the error in tolerances, by which the step and its size are judged.
static double attempt(struct trial *r, double *scratch) {
    const struct method *m = r->method;
    for (uint32_t i = 1; i < m->stages; i++) {
        add_up(r, m->a[i], i, r->y, r->y1);
        evaluate(r, r->t + m->c[i] * r->h, r->y1, slope(r, i));
    }
    add_up(r, m->e, m->stages, NULL, scratch);
    return sqrt(square(r, scratch) / r->states);
}

// The last stage is where the step ends.
static void take_step(struct trial *r) {
    r->t += r->h;
    memcpy(r->y, r->y1, r->states * sizeof *r->y);
    memcpy(slope(r, 0), slope(r, r->method->stages - 1), r->states * sizeof *r->k);
}

static bool is_stiff(struct trial *r, uint32_t attempts, double *scratch) {
    uint32_t hits = 0, misses = 0;
    for (uint32_t i = 0; i < attempts && hits < HITS; i++) {
        double left = r->plan->t1 - r->t, error = attempt(r, scratch);
        if (!isfinite(error) || fabs(left) <= LEFT * fabs(r->h))
            return false;
        bool hit = is_hit(r, scratch);
        misses = hit ? 0 : misses + 1;
        hits = misses == MISSES ? 0 : hits + hit;
        if (error <= 1)
            take_step(r);
        double factor = 0.9 * pow(error, -1.0 / (r->method->embedded + 1));
        r->h *= factor < 0.2 ? 0.2 : factor > 5 ? 5 : factor;
    }
    return hits == HITS;
}

bool foresee_stiff(const struct plan *p, const struct system *s) {
    struct trial r = {
        .plan = p, .system = s, .method = p->kernel[PLAN_FIRST].method, .states = s->states};
    uint32_t stages = r.method->stages, n = s->states,
             attempts = WORK / (stages * (s->dag.nodes.count + 1));
    if (!plan_takes_over(p) || !r.method->fsal || s->algebraic || !attempts)
        return false;
    double *room =
        calloc(s->pars + s->derived + s->dag.nodes.count + (stages + 3) * (size_t)n, sizeof *room);
    if (!room)
        return false;
    r.par = room;
    r.derived = r.par + s->pars;
    r.values = r.derived + s->derived;
    r.y = r.values + s->dag.nodes.count;
    r.y1 = r.y + n;
    r.k = r.y1 + n;
    start(&r);
    bool stiff = is_stiff(&r, attempts < ATTEMPTS ? attempts : ATTEMPTS, r.k + (size_t)stages * n);
    free(room);
    return stiff;
}
