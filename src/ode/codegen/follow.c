// SPDX-License-Identifier: MIT
// Followers: which states have another state for their slope, and what kernels/ode/follow.h is told
// of them. The weights are in tableau.c.
#include "ode/codegen/codegen.h"

enum {
    FOLLOW_STATES = 40, // up to this size states may follow others, on all targets,
    FOLLOW_TABLE = 12,  // up to this one without an order,
    FOLLOW_LEAST = 2,   // and so many of them: one does not pay for its weights
};

// Whom each state follows, or -1. Returns how many do.
static uint32_t find_leaders(const struct system *s, int32_t *leads) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < s->states; j++)
        leads[j] = -1;
    for (uint32_t j = 0; j < s->states; j++) {
        const struct node *n = &s->dag.nodes.items[s->rhs[j]];
        bool state = n->op == OP_SYMBOL && n->leaf == LEAF_STATE && n->a != j, led = false;
        for (uint32_t i = 0; i < j && state; i++)
            led |= leads[i] == (int32_t)j;
        if (state && !led && leads[n->a] < 0) {
            leads[j] = (int32_t)n->a;
            count++;
        }
    }
    return count;
}

// Whether all followers are the first states, or the last, and as far from their leaders, so that a
// loop over them needs no table.
static bool is_range(const struct followers *f, uint32_t states, uint32_t *from) {
    *from = f->leads[0] >= 0 ? 0 : states - f->count;
    int64_t by = (int64_t)f->leads[*from] - *from;
    for (uint32_t j = *from; j < *from + f->count; j++)
        if (f->leads[j] < 0 || f->leads[j] - (int64_t)j != by)
            return false;
    return true;
}

struct followers codegen_followers(const struct system *s, struct arena *arena) {
    struct followers none = {0}, f = {0};
    uint32_t from;
    if (s->states > FOLLOW_STATES)
        return none;
    f.leads = arena_new(arena, int32_t, s->states);
    f.count = find_leaders(s, f.leads);
    bool pays =
        f.count >= FOLLOW_LEAST && (s->states <= FOLLOW_TABLE || is_range(&f, s->states, &from));
    return pays ? f : none;
}

// Whether inside a step nobody but followers reads the states that do not follow.
static bool are_resting(const struct followers *f, const struct system *s, struct arena *arena) {
    node_id *roots = arena_new(arena, node_id, s->states);
    uint32_t count = 0;
    for (uint32_t j = 0; j < s->states; j++)
        if (f->leads[j] < 0)
            roots[count++] = s->rhs[j];
    const uint32_t *uses = dag_uses(&s->dag, roots, count, arena);
    for (uint32_t id = 0; id < s->dag.nodes.count; id++) {
        const struct node *n = &s->dag.nodes.items[id];
        if (uses[id] && n->op == OP_SYMBOL && n->leaf == LEAF_STATE && f->leads[n->a] < 0)
            return false;
    }
    return true;
}

void codegen_leaders(struct buf *out, const struct followers *f, const struct system *s, bool dense,
                     struct arena *arena) {
    uint32_t from;
    buf_printf(out, "CONSTANT int leads[%u] = {", s->states);
    for (uint32_t j = 0; j < s->states; j++)
        buf_printf(out, "%s%d", j ? ", " : "", (int)f->leads[j]);
    buf_puts(out, "};\n");
    if (is_range(f, s->states, &from))
        buf_printf(out, "#define FOLLOW_FROM %u\n#define FOLLOW_BY %d\n", from,
                   (int)f->leads[from] - (int)from);
    buf_printf(out, "#define RESTING %d\n", !dense && are_resting(f, s, arena));
}
