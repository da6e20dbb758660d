// SPDX-License-Identifier: MIT
// Samples for drivers, from memory and from files, and the files of tables.
//
// A text is NAME=FILE[:COLUMN][,WORD...]; what stands behind the first comma is `how` the samples
// are taken. Files are read by src/io, which trusts none of their bytes. The file of a table is
// named by the model, which may come from anywhere: it must lie in the model's own directory or
// below.
#include "api/model.h"
#include "api/options.h"

#include "base/ascii.h"
#include "base/file.h"
#include "base/list.h"
#include "io/io.h"
#include "ode/run/driver.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_BYTES = 64 << 20 };

// ---- How samples are taken ----------------------------------------------------------------------

static bool read_kind(const char *word, enum spline_kind *kind) {
    if (!strcmp(word, "cubic"))
        word = spline_names[SPLINE_notaknot];
    for (int i = 0; i < SPLINE_KIND_COUNT; i++)
        if (!strcmp(word, spline_names[i])) {
            *kind = (enum spline_kind)i;
            return true;
        }
    return false;
}

static bool read_ends(const char *word, enum driver_ends *ends) {
    for (int i = 0; i < DRIVER_ENDS_COUNT; i++)
        if (!strcmp(word, driver_ends_names[i])) {
            *ends = (enum driver_ends)i;
            return true;
        }
    return false;
}

// What the words said so far.
struct said {
    bool kind, ends, by;
};

static shoal_code said_twice(const char *word, const char *what, struct report *r) {
    return report_error(r, SHOAL_INPUT, "--driver: `%s`: %s is said twice", word, what);
}

static shoal_code read_word(const char *word, struct arena *arena, struct driver_input *in,
                            struct said *said, struct report *r) {
    bool ends = !strncmp(word, "ends=", 5), by = !strncmp(word, "by=", 3);
    bool *now = ends ? &said->ends : by ? &said->by : &said->kind;
    if (*now && (ends || by || read_kind(word, &in->kind)))
        return said_twice(word,
                          ends ? "what is beyond the samples"
                          : by ? "the column of the batch"
                               : "what is between the samples",
                          r);
    *now = true;
    if (ends)
        return read_ends(word + 5, &in->ends)
                   ? SHOAL_OK
                   : report_error(r, SHOAL_INPUT,
                                  "--driver: `%s` is none of ends=hold, ends=periodic, ends=zero, "
                                  "ends=error",
                                  word);
    if (by) {
        in->by = arena_strdup(arena, word + 3);
        return in->by[0] == '_' ? SHOAL_OK
                                : report_error(r, SHOAL_INPUT,
                                               "--driver: `%s`: the column of a batch that is no "
                                               "input begins with _, as in by=_ID",
                                               word);
    }
    return read_kind(word, &in->kind)
               ? SHOAL_OK
               : report_error(r, SHOAL_INPUT,
                              "--driver: `%s` is none of held, linear, cubic, natural, notaknot, "
                              "clamped, periodic, monotone, ends=, by=",
                              word);
}

static shoal_code read_how(const char *how, struct arena *arena, struct driver_input *in,
                           struct report *r) {
    char word[128];
    struct said said = {0};
    in->kind = SPLINE_linear;
    while (how && *how) {
        if (!list_item(&how, word, sizeof word))
            return report_error(r, SHOAL_INPUT, "--driver: a word is too long");
        shoal_code code = *word ? read_word(word, arena, in, &said, r) : SHOAL_OK;
        if (code != SHOAL_OK)
            return code;
    }
    return SHOAL_OK;
}

// ---- From memory --------------------------------------------------------------------------------

static shoal_code set_driver(shoal_model *model, uint32_t signal, struct driver_input *in,
                             struct report *r) {
    struct driver *d = NULL;
    in->name = model->model->signals.items[signal].name;
    shoal_code code = driver_new(in, &d, r);
    if (code != SHOAL_OK)
        return code;
    driver_drop(model->driver[signal]);
    model->driver[signal] = d;
    return SHOAL_OK;
}

