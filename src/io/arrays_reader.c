// SPDX-License-Identifier: MIT
// What results as arrays (NPZ, HDF5) mean as tables; see reader.h.
//
// The first axis counts runs (`run`); of statistics the first axes are those of `failed`, and count
// groups. With `offsets`, `t` and the values are flat. Else what an array has behind the axes of
// runs says which table it is of: times of a record or peaks (`hit.t` and `hit.x`, `m.t` and `m`),
// windows (`window_t` has their edges), samples (`t`), or one of its own. What an input is, the
// metadata's grid tells. Arrays of other shapes are passed over.
#include "base/json.h"
#include "io/formats.h"
#include "result/result_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 1 << 26 }; // of a run

static const struct {
    const char *name;
    enum reader_role role;
} ours[] = {
    {"run", READER_RUN},       {"t", READER_TIME},         {"status", READER_STATUS},
    {"steps", READER_COUNT},   {"rejected", READER_COUNT}, {"f_evals", READER_COUNT},
    {"offsets", READER_COUNT},
};

struct reader_column *reader_add(struct reader *d, const char *name, uint32_t index,
                                 uint32_t table) {
    struct reader_column c = {.role = READER_VALUE, .table = table, .index = index};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!strcmp(ours[i].name, name))
            c.role = ours[i].role;
    c.name = arena_strdup(&d->arena, name);
    if (!c.name || !vec_reserve(&d->arena, &d->columns, (uint64_t)d->columns.count + 1))
        return NULL;
    d->columns.items[d->columns.count] = c;
    return &d->columns.items[d->columns.count++];
}

bool reader_is_statistic(const char *name) {
    static const char *const words[] = {"mean", "std", "min", "max", "n"};
    const char *point = strrchr(name, '.');
    for (size_t i = 0; i < sizeof words / sizeof *words && point; i++)
        if (!strcmp(point + 1, words[i]))
            return true;
    const char *q = strstr(name, ".q"); // x.q0.05
    return q && q[2] >= '0' && q[2] <= '9';
}

// ---- Inputs -------------------------------------------------------------------------------------

// "grid": [{"names": ["rho"], "count": 11}, ...]: what is named there is an input.
static void mark_names(struct reader *d, struct json *j) {
    enum json_kind kind = json_next(j);
    uint32_t depth = j->depth;
    if (kind != JSON_ARRAY)
        return;
    while ((kind = json_next(j)) != JSON_ERROR && kind != JSON_END && j->depth >= depth)
        if (kind == JSON_TEXT) {
            uint32_t column = reader_find(d, j->text.data);
            if (column != UINT32_MAX && d->columns.items[column].table == READER_RUNS)
                d->columns.items[column].role = READER_INPUT;
        }
}

static void mark_inputs(struct reader *d) {
    struct json j;
    json_open_text(&j, d->meta, strlen(d->meta));
    if (json_next(&j) == JSON_OBJECT)
        while (json_next(&j) == JSON_NAME) {
            if (!strcmp(j.text.data, "grid")) {
                mark_names(d, &j);
                break;
            }
            if (!json_skip(&j))
                break;
        }
    json_close(&j);
}

// Beside statistics there is nothing but what they are grouped by, and numbers of runs.
void reader_mark_reduced(struct reader *d) {
    for (uint32_t i = 0; i < d->columns.count; i++) {
        struct reader_column *c = &d->columns.items[i];
        size_t length = strlen(c->name);
        bool statistic = reader_is_statistic(c->name);
        if (!strcmp(c->name, "failed") || (statistic && !strcmp(c->name + length - 2, ".n")))
            c->role = READER_COUNT;
        else if (c->role == READER_VALUE && c->table == READER_RUNS && !statistic)
            c->role = READER_INPUT;
    }
}

// ---- Arrays -------------------------------------------------------------------------------------

// All arrays, and what is known of their axes.
struct arrays {
    const struct reader_shape *all;
    uint32_t count;
    const struct reader_shape *head; // whose axes count runs; NULL: any first axis of that length
    const struct reader_shape *t, *offsets, *edges;
    uint64_t samples; // of each run; 0: there are none, or as `offsets` says
    const char *summary;
};

static const struct reader_shape *find(const struct arrays *a, const char *name) {
    for (uint32_t i = 0; i < a->count; i++)
        if (!strcmp(a->all[i].name, name))
            return &a->all[i];
    return NULL;
}

