// SPDX-License-Identifier: MIT
// Columns of a table or of the caller's arrays become inputs of the batch; those that are only to
// be copied become extras.
#include "ode/batch/batch_data.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_ERRORS_MOST = 100 };

static const struct symbol *lookup(struct batch *b, const char *name) {
    uint32_t symbol = model_find(b->model, name, "", NULL);
    return symbol == UINT32_MAX ? NULL : &b->model->symbols.items[symbol];
}

static bool is_a(struct batch *b, const char *name, enum symbol_kind kind) {
    const struct symbol *symbol = lookup(b, name);
    return symbol && symbol->kind == kind;
}

// Result files call a parameter `run` of a model `run_`, or `run__` where that is taken.
const char *batch_column_symbol(struct batch *b, const char *name, enum symbol_kind kind) {
    if (lookup(b, name))
        return name;
    for (size_t length = strlen(name); length > 1 && name[length - 1] == '_'; length--) {
        const char *plain = arena_strndup(&b->arena, name, length - 1);
        if (result_name_is_ours(plain) && is_a(b, plain, kind))
            return plain;
    }
    return name;
}

static const double *copy_numbers(struct batch *b, const struct table_column *c, uint64_t rows) {
    double *copy = arena_new(&b->arena, double, rows);
    for (uint64_t k = 0; k < rows; k++)
        copy[k] = c->number ? c->number[k] : (double)c->number32[k];
    return copy;
}

shoal_code batch_add_column(struct batch *b, const struct table *t, const struct table_column *c,
                            struct report *r) {
    struct input input = {.source = b->table, .kind = INPUT_TABLE};
    const char *name = batch_column_symbol(b, c->name, SYMBOL_PAR);
    if (r && t->head.text) { // the place says which file
        r->place = &t->head;
        r->place_at = c->at;
    }
    shoal_code code = spec_resolve(b->model, &b->arena, name,
                                   t->head.text ? "batch file" : t->source, &input.name, r);
    if (r)
        r->place = NULL;
    if (code != SHOAL_OK)
        return code;
    if (!c->number && !c->number32)
        return report_error(r, SHOAL_INPUT,
                            "%s: column `%s` holds text, not numbers; a column that is only to be "
                            "copied has a name that starts with `_`",
                            t->source, input.name.text);
    code = t->lent ? SHOAL_OK : table_check_finite(t, c, input.name.text, r);
    if (code != SHOAL_OK)
        return code;
    input.column = t->lent ? c->number : copy_numbers(b, c, t->rows);
    input.column32 = t->lent ? c->number32 : NULL;
    return batch_add_input(b, input, r);
}

