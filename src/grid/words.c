// SPDX-License-Identifier: MIT
// The words of the language: one row each, and what each is made of.
#include "grid/parse.h"

#include <string.h>

typedef struct grid_value value;
typedef struct grid_parser parser;

static value of(uint32_t node) { return (value){.node = node}; }
static value number(parser *p, int32_t n) { return of(grid_number(p->plan, n)); }

static value two(parser *p, enum grid_op op, value a, value b, size_t at) {
    return grid_combine(p, op, a, b, (value){0}, at);
}

static value select(parser *p, value c, value a, value b, size_t at) {
    return grid_combine(p, GRID_SELECT, c, a, b, at);
}

void grid_no_box(parser *p, value v, size_t at) {
    if (v.box)
        grid_fail(p, at, "a `bbox` is a result by itself, or an argument of `crop`");
}

const struct grid_node *grid_want_cells(parser *p, value v, size_t at, const char *who) {
    grid_no_box(p, v, at);
    const struct grid_node *n = grid_at(p->plan, v.node);
    if (!n->cells)
        grid_fail(p, at, "%s needs a grid here, and this is a number", who);
    return n;
}

static uint32_t own_cells(parser *p, const struct grid_word *w, const struct grid_call *c) {
    grid_want_cells(p, c->own, c->at, w->name);
    return c->own.node;
}

// Argument i, which must be one number a grid.
static value a_number(parser *p, const struct grid_word *w, const struct grid_call *c, uint32_t i) {
    grid_no_box(p, c->arg[i], c->arg_at[i]);
    if (grid_at(p->plan, c->arg[i].node)->cells)
        grid_fail(p, c->arg_at[i], "`%s` needs one number a grid here, and this is a grid",
                  w->name);
    return c->arg[i];
}

// The same for one that a shape depends on: a grid for which it is none is marked.
static value a_sure_number(parser *p, const struct grid_word *w, const struct grid_call *c,
                           uint32_t i) {
    value n = a_number(p, w, c, i);
    if (grid_at(p->plan, n.node)->fails)
        grid_must(p->plan, two(p, GRID_EQ, n, n, c->arg_at[i]).node, GRID_STATUS_DIVISION);
    return n;
}

static void must(parser *p, value condition, uint8_t status, size_t at) {
    static const char *const texts[] = {
        [GRID_STATUS_SHAPE] = "these shapes never go together",
        [GRID_STATUS_BOUNDS] = "this is outside of every grid",
        [GRID_STATUS_SIZE] = "this makes a side above 1024",
        [GRID_STATUS_EMPTY] = "this leaves no cells",
    };
    if (!grid_must(p->plan, condition.node, status))
        grid_fail(p, at, "%s", texts[status]);
}

static value at_least(parser *p, value a, int32_t least, size_t at) {
    return two(p, GRID_LE, number(p, least), a, at);
}
static value at_most(parser *p, value a, int32_t most, size_t at) {
    return two(p, GRID_LE, a, number(p, most), at);
}
static value both(parser *p, value a, value b, size_t at) { return two(p, GRID_AND, a, b, at); }

static value height(const parser *p, uint32_t g) { return of(grid_at(p->plan, g)->height); }
static value width(const parser *p, uint32_t g) { return of(grid_at(p->plan, g)->width); }

// A grid of that shape, which was checked.
static value grid_of(parser *p, struct grid_node n, value h, value w) {
    n.cells = true;
    n.height = h.node;
    n.width = w.node;
    return of(grid_node_put(p->plan, n));
}

static value zeros(parser *p, value h, value w) {
    struct grid_node n = {.op = GRID_VOID, .args = 2, .arg = {h.node, w.node}};
    return grid_of(p, n, h, w);
}

// What is said of the cells of a grid, as a grid: a number is the same for all of them.
static value for_cells(parser *p, uint32_t g, value v, size_t at) {
    grid_no_box(p, v, at);
    if (grid_at(p->plan, v.node)->cells)
        return v;
    return two(p, GRID_ADD, zeros(p, height(p, g), width(p, g)), v, at);
}

// ---- Geometry -----------------------------------------------------------------------------------

