// SPDX-License-Identifier: MIT
// Results as NPZ: a zip archive of .npy arrays, written as the chunks come (placed.h).
//
// Arrays whose length is known get their place in the file at once; their headers are written at
// the end, and what waited is appended. After a stop the arrays hold the rows that came, where they
// are: the gaps between them take no room on the disk.
#include "base/file.h"
#include "io/formats.h"
#include "io/npy.h"
#include "io/placed.h"
#include "io/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 20, EXTRA_MEMBERS = 2 }; // words, meta

struct npz_sink {
    struct sink sink;
    char *path;
    struct placed placed;
    char **member;                // [arrays]: "x.npy"
    struct zip_member *directory; // what is in the archive so far
    uint32_t in_directory;
    uint64_t laid_out; // bytes of arrays whose length is known
    uint64_t end;      // of what is written
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

static shoal_code place_member(struct npz_sink *s, uint32_t i, struct report *r) {
    struct placed *p = &s->placed;
    if (asprintf(&s->member[i], "%s.npy", p->pieces.names.name[i]) < 0) {
        s->member[i] = NULL;
        return no_memory(s, r);
    }
    if (!placed_has_place(&p->pieces.list->array[i]))
        return SHOAL_OK; // comes at the end
    p->array[i].start = s->laid_out + zip_local_bytes(s->member[i]) + NPY_HEADER;
    s->laid_out = p->array[i].start + placed_bytes(p, i);
    return SHOAL_OK;
}

static shoal_code lay_out(struct npz_sink *s, const struct result_list *list, struct report *r) {
    shoal_code code = placed_begin(&s->placed, s->sink.order, list, r);
    if (code != SHOAL_OK)
        return code;
    s->member = calloc((size_t)list->count + 1, sizeof *s->member);
    s->directory = calloc((size_t)list->count + EXTRA_MEMBERS, sizeof *s->directory);
    if (!s->member || !s->directory)
        return no_memory(s, r);
    for (uint32_t i = 0; i < list->count && code == SHOAL_OK; i++)
        code = place_member(s, i, r);
    return code;
}

static shoal_code npz_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct npz_sink *s = (struct npz_sink *)sink;
    struct journal_reader d = {.fd = -1};
    bool found = false;
    shoal_code code = lay_out(s, list, r);
    if (code == SHOAL_OK)
        code = placed_open(&s->placed, npz_bytes(list), &d, &found, r);
    if (code == SHOAL_OK)
        code = placed_start(&s->placed, &d, found, &sink->there, r);
    journal_reader_close(&d);
    return code;
}

static shoal_code npz_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    return placed_chunk(&((struct npz_sink *)sink)->placed, c, r);
}

static uint64_t npz_place(const struct sink *sink, uint32_t array, int *fd) {
    const struct npz_sink *s = (const struct npz_sink *)sink;
    *fd = s->placed.part.fd;
    return s->placed.array[array].start;
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
    shoal_code code = npy.failed || out->failed
                          ? no_memory(s, r)
                          : file_write_at(s->placed.part.fd, s->placed.part.part, offset, out->data,
                                          out->length, r);
    out->length = 0;
    buf_free(&npy);
    return code;
}

// Copies from a waiting file.
static shoal_code copy_data(struct npz_sink *s, int from, uint64_t to, uint64_t bytes,
                            struct report *r) {
    const struct file_part *part = &s->placed.part;
    char *buffer = malloc(COPY_BYTES);
    shoal_code code = buffer ? SHOAL_OK : no_memory(s, r);
    for (uint64_t done = 0; done < bytes && code == SHOAL_OK;) {
        size_t n = (size_t)(bytes - done < COPY_BYTES ? bytes - done : COPY_BYTES);
        code = file_read_at(from, part->part, done, buffer, n, r);
        if (code == SHOAL_OK)
            code = file_write_at(part->fd, part->part, to + done, buffer, n, r);
        done += n;
    }
    free(buffer);
    return code;
}

