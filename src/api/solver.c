// SPDX-License-Identifier: MIT
// Making a solver: check, generate, and get the kernel.
#include "api/solver.h"

#include "api/options.h"
#include "base/cpus.h"
#include "device/device.h"
#include "ode/run/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

LOG_LABEL(device_open, BUILD, 10, "driver, context and memory of a device");

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
        xpp_tell(o, choice.first, model->model, log_report(log));
    if (code == SHOAL_OK)
        code = outputs_choose(model->model, o->vars, arena, &outputs, log_report(log));
    if (code != SHOAL_OK)
        return code;
    struct system *system = api_system(model, log);
    if (!system)
        return SHOAL_INPUT;
    choice = choice_for(choice, system, options_fixed(o, choice.first));
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
        .watcher = model->watcher,
        .log = log,
        .stop = o->stop,
    };
    return SHOAL_OK;
}

shoal_code solver_how(const shoal_options *o, const struct shoal_backend *backend,
                      struct shoal_device *device, struct kernel_request *out, shoal_log *log) {
    *out = (struct kernel_request){.backend = backend,
                                   .device = device,
                                   .stop = o->stop,
                                   .on_compile = o->on_compile,
                                   .on_compile_user = o->on_compile_user,
                                   .keep_source = o->keep_source,
                                   .cache = cache_open(o->cache),
                                   .log = log};
    return out->cache ? SHOAL_OK : report_error(log_report(log), SHOAL_MEMORY, "out of memory");
}

