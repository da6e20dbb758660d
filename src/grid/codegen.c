// SPDX-License-Identifier: MIT
// Writes the kernel of a plan: numbers and checks in order, and passes over cells between them.
//
// A pass computes cells of one grid. What stands behind it up to the input, or up to a grid that
// was stored by an earlier pass, is one expression: maps change the place at which it is read, so
// rows and columns are names (r3, c3) that each map makes new ones of. The same node read at the
// same place is computed once. Only reductions and whole grids end a pass; and a grid whose
// expression would become too long is stored.
//
// Names: n7 is number 7, b7 says that it is none; x7 is a cell and y7 says that it is none.
#include "grid/codegen.h"

#include "grid/rows.h"

#include <stdio.h>
#include <string.h>

enum { WEIGHT_MOST = 300, DEPTH_MOST = 200, SLOTS_MOST = 64, SCRATCH = 2, NOWHERE = -1 };

// A cell that was computed: node at a place.
struct seen {
    uint32_t node, place, id, next;
};

struct writer {
    const struct grid_plan *plan;
    struct grid_code *code;
    struct buf *text;
    struct arena *arena;
    unsigned char *needed; // [nodes]
    unsigned char *stored; // [nodes]: by a pass of its own
    int32_t *slot;         // [nodes]: of a grid that is stored; the next one has its none, if any
    uint32_t *last;        // [nodes]: the last node whose pass reads it
    unsigned char *boxed;  // [nodes]: the box of it is known
    int32_t *constant;     // [nodes]: of a number, or of a rule; -1: as it is
    uint32_t constants;
    vec(struct seen) seen; // cells of this pass
    uint32_t *bucket;      // of it
    uint32_t ids, places;
    bool has_whole;
    struct grid_rows rows; // of the result
};

enum { BUCKETS = 1024 };

static const struct grid_node *at(const struct writer *w, uint32_t n) {
    return grid_at(w->plan, n);
}
static bool is_leaf(const struct writer *w, uint32_t n) {
    enum grid_op op = (enum grid_op)at(w, n)->op;
    return w->stored[n] || (op >= GRID_IN && op <= GRID_COL);
}

// ---- What is stored -----------------------------------------------------------------------------

static void mark_needed(struct writer *w) {
    const struct grid_plan *p = w->plan;
    w->needed[p->result] = 1;
    for (uint32_t i = 0; i < p->checks.count; i++)
        w->needed[p->checks.items[i].number] = 1;
    for (uint32_t i = p->nodes.count; i-- > 0;) {
        const struct grid_node *n = at(w, i);
        for (uint32_t k = 0; w->needed[i] && k < n->args; k++)
            w->needed[n->arg[k]] = 1;
        if (w->needed[i] && n->cells)
            w->needed[n->height] = w->needed[n->width] = 1;
    }
}

// Statements of an expression, and how deep it nests.
struct weight {
    double sum;
    uint32_t depth;
};

static struct weight weigh(const struct writer *w, const struct grid_node *n,
                           const struct weight *of) {
    struct weight r = {1, 1};
    for (uint32_t k = 0; k < n->args; k++)
        if (at(w, n->arg[k])->cells) {
            r.sum += of[n->arg[k]].sum;
            r.depth = of[n->arg[k]].depth >= r.depth ? of[n->arg[k]].depth + 1 : r.depth;
        }
    return r;
}

// Of what a node is made of, that which weighs most and is not at hand already.
static uint32_t heaviest(const struct writer *w, const struct grid_node *n,
                         const struct weight *of) {
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < n->args; k++)
        if (at(w, n->arg[k])->cells && !is_leaf(w, n->arg[k]) &&
            (best == UINT32_MAX || of[n->arg[k]].sum > of[best].sum))
            best = n->arg[k];
    return best;
}

static void choose_stored(struct writer *w) {
    uint32_t count = w->plan->nodes.count;
    struct weight *of = arena_new(w->arena, struct weight, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct grid_node *n = at(w, i);
        if (!w->needed[i])
            continue;
        if (n->cells && grid_is_whole((enum grid_op)n->op))
            w->stored[i] = 1;
        of[i] = weigh(w, n, of);
        while (of[i].sum > WEIGHT_MOST || of[i].depth > DEPTH_MOST) {
            uint32_t heavy = heaviest(w, n, of);
            if (heavy == UINT32_MAX)
                break;
            w->stored[heavy] = 1;
            of[heavy] = (struct weight){1, 1};
            of[i] = weigh(w, n, of);
        }
        if (is_leaf(w, i) || !n->cells)
            of[i] = (struct weight){1, 1};
    }
}

// The node by whose pass a node is read.
static bool ends_pass(const struct writer *w, uint32_t i) {
    return w->stored[i] || !at(w, i)->cells;
}

