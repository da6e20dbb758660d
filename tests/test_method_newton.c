// SPDX-License-Identifier: MIT
// What only methods with Newton iterations have: the factors t D ti of a collocation matrix, its
// error estimate and its polynomial, and where iterations of DIRK stages start.
#include "check.h"
#include "method_classic.h"

// D of a = t D ti: where the row has entries, and which.
static wide block_entry(const struct method *m, uint32_t i, uint32_t j) {
    uint32_t odd = m->stages % 2, pair = (i + odd) / 2; // 0 is the real one, if there is one
    if ((j + odd) / 2 != pair)
        return 0;
    return i == j ? m->mu[pair][0] : i < j ? m->mu[pair][1] : -m->mu[pair][1];
}

static wide factored(const struct method *m, uint32_t i, uint32_t j) {
    wide sum = 0;
    for (uint32_t k = 0; k < m->stages; k++)
        for (uint32_t l = 0; l < m->stages; l++)
            sum += (wide)m->t[i][k] * block_entry(m, k, l) * m->ti[l][j];
    return sum;
}

static wide t_times_ti(const struct method *m, uint32_t i, uint32_t j) {
    wide sum = 0;
    for (uint32_t k = 0; k < m->stages; k++)
        sum += (wide)m->t[i][k] * m->ti[k][j];
    return sum;
}

static void check_factors(const struct method *m) {
    uint32_t odd = m->stages % 2;
    for (uint32_t i = 0; i < m->stages; i++)
        for (uint32_t j = 0; j < m->stages; j++) {
            CHECK_NEAR((double)factored(m, i, j), m->a[i][j], 1e-15);
            CHECK_NEAR((double)t_times_ti(m, i, j), i == j, 5e-15);
        }
    for (uint32_t j = 0; j < m->stages; j++) // a stage of the last row is a sum, not a product
        CHECK(m->t[m->stages - 1][j] == ((odd && j == 0) || (j + odd) % 2 == 0));
    double product = 1;
    for (uint32_t k = 0; k < (m->stages + 1) / 2; k++) {
        CHECK(m->mu[k][0] > 0 && (odd && k == 0 ? m->mu[k][1] == 0 : m->mu[k][1] > 0));
        product *= pow(m->mu[k][0], 2) + pow(m->mu[k][1], 2);
    }
    CHECK_NEAR(m->gamma, odd ? m->mu[0][0] : pow(product, 1.0 / m->stages), odd ? 0 : 1e-16);
    CHECK(m->e0 == m->gamma);
}

TEST(method_collocation_matrix_is_factored) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < method_count; n++)
        if (methods[n].scheme == COLLOCATION) {
            REQUIRE(methods[n].stages >= 2 && methods[n].stages <= METHOD_NODES);
            check_factors(&methods[n]);
            count++;
        }
    CHECK_INT(count, 5);
}

// Entries of the rows that are for one scheme only, and those outside its shape.
TEST(method_newton_entries_are_where_they_belong) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        uint32_t nodes = m->scheme == COLLOCATION ? m->stages : 0;
        CHECK((m->gamma > 0) == (m->scheme != EXPLICIT));
        CHECK((m->e0 != 0) == (nodes > 0));
        CHECK(!m->filtered || (m->scheme == DIRK && m->embedded));
        for (uint32_t i = 0; i < METHOD_NODES; i++) {
            CHECK(2 * i < nodes || (m->mu[i][0] == 0 && m->mu[i][1] == 0));
            for (uint32_t j = 0; j < METHOD_NODES; j++)
                CHECK((i < nodes && j < nodes) || (m->t[i][j] == 0 && m->ti[i][j] == 0));
        }
    }
}

// The polynomial takes the values z_i at the nodes.
TEST(method_collocation_polynomial_goes_through_the_stages) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        for (uint32_t i = 0; i < m->stages && m->scheme == COLLOCATION; i++)
            for (uint32_t node = 0; node < m->stages; node++) {
                wide value = 0, size = 0;
                for (uint32_t j = m->degree; j-- > 0;) {
                    value = (value + m->p[i][j]) * m->c[node];
                    size = (size + fabs(m->p[i][j])) * m->c[node];
                }
                CHECK_NEAR((double)value, i == node, 2e-16 * (double)size);
            }
    }
}

