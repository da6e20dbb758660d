// SPDX-License-Identifier: MIT
// A first result that comes soon: which runs will be stiff is foreseen, and kernels that are
// compiled in a hurry give the bits of those that take their place.
#include "check.h"
#include "device_test.h"
#include "kernels.h"
#include "ode/run/foresee.h"
#include "rig.h"

#include <sys/wait.h>
#include <unistd.h>

OWN_CACHE

static const char stiff_model[] = "par mu=500;init x=2,v=0;x'=v;v'=mu*(1-x*x)*v-x;@ t1=500";

// ---- What is foreseen ---------------------------------------------------------------------------

static bool foresees(const char *text) {
    struct made m = make_solver(text, "device=cpu", true, NULL);
    REQUIRE(m.solver);
    bool stiff = foresee_stiff(m.solver->plan, api_system(m.solver->model, NULL));
    made_free(&m);
    return stiff;
}

TEST(soon_foresees_stiff_runs) {
    CHECK(foresees(stiff_model));
    CHECK(foresees("init a=1,b=0,c=0;a'=-0.04*a+1e4*b*c;b'=0.04*a-1e4*b*c-3e7*b*b;c'=3e7*b*b;"
                   "@ t1=1000"));
    CHECK(foresees("par k=1000;!r=k*2;init x=r/k;x'=-r*(x-cos(t));@ t1=100")); // by formulas
}

TEST(soon_foresees_others) {
    CHECK(!foresees("par rho=28;init x=1,y=1,z=1;x'=10*(y-x);y'=x*(rho-z)-y;z'=x*y-8/3*z;@ t1=40"));
    CHECK(!foresees("init x=1,v=0;x'=v;v'=-x;@ t1=10000"));
    CHECK(!foresees("init x=1;x'=-1000*x;@ t1=1")); // a short way
    CHECK(!foresees("init x=1;x'=1/(x-x);@ t1=1000"));
    CHECK(!foresees("init x=0;x'=0;@ t1=1000"));
    CHECK(!foresees(
        "init x=1;x'=-1000*x+z;alg z=1;0=x-z*z*z;@ t1=1000")); // one method from the start
    CHECK(!foresees("init x=1;x'=-1000*(x-cos(t));@ t1=100,method=tsit5"));
    CHECK(!foresees("init x=1e300;x'=x*x;@ t1=100"));
}

// ---- Kernels in a hurry -------------------------------------------------------------------------

static shoal_solver *solver_of(const struct made *m, bool soon) {
    shoal_solver *s = NULL;
    shoal_options o = m->options;
    o.soon = soon;
    REQUIRE(shoal_solver_new(m->model, &o, &s, m->log) == SHOAL_OK);
    return s;
}

static shoal_result *rows_of(const struct made *m, shoal_solver *s) {
    shoal_batch *batch = NULL;
    shoal_result *result = NULL;
    REQUIRE(!shoal_batch_new(m->model, &batch, m->log));
    REQUIRE(!shoal_batch_sweep(batch, "mu=lin:1:600:40", m->log));
    REQUIRE(!shoal_solver_run(s, batch, &result, m->log));
    shoal_batch_free(batch);
    return result;
}

static void check_same(const shoal_result *a, const shoal_result *b) {
    for (uint64_t row = 0; row < shoal_result_rows(a); row++)
        for (uint32_t v = 0; v < 2; v++) {
            double x = shoal_result_value(a, v, row, 0), y = shoal_result_value(b, v, row, 0);
            CHECK_MSG(!memcmp(&x, &y, sizeof x), "row %d", (int)row);
        }
    CHECK_INT(shoal_result_tally(a).steps, shoal_result_tally(b).steps);
    CHECK_INT(shoal_result_tally(a).found_stiff, shoal_result_tally(b).found_stiff);
    CHECK(shoal_result_tally(a).found_stiff > 20);
}

