// SPDX-License-Identifier: MIT
// What a first run pays and later ones do not, paid before it: kernels, memory that was never
// touched, code that a driver loads when it is first run, clocks of a device that slept.
//
// Kernels run on the first rows of the batch in blocks that are as large as a whole chunk; what
// comes out is thrown away. Where steps are saved only the pass that counts them runs.
#include "ode/run/under_way.h"

#include "base/clock.h"
#include "ode/run/beside.h"

#include <string.h>

LOG_LABEL(warm_execution, BUILD, 90, "kernels, memory and first launches before they are needed");

enum { ROWS_FIRST = 64, ROWS_FACTOR = 4, AWAKE_NS = 20000000 };

// ---- Kernels ------------------------------------------------------------------------------------

shoal_code runner_complete(const struct plan *p, struct runner *r, shoal_log *log) {
    shoal_code code = SHOAL_OK;
    r->how.hurries = false;
    for (enum plan_role i = PLAN_FIRST; i < PLAN_ROLES && code == SHOAL_OK; i++) {
        struct loaded full = {0}, *k = &r->kernel[i];
        if (!k->hurried)
            continue;
        code = takeover_build(p, i, &r->how, &full, log);
        if (code == SHOAL_OK) {
            kernel_drop(k->kernel);
            *k = full;
        }
    }
    return code;
}

// The stiff kernel in another thread, and the last one in this.
static shoal_code make_kernels(const struct plan *p, struct runner *runner, shoal_log *log) {
    struct beside stiff = {0};
    struct loaded *last = &runner->kernel[PLAN_LAST];
    shoal_code code = runner_complete(p, runner, log);
    if (!plan_takes_over(p) || code != SHOAL_OK)
        return code;
    if (!runner->kernel[PLAN_STIFF].kernel)
        beside_begin(&stiff, p, PLAN_STIFF, &runner->how);
    if (!last->kernel)
        code = takeover_build(p, PLAN_LAST, &runner->how, last, log);
    shoal_code made = beside_end(&stiff, runner, log);
    return code ? code : made;
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
