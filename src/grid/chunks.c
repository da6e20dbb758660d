// SPDX-License-Identifier: MIT
// A batch of grids by a kernel, in chunks.
//
// A CPU's kernel works on the caller's memory: its blocks begin at the lower of two addresses and
// reach to the end of the other. Where a device has its own memory, cells go through blocks of the
// pool.
#include "grid/batch.h"

#include "log/log.h"

#include <stdlib.h>
#include <string.h>

LOG_LABEL(h2d_transfer_grids, RUNTIME, 57, "grids to the device");
LOG_LABEL(d2h_transfer_grids, RUNTIME, 105, "grids and their status from the device");

enum {
    QUICK_CELLS = 1 << 18,  // that a CPU makes in about the time that waking a thread takes
    BRIEF_PARTS = 64,       // so many times that, by each thread, is a moment
    QUICK_ROWS = 16,        // that it computes without starting any
    TEAM_MOST = 1024,       // threads of a grid
    BLOCK_LEAST = 32,       // of one that is a block,
    BLOCK_CELLS = 8,        // for so many cells each
    SHARED_CELLS = 64 * 64, // of a grid that a block has in its own memory, at most
    COPY_GRAIN = 256 << 10, // bytes that it copies at least
    SHAPE_BYTES = 32,       // of a grid besides its cells
    CHUNK_BYTES = 1 << 20,  // whose copy takes longer than the start of a chunk
    TABLE_GRIDS = 16,       // of one shape, for which a kernel makes tables
};

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
    uint64_t most;        // cells of a grid in a workspace,
    uint64_t shared_most; // and in memory of a block
    bool shared;          // the kernel works on the caller's memory
};

static struct grid_chunk *chunk_of(struct by_kernel *k, const struct dispatch_chunk *c) {
    return &k->chunk[c->place];
}

// Threads of a CPU that a kernel needs for cells, each for as long as waking it takes.
uint64_t chunks_threads(const struct grid_code *code, uint64_t cells) {
    uint64_t passes = code->vectors ? 1 : 16 * (uint64_t)(code->passes ? code->passes : 1);
    return cells * passes / QUICK_CELLS + 1;
}

static uint64_t cells_of_all(const struct by_kernel *k) {
    return batch_between(k->batch, 0, k->batch->count) + k->out->needed;
}

// A CPU computes few rows in the calling thread.
static uint32_t group_of(const struct by_kernel *k) {
    if (!k->shared || chunks_threads(&k->made->code, cells_of_all(k)) > 1)
        return 1;
    return (uint32_t)((k->batch->count + QUICK_ROWS - 1) / QUICK_ROWS);
}

// How many threads are done with it in a moment; 0: who knows, with generations or components.
static uint32_t brief_of(const struct by_kernel *k) {
    uint64_t threads = chunks_threads(&k->made->code, cells_of_all(k));
    bool moment = threads <= (uint64_t)BRIEF_PARTS * k->runner->threads;
    return k->made->code.vectors && moment ? (uint32_t)threads : 0;
}

// Bytes that a thread of a device needs: a team has all of its grid.
static size_t workspace_of(const struct by_kernel *k) {
    size_t all = k->shared ? 0 : k->made->code.slots * k->most * sizeof(int32_t);
    return (all / k->team + (all % k->team > 0) + 15) & ~(size_t)15;
}

// Bytes that a block shares, for grids of so many cells.
static size_t shared_bytes(uint64_t cells) { return (GRID_WORDS + 2 * cells) * sizeof(int32_t); }

static shoal_code make(void *user, uint32_t place, uint32_t rows, struct dispatch_chunk **out) {
    struct by_kernel *k = user;
    struct grid_chunk *c = &k->chunk[place];
    bool block = k->made->code.blocks;
    (void)rows;
    *c = (struct grid_chunk){0};
    c->base.launch = (struct shoal_launch){.args = &c->args,
                                           .args_bytes = sizeof c->args,
                                           .place = c->place,
                                           .fill = &c->fill,
                                           .fills = 1,
                                           .threads = k->runner->threads,
                                           .brief = brief_of(k),
                                           .workspace = workspace_of(k),
                                           .team = block ? k->team : 0,
                                           .shared = block ? shared_bytes(k->shared_most) : 0};
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
    c->args.cells = b->kept->at + batch_before(b, c->first) * bytes;
    c->base.launch.resident = b->kept->block;
    c->place[c->base.launch.places++] = (struct shoal_place){
        SHOAL_RESIDENT, c->args.cells, batch_between(b, c->first, c->first + c->count) * bytes};
}

