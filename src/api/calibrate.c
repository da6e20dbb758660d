// SPDX-License-Identifier: MIT
// Measures devices by running batches of several sizes, and keeps what the cost model needs.
//
// A size is run once before it is timed, then seven times, of which the median counts and the
// spread is kept. What is compiled is in the cache before anything is timed. When time is short,
// sizes that take long are run three times, and the largest are left out: a size is begun only if
// what it takes, by the one before, is there.
#include "api/calibrate.h"
#include "api/learn.h"
#include "api/options.h"
#include "base/clock.h"
#include "grid/workloads.h"
#include "ode/run/workloads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_FIRST = 1 << 5, REPEATS_LEAST = 3 };
enum { RATES = 4 };                    // sizes that tell what copies take
static const double seconds_most = 25; // compilers and the last size come on top
static const double threads_s = 20e-3; // of a batch that one thread runs, to see what others add

// One workload on one device.
struct series {
    shoal_solver *solver; // NULL: it could not be made
    uint32_t count;       // sizes that were timed
    double median[CALIBRATE_SIZES], deviation[CALIBRATE_SIZES];
    uint32_t repeats[CALIBRATE_SIZES];
};

struct calibration {
    const shoal_options *options;
    struct chooser *chooser;
    uint64_t end_ns;
    shoal_calibrate_visit *visit;
    void *user;
    shoal_log *log;
    const char *name; // of the workload
    shoal_model *model;
    const char *input;
    double from, to;
    double *values; // of the input, for the largest size
    void *block;    // results
    size_t block_bytes;
    bool fails; // every run of the last batch did
    struct series series[COST_DEVICES];
};

static double seconds_left(const struct calibration *c) {
    uint64_t now = clock_ns();
    return now < c->end_ns ? (double)(c->end_ns - now) * 1e-9 : 0;
}

uint64_t calibrate_rows(uint32_t size) {
    uint64_t n = SIZE_FIRST;
    while (size--)
        n *= CALIBRATE_FACTOR;
    return n;
}

// ---- Timing -------------------------------------------------------------------------------------

