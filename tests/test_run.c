// SPDX-License-Identifier: MIT
// The run layer through the public calls: names, sizes, stops, grids.
#include "check.h"
#include "rig.h"

#include "io/io.h"
#include "shoal/shoal.h"

struct ready {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
};

static struct ready make(const char *text, const char *sweep, const char *settings[][2]) {
    struct ready r = {.log = shoal_log_new()};
    REQUIRE(shoal_model_parse("test", text, strlen(text), &r.model, r.log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&r.options, r.model, r.log) == SHOAL_OK);
    for (int i = 0; settings && settings[i][0]; i++)
        REQUIRE(shoal_options_set(&r.options, settings[i][0], settings[i][1], r.log) == SHOAL_OK);
    REQUIRE(shoal_batch_new(r.model, &r.batch, r.log) == SHOAL_OK);
    if (sweep)
        REQUIRE(shoal_batch_sweep(r.batch, sweep, r.log) == SHOAL_OK);
    REQUIRE(shoal_solver_new(r.model, &r.options, &r.solver, r.log) == SHOAL_OK);
    return r;
}

static void drop(struct ready *r) {
    shoal_solver_free(r->solver);
    shoal_batch_free(r->batch);
    shoal_model_free(r->model);
    shoal_log_free(r->log);
}

static const char decay[] = "par a=1\nx'=-a*x\ninit x=1\naux a=2*x\naux run=x\n@ t1=1\n";

// A variable called like an input or like one of our columns gets a trailing `_`.
TEST(run_names_never_collide) {
    const char *settings[][2] = {{"vars", "x,a,run"}, {NULL, NULL}};
    struct ready r = make(decay, "a=1,2", settings);
    CHECK(shoal_solver_run_file(r.solver, r.batch, check_path("o.csv"), NULL, r.log) == SHOAL_OK);
    CHECK_HAS(check_read(check_path("o.csv")), "run,a,t,x,a_,run_,status\n0,1,1,0.3678");
    drop(&r);
}

// A program may ask for the size of a batch as soon as it is described.
TEST(run_batch_has_its_size_at_once) {
    struct ready r = make(decay, "a=lin:1:2:7", NULL);
    CHECK_INT(shoal_batch_rows(r.batch), 7);
    CHECK_INT(shoal_batch_input_count(r.batch), 1);
    REQUIRE(shoal_batch_sweep(r.batch, "x(0)=1,2,3", r.log) == SHOAL_OK);
    CHECK_INT(shoal_batch_runs(r.batch), 21);
    drop(&r);
}

// The same for its runs and values, in any order of the calls; a wrong batch has none.
TEST(run_batch_answers_at_any_time) {
    struct ready r = make(decay, NULL, NULL);
    CHECK_INT(shoal_batch_run(r.batch, 0), 0);
    REQUIRE(shoal_batch_sweep(r.batch, "a=lin:1:2:3", r.log) == SHOAL_OK);
    CHECK(shoal_batch_value(r.batch, 0, 2) == 2);
    REQUIRE(shoal_batch_only(r.batch, "1:3", r.log) == SHOAL_OK);
    CHECK_INT(shoal_batch_run(r.batch, 1), 2);
    CHECK(shoal_batch_run(r.batch, 2) == UINT64_MAX);
    REQUIRE(shoal_batch_sample(r.batch, "x(0)=uniform:0:1", r.log) == SHOAL_OK); // without runs
    CHECK_INT(shoal_batch_rows(r.batch), 0);
    CHECK(isnan(shoal_batch_value(r.batch, 0, 0)) && isnan(shoal_batch_value(r.batch, 1, 0)));
    CHECK(shoal_batch_run(r.batch, 0) == UINT64_MAX);
    CHECK(shoal_batch_check(r.batch, r.log) == SHOAL_INPUT);
    REQUIRE(shoal_batch_sampler(r.batch, "lhs", 5, 0, r.log) == SHOAL_OK);
    CHECK_INT(shoal_batch_runs(r.batch), 15);
    CHECK_STR(shoal_batch_input_name(r.batch, 1), "x(0)");
    drop(&r);
}

