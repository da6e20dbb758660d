// SPDX-License-Identifier: MIT
// Batches of grids: shapes first, then chunks by a kernel or parts by stages.
//
// A CPU's kernel works on the caller's memory: its blocks begin at the lower of two addresses and
// reach to the end of the other. Where a device has its own memory, cells go through blocks of the
// pool.
#include "grid/run.h"

#include "log/log.h"

#include <stdlib.h>
#include <string.h>

LOG_LABEL(grid_run_execution, RUNTIME, 15, "a batch of grids through a pipeline");
LOG_LABEL(h2d_transfer_grids, RUNTIME, 57, "grids to the device");
LOG_LABEL(d2h_transfer_grids, RUNTIME, 105, "grids and their status from the device");

enum {
    STATUS_BYTES = 3,       // of a grid, as a kernel writes them
    STAGE_PS = 5000,        // of a stage, for a cell, about
    LOOK_US = 1500,         // of a look into the cache and of loading what is there, about
    COMPILE_MS = 120,       // of a kernel, about
    KERNEL_PS = 1000,       // of a stage in a kernel, for a cell, at most
    START_MS = 300,         // of a device, at least, with what is made for it
    QUICK_CELLS = 1 << 18,  // that a CPU makes in about the time that waking a thread takes
    BRIEF_PARTS = 64,       // so many times that, by each thread, is a moment
    QUICK_ROWS = 16,        // that it computes without starting any
    TEAM_MOST = 1024,       // threads of a grid
    GRAIN_PS = 100000000,   // of stages that a thread is worth waking for
    COPY_GRAIN = 256 << 10, // bytes that it copies at least
    SHAPE_BYTES = 32,       // of a grid besides its cells
    CHUNK_BYTES = 1 << 20,  // whose copy takes longer than the start of a chunk
    TABLE_GRIDS = 16,       // of one shape, for which a kernel makes tables
};

size_t grid_type_bytes(enum grid_type type) {
#define GRID_BYTES(name, word, ctype, least, most) sizeof(ctype),
    static const size_t bytes[] = {GRID_TYPES(GRID_BYTES)};
    return bytes[type];
}

static shoal_code no_memory(shoal_log *log) {
    return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
}

static shoal_code too_small(const struct grid_result *out, shoal_log *log) {
    return report_error(log_report(log), SHOAL_USAGE,
                        "there is room for %llu cells, and results have %llu",
                        (unsigned long long)out->room, (unsigned long long)out->needed);
}

// ---- Grids of a batch ---------------------------------------------------------------------------

static uint64_t cells_before(const struct grid_batch *b, uint64_t i) {
    return b->shapes ? b->offsets[i] : i * (uint64_t)b->height * (uint64_t)b->width;
}

static struct stages_in grid_of(const struct grid_batch *b, uint64_t i) {
    const char *cells = b->cells;
    return (struct stages_in){.cells = cells + cells_before(b, i) * grid_type_bytes(b->type),
                              .type = b->type,
                              .height = b->shapes ? b->shapes[2 * i] : b->height,
                              .width = b->shapes ? b->shapes[2 * i + 1] : b->width};
}

static uint64_t cells_of(const struct grid_batch *b, uint64_t i) {
    struct stages_in g = grid_of(b, i);
    return g.height > 0 && g.width > 0 ? (uint64_t)g.height * (uint64_t)g.width : 0;
}

// Cells of all grids from one up to another, as they lie in memory.
static uint64_t cells_between(const struct grid_batch *b, uint64_t first, uint64_t end) {
    return first == end ? 0
                        : cells_before(b, end - 1) + cells_of(b, end - 1) - cells_before(b, first);
}

// ---- Shapes -------------------------------------------------------------------------------------

static void set_shape(struct grid_result *out, uint64_t i, const struct stages_out *s) {
    bool ok = s->status == GRID_STATUS_OK;
    out->status[i] = (unsigned char)s->status;
    out->shapes[2 * i] = ok ? s->height : 0;
    out->shapes[2 * i + 1] = ok ? s->width : 0;
}

// What becomes of a shape, which is remembered: most grids are like the one before.
static bool find_shape(struct grid_runner *r, struct stages **s, const struct stages_in *g) {
    if (r->shape.height == g->height && r->shape.width == g->width && g->height)
        return true;
    if (!*s && !(*s = stages_new(r->plan)))
        return false;
    r->shape.height = 0;
    if (!stages_run(*s, g, true, NULL, &r->shape.out))
        return false;
    r->shape.height = g->height;
    r->shape.width = g->width;
    return true;
}

// Shapes that the input's shape decides.
static shoal_code known_shapes(struct grid_runner *r, const struct grid_batch *b,
                               struct grid_result *out, shoal_log *log) {
    struct stages *s = NULL;
    bool ok = true;
    for (uint64_t i = 0; ok && i < b->count; i++) {
        if (i == 0 || b->shapes) {
            struct stages_in g = grid_of(b, i);
            ok = find_shape(r, &s, &g);
        }
        set_shape(out, i, &r->shape.out);
    }
    stages_free(s);
    return ok ? SHOAL_OK : no_memory(log);
}

