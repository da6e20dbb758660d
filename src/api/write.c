// SPDX-License-Identifier: MIT
// Results that are in memory into a file: the one that a run into it would have made.
//
// The list of arrays is made again, of the solver and the batch, and the sink of a run gets what
// the caller has, piece by piece, with what the batch says besides. Nothing is computed again.
#include "api/front.h"
#include "api/solver.h"

#include "io/io.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_ROWS = 1 << 16, PIECE_VALUES = 1 << 20 };

struct writing {
    const struct result_list *list;
    const struct batch *batch;
    const struct table *groups; // of a reduced result: the columns that it is by; else NULL
    struct written from;
    uint64_t *run;     // of the piece: which runs its rows are,
    uint64_t *offsets; // and their samples, where they have their own
    void **made;       // for each array, what is nowhere as the sink sees it
    struct result_view *view;
};

// ---- A piece ------------------------------------------------------------------------------------

static bool is_made(const struct writing *w, uint32_t i) {
    const struct result_array *a = &w->list->array[i];
    if (a->from == FROM_COLUMN)
        return !w->groups;
    return a->axes == AXES_PER_RUN && a->from != FROM_RUN && w->from.to[i].row_stride != 1;
}

static const void *column(const struct writing *w, uint32_t i, uint64_t first, uint32_t rows) {
    if (w->groups) {
        const struct table_column *c = &w->groups->columns.items[w->list->array[i].index];
        return c->text ? (const void *)(c->text + first) : c->number + first;
    }
    run_fill_known(w->batch, &w->list->array[i], first, rows, w->made[i]);
    return w->made[i];
}

// Values that lie apart, one behind the other.
static const void *gathered(const struct writing *w, uint32_t i, const char *data, uint32_t rows) {
    size_t bytes = result_type_bytes(w->list->array[i].type);
    size_t stride = w->from.to[i].row_stride * bytes;
    for (uint32_t k = 0; k < rows; k++)
        memcpy((char *)w->made[i] + k * bytes, data + k * stride, bytes);
    return w->made[i];
}

static const void *data_of(const struct writing *w, uint32_t i, uint64_t first, uint32_t rows) {
    const struct result_array *a = &w->list->array[i];
    const struct array_target *from = &w->from.to[i];
    size_t bytes = result_type_bytes(a->type);
    if (a->from == FROM_RUN)
        return w->run;
    if (a->from == FROM_COLUMN)
        return column(w, i, first, rows);
    if (a->axes == AXES_OFFSETS)
        return w->offsets;
    if (!from->data || a->axes == AXES_GRID)
        return NULL;
    if (a->axes == AXES_FLAT)
        return (const char *)from->data + w->from.offsets[first] * bytes;
    const char *data = (const char *)from->data + first * from->row_stride * bytes;
    return is_made(w, i) ? gathered(w, i, data, rows) : data;
}

static void make_piece(struct writing *w, uint64_t first, uint32_t rows) {
    if (!w->groups)
        batch_fill_runs(w->batch, first, rows, w->run);
    for (uint32_t k = 0; w->from.offsets && k <= rows; k++)
        w->offsets[k] = w->from.offsets[first + k] - w->from.offsets[first];
    for (uint32_t i = 0; i < w->list->count; i++)
        if (w->list->array[i].wanted)
            w->view[i] = (struct result_view){data_of(w, i, first, rows), w->from.to[i].row_stride,
                                              w->from.to[i].sample_stride};
}

// ---- All ----------------------------------------------------------------------------------------

static bool make_room(struct writing *w, uint32_t rows, struct arena *arena) {
    w->run = arena_new(arena, uint64_t, rows);
    w->offsets = arena_new(arena, uint64_t, rows + 1);
    w->made = arena_new(arena, void *, w->list->count);
    w->view = arena_new(arena, struct result_view, w->list->count);
    bool good = w->run && w->offsets && w->made && w->view;
    for (uint32_t i = 0; good && i < w->list->count; i++)
        if (is_made(w, i))
            good = (w->made[i] = arena_alloc(
                        arena, (size_t)rows * result_type_bytes(w->list->array[i].type))) != NULL;
    return good;
}