static shoal_code run_once(struct calibration *c, shoal_solver *s, shoal_batch *batch,
                           double *out) {
    shoal_array all = {.data = c->block};
    shoal_tally tally;
    uint64_t begin = clock_ns();
    shoal_code code = shoal_solver_run_arrays(s, batch, &all, 1, &tally, c->log);
    *out = (double)(clock_ns() - begin) * 1e-9;
    c->fails = code == SHOAL_OK && tally.failed_ranges == 1 && !tally.failed_more &&
               tally.failed[0].end - tally.failed[0].first == tally.runs;
    return code;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double calibrate_median(double *t, uint32_t count) {
    qsort(t, count, sizeof *t, by_size);
    return t[count / 2];
}

// The median of as many runs as a share of the time allows.
static shoal_code time_size(struct calibration *c, struct series *s, shoal_batch *batch,
                            double share) {
    double t[CALIBRATE_REPEATS], total = 0, squares = 0;
    int n = 0;
    shoal_code code = run_once(c, s->solver, batch, &t[0]);
    while (code == SHOAL_OK && n < CALIBRATE_REPEATS && (n < REPEATS_LEAST || total < share)) {
        code = run_once(c, s->solver, batch, &t[n]);
        total += t[n++];
    }
    if (code != SHOAL_OK)
        return code;
    double median = calibrate_median(t, (uint32_t)n);
    for (int i = 0; i < n; i++)
        squares += (t[i] - median) * (t[i] - median);
    s->median[s->count] = median;
    s->deviation[s->count] = sqrt(squares / n);
    s->repeats[s->count++] = (uint32_t)n;
    return SHOAL_OK;
}

static shoal_code make_batch(struct calibration *c, uint64_t rows, shoal_batch **out) {
    for (uint64_t i = 0; i < rows; i++)
        c->values[i] = c->from + (c->to - c->from) * (double)i / (double)rows;
    shoal_code code = shoal_batch_new(c->model, out, c->log);
    if (code == SHOAL_OK)
        code = shoal_batch_values(*out, c->input, c->values, rows, c->log);
    return code;
}

// Room for the results of the largest size that is run.
static bool make_room(struct calibration *c, const shoal_solver *s, uint64_t rows) {
    uint64_t samples = shoal_solver_save_count(s);
    size_t bytes = (size_t)(rows * (samples ? samples : 1) * shoal_solver_var_count(s)) * 8;
    if (bytes <= c->block_bytes)
        return true;
    void *more = realloc(c->block, bytes);
    c->block = more ? more : c->block;
    c->block_bytes = more ? bytes : c->block_bytes;
    return more != NULL;
}

// Sizes from small to large, as long as the next one is likely to be done in time.
static shoal_code time_series(struct calibration *c, struct series *s, double share) {
    shoal_code code = SHOAL_OK;
    uint64_t end = clock_ns() + (uint64_t)(share * 1e9);
    for (uint32_t i = 0; i < CALIBRATE_SIZES && code == SHOAL_OK; i++) {
        double left = clock_ns() < end ? (double)(end - clock_ns()) * 1e-9 : 0;
        double next = i ? s->median[i - 1] * CALIBRATE_FACTOR : 0;
        shoal_batch *batch = NULL;
        if ((REPEATS_LEAST + 1) * next > left || !make_room(c, s->solver, calibrate_rows(i)))
            break;
        code = make_batch(c, calibrate_rows(i), &batch);
        if (code == SHOAL_OK)
            code = time_size(c, s, batch, left / CALIBRATE_SIZES);
        shoal_batch_free(batch);
    }
    return code;
}

// ---- What follows from it -----------------------------------------------------------------------

// A number with its spread, of so many measurements.
struct measured {
    double value, deviation;
    uint32_t count;
};

static void keep(struct calibration *c, uint32_t row, enum machine_point p, const char *class,
                 struct measured m) {
    char name[TUNE_NAME];
    machine_point(c->chooser->table.row[row].device.name, p, class, name);
    if (m.value > 0)
        tune_set(&c->chooser->tune, name, m.value, m.deviation, m.count, clock_unix_ns());
}

// The median of a size, in other units.
static struct measured of_size(const struct series *s, uint32_t size, double unit) {
    return (struct measured){s->median[size] / unit, s->deviation[size] / unit, s->repeats[size]};
}

static struct cost_job job_of(const struct series *s, uint32_t size) {
    const struct plan *p = s->solver->plan;
    size_t number = p->kernel[PLAN_FIRST].f32 ? sizeof(float) : sizeof(double);
    double out = (double)(p->list.of.vars * number) + 1; // and a status
    return (struct cost_job){.rows = calibrate_rows(size),
                             .in_bytes = (double)number,
                             .out_bytes = out,
                             .spread = 1,
                             .reuses = 1,
                             .noun = "runs"};
}

// Bytes a second between the caller's memory, which is ordinary, and the device, through blocks
// that are pinned, both ways at a time: by each of the largest sizes, of which the middle counts.
static struct measured copy_rate(const struct series *s) {
    double rate[RATES], squares = 0;
    uint32_t n = 0;
    for (uint32_t i = s->count > RATES ? s->count - RATES : 1; i < s->count; i++) {
        struct cost_job j = job_of(s, i);
        double t = s->median[i] - s->median[0];
        if (t > 0)
            rate[n++] = (j.in_bytes + j.out_bytes) * (double)j.rows / t;
    }
    if (n < RATES)
        return (struct measured){0};
    qsort(rate, n, sizeof *rate, by_size);
    double middle = (rate[RATES / 2 - 1] + rate[RATES / 2]) / 2;
    for (uint32_t i = 0; i < n; i++)
        squares += (rate[i] - middle) * (rate[i] - middle);
    return (struct measured){middle, sqrt(squares / n), n};
}

// Of a workload that does next to nothing: a launch, and the rate of copies.
static void learn_launch(struct calibration *c, uint32_t row) {
    const struct series *s = &c->series[row];
    keep(c, row, MACHINE_LAUNCH, NULL, of_size(s, 0, 1));
    keep(c, row, MACHINE_IN, NULL, copy_rate(s));
    keep(c, row, MACHINE_OUT, NULL, copy_rate(s));
}

// Time without launches and copies.
static double work_time(const struct calibration *c, uint32_t row, uint32_t size) {
    const struct cost_device *d = &c->chooser->table.row[row].device;
    const struct series *s = &c->series[row];
    struct cost_job j = job_of(s, size);
    double copies = (double)j.rows * (j.in_bytes / d->in_rate + j.out_bytes / d->out_rate);
    double t = s->median[size] - d->launch - copies;
    return t > s->median[size] / 10 ? t : s->median[size] / 10;
}

// The work of a row by the largest size of the CPU; then how fast a row is on a device that is
// empty, and on one that is full.
static void learn_class_of(struct calibration *c) {
    struct chooser *h = c->chooser;
    const struct series *cpu = &c->series[0];
    struct cost_job j = job_of(cpu, cpu->count - 1);
    h->work = cost_work(&h->table.row[0].device, &j, cpu->median[cpu->count - 1]);
    h->spread = 1;
    for (uint32_t i = 1; i < h->machine.count; i++) {
        const struct series *s = &c->series[i];
        if (!s->count)
            continue;
        uint32_t last = s->count - 1;
        struct measured lane = of_size(s, 0, h->work),
                        full = of_size(s, last, h->work * (double)calibrate_rows(last));
        lane.value = work_time(c, i, 0) / h->work;
        full.value = work_time(c, i, last) / h->work / (double)calibrate_rows(last);
        keep(c, i, MACHINE_LANE, h->class, lane);
        keep(c, i, MACHINE_FULL, h->class, full);
    }
}

// A batch of a size with so many threads.
static shoal_code time_threads(struct calibration *c, uint32_t threads, uint32_t size,
                               struct series *out) {
    shoal_options o = c->series[0].solver->given;
    shoal_batch *batch = NULL;
    o.threads = threads;
    shoal_code code = shoal_solver_new(c->model, &o, &out->solver, c->log);
    if (code == SHOAL_OK)
        code = make_batch(c, calibrate_rows(size), &batch);
    if (code == SHOAL_OK)
        code = time_size(c, out, batch, (double)INFINITY);
    shoal_batch_free(batch);
    shoal_solver_free(out->solver);
    return code;
}

// The largest size that one thread does in a moment.
static uint32_t size_for_threads(const struct series *cpu, uint32_t threads) {
    uint32_t size = cpu->count - 1;
    while (size && cpu->median[size] * threads > threads_s)
        size--;
    return size;
}

// What each of n threads is worth, by what one takes alone, which is found with n = 1.
static shoal_code learn_threads(struct calibration *c, uint32_t n, uint32_t size, double *alone) {
    struct series s = {0};
    char class[MACHINE_CLASS];
    shoal_code code = time_threads(c, n, size, &s);
    if (code != SHOAL_OK)
        return code;
    struct measured m = of_size(&s, 0, 1);
    *alone = n == 1 ? m.value : *alone;
    m.deviation *= *alone / n / m.value / m.value;
    m.value = *alone / n / m.value;
    keep(c, 0, MACHINE_EFFICIENCY, machine_threads(n, class), m);
    return SHOAL_OK;
}

// One thread against two, four and so on, up to all.
static shoal_code learn_efficiency(struct calibration *c) {
    const struct series *cpu = &c->series[0];
    uint32_t all = cpu->solver->plan->threads, size = size_for_threads(cpu, all);
    double longest = cpu->median[size] * all * (CALIBRATE_REPEATS + 1), alone = 0;
    shoal_code code = SHOAL_OK;
    for (uint32_t n = 1; all > 1 && n <= all && code == SHOAL_OK;
         n = n < all && 2 * n > all ? all : 2 * n)
        if (longest <= seconds_left(c) / 4)
            code = learn_threads(c, n, size, &alone);
    return code;
}

// ---- The table ----------------------------------------------------------------------------------

// With the start of the device and the compilation, whether or not they were needed now.
static double cold_time(const struct calibration *c, uint32_t row, double warm) {
    const struct cost_row *d = &c->chooser->table.row[row];
    const struct loaded *k = &c->series[row].solver->runner.kernel[PLAN_FIRST];
    const struct tune_kernel *known = tune_kernel(&c->chooser->tune, k->key);
    double compile = k->compile_s > 0              ? k->compile_s
                     : known && known->compile > 0 ? known->compile
                                                   : d->kernel.compile;
    return d->device.start + compile + d->device.load + warm;
}

static uint32_t best_device(const struct calibration *c) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < c->chooser->machine.count; i++)
        if (c->series[i].count && (!best || c->series[i].median[c->series[i].count - 1] <
                                                c->series[best].median[c->series[best].count - 1]))
            best = i;
    return best;
}

