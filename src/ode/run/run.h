// SPDX-License-Identifier: MIT
// Runs a batch: the loop over chunks is src/dispatch's; here are their inputs and their results.
//
// A chunk is the unit of memory, of work and of writing; what a trajectory gives does not depend on
// the chunk it is in. Chunks go to the sink in run order.
#ifndef SHOAL_ODE_RUN_RUN_H
#define SHOAL_ODE_RUN_RUN_H

#include "dispatch/dispatch.h"
#include "ode/batch/batch.h"
#include "result/sink.h"
#include "shoal/backend.h"

struct save_grid {
    enum result_samples kind;
    uint64_t count; // SAMPLES_GRID
    double *times;  // [count], owned; SAMPLES_GRID
};

// The samples of a run, checked. `every` counts from t0; with settle > 0, `n` samples lie between
// t0 + settle and t1. Free times with free().
shoal_code save_grid_make(const shoal_options *o, const double *at, size_t at_count,
                          struct save_grid *out, struct report *r);

// Number of steps of a fixed-step run.
double run_fixed_steps(double t0, double t1, double dt);

// Of the steps of a method.
struct run_tolerances {
    double rtol;
    const double *atol; // [states]
};

// The method that takes over the rows whose kernel ends them as SHOAL_ROW_STIFF, or failed: they
// are run again from their start, by another kernel, which is asked for when there is the first.
struct run_takeover {
    const char *method;
    struct run_tolerances tolerances;
    shoal_code (*get)(void *user, struct shoal_module **module, size_t *workspace,
                      uint32_t *resident, shoal_log *log);
    void *user;
    const struct run_takeover *last; // tries what was stiff and fails with this one too; or NULL
};

// Everything a run needs besides the batch.
struct run_setup {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    struct shoal_module *module;
    const char *method;
    const struct run_takeover *takeover; // NULL: there is none
    struct shoal_limits limits;
    struct dispatch_pool *pool;
    const struct model *model;
    uint32_t outputs;
    uint32_t state_outputs;    // how many of them are states before the first that is not
    const char *const *output; // names of the outputs
    bool f32, fixed;
    double t0, t1, settle;
    double dt, dt0, dt_min, dt_max; // NaN: not given
    struct run_tolerances tolerances;
    uint64_t max_steps; // 0: no limit
    struct save_grid grid;
    uint32_t threads;
    uint64_t chunk, memory; // 0: not given
    size_t workspace;       // bytes a device's thread needs
    uint32_t resident;      // threads that it runs at a time
    bool refill, keep_failed;
};

// The arrays of a result, in the arena; without a batch (NULL) those of every batch.
shoal_code run_list(const struct run_setup *s, const struct batch *b, const char *meta,
                    struct arena *arena, struct result_list *list, struct report *r);
// Rows per chunk and bytes, with all that the list says is wanted; `disk_bytes` is the caller's to
// fill.
shoal_plan run_plan(const struct run_setup *s, const struct batch *b,
                    const struct result_list *list);
shoal_code run_batch(const struct run_setup *s, const struct batch *b, struct sink *sink,
                     struct result_list *list, const struct dispatch_control *control,
                     shoal_tally *tally, shoal_log *log);

#endif
