// SPDX-License-Identifier: MIT
// Constant folding and identities: what a new node is rewritten to before it is made.
//
// Identities are a table of patterns of the two operands; the first row that fits is applied, again
// and again until none does. They change no result but for the sign of a zero, the last bit of a
// division by a constant (a multiplication by its reciprocal) and of constants that are multiplied
// with each other, and 0 times or divided into something that is not finite, which is 0. Sums and
// products of anything else than constants are never regrouped. A fold that would make an infinity
// or a NaN out of finite numbers is left for the kernel to compute.
#include "ode/symbolic/dag.h"

#include <math.h>

enum pattern {
    ANY,
    ZERO, // numbers
    ONE,
    MINUS_ONE,
    NEGATIVE,
    NUMBER,
    SAME,  // as the first operand
    TRUTH, // 0 or 1 by construction
    A_NEG, // nodes of that operator
    A_SUB,
    A_NOT,
    A_EQ,
    A_NE,
    AN_ABS,
    SCALED, // something times a number
};

// What the rewritten operator works on: operands a and b, operands of theirs, or numbers.
enum pick {
    A,
    B,
    A_A,
    A_B,
    B_A,
    NUMBER_0,
    NUMBER_1,
    NUMBER_2,
    MINUS_A,
    MINUS_B,
    MINUS_A_B,
    PRODUCT,    // number a.b * b
    QUOTIENT,   // number a.b / b
    QUOTIENT_2, // number a / b.b
    RECIPROCAL, // number 1 / b
};

struct rule {
    uint8_t op, a, b; // applies to this operator on operands of these patterns
    uint8_t to, x, y; // becomes this operator on these; TERM_NODE: just x
    bool negate;      // becomes minus that
};

// clang-format off
static const struct rule rules[] = {
    {OP_NEG, A_NEG,  ANY, TERM_NODE, A_A, B, false},
    {OP_NEG, A_SUB,  ANY, OP_SUB, A_B, A_A, false},
    {OP_NEG, SCALED, ANY, OP_MUL, A_A, MINUS_A_B, false},

    {OP_ADD, ANY,   ZERO,     TERM_NODE, A, B, false},
    {OP_ADD, ANY,   NEGATIVE, OP_SUB, A, MINUS_B, false},
    {OP_ADD, ANY,   SAME,     OP_MUL, A, NUMBER_2, false},
    {OP_ADD, ANY,   A_NEG,    OP_SUB, A, B_A, false},
    {OP_ADD, A_NEG, ANY,      OP_SUB, B, A_A, false},

    {OP_SUB, ANY,   ZERO,     TERM_NODE, A, B, false},
    {OP_SUB, ZERO,  ANY,      OP_NEG, B, B, false},
    {OP_SUB, ANY,   SAME,     TERM_NODE, NUMBER_0, B, false},
    {OP_SUB, ANY,   NEGATIVE, OP_ADD, A, MINUS_B, false},
    {OP_SUB, ANY,   A_NEG,    OP_ADD, A, B_A, false},
    {OP_SUB, A_NEG, ANY,      OP_ADD, A_A, B, true},

    {OP_MUL, ANY,    ZERO,      TERM_NODE, NUMBER_0, B, false},
    {OP_MUL, ANY,    ONE,       TERM_NODE, A, B, false},
    {OP_MUL, ANY,    MINUS_ONE, OP_NEG, A, B, false},
    {OP_MUL, A_NEG,  NUMBER,    OP_MUL, A_A, MINUS_B, false},
    {OP_MUL, SCALED, NUMBER,    OP_MUL, A_A, PRODUCT, false},
    {OP_MUL, A_NEG,  A_NEG,     OP_MUL, A_A, B_A, false},
    {OP_MUL, A_NEG,  ANY,       OP_MUL, A_A, B, true},
    {OP_MUL, ANY,    A_NEG,     OP_MUL, A, B_A, true},

    {OP_DIV, ANY,    ONE,       TERM_NODE, A, B, false},
    {OP_DIV, ANY,    MINUS_ONE, OP_NEG, A, B, false},
    {OP_DIV, ZERO,   ANY,       TERM_NODE, NUMBER_0, B, false},
    {OP_DIV, SCALED, NUMBER,    OP_MUL, A_A, QUOTIENT, false},
    {OP_DIV, ANY,    NUMBER,    OP_MUL, A, RECIPROCAL, false},
    {OP_DIV, NUMBER, SCALED,    OP_DIV, QUOTIENT_2, B_A, false},
    {OP_DIV, NUMBER, A_NEG,     OP_DIV, MINUS_A, B_A, false},
    {OP_DIV, A_NEG,  A_NEG,     OP_DIV, A_A, B_A, false},
    {OP_DIV, A_NEG,  ANY,       OP_DIV, A_A, B, true},
    {OP_DIV, ANY,    A_NEG,     OP_DIV, A, B_A, true},

    {OP_GT,  ANY,   ANY,    OP_LT, B, A, false},
    {OP_GE,  ANY,   ANY,    OP_LE, B, A, false},
    {OP_LT,  ANY,   SAME,   TERM_NODE, NUMBER_0, B, false},
    {OP_NE,  TRUTH, ZERO,   TERM_NODE, A, B, false},
    {OP_EQ,  TRUTH, ZERO,   OP_NOT, A, B, false},
    {OP_NOT, A_EQ,  ANY,    OP_NE, A_A, A_B, false},
    {OP_NOT, A_NE,  ANY,    OP_EQ, A_A, A_B, false},
    {OP_NOT, A_NOT, ANY,    TERM_NODE, A_A, B, false},
    {OP_AND, ANY,   ZERO,   TERM_NODE, NUMBER_0, B, false},
    {OP_AND, ANY,   NUMBER, TERM_NODE, A, B, false},
    {OP_AND, ANY,   SAME,   TERM_NODE, A, B, false},
    {OP_OR,  ANY,   ZERO,   TERM_NODE, A, B, false},
    {OP_OR,  ANY,   NUMBER, TERM_NODE, NUMBER_1, B, false},
    {OP_OR,  ANY,   SAME,   TERM_NODE, A, B, false},

    {OP_MIN,  ANY,    SAME, TERM_NODE, A, B, false},
    {OP_MAX,  ANY,    SAME, TERM_NODE, A, B, false},
    {OP_ABS,  AN_ABS, ANY,  TERM_NODE, A, B, false},
    {OP_ABS,  A_NEG,  ANY,  OP_ABS, A_A, B, false},
    {OP_COS,  A_NEG,  ANY,  OP_COS, A_A, B, false},
    {OP_COSH, A_NEG,  ANY,  OP_COSH, A_A, B, false},
};
// clang-format on

