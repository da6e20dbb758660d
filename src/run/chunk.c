// SPDX-License-Identifier: MIT
#include "run/chunk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Stores number i of an array of the kernel's type.
static void put(void *array, size_t elem, size_t i, double value) {
    if (elem == sizeof(float))
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static void put_pair(void *array, size_t elem, size_t i, double value) {
    put(array, elem, 2 * i, value);
    put(array, elem, 2 * i + 1, elem == sizeof(float) ? value - (double)(float)value : 0);
}

static double get_pair(const void *array, size_t elem, size_t i) {
    if (elem == sizeof(float))
        return (double)((const float *)array)[2 * i] + (double)((const float *)array)[2 * i + 1];
    return ((const double *)array)[2 * i];
}

static uint64_t samples_of(const struct run_setup *s) {
    return s->grid.shape == SINK_SERIES ? s->grid.count : 1;
}

uint64_t chunk_row_bytes(const struct run_setup *s, const struct batch *b) {
    uint64_t elem = s->f32 ? 4 : 8, bytes = 0;
    bytes += batch_inputs(b) * (s->f32 ? 12u : 8u) + batch_extras(b) * 8u;
    bytes += s->outputs * samples_of(s) * elem; // steps: at least as much again, grown when known
    bytes += 2 * elem + 8;                      // time reached
    bytes += sizeof(uint64_t) * 3 + 3 * sizeof(unsigned) + 1;
    return bytes;
}

static void init_uniform(struct chunk *c, const struct run_setup *s, const struct batch *b) {
    const struct model *m = s->model;
    uint32_t pars = m->pars.count, states = m->states.count, uniform = pars + states;
    for (uint32_t i = 0; i < uniform; i++) {
        const struct symbol *y =
            &m->symbols.items[i < pars ? m->pars.items[i] : m->states.items[i - pars]];
        c->offset[i] = i >= pars && y->init.count ? SHOAL_FORMULA : i;
        c->step[i] = 0;
        put(c->in, c->elem, i, y->value);
    }
    for (uint32_t i = 0; i < c->inputs; i++) {
        struct batch_target to = batch_input_target(b, i);
        uint32_t at = to.index + (to.initial ? pars : 0);
        c->offset[at] = uniform + i * c->rows_most;
        c->step[at] = 1;
    }
}

static void init_control(struct chunk *c, const struct run_setup *s) {
    double control[CONTROL_COUNT] = {
        [CONTROL_RTOL] = s->rtol,
        [CONTROL_DT] = s->dt,
        [CONTROL_DT_LO] = s->f32 ? s->dt - (double)(float)s->dt : 0,
        [CONTROL_DT0] = s->dt0,
        [CONTROL_DT_MIN] = isnan(s->dt_min) ? 0 : s->dt_min,
        [CONTROL_DT_MAX] = isnan(s->dt_max) ? (double)INFINITY : s->dt_max,
    };
    for (int i = 0; i < CONTROL_COUNT; i++)
        put(c->control, c->elem, (size_t)i, control[i]);
    for (uint32_t i = 0; i < s->model->states.count; i++)
        put(c->atol, c->elem, i, s->atol[i]);
    put_pair(c->t0, c->elem, 0, s->t0);
    put_pair(c->t1, c->elem, 0, s->t1);
    put_pair(c->settle, c->elem, 0, s->t1 < s->t0 ? s->t0 - s->settle : s->t0 + s->settle);
    for (uint64_t i = 0; i < s->grid.count; i++)
        put_pair(c->save_t, c->elem, i, s->grid.times[i]);
}

static void init_args(struct chunk *c, const struct run_setup *s) {
    struct shoal_args *a = &c->args;
    bool series = s->grid.shape == SINK_SERIES, steps = s->grid.shape == SINK_STEPS;
    uint64_t samples = samples_of(s);
    *a = (struct shoal_args){
        .refill = s->refill,
        .keep_failed = s->keep_failed,
        .samples = series ? (unsigned)s->grid.count : 0,
        .steps_saved = steps,
        .fixed_steps = s->fixed ? (unsigned)run_fixed_steps(s->t0, s->t1, s->dt) : 0,
        .has_dt0 = (unsigned)!isnan(s->dt0),
        .max_steps = s->max_steps,
        .offset = c->offset,
        .step = c->step,
        .in = c->in,
        .t0 = c->t0,
        .t1 = c->t1,
        .settle = c->settle,
        .save_t = c->save_t,
        .atol = c->atol,
        .control = c->control,
        .values = c->values,
        .var_stride = steps ? 0 : c->rows_most * samples,
        .row_stride = samples,
        .sample_stride = 1,
        .sample_offset = steps ? (const unsigned long long *)c->offsets : NULL,
        .t = c->t_pairs,
        .status = c->status,
        .steps = c->steps,
        .rejected = c->rejected,
        .saved = c->saved,
        .f_evals = c->f_evals,
    };
}

static void allocate(struct chunk *c, const struct run_setup *s, const struct batch *b) {
    struct arena *a = &c->arena;
    const struct model *m = s->model;
    size_t uniform = m->pars.count + m->states.count, rows = c->rows_most, elem = c->elem;
    uint32_t columns = c->inputs + batch_extras(b);
    c->offset = arena_new(a, unsigned, uniform);
    c->step = arena_new(a, unsigned, uniform);
    c->in = arena_alloc(a, (uniform + c->inputs * rows) * elem);
    c->number = arena_new(a, double *, columns + 1);
    c->text = arena_new(a, const char **, columns + 1);
    for (uint32_t i = 0; i < columns; i++) {
        bool text = i >= c->inputs && batch_extra(b, i - c->inputs)->text;
        if (text)
            c->text[i] = arena_new(a, const char *, rows);
        else if (i < c->inputs && elem == sizeof(double))
            c->number[i] = (double *)c->in + uniform + i * rows;
        else
            c->number[i] = arena_new(a, double, rows);
    }
    c->run = arena_new(a, uint64_t, rows);
    c->t0 = arena_alloc(a, 2 * elem);
    c->t1 = arena_alloc(a, 2 * elem);
    c->settle = arena_alloc(a, 2 * elem);
    c->save_t = arena_alloc(a, 2 * elem * (size_t)s->grid.count);
    c->atol = arena_alloc(a, elem * m->states.count);
    c->control = arena_alloc(a, elem * CONTROL_COUNT);
    c->status = arena_new(a, unsigned char, rows);
    c->steps = arena_new(a, unsigned, rows);
    c->rejected = arena_new(a, unsigned, rows);
    c->saved = arena_new(a, unsigned, rows);
    c->f_evals = arena_new(a, unsigned long long, rows);
    if (s->grid.shape == SINK_STEPS) {
        c->offsets = arena_new(a, uint64_t, rows + 1);
    } else {
        c->values = arena_alloc(a, s->outputs * rows * (size_t)samples_of(s) * elem);
        c->t_pairs = arena_alloc(a, 2 * elem * rows);
        c->t = arena_new(a, double, rows);
    }
}

shoal_code chunk_init(struct chunk *c, const struct run_setup *s, const struct batch *b,
                      uint32_t rows, struct report *r) {
    jmp_buf oom;
    *c = (struct chunk){.rows_most = rows, .elem = s->f32 ? 4 : 8, .inputs = batch_inputs(b)};
    c->arena.oom = &oom;
    if (setjmp(oom)) {
        arena_free(&c->arena);
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for a chunk of %u runs; a smaller --chunk or --memory "
                            "may help",
                            rows);
    }
    allocate(c, s, b);
    c->arena.oom = NULL;
    init_uniform(c, s, b);
    init_control(c, s);
    init_args(c, s);
    return SHOAL_OK;
}

