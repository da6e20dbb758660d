// SPDX-License-Identifier: MIT
// A solver of a process that stays, made ready before it matters: on its device, or on all that it
// may choose.
#include "api/front.h"
#include "api/learn.h"
#include "base/clock.h"
#include "ode/run/tuned.h"

#include <math.h>
#include <stdlib.h>

enum { REHEARSED = 16, NUMBERS_MOST = 1 << 20, CALLS = 8, CALLS_NS = 2000000 };
enum { SEEN_FIRST = 64, SEEN_FACTOR = 8, SEEN_PICKED = 4096, SEEN_RUNS = 4, SEEN_MS = 50 };

// Room for what a batch saves, where that is little.
static double *room_for(const shoal_solver *s, const struct batch *b) {
    uint64_t rows = batch_rows(b), numbers = shoal_solver_save_count(s) * shoal_solver_var_count(s);
    bool little = rows < NUMBERS_MOST && numbers < NUMBERS_MOST && rows * numbers < NUMBERS_MOST;
    return little && rows && numbers ? calloc(rows * numbers, sizeof(double)) : NULL;
}

// Into memory of our own, and into the caller's.
static void run_both_ways(shoal_solver *worker, const shoal_batch *some) {
    shoal_array all = {.data = room_for(worker, some->batch)};
    shoal_result *result = NULL;
    shoal_tally tally;
    solver_run_result(worker, some, &result, NULL);
    shoal_result_free(result);
    if (all.data)
        solver_run_arrays(worker, some, &all, 1, &tally, NULL);
    free(all.data);
}

// Some rows as a run, with all that is around a kernel: code and memory that was never touched.
// What is wrong with it the run that matters tells.
static void rehearse(shoal_solver *worker, const shoal_batch *batch) {
    uint64_t rows = batch_rows(batch->batch);
    shoal_batch some = *batch;
    some.batch = batch_pick(batch->batch, rows < REHEARSED ? (uint32_t)rows : REHEARSED);
    worker->rehearses = true;
    for (int i = 0; i < 2 && some.batch && rows && !worker->reduce.items.count; i++)
        run_both_ways(worker, &some);
    worker->rehearses = false;
    free(some.batch);
}

// A batch that takes no time, as its caller has it run, who waits for the choice of a device and
// what is learned, too: until caches and predictors know the way.
static void run_as_callers_do(shoal_solver *solver, const shoal_batch *batch) {
    shoal_array all = {.data = batch_rows(batch->batch) <= REHEARSED && !solver->reduce.items.count
                                   ? room_for(solver, batch->batch)
                                   : NULL};
    uint64_t end = clock_ns() + CALLS_NS;
    for (int i = 0; i < CALLS && all.data && clock_ns() < end; i++)
        shoal_solver_run_arrays(solver, batch, &all, 1, NULL, NULL);
    free(all.data);
}

static shoal_code warm(const shoal_solver *solver, shoal_solver *worker, const shoal_batch *batch,
                       shoal_log *log) {
    const struct dispatch_control control = {.stop = {&solver->stop, solver->given.stop}};
    struct result_list list;
    struct arena arena = {0};
    shoal_code code = solver_check_run(worker, log);
    if (code == SHOAL_OK)
        code = run_list(worker->plan, batch->batch, NULL, &arena, &list, log_report(log));
    if (code == SHOAL_OK)
        code = run_warm(worker->plan, &worker->runner, batch->batch, &list, &control, log);
    if (code == SHOAL_OK && solver->given.tune)
        code = tuned_search(worker->plan, &worker->runner, batch->batch, (double)INFINITY, &control,
                            log);
    if (code == SHOAL_OK) {
        learn_ready(worker);
        rehearse(worker, batch);
    }
    arena_free(&arena);
    return code;
}

// Seconds of a batch on a device, which is then known; 0: it was not run.
static double see(shoal_solver *worker, const shoal_batch *batch) {
    shoal_array all = {.data = room_for(worker, batch->batch)};
    shoal_tally tally;
    double took = 0;
    for (int i = 0; i < SEEN_RUNS && all.data; i++) { // the first is not as later ones are
        uint64_t begin = clock_ns();
        worker->rehearses = i == 0;
        if (solver_run_arrays(worker, batch, &all, 1, &tally, NULL) != SHOAL_OK)
            break;
        took = (double)(clock_ns() - begin) * 1e-9;
    }
    worker->rehearses = false;
    free(all.data);
    return took;
}

// How long batches of several sizes take, up to the whole one where that is soon done: what a
// device is chosen by.
static void see_sizes(shoal_solver *worker, const shoal_batch *batch) {
    uint64_t rows = batch_rows(batch->batch), n = SEEN_FIRST;
    double took = 0;
    for (; n < rows && n <= SEEN_PICKED && took * SEEN_FACTOR * 1e3 < SEEN_MS; n *= SEEN_FACTOR) {
        shoal_batch some = *batch;
        some.batch = batch_pick(batch->batch, (uint32_t)n);
        took = some.batch ? see(worker, &some) : 0;
        free(some.batch);
    }
    double whole = took * (double)rows * SEEN_FACTOR / (double)n;
    if (rows > REHEARSED && whole * 1e3 < SEEN_MS)
        see(worker, batch);
}

static shoal_code warm_all(shoal_solver *solver, const shoal_batch *batch, shoal_log *log) {
    struct front *f = solver->front;
    shoal_code code = front_make_all(solver, log);
    for (uint32_t i = 0; i < COST_DEVICES && code == SHOAL_OK; i++)
        if (f->child[i] && !f->chooser.failed[i])
            code = warm(solver, f->child[i], batch, log);
    for (uint32_t i = 0; i < COST_DEVICES && code == SHOAL_OK && !solver->reduce.items.count; i++)
        if (f->child[i] && !f->chooser.failed[i])
            see_sizes(f->child[i], batch);
    return code;
}

shoal_code shoal_solver_warm(shoal_solver *solver, const shoal_batch *batch, shoal_log *log) {
    shoal_solver *worker;
    shoal_code code = solver_open(solver, batch, "shoal_solver_warm", &worker, log);
    if (code != SHOAL_OK)
        return code;
    code = solver->front ? warm_all(solver, batch, log) : warm(solver, worker, batch, log);
    solver_leave(solver);
    if (code == SHOAL_OK)
        run_as_callers_do(solver, batch);
    return code;
}
