// SPDX-License-Identifier: MIT
// Starts threads that no signal reaches, and makes conditions that wait by the monotonic clock.
#include "base/thread.h"

#include <time.h>

void thread_block_signals(sigset_t *old) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, old);
}

void thread_restore_signals(const sigset_t *old) { pthread_sigmask(SIG_SETMASK, old, NULL); }

int thread_start(pthread_t *thread, void *(*work)(void *), void *user) {
    sigset_t old;
    thread_block_signals(&old);
    int failed = pthread_create(thread, NULL, work, user);
    thread_restore_signals(&old);
    return failed;
}

void thread_condition(pthread_cond_t *condition) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
