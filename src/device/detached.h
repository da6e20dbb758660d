// SPDX-License-Identifier: MIT
// Work that cannot be interrupted, such as a call of a compiler that is a library: done in a thread
// of its own, so that a stop need not wait for its end.
#ifndef SHOAL_DEVICE_DETACHED_H
#define SHOAL_DEVICE_DETACHED_H

#include <pthread.h>
#include <stdbool.h>

// The first member of a job that is malloc'ed and owns all it works on.
struct detached {
    void (*work)(struct detached *job);
    void (*drop)(struct detached *job); // frees it
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done, left;
};

// True: the work is done and the job still the caller's, who drops it. False: *stop (may be NULL)
// became non-zero; the thread drops the job when it gets there.
bool detached_run(struct detached *job, const volatile int *stop);
// Whether some job was left to its thread, which has not got to its end: a library is at work,
// whose handlers at the end of the process must not run.
bool detached_any(void);

#endif