// Rows of a piece from `first` on, so that a sink has not too much at a time.
static uint32_t rows_at(const struct writing *w, uint64_t first) {
    uint64_t values = 1, rows = w->from.rows - first;
    for (uint32_t i = 0; i < w->list->count; i++)
        if (w->list->array[i].axes != AXES_FLAT)
            values += result_width(w->list, &w->list->array[i]);
    uint64_t most = PIECE_VALUES / values + 1;
    most = most < PIECE_ROWS ? most : PIECE_ROWS;
    rows = rows < most ? rows : most;
    const uint64_t *offsets = w->from.offsets;
    while (offsets && rows > 1 && offsets[first + rows] - offsets[first] > PIECE_VALUES)
        rows /= 2;
    return (uint32_t)rows;
}

static shoal_code put_all(struct writing *w, struct result_list *list, struct sink *sink,
                          struct arena *arena, struct report *r) {
    shoal_code code = sink->begin(sink, list, r);
    uint64_t most = w->from.rows < PIECE_ROWS ? w->from.rows : PIECE_ROWS;
    if (code == SHOAL_OK && !make_room(w, (uint32_t)most, arena))
        code = report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint64_t first = 0, rows; first < w->from.rows && code == SHOAL_OK; first += rows) {
        rows = rows_at(w, first);
        make_piece(w, first, (uint32_t)rows);
        struct result_chunk c = {.first_row = first,
                                 .rows = (uint32_t)rows,
                                 .offsets = w->from.offsets ? w->offsets : NULL,
                                 .view = w->view};
        code = sink->chunk(sink, &c, r);
    }
    return code == SHOAL_OK ? sink->end(sink, w->from.complete, r) : code;
}

// Makes the list, asks where its arrays are, and writes.
static shoal_code write_list(shoal_solver *s, const struct batch *b, written_find *find, void *user,
                             const char *meta, struct sink *sink, struct report *r) {
    struct arena arena = {0};
    struct result_list list;
    struct reduce_plan reduced;
    struct writing w = {.list = &list, .batch = b};
    shoal_code code = run_list(s->plan, b, meta, &arena, &list, r);
    if (code == SHOAL_OK && s->reduce.items.count) {
        code = solver_reduced(s, b, &list, &arena, &reduced, r);
        if (code == SHOAL_OK) {
            list = reduced.list.list;
            w.groups = &reduced.columns;
        }
    }
    w.from.to = code == SHOAL_OK ? arena_new(&arena, struct array_target, list.count) : NULL;
    if (code == SHOAL_OK)
        code = w.from.to ? find(user, &list, &w.from, r)
                         : report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; code == SHOAL_OK && i < list.count; i++)
        list.array[i].wanted = true;
    if (code == SHOAL_OK)
        code = put_all(&w, &list, sink, &arena, r);
    arena_free(&arena);
    return code;
}

shoal_code solver_write_found(shoal_solver *s, const shoal_batch *batch, const char *path,
                              const char *call, written_find *find, void *user, shoal_log *log) {
    struct sink *sink = NULL;
    struct buf meta = {0};
    shoal_code code = solver_enter_batch(s, batch, call, log);
    if (code != SHOAL_OK)
        return code;
    code = io_sink_new(path, s->plan->threads, &sink, log_report(log));
    if (code == SHOAL_OK) {
        solver_meta(front_shown(s), batch, &meta);
        code = meta.failed
                   ? report_error(log_report(log), SHOAL_MEMORY, "out of memory")
                   : write_list(s, batch->batch, find, user, meta.data, sink, log_report(log));
    }
    if (sink)
        sink->free(sink);
    buf_free(&meta);
    solver_leave(s);
    return code;
}
