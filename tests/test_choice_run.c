// SPDX-License-Identifier: MIT
// Solvers that choose: PoCL stands for a GPU, and a driver without a device for one that fails.
#include "check.h"
#include "fake_gpu.h"
#include "kernels.h"
#include "pretend.h"

#include "../kernels/ode/abi.h"
#include "api/calibrate.h"
#include "base/clock.h"
#include "device/device.h"
#include "dispatch/machine.h"
#include "shoal/shoal.h"

#include <sched.h>
#include <time.h>

OWN_CACHE

static const char text[] = "par k=1\ninit x=1\nx'=k-x*x/4\n@ t1=2, method=tsit5\n";

struct scene {
    shoal_model *model;
    shoal_options options;
    shoal_solver *solver;
    shoal_log *log;
};

static const char *words_of(const struct scene *s) {
    static char all[4096];
    all[0] = 0;
    for (size_t i = 0; i < shoal_log_message_count(s->log); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n",
                 shoal_log_message(s->log, i).text);
    return all;
}

static struct scene scene_of(const char *model) {
    struct scene s = {.log = shoal_log_new()};
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    REQUIRE(shoal_model_parse("test.ode", model, strlen(model), &s.model, s.log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&s.options, s.model, s.log) == SHOAL_OK);
    return s;
}

static struct scene scene_new(void) { return scene_of(text); }

static void scene_solver(struct scene *s) {
    shoal_code code = shoal_solver_new(s->model, &s->options, &s->solver, s->log);
    CHECK_MSG(code == SHOAL_OK, "%s", words_of(s));
    REQUIRE(s->solver);
}

static void scene_free(struct scene *s) {
    shoal_solver_free(s->solver);
    shoal_model_free(s->model);
    shoal_log_free(s->log);
}

// Runs k = 1, ..., rows into x.
static shoal_code run(struct scene *s, uint64_t rows, double *x, shoal_tally *tally) {
    shoal_batch *batch = NULL;
    double *k = malloc(rows * sizeof *k);
    for (uint64_t i = 0; i < rows; i++)
        k[i] = (double)(i + 1);
    REQUIRE(shoal_batch_new(s->model, &batch, s->log) == SHOAL_OK);
    REQUIRE(shoal_batch_values(batch, "k", k, rows, s->log) == SHOAL_OK);
    shoal_array arrays[] = {{.name = "x", .data = x}};
    shoal_code code = shoal_solver_run_arrays(s->solver, batch, arrays, 1, tally, s->log);
    shoal_batch_free(batch);
    free(k);
    return code;
}

static const char *device_after(struct scene *s, uint64_t rows, double *x) {
    shoal_tally tally;
    shoal_code code = run(s, rows, x, &tally);
    CHECK_MSG(code == SHOAL_OK, "%s", words_of(s));
    CHECK_INT(tally.done, rows);
    return strstr(shoal_solver_device(s->solver), "PoCL") ? "opencl" : "cpu";
}

static void use_pocl(void) {
    char why[192];
    setenv("CUDA_VISIBLE_DEVICES", "", 1); // NVIDIA's OpenCL has none then, too
    if (!device_backend("opencl")->count(why, sizeof why))
        check_skip("opencl: %s", why);
    unsetenv("SHOAL_DEVICE");
    machine_takes_cpu_types = true;
}

static uint64_t count_of(const struct scene *s, const char *label) {
    for (size_t i = 0; i < shoal_log_sum_count(s->log); i++)
        if (!strcmp(shoal_log_sum(s->log, i).label, label))
            return shoal_log_sum(s->log, i).count;
    return 0;
}

enum { ROWS = 300 };

// Exact at the boundary, to and fro, and the same bits on both sides; nothing is made twice.
TEST(device_choice_threshold) {
    use_pocl();
    struct scene s = scene_new(), cpu = scene_new();
    double x[ROWS], want[ROWS];
    cpu.options.device = "cpu";
    scene_solver(&cpu);
    REQUIRE(run(&cpu, ROWS, want, NULL) == SHOAL_OK);
    s.options.threshold = 100;
    scene_solver(&s);
    static const uint64_t rows[] = {99, 100, 101, 99, 1, ROWS, 100, 99};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *wanted = rows[i] < 100 ? "cpu" : "opencl";
        CHECK_STR(device_after(&s, rows[i], x), wanted);
        CHECK_MSG(!strncmp(shoal_solver_reason(s.solver), wanted, strlen(wanted)), "%s",
                  shoal_solver_reason(s.solver));
        CHECK(!memcmp(x, want, rows[i] * sizeof *x));
    }
    CHECK_INT(count_of(&s, "module_load"), 1); // that of the CPU was there
    CHECK_STR(shoal_solver_reason(s.solver), "cpu: 99 runs, fewer than the threshold, 100");
    CHECK_STR(shoal_solver_reason(cpu.solver), "");
    scene_free(&s);
    scene_free(&cpu);
}

