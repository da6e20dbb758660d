// SPDX-License-Identifier: MIT
// See pieces.h.
//
// The kernels leave values as [var][sample][row], the file wants [row][sample]: a transposition. It
// goes block by block, eight rows (a cache line) at a time, through a buffer that stays in cache.
#include "io/pieces.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_ELEMENTS = 32 * 1024, BLOCK_ROWS = 8 };

// ---- Begin --------------------------------------------------------------------------------------

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

shoal_code pieces_begin(struct pieces *p, const struct result_list *list, const char *file,
                        struct report *r) {
    *p = (struct pieces){.list = list, .buffer = malloc(BUFFER_ELEMENTS * sizeof(uint64_t))};
    shoal_code code = result_names_make(&p->names, list, spell_name, file, r);
    if (code == SHOAL_OK && !p->buffer)
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", file);
    return code;
}

void pieces_free(struct pieces *p) {
    result_names_free(&p->names);
    free(p->buffer);
    *p = (struct pieces){0};
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

static bool is_dense(const struct result_view *v, uint64_t rows, uint64_t samples) {
    return (samples == 1 || v->sample_stride == 1) && (rows == 1 || v->row_stride == samples);
}

// The box `b` of a view, into the buffer.
static void gather(struct pieces *p, const struct result_view *v, uint32_t size, uint64_t row,
                   const struct piece *b) {
    size_t at = (size_t)(row * v->row_stride + b->sample * v->sample_stride);
    if (size == sizeof(word4))
        transpose_word4((const word4 *)v->data + at, v->row_stride, v->sample_stride, b->rows,
                        b->samples, p->buffer);
    else
        transpose_word8((const word8 *)v->data + at, v->row_stride, v->sample_stride, b->rows,
                        b->samples, p->buffer);
}

// An array of several elements a row: boxes of whole rows that fill the buffer, or parts of one
// long row.
static shoal_code put_samples(struct pieces *p, uint32_t array, const struct result_chunk *c,
                              piece_put *put, void *user, struct report *r) {
    const struct result_view *v = &c->view[array];
    uint32_t size = result_type_bytes(p->list->array[array].type);
    uint64_t samples = result_width(p->list, &p->list->array[array]);
    struct piece b = {v->data, p->rows_done, c->rows, 0, samples};
    if (samples == 0)
        return SHOAL_OK;
    if (is_dense(v, c->rows, samples))
        return put(user, array, &b, r);
    uint64_t inner = p->list->array[array].axis[1], most = BUFFER_ELEMENTS;
    if (inner && inner < most) // which stays whole
        most -= most % inner;
    uint64_t wide = samples < most ? samples : most;
    uint64_t high = BUFFER_ELEMENTS / wide;
    for (uint64_t row = 0; row < c->rows; row += high)
        for (uint64_t sample = 0; sample < samples; sample += wide) {
            b.data = p->buffer;
            b.row = p->rows_done + row;
            b.rows = c->rows - row < high ? c->rows - row : high;
            b.sample = sample;
            b.samples = samples - sample < wide ? samples - sample : wide;
            gather(p, v, size, row, &b);
            shoal_code code = put(user, array, &b, r);
            if (code != SHOAL_OK)
                return code;
        }
    return SHOAL_OK;
}

static shoal_code put_offsets(struct pieces *p, uint32_t array, const struct result_chunk *c,
                              piece_put *put, void *user, struct report *r) {
    uint64_t *out = p->buffer;
    for (uint64_t row = 0; row < c->rows;) {
        uint64_t n = c->rows - row < BUFFER_ELEMENTS ? c->rows - row : BUFFER_ELEMENTS;
        for (uint64_t i = 0; i < n; i++)
            out[i] = p->flat_done + c->offsets[row + i + 1];
        struct piece b = {out, p->rows_done + row + 1, n, 0, 1};
        shoal_code code = put(user, array, &b, r);
        if (code != SHOAL_OK)
            return code;
        row += n;
    }
    return SHOAL_OK;
}

static shoal_code put_array(struct pieces *p, uint32_t array, const struct result_chunk *c,
                            piece_put *put, void *user, struct report *r) {
    const void *data = c->view[array].data;
    switch (p->list->array[array].axes) {
    case AXES_PER_RUN:
        return put(user, array, &(struct piece){data, p->rows_done, c->rows, 0, 1}, r);
    case AXES_PER_SAMPLE:
    case AXES_WIDE:
        return put_samples(p, array, c, put, user, r);
    case AXES_FLAT:
        return put(user, array, &(struct piece){data, p->flat_done, c->offsets[c->rows], 0, 1}, r);
    case AXES_OFFSETS:
        return put_offsets(p, array, c, put, user, r);
    case AXES_GRID:
    case AXES_SAVED:
        break;
    }
    return SHOAL_OK;
}

shoal_code pieces_chunk(struct pieces *p, const struct result_chunk *c, piece_put *put, void *user,
                        struct report *r) {
    shoal_code code = SHOAL_OK;
    for (int last = 0; last < 2; last++) // a row is not done before all of it is there
        for (uint32_t i = 0; i < p->list->count && c->rows && code == SHOAL_OK; i++)
            if ((p->list->array[i].role == ROLE_STATUS) == last)
                code = put_array(p, i, c, put, user, r);
    p->rows_done += c->rows;
    p->flat_done += c->offsets ? c->offsets[c->rows] : 0;
    return code;
}
