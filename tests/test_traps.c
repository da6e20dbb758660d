// SPDX-License-Identifier: MIT
// Trajectories that go wrong, or nearly: each ends with the right status, at the right time, with
// the right counts, and its neighbours notice nothing.
#include "check.h"
#include "solve.h"

static void check_status(const struct solved *s, uint64_t row, int want) {
    CHECK_MSG(s->status[row] == want,
              "row %llu is %s, not %s, at %g after %u steps and %u rejected",
              (unsigned long long)row, shoal_status_word(s->status[row]), shoal_status_word(want),
              s->t[row * s->samples], s->steps[row], s->rejected[row]);
}

// Far too long a first step on a stiff problem: many rejections, and the end is reached.
TEST(traps_many_rejections) {
    static const char model[] = "par k=1e6; init x=3; x'=k*(cos(t)-x)";
    struct solved s =
        solve(model, "k=1e6,1e5,1", "method=tsit5 t1=0.03 dt0=100 rtol=1e-3 atol=1e-3");
    for (uint64_t i = 0; i < 2; i++) {
        check_status(&s, i, SHOAL_STATUS_ok);
        CHECK_NEAR(solved_value(&s, 0, i, 0), cos(0.03), 2e-3);
        CHECK(s.rejected[i] > 5 && s.rejected[i] < s.steps[i]);
    }
    CHECK_INT(s.rejected[2], 0);
    solved_free(&s);
    s = solve(model, NULL, "method=tsit5 t1=1000 dt0=100 rtol=1e-2 atol=1e-2");
    check_status(&s, 0, SHOAL_STATUS_max_steps); // 3e8 steps would be needed
    CHECK_INT(s.steps[0] + s.rejected[0], 100000);
    CHECK(s.t[0] > 0.1 && s.t[0] < 1 && isnan(solved_value(&s, 0, 0, 0)));
    solved_free(&s);
}

// x = 1/(1/a - t): the end of the line is the pole, not a hang and not a number from behind it.
static void check_pole(const char *precision, double near) {
    static const char model[] = "par a=1; x(0)=a; x'=x^2; y'=1; init y=0; @ t1=2";
    struct solved s =
        solve(model, "a=1,0.25,2", "method=tsit5 rtol=1e-6 atol=1e-6 precision=%s", precision);
    struct solved kept =
        solve(model, "a=1,0.25,2", "method=tsit5 rtol=1e-6 atol=1e-6 keep-failed=on precision=%s",
              precision);
    for (uint64_t i = 0; i < 3; i += 2) {
        double pole = i ? 0.5 : 1;
        CHECK_MSG(s.status[i] == SHOAL_STATUS_nonfinite || s.status[i] == SHOAL_STATUS_dt_min,
                  "%s: %s", precision, shoal_status_word(s.status[i]));
        CHECK_NEAR(s.t[i], pole, near);
        CHECK(isnan(solved_value(&s, 0, i, 0)) && isnan(solved_value(&s, 1, i, 0)));
        CHECK(s.steps[i] < 1000 && s.rejected[i] < 300);
        CHECK_INT(kept.status[i], s.status[i]);
        CHECK(solved_value(&kept, 0, i, 0) > 1 / near && isfinite(solved_value(&kept, 0, i, 0)));
        CHECK_NEAR(solved_value(&kept, 1, i, 0), pole, near);
    }
    check_status(&s, 1, SHOAL_STATUS_ok);
    CHECK_NEAR(solved_value(&s, 0, 1, 0), 0.5, 2e-5);
    CHECK_INT(s.tally.by_status[SHOAL_STATUS_ok], 1);
    solved_free(&s);
    solved_free(&kept);
}

TEST(traps_pole) { check_pole("f64", 1e-3); }
TEST(traps_pole_f32) { check_pole("f32", 1e-2); }

// Samples before the failure stay, those after it are missing, or repeat the last good values.
TEST(traps_pole_in_a_series) {
    static const char model[] = "init x=1; x'=x^2; @ t1=2";
    struct solved s = solve(model, NULL, "save=n=21 rtol=1e-8 atol=1e-8");
    struct solved kept = solve(model, NULL, "save=n=21 rtol=1e-8 atol=1e-8 keep-failed=on");
    for (uint64_t i = 0; i < 21; i++) {
        double t = 0.1 * (double)i, x = solved_value(&s, 0, 0, i);
        if (i < 10) {
            CHECK_NEAR(x * (1 - t), 1, 1e-5);
            CHECK_NEAR(solved_value(&kept, 0, 0, i), x, 0);
        } else if (i > 10) { // at the pole itself it is either
            CHECK(isnan(x));
            CHECK_NEAR(solved_value(&kept, 0, 0, i), solved_value(&kept, 0, 0, 20), 0);
        }
    }
    CHECK(solved_value(&kept, 0, 0, 20) > 1e3 && isfinite(solved_value(&kept, 0, 0, 20)));
    solved_free(&s);
    solved_free(&kept);
}

