// SPDX-License-Identifier: MIT
// Expressions as a hash-consed DAG: equal subexpressions are one node, by construction.
//
// Nodes are numbered in the order they were made; operands come before what uses them, so a loop
// over numbers is a loop in dependency order and nothing here recurses. Making a node folds
// constants and applies the identities of symbolic/fold.c. The same input gives the same numbers in
// every process: no addresses, no hash order.
//
// What users of nodes may rely on: no GT or GE (they are LT and LE the other way round); operands
// of AND, OR, NOT and the condition of IF are LT, LE, EQ, NE, AND, OR or NOT nodes; a number is the
// second operand of + and *; a NEG is never an operand of + - * / or NEG.
#ifndef SHOAL_SYMBOLIC_SYMBOLIC_H
#define SHOAL_SYMBOLIC_SYMBOLIC_H

#include "base/arena.h"
#include "base/buf.h"
#include "ode/model/model.h"

typedef uint32_t node_id;
enum { NODE_NONE = UINT32_MAX };

// Leaves of the DAG. Constants of the model are numbers by now, temporaries and functions inlined.
// A switch is what its formula (node.b) is, as it was when the step began. The last three are of
// summaries: the slope of a state's interpolant in a step, the length of that, and what a call of a
// summary comes to.
enum leaf { LEAF_STATE, LEAF_PAR, LEAF_DERIVED, LEAF_SWITCH, LEAF_SLOPE, LEAF_STEP, LEAF_SUMMARY };

struct node {
    uint8_t op;   // OP_NUMBER, OP_TIME, OP_SYMBOL (leaf kind in `leaf`, position in a), or operator
    uint8_t leaf; // of OP_SYMBOL
    node_id a, b, c;
    double value; // OP_NUMBER
};
// Operand 0, 1 or 2; an operator has op_operands[n->op] of them, the others are NODE_NONE.
static inline node_id node_operand(const struct node *n, uint32_t i) {
    return i == 0 ? n->a : i == 1 ? n->b : n->c;
}

struct dag {
    struct arena *arena;
    vec(struct node) nodes;
    uint32_t *buckets, bucket_count; // hash table of node ids + 1
};

// Making nodes needs an arena with an `oom` handler.
void dag_init(struct dag *d, struct arena *arena);
node_id dag_number(struct dag *d, double value);
node_id dag_time(struct dag *d);
node_id dag_leaf(struct dag *d, enum leaf leaf, uint32_t index);
// An operator on nodes, folded and simplified; operands beyond its count are ignored.
node_id dag_op(struct dag *d, enum op op, node_id a, node_id b, node_id c);
static inline node_id dag_pair(struct dag *d, enum op op, node_id a, node_id b) {
    return dag_op(d, op, a, b, NODE_NONE);
}

// A condition on time alone, which the right-hand sides have as a leaf: it changes where a line
// a + b t is 0, or a whole number. Lines are free of time; they are made of parameters, derived
// ones and switches of lower levels.
enum switch_kind {
    SWITCH_BELOW, // 1 where the line is below 0, else 0
    SWITCH_UPTO,  // the same, or is 0, which matters where it does not move
    SWITCH_FLOOR, // the line, rounded down
};
struct time_switch {
    enum switch_kind kind;
    uint32_t level; // 0: the line is made of no switch
    node_id a, b;
    node_id plain;     // its formula
    node_id condition; // as the model has it; that of several switches may be one
    node_id argument;  // it tells a table's samples by its argument; NODE_NONE: it does not
};

// A condition on states, drivers or time, which the right-hand sides have as a leaf behind those of
// the switches in time; an event turns it.
struct state_jump {
    bool whole;        // it is `of` rounded down, else 1 where that is below 0 and 0 elsewhere
    node_id of, zero;  // zero changes its sign where the leaf changes,
    node_id turns;     // and this one where it is not what it should be;
    node_id holds;     // which side of that is meant by 0: not 0 where it is the positive one
    node_id next;      // what the leaf is to become
    node_id plain;     // its formula
    node_id condition; // as the model has it
};

// An event as nodes. What fires one that is not timed is the sign of `zero`: it turns positive or
// (EVENT_FALLING) negative; where there is a `truth`, positive means that it is true, so that a
// condition which holds on its boundary fires there.
enum { EVENT_RISING = 1, EVENT_FALLING = 2 };
struct system_event {
    enum event_kind kind;
    unsigned edges;
    node_id zero;
    node_id truth; // NODE_NONE: an expression
    node_id slope; // of zero along the solution; NODE_NONE: it depends on algebraic states
    node_id size;  // of what zero is the difference of, as far as rounding goes
    bool touched;  // an action of the event changes what zero is made of
    node_id touch; // 0 where zero goes on as before all the same; NODE_NONE: it never does
    bool at_start; // it happens at t0 where zero is 0 there
    uint32_t times;
    node_id *time; // [times] of LEAF_PAR and LEAF_DERIVED; as the model has them, or NODE_NONE
    uint32_t actions;
    node_id *value;   // [actions]
    uint32_t *target; // state i, parameter i as states + i; ACTION_STOP: stops where value > 0
    bool sequential;
    uint32_t jump; // 0: it is the model's; else it turns this jump, counted from 1
};

