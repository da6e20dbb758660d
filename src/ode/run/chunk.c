// SPDX-License-Identifier: MIT
// Lays the blocks of a chunk out, fills what goes in, and gives a view of what comes out.
#include "ode/run/chunk.h"

#include "dispatch/share.h"
#include "dispatch/team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

LOG_SHARED_LABEL(h2d_transfer_initial_values, RUNTIME, 40,
                 "initial values of a chunk to the device");
LOG_SHARED_LABEL(h2d_transfer_parameters, RUNTIME, 50, "parameters of a chunk to the device");
LOG_SHARED_LABEL(d2h_transfer_state, RUNTIME, 70,
                 "states of a chunk from the device, and into the result");
LOG_LABEL(d2h_transfer_observables, RUNTIME, 80, "observables of a chunk from the device");
LOG_LABEL(d2h_transfer_status_codes, RUNTIME, 90, "status of each run from the device");
LOG_LABEL(d2h_transfer_iteration_counters, RUNTIME, 100, "step counts of each run from the device");

enum { ALIGN = 64, FILL_GRAIN = 1 << 16 };

// ---- Numbers in the kernel's type ---------------------------------------------------------------

static void put(const void *array, size_t elem, size_t i, double value) {
    if (elem == sizeof(float))
        ((float *)(uintptr_t)array)[i] = (float)value;
    else
        ((double *)(uintptr_t)array)[i] = value;
}

static void put_pair(const void *array, size_t elem, size_t i, double value) {
    put(array, elem, 2 * i, value);
    put(array, elem, 2 * i + 1, elem == sizeof(float) ? value - (double)(float)value : 0);
}

static double get_pair(const void *array, size_t elem, size_t i) {
    if (elem == sizeof(float))
        return (double)((const float *)array)[2 * i] + (double)((const float *)array)[2 * i + 1];
    return ((const double *)array)[2 * i];
}

// ---- Layout -------------------------------------------------------------------------------------

// Gives out the parts of a block in order; without memory it only counts.
struct layout {
    char *data;
    size_t at, piece_at;
    enum shoal_block_name block;
    struct chunk *chunk;
};

static void *part(struct layout *l, size_t bytes) {
    void *p = l->data ? l->data + l->at : NULL;
    struct chunk *c = l->chunk;
    if (p)
        c->parts->place[c->base.launch.places++] = (struct shoal_place){l->block, l->at, bytes};
    l->at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return p;
}

static void piece_end(struct layout *l, const struct log_label *label) {
    struct chunk *c = l->chunk;
    bool reads = l->block == SHOAL_READ;
    struct shoal_block *b = reads ? &c->base.launch.read : &c->base.launch.written;
    struct shoal_piece *piece = reads ? c->parts->read_piece : c->parts->written_piece;
    if (l->at == l->piece_at)
        return;
    piece[b->pieces++] = (struct shoal_piece){label, l->piece_at, l->at - l->piece_at};
    l->piece_at = l->at;
}

static uint64_t samples_of(const struct run_setup *s) {
    return s->grid.shape == SINK_SERIES ? s->grid.count : 1;
}

static uint32_t uniform_of(const struct run_setup *s) {
    return s->model->pars.count + s->model->states.count;
}

// Sets the pointers of `args` into a block (or to NULL) and returns its bytes. lay_out follows.
static size_t lay_in(struct chunk *c, void *data, uint32_t rows) {
    const struct run_setup *s = c->setup;
    struct shoal_args *a = &c->args;
    struct shoal_block *b = &c->base.launch.read;
    struct layout l = {.data = data, .block = SHOAL_READ, .chunk = c};
    size_t e = c->elem, uniform = uniform_of(s);
    bool steps = s->grid.shape == SINK_STEPS;
    b->pieces = c->base.launch.places = 0;
    a->offset = part(&l, uniform * sizeof(unsigned));
    a->step = part(&l, uniform * sizeof(unsigned));
    a->t0 = part(&l, 2 * e);
    a->t1 = part(&l, 2 * e);
    a->settle = part(&l, 2 * e);
    a->atol = part(&l, s->model->states.count * e);
    a->control = part(&l, CONTROL_COUNT * e);
    a->save_t = part(&l, 2 * e * (size_t)s->grid.count);
    a->sample_offset = steps ? part(&l, (rows + 1) * sizeof(uint64_t)) : NULL;
    a->in = part(&l, (uniform + (size_t)c->parameters * rows) * e);
    piece_end(&l, LOG_h2d_transfer_parameters);
    part(&l, (size_t)(c->inputs - c->parameters) * rows * e);
    piece_end(&l, LOG_h2d_transfer_initial_values);
    return b->bytes = l.at;
}

