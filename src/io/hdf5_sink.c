// SPDX-License-Identifier: MIT
// Results as HDF5: the arrays of the list as datasets of the root group, and `meta` (JSON) and
// `status_words` beside them, as in NPZ.
//
// Arrays whose length is known are datasets that lie in one piece, made and given their place
// first; then the library closes the file, which is valid from there on, and rows are written to
// their places without it. What has no known length (`steps`, text) waits in files beside it,
// FILE.part.N. At the end the library opens the file again and adds those, and all else. After a
// stop rows that did not come have the status pending. A run that goes on (journal.h) makes the
// first part anew and takes from there what is not data: a file that was left is never read by the
// library. Since nothing depends on how rows came, equal results are equal files. Axes have
// dimension scales (hdf5_scales.c). Attributes of the root: `shoal_version`, and every simple
// member of the JSON under its own name. Both texts have a fixed length: those are read in the
// plainest way there is.
#include "base/file.h"
#include "io/formats.h"
#include "io/hdf5_scales.h"
#include "io/placed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COPY_BYTES = 1 << 18,
    TEXT_BLOCK = 1024,
    MEMBERS_MORE = 4, // than arrays: meta, words, and what is the library's
};

struct hdf5_sink {
    struct sink sink;
    char *path;
    struct placed placed;
    h5id file;     // -1: the library has closed it
    h5id *dataset; // [arrays], -1 when there is none
    h5id text_type;
};

uint64_t hdf5_bytes(const struct result_list *list) {
    return result_list_bytes(list) + 4096 + 1024 * ((uint64_t)list->count + MEMBERS_MORE) +
           (list->of.meta ? 2 * (uint64_t)strlen(list->of.meta) : 0);
}

static h5id type_of(const struct hdf5_sink *s, const struct hdf5 *h, enum result_type type) {
    switch (type) {
    case TYPE_U8:
        return h->H5T_NATIVE_UINT8_g;
    case TYPE_U32:
        return h->H5T_NATIVE_UINT32_g;
    case TYPE_U64:
        return h->H5T_NATIVE_UINT64_g;
    case TYPE_F32:
        return h->H5T_NATIVE_FLOAT_g;
    case TYPE_F64:
    case TYPE_TIME:
        return h->H5T_NATIVE_DOUBLE_g;
    case TYPE_TEXT:
        return s->text_type;
    case RESULT_TYPES:
        break;
    }
    return -1;
}

// ---- Begin --------------------------------------------------------------------------------------

enum { DIMS = 1 + RESULT_AXES };

// Whether it has its place from the beginning; groups of runs come at once.
static bool has_place(const struct hdf5_sink *s, uint32_t array) {
    const struct result_list *list = s->placed.pieces.list;
    return placed_has_place(&list->array[array]) && !list->of.reduced;
}

static const char *name_of(const struct hdf5_sink *s) { return s->placed.part.part; }

// ---- The file in the hands of the library -------------------------------------------------------

// The library keeps what it failed to write: it tries again when it closes the file, and crashes at
// exit when that fails too. So the rest of a file that is given up goes to memory.
static void divert(struct hdf5_sink *s, const struct hdf5 *h) {
    void *handle = NULL;
    if (h->H5Fget_vfd_handle(s->file, H5_DEFAULT, &handle) < 0 || !handle)
        return;
    int memory = memfd_create("shoal", MFD_CLOEXEC);
    if (memory >= 0) {
        dup2(memory, *(const int *)handle);
        close(memory);
    }
}

// Closes all that is open; false when the library could not write what it still held.
static bool close_all(struct hdf5_sink *s, const struct hdf5 *h) {
    bool ok = true;
    for (uint32_t i = 0; s->dataset && i < s->placed.arrays; i++)
        if (s->dataset[i] >= 0) {
            ok = h->H5Dclose(s->dataset[i]) >= 0 && ok;
            s->dataset[i] = -1;
        }
    if (s->text_type >= 0)
        h->H5Tclose(s->text_type);
    s->text_type = -1;
    if (s->file >= 0)
        ok = h->H5Fclose(s->file) >= 0 && ok;
    s->file = -1;
    return ok;
}

