// SPDX-License-Identifier: MIT
// The table of nodes: making, finding, counting uses, evaluating.
//
// A node is found by hashing what it consists of; numbers are compared by their bits, so 0 and -0
// are two nodes and a NaN is found again. Commutative operators have their operands in one order:
// by number of the node, numeric constants last. What may be rewritten is fold.c's business.
#include "ode/symbolic/dag.h"

#include <math.h>
#include <string.h>

static uint64_t value_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t node_hash(const struct node *n) {
    uint64_t h = hash_mix(n->op, n->leaf);
    h = hash_mix(h, (uint64_t)n->a << 32 | n->b);
    h = hash_mix(h, n->c);
    return hash_mix(h, value_bits(n->value));
}

static bool node_equal(const struct node *x, const struct node *y) {
    return x->op == y->op && x->leaf == y->leaf && x->a == y->a && x->b == y->b && x->c == y->c &&
           value_bits(x->value) == value_bits(y->value);
}

static uint32_t *dag_bucket(const struct dag *d, const struct node *n) {
    uint32_t mask = d->bucket_count - 1, i = (uint32_t)node_hash(n) & mask;
    while (d->buckets[i] && !node_equal(&d->nodes.items[d->buckets[i] - 1], n))
        i = (i + 1) & mask;
    return &d->buckets[i];
}

static void dag_grow(struct dag *d) {
    d->bucket_count = d->bucket_count ? d->bucket_count * 2 : 256;
    d->buckets = arena_new(d->arena, uint32_t, d->bucket_count);
    for (uint32_t id = 0; id < d->nodes.count; id++)
        *dag_bucket(d, &d->nodes.items[id]) = id + 1;
}

void dag_init(struct dag *d, struct arena *arena) { *d = (struct dag){.arena = arena}; }

node_id dag_intern(struct dag *d, struct node n) {
    arena_spend(d->arena, 1);
    if (d->nodes.count >= d->bucket_count / 2)
        dag_grow(d);
    uint32_t *bucket = dag_bucket(d, &n);
    if (!*bucket) {
        *vec_push(d->arena, &d->nodes) = n;
        *bucket = d->nodes.count;
    }
    return *bucket - 1;
}

static struct node node_leaf(enum op op) {
    return (struct node){.op = (uint8_t)op, .a = NODE_NONE, .b = NODE_NONE, .c = NODE_NONE};
}

node_id dag_number(struct dag *d, double value) {
    struct node n = node_leaf(OP_NUMBER);
    n.value = value;
    return dag_intern(d, n);
}

node_id dag_time(struct dag *d) { return dag_intern(d, node_leaf(OP_TIME)); }

node_id dag_leaf(struct dag *d, enum leaf leaf, uint32_t index) {
    struct node n = node_leaf(OP_SYMBOL);
    n.leaf = (uint8_t)leaf;
    n.a = index;
    return dag_intern(d, n);
}

node_id dag_op(struct dag *d, enum op op, node_id a, node_id b, node_id c) {
    struct term t = {(uint8_t)op, false, a, b, c};
    for (;;) {
        uint32_t operands = op_operands[op];
        t.a = operands > 0 ? t.a : NODE_NONE;
        t.b = operands > 1 ? t.b : NODE_NONE;
        t.c = operands > 2 ? t.c : NODE_NONE;
        while (fold_term(d, &t))
            ;
        node_id made = t.op == TERM_NODE
                           ? t.a
                           : dag_intern(d, (struct node){.op = t.op, .a = t.a, .b = t.b, .c = t.c});
        if (!t.negate)
            return made;
        op = OP_NEG;
        t = (struct term){OP_NEG, false, made, NODE_NONE, NODE_NONE};
    }
}

uint32_t *dag_uses(const struct dag *d, const node_id *roots, uint32_t count, struct arena *arena) {
    uint32_t *uses = arena_new(arena, uint32_t, d->nodes.count);
    for (uint32_t i = 0; i < count; i++)
        if (roots[i] != NODE_NONE)
            uses[roots[i]]++;
    for (node_id id = d->nodes.count; id-- > 0;) {
        const struct node *n = &d->nodes.items[id];
        for (uint32_t i = 0; uses[id] && i < op_operands[n->op]; i++)
            uses[node_operand(n, i)]++;
    }
    return uses;
}

// A derived parameter is used only after it was computed, and so is an initial value.
static double leaf_value(const struct node *n, const struct leaf_values *v, const double *values) {
    if (n->op == OP_NUMBER)
        return n->value;
    if (n->op == OP_TIME)
        return v->t;
    if (n->leaf == LEAF_DERIVED && v->derive)
        return values[v->derive[n->a]];
    if (n->leaf == LEAF_STATE && v->init && v->init[n->a] != NODE_NONE)
        return values[v->init[n->a]];
    if (n->leaf == LEAF_SWITCH && v->switches && n->b != NODE_NONE)
        return v->switches[n->a];
    if (n->leaf == LEAF_SWITCH)
        return n->b != NODE_NONE ? values[n->b] : NAN;
    const double *const arrays[LEAF_SUMMARY + 1] = {
        [LEAF_STATE] = v->state, [LEAF_PAR] = v->par, [LEAF_DERIVED] = v->derived};
    return arrays[n->leaf] ? arrays[n->leaf][n->a] : NAN;
}

static bool is_looked_up(const struct node *n, const struct leaf_values *v, double order) {
    return n->op == OP_LOOKUP && v->signal && order == 0;
}

void dag_evaluate(const struct dag *d, const struct leaf_values *v, double *values) {
    for (node_id id = 0; id < d->nodes.count; id++) {
        const struct node *n = &d->nodes.items[id];
        double x[3] = {0};
        for (uint32_t i = 0; i < op_operands[n->op]; i++)
            x[i] = values[node_operand(n, i)];
        if (v->forced && !isnan(v->forced[id]))
            values[id] = v->forced[id];
        else if (is_looked_up(n, v, x[2]))
            values[id] = v->signal(v->user, (uint32_t)x[1], x[0]);
        else
            values[id] =
                op_operands[n->op] ? op_value(n->op, x[0], x[1], x[2]) : leaf_value(n, v, values);
    }
}
