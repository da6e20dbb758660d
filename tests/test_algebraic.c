// SPDX-License-Identifier: MIT
// Algebraic rows: the digits of a reference problem, orders, starts from guesses, rows that have no
// start, pivots off the diagonal, the same bits everywhere, and what is refused.
#include "check.h"
#include "device_test.h"
#include "kernels.h"
#include "listing.h"
#include "solve.h"

#include "ode/method/method.h"

// Every implicit method: its order in differential and in algebraic states, which is lower where
// the algebraic rows hold at the stages and not at the end of a step; whether it adapts its steps.
static const struct {
    const char *name;
    double x_order, z_order;
    bool adapts;
} implicit[] = {
    {"rosenbrock23", 2, 2, true},
    {"ros3p", 3, 3, true},
    {"rodas3p", 3, 3, true},
    {"rodas4", 4, 4, true},
    {"rodas5p", 5, 5, true},
    {"backward-euler", 1, 1, false},
    {"implicit-midpoint", 2, 2, false},
    {"crank-nicolson", 2, 2, true},
    {"sdirk-2-2", 2, 2, true},
    {"trbdf2", 2, 2, true},
    {"kvaerno3", 3, 3, true},
    {"sdirk4", 4, 4, true},
    {"kvaerno5", 5, 5, true},
    {"gauss-legendre-4", 4, 2, true},
    {"gauss-legendre-8", 8, 4, true},
    {"radau-iia-3", 3, 3, true},
    {"radau-iia-5", 5, 5, true},
    {"radau-iia-9", 9, 9, true},
};
enum { IMPLICIT = sizeof implicit / sizeof *implicit };

TEST(algebraic_list_of_methods) {
    uint32_t known = 0;
    for (uint32_t i = 0; i < method_count; i++)
        known += methods[i].scheme != EXPLICIT;
    CHECK_INT(known, IMPLICIT);
}

// ---- Accuracy -----------------------------------------------------------------------------------

LONG_TEST(algebraic_akzo) {
    static const double end[] = {0.1150794920661702,    0.1203831471567715e-2,
                                 0.1611562887407974,    0.3656156421249283e-3,
                                 0.1708010885264404e-1, 0.4873531310307455e-2};
    char *text = check_read("examples/akzo.ode");
    REQUIRE(text);
    for (size_t m = 0; m < IMPLICIT; m++)
        for (double rtol = 1e-4; implicit[m].adapts && rtol > 1e-9; rtol /= 100) {
            if (!check_does(m, 0, 2))
                continue;
            struct solved s = solve(text, NULL, "method=%s rtol=%g atol=%g max-steps=1000000",
                                    implicit[m].name, rtol, rtol * 1e-4);
            CHECK_INT(s.status[0], SHOAL_STATUS_ok);
            for (uint32_t j = 0; j < 6; j++)
                CHECK_MSG(fabs(solved_last(&s, j, 0) / end[j] - 1) < 100 * rtol ||
                              (j == 5 && implicit[m].z_order < implicit[m].x_order),
                          "%s at %g: y%u is %.12g, not %.12g", implicit[m].name, rtol, j + 1,
                          solved_last(&s, j, 0), end[j]);
            solved_free(&s);
        }
    free(text);
}

// x = cos t, z = 2 + sin t; the row depends on time.
static const char circle[] = "init x=1; x'=2-z; alg z=1.7; 0=z^2+x^2-5-4*sin(t); @ t1=2";

// Newton's iterations go on to the last digits.
static void circle_errors(const char *method, double dt, double errors[2]) {
    struct solved s = solve(
        circle, NULL, "method=%s controller=fixed dt=%.17g rtol=1e-13 atol=1e-13", method, dt);
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    errors[0] = fabs(solved_last(&s, 0, 0) - cos(2));
    errors[1] = fabs(solved_last(&s, 1, 0) - 2 - sin(2));
    solved_free(&s);
}

