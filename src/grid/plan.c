// SPDX-License-Identifier: MIT
// Nodes of a plan: folded where they are numbers that are known, shared where they are the same.
#include "grid/plan.h"

#include "grid/cell.h"

#include <string.h>

enum { GRID_BUCKETS = 1 << 10 };

static struct grid_node *node(const struct grid_plan *p, uint32_t n) { return &p->nodes.items[n]; }

static bool is_number(const struct grid_plan *p, uint32_t n, int32_t value) {
    return node(p, n)->op == GRID_NUMBER && node(p, n)->value == value;
}

// ---- Sharing ------------------------------------------------------------------------------------

static uint32_t hash_of(const struct grid_node *n) {
    uint32_t h = n->op * 31u + n->border;
    h = (h ^ (uint32_t)n->value) * 0x9e3779b1u;
    for (uint32_t i = 0; i < n->args; i++)
        h = (h ^ n->arg[i]) * 0x9e3779b1u + (h >> 16);
    return h >> 7 & (GRID_BUCKETS - 1);
}

static bool same(const struct grid_node *a, const struct grid_node *b) {
    return a->op == b->op && a->border == b->border && a->value == b->value && a->args == b->args &&
           !memcmp(a->arg, b->arg, sizeof a->arg);
}

// What its arguments say of a node. A grid's shape is the caller's to say.
static void inherit(const struct grid_plan *p, struct grid_node *n) {
    n->data |= n->op == GRID_IN;
    n->fails |= (n->op == GRID_DIV || n->op == GRID_MOD) && !n->value;
    for (uint32_t i = 0; i < n->args; i++) {
        n->data |= node(p, n->arg[i])->data;
        n->fails |= node(p, n->arg[i])->fails;
    }
}

uint32_t grid_node_put(struct grid_plan *p, struct grid_node n) {
    if (!p->bucket)
        p->bucket = arena_new(&p->arena, uint32_t, GRID_BUCKETS);
    uint32_t *bucket = &p->bucket[hash_of(&n)];
    for (uint32_t i = *bucket; i; i = node(p, i - 1)->next)
        if (same(node(p, i - 1), &n))
            return i - 1;
    arena_spend(&p->arena, 1);
    inherit(p, &n);
    n.next = *bucket;
    *vec_push(&p->arena, &p->nodes) = n;
    *bucket = p->nodes.count;
    return p->nodes.count - 1;
}

uint32_t grid_number(struct grid_plan *p, int32_t value) {
    return grid_node_put(p, (struct grid_node){.op = GRID_NUMBER, .value = value});
}

// ---- Cell by cell -------------------------------------------------------------------------------

// Of numbers that are known.
static bool fold(const struct grid_plan *p, enum grid_op op, const uint32_t arg[3], uint32_t args,
                 int32_t *out) {
    int32_t v[3] = {0};
    for (uint32_t i = 0; i < args; i++) {
        if (node(p, arg[i])->op != GRID_NUMBER)
            return false;
        v[i] = node(p, arg[i])->value;
    }
    if ((op == GRID_DIV || op == GRID_MOD) && v[1] == 0)
        return false;
    *out = cell_compute(op, v[0], v[1], v[2]);
    return true;
}

static bool is_condition(enum grid_op op) {
    return op == GRID_NOT || (op >= GRID_EQ && op <= GRID_OR);
}

// What numbers are without a look at them; UINT32_MAX: something else.
static uint32_t simplify(struct grid_plan *p, enum grid_op op, uint32_t a, uint32_t b) {
    bool fails = node(p, a)->fails || node(p, b)->fails;
    if (!fails && a == b && (op == GRID_EQ || op == GRID_LE))
        return grid_number(p, 1);
    if (op == GRID_ADD && is_number(p, a, 0))
        return b;
    if ((op == GRID_ADD || op == GRID_SUB) && is_number(p, b, 0))
        return a;
    if (op == GRID_MUL && is_number(p, a, 1))
        return b;
    if ((op == GRID_MUL || op == GRID_DIV) && is_number(p, b, 1))
        return a;
    if (op == GRID_AND && is_number(p, a, 1) && is_condition(node(p, b)->op))
        return b;
    if (op == GRID_AND && is_number(p, b, 1) && is_condition(node(p, a)->op))
        return a;
    if (op == GRID_AND && (is_number(p, a, 0) || (is_number(p, b, 0) && !fails)))
        return grid_number(p, 0);
    return UINT32_MAX;
}