// `create`: its path, where it is a new one.
static shoal_code enter_file(struct hdf5_sink *s, const struct hdf5 *h, const char *create,
                             struct report *r) {
    s->file = create ? h->H5Fcreate(create, H5_TRUNCATE, H5_DEFAULT, H5_DEFAULT)
                     : h->H5Fopen(name_of(s), H5_READ_WRITE, H5_DEFAULT);
    if (s->file < 0)
        return hdf5_failed(h, name_of(s), create ? "create the file" : "open the file", r);
    s->text_type = hdf5_text_type(h, H5_VARIABLE);
    return s->text_type >= 0 ? SHOAL_OK : hdf5_failed(h, name_of(s), "make a type", r);
}

// Has the library write what it holds, and close the file; after an error that is left to
// hdf5_free.
static shoal_code leave_file(struct hdf5_sink *s, const struct hdf5 *h, shoal_code code,
                             struct report *r) {
    if (code == SHOAL_OK && h->H5Fflush(s->file, H5_GLOBAL) < 0)
        code = hdf5_failed(h, name_of(s), "write", r);
    if (code == SHOAL_OK && !close_all(s, h))
        code = hdf5_failed(h, name_of(s), "close", r);
    return code;
}

// ---- Begin --------------------------------------------------------------------------------------

static shoal_code cannot_create(const struct hdf5_sink *s, const struct hdf5 *h, uint32_t array,
                                struct report *r) {
    char what[64];
    snprintf(what, sizeof what, "create '%.40s'", s->placed.pieces.names.name[array]);
    return hdf5_failed(h, name_of(s), what, r);
}

// An array of that many rows, or samples, in one piece.
static shoal_code create_dataset(struct hdf5_sink *s, const struct hdf5 *h, uint32_t array,
                                 uint64_t length, struct report *r) {
    const struct pieces *p = &s->placed.pieces;
    const struct result_array *a = &p->list->array[array];
    h5size shape[DIMS];
    int dims = result_shape(p->list, a, length, shape);
    h5id space = h->H5Screate_simple(dims, shape, NULL);
    h5id how = h->H5Pcreate(h->H5P_CLS_DATASET_CREATE_ID_g), made = -1;
    if (space >= 0 && how >= 0 &&
        (a->type == TYPE_TEXT || (h->H5Pset_alloc_time(how, H5_ALLOCATE_EARLY) >= 0 &&
                                  h->H5Pset_fill_time(how, H5_FILL_NEVER) >= 0)) &&
        h->H5Pset_obj_track_times(how, false) >= 0)
        made = h->H5Dcreate2(s->file, p->names.name[array], type_of(s, h, a->type), space,
                             H5_DEFAULT, how, H5_DEFAULT);
    shoal_code code = made < 0 ? cannot_create(s, h, array, r) : SHOAL_OK; // before it forgets why
    s->dataset[array] = made;
    if (how >= 0)
        h->H5Pclose(how);
    if (space >= 0)
        h->H5Sclose(space);
    return code;
}

// The first part of a file: all datasets that have their place from the beginning.
static shoal_code create_placed(struct hdf5_sink *s, const char *path, struct report *r) {
    struct placed *p = &s->placed;
    const struct hdf5 *h = hdf5_enter(s->path, r);
    if (!h)
        return SHOAL_IO;
    shoal_code code = enter_file(s, h, path, r);
    for (uint32_t i = 0; i < p->arrays && code == SHOAL_OK; i++) {
        if (!has_place(s, i))
            continue;
        const struct result_list *list = p->pieces.list;
        code = create_dataset(s, h, i, result_length(&list->array[i], list->of.rows, 0), r);
        if (code == SHOAL_OK)
            p->array[i].start = h->H5Dget_offset(s->dataset[i]);
    }
    code = leave_file(s, h, code, r);
    hdf5_leave(h);
    return code;
}

// ---- What is not data ---------------------------------------------------------------------------

