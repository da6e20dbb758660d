// SPDX-License-Identifier: MIT
// Which passes vectors can make, and their text.
//
// A turn is pushed down to the input, so that a pass reads planes: the input in one of its eight
// positions, with or without a border. Conditions are masks (m7) until somebody wants the number
// (x7). A grid is one run of cells: only columns and neighbours ask where in its row a cell is.
#include "grid/rows.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

enum { TURNS = 8, BORDERS = 3 };

struct interval {
    int64_t least, most;
};

struct rows {
    const struct grid_plan *plan;
    const unsigned char *stored;
    struct interval *range; // [nodes]
    unsigned char *seen;    // [nodes][TURNS]: 1 looked at, 2 a number of it is there, 4 a mask
    struct interval all;    // of every value but the result's
    struct buf *text;
    int32_t plane[TURNS][1 + BORDERS]; // number of each, plus one; the first has no border
    uint32_t planes;
    bool lines; // it asks for columns or rows
    bool grids; // something is different for other grids of the same shape, or other places
};

static const struct grid_node *at(const struct rows *w, uint32_t n) { return grid_at(w->plan, n); }

// ---- How large values are -----------------------------------------------------------------------

static const struct interval any = {INT32_MIN, INT32_MAX};

// What leaves 32 bits wraps, and may be anything then.
static struct interval wrapped(int64_t least, int64_t most) {
    return least < INT32_MIN || most > INT32_MAX ? any : (struct interval){least, most};
}

