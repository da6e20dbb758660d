// SPDX-License-Identifier: MIT
// Values of one sweep: a list, or points equally spaced on a linear or logarithmic scale.
//
// Both ends are exact, and each point is rounded as if it had been computed without error (linear)
// or nearly so (logarithmic), from whichever end one counts: lin:0:1:11 has 0.3, not
// 0.30000000000000004, and a sweep from b to a is that from a to b backwards.
#ifndef SHOAL_RUN_SWEEP_H
#define SHOAL_RUN_SWEEP_H

#include <stdint.h>

enum sweep_scale { SWEEP_LIST, SWEEP_LIN, SWEEP_LOG };

enum { SWEEP_BITS = 53 }; // a scale has at most 2^53 points

struct sweep {
    enum sweep_scale scale;
    uint64_t count;       // at least 1
    double first, last;   // ends of a scale; with one point only the first counts
    const double *values; // SWEEP_LIST: [count]
};

// Values of the points first, first + 1, ...
void sweep_values(const struct sweep *s, uint64_t first, uint64_t n, double *out);

#endif
