// SPDX-License-Identifier: MIT
// The methods at work: one step of each row on a nonlinear, time-dependent plane problem with a
// known solution. Errors of the solution, of the error norm and of the dense output shrink with the
// powers of h the table claims, and three methods agree with SciPy.
//
// Steps are made in long double, so that only the coefficients are rounded.
#include "check.h"
#include "method_classic.h"

struct step {
    wide y1[2];
    double error[2], norm; // signed estimate; its norm as the header defines it, with scale 1
    wide k[METHOD_ROWS][2];
};

static const wide start_t = 0.25L, start_y[2] = {0.6L, 0.9L};

// Rotation whose speed depends on the radius and on time.
static void rotate(wide t, const wide y[2], wide dy[2]) {
    wide speed = (1 + t) * (y[0] * y[0] + y[1] * y[1]);
    dy[0] = -speed * y[1];
    dy[1] = speed * y[0];
}

static void exact(wide h, wide y[2]) {
    wide r2 = start_y[0] * start_y[0] + start_y[1] * start_y[1];
    wide angle = r2 * h * (1 + start_t + h / 2);
    y[0] = start_y[0] * cosl(angle) - start_y[1] * sinl(angle);
    y[1] = start_y[0] * sinl(angle) + start_y[1] * cosl(angle);
}

// y0 + h sum of weights times stages
static void combine(const struct step *s, const double *weights, uint32_t count, wide h,
                    wide y[2]) {
    for (int n = 0; n < 2; n++) {
        y[n] = 0;
        for (uint32_t j = 0; j < count; j++)
            y[n] += weights[j] * s->k[j][n];
        y[n] = start_y[n] + h * y[n];
    }
}

// Solves (I - h gamma J) x = right by Cramer's rule; J is the Jacobian of the start.
static void solve_linear(const struct method *m, wide h, const wide right[2], wide x[2]) {
    const wide u = start_y[0], v = start_y[1], r2 = u * u + v * v, q = 1 + start_t;
    const wide jacobian[2][2] = {{-2 * q * u * v, -q * (r2 + 2 * v * v)},
                                 {q * (r2 + 2 * u * u), 2 * q * u * v}};
    wide a[2][2];
    for (int n = 0; n < 2; n++)
        for (int j = 0; j < 2; j++)
            a[n][j] = (n == j) - h * m->gamma * jacobian[n][j];
    wide determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    x[0] = (right[0] * a[1][1] - right[1] * a[0][1]) / determinant;
    x[1] = (a[0][0] * right[1] - a[1][0] * right[0]) / determinant;
}

static void rosenbrock_stages(const struct method *m, struct step *s, wide h) {
    const wide r2 = start_y[0] * start_y[0] + start_y[1] * start_y[1];
    const wide dfdt[2] = {-r2 * start_y[1], r2 * start_y[0]};
    for (uint32_t i = 0; i < m->stages; i++) {
        wide y[2], f[2], right[2], g = h * m->gamma;
        combine(s, m->a[i], i, 1, y);
        rotate(start_t + m->c[i] * h, y, f);
        combine(s, m->coupling[i], i, 1, right);
        for (int n = 0; n < 2; n++)
            right[n] = g * f[n] + m->gamma * (right[n] - start_y[n]) + h * g * m->d[i] * dfdt[n];
        solve_linear(m, h, right, s->k[i]);
    }
}

// Steps are short enough for plain iterations.
static void dirk_stages(const struct method *m, struct step *s, wide h) {
    for (uint32_t i = 0; i < m->stages; i++)
        for (int round = 0; round < 100; round++) {
            wide y[2], f[2], gamma = m->c[i] == 0 ? 0 : m->gamma;
            combine(s, m->a[i], i, 1, y);
            for (int n = 0; n < 2; n++)
                y[n] += gamma * s->k[i][n];
            rotate(start_t + m->c[i] * h, y, f);
            for (int n = 0; n < 2; n++)
                s->k[i][n] = h * f[n];
        }
}

static void collocation_stages(const struct method *m, struct step *s, wide h) {
    for (int round = 0; round < 100; round++) {
        struct step slopes = {0};
        for (uint32_t i = 0; i < m->stages; i++) {
            wide y[2] = {start_y[0] + s->k[i][0], start_y[1] + s->k[i][1]};
            rotate(start_t + m->c[i] * h, y, slopes.k[i]);
        }
        for (uint32_t i = 0; i < m->stages; i++) {
            combine(&slopes, m->a[i], m->stages, h, s->k[i]);
            for (int n = 0; n < 2; n++)
                s->k[i][n] -= start_y[n];
        }
    }
}