// Steps are so large that errors are well above rounding.
static void check_orders(size_t m, double dt) {
    double large[2], small[2];
    circle_errors(implicit[m].name, dt, large);
    circle_errors(implicit[m].name, dt / 2, small);
    for (int j = 0; j < 2; j++) {
        double slope = log2(large[j] / small[j]);
        double order = j ? implicit[m].z_order : implicit[m].x_order;
        CHECK_MSG(slope > order - 0.4 || small[j] < 1e-12, "%s: %s falls with order %g (%g, %g)",
                  implicit[m].name, j ? "z" : "x", slope, large[j], small[j]);
    }
}

TEST(algebraic_orders) {
    for (size_t m = 0; m < IMPLICIT; m++)
        if (check_does(m, 0, 2))
            check_orders(m, implicit[m].x_order < 6 ? 1.0 / 16 : 0.5);
}

TEST(algebraic_samples_between_steps) {
    for (size_t m = 0; m < IMPLICIT; m++) {
        if (!check_does(m, 1, 2))
            continue;
        struct solved s = solve(circle, NULL, "method=%s %s save=n=41", implicit[m].name,
                                implicit[m].adapts ? "rtol=1e-6 atol=1e-8" : "dt=0.03");
        double allowed = implicit[m].adapts ? 1e-4 : implicit[m].x_order > 1 ? 1e-3 : 0.03;
        for (uint64_t n = 0; n < 41; n++) {
            double x = fabs(solved_value(&s, 0, 0, n) - cos(0.05 * (double)n));
            double z = fabs(solved_value(&s, 1, 0, n) - 2 - sin(0.05 * (double)n));
            // the stages of sdirk4 are not as good as their sum
            double rough = strcmp(implicit[m].name, "sdirk4") ? 3 : 50;
            CHECK_MSG(x < allowed && z < rough * allowed, "%s: %g, %g in sample %d",
                      implicit[m].name, x, z, (int)n);
        }
        solved_free(&s);
    }
}

// Without a differential row, backwards in time, with steps of f32.
TEST(algebraic_alone) {
    struct solved s =
        solve("alg z=1; 0=z^3+z-t; aux c=z^3+z; @ t1=10", NULL, "method=rodas4 vars=c");
    CHECK_NEAR(solved_last(&s, 0, 0), 10, 1e-5);
    solved_free(&s);
    s = solve(circle, NULL, "method=rodas5p t0=1 t1=-1");
    CHECK_NEAR(solved_last(&s, 1, 0), 2 + sin(-1), 0.3); // x(1) is 1 here: another circle
    solved_free(&s);
    s = solve(circle, NULL, "method=rodas3p precision=f32");
    CHECK_NEAR(solved_last(&s, 1, 0), 2 + sin(2), 1e-3);
    solved_free(&s);
}

// ---- Starts -------------------------------------------------------------------------------------

TEST(algebraic_start_from_a_guess) {
    static const char text[] = "init x=1; x'=-x; alg z=0; 0=z^5+z-34*x; @ t1=1"; // z = 2
    struct solved s =
        solve(text, "z(0)=2,0,1,-1,100,-1e3,1e4", "method=rodas5p save=n=2 rtol=1e-8 atol=1e-10");
    for (uint64_t i = 0; i < s.rows; i++) {
        CHECK_INT(s.status[i], SHOAL_STATUS_ok);
        CHECK_NEAR(solved_value(&s, 1, i, 0), 2, 1e-14);
        CHECK_NEAR(solved_value(&s, 1, i, 1), solved_value(&s, 1, 0, 1), 1e-12);
        CHECK_INT(s.steps[i], s.steps[0]);
    }
    CHECK(s.f_evals[6] > s.f_evals[0]); // a start that takes long is counted
    solved_free(&s);
}

