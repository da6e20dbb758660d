// SPDX-License-Identifier: MIT
// Results as NPZ: a zip archive of .npy arrays, written as the chunks come.
//
// Arrays whose length is known get their place in the file at once and are filled in order, each
// with a running checksum; their headers are written at the end. Where the length is not known
// (`steps`, text) the data wait in a nameless file next to the result and are appended at the end.
// After a stop the arrays hold the rows that came: their data are moved together, nothing is lost
// but the gaps. Memory does not grow with the number of rows.
#include "base/file.h"
#include "io/formats.h"
#include "io/npy.h"
#include "io/pieces.h"
#include "io/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 20, EXTRA_MEMBERS = 2 }; // words, meta

struct member {
    char *name;     // "x.npy"
    int spool;      // descriptor of the waiting file, or -1
    uint64_t start; // of its data, in the file it is in
    uint64_t bytes; // that came
    uint64_t width; // text: widest so far, in code points
    uint32_t crc;   // of these data
};

struct npz_sink {
    struct sink sink;
    char *path;
    struct file_part part;
    struct pieces pieces;
    uint32_t arrays;
    struct member *member;        // [arrays]
    struct zip_member *directory; // what is in the archive so far
    uint32_t in_directory;
    uint64_t end; // of what is laid out
    struct buf scratch;
};

static shoal_code no_memory(const struct npz_sink *s, struct report *r) {
    return report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
}

static const char *descr_of(enum result_type type) {
    static const char *const names[RESULT_TYPES] = {
        [TYPE_U8] = "|u1",  [TYPE_U32] = "<u4", [TYPE_U64] = "<u8",
        [TYPE_F32] = "<f4", [TYPE_F64] = "<f8", [TYPE_TIME] = "<f8",
    };
    return names[type];
}

uint64_t npz_bytes(const struct result_list *list) {
    uint64_t members = (uint64_t)list->count + EXTRA_MEMBERS + 2; // and the directory
    return result_list_bytes(list) + members * (NPY_HEADER + 160) +
           (list->of.meta ? 4 * (uint64_t)strlen(list->of.meta) : 0);
}

// ---- Begin --------------------------------------------------------------------------------------

static bool is_spooled(const struct result_array *a) {
    return a->type == TYPE_TEXT || a->axes == AXES_FLAT;
}

static shoal_code place_member(struct npz_sink *s, uint32_t i, struct report *r) {
    const struct result_list *list = s->pieces.list;
    const struct result_array *a = &list->array[i];
    struct member *m = &s->member[i];
    if (asprintf(&m->name, "%s.npy", s->pieces.names.name[i]) < 0) {
        m->name = NULL;
        return no_memory(s, r);
    }
    if (a->axes == AXES_GRID)
        return SHOAL_OK; // comes at the end
    if (is_spooled(a))
        return file_scratch(s->part.path, &m->spool, r);
    m->start = s->end + zip_local_bytes(m->name) + NPY_HEADER;
    s->end = m->start + result_length(a, list->of.rows, 0) * result_width(list, a) *
                            result_type_bytes(a->type);
    return SHOAL_OK;
}

static shoal_code put_bytes(struct npz_sink *s, struct member *m, const void *data, size_t length,
                            struct report *r) {
    int fd = m->spool >= 0 ? m->spool : s->part.fd;
    shoal_code code = file_write_at(fd, s->part.part, m->start + m->bytes, data, length, r);
    m->crc = zip_crc(m->crc, data, length);
    m->bytes += length;
    return code;
}

static shoal_code npz_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct npz_sink *s = (struct npz_sink *)sink;
    shoal_code code = file_part_open(&s->part, s->path, r);
    if (code == SHOAL_OK)
        code = file_check_space(s->path, npz_bytes(list), r);
    if (code == SHOAL_OK)
        code = pieces_begin(&s->pieces, list, s->path, r);
    if (code != SHOAL_OK)
        return code;
    s->arrays = list->count;
    s->member = calloc(s->arrays, sizeof *s->member);
    for (uint32_t i = 0; s->member && i < s->arrays; i++)
        s->member[i].spool = -1;
    s->directory = calloc(s->arrays + EXTRA_MEMBERS, sizeof *s->directory);
    if (!s->member || !s->directory)
        return no_memory(s, r);
    for (uint32_t i = 0; i < s->arrays && code == SHOAL_OK; i++) {
        code = place_member(s, i, r);
        const uint64_t zero = 0; // where the first run begins
        if (code == SHOAL_OK && list->array[i].axes == AXES_OFFSETS)
            code = put_bytes(s, &s->member[i], &zero, sizeof zero, r);
    }
    return code;
}

