// SPDX-License-Identifier: MIT
// What one attempted step takes, for people: arithmetic of the model, the method's sums, the linear
// equations of an implicit method. The norms and the step control are left out: they are the same
// few operations per state for every method. Newton iterations are assumed to be COST_ITERATIONS
// for each stage, which is what most steps take.
#include "ode/codegen/codegen.h"

// A method's part of it. A complex number counts as four products.
struct work {
    uint32_t evaluations;    // besides the one that goes with the Jacobian
    uint32_t products, sums; // for each state: products that are added, and sums alone
    uint32_t factors, pivots, solves;
};

static void add_times(struct op_counts *sum, struct op_counts c, uint32_t times) {
    sum->adds += c.adds * times;
    sum->muls += c.muls * times;
    sum->divs += c.divs * times;
    sum->functions += c.functions * times;
}

static uint32_t nonzeros(const double *weights, uint32_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += weights[i] != 0;
    return n;
}

static uint32_t errors_of(const struct method *m) {
    return nonzeros(m->e, m->stages) + nonzeros(m->e2, m->stages);
}

static struct work explicit_work(const struct method *m) {
    struct work w = {.evaluations = method_evaluations(m), .products = errors_of(m)};
    for (uint32_t i = 0; i < m->stages; i++)
        w.products += nonzeros(m->a[i], i);
    if (method_place(m, m->stages) != STAGE_SAME)
        w.products += nonzeros(m->b, m->stages);
    return w;
}

static struct work rosenbrock_work(const struct method *m) {
    struct work w = {.evaluations = method_evaluations(m) - 1,
                     .products = errors_of(m),
                     .factors = 1,
                     .pivots = 1,
                     .solves = m->stages};
    for (uint32_t i = 0; i <= m->stages; i++) {
        enum stage_place place = method_place(m, i);
        bool last = i == m->stages;
        w.products += place == STAGE_NEW ? nonzeros(last ? m->b : m->a[i], i) : place == STAGE_NEXT;
        w.products += last ? 0 : nonzeros(m->coupling[i], i) + 1;
    }
    if (nonzeros(m->residue, m->stages)) {
        w.products += nonzeros(m->residue, m->stages);
        w.sums += 2;
        w.solves++;
    }
    return w;
}

static struct work dirk_work(const struct method *m) {
    uint32_t first = m->c[0] == 0;
    struct work w = {.products = errors_of(m) + first, .factors = 1, .pivots = 1};
    for (uint32_t i = first; i < m->stages; i++) {
        double predict[METHOD_STAGES] = {0};
        method_predict(m, i, predict);
        w.evaluations += COST_ITERATIONS;
        w.products += nonzeros(m->a[i], i) + 2 * COST_ITERATIONS; // an argument, a residual
        w.products += i == first ? 3u : nonzeros(predict, i);     // where iterations start
        w.sums += COST_ITERATIONS;
        w.solves += COST_ITERATIONS + (i == first ? 1u : 0u);
    }
    w.products += method_stiffly_accurate(m) ? 1 : nonzeros(m->b, m->stages);
    w.solves += m->filtered ? 1u : 0u;
    return w;
}

// The start is solved for as an iteration is, without evaluations.
static struct work collocation_work(const struct method *m) {
    uint32_t s = m->stages, pairs = s / 2, single = s % 2, rounds = COST_ITERATIONS + 1;
    struct work w = {.evaluations = COST_ITERATIONS * s, .factors = 4 * pairs, .pivots = pairs};
    w.products = s + (2 * COST_ITERATIONS + 1) * s * s; // t and ti
    w.products += rounds * (single + 4 * pairs) + nonzeros(m->b, s);
    w.sums = COST_ITERATIONS * s + rounds * s;
    w.solves = rounds * (single + 4 * pairs);
    if (single || m->embedded)
        w.factors++, w.pivots++;
    if (m->embedded)
        w.products += errors_of(m) + 1, w.solves++;
    return w;
}

static struct work work_of(const struct method *m) {
    static struct work (*const works[])(const struct method *) = {[EXPLICIT] = explicit_work,
                                                                  [ROSENBROCK] = rosenbrock_work,
                                                                  [DIRK] = dirk_work,
                                                                  [COLLOCATION] = collocation_work};
    return works[m->scheme](m);
}

struct op_counts codegen_cost(struct system *s, const struct method *m, const struct linear *l,
                              struct arena *arena) {
    struct op_counts sum = {0};
    struct work w = work_of(m);
    uint64_t products = (uint64_t)w.products * s->states +
                        w.factors * (l->lu.factor + l->lu.given) + w.solves * l->lu.solve;
    add_times(&sum, dag_count(&s->dag, s->rhs, s->states, arena), w.evaluations);
    if (m->scheme != EXPLICIT)
        add_times(&sum, dag_count(&s->dag, l->roots, l->count, arena), 1);
    sum.adds += products + (uint64_t)w.sums * s->states;
    sum.muls += products;
    sum.divs += (uint64_t)w.pivots * l->lu.size;
    return sum;
}
