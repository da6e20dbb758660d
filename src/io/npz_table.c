// SPDX-License-Identifier: MIT
// Batch tables and metadata from NPZ files.
//
// Every array of numbers with one axis is a column, named as its member; all have the same length.
// `run`, `t` and `status` are passed over, and so are our own texts, `meta` and `status_words`.
// Other text is kept where its name starts with `_`, and else an error: an input that is not taken
// would be a sweep of identical runs.
#include "base/file.h"
#include "io/formats.h"
#include "io/npy.h"
#include "io/zip.h"
#include "result/result_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 4095 };

// "x" of "x.npy", malloc'ed
static char *column_name(const struct zip_entry *e) {
    size_t length = strlen(e->name);
    if (length > 4 && strcmp(e->name + length - 4, ".npy") == 0)
        length -= 4;
    return strndup(e->name, length);
}

static bool is_text(const struct npy *a) {
    return (a->kind == 'S' || a->kind == 'U') && a->size > 0 && a->size <= 4 * TEXT_MOST;
}

static shoal_code add_numbers(const struct npy *a, const char *name, struct arena *arena,
                              struct table *out, struct report *r) {
    double *to = table_numbers(arena, out, name);
    if (!to)
        return SHOAL_MEMORY;
    uint64_t bad = 0;
    for (uint64_t i = 0; i < out->rows; i++) {
        to[i] = npy_number(a, i);
        if (!isfinite(to[i]) && name[0] != '_' && bad++ < 3)
            report_error(r, SHOAL_INPUT, "%s: %s[%llu] is %s; every value must be a finite number",
                         out->source, name, (unsigned long long)i,
                         isnan(to[i])  ? "nan"
                         : to[i] > 0.0 ? "inf"
                                       : "-inf");
    }
    if (bad > 3)
        report_error(r, SHOAL_INPUT, "%s: %s has %llu values that are not finite", out->source,
                     name, (unsigned long long)bad);
    return bad ? SHOAL_INPUT : SHOAL_OK;
}

// Numbers of patients and the like may have more digits than a double; such a `_` column is kept
// as text, every digit of it.
static bool is_long_integer(const struct npy *a, const char *name) {
    bool is = false;
    for (uint64_t i = 0; name[0] == '_' && a->kind != 'f' && a->size == 8 && i < a->count; i++)
        is = is || fabs(npy_number(a, i)) >= 0x1p53; // rounded already
    return is;
}

static shoal_code add_texts(const struct npy *a, const char *name, struct arena *arena,
                            struct table *out) {
    const char **to = table_texts(arena, out, name);
    for (uint64_t i = 0; to && i < out->rows; i++) {
        to[i] = npy_text(a, i, arena);
        if (!to[i])
            to = NULL;
    }
    return to ? SHOAL_OK : SHOAL_MEMORY;
}

static shoal_code add_array(const struct npy *a, const char *name, struct arena *arena,
                            struct table *out, struct report *r) {
    bool number = npy_is_number(a), text = name[0] == '_' && is_text(a);
    if (!number && !text) {
        if (result_name_is_ours(name))
            return SHOAL_OK;
        return report_error(r, SHOAL_INPUT,
                            "%s: %s has a type that cannot be a column (numpy kind '%c', %u "
                            "bytes); float64 would do",
                            out->source, name, a->kind, a->size);
    }
    if (a->dims != 1)
        return report_error(r, SHOAL_INPUT, "%s: %s has %u axes; a column has one", out->source,
                            name, a->dims);
    if (out->columns.count == 0)
        out->rows = a->count;
    else if (a->count != out->rows)
        return report_error(r, SHOAL_INPUT, "%s: %s has %llu rows, but %s has %llu", out->source,
                            name, (unsigned long long)a->count, out->columns.items[0].name,
                            (unsigned long long)out->rows);
    return number && !is_long_integer(a, name) ? add_numbers(a, name, arena, out, r)
                                               : add_texts(a, name, arena, out);
}

