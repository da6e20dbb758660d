// SPDX-License-Identifier: MIT
// Fixed steps: every method shows its order, steps lie where they should, and time is exact.
//
// The problem is a rotation in the plane whose speed depends on the radius and on time: nonlinear,
// not autonomous, two states, with a known solution. Errors are kept well above rounding.
#include "check.h"
#include "ode/method/method.h"
#include "solve.h"

static const char rotation[] = "init x=0.6, y=0.9; w=(1+t)*(x^2+y^2); x'=-w*y; y'=w*x; @ t0=0.25";

static double rotation_error(double s, double x, double y) { // s after the start
    double angle = 1.17 * s * (1.25 + s / 2);
    return hypot(x - (0.6 * cos(angle) - 0.9 * sin(angle)),
                 y - (0.6 * sin(angle) + 0.9 * cos(angle)));
}

static double fixed_error(const char *method, const char *precision, double span, double dt) {
    struct solved s = solve( // the tolerances are for iterations
        rotation, NULL,
        "method=%s controller=fixed precision=%s t1=%g dt=%.17g rtol=1e-13 atol=1e-13", method,
        precision, 0.25 + span, dt);
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_NEAR(s.t[0], 0.25 + span, 0);
    double error = rotation_error(span, solved_last(&s, 0, 0), solved_last(&s, 1, 0));
    solved_free(&s);
    return error;
}

// Slope of the error over each halving of the step.
//
// Rounding moves an error by up to 1e-13, so a slope that is to be near the order within 0.2 needs
// errors of 1e-12. In exact arithmetic vern7 has slopes of 6.99 and 7.11 in its window; at steps
// twice as large terms of order 8 still count.
static void check_orders(int halvings) {
    static const struct {
        double span, dt;
    } by_order[] = {{0, 0},      {2, 0x1p-9}, {2, 0x1p-6}, {2, 0x1p-5}, {2, 0x1p-5},
                    {2, 0x1p-6}, {0, 0},      {6, 0.04},   {3, 0x1p-3}, {6, 0x1p-3}};
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        REQUIRE(m.order < sizeof by_order / sizeof *by_order && by_order[m.order].dt > 0);
        double span = by_order[m.order].span, dt = by_order[m.order].dt;
        double near = 0.2;
        if (m.stability[0] && m.order < 5) // these show it later
            span /= 2, dt /= 4;
        if (!strcmp(m.name, "vern9")) // whose terms of orders 10 and 11 reach down to rounding
            span = 3, dt = 0.15, near = 1;
        double error = fixed_error(m.name, "f64", span, dt);
        for (int k = 1; k <= halvings; k++) {
            double before = error;
            error = fixed_error(m.name, "f64", span, ldexp(dt, -k));
            if (k > 1 && method_find(m.name)->scheme >= DIRK && error < 5e-11)
                continue; // what iterations leave undone adds up to that
            CHECK_MSG(fabs(log2(before / error) - m.order) < near, "%s: slope %.3f from %g to %g",
                      m.name, log2(before / error), before, error);
        }
        CHECK_MSG(error > 2e-13, "%s: error %g is rounding", m.name, error);
    }
}

TEST(accuracy_order_of_every_method) { check_orders(1); }
LONG_TEST(accuracy_order_over_two_halvings) { check_orders(2); }

// The rotation turns an error of the radius into 9 times as much of the angle.
TEST(accuracy_f32_is_at_rounding) {
    CHECK(fixed_error("rk4", "f32", 2, 0x1p-6) < 1e-5);
    CHECK(fixed_error("dop853", "f32", 2, 0x1p-4) < 1e-5);
    CHECK(fixed_error("tsit5", "f32", 2, 0x1p-5) < 1e-5);
}

// A million steps in f32. Were time a plain f32, each step past t=512 would be rounded to a
// multiple of 6e-5, and time would be off by whole units in the end.
TEST(accuracy_f32_time_does_not_drift) {
    struct solved s = solve("x'=cos(t); init x=0; aux clock=t; @ t1=1000, dt=1e-3", NULL,
                            "method=rk4 precision=f32 vars=x,clock save=n=11");
    for (uint64_t i = 0; i < 11; i++) {
        CHECK_NEAR(s.t[i], 100.0 * (double)i, 0);
        CHECK_NEAR(solved_value(&s, 1, 0, i), 100.0 * (double)i, 0);
        CHECK_NEAR(solved_value(&s, 0, 0, i), sin(100.0 * (double)i), 1e-3);
    }
    CHECK_INT(s.steps[0], 1000000);
    solved_free(&s);
}

