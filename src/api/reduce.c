// SPDX-License-Identifier: MIT
// See reduce.h. A chunk is gone through in slices of rows: they are cut into parts of groups, and
// then each thread takes some cells, that is columns at one time, and adds their values.
#include "api/reduce.h"

#include "io/snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLICE = 4 * QUANTILE_BLOCK };

struct reduce_sink {
    struct sink base;
    struct reduce_order order;
    const struct batch *batch;
    struct sink *to;
    struct arena arena;
    struct reduce_plan plan;
    const struct result_list *list; // of the runs
    uint32_t run, status;           // arrays of it
    struct reduce reduce;
    struct snapshot snapshot;
    void **data; // [arrays of the new list]
    struct result_view *view;
    uint32_t rows; // of the slice
    bool good[SLICE];
    struct reduce_part part[SLICE];
    uint32_t parts;
    uint32_t first; // row of the chunk
    const struct result_chunk *chunk;
    int failed; // memory; atomic
};

static shoal_code no_memory(struct report *r) {
    return report_error(r, SHOAL_MEMORY, "--reduce: out of memory");
}

// ---- Plan ---------------------------------------------------------------------------------------

static uint64_t memory_of(const struct reduce_order *o) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return o->memory ? o->memory : (uint64_t)pages * (uint64_t)page / 2;
}