static void show(struct calibration *c) {
    struct chooser *h = c->chooser;
    uint32_t other = best_device(c);
    const struct series *cpu = &c->series[0], *d = &c->series[other];
    for (uint32_t i = 0; i < CALIBRATE_SIZES && (i < cpu->count || (other && i < d->count)); i++) {
        struct cost_job j = job_of(cpu, i);
        bool has = other && i < d->count;
        j.work = h->work;
        uint32_t row =
            calibrate_rows(i) <= CHOOSE_CPU_MOST ? 0 : cost_choose(&h->table, &j, COST_NONE);
        shoal_calibration out = {.workload = c->name,
                                 .device = other ? h->table.row[other].device.name : NULL,
                                 .runs = calibrate_rows(i),
                                 .cpu_s = i < cpu->count ? cpu->median[i] : (double)NAN,
                                 .warm_s = has ? d->median[i] : (double)NAN,
                                 .cold_s = has ? cold_time(c, other, d->median[i]) : (double)NAN,
                                 .choice = h->table.row[row].device.name};
        if (c->visit)
            c->visit(&out, c->user);
    }
}

// ---- A workload ---------------------------------------------------------------------------------

static void forget(struct calibration *c) {
    for (uint32_t i = 0; i < COST_DEVICES; i++)
        shoal_solver_free(c->series[i].solver);
    memset(c->series, 0, sizeof c->series);
}