static void find_last(struct writer *w) {
    const struct grid_plan *p = w->plan;
    w->last[p->result] = UINT32_MAX;
    for (uint32_t i = p->nodes.count; i-- > 0;) {
        uint32_t by = ends_pass(w, i) ? i : w->last[i];
        for (uint32_t k = 0; w->needed[i] && k < at(w, i)->args; k++) {
            uint32_t *last = &w->last[at(w, i)->arg[k]];
            *last = by > *last ? by : *last;
        }
    }
}

// A slot that nobody reads behind node i; `taken` says up to when each is read.
static int32_t take_slot(struct writer *w, uint32_t *taken, uint32_t i) {
    uint32_t k = w->has_whole ? SCRATCH : 0;
    while (k < w->code->slots && taken[k] >= i)
        k++;
    if (k >= SLOTS_MOST)
        return NOWHERE;
    w->code->slots = k + 1 > w->code->slots ? k + 1 : w->code->slots;
    taken[k] = w->last[i] > i ? w->last[i] : i;
    return (int32_t)k;
}

static bool is_common(enum grid_op op) { return op == GRID_MOST_COMMON || op == GRID_LEAST_COMMON; }

// A grid that fails as a whole has one flag, any other has one for every cell.
static bool has_flags(const struct grid_node *n) {
    return n->fails && !grid_is_whole((enum grid_op)n->op);
}

static bool place_slots(struct writer *w) {
    uint32_t taken[SLOTS_MOST + 1] = {0};
    for (uint32_t i = 0; i < w->plan->nodes.count; i++)
        w->has_whole |= w->needed[i] && (grid_is_whole((enum grid_op)at(w, i)->op) ||
                                         is_common((enum grid_op)at(w, i)->op));
    w->code->slots = w->has_whole ? SCRATCH : 0;
    for (uint32_t i = 0; i < w->plan->nodes.count; i++) {
        if (!w->stored[i])
            continue;
        w->slot[i] = take_slot(w, taken, i);
        if (w->slot[i] < 0)
            return false;
        if (!has_flags(at(w, i)))
            continue;
        // Flags have a slot of their own, kept as long.
        int32_t flags = take_slot(w, taken, i);
        if (flags < 0)
            return false;
        w->slot[i] |= flags << 8;
    }
    return true;
}

// ---- Constants ----------------------------------------------------------------------------------

// A number of the text is an argument, so that another one needs no other kernel. Those that the
// generator itself writes, and divisors, which a compiler can make something of, are not.
static void choose_constants(struct writer *w) {
    const struct grid_plan *p = w->plan;
    unsigned char *fixed = arena_new(w->arena, unsigned char, p->nodes.count);
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        enum grid_op op = (enum grid_op)at(w, i)->op;
        if (op == GRID_DIV || op == GRID_MOD)
            fixed[at(w, i)->arg[1]] = 1;
    }
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        const struct grid_node *n = at(w, i);
        bool number = n->op == GRID_NUMBER && !fixed[i] && (n->value < -1 || n->value > 2);
        w->constant[i] = -1;
        if (!w->needed[i] || !(number || n->op == GRID_STEP) || w->constants == GRID_CONSTANTS)
            continue;
        w->code->constant[w->constants] = n->value;
        w->constant[i] = (int32_t)w->constants++;
    }
}

static void put_constant(struct writer *w, uint32_t i) {
    if (w->constant[i] >= 0)
        buf_printf(w->text, "a->given[%d]", w->constant[i]);
    else if (at(w, i)->value == INT32_MIN)
        buf_puts(w->text, "(-2147483647 - 1)");
    else
        buf_printf(w->text, "%d", at(w, i)->value);
}

// ---- Cells --------------------------------------------------------------------------------------

static const char *const functions[GRID_OP_COUNT] = {
    [GRID_NEG] = "c_neg",   [GRID_NOT] = "c_not", [GRID_ADD] = "c_add", [GRID_SUB] = "c_sub",
    [GRID_MUL] = "c_mul",   [GRID_DIV] = "c_div", [GRID_MOD] = "c_mod", [GRID_LEAST] = "c_least",
    [GRID_MOST] = "c_most", [GRID_EQ] = "c_eq",   [GRID_NE] = "c_ne",   [GRID_LT] = "c_lt",
    [GRID_LE] = "c_le",     [GRID_AND] = "c_and", [GRID_OR] = "c_or",   [GRID_SELECT] = "c_select"};

static uint32_t *find_seen(struct writer *w, uint32_t node, uint32_t place) {
    uint32_t h = ((node * 0x9e3779b1u ^ place) * 0x85ebca6bu) >> 22;
    for (uint32_t i = w->bucket[h]; i; i = w->seen.items[i - 1].next)
        if (w->seen.items[i - 1].node == node && w->seen.items[i - 1].place == place)
            return &w->seen.items[i - 1].id;
    struct seen s = {node, place, UINT32_MAX, w->bucket[h]};
    *vec_push(w->arena, &w->seen) = s;
    w->bucket[h] = w->seen.count;
    return &w->seen.items[w->seen.count - 1].id;
}

static void begin_pass(struct writer *w) {
    w->seen.count = 0;
    memset(w->bucket, 0, BUCKETS * sizeof *w->bucket);
    w->ids = 0;
    w->places = 1;
    w->code->passes++;
}