// Both kernels are there before a row has run; they give way to others while the solver is used.
TEST(soon_kernels_are_replaced) {
    struct made m = make_solver(stiff_model, "device=cpu", true, NULL);
    shoal_solver *s = solver_of(&m, true);
    struct runner *r = &s->runner;
    CHECK(r->kernel[PLAN_FIRST].hurried && r->kernel[PLAN_STIFF].hurried);
    CHECK_STR(r->kernel[PLAN_FIRST].key, m.solver->runner.kernel[PLAN_FIRST].key);
    shoal_result *first = rows_of(&m, s);
    for (int i = 0; i < 1000 && runner_is_hurried(r); i++) {
        usleep(10000);
        shoal_result *next = rows_of(&m, s);
        check_same(first, next);
        shoal_result_free(next);
    }
    CHECK(!runner_is_hurried(r));
    CHECK_STR(r->kernel[PLAN_STIFF].kernel->key, r->kernel[PLAN_STIFF].key);
    for (int i = 0; i < 1000 && kernels_kept() < 4; i++) // one is used before it is kept
        usleep(10000);
    CHECK_INT(kernels_kept(), 4);
    shoal_solver *plain = solver_of(&m, false); // which finds them
    CHECK(shoal_solver_cached(plain));
    shoal_result *want = rows_of(&m, plain);
    check_same(want, first);
    CHECK_INT(kernels_kept(), 4);
    shoal_result_free(want);
    shoal_result_free(first);
    shoal_solver_free(plain);
    shoal_solver_free(s);
    made_free(&m);
}

// A warm solver has none; a copy of the process ends without waiting for threads that it has not.
TEST(soon_warm_and_fork) {
    struct made m = make_solver(stiff_model, "device=cpu method=rodas4", true, NULL);
    shoal_solver *s = solver_of(&m, true);
    shoal_batch *batch = NULL;
    CHECK(s->runner.kernel[PLAN_FIRST].hurried);
    int status = 1;
    pid_t child = fork();
    if (!child)
        exit(0);
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    REQUIRE(!shoal_batch_new(m.model, &batch, m.log));
    CHECK_INT(shoal_solver_warm(s, batch, m.log), SHOAL_OK);
    CHECK(!runner_is_hurried(&s->runner));
    CHECK_INT(kernels_kept(), 2);
    shoal_batch_free(batch);
    shoal_solver_free(s);
    made_free(&m);
}

// Runs until no kernel is a hurried one, for a minute at most.
static bool becomes_fast(const struct made *m, shoal_solver *s) {
    for (int i = 0; i < 600 && runner_is_hurried(&s->runner); i++) {
        usleep(100000);
        shoal_result_free(rows_of(m, s));
    }
    return !runner_is_hurried(&s->runner);
}

// A copy of the process has no thread that compiles; it asks for what the other has made.
TEST(soon_copy_gets_fast_kernels) {
    struct made m = make_solver(stiff_model, "device=cpu method=ros3p", true, NULL);
    shoal_solver *s = solver_of(&m, true);
    CHECK(s->runner.kernel[PLAN_FIRST].hurried);
    int status = 1;
    pid_t child = fork();
    if (!child)
        _exit(becomes_fast(&m, s) ? 0 : 1);
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(becomes_fast(&m, s));
    CHECK_INT(kernels_kept(), 2);
    shoal_solver_free(s);
    made_free(&m);
}

// More solvers than threads that compile.
TEST(soon_all_become_fast) {
    static const char *const methods_of[] = {"ros3p", "rodas3p", "rosenbrock23", "rodas4",
                                             "trbdf2"};
    enum { COUNT = sizeof methods_of / sizeof *methods_of };
    struct made m[COUNT];
    shoal_solver *s[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char options[64];
        snprintf(options, sizeof options, "device=cpu method=%s", methods_of[i]);
        m[i] = make_solver(stiff_model, options, true, NULL);
        s[i] = solver_of(&m[i], true);
        CHECK(s[i]->runner.kernel[PLAN_FIRST].hurried);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK_MSG(becomes_fast(&m[i], s[i]), "%s", methods_of[i]);
        shoal_solver_free(s[i]);
        made_free(&m[i]);
    }
    CHECK_INT(kernels_kept(), 2 * COUNT);
}

// Kernels that were compiled in a hurry are checked as such.
TEST(soon_kernels_can_be_verified) {
    struct made m = make_solver(stiff_model, "device=cpu method=ros3p", true, NULL);
    shoal_solver *s = solver_of(&m, true);
    shoal_cache *cache = NULL;
    shoal_cache_check check;
    CHECK(becomes_fast(&m, s));
    REQUIRE(!shoal_cache_open(NULL, &cache, m.log));
    CHECK_INT(shoal_cache_verify(cache, true, NULL, NULL, &check, m.log), SHOAL_OK);
    CHECK_INT(check.recompiled, 2);
    CHECK_INT(check.stale + check.bad + check.differ, 0);
    shoal_cache_close(cache);
    shoal_solver_free(s);
    made_free(&m);
}

