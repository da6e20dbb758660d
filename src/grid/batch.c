// SPDX-License-Identifier: MIT
// Grids of a batch and their results: where each lies, and what becomes of its shape.
#include "grid/batch.h"

#include "log/log.h"

#include <string.h>

size_t grid_type_bytes(enum grid_type type) {
#define GRID_BYTES(name, word, ctype, least, most) sizeof(ctype),
    static const size_t bytes[] = {GRID_TYPES(GRID_BYTES)};
    return bytes[type];
}

shoal_code batch_no_memory(shoal_log *log) {
    return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
}

shoal_code batch_too_small(const struct grid_result *out, shoal_log *log) {
    return report_error(log_report(log), SHOAL_USAGE,
                        "there is room for %llu cells, and results have %llu",
                        (unsigned long long)out->room, (unsigned long long)out->needed);
}

// ---- Grids of a batch ---------------------------------------------------------------------------

uint64_t batch_before(const struct grid_batch *b, uint64_t i) {
    return b->shapes ? b->offsets[i] : i * (uint64_t)b->height * (uint64_t)b->width;
}

struct stages_in batch_grid(const struct grid_batch *b, uint64_t i) {
    const char *cells = b->cells;
    return (struct stages_in){.cells = cells + batch_before(b, i) * grid_type_bytes(b->type),
                              .type = b->type,
                              .height = b->shapes ? b->shapes[2 * i] : b->height,
                              .width = b->shapes ? b->shapes[2 * i + 1] : b->width};
}

static uint64_t batch_cells(const struct grid_batch *b, uint64_t i) {
    struct stages_in g = batch_grid(b, i);
    return g.height > 0 && g.width > 0 ? (uint64_t)g.height * (uint64_t)g.width : 0;
}

// Cells of all grids from one up to another, as they lie in memory.
uint64_t batch_between(const struct grid_batch *b, uint64_t first, uint64_t end) {
    return first == end
               ? 0
               : batch_before(b, end - 1) + batch_cells(b, end - 1) - batch_before(b, first);
}

// ---- Shapes -------------------------------------------------------------------------------------

void batch_set_shape(struct grid_result *out, uint64_t i, const struct stages_out *s) {
    bool ok = s->status == GRID_STATUS_OK;
    out->status[i] = (unsigned char)s->status;
    out->shapes[2 * i] = ok ? s->height : 0;
    out->shapes[2 * i + 1] = ok ? s->width : 0;
}

// What becomes of a shape, which is remembered: grids of many batches have few of them.
const struct stages_out *batch_find_shape(struct grid_runner *r, struct stages **s,
                                          const struct stages_in *g) {
    struct grid_shape *known =
        &r->shape[((uint32_t)g->height * 32 + (uint32_t)g->width) % GRID_SHAPES];
    if (known->height == g->height && known->width == g->width && g->height)
        return &known->out;
    if (!*s && !(*s = stages_new(r->plan)))
        return NULL;
    known->height = 0;
    if (!stages_run(*s, g, true, NULL, &known->out))
        return NULL;
    known->height = g->height;
    known->width = g->width;
    return &known->out;
}

// All results are like that of the first.
static void set_all(const struct stages_out *first, uint64_t count, struct grid_result *out) {
    bool ok = first->status == GRID_STATUS_OK;
    const int32_t height = ok ? first->height : 0, width = ok ? first->width : 0;
    int32_t *shape = out->shapes;
    memset(out->status, (int)first->status, count);
    for (uint64_t i = 0; i < count; i++, shape += 2) {
        shape[0] = height;
        shape[1] = width;
    }
}

// Shapes that the input's shape decides.
shoal_code batch_known_shapes(struct grid_runner *r, const struct grid_batch *b,
                              struct grid_result *out, shoal_log *log) {
    struct stages *s = NULL;
    const struct stages_out *found = NULL;
    uint64_t count = b->shapes ? b->count : 1, i = 0;
    for (; i < count; i++) {
        struct stages_in g = batch_grid(b, i);
        found = batch_find_shape(r, &s, &g);
        if (!found)
            break;
        if (b->shapes)
            batch_set_shape(out, i, found);
    }
    stages_free(s);
    if (found && !b->shapes)
        set_all(found, b->count, out);
    return i == count ? SHOAL_OK : batch_no_memory(log);
}

