// SPDX-License-Identifier: MIT
// What is not a number stays not a number until somebody sees it: min and max hand it on, whichever
// operand it is, on every target; so do sums that f32 and f64 make of stages.
#include "check.h"
#include "device_test.h"
#include "solve.h"

// Row by row: the first operand, the second, both, none is not a number.
static struct inputs operands(void) {
    static const double a[] = {-1, 1, -1, 1, 4, 0}, b[] = {1, -1, -1, 1, 9, 0};
    const char *names[RIG_NAMES] = {"a", "b"};
    struct inputs in = inputs_new(36, names);
    for (uint64_t i = 0; i < in.rows; i++) {
        in.value[0][i] = a[i % 6];
        in.value[1][i] = b[i % 6];
    }
    return in;
}

static const char extremes[] = "par a=1, b=1; x'=min(sqrt(a),sqrt(b)); y'=max(sqrt(a),sqrt(b));"
                               "aux lo=min(sqrt(a),sqrt(b)); aux hi=max(sqrt(a),sqrt(b))";

static void check_extremes(struct rig rig, const char *what) {
    struct inputs in = operands();
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    for (uint64_t i = 0; i < in.rows; i++) {
        double a = sqrt(in.value[0][i]), b = sqrt(in.value[1][i]);
        bool lost = isnan(a) || isnan(b);
        CHECK_MSG(o.status[i] == (lost ? SHOAL_STATUS_nonfinite : SHOAL_STATUS_ok),
                  "%s, row %d: status %d", what, (int)i, o.status[i]);
        if (!lost) {
            CHECK_NEAR(outcome_value(&o, 0, i, 0), fmin(a, b), 1e-5);
            CHECK_NEAR(outcome_value(&o, 1, i, 0), fmax(a, b), 1e-5);
        }
    }
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
}

TEST(nan_extremes_on_every_cpu_target) {
    static const char *const targets[] = {"scalar", "generic", "x86-64-v3", "x86-64-v4", NULL};
    static const char *const options[] = {"method=tsit5 t1=1", "method=tsit5 t1=1 precision=f32",
                                          "method=rodas5p t1=1"};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            if (!targets[i] || rig_has_target(targets[i]))
                check_extremes(rig_new(targets[i], extremes, options[k]),
                               targets[i] ? targets[i] : "this machine's");
}

DEVICE_TEST(nan_extremes) {
    check_extremes(device_rig(device, extremes, "method=tsit5 t1=1"), device);
    device_compare(device, extremes, "method=rk4 dt=.1 t1=1 precision=f32 vars=x,lo,hi",
                   operands());
}

// A constant one, and one in an observable only, which is no state's business.
TEST(nan_extremes_that_fold) {
    struct solved s = solve("par a=0; x'=max(sqrt(-1),a); y'=1", NULL, "t1=1");
    CHECK_INT(s.status[0], SHOAL_STATUS_nonfinite);
    solved_free(&s);
    s = solve("par a=0; x'=min(a,sqrt(-1)); y'=1", NULL, "t1=1");
    CHECK_INT(s.status[0], SHOAL_STATUS_nonfinite);
    solved_free(&s);
    s = solve("par a=0; x'=1; aux m=max(sqrt(a-1),0); aux n=max(0,sqrt(a-1))", NULL,
              "t1=1 vars=x,m,n");
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK(isnan(solved_last(&s, 1, 0)) && isnan(solved_last(&s, 2, 0)));
    solved_free(&s);
}

// dop853 joins two estimates; one that overflows must not make the other small. Tolerances that no
// f32 can meet stop the run at its first steps.
TEST(nan_estimate_that_overflows) {
    struct solved s = solve("init x=1; x'=-x*cos(5*t)", NULL,
                            "method=dop853 precision=f32 t1=10 atol=1e-36 rtol=1e-25 dt0=1");
    CHECK(s.status[0] != SHOAL_STATUS_ok);
    CHECK(s.t[0] < 1e-3);
    solved_free(&s);
}
