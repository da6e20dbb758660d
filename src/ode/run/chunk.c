// SPDX-License-Identifier: MIT
// Lays the blocks of a chunk out and fills what goes in.
#include "ode/run/chunk.h"

#include "base/team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

LOG_SHARED_LABEL(h2d_transfer_initial_values, RUNTIME, 40,
                 "initial values of a chunk to the device");
LOG_SHARED_LABEL(h2d_transfer_parameters, RUNTIME, 50, "parameters of a chunk to the device");
LOG_SHARED_LABEL(d2h_transfer_state, RUNTIME, 70,
                 "states of a chunk from the device, and into the result");
LOG_LABEL(d2h_transfer_observables, RUNTIME, 80, "observables of a chunk from the device");
LOG_LABEL(d2h_transfer_summaries, RUNTIME, 85, "summaries of a chunk from the device");
LOG_LABEL(d2h_transfer_status_codes, RUNTIME, 90, "status of each run from the device");
LOG_LABEL(d2h_transfer_iteration_counters, RUNTIME, 100, "step counts of each run from the device");

enum { ALIGN = 64, FILL_GRAIN = 1 << 14 };

// ---- Numbers in the kernel's type ---------------------------------------------------------------

static void put(const void *array, size_t elem, size_t i, double value) {
    if (elem == sizeof(float))
        ((float *)(uintptr_t)array)[i] = (float)value;
    else
        ((double *)(uintptr_t)array)[i] = value;
}

// What errors are divided by: neither it nor its reciprocal may be 0.
static double within_range(double scale, size_t elem) {
    double most = elem == sizeof(float) ? 1e37 : 1e300;
    return fmin(fmax(scale, 1 / most), most);
}

static void put_pair(const void *array, size_t elem, size_t i, double value) {
    put(array, elem, 2 * i, value);
    put(array, elem, 2 * i + 1, elem == sizeof(float) ? value - (double)(float)value : 0);
}

// ---- Layout -------------------------------------------------------------------------------------

// Gives out the parts of a block in order; without memory it only counts.
struct layout {
    char *data;
    size_t at, piece_at;
    size_t last, used; // of the last part: where it is and its bytes
    enum shoal_block_name block;
    struct chunk *chunk;
};

// The last part grows.
static void more(struct layout *l, size_t bytes) {
    struct chunk *c = l->chunk;
    l->used += bytes;
    l->at = l->last + (l->used + ALIGN - 1) / ALIGN * ALIGN;
    if (l->data)
        c->parts->place[c->base.launch.places - 1].bytes = l->used;
}

static void *part(struct layout *l, size_t bytes) {
    struct chunk *c = l->chunk;
    l->last = l->at;
    l->used = 0;
    if (l->data)
        c->parts->place[c->base.launch.places++] =
            (struct shoal_place){.block = l->block, .offset = l->at};
    more(l, bytes);
    return l->data ? l->data + l->last : NULL;
}

// What was given out since the last piece ended.
static void piece_end(struct layout *l, const struct log_label *label) {
    struct chunk *c = l->chunk;
    bool reads = l->block == SHOAL_READ;
    struct shoal_block *b = reads ? &c->base.launch.read : &c->base.launch.written;
    struct shoal_piece *piece = reads ? c->parts->read_piece : c->parts->written_piece;
    size_t end = l->last + l->used;
    if (end <= l->piece_at)
        return;
    piece[b->pieces++] = (struct shoal_piece){label, l->piece_at, end - l->piece_at};
    l->piece_at = end;
}

static uint64_t samples_of(const struct plan *p) {
    return p->list.of.kind == SAMPLES_OWN ? 1 : p->list.of.samples;
}

// Times that all runs are saved at.
static uint64_t times_of(const struct plan *p) {
    return p->list.of.kind == SAMPLES_GRID ? p->list.of.samples : 0;
}

static uint32_t uniform_of(const struct plan *p) {
    return p->model->pars.count + p->model->states.count;
}

