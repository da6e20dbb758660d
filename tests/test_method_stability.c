// SPDX-License-Identifier: MIT
// What implicit methods make of y' = lambda y: with z = h lambda a step multiplies y by R(z). It
// must not grow for any z on the imaginary axis, hence nowhere to the left of it, and an L-stable
// method must damp what is infinitely fast. Interpolants must stay bounded in the same way.
#include "check.h"
#include "method_classic.h"

#include <complex.h>

typedef long double complex plane;

// Solves matrix x = right in place, largest pivot first.
static void solve_plane(plane matrix[METHOD_ROWS][METHOD_ROWS], plane *x, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        uint32_t pivot = k;
        for (uint32_t i = k + 1; i < n; i++)
            pivot = cabsl(matrix[i][k]) > cabsl(matrix[pivot][k]) ? i : pivot;
        for (uint32_t j = k; j <= n; j++) {
            plane *a = j < n ? &matrix[k][j] : &x[k], *b = j < n ? &matrix[pivot][j] : &x[pivot];
            plane swap = *a;
            *a = *b;
            *b = swap;
        }
        for (uint32_t i = k + 1; i < n; i++) {
            plane factor = matrix[i][k] / matrix[k][k];
            for (uint32_t j = k; j < n; j++)
                matrix[i][j] -= factor * matrix[k][j];
            x[i] -= factor * x[k];
        }
    }
    for (uint32_t k = n; k-- > 0;) {
        for (uint32_t j = k + 1; j < n; j++)
            x[k] -= matrix[k][j] * x[j];
        x[k] /= matrix[k][k];
    }
}

// R(z) of the solution with weights w of the table.
static plane stability(const struct method *m, const wide *w, plane z) {
    struct classic c = classic_of(m);
    plane matrix[METHOD_ROWS][METHOD_ROWS], x[METHOD_ROWS], sum = 0;
    for (uint32_t i = 0; i < m->stages; i++) {
        x[i] = 1;
        for (uint32_t j = 0; j < m->stages; j++)
            matrix[i][j] = (i == j) - z * (c.a[i][j] + c.gamma[i][j]);
    }
    solve_plane(matrix, x, m->stages);
    for (uint32_t i = 0; i < m->stages; i++)
        for (uint32_t j = 0; j < m->stages; j++)
            sum += w[i] * c.back[i][j] * x[j];
    return 1 + z * sum;
}

// Weights of the solution at t0 + s h.
static void weights_at(const struct method *m, wide s, wide w[METHOD_ROWS]) {
    for (uint32_t i = 0; i < m->stages; i++)
        w[i] = classic_weight(m, i, s);
}

static double growth(const struct method *m, wide s) {
    double worst = 0;
    wide w[METHOD_ROWS];
    weights_at(m, s, w);
    for (int k = -24; k <= 48; k++)
        worst = fmax(worst, (double)cabsl(stability(m, w, I * powl(10, (wide)k / 8))));
    return worst;
}

// R at infinity, from R(z) = r + c / z + ...
static double at_infinity(const struct method *m) {
    wide w[METHOD_ROWS];
    weights_at(m, 1, w);
    return (double)(2 * creall(stability(m, w, -2e6L)) - creall(stability(m, w, -1e6L)));
}

TEST(method_stability_is_as_claimed) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        CHECK((m->stability == STABILITY_LIMITED) == (m->scheme == EXPLICIT));
        if (m->scheme == EXPLICIT)
            continue;
        double most = growth(m, 1), left = fabs(at_infinity(m));
        CHECK_MSG(most < 1 + 1e-11, "%s grows by %.17g", m->name, most);
        if (m->stability == L_STABLE)
            CHECK_MSG(left < 1e-8, "%s leaves %g", m->name, left);
        else
            CHECK_MSG(left > 0.1 && left < 1 + 1e-9, "%s leaves %g", m->name, left);
    }
    CHECK_NEAR(at_infinity(method_find("ros3p")), 1 - sqrt(3), 1e-10);
    CHECK_NEAR(at_infinity(method_find("crank-nicolson")), -1, 1e-10);
    CHECK_NEAR(at_infinity(method_find("gauss8")), 1, 1e-9);
}

// Cubic Hermite polynomials would multiply by z.
TEST(method_interpolants_are_bounded) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        for (int k = 1; k < 16 && m->stability != STABILITY_LIMITED; k++) {
            double most = growth(m, (wide)k / 16);
            CHECK_MSG(most < 1.2, "%s grows by %g at %d/16", m->name, most, k);
        }
    }
}

// The part of ros3p's estimate that sees fast components: for y' = lambda y its stages add up to a
// tenth of (I - S) u_0, S being the solution with the step's matrix.
TEST(method_residue) {
    const struct method *m = method_find("ros3p");
    static const double zs[] = {-1e-3, -0.1, -1, -10, -1e6};
    for (size_t k = 0; k < sizeof zs / sizeof *zs; k++) {
        wide z = zs[k], matrix = 1 - m->gamma * z, u[METHOD_STAGES], sum = 0;
        for (uint32_t i = 0; i < m->stages; i++) {
            wide y = 1, coupling = 0;
            for (uint32_t j = 0; j < i; j++) {
                y += m->a[i][j] * u[j];
                coupling += m->coupling[i][j] * u[j];
            }
            u[i] = m->gamma * (z * y + coupling) / matrix;
            sum += m->residue[i] * u[i];
        }
        CHECK_NEAR((double)sum, (double)(0.1 * (u[0] - u[0] / matrix)), 1e-15);
    }
    for (uint32_t i = 0; i < method_count; i++)
        CHECK((methods[i].residue[0] != 0) == (&methods[i] == m));
}