static int shape_of(const struct npz_sink *s, uint32_t i, uint64_t shape[RESULT_SHAPE_MOST]) {
    const struct pieces *p = &s->placed.pieces;
    const struct result_array *a = &p->list->array[i];
    return result_file_shape(p->list, a, result_length(a, p->rows_done, p->flat_done), shape);
}

// Numbers that waited follow what there is; the others are in place.
static shoal_code finish_numbers(struct npz_sink *s, uint32_t i, struct report *r) {
    const struct placed_array *a = &s->placed.array[i];
    enum result_type type = s->placed.pieces.list->array[i].type;
    uint64_t shape[RESULT_SHAPE_MOST], head = zip_local_bytes(s->member[i]) + NPY_HEADER;
    int dims = shape_of(s, i, shape);
    bool waited = a->spool >= 0;
    uint64_t data = waited ? s->end + head : a->start;
    shoal_code code = waited ? copy_data(s, a->spool, data, a->bytes, r) : SHOAL_OK;
    if (code == SHOAL_OK)
        code = put_header(s, data - head, s->member[i], descr_of(type), shape, (uint32_t)dims,
                          a->bytes, a->crc, r);
    s->end = waited ? data + a->bytes : s->end;
    return code;
}

// Texts on their way into the file.
struct texts {
    struct npz_sink *sink;
    uint64_t width, to, bytes;
    uint32_t crc;
};

static shoal_code flush_texts(struct texts *t, struct report *r) {
    struct npz_sink *s = t->sink;
    struct buf *out = &s->scratch;
    shoal_code code = file_write_at(s->placed.part.fd, s->placed.part.part, t->to + t->bytes,
                                    out->data, out->length, r);
    t->crc = zip_crc(t->crc, out->data, out->length);
    t->bytes += out->length;
    out->length = 0;
    return code;
}

static shoal_code put_text(void *user, const char *text, uint32_t length, struct report *r) {
    struct texts *t = user;
    struct buf *out = &t->sink->scratch;
    npy_put_text(out, text, length, t->width);
    if (out->failed)
        return no_memory(t->sink, r);
    return out->length >= COPY_BYTES ? flush_texts(t, r) : SHOAL_OK;
}

static shoal_code finish_text(struct npz_sink *s, uint32_t i, struct report *r) {
    uint64_t shape[RESULT_SHAPE_MOST], width = s->placed.array[i].width;
    int dims = shape_of(s, i, shape);
    struct texts t = {.sink = s,
                      .width = width ? width : 1,
                      .to = s->end + zip_local_bytes(s->member[i]) + NPY_HEADER};
    char descr[32];
    snprintf(descr, sizeof descr, "<U%llu", (unsigned long long)t.width);
    shoal_code code = placed_texts(&s->placed, i, put_text, &t, r);
    if (code == SHOAL_OK)
        code = flush_texts(&t, r);
    if (code == SHOAL_OK)
        code = put_header(s, s->end, s->member[i], descr, shape, (uint32_t)dims, t.bytes, t.crc, r);
    s->end = t.to + t.bytes;
    return code;
}

// A small member from memory.
static shoal_code put_small(struct npz_sink *s, const char *name, const char *descr,
                            const uint64_t *shape, uint32_t dims, const void *data, size_t bytes,
                            struct report *r) {
    uint64_t at = s->end + zip_local_bytes(name) + NPY_HEADER;
    shoal_code code = file_write_at(s->placed.part.fd, s->placed.part.part, at, data, bytes, r);
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
    io_meta_complete(&json, s->placed.pieces.list->of.meta, complete);
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
    shoal_code code = file_write_at(s->placed.part.fd, s->placed.part.part, s->end, s->scratch.data,
                                    s->scratch.length, r);
    s->end += s->scratch.length;
    if (code == SHOAL_OK && ftruncate(s->placed.part.fd, (off_t)s->end) < 0)
        code = report_error(r, SHOAL_IO, "%s: cannot be cut to its length", s->placed.part.part);
    return code;
}