static uint64_t product(const uint64_t *shape, uint32_t dims) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < dims; i++)
        if (__builtin_mul_overflow(n, shape[i], &n))
            return UINT64_MAX;
    return n;
}

// How many axes behind those of runs, or UINT32_MAX where those in front are others.
static uint32_t axes_behind(const struct reader *d, const struct arrays *a,
                            const struct reader_shape *s) {
    uint32_t head = a->head ? a->head->dims : 1;
    if (s->dims < head || (!a->head && s->shape[0] != d->runs))
        return UINT32_MAX;
    for (uint32_t i = 0; i < head && a->head; i++)
        if (s->shape[i] != a->head->shape[i])
            return UINT32_MAX;
    return s->dims - head;
}

static const uint64_t *shape_behind(const struct arrays *a, const struct reader_shape *s) {
    return s->shape + (a->head ? a->head->dims : 1);
}

static bool is_same_shape(const struct reader_shape *a, const struct reader_shape *b) {
    return a->dims == b->dims && !memcmp(a->shape, b->shape, a->dims * sizeof *a->shape);
}

// The record or the peaks that an array belongs to: what has times of its own. Its length, or 0.
static size_t record_of(const struct arrays *a, const struct reader_shape *s) {
    char times[1024];
    const char *point = strrchr(s->name, '.');
    size_t lengths[] = {strlen(s->name), point ? (size_t)(point - s->name) : 0};
    for (int i = 0; i < 2; i++) {
        const struct reader_shape *t = NULL;
        if (lengths[i] && lengths[i] < sizeof times - 3) {
            snprintf(times, sizeof times, "%.*s.t", (int)lengths[i], s->name);
            t = find(a, times);
        }
        if (t && is_same_shape(t, s))
            return lengths[i];
    }
    return 0;
}

// Whether "peak=max(x), mean(r)" makes an array of that name: it begins an item.
static bool is_summary(const char *text, const char *name) {
    size_t length = strlen(name);
    int depth = 0;
    bool begins = true;
    for (const char *p = text; p && *p; p++) {
        if (begins && *p != ' ') {
            const char *end = p + length;
            if (!strncmp(p, name, length) && strchr(" =,", *end))
                return true;
            begins = false;
        }
        depth += (*p == '(') - (*p == ')');
        begins = begins || (*p == ',' && depth == 0);
    }
    return false;
}

// Windows and samples may be as many: then the options tell which it is.
static bool is_of_windows(const struct arrays *a, const struct reader_shape *s) {
    uint64_t windows = a->edges && a->edges->shape[0] ? a->edges->shape[0] - 1 : 0;
    if (!windows || shape_behind(a, s)[0] != windows)
        return false;
    return a->samples != windows || is_summary(a->summary, s->name);
}

static bool is_of_samples(const struct reader *d, const struct arrays *a,
                          const struct reader_shape *s) {
    return a->samples && s != a->t && axes_behind(d, a, s) == 1 &&
           shape_behind(a, s)[0] == a->samples && !record_of(a, s) && !is_of_windows(a, s);
}

// ---- Grids --------------------------------------------------------------------------------------

// All numbers of a column of runs, or of what all runs share.
static shoal_code read_whole(struct reader *d, const struct reader_shape *a, const double **out,
                             struct report *r) {
    double *all = a->shape[0] < SIZE_MAX / 16 ? arena_new(&d->arena, double, a->shape[0]) : NULL;
    struct reader_stream *s = NULL;
    uint32_t column = d->columns.count;
    if (!all || !reader_add(d, a->name, a->index, READER_RUNS))
        return SHOAL_MEMORY;
    shoal_code code = d->format->stream(d, READER_RUNS, &column, 1, &s, r);
    for (uint64_t at = 0; !code && at < a->shape[0];) {
        double *to = all + at;
        size_t most = a->shape[0] - at < READER_ROWS ? (size_t)(a->shape[0] - at) : READER_ROWS,
               got;
        code = s->next(s, &to, most, &got, r);
        at += got;
        if (!code && !got)
            code = report_error(r, SHOAL_INPUT, "%s: %s ends too early", d->path, a->name);
    }
    if (s)
        s->close(s);
    d->columns.count--;
    *out = all;
    return code;
}

// Offsets that go up, as they should.
static shoal_code check_offsets(const struct reader *d, const double *offsets, struct report *r) {
    for (uint64_t i = 0; i < d->runs; i++)
        if (!(offsets[i] >= 0 && offsets[i + 1] >= offsets[i] && offsets[i + 1] < 0x1p53))
            return report_error(r, SHOAL_INPUT, "%s: its offsets do not go up", d->path);
    return SHOAL_OK;
}