static uint32_t put_cell(struct writer *w, uint32_t n, uint32_t place);

// A value and whether it is none, as text: of a number, or of a cell at a place.
struct name {
    char value[16], none[16];
};

static struct name name_of(struct writer *w, uint32_t n, uint32_t place) {
    struct name r = {"", "0"};
    bool cells = at(w, n)->cells;
    uint32_t id = cells ? put_cell(w, n, place) : n;
    snprintf(r.value, sizeof r.value, "%c%u", cells ? 'x' : 'n', id);
    if (at(w, n)->fails)
        snprintf(r.none, sizeof r.none, "%c%u", cells ? 'y' : 'b', id);
    return r;
}

// Whether a value of these is none; AND, OR and SELECT look only where they must.
static void put_none(struct writer *w, const struct grid_node *n, const struct name a[3]) {
    struct buf *t = w->text;
    if (n->op == GRID_SELECT)
        buf_printf(t, "%s | (%s ? %s : %s)", a[0].none, a[0].value, a[1].none, a[2].none);
    else if (n->op == GRID_AND)
        buf_printf(t, "%s | (%s ? %s : 0)", a[0].none, a[0].value, a[1].none);
    else if (n->op == GRID_OR)
        buf_printf(t, "%s | (%s ? 0 : %s)", a[0].none, a[0].value, a[1].none);
    else if (n->args == 1)
        buf_puts(t, a[0].none);
    else
        buf_printf(t, "%s | %s", a[0].none, a[1].none);
    if ((n->op == GRID_DIV || n->op == GRID_MOD) && !n->value)
        buf_printf(t, " | (%s == 0)", a[1].value);
}

static void put_combined(struct writer *w, const struct grid_node *n, const struct name a[3],
                         const char *letters, uint32_t id) {
    buf_printf(w->text, "const int %c%u = %s(%s", letters[0], id, functions[n->op], a[0].value);
    for (uint32_t k = 1; k < n->args; k++)
        buf_printf(w->text, ", %s", a[k].value);
    buf_puts(w->text, ");\n");
    if (!n->fails)
        return;
    buf_printf(w->text, "const int %c%u = ", letters[1], id);
    put_none(w, n, a);
    buf_puts(w->text, ";\n");
}

// Where a map reads: names of a new place. What lies outside is read at 0, 0, and `o` is 0 there.
static void put_place(struct writer *w, const struct grid_node *n, uint32_t from, uint32_t to) {
    struct buf *t = w->text;
    uint32_t h = at(w, n->arg[0])->height, x = at(w, n->arg[0])->width;
    bool other = n->value & GRID_TRANSPOSE;
    switch ((int)n->op) {
    case GRID_TURN:
        buf_printf(t, "const int r%u = ", to);
        if (n->value & GRID_FLIP_ROWS)
            buf_printf(t, "n%u - 1 - ", h);
        buf_printf(t, "%c%u, c%u = ", other ? 'c' : 'r', from, to);
        if (n->value & GRID_FLIP_COLS)
            buf_printf(t, "n%u - 1 - ", x);
        buf_printf(t, "%c%u;\n", other ? 'r' : 'c', from);
        return;
    case GRID_SHIFT:
    case GRID_AT:
        buf_printf(t, "int r%u = border_place(r%u, %d, n%u, n%u, %d), ", to, from,
                   n->op == GRID_AT ? 1 : -1, n->arg[1], h, n->border);
        buf_printf(t, "c%u = border_place(c%u, %d, n%u, n%u, %d);\n", to, from,
                   n->op == GRID_AT ? 1 : -1, n->arg[2], x, n->border);
        break;
    case GRID_CROP:
        buf_printf(t, "const int r%u = r%u + n%u, c%u = c%u + n%u;\n", to, from, n->arg[1], to,
                   from, n->arg[2]);
        return;
    case GRID_PAD:
        buf_printf(t, "int r%u = r%u - n%u, c%u = c%u - n%u;\n", to, from, n->arg[1], to, from,
                   n->arg[1]);
        break;
    case GRID_TILE:
        buf_printf(t, "const int r%u = r%u %% n%u, c%u = c%u %% n%u;\n", to, from, h, to, from, x);
        return;
    case GRID_UPSCALE:
    case GRID_DOWNSCALE: {
        char sign = n->op == GRID_UPSCALE ? '/' : '*';
        buf_printf(t, "const int r%u = r%u %c n%u, c%u = c%u %c n%u;\n", to, from, sign, n->arg[1],
                   to, from, sign, n->arg[1]);
        return;
    }
    }
    buf_printf(t, "const int o%u = r%u >= 0 && c%u >= 0 && r%u < n%u && c%u < n%u;\n", to, to, to,
               to, h, to, x);
    buf_printf(t, "r%u = o%u ? r%u : 0;\nc%u = o%u ? c%u : 0;\n", to, to, to, to, to, to);
}

static bool has_outside(enum grid_op op) {
    return op == GRID_SHIFT || op == GRID_AT || op == GRID_PAD;
}

