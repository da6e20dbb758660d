// SPDX-License-Identifier: MIT
// Samples: between steps they have the accuracy of the method's interpolant, at the ends they are
// exact, and asking for them changes a step only where an implicit method's interpolant would be
// off.
#include "check.h"
#include "solve.h"

static const char rotation[] = "init x=0.6, y=0.9; w=(1+t)*(x^2+y^2); x'=-w*y; y'=w*x; @ t0=0.25";

static double rotation_error(double t, double x, double y) {
    double s = t - 0.25, angle = 1.17 * s * (1.25 + s / 2);
    return hypot(x - (0.6 * cos(angle) - 0.9 * sin(angle)),
                 y - (0.6 * sin(angle) + 0.9 * cos(angle)));
}

static double worst_error(const struct solved *s) {
    double worst = 0;
    for (uint64_t i = 0; i < s->samples; i++) {
        double error = rotation_error(s->t[i], solved_value(s, 0, 0, i), solved_value(s, 1, 0, i));
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

// Order of the largest error over samples that lie anywhere in their steps, over all halvings: that
// of the method, but no more than what its interpolant can do.
static void check_orders(int halvings) {
    static const struct {
        const char *method;
        double t1, dt, order;
    } cases[] = {
        {"euler", 2.25, 0x1p-9, 1},
        {"midpoint", 2.25, 0x1p-6, 2},
        {"heun-21", 2.25, 0x1p-6, 2},
        {"ralston-33", 2.25, 0x1p-5, 3},
        {"bs32", 2.25, 0x1p-5, 3},
        {"rk4", 2.25, 0x1p-5, 4},
        {"fehlberg-45", 2.25, 0x1p-5, 4},
        {"ck54", 2.25, 0x1p-5, 4},
        {"dopri5", 2.25, 0x1p-5, 5},
        {"tsit5", 2.25, 0x1p-5, 5},
        {"vern7", 3.25, 0x1p-4, 7},
        {"dop853", 3.25, 0x1p-3, 8},
        {"vern9", 3.25, 0x1p-2, 9},
        {"ode23s", 2.25, 0x1p-8, 2},
        {"ros3p", 2.25, 0x1p-7, 3},
        {"rodas3p", 2.25, 0x1p-7, 3},
        {"rodas4", 2.25, 0x1p-7, 4},
        {"rodas5p", 2.25, 0x1p-6, 5},
        {"backward-euler", 2.25, 0x1p-9, 1},
        {"cn", 2.25, 0x1p-7, 2},
        {"gauss-legendre-2", 2.25, 0x1p-7, 2},
        {"sdirk-2-2", 2.25, 0x1p-7, 2},
        {"trbdf2", 2.25, 0x1p-7, 2},
        {"kvaerno3", 2.25, 0x1p-7, 3},
        {"sdirk4", 2.25, 0x1p-6, 4},
        {"kvaerno5", 2.25, 0x1p-6, 4},
        {"gauss-legendre-4", 2.25, 0x1p-6, 3},
        {"radau3", 2.25, 0x1p-6, 3},
        {"gauss-legendre-8", 2.25, 0x1p-4, 5},
        {"radau5", 2.25, 0x1p-6, 4},
        {"radau9", 2.25, 0x1p-3, 6},
    };
    CHECK_INT(shoal_method_count(), sizeof cases / sizeof *cases);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double first = 0, error = 0;
        if (!check_does(i, 1, 2)) // the others are dense_saving_changes_nothing's
            continue;
        for (int k = 0; k <= halvings; k++) {
            struct solved s =
                solve(rotation, NULL,
                      "method=%s controller=fixed t1=%g dt=%.17g save=n=998 rtol=1e-12 atol=1e-12",
                      cases[i].method, cases[i].t1, ldexp(cases[i].dt, -k));
            error = worst_error(&s);
            first = k ? first : error;
            CHECK_MSG(!k || log2(first / error) > k * (cases[i].order - 0.3),
                      "%s: slope %.3f from %g to %g", cases[i].method, log2(first / error) / k,
                      first, error);
            solved_free(&s);
        }
    }
}

TEST(dense_order_of_every_method) { check_orders(1); }
LONG_TEST(dense_order_over_two_halvings) { check_orders(2); }

static bool has_own_interpolant(const shoal_method_info *m) {
    return strcmp(m->interpolant, "cubic Hermite") != 0;
}

// Saving changes neither the steps nor the end, bit for bit, and both ends of the grid are exact.
// What an interpolant adds to the error is little where the method has its own.
TEST(dense_saving_changes_nothing) {
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        const char *how = m.embedded_order ? "rtol=1e-6 atol=1e-6" : "dt=0.0013";
        if (!check_does(i, 0, 4))
            continue;
        struct solved end = solve(rotation, NULL, "method=%s t1=2 %s", m.name, how);
        struct solved s = solve(rotation, NULL, "method=%s t1=2 %s save=n=102", m.name, how);
        CHECK_INT(s.steps[0], end.steps[0]);
        CHECK_INT(s.rejected[0], end.rejected[0]);
        CHECK(s.f_evals[0] >= end.f_evals[0]);
        CHECK_INT(s.samples, 102);
        CHECK_NEAR(s.t[0], 0.25, 0);
        CHECK_NEAR(s.t[101], 2, 0);
        CHECK_NEAR(solved_value(&s, 0, 0, 0), 0.6, 0);
        CHECK_NEAR(solved_value(&s, 1, 0, 0), 0.9, 0);
        CHECK_NEAR(solved_last(&s, 0, 0), solved_last(&end, 0, 0), 0);
        CHECK_NEAR(solved_last(&s, 1, 0), solved_last(&end, 1, 0), 0);
        double error = rotation_error(2, solved_last(&end, 0, 0), solved_last(&end, 1, 0));
        CHECK_MSG(worst_error(&s) < (has_own_interpolant(&m) ? 10 : 100) * error,
                  "%s: error %g between steps, %g at the end", m.name, worst_error(&s), error);
        solved_free(&s);
        solved_free(&end);
    }
}

