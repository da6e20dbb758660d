// SPDX-License-Identifier: MIT
// The kernel of the method that takes over from trajectories which are stiff, made in the middle of
// a run, when the first of them shows.
#include "api/solver.h"

#include "symbolic/symbolic.h"

shoal_code takeover_request(const shoal_model *model, const shoal_options *o,
                            const struct codegen_request *first, struct codegen_request *out,
                            shoal_log *log) {
    int32_t span = log_begin(log, LOG_simplify);
    struct system *system = system_new(model->model, log_report(log));
    log_u64(log, span, "nodes", system ? system->dag.nodes.count : 0);
    log_end(log, span);
    if (!system)
        return SHOAL_INPUT;
    *out = *first; // then the text is that of a run with this method alone
    out->system = system;
    out->method = first->stiff;
    out->stiff = NULL;
    out->controller = solver_controller(o, out->method);
    return SHOAL_OK;
}

// Either flag ends the compilation; called while it goes on.
static void on_compile(const shoal_compile *now, void *user) {
    shoal_solver *s = user;
    struct takeover *t = &s->takeover;
    if (s->stop || (s->stop_too && *s->stop_too))
        t->stop = 1;
    if (t->options.on_compile)
        t->options.on_compile(now, t->options.on_compile_user);
}

static shoal_code get(void *user, struct shoal_module **module, size_t *workspace, shoal_log *log) {
    shoal_solver *s = user;
    struct takeover *t = &s->takeover;
    shoal_code code = SHOAL_OK;
    if (!t->kernel.module) {
        shoal_options o = t->options;
        o.on_compile = on_compile;
        o.on_compile_user = s;
        o.stop = &t->stop;
        t->stop = 0;
        t->request.log = log;
        code = solver_kernel(s, &t->request, &o, &t->kernel, log);
    }
    *module = t->kernel.module;
    *workspace = t->kernel.workspace;
    return code;
}

static const char *own(shoal_solver *s, const char *text) {
    return text ? arena_strdup(&s->arena, text) : NULL;
}

shoal_code takeover_begin(shoal_solver *s, const struct codegen_request *first,
                          const shoal_options *o, shoal_log *log) {
    struct takeover *t = &s->takeover;
    shoal_code code = takeover_request(s->model, o, first, &t->request, log);
    if (code != SHOAL_OK)
        return code;
    t->options = (shoal_options){.cache = own(s, o->cache),
                                 .keep_source = own(s, o->keep_source),
                                 .on_compile = o->on_compile,
                                 .on_compile_user = o->on_compile_user};
    t->run = (struct run_takeover){.method = first->stiff->name, .get = get, .user = s};
    s->setup.takeover = &t->run;
    return solver_tolerances(s, &t->request, o, &t->run.tolerances, log_report(log));
}

void takeover_free(shoal_solver *s) {
    if (s->takeover.kernel.module)
        s->backend->unload(s->takeover.kernel.module);
    system_free(s->takeover.request.system);
}