// Newton's own step leads far beyond what exp can do; the guess may be a formula, a value of a set.
TEST(algebraic_start_damped) {
    struct solved s = solve("par R=1e3,V=5; alg v=0; 0=(V-v)/R-1e-14*(exp(v/0.025)-1); x'=v;"
                            "aux i=(V-v)/R; @ t1=1",
                            "V=0.1,1,5,20,-3", "method=rodas4 vars=v,i save=n=2");
    for (uint64_t n = 0; n < s.rows; n++) {
        double v = solved_value(&s, 0, n, 0);
        CHECK_INT(s.status[n], SHOAL_STATUS_ok);
        CHECK_NEAR(solved_value(&s, 1, n, 0), 1e-14 * (exp(v / 0.025) - 1), 1e-12);
    }
    solved_free(&s);
    s = solve("par a=3; x'=1; z(0)=a+0.1; alg z; 0=z^2-a^2", "a=3,-5", "method=rodas4 t1=1");
    CHECK_NEAR(solved_last(&s, 1, 0), 3, 1e-9);
    CHECK_NEAR(solved_last(&s, 1, 1), -5, 1e-9);
    solved_free(&s);
}

// No real solution, a singular matrix, and nothing finite, beside rows that have a start.
static const char fussy[] = "par p=1, q=1; init x=1; x'=-x*z; alg z=1; 0=z^2*q-p*x; @ t1=1, t0=0.5";
static const char fussy_sweep[] = "p=-1,1,2,-3,0.5,4,-1,9,1 q=0,1";

static void check_fussy(const struct solved *s) {
    for (uint64_t i = 0; i < s->rows; i++) {
        bool good = i % 2 && i != 1 && i != 7 && i != 13; // q = 0: singular; p < 0: none
        CHECK_INT(s->status[i], good ? SHOAL_STATUS_ok : SHOAL_STATUS_bad_init);
        for (uint64_t n = 0; n < s->samples; n++)
            CHECK(isnan(solved_value(s, 1, i, n)) == !good);
        CHECK(good || (s->steps[i] == 0 && s->rejected[i] == 0));
    }
}

TEST(algebraic_bad_init) {
    static const char *const options[] = {
        "method=rodas4", "method=rodas4 refill=off", "method=ros3p save=n=5",
        "method=rodas3p controller=fixed dt=0.01", "method=rodas5p save=n=5 refill=off threads=1"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct solved s = solve(fussy, fussy_sweep, "%s", options[i]);
        check_fussy(&s);
        solved_free(&s);
    }
    struct solved s = solve(fussy, "p=-1,1", "method=rodas4 keep-failed=1");
    CHECK_NEAR(s.t[0], 0.5, 0);
    CHECK_NEAR(solved_last(&s, 0, 0), 1, 0);
    CHECK_NEAR(s.t[1], 1, 0);
    solved_free(&s);
    s = solve(fussy, "q=0,-1,0,0,0,0,0,0,0,0,0", "method=rodas4"); // none of them
    for (int i = 0; i < 11; i++)
        CHECK_INT(s.status[i], SHOAL_STATUS_bad_init);
    solved_free(&s);
}

TEST(algebraic_bad_init_is_told) {
    check_write(check_path("m.ode"), "x'=-x\nalg z=1\n0=z^2+1\n@ t1=1, method=rodas4\n");
    struct check_output o = RUN(check_shoal(), "run", check_path("m.ode"), "-o", "-");
    CHECK_INT(o.status, 5);
    CHECK_HAS(o.out, "bad_init");
    CHECK_HAS(o.err, "give better guesses");
}

// ---- Pivots -------------------------------------------------------------------------------------

// No algebraic row has its own state; with the second the diagonal is there, but cancels.
TEST(algebraic_pivots_off_the_diagonal) {
    static const char *const models[] = {
        "init x=1; x'=-b; alg a,b,c; 0=b-x; 0=c-2*b; 0=a-3*c",
        "init x=1; x'=-b; alg a,b,c; 0=c-2*b; 0=a-6*b; 0=x*exp(-x)*a-6*exp(-x)*x*b+b-x",
        "init x=1; x'=-b; alg a,b,c; 0=a+b-7*x; 0=a+b+c-9*x; 0=b+c-3*x",
        "init x=1; x'=-b; alg b,a,c; 0=b+c-3*x; 0=a+b-7*x; 0=a+b+c-9*x",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct solved s = solve(models[i], NULL, "method=rodas5p t1=1 rtol=1e-9 vars=x,a,b,c");
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        double x = solved_last(&s, 0, 0);
        CHECK_NEAR(x, exp(-1), 1e-7);
        CHECK_NEAR(solved_last(&s, 1, 0), 6 * x, 1e-7);
        CHECK_NEAR(solved_last(&s, 2, 0), x, 1e-7);
        CHECK_NEAR(solved_last(&s, 3, 0), 2 * x, 1e-7);
        solved_free(&s);
    }
}