// What is resident stays where it is.
static void lay_signals(struct chunk *c) {
    const struct driver_block *s = &c->plan->signals;
    if (!s->data)
        return;
    c->args.signal = s->data;
    c->args.driver = (char *)s->data + s->driver;
    c->parts->place[c->base.launch.places++] =
        (struct shoal_place){.block = SHOAL_RESIDENT, .offset = 0, .bytes = s->driver};
    c->parts->place[c->base.launch.places++] = (struct shoal_place){
        .block = SHOAL_RESIDENT, .offset = s->driver, .bytes = s->bytes - s->driver};
}

static size_t chosen_bytes(const struct chunk *c, uint32_t rows) {
    return (size_t)c->plan->model->signals.count * rows * sizeof(unsigned);
}

// Sets the pointers of `args` into a block (or to NULL) and returns its bytes. lay_out follows.
static size_t lay_in(struct chunk *c, void *data, uint32_t rows) {
    const struct plan *p = c->plan;
    struct shoal_args *a = &c->args;
    struct shoal_block *b = &c->base.launch.read;
    struct layout l = {.data = data, .block = SHOAL_READ, .chunk = c};
    size_t e = c->elem, uniform = uniform_of(p), pars = p->model->pars.count;
    bool steps = p->list.of.kind == SAMPLES_OWN;
    b->pieces = c->base.launch.places = 0;
    a->offset = part(&l, uniform * sizeof(unsigned));
    a->step = part(&l, uniform * sizeof(unsigned));
    a->t0 = part(&l, 2 * e);
    a->t1 = part(&l, 2 * e);
    a->settle = part(&l, 2 * e);
    a->atol = part(&l, p->model->states.count * e);
    a->control = part(&l, CONTROL_COUNT * e);
    a->save_t = part(&l, 2 * e * (size_t)times_of(p));
    a->levels = part(&l, 2 * e * p->summary.levels);
    a->edges = part(&l, p->summary.windows ? 2 * e * (p->summary.windows + (size_t)1) : 0);
    a->slots = part(&l, 2 * p->summary.arrays * sizeof(uint64_t));
    a->doses = p->doses ? part(&l, 4 * e * (size_t)p->doses->count) : NULL;
    a->dose_offset = p->doses ? part(&l, 2 * rows * sizeof(unsigned)) : NULL;
    a->records = part(&l, 2 * p->record.plan.count * sizeof(unsigned));
    a->sample_offset = steps ? part(&l, (rows + 1) * sizeof(uint64_t)) : NULL;
    a->driver_row = c->chosen ? part(&l, chosen_bytes(c, rows)) : NULL;
    a->in = part(&l, (pars + (size_t)c->parameters * rows) * e);
    piece_end(&l, LOG_h2d_transfer_parameters);
    part(&l, (p->model->states.count + (size_t)(c->inputs - c->parameters) * rows) * e);
    piece_end(&l, LOG_h2d_transfer_initial_values);
    return b->bytes = l.at;
}

// The element of `in` at which initial values begin: those of all rows, then varying ones.
static size_t initial_at(const struct chunk *c, uint32_t rows) {
    size_t per = ALIGN / c->elem,
           before = c->plan->model->pars.count + (size_t)c->parameters * rows;
    return (before + per - 1) / per * per;
}

// The element of `in` at which a varying input begins.
static size_t input_at(const struct chunk *c, uint32_t order, uint32_t rows) {
    const struct model *m = c->plan->model;
    if (order < c->parameters)
        return m->pars.count + (size_t)order * rows;
    return initial_at(c, rows) + m->states.count + (size_t)(order - c->parameters) * rows;
}

void *chunk_input(const struct chunk *c, uint32_t i) {
    return (char *)(uintptr_t)c->args.in + input_at(c, i, c->args.head.rows) * c->elem;
}