// Results lie one behind the other.
static void set_offsets(struct grid_result *out, uint64_t first, uint64_t end) {
    uint64_t at = first ? out->offsets[first - 1] + (uint64_t)out->shapes[2 * first - 2] *
                                                        (uint64_t)out->shapes[2 * first - 1]
                        : 0;
    for (uint64_t i = first; i < end; i++) {
        out->offsets[i] = at;
        at += (uint64_t)out->shapes[2 * i] * (uint64_t)out->shapes[2 * i + 1];
    }
    out->needed = at;
}

// A stack has a place for every grid.
static void set_stack(const struct grid_batch *b, struct grid_result *out) {
    out->stack = !b->shapes && b->count && out->status[0] == GRID_STATUS_OK;
    if (!out->stack)
        return;
    out->height = out->shapes[0];
    out->width = out->shapes[1];
}

// ---- By stages ----------------------------------------------------------------------------------

struct by_stages {
    const struct grid_runner *runner;
    const struct grid_batch *batch;
    struct grid_result *out;
    const struct dispatch_control *control;
    bool failed, stopped; // atomic
};

static bool asked_to_stop(const struct dispatch_control *c) {
    return c && (dispatch_is_set(c->stop[0]) || dispatch_is_set(c->stop[1]));
}

static void clear_cells(struct grid_result *out, uint64_t i) {
    size_t bytes = grid_type_bytes(out->type);
    uint64_t count = (uint64_t)out->height * (uint64_t)out->width;
    if (out->stack && out->cells && !out->keep)
        memset((char *)out->cells + i * count * bytes, 0, count * bytes);
    else if (!out->stack || !out->cells)
        out->shapes[2 * i] = out->shapes[2 * i + 1] = 0;
}

void grid_mark(struct grid_result *out, uint64_t i, enum grid_status status) {
    out->status[i] = (unsigned char)status;
    clear_cells(out, i);
}

static bool one_by_stages(struct by_stages *w, struct stages *s, uint64_t i) {
    struct grid_result *out = w->out;
    struct stages_in g = grid_of(w->batch, i);
    struct stages_out found;
    const volatile int *stop = w->control ? w->control->stop[0] : NULL;
    if (!stages_run(s, &g, !out->cells, stop, &found))
        return false;
    if (!out->cells || !w->runner->plan->one_shape)
        set_shape(out, i, &found);
    if (!out->cells)
        return true;
    char *to = (char *)out->cells + out->offsets[i] * grid_type_bytes(out->type);
    if (found.status == GRID_STATUS_OK && !stages_store(s, out->type, to))
        found.status = GRID_STATUS_RANGE;
    out->status[i] = (unsigned char)found.status;
    if (found.status != GRID_STATUS_OK)
        grid_mark(out, i, found.status);
    return true;
}

static void stages_part(void *user, size_t first, size_t end) {
    struct by_stages *w = user;
    struct stages *s = stages_new(w->runner->plan);
    bool ok = s;
    for (size_t i = first; ok && i < end; i++) {
        if (asked_to_stop(w->control))
            __atomic_store_n(&w->stopped, true, __ATOMIC_RELAXED);
        if (__atomic_load_n(&w->stopped, __ATOMIC_RELAXED))
            break;
        ok = one_by_stages(w, s, i);
    }
    if (!ok)
        __atomic_store_n(asked_to_stop(w->control) ? &w->stopped : &w->failed, true,
                         __ATOMIC_RELAXED);
    stages_free(s);
}

static shoal_code run_stages(struct grid_runner *r, const struct grid_batch *b,
                             struct grid_result *out, const struct dispatch_control *control,
                             shoal_log *log) {
    struct by_stages w = {.runner = r, .batch = b, .out = out, .control = control};
    uint64_t of_grid = cells_between(b, 0, b->count) / b->count * r->plan->nodes.count * STAGE_PS;
    team_run(&r->pool.team, r->threads, b->count, GRAIN_PS / (of_grid + 1) + 1, stages_part, &w);
    return w.failed ? no_memory(log) : w.stopped ? SHOAL_STOPPED : SHOAL_OK;
}

// Shapes first, so that every result has its place.
static shoal_code measure_stages(struct grid_runner *r, const struct grid_batch *b,
                                 struct grid_result *out, const struct dispatch_control *control,
                                 shoal_log *log) {
    void *cells = out->cells;
    out->cells = NULL;
    shoal_code code = run_stages(r, b, out, control, log);
    out->cells = cells;
    if (code != SHOAL_OK)
        return code;
    set_offsets(out, 0, b->count);
    return out->needed > out->room ? too_small(out, log) : SHOAL_OK;
}

// ---- By a kernel --------------------------------------------------------------------------------

struct grid_chunk {
    struct dispatch_chunk base;
    struct grid_args args;
    struct shoal_piece read, written;
    struct shoal_place place[8];
    struct shoal_fill fill;
    unsigned char *status; // as the kernel writes it
    int32_t *shapes;
    char *cells;
    uint64_t first, count; // grids
};

