// SPDX-License-Identifier: MIT
// What a step costs, for those outside.
#include "api/model.h"
#include "ode/codegen/codegen.h"

static shoal_cost cost_of(struct system *s, const struct method *m, struct arena *arena) {
    struct linear l = codegen_linearise(s, m, arena);
    struct op_counts c = codegen_cost(s, m, &l, arena);
    return (shoal_cost){.adds = c.adds,
                        .muls = c.muls,
                        .divs = c.divs,
                        .functions = c.functions,
                        .iterations = method_iterates(m) ? COST_ITERATIONS : 0,
                        .matrix = l.lu.given,
                        .factors = l.lu.entries};
}

shoal_code shoal_model_cost(const shoal_model *model, const char *method, shoal_cost *out,
                            shoal_log *log) {
    struct arena arena = {0};
    struct budget budget;
    jmp_buf oom;
    if (!model || !method || !out)
        return api_usage(log, "shoal_model_cost", "model, method or place for the cost");
    const struct method *m = method_find(method);
    struct system *s = api_system(model, log);
    *out = (shoal_cost){0};
    if (!m)
        return report_error(log_report(log), SHOAL_INPUT, "unknown method '%s'", method);
    if (!s)
        return SHOAL_INPUT;
    if (s->states > LU_MOST_STATES)
        return SHOAL_OK;
    budget = system_budget(s, NULL);
    arena.oom = s->arena.oom = &oom;
    arena.budget = s->arena.budget = &budget;
    volatile shoal_code code = SHOAL_OK;
    if (!setjmp(oom))
        *out = cost_of(s, m, &arena);
    else
        code = system_failure(&budget, log_report(log));
    s->arena.oom = NULL;
    s->arena.budget = NULL;
    arena_free(&arena);
    return code;
}
