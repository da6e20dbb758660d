// SPDX-License-Identifier: MIT
// Derived parameters that are made of states: once per trajectory, of its initial values and t0,
// whichever way these are given, and in one order with initial values that are formulas.
#include "check.h"
#include "device_test.h"
#include "ode/model/model.h"
#include "solve.h"

#include <math.h>

// y starts from b, which is made of x; d is made of y and of a temporary; z starts from d.
static const char chained[] =
    "par p=2\nx'=1\ny'=-0.1*b*y\nz'=-z+d*1e-3\ninit x=3\ny(0)=c+1\nz(0)=d*10+t\n"
    "!d=y+v+f(0)\n!b=x*2+p\n!c=b*100+t\nv=x+e\n!e=p*1000\nf(u)=u*y\n"
    "aux bb=b\naux cc=c\naux dd=d\n";

struct start {
    double b, c, d, y, z;
};

// NAN: y(0) is the formula.
static struct start start_of(double p, double x, double y, double t0) {
    struct start s = {.b = x * 2 + p};
    s.c = s.b * 100 + t0;
    s.y = isnan(y) ? s.c + 1 : y;
    s.d = s.y + x + p * 1000;
    s.z = s.d * 10 + t0;
    return s;
}

static shoal_model *parse(const char *text) {
    shoal_model *m = NULL;
    REQUIRE(shoal_model_parse("m", text, strlen(text), &m, NULL) == SHOAL_OK);
    return m;
}

// ---- By the library -----------------------------------------------------------------------------

static double named(const shoal_model *m, const double *values, const char *name) {
    for (uint32_t i = 0; i < shoal_model_count(m, SHOAL_DERIVED); i++)
        if (!strcmp(shoal_model_symbol(m, SHOAL_DERIVED, i), name))
            return values[i];
    return NAN;
}

static void check_model(const shoal_model *m, double t0, struct start want) {
    double derived[4], state[3], dydt[3];
    shoal_model_values(m, SHOAL_DERIVED, t0, derived);
    CHECK(named(m, derived, "b") == want.b && named(m, derived, "c") == want.c);
    CHECK(named(m, derived, "d") == want.d);
    shoal_model_values(m, SHOAL_STATE, t0, state);
    CHECK(state[1] == want.y && state[2] == want.z);
    shoal_model_rhs(m, t0, (const double[]){70, 10, 0}, dydt); // not where it starts
    CHECK_NEAR(dydt[1], -want.b, 1e-12);
    CHECK_NEAR(dydt[2], want.d * 1e-3, 1e-12);
}

TEST(derived_of_states_values) {
    shoal_model *m = parse(chained);
    check_model(m, 0, start_of(2, 3, NAN, 0));
    check_model(m, 5, start_of(2, 3, NAN, 5));
    for (uint32_t i = 0; i < 4; i++)
        if (!strcmp(shoal_model_symbol(m, SHOAL_DERIVED, i), "d"))
            CHECK(shoal_model_value(m, SHOAL_DERIVED, i) == start_of(2, 3, NAN, 0).d);
    REQUIRE(!shoal_model_set(m, "p=7,x(0)=-1", NULL));
    check_model(m, 0, start_of(7, -1, NAN, 0));
    REQUIRE(!shoal_model_set(m, "y=4", NULL)); // instead of its formula
    check_model(m, 1, start_of(7, -1, 4, 1));
    shoal_model_free(m);
}

// ---- What a run makes of it ---------------------------------------------------------------------

enum { B = 3, C, D };
static const char first_sample[] = "t0=5 t1=6 vars=x,y,z,bb,cc,dd save=n=2";

static void check_row(const struct solved *s, uint64_t row, double p, double x, double y,
                      double tolerance) {
    struct start want = start_of(p, x, y, 5);
    const double all[] = {x, want.y, want.z, want.b, want.c, want.d};
    for (uint32_t var = 0; var < 6; var++) {
        CHECK_NEAR(solved_value(s, var, row, 0), all[var], tolerance * fabs(all[var]));
        if (var >= B) // it does not move
            CHECK(solved_value(s, var, row, 1) == solved_value(s, var, row, 0));
    }
}

LONG_TEST(derived_of_states_swept) {
    static const char *const names[] = {"tsit5", "rodas5p", "kvaerno3", "radau-iia-5",
                                        "rk4 dt=0.1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int f32 = 0; f32 < 2; f32++) {
            double near = f32 ? 1e-6 : 1e-15;
            struct solved s = solve(chained, "x(0)=1,2.5 p=0.5,3", "method=%s precision=%s %s",
                                    names[i], f32 ? "f32" : "f64", first_sample);
            for (uint64_t row = 0; row < 4; row++)
                check_row(&s, row, row % 2 ? 3 : 0.5, row < 2 ? 1 : 2.5, NAN, near);
            solved_free(&s);
        }
    struct solved s = solve(chained, "y(0)=4,-2 x=1.5,2", "method=tsit5 %s", first_sample);
    for (uint64_t row = 0; row < 4; row++)
        check_row(&s, row, 2, row % 2 ? 2 : 1.5, row < 2 ? 4 : -2, 1e-15);
    solved_free(&s);
}

