// SPDX-License-Identifier: MIT
// A function of the kernel from a DAG: in which order its statements come, and in how many parts.
//
// Statements come root by root, each root's store right behind what it needed, so that values live
// shortly. A compiler's time grows faster than the length of a function; a long one is cut into
// parts of equal length, and what one part computes and another reads goes through an array.
//
// A quick right-hand side is many divisions and roots that do not wait for each other. It comes
// level by level: what depends on nothing, what depends on that, and so on. With the same
// instructions a GPU's compiler then finds registers whose ports get into each other's way less
// often.
#include "ode/codegen/emit.h"

#include <stdlib.h>

enum { PART_LENGTH = 400 }; // statements and stores

struct plan {
    struct writer w;
    uint32_t *first; // [nodes] the first root that needs it
    uint32_t *start; // [roots + 1] where a root's statements begin in `order`
    node_id *order;  // statements
    uint32_t length; // statements and stores
    uint32_t parts, part_length;
    uint32_t shared;
};

// Operands come before the nodes that read them, and no root needs them earlier.
static void find_first(struct plan *p) {
    const struct emit *e = p->w.e;
    for (node_id id = 0; id < e->dag->nodes.count; id++)
        p->first[id] = UINT32_MAX;
    for (uint32_t i = e->count; i-- > 0;)
        p->first[e->roots[i]] = i;
    for (node_id id = e->dag->nodes.count; id-- > 0;) {
        if (!p->w.uses[id] || p->w.fused[id])
            continue;
        node_id x;
        for (uint32_t i = 0; (x = emit_operand(&p->w, id, i)) != NODE_NONE; i++)
            if (p->first[id] < p->first[x])
                p->first[x] = p->first[id];
    }
}

struct statement {
    uint32_t level, parameter; // that it reads, from 1, or 0
    node_id id;
};

static int by_level(const void *a, const void *b) {
    const struct statement *x = a, *y = b;
    return x->level != y->level ? (x->level > y->level) - (x->level < y->level)
           : x->parameter != y->parameter
               ? (x->parameter > y->parameter) - (x->parameter < y->parameter)
               : (x->id > y->id) - (x->id < y->id);
}

// Sorts the statements by level, those of a level by the parameter that they read, all before the
// first root's store.
static void find_levels(struct plan *p, struct arena *arena) {
    const struct emit *e = p->w.e;
    const struct node *node = e->dag->nodes.items;
    uint32_t nodes = e->dag->nodes.count, *level = arena_new(arena, uint32_t, nodes + 1),
             length = 0;
    struct statement *list = arena_new(arena, struct statement, nodes + 1);
    for (node_id id = 0; id < nodes; id++) {
        if (!emit_is_statement(&p->w, id))
            continue;
        node_id x;
        uint32_t parameter = 0;
        for (uint32_t i = 0; (x = emit_operand(&p->w, id, i)) != NODE_NONE; i++) {
            if (level[id] <= level[x])
                level[id] = level[x] + 1;
            if (node[x].op == OP_SYMBOL && node[x].leaf == LEAF_PAR)
                parameter = node[x].a + 1;
        }
        list[length++] = (struct statement){level[id], parameter, id};
    }
    qsort(list, length, sizeof *list, by_level);
    p->start = arena_new(arena, uint32_t, e->count + 1);
    p->order = arena_new(arena, node_id, length + 1);
    for (uint32_t i = 0; i < length; i++) {
        p->order[i] = list[i].id;
        p->first[list[i].id] = 0;
    }
    for (uint32_t i = 1; i <= e->count; i++)
        p->start[i] = length;
    p->length = length + e->count;
}

// Sorts the statements by root, ascending within a root.
static void find_roots(struct plan *p, struct arena *arena) {
    const struct emit *e = p->w.e;
    uint32_t nodes = e->dag->nodes.count;
    p->start = arena_new(arena, uint32_t, e->count + 1);
    for (node_id id = 0; id < nodes; id++)
        if (emit_is_statement(&p->w, id))
            p->start[p->first[id] + 1]++;
    for (uint32_t i = 0; i < e->count; i++)
        p->start[i + 1] += p->start[i];
    p->length = p->start[e->count] + e->count;
    p->order = arena_new(arena, node_id, p->start[e->count] + 1);
    uint32_t *next = arena_new(arena, uint32_t, e->count + 1);
    for (uint32_t i = 0; i < e->count; i++)
        next[i] = p->start[i];
    for (node_id id = 0; id < nodes; id++)
        if (emit_is_statement(&p->w, id))
            p->order[next[p->first[id]]++] = id;
}

static uint32_t part_of_store(const struct plan *p, uint32_t root) {
    return (p->start[root + 1] + root) / p->part_length;
}

static void share(struct plan *p, node_id id, uint32_t reader) {
    if (emit_is_statement(&p->w, id) && p->w.part[id] != reader && p->w.slot[id] == NO_SLOT)
        p->w.slot[id] = p->shared++;
}

