// SPDX-License-Identifier: MIT
// Adaptive methods on reference problems with known end values.
//
// Lorenz: at least -log10(rtol) - 2 correct digits. Lorenz 96, Arenstorf and Pleiades amplify
// errors: there the error is at most 3 times that of SciPy's nearest method at the same tolerances
// and falls at least 30 times per 100 times of tolerance. SciPy's own falls less in three places:
// DOP853 from 1e-4 to 1e-6 on Arenstorf (3 times: the first error is small by luck) and from 1e-6
// to 1e-8 on Lorenz 96 of 4 (29), RK23 from 1e-4 to 1e-6 on Arenstorf (27: the first error is as
// large as the orbit). There SciPy's fall is enough. The methods SciPy has take SciPy's steps.
//
// SciPy's numbers: SciPy 1.17.1, solve_ivp(f, (0, t1), y0, method, rtol=tol, atol=tol), error of
// y[:, -1] against the end values below, and len(t) - 1 steps; errors are the largest over the
// components, relative to each, but for Arenstorf, where two of them are 0 and the error is
// absolute. Compared are the components listed here: of Pleiades the positions, of Lorenz 96 with
// 32 states the first 5.
#include "check.h"
#include "solve.h"

enum { TOLERANCES = 5, ROWS = 3, MOST = 14 };
static const double tolerances[TOLERANCES] = {1e-4, 1e-6, 1e-8, 1e-10, 1e-12};

struct peer {
    double error[TOLERANCES]; // 0: not known
    uint32_t steps[TOLERANCES];
};

enum { RK23, RK45, DOP853, PEERS };

struct problem {
    const char *text, *sweep;
    uint32_t vars, rows;
    bool absolute;
    double end[ROWS][MOST];
    struct peer peer[PEERS]; // of the last row
};

static const struct problem lorenz = {
    "par rho=28; init x=1, y=0, z=0; x'=10*(y-x); y'=x*(rho-z)-y; z'=x*y-8/3*z; @ t1=1",
    "rho=10.5,21,28",
    .vars = 3,
    .rows = 3,
    .end = {{2.832290839099657, 1.283945618782028, 11.10708685193417},
            {-6.450579147318907, -8.895211478667793, 14.64914586660444},
            {-9.408450567056036, -9.096199071186479, 28.58162762439234}},
    .peer = {{{3.10e-4, 1.90e-6, 1.82e-8}, {74, 343, 1594}},
             {{2.68e-4, 5.46e-7, 3.15e-9, 5.30e-11, 6.37e-13}, {22, 51, 124, 310, 775}},
             {{2.38e-4, 5.25e-7, 4.35e-9, 5.29e-11, 4.79e-13}, {12, 18, 30, 51, 89}}},
};

static const struct problem lorenz96_4 = {
    "init x1=9, x2=8, x3=8, x4=8; x1'=(x2-x3)*x4-x1+8; x2'=(x3-x4)*x1-x2+8;"
    "x3'=(x4-x1)*x2-x3+8; x4'=(x1-x2)*x3-x4+8; @ t1=1",
    .vars = 4,
    .rows = 1,
    .end = {{-6.078800144676599, 1.990814992263673, 4.357728121251731, -6.389351729971768}},
    .peer = {{{8.97e-2, 7.71e-4, 7.43e-6}, {75, 349, 1629}},
             {{3.48e-3, 7.98e-5, 1.45e-6, 1.72e-8, 1.82e-10}, {21, 51, 126, 315, 792}},
             {{2.54e-4, 2.59e-6, 8.81e-8, 1.97e-9, 2.74e-11}, {10, 17, 28, 49, 86}}},
};

