// SPDX-License-Identifier: MIT
// Making a solver: check, generate, and get the kernel.
#include "api/solver.h"

#include "api/choice.h"
#include "api/kernel.h"
#include "api/measure.h"
#include "api/options.h"
#include "device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum controller solver_controller(const shoal_options *o, const struct method *m) {
    if (options_fixed(o, m))
        return CONTROLLER_FIXED;
    for (int i = 0; o->controller && i < CONTROLLER_COUNT; i++)
        if (!strcmp(o->controller, controller_names[i]))
            return (enum controller)i;
    return m->controller;
}

static shoal_code find_method(const shoal_options *o, struct choice *out, struct report *r) {
    *out = choice_find(o->method);
    if (out->first)
        return SHOAL_OK;
    return report_error(r, SHOAL_INPUT, "--method: unknown method '%s'; `shoal methods` lists them",
                        o->method);
}

shoal_code solver_request(const shoal_model *model, const shoal_options *o,
                          const struct shoal_target *target, struct arena *arena,
                          struct codegen_request *out, shoal_log *log) {
    struct choice choice;
    struct output_list outputs;
    shoal_code code = find_method(o, &choice, log_report(log));
    if (code == SHOAL_OK)
        code = options_check(o, choice.first, log_report(log));
    if (code == SHOAL_OK)
        code = outputs_choose(model->model, o->vars, arena, &outputs, log_report(log));
    if (code != SHOAL_OK)
        return code;
    struct system *system = api_system(model, log);
    if (!system)
        return SHOAL_INPUT;
    choice = choice_for(choice, system, o);
    *out = (struct codegen_request){
        .system = system,
        .method = choice.first,
        .stiff = choice.stiff,
        .controller = solver_controller(o, choice.first),
        .f32 = o->precision == SHOAL_F32,
        .dense = o->save == SHOAL_SAVE_N || o->save == SHOAL_SAVE_EVERY || o->save == SHOAL_SAVE_AT,
        .target = target,
        .outputs = outputs.items.count,
        .output = outputs.items.items,
        .swap = model->swap,
        .log = log,
        .stop = o->stop,
    };
    return SHOAL_OK;
}

shoal_code solver_kernel(const shoal_solver *s, const struct codegen_request *q,
                         const shoal_options *o, struct loaded *out, shoal_log *log) {
    struct kernel k = kernel_of(s->backend, s->device, q, s->model->model->source.name, o,
                                cache_open(o->cache), log);
    if (!k.cache)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    shoal_code code = kernel_identify(&k);
    memcpy(out->key, k.hex, sizeof out->key);
    out->workspace = k.source.workspace;
    if (code == SHOAL_OK && o->plan_only)
        out->cached = kernel_is_cached(&k);
    else if (code == SHOAL_OK)
        code = kernel_get(&k, &out->module);
    if (code == SHOAL_OK && !o->plan_only)
        out->cached = !k.compiled;
    if (code == SHOAL_OK && k.compiled && shoal_log_timing(log) >= SHOAL_TIMING_VERBOSE)
        measure_functions(&k);
    cache_tell(k.cache, log_report(log)); // and the run goes on without it
    kernel_free(&k);
    cache_close(k.cache);
    return code;
}

static shoal_code first_kernel(shoal_solver *s, const struct codegen_request *q,
                               const shoal_options *o, shoal_log *log) {
    struct loaded k = {0};
    shoal_code code = solver_kernel(s, q, o, &k, log);
    s->setup.module = k.module;
    s->setup.workspace = k.workspace;
    memcpy(s->key, k.key, sizeof s->key);
    s->cached = k.cached;
    return code;
}

static shoal_code fill_grid(const shoal_options *o, struct arena *arena, struct save_grid *grid,
                            struct report *r) {
    size_t count = o->save == SHOAL_SAVE_AT ? options_save_at(o->save_at, NULL) : 0;
    double *at = arena_new(arena, double, count + 1);
    if (count)
        options_save_at(o->save_at, at);
    return save_grid_make(o, at, count, grid, r);
}

static uint64_t max_steps_of(const shoal_options *o, bool fixed) {
    return o->max_steps ? o->max_steps : fixed ? 0 : 100000;
}