struct by_kernel {
    struct grid_runner *runner;
    const struct grid_batch *batch;
    struct grid_result *out;
    const struct grid_made *made;
    struct grid_chunk chunk[DISPATCH_SLOTS];
    struct dispatch loop;
    uint32_t team, group; // rows of a grid, or grids of a row
    uint64_t most;        // cells of a grid in a workspace
    bool shared;          // the kernel works on the caller's memory
};

static struct grid_chunk *chunk_of(struct by_kernel *k, const struct dispatch_chunk *c) {
    return &k->chunk[c->place];
}

// Threads of a CPU that a kernel needs for cells, each for as long as waking it takes.
static uint64_t threads_for(const struct grid_code *code, uint64_t cells) {
    uint64_t passes = code->vectors ? 1 : 16 * (uint64_t)(code->passes ? code->passes : 1);
    return cells * passes / QUICK_CELLS + 1;
}

static uint64_t cells_of_all(const struct by_kernel *k) {
    return cells_between(k->batch, 0, k->batch->count) + k->out->needed;
}

// A CPU computes few rows in the calling thread.
static uint32_t group_of(const struct by_kernel *k) {
    if (!k->shared || threads_for(&k->made->code, cells_of_all(k)) > 1)
        return 1;
    return (uint32_t)((k->batch->count + QUICK_ROWS - 1) / QUICK_ROWS);
}

// How many threads are done with it in a moment; 0: who knows, with generations or components.
static uint32_t brief_of(const struct by_kernel *k) {
    uint64_t threads = threads_for(&k->made->code, cells_of_all(k));
    bool moment = threads <= (uint64_t)BRIEF_PARTS * k->runner->threads;
    return k->made->code.vectors && moment ? (uint32_t)threads : 0;
}

static shoal_code make(void *user, uint32_t place, uint32_t rows, struct dispatch_chunk **out) {
    struct by_kernel *k = user;
    struct grid_chunk *c = &k->chunk[place];
    size_t workspace = k->shared ? 0 : k->made->code.slots * k->most * sizeof(int32_t);
    (void)rows;
    *c = (struct grid_chunk){0};
    c->base.launch = (struct shoal_launch){.args = &c->args,
                                           .args_bytes = sizeof c->args,
                                           .place = c->place,
                                           .fill = &c->fill,
                                           .fills = 1,
                                           .threads = k->runner->threads,
                                           .brief = brief_of(k),
                                           .workspace = workspace};
    c->base.module = k->made->kernel->module;
    c->base.head = &c->args.head;
    c->base.resident = k->made->kernel->facts.resident;
    *out = &c->base;
    return SHOAL_OK;
}

// Parts of a block: each somewhere in memory, or, without an address, behind the one before.
struct part {
    const void *data; // NULL: it has no place of its own
    size_t bytes;
    bool wanted;
    size_t offset; // in the block, found
};