// Fixed steps end where they should to the last bits, in both precisions, though dt is no f32.
TEST(accuracy_step_times) {
    static const char *const precisions[] = {"f64", "f32"};
    for (int p = 0; p < 2; p++) {
        struct solved s = solve_steps("x'=1; init x=0; @ t0=-1, t1=99.05, dt=0.1",
                                      "method=euler save=steps precision=%s", precisions[p]);
        CHECK_INT(s.samples, 1002);
        for (uint64_t i = 0; i + 1 < s.samples; i++)
            CHECK_NEAR(s.t[i], -1 + (double)i * 0.1, p ? 1e-11 : 1e-14);
        CHECK_NEAR(s.t[s.samples - 1], 99.05, p ? 1e-12 : 0);
        solved_free(&s);
    }
}

TEST(accuracy_step_counts) {
    static const struct {
        double t1, dt;
        uint32_t steps;
    } cases[] = {
        {1, 0.1, 10},
        {0.3, 0.1, 3},                 // 2.9999999999999996 by division
        {1, 0.3, 4},                   // the last is shorter
        {1, 1.0 / 3, 3},               // no fourth step of 1e-16
        {1, 7, 1},                     // longer than the whole run
        {1, 1.0 / 7 * (1 - 1e-10), 8}, // really one more
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct solved s = solve("x'=2*t; init x=5", NULL, "method=midpoint t1=%.17g dt=%.17g",
                                cases[i].t1, cases[i].dt);
        CHECK_INT(s.steps[0], cases[i].steps);
        CHECK_INT(s.rejected[0], 0);
        CHECK_INT(s.f_evals[0], 2 * cases[i].steps);
        CHECK_NEAR(s.t[0], cases[i].t1, 0);
        CHECK_NEAR(solved_value(&s, 0, 0, 0), 5 + cases[i].t1 * cases[i].t1, 1e-14);
        solved_free(&s);
    }
}

// f_evals: an FSAL method saves one stage a step, and needs one at the start; the automatic first
// step takes one more beyond f(t0, y0).
TEST(accuracy_evaluations_are_counted) {
    static const struct {
        const char *options;
        uint32_t per_attempt, once;
    } cases[] = {
        {"method=euler dt=0.01", 1, 0},
        {"method=rk4 dt=0.01", 4, 0},
        {"method=bs32 controller=fixed dt=0.01", 3, 1},
        {"method=heun-21 dt0=0.1", 2, 0},
        {"method=heun-21", 2, 2},
        {"method=dopri5 dt0=10", 6, 1},
        {"method=dopri5", 6, 2},
        {"method=vern7", 10, 2},
        {"method=dop853 dt0=1", 12, 1},
        {"method=vern9", 16, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct solved s = solve(rotation, "x(0)=lin:-1:1:21", "%s t1=3", cases[i].options);
        uint64_t f_evals = 0;
        for (uint64_t r = 0; r < s.rows; r++) {
            uint32_t attempts = s.steps[r] + s.rejected[r];
            CHECK_MSG(s.f_evals[r] == attempts * cases[i].per_attempt + cases[i].once,
                      "%s: %u attempts, %llu evaluations", cases[i].options, attempts,
                      (unsigned long long)s.f_evals[r]);
            f_evals += s.f_evals[r];
        }
        CHECK_INT(s.tally.f_evals, f_evals);
        solved_free(&s);
    }
}

// A row's bits do not depend on its neighbours, the refill, or the number of threads.
TEST(accuracy_rows_are_independent) {
    static const char *const ways[] = {"refill=on threads=1", "refill=off threads=1",
                                       "refill=on threads=3"};
    static const char model[] = "par a=1; init x=1, y=0; x'=y; y'=a*(1-x^2)*y-x; @ t1=10";
    struct solved first = solve(model, "a=lin:0:20:101", "%s", ways[0]);
    for (int w = 1; w < 3; w++) {
        struct solved s = solve(model, "a=lin:0:20:101", "%s", ways[w]);
        CHECK_MSG(!memcmp(s.values, first.values, sizeof(double) * s.rows * s.vars), "%s", ways[w]);
        CHECK_MSG(!memcmp(s.steps, first.steps, sizeof *s.steps * s.rows), "%s", ways[w]);
        CHECK_MSG(!memcmp(s.f_evals, first.f_evals, sizeof *s.f_evals * s.rows), "%s", ways[w]);
        solved_free(&s);
    }
    struct solved alone = solve(model, "a=12", "refill=auto");
    CHECK_NEAR(solved_value(&alone, 0, 0, 0), solved_value(&first, 0, 60, 0), 0);
    CHECK_INT(alone.steps[0], first.steps[60]);
    solved_free(&alone);
    solved_free(&first);
}