// A model as nodes. Arrays are indexed as in the model's lists.
struct system {
    struct arena arena;
    struct dag dag;
    uint32_t states, pars, derived, observables;
    uint32_t algebraic; // of the states: M y' = rhs, with a 0 in M for them
    node_id *rhs;       // [states]; of an algebraic one the row that was given to it
    uint32_t switches;  // in the right-hand sides
    struct time_switch *time_switch;
    uint32_t jumps;
    struct state_jump *jump;
    node_id *init;       // [states], NODE_NONE where the initial value is a number; of LEAF_PAR,
                         // LEAF_DERIVED and time (which is t0 there)
    node_id *derive;     // [derived], of LEAF_PAR and earlier LEAF_DERIVED; where there are starts
                         // also of LEAF_STATE and time, which are initial values and t0
    uint32_t starts;     // 0 unless a derived one is made of initial values or t0: then their
    uint32_t *start;     // [starts] order: derive[i] as i, init[i] as derived + i
    node_id *observable; // [observables]
    bool *row_algebraic; // [states], NULL: none
    uint32_t *order;     // [states] of elimination, NULL: any (algebraic.c)
    size_t text_length;  // of the model
    struct builder *builder; // what formulas are made with
    uint32_t events;         // the model's, and then one for each jump
    struct system_event *event;
    uint32_t rederives; // derived ones that are computed again after an event, in order
    uint32_t *rederive;
};

// Never NULL on success; on failure (memory, or an expansion beyond all bounds) NULL and an error.
// The arena comes back without an `oom` handler: who makes more nodes in it installs one.
struct system *system_new(const struct model *m, struct report *r);
void system_free(struct system *s);
// The node of a formula of the model that the system was made of, and which must still be there;
// NODE_NONE where it is too large once its functions are expanded. The arena needs an `oom`
// handler.
node_id system_formula(struct system *s, const struct formula *f);
// The same of one with arguments.
node_id system_formula_of(struct system *s, const struct formula *f, const node_id *argument,
                          uint32_t arguments);
// Functions of events have become others; so do the conditions beside them. `now`: by node.
void event_conditions_become(struct system *s, const node_id *now, struct arena *scratch);
// How the functions of events move, as soon as right-hand sides are complete.
void event_find_slopes(struct system *s, struct arena *scratch);
// What a computation with the system may take (struct arena says how it is spent), and the error
// when it took more, or memory ran out.
struct budget system_budget(const struct system *s, const volatile int *stop);
shoal_code system_failure(const struct budget *b, struct report *r);

// d node / d leaf, memoised in the DAG's arena by the caller-owned table made with diff_new.
struct diff;
struct diff *diff_new(struct dag *d, struct arena *arena);
node_id diff_by(struct diff *x, node_id of, enum leaf leaf, uint32_t index);
node_id diff_by_time(struct diff *x, node_id of);

// Which states each right-hand side depends on: compressed rows, columns ascending.
struct sparsity {
    uint32_t rows;
    uint32_t *row_start; // [rows + 1]
    uint32_t *columns;
};
struct sparsity system_sparsity(const struct system *s, struct arena *arena);
// The Jacobian's non-zero nodes, in the order of the sparsity (entries that turn out to be zero
// symbolically are the number 0).
node_id *system_jacobian(struct system *s, const struct sparsity *pattern, struct arena *arena);
// Both, without those.
struct sparsity system_nonzeros(struct system *s, node_id **entries, struct arena *arena);

// Marks, in ascending order, the nodes that `roots` need: live[id] = number of uses (roots count).
uint32_t *dag_uses(const struct dag *d, const node_id *roots, uint32_t count, struct arena *arena);

// Arithmetic of the nodes that `roots` need: each node once, whatever its number of uses.
struct op_counts {
    uint64_t adds; // + - negation, comparisons, selections and other single instructions
    uint64_t muls;
    uint64_t divs;      // / sqrt mod
    uint64_t functions; // ^ and those of the math library
};
struct op_counts dag_count(const struct dag *d, const node_id *roots, uint32_t count,
                           struct arena *scratch);

// A node of the model's system as people read it; a long one is cut short.
void system_print(struct buf *out, const struct system *s, const struct model *m, node_id id);

// Numbers for the leaves.
struct leaf_values {
    double t;
    const double *state, *par, *derived;
    const double *switches; // and jumps behind them; NULL: what their formulas are
    const node_id *derive;  // where the derived ones are computed, instead of `derived`
    const node_id *init;    // and states, but for NODE_NONE; NULL: none are
    double (*signal)(const void *user, uint32_t signal, double at); // NULL: they are NaN
    const void *user;
    const double *forced; // by node: what it is, whatever it says; a NaN: not this one. NULL: none
};
// Values of all nodes (array of nodes.count items), in one pass; NaN for a leaf without an array.
void dag_evaluate(const struct dag *d, const struct leaf_values *v, double *values);

#endif
