// SPDX-License-Identifier: MIT
// Whole kernels of random models: run on two targets and compared, or by one step with the oracle;
// or only compiled, or only generated.
#include "check.h"
#include "random_trial.h"
#include "rig.h"

#include <unistd.h>

// ---- Whole kernels ------------------------------------------------------------------------------

enum { ROWS = 19 }; // more than any target has lanes, and no multiple

struct run {
    uint32_t vars;
    uint64_t samples;
    double *values; // [var][row][sample]
    double *t;      // [row][sample]
    uint8_t status[ROWS];
    uint32_t steps[ROWS], rejected[ROWS];
    uint64_t f_evals[ROWS];
    char *text; // of a file, where every step is kept
};

static void run_free(struct run *r) {
    free(r->values);
    free(r->t);
    free(r->text);
    *r = (struct run){0};
}

static struct point *points_new(const struct trial *t) {
    uint64_t rng = t->seed;
    struct point *p = calloc(ROWS, sizeof *p);
    REQUIRE(p);
    for (uint32_t i = 0; i < ROWS; i++) {
        p[i] = point_new(t->model, &rng, t->variant.f32, i == 0);
        p[i].t = START_TIME;
    }
    return p;
}

static void points_free(struct point *p) {
    for (uint32_t i = 0; i < ROWS; i++)
        point_free(&p[i]);
    free(p);
}

static void give(struct trial *t, shoal_batch *b, const char *name, const struct point *p,
                 uint32_t index, bool state) {
    double values[ROWS];
    char column[64];
    for (uint32_t i = 0; i < ROWS; i++)
        values[i] = state ? p[i].state[index] : p[i].parameter[index];
    snprintf(column, sizeof column, state ? "%s(0)" : "%s", name);
    if (!t->failure && shoal_batch_values(b, column, values, ROWS, t->log) != SHOAL_OK)
        trial_fail_call(t, "batch");
}

// All parameters; initial values but for formulas, unless `all`.
static shoal_batch *batch_of(struct trial *t, const struct point *p, bool all, const char *only) {
    shoal_batch *b = NULL;
    if (shoal_batch_new(t->parsed, &b, t->log) != SHOAL_OK) {
        trial_fail_call(t, "batch");
        return NULL;
    }
    for (uint32_t i = 0; i < random_model_parameters(t->model); i++)
        give(t, b, random_model_parameter(t->model, i), p, i, false);
    for (uint32_t i = 0; i < random_model_states(t->model); i++)
        if (all || !random_model_starts_by_formula(t->model, i))
            give(t, b, random_model_state(t->model, i), p, i, true);
    if (only && shoal_batch_only(b, only, t->log) != SHOAL_OK)
        trial_fail_call(t, "batch");
    return b;
}

static void widen(struct run *r, uint64_t count) {
    for (uint64_t i = count; i-- > 0;) {
        float narrow;
        memcpy(&narrow, (const char *)r->values + i * sizeof narrow, sizeof narrow);
        r->values[i] = (double)narrow;
    }
}

static void run_arrays(struct trial *t, shoal_solver *s, shoal_batch *b, struct run *r) {
    uint64_t rows = shoal_batch_rows(b);
    r->vars = shoal_solver_var_count(s);
    r->samples = shoal_solver_save_count(s);
    r->values = calloc(r->vars * rows * r->samples + 1, sizeof *r->values);
    r->t = calloc(rows * r->samples + 1, sizeof *r->t);
    REQUIRE(r->values && r->t);
    shoal_array a[] = {{.data = r->values},
                       {.name = "t", .data = r->t},
                       {.name = "status", .data = r->status},
                       {.name = "steps", .data = r->steps},
                       {.name = "rejected", .data = r->rejected},
                       {.name = "f_evals", .data = r->f_evals}};
    if (shoal_solver_run_arrays(s, b, a, 6, NULL, t->log) != SHOAL_OK)
        trial_fail_call(t, "run");
    else if (t->variant.f32)
        widen(r, r->vars * rows * r->samples);
}

static void run_file(struct trial *t, shoal_solver *s, shoal_batch *b, struct run *r) {
    const char *path = check_path("steps.csv");
    unlink(path);
    if (shoal_solver_run_file(s, b, path, NULL, t->log) != SHOAL_OK)
        trial_fail_call(t, "run");
    else
        r->text = check_read(path);
}

// ---- The same bits ------------------------------------------------------------------------------