static size_t aligned(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static size_t pack(struct part *part, uint32_t parts) {
    size_t at = 0;
    for (uint32_t i = 0; i < parts; i++) {
        part[i].offset = at;
        at += part[i].wanted ? aligned(part[i].bytes) : 0;
    }
    return at;
}

// One block over all that lie in memory somewhere.
static struct shoal_block span_over(struct part *part, uint32_t parts) {
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (uint32_t i = 0; i < parts; i++) {
        uintptr_t at = (uintptr_t)part[i].data;
        low = part[i].wanted && at < low ? at : low;
        high = part[i].wanted && at + part[i].bytes > high ? at + part[i].bytes : high;
    }
    for (uint32_t i = 0; i < parts; i++)
        part[i].offset = part[i].wanted ? (uintptr_t)part[i].data - low : 0;
    return (struct shoal_block){.data = (void *)low, .bytes = high - low, .pieces = 1};
}

static SHOAL_U64 offset_of(const struct part *p) { return p->wanted ? p->offset : SHOAL_NOWHERE; }

struct copying {
    char *to;
    const char *from;
};

static void copy_part(void *user, size_t first, size_t end) {
    const struct copying *c = user;
    memcpy(c->to + first, c->from + first, end - first);
}

// Between the caller's memory and blocks, by several threads where that is worth it.
static void copy_cells(struct by_kernel *k, char *to, const char *from, size_t bytes) {
    struct grid_runner *r = k->runner;
    team_run(&r->pool.team, r->threads, bytes, COPY_GRAIN, copy_part, &(struct copying){to, from});
}

// What the kernel reads: cells; shapes and offsets of those that have them; places of results.
enum { READ_CELLS, READ_SHAPES, READ_OFFSETS, READ_PLACES, READ_PARTS };

static void copy_offsets(uint64_t *to, const uint64_t *from, uint64_t count, uint64_t less) {
    for (uint64_t i = 0; i < count; i++)
        to[i] = from[i] - less;
}

// Cells that are on the device already.
static void read_kept(const struct by_kernel *k, struct grid_chunk *c) {
    const struct grid_batch *b = k->batch;
    size_t bytes = grid_type_bytes(b->type);
    c->args.resident = 1;
    c->args.cells = b->kept->at + cells_before(b, c->first) * bytes;
    c->base.launch.resident = b->kept->block;
    c->place[c->base.launch.places++] = (struct shoal_place){
        SHOAL_RESIDENT, c->args.cells, cells_between(b, c->first, c->first + c->count) * bytes};
}

static shoal_code fill_read(struct by_kernel *k, struct grid_chunk *c, bool places) {
    const struct grid_batch *b = k->batch;
    size_t bytes = grid_type_bytes(b->type), n = c->count;
    uint64_t before = cells_before(b, c->first);
    const char *from = b->cells ? (const char *)b->cells + before * bytes : NULL;
    uint64_t cells = b->kept ? 0 : cells_between(b, c->first, c->first + n);
    bool shapes = b->shapes;
    struct part part[READ_PARTS] = {
        {k->shared && shapes ? b->cells : from, cells * bytes, cells > 0, 0},
        {shapes ? b->shapes + 2 * c->first : NULL, n * 2 * sizeof(int32_t), shapes, 0},
        {shapes ? b->offsets + c->first : NULL, n * sizeof(uint64_t), shapes, 0},
        {places ? k->out->offsets + c->first : NULL, n * sizeof(uint64_t), places, 0}};
    struct shoal_block *block = &c->base.launch.read;
    if (k->shared) {
        part[READ_CELLS].bytes += shapes && cells ? before * bytes : 0;
        *block = span_over(part, READ_PARTS);
    } else {
        size_t all = pack(part, READ_PARTS);
        char *data = pool_block(&k->runner->pool, c->base.place, DISPATCH_READ, all);
        if (!data)
            return SHOAL_MEMORY;
        if (cells)
            copy_cells(k, data, from, part[READ_CELLS].bytes);
        if (shapes) {
            memcpy(data + part[READ_SHAPES].offset, part[READ_SHAPES].data,
                   part[READ_SHAPES].bytes);
            copy_offsets((uint64_t *)(void *)(data + part[READ_OFFSETS].offset),
                         b->offsets + c->first, n, before);
        }
        if (places)
            copy_offsets((uint64_t *)(void *)(data + part[READ_PLACES].offset),
                         k->out->offsets + c->first, n, k->out->offsets[c->first]);
        *block = (struct shoal_block){.data = data, .bytes = all, .pieces = 1};
    }
    c->read = (struct shoal_piece){LOG_h2d_transfer_grids, 0, block->bytes};
    block->piece = &c->read;
    block->pieces = block->bytes > 0;
    c->args.cells = part[READ_CELLS].offset;
    c->args.shapes = offset_of(&part[READ_SHAPES]);
    c->args.offsets = offset_of(&part[READ_OFFSETS]);
    c->args.places = offset_of(&part[READ_PLACES]);
    c->base.launch.places = 0;
    for (uint32_t i = 0; i < READ_PARTS; i++)
        if (part[i].wanted)
            c->place[c->base.launch.places++] =
                (struct shoal_place){SHOAL_READ, part[i].offset, part[i].bytes};
    if (b->kept)
        read_kept(k, c);
    return SHOAL_OK;
}

// What it writes: status and shapes, and cells where they are wanted.
enum { WRITTEN_STATUS, WRITTEN_SHAPES, WRITTEN_CELLS, WRITTEN_PARTS };

static uint64_t result_cells(const struct grid_result *out, uint64_t first, uint64_t count) {
    if (out->stack)
        return count * (uint64_t)out->height * (uint64_t)out->width;
    uint64_t last = first + count - 1;
    return out->offsets[last] - out->offsets[first] +
           (uint64_t)out->shapes[2 * last] * (uint64_t)out->shapes[2 * last + 1];
}

static shoal_code fill_written(struct by_kernel *k, struct grid_chunk *c, bool cells) {
    struct grid_result *out = k->out;
    size_t bytes = grid_type_bytes(out->type), n = c->count;
    uint64_t before = !cells       ? 0
                      : out->stack ? c->first * (uint64_t)out->height * (uint64_t)out->width
                                   : out->offsets[c->first];
    uint64_t count = cells ? result_cells(out, c->first, n) : 0;
    char *to = cells ? (char *)out->cells + (k->shared && !out->stack ? 0 : before * bytes) : NULL;
    struct part part[WRITTEN_PARTS] = {{NULL, n * STATUS_BYTES, true, 0},
                                       {NULL, n * 2 * sizeof(int32_t), true, 0},
                                       {to, count * bytes, cells && count, 0}};
    bool own = k->shared && cells && count; // cells stay where they are
    size_t all = pack(part, own ? WRITTEN_CELLS : WRITTEN_PARTS);
    size_t back = out->keep && cells ? part[WRITTEN_CELLS].offset : all;
    char *data = pool_block(&k->runner->pool, c->base.place, DISPATCH_WRITTEN, back);
    struct shoal_block *block = &c->base.launch.written;
    if (!data)
        return SHOAL_MEMORY;
    *block = (struct shoal_block){.data = data, .bytes = back, .pieces = 1};
    c->base.launch.stays = all - back;
    c->status = (unsigned char *)data + part[WRITTEN_STATUS].offset;
    c->shapes = (int32_t *)(void *)(data + part[WRITTEN_SHAPES].offset);
    c->cells = cells && !k->shared && !out->keep ? data + part[WRITTEN_CELLS].offset : NULL;
    if (own) {
        part[WRITTEN_STATUS].data = c->status;
        part[WRITTEN_SHAPES].data = c->shapes;
        part[WRITTEN_CELLS].bytes += out->stack ? 0 : before * bytes;
        *block = span_over(part, WRITTEN_PARTS);
    }
    c->written = (struct shoal_piece){LOG_d2h_transfer_grids, 0, block->bytes};
    block->piece = &c->written;
    c->args.status = part[WRITTEN_STATUS].offset;
    c->args.out_shapes = part[WRITTEN_SHAPES].offset;
    c->args.out = part[WRITTEN_CELLS].wanted ? part[WRITTEN_CELLS].offset : 0;
    for (uint32_t i = 0; i < WRITTEN_PARTS; i++)
        if (part[i].wanted)
            c->place[c->base.launch.places++] =
                (struct shoal_place){SHOAL_WRITTEN, part[i].offset, part[i].bytes};
    c->fill = (struct shoal_fill){part[WRITTEN_STATUS].offset, n * STATUS_BYTES, 0};
    return SHOAL_OK;
}

// Whether this CPU takes bytes from anywhere in two registers.
static bool has_anywhere(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512vbmi");
#else
    return false;
#endif
}

// Where the shapes are known, cells are made at once.
static shoal_code lay_out(struct by_kernel *k, struct grid_chunk *c, bool cells) {
    const struct grid_result *out = k->out;
    int32_t span = log_begin(k->loop.job->log, LOG_h2d_transfer_grids);
    c->args.team = k->team;
    c->args.group = k->group;
    c->args.grids = (uint32_t)c->count;
    c->args.shapes_only = !cells;
    c->args.anywhere = !k->batch->shapes && c->count >= TABLE_GRIDS && has_anywhere();
    c->args.height = k->batch->height;
    c->args.width = k->batch->width;
    c->args.out_height = out->height;
    c->args.out_width = out->width;
    c->args.workspace = c->base.launch.workspace;
    c->args.most = k->most;
    memcpy(c->args.given, k->made->code.constant, sizeof c->args.given);
    shoal_code code = fill_read(k, c, cells && !out->stack);
    if (code == SHOAL_OK)
        code = fill_written(k, c, cells);
    dispatch_end_transfer(&k->loop, &c->base, span, (uint32_t)c->count, c->read.bytes);
    return code == SHOAL_OK ? code : no_memory(k->loop.job->log);
}

// Grids that so many rows from the start of a chunk are.
static uint64_t grids_of(const struct by_kernel *k, const struct dispatch_chunk *chunk,
                         uint32_t rows) {
    uint64_t left = k->batch->count - chunk->first_row / k->team * k->group;
    uint64_t count = (uint64_t)rows / k->team * k->group;
    return count < left ? count : left;
}

static shoal_code fill(void *user, struct dispatch_chunk *chunk) {
    struct by_kernel *k = user;
    struct grid_chunk *c = chunk_of(k, chunk);
    if (chunk->rows % k->team)
        return report_error(log_report(k->loop.job->log), SHOAL_MEMORY,
                            "the device has not enough memory for one grid");
    c->first = chunk->first_row / k->team * k->group;
    c->count = grids_of(k, chunk, chunk->rows);
    if (k->out->keep && c->count < k->batch->count)
        return report_error(log_report(k->loop.job->log), SHOAL_MEMORY,
                            "the device has not enough memory for grids that stay there");
    bool known = k->runner->plan->one_shape && k->out->cells;
    return lay_out(k, c, known);
}

static enum grid_status status_of(const unsigned char *s) {
    return s[0] > 1 ? (enum grid_status)(s[0] - 1)
           : s[1]   ? GRID_STATUS_DIVISION
           : s[2]   ? GRID_STATUS_RANGE
                    : GRID_STATUS_OK;
}

static uint32_t finished_grids(const struct grid_chunk *c) {
    uint32_t n = 0;
    while (n < c->count && c->status[STATUS_BYTES * n])
        n++;
    return n;
}

static uint32_t finished(void *user, const struct dispatch_chunk *chunk) {
    struct by_kernel *k = user;
    uint32_t grids = finished_grids(chunk_of(k, chunk));
    bool all = grids == chunk_of(k, chunk)->count;
    return all ? chunk->rows : grids / k->group * k->team;
}

// Shapes of a chunk, as a first pass over it found them.
static void take_shapes(struct by_kernel *k, const struct grid_chunk *c, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        enum grid_status status = status_of(c->status + STATUS_BYTES * i);
        set_shape(k->out, c->first + i,
                  &(struct stages_out){status, c->shapes[2 * i], c->shapes[2 * i + 1]});
    }
    set_offsets(k->out, c->first, c->first + count);
}

