// SPDX-License-Identifier: MIT
// Drivers and tables as the resident block of kernels/ode/abi.h: records, then heads, coefficients,
// knots and pieces in the kernel's numbers.
//
// Signals that do not repeat have an interval before their first sample and one behind their last,
// in which they are what they are beyond their ends.
#include "ode/run/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, GRAIN = 4 }; // bytes of the two parts; numbers: what a device loads at once

static const double FAR = 1e37;    // a time that no run reaches, in f32 too
static const double BESIDE = 1e-6; // a sample, as a part of the time to the next

// A signal on its way into the block.
struct shape {
    const struct signal_plan *plan;
    const struct signal_use *use;
    enum spline_kind kind;
    uint64_t count;
    const double *t, *v;
    double step; // between samples at equal distances
    double rtol; // of the run
};

struct writer {
    char *data; // NULL: it only counts
    bool f32;
    uint64_t at;
    bool failed; // a number that f32 or f64 does not have
    bool out_of_memory;
    double t0, t1;
    uint64_t stops; // of the signal that was written last, on the way from t0 to t1
};

static void put(struct writer *w, double value) {
    if (w->data && w->f32)
        ((float *)(void *)w->data)[w->at] = (float)value;
    else if (w->data)
        ((double *)(void *)w->data)[w->at] = value;
    w->failed |= !isfinite(w->f32 ? (double)(float)value : value);
    w->at++;
}

static void put_pair(struct writer *w, double value) {
    put(w, value);
    put(w, w->f32 ? value - (double)(float)value : 0);
}

// An integer of the size of a number.
static void put_index(struct writer *w, uint64_t index) {
    uint32_t small = (uint32_t)index;
    if (w->data && w->f32)
        memcpy(w->data + w->at * sizeof small, &small, sizeof small);
    else if (w->data)
        memcpy(w->data + w->at * sizeof index, &index, sizeof index);
    w->at++;
}

static uint64_t align(struct writer *w) {
    while (w->at % GRAIN)
        put(w, 0);
    return w->at;
}

static bool has_outside(const struct shape *s) { return !s->plan->periodic && !s->plan->extends; }

static double beyond(const struct shape *s, bool last) {
    return s->plan->zero ? 0 : s->v[last ? s->count - 1 : 0];
}

// ---- Parts of a signal --------------------------------------------------------------------------

static void put_head(struct writer *w, const struct shape *s) {
    double inner = (double)s->count - 1;
    bool outside = has_outside(s);
    put(w, outside ? s->t[0] - s->step : s->t[0]);
    put(w, 1 / s->step);
    put(w, s->plan->periodic ? 1 / inner : 0);
    put(w, outside ? inner + 1 : inner - 1);
    put_pair(w, s->t[s->count - 1] - s->t[0]);
}

static void put_constant(struct writer *w, const struct shape *s, double value) {
    put(w, value);
    for (uint32_t k = 0; k < s->plan->degree; k++)
        put(w, 0);
}

// At equal distances the argument of a polynomial goes from 0 to 1. A block that is only counted
// has them, too.
static double *make_coefficients(const struct writer *w, const struct shape *s) {
    uint64_t inner = s->count - 1;
    double *c = calloc(inner * (s->plan->degree + 1u) + 1, sizeof *c), *t = NULL;
    bool good = c != NULL;
    if (good && s->plan->even && (t = malloc(s->count * sizeof *t)))
        for (uint64_t i = 0; i < s->count; i++)
            t[i] = (double)i;
    if (good && inner && (w->data || s->use->watched))
        good = (!s->plan->even || t) &&
               spline_make(s->kind, s->count, s->plan->even ? t : s->t, s->v, c);
    free(t);
    if (good)
        return c;
    free(c);
    return NULL;
}

static void put_coefficients(struct writer *w, const struct shape *s) {
    double *c = make_coefficients(w, s);
    w->out_of_memory |= !c;
    if (has_outside(s))
        put_constant(w, s, beyond(s, false));
    for (uint64_t i = 0; c && i < (s->count - 1) * (s->plan->degree + 1u); i++)
        put(w, c[i]);
    if (has_outside(s))
        put_constant(w, s, beyond(s, true));
    free(c);
}

