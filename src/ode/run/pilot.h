// SPDX-License-Identifier: MIT
// What the choice of a device must know of this engine's runs: the kind of kernel, the bytes of a
// row, and what a row takes, by a pilot on the CPU.
#ifndef SHOAL_ODE_RUN_PILOT_H
#define SHOAL_ODE_RUN_PILOT_H

#include "dispatch/choose.h"
#include "ode/run/run.h"

// ode-f64-n10-erk: precision, the size of the system by its class, the kind of method.
void pilot_class(const struct plan *p, char out[MACHINE_CLASS]);
// Rows of a vector of the CPU.
uint32_t pilot_lanes(const struct plan *p);
// Of a row, to a device and from it.
void pilot_bytes(const struct plan *p, const struct batch *b, const struct result_list *list,
                 double *in, double *out);
// Some rows, spread over the batch, on the CPU that plan and runner are for; for 20 ms at most.
// What they gave is kept where that is not too much; NULL: it is not.
shoal_code pilot_run(const struct plan *p, struct runner *runner, const struct batch *b,
                     uint32_t rows, struct choose_pilot *out, struct kept **kept);

// A device that takes part in a trial, and what its rows took.
struct trial_side {
    const struct plan *plan;
    struct runner *runner;
};
struct trial_time {
    double seconds; // 0: it includes what later rows do not pay
    double evals;   // of the right-hand side, in all
};
// Rows from `first` on, with everything loaded. They go behind those that are kept, or are the
// first that are.
shoal_code trial_run(const struct trial_side *side, const struct batch *b, uint64_t first,
                     uint64_t rows, const struct dispatch_control *control, struct kept **kept,
                     struct trial_time *out);

#endif