static const struct problem lorenz96_32 = {
    "init x1=9, x[2..32]=8; x1'=(x2-x31)*x32-x1+8; x2'=(x3-x32)*x1-x2+8;"
    "x[3..31]'=(x[j+1]-x[j-2])*x[j-1]-x[j]+8; x32'=(x1-x30)*x31-x32+8; @ t1=1",
    .vars = 5,
    .rows = 1,
    .end = {{-1.744978661772844, -1.212896147420596, -.4288078442070587, .1627272769186663,
             3.429437139625519}},
    .peer = {{{1.05e-1, 2.61e-3, 2.95e-5}, {76, 358, 1672}},
             {{5.88e-2, 6.38e-4, 3.79e-6, 2.51e-8, 1.97e-10}, {20, 51, 131, 333, 840}},
             {{3.99e-3, 3.76e-5, 1.49e-7, 3.37e-9, 4.04e-11}, {10, 17, 29, 51, 92}}},
};

static const struct problem arenstorf = {
    "const mu=0.012277471, nu=1-0.012277471;"
    "init x=0.994, y=0, u=0, v=-2.00158510637908252240537862224; cube(s)=s*sqrt(s);"
    "a=cube((x+mu)^2+y^2); b=cube((x-nu)^2+y^2); x'=u; y'=v;"
    "u'=x+2*v-nu*(x+mu)/a-mu*(x-nu)/b; v'=y-2*u-nu*y/a-mu*y/b;"
    "@ t1=17.0652165601579625588917206249",
    .vars = 4,
    .rows = 1,
    .absolute = true,
    .end = {{0.994, 0, 0, -2.00158510637908252240537862224}},
    .peer = {{{1.36, 4.97e-2, 4.88e-4}, {168, 821, 3821}},
             {{1.90, 1.63e-2, 1.48e-4, 3.27e-6, 3.88e-8}, {60, 132, 320, 794, 1997}},
             {{2.16e-2, 6.91e-3, 8.43e-5, 1.28e-6, 1.47e-9}, {42, 66, 106, 176, 298}}},
};

// A body pulls itself with 0 over a very small number.
static const struct problem pleiades = {
    "init x1=3, x2=3, x3=-1, x4=-3, x5=2, x6=-2, x7=2;"
    "init y1=3, y2=-3, y3=2, y4=0, y5=0, y6=-4, y7=4;"
    "init u[1..5]=0, u6=1.75, u7=-1.5; init v[1..3]=0, v4=-1.25, v5=1, v[6..7]=0;"
    "pull(d,e)=d/((d^2+e^2+1e-60)*sqrt(d^2+e^2+1e-60)); x[1..7]'=u[j]; y[1..7]'=v[j];"
    "u[1..7]'=sum(0,6)of((i'+1)*pull(shift(x1,i')-x[j],shift(y1,i')-y[j]));"
    "v[1..7]'=sum(0,6)of((i'+1)*pull(shift(y1,i')-y[j],shift(x1,i')-x[j])); @ t1=3",
    .vars = 14,
    .rows = 1,
    .end = {{.3706139143970502, 3.237284092057233, -3.222559032418324, .6597091455775310,
             .3425581707156584, 1.562172101400631, -.7003092922212495, -3.943437585517392,
             -3.271380973972550, 5.225081843456543, -2.590612434977470, 1.198213693392275,
             -.2429682344935824, 1.091449240428980}},
    .peer = {{{1.14e-1, 1.12e-3, 1.07e-5}, {230, 1027, 4782}},
             {{2.81e-1, 3.22e-3, 1.25e-5, 2.10e-8, 2.14e-10}, {68, 152, 358, 888, 2236}},
             {{2.46e-2, 1.42e-4, 3.22e-6, 6.96e-8, 4.45e-10}, {48, 81, 133, 226, 387}}},
};

// Every adaptive method and its nearest in SciPy.
static const struct {
    const char *method;
    int peer;
} adaptive[] = {
    {"heun-21", RK23},      {"bogacki-shampine-32", RK23},  {"fehlberg-45", RK45},
    {"cash-karp-54", RK45}, {"dormand-prince-54", RK45},    {"tsit5", RK45},
    {"vern7", DOP853},      {"dormand-prince-853", DOP853}, {"vern9", DOP853},
};
enum { ADAPTIVE = sizeof adaptive / sizeof *adaptive };