// A column that the file does not have; a name that is there already gets a `_`.
static bool add_grid(struct reader *d, const char *name, uint32_t table, enum reader_role role,
                     const double *grid) {
    char *unique = arena_strdup(&d->arena, name);
    while (unique && reader_find(d, unique) != UINT32_MAX)
        unique = arena_printf(&d->arena, "%s_", unique);
    struct reader_column *c = unique && grid ? reader_add(d, unique, 0, table) : NULL;
    if (!c)
        return false;
    c->role = role;
    c->grid = grid;
    return true;
}

// 0, 1, ... below `most`, each `times` times, over and over.
static const double *count_up(struct reader *d, uint64_t rows, uint64_t most, uint64_t times) {
    double *grid = arena_new(&d->arena, double, rows);
    for (uint64_t i = 0; i < rows && grid; i++)
        grid[i] = (double)(i / times % most);
    return grid;
}

// ---- Tables -------------------------------------------------------------------------------------

static uint32_t find_table(const struct reader *d, const char *name, size_t length) {
    for (uint32_t i = 1; i < d->tables.count; i++)
        if (strlen(d->tables.items[i].name) == length &&
            !memcmp(d->tables.items[i].name, name, length))
            return i;
    return UINT32_MAX;
}

static shoal_code add_samples(struct reader *d, const struct arrays *a, struct report *r) {
    const double *grid;
    struct reader_table *t = reader_add_table(d, "t", a->samples);
    if (!t)
        return SHOAL_MEMORY;
    if (a->offsets) {
        shoal_code code = read_whole(d, a->offsets, &t->offsets, r);
        return code ? code : check_offsets(d, t->offsets, r);
    }
    shoal_code code = read_whole(d, a->t, &grid, r);
    return code                                                       ? code
           : add_grid(d, "t", d->tables.count - 1, READER_TIME, grid) ? SHOAL_OK
                                                                      : SHOAL_MEMORY;
}

static shoal_code add_windows(struct reader *d, const struct arrays *a, struct report *r) {
    uint64_t windows = a->edges->shape[0] - 1;
    const double *edges;
    uint32_t table = d->tables.count;
    if (!reader_add_table(d, "window", windows))
        return SHOAL_MEMORY;
    shoal_code code = read_whole(d, a->edges, &edges, r);
    if (code)
        return code;
    return add_grid(d, "window", table, READER_INDEX, count_up(d, windows, windows, 1)) &&
                   add_grid(d, "t_begin", table, READER_TIME, edges) &&
                   add_grid(d, "t_end", table, READER_TIME, edges + 1)
               ? SHOAL_OK
               : SHOAL_MEMORY;
}

// Of a record, peaks, or an array of its own, whose rows are counted; in windows they are counted
// in each.
shoal_code reader_add_counted(struct reader *d, const char *name, uint64_t rows, uint64_t last,
                              bool windows) {
    uint32_t table = d->tables.count;
    const char *index = arena_printf(&d->arena, "%s.index", name);
    if (!reader_add_table(d, name, rows) || !index ||
        !add_grid(d, index, table, READER_INDEX, count_up(d, rows, last, 1)))
        return SHOAL_MEMORY;
    if (!windows)
        return SHOAL_OK;
    const char *window = arena_printf(&d->arena, "%s.window", name);
    return window && add_grid(d, window, table, READER_INDEX, count_up(d, rows, rows, last))
               ? SHOAL_OK
               : SHOAL_MEMORY;
}

// The table that an array is of, which is made when it is the first; UINT32_MAX: none.
static shoal_code place_array(struct reader *d, const struct arrays *a,
                              const struct reader_shape *s, uint32_t *table, struct report *r) {
    uint32_t behind = axes_behind(d, a, s);
    *table = READER_RUNS;
    if (behind == 0)
        return SHOAL_OK;
    *table = UINT32_MAX;
    if (behind == UINT32_MAX || s->text)
        return SHOAL_OK;
    uint64_t rows = product(shape_behind(a, s), behind);
    size_t record = record_of(a, s), length = record ? record : strlen(s->name);
    if (!rows || !d->runs || rows > ROWS_MOST)
        return SHOAL_OK;
    bool windows = behind == 1 && !record && is_of_windows(a, s);
    bool samples = is_of_samples(d, a, s);
    const char *name = windows   ? "window"
                       : samples ? "t"
                                 : arena_strndup(&d->arena, s->name, length);
    *table = name ? find_table(d, name, strlen(name)) : UINT32_MAX;
    if (*table != UINT32_MAX)
        return SHOAL_OK;
    *table = d->tables.count;
    return !name     ? SHOAL_MEMORY
           : windows ? add_windows(d, a, r)
           : samples
               ? add_samples(d, a, r)
               : reader_add_counted(d, name, rows, shape_behind(a, s)[behind - 1], behind > 1);
}