// The element of `in` at which a varying input begins.
static size_t input_at(const struct chunk *c, uint32_t order, uint32_t rows) {
    size_t at =
        uniform_of(c->setup) + (size_t)(order < c->parameters ? order : c->parameters) * rows;
    if (order >= c->parameters) {
        size_t per = ALIGN / c->elem;
        at = (at + per - 1) / per * per + (size_t)(order - c->parameters) * rows;
    }
    return at;
}

void *chunk_input(const struct chunk *c, uint32_t i) {
    return (char *)(uintptr_t)c->args.in + input_at(c, i, c->args.head.rows) * c->elem;
}

static size_t lay_out(struct chunk *c, void *data, uint32_t rows) {
    const struct run_setup *s = c->setup;
    struct shoal_args *a = &c->args;
    struct shoal_block *b = &c->base.launch.written;
    struct layout l = {.data = data, .block = SHOAL_WRITTEN, .chunk = c};
    bool steps = s->grid.shape == SINK_STEPS, counts = c->wants & SINK_WANTS_COUNTS;
    size_t samples = steps ? (size_t)c->samples : samples_of(s) * rows, e = c->elem;
    b->pieces = 0;
    a->totals = part(&l, TOTAL_COUNT * sizeof(uint64_t));
    a->status = part(&l, rows);
    piece_end(&l, LOG_d2h_transfer_status_codes);
    a->steps = counts ? part(&l, rows * sizeof(unsigned)) : NULL;
    a->rejected = counts ? part(&l, rows * sizeof(unsigned)) : NULL;
    a->f_evals = counts ? part(&l, rows * sizeof(uint64_t)) : NULL;
    a->saved = steps ? part(&l, rows * sizeof(unsigned)) : NULL;
    piece_end(&l, LOG_d2h_transfer_iteration_counters);
    a->t = c->wants & SINK_WANTS_T || steps ? part(&l, 2 * e * (steps ? samples : rows)) : NULL;
    size_t values_at = l.at;
    a->values = part(&l, s->state_outputs * samples * e);
    piece_end(&l, LOG_d2h_transfer_state);
    l.at = values_at;
    part(&l, s->outputs * samples * e); // the states' and what follows
    piece_end(&l, LOG_d2h_transfer_observables);
    if (steps && !samples) // the counting pass
        a->values = NULL, a->t = NULL;
    return b->bytes = l.at;
}

uint64_t chunk_row_bytes(const struct run_setup *s, const struct batch *b, unsigned wants,
                         uint64_t *of_host) {
    uint64_t e = s->f32 ? 4 : 8, inputs = batch_inputs(b), bytes = 1;
    bytes += (inputs + s->outputs * samples_of(s)) * e; // steps: grown when they are known
    bytes += wants & SINK_WANTS_COUNTS ? 16 : 0;
    bytes += wants & SINK_WANTS_T ? 2 * e : 0;
    bytes += s->grid.shape == SINK_STEPS ? 12 : 0;
    *of_host = bytes + (wants & SINK_WANTS_T ? 8 : 0);
    if (wants & SINK_WANTS_INPUTS)
        *of_host += 8 + (s->f32 ? inputs : 0) * 8 + batch_extras(b) * 8u;
    return bytes;
}

// ---- Blocks -------------------------------------------------------------------------------------

