// SPDX-License-Identifier: MIT
// Inside of the DAG, for the files of this folder only.
//
// dag_op asks fold_term to rewrite what it was asked for until nothing applies, then dag_intern
// finds or makes the node. Powers are built by power.c out of multiplications. `pairs` is a hash
// table from two numbers to one, for memoisation.
#ifndef SHOAL_SYMBOLIC_DAG_H
#define SHOAL_SYMBOLIC_DAG_H

#include "ode/symbolic/symbolic.h"

// The node as it is, without folding.
node_id dag_intern(struct dag *d, struct node n);

// What is to become a node: an operator on nodes, or a node that was found (op TERM_NODE, in a);
// with `negate`, minus that.
enum { TERM_NODE = OP_COUNT };
struct term {
    uint8_t op;
    bool negate;
    node_id a, b, c;
};
// One rewriting; false when nothing applies.
bool fold_term(struct dag *d, struct term *t);

// base ^ (halves / 2) without calling pow, for |halves| <= POWER_MOST_HALVES; NODE_NONE beyond.
enum { POWER_MOST_HALVES = 128 };
node_id power_halves(struct dag *d, node_id base, int32_t halves);
// base ^ exponent where that is simpler than a POW node, else NODE_NONE.
node_id power_simplify(struct dag *d, node_id base, node_id exponent);

// The derivative of lgamma, to about 1e-10.
node_id digamma(struct dag *d, node_id x);

// Gives every algebraic row of a new system to a state, and decides on the order of elimination.
// False, with an error, where no choice can work. What is only needed meanwhile goes to `scratch`.
bool algebraic_arrange(struct system *s, const struct model *m, struct arena *scratch,
                       struct report *r);

// Where conditions are taken out of: the right-hand sides and the functions of events.
struct roots {
    node_id **items;
    uint32_t count, cap;
};
struct roots roots_of(struct system *s, struct arena *arena);
uint32_t *roots_uses(const struct roots *r, const struct dag *d, struct arena *arena);

// The nodes that a node is made of, and itself first: `found`, by the last walk, until the next
// one. It goes into the operands of operators that `into` says, or of all (NULL). Sorted, operands
// come before what is made of them.
struct node_walk {
    struct arena *arena;
    vec(uint32_t) seen; // by node: the last walk that reached it
    vec(node_id) found;
    uint32_t walks;
};
void walk_from(struct node_walk *w, const struct dag *d, node_id root, bool (*into)(uint8_t op));
void walk_sort(struct node_walk *w);

// Finds their switches, and puts leaves in their places.
void switches_find(struct system *s, const struct model *m, struct arena *scratch);
// Finds the jumps besides, in the same way; and makes events of them, behind the model's.
void jumps_find(struct system *s, const struct model *m, struct arena *scratch);
void jumps_become_events(struct system *s);

// What a system is made with: the node of an expression of the model, which is at `at`; and an
// error there, always false.
struct builder;
bool builder_make(struct builder *b, struct expr code, uint32_t at, node_id *out);
bool builder_fail(struct builder *b, uint32_t at, const char *why);
// The events of a system.
bool event_build(struct builder *b, struct system *s, const struct model *m, struct arena *scratch);

struct pair {
    uint32_t a, b, value;
    bool used;
};
struct pairs {
    struct pair *slots;
    uint32_t count, cap;
};
// The value of (a, b), UINT32_MAX when it is new; valid until the next call.
uint32_t *pairs_at(struct pairs *p, struct arena *arena, uint32_t a, uint32_t b);

static inline bool node_is_number(const struct dag *d, node_id id) {
    return d->nodes.items[id].op == OP_NUMBER;
}
static inline bool node_is_value(const struct dag *d, node_id id, double value) {
    return node_is_number(d, id) && d->nodes.items[id].value == value;
}

// Every bit of v reaches the low bits, which tables use: doubles differ in their high bits only.
static inline uint64_t hash_mix(uint64_t h, uint64_t v) {
    h ^= v;
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

#endif