// Results whose shapes the cells decide: a pass for shapes comes first.
static shoal_code measure(void *user, struct dispatch_chunk *chunk) {
    struct by_kernel *k = user;
    struct grid_chunk *c = chunk_of(k, chunk);
    if (k->runner->plan->one_shape || !k->out->cells)
        return SHOAL_OK;
    shoal_code code = dispatch_run(&k->loop, chunk);
    if (code != SHOAL_OK)
        return code;
    take_shapes(k, c, c->count);
    if (k->out->needed > k->out->room)
        return too_small(k->out, k->loop.job->log);
    return lay_out(k, c, true);
}

uint64_t grid_cells_before(const struct grid_result *out, uint64_t i) {
    if (out->stack)
        return i * (uint64_t)out->height * (uint64_t)out->width;
    return i == 0 ? 0
                  : out->offsets[i - 1] +
                        (uint64_t)out->shapes[2 * i - 2] * (uint64_t)out->shapes[2 * i - 1];
}

static void take_cells(struct by_kernel *k, const struct grid_chunk *c, uint64_t count) {
    struct grid_result *out = k->out;
    size_t bytes = grid_type_bytes(out->type);
    uint64_t before = out->stack ? c->first * (uint64_t)out->height * (uint64_t)out->width
                                 : out->offsets[c->first];
    if (c->cells)
        copy_cells(k, (char *)out->cells + before * bytes, c->cells,
                   result_cells(out, c->first, count) * bytes);
    for (uint64_t i = 0; i < count; i++) {
        enum grid_status status = status_of(c->status + STATUS_BYTES * i);
        out->status[c->first + i] = (unsigned char)status;
        if (status != GRID_STATUS_OK)
            grid_mark(out, c->first + i, status);
    }
}