static double error_of(const struct problem *p, const struct solved *s, uint32_t row) {
    double worst = 0;
    for (uint32_t v = 0; v < p->vars; v++) {
        double error = fabs(solved_value(s, v, row, 0) - p->end[row][v]);
        if (!p->absolute)
            error /= fabs(p->end[row][v]);
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

static struct solved solve_to(const struct problem *p, const char *method, const char *controller,
                              double tolerance) {
    struct solved s =
        solve(p->text, p->sweep, "method=%s rtol=%g atol=%g max-steps=10000000%s%s", method,
              tolerance, tolerance, controller ? " controller=" : "", controller ? controller : "");
    for (uint32_t i = 0; i < p->rows; i++)
        CHECK_MSG(s.status[i] == SHOAL_STATUS_ok, "%s at %g: %s", method, tolerance,
                  shoal_status_word(s.status[i]));
    return s;
}

// Those for stiff problems are in test_stiff.c.
TEST(reference_covers_every_adaptive_method) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < shoal_method_count(); i++)
        count += shoal_method_at(i).embedded_order > 0 && !shoal_method_at(i).stability[0];
    CHECK_INT(count, ADAPTIVE);
}

// From tolerances[from], every `stride`-th; what takes an order of 2 or 3 too long is left out.
static void digits(uint32_t from, uint32_t stride) {
    for (uint32_t m = 0; m < ADAPTIVE; m++)
        for (uint32_t k = from; k < (adaptive[m].peer == RK23 ? 3 : TOLERANCES); k += stride) {
            struct solved s = solve_to(&lorenz, adaptive[m].method, NULL, tolerances[k]);
            for (uint32_t i = 0; i < lorenz.rows; i++)
                CHECK_MSG(error_of(&lorenz, &s, i) < 100 * tolerances[k], "%s at %g, row %u: %g",
                          adaptive[m].method, tolerances[k], i, error_of(&lorenz, &s, i));
            solved_free(&s);
        }
}

TEST(reference_lorenz) { digits(0, 2); }
LONG_TEST(reference_lorenz_between) { digits(1, 2); }

TEST(reference_lorenz_f32) {
    for (double tolerance = 1e-3; tolerance > 0.5e-5; tolerance /= 10) {
        struct solved s =
            solve(lorenz.text, lorenz.sweep, "precision=f32 rtol=%g atol=%g", tolerance, tolerance);
        for (uint32_t i = 0; i < lorenz.rows; i++)
            CHECK_MSG(error_of(&lorenz, &s, i) < 100 * tolerance, "at %g, row %u: %g", tolerance, i,
                      error_of(&lorenz, &s, i));
        solved_free(&s);
    }
}

// How much smaller an error must be than that at the tolerance before: as much as SciPy's own where
// that falls less. Its numbers have three digits.
static double fall(const struct peer *peer, uint32_t tolerance) {
    return fmin(30, 0.98 * peer->error[tolerance - 1] / peer->error[tolerance]);
}

// From one tolerance to another; what takes an order of 2 or 3 too long is left out.
static void compare(const struct problem *p, const char *name, uint32_t from, uint32_t to) {
    for (uint32_t m = 0; m < ADAPTIVE; m++) {
        const struct peer *peer = &p->peer[adaptive[m].peer];
        double before = INFINITY;
        for (uint32_t i = from; i <= to && peer->error[i] > 0; i++) {
            struct solved s = solve_to(p, adaptive[m].method, NULL, tolerances[i]);
            double error = error_of(p, &s, 0);
            CHECK_MSG(error <= 3 * peer->error[i], "%s, %s at %g: %g, SciPy has %g", name,
                      adaptive[m].method, tolerances[i], error, peer->error[i]);
            CHECK_MSG(i == from || before >= fall(peer, i) * error,
                      "%s, %s at %g: %g falls to %g only", name, adaptive[m].method, tolerances[i],
                      before, error);
            before = error;
            solved_free(&s);
        }
    }
}

