// SPDX-License-Identifier: MIT
// The arrays of the result list in a chunk: which the kernel writes and where, and what a sink
// sees.
#include "ode/run/chunk.h"

#include <string.h>

static const size_t field_at[RESULT_FIELDS] = {
#define FIELD_AT_KERNEL(name) [FIELD_##name] = offsetof(struct shoal_args, name),
#define FIELD_AT_RUN(name)
#define FIELD_AT_OFFSETS(name)
#define FIELD_AT_KNOWN(name)
#define X(name, role, type, axes, from, when) FIELD_AT_##from(name)
    RESULT_ROWS(X)
#undef X
        [FIELD_values] = offsetof(struct shoal_args, values),
    [FIELD_summary] = offsetof(struct shoal_args, summary),
    [FIELD_record] = offsetof(struct shoal_args, record),
};

void chunk_set_field(struct shoal_args *args, enum result_field field, void *data) {
    memcpy((char *)args + field_at[field], &data, sizeof data);
}

static void *get_field(const struct shoal_args *args, enum result_field field) {
    void *data;
    memcpy(&data, (const char *)args + field_at[field], sizeof data);
    return data;
}

// What the kernel needs a place for, or the run looks at, is there for everybody.
bool chunk_writes(const struct result_array *a, enum chunk_use use) {
    if (a->from != FROM_KERNEL)
        return false;
    bool needed = result_is_variable(a) || result_is_more(a) || a->role == ROLE_STATUS ||
                  a->role == ROLE_INTERNAL || (a->role == ROLE_TIME && a->axes == AXES_FLAT);
    return needed || a->wanted || (a->role == ROLE_COUNT && use == CHUNK_COUNTED);
}

size_t chunk_bytes(const struct result_array *a, size_t elem) {
    return a->type == TYPE_TIME ? 2 * elem : result_type_bytes(a->type);
}

void *chunk_in_block(const struct chunk *c, const struct result_array *a) {
    if (!chunk_writes(a, c->use))
        return NULL;
    char *field = get_field(&c->args, a->field);
    size_t stride = result_is_more(a) ? c->args.head.rows : (size_t)c->args.z.var_stride;
    return field ? field + a->index * stride * c->elem : NULL;
}

void *chunk_array(const struct chunk *c, const struct result_array *a) {
    void *own = direct_array(c, a);
    return own ? own : chunk_in_block(c, a);
}

size_t chunk_sample_stride(const struct chunk *c, const struct result_array *a) {
    if (direct_array(c, a))
        return c->memory[a - c->list->array].sample_stride;
    return a->axes == AXES_WIDE ? c->args.head.rows : (size_t)c->args.z.sample_stride;
}

// ---- What a sink sees ---------------------------------------------------------------------------

// A time is a pair of the kernel's numbers.
static double get_pair(const void *array, size_t elem, size_t i) {
    if (elem == sizeof(float))
        return (double)((const float *)array)[2 * i] + (double)((const float *)array)[2 * i + 1];
    return ((const double *)array)[2 * i];
}

// Of one array, what the block does not hold as the sink sees it.
static void *make_host(struct chunk *c, const struct result_array *a, uint32_t rows) {
    bool in_block = a->from == FROM_COLUMN && a->index < c->inputs && c->elem == sizeof(double);
    bool is_own = a->from == FROM_COLUMN || (a->type == TYPE_TIME && a->axes == AXES_PER_RUN);
    if (!a->wanted || !is_own || in_block)
        return NULL;
    return arena_alloc(&c->arena, (size_t)rows * result_type_bytes(a->type));
}

void chunk_make_host(struct chunk *c, uint32_t rows) {
    bool runs = false;
    c->host = arena_new(&c->arena, void *, c->list->count);
    c->view = arena_new(&c->arena, struct result_view, c->list->count);
    for (uint32_t i = 0; i < c->list->count && c->use == CHUNK_WHOLE; i++) {
        const struct result_array *a = &c->list->array[i];
        c->host[i] = make_host(c, a, rows);
        runs = runs || (a->wanted && (a->from == FROM_RUN || a->from == FROM_COLUMN));
    }
    if (runs)
        c->run = arena_new(&c->arena, uint64_t, rows);
}

static const double *view_times(struct chunk *c, const struct result_array *a, double *out,
                                uint32_t rows) {
    const void *pairs = chunk_array(c, a);
    uint64_t times = a->axes == AXES_FLAT ? c->offsets[rows] : rows;
    for (uint64_t i = 0; out && i < times; i++)
        out[i] = get_pair(pairs, c->elem, i);
    return out;
}

static const void *view_data(struct chunk *c, uint32_t i, uint32_t rows) {
    const struct result_array *a = &c->list->array[i];
    switch (a->from) {
    case FROM_KERNEL:
        if (a->type == TYPE_TIME)
            return view_times(c, a, a->axes == AXES_FLAT ? c->times : c->host[i], rows);
        return chunk_array(c, a);
    case FROM_COLUMN:
        return c->host[i];
    case FROM_RUN:
        return c->run;
    case FROM_OFFSETS:
        return c->offsets;
    case FROM_KNOWN:
    case FROM_STATISTICS:
        break;
    }
    return NULL;
}

struct result_chunk chunk_view(struct chunk *c, uint32_t rows) {
    for (uint32_t i = 0; i < c->list->count; i++) {
        const struct result_array *a = &c->list->array[i];
        if (a->wanted)
            c->view[i] =
                (struct result_view){.data = view_data(c, i, rows),
                                     .row_stride = a->axes == AXES_WIDE ? 1 : c->args.z.row_stride,
                                     .sample_stride = chunk_sample_stride(c, a)};
    }
    return (struct result_chunk){
        .first_row = c->base.first_row, .rows = rows, .offsets = c->offsets, .view = c->view};
}
