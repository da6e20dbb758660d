// SPDX-License-Identifier: MIT
// The caller's arrays: every array of a result by its name, in the caller's layout.
#include "check.h"
#include "shoal/shoal.h"

enum { ROWS = 6, SAMPLES = 4 };

struct ready {
    shoal_log *log;
    shoal_model *model;
    shoal_batch *batch;
    shoal_solver *solver;
};

// Six runs, of a batch file with a text.
static struct ready make(const char *save, const char *precision) {
    static const char text[] = "par a=1\nx'=-a*x\ninit x=1\naux a=2*x\naux run=x\n@ t1=1\n";
    struct ready r = {.log = shoal_log_new()};
    shoal_options o;
    check_write(check_path("b.csv"), "a,_tag\n1,u\n2,v\n3,w\n");
    REQUIRE(!shoal_model_parse("test", text, strlen(text), &r.model, r.log));
    REQUIRE(!shoal_options_init(&o, r.model, r.log));
    REQUIRE(!shoal_options_set(&o, "vars", "x,a,run", r.log));
    REQUIRE(!shoal_options_set(&o, "save", save, r.log));
    REQUIRE(!shoal_options_set(&o, "precision", precision, r.log));
    REQUIRE(!shoal_options_set(&o, "chunk", "4", r.log));
    REQUIRE(!shoal_batch_new(r.model, &r.batch, r.log));
    REQUIRE(!shoal_batch_file(r.batch, check_path("b.csv"), r.log));
    REQUIRE(!shoal_batch_sweep(r.batch, "x(0)=1,2", r.log));
    REQUIRE(!shoal_solver_new(r.model, &o, &r.solver, r.log));
    return r;
}

static void drop(struct ready *r) {
    shoal_solver_free(r->solver);
    shoal_batch_free(r->batch);
    shoal_model_free(r->model);
    shoal_log_free(r->log);
}

static shoal_code run(struct ready *r, const shoal_array *arrays, size_t count) {
    return shoal_solver_run_arrays(r->solver, r->batch, arrays, count, NULL, r->log);
}

// The words of the arrays that a solver has whatever the batch.
static const char *described(const shoal_solver *s) {
    static const char *const types[] = {"u8", "u32", "u64", "f32", "f64", "text"};
    static char text[512];
    text[0] = 0;
    for (uint32_t i = 0; i < shoal_solver_array_count(s); i++) {
        shoal_array_info a = shoal_solver_array_at(s, i);
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s:%s%s%s ", a.name, types[a.type],
                 a.per_sample ? "*" : "", a.is_variable ? "!" : "");
    }
    CHECK(shoal_solver_array_at(s, shoal_solver_array_count(s)).name == NULL);
    return text;
}

TEST(arrays_of_a_solver_are_described) {
    struct ready r = make("final", "f64");
    CHECK_STR(described(r.solver), "run:u64 t:f64 x:f64! a:f64! run_:f64! status:u8 steps:u32 "
                                   "rejected:u32 f_evals:u64 ");
    drop(&r);
    r = make("n=4", "f32");
    CHECK_STR(described(r.solver), "run:u64 t:f64* x:f32*! a:f32*! run_:f32*! status:u8 steps:u32 "
                                   "rejected:u32 f_evals:u64 ");
    drop(&r);
    r = make("steps", "f64");
    CHECK_STR(described(r.solver), "run:u64 t:f64* x:f64*! a:f64*! run_:f64*! status:u8 steps:u32 "
                                   "rejected:u32 f_evals:u64 offsets:u64 ");
    drop(&r);
}

