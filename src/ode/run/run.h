// SPDX-License-Identifier: MIT
// Runs a batch: the loop over chunks is src/dispatch's; here are their inputs and their results.
//
// A chunk is the unit of memory, of work and of writing; what a trajectory gives does not depend on
// the chunk it is in. Chunks go to the sink in run order.
#ifndef SHOAL_ODE_RUN_RUN_H
#define SHOAL_ODE_RUN_RUN_H

#include "dispatch/dispatch.h"
#include "ode/batch/batch.h"
#include "ode/run/build.h"
#include "ode/run/plan.h"
#include "result/sink.h"

LOG_DECLARE_LABEL(solve_ivp_execution);
LOG_DECLARE_LABEL(solver_solve_execution);

// A device with what is kept on it from one run to the next.
struct runner {
    struct build_how how;
    struct loaded kernel[PLAN_ROLES]; // those that take over are made when a row needs them first
    struct dispatch_pool pool;
    struct shoal_resident *signals; // samples of drivers and tables; NULL: not there yet
    // Chunks of the first kernel so far, and what the first one and later ones took, from start to
    // end.
    uint64_t launches;
    double first_s, typical_s;
};
// Takes the samples off the device.
void runner_forget(struct runner *r);

// The arrays of a result with those of the batch, in the arena.
shoal_code run_list(const struct plan *p, const struct batch *b, const char *meta,
                    struct arena *arena, struct result_list *list, struct report *r);
// Rows per chunk and bytes, with all that the list says is wanted; `disk_bytes` is the caller's to
// fill.
shoal_plan run_plan(const struct plan *p, const struct batch *b, const struct result_list *list);
// Who runs what is left of a batch when the device fails: plan and runner of the same options.
struct run_spare {
    void *user;
    shoal_code (*open)(void *user, const struct plan **plan, struct runner **runner);
};
// The first kernel is there. `spare` NULL: an error of the device is one of the run.
shoal_code run_batch(const struct plan *p, struct runner *runner, const struct batch *b,
                     struct sink *sink, struct result_list *list,
                     const struct dispatch_control *control, const struct run_spare *spare,
                     shoal_tally *tally, shoal_log *log);

// Has everything done that the first run of such a batch would do and the second would not: kernels
// that may take over are made, side by side, memory is taken for as many chunks as are there at a
// time, and each kernel runs once, on the first rows, longer and longer until a device has woken
// up.
shoal_code run_warm(const struct plan *p, struct runner *runner, const struct batch *b,
                    const struct result_list *list, const struct dispatch_control *control,
                    shoal_log *log);

#endif