static shoal_code fill_read(struct by_kernel *k, struct grid_chunk *c, bool places) {
    const struct grid_batch *b = k->batch;
    size_t bytes = grid_type_bytes(b->type), n = c->count;
    uint64_t before = batch_before(b, c->first);
    const char *from = b->cells ? (const char *)b->cells + before * bytes : NULL;
    uint64_t cells = b->kept ? 0 : batch_between(b, c->first, c->first + n);
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
    c->args.shared = k->shared_most;
    memcpy(c->args.given, k->made->code.constant, sizeof c->args.given);
    shoal_code code = fill_read(k, c, cells && !out->stack);
    if (code == SHOAL_OK)
        code = fill_written(k, c, cells);
    dispatch_end_transfer(&k->loop, &c->base, span, (uint32_t)c->count, c->read.bytes);
    return code == SHOAL_OK ? code : batch_no_memory(k->loop.job->log);
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

// Most are: then each is like the one before.
static bool are_ok(const unsigned char *s, uint64_t count) {
    return count && s[0] == 1 + GRID_STATUS_OK && !s[1] && !s[2] &&
           !memcmp(s, s + STATUS_BYTES, STATUS_BYTES * (count - 1));
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
        batch_set_shape(k->out, c->first + i,
                        &(struct stages_out){status, c->shapes[2 * i], c->shapes[2 * i + 1]});
    }
    batch_set_offsets(k->out, c->first, c->first + count);
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
        return batch_too_small(k->out, k->loop.job->log);
    return lay_out(k, c, true);
}

static void take_cells(struct by_kernel *k, const struct grid_chunk *c, uint64_t count) {
    struct grid_result *out = k->out;
    size_t bytes = grid_type_bytes(out->type);
    uint64_t before = out->stack ? c->first * (uint64_t)out->height * (uint64_t)out->width
                                 : out->offsets[c->first];
    if (c->cells)
        copy_cells(k, (char *)out->cells + before * bytes, c->cells,
                   result_cells(out, c->first, count) * bytes);
    if (are_ok(c->status, count)) {
        memset(out->status + c->first, GRID_STATUS_OK, count);
        return;
    }
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

// ---- Rows and chunks ----------------------------------------------------------------------------

static uint32_t power_of_two(uint64_t least, uint64_t most) {
    uint32_t n = 1;
    while (2 * (uint64_t)n <= most && n < least)
        n *= 2;
    return n;
}

// Threads of a block, by the cells that inputs have on average.
static uint32_t block_of(const struct by_kernel *k) {
    uint64_t cells = batch_between(k->batch, 0, k->batch->count) / k->batch->count;
    uint64_t wanted = cells / BLOCK_CELLS, most = k->made->kernel->facts.team;
    return power_of_two(wanted > BLOCK_LEAST ? wanted : BLOCK_LEAST,
                        most < GRID_TEAM_MOST ? most : GRID_TEAM_MOST);
}

// Threads of a grid: a block, or as many as its result has cells, up to a power of two.
static uint32_t team_of(const struct by_kernel *k) {
    uint64_t cells = k->out->needed / k->batch->count;
    if (k->made->code.blocks)
        return block_of(k);
    if (k->shared || !k->made->code.one_pass || !k->out->cells || !k->runner->plan->one_shape)
        return 1;
    return power_of_two(cells, TEAM_MOST);
}

// Cells of a grid that a block has in its own memory, aligned like those of a workspace.
static uint64_t shared_of(const struct by_kernel *k) {
    uint64_t room = k->made->kernel->facts.shared / sizeof(int32_t);
    uint64_t most = k->most < SHARED_CELLS ? k->most : SHARED_CELLS;
    uint64_t fit = room > GRID_WORDS ? (room - GRID_WORDS) / 2 & ~(uint64_t)63 : 0;
    return !k->made->code.whole ? 0 : fit < most ? fit : most;
}

static uint64_t all_rows(const struct by_kernel *k) {
    return (k->batch->count + k->group - 1) / k->group * k->team;
}

// Where a grid is one thread or one block a chunk that fills the device would be most batches:
// copies overlap with kernels instead.
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
    uint64_t in = batch_between(b, 0, b->count) * grid_type_bytes(b->type);
    uint64_t out = k->out->needed * grid_type_bytes(k->out->type);
    uint64_t bytes = (in + out + SHAPE_BYTES * b->count) / rows + 1 + workspace_of(k);
    struct shoal_limits most = *limits;
    if (k->team == 1 || k->made->code.blocks)
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
    return kept->block ? SHOAL_OK : batch_no_memory(k->loop.job->log);
}

shoal_code chunks_run(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                      const struct dispatch_control *control, shoal_log *log) {
    static const struct dispatch_engine engine = {
        .make = make, .fill = fill, .measure = measure, .finished = finished, .deliver = deliver};
    struct shoal_limits limits = r->backend->limits(r->device);
    struct by_kernel *k = calloc(1, sizeof *k);
    int32_t h, w;
    if (!k)
        return batch_no_memory(log);
    k->runner = r;
    k->batch = b;
    k->out = out;
    k->made = &r->made[b->type][out->type];
    k->shared = !r->backend->target(r->device)->device;
    batch_largest(b, &h, &w);
    k->most = batch_bound(r->plan, h, w);
    k->team = team_of(k);
    k->shared_most = shared_of(k);
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
