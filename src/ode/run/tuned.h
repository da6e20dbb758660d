// SPDX-License-Identifier: MIT
// A search for the fastest variants of a run's kernels, on rows of its batch.
#ifndef SHOAL_ODE_RUN_TUNED_H
#define SHOAL_ODE_RUN_TUNED_H

#include "ode/run/run.h"

// Tries variants of the kernels that the runner has, each axis in turn, and leaves the fastest in
// their places; which that is goes into the file of the device. Rows are spread over the batch, as
// many as tell the times apart. With a budget (seconds) it ends when that is spent, and says
// nothing where nothing was found. What cannot be tried is left out: only a stop or a failed device
// is an error.
shoal_code tuned_search(const struct plan *p, struct runner *runner, const struct batch *b,
                        double budget_s, const struct dispatch_control *control, shoal_log *log);

// What such a search is likely to take, in seconds; 0: there is nothing to try, or it was tried.
double tuned_cost(const struct plan *p, const struct runner *runner);

#endif
