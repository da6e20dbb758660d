// SPDX-License-Identifier: MIT
// A thread and its caller agree on who drops the job, whichever is done first.
#include "device/detached.h"

#include "base/thread.h"

#include <time.h>

enum { TICK_NS = 20000000 };

static int left_jobs; // that still work; atomic

bool detached_any(void) { return __atomic_load_n(&left_jobs, __ATOMIC_SEQ_CST) > 0; }

static void *thread(void *user) {
    struct detached *job = user;
    job->work(job);
    pthread_mutex_lock(&job->lock);
    job->done = true;
    bool left = job->left;
    pthread_cond_signal(&job->ended);
    pthread_mutex_unlock(&job->lock);
    if (left) {
        job->drop(job);
        __atomic_sub_fetch(&left_jobs, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

// True when it ended; false when the job was left to its thread.
static bool wait(struct detached *job, const volatile int *stop) {
    pthread_mutex_lock(&job->lock);
    while (!job->done && !(job->left = stop && *stop)) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&job->ended, &job->lock, &until);
    }
    bool left = job->left;
    if (left)
        __atomic_add_fetch(&left_jobs, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&job->lock);
    return !left;
}

bool detached_run(struct detached *job, const volatile int *stop) {
    pthread_t id;
    job->done = job->left = false;
    pthread_mutex_init(&job->lock, NULL);
    thread_condition(&job->ended);
    if (thread_start(&id, thread, job)) {
        job->work(job);
        return true;
    }
    if (!wait(job, stop)) {
        pthread_detach(id);
        return false;
    }
    pthread_join(id, NULL);
    return true;
}