// What is copied and timed together, in the order of the block. Values have the order that they
// were asked for in, so that states and observables may take turns. Times go with the first.
static const struct group {
    unsigned roles;
    const struct log_label *label;
} groups[] = {
    {1u << ROLE_STATUS, LOG_d2h_transfer_status_codes},
    {1u << ROLE_COUNT | 1u << ROLE_COUNTER | 1u << ROLE_INTERNAL,
     LOG_d2h_transfer_iteration_counters},
    {1u << ROLE_STATE | 1u << ROLE_OBSERVABLE, NULL},
    {1u << ROLE_SUMMARY | 1u << ROLE_RECORD, LOG_d2h_transfer_summaries},
};
enum { GROUPS = sizeof groups / sizeof *groups, GROUP_STATUS = 0, GROUP_VALUES = 2 };

// The arrays of a field follow each other. The counting pass writes no samples.
static void lay_array(struct chunk *c, struct layout *l, const struct result_array *a,
                      uint32_t rows) {
    uint64_t length = result_length(a, rows, c->samples) * result_width(c->list, a);
    size_t bytes = (size_t)length * chunk_bytes(a, c->elem);
    bool is_there = a->axes != AXES_FLAT || c->samples;
    if (a->index == 0)
        chunk_set_field(&c->args, a->field, is_there ? part(l, bytes) : NULL);
    else if (is_there)
        more(l, bytes);
}

static bool has_group(const struct chunk *c, int g) {
    const struct result_list *list = c->list;
    for (uint32_t i = 0; i < list->count + list->internal; i++)
        if (groups[g].roles >> list->array[i].role & 1 && chunk_writes(&list->array[i], c->use))
            return true;
    return false;
}

// The group that has the times: that of the first values there are, else that of the status.
static int group_of_times(const struct chunk *c) {
    int g = GROUP_VALUES;
    while (g < GROUPS && !has_group(c, g))
        g++;
    return g < GROUPS ? g : GROUP_STATUS;
}

// Which arrays the kernel writes, group by group.
static void order_written(struct chunk *c) {
    const struct result_list *list = c->list;
    uint32_t n = 0, all = list->count + list->internal;
    int times = group_of_times(c);
    c->written = arena_new(&c->arena, uint32_t, all);
    for (int g = 0; g < GROUPS; g++) {
        unsigned roles = groups[g].roles | (g == times ? 1u << ROLE_TIME : 0);
        for (uint32_t i = 0; i < all; i++)
            if (roles >> list->array[i].role & 1 && chunk_writes(&list->array[i], c->use))
                c->written[n++] = i;
        c->written_end[g] = n;
    }
    c->writes = n;
}

static const struct log_label *label_of(int g, const struct result_array *a) {
    return groups[g].label              ? groups[g].label
           : a->role == ROLE_OBSERVABLE ? LOG_d2h_transfer_observables
                                        : LOG_d2h_transfer_state;
}

// A piece ends where the label of the next array is another. Of very many the last ones are one.
static void lay_group(struct chunk *c, struct layout *l, int g, uint32_t first, uint32_t rows) {
    const struct shoal_block *b = &c->base.launch.written;
    const struct log_label *label = NULL;
    for (uint32_t n = first; n < c->written_end[g]; n++) {
        const struct result_array *a = &c->list->array[c->written[n]];
        const struct log_label *own = a->role == ROLE_TIME ? label : label_of(g, a);
        if (label && own != label && b->pieces + (uint32_t)(GROUPS - g) < CHUNK_PIECES)
            piece_end(l, label);
        label = own;
        lay_array(c, l, a, rows);
    }
    piece_end(l, label ? label : groups[GROUP_STATUS].label);
}

static size_t lay_out(struct chunk *c, void *data, uint32_t rows) {
    struct shoal_block *b = &c->base.launch.written;
    struct layout l = {.data = data, .block = SHOAL_WRITTEN, .chunk = c};
    uint32_t n = 0;
    b->pieces = 0;
    c->args.totals = part(&l, TOTAL_COUNT * sizeof(uint64_t));
    for (int g = 0; g < GROUPS; n = c->written_end[g++])
        lay_group(c, &l, g, n, rows);
    return b->bytes = l.at;
}

