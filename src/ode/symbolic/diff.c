// SPDX-License-Identifier: MIT
// Derivatives: d node / d leaf, for every operator and function of the language.
//
// The derivative of an operator is a row of postfix code over its operands (A, B, C), their
// derivatives (DA, DB, DC), its own value (V) and numbers; what is 0 folds away as the nodes are
// made. Products that are powers of one base follow the power rule, so that x^3 gives 3 x^2 and
// x^1.5 gives 1.5 sqrt(x), also at 0. Piecewise operators have the derivative of the piece: 0 for
// sign, heav, floor, ceil and everything that is true or false; abs has sign.
// A depth-first walk with its own stack visits only what depends on the leaf; each pair (node,
// leaf) is done once. This does not know systems: see sparsity.c for the Jacobian.
#include "ode/symbolic/dag.h"

#include <math.h>

// A power of another node that a product is; of itself, when it is none.
struct power {
    node_id base;
    int32_t halves;
};

struct diff {
    struct dag *dag;
    struct arena *arena;
    struct pairs known;       // (node, leaf) to derivative
    vec(uint64_t) depends;    // by node: bits of the leaves it depends on, several leaves to a bit
    vec(struct power) powers; // by node
    vec(node_id) stack;
};

// Codes of the rows besides the operators. A row ends with 0, which is OP_NUMBER.
enum { A = OP_COUNT, B, C, DA, DB, DC, V, N0, N1, N3, HALF, LOG2_E, LOG10_E, ERF_SLOPE, CODES };
_Static_assert(CODES <= UINT8_MAX, "codes are bytes");

static const double numbers[CODES] = {
    [N0] = 0,
    [N1] = 1,
    [N3] = 3,
    [HALF] = 0.5,
    [LOG2_E] = 1.44269504088896340736,
    [LOG10_E] = 0.43429448190325182765,
    [ERF_SLOPE] = 1.12837916709551257390, // 2 / sqrt(pi)
};