// ---- Chunks -------------------------------------------------------------------------------------

// Waiting text: length in 4 bytes of this machine, then the bytes.
static shoal_code spool_text(struct npz_sink *s, struct member *m, const struct piece *p,
                             struct report *r) {
    const char *const *text = p->data;
    for (uint64_t i = 0; i < p->rows; i++) {
        const char *item = text && text[i] ? text[i] : "";
        uint32_t length = (uint32_t)strnlen(item, 1 << 20);
        uint64_t width = npy_text_width(item, length);
        if (width > m->width)
            m->width = width;
        buf_put(&s->scratch, &length, sizeof length);
        buf_put(&s->scratch, item, length);
        if (s->scratch.failed)
            return no_memory(s, r);
        if (s->scratch.length >= COPY_BYTES || i + 1 == p->rows) {
            shoal_code code = put_bytes(s, m, s->scratch.data, s->scratch.length, r);
            s->scratch.length = 0;
            if (code != SHOAL_OK)
                return code;
        }
    }
    return SHOAL_OK;
}

// Pieces of an array come in file order, so they are simply appended.
static shoal_code put_piece(void *user, uint32_t array, const struct piece *p, struct report *r) {
    struct npz_sink *s = user;
    enum result_type type = s->pieces.list->array[array].type;
    if (type == TYPE_TEXT)
        return spool_text(s, &s->member[array], p, r);
    size_t length = (size_t)(p->rows * p->samples * result_type_bytes(type));
    return put_bytes(s, &s->member[array], p->data, length, r);
}

static shoal_code npz_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct npz_sink *s = (struct npz_sink *)sink;
    return pieces_chunk(&s->pieces, c, put_piece, s, r);
}

// ---- End ----------------------------------------------------------------------------------------

// Header of a member whose data, `bytes` with checksum `crc`, follow it; and its directory entry.
static shoal_code put_header(struct npz_sink *s, uint64_t offset, const char *name,
                             const char *descr, const uint64_t *shape, uint32_t dims,
                             uint64_t bytes, uint32_t crc, struct report *r) {
    struct buf npy = {0}, *out = &s->scratch;
    npy_put_header(&npy, descr, shape, dims);
    struct zip_member *m = &s->directory[s->in_directory++];
    *m = (struct zip_member){name, offset, NPY_HEADER + bytes, 0};
    if (!npy.failed) {
        m->crc = zip_crc_join(zip_crc(0, npy.data, npy.length), crc, bytes);
        zip_put_local(out, m);
        buf_put(out, npy.data, npy.length);
    }
    shoal_code code = npy.failed || out->failed ? no_memory(s, r)
                                                : file_write_at(s->part.fd, s->part.part, offset,
                                                                out->data, out->length, r);
    out->length = 0;
    buf_free(&npy);
    return code;
}

// Copies within the file, towards its start, or from a waiting file.
static shoal_code copy_data(struct npz_sink *s, int from, uint64_t at, uint64_t to, uint64_t bytes,
                            struct report *r) {
    char *buffer = malloc(COPY_BYTES);
    shoal_code code = buffer ? SHOAL_OK : no_memory(s, r);
    for (uint64_t done = 0; done < bytes && code == SHOAL_OK;) {
        size_t n = (size_t)(bytes - done < COPY_BYTES ? bytes - done : COPY_BYTES);
        code = file_read_at(from, s->part.part, at + done, buffer, n, r);
        if (code == SHOAL_OK)
            code = file_write_at(s->part.fd, s->part.part, to + done, buffer, n, r);
        done += n;
    }
    free(buffer);
    return code;
}

