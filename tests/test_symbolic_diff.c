// SPDX-License-Identifier: MIT
// Derivatives: golden text for simple ones, every operator against finite differences.
#include "symbolic_text.h"

static node_id by_x(struct scene *s, const char *postfix) {
    node_id of = from_postfix(&s->dag, postfix);
    return diff_by(diff_new(&s->dag, &s->arena), of, LEAF_STATE, 0);
}

static void check_by_x(const char *postfix, const char *want) {
    struct scene *s = scene_new();
    const char *got = to_infix(&s->dag, by_x(s, postfix));
    CHECK_MSG(!strcmp(got, want), "d/dx \"%s\" is %s, not %s", postfix, got, want);
    scene_free(s);
}

TEST(diff_of_leaves_and_constants) {
    check_by_x("x", "1");
    check_by_x("y", "0");
    check_by_x("p", "0");
    check_by_x("t", "0");
    check_by_x("3", "0");
    check_by_x("y p * sin", "0");
    struct scene *s = scene_new();
    struct diff *x = diff_new(&s->dag, &s->arena);
    node_id of = from_postfix(&s->dag, "p t * d 2 * +");
    CHECK_STR(to_infix(&s->dag, diff_by_time(x, of)), "p0");
    CHECK_STR(to_infix(&s->dag, diff_by(x, of, LEAF_PAR, 0)), "t");
    CHECK_STR(to_infix(&s->dag, diff_by(x, of, LEAF_PAR, 1)), "0");
    CHECK_STR(to_infix(&s->dag, diff_by(x, of, LEAF_DERIVED, 0)), "2");
    CHECK_STR(to_infix(&s->dag, diff_by(x, of, LEAF_STATE, 0)), "0");
    scene_free(s);
}

TEST(diff_simple_forms) {
    check_by_x("x y +", "1");
    check_by_x("y x -", "-1");
    check_by_x("x y *", "x1");
    check_by_x("x neg y *", "-(x1)");
    check_by_x("x 2 ^", "(x0 * 2)");
    check_by_x("x 3 ^", "((x0 * x0) * 3)");
    check_by_x("5 x 3 ^ *", "((x0 * x0) * 15)");
    check_by_x("x x * x *", "((x0 * x0) * 3)");
    check_by_x("x 1.5 ^", "(sqrt(x0) * 1.5)");
    check_by_x("x sqrt", "(0.5 / sqrt(x0))");
    check_by_x("1 x /", "-(((1 / x0) / x0))");
    check_by_x("x -3 ^", "-((((1 / (x0 * (x0 * x0))) * 3) / x0))");
    check_by_x("y x /", "-(((x1 / x0) / x0))");
    check_by_x("x y /", "(1 / x1)");
    check_by_x("x p ^", "(p0 * (x0 ^ (p0 - 1)))");
    check_by_x("x 0.3 ^", "((x0 ^ -0.7) * 0.3)");
    check_by_x("2 x ^", "((2 ^ x0) * 0.693147180559945)");
    check_by_x("x sin", "cos(x0)");
    check_by_x("x exp", "exp(x0)");
    check_by_x("2 x * exp", "(exp((x0 * 2)) * 2)");
    check_by_x("x abs", "sign(x0)");
    check_by_x("x y < x 2 * y if", "if((x0 < x1), 2, 0)");
    check_by_x("x floor x ceil + x sign + x heav + x y < +", "0");
}

// x^2 + 3 x y has exact derivatives everywhere.
TEST(diff_is_exact_for_polynomials) {
    struct scene *s = scene_new();
    node_id root = by_x(s, "x 4 ^ 3 x * y * + 2 x 2 ^ * - y +");
    double *values = arena_new(&s->arena, double, s->dag.nodes.count);
    for (int i = -20; i <= 20; i++) {
        double state[] = {i, 3 - i}, x = state[0], y = state[1];
        dag_evaluate(&s->dag, &(struct leaf_values){.state = state}, values);
        CHECK_MSG(values[root] == 4 * x * x * x + 3 * y - 4 * x, "at %g: %.17g", x, values[root]);
    }
    scene_free(s);
}

