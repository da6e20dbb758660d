// SPDX-License-Identifier: MIT
// Methods at an equal error: each gets the tolerance at which its error is the one that is wanted,
// and only then times are compared.
//
// Errors are measured against a reference on which two methods of different kinds agree far better
// than that; where no two do (the system is chaotic, or the tolerance out of reach) there is no
// comparison. Runs that the references do not finish do not count; a method that fails in one that
// counts takes no part.
#include "api/model.h"
#include "ode/run/tolerances.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUNS_CPU = 1024,
    RUNS_DEVICE = 1 << 16,
    ROUNDS = 3,
    ROUNDS_MOST = 100,
    TRIES = 8,
    REFERENCES = 3
};
#define REFERENCE_S 20.0 // as long as one is waited for,
#define METHOD_S 2.0     // and a method, at least;
#define TOO_SLOW 10.0    // at most so many times as long as the best takes,
#define START_S 50e-3    // once what a first run pays for threads and memory is no matter
#define TELLS_S 1e-3     // as long as the best must take to tell methods apart
#define ATTEMPT_S 30e-3  // a batch that is done sooner runs again: what else happens is longer

struct contest {
    const shoal_model *model;
    shoal_options options; // but for method and tolerances
    shoal_batch *batch;
    uint64_t runs, samples;
    uint32_t vars;
    double scale;     // of a number's error: scale + |number|
    double *want;     // [run][sample][var]
    bool *counts;     // [run] both references finished it
    double best;      // seconds of the fastest so far
    double patience;  // seconds
    int stop;         // what solvers look at
    shoal_log *quiet; // what is wrong with single methods
};

struct trial {
    shoal_code code;
    double error, seconds;
    uint64_t failed; // of the runs that count
};

static void on_progress(const shoal_progress *now, void *user) {
    struct contest *c = user;
    const volatile int *too = c->options.stop;
    if (now->seconds > c->patience || (too && *too))
        c->stop = 1;
}

// ---- Runs of the batch --------------------------------------------------------------------------

static shoal_code spread_runs(struct contest *c, const shoal_batch *from, uint64_t most,
                              shoal_log *log) {
    uint64_t rows = shoal_batch_rows(from);
    shoal_code code = shoal_batch_new(c->model, &c->batch, log);
    c->runs = rows < most ? rows : most;
    double *values = malloc((c->runs ? c->runs : 1) * sizeof *values);
    if (!values)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < shoal_batch_input_count(from) && code == SHOAL_OK; i++) {
        for (uint64_t k = 0; k < c->runs; k++) {
            uint64_t row = (uint64_t)((double)k * (double)rows / (double)c->runs);
            values[k] = shoal_batch_value(from, i, shoal_batch_run(from, row));
        }
        code = shoal_batch_values(c->batch, shoal_batch_input_name(from, i), values, c->runs, log);
    }
    free(values);
    return code;
}

// ---- One run ------------------------------------------------------------------------------------

static shoal_code solver_of(struct contest *c, const char *method, shoal_solver **out) {
    shoal_options o = c->options;
    o.method = method;
    o.stop = &c->stop;
    c->stop = 0;
    shoal_code code = shoal_solver_new(c->model, &o, out, c->quiet);
    if (code == SHOAL_OK)
        shoal_solver_on_progress(*out, on_progress, c);
    return code;
}

static shoal_code run_at(struct contest *c, shoal_solver *solver, double rtol, shoal_result **out) {
    shoal_options o;
    shoal_code code = shoal_solver_options(solver, &o, c->quiet);
    o.rtol = rtol;
    o.atol = rtol * c->scale;
    c->stop = 0;
    if (code == SHOAL_OK)
        code = shoal_solver_set_options(solver, &o, NULL, c->quiet);
    return code == SHOAL_OK ? shoal_solver_run(solver, c->batch, out, c->quiet) : code;
}

static size_t at(const struct contest *c, uint64_t run, uint64_t sample) {
    return (run * c->samples + sample) * c->vars;
}