static void put_map(struct writer *w, const struct grid_node *n, uint32_t from, uint32_t id) {
    struct buf *t = w->text;
    uint32_t to = w->places++;
    put_place(w, n, from, to);
    struct name v = name_of(w, n->arg[0], to), out = {"0", "0"};
    if (n->op == GRID_PAD)
        out = name_of(w, n->arg[2], 0);
    bool outside = has_outside((enum grid_op)n->op);
    if (outside)
        buf_printf(t, "const int x%u = o%u ? %s : %s;\n", id, to, v.value, out.value);
    else
        buf_printf(t, "const int x%u = %s;\n", id, v.value);
    if (!n->fails)
        return;
    buf_printf(t, "const int y%u = ", id);
    if (outside)
        buf_printf(t, "(o%u ? %s : %s)", to, v.none, out.none);
    else
        buf_puts(t, v.none);
    for (uint32_t k = 1; k < 3 && (n->op == GRID_AT || n->op == GRID_SHIFT); k++)
        buf_printf(t, " | %s", name_of(w, n->arg[k], 0).none);
    buf_puts(t, ";\n");
}

// Both sides are read, each at a place inside of it.
static void put_concat(struct writer *w, const struct grid_node *n, uint32_t from, uint32_t id) {
    struct buf *t = w->text;
    bool side = n->op == GRID_HCONCAT;
    uint32_t to = w->places++, to2 = w->places++;
    uint32_t a = n->arg[0], b = n->arg[1], h = at(w, a)->height, x = at(w, a)->width;
    char same = side ? 'r' : 'c', other = side ? 'c' : 'r';
    buf_printf(t, "const int o%u = %c%u < n%u;\n", to, other, from, side ? x : h);
    buf_printf(t, "const int %c%u = %c%u, %c%u = %c%u;\n", same, to, same, from, same, to2, same,
               from);
    buf_printf(t, "const int %c%u = o%u ? %c%u : 0, %c%u = o%u ? 0 : %c%u - n%u;\n", other, to, to,
               other, from, other, to2, to, other, from, side ? x : h);
    struct name va = name_of(w, a, to), vb = name_of(w, b, to2);
    buf_printf(t, "const int x%u = o%u ? %s : %s;\n", id, to, va.value, vb.value);
    if (n->fails)
        buf_printf(t, "const int y%u = o%u ? %s : %s;\n", id, to, va.none, vb.none);
}

static void put_stored(struct writer *w, uint32_t node, uint32_t place, uint32_t id) {
    const struct grid_node *n = at(w, node);
    buf_printf(w->text, "const int x%u = s%u[r%u * n%u + c%u];\n", id, node, place, n->width,
               place);
    if (n->fails && has_flags(n))
        buf_printf(w->text, "const int y%u = f%u[r%u * n%u + c%u];\n", id, node, place, n->width,
                   place);
    else if (n->fails)
        buf_printf(w->text, "const int y%u = b%u;\n", id, node);
}

static void put_expression(struct writer *w, uint32_t node, uint32_t place, uint32_t id) {
    const struct grid_node *n = at(w, node);
    struct name a[3] = {{"", "0"}, {"", "0"}, {"", "0"}};
    switch ((int)n->op) {
    case GRID_IN:
        buf_printf(w->text, "const int x%u = g.in[r%u * n%u + c%u];\n", id, place, n->width, place);
        return;
    case GRID_VOID:
        buf_printf(w->text, "const int x%u = 0;\n", id);
        return;
    case GRID_ROW:
        buf_printf(w->text, "const int x%u = r%u;\n", id, place);
        return;
    case GRID_COL:
        buf_printf(w->text, "const int x%u = c%u;\n", id, place);
        return;
    case GRID_HCONCAT:
    case GRID_VCONCAT:
        put_concat(w, n, place, id);
        return;
    }
    if (grid_is_map((enum grid_op)n->op)) {
        put_map(w, n, place, id);
        return;
    }
    for (uint32_t k = 0; k < n->args; k++)
        a[k] = name_of(w, n->arg[k], place);
    put_combined(w, n, a, "xy", id);
}

// The number of the variable that holds a cell at a place.
static uint32_t put_cell(struct writer *w, uint32_t n, uint32_t place) {
    uint32_t known = *find_seen(w, n, place);
    if (known != UINT32_MAX)
        return known;
    uint32_t id = w->ids++;
    if (w->stored[n])
        put_stored(w, n, place, id);
    else
        put_expression(w, n, place, id);
    *find_seen(w, n, place) = id;
    return id;
}

// ---- Passes -------------------------------------------------------------------------------------

static void open_loop(struct writer *w, uint32_t grid, const char *loop) {
    begin_pass(w);
    buf_printf(w->text, "%s(n%u, n%u) {\n", loop, at(w, grid)->height, at(w, grid)->width);
}

static void open_pass(struct writer *w, uint32_t grid) {
    open_loop(w, grid, w->code->blocks ? "EACH_CELL_OF_TEAM" : "EACH_CELL");
}