static shoal_code copy_bytes(struct hdf5_sink *s, int from, uint64_t at, uint64_t end,
                             struct report *r) {
    char *piece = malloc(COPY_BYTES);
    shoal_code code =
        piece ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    for (uint64_t n; at < end && code == SHOAL_OK; at += n) {
        n = end - at < COPY_BYTES ? end - at : COPY_BYTES;
        code = file_read_at(from, name_of(s), at, piece, (size_t)n, r);
        if (code == SHOAL_OK)
            code = file_write_at(s->placed.part.fd, name_of(s), at, piece, (size_t)n, r);
    }
    free(piece);
    return code;
}

// The first dataset with data at or behind a place; the number of arrays: there is none.
static uint32_t next_placed(const struct hdf5_sink *s, uint64_t at) {
    const struct placed *p = &s->placed;
    uint32_t next = p->arrays;
    for (uint32_t i = 0; i < p->arrays; i++)
        if (has_place(s, i) && placed_bytes(p, i) && p->array[i].start >= at &&
            (next == p->arrays || p->array[i].start < p->array[next].start))
            next = i;
    return next;
}

// Copies all but the data of datasets, and gives the file its length.
static shoal_code copy_rest(struct hdf5_sink *s, int from, struct report *r) {
    const struct placed *p = &s->placed;
    struct stat size;
    shoal_code code = SHOAL_OK;
    if (fstat(from, &size) < 0 || ftruncate(p->part.fd, size.st_size) < 0)
        return report_error(r, SHOAL_IO, "%s: cannot be given its length", name_of(s));
    for (uint64_t at = 0, end; at < (uint64_t)size.st_size && code == SHOAL_OK;) {
        uint32_t next = next_placed(s, at);
        end = next < p->arrays ? p->array[next].start : (uint64_t)size.st_size;
        code = copy_bytes(s, from, at, end, r);
        at = next < p->arrays ? end + placed_bytes(p, next) : end;
    }
    return code;
}

// Makes the first part in a file of its own, goes on from the data, and takes the rest from there.
static shoal_code begin_again(struct hdf5_sink *s, struct journal_reader *d, struct report *r) {
    static const char first[] = "first";
    char *path = NULL;
    int fd = -1;
    if (asprintf(&path, "%s.%s", name_of(s), first) < 0)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    shoal_code code = file_beside(&s->placed.part, first, false, &fd, r);
    if (code == SHOAL_OK)
        code = create_placed(s, path, r);
    if (code == SHOAL_OK)
        code = placed_start(&s->placed, d, true, &s->sink.there, r);
    if (code == SHOAL_OK)
        code = copy_rest(s, fd, r);
    if (fd >= 0) {
        close(fd);
        file_beside_remove(name_of(s), first);
    }
    free(path);
    return code;
}

static shoal_code begin_new(struct hdf5_sink *s, struct journal_reader *d, struct report *r) {
    shoal_code code = create_placed(s, name_of(s), r);
    return code == SHOAL_OK ? placed_start(&s->placed, d, false, &s->sink.there, r) : code;
}

static shoal_code hdf5_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    struct journal_reader d = {.fd = -1};
    bool found = false;
    shoal_code code = placed_begin(&s->placed, sink->order, list, r);
    s->dataset = malloc(((size_t)list->count + 1) * sizeof *s->dataset);
    for (uint32_t i = 0; s->dataset && i < list->count; i++)
        s->dataset[i] = -1;
    if (code == SHOAL_OK && !s->dataset)
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    if (code == SHOAL_OK)
        code = placed_open(&s->placed, hdf5_bytes(list), &d, &found, r);
    if (code == SHOAL_OK)
        code = (found ? begin_again : begin_new)(s, &d, r);
    journal_reader_close(&d);
    return code;
}

// ---- Chunks -------------------------------------------------------------------------------------

struct put_context {
    struct hdf5_sink *sink;
    const struct hdf5 *h;
};