// --device, then SHOAL_DEVICE, then --threshold.
TEST(device_choice_order) {
    use_pocl();
    struct scene s = scene_new();
    double x[ROWS];
    s.options.threshold = 10;
    s.options.device = "cpu";
    scene_solver(&s);
    CHECK_STR(device_after(&s, 100, x), "cpu");
    CHECK(shoal_solver_set(s.solver, "device", "auto", NULL, s.log) == SHOAL_OK);
    CHECK_STR(device_after(&s, 100, x), "opencl");
    setenv("SHOAL_DEVICE", "cpu", 1);
    CHECK(shoal_solver_set(s.solver, "device", "cpu", NULL, s.log) == SHOAL_OK);
    CHECK(shoal_solver_set(s.solver, "device", "auto", NULL, s.log) == SHOAL_OK);
    CHECK_STR(device_after(&s, 100, x), "cpu");
    setenv("SHOAL_DEVICE", "opencl", 1);
    CHECK(shoal_solver_set(s.solver, "device", "cpu", NULL, s.log) == SHOAL_OK);
    CHECK_STR(device_after(&s, 100, x), "cpu");
    CHECK(shoal_solver_set(s.solver, "device", "auto", NULL, s.log) == SHOAL_OK);
    CHECK_STR(device_after(&s, 5, x), "opencl");
    // Rows count after --only-runs.
    setenv("SHOAL_DEVICE", "auto", 1);
    CHECK(shoal_solver_set(s.solver, "device", "cpu", NULL, s.log) == SHOAL_OK);
    CHECK(shoal_solver_set(s.solver, "device", "auto", NULL, s.log) == SHOAL_OK);
    shoal_batch *batch;
    shoal_result *result = NULL;
    REQUIRE(shoal_batch_new(s.model, &batch, s.log) == SHOAL_OK);
    CHECK(shoal_batch_sweep(batch, "k=lin:1:2:1000", s.log) == SHOAL_OK);
    CHECK(shoal_batch_only(batch, "7:16", s.log) == SHOAL_OK);
    CHECK(shoal_solver_run(s.solver, batch, &result, s.log) == SHOAL_OK);
    CHECK_STR(shoal_solver_reason(s.solver), "cpu: 9 runs, fewer than the threshold, 10");
    shoal_result_free(result);
    CHECK(shoal_batch_only(batch, "7:17", s.log) == SHOAL_OK);
    CHECK(shoal_solver_run(s.solver, batch, &result, s.log) == SHOAL_OK);
    CHECK_HAS(shoal_solver_reason(s.solver), "opencl: 10 runs");
    shoal_result_free(result);
    shoal_batch_free(batch);
    scene_free(&s);
}

// A change of values or options reaches whichever device has the next batch.
TEST(device_choice_changes) {
    use_pocl();
    struct scene s = scene_new();
    double x[ROWS], again[ROWS];
    shoal_effect effect;
    s.options.threshold = 100;
    scene_solver(&s);
    CHECK_STR(device_after(&s, 200, x), "opencl");
    CHECK_STR(device_after(&s, 50, again), "cpu");
    CHECK(!memcmp(x, again, 50 * sizeof *x));
    CHECK(shoal_solver_set_values(s.solver, "x(0)=3", &effect, s.log) == SHOAL_OK);
    CHECK_INT(effect, SHOAL_KEPT);
    CHECK_STR(device_after(&s, 50, again), "cpu");
    CHECK(x[0] != again[0]);
    CHECK_STR(device_after(&s, 200, x), "opencl");
    CHECK(!memcmp(x, again, 50 * sizeof *x));
    CHECK(shoal_solver_set(s.solver, "t1", "3", &effect, s.log) == SHOAL_OK);
    CHECK_STR(device_after(&s, 50, again), "cpu");
    CHECK(x[0] != again[0]);
    CHECK(shoal_solver_set(s.solver, "method", "dopri5", &effect, s.log) == SHOAL_OK);
    CHECK_INT(effect, SHOAL_COMPILED);
    CHECK_STR(device_after(&s, 50, again), "cpu");
    CHECK_STR(device_after(&s, 200, x), "opencl");
    CHECK(!memcmp(x, again, 50 * sizeof *x));
    // An error leaves it as it was.
    CHECK(shoal_solver_set(s.solver, "rtol", "-1", &effect, s.log) != SHOAL_OK);
    CHECK(shoal_solver_set_values(s.solver, "nobody=3", &effect, s.log) != SHOAL_OK);
    CHECK_STR(device_after(&s, 50, again), "cpu");
    CHECK(!memcmp(x, again, 50 * sizeof *x));
    scene_free(&s);
}

// ---- By measurement -----------------------------------------------------------------------------

// A loop in C: small batches are the CPU's, large ones the GPU's, once that has its kernel.
TEST(device_choice_measured) {
    enum { MANY = 60000 };
    use_pocl();
    struct scene s = scene_new();
    double *x = check_keep(malloc(MANY * sizeof *x));
    pretend(0, 20, 1e-4);
    s.options.reuses = 1000000;
    scene_solver(&s);
    CHECK_STR(device_after(&s, 16, x), "cpu");
    CHECK_STR(shoal_solver_reason(s.solver),
              "cpu: 16 runs, which are too few for any other device");
    CHECK_STR(device_after(&s, 20, x), "cpu");
    CHECK_INT(count_of(&s, "pilot_run"), 0);
    CHECK_STR(device_after(&s, MANY, x), "opencl");
    CHECK_HAS(shoal_solver_reason(s.solver), "opencl: 60,000 runs ~ ");
    CHECK_HAS(shoal_solver_reason(s.solver), "; cpu ~ ");
    CHECK_HAS(shoal_solver_reason(s.solver), "(break-even ");
    CHECK_STR(device_after(&s, 20, x), "cpu");
    CHECK_INT(count_of(&s, "module_load"), 2);
    CHECK(count_of(&s, "pilot_run") <= 1); // one a solver, whatever comes
    scene_free(&s);
}

// A GPU that is slow, whatever the reason, gets nothing.
TEST(device_choice_slow_device) {
    enum { MANY = 100000 };
    use_pocl();
    struct scene s = scene_new();
    double *x = check_keep(malloc(MANY * sizeof *x));
    pretend(0.5, 1000, 10);
    scene_solver(&s);
    CHECK_STR(device_after(&s, MANY, x), "cpu");
    CHECK_INT(count_of(&s, "device_open"), 2); // the front's and its child's, which are the CPU
    CHECK_INT(count_of(&s, "pilot_run"), 0);   // it can only lose
    scene_free(&s);
}

