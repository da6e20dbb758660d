// SPDX-License-Identifier: MIT
// A solver that chooses a device for each batch: solvers behind it, one for each device that ever
// had a batch, made when they are first needed.
//
// The front itself has a plan for the CPU, whose lists and names are those of all of them, and no
// kernel. Small batches in a loop go to the CPU and large ones to a GPU; nothing is compiled twice.
#ifndef SHOAL_API_FRONT_H
#define SHOAL_API_FRONT_H

#include "api/solver.h"
#include "ode/run/pilot.h"

struct front {
    struct chooser chooser;
    shoal_solver *child[COST_DEVICES]; // by row of the chooser's machine; NULL: none yet
    bool stale[COST_DEVICES];          // it is of the model and the options before a change
    uint32_t shown;                    // who had the last batch
    struct early *early;               // a child on its way; NULL: none is
    uint32_t next;                     // row that takes over from the CPU in the batch; 0: none
    struct kept *kept;                 // rows of its pilot or trial; NULL: none are kept
    uint32_t kept_by;                  // row that computed them, which alone may use them
    const shoal_batch *batch;          // of the call under way,
    shoal_log *log;                    // and its log
};

// Whether options and machine leave a choice.
bool front_is_wanted(const shoal_solver *s, struct report *r);
// The front of a solver that has its plan.
shoal_code front_make(shoal_solver *s, shoal_log *log);
void front_free(struct front *f); // NULL is fine
// A changed solver gets what the old one has; the solver of the last batch is changed at once.
shoal_code front_take_over(shoal_solver *next, shoal_solver *old, shoal_effect *effect,
                           shoal_log *log);

// Who runs the batch.
shoal_code front_worker(shoal_solver *s, const shoal_batch *batch, shoal_solver **out,
                        shoal_log *log);
// Makes the solvers of all devices that a batch may go to, with two compilers side by side. One
// that cannot be used is left out, with a warning.
shoal_code front_make_all(shoal_solver *s, shoal_log *log);
// Whom the solver stands for: the one that had the last batch.
const shoal_solver *front_shown(const shoal_solver *s);
// The row of a worker.
uint32_t front_row(const shoal_solver *s, const shoal_solver *worker);
// The CPU has the batch while another device is made ready: whether that one is, and does so many
// rows sooner than in as many seconds; and, if so, it.
bool front_is_relieved(shoal_solver *s, uint64_t rows, double seconds);
shoal_code front_relief(shoal_solver *s, shoal_solver **out, shoal_log *log);
// A device that failed is not chosen again.
void front_lost(shoal_solver *s, const shoal_solver *worker);
// The solver on the CPU.
shoal_code front_cpu(shoal_solver *s, shoal_solver **out, shoal_log *log);

#endif
