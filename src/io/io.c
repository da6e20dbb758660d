// SPDX-License-Identifier: MIT
// Chooses the file format by the ending of the name.
//
// Formats are rows of a table (formats.h). The arena that a table goes
// to may jump when memory runs out; while a reader holds files and buffers it must not, so the jump
// is put off until the reader has cleaned up.
#include "base/ascii.h"
#include "base/file.h"
#include "io/formats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ONE_MORE(name) +1
enum { FORMATS = IO_FORMATS(ONE_MORE) };
#define ROW(name) &name##_format,
static const struct io_format *const formats[FORMATS] = {IO_FORMATS(ROW)};

static const struct io_format *find_format(const char *path) {
    size_t length = strlen(path);
    for (int i = 0; i < FORMATS; i++)
        for (const char *const *e = formats[i]->endings; *e; e++) {
            size_t n = strlen(*e);
            if (length > n && ascii_same(path + length - n, *e))
                return formats[i];
        }
    return NULL;
}

// What a file is wanted for.
static bool can_write(const struct io_format *f) { return f->sink_new; }
static bool can_read(const struct io_format *f) { return f->table_read; }
static bool can_continue(const struct io_format *f) { return f->ends_read; }
static bool has_meta(const struct io_format *f) { return f->meta_read; }
static bool is_result_format(const struct io_format *f) { return f->meta_read && f->sink_new; }

static bool has_reader(const struct io_format *f) { return f->reader_open; }

// The endings of formats that can do it.
static void put_endings(struct buf *out, bool (*can)(const struct io_format *f)) {
    for (int i = 0; i < FORMATS; i++)
        for (const char *const *e = formats[i]->endings; can(formats[i]) && *e; e++)
            buf_printf(out, "%s%s", out->length ? ", " : "", *e);
}

// The format of the path, if it can do that; else NULL with an error.
static const struct io_format *format_for(const char *path, bool (*can)(const struct io_format *f),
                                          struct report *r) {
    const struct io_format *f = find_format(path);
    if (f && can(f))
        return f;
    struct buf known = {0};
    put_endings(&known, can == has_meta ? is_result_format : can);
    const char *endings = known.data ? known.data : "";
    if (!f)
        report_error(r, SHOAL_INPUT, "%s: the kind of file is known by its ending: %s", path,
                     endings);
    else if (can == has_meta)
        report_error(r, SHOAL_INPUT,
                     "%s: a %s file does not hold the options it was made with; results in %s do",
                     path, f->name, endings);
    else
        report_error(r, SHOAL_INPUT, "%s: a %s file cannot be %s here; there is: %s", path, f->name,
                     can == can_write ? "written" : "read", endings);
    buf_free(&known);
    return NULL;
}

const struct io_format *io_format_readable(const char *path, struct report *r) {
    return format_for(path, has_reader, r);
}

static bool is_stdout(const char *path) { return strcmp(path, "-") == 0; }

static void look_for_shoal(void *user, const char *name, const char *text, double number) {
    bool *found = user;
    (void)number;
    *found = *found || (text && strcmp(name, "shoal") == 0);
}

