// SPDX-License-Identifier: MIT
// Stiff reference problems: every implicit method with an error estimate reaches the digits its
// tolerance asks for, between steps too, and in f32.
//
// Equations and end values are those of the Test Set for IVP Solvers (Bari) and of computations in
// quadruple precision.
#include "check.h"
#include "kernels.h"
#include "ode/method/method.h"
#include "solve.h"

enum { STATES = 8 };

// The next method for stiff problems with an error estimate, from m on; NULL after the last.
static const struct method *stiff_from(const struct method *m) {
    for (; m < methods + method_count; m++)
        if (m->scheme != EXPLICIT && m->embedded)
            return m;
    return NULL;
}
#define STIFF_METHODS(m)                                                                           \
    for (const struct method *m = stiff_from(methods); m; m = stiff_from(m + 1))
// Whether one of several loops over them takes this one (check_does).
static bool in_turn(const struct method *m, size_t loop) {
    return check_does((size_t)(m - methods), loop % 2, 2);
}

struct problem {
    const char *name, *text;
    double atol; // times rtol
    uint32_t states;
    struct {
        double t, y[STATES];
    } end[4];
};

static const struct problem rober = {
    "rober",
    "init y1=1;y1'=-0.04*y1+1e4*y2*y3;y2'=0.04*y1-1e4*y2*y3-3e7*y2^2;y3'=3e7*y2^2;@ t1=1",
    1e-6,
    3,
    {{0.4, {0.985172113860989862, 3.386395378974904e-5, 1.479402218522039e-2}},
     {40, {0.715827068719405091, 9.185534764557764e-6, 0.284163745745830352}},
     {1e5, {1.786592114209946e-2, 7.274751468436319e-8, 0.982134006110385851}}},
};
static const struct problem rober_late = {
    "rober, late",
    "init y1=1;y1'=-0.04*y1+1e4*y2*y3;y2'=0.04*y1-1e4*y2*y3-3e7*y2^2;y3'=3e7*y2^2;@ t1=1",
    1e-14,
    3,
    {{1e11, {2.083340149701294e-8, 8.333360770334783e-14, 0.9999999791665152}}},
};
static const struct problem hires = {
    "hires",
    "init y1=1,y8=0.0057;y1'=-1.71*y1+0.43*y2+8.32*y3+0.0007;y2'=1.71*y1-8.75*y2;"
    "y3'=-10.03*y3+0.43*y4+0.035*y5;y4'=8.32*y2+1.71*y3-1.12*y4;y5'=-1.745*y5+0.43*(y6+y7);"
    "y6'=-280*y6*y8+0.69*y4+1.71*y5-0.43*y6+0.69*y7;y7'=280*y6*y8-1.81*y7;"
    "y8'=-280*y6*y8+1.81*y7;@ t1=1",
    1e-4,
    8,
    {{321.8122,
      {0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
       0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2,
       0.2850001604814231e-2}}},
};
static const struct problem orego = {
    "orego",
    "const s=77.27,q=8.375e-6,w=0.161;init y1=1,y2=2,y3=3;y1'=s*(y2+y1*(1-q*y1-y2));"
    "y2'=(y3-(1+y1)*y2)/s;y3'=w*(y1-y3);@ t1=1",
    1e-6,
    3,
    {{30, {1.000661467180496718, 1512.778937348250, 10358.54312767228}},
     {360, {1.000814870318522716, 1228.178521549887984, 132.0554942846508288}}},
};
static const struct problem vdpol = {
    "vdpol",
    "const eps=1e-6;init y1=2;y1'=y2;y2'=((1-y1^2)*y2-y1)/eps;@ t1=1",
    1,
    2,
    {{1, {-1.8636462548081339, 0.7535430865435434}}, {2, {1.706167732170465, -0.8928097010248166}}},
};

// The worst relative error of a component.
static double error_at(const struct problem *p, const struct solved *s, uint32_t end) {
    double worst = 0;
    for (uint32_t j = 0; j < p->states; j++) {
        double want = p->end[end].y[j];
        worst = fmax(worst, fabs(solved_last(s, j, 0) / want - 1));
    }
    return worst;
}

static void check_digits(const struct problem *p, const struct method *m, double rtol) {
    for (uint32_t end = 0; end < 4 && p->end[end].t > 0; end++) {
        struct solved s =
            solve(p->text, NULL, "method=%s rtol=%g atol=%g t1=%.17g max-steps=5000000", m->name,
                  rtol, p->atol * rtol, p->end[end].t);
        double error = error_at(p, &s, end);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_MSG(error < 100 * rtol, "%s to %g with %s at %g: error %g", p->name, p->end[end].t,
                  m->name, rtol, error);
        solved_free(&s);
    }
}

// Fine tolerances with low orders take long.
static void check_problem(const struct problem *p, bool slow, size_t turn) {
    STIFF_METHODS(m)
    for (int k = 4; k <= 8; k += 2)
        if ((m->order <= 2 && k == 8) == slow && in_turn(m, turn))
            check_digits(p, m, pow(10, -k));
}

TEST(stiff_rober) {
    check_problem(&rober, false, 0);
    check_problem(&rober_late, false, 1);
}
LONG_TEST(stiff_hires) { check_problem(&hires, false, 0); }
TEST(stiff_orego) { check_problem(&orego, false, 1); }
TEST(stiff_vdpol) { check_problem(&vdpol, false, 0); }
LONG_TEST(stiff_fine_and_low_order) {
    static const struct problem *const all[] = {&rober, &rober_late, &hires, &orego, &vdpol};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_problem(all[i], true, i);
}

