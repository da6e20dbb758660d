// SPDX-License-Identifier: MIT
// The error norm at its edges: tolerances of 0 and beyond all measure, steps that leave the
// numbers. Its reciprocals are rough, so what a division would do by itself has to be seen to.
#include "check.h"
#include "rig.h"

static struct outcome run_one(const char *model, const char *options) {
    struct rig rig = rig_new(NULL, model, options);
    const char *names[RIG_NAMES] = {"a"};
    struct inputs in = inputs_new(3, names);
    for (int i = 0; i < 3; i++)
        in.value[0][i] = 1;
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    inputs_free(&in);
    rig_free(&rig);
    return o;
}

// A state that stays at 0 has the scale 0 and the error 0: it does not count.
TEST(norm_of_a_state_at_rest) {
    for (int f32 = 0; f32 < 2; f32++) {
        struct outcome o = run_one("par a=1; init x=0, y=1; x'=a*x; y'=-y",
                                   f32 ? "t1=1 atol=1e-300 rtol=1e-4 precision=f32" // 0 in f32
                                       : "t1=1 atol=1e-320 rtol=1e-8");
        CHECK_INT(o.status[0], 0);
        CHECK(o.steps[0] < 1000);
        CHECK_NEAR(outcome_value(&o, 0, 0, 0), 0, 0);
        CHECK_NEAR(outcome_value(&o, 1, 0, 0), exp(-1), f32 ? 1e-4 : 1e-7);
        outcome_free(&o);
    }
}

// A tolerance beyond all measure takes a state out of the norm.
TEST(norm_with_a_huge_tolerance) {
    for (int f32 = 0; f32 < 2; f32++) {
        struct outcome o = run_one("par a=1; init x=1, y=1; x'=-1000*a*x; y'=-y",
                                   f32 ? "t1=1 atol=1e-6,x=1e38 rtol=1e-4 precision=f32"
                                       : "t1=1 atol=1e-9,x=1e307 rtol=1e-6");
        struct outcome both = run_one("par a=1; init x=1, y=1; x'=-1000*a*x; y'=-y",
                                      f32 ? "t1=1 rtol=1e-4 precision=f32" : "t1=1 rtol=1e-6");
        CHECK(o.steps[0] > 0 && o.steps[0] < both.steps[0]);
        outcome_free(&o);
        outcome_free(&both);
    }
}

// A step that leaves the numbers is rejected: into an infinity without any error, into a root of a
// negative number.
TEST(norm_rejects_what_is_not_finite) {
    static const struct {
        const char *model, *options;
        double end;
    } cases[] = {
        {"par a=1; init x=0; x'=a*1e36", "t1=500 precision=f32", 341},
        {"par a=1; init x=0; x'=a*1e308", "t1=5", 1.8},
        {"par a=1; init x=0; x'=a+sqrt(1.5-t)", "t1=5 precision=f32 atol=1e37", 1.6},
        {"par a=1; init x=0; x'=a+sqrt(1.5-t)", "t1=5 atol=1e300", 1.6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o = run_one(cases[i].model, cases[i].options);
        // The time of f32 is a pair: its steps may become so short that they change no state.
        if (o.f32 && o.t[0] > 100)
            CHECK_STR(shoal_status_word(o.status[0]), "max_steps");
        else
            CHECK_STR(shoal_status_word(o.status[0]), "nonfinite");
        CHECK(isnan(outcome_value(&o, 0, 0, 0)));
        CHECK_MSG(o.t[0] < cases[i].end, "%s: it went on to %g", cases[i].model, o.t[0]);
        outcome_free(&o);
    }
}