// A result names the version of Shoal that made it.
static bool is_result(const struct io_format *f, const char *path) {
    if (!f->meta_read)
        return f->is_result && f->is_result(path);
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

shoal_code io_sink_check(const char *path, const char *const *side, bool replace,
                         struct report *r) {
    if (is_stdout(path))
        return SHOAL_OK;
    const struct io_format *f = format_for(path, can_write, r);
    if (!f)
        return SHOAL_INPUT;
    shoal_code code = file_part_check(path, r);
    if (code == SHOAL_OK && !replace)
        code = check_older(f, path, r);
    for (; *side && code == SHOAL_OK && !replace && f->side_path; side++) {
        char *beside = f->side_path(path, *side);
        code = beside ? check_older(f, beside, r)
                      : report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
        free(beside);
    }
    return code;
}

shoal_code io_sink_new(const char *path, uint32_t threads, struct sink **out, struct report *r) {
    const struct io_format *f = is_stdout(path) ? formats[0] : format_for(path, can_write, r);
    *out = NULL;
    if (!f)
        return SHOAL_INPUT;
    *out = f->sink_new(path, threads);
    return *out ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
}

uint64_t io_sink_bytes(const char *path, const struct result_list *list) {
    const struct io_format *f = find_format(path);
    return (f && f->bytes ? f : formats[0])->bytes(list);
}

// A reader returns SHOAL_MEMORY with or without a message.
static void say_memory(const char *path, uint32_t errors_before, struct report *r) {
    if (r && r->errors == errors_before)
        report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
}

static bool begins_with(const char *text, size_t length, const char *magic) {
    return length >= strlen(magic) && memcmp(text, magic, strlen(magic)) == 0;
}

// The format that what comes has, by its first bytes.
static const struct io_format *format_of(const char *bytes, size_t length) {
    for (int i = FORMATS; i-- > 0;)
        if (formats[i]->magic ? begins_with(bytes, length, formats[i]->magic)
                              : formats[i]->table_parse != NULL)
            return formats[i];
    return formats[0];
}

static shoal_code read_input(const char *name, struct arena *arena, struct table *out,
                             struct report *r) {
    char *bytes = NULL;
    size_t length = 0;
    shoal_code code = file_read_input("-", SIZE_MAX / 8, &bytes, &length, r);
    const struct io_format *f = code == SHOAL_OK ? format_of(bytes, length) : NULL;
    if (f && f->table_parse)
        code = f->table_parse(name, bytes, length, arena, out, r);
    else if (f)
        code = report_error(r, SHOAL_INPUT, "%s: %s is not read from there; name the file", name,
                            f->name);
    free(bytes);
    return code;
}

static shoal_code read_table(const char *path, bool texts, struct arena *arena, struct table *out,
                             struct report *r) {
    *out = (struct table){.texts = texts, .times = out->times};
    const struct io_format *f = file_is_input(path) ? NULL : format_for(path, can_read, r);
    if (!f && !file_is_input(path))
        return SHOAL_INPUT;
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

shoal_code io_table_read(const char *path, struct arena *arena, struct table *out,
                         struct report *r) {
    return read_table(path, false, arena, out, r);
}

shoal_code io_table_read_texts(const char *path, struct arena *arena, struct table *out,
                               struct report *r) {
    return read_table(path, true, arena, out, r);
}

// What a reader of runs cannot do without.
static shoal_code check_ends(const struct table *t, struct report *r) {
    static const char *const needed[] = {RESULT_T, RESULT_STATUS};
    for (int i = 0; i < 2; i++)
        if (!table_find(t, needed[i]))
            return report_error(r, SHOAL_INPUT,
                                "%s: is no result of runs: it does not say `%s` of them", t->source,
                                needed[i]);
    return t->rows ? SHOAL_OK : report_error(r, SHOAL_INPUT, "%s: has no runs", t->source);
}

// A file of others may have none.
static void mark_ends(const struct io_format *f, const char *path, struct arena *arena,
                      struct table *t) {
    const char *meta = NULL;
    if (f->meta_read && f->meta_read(path, arena, &meta, NULL) == SHOAL_OK && meta)
        ends_mark(meta, t);
}

shoal_code io_ends_read(const char *path, struct arena *arena, struct table *out,
                        struct report *r) {
    *out = (struct table){0};
    const struct io_format *f = format_for(path, can_continue, r);
    if (!f)
        return SHOAL_INPUT;
    jmp_buf *oom = arena->oom;
    arena->oom = NULL;
    uint32_t errors = r ? r->errors : 0;
    shoal_code code = SHOAL_MEMORY;
    out->source = arena_strdup(arena, path);
    if (out->source)
        code = f->ends_read(path, arena, out, r);
    if (code == SHOAL_OK)
        mark_ends(f, path, arena, out);
    arena->oom = oom;
    if (code == SHOAL_MEMORY)
        say_memory(path, errors, r);
    return code == SHOAL_OK ? check_ends(out, r) : code;
}

bool io_is_data(const char *path) { return find_format(path) != NULL; }
bool io_is_journal(const char *path) { return find_format(path) == &journal_format; }

shoal_code io_meta_read(const char *path, struct arena *arena, const char **meta,
                        struct report *r) {
    *meta = NULL;
    const struct io_format *f = format_for(path, has_meta, r);
    if (!f)
        return SHOAL_INPUT;
    jmp_buf *oom = arena->oom;
    arena->oom = NULL;
    uint32_t errors = r ? r->errors : 0;
    shoal_code code = f->meta_read(path, arena, meta, r);
    arena->oom = oom;
    if (code == SHOAL_MEMORY)
        say_memory(path, errors, r);
    return code;
}