static value build_turn(parser *p, const struct grid_word *w, struct grid_call *c) {
    return of(grid_turn(p->plan, own_cells(p, w, c), w->value));
}

static value moved(parser *p, enum grid_op op, uint32_t g, value dy, value dx, uint8_t border) {
    struct grid_node n = {.op = (uint8_t)op, .args = 3, .arg = {g, dy.node, dx.node}};
    n.border = border;
    return grid_of(p, n, height(p, g), width(p, g));
}

static value build_move(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    return moved(p, (enum grid_op)w->value, g, a_number(p, w, c, 0), a_number(p, w, c, 1),
                 c->border);
}

static value box_part(parser *p, enum grid_op op, uint32_t condition) {
    struct grid_node n = {.op = (uint8_t)op, .args = 1, .arg = {condition}};
    return of(grid_node_put(p->plan, n));
}

// The numbers row, column, height and width of a box that has cells.
static void box_numbers(parser *p, uint32_t condition, size_t at, value out[4]) {
    for (int i = 0; i < 4; i++)
        out[i] = box_part(p, (enum grid_op)(GRID_BOX_ROW + i), condition);
    must(p, at_least(p, out[2], 1, at), GRID_STATUS_EMPTY, at);
}

static value cut(parser *p, uint32_t g, const value at[4]) {
    struct grid_node n = {.op = GRID_CROP, .args = 5, .arg = {g}};
    for (int i = 0; i < 4; i++)
        n.arg[i + 1] = at[i].node;
    return grid_of(p, n, at[2], at[3]);
}

static void crop_checks(parser *p, uint32_t g, const value a[4], size_t at) {
    must(p, both(p, at_least(p, a[2], 1, at), at_least(p, a[3], 1, at), at), GRID_STATUS_EMPTY, at);
    value last_row = two(p, GRID_SUB, height(p, g), a[2], at);
    value last_col = two(p, GRID_SUB, width(p, g), a[3], at);
    value from = both(p, at_least(p, a[0], 0, at), at_least(p, a[1], 0, at), at);
    value to =
        both(p, two(p, GRID_LE, a[0], last_row, at), two(p, GRID_LE, a[1], last_col, at), at);
    must(p, both(p, from, to, at), GRID_STATUS_BOUNDS, at);
}

static value build_crop(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value a[4];
    if (c->args == 1) {
        if (!c->arg[0].box)
            grid_fail(p, c->arg_at[0], "`crop` takes (row, column, height, width) or a `bbox`");
        box_numbers(p, c->arg[0].node, c->at, a);
    } else {
        for (uint32_t i = 0; i < 4; i++)
            a[i] = a_sure_number(p, w, c, i);
    }
    crop_checks(p, g, a, c->at);
    return cut(p, g, a);
}

static value build_crop_to_content(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value a[4], content = two(p, GRID_NE, c->own, a_number(p, w, c, 0), c->at);
    box_numbers(p, content.node, c->at, a);
    return cut(p, g, a);
}

static value build_bbox(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    grid_no_box(p, c->arg[0], c->arg_at[0]);
    return (value){.node = for_cells(p, g, c->arg[0], c->at).node, .box = true};
}

static value build_pad(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value n = a_sure_number(p, w, c, 0), v = a_number(p, w, c, 1);
    value more = two(p, GRID_MUL, number(p, 2), n, c->at);
    value h = two(p, GRID_ADD, height(p, g), more, c->at);
    value x = two(p, GRID_ADD, width(p, g), more, c->at);
    must(p, at_least(p, n, 0, c->at), GRID_STATUS_BOUNDS, c->at);
    must(p, at_most(p, n, GRID_SIDE_MOST, c->at), GRID_STATUS_SIZE, c->at);
    must(p,
         both(p, at_most(p, h, GRID_SIDE_MOST, c->at), at_most(p, x, GRID_SIDE_MOST, c->at), c->at),
         GRID_STATUS_SIZE, c->at);
    struct grid_node node = {.op = GRID_PAD, .args = 3, .arg = {g, n.node, v.node}};
    return grid_of(p, node, h, x);
}