// A ladder of resistors: voltages and currents, each row with several states and no order.
static char *ladder(int n) {
    struct buf m = {0};
    buf_puts(&m, "par R=1,g=1; init u=1; u'=-i0-u^3; v0=u");
    for (int k = 0; k < n; k++) {
        buf_printf(&m, ";alg i%d; alg v%d; 0=i%d-g*v%d", k, k + 1, k, k + 1);
        if (k + 1 < n)
            buf_printf(&m, "-i%d", k + 1);
        buf_printf(&m, ";0=v%d-v%d-R*i%d-0.01*i%d^3", k, k + 1, k, k);
    }
    REQUIRE(!m.failed);
    return m.data;
}

// ---- The same everywhere ------------------------------------------------------------------------

enum { ROWS = 67 };

// Two parameters; of the second some have no start.
static struct inputs spread(const char *first, double a, double b, const char *second) {
    const char *names[RIG_NAMES] = {first, second};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = a * pow(b / a, (double)(i * 29 % ROWS) / (ROWS - 1));
        if (second)
            in.value[1][i] = i % 9 == 4 || (i > 20 && i < 40) ? -1 : 1;
    }
    return in;
}

DEVICE_TEST(algebraic_rosenbrock) {
    device_compare(device, fussy, "method=rosenbrock23 rtol=1e-4", spread("p", 0.1, 10, "q"));
    device_compare(device, fussy, "method=rodas5p save=n=7", spread("p", 0.1, 10, "q"));
}

LONG_DEVICE_TEST(algebraic_newton) {
    static const char *const options[] = {"method=kvaerno3 rtol=1e-4", "method=sdirk4 save=n=7",
                                          "method=radau-iia-5", "method=implicit-midpoint dt=0.01"};
    for (size_t i = 0; i < 4; i++)
        if (check_does(i / 2, i % 2, 2))
            device_compare(device, fussy, options[i], spread("p", 0.1, 10, "q"));
}

LONG_DEVICE_TEST(algebraic_variants) {
    device_compare(device, fussy, "method=rodas4 precision=f32", spread("p", 0.1, 10, "q"));
    device_compare(device, fussy, "method=rodas5p controller=fixed dt=0.01 save=n=3",
                   spread("p", 0.1, 10, "q"));
    device_compare(device, fussy, "method=rodas3p keep-failed=1", spread("p", 0.1, 10, "q"));
    device_compare(device, fussy, "method=ros3p controller=fixed dt=0.01",
                   spread("q", -0.1, -10, NULL)); // no row has a start
}

// Written out, as loops, and in the workspace of a thread.
LONG_DEVICE_TEST(algebraic_sizes) {
    static const int sizes[] = {3, 20, 70};
    for (size_t i = check_does(0, 1, 2) ? 0 : 1; i < sizeof sizes / sizeof *sizes; i++) {
        char *model = ladder(sizes[i]);
        device_compare(device, model, "method=rodas4 t1=1 rtol=1e-4", spread("R", 0.1, 10, NULL));
        free(model);
    }
}

LONG_DEVICE_TEST(algebraic_refill_and_chunks) {
    device_compare_chunks(device, fussy, "method=rodas4 save=n=4", spread("p", 0.1, 10, "q"));
}

// All widths of a CPU's registers.
TEST(algebraic_lanes) {
    static const char *const targets[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
    struct inputs in = spread("p", 0.1, 10, "q");
    for (int f32 = 0; f32 < 2; f32++) {
        const char *options = f32 ? "method=rodas4 precision=f32" : "method=rodas4";
        struct rig reference = device_rig_reference(fussy, options);
        struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
            if (!rig_has_target(targets[i]))
                continue;
            struct rig rig = rig_new(targets[i], fussy, options);
            struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
            device_same(&want, &got, targets[i]);
            outcome_free(&got);
            rig_free(&rig);
        }
        outcome_free(&want);
        rig_free(&reference);
    }
    inputs_free(&in);
}

