// SPDX-License-Identifier: MIT
// The batch and what is added to it by words: sweeps, samples, zips and the runs to take.
//
// A call that fails leaves the batch as it was.
#include "ode/batch/batch.h"

#include "ode/batch/batch_data.h"

#include <stdlib.h>
#include <string.h>

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

shoal_code batch_guard(struct batch *b, batch_step *call, const void *args, struct report *r) {
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

shoal_code batch_add_input(struct batch *b, struct input input, struct report *r) {
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

// ---- Words --------------------------------------------------------------------------------------

static shoal_code add_sweep(struct batch *b, const void *text, struct report *r) {
    struct input input = {.source = "--sweep", .kind = INPUT_SWEEP};
    struct spec s;
    spec_open(&s, b->model, &b->arena, input.source, text, r);
    shoal_code code = spec_sweep(&s, &input.name, &input.sweep);
    return code == SHOAL_OK ? batch_add_input(b, input, r) : code;
}

shoal_code batch_sweep(struct batch *b, const char *spec, struct report *r) {
    return batch_guard(b, add_sweep, spec, r);
}

static shoal_code add_sample(struct batch *b, const void *text, struct report *r) {
    struct input input = {.source = "--sample", .kind = INPUT_SAMPLE};
    struct spec s;
    spec_open(&s, b->model, &b->arena, input.source, text, r);
    shoal_code code = spec_sample(&s, &input.name, &input.sample);
    return code == SHOAL_OK ? batch_add_input(b, input, r) : code;
}

shoal_code batch_sample(struct batch *b, const char *spec, struct report *r) {
    return batch_guard(b, add_sample, spec, r);
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

void batch_set_per_row(struct batch *b, bool per_row) {
    b->per_row = per_row;
    changed(b);
}

void batch_set_shard(struct batch *b, uint64_t shard, uint64_t shards, bool strided) {
    b->shard = shard;
    b->shards = shards;
    b->strided = strided;
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
    return batch_guard(b, add_zip, names, r);
}

static shoal_code set_only(struct batch *b, const void *text, struct report *r) {
    struct spec s;
    spec_open(&s, b->model, &b->arena, "--only-runs", text, r);
    return spec_runs(&s, &b->only);
}

shoal_code batch_only(struct batch *b, const char *runs, struct report *r) {
    return batch_guard(b, set_only, runs, r);
}
