// SPDX-License-Identifier: MIT
// Batch tables and metadata from HDF5 files: what hdf5_read.h reads, taken message by message.
//
// The messages may come from a process that a damaged file has led astray, so nothing in them is
// believed: not the order, not the lengths.
#include "base/file.h"
#include "io/formats.h"
#include "io/hdf5_program.h"
#include "result/result_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { META_MOST = 1 << 30, ROWS_OF_A_BYTE = 1024, ROWS_OF_NOTHING = 4096 };

struct taker {
    const char *path;
    struct arena *arena;
    struct report *report;
    uint64_t file_size;
    enum hdf5_way way;
    struct table *table; // NULL: metadata are read
    double *number;      // of the column that is being filled, or
    const char **text;
    const char *name;
    uint64_t filled;
    bool told;  // that it holds numbers that are not finite
    bool wrong; // one of the columns does
    struct buf meta;
};

static shoal_code nonsense(const struct taker *t) {
    return report_error(t->report, SHOAL_IO, "%s is damaged (the HDF5 reader sent nonsense)",
                        t->path);
}

static bool is_whole(const struct taker *t) {
    return (!t->number && !t->text) || t->filled == t->table->rows;
}

static shoal_code take_column(struct taker *t, const char *bytes, size_t length) {
    struct hdf5_column column;
    if (length <= sizeof column || length > sizeof column + RESULT_NAME_MOST || !is_whole(t))
        return nonsense(t);
    memcpy(&column, bytes, sizeof column);
    const char *name = bytes + sizeof column;
    length -= sizeof column;
    if (memchr(name, 0, length) || column.rows / ROWS_OF_A_BYTE > t->file_size + ROWS_OF_NOTHING ||
        (t->table->columns.count && t->table->rows != column.rows))
        return nonsense(t);
    t->table->rows = column.rows;
    t->filled = 0;
    t->told = false;
    t->name = arena_strndup(t->arena, name, length);
    t->number = t->name && !column.is_text ? table_numbers(t->arena, t->table, t->name) : NULL;
    t->text = t->name && column.is_text ? table_texts(t->arena, t->table, t->name) : NULL;
    return t->number || t->text ? SHOAL_OK : SHOAL_MEMORY;
}

static shoal_code take_numbers(struct taker *t, const char *bytes, size_t length) {
    uint64_t count = length / sizeof(double);
    if (!t->number || length % sizeof(double) || count > t->table->rows - t->filled)
        return nonsense(t);
    double *to = t->number + t->filled;
    memcpy(to, bytes, length);
    for (uint64_t i = 0; i < count && !t->told && t->way == HDF5_READ_table && t->name[0] != '_';
         i++)
        if (!isfinite(to[i])) {
            t->told = t->wrong = true;
            report_error(t->report, SHOAL_INPUT,
                         "%s: %s[%llu] is %s; every value must be a finite number", t->path,
                         t->name, (unsigned long long)(t->filled + i),
                         isnan(to[i]) ? "nan" : "infinite");
        }
    t->filled += count;
    return SHOAL_OK;
}

static shoal_code take_text(struct taker *t, const char *bytes, size_t length) {
    if (!t->text || t->filled == t->table->rows || length > HDF5_TEXT_MOST ||
        (length && memchr(bytes, 0, length)))
        return nonsense(t);
    t->text[t->filled] = arena_strndup(t->arena, length ? bytes : "", length);
    return t->text[t->filled++] ? SHOAL_OK : SHOAL_MEMORY;
}

static shoal_code take_meta(struct taker *t, const char *bytes, size_t length) {
    if (t->table || memchr(bytes, 0, length) || t->meta.length + length > META_MOST)
        return nonsense(t);
    buf_put(&t->meta, bytes, length);
    return t->meta.failed ? SHOAL_MEMORY : SHOAL_OK;
}

static shoal_code take_message(void *user, uint32_t kind, const void *bytes, size_t length) {
    struct taker *t = user;
    if (kind == HDF5_META)
        return take_meta(t, bytes, length);
    if (t->table && kind == HDF5_COLUMN)
        return take_column(t, bytes, length);
    if (t->table && kind == HDF5_NUMBERS)
        return take_numbers(t, bytes, length);
    if (t->table && kind == HDF5_TEXT)
        return take_text(t, bytes, length);
    return nonsense(t);
}

// The file must be there and plain before the library is asked: its own words are hard to read.
static shoal_code check_file(const char *path, uint64_t *size, struct report *r) {
    int fd;
    shoal_code code = file_open(path, &fd, size, r);
    if (code == SHOAL_OK)
        close(fd);
    return code;
}

static shoal_code read_all(struct taker *t) {
    char program[HDF5_PROGRAM_ROOM];
    shoal_code code = check_file(t->path, &t->file_size, t->report);
    if (code != SHOAL_OK)
        return code;
    if (hdf5_program_find(program))
        return hdf5_program_run(program, hdf5_way_words[t->way], t->path, take_message, t,
                                t->report);
    struct hdf5_outlet out = {.take = take_message, .user = t, .variable = false};
    return hdf5_read(t->way, t->path, &out, t->report);
}

static shoal_code read_columns(struct taker *t) {
    shoal_code code = read_all(t);
    return code == SHOAL_OK && !is_whole(t) ? nonsense(t) : code;
}

static shoal_code hdf5_table_read(const char *path, struct arena *arena, struct table *out,
                                  struct report *r) {
    struct taker t = {.path = path,
                      .arena = arena,
                      .report = r,
                      .way = out->times ? HDF5_READ_signal : HDF5_READ_table,
                      .table = out};
    shoal_code code = read_columns(&t);
    return code == SHOAL_OK && t.wrong ? SHOAL_INPUT : code;
}

static shoal_code hdf5_meta_read(const char *path, struct arena *arena, const char **meta,
                                 struct report *r) {
    struct taker t = {.path = path, .arena = arena, .report = r, .way = HDF5_READ_meta};
    shoal_code code = read_all(&t);
    if (code == SHOAL_OK) {
        *meta = arena_strndup(arena, t.meta.data ? t.meta.data : "", t.meta.length);
        code = *meta ? SHOAL_OK : SHOAL_MEMORY;
    }
    buf_free(&t.meta);
    return code;
}

static shoal_code hdf5_ends_read(const char *path, struct arena *arena, struct table *out,
                                 struct report *r) {
    struct arena own = {0};
    const char *meta = NULL;
    shoal_code code = hdf5_meta_read(path, &own, &meta, r);
    if (code == SHOAL_OK) {
        struct taker t = {.path = path, .arena = arena, .report = r, .table = out};
        t.way = io_meta_is_series(meta) ? HDF5_READ_samples : HDF5_READ_ends;
        code = read_columns(&t);
    }
    arena_free(&own);
    return code == SHOAL_OK ? ends_name_status(arena, out) : code;
}

const struct io_format hdf5_format = {.name = "HDF5",
                                      .endings = {".h5", ".hdf5"},
                                      .sink_new = hdf5_sink_new,
                                      .bytes = hdf5_bytes,
                                      .places = hdf5_places,
                                      .table_read = hdf5_table_read,
                                      .ends_read = hdf5_ends_read,
                                      .reader_open = hdf5_reader_open,
                                      .magic = "\x89HDF",
                                      .meta_read = hdf5_meta_read};
