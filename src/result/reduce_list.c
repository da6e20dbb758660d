// SPDX-License-Identifier: MIT
// See reduce_list.h.
#include "result/reduce_list.h"

// These are all float or double.
static bool is_reduced(const struct result_array *a) {
    return (result_is_variable(a) || a->role == ROLE_SUMMARY) && a->axes != AXES_FLAT;
}

static uint32_t add(struct result_list *l, struct result_array a) {
    a.wanted = true;
    l->array[l->count] = a;
    return l->count++;
}

static void add_by(struct result_list *l, const struct table *by, const uint32_t *along,
                   struct arena *arena) {
    struct result_column *column = arena_new(arena, struct result_column, by->columns.count + 1);
    l->first_column = l->count;
    l->of.columns = by->columns.count;
    l->of.column = column;
    for (uint32_t i = 0; i < by->columns.count; i++) {
        const struct table_column *c = &by->columns.items[i];
        column[i] = (struct result_column){c->name, c->text != NULL, along[i]};
        add(l, (struct result_array){.name = c->name,
                                     .role = ROLE_INPUT,
                                     .type = c->text ? TYPE_TEXT : TYPE_F64,
                                     .axes = AXES_PER_RUN,
                                     .from = FROM_COLUMN,
                                     .index = i});
    }
}

static void add_statistic(struct result_list *l, struct result_array a, const char *of,
                          const char *word, struct arena *arena) {
    a.words.tail = arena_printf(arena, ".%s", word);
    a.name = arena_printf(arena, "%s.%s", of, word);
    add(l, a);
}

static void add_column(struct reduce_list *x, const struct result_list *from, uint32_t array,
                       const struct reduce_spec *spec, struct arena *arena) {
    struct result_array a = from->array[array];
    const char *of = a.name;
    *vec_push(arena, &x->columns) =
        (struct reduce_column){array, x->list.count, x->cells, result_width(from, &a)};
    x->cells += result_width(from, &a);
    a.from = FROM_STATISTICS;
    a.type = TYPE_F64;
    a.words.stem = a.words.stem ? a.words.stem : arena_printf(arena, "%s.", of);
    for (uint32_t i = 0; i < spec->items.count; i++)
        add_statistic(&x->list, a, of, spec->items.items[i].name, arena);
    a.type = TYPE_U64;
    add_statistic(&x->list, a, of, "n", arena);
}

void reduce_list_make(struct reduce_list *out, const struct result_list *from,
                      const struct reduce_spec *spec, const struct table *by, const uint32_t *along,
                      const uint64_t *shape, uint32_t axes, struct arena *arena) {
    struct result_list *l = &out->list;
    uint64_t most = by->columns.count + (uint64_t)from->count * (spec->items.count + 1) + 1;
    *out = (struct reduce_list){.list.of = from->of};
    l->of.rows = by->rows;
    l->of.shape = shape;
    l->of.axes = axes;
    l->of.reduced = true;
    l->array = arena_new(arena, struct result_array, most);
    add_by(l, by, along, arena);
    for (uint32_t i = 0; i < from->count; i++)
        if (from->array[i].axes == AXES_GRID)
            add(l, from->array[i]);
    l->first_var = l->count;
    for (uint32_t i = 0; i < from->count; i++)
        if (is_reduced(&from->array[i]))
            add_column(out, from, i, spec, arena);
    l->of.vars = l->count - l->first_var;
    out->failed = add(l, (struct result_array){.name = RESULT_FAILED,
                                               .role = ROLE_FAILED,
                                               .type = TYPE_U64,
                                               .axes = AXES_PER_RUN,
                                               .from = FROM_STATISTICS});
}