// Results lie one behind the other.
void batch_set_offsets(struct grid_result *out, uint64_t first, uint64_t end) {
    uint64_t at = first ? out->offsets[first - 1] + (uint64_t)out->shapes[2 * first - 2] *
                                                        (uint64_t)out->shapes[2 * first - 1]
                        : 0;
    const uint64_t each = (uint64_t)out->height * (uint64_t)out->width;
    for (uint64_t i = first; out->stack && i < end; i++, at += each)
        out->offsets[i] = at;
    for (uint64_t i = first; !out->stack && i < end; i++) {
        out->offsets[i] = at;
        at += (uint64_t)out->shapes[2 * i] * (uint64_t)out->shapes[2 * i + 1];
    }
    out->needed = at;
}

// A stack has a place for every grid.
void batch_set_stack(const struct grid_batch *b, struct grid_result *out) {
    out->stack = !b->shapes && b->count && out->status[0] == GRID_STATUS_OK;
    if (!out->stack)
        return;
    out->height = out->shapes[0];
    out->width = out->shapes[1];
}

uint64_t grid_cells_before(const struct grid_result *out, uint64_t i) {
    if (out->stack)
        return i * (uint64_t)out->height * (uint64_t)out->width;
    return i == 0 ? 0
                  : out->offsets[i - 1] +
                        (uint64_t)out->shapes[2 * i - 2] * (uint64_t)out->shapes[2 * i - 1];
}

// ---- Marks --------------------------------------------------------------------------------------

static void clear_cells(struct grid_result *out, uint64_t i) {
    size_t bytes = grid_type_bytes(out->type);
    uint64_t count = (uint64_t)out->height * (uint64_t)out->width;
    if (out->stack && out->cells && !out->keep)
        memset((char *)out->cells + i * count * bytes, 0, count * bytes);
    else if (!out->stack || !out->cells)
        out->shapes[2 * i] = out->shapes[2 * i + 1] = 0;
}

void grid_mark(struct grid_result *out, uint64_t i, enum grid_status status) {
    out->status[i] = (unsigned char)status;
    clear_cells(out, i);
}

// Grids of one shape that no pipeline takes are all marked.
bool batch_mark_all(const struct grid_batch *b, struct grid_result *out) {
    bool empty = b->height < 1 || b->width < 1;
    bool large = b->height > GRID_SIDE_MOST || b->width > GRID_SIDE_MOST;
    if (b->shapes || !(empty || large))
        return false;
    struct stages_out marked = {.status = empty ? GRID_STATUS_EMPTY : GRID_STATUS_SIZE};
    for (uint64_t i = 0; i < b->count; i++) {
        batch_set_shape(out, i, &marked);
        out->offsets[i] = 0;
    }
    out->needed = 0;
    return true;
}

// ---- Sizes --------------------------------------------------------------------------------------

static int32_t side_bound(const struct grid_plan *p, uint32_t number, int32_t h, int32_t w) {
    const struct grid_node *n = grid_at(p, number);
    switch ((int)n->op) {
    case GRID_NUMBER:
        return n->value;
    case GRID_IN_HEIGHT:
        return h;
    case GRID_IN_WIDTH:
        return w;
    case GRID_BOX_HEIGHT:
        return side_bound(p, grid_at(p, n->arg[0])->height, h, w);
    case GRID_BOX_WIDTH:
        return side_bound(p, grid_at(p, n->arg[0])->width, h, w);
    default:
        return GRID_SIDE_MOST;
    }
}

// Cells that a grid of the plan has at most, for inputs up to a size: those that are stored may be
// any of them, and so may bits of generations, which want to be aligned.
uint64_t batch_bound(const struct grid_plan *p, int32_t h, int32_t w) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        const struct grid_node *n = grid_at(p, i);
        if (!n->cells)
            continue;
        uint64_t rows = (uint64_t)side_bound(p, n->height, h, w);
        uint64_t columns = (uint64_t)side_bound(p, n->width, h, w), cells = rows * columns;
        if (n->op == GRID_STEP && GRID_STEP_CELLS(rows, columns) > cells)
            cells = GRID_STEP_CELLS(rows, columns);
        most = cells > most ? cells : most;
    }
    return (most + 63) & ~(uint64_t)63;
}

void batch_largest(const struct grid_batch *b, int32_t *h, int32_t *w) {
    *h = b->shapes ? 1 : b->height;
    *w = b->shapes ? 1 : b->width;
    for (uint64_t i = 0; b->shapes && i < b->count; i++) {
        struct stages_in g = batch_grid(b, i);
        *h = g.height > *h && g.height <= GRID_SIDE_MOST ? g.height : *h;
        *w = g.width > *w && g.width <= GRID_SIDE_MOST ? g.width : *w;
    }
}
