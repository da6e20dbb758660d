// SPDX-License-Identifier: MIT
// Running ranges of rows that somebody hands out.
#include "api/gather.h"

#include "base/clock.h"

#include <stdlib.h>

// What a range should take, and by how much it may be longer than the one before.
static const double range_s = 0.5;
enum { RANGE_GROWS = 4 };

struct ranges {
    shoal_solver *solver;
    const struct batch *batch;
    const unsigned char *job;
    const shoal_ranges *given;
    struct dispatch_control control, outer; // of a range, and of all
    uint64_t least, wanted;                 // rows
    uint64_t before;                        // rows of ranges that are done
    uint64_t start_ns;
    shoal_log *log;
};

static void on_progress(const shoal_progress *now, void *user) {
    const struct ranges *g = user;
    g->outer.progress(&(shoal_progress){.done = g->before + now->done,
                                        .total = batch_rows(g->batch),
                                        .seconds = (double)(clock_ns() - g->start_ns) * 1e-9},
                      g->outer.user);
}

static bool is_stopped(const struct ranges *g) {
    return dispatch_is_set(g->outer.stop[0]) || dispatch_is_set(g->outer.stop[1]);
}

// The next range is as long as this one was fast.
static void adapt(struct ranges *g, uint64_t rows, uint64_t ns) {
    double seconds = (double)ns * 1e-9, most = (double)rows * RANGE_GROWS;
    double wanted = seconds > 0 ? (double)rows * range_s / seconds : most;
    g->before += rows;
    g->wanted = wanted < most ? (uint64_t)wanted : (uint64_t)most;
}

static shoal_code run_slice(struct ranges *g, const struct batch *slice, struct sink *sink,
                            shoal_tally *tally) {
    struct result_list list;
    struct arena arena = {0};
    shoal_solver *s = g->solver;
    shoal_code code = run_list(s->plan, slice, NULL, &arena, &list, log_report(g->log));
    if (code == SHOAL_OK)
        code = run_batch(s->plan, &s->runner, slice, sink, &list, &g->control, NULL, tally, g->log);
    arena_free(&arena);
    return code;
}

static shoal_code run_range(struct ranges *g, uint64_t first, uint64_t rows) {
    shoal_tally tally = {0};
    shoal_solver *s = g->solver;
    struct packed_order order = {.job = g->job,
                                 .to = g->given,
                                 .first = first,
                                 .tally = &tally,
                                 .threads = s->plan->threads,
                                 .team = &s->runner.pool.team};
    struct batch *slice = batch_stretch(g->batch, first, rows);
    struct sink *sink = packed_sink_new(&order);
    uint64_t begin_ns = clock_ns();
    shoal_code code = slice && sink
                          ? run_slice(g, slice, sink, &tally)
                          : report_error(log_report(g->log), SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        adapt(g, rows, clock_ns() - begin_ns);
    if (sink)
        sink->free(sink);
    free(slice);
    return code;
}

shoal_code ranges_run(shoal_solver *s, const struct batch *b, const unsigned char job[PACKED_JOB],
                      const shoal_ranges *given, const struct dispatch_control *control,
                      shoal_log *log) {
    uint64_t least = s->plan->chunk ? s->plan->chunk : s->plan->limits.rows_wanted;
    struct ranges g = {.solver = s,
                       .batch = b,
                       .job = job,
                       .given = given,
                       .control = *control,
                       .outer = *control,
                       .least = least,
                       .wanted = least,
                       .start_ns = clock_ns(),
                       .log = log};
    if (control->progress) {
        g.control.progress = on_progress;
        g.control.user = &g;
    }
    shoal_code code = SHOAL_OK;
    uint64_t first, rows;
    while (code == SHOAL_OK) {
        if (is_stopped(&g))
            return SHOAL_STOPPED;
        if (!given->next(given->user, g.least, g.wanted, &first, &rows))
            break;
        bool there = first <= batch_rows(b) && rows && rows <= batch_rows(b) - first;
        code = there ? run_range(&g, first, rows)
                     : report_error(log_report(log), SHOAL_USAGE,
                                    "shoal_solver_run_ranges: the batch has no such rows");
    }
    return code;
}

shoal_code ranges_check(shoal_solver *s, const shoal_batch *batch, const char *call,
                        shoal_solver **worker, shoal_log *log) {
    if (s && (s->front || s->several))
        return report_error(log_report(log), SHOAL_USAGE,
                            "%s: the solver must have one device, so name it (--device)", call);
    shoal_code code = solver_open(s, batch, call, worker, log);
    if (code == SHOAL_OK)
        solver_leave(s);
    return code;
}

shoal_code shoal_solver_run_ranges(shoal_solver *solver, const shoal_batch *batch,
                                   const shoal_ranges *ranges, shoal_log *log) {
    unsigned char job[PACKED_JOB];
    shoal_solver *worker;
    if (!ranges || ranges->size != sizeof *ranges || !ranges->next || !ranges->done)
        return api_usage(log, "shoal_solver_run_ranges", "ranges");
    shoal_code code = ranges_check(solver, batch, "shoal_solver_run_ranges", &worker, log);
    if (code == SHOAL_OK)
        code = solver_check_run(worker, log);
    if (code == SHOAL_OK)
        code = packed_job(worker, batch, job, log_report(log));
    if (code == SHOAL_OK)
        code = solver_enter(worker, log);
    if (code != SHOAL_OK)
        return code;
    struct dispatch_control control = solver_control(worker);
    int32_t span = solver_begin_event(log), inner = log_begin(log, LOG_solver_solve_execution);
    code = ranges_run(worker, batch->batch, job, ranges, &control, log);
    log_end(log, inner);
    log_end(log, span);
    solver_leave(worker);
    return code;
}
