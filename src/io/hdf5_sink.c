// SPDX-License-Identifier: MIT
// Results as HDF5: the arrays of the list as datasets of the root group, and `meta` (JSON) and
// `status_words` beside them, as in NPZ.
//
// Datasets are chunked and can grow. Those whose length is known have it from the beginning and are
// cut after a stop; the others grow as data come. Pieces of at most half a megabyte suit the chunk
// cache of the library, so each reaches the disk once. Axes have dimension scales (hdf5_scales.c).
// Attributes of the root: `shoal_version`, and every simple member of the JSON under its own name.
// Both texts have a fixed length: those are read in the plainest way there is.
#include "base/file.h"
#include "io/formats.h"
#include "io/hdf5_scales.h"
#include "io/pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CHUNK_ELEMENTS = 64 * 1024,
    FLAT_CHUNK = 16 * 1024,
    TEXT_BLOCK = 1024,
    MEMBERS_MORE = 4, // than arrays: meta, words, and what is the library's
};

struct hdf5_sink {
    struct sink sink;
    char *path;
    struct file_part part;
    struct pieces pieces;
    uint32_t arrays;
    h5id file;
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

// Chunks that divide n as evenly as they can, so that little of the last one is lost.
static h5size even_chunk(h5size n, h5size most) {
    if (n == 0)
        return 1;
    h5size chunks = (n + most - 1) / most;
    return (n + chunks - 1) / chunks;
}

enum { DIMS = 1 + RESULT_AXES };

static int shape_of(const struct hdf5_sink *s, const struct result_array *a, uint64_t rows,
                    h5size shape[DIMS]) {
    return result_shape(s->pieces.list, a, result_length(a, rows, s->pieces.flat_done), shape);
}

static h5id create_dataset(struct hdf5_sink *s, const struct hdf5 *h, uint32_t array,
                           struct report *r) {
    const struct result_array *a = &s->pieces.list->array[array];
    const char *name = s->pieces.names.name[array];
    h5size shape[DIMS], chunk[DIMS], most[DIMS], room = CHUNK_ELEMENTS;
    int dims = shape_of(s, a, s->pieces.list->of.rows, shape);
    for (int i = dims; i-- > 1; room /= chunk[i]) {
        most[i] = shape[i];
        chunk[i] = even_chunk(shape[i], room);
    }
    most[0] = H5_UNLIMITED;
    chunk[0] = a->axes == AXES_FLAT ? FLAT_CHUNK : even_chunk(shape[0], room);
    h5id space = h->H5Screate_simple(dims, shape, most);
    h5id how = h->H5Pcreate(h->H5P_CLS_DATASET_CREATE_ID_g), made = -1;
    if (space >= 0 && how >= 0 && h->H5Pset_chunk(how, dims, chunk) >= 0 &&
        (a->type == TYPE_TEXT || h->H5Pset_fill_time(how, H5_FILL_NEVER) >= 0) &&
        h->H5Pset_obj_track_times(how, false) >= 0)
        made = h->H5Dcreate2(s->file, name, type_of(s, h, a->type), space, H5_DEFAULT, how,
                             H5_DEFAULT);
    if (made < 0) { // before anything is closed: that makes the library forget why
        char what[64];
        snprintf(what, sizeof what, "create '%.40s'", name);
        hdf5_failed(h, s->part.part, what, r);
    }
    if (how >= 0)
        h->H5Pclose(how);
    if (space >= 0)
        h->H5Sclose(space);
    return made;
}

static shoal_code create_all(struct hdf5_sink *s, const struct hdf5 *h, struct report *r) {
    s->file = h->H5Fcreate(s->part.part, H5_TRUNCATE, H5_DEFAULT, H5_DEFAULT);
    if (s->file < 0)
        return hdf5_failed(h, s->part.part, "create the file", r);
    s->text_type = hdf5_text_type(h, H5_VARIABLE);
    if (s->text_type < 0)
        return hdf5_failed(h, s->part.part, "make a type", r);
    for (uint32_t i = 0; i < s->arrays; i++) {
        if (s->pieces.list->array[i].axes == AXES_GRID || s->pieces.list->of.reduced)
            continue; // comes at the end, or at once
        s->dataset[i] = create_dataset(s, h, i, r);
        if (s->dataset[i] < 0)
            return SHOAL_IO;
    }
    return SHOAL_OK;
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

// Where a piece lies in its dataset; it holds the last axis whole where that has three.
static int box_of(const struct hdf5_sink *s, const struct result_array *a, const struct piece *p,
                  h5size start[DIMS], h5size count[DIMS]) {
    int dims = shape_of(s, a, p->rows, count);
    for (int i = 1; i < DIMS; i++)
        start[i] = 0;
    start[0] = p->row;
    count[0] = p->rows;
    h5size inner = dims == 3 ? count[2] : 1;
    start[1] = p->sample / inner;
    count[1] = p->samples / inner;
    return dims;
}

static shoal_code write_box(struct put_context *c, uint32_t array, const struct piece *p,
                            struct report *r) {
    struct hdf5_sink *s = c->sink;
    const struct hdf5 *h = c->h;
    const struct result_array *a = &s->pieces.list->array[array];
    h5size start[DIMS], count[DIMS];
    int dims = box_of(s, a, p, start, count);
    h5size reached = p->row + p->rows;
    if (p->rows == 0)
        return SHOAL_OK;
    if (a->axes == AXES_FLAT && h->H5Dset_extent(s->dataset[array], &reached) < 0)
        return hdf5_failed(h, s->part.part, "write", r);
    h5id in_file = h->H5Dget_space(s->dataset[array]);
    h5id in_memory = h->H5Screate_simple(dims, count, NULL);
    bool ok = in_file >= 0 && in_memory >= 0 &&
              h->H5Sselect_hyperslab(in_file, H5_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              h->H5Dwrite(s->dataset[array], type_of(s, h, a->type), in_memory, in_file, H5_DEFAULT,
                          p->data) >= 0;
    // Before anything is closed: that makes the library forget why.
    shoal_code code = ok ? SHOAL_OK : hdf5_failed(h, s->part.part, "write", r);
    if (in_file >= 0)
        h->H5Sclose(in_file);
    if (in_memory >= 0)
        h->H5Sclose(in_memory);
    return code;
}

// The library does not take NULL for an empty text.
static shoal_code write_texts(struct put_context *c, uint32_t array, const struct piece *p,
                              struct report *r) {
    const char *const *text = p->data;
    const char *block[TEXT_BLOCK];
    shoal_code code = SHOAL_OK;
    for (uint64_t row = 0; row < p->rows && code == SHOAL_OK; row += TEXT_BLOCK) {
        uint64_t n = p->rows - row < TEXT_BLOCK ? p->rows - row : TEXT_BLOCK;
        for (uint64_t i = 0; i < n; i++)
            block[i] = text && text[row + i] ? text[row + i] : "";
        struct piece part = {block, p->row + row, n, 0, 1};
        code = write_box(c, array, &part, r);
    }
    return code;
}

// An array of groups of runs: it comes in one piece.
static shoal_code put_whole(struct put_context *c, uint32_t array, const struct piece *p,
                            struct report *r) {
    const struct pieces *of = &c->sink->pieces;
    const struct result_array *a = &of->list->array[array];
    h5size shape[RESULT_SHAPE_MOST];
    int dims = result_file_shape(of->list, a, p->rows, shape);
    const char *const *text = a->type == TYPE_TEXT ? p->data : NULL;
    const char **texts = text ? malloc(p->rows * sizeof *texts) : NULL;
    if (text && !texts)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", c->sink->path);
    for (uint64_t i = 0; texts && i < p->rows; i++)
        texts[i] = text[i] ? text[i] : ""; // the library does not take NULL
    bool ok = put_dataset(c, of->names.name[array], type_of(c->sink, c->h, a->type), shape, dims,
                          texts ? (const void *)texts : p->data);
    free(texts);
    return ok ? SHOAL_OK : hdf5_failed(c->h, c->sink->part.part, "write", r);
}

static shoal_code put_piece(void *user, uint32_t array, const struct piece *p, struct report *r) {
    struct put_context *c = user;
    const struct result_array *a = &c->sink->pieces.list->array[array];
    if (c->sink->pieces.list->of.reduced)
        return put_whole(c, array, p, r);
    return a->type == TYPE_TEXT ? write_texts(c, array, p, r) : write_box(c, array, p, r);
}

static shoal_code hdf5_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    shoal_code code = file_part_open(&s->part, s->path, r);
    if (code == SHOAL_OK)
        code = file_check_space(s->path, hdf5_bytes(list), r);
    if (code == SHOAL_OK)
        code = pieces_begin(&s->pieces, list, s->path, r);
    if (code != SHOAL_OK)
        return code;
    s->arrays = list->count;
    s->dataset = malloc(s->arrays * sizeof *s->dataset);
    if (!s->dataset)
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    for (uint32_t i = 0; i < s->arrays; i++)
        s->dataset[i] = -1;
    const struct hdf5 *h = hdf5_enter(s->path, r);
    if (!h)
        return SHOAL_IO;
    code = create_all(s, h, r);
    for (uint32_t i = 0; i < s->arrays && code == SHOAL_OK; i++)
        if (list->array[i].axes == AXES_OFFSETS) { // where the first run begins
            struct put_context c = {s, h};
            const uint64_t zero = 0;
            code = put_piece(&c, i, &(struct piece){&zero, 0, 1, 0, 1}, r);
        }
    hdf5_leave(h);
    return code;
}

static shoal_code hdf5_chunk(struct sink *sink, const struct result_chunk *chunk,
                             struct report *r) {
    struct put_context c = {(struct hdf5_sink *)sink, NULL};
    c.h = hdf5_enter(c.sink->path, r);
    if (!c.h)
        return SHOAL_IO;
    shoal_code code = pieces_chunk(&c.sink->pieces, chunk, put_piece, &c, r);
    hdf5_leave(c.h);
    return code;
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
    const struct pieces *p = &c->sink->pieces;
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
    io_meta_complete(&json, s->pieces.list->of.meta, complete);
    shoal_code code = SHOAL_OK;
    if (json.failed)
        code = report_error(r, SHOAL_MEMORY, "%s: not enough memory", s->path);
    else if (!put_known(c) || !put_status_words(c) || !put_meta(c, &json) ||
             (!s->pieces.list->of.reduced &&
              !hdf5_put_scales(c->h, s->file, &s->pieces, s->dataset)))
        code = hdf5_failed(c->h, s->part.part, "write", r);
    buf_free(&json);
    return code;
}

// Closes all that is open; false when the library could not write what it still held.
static bool close_all(struct hdf5_sink *s, const struct hdf5 *h) {
    bool ok = true;
    for (uint32_t i = 0; s->dataset && i < s->arrays; i++)
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

static shoal_code hdf5_end(struct sink *sink, bool complete, struct report *r) {
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    struct put_context c = {s, hdf5_enter(s->path, r)};
    if (!c.h)
        return SHOAL_IO;
    shoal_code code = SHOAL_OK;
    const struct pieces *p = &s->pieces;
    bool cut = p->rows_done < p->list->of.rows;
    for (uint32_t i = 0; i < s->arrays && cut && code == SHOAL_OK; i++) {
        h5size shape[DIMS];
        shape_of(s, &p->list->array[i], p->rows_done, shape);
        if (s->dataset[i] >= 0 && c.h->H5Dset_extent(s->dataset[i], shape) < 0)
            code = hdf5_failed(c.h, s->part.part, "cut", r);
    }
    if (code == SHOAL_OK)
        code = put_rest(&c, complete, r);
    if (code == SHOAL_OK && c.h->H5Fflush(s->file, H5_GLOBAL) < 0)
        code = hdf5_failed(c.h, s->part.part, "write", r);
    if (code == SHOAL_OK && !close_all(s, c.h))
        code = hdf5_failed(c.h, s->part.part, "close", r);
    hdf5_leave(c.h);
    return code == SHOAL_OK ? file_part_commit(&s->part, r) : code;
}

// The library cannot forget what it failed to write: it tries again when it closes the file, and
// crashes at exit when that fails too. So the rest of a file that is given up goes to memory.
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

static void hdf5_free(struct sink *sink) {
    struct hdf5_sink *s = (struct hdf5_sink *)sink;
    if (s->file >= 0) {
        const struct hdf5 *h = hdf5_enter(s->path, NULL);
        divert(s, h);
        close_all(s, h);
        hdf5_leave(h);
    }
    file_part_discard(&s->part);
    pieces_free(&s->pieces);
    free(s->dataset);
    free(s->path);
    free(s);
}

struct sink *hdf5_sink_new(const char *path, uint32_t threads) {
    (void)threads;
    struct hdf5_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = (struct sink){hdf5_begin, hdf5_chunk, hdf5_end, hdf5_free};
    s->part.fd = -1;
    s->file = s->text_type = -1;
    s->path = strdup(path);
    if (!s->path) {
        free(s);
        return NULL;
    }
    return &s->sink;
}
