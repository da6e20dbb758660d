// SPDX-License-Identifier: MIT
// Which variables of a model are kept.
#ifndef SHOAL_RUN_OUTPUTS_H
#define SHOAL_RUN_OUTPUTS_H

#include "base/arena.h"
#include "base/report.h"
#include "ode/model/model.h"

// --vars: positions among states, then observables; an array's base name means all its elements.
struct output_list {
    vec(uint32_t) items;
};
shoal_code outputs_choose(const struct model *m, const char *vars, struct arena *arena,
                          struct output_list *out, struct report *r);
const char *output_name(const struct model *m, uint32_t output);

#endif