LONG_TEST(reference_lorenz96_4) { compare(&lorenz96_4, "Lorenz 96 of 4", 0, 3); }
LONG_TEST(reference_lorenz96_32) { compare(&lorenz96_32, "Lorenz 96 of 32", 0, 3); }
TEST(reference_arenstorf) { compare(&arenstorf, "Arenstorf", 0, 3); }
LONG_TEST(reference_pleiades) { compare(&pleiades, "Pleiades", 0, 3); }

// At 1e-12 alone: the best methods are at rounding there and fall no further.
LONG_TEST(reference_tightest_tolerance) {
    compare(&lorenz96_4, "Lorenz 96 of 4", 4, 4);
    compare(&lorenz96_32, "Lorenz 96 of 32", 4, 4);
    compare(&arenstorf, "Arenstorf", 4, 4);
    compare(&pleiades, "Pleiades", 4, 4);
}

// The same method, norm, first step and, by default, controller: the same steps. Errors agree to
// the digits printed where rounding does not decide.
static void same_as_scipy(const struct problem *p, const char *method, int peer, uint32_t from,
                          uint32_t to) {
    for (uint32_t i = from; i <= to; i++) {
        struct solved s = solve_to(p, method, NULL, tolerances[i]);
        double error = error_of(p, &s, p->rows - 1), known = p->peer[peer].error[i];
        CHECK_MSG(s.steps[p->rows - 1] == p->peer[peer].steps[i], "%s at %g: %u steps, SciPy %u",
                  method, tolerances[i], s.steps[p->rows - 1], p->peer[peer].steps[i]);
        CHECK_MSG(fabs(error - known) < 0.02 * known, "%s at %g: error %g, SciPy %g", method,
                  tolerances[i], error, known);
        solved_free(&s);
    }
}

TEST(reference_same_steps_as_scipy) {
    same_as_scipy(&lorenz, "rk23", RK23, 1, 1);
    same_as_scipy(&lorenz, "rk45", RK45, 0, 1);
    same_as_scipy(&arenstorf, "rk45", RK45, 2, 2);
    same_as_scipy(&arenstorf, "dop853", DOP853, 0, 1);
    same_as_scipy(&lorenz96_32, "dop853", DOP853, 2, 2);
}

LONG_TEST(reference_same_steps_as_scipy_more) {
    same_as_scipy(&lorenz, "rk23", RK23, 0, 2);
    same_as_scipy(&pleiades, "rk45", RK45, 1, 2);
    same_as_scipy(&arenstorf, "dop853", DOP853, 2, 3);
}

// Every controller holds the tolerance, and rejects no more than a good share of the steps.
static void controllers(const struct problem *p, uint32_t tolerance) {
    static const char *const names[] = {"i", "pi", "pid", "gustafsson"};
    static const char *const methods[] = {"dopri5", "tsit5"};
    for (uint32_t c = 0; c < 4; c++)
        for (uint32_t m = 0; m < 2; m++) {
            struct solved s = solve_to(p, methods[m], names[c], tolerances[tolerance]);
            uint32_t row = p->rows - 1;
            double error = error_of(p, &s, row), known = p->peer[RK45].error[tolerance];
            CHECK_MSG(error < 4 * known, "%s with %s: error %g, SciPy %g", methods[m], names[c],
                      error, known);
            CHECK_MSG(s.rejected[row] < 0.45 * s.steps[row], "%s with %s: %u steps, %u rejected",
                      methods[m], names[c], s.steps[row], s.rejected[row]);
            CHECK_MSG(s.steps[row] < 1.45 * p->peer[RK45].steps[tolerance],
                      "%s with %s: %u steps, SciPy %u", methods[m], names[c], s.steps[row],
                      p->peer[RK45].steps[tolerance]);
            solved_free(&s);
        }
}

LONG_TEST(reference_controllers) {
    controllers(&lorenz, 1);
    controllers(&arenstorf, 1);
}

LONG_TEST(reference_controllers_more) {
    controllers(&pleiades, 1);
    controllers(&lorenz96_32, 3);
    controllers(&arenstorf, 3);
    controllers(&pleiades, 3);
}