// Whatever the threads of a block found, each in the cells that are its own, is one number.
static void put_fold(struct writer *w, const char *how, char letter, uint32_t number) {
    if (w->code->blocks)
        buf_printf(w->text, "%c%u = team_%s(&g, %c%u);\n", letter, number, how, letter, number);
}

static void slot_name(struct writer *w, char letter, uint32_t node, int32_t slot) {
    buf_printf(w->text, "GLOBAL int *const %c%u = g.store + %d * a->most;\n", letter, node, slot);
}

// The value of a grid that is stored, by the expression that makes it.
static void put_store(struct writer *w, uint32_t node) {
    const struct grid_node *n = at(w, node);
    slot_name(w, 's', node, w->slot[node] & 255);
    if (has_flags(n))
        slot_name(w, 'f', node, w->slot[node] >> 8);
    open_pass(w, node);
    uint32_t id = w->ids++;
    put_expression(w, node, 0, id);
    buf_printf(w->text, "s%u[r0 * n%u + c0] = x%u;\n", node, n->width, id);
    if (has_flags(n))
        buf_printf(w->text, "f%u[r0 * n%u + c0] = y%u;\n", node, n->width, id);
    buf_puts(w->text, w->code->blocks ? "}\nblock_barrier();\n" : "}\n");
}

// Whether a block has room in its own memory for what a node needs: k is 1 then.
static void put_fits(struct writer *w, uint32_t node) {
    const struct grid_node *n = at(w, node);
    uint32_t h = at(w, n->arg[0])->height, x = at(w, n->arg[0])->width;
    buf_printf(w->text, "const int k%u = n%u * n%u <= (int)a->shared", node, h, x);
    if (n->op == GRID_STEP)
        buf_printf(w->text, " && GRID_STEP_CELLS(n%u, n%u) <= (int)a->shared", h, x);
    if (n->op == GRID_HISTOGRAM)
        buf_printf(w->text, " && n%u <= (int)a->shared", n->arg[1]);
    buf_puts(w->text, ";\n");
}

// A grid in the first scratch slot, for a function that needs it whole; whether one is none.
static void put_scratch(struct writer *w, uint32_t node, uint32_t grid) {
    bool fails = at(w, grid)->fails;
    uint32_t width = at(w, grid)->width;
    if (fails)
        buf_printf(w->text, "int b%u = 0;\n", node);
    if (w->code->blocks)
        put_fits(w, node);
    open_pass(w, grid);
    struct name v = name_of(w, grid, 0);
    if (w->code->blocks)
        buf_printf(w->text, "if (k%u)\ng.cells[r0 * n%u + c0] = %s;\nelse\n", node, width, v.value);
    buf_printf(w->text, "g.store[r0 * n%u + c0] = %s;\n", width, v.value);
    if (fails)
        buf_printf(w->text, "b%u |= %s;\n", node, v.none);
    buf_puts(w->text, "}\n");
    if (fails)
        put_fold(w, "most", 'b', node);
}

// What a function needs besides the grid and room as large as it.
static void put_arguments(struct writer *w, uint32_t node) {
    const struct grid_node *n = at(w, node);
    uint32_t h = at(w, n->arg[0])->height, x = at(w, n->arg[0])->width;
    struct buf *t = w->text;
    if (is_common((enum grid_op)n->op)) {
        buf_printf(t, "n%u * n%u, %d);\n", h, x, n->op == GRID_MOST_COMMON ? 1 : -1);
        return;
    }
    if (n->op == GRID_HISTOGRAM) {
        buf_printf(t, "s%u, n%u * n%u, n%u);\n", node, h, x, n->arg[1]);
        return;
    }
    buf_printf(t, "s%u, n%u, n%u, ", node, h, x);
    if (n->op == GRID_FLOOD) {
        buf_printf(t, "n%u, n%u);\n", n->arg[1], n->arg[2]);
    } else if (n->op == GRID_STEP) {
        put_constant(w, node);
        buf_printf(t, ", n%u, %d, stop);\n", n->arg[1], n->border);
    } else {
        buf_printf(t, "%d);\n", n->op == GRID_LABEL8 || n->op == GRID_SIZE8);
    }
}

// Calls a function of whole.h; a block calls the one of room.h, for either memory.
static void put_call(struct writer *w, uint32_t node, const char *to) {
    static const char *const names[GRID_OP_COUNT] = {
        [GRID_MOST_COMMON] = "common", [GRID_LEAST_COMMON] = "common",
        [GRID_LABEL4] = "label",       [GRID_LABEL8] = "label",
        [GRID_SIZE4] = "size",         [GRID_SIZE8] = "size",
        [GRID_FLOOD] = "flood",        [GRID_STEP] = "step",
        [GRID_HISTOGRAM] = "histogram"};
    const char *name = names[at(w, node)->op];
    if (!w->code->blocks) {
        bool room = at(w, node)->op != GRID_HISTOGRAM;
        buf_printf(w->text, "%swhole_%s(g.store, %s", to, name, room ? "g.store + a->most, " : "");
        put_arguments(w, node);
        return;
    }
    buf_printf(w->text, "if (k%u)\n%sblock_%s_local(&g, g.cells, g.cells + a->shared, ", node, to,
               name);
    put_arguments(w, node);
    buf_printf(w->text, "else\n%sblock_%s_global(&g, g.store, g.store + a->most, ", to, name);
    put_arguments(w, node);
}