static shoal_code finish_numbers(struct npz_sink *s, uint32_t i, struct report *r) {
    const struct result_list *list = s->pieces.list;
    const struct result_array *a = &list->array[i];
    struct member *m = &s->member[i];
    uint64_t shape[RESULT_SHAPE_MOST];
    int dims = result_file_shape(list, a,
                                 result_length(a, s->pieces.rows_done, s->pieces.flat_done), shape);
    uint64_t data = s->end + zip_local_bytes(m->name) + NPY_HEADER;
    shoal_code code = SHOAL_OK;
    if (m->spool >= 0 || data != m->start)
        code = copy_data(s, m->spool >= 0 ? m->spool : s->part.fd, m->start, data, m->bytes, r);
    if (code == SHOAL_OK)
        code = put_header(s, s->end, m->name, descr_of(a->type), shape, (uint32_t)dims, m->bytes,
                          m->crc, r);
    s->end = data + m->bytes;
    return code;
}

// Reads the waiting text from the beginning; `at` moves on.
static shoal_code next_text(struct npz_sink *s, const struct member *m, uint64_t *at,
                            struct buf *block, uint64_t *block_at, const char **text,
                            uint32_t *length, struct report *r) {
    for (int tries = 0; tries < 2; tries++) {
        uint64_t have = *block_at + block->length - *at;
        if (have >= sizeof *length) {
            memcpy(length, block->data + (*at - *block_at), sizeof *length);
            if (have - sizeof *length >= *length)
                break;
        }
        uint64_t left = m->bytes - *at;
        size_t want = (size_t)(left < 2 * COPY_BYTES ? left : 2 * COPY_BYTES);
        block->length = want; // the block holds 2 * COPY_BYTES, more than the longest text
        *block_at = *at;
        shoal_code code = file_read_at(m->spool, s->part.part, *at, block->data, want, r);
        if (code != SHOAL_OK)
            return code;
    }
    *text = block->data + (*at - *block_at) + sizeof *length;
    *at += sizeof *length + *length;
    return SHOAL_OK;
}

static shoal_code put_texts(struct npz_sink *s, struct member *m, uint64_t to, uint64_t rows,
                            uint64_t *bytes, uint32_t *crc, struct report *r) {
    struct buf block = {.data = malloc(2 * COPY_BYTES)}, *out = &s->scratch;
    uint64_t at = 0, block_at = 0, width = m->width ? m->width : 1;
    shoal_code code = block.data ? SHOAL_OK : no_memory(s, r);
    for (uint64_t row = 0; row < rows && code == SHOAL_OK; row++) {
        const char *text = "";
        uint32_t length = 0;
        code = next_text(s, m, &at, &block, &block_at, &text, &length, r);
        if (code != SHOAL_OK)
            break;
        npy_put_text(out, text, length, width);
        if (out->failed)
            code = no_memory(s, r);
        else if (out->length >= COPY_BYTES || row + 1 == rows) {
            code = file_write_at(s->part.fd, s->part.part, to + *bytes, out->data, out->length, r);
            *crc = zip_crc(*crc, out->data, out->length);
            *bytes += out->length;
            out->length = 0;
        }
    }
    free(block.data);
    return code;
}

static shoal_code finish_text(struct npz_sink *s, uint32_t i, struct report *r) {
    struct member *m = &s->member[i];
    uint64_t rows = s->pieces.rows_done, bytes = 0, shape[RESULT_SHAPE_MOST];
    uint32_t crc = 0;
    int dims = result_file_shape(s->pieces.list, &s->pieces.list->array[i], rows, shape);
    uint64_t data = s->end + zip_local_bytes(m->name) + NPY_HEADER;
    char descr[32];
    snprintf(descr, sizeof descr, "<U%llu", (unsigned long long)(m->width ? m->width : 1));
    shoal_code code = put_texts(s, m, data, rows, &bytes, &crc, r);
    if (code == SHOAL_OK)
        code = put_header(s, s->end, m->name, descr, shape, (uint32_t)dims, bytes, crc, r);
    s->end = data + bytes;
    return code;
}

// A small member from memory.
static shoal_code put_small(struct npz_sink *s, const char *name, const char *descr,
                            const uint64_t *shape, uint32_t dims, const void *data, size_t bytes,
                            struct report *r) {
    uint64_t at = s->end + zip_local_bytes(name) + NPY_HEADER;
    shoal_code code = file_write_at(s->part.fd, s->part.part, at, data, bytes, r);
    if (code == SHOAL_OK)
        code = put_header(s, s->end, name, descr, shape, dims, bytes, zip_crc(0, data, bytes), r);
    s->end = at + bytes;
    return code;
}

