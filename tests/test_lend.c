// SPDX-License-Identifier: MIT
// Lent arrays against a plain oracle: every combination of precisions, sweeps, zips, samples, parts
// of the batch, chunks and strides. The arrays have nothing around them, so that a sanitizer sees a
// step outside.
#include "check.h"

#include "shoal/shoal.h"

enum { ROWS = 6 };

// The result is the input: rows are told apart by what they were given.
static const char text[] = "par p=0, s=0, u=0, w=0, v=0\ninit x=0\nx'=0\n"
                           "aux rp=p\naux rs=s\naux ru=u\naux rw=w\naux rv=v\n@ t1=1\n";
static const char *const names[] = {"p", "s", "u", "w", "v"};
static const char vars[] = "rp,rs,ru,rw,rv,x";
enum { NAMES = 5, VARS = 6 };

struct shape {
    bool lent_f32, f32; // the array, and the run
    int with;           // bits: a sweep, a zipped pair, samples
    const char *only;   // or NULL
    const char *chunk;  // or NULL
    bool strided;       // values of a row together
    bool state;         // an initial value is lent too
};

struct bed {
    shoal_log *log;
    shoal_model *model;
    shoal_batch *batch;
    shoal_solver *solver;
    void *p;   // lent
    double *x; // lent
    uint64_t rows;
};

