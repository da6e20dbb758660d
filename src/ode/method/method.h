// SPDX-License-Identifier: MIT
// Runge-Kutta, Rosenbrock and collocation methods and step size controllers as rows of data.
//
// A row holds everything a kernel needs; nothing else in the project knows a coefficient. Weights
// are for y1 = y0 + h sum b_i k_i and err = h sum e_i k_i. Dense output is
// y(t0 + s h) = y0 + h sum_i k_i s sum_j p[i][j] s^j, over the stages and the extra stages, which
// are computed only in a step that has a sample in it. The rows of a centred method are powers of
// s - 1/2 instead: those of s are large and cancel, which costs five digits in degree 9. A method
// of degree 0 uses the cubic Hermite polynomial through both ends, with f(t1, y1) that the next
// step needs anyway. Every method with an interpolant of its own is FSAL, so f(t1, y1) is always
// its stage `stages - 1`.
//
// The stages of an implicit method are differences of states, so there is no h in front of b, e and
// p, and the matrix of a step is made of the Jacobian J of its start. It always has an interpolant
// of its own: cubic Hermite would multiply the errors of stiff components by h J.
//
// ROSENBROCK is in the form of Hairer and Wanner II, IV.7, that needs no product of a matrix and a
// vector, with df/dt of the step's start:
//   (I - h gamma J) u_i = h gamma f(t0 + c_i h, y0 + sum a_ij u_j) + gamma sum coupling_ij u_j
//                         + h^2 gamma d_i df/dt
//
// DIRK has the stages u_i = h f(t0 + c_i h, y0 + sum_(j<i) a_ij u_j + gamma u_i), found by Newton
// iterations with I - h gamma J. A first stage with c = 0 is explicit: u_0 = h f(t0, y0).
//
// COLLOCATION has the stages z_i = h sum_j a_ij f(t0 + c_j h, y0 + z_j), all at once. With
// a = t D ti, D made of blocks [re im; -im re] and, where the number of stages is odd, first of one
// number, Newton iterations need I - h mu J for each mu = re + i im of D. The error is the solution
// of (I - h gamma J) err = e0 h f(t0, y0) + sum e_i z_i; gamma is the real mu where there is one.
#ifndef SHOAL_METHOD_METHOD_H
#define SHOAL_METHOD_METHOD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    METHOD_STAGES = 17,
    METHOD_EXTRA = 9,
    METHOD_ROWS = METHOD_STAGES + METHOD_EXTRA,
    METHOD_DEGREE = 9,
    METHOD_NODES = 5 // stages of a collocation method
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

// For any step size a linear decay stays a decay (A), and a fast one is damped away at once (L).
enum stability { STABILITY_LIMITED, A_STABLE, L_STABLE };

enum scheme { EXPLICIT, ROSENBROCK, DIRK, COLLOCATION };

struct method {
    const char *name;
    const char *aliases;        // blank-separated
    const char *good_for;       // a few words for `shoal methods`
    uint32_t order;             // of the solution that is advanced
    uint32_t embedded;          // the error norm is of order h^(embedded + 1); 0: fixed steps only
    uint32_t stages;            // evaluations that make y1 and its error (an FSAL stage counts)
    bool fsal;                  // the last stage is f(t1, y1), the first of the next step; its
                                // weight b is 0 (DIRK: gamma)
    enum controller controller; // default
    double safety;              // factor on the step the error asks for; 0: 0.9
    double calibration;         // see method_tolerance
    double c[METHOD_STAGES];
    double a[METHOD_STAGES][METHOD_STAGES - 1]; // lower triangle; COLLOCATION: all of it
    double b[METHOD_STAGES];
    double e[METHOD_STAGES];  // b - b^
    double e2[METHOD_STAGES]; // second estimate (dop853's third order one), or all zero:
                              // err = |e|^2 / sqrt(|e|^2 + 0.01 |e2|^2) with RMS norms, 0 for 0/0
    uint32_t extra;           // extra stages for dense output
    double extra_c[METHOD_EXTRA];
    double extra_a[METHOD_EXTRA][METHOD_ROWS]; // over the stages, then the extras before it
    uint32_t degree;                           // of the dense output polynomial; 0: Hermite
    bool centred;                              // EXPLICIT: p is powers of s - 1/2
    double p[METHOD_ROWS][METHOD_DEGREE];      // rows: stages, then extras
    enum scheme scheme;
    enum stability stability;
    double gamma;  // of an implicit method
    double inside; // part of a step where the interpolant is compared with f; 0: nowhere
    bool filtered; // DIRK: the error is the solution of (I - h gamma J) err = sum e_i u_i
    double d[METHOD_STAGES];
    double coupling[METHOD_STAGES][METHOD_STAGES - 1]; // lower triangle
    double residue[METHOD_STAGES]; // ROSENBROCK: the error has (I - S) sum residue_i u_i besides, S
                                   // being a solution with the step's matrix
    double e0;                     // COLLOCATION from here on
    double t[METHOD_NODES][METHOD_NODES], ti[METHOD_NODES][METHOD_NODES];
    double mu[METHOD_NODES][2]; // re and im > 0; the real one first
};

extern const struct method methods[];
extern const uint32_t method_count;

// By name or alias, ignoring case; NULL when there is none.
const struct method *method_find(const char *name);

// Where a stage evaluates the right-hand side, in terms of what is known already; that of a DIRK or
// COLLOCATION method where its iterations end.
enum stage_place {
    STAGE_START, // at the start of the step
    STAGE_SAME,  // where the stage before did
    STAGE_NEXT,  // there plus that stage
    STAGE_NEW,
};
// Of stage i; of the solution for i = stages.
enum stage_place method_place(const struct method *m, uint32_t i);
// Its stages are found by Newton iterations.
bool method_iterates(const struct method *m);
// The solution is where the last stage is; of a ROSENBROCK method, where one after it would be.
bool method_stiffly_accurate(const struct method *m);
// How far the stability of an explicit method reaches: y' = -y stays bounded up to that step.
double method_stability(const struct method *m);
// The weights by which the arguments of its last two stages differ.
void method_apart(const struct method *m, double apart[METHOD_STAGES]);
// Evaluations of the right-hand side in a step, less those of Newton iterations.
uint32_t method_evaluations(const struct method *m);
// DIRK: where the iterations for stage i start, as weights of the i stages before it: the
// polynomial through the nearest three in time. All zero where there is none.
void method_predict(const struct method *m, uint32_t i, double weights[]);

// The tolerance of a step for a result that is good to rtol. Where the estimate is of an order more
// than the solution, errors of single steps that are proportional to rtol add up to rtol^(2/3);
// such a method has a calibration, and its steps are held to calibration rtol^(3/2).
double method_tolerance(const struct method *m, double rtol);

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