static void put_knots(struct writer *w, const struct shape *s) {
    if (has_outside(s))
        put(w, -FAR);
    for (uint64_t i = 0; i < s->count; i++)
        put(w, s->t[i]);
    for (int i = 0; i <= SIGNAL_BLOCK; i++) // one is the end, the others are only looked at
        put(w, FAR);
}

// ---- Pieces -------------------------------------------------------------------------------------

static void put_end(struct writer *w, const struct shape *s, double end) {
    double low = fmin(w->t0, w->t1), high = fmax(w->t0, w->t1);
    double period = s->t[s->count - 1] - s->t[0];
    put_pair(w, end);
    if (!s->plan->periodic)
        w->stops += end > low && end < high;
    else
        w->stops += (uint64_t)fmin(floor((high - low) / period), 1e18);
}

static uint64_t put_steps(struct writer *w, const struct shape *s) {
    uint64_t pieces = 0, inner = s->count - 1;
    bool outside = has_outside(s);
    double now = outside ? beyond(s, false) : s->v[0];
    for (uint64_t i = 0; i <= inner; i++) {
        bool ends = i == inner;
        double next = !ends ? s->v[i] : outside ? beyond(s, true) : NAN; // which is another one
        if (next == now || (!outside && i == 0))
            continue;
        put_end(w, s, s->t[i]);
        put(w, now);
        put(w, 0);
        pieces++;
        now = next;
    }
    if (!outside)
        return pieces;
    put_end(w, s, FAR);
    put(w, now);
    put(w, 0);
    return pieces + 1;
}

static void put_range(struct writer *w, const struct shape *s, double end, double low,
                      double high) {
    put_end(w, s, end);
    put(w, low);
    put(w, high);
}

static void put_intervals(struct writer *w, const struct shape *s, double end, uint64_t first,
                          uint64_t count) {
    if (s->plan->extends) { // whatever else it is looked up at
        put_range(w, s, end, 0, (double)s->count - 2);
        return;
    }
    if (s->plan->even) {
        put_range(w, s, end, (double)first, (double)(first + count - 1));
        return;
    }
    put_end(w, s, end);
    put_index(w, first);
    put(w, (double)count - 1);
}

// Of a smooth signal at equal distances only its ends are stops.
static uint64_t cut(const struct shape *s, uint32_t *lengths) {
    if (!s->plan->even || s->plan->rough)
        return driver_cut(s->count, s->plan->even ? NULL : s->t, s->v, s->plan->degree == 1,
                          driver_room(s->plan->degree == 1, s->rtol), lengths);
    lengths[0] = (uint32_t)(s->count - 1);
    return s->count > 1;
}

// Where a cubic turns between two samples, as parts of the time between them, ascending. What is
// next to a sample is not told from it.
static int find_turns(const double *c, double end, double at[2]) {
    double a = 3 * c[3] * end * end, b = c[2] * end, d = b * b - a * c[1];
    int found = 0;
    if (!(d > 0))
        return 0;
    double q = -(b + copysign(sqrt(d), b)), x[2] = {q / a, c[1] / q};
    for (int i = 0; i < 2; i++)
        if (x[i] > BESIDE && x[i] < 1 - BESIDE)
            at[found++] = x[i];
    if (found == 2 && at[0] > at[1])
        at[0] = x[1], at[1] = x[0];
    return found;
}

// A stretch of intervals, `first` counted with the one that is before all samples. One that is
// looked at by a condition is cut where the signal turns, so that it goes only up or only down.
struct turning {
    const double *c; // coefficients; NULL: nobody looks
    double way;      // the signal went up or down last
};

static uint64_t put_stretch(struct writer *w, const struct shape *s, struct turning *x,
                            uint64_t first, uint64_t length) {
    uint64_t pieces = 0, from = first, before = has_outside(s);
    for (uint64_t i = first; x->c && i < first + length; i++) {
        double turn[2], step = s->t[i + 1] - s->t[i], up = s->v[i + 1] - s->v[i];
        int turns =
            s->plan->degree == 3 ? find_turns(x->c + 4 * i, s->plan->even ? 1 : step, turn) : 0;
        if (up * x->way < 0 && i > from)
            put_intervals(w, s, s->t[i], from + before, i - from), pieces++, from = i;
        for (int k = 0; k < turns; k++)
            put_intervals(w, s, s->t[i] + turn[k] * step, from + before, i + 1 - from), pieces++,
                from = i;
        x->way = up != 0 ? copysign(1, up) : x->way;
    }
    put_intervals(w, s, s->t[first + length], from + before, first + length - from);
    return pieces + 1;
}