static void put_whole(struct writer *w, uint32_t node) {
    slot_name(w, 's', node, w->slot[node]);
    put_scratch(w, node, at(w, node)->arg[0]);
    put_call(w, node, "");
}

static void put_box(struct writer *w, uint32_t node) {
    const struct grid_node *n = at(w, node);
    uint32_t grid = n->arg[0];
    struct buf *t = w->text;
    if (!w->boxed[grid]) {
        w->boxed[grid] = 1;
        buf_printf(t, "int t%u = n%u, l%u = n%u, d%u = -1, e%u = -1, m%u = 0;\n", grid,
                   at(w, grid)->height, grid, at(w, grid)->width, grid, grid, grid);
        open_pass(w, grid);
        struct name v = name_of(w, grid, 0);
        buf_printf(t, "if (%s) {\nt%u = c_least(t%u, r0);\nd%u = c_most(d%u, r0);\n", v.value, grid,
                   grid, grid, grid);
        buf_printf(t, "l%u = c_least(l%u, c0);\ne%u = c_most(e%u, c0);\n}\n", grid, grid, grid,
                   grid);
        buf_printf(t, "m%u |= %s;\n}\n", grid, v.none);
        if (w->code->blocks)
            buf_printf(t, "team_box(&g, &t%u, &l%u, &d%u, &e%u);\n", grid, grid, grid, grid);
        if (at(w, grid)->fails)
            put_fold(w, "most", 'm', grid);
    }
    bool row = n->op == GRID_BOX_ROW || n->op == GRID_BOX_HEIGHT, side = n->op >= GRID_BOX_HEIGHT;
    char first = row ? 't' : 'l', last = row ? 'd' : 'e';
    if (side)
        buf_printf(t, "const int n%u = d%u < 0 ? 0 : %c%u - %c%u + 1;\n", node, grid, last, grid,
                   first, grid);
    else
        buf_printf(t, "const int n%u = d%u < 0 ? 0 : %c%u;\n", node, grid, first, grid);
    if (n->fails)
        buf_printf(t, "const int b%u = m%u;\n", node, grid);
}

static void put_reduction(struct writer *w, uint32_t node) {
    const struct grid_node *n = at(w, node);
    uint32_t grid = n->arg[0];
    struct buf *t = w->text;
    if (is_common((enum grid_op)n->op)) {
        char to[24];
        put_scratch(w, node, grid);
        snprintf(to, sizeof to, "n%u = ", node);
        buf_printf(t, "int n%u;\n", node);
        put_call(w, node, to);
        return;
    }
    const char *start = n->op == GRID_SUM   ? "0"
                        : n->op == GRID_MIN ? "2147483647"
                                            : "(-2147483647 - 1)";
    const char *function = n->op == GRID_SUM ? "add" : n->op == GRID_MIN ? "least" : "most";
    buf_printf(t, "int n%u = %s;\n", node, start);
    if (n->fails)
        buf_printf(t, "int b%u = 0;\n", node);
    open_pass(w, grid);
    struct name v = name_of(w, grid, 0);
    buf_printf(t, "n%u = c_%s(n%u, %s);\n", node, function, node, v.value);
    if (n->fails)
        buf_printf(t, "b%u |= %s;\n", node, v.none);
    buf_puts(t, "}\n");
    put_fold(w, function, 'n', node);
    if (n->fails)
        put_fold(w, "most", 'b', node);
}

static void put_result(struct writer *w) {
    const struct grid_node *n = at(w, w->plan->result);
    struct buf *t = w->text;
    buf_printf(t, "if (g.first == 0) {\ng.shape[0] = n%u;\ng.shape[1] = n%u;\n}\n", n->height,
               n->width);
    buf_puts(t, "if (a->shapes_only)\nreturn GRID_STATUS_OK;\nint wide = 0;\n");
    if (w->rows.fit) {
        w->rows.turns = w->code->passes++ ? 0 : w->rows.turns;
        grid_rows_put(w->plan, &w->rows, t, w->arena);
        buf_puts(t, "if (wide)\ng.status[2] = 1;\nreturn GRID_STATUS_OK;\n");
        return;
    }
    buf_puts(t, "int none = 0;\n");
    open_loop(w, w->plan->result, "EACH_CELL_OF_TEAM");
    struct name v = name_of(w, w->plan->result, 0);
    buf_printf(t, "g.out[r0 * n%u + c0] = (OUT_T)%s;\n", n->width, v.value);
    buf_printf(t, "wide |= %s < OUT_LEAST || %s > OUT_MOST;\n", v.value, v.value);
    buf_printf(t, "none |= %s;\n}\n", v.none);
    buf_puts(t, "if (none)\ng.status[1] = 1;\nif (wide)\ng.status[2] = 1;\n");
    buf_puts(t, "return GRID_STATUS_OK;\n");
}

