// SPDX-License-Identifier: MIT
// Polynomials through samples, against a plain solution of all their equations at once.
#include "check.h"

#include "ode/run/spline.h"

enum { MOST = 12, UNKNOWNS = 4 * (MOST - 1) };

static double random_unit(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

// ---- The oracle: 4 unknowns for each interval, elimination with exchange ------------------------

struct equations {
    int rows, columns;
    double m[UNKNOWNS][UNKNOWNS + 1];
};

static double *add_row(struct equations *e, double right) {
    memset(e->m[e->rows], 0, sizeof e->m[0]);
    e->m[e->rows][e->columns] = right;
    return e->m[e->rows++];
}

// Derivative `order` of the cubic of interval i at x, times `factor`, into the row.
static void add_cubic(double *row, int i, int order, double x, double factor) {
    for (int k = order; k < 4; k++) {
        double c = factor;
        for (int d = 0; d < order; d++)
            c *= k - d;
        row[4 * i + k] += c * pow(x, k - order);
    }
}

static void solve_equations(struct equations *e, double *x) {
    int n = e->columns;
    REQUIRE(e->rows == n);
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            best = fabs(e->m[i][k]) > fabs(e->m[best][k]) ? i : best;
        for (int j = 0; j <= n; j++) {
            double was = e->m[k][j];
            e->m[k][j] = e->m[best][j];
            e->m[best][j] = was;
        }
        for (int i = 0; i < n; i++) {
            double factor = e->m[i][k] / e->m[k][k];
            for (int j = k; j <= n && i != k; j++)
                e->m[i][j] -= factor * e->m[k][j];
        }
    }
    for (int k = 0; k < n; k++)
        x[k] = e->m[k][n] / e->m[k][k];
}

static void add_ends(struct equations *e, enum spline_kind kind, int count, const double *t) {
    int last = count - 2;
    double width = t[count - 1] - t[last];
    for (int order = 1; order <= 2 && kind == SPLINE_periodic; order++) {
        double *row = add_row(e, 0);
        add_cubic(row, 0, order, 0, 1);
        add_cubic(row, last, order, width, -1);
    }
    if (kind == SPLINE_natural || kind == SPLINE_clamped) {
        add_cubic(add_row(e, 0), 0, kind == SPLINE_natural ? 2 : 1, 0, 1);
        add_cubic(add_row(e, 0), last, kind == SPLINE_natural ? 2 : 1, width, 1);
    }
    for (int end = 0; end < 2 && kind == SPLINE_notaknot; end++) {
        double *row = add_row(e, 0);
        add_cubic(row, end ? last - 1 : 0, 3, 0, 1);
        add_cubic(row, end ? last : 1, 3, 0, -1);
    }
}

static void oracle(enum spline_kind kind, int count, const double *t, const double *v, double *c) {
    static struct equations e;
    e.rows = 0;
    e.columns = 4 * (count - 1);
    for (int i = 0; i + 1 < count; i++) {
        double width = t[i + 1] - t[i];
        add_cubic(add_row(&e, v[i]), i, 0, 0, 1);
        add_cubic(add_row(&e, v[i + 1]), i, 0, width, 1);
        for (int order = 1; order <= 2 && i + 2 < count; order++) {
            double *row = add_row(&e, 0);
            add_cubic(row, i, order, width, 1);
            add_cubic(row, i + 1, order, 0, -1);
        }
    }
    add_ends(&e, kind, count, t);
    solve_equations(&e, c);
}

TEST(spline_is_what_its_equations_say) {
    static const enum spline_kind kinds[] = {SPLINE_natural, SPLINE_notaknot, SPLINE_clamped,
                                             SPLINE_periodic};
    uint64_t seed = 7;
    for (int k = 0; k < 4; k++)
        for (int count = kinds[k] == SPLINE_notaknot ? 4 : 2; count <= MOST; count++) {
            double t[MOST] = {0}, v[MOST], c[UNKNOWNS], want[UNKNOWNS];
            for (int i = 0; i < count; i++) {
                t[i] = i ? t[i - 1] + 0.05 + random_unit(&seed) : -1;
                v[i] = random_unit(&seed) * 4 - 2;
            }
            if (kinds[k] == SPLINE_periodic)
                v[count - 1] = v[0];
            REQUIRE(spline_make(kinds[k], (uint64_t)count, t, v, c));
            oracle(kinds[k], count, t, v, want);
            for (int i = 0; i < 4 * (count - 1); i++)
                CHECK_MSG(fabs(c[i] - want[i]) <= 1e-9 * (1 + fabs(want[i])),
                          "%s, %d samples: coefficient %d is %.17g, not %.17g",
                          spline_names[kinds[k]], count, i, c[i], want[i]);
        }
}

static double value_at(const double *c, double x) {
    return ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
}

TEST(spline_not_a_knot_repeats_polynomials) {
    static const double t[] = {-2, -1.5, 0, 0.25, 1, 3};
    for (uint64_t count = 2; count <= 6; count++) {
        int degree = count > 3 ? 3 : (int)count - 1; // that so many samples determine
        double v[6], c[20];
        for (uint64_t i = 0; i < count; i++)
            v[i] = 1 + (degree > 0 ? 2 * t[i] : 0) - (degree > 1 ? t[i] * t[i] : 0) +
                   (degree > 2 ? 0.5 * t[i] * t[i] * t[i] : 0);
        REQUIRE(spline_make(SPLINE_notaknot, count, t, v, c));
        for (uint64_t i = 0; i + 1 < count; i++)
            for (int k = 0; k <= 4; k++) {
                double x = (t[i + 1] - t[i]) * k / 4, at = t[i] + x;
                double want =
                    1 + 2 * at - (degree > 1 ? at * at : 0) + (degree > 2 ? 0.5 * at * at * at : 0);
                CHECK_NEAR(value_at(c + 4 * i, x), want, 1e-13 * (1 + fabs(want)));
            }
    }
}

// Numbers of SciPy's PchipInterpolator.
TEST(spline_monotone_does_not_overshoot) {
    static const double t[] = {0, 1, 2.5, 3, 4}, v[] = {0, 0, 1, 5, 4};
    static const double at[] = {0.5, 1.75, 2.75, 3.5},
                        want[] = {0, 0.2313432835820895, 3.08955223880597, 4.875};
    double c[16];
    REQUIRE(spline_make(SPLINE_monotone, 5, t, v, c));
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(value_at(c + 4 * i, at[i] - t[i]), want[i], 1e-12);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k <= 20; k++) {
            double y = value_at(c + 4 * i, (t[i + 1] - t[i]) * k / 20);
            CHECK_MSG(y >= fmin(v[i], v[i + 1]) - 1e-14 && y <= fmax(v[i], v[i + 1]) + 1e-14,
                      "%g is outside of interval %d", y, i);
        }
    REQUIRE(spline_make(SPLINE_monotone, 2, t, v + 2, c)); // a line
    CHECK_NEAR(value_at(c, 0.5), 3, 1e-14);
}

TEST(spline_lower_degrees) {
    static const double t[] = {0, 2, 3}, v[] = {1, 5, 4};
    double c[4];
    REQUIRE(spline_make(SPLINE_held, 3, t, v, c));
    CHECK(c[0] == 1 && c[1] == 5);
    REQUIRE(spline_make(SPLINE_linear, 3, t, v, c));
    CHECK(c[0] == 1 && c[1] == 2 && c[2] == 5 && c[3] == -1);
}
