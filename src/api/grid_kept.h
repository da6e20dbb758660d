// SPDX-License-Identifier: MIT
// Results of pipelines that stay where they were made.
#ifndef SHOAL_API_GRID_KEPT_H
#define SHOAL_API_GRID_KEPT_H

#include "grid/run.h"

struct shoal_kept {
    struct grid_kept on; // a device,
    void *cells;         // or, where it is the CPU, here
    shoal_cell type;
    uint64_t count, needed; // grids and cells
    int32_t height, width;  // of a stack; 0: it is none
    int32_t *shapes;
    uint64_t *offsets;
    uint8_t *status;
};

// The result of a run whose cells are in k->on or in memory that is k's from here on.
shoal_code kept_take(shoal_kept *k, struct grid_result *result, uint64_t count, shoal_log *log);
// What was marked in the input is marked in the result. NULL is fine.
void kept_mark(const shoal_kept *k, struct grid_result *result);

#endif
