// SPDX-License-Identifier: MIT
// A kernel that takes over, made by another thread while this one makes the first.
#ifndef SHOAL_ODE_RUN_BESIDE_H
#define SHOAL_ODE_RUN_BESIDE_H

#include "ode/run/run.h"

#include <pthread.h>

struct beside {
    const struct plan *plan; // NULL: nothing was begun
    enum plan_role role;
    struct build_how how;
    struct loaded out;
    shoal_log *log; // its own
    shoal_code code;
    pthread_t thread;
    bool runs; // the thread; else it is made at the end
};

void beside_begin(struct beside *b, const struct plan *p, enum plan_role role,
                  const struct build_how *how);
// Waits, and puts the kernel into the runner. The stiff method may not be able to run the model:
// then no run will need it. With a log of NULL nothing is told.
shoal_code beside_end(struct beside *b, struct runner *runner, shoal_log *log);

#endif
