// SPDX-License-Identifier: MIT
// The expression DAG: sharing, folding, powers, dead code, counts, evaluation.
#include "symbolic_text.h"

#include <time.h>

struct golden {
    const char *postfix, *infix;
};

static void check_golden(const struct golden *table, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct scene *s = scene_new();
        const char *got = to_infix(&s->dag, from_postfix(&s->dag, table[i].postfix));
        CHECK_MSG(!strcmp(got, table[i].infix), "\"%s\" gives %s, not %s", table[i].postfix, got,
                  table[i].infix);
        scene_free(s);
    }
}
#define CHECK_GOLDEN(...)                                                                          \
    do {                                                                                           \
        static const struct golden table_[] = {__VA_ARGS__};                                       \
        check_golden(table_, sizeof table_ / sizeof *table_);                                      \
    } while (0)

TEST(symbolic_equal_expressions_are_one_node) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    CHECK_INT(from_postfix(d, "x y +"), from_postfix(d, "y x +"));
    CHECK_INT(from_postfix(d, "x y * sin"), from_postfix(d, "y x * sin"));
    CHECK_INT(from_postfix(d, "x 3 +"), from_postfix(d, "3 x +"));
    CHECK_INT(from_postfix(d, "x 3 -"), from_postfix(d, "-3 x +"));
    CHECK_INT(from_postfix(d, "x y >"), from_postfix(d, "y x <"));
    CHECK_INT(from_postfix(d, "x y >="), from_postfix(d, "y x <="));
    CHECK(from_postfix(d, "x y -") != from_postfix(d, "y x -"));
    CHECK(from_postfix(d, "x y min") != from_postfix(d, "x y max"));
    CHECK(dag_leaf(d, LEAF_STATE, 1) != dag_leaf(d, LEAF_PAR, 1));
    CHECK(dag_leaf(d, LEAF_STATE, 1) != dag_leaf(d, LEAF_STATE, 2));
    CHECK_INT(dag_leaf(d, LEAF_DERIVED, 1), dag_leaf(d, LEAF_DERIVED, 1));
    scene_free(s);
}

TEST(symbolic_numbers_are_compared_by_bits) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    CHECK(dag_number(d, 0.0) != dag_number(d, -0.0));
    CHECK_INT(dag_number(d, NAN), dag_number(d, NAN));
    CHECK_INT(dag_number(d, 0.1), dag_number(d, 0.1));
    CHECK(dag_number(d, 0.1) != dag_number(d, nextafter(0.1, 1)));
    CHECK(dag_number(d, 1) != dag_number(d, NAN));
    scene_free(s);
}

// Doubles of small integers differ in their high bits only: a poor hash makes this take minutes.
TEST(symbolic_many_numbers_are_found_quickly) {
    struct scene *s = scene_new();
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int repeat = 0; repeat < 4; repeat++)
        for (int i = 0; i < 50000; i++)
            dag_number(&s->dag, i);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    CHECK_INT(s->dag.nodes.count, 50000);
    CHECK(to.tv_sec - from.tv_sec < 3);
    scene_free(s);
}

TEST(symbolic_operands_come_first_and_nothing_is_lost_when_tables_grow) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    node_id sum = dag_leaf(d, LEAF_STATE, 0);
    for (uint32_t i = 1; i < 5000; i++)
        sum = dag_op(d, OP_ADD, sum, dag_leaf(d, LEAF_STATE, i), NODE_NONE);
    uint32_t count = d->nodes.count;
    CHECK_INT(count, 2 * 5000 - 1);
    node_id again = dag_leaf(d, LEAF_STATE, 0);
    for (uint32_t i = 1; i < 5000; i++)
        again = dag_op(d, OP_ADD, dag_leaf(d, LEAF_STATE, i), again, NODE_NONE);
    CHECK_INT(again, sum);
    CHECK_INT(d->nodes.count, count);
    for (node_id id = 0; id < count; id++)
        for (uint32_t i = 0; i < op_operands[d->nodes.items[id].op]; i++)
            CHECK(node_operand(&d->nodes.items[id], i) < id);
    scene_free(s);
}

TEST(symbolic_folds_numbers) {
    CHECK_GOLDEN({"2 3 +", "5"}, {"2 3 * 4 -", "2"}, {"1 4 /", "0.25"}, {"2 10 ^", "1024"},
                 {"2 0.5 ^ 2 sqrt -", "0"}, {"0 sin", "0"}, {"1 2 <", "1"}, {"1 2 ==", "0"},
                 {"1 0 & not", "1"}, {"0 x y if", "x1"}, {"2 x y if", "x0"}, {"7 3 mod", "1"},
                 {"0 heav", "1"}, {"3 4 min 5 max", "5"}, {"-3 abs", "3"}, {"3 neg", "-3"}, );
}

