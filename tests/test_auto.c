// SPDX-License-Identifier: MIT
// Method auto: every row is that of the explicit method or that of the stiff one, run alone, bit
// for bit, whatever its neighbours are; which of the two depends on the row alone.
#include "base/buf.h"
#include "check.h"
#include "device_test.h"
#include "kernels.h"
#include "solve.h"

#include <pthread.h>
#include <unistd.h>

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static const char first[] = "tsit5", stiff[] = "rodas5p";

// ---- A mixed batch ------------------------------------------------------------------------------

// Van der Pol's: mu = 1 is not stiff, mu = 1000 is; k > 0 blows up at 1/k.
static const char mixed[] = "par mu=1, k=0; init x=2, y=0, b=1; x'=y; y'=mu*(1-x^2)*y-x; b'=k*b^2";
enum { ROWS = 60 };

static struct inputs mixed_inputs(void) {
    const char *names[RIG_NAMES] = {"mu", "k", "x(0)"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = i % 3 == 1 ? 300 + 20 * (double)i : 0.5 + 0.01 * (double)i;
        in.value[1][i] = i % 10 == 4 ? 0.1 : 0;
        in.value[2][i] = 2 + 0.001 * (double)i;
    }
    return in;
}

// The same options with another method in front.
static struct rig rig_with(const char *device, const char *method, const char *options) {
    char words[256];
    snprintf(words, sizeof words, "method=%s %s", method, options);
    return device ? device_rig(device, mixed, words) : rig_new(NULL, mixed, words);
}

static struct outcome run_with(const char *device, const char *method, const char *options,
                               const struct inputs *in) {
    struct rig rig = rig_with(device, method, options);
    struct outcome o = rig_run(&rig, in, NULL, 0, NULL);
    rig_free(&rig);
    return o;
}

static bool is_stiff(uint64_t i) { return i % 3 == 1; }
static bool is_doomed(uint64_t i) { return i % 10 == 4; }

// Rows, and totals that are the sums of the rows'.
static void check_rows(const struct outcome *got, const struct outcome *alone[2],
                       const char *what) {
    uint64_t steps = 0, rejected = 0, f_evals = 0, taken = 0;
    for (uint64_t i = 0; i < got->rows; i++) {
        const struct outcome *want = alone[is_stiff(i) || is_doomed(i)];
        if (!outcome_same(want, i, got, i, what))
            break;
        steps += got->steps[i];
        rejected += got->rejected[i];
        f_evals += got->f_evals[i];
        taken += is_stiff(i) || is_doomed(i);
    }
    CHECK_MSG(got->tally.steps == steps && got->tally.rejected == rejected &&
                  got->tally.f_evals == f_evals,
              "%s: totals are not those of the rows", what);
    CHECK_INT(got->tally.found_stiff + got->tally.failed_first, taken);
}

static void check_mixed(const char *device, const char *options) {
    struct inputs in = mixed_inputs();
    struct outcome a = run_with(device, first, options, &in);
    struct outcome b = run_with(device, stiff, options, &in);
    struct outcome got = run_with(device, "auto", options, &in);
    check_rows(&got, (const struct outcome *[]){&a, &b}, options);
    CHECK_STR(got.tally.method, first);
    CHECK_STR(got.tally.stiff_method, stiff);
    CHECK_STR(a.tally.method, first);
    CHECK(!a.tally.stiff_method && !a.tally.found_stiff);
    outcome_free(&a);
    outcome_free(&b);
    outcome_free(&got);
    inputs_free(&in);
}

LONG_DEVICE_TEST(auto_rows_are_those_of_one_method) { check_mixed(device, "t1=40"); }
DEVICE_TEST(auto_series) { check_mixed(device, "t1=40 save=n=7 settle=10"); }
LONG_DEVICE_TEST(auto_f32) { check_mixed(device, "t1=40 precision=f32 keep-failed=on"); }
TEST(auto_controller) { check_mixed(NULL, "t1=40 controller=pid"); }
TEST(auto_max_steps) { check_mixed(NULL, "t1=40 max-steps=1500 save=every=5"); }

