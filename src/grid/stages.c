// SPDX-License-Identifier: MIT
// One function for each operation, on grids of ints; numbers are computed like cells.
//
// A grid or number that may be none has bytes beside its values that say so. A grid is computed
// when its turn comes and its memory is given back behind its last use.
#include "grid/stages.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
#define NOINLINE static
#define stop_asked(stop) ((stop) && __atomic_load_n((stop), __ATOMIC_RELAXED))
#include "grid/cell.h"

#include "../kernels/grid/bits.h"
#include "../kernels/grid/whole.h"

struct plane {
    int32_t *cells;      // of a grid
    unsigned char *none; // of a grid that fails
    int32_t value;       // of a number
    bool bad;            // a number that is none; of a whole grid that all its cells are
    int32_t height, width;
};

struct stages {
    const struct grid_plan *plan;
    struct plane *plane;    // [nodes]
    uint32_t *last;         // [nodes]: the last node that looks at it
    unsigned char *needed;  // [nodes]: for cells of the result
    unsigned char *checked; // [nodes]: for shapes and checks
    const struct stages_in *in;
    const volatile int *stop;
};

static size_t count_of(const struct plane *p) { return (size_t)p->height * (size_t)p->width; }

// ---- What is needed, and how long ---------------------------------------------------------------

// Those that are marked need what they are made of.
static void spread(const struct grid_plan *p, unsigned char *mark) {
    for (uint32_t i = p->nodes.count; i-- > 0;) {
        const struct grid_node *n = grid_at(p, i);
        if (!mark[i])
            continue;
        for (uint32_t k = 0; k < n->args; k++)
            mark[n->arg[k]] = 1;
        if (n->cells)
            mark[n->height] = mark[n->width] = 1;
    }
}

static void find_needs(struct stages *s) {
    const struct grid_plan *p = s->plan;
    const struct grid_node *result = grid_at(p, p->result);
    s->checked[result->height] = s->checked[result->width] = s->needed[p->result] = 1;
    for (uint32_t i = 0; i < p->checks.count; i++)
        s->checked[p->checks.items[i].number] = 1;
    spread(p, s->checked);
    spread(p, s->needed);
    for (uint32_t i = 0; i < p->nodes.count; i++)
        for (uint32_t k = 0; k < grid_at(p, i)->args; k++)
            s->last[grid_at(p, i)->arg[k]] = i;
    s->last[p->result] = UINT32_MAX;
}

struct stages *stages_new(const struct grid_plan *plan) {
    struct stages *s = calloc(1, sizeof *s);
    uint32_t count = plan->nodes.count;
    if (!s)
        return NULL;
    s->plan = plan;
    s->plane = calloc(count, sizeof *s->plane);
    s->last = calloc(count, sizeof *s->last);
    s->needed = calloc(count, 1);
    s->checked = calloc(count, 1);
    if (!s->plane || !s->last || !s->needed || !s->checked) {
        stages_free(s);
        return NULL;
    }
    find_needs(s);
    return s;
}

static void plane_free(struct plane *p) {
    free(p->cells);
    free(p->none);
    p->cells = NULL;
    p->none = NULL;
}

void stages_free(struct stages *s) {
    if (!s)
        return;
    for (uint32_t i = 0; s->plane && i < s->plan->nodes.count; i++)
        plane_free(&s->plane[i]);
    free(s->plane);
    free(s->last);
    free(s->needed);
    free(s->checked);
    free(s);
}

// ---- Cell by cell -------------------------------------------------------------------------------

// A value that may be none.
struct maybe {
    int32_t value;
    bool none;
};

static struct maybe look(const struct plane *p, bool cells, size_t i) {
    if (!cells)
        return (struct maybe){p->value, p->bad};
    return (struct maybe){p->cells[i], p->none && p->none[i]};
}

// AND, OR and SELECT look only where they must.
static struct maybe combine(const struct grid_node *n, struct maybe a, struct maybe b,
                            struct maybe c) {
    struct maybe r = {cell_compute((enum grid_op)n->op, a.value, b.value, c.value), false};
    if (n->op == GRID_SELECT)
        r.none = a.none || (a.value ? b.none : c.none);
    else if (n->op == GRID_AND)
        r.none = a.none || (a.value && b.none);
    else if (n->op == GRID_OR)
        r.none = a.none || (!a.value && b.none);
    else
        r.none = a.none || b.none || ((n->op == GRID_DIV || n->op == GRID_MOD) && b.value == 0);
    return r;
}

