// SPDX-License-Identifier: MIT
// Whether rows will be found stiff, foretold by one run on the host. It is a guess, which decides
// when a kernel is compiled and never what is computed.
#ifndef SHOAL_ODE_RUN_FORESEE_H
#define SHOAL_ODE_RUN_FORESEE_H

#include "ode/run/plan.h"

// The plan's first method is tried on its model, with the model's own values; without events, doses
// and signals. `s` are the model's expressions.
bool foresee_stiff(const struct plan *p, const struct system *s);

#endif
