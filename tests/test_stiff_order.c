// SPDX-License-Identifier: MIT
// The order of every implicit method on stiff problems with a known solution.
//
// Kaps' problem has a stiff part that follows the rest: methods keep their order, but for those of
// Gauss, where the order of a single stage is left. In that of Prothero and Robinson a function of
// time forces the stiff component: the order of a stage is left, or what the method's own
// conditions save of more; methods that end at their last stage are all but exact there, whatever
// the step.
#include "check.h"
#include "ode/method/method.h"
#include "solve.h"

enum { MILD, STIFF, STIFFNESSES };
enum { PROTHERO, KAPS, PROBLEMS };

static const char text[] = "par l=1;k=l*l;x(0)=sin(0.1);init u=1,v=1;"
                           "x'=-l*(x-sin(t+0.1))+cos(t+0.1);u'=-(k+2)*u+k*v^2;v'=u-v-v^2;@ t1=1";

// Orders where the problem is stiff.
static const struct {
    const char *method;
    double order[PROBLEMS];
} stiff[] = {
    {"rosenbrock23", {2, 2}},     {"ros3p", {2, 3}},
    {"rodas3p", {2, 3}},          {"rodas4", {1, 4}},
    {"rodas5p", {3, 6}},          {"backward-euler", {1, 1}},
    {"crank-nicolson", {2, 2}},   {"implicit-midpoint", {2, 2}},
    {"sdirk-2-2", {1, 2}},        {"trbdf2", {2, 2}},
    {"kvaerno3", {2, 3}},         {"sdirk4", {1, 4}},
    {"kvaerno5", {2, 5}},         {"gauss-legendre-4", {2, 2}},
    {"gauss-legendre-8", {4, 4}}, {"radau-iia-3", {2, 3}},
    {"radau-iia-5", {3, 5}},      {"radau-iia-9", {5, 9}},
};
enum { KNOWN = sizeof stiff / sizeof *stiff };

static const double *stiff_orders(const char *method) {
    for (size_t i = 0; i < KNOWN; i++)
        if (!strcmp(stiff[i].method, method))
            return stiff[i].order;
    check_fail(__FILE__, __LINE__, "no orders of %s", method);
    check_end();
}

// Iterations go on to rounding errors.
static void errors_of(const char *method, double dt, double error[STIFFNESSES][PROBLEMS]) {
    struct solved s = solve(
        text, "l=1,1e6", "method=%s controller=fixed dt=%.17g rtol=1e-10 atol=1e-13", method, dt);
    for (uint32_t i = 0; i < STIFFNESSES; i++) {
        CHECK_INT(s.status[i], SHOAL_STATUS_ok);
        error[i][PROTHERO] = fabs(solved_last(&s, 0, i) - sin(1.1));
        error[i][KAPS] =
            fmax(fabs(solved_last(&s, 1, i) - exp(-2)), fabs(solved_last(&s, 2, i) - exp(-1)));
    }
    solved_free(&s);
}

static void check_slope(const struct method *m, const char *what, double large, double small,
                        double order) {
    double slope = log2(large / small);
    CHECK_MSG(fabs(slope - order) < 0.25, "%s, %s: slope %.2f, not %g, from %g to %g", m->name,
              what, slope, order, large, small);
}

LONG_TEST(stiff_order) {
    for (const struct method *m = methods; m < methods + method_count; m++) {
        if (m->scheme == EXPLICIT || !check_does((size_t)(m - methods), 0, 2))
            continue;
        double large[STIFFNESSES][PROBLEMS], small[STIFFNESSES][PROBLEMS];
        double dt = m->order < 5 ? 1.0 / 16 : m->order == 5 ? 1.0 / 8 : 1.0 / 2;
        const double *order = stiff_orders(m->name);
        errors_of(m->name, dt, large);
        errors_of(m->name, dt / 2, small);
        for (int p = 0; p < PROBLEMS; p++) {
            const char *name = p == KAPS ? "Kaps" : "Prothero and Robinson";
            check_slope(m, name, large[MILD][p], small[MILD][p], m->order);
            check_slope(m, name, large[STIFF][p], small[STIFF][p], order[p]);
        }
        double error = large[STIFF][PROTHERO];
        CHECK_MSG(!method_stiffly_accurate(m) || error < 1e-7, "%s: error %g", m->name, error);
    }
}
