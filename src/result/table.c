// SPDX-License-Identifier: MIT
// See table.h.
#include "result/table.h"

#include <math.h>
#include <string.h>

static struct table_column *add_column(struct arena *arena, struct table *t, const char *name) {
    struct table_column *grown = vec_reserve(arena, &t->columns, (uint64_t)t->columns.count + 1);
    char *copy = grown ? arena_strdup(arena, name) : NULL;
    if (!copy)
        return NULL;
    struct table_column *column = &t->columns.items[t->columns.count++];
    *column = (struct table_column){.name = copy};
    return column;
}

double *table_numbers(struct arena *arena, struct table *t, const char *name) {
    double *items = t->rows < SIZE_MAX / 16 ? arena_new(arena, double, t->rows) : NULL;
    struct table_column *column = items ? add_column(arena, t, name) : NULL;
    if (column)
        column->number = items;
    return column ? items : NULL;
}

const char **table_texts(struct arena *arena, struct table *t, const char *name) {
    const char **items = t->rows < SIZE_MAX / 16 ? arena_new(arena, const char *, t->rows) : NULL;
    struct table_column *column = items ? add_column(arena, t, name) : NULL;
    if (column)
        column->text = items;
    return column ? items : NULL;
}

const struct table_column *table_find(const struct table *t, const char *name) {
    for (uint32_t i = 0; i < t->columns.count; i++)
        if (!strcmp(t->columns.items[i].name, name))
            return &t->columns.items[i];
    return NULL;
}

shoal_code table_of_steps(const char *path, struct report *r) {
    return report_error(r, SHOAL_INPUT,
                        "%s: holds the steps of its runs; a run is continued from final values or "
                        "from samples at given times",
                        path);
}

shoal_code table_check_finite(const struct table *t, const struct table_column *c, const char *name,
                              struct report *r) {
    for (uint64_t k = 0; k < t->rows; k++) {
        double value = c->number ? c->number[k] : (double)c->number32[k];
        if (!isfinite(value))
            return report_error(
                r, SHOAL_INPUT,
                "%s: column `%s`, row %llu (counted from 0): %s is not a finite number", t->source,
                name, (unsigned long long)k, isnan(value) ? "nan" : "an infinite value");
    }
    return SHOAL_OK;
}