// The pilot changes no result, and its rows are not counted.
TEST(device_choice_pilot) {
    enum { MANY = 20000 };
    use_pocl();
    struct scene s = scene_new(), cpu = scene_new();
    double *x = check_keep(malloc(MANY * sizeof *x)), *want = check_keep(malloc(MANY * sizeof *x));
    shoal_tally a, b;
    pretend(0.002, 20, 0.05);
    cpu.options.device = "cpu";
    scene_solver(&cpu);
    REQUIRE(run(&cpu, MANY, want, &b) == SHOAL_OK);
    scene_solver(&s);
    REQUIRE(run(&s, MANY, x, &a) == SHOAL_OK);
    CHECK_INT(count_of(&s, "pilot_run"), 1);
    CHECK(!memcmp(x, want, MANY * sizeof *x));
    CHECK_INT(a.done, MANY);
    CHECK_INT(a.steps, b.steps);
    scene_free(&s);
    scene_free(&cpu);
}

// Rows that kernels have computed, without those of a pilot; and what that kept.
static uint64_t rows_launched(const struct scene *s, uint64_t *kept) {
    char number[24];
    uint64_t rows = 0;
    *kept = 0;
    for (size_t i = 0; i < shoal_log_span_count(s->log); i++) {
        const char *label = shoal_log_span(s->log, i).label;
        if (!strcmp(label, "kernel_launch") && !strcmp(shoal_log_span(s->log, i).track, "main") &&
            shoal_log_meta(s->log, i, "numruns", number, sizeof number))
            rows += strtoull(number, NULL, 10);
        if ((!strcmp(label, "pilot_run") || !strcmp(label, "trial_run")) &&
            shoal_log_meta(s->log, i, "kept", number, sizeof number))
            *kept = strtoull(number, NULL, 10); // the trial's, which ends last
    }
    return rows;
}

static const char vdp[] = "par mu=1\ninit x=2,y=0\nx'=y\ny'=mu*(1-x*x)*y-x\n@ t1=1\n";

// A batch of a model with these options into a file, on the CPU by name or by a choice that takes
// it.
static shoal_tally run_to_file(const char *model, const char *const *options, const char *only,
                               const char *device, const char *file, uint64_t *rows,
                               uint64_t *kept) {
    struct scene s = {.log = shoal_log_new()};
    shoal_batch *batch = NULL;
    shoal_tally tally;
    REQUIRE(shoal_model_parse("test.ode", model, strlen(model), &s.model, s.log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&s.options, s.model, s.log) == SHOAL_OK);
    for (; *options; options += 2)
        CHECK(shoal_options_set(&s.options, options[0], options[1], s.log) == SHOAL_OK);
    s.options.device = device;
    REQUIRE(shoal_batch_new(s.model, &batch, s.log) == SHOAL_OK);
    CHECK(shoal_batch_sweep(batch, "mu=log:0.1:1e4:2000", s.log) == SHOAL_OK);
    CHECK(!only || shoal_batch_only(batch, only, s.log) == SHOAL_OK);
    scene_solver(&s);
    CHECK_MSG(shoal_solver_run_file(s.solver, batch, check_path(file), &tally, s.log) == SHOAL_OK,
              "%s", words_of(&s));
    *rows = rows_launched(&s, kept);
    shoal_batch_free(batch);
    scene_free(&s);
    return tally;
}

// What a pilot has computed is part of the result, in its place, and is not computed again. Bytes
// of files and all counts are as without it: rows that fail or are stiff, samples, summaries,
// groups.
TEST(device_choice_pilot_is_kept) {
    static const struct {
        const char *file, *only, *option[7];
    } cases[] = {
        {"a.csv", "5:900,907,910:2000", {"max-steps", "150"}},
        {"b.npz", NULL, {"save", "n=3", "precision", "f32", "method", "tsit5"}},
        {"c.npz", "0:300,301:2000", {"reduce", "mean,quantile(0.5)", "summary", "max(x)"}},
    };
    use_pocl();
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    bool stiff = false, any = false;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char other[16];
        uint64_t rows, kept, none;
        snprintf(other, sizeof other, "other%s", strchr(cases[i].file, '.'));
        shoal_tally want =
            run_to_file(vdp, cases[i].option, cases[i].only, "cpu", other, &rows, &none);
        RUN("rm", "-rf", check_path("cache/tune")); // nothing is known of its rows,
        pretend(30, 20, 0.01);                      // and the device is far
        shoal_tally is =
            run_to_file(vdp, cases[i].option, cases[i].only, "auto", cases[i].file, &rows, &kept);
        CHECK(kept <= 64);
        any = any || kept; // a machine that is busy ends none in time
        stiff = stiff || is.found_stiff;
        CHECK_MSG(is.found_stiff || is.failed_first || rows == is.runs - kept, "%s: %llu",
                  cases[i].file, (unsigned long long)rows);
        CHECK_INT(RUN("cmp", check_path(other), check_path(cases[i].file)).status, 0);
        is.seconds = want.seconds;
        CHECK(!memcmp(&is, &want, sizeof is));
        CHECK_INT(is.steps, want.steps);
        CHECK_INT(is.found_stiff, want.found_stiff);
    }
    CHECK(stiff && any);
}

// Rows of a trial are part of the result, whichever device computed them.
TEST(device_choice_trial_is_kept) {
    static const char *const one[] = {"threads", "1",  "reuses", "1000000", "method",
                                      "tsit5",   "t1", "9",      NULL};
    static const char *const groups[] = {"threads", "1",  "reuses", "1000000", "method",
                                         "tsit5",   "t1", "9",      "reduce",  "mean,quantile(0.5)",
                                         NULL};
    static const struct {
        const char *file, *only, *const *option;
    } cases[] = {{"a.csv", "5:900,907,910:2000", one}, {"c.csv", NULL, groups}};
    use_pocl();
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char other[16];
        uint64_t rows, kept;
        snprintf(other, sizeof other, "other%s", strchr(cases[i].file, '.'));
        shoal_tally want =
            run_to_file(vdp, cases[i].option, cases[i].only, "cpu", other, &rows, &kept);
        RUN("rm", "-rf", check_path("cache/tune"));
        pretend_equal();
        shoal_tally is =
            run_to_file(vdp, cases[i].option, cases[i].only, "auto", cases[i].file, &rows, &kept);
        CHECK_MSG(kept > 2 && kept < is.runs / 10 + 1, "%llu kept", (unsigned long long)kept);
        CHECK_INT(rows, is.runs - kept);
        CHECK_INT(RUN("cmp", check_path(other), check_path(cases[i].file)).status, 0);
        is.seconds = want.seconds;
        CHECK(!memcmp(&is, &want, sizeof is));
    }
}