static shoal_code time_device(struct calibration *c, uint32_t row, const shoal_options *options,
                              double share) {
    struct series *s = &c->series[row];
    const struct device_known *known = c->chooser->machine.known[row];
    shoal_options o = *options;
    o.device = known ? known->name : "cpu";
    shoal_code code = shoal_solver_new(c->model, &o, &s->solver, c->log);
    if (code == SHOAL_OK && s->solver->opened_s > 0 && row &&
        !c->chooser->table.row[row].kernel.open)
        keep(c, row, MACHINE_START, NULL, (struct measured){s->solver->opened_s, 0, 1});
    c->chooser->table.row[row].kernel.open = true;
    return code == SHOAL_OK ? time_series(c, s, share) : code;
}

// The CPU must do; a device that does not is left out, with its error.
static shoal_code time_all(struct calibration *c, const shoal_options *o, double share) {
    uint32_t count = c->chooser->machine.count;
    shoal_code code = time_device(c, 0, o, share / count);
    for (uint32_t i = 1; i < count && code == SHOAL_OK; i++) {
        uint64_t mark = report_mark(log_report(c->log));
        char why[256];
        if (time_device(c, i, o, share / count) == SHOAL_OK)
            continue;
        report_withdraw(log_report(c->log), mark, why, sizeof why);
        report_warning(log_report(c->log), "%s: %s", c->chooser->table.row[i].device.name, why);
    }
    return code;
}

static void renew(struct calibration *c) {
    learn_class(c->chooser, c->series[0].solver);
    choose_begin(c->chooser);
    for (uint32_t i = 0; i < c->chooser->machine.count; i++)
        if (c->series[i].solver)
            choose_loaded(c->chooser, i, c->series[i].solver->runner.kernel[PLAN_FIRST].key);
}

static shoal_code measure(struct calibration *c, const shoal_options *o, double share, bool launch,
                          bool threads) {
    shoal_code code = time_all(c, o, share);
    if (code != SHOAL_OK || !c->series[0].count)
        return code;
    renew(c);
    if (launch)
        for (uint32_t i = 0; i < c->chooser->machine.count; i++)
            if (c->series[i].count)
                learn_launch(c, i);
    if (threads)
        code = learn_efficiency(c);
    renew(c);
    if (!launch) {
        learn_class_of(c);
        double work = c->chooser->work;
        renew(c);
        c->chooser->work = work;
        show(c);
    }
    return code;
}

// ---- All of them --------------------------------------------------------------------------------