static uint64_t add_bytes(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static shoal_code check_bytes(const struct reduce_order *o, const struct reduce_plan *p,
                              struct report *r) {
    uint64_t most = memory_of(o);
    if (p->bytes <= most && p->by.axes.groups < UINT32_MAX)
        return SHOAL_OK;
    return report_error(r, SHOAL_MEMORY,
                        "--reduce: %llu groups x %llu columns and times take %.3g MB, and %s %.3g "
                        "MB; name less in --by, save fewer times or variables, or raise --memory",
                        (unsigned long long)p->by.axes.groups, (unsigned long long)p->list.cells,
                        (double)p->bytes * 1e-6, o->memory ? "--memory is" : "there are",
                        (double)most * 1e-6);
}

static const uint64_t *shape_of(const struct batch_by *by, struct arena *arena) {
    uint64_t *shape = arena_new(arena, uint64_t, by->shape.count + 1);
    for (uint32_t i = 0; i < by->shape.count; i++)
        shape[i] = by->shape.items[i].keys;
    return shape;
}

// The axis that each named column is of.
static const uint32_t *axes_along(const struct batch_by *by, struct arena *arena) {
    uint32_t *along = arena_new(arena, uint32_t, by->named.count + 1);
    for (uint32_t i = 0; i < by->named.count; i++)
        while (by->shape.items[along[i]].group != by->named.items[i].group)
            along[i]++;
    return along;
}

static uint64_t result_bytes(const struct reduce_plan *p, const struct reduce_spec *spec) {
    uint64_t bytes;
    if (__builtin_mul_overflow(p->by.axes.groups, p->list.cells + p->by.named.count + 1, &bytes) ||
        __builtin_mul_overflow(bytes, (spec->items.count + 1) * sizeof(double), &bytes))
        return UINT64_MAX;
    return bytes;
}

shoal_code reduce_plan_make(const struct reduce_order *o, const struct batch *b,
                            const struct result_list *list, struct arena *arena,
                            struct reduce_plan *out, struct report *r) {
    enum { AXES_MOST = RESULT_SHAPE_MOST - RESULT_AXES };
    *out = (struct reduce_plan){0};
    shoal_code code = batch_group(b, o->by, arena, &out->by, r);
    if (code != SHOAL_OK)
        return code;
    if (out->by.shape.count > AXES_MOST)
        return report_error(r, SHOAL_INPUT, "--by: a result has at most %d such axes", AXES_MOST);
    struct table none = {.rows = out->by.axes.groups};
    reduce_list_make(&out->list, list, o->spec, &none, NULL, NULL, 0, arena);
    out->bytes = add_bytes(
        reduce_bytes(o->spec, &out->by.axes, out->list.cells, batch_rows(b), batch_gaps(b)),
        result_bytes(out, o->spec));
    code = check_bytes(o, out, r);
    if (code != SHOAL_OK)
        return code;
    if (!batch_group_columns(b, &out->by, arena, &out->columns))
        return no_memory(r);
    reduce_list_make(&out->list, list, o->spec, &out->columns, axes_along(&out->by, arena),
                     shape_of(&out->by, arena), out->by.shape.count, arena);
    return SHOAL_OK;
}

// ---- States of earlier rows ---------------------------------------------------------------------

static void save(void *user, struct saved_to *to) {
    const struct reduce_sink *s = user;
    reduce_save(&s->reduce, to);
}

static shoal_code load(void *user, uint64_t rows, struct saved_from *from) {
    struct reduce_sink *s = user;
    struct reduce_scratch *scratch = malloc(sizeof *scratch);
    shoal_code code =
        scratch ? reduce_load(&s->reduce, &s->plan.by.axes, rows, from, scratch) : SHOAL_MEMORY;
    free(scratch);
    return code;
}

// Into what is empty, and is so again where that fails.
static shoal_code load_first(void *user, uint64_t rows, struct saved_from *from) {
    struct reduce_sink *s = user;
    shoal_code code = rows > batch_rows(s->batch) ? SHOAL_INPUT : load(s, rows, from);
    if (code == SHOAL_OK)
        return SHOAL_OK;
    reduce_free(&s->reduce);
    return reduce_make(&s->reduce, s->order.spec, s->plan.by.axes.groups, s->plan.list.cells)
               ? code
               : SHOAL_MEMORY;
}

shoal_code reduce_sink_load(struct sink *sink, struct journal_reader *d, struct sink_there *there,
                            struct report *r) {
    return snapshot_read(d, load, sink, there, r);
}

// ---- Begin --------------------------------------------------------------------------------------

// Whether a journal has the sum of it.
static bool is_counted(const struct result_list *list, uint32_t i) {
    const struct result_array *a = &list->array[i];
    return a == result_list_ours(list, FIELD_steps) ||
           a == result_list_ours(list, FIELD_rejected) ||
           a == result_list_ours(list, FIELD_f_evals);
}

// Of the runs only their numbers, how they ended and what is reduced is wanted.
static void choose(struct reduce_sink *s, struct result_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        enum result_role role = list->array[i].role;
        list->array[i].wanted =
            role == ROLE_RUN || role == ROLE_STATUS || (s->snapshot.order && is_counted(list, i));
        if (role == ROLE_RUN)
            s->run = i;
        else if (role == ROLE_STATUS)
            s->status = i;
    }
    for (uint32_t i = 0; i < s->plan.list.columns.count; i++)
        list->array[s->plan.list.columns.items[i].array].wanted = true;
}

static shoal_code begin(struct reduce_sink *s, struct result_list *list, struct report *r) {
    jmp_buf oom;
    s->arena.oom = &oom;
    shoal_code code = setjmp(oom)
                          ? no_memory(r)
                          : reduce_plan_make(&s->order, s->batch, list, &s->arena, &s->plan, r);
    s->arena.oom = NULL;
    if (code == SHOAL_OK &&
        !reduce_make(&s->reduce, s->order.spec, s->plan.by.axes.groups, s->plan.list.cells))
        code = no_memory(r);
    return code;
}

static void note_records(const struct result_list *list, struct report *r) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->array[i].role == ROLE_RECORD) {
            report_note(r, "--reduce: what is recorded of single runs is left out");
            return;
        }
}

static shoal_code reduce_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct reduce_sink *s = (struct reduce_sink *)sink;
    shoal_code code = begin(s, list, r);
    if (code == SHOAL_OK)
        code = snapshot_check(s->snapshot.order, r); // before anything is touched
    if (code != SHOAL_OK)
        return code;
    note_records(list, r);
    s->list = list;
    choose(s, list);
    code = s->to->begin(s->to, &s->plan.list.list, r);
    return code == SHOAL_OK ? snapshot_begin(&s->snapshot, &s->plan.list.list, &sink->there, r)
                            : code;
}