// Few runs are the CPU's, unless somebody says otherwise.
TEST(choice_run_few) {
    struct scene s = scene_new();
    unsetenv("SHOAL_DEVICE");
    CHECK(shoal_options_few(&s.options, 0) && shoal_options_few(&s.options, 16));
    CHECK(!shoal_options_few(&s.options, 17));
    s.options.threshold = 5;
    CHECK(!shoal_options_few(&s.options, 1));
    s.options.threshold = 0;
    s.options.device = "cuda";
    CHECK(!shoal_options_few(&s.options, 1));
    s.options.device = "auto";
    setenv("SHOAL_DEVICE", "opencl", 1);
    CHECK(!shoal_options_few(&s.options, 1));
    scene_free(&s);
}

// A machine without another device has nothing to choose, and says so by saying nothing.
TEST(choice_run_cpu_only) {
    struct scene s = scene_new();
    double x[ROWS];
    unsetenv("SHOAL_DEVICE");
    s.options.threshold = 10;
    scene_solver(&s);
    CHECK_STR(device_after(&s, ROWS, x), "cpu");
    CHECK_STR(shoal_solver_reason(s.solver), "");
    scene_free(&s);
}

// ---- Calibration and estimates ------------------------------------------------------------------

struct rows {
    uint32_t count;
    uint64_t runs;
    bool timed, other;
};

static void on_row(const shoal_calibration *row, void *user) {
    struct rows *r = user;
    CHECK(row->runs > r->runs);
    CHECK(row->cpu_s > 0 || isnan(row->cpu_s));
    CHECK(isnan(row->warm_s) || (row->warm_s > 0 && row->cold_s > row->warm_s));
    CHECK(!strcmp(row->choice, "cpu") || (row->device && !strcmp(row->choice, row->device)));
    r->runs = row->runs;
    r->timed = r->timed || row->cpu_s > 0;
    r->other = r->other || row->warm_s > 0;
    r->count++;
}

// What the file says; a count of 0: nothing.
static struct tune_point point(const char *device, enum machine_point p, const char *class) {
    struct machine m;
    struct tune *t = check_keep(calloc(1, sizeof *t));
    char name[TUNE_NAME];
    struct cache *c = cache_open(NULL);
    machine_find(&m, NULL);
    tune_load(t, c, m.digest, (int64_t)time(NULL) * 1000000000 + 2000000000);
    cache_close(c);
    machine_point(device, p, class, name);
    const struct tune_point *found = tune_find(t, name);
    return found ? *found : (struct tune_point){0};
}

TEST(device_choice_calibrate_a_model) {
    use_pocl();
    struct scene s = scene_new();
    struct rows rows = {0};
    shoal_code code = shoal_calibrate(s.model, &s.options, 0.5, on_row, &rows, s.log);
    CHECK_MSG(code == SHOAL_OK, "%s", words_of(&s));
    CHECK(rows.count && rows.timed && rows.other);
    static const enum machine_point points[] = {MACHINE_LANE, MACHINE_FULL};
    for (size_t i = 0; i < 2; i++) {
        struct tune_point p = point("opencl:0", points[i], "ode-f64-n3-erk");
        CHECK(p.sum > 0 && p.count >= 3);
        CHECK(p.squares * p.count > p.sum * p.sum); // no two runs take the same time
    }
    scene_free(&s);
}

TEST(choice_run_calibrate_a_cpu) {
    struct scene s = scene_new();
    struct rows rows = {0};
    CHECK(shoal_calibrate(s.model, &s.options, 0.3, on_row, &rows, s.log) == SHOAL_OK);
    CHECK(rows.count && rows.timed && !rows.other);
    CHECK_HAS(words_of(&s), "no device besides the CPU");
    scene_free(&s);
}

// Grids have a class of their own.
TEST(device_choice_calibrate_grids) {
    use_pocl();
    struct scene s = scene_new();
    struct rows rows = {0};
    shoal_code code = calibrate_grids(&s.options, clock_ns() + 1000000000, on_row, &rows, s.log);
    CHECK_MSG(code == SHOAL_OK, "%s", words_of(&s));
    CHECK(rows.count && rows.timed && rows.other);
    CHECK(point("opencl:0", MACHINE_LANE, "grid-u8").count > 0 ||
          point("opencl:0", MACHINE_FULL, "grid-u8").count > 0);
    CHECK(point("opencl:0", MACHINE_LANE, "ode-f64-n3-erk").count == 0);
    scene_free(&s);
}

TEST(choice_run_calibrate_grids_of_a_cpu) {
    struct scene s = scene_new();
    struct rows rows = {0};
    CHECK(!calibrate_grids(&s.options, clock_ns() + 200000000, on_row, &rows, s.log));
    CHECK(rows.count && rows.timed && !rows.other);
    scene_free(&s);
}

// A model whose runs all fail is measured, and said to.
TEST(choice_run_calibrate_what_fails) {
    struct scene s = scene_of("par k=1\ninit x=1\nx'=k*x*x\n@ t1=3, method=tsit5\n");
    struct rows rows = {0};
    CHECK(shoal_calibrate(s.model, &s.options, 0.2, on_row, &rows, s.log) == SHOAL_OK);
    CHECK(rows.count && rows.timed);
    CHECK_HAS(words_of(&s), "warning: every run of `test.ode` fails");
    scene_free(&s);
}

