// SPDX-License-Identifier: MIT
// States where the right-hand side is finite and its derivative is not: roots, powers below 1,
// arcs.
//
// Such a Jacobian damps a step to nothing, and an estimate made with it sees no error; so does one
// that is merely huge, as that of sqrt(h) at 1e-50. Every implicit method leaves such a state with
// the right result, or says that it cannot.
//
// h' = f(h) is solved by a quadrature: t = integral of dh / f(h), a = integral of h dh / f(h).
#include "check.h"
#include "device_test.h"
#include "kernels.h"
#include "ode/method/method.h"
#include "solve.h"

struct root {
    const char *text; // f of `h`
    double (*slope)(double h);
    double t1;
};

static double slope_tank(double h) { return 1 - sqrt(h); }
static double slope_growth(double h) { return 1 + pow(h, 2.0 / 3) - 0.2 * h; }
static double slope_root(double h) { return 1 + sqrt(h); }
static double slope_cube(double h) { return 1 - cbrt(h) / 2; }
static double slope_power(double h) { return 1 - pow(h, 0.3) / 2; }
static double slope_asin(double h) { return asin(1 - h); }
static double slope_acos(double h) { return 0.2 + acos(1 - h); }
static double slope_acosh(double h) { return 0.2 + acosh(1 + h); }
static double slope_circle(double h) { return 0.1 + sqrt(h * (2 - h)); }

static const struct root roots[] = {
    {"1-sqrt(h)", slope_tank, 1},
    {"1+h^(2/3)-.2*h", slope_growth, 1},
    {"1+sqrt(h)", slope_root, 1},
    {"1-cbrt(h)/2", slope_cube, 1},
    {"1-h^n/2", slope_power, 1},
    {"asin(1-h)", slope_asin, 0.6},
    {".2+acos(1-h)", slope_acos, 0.3},
    {".2+acosh(1+h)", slope_acosh, 0.5},
    {".1+sqrt(h*(2-h))", slope_circle, 0.8},
};
enum { ROOTS = sizeof roots / sizeof *roots };

// Simpson's rule in u, h = u^6, which is smooth where h^n is not: t and a at which h is reached.
static void quadrature(const struct root *r, double end, double *t, double *a) {
    enum { PARTS = 20000 };
    long double top = powl(end, 1.0L / 6), sum = 0, moment = 0;
    for (int i = 1; i <= PARTS; i++) { // nothing at 0
        long double u = top * i / PARTS, h = powl(u, 6);
        long double weight = (i == PARTS ? 1 : i % 2 ? 4 : 2) * 6 * powl(u, 5);
        sum += weight / r->slope((double)h);
        moment += weight * h / r->slope((double)h);
    }
    *t = (double)(sum * top / PARTS / 3);
    *a = (double)(moment * top / PARTS / 3);
}

// Where h(0) is next to 0 the solution is the same to all digits that are looked at.
static const char starts[] = "h(0)=0,1e-300,1e-100,1e-50,1e-20,1e-12";

static void check_root(const struct root *r, const char *method, double rtol, bool must) {
    char text[128];
    snprintf(text, sizeof text, "par n=.3; h'=%s; a'=h; y'=1e4*(h-y)", r->text);
    struct solved s =
        solve(text, starts, "method=%s t1=%g rtol=%g atol=%g", method, r->t1, rtol, rtol * 1e-3);
    for (uint64_t i = 0; i < s.rows; i++) {
        double h = solved_last(&s, 0, i), t, a;
        if (s.status[i] != SHOAL_STATUS_ok) {
            CHECK_MSG(!must, "%s with %s, row %d: status %d", r->text, method, (int)i, s.status[i]);
            continue;
        }
        quadrature(r, h, &t, &a);
        double error = fabs(t - r->t1) * r->slope(h) / h;
        error = fmax(error, fabs(solved_last(&s, 1, i) / a - 1));
        CHECK_MSG(error < 100 * rtol, "%s with %s, row %d: error %g", r->text, method, (int)i,
                  error);
    }
    solved_free(&s);
}

// All of them take implicit methods, one after the other a different one; the rest takes long.
static void check_methods(uint32_t every, double rtol) {
    uint32_t k = 0;
    for (const struct method *m = methods; m < methods + method_count; m++) {
        if (m->scheme == EXPLICIT || !m->embedded)
            continue;
        for (uint32_t i = 0; i < ROOTS; i++)
            if ((i + k) % every == 0)
                check_root(&roots[i], m->name, rtol, true);
        k++;
    }
}