// ---- Chunks -------------------------------------------------------------------------------------

#define DEFINE_GATHER(type)                                                                        \
    static void gather_##type(const type *from, size_t stride, const bool *good, uint32_t rows,    \
                              double *out) {                                                       \
        for (uint32_t i = 0; i < rows; i++)                                                        \
            out[i] = good[i] ? (double)from[i * stride] : (double)NAN;                             \
    }
DEFINE_GATHER(float)
DEFINE_GATHER(double)

// Values of a cell in the rows of the slice; of those that failed NaN.
static void gather(const struct reduce_sink *s, const struct reduce_column *c, uint64_t sample,
                   double *out) {
    const struct result_array *a = &s->list->array[c->array];
    const struct result_view *v = &s->chunk->view[c->array];
    bool many = a->axes == AXES_PER_SAMPLE || a->axes == AXES_WIDE;
    size_t stride = many ? v->row_stride : 1;
    size_t at = s->first * stride + (many ? (size_t)sample * v->sample_stride : 0);
    if (a->type == TYPE_F32)
        gather_float((const float *)v->data + at, stride, s->good, s->rows, out);
    else
        gather_double((const double *)v->data + at, stride, s->good, s->rows, out);
}

// The column that a cell is of.
static const struct reduce_column *column_of(const struct reduce_list *l, uint64_t cell) {
    const struct reduce_column *c = l->columns.items;
    while (cell >= c->cell + c->cells)
        c++;
    return c;
}

struct work_space {
    struct reduce_scratch scratch;
    double value[SLICE];
};

static void put_cells(void *user, size_t first, size_t end) {
    struct reduce_sink *s = user;
    struct work_space *w = malloc(sizeof *w);
    bool ok = w != NULL;
    for (size_t cell = first; cell < end && ok; cell++) {
        const struct reduce_column *c = column_of(&s->plan.list, cell);
        gather(s, c, cell - c->cell, w->value);
        ok = reduce_put(&s->reduce, cell, s->part, s->parts, w->value, &w->scratch);
    }
    free(w);
    if (!ok)
        __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
}

static void put_slice(struct reduce_sink *s, uint32_t first, uint32_t rows) {
    const uint8_t *status = (const uint8_t *)s->chunk->view[s->status].data + first;
    const uint64_t *run = (const uint64_t *)s->chunk->view[s->run].data + first;
    s->first = first;
    s->rows = rows;
    s->parts = reduce_cut(&s->plan.by.axes, run, rows, s->part);
    for (uint32_t i = 0; i < rows; i++)
        s->good[i] = status[i] == SHOAL_STATUS_ok || status[i] == SHOAL_STATUS_stopped;
    for (uint32_t p = 0; p < s->parts; p++)
        for (uint32_t i = 0; i < s->part[p].rows; i++)
            s->reduce.failed[s->part[p].group] += !s->good[s->part[p].first + i];
    team_run(s->order.team, s->order.threads, s->reduce.cells, 1, put_cells, s);
}

static shoal_code reduce_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct reduce_sink *s = (struct reduce_sink *)sink;
    s->chunk = c;
    for (uint32_t first = 0; first < c->rows; first += SLICE)
        put_slice(s, first, c->rows - first < SLICE ? c->rows - first : SLICE);
    return s->failed ? no_memory(r) : snapshot_rows(&s->snapshot, s->list, c, r);
}

// ---- End ----------------------------------------------------------------------------------------

