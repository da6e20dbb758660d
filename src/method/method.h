// SPDX-License-Identifier: MIT
// Runge-Kutta methods and step size controllers as rows of data.
//
// A row holds everything a kernel needs; nothing else in the project knows a coefficient. Weights
// are for y1 = y0 + h sum b_i k_i and err = h sum e_i k_i. Dense output is
// y(t0 + s h) = y0 + h sum_i k_i sum_j p[i][j] s^(j+1), over the stages and the extra stages, which
// are computed only in a step that has a sample in it. A method of degree 0 uses the cubic Hermite
// polynomial through both ends, with f(t1, y1) that the next step needs anyway. Every method with
// an interpolant of its own is FSAL, so f(t1, y1) is always its stage `stages - 1`.
#ifndef SHOAL_METHOD_METHOD_H
#define SHOAL_METHOD_METHOD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    METHOD_STAGES = 13,
    METHOD_EXTRA = 5,
    METHOD_ROWS = METHOD_STAGES + METHOD_EXTRA,
    METHOD_DEGREE = 7
};

enum controller {
    CONTROLLER_FIXED,
    CONTROLLER_I,
    CONTROLLER_PI,
    CONTROLLER_PID,
    CONTROLLER_GUSTAFSSON,
    CONTROLLER_COUNT
};
extern const char *const controller_names[CONTROLLER_COUNT];

struct method {
    const char *name;
    const char *aliases;        // blank-separated
    const char *good_for;       // a few words for `shoal methods`
    uint32_t order;             // of the solution that is advanced
    uint32_t embedded;          // the error norm is of order h^(embedded + 1); 0: fixed steps only
    uint32_t stages;            // evaluations that make y1 and its error (an FSAL stage counts)
    bool fsal;                  // the last stage is f(t1, y1), its weight b is 0
    enum controller controller; // default
    double safety;              // factor on the step the error asks for; 0: 0.9
    double c[METHOD_STAGES];
    double a[METHOD_STAGES][METHOD_STAGES - 1]; // lower triangle
    double b[METHOD_STAGES];
    double e[METHOD_STAGES];  // b - b^
    double e2[METHOD_STAGES]; // second estimate (dop853's third order one), or all zero:
                              // err = |e|^2 / sqrt(|e|^2 + 0.01 |e2|^2) with RMS norms, 0 for 0/0
    uint32_t extra;           // extra stages for dense output
    double extra_c[METHOD_EXTRA];
    double extra_a[METHOD_EXTRA][METHOD_ROWS]; // over the stages, then the extras before it
    uint32_t degree;                           // of the dense output polynomial; 0: Hermite
    double p[METHOD_ROWS][METHOD_DEGREE];      // rows: stages, then extras
};

extern const struct method methods[];
extern const uint32_t method_count;

// By name or alias, ignoring case; NULL when there is none.
const struct method *method_find(const char *name);

// What follows a step whose error norm has the log2 l0. l1 and l2 are those of the last two
// accepted steps, 0 where there was none (the first steps, or after a restart).
//   rejected   the step times exp2(log2 safety - reject l0), at least `shrink`, less than 1
//   accepted   the step times exp2(log2 safety - a l0 + b l1 - c l2), within [shrink, grow]
// A Gustafsson controller also multiplies the accepted factor by the ratio of this step to the last
// accepted one, then takes the smaller of it and exp2(log2 safety - reject l0); without a last
// accepted step it is the latter alone.
struct control {
    double safety, a, b, c, reject, grow, shrink;
    bool gustafsson;
};
// All zero for CONTROLLER_FIXED and for a method without an error estimate.
struct control method_control(const struct method *m, enum controller c);

#endif
