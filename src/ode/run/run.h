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
#include "ode/run/kept.h"
#include "ode/run/plan.h"
#include "result/sink.h"

LOG_DECLARE_LABEL(solve_ivp_execution);
LOG_DECLARE_LABEL(solver_solve_execution);

// A device with what is kept on it from one run to the next.
struct runner {
    struct build_how how;
    struct loaded kernel[PLAN_ROLES]; // those that take over are made when a row needs them first
    struct kernel *replaced[PLAN_ROLES]; // hurried ones, which chunks under way may have
    uint64_t ask_ns;                     // when others are asked for again, at the earliest
    struct dispatch_pool pool;
    struct shoal_resident *signals; // samples of drivers and tables; NULL: not there yet
    // Chunks of the first kernel so far, and what the first one and later ones took, from start to
    // end.
    uint64_t launches;
    double first_s, typical_s;
};
// Some are, or were a moment ago: times tell nothing.
bool runner_is_hurried(const struct runner *r);
// Drops those that were replaced: nothing is under way.
void runner_drop_replaced(struct runner *r);
// No kernel is a hurried one from here on: for those who look at times.
shoal_code runner_complete(const struct plan *p, struct runner *r, shoal_log *log);
// Takes the samples off the device.
void runner_forget(struct runner *r);

// The arrays of a result with those of the batch, in the arena.
shoal_code run_list(const struct plan *p, const struct batch *b, const char *meta,
                    struct arena *arena, struct result_list *list, struct report *r);
// What is known of rows without running them: their runs, an input, a column that is copied.
void run_fill_known(const struct batch *b, const struct result_array *a, uint64_t row,
                    uint32_t rows, void *out);
// Rows per chunk and bytes, with all that the list says is wanted; `disk_bytes` is the caller's to
// fill.
shoal_plan run_plan(const struct plan *p, const struct runner *r, const struct batch *b,
                    const struct result_list *list);
// What a run may turn to; all of it is OPTIONAL. Devices are plan and runner of the same options.
struct run_help {
    void *user;
    // The device failed: who runs what is left.
    shoal_code (*spare)(void *user, const struct plan **plan, struct runner **runner);
    // Asked before a chunk: whether another device, which gives the same bits, is to run the rest,
    // of so many rows. What it gives when it is asked to is used from then on.
    bool (*is_relieved)(void *user, uint64_t rows, double done_s);
    shoal_code (*relief)(void *user, const struct plan **plan, struct runner **runner);
    const struct kept *kept; // rows that ran already
    bool tunes; // where the rest is long enough a faster variant of the kernel may be looked for
};
// The first kernel is there. Without a spare an error of the device is one of the run.
shoal_code run_batch(const struct plan *p, struct runner *runner, const struct batch *b,
                     struct sink *sink, struct result_list *list,
                     const struct dispatch_control *control, const struct run_help *help,
                     shoal_tally *tally, shoal_log *log);

// Counts a row that ended so; and rows that were there already, as if they had run.
void run_count_row(shoal_tally *tally, unsigned char status, uint64_t run);
void run_count_there(shoal_tally *tally, const struct sink_there *there);

// Has everything done that the first run of such a batch would do and the second would not: kernels
// that may take over are made, side by side, memory is taken for as many chunks as are there at a
// time, and each kernel runs once, on the first rows, longer and longer until a device has woken
// up.
shoal_code run_warm(const struct plan *p, struct runner *runner, const struct batch *b,
                    const struct result_list *list, const struct dispatch_control *control,
                    shoal_log *log);

#endif