TEST(symbolic_leaves_infinities_to_the_kernel) {
    CHECK_GOLDEN({"1 0 /", "(1 / 0)"}, {"0 0 /", "(0 / 0)"}, {"-1 ln", "ln(-1)"},
                 {"1e300 1e300 *", "(1e+300 * 1e+300)"}, {"x 0 /", "(x0 / 0)"}, {"inf 1 +", "inf"},
                 {"inf neg", "-inf"}, {"x inf *", "(x0 * inf)"}, );
}

TEST(symbolic_identities_of_sums) {
    CHECK_GOLDEN({"x 0 +", "x0"}, {"0 x +", "x0"}, {"x -0.0 +", "x0"}, {"x 0 -", "x0"},
                 {"0 x -", "-(x0)"}, {"x x -", "0"}, {"x x +", "(x0 * 2)"}, {"x neg neg", "x0"},
                 {"x y - neg", "(x1 - x0)"}, {"x y neg +", "(x0 - x1)"}, {"x neg y +", "(x1 - x0)"},
                 {"x y neg -", "(x0 + x1)"}, {"x neg y -", "-((x0 + x1))"},
                 {"x neg y neg -", "(x1 - x0)"}, {"x -2 +", "(x0 - 2)"}, {"x -2 -", "(x0 + 2)"},
                 {"2 x -", "(2 - x0)"}, {"x y + z +", "((x0 + x1) + x2)"},
                 {"x y z + +", "(x0 + (x1 + x2))"}, {"x 2 + 3 +", "((x0 + 2) + 3)"},
                 {"x neg y neg + z -", "-(((x0 + x1) + x2))"}, );
}

TEST(symbolic_identities_of_products) {
    CHECK_GOLDEN({"x 0 *", "0"}, {"x 1 *", "x0"}, {"1 x *", "x0"}, {"x -1 *", "-(x0)"},
                 {"x neg y *", "-((x0 * x1))"}, {"x y neg *", "-((x0 * x1))"},
                 {"x neg y neg *", "(x0 * x1)"}, {"2 3 x * *", "(x0 * 6)"},
                 {"2 x * 3 *", "(x0 * 6)"}, {"2 x * neg", "(x0 * -2)"}, {"x neg 2 *", "(x0 * -2)"},
                 {"x y * z *", "((x0 * x1) * x2)"}, {"2 x * y *", "((x0 * 2) * x1)"},
                 {"x 1e200 * 1e200 *", "((x0 * 1e+200) * 1e+200)"},
                 {"x 1e-200 * 1e-200 *", "((x0 * 1e-200) * 1e-200)"}, );
}

TEST(symbolic_identities_of_quotients) {
    CHECK_GOLDEN({"x 1 /", "x0"}, {"x -1 /", "-(x0)"}, {"0 x /", "0"}, {"x 2 /", "(x0 * 0.5)"},
                 {"x -4 /", "(x0 * -0.25)"}, {"8 x * 4 /", "(x0 * 2)"}, {"x 4 / 8 *", "(x0 * 2)"},
                 {"x 0x1p-1073 /", "(x0 / 9.88131291682493e-324)"},
                 {"x 1e308 4 * /", "(x0 / (1e+308 * 4))"}, {"x 1.7e308 /", "(x0 / 1.7e+308)"},
                 {"1 2 x * /", "(0.5 / x0)"}, {"1 x neg /", "(-1 / x0)"},
                 {"x neg y /", "-((x0 / x1))"}, {"x y neg /", "-((x0 / x1))"},
                 {"x neg y neg /", "(x0 / x1)"}, {"x x /", "(x0 / x0)"},
                 {"x neg 2 /", "(x0 * -0.5)"}, {"x y / z /", "((x0 / x1) / x2)"}, );
}

TEST(symbolic_identities_of_conditions) {
    CHECK_GOLDEN(
        {"x y > not not", "(x1 < x0)"}, {"x not not", "(x0 != 0)"}, {"x not not not", "(x0 == 0)"},
        {"x not", "(x0 == 0)"}, {"x y == not", "(x0 != x1)"}, {"x y != not", "(x0 == x1)"},
        {"x y < not", "not((x0 < x1))"}, {"x y < 1 &", "(x0 < x1)"}, {"x 3 &", "(x0 != 0)"},
        {"x 0 &", "0"}, {"x 0 |", "(x0 != 0)"}, {"x 3 |", "1"}, {"x x &", "(x0 != 0)"},
        {"x y < x y < |", "(x0 < x1)"}, {"x x <", "0"}, {"x x <=", "(x0 <= x0)"},
        {"x y y if", "x1"}, {"x not y z if", "if((x0 == 0), x1, x2)"},
        {"x y < 0 ==", "not((x0 < x1))"}, {"x y < not z w if", "if((x0 < x1), x3, x2)"},
        {"x y z if", "if((x0 != 0), x1, x2)"}, {"x y < 1 0 if", "(x0 < x1)"},
        {"x y z < &", "((x1 < x2) & (x0 != 0))"}, {"x x min", "x0"}, {"x x max", "x0"}, );
}