static struct maybe arg_at(const struct stages *s, const struct grid_node *n, uint32_t k,
                           size_t i) {
    if (k >= n->args)
        return (struct maybe){0};
    return look(&s->plane[n->arg[k]], grid_at(s->plan, n->arg[k])->cells, i);
}

static void stage_number(const struct stages *s, const struct grid_node *n, struct plane *out) {
    struct maybe r = combine(n, arg_at(s, n, 0, 0), arg_at(s, n, 1, 0), arg_at(s, n, 2, 0));
    out->value = r.value;
    out->bad = r.none;
}

// Where nothing can be none: one loop for each operation, over cells and numbers (step 0).
struct run_of {
    const int32_t *cells;
    size_t step;
};

static struct run_of run_of(const struct stages *s, const struct grid_node *n, uint32_t k) {
    if (k >= n->args)
        return (struct run_of){&s->plane[n->arg[0]].value, 0};
    const struct plane *p = &s->plane[n->arg[k]];
    bool cells = grid_at(s->plan, n->arg[k])->cells;
    return (struct run_of){cells ? p->cells : &p->value, cells};
}

static void stage_quick(const struct stages *s, const struct grid_node *n, struct plane *out) {
    struct run_of a = run_of(s, n, 0), b = run_of(s, n, 1), c = run_of(s, n, 2);
    size_t count = count_of(out);
#define EACH(expression)                                                                           \
    for (size_t i = 0; i < count; i++) {                                                           \
        int32_t x = a.cells[i * a.step], y = b.cells[i * b.step], z = c.cells[i * c.step];         \
        (void)x, (void)y, (void)z;                                                                 \
        out->cells[i] = (expression);                                                              \
    }                                                                                              \
    break
    switch ((int)n->op) {
    case GRID_NEG:
        EACH(c_neg(x));
    case GRID_NOT:
        EACH(c_not(x));
    case GRID_ADD:
        EACH(c_add(x, y));
    case GRID_SUB:
        EACH(c_sub(x, y));
    case GRID_MUL:
        EACH(c_mul(x, y));
    case GRID_DIV:
        EACH(c_div(x, y));
    case GRID_MOD:
        EACH(c_mod(x, y));
    case GRID_LEAST:
        EACH(c_least(x, y));
    case GRID_MOST:
        EACH(c_most(x, y));
    case GRID_EQ:
        EACH(c_eq(x, y));
    case GRID_NE:
        EACH(c_ne(x, y));
    case GRID_LT:
        EACH(c_lt(x, y));
    case GRID_LE:
        EACH(c_le(x, y));
    case GRID_AND:
        EACH(c_and(x, y));
    case GRID_OR:
        EACH(c_or(x, y));
    default:
        EACH(c_select(x, y, z));
    }
#undef EACH
}

static void stage_cellwise(const struct stages *s, const struct grid_node *n, struct plane *out) {
    size_t count = count_of(out);
    if (!n->fails) {
        stage_quick(s, n, out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct maybe r = combine(n, arg_at(s, n, 0, i), arg_at(s, n, 1, i), arg_at(s, n, 2, i));
        out->cells[i] = r.value;
        if (out->none)
            out->none[i] = r.none;
    }
}

// ---- Leaves -------------------------------------------------------------------------------------

#define GRID_LOAD(name, word, ctype, least, most)                                                  \
    static void load_##name(const void *from, int32_t *to, size_t count) {                         \
        const ctype *cells = from;                                                                 \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = cells[i];                                                                      \
    }
GRID_TYPES(GRID_LOAD)
#define GRID_STORE(name, word, ctype, least, most)                                                 \
    static bool store_##name(const int32_t *from, void *to, size_t count) {                        \
        ctype *cells = to;                                                                         \
        bool fits = true;                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            fits &= from[i] >= (least) && from[i] <= (most);                                       \
            cells[i] = (ctype)from[i];                                                             \
        }                                                                                          \
        return fits;                                                                               \
    }
GRID_TYPES(GRID_STORE)