uint64_t chunk_row_bytes(const struct plan *p, const struct batch *b,
                         const struct result_list *list, uint64_t *of_host) {
    bool f32 = p->kernel[PLAN_FIRST].f32;
    uint64_t e = f32 ? sizeof(float) : sizeof(double), bytes = batch_inputs(b) * e, host = 0;
    if (p->list.of.kind == SAMPLES_OWN)
        bytes += sizeof(uint64_t); // where they begin; they are counted as one
    if (p->doses)
        bytes += 2 * sizeof(unsigned);
    if (p->signals.choice)
        bytes += p->model->signals.count * sizeof(unsigned);
    for (uint32_t i = 0; i < list->count + list->internal; i++) {
        const struct result_array *a = &list->array[i];
        bool in_block = a->from == FROM_COLUMN && a->index < batch_inputs(b) && !f32;
        if (chunk_writes(a, CHUNK_WHOLE))
            bytes += result_width(list, a) * chunk_bytes(a, e);
        if (a->wanted && !in_block &&
            (a->from == FROM_RUN || a->from == FROM_COLUMN ||
             (a->from == FROM_KERNEL && a->type == TYPE_TIME)))
            host += result_type_bytes(a->type);
    }
    *of_host = bytes + host;
    return bytes;
}

// ---- Blocks -------------------------------------------------------------------------------------

// Room for `rows` rows, and all pointers for them.
static bool lay(struct chunk *c, uint32_t rows) {
    struct dispatch_pool *pool = &c->runner->pool;
    c->base.launch.read.data =
        pool_block(pool, c->base.place, DISPATCH_READ, lay_in(c, NULL, rows));
    c->base.launch.written.data =
        pool_block(pool, c->base.place, DISPATCH_WRITTEN, lay_out(c, NULL, rows));
    if (!c->base.launch.read.data || !c->base.launch.written.data)
        return false;
    lay_in(c, c->base.launch.read.data, rows);
    lay_signals(c);
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
    order_inputs(c);
    order_written(c);
    chunk_make_host(c, rows);
    if (c->plan->list.of.kind == SAMPLES_OWN)
        c->offsets = arena_new(&c->arena, uint64_t, rows + 1);
}

static void make_launch(struct chunk *c) {
    struct chunk_parts *p = c->parts;
    c->base.head = &p->call.head;
    c->base.refill = c->plan->refill;
    c->base.resident = c->runner->kernel[c->role].kernel->facts.resident;
    c->base.launch = (struct shoal_launch){.args = &p->call,
                                           .args_bytes = sizeof p->call,
                                           .read.piece = p->read_piece,
                                           .read.stretch = p->read_stretch,
                                           .resident = c->runner->signals,
                                           .written.piece = p->written_piece,
                                           .written.stretch = p->written_stretch,
                                           .place = p->place,
                                           .fill = p->fill,
                                           .fills = CHUNK_FILLS,
                                           .threads = c->plan->threads,
                                           .writes_only = !c->plan->summary.arrays, // bins
                                           .lone = codegen_is_lone(&c->plan->kernel[c->role]),
                                           .workspace = c->runner->kernel[c->role].workspace};
}

shoal_code chunk_init(struct chunk *c, uint32_t place, uint32_t rows, struct report *r) {
    jmp_buf oom;
    c->base.place = place;
    c->elem = c->plan->kernel[c->role].f32 ? sizeof(float) : sizeof(double);
    c->inputs = batch_inputs(c->batch);
    c->arena.oom = &oom;
    if (setjmp(oom)) {
        arena_free(&c->arena);
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for a chunk of %u runs; a smaller --chunk or --memory "
                            "may help",
                            rows);
    }
    c->parts = arena_new(&c->arena, struct chunk_parts, 1);
    allocate(c, rows);
    direct_init(c, rows);
    make_launch(c);
    c->arena.oom = NULL;
    return SHOAL_OK;
}

void chunk_free(struct chunk *c) {
    free(c->times);
    arena_free(&c->arena);
}