// A dataset that is written at once; without axes it is a single value.
static bool put_dataset(struct put_context *c, const char *name, h5id type, const h5size *shape,
                        int dims, const void *data) {
    const struct hdf5 *h = c->h;
    h5id space = dims ? h->H5Screate_simple(dims, shape, NULL) : h->H5Screate(H5_SCALAR);
    h5id how = h->H5Pcreate(h->H5P_CLS_DATASET_CREATE_ID_g), made = -1;
    if (space >= 0 && how >= 0 && h->H5Pset_obj_track_times(how, false) >= 0)
        made = h->H5Dcreate2(c->sink->file, name, type, space, H5_DEFAULT, how, H5_DEFAULT);
    bool ok = made >= 0 && h->H5Dwrite(made, type, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT, data) >= 0;
    if (made >= 0)
        h->H5Dclose(made);
    if (how >= 0)
        h->H5Pclose(how);
    if (space >= 0)
        h->H5Sclose(space);
    return ok;
}

// The values along one axis of a column of groups: numbers and texts have the same size.
static bool put_scale(struct put_context *c, uint32_t array, const void *data) {
    const struct pieces *p = &c->sink->placed.pieces;
    const struct result_spec *of = &p->list->of;
    int axis = hdf5_scale_axis(p->list, array);
    if (axis < 0)
        return true;
    char name[HDF5_SCALE_NAME];
    h5size length = of->shape[axis], stride = 1;
    for (uint32_t i = (uint32_t)axis + 1; i < of->axes; i++)
        stride *= of->shape[i];
    uint64_t *picked = malloc(length * sizeof *picked);
    for (uint64_t i = 0; picked && i < length; i++)
        memcpy(&picked[i], (const char *)data + i * stride * sizeof *picked, sizeof *picked);
    hdf5_scale_name(p, array, name);
    bool ok = picked && put_dataset(c, name, type_of(c->sink, c->h, p->list->array[array].type),
                                    &length, 1, picked);
    free(picked);
    return ok;
}

// An array of groups of runs: it comes in one piece.
static shoal_code put_whole(void *user, uint32_t array, const struct piece *p, struct report *r) {
    struct put_context *c = user;
    const struct pieces *of = &c->sink->placed.pieces;
    const struct result_array *a = &of->list->array[array];
    h5size shape[RESULT_SHAPE_MOST];
    int dims = result_file_shape(of->list, a, p->rows, shape);
    const char *const *text = a->type == TYPE_TEXT ? p->data : NULL;
    const char **texts = text ? malloc(p->rows * sizeof *texts) : NULL;
    if (text && !texts)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", c->sink->path);
    for (uint64_t i = 0; texts && i < p->rows; i++)
        texts[i] = text[i] ? text[i] : ""; // the library does not take NULL
    const void *data = texts ? (const void *)texts : p->data;
    bool ok =
        put_dataset(c, of->names.name[array], type_of(c->sink, c->h, a->type), shape, dims, data) &&
        put_scale(c, array, data);
    free(texts);
    return ok ? SHOAL_OK : hdf5_failed(c->h, name_of(c->sink), "write", r);
}

static shoal_code put_groups(struct hdf5_sink *s, const struct result_chunk *chunk,
                             struct report *r) {
    struct put_context c = {s, hdf5_enter(s->path, r)};
    if (!c.h)
        return SHOAL_IO;
    shoal_code code = enter_file(s, c.h, NULL, r);
    if (code == SHOAL_OK)
        code = pieces_chunk(&s->placed.pieces, chunk, put_whole, &c, r);
    code = leave_file(s, c.h, code, r);
    hdf5_leave(c.h);
    return code;
}

static shoal_code hdf5_chunk(struct sink *sink, const struct result_chunk *chunk,
                             struct report *r) {
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    return s->placed.pieces.list->of.reduced ? put_groups(s, chunk, r)
                                             : placed_chunk(&s->placed, chunk, r);
}

// ---- What waited --------------------------------------------------------------------------------