static void stage_in(const struct stages *s, struct plane *out) {
#define GRID_LOAD_ROW(name, word, ctype, least, most) load_##name,
    static void (*const load[])(const void *, int32_t *, size_t) = {GRID_TYPES(GRID_LOAD_ROW)};
    load[s->in->type](s->in->cells, out->cells, count_of(out));
}

static void stage_place(const struct grid_node *n, struct plane *out) {
    for (int32_t r = 0; r < out->height; r++)
        for (int32_t c = 0; c < out->width; c++)
            out->cells[r * out->width + c] = n->op == GRID_ROW ? r : n->op == GRID_COL ? c : 0;
}

// ---- Maps ---------------------------------------------------------------------------------------

static void copy_cell(const struct plane *from, int32_t i, struct plane *out, int32_t to) {
    out->cells[to] = from->cells[i];
    if (out->none && from->none)
        out->none[to] = from->none[i];
}

// A cell that comes from a number, or from nowhere.
static void set_cell(struct plane *out, int32_t to, struct maybe v) {
    out->cells[to] = v.value;
    if (out->none)
        out->none[to] = v.none;
}

static void turn_place(int32_t code, const struct plane *from, int32_t r, int32_t c, int32_t *y,
                       int32_t *x) {
    *y = code & GRID_TRANSPOSE ? c : r;
    *x = code & GRID_TRANSPOSE ? r : c;
    if (code & GRID_FLIP_ROWS)
        *y = from->height - 1 - *y;
    if (code & GRID_FLIP_COLS)
        *x = from->width - 1 - *x;
}

// Where a cell of the result comes from in argument *which; false: from nowhere.
static bool map_place(const struct grid_node *n, const struct plane *const a[GRID_ARGS], int32_t r,
                      int32_t c, uint32_t *which, int32_t *y, int32_t *x) {
    const struct plane *from = a[0];
    int32_t sign = n->op == GRID_SHIFT ? -1 : 1;
    *which = 0;
    *y = r;
    *x = c;
    switch ((int)n->op) {
    case GRID_TURN:
        turn_place(n->value, from, r, c, y, x);
        break;
    case GRID_SHIFT:
    case GRID_AT:
        *y = border_place(r, sign, a[1]->value, from->height, n->border);
        *x = border_place(c, sign, a[2]->value, from->width, n->border);
        break;
    case GRID_CROP:
        *y = r + a[1]->value, *x = c + a[2]->value;
        break;
    case GRID_PAD:
        *y = r - a[1]->value, *x = c - a[1]->value;
        break;
    case GRID_TILE:
        *y = r % from->height, *x = c % from->width;
        break;
    case GRID_UPSCALE:
        *y = r / a[1]->value, *x = c / a[1]->value;
        break;
    case GRID_DOWNSCALE:
        *y = r * a[1]->value, *x = c * a[1]->value;
        break;
    case GRID_HCONCAT:
        *which = c >= from->width;
        *x = *which ? c - from->width : c;
        break;
    default:
        *which = r >= from->height;
        *y = *which ? r - from->height : r;
    }
    return *y >= 0 && *x >= 0 && *y < a[*which]->height && *x < a[*which]->width;
}

// A move whose rows are copied as they are, but for their ends.
static void stage_move(const struct stages *s, const struct grid_node *n, struct plane *out) {
    const struct plane *from = &s->plane[n->arg[0]];
    int32_t sign = n->op == GRID_SHIFT ? -1 : 1, dx = s->plane[n->arg[2]].value;
    for (int32_t r = 0; r < out->height; r++) {
        int32_t y = border_place(r, sign, s->plane[n->arg[1]].value, from->height, n->border);
        int32_t *to = out->cells + r * out->width;
        const int32_t *row = from->cells + c_most(y, 0) * from->width;
        for (int32_t c = 0; c < out->width; c++) {
            int32_t x = border_place(c, sign, dx, from->width, n->border);
            to[c] = y < 0 || x < 0 ? 0 : row[x];
        }
    }
}

