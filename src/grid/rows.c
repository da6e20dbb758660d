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

enum { TURNS = 8, BORDERS = 2 }; // GRID_WRAP and GRID_EDGE

struct interval {
    int64_t least, most;
};

struct rows {
    const struct grid_plan *plan;
    const unsigned char *stored;
    struct interval *range;      // [nodes]
    const unsigned char *capped; // [nodes]: a sum that may stop at 255; NULL: none may
    unsigned char *seen;         // [nodes][TURNS]: 1 looked at, 2 a number of it is there, 4 a mask
    struct interval all;         // of every value but the result's
    struct buf *text;
    int32_t plane[TURNS][1 + BORDERS]; // number of each, plus one; the first has no border
    uint32_t planes;
    uint32_t turns; // those of windows, a bit for each
    bool lines;     // it asks for columns or rows
    bool grids;     // something is different for other grids of the same shape, or other places
    bool reach;     // it looks at rows before and behind
    bool beside;    // of a plane whose rows are columns of the input
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

static bool is_capped(const struct rows *w, uint32_t n) { return w->capped && w->capped[n]; }

static struct interval range_of(const struct rows *w, uint32_t i, enum grid_type in) {
#define GRID_LIMITS(name, word, ctype, least, most) {least, most},
    static const struct interval types[] = {GRID_TYPES(GRID_LIMITS)};
    const struct grid_node *n = at(w, i);
    const struct interval *of = w->range;
    if (is_capped(w, i))
        return (struct interval){0, UINT8_MAX};
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

static void find_ranges(struct rows *w, enum grid_type in) {
    for (uint32_t i = 0; i < w->plan->nodes.count; i++)
        w->range[i] = range_of(w, i, in);
}

// A comparison with a number that is no byte's largest cannot tell larger ones from that.
static bool is_blunt(const struct rows *w, const struct grid_node *n, uint32_t k) {
    if (n->op == GRID_NOT || n->op == GRID_AND || n->op == GRID_OR)
        return true;
    if (n->op < GRID_EQ || n->op > GRID_LE)
        return n->op == GRID_SELECT && k == 0;
    const struct grid_node *other = at(w, n->arg[1 - k]);
    return other->op == GRID_NUMBER && other->value >= 0 && other->value < UINT8_MAX;
}

// Sums of what is not negative that are looked at by such comparisons only, or by such sums. Their
// ranges are there.
static void find_capped(struct rows *w, struct arena *arena) {
    uint32_t count = w->plan->nodes.count;
    unsigned char *capped = arena_new(arena, unsigned char, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct grid_node *n = at(w, i);
        capped[i] = n->op == GRID_ADD && n->cells && i != w->plan->result &&
                    w->range[i].most > UINT8_MAX && w->range[n->arg[0]].least >= 0 &&
                    w->range[n->arg[1]].least >= 0 && w->range[i].least >= 0;
    }
    for (uint32_t i = count; i-- > 0;)
        for (uint32_t k = 0; k < at(w, i)->args; k++)
            if (!capped[i] && !is_blunt(w, at(w, i), k))
                capped[at(w, i)->arg[k]] = 0;
    w->capped = capped;
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

// That of a neighbour; zeros around it are made when it is read.
static int32_t near_plane(struct rows *w, const struct grid_node *n) {
    const struct grid_node *from = at(w, n->arg[0]);
    int32_t code = from->op == GRID_IN ? 0 : from->value;
    w->reach = true;
    w->beside |= code & GRID_TRANSPOSE;
    return plane_of(w, code, n->border == GRID_ZERO ? 0 : n->border);
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

// Planes that a pass can take from windows of the input, a bit for each.
static uint32_t turned_planes(const struct rows *w) {
    uint32_t codes = 0;
    for (uint32_t code = 0; code < TURNS; code++)
        codes |= code & GRID_TRANSPOSE && w->plane[code][0] ? 1u << code : 0;
    return w->beside ? 0 : codes;
}

// Sums and differences of bytes tell by what they carry whether they are bytes.
static bool can_carry(const struct rows *w, enum grid_type out) {
    uint8_t op = at(w, w->plan->result)->op;
    return out == GRID_U8 && (op == GRID_ADD || op == GRID_SUB) && within(w->all, 0, UINT8_MAX);
}

static struct grid_rows rows_by(struct rows *w, const unsigned char *stored, enum grid_type out) {
    static const struct interval types[] = {GRID_TYPES(GRID_LIMITS)};
    const struct grid_plan *p = w->plan;
    w->stored = stored;
    struct grid_rows r = {.fit = can_do(w, p->result, 0), .capped = w->capped};
    r.in_range = within(w->range[p->result], types[out].least, types[out].most);
    r.carry = !r.in_range && can_carry(w, out);
    r.low = r.carry && w->range[grid_at(p, p->result)->arg[1]].most <= INT8_MAX;
    if (!r.carry)
        note_range(w, p->result);
    r.bytes = within(w->all, 0, UINT8_MAX) ? 1 : within(w->all, INT16_MIN, INT16_MAX) ? 2 : 4;
    r.planes = w->planes;
    r.turns = r.fit ? turned_planes(w) : 0;
    r.flat = r.fit && !w->grids && !p->checks.count;
    return r;
}

// Sums stop at 255 where all else is bytes, too.
struct grid_rows grid_rows_of(const struct grid_plan *p, const unsigned char *stored,
                              enum grid_type in, enum grid_type out, struct arena *arena) {
    struct rows w;
    begin(&w, p, arena);
    find_ranges(&w, in);
    find_capped(&w, arena);
    find_ranges(&w, in);
    struct grid_rows r = rows_by(&w, stored, out);
    if (r.bytes == 1)
        return r;
    begin(&w, p, arena);
    find_ranges(&w, in);
    return rows_by(&w, stored, out);
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

// Whether argument k of an operation is wanted as a mask: of a product the last that is one, and
// the last of a sum.
static bool wants_mask(const struct rows *w, uint32_t node, uint32_t k) {
    const struct grid_node *n = at(w, node);
    if (n->op == GRID_MUL)
        return is_mask(w, n->arg[k]) && (k == 1 || !is_mask(w, n->arg[1]));
    if (n->op == GRID_ADD)
        return k == 1 && is_mask(w, n->arg[1]) && !is_capped(w, node);
    return n->op == GRID_NOT || n->op == GRID_AND || n->op == GRID_OR ||
           (n->op == GRID_SELECT && k == 0);
}

static const char *function_of(const struct rows *w, uint32_t node) {
    const struct grid_node *n = at(w, node);
    if (wants_mask(w, node, 1) && n->op == GRID_ADD)
        return "count";
    if (n->op == GRID_MUL && (wants_mask(w, node, 0) || wants_mask(w, node, 1)))
        return "keep";
    return is_capped(w, node) ? "cap" : functions[n->op];
}

static void put_combined(struct rows *w, uint32_t node, int32_t code) {
    const struct grid_node *n = at(w, node);
    enum grid_op op = (enum grid_op)n->op;
    bool swap = op == GRID_MUL && wants_mask(w, node, 0); // a mask comes last
    for (uint32_t k = 0; k < n->args; k++)
        need(w, n->arg[k], code, wants_mask(w, node, k));
    buf_printf(w->text, "const %s%u_%d = v_%s(", is_condition(op) ? "where m" : "vec x", node, code,
               function_of(w, node));
    for (uint32_t i = 0; i < n->args; i++) {
        uint32_t k = swap ? 1 - i : i;
        buf_puts(w->text, i ? ", " : "");
        put_name(w, n->arg[k], code, wants_mask(w, node, k));
    }
    buf_puts(w->text, ");\n");
}

static void put_leaf(struct rows *w, uint32_t node, int32_t code) {
    const struct grid_node *n = at(w, node);
    struct buf *t = w->text;
    buf_printf(t, "const vec x%u_%d = ", node, code);
    switch ((int)n->op) {
    case GRID_IN:
        if (w->turns >> code & 1)
            buf_printf(t, "v_turned(%d, p%d, b.i);\n", code, plane_of(w, code, 0));
        else
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
        buf_printf(w->text, "const %s%u_%d = ", mask ? "where m" : "vec x", node, code);
        put_name(w, n->arg[0], inner, mask);
        buf_puts(w->text, ";\n");
        return;
    }
    if (mask != condition) {
        need(w, node, code, condition);
        if (mask)
            buf_printf(w->text, "const where m%u_%d = v_ne(x%u_%d, v_splat(0));\n", node, code,
                       node, code);
        else
            buf_printf(w->text, "const vec x%u_%d = v_number(m%u_%d);\n", node, code, node, code);
        return;
    }
    if (grid_is_cellwise(op))
        put_combined(w, node, code);
    else
        put_leaf(w, node, code);
}

static void put_plane(struct rows *w, int32_t code, uint32_t border, const struct grid_rows *how) {
    struct buf *t = w->text;
    bool other = code & GRID_TRANSPOSE;
    int32_t p = w->plane[code][border] - 1;
    buf_printf(t, "const plane p%d = ", p);
    if (border)
        buf_printf(t, "plane_pad(p%d, g.%s, g.%s, %u, ", plane_of(w, code, 0),
                   other ? "width" : "height", other ? "height" : "width", border);
    else if (code == 0)
        buf_printf(t, "plane_copy(g.in, g.height, g.width, g.around%s, %d, ",
                   w->reach ? " - g.width" : "", how->flat);
    else
        buf_printf(t, "%splane_turn(p0, g.height, g.width, %d, %sa->anywhere, lines, ",
                   w->turns >> code & 1 ? "windows ? p0 : " : "", code,
                   w->turns ? "BITS ? 0 : " : "");
    buf_printf(t, "(IN_T *)(lines->planes + %d * lines->room));\n", p);
}

// Those that are in memory, and windows of those that need not be.
static void put_planes(struct rows *w, const struct grid_rows *how) {
    struct buf *t = w->text;
    buf_puts(t, "struct lines *const lines = g.lines;\n"
                "if (lines->shape != plane_shape(g.height, g.width))\n"
                "planes_place(lines, g.height, g.width, PLANES,"
                " (char *)g.store + ((u64)SLOTS << 22));\n");
    for (int32_t code = 0; code < TURNS; code++)
        for (uint32_t b = 0; b <= BORDERS; b++)
            if (w->plane[code][b])
                put_plane(w, code, b, how);
    for (int32_t code = 0, first = 1; code < TURNS; code++)
        if (w->turns >> code & 1) {
            if (first)
                buf_printf(t, "TURNS_IN(p0, %d)\n", code);
            buf_printf(t, "TURN_OF(%d)\n", code);
            first = 0;
        }
}

// What tells of a block whether its values fit, besides the result, under names that outlive it.
static void put_told(struct rows *w, const struct grid_rows *how) {
    const struct grid_node *n = at(w, w->plan->result);
    for (uint32_t k = 0; how->carry && k < (how->low ? 1 : 2); k++) {
        buf_puts(w->text, k ? "two = " : "one = ");
        put_name(w, n->arg[k], 0, false);
        buf_puts(w->text, ";\n");
    }
}

// Sets bits of `far` where a value of the result does not fit.
static void put_far(struct rows *w, const struct grid_rows *how, const char *far) {
    if (how->carry)
        buf_printf(w->text, "v_carry_%s%s(%s, one, %sresult)",
                   functions[at(w, w->plan->result)->op], how->low ? "_low" : "", far,
                   how->low ? "" : "two, ");
    else
        buf_printf(w->text, "v_far(%s, result)", far);
}

static void put_begin(struct rows *w) {
    const struct grid_node *n = at(w, w->plan->result);
    buf_printf(w->text,
               "const long cells = (long)n%u * n%u,"
               " last = windows ? lines->last : cells < V ? 0 : cells - V,"
               " step = windows ? lines->step : 0;\n",
               n->height, n->width);
    buf_puts(w->text, "struct block b = {0, 0, 0};\nvec result;\n");
    if (w->lines)
        buf_printf(w->text, "if (lines->width != n%u)\nlines_make(lines, n%u);\n", n->width,
                   n->width);
}

// A block is stored when the next has been read: input and output are often 4096 bytes apart, or a
// multiple of it, and then a CPU takes what is read for what was just written. Of the last block
// only those cells count that are there.
static void put_loop(struct rows *w, const struct grid_rows *how, const struct buf *body) {
    struct buf *t = w->text;
    if (!how->in_range)
        buf_puts(t, "vec far = v_splat(0), one, two;\n");
    buf_puts(t, "for (long before = -1;; before = b.i, ");
    buf_printf(t, "block_next(&b, last, lines, %d, step, windows > 0)) {\n", w->lines);
    buf_put(t, body->data, body->length);
    t->failed |= body->failed;
    buf_puts(t, "if (before >= 0)\nv_store(g.out, before, result);\n");
    buf_printf(t, "result = x%u_0;\nif (b.i == last)\nbreak;\n", w->plan->result);
    if (!how->in_range) {
        buf_puts(t, "far = ");
        put_far(w, how, "far");
        buf_puts(t, ";\n");
    }
    buf_puts(t, "}\nconst some lanes = some_of(cells - last);\n"
                "v_store_first(g.out, last, result, lanes);\n");
    if (how->in_range)
        return;
    buf_puts(t, "wide = v_any((far | v_first(");
    put_far(w, how, "v_splat(0)");
    buf_printf(t, ", lanes))%s);\n", how->carry ? " & v_splat(128)" : "");
}

void grid_rows_put(const struct grid_plan *p, const struct grid_rows *how, struct buf *text,
                   struct arena *arena) {
    struct rows w;
    struct buf body = {0};
    begin(&w, p, arena);
    w.capped = how->capped;
    w.turns = how->turns;
    w.text = &body;
    need(&w, p->result, 0, false);
    put_told(&w, how);
    w.text = text;
    put_planes(&w, how);
    put_begin(&w);
    put_loop(&w, how, &body);
    buf_free(&body);
}
