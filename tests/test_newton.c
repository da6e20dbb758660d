// SPDX-License-Identifier: MIT
// Newton iterations: how many there are, how a row ends for which they fail, beside rows for which
// they do not, and that bursts of fixed steps are the steps they are made of.
#include "check.h"
#include "ode/method/method.h"
#include "rig.h"
#include "solve.h"

// ---- Evaluations --------------------------------------------------------------------------------

// Where the equations are linear the iterations start at their solution, and the first one finds
// that out: one evaluation for each stage, one for the Jacobian, and those of the start.
TEST(newton_evaluations) {
    static const struct {
        const char *options;
        uint32_t step, start;
    } cases[] = {
        {"method=backward-euler controller=fixed dt=0.1", 2, 0},
        {"method=implicit-midpoint controller=fixed dt=0.1", 2, 0},
        {"method=crank-nicolson controller=fixed dt=0.1", 2, 1}, // f of the start
        {"method=radau5 controller=fixed dt=0.1", 4, 0},
        {"method=gauss-legendre-8 controller=fixed dt=0.1", 5, 0},
        {"method=crank-nicolson", 2, 2}, // the first step's size
        {"method=radau5", 4, 2},
        {"method=radau5 dt0=0.01", 4, 0},
        {"method=radau-iia-9 save=n=11", 7, 2}, // the interpolant takes one, samples none
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct solved s = solve("par k=50;init x=1,y=1;x'=-k*x+y;y'=x-2*y;@ t1=1", "k=1,50,1e4",
                                "%s", cases[i].options);
        for (uint64_t row = 0; row < s.rows; row++) {
            uint64_t attempts = s.steps[row] + s.rejected[row];
            uint64_t want = attempts * cases[i].step + cases[i].start;
            CHECK_INT(s.status[row], SHOAL_STATUS_ok);
            CHECK_MSG(s.f_evals[row] == want, "%s: %llu evaluations, not %llu", cases[i].options,
                      (unsigned long long)s.f_evals[row], (unsigned long long)want);
        }
        solved_free(&s);
    }
}

// A stage after the first starts from those before it: an iteration finds the solution, another
// finds that out.
TEST(newton_evaluations_of_stages) {
    struct solved s =
        solve("init x=1;x'=-x;@ t1=0.5", NULL, "method=sdirk-2-2 controller=fixed dt=0.5");
    CHECK_INT(s.f_evals[0], 1 + 1 + 2);
    solved_free(&s);
}

// ---- Failures -----------------------------------------------------------------------------------

// From x = 1 the slope of f is small, and where the step ends it is large: with the matrix of the
// start, iterations jump over the solution to and fro.
static const char kink[] = "par k=0;init x=1,y=1;x'=-1+k*max(0.7-x,0);y'=-y;@ t1=1";
static const char *const failing[] = {
    "backward-euler", "crank-nicolson", "implicit-midpoint", "sdirk-2-2",        "trbdf2",
    "kvaerno3",       "sdirk4",         "kvaerno5",          "gauss-legendre-4", "gauss-legendre-8",
    "radau-iia-3",    "radau-iia-5",    "radau-iia-9"};

// A fixed step that has no solution in reach ends its row; neighbours go on.
LONG_TEST(newton_fails_at_fixed_steps) {
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        struct solved s =
            solve(kink, "k=0,1e5,0,1e5,0", "method=%s controller=fixed dt=1", failing[i]);
        struct solved alone = solve(kink, "k=0", "method=%s controller=fixed dt=1", failing[i]);
        for (uint64_t row = 0; row < s.rows; row++) {
            CHECK_MSG(s.status[row] == (row % 2 ? SHOAL_STATUS_newton : SHOAL_STATUS_ok), "%s: %s",
                      failing[i], shoal_status_word(s.status[row]));
            if (row % 2)
                CHECK(isnan(solved_last(&s, 0, row)) && s.t[row] == 0 && s.steps[row] == 0);
            else
                CHECK_NEAR(solved_last(&s, 1, row), solved_last(&alone, 1, 0), 0);
        }
        solved_free(&s);
        solved_free(&alone);
    }
}

