// SPDX-License-Identifier: MIT
// Times of a grid, from the options.
#include "ode/run/save_grid.h"

#include "base/list.h"
#include "base/number.h"

#include <float.h>
#include <math.h>

enum { SAMPLES_MOST = 1 << 28 };

size_t save_grid_times(const char *text, double *times) {
    char item[64];
    size_t count = 0;
    for (const char *at = text; *at || !count;) {
        double t;
        if (!list_item(&at, item, sizeof item) || !number_finite(item, &t))
            return 0;
        if (times)
            times[count] = t;
        count++;
    }
    return count;
}

static shoal_code make_room(struct save_grid *g, double count, struct arena *arena,
                            struct report *r) {
    if (!(count >= 1))
        return report_error(r, SHOAL_INPUT, "--save: no sample lies between t0 + settle and t1");
    if (!(count <= SAMPLES_MOST))
        return report_error(r, SHOAL_INPUT, "--save: %.0f samples a run are too many", count);
    g->count = (uint64_t)count;
    g->times = arena_new(arena, double, g->count);
    return SHOAL_OK;
}

static shoal_code grid_n(const shoal_options *o, double start, struct arena *arena,
                         struct save_grid *g, struct report *r) {
    shoal_code code = make_room(g, (double)o->save_n, arena, r);
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
static shoal_code grid_every(const shoal_options *o, double start, struct arena *arena,
                             struct save_grid *g, struct report *r) {
    double dir = o->t1 < o->t0 ? -1 : 1, step = o->save_every;
    double rounding = (fabs(o->t0) + fabs(o->t1)) * 4 * DBL_EPSILON;
    double slack = fmin(fmax(1e-9, rounding / step), 0.5);
    double first = ceil((start - o->t0) * dir / step - slack);
    double last = floor((o->t1 - o->t0) * dir / step + slack);
    shoal_code code = make_room(g, last - first + 1, arena, r);
    if (code != SHOAL_OK)
        return code;
    for (uint64_t i = 0; i < g->count; i++) {
        double t = o->t0 + dir * step * (first + (double)i);
        g->times[i] = fabs(t - o->t1) <= slack * step || (o->t1 - t) * dir < 0 ? o->t1 : t;
    }
    return SHOAL_OK;
}

static shoal_code grid_at(const shoal_options *o, double start, struct arena *arena,
                          struct save_grid *g, struct report *r) {
    double dir = o->t1 < o->t0 ? -1 : 1;
    size_t skip = 0, count = save_grid_times(o->save_at, NULL);
    double *at = arena_new(arena, double, count + 1);
    save_grid_times(o->save_at, at);
    while (skip < count && (at[skip] - start) * dir < 0)
        skip++;
    if (skip)
        report_note(r, "--save at: %zu of %zu times are before t0 + settle and are left out", skip,
                    count);
    shoal_code code = make_room(g, (double)(count - skip), arena, r);
    for (size_t i = skip; i < count && code == SHOAL_OK; i++)
        g->times[i - skip] = at[i];
    return code;
}

enum result_samples save_grid_kind(const shoal_options *o) {
    return o->save == SHOAL_SAVE_FINAL   ? SAMPLES_ONE
           : o->save == SHOAL_SAVE_STEPS ? SAMPLES_OWN
                                         : SAMPLES_GRID;
}

shoal_code save_grid_make(const shoal_options *o, struct arena *arena, struct save_grid *out,
                          struct report *r) {
    double start = o->t0 + (o->t1 < o->t0 ? -o->settle : o->settle);
    *out = (struct save_grid){.kind = save_grid_kind(o), .count = o->save == SHOAL_SAVE_FINAL};
    switch (o->save) {
    case SHOAL_SAVE_FINAL:
    case SHOAL_SAVE_STEPS:
        return SHOAL_OK;
    case SHOAL_SAVE_N:
        return grid_n(o, start, arena, out, r);
    case SHOAL_SAVE_EVERY:
        return grid_every(o, start, arena, out, r);
    case SHOAL_SAVE_AT:
        return grid_at(o, start, arena, out, r);
    }
    return SHOAL_USAGE;
}