// What follows cos t at the rate k, or, as an algebraic state, without delay: how many tolerances a
// row's samples are off.
static double following_error(const struct solved *s, uint64_t row, double k, double tol) {
    double worst = 0;
    for (uint64_t i = 0; i < s->samples; i++) {
        double t = s->t[i],
               want = (cos(t) + sin(t) / k + exp(-k * t) / (k * k)) / (1 + 1 / (k * k));
        double error = fabs(solved_value(s, 0, row, i) - want) / (tol + tol * fabs(want));
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

// It is right at the ends of steps as long as its period; samples between them are, too. Methods
// that do not damp are right at the ends by the same means.
TEST(dense_of_what_follows_at_once) {
    static const double rates[] = {1e4, 1e6, 1e8};
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        if (!*m.stability || !m.embedded_order || !check_does(i, 0, 3))
            continue;
        struct solved s =
            solve("par k=1; init x=1; x'=-k*(x-cos(t))", "k=1e4,1e6,1e8",
                  "method=%s t1=20 rtol=1e-5 atol=1e-5 save=n=201 max_steps=1000000", m.name);
        for (uint64_t k = 0; k < 3; k++) {
            double error = following_error(&s, k, rates[k], 1e-5);
            CHECK_MSG(error < 12, "%s at %g: %g tolerances", m.name, rates[k], error);
        }
        solved_free(&s);
    }
}

TEST(dense_of_what_follows_without_delay) {
    static const char *const methods[] = {"rodas5p", "radau5", "kvaerno5"};
    for (size_t i = 0; i < 3; i++) {
        struct solved s = solve("alg x=1; 0=x-cos(t); init y=1; y'=-y", NULL,
                                "method=%s t1=20 rtol=1e-6 atol=1e-6 save=n=201", methods[i]);
        double error = following_error(&s, 0, (double)INFINITY, 1e-6);
        CHECK_MSG(error < 12, "%s: %g tolerances", methods[i], error);
        solved_free(&s);
    }
}

// Rows of degree 9 in powers of s would lose five digits between steps, all of those f32 has left.
TEST(dense_high_degree_keeps_digits) {
    struct solved s = solve(rotation, NULL, "method=vern9 t1=2.25 rtol=1e-13 atol=1e-13 save=n=99");
    CHECK_MSG(worst_error(&s) < 3e-14, "error %g between steps", worst_error(&s));
    solved_free(&s);
    s = solve(rotation, NULL, "method=vern9 t1=2.25 precision=f32 rtol=1e-6 save=n=99");
    CHECK_MSG(worst_error(&s) < 1e-5, "error %g between steps in f32", worst_error(&s));
    solved_free(&s);
}

// A grid far finer than the steps, which cost no evaluation each.
TEST(dense_many_samples_in_a_step) {
    struct solved s = solve(rotation, NULL, "method=dop853 t1=2.25 rtol=1e-4 save=n=20001");
    CHECK_MSG(s.steps[0] < 15, "%u steps", s.steps[0]);
    CHECK(s.f_evals[0] <= 12 * (s.steps[0] + s.rejected[0]) + 3 * s.steps[0] + 2);
    CHECK(worst_error(&s) < 2e-3);
    double jump = 0; // no step between neighbours, where steps meet
    for (uint64_t i = 1; i < s.samples; i++)
        jump = fmax(jump, fabs(solved_value(&s, 0, 0, i) - solved_value(&s, 0, 0, i - 1)));
    CHECK_MSG(jump < 1e-3, "jump of %g", jump);
    solved_free(&s);
}

TEST(dense_save_every) {
    struct solved s = solve("init x=0; x'=2*t; @ t1=1", NULL, "save=every=0.3"); // not in [0, 1]
    CHECK_INT(s.samples, 4);
    for (uint64_t i = 0; i < s.samples; i++) {
        CHECK_NEAR(s.t[i], 0.3 * (double)i, 1e-15);
        CHECK_NEAR(solved_value(&s, 0, 0, i), s.t[i] * s.t[i], 1e-14);
    }
    solved_free(&s);
    s = solve("init x=0; x'=2*t; @ t0=-0.2, t1=0.1", NULL, "save=every=0.1"); // t1 but for rounding
    CHECK_INT(s.samples, 4);
    CHECK_NEAR(s.t[3], 0.1, 0);
    CHECK_NEAR(solved_value(&s, 0, 0, 3), 0.01 - 0.04, 1e-15);
    solved_free(&s);
}

TEST(dense_save_at) {
    struct solved s =
        solve(rotation, NULL, "t1=2.25 rtol=1e-10 atol=1e-10 save=at=0.25,0.3,1,1.0001,2.2");
    static const double times[] = {0.25, 0.3, 1, 1.0001, 2.2};
    CHECK_INT(s.samples, 5);
    for (uint64_t i = 0; i < s.samples; i++)
        CHECK_NEAR(s.t[i], times[i], 0);
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 0.6, 0);
    CHECK(worst_error(&s) < 1e-8);
    solved_free(&s);
    s = solve(rotation, NULL, "t1=2.25 rtol=1e-10 atol=1e-10 save=at=2.25");
    CHECK_INT(s.samples, 1);
    CHECK(worst_error(&s) < 1e-8);
    solved_free(&s);
}

