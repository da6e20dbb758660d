// SPDX-License-Identifier: MIT
// A first look at a result: metadata for the title, and which inputs were given with which values.
#include "base/json.h"
#include "io/formats.h"
#include "plot/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *plot_name(const struct plot *p, uint32_t column) {
    return p->d->columns.items[column].name;
}

// ---- Distinct values ----------------------------------------------------------------------------

enum { SLOTS = 1 << 17 };

// The values of an input so far. Sweeps repeat, so the value behind the last one is tried first.
struct distinct {
    double *value;
    uint32_t *slot; // of a hash: place of the value, plus one
    uint32_t count, last;
    bool many;
};

static uint32_t slot_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)(bits * 0x9e3779b97f4a7c15u >> 47);
}

static void look_up(struct distinct *d, double value) {
    uint32_t at = slot_of(value) % SLOTS;
    while (d->slot[at] && d->value[d->slot[at] - 1] != value)
        at = (at + 1) % SLOTS;
    if (!d->slot[at]) {
        if (d->count == DISTINCT_MOST) {
            d->many = true;
            return;
        }
        d->value[d->count] = value;
        d->slot[at] = ++d->count;
    }
    d->last = d->slot[at] - 1;
}

static void add_distinct(struct distinct *d, const double *values, size_t count) {
    for (size_t i = 0; i < count && !d->many; i++) {
        double value = values[i] == 0 ? 0 : values[i]; // -0 is the same
        uint32_t next = d->last + 1 < d->count ? d->last + 1 : 0;
        if (!isfinite(value))
            d->many = true;
        else if (d->count && d->value[d->last] == value)
            continue;
        else if (d->count && d->value[next] == value)
            d->last = next;
        else
            look_up(d, value);
    }
}

struct looker {
    struct plot *p;
    struct distinct distinct[INPUTS_MOST];
};

