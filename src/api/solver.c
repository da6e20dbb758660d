// SPDX-License-Identifier: MIT
// Making a solver: check, plan, and get the kernel.
#include "api/solver.h"

#include "api/doses.h"
#include "api/front.h"
#include "api/learn.h"
#include "api/options.h"
#include "api/several.h"
#include "base/process.h"
#include "base/thread.h"
#include "device/device.h"
#include "device/known.h"
#include "ode/run/beside.h"
#include "ode/run/choice.h"
#include "ode/run/foresee.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

LOG_LABEL(make_solver, BUILD, 5, "a solver of a model and options: checks and plan");
LOG_LABEL(device_open, BUILD, 10, "driver, context and memory of a device");

// Doses are read when a solver is made; they are part of what it is.
static shoal_code read_doses(const shoal_model *model, const shoal_options *o, struct arena *arena,
                             struct plan_input *out, shoal_log *log) {
    if (!o->doses)
        return SHOAL_OK;
    int32_t span = log_begin(log, LOG_read_table);
    struct dose_list *list = arena_new(arena, struct dose_list, 1);
    bool f32 = o->precision == SHOAL_F32;
    shoal_code code = api_doses_read(model, o->doses, o->t0, f32, arena, list, log_report(log));
    log_end(log, span);
    out->doses = list;
    return code;
}

// The input of a plan; what can be told without one is checked.
static shoal_code prepare(const shoal_model *model, const shoal_options *o,
                          const struct shoal_target *target, struct arena *arena,
                          struct plan_input *out, shoal_log *log) {
    struct report *r = log_report(log);
    const struct method *m = choice_find(o->method).first;
    if (!m)
        return report_error(r, SHOAL_INPUT,
                            "--method: unknown method '%s'; `shoal methods` lists them", o->method);
    shoal_code code = options_check(o, m, r);
    if (code != SHOAL_OK)
        return code;
    xpp_tell(o, m, model->model, r);
    *out = (struct plan_input){.options = o,
                               .model = model->model,
                               .system = api_system(model, log),
                               .target = target,
                               .driver = model->driver,
                               .watcher = model->watcher};
    return out->system ? read_doses(model, o, arena, out, log) : SHOAL_INPUT;
}

shoal_code solver_kernels(const shoal_model *model, const shoal_options *o,
                          const struct shoal_target *target, struct arena *arena,
                          struct kernel_plan out[PLAN_ROLES], shoal_log *log) {
    struct plan_input in;
    shoal_code code = prepare(model, o, target, arena, &in, log);
    return code ? code : plan_kernels(&in, arena, out, log_report(log));
}

static shoal_code make_plan(shoal_solver *s, struct plan **out, shoal_log *log) {
    struct plan *plan = *out = arena_new(&s->arena, struct plan, 1);
    struct plan_input in;
    shoal_code code =
        prepare(s->model, &s->given, s->backend->target(s->device), &s->arena, &in, log);
    s->plan = plan;
    return code ? code : plan_make(&in, &s->arena, plan, log_report(log));
}

struct build_how solver_how(const shoal_model *model, const shoal_options *o,
                            const struct shoal_backend *backend, struct shoal_device *device) {
    return (struct build_how){.backend = backend,
                              .device = device,
                              .model = model->model,
                              .swap = model->swap,
                              .cache = o->cache,
                              .keep_source = o->keep_source,
                              .hurries = o->soon,
                              .stop = {NULL, o->stop},
                              .on_compile = o->on_compile,
                              .on_compile_user = o->on_compile_user};
}

