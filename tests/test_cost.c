// SPDX-License-Identifier: MIT
// What a step is said to cost, against counts by hand.
#include "check.h"
#include "shoal/shoal.h"

static shoal_cost cost_of(const char *text, const char *method) {
    shoal_model *model = NULL;
    shoal_cost c;
    shoal_log *log = shoal_log_new();
    REQUIRE(shoal_model_parse("test.ode", text, strlen(text), &model, log) == SHOAL_OK);
    REQUIRE(shoal_model_cost(model, method, &c, log) == SHOAL_OK);
    shoal_model_free(model);
    shoal_log_free(log);
    return c;
}

// One state, one multiplication in f, none in its derivative. The matrix and a solution take one
// product each, complex ones four; the rest are those of the method.
TEST(cost_of_one_state) {
    static const struct {
        const char *method;
        uint64_t f, products, sums, divs, iterations;
    } cases[] = {
        {"rk4", 4, 3 + 4, 0, 0, 0},
        {"ros3p", 2, 1 + 4 + (6 + 1 + 3 + 2 + 2), 2, 1, 0}, // with its residue
        {"backward-euler", 1 + 2, 1 + 3 + (3 + 2 * 2 + 1), 2, 1, 2},
        {"implicit-midpoint", 1 + 2, 1 + 3 + (3 + 2 * 2 + 1), 2, 1, 2},
        {"crank-nicolson", 1 + 2, 1 + 4 + (1 + 1 + 3 + 2 * 2 + 1 + 2), 2, 1, 2}, // error filtered
        {"radau5", 1 + 2 * 3, 5 + (3 * 5 + 1) + (3 + 5 * 9 + 3 * 5 + 1 + 4), 5 * 3, 2, 2},
        {"gauss-legendre-4", 1 + 2 * 2, 5 + (3 * 4 + 1) + (2 + 5 * 4 + 3 * 4 + 2 + 3), 5 * 2, 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_cost c = cost_of("par k=1\ninit x=1\nx'=k*x\n", cases[i].method);
        CHECK_MSG(c.muls == cases[i].f + cases[i].products &&
                      c.adds == cases[i].products + cases[i].sums,
                  "%s: %llu multiplications, %llu additions", cases[i].method,
                  (unsigned long long)c.muls, (unsigned long long)c.adds);
        CHECK_INT(c.divs, cases[i].divs);
        CHECK_INT(c.functions, 0);
        CHECK_INT(c.iterations, cases[i].iterations);
    }
}

// The more the factors fill in, the more complex ones cost.
TEST(cost_of_factors) {
    struct {
        const char *method;
        uint64_t factors, solves;
    } cases[] = {{"rodas4", 1, 6}, {"kvaerno5", 1, 6 * 2 + 1}, {"radau9", 9, 3 * 9 + 1}};
    static const char sparse[] = "init x=1,y=1,z=1\nx'=z\ny'=z\nz'=x\n";
    static const char full[] = "init x=1,y=1,z=1\nx'=x+y+z\ny'=x+y+z\nz'=x+y+z\n";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_cost few = cost_of(sparse, cases[i].method), many = cost_of(full, cases[i].method);
        CHECK_INT(few.factors, 6);
        CHECK_INT(many.factors, 9);
        // entries that are scaled, 9 and 6, and products of the factorisation, 8 and 2
        CHECK_INT(many.muls - few.muls, cases[i].factors * (3 + 6) + cases[i].solves * 3);
    }
}
