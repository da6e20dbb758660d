// SPDX-License-Identifier: MIT
// Reads doses. An infusion becomes the rate that a state is given from a time on: that is the sum
// of all infusions under way, added up anew at each change, so that nothing is left of those that
// ended.
#include "ode/run/dose.h"

#include "base/ascii.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column { ID, TIME, AMT, CMT, RATE, II, ADDL, EVID, SS, COLUMNS };
static const char *const names[COLUMNS] = {
    [ID] = "ID", [TIME] = "TIME", [AMT] = "AMT",   [CMT] = "CMT", [RATE] = "RATE",
    [II] = "II", [ADDL] = "ADDL", [EVID] = "EVID", [SS] = "SS"};

enum { DOSES_MOST = 1 << 28 };
#define ID_NUMBERS 0x1p53 // below this every whole number is one of its own

// One line of the table, or one of those that follow it by ADDL.
struct given {
    struct dose_group id; // first and count are not used
    double t, amount, rate, until;
    double early; // by so much it may be before t0 and still to come
    uint32_t state;
};

struct reader {
    const struct table *table;
    const struct table_column *column[COLUMNS];
    const struct model *model;
    struct arena *arena;
    struct report *report;
    double t0;
    bool f32;
    bool failed;
    uint64_t wrong_row; // + 1, where the last field was no number,
    enum column wrong;  // and its column
    vec(struct given) given;
    vec(struct dose) doses;
    vec(struct dose_group) groups;
    uint32_t *slot; // [states] number of its infusion + 1
    vec(uint32_t) infused;
};

// Times that are no farther from each other are one in a run from t0 (t_width in
// kernels/dialect/dialect.h).
static double time_width(double t, double t0, bool f32) {
    return (fabs(t) + fabs(t0)) * (f32 ? 0x1p-44 : 0x1p-50);
}

static void fail(struct reader *x, uint64_t row, const char *what) {
    report_error(x->report, SHOAL_INPUT, "%s: dose %llu: %s", x->table->source,
                 (unsigned long long)row + 1, what);
    x->failed = true;
}

static const char *text_at(const struct reader *x, enum column c, uint64_t row) {
    const struct table_column *k = x->column[c];
    return k && k->text ? k->text[row] : NULL;
}

// Nothing is in a field, for which `.` is usual.
static bool is_missing(const struct reader *x, enum column c, uint64_t row) {
    const char *text = text_at(x, c, row);
    return !x->column[c] || (x->column[c]->text && (!text || !*text || !strcmp(text, ".")));
}

static void wrong_number(struct reader *x, enum column c, uint64_t row, const char *text) {
    if (x->wrong_row == row + 1 && x->wrong == c)
        return; // it was said
    x->wrong_row = row + 1;
    x->wrong = c;
    bool comma = text && strchr(text, ',');
    fail(x, row,
         text ? arena_printf(x->arena, "%s: '%.40s' is not a number%s", names[c], text,
                             comma ? "; write decimals with a point" : "")
              : arena_printf(x->arena, "%s is not a number", names[c]));
}

// The number in a field; 0 where it is missing.
static double number_at(struct reader *x, enum column c, uint64_t row) {
    const struct table_column *k = x->column[c];
    const char *text = text_at(x, c, row);
    double value = 0;
    if (is_missing(x, c, row))
        return 0;
    if (!k->text)
        value = k->number ? k->number[row] : (double)k->number32[row];
    else if (!number_all(text, strlen(text), NUMBER_SIGNED, &value))
        value = (double)NAN;
    if (!isfinite(value))
        wrong_number(x, c, row, text);
    return value;
}

// ---- One line -----------------------------------------------------------------------------------

// An ID is a number, so that 7 and 7.0 are one, where numbers tell it from others; else its text.
static struct dose_group id_of_text(const char *text) {
    struct dose_group id = {.written = text};
    bool number = number_all(text, strlen(text), NUMBER_SIGNED, &id.number);
    if (!number || !(fabs(id.number) < ID_NUMBERS)) {
        id.text = text;
        id.number = 0;
    }
    return id;
}

static struct dose_group id_at(struct reader *x, uint64_t row) {
    const char *text = text_at(x, ID, row);
    if (text)
        return id_of_text(arena_strdup(x->arena, text));
    return (struct dose_group){.number = number_at(x, ID, row)};
}

static uint32_t state_named(struct reader *x, uint64_t row, const char *name) {
    const struct model *m = x->model;
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < m->states.count; i++) {
        const char *state = m->symbols.items[m->states.items[i]].name;
        if (!strcmp(state, name))
            return i;
        nearest_offer(&n, state);
    }
    const char *best = nearest_best(&n);
    fail(x, row,
         arena_printf(x->arena, "CMT: the model has no state `%.40s`%s%s%s", name,
                      best ? "; did you mean `" : "", best ? best : "", best ? "`?" : ""));
    return 0;
}