void chunk_free(struct chunk *c) {
    if (c->offsets) {
        free(c->values);
        free(c->t_pairs);
        free(c->t);
    }
    arena_free(&c->arena);
}

static void fill_extra(struct chunk *c, const struct batch *b, uint32_t extra, uint32_t rows) {
    const struct batch_column *column = batch_extra(b, extra);
    uint32_t at = c->inputs + extra;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t row = batch_table_row(b, c->run[i]);
        if (column->text)
            c->text[at][i] = column->text[row];
        else
            c->number[at][i] = column->number[row];
    }
}

void chunk_fill(struct chunk *c, const struct run_setup *s, const struct batch *b,
                uint64_t first_row, uint32_t rows) {
    uint32_t uniform = s->model->pars.count + s->model->states.count;
    batch_fill_runs(b, first_row, rows, c->run);
    for (uint32_t i = 0; i < c->inputs; i++) {
        batch_fill(b, i, first_row, rows, c->number[i]);
        if (c->elem == sizeof(float)) {
            float *in = (float *)c->in + uniform + (size_t)i * c->rows_most;
            for (uint32_t k = 0; k < rows; k++)
                in[k] = (float)c->number[i][k];
        }
    }
    for (uint32_t i = 0; i < batch_extras(b); i++)
        fill_extra(c, b, i, rows);
    memset(c->status, SHOAL_ROW_PENDING, rows);
    c->args.base = first_row;
    c->args.rows = rows;
}

shoal_code chunk_make_room(struct chunk *c, const struct run_setup *s, struct report *r) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < c->args.rows; i++) {
        c->offsets[i] = total;
        total += c->status[i] == SHOAL_ROW_PENDING ? 0 : c->saved[i];
    }
    c->offsets[c->args.rows] = total;
    if (total > c->samples_room) {
        free(c->values);
        free(c->t_pairs);
        free(c->t);
        c->values = malloc(c->elem * s->outputs * total);
        c->t_pairs = malloc(2 * c->elem * total);
        c->t = malloc(sizeof(double) * total);
        c->samples_room = total;
        if (!c->values || !c->t_pairs || !c->t)
            return report_error(r, SHOAL_MEMORY,
                                "out of memory for %llu samples of a chunk of %u runs; try a "
                                "smaller --chunk",
                                (unsigned long long)total, c->args.rows);
    }
    c->args.values = c->values;
    c->args.t = c->t_pairs;
    c->args.var_stride = c->samples_room;
    return SHOAL_OK;
}

struct sink_chunk chunk_view(struct chunk *c, const struct run_setup *s, uint64_t first_row,
                             uint32_t rows) {
    bool steps = s->grid.shape == SINK_STEPS;
    uint64_t times = steps ? c->offsets[rows] : rows;
    for (uint64_t i = 0; i < times; i++)
        c->t[i] = get_pair(c->t_pairs, c->elem, i);
    return (struct sink_chunk){
        .first_row = first_row,
        .rows = rows,
        .run = c->run,
        .number = (const double *const *)c->number,
        .text = (const char *const *const *)c->text,
        .t = s->grid.shape == SINK_SERIES ? NULL : c->t,
        .values = c->values,
        .var_stride = c->args.var_stride,
        .row_stride = steps ? 0 : c->args.row_stride,
        .sample_stride = 1,
        .offsets = c->offsets,
        .status = c->status,
        .steps = c->steps,
        .rejected = c->rejected,
        .f_evals = (const uint64_t *)c->f_evals,
    };
}