static shoal_code give_samples(shoal_model *model, const void *what, struct arena *arena,
                               struct report *r) {
    const shoal_driver *d = what;
    struct driver_input in = {.source = "shoal_model_driver",
                              .count = d->count,
                              .t = d->t,
                              .v = d->values,
                              .number = d->id,
                              .text = d->words};
    uint32_t signal = model_find_driver(model->model, d->name, "shoal_model_driver", r);
    shoal_code code = signal == UINT32_MAX ? SHOAL_INPUT : read_how(d->how, arena, &in, r);
    if (code == SHOAL_OK && (!d->id + !d->words) != (in.by ? 1 : 2))
        code = report_error(r, SHOAL_INPUT,
                            "shoal_model_driver: by= goes together with `id` or `words`");
    return code == SHOAL_OK ? set_driver(model, signal, &in, r) : code;
}

// A call with memory that is its own.
typedef shoal_code guarded_call(shoal_model *model, const void *what, struct arena *arena,
                                struct report *r);

static shoal_code guarded(guarded_call *call, shoal_model *model, const void *what,
                          shoal_log *log) {
    struct arena arena = {0};
    struct report *r = log_report(log);
    jmp_buf oom;
    report_begin(r);
    arena.oom = &oom;
    shoal_code code =
        setjmp(oom) ? report_error(r, SHOAL_MEMORY, "out of memory") : call(model, what, &arena, r);
    arena_free(&arena);
    return code;
}

shoal_code shoal_model_driver(shoal_model *model, const shoal_driver *driver, shoal_log *log) {
    if (!model || !driver || !driver->name || (driver->count && (!driver->t || !driver->values)))
        return api_usage(log, "shoal_model_driver", "model, driver, name or samples");
    return guarded(give_samples, model, driver, log);
}

// ---- From files ---------------------------------------------------------------------------------

// NAME=FILE[:COLUMN][,how], taken apart.
struct words {
    char *name, *file, *column; // column NULL: none
    const char *how;
};

static bool split(const char *text, struct arena *arena, struct words *out) {
    const char *equals = strchr(text, '='), *comma = equals ? strchr(equals, ',') : NULL;
    if (!equals || equals == text || !equals[1] || equals[1] == ',')
        return false;
    const char *end = comma ? comma : equals + strlen(equals);
    *out = (struct words){.name = arena_strndup(arena, text, (size_t)(equals - text)),
                          .file = arena_strndup(arena, equals + 1, (size_t)(end - equals - 1)),
                          .how = comma ? comma + 1 : NULL};
    char *colon = strrchr(out->file, ':');
    if (colon && !io_is_data(out->file)) {
        *colon = 0;
        out->column = colon + 1;
    }
    return out->file[0] && (!out->column || out->column[0]);
}

// As names everywhere: as they are first, and then whatever the case.
static const struct table_column *time_column(const struct table *t) {
    const struct table_column *exact = table_find(t, "t");
    exact = exact ? exact : table_find(t, "time");
    if (exact)
        return exact;
    for (uint32_t i = 0; i < t->columns.count; i++)
        if (ascii_same(t->columns.items[i].name, "t") ||
            ascii_same(t->columns.items[i].name, "time"))
            return &t->columns.items[i];
    for (uint32_t i = 0; i < t->columns.count; i++)
        if (t->columns.items[i].name[0] != '_')
            return &t->columns.items[i];
    return NULL;
}

// That of the driver's name, or the only one besides the time; NULL: none, or several.
static const struct table_column *value_column(const struct table *t, const char *name,
                                               const struct table_column *time) {
    const struct table_column *found = table_find(t, name), *other = NULL;
    uint32_t others = 0;
    for (uint32_t i = 0; i < t->columns.count; i++) {
        const struct table_column *c = &t->columns.items[i];
        if (c->name[0] == '_' || c == time)
            continue;
        other = c;
        others++;
    }
    found = found ? found : others == 1 ? other : NULL;
    return found != time ? found : NULL;
}

static const double *numbers_of(const struct table *t, const struct table_column *c,
                                struct arena *arena) {
    if (c->number)
        return c->number;
    double *numbers = arena_new(arena, double, t->rows);
    for (uint64_t i = 0; i < t->rows; i++)
        numbers[i] = (double)c->number32[i];
    return numbers;
}

