// SPDX-License-Identifier: MIT
// See result_list.h.
#include "result/result_list.h"

#include <string.h>

enum when { WHEN_ALWAYS, WHEN_OWN, WHEN_WINDOWS, WHEN_COUNTERS };

struct row {
    struct result_array array;
    enum when when;
};

static const struct row ours[] = {
#define X(n, r, t, a, f, w)                                                                        \
    {{.name = #n,                                                                                  \
      .role = ROLE_##r,                                                                            \
      .type = TYPE_##t,                                                                            \
      .axes = AXES_##a,                                                                            \
      .from = FROM_##f,                                                                            \
      .field = FIELD_##n,                                                                          \
      .wanted = true},                                                                             \
     WHEN_##w},
    RESULT_ROWS(X)
#undef X
};
enum { OURS = sizeof ours / sizeof *ours };

// ---- Making -------------------------------------------------------------------------------------

static enum result_axes saved_axes(enum result_samples kind) {
    static const enum result_axes axes[] = {
        [SAMPLES_ONE] = AXES_PER_RUN, [SAMPLES_GRID] = AXES_PER_SAMPLE, [SAMPLES_OWN] = AXES_FLAT};
    return axes[kind];
}

static void add(struct result_list *l, struct result_array a) { l->array[l->count++] = a; }

static void add_columns(struct result_list *l) {
    l->first_column = l->count;
    for (uint32_t i = 0; i < l->of.columns; i++)
        add(l, (struct result_array){.name = l->of.column[i].name,
                                     .role = ROLE_INPUT,
                                     .type = l->of.column[i].text ? TYPE_TEXT : TYPE_F64,
                                     .axes = AXES_PER_RUN,
                                     .from = FROM_COLUMN,
                                     .index = i,
                                     .wanted = true});
}

static void add_variables(struct result_list *l) {
    l->first_var = l->count;
    for (uint32_t i = 0; i < l->of.vars; i++)
        add(l, (struct result_array){.name = l->of.var[i],
                                     .role = l->of.is_state && l->of.is_state[i] ? ROLE_STATE
                                                                                 : ROLE_OBSERVABLE,
                                     .type = l->of.f32 ? TYPE_F32 : TYPE_F64,
                                     .axes = saved_axes(l->of.kind),
                                     .from = FROM_KERNEL,
                                     .field = FIELD_values,
                                     .index = i,
                                     .wanted = true});
}

static void add_more(struct result_list *l) {
    for (uint32_t i = 0; i < l->of.mores; i++) {
        const struct result_more *m = &l->of.more[i];
        add(l, (struct result_array){.name = m->name,
                                     .role = m->role,
                                     .type = l->of.f32 ? TYPE_F32 : TYPE_F64,
                                     .axes = m->axis[0] ? AXES_WIDE : AXES_PER_RUN,
                                     .from = FROM_KERNEL,
                                     .field = m->field,
                                     .index = m->index,
                                     .axis = {m->axis[0], m->axis[1]},
                                     .words = m->words,
                                     .wanted = true});
    }
}

static void add_row(struct result_list *l, const struct row *row) {
    struct result_array a = row->array;
    if ((row->when == WHEN_OWN && l->of.kind != SAMPLES_OWN) ||
        (row->when == WHEN_WINDOWS && !l->of.windows) ||
        (row->when == WHEN_COUNTERS && !l->of.counters))
        return;
    if (a.axes == AXES_SAVED)
        a.axes = saved_axes(l->of.kind);
    if (a.role == ROLE_TIME && l->of.kind == SAMPLES_GRID) {
        a.axes = AXES_GRID;
        a.from = FROM_KNOWN;
        a.known = l->of.times;
        a.axis[0] = l->of.samples;
    }
    if (a.role == ROLE_EDGES) {
        a.known = l->of.edges;
        a.axis[0] = l->of.windows + 1;
    }
    add(l, a);
}

bool result_list_make(struct result_list *l, const struct result_spec *spec, struct arena *arena) {
    *l = (struct result_list){.of = *spec};
    l->array = arena_new(arena, struct result_array,
                         (uint64_t)spec->columns + spec->vars + spec->mores + OURS);
    for (uint32_t i = 0; l->array && i < OURS; i++) {
        if (ours[i].array.role == ROLE_INTERNAL)
            continue;
        if (ours[i].array.role == ROLE_TIME)
            add_columns(l);
        add_row(l, &ours[i]);
        if (ours[i].array.role == ROLE_TIME) {
            add_variables(l);
            add_more(l);
        }
    }
    uint32_t shown = l->count;
    for (uint32_t i = 0; l->array && i < OURS; i++)
        if (ours[i].array.role == ROLE_INTERNAL)
            add_row(l, &ours[i]);
    l->internal = l->count - shown;
    l->count = shown;
    return l->array != NULL;
}

// ---- Looking ------------------------------------------------------------------------------------

const struct result_array *result_list_ours(const struct result_list *l, enum result_field field) {
    for (uint32_t i = 0; i < l->count; i++)
        if (result_is_ours(&l->array[i]) && l->array[i].field == field)
            return &l->array[i];
    return NULL;
}

uint32_t result_type_bytes(enum result_type type) {
    static const uint8_t bytes[RESULT_TYPES] = {
        [TYPE_U8] = 1,
        [TYPE_U32] = 4,
        [TYPE_U64] = 8,
        [TYPE_F32] = 4,
        [TYPE_F64] = 8,
        [TYPE_TIME] = 8,
        [TYPE_TEXT] = sizeof(char *),
    };
    return bytes[type];
}

int result_shape(const struct result_list *l, const struct result_array *a, uint64_t length,
                 uint64_t shape[1 + RESULT_AXES]) {
    int dims = 1;
    shape[0] = length;
    if (a->axes == AXES_PER_SAMPLE)
        shape[dims++] = l->of.samples;
    for (int i = 0; i < RESULT_AXES && a->axes == AXES_WIDE; i++)
        if (a->axis[i])
            shape[dims++] = a->axis[i];
    return dims;
}

int result_file_shape(const struct result_list *l, const struct result_array *a, uint64_t length,
                      uint64_t shape[RESULT_SHAPE_MOST]) {
    bool rows = a->axes == AXES_PER_RUN || a->axes == AXES_PER_SAMPLE || a->axes == AXES_WIDE;
    uint64_t own[1 + RESULT_AXES];
    int dims = 0, all = result_shape(l, a, length, own);
    if (!rows || !l->of.reduced)
        return result_shape(l, a, length, shape);
    for (uint32_t i = 0; i < l->of.axes; i++)
        shape[dims++] = l->of.shape[i];
    for (int i = 1; i < all; i++)
        shape[dims++] = own[i];
    return dims;
}

uint64_t result_width(const struct result_list *l, const struct result_array *a) {
    uint64_t shape[1 + RESULT_AXES], width = 1;
    for (int i = result_shape(l, a, 1, shape); i-- > 1;)
        width *= shape[i];
    return width;
}

uint64_t result_length(const struct result_array *a, uint64_t rows, uint64_t flat) {
    switch (a->axes) {
    case AXES_PER_RUN:
    case AXES_PER_SAMPLE:
    case AXES_WIDE:
        return rows;
    case AXES_FLAT:
        return flat;
    case AXES_OFFSETS:
        return rows + 1;
    case AXES_GRID:
        return a->axis[0];
    case AXES_SAVED:
        break;
    }
    return 0;
}

uint64_t result_list_bytes(const struct result_list *l) {
    unsigned __int128 total = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct result_array *a = &l->array[i];
        if (a->wanted && a->type != TYPE_TEXT)
            total += (unsigned __int128)result_length(a, l->of.rows, 0) * result_width(l, a) *
                     result_type_bytes(a->type);
    }
    return total > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)total;
}