static bool same_number(double a, double b) {
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

// Row i of a against row k of b, where they have so many rows.
static void compare_rows(struct trial *t, const struct run *a, uint32_t i, uint32_t rows_a,
                         const struct run *b, uint32_t k, uint32_t rows_b, const char *what) {
    if (a->status[i] != b->status[k] || a->steps[i] != b->steps[k] ||
        a->rejected[i] != b->rejected[k] || a->f_evals[i] != b->f_evals[k])
        trial_fail(
            t, "%s: row %u is %s, %u steps, %u rejected, %llu evaluations; not %s, %u, %u, %llu",
            what, i, shoal_status_word(b->status[k]), b->steps[k], b->rejected[k],
            (unsigned long long)b->f_evals[k], shoal_status_word(a->status[i]), a->steps[i],
            a->rejected[i], (unsigned long long)a->f_evals[i]);
    for (uint32_t v = 0; v < a->vars; v++)
        for (uint64_t n = 0; n < a->samples; n++) {
            double x = a->values[(v * rows_a + i) * a->samples + n];
            double y = b->values[(v * rows_b + k) * b->samples + n];
            t->sure++;
            if (!same_number(x, y))
                trial_fail(t, "%s: row %u, output %u, sample %llu is %.17g, not %.17g", what, i, v,
                           (unsigned long long)n, y, x);
        }
}

// Says which line is another one.
static void compare_texts(struct trial *t, const char *a, const char *b, const char *what) {
    while (*a && !strncmp(a, b, strcspn(a, "\n") + 1)) {
        a += strcspn(a, "\n") + 1;
        b += strcspn(b, "\n") + 1;
        t->sure++;
    }
    if (*a || *b)
        trial_fail(t, "%s: a line is %.*s, not %.*s", what, (int)strcspn(b, "\n"), b,
                   (int)strcspn(a, "\n"), a);
}

static void compare_runs(struct trial *t, const struct run *want, const struct run *got,
                         const char *what) {
    if (want->text && got->text)
        compare_texts(t, want->text, got->text, what);
    for (uint32_t i = 0; i < ROWS && !t->failure && !want->text; i++)
        compare_rows(t, want, i, ROWS, got, i, ROWS, what);
}

// The kernel again: in chunks, with and without refill, a row alone.
static void run_again(struct trial *t, shoal_solver *s, const struct point *p,
                      const struct run *want) {
    static const struct {
        uint64_t chunk;
        shoal_refill refill;
        const char *what;
    } ways[] = {{7, SHOAL_REFILL_ON, "chunks"},
                {0, SHOAL_REFILL_OFF, "no refill"},
                {5, SHOAL_REFILL_OFF, "chunks, no refill"}};
    for (size_t i = 0; i < 3 && !t->failure; i++) {
        struct run got = {0};
        shoal_batch *b = batch_of(t, p, false, NULL);
        rig_turn(s, (struct rig_way){.chunk = ways[i].chunk, .refill = ways[i].refill});
        if (!t->failure)
            run_arrays(t, s, b, &got);
        if (!t->failure)
            compare_runs(t, want, &got, ways[i].what);
        run_free(&got);
        shoal_batch_free(b);
    }
    struct run alone = {0};
    shoal_batch *b = t->failure ? NULL : batch_of(t, p, false, "11");
    if (b && !t->failure)
        run_arrays(t, s, b, &alone);
    if (b && !t->failure)
        compare_rows(t, want, 11, ROWS, &alone, 0, 1, "alone");
    run_free(&alone);
    shoal_batch_free(b);
}

static struct run run_variant(struct trial *t, const struct point *p, bool again) {
    struct run r = {0};
    shoal_solver *s = NULL;
    shoal_batch *b = NULL;
    char *text = random_model_text(t->model), *outputs = trial_outputs(t);
    bool steps = t->variant.save && !strcmp(t->variant.save, "steps");
    trial_open(t, text);
    trial_set(t, "vars", outputs);
    if (!t->failure && shoal_solver_new(t->parsed, &t->options, &s, t->log) != SHOAL_OK)
        trial_fail_call(t, "solver");
    if (!t->failure)
        b = batch_of(t, p, false, NULL);
    if (!t->failure && steps)
        run_file(t, s, b, &r);
    else if (!t->failure)
        run_arrays(t, s, b, &r);
    if (!t->failure && !steps && again)
        run_again(t, s, p, &r);
    shoal_batch_free(b);
    shoal_solver_free(s);
    trial_close(t);
    free(text);
    free(outputs);
    return r;
}

// The reference is the machine's own target; the variant is given. (One lane of GCC's is none: it
// makes -fma(a, b, c) to fma(-a, b, -c), which is another 0 where that is 0.)
void random_run_kernels(struct trial *t) {
    struct point *p = points_new(t);
    struct variant given = t->variant;
    struct run want = {0}, got = {0};
    t->variant.target = t->variant.compiler = t->variant.device = NULL;
    want = run_variant(t, p, false);
    t->variant = given;
    if (!t->failure)
        got = run_variant(t, p, true);
    if (!t->failure)
        compare_runs(t, &want, &got, "bits");
    run_free(&want);
    run_free(&got);
    points_free(p);
}

// ---- One step of Euler's ------------------------------------------------------------------------

// Of a whole kernel with every function: the slopes from a step of 1, the observables of its start.
// A switch in time splits the step.
static void compare_euler(struct trial *t, const struct run *r, const struct point *p,
                          uint32_t row) {
    const struct random_model *m = t->model;
    struct oracle o = oracle_new(m, p, &t->variant);
    uint32_t states = random_model_states(m);
    bool whole = r->status[row] == SHOAL_STATUS_ok && r->steps[row] == 1;
    for (uint32_t i = 0; i < states && whole; i++) {
        struct expected want = oracle_at(&o, SLOPE, i, false);
        want.v += (long double)p->state[i];
        want.tolerance +=
            2 * (long double)o.unit * (fabsl(want.v) + fabsl((long double)p->state[i]));
        trial_compare(t, "euler", random_model_state(m, i), r->values[(i * ROWS + row) * 2 + 1],
                      want);
    }
    for (uint32_t i = 0; i < random_model_observables(m); i++)
        trial_compare(t, "observable", random_model_observable(m, i),
                      r->values[((states + i) * ROWS + row) * 2],
                      oracle_at(&o, OBSERVABLE, i, false));
    oracle_free(&o);
}

void random_run_euler(struct trial *t) {
    struct run r = {0};
    struct point *p = points_new(t);
    shoal_solver *s = NULL;
    shoal_batch *b = NULL;
    char *text = random_model_text(t->model), *outputs = trial_outputs(t);
    trial_open(t, text);
    trial_set(t, "vars", outputs);
    trial_set(t, "dt", "1");
    trial_set(t, "save", "n=2");
    if (!t->failure && shoal_solver_new(t->parsed, &t->options, &s, t->log) != SHOAL_OK)
        trial_fail_call(t, "solver");
    if (!t->failure)
        b = batch_of(t, p, true, NULL);
    if (!t->failure)
        run_arrays(t, s, b, &r);
    for (uint32_t i = 0; i < ROWS && !t->failure; i++)
        compare_euler(t, &r, &p[i], i);
    shoal_batch_free(b);
    shoal_solver_free(s);
    trial_close(t);
    run_free(&r);
    points_free(p);
    free(text);
    free(outputs);
}

// ---- Compilers without a device -----------------------------------------------------------------

void random_run_compiler(struct trial *t) {
    struct order order = {0};
    struct kernel_source source;
    struct shoal_bytes bytes = {0};
    char *text = random_model_text(t->model), *outputs = trial_outputs(t);
    const char *target = t->variant.target;
    t->variant.target = NULL; // it is no CPU's
    trial_open(t, text);
    t->variant.target = target;
    trial_set(t, "vars", outputs);
    if (!t->failure && order_open(t->parsed, &t->options, target, &order, t->log) != SHOAL_OK)
        trial_fail_call(t, "order");
    if (!t->failure && codegen_kernel(&order.kernel[PLAN_FIRST], order.model->found->system, NULL,
                                      NULL, &source, t->log) != SHOAL_OK)
        trial_fail_call(t, "codegen");
    if (!t->failure) {
        struct shoal_kernel_text k = {.text = source.text.data, .length = source.text.length};
        if (order.backend->build(order.device, &k, NULL, &bytes, log_report(t->log)) != SHOAL_OK)
            trial_fail_call(t, "compiler");
        kernel_source_free(&source);
    }
    free(bytes.data);
    order_close(&order);
    trial_close(t);
    free(text);
    free(outputs);
}

// ---- Names --------------------------------------------------------------------------------------

// The kernel's source for the variant's target; the caller frees.
static char *source_of(struct trial *t) {
    struct order order = {0};
    struct kernel_source source = {0};
    char *text = random_model_text(t->model), *outputs = trial_outputs(t);
    const char *target = t->variant.target;
    t->variant.target = NULL; // it need not be one of this CPU
    trial_open(t, text);
    t->variant.target = target;
    trial_set(t, "vars", outputs);
    if (!t->failure && order_open(t->parsed, &t->options, target, &order, t->log) != SHOAL_OK)
        trial_fail_call(t, "order");
    if (!t->failure && codegen_kernel(&order.kernel[PLAN_FIRST], order.model->found->system, NULL,
                                      NULL, &source, t->log) != SHOAL_OK)
        trial_fail_call(t, "codegen");
    order_close(&order);
    trial_close(t);
    free(text);
    free(outputs);
    return source.text.data;
}

// The same model twice, and under other names, is the same source.
void random_run_names(struct trial *t) {
    char *first = source_of(t), *again = t->failure ? NULL : source_of(t);
    struct random_model *own = t->model;
    t->model = random_model_copy(own);
    random_model_rename(t->model);
    char *renamed = t->failure ? NULL : source_of(t);
    if (!t->failure && strcmp(first, again))
        trial_fail(t, "again: another source");
    if (!t->failure && strcmp(first, renamed))
        trial_fail(t, "names: they change the source");
    t->sure++;
    random_model_free(t->model);
    t->model = own;
    free(first);
    free(again);
    free(renamed);
}
