// SPDX-License-Identifier: MIT
// The batch: inputs, how they combine into runs, and the value of (run, input).
//
// Inputs that advance together are a group: all columns of the table, a sweep or some zipped ones,
// all samples. Groups are ordered slowest first, and a run's point in a group is
// run / inner % count, with `inner` the product of the counts behind it. batch_check makes the
// groups out of what was given; before it nothing depends on the order of the calls.
// A call that fails leaves the batch as it was.
#include "ode/batch/batch.h"

#include "ode/batch/batch_spec.h"
#include "result/result_names.h"

#include <stdlib.h>
#include <string.h>

enum input_kind { INPUT_TABLE, INPUT_SWEEP, INPUT_SAMPLE, INPUT_KINDS };

struct input {
    struct spec_name name;
    const char *source; // who gave it, for messages
    enum input_kind kind;
    uint32_t group;
    const double *column;  // INPUT_TABLE: [rows], or NULL and then
    const float *column32; // [rows]
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
    vec(struct table_column) extras;
    const char *table; // name of the table, NULL: none
    uint64_t table_rows;
    uint32_t zips;
    enum sampler sampler;
    uint64_t samples, seed; // samples 0: not given
    struct spec_ranges only;
    bool noted; // batch_check has given its notes
    bool fresh; // nothing was added since batch_check
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
    const char *table = b->table;
    jmp_buf oom;
    shoal_code code;
    b->arena.oom = &oom;
    if (setjmp(oom))
        code = report_error(r, SHOAL_MEMORY, "not enough memory for the batch");
    else
        code = call(b, args, r);
    b->arena.oom = NULL;
    b->noted = b->fresh = false;
    if (code == SHOAL_OK)
        return code;
    while (b->inputs.count > inputs)
        b->slots[b->inputs.items[--b->inputs.count].name.symbol].input = 0;
    b->extras.count = extras;
    b->table = table;
    return code;
}