// The options with the values that apply where none were given: a result says how it was made,
// whatever the defaults of a later version are.
static shoal_options chosen(const shoal_options *given, const struct plan *p) {
    shoal_options o = *given;
    if (!plan_takes_over(p)) // else each of the two has its own
        o.controller = controller_names[p->kernel[PLAN_FIRST].controller];
    o.dt = p->dt;
    o.dt_model = (double)NAN;
    if (!plan_fixed(p)) {
        o.rtol = p->rtol;
        o.atol = p->atol;
        o.max_steps = p->max_steps;
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
    s->card = from->card;
    return SHOAL_OK;
}

// Of several devices it has the first itself.
static shoal_code find_first(shoal_solver *s, shoal_log *log) {
    char name[SEVERAL_MOST + 1][SEVERAL_NAME];
    uint32_t count;
    shoal_code code = several_names(s->given.device, name, &count, log_report(log));
    return code ? code : device_choose(name[0], &s->backend, &s->device_index, log_report(log));
}

static shoal_code find_device(shoal_solver *s, const shoal_solver *from, shoal_log *log) {
    if (several_is(s->given.device))
        return find_first(s, log);
    if (!from || !same_text(s->given.device, from->given.device))
        return device_choose(device_is_free(s->given.device) ? "cpu" : s->given.device, &s->backend,
                             &s->device_index, log_report(log));
    s->backend = from->backend;
    s->device_index = from->device_index;
    return SHOAL_OK;
}

static bool has_device(const shoal_solver *from, const shoal_solver *s) {
    return from && from->backend == s->backend && from->device_index == s->device_index &&
           from->given.fast_math == s->given.fast_math;
}

// Choosing may start a driver, so it is a part of opening. A solver that will choose for each batch
// has the CPU.
static shoal_code open_device(shoal_solver *s, const shoal_solver *from, shoal_log *log) {
    const shoal_options *o = &s->given;
    if (from && same_text(o->device, from->given.device) && o->fast_math == from->given.fast_math)
        return take_device(s, from);
    int32_t span = log_begin(log, LOG_device_open);
    shoal_code code = find_device(s, from, log);
    if (code == SHOAL_OK && has_device(from, s))
        code = take_device(s, from);
    else if (code == SHOAL_OK) {
        s->pid = process_id();
        uint64_t begin = clock_ns();
        s->starts = !kernel_device_opens(s->backend, s->device_index);
        code = kernel_device_open(s->backend, s->device_index, o->fast_math, &s->device,
                                  log_report(log));
        if (code == SHOAL_OK)
            s->backend->describe(s->device_index, &s->card);
        log_f64(log, span, "driver", (double)(clock_ns() - begin) * 1e-6);
    }
    if (code == SHOAL_OK && s->backend->prepare)
        s->backend->prepare(s->device);
    log_text(log, span, "device", s->card.text);
    log_end(log, span);
    return code;
}

// Whether another one has a kernel, or as much of it as this one gets.
static bool has_kernel(const shoal_solver *s, const shoal_solver *from, enum plan_role role) {
    return from && from->device == s->device && !from->front && from->plans == s->plans &&
           (s->plans || role != PLAN_FIRST || from->runner.kernel[role].kernel);
}

// Whether a kernel of `from` may be this one's: nothing that the plan and the model put into it has
// changed, and nobody wants to see its source.
static bool is_kept(const shoal_solver *s, const shoal_solver *from, enum plan_role role) {
    const char *keep = s->given.keep_source;
    return has_kernel(s, from, role) && from->model->swap == s->model->swap &&
           plan_same_kernel(&s->plan->kernel[role], &from->plan->kernel[role]) &&
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

// The stiff method's kernel, which is made while the first is compiled.
struct ahead {
    const shoal_solver *solver;
    const struct system *system;
    struct beside stiff;
};

static bool foresee(void *user) {
    struct ahead *a = user;
    const shoal_solver *s = a->solver;
    bool stiff = foresee_stiff(s->plan, a->system);
    if (stiff)
        beside_begin(&a->stiff, s->plan, PLAN_STIFF, &s->runner.how);
    return stiff;
}

// The kernel: that of `from`, or the one that the key says; which may be that of `from` too.
static shoal_code first_kernel(shoal_solver *s, const shoal_solver *from, shoal_log *log) {
    const struct loaded *have =
        has_kernel(s, from, PLAN_FIRST) ? &from->runner.kernel[PLAN_FIRST] : NULL;
    struct loaded *out = &s->runner.kernel[PLAN_FIRST];
    if (is_kept(s, from, PLAN_FIRST)) {
        *out = kept(have);
        return SHOAL_OK;
    }
    if (from && s->model->found->system == from->model->found->system)
        s->model->found->system = NULL; // it has nodes of another kernel
    struct system *system = api_system(s->model, log);
    if (!system)
        return SHOAL_INPUT;
    struct ahead ahead = {.solver = s, .system = system};
    struct build_how how = s->runner.how;
    how.on_miss = foresee;
    how.on_miss_user = &ahead;
    shoal_code code =
        build_kernel(&s->plan->kernel[PLAN_FIRST], system, &how, s->plans, have, out, log);
    beside_end(&ahead.stiff, &s->runner, NULL); // a run that needs it tells what is wrong
    return code;
}

// Those that take over, where another solver has them; the others are made when they are needed.
static void keep_others(shoal_solver *s, const shoal_solver *from) {
    for (enum plan_role i = PLAN_STIFF; i < PLAN_ROLES && from; i++)
        if (plan_takes_over(s->plan) && !s->runner.kernel[i].kernel && is_kept(s, from, i))
            s->runner.kernel[i] = kept(&from->runner.kernel[i]);
}

// Compilations end by the flag of the solver that is changed, too.
static void set_runner(shoal_solver *s, const shoal_solver *from) {
    s->runner.how = solver_how(s->model, &s->given, s->backend, s->device);
    machine_device(s->backend, &s->card, s->runner.how.variants);
    s->runner.how.stop[0] = from ? solver_flag(from) : s->owner ? &s->owner->stop : NULL;
    s->runner.pool = (struct dispatch_pool){.backend = s->backend, .device = s->device};
}

// The arrays that a result has.
static shoal_code show(shoal_solver *s, struct report *r) {
    struct reduce_list list;
    struct table none = {.rows = 1};
    s->shown = s->plan->list;
    if (!s->given.reduce)
        return SHOAL_OK;
    shoal_code code = reduce_read(s->given.reduce, &s->arena, &s->reduce, r);
    if (code != SHOAL_OK)
        return code;
    reduce_list_make(&list, &s->plan->list, &s->reduce, &none, NULL, NULL, 0, &s->arena);
    s->shown = list.list;
    return SHOAL_OK;
}

// All but the compiler and the loader is the start of the device, if it was one.
static void note_start(shoal_solver *s, uint64_t ns) {
    const struct loaded *k = &s->runner.kernel[PLAN_FIRST];
    double seconds = (double)ns * 1e-9 - k->compile_s - k->load_s;
    s->opened_s = s->starts && seconds > 0 ? seconds : 0;
}

// ---- The first solver on a machine --------------------------------------------------------------

// Drivers are asked by another thread while the CPU's kernel is made, which a pilot needs at least.
struct asking {
    pthread_t thread;
    const volatile int *stop[2];
};

static void *ask(void *user) {
    const struct asking *a = user;
    const struct device_known *list;
    known_watch(a->stop[0], a->stop[1]);
    device_known(&list, NULL);
    return NULL;
}

// What the kernel came to is told by whoever needs it.
static void ask_beside(shoal_solver *s, const shoal_solver *from, shoal_log *log) {
    struct asking a = {.stop = {solver_flag(from ? from : s), s->given.stop}};
    if (!device_is_free(s->given.device) || s->plans || known_asks_nobody())
        return;
    if (thread_start(&a.thread, ask, &a))
        return;
    struct report *r = log_report(log);
    uint64_t mark = report_mark(r);
    char why[256];
    if (first_kernel(s, from, log) != SHOAL_OK)
        report_withdraw(r, mark, why, sizeof why);
    pthread_join(a.thread, NULL);
}

// A solver that chooses has none; the one of the CPU finds them among those that are loaded.
static void drop_kernels(shoal_solver *s) {
    for (enum plan_role i = PLAN_FIRST; i < PLAN_ROLES; i++) {
        kernel_drop(s->runner.kernel[i].kernel);
        s->runner.kernel[i] = (struct loaded){0};
    }
}

static shoal_code begin(shoal_solver *s, const shoal_solver *from, shoal_log *log) {
    uint64_t start = clock_ns();
    if (from && model_same_kernel(s->model->model, from->model->model))
        s->model->found->system = from->model->found->system;
    struct plan *plan = NULL;
    shoal_code code = open_device(s, from, log);
    if (code == SHOAL_OK)
        code = make_plan(s, &plan, log);
    if (code != SHOAL_OK)
        return code;
    set_runner(s, from);
    code = show(s, log_report(log));
    if (code == SHOAL_OK)
        code = result_names_make(&s->names, &s->shown, NULL, NULL, log_report(log));
    if (code == SHOAL_OK)
        ask_beside(s, from, log);
    if (code == SHOAL_OK)
        code = front_is_wanted(s, log_report(log)) ? front_make(s, log) : SHOAL_OK;
    if (code == SHOAL_OK && s->front)
        drop_kernels(s);
    else if (code == SHOAL_OK && !s->runner.kernel[PLAN_FIRST].kernel)
        code = first_kernel(s, from, log);
    if (code != SHOAL_OK)
        return code;
    plan->limits = s->backend->limits(s->device); // which may wait for it: the kernel is found
    note_start(s, clock_ns() - start);
    keep_others(s, from);
    shoal_options known = chosen(&s->given, s->plan);
    describe_options(&known, &s->arena, &s->options);
    return several_make(s, log);
}

// What the other one has too is left to it.
static void disown(shoal_solver *s, const shoal_solver *other) {
    if (s->model->found->system == other->model->found->system)
        s->model->found->system = NULL;
    if (s->device == other->device)
        s->runner.pool = (struct dispatch_pool){0};
}

// What points into the solver itself, wherever that is.
static void settle(shoal_solver *s) {
    s->runner.how.stop[0] = solver_flag(s);
    for (uint32_t i = 0; s->several && i < s->several->count; i++) {
        s->several->other[i]->owner = s;
        settle(s->several->other[i]);
    }
}

const volatile int *solver_flag(const shoal_solver *s) {
    return s->owner ? &s->owner->stop : &s->stop;
}

shoal_code solver_make(shoal_model *model, const shoal_options *options, const shoal_solver *from,
                       shoal_solver *owner, bool plans, shoal_solver **out, shoal_log *log) {
    jmp_buf oom;
    shoal_solver *s = model ? calloc(1, sizeof *s) : NULL;
    *out = s;
    if (!s) {
        shoal_model_free(model);
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    }
    s->model = model;
    s->owner = owner;
    s->plans = plans;
    s->arena.oom = &oom;
    int32_t span = log_begin(log, LOG_make_solver);
    shoal_code code;
    if (setjmp(oom))
        code = report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    else {
        s->given = options_own(options, &s->arena);
        known_watch(from ? solver_flag(from) : solver_flag(s), s->given.stop);
        code = begin(s, from, log);
    }
    known_watch(NULL, NULL);
    s->arena.oom = NULL;
    settle(s);
    log_end(log, span);
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
    return code ? code : solver_make(api_model_copy(model), &o, NULL, NULL, plans, out, log);
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
    several_free(solver->several);
    front_free(solver->front);
    learner_free(solver->learner);
    shoal_solver_free(solver->spare);
    for (int i = 0; i < PLAN_ROLES; i++)
        kernel_drop(solver->runner.kernel[i].kernel);
    runner_drop_replaced(&solver->runner);
    runner_forget(&solver->runner);
    pool_free(&solver->runner.pool);
    kernel_device_close(solver->device);
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
    if (next->runner.kernel[PLAN_FIRST].kernel == s->runner.kernel[PLAN_FIRST].kernel) {
        next->runner.launches = s->runner.launches;
        next->runner.first_s = s->runner.first_s;
        next->runner.typical_s = s->runner.typical_s;
    }
    struct dispatch_pool *pool = &next->runner.pool;
    if (next->device == s->device)
        *pool = s->runner.pool;
    if (pool->team && next->plan->threads != s->plan->threads) { // of another size
        team_free(pool->team);
        pool->team = NULL;
    }
    shoal_solver old = *s;
    *s = *next;
    *next = old;
    disown(next, s);
    settle(s);
    shoal_solver_free(next);
}

shoal_code solver_change(shoal_solver *s, shoal_model *model, const shoal_options *options,
                         shoal_effect *effect, shoal_log *log) {
    shoal_solver *next = NULL;
    shoal_code code = solver_make(model, options, s, s->owner, s->plans, &next, log);
    if (code != SHOAL_OK)
        return code;
    shoal_effect own = next->runner.kernel[PLAN_FIRST].effect;
    if (next->front && s->front)
        code = front_take_over(next, s, &own, log);
    if (code != SHOAL_OK) {
        disown(next, s);
        shoal_solver_free(next);
        return code;
    }
    if (effect)
        *effect = own;
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
    code = solver_change(solver, api_model_copy(solver->model), &o, effect, log);
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
        code = solver_change(solver, model, &solver->given, effect, log);
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
    if (code == SHOAL_OK && !target) {
        struct shoal_card card;
        code = kernel_device_open(out->backend, index, o->fast_math, &out->device, log_report(log));
        if (code == SHOAL_OK) {
            out->backend->describe(index, &card);
            machine_device(out->backend, &card, out->variants);
        }
    }
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
        code = solver_kernels(out->model, o, out->backend->target(out->device), &out->arena,
                              out->kernel, log);
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
        code = codegen_kernel(&order.kernel[PLAN_FIRST], api_system(order.model, log), model->swap,
                              o.stop, &text, log);
    if (code == SHOAL_OK)
        *source = text.text.data; // the caller's now
    order_close(&order);
    return code;
}
