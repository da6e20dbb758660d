// SPDX-License-Identifier: MIT
// Lines of equal value on a grid.
#ifndef SHOAL_PLOT_CONTOUR_H
#define SHOAL_PLOT_CONTOUR_H

#include "base/arena.h"

// Values at the points of a grid, rows upwards; a cell with a corner that is not finite has no
// line.
struct contour_grid {
    uint32_t width, height;
    const double *value, *x, *y;
};

// Points of lines; NaN is between two of them.
struct contour {
    vec(double) x;
    vec(double) y;
};

// Adds the lines of one level; how many cells they go through.
uint64_t contour_trace(struct arena *arena, const struct contour_grid *g, double level,
                       struct contour *out);

#endif