TEST(symbolic_identities_of_functions) {
    CHECK_GOLDEN({"x abs abs", "abs(x0)"}, {"x neg abs", "abs(x0)"}, {"x neg cos", "cos(x0)"},
                 {"x neg cosh", "cosh(x0)"}, {"x neg sin", "sin(-(x0))"},
                 {"x ln exp", "exp(ln(x0))"}, );
}

TEST(symbolic_powers_are_multiplications) {
    CHECK_GOLDEN(
        {"x 0 ^", "1"}, {"x 1 ^", "x0"}, {"x 2 ^", "(x0 * x0)"}, {"x 3 ^", "(x0 * (x0 * x0))"},
        {"x -1 ^", "(1 / x0)"}, {"x -2 ^", "(1 / (x0 * x0))"}, {"x 0.5 ^", "sqrt(x0)"},
        {"x -0.5 ^", "(1 / sqrt(x0))"}, {"x 1.5 ^", "(x0 * sqrt(x0))"},
        {"x -1.5 ^", "(1 / (x0 * sqrt(x0)))"}, {"x neg 2 ^", "(x0 * x0)"},
        {"x neg 3 ^", "-((x0 * (x0 * x0)))"}, {"2 x ^", "(2 ^ x0)"}, {"1 x ^", "1"},
        {"x y ^", "(x0 ^ x1)"}, {"x 65 ^", "(x0 ^ 65)"}, {"x 0.25 ^", "(x0 ^ 0.25)"},
        {"x 64.5 ^", "(x0 ^ 64.5)"}, {"x nan ^", "(x0 ^ nan)"}, {"x inf ^", "(x0 ^ inf)"}, );
}

static struct op_counts counts_of(const char *postfix) {
    struct scene *s = scene_new();
    node_id root = from_postfix(&s->dag, postfix);
    struct op_counts c = dag_count(&s->dag, &root, 1, &s->arena);
    scene_free(s);
    return c;
}

TEST(symbolic_powers_take_few_multiplications) {
    for (int n = 1; n <= 64; n++) {
        char text[32];
        snprintf(text, sizeof text, "x %d ^", n);
        int highest = 31 - __builtin_clz((unsigned)n), ones = __builtin_popcount((unsigned)n);
        CHECK_INT(counts_of(text).muls, highest + ones - 1);
        CHECK_INT(counts_of(text).functions, 0);
        snprintf(text, sizeof text, "x -%d ^", n);
        CHECK_INT(counts_of(text).divs, 1);
    }
    // Squares are shared: x^2, x^4, x^6 = x^2 x^4
    CHECK_INT(counts_of("x 2 ^ x 4 ^ + x 6 ^ +").muls, 3);
}

TEST(symbolic_powers_have_the_right_values) {
    for (int halves = -128; halves <= 128; halves++) {
        struct scene *s = scene_new();
        char text[32];
        snprintf(text, sizeof text, "x %.1f ^", halves / 2.0);
        node_id root = from_postfix(&s->dag, text);
        CHECK(s->dag.nodes.items[root].op != OP_POW);
        double x = 1.37, *values = arena_new(&s->arena, double, s->dag.nodes.count);
        dag_evaluate(&s->dag, &(struct leaf_values){.state = &x}, values);
        double want = pow(x, halves / 2.0);
        CHECK_NEAR(values[root], want, 1e-14 * want);
        scene_free(s);
    }
}

TEST(symbolic_counts_by_kind) {
    struct op_counts c = counts_of("x y + sin z sqrt * 3 w / - p 0.3 ^ + x y + +");
    CHECK_INT(c.adds, 4); // x + y counts once
    CHECK_INT(c.muls, 1);
    CHECK_INT(c.divs, 2);
    CHECK_INT(c.functions, 2);
    c = counts_of("x y < x abs y floor if x y min max t heav mod");
    CHECK_INT(c.adds, 7);
    CHECK_INT(c.divs, 1);
    CHECK_INT(counts_of("x erfc y atan2 p exp + q ln * z sign *").functions, 4);
}