// ---- What goes in -------------------------------------------------------------------------------

static void fill_uniform(struct chunk *c, uint32_t rows) {
    const struct model *m = c->plan->model;
    uint32_t pars = m->pars.count, uniform = uniform_of(c->plan);
    size_t initial = initial_at(c, rows);
    unsigned *offset = (unsigned *)(uintptr_t)c->args.offset;
    unsigned *step = (unsigned *)(uintptr_t)c->args.step;
    for (uint32_t i = 0; i < uniform; i++) {
        const struct symbol *y =
            &m->symbols.items[i < pars ? m->pars.items[i] : m->states.items[i - pars]];
        size_t at = i < pars ? i : initial + i - pars;
        offset[i] = i >= pars && y->init.count ? SHOAL_FORMULA : (unsigned)at;
        step[i] = 0;
        put(c->args.in, c->elem, at, y->value);
    }
    for (uint32_t i = 0; i < c->inputs; i++) {
        struct batch_target to = batch_input_target(c->batch, c->order[i]);
        uint32_t at = to.index + (to.initial ? pars : 0);
        offset[at] = (unsigned)input_at(c, i, rows);
        step[at] = 1;
    }
}

// What summaries are of, besides expressions.
static void fill_summary(const struct chunk *c) {
    const struct run_summary *s = &c->plan->summary;
    SHOAL_U64 *slots = (SHOAL_U64 *)(uintptr_t)c->args.slots;
    for (uint32_t i = 0; i < s->levels; i++)
        put_pair(c->args.levels, c->elem, i, s->level[i]);
    for (uint32_t i = 0; s->windows && i <= s->windows; i++)
        put_pair(c->args.edges, c->elem, i, s->edges[i]);
    for (uint32_t i = 0; i < s->arrays; i++) {
        slots[2 * i] = s->slot[i].first;
        slots[2 * i + 1] = s->slot[i].width;
    }
}

static void fill_control(struct chunk *c) {
    const struct plan *p = c->plan;
    const struct shoal_args *a = &c->args;
    double control[CONTROL_COUNT] = {
        [CONTROL_RTOL] = p->tolerances[c->role].rtol,
        [CONTROL_DT] = p->dt,
        [CONTROL_DT_LO] = c->elem == sizeof(float) ? p->dt - (double)(float)p->dt : 0,
        [CONTROL_DT0] = p->dt0,
        [CONTROL_DT_MIN] = isnan(p->dt_min) ? 0 : p->dt_min,
        [CONTROL_DT_MAX] = isnan(p->dt_max) ? (double)INFINITY : p->dt_max,
    };
    for (int i = 0; i < CONTROL_COUNT; i++)
        put(a->control, c->elem, (size_t)i, control[i]);
    for (uint32_t i = 0; i < p->model->states.count; i++)
        put(a->atol, c->elem, i, within_range(p->tolerances[c->role].atol[i], c->elem));
    put_pair(a->t0, c->elem, 0, p->t0);
    put_pair(a->t1, c->elem, 0, p->t1);
    put_pair(a->settle, c->elem, 0, p->t1 < p->t0 ? p->t0 - p->settle : p->t0 + p->settle);
    for (uint64_t i = 0; i < times_of(p); i++)
        put_pair(a->save_t, c->elem, i, p->list.of.times[i]);
    fill_summary(c);
}

static void fill_doses(struct chunk *c) {
    const struct dose_list *l = c->plan->doses;
    for (uint32_t i = 0; l && i < l->count; i++) {
        const struct dose *d = &l->dose[i];
        put_pair(c->args.doses, c->elem, 2 * (size_t)i, d->t);
        put(c->args.doses, c->elem, 4 * (size_t)i + 2, d->target);
        put(c->args.doses, c->elem, 4 * (size_t)i + 3, d->value);
    }
}

static void fill_records(struct chunk *c) {
    const struct plan_record *p = &c->plan->record;
    unsigned *to = (unsigned *)(uintptr_t)c->args.records;
    for (uint32_t i = 0; i < p->plan.count; i++) {
        to[2 * i] = p->first[i];
        to[2 * i + 1] = p->most[i];
    }
}