// A system whose arrays are in the workspace: diffusion, fast and slow.
LONG_DEVICE_TEST(auto_large) {
    static const char text[] =
        "par d=1; init x[1..140]=1; x1'=d*(x2-2*x1); x[2..139]'=d*(x[j-1]-2*x[j]+x[j+1]);"
        "x140'=d*(x139-2*x140)+1";
    static const char *const names[] = {"tsit5", "rodas5p", "auto"};
    const char *inputs[RIG_NAMES] = {"d"};
    struct inputs in = inputs_new(4, inputs);
    struct outcome o[3];
    for (uint64_t i = 0; i < 4; i++)
        in.value[0][i] = i % 2 ? 5000 : 5;
    for (int i = 0; i < 3; i++) {
        char words[64];
        snprintf(words, sizeof words, "method=%s t1=5 vars=x1,x70", names[i]);
        struct rig rig = device_rig(device, text, words);
        o[i] = rig_run(&rig, &in, NULL, 0, NULL);
        rig_free(&rig);
    }
    CHECK_INT(o[2].tally.found_stiff, 2);
    for (uint64_t i = 0; i < 4; i++)
        outcome_same(&o[i % 2], i, &o[2], i, "large");
    for (int i = 0; i < 3; i++)
        outcome_free(&o[i]);
    inputs_free(&in);
}

// A stiff method that cannot: its Jacobian is not a number. Rows that are only stiff are those of
// the first method alone then, to the last count; what that one cannot finish either stays as it
// was.
static const struct component_swap no_jacobian[] = {
    {"jacobian",
     "INLINE void model_linear(real t, const SPACE real *y, const SPACE real *p,"
     " SPACE real *m) {\n    for (int i = 0; i < LINEAR; i++) m[i] = R(NAN_VALUE);\n}\n"},
    {NULL, NULL}};

static void check_back(const char *device, const char *options, uint64_t chunk) {
    struct inputs in = mixed_inputs();
    struct outcome o[2];
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_with(device, i ? "auto" : first, options);
        rig_turn(rig.solver, (struct rig_way){.chunk = i ? chunk : 0});
        rig.solver->runner.how.swap = no_jacobian;
        o[i] = rig_run(&rig, &in, NULL, 0, NULL);
        rig_free(&rig);
    }
    uint64_t steps = 0, back = 0;
    for (uint64_t i = 0; i < in.rows; i++) {
        if (!is_doomed(i))
            outcome_same(&o[0], i, &o[1], i, options);
        else
            CHECK(o[1].status[i] != SHOAL_STATUS_ok);
        steps += o[1].steps[i];
        back += is_stiff(i) && !is_doomed(i);
    }
    CHECK_INT(o[1].tally.steps, steps);
    CHECK_INT(o[1].tally.taken_back, back);
    outcome_free(&o[0]);
    outcome_free(&o[1]);
    inputs_free(&in);
}

DEVICE_TEST(auto_takes_back) { check_back(device, "t1=40 max-steps=1e6", 0); }
LONG_DEVICE_TEST(auto_takes_back_series) { check_back(device, "t1=40 max-steps=1e6 save=n=5", 7); }
// A Jacobian that is too large for any stiff method costs no run: those that are stiff take longer.
LONG_TEST(auto_without_a_jacobian) {
    enum { N = 700 };
    struct buf m = {0};
    buf_puts(&m, "par k=1; s=x0");
    for (int i = 1; i < N; i++)
        buf_printf(&m, "+x%d", i);
    for (int i = 0; i < N; i++)
        buf_printf(&m, ";init x%d=1; x%d'=-k*(x%d-s^2*1e-7)+sin(t+%d)*x%d", i, i, i, i, i * 7 % N);
    struct solved got = solve(m.data, "k=1,1e4", "t1=3 vars=x0,x1");
    struct solved want = solve(m.data, "k=1,1e4", "t1=3 vars=x0,x1 method=tsit5");
    for (uint64_t i = 0; i < 2; i++) {
        CHECK_INT(got.status[i], SHOAL_STATUS_ok);
        CHECK_INT(got.steps[i], want.steps[i]);
        CHECK(solved_last(&got, 0, i) == solved_last(&want, 0, i));
    }
    CHECK_INT(got.tally.steps, want.tally.steps);
    CHECK_INT(got.tally.found_stiff, 0);
    solved_free(&got);
    solved_free(&want);
    buf_free(&m);
}