// What the new list shows, a dense array each.
static bool allocate(struct reduce_sink *s) {
    const struct result_list *l = &s->plan.list.list;
    s->data = calloc(l->count, sizeof *s->data);
    s->view = calloc(l->count, sizeof *s->view);
    for (uint32_t i = 0; s->data && s->view && i < l->count; i++) {
        const struct result_array *a = &l->array[i];
        size_t width = (size_t)result_width(l, a);
        if (a->from != FROM_STATISTICS || !a->wanted)
            continue;
        s->data[i] = malloc((size_t)l->of.rows * width * sizeof(double));
        if (!s->data[i])
            return false;
        s->view[i] = (struct result_view){s->data[i], width, 1};
    }
    return s->data && s->view;
}

// All groups of some cells.
static void finish_cells(void *user, size_t first, size_t end) {
    struct reduce_sink *s = user;
    const struct reduce_spec *spec = s->order.spec;
    struct reduce_scratch *scratch = malloc(sizeof *scratch);
    bool ok = scratch != NULL;
    for (size_t cell = first; cell < end && ok; cell++) {
        const struct reduce_column *c = column_of(&s->plan.list, cell);
        for (uint64_t g = 0; g < s->reduce.groups && ok; g++) {
            size_t at = (size_t)(g * c->cells + (cell - c->cell));
            ok = reduce_close(&s->reduce, g, cell, scratch);
            for (uint32_t i = 0; i < spec->items.count && ok; i++)
                if (s->data[c->first + i])
                    ((double *)s->data[c->first + i])[at] =
                        reduce_value(&s->reduce, g, cell, &spec->items.items[i]);
            if (s->data[c->first + spec->items.count])
                ((uint64_t *)s->data[c->first + spec->items.count])[at] =
                    reduce_count(&s->reduce, g, cell);
        }
    }
    free(scratch);
    if (!ok)
        __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
}

static void show_columns(struct reduce_sink *s) {
    const struct result_list *l = &s->plan.list.list;
    for (uint32_t i = 0; i < l->of.columns; i++) {
        const struct table_column *c = &s->plan.columns.columns.items[i];
        s->view[l->first_column + i].data = c->text ? (const void *)c->text : c->number;
    }
    uint32_t failed = s->plan.list.failed;
    if (s->data[failed])
        memcpy(s->data[failed], s->reduce.failed, s->reduce.groups * sizeof *s->reduce.failed);
}

static shoal_code reduce_end(struct sink *sink, bool complete, struct report *r) {
    struct reduce_sink *s = (struct reduce_sink *)sink;
    shoal_code code = snapshot_seal(&s->snapshot, complete, r);
    if (code != SHOAL_OK)
        return code;
    if (!allocate(s))
        return no_memory(r);
    show_columns(s);
    team_run(s->order.team, s->order.threads, s->reduce.cells, 1, finish_cells, s);
    if (s->failed)
        return no_memory(r);
    struct result_chunk all = {.rows = (uint32_t)s->reduce.groups, .view = s->view};
    code = s->to->chunk(s->to, &all, r);
    if (code == SHOAL_OK)
        code = s->to->end(s->to, complete, r);
    if (code == SHOAL_OK)
        snapshot_end(&s->snapshot, complete);
    return code;
}

static void reduce_sink_free(struct sink *sink) {
    struct reduce_sink *s = (struct reduce_sink *)sink;
    for (uint32_t i = 0; s->data && i < s->plan.list.list.count; i++)
        free(s->data[i]);
    free(s->data);
    free(s->view);
    reduce_free(&s->reduce);
    snapshot_close(&s->snapshot);
    arena_free(&s->arena);
    free(s);
}

struct sink *reduce_sink_new(const struct reduce_order *o, const struct batch *b, struct sink *to) {
    struct reduce_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->base = (struct sink){
        .begin = reduce_begin, .chunk = reduce_chunk, .end = reduce_end, .free = reduce_sink_free};
    s->order = *o;
    s->batch = b;
    s->to = to;
    s->snapshot = (struct snapshot){
        .order = to->order, .save = save, .load = load_first, .user = s, .journal.fd = -1};
    to->order = NULL;
    return &s->base;
}
