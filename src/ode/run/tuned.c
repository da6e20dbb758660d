// SPDX-License-Identifier: MIT
// See tuned.h.
#include "ode/run/tuned.h"

#include "base/clock.h"
#include "dispatch/search.h"
#include "dispatch/tune.h"
#include "log/log.h"
#include "ode/run/pilot.h"
#include "result/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

LOG_LABEL(search_variants, BUILD, 95, "which variant of a kernel is the fastest");

// What takes so long can be told apart well: as many rows, or as often as that.
static const double wanted_s = 20e-3, assumed_compile_s = 1;
enum { ROWS_MOST = 1 << 22, TIMES_MOST = 1000, RUNS = 8, MANY = 16 }; // vectors for each thread

// ---- One kernel ---------------------------------------------------------------------------------

struct tuning {
    const struct plan *plan;
    struct runner *runner;
    const struct batch *batch;
    struct batch *rows; // of it,
    uint32_t times;     // that they run for one measurement,
    bool many;          // and whether they keep all threads of a CPU busy
    const struct dispatch_control *control;
    shoal_log *log;
    uint64_t begin_ns;
    enum plan_role role;
    struct loaded kernel[SEARCH_MOST]; // of an axis; the first is the best so far
    struct kernel_variant variant[SEARCH_MOST];
    uint64_t digest; // of what rows give
};