TEST(diff_has_no_false_nan_at_zero) {
    struct scene *s = scene_new();
    // x^1.5, x^p with p = 2.5, and x^(p+x), whose derivatives at 0 are 0
    node_id roots[] = {by_x(s, "x 1.5 ^"), by_x(s, "x p ^"), by_x(s, "x p x + ^"),
                       by_x(s, "x abs")};
    double x = 0, p = 2.5, *values = arena_new(&s->arena, double, s->dag.nodes.count);
    dag_evaluate(&s->dag, &(struct leaf_values){.state = &x, .par = &p}, values);
    for (int i = 0; i < 4; i++)
        CHECK_MSG(values[roots[i]] == 0, "%d gives %g", i, values[roots[i]]);
    scene_free(s);
}

// ---- Every operator against central differences -------------------------------------------------

struct sample {
    enum op op;
    double a, b; // values of the operands where the operator is smooth
};

// clang-format off
static const struct sample samples[] = {
    {OP_NEG, 0.3, 0}, {OP_ADD, 1, 2}, {OP_SUB, 1, 2}, {OP_MUL, 1.5, -2}, {OP_DIV, 1.5, -2},
    {OP_DIV, -0.1, 0.3}, {OP_POW, 1.7, 2.3}, {OP_POW, 0.4, -1.2}, {OP_LT, 1, 2}, {OP_LE, 1, 2},
    {OP_GT, 1, 2}, {OP_GE, 1, 2}, {OP_EQ, 1, 2}, {OP_NE, 1, 2}, {OP_AND, 1, 2}, {OP_OR, 1, 2},
    {OP_NOT, 1, 0}, {OP_IF, 1, 2}, {OP_SIN, 0.4, 0}, {OP_SIN, -2, 0}, {OP_COS, 0.4, 0},
    {OP_TAN, 0.4, 0}, {OP_TAN, -1.2, 0}, {OP_ASIN, 0.4, 0}, {OP_ASIN, -0.8, 0}, {OP_ACOS, 0.4, 0},
    {OP_ACOS, -0.8, 0}, {OP_ATAN, 0.4, 0}, {OP_ATAN, -3, 0}, {OP_ATAN2, 0.4, 1.1},
    {OP_ATAN2, 0.4, -1.1}, {OP_ATAN2, -2, -1.1}, {OP_SINH, 0.7, 0}, {OP_COSH, 0.7, 0},
    {OP_TANH, 0.7, 0}, {OP_TANH, -2, 0}, {OP_ASINH, 0.7, 0}, {OP_ASINH, -4, 0}, {OP_ACOSH, 1.7, 0},
    {OP_ACOSH, 5, 0}, {OP_ATANH, 0.3, 0}, {OP_ATANH, -0.9, 0}, {OP_EXP, 0.3, 0}, {OP_EXP, -3, 0},
    {OP_EXPM1, 0.3, 0}, {OP_LN, 0.3, 0}, {OP_LN, 7, 0}, {OP_LOG10, 0.3, 0}, {OP_LOG2, 0.3, 0},
    {OP_LOG1P, 0.3, 0}, {OP_LOG1P, -0.6, 0}, {OP_SQRT, 0.3, 0}, {OP_SQRT, 9, 0}, {OP_CBRT, 0.3, 0},
    {OP_CBRT, -2, 0}, {OP_ERF, 0.3, 0}, {OP_ERF, -1.3, 0}, {OP_ERFC, 0.3, 0}, {OP_ABS, 0.3, 0},
    {OP_ABS, -0.3, 0}, {OP_SIGN, 0.3, 0}, {OP_HEAV, 0.3, 0}, {OP_FLOOR, 0.3, 0}, {OP_CEIL, 0.3, 0},
    {OP_MOD, 7.2, 3.1}, {OP_MOD, -7.2, 3.1}, {OP_MIN, 1, 2}, {OP_MIN, 2, 1}, {OP_MAX, 1, 2},
    {OP_MAX, 2, 1}, {OP_LGAMMA, 0.3, 0}, {OP_LGAMMA, 7.5, 0}, {OP_LGAMMA, -1.3, 0},
    {OP_BESSELJ, 0.3, 1.7}, {OP_BESSELJ, 2.4, -1.7}, {OP_BESSELJ, -1.4, 0.6},
    {OP_BESSELY, 0.3, 1.7}, {OP_BESSELY, 3.4, 2.5}, {OP_BESSELI, 0.3, 1.7},
    {OP_BESSELI, 1.4, -2.5}, {OP_BESSELI, -2.4, 3},
};
// clang-format on