// Room for `rows` rows, and all pointers for them.
static bool lay(struct chunk *c, uint32_t rows) {
    const struct run_setup *s = c->setup;
    c->base.launch.read.data =
        pool_block(s->pool, c->base.place, DISPATCH_READ, lay_in(c, NULL, rows));
    c->base.launch.written.data =
        pool_block(s->pool, c->base.place, DISPATCH_WRITTEN, lay_out(c, NULL, rows));
    if (!c->base.launch.read.data || !c->base.launch.written.data)
        return false;
    lay_in(c, c->base.launch.read.data, rows);
    lay_out(c, c->base.launch.written.data, rows);
    return true;
}

// ---- Life of a chunk ----------------------------------------------------------------------------

static void order_inputs(struct chunk *c) {
    uint32_t n = 0;
    c->order = arena_new(&c->arena, uint32_t, c->inputs + 1);
    for (int initial = 0; initial < 2; initial++) {
        for (uint32_t i = 0; i < c->inputs; i++)
            if (batch_input_target(c->batch, i).initial == (initial != 0))
                c->order[n++] = i;
        if (!initial)
            c->parameters = n;
    }
}

static void allocate(struct chunk *c, uint32_t rows) {
    struct arena *a = &c->arena;
    const struct batch *b = c->batch;
    bool steps = c->setup->grid.shape == SINK_STEPS;
    uint32_t columns = c->inputs + batch_extras(b);
    order_inputs(c);
    if (c->wants & SINK_WANTS_INPUTS) {
        c->run = arena_new(a, uint64_t, rows);
        c->number = arena_new(a, double *, columns + 1);
        c->text = arena_new(a, const char **, columns + 1);
        for (uint32_t i = 0; i < columns; i++)
            if (i >= c->inputs && batch_extra(b, i - c->inputs)->text)
                c->text[i] = arena_new(a, const char *, rows);
            else if (i >= c->inputs || c->elem == sizeof(float))
                c->number[i] = arena_new(a, double, rows);
    }
    if (steps)
        c->offsets = arena_new(a, uint64_t, rows + 1);
    else if (c->wants & SINK_WANTS_T)
        c->t = arena_new(a, double, rows);
}

static void make_launch(struct chunk *c) {
    struct chunk_parts *p = c->parts = arena_new(&c->arena, struct chunk_parts, 1);
    c->base.launch = (struct shoal_launch){.args = &p->call,
                                           .args_bytes = sizeof p->call,
                                           .read.piece = p->read_piece,
                                           .written.piece = p->written_piece,
                                           .place = p->place,
                                           .fill = p->fill,
                                           .fills = CHUNK_FILLS,
                                           .threads = c->setup->threads,
                                           .workspace = c->setup->workspace};
}

shoal_code chunk_init(struct chunk *c, const struct run_setup *s, const struct batch *b,
                      unsigned wants, uint32_t place, uint32_t rows, struct report *r) {
    jmp_buf oom;
    *c = (struct chunk){.setup = s,
                        .batch = b,
                        .wants = wants,
                        .base.place = place,
                        .elem = s->f32 ? 4 : 8,
                        .inputs = batch_inputs(b)};
    c->arena.oom = &oom;
    if (setjmp(oom)) {
        arena_free(&c->arena);
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for a chunk of %u runs; a smaller --chunk or --memory "
                            "may help",
                            rows);
    }
    allocate(c, rows);
    make_launch(c);
    c->arena.oom = NULL;
    return SHOAL_OK;
}

void chunk_free(struct chunk *c) {
    if (c->offsets)
        free(c->t);
    arena_free(&c->arena);
}

// ---- What goes in -------------------------------------------------------------------------------

static void fill_uniform(struct chunk *c, uint32_t rows) {
    const struct model *m = c->setup->model;
    uint32_t pars = m->pars.count, uniform = uniform_of(c->setup);
    unsigned *offset = (unsigned *)(uintptr_t)c->args.offset;
    unsigned *step = (unsigned *)(uintptr_t)c->args.step;
    for (uint32_t i = 0; i < uniform; i++) {
        const struct symbol *y =
            &m->symbols.items[i < pars ? m->pars.items[i] : m->states.items[i - pars]];
        offset[i] = i >= pars && y->init.count ? SHOAL_FORMULA : i;
        step[i] = 0;
        put(c->args.in, c->elem, i, y->value);
    }
    for (uint32_t i = 0; i < c->inputs; i++) {
        struct batch_target to = batch_input_target(c->batch, c->order[i]);
        uint32_t at = to.index + (to.initial ? pars : 0);
        offset[at] = (unsigned)input_at(c, i, rows);
        step[at] = 1;
    }
}