// What may be inlined is one part, and so is what is written whole.
static void find_parts(struct plan *p) {
    const struct emit *e = p->w.e;
    uint32_t most = e->inline_length > PART_LENGTH ? e->inline_length : PART_LENGTH;
    uint32_t parts = e->form == EMIT_PARTS && p->length ? (p->length - 1) / most + 1 : 1;
    p->part_length = p->length ? (p->length - 1) / parts + 1 : 1;
    p->parts = p->length ? (p->length - 1) / p->part_length + 1 : 1;
    for (node_id id = 0; id < e->dag->nodes.count; id++)
        p->w.slot[id] = NO_SLOT;
    for (uint32_t k = 0; k < p->start[e->count]; k++)
        p->w.part[p->order[k]] = (k + p->first[p->order[k]]) / p->part_length;
    for (uint32_t k = 0; k < p->start[e->count]; k++) {
        node_id x;
        for (uint32_t i = 0; (x = emit_operand(&p->w, p->order[k], i)) != NODE_NONE; i++)
            share(p, x, p->w.part[p->order[k]]);
    }
    for (uint32_t i = 0; i < e->count; i++)
        share(p, e->roots[i], part_of_store(p, i));
}

static struct plan make_plan(struct buf *out, const struct emit *e, struct arena *arena) {
    uint32_t nodes = e->dag->nodes.count;
    struct plan p = {.w = {.out = out, .e = e}};
    p.w.uses = dag_uses(e->dag, e->roots, e->count, arena);
    p.w.fused = arena_new(arena, bool, nodes + 1);
    p.w.number = arena_new(arena, bool, nodes + 1);
    p.w.part = arena_new(arena, uint32_t, nodes + 1);
    p.w.slot = arena_new(arena, uint32_t, nodes + 1);
    p.first = arena_new(arena, uint32_t, nodes + 1);
    emit_prepare(&p.w);
    find_first(&p);
    if (e->form == EMIT_QUICK)
        find_levels(&p, arena);
    else
        find_roots(&p, arena);
    find_parts(&p);
    return p;
}

static void put_store(struct plan *p, uint32_t root) {
    const struct emit *e = p->w.e;
    uint32_t slot = e->slots ? e->slots[root] : root;
    if (e->initial && e->initial[root])
        buf_printf(p->w.out, "    if (a->offset[NPAR + %u] == SHOAL_FORMULA) y[%u] = ", slot, slot);
    else
        buf_printf(p->w.out, "    %s[%u] = ", e->result, slot);
    emit_value(&p->w, e->roots[root]);
    buf_puts(p->w.out, ";\n");
}

static bool is_inlined(const struct plan *p) {
    return p->w.e->form != EMIT_WHOLE && p->length <= p->w.e->inline_length;
}

static void put_within(const struct plan *p) {
    if (p->w.e->within)
        buf_puts(p->w.out, "    t = TIME_WITHIN(t, p);\n");
}

static void open_part(struct plan *p, uint32_t part) {
    const struct emit *e = p->w.e;
    p->w.now = part;
    if (e->form == EMIT_QUICK)
        buf_printf(p->w.out, "INLINE mask %s(%s) {\n    struct range range = RANGE_NEW;\n", e->name,
                   e->parameters);
    else if (p->parts == 1)
        buf_printf(p->w.out, "%s void %s(%s) {\n", is_inlined(p) ? "INLINE" : "NOINLINE", e->name,
                   e->parameters);
    else
        buf_printf(p->w.out, "%sNOINLINE void %s_%u(%s, SPACE real *s) {\n", part ? "}\n" : "",
                   e->name, part, e->parameters);
    if (p->parts == 1)
        put_within(p);
}

static void put_calls(struct plan *p) {
    const struct emit *e = p->w.e;
    buf_printf(p->w.out, "NOINLINE void %s(%s) {\n    SPACE real *s = (SPACE real *)p + NP;\n",
               e->name, e->parameters);
    put_within(p);
    for (uint32_t part = 0; part < p->parts; part++)
        buf_printf(p->w.out, "    %s_%u(%s, s);\n", e->name, part, e->arguments);
    buf_puts(p->w.out, "}\n");
}

uint32_t codegen_length(const struct emit *e, struct arena *arena) {
    return make_plan(NULL, e, arena).length;
}

uint32_t codegen_function(struct buf *out, const struct emit *e, struct arena *arena) {
    struct plan p = make_plan(out, e, arena);
    open_part(&p, 0);
    for (uint32_t i = 0; i < e->count; i++) {
        for (uint32_t k = p.start[i]; k < p.start[i + 1]; k++) {
            if (p.w.part[p.order[k]] != p.w.now)
                open_part(&p, p.w.now + 1);
            emit_statement(&p.w, p.order[k]);
        }
        if (part_of_store(&p, i) != p.w.now)
            open_part(&p, p.w.now + 1);
        put_store(&p, i);
    }
    buf_puts(out, e->form == EMIT_QUICK ? "    return range_holds(&range);\n}\n" : "}\n");
    if (p.parts > 1)
        put_calls(&p);
    return p.shared;
}
