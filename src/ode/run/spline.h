// SPDX-License-Identifier: MIT
// Polynomials through samples: linear, and cubic with slopes from a tridiagonal system or from the
// neighbours.
#ifndef SHOAL_ODE_RUN_SPLINE_H
#define SHOAL_ODE_RUN_SPLINE_H

#include <stdbool.h>
#include <stdint.h>

// name (also the word of --driver), degree
#define SPLINE_KINDS(X)                                                                            \
    X(held, 0)                                                                                     \
    X(linear, 1)                                                                                   \
    X(notaknot, 3)                                                                                 \
    X(natural, 3)                                                                                  \
    X(clamped, 3)                                                                                  \
    X(periodic, 3)                                                                                 \
    X(monotone, 3)

enum spline_kind {
#define X(name, degree) SPLINE_##name,
    SPLINE_KINDS(X)
#undef X
        SPLINE_KIND_COUNT
};

extern const char *const spline_names[SPLINE_KIND_COUNT];
extern const uint8_t spline_degrees[SPLINE_KIND_COUNT];

// The coefficients of count - 1 polynomials, [degree + 1] each, lowest first, in what the time is
// beyond the first sample of each. Times ascend strictly; there are 2 samples at least, and the
// last of a periodic spline is the first again. False: out of memory. A held signal has the value
// of the first sample.
bool spline_make(enum spline_kind kind, uint64_t count, const double *t, const double *v,
                 double *coefficients);

#endif
