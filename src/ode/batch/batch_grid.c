// SPDX-License-Identifier: MIT
// How the inputs combine: groups, their product, which is the number of runs, and the runs that are
// taken out of it.
#include "ode/batch/batch_data.h"

#include <stdlib.h>
#include <string.h>

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

static shoal_code check_per_row(const struct batch *b, uint32_t sampled, struct report *r) {
    if (!b->table)
        return report_error(r, SHOAL_INPUT,
                            "--sample-per-row draws a sample for each row of a batch: give --batch "
                            "FILE");
    if (!sampled)
        return report_error(r, SHOAL_INPUT, "--sample-per-row needs --sample, which says of what");
    if (b->samples)
        return report_error(r, SHOAL_INPUT,
                            "--sample-per-row draws one sample for each of the %llu rows of %s: "
                            "leave --runs out",
                            (unsigned long long)b->table_rows, b->table);
    return SHOAL_OK;
}

// How many samples there are.
static uint64_t count_samples(const struct batch *b) {
    return b->per_row ? b->table_rows : b->samples;
}

static shoal_code check_samples(const struct batch *b, uint32_t sampled, struct report *r) {
    if (b->per_row) {
        shoal_code code = check_per_row(b, sampled, r);
        if (code != SHOAL_OK)
            return code;
    }
    if (sampled && count_samples(b) == 0)
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

// `first` is for messages about sweeps.
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

// All of a kind are one group: the table is the first there is, and samples are the last, or a part
// of it.
static uint32_t group_rest(struct batch *b, const struct input *in, bool first) {
    if (in->kind == INPUT_TABLE || (b->per_row && b->table))
        return 0;
    return first ? add_group(b, b->samples, in) : b->groups.count - 1;
}

static void prepare_sample(struct batch *b, struct input *in, uint32_t dimension) {
    if (b->sampler == SAMPLER_SOBOL) {
        if (!in->prefix)
            in->prefix = arena_new(&b->arena, uint64_t, SOBOL_BITS);
        sobol_prefixes(dimension, in->prefix);
    }
    sample_init(&in->sample, b->sampler, count_samples(b), b->seed, in->name.text, in->prefix);
}

// Inputs in the order of their groups, slowest first.
static shoal_code make_groups(struct batch *b, uint32_t counts[INPUT_KINDS], struct report *r) {
    shoal_code code = SHOAL_OK;
    uint32_t *group_of_zip = arena_new(&b->arena, uint32_t, b->zips + 1);
    memset(group_of_zip, 0xff, (b->zips + 1) * sizeof *group_of_zip);
    b->groups.count = b->order.count = 0;
    if (b->table)
        add_group(b, b->table_rows, NULL);
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
                in->group = group_rest(b, in, counts[kind] == 0);
            }
            if (kind == INPUT_SAMPLE && count_samples(b))
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
    b->rows = b->all_rows = rows;
    b->apart = 0;
    return SHOAL_OK;
}

// Rows from `first` to `end` of those in the parts.
static void cut_parts(struct batch *b, uint64_t first, uint64_t end) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < b->parts.count; k++) {
        struct part p = b->parts.items[k];
        uint64_t begin = p.row > first ? p.row : first;
        uint64_t behind = smaller(p.row + (p.end - p.first), end);
        if (begin >= behind)
            continue;
        b->parts.items[kept++] =
            (struct part){p.first + (begin - p.row), p.first + (behind - p.row), begin - first};
    }
    b->parts.count = kept;
    b->rows = end - first;
}

static uint64_t border(uint64_t rows, uint64_t shard, uint64_t shards) {
    return (uint64_t)((unsigned __int128)rows * shard / shards);
}

static shoal_code take_shard(struct batch *b, struct report *r) {
    if (!b->shards)
        return SHOAL_OK;
    if (b->all_rows < b->shards)
        return report_error(r, SHOAL_INPUT,
                            "--shard: there are %llu runs, fewer than the %llu shards",
                            (unsigned long long)b->all_rows, (unsigned long long)b->shards);
    if (!b->strided) {
        cut_parts(b, border(b->all_rows, b->shard, b->shards),
                  border(b->all_rows, b->shard + 1, b->shards));
        return SHOAL_OK;
    }
    b->apart = b->shards;
    b->rows = (b->all_rows - b->shard + b->shards - 1) / b->shards;
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
    if (code == SHOAL_OK)
        code = make_parts(b, r);
    return code == SHOAL_OK ? take_shard(b, r) : code;
}

shoal_code batch_check(struct batch *b, struct report *r) {
    bool noted = b->noted;
    shoal_code code = batch_guard(b, check, NULL, r);
    b->noted = noted || (code == SHOAL_OK && r);
    b->fresh = true;
    return code;
}

