// SPDX-License-Identifier: MIT
// Chunks of results as pieces of arrays; see arrays.h.
//
// The kernels leave values as [var][sample][row], the file wants [row][sample]: a transposition. It
// goes block by block, eight rows (a cache line) at a time, through a buffer that stays in cache.
#include "io/arrays.h"

#include "base/utf8.h"
#include "result/result_names.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_ELEMENTS = 32 * 1024, BLOCK_ROWS = 8 };

uint32_t array_type_bytes(enum array_type type) {
    static const uint8_t bytes[] = {[ARRAY_U1] = 1, [ARRAY_U4] = 4, [ARRAY_U8] = 8,
                                    [ARRAY_F4] = 4, [ARRAY_F8] = 8, [ARRAY_TEXT] = 0};
    return bytes[type];
}

// ---- The list -----------------------------------------------------------------------------------

static const struct {
    const char *name;
    enum array_type type;
    enum array_source source;
} of_a_run[] = {
    {"status", ARRAY_U1, FROM_STATUS},
    {"steps", ARRAY_U4, FROM_STEPS},
    {"rejected", ARRAY_U4, FROM_REJECTED},
    {"f_evals", ARRAY_U8, FROM_F_EVALS},
};
enum { OF_A_RUN = sizeof of_a_run / sizeof *of_a_run };

uint64_t arrays_bytes(const struct sink_shape_info *info) {
    uint64_t of_row = 8 + 1 + 4 + 4 + 8; // run and of_a_run
    for (uint32_t i = 0; i < info->columns; i++)
        of_row += info->column[i].text ? 0 : 8;
    if (info->shape == SINK_FINAL)
        of_row += 8;
    if (info->shape == SINK_STEPS)
        of_row += 8;
    unsigned __int128 total = (unsigned __int128)of_row * info->rows;
    if (info->shape != SINK_STEPS)
        total += (unsigned __int128)info->rows * info->samples * info->vars * info->value_bytes;
    if (info->shape == SINK_SERIES)
        total += info->samples * 8;
    return total > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)total;
}

// A slash would be a folder in a zip or HDF5 file, a single point the folder itself, and NumPy
// takes x.npy for another name of x. Readers of both refuse a file with names that are no UTF-8.
static void spell_name(char *name) {
    static const char npy[] = ".npy";
    size_t length = strlen(name);
    for (size_t at = 0; at < length;) {
        size_t start = at;
        if (!utf8_next(name, length, &at) || name[start] == '/' || name[start] == '\\')
            name[start] = '_';
    }
    if (!strcmp(name, "."))
        *name = '_';
    else if (length >= strlen(npy) && !strcmp(name + length - strlen(npy), npy))
        name[length - strlen(npy)] = '_';
}

// Takes the name over.
static void add(struct arrays *a, char *name, enum array_type type, enum array_axes axes,
                enum array_source source, uint32_t index) {
    a->items[a->count++] = (struct array){name, type, axes, source, index};
}

static void add_ours(struct arrays *a, const char *name, enum array_type type, enum array_axes axes,
                     enum array_source source) {
    add(a, strdup(name), type, axes, source, 0);
}

static char *take(char **name) {
    char *taken = *name;
    *name = NULL;
    return taken;
}

