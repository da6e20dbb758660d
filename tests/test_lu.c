// SPDX-License-Identifier: MIT
// The order, fill-in and cost of sparse factorisations, on matrices whose answers are known, and on
// random ones: the factors, computed along the plan, solve what a dense elimination solves.
#include "check.h"
#include "ode/symbolic/lu.h"

enum { MOST = 40 };

// A pattern of chosen entries.
struct pattern {
    struct arena arena;
    struct sparsity p;
};

typedef bool entry_fn(uint32_t row, uint32_t column, uint32_t size);

static void pattern_begin(struct pattern *x, uint32_t size, entry_fn *has) {
    *x = (struct pattern){.p = {.rows = size}};
    vec(uint32_t) columns = {0};
    x->p.row_start = arena_new(&x->arena, uint32_t, size + 1);
    for (uint32_t i = 0; i < size; i++) {
        for (uint32_t j = 0; j < size; j++)
            if (has(i, j, size))
                *vec_push(&x->arena, &columns) = j;
        x->p.row_start[i + 1] = columns.count;
    }
    x->p.columns = columns.items;
}

static bool arrow(uint32_t i, uint32_t j, uint32_t n) { return (void)n, i == 0 || j == 0; }
static bool tridiagonal(uint32_t i, uint32_t j, uint32_t n) {
    return (void)n, i + 1 == j || j + 1 == i;
}
static bool dense(uint32_t i, uint32_t j, uint32_t n) { return (void)i, (void)j, (void)n, true; }
static bool ring(uint32_t i, uint32_t j, uint32_t n) {
    return (i + 1) % n == j || (j + 1) % n == i;
}
static bool empty(uint32_t i, uint32_t j, uint32_t n) { return (void)i, (void)j, (void)n, false; }

static uint32_t seed = 1;
static uint32_t chance(void) { return (seed = seed * 1664525 + 1013904223) >> 8; }
static bool scattered(uint32_t i, uint32_t j, uint32_t n) {
    return (void)i, (void)j, chance() % n < 3;
}

static struct lu plan_of(uint32_t size, entry_fn *has, struct pattern *x) {
    pattern_begin(x, size, has);
    return lu_plan(&x->p, lu_order(&x->p, &x->arena), &x->arena);
}

// Entries before and after fill-in, multiplications of the factorisation.
static void check_plan(entry_fn *has, uint32_t size, uint32_t given, uint32_t entries,
                       uint64_t factor) {
    struct pattern x;
    struct lu l = plan_of(size, has, &x);
    CHECK_INT(l.given, given);
    CHECK_INT(l.entries, entries);
    CHECK_INT(l.factor, factor);
    CHECK_INT(l.solve, entries);
    arena_free(&x.arena);
}

TEST(lu_known_matrices) {
    check_plan(arrow, 20, 58, 58, 38);           // its tip comes last: no fill-in
    check_plan(tridiagonal, 100, 298, 298, 198); // in its own order
    check_plan(dense, 12, 144, 144, 12 * 11 / 2 + 11 * 12 * 23 / 6);
    check_plan(empty, 5, 5, 5, 0);
    check_plan(ring, 10, 30, 44, 50); // each pivot but the last three joins two neighbours
}

TEST(lu_orders_are_permutations_and_repeat) {
    for (uint32_t n = 1; n <= MOST; n++) {
        struct pattern x;
        pattern_begin(&x, n, scattered);
        const uint32_t *first = lu_order(&x.p, &x.arena), *again = lu_order(&x.p, &x.arena);
        uint64_t seen = 0;
        for (uint32_t k = 0; k < n; k++) {
            REQUIRE(first[k] < n);
            seen |= UINT64_C(1) << first[k];
            CHECK_INT(first[k], again[k]);
        }
        CHECK(seen == (UINT64_C(1) << n) - 1);
        arena_free(&x.arena);
    }
}