static void look_at_rows(void *user, const double *const *column, size_t rows) {
    struct looker *l = user;
    struct plot *p = l->p;
    for (uint32_t i = 0; i < p->inputs; i++)
        add_distinct(&l->distinct[i], column[i], rows);
    p->runs += rows;
    for (size_t i = 0; i < rows && p->status != UINT32_MAX; i++)
        p->failed += failed_status(column[p->inputs][i]);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A grid has every combination once.
static void find_grid(struct plot *p) {
    uint64_t cells = 1;
    p->grid = p->inputs > 0;
    for (uint32_t i = 0; i < p->inputs; i++) {
        p->grid = p->grid && p->input[i].value;
        if (p->grid && __builtin_mul_overflow(cells, (uint64_t)p->input[i].count, &cells))
            p->grid = false;
    }
    p->grid = p->grid && cells == p->runs;
}

static struct distinct new_distinct(struct plot *p) {
    return (struct distinct){.value = arena_new(&p->arena, double, DISTINCT_MOST),
                             .slot = arena_new(&p->arena, uint32_t, SLOTS)};
}

static void take_distinct(struct input *in, const struct distinct *d) {
    in->count = d->count;
    in->value = d->many || !d->count ? NULL : d->value;
    qsort(d->value, d->count, sizeof *d->value, compare);
}

struct column_looker {
    struct distinct distinct;
    uint64_t rows;
};

static void look_at_values(void *user, const double *const *column, size_t rows) {
    struct column_looker *l = user;
    add_distinct(&l->distinct, column[0], rows);
    l->rows += rows;
}

shoal_code look_at_column(struct plot *p, uint32_t table, uint32_t column, struct input *out) {
    struct column_looker l = {.distinct = new_distinct(p)};
    shoal_code code = pass_over(p, table, &column, 1, NULL, look_at_values, &l);
    *out = (struct input){.column = column, .fixed = NAN, .rows = l.rows};
    take_distinct(out, &l.distinct);
    return code;
}

// A CSV of summaries without `t` does not say where its inputs end. Those in front that make a grid
// are some; else the first is.
static void drop_summaries(struct plot *p) {
    uint64_t cells = 1;
    uint32_t keep = 0;
    while (keep < p->inputs && cells < p->runs && p->input[keep].value &&
           !__builtin_mul_overflow(cells, (uint64_t)p->input[keep].count, &cells))
        keep++;
    if (cells != p->runs)
        keep = p->inputs > 0;
    for (uint32_t i = keep; i < p->inputs; i++)
        p->d->columns.items[p->input[i].column].role = READER_VALUE;
    p->inputs = keep;
}

static shoal_code look_at_inputs(struct plot *p) {
    uint32_t columns[INPUTS_MOST + 1], count = 0;
    for (uint32_t i = 0; i < p->d->columns.count && p->inputs < INPUTS_MOST; i++)
        if (p->d->columns.items[i].role == READER_INPUT) {
            p->input[p->inputs++] = (struct input){.column = i, .fixed = NAN};
            columns[count++] = i;
        }
    p->status = reader_role(p->d, READER_STATUS);
    uint32_t run = reader_role_in(p->d, READER_RUNS, READER_RUN);
    if (p->status != UINT32_MAX)
        columns[count++] = p->status;
    else
        columns[count++] = run != UINT32_MAX ? run : 0;
    struct looker l = {.p = p};
    for (uint32_t i = 0; i < p->inputs; i++)
        l.distinct[i] = new_distinct(p);
    bool of_runs = p->d->columns.items[columns[count - 1]].table == READER_RUNS;
    shoal_code code = of_runs // else nothing of runs is known
                          ? pass_over(p, READER_RUNS, columns, count, NULL, look_at_rows, &l)
                          : SHOAL_OK;
    for (uint32_t i = 0; i < p->inputs && !code; i++)
        take_distinct(&p->input[i], &l.distinct[i]);
    if (!p->d->meta && !p->d->reduced && of_runs &&
        reader_role_in(p->d, READER_RUNS, READER_TIME) == UINT32_MAX)
        drop_summaries(p);
    find_grid(p);
    return code;
}

// ---- Metadata -----------------------------------------------------------------------------------

static const char *base_name(struct arena *arena, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *point = strrchr(name, '.');
    return arena_strndup(arena, name,
                         point && point != name ? (size_t)(point - name) : strlen(name));
}

// How many runs statistics are of: the product of "grid": [{"names": [...], "count": 7}, ...].
static uint64_t runs_of_grid(const char *meta) {
    const char *at = strstr(meta, "\"grid\"");
    double runs = 1;
    struct json j;
    if (!at || !(at = strchr(at, '[')))
        return 0;
    json_open_text(&j, at, strlen(at));
    enum json_kind kind;
    while ((kind = json_next(&j)) != JSON_ERROR && kind != JSON_END)
        if (kind == JSON_NUMBER)
            runs *= j.number;
    json_close(&j);
    return runs >= 1 && runs < 0x1p53 ? (uint64_t)runs : 0;
}

const char *plot_label(struct plot *p, uint32_t column) {
    bool is_time = p->d->columns.items[column].role == READER_TIME && p->time_unit;
    const char *name = plot_name(p, column);
    return is_time ? arena_printf(&p->arena, "%s (%s)", name, p->time_unit) : name;
}

const char *plot_says(struct plot *p, uint32_t column, double value) {
    const struct reader_words *words = p->d->columns.items[column].words;
    char text[TICK_ROOM];
    if (words && value >= 0 && value < words->count)
        return words->word[(uint32_t)value];
    number_short(value, 4, text);
    return arena_printf(&p->arena, "%s = %s", plot_name(p, column), text);
}

shoal_code look_at(struct plot *p) {
    const char *model = p->d->meta ? json_member(&p->arena, p->d->meta, "model") : NULL;
    p->model = base_name(&p->arena, model ? model : p->d->path);
    if (p->d->meta) {
        p->method = io_meta_option(p->d->meta, &p->arena, "method");
        p->rtol = io_meta_option(p->d->meta, &p->arena, "rtol");
        p->t1 = io_meta_option(p->d->meta, &p->arena, "t1");
        p->time_unit = io_meta_option(p->d->meta, &p->arena, "time-unit");
    }
    shoal_code code = look_at_inputs(p);
    p->title_runs = !p->d->reduced ? p->runs : p->d->meta ? runs_of_grid(p->d->meta) : 0;
    return code;
}