static const bool commutative[OP_COUNT] = {
    [OP_ADD] = true, [OP_MUL] = true, [OP_EQ] = true,
    [OP_NE] = true,  [OP_AND] = true, [OP_OR] = true,
};

static const bool makes_truth[OP_COUNT] = {
    [OP_LT] = true, [OP_LE] = true,  [OP_GT] = true, [OP_GE] = true,  [OP_EQ] = true,
    [OP_NE] = true, [OP_AND] = true, [OP_OR] = true, [OP_NOT] = true,
};

static bool fits(const struct dag *d, enum pattern pattern, node_id id, node_id first) {
    static const uint8_t of_op[] = {[A_NEG] = OP_NEG, [A_SUB] = OP_SUB, [A_NOT] = OP_NOT,
                                    [A_EQ] = OP_EQ,   [A_NE] = OP_NE,   [AN_ABS] = OP_ABS};
    if (pattern == ANY)
        return true;
    const struct node *n = &d->nodes.items[id];
    bool number = n->op == OP_NUMBER;
    switch (pattern) {
    case ZERO:
        return number && n->value == 0;
    case ONE:
        return number && n->value == 1;
    case MINUS_ONE:
        return number && n->value == -1;
    case NEGATIVE:
        return number && n->value < 0;
    case NUMBER:
        return number;
    case SAME:
        return id == first;
    case TRUTH:
        return makes_truth[n->op];
    case SCALED:
        return n->op == OP_MUL && node_is_number(d, n->b);
    default:
        return n->op == of_op[pattern];
    }
}

// A number made by combining two; false when it would lose range, which is that of f32: kernels of
// both precisions come of the same nodes.
static bool pick_number(struct dag *d, double value, node_id *out) {
    if (!(fabs(value) >= 0x1p-126 && fabs(value) < 0x1p128))
        return false;
    *out = dag_number(d, value);
    return true;
}

static double number_of(const struct dag *d, node_id id) { return d->nodes.items[id].value; }