static void need(const struct bed *b, shoal_code code, const char *what) {
    if (code == SHOAL_OK)
        return;
    for (size_t i = 0; i < shoal_log_message_count(b->log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(b->log, i).text);
    check_fail(__FILE__, __LINE__, "%s: %s", what, shoal_code_text(code));
    check_end();
}

static struct bed begin(bool f32) {
    struct bed b = {.log = shoal_log_new()};
    shoal_options o;
    need(&b, shoal_model_parse("m", text, sizeof text - 1, &b.model, b.log), "model");
    need(&b, shoal_options_init(&o, b.model, b.log), "options");
    o.vars = vars;
    o.method = "euler";
    o.dt = 1;
    o.precision = f32 ? SHOAL_F32 : SHOAL_F64;
    need(&b, shoal_solver_new(b.model, &o, &b.solver, b.log), "solver");
    return b;
}

static void describe(struct bed *b, const struct shape *s) {
    b->p = malloc(ROWS * (s->lent_f32 ? sizeof(float) : sizeof(double)));
    b->x = malloc(ROWS * sizeof *b->x);
    need(b, shoal_batch_new(b->model, &b->batch, b->log), "batch");
    if (s->with & 1)
        need(b, shoal_batch_sweep(b->batch, "s=10,20,30", b->log), "sweep");
    if (s->with & 2) {
        need(b, shoal_batch_sweep(b->batch, "u=1,2", b->log), "u");
        need(b, shoal_batch_sweep(b->batch, "w=5,6", b->log), "w");
        need(b, shoal_batch_zip(b->batch, "u,w", b->log), "zip");
    }
    if (s->with & 4) {
        need(b, shoal_batch_sample(b->batch, "v=uniform:0:1", b->log), "v");
        need(b, shoal_batch_sampler(b->batch, "lhs", 4, 7, b->log), "lhs");
    }
    shoal_precision precision = s->lent_f32 ? SHOAL_F32 : SHOAL_F64;
    need(b, shoal_batch_lend(b->batch, "p", b->p, precision, ROWS, b->log), "p"); // not filled yet
    if (s->state)
        need(b, shoal_batch_lend(b->batch, "x(0)", b->x, SHOAL_F64, ROWS, b->log), "x(0)");
    if (s->only)
        need(b, shoal_batch_only(b->batch, s->only, b->log), s->only);
    b->rows = shoal_batch_rows(b->batch);
}

static void fill(struct bed *b, const struct shape *s, double first) {
    for (int i = 0; i < ROWS; i++) {
        if (s->lent_f32)
            ((float *)b->p)[i] = (float)(first + i);
        else
            ((double *)b->p)[i] = first + i;
        b->x[i] = 100 + i;
    }
}

// What the run of that index was given, by the rule of the header and nothing else.
static void oracle(const struct shape *s, double first, uint64_t run, double out[VARS]) {
    uint64_t samples = s->with & 4 ? 4 : 1, pairs = s->with & 2 ? 2 : 1,
             points = s->with & 1 ? 3 : 1;
    uint64_t pair = run / samples % pairs, point = run / samples / pairs % points;
    uint64_t row = run / samples / pairs / points;
    out[0] = first + (double)row;
    out[1] = s->with & 1 ? 10 + 10 * (double)point : 0;
    out[2] = s->with & 2 ? 1 + (double)pair : 0;
    out[3] = s->with & 2 ? 5 + (double)pair : 0;
    out[4] = 0; // of a sample: the batch's own value
    out[5] = s->state ? 100 + (double)row : 0;
}

static double sampled(const struct bed *b, uint64_t run) {
    for (uint32_t i = 0; i < shoal_batch_input_count(b->batch); i++)
        if (!strcmp(shoal_batch_input_name(b->batch, i), "v"))
            return shoal_batch_value(b->batch, i, run);
    return 0;
}

static void check_row(const struct bed *b, const struct shape *s, double first, uint64_t row,
                      const double got[VARS]) {
    uint64_t run = shoal_batch_run(b->batch, row);
    double want[VARS];
    oracle(s, first, run, want);
    want[4] = sampled(b, run);
    for (int v = 0; v < VARS; v++) {
        double expected = s->f32 ? (double)(float)want[v] : want[v];
        CHECK_MSG(got[v] == expected,
                  "array %d, run %d, with %d, only %s, chunk %s: run %d has %s=%g, not %g",
                  s->lent_f32, s->f32, s->with, s->only ? s->only : "-", s->chunk ? s->chunk : "-",
                  (int)run, v < NAMES ? names[v] : "x", got[v], expected);
    }
}

static void check_run(struct bed *b, const struct shape *s, double first) {
    size_t elem = s->f32 ? sizeof(float) : sizeof(double), n = (size_t)b->rows * VARS;
    char *values = malloc(n * elem);
    uint8_t *status = malloc(b->rows);
    shoal_array a[] = {{.data = values}, {.name = "status", .data = status}};
    if (s->strided)
        a[0].var_stride = 1, a[0].row_stride = VARS, a[0].sample_stride = 1;
    memset(values, 0x7f, n * elem);
    need(b, shoal_solver_run_arrays(b->solver, b->batch, a, 2, NULL, b->log), "run");
    for (uint64_t i = 0; i < b->rows; i++) {
        double got[VARS];
        for (size_t v = 0; v < VARS; v++) {
            size_t at = s->strided ? i * VARS + v : v * b->rows + i;
            got[v] = s->f32 ? (double)((float *)values)[at] : ((double *)values)[at];
        }
        CHECK_INT(status[i], SHOAL_STATUS_ok);
        check_row(b, s, first, i, got);
    }
    free(values);
    free(status);
}

// Once filled after it was lent, once changed between runs.
static void check_shape(struct bed *b, const struct shape *s) {
    describe(b, s);
    need(b, shoal_solver_set(b->solver, "chunk", s->chunk ? s->chunk : "1000", NULL, b->log),
         "chunk");
    fill(b, s, 1);
    check_run(b, s, 1);
    fill(b, s, 1000.5);
    check_run(b, s, 1000.5);
    shoal_batch_free(b->batch);
    free(b->p);
    free(b->x);
}

static void check_all(bool f32) {
    static const char *const parts[] = {NULL, "0:6", "5", "0,2,4:6", "1:7", "3:5,5:6"};
    static const char *const chunks[] = {NULL, "1", "4"};
    struct bed b = begin(f32);
    for (int k = 0; k < 64; k++) // precision of the array, what else, initial value, strides
        for (size_t only = 0; only < sizeof parts / sizeof *parts; only++)
            for (size_t chunk = 0; chunk < sizeof chunks / sizeof *chunks; chunk++) {
                struct shape s = {.lent_f32 = k & 1,
                                  .f32 = f32,
                                  .with = k >> 1 & 7,
                                  .state = k & 16,
                                  .strided = k & 32,
                                  .only = parts[only],
                                  .chunk = chunks[chunk]};
                if (s.with == 0 && only == 4)
                    continue; // there is no run 6
                check_shape(&b, &s);
            }
    shoal_solver_free(b.solver);
    shoal_model_free(b.model);
    shoal_log_free(b.log);
}

TEST(lend_every_combination_f64) { check_all(false); }
TEST(lend_every_combination_f32) { check_all(true); }

// What is not finite is refused where it is copied, and handed on where it is lent.
TEST(lend_not_finite) {
    struct bed b = begin(false);
    static const double bad[] = {1, NAN, INFINITY, -INFINITY, 2};
    double got[VARS * 5];
    uint8_t status[5];
    shoal_array a[] = {{.data = got}, {.name = "status", .data = status}};
    need(&b, shoal_batch_new(b.model, &b.batch, b.log), "batch");
    for (uint64_t i = 1; i < 4; i++)
        CHECK_INT(shoal_batch_values(b.batch, "p", bad + i, 1, b.log), SHOAL_INPUT);
    CHECK_INT(shoal_batch_input_count(b.batch), 0);
    need(&b, shoal_batch_lend(b.batch, "x(0)", bad, SHOAL_F64, 5, b.log), "lend");
    need(&b, shoal_solver_run_arrays(b.solver, b.batch, a, 2, NULL, b.log), "run");
    for (int i = 0; i < 5; i++)
        CHECK_INT(status[i], isfinite(bad[i]) ? SHOAL_STATUS_ok : SHOAL_STATUS_nonfinite);
    CHECK(got[5 * 5] == 1 && got[5 * 5 + 4] == 2);
    shoal_batch_free(b.batch);
    shoal_solver_free(b.solver);
    shoal_model_free(b.model);
    shoal_log_free(b.log);
}

// Strides that put values on top of each other are refused.
TEST(lend_folded_strides) {
    struct bed b = begin(false);
    double values[VARS * 3];
    shoal_array a = {.data = values, .var_stride = 3};
    need(&b, shoal_batch_new(b.model, &b.batch, b.log), "batch");
    need(&b, shoal_batch_sweep(b.batch, "p=1,2,3", b.log), "sweep");
    CHECK_INT(shoal_solver_run_arrays(b.solver, b.batch, &a, 1, NULL, b.log), SHOAL_USAGE);
    a.row_stride = 1; // one sample: its stride does not matter
    CHECK_INT(shoal_solver_run_arrays(b.solver, b.batch, &a, 1, NULL, b.log), SHOAL_OK);
    CHECK(values[0] == 1 && values[2] == 3);
    shoal_batch_free(b.batch);
    shoal_solver_free(b.solver);
    shoal_model_free(b.model);
    shoal_log_free(b.log);
}

// One point, and ends in either order.
TEST(lend_no_sweep_is_wrong) {
    static const struct {
        const char *spec;
        uint64_t count;
        double first, second, last;
    } sweeps[] = {{"p=7", 1, 7, NAN, 7},
                  {"p=lin:3:9:1", 1, 3, NAN, 3},
                  {"p=log:4:9:1", 1, 4, NAN, 4},
                  {"p=lin:9:3:3", 3, 9, 6, 3},
                  {"p=log:100:1:3", 3, 100, 10, 1},
                  {"p=log:-1:-100:3", 3, -1, -10, -100},
                  {"p=lin:2:2:2", 2, 2, 2, 2},
                  {"p=lin:-1:1:3", 3, -1, 0, 1}};
    static const char *const wrong[] = {
        "p=lin:1:2:0", "p=lin:1:2:-1",  "p=lin:1:2:1.5", "p=log:0:1:3", "p=log:-1:1:3", "p=nan",
        "p=1e999",     "p=lin:1:inf:3", "p=1,,2",        "p=",          "p=1/0"};
    struct bed b = begin(false);
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        uint64_t n = sweeps[i].count;
        need(&b, shoal_batch_new(b.model, &b.batch, b.log), "batch");
        need(&b, shoal_batch_sweep(b.batch, sweeps[i].spec, b.log), sweeps[i].spec);
        CHECK_INT(shoal_batch_runs(b.batch), n);
        CHECK(shoal_batch_value(b.batch, 0, 0) == sweeps[i].first);
        CHECK(n < 2 || shoal_batch_value(b.batch, 0, 1) == sweeps[i].second);
        CHECK(shoal_batch_value(b.batch, 0, n - 1) == sweeps[i].last);
        shoal_batch_free(b.batch);
    }
    need(&b, shoal_batch_new(b.model, &b.batch, b.log), "batch");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_MSG(shoal_batch_sweep(b.batch, wrong[i], b.log) == SHOAL_INPUT, "%s", wrong[i]);
    CHECK_INT(shoal_batch_runs(b.batch), 1); // nothing of it is left
    shoal_batch_free(b.batch);
    shoal_solver_free(b.solver);
    shoal_model_free(b.model);
    shoal_log_free(b.log);
}

