// SPDX-License-Identifier: MIT
// A solver of a process that stays, made ready before it matters: on its device, or on all that it
// may choose.
#include "api/front.h"

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
    arena_free(&arena);
    return code;
}

static shoal_code warm_all(shoal_solver *solver, const shoal_batch *batch, shoal_log *log) {
    struct front *f = solver->front;
    shoal_code code = front_make_all(solver, log);
    for (uint32_t i = 0; i < COST_DEVICES && code == SHOAL_OK; i++)
        if (f->child[i] && !f->chooser.failed[i])
            code = warm(solver, f->child[i], batch, log);
    return code;
}

shoal_code shoal_solver_warm(shoal_solver *solver, const shoal_batch *batch, shoal_log *log) {
    shoal_solver *worker;
    shoal_code code = solver_open(solver, batch, "shoal_solver_warm", &worker, log);
    if (code != SHOAL_OK)
        return code;
    code = solver->front ? warm_all(solver, batch, log) : warm(solver, worker, batch, log);
    solver_leave(solver);
    return code;
}
