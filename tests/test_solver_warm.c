// SPDX-License-Identifier: MIT
// A solver that was warmed has all that a run needs: it compiles nothing more, takes no more
// memory, and gives the bits that it gives without. One handle serves batches of any size.
#include "check.h"

#include "device/device.h"
#include "fake_gpu.h"
#include "shoal/shoal.h"

#include "../kernels/ode/abi.h"

#include <time.h>

OWN_CACHE

static const char decay[] = "par a=1\ninit x=1, y=2\nx'=-a*x\ny'=-2*y*a\naux r=x+y\n@ t1=1\n";
static const char vdp[] = "par mu=1\ninit x=2\nx'=y\ny'=mu*((1-x^2)*y-x)\n@ t1=2, method=auto\n";

struct kit {
    shoal_log *log;
    shoal_model *model;
    shoal_batch *batch;
    shoal_solver *solver;
    shoal_options options;
};

static shoal_batch *batch_of(const shoal_model *model, const char *sweep) {
    shoal_batch *batch = NULL;
    REQUIRE(!shoal_batch_new(model, &batch, NULL));
    REQUIRE(!shoal_batch_option(batch, "sweep", sweep, NULL));
    return batch;
}

static struct kit kit_new(const char *text, const char *device, const char *sweep,
                          const char *option, const char *value) {
    struct kit k = {.log = shoal_log_new()};
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &k.model, k.log));
    REQUIRE(!shoal_options_init(&k.options, k.model, k.log));
    k.options.device = device;
    REQUIRE(!option || !shoal_options_set(&k.options, option, value, k.log));
    k.batch = batch_of(k.model, sweep);
    REQUIRE(!shoal_solver_new(k.model, &k.options, &k.solver, k.log));
    return k;
}

static void kit_free(struct kit *k) {
    shoal_solver_free(k->solver);
    shoal_batch_free(k->batch);
    shoal_model_free(k->model);
    shoal_log_free(k->log);
}

static uint64_t events(const shoal_log *log, const char *label) {
    for (size_t i = 0; i < shoal_log_sum_count(log); i++)
        if (!strcmp(shoal_log_sum(log, i).label, label))
            return shoal_log_sum(log, i).count;
    return 0;
}

static shoal_result *run(struct kit *k, const shoal_batch *batch) {
    shoal_result *result = NULL;
    CHECK_INT(shoal_solver_run(k->solver, batch, &result, k->log), SHOAL_OK);
    REQUIRE(result);
    return result;
}

static void same_results(const shoal_result *a, const shoal_result *b, uint32_t vars) {
    REQUIRE(shoal_result_rows(a) == shoal_result_rows(b));
    for (uint64_t i = 0; i < shoal_result_rows(a); i++)
        for (uint32_t v = 0; v < vars; v++) {
            double x = shoal_result_value(a, v, i, 0), y = shoal_result_value(b, v, i, 0);
            CHECK_MSG(!memcmp(&x, &y, sizeof x), "row %llu: %.17g, %.17g", (unsigned long long)i, x,
                      y);
        }
}

static bool is_there(const char *device) {
    char why[192];
    return device_backend(device)->count(why, sizeof why) > 0;
}