static uint64_t put_cut(struct writer *w, const struct shape *s) {
    uint64_t pieces = 0, first = 0, around = has_outside(s) || s->plan->extends;
    uint32_t *lengths = malloc(s->count * sizeof *lengths);
    double *c = s->use->watched ? make_coefficients(w, s) : NULL;
    struct turning turning = {.c = c};
    w->out_of_memory |= !lengths || (s->use->watched && !c);
    if (around)
        put_intervals(w, s, s->t[0], 0, 1), pieces++;
    for (uint64_t i = 0, inner = lengths ? cut(s, lengths) : 0; i < inner; i++) {
        pieces += put_stretch(w, s, &turning, first, lengths[i]);
        first += lengths[i];
    }
    if (around)
        put_intervals(w, s, FAR, s->count, 1), pieces++;
    free(lengths);
    free(c);
    return pieces;
}

// Those of a table are the times at which its argument is at a sample, ascending.
static uint64_t put_along(struct writer *w, const struct shape *s) {
    double *t = malloc(2 * s->count * sizeof *t), *v = t + s->count;
    struct shape line = *s;
    uint64_t last = s->count - 1, pieces = 0;
    for (uint64_t i = 0; t && i <= last; i++) {
        uint64_t k = s->use->slope < 0 ? last - i : i;
        t[i] = (s->t[k] - s->use->at_0) / s->use->slope;
        v[i] = s->v[k];
    }
    line.t = t;
    line.v = v;
    w->out_of_memory |= !t;
    if (t)
        pieces = put_cut(w, &line);
    free(t);
    return pieces;
}

static uint64_t put_pieces(struct writer *w, const struct shape *s) {
    if (!codegen_signal_stops(s->plan))
        return 0;
    put_pair(w, has_outside(s) || s->plan->extends ? -FAR : s->t[0]);
    put(w, 0);
    put(w, 0);
    return s->plan->extends       ? put_along(w, s)
           : s->plan->degree == 0 ? put_steps(w, s)
                                  : put_cut(w, s);
}

static void put_signal(struct writer *w, const struct shape *s, uint64_t record[SIGNAL_WORDS]) {
    w->stops = 0;
    record[SIGNAL_HEAD] = align(w);
    put_head(w, s);
    record[SIGNAL_COEFFICIENTS] = align(w);
    if (s->plan->degree)
        put_coefficients(w, s);
    record[SIGNAL_KNOTS] = align(w);
    if (s->plan->degree && !s->plan->even)
        put_knots(w, s);
    record[SIGNAL_PIECES] = align(w);
    record[SIGNAL_PIECE_COUNT] = put_pieces(w, s);
}

// ---- All signals --------------------------------------------------------------------------------

struct making {
    struct model *model;
    struct driver *const *driver;
    const struct signal_plan *plan;
    const struct signal_use *use;
    struct arena *arena;
    struct report *report;
    struct writer w;
    double rtol;
    uint64_t *record; // NULL: it only counts
    uint64_t records;
    struct driver_block *out;
};

static void add_signal(struct making *m, const struct shape *s) {
    uint64_t ignored[SIGNAL_WORDS];
    put_signal(&m->w, s,
               m->record ? m->record + m->model->signals.count + m->records * SIGNAL_WORDS
                         : ignored);
    m->records++;
}

static struct shape shape_of(struct making *m, uint32_t k, const struct driver_signal *s) {
    const struct driver *d = m->driver[k];
    struct shape shape = {.plan = &m->plan[k],
                          .use = &m->use[k],
                          .kind = d->kind,
                          .count = s->count,
                          .t = s->t,
                          .v = s->v,
                          .rtol = m->rtol};
    shape.step = s->count > 1 ? (s->t[s->count - 1] - s->t[0]) / (double)(s->count - 1) : 1;
    return shape;
}

static void note_stops(struct making *m, uint64_t stops, uint32_t k) {
    if (stops <= m->out->stops)
        return;
    m->out->stops = stops;
    m->out->table = m->model->signals.items[k].table;
    m->out->who = m->model->signals.items[k].name;
}

