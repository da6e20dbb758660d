// SPDX-License-Identifier: MIT
#include "device/detached.h"

#include "device/offload.h"

#include <time.h>

enum { TICK_NS = 20000000 };

static void *thread(void *user) {
    struct detached *job = user;
    job->work(job);
    pthread_mutex_lock(&job->lock);
    job->done = true;
    bool left = job->left;
    pthread_cond_signal(&job->ended);
    pthread_mutex_unlock(&job->lock);
    if (left)
        job->drop(job);
    return NULL;
}

// True when it ended; false when the job was left to its thread.
static bool wait(struct detached *job, const volatile int *stop) {
    pthread_mutex_lock(&job->lock);
    while (!job->done && !job->left) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&job->ended, &job->lock, &until);
        job->left = !job->done && stop && *stop;
    }
    bool left = job->left;
    pthread_mutex_unlock(&job->lock);
    return !left;
}

bool detached_run(struct detached *job, const volatile int *stop) {
    pthread_t id;
    sigset_t old;
    job->done = job->left = false;
    pthread_mutex_init(&job->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&job->ended, &clock);
    pthread_condattr_destroy(&clock);
    offload_signals_block(&old);
    int failed = pthread_create(&id, NULL, thread, job);
    offload_signals_restore(&old);
    if (failed) {
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