// Strides of the caller, and the dense layout, hold the same numbers.
TEST(run_strides_of_the_caller) {
    const char *settings[][2] = {{"save", "n=5"}, {"vars", "x,a"}, {"chunk", "4"}, {NULL, NULL}};
    struct ready r = make(decay, "a=lin:1:2:10", settings);
    double dense[2][10][5], mine[10][5][2];
    shoal_array a = {.data = dense},
                b = {.data = mine, .var_stride = 1, .row_stride = 10, .sample_stride = 2};
    CHECK(shoal_solver_run_arrays(r.solver, r.batch, &a, 1, NULL, r.log) == SHOAL_OK);
    CHECK(shoal_solver_run_arrays(r.solver, r.batch, &b, 1, NULL, r.log) == SHOAL_OK);
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < 10; i++)
            for (int k = 0; k < 5; k++)
                CHECK(dense[v][i][k] == mine[i][k][v]);
    CHECK_NEAR(dense[0][9][4], exp(-2), 1e-6);
    drop(&r);
}

// The last sample is there, whatever the step of the grid rounds to.
TEST(run_grid_keeps_its_last_sample) {
    static const struct {
        const char *t1, *every;
        uint64_t count;
    } cases[] = {{"1", "0.1", 11},  {"0.3", "0.1", 4},      {"1", "0.3", 4},
                 {"-1", "0.1", 11}, {"100", "0.01", 10001}, {"1e-3", "1e-4", 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char every[32];
        snprintf(every, sizeof every, "every=%s", cases[i].every);
        const char *settings[][2] = {{"t1", cases[i].t1}, {"save", every}, {NULL, NULL}};
        struct ready r = make(decay, NULL, settings);
        uint64_t n = shoal_solver_save_count(r.solver);
        CHECK_INT(n, cases[i].count);
        double last = shoal_solver_save_time(r.solver, n - 1), t1 = strtod(cases[i].t1, NULL);
        CHECK(cases[i].count == 4 && t1 == 1 ? fabs(last - 0.9) < 1e-12 : last == t1);
        drop(&r);
    }
}

// More than the machine has is refused before anything runs.
TEST(run_result_larger_than_memory) {
    const char *settings[][2] = {{"save", "n=100000"}, {NULL, NULL}};
    struct ready r = make(decay, "a=lin:1:2:1000000000", settings);
    shoal_result *result = NULL;
    CHECK(shoal_solver_run(r.solver, r.batch, &result, r.log) == SHOAL_MEMORY);
    CHECK(result == NULL);
    drop(&r);
}

// Steps in memory: as many samples a row as it took steps, the same numbers as in a file.
TEST(run_steps_into_memory) {
    const char *settings[][2] = {{"save", "steps"}, {"vars", "x,a"}, {"chunk", "3"}, {NULL, NULL}};
    struct ready r = make(decay, "a=lin:1:200:10", settings);
    shoal_result *result = NULL;
    REQUIRE(shoal_solver_run(r.solver, r.batch, &result, r.log) == SHOAL_OK);
    CHECK_INT(shoal_result_rows(result), 10);
    uint64_t all = 0;
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t n = shoal_result_samples(result, i);
        double a = shoal_batch_value(r.batch, 0, i);
        REQUIRE(n > 2);
        CHECK(shoal_result_t(result, i, 0) == 0 && shoal_result_value(result, 0, i, 0) == 1);
        CHECK(shoal_result_t(result, i, n - 1) == 1);
        CHECK_NEAR(shoal_result_value(result, 0, i, 2), exp(-a * shoal_result_t(result, i, 2)),
                   1e-5);
        CHECK(shoal_result_value(result, 1, i, 2) == 2 * shoal_result_value(result, 0, i, 2));
        CHECK(isnan(shoal_result_t(result, i, n)) && isnan(shoal_result_value(result, 0, i, n)));
        CHECK_INT(shoal_result_status(result, i), SHOAL_STATUS_ok);
        all += n;
    }
    CHECK_INT(all, shoal_result_tally(result).steps + 10);
    shoal_result_free(result);
    drop(&r);
}

// A result says how it was made, whatever the defaults of another version are.
TEST(run_metadata_has_what_applied) {
    static const char *const f64[] = {"\"rtol\":\"1e-6\"",     "\"atol\":\"1e-9,x=1e-3\"",
                                      "\"controller\":\"pi\"", "\"max-steps\":\"100000\"",
                                      "\"precision\":\"f64\"", "\"save\":\"final\"",
                                      "\"fast-math\":\"off\""};
    const char *settings[][2] = {{"method", "tsit5"}, {"atol", "x=1e-3"}, {NULL, NULL}};
    struct ready r = make(decay, NULL, settings);
    struct arena arena = {0};
    const char *meta = NULL;
    CHECK(shoal_solver_run_file(r.solver, r.batch, check_path("o.npz"), NULL, r.log) == SHOAL_OK);
    REQUIRE(io_meta_read(check_path("o.npz"), &arena, &meta, NULL) == SHOAL_OK);
    for (size_t i = 0; i < sizeof f64 / sizeof *f64; i++)
        CHECK_HAS(meta, f64[i]);
    CHECK(!strstr(meta, "\"dt\""));
    drop(&r);
    const char *fixed[][2] = {{"method", "rk4"}, {"dt", "0.25"}, {NULL, NULL}};
    r = make(decay, NULL, fixed);
    CHECK(shoal_solver_run_file(r.solver, r.batch, check_path("o.npz"), NULL, r.log) == SHOAL_OK);
    REQUIRE(io_meta_read(check_path("o.npz"), &arena, &meta, NULL) == SHOAL_OK);
    CHECK_HAS(meta, "\"dt\":\"0.25\"");
    CHECK_HAS(meta, "\"controller\":\"fixed\"");
    CHECK(!strstr(meta, "rtol"));
    drop(&r);
    arena_free(&arena);
}