// Not a number from the first evaluation on, in some rows only.
TEST(traps_nan_at_the_start) {
    struct solved s =
        solve("par a=1; init x=2; x'=-x*ln(a); @ t1=1", "a=2,-1,3,0,1.5,-2,4,-3,1", "t0=0");
    struct solved kept =
        solve("par a=1; init x=2; x'=-x*ln(a); @ t1=1", "a=2,-1", "keep-failed=on");
    static const double a[] = {2, -1, 3, 0, 1.5, -2, 4, -3, 1};
    for (uint64_t i = 0; i < s.rows; i++) {
        if (a[i] > 0) {
            check_status(&s, i, SHOAL_STATUS_ok);
            CHECK_NEAR(solved_value(&s, 0, i, 0), 2 / a[i], 1e-5);
        } else {
            check_status(&s, i, SHOAL_STATUS_nonfinite);
            CHECK(isnan(solved_value(&s, 0, i, 0)));
            CHECK_NEAR(s.t[i], 0, 0);
            CHECK_INT(s.steps[i], 0);
            CHECK_MSG(s.rejected[i] < 500, "%u rejected", s.rejected[i]);
        }
    }
    CHECK_INT(kept.status[1], SHOAL_STATUS_nonfinite);
    CHECK_NEAR(solved_value(&kept, 0, 1, 0), 2, 0);
    CHECK_NEAR(solved_value(&kept, 0, 0, 0), solved_value(&s, 0, 0, 0), 0);
    solved_free(&s);
    solved_free(&kept);
}

TEST(traps_nan_initial_value) {
    static const char *const methods[] = {"tsit5", "rk4"};
    for (int m = 0; m < 2; m++) {
        struct solved s = solve("par a=1; x(0)=sqrt(a); x'=-1; @ t1=1", "a=4,-1,9",
                                m ? "method=%s dt=0.1" : "method=%s", methods[m]);
        check_status(&s, 1, SHOAL_STATUS_nonfinite);
        CHECK_NEAR(s.t[1], 0, 0);
        CHECK(isnan(solved_value(&s, 0, 1, 0)));
        CHECK_NEAR(solved_value(&s, 0, 0, 0), 1, 1e-14);
        CHECK_NEAR(solved_value(&s, 0, 2, 0), 2, 1e-14);
        solved_free(&s);
    }
}

// Attempts are counted exactly, for every row, whatever its neighbours do.
TEST(traps_max_steps) {
    static const uint32_t limits[] = {1, 7, 1023, 1025, 3000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct solved s = solve("par w=1; init x=1, y=0; x'=w*y; y'=-w*x; @ t1=100",
                                "w=log:0.01:1000:37", "rtol=1e-8 max-steps=%u dt0=20", limits[i]);
        uint32_t stopped = 0;
        for (uint64_t r = 0; r < s.rows; r++) {
            uint32_t attempts = s.steps[r] + s.rejected[r];
            if (s.status[r] == SHOAL_STATUS_max_steps) {
                stopped++;
                CHECK_INT(attempts, limits[i]);
                CHECK(s.t[r] < 100 && isnan(solved_value(&s, 0, r, 0)));
            } else {
                check_status(&s, r, SHOAL_STATUS_ok);
                CHECK(attempts <= limits[i]);
            }
        }
        CHECK_MSG(stopped > 5, "limit %u: %u stopped", limits[i], stopped);
        CHECK_INT(s.tally.by_status[SHOAL_STATUS_max_steps], stopped);
        solved_free(&s);
    }
}

// A run that takes exactly as many steps as it may is fine.
TEST(traps_max_steps_reached_at_the_end) {
    for (uint32_t limit = 9; limit <= 11; limit++) {
        struct solved s =
            solve("x'=1; init x=0; @ t1=1", NULL, "method=rk4 dt=0.1 max-steps=%u", limit);
        check_status(&s, 0, limit < 10 ? SHOAL_STATUS_max_steps : SHOAL_STATUS_ok);
        CHECK_INT(s.steps[0], limit < 10 ? limit : 10);
        CHECK_NEAR(s.t[0], limit < 10 ? 0.9 : 1, 1e-15);
        solved_free(&s);
    }
    struct solved s = solve("x'=1; init x=0; @ t1=1", NULL, "dt-max=0.125 dt0=0.125 max-steps=8");
    check_status(&s, 0, SHOAL_STATUS_ok);
    CHECK_INT(s.steps[0], 8);
    solved_free(&s);
}

TEST(traps_dt_min) {
    struct solved s = solve("par k=1e6; init x=3; x'=k*(cos(t)-x); @ t1=1", "k=1e6,10",
                            "dt-min=1e-3 keep-failed=on");
    check_status(&s, 0, SHOAL_STATUS_dt_min);
    CHECK_NEAR(s.t[0], 0, 0);
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 3, 0);
    CHECK(s.rejected[0] >= 1);
    check_status(&s, 1, SHOAL_STATUS_ok);
    solved_free(&s);
}

