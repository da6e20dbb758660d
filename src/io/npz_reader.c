// SPDX-License-Identifier: MIT
// Results in NPZ files, read in blocks; see reader.h. Members are stored in ours, and then only the
// blocks are read, without their checksum; a compressed one is unpacked whole.
#include "base/file.h"
#include "io/formats.h"
#include "io/npy.h"
#include "io/zip.h"
#include "result/result_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_MOST = 1 << 16, TEXT_MOST = 1024 };

struct npz_array {
    struct npy npy;
    const struct zip_entry *entry;
    uint64_t data; // where its numbers begin in the file
    char *bytes;   // of a compressed one, once it was read
};

struct npz_file {
    struct zip zip;
    struct npz_array *array;
    uint32_t count;
};

struct npz_stream {
    struct reader_stream stream;
    struct reader *d;
    uint32_t count, column[READER_COLUMNS + 1];
    uint64_t at, end;
    char *raw; // READER_ROWS elements of any column, as they are in the file
};

static void npz_close(struct reader *d) {
    struct npz_file *f = d->data;
    for (uint32_t i = 0; i < f->count; i++)
        free(f->array[i].bytes);
    free(f->array);
    zip_close(&f->zip);
    free(f);
}

// The bytes of elements [at, at + count).
static shoal_code read_raw(const struct npz_file *f, const struct npz_array *a, uint64_t at,
                           size_t count, void *to, struct report *r) {
    uint64_t offset = at * a->npy.size;
    if (!a->bytes)
        return file_read_at(f->zip.fd, f->zip.path, a->data + offset, to, count * a->npy.size, r);
    memcpy(to, a->npy.data + offset, count * a->npy.size);
    return SHOAL_OK;
}

static shoal_code read_numbers(const struct npz_stream *s, const struct npz_array *a, size_t count,
                               double *to, struct report *r) {
    const struct npz_file *f = s->d->data;
    bool plain = a->npy.kind == 'f' && a->npy.size == 8 && !a->npy.big;
    shoal_code code = read_raw(f, a, s->at, count, plain ? (void *)to : s->raw, r);
    if (code || plain)
        return code;
    if (a->npy.kind == 'f' && a->npy.size == 4 && !a->npy.big) {
        const float *from = (const float *)(const void *)s->raw;
        for (size_t i = 0; i < count; i++)
            to[i] = (double)from[i];
        return SHOAL_OK;
    }
    struct npy part = a->npy;
    part.data = s->raw;
    for (size_t i = 0; i < count; i++)
        to[i] = npy_number(&part, i);
    return SHOAL_OK;
}

// Texts, each as the number of its word.
static shoal_code read_words(const struct npz_stream *s, const struct npz_array *a, size_t count,
                             struct reader_words *words, double *to, struct report *r) {
    shoal_code code = read_raw(s->d->data, a, s->at, count, s->raw, r);
    struct npy part = a->npy;
    struct arena texts = {0};
    part.data = s->raw;
    for (size_t i = 0; i < count && !code; i++) {
        const char *text = npy_text(&part, i, &texts);
        to[i] = text ? reader_word(s->d, words, text, strlen(text)) : (double)NAN;
    }
    arena_free(&texts);
    return code;
}

static shoal_code npz_next(struct reader_stream *stream, double *const *to, size_t most,
                           size_t *got, struct report *r) {
    struct npz_stream *s = (struct npz_stream *)stream;
    const struct npz_file *f = s->d->data;
    shoal_code code = SHOAL_OK;
    *got = s->end - s->at < most ? (size_t)(s->end - s->at) : most;
    for (uint32_t i = 0; i < s->count && !code && *got; i++) {
        const struct reader_column *c = &s->d->columns.items[s->column[i]];
        const struct npz_array *a = &f->array[c->index];
        code = c->words ? read_words(s, a, *got, c->words, to[i], r)
                        : read_numbers(s, a, *got, to[i], r);
    }
    s->at += *got;
    return code;
}

static void npz_stream_close(struct reader_stream *stream) {
    struct npz_stream *s = (struct npz_stream *)stream;
    free(s->raw);
    free(s);
}

// A compressed member is unpacked when it is first needed.
static shoal_code unpack(const struct npz_file *f, struct npz_array *a, struct report *r) {
    if (zip_is_stored(a->entry) || a->bytes)
        return SHOAL_OK;
    shoal_code code = zip_read(&f->zip, a->entry, &a->bytes, r);
    const char *wrong = code ? NULL : npy_parse(&a->npy, a->bytes, (size_t)a->entry->size);
    return wrong ? report_error(r, SHOAL_INPUT, "%s: %s %s", f->zip.path, a->entry->name, wrong)
                 : code;
}

