// SPDX-License-Identifier: MIT
// Turns, cells and neighbours in one pass.
#include "grid/workloads.h"

const struct workload grid_workloads[] = {
    {.name = "grids of 25 by 25, u8",
     .text = "rot90(in)*(in>0) + (nsum4(in)>0)",
     .from = 25,
     .to = 25},
};
const uint32_t grid_workload_count = sizeof grid_workloads / sizeof *grid_workloads;