static uint32_t state_at(struct reader *x, uint64_t row) {
    const char *text = text_at(x, CMT, row);
    double number = 1;
    uint32_t states = x->model->states.count, state = 0;
    if (text && *text && strcmp(text, ".") &&
        !number_all(text, strlen(text), NUMBER_SIGNED, &number))
        state = state_named(x, row, text);
    else if (!text && x->column[CMT])
        number = number_at(x, CMT, row);
    if (number != floor(number) || number < 1 || number > states)
        fail(x, row,
             arena_printf(x->arena, "CMT is the name of a state or a number from 1 to %u", states));
    else if (!state)
        state = (uint32_t)number - 1;
    if (x->model->symbols.items[x->model->states.items[state]].algebraic)
        fail(x, row, "CMT is an algebraic state, which its row determines");
    return state;
}

// What we do not do is refused by its name.
static void check_line(struct reader *x, uint64_t row) {
    double evid = number_at(x, EVID, row);
    if (x->column[ID] && is_missing(x, ID, row))
        fail(x, row, "ID is missing");
    if (is_missing(x, TIME, row))
        fail(x, row, "TIME is missing");
    if (is_missing(x, AMT, row))
        fail(x, row, "AMT is missing");
    if (evid > 1)
        fail(x, row, "EVID 2, 3 and 4 are not supported; 1 is a dose, 0 is none");
    if (number_at(x, SS, row) != 0)
        fail(x, row, "SS (steady state) is not supported; give the doses that lead there");
    if (number_at(x, RATE, row) < 0)
        fail(x, row, "RATE below 0 (a rate or duration that is a parameter) is not supported");
    if (number_at(x, RATE, row) > 0 && !(number_at(x, AMT, row) > 0))
        fail(x, row, "an infusion needs an AMT above 0");
}

// An observation, in a file that holds them too.
static bool is_dose(struct reader *x, uint64_t row) {
    bool given = number_at(x, AMT, row) != 0 || number_at(x, RATE, row) != 0;
    if (x->column[EVID] && is_missing(x, EVID, row) && given)
        fail(x, row, "EVID is missing; 1 is a dose, 0 is none");
    return x->column[EVID] ? number_at(x, EVID, row) != 0 : given;
}

static void read_line(struct reader *x, uint64_t row) {
    if (!is_dose(x, row))
        return;
    check_line(x, row);
    double more = number_at(x, ADDL, row), apart = number_at(x, II, row);
    if (more != floor(more) || more < 0)
        fail(x, row, "ADDL is a number of doses");
    else if (more > 0 && !(apart > 0))
        fail(x, row, "ADDL needs an II above 0, the time between two doses");
    else if (more + x->given.count > DOSES_MOST)
        fail(x, row, "too many doses");
    struct given g = {
        .id = id_at(x, row), .amount = number_at(x, AMT, row), .state = state_at(x, row)};
    double t = number_at(x, TIME, row), rate = number_at(x, RATE, row);
    // A run that ended at t0, and began before this, left out what was to come then, or so little
    // before that.
    g.early = time_width(x->t0, fmin(t, 0), x->f32);
    for (uint64_t i = 0; !x->failed && i <= (uint64_t)more; i++) {
        g.t = fma((double)i, apart, t);
        g.until = rate > 0 ? g.t + g.amount / rate : g.t;
        // AMT is given, whatever rounding makes of the time it takes: at once, where that is none.
        double least = fmax(2 * time_width(g.until, x->t0, x->f32), x->f32 ? 1e-30 : 1e-290);
        g.rate = g.until - g.t > least ? g.amount / (g.until - g.t) : 0;
        *vec_push(x->arena, &x->given) = g;
    }
}

// ---- All lines ----------------------------------------------------------------------------------

static int by_id(const struct dose_group *a, const struct dose_group *b) {
    if (!a->text != !b->text)
        return a->text ? 1 : -1;
    if (a->text)
        return strcmp(a->text, b->text);
    return (a->number > b->number) - (a->number < b->number);
}

static int by_id_and_time(const void *a, const void *b) {
    const struct given *x = a, *y = b;
    int id = by_id(&x->id, &y->id);
    return id ? id : (x->t > y->t) - (x->t < y->t);
}

static int by_number(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int by_time(const void *a, const void *b) {
    const struct dose *x = a, *y = b;
    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value); // sums are rounded in one order
}