// Hairer and Wanner II, IV.8.
TEST(method_radau5_is_that_of_hairer_and_wanner) {
    const struct method *m = method_find("radau5");
    REQUIRE(m);
    CHECK_NEAR(m->gamma, (6 + cbrt(81) - cbrt(9)) / 30, 1e-16);
    CHECK_NEAR(m->e[0], m->gamma / 3 * (-13 - 7 * sqrt(6)), 1e-15);
    CHECK_NEAR(m->e[1], m->gamma / 3 * (-13 + 7 * sqrt(6)), 1e-15);
    CHECK_NEAR(m->e[2], -m->gamma / 3, 1e-16);
}

// b_i a_ij + b_j a_ji = b_i b_j, with weights of slopes.
static bool keeps_quadratic_invariants(const struct method *m) {
    struct classic c = classic_of(m);
    wide b[METHOD_STAGES] = {0}, worst = 0;
    for (uint32_t i = 0; i < m->stages; i++)
        for (uint32_t j = 0; j < m->stages; j++)
            b[j] += m->b[i] * c.back[i][j];
    for (uint32_t i = 0; i < m->stages; i++)
        for (uint32_t j = 0; j < m->stages; j++)
            worst = fmaxl(worst, fabsl(b[i] * c.a[i][j] + b[j] * c.a[j][i] - b[i] * b[j]));
    return worst < 1e-15;
}

TEST(method_gauss_keeps_quadratic_invariants) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        bool gauss = !strcmp(m->name, "implicit-midpoint") || !strncmp(m->name, "gauss", 5);
        CHECK_MSG(m->scheme == ROSENBROCK || keeps_quadratic_invariants(m) == gauss, "%s", m->name);
    }
}

static uint32_t different_times(const struct method *m, uint32_t before) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < before; i++) {
        bool is_new = true;
        for (uint32_t j = 0; j < i; j++)
            is_new = is_new && m->c[j] != m->c[i];
        count += is_new;
    }
    return count;
}

// Exact where f is a polynomial in time, of degree 2 as soon as there are three stages before.
TEST(method_prediction_is_exact_for_polynomials) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        for (uint32_t i = 0; i < m->stages && m->scheme == DIRK; i++) {
            double w[METHOD_STAGES] = {[METHOD_STAGES - 1] = 7};
            method_predict(m, i, w);
            uint32_t times = different_times(m, i), used = 0;
            for (uint32_t power = 0; power < 3 && power < times; power++) {
                double sum = 0;
                for (uint32_t j = 0; j < i; j++)
                    sum += w[j] * pow(m->c[j], power);
                CHECK_NEAR(sum, pow(m->c[i], power), 2e-14);
            }
            for (uint32_t j = 0; j < i; j++)
                used += w[j] != 0;
            CHECK(used <= 3 && (used > 0) == (i > 0));
            CHECK(w[METHOD_STAGES - 1] == 7); // writes i weights only
        }
    }
}

TEST(method_prediction_takes_the_nearest_stages) {
    double w[METHOD_STAGES];
    method_predict(method_find("trbdf2"), 1, w);
    CHECK(w[0] == 1);
    method_predict(method_find("trbdf2"), 2, w); // c = 0, 2 - sqrt 2, 1
    CHECK_NEAR(w[1], 1 + sqrt(0.5), 1e-15);
    method_predict(method_find("kvaerno3"), 3, w); // at the time of the stage before
    CHECK(w[0] == 0 && w[1] == 0 && w[2] == 1);
    method_predict(method_find("sdirk4"), 4, w); // from 3/4, 11/20 and 1/2 to 1
    CHECK(w[0] == 0);
    CHECK_NEAR(w[1], 4.5, 1e-13);
    CHECK_NEAR(w[2], -12.5, 1e-13);
    CHECK_NEAR(w[3], 9, 1e-13);
}