void batch_add_extra(struct batch *b, const struct table *t, const struct table_column *c) {
    struct table_column copy = {.name = arena_strdup(&b->arena, c->name)};
    if (c->number || c->number32) {
        copy.number = t->lent ? c->number : copy_numbers(b, c, t->rows);
    } else {
        const char **text = arena_new(&b->arena, const char *, t->rows);
        for (uint64_t k = 0; k < t->rows; k++)
            text[k] = arena_strdup(&b->arena, c->text[k] ? c->text[k] : "");
        copy.text = text;
    }
    *vec_push(&b->arena, &b->extras) = copy;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static shoal_code check_extras(struct batch *b, struct report *r) {
    const char **names = arena_new(&b->arena, const char *, b->extras.count);
    for (uint32_t k = 0; k < b->extras.count; k++)
        names[k] = b->extras.items[k].name;
    qsort(names, b->extras.count, sizeof *names, by_name);
    for (uint32_t k = 1; k < b->extras.count; k++)
        if (!strcmp(names[k - 1], names[k]))
            return report_error(r, SHOAL_INPUT, "%s gives `%s` twice", b->table, names[k]);
    return SHOAL_OK;
}

// Rows of all columns agree; the first table or array sets their number.
static shoal_code check_rows(struct batch *b, const char *source, uint64_t rows, struct report *r) {
    if (rows == 0)
        return report_error(r, SHOAL_INPUT, "%s has no rows, so there is nothing to run", source);
    if (b->table && b->table_rows != rows)
        return report_error(r, SHOAL_INPUT, "%s has %llu rows, but %s has %llu", source,
                            (unsigned long long)rows, b->table, (unsigned long long)b->table_rows);
    return SHOAL_OK;
}

// A file of results has columns named after states too, which hold final values: it is said what
// they are taken for.
static void note_states(struct batch *b, const struct table *t, struct report *r) {
    for (uint32_t k = 0; k < t->columns.count; k++) {
        const char *name = t->columns.items[k].name;
        const struct symbol *symbol =
            name[0] == '_' || result_name_is_no_input(name) ? NULL : lookup(b, name);
        if (!symbol || symbol->kind != SYMBOL_STATE)
            continue;
        report_note(r, "%s: column `%s` is taken as the initial value `%s(0)`", t->source,
                    symbol->name, symbol->name);
        return;
    }
}

static shoal_code add_columns(struct batch *b, const struct table *t, struct report *r) {
    uint32_t inputs = b->inputs.count, errors = 0;
    for (uint32_t k = 0; k < t->columns.count && errors < TABLE_ERRORS_MOST; k++) {
        const struct table_column *c = &t->columns.items[k];
        if (c->name[0] == '_')
            batch_add_extra(b, t, c);
        else if (!result_name_is_no_input(c->name))
            errors += batch_add_column(b, t, c, r) != SHOAL_OK;
        else if (is_a(b, c->name, SYMBOL_PAR))
            report_note(r,
                        "%s: column `%s` is ignored, as in a result file; to give the model's "
                        "parameter, call it `%s_`",
                        t->source, c->name, c->name);
    }
    if (errors)
        return SHOAL_INPUT;
    if (b->inputs.count == inputs && !b->extras.count)
        return report_error(
            r, SHOAL_INPUT,
            "%s has no column named after a parameter or, as x(0), an initial value", t->source);
    note_states(b, t, r);
    return check_extras(b, r);
}

shoal_code batch_begin_table(struct batch *b, const struct table *t, struct report *r) {
    shoal_code code = check_rows(b, t->source, t->rows, r);
    if (code != SHOAL_OK)
        return code;
    b->table = arena_strdup(&b->arena, t->source);
    b->table_rows = t->rows;
    return SHOAL_OK;
}

static shoal_code use_table(struct batch *b, const void *table, struct report *r) {
    shoal_code code = batch_begin_table(b, table, r);
    return code == SHOAL_OK ? add_columns(b, table, r) : code;
}

shoal_code batch_use_table(struct batch *b, const struct table *t, struct report *r) {
    return batch_guard(b, use_table, t, r);
}

static shoal_code add_values(struct batch *b, const void *column, struct report *r) {
    const struct table *t = column;
    shoal_code code = check_rows(b, t->source, t->rows, r);
    if (code != SHOAL_OK)
        return code;
    b->table = t->source;
    b->table_rows = t->rows;
    if (t->columns.items->name[0] != '_')
        return batch_add_column(b, t, t->columns.items, r);
    batch_add_extra(b, t, t->columns.items);
    return check_extras(b, r);
}

static shoal_code add_array(struct batch *b, struct table_column column, uint64_t count, bool lent,
                            struct report *r) {
    struct table t = {.source = "an array of values", .rows = count, .lent = lent};
    t.columns.items = &column;
    t.columns.count = 1;
    return batch_guard(b, add_values, &t, r);
}

shoal_code batch_add_values(struct batch *b, const char *name, const double *values, uint64_t count,
                            struct report *r) {
    return add_array(b, (struct table_column){.name = name, .number = values}, count, false, r);
}

shoal_code batch_lend_values(struct batch *b, const char *name, const void *values, bool f32,
                             uint64_t count, struct report *r) {
    struct table_column column = {.name = name};
    if (f32 && name[0] == '_')
        return report_error(r, SHOAL_INPUT, "`%s`: a column that is only copied is of doubles",
                            name);
    if (f32)
        column.number32 = values;
    else
        column.number = values;
    return add_array(b, column, count, true, r);
}

shoal_code batch_add_texts(struct batch *b, const char *name, const char *const *texts,
                           uint64_t count, struct report *r) {
    return add_array(b, (struct table_column){.name = name, .text = texts}, count, false, r);
}

uint32_t batch_extras(const struct batch *b) { return b->extras.count; }

const struct table_column *batch_extra(const struct batch *b, uint32_t extra) {
    return &b->extras.items[extra];
}

void batch_fill_extra(const struct batch *b, uint32_t extra, uint64_t first_row, uint32_t rows,
                      void *out) {
    const struct table_column *column = batch_extra(b, extra);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t row = batch_table_row(b, batch_run_of_row(b, first_row + i));
        if (column->text)
            ((const char **)out)[i] = column->text[row];
        else
            ((double *)out)[i] =
                column->number ? column->number[row] : (double)column->number32[row];
    }
}