// On x'=x every step of one length has the same error. With steps a little longer than the
// controller likes each is accepted, and the next one wanted is shorter than dt-min: the run goes
// on with dt-min.
TEST(traps_dt_min_after_an_accepted_step) {
    static const char model[] = "init x=1; x'=x; @ t1=10";
    struct solved free_run = solve(model, NULL, "method=dopri5 controller=i rtol=1e-6 atol=1e-30");
    double liked = 10.0 / free_run.steps[0], dt_min = 1.05 * liked;
    struct solved s =
        solve(model, NULL, "method=dopri5 controller=i rtol=1e-6 atol=1e-30 dt-min=%.17g", dt_min);
    check_status(&s, 0, SHOAL_STATUS_ok);
    CHECK_INT(s.steps[0], ceil(10 / dt_min));
    CHECK_INT(s.rejected[0], 0);
    solved_free(&s);
    solved_free(&free_run);
}

// Attempts that leave the domain of the right-hand side are rejected and forgotten.
TEST(traps_attempts_that_are_nan) {
    struct solved s = solve("init x=3; x'=-100*ln(x); @ t1=1", NULL, "dt0=1");
    check_status(&s, 0, SHOAL_STATUS_ok);
    CHECK(s.rejected[0] > 0);
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 1, 1e-5);
    solved_free(&s);
}

TEST(traps_nothing_moves) {
    struct solved s = solve("init x=7, y=0; x'=0; y'=0; @ t1=1e6", NULL, "t0=0");
    check_status(&s, 0, SHOAL_STATUS_ok);
    CHECK_MSG(s.steps[0] < 20, "%u steps", s.steps[0]);
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 7, 0);
    CHECK_NEAR(solved_value(&s, 1, 0, 0), 0, 0);
    solved_free(&s);
}

TEST(traps_dt_max) {
    struct solved s =
        solve("par a=0; init x=1; x'=a*x; @ t1=10", "a=0,-1,1", "dt-max=0.03 rtol=1e-2");
    for (uint64_t i = 0; i < 3; i++) {
        check_status(&s, i, SHOAL_STATUS_ok);
        CHECK_MSG(s.steps[i] >= 334 && s.steps[i] < 345, "%u steps", s.steps[i]);
    }
    solved_free(&s);
}

// The automatic first step is never far too long, whatever the problem's time scale; where it is
// too short, it grows tenfold at once, so that a few steps are all that is lost.
TEST(traps_first_step) {
    static const double scales[] = {1, 1e-9, 1e9};
    uint64_t usual = 0;
    for (int i = 0; i < 3; i++) {
        double rate = 1 / scales[i];
        char model[128];
        snprintf(model, sizeof model, "init x=1, y=1; x'=%.17g*y; y'=-%.17g*x", rate, rate);
        struct solved s = solve_steps(model, "t1=%.17g save=steps", 20 * scales[i]);
        double first = (s.t[1] - s.t[0]) / scales[i];
        CHECK_MSG(first < 0.5 && (i == 2 || first > 0.01), "first step %g", first);
        CHECK_MSG(s.tally.rejected <= 8, "%llu rejected", (unsigned long long)s.tally.rejected);
        CHECK_NEAR(s.t[s.samples - 1], 20 * scales[i], 0);
        usual = i ? usual : s.samples;
        CHECK_MSG(s.samples < usual + 16, "%llu steps", (unsigned long long)s.samples);
        solved_free(&s);
    }
    struct solved s = solve("init x=0; x'=t^3; @ t1=2", NULL, "rtol=1e-6"); // all zero at the start
    check_status(&s, 0, SHOAL_STATUS_ok);
    CHECK_NEAR(solved_value(&s, 0, 0, 0), 4, 1e-5);
    CHECK(s.steps[0] < 30);
    solved_free(&s);
}

// Euler on x'=x^2: the same arithmetic here says which step overflows. Rows fail at different
// steps, in the middle of bursts, and one does not fail at all.
TEST(traps_fixed_steps_blow_up) {
    static const double a[] = {1, 0.3, 0, 2, 0.35, 5, 0.5, 0.41, 0.32, 1.7};
    struct solved s =
        solve("par a=1; x(0)=a; x'=x*x; @ t1=6.4", "a=1,0.3,0,2,0.35,5,0.5,0.41,0.32,1.7",
              "method=euler dt=0.03125 keep-failed=on");
    for (uint64_t i = 0; i < s.rows; i++) {
        double x = a[i], next = x;
        uint32_t steps = 0, all = 205;
        while (steps < all && isfinite(next = fma(0.03125, x * x, x)))
            x = next, steps++;
        bool failed = steps < all;
        check_status(&s, i, failed ? SHOAL_STATUS_nonfinite : SHOAL_STATUS_ok);
        CHECK_INT(s.steps[i], steps);
        CHECK_INT(s.rejected[i], failed);
        CHECK_INT(s.f_evals[i], steps + failed);
        CHECK_NEAR(s.t[i], failed ? 0.03125 * steps : 6.4, 0);
        CHECK_NEAR(solved_value(&s, 0, i, 0), x, 1e-12 * fabs(x));
    }
    CHECK(s.tally.by_status[SHOAL_STATUS_nonfinite] >= 5);
    CHECK(s.tally.by_status[SHOAL_STATUS_ok] >= 1);
    solved_free(&s);
}