static int64_t low(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t high(int64_t a, int64_t b) { return a > b ? a : b; }

static struct interval product(struct interval a, struct interval b) {
    int64_t p = a.least * b.least, q = a.least * b.most, r = a.most * b.least, s = a.most * b.most;
    return wrapped(low(low(p, q), low(r, s)), high(high(p, q), high(r, s)));
}

static struct interval cellwise_range(const struct grid_node *n, struct interval a,
                                      struct interval b, struct interval c) {
    switch ((int)n->op) {
    case GRID_NEG:
        return wrapped(-a.most, -a.least);
    case GRID_ADD:
        return wrapped(a.least + b.least, a.most + b.most);
    case GRID_SUB:
        return wrapped(a.least - b.most, a.most - b.least);
    case GRID_MUL:
        return product(a, b);
    case GRID_LEAST:
        return (struct interval){low(a.least, b.least), low(a.most, b.most)};
    case GRID_MOST:
        return (struct interval){high(a.least, b.least), high(a.most, b.most)};
    case GRID_SELECT:
        return (struct interval){low(b.least, c.least), high(b.most, c.most)};
    case GRID_DIV:
    case GRID_MOD:
        return any;
    default:
        return (struct interval){0, 1};
    }
}

static struct interval range_of(const struct rows *w, uint32_t i, enum grid_type in) {
#define GRID_LIMITS(name, word, ctype, least, most) {least, most},
    static const struct interval types[] = {GRID_TYPES(GRID_LIMITS)};
    const struct grid_node *n = at(w, i);
    const struct interval *of = w->range;
    if (grid_is_cellwise((enum grid_op)n->op))
        return cellwise_range(n, of[n->arg[0]], of[n->arg[1]], of[n->arg[2]]);
    switch ((int)n->op) {
    case GRID_NUMBER:
        return (struct interval){n->value, n->value};
    case GRID_IN_HEIGHT:
    case GRID_IN_WIDTH:
        return (struct interval){1, GRID_SIDE_MOST};
    case GRID_IN:
        return types[in];
    case GRID_VOID:
        return (struct interval){0, 0};
    case GRID_ROW:
    case GRID_COL:
        return (struct interval){0, GRID_SIDE_MOST - 1};
    case GRID_TURN:
        return of[n->arg[0]];
    case GRID_AT:
        return (struct interval){low(of[n->arg[0]].least, 0), high(of[n->arg[0]].most, 0)};
    default:
        return any;
    }
}

// ---- What can be done ---------------------------------------------------------------------------

static bool is_condition(enum grid_op op) {
    return op == GRID_NOT || (op >= GRID_EQ && op <= GRID_OR);
}

static bool is_near(const struct rows *w, uint32_t number) {
    const struct grid_node *n = at(w, number);
    return n->op == GRID_NUMBER && n->value >= -1 && n->value <= 1;
}

static void note_range(struct rows *w, uint32_t n) {
    w->all.least = low(w->all.least, w->range[n].least);
    w->all.most = high(w->all.most, w->range[n].most);
}

static bool within(struct interval a, int64_t least, int64_t most) {
    return a.least >= least && a.most <= most;
}

static bool is_turned_input(const struct rows *w, uint32_t n) {
    return at(w, n)->op == GRID_IN ||
           (at(w, n)->op == GRID_TURN && at(w, at(w, n)->arg[0])->op == GRID_IN);
}

// The number of a plane: the input turned, with a border (0: none).
static int32_t plane_of(struct rows *w, int32_t code, uint32_t border) {
    int32_t *plane = &w->plane[code][border];
    if (border)
        plane_of(w, code, 0);
    if (!*plane)
        *plane = (int32_t)++w->planes;
    return *plane - 1;
}

// That of a neighbour.
static int32_t near_plane(struct rows *w, const struct grid_node *n) {
    const struct grid_node *from = at(w, n->arg[0]);
    return plane_of(w, from->op == GRID_IN ? 0 : from->value, 1u + n->border);
}

static bool can_do(struct rows *w, uint32_t node, int32_t code);

static bool can_combine(struct rows *w, const struct grid_node *n, int32_t code) {
    if (n->op == GRID_DIV || n->op == GRID_MOD)
        return false;
    for (uint32_t k = 0; k < n->args; k++) {
        note_range(w, n->arg[k]);
        w->grids |= !at(w, n->arg[k])->cells && at(w, n->arg[k])->op != GRID_NUMBER;
        if (at(w, n->arg[k])->cells && !can_do(w, n->arg[k], code))
            return false;
    }
    return true;
}

static bool can_do(struct rows *w, uint32_t node, int32_t code) {
    const struct grid_node *n = at(w, node);
    if (w->stored[node] || n->fails)
        return false;
    if (w->seen[node * TURNS + (uint32_t)code])
        return true;
    w->seen[node * TURNS + (uint32_t)code] = 1;
    if (node != w->plan->result)
        note_range(w, node);
    if (grid_is_cellwise((enum grid_op)n->op))
        return can_combine(w, n, code);
    w->grids |= n->op != GRID_IN;
    switch ((int)n->op) {
    case GRID_IN:
        plane_of(w, code, 0);
        return true;
    case GRID_VOID:
    case GRID_ROW:
    case GRID_COL:
        return code == 0;
    case GRID_TURN:
        return can_do(w, n->arg[0], grid_turn_twice(code, n->value));
    case GRID_AT:
        if (code || !is_near(w, n->arg[1]) || !is_near(w, n->arg[2]) ||
            !is_turned_input(w, n->arg[0]))
            return false;
        near_plane(w, n);
        return true;
    default:
        return false;
    }
}

static void begin(struct rows *w, const struct grid_plan *p, struct arena *arena) {
    *w = (struct rows){.plan = p};
    w->seen = arena_new(arena, unsigned char, p->nodes.count *TURNS);
    w->range = arena_new(arena, struct interval, p->nodes.count);
    plane_of(w, 0, 0); // all others are made of it
}

// Sums and differences of bytes tell by what they carry whether they are bytes.
static bool can_carry(const struct rows *w, enum grid_type out) {
    uint8_t op = at(w, w->plan->result)->op;
    return out == GRID_U8 && (op == GRID_ADD || op == GRID_SUB) && within(w->all, 0, UINT8_MAX);
}

struct grid_rows grid_rows_of(const struct grid_plan *p, const unsigned char *stored,
                              enum grid_type in, enum grid_type out, struct arena *arena) {
    static const struct interval types[] = {GRID_TYPES(GRID_LIMITS)};
    struct rows w;
    begin(&w, p, arena);
    w.stored = stored;
    for (uint32_t i = 0; i < p->nodes.count; i++)
        w.range[i] = range_of(&w, i, in);
    struct grid_rows r = {.fit = can_do(&w, p->result, 0)};
    r.in_range = within(w.range[p->result], types[out].least, types[out].most);
    r.carry = !r.in_range && can_carry(&w, out);
    r.low = r.carry && w.range[grid_at(p, p->result)->arg[1]].most <= INT8_MAX;
    if (!r.carry)
        note_range(&w, p->result);
    r.bytes = within(w.all, 0, UINT8_MAX) ? 1 : within(w.all, INT16_MIN, INT16_MAX) ? 2 : 4;
    r.planes = w.planes;
    r.flat = r.fit && !w.grids && !p->checks.count;
    return r;
}

// ---- Text ---------------------------------------------------------------------------------------

static const char *const functions[GRID_OP_COUNT] = {
    [GRID_NEG] = "neg", [GRID_NOT] = "not",      [GRID_ADD] = "add",   [GRID_SUB] = "sub",
    [GRID_MUL] = "mul", [GRID_LEAST] = "least",  [GRID_MOST] = "most", [GRID_EQ] = "eq",
    [GRID_NE] = "ne",   [GRID_LT] = "lt",        [GRID_LE] = "le",     [GRID_AND] = "and",
    [GRID_OR] = "or",   [GRID_SELECT] = "select"};

enum { HAS_NUMBER = 2, HAS_MASK = 4 };

static void put_node(struct rows *w, uint32_t node, int32_t code, bool mask);

// A name is a node in a position: x7_0, and m7_0 where it is a mask.
static void need(struct rows *w, uint32_t node, int32_t code, bool mask) {
    unsigned char *seen = &w->seen[node * TURNS + (uint32_t)code];
    unsigned char bit = mask ? HAS_MASK : HAS_NUMBER;
    if (!at(w, node)->cells || (*seen & bit))
        return;
    put_node(w, node, code, mask);
    *seen |= bit;
}

static void put_name(struct rows *w, uint32_t node, int32_t code, bool mask) {
    if (at(w, node)->cells)
        buf_printf(w->text, "%c%u_%d", mask ? 'm' : 'x', node, code);
    else
        buf_printf(w->text, mask ? "v_ne(v_splat(n%u), v_splat(0))" : "v_splat(n%u)", node);
}

static bool is_mask(const struct rows *w, uint32_t node) {
    return at(w, node)->cells && is_condition((enum grid_op)at(w, node)->op);
}

// Whether argument k of an operation is wanted as a mask: of a product the last that is one.
static bool wants_mask(const struct rows *w, const struct grid_node *n, uint32_t k) {
    if (n->op == GRID_MUL)
        return is_mask(w, n->arg[k]) && (k == 1 || !is_mask(w, n->arg[1]));
    return n->op == GRID_NOT || n->op == GRID_AND || n->op == GRID_OR ||
           (n->op == GRID_SELECT && k == 0);
}

static void put_combined(struct rows *w, uint32_t node, int32_t code) {
    const struct grid_node *n = at(w, node);
    enum grid_op op = (enum grid_op)n->op;
    bool masked = op == GRID_MUL && (wants_mask(w, n, 0) || wants_mask(w, n, 1));
    for (uint32_t k = 0; k < n->args; k++)
        need(w, n->arg[k], code, wants_mask(w, n, k));
    buf_printf(w->text, "const vec %c%u_%d = v_%s(", is_condition(op) ? 'm' : 'x', node, code,
               masked ? "and" : functions[op]);
    for (uint32_t k = 0; k < n->args; k++) {
        buf_puts(w->text, k ? ", " : "");
        put_name(w, n->arg[k], code, wants_mask(w, n, k));
    }
    buf_puts(w->text, ");\n");
}

static void put_leaf(struct rows *w, uint32_t node, int32_t code) {
    const struct grid_node *n = at(w, node);
    struct buf *t = w->text;
    buf_printf(t, "const vec x%u_%d = ", node, code);
    switch ((int)n->op) {
    case GRID_IN:
        buf_printf(t, "v_load(p%d, b.i);\n", plane_of(w, code, 0));
        return;
    case GRID_ROW:
        buf_puts(t, "v_splat(b.row) + v_line(lines->row, b.column);\n");
        w->lines = true;
        return;
    case GRID_COL:
        buf_puts(t, "v_line(lines->column, b.column);\n");
        w->lines = true;
        return;
    case GRID_VOID:
        buf_puts(t, "v_splat(0);\n");
        return;
    default:
        break;
    }
    buf_printf(t, "v_at(p%d, %u, %d, %d);\n", near_plane(w, n), n->border, at(w, n->arg[1])->value,
               at(w, n->arg[2])->value);
    w->lines = true;
}

// The number of a node, or its mask; whichever it is not is made of the other.
static void put_node(struct rows *w, uint32_t node, int32_t code, bool mask) {
    const struct grid_node *n = at(w, node);
    enum grid_op op = (enum grid_op)n->op;
    bool condition = is_condition(op);
    if (op == GRID_TURN) {
        int32_t inner = grid_turn_twice(code, n->value);
        need(w, n->arg[0], inner, mask);
        buf_printf(w->text, "const vec %c%u_%d = ", mask ? 'm' : 'x', node, code);
        put_name(w, n->arg[0], inner, mask);
        buf_puts(w->text, ";\n");
        return;
    }
    if (mask != condition) {
        need(w, node, code, condition);
        if (mask)
            buf_printf(w->text, "const vec m%u_%d = v_ne(x%u_%d, v_splat(0));\n", node, code, node,
                       code);
        else
            buf_printf(w->text, "const vec x%u_%d = v_neg(m%u_%d);\n", node, code, node, code);
        return;
    }
    if (grid_is_cellwise(op))
        put_combined(w, node, code);
    else
        put_leaf(w, node, code);
}

static void put_planes(struct rows *w, bool flat) {
    struct buf *t = w->text;
    buf_puts(t, "struct lines *const lines = g.lines;\n"
                "if (lines->shape != plane_shape(g.height, g.width))\n"
                "planes_place(lines, g.height, g.width, PLANES,"
                " (char *)g.store + ((u64)SLOTS << 22));\n");
    for (int32_t code = 0; code < TURNS; code++)
        for (uint32_t b = 0; b <= BORDERS; b++) {
            int32_t p = w->plane[code][b] - 1;
            bool other = code & GRID_TRANSPOSE;
            if (p < 0)
                continue;
            buf_printf(t, "const plane p%d = ", p);
            if (code == 0 && b == 0)
                buf_printf(t, "plane_copy(g.in, g.height, g.width, g.around, %d, ", flat);
            else if (b == 0)
                buf_printf(t, "plane_turn(p0, g.height, g.width, %d, a->anywhere, lines, ", code);
            else
                buf_printf(t, "plane_pad(p%d, g.%s, g.%s, %u, ", plane_of(w, code, 0),
                           other ? "width" : "height", other ? "height" : "width", b - 1);
            buf_printf(t, "(IN_T *)(lines->planes + %d * lines->room));\n", p);
        }
}

// What is set where a value of the result does not fit.
static void put_far(struct rows *w, const struct grid_rows *how) {
    const struct grid_node *n = at(w, w->plan->result);
    struct buf *t = w->text;
    if (how->in_range)
        return;
    buf_puts(t, "far |= ");
    if (!how->carry) {
        buf_printf(t, "v_far(x%u_0);\n", w->plan->result);
        return;
    }
    buf_printf(t, "v_carry_%s%s(", functions[n->op], how->low ? "_low" : "");
    for (uint32_t k = 0; k < 2; k++) {
        put_name(w, n->arg[k], 0, false);
        buf_puts(t, ", ");
    }
    buf_printf(t, "x%u_0);\n", w->plan->result);
}

// Fewer cells than a vector has are written elsewhere first.
static void put_begin(struct rows *w) {
    const struct grid_node *n = at(w, w->plan->result);
    buf_printf(w->text, "const long cells = (long)n%u * n%u, last = cells < V ? 0 : cells - V;\n",
               n->height, n->width);
    buf_puts(w->text, "OUT_T few[V], *const out = cells < V ? few : g.out;\n"
                      "struct block b = {0, 0, 0};\n");
    if (w->lines)
        buf_printf(w->text, "if (lines->width != n%u)\nlines_make(lines, n%u);\n", n->width,
                   n->width);
}

void grid_rows_put(const struct grid_plan *p, const struct grid_rows *how, struct buf *text,
                   struct arena *arena) {
    struct rows w;
    struct buf body = {0};
    begin(&w, p, arena);
    w.text = &body;
    need(&w, p->result, 0, false);
    put_far(&w, how);
    w.text = text;
    put_planes(&w, how->flat);
    put_begin(&w);
    if (!how->in_range)
        buf_puts(text, "vec far = v_splat(0);\n");
    buf_puts(text, "for (;;) {\n");
    buf_put(text, body.data, body.length);
    text->failed |= body.failed;
    buf_printf(text, "v_store(out, b.i, x%u_0);\n", p->result);
    buf_printf(text, "if (b.i == last)\nbreak;\nblock_next(&b, last, lines, %d);\n}\n", w.lines);
    buf_puts(text, "if (cells < V)\n__builtin_memcpy(g.out, few, (u64)cells * sizeof(OUT_T));\n");
    if (!how->in_range)
        buf_printf(text, "wide = v_any(far%s, cells);\n", how->carry ? " & v_splat(128)" : "");
    buf_free(&body);
}
