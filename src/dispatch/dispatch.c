// SPDX-License-Identifier: MIT
// The loop over chunks: start, wait, mend, deliver.
#include "dispatch/dispatch.h"

#include "base/clock.h"
#include "device/device.h"

#include <stdio.h>

enum { TELL_NS = 50 * 1000 * 1000 }; // between calls of whoever watches

static bool asked_to_stop(const struct dispatch *d) {
    const struct dispatch_control *c = d->job->control;
    return dispatch_is_set(c->stop[0]) || dispatch_is_set(c->stop[1]);
}

// ---- Progress and stop --------------------------------------------------------------------------

void dispatch_show(struct dispatch *d, uint64_t done) {
    const struct dispatch_control *c = d->job->control;
    if (!c->progress)
        return;
    d->shown = done > d->shown ? done : d->shown;
    d->told_ns = clock_ns();
    c->progress(&(shoal_progress){.done = d->shown + d->job->beside,
                                  .total = d->job->rows + d->job->beside,
                                  .seconds = (double)(clock_ns() - d->start_ns) * 1e-9,
                                  .before = d->job->first},
                c->user);
}

// Rows that run again are not done; where the device has its own memory nobody knows them yet, so
// that what is shown only stops for a while.
static void on_rows(void *user, uint32_t rows) {
    const struct dispatch_chunk *c = user;
    struct dispatch *d = c->loop;
    const struct dispatch_job *job = d->job;
    if (asked_to_stop(d))
        __atomic_store_n(&d->stop, 1, __ATOMIC_RELAXED);
    if (!job->control->progress)
        return;
    bool known = c->reruns && !job->limits.memory;
    uint32_t undone = known ? job->engine->undone(job->user, c) : 0;
    dispatch_show(d, c->before + (rows > undone ? rows - undone : 0));
}

static void watch(struct dispatch *d, struct dispatch_chunk *c) {
    const struct dispatch_control *control = d->job->control;
    bool watched = control->progress || control->stop[1];
    c->loop = d;
    c->launch.stop = watched ? &d->stop : control->stop[0]; // one flag is looked at as it is
    c->launch.progress = watched ? on_rows : NULL;
    c->launch.user = c;
    c->launch.log = d->job->log;
}

// ---- Time log -----------------------------------------------------------------------------------

void dispatch_end_transfer(const struct dispatch *d, const struct dispatch_chunk *c, int32_t span,
                           uint32_t rows, uint64_t bytes) {
    shoal_log *log = d->job->log;
    char slice[48];
    if (span < 0)
        return;
    snprintf(slice, sizeof slice, "%llu:%llu", (unsigned long long)c->first_row,
             (unsigned long long)c->first_row + rows);
    log_nbytes(log, span, bytes);
    log_u64(log, span, "chunk_index", c->launch.chunk);
    log_text(log, span, "chunk_slice", slice);
    log_u64(log, span, "is_chunked", c->launch.chunked);
    log_end(log, span);
}

static void begin_span(const struct dispatch *d, struct dispatch_chunk *c) {
    shoal_log *log = d->job->log;
    c->span = log_begin(log, LOG_kernel_launch);
    log_u64(log, c->span, "chunk_index", c->launch.chunk);
    log_u64(log, c->span, "numruns", c->rows);
    if (c->first)
        log_u64(log, c->span, "first", 1);
}

// ---- One chunk ----------------------------------------------------------------------------------

static shoal_code no_slot(const struct dispatch *d) {
    return report_error(log_report(d->job->log), SHOAL_MEMORY, "out of memory");
}

static void set_head(struct dispatch_chunk *c) {
    *c->head = (struct shoal_head){.base = c->first_row, .rows = c->rows};
    share_rows(c->head, &(struct share){.refill = c->refill,
                                        .workspace = c->launch.workspace,
                                        .resident = c->resident,
                                        .threads = c->launch.threads});
}