// Whatever the lanes, the order, the chunks, the memory and the threads are.
LONG_DEVICE_TEST(auto_depends_on_the_row_alone) {
    static const uint64_t chunks[] = {1, 7, 0};
    struct inputs in = mixed_inputs();
    struct rig reference = device_rig_reference(mixed, "method=auto t1=40 save=n=3");
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    struct rig rig = rig_with(device, "auto", "t1=40 save=n=3");
    for (int i = 0; i < 6; i++) {
        rig_turn(rig.solver, (struct rig_way){.chunk = chunks[i % 3],
                                              .refill = i < 3 ? SHOAL_REFILL_ON : SHOAL_REFILL_OFF,
                                              .threads = i < 3 ? 1 : 2});
        struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
        device_same(&want, &got, "chunks, refill");
        CHECK_INT(got.tally.found_stiff, want.tally.found_stiff);
        outcome_free(&got);
    }
    rig_turn(rig.solver,
             (struct rig_way){.memory = 6000, .refill = SHOAL_REFILL_OFF}); // a few rows
    struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
    device_same(&want, &got, "little memory");
    outcome_free(&got);
    rig_turn(rig.solver, (struct rig_way){.refill = SHOAL_REFILL_OFF});
    uint64_t order[ROWS];
    for (uint64_t i = 0; i < ROWS; i++)
        order[i] = i * 37 % ROWS;
    got = rig_run(&rig, &in, order, ROWS, NULL);
    for (uint64_t i = 0; i < ROWS; i++)
        if (!outcome_same(&want, order[i], &got, i, "another order"))
            break;
    outcome_free(&got);
    got = rig_run(&rig, &in, NULL, 0, "4:8,31,58:60");
    static const uint64_t only[] = {4, 5, 6, 7, 31, 58, 59};
    REQUIRE(got.rows == 7);
    for (uint64_t i = 0; i < 7; i++)
        outcome_same(&want, only[i], &got, i, "some runs");
    outcome_free(&got);
    outcome_free(&want);
    rig_free(&rig);
    rig_free(&reference);
    inputs_free(&in);
}

// ---- Every step ---------------------------------------------------------------------------------

static shoal_result *run_steps(struct rig *rig, shoal_batch **batch) {
    shoal_result *result = NULL;
    rig_need(rig, shoal_batch_new(rig->model, batch, rig->log), "batch");
    rig_need(rig, shoal_batch_sweep(*batch, "mu=1,400,2,500,3,1.5", rig->log), "sweep");
    rig_need(rig, shoal_batch_sweep(*batch, "k=0,0.1", rig->log), "sweep");
    rig_need(rig, shoal_solver_run(rig->solver, *batch, &result, rig->log), "run");
    return result;
}

static void same_steps(const shoal_result *want, const shoal_result *got, uint64_t row) {
    uint64_t samples = shoal_result_samples(want, row), differ = 0;
    CHECK_INT(shoal_result_samples(got, row), samples);
    CHECK_INT(shoal_result_status(got, row), shoal_result_status(want, row));
    for (uint64_t i = 0; i < samples; i++) {
        differ += shoal_result_t(want, row, i) != shoal_result_t(got, row, i);
        for (uint32_t v = 0; v < 3; v++)
            differ += shoal_result_value(want, v, row, i) != shoal_result_value(got, v, row, i);
    }
    CHECK_MSG(!differ, "row %d: %d numbers differ", (int)row, (int)differ);
}