// Nothing is hurried where bits could differ, or nobody would have the other.
TEST(soon_is_not_for_all) {
    static const char *const options[] = {"device=cpu method=bs3",
                                          "device=cpu method=ros3p fast-math=on"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct made m = make_solver("init x=1;x'=-x;@ t1=1", options[i], true, NULL);
        shoal_solver *s = solver_of(&m, true);
        CHECK_MSG(!s->runner.kernel[PLAN_FIRST].hurried, "%s", options[i]);
        shoal_solver_free(s);
        made_free(&m);
    }
}

// ---- Bits ---------------------------------------------------------------------------------------

// The kernel of a rig, compiled in a hurry.
static void hurry(struct rig *rig) {
    char *source = rig_source(rig);
    struct shoal_kernel_text k = {.text = source,
                                  .length = strlen(source),
                                  .needs_sleef = strstr(source, "Sleef_") != NULL,
                                  .needs_mvec = strstr(source, "_ZGV") != NULL,
                                  .hurried = true};
    rig_replace_text(rig, &k);
    free(source);
}

static void check_bits(const char *target, const char *text, const char *options) {
    const char *names[RIG_NAMES] = {"a"};
    struct inputs in = inputs_new(50, names);
    for (uint64_t i = 0; i < in.rows; i++)
        in.value[0][i] = 0.1 + 0.05 * (double)i;
    struct rig rig = rig_new(target, text, options);
    struct outcome want = rig_run(&rig, &in, NULL, 0, NULL);
    hurry(&rig);
    struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
    for (uint64_t i = 0; i < in.rows; i++)
        if (!outcome_same(&want, i, &got, i, options))
            break;
    outcome_free(&want);
    outcome_free(&got);
    rig_free(&rig);
    inputs_free(&in);
}

// Every method, with functions, samples, events and summaries, in each precision and target.
LONG_TEST(soon_bits_of_methods) {
    static const char text[] =
        "par a=1;init x=1,y=0.2,z=0.5;x'=-a*x+sin(y)*z;y'=exp(-x*x)*a-20*y+cos(t);"
        "z'=x*y/(1+z*z)-z^1.3+log(2+x);aux q=x*y;event e when y>0.1 : z=z*0.9;@ t1=6";
    static const char *const more[] = {"",
                                       "save=n=5",
                                       "precision=f32",
                                       "summary=max(x),mean(y)",
                                       "precision=f32 save=n=4",
                                       "compensate=on counters=on"};
    static const char *const targets[] = {NULL, "x86-64-v3", "scalar"};
    enum { MORE = sizeof more / sizeof *more };
    for (uint32_t i = 0; i < method_count; i++)
        for (int t = 0; t < 3; t++) {
            char options[256];
            if (targets[t] && !rig_has_target(targets[t]))
                continue;
            snprintf(options, sizeof options, "method=%s device=cpu %s %s", methods[i].name,
                     methods[i].embedded ? "" : "dt=0.01", more[(i + (uint32_t)t) % MORE]);
            check_bits(targets[t], text, options);
        }
}

// Where there is a compiler that hurries; elsewhere the same kernel runs twice.
DEVICE_TEST(soon_bits) {
    static const char text[] =
        "par a=1;init x=1,y=0.2,z=0.5;x'=-a*x+sin(y)*z;y'=exp(-x*x)*a-20*y+cos(t);"
        "z'=x*y/(1+z*z)-z^1.3+log(2+x)+sqrt(1+x*x)/(2+y);aux q=x*y;@ t1=6";
    static const char *const more[] = {"method=rodas5p", "method=ros3p save=n=5",
                                       "method=kvaerno3 summary=max(x),mean(y)",
                                       "method=radau-iia-5", "method=tsit5 precision=f32"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char options[256];
        snprintf(options, sizeof options, "device=%s %s", device, more[i]);
        check_bits(NULL, text, options);
    }
}
