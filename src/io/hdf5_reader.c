// SPDX-License-Identifier: MIT
// Results in HDF5 files, read in blocks; see reader.h. A process of its own reads each array that
// is asked for (hdf5_program.h); what it sends is checked.
#include "io/formats.h"
#include "io/hdf5_program.h"
#include "result/result_names.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS_MOST = 4096 };

struct hdf5_file {
    char program[HDF5_PROGRAM_ROOM];
    uint32_t count;
    char *name[ARRAYS_MOST];
};

struct hdf5_column_stream {
    struct hdf5_stream *from;
    struct reader_words *words; // of a column of words
    const char *bytes;          // what is left of the message
    size_t left;
};

struct hdf5_streams {
    struct reader_stream stream;
    struct reader *d;
    uint32_t count;
    struct hdf5_column_stream column[READER_COLUMNS + 1];
};

static void hdf5_close(struct reader *d) {
    struct hdf5_file *f = d->data;
    for (uint32_t i = 0; i < f->count; i++)
        free(f->name[i]);
    free(f);
}

// The next message: false at the end of the column, and where something is wrong.
static bool next_message(struct hdf5_streams *s, struct hdf5_column_stream *c, shoal_code *code,
                         struct report *r) {
    uint32_t kind = HDF5_NUMBERS;
    bool more = hdf5_stream_next(c->from, &kind, &c->bytes, &c->left, r);
    bool good = c->words ? kind == HDF5_TEXT && c->left <= HDF5_TEXT_MOST
                         : kind == HDF5_NUMBERS && c->left % sizeof(double) == 0;
    if (more && good)
        return true;
    *code = hdf5_stream_close(c->from, !more, r);
    c->from = NULL;
    c->left = 0;
    if (more)
        *code = report_error(r, SHOAL_IO, "%s is damaged", s->d->path);
    return false;
}

// Words come one a message, each as its number.
static shoal_code fill_words(struct hdf5_streams *s, struct hdf5_column_stream *c, double *to,
                             size_t most, size_t *got, struct report *r) {
    shoal_code code = SHOAL_OK;
    while (*got < most && c->from && next_message(s, c, &code, r))
        to[(*got)++] = reader_word(s->d, c->words, c->bytes, c->left);
    return code;
}

static shoal_code fill_numbers(struct hdf5_streams *s, struct hdf5_column_stream *c, double *to,
                               size_t most, size_t *got, struct report *r) {
    shoal_code code = SHOAL_OK;
    while (*got < most && c->from) {
        if (!c->left && !next_message(s, c, &code, r))
            break;
        size_t count = c->left / sizeof *to < most - *got ? c->left / sizeof *to : most - *got;
        memcpy(to + *got, c->bytes, count * sizeof *to);
        c->bytes += count * sizeof *to;
        c->left -= count * sizeof *to;
        *got += count;
    }
    return code;
}

static shoal_code hdf5_next(struct reader_stream *stream, double *const *to, size_t most,
                            size_t *got, struct report *r) {
    struct hdf5_streams *s = (struct hdf5_streams *)stream;
    *got = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        size_t count = 0;
        struct hdf5_column_stream *c = &s->column[i];
        shoal_code code = (c->words ? fill_words : fill_numbers)(s, c, to[i], most, &count, r);
        if (code)
            return code;
        *got = i && *got < count ? *got : count;
    }
    return SHOAL_OK;
}

static void hdf5_streams_close(struct reader_stream *stream) {
    struct hdf5_streams *s = (struct hdf5_streams *)stream;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->column[i].from)
            hdf5_stream_close(s->column[i].from, false, NULL);
    free(s);
}

static shoal_code hdf5_streams_open(struct reader *d, uint32_t table, const uint32_t *columns,
                                    uint32_t count, struct reader_stream **out, struct report *r) {
    const struct hdf5_file *f = d->data;
    struct hdf5_streams *s = calloc(1, sizeof *s);
    (void)table;
    *out = (struct reader_stream *)s;
    if (!s)
        return SHOAL_MEMORY;
    s->stream = (struct reader_stream){hdf5_next, hdf5_streams_close};
    s->d = d;
    for (; s->count < count; s->count++) {
        const struct reader_column *c = &d->columns.items[columns[s->count]];
        const char *name = f->name[c->index];
        s->column[s->count].words = c->words;
        s->column[s->count].from = hdf5_stream_open(f->program, "array", d->path, name, r);
        if (!s->column[s->count].from)
            return SHOAL_IO;
    }
    return SHOAL_OK;
}

static const struct reader_format hdf5_reader = {.stream = hdf5_streams_open, .close = hdf5_close};

struct lister {
    struct hdf5_file *file;
    struct reader_shape *shape;
    uint32_t shapes;
};

static shoal_code take_shape(void *user, uint32_t kind, const void *bytes, size_t length) {
    struct lister *l = user;
    struct hdf5_shape s;
    struct hdf5_file *f = l->file;
    if (kind != HDF5_SHAPE || length <= sizeof s || length > sizeof s + RESULT_NAME_MOST ||
        f->count == ARRAYS_MOST)
        return SHOAL_IO;
    memcpy(&s, bytes, sizeof s);
    char *name = strndup((const char *)bytes + sizeof s, length - sizeof s);
    if (!name)
        return SHOAL_MEMORY;
    f->name[f->count] = name;
    if (s.dims <= HDF5_AXES) {
        l->shape[l->shapes] =
            (struct reader_shape){name, (uint32_t)s.dims, f->count, s.is_text, {0}};
        memcpy(l->shape[l->shapes++].shape, s.shape, (size_t)s.dims * sizeof *s.shape);
    }
    f->count++;
    return SHOAL_OK;
}

shoal_code hdf5_reader_open(struct reader *d, struct report *r) {
    struct hdf5_file *f = calloc(1, sizeof *f);
    if (!f)
        return SHOAL_MEMORY;
    d->data = f;
    d->format = &hdf5_reader;
    if (!hdf5_program_find(f->program))
        return report_error(r, SHOAL_IO,
                            "%s: the program shoal-hdf5, which reads it, is not there; install it, "
                            "or name it in SHOAL_HDF5_READER",
                            d->path);
    shoal_code code = hdf5_format.meta_read(d->path, &d->arena, &d->meta, r);
    struct lister l = {.file = f, .shape = calloc(ARRAYS_MOST, sizeof *l.shape)};
    if (!code)
        code = l.shape ? hdf5_program_run(f->program, "list", d->path, take_shape, &l, r)
                       : SHOAL_MEMORY;
    if (!code)
        code = reader_add_arrays(d, l.shape, l.shapes, r);
    free(l.shape);
    return code;
}