// Room is made for the method that finishes the row, whatever another one wrote before it failed.
LONG_DEVICE_TEST(auto_takes_back_every_step) {
    struct rig rig[2];
    shoal_result *result[2];
    shoal_batch *batch[2];
    for (int i = 0; i < 2; i++) {
        rig[i] = rig_with(device, i ? "auto" : "tsit5", "t1=30 save=steps max-steps=1e6");
        rig_turn(rig[i].solver, (struct rig_way){.chunk = 5});
        rig[i].solver->runner.how.swap = no_jacobian;
        result[i] = run_steps(&rig[i], &batch[i]);
    }
    for (uint64_t row = 0; row < 12; row += 2) // the others blow up
        same_steps(result[0], result[1], row);
    for (int i = 0; i < 2; i++) {
        shoal_result_free(result[i]);
        shoal_batch_free(batch[i]);
        rig_free(&rig[i]);
    }
}

DEVICE_TEST(auto_saves_every_step) {
    static const char *const names[] = {"tsit5", "rodas5p", "auto"};
    struct rig rig[3];
    shoal_result *result[3];
    shoal_batch *batch[3];
    for (int i = 0; i < 3; i++) {
        rig[i] = rig_with(device, names[i], "t1=30 save=steps settle=5");
        rig_turn(rig[i].solver, (struct rig_way){.chunk = 5});
        result[i] = run_steps(&rig[i], &batch[i]);
    }
    for (uint64_t row = 0; row < shoal_result_rows(result[2]); row++)
        same_steps(result[row % 2 || row / 2 == 1 || row / 2 == 3], result[2], row);
    CHECK_INT(shoal_result_rows(result[2]), 12);
    CHECK_INT(shoal_result_tally(result[2]).found_stiff, 4);
    CHECK_INT(shoal_result_tally(result[2]).failed_first, 4);
    for (int i = 0; i < 3; i++) {
        shoal_result_free(result[i]);
        shoal_batch_free(batch[i]);
        rig_free(&rig[i]);
    }
}

// ---- What is stiff ------------------------------------------------------------------------------

static const struct {
    const char *text, *options;
    double want[2]; // the first two states
} stiff_problems[] = {
    {"init y1=1;y1'=-0.04*y1+1e4*y2*y3;y2'=0.04*y1-1e4*y2*y3-3e7*y2^2;y3'=3e7*y2^2",
     "t1=1e5 atol=1e-12",
     {1.786592114209946e-2, 7.274751468436319e-8}},
    {"init y1=1,y8=0.0057;y1'=-1.71*y1+0.43*y2+8.32*y3+0.0007;y2'=1.71*y1-8.75*y2;"
     "y3'=-10.03*y3+0.43*y4+0.035*y5;y4'=8.32*y2+1.71*y3-1.12*y4;y5'=-1.745*y5+0.43*(y6+y7);"
     "y6'=-280*y6*y8+0.69*y4+1.71*y5-0.43*y6+0.69*y7;y7'=280*y6*y8-1.81*y7;"
     "y8'=-280*y6*y8+1.81*y7",
     "t1=321.8122 atol=1e-10",
     {0.7371312573325668e-3, 0.1442485726316185e-3}},
    {"const s=77.27,q=8.375e-6,w=0.161;init y1=1,y2=2,y3=3;y1'=s*(y2+y1*(1-q*y1-y2));"
     "y2'=(y3-(1+y1)*y2)/s;y3'=w*(y1-y3)",
     "t1=360 atol=1e-12",
     {1.000814870318522716, 1228.178521549887984}},
    {"const eps=1e-6;init y1=2;y1'=y2;y2'=((1-y1^2)*y2-y1)/eps",
     "t1=2 atol=1e-6",
     {1.706167732170465, -0.8928097010248166}},
};

TEST(auto_stiff_problems) {
    for (size_t i = 0; i < sizeof stiff_problems / sizeof *stiff_problems; i++) {
        struct solved s = solve(stiff_problems[i].text, NULL, "%s", stiff_problems[i].options);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_MSG(s.tally.found_stiff == 1, "problem %zu was not found stiff", i);
        for (uint32_t v = 0; v < 2; v++) {
            double want = stiff_problems[i].want[v];
            CHECK_NEAR(solved_last(&s, v, 0) / want, 1, 1e-4);
        }
        solved_free(&s);
    }
}