static shoal_code take_columns(const struct table *t, const struct words *w, const char *name,
                               struct arena *arena, struct driver_input *in, struct report *r) {
    const struct table_column *time = time_column(t);
    const struct table_column *value =
        w->column ? table_find(t, w->column) : value_column(t, name, time);
    const struct table_column *id = in->by ? table_find(t, in->by) : NULL;
    if (!value && w->column)
        return report_error(r, SHOAL_INPUT, "--driver: %s has no column `%s`", w->file, w->column);
    if (!time || !value)
        return report_error(r, SHOAL_INPUT,
                            "--driver: %s has no column `%s` beside its times; name one, as in "
                            "%s=%s:COLUMN",
                            w->file, name, name, w->file);
    if (in->by && !id)
        return report_error(r, SHOAL_INPUT, "--driver: %s has no column `%s`", w->file, in->by);
    if (time->text || value->text)
        return report_error(r, SHOAL_INPUT, "--driver: %s: column `%s` holds words", w->file,
                            time->text ? time->name : value->name);
    in->count = t->rows;
    in->t = numbers_of(t, time, arena);
    in->v = numbers_of(t, value, arena);
    in->text = id ? id->text : NULL;
    in->number = id && !id->text ? numbers_of(t, id, arena) : NULL;
    return SHOAL_OK;
}

static shoal_code give_file(shoal_model *model, const void *what, struct arena *arena,
                            struct report *r) {
    struct words w;
    struct table table = {.times = true};
    struct driver_input in = {0};
    if (!split(what, arena, &w))
        return report_error(r, SHOAL_INPUT,
                            "--driver: expected NAME=FILE, as in u=current.csv:I,cubic,ends=hold");
    uint32_t signal = model_find_driver(model->model, w.name, "--driver", r);
    if (signal == UINT32_MAX)
        return SHOAL_INPUT;
    shoal_code code = read_how(w.how, arena, &in, r);
    if (code == SHOAL_OK)
        code = io_table_read(w.file, arena, &table, r);
    if (code == SHOAL_OK)
        code = take_columns(&table, &w, model->model->signals.items[signal].name, arena, &in, r);
    in.source = w.file;
    return code == SHOAL_OK ? set_driver(model, signal, &in, r) : code;
}

shoal_code shoal_model_driver_file(shoal_model *model, const char *text, shoal_log *log) {
    if (!model || !text)
        return api_usage(log, "shoal_model_driver_file", "model or text");
    int32_t span = log_begin(log, LOG_read_table);
    shoal_code code = guarded(give_file, model, text, log);
    log_end(log, span);
    return code;
}

// ---- Tables -------------------------------------------------------------------------------------

// A plain name below the directory: neither absolute nor on the way up.
static bool is_below(const char *file) {
    if (file[0] == '/')
        return false;
    for (const char *part = file; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

static shoal_code read_table(struct model *m, uint32_t signal, const char *path,
                             struct arena *arena, struct report *r) {
    const char *file = m->signals.items[signal].file, *slash = strrchr(path, '/');
    char *text = NULL;
    size_t length = 0;
    if (!is_below(file))
        return report_error(r, SHOAL_INPUT,
                            "%s: the file of table `%s` must lie in the directory of the model: %s",
                            m->source.name, m->signals.items[signal].name, file);
    const char *whole =
        slash ? arena_printf(arena, "%.*s%s", (int)(slash + 1 - path), path, file) : file;
    shoal_code code = file_read(whole, TABLE_BYTES, &text, &length, r);
    if (code == SHOAL_OK)
        code = model_read_table(m, signal, whole, text, length, r);
    free(text);
    return code;
}

static shoal_code read_tables(shoal_model *model, const void *path, struct arena *arena,
                              struct report *r) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < model->model->signals.count && code == SHOAL_OK; i++)
        if (model->model->signals.items[i].file)
            code = read_table(model->model, i, path, arena, r);
    return code;
}

shoal_code api_read_tables(shoal_model *model, const char *path, shoal_log *log) {
    struct arena arena = {0};
    jmp_buf oom;
    arena.oom = &oom;
    shoal_code code = setjmp(oom) ? report_error(log_report(log), SHOAL_MEMORY, "out of memory")
                                  : read_tables(model, path, &arena, log_report(log));
    arena_free(&arena);
    for (uint32_t i = 0; i < model->model->signals.count; i++)
        if (model->model->signals.items[i].file)
            api_model_changed(model); // it depends on how many samples a table has
    return code;
}
