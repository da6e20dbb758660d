// SPDX-License-Identifier: MIT
// The classical form of a method's row, in long double.
#include "method_classic.h"

// The inverse of I / gamma - coupling.
static void fill_gamma(const struct method *m, struct classic *c) {
    for (uint32_t j = 0; j < m->stages; j++)
        for (uint32_t i = j; i < m->stages; i++) {
            wide sum = i == j;
            for (uint32_t k = j; k < i; k++)
                sum += m->coupling[i][k] * c->gamma[k][j];
            c->gamma[i][j] = c->back[i][j] = sum * m->gamma;
        }
}

static struct classic classic_collocation(const struct method *m) {
    struct classic c = {.rows = m->stages + 1};
    for (uint32_t i = 0; i < m->stages; i++)
        for (uint32_t j = 0; j < m->stages; j++)
            c.a[i][j] = c.back[i][j] = m->a[i][j];
    c.back[m->stages][m->stages] = 1;
    return c;
}

struct classic classic_of(const struct method *m) {
    if (m->scheme == COLLOCATION)
        return classic_collocation(m);
    struct classic c = {.rows = m->stages + m->extra};
    if (m->scheme == ROSENBROCK)
        fill_gamma(m, &c);
    else
        for (uint32_t i = 0; i < c.rows; i++)
            c.back[i][i] = 1;
    for (uint32_t i = 0; i < c.rows; i++)
        for (uint32_t k = 0; k < i; k++)
            for (uint32_t j = 0; j <= k; j++)
                c.a[i][j] +=
                    (i < m->stages ? m->a[i][k] : m->extra_a[i - m->stages][k]) * c.back[k][j];
    for (uint32_t i = 0; i < m->stages && m->scheme == DIRK; i++)
        c.a[i][i] = m->c[i] == 0 ? 0 : m->gamma;
    return c;
}

wide classic_weight(const struct method *m, uint32_t i, wide s) {
    wide sum = 0, power = m->centred ? s - 0.5L : s;
    for (uint32_t j = m->degree; j-- > 0;)
        sum = sum * power + m->p[i][j];
    return sum * s;
}