static shoal_code add_input(struct batch *b, struct input input, struct report *r) {
    struct slot *slot = &b->slots[input.name.symbol];
    if (slot->input) {
        const char *other = b->inputs.items[slot->input - 1].source;
        if (!strcmp(other, input.source))
            return report_error(r, SHOAL_INPUT, "%s gives `%s` twice", other, input.name.text);
        return report_error(r, SHOAL_INPUT, "`%s` is given by both %s and %s; keep one of them",
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

static void changed(struct batch *b) { b->noted = b->fresh = false; }

void batch_set_sampler(struct batch *b, enum sampler sampler) {
    b->sampler = sampler;
    changed(b);
}

void batch_set_samples(struct batch *b, uint64_t count) {
    b->samples = count;
    changed(b);
}

void batch_set_seed(struct batch *b, uint64_t seed) {
    b->seed = seed;
    changed(b);
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
            return report_error(r, SHOAL_INPUT, "--zip names `%s` twice", name.text);
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

static const struct symbol *lookup(struct batch *b, const char *name) {
    uint32_t symbol = model_find(b->model, name, "", NULL);
    return symbol == UINT32_MAX ? NULL : &b->model->symbols.items[symbol];
}

static bool is_parameter(struct batch *b, const char *name) {
    const struct symbol *symbol = lookup(b, name);
    return symbol && symbol->kind == SYMBOL_PAR;
}

// The name of the model a column stands for: result files call a parameter `run` of a model `run_`,
// or `run__` where that is taken.
static const char *column_symbol(struct batch *b, const char *name) {
    if (lookup(b, name))
        return name;
    for (size_t length = strlen(name); length > 1 && name[length - 1] == '_'; length--) {
        const char *plain = arena_strndup(&b->arena, name, length - 1);
        if (result_name_is_ours(plain) && is_parameter(b, plain))
            return plain;
    }
    return name;
}

static double *copy_numbers(struct batch *b, const double *values, uint64_t rows) {
    double *copy = arena_new(&b->arena, double, rows);
    memcpy(copy, values, (size_t)rows * sizeof *copy);
    return copy;
}

static shoal_code add_column(struct batch *b, const struct table *t, const struct table_column *c,
                             struct report *r) {
    struct input input = {.source = b->table, .kind = INPUT_TABLE};
    const char *name = column_symbol(b, c->name);
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
    input.column = t->lent || !c->number ? c->number : copy_numbers(b, c->number, t->rows);
    input.column32 = c->number32;
    return add_input(b, input, r);
}

static void add_extra(struct batch *b, const struct table *t, const struct table_column *c) {
    struct table_column copy = {.name = arena_strdup(&b->arena, c->name)};
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
            add_extra(b, t, c);
        else if (!result_name_is_no_input(c->name))
            errors += add_column(b, t, c, r) != SHOAL_OK;
        else if (is_parameter(b, c->name))
            report_note(r,
                        "%s: column `%s` is ignored, as in a result file; to give the model's "
                        "parameter, call it `%s_`",
                        t->source, c->name, c->name);
    }
    if (errors)
        return SHOAL_INPUT;
    if (b->inputs.count == inputs)
        return report_error(
            r, SHOAL_INPUT,
            "%s has no column named after a parameter or, as x(0), an initial value", t->source);
    note_states(b, t, r);
    return check_extras(b, r);
}

static shoal_code use_table(struct batch *b, const void *table, struct report *r) {
    const struct table *t = table;
    shoal_code code = check_rows(b, t->source, t->rows, r);
    if (code != SHOAL_OK)
        return code;
    b->table = arena_strdup(&b->arena, t->source);
    b->table_rows = t->rows;
    return add_columns(b, t, r);
}

shoal_code batch_use_table(struct batch *b, const struct table *t, struct report *r) {
    return guard(b, use_table, t, r);
}

static shoal_code add_values(struct batch *b, const void *column, struct report *r) {
    const struct table *t = column;
    shoal_code code = check_rows(b, t->source, t->rows, r);
    if (code != SHOAL_OK)
        return code;
    b->table = t->source;
    b->table_rows = t->rows;
    return add_column(b, t, t->columns.items, r);
}

static shoal_code add_array(struct batch *b, struct table_column column, uint64_t count, bool lent,
                            struct report *r) {
    struct table t = {.source = "an array of values", .rows = count, .lent = lent};
    t.columns.items = &column;
    t.columns.count = 1;
    return guard(b, add_values, &t, r);
}

shoal_code batch_add_values(struct batch *b, const char *name, const double *values, uint64_t count,
                            struct report *r) {
    return add_array(b, (struct table_column){.name = name, .number = values}, count, false, r);
}

shoal_code batch_lend_values(struct batch *b, const char *name, const void *values, bool f32,
                             uint64_t count, struct report *r) {
    struct table_column column = {.name = name};
    if (f32)
        column.number32 = values;
    else
        column.number = values;
    return add_array(b, column, count, true, r);
}

// ---- Checking -----------------------------------------------------------------------------------

// Where the two models have the same names, a position in a list means the same in both.
static const struct symbol *symbol_in(const struct model *m, const struct batch *b,
                                      const struct spec_name *name) {
    uint32_t position = b->slots[name->symbol].position;
    return &m->symbols.items[name->initial ? m->states.items[position] : m->pars.items[position]];
}

shoal_code batch_check_set(const struct batch *b, const struct model *m, struct report *r) {
    shoal_code code = SHOAL_OK;
    for (uint32_t k = 0; k < b->inputs.count; k++) {
        const struct input *in = &b->inputs.items[k];
        if (symbol_in(m, b, &in->name)->set)
            code =
                report_error(r, SHOAL_INPUT, "`%s` is given by both --set and %s; keep one of them",
                             in->name.text, in->source);
    }
    return code;
}

static shoal_code check_samples(const struct batch *b, uint32_t sampled, struct report *r) {
    if (sampled && b->samples == 0)
        return report_error(r, SHOAL_INPUT, "--sample needs --runs N, how many samples to take");
    if (!sampled && b->samples)
        return report_error(r, SHOAL_INPUT,
                            "--runs needs --sample, which says what differs from run to run; a "
                            "sweep or a table knows its own number of runs");
    if (!sampled || b->sampler != SAMPLER_SOBOL)
        return SHOAL_OK;
    if (sampled > SOBOL_DIMENSIONS)
        return report_error(r, SHOAL_INPUT,
                            "the Sobol sequence is there for %d names, but %u are sampled; use "
                            "--sampler lhs",
                            SOBOL_DIMENSIONS, sampled);
    if (b->samples > UINT64_C(1) << SOBOL_BITS)
        return report_error(r, SHOAL_INPUT,
                            "the Sobol sequence has 2^%d points, fewer than --runs; use --sampler "
                            "random",
                            SOBOL_BITS);
    if ((b->samples & (b->samples - 1)) && !b->noted)
        report_note(r, "Sobol points are most even when --runs is a power of two; %llu is not",
                    (unsigned long long)b->samples);
    return SHOAL_OK;
}

static uint32_t add_group(struct batch *b, uint64_t count, const struct input *first) {
    *vec_push(&b->arena, &b->groups) = (struct group){.count = count, .first = first};
    return b->groups.count - 1;
}

// Zipped sweeps share the group of the first of them.
static shoal_code group_sweep(struct batch *b, struct input *in, uint32_t *group_of_zip,
                              struct report *r) {
    uint32_t zip = b->slots[in->name.symbol].zip;
    if (zip == 0 || group_of_zip[zip] == UINT32_MAX) {
        in->group = add_group(b, in->sweep.count, in);
        group_of_zip[zip] = in->group;
        return SHOAL_OK;
    }
    in->group = group_of_zip[zip];
    const struct group *g = &b->groups.items[in->group];
    if (g->count == in->sweep.count)
        return SHOAL_OK;
    return report_error(
        r, SHOAL_INPUT,
        "--zip pairs `%s` with `%s`, but the first has %llu values and the second %llu",
        g->first->name.text, in->name.text, (unsigned long long)g->count,
        (unsigned long long)in->sweep.count);
}

static void prepare_sample(struct batch *b, struct input *in, uint32_t dimension) {
    if (b->sampler == SAMPLER_SOBOL) {
        if (!in->prefix)
            in->prefix = arena_new(&b->arena, uint64_t, SOBOL_BITS);
        sobol_prefixes(dimension, in->prefix);
    }
    sample_init(&in->sample, b->sampler, b->samples, b->seed, in->name.text, in->prefix);
}

// Inputs in the order of their groups, slowest first.
static shoal_code make_groups(struct batch *b, uint32_t counts[INPUT_KINDS], struct report *r) {
    shoal_code code = SHOAL_OK;
    uint32_t *group_of_zip = arena_new(&b->arena, uint32_t, b->zips + 1);
    memset(group_of_zip, 0xff, (b->zips + 1) * sizeof *group_of_zip);
    b->groups.count = b->order.count = 0;
    for (int kind = 0; kind < INPUT_KINDS; kind++)
        for (uint32_t k = 0; k < b->inputs.count; k++) {
            struct input *in = &b->inputs.items[k];
            if ((int)in->kind != kind)
                continue;
            *vec_push(&b->arena, &b->order) = k;
            if (kind == INPUT_SWEEP) {
                shoal_code bad = group_sweep(b, in, group_of_zip, r);
                code = bad ? bad : code;
            } else {
                uint64_t count = kind == INPUT_TABLE ? b->table_rows : b->samples;
                in->group = counts[kind] ? b->groups.count - 1 : add_group(b, count, in);
            }
            if (kind == INPUT_SAMPLE && b->samples)
                prepare_sample(b, in, counts[kind] % SOBOL_DIMENSIONS);
            counts[kind]++;
        }
    return code;
}

static shoal_code check_zips(const struct batch *b, struct report *r) {
    shoal_code code = SHOAL_OK;
    for (uint32_t k = 0; k < b->model->symbols.count && b->zips; k++) {
        const struct slot *slot = &b->slots[k];
        const struct symbol *symbol = &b->model->symbols.items[k];
        if (slot->zip && (!slot->input || b->inputs.items[slot->input - 1].kind != INPUT_SWEEP))
            code = report_error(r, SHOAL_INPUT, "--zip names `%s%s`, which has no --sweep",
                                symbol->name, symbol->kind == SYMBOL_STATE ? "(0)" : "");
    }
    return code;
}

static shoal_code count_runs(struct batch *b, struct report *r) {
    uint64_t runs = 1;
    for (uint32_t k = b->groups.count; k-- > 0;) {
        b->groups.items[k].inner = runs;
        if (__builtin_mul_overflow(runs, b->groups.items[k].count, &runs) || runs > INT64_MAX)
            return report_error(r, SHOAL_INPUT, "the batch has more than 2^63 runs");
    }
    b->runs = runs;
    return SHOAL_OK;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

static shoal_code make_parts(struct batch *b, struct report *r) {
    b->parts.count = 0;
    struct spec_range all = {0, b->runs};
    struct spec_ranges ranges = b->only.count ? b->only : (struct spec_ranges){&all, 1};
    struct spec_range tail = ranges.items[ranges.count - 1];
    uint64_t last = tail.end == SPEC_OPEN ? tail.first : tail.end - 1, rows = 0;
    if (last >= b->runs)
        return report_error(r, SHOAL_INPUT,
                            "--only-runs: there is no run %llu; the batch has %llu, counted from 0",
                            (unsigned long long)last, (unsigned long long)b->runs);
    for (uint32_t k = 0; k < ranges.count; k++) {
        struct spec_range range = ranges.items[k];
        range.end = smaller(range.end, b->runs);
        *vec_push(&b->arena, &b->parts) = (struct part){range.first, range.end, rows};
        rows += range.end - range.first;
    }
    b->rows = rows;
    return SHOAL_OK;
}

static shoal_code check(struct batch *b, const void *args, struct report *r) {
    (void)args;
    uint32_t counts[INPUT_KINDS] = {0};
    b->runs = b->rows = 0; // of a batch that is wrong
    shoal_code set = batch_check_set(b, b->model, r), zips = check_zips(b, r),
               groups = make_groups(b, counts, r);
    shoal_code samples = check_samples(b, counts[INPUT_SAMPLE], r);
    if (set || zips || groups || samples)
        return SHOAL_INPUT;
    shoal_code code = count_runs(b, r);
    return code == SHOAL_OK ? make_parts(b, r) : code;
}

shoal_code batch_check(struct batch *b, struct report *r) {
    bool noted = b->noted;
    shoal_code code = guard(b, check, NULL, r);
    b->noted = noted || (code == SHOAL_OK && r);
    b->fresh = true;
    return code;
}

void batch_refresh(struct batch *b) {
    if (!b->fresh)
        batch_check(b, NULL);
}

// ---- Values -------------------------------------------------------------------------------------

uint64_t batch_runs(const struct batch *b) { return b->runs; }

uint64_t batch_rows(const struct batch *b) { return b->rows; }

uint32_t batch_inputs(const struct batch *b) { return b->order.count; }

static const struct input *input_at(const struct batch *b, uint32_t input) {
    return &b->inputs.items[b->order.items[input]];
}

const char *batch_input_name(const struct batch *b, uint32_t input) {
    return input_at(b, input)->name.text;
}

struct batch_target batch_input_target(const struct batch *b, uint32_t input) {
    const struct spec_name *name = &input_at(b, input)->name;
    return (struct batch_target){name->initial, b->slots[name->symbol].position};
}

// The part that holds a row.
static const struct part *part_of_row(const struct batch *b, uint64_t row) {
    uint32_t low = 0, high = b->parts.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (b->parts.items[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return &b->parts.items[low];
}

void batch_fill_runs(const struct batch *b, uint64_t first_row, uint32_t rows, uint64_t *out) {
    for (uint32_t i = 0; i < rows;) {
        const struct part *p = part_of_row(b, first_row + i);
        uint64_t run = p->first + (first_row + i - p->row), left = p->end - run;
        for (; i < rows && left; left--)
            out[i++] = run++;
    }
}

uint64_t batch_run_of_row(const struct batch *b, uint64_t row) {
    const struct part *p = part_of_row(b, row);
    return p->first + (row - p->row);
}

// Values of consecutive points of the input's group.
static void fill_points(const struct input *in, uint64_t first, uint64_t n, double *out) {
    switch (in->kind) {
    case INPUT_TABLE:
        if (in->column)
            memcpy(out, in->column + first, (size_t)n * sizeof *out);
        for (uint64_t i = 0; !in->column && i < n; i++)
            out[i] = (double)in->column32[first + i];
        break;
    case INPUT_SWEEP:
        sweep_values(&in->sweep, first, n, out);
        break;
    case INPUT_SAMPLE:
    default:
        sample_values(&in->sample, first, n, out);
    }
}

// Each point holds for `inner` runs; points are computed by the block.
static void fill_spread(const struct input *in, const struct group *g, uint64_t run, uint64_t n,
                        double *out) {
    enum { BLOCK = 256 };
    double block[BLOCK];
    uint64_t point = run / g->inner % g->count, used = run % g->inner;
    while (n) {
        uint64_t points = smaller(g->count - point, smaller(BLOCK, (n - 1) / g->inner + 2));
        fill_points(in, point, points, block);
        for (uint64_t k = 0; k < points && n; k++) {
            uint64_t length = smaller(n, g->inner - used);
            for (uint64_t i = 0; i < length; i++)
                out[i] = block[k];
            out += length;
            n -= length;
            used = 0;
        }
        point = (point + points) % g->count;
    }
}

static void fill_runs(const struct input *in, const struct group *g, uint64_t run, uint64_t n,
                      double *out) {
    uint64_t period = smaller(n, g->inner * g->count); // then all repeats
    if (g->inner > 1) {
        fill_spread(in, g, run, period, out);
    } else {
        uint64_t point = run % g->count, first = smaller(period, g->count - point);
        fill_points(in, point, first, out);
        fill_points(in, 0, period - first, out + first);
    }
    for (uint64_t done = period; done < n; done *= 2)
        memcpy(out + done, out, (size_t)smaller(done, n - done) * sizeof *out);
}

void batch_fill(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                double *out) {
    const struct input *in = input_at(b, input);
    uint64_t row = first_row, end = first_row + rows;
    for (const struct part *p = part_of_row(b, row); row < end; p++) {
        uint64_t run = p->first + (row - p->row), n = smaller(end - row, p->end - run);
        fill_runs(in, &b->groups.items[in->group], run, n, out);
        out += n;
        row += n;
    }
}

// Floats of a table that is all there is, as they are.
static void copy_f32(const struct batch *b, const struct input *in, uint64_t row, uint64_t end,
                     float *out) {
    for (const struct part *p = part_of_row(b, row); row < end; p++) {
        uint64_t run = p->first + (row - p->row), n = smaller(end - row, p->end - run);
        memcpy(out, in->column32 + run, (size_t)n * sizeof *out);
        out += n;
        row += n;
    }
}

void batch_fill_f32(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                    float *out) {
    enum { BLOCK = 1024 };
    double block[BLOCK];
    const struct input *in = input_at(b, input);
    if (in->column32 && b->groups.count == 1) { // then a run is a row of the table
        copy_f32(b, in, first_row, first_row + rows, out);
        return;
    }
    for (uint32_t done = 0; done < rows;) {
        uint32_t n = rows - done < BLOCK ? rows - done : BLOCK;
        batch_fill(b, input, first_row + done, n, block);
        for (uint32_t i = 0; i < n; i++)
            out[done + i] = (float)block[i];
        done += n;
    }
}

double batch_value(const struct batch *b, uint32_t input, uint64_t run) {
    const struct input *in = input_at(b, input);
    const struct group *g = &b->groups.items[in->group];
    double value;
    fill_points(in, run / g->inner % g->count, 1, &value);
    return value;
}

uint32_t batch_extras(const struct batch *b) { return b->extras.count; }

const struct table_column *batch_extra(const struct batch *b, uint32_t extra) {
    return &b->extras.items[extra];
}

uint64_t batch_table_row(const struct batch *b, uint64_t run) {
    return b->table ? run / b->groups.items[0].inner : 0;
}

void batch_describe(const struct batch *b, struct buf *out) {
    buf_putc(out, '[');
    for (uint32_t g = 0; g < b->groups.count; g++) {
        buf_puts(out, g ? ",{\"names\":[" : "{\"names\":[");
        const char *comma = "";
        for (uint32_t k = 0; k < b->order.count; k++) {
            if (input_at(b, k)->group != g)
                continue;
            buf_puts(out, comma);
            buf_json(out, batch_input_name(b, k));
            comma = ",";
        }
        buf_printf(out, "],\"count\":%llu}", (unsigned long long)b->groups.items[g].count);
    }
    buf_putc(out, ']');
}
