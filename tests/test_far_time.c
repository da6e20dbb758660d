// SPDX-License-Identifier: MIT
// Far from t = 0 the time has few digits left for a step. A step is the difference of the times it
// goes from and to, so the solution is as good as near 0; where the times cannot tell apart what
// the tolerances ask for, the run says so.
#include "check.h"
#include "device_test.h"
#include "solve.h"

static const char oscillator[] = "init x=1; x'=1000*v; v'=-1000*x";
static const double far = 1.7e9, length = 0.1; // seconds since 1970

// Of the last sample, against the solution at the time it says it is.
static double far_error(const struct solved *s, double t0) {
    double phase = 1000 * (s->t[s->samples - 1] - t0);
    return fmax(fabs(solved_last(s, 0, 0) - cos(phase)), fabs(solved_last(s, 1, 0) + sin(phase)));
}

static void check_far(const char *method, const char *more) {
    struct solved near_by = solve(oscillator, NULL, "method=%s t1=%.17g %s", method, length, more);
    struct solved there =
        solve(oscillator, NULL, "method=%s t0=%.17g t1=%.17g %s", method, far, far + length, more);
    CHECK_INT(there.status[0], SHOAL_STATUS_ok);
    double want = far_error(&near_by, 0), got = far_error(&there, far);
    CHECK_MSG(got <= 3 * want + 1e-9, "%s %s: error %g, near 0 %g", method, more, got, want);
    solved_free(&near_by);
    solved_free(&there);
}

TEST(far_time_adaptive_steps) {
    static const char *const names[] = {"auto",   "dopri5", "dop853",   "vern7", "rodas5p",
                                        "rodas4", "ros3p",  "kvaerno5", "radau5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_far(names[i], "rtol=1e-6");
}

TEST(far_time_samples) {
    static const char *const names[] = {"tsit5", "dop853", "rodas5p", "radau5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct solved s =
            solve(oscillator, NULL, "method=%s t0=%.17g t1=%.17g save=n=12 rtol=1e-8 atol=1e-10",
                  names[i], far, far + length);
        for (uint64_t n = 0; n < s.samples; n++)
            CHECK_NEAR(solved_value(&s, 0, 0, n), cos(1000 * (s.t[n] - far)), 1e-5);
        solved_free(&s);
    }
}

// (t1 - t0) - (n - 1) dt is the last step, and the others are dt, wherever t0 is.
TEST(far_time_fixed_steps) {
    static const char *const names[] = {"rk4", "midpoint", "backward-euler", "radau5"};
    const double span = far + length - far;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct solved here =
            solve(oscillator, NULL, "method=%s controller=fixed dt=3e-5 t1=%.17g", names[i], span);
        struct solved there =
            solve(oscillator, NULL, "method=%s controller=fixed dt=3e-5 t0=%.17g t1=%.17g",
                  names[i], far, far + length);
        CHECK_INT(there.steps[0], here.steps[0]);
        CHECK_NEAR(solved_last(&there, 0, 0), solved_last(&here, 0, 0), 1e-12);
        solved_free(&here);
        solved_free(&there);
    }
}

// Times that fit a pair of f32 exactly, and steps that do not.
TEST(far_time_in_f32) {
    static const char *const names[] = {"tsit5", "dop853", "rodas4", "radau5"};
    const double t0 = 1.7e9 + 32, span = 0.09375;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct solved here =
            solve(oscillator, NULL, "method=%s precision=f32 t1=%.17g", names[i], span);
        struct solved there = solve(oscillator, NULL, "method=%s precision=f32 t0=%.17g t1=%.17g",
                                    names[i], t0, t0 + span);
        CHECK_INT(there.status[0], SHOAL_STATUS_ok);
        double want = far_error(&here, 0), got = far_error(&there, t0);
        CHECK_MSG(got <= 3 * want + 1e-4, "%s: error %g, near 0 %g", names[i], got, want);
        solved_free(&here);
        solved_free(&there);
    }
}

// 1e-6 of a state needs steps that 1e18 cannot tell apart.
TEST(far_time_too_far) {
    static const char *const names[] = {"tsit5", "rodas5p", "radau5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct solved s = solve(oscillator, NULL, "method=%s t0=1e18 t1=1.00000001e18", names[i]);
        CHECK_INT(s.status[0], SHOAL_STATUS_dt_min);
        solved_free(&s);
    }
}

// The first step is not lost where it is shorter than the time can tell.
TEST(far_time_short_first_step) {
    struct solved s = solve("init x=1; x'=-x", NULL, "t0=1e12 t1=1000000000001 dt0=1e-9");
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_NEAR(solved_last(&s, 0, 0), exp(-1), 1e-5);
    solved_free(&s);
}

static struct inputs frequencies(void) {
    const char *names[RIG_NAMES] = {"w"};
    struct inputs in = inputs_new(37, names);
    for (uint64_t i = 0; i < in.rows; i++)
        in.value[0][i] = 10 + (double)(i * 17 % 37) * 20;
    return in;
}

LONG_DEVICE_TEST(far_time) {
    static const char model[] = "par w=1; init x=1; x'=w*v; v'=-w*x+t*1e-12";
    device_compare(device, model, "method=tsit5 t0=1.7e9 t1=1700000000.1 save=n=5", frequencies());
    device_compare(device, model, "method=tsit5 t0=1.7e9 t1=1700000000.1 precision=f32",
                   frequencies());
    device_compare(device, model, "method=rk4 dt=3e-4 t0=1.7e9 t1=1700000000.1 precision=f32",
                   frequencies());
}