TEST(newton_fails_at_smallest_step) {
    static const char *const names[] = {"trbdf2", "kvaerno5", "radau5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct solved s = solve(kink, "k=0,1e5", "method=%s dt0=1 dt-min=1 rtol=0.5", names[i]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_MSG(s.status[1] == SHOAL_STATUS_newton, "%s: %s", names[i],
                  shoal_status_word(s.status[1]));
        CHECK(s.steps[1] == 0 && s.rejected[1] == 1 && s.t[1] == 0);
        solved_free(&s);
        s = solve(kink, "k=1e5", "method=%s dt0=1 rtol=1e-4", names[i]); // shorter ones find it
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK(s.rejected[0] > 0);
        CHECK_NEAR(solved_last(&s, 0, 0), 0.7 - 1e-5, 1e-4);
        solved_free(&s);
    }
}

// What is not a number is no failure of iterations.
TEST(newton_nonfinite) {
    static const char text[] = "par q=1;init x=1;x'=-x*sqrt(q-t);@ t1=1";
    static const char *const ways[] = {"", "controller=fixed dt=0.01"};
    static const char *const names[] = {"sdirk4", "kvaerno3", "radau5", "gauss-legendre-8"};
    for (size_t i = 0; i < 8; i++) {
        struct solved s = solve(text, "q=2,-1,0.505", "method=%s %s", names[i / 2], ways[i % 2]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        for (int row = 1; row < 3; row++)
            CHECK_MSG(s.status[row] == SHOAL_STATUS_nonfinite, "%s %s: %s", names[i / 2],
                      ways[i % 2], shoal_status_word(s.status[row]));
        CHECK(s.t[1] == 0 && s.t[2] > 0.45 && s.t[2] < 0.506);
        solved_free(&s);
    }
}

// gamma is 1/4 and 1: with x' = k x the matrix 1 - h k gamma is exactly 0 for a k.
TEST(newton_singular) {
    static const char text[] = "par k=1;init x=1,y=1;x'=k*x;y'=-y;@ t1=0.25";
    struct solved s = solve(text, "k=-1,16", "method=sdirk4 dt0=0.25 dt-min=0.25 rtol=1e-2");
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_INT(s.status[1], SHOAL_STATUS_singular);
    solved_free(&s);
    s = solve(text, "k=16", "method=sdirk4 dt0=0.25 rtol=1e-8"); // a smaller step mends it
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_NEAR(solved_last(&s, 0, 0), exp(4), 1e-5);
    solved_free(&s);
    s = solve(text, "k=4,-1", "method=backward-euler controller=fixed dt=0.25");
    CHECK_INT(s.status[0], SHOAL_STATUS_singular);
    CHECK_INT(s.status[1], SHOAL_STATUS_ok);
    solved_free(&s);
}

// The same for the real matrix of radau5, whose gamma is no fraction: its second pivot is 1 - 1.
TEST(newton_singular_collocation) {
    static const char text[] = "par k=1;init x=1,y=2;x'=k*y;y'=k*x;@ t1=0.25";
    static const char *const ways[] = {"controller=fixed dt=0.25", "dt0=0.25 dt-min=0.25 rtol=0.5"};
    char sweep[64];
    snprintf(sweep, sizeof sweep, "k=1,%.17g", 1 / (0.25 * method_find("radau5")->gamma));
    for (size_t i = 0; i < 2; i++) {
        struct solved s = solve(text, sweep, "method=radau5 %s", ways[i]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_INT(s.status[1], SHOAL_STATUS_singular);
        solved_free(&s);
    }
}

// ---- Precision ----------------------------------------------------------------------------------

// Squares of a pivot's parts would overflow f32.
TEST(newton_f32_is_very_stiff) {
    static const char *const names[] = {"radau5", "gauss-legendre-4", "kvaerno3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct solved s = solve("init x=1,y=1;x'=-1e21*(x-y);y'=-y;@ t1=1", NULL,
                                "method=%s precision=f32 controller=fixed dt=0.125", names[i]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_NEAR(solved_last(&s, 0, 0), exp(-1), 1e-3);
        CHECK_NEAR(solved_last(&s, 1, 0), exp(-1), 1e-3);
        solved_free(&s);
    }
}

// How exactly a fixed step's equations are solved follows the tolerances.
TEST(newton_tolerance_of_fixed_steps) {
    static const char text[] = "init x=1;x'=-x^3-20*x^2+sin(t);@ t1=1";
    static const char how[] = "method=backward-euler controller=fixed dt=0.1";
    struct solved exact = solve(text, NULL, "%s rtol=1e-13 atol=1e-14", how);
    for (int k = 2; k <= 10; k += 2) {
        double rtol = pow(10, -k);
        struct solved s = solve(text, NULL, "%s rtol=%g atol=%g", how, rtol, 1e-3 * rtol);
        CHECK_NEAR(solved_last(&s, 0, 0), solved_last(&exact, 0, 0), 1e-2 * rtol);
        CHECK(s.f_evals[0] < exact.f_evals[0]);
        solved_free(&s);
    }
    solved_free(&exact);
}

// ---- Bursts -------------------------------------------------------------------------------------

// A burst in which a row fails is taken back and repeated step by step: the rows beside it have the
// values and counts they have alone, and so do bursts that end early because samples are written.
TEST(newton_bursts) {
    enum { ROWS = 13 };
    static const char text[] = "par q=1;init x=1,y=0;x'=-50*x^3+y+sqrt(q-t);y'=x-20*y^2;@ t1=1";
    static const char *const names[] = {"backward-euler", "crank-nicolson", "sdirk4", "radau5"};
    const char *const inputs[RIG_NAMES] = {"q"};
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        char options[128];
        snprintf(options, sizeof options, "method=%s controller=fixed dt=0.003 save=final",
                 names[m]);
        struct rig rig = rig_new(NULL, text, options), one = rig_new("scalar", text, options);
        struct inputs in = inputs_new(ROWS, inputs);
        for (uint64_t i = 0; i < ROWS; i++)
            in.value[0][i] = i % 4 == 2 ? 0.08 * (double)i : 2; // fails at t = q
        struct outcome all = rig_run(&rig, &in, NULL, 0, NULL);
        struct outcome single = rig_run(&one, &in, NULL, 0, NULL);
        for (uint64_t i = 0; i < ROWS; i++) {
            CHECK_INT(all.status[i], i % 4 == 2 ? SHOAL_STATUS_nonfinite : SHOAL_STATUS_ok);
            outcome_same(&single, i, &all, i, options);
            struct outcome alone = rig_run(&rig, &in, (const uint64_t[]){i}, 1, NULL);
            outcome_same(&alone, 0, &all, i, "alone");
            outcome_free(&alone);
        }
        outcome_free(&single);
        outcome_free(&all);
        inputs_free(&in);
        rig_free(&one);
        rig_free(&rig);
    }
}

// Every step by itself, and bursts between samples.
TEST(newton_steps_and_samples) {
    static const char text[] = "init x=1,y=0;x'=-50*x^3+y+sin(t);y'=x-20*y^2;@ t1=1";
    static const char *const names[] = {"implicit-midpoint", "trbdf2", "gauss-legendre-4"};
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        struct solved end = solve(text, NULL, "method=%s controller=fixed dt=0.003", names[m]);
        struct solved grid =
            solve(text, NULL, "method=%s controller=fixed dt=0.003 save=n=7", names[m]);
        struct solved steps =
            solve_steps(text, "method=%s controller=fixed dt=0.003 save=steps", names[m]);
        CHECK_INT(grid.f_evals[0], end.f_evals[0]);
        for (uint32_t v = 0; v < 2; v++) {
            CHECK_NEAR(solved_last(&grid, v, 0), solved_last(&end, v, 0), 0);
            CHECK_NEAR(solved_last(&steps, v, 0), solved_last(&end, v, 0), 0);
        }
        solved_free(&end);
        solved_free(&grid);
        solved_free(&steps);
    }
}