static void explicit_stages(const struct method *m, struct step *s, wide h) {
    wide y[2];
    for (uint32_t i = 0; i < m->stages; i++) {
        combine(s, m->a[i], i, h, y);
        rotate(start_t + m->c[i] * h, y, s->k[i]);
    }
    for (uint32_t i = 0; i < m->extra; i++) {
        combine(s, m->extra_a[i], m->stages + i, h, y);
        rotate(start_t + m->extra_c[i] * h, y, s->k[m->stages + i]);
    }
}

static void estimate(const struct method *m, const struct step *s, const double *e, wide h,
                     wide error[2]) {
    wide f[2], right[2];
    rotate(start_t, start_y, f);
    combine(s, e, m->stages, m->scheme == EXPLICIT ? h : 1, right);
    for (int n = 0; n < 2; n++)
        error[n] = right[n] = right[n] - start_y[n] + m->e0 * h * f[n];
    if (m->filtered || m->scheme == COLLOCATION)
        solve_linear(m, h, right, error);
}

static struct step make_step(const struct method *m, wide h) {
    static void (*const stages[])(const struct method *, struct step *, wide) = {
        [EXPLICIT] = explicit_stages,
        [ROSENBROCK] = rosenbrock_stages,
        [DIRK] = dirk_stages,
        [COLLOCATION] = collocation_stages,
    };
    struct step s = {0};
    wide e[2][2], square[2] = {0, 0};
    stages[m->scheme](m, &s, h);
    combine(&s, m->b, m->stages, m->scheme == EXPLICIT ? h : 1, s.y1);
    estimate(m, &s, m->e, h, e[0]);
    estimate(m, &s, m->e2, h, e[1]);
    for (int n = 0; n < 2; n++) {
        s.error[n] = (double)e[0][n];
        for (int which = 0; which < 2; which++)
            square[which] += powl(e[which][n], 2) / 2;
    }
    bool both = m->e2[0] != 0;
    if (square[0] > 0)
        s.norm = (double)(square[0] / sqrtl(square[0] + (both ? 0.01L * square[1] : 0)));
    return s;
}

static void interpolate(const struct method *m, const struct step *s, wide size, wide x,
                        wide y[2]) {
    wide h = m->scheme == EXPLICIT ? size : 1;
    double w[METHOD_ROWS] = {0};
    for (uint32_t i = 0; i < m->stages + m->extra; i++)
        w[i] = (double)classic_weight(m, i, x);
    combine(s, w, m->stages + m->extra, h, y);
}

static double distance(const wide a[2], const wide b[2]) {
    return (double)hypotl(a[0] - b[0], a[1] - b[1]);
}

struct errors {
    double solution, norm, dense;
};

static struct errors errors_at(const struct method *m, wide h) {
    struct step s = make_step(m, h);
    wide y[2], at[2];
    exact(h, y);
    struct errors errors = {.solution = distance(s.y1, y), .norm = s.norm};
    for (int i = 1; i < 16 && m->degree; i++) {
        exact(h * i / 16, y);
        interpolate(m, &s, h, (wide)i / 16, at);
        errors.dense = fmax(errors.dense, distance(at, y));
    }
    return errors;
}

// The power of h by which a step's errors shrink.
static struct errors slopes_of(const struct method *m) {
    wide h = m->order < 6 ? 0.01L : 0.1L; // small, yet the errors stay above rounding
    if (m->scheme == COLLOCATION)
        h *= 4;
    struct errors large = errors_at(m, h), small = errors_at(m, h / 2);
    return (struct errors){.solution = log2(large.solution / small.solution),
                           .norm = log2(large.norm / small.norm),
                           .dense = log2(large.dense / small.dense)};
}

// At least: where error terms cancel, the power is higher for steps that are not tiny. That no
// method has more than its order is shown in test_method.c.
TEST(method_step_error_shrinks_with_its_order) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        double slope = slopes_of(m).solution;
        CHECK_MSG(slope > m->order + 0.6, "%s: %g, not %u", m->name, slope, m->order + 1);
    }
}

// The controller's exponent rests on this one: dop853's norm of two estimates counts as order 7.
TEST(method_error_norm_shrinks_with_embedded_order) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        if (m->embedded == 0)
            continue;
        double slope = slopes_of(m).norm;
        CHECK_MSG(fabs(slope - m->embedded - 1) < 0.4, "%s: %g, not %u", m->name, slope,
                  m->embedded + 1);
        double k = 1 / method_control(m, CONTROLLER_I).a;
        CHECK_MSG(fabs(slope - k) < 0.4, "%s: %g, not %g", m->name, slope, k);
    }
}

