// SPDX-License-Identifier: MIT
// The kernels of the methods that take over from trajectories which are stiff, made in the middle
// of a run, when the first of them shows: the stiff method's, and that of the first method without
// a look for stiffness, for what only that one can finish.
#include "api/solver.h"

#include "ode/symbolic/symbolic.h"

struct codegen_request takeover_request(const shoal_options *o,
                                        const struct codegen_request *first) {
    struct codegen_request q = *first; // then the text is that of a run with this method alone
    q.system = NULL;
    q.method = first->stiff;
    q.stiff = NULL;
    q.controller = solver_controller(o, q.method);
    return q;
}

shoal_code takeover_system(const shoal_model *model, struct codegen_request *q, shoal_log *log) {
    int32_t span = log_begin(log, LOG_simplify);
    q->system = system_new(model->model, log_report(log));
    log_u64(log, span, "nodes", q->system ? q->system->dag.nodes.count : 0);
    log_end(log, span);
    q->log = log;
    return q->system ? SHOAL_OK : SHOAL_INPUT;
}

// Called in the middle of a run.
static shoal_code get(struct takeover *t, struct shoal_module **module, size_t *workspace,
                      uint32_t *resident, shoal_log *log) {
    shoal_solver *s = t->solver;
    shoal_code code = SHOAL_OK;
    if (!t->kernel.kernel) {
        struct compile_flags flags;
        shoal_options o = solver_watched(s, &s->given, &flags);
        code = takeover_system(s->model, &t->request, log);
        if (code == SHOAL_OK)
            code = solver_kernel(s, &t->request, &o, NULL, &t->kernel, log);
        system_free(t->request.system);
        t->request.system = NULL;
        t->request.log = NULL;
    }
    *module = t->kernel.kernel ? t->kernel.kernel->module : NULL;
    *workspace = t->kernel.workspace;
    *resident = t->kernel.kernel ? t->kernel.kernel->facts.resident : 0;
    return code;
}

static shoal_code get_any(void *user, struct shoal_module **module, size_t *workspace,
                          uint32_t *resident, shoal_log *log) {
    return get(user, module, workspace, resident, log);
}

shoal_code takeover_begin(shoal_solver *s, const shoal_options *o, shoal_log *log) {
    struct takeover *stiff = &s->takeover[TAKEOVER_STIFF], *last = &s->takeover[TAKEOVER_LAST];
    stiff->request = takeover_request(o, &s->request);
    stiff->run = (struct run_takeover){.method = s->request.stiff->name, .get = get_any};
    last->request = s->request;
    last->request.system = NULL;
    last->request.stiff = NULL;
    last->run = (struct run_takeover){
        .method = s->request.method->name, .get = get_any, .tolerances = s->setup.tolerances};
    return solver_tolerances(s, &stiff->request, o, &stiff->run.tolerances, log_report(log));
}

void takeover_settle(shoal_solver *s) {
    for (int i = 0; i < TAKEOVERS; i++) {
        s->takeover[i].solver = s;
        s->takeover[i].run.user = &s->takeover[i];
    }
    s->takeover[TAKEOVER_STIFF].run.last = &s->takeover[TAKEOVER_LAST].run;
    bool takes = s->takeover[TAKEOVER_STIFF].request.method;
    s->setup.takeover = takes ? &s->takeover[TAKEOVER_STIFF].run : NULL;
}