shoal_code batch_check_table(const struct batch *b, bool chosen, struct report *r) {
    bool differ = !b->table || b->per_row || chosen;
    for (uint32_t k = 0; k < b->inputs.count; k++)
        differ = differ || b->inputs.items[k].kind == INPUT_TABLE;
    return differ ? SHOAL_OK
                  : report_error(r, SHOAL_INPUT,
                                 "%s has no column named after a parameter or, as x(0), an initial "
                                 "value, and nothing else (--doses, --driver) looks at the others",
                                 b->table);
}

void batch_refresh(struct batch *b) {
    if (!b->fresh)
        batch_check(b, NULL);
}

// ---- Looking ------------------------------------------------------------------------------------

uint64_t batch_runs(const struct batch *b) { return b->runs; }

uint64_t batch_rows(const struct batch *b) { return b->rows; }

uint64_t batch_all_rows(const struct batch *b) { return b->all_rows; }

bool batch_shard(const struct batch *b, uint64_t *shard, uint64_t *shards, bool *strided) {
    *shard = b->shard;
    *shards = b->shards;
    *strided = b->strided;
    return b->shards != 0;
}

// A copy that has other rows, with room for so many parts of them, which are none so far.
static struct batch *other_rows(const struct batch *b, uint32_t parts) {
    struct batch *copy = malloc(sizeof *copy + parts * sizeof(struct part));
    if (!copy)
        return NULL;
    *copy = *b;
    copy->arena = (struct arena){0};
    copy->parts.items = (struct part *)(copy + 1);
    copy->parts.count = 0;
    copy->rows = copy->apart = 0;
    return copy;
}

static void add_part(struct batch *b, uint64_t first, uint64_t end) {
    if (first >= end)
        return;
    b->parts.items[b->parts.count++] = (struct part){first, end, b->rows};
    b->rows += end - first;
}

uint64_t batch_picked_row(const struct batch *b, uint32_t count, uint32_t i) {
    return b->rows / count * i + b->rows % count * i / count + b->rows / count / 2;
}

struct batch *batch_pick(const struct batch *b, uint32_t count) {
    struct batch *pick = other_rows(b, count);
    for (uint32_t i = 0; pick && i < count; i++) {
        uint64_t run = batch_run_of_row(b, batch_picked_row(b, count, i));
        add_part(pick, run, run + 1);
    }
    return pick;
}

struct batch *batch_without(const struct batch *b, uint32_t count, uint32_t taken) {
    if (b->apart)
        return NULL; // each row would be a part
    struct batch *rest = other_rows(b, b->parts.count + taken);
    uint32_t i = 0;
    for (uint32_t k = 0; rest && k < b->parts.count; k++) {
        const struct part *p = &b->parts.items[k];
        uint64_t first = p->first;
        for (; i < taken; i++) {
            uint64_t run = batch_run_of_row(b, batch_picked_row(b, count, i));
            if (run < first || run >= p->end)
                break;
            add_part(rest, first, run);
            first = run + 1;
        }
        add_part(rest, first, p->end);
    }
    return rest;
}

// Rows of a stride are still as far apart, from another one on.
struct batch *batch_stretch(const struct batch *b, uint64_t first, uint64_t rows) {
    struct batch *some = other_rows(b, b->parts.count);
    if (!some)
        return NULL;
    memcpy(some->parts.items, b->parts.items, b->parts.count * sizeof *b->parts.items);
    some->parts.count = b->parts.count;
    if (!b->apart) {
        cut_parts(some, first, first + rows);
        return some;
    }
    some->apart = b->apart;
    some->shard = b->shard + first * b->apart;
    some->rows = rows;
    return some;
}

uint64_t batch_gaps(const struct batch *b) {
    if (b->apart)
        return b->rows;
    return b->parts.count - 1 + (b->parts.items[0].first > 0);
}

uint32_t batch_inputs(const struct batch *b) { return b->order.count; }

const char *batch_input_name(const struct batch *b, uint32_t input) {
    return batch_input(b, input)->name.text;
}

struct batch_target batch_input_target(const struct batch *b, uint32_t input) {
    const struct spec_name *name = &batch_input(b, input)->name;
    return (struct batch_target){name->initial, b->slots[name->symbol].position};
}

void batch_describe(const struct batch *b, struct buf *out) {
    buf_putc(out, '[');
    for (uint32_t g = 0; g < b->groups.count; g++) {
        buf_puts(out, g ? ",{\"names\":[" : "{\"names\":[");
        const char *comma = "";
        for (uint32_t k = 0; k < b->order.count; k++) {
            if (batch_input(b, k)->group != g)
                continue;
            buf_puts(out, comma);
            buf_json(out, batch_input_name(b, k));
            comma = ",";
        }
        buf_printf(out, "],\"count\":%llu}", (unsigned long long)b->groups.items[g].count);
    }
    buf_putc(out, ']');
}