// Where stability ends, against what the literature says.
TEST(auto_stability) {
    CHECK_NEAR(method_stability(method_find("euler")), 2, 1e-4);
    CHECK_NEAR(method_stability(method_find("rk4")), 2.7853, 1e-4);
    CHECK_NEAR(method_stability(method_find("dopri5")), 3.3066, 1e-4);
    CHECK_NEAR(method_stability(method_find("tsit5")), 3.5069, 1e-4);
}

// At other tolerances and in f32 too.
TEST(auto_stiff_at_any_tolerance) {
    static const char *const options[] = {"rtol=1e-3", "rtol=1e-5", "rtol=1e-8 atol=1e-11",
                                          "precision=f32 rtol=1e-3", "precision=f32"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct solved s = solve("par mu=1000; init x=2, y=0; x'=y; y'=mu*(1-x^2)*y-x", "mu=1e3,1e6",
                                "t1=500 %s", options[i]);
        CHECK_MSG(s.tally.found_stiff == 2 && s.tally.by_status[SHOAL_STATUS_ok] == 2,
                  "%s: %d found stiff", options[i], (int)s.tally.found_stiff);
        solved_free(&s);
    }
}

static void check_explicit(const char *text, const char *sweep, const char *options) {
    struct solved s = solve(text, sweep, "method=auto %s", options);
    CHECK_MSG(!s.tally.found_stiff && !s.tally.failed_first, "%s: %d stiff, %d failed", options,
              (int)s.tally.found_stiff, (int)s.tally.failed_first);
    solved_free(&s);
}

// Nothing that is not stiff is taken for it, at any tolerance.
LONG_TEST(auto_stays_explicit) {
    static const char *const tolerances[] = {"rtol=1e-3 atol=1e-3", "rtol=1e-6",
                                             "rtol=1e-9 atol=1e-12", "precision=f32",
                                             "precision=f32 rtol=1e-2 atol=1e-2"};
    static const struct {
        const char *text, *sweep, *options;
    } problems[] = {
        {"par r=28; init x=1; x'=10*(y-x); y'=x*(r-z)-y; z'=x*y-8/3*z", "r=lin:0:30:24", "t1=40"},
        {"par mu=1; init x=2; x'=y; y'=mu*(1-x^2)*y-x", "mu=lin:0:5:24", "t1=100"},
        {"par b=3; init x=1,y=1; x'=1+x^2*y-(b+1)*x; y'=b*x-x^2*y", "b=lin:1:4:16", "t1=100"},
        {"par w=1; init x=1; x'=w*y; y'=-w*x", "w=log:0.1:100:16", "t1=50"},
        {"par F=8; init x[1..8]=8, x1=9; x1'=(x2-x7)*x8-x1+F; x2'=(x3-x8)*x1-x2+F;"
         "x[3..7]'=(x[j+1]-x[j-2])*x[j-1]-x[j]+F; x8'=(x1-x6)*x7-x8+F",
         "F=lin:1:16:16", "t1=10"},
    };
    char options[128];
    for (size_t p = 0; p < sizeof problems / sizeof *problems; p++)
        for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++) {
            snprintf(options, sizeof options, "%s %s", problems[p].options, tolerances[i]);
            check_explicit(problems[p].text, problems[p].sweep, options);
        }
}

// The examples, but for the one that is there to be stiff.
LONG_TEST(auto_examples) {
    static const struct {
        const char *path;
        int stiff;
    } examples[] = {{"arenstorf", 0},      {"hodgkin_huxley", 0}, {"lorenz", 0}, {"lorenz96", 0},
                    {"lotka_volterra", 0}, {"pleiades", 0},       {"pollu", 1},  {"vanderpol", 0}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char path[64];
        snprintf(path, sizeof path, "examples/%s.ode", examples[i].path);
        struct check_output o =
            SHOAL("run", path, "--method", "auto", "-o", check_path("o.csv"), "--timing", "none");
        CHECK_INT(o.status, 0);
        CHECK_MSG(!strstr(o.err, "  method ") == !examples[i].stiff, "%s:\n%s", path, o.err);
    }
}