static shoal_code put_status_words(struct npz_sink *s, struct report *r) {
    enum { WIDTH = 16 };
    struct buf words = {0};
    uint64_t shape = SHOAL_STATUS_COUNT;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        npy_put_text(&words, shoal_status_word(i), strlen(shoal_status_word(i)), WIDTH);
    shoal_code code = words.failed ? no_memory(s, r)
                                   : put_small(s, RESULT_STATUS_WORDS ".npy", "<U16", &shape, 1,
                                               words.data, words.length, r);
    buf_free(&words);
    return code;
}

static shoal_code put_meta(struct npz_sink *s, bool complete, struct report *r) {
    struct buf json = {0}, points = {0};
    char descr[32];
    io_meta_complete(&json, s->pieces.list->of.meta, complete);
    if (!json.failed) {
        uint64_t width = npy_text_width(json.data, json.length);
        npy_put_text(&points, json.data, json.length, width);
        snprintf(descr, sizeof descr, "<U%llu", (unsigned long long)width);
    }
    shoal_code code = json.failed || points.failed ? no_memory(s, r)
                                                   : put_small(s, RESULT_META ".npy", descr, NULL,
                                                               0, points.data, points.length, r);
    buf_free(&json);
    buf_free(&points);
    return code;
}

static shoal_code put_directory(struct npz_sink *s, struct report *r) {
    zip_put_directory(&s->scratch, s->directory, s->in_directory, s->end);
    if (s->scratch.failed)
        return no_memory(s, r);
    shoal_code code =
        file_write_at(s->part.fd, s->part.part, s->end, s->scratch.data, s->scratch.length, r);
    s->end += s->scratch.length;
    if (code == SHOAL_OK && ftruncate(s->part.fd, (off_t)s->end) < 0)
        code = report_error(r, SHOAL_IO, "%s: cannot be cut to its length", s->part.part);
    return code;
}

// What all runs have in common.
static shoal_code put_known(struct npz_sink *s, uint32_t i, struct report *r) {
    const struct result_array *a = &s->pieces.list->array[i];
    return put_small(s, s->member[i].name, descr_of(a->type), a->axis, 1, a->known,
                     (size_t)a->axis[0] * sizeof *a->known, r);
}

// The place of an array in the file: those that are there first, since the others need their end.
static int turn_of(const struct result_array *a) {
    return a->axes == AXES_GRID ? 2 : is_spooled(a);
}

static shoal_code finish_array(struct npz_sink *s, uint32_t i, struct report *r) {
    const struct result_array *a = &s->pieces.list->array[i];
    if (a->axes == AXES_GRID)
        return put_known(s, i, r);
    return a->type == TYPE_TEXT ? finish_text(s, i, r) : finish_numbers(s, i, r);
}

static shoal_code npz_end(struct sink *sink, bool complete, struct report *r) {
    struct npz_sink *s = (struct npz_sink *)sink;
    shoal_code code = SHOAL_OK;
    s->end = 0;
    for (int turn = 0; turn < 3; turn++)
        for (uint32_t i = 0; i < s->arrays && code == SHOAL_OK; i++)
            if (turn_of(&s->pieces.list->array[i]) == turn)
                code = finish_array(s, i, r);
    if (code == SHOAL_OK)
        code = put_status_words(s, r);
    if (code == SHOAL_OK)
        code = put_meta(s, complete, r);
    if (code == SHOAL_OK)
        code = put_directory(s, r);
    return code == SHOAL_OK ? file_part_commit(&s->part, r) : code;
}

static void npz_free(struct sink *sink) {
    struct npz_sink *s = (struct npz_sink *)sink;
    file_part_discard(&s->part);
    for (uint32_t i = 0; s->member && i < s->arrays; i++) {
        if (s->member[i].spool >= 0)
            close(s->member[i].spool);
        free(s->member[i].name);
    }
    pieces_free(&s->pieces);
    buf_free(&s->scratch);
    free(s->member);
    free(s->directory);
    free(s->path);
    free(s);
}

struct sink *npz_sink_new(const char *path, uint32_t threads) {
    (void)threads;
    struct npz_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = (struct sink){npz_begin, npz_chunk, npz_end, npz_free};
    s->part.fd = -1;
    s->path = strdup(path);
    if (!s->path) {
        free(s);
        return NULL;
    }
    return &s->sink;
}
