// SPDX-License-Identifier: MIT
// What a state loses when it is rounded is carried along: many steps in f32 are as good as few, for
// every kind of method, with the same bits on all devices; and a state that is set has lost
// nothing.
#include "device_test.h"

enum { ROWS = 37 };

static const char circle[] = "par w=1; init x=1, y=0; x'=-w*y; y'=w*x";

static struct inputs speeds(void) {
    const char *names[RIG_NAMES] = {"w"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++)
        in.value[0][i] = (double)(float)(0.5 + (double)i / ROWS);
    return in;
}

// Root mean square distance from the circle's point at t = 8.
static double error_of(const char *options) {
    struct inputs in = speeds();
    struct rig rig = device_rig("cpu", circle, options);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    double sum = 0;
    CHECK(o.code == SHOAL_OK && o.tally.by_status[SHOAL_STATUS_ok] == ROWS);
    for (uint64_t i = 0; i < ROWS; i++) {
        double angle = 8 * in.value[0][i];
        sum += pow(outcome_value(&o, 0, i, 0) - cos(angle), 2) +
               pow(outcome_value(&o, 1, i, 0) - sin(angle), 2);
    }
    outcome_free(&o);
    rig_free(&rig);
    inputs_free(&in);
    return sqrt(sum / ROWS);
}

TEST(compensate_keeps_digits) {
    static const char *const ways[] = {"method=rk4 dt=0.001953125 t1=8",
                                       "method=dopri5 dt-max=0.002 t1=8",
                                       "method=radau5 dt-max=0.002 t1=8"};
    for (int i = 0; i < 3; i++) {
        char plain[160], better[160];
        snprintf(plain, sizeof plain, "%s precision=f32", ways[i]);
        snprintf(better, sizeof better, "%s precision=f32 compensate=on", ways[i]);
        double before = error_of(plain), now = error_of(better);
        CHECK_MSG(now < before / 4 && now < 4e-7, "%s: %g, compensated %g", ways[i], before, now);
    }
}

DEVICE_TEST(compensate_fixed) {
    device_compare(device, circle, "method=rk4 dt=0.01 t1=8 precision=f32 compensate=on", speeds());
}

DEVICE_TEST(compensate_adaptive) {
    device_compare(device, circle, "method=tsit5 t1=8 precision=f32 compensate=on save=n=5",
                   speeds());
}

LONG_DEVICE_TEST(compensate_implicit) {
    device_compare(device, circle, "method=kvaerno3 t1=8 precision=f32 compensate=on", speeds());
    device_compare(device, circle, "method=rodas4 t1=8 compensate=on", speeds());
}

// An event sets the state to 0 and holds it there: nothing of before comes back.
TEST(compensate_forgets_what_is_set) {
    static const char ramp[] = "par w=1, on=1; init x=1; x'=on*w*0.1; event off at 3 : x=0, on=0";
    static const char *const options[] = {
        "method=rk4 dt=0.0078125 t1=4 precision=f32 compensate=on",
        "method=tsit5 dt-max=0.01 t1=4 precision=f32 compensate=on"};
    for (int k = 0; k < 2; k++) {
        struct inputs in = speeds();
        struct rig rig = device_rig("cpu", ramp, options[k]);
        struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
        CHECK(o.code == SHOAL_OK);
        for (uint64_t i = 0; i < ROWS; i++)
            CHECK_MSG(outcome_value(&o, 0, i, 0) == 0, "%s, row %d: %g", options[k], (int)i,
                      outcome_value(&o, 0, i, 0));
        outcome_free(&o);
        rig_free(&rig);
        inputs_free(&in);
    }
}