// A call that fails leaves the batch as it was, whatever it had read of its text or file by then.
TEST(lend_batch_errors_change_nothing) {
    struct bed b = begin(false);
    static const double two[] = {1, 2}, three[] = {1, 2, 3}, nan_last[] = {1, NAN};
    uint64_t runs = 2 * 3 * 5, rows = 4;
    need(&b, shoal_batch_new(b.model, &b.batch, b.log), "batch");
    need(&b, shoal_batch_values(b.batch, "p", two, 2, b.log), "p");
    need(&b, shoal_batch_sweep(b.batch, "s=1,2,3", b.log), "s");
    need(&b, shoal_batch_sample(b.batch, "v=uniform:0:1", b.log), "v");
    need(&b, shoal_batch_sampler(b.batch, "random", 5, 1, b.log), "sampler");
    need(&b, shoal_batch_only(b.batch, "3:7", b.log), "only");
    double before = shoal_batch_value(b.batch, 2, 17);
    const char *good_then_bad = check_path("b.csv"), *other = check_path("c.csv");
    check_write(good_then_bad, "u,_note,nope\n1,a,2\n3,b,4\n");
    check_write(other, "u,w\n1,x\n2,3\n");
    const shoal_code codes[] = {
        shoal_batch_sweep(b.batch, "u=1,2,x", b.log),
        shoal_batch_sweep(b.batch, "s=1", b.log),
        shoal_batch_sweep(b.batch, "nope=1", b.log),
        shoal_batch_zip(b.batch, "s,nope", b.log),
        shoal_batch_zip(b.batch, "s,s", b.log),
        shoal_batch_sample(b.batch, "u=uniform:2:1", b.log),
        shoal_batch_sampler(b.batch, "nope", 9, 9, b.log),
        shoal_batch_only(b.batch, "1,2:x", b.log),
        shoal_batch_only(b.batch, "7:3", b.log),
        shoal_batch_values(b.batch, "u", three, 3, b.log),
        shoal_batch_values(b.batch, "u", nan_last, 2, b.log),
        shoal_batch_values(b.batch, "p", two, 2, b.log),
        shoal_batch_values(b.batch, "nope", two, 2, b.log),
        shoal_batch_lend(b.batch, "u", three, SHOAL_F64, 3, b.log),
        shoal_batch_lend(b.batch, "u", three, SHOAL_F64, 0, b.log),
        shoal_batch_file(b.batch, good_then_bad, b.log),
        shoal_batch_file(b.batch, other, b.log),
        shoal_batch_file(b.batch, "nowhere.csv", b.log),
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        CHECK_MSG(codes[i] != SHOAL_OK, "call %zu", i);
    CHECK_INT(shoal_batch_check(b.batch, b.log), SHOAL_OK);
    CHECK_INT(shoal_batch_runs(b.batch), runs);
    CHECK_INT(shoal_batch_rows(b.batch), rows);
    CHECK_INT(shoal_batch_input_count(b.batch), 3);
    CHECK(shoal_batch_value(b.batch, 2, 17) == before);
    need(&b, shoal_batch_sweep(b.batch, "u=1,2", b.log), "it is still free");
    shoal_batch_free(b.batch);
    shoal_solver_free(b.solver);
    shoal_model_free(b.model);
    shoal_log_free(b.log);
}
