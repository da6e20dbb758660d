// SPDX-License-Identifier: MIT
// Makes drivers of samples, and says how kernels look them up and which signal a run takes.
#include "ode/run/driver.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define X(name) #name,
const char *const driver_ends_names[DRIVER_ENDS_COUNT] = {DRIVER_ENDS(X)};
#undef X

// ---- Signals ------------------------------------------------------------------------------------

struct sorting {
    const struct driver_input *in;
    uint64_t index;
};

static int compare_ids(const struct driver_input *in, uint64_t a, uint64_t b) {
    if (in->text)
        return strcmp(in->text[a], in->text[b]);
    return in->number ? (in->number[a] > in->number[b]) - (in->number[a] < in->number[b]) : 0;
}

// Samples of one signal keep their order.
static int by_id(const void *x, const void *y) {
    const struct sorting *a = x, *b = y;
    int order = compare_ids(a->in, a->index, b->index);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static shoal_code bad_sample(const struct driver_input *in, uint64_t i, const char *what,
                             struct report *r) {
    return report_error(r, SHOAL_INPUT, "%s: driver `%s`, sample %llu (counted from 0): %s",
                        in->source, in->name, (unsigned long long)i, what);
}

static shoal_code check_samples(const struct driver_input *in, struct report *r) {
    if (!in->count)
        return report_error(r, SHOAL_INPUT, "%s: driver `%s` has no samples", in->source, in->name);
    for (uint64_t i = 0; i < in->count; i++) {
        if (!isfinite(in->t[i]) || fabs(in->t[i]) > 1e30)
            return bad_sample(in, i, "the time is not a finite number below 1e30", r);
        if (!isfinite(in->v[i]) || fabs(in->v[i]) > 1e30)
            return bad_sample(in, i, "the value is not a finite number below 1e30", r);
        if (in->number && isnan(in->number[i]))
            return bad_sample(in, i, "it says not whose it is", r);
    }
    return SHOAL_OK;
}

// Whether times are at equal distances, but for what decimal digits leave.
static bool is_even(const struct driver_signal *s) {
    double first = s->t[0], last = s->t[s->count - 1];
    double step = s->count > 1 ? (last - first) / (double)(s->count - 1) : 0;
    double room = 1e-9 * step + 2 * DBL_EPSILON * fmax(fabs(first), fabs(last));
    for (uint64_t i = 0; i < s->count; i++)
        if (fabs(s->t[i] - (first + (double)i * step)) > room)
            return false;
    return true;
}

static shoal_code check_signal(const struct driver_input *in, const struct driver_signal *s,
                               const struct sorting *order, struct report *r) {
    bool turns = in->ends == ENDS_periodic || in->kind == SPLINE_periodic;
    for (uint64_t i = 1; i < s->count; i++)
        if (!(s->t[i] > s->t[i - 1]))
            return bad_sample(in, order[i].index,
                              s->t[i] == s->t[i - 1]
                                  ? "its time is that of the sample before it"
                                  : "its time is before that of the sample before it",
                              r);
    if (s->count > DRIVER_SAMPLES_MOST)
        return report_error(r, SHOAL_INPUT, "%s: driver `%s` has more than %d samples", in->source,
                            in->name, DRIVER_SAMPLES_MOST);
    if ((turns || in->ends == ENDS_zero) && s->count < 2)
        return report_error(r, SHOAL_INPUT, "%s: driver `%s` needs two samples at least to be %s",
                            in->source, in->name, turns ? "periodic" : "0 beyond its ends");
    if (turns && in->kind != SPLINE_held && s->v[0] != s->v[s->count - 1])
        return report_error(r, SHOAL_INPUT,
                            "%s: driver `%s` is periodic, so its last sample must be the first "
                            "again: %g is not %g",
                            in->source, in->name, s->v[s->count - 1], s->v[0]);
    return SHOAL_OK;
}

// The samples from `first` on that are one signal's, in the driver's own memory.
static struct driver_signal take_signal(struct driver *d, const struct driver_input *in,
                                        const struct sorting *order, uint64_t count) {
    double *t = arena_new(&d->arena, double, count), *v = arena_new(&d->arena, double, count);
    for (uint64_t i = 0; i < count; i++) {
        t[i] = in->t[order[i].index];
        v[i] = in->v[order[i].index];
    }
    struct driver_signal s = {.count = count, .t = t, .v = v};
    if (in->number)
        s.number = in->number[order[0].index];
    if (in->text)
        s.text = arena_strdup(&d->arena, in->text[order[0].index]);
    return s;
}

static shoal_code fill_driver(struct driver *d, const struct driver_input *in, struct report *r) {
    struct sorting *order = arena_new(&d->arena, struct sorting, in->count);
    vec(struct driver_signal) found = {0};
    for (uint64_t i = 0; i < in->count; i++)
        order[i] = (struct sorting){in, i};
    if (in->by)
        qsort(order, in->count, sizeof *order, by_id);
    d->even = true;
    for (uint64_t first = 0, end; first < in->count; first = end) {
        for (end = first + 1; end < in->count; end++)
            if (compare_ids(in, order[first].index, order[end].index))
                break;
        struct driver_signal s = take_signal(d, in, order + first, end - first);
        shoal_code code = check_signal(in, &s, order + first, r);
        if (code != SHOAL_OK)
            return code;
        d->even = d->even && is_even(&s);
        d->missed =
            fmax(d->missed, driver_missed(s.count, s.v, spline_degrees[d->kind] == 1, d->ends));
        *vec_push(&d->arena, &found) = s;
    }
    d->signal = found.items;
    d->signals = found.count;
    return SHOAL_OK;
}

shoal_code driver_new(const struct driver_input *in, struct driver **out, struct report *r) {
    jmp_buf oom;
    *out = NULL;
    shoal_code code = check_samples(in, r);
    if (code != SHOAL_OK)
        return code;
    struct driver *d = calloc(1, sizeof *d);
    if (!d)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    *d = (struct driver){.kind = in->kind, .ends = in->ends, .users = 1};
    d->arena.oom = &oom;
    if (setjmp(oom))
        code = report_error(r, SHOAL_MEMORY, "out of memory");
    else {
        d->name = arena_strdup(&d->arena, in->name);
        d->by = in->by ? arena_strdup(&d->arena, in->by) : NULL;
        code = fill_driver(d, in, r);
    }
    d->arena.oom = NULL;
    if (code == SHOAL_OK)
        *out = d;
    else
        driver_drop(d);
    return code;
}

struct driver *driver_keep(struct driver *d) {
    if (d)
        __atomic_add_fetch(&d->users, 1, __ATOMIC_RELAXED);
    return d;
}

void driver_drop(struct driver *d) {
    if (!d || __atomic_sub_fetch(&d->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    arena_free(&d->arena);
    free(d);
}

static struct signal_plan plan_of(const struct driver *d, bool watched, double rtol) {
    bool even = d->even && d->kind != SPLINE_held;
    return (struct signal_plan){
        .degree = spline_degrees[d->kind],
        .even = even,
        .rough = even && (watched || d->missed > driver_room(spline_degrees[d->kind] == 1, rtol)),
        .periodic = d->ends == ENDS_periodic,
        .zero = d->ends == ENDS_zero};
}

const struct signal_plan *driver_plans(const struct model *m, const struct signal_use *use,
                                       struct driver *const *driver, double rtol,
                                       struct arena *arena) {
    struct signal_plan *plan = arena_new(arena, struct signal_plan, m->signals.count + 1);
    for (uint32_t i = 0; plan && i < m->signals.count; i++) {
        bool table = m->signals.items[i].table;
        plan[i] = driver && driver[i]
                      ? plan_of(driver[i], use[i].watched, rtol)
                      : (struct signal_plan){
                            .degree = 1, .even = true, .rough = use[i].along, .extends = table};
    }
    return plan;
}

// ---- Which signal a run takes -------------------------------------------------------------------

static const struct table_column *find_column(const struct batch *b, const char *name) {
    for (uint32_t i = 0; i < batch_extras(b); i++)
        if (!strcmp(batch_extra(b, i)->name, name))
            return batch_extra(b, i);
    return NULL;
}

static double number_at(const struct table_column *c, uint64_t row) {
    return c->number ? c->number[row] : (double)c->number32[row];
}

// The signal of the row; UINT32_MAX: there is none.
static uint32_t find_signal(const struct driver *d, const struct table_column *c, uint64_t row) {
    uint32_t low = 0, high = d->signals;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct driver_signal *s = &d->signal[middle];
        double number = c->text ? 0 : number_at(c, row);
        int order =
            c->text ? strcmp(c->text[row], s->text) : (number > s->number) - (number < s->number);
        if (!order)
            return c->text || number == s->number ? middle : UINT32_MAX;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return UINT32_MAX;
}

static shoal_code no_signal(const struct driver *d, const struct table_column *c, uint64_t row,
                            struct report *r) {
    if (c->text)
        return report_error(r, SHOAL_INPUT,
                            "--driver: `%s` has no samples with %s = %s, which the batch has",
                            d->name, d->by, c->text[row]);
    return report_error(r, SHOAL_INPUT,
                        "--driver: `%s` has no samples with %s = %.17g, which the batch has",
                        d->name, d->by, number_at(c, row));
}

// Kernels count periods with numbers of states, and go on by one at a time.
static shoal_code check_turns(const struct driver *d, double period, double low, double high,
                              bool f32, struct report *r) {
    double most = f32 ? 0x1p23 : 0x1p52, turns = fmax(fabs(low), fabs(high)) / period;
    if (d->ends != ENDS_periodic || !(turns > most))
        return SHOAL_OK;
    return report_error(r, SHOAL_INPUT,
                        "--driver: times of the run are %.3g periods of `%s` away from its "
                        "samples, and %s counts %.0f: let t begin near them%s",
                        turns, d->name, f32 ? "f32" : "f64", most,
                        f32 ? ", or give --precision f64" : "");
}

shoal_code driver_check_span(const struct driver *d, const struct driver_signal *s, double t0,
                             double t1, bool f32, struct report *r) {
    double low = fmin(t0, t1), high = fmax(t0, t1), first = s->t[0], last = s->t[s->count - 1];
    shoal_code code = check_turns(d, last - first, low - first, high - first, f32, r);
    if (code != SHOAL_OK)
        return code;
    double room = s->count > 1 ? 1e-9 * (last - first) / (double)(s->count - 1) : 0;
    if (d->ends != ENDS_error || (first <= low + room && high <= last + room))
        return SHOAL_OK;
    return report_error(
        r, SHOAL_INPUT,
        "--driver: the samples of `%s` go from %.9g to %.9g, and a run from %.9g to "
        "%.9g; ends=hold, ends=periodic or ends=zero say what is beyond them",
        d->name, first, last, t0, t1);
}

static shoal_code choose_signals(const struct driver *d, const struct batch *b, uint64_t rows,
                                 double t0, double t1, bool f32, uint32_t *out, struct report *r) {
    const struct table_column *c = find_column(b, d->by);
    if (!c)
        return report_error(r, SHOAL_INPUT,
                            "--driver: runs choose their `%s` by the column %s, which the batch "
                            "does not have",
                            d->name, d->by);
    if (!c->text != !d->signal[0].text)
        return report_error(r, SHOAL_INPUT,
                            "--driver: the column %s holds numbers in one file and words in the "
                            "other",
                            d->by);
    for (uint64_t row = 0; row < rows; row++) {
        out[row] = find_signal(d, c, row);
        if (out[row] == UINT32_MAX)
            return no_signal(d, c, row, r);
        shoal_code code = driver_check_span(d, &d->signal[out[row]], t0, t1, f32, r);
        if (code != SHOAL_OK)
            return code;
    }
    return SHOAL_OK;
}

shoal_code driver_choose(const struct model *m, struct driver *const *driver, const struct batch *b,
                         double t0, double t1, bool f32, struct arena *arena, uint32_t **out,
                         struct report *r) {
    uint64_t rows = batch_table_rows(b);
    bool some = false;
    *out = NULL;
    for (uint32_t i = 0; i < m->signals.count; i++)
        some |= driver[i] && driver[i]->by;
    if (!some)
        return SHOAL_OK;
    uint32_t *chosen = arena_new(arena, uint32_t, m->signals.count * (rows ? rows : 1));
    if (!chosen)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < m->signals.count; i++) {
        shoal_code code = driver[i] && driver[i]->by ? choose_signals(driver[i], b, rows, t0, t1,
                                                                      f32, chosen + i * rows, r)
                                                     : SHOAL_OK;
        if (code != SHOAL_OK)
            return code;
    }
    *out = chosen;
    return SHOAL_OK;
}

shoal_code driver_check_inputs(const struct model *m, const struct batch *b, struct report *r) {
    for (uint32_t k = 0; k < m->signals.count; k++)
        for (uint32_t i = 0; i < batch_inputs(b); i++) {
            struct batch_target to = batch_input_target(b, i);
            if (to.initial || !model_table_uses(m, k, m->pars.items[to.index]))
                continue;
            return report_error(r, SHOAL_INPUT,
                                "the table `%s` is made with `%s`, so that this cannot differ "
                                "between runs",
                                m->signals.items[k].name, batch_input_name(b, i));
        }
    return SHOAL_OK;
}

// ---- Digest -------------------------------------------------------------------------------------

static void add_text(struct sha256 *h, const char *text) {
    sha256_add(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void add_driver(struct sha256 *h, const struct driver *d) {
    const uint64_t what[] = {d->kind, d->ends, d->signals};
    sha256_add(h, what, sizeof what);
    add_text(h, d->by);
    for (uint32_t i = 0; i < d->signals; i++) {
        const struct driver_signal *s = &d->signal[i];
        add_text(h, s->text);
        sha256_add(h, &s->number, sizeof s->number);
        sha256_add(h, &s->count, sizeof s->count);
        sha256_add(h, s->t, (size_t)s->count * sizeof *s->t);
        sha256_add(h, s->v, (size_t)s->count * sizeof *s->v);
    }
}

void driver_digest(const struct model *m, struct driver *const *driver, struct sha256 *h) {
    for (uint32_t i = 0; i < m->signals.count; i++) {
        const struct signal *s = &m->signals.items[i];
        add_text(h, s->name);
        if (driver && driver[i])
            add_driver(h, driver[i]);
        if (s->values)
            sha256_add(h, s->values, s->count * sizeof *s->values);
    }
}
