// SPDX-License-Identifier: MIT
// The batch: inputs, how they combine into runs, and the value of (run, input).
//
// Inputs that advance together are a group: all columns of the table, a sweep or some zipped ones,
// all samples. Groups are ordered slowest first, and a run's point in a group is
// run / inner % count, with `inner` the product of the counts behind it. batch_check makes the
// groups out of what was given; before it nothing depends on the order of the calls.
// A call that fails leaves the batch as it was.
#include "run/batch.h"

#include "run/batch_spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum input_kind { INPUT_TABLE, INPUT_SWEEP, INPUT_SAMPLE, INPUT_KINDS };

struct input {
    struct spec_name name;
    const char *source; // who gave it, for messages
    enum input_kind kind;
    uint32_t group;
    const double *column; // INPUT_TABLE: [rows]
    struct sweep sweep;
    struct sample sample;
    uint64_t *prefix; // of the sample, with sobol
};

struct group {
    uint64_t count, inner;
    const struct input *first; // for messages
};

// Consecutive runs that are computed, and the row of the first.
struct part {
    uint64_t first, end, row;
};

// What is known about each symbol of the model.
struct slot {
    uint32_t position; // in model.states or model.pars
    uint32_t input;    // + 1; 0: none
    uint32_t zip;      // + 1; 0: none
};

struct batch {
    struct arena arena;
    struct model *model;
    struct slot *slots; // [model.symbols.count]
    vec(struct input) inputs;
    vec(struct batch_column) extras;
    const char *table; // name of the table, NULL: none
    uint64_t table_rows;
    uint32_t zips;
    enum sampler sampler;
    uint64_t samples, seed; // samples 0: not given
    struct spec_ranges only;
    bool noted; // batch_check has given its notes
    // Made by batch_check.
    vec(struct group) groups;
    vec(uint32_t) order; // of the inputs: table, sweeps, samples
    vec(struct part) parts;
    uint64_t runs, rows;
};

struct batch *batch_new(struct model *m) {
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->model = m;
    b->sampler = SAMPLER_LHS;
    b->slots = arena_new(&b->arena, struct slot, m->symbols.count);
    if (!b->slots) {
        free(b);
        return NULL;
    }
    for (uint32_t k = 0; k < m->states.count; k++)
        b->slots[m->states.items[k]].position = k;
    for (uint32_t k = 0; k < m->pars.count; k++)
        b->slots[m->pars.items[k]].position = k;
    return b;
}

void batch_free(struct batch *b) {
    if (!b)
        return;
    arena_free(&b->arena);
    free(b);
}

// ---- Adding -------------------------------------------------------------------------------------

typedef shoal_code step(struct batch *b, const void *args, struct report *r);

// Runs a step; when it fails, also for lack of memory, takes back the inputs it added.
static shoal_code guard(struct batch *b, step *call, const void *args, struct report *r) {
    uint32_t inputs = b->inputs.count, extras = b->extras.count;
    jmp_buf oom;
    shoal_code code;
    b->arena.oom = &oom;
    if (setjmp(oom))
        code = report_error(r, SHOAL_MEMORY, "not enough memory for the batch");
    else
        code = call(b, args, r);
    b->arena.oom = NULL;
    b->noted = false;
    if (code == SHOAL_OK)
        return code;
    while (b->inputs.count > inputs)
        b->slots[b->inputs.items[--b->inputs.count].name.symbol].input = 0;
    b->extras.count = extras;
    return code;
}

static shoal_code add_input(struct batch *b, struct input input, struct report *r) {
    struct slot *slot = &b->slots[input.name.symbol];
    if (slot->input) {
        const char *other = b->inputs.items[slot->input - 1].source;
        if (!strcmp(other, input.source))
            return report_error(r, SHOAL_INPUT, "%s gives %s twice", other, input.name.text);
        return report_error(r, SHOAL_INPUT, "%s is given by both %s and %s; keep one of them",
                            input.name.text, other, input.source);
    }
    *vec_push(&b->arena, &b->inputs) = input;
    slot->input = b->inputs.count;
    return SHOAL_OK;
}

static shoal_code add_sweep(struct batch *b, const void *text, struct report *r) {
    struct input input = {.source = "--sweep", .kind = INPUT_SWEEP};
    struct spec s;
    spec_open(&s, b->model, &b->arena, input.source, text, r);
    shoal_code code = spec_sweep(&s, &input.name, &input.sweep);
    return code == SHOAL_OK ? add_input(b, input, r) : code;
}

shoal_code batch_sweep(struct batch *b, const char *spec, struct report *r) {
    return guard(b, add_sweep, spec, r);
}

static shoal_code add_sample(struct batch *b, const void *text, struct report *r) {
    struct input input = {.source = "--sample", .kind = INPUT_SAMPLE};
    struct spec s;
    spec_open(&s, b->model, &b->arena, input.source, text, r);
    shoal_code code = spec_sample(&s, &input.name, &input.sample);
    return code == SHOAL_OK ? add_input(b, input, r) : code;
}

shoal_code batch_sample(struct batch *b, const char *spec, struct report *r) {
    return guard(b, add_sample, spec, r);
}

shoal_code batch_sampler(struct batch *b, enum sampler sampler, uint64_t runs, uint64_t seed,
                         struct report *r) {
    (void)r;
    b->sampler = sampler;
    b->samples = runs;
    b->seed = seed;
    b->noted = false;
    return SHOAL_OK;
}

