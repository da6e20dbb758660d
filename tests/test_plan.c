// SPDX-License-Identifier: MIT
// A plan: what options and a model are resolved to, and that kernels are made by it alone.
#include "check.h"
#include "rig.h"

#include <math.h>

static const char model[] = "par mu=1; init x=2; x'=y; y'=mu*(1-x^2)*y-x; aux e=x*x+y*y";

// What takes over is what a run with that method alone has.
static void check_role(const struct plan *p, enum plan_role role, const char *method,
                       const char *options) {
    char words[128];
    snprintf(words, sizeof words, "method=%s %s", method, options);
    struct rig alone = rig_new(NULL, model, words);
    const struct plan *want = alone.solver->plan;
    CHECK_MSG(plan_same_kernel(&p->kernel[role], &want->kernel[PLAN_FIRST]), "%s", words);
    CHECK_NEAR(p->tolerances[role].rtol, want->tolerances[PLAN_FIRST].rtol, 0);
    for (int i = 0; i < 2; i++)
        CHECK_NEAR(p->tolerances[role].atol[i], want->tolerances[PLAN_FIRST].atol[i], 0);
    CHECK(!plan_takes_over(want) && !want->kernel[PLAN_STIFF].method);
    rig_free(&alone);
}

TEST(plan_of_two_methods) {
    static const char *const options[] = {"t1=1", "t1=1 precision=f32 rtol=1e-5 controller=pid",
                                          "t1=1 atol=1e-7,y=1e-3 save=n=4 vars=e,x"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char words[128];
        snprintf(words, sizeof words, "method=auto %s", options[i]);
        struct rig rig = rig_new(NULL, model, words);
        const struct plan *p = rig.solver->plan;
        CHECK(plan_takes_over(p));
        CHECK(p->kernel[PLAN_FIRST].stiff == p->kernel[PLAN_STIFF].method);
        check_role(p, PLAN_STIFF, p->kernel[PLAN_STIFF].method->name, options[i]);
        check_role(p, PLAN_LAST, p->kernel[PLAN_FIRST].method->name, options[i]);
        rig_free(&rig);
    }
}

// Values that apply where none are given.
TEST(plan_resolves_what_is_not_given) {
    struct rig rig = rig_new(NULL, model, "method=tsit5 t1=1 precision=f32");
    const struct plan *p = rig.solver->plan;
    CHECK(!plan_fixed(p) && isnan(p->dt) && p->threads > 0);
    CHECK_INT(p->max_steps, 100000);
    CHECK_NEAR(p->rtol, 1e-4, 0);
    CHECK_NEAR(p->atol, 1e-6, 0);
    CHECK_INT(p->list.of.samples, 1);
    CHECK_INT(p->list.of.vars, 2);
    rig_free(&rig);
    rig = rig_new(NULL, model, "method=rk4 t1=1 dt=0.3 save=every=0.25 settle=0.5 vars=e");
    p = rig.solver->plan;
    CHECK(plan_fixed(p));
    CHECK_NEAR(plan_fixed_steps(p), 4, 0);
    CHECK_INT(p->max_steps, 0);
    REQUIRE(p->list.of.samples == 3);
    CHECK_NEAR(p->list.of.times[0], 0.5, 0);
    CHECK_NEAR(p->list.of.times[2], 1, 0);
    CHECK_STR(p->list.of.var[0], "e");
    CHECK(!p->list.of.is_state[0]);
    rig_free(&rig);
}

static void count_call(const shoal_compile *now, void *user) {
    (void)now;
    ++*(int *)user;
}

// Either flag ends a build, and who watches is called all the same.
TEST(plan_build_stops_by_either_flag) {
    static const int up = 1, down = 0;
    static const struct {
        const volatile int *stop[2];
        shoal_code code;
    } cases[] = {{{NULL, &up}, SHOAL_STOPPED},
                 {{&up, NULL}, SHOAL_STOPPED},
                 {{&down, &up}, SHOAL_STOPPED},
                 {{&up, &down}, SHOAL_STOPPED},
                 {{&down, &down}, SHOAL_OK}};
    struct rig rig = rig_new(NULL, model, "method=tsit5 t1=1");
    struct kernel_plan plan = rig.solver->plan->kernel[PLAN_FIRST];
    plan.f32 = true; // one that is not loaded
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct build_how how = rig.solver->runner.how;
        struct system *system = build_system(how.model, rig.log);
        struct loaded got = {0};
        int calls = 0;
        memcpy(how.stop, cases[i].stop, sizeof how.stop);
        how.on_compile = count_call;
        how.on_compile_user = &calls;
        CHECK_INT(build_kernel(&plan, system, &how, false, NULL, &got, rig.log), cases[i].code);
        CHECK_INT(got.kernel != NULL, cases[i].code == SHOAL_OK);
        CHECK(calls > 0 || cases[i].code != SHOAL_OK);
        kernel_drop(got.kernel);
        system_free(system);
    }
    rig_free(&rig);
}