// After it a run makes nothing, and its results are those of a solver that was not warmed.
static void check_warm(const char *text, const char *device, const char *sweep, const char *option,
                       const char *value) {
    struct kit cold = kit_new(text, device, sweep, option, value);
    shoal_result *want = run(&cold, cold.batch);
    struct kit k = kit_new(text, device, sweep, option, value);
    CHECK_INT(shoal_solver_warm(k.solver, k.batch, k.log), SHOAL_OK);
    CHECK_INT(events(k.log, "warm_execution"), 1);
    CHECK(events(k.log, "kernel_launch") >= 1);
    CHECK_INT(shoal_log_message_count(k.log), shoal_log_message_count(cold.log));
    REQUIRE(!shoal_log_clear(k.log));
    shoal_result *got = run(&k, k.batch);
    static const char *const made[] = {"compile_kernel", "module_load",     "cache_lookup",
                                       "device_memory",  "assemble_source", "tune_store"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        CHECK_MSG(events(k.log, made[i]) == 0, "%s, %s: %s", device, sweep, made[i]);
    same_results(want, got, 2);
    shoal_result_free(want);
    shoal_result_free(got);
    kit_free(&cold);
    kit_free(&k);
}

TEST(solver_warm_cpu) {
    check_warm(decay, "cpu", "a=lin:0.5:2:300", NULL, NULL);
    check_warm(decay, "cpu", "a=lin:0.5:2:300", "chunk", "70");
    check_warm(decay, "cpu", "a=lin:0.5:2:1", NULL, NULL);
}

static double run_us(struct kit *k, const shoal_array *to) {
    struct timespec t[2];
    clock_gettime(CLOCK_MONOTONIC, &t[0]);
    CHECK_INT(shoal_solver_run_arrays(k->solver, k->batch, to, 1, NULL, NULL), SHOAL_OK);
    clock_gettime(CLOCK_MONOTONIC, &t[1]);
    return (double)(t[1].tv_sec - t[0].tv_sec) * 1e6 + (double)(t[1].tv_nsec - t[0].tv_nsec) * 1e-3;
}

// What is known of the machine was read, too: a run of microseconds does not wait for files. Others
// get in the way, so the best of some counts.
TEST(solver_warm_reads_what_is_known) {
    double x[4], first = INFINITY, tenth = INFINITY;
    const shoal_array all = {.data = x};
    unsetenv("SHOAL_DEVICE");
    check_warm(decay, "auto", "a=1,2", NULL, NULL);
    for (int i = 0; i < 8; i++) {
        struct kit k = kit_new(decay, "auto", "a=1,2", "threads", "1");
        CHECK_INT(shoal_solver_warm(k.solver, k.batch, k.log), SHOAL_OK);
        first = fmin(first, run_us(&k, &all));
        for (int n = 0; n < 8; n++)
            run_us(&k, &all);
        tenth = fmin(tenth, run_us(&k, &all));
        kit_free(&k);
    }
    CHECK_MSG(first < 3 * tenth + 20, "%g us, then %g", first, tenth);
}

TEST(solver_warm_saved_steps) { // memory for steps shows only when they are counted
    struct kit k = kit_new(decay, "cpu", "a=lin:0.5:2:30", "save", "steps");
    CHECK_INT(shoal_solver_warm(k.solver, k.batch, k.log), SHOAL_OK);
    shoal_result *result = run(&k, k.batch);
    CHECK_INT(shoal_result_rows(result), 30);
    CHECK_NEAR(shoal_result_value(result, 0, 0, shoal_result_samples(result, 0) - 1), exp(-0.5),
               1e-5);
    shoal_result_free(result);
    kit_free(&k);
}

// The row of mu = 1e5 is stiff.
TEST(solver_warm_auto) { check_warm(vdp, "cpu", "mu=1,1e5", NULL, NULL); }

// None of the rows is stiff, and the kernel for those that are is there all the same.
TEST(solver_warm_makes_every_kernel) {
    struct kit k = kit_new(vdp, "cpu", "mu=1,1.5", NULL, NULL);
    CHECK_INT(shoal_solver_warm(k.solver, k.batch, k.log), SHOAL_OK);
    REQUIRE(!shoal_log_clear(k.log));
    shoal_batch *stiff = batch_of(k.model, "mu=1e4,1e5");
    shoal_result *result = run(&k, stiff);
    CHECK(shoal_result_tally(result).found_stiff > 0);
    CHECK_INT(events(k.log, "compile_kernel"), 0);
    CHECK_INT(events(k.log, "module_load"), 0);
    shoal_result_free(result);
    shoal_batch_free(stiff);
    kit_free(&k);
}

TEST(solver_warm_opencl) {
    if (!is_there("opencl"))
        check_skip("no OpenCL");
    check_warm(decay, "opencl", "a=lin:0.5:2:300", "chunk", "70");
}

TEST(solver_warm_refuses) {
    struct kit k = kit_new(decay, "cpu", "a=1,2", NULL, NULL);
    CHECK_INT(shoal_solver_warm(NULL, k.batch, k.log), SHOAL_USAGE);
    CHECK_INT(shoal_solver_warm(k.solver, NULL, k.log), SHOAL_USAGE);
    static const int stop = 1;
    k.options.stop = &stop;
    shoal_solver *stopped = NULL;
    if (shoal_solver_new(k.model, &k.options, &stopped, k.log) == SHOAL_OK)
        CHECK_INT(shoal_solver_warm(stopped, k.batch, k.log), SHOAL_STOPPED);
    shoal_solver_free(stopped);
    kit_free(&k);
}

// ---- One handle for batches of any size ---------------------------------------------------------

// Every row ends well, whatever it computes.
static bool end_rows(const void *args, const char *read, char *written, const char *resident,
                     const volatile int *stop) {
    const struct shoal_call *call = args;
    (void)read, (void)resident, (void)stop;
    memset(written + call->status, 0, call->head.rows);
    return true;
}

TEST(solver_sizes_allocate_upwards) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = end_rows;
    fake->args_bytes = sizeof(struct shoal_call);
    static const struct {
        const char *sweep;
        bool grows;
    } steps[] = {{"a=lin:0:1:100", true},   {"a=lin:0:1:50", false},   {"a=lin:0:1:100", false},
                 {"a=lin:0:1:9000", true},  {"a=lin:0:1:100", false},  {"a=lin:0:1:8000", false},
                 {"a=lin:0:1:9000", false}, {"a=lin:0:1:20000", true}, {"a=lin:0:1:1", false}};
    struct kit k = kit_new(decay, "cuda", "a=1,2", NULL, NULL);
    REQUIRE(!shoal_log_clear(k.log));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        shoal_batch *batch = batch_of(k.model, steps[i].sweep);
        int made = fake->made;
        shoal_result_free(run(&k, batch));
        CHECK_MSG((fake->made > made) == steps[i].grows, "%s made %d", steps[i].sweep,
                  fake->made - made);
        shoal_batch_free(batch);
    }
    CHECK_INT(events(k.log, "compile_kernel"), 0);
    CHECK_INT(events(k.log, "module_load"), 0);
    kit_free(&k);
}

