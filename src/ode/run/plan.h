// SPDX-License-Identifier: MIT
// The plan of a run: all that follows from a model, options and a device, resolved once and not
// changed afterwards. What is compiled in is a part of its own for each kernel.
#ifndef SHOAL_ODE_RUN_PLAN_H
#define SHOAL_ODE_RUN_PLAN_H

#include "ode/run/dose.h"
#include "ode/run/driver.h"
#include "ode/run/record.h"
#include "ode/run/save_grid.h"
#include "ode/run/summaries.h"
#include "ode/run/tolerances.h"
#include "shoal/backend.h"

// The kernels of a run. All rows begin with the first. Where that one looks for stiffness, the
// stiff method's takes over the rows that it ends as SHOAL_ROW_STIFF, or failed; and the last,
// which is the first without that look, runs what was stiff and fails with the stiff one too.
enum plan_role { PLAN_FIRST, PLAN_STIFF, PLAN_LAST, PLAN_ROLES };

struct plan {
    struct kernel_plan kernel[PLAN_ROLES];    // without a method: it is not needed
    struct tolerances tolerances[PLAN_ROLES]; // of their steps
    const struct model *model;
    struct driver *const *driver; // [signals of the model], NULL where it is a table
    struct driver_block signals;  // their samples
    double rtol, atol;            // as asked for
    double t0, t1, settle;
    double dt, dt0, dt_min, dt_max; // NaN: not given; dt is that of fixed steps
    uint64_t max_steps;             // 0: no limit
    struct result_list list;        // samples and arrays of a result, but for those of a batch
    struct run_summary summary;
    const struct dose_list *doses; // NULL: none
    struct plan_record record;
    struct shoal_limits limits; // of the device: whoever has the plan made asks for them at the end
    uint32_t threads;
    uint64_t chunk, memory; // 0: not given
    bool refill, keep_failed;
};

// What a plan is made of; all borrowed.
struct plan_input {
    const shoal_options *options; // checked, and their method is there
    struct model *model;
    const struct system *system; // of the model
    const struct shoal_target *target;
    struct driver *const *driver; // [signals of the model], NULL where there is none
    const struct watcher *watcher;
    const struct dose_list *doses; // NULL: none
};

// Arrays and lists live in the arena, names are the model's.
shoal_code plan_make(const struct plan_input *in, struct arena *arena, struct plan *out,
                     struct report *r);
// The part that is compiled in, for those who run nothing.
shoal_code plan_kernels(const struct plan_input *in, struct arena *arena,
                        struct kernel_plan out[PLAN_ROLES], struct report *r);

// Whether two are compiled to the same kernel, of equal models.
bool plan_same_kernel(const struct kernel_plan *a, const struct kernel_plan *b);
static inline bool plan_takes_over(const struct plan *p) {
    return p->kernel[PLAN_FIRST].stiff != NULL;
}
static inline bool plan_fixed(const struct plan *p) {
    return p->kernel[PLAN_FIRST].controller == CONTROLLER_FIXED;
}
// Whether columns of a batch that are only copied say which doses or signals a run has.
bool plan_chooses(const struct plan *p);
// Number of steps where they are fixed.
double plan_fixed_steps(const struct plan *p);

// Before there is a plan, for checks: whether a run takes steps of `dt`, since its method has no
// error estimate or its controller is fixed; and those, NaN: neither given nor the model's.
bool plan_is_fixed(const shoal_options *options, const struct method *method);
double plan_dt(const shoal_options *options);

#endif