static bool pick(struct dag *d, enum pick what, const struct term *t, node_id *out) {
    const struct node *items = d->nodes.items;
    switch (what) {
    case A:
        return *out = t->a, true;
    case B:
        return *out = t->b, true;
    case A_A:
        return *out = items[t->a].a, true;
    case A_B:
        return *out = items[t->a].b, true;
    case B_A:
        return *out = items[t->b].a, true;
    case NUMBER_0:
        return *out = dag_number(d, 0), true;
    case NUMBER_1:
        return *out = dag_number(d, 1), true;
    case NUMBER_2:
        return *out = dag_number(d, 2), true;
    case MINUS_A:
        return *out = dag_number(d, -number_of(d, t->a)), true;
    case MINUS_B:
        return *out = dag_number(d, -number_of(d, t->b)), true;
    case MINUS_A_B:
        return *out = dag_number(d, -number_of(d, items[t->a].b)), true;
    case PRODUCT:
        return pick_number(d, number_of(d, items[t->a].b) * number_of(d, t->b), out);
    case QUOTIENT:
        return pick_number(d, number_of(d, items[t->a].b) / number_of(d, t->b), out);
    case QUOTIENT_2:
        return pick_number(d, number_of(d, t->a) / number_of(d, items[t->b].b), out);
    case RECIPROCAL:
        return pick_number(d, 1 / number_of(d, t->b), out);
    }
    return false;
}

static bool apply_rules(struct dag *d, struct term *t) {
    for (uint32_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *r = &rules[i];
        bool binary = r->to != TERM_NODE && op_operands[r->to] == 2;
        node_id x, y = NODE_NONE;
        if (r->op != t->op || !fits(d, r->a, t->a, t->a) || !fits(d, r->b, t->b, t->a) ||
            !pick(d, r->x, t, &x) || (binary && !pick(d, r->y, t, &y)))
            continue;
        *t = (struct term){r->to, t->negate ^ r->negate, x, y, NODE_NONE};
        return true;
    }
    return false;
}

static bool found(struct term *t, node_id id) {
    *t = (struct term){TERM_NODE, t->negate, id, NODE_NONE, NODE_NONE};
    return true;
}

// if(number,a,b), if(c,a,a), if(c,1,0), if(not c,a,b)
static bool fold_if(const struct dag *d, struct term *t) {
    const struct node *condition = &d->nodes.items[t->a];
    if (t->b == t->c)
        return found(t, t->b);
    if (condition->op == OP_NUMBER)
        return found(t, condition->value != 0 ? t->b : t->c);
    if (node_is_value(d, t->b, 1) && node_is_value(d, t->c, 0))
        return found(t, t->a);
    if (condition->op != OP_NOT)
        return false;
    *t = (struct term){OP_IF, t->negate, condition->a, t->c, t->b};
    return true;
}

// A condition is a node that is true or false by construction, or a number.
static node_id as_truth(struct dag *d, node_id id) {
    uint8_t op = d->nodes.items[id].op;
    return makes_truth[op] || op == OP_NUMBER ? id
                                              : dag_op(d, OP_NE, id, dag_number(d, 0), NODE_NONE);
}

static void fold_conditions(struct dag *d, struct term *t) {
    if (t->op == OP_IF || t->op == OP_NOT || t->op == OP_AND || t->op == OP_OR)
        t->a = as_truth(d, t->a);
    if (t->op == OP_AND || t->op == OP_OR)
        t->b = as_truth(d, t->b);
}

static bool finite_or_given(double value, const double *operands) {
    return isfinite(value) || !isfinite(operands[0]) || !isfinite(operands[1]) ||
           !isfinite(operands[2]);
}

static void order_operands(const struct dag *d, struct term *t) {
    bool a = node_is_number(d, t->a), b = node_is_number(d, t->b);
    if (a != b ? a : t->a > t->b) {
        node_id first = t->a;
        t->a = t->b;
        t->b = first;
    }
}

bool fold_term(struct dag *d, struct term *t) {
    if (t->op == TERM_NODE)
        return false;
    double x[3] = {0};
    uint32_t operands = op_operands[t->op], numbers = 0;
    for (uint32_t i = 0; i < operands; i++) {
        node_id id = i == 0 ? t->a : i == 1 ? t->b : t->c;
        x[i] = d->nodes.items[id].value;
        numbers += node_is_number(d, id);
    }
    if (numbers == operands) {
        double value = op_value(t->op, x[0], x[1], x[2]);
        return finite_or_given(value, x) && found(t, dag_number(d, value));
    }
    fold_conditions(d, t);
    if (commutative[t->op])
        order_operands(d, t);
    if (t->op == OP_IF)
        return fold_if(d, t);
    if (t->op == OP_POW) {
        node_id power = power_simplify(d, t->a, t->b);
        return power != NODE_NONE && found(t, power);
    }
    return apply_rules(d, t);
}
