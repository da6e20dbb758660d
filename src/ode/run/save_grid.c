// SPDX-License-Identifier: MIT
// When to save: the common grid of a series.
#include "ode/run/run.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES_MOST = 1 << 28 };

static shoal_code make_room(struct save_grid *g, double count, struct report *r) {
    if (!(count >= 1))
        return report_error(r, SHOAL_INPUT, "--save: no sample lies between t0 + settle and t1");
    if (!(count <= SAMPLES_MOST))
        return report_error(r, SHOAL_INPUT, "--save: %.0f samples a run are too many", count);
    g->count = (uint64_t)count;
    g->times = malloc(sizeof(double) * (size_t)g->count);
    if (!g->times)
        return report_error(r, SHOAL_MEMORY, "out of memory for %.0f sample times", count);
    return SHOAL_OK;
}

static shoal_code grid_n(const shoal_options *o, double start, struct save_grid *g,
                         struct report *r) {
    shoal_code code = make_room(g, (double)o->save_n, r);
    if (code != SHOAL_OK)
        return code;
    double span = o->t1 - start, last = (double)(g->count - 1);
    for (uint64_t i = 0; i < g->count; i++)
        g->times[i] = start + span * ((double)i / last);
    g->times[g->count - 1] = o->t1; // exactly, and the only sample of n=1
    return SHOAL_OK;
}

// t0 + i every, from the first that is not before t0 + settle; one that misses t1 by rounding only
// is t1.
static shoal_code grid_every(const shoal_options *o, double start, struct save_grid *g,
                             struct report *r) {
    double dir = o->t1 < o->t0 ? -1 : 1, step = o->save_every, slack = 1e-9;
    double first = ceil((start - o->t0) * dir / step - slack);
    double last = floor((o->t1 - o->t0) * dir / step + slack);
    shoal_code code = make_room(g, last - first + 1, r);
    if (code != SHOAL_OK)
        return code;
    for (uint64_t i = 0; i < g->count; i++) {
        double t = o->t0 + dir * step * (first + (double)i);
        g->times[i] = fabs(t - o->t1) <= slack * step || (o->t1 - t) * dir < 0 ? o->t1 : t;
    }
    return SHOAL_OK;
}

static shoal_code grid_at(const shoal_options *o, double start, const double *at, size_t count,
                          struct save_grid *g, struct report *r) {
    double dir = o->t1 < o->t0 ? -1 : 1;
    size_t skip = 0;
    while (skip < count && (at[skip] - start) * dir < 0)
        skip++;
    if (skip)
        report_note(r, "--save at: %zu of %zu times are before t0 + settle and are left out", skip,
                    count);
    shoal_code code = make_room(g, (double)(count - skip), r);
    for (size_t i = skip; i < count && code == SHOAL_OK; i++)
        g->times[i - skip] = at[i];
    return code;
}

shoal_code save_grid_make(const shoal_options *o, const double *at, size_t at_count,
                          struct save_grid *out, struct report *r) {
    *out = (struct save_grid){.kind = SAMPLES_ONE};
    double start = o->t0 + (o->t1 < o->t0 ? -o->settle : o->settle);
    switch (o->save) {
    case SHOAL_SAVE_FINAL:
        return SHOAL_OK;
    case SHOAL_SAVE_STEPS:
        out->kind = SAMPLES_OWN;
        return SHOAL_OK;
    case SHOAL_SAVE_N:
        out->kind = SAMPLES_GRID;
        return grid_n(o, start, out, r);
    case SHOAL_SAVE_EVERY:
        out->kind = SAMPLES_GRID;
        return grid_every(o, start, out, r);
    case SHOAL_SAVE_AT:
        out->kind = SAMPLES_GRID;
        return grid_at(o, start, at, at_count, out, r);
    }
    return SHOAL_USAGE;
}

double run_fixed_steps(double t0, double t1, double dt) {
    return ceil(fabs(t1 - t0) / dt * (1 - 1e-12));
}