// Every side times a number: tile and upscale.
static value build_times(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value m = a_sure_number(p, w, c, 0), n = c->args > 1 ? a_sure_number(p, w, c, 1) : m;
    must(p, both(p, at_least(p, m, 1, c->at), at_least(p, n, 1, c->at), c->at), GRID_STATUS_EMPTY,
         c->at);
    must(p,
         both(p, at_most(p, m, GRID_SIDE_MOST, c->at), at_most(p, n, GRID_SIDE_MOST, c->at), c->at),
         GRID_STATUS_SIZE, c->at);
    value h = two(p, GRID_MUL, height(p, g), m, c->at), x = two(p, GRID_MUL, width(p, g), n, c->at);
    must(p,
         both(p, at_most(p, h, GRID_SIDE_MOST, c->at), at_most(p, x, GRID_SIDE_MOST, c->at), c->at),
         GRID_STATUS_SIZE, c->at);
    struct grid_node node = {.op = (uint8_t)w->value, .args = (uint8_t)(c->args + 1)};
    node.arg[0] = g;
    node.arg[1] = m.node;
    node.arg[2] = c->args > 1 ? n.node : 0;
    return grid_of(p, node, h, x);
}

// A quotient whose divisor was checked.
static value divided(parser *p, enum grid_op op, value a, value b) {
    const struct grid_node *x = grid_at(p->plan, a.node), *y = grid_at(p->plan, b.node);
    uint8_t broken = 0;
    if (x->op == GRID_NUMBER && y->op == GRID_NUMBER)
        return of(grid_cellwise(p->plan, op, a.node, b.node, 0, &broken));
    struct grid_node n = {.op = (uint8_t)op, .args = 2, .arg = {a.node, b.node}, .value = 1};
    return of(grid_node_put(p->plan, n));
}

static value build_downscale(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value k = a_sure_number(p, w, c, 0), zero = number(p, 0);
    must(p, at_least(p, k, 1, c->at), GRID_STATUS_BOUNDS, c->at);
    value rest_h = two(p, GRID_EQ, divided(p, GRID_MOD, height(p, g), k), zero, c->at);
    value rest_w = two(p, GRID_EQ, divided(p, GRID_MOD, width(p, g), k), zero, c->at);
    must(p, both(p, rest_h, rest_w, c->at), GRID_STATUS_SHAPE, c->at);
    struct grid_node n = {.op = GRID_DOWNSCALE, .args = 2, .arg = {g, k.node}};
    return grid_of(p, n, divided(p, GRID_DIV, height(p, g), k),
                   divided(p, GRID_DIV, width(p, g), k));
}

static value build_concat(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t a = c->arg[0].node, b = c->arg[1].node;
    grid_want_cells(p, c->arg[0], c->arg_at[0], w->name);
    grid_want_cells(p, c->arg[1], c->arg_at[1], w->name);
    bool side = w->value == GRID_HCONCAT;
    value ha = height(p, a), hb = height(p, b), wa = width(p, a), wb = width(p, b);
    must(p, side ? two(p, GRID_EQ, ha, hb, c->at) : two(p, GRID_EQ, wa, wb, c->at),
         GRID_STATUS_SHAPE, c->at);
    value h = side ? ha : two(p, GRID_ADD, ha, hb, c->at);
    value x = side ? two(p, GRID_ADD, wa, wb, c->at) : wa;
    must(p, at_most(p, side ? x : h, GRID_SIDE_MOST, c->at), GRID_STATUS_SIZE, c->at);
    struct grid_node n = {.op = (uint8_t)w->value, .args = 2, .arg = {a, b}};
    return grid_of(p, n, h, x);
}

// ---- Cells --------------------------------------------------------------------------------------

static value build_select(parser *p, const struct grid_word *w, struct grid_call *c) {
    (void)w;
    return select(p, c->arg[0], c->arg[1], c->arg[2], c->at);
}

static value build_mask(parser *p, const struct grid_word *w, struct grid_call *c) {
    (void)w;
    return select(p, c->arg[0], c->own, number(p, 0), c->at);
}

static value build_clamp(parser *p, const struct grid_word *w, struct grid_call *c) {
    (void)w;
    return two(p, GRID_LEAST, two(p, GRID_MOST, c->own, c->arg[0], c->at), c->arg[1], c->at);
}