TEST(singular_every_method) { check_methods(4 * ROOTS, 1e-6); }
LONG_TEST(singular_every_method_and_root) {
    check_methods(1, 1e-6);
    check_methods(2, 1e-4);
}

TEST(singular_auto) {
    check_root(&roots[0], "auto", 1e-6, true);
    check_root(&roots[1], "auto", 1e-6, true);
}
LONG_TEST(singular_auto_every_root) {
    for (uint32_t i = 0; i < ROOTS; i++)
        check_root(&roots[i], "auto", 1e-6, true);
}

// The growth of a tumour from nothing, beside something fast.
TEST(singular_growth_from_nothing) {
    struct solved s =
        solve("par s=.1; m'=s+m^(2/3)-.2*m; y'=1e4*(m-y); @ t1=20", "s=.05,.1,.2", "method=auto");
    struct solved e = solve("par s=.1; m'=s+m^(2/3)-.2*m; @ t1=20", "s=.05,.1,.2",
                            "method=dop853 rtol=1e-10 atol=1e-12");
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_INT(s.status[i], SHOAL_STATUS_ok);
        CHECK_NEAR(solved_last(&s, 0, i) / solved_last(&e, 0, i), 1, 1e-4);
    }
    solved_free(&s);
    solved_free(&e);
}

// Entries off the diagonal, which are in no pivot.
TEST(singular_beside_the_diagonal) {
    static const char *const names[] = {"auto", "rodas5p", "ros3p", "kvaerno5", "radau5"};
    for (int k = 0; k < 5; k++) {
        struct solved s =
            solve("par n=.5; x'=1-x+.1*y^n; y'=1e4*(x^n-y)", "n=.5,.4", "method=%s t1=3", names[k]);
        struct solved e = solve("par n=.5; x'=1-x+.1*y^n; y'=1e4*(x^n-y)", "n=.5,.4",
                                "method=tsit5 t1=3 rtol=1e-8 atol=1e-11 max-steps=1e7");
        for (uint64_t i = 0; i < 2; i++) {
            CHECK_INT(s.status[i], SHOAL_STATUS_ok);
            CHECK_NEAR(solved_last(&s, 0, i), solved_last(&e, 0, i), 1e-5);
            CHECK_NEAR(solved_last(&s, 1, i), solved_last(&e, 1, i), 1e-5);
        }
        solved_free(&s);
        solved_free(&e);
    }
}

// Derivatives that are finite, but far too large for what f does a tolerance away. A step that they
// damp would stay where it is, or jump behind the pole.
static const struct {
    const char *text, *sweep;
    double end; // where k is next to nothing
} sharp[] = {
    {"par k=1; h'=2-h/(k+h); y'=1e4*(h-y)", "k=1e-8,1e-9,1e-10,1e-12,1e-14,1e-20,1e-30", 1},
    {"par k=1; h'=1+h/(k+h); y'=1e4*(h-y)", "k=1e-8,1e-9,1e-10,1e-12,1e-14,1e-20,1e-30", 2},
    {"par k=1; h'=1-exp(.5*ln(h+k)); y'=1e4*(h-y)", "k=1e-60,1e-200", 0.48760953867},
    {"par k=1; h'=3+2/pi*atan(h/k); y'=1e4*(h-y)", "k=1e-9,1e-16,1e-30", 4},
    {"par k=1; h'=1+2/(1+exp(-h/k)); y'=1e4*(h-y)", "k=1e-9,1e-16,1e-30", 3},
};
enum { SHARP = sizeof sharp / sizeof *sharp };

static void check_sharp(uint32_t i, const char *method) {
    struct solved s = solve(sharp[i].text, sharp[i].sweep, "method=%s t1=1", method);
    for (uint64_t row = 0; row < s.rows; row++) {
        CHECK_INT(s.status[row], SHOAL_STATUS_ok);
        double error = fabs(solved_last(&s, 0, row) / sharp[i].end - 1);
        CHECK_MSG(error < 1e-4, "%s with %s, row %d: error %g", sharp[i].text, method, (int)row,
                  error);
    }
    solved_free(&s);
}

LONG_TEST(singular_sharp) {
    static const char *const names[] = {"auto", "rodas4", "crank-nicolson", "gauss-legendre-8",
                                        "radau5"};
    for (uint32_t k = 0; k < 5; k++) {
        check_sharp(k, names[k]);
        check_sharp(0, names[k]);
    }
}
LONG_TEST(singular_sharp_every_method) {
    for (const struct method *m = methods; m < methods + method_count; m++)
        for (uint32_t i = 0; i < SHARP && m->scheme != EXPLICIT && m->embedded; i++)
            check_sharp(i, m->name);
}