// Three runs, from whatever x(0) is.
static void check_rows(const char *const *more) {
    const char *argv[32] = {check_shoal(),
                            "run",
                            check_path("m.ode"),
                            "--t1",
                            "1",
                            "--vars",
                            "x,bb,dd",
                            "--method",
                            "euler",
                            "--dt",
                            "1",
                            "--save",
                            "n=2",
                            "-q",
                            "-o",
                            "-"};
    for (size_t n = 16; *more;)
        argv[n++] = *more++;
    struct check_output o = check_command(argv);
    double t, x, b, d, last = NAN;
    int rows = 0;
    CHECK_MSG(o.status == 0, "%s", o.err);
    for (const char *line = strchr(o.out, '\n');
         line && sscanf(line, "\n%*d,%lf,%lf,%lf,%lf", &t, &x, &b, &d) == 4;
         line = strchr(line + 1, '\n'), rows++) {
        struct start want = start_of(2, x - t, NAN, 0);
        CHECK_NEAR(b, want.b, 1e-12);
        CHECK_NEAR(d, want.d, 1e-9);
        CHECK(t == 1 || x != last);
        last = t == 0 ? x : last;
    }
    CHECK_INT(rows, 6);
}
#define COMMAND(...) check_rows((const char *[]){__VA_ARGS__, NULL})

TEST(derived_of_states_sampled_and_from_a_file) {
    check_write(check_path("m.ode"), chained);
    check_write(check_path("b.csv"), "x(0)\n1\n-2\n0.125\n");
    COMMAND("--batch", check_path("b.csv"));
    COMMAND("--sample", "x=normal:1:3", "--runs", "3");
    struct check_output o =
        RUN(check_shoal(), "info", check_path("m.ode"), "--t0", "5", "--t1", "6");
    CHECK_HAS(o.out, "  d         2809\n");
    CHECK_HAS(o.out, "  y         806 ");
    CHECK_HAS(o.out, "-644.8"); // its derivative
}

// A rigid chain of many: the function is cut into parts, and the system is a large one.
TEST(derived_of_states_many) {
    enum { COUNT = 700 };
    struct buf text = {0};
    buf_puts(&text, "par p=1\nx0'=0\ninit x0=1\n");
    for (int i = 1; i <= COUNT; i++) { // the last first
        int k = COUNT + 1 - i;
        buf_printf(&text, "x%d(0)=b%d\n!b%d=x%d+p\nx%d'=0\n", k, k, k, k - 1, k);
    }
    struct solved s = solve(text.data, "x0=1,2 p=1,0.5 x300(0)=0,-1", "method=tsit5 t1=1");
    CHECK_INT(s.vars, COUNT + 1);
    for (uint64_t row = 0; row < 8; row++) {
        double p = row / 2 % 2 ? 0.5 : 1, x0 = row < 4 ? 1 : 2, x300 = row % 2 ? -1 : 0;
        for (uint32_t var = 0; var < s.vars; var++) {
            uint32_t k = var ? COUNT + 1 - var : 0; // as they are written
            double want = k < 300 ? x0 + k * p : x300 + (k - 300) * p;
            REQUIRE(solved_value(&s, var, row, 0) == want);
        }
    }
    solved_free(&s);
    buf_free(&text);
}

// A run that another method takes over starts once more, from the same values.
TEST(derived_of_states_taken_over) {
    static const char stiff[] = "par mu=1; init x=2; y(0)=q-8; !q=x*4; !r=q*mu/8; x'=y;"
                                "y'=r*(1-x^2)*y-x; aux rr=r; aux qq=q";
    struct solved s = solve(stiff, "mu=1,1000 x=2,2.5", "method=auto t1=40 vars=x,rr,qq");
    struct solved one = solve(stiff, "mu=1,1000 x=2,2.5", "method=rodas5p t1=40 vars=x,rr,qq");
    CHECK_INT(s.tally.found_stiff + s.tally.failed_first, 2);
    for (uint64_t row = 0; row < 4; row++) {
        double x = row % 2 ? 2.5 : 2, mu = row < 2 ? 1 : 1000;
        CHECK(s.status[row] == 0 && solved_value(&s, 2, row, 0) == x * 4);
        CHECK(solved_value(&s, 1, row, 0) == x * 4 * mu / 8);
        if (row >= 2)
            CHECK(solved_value(&s, 0, row, 0) == solved_value(&one, 0, row, 0));
    }
    solved_free(&s);
    solved_free(&one);
}