// clang-format off
static const uint8_t rows[OP_COUNT][32] = {
    [OP_NEG] = {DA, OP_NEG},
    [OP_ADD] = {DA, DB, OP_ADD},
    [OP_SUB] = {DA, DB, OP_SUB},
    [OP_MUL] = {DA, B, OP_MUL, A, DB, OP_MUL, OP_ADD},
    [OP_DIV] = {DA, V, DB, OP_MUL, OP_SUB, B, OP_DIV},
    // b a^(b-1) da, and where the exponent varies a^b ln(a) db, which is 0 at a = 0
    [OP_POW] = {B, A, B, N1, OP_SUB, OP_POW, OP_MUL, DA, OP_MUL,
                A, N0, OP_EQ, N0, V, A, OP_LN, OP_MUL, DB, OP_MUL, OP_IF, OP_ADD},
    [OP_LT]  = {N0}, [OP_LE] = {N0}, [OP_GT]  = {N0}, [OP_GE] = {N0}, [OP_EQ] = {N0},
    [OP_NE]  = {N0}, [OP_OR] = {N0}, [OP_AND] = {N0}, [OP_NOT] = {N0},
    [OP_LOOKUP] = {A, B, C, N1, OP_ADD, OP_LOOKUP, DA, OP_MUL},
    [OP_IF]  = {A, DB, DC, OP_IF},
    [OP_SIN] = {DA, A, OP_COS, OP_MUL},
    [OP_COS] = {DA, A, OP_SIN, OP_MUL, OP_NEG},
    [OP_TAN] = {DA, V, V, OP_MUL, N1, OP_ADD, OP_MUL},
    [OP_ASIN] = {DA, N1, A, A, OP_MUL, OP_SUB, OP_SQRT, OP_DIV},
    [OP_ACOS] = {DA, N1, A, A, OP_MUL, OP_SUB, OP_SQRT, OP_DIV, OP_NEG},
    [OP_ATAN] = {DA, A, A, OP_MUL, N1, OP_ADD, OP_DIV},
    [OP_ATAN2] = {DA, B, OP_MUL, A, DB, OP_MUL, OP_SUB, A, A, OP_MUL, B, B, OP_MUL, OP_ADD, OP_DIV},
    [OP_SINH] = {DA, A, OP_COSH, OP_MUL},
    [OP_COSH] = {DA, A, OP_SINH, OP_MUL},
    [OP_TANH] = {DA, N1, V, V, OP_MUL, OP_SUB, OP_MUL},
    [OP_ASINH] = {DA, A, A, OP_MUL, N1, OP_ADD, OP_SQRT, OP_DIV},
    [OP_ACOSH] = {DA, A, A, OP_MUL, N1, OP_SUB, OP_SQRT, OP_DIV},
    [OP_ATANH] = {DA, N1, A, A, OP_MUL, OP_SUB, OP_DIV},
    [OP_EXP] = {DA, V, OP_MUL},
    [OP_EXPM1] = {DA, V, N1, OP_ADD, OP_MUL},
    [OP_LN] = {DA, A, OP_DIV},
    [OP_LOG10] = {DA, LOG10_E, OP_MUL, A, OP_DIV},
    [OP_LOG2] = {DA, LOG2_E, OP_MUL, A, OP_DIV},
    [OP_LOG1P] = {DA, A, N1, OP_ADD, OP_DIV},
    [OP_SQRT] = {DA, HALF, OP_MUL, V, OP_DIV},
    [OP_CBRT] = {DA, V, V, OP_MUL, N3, OP_MUL, OP_DIV},
    [OP_ERF] = {DA, A, A, OP_MUL, OP_NEG, OP_EXP, ERF_SLOPE, OP_MUL, OP_MUL},
    [OP_ERFC] = {DA, A, A, OP_MUL, OP_NEG, OP_EXP, ERF_SLOPE, OP_MUL, OP_MUL, OP_NEG},
    // the order is cut to a whole number: only the argument counts
    [OP_BESSELJ] = {A, OP_SIGN, A, OP_ABS, OP_FLOOR, OP_MUL, N1, OP_SUB, B, OP_BESSELJ,
                    A, OP_SIGN, A, OP_ABS, OP_FLOOR, OP_MUL, N1, OP_ADD, B, OP_BESSELJ,
                    OP_SUB, HALF, OP_MUL, DB, OP_MUL},
    [OP_BESSELY] = {A, OP_SIGN, A, OP_ABS, OP_FLOOR, OP_MUL, N1, OP_SUB, B, OP_BESSELY,
                    A, OP_SIGN, A, OP_ABS, OP_FLOOR, OP_MUL, N1, OP_ADD, B, OP_BESSELY,
                    OP_SUB, HALF, OP_MUL, DB, OP_MUL},
    [OP_BESSELI] = {A, OP_SIGN, A, OP_ABS, OP_FLOOR, OP_MUL, N1, OP_SUB, B, OP_BESSELI,
                    A, OP_SIGN, A, OP_ABS, OP_FLOOR, OP_MUL, N1, OP_ADD, B, OP_BESSELI,
                    OP_ADD, HALF, OP_MUL, DB, OP_MUL},
    [OP_ABS] = {DA, A, OP_SIGN, OP_MUL},
    [OP_SIGN] = {N0}, [OP_HEAV] = {N0}, [OP_FLOOR] = {N0}, [OP_CEIL] = {N0},
    [OP_MOD] = {DA, A, B, OP_DIV, OP_FLOOR, DB, OP_MUL, OP_SUB},
    [OP_MIN] = {A, B, OP_LT, DA, DB, OP_IF},
    [OP_MAX] = {A, B, OP_GT, DA, DB, OP_IF},
};
// clang-format on

struct diff *diff_new(struct dag *d, struct arena *arena) {
    struct diff *x = arena_new(arena, struct diff, 1);
    *x = (struct diff){.dag = d, .arena = arena};
    return x;
}

static uint64_t leaf_bit(const struct node *n) {
    if (n->op == OP_TIME)
        return 1;
    return n->op == OP_SYMBOL ? UINT64_C(1) << (n->a % 63 + 1) : 0;
}

static struct power power_of(const struct diff *x, node_id id) {
    const struct node *n = &x->dag->nodes.items[id];
    struct power self = {id, 2};
    if (n->op == OP_SQRT)
        return (struct power){n->a, 1};
    if (n->op != OP_MUL)
        return self;
    struct power a = x->powers.items[n->a], b = x->powers.items[n->b];
    int32_t halves = a.halves + b.halves;
    return a.base == b.base && halves <= POWER_MOST_HALVES ? (struct power){a.base, halves} : self;
}

// Looks at the nodes made since the last call.
static void diff_catch_up(struct diff *x) {
    for (node_id id = x->depends.count; id < x->dag->nodes.count; id++) {
        const struct node *n = &x->dag->nodes.items[id];
        uint64_t depends = leaf_bit(n);
        for (uint32_t i = 0; i < op_operands[n->op]; i++)
            depends |= x->depends.items[node_operand(n, i)];
        struct power power = power_of(x, id);
        *vec_push(x->arena, &x->depends) = depends;
        *vec_push(x->arena, &x->powers) = power;
    }
}

// What the derivative of a node is made of, besides its operands.
struct parts {
    struct power power; // the power rule: of this
    uint32_t count;     // of the nodes whose derivatives it takes
    node_id of[3];
};