// ---- The body -----------------------------------------------------------------------------------

static void put_number(struct writer *w, uint32_t i) {
    const struct grid_node *n = at(w, i);
    struct name a[3] = {{"", "0"}, {"", "0"}, {"", "0"}};
    if (n->op == GRID_NUMBER) {
        buf_printf(w->text, "const int n%u = ", i);
        put_constant(w, i);
        buf_puts(w->text, ";\n");
    } else if (n->op == GRID_IN_HEIGHT || n->op == GRID_IN_WIDTH) {
        buf_printf(w->text, "const int n%u = g.%s;\n", i,
                   n->op == GRID_IN_HEIGHT ? "height" : "width");
    } else if (n->op >= GRID_BOX_ROW && n->op <= GRID_BOX_WIDTH) {
        put_box(w, i);
    } else if (grid_is_reduction((enum grid_op)n->op)) {
        put_reduction(w, i);
    } else {
        for (uint32_t k = 0; k < n->args; k++)
            a[k] = name_of(w, n->arg[k], 0);
        put_combined(w, n, a, "nb", i);
    }
}

static void put_check(struct writer *w, const struct grid_check *c) {
    static const char *const names[] = {
#define GRID_STATUS_TEXT(name, word, text) #name,
        GRID_STATUS(GRID_STATUS_TEXT)};
    if (at(w, c->number)->fails)
        buf_printf(w->text, "if (b%u)\nreturn GRID_STATUS_DIVISION;\n", c->number);
    buf_printf(w->text, "if (!n%u)\nreturn GRID_STATUS_%s;\n", c->number, names[c->status]);
}

static void put_body(struct writer *w) {
    const struct grid_plan *p = w->plan;
    uint32_t c = 0;
    buf_puts(w->text, "INLINE int grid_body(const struct grid_args *a, struct grid_row g,\n"
                      "const volatile GLOBAL int *stop, const int windows) {\n");
    for (uint32_t i = 0; i <= p->nodes.count; i++) {
        for (; c < p->checks.count && p->checks.items[c].before == i; c++)
            put_check(w, &p->checks.items[c]);
        if (i == p->nodes.count || !w->needed[i])
            continue;
        if (!at(w, i)->cells)
            put_number(w, i);
        else if (grid_is_whole((enum grid_op)at(w, i)->op))
            put_whole(w, i);
        else if (w->stored[i])
            put_store(w, i);
    }
    put_result(w);
    buf_puts(w->text, "}\n");
}

// ---- The text -----------------------------------------------------------------------------------

static void put_types(struct kernel_source *s, const struct grid_target *target) {
#define GRID_C_TYPE(name, word, ctype, least, most) {#ctype, #least, #most},
    static const char *const types[][3] = {GRID_TYPES(GRID_C_TYPE)};
    static const char *const bytes[] = {"1", "2", "4"};
    const char *const *out = types[target->out];
    buf_printf(&s->text, "#define W 1\n#define F32 1\n");
    buf_printf(&s->text, "#define IN_T %s\n#define IN_BYTES %s\n#define OUT_T %s\n",
               types[target->in][0], bytes[target->in], out[0]);
    buf_printf(&s->text, "#define OUT_BYTES %s\n#define OUT_LEAST (%s)\n#define OUT_MOST %s\n",
               bytes[target->out], out[1], out[2]);
}

static void put_files(struct kernel_source *s, const char *const *names) {
    for (; *names; names++)
        kernel_source_file(s, "grid", *names);
}

// The text of room.h, for both memories of a block.
static void put_rooms(struct kernel_source *s) {
    static const char *const rooms[][2] = {{"LOCAL", "local"}, {"GLOBAL", "global"}};
    kernel_source_file(s, "grid", "block.h");
    for (int i = 0; i < 2; i++) {
        buf_printf(&s->text, "#undef ROOM\n#define ROOM %s\n", rooms[i][0]);
        buf_printf(&s->text, "#undef IN_ROOM\n#define IN_ROOM(name) name##_%s\n", rooms[i][1]);
        kernel_source_file(s, "grid", "room.h");
    }
}

static void put_common(struct kernel_source *s, const struct grid_target *target, bool blocks) {
    static const char *const first[] = {"head.h", "abi.h", "cells.h", "bits.h", NULL};
    s->one_unit = true;
    kernel_component_begin(s, "prelude", "");
    put_types(s, target);
    kernel_source_prelude(s, target->target);
    kernel_component_end(s);
    kernel_component_begin(s, "cells", "prelude");
    put_files(s, first);
    if (!target->target->blocks)
        kernel_source_file(s, "grid", "whole.h");
    kernel_source_file(s, "grid", "row.h");
    if (blocks)
        put_rooms(s);
    kernel_component_end(s);
}