TEST(method_dense_error_shrinks_with_its_order) {
    static const struct {
        const char *name;
        double power;
    } rows[] = {{"dormand-prince-54", 5},
                {"tsit5", 5},
                {"vern7", 8},
                {"dormand-prince-853", 8},
                {"vern9", 10},
                {"rosenbrock23", 3},
                {"ros3p", 3},
                {"rodas3p", 4},
                {"rodas4", 4},
                {"rodas5p", 5},
                {"backward-euler", 2},
                {"implicit-midpoint", 2},
                {"crank-nicolson", 2},
                {"sdirk-2-2", 3},
                {"trbdf2", 3},
                {"kvaerno3", 4},
                {"sdirk4", 4},
                {"kvaerno5", 5},
                {"gauss-legendre-4", 3},
                {"gauss-legendre-8", 5},
                {"radau-iia-3", 3},
                {"radau-iia-5", 4},
                {"radau-iia-9", 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct method *m = method_find(rows[i].name);
        REQUIRE(m);
        double slope = slopes_of(m).dense;
        CHECK_MSG(fabs(slope - rows[i].power) < 0.4, "%s: %g, not %g", m->name, slope,
                  rows[i].power);
    }
}

// Of a stage's weight at s: its value, its slope, and what the rounding of both goes with.
struct weight {
    double value, slope, size;
};

static struct weight weight_at(const struct method *m, uint32_t i, double s) {
    double x = m->centred ? s - 0.5 : s, row = 0, bend = 0, size = 0;
    for (uint32_t j = m->degree; j-- > 0;) {
        bend = bend * x + row;
        row = row * x + m->p[i][j];
        size = size * fabs(x) + (j + 1) * fabs(m->p[i][j]);
    }
    return (struct weight){s * row, row + s * bend, 1 + size};
}

// Value and slope at both ends: y0, f(t0, y0), y1, f(t1, y1). So the pieces join smoothly. Those of
// implicit methods join, but for the slope.
TEST(method_interpolant_joins_smoothly) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        for (uint32_t i = 0; i < m->stages + m->extra && m->degree; i++) {
            struct weight start = weight_at(m, i, 0), end = weight_at(m, i, 1);
            CHECK_NEAR(end.value, i < m->stages ? m->b[i] : 0, 4e-16 * end.size);
            if (m->scheme != EXPLICIT)
                continue;
            CHECK_NEAR(start.slope, i == 0, m->centred ? 4e-16 * start.size : 0);
            CHECK_NEAR(end.slope, i == m->stages - 1, 4e-16 * end.size);
        }
    }
}

TEST(method_steps_agree_with_scipy) {
    // One step of 0.5: y1, the error estimate (dop853: its norm), dense output at 0.3 of the step.
    // Bogacki and Shampine's estimate tells which of the many 3(2) pairs this is, and so on.
    static const struct {
        const char *name;
        double y1[2], error[2], dense[2];
    } rows[] = {
        {"rk23",
         {-0.42290772429650081, 0.97948868655847332},
         {0.051518894603728223, -0.017678736480283376},
         {0}},
        {"rk45",
         {-0.29209073024765808, 1.0473928891704616},
         {-0.0021079155673231656, -0.001101859452340927},
         {0.37368945330744263, 1.0122287635108322}},
        {"dop853",
         {-0.30878753783419033, 1.0366529485294671},
         {2.3592020195151409e-06},
         {0.37644764169029921, 1.0140436519826832}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct method *m = method_find(rows[i].name);
        REQUIRE(m);
        struct step s = make_step(m, 0.5L);
        wide dense[2];
        interpolate(m, &s, 0.5L, 0.3L, dense);
        for (int n = 0; n < 2; n++) {
            CHECK_NEAR((double)s.y1[n], rows[i].y1[n], 1e-14);
            if (m->degree)
                CHECK_NEAR((double)dense[n], rows[i].dense[n], 1e-13);
            if (m->embedded < 7) // SciPy's sign is the other one
                CHECK_NEAR(-s.error[n], rows[i].error[n], 1e-15);
        }
        if (m->embedded == 7)
            CHECK_NEAR(s.norm, rows[i].error[0], 1e-15);
    }
}