static shoal_code add_zip(struct batch *b, const void *text, struct report *r) {
    struct spec s;
    struct spec_name name;
    shoal_code code;
    vec(uint32_t) symbols = {0};
    spec_open(&s, b->model, &b->arena, "--zip", text, r);
    while (spec_next_name(&s, &name, &code)) {
        bool again = b->slots[name.symbol].zip != 0;
        for (uint32_t k = 0; k < symbols.count && !again; k++)
            again = symbols.items[k] == name.symbol;
        if (again)
            return report_error(r, SHOAL_INPUT, "--zip names %s twice", name.text);
        *vec_push(&b->arena, &symbols) = name.symbol;
    }
    if (code != SHOAL_OK)
        return code;
    if (symbols.count < 2)
        return report_error(r, SHOAL_INPUT, "--zip pairs sweeps: give two names or more, as a,b");
    b->zips++;
    for (uint32_t k = 0; k < symbols.count; k++)
        b->slots[symbols.items[k]].zip = b->zips;
    return SHOAL_OK;
}

shoal_code batch_zip(struct batch *b, const char *names, struct report *r) {
    return guard(b, add_zip, names, r);
}

static shoal_code set_only(struct batch *b, const void *text, struct report *r) {
    struct spec s;
    spec_open(&s, b->model, &b->arena, "--only-runs", text, r);
    return spec_runs(&s, &b->only);
}

shoal_code batch_only(struct batch *b, const char *runs, struct report *r) {
    return guard(b, set_only, runs, r);
}

// ---- Tables -------------------------------------------------------------------------------------

enum { TABLE_ERRORS_MOST = 100 };

// Columns of a result file that are no inputs.
static const char *const ignored[] = {"run", "t", "status"};
enum { IGNORED = sizeof ignored / sizeof *ignored };

static bool is_ignored(const char *name) {
    for (uint32_t k = 0; k < IGNORED; k++)
        if (!strcmp(name, ignored[k]))
            return true;
    return false;
}

static bool is_symbol(struct batch *b, const char *name) {
    return model_find(b->model, name, "", NULL) != UINT32_MAX;
}

// The name of the model a column stands for: result files call `run` of a model `run_`.
static const char *column_symbol(struct batch *b, const char *name) {
    size_t length = strlen(name);
    if (length < 2 || name[length - 1] != '_' || is_symbol(b, name))
        return name;
    const char *plain = arena_strndup(&b->arena, name, length - 1);
    return is_ignored(plain) && is_symbol(b, plain) ? plain : name;
}

static shoal_code check_finite(const char *source, const char *name, const double *values,
                               uint64_t rows, struct report *r) {
    for (uint64_t k = 0; k < rows; k++)
        if (!isfinite(values[k]))
            return report_error(r, SHOAL_INPUT,
                                "%s: column %s, row %llu (counted from 0): %s is not a finite number",
                                source, name, (unsigned long long)k,
                                isnan(values[k]) ? "nan" : "an infinite value");
    return SHOAL_OK;
}

static double *copy_numbers(struct batch *b, const double *values, uint64_t rows) {
    double *copy = arena_new(&b->arena, double, rows);
    memcpy(copy, values, (size_t)rows * sizeof *copy);
    return copy;
}

static shoal_code add_column(struct batch *b, const struct batch_table *t,
                             const struct batch_column *c, struct report *r) {
    struct input input = {.source = b->table, .kind = INPUT_TABLE};
    const char *name = column_symbol(b, c->name);
    shoal_code code = spec_resolve(b->model, &b->arena, name, t->source, &input.name, r);
    if (code != SHOAL_OK)
        return code;
    if (!c->number)
        return report_error(r, SHOAL_INPUT,
                            "%s: column %s holds text, not numbers; a column that is only to be "
                            "copied has a name that starts with `_`",
                            t->source, input.name.text);
    code = check_finite(t->source, input.name.text, c->number, t->rows, r);
    if (code != SHOAL_OK)
        return code;
    input.column = copy_numbers(b, c->number, t->rows);
    return add_input(b, input, r);
}

static void add_extra(struct batch *b, const struct batch_table *t, const struct batch_column *c) {
    struct batch_column copy = {.name = arena_strdup(&b->arena, c->name)};
    if (c->number) {
        copy.number = copy_numbers(b, c->number, t->rows);
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
            return report_error(r, SHOAL_INPUT, "%s gives %s twice", b->table, names[k]);
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

static shoal_code add_columns(struct batch *b, const struct batch_table *t, struct report *r) {
    uint32_t inputs = b->inputs.count, errors = 0;
    for (uint32_t k = 0; k < t->columns.count && errors < TABLE_ERRORS_MOST; k++) {
        const struct batch_column *c = &t->columns.items[k];
        if (c->name[0] == '_')
            add_extra(b, t, c);
        else if (!is_ignored(c->name))
            errors += add_column(b, t, c, r) != SHOAL_OK;
        else if (is_symbol(b, c->name))
            report_note(r, "%s: column %s is ignored, as in a result file; for the model's %s call "
                           "it %s_", t->source, c->name, c->name, c->name);
    }
    if (errors)
        return SHOAL_INPUT;
    if (b->inputs.count == inputs)
        return report_error(r, SHOAL_INPUT,
                            "%s has no column named after a parameter or, as x(0), an initial value",
                            t->source);
    return check_extras(b, r);
}

static shoal_code use_table(struct batch *b, const void *table, struct report *r) {
    const struct batch_table *t = table;
    shoal_code code = check_rows(b, t->source, t->rows, r);
    if (code != SHOAL_OK)
        return code;
    const char *before = b->table;
    b->table = arena_strdup(&b->arena, t->source);
    code = add_columns(b, t, r);
    if (code == SHOAL_OK)
        b->table_rows = t->rows;
    else
        b->table = before;
    return code;
}
