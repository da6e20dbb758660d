// SPDX-License-Identifier: MIT
// See early.h.
#include "api/early.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 20000000 };

struct early {
    pthread_t thread;
    shoal_solver *of;
    uint32_t row;
    shoal_model *model; // the child's, once it is made
    shoal_options options;
    shoal_log *log; // its own
    shoal_solver *made;
    shoal_code code;
    int stop; // atomic
    bool done;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

static void *make(void *user) {
    struct early *e = user;
    e->code = solver_make(e->model, &e->options, NULL, e->of, false, &e->made, e->log);
    pthread_mutex_lock(&e->lock);
    e->done = true;
    pthread_cond_signal(&e->ended);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

static void drop(struct early *e) {
    pthread_cond_destroy(&e->ended);
    pthread_mutex_destroy(&e->lock);
    shoal_log_free(e->log);
    free(e);
}

bool early_is_done(struct early *e) {
    pthread_mutex_lock(&e->lock);
    bool done = e->done;
    pthread_mutex_unlock(&e->lock);
    return done;
}

uint32_t early_row(const struct early *e) { return e->row; }

void early_stop(struct early *e) {
    if (e)
        __atomic_store_n(&e->stop, 1, __ATOMIC_RELAXED);
}

void early_end(struct front *f) {
    struct early *e = f->early;
    if (!e)
        return;
    early_stop(e);
    pthread_join(e->thread, NULL);
    shoal_solver_free(e->made);
    drop(e);
    f->early = NULL;
}

void early_begin(shoal_solver *s, uint32_t row, shoal_options options) {
    struct front *f = s->front;
    if (f->early && early_is_done(f->early))
        early_end(f); // of another row
    struct early *e = f->early ? NULL : calloc(1, sizeof *e);
    if (!e)
        return;
    e->of = s;
    e->row = row;
    e->options = options;
    e->options.stop = &e->stop;
    e->options.on_compile = NULL; // nobody is called from another thread
    e->log = shoal_log_new();
    e->model = api_model_copy(s->model);
    pthread_mutex_init(&e->lock, NULL);
    thread_condition(&e->ended);
    if (e->log && e->model && thread_start(&e->thread, make, e) == 0) {
        f->early = e;
        return;
    }
    shoal_model_free(e->model);
    drop(e);
}

// ---- Taking -------------------------------------------------------------------------------------

// A stop of the caller's is handed on.
static void wait_for(struct early *e) {
    const volatile int *stop = e->of->given.stop;
    pthread_mutex_lock(&e->lock);
    while (!e->done) {
        uint64_t end = clock_ns() + TICK_NS;
        struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
        pthread_cond_timedwait(&e->ended, &e->lock, &until);
        if (dispatch_is_set(stop))
            early_stop(e);
    }
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
}

// From here on it is as if the caller had made it.
static void settle(const struct early *e) {
    const shoal_options *o = &e->of->given;
    shoal_solver *s = e->made;
    s->given.stop = s->runner.how.stop[1] = o->stop;
    s->given.on_compile = s->runner.how.on_compile = o->on_compile;
}

shoal_code early_take(struct front *f, shoal_solver **out, shoal_log *log) {
    struct early *e = f->early;
    wait_for(e);
    f->early = NULL;
    *out = e->made;
    shoal_code code = e->code;
    bool ours = dispatch_is_set(&e->stop) && !dispatch_is_set(e->of->given.stop);
    if (code == SHOAL_STOPPED && ours && !dispatch_is_set(&e->of->stop))
        code = SHOAL_OK; // nobody but us stopped it
    else
        log_pass_on(e->log, log_report(log));
    if (e->made)
        settle(e);
    drop(e);
    return code;
}