// A power next to a step, soon after the start, where the relative error shows.
TEST(singular_small_powers) {
    static const char *const names[] = {"ros3p", "rodas3p", "rodas4"};
    static const double want[] = {0.0053018164651, 0.0062991821248, 0.0072156315721};
    for (int k = 0; k < 3; k++) {
        struct solved s = solve("par n=1; h'=1-.5*h^n; y'=1e4*(h-y)", "n=.01,.05,.1",
                                "method=%s t1=.01", names[k]);
        for (int i = 0; i < 3; i++)
            CHECK_NEAR(solved_last(&s, 0, (uint64_t)i) / want[i], 1, 1e-4);
        solved_free(&s);
    }
}

// A derivative by time that is infinite at t0, and one at the end of backward time.
TEST(singular_in_time) {
    static const char *const names[] = {"rosenbrock23", "ros3p", "rodas3p", "rodas4", "rodas5p"};
    for (int k = 0; k < 5; k++) {
        struct solved s = solve("x'=sqrt(t)+1e4*(t^1.5*2/3-x)", NULL, "method=%s t1=1", names[k]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_NEAR(solved_last(&s, 0, 0), 2.0 / 3, 1e-4);
        solved_free(&s);
        s = solve("init x=.6666666666666666;x'=sqrt(t)", NULL, "method=%s t0=1 t1=0", names[k]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_NEAR(solved_last(&s, 0, 0), 0, 1e-4);
        solved_free(&s);
    }
}

// A quotient whose parts overflow has a derivative that is not a number, far from anything: 0.
TEST(singular_quotient_of_infinities) {
    static const char *const names[] = {"rodas5p", "ros3p", "kvaerno3", "radau5"};
    for (int k = 0; k < 4; k++) {
        struct solved s = solve("init v=-1; v'=-v+1/(1+exp(-v*1e4)); y'=1e3*(v-y)", NULL,
                                "method=%s t1=1", names[k]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_NEAR(solved_last(&s, 0, 0), -exp(-1), 1e-4);
        solved_free(&s);
    }
}

// Fixed steps have no way to go back: what iterations cannot find is said.
TEST(singular_fixed_steps) {
    static const char *const names[] = {"backward-euler", "implicit-midpoint", "crank-nicolson",
                                        "rodas4", "radau5"};
    for (int k = 0; k < 5; k++) {
        struct solved s = solve("h'=1-sqrt(h); a'=h", "h(0)=0,1e-300,1e-50,1e-12",
                                "method=%s controller=fixed dt=1e-3 t1=1", names[k]);
        for (uint64_t i = 0; i < s.rows; i++) {
            double h = solved_last(&s, 0, i), t, a;
            if (s.status[i] != SHOAL_STATUS_ok)
                continue;
            quadrature(&roots[0], h, &t, &a);
            CHECK_MSG(fabs(t - 1) < 1e-2 && fabs(solved_last(&s, 1, i) / a - 1) < 1e-2,
                      "%s, row %d: t is %g", names[k], (int)i, t);
        }
        solved_free(&s);
    }
}

// A slope that is infinite in a stage whose weight is 0.
TEST(singular_stage_without_weight) {
    static const struct {
        const char *text, *options;
    } cases[] = {
        {"x'=1/x; y'=1", "method=midpoint dt=.1 t1=1"},
        {"x'=1/x; y'=1", "method=rk4 dt=.1 t1=1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct solved s = solve(cases[i].text, NULL, "%s", cases[i].options);
        CHECK_INT(s.status[0], SHOAL_STATUS_nonfinite);
        solved_free(&s);
    }
}

// ---- The same bits everywhere -------------------------------------------------------------------

// Lanes in doubt beside lanes that are not.
static struct inputs mixed_starts(void) {
    const char *names[RIG_NAMES] = {"h(0)"};
    struct inputs in = inputs_new(40, names);
    for (uint64_t i = 0; i < in.rows; i++)
        in.value[0][i] = i % 3 ? (double)i / 40 : i % 2 ? 0 : 1e-60;
    return in;
}

static const char tank[] = "h'=1-sqrt(h); x'=1/(1+h)-x; y'=1e3*(h-y)";
LONG_DEVICE_TEST(singular_rosenbrock) {
    device_compare(device, tank, "method=rodas5p t1=1", mixed_starts());
    device_compare(device, tank, "method=ros3p t1=1 precision=f32 save=n=5", mixed_starts());
}
LONG_DEVICE_TEST(singular_newton) {
    device_compare(device, tank, "method=kvaerno3 t1=1", mixed_starts());
    device_compare(device, tank, "method=radau5 t1=1 precision=f32", mixed_starts());
}
