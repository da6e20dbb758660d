// SPDX-License-Identifier: MIT
// This engine's workloads for calibration. Grids are bytes; `from` and `to` are their sides.
#ifndef SHOAL_GRID_WORKLOADS_H
#define SHOAL_GRID_WORKLOADS_H

#include "dispatch/workload.h"

#include <stdint.h>

extern const struct workload grid_workloads[];
extern const uint32_t grid_workload_count;

#endif