static shoal_code add_driver(struct making *m, uint32_t k) {
    const struct driver *d = m->driver[k];
    uint64_t fewest = UINT64_MAX;
    if (!d)
        return report_error(m->report, SHOAL_INPUT,
                            "the driver `%s` has no samples; --driver %s=FILE gives them",
                            m->model->signals.items[k].name, m->model->signals.items[k].name);
    for (uint32_t i = 0; i < d->signals; i++) {
        struct shape s = shape_of(m, k, &d->signal[i]);
        shoal_code code =
            d->by ? SHOAL_OK
                  : driver_check_span(d, &d->signal[i], m->w.t0, m->w.t1, m->w.f32, m->report);
        if (code != SHOAL_OK)
            return code;
        add_signal(m, &s);
        if (m->plan[k].even && s.count > 1)
            m->out->step = fmin(m->out->step, SIGNAL_BLOCK * s.step);
        fewest = m->w.stops < fewest ? m->w.stops : fewest;
    }
    m->out->choice |= d->by != NULL;
    note_stops(m, fewest, k);
    return SHOAL_OK;
}

static shoal_code add_table(struct making *m, uint32_t k) {
    const struct signal *s = &m->model->signals.items[k];
    double *t = arena_new(m->arena, double, s->count + 1),
           *v = arena_new(m->arena, double, s->count + 1);
    shoal_code code = t && v ? model_table(m->model, k, v, m->report)
                             : report_error(m->report, SHOAL_MEMORY, "out of memory");
    if (code != SHOAL_OK)
        return code;
    struct shape shape = {.plan = &m->plan[k],
                          .use = &m->use[k],
                          .kind = SPLINE_linear,
                          .count = s->count,
                          .t = t,
                          .v = v,
                          .rtol = m->rtol};
    shape.step = (s->hi - s->lo) / (s->count - 1);
    for (uint32_t i = 0; i < s->count; i++)
        t[i] = s->lo + i * shape.step;
    add_signal(m, &shape);
    note_stops(m, m->w.stops, k);
    return SHOAL_OK;
}

static shoal_code add_all(struct making *m) {
    shoal_code code = SHOAL_OK;
    m->records = m->w.at = 0;
    for (uint32_t k = 0; k < m->model->signals.count && code == SHOAL_OK; k++) {
        if (m->record)
            m->record[k] = m->records;
        code = m->model->signals.items[k].table ? add_table(m, k) : add_driver(m, k);
        if (code == SHOAL_OK && m->w.failed)
            code = report_error(m->report, SHOAL_INPUT,
                                "the samples of `%s` are too steep or too large for %s",
                                m->model->signals.items[k].name, m->w.f32 ? "f32" : "f64");
        if (code == SHOAL_OK && m->w.out_of_memory)
            code = report_error(m->report, SHOAL_MEMORY, "out of memory");
    }
    return code;
}

shoal_code driver_block_make(struct model *m, struct driver *const *driver,
                             const struct signal_plan *plan, const struct signal_use *use, bool f32,
                             double rtol, double t0, double t1, struct arena *arena,
                             struct driver_block *out, struct report *r) {
    struct making x = {.model = m,
                       .driver = driver,
                       .plan = plan,
                       .use = use,
                       .arena = arena,
                       .report = r,
                       .w = {.f32 = f32, .t0 = t0, .t1 = t1},
                       .rtol = rtol,
                       .out = out};
    *out = (struct driver_block){.step = INFINITY};
    if (!m->signals.count)
        return SHOAL_OK;
    shoal_code code = add_all(&x); // which counts
    if (code != SHOAL_OK)
        return code;
    size_t words = m->signals.count + x.records * SIGNAL_WORDS;
    out->driver = (words * sizeof(uint64_t) + ALIGN - 1) / ALIGN * ALIGN;
    out->bytes =
        out->driver + (x.w.at * (f32 ? sizeof(float) : sizeof(double)) + ALIGN - 1) / ALIGN * ALIGN;
    out->data = arena_new(arena, char, out->bytes);
    if (!out->data)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    x.record = out->data;
    x.w.data = (char *)out->data + out->driver;
    return add_all(&x);
}