TEST(stiff_rober_takes_few_steps) {
    static const char *const names[] = {"rodas5p", "radau5"};
    for (size_t i = 0; i < 2; i++) {
        struct solved s =
            solve(rober_late.text, NULL, "method=%s rtol=1e-6 atol=1e-20 t1=1e11", names[i]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_MSG(s.steps[0] + s.rejected[0] < 1000, "%s: %u steps", names[i], s.steps[0]);
        solved_free(&s);
    }
}

// ---- Saves, precision ---------------------------------------------------------------------------

// Kaps' problem: x = y^2 = exp(-2 t), however stiff.
static const char kaps[] = "par l=1;init x=1,y=1;x'=-(l+2)*x+l*y^2;y'=x-y-y^2;@ t1=1";

// Between steps that are far longer than the fast component's time, samples are nearly as good as
// the steps; less so where the order of single stages is far below the method's.
TEST(stiff_samples_between_steps) {
    STIFF_METHODS(m) {
        if (!in_turn(m, 0))
            continue;
        struct solved s = solve(kaps, "l=1e8", "method=%s rtol=1e-5 atol=1e-8 save=n=101", m->name);
        double worst = 0;
        for (uint64_t i = 0; i < s.samples; i++)
            worst = fmax(worst, fabs(solved_value(&s, 0, 0, i) - exp(-2 * s.t[i])));
        CHECK_MSG(s.steps[0] < 1000 && worst < (m->scheme == DIRK && m->order > 3 ? 3e-3 : 3e-4),
                  "%s: %u steps, error %g", m->name, s.steps[0], worst);
        solved_free(&s);
    }
}

TEST(stiff_f32) {
    STIFF_METHODS(m) {
        if (!in_turn(m, 1))
            continue;
        struct solved s =
            solve(rober.text, NULL, "method=%s precision=f32 rtol=1e-3 atol=1e-8 t1=40", m->name);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        CHECK_MSG(error_at(&rober, &s, 1) < 1e-2, "%s: %g", m->name, error_at(&rober, &s, 1));
        solved_free(&s);
    }
}

// Large and dense: the factorisation is loops.
TEST(stiff_dense_system) {
    char text[16384], *at = text + sprintf(text, "s=x1");
    for (int i = 2; i <= 40; i++)
        at += sprintf(at, "+x%d", i);
    for (int i = 1; i <= 40; i++)
        at +=
            sprintf(at, ";init x%d=1;x%d'=-%d*x%d+0.001*s*(x%d+1)", i, i, i * i * i, i, 1 + i % 40);
    sprintf(at, ";@ t1=0.5");
    struct solved want = solve(text, NULL, "method=dop853 rtol=1e-10 atol=1e-12");
    static const char *const names[] = {"rodas5p", "kvaerno5", "radau5"}; // the last with complex
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct solved s = solve(text, NULL, "method=%s rtol=1e-8 atol=1e-10", names[i]);
        CHECK_MSG(s.steps[0] * 5 < want.steps[0], "%s: %u steps", names[i], s.steps[0]);
        for (uint32_t j = 0; j < 40; j++)
            CHECK_NEAR(solved_last(&s, j, 0), solved_last(&want, j, 0), 1e-8);
        solved_free(&s);
    }
    solved_free(&want);
}

// ---- Singular matrices --------------------------------------------------------------------------

// gamma of rodas4 is 1/4: with x' = k x the matrix is 1 - h k / 4, exactly 0 for k = 4 / h.
TEST(stiff_singular) {
    static const char text[] = "par k=1;init x=1,y=1;x'=k*x;y'=-y;@ t1=0.25";
    struct solved s = solve(text, "k=-1,16,32", "method=rodas4 dt0=0.25 dt-min=0.25 rtol=1e-2");
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_INT(s.status[1], SHOAL_STATUS_singular);
    CHECK(isnan(solved_last(&s, 0, 1)) && s.t[1] == 0);
    CHECK_INT(s.status[2], SHOAL_STATUS_dt_min);
    solved_free(&s);
    s = solve(text, "k=16,-1", "method=rodas4 controller=fixed dt=0.25");
    CHECK_INT(s.status[0], SHOAL_STATUS_singular);
    CHECK_INT(s.status[1], SHOAL_STATUS_ok);
    solved_free(&s);
    s = solve(text, "k=16", "method=rodas4 dt0=0.25 rtol=1e-8"); // a smaller step mends it
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK(s.rejected[0] > 0);
    CHECK_NEAR(solved_last(&s, 0, 0), exp(4), 1e-5);
    solved_free(&s);
}

TEST(stiff_nonfinite) {
    struct solved s = solve("par q=1;init x=1;x'=-x*sqrt(q);@ t1=1", "q=1,-1", "method=rodas4");
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    CHECK_INT(s.status[1], SHOAL_STATUS_nonfinite);
    solved_free(&s);
}

TEST(stiff_too_many_states) {
    struct made m = make_solver("par a=1;init x[1..16400]=1;x[1..16400]'=-a*x[j];@ t1=1",
                                "method=rodas4", true, NULL);
    CHECK_INT(m.code, SHOAL_INPUT);
    CHECK_HAS(shoal_log_message(m.log, 0).text, "method rodas4 is for up to 16384 states");
    made_free(&m);
}

// A stage that evaluates nothing of its own is not counted.
TEST(stiff_evaluations) {
    static const struct {
        const char *name;
        uint32_t evaluations;
    } cases[] = {{"rosenbrock23", 3}, {"ros3p", 2}, {"rodas3p", 3}, {"rodas4", 6}, {"rodas5p", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct solved s = solve(kaps, NULL, "method=%s", cases[i].name);
        CHECK_INT(s.f_evals[0], (uint64_t)(s.steps[0] + s.rejected[0]) * cases[i].evaluations + 2);
        solved_free(&s);
    }
}