// The kernel's span ends with the kernel where one chunk computes at a time; else with its start,
// and the device's own spans tell the rest.
static shoal_code start(struct dispatch *d, struct dispatch_chunk *c) {
    const struct dispatch_job *job = d->job;
    watch(d, c);
    set_head(c);
    begin_span(d, c);
    c->start_ns = clock_ns();
    shoal_code code =
        job->pool->backend->start(c->module, c->slot, &c->launch, log_report(job->log));
    if (code != SHOAL_OK || job->limits.at_once > 1)
        log_end(job->log, c->span);
    return code;
}

static shoal_code wait(struct dispatch *d, struct dispatch_chunk *c) {
    const struct dispatch_job *job = d->job;
    shoal_code code = job->pool->backend->finish(c->slot, log_report(job->log));
    if (job->limits.at_once == 1)
        log_end(job->log, c->span);
    return code;
}

shoal_code dispatch_run(struct dispatch *d, struct dispatch_chunk *c) {
    shoal_code code = start(d, c);
    return code == SHOAL_OK ? wait(d, c) : code;
}

// ---- The loop -----------------------------------------------------------------------------------

static uint32_t slots_of(const struct dispatch *d) {
    uint32_t slots = d->job->limits.slots;
    return slots < DISPATCH_SLOTS ? slots : DISPATCH_SLOTS;
}

static struct dispatch_chunk *chunk_at(struct dispatch *d, uint32_t number) {
    return d->chunk[number % slots_of(d)];
}

static shoal_code wait_for_one(struct dispatch *d, bool mend) {
    const struct dispatch_job *job = d->job;
    struct dispatch_chunk *c = chunk_at(d, d->waited++);
    shoal_code code = wait(d, c);
    *(d->waited == 1 ? &d->first_ns : &d->later_ns) += clock_ns() - c->start_ns;
    if (mend && job->engine->mend && (code == SHOAL_OK || code == SHOAL_STOPPED))
        code = job->engine->mend(job->user, c, code);
    return code;
}

// The oldest chunk that came back, whole or (SHOAL_STOPPED) in part.
static shoal_code deliver_one(struct dispatch *d, shoal_code came) {
    const struct dispatch_job *job = d->job;
    struct dispatch_chunk *c = chunk_at(d, d->delivered++);
    uint32_t rows = came == SHOAL_STOPPED ? job->engine->finished(job->user, c) : c->rows;
    return rows ? job->engine->deliver(job->user, c, rows) : SHOAL_OK;
}

static bool is_over(shoal_code code) { return code != SHOAL_OK && code != SHOAL_STOPPED; }

static shoal_code wait_and_deliver(struct dispatch *d) {
    shoal_code code = wait_for_one(d, true);
    if (is_over(code))
        return code;
    shoal_code delivered = deliver_one(d, code);
    return delivered != SHOAL_OK ? delivered : code;
}

// All chunks that are on their way: what came back whole is handed on even after a stop, and then,
// as after an error, the device is only waited for.
static shoal_code drain(struct dispatch *d, shoal_code code) {
    while (!is_over(code) && d->delivered < d->waited) {
        shoal_code delivered = deliver_one(d, SHOAL_OK);
        code = delivered != SHOAL_OK ? delivered : code;
    }
    while (code == SHOAL_OK && d->waited < d->started)
        code = wait_and_deliver(d);
    while (d->waited < d->started)
        wait_for_one(d, false);
    return code;
}

// The device has no memory for a chunk: the next try has what is free once the others are done,
// and the one after that is half as large.
static shoal_code back_off(struct dispatch *d) {
    const struct dispatch_job *job = d->job;
    bool alone = d->started == d->waited;
    if (alone && d->rows <= DISPATCH_ROWS_LEAST)
        return report_error(log_report(job->log), SHOAL_MEMORY,
                            "%s has not enough memory for a chunk of %u runs",
                            job->pool->backend->name, d->rows);
    if (alone)
        d->rows /= 2;
    return drain(d, SHOAL_OK);
}

