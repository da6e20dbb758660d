// SPDX-License-Identifier: MIT
// What one attempted step takes, for people: arithmetic of the model, the method's sums, the linear
// equations of an implicit method. The error's norm and the step control are left out: they are the
// same few operations per state for every method.
#include "codegen/codegen.h"

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

// Products that are added, for each state.
static uint32_t sums_of(const struct method *m) {
    uint32_t n = nonzeros(m->e, m->stages) + nonzeros(m->e2, m->stages);
    for (uint32_t i = 0; i <= m->stages; i++) {
        enum stage_place place = method_place(m, i);
        bool last = i == m->stages, made = place == STAGE_NEW || (m->scheme == EXPLICIT && !last);
        n += made ? nonzeros(last ? m->b : m->a[i], i) : place == STAGE_NEXT;
        n += last || m->scheme == EXPLICIT ? 0 : nonzeros(m->coupling[i], i) + 1;
    }
    return n;
}

static struct op_counts linear_cost(const struct linear *l, const struct method *m) {
    uint32_t factor = (uint32_t)l->lu.factor + l->lu.given, solve = (uint32_t)l->lu.solve;
    return (struct op_counts){
        .adds = factor + solve * m->stages, .muls = factor + solve * m->stages, .divs = l->lu.size};
}

struct op_counts codegen_cost(struct system *s, const struct method *m, const struct linear *l,
                              struct arena *arena) {
    struct op_counts sum = {0}, rhs = dag_count(&s->dag, s->rhs, s->states, arena);
    uint32_t products = sums_of(m) * s->states, implicit = m->scheme != EXPLICIT;
    add_times(&sum, rhs, method_evaluations(m) - implicit);
    add_times(&sum, (struct op_counts){.adds = products, .muls = products}, 1);
    if (!implicit)
        return sum;
    add_times(&sum, dag_count(&s->dag, l->roots, l->count, arena), 1);
    add_times(&sum, linear_cost(l, m), 1);
    return sum;
}