static shoal_code write_box(struct put_context *c, uint32_t array, uint64_t first, uint64_t count,
                            const void *data, struct report *r) {
    const struct hdf5 *h = c->h;
    struct hdf5_sink *s = c->sink;
    if (!count)
        return SHOAL_OK;
    h5id in_file = h->H5Dget_space(s->dataset[array]);
    h5id in_memory = h->H5Screate_simple(1, &count, NULL);
    enum result_type type = s->placed.pieces.list->array[array].type;
    bool ok = in_file >= 0 && in_memory >= 0 &&
              h->H5Sselect_hyperslab(in_file, H5_SELECT_SET, &first, NULL, &count, NULL) >= 0 &&
              h->H5Dwrite(s->dataset[array], type_of(s, h, type), in_memory, in_file, H5_DEFAULT,
                          data) >= 0;
    // Before anything is closed: that makes the library forget why.
    shoal_code code = ok ? SHOAL_OK : hdf5_failed(h, name_of(s), "write", r);
    if (in_file >= 0)
        h->H5Sclose(in_file);
    if (in_memory >= 0)
        h->H5Sclose(in_memory);
    return code;
}

// Texts on their way into the file, some at a time.
struct texts {
    struct put_context *context;
    uint32_t array, count;
    uint64_t first;
    char *text[TEXT_BLOCK];
};

static shoal_code flush_texts(struct texts *t, struct report *r) {
    shoal_code code = write_box(t->context, t->array, t->first, t->count, t->text, r);
    t->first += t->count;
    while (t->count)
        free(t->text[--t->count]);
    return code;
}

static shoal_code put_text(void *user, const char *text, uint32_t length, struct report *r) {
    struct texts *t = user;
    char *copy = strndup(text, length);
    if (!copy)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", t->context->sink->path);
    t->text[t->count++] = copy;
    return t->count == TEXT_BLOCK ? flush_texts(t, r) : SHOAL_OK;
}

static shoal_code put_texts(struct put_context *c, uint32_t array, struct report *r) {
    struct texts t = {.context = c, .array = array};
    shoal_code code = placed_texts(&c->sink->placed, array, put_text, &t, r);
    if (code == SHOAL_OK)
        code = flush_texts(&t, r);
    while (t.count)
        free(t.text[--t.count]);
    return code;
}

static shoal_code put_numbers(struct put_context *c, uint32_t array, struct report *r) {
    struct placed *p = &c->sink->placed;
    uint32_t size = result_type_bytes(p->pieces.list->array[array].type);
    uint64_t bytes = p->array[array].bytes;
    char *piece = malloc(COPY_BYTES);
    shoal_code code =
        piece ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "%s: not enough memory", p->path);
    for (uint64_t at = 0, n; at < bytes && code == SHOAL_OK; at += n) {
        n = bytes - at < COPY_BYTES ? bytes - at : COPY_BYTES;
        code = file_read_at(p->array[array].spool, name_of(c->sink), at, piece, (size_t)n, r);
        if (code == SHOAL_OK)
            code = write_box(c, array, at / size, n / size, piece, r);
    }
    free(piece);
    return code;
}

// Datasets of numbers that waited come first, so that where they are depends on lengths alone.
static shoal_code create_flat(struct put_context *c, uint64_t length, struct report *r) {
    const struct result_list *list = c->sink->placed.pieces.list;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < list->count && code == SHOAL_OK; i++)
        if (list->array[i].axes == AXES_FLAT)
            code = create_dataset(c->sink, c->h, i, length, r);
    return code;
}

static shoal_code put_waiting(struct put_context *c, struct report *r) {
    const struct pieces *p = &c->sink->placed.pieces;
    shoal_code code = create_flat(c, p->flat_done, r);
    for (uint32_t i = 0; i < p->list->count && code == SHOAL_OK; i++) {
        const struct result_array *a = &p->list->array[i];
        if (a->axes == AXES_FLAT)
            code = put_numbers(c, i, r);
        else if (placed_waits(a))
            code = create_dataset(c->sink, c->h, i, p->list->of.rows, r);
        if (code == SHOAL_OK && placed_waits(a) && a->axes != AXES_FLAT)
            code = put_texts(c, i, r);
    }
    return code;
}

// Those that have had their place.
static shoal_code open_placed(struct put_context *c, struct report *r) {
    struct hdf5_sink *s = c->sink;
    for (uint32_t i = 0; i < s->placed.arrays; i++)
        if (has_place(s, i)) {
            s->dataset[i] = c->h->H5Dopen2(s->file, s->placed.pieces.names.name[i], H5_DEFAULT);
            if (s->dataset[i] < 0)
                return hdf5_failed(c->h, name_of(s), "open a dataset", r);
        }
    return SHOAL_OK;
}

