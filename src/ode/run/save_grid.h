// SPDX-License-Identifier: MIT
// When to save: at the end, after every step, or at the times of a grid that all runs share.
#ifndef SHOAL_ODE_RUN_SAVE_GRID_H
#define SHOAL_ODE_RUN_SAVE_GRID_H

#include "base/arena.h"
#include "base/report.h"
#include "result/result_list.h"

struct save_grid {
    enum result_samples kind;
    uint64_t count; // of a run; SAMPLES_OWN: 0
    double *times;  // [count], in the arena; SAMPLES_GRID
};

enum result_samples save_grid_kind(const shoal_options *o);
// The samples of a run, checked. `every` counts from t0; with settle > 0, `n` samples lie between
// t0 + settle and t1.
shoal_code save_grid_make(const shoal_options *o, struct arena *arena, struct save_grid *out,
                          struct report *r);
// Number of times in "1,2,5.5"; `times` may be NULL. 0: something in it is not a number.
size_t save_grid_times(const char *text, double *times);

#endif