// op(p + ka x, q + kb x, 4 x^2): the derivative at x = 0.1, where the operands are a and b
static void check_sample(const struct sample *c, double ka, double kb) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    node_id x = dag_leaf(d, LEAF_STATE, 0), operand[2];
    const double k[2] = {ka, kb};
    for (uint32_t i = 0; i < 2; i++)
        operand[i] = dag_op(d, OP_ADD, dag_leaf(d, LEAF_PAR, i),
                            dag_op(d, OP_MUL, x, dag_number(d, k[i]), NODE_NONE), NODE_NONE);
    node_id third = from_postfix(d, "4 x 2 ^ *");
    node_id f = dag_op(d, c->op, operand[0], operand[1], third);
    node_id slope = diff_by(diff_new(d, &s->arena), f, LEAF_STATE, 0);
    double *values = arena_new(&s->arena, double, d->nodes.count);
    double state = 0.1, par[] = {c->a - ka * state, c->b - kb * state}, h = 1e-5, side[2];
    dag_evaluate(d, &(struct leaf_values){.state = &state, .par = par}, values);
    for (int i = 0; i < 2; i++) {
        double at = state + (i ? h : -h);
        side[i] = op_value(c->op, par[0] + ka * at, par[1] + kb * at, 4 * at * at);
    }
    double want = (side[1] - side[0]) / (2 * h);
    CHECK_MSG(fabs(values[slope] - want) <= 1e-6 * (1 + fabs(want)),
              "%s at %g, %g along %g, %g: %.12g, not %.12g: %s", op_names[c->op], c->a, c->b, ka,
              kb, values[slope], want, to_infix(d, slope));
    scene_free(s);
}

// The derivative of a look-up is one of the next order, by its argument.
TEST(diff_of_lookups) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    node_id x = dag_leaf(d, LEAF_STATE, 0), t = dag_time(d), two = dag_number(d, 2);
    node_id zero = dag_number(d, 0), one = dag_number(d, 1);
    struct diff *diff = diff_new(d, &s->arena);
    node_id table = dag_op(d, OP_LOOKUP, dag_op(d, OP_MUL, x, two, NODE_NONE), two, zero);
    node_id slope = dag_op(d, OP_LOOKUP, dag_op(d, OP_MUL, x, two, NODE_NONE), two, one);
    CHECK_INT(diff_by(diff, table, LEAF_STATE, 0), dag_op(d, OP_MUL, slope, two, NODE_NONE));
    CHECK_INT(diff_by_time(diff, table), zero);
    node_id driver = dag_op(d, OP_LOOKUP, t, one, zero);
    CHECK_INT(diff_by_time(diff, driver), dag_op(d, OP_LOOKUP, t, one, one));
    CHECK_INT(diff_by(diff, driver, LEAF_STATE, 0), zero);
    // what is looked up is not known: numbers do not fold it
    CHECK_INT(d->nodes.items[dag_op(d, OP_LOOKUP, two, one, zero)].op, OP_LOOKUP);
    scene_free(s);
}

