// SPDX-License-Identifier: MIT
// What the files that run batches share: batch.c, chunks.c, staged.c and run.c.
#ifndef SHOAL_GRID_BATCH_H
#define SHOAL_GRID_BATCH_H

#include "grid/run.h"

enum { STATUS_BYTES = 3 }; // of a grid, as a kernel writes them

shoal_code batch_no_memory(shoal_log *log);
shoal_code batch_too_small(const struct grid_result *out, shoal_log *log);

// Cells before a grid, the grid, and cells of all from one up to another as they lie in
// memory.
uint64_t batch_before(const struct grid_batch *b, uint64_t i);
struct stages_in batch_grid(const struct grid_batch *b, uint64_t i);
uint64_t batch_between(const struct grid_batch *b, uint64_t first, uint64_t end);
// The largest sides; and cells that a grid of the plan has at most, for inputs up to a size.
void batch_largest(const struct grid_batch *b, int32_t *h, int32_t *w);
uint64_t batch_bound(const struct grid_plan *p, int32_t h, int32_t w);

// What becomes of a shape; *s is made where it is needed. NULL: out of memory.
const struct stages_out *batch_find_shape(struct grid_runner *r, struct stages **s,
                                          const struct stages_in *g);
// Shapes that the input's shape decides.
shoal_code batch_known_shapes(struct grid_runner *r, const struct grid_batch *b,
                              struct grid_result *out, shoal_log *log);
void batch_set_shape(struct grid_result *out, uint64_t i, const struct stages_out *s);
// Results from one up to another lie one behind the other.
void batch_set_offsets(struct grid_result *out, uint64_t first, uint64_t end);
// A stack has a place for every grid.
void batch_set_stack(const struct grid_batch *b, struct grid_result *out);
// Grids of one shape that no pipeline takes are all marked; false: they are not such.
bool batch_mark_all(const struct grid_batch *b, struct grid_result *out);

// By the kernel for their types, which is there.
shoal_code chunks_run(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                      const struct dispatch_control *control, shoal_log *log);
// Threads of a CPU that a kernel needs for cells, each for as long as waking it takes.
uint64_t chunks_threads(const struct grid_code *code, uint64_t cells);

// By stages; measured: shapes and places, where cells decide them.
shoal_code staged_run(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                      const struct dispatch_control *control, shoal_log *log);
shoal_code staged_measure(struct grid_runner *r, const struct grid_batch *b,
                          struct grid_result *out, const struct dispatch_control *control,
                          shoal_log *log);
// How long so many cells take, about.
uint64_t staged_ps(const struct grid_runner *r, uint64_t cells);

#endif
