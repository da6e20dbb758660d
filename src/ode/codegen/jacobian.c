// SPDX-License-Identifier: MIT
// The system as an implicit method sees it: Jacobian, right-hand side and time derivative at once.
//
// They are one function, so that what they have in common is computed once. Entries of the Jacobian
// that are zero for every state are left out of the matrix; its diagonal is always there.
#include "ode/codegen/codegen.h"

static bool is_zero(const struct system *s, node_id id) {
    const struct node *n = &s->dag.nodes.items[id];
    return n->op == OP_NUMBER && n->value == 0;
}

static void add_root(struct linear *l, node_id root, uint32_t slot) {
    l->roots[l->count] = root;
    l->slots[l->count++] = slot;
}

// Row by row, the right-hand side first: the derivatives are made of its parts.
static void add_matrix(struct linear *l, struct system *s, const struct sparsity *p,
                       const node_id *entries) {
    node_id zero = dag_number(&s->dag, 0);
    for (uint32_t row = 0; row < s->states; row++) {
        bool diagonal = false;
        add_root(l, s->rhs[row], l->lu.entries + row);
        for (uint32_t i = p->row_start[row]; i < p->row_start[row + 1]; i++) {
            add_root(l, entries[i], lu_entry(&l->lu, row, p->columns[i]));
            diagonal |= p->columns[i] == row;
        }
        if (!diagonal)
            add_root(l, zero, lu_entry(&l->lu, row, row));
    }
}

static void add_times(struct linear *l, struct system *s, struct arena *arena) {
    struct diff *x = diff_new(&s->dag, arena);
    uint32_t before = l->count;
    for (uint32_t i = 0; i < s->states; i++) {
        add_root(l, diff_by_time(x, s->rhs[i]), l->lu.entries + s->states + i);
        l->timed |= !is_zero(s, l->roots[l->count - 1]);
    }
    if (!l->timed)
        l->count = before;
}

// An entry that is a polynomial of states and time is finite where they are, and hardly changes as
// near as tolerances go. One that is not may be infinite, or as large as it likes, beside a state
// where the right-hand side is nothing special.
enum { VARIES = 1, DOUBTED = 2 };

static uint8_t own_traits(const struct node *n, const uint8_t *traits) {
    bool varies = n->op == OP_TIME || (n->op == OP_SYMBOL && n->leaf == LEAF_STATE);
    for (uint32_t i = 0; i < op_operands[n->op] && n->op != OP_SYMBOL; i++)
        varies |= traits[node_operand(n, i)] & VARIES;
    if (!varies)
        return 0;
    if (n->op == OP_DIV)
        return traits[n->b] & VARIES ? VARIES | DOUBTED : VARIES;
    bool plain = n->op <= OP_MUL || (n->op >= OP_LT && n->op <= OP_IF) ||
                 (n->op >= OP_ABS && n->op <= OP_MAX);
    return plain ? VARIES : VARIES | DOUBTED;
}

static uint8_t *find_traits(const struct dag *d, struct arena *arena) {
    uint8_t *traits = arena_new(arena, uint8_t, d->nodes.count + 1);
    for (node_id id = 0; id < d->nodes.count; id++) {
        const struct node *n = &d->nodes.items[id];
        traits[id] = own_traits(n, traits);
        for (uint32_t i = 0; i < op_operands[n->op] && n->op != OP_SYMBOL; i++)
            traits[id] |= traits[node_operand(n, i)];
    }
    return traits;
}

// Entries of the matrix, which come first among the roots, then of df/dt.
static void find_doubts(struct linear *l, const struct system *s, struct arena *arena) {
    const uint8_t *traits = find_traits(&s->dag, arena);
    uint32_t times = l->lu.entries + s->states;
    l->doubt = arena_new(arena, uint32_t, l->count + 1);
    for (uint32_t i = 0; i < l->count; i++) {
        bool slope = l->slots[i] >= l->lu.entries && l->slots[i] < times;
        if (slope || !(traits[l->roots[i]] & DOUBTED))
            continue;
        l->doubt[l->doubts++] = l->slots[i];
        l->damping += l->slots[i] < times;
    }
}

struct linear codegen_linearise(struct system *s, const struct method *m, struct arena *arena) {
    node_id *entries;
    struct sparsity p = system_nonzeros(s, &entries, arena);
    struct linear l = {.lu = lu_plan(&p, s->order ? s->order : lu_order(&p, arena), arena)};
    l.lu.algebraic = s->row_algebraic;
    l.roots = arena_new(arena, node_id, (size_t)l.lu.given + 2 * (size_t)s->states);
    l.slots = arena_new(arena, uint32_t, (size_t)l.lu.given + 2 * (size_t)s->states);
    add_matrix(&l, s, &p, entries);
    if (m->scheme == ROSENBROCK || (s->algebraic && m->fsal)) // see start_slopes
        add_times(&l, s, arena);
    find_doubts(&l, s, arena);
    l.size = l.lu.entries + (l.timed ? 2 : 1) * s->states;
    if (m->scheme == COLLOCATION) {
        l.shifted = true;
        l.pairs = m->stages / 2;
        l.complex_factors = l.size;
        l.size = l.complex_factors + 2 * l.pairs * l.lu.kept;
    }
    return l;
}
