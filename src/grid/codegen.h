// SPDX-License-Identifier: MIT
// The kernel of a plan.
#ifndef SHOAL_GRID_CODEGEN_H
#define SHOAL_GRID_CODEGEN_H

#include "grid/plan.h"
#include "kernel/source.h"
#include "shoal/backend.h"

// What a kernel is made for besides its plan.
struct grid_target {
    const struct shoal_target *target;
    enum grid_type in, out;
};

// What whoever launches it must know.
struct grid_code {
    uint32_t slots;                   // grids in a workspace
    uint32_t passes;                  // over cells, that of the result included
    bool vectors;                     // that of the result is by vectors
    bool one_pass;                    // cells of a result may be made by threads of their own
    bool blocks;                      // a team is a block of a device
    bool whole;                       // grids are looked at as a whole
    int32_t constant[GRID_CONSTANTS]; // arguments
};

enum { GRID_ENTRY_ROOM = 24 };

// The text for several plans, each with an entry point of its own. False: one of them needs more
// workspace than there should be. Lack of memory is told by the source.
bool grid_codegen(const struct grid_plan *const *plans, uint32_t count, const struct grid_target *t,
                  struct grid_code *codes, struct kernel_source *out);
// The name of the entry point of a plan among them.
void grid_entry(uint32_t number, uint32_t count, char name[GRID_ENTRY_ROOM]);

#endif