static shoal_code add_member(const struct zip *z, const struct zip_entry *e, struct arena *arena,
                             struct table *out, struct report *r) {
    char *name = column_name(e), *bytes = NULL;
    shoal_code code = name ? SHOAL_OK : SHOAL_MEMORY;
    if (code == SHOAL_OK && result_name_is_read(name, out->times)) {
        struct npy a;
        code = zip_read(z, e, &bytes, r);
        const char *wrong = code == SHOAL_OK ? npy_parse(&a, bytes, (size_t)e->size) : NULL;
        if (wrong)
            code = report_error(r, SHOAL_INPUT, "%s: %s %s", z->path, e->name, wrong);
        else if (code == SHOAL_OK)
            code = add_array(&a, name, arena, out, r);
    }
    free(bytes);
    free(name);
    return code;
}

// Closes the archive; `code` is what opening it returned.
static shoal_code add_members(struct zip *z, shoal_code code, struct arena *arena,
                              struct table *out, struct report *r) {
    uint32_t members = code == SHOAL_OK ? z->count : 0;
    for (uint32_t i = 0; i < members && code != SHOAL_MEMORY; i++) {
        shoal_code one = add_member(z, &z->entries[i], arena, out, r);
        if (one != SHOAL_OK)
            code = one;
    }
    zip_close(z);
    return code;
}

static shoal_code npz_table_read(const char *path, struct arena *arena, struct table *out,
                                 struct report *r) {
    struct zip z;
    shoal_code code = zip_open(&z, path, r);
    return add_members(&z, code, arena, out, r);
}

static shoal_code npz_table_parse(const char *name, const char *bytes, size_t length,
                                  struct arena *arena, struct table *out, struct report *r) {
    struct zip z;
    int fd;
    shoal_code code = file_in_memory(name, bytes, length, &fd, r);
    if (code != SHOAL_OK)
        return code;
    code = zip_open_fd(&z, name, fd, length, r);
    return add_members(&z, code, arena, out, r);
}

static shoal_code npz_meta_read(const char *path, struct arena *arena, const char **meta,
                                struct report *r) {
    struct zip z;
    char *bytes = NULL;
    shoal_code code = zip_open(&z, path, r);
    const struct zip_entry *e = NULL;
    for (uint32_t i = 0; code == SHOAL_OK && i < z.count && !e; i++)
        if (strcmp(z.entries[i].name, RESULT_META ".npy") == 0)
            e = &z.entries[i];
    if (e)
        code = zip_read(&z, e, &bytes, r);
    if (code == SHOAL_OK) {
        struct npy a;
        if (!bytes || npy_parse(&a, bytes, (size_t)e->size) || a.count != 1 || a.size == 0 ||
            (a.kind != 'U' && a.kind != 'S'))
            code = report_error(r, SHOAL_INPUT, "%s: is not a result file: it has no text 'meta'",
                                path);
        else {
            *meta = npy_text(&a, 0, arena);
            code = *meta ? SHOAL_OK : SHOAL_MEMORY;
        }
    }
    free(bytes);
    zip_close(&z);
    return code;
}

// ---- Ends of runs -------------------------------------------------------------------------------

// An array of the archive while its bytes are there.
struct member {
    struct npy a;
    char *bytes, *name;
};

static void drop(struct member *m) {
    free(m->bytes);
    free(m->name);
    *m = (struct member){0};
}

static shoal_code load(const struct zip *z, const struct zip_entry *e, struct member *m,
                       struct report *r) {
    *m = (struct member){.name = column_name(e)};
    if (!m->name)
        return SHOAL_MEMORY;
    shoal_code code = zip_read(z, e, &m->bytes, r);
    const char *wrong = code == SHOAL_OK ? npy_parse(&m->a, m->bytes, (size_t)e->size) : NULL;
    return wrong ? report_error(r, SHOAL_INPUT, "%s: %s %s", z->path, e->name, wrong) : code;
}