shoal_code solver_tolerances(shoal_solver *s, const struct codegen_request *q,
                             const shoal_options *o, struct run_tolerances *out, struct report *r) {
    struct model *m = s->model->model;
    double *atol = arena_new(&s->arena, double, m->states.count);
    shoal_code code = options_atol_states(o, m, atol, r);
    double rtol = options_rtol(o);                // what the user asked for
    double floor = q->f32 ? fmin(rtol, 1e-6) : 0; // of what f32 can tell apart
    double of_step = q->controller == CONTROLLER_FIXED ? rtol : method_tolerance(q->method, rtol);
    out->rtol = fmax(of_step, floor);
    for (uint32_t i = 0; i < m->states.count; i++)
        atol[i] *= out->rtol / rtol;
    out->atol = atol;
    return code;
}

static shoal_code fill_setup(shoal_solver *s, const struct codegen_request *q,
                             const shoal_options *o, struct report *r) {
    struct run_setup *u = &s->setup;
    struct model *m = s->model->model;
    bool fixed = q->controller == CONTROLLER_FIXED;
    const char **names = arena_new(&s->arena, const char *, q->outputs);
    for (uint32_t i = 0; i < q->outputs; i++)
        names[i] = output_name(m, q->output[i]);
    double most = q->f32 ? INT32_MAX : UINT32_MAX; // what the kernel can count
    if (fixed && run_fixed_steps(o->t0, o->t1, o->dt) > most)
        return report_error(r, SHOAL_INPUT, "--dt: more than %.0f steps", most);
    shoal_code code = solver_tolerances(s, q, o, &u->tolerances, r);
    if (code == SHOAL_OK)
        code = fill_grid(o, &s->arena, &u->grid, r);
    u->backend = s->backend;
    u->device = s->device;
    u->limits = s->backend->limits(s->device);
    u->limits.slots = u->limits.slots < RUN_SLOTS ? u->limits.slots : RUN_SLOTS;
    u->pool = &s->pool;
    u->model = m;
    u->method = q->method->name;
    u->outputs = q->outputs;
    while (u->state_outputs < q->outputs && q->output[u->state_outputs] < m->states.count)
        u->state_outputs++;
    u->output = names;
    u->f32 = q->f32;
    u->fixed = fixed;
    u->t0 = o->t0;
    u->t1 = o->t1;
    u->settle = o->settle;
    u->dt = o->dt;
    u->dt0 = o->dt0;
    u->dt_min = o->dt_min;
    u->dt_max = o->dt_max;
    u->max_steps = max_steps_of(o, fixed);
    u->threads = o->threads ? o->threads : run_threads_default();
    u->chunk = o->chunk;
    u->memory = o->memory;
    // Equal work gains nothing from it, and devices lose by it.
    u->refill = o->refill == SHOAL_REFILL_ON ||
                (o->refill == SHOAL_REFILL_AUTO && !(fixed && u->limits.memory));
    u->keep_failed = o->keep_failed;
    return code;
}

// The options with the values that apply where none were given: a result says how it was made,
// whatever the defaults of a later version are.
static shoal_options resolved(const shoal_options *given, const struct codegen_request *q) {
    shoal_options o = *given;
    if (!q->stiff) // else each of the two has its own
        o.controller = controller_names[q->controller];
    o.dt_from_model = false;
    if (q->controller != CONTROLLER_FIXED) {
        o.dt = NAN;
        o.rtol = options_rtol(given);
        o.atol = options_atol(given);
        o.max_steps = max_steps_of(given, false);
    }
    return o;
}

static bool has_value(const char *text) {
    return *text && strcmp(text, "nan") && strcmp(text, "0");
}

