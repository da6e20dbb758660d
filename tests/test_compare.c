// SPDX-License-Identifier: MIT
// Methods at an equal error: what is said of each is true of a run with its tolerances.
#include "check.h"
#include "shoal/shoal.h"

struct field {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_comparison out;
    shoal_code code;
};

static struct field compare(const char *text, const char *sweep, double t1, double rtol) {
    struct field f = {.log = shoal_log_new()};
    REQUIRE(shoal_model_parse("m.ode", text, strlen(text), &f.model, f.log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&f.options, f.model, f.log) == SHOAL_OK);
    REQUIRE(shoal_batch_new(f.model, &f.batch, f.log) == SHOAL_OK);
    REQUIRE(!sweep || shoal_batch_sweep(f.batch, sweep, f.log) == SHOAL_OK);
    f.options.t1 = t1;
    f.options.rtol = rtol;
    f.options.atol = rtol;
    f.code = shoal_compare_methods(f.model, &f.options, f.batch, &f.out, f.log);
    return f;
}

static void field_free(struct field *f) {
    shoal_batch_free(f->batch);
    shoal_model_free(f->model);
    shoal_log_free(f->log);
}

// x = sin(w t), v = w cos(w t): the error of a run with a rank's tolerances, in its norm.
static double oscillator_error(struct field *f, const shoal_rank *rank) {
    shoal_solver *solver = NULL;
    shoal_result *r = NULL;
    shoal_options o = f->options;
    double sum = 0, t = o.t1;
    o.method = rank->method;
    o.rtol = rank->rtol;
    o.atol = rank->atol;
    REQUIRE(shoal_solver_new(f->model, &o, &solver, f->log) == SHOAL_OK);
    REQUIRE(shoal_solver_run(solver, f->batch, &r, f->log) == SHOAL_OK);
    uint64_t rows = shoal_result_rows(r);
    for (uint64_t i = 0; i < rows; i++) {
        double w = shoal_batch_value(f->batch, 0, i);
        double x = (shoal_result_value(r, 0, i, 0) - sin(w * t)) / (1 + fabs(sin(w * t)));
        double v = (shoal_result_value(r, 1, i, 0) - w * cos(w * t)) / (1 + fabs(w * cos(w * t)));
        sum += x * x + v * v;
    }
    shoal_result_free(r);
    shoal_solver_free(solver);
    return sqrt(sum / (2 * (double)rows));
}

LONG_TEST(compare_oscillator) {
    struct field f =
        compare("par w=1\ninit x=0\nv(0)=w\nx'=v\nv'=-w*w*x\n", "w=lin:0.5:2:40", 20, 1e-6);
    REQUIRE(f.code == SHOAL_OK);
    CHECK_INT(f.out.runs, 40);
    CHECK(f.out.agreement < 1e-7);
    CHECK(f.out.count > 20);
    for (uint32_t i = 0; i < f.out.count; i++) {
        const shoal_rank *rank = &f.out.rank[i];
        CHECK_MSG(!*rank->why || !strcmp(rank->method, "heun-21"), "%s %s", rank->method,
                  rank->why);
        if (*rank->why)
            continue;
        CHECK(rank->error <= 1e-6);
        CHECK(!i || rank->seconds >= f.out.rank[i - 1].seconds);
        double error = oscillator_error(&f, rank);
        CHECK_MSG(fabs(error - rank->error) < 1e-8 + 0.01 * error, "%s: %g, not %g", rank->method,
                  error, rank->error);
    }
    field_free(&f);
}

// A stiff problem: explicit methods are slower, or take no part.
// What a first run pays for threads is no time of a method: on a batch that takes microseconds none
// is a hundred times slower than another.
LONG_TEST(compare_one_run) {
    struct field f = compare("par k=1\ninit x=1\nx'=k-x*x/4\n", NULL, 2, 1e-6);
    REQUIRE(f.code == SHOAL_OK);
    CHECK_INT(f.out.runs, 1);
    for (uint32_t i = 0; i < f.out.count; i++)
        CHECK_MSG(*f.out.rank[i].why || f.out.rank[i].seconds < 20 * f.out.rank[0].seconds,
                  "%s: %g s, %s: %g s", f.out.rank[i].method, f.out.rank[i].seconds,
                  f.out.rank[0].method, f.out.rank[0].seconds);
    field_free(&f);
}

LONG_TEST(compare_stiff) {
    struct field f = compare("par mu=1000\ninit x=2\nx'=v\nv'=mu*((1-x*x)*v)-x\n",
                             "mu=lin:900:1000:16", 200, 1e-5);
    REQUIRE(f.code == SHOAL_OK);
    const char *parts[2] = {""};
    REQUIRE(shoal_method_parts(f.out.rank[0].method, parts));
    for (uint32_t i = 0; i < shoal_method_count(); i++)
        if (!strcmp(shoal_method_at(i).name, parts[0]))
            CHECK_MSG(*shoal_method_at(i).stability || !strcmp(f.out.rank[0].method, "auto"),
                      "%s is first", parts[0]);
    field_free(&f);
}

// Nobody knows where a chaotic system is after a long time.
TEST(compare_chaos) {
    struct field f =
        compare("init x=1,y=1,z=1\nx'=10*(y-x)\ny'=x*(28-z)-y\nz'=x*y-8/3*z\n", NULL, 80, 1e-6);
    CHECK_INT(f.code, SHOAL_INPUT);
    CHECK_HAS(shoal_log_message(f.log, 0).text, "there is no reference to measure errors against");
    field_free(&f);
}

TEST(compare_refuses) {
    struct field f = compare("x'=-x\ninit x=1\n", NULL, 1, 0);
    CHECK_INT(f.code, SHOAL_INPUT);
    CHECK_HAS(shoal_log_message(f.log, 0).text, "above 0");
    CHECK_INT(shoal_compare_methods(NULL, &f.options, f.batch, &f.out, f.log), SHOAL_USAGE);
    field_free(&f);
}

TEST(compare_needs_a_model) {
    struct check_output o = RUN(check_shoal(), "calibrate", "--methods");
    CHECK_INT(o.status, 2);
    CHECK_HAS(o.err, "--methods compares methods on a model");
}

LONG_TEST(compare_on_the_command_line) {
    check_write(check_path("m.ode"), "par a=1\ninit x=1\nx'=-a*x\n@ t1=3\n");
    struct check_output o = RUN(check_shoal(), "calibrate", check_path("m.ode"), "--methods",
                                "--sweep", "a=lin:1:2:50", "--rtol", "1e-5");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "50 runs, each method at an error of at most 1e-05");
    CHECK_HAS(o.out, "\ntake --method ");
}