TEST(solver_warm_on_the_fake_driver) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = end_rows;
    fake->args_bytes = sizeof(struct shoal_call);
    struct kit k = kit_new(decay, "cuda", "a=lin:0:1:20000", "chunk", "5000");
    CHECK_INT(shoal_solver_warm(k.solver, k.batch, k.log), SHOAL_OK);
    CHECK(fake->launches >= 3); // one a slot, at least
    int made = fake->made;
    for (int i = 0; i < 3; i++)
        shoal_result_free(run(&k, k.batch));
    CHECK_INT(fake->made, made);
    kit_free(&k);
}

// The first launch of a kernel in a process says that it is one.
TEST(solver_first_launch_is_told) {
    struct kit k = kit_new(decay, "cpu", "a=1,2", NULL, NULL);
    char first[2][8] = {"", ""};
    for (int i = 0; i < 2; i++) {
        REQUIRE(!shoal_log_clear(k.log));
        shoal_result_free(run(&k, k.batch));
        for (size_t n = 0; n < shoal_log_span_count(k.log); n++)
            if (!strcmp(shoal_log_span(k.log, n).label, "kernel_launch"))
                shoal_log_meta(k.log, n, "first", first[i], sizeof first[i]);
    }
    CHECK_STR(first[0], "1");
    CHECK_STR(first[1], "");
    kit_free(&k);
}