static void list_arrays(struct arrays *a, const struct sink_shape_info *info,
                        struct result_names *names) {
    static const enum array_axes axes_of[] = {
        [SINK_FINAL] = AXES_ROWS, [SINK_SERIES] = AXES_SAMPLES, [SINK_STEPS] = AXES_FLAT};
    enum array_axes axes = axes_of[info->shape];
    add_ours(a, "run", ARRAY_U8, AXES_ROWS, FROM_RUN);
    for (uint32_t i = 0; i < info->columns; i++)
        add(a, take(&names->name[i]), info->column[i].text ? ARRAY_TEXT : ARRAY_F8, AXES_ROWS,
            FROM_COLUMN, i);
    if (info->shape != SINK_SERIES)
        add_ours(a, "t", ARRAY_F8, axes, FROM_T);
    for (uint32_t i = 0; i < info->vars; i++)
        add(a, take(&names->name[info->columns + i]), info->value_bytes == 4 ? ARRAY_F4 : ARRAY_F8,
            axes, FROM_VALUES, i);
    for (uint32_t i = 0; i < OF_A_RUN; i++)
        add_ours(a, of_a_run[i].name, of_a_run[i].type, AXES_ROWS, of_a_run[i].source);
    if (info->shape == SINK_STEPS)
        add_ours(a, "offsets", ARRAY_U8, AXES_OFFSETS, FROM_OFFSETS);
}

static bool allocate(struct arrays *a, const struct sink_shape_info *info) {
    size_t most = (size_t)info->columns + info->vars + OF_A_RUN + 3;
    a->items = calloc(most, sizeof *a->items);
    a->buffer = malloc(BUFFER_ELEMENTS * sizeof(uint64_t));
    a->meta = strdup(info->meta ? info->meta : "{}");
    if (info->shape == SINK_SERIES)
        a->times = malloc((size_t)info->samples * sizeof(double) + 1);
    return a->items && a->buffer && a->meta && (a->times || info->shape != SINK_SERIES);
}

shoal_code arrays_begin(struct arrays *a, const struct sink_shape_info *info, const char *file,
                        struct report *r) {
    struct result_names names;
    *a = (struct arrays){.shape = info->shape, .rows = info->rows, .samples = 1};
    shoal_code code = result_names_make(&names, info, spell_name, file, r);
    bool ok = code == SHOAL_OK && allocate(a, info);
    if (ok)
        list_arrays(a, info, &names);
    result_names_free(&names);
    for (uint32_t i = 0; i < a->count; i++)
        ok = ok && a->items[i].name;
    if (ok && info->shape == SINK_SERIES) {
        a->samples = info->samples;
        memcpy(a->times, info->times, (size_t)info->samples * sizeof(double));
    }
    if (code == SHOAL_OK && !ok)
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", file);
    return code;
}

void arrays_free(struct arrays *a) {
    for (uint32_t i = 0; i < a->count; i++)
        free(a->items[i].name);
    free(a->items);
    free(a->buffer);
    free(a->meta);
    free(a->times);
    *a = (struct arrays){0};
}

// ---- Pieces of a chunk --------------------------------------------------------------------------

typedef uint32_t __attribute__((may_alias)) word4;
typedef uint64_t __attribute__((may_alias)) word8;

#define DEFINE_TRANSPOSE(word)                                                                     \
    static void transpose_##word(const word *from, size_t row_stride, size_t sample_stride,        \
                                 uint64_t rows, uint64_t samples, word *to) {                      \
        for (uint64_t block = 0; block < rows; block += BLOCK_ROWS) {                              \
            uint64_t end = block + BLOCK_ROWS < rows ? block + BLOCK_ROWS : rows;                  \
            for (uint64_t s = 0; s < samples; s++)                                                 \
                for (uint64_t i = block; i < end; i++)                                             \
                    to[i * samples + s] = from[i * row_stride + s * sample_stride];                \
        }                                                                                          \
    }
DEFINE_TRANSPOSE(word4)
DEFINE_TRANSPOSE(word8)

static bool is_dense(const struct sink_chunk *c, uint64_t samples) {
    return (samples == 1 || c->sample_stride == 1) && (c->rows == 1 || c->row_stride == samples);
}

