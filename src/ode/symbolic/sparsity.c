// SPDX-License-Identifier: MIT
// Which states each right-hand side depends on, and the Jacobian's entries there.
//
// Dependence is structural: a state that is only compared with something counts, its derivative is
// then the number 0. One walk per row over the nodes below it, marked with the number of the row,
// so memory is proportional to the nodes and the non-zeros.
#include "ode/symbolic/dag.h"

#include <stdlib.h>

enum { VISITS = 8 }; // that are a step of work

struct walk {
    const struct dag *dag;
    struct arena *arena;
    uint32_t *seen; // by node: the last row that reached it, counted from 1
    vec(node_id) stack;
    vec(uint32_t) columns;
    uint32_t visits;
};

static void visit(struct walk *w, node_id id, uint32_t mark) {
    if (w->seen[id] == mark)
        return;
    w->seen[id] = mark;
    *vec_push(w->arena, &w->stack) = id;
}

static void walk_row(struct walk *w, node_id root, uint32_t mark) {
    visit(w, root, mark);
    while (w->stack.count) {
        w->visits++;
        const struct node *n = &w->dag->nodes.items[w->stack.items[--w->stack.count]];
        if (n->op == OP_SYMBOL && n->leaf == LEAF_STATE)
            *vec_push(w->arena, &w->columns) = n->a;
        for (uint32_t i = 0; i < op_operands[n->op]; i++)
            visit(w, node_operand(n, i), mark);
    }
}

static int ascending(const void *x, const void *y) {
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

struct sparsity system_sparsity(const struct system *s, struct arena *arena) {
    struct walk w = {.dag = &s->dag, .arena = arena};
    w.seen = arena_new(arena, uint32_t, s->dag.nodes.count);
    uint32_t *row_start = arena_new(arena, uint32_t, (size_t)s->states + 1);
    for (uint32_t row = 0; row < s->states; row++) {
        w.visits = 0;
        walk_row(&w, s->rhs[row], row + 1);
        arena_spend(arena, w.visits / VISITS + 1);
        uint32_t first = row_start[row], count = w.columns.count - first;
        if (count)
            qsort(w.columns.items + first, count, sizeof *w.columns.items, ascending);
        row_start[row + 1] = w.columns.count;
    }
    return (struct sparsity){s->states, row_start, w.columns.items};
}

node_id *system_jacobian(struct system *s, const struct sparsity *pattern, struct arena *arena) {
    struct diff *x = diff_new(&s->dag, arena);
    node_id *entries = arena_new(arena, node_id, pattern->row_start[pattern->rows]);
    for (uint32_t row = 0; row < pattern->rows; row++)
        for (uint32_t i = pattern->row_start[row]; i < pattern->row_start[row + 1]; i++)
            entries[i] = diff_by(x, s->rhs[row], LEAF_STATE, pattern->columns[i]);
    return entries;
}

struct sparsity system_nonzeros(struct system *s, node_id **entries, struct arena *arena) {
    struct sparsity all = system_sparsity(s, arena), p = {.rows = all.rows};
    node_id *nodes = *entries = system_jacobian(s, &all, arena);
    uint32_t count = 0;
    p.row_start = arena_new(arena, uint32_t, (size_t)all.rows + 1);
    p.columns = arena_new(arena, uint32_t, all.row_start[all.rows] + 1);
    for (uint32_t row = 0; row < all.rows; row++) {
        for (uint32_t i = all.row_start[row]; i < all.row_start[row + 1]; i++) {
            if (node_is_value(&s->dag, nodes[i], 0))
                continue;
            nodes[count] = nodes[i];
            p.columns[count++] = all.columns[i];
        }
        p.row_start[row + 1] = count;
    }
    return p;
}