static shoal_code npz_stream(struct reader *d, uint32_t table, const uint32_t *columns,
                             uint32_t count, struct reader_stream **out, struct report *r) {
    struct npz_file *f = d->data;
    struct npz_stream *s = calloc(1, sizeof *s);
    size_t size = sizeof(double);
    (void)table;
    *out = (struct reader_stream *)s;
    if (!s)
        return SHOAL_MEMORY;
    s->stream = (struct reader_stream){npz_next, npz_stream_close};
    s->d = d;
    s->count = count;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < count && !code; i++) {
        struct npz_array *a = &f->array[d->columns.items[columns[i]].index];
        code = unpack(f, a, r);
        size = a->npy.size > size ? a->npy.size : size;
        s->column[i] = columns[i];
        s->end = i && s->end < a->npy.count ? s->end : a->npy.count;
    }
    s->raw = malloc(READER_ROWS * size);
    return code || s->raw ? code : SHOAL_MEMORY;
}

static const struct reader_format npz_reader = {.stream = npz_stream, .close = npz_close};

// Shape and place of a member; one that is no array of numbers has count 0 and no place.
static shoal_code look_at(struct npz_file *f, const struct zip_entry *e, struct npz_array *a,
                          char *head, struct report *r) {
    a->entry = e;
    if (!zip_is_stored(e)) {
        shoal_code code = unpack(f, a, r);
        return code;
    }
    uint64_t at = 0;
    size_t length = e->size < HEAD_MOST ? (size_t)e->size : HEAD_MOST;
    shoal_code code = zip_locate(&f->zip, e, &at, r);
    if (!code)
        code = file_read_at(f->zip.fd, f->zip.path, at, head, length, r);
    const char *wrong = code ? NULL : npy_parse_head(&a->npy, head, length, e->size);
    if (!code && wrong)
        code = report_error(r, SHOAL_INPUT, "%s: %s %s", f->zip.path, e->name, wrong);
    a->data = code ? 0 : at + (uint64_t)(a->npy.data - head);
    return code;
}

static char *name_of(struct arena *arena, const char *member) {
    size_t length = strlen(member);
    if (length > 4 && !strcmp(member + length - 4, ".npy"))
        length -= 4;
    return arena_strndup(arena, member, length);
}

// Short words: names of groups.
static bool is_text(const struct npy *a) {
    return (a->kind == 'U' || a->kind == 'S') && a->size && a->size <= TEXT_MOST;
}

static shoal_code look_at_all(struct reader *d, struct reader_shape *shape, char *head,
                              struct report *r) {
    struct npz_file *f = d->data;
    uint32_t shapes = 0;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < f->zip.count && !code; i++) {
        struct npz_array *a = &f->array[f->count++];
        code = look_at(f, &f->zip.entries[i], a, head, r);
        char *name = name_of(&d->arena, f->zip.entries[i].name);
        if (!name)
            return SHOAL_MEMORY;
        bool text = is_text(&a->npy);
        if (code || !(text || npy_is_number(&a->npy)) || a->npy.dims > READER_AXES)
            continue;
        shape[shapes] = (struct reader_shape){name, a->npy.dims, i, text, {0}};
        memcpy(shape[shapes++].shape, a->npy.shape, a->npy.dims * sizeof *a->npy.shape);
    }
    return code ? code : reader_add_arrays(d, shape, shapes, r);
}

shoal_code npz_reader_open(struct reader *d, struct report *r) {
    struct npz_file *f = calloc(1, sizeof *f);
    if (!f)
        return SHOAL_MEMORY;
    f->zip.fd = -1;
    d->data = f;
    d->format = &npz_reader;
    shoal_code code = zip_open(&f->zip, d->path, r);
    if (code)
        return code;
    (void)npz_format.meta_read(d->path, &d->arena, &d->meta, NULL); // none: not of ours, and fine
    f->array = calloc((size_t)f->zip.count + 1, sizeof *f->array);
    struct reader_shape *shape = calloc((size_t)f->zip.count + 1, sizeof *shape);
    char *head = malloc(HEAD_MOST);
    code = f->array && shape && head ? look_at_all(d, shape, head, r) : SHOAL_MEMORY;
    free(head);
    free(shape);
    return code;
}