// The sum of squares of a run's errors, each in its own scale.
static double squares(const struct contest *c, const shoal_result *r, const double *want,
                      uint64_t run) {
    double sum = 0;
    for (uint64_t k = 0; k < c->samples; k++)
        for (uint32_t v = 0; v < c->vars; v++) {
            double w = want[at(c, run, k) + v];
            double e = (shoal_result_value(r, v, run, k) - w) / (c->scale + fabs(w));
            sum += e * e;
        }
    return sum;
}

static double rms(const struct contest *c, double sum, uint64_t runs) {
    return sqrt(sum / (double)(runs * c->samples * c->vars));
}

static struct trial judge(const struct contest *c, const shoal_result *r) {
    struct trial t = {.seconds = shoal_result_tally(r).seconds};
    double sum = 0;
    uint64_t runs = 0;
    for (uint64_t i = 0; i < c->runs; i++) {
        if (!c->counts[i])
            continue;
        runs++;
        t.failed += shoal_result_status(r, i) != SHOAL_STATUS_ok;
        sum += squares(c, r, c->want, i);
    }
    t.error = rms(c, sum, runs);
    return t;
}

// The fastest of several; the first is not among them where others follow.
static struct trial attempt(struct contest *c, shoal_solver *solver, double rtol) {
    struct trial best = {.seconds = INFINITY};
    double all = 0;
    for (int i = 0; i <= ROUNDS || (all < ATTEMPT_S && i <= ROUNDS_MOST); i++) {
        shoal_result *r = NULL;
        shoal_code code = run_at(c, solver, rtol, &r);
        struct trial t = {.code = code};
        if (code == SHOAL_OK)
            t = judge(c, r);
        shoal_result_free(r);
        if (code != SHOAL_OK)
            return t;
        if (i <= 1 || t.seconds < best.seconds)
            best = t;
        all += t.seconds;
        if (t.seconds > fmax(c->best * TOO_SLOW, START_S) || t.failed)
            break;
    }
    return best;
}

// ---- Reference ----------------------------------------------------------------------------------

struct reference {
    const char *method;
    double *values; // NULL: there is none
    bool *ok;       // [run]
};

static bool copy_values(const struct contest *c, const shoal_result *r, struct reference *out) {
    out->values = malloc(c->runs * c->samples * c->vars * sizeof *out->values);
    out->ok = malloc(c->runs);
    if (!out->values || !out->ok)
        return false;
    for (uint64_t i = 0; i < c->runs; i++) {
        out->ok[i] = shoal_result_status(r, i) == SHOAL_STATUS_ok;
        for (uint64_t k = 0; k < c->samples; k++)
            for (uint32_t v = 0; v < c->vars; v++)
                out->values[at(c, i, k) + v] = shoal_result_value(r, v, i, k);
    }
    return true;
}

static void refer(struct contest *c, const char *method, double rtol, struct reference *out) {
    shoal_precision own = c->options.precision;
    shoal_solver *solver = NULL;
    shoal_result *r = NULL;
    c->options.precision = SHOAL_F64;
    c->patience = REFERENCE_S;
    shoal_code code = solver_of(c, method, &solver);
    if (code == SHOAL_OK) {
        c->vars = shoal_solver_var_count(solver);
        c->samples = shoal_solver_save_count(solver);
        code = run_at(c, solver, rtol, &r);
    }
    if (code == SHOAL_OK && copy_values(c, r, out))
        out->method = method;
    shoal_result_free(r);
    shoal_solver_free(solver);
    c->options.precision = own;
}

// How far two are apart in the runs that both finished; NaN where there are none.
static double apart(const struct contest *c, const struct reference *a, const struct reference *b) {
    double sum = 0;
    uint64_t runs = 0;
    for (uint64_t i = 0; i < c->runs; i++) {
        if (!a->ok[i] || !b->ok[i])
            continue;
        runs++;
        for (size_t k = at(c, i, 0); k < at(c, i + 1, 0); k++) {
            double e = (a->values[k] - b->values[k]) / (c->scale + fabs(a->values[k]));
            sum += e * e;
        }
    }
    return rms(c, sum, runs);
}