// The options point into the text, which is cut into words.
static shoal_code set_options(shoal_options *o, char *text, shoal_log *log) {
    char *rest = NULL;
    shoal_code code = SHOAL_OK;
    for (char *w = strtok_r(text, " ", &rest); w && !code; w = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(w, '=');
        *value++ = 0;
        code = shoal_options_set(o, w, value, log);
    }
    return code;
}

static shoal_code run_workload(struct calibration *c, uint32_t number) {
    const struct workload *w = &ode_workloads[number];
    shoal_options o;
    char words[256];
    snprintf(words, sizeof words, "%s", w->options);
    shoal_code code = shoal_model_parse(w->name, w->text, strlen(w->text), &c->model, c->log);
    if (code == SHOAL_OK)
        code = shoal_options_init(&o, c->model, c->log);
    if (code == SHOAL_OK)
        code = set_options(&o, words, c->log);
    o.cache = c->options->cache;
    o.threads = c->options->threads;
    o.stop = c->options->stop;
    o.on_compile = c->options->on_compile;
    o.on_compile_user = c->options->on_compile_user;
    c->name = w->name;
    c->input = w->input;
    c->from = w->from;
    c->to = w->to;
    double share = seconds_left(c) / (ode_workload_count + grid_workload_count - number);
    if (code == SHOAL_OK)
        code = measure(c, &o, share, number == 0, number == 1);
    forget(c);
    shoal_model_free(c->model);
    c->model = NULL;
    return code;
}

static shoal_code run_workloads(struct calibration *c) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < ode_workload_count && code == SHOAL_OK && seconds_left(c) > 0; i++)
        code = run_workload(c, i);
    return code;
}

// A model's first parameter, or initial value, differs a little from row to row.
static shoal_code run_model(struct calibration *c, const shoal_model *model) {
    bool has = shoal_model_count(model, SHOAL_PARAMETER) > 0;
    shoal_kind kind = has ? SHOAL_PARAMETER : SHOAL_STATE;
    double value = shoal_model_value(model, kind, 0),
           width = value != 0 ? 0.01 * fabs(value) : 0.01;
    c->model = api_model_copy(model);
    c->name = shoal_model_name(model);
    c->input = shoal_model_symbol(model, kind, 0);
    c->from = value - width;
    c->to = value + width;
    shoal_code code = c->model ? measure(c, c->options, seconds_left(c), false, true)
                               : report_error(log_report(c->log), SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK && c->fails)
        report_warning(log_report(c->log),
                       "every run of `%s` fails, so these are times of runs that fail", c->name);
    forget(c);
    shoal_model_free(c->model);
    return code;
}

static shoal_code calibrate(struct calibration *c, const shoal_model *model) {
    struct cache *cache = cache_open(c->options->cache);
    struct chooser *h = c->chooser;
    machine_find(&h->machine, log_report(c->log));
    if (cache)
        tune_load(&h->tune, cache, h->machine.digest, clock_unix_ns());
    snprintf(h->place, sizeof h->place, "%s", c->options->cache ? c->options->cache : "");
    h->cpu = (struct machine_cpu){1, 1};
    choose_begin(h);
    if (h->machine.count < 2)
        report_note(log_report(c->log), "there is no device besides the CPU; that is measured");
    shoal_code code = model ? run_model(c, model) : run_workloads(c);
    learn_save(h);
    cache_close(cache);
    if (code == SHOAL_OK && !model)
        code = calibrate_grids(c->options, c->end_ns, c->visit, c->user, c->log);
    return code;
}

shoal_code shoal_calibrate(const shoal_model *model, const shoal_options *options, double seconds,
                           shoal_calibrate_visit *visit, void *user, shoal_log *log) {
    shoal_options o;
    shoal_code code = options_take(options, "shoal_calibrate", &o, log);
    if (code != SHOAL_OK)
        return code;
    double most = seconds > 0 ? seconds : seconds_most;
    struct calibration c = {.options = &o,
                            .chooser = calloc(1, sizeof *c.chooser),
                            .values =
                                malloc(calibrate_rows(CALIBRATE_SIZES - 1) * sizeof *c.values),
                            .end_ns = clock_ns() + (uint64_t)(most * 1e9),
                            .visit = visit,
                            .user = user,
                            .log = log};
    code = c.chooser && c.values ? calibrate(&c, model)
                                 : report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    free(c.chooser);
    free(c.values);
    free(c.block);
    return code;
}
