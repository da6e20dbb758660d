// SPDX-License-Identifier: MIT
// What runs of a solver tell about this machine, and what they say about a run to come.
//
// A front has a chooser that its children share; a solver with a device of its own gets one when it
// has run. A solver that was asked for the CPU by name looks for no devices, and so learns nothing.
#ifndef SHOAL_API_LEARN_H
#define SHOAL_API_LEARN_H

#include "api/solver.h"
#include "ode/run/pilot.h"

LOG_DECLARE_LABEL(pilot_run);

struct learner;
void learner_free(struct learner *l); // NULL is fine; what is new goes into the file

// The file of a chooser that has its machine, in a cache (NULL: the usual one).
void learn_open(struct chooser *c, const char *cache);
void learn_save(struct chooser *c);
// Of such a chooser: the file, and the kind of runs.
void learn_begin(struct chooser *c, const shoal_solver *s);
void learn_class(struct chooser *c, const shoal_solver *s);
// What the choice must know of a batch, but for the engine.
struct choose_request learn_request(const shoal_solver *s, const struct batch *b);

// Around a choice, in the time log.
int32_t learn_begin_choice(shoal_log *log);
void learn_end_choice(shoal_log *log, int32_t span, const char *device, const char *reason);

// What a batch took, with all that its kernel did; times that nobody took are 0.
struct learn_times {
    const char *key;
    double seconds;
    double compile, load;   // of the kernel
    double launch, typical; // of a chunk: the first of the process, and later ones
    double opened;          // start of the device, by whoever started it
    bool first;             // it was the first there
};
void learn_times(struct chooser *c, const struct choose_request *q, uint32_t row,
                 const struct learn_times *t, shoal_log *log);
// Has the file of a worker read before it runs, and not written by its next run: the process stays.
void learn_ready(shoal_solver *worker);
// A worker ran a batch. `first`: its first.
void learn_from(shoal_solver *worker, const struct batch *b, double seconds, bool first,
                shoal_log *log);
// What a batch would take on it, in seconds; NaN: nobody knows.
double learn_estimate(shoal_solver *worker, const struct batch *b);

#endif