static const struct zip_entry *find(const struct zip *z, const char *member) {
    for (uint32_t i = 0; i < z->count; i++)
        if (!strcmp(z->entries[i].name, member))
            return &z->entries[i];
    return NULL;
}

// The last element of each row.
static shoal_code add_last(const struct npy *a, const char *name, struct arena *arena,
                           struct table *out) {
    uint64_t width = a->dims == 2 ? a->shape[1] : 1;
    double *to = width ? table_numbers(arena, out, name) : NULL;
    for (uint64_t i = 0; to && i < out->rows; i++)
        to[i] = npy_number(a, i * width + width - 1);
    return to || !width ? SHOAL_OK : SHOAL_MEMORY;
}

// Of a grid that all runs share; its last is theirs.
static shoal_code add_time(const struct npy *a, const char *name, struct arena *arena,
                           struct table *out) {
    double *to = table_numbers(arena, out, name);
    for (uint64_t i = 0; to && i < out->rows; i++)
        to[i] = npy_number(a, a->count - 1);
    return to ? SHOAL_OK : SHOAL_MEMORY;
}

// What has as many rows as there are runs, in `_` columns text too; the rest is passed over.
static shoal_code add_end(const struct zip *z, const struct zip_entry *e, bool series,
                          struct arena *arena, struct table *out, struct report *r) {
    struct member m;
    shoal_code code = load(z, e, &m, r);
    const struct npy *a = &m.a;
    bool rows = code == SHOAL_OK && (a->dims == 1 || a->dims == 2) && a->shape[0] == out->rows;
    if (code == SHOAL_OK && series && !strcmp(m.name, RESULT_T) && a->dims == 1 && a->count)
        code = npy_is_number(a) ? add_time(a, m.name, arena, out) : SHOAL_OK;
    else if (rows && npy_is_number(a) && !is_long_integer(a, m.name))
        code = add_last(a, m.name, arena, out);
    else if (rows && a->dims == 1 && m.name[0] == '_' && (is_text(a) || npy_is_number(a)))
        code = add_texts(a, m.name, arena, out);
    drop(&m);
    return code;
}

// How many runs there are.
static shoal_code count_runs(const struct zip *z, struct table *out, struct report *r) {
    const struct zip_entry *e = find(z, RESULT_STATUS ".npy");
    struct member m = {0};
    shoal_code code = e ? load(z, e, &m, r) : SHOAL_OK;
    if (code == SHOAL_OK && e)
        out->rows = m.a.dims == 1 ? m.a.count : 0;
    drop(&m);
    return code;
}

// A file without metadata has no samples that could be known.
static bool is_series(const char *path) {
    struct arena own = {0};
    const char *meta = NULL;
    bool is = npz_meta_read(path, &own, &meta, NULL) == SHOAL_OK && io_meta_is_series(meta);
    arena_free(&own);
    return is;
}

static shoal_code npz_ends_read(const char *path, struct arena *arena, struct table *out,
                                struct report *r) {
    struct zip z;
    bool series = is_series(path);
    shoal_code code = zip_open(&z, path, r);
    uint32_t members = code == SHOAL_OK ? z.count : 0;
    if (code == SHOAL_OK && find(&z, RESULT_OFFSETS ".npy"))
        code = table_of_steps(path, r);
    if (code == SHOAL_OK)
        code = count_runs(&z, out, r);
    for (uint32_t i = 0; i < members && code == SHOAL_OK && out->rows; i++)
        code = add_end(&z, &z.entries[i], series, arena, out, r);
    zip_close(&z);
    return code == SHOAL_OK ? ends_name_status(arena, out) : code;
}

const struct io_format npz_format = {.name = "NPZ",
                                     .endings = {".npz"},
                                     .sink_new = npz_sink_new,
                                     .bytes = npz_bytes,
                                     .places = npz_places,
                                     .table_read = npz_table_read,
                                     .reader_open = npz_reader_open,
                                     .magic = "PK",
                                     .table_parse = npz_table_parse,
                                     .ends_read = npz_ends_read,
                                     .meta_read = npz_meta_read};