static void fill_control(struct chunk *c) {
    const struct run_setup *s = c->setup;
    const struct shoal_args *a = &c->args;
    double control[CONTROL_COUNT] = {
        [CONTROL_RTOL] = s->tolerances.rtol,
        [CONTROL_DT] = s->dt,
        [CONTROL_DT_LO] = s->f32 ? s->dt - (double)(float)s->dt : 0,
        [CONTROL_DT0] = s->dt0,
        [CONTROL_DT_MIN] = isnan(s->dt_min) ? 0 : s->dt_min,
        [CONTROL_DT_MAX] = isnan(s->dt_max) ? (double)INFINITY : s->dt_max,
    };
    for (int i = 0; i < CONTROL_COUNT; i++)
        put(a->control, c->elem, (size_t)i, control[i]);
    for (uint32_t i = 0; i < s->model->states.count; i++)
        put(a->atol, c->elem, i, s->tolerances.atol[i]);
    put_pair(a->t0, c->elem, 0, s->t0);
    put_pair(a->t1, c->elem, 0, s->t1);
    put_pair(a->settle, c->elem, 0, s->t1 < s->t0 ? s->t0 - s->settle : s->t0 + s->settle);
    for (uint64_t i = 0; i < s->grid.count; i++)
        put_pair(a->save_t, c->elem, i, s->grid.times[i]);
}

static void fill_sizes(struct chunk *c, uint32_t rows) {
    const struct run_setup *s = c->setup;
    bool series = s->grid.shape == SINK_SERIES, steps = s->grid.shape == SINK_STEPS;
    uint64_t samples = samples_of(s);
    c->args.head = (struct shoal_head){.base = c->base.first_row, .rows = rows};
    share_rows(&c->args.head, &(struct share){.refill = s->refill,
                                              .workspace = s->workspace,
                                              .resident = s->resident,
                                              .threads = s->threads});
    c->args.z = (struct shoal_sizes){
        .keep_failed = s->keep_failed,
        .samples = series ? (unsigned)s->grid.count : 0,
        .steps_saved = steps,
        .fixed_steps = s->fixed ? (unsigned)run_fixed_steps(s->t0, s->t1, s->dt) : 0,
        .has_dt0 = (unsigned)!isnan(s->dt0),
        .max_steps = s->max_steps,
        .var_stride = steps ? c->samples : rows * samples,
        .row_stride = s->limits.rows_fastest ? 1 : samples,
        .sample_stride = s->limits.rows_fastest ? rows : 1,
    };
}

static SHOAL_U64 offset_in(const struct shoal_block *b, const void *array) {
    return array ? (SHOAL_U64)((const char *)array - (const char *)b->data) : SHOAL_NOWHERE;
}

// The arguments of a chunk that is laid out, for the kernel.
static void describe(struct chunk *c) {
    const struct shoal_args *a = &c->args;
    struct shoal_call *call = &c->parts->call;
    call->head = a->head;
    call->z = a->z;
#define X(block, name, type) call->name = offset_in(&c->base.launch.block, a->name);
    SHOAL_ARRAYS(X)
#undef X
    c->parts->fill[0] = (struct shoal_fill){call->status, a->head.rows, SHOAL_ROW_PENDING};
    c->parts->fill[1] = (struct shoal_fill){call->totals, TOTAL_COUNT * sizeof(uint64_t), 0};
}

shoal_code chunk_place(struct chunk *c, uint64_t first_row, uint32_t rows, struct report *r) {
    c->base.first_row = first_row;
    c->samples = 0;
    if (!lay(c, rows))
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for a chunk of %u runs; a smaller --chunk or --memory "
                            "may help",
                            rows);
    fill_sizes(c, rows);
    fill_uniform(c, rows);
    fill_control(c);
    if (c->args.sample_offset)
        memset((void *)(uintptr_t)c->args.sample_offset, 0, (rows + 1) * sizeof(uint64_t));
    describe(c);
    return SHOAL_OK;
}