// A short way is not worth another method, however stiff the system is.
TEST(auto_short_way) {
    check_explicit(stiff_problems[0].text, NULL, "t1=0.4");
    check_explicit("par k=1000; init x=0; x'=k*(cos(t)-x)", "k=100,1000", "t1=5");
}

// What fails with the first gets the second; what fails with both says why the second did.
TEST(auto_failures) {
    struct solved s = solve("par k=1; init x=1; x'=k*x^2", "k=1,-1", "t1=2");
    struct solved alone = solve("par k=1; init x=1; x'=k*x^2", "k=1,-1", "t1=2 method=rodas5p");
    CHECK_INT(s.status[0], alone.status[0]);
    CHECK(s.status[0] == SHOAL_STATUS_dt_min || s.status[0] == SHOAL_STATUS_nonfinite);
    CHECK_INT(s.status[1], SHOAL_STATUS_ok);
    CHECK_INT(s.tally.failed_first, 1);
    CHECK_INT(s.tally.found_stiff, 0);
    CHECK_INT(s.tally.failed_ranges, 1);
    CHECK_MSG(s.steps[0] + s.rejected[0] < 10000, "%u steps", s.steps[0] + s.rejected[0]);
    solved_free(&s);
    solved_free(&alone);
    s = solve(mixed, "mu=1000", "t1=1000 max-steps=40"); // before it is looked at
    CHECK_INT(s.status[0], SHOAL_STATUS_max_steps);
    CHECK_INT(s.tally.failed_first, 1);
    solved_free(&s);
    s = solve(mixed, "mu=1000", "t1=200 max-steps=40");
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_INT(s.tally.failed_first, 1);
    solved_free(&s);
    s = solve(mixed, "mu=1000", "t1=200 max-steps=60"); // the first look is enough
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_INT(s.tally.found_stiff, 1);
    solved_free(&s);
}

// ---- The kernels --------------------------------------------------------------------------------

static int count_of(const char *text, const char *part) {
    int n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static const char *lorenz_file(void) {
    const char *path = check_path("lorenz.ode");
    check_write(path, "par r=28\ninit x=1\nx'=10*(y-x)\ny'=x*(r-z)-y\nz'=x*y-8/3*z\n@ t1=5\n");
    return path;
}

static const char *vdp_file(void) {
    const char *path = check_path("vdp.ode");
    check_write(path, "par mu=1\ninit x=2\nx'=y\ny'=mu*(1-x^2)*y-x\n@ t1=100\n");
    return path;
}

// The second kernel is made when it is needed, once.
TEST(auto_kernel_when_needed) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    const char *json = check_path("t.json"), *out = check_path("o.csv");
    struct check_output o =
        SHOAL("run", lorenz_file(), "--sweep", "r=lin:0:28:50", "-o", out, "--timing-json", json);
    CHECK_INT(o.status, 0);
    CHECK_MSG(!strstr(o.err, "  method "), "%s", o.err);
    CHECK_INT(count_of(check_read(json), "\"compile_kernel\""), 1);
    CHECK_INT(kernels_kept(), 1);
    o = SHOAL("run", vdp_file(), "--sweep", "mu=lin:1:1000:50", "--chunk", "10", "-o", out,
              "--timing-json", json);
    CHECK_INT(o.status, 0);
    CHECK_INT(count_of(check_read(json), "\"compile_kernel\""), 2);
    CHECK_HAS(o.err, "; rodas5p ");
    CHECK_INT(kernels_kept(), 3);
    o = SHOAL("run", vdp_file(), "--method", "rodas5p", "-o", out, "--timing", "debug");
    CHECK_HAS(o.err, "\"result\":\"hit\""); // it is the kernel of the method by name
}

