// SPDX-License-Identifier: MIT
// Runge-Kutta methods and step size controllers as rows of data.
//
// A row holds everything a kernel needs; nothing else in the project knows a coefficient. Weights
// are for y1 = y0 + h sum b_i k_i and err = h sum e_i k_i. Dense output is
// y(t0 + s h) = y0 + h sum_i k_i sum_j p[i][j] s^(j+1), over the stages and the extra stages, which
// are computed only in a step that has a sample in it. A method without `p` uses cubic Hermite.
#ifndef SHOAL_METHOD_METHOD_H
#define SHOAL_METHOD_METHOD_H

#include <stdbool.h>
#include <stdint.h>

enum { METHOD_STAGES = 13, METHOD_EXTRA = 6, METHOD_DEGREE = 8 };

enum controller { CONTROLLER_FIXED, CONTROLLER_I, CONTROLLER_PI, CONTROLLER_PID,
                  CONTROLLER_GUSTAFSSON, CONTROLLER_COUNT };
extern const char *const controller_names[CONTROLLER_COUNT];

struct method {
    const char *name;
    const char *aliases;  // blank-separated
    const char *good_for; // a few words for `shoal methods`
    uint32_t order;
    uint32_t embedded; // order of the error estimate's companion; 0: fixed steps only
    uint32_t stages;   // evaluations that make y1 (an FSAL stage counts)
    bool fsal;         // the last stage is f(t1, y1)
    enum controller controller; // default
    double c[METHOD_STAGES];
    double a[METHOD_STAGES][METHOD_STAGES - 1]; // lower triangle
    double b[METHOD_STAGES];
    double e[METHOD_STAGES + 1];   // b - b^; the last entry after `stages` is the weight of f(t1,y1)
    double e2[METHOD_STAGES + 1];  // second estimate (dop853's third order one), or all zero:
                                   // err = |e|^2 / sqrt(|e|^2 + 0.01 |e2|^2) with RMS norms
    uint32_t extra;                // extra stages for dense output
    double extra_c[METHOD_EXTRA];
    double extra_a[METHOD_EXTRA][METHOD_STAGES + METHOD_EXTRA]; // over stages, f(t1,y1), extras
    uint32_t degree; // of the dense output polynomial; 0: cubic Hermite
    // rows: stages, then f(t1,y1) for a method that is not FSAL (used by Hermite-like and dop853's
    // interpolants), then extras
    double p[METHOD_STAGES + 1 + METHOD_EXTRA][METHOD_DEGREE];
};

extern const struct method methods[];
extern const uint32_t method_count;

// By name or alias, ignoring case; NULL when there is none.
const struct method *method_find(const char *name);

// Factor of the next step: exp2(log2 safety - a l0 + b l1 - c l2) in log2 of the error norm l0 of
// this step, l1 and l2 of the last two accepted ones, then clamped.
struct control {
    double safety, a, b, c, grow, shrink;
    bool gustafsson; // predictive: also scales with the ratio of the last two steps
};
struct control method_control(const struct method *m, enum controller c);

#endif