TEST(lu_entries_are_found) {
    struct pattern x;
    struct lu l = plan_of(30, scattered, &x);
    uint32_t found = 0;
    for (uint32_t i = 0; i < 30; i++)
        for (uint32_t j = 0; j < 30; j++) {
            uint32_t e = lu_entry(&l, i, j);
            if (e == UINT32_MAX)
                continue;
            found++;
            CHECK_INT(l.column[e], l.position[j]);
            CHECK(e >= l.row_start[l.position[i]] && e < l.row_start[l.position[i] + 1]);
        }
    CHECK_INT(found, l.entries);
    for (uint32_t i = 0; i < 30; i++) {
        CHECK_INT(lu_entry(&l, i, i), l.diagonal[l.position[i]]);
        for (uint32_t k = x.p.row_start[i]; k < x.p.row_start[i + 1]; k++)
            CHECK(!l.fill[lu_entry(&l, i, x.p.columns[k])]);
    }
    arena_free(&x.arena);
}

// The same arithmetic as a kernel's, on plain numbers.
static uint64_t factor(const struct lu *l, double *e) {
    uint64_t work = 0;
    for (uint32_t k = 0; k < l->size; k++) {
        for (uint32_t i = l->row_start[k]; i < l->diagonal[k]; i++) {
            uint32_t j = l->column[i];
            e[i] *= e[l->diagonal[j]];
            work++;
            for (uint32_t u = l->diagonal[j] + 1; u < l->row_start[j + 1]; u++, work++) {
                uint32_t at = lu_entry(l, l->state[k], l->state[l->column[u]]);
                REQUIRE(at != UINT32_MAX); // no update falls outside the fill-in
                e[at] -= e[i] * e[u];
            }
        }
        e[l->diagonal[k]] = 1 / e[l->diagonal[k]];
    }
    return work;
}

static void solve_with(const struct lu *l, const double *e, double *x) { // x by position
    for (uint32_t k = 0; k < l->size; k++)
        for (uint32_t i = l->row_start[k]; i < l->diagonal[k]; i++)
            x[k] -= e[i] * x[l->column[i]];
    for (uint32_t k = l->size; k-- > 0;) {
        for (uint32_t i = l->diagonal[k] + 1; i < l->row_start[k + 1]; i++)
            x[k] -= e[i] * x[l->column[i]];
        x[k] *= e[l->diagonal[k]];
    }
}

// Random numbers on the pattern; x is chosen, b = A x is computed, and solved for.
static double solve_miss(uint32_t n, entry_fn *has) {
    struct pattern x;
    struct lu l = plan_of(n, has, &x);
    double a[MOST][MOST] = {{0}}, want[MOST], b[MOST], worst = 0;
    double *e = arena_new(&x.arena, double, l.entries);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint32_t at = lu_entry(&l, i, j);
            if (at == UINT32_MAX || l.fill[at])
                continue;
            e[at] = a[i][j] = (double)(chance() % 2001) / 1000 - 1 + (i == j ? n : 0);
        }
    for (uint32_t i = 0; i < n; i++)
        want[i] = (double)(chance() % 100) / 10;
    for (uint32_t i = 0; i < n; i++) {
        b[l.position[i]] = 0;
        for (uint32_t j = 0; j < n; j++)
            b[l.position[i]] += a[i][j] * want[j];
    }
    CHECK_INT(factor(&l, e), l.factor);
    solve_with(&l, e, b);
    for (uint32_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(b[l.position[i]] - want[i]));
    arena_free(&x.arena);
    return worst;
}

TEST(lu_factors_solve) {
    entry_fn *const kinds[] = {arrow, tridiagonal, dense, ring, empty, scattered, scattered};
    for (uint32_t n = 1; n <= MOST; n += 3)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            double miss = solve_miss(n, kinds[k]);
            CHECK_MSG(miss < 1e-13, "size %u, kind %zu: %g", n, k, miss);
        }
}

// The order pays: far less than the fill-in of the given one, on an arrow that points backwards.
TEST(lu_order_saves_fill_in) {
    struct pattern x;
    struct lu l = plan_of(40, arrow, &x);
    CHECK_INT(l.state[39] == 0 || l.state[38] == 0, 1);
    CHECK_INT(l.entries, l.given);
    arena_free(&x.arena);
}