TEST(auto_warms_both) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    const char *vdp = vdp_file(), *json = check_path("t.json");
    struct check_output o = SHOAL("warm", vdp);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "vdp.ode, auto: compiled in ");
    CHECK_HAS(o.out, "vdp.ode, rodas5p: compiled in ");
    CHECK_INT(kernels_kept(), 2);
    o = SHOAL("run", vdp, "--sweep", "mu=1,1000", "-o", check_path("o.csv"), "--timing-json", json);
    CHECK_INT(o.status, 0);
    CHECK_INT(count_of(check_read(json), "\"compile_kernel\""), 0);
    o = SHOAL("warm", vdp, "--json");
    CHECK_INT(count_of(o.out, "\"compiled\": false"), 2);
    CHECK_HAS(SHOAL("cache", "explain", vdp).out, "is cached");
    CHECK_HAS(SHOAL("cache", "list", "--json").out, "\"method\": \"auto\"");
    CHECK_INT(SHOAL("cache", "verify", "--recompile").status, 0);
}

// Where there is no choice the kernel is that of the method.
TEST(auto_without_a_choice) {
    static const struct {
        const char *text, *options, *method;
        bool same;
    } cases[] = {{"x'=-x; @ t1=1", "", "tsit5", false},
                 {"x'=-x; @ t1=1", "controller=fixed dt=0.1", "tsit5", true},
                 {"init x[1..16400]=1;x[1..16400]'=-x[j];@ t1=1", "", "tsit5", true},
                 {"init x=1; alg y=1; x'=-y; 0=y-x; @ t1=1", "", "rodas5p", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char key[65], named[65], options[64];
        snprintf(options, sizeof options, "method=%s %s", cases[i].method, cases[i].options);
        key_of(cases[i].text, cases[i].options, key);
        key_of(cases[i].text, options, named);
        CHECK_MSG(!strcmp(key, named) == cases[i].same, "case %zu", i);
    }
}

// A change of the model after the solver was made is not in the kernel that is made later.
TEST(auto_kernel_of_the_model_as_it_was) {
    struct rig rig = rig_new(NULL, "const c=1; par mu=1; init x=2; x'=c*y; y'=c*(mu*(1-x^2)*y-x)",
                             "method=auto t1=50");
    rig_need(&rig, shoal_model_set(rig.model, "c=3", rig.log), "set");
    struct rig alone = rig_new(NULL, "const c=1; par mu=1; init x=2; x'=c*y; y'=c*(mu*(1-x^2)*y-x)",
                               "method=rodas5p t1=50");
    const char *names[RIG_NAMES] = {"mu"};
    struct inputs in = inputs_new(1, names);
    in.value[0][0] = 1000;
    struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
    struct outcome want = rig_run(&alone, &in, NULL, 0, NULL);
    CHECK_INT(got.tally.found_stiff, 1);
    outcome_same(&want, 0, &got, 0, "as it was");
    outcome_free(&got);
    outcome_free(&want);
    rig_free(&rig);
    rig_free(&alone);
    inputs_free(&in);
}

// ---- Words --------------------------------------------------------------------------------------

TEST(auto_is_told) {
    const char *vdp = vdp_file(), *npz = check_path("o.npz");
    struct check_output o = SHOAL("run", vdp, "--sweep", "mu=1,1000,2000,2", "-o", npz);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "  method tsit5 2 runs; rodas5p 2 runs: 2 stiff\n");
    char *bytes = check_read(npz);
    CHECK(bytes);
    o = SHOAL("run", vdp, "--sweep", "mu=1000", "--max-steps", "40", "--t1", "20", "-o",
              check_path("o.csv"));
    CHECK_HAS(o.err, "  method tsit5 0 runs; rodas5p 1 run: 0 stiff, 1 failed with tsit5\n");
    o = SHOAL("run", "--job", npz, "-o", check_path("again.csv")); // with each method's controller
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "rodas5p 2 runs: 2 stiff\n");
    CHECK_HAS(SHOAL("methods").out, "\nauto ");
    CHECK_HAS(SHOAL("info", vdp).out, "one step of rodas5p: ");
    CHECK_HAS(SHOAL("info", vdp, "--json").out, "\"stiff_step\": {");
    CHECK_HAS(SHOAL("source", vdp).out, "DETECT_STIFF");
    CHECK_INT(count_of(SHOAL("source", vdp, "--method", "tsit5").out, "define DETECT_STIFF"), 0);
}