// Values of one variable: boxes of whole rows that fill the buffer, or parts of one long row.
static shoal_code put_values(struct arrays *a, uint32_t array, const struct sink_chunk *c,
                             array_put *put, void *user, struct report *r) {
    uint32_t size = array_type_bytes(a->items[array].type);
    const char *from = (const char *)c->values + a->items[array].index * c->var_stride * size;
    struct piece p = {from, a->rows_done, c->rows, 0, a->samples};
    if (a->samples == 0)
        return SHOAL_OK;
    if (is_dense(c, a->samples))
        return put(user, array, &p, r);
    uint64_t wide = a->samples < BUFFER_ELEMENTS ? a->samples : BUFFER_ELEMENTS;
    uint64_t high = BUFFER_ELEMENTS / wide;
    for (uint64_t row = 0; row < c->rows; row += high)
        for (uint64_t sample = 0; sample < a->samples; sample += wide) {
            p.data = a->buffer;
            p.row = a->rows_done + row;
            p.rows = c->rows - row < high ? c->rows - row : high;
            p.sample = sample;
            p.samples = a->samples - sample < wide ? a->samples - sample : wide;
            size_t at = (size_t)(row * c->row_stride + sample * c->sample_stride);
            if (size == 4)
                transpose_word4((const word4 *)(const void *)from + at, c->row_stride,
                                c->sample_stride, p.rows, p.samples, a->buffer);
            else
                transpose_word8((const word8 *)(const void *)from + at, c->row_stride,
                                c->sample_stride, p.rows, p.samples, a->buffer);
            shoal_code code = put(user, array, &p, r);
            if (code != SHOAL_OK)
                return code;
        }
    return SHOAL_OK;
}

static shoal_code put_offsets(struct arrays *a, uint32_t array, const struct sink_chunk *c,
                              array_put *put, void *user, struct report *r) {
    uint64_t *out = a->buffer;
    for (uint64_t row = 0; row < c->rows;) {
        uint64_t n = c->rows - row < BUFFER_ELEMENTS ? c->rows - row : BUFFER_ELEMENTS;
        for (uint64_t i = 0; i < n; i++)
            out[i] = a->flat_done + c->offsets[row + i + 1];
        struct piece p = {out, a->rows_done + row + 1, n, 0, 1};
        shoal_code code = put(user, array, &p, r);
        if (code != SHOAL_OK)
            return code;
        row += n;
    }
    return SHOAL_OK;
}

// Where a chunk holds an array of one axis as it is.
static const void *dense_data(const struct array *a, const struct sink_chunk *c) {
    switch (a->source) {
    case FROM_RUN:
        return c->run;
    case FROM_COLUMN:
        return a->type == ARRAY_TEXT ? (const void *)(c->text ? c->text[a->index] : NULL)
                                     : (const void *)c->number[a->index];
    case FROM_T:
        return c->t;
    case FROM_VALUES: // SINK_STEPS
        return (const char *)c->values + a->index * c->var_stride * array_type_bytes(a->type);
    case FROM_STATUS:
        return c->status;
    case FROM_STEPS:
        return c->steps;
    case FROM_REJECTED:
        return c->rejected;
    case FROM_F_EVALS:
        return c->f_evals;
    case FROM_OFFSETS:
        break;
    }
    return NULL;
}

shoal_code arrays_chunk(struct arrays *a, const struct sink_chunk *c, array_put *put, void *user,
                        struct report *r) {
    if (c->rows == 0)
        return SHOAL_OK;
    uint64_t flat = a->shape == SINK_STEPS ? c->offsets[c->rows] : 0;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < a->count && code == SHOAL_OK; i++) {
        const struct array *array = &a->items[i];
        if (array->source == FROM_OFFSETS)
            code = put_offsets(a, i, c, put, user, r);
        else if (array->source == FROM_VALUES && array->axes != AXES_FLAT)
            code = put_values(a, i, c, put, user, r);
        else {
            bool is_flat = array->axes == AXES_FLAT;
            struct piece p = {dense_data(array, c), is_flat ? a->flat_done : a->rows_done,
                              is_flat ? flat : c->rows, 0, 1};
            code = put(user, i, &p, r);
        }
    }
    a->rows_done += c->rows;
    a->flat_done += flat;
    return code;
}
