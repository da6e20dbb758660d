// SPDX-License-Identifier: MIT
// Why runs failed: which states, where, and what to try.
#include "check.h"

#include "shoal/shoal.h"

static const char *said(const char *model, const char *const *more) {
    const char *path = check_path("m.ode"),
               *argv[16] = {check_shoal(), "run", path, "--timing", "none"};
    size_t n = 5;
    while (*more && n < 15)
        argv[n++] = *more++;
    check_write(path, model);
    return check_command(argv).err;
}
#define SAID(model, ...) said(model, (const char *[]){__VA_ARGS__, NULL})

// At the very start it is a matter of the model and its values: nothing is said about steps.
static void check_start(const char *text, const char *wanted) {
    CHECK_HAS(text, wanted);
    CHECK_HAS(text, "check the model, and the values that the run starts with\n");
    CHECK_MSG(!strstr(text, "smaller") && !strstr(text, "blow up"), "%s", text);
}

LONG_TEST(failure_at_the_start) {
    const char *m = "par a=1, b=2\ninit x=1, y=2\nx'=ln(a)*x\ny'=x/a\nz'=b\n@ t1=2\n";
    check_start(SAID(m, "--sweep", "a=1,2,0,-1"),
                "    run 2: the derivatives of x and y are not finite at the start, t=0: ln(0)\n");
    check_start(SAID(m, "--sweep", "a=1,0", "--t0", "1", "--method", "rk4", "--dt", ".1"),
                "    run 1: the derivatives of x and y are not finite at the start, t=1: ln(0)\n");
    check_start(SAID(m, "--set", "a=0", "--precision", "f32", "--vars", "z", "--save", "n=3"),
                "    run 0: the derivatives of x and y are not finite at the start");
    check_start(SAID("par a=1\nx(0)=ln(a)\nx'=-x\n@ t1=2\n", "--sweep", "a=1,2,-1"),
                "    run 2: the initial value of x is not finite at the start, t=0: ln(-1)\n");
    check_start(SAID("par a=1\n!d=1/a\ninit x=1\nx'=d*x\n@ t1=2\n", "--sweep", "a=1,0"),
                "    run 1: the derivative of x is not finite at the start, t=0: 1/0\n");
    check_start(SAID("init x=-1\nx'=if(x<0)then(sqrt(x))else(1/(x+1))\n@ t1=2\n", "-v"),
                "sqrt(-1)\n"); // the branch that was taken
    check_start(SAID("x[1..9]'=1/(t-1)\n@ t1=2\n", "--t0", "1"),
                "the derivatives of x1, x2, x3, x4 and 5 more are not finite");
}

TEST(failure_on_the_way) {
    const char *root = "par a=1\ninit x=1,y=1\nx'=-a-sqrt(x)\ny'=-y\n@ t1=2\n";
    const char *t = SAID(root, "--sweep", "a=-2,1,2");
    CHECK_HAS(t, "2 nonfinite: ");
    CHECK_HAS(t, "    run 1: the derivative of x is not finite just after t=0.6137");
    CHECK_HAS(t, ": sqrt(-");
    CHECK(!strstr(t, "the start"));
    t = SAID(root, "--sweep", "a=1,2", "--method", "rk4", "--dt", "0.1", "--only-runs", "1");
    CHECK_HAS(t, "    run 1: the derivative of x is not finite just after t=0.3");
    CHECK_HAS(t, "steps that are fixed may be too large");
    t = SAID("par a=1\ninit x=1\nx'=a*x^2\n@ t1=2\n", "--sweep", "a=.1,1", "--method", "tsit5");
    CHECK_HAS(t, "1 dt_min: ");
    CHECK_HAS(t, "    run 1: with finite derivatives it ended at t=1.0000");
    t = SAID("init x=1\nx'=1/(t-1)^2\n@ t1=2\n", "--method", "euler", "--dt", "0.25");
    CHECK_HAS(t, "the derivative of x is not finite at t=1: 1/0\n");
}

// With a status of another kind, or none, nothing is made up.
TEST(failure_of_another_kind) {
    const char *m = "par a=1\ninit x=1,y=0\nx'=a*y\ny'=-a*x\n@ t1=100\n";
    const char *t = SAID(m, "--sweep", "a=1,10", "--max-steps", "500");
    CHECK_HAS(t, "max_steps");
    CHECK(!strstr(t, "    run "));
    t = SAID(m, "--sweep", "a=1,10");
    CHECK(!strstr(t, "    run "));
    CHECK_STR(SAID("par a=0\nx'=1/a\n@ t1=1\n", "-q"), "");
}

// The same for a program.
TEST(failure_by_the_library) {
    const char *text = "par a=1\ninit x=1\nx'=-1/a\ny'=x\n@ t1=1\n";
    shoal_model *model;
    shoal_batch *batch;
    shoal_options o;
    shoal_failure f;
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &model, NULL));
    REQUIRE(!shoal_options_init(&o, model, NULL));
    REQUIRE(!shoal_batch_new(model, &batch, NULL));
    REQUIRE(!shoal_batch_sweep(batch, "a=1,0", NULL));
    CHECK_INT(shoal_model_failure(model, &o, batch, 0, &f, NULL), SHOAL_OK);
    CHECK_INT(f.status, SHOAL_STATUS_ok);
    CHECK_INT(f.count, 0);
    CHECK_INT(shoal_model_failure(model, &o, batch, 1, &f, NULL), SHOAL_OK);
    CHECK_INT(f.status, SHOAL_STATUS_nonfinite);
    CHECK_INT(f.count, 1);
    CHECK_INT(f.state[0], 0);
    CHECK(f.at_start && !f.ahead && !f.initial && f.t == 0);
    CHECK_INT(shoal_model_failure(model, &o, batch, 2, &f, NULL), SHOAL_USAGE);
    int stop = 1; // it is somebody else's turn to be run
    o.stop = &stop;
    CHECK_INT(shoal_model_failure(model, &o, batch, 1, &f, NULL), SHOAL_STOPPED);
    shoal_batch_free(batch);
    shoal_model_free(model);
}