static void stage_map(const struct stages *s, const struct grid_node *n, struct plane *out) {
    if ((n->op == GRID_SHIFT || n->op == GRID_AT) && !n->fails) {
        stage_move(s, n, out);
        return;
    }
    const struct plane *a[GRID_ARGS] = {0};
    struct maybe outside = n->op == GRID_PAD ? arg_at(s, n, 2, 0) : (struct maybe){0};
    for (uint32_t k = 0; k < n->args; k++)
        a[k] = &s->plane[n->arg[k]];
    // An offset that is none leaves no cell in its place.
    bool lost = (n->op == GRID_SHIFT || n->op == GRID_AT) && (a[1]->bad || a[2]->bad);
    for (int32_t r = 0; r < out->height; r++)
        for (int32_t c = 0; c < out->width; c++) {
            uint32_t which;
            int32_t y, x, to = r * out->width + c;
            if (lost)
                set_cell(out, to, (struct maybe){0, true});
            else if (map_place(n, a, r, c, &which, &y, &x))
                copy_cell(a[which], y * a[which]->width + x, out, to);
            else
                set_cell(out, to, outside);
        }
}

// ---- Whole grids --------------------------------------------------------------------------------

static bool any_none(const struct plane *p) { return p->none && memchr(p->none, 1, count_of(p)); }

static void stage_box(const struct grid_node *n, const struct plane *a, struct plane *out) {
    int32_t first[2] = {a->height, a->width}, last[2] = {-1, -1};
    for (int32_t r = 0; r < a->height; r++)
        for (int32_t c = 0; c < a->width; c++)
            if (a->cells[r * a->width + c]) {
                first[0] = c_least(first[0], r), last[0] = c_most(last[0], r);
                first[1] = c_least(first[1], c), last[1] = c_most(last[1], c);
            }
    int32_t axis = (n->op - GRID_BOX_ROW) % 2;
    bool side = n->op >= GRID_BOX_HEIGHT, found = last[0] >= 0;
    out->value = !found ? 0 : side ? last[axis] - first[axis] + 1 : first[axis];
}

static void stage_fold(const struct grid_node *n, const struct plane *a, struct plane *out) {
    size_t count = count_of(a);
    out->value = n->op == GRID_SUM ? 0 : a->cells[0];
    for (size_t i = 0; i < count; i++)
        out->value = n->op == GRID_SUM   ? c_add(out->value, a->cells[i])
                     : n->op == GRID_MIN ? c_least(out->value, a->cells[i])
                                         : c_most(out->value, a->cells[i]);
}

static bool stage_reduction(const struct stages *s, const struct grid_node *n, struct plane *out) {
    const struct plane *a = &s->plane[n->arg[0]];
    out->bad = any_none(a);
    if (n->op >= GRID_BOX_ROW) {
        stage_box(n, a, out);
    } else if (n->op == GRID_MOST_COMMON || n->op == GRID_LEAST_COMMON) {
        int32_t *room = malloc(count_of(a) * sizeof *room);
        if (!room)
            return false;
        out->value =
            whole_common(a->cells, room, (int)count_of(a), n->op == GRID_MOST_COMMON ? 1 : -1);
        free(room);
    } else {
        stage_fold(n, a, out);
    }
    return true;
}

static bool stage_whole(const struct stages *s, const struct grid_node *n, struct plane *out) {
    const struct plane *a = &s->plane[n->arg[0]];
    int32_t h = a->height, w = a->width;
    size_t count = count_of(a), bits = (size_t)GRID_STEP_CELLS(h, w);
    int32_t *room = malloc((n->op == GRID_STEP && bits > count ? bits : count) * sizeof *room);
    const struct plane *b = n->args > 1 ? &s->plane[n->arg[1]] : NULL;
    if (!room)
        return false;
    switch ((int)n->op) {
    case GRID_LABEL4:
    case GRID_LABEL8:
        whole_label(a->cells, room, out->cells, h, w, n->op == GRID_LABEL8);
        break;
    case GRID_SIZE4:
    case GRID_SIZE8:
        whole_size(a->cells, room, out->cells, h, w, n->op == GRID_SIZE8);
        break;
    case GRID_FLOOD:
        whole_flood(a->cells, room, out->cells, h, w, b->value, s->plane[n->arg[2]].value);
        break;
    case GRID_STEP:
        whole_step(a->cells, room, out->cells, h, w, n->value, b->value, n->border, s->stop);
        break;
    default:
        whole_histogram(a->cells, out->cells, (int)count, out->width);
    }
    if (out->none)
        memset(out->none, any_none(a), count_of(out));
    free(room);
    return true;
}

