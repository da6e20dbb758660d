// SPDX-License-Identifier: MIT
// Groups of runs by the values of some inputs (--by): what src/result/reduce.h calls axes.
//
// Inputs that advance together are one axis. Its points fall into one group when all columns that
// are named have the same value there; groups stand in the order in which their first points come.
#include "ode/batch/batch_axes.h"

#include "ode/batch/batch_data.h"
#include "result/quantile.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Names --------------------------------------------------------------------------------------

static bool add_named(struct batch_by *by, struct arena *arena, uint32_t group, uint32_t input,
                      const struct table_column *extra) {
    for (uint32_t i = 0; i < by->named.count; i++)
        if (by->named.items[i].input == input && by->named.items[i].extra == extra)
            return false;
    *vec_push(arena, &by->named) = (struct batch_named){group, input, extra};
    return true;
}

static uint32_t place_of(const struct batch *b, const struct spec_name *name) {
    uint32_t input = b->slots[name->symbol].input;
    for (uint32_t k = 0; k < b->order.count; k++)
        if (input && b->order.items[k] == input - 1)
            return k;
    return UINT32_MAX;
}

static shoal_code add_input(const struct batch *b, const char *word, struct arena *arena,
                            struct batch_by *by, struct report *r) {
    struct spec_name name;
    shoal_code code = spec_resolve(b->model, arena, word, "--by", &name, r);
    if (code != SHOAL_OK)
        return code;
    uint32_t k = place_of(b, &name);
    if (k == UINT32_MAX)
        return report_error(r, SHOAL_INPUT,
                            "--by: `%s` has the same value in all runs; name what is swept, or a "
                            "column of the batch file",
                            name.text);
    if (batch_input(b, k)->kind == INPUT_SAMPLE)
        return report_error(r, SHOAL_INPUT,
                            "--by: `%s` is sampled, so every run would be a group of its own",
                            name.text);
    return add_named(by, arena, batch_input(b, k)->group, k, NULL)
               ? SHOAL_OK
               : report_error(r, SHOAL_INPUT, "--by names `%s` twice", name.text);
}

static shoal_code add_word(const struct batch *b, const char *word, struct arena *arena,
                           struct batch_by *by, struct report *r) {
    for (uint32_t i = 0; i < b->extras.count; i++)
        if (!strcmp(word, b->extras.items[i].name))
            return add_named(by, arena, 0, UINT32_MAX, &b->extras.items[i])
                       ? SHOAL_OK
                       : report_error(r, SHOAL_INPUT, "--by names `%s` twice", word);
    if (word[0] == '_' && model_find(b->model, word, "--by", NULL) == UINT32_MAX)
        return report_error(r, SHOAL_INPUT, "--by: the batch file has no column `%s`", word);
    return add_input(b, word, arena, by, r);
}

static int in_order(const void *a, const void *b) {
    const struct batch_named *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (!x->extra != !y->extra) // inputs first, as in a result
        return x->extra ? 1 : -1;
    return x->extra ? (x->extra > y->extra) - (x->extra < y->extra)
                    : (x->input > y->input) - (x->input < y->input);
}

static shoal_code read_names(const struct batch *b, const char *text, struct arena *arena,
                             struct batch_by *by, struct report *r) {
    struct spec s;
    const char *word;
    shoal_code code = SHOAL_OK;
    spec_open(&s, b->model, arena, "--by", text, r);
    while (code == SHOAL_OK && spec_next_word(&s, &word, &code))
        code = add_word(b, word, arena, by, r);
    if (code == SHOAL_OK)
        qsort(by->named.items, by->named.count, sizeof *by->named.items, in_order);
    return code;
}

// ---- Values -------------------------------------------------------------------------------------

static double number_at(const struct batch *b, const struct batch_named *n, uint64_t point) {
    if (n->extra)
        return n->extra->number[point];
    const struct group *g = &b->groups.items[n->group];
    return batch_value(b, n->input, point * g->inner);
}

static bool is_text(const struct batch_named *n) { return n->extra && n->extra->text; }

// Numbers that are written alike are alike.
static uint64_t key_of(double x) { return isnan(x) ? 0 : quantile_key(x + 0.0); }

// Some points of an axis, and the columns that are named of it.
struct points {
    const struct batch *batch;
    const struct batch_named *named;
    uint32_t columns;
};

static int compare(const struct points *p, uint64_t x, uint64_t y) {
    int order = 0;
    for (uint32_t i = 0; i < p->columns && !order; i++) {
        const struct batch_named *n = &p->named[i];
        if (is_text(n)) {
            order = strcmp(n->extra->text[x], n->extra->text[y]);
        } else {
            uint64_t a = key_of(number_at(p->batch, n, x)), b = key_of(number_at(p->batch, n, y));
            order = (a > b) - (a < b);
        }
    }
    return order;
}

static int by_value(const void *a, const void *b, void *user) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = compare(user, x, y);
    return order ? order : (x > y) - (x < y);
}

// ---- Axes ---------------------------------------------------------------------------------------

// Whether neighbours on a scale differ by more than rounding may, in ten to the power of a
// logarithm.
static bool is_apart(const struct sweep *s) {
    double a = fabs(s->first), b = fabs(s->last);
    double way = s->scale == SWEEP_LOG ? fabs(log(b / a)) : fabs(s->last - s->first) / fmax(a, b);
    return way > (double)s->count * 1024 * DBL_EPSILON;
}