shoal_code solver_kernel(const shoal_solver *s, const struct codegen_request *q,
                         const shoal_options *o, const struct loaded *have, struct loaded *out,
                         shoal_log *log) {
    struct kernel_request how;
    shoal_code code = solver_how(o, s->backend, s->device, &how, log);
    if (code != SHOAL_OK)
        return code;
    code = build_kernel(q, s->model->model->source.name, &how, s->plans, have, out);
    cache_close(how.cache);
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
    if (fixed && run_fixed_steps(o->t0, o->t1, options_dt(o)) > most)
        return report_error(r, SHOAL_INPUT, "--dt: more than %.0f steps", most);
    shoal_code code = solver_tolerances(s, q, o, &u->tolerances, r);
    if (code == SHOAL_OK)
        code = fill_grid(o, &s->arena, &u->grid, r);
    u->backend = s->backend;
    u->device = s->device;
    u->limits = s->backend->limits(s->device);
    s->pool = (struct dispatch_pool){.backend = s->backend, .device = s->device};
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
    u->dt = fixed ? options_dt(o) : (double)NAN;
    u->dt0 = o->dt0;
    u->dt_min = o->dt_min;
    u->dt_max = o->dt_max;
    u->max_steps = max_steps_of(o, fixed);
    u->threads = o->threads ? o->threads : cpus_usable();
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
static shoal_options chosen(const shoal_options *given, const struct codegen_request *q) {
    shoal_options o = *given;
    bool fixed = q->controller == CONTROLLER_FIXED;
    if (!q->stiff) // else each of the two has its own
        o.controller = controller_names[q->controller];
    o.dt = fixed ? options_dt(given) : (double)NAN;
    o.dt_model = (double)NAN;
    if (!fixed) {
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

// ---- Making and changing ------------------------------------------------------------------------

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static shoal_code take_device(shoal_solver *s, const shoal_solver *from) {
    s->backend = from->backend;
    s->device_index = from->device_index;
    s->device = from->device;
    kernel_device_keep(s->device);
    s->pid = from->pid;
    memcpy(s->device_text, from->device_text, sizeof s->device_text);
    return SHOAL_OK;
}

static shoal_code choose_device(shoal_solver *s, const shoal_solver *from, shoal_log *log) {
    if (!from || !same_text(s->given.device, from->given.device))
        return device_choose(s->given.device, &s->backend, &s->device_index, log_report(log));
    s->backend = from->backend;
    s->device_index = from->device_index;
    return SHOAL_OK;
}

static bool has_device(const shoal_solver *from, const shoal_solver *s) {
    return from && from->backend == s->backend && from->device_index == s->device_index &&
           from->given.fast_math == s->given.fast_math;
}

// Choosing may start a driver, so it is a part of opening.
static shoal_code open_device(shoal_solver *s, const shoal_solver *from, shoal_log *log) {
    const shoal_options *o = &s->given;
    if (from && same_text(o->device, from->given.device) && o->fast_math == from->given.fast_math)
        return take_device(s, from);
    int32_t span = log_begin(log, LOG_device_open);
    shoal_code code = choose_device(s, from, log);
    if (code == SHOAL_OK && has_device(from, s))
        code = take_device(s, from);
    else if (code == SHOAL_OK) {
        s->pid = getpid();
        code = kernel_device_open(s->backend, s->device_index, o->fast_math, &s->device,
                                  log_report(log));
        if (code == SHOAL_OK)
            s->backend->describe(s->device_index, s->device_text, sizeof s->device_text);
    }
    log_text(log, span, "device", s->device_text);
    log_end(log, span);
    return code;
}

static bool same_request(const struct codegen_request *a, const struct codegen_request *b) {
    return a->method == b->method && a->stiff == b->stiff && a->controller == b->controller &&
           a->f32 == b->f32 && a->dense == b->dense && a->target == b->target &&
           a->swap == b->swap && a->watcher == b->watcher && a->outputs == b->outputs &&
           !memcmp(a->output, b->output, a->outputs * sizeof *a->output);
}

// Whether a kernel of `from` may be this one's: nothing that the request and the model put into it
// has changed, and nobody wants to see its source.
static bool is_kept(const shoal_solver *s, const struct codegen_request *q,
                    const shoal_solver *from, const struct codegen_request *other) {
    const char *keep = s->given.keep_source;
    return from && from->device == s->device && same_request(q, other) &&
           model_same_kernel(s->model->model, from->model->model) &&
           (!keep || same_text(keep, from->given.keep_source));
}

// The kernel of another solver is another's too.
static struct loaded kept(const struct loaded *from) {
    struct loaded k = *from;
    kernel_keep(k.kernel);
    k.effect = SHOAL_KEPT;
    return k;
}

// The kernel: that of `from`, or the one that the key says; which may be that of `from` too.
static shoal_code first_kernel(shoal_solver *s, const shoal_solver *from, const shoal_options *o,
                               shoal_log *log) {
    const struct loaded *have = from && from->device == s->device ? &from->first : NULL;
    shoal_code code = SHOAL_OK;
    if (is_kept(s, &s->request, from, from ? &from->request : NULL))
        s->first = kept(have);
    else {
        if (from && s->model->found->system == from->model->found->system)
            s->model->found->system = NULL; // it has nodes of another kernel
        s->request.system = api_system(s->model, log);
        code = s->request.system ? solver_kernel(s, &s->request, o, have, &s->first, log)
                                 : SHOAL_INPUT;
    }
    s->setup.module = s->first.kernel ? s->first.kernel->module : NULL;
    s->setup.workspace = s->first.workspace;
    s->setup.resident = s->first.kernel ? s->first.kernel->facts.resident : 0;
    return code;
}

static shoal_code begin(shoal_solver *s, const shoal_solver *from, const shoal_options *o,
                        shoal_log *log) {
    if (from && model_same_kernel(s->model->model, from->model->model))
        s->model->found->system = from->model->found->system;
    shoal_code code = open_device(s, from, log);
    if (code == SHOAL_OK)
        code = solver_request(s->model, &s->given, s->backend->target(s->device), &s->arena,
                              &s->request, log);
    if (code == SHOAL_OK)
        code = fill_setup(s, &s->request, &s->given, log_report(log));
    if (code == SHOAL_OK)
        code = run_list(&s->setup, NULL, NULL, &s->arena, &s->list, log_report(log));
    if (code == SHOAL_OK)
        code = result_names_make(&s->names, &s->list, NULL, NULL, log_report(log));
    if (code == SHOAL_OK)
        code = first_kernel(s, from, o, log);
    s->request.log = NULL;
    if (code == SHOAL_OK && s->request.stiff)
        code = takeover_begin(s, &s->given, log);
    if (code != SHOAL_OK)
        return code;
    for (int i = 0; i < TAKEOVERS && s->request.stiff && from && from->request.stiff; i++)
        if (is_kept(s, &s->takeover[i].request, from, &from->takeover[i].request))
            s->takeover[i].kernel = kept(&from->takeover[i].kernel);
    shoal_options known = chosen(&s->given, &s->request);
    describe_options(&known, &s->arena, &s->options);
    s->stop_too = s->given.stop;
    return code;
}

// What the other one has too is left to it.
static void disown(shoal_solver *s, const shoal_solver *other) {
    if (s->model->found->system == other->model->found->system)
        s->model->found->system = NULL;
    if (s->device == other->device)
        s->pool = (struct dispatch_pool){0};
}

// What points into the solver itself, wherever that is.
static void settle(shoal_solver *s) {
    s->setup.pool = &s->pool;
    takeover_settle(s);
}

// A solver of its own out of a model, which it owns from here on, and options; what it can take
// over from another one is still the other's.
static shoal_code make(shoal_model *model, const shoal_options *options, const shoal_solver *from,
                       bool plans, const shoal_options *watched, shoal_solver **out,
                       shoal_log *log) {
    jmp_buf oom;
    shoal_solver *s = model ? calloc(1, sizeof *s) : NULL;
    *out = s;
    if (!s) {
        shoal_model_free(model);
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    }
    s->model = model;
    s->plans = plans;
    s->arena.oom = &oom;
    shoal_code code;
    if (setjmp(oom))
        code = report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    else {
        s->given = options_own(options, &s->arena);
        code = begin(s, from, watched ? watched : &s->given, log);
    }
    s->arena.oom = NULL;
    settle(s);
    if (code == SHOAL_OK)
        return code;
    if (from)
        disown(s, from);
    shoal_solver_free(s);
    *out = NULL;
    return code;
}

static shoal_code new_solver(const shoal_model *model, const shoal_options *options, bool plans,
                             shoal_solver **out, shoal_log *log) {
    shoal_options o;
    if (out)
        *out = NULL;
    if (!model || !out)
        return api_usage(log, "shoal_solver_new", "model or place for the solver");
    shoal_code code = options_take(options, "shoal_solver_new", &o, log);
    return code ? code : make(api_model_copy(model), &o, NULL, plans, NULL, out, log);
}

shoal_code shoal_solver_new(const shoal_model *model, const shoal_options *options,
                            shoal_solver **out, shoal_log *log) {
    return new_solver(model, options, false, out, log);
}

shoal_code shoal_solver_new_plan(const shoal_model *model, const shoal_options *options,
                                 shoal_solver **out, shoal_log *log) {
    return new_solver(model, options, true, out, log);
}

void shoal_solver_free(shoal_solver *solver) {
    if (!solver)
        return;
    kernel_drop(solver->first.kernel);
    for (int i = 0; i < TAKEOVERS; i++)
        kernel_drop(solver->takeover[i].kernel.kernel);
    pool_free(&solver->pool);
    kernel_device_close(solver->device);
    free(solver->setup.grid.times);
    result_names_free(&solver->names);
    buf_free(&solver->options);
    arena_free(&solver->arena);
    shoal_model_free(solver->model);
    free(solver);
}

// The next solver takes the place of this one.
static void replace(shoal_solver *s, shoal_solver *next) {
    next->progress = s->progress;
    next->progress_user = s->progress_user;
    next->under_way = s->under_way;
    if (next->device == s->device)
        next->pool = s->pool;
    if (next->pool.team && next->setup.threads != s->setup.threads) { // of another size
        team_free(next->pool.team);
        next->pool.team = NULL;
    }
    shoal_solver old = *s;
    *s = *next;
    *next = old;
    disown(next, s);
    settle(s);
    shoal_solver_free(next);
}

// The solver with another model (which is its from here on) and options, or as it was.
static shoal_code change(shoal_solver *s, shoal_model *model, const shoal_options *options,
                         shoal_effect *effect, shoal_log *log) {
    struct compile_flags flags;
    shoal_solver *next = NULL;
    shoal_options watched = solver_watched(s, options, &flags);
    shoal_code code = make(model, options, s, s->plans, &watched, &next, log);
    if (code != SHOAL_OK)
        return code;
    if (effect)
        *effect = next->first.effect;
    replace(s, next);
    return SHOAL_OK;
}

shoal_code shoal_solver_set_options(shoal_solver *solver, const shoal_options *options,
                                    shoal_effect *effect, shoal_log *log) {
    shoal_options o;
    if (!solver)
        return api_usage(log, "shoal_solver_set_options", "solver");
    shoal_code code = options_take(options, "shoal_solver_set_options", &o, log);
    if (code == SHOAL_OK)
        code = solver_enter(solver, log);
    if (code != SHOAL_OK)
        return code;
    code = change(solver, api_model_copy(solver->model), &o, effect, log);
    solver_leave(solver);
    return code;
}

shoal_code shoal_solver_set(shoal_solver *solver, const char *option, const char *value,
                            shoal_effect *effect, shoal_log *log) {
    if (!solver || !option)
        return api_usage(log, "shoal_solver_set", "solver or option");
    shoal_options o = solver->given;
    shoal_code code = shoal_options_set(&o, option, value, log);
    return code ? code : shoal_solver_set_options(solver, &o, effect, log);
}

shoal_code shoal_solver_set_values(shoal_solver *solver, const char *assignments,
                                   shoal_effect *effect, shoal_log *log) {
    if (!solver || !assignments)
        return api_usage(log, "shoal_solver_set_values", "solver or assignments");
    shoal_code code = solver_enter(solver, log);
    if (code != SHOAL_OK)
        return code;
    shoal_model *model = api_model_copy(solver->model);
    code = model ? shoal_model_set(model, assignments, log)
                 : report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        code = change(solver, model, &solver->given, effect, log);
    else
        shoal_model_free(model);
    solver_leave(solver);
    return code;
}

shoal_code shoal_solver_options_sized(const shoal_solver *solver, shoal_options *out, size_t size,
                                      shoal_log *log) {
    if (!solver || !out)
        return api_usage(log, "shoal_solver_options", "solver or place for the options");
    return options_give(&solver->given, "shoal_solver_options", out, size, log);
}

static shoal_code order_device(const shoal_options *o, const char *target, struct order *out,
                               shoal_log *log) {
    uint32_t index = 0;
    int32_t span = log_begin(log, LOG_device_open);
    shoal_code code = target ? device_open_target(target, o->fast_math, &out->backend, &out->device,
                                                  log_report(log))
                             : device_choose(o->device, &out->backend, &index, log_report(log));
    if (code == SHOAL_OK && !target)
        code = kernel_device_open(out->backend, index, o->fast_math, &out->device, log_report(log));
    log_text(log, span, "device", code == SHOAL_OK ? out->backend->target(out->device)->name : "");
    log_end(log, span);
    return code;
}

shoal_code order_open(const shoal_model *model, const shoal_options *o, const char *target,
                      struct order *out, shoal_log *log) {
    jmp_buf oom;
    *out = (struct order){.model = api_model_copy(model), .for_target = target};
    if (!out->model)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    shoal_code code = order_device(o, target, out, log);
    if (code != SHOAL_OK)
        return code;
    out->arena.oom = &oom;
    if (setjmp(oom))
        code = report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    else
        code = solver_request(out->model, o, out->backend->target(out->device), &out->arena,
                              &out->request, log);
    out->arena.oom = NULL;
    return code;
}

void order_close(struct order *o) {
    arena_free(&o->arena);
    shoal_model_free(o->model);
    if (!o->for_target)
        kernel_device_close(o->device);
    else if (o->device)
        o->backend->close(o->device);
}

shoal_code shoal_model_source(const shoal_model *model, const shoal_options *options, char **source,
                              shoal_log *log) {
    struct order order;
    struct kernel_source text;
    shoal_options o;
    if (source)
        *source = NULL;
    if (!model || !source)
        return api_usage(log, "shoal_model_source", "model or place for the source");
    shoal_code code = options_take(options, "shoal_model_source", &o, log);
    if (code != SHOAL_OK)
        return code;
    code = order_open(model, &o, NULL, &order, log);
    if (code == SHOAL_OK)
        code = codegen_kernel(&order.request, &text, log_report(log));
    if (code == SHOAL_OK)
        *source = text.text.data; // the caller's now
    order_close(&order);
    return code;
}
