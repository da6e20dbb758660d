// SPDX-License-Identifier: MIT
// The nodes that a node is made of, each once.
#include "ode/symbolic/dag.h"

#include <stdlib.h>

static void reach(struct node_walk *w, node_id id) {
    if (w->seen.items[id] == w->walks)
        return;
    w->seen.items[id] = w->walks;
    *vec_push(w->arena, &w->found) = id;
}

void walk_from(struct node_walk *w, const struct dag *d, node_id root, bool (*into)(uint8_t op)) {
    vec_reserve(w->arena, &w->seen, d->nodes.count);
    w->walks++;
    w->found.count = 0;
    reach(w, root);
    for (uint32_t i = 0; i < w->found.count; i++) {
        struct node n = d->nodes.items[w->found.items[i]];
        for (uint32_t k = 0; k < op_operands[n.op] && (!into || into(n.op)); k++)
            reach(w, node_operand(&n, k));
    }
    arena_spend(w->arena, w->found.count / 8);
}

static int by_number(const void *a, const void *b) {
    const node_id *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void walk_sort(struct node_walk *w) {
    qsort(w->found.items, w->found.count, sizeof *w->found.items, by_number);
}