// ---- End ----------------------------------------------------------------------------------------

static void put_member(void *user, const char *name, const char *text, double number) {
    struct put_context *c = user;
    if (text)
        hdf5_put_attribute(c->h, c->sink->file, name, c->sink->text_type, 0, &text);
    else
        hdf5_put_attribute(c->h, c->sink->file, name, c->h->H5T_NATIVE_DOUBLE_g, 0, &number);
}

// What all runs have in common, where there is such.
static bool put_known(struct put_context *c) {
    const struct pieces *p = &c->sink->placed.pieces;
    bool ok = true;
    for (uint32_t i = 0; i < p->list->count && ok; i++)
        if (p->list->array[i].axes == AXES_GRID)
            ok = put_dataset(c, p->names.name[i], c->h->H5T_NATIVE_DOUBLE_g, p->list->array[i].axis,
                             1, p->list->array[i].known);
    return ok;
}

static bool put_status_words(struct put_context *c) {
    enum { WIDTH = 16 };
    char words[SHOAL_STATUS_COUNT][WIDTH] = {{0}};
    const h5size count = SHOAL_STATUS_COUNT;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        strncpy(words[i], shoal_status_word(i), WIDTH - 1);
    h5id type = hdf5_text_type(c->h, WIDTH);
    bool ok = type >= 0 && put_dataset(c, RESULT_STATUS_WORDS, type, &count, 1, words);
    if (type >= 0)
        c->h->H5Tclose(type);
    return ok;
}

static bool put_meta(struct put_context *c, const struct buf *json) {
    const char *version = SHOAL_VERSION;
    h5id type = hdf5_text_type(c->h, json->length + 1);
    bool ok =
        type >= 0 && put_dataset(c, RESULT_META, type, NULL, 0, json->data) &&
        hdf5_put_attribute(c->h, c->sink->file, "shoal_version", c->sink->text_type, 0, &version);
    if (type >= 0)
        c->h->H5Tclose(type);
    if (ok)
        io_meta_members(json->data, put_member, c);
    return ok;
}

// What NPZ has besides the arrays.
static shoal_code put_rest(struct put_context *c, bool complete, struct report *r) {
    struct hdf5_sink *s = c->sink;
    struct buf json = {0};
    io_meta_complete(&json, s->placed.pieces.list->of.meta, complete);
    shoal_code code = SHOAL_OK;
    if (json.failed)
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    else if (!put_known(c) || !put_status_words(c) || !put_meta(c, &json) ||
             !hdf5_put_scales(c->h, s->file, &s->placed.pieces))
        code = hdf5_failed(c->h, name_of(s), "write", r);
    buf_free(&json);
    return code;
}

static shoal_code finish(struct put_context *c, bool complete, struct report *r) {
    bool reduced = c->sink->placed.pieces.list->of.reduced;
    shoal_code code = reduced ? SHOAL_OK : open_placed(c, r);
    if (code == SHOAL_OK && !reduced)
        code = put_waiting(c, r);
    return code == SHOAL_OK ? put_rest(c, complete, r) : code;
}

// Runs that did not come have no samples: all begin where the last ends.
static shoal_code put_ends(struct hdf5_sink *s, struct report *r) {
    const struct placed *p = &s->placed;
    const uint64_t *last = &p->pieces.flat_done, row = p->pieces.rows_done;
    const struct result_array *a = result_list_ours(p->pieces.list, FIELD_offsets);
    return a ? file_fill(p->part.fd, name_of(s),
                         p->array[a - p->pieces.list->array].start + (row + 1) * sizeof *last,
                         (p->pieces.list->of.rows - row) * sizeof *last, last, sizeof *last, r)
             : SHOAL_OK;
}