// As xppaut does: what an algebraic state was given, not what its row makes of it.
TEST(derived_of_a_guess) {
    static const char text[] =
        "init x=3\nx'=1\nalg y=7\n0=y-x*2\n!b=y+1000\naux bb=b\naux yy=y\n@ t1=1\n";
    struct solved s = solve(text, "y(0)=7,9", "method=rodas5p save=n=2 vars=bb,yy");
    CHECK(solved_value(&s, 0, 0, 0) == 1007 && solved_value(&s, 0, 1, 0) == 1009);
    CHECK(solved_value(&s, 0, 0, 1) == 1007 && solved_value(&s, 0, 1, 1) == 1009);
    CHECK_NEAR(solved_value(&s, 1, 1, 0), 6, 1e-9);
    solved_free(&s);
    struct report r = {0};
    struct model *m = model_parse("m", text, strlen(text), &r);
    REQUIRE(m && r.messages.count == 1);
    CHECK_HAS(r.messages.items[0].text,
              "m:3:5: note: `y` is algebraic: derived parameters take its guess");
    model_free(m);
    report_free(&r);
}

TEST(derived_of_states_failure) {
    static const char text[] = "init x=4\ny(0)=b\n!c=1/(x-y)\n!b=sqrt(x)\nx'=1\ny'=c\nz'=b\n"
                               "@ t1=5\n";
    const char *path = check_path("m.ode");
    check_write(path, text);
    struct check_output o =
        RUN(check_shoal(), "run", path, "--sweep", "x(0)=4,1", "--timing", "none");
    CHECK_HAS(o.err, "run 1: the derivative of y is not finite at the start, t=0: 1/0\n");
    o = RUN(check_shoal(), "run", path, "--set", "x=-1", "--timing", "none");
    CHECK_HAS(o.err, "the initial value of y is not finite at the start, t=0: sqrt(-1)\n");
    check_write(path, "init x=4\n!b=sqrt(x-3)\nx'=-b-sqrt(x)\n@ t1=9\n"); // b stays what it was
    o = RUN(check_shoal(), "run", path, "--timing", "none");
    CHECK_HAS(o.err, "the derivative of x is not finite just after t=");
    CHECK_MSG(strstr(o.err, ": sqrt(-") && !strstr(o.err, "sqrt(-3"), "%s", o.err);
}

// ---- Every device, bit for bit ------------------------------------------------------------------

static const char device_model[] =
    "par a=1, b=2; init x=0.7; y(0)=w/(1+w*w)+a; !w=sqrt(a*a+x*x)+t*0.1; !q=v/(1+y*y); v=x/(1+b*b);"
    "z(0)=q*w; x'=-w*x+q*y; y'=-y*q+x/w; z'=x-z*w; aux e=x*w+q*t";

static struct inputs device_inputs(const char *state) {
    enum { ROWS = 61 };
    const char *names[RIG_NAMES] = {"a", "b", state};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) {
        in.value[0][i] = 0.3 + 0.05 * (double)(i * 17 % ROWS);
        in.value[1][i] = 1 + 0.1 * (double)(i * 5 % ROWS);
        in.value[2][i] = i == 9 ? 1e200 : 0.1 + 0.02 * (double)i; // its square is not finite
    }
    return in;
}

LONG_DEVICE_TEST(derived_of_states) {
    static const char *const options[] = {
        "method=tsit5 t0=1 t1=3 vars=x,y,z,e save=n=4",
        "method=rk4 t1=1 dt=0.01 precision=f32",
        "method=rodas5p t1=2",
        "method=kvaerno3 t1=1 precision=f32 save=n=3",
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        device_compare(device, device_model, options[i], device_inputs("x(0)"));
        device_compare(device, device_model, options[i], device_inputs("y(0)"));
    }
    device_compare_chunks(device, device_model, options[0], device_inputs("x"));
}

LONG_DEVICE_TEST(derived_of_guesses) {
    device_compare(
        device, "par a=1, b=2; init x=1; alg y=0.5; 0=y^3+y-x*b; !c=y*x+t; x'=-a*x+c*y; aux cc=c",
        "method=rodas5p t1=2 vars=x,y,cc", device_inputs("y(0)"));
}

LONG_DEVICE_TEST(derived_of_states_large) {
    device_compare(device,
                   "par a=1, b=2; init x[1..150]=0.01*[j]; !d[1..150]=x[j]*a+t; y1(0)=d150+b;"
                   "y1'=-y1; x[1..150]'=-d[j]*x[j]",
                   "method=tsit5 t1=0.5", device_inputs("x150(0)"));
}
