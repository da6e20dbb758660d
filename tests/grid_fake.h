// SPDX-License-Identifier: MIT
// For tests of grids on the fake CUDA driver: its kernel is the entry of kernels/grid around a body
// written by hand, one call a thread.
#ifndef SHOAL_TESTS_GRID_FAKE_H
#define SHOAL_TESTS_GRID_FAKE_H

#include "fake_gpu.h"

#include <stdbool.h>

// The driver, whose kernels make in + 1 of i32 cells.
struct fake_cuda *use_fake_grids(void);
// They make it of as many rows of a grid as its first cell says.
extern bool grid_fake_rows;

#endif