// Samples on the steps of a fixed run are the steps themselves.
TEST(dense_samples_on_steps) {
    struct solved all = solve_steps(rotation, "method=rk4 t1=2.25 dt=0.0625 save=steps");
    struct solved s = solve(rotation, NULL, "method=rk4 t1=2.25 dt=0.0625 save=every=0.125");
    CHECK_INT(all.samples, 33);
    CHECK_INT(s.samples, 17);
    for (uint64_t i = 0; i < s.samples && 2 * i < all.samples; i++) {
        CHECK_NEAR(s.t[i], all.t[2 * i], 0);
        CHECK_NEAR(solved_value(&s, 0, 0, i), solved_value(&all, 0, 0, 2 * i), 0);
        CHECK_NEAR(solved_value(&s, 1, 0, i), solved_value(&all, 1, 0, 2 * i), 0);
    }
    solved_free(&s);
    solved_free(&all);
}

TEST(dense_settle) {
    struct solved s = solve(rotation, NULL, "t1=2.25 settle=0.5 save=n=4 rtol=1e-8");
    CHECK_INT(s.samples, 4);
    for (uint64_t i = 0; i < s.samples; i++)
        CHECK_NEAR(s.t[i], 0.75 + 0.5 * (double)i, 1e-15);
    CHECK(worst_error(&s) < 1e-5);
    solved_free(&s);
    s = solve("init x=0; x'=1; @ t1=1, settle=0.35", NULL, "save=every=0.1");
    CHECK_INT(s.samples, 7);
    CHECK_NEAR(s.t[0], 0.4, 1e-15);
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 0.4, 1e-14);
    CHECK_NEAR(s.t[6], 1, 0);
    solved_free(&s);
    s = solve_steps("init x=0; x'=1; @ t1=1, settle=0.35, dt=0.1", "method=euler save=steps");
    CHECK_INT(s.samples, 7);
    CHECK_NEAR(s.t[0], 0.4, 1e-15);
    solved_free(&s);
}