struct fill {
    struct chunk *c;
    uint32_t input; // of the batch
    void *in;
};

static void fill_rows(void *user, size_t first, size_t end) {
    const struct fill *f = user;
    const struct chunk *c = f->c;
    uint64_t row = c->base.first_row + first;
    uint32_t n = (uint32_t)(end - first);
    if (c->elem == sizeof(double)) {
        batch_fill(c->batch, f->input, row, n, (double *)f->in + first);
    } else if (c->number) {
        double *number = c->number[f->input] + first;
        batch_fill(c->batch, f->input, row, n, number);
        for (uint32_t k = 0; k < n; k++)
            ((float *)f->in)[first + k] = (float)number[k];
    } else {
        batch_fill_f32(c->batch, f->input, row, n, (float *)f->in + first);
    }
}

static void fill_extra(struct chunk *c, uint32_t extra) {
    const struct table_column *column = batch_extra(c->batch, extra);
    uint32_t at = c->inputs + extra;
    for (uint32_t i = 0; i < c->args.head.rows; i++) {
        uint64_t row = batch_table_row(c->batch, c->run[i]);
        if (column->text)
            c->text[at][i] = column->text[row];
        else
            c->number[at][i] = column->number[row];
    }
}

void chunk_fill(struct chunk *c, uint32_t first, uint32_t end) {
    uint32_t rows = c->args.head.rows;
    if (first == 0 && c->run) {
        batch_fill_runs(c->batch, c->base.first_row, rows, c->run);
        for (uint32_t i = 0; i < batch_extras(c->batch); i++)
            fill_extra(c, i);
    }
    for (uint32_t i = first; i < end; i++) {
        struct fill f = {c, c->order[i], chunk_input(c, i)};
        if (c->number && c->elem == sizeof(double))
            c->number[f.input] = f.in;
        team_run(&c->setup->pool->team, c->setup->threads, rows, FILL_GRAIN, fill_rows, &f);
    }
}

// ---- What comes out -----------------------------------------------------------------------------

shoal_code chunk_make_room(struct chunk *c, struct report *r) {
    uint32_t rows = c->args.head.rows;
    uint64_t total = 0;
    for (uint32_t i = 0; i < rows; i++) {
        c->offsets[i] = total;
        total += c->args.status[i] == SHOAL_ROW_PENDING ? 0 : c->args.saved[i];
    }
    c->offsets[rows] = total;
    free(c->t);
    c->t = malloc(sizeof(double) * total + 1);
    c->samples = total;
    if (!c->t || !lay(c, rows))
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for %llu samples of a chunk of %u runs; try a "
                            "smaller --chunk",
                            (unsigned long long)total, rows);
    c->args.z.var_stride = total;
    memcpy((void *)(uintptr_t)c->args.sample_offset, c->offsets, (rows + 1) * sizeof(uint64_t));
    describe(c);
    return SHOAL_OK;
}

struct sink_chunk chunk_view(struct chunk *c, uint32_t rows) {
    bool steps = c->setup->grid.shape == SINK_STEPS;
    const struct shoal_args *a = &c->args;
    uint64_t times = steps ? c->offsets[rows] : rows;
    for (uint64_t i = 0; c->t && i < times; i++)
        c->t[i] = get_pair(a->t, c->elem, i);
    return (struct sink_chunk){
        .first_row = c->base.first_row,
        .rows = rows,
        .run = c->run,
        .number = (const double *const *)c->number,
        .text = (const char *const *const *)c->text,
        .t = c->setup->grid.shape == SINK_SERIES ? NULL : c->t,
        .values = a->values,
        .var_stride = a->z.var_stride,
        .row_stride = steps ? 0 : a->z.row_stride,
        .sample_stride = steps ? 1 : a->z.sample_stride,
        .offsets = c->offsets,
        .status = a->status,
        .steps = a->steps,
        .rejected = a->rejected,
        .f_evals = (const uint64_t *)a->f_evals,
    };
}
