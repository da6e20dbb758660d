// SPDX-License-Identifier: MIT
// Tolerances: those that the user asks for, and those of the steps that keep them.
#ifndef SHOAL_ODE_RUN_TOLERANCES_H
#define SHOAL_ODE_RUN_TOLERANCES_H

#include "base/arena.h"
#include "base/report.h"
#include "ode/codegen/codegen.h"
#include "ode/model/model.h"

// Of the steps of a method.
struct tolerances {
    double rtol;
    const double *atol; // [states]
};

// As asked for; the default of the precision where nothing is.
double tolerances_rtol(const shoal_options *options);
double tolerances_atol(const shoal_options *options);
// Absolute tolerance of each state, from atol and atol_list; an array's name means all its
// elements.
shoal_code tolerances_of_states(const shoal_options *options, struct model *m, double *atol,
                                struct report *r);
// Those of the steps of a kernel, in the arena.
shoal_code tolerances_make(const shoal_options *o, struct model *m, const struct kernel_plan *k,
                           struct arena *arena, struct tolerances *out, struct report *r);

#endif