LONG_TEST(choice_run_calibrate_workloads) {
    CHECK_HAS(RUN(check_shoal(), "cache", "doctor").out, "no; `shoal calibrate` measures");
    struct check_output o = RUN(check_shoal(), "calibrate", "--json");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "{\"workload\": \"Lorenz, f64\", \"runs\": 32, \"cpu_s\": ");
    CHECK_HAS(o.out, "20 stiff states, f32");
    CHECK_HAS(o.out, "{\"workload\": \"grids of 25 by 25, u8\", \"runs\": 32, \"cpu_s\": ");
    CHECK(!strstr(o.out, "one step"));
    // Launches and copies, with their spread, and what each number of threads is worth.
    struct tune_point launch = point("cpu", MACHINE_LAUNCH, NULL),
                      rate = point("cpu", MACHINE_OUT, NULL);
    CHECK(launch.count == 7 && launch.sum > 0 && launch.squares * 7 > launch.sum * launch.sum);
    CHECK_MSG(rate.count == 4 && rate.sum / 4 > 1e7 && rate.sum / 4 < 1e12, "%g B/s", rate.sum / 4);
    struct machine m;
    char class[MACHINE_CLASS];
    machine_find(&m, NULL);
    for (uint32_t n = 1; n <= m.cpus && m.cpus > 1;
         n = n < m.cpus && 2 * n > m.cpus ? m.cpus : 2 * n) {
        struct tune_point p = point("cpu", MACHINE_EFFICIENCY, machine_threads(n, class));
        CHECK_MSG(p.count == 7 && p.sum / 7 > 0.1 / n && p.sum / 7 < 1.5, "%u threads: %g", n,
                  p.sum / 7);
    }
    o = RUN(check_shoal(), "cache", "doctor");
    CHECK_HAS(o.out, "numbers of this machine are known");
}

// What a run took tells what the next one will, and the cache knows what its kernel took.
TEST(choice_run_estimates) {
    const char *model = check_path("m.ode");
    check_write(model, text);
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    unsetenv("SHOAL_DEVICE");
    struct check_output o =
        RUN(check_shoal(), "run", model, "--sweep", "k=lin:1:2:20000", "--dry-run");
    CHECK_HAS(o.out, "time      not known");
    for (int i = 0; i < 2; i++) {
        o = RUN(check_shoal(), "run", model, "--sweep", "k=lin:1:2:20000", "-o",
                check_path("o.npz"));
        CHECK_MSG(o.status == 0, "%s", o.err);
    }
    o = RUN(check_shoal(), "run", model, "--sweep", "k=lin:1:2:20000000", "--dry-run");
    const char *line = strstr(o.out, "time      about ");
    CHECK_MSG(line != NULL, "%s", o.out);
    double seconds = line ? strtod(line + 16, NULL) : 0;
    CHECK_MSG(seconds > 0.05 && seconds < 600, "%s", o.out);
    o = RUN(check_shoal(), "cache", "list", "--json");
    const char *key = strstr(o.out, "\"key\"");
    REQUIRE(key);
    char digits[17];
    snprintf(digits, sizeof digits, "%.16s", key + strcspn(key + 5, "0123456789abcdef") + 5);
    o = RUN(check_shoal(), "cache", "show", digits);
    CHECK_HAS(o.out, "first launch");
    CHECK_HAS(o.out, "load");
}

// ---- A device that fails ------------------------------------------------------------------------

// What the fake device writes, and what is right.
static uint64_t rows_of_fake(const double *x, const double *want, uint64_t rows) {
    uint64_t n = 0;
    while (n < rows && x[n] == 3 * (double)(n + 1))
        n++;
    for (uint64_t i = n; i < rows; i++)
        CHECK_MSG(x[i] == want[i], "row %llu is %g, not %g", (unsigned long long)i, x[i], want[i]);
    return n;
}

static struct scene failing(const char *device) {
    struct scene s = scene_new();
    s.options.device = device;
    s.options.threshold = 20;
    s.options.chunk = 100;
    return s;
}