static uint32_t args_of(enum grid_op op) {
    return op == GRID_NEG || op == GRID_NOT ? 1 : op == GRID_SELECT ? 3 : 2;
}

// Every grid has the shape of the first; that one, or UINT32_MAX when all are numbers.
static uint32_t agree(struct grid_plan *p, const uint32_t *arg, uint32_t args, uint8_t *broken) {
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < args; i++) {
        if (!node(p, arg[i])->cells)
            continue;
        if (first == UINT32_MAX) {
            first = arg[i];
            continue;
        }
        const struct grid_node f = *node(p, first), g = *node(p, arg[i]);
        uint32_t h = grid_cellwise(p, GRID_EQ, f.height, g.height, 0, broken);
        uint32_t w = grid_cellwise(p, GRID_EQ, f.width, g.width, 0, broken);
        if (!grid_must(p, grid_cellwise(p, GRID_AND, h, w, 0, broken), GRID_STATUS_SHAPE))
            *broken = GRID_STATUS_SHAPE;
    }
    return first;
}

uint32_t grid_cellwise(struct grid_plan *p, enum grid_op op, uint32_t a, uint32_t b, uint32_t c,
                       uint8_t *broken) {
    uint32_t args = args_of(op), arg[3] = {a, args > 1 ? b : 0, args > 2 ? c : 0};
    uint32_t grid = agree(p, arg, args, broken);
    int32_t value;
    if (grid == UINT32_MAX && fold(p, op, arg, args, &value))
        return grid_number(p, value);
    uint32_t simple = grid == UINT32_MAX && args == 2 ? simplify(p, op, a, b) : UINT32_MAX;
    if (simple != UINT32_MAX)
        return simple;
    struct grid_node n = {.op = (uint8_t)op, .args = (uint8_t)args, .arg = {a, arg[1], arg[2]}};
    n.value = (op == GRID_DIV || op == GRID_MOD) && node(p, b)->op == GRID_NUMBER &&
              node(p, b)->value != 0;
    if (grid != UINT32_MAX) {
        n.cells = true;
        n.height = node(p, grid)->height;
        n.width = node(p, grid)->width;
    }
    return grid_node_put(p, n);
}

// ---- Turns --------------------------------------------------------------------------------------

int32_t grid_turn_twice(int32_t outer, int32_t inner) {
    int32_t flips = outer & (GRID_FLIP_ROWS | GRID_FLIP_COLS);
    if (inner & GRID_TRANSPOSE)
        flips = (flips & GRID_FLIP_ROWS ? GRID_FLIP_COLS : 0) |
                (flips & GRID_FLIP_COLS ? GRID_FLIP_ROWS : 0);
    return ((outer ^ inner) & GRID_TRANSPOSE) |
           (((inner & (GRID_FLIP_ROWS | GRID_FLIP_COLS)) ^ flips));
}

uint32_t grid_turn(struct grid_plan *p, uint32_t grid, int32_t code) {
    const struct grid_node *g = node(p, grid);
    if (g->op == GRID_TURN) {
        code = grid_turn_twice(code, g->value);
        grid = g->arg[0];
        g = node(p, grid);
    }
    if (!code)
        return grid;
    bool other = code & GRID_TRANSPOSE;
    return grid_node_put(p, (struct grid_node){.op = GRID_TURN,
                                               .cells = true,
                                               .args = 1,
                                               .arg = {grid},
                                               .value = code,
                                               .height = other ? g->width : g->height,
                                               .width = other ? g->height : g->width});
}

// ---- Checks -------------------------------------------------------------------------------------

bool grid_must(struct grid_plan *p, uint32_t number, uint8_t status) {
    const struct grid_node *n = node(p, number);
    if (n->op == GRID_NUMBER)
        return n->value != 0;
    for (uint32_t i = 0; i < p->checks.count; i++)
        if (p->checks.items[i].number == number)
            return true; // the first of them is met first
    *vec_push(&p->arena, &p->checks) = (struct grid_check){p->nodes.count, number, status};
    return true;
}

void grid_plan_free(struct grid_plan *p) {
    if (!p)
        return;
    struct arena arena = p->arena; // which holds the plan
    arena.oom = NULL;
    arena_free(&arena);
}