// What all runs have in common.
static shoal_code put_known(struct npz_sink *s, uint32_t i, struct report *r) {
    const struct result_array *a = &s->placed.pieces.list->array[i];
    return put_small(s, s->member[i], descr_of(a->type), a->axis, 1, a->known,
                     (size_t)a->axis[0] * sizeof *a->known, r);
}

// The place of an array in the file: those that are there first, since the others need their end.
static int turn_of(const struct result_array *a) {
    return a->axes == AXES_GRID ? 2 : placed_waits(a);
}

static shoal_code finish_array(struct npz_sink *s, uint32_t i, struct report *r) {
    const struct result_array *a = &s->placed.pieces.list->array[i];
    if (a->axes == AXES_GRID)
        return put_known(s, i, r);
    return a->type == TYPE_TEXT ? finish_text(s, i, r) : finish_numbers(s, i, r);
}

static shoal_code npz_end(struct sink *sink, bool complete, struct report *r) {
    struct npz_sink *s = (struct npz_sink *)sink;
    shoal_code code = SHOAL_OK;
    s->end = s->laid_out;
    for (int turn = 0; turn < 3; turn++)
        for (uint32_t i = 0; i < s->placed.arrays && code == SHOAL_OK; i++)
            if (turn_of(&s->placed.pieces.list->array[i]) == turn)
                code = finish_array(s, i, r);
    if (code == SHOAL_OK)
        code = put_status_words(s, r);
    if (code == SHOAL_OK)
        code = put_meta(s, complete, r);
    if (code == SHOAL_OK)
        code = put_directory(s, r);
    return code == SHOAL_OK ? placed_commit(&s->placed, complete, r) : code;
}

static void npz_free(struct sink *sink) {
    struct npz_sink *s = (struct npz_sink *)sink;
    for (uint32_t i = 0; s->member && i < s->placed.arrays; i++)
        free(s->member[i]);
    placed_free(&s->placed);
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
    s->sink = (struct sink){.begin = npz_begin,
                            .chunk = npz_chunk,
                            .end = npz_end,
                            .free = npz_free,
                            .place = npz_place,
                            .journal = &s->placed.journal};
    s->path = strdup(path);
    placed_init(&s->placed, s->path);
    if (!s->path) {
        free(s);
        return NULL;
    }
    return &s->sink;
}

// ---- Places of a whole file ---------------------------------------------------------------------

// As npz_end lays them out: what waited is behind the others, in order.
static void place_waiting(struct npz_sink *s, const struct journal_stream *total, uint64_t *start) {
    const struct result_list *list = s->placed.pieces.list;
    uint64_t end = s->laid_out;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct result_array *a = &list->array[i];
        if (!placed_waits(a))
            continue;
        uint64_t width = total[i].width ? total[i].width : 1;
        start[i] = end + zip_local_bytes(s->member[i]) + NPY_HEADER;
        end = start[i] +
              (a->type == TYPE_TEXT ? list->of.rows * width * sizeof(uint32_t) : total[i].bytes);
    }
}

shoal_code npz_places(const char *beside, const struct result_list *list,
                      const struct journal_stream *total, uint64_t *start, struct report *r) {
    struct sink *sink = npz_sink_new(beside, 1);
    if (!sink)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", beside);
    struct npz_sink *s = (struct npz_sink *)sink;
    shoal_code code = lay_out(s, list, r);
    for (uint32_t i = 0; i < list->count && code == SHOAL_OK; i++)
        start[i] = placed_has_place(&list->array[i]) ? s->placed.array[i].start : UINT64_MAX;
    if (code == SHOAL_OK)
        place_waiting(s, total, start);
    sink->free(sink);
    return code;
}