static shoal_code take_place(struct dispatch *d, struct dispatch_chunk **out) {
    const struct dispatch_job *job = d->job;
    uint32_t place = d->started % slots_of(d);
    shoal_code code = SHOAL_OK;
    if (!d->chunk[place]) {
        code = job->engine->make(job->user, place, d->rows, &d->chunk[place]);
        if (code != SHOAL_OK)
            return code;
    }
    struct dispatch_chunk *c = *out = d->chunk[place];
    uint64_t left = job->rows - d->next;
    c->place = place;
    c->slot = pool_slot(job->pool, place);
    c->first_row = c->before = d->next;
    c->rows = dispatch_next_rows(left, d->rows, d->started, job->tapers);
    c->launch.chunk = d->started;
    c->launch.chunked = d->rows < job->rows;
    return c->slot ? SHOAL_OK : no_slot(d);
}

// Starts the next chunk.
static shoal_code start_one(struct dispatch *d) {
    const struct dispatch_job *job = d->job;
    for (;;) {
        struct dispatch_chunk *c = NULL;
        shoal_code code = take_place(d, &c);
        if (code == SHOAL_OK)
            code = job->engine->fill(job->user, c);
        if (code != SHOAL_OK)
            return code;
        if (job->engine->measure)
            code = job->engine->measure(job->user, c);
        if (code == SHOAL_OK)
            code = start(d, c);
        if (code == SHOAL_OK) {
            d->next += c->rows;
            d->started++;
        }
        if (code != SHOAL_MEMORY)
            return code;
        code = back_off(d);
        if (code != SHOAL_OK)
            return code;
    }
}

static bool can_start(const struct dispatch *d) {
    const struct dispatch_job *job = d->job;
    uint32_t at_once = job->one_at_a_time ? 1 : job->limits.at_once;
    return d->next < job->rows && d->started - d->delivered < slots_of(d) &&
           d->started - d->waited < at_once;
}

// Chunks that are over before their device says how far it is: whoever watches may want to stop.
static void show_now_and_then(struct dispatch *d) {
    if (!d->job->control->progress || clock_ns() - d->told_ns < TELL_NS)
        return;
    dispatch_show(d, d->waited < d->started ? chunk_at(d, d->waited)->before : d->next);
}

// What came back is delivered while the next chunk computes, if the device may have another.
static shoal_code step(struct dispatch *d, bool *stop) {
    show_now_and_then(d);
    *stop = asked_to_stop(d);
    if (*stop)
        return SHOAL_OK;
    if (can_start(d))
        return start_one(d);
    if (d->delivered < d->waited)
        return deliver_one(d, SHOAL_OK);
    shoal_code code = wait_for_one(d, true);
    if (code != SHOAL_STOPPED)
        return code;
    shoal_code delivered = deliver_one(d, code);
    return delivered != SHOAL_OK ? delivered : code;
}

void dispatch_begin(struct dispatch *d, const struct dispatch_job *job) {
    *d = (struct dispatch){
        .job = job, .rows = job->chunk_rows, .next = job->first, .start_ns = clock_ns()};
    d->told_ns = d->start_ns;
    job->pool->log = job->log;
}

void dispatch_end(struct dispatch *d) { d->job->pool->log = NULL; }

static bool is_relieved(const struct dispatch *d) {
    const struct dispatch_job *job = d->job;
    return job->is_relieved && d->next > job->first && can_start(d) &&
           job->is_relieved(job->user, d->next);
}

shoal_code dispatch_all(struct dispatch *d, const struct dispatch_job *job) {
    shoal_code code = SHOAL_OK;
    bool stop = false;
    dispatch_begin(d, job);
    while (code == SHOAL_OK && !stop && d->next < job->rows && !is_relieved(d))
        code = step(d, &stop);
    code = drain(d, code);
    dispatch_end(d);
    return code == SHOAL_OK && stop ? SHOAL_STOPPED : code;
}