// A status that no kernel gives is an error, never a row that counts as ok.
TEST(run_unknown_status) {
    static const char write[] = "a->status[row] = (unsigned char)status;";
    struct rig rig = rig_new(NULL, "x'=-x", "t1=1");
    char *source = rig_source(&rig), *at = strstr(source, write);
    shoal_batch *batch = NULL;
    shoal_result *result = NULL;
    REQUIRE(at);
    memcpy(at, "a->status[row] = (unsigned char)(77)  ;", strlen(write));
    rig_replace_kernel(&rig, source);
    rig_need(&rig, shoal_batch_new(rig.model, &batch, rig.log), "batch");
    CHECK_INT(shoal_solver_run(rig.solver, batch, &result, rig.log), SHOAL_DEVICE);
    CHECK(!result);
    char *messages = rig_messages(rig.log);
    CHECK_HAS(messages, "the status 77");
    free(messages);
    free(source);
    shoal_batch_free(batch);
    rig_free(&rig);
}

// Columns that are only copied, and their words in groups.
TEST(run_batch_columns) {
    static const char text[] = "par a=1\ninit x=1\nx'=-a*x\n@ t1=1\n";
    static const char *const arms[] = {"v", "u", "v"};
    static const double ids[] = {4, 5, 6}, a[] = {1, 2, 2};
    const char *words[4] = {0};
    shoal_model *m = NULL;
    shoal_batch *b = NULL;
    REQUIRE(!shoal_model_parse("m", text, sizeof text - 1, &m, NULL));
    REQUIRE(!shoal_batch_new(m, &b, NULL));
    REQUIRE(!shoal_batch_values(b, "a", a, 3, NULL) && !shoal_batch_values(b, "_id", ids, 3, NULL));
    REQUIRE(!shoal_batch_texts(b, "_arm", arms, 3, NULL));
    REQUIRE(!shoal_batch_sweep(b, "x(0)=1,2", NULL));
    CHECK_INT(shoal_batch_column_count(b), 2);
    CHECK_STR(shoal_batch_column_name(b, 0), "_id");
    CHECK_STR(shoal_batch_column_name(b, 1), "_arm");
    CHECK(!shoal_batch_column_name(b, 2));
    CHECK(shoal_batch_column_value(b, 0, 3) == 5 && !shoal_batch_column_text(b, 0, 3));
    CHECK_STR(shoal_batch_column_text(b, 1, 3), "u");
    CHECK(isnan(shoal_batch_column_value(b, 1, 3)));
    CHECK(isnan(shoal_batch_column_value(b, 0, 6)) && !shoal_batch_column_text(b, 1, 6));
    CHECK_INT(shoal_batch_group_texts(b, "_arm,x(0)", "_arm", words, 4, NULL), SHOAL_OK);
    CHECK(!strcmp(words[0], "v") && !strcmp(words[1], "v") && !strcmp(words[2], "u"));
    CHECK_INT(shoal_batch_group_texts(b, "_arm", "_arm", words, 2, NULL), SHOAL_OK);
    CHECK_STR(words[1], "u");
    CHECK_INT(shoal_batch_group_texts(b, "_arm", "_arm", words, 3, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_batch_group_texts(b, "_arm,_id", "_id", words, 3, NULL), SHOAL_INPUT);
    CHECK_INT(shoal_batch_group_texts(b, "_id", "_arm", words, 3, NULL), SHOAL_INPUT);
    CHECK_INT(shoal_batch_group_texts(b, "_none", "_none", words, 3, NULL), SHOAL_INPUT);
    CHECK_INT(shoal_batch_group_texts(b, "_arm", "_arm", NULL, 2, NULL), SHOAL_USAGE);
    shoal_batch_free(b);
    shoal_model_free(m);
}