// The seconds that a thread of the CPU takes for them.
static double right_results(double *want, uint64_t rows) {
    struct scene cpu = scene_new();
    cpu.options.device = "cpu";
    cpu.options.threads = 1;
    scene_solver(&cpu);
    REQUIRE(run(&cpu, rows, want, NULL) == SHOAL_OK);
    clock_t begin = clock();
    REQUIRE(run(&cpu, rows, want, NULL) == SHOAL_OK);
    scene_free(&cpu);
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

// Neither kernel is there: that of the device is compiled beside the CPU's, and then found.
TEST(choice_run_two_compilers) {
    enum { N = 5000 };
    use_fake_triple();
    struct scene s = scene_new();
    double x[N], want[N] = {0};
    machine_assumes_cpus = 4;
    pretend(0, 20, 1e-4);
    s.options.reuses = 1000000;
    scene_solver(&s);
    CHECK_MSG(run(&s, N, x, NULL) == SHOAL_OK, "%s", words_of(&s));
    CHECK_INT(rows_of_fake(x, want, N), N);
    CHECK_HAS(shoal_solver_reason(s.solver), "cuda: 5,000 runs ~ ");
    CHECK_INT(count_of(&s, "pilot_run"), 1);
    CHECK_INT(count_of(&s, "compile_kernel"), 1); // the CPU's
    CHECK_INT(count_of(&s, "module_load"), 1);
    CHECK_INT(count_of(&s, "wait_for_device"), 1);
    scene_free(&s);
}

// It should have been ready before the CPU's compiler was, and is not: the CPU, whose kernel is
// there now, does not wait for it.
TEST(choice_run_late_device) {
    enum { N = 5000 };
    use_fake_triple();
    struct scene s = scene_of("par k=1\ninit x=1\nx'=k-x*tanh(x)\n@ t1=2, method=tsit5\n");
    double x[N];
    struct timespec t[2];
    char script[1024];
    const char *begun = check_path("begun");
    snprintf(script, sizeof script, // a compiler that waits for the other one to begin
             "case \"$*\" in *SHOAL_PART=1*)\n"
             "for i in $(seq 500); do test -e '%s' && break; sleep 0.01; done;; esac\n"
             "exec cc \"$@\"",
             begun);
    use_script(script);
    setenv("FAKE_NVRTC_BEGUN", begun, 1);
    machine_assumes_cpus = 4;
    setenv("FAKE_NVRTC_US", "20000000", 1);
    pretend(0, 20, 1e-3);
    struct cache *c = cache_open(NULL);
    for (uint64_t bytes = 1 << 12; bytes < 1 << 20; bytes *= 2)
        cache_learn(c, device_backend("cuda")->kind, bytes, 1); // ms, so far
    cache_close(c);
    scene_solver(&s);
    clock_gettime(CLOCK_MONOTONIC, &t[0]);
    CHECK_STR(device_after(&s, N, x), "cpu");
    clock_gettime(CLOCK_MONOTONIC, &t[1]);
    CHECK_HAS(shoal_solver_reason(s.solver), "cpu: 5,000 runs ~ ");
    CHECK_INT(count_of(&s, "pilot_run"), 1);
    CHECK_INT(count_of(&s, "wait_for_device"), 0);
    CHECK(t[1].tv_sec - t[0].tv_sec < 15);
    CHECK(x[10] != 33);
    CHECK(shoal_devices_leave());
    scene_free(&s);
}

// Rows of the CPU before those of a device that takes over, among which are some of the pilot.
static uint64_t rows_of_cpu(const double *x, const double *want, uint64_t rows) {
    uint64_t n = 0, later = 0;
    while (n < rows && x[n] == want[n])
        n++;
    for (uint64_t i = n; i < rows; i++) {
        later += x[i] == want[i];
        CHECK_MSG(x[i] == want[i] || x[i] == 3 * (double)(i + 1), "row %llu is %g",
                  (unsigned long long)i, x[i]);
    }
    CHECK(later <= 64);
    return n;
}

// The CPU begins while the device is made ready, which then takes the rest, at the border of a
// chunk; where that fails, the CPU has it all, and one that comes too late gets the next batch.
TEST(choice_run_meanwhile) {
    enum { N = 400000 };
    static const struct {
        const char *compile_us, *fail;
        bool switches;
    } cases[] = {
        {"20000", NULL, true}, {"20000", "cuLaunchKernel", false}, {"40000000", NULL, false}};
    struct fake_cuda *fake = use_fake_triple();
    double *x = check_keep(malloc(N * sizeof *x)), *want = check_keep(malloc(N * sizeof *x));
    machine_assumes_cpus = 4;
    double cpu_s = right_results(want, N); // the CPU's kernel is in the cache
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s = scene_new();
        shoal_tally tally;
        char id[8];
        snprintf(id, sizeof id, "12%02zu", i);
        use_fake_nvrtc(id); // another compiler: its kernel is not there
        setenv("FAKE_NVRTC_US", cases[i].compile_us, 1);
        pretend(cpu_s / 4, 20, 0.3);
        s.options.reuses = 1000;
        s.options.threads = 1;
        scene_solver(&s);
        fake->fail = cases[i].fail;
        fake->fail_result = 719;
        CHECK_MSG(run(&s, N, x, &tally) == SHOAL_OK, "%s", words_of(&s));
        fake->fail = NULL;
        uint64_t rows = rows_of_cpu(x, want, N);
        CHECK_MSG(cases[i].switches ? rows >= N / 128 && rows < N : rows == N,
                  "case %zu: %llu rows; %s", i, (unsigned long long)rows,
                  shoal_solver_reason(s.solver));
        CHECK_HAS(shoal_solver_reason(s.solver), "cuda: 400,000 runs ~ ");
        CHECK(tally.complete && tally.done == N && tally.by_status[SHOAL_STATUS_ok] == N);
        CHECK_MSG(!cases[i].fail || strstr(words_of(&s), "were left to the CPU"), "%s %s",
                  words_of(&s), shoal_solver_reason(s.solver));
        scene_free(&s);
    }
}

// ---- A trial ------------------------------------------------------------------------------------

static bool in_ns(uint64_t of_row, const void *args, const char *read, char *written,
                  const char *resident, const volatile int *stop) {
    const struct shoal_call *call = args;
    const struct timespec pause = {0, (long)(call->head.rows * of_row % 1000000000u)};
    nanosleep(&pause, NULL);
    return fake_triple(args, read, written, resident, stop);
}

static bool slowly(const void *args, const char *read, char *written, const char *resident,
                   const volatile int *stop) {
    return in_ns(100000, args, read, written, resident, stop);
}

static bool busily(const void *args, const char *read, char *written, const char *resident,
                   const volatile int *stop) {
    return in_ns(20000, args, read, written, resident, stop);
}

// Which rows came from where: CPU, device, CPU again; the last is the rest of the batch.
static void count_sides(const double *x, const double *want, uint64_t rows, uint64_t side[3]) {
    uint64_t i = 0;
    for (int k = 0; k < 3; k++)
        for (side[k] = 0; i < rows && (k == 1 ? x[i] == 3 * (double)(i + 1) : x[i] == want[i]); i++)
            side[k]++;
    CHECK_MSG(i == rows, "row %llu is %g", (unsigned long long)i, x[i]);
}

