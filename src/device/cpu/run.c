// SPDX-License-Identifier: MIT
// Runs a kernel on a chunk: one worker a thread, all drawing rows from one counter.
//
// A chunk runs to its end when it is started. A small one runs in the calling thread. Otherwise
// that thread waits, reports progress and looks at the stop flag. Workers block all signals, so
// that a handler never runs in one of them.
#include "device/cpu/cpu.h"

#include "../kernels/ode/abi.h"
#include "base/thread.h"
#include "device/device.h"
#include "log/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALIGN = 64, BLOCK_MOST = 1024, INLINE_ROWS = 16, TICK_MS = 50 };

struct crew {
    const struct shoal_module *module;
    const struct shoal_launch *launch;
    uint32_t next; // work counter
    int stop;      // what the kernels look at
    pthread_mutex_t mutex;
    pthread_cond_t done;
    uint32_t running;
};

struct hand {
    struct crew *crew;
    struct shoal_args args; // own copy: workspace differs
    void *workspace;
    pthread_t thread;
    uint64_t begin_ns, end_ns; // for the time log; 0: it did not run
};

static shoal_code hand_begin(struct hand *h, struct crew *c, struct report *r) {
    h->crew = c;
    h->args = *c->launch->args;
    size_t bytes = (c->module->workspace + ALIGN - 1) / ALIGN * ALIGN;
    h->workspace = aligned_alloc(ALIGN, bytes);
    if (!h->workspace)
        return report_error(r, SHOAL_MEMORY, "out of memory: a worker needs %zu bytes", bytes);
    h->args.workspace = h->workspace;
    h->args.next = &c->next;
    h->args.stop = &c->stop;
    return SHOAL_OK;
}

static void *work(void *arg) {
    struct hand *h = arg;
    struct crew *c = h->crew;
    h->begin_ns = clock_ns();
    c->module->kernel(&h->args);
    h->end_ns = clock_ns();
    pthread_mutex_lock(&c->mutex);
    if (--c->running == 0)
        pthread_cond_signal(&c->done);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

// One track a worker: what each did while the calling thread waited.
static void tell_times(const struct shoal_launch *l, const struct hand *hands, uint32_t count) {
    shoal_log *log = l->log;
    char track[32];
    for (uint32_t i = 0; log && log->recording && i < count; i++) {
        const struct hand *h = &hands[i];
        if (!h->end_ns)
            continue;
        snprintf(track, sizeof track, "cpu worker %u", i);
        int32_t span = log_device(log, track, LOG_kernel_launch, log->open,
                                  h->begin_ns - log->start_ns, h->end_ns - h->begin_ns);
        log_u64(log, span, "chunk_index", l->chunk);
        log_end(log, span);
    }
}

static void tick(struct crew *c) {
    const struct shoal_launch *l = c->launch;
    if (l->progress) { // may ask for a stop
        uint32_t taken = __atomic_load_n(&c->next, __ATOMIC_RELAXED);
        l->progress(l->user, taken < l->args->z.rows ? taken : l->args->z.rows);
    }
    if (l->stop && *l->stop)
        __atomic_store_n(&c->stop, 1, __ATOMIC_RELAXED);
}

static void wait_for_all(struct crew *c) {
    pthread_mutex_lock(&c->mutex);
    while (c->running) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        if (pthread_cond_timedwait(&c->done, &c->mutex, &until) == ETIMEDOUT) {
            pthread_mutex_unlock(&c->mutex);
            tick(c);
            pthread_mutex_lock(&c->mutex);
        }
    }
    pthread_mutex_unlock(&c->mutex);
}

// Starts the threads; those that cannot be started are done without, unless it is the first.
static shoal_code run_threads(struct crew *c, struct hand *hands, uint32_t count,
                              struct report *r) {
    uint32_t started = 0;
    int failed = 0;
    for (uint32_t i = 0; i < count && !failed; i++) {
        pthread_mutex_lock(&c->mutex);
        c->running++;
        pthread_mutex_unlock(&c->mutex);
        failed = thread_start(&hands[i].thread, work, &hands[i]);
        if (!failed)
            started++;
    }
    if (failed) {
        pthread_mutex_lock(&c->mutex);
        c->running--;
        pthread_mutex_unlock(&c->mutex);
    }
    wait_for_all(c);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(hands[i].thread, NULL);
    if (!started)
        return report_error(r, SHOAL_DEVICE, "cannot start a thread: %s", strerror(failed));
    return SHOAL_OK;
}

static shoal_code run_launch(struct shoal_module *m, const struct shoal_launch *l,
                             struct report *r) {
    struct crew c = {.module = m, .launch = l, .mutex = PTHREAD_MUTEX_INITIALIZER};
    uint32_t rows = l->args->z.rows, threads = l->threads ? l->threads : 1;
    bool alone = rows <= INLINE_ROWS && !l->progress;
    uint32_t count = alone ? 1 : threads < rows ? threads : rows;
    uint32_t block = rows / (count * 8);
    l->args->z.block = block < 8 ? 8 : block > BLOCK_MOST ? BLOCK_MOST : block;
    struct hand *hands = calloc(count, sizeof *hands);
    if (!hands)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    thread_condition(&c.done);
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < count && code == SHOAL_OK; i++)
        code = hand_begin(&hands[i], &c, r);
    if (code == SHOAL_OK && alone) {
        if (l->stop)
            hands[0].args.stop = (const int *)(uintptr_t)l->stop;
        m->kernel(&hands[0].args);
    } else if (code == SHOAL_OK) {
        code = run_threads(&c, hands, count, r);
        tell_times(l, hands, count);
    }
    for (uint32_t i = 0; i < count; i++)
        free(hands[i].workspace);
    free(hands);
    pthread_cond_destroy(&c.done);
    if (code == SHOAL_OK && l->stop && *l->stop)
        code = SHOAL_STOPPED;
    return code;
}

shoal_code cpu_start(struct shoal_module *m, uint32_t slot, const struct shoal_launch *l,
                     struct report *r) {
    (void)slot;
    shoal_code code = run_launch(m, l, r);
    m->stopped = code == SHOAL_STOPPED;
    return m->stopped ? SHOAL_OK : code;
}

shoal_code cpu_finish(struct shoal_module *m, uint32_t slot, struct report *r) {
    (void)slot, (void)r;
    return m->stopped ? SHOAL_STOPPED : SHOAL_OK;
}
