// SPDX-License-Identifier: MIT
// Threads of the library. They block all signals, so that a handler of the program never runs in
// one of them.
#ifndef SHOAL_BASE_THREAD_H
#define SHOAL_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

// 0, or what went wrong, as of pthread_create.
int thread_start(pthread_t *thread, void *(*work)(void *), void *user);
// A condition that is waited for by the monotonic clock.
void thread_condition(pthread_cond_t *condition);

// Around calls of other libraries that may start threads.
void thread_block_signals(sigset_t *old);
void thread_restore_signals(const sigset_t *old);

#endif