static value build_replace(parser *p, const struct grid_word *w, struct grid_call *c) {
    value is_a = two(p, GRID_EQ, c->own, c->arg[0], c->at);
    if (!w->value)
        return select(p, is_a, c->arg[1], c->own, c->at);
    value is_b = two(p, GRID_EQ, c->own, c->arg[1], c->at);
    return select(p, is_a, c->arg[1], select(p, is_b, c->arg[0], c->own, c->at), c->at);
}

// ---- Neighbourhoods -----------------------------------------------------------------------------

enum { EIGHT = 1 << 8, COUNTED = 1 << 9 };
static const int8_t steps[8][2] = {{-1, 0},  {0, -1}, {0, 1},  {1, 0},
                                   {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};

static value neighbour(parser *p, uint32_t g, int i, uint8_t border) {
    return moved(p, GRID_AT, g, number(p, steps[i][0]), number(p, steps[i][1]), border);
}

static value build_near(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    if (w->value & COUNTED) {
        value holds = two(p, GRID_NE, c->arg[0], number(p, 0), c->at);
        g = for_cells(p, g, holds, c->at).node;
    }
    value v = neighbour(p, g, 0, c->border);
    for (int i = 1; i < (w->value & EIGHT ? 8 : 4); i++)
        v = two(p, (enum grid_op)(w->value & 255), v, neighbour(p, g, i, c->border), c->at);
    return v;
}

// Cells on the rim have a neighbour outside, which has another value.
static value build_outline(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value h = height(p, g), x = width(p, g);
    struct grid_node n = {.op = GRID_ROW, .args = 2, .arg = {h.node, x.node}};
    value row = grid_of(p, n, h, x);
    n.op = GRID_COL;
    value col = grid_of(p, n, h, x), zero = number(p, 0), one = number(p, 1);
    value keep = two(p, GRID_EQ, row, zero, c->at);
    keep = two(p, GRID_OR, keep, two(p, GRID_EQ, col, zero, c->at), c->at);
    keep =
        two(p, GRID_OR, keep, two(p, GRID_EQ, row, two(p, GRID_SUB, h, one, c->at), c->at), c->at);
    keep =
        two(p, GRID_OR, keep, two(p, GRID_EQ, col, two(p, GRID_SUB, x, one, c->at), c->at), c->at);
    for (int i = 0; i < 4; i++)
        keep = two(p, GRID_OR, keep, two(p, GRID_NE, neighbour(p, g, i, GRID_EDGE), c->own, c->at),
                   c->at);
    return select(p, keep, c->own, zero, c->at);
}

static value build_step(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value n = a_sure_number(p, w, c, 0);
    must(p, at_least(p, n, 0, c->at), GRID_STATUS_BOUNDS, c->at);
    struct grid_node node = {.op = GRID_STEP, .args = 2, .arg = {g, n.node}, .value = c->rule};
    node.border = c->border;
    return grid_of(p, node, height(p, g), width(p, g));
}

// ---- Whole grid ---------------------------------------------------------------------------------

static value reduced(parser *p, enum grid_op op, uint32_t g) {
    return of(grid_node_put(p->plan, (struct grid_node){.op = (uint8_t)op, .args = 1, .arg = {g}}));
}

static value build_reduce(parser *p, const struct grid_word *w, struct grid_call *c) {
    return reduced(p, (enum grid_op)w->value, own_cells(p, w, c));
}

static value build_least_or_most(parser *p, const struct grid_word *w, struct grid_call *c) {
    if (c->args < 2)
        return build_reduce(p, w, c);
    return two(p, w->value == GRID_MIN ? GRID_LEAST : GRID_MOST, c->arg[0], c->arg[1], c->at);
}

static value build_count(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value holds = two(p, GRID_NE, c->arg[0], number(p, 0), c->at);
    if (grid_at(p->plan, holds.node)->cells)
        return reduced(p, GRID_SUM, holds.node);
    return two(p, GRID_MUL, holds, two(p, GRID_MUL, height(p, g), width(p, g), c->at), c->at);
}

static value build_whole(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    struct grid_node n = {.op = (uint8_t)w->value, .args = 1, .arg = {g}};
    return grid_of(p, n, height(p, g), width(p, g));
}

static value build_fill(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value row = a_sure_number(p, w, c, 0), col = a_sure_number(p, w, c, 1);
    value inside = both(p, at_least(p, row, 0, c->at), at_least(p, col, 0, c->at), c->at);
    inside = both(p, inside, two(p, GRID_LT, row, height(p, g), c->at), c->at);
    inside = both(p, inside, two(p, GRID_LT, col, width(p, g), c->at), c->at);
    must(p, inside, GRID_STATUS_BOUNDS, c->at);
    struct grid_node n = {.op = GRID_FLOOD, .args = 3, .arg = {g, row.node, col.node}};
    return select(p, grid_of(p, n, height(p, g), width(p, g)), c->arg[2], c->own, c->at);
}

static value build_histogram(parser *p, const struct grid_word *w, struct grid_call *c) {
    uint32_t g = own_cells(p, w, c);
    value n = a_sure_number(p, w, c, 0);
    must(p, at_least(p, n, 1, c->at), GRID_STATUS_EMPTY, c->at);
    must(p, at_most(p, n, GRID_SIDE_MOST, c->at), GRID_STATUS_SIZE, c->at);
    struct grid_node node = {.op = GRID_HISTOGRAM, .args = 2, .arg = {g, n.node}};
    return grid_of(p, node, number(p, 1), n);
}

uint32_t grid_final(parser *p, value v, size_t at) {
    if (!v.box && grid_at(p->plan, v.node)->cells)
        return v.node;
    if (!v.box)
        return two(p, GRID_ADD, zeros(p, number(p, 1), number(p, 1)), v, at).node;
    value part[4], row = zeros(p, number(p, 1), number(p, 4));
    box_numbers(p, v.node, at, part);
    struct grid_node n = {.op = GRID_COL, .args = 2};
    n.arg[0] = height(p, row.node).node;
    n.arg[1] = width(p, row.node).node;
    value col = grid_of(p, n, height(p, row.node), width(p, row.node)), out = part[3];
    for (int i = 2; i >= 0; i--)
        out = select(p, two(p, GRID_EQ, col, number(p, i), at), part[i], out, at);
    return out.node;
}

// ---- The table ----------------------------------------------------------------------------------

#define NO 255
#define NONE "no arguments but its grid"
#define ONE "one argument and perhaps its grid before it"
#define TWO "two arguments and perhaps a grid before them"
#define BORDER GRID_TAKES_BORDER
const struct grid_word grid_words[] = {
    {"rot90", NONE, {0, NO}, 0, 0, GRID_TRANSPOSE | GRID_FLIP_COLS, build_turn},
    {"rot180", NONE, {0, NO}, 0, 0, GRID_FLIP_ROWS | GRID_FLIP_COLS, build_turn},
    {"rot270", NONE, {0, NO}, 0, 0, GRID_TRANSPOSE | GRID_FLIP_ROWS, build_turn},
    {"flip", NONE, {0, NO}, 0, 0, GRID_FLIP_ROWS | GRID_FLIP_COLS, build_turn},
    {"flip_h", NONE, {0, NO}, 0, 0, GRID_FLIP_COLS, build_turn},
    {"flip_v", NONE, {0, NO}, 0, 0, GRID_FLIP_ROWS, build_turn},
    {"transpose", NONE, {0, NO}, 0, 0, GRID_TRANSPOSE, build_turn},
    {"antitranspose",
     NONE,
     {0, NO},
     0,
     0,
     GRID_TRANSPOSE | GRID_FLIP_ROWS | GRID_FLIP_COLS,
     build_turn},
    {"shift", TWO, {2, NO}, 0, BORDER, GRID_SHIFT, build_move},
    {"at", TWO, {2, NO}, 0, BORDER, GRID_AT, build_move},
    {"crop",
     "four arguments or a `bbox`, and perhaps its grid before them",
     {4, 1},
     0,
     0,
     0,
     build_crop},
    {"crop_to_content", ONE, {1, NO}, 0, 0, 0, build_crop_to_content},
    {"pad", TWO, {2, NO}, 0, 0, 0, build_pad},
    {"tile", TWO, {2, NO}, 0, 0, GRID_TILE, build_times},
    {"upscale", ONE, {1, NO}, 0, 0, GRID_UPSCALE, build_times},
    {"downscale", ONE, {1, NO}, 0, 0, 0, build_downscale},
    {"hconcat", TWO, {2, NO}, 0, 0, GRID_HCONCAT, build_concat},
    {"vconcat", TWO, {2, NO}, 0, 0, GRID_VCONCAT, build_concat},
    {"min", "up to two arguments", {0, 2}, 1, 0, GRID_MIN, build_least_or_most},
    {"max", "up to two arguments", {0, 2}, 1, 0, GRID_MAX, build_least_or_most},
    {"clamp", TWO, {2, NO}, 0, 0, 0, build_clamp},
    {"select", "three arguments", {NO, 3}, 1, 0, 0, build_select},
    {"mask", ONE, {1, NO}, 0, 0, 0, build_mask},
    {"replace", TWO, {2, NO}, 0, 0, 0, build_replace},
    {"swap", TWO, {2, NO}, 0, 0, 1, build_replace},
    {"nsum4", NONE, {0, NO}, 0, BORDER, GRID_ADD, build_near},
    {"nsum8", NONE, {0, NO}, 0, BORDER, GRID_ADD | EIGHT, build_near},
    {"ncount4", ONE, {1, NO}, 0, BORDER, GRID_ADD | COUNTED, build_near},
    {"ncount8", ONE, {1, NO}, 0, BORDER, GRID_ADD | COUNTED | EIGHT, build_near},
    {"nmin4", NONE, {0, NO}, 0, BORDER, GRID_LEAST, build_near},
    {"nmin8", NONE, {0, NO}, 0, BORDER, GRID_LEAST | EIGHT, build_near},
    {"nmax4", NONE, {0, NO}, 0, BORDER, GRID_MOST, build_near},
    {"nmax8", NONE, {0, NO}, 0, BORDER, GRID_MOST | EIGHT, build_near},
    {"step", ONE, {1, NO}, 0, BORDER | GRID_TAKES_RULE, 0, build_step},
    {"count", ONE, {1, NO}, 0, 0, 0, build_count},
    {"sum", NONE, {0, NO}, 0, 0, GRID_SUM, build_reduce},
    {"most_common", NONE, {0, NO}, 0, 0, GRID_MOST_COMMON, build_reduce},
    {"least_common", NONE, {0, NO}, 0, 0, GRID_LEAST_COMMON, build_reduce},
    {"histogram", ONE, {1, NO}, 0, 0, 0, build_histogram},
    {"bbox", ONE, {1, NO}, 0, 0, 0, build_bbox},
    {"label4", NONE, {0, NO}, 0, 0, GRID_LABEL4, build_whole},
    {"label8", NONE, {0, NO}, 0, 0, GRID_LABEL8, build_whole},
    {"size4", NONE, {0, NO}, 0, 0, GRID_SIZE4, build_whole},
    {"size8", NONE, {0, NO}, 0, 0, GRID_SIZE8, build_whole},
    {"fill", "three arguments and perhaps its grid before them", {3, NO}, 0, 0, 0, build_fill},
    {"outline", NONE, {0, NO}, 0, 0, 0, build_outline},
    {0},
};

const struct grid_word *grid_word_find(const char *name, size_t length) {
    for (const struct grid_word *w = grid_words; w->name; w++)
        if (strlen(w->name) == length && !memcmp(w->name, name, length))
            return w;
    return NULL;
}

bool grid_word_takes(const struct grid_word *w, uint32_t count, bool *own) {
    for (int way = 0; way < 2; way++) {
        uint32_t n = w->counts[way];
        *own = count == n + 1 && !(way == 1 && w->no_own);
        if (n != NO && (count == n || *own))
            return true;
    }
    return false;
}

int grid_border_of(const char *name, size_t length) {
    static const char *const names[] = {"zero", "wrap", "edge"};
    for (int i = 0; i < 3; i++)
        if (strlen(names[i]) == length && !memcmp(names[i], name, length))
            return i;
    return -1;
}