// Bytes of all records of a chunk, which are not numbers until they are written.
static uint64_t record_bytes(const struct chunk *c) {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < c->plan->record.arrays; i++)
        elements += c->plan->record.array[i].axis[0];
    return elements * c->args.head.rows * c->elem;
}

static void fill_dose_offsets(struct chunk *c) {
    unsigned *to = (unsigned *)(uintptr_t)c->args.dose_offset;
    for (uint32_t i = 0; to && i < c->args.head.rows; i++) {
        const struct dose_group *g =
            dose_list_find(c->plan->doses, c->batch, c->base.first_row + i);
        to[2 * i] = g ? g->first : 0;
        to[2 * i + 1] = g ? g->first + g->count : 0;
    }
}

_Static_assert(sizeof(struct shoal_call) + 6 * sizeof(void *) <= 1024,
               "any OpenCL device takes 1024 bytes of arguments, and may take no more");

static uint64_t bits_of(double x, size_t elem) {
    uint64_t bits = 0;
    float f = (float)x;
    memcpy(&bits, elem == sizeof(float) ? (const void *)&f : &x, elem);
    return bits;
}

_Static_assert(SHOAL_LENGTHS >= 3 + 3 * METHOD_STAGES, "dt and all of codegen_lengths");

// In the direction of the plan: rows that go the other way have other steps, and see so.
static void fill_lengths(struct chunk *c) {
    const struct plan *p = c->plan;
    const struct method *m = p->kernel[c->role].method;
    SHOAL_U64 *length = c->args.z.length;
    double h = p->t1 < p->t0 ? -p->dt : p->dt, product[SHOAL_LENGTHS - 1];
    if (!plan_fixed(p) || m->scheme != EXPLICIT)
        return;
    uint32_t count = codegen_lengths(m, h, c->elem == sizeof(float), product);
    length[0] = bits_of(h, c->elem);
    for (uint32_t i = 0; i < count; i++)
        length[1 + i] = bits_of(product[i], c->elem);
}

static void fill_sizes(struct chunk *c, uint32_t rows) {
    const struct plan *p = c->plan;
    bool steps = p->list.of.kind == SAMPLES_OWN;
    uint64_t samples = samples_of(p);
    c->args.head = (struct shoal_head){.rows = rows};
    c->args.z = (struct shoal_sizes){
        .keep_failed = p->keep_failed,
        .samples = (unsigned)times_of(p),
        .steps_saved = steps,
        .fixed_steps = plan_fixed(p) ? (unsigned)plan_fixed_steps(p) : 0,
        .has_dt0 = (unsigned)!isnan(p->dt0),
        .windows = p->summary.windows,
        .max_steps = p->max_steps,
        .var_stride = steps ? c->samples : rows * samples,
        .row_stride = p->limits.rows_fastest ? 1 : samples,
        .sample_stride = p->limits.rows_fastest ? rows : 1,
    };
    fill_lengths(c);
}

static SHOAL_U64 offset_in(const void *block, const void *array) {
    return array ? (SHOAL_U64)((const char *)array - (const char *)block) : SHOAL_NOWHERE;
}

// The arguments of a chunk that is laid out, for the kernel.
static void describe(struct chunk *c) {
    const struct shoal_args *a = &c->args;
    struct shoal_call *call = &c->parts->call;
    const void *read = c->base.launch.read.data, *written = c->base.launch.written.data,
               *resident = c->plan->signals.data;
    call->z = a->z;
#define X(block, name, type) call->name = offset_in(block, a->name);
    SHOAL_ARRAYS(X)
#undef X
    c->parts->fill[0] = (struct shoal_fill){call->status, a->head.rows, SHOAL_ROW_PENDING};
    c->parts->fill[1] = (struct shoal_fill){call->totals, TOTAL_COUNT * sizeof(uint64_t), 0};
    c->parts->fill[2] = (struct shoal_fill){call->record, record_bytes(c), 0xff};
    c->base.launch.fills = c->plan->record.arrays ? CHUNK_FILLS : CHUNK_FILLS - 1;
    direct_results(c);
}