// CPU and device are about as fast as far as is known: both run a part, and the faster one gets the
// rest. Where their bits are the same both parts are kept, else that of the faster one alone.
TEST(choice_run_trial) {
    enum { N = 30000 };
    static const char *const texts[] = {
        "par k=1\ninit x=1\nx'=k-x*x/4\n@ t1=9, method=tsit5\n",
        "par k=1\ninit x=1\nx'=k-x*tanh(x)\n@ t1=9, method=tsit5\n"};
    struct fake_cuda *fake = use_fake_triple();
    double *x = check_keep(malloc(N * sizeof *x)), *want = check_keep(malloc(N * sizeof *x));
    for (int is_free = 1; is_free >= 0; is_free--)
        for (int wins = 0; wins < 2; wins++) {
            struct scene s = scene_of(texts[!is_free]), cpu = scene_of(texts[!is_free]);
            uint64_t side[3];
            shoal_tally tally;
            cpu.options.device = "cpu";
            scene_solver(&cpu);
            REQUIRE(run(&cpu, N, want, &tally) == SHOAL_OK);
            fake_evals_of_row = tally.f_evals / N;
            fake->kernel = wins ? fake_triple : slowly;
            RUN("rm", "-rf", check_path("cache/tune"));
            pretend_equal();
            s.options.reuses = 1000000;
            s.options.threads = 1;
            scene_solver(&s);
            CHECK_MSG(run(&s, N, x, &tally) == SHOAL_OK, "%s", words_of(&s));
            CHECK_HAS(shoal_solver_reason(s.solver), wins ? "cuda: 30,000" : "cpu: 30,000");
            CHECK_HAS(shoal_solver_reason(s.solver), ", by a trial of ");
            CHECK_INT(count_of(&s, "trial_run"), 1);
            CHECK(tally.complete && tally.done == N && tally.by_status[SHOAL_STATUS_ok] == N);
            count_sides(x, want, N, side);
            if (!is_free)
                CHECK_INT(side[!wins ? 0 : 1], N);
            else
                CHECK_MSG(side[0] > 100 && side[0] <= N / 20 &&
                              (wins ? side[1] == N - side[0] : side[1] == side[0]),
                          "%llu, %llu, %llu", (unsigned long long)side[0],
                          (unsigned long long)side[1], (unsigned long long)side[2]);
            scene_free(&s);
            scene_free(&cpu);
        }
}

// A device that cannot be opened for it, or fails in it, leaves the batch to the CPU.
TEST(choice_run_trial_fails) {
    enum { N = 30000 };
    static const char *const calls[] = {"cuDevicePrimaryCtxRetain", "cuLaunchKernel"};
    struct fake_cuda *fake = use_fake_triple();
    double *x = check_keep(malloc(N * sizeof *x)), *want = check_keep(malloc(N * sizeof *x));
    right_results(want, N);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct scene s = scene_new();
        RUN("rm", "-rf", check_path("cache/tune"));
        pretend_equal();
        s.options.reuses = 1000000;
        s.options.threads = 1;
        scene_solver(&s);
        fake->fail = calls[i];
        fake->fail_result = 719;
        CHECK_MSG(run(&s, N, x, NULL) == SHOAL_OK, "%s: %s", calls[i], words_of(&s));
        CHECK_INT(count_of(&s, "trial_run"), 1);
        CHECK(!memcmp(x, want, N * sizeof *x));
        CHECK(!strstr(words_of(&s), "error:"));
        fake->fail = NULL;
        scene_free(&s);
    }
}

// ---- Machines that are not as they were ---------------------------------------------------------

// A GPU that others use is slower than its file says: after some batches the CPU has them.
TEST(choice_run_busy_device) {
    enum { N = 2000 };
    static const char model[] = "par k=1\ninit x=1\nx'=k-x*tanh(x)\n@ t1=2, method=tsit5\n";
    struct fake_cuda *fake = use_fake_triple();
    struct scene s = scene_of(model), cpu = scene_of(model);
    double x[N], want[N];
    cpu.options.device = "cpu";
    scene_solver(&cpu);
    REQUIRE(run(&cpu, N, want, NULL) == SHOAL_OK);
    scene_free(&cpu);
    fake->kernel = busily; // 40 ms, where the CPU takes 1 or 2
    // Of so many measurements that two slow batches count little beside them; the third in a row
    // counts alone.
    pretend(0, 20, 1e-5);
    s.options.reuses = 1000000;
    scene_solver(&s);
    int batches = 0;
    do {
        REQUIRE(run(&s, N, x, NULL) == SHOAL_OK);
    } while (strncmp(shoal_solver_reason(s.solver), "cpu", 3) && ++batches < 20);
    CHECK_MSG(batches >= 1 && batches <= 6, "%d batches: %s", batches,
              shoal_solver_reason(s.solver));
    CHECK(!memcmp(x, want, sizeof x));
    scene_free(&s);
    s = scene_of(model); // and the file knows
    s.options.reuses = 1000000;
    scene_solver(&s);
    REQUIRE(run(&s, N, x, NULL) == SHOAL_OK);
    CHECK_MSG(!memcmp(x, want, sizeof x), "%s", shoal_solver_reason(s.solver));
    scene_free(&s);
}

// What a warm-up has measured counts more than what the file says of such kernels.
TEST(choice_run_warmed) {
    enum { N = 256 };
    struct fake_cuda *fake = use_fake_triple();
    struct scene s = scene_of("par k=1\ninit x=1\nx'=k-x*tanh(x)\n@ t1=2, method=tsit5\n");
    shoal_batch *batch = NULL;
    double x[N];
    fake->kernel = slowly;
    pretend(0, 20, 1e-3);
    scene_solver(&s);
    REQUIRE(shoal_batch_new(s.model, &batch, s.log) == SHOAL_OK);
    REQUIRE(shoal_batch_sweep(batch, "k=lin:1:2:256", s.log) == SHOAL_OK);
    REQUIRE(shoal_solver_warm(s.solver, batch, s.log) == SHOAL_OK);
    REQUIRE(run(&s, N, x, NULL) == SHOAL_OK);
    CHECK_HAS(shoal_solver_reason(s.solver), "cpu: 256 runs"); // or too few, where a run was slow
    shoal_batch_free(batch);
    scene_free(&s);
}