// All points of a scale differ.
static bool is_scale(const struct batch *b, const struct points *p) {
    for (uint32_t i = 0; i < p->columns; i++) {
        const struct input *in = p->named[i].extra ? NULL : batch_input(b, p->named[i].input);
        if (in && in->kind == INPUT_SWEEP && in->sweep.scale != SWEEP_LIST && is_apart(&in->sweep))
            return true;
    }
    return false;
}

// Gives each of the points, which are in the order of their values, the first of its kind.
static void find_first(const struct points *p, const uint32_t *order, uint32_t count,
                       uint32_t *first) {
    for (uint32_t i = 0; i < count; i++)
        first[order[i]] = i && !compare(p, order[i], order[i - 1]) ? first[order[i - 1]] : order[i];
}

// Points with the same values get the same key; keys are numbered as they come.
static void make_keys(struct points *p, struct reduce_axis *axis, struct arena *arena,
                      uint32_t **first_point) {
    uint32_t count = (uint32_t)axis->count, keys = 0;
    uint32_t *order = arena_new(arena, uint32_t, count), *first = arena_new(arena, uint32_t, count);
    uint32_t *key = arena_new(arena, uint32_t, count), *rank = arena_new(arena, uint32_t, count);
    uint32_t *same = arena_new(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, by_value, p);
    find_first(p, order, count, first);
    for (uint32_t i = 0; i < count; i++) {
        if (first[i] == i) {
            order[keys] = i; // from here on it says where a key was first
            key[i] = keys++;
        } else
            key[i] = key[first[i]];
        rank[i] = same[key[i]]++;
    }
    axis->keys = keys;
    axis->key = key;
    axis->rank = rank;
    axis->same = same;
    *first_point = order;
}

static struct points points_of(const struct batch *b, const struct batch_by *by, uint32_t group) {
    struct points p = {.batch = b};
    for (uint32_t i = 0; i < by->named.count; i++)
        if (by->named.items[i].group == group) {
            p.named = p.named ? p.named : &by->named.items[i];
            p.columns++;
        }
    return p;
}

static shoal_code add_axis(const struct batch *b, uint32_t group, struct arena *arena,
                           struct batch_by *by, struct report *r) {
    const struct group *g = &b->groups.items[group];
    struct points p = points_of(b, by, group);
    struct reduce_axis axis = {.count = g->count, .inner = g->inner, .keys = 1};
    struct reduce_axis *last = by->axis.count ? &by->axis.items[by->axis.count - 1] : NULL;
    uint32_t *first = NULL;
    if (!p.columns && last && last->keys == 1 && !last->key) { // as one
        last->count *= g->count;
        last->inner = g->inner;
        return SHOAL_OK;
    }
    if (p.columns && is_scale(b, &p))
        axis.keys = g->count;
    else if (p.columns && g->count > UINT32_MAX)
        return report_error(r, SHOAL_INPUT, "--by: too many values");
    else if (p.columns)
        make_keys(&p, &axis, arena, &first);
    *vec_push(arena, &by->axis) = axis;
    if (p.columns)
        *vec_push(arena, &by->shape) = (struct batch_shape){axis.keys, group, first};
    return __builtin_mul_overflow(by->axes.groups, axis.keys, &by->axes.groups)
               ? report_error(r, SHOAL_INPUT, "--by: too many groups")
               : SHOAL_OK;
}

shoal_code batch_group(const struct batch *b, const char *names, struct arena *arena,
                       struct batch_by *by, struct report *r) {
    *by = (struct batch_by){.axes.groups = 1};
    shoal_code code = names ? read_names(b, names, arena, by, r) : SHOAL_OK;
    for (uint32_t g = 0; g < b->groups.count && code == SHOAL_OK; g++)
        code = add_axis(b, g, arena, by, r);
    by->axes.count = by->axis.count;
    by->axes.axis = by->axis.items;
    return code;
}

// ---- Columns ------------------------------------------------------------------------------------

// Values of a column in all groups; each holds for `inner` of them.
static void fill_column(const struct batch *b, const struct batch_named *n,
                        const struct batch_shape *s, uint64_t inner, uint64_t groups,
                        double *number, const char **text) {
    for (uint64_t i = 0; i < groups; i++) {
        uint64_t key = i / inner % s->keys, point = s->first ? s->first[key] : key;
        if (text)
            text[i] = n->extra->text[point];
        else
            number[i] = number_at(b, n, point);
    }
}

bool batch_group_columns(const struct batch *b, const struct batch_by *by, struct arena *arena,
                         struct table *out) {
    uint64_t inner = by->axes.groups;
    *out = (struct table){.rows = by->axes.groups};
    for (uint32_t i = 0, s = UINT32_MAX; i < by->named.count; i++) {
        const struct batch_named *n = &by->named.items[i];
        if (s == UINT32_MAX || by->shape.items[s].group != n->group)
            inner /= by->shape.items[++s].keys;
        const char *name = n->extra ? n->extra->name : batch_input_name(b, n->input);
        const char **text = is_text(n) ? table_texts(arena, out, name) : NULL;
        double *number = is_text(n) ? NULL : table_numbers(arena, out, name);
        if (!text && !number)
            return false;
        fill_column(b, n, &by->shape.items[s], inner, out->rows, number, text);
    }
    return true;
}