// Names are those of files: the input is `a`, so the variable is `a_`.
TEST(arrays_by_name) {
    struct ready r = make("final", "f64");
    uint64_t runs[ROWS], f_evals[ROWS];
    uint32_t steps[ROWS];
    uint8_t status[ROWS];
    double a[ROWS], x0[ROWS], t[ROWS], x[ROWS], twice[ROWS], same[ROWS];
    const char *tag[ROWS];
    shoal_array arrays[] = {
        {.name = "run", .data = runs},      {.name = "a", .data = a},
        {.name = "x(0)", .data = x0},       {.name = "_tag", .data = tag},
        {.name = "t", .data = t},           {.name = "x", .data = x},
        {.name = "a_", .data = twice},      {.name = "run_", .data = same},
        {.name = "status", .data = status}, {.name = "steps", .data = steps},
        {.name = "rejected", .data = NULL}, {.name = "f_evals", .data = f_evals}};
    memset(status, 7, sizeof status);
    REQUIRE(run(&r, arrays, sizeof arrays / sizeof *arrays) == SHOAL_OK);
    for (int i = 0; i < ROWS; i++) {
        CHECK(runs[i] == (uint64_t)i && a[i] == 1 + i / 2 && x0[i] == 1 + i % 2 && t[i] == 1);
        CHECK_STR(tag[i], i / 2 == 0 ? "u" : i / 2 == 1 ? "v" : "w");
        CHECK_NEAR(x[i], x0[i] * exp(-a[i]), 1e-6);
        CHECK(twice[i] == 2 * x[i] && same[i] == x[i]);
        CHECK(status[i] == SHOAL_STATUS_ok && steps[i] && f_evals[i] > steps[i]);
    }
    drop(&r);
}

// A series has its own strides for each array; its times are the same in all rows.
TEST(arrays_with_strides) {
    struct ready r = make("n=4", "f32");
    float x[SAMPLES][ROWS], block[3][ROWS][SAMPLES];
    double t[SAMPLES], all[ROWS][SAMPLES];
    uint8_t status[2 * ROWS] = {0};
    shoal_array mine[] = {{.name = "x", .data = x, .row_stride = 1, .sample_stride = ROWS},
                          {.name = "t", .data = t, .row_stride = 0, .sample_stride = 1},
                          {.name = "status", .data = status, .row_stride = 2}},
                dense[] = {{.data = block}, {.name = "t", .data = all}};
    memset(status, 7, sizeof status);
    REQUIRE(run(&r, mine, 3) == SHOAL_OK);
    REQUIRE(run(&r, dense, 2) == SHOAL_OK);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < SAMPLES; k++) {
            CHECK(x[k][i] == block[0][i][k]);
            CHECK(t[k] == all[i][k] && t[k] == shoal_solver_save_time(r.solver, (uint64_t)k));
        }
    for (int i = 0; i < 2 * ROWS; i++)
        CHECK_INT(status[i], i % 2 ? 7 : SHOAL_STATUS_ok);
    drop(&r);
}

static void check_refused(const shoal_array *arrays, size_t count, shoal_code code,
                          const char *words) {
    struct ready r = make("n=4", "f64");
    CHECK_INT(run(&r, arrays, count), code);
    size_t last = shoal_log_message_count(r.log);
    REQUIRE(last > 0);
    CHECK_HAS(shoal_log_message(r.log, last - 1).text, words);
    CHECK(shoal_solver_run_arrays(r.solver, r.batch, NULL, 0, NULL, r.log) == SHOAL_OK);
    drop(&r);
}

TEST(arrays_that_are_refused) {
    static double room[3 * ROWS * SAMPLES];
    check_refused((shoal_array[]){{.name = "statu", .data = room}}, 1, SHOAL_INPUT,
                  "the result has no array `statu`; did you mean `status`?");
    check_refused((shoal_array[]){{.name = "saved", .data = room}}, 1, SHOAL_INPUT,
                  "the result has no array `saved`");
    check_refused((shoal_array[]){{.name = "x", .data = room}, {.name = "x", .data = room}}, 2,
                  SHOAL_INPUT, "`x` is given twice");
    check_refused((shoal_array[]){{.data = room}, {.name = "x", .data = room}}, 2, SHOAL_INPUT,
                  "`x` is given twice");
    check_refused((shoal_array[]){{.name = "x", .data = room, .row_stride = SAMPLES}}, 1,
                  SHOAL_USAGE, "a stride of 0 puts values of `x`");
    check_refused((shoal_array[]){{.data = room, .var_stride = 1}}, 1, SHOAL_USAGE,
                  "a stride of 0 puts values of `x`");
    check_refused((shoal_array[]){{.data = room, .row_stride = 1, .sample_stride = 9}}, 1,
                  SHOAL_USAGE, "a stride of 0 puts variables");
}
