// SPDX-License-Identifier: MIT
// One chunk: the block of arrays a kernel reads, the block it writes, and what a sink sees of both.
//
// Blocks are laid out anew for each number of rows, without gaps but for alignment, so that a
// device with its own memory copies little and a part of a block can be copied and timed by itself.
// They come from a pool that outlives the run, so that a small run allocates next to nothing.
#ifndef SHOAL_ODE_RUN_CHUNK_H
#define SHOAL_ODE_RUN_CHUNK_H

#include "ode/run/run.h"

#include "../kernels/ode/abi.h"

LOG_DECLARE_LABEL(h2d_transfer_initial_values);
LOG_DECLARE_LABEL(h2d_transfer_parameters);
LOG_DECLARE_LABEL(d2h_transfer_state);

enum {
#define X(block, name, type) CHUNK_ARRAY_##name,
    SHOAL_ARRAYS(X)
#undef X
        CHUNK_ARRAYS,
    CHUNK_PLACES = CHUNK_ARRAYS + 1, // one goes on
    CHUNK_PIECES = RESULT_ROLES,     // of a block, at most
    CHUNK_FILLS = 3
};

// Which arrays of the list are there.
enum chunk_use {
    CHUNK_WHOLE,   // all that are wanted
    CHUNK_PART,    // of them what the kernel writes
    CHUNK_COUNTED, // and all counts
};

// What a launch points to.
struct chunk_parts {
    struct shoal_call call;
    struct shoal_piece read_piece[CHUNK_PIECES], written_piece[CHUNK_PIECES];
    struct shoal_place place[CHUNK_PLACES];
    struct shoal_fill fill[CHUNK_FILLS];
    struct shoal_stretch *read_stretch, *written_stretch; // room for all
};

struct chunk {
    struct dispatch_chunk base;
    // Set before chunk_init, which makes the rest.
    const struct plan *plan;
    struct runner *runner;
    enum plan_role role; // which of its kernels
    const struct batch *batch;
    const struct result_list *list;
    const uint32_t *chosen; // which signals of drivers runs take; NULL: the first
    enum chunk_use use;
    const struct sink *sink;   // whose memory the device may write to; NULL: of nobody
    struct shoal_args args;    // as the host sees them
    struct chunk_parts *parts; // of the launch
    size_t elem;               // bytes of a number
    uint32_t inputs;           // varying inputs,
    uint32_t parameters;       // of which parameters, which come first in `order`
    uint32_t *order;
    uint32_t *written;                  // arrays that the kernel writes, in the order of the block,
    uint32_t written_end[CHUNK_PIECES]; // where each piece of it ends,
    uint32_t writes;                    // and how many they are
    uint64_t samples;                   // SAMPLES_OWN: of all rows, once they are known
    uint64_t *offsets;                  // SAMPLES_OWN: samples of rows, [rows + 1]
    // What a sink sees and the block does not hold as such; NULL: it is not wanted.
    uint64_t *run; // there with any column
    void **host;   // one for each array; inputs in f64 are those of the block, or the caller's
    double *times; // SAMPLES_OWN: of all samples
    struct result_view *view;
    // What the device copies from and to the caller's memory by itself (chunk_direct.c).
    const void **given;          // [inputs] in `order`, their values there; NULL: in the block
    struct array_target *memory; // one for each array; without data: in the block
    struct arena arena;          // owns all but the blocks and `times`
};

// Bytes of a row in the blocks, and in all with what the sink sees; steps are counted as one
// sample.
uint64_t chunk_row_bytes(const struct plan *p, const struct batch *b,
                         const struct result_list *list, uint64_t *of_host);

shoal_code chunk_init(struct chunk *c, uint32_t place, uint32_t rows, struct report *r);
void chunk_free(struct chunk *c);
// Lays the blocks out for `rows` rows from `first_row` on and fills what is the same for all rows.
shoal_code chunk_place(struct chunk *c, uint64_t first_row, uint32_t rows, struct report *r);
// What each row has besides its inputs: its number, doses, signals, columns that are copied.
void chunk_fill_rows(struct chunk *c);
// Inputs from `first` to `end` of `order`.
void chunk_fill(struct chunk *c, uint32_t first, uint32_t end);
// SAMPLES_OWN, between the counting and the saving pass: offsets from the counts, and room.
shoal_code chunk_make_room(struct chunk *c, struct report *r);
// The varying input i of `order`, for all rows.
void *chunk_input(const struct chunk *c, uint32_t i);

// Rows of one chunk in another: row[k] of `whole` is row k of `part`.
void chunk_gather(struct chunk *part, const struct chunk *whole, const uint32_t *row);
// SAMPLES_OWN: how many samples a row has, into `whole` after a counting pass of `part`; and back,
// with room for them.
void chunk_scatter_counts(const struct chunk *part, struct chunk *whole, const uint32_t *row);
shoal_code chunk_gather_room(struct chunk *part, const struct chunk *whole, const uint32_t *row,
                             struct report *r);
// Results of the rows that ended; the others are pending. Of one row, without the totals.
void chunk_scatter(const struct chunk *part, struct chunk *whole, const uint32_t *row);
void chunk_scatter_row(const struct chunk *part, uint32_t k, struct chunk *whole, uint32_t row);

// ---- Without the block (chunk_direct.c) --------------------------------------------------------

// Which arrays may be the sink's own memory, of chunks of `rows` rows; by the arena.
void direct_init(struct chunk *c, uint32_t rows);
// Lists, of a chunk that is laid out, what of its results goes there.
void direct_results(struct chunk *c);
// Whether the values of input i of `order` are the caller's own; lists them, in order.
bool direct_input(struct chunk *c, uint32_t i);
// The first row of an array that is in the sink's memory; NULL: it is in the block.
void *direct_array(const struct chunk *c, const struct result_array *a);

// ---- Its arrays (chunk_arrays.c) ----------------------------------------------------------------

// Whether the kernel writes an array, and bytes of an element of it.
bool chunk_writes(const struct result_array *a, enum chunk_use use);
size_t chunk_bytes(const struct result_array *a, size_t elem);
// Where a field of the arguments is.
void chunk_set_field(struct shoal_args *args, enum result_field field, void *data);
// Where the chunk has an array that its kernel writes; NULL: nowhere. And where the block has it.
void *chunk_array(const struct chunk *c, const struct result_array *a);
void *chunk_in_block(const struct chunk *c, const struct result_array *a);
// Elements between samples of an array with rows, which follow each other on such a device.
size_t chunk_sample_stride(const struct chunk *c, const struct result_array *a);

// Room for what the sink sees besides, by the arena.
void chunk_make_host(struct chunk *c, uint32_t rows);
// What the sink sees of the first `rows` rows.
struct result_chunk chunk_view(struct chunk *c, uint32_t rows);

#endif
