// SPDX-License-Identifier: MIT
// --record NAME,n: the first n times at which an event happens, and the variables there.
#ifndef SHOAL_ODE_RUN_RECORD_H
#define SHOAL_ODE_RUN_RECORD_H

#include "ode/codegen/codegen.h"
#include "ode/model/model.h"
#include "result/result_list.h"

// What is passed at run time: of each record its first element of a run, and how many times it has.
struct plan_record {
    struct record_plan plan; // what a kernel is made for
    uint32_t *first, *most;
    uint32_t arrays;
    struct result_more *array;
};

// "NAME,n", or several of them, one behind the other; NULL: none. In the arena.
shoal_code record_read(const char *text, const struct model *m, struct arena *arena,
                       struct plan_record *out, struct report *r);
// The arrays: NAME.t and one for each variable.
void record_lay(struct plan_record *p, const struct model *m, const struct kernel_plan *k,
                struct arena *arena);

#endif