static shoal_code deliver(void *user, struct dispatch_chunk *chunk, uint32_t rows) {
    struct by_kernel *k = user;
    const struct grid_chunk *c = chunk_of(k, chunk);
    int32_t span = log_begin(k->loop.job->log, LOG_d2h_transfer_grids);
    uint64_t count = grids_of(k, chunk, rows);
    if (k->out->cells)
        take_cells(k, c, count);
    else
        take_shapes(k, c, count);
    k->out->delivered = c->first + count;
    dispatch_end_transfer(&k->loop, chunk, span, (uint32_t)count, c->written.bytes);
    return SHOAL_OK;
}

// ---- Cells that stay ----------------------------------------------------------------------------

void grid_kept_free(struct grid_kept *k) {
    if (k->block)
        k->backend->resident_close(k->block);
    if (k->device)
        kernel_device_close(k->device);
    *k = (struct grid_kept){0};
}

shoal_code grid_kept_read(const struct grid_kept *k, size_t bytes, void *to, struct report *r) {
    return k->block && bytes ? k->backend->resident_read(k->block, k->at, bytes, to, r) : SHOAL_OK;
}

// ---- Sizes --------------------------------------------------------------------------------------

static int32_t side_bound(const struct grid_plan *p, uint32_t number, int32_t h, int32_t w) {
    const struct grid_node *n = grid_at(p, number);
    switch ((int)n->op) {
    case GRID_NUMBER:
        return n->value;
    case GRID_IN_HEIGHT:
        return h;
    case GRID_IN_WIDTH:
        return w;
    default:
        return GRID_SIDE_MOST;
    }
}

// Cells that a grid of the plan has at most, for inputs up to a size: those that are stored may be
// any of them, and so may bits of generations, which want to be aligned.
static uint64_t cells_bound(const struct grid_plan *p, int32_t h, int32_t w) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        const struct grid_node *n = grid_at(p, i);
        if (!n->cells)
            continue;
        uint64_t rows = (uint64_t)side_bound(p, n->height, h, w);
        uint64_t columns = (uint64_t)side_bound(p, n->width, h, w), cells = rows * columns;
        if (n->op == GRID_STEP && GRID_STEP_CELLS(rows, columns) > cells)
            cells = GRID_STEP_CELLS(rows, columns);
        most = cells > most ? cells : most;
    }
    return aligned(most);
}

static void largest_input(const struct grid_batch *b, int32_t *h, int32_t *w) {
    *h = b->shapes ? 1 : b->height;
    *w = b->shapes ? 1 : b->width;
    for (uint64_t i = 0; b->shapes && i < b->count; i++) {
        struct stages_in g = grid_of(b, i);
        *h = g.height > *h && g.height <= GRID_SIDE_MOST ? g.height : *h;
        *w = g.width > *w && g.width <= GRID_SIDE_MOST ? g.width : *w;
    }
}