// Of all threads of the process.
static double processor_seconds(void) {
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static shoal_code run_rows(struct tuning *t, uint32_t i, bool looks, uint64_t *digest,
                           double *seconds) {
    struct digest_sink sink;
    struct loaded *at = &t->runner->kernel[t->role], before = *at;
    struct dispatch_control control = *t->control;
    struct arena arena = {0};
    struct result_list list;
    shoal_tally tally = {0};
    control.progress = NULL;
    digest_sink_init(&sink, looks);
    shoal_code code = run_list(t->plan, t->rows, "{}", &arena, &list, log_report(t->log));
    *at = t->kernel[i];
    double before_s = processor_seconds();
    if (code == SHOAL_OK)
        code =
            run_batch(t->plan, t->runner, t->rows, &sink.base, &list, &control, NULL, &tally, NULL);
    *at = before;
    arena_free(&arena);
    *digest = sink.digest;
    // Somebody else may have the processors: where all threads have work their own time tells more.
    *seconds = t->many ? (processor_seconds() - before_s) / t->plan->threads : tally.seconds;
    return code;
}

static shoal_code run(void *user, uint32_t i, double *seconds) {
    const struct tuning *t = user;
    uint64_t digest;
    double once;
    shoal_code code = SHOAL_OK;
    *seconds = 0;
    for (uint32_t n = 0; n < t->times && code == SHOAL_OK; n++) {
        code = run_rows(user, i, false, &digest, &once);
        *seconds += once;
    }
    return code;
}

// A kernel of a variant. Its bits are those of the default.
static shoal_code build(struct tuning *t, const struct kernel_variant *v, struct loaded *out) {
    struct kernel_plan plan = t->plan->kernel[t->role];
    struct build_how how = t->runner->how;
    const struct loaded *now = &t->runner->kernel[t->role];
    struct system *s = build_system(t->plan->model, t->log);
    plan.variant = *v;
    how.variants[0] = 0;
    how.keep_source = NULL;
    shoal_code code = s ? build_kernel(&plan, s, &how, false, NULL, out, t->log) : SHOAL_INPUT;
    system_free(s);
    memcpy(out->base, now->base, sizeof out->base);
    memcpy(out->computation, now->computation, sizeof out->computation);
    return code;
}

static void tell_difference(const struct tuning *t, const struct kernel_variant *v) {
    char text[VARIANT_TEXT];
    variant_text(v, text);
    report_warning(log_report(t->log),
                   "a variant of the kernel (%s) gives other bits than the kernel, and is not used",
                   text);
}

// The compiler may refuse a variant, which is no fault of the run.
static shoal_code make(void *user, uint32_t i, bool *same) {
    struct tuning *t = user;
    uint64_t digest = 0, mark = report_mark(log_report(t->log));
    double seconds;
    char why[256];
    *same = false;
    shoal_code code = build(t, &t->variant[i], &t->kernel[i]);
    if (code == SHOAL_STOPPED)
        return code;
    if (code != SHOAL_OK) {
        report_withdraw(log_report(t->log), mark, why, sizeof why);
        return SHOAL_OK;
    }
    if (!strcmp(t->kernel[i].key, t->kernel[0].key)) // the default by another name
        return SHOAL_OK;
    code = run_rows(t, i, true, &digest, &seconds);
    *same = code == SHOAL_OK && digest == t->digest;
    if (code == SHOAL_OK && !*same)
        tell_difference(t, &t->variant[i]);
    return code;
}

static double spent(void *user) {
    const struct tuning *t = user;
    return (double)(clock_ns() - t->begin_ns) * 1e-9;
}

static const struct search_engine engine = {.make = make, .run = run, .spent = spent};

// ---- All axes -----------------------------------------------------------------------------------

static shoal_code pick_rows(struct tuning *t, uint64_t rows, uint64_t many, double *seconds) {
    free(t->rows);
    t->rows = batch_pick(t->batch, (uint32_t)rows);
    t->many = rows >= many && !t->plan->kernel[t->role].target->device;
    return t->rows ? run_rows(t, 0, true, &t->digest, seconds) : SHOAL_MEMORY;
}

// So many rows that times can be told apart, and what they give.
static shoal_code choose_rows(struct tuning *t) {
    uint64_t all = batch_rows(t->batch), most = all < ROWS_MOST ? all : ROWS_MOST,
             many = (uint64_t)MANY * t->plan->threads * pilot_lanes(t->plan), rows = many;
    double seconds = 0;
    shoal_code code;
    do {
        rows = rows < most ? rows : most;
        code = pick_rows(t, rows, many, &seconds);
        t->times = seconds > 0 ? (uint32_t)fmin(ceil(wanted_s / seconds), TIMES_MOST) : 1;
    } while (code == SHOAL_OK && seconds < wanted_s && rows < most && (rows *= 4));
    return code;
}

// The variants of an axis against the best so far, which the winner replaces.
static shoal_code search_axis(struct tuning *t, enum variant_axis axis, double budget_s,
                              double *gain, bool *whole) {
    struct kernel_plan plan = t->plan->kernel[t->role];
    struct search_result found;
    struct search s = {.budget_s = budget_s};
    plan.variant = t->variant[0];
    s.count = 1 + codegen_variants(&plan, t->plan->model->states.count, axis, t->variant + 1);
    shoal_code code = search_kernels(&s, &engine, t, &found);
    if (code == SHOAL_OK && found.best) {
        struct loaded best = t->kernel[found.best];
        t->kernel[found.best] = t->kernel[0];
        t->kernel[0] = best;
        t->variant[0] = t->variant[found.best];
        *gain *= found.gain;
    }
    for (uint32_t i = 1; i < SEARCH_MOST; i++) {
        kernel_drop(t->kernel[i].kernel);
        t->kernel[i] = (struct loaded){0};
    }
    *whole = *whole && found.whole;
    return code;
}

// By the key of the default: which variant to take. By that of the variant: what it gains.
static void note(const struct tuning *t, double gain) {
    const struct loaded *k = &t->runner->kernel[t->role];
    struct cache *cache = cache_open(t->runner->how.cache);
    struct tune *file = cache ? calloc(1, sizeof *file) : NULL;
    int64_t now = clock_unix_ns();
    if (file) {
        tune_note(file, k->key, now)->gain = gain;
        tune_note(file, k->base, now)->gain = gain;
        tune_note(file, k->base, now)->variant = variant_pack(&t->variant[0]);
        tune_save(file, cache, t->runner->how.variants, now);
    }
    free(file);
    cache_close(cache);
}

static void tell(const struct tuning *t, double gain, bool asked) {
    char text[VARIANT_TEXT];
    const struct method *m = t->plan->kernel[t->role].method;
    variant_text(&t->variant[0], text);
    if (text[0])
        report_note(log_report(t->log), "%s: %s is %.3g times as fast as the default", m->name,
                    text, gain);
    else if (asked)
        report_note(log_report(t->log), "%s: nothing was clearly faster than the default", m->name);
}

// The kernel of a role. What is found takes the place of what is there.
static shoal_code search_role(struct tuning *t, double budget_s) {
    struct loaded *now = &t->runner->kernel[t->role];
    const struct kernel_variant none = {{0}};
    double gain = 1;
    bool whole = true;
    t->variant[0] = none;
    shoal_code code = build(t, &none, &t->kernel[0]);
    if (code == SHOAL_OK)
        code = choose_rows(t);
    for (int axis = 0; axis < VARIANT_AXES && code == SHOAL_OK; axis++)
        code = search_axis(t, (enum variant_axis)axis, budget_s, &gain, &whole);
    if (code == SHOAL_OK && (whole || gain > 1)) {
        struct loaded before = *now;
        *now = t->kernel[0];
        t->kernel[0] = before;
        now->gain = gain;
        note(t, gain);
        tell(t, gain, isinf(budget_s));
    }
    kernel_drop(t->kernel[0].kernel);
    t->kernel[0] = (struct loaded){0};
    return code;
}

// ---- Is it worth it -----------------------------------------------------------------------------

static uint32_t count_variants(const struct plan *p) {
    struct kernel_variant list[VARIANT_VALUES];
    uint32_t count = 0;
    for (int axis = 0; axis < VARIANT_AXES; axis++)
        count += codegen_variants(&p->kernel[PLAN_FIRST], p->model->states.count,
                                  (enum variant_axis)axis, list);
    return count;
}

double tuned_cost(const struct plan *p, const struct runner *runner) {
    const struct loaded *k = &runner->kernel[PLAN_FIRST];
    if (k->gain > 0 || p->list.of.kind == SAMPLES_OWN)
        return 0;
    struct cache *cache = cache_open(runner->how.cache);
    uint32_t ms = cache ? cache_predict(cache, runner->how.backend->kind, k->length) : 0;
    double compile = k->compile_s > 0 ? k->compile_s : ms ? ms / 1e3 : assumed_compile_s;
    cache_close(cache);
    return count_variants(p) * (compile + RUNS * wanted_s);
}

shoal_code tuned_search(const struct plan *p, struct runner *runner, const struct batch *b,
                        double budget_s, const struct dispatch_control *control, shoal_log *log) {
    struct tuning t = {.plan = p,
                       .runner = runner,
                       .batch = b,
                       .control = control,
                       .log = log,
                       .begin_ns = clock_ns()};
    uint64_t launches = runner->launches;
    double first_s = runner->first_s, typical_s = runner->typical_s;
    shoal_code code = SHOAL_OK;
    int32_t span = log_begin(log, LOG_search_variants);
    bool can = p->list.of.kind != SAMPLES_OWN && batch_rows(b);
    for (t.role = PLAN_FIRST; can && t.role < PLAN_LAST && code == SHOAL_OK; t.role++)
        if (runner->kernel[t.role].kernel)
            code = search_role(&t, budget_s);
    free(t.rows);
    runner->launches = launches;
    runner->first_s = first_s;
    runner->typical_s = typical_s;
    log_end(log, span);
    return code;
}