TEST(symbolic_dead_code_has_no_uses) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    node_id dead = from_postfix(d, "x exp y +"), shared = from_postfix(d, "x y *");
    node_id roots[] = {from_postfix(d, "x y * sin"), NODE_NONE, from_postfix(d, "x y * x y * *"),
                       shared};
    uint32_t *uses = dag_uses(d, roots, 4, &s->arena);
    CHECK_INT(uses[dead], 0);
    CHECK_INT(uses[from_postfix(d, "x exp")], 0);
    CHECK_INT(uses[shared], 4); // sin, twice in the square, a root itself
    CHECK_INT(uses[dag_leaf(d, LEAF_STATE, 0)], 1);
    CHECK_INT(uses[roots[0]], 1);
    scene_free(s);
}

TEST(symbolic_evaluates_leaves) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    node_id root = from_postfix(d, "x y 10 * + p 100 * + d 1000 * + t 10000 * +");
    double state[] = {1, 2}, par[] = {3}, derived[] = {4};
    double *values = arena_new(&s->arena, double, d->nodes.count);
    dag_evaluate(d, &(struct leaf_values){.t = 5, .state = state, .par = par, .derived = derived},
                 values);
    CHECK(values[root] == 54321);
    dag_evaluate(d, &(struct leaf_values){.t = 5, .state = state, .derived = derived}, values);
    CHECK(isnan(values[root]));
    scene_free(s);
}

// ---- Random expressions: folded and unfolded values agree ---------------------------------------

static uint32_t random_below(uint64_t *seed, uint32_t limit) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % limit;
}

// Builds the same random expression with folding, and computes its value without.
static void random_case(struct scene *s, uint64_t *seed, const double *state) {
    static const double constants[] = {0, 1, -1, 2, -3, 0.5, 0.3, 7};
    static const uint8_t ops[] = {OP_NEG, OP_ADD, OP_ADD, OP_SUB, OP_SUB, OP_MUL,  OP_MUL, OP_DIV,
                                  OP_POW, OP_LT,  OP_GE,  OP_AND, OP_OR,  OP_NOT,  OP_IF,  OP_NEG,
                                  OP_ABS, OP_MIN, OP_MAX, OP_SIN, OP_EXP, OP_SQRT, OP_EQ,  OP_COS};
    struct pair {
        node_id id;
        double value;
    } pool[40];
    uint32_t count = 0;
    for (; count < 8; count++) {
        bool leaf = random_below(seed, 2);
        uint32_t i = random_below(seed, leaf ? 3 : 8);
        pool[count] = leaf ? (struct pair){dag_leaf(&s->dag, LEAF_STATE, i), state[i]}
                           : (struct pair){dag_number(&s->dag, constants[i]), constants[i]};
    }
    for (; count < 40; count++) {
        enum op op = ops[random_below(seed, sizeof ops)];
        struct pair x = pool[random_below(seed, count)], y = pool[random_below(seed, count)],
                    z = pool[random_below(seed, count)];
        pool[count] = (struct pair){dag_op(&s->dag, op, x.id, y.id, z.id),
                                    op_value(op, x.value, y.value, z.value)};
        if (!isfinite(pool[count].value) || fabs(pool[count].value) > 1e6)
            count--; // 0 times infinity is 0 by rule; and huge arguments of sin prove nothing
    }
    double *values = arena_new(&s->arena, double, s->dag.nodes.count);
    dag_evaluate(&s->dag, &(struct leaf_values){.state = state}, values);
    for (uint32_t i = 0; i < count; i++)
        CHECK_MSG(fabs(values[pool[i].id] - pool[i].value) <= 1e-9 * (1 + fabs(pool[i].value)),
                  "%s is %.17g, not %.17g", to_infix(&s->dag, pool[i].id), values[pool[i].id],
                  pool[i].value);
}

// What symbolic.h promises about nodes.
static void check_invariants(const struct dag *d) {
    const struct node *items = d->nodes.items;
    for (node_id id = 0; id < d->nodes.count; id++) {
        const struct node *n = &items[id];
        CHECK(n->op != OP_GT && n->op != OP_GE);
        for (uint32_t i = 0; i < op_operands[n->op]; i++) {
            uint8_t op = items[node_operand(n, i)].op;
            bool truth = (op >= OP_LT && op <= OP_NOT);
            if (n->op == OP_AND || n->op == OP_OR || n->op == OP_NOT || (n->op == OP_IF && !i))
                CHECK(truth);
            if (n->op >= OP_NEG && n->op <= OP_DIV)
                CHECK(op != OP_NEG);
            if ((n->op == OP_ADD || n->op == OP_MUL) && i == 0)
                CHECK(op != OP_NUMBER || items[n->b].op == OP_NUMBER);
        }
    }
}

TEST(symbolic_folding_keeps_values) {
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        struct scene *s = scene_new();
        double state[3];
        for (int j = 0; j < 3; j++)
            state[j] = (random_below(&seed, 2000001) - 1000000.0) / 3e5;
        random_case(s, &seed, state);
        check_invariants(&s->dag);
        scene_free(s);
    }
}