// f32 time is a pair: at t=4096 an f32 is a multiple of 2^-11, and 128 steps of the fixed run,
// eight of the adaptive one, lie between two samples that differ by 2^-10.
TEST(dense_f32_far_from_zero) {
    static const char *const ways[] = {"method=rk4 dt=7.62939453125e-6", "dt-max=1.220703125e-4"};
    for (int w = 0; w < 2; w++) {
        struct solved s = solve("init x=0; x'=1; @ t0=4096, t1=4096.0078125", NULL,
                                "precision=f32 save=n=9 %s", ways[w]);
        CHECK_INT(s.samples, 9);
        CHECK(s.steps[0] == 1024 || (w && s.steps[0] >= 64 && s.steps[0] < 80));
        for (uint64_t i = 0; i < s.samples; i++)
            CHECK_NEAR(solved_value(&s, 0, 0, i), 0x1p-10 * (double)i, w ? 1e-9 : 0);
        solved_free(&s);
    }
}

// Backwards in time is the problem with the sign of time changed: the same steps, bit for bit.
TEST(dense_backwards) {
    static const char *const ways[] = {
        "method=tsit5 save=n=21",      "method=dop853 save=n=21",
        "method=bs32 save=every=0.13", "method=rk4 dt=0.03 save=n=21",
        "method=heun-21 save=final",   "precision=f32 save=n=21",
        "method=rodas4 save=n=21",     "method=kvaerno3 save=n=21",
        "method=radau5 save=n=21",     "method=cn controller=fixed dt=0.03"};
    static const char back[] = "init x=0.6, y=0.9; x'=-(1+t^2)*y*x^2; y'=x+t; @ t0=1, t1=-1";
    static const char mirror[] = "init x=0.6, y=0.9; x'=(1+t^2)*y*x^2; y'=-x+t; @ t0=-1, t1=1";
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!check_does(i, 0, 2))
            continue;
        struct solved a = solve(back, NULL, "%s", ways[i]), b = solve(mirror, NULL, "%s", ways[i]);
        CHECK_INT(a.status[0], SHOAL_STATUS_ok);
        CHECK_INT(a.steps[0], b.steps[0]);
        CHECK_INT(a.samples, b.samples);
        for (uint64_t k = 0; k < a.samples && k < b.samples; k++) {
            CHECK_NEAR(a.t[k], -b.t[k], 0);
            CHECK_NEAR(solved_value(&a, 0, 0, k), solved_value(&b, 0, 0, k), 0);
            CHECK_NEAR(solved_value(&a, 1, 0, k), solved_value(&b, 1, 0, k), 0);
        }
        CHECK_NEAR(a.t[a.samples - 1], strstr(ways[i], "every") ? -0.95 : -1, 1e-15);
        solved_free(&a);
        solved_free(&b);
    }
}

// There and back again.
TEST(dense_backwards_returns) {
    struct solved there = solve(rotation, NULL, "t1=2.25 rtol=1e-10 atol=1e-10");
    char model[256];
    snprintf(model, sizeof model,
             "init x=%.17g, y=%.17g; w=(1+t)*(x^2+y^2); x'=-w*y; y'=w*x; @ t0=2.25, t1=0.25",
             solved_last(&there, 0, 0), solved_last(&there, 1, 0));
    struct solved back = solve(model, NULL, "rtol=1e-10 atol=1e-10 settle=0.5 save=n=4");
    CHECK_NEAR(back.t[0], 1.75, 1e-15);
    CHECK(worst_error(&back) < 1e-8);
    CHECK_NEAR(solved_last(&back, 0, 0), 0.6, 1e-8);
    solved_free(&there);
    solved_free(&back);
}
