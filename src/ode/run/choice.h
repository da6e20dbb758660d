// SPDX-License-Identifier: MIT
// Which methods a run takes: the one that is named, or of `auto` an explicit one and another that
// takes over from the trajectories that are stiff. This is the one place that knows which two.
#ifndef SHOAL_RUN_CHOICE_H
#define SHOAL_RUN_CHOICE_H

#include "ode/method/method.h"
#include "ode/symbolic/symbolic.h"

extern const char choice_auto[]; // the name of the choice itself

struct choice {
    const struct method *first;
    const struct method *stiff; // takes over; NULL: none does
};

// The name of a method, or of the choice, by any of its spellings; NULL: there is none.
const char *choice_name(const char *name);
// By name, whatever the system; first NULL: there is no such method.
struct choice choice_find(const char *name);
// What is left of it for a system; `fixed`: its first method takes fixed steps.
struct choice choice_for(struct choice c, const struct system *s, bool fixed);

#endif