void grid_entry(uint32_t number, uint32_t count, char name[GRID_ENTRY_ROOM]) {
    if (count == 1)
        snprintf(name, GRID_ENTRY_ROOM, "shoal_grid");
    else
        snprintf(name, GRID_ENTRY_ROOM, "shoal_grid_%u", number);
}

// Names that each pipeline of a text has for itself.
static void put_names(struct buf *text, uint32_t number) {
    static const char *const names[] = {"grid_body", "grid_one",   "grid_run",
                                        "grid_all",  "block_take", "shoal_grid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        buf_printf(text, "#undef %s\n#define %s %s_%u\n", names[i], names[i], names[i], number);
    buf_printf(text,
               "#undef shoal_grid_workspace\n#define shoal_grid_workspace "
               "shoal_grid_%u_workspace\n#undef SLOTS\n#undef PLANES\n#undef FLAT\n#undef "
               "TURNS\n#undef BLOCKS\n",
               number);
}

// Lanes as narrow as all plans allow, and vectors as wide as a register.
static void put_lanes(struct kernel_source *s, const struct grid_target *t, const struct writer *w,
                      uint32_t count) {
    static const char *const types[][2] = {[1] = {"unsigned char", "unsigned char"},
                                           [2] = {"short", "unsigned short"},
                                           [4] = {"int", "unsigned int"}};
    uint32_t wide = t->target->lanes64 > 1 ? 8 * t->target->lanes64 : 16, bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes = w[i].rows.fit && w[i].rows.bytes > bytes ? w[i].rows.bytes : bytes;
    if (!bytes)
        return;
    buf_printf(&s->text, "#define LANE %s\n#define ULANE %s\n#define LANE_BYTES %u\n",
               types[bytes][0], types[bytes][1], bytes);
    buf_printf(&s->text, "#define V %u\n", wide / bytes);
    kernel_source_file(s, "grid", "vector.h");
}

// All that is decided before anything is written. False: too many grids are stored.
static bool prepare(struct writer *w, const struct grid_target *t) {
    uint32_t count = w->plan->nodes.count;
    w->needed = arena_new(w->arena, unsigned char, count);
    w->stored = arena_new(w->arena, unsigned char, count);
    w->boxed = arena_new(w->arena, unsigned char, count);
    w->slot = arena_new(w->arena, int32_t, count);
    w->last = arena_new(w->arena, uint32_t, count);
    w->constant = arena_new(w->arena, int32_t, count);
    w->bucket = arena_new(w->arena, uint32_t, BUCKETS);
    *w->code = (struct grid_code){0};
    mark_needed(w);
    choose_stored(w);
    find_last(w);
    choose_constants(w);
    if (!place_slots(w))
        return false;
    w->code->whole = w->has_whole;
    for (uint32_t i = 0; i < count; i++)
        w->code->blocks |= t->target->blocks && w->needed[i] &&
                           (w->stored[i] || grid_is_reduction((enum grid_op)at(w, i)->op));
    if (!t->target->device)
        w->rows = grid_rows_of(w->plan, w->stored, t->in, t->out, w->arena);
    return true;
}

static void write_plan(struct writer *w, struct kernel_source *s) {
    buf_printf(w->text,
               "#define SLOTS %uu\n#define PLANES %uu\n#define FLAT %d\n#define BLOCKS %d\n",
               w->code->slots, w->rows.fit ? w->rows.planes : 0, w->rows.flat, w->code->blocks);
    put_body(w);
    w->code->one_pass = w->code->passes == 1;
    buf_printf(w->text, "#define TURNS %uu\n", w->rows.turns);
    w->code->vectors = w->rows.fit;
    kernel_source_file(s, "grid", "entry.h");
}

static bool write_all(const struct grid_plan *const *plans, uint32_t count,
                      const struct grid_target *t, struct grid_code *codes,
                      struct kernel_source *out, struct arena *arena) {
    struct writer *w = arena_new(arena, struct writer, count);
    bool blocks = false;
    for (uint32_t i = 0; i < count; i++) {
        w[i] = (struct writer){
            .plan = plans[i], .code = &codes[i], .text = &out->text, .arena = arena};
        if (!prepare(&w[i], t))
            return false;
        blocks |= codes[i].blocks;
    }
    put_common(out, t, blocks);
    kernel_component_begin(out, "pipeline", "cells");
    put_lanes(out, t, w, count);
    for (uint32_t i = 0; i < count; i++) {
        if (count > 1)
            put_names(&out->text, i);
        write_plan(&w[i], out);
    }
    kernel_component_end(out);
    return true;
}

bool grid_codegen(const struct grid_plan *const *plans, uint32_t count, const struct grid_target *t,
                  struct grid_code *codes, struct kernel_source *out) {
    jmp_buf oom;
    struct arena arena = {.oom = &oom};
    volatile bool done = true;
    if (!setjmp(oom))
        done = write_all(plans, count, t, codes, out, &arena);
    else
        out->text.failed = true;
    arena_free(&arena);
    return done;
}
