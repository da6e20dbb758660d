// SPDX-License-Identifier: MIT
// What a driver or a table is at one time, for those who look at a model without a run.
#include "ode/run/driver.h"

#include <math.h>
#include <stdlib.h>

// Samples, and what is beyond them.
struct samples {
    enum spline_kind kind;
    enum driver_ends ends;
    bool extends; // the first and the last polynomial go on
    uint64_t count;
    const double *t, *v;
};

// The number of the interval that t is in, the first or the last one where it is in none.
static uint64_t interval_of(const struct samples *s, double t) {
    uint64_t low = 0, high = s->count - 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (s->t[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double polynomial(const struct samples *s, double t) {
    uint32_t degree = spline_degrees[s->kind];
    uint64_t i = interval_of(s, t);
    double *c = malloc((s->count - 1) * (degree + 1u) * sizeof *c), sum = (double)NAN;
    if (c && spline_make(s->kind, s->count, s->t, s->v, c)) {
        sum = 0;
        for (uint32_t k = degree + 1; k-- > 0;)
            sum = sum * (t - s->t[i]) + c[i * (degree + 1u) + k];
    }
    free(c);
    return sum;
}

static double value_at(const struct samples *s, double t) {
    double first = s->t[0], last = s->t[s->count - 1];
    if (s->ends == ENDS_periodic && last > first)
        t = first + fmod(fmod(t - first, last - first) + (last - first), last - first);
    bool held = s->kind == SPLINE_held, outside = t < first || (held ? t >= last : t > last);
    if (outside && !s->extends) {
        bool end = t == last; // of a held signal its last sample is the value from there on
        if (s->ends == ENDS_error && !end)
            return (double)NAN;
        return s->ends == ENDS_zero ? 0 : s->v[t < first ? 0 : s->count - 1];
    }
    return s->count > 1 ? polynomial(s, t) : s->v[0];
}

static double table_at(struct model *m, uint32_t signal, double at) {
    const struct signal *g = &m->signals.items[signal];
    double *v = malloc(2 * (size_t)g->count * sizeof *v), *t = v ? v + g->count : NULL,
           value = (double)NAN;
    struct samples s = {.kind = SPLINE_linear, .extends = true, .count = g->count, .t = t, .v = v};
    for (uint32_t i = 0; v && i < g->count; i++)
        t[i] = g->lo + i * ((g->hi - g->lo) / (g->count - 1));
    if (v && model_table(m, signal, v, NULL) == SHOAL_OK)
        value = value_at(&s, at);
    free(v);
    return value;
}

double driver_value(struct model *m, struct driver *const *driver, uint32_t signal, double at) {
    if (signal >= m->signals.count)
        return (double)NAN;
    if (m->signals.items[signal].table)
        return table_at(m, signal, at);
    const struct driver *d = driver[signal];
    if (!d || d->by) // there are none, or a run chooses
        return (double)NAN;
    struct samples s = {d->kind, d->ends, false, d->signal->count, d->signal->t, d->signal->v};
    return value_at(&s, at);
}
