// SPDX-License-Identifier: MIT
// The pass of a result by vectors, where a CPU can do it so: kernels/grid/vector.h.
#ifndef SHOAL_GRID_ROWS_H
#define SHOAL_GRID_ROWS_H

#include "grid/plan.h"

struct buf;

// How wide the numbers of a pass are, found from the types and constants of a plan.
struct grid_rows {
    bool fit;       // the pass can be made so
    uint32_t bytes; // of a lane: no value of it needs more
    bool in_range;  // every value fits the type of the result
    bool carry;     // else: it is a byte if it does not wrap
    bool low;       // and what is added or taken away is below 128
    bool flat;      // a cell of the result is made of one cell, and of nothing else but constants
    uint32_t planes;
    uint32_t turns;              // those that may come from windows of the input, a bit for each
    const unsigned char *capped; // [nodes]: sums that stop at 255, or NULL; in the arena
};

// `stored`: [nodes], those that are made by other passes.
struct grid_rows grid_rows_of(const struct grid_plan *p, const unsigned char *stored,
                              enum grid_type in, enum grid_type out, struct arena *arena);
// The loops; numbers of the plan are there under their names. Sets `wide` where a value does not
// fit.
void grid_rows_put(const struct grid_plan *p, const struct grid_rows *how, struct buf *text,
                   struct arena *arena);

#endif