// ---- Columns ------------------------------------------------------------------------------------

static shoal_code add_column(struct reader *d, const struct reader_shape *s, uint32_t table) {
    size_t length = strlen(s->name);
    struct reader_column *c = reader_add(d, s->name, s->index, table);
    if (!c)
        return SHOAL_MEMORY;
    if (s->text) {
        c->words = arena_new(&d->arena, struct reader_words, 1);
        return c->words ? SHOAL_OK : SHOAL_MEMORY;
    }
    if (table != READER_RUNS && length > 2 && !strcmp(s->name + length - 2, ".t"))
        c->role = READER_TIME;
    return SHOAL_OK;
}

// Flat arrays of every step.
static shoal_code add_flat(struct reader *d, const struct arrays *a, struct report *r) {
    uint64_t samples = a->t->shape[0];
    shoal_code code = add_samples(d, a, r);
    uint32_t table = d->tables.count - 1;
    for (uint32_t i = 0; i < a->count && !code; i++) {
        const struct reader_shape *s = &a->all[i];
        bool is_step = s->dims == 1 && s->shape[0] == samples &&
                       (s == a->t || s->shape[0] != d->runs) && !s->text;
        if (is_step)
            code = add_column(d, s, table);
    }
    return code;
}

static void find_axes(struct reader *d, struct arrays *a) {
    const struct reader_shape *run = find(a, "run"), *failed = find(a, "failed");
    const char *save = d->meta ? io_meta_option(d->meta, &d->arena, "save") : NULL;
    bool series = !save || strcmp(save, "final");
    d->reduced = !run && failed;
    a->head = run && run->dims == 1 ? run : d->reduced ? failed : NULL;
    d->runs = a->head ? product(a->head->shape, a->head->dims) : 0;
    for (uint32_t i = 0; i < a->count && !a->head && !d->runs; i++)
        d->runs = a->all[i].dims ? a->all[i].shape[0] : 0;
    a->t = find(a, "t");
    a->t = a->t && a->t->dims == 1 && !a->t->text ? a->t : NULL;
    a->offsets = a->t ? find(a, "offsets") : NULL;
    if (a->offsets && (a->offsets->dims != 1 || a->offsets->shape[0] != d->runs + 1))
        a->offsets = NULL;
    a->edges = find(a, "window_t");
    a->edges = a->edges && a->edges->dims == 1 && !a->edges->text ? a->edges : NULL;
    a->summary = d->meta ? io_meta_option(d->meta, &d->arena, "summary") : NULL;
    a->samples = a->t && !a->offsets && series ? a->t->shape[0] : 0;
    bool any = false;
    for (uint32_t i = 0; i < a->count && !any; i++)
        any = is_of_samples(d, a, &a->all[i]);
    a->samples = any ? a->samples : 0;
}

// What is no column of its own: axes, and the words that `status` counts.
static bool is_beside(const struct arrays *a, const struct reader_shape *s) {
    return s == a->edges || s == a->offsets || (s == a->t && (a->offsets || a->samples)) ||
           !strcmp(s->name, RESULT_STATUS_WORDS);
}

shoal_code reader_add_arrays(struct reader *d, const struct reader_shape *all, uint32_t count,
                             struct report *r) {
    struct arrays a = {.all = all, .count = count};
    shoal_code code = SHOAL_OK;
    find_axes(d, &a);
    for (uint32_t i = 0; i < count && !code; i++) {
        uint32_t table = UINT32_MAX;
        bool flat = a.offsets && all[i].dims == 1 && all[i].shape[0] == a.t->shape[0] &&
                    all[i].shape[0] != d->runs;
        if (!flat && !is_beside(&a, &all[i]))
            code = place_array(d, &a, &all[i], &table, r);
        if (!code && table != UINT32_MAX)
            code = add_column(d, &all[i], table);
    }
    if (!code && a.offsets)
        code = add_flat(d, &a, r);
    if (!code && d->meta)
        mark_inputs(d);
    if (!code && d->reduced)
        reader_mark_reduced(d);
    return code;
}