shoal_code chunk_place(struct chunk *c, uint64_t first_row, uint32_t rows, struct report *r) {
    c->base.first_row = first_row;
    c->base.launch.read.stretches = 0;
    c->samples = 0;
    if (!lay(c, rows))
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for a chunk of %u runs; a smaller --chunk or --memory "
                            "may help",
                            rows);
    fill_sizes(c, rows);
    fill_uniform(c, rows);
    fill_control(c);
    fill_doses(c);
    fill_records(c);
    if (c->args.sample_offset)
        memset((void *)(uintptr_t)c->args.sample_offset, 0, (rows + 1) * sizeof(uint64_t));
    describe(c);
    return SHOAL_OK;
}

struct fill {
    struct chunk *c;
    uint32_t input; // of the batch,
    uint32_t array; // of the list
    void *in;
};

static void fill_rows(void *user, size_t first, size_t end) {
    const struct fill *f = user;
    const struct chunk *c = f->c;
    uint64_t row = c->base.first_row + first;
    uint32_t n = (uint32_t)(end - first);
    if (c->elem == sizeof(double)) {
        batch_fill(c->batch, f->input, row, n, (double *)f->in + first);
    } else if (c->host[f->array]) {
        double *number = (double *)c->host[f->array] + first;
        batch_fill(c->batch, f->input, row, n, number);
        for (uint32_t k = 0; k < n; k++)
            ((float *)f->in)[first + k] = (float)number[k];
    } else {
        batch_fill_f32(c->batch, f->input, row, n, (float *)f->in + first);
    }
}

static void fill_extra(struct chunk *c, uint32_t extra) {
    void *out = c->host[c->list->first_column + c->inputs + extra];
    if (out)
        batch_fill_extra(c->batch, extra, c->base.first_row, c->args.head.rows, out);
}

static void fill_chosen(struct chunk *c) {
    uint32_t rows = c->args.head.rows, *out = (uint32_t *)(uintptr_t)c->args.driver_row;
    uint64_t of_table = batch_table_rows(c->batch);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t run = batch_run_of_row(c->batch, c->base.first_row + i),
                 row = batch_table_row(c->batch, run);
        for (uint32_t k = 0; k < c->plan->model->signals.count; k++)
            out[(size_t)k * rows + i] = c->chosen[k * of_table + row];
    }
}

void chunk_fill_rows(struct chunk *c) {
    fill_dose_offsets(c);
    if (c->chosen)
        fill_chosen(c);
    if (c->run)
        batch_fill_runs(c->batch, c->base.first_row, c->args.head.rows, c->run);
    for (uint32_t i = 0; c->run && i < batch_extras(c->batch); i++)
        fill_extra(c, i);
}

void chunk_fill(struct chunk *c, uint32_t first, uint32_t end) {
    uint32_t rows = c->args.head.rows;
    for (uint32_t i = first; i < end; i++) {
        uint32_t array = c->list->first_column + c->order[i];
        struct fill f = {c, c->order[i], array, chunk_input(c, i)};
        if (direct_input(c, i))
            continue;
        if (c->elem == sizeof(double))
            c->host[array] = f.in;
        team_run(&c->runner->pool.team, c->plan->threads, rows, FILL_GRAIN, fill_rows, &f);
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
    free(c->times);
    c->times = malloc(sizeof(double) * total + 1);
    c->samples = total;
    if (!c->times || !lay(c, rows))
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for %llu samples of a chunk of %u runs; try a "
                            "smaller --chunk",
                            (unsigned long long)total, rows);
    c->args.z.var_stride = total;
    memcpy((void *)(uintptr_t)c->args.sample_offset, c->offsets, (rows + 1) * sizeof(uint64_t));
    describe(c);
    return SHOAL_OK;
}
