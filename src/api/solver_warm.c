// SPDX-License-Identifier: MIT
// A solver of a process that stays, made ready before it matters.
#include "api/solver.h"

shoal_code shoal_solver_warm(shoal_solver *solver, const shoal_batch *batch, shoal_log *log) {
    struct result_list list;
    struct arena arena = {0};
    shoal_code code = solver_open(solver, batch, "shoal_solver_warm", log);
    if (code != SHOAL_OK)
        return code;
    code = solver_check_run(solver, log);
    if (code == SHOAL_OK)
        code = run_list(solver->plan, batch->batch, NULL, &arena, &list, log_report(log));
    if (code == SHOAL_OK) {
        const struct dispatch_control control = {.stop = {&solver->stop, solver->given.stop}};
        code = run_warm(solver->plan, &solver->runner, batch->batch, &list, &control, log);
    }
    arena_free(&arena);
    solver_leave(solver);
    return code;
}