// The same factorisation as statements and as loops: a thread has loops where a CPU has none, and
// algebraic_sizes compares their bits.
TEST(algebraic_statements_and_loops) {
    static const struct shoal_target targets[] = {
        {.name = "x86-64-v3", .prelude = "prelude_c.h", .lanes64 = 4},
        {.name = "opencl", .prelude = "prelude_opencl.h", .device = true, .lanes64 = 1}};
    char *model = ladder(70);
    for (size_t i = 0; i < 2; i++) {
        struct listing s = listing_new(model, "method=rodas4 t1=1", &targets[i]);
        CHECK_HAS(s.kernel.text.data, i ? "#define LU_LOOPS 1" : "#define LU_LOOPS 0");
        CHECK_HAS(s.kernel.text.data, "#define ALGEBRAIC 140\n");
        CHECK_HAS(s.kernel.text.data, "CONSTANT int row_algebraic[141] = {");
        listing_free(&s);
    }
    free(model);
}

// ---- What is understood, and what is refused ----------------------------------------------------

TEST(algebraic_information) {
    struct check_output o = RUN(check_shoal(), "info", "examples/akzo.ode");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "states: 6\n  1 of them algebraic");
    o = RUN(check_shoal(), "info", "examples/akzo.ode", "--json");
    CHECK_HAS(o.out, "{\"name\": \"y6\", \"value\": 0.35999999999999999, \"algebraic\": true}");
}

// Blocks of rows, functions, temporaries, and a file as XPP has it.
TEST(algebraic_language) {
    static const char *const models[] = {
        "init x=1\nx'=-x\nalg z[1..3]=1\n%[1..3]\n0=z[j]^3-[j]*x\n%\n@ t1=1\n",
        "init x=1\nx'=-x\nf(a,b)=a^3-b\nsolv z1=1 z2=1,z3\ns=2*x\n0=f(z1,x)\n0=f(z2,s)\n"
        "init z3=1\n0=max(f(z3,3*x),-1e9)\n@ t1=1\ndone\n0=not read\n",
        "SOLVE z1=1\ndx/dt=-x\n0.0 = z1^3-x\nx(0)=1\nsolve z2=1, z3=1\n0=z2^3-2*x\n0=z3^3-3*x\n"
        "@ total=1\n",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct solved s = solve(models[i], NULL, "method=rodas4 rtol=1e-8 vars=z1,z2,z3");
        for (uint32_t j = 0; j < 3; j++)
            CHECK_NEAR(solved_last(&s, j, 0), cbrt((j + 1) * exp(-1)), 1e-6);
        solved_free(&s);
    }
}

// The first message of a model that is refused.
static void refused(const char *text, const char *want) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    CHECK_INT(shoal_model_parse("m", text, strlen(text), &m, log), SHOAL_INPUT);
    CHECK(m == NULL);
    char *messages = rig_messages(log);
    CHECK_HAS(messages, want);
    free(messages);
    shoal_log_free(log);
}

