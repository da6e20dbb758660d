// SPDX-License-Identifier: MIT
// A first look at a result: metadata for the title, and which inputs were given with which values.
#include "base/json.h"
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
    for (size_t i = 0; i < rows && p->status != UINT32_MAX; i++) {
        double status = column[p->inputs][i];
        p->failed += status != SHOAL_STATUS_ok && status != SHOAL_STATUS_stopped;
    }
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

static shoal_code look_at_inputs(struct plot *p) {
    uint32_t columns[INPUTS_MOST + 1], count = 0;
    for (uint32_t i = 0; i < p->d->columns.count && p->inputs < INPUTS_MOST; i++)
        if (p->d->columns.items[i].role == READER_INPUT) {
            p->input[p->inputs++] = (struct input){.column = i, .fixed = NAN};
            columns[count++] = i;
        }
    p->status = reader_role(p->d, READER_STATUS);
    uint32_t run = reader_role(p->d, READER_RUN);
    if (p->status != UINT32_MAX)
        columns[count++] = p->status;
    else
        columns[count++] = run != UINT32_MAX ? run : 0;
    struct looker l = {.p = p};
    for (uint32_t i = 0; i < p->inputs; i++) {
        l.distinct[i].value = arena_new(&p->arena, double, DISTINCT_MOST);
        l.distinct[i].slot = arena_new(&p->arena, uint32_t, SLOTS);
    }
    bool of_sample = p->d->columns.items[columns[count - 1]].of_sample; // nothing of runs is known
    shoal_code code =
        of_sample ? SHOAL_OK : pass_over(p, false, columns, count, NULL, look_at_rows, &l);
    for (uint32_t i = 0; i < p->inputs && !code; i++) {
        const struct distinct *d = &l.distinct[i];
        p->input[i].count = d->count;
        p->input[i].value = d->many || !d->count ? NULL : d->value;
        qsort(d->value, d->count, sizeof *d->value, compare);
    }
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

// The text of an option in "options": {...}.
static const char *option_of(struct plot *p, const char *name) {
    struct json j;
    char *found = NULL;
    json_open_text(&j, p->d->meta, strlen(p->d->meta));
    bool inside = false;
    if (json_next(&j) == JSON_OBJECT)
        while (!found && json_next(&j) == JSON_NAME) {
            if (!inside && !strcmp(j.text.data, "options"))
                inside = json_next(&j) == JSON_OBJECT;
            else if (inside && !strcmp(j.text.data, name) && json_next(&j) == JSON_TEXT)
                found = strdup(j.text.data);
            else if (!json_skip(&j))
                break;
        }
    json_close(&j);
    const char *kept = found ? arena_strdup(&p->arena, found) : NULL;
    free(found);
    return kept;
}

shoal_code look_at(struct plot *p) {
    const char *model = p->d->meta ? json_member(&p->arena, p->d->meta, "model") : NULL;
    p->model = base_name(&p->arena, model ? model : p->d->path);
    if (p->d->meta) {
        p->method = option_of(p, "method");
        p->rtol = option_of(p, "rtol");
        p->t1 = option_of(p, "t1");
    }
    return look_at_inputs(p);
}