static void take_pair(struct contest *c, struct reference *a, const struct reference *b,
                      shoal_comparison *out) {
    out->reference[0] = a->method;
    out->reference[1] = b->method;
    c->want = a->values;
    c->counts = a->ok;
    for (uint64_t i = 0; i < c->runs; i++)
        c->counts[i] = a->ok[i] && b->ok[i];
    *a = (struct reference){0};
}

static void free_references(struct reference *list) {
    for (int i = 0; i < REFERENCES; i++) {
        free(list[i].values);
        free(list[i].ok);
    }
}

// The first two that agree.
static shoal_code find_reference(struct contest *c, shoal_comparison *out, shoal_log *log) {
    static const char *const names[REFERENCES] = {"dop853", "radau9", "rodas5p"};
    struct reference list[REFERENCES] = {0};
    double rtol = fmax(out->error * 1e-4, 1e-12);
    out->agreement = INFINITY;
    for (int i = 0; i < REFERENCES && !c->want; i++) {
        refer(c, names[i], rtol, &list[i]);
        for (int k = 0; k < i && !c->want && list[i].method; k++) {
            double d = list[k].method ? apart(c, &list[k], &list[i]) : (double)INFINITY;
            out->agreement = d < out->agreement ? d : out->agreement;
            if (d <= out->error / 10)
                take_pair(c, &list[k], &list[i], out);
        }
    }
    free_references(list);
    if (c->want)
        return SHOAL_OK;
    return report_error(log_report(log), SHOAL_INPUT,
                        "there is no reference to measure errors against: the best of dop853, "
                        "radau9 and rodas5p at rtol=%g differ by %.2g, which is not far below %g; "
                        "a shorter time, or a larger --rtol, may help",
                        rtol, out->agreement, out->error);
}

// ---- Methods ------------------------------------------------------------------------------------

static void fails(shoal_rank *rank, const struct trial *t, const struct contest *c) {
    if (t->code == SHOAL_STOPPED)
        snprintf(rank->why, sizeof rank->why, "takes more than %.3g s", c->patience);
    else if (t->code != SHOAL_OK)
        snprintf(rank->why, sizeof rank->why, "is not for this model");
    else if (t->failed)
        snprintf(rank->why, sizeof rank->why, "fails in %llu of %llu runs",
                 (unsigned long long)t->failed, (unsigned long long)c->runs);
    else
        snprintf(rank->why, sizeof rank->why, "reaches no more than %.2g", t->error);
}

// The next tolerance to try: errors go about as tolerances do.
static double next_rtol(double rtol, const struct trial *t, double wanted) {
    double factor = t->failed || isnan(t->error) ? 0.1 : 0.7 * wanted / t->error;
    return fmin(fmax(rtol * fmin(fmax(factor, 1e-3), 100), 1e-13), 0.1);
}

static void search(struct contest *c, shoal_solver *solver, double wanted, shoal_rank *rank) {
    double rtol = wanted;
    struct trial last = {.error = INFINITY};
    for (int i = 0; i < TRIES; i++) {
        struct trial t = attempt(c, solver, rtol);
        if (t.code != SHOAL_OK) {
            last = t;
            break;
        }
        bool good = !t.failed && t.error <= wanted;
        if (good && !(rank->seconds <= t.seconds)) {
            rank->rtol = rtol;
            rank->atol = rtol * c->scale;
            rank->error = t.error;
            rank->seconds = t.seconds;
        }
        if (last.failed || !(last.error < t.error))
            last = t;
        double next = next_rtol(rtol, &t, wanted);
        if ((good && t.error > wanted / 3) || next == rtol)
            break;
        rtol = next;
    }
    if (isnan(rank->seconds))
        fails(rank, &last, c);
    else if (rank->seconds < c->best)
        c->best = rank->seconds;
}

