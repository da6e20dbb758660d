// SPDX-License-Identifier: MIT
// Fixed steps: every method shows its order, steps lie where they should, and time is exact.
//
// The problem is a rotation in the plane whose speed depends on the radius and on time: nonlinear,
// not autonomous, two states, with a known solution. Errors are kept well above rounding.
#include "check.h"
#include "solve.h"

static const char rotation[] = "init x=0.6, y=0.9; w=(1+t)*(x^2+y^2); x'=-w*y; y'=w*x; @ t0=0.25";
static const double rotation_t0 = 0.25;

static double rotation_error(double t, double x, double y) {
    double s = t - rotation_t0, angle = 1.17 * s * (1 + rotation_t0 + s / 2);
    return hypot(x - (0.6 * cos(angle) - 0.9 * sin(angle)),
                 y - (0.6 * sin(angle) + 0.9 * cos(angle)));
}

static double fixed_error(const char *method, double t1, double dt) {
    struct solved s = solve(rotation, NULL, "method=%s controller=fixed t1=%.17g dt=%.17g", method,
                            t1, dt);
    CHECK_INT(s.status[0], SHOAL_STATUS_ok);
    double error = rotation_error(t1, solved_last(&s, 0, 0), solved_last(&s, 1, 0));
    solved_free(&s);
    return error;
}

// Slope of the error between dt and dt/2 and between dt/2 and dt/4.
static void check_order(const char *method, uint32_t order, double dt) {
    double t1 = rotation_t0 + 1, error[3];
    for (int i = 0; i < 3; i++)
        error[i] = fixed_error(method, t1, ldexp(dt, -i));
    for (int i = 0; i < 2; i++) {
        double slope = log2(error[i] / error[i + 1]);
        CHECK_MSG(fabs(slope - order) < 0.2, "%s: slope %.3f, errors %g %g %g", method, slope,
                  error[0], error[1], error[2]);
    }
    CHECK_MSG(error[2] > 1e-13, "%s: error %g is rounding", method, error[2]);
}

TEST(accuracy_order_of_every_method) {
    // first step by order
    static const double dt[] = {0, 0x1p-9, 0x1p-6, 0x1p-5, 0x1p-5, 0x1p-4, 0, 0x1p-3, 0x1p-3};
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        REQUIRE(m.order < sizeof dt / sizeof *dt && dt[m.order] > 0);
        check_order(m.name, m.order, dt[m.order]);
    }
}
