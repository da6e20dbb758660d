// SPDX-License-Identifier: MIT
// The build runs in a thread of its own, because not every compiler is a child process that can be
// looked at now and then; the one of a GPU is a function that comes back when it is done.
#include "kernel/compile.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>

enum { TICK_NS = 50 * 1000 * 1000 };

struct build {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    const struct shoal_kernel_text *text;
    const volatile int *stop;
    struct shoal_bytes *out;
    struct report *report;
    shoal_code code;
    bool done;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

static shoal_code run(const struct build *b) {
    return b->backend->build(b->device, b->text, b->stop, b->out, b->report);
}

static void *thread(void *user) {
    struct build *b = user;
    shoal_code code = run(b);
    pthread_mutex_lock(&b->lock);
    b->code = code;
    b->done = true;
    pthread_cond_signal(&b->ended);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

// True when it ended before the next tick.
static bool wait_tick(struct build *b, uint64_t tick_ns) {
    struct timespec until = {(time_t)(tick_ns / 1000000000u), (long)(tick_ns % 1000000000u)};
    pthread_mutex_lock(&b->lock);
    while (!b->done && pthread_cond_timedwait(&b->ended, &b->lock, &until) != ETIMEDOUT)
        ;
    bool done = b->done;
    pthread_mutex_unlock(&b->lock);
    return done;
}

static void watch(struct build *b, const struct compile_watch *w) {
    uint64_t start = clock_ns(), tick = start;
    while (!wait_tick(b, tick += TICK_NS)) {
        shoal_compile now = {.what = w->what,
                             .elapsed_s = (double)(clock_ns() - start) * 1e-9,
                             .predicted_s = w->predicted_s};
        w->call(&now, w->user);
    }
}

shoal_code compile_build(const struct shoal_backend *backend, struct shoal_device *device,
                         const struct shoal_kernel_text *text, const struct compile_watch *w,
                         struct shoal_bytes *out, struct report *r) {
    struct build b = {.backend = backend,
                      .device = device,
                      .text = text,
                      .stop = w->stop,
                      .out = out,
                      .report = r};
    pthread_t id;
    if (!w->call)
        return run(&b);
    pthread_mutex_init(&b.lock, NULL);
    thread_condition(&b.ended);
    if (thread_start(&id, thread, &b) == 0) {
        watch(&b, w);
        pthread_join(id, NULL);
    } else
        b.code = run(&b); // nobody is told, but it works
    pthread_cond_destroy(&b.ended);
    pthread_mutex_destroy(&b.lock);
    return b.code;
}