// The rate of one state whenever it changes.
static void add_rates(struct reader *x, const struct given *g, uint32_t count, uint32_t state) {
    double *times = arena_new(x->arena, double, 2 * count + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (g[i].rate > 0 && g[i].state == state) {
            times[n++] = g[i].t;
            times[n++] = g[i].until;
        }
    qsort(times, n, sizeof *times, by_number);
    uint32_t first = 0; // what ended before is not looked at again
    for (uint32_t k = 0; k < n; k++) {
        if (k + 1 < n && times[k + 1] == times[k])
            continue;
        double rate = 0;
        while (first < count && g[first].until <= times[k])
            first++;
        for (uint32_t i = first; i < count && g[i].t <= times[k]; i++)
            if (g[i].rate > 0 && g[i].state == state && g[i].until > times[k])
                rate += g[i].rate;
        *vec_push(x->arena, &x->doses) = (struct dose){
            .t = times[k], .value = rate, .target = x->model->states.count + x->slot[state] - 1};
    }
}

// The lines of one ID.
static void add_group(struct reader *x, const struct given *g, uint32_t count) {
    struct dose_group group = g->id;
    bool *done = arena_new(x->arena, bool, x->model->states.count);
    group.first = x->doses.count;
    for (uint32_t i = 0; i < count; i++) {
        bool infused = g[i].rate > 0;
        if (!infused && x->t0 - g[i].t <= g[i].early)
            *vec_push(x->arena, &x->doses) =
                (struct dose){.t = g[i].t, .value = g[i].amount, .target = g[i].state};
        if (!infused || done[g[i].state])
            continue;
        done[g[i].state] = true;
        add_rates(x, g, count, g[i].state);
    }
    group.count = x->doses.count - group.first;
    if (group.count)
        qsort(x->doses.items + group.first, group.count, sizeof *x->doses.items, by_time);
    *vec_push(x->arena, &x->groups) = group;
}

static void find_infused(struct reader *x) {
    x->slot = arena_new(x->arena, uint32_t, x->model->states.count);
    for (uint32_t i = 0; i < x->given.count; i++)
        if (x->given.items[i].rate > 0)
            x->slot[x->given.items[i].state] = 1;
    for (uint32_t i = 0; i < x->model->states.count; i++)
        if (x->slot[i]) {
            *vec_push(x->arena, &x->infused) = i;
            x->slot[i] = x->infused.count;
        }
}

// The name as it is comes before one that differs in case.
static void find_column(struct reader *x, enum column c) {
    const struct table *t = x->table;
    x->column[c] = table_find(t, names[c]);
    for (uint32_t i = 0; i < t->columns.count && !table_find(t, names[c]); i++) {
        if (!ascii_same(t->columns.items[i].name, names[c]))
            continue;
        if (x->column[c]) {
            report_error(x->report, SHOAL_INPUT, "%s: columns `%s` and `%s` could both be %s",
                         t->source, x->column[c]->name, t->columns.items[i].name, names[c]);
            x->failed = true;
        }
        x->column[c] = &t->columns.items[i];
    }
}

static void find_columns(struct reader *x) {
    const struct table *t = x->table;
    for (enum column c = 0; c < COLUMNS; c++)
        find_column(x, c);
    for (uint32_t i = 0; i < t->columns.count; i++) {
        bool used = false;
        for (int c = 0; c < COLUMNS; c++)
            used = used || x->column[c] == &t->columns.items[i];
        if (!used)
            report_note(x->report, "%s: column `%s` is not looked at", t->source,
                        t->columns.items[i].name);
    }
    for (int c = TIME; c <= AMT; c++)
        if (!x->column[c]) {
            report_error(x->report, SHOAL_INPUT, "%s: there is no column %s", t->source, names[c]);
            x->failed = true;
        }
}

// What is written in two ways and yet one number may be two IDs or one.
static bool is_other(const struct dose_group *a, const struct dose_group *b) {
    return a->written && b->written && strcmp(a->written, b->written) != 0;
}

static shoal_code two_ways(const char *source, const struct dose_group *a,
                           const struct dose_group *b, struct report *r) {
    return report_error(r, SHOAL_INPUT,
                        "%s: the IDs `%.40s` and `%.40s` are one number; write each ID in one way",
                        source, a->written, b->written);
}

shoal_code dose_list_make(const struct table *t, const struct model *m, double t0, bool f32,
                          struct arena *arena, struct dose_list *out, struct report *r) {
    struct reader x = {.table = t, .model = m, .arena = arena, .report = r, .t0 = t0, .f32 = f32};
    find_columns(&x);
    for (uint64_t row = 0; row < t->rows && x.column[TIME] && x.column[AMT]; row++)
        read_line(&x, row);
    if (x.failed)
        return SHOAL_INPUT;
    find_infused(&x);
    if (x.given.count) // a file of a few lines is sorted as it is, whatever the ID
        qsort(x.given.items, x.given.count, sizeof *x.given.items, by_id_and_time);
    *out = (struct dose_list){.source = arena_strdup(arena, t->source),
                              .earliest = (double)INFINITY,
                              .latest = -(double)INFINITY,
                              .for_all = !x.column[ID]};
    for (uint32_t i = 0; i < x.given.count; i++) {
        ++*(x.given.items[i].rate > 0 ? &out->infusions : &out->at_once);
        out->earliest = fmin(out->earliest, x.given.items[i].t);
        out->latest = fmax(out->latest, x.given.items[i].t);
    }
    for (uint32_t i = 0, n; i < x.given.count; i += n) {
        const struct dose_group *id = &x.given.items[i].id;
        for (n = 1; i + n < x.given.count && !by_id(id, &x.given.items[i + n].id); n++)
            if (is_other(id, &x.given.items[i + n].id))
                return two_ways(t->source, id, &x.given.items[i + n].id, r);
        add_group(&x, x.given.items + i, n);
    }
    out->dose = x.doses.items;
    out->count = x.doses.count;
    out->group = x.groups.items;
    out->groups = x.groups.count;
    out->plan = (struct dose_plan){.infusions = x.infused.count, .infused = x.infused.items};
    return SHOAL_OK;
}

// ---- Whose they are -----------------------------------------------------------------------------

static const struct table_column *id_column(const struct batch *b) {
    const struct table_column *found = NULL;
    for (uint32_t i = 0; i < batch_extras(b); i++) {
        const struct table_column *c = batch_extra(b, i);
        if (!strcmp(c->name, "_ID") || (!found && ascii_same(c->name, "_ID")))
            found = c;
    }
    return found;
}

static struct dose_group id_of(const struct batch *b, const struct table_column *c, uint64_t run) {
    if (!c)
        return (struct dose_group){.number = (double)run};
    uint64_t row = batch_table_row(b, run);
    if (!c->text)
        return (struct dose_group){.number = c->number[row]};
    return id_of_text(c->text[row] ? c->text[row] : "");
}

// A run whose ID is missing is nobody's.
static struct dose_group *find(const struct dose_list *l, const struct dose_group *id) {
    uint32_t low = 0, high = l->groups;
    if (isnan(id->number))
        return NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (by_id(&l->group[middle], id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->groups && !by_id(&l->group[low], id) ? &l->group[low] : NULL;
}

const struct dose_group *dose_list_find(const struct dose_list *l, const struct batch *b,
                                        uint64_t row) {
    if (l->for_all)
        return l->groups ? l->group : NULL;
    struct dose_group id = id_of(b, id_column(b), batch_run_of_row(b, row));
    return find(l, &id);
}

static shoal_code unknown_id(const struct dose_list *l, const struct dose_group *g, bool column,
                             struct report *r) {
    const char *where = column ? "not in column `_ID` of the batch" : "the number of no run";
    if (g->text)
        return report_error(r, SHOAL_INPUT, "%s: ID %.40s is %s", l->source, g->text, where);
    return report_error(r, SHOAL_INPUT, "%s: ID %.17g is %s", l->source, g->number, where);
}

shoal_code dose_list_check(const struct dose_list *l, const struct batch *b, double t0,
                           struct report *r) {
    const struct table_column *c = id_column(b);
    uint64_t runs = batch_runs(b);
    double from;
    if (l->earliest < t0 && batch_start(b, &from) == BATCH_AT_ANY_TIME)
        return report_error(r, SHOAL_INPUT, "%s: a dose at %.17g, before t0", l->source,
                            l->earliest);
    if (l->for_all)
        return SHOAL_OK;
    if (!c && batch_renumbers(b))
        return report_error(r, SHOAL_INPUT,
                            "%s: ID is the number of a run, but the runs that --from goes on with "
                            "had other numbers; give the batch a column `_ID` from the start",
                            l->source);
    struct dose_group *seen = calloc(l->groups + 1, sizeof *seen);
    shoal_code code = SHOAL_OK;
    if (!seen)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint64_t run = 0; c && run < runs && !code; run++) {
        struct dose_group id = id_of(b, c, run), *g = find(l, &id);
        if (g && is_other(&seen[g - l->group], &id))
            code = two_ways("column `_ID`", &seen[g - l->group], &id, r);
        if (g)
            seen[g - l->group] = id, seen[g - l->group].count = 1;
    }
    for (uint32_t i = 0; i < l->groups && !code; i++) {
        double n = l->group[i].number;
        bool there =
            c ? seen[i].count : !l->group[i].text && n >= 0 && n == floor(n) && n < (double)runs;
        if (!there)
            code = unknown_id(l, &l->group[i], c != NULL, r);
    }
    free(seen);
    return code;
}