// One core is another machine: nothing of the file of all of them is believed, no second compiler
// takes time from the first, and the batch does not begin on a CPU that has none to spare.
TEST(choice_run_one_core) {
    enum { N = 30000 };
    struct machine all, one;
    cpu_set_t set, first;
    double *x = check_keep(malloc(N * sizeof *x)), *want = check_keep(malloc(N * sizeof *x));
    use_fake_triple();
    struct scene s = scene_new();
    right_results(want, N);
    machine_find(&all, NULL);
    pretend(0, 20, 1e-4);
    REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
    CPU_ZERO(&first);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&first); i++)
        if (CPU_ISSET(i, &set))
            CPU_SET(i, &first);
    REQUIRE(sched_setaffinity(0, sizeof first, &first) == 0);
    machine_find(&one, NULL);
    CHECK_INT(one.cpus, 1);
    CHECK(all.cpus == 1 || strcmp(all.digest, one.digest));
    scene_solver(&s);
    REQUIRE(run(&s, N, x, NULL) == SHOAL_OK);
    CHECK_INT(count_of(&s, "wait_for_device"), 0);
    CHECK(all.cpus == 1 || !memcmp(x, want, N * sizeof *x)); // cautious numbers: it is the CPU's
    scene_free(&s);
    pretend(0, 20, 1e-4); // measured with one core
    s = scene_new();
    s.options.reuses = 1000000;
    scene_solver(&s);
    REQUIRE(run(&s, N, x, NULL) == SHOAL_OK);
    CHECK_HAS(shoal_solver_reason(s.solver), "cuda: 30,000 runs");
    scene_free(&s);
}

// A file that is damaged is none: the batch goes where it goes without one, and nobody says a word.
TEST(choice_run_damaged_file) {
    enum { N = 5000 };
    double x[N], want[N];
    use_fake_triple();
    right_results(want, N);
    for (int damaged = 0; damaged < 2; damaged++) {
        struct scene s = scene_new();
        pretend(0, 20, 1e-4);
        s.options.reuses = 1000000;
        const char *place = check_path("cache");
        struct check_output o = RUN("find", place, "-path", "*/tune/*.t");
        char path[4096];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(o.out, "\n"), o.out);
        FILE *f = fopen(path, "r+b");
        REQUIRE(f && fseek(f, 300, SEEK_SET) == 0);
        if (damaged)
            fputs("damage", f);
        fclose(f);
        scene_solver(&s);
        REQUIRE(run(&s, N, x, NULL) == SHOAL_OK);
        CHECK_INT(strncmp(shoal_solver_reason(s.solver), "cuda", 4) == 0, !damaged);
        CHECK(!damaged || !memcmp(x, want, sizeof x));
        CHECK_INT(shoal_log_message_count(s.log), 0);
        scene_free(&s);
    }
}

// A process whose batch was the CPU's need not wait for the device that was made ready in vain.
TEST(choice_run_leaves_early) {
    enum { N = 100000 };
    struct fake_cuda *fake = use_fake_triple();
    struct scene s = scene_new();
    double *x = check_keep(malloc(N * sizeof *x));
    struct timespec t[2];
    machine_assumes_cpus = 4;
    fake->start_ms = 4000;
    pretend(40, 20, 0.05);
    scene_solver(&s);
    CHECK_STR(device_after(&s, N, x), "cpu");
    clock_gettime(CLOCK_MONOTONIC, &t[0]);
    CHECK(shoal_devices_leave());
    scene_free(&s);
    clock_gettime(CLOCK_MONOTONIC, &t[1]);
    CHECK(t[1].tv_sec - t[0].tv_sec <= 2);
}

TEST(choice_run_fails_in_the_middle) {
    enum { N = 1000 };
    struct fake_cuda *fake = use_fake_triple();
    double want[N];
    right_results(want, N);
    static const char *const devices[] = {"auto", "cuda"};
    for (size_t d = 0; d < 2; d++)
        for (const struct fake_fault *f = fake_faults; f->call; f++) {
            struct scene s = failing(devices[d]);
            double x[N];
            char named[64];
            shoal_tally tally;
            scene_solver(&s);
            fake_fail(fake, f);
            CHECK_MSG(run(&s, N, x, &tally) == SHOAL_OK, "%s: %s", f->call, words_of(&s));
            fake_fail(fake, NULL);
            uint64_t rows = rows_of_fake(x, want, N);
            CHECK_MSG(rows >= 100 * f->least && rows <= 100 * f->most && rows % 100 == 0,
                      "%s: %llu rows", f->call, (unsigned long long)rows);
            CHECK(tally.complete && tally.done == N && tally.by_status[SHOAL_STATUS_ok] == N);
            snprintf(named, sizeof named, "runs %llu to %d were left to the CPU",
                     (unsigned long long)rows, N - 1);
            CHECK_HAS(words_of(&s), named);
            CHECK_HAS(words_of(&s), "warning: cuda failed");
            CHECK(!strstr(words_of(&s), "error:"));
            if (d == 0) { // it is not asked again
                CHECK(run(&s, N, x, &tally) == SHOAL_OK);
                CHECK_INT(rows_of_fake(x, want, N), 0);
            }
            scene_free(&s);
        }
}

TEST(choice_run_fails_without_fallback) {
    enum { N = 1000 };
    struct fake_cuda *fake = use_fake_triple();
    struct scene s = failing("auto");
    double x[N];
    shoal_tally tally;
    s.options.no_fallback = true;
    scene_solver(&s);
    fake_fail(fake, &fake_faults[1]);
    CHECK_INT(run(&s, N, x, &tally), SHOAL_DEVICE);
    CHECK(!tally.complete);
    CHECK_HAS(words_of(&s), "error: ");
    scene_free(&s);
}

// The device cannot be opened, or does not take the kernel.
TEST(choice_run_fails_at_the_start) {
    enum { N = 100 };
    static const char *const calls[] = {"cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx",
                                        "cuModuleGetFunction"};
    struct fake_cuda *fake = use_fake_triple();
    double x[N], want[N];
    right_results(want, N);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct scene s = failing("auto");
        scene_solver(&s);
        fake->fail = calls[i];
        fake->fail_result = 2;
        CHECK_MSG(run(&s, N, x, NULL) == SHOAL_OK, "%s: %s", calls[i], words_of(&s));
        CHECK_INT(rows_of_fake(x, want, N), 0);
        CHECK_HAS(words_of(&s), "cuda:0 cannot be used, so the CPU is");
        CHECK(!strstr(words_of(&s), "error:"));
        fake->fail = NULL;
        scene_free(&s);
    }
}
