// SPDX-License-Identifier: MIT
// What a first run pays and later ones do not, paid before it: kernels, memory that was never
// touched, code that a driver loads when it is first run, clocks of a device that slept.
//
// Kernels run on the first rows of the batch in blocks that are as large as a whole chunk; what
// comes out is thrown away. Where steps are saved only the pass that counts them runs.
#include "ode/run/under_way.h"

#include "base/clock.h"
#include "base/thread.h"

#include <string.h>

LOG_LABEL(warm_execution, BUILD, 90, "kernels, memory and first launches before they are needed");

enum { ROWS_FIRST = 64, ROWS_FACTOR = 4, AWAKE_NS = 20000000 };

// ---- Kernels ------------------------------------------------------------------------------------

struct making {
    const struct plan *plan;
    enum plan_role role;
    struct build_how how; // nobody is called from another thread
    struct loaded out;
    shoal_log *log;
    shoal_code code;
};

static void *make_one(void *user) {
    struct making *m = user;
    m->code = takeover_build(m->plan, m->role, &m->how, &m->out, m->log);
    return NULL;
}

// The stiff method may not be able to run the model: then no run will need it.
static shoal_code take_made(struct runner *runner, struct making *m) {
    if (m->code == SHOAL_OK)
        runner->kernel[m->role] = m->out;
    return m->code == SHOAL_INPUT && m->role == PLAN_STIFF ? SHOAL_OK : m->code;
}

// The stiff kernel in another thread, and the last one in this.
static shoal_code make_kernels(const struct plan *p, struct runner *runner, shoal_log *log) {
    struct making stiff = {.plan = p, .role = PLAN_STIFF, .how = runner->how};
    pthread_t thread;
    bool side = false, missing = !runner->kernel[PLAN_STIFF].kernel;
    if (!plan_takes_over(p))
        return SHOAL_OK;
    stiff.how.on_compile = NULL;
    stiff.log = missing ? shoal_log_new() : NULL;
    if (missing)
        side = thread_start(&thread, make_one, &stiff) == 0;
    struct making last = {.plan = p, .role = PLAN_LAST, .how = runner->how, .log = log};
    shoal_code code = SHOAL_OK;
    if (!runner->kernel[PLAN_LAST].kernel) {
        make_one(&last);
        code = take_made(runner, &last);
    }
    if (side)
        pthread_join(thread, NULL);
    else if (missing)
        make_one(&stiff);
    if (missing) {
        shoal_code made = take_made(runner, &stiff);
        if (stiff.code != SHOAL_INPUT)
            log_pass_on(stiff.log, log_report(log));
        code = code ? code : made;
    }
    shoal_log_free(stiff.log);
    return code;
}

// ---- Launches -----------------------------------------------------------------------------------

static bool must_stop(const struct dispatch_control *c) {
    return dispatch_is_set(c->stop[0]) || dispatch_is_set(c->stop[1]);
}

// Longer and longer, until a launch took so long that what sleeps is awake.
static shoal_code launch(struct batch_run *b, struct chunk *c, uint32_t all) {
    const struct dispatch_control *control = b->loop.job->control;
    shoal_code code = SHOAL_OK;
    for (uint64_t rows = ROWS_FIRST;; rows *= ROWS_FACTOR) {
        uint64_t begin = clock_ns();
        c->base.rows = rows < all ? (uint32_t)rows : all;
        code = dispatch_run(&b->loop, &c->base);
        if (code == SHOAL_MEMORY) // it has no room for a whole chunk: a run makes smaller ones
            return SHOAL_OK;
        if (code != SHOAL_OK || rows >= all || clock_ns() - begin >= AWAKE_NS)
            return code;
        if (must_stop(control))
            return SHOAL_STOPPED;
        under_way_kernel(b, c->role, &c->base);
    }
}

// Lays out and fills a chunk of `rows` rows as a run would, and touches what results go to.
static shoal_code prepare(struct batch_run *b, struct chunk *c, uint32_t place, uint32_t rows) {
    shoal_code code = chunk_init(c, place, rows, log_report(b->log));
    if (code != SHOAL_OK)
        return code;
    c->base.rows = rows;
    code = chunk_place(c, 0, rows, log_report(b->log));
    if (code != SHOAL_OK)
        return code;
    chunk_fill_rows(c);
    chunk_fill(c, 0, c->inputs);
    memset(c->base.launch.written.data, 0, c->base.launch.written.bytes);
    under_way_kernel(b, c->role, &c->base);
    return SHOAL_OK;
}

static shoal_code warm_place(struct batch_run *b, enum plan_role role, uint32_t place,
                             uint32_t slot, uint32_t rows) {
    enum chunk_use use = role == PLAN_FIRST ? CHUNK_WHOLE : CHUNK_COUNTED;
    struct chunk c = under_way_chunk(b, role, use);
    shoal_code code = prepare(b, &c, place, rows);
    c.base.slot = pool_slot(&b->runner->pool, slot);
    if (code == SHOAL_OK && !c.base.slot)
        code = report_error(log_report(b->log), SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        code = launch(b, &c, rows);
    chunk_free(&c);
    return code;
}

static uint32_t places_of(const struct dispatch_job *job) {
    uint64_t chunks = (job->rows + job->chunk_rows - 1) / job->chunk_rows;
    uint64_t slots = job->limits.slots < DISPATCH_SLOTS ? job->limits.slots : DISPATCH_SLOTS;
    return (uint32_t)(chunks < slots ? chunks : slots);
}

// The first kernel in every place, the others in the one that has rows which run again.
static shoal_code warm_places(struct batch_run *b, const struct dispatch_job *job) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < places_of(job) && code == SHOAL_OK; i++)
        code = warm_place(b, PLAN_FIRST, i, i, job->chunk_rows);
    for (enum plan_role i = PLAN_STIFF; i < PLAN_ROLES && code == SHOAL_OK; i++)
        if (b->runner->kernel[i].kernel)
            code = warm_place(b, i, DISPATCH_AGAIN, 0, job->chunk_rows);
    return code;
}

shoal_code run_warm(const struct plan *p, struct runner *runner, const struct batch *b,
                    const struct result_list *list, const struct dispatch_control *control,
                    shoal_log *log) {
    struct batch_run run = {.plan = p, .runner = runner, .batch = b, .list = list, .log = log};
    struct arena arena = {0};
    struct dispatch_job job;
    int32_t span = log_begin(log, LOG_warm_execution);
    shoal_code code = make_kernels(p, runner, log);
    if (code == SHOAL_OK)
        code = under_way_begin(&run, control, &arena, &job);
    if (code == SHOAL_OK && job.rows) {
        dispatch_begin(&run.loop, &job);
        code = warm_places(&run, &job);
        dispatch_end(&run.loop);
    }
    log_end(log, span);
    arena_free(&arena);
    return code;
}
