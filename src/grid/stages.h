// SPDX-License-Identifier: MIT
// Runs a plan node by node: every operation is a function of the library, so nothing is compiled.
#ifndef SHOAL_GRID_STAGES_H
#define SHOAL_GRID_STAGES_H

#include "grid/plan.h"

// A grid as the caller has it, and what becomes of it.
struct stages_in {
    const void *cells;
    enum grid_type type;
    int32_t height, width;
};
struct stages_out {
    enum grid_status status;
    int32_t height, width; // of the result, where the status is ok
};

struct stages; // what is kept from one grid to the next

// NULL: out of memory.
struct stages *stages_new(const struct grid_plan *plan);
void stages_free(struct stages *s);
// One grid. False: out of memory, or *stop became non-zero. With `shapes_only` cells are computed
// as far as shapes and checks depend on them.
bool stages_run(struct stages *s, const struct stages_in *in, bool shapes_only,
                const volatile int *stop, struct stages_out *out);
// The cells of the result of the last grid, of a type: false when a value does not fit.
bool stages_store(const struct stages *s, enum grid_type type, void *cells);

#endif
