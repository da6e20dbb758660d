// SPDX-License-Identifier: MIT
// This engine's workloads for calibration.
#ifndef SHOAL_ODE_RUN_WORKLOADS_H
#define SHOAL_ODE_RUN_WORKLOADS_H

#include "dispatch/workload.h"

#include <stdint.h>

// The first does next to nothing: what it takes are launches and copies.
extern const struct workload ode_workloads[];
extern const uint32_t ode_workload_count;

#endif