// ---- A grid -------------------------------------------------------------------------------------

static bool make_room(const struct stages *s, const struct grid_node *n, struct plane *out) {
    out->height = s->plane[n->height].value;
    out->width = s->plane[n->width].value;
    plane_free(out);
    out->cells = malloc(count_of(out) * sizeof *out->cells);
    out->none = n->fails ? calloc(count_of(out), 1) : NULL;
    return out->cells && (out->none || !n->fails);
}

static bool run_node(struct stages *s, uint32_t i) {
    const struct grid_node *n = grid_at(s->plan, i);
    struct plane *out = &s->plane[i];
    enum grid_op op = (enum grid_op)n->op;
    if (n->cells && !make_room(s, n, out))
        return false;
    if (op == GRID_NUMBER)
        out->value = n->value;
    else if (op == GRID_IN_HEIGHT || op == GRID_IN_WIDTH)
        out->value = op == GRID_IN_HEIGHT ? s->in->height : s->in->width;
    else if (op == GRID_IN)
        stage_in(s, out);
    else if (op == GRID_VOID || op == GRID_ROW || op == GRID_COL)
        stage_place(n, out);
    else if (grid_is_cellwise(op) && n->cells)
        stage_cellwise(s, n, out);
    else if (grid_is_cellwise(op))
        stage_number(s, n, out);
    else if (grid_is_map(op))
        stage_map(s, n, out);
    else if (grid_is_reduction(op))
        return stage_reduction(s, n, out);
    else
        return stage_whole(s, n, out);
    return true;
}

static enum grid_status check(const struct stages *s, const struct grid_check *c) {
    const struct plane *p = &s->plane[c->number];
    return p->bad ? GRID_STATUS_DIVISION : p->value ? GRID_STATUS_OK : (enum grid_status)c->status;
}

static void forget(struct stages *s, uint32_t i) {
    const struct grid_node *n = grid_at(s->plan, i);
    for (uint32_t k = 0; k < n->args; k++)
        if (s->last[n->arg[k]] == i)
            plane_free(&s->plane[n->arg[k]]);
}

static enum grid_status judge_input(const struct stages_in *in) {
    if (in->height < 1 || in->width < 1)
        return GRID_STATUS_EMPTY;
    bool large = in->height > GRID_SIDE_MOST || in->width > GRID_SIDE_MOST;
    return large ? GRID_STATUS_SIZE : GRID_STATUS_OK;
}

static void finish(const struct stages *s, bool shapes_only, struct stages_out *out) {
    const struct grid_node *n = grid_at(s->plan, s->plan->result);
    out->height = s->plane[n->height].value;
    out->width = s->plane[n->width].value;
    if (!shapes_only && any_none(&s->plane[s->plan->result]))
        out->status = GRID_STATUS_DIVISION;
}

bool stages_run(struct stages *s, const struct stages_in *in, bool shapes_only,
                const volatile int *stop, struct stages_out *out) {
    const struct grid_plan *p = s->plan;
    uint32_t c = 0;
    s->in = in;
    s->stop = stop;
    *out = (struct stages_out){.status = judge_input(in)};
    for (uint32_t i = 0; i <= p->nodes.count && out->status == GRID_STATUS_OK; i++) {
        for (; c < p->checks.count && p->checks.items[c].before == i && !out->status; c++)
            out->status = check(s, &p->checks.items[c]);
        if (i == p->nodes.count || out->status)
            break;
        bool wanted = s->checked[i] || (!shapes_only && s->needed[i]);
        if (wanted && !run_node(s, i))
            return false;
        if (stop_asked(stop))
            return false;
        forget(s, i);
    }
    if (out->status == GRID_STATUS_OK)
        finish(s, shapes_only, out);
    return true;
}

bool stages_store(const struct stages *s, enum grid_type type, void *cells) {
#define GRID_STORE_ROW(name, word, ctype, least, most) store_##name,
    static bool (*const store[])(const int32_t *, void *, size_t) = {GRID_TYPES(GRID_STORE_ROW)};
    const struct plane *p = &s->plane[s->plan->result];
    return store[type](p->cells, cells, count_of(p));
}
