// SPDX-License-Identifier: MIT
// See early.h.
#include "api/early.h"

#include "api/options.h"
#include "base/clock.h"
#include "base/thread.h"

#include <stdlib.h>
#include <time.h>

enum { TICK_NS = 20000000 };

// All that the thread looks at is its own: the process may end, and free what it was made of,
// before the thread does.
struct early {
    pthread_t thread;
    shoal_solver *of; // not for the thread
    uint32_t row;
    shoal_model *model; // the child's, once it is made
    shoal_options options;
    struct arena arena; // what those point to
    shoal_log *log;     // its own
    shoal_solver *made;
    shoal_code code;
    int stop; // atomic
    bool done;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

static int under_way; // threads; atomic
static int leaving;   // the process is; atomic

bool early_leave(void) {
    __atomic_store_n(&leaving, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&under_way, __ATOMIC_SEQ_CST) > 0;
}

static void *make(void *user) {
    struct early *e = user;
    e->code = solver_make(e->model, &e->options, NULL, NULL, false, &e->made, e->log);
    __atomic_sub_fetch(&under_way, 1, __ATOMIC_SEQ_CST);
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
    arena_free(&e->arena);
    free(e);
}

bool early_is_done(struct early *e) {
    pthread_mutex_lock(&e->lock);
    bool done = e->done;
    pthread_mutex_unlock(&e->lock);
    return done;
}

bool early_is_ready(struct early *e) { return early_is_done(e) && e->made; }

uint32_t early_row(const struct early *e) { return e->row; }

void early_stop(struct early *e) {
    if (e)
        __atomic_store_n(&e->stop, 1, __ATOMIC_RELAXED);
}

void early_end(struct front *f) {
    struct early *e = f->early;
    if (!e)
        return;
    f->early = NULL;
    early_stop(e);
    if (__atomic_load_n(&leaving, __ATOMIC_SEQ_CST) && !early_is_done(e)) {
        pthread_detach(e->thread);
        return;
    }
    pthread_join(e->thread, NULL);
    shoal_solver_free(e->made);
    drop(e);
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
    options.stop = &e->stop;
    options.on_compile = NULL; // nobody is called from another thread
    e->options = options_own(&options, &e->arena);
    e->log = shoal_log_new();
    e->model = api_model_copy(s->model);
    pthread_mutex_init(&e->lock, NULL);
    thread_condition(&e->ended);
    __atomic_add_fetch(&under_way, 1, __ATOMIC_SEQ_CST);
    if (e->log && e->model && thread_start(&e->thread, make, e) == 0) {
        f->early = e;
        return;
    }
    __atomic_sub_fetch(&under_way, 1, __ATOMIC_SEQ_CST);
    shoal_model_free(e->model);
    drop(e);
}

// ---- Taking -------------------------------------------------------------------------------------

static bool is_stopped(const struct early *e) {
    return dispatch_is_set(e->of->given.stop) || dispatch_is_set(&e->of->stop);
}

// A stop of the caller's is handed on.
static void wait_for(struct early *e) {
    pthread_mutex_lock(&e->lock);
    while (!e->done) {
        uint64_t end = clock_ns() + TICK_NS;
        struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
        pthread_cond_timedwait(&e->ended, &e->lock, &until);
        if (is_stopped(e))
            early_stop(e);
    }
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
}

// From here on it is as if the caller had made it.
static void settle(const struct early *e) {
    const shoal_options *o = &e->of->given;
    shoal_solver *s = e->made;
    s->owner = e->of;
    s->runner.how.stop[0] = solver_flag(s);
    s->given.stop = s->runner.how.stop[1] = o->stop;
    s->given.on_compile = s->runner.how.on_compile = o->on_compile;
}

shoal_code early_take(struct front *f, shoal_solver **out, shoal_log *log) {
    struct early *e = f->early;
    wait_for(e);
    f->early = NULL;
    *out = e->made;
    shoal_code code = e->code;
    if (code == SHOAL_STOPPED && !is_stopped(e))
        code = SHOAL_OK; // nobody but us did that
    else
        log_pass_on(e->log, log_report(log));
    if (e->made)
        settle(e);
    drop(e);
    return code;
}