TEST(diff_agrees_with_finite_differences) {
    bool tested[OP_COUNT] = {false};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        tested[samples[i].op] = true;
        check_sample(&samples[i], 0.7, 0);
        check_sample(&samples[i], 0, -0.4);
        check_sample(&samples[i], 0.7, -0.4);
    }
    for (int op = OP_NEG; op < OP_COUNT; op++) // what is looked up is not known to symbols
        CHECK_MSG(tested[op] || op == OP_LOOKUP, "%s is not tested", op_names[op]);
}

// Nested functions, with every second derivative by differentiating twice.
TEST(diff_of_derivatives) {
    struct scene *s = scene_new();
    struct diff *x = diff_new(&s->dag, &s->arena);
    node_id f = from_postfix(&s->dag, "x y * sin x exp * y 2 x * + tanh + x x 1 + / +");
    node_id first = diff_by(x, f, LEAF_STATE, 0), second = diff_by(x, first, LEAF_STATE, 0);
    double *values = arena_new(&s->arena, double, s->dag.nodes.count), slope[2];
    for (int i = 0; i < 2; i++) {
        double state[] = {0.4 + (i ? 1e-5 : -1e-5), 0.8};
        dag_evaluate(&s->dag, &(struct leaf_values){.state = state}, values);
        slope[i] = values[first];
    }
    dag_evaluate(&s->dag, &(struct leaf_values){.state = (double[]){0.4, 0.8}}, values);
    CHECK_NEAR(values[second], (slope[1] - slope[0]) / 2e-5, 1e-7);
    scene_free(s);
}

TEST(diff_of_very_deep_and_shared_expressions) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    node_id deep = dag_leaf(d, LEAF_STATE, 0), shared = deep;
    for (int i = 0; i < 20000; i++)
        deep = dag_op(d, OP_SIN, deep, NODE_NONE, NODE_NONE);
    for (int i = 0; i < 60; i++) // squares of squares: 2^60 factors
        shared = dag_op(d, OP_MUL, shared, shared, NODE_NONE);
    struct diff *x = diff_new(d, &s->arena);
    node_id a = diff_by(x, deep, LEAF_STATE, 0), b = diff_by(x, shared, LEAF_STATE, 0);
    CHECK(d->nodes.count < 100000);
    double state = 1, *values = arena_new(&s->arena, double, d->nodes.count);
    dag_evaluate(d, &(struct leaf_values){.state = &state}, values);
    CHECK(values[a] > 0 && values[a] < 1);
    CHECK(values[b] == 0x1p60);
    scene_free(s);
}

TEST(diff_remembers) {
    struct scene *s = scene_new();
    struct diff *x = diff_new(&s->dag, &s->arena);
    node_id f = from_postfix(&s->dag, "x y * sin x exp *"), first = diff_by(x, f, LEAF_STATE, 0);
    uint32_t count = s->dag.nodes.count;
    CHECK_INT(diff_by(x, f, LEAF_STATE, 0), first);
    CHECK_INT(s->dag.nodes.count, count);
    scene_free(s);
}

// Leaves far apart share a bit of the dependence filter.
TEST(diff_tells_many_leaves_apart) {
    struct scene *s = scene_new();
    struct dag *d = &s->dag;
    node_id sum = dag_number(d, 0);
    for (uint32_t i = 0; i < 200; i++)
        sum =
            dag_op(d, OP_ADD, sum,
                   dag_op(d, OP_MUL, dag_leaf(d, LEAF_STATE, i), dag_number(d, i + 1.0), NODE_NONE),
                   NODE_NONE);
    struct diff *x = diff_new(d, &s->arena);
    for (uint32_t i = 0; i < 200; i++)
        CHECK_INT(diff_by(x, sum, LEAF_STATE, i), dag_number(d, i + 1.0));
    CHECK_INT(diff_by(x, sum, LEAF_PAR, 5), dag_number(d, 0));
    CHECK_INT(diff_by(x, sum, LEAF_STATE, 263), dag_number(d, 0));
    scene_free(s);
}
