// SPDX-License-Identifier: MIT
// Chooses the file format by the ending of the name.
//
// Formats are rows of a table; a new one is a new row. The arena that a table goes
// to may jump when memory runs out; while a reader holds files and buffers it must not, so the jump
// is put off until the reader has cleaned up.
#include "base/ascii.h"
#include "base/file.h"
#include "io/formats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct io_format {
    const char *endings[3]; // NULL after the last
    struct sink *(*sink_new)(const char *path);
    uint64_t (*bytes)(const struct sink_shape_info *info);
    shoal_code (*table_read)(const char *path, struct arena *arena, struct table *out,
                             struct report *r);
    shoal_code (*meta_read)(const char *path, struct arena *arena, const char **meta,
                            struct report *r); // NULL: the format has none
};

static const struct io_format formats[] = {
    {{".csv"}, csv_sink_new, csv_bytes, csv_table_read, NULL},
    {{".npz"}, npz_sink_new, npz_bytes, npz_table_read, npz_meta_read},
    {{".h5", ".hdf5"}, hdf5_sink_new, hdf5_bytes, hdf5_table_read, hdf5_meta_read},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const struct io_format *find_format(const char *path) {
    size_t length = strlen(path);
    for (int i = 0; i < FORMATS; i++)
        for (const char *const *e = formats[i].endings; *e; e++) {
            size_t n = strlen(*e);
            if (length > n && ascii_same(path + length - n, *e))
                return &formats[i];
        }
    return NULL;
}

static shoal_code unknown_format(const char *path, shoal_code code, struct report *r) {
    struct buf known = {0};
    for (int i = 0; i < FORMATS; i++)
        for (const char *const *e = formats[i].endings; *e; e++)
            buf_printf(&known, "%s%s", known.length ? ", " : "", *e);
    report_error(r, code, "%s: the kind of file is known by its ending: %s", path,
                 known.data ? known.data : "");
    buf_free(&known);
    return code;
}

static bool is_stdout(const char *path) { return strcmp(path, "-") == 0; }

static void look_for_shoal(void *user, const char *name, const char *text, double number) {
    bool *found = user;
    (void)number;
    *found = *found || (text && strcmp(name, "shoal") == 0);
}

// A result names the version of Shoal that made it; in CSV its first line tells.
static bool is_result(const struct io_format *f, const char *path) {
    if (!f->meta_read)
        return csv_is_result(path);
    struct arena arena = {0};
    const char *meta = NULL;
    bool found = false;
    if (f->meta_read(path, &arena, &meta, NULL) == SHOAL_OK)
        io_meta_members(meta, look_for_shoal, &found);
    arena_free(&arena);
    return found;
}

// What stands at the path must be nothing, an empty file, or a result.
static shoal_code check_older(const struct io_format *f, const char *path, struct report *r) {
    struct stat s;
    if (stat(path, &s) < 0 || s.st_size == 0 || is_result(f, path))
        return SHOAL_OK;
    return report_error(r, SHOAL_IO,
                        "%s: is there already and no result of Shoal's; --force replaces it", path);
}

shoal_code io_sink_check(const char *path, bool many, bool replace, struct report *r) {
    const struct io_format *f = find_format(path);
    if (is_stdout(path))
        return SHOAL_OK;
    if (!f)
        return unknown_format(path, SHOAL_INPUT, r);
    struct file_part part = {.fd = -1};
    shoal_code code = file_part_open(&part, path, r);
    file_part_discard(&part);
    if (code == SHOAL_OK && !replace)
        code = check_older(f, path, r);
    if (code == SHOAL_OK && !replace && many && f->bytes == csv_bytes) {
        char *runs = csv_runs_path(path);
        code = runs ? check_older(f, runs, r)
                    : report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
        free(runs);
    }
    return code;
}

shoal_code io_sink_new(const char *path, struct sink **out, struct report *r) {
    const struct io_format *f = is_stdout(path) ? &formats[0] : find_format(path);
    *out = NULL;
    if (!f)
        return unknown_format(path, SHOAL_INPUT, r);
    *out = f->sink_new(path);
    return *out ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
}

uint64_t io_sink_bytes(const char *path, const struct sink_shape_info *info) {
    const struct io_format *f = find_format(path);
    return f ? f->bytes(info) : formats[0].bytes(info);
}

// A reader returns SHOAL_MEMORY with or without a message.
static void say_memory(const char *path, uint32_t errors_before, struct report *r) {
    if (r && r->errors == errors_before)
        report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
}

static bool begins_with(const char *text, size_t length, const char *magic) {
    return length >= strlen(magic) && memcmp(text, magic, strlen(magic)) == 0;
}

// What comes is known by its first bytes.
static shoal_code read_input(const char *name, struct arena *arena, struct table *out,
                             struct report *r) {
    char *text = NULL;
    size_t length = 0;
    shoal_code code = file_read_input("-", SIZE_MAX / 8, &text, &length, r);
    if (code == SHOAL_OK && begins_with(text, length, "\x89HDF"))
        code = report_error(r, SHOAL_INPUT, "%s: HDF5 is not read from there; name the file", name);
    else if (code == SHOAL_OK)
        code = (begins_with(text, length, "PK") ? npz_table_parse : csv_table_parse)(
            name, text, length, arena, out, r);
    free(text);
    return code;
}

shoal_code io_table_read(const char *path, struct arena *arena, struct table *out,
                         struct report *r) {
    *out = (struct table){0};
    const struct io_format *f = find_format(path);
    if (!f && !file_is_input(path))
        return unknown_format(path, SHOAL_INPUT, r);
    const char *name = file_input_name(path);
    jmp_buf *oom = arena->oom;
    arena->oom = NULL;
    uint32_t errors = r ? r->errors : 0;
    shoal_code code = SHOAL_MEMORY;
    out->source = arena_strdup(arena, name);
    if (out->source)
        code = f ? f->table_read(path, arena, out, r) : read_input(name, arena, out, r);
    arena->oom = oom;
    if (code == SHOAL_MEMORY)
        say_memory(name, errors, r);
    else if (code == SHOAL_OK && out->columns.count == 0)
        code = report_error(r, SHOAL_INPUT, "%s: has no column that could be an input", name);
    else if (code == SHOAL_OK && out->rows == 0)
        code = report_error(r, SHOAL_INPUT, "%s: has columns but no rows", name);
    return code;
}

shoal_code io_meta_read(const char *path, struct arena *arena, const char **meta,
                        struct report *r) {
    *meta = NULL;
    const struct io_format *f = find_format(path);
    if (!f)
        return unknown_format(path, SHOAL_INPUT, r);
    if (!f->meta_read)
        return report_error(r, SHOAL_INPUT,
                            "%s: a CSV file does not say how it was made; only .npz and .h5 do",
                            path);
    jmp_buf *oom = arena->oom;
    arena->oom = NULL;
    uint32_t errors = r ? r->errors : 0;
    shoal_code code = f->meta_read(path, arena, meta, r);
    arena->oom = oom;
    if (code == SHOAL_MEMORY)
        say_memory(path, errors, r);
    return code;
}
