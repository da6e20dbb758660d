// SPDX-License-Identifier: MIT
// Which algebraic row is given to which state: whatever the matrix of the rows is, as long as it is
// regular, it can be eliminated in the order that was found, without looking at a number.
#include "check.h"

#include "base/buf.h"
#include "ode/symbolic/symbolic.h"

enum { MOST = 9, SYSTEMS = 2000 };

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

// Mostly zeros, ones of either sign, now and then another number.
static void fill(double a[MOST][MOST], uint32_t n) {
    static const double values[] = {1, -1, 1, -1, 2, 0.5};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            a[i][j] = random_below(n) < 3 ? values[random_below(6)] : 0;
}

// The smallest pivot of an elimination with exchange of rows, or without.
static double least_pivot(double from[MOST][MOST], uint32_t n, bool exchange) {
    double a[MOST][MOST], least = INFINITY;
    memcpy(a, from, sizeof a);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t best = k;
        for (uint32_t i = k; exchange && i < n; i++)
            best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        for (uint32_t j = 0; j < n; j++) {
            double other = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = other;
        }
        least = fmin(least, fabs(a[k][k]));
        if (least < 1e-9)
            return 0;
        for (uint32_t i = k + 1; i < n; i++)
            for (uint32_t j = n; j-- > k;)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    return least;
}

// Rows of the matrix; x is differential, and in each row.
static struct system *system_of(double a[MOST][MOST], uint32_t n, struct model **model) {
    struct buf text = {0};
    struct report r = {0};
    buf_puts(&text, "x'=-x\nalg");
    for (uint32_t j = 0; j < n; j++)
        buf_printf(&text, " z%u", j);
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(&text, "\n0=%u*x", i + 1);
        for (uint32_t j = 0; j < n; j++)
            if (a[i][j] != 0)
                buf_printf(&text, "+(%g)*z%u", a[i][j], j);
    }
    REQUIRE(!text.failed);
    *model = model_parse("m", text.data, text.length, &r);
    REQUIRE(*model);
    struct system *s = system_new(*model, &r);
    CHECK((s == NULL) == (r.errors > 0));
    buf_free(&text);
    report_free(&r);
    return s;
}

// The algebraic part of the Jacobian as it will be eliminated.
static void eliminated(struct system *s, double a[MOST][MOST]) {
    struct arena arena = {0};
    uint32_t place[MOST + 1], count = 0;
    for (uint32_t k = 0; k <= s->algebraic; k++)
        place[s->order[k]] = s->row_algebraic[s->order[k]] ? count++ : MOST;
    struct sparsity p = system_sparsity(s, &arena);
    node_id *entries = system_jacobian(s, &p, &arena);
    memset(a, 0, sizeof(double[MOST][MOST]));
    for (uint32_t row = 0; row < p.rows; row++)
        for (uint32_t i = p.row_start[row]; i < p.row_start[row + 1]; i++)
            if (place[row] < MOST && place[p.columns[i]] < MOST)
                a[place[row]][place[p.columns[i]]] = s->dag.nodes.items[entries[i]].value;
    arena_free(&arena);
}

TEST(algebraic_order_of_any_rows) {
    uint32_t regular = 0;
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        double a[MOST][MOST] = {{0}};
        uint32_t n = 1 + random_below(MOST);
        fill(a, n);
        bool good = least_pivot(a, n, true) > 1e-6;
        struct model *m = NULL;
        struct system *s = system_of(a, n, &m);
        CHECK_MSG(s || !good, "system %u is refused", i);
        if (good && s) {
            eliminated(s, a);
            CHECK_MSG(least_pivot(a, n, false) > 1e-9, "system %u of %u has no pivot", i, n);
            regular++;
        }
        system_free(s);
        model_free(m);
    }
    CHECK_MSG(regular > SYSTEMS / 4, "only %u of them are regular", regular);
}
