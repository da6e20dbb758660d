// SPDX-License-Identifier: MIT
// What runs of a solver tell about this machine, and what they say about a run to come.
//
// A front has a chooser that its children share; a solver with a device of its own gets one when it
// has run. A solver that was asked for the CPU by name looks for no devices, and so learns nothing.
#ifndef SHOAL_API_LEARN_H
#define SHOAL_API_LEARN_H

#include "api/solver.h"
#include "ode/run/pilot.h"

struct learner;
void learner_free(struct learner *l); // NULL is fine; what is new goes into the file

// Of a chooser that has its machine: the file, and the kind of runs.
void learn_begin(struct chooser *c, const shoal_solver *s);
void learn_class(struct chooser *c, const shoal_solver *s);
void learn_save(struct chooser *c);
// What the choice must know of a batch, but for the engine.
struct choose_request learn_request(const shoal_solver *s, const struct batch *b);

// A worker ran a batch. `first`: its first.
void learn_from(shoal_solver *worker, const struct batch *b, double seconds, bool first,
                shoal_log *log);
// What a batch would take on it, in seconds; NaN: nobody knows.
double learn_estimate(shoal_solver *worker, const struct batch *b);

#endif