static struct parts diff_parts(const struct diff *x, node_id id, uint64_t bit) {
    const struct node *n = &x->dag->nodes.items[id];
    struct parts p = {.count = op_operands[n->op], .of = {n->a, n->b, n->c}};
    struct power power = {id, 2};
    if (n->op == OP_MUL)
        power = x->powers.items[id];
    else if (n->op == OP_DIV && !(x->depends.items[n->a] & bit) &&
             x->powers.items[n->b].base != n->b)
        power = x->powers.items[n->b];
    if (power.base != id)
        p = (struct parts){.power = power, .count = 1, .of = {power.base}};
    return p;
}

// x^n to n x^(n-1) dx; c / x^n, whose node is v, to -n v dx / x
static node_id diff_power(struct dag *d, node_id id, struct power power, node_id derivative) {
    node_id n = dag_number(d, power.halves / 2.0), factor;
    if (d->nodes.items[id].op == OP_MUL) {
        factor = dag_op(d, OP_MUL, power_halves(d, power.base, power.halves - 2), n, NODE_NONE);
        return dag_op(d, OP_MUL, factor, derivative, NODE_NONE);
    }
    factor = dag_op(d, OP_MUL, id, n, NODE_NONE);
    factor = dag_op(d, OP_MUL, factor, derivative, NODE_NONE);
    factor = dag_op(d, OP_DIV, factor, power.base, NODE_NONE);
    return dag_op(d, OP_NEG, factor, NODE_NONE, NODE_NONE);
}

static node_id diff_row(struct dag *d, node_id id, const node_id *derivatives) {
    struct node n = d->nodes.items[id];
    node_id stack[8] = {0},
            named[] = {n.a, n.b, n.c, derivatives[0], derivatives[1], derivatives[2], id};
    uint32_t height = 0;
    for (const uint8_t *code = rows[n.op]; *code; code++) {
        uint32_t operands = *code < OP_COUNT ? op_operands[*code] : 0;
        height -= operands;
        if (*code < OP_COUNT)
            stack[height] = dag_op(d, *code, stack[height], stack[height + 1], stack[height + 2]);
        else
            stack[height] = *code <= V ? named[*code - A] : dag_number(d, numbers[*code]);
        height++;
    }
    return stack[0];
}

// Known already, or without a walk; NODE_NONE otherwise.
static node_id diff_known(struct diff *x, node_id id, node_id leaf, uint64_t bit) {
    if (!(x->depends.items[id] & bit))
        return dag_number(x->dag, 0);
    return *pairs_at(&x->known, x->arena, id, leaf);
}

static node_id diff_make(struct diff *x, node_id id, const struct parts *p,
                         const node_id *derivatives) {
    bool depends = false;
    for (uint32_t i = 0; i < p->count; i++)
        depends |= !node_is_value(x->dag, derivatives[i], 0);
    if (!depends)
        return dag_number(x->dag, 0);
    if (x->dag->nodes.items[id].op == OP_LGAMMA)
        return dag_op(x->dag, OP_MUL, digamma(x->dag, x->dag->nodes.items[id].a), derivatives[0],
                      NODE_NONE);
    return p->power.halves ? diff_power(x->dag, id, p->power, derivatives[0])
                           : diff_row(x->dag, id, derivatives);
}

static node_id diff_walk(struct diff *x, node_id of, node_id leaf) {
    diff_catch_up(x);
    uint64_t bit = leaf_bit(&x->dag->nodes.items[leaf]);
    node_id known = diff_known(x, of, leaf, bit);
    if (known != NODE_NONE)
        return known;
    *pairs_at(&x->known, x->arena, leaf, leaf) = dag_number(x->dag, 1);
    x->stack.count = 0;
    *vec_push(x->arena, &x->stack) = of;
    while (x->stack.count) {
        node_id id = x->stack.items[x->stack.count - 1], derivatives[3] = {0};
        struct parts p = diff_parts(x, id, bit);
        bool ready = true;
        arena_spend(x->arena, 1);
        for (uint32_t i = 0; i < p.count; i++) {
            derivatives[i] = diff_known(x, p.of[i], leaf, bit);
            if (derivatives[i] == NODE_NONE) {
                *vec_push(x->arena, &x->stack) = p.of[i];
                ready = false;
            }
        }
        if (!ready)
            continue;
        x->stack.count--;
        if (diff_known(x, id, leaf, bit) == NODE_NONE) {
            node_id made = diff_make(x, id, &p, derivatives);
            *pairs_at(&x->known, x->arena, id, leaf) = made;
        }
    }
    return diff_known(x, of, leaf, bit);
}

node_id diff_by(struct diff *x, node_id of, enum leaf leaf, uint32_t index) {
    return diff_walk(x, of, dag_leaf(x->dag, leaf, index));
}

node_id diff_by_time(struct diff *x, node_id of) { return diff_walk(x, of, dag_time(x->dag)); }