// Every option that has a value, as a JSON object.
static void describe_options(const shoal_options *o, struct arena *arena, struct buf *out) {
    size_t room = 1024;
    char *text = arena_alloc(arena, room);
    const char *comma = "";
    buf_putc(out, '{');
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info info = shoal_option_at(i);
        if (!info.field || !info.kept)
            continue;
        bool given = shoal_options_get(o, info.name, text, room);
        while (strlen(text) + 1 == room) { // it was cut
            text = arena_alloc(arena, room *= 2);
            given = shoal_options_get(o, info.name, text, room);
        }
        if (!given && !has_value(text))
            continue;
        buf_puts(out, comma);
        buf_json(out, info.name);
        buf_putc(out, ':');
        buf_json(out, text);
        comma = ",";
    }
    buf_putc(out, '}');
}

static shoal_code solver_begin(shoal_solver *s, const shoal_options *o, shoal_log *log) {
    struct codegen_request q;
    uint32_t index = 0;
    shoal_code code = device_choose(o->device, &s->backend, &index, log_report(log));
    if (code == SHOAL_OK)
        code = s->backend->open(index, o->fast_math, &s->device, log_report(log));
    if (code != SHOAL_OK)
        return code;
    s->backend->describe(index, s->device_text, sizeof s->device_text);
    code = solver_request(s->model, o, s->backend->target(s->device), &s->arena, &q, log);
    if (code == SHOAL_OK)
        code = fill_setup(s, &q, o, log_report(log));
    if (code == SHOAL_OK)
        code = first_kernel(s, &q, o, log);
    if (code == SHOAL_OK && q.stiff)
        code = takeover_begin(s, &q, o, log);
    if (code != SHOAL_OK)
        return code;
    shoal_options known = resolved(o, &q);
    describe_options(&known, &s->arena, &s->options);
    s->job = o->job ? arena_strdup(&s->arena, o->job) : NULL;
    s->stop_too = o->stop;
    return code;
}

shoal_code shoal_solver_new(const shoal_model *model, const shoal_options *options,
                            shoal_solver **out, shoal_log *log) {
    *out = NULL;
    jmp_buf oom;
    shoal_solver *s = calloc(1, sizeof *s);
    if (!s)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    s->model = model;
    s->pid = getpid();
    s->arena.oom = &oom;
    shoal_code code;
    if (setjmp(oom))
        code = report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    else
        code = solver_begin(s, options, log);
    s->arena.oom = NULL;
    if (code != SHOAL_OK) {
        shoal_solver_free(s);
        return code;
    }
    *out = s;
    return SHOAL_OK;
}

void shoal_solver_free(shoal_solver *solver) {
    if (!solver)
        return;
    if (solver->setup.module)
        solver->backend->unload(solver->setup.module);
    takeover_free(solver);
    if (solver->device)
        run_pool_free(&solver->pool, solver->backend, solver->device);
    if (solver->device)
        solver->backend->close(solver->device);
    free(solver->setup.grid.times);
    buf_free(&solver->options);
    arena_free(&solver->arena);
    free(solver);
}

shoal_code order_open(const shoal_model *model, const shoal_options *o, const char *target,
                      struct order *out, shoal_log *log) {
    jmp_buf oom;
    uint32_t index = 0;
    *out = (struct order){0};
    shoal_code code = target ? device_open_target(target, o->fast_math, &out->backend, &out->device,
                                                  log_report(log))
                             : device_choose(o->device, &out->backend, &index, log_report(log));
    if (code == SHOAL_OK && !target)
        code = out->backend->open(index, o->fast_math, &out->device, log_report(log));
    if (code != SHOAL_OK)
        return code;
    out->arena.oom = &oom;
    if (setjmp(oom))
        code = report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    else
        code = solver_request(model, o, out->backend->target(out->device), &out->arena,
                              &out->request, log);
    out->arena.oom = NULL;
    return code;
}

void order_close(struct order *o) {
    arena_free(&o->arena);
    if (o->device)
        o->backend->close(o->device);
}

shoal_code shoal_model_source(const shoal_model *model, const shoal_options *options, char **source,
                              shoal_log *log) {
    struct order order;
    struct kernel_source text;
    *source = NULL;
    shoal_code code = order_open(model, options, NULL, &order, log);
    if (code == SHOAL_OK)
        code = codegen_kernel(&order.request, &text, log_report(log));
    if (code == SHOAL_OK)
        *source = text.text.data; // the caller's now
    order_close(&order);
    return code;
}