// Threads of a grid: as many as its result has cells, up to a power of two.
static uint32_t team_of(const struct by_kernel *k) {
    uint32_t team = 1;
    uint64_t cells = k->batch->count ? k->out->needed / k->batch->count : 1;
    if (k->shared || !k->made->code.one_pass || !k->out->cells || !k->runner->plan->one_shape)
        return 1;
    while (team < TEAM_MOST && team < cells)
        team *= 2;
    return team;
}

static uint64_t all_rows(const struct by_kernel *k) {
    return (k->batch->count + k->group - 1) / k->group * k->team;
}

// Where a grid is one thread a chunk that fills the device would be most batches: copies overlap
// with kernels instead.
static uint32_t rows_to_overlap(uint64_t rows, uint64_t bytes, const struct shoal_limits *limits) {
    uint64_t part = rows / limits->slots, least = CHUNK_BYTES / bytes + 1;
    uint64_t enough = part > least ? part : least;
    return enough < limits->rows_wanted ? (uint32_t)enough : limits->rows_wanted;
}

static uint32_t chunk_rows(const struct by_kernel *k, const struct shoal_limits *limits) {
    const struct grid_batch *b = k->batch;
    uint64_t rows = all_rows(k), grids = 1;
    if (k->shared || k->out->keep)
        return rows < UINT32_MAX / 2 ? (uint32_t)rows : UINT32_MAX / 2;
    uint64_t in = cells_between(b, 0, b->count) * grid_type_bytes(b->type);
    uint64_t out = k->out->needed * grid_type_bytes(k->out->type);
    uint64_t bytes = (in + out + SHAPE_BYTES * b->count) / rows + 1 +
                     k->made->code.slots * k->most * sizeof(int32_t);
    struct shoal_limits most = *limits;
    if (k->team == 1)
        most.rows_wanted = rows_to_overlap(rows, (in + out) / rows + 1, limits);
    struct dispatch_size size = {.rows = rows,
                                 .row_bytes = bytes,
                                 .row_host = bytes,
                                 .most = UINT32_MAX / 2,
                                 .chunk = k->runner->chunk * k->team,
                                 .memory = k->runner->memory,
                                 .limits = &most};
    uint32_t wanted = dispatch_rows(&size);
    while (grids * 2 * k->team <= wanted)
        grids *= 2;
    return (uint32_t)(grids * k->team);
}

static shoal_code take_kept(const struct by_kernel *k) {
    struct grid_kept *kept = k->out->keep;
    const struct grid_runner *r = k->runner;
    kept->backend = r->backend;
    kept->device = r->device;
    kept->block = r->backend->resident_take(k->chunk[0].base.slot);
    kept->at = k->chunk[0].args.out;
    kernel_device_keep(r->device);
    return kept->block ? SHOAL_OK : no_memory(k->loop.job->log);
}

static shoal_code run_kernel(struct grid_runner *r, const struct grid_batch *b,
                             struct grid_result *out, const struct dispatch_control *control,
                             shoal_log *log) {
    static const struct dispatch_engine engine = {
        .make = make, .fill = fill, .measure = measure, .finished = finished, .deliver = deliver};
    struct shoal_limits limits = r->backend->limits(r->device);
    struct by_kernel *k = calloc(1, sizeof *k);
    int32_t h, w;
    if (!k)
        return no_memory(log);
    k->runner = r;
    k->batch = b;
    k->out = out;
    k->made = &r->made[b->type][out->type];
    k->shared = !r->backend->target(r->device)->device;
    largest_input(b, &h, &w);
    k->most = cells_bound(r->plan, h, w);
    k->team = team_of(k);
    k->group = group_of(k);
    r->pool.backend = r->backend;
    r->pool.device = r->device;
    struct dispatch_job job = {.engine = &engine,
                               .user = k,
                               .pool = &r->pool,
                               .limits = limits,
                               .rows = all_rows(k),
                               .chunk_rows = chunk_rows(k, &limits),
                               .one_at_a_time = !r->plan->one_shape,
                               .control = control,
                               .log = log};
    shoal_code code = dispatch_all(&k->loop, &job);
    if (code == SHOAL_OK && out->keep && out->cells)
        code = take_kept(k);
    free(k);
    return code;
}

// ---- The way ------------------------------------------------------------------------------------

// Cells times nodes that stages would compute with a batch, and have or would have with those
// before; and the microseconds that this takes.
static uint64_t staged_with(const struct grid_runner *r, const struct grid_batch *b) {
    return r->staged + cells_between(b, 0, b->count) * r->plan->nodes.count;
}
static uint64_t staged_us(uint64_t staged) { return staged / (1000000 / STAGE_PS); }

// By stages, or by a kernel that is compiled first.
bool grid_is_early(const struct grid_runner *r, const struct grid_batch *b) {
    uint64_t units = staged_with(r, b);
    uint64_t us = COMPILE_MS * 1000 + units / (1000000 / KERNEL_PS) / r->threads;
    return staged_us(units) < COMPILE_MS * 1000 || us < START_MS * 1000;
}