// Nor have they numbers, whatever their status says.
static shoal_code put_missing(struct hdf5_sink *s, struct report *r) {
    static const float nan_f32 = (float)NAN;
    static const double nan_f64 = (double)NAN;
    const struct placed *p = &s->placed;
    shoal_code code = put_ends(s, r);
    for (uint32_t i = 0; i < p->arrays && code == SHOAL_OK; i++) {
        const struct result_array *a = &p->pieces.list->array[i];
        bool single = a->type == TYPE_F32;
        if (!has_place(s, i) || (!single && a->type != TYPE_F64 && a->type != TYPE_TIME))
            continue;
        size_t size = single ? sizeof nan_f32 : sizeof nan_f64;
        uint64_t done = p->pieces.rows_done * result_width(p->pieces.list, a) * size;
        code =
            file_fill(p->part.fd, name_of(s), p->array[i].start + done, placed_bytes(p, i) - done,
                      single ? (const void *)&nan_f32 : (const void *)&nan_f64, size, r);
    }
    return code;
}

static shoal_code hdf5_end(struct sink *sink, bool complete, struct report *r) {
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    if (!s->placed.pieces.list->of.reduced && !complete && put_missing(s, r) != SHOAL_OK)
        return SHOAL_IO;
    struct put_context c = {s, hdf5_enter(s->path, r)};
    if (!c.h)
        return SHOAL_IO;
    shoal_code code = enter_file(s, c.h, NULL, r);
    if (code == SHOAL_OK)
        code = finish(&c, complete, r);
    code = leave_file(s, c.h, code, r);
    hdf5_leave(c.h);
    return code == SHOAL_OK ? placed_commit(&s->placed, complete, r) : code;
}

static void hdf5_free(struct sink *sink) {
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    if (s->file >= 0) {
        const struct hdf5 *h = hdf5_enter(s->path, NULL);
        divert(s, h);
        close_all(s, h);
        hdf5_leave(h);
    }
    placed_free(&s->placed);
    free(s->dataset);
    free(s->path);
    free(s);
}

struct sink *hdf5_sink_new(const char *path, uint32_t threads) {
    (void)threads;
    struct hdf5_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = (struct sink){.begin = hdf5_begin,
                            .chunk = hdf5_chunk,
                            .end = hdf5_end,
                            .free = hdf5_free,
                            .journal = &s->placed.journal};
    s->file = s->text_type = -1;
    s->path = strdup(path);
    placed_init(&s->placed, s->path);
    if (!s->path) {
        free(s);
        return NULL;
    }
    return &s->sink;
}

// ---- Places of a whole file ---------------------------------------------------------------------

// Where the numbers that waited are, once the file is opened again to take them.
static shoal_code find_flat(struct hdf5_sink *s, const struct journal_stream *total,
                            uint64_t *start, struct report *r) {
    const struct result_list *list = s->placed.pieces.list;
    struct put_context c = {s, hdf5_enter(s->path, r)};
    uint64_t length = 0;
    if (!c.h)
        return SHOAL_IO;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->array[i].axes == AXES_FLAT)
            length = total[i].bytes / result_type_bytes(list->array[i].type);
    shoal_code code = enter_file(s, c.h, NULL, r);
    if (code == SHOAL_OK)
        code = open_placed(&c, r);
    if (code == SHOAL_OK)
        code = create_flat(&c, length, r);
    for (uint32_t i = 0; i < list->count && code == SHOAL_OK; i++)
        if (list->array[i].axes == AXES_FLAT)
            start[i] = c.h->H5Dget_offset(s->dataset[i]);
    code = leave_file(s, c.h, code, r);
    hdf5_leave(c.h);
    return code;
}

// Such a file is made, without data, to see where its datasets are.
shoal_code hdf5_places(const char *beside, const struct result_list *list,
                       const struct journal_stream *total, uint64_t *start, struct report *r) {
    char *path = NULL;
    struct sink *sink = asprintf(&path, "%s.places.h5", beside) < 0 ? NULL : hdf5_sink_new(path, 1);
    if (!sink) {
        free(path);
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", beside);
    }
    struct result_list copy = *list;
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    shoal_code code = hdf5_begin(sink, &copy, r);
    for (uint32_t i = 0; i < list->count && code == SHOAL_OK; i++)
        start[i] = has_place(s, i) ? s->placed.array[i].start : UINT64_MAX;
    if (code == SHOAL_OK)
        code = find_flat(s, total, start, r);
    sink->free(sink);
    free(path);
    return code;
}
