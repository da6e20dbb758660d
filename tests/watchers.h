// SPDX-License-Identifier: MIT
// Watchers of tests, to be compiled into kernels of models whose first parameters are k, d1, d2 and
// amount, and whose first states are x, y, v and w.
//
// dose      adds the amount to x at the times d1 and d2 of its lane
// bounce    finds where y falls below 0; there v becomes -0.75 v
// pause     stops at d1 and d2, and changes nothing
// tally     counts in w all steps that are taken
// integral  adds up the integral of x in w, with the interpolant
#ifndef SHOAL_TESTS_WATCHERS_H
#define SHOAL_TESTS_WATCHERS_H

#include "ode/codegen/codegen.h"

extern const struct watcher watch_dose[], watch_bounce[], watch_pause[], watch_integral[],
    watch_dose_and_tally[], watch_all[];

#endif