struct grid_load grid_load_of(struct grid_runner *r, const struct grid_batch *b,
                              enum grid_type out) {
    uint64_t in = cells_between(b, 0, b->count), made = in;
    struct stages_in g = b->count ? grid_of(b, 0) : (struct stages_in){0};
    struct stages *s = NULL;
    if (!b->shapes && r->plan->one_shape && b->count && find_shape(r, &s, &g))
        made = b->count * (uint64_t)r->shape.out.height * (uint64_t)r->shape.out.width;
    stages_free(s);
    double grids = b->count ? (double)b->count : 1;
    return (struct grid_load){
        .units = (double)(in + made) * r->plan->nodes.count / grids,
        .in_bytes = (double)(in * grid_type_bytes(b->type)) / grids,
        .out_bytes = (double)(made * grid_type_bytes(out)) / grids + STATUS_BYTES,
        .alone = threads_for(&r->made[b->type][out].code, in + made) == 1,
        .ready = r->made[b->type][out].kernel || staged_us(in * r->plan->nodes.count) < LOOK_US};
}

// The kernel, where it is the way to go; else *stages. A CPU without a compiler has its stages.
static shoal_code choose_way(struct grid_runner *r, const struct grid_batch *b,
                             const struct grid_result *out, bool *stages, shoal_log *log) {
    bool cpu = !r->backend->target(r->device)->device;
    *stages = r->way == GRID_BY_STAGES;
    if (*stages)
        return SHOAL_OK;
    r->staged = staged_with(r, b);
    uint64_t us = r->way == GRID_BY_CHOICE && cpu ? staged_us(r->staged) : UINT64_MAX;
    if (us < COMPILE_MS * 1000 && !r->made[b->type][out->type].kernel) {
        struct grid_found found = {0};
        shoal_code code = SHOAL_OK;
        if (us >= LOOK_US)
            code = grid_kernel_look(r, b->type, out->type, &found, log);
        *stages = code != SHOAL_OK || !found.cached;
        if (*stages)
            return SHOAL_OK;
    }
    shoal_code code = grid_kernel(r, b->type, out->type, log);
    bool refused = r->made[b->type][out->type].refused;
    if (r->way == GRID_BY_CHOICE && cpu && (code == SHOAL_DEVICE || refused)) {
        *stages = true;
        return SHOAL_OK;
    }
    return code;
}

static shoal_code run_either(struct grid_runner *r, const struct grid_batch *b,
                             struct grid_result *out, const struct dispatch_control *control,
                             shoal_log *log) {
    bool stages = false;
    shoal_code code = choose_way(r, b, out, &stages, log);
    if (code != SHOAL_OK)
        return code;
    r->by_stages = stages;
    if (!stages)
        return run_kernel(r, b, out, control, log);
    if (out->cells && !r->plan->one_shape)
        code = measure_stages(r, b, out, control, log);
    return code == SHOAL_OK ? run_stages(r, b, out, control, log) : code;
}

// Grids of one shape that no pipeline takes are all marked.
static bool mark_all(const struct grid_batch *b, struct grid_result *out) {
    bool empty = b->height < 1 || b->width < 1;
    bool large = b->height > GRID_SIDE_MOST || b->width > GRID_SIDE_MOST;
    if (b->shapes || !(empty || large))
        return false;
    struct stages_out marked = {.status = empty ? GRID_STATUS_EMPTY : GRID_STATUS_SIZE};
    for (uint64_t i = 0; i < b->count; i++) {
        set_shape(out, i, &marked);
        out->offsets[i] = 0;
    }
    out->needed = 0;
    return true;
}

shoal_code grid_shapes(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                       shoal_log *log) {
    static const struct dispatch_control nobody = {0};
    void *cells = out->cells;
    out->stack = false;
    out->needed = 0;
    shoal_code code = SHOAL_OK;
    if (!b->count || mark_all(b, out))
        return code;
    if (r->plan->one_shape) {
        code = known_shapes(r, b, out, log);
        if (code == SHOAL_OK)
            set_stack(b, out);
    } else {
        out->cells = NULL;
        code = run_either(r, b, out, &nobody, log);
        out->cells = cells;
    }
    if (code == SHOAL_OK)
        set_offsets(out, 0, b->count);
    return code;
}

shoal_code grid_run(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                    const struct dispatch_control *control, shoal_log *log) {
    int32_t span = log_begin(log, LOG_grid_run_execution);
    shoal_code code = SHOAL_OK;
    out->delivered = 0;
    log_u64(log, span, "numgrids", b->count);
    bool known = r->plan->one_shape;
    out->stack = false;
    out->needed = 0;
    if (known)
        code = grid_shapes(r, b, out, log);
    if (code == SHOAL_OK && out->needed > out->room)
        code = too_small(out, log);
    bool none = !b->count || (known && !out->needed) || mark_all(b, out);
    if (code == SHOAL_OK && !none)
        code = run_either(r, b, out, control, log);
    log_text(log, span, "by", r->by_stages ? "stages" : r->backend->name);
    log_end(log, span);
    return code;
}