static void compete(struct contest *c, const char *method, shoal_comparison *out) {
    shoal_rank *rank = &out->rank[out->count++];
    shoal_solver *solver = NULL;
    *rank = (shoal_rank){.method = method,
                         .rtol = (double)NAN,
                         .atol = (double)NAN,
                         .error = (double)NAN,
                         .seconds = (double)NAN};
    c->patience = fmax(METHOD_S, TOO_SLOW * (isfinite(c->best) ? c->best : 0));
    struct trial none = {.code = solver_of(c, method, &solver)};
    if (none.code == SHOAL_OK)
        search(c, solver, out->error, rank);
    else
        fails(rank, &none, c);
    shoal_solver_free(solver);
}

// The fastest first, those that take no part last.
static int by_time(const void *a, const void *b) {
    double x = ((const shoal_rank *)a)->seconds, y = ((const shoal_rank *)b)->seconds;
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

static shoal_code compete_all(struct contest *c, shoal_comparison *out, shoal_log *log) {
    const volatile int *stop = c->options.stop;
    compete(c, "auto", out);
    for (uint32_t i = 0; i < shoal_method_count() && out->count < SHOAL_RANKS; i++) {
        if (stop && *stop)
            return report_error(log_report(log), SHOAL_STOPPED, "stopped");
        if (shoal_method_at(i).embedded_order)
            compete(c, shoal_method_at(i).name, out);
    }
    qsort(out->rank, out->count, sizeof *out->rank, by_time);
    return SHOAL_OK;
}

// ---- The call -----------------------------------------------------------------------------------

// What is compared: the variables, where the options save them.
static shoal_options plain(const shoal_options *options) {
    shoal_options o = *options;
    o.summary = o.reduce = o.by = o.record = o.keep_source = o.job = NULL;
    o.controller = NULL;
    o.dt = o.window = (double)NAN;
    if (o.save == SHOAL_SAVE_STEPS)
        o.save = SHOAL_SAVE_FINAL;
    return o;
}

static bool is_device(const char *name) {
    return name && strncmp(name, "cpu", 3) && strcmp(name, "auto");
}

static shoal_code check_tolerances(const shoal_options *o, struct report *r) {
    if (o->atol_list)
        return report_error(r, SHOAL_INPUT,
                            "methods are compared with one --atol, not with one for each state");
    if (tolerances_rtol(o) > 0 && tolerances_atol(o) > 0)
        return SHOAL_OK;
    return report_error(r, SHOAL_INPUT, "methods are compared at an rtol and an atol above 0");
}

shoal_code shoal_compare_methods(const shoal_model *model, const shoal_options *options,
                                 const shoal_batch *batch, shoal_comparison *out, shoal_log *log) {
    if (!model || !options || !batch || !out)
        return api_usage(log, "shoal_compare_methods", "model, options, batch or place for it");
    struct contest c = {.model = model, .options = plain(options), .best = INFINITY};
    *out = (shoal_comparison){.error = tolerances_rtol(options)};
    c.scale = tolerances_atol(options) / out->error;
    shoal_code code = check_tolerances(options, log_report(log));
    if (code != SHOAL_OK)
        return code;
    c.quiet = shoal_log_new();
    code = spread_runs(&c, batch, is_device(options->device) ? RUNS_DEVICE : RUNS_CPU, log);
    if (code == SHOAL_OK)
        code = find_reference(&c, out, log);
    if (code == SHOAL_OK)
        code = compete_all(&c, out, log);
    if (code == SHOAL_OK && c.best < TELLS_S)
        report_note(log_report(log),
                    "the batch is done in %.2g ms, of which most is the call: a larger one, by "
                    "--sweep or --sample, tells more",
                    c.best * 1e3);
    out->runs = c.runs;
    free(c.want);
    free(c.counts);
    shoal_batch_free(c.batch);
    shoal_log_free(c.quiet);
    return code;
}