TEST(auto_in_metadata) {
    struct rig rig = rig_new(NULL, "par mu=1; init x=2; x'=y; y'=mu*(1-x^2)*y-x", "t1=5");
    shoal_batch *batch = NULL;
    struct buf meta = {0};
    rig_need(&rig, shoal_batch_new(rig.model, &batch, rig.log), "batch");
    rig_need(&rig, shoal_batch_check(batch, rig.log), "batch");
    solver_meta(rig.solver, batch, &meta);
    CHECK_HAS(meta.data, "\"methods\":\"tsit5 rodas5p\"");
    CHECK_HAS(meta.data, "\"method\":\"auto\"");
    CHECK_MSG(!strstr(meta.data, "\"controller\""), "each method has its own controller");
    buf_free(&meta);
    shoal_batch_free(batch);
    rig_free(&rig);
}

// ---- Progress and stops -------------------------------------------------------------------------

struct seen {
    uint64_t last, calls, total;
    bool back;
};

static void on_progress(const shoal_progress *now, void *user) {
    struct seen *s = user;
    s->back = s->back || now->done < s->last;
    s->last = now->done;
    s->total = now->total;
    s->calls++;
}

LONG_DEVICE_TEST(auto_progress_counts_each_run_once) {
    struct inputs in = mixed_inputs();
    struct rig rig = rig_with(device, "auto", "t1=2000 chunk=20");
    struct seen seen = {0};
    shoal_solver_on_progress(rig.solver, on_progress, &seen);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    CHECK(seen.calls > 0 && !seen.back);
    CHECK_INT(seen.last, ROWS);
    CHECK_INT(seen.total, ROWS);
    outcome_free(&o);
    rig_free(&rig);
    inputs_free(&in);
}

static void *stop_soon(void *solver) {
    usleep(300000);
    shoal_solver_stop(solver);
    return NULL;
}

// The rows that are there are whole: none is what the first method left behind. One chunk: OpenCL
// takes memory for the next only when the kernel before it has ended.
DEVICE_TEST(auto_stop) {
    struct inputs in = mixed_inputs();
    struct rig rig = rig_with(device, "auto", "t1=1e12 max-steps=1000000000");
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, stop_soon, rig.solver) == 0);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    pthread_join(thread, NULL);
    CHECK_INT(o.code, SHOAL_STOPPED);
    CHECK(o.tally.done < ROWS && !o.tally.complete);
    for (uint64_t i = 0; i < ROWS; i++)
        CHECK_MSG(o.status[i] < SHOAL_STATUS_COUNT ? i < o.tally.done
                                                   : o.status[i] == SHOAL_STATUS_PENDING,
                  "row %d is %d", (int)i, o.status[i]);
    outcome_free(&o);
    rig_free(&rig);
    inputs_free(&in);
}

// A stop ends the compilation in the middle of the run; what was finished before is there.
TEST(auto_stop_while_it_compiles) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    const char *vdp = vdp_file(), *begun = check_path("begun"), *out = check_path("o.npz");
    CHECK_INT(SHOAL("warm", vdp).status, 0);
    CHECK_INT(SHOAL("cache", "clear").status, 0);
    char script[512];
    snprintf(script, sizeof script,
             "case \"$*\" in *-###*|*-print-*|*-dM*|*/whole.o*) exec cc \"$@\";; esac; t=%s/$$; "
             "cat > $t; "
             "if grep -q 'define IMPLICIT' $t; then : > %s; exec sleep 60; fi; exec cc \"$@\" < $t",
             check_dir(), begun);
    use_script(script);
    struct check_output o =
        RUN("bash", "-mc",
            "\"$0\" run \"$1\" --sweep mu=1,2,1000,3 --chunk 2 -o \"$3\" & pid=$!; "
            "until [ -e \"$2\" ]; do sleep 0.02; done; kill -INT $pid; wait $pid",
            check_shoal(), vdp, begun, out);
    CHECK_INT(o.status, 128 + 2);
    CHECK_HAS(o.err, "2 of 4 trajectories: 2 ok");
    CHECK(access(out, R_OK) == 0);
}