TEST(algebraic_refused) {
    refused("x'=-x\nalg z=1, w\n0=z-x\n",
            "m:2:10: error: the model has 1 algebraic row (`0=...`) in line 3 but 2 algebraic "
            "states (`z`, `w`)");
    refused("x'=-x\n0=x-z\nz=1\n",
            "m:2:1: error: the model has 1 algebraic row (`0=...`) in line 2 "
            "but 0 algebraic states");
    refused("x'=-x\n0=z\n0=z-1\nalg z\n",
            "m:3:1: error: the model has 2 algebraic rows (`0=...`) in "
            "lines 2, 3 but 1 algebraic state (`z`)");
    refused("x'=-x\nalg x\n0=x\n", "`x` is already a state, see line 1");
    refused("x'=-x\nalg z\n0=\n", "m:3:3: error: expected a value, found the end");
    refused("x'=-x\nalg z\n0=z'\n", "a derivative cannot be used");
    refused("x'=-x\nalg z\n0'=z\n", "m:3:1: error: this line is not understood");
    refused("x'=-x\nalg z\n1=z\n", "m:3:1: error: this line is not understood");
    refused("x'=-x\nalg z\n!0=z\n", "expected a derived parameter here");
    refused("x'=-x\npar 0=1\n", "m:2:5: error: expected a name here");
    refused("x'=-x\nalg 0=1\n", "m:2:5: error: expected a name here");
    refused("x'=-x\nalg z\naux z=1\n0=z\n", "an observable cannot have the name of a state: `z`");
    refused("x'=-x\nalg z=x\n0=z\n", "the initial value of `z` can only use");
}

TEST(algebraic_index_is_refused) {
    refused("x'=u\ny'=v\nu'=-l*x\nv'=-l*y-9.81\ninit x=1\nalg l=0\n0=x^2+y^2-1\n",
            "m:7:1: error: the algebraic row of line 7 has no algebraic state in it, and no row "
            "determines `l`: the system has an index above 1");
    refused("x'=-x\nalg a,b,c\n0=x+a\n0=x-a\n0=b+c+x\n",
            "m:4:1: error: the algebraic rows of lines 3, 4 have only `a` to determine, and `b`, "
            "`c` have only line 5: the system");
    // heav has no slope; a constant may take a state away
    refused("x'=-x\nalg a\n0=x+heav(a)\n", "no row determines `a`");
    refused("const k=0\nx'=-x\nalg a\n0=x+k*a\n", "no row determines `a`");
    struct made m =
        make_solver("const k=1; x'=-x; alg a; 0=x+k*a; @ t1=1", "method=rodas4", true, NULL);
    CHECK_INT(m.code, SHOAL_OK);
    CHECK_INT(shoal_model_set(m.model, "k=0", m.log), SHOAL_OK);
    made_free(&m);
}

TEST(algebraic_explicit_methods_are_refused) {
    for (uint32_t i = 0; i < method_count; i++) {
        char options[64];
        snprintf(options, sizeof options, "method=%s%s", methods[i].name,
                 methods[i].embedded ? "" : " dt=0.1");
        struct made m = make_solver("x'=-x; alg z; 0=z-x; @ t1=1", options, true, NULL);
        CHECK_INT(m.code, methods[i].scheme == EXPLICIT ? SHOAL_INPUT : SHOAL_OK);
        char *messages = rig_messages(m.log);
        if (methods[i].scheme == EXPLICIT)
            CHECK_HAS(messages,
                      "cannot run a model with algebraic rows (`0=...`); take an implicit "
                      "one, as in --method rodas5p");
        free(messages);
        made_free(&m);
    }
    check_write(check_path("m.ode"), "x'=-x\nalg z\n0=z-x\n@ t1=1, method=tsit5\n");
    // What the file names gives way to the default, with a note; what the user names does not.
    struct check_output o = RUN(check_shoal(), "run", check_path("m.ode"));
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "note: method 'tsit5' cannot run algebraic rows");
    CHECK_INT(RUN(check_shoal(), "run", check_path("m.ode"), "--method", "tsit5").status, 1);
}

// A guess comes from a batch like any initial value, and has a tolerance like any state.
TEST(algebraic_states_are_states) {
    check_write(check_path("m.ode"),
                "init x=1\nx'=-x\nalg z=1\n0=z^2-x^2\n@ t1=1, method=rodas4\n");
    check_write(check_path("b.csv"), "z(0),x(0)\n2,1\n-2,1\n-0.5,3\n");
    struct check_output o =
        RUN(check_shoal(), "run", check_path("m.ode"), "--batch", check_path("b.csv"), "--atol",
            "1e-9,z=1e-7", "--vars", "z", "-q", "--save", "at=0", "-o", "-");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "run,t,z\n0,0,1\n1,0,-1\n2,0,-3\n");
}
