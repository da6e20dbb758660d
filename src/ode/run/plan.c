// SPDX-License-Identifier: MIT
// Resolves a plan: the one place where options become methods, times, tolerances and outputs.
#include "ode/run/plan.h"

#include "base/cpus.h"
#include "ode/run/choice.h"
#include "ode/run/outputs.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 100000 }; // of an adaptive run, where nothing else is asked for

// ---- What is compiled in ------------------------------------------------------------------------

bool plan_is_fixed(const shoal_options *options, const struct method *method) {
    return method->embedded == 0 ||
           (options->controller ? !strcmp(options->controller, controller_names[CONTROLLER_FIXED])
                                : method->controller == CONTROLLER_FIXED);
}

static enum controller controller_of(const shoal_options *o, const struct method *m) {
    if (plan_is_fixed(o, m))
        return CONTROLLER_FIXED;
    for (int i = 0; o->controller && i < CONTROLLER_COUNT; i++)
        if (!strcmp(o->controller, controller_names[i]))
            return (enum controller)i;
    return m->controller;
}

// The text of a kernel that takes over is that of a run with its method alone.
static struct kernel_plan alone(struct kernel_plan k, const shoal_options *o,
                                const struct method *m) {
    k.method = m;
    k.stiff = NULL;
    k.controller = controller_of(o, m);
    return k;
}

// Fixed steps keep no tolerance.
static double driver_rtol(const shoal_options *o, const struct method *method) {
    return plan_is_fixed(o, method) ? INFINITY : tolerances_rtol(o);
}

// Whether a number holds the square of a fixed step, with digits to spare for a method's weights.
static bool has_square(double h, bool f32) {
    const double least = f32 ? 1e-30 : 1e-290;
    return h * h > least && h * h < 1 / least;
}

shoal_code plan_kernels(const struct plan_input *in, struct arena *arena,
                        struct kernel_plan out[PLAN_ROLES], struct report *r) {
    const shoal_options *o = in->options;
    struct choice choice = choice_find(o->method);
    struct output_list outputs;
    memset(out, 0, PLAN_ROLES * sizeof *out);
    const struct summary_plan *summary;
    shoal_code code = outputs_choose(in->model, o->vars, arena, &outputs, r);
    if (code == SHOAL_OK)
        code = summaries_read(o->summary, in->model, arena, &summary, r);
    if (code != SHOAL_OK)
        return code;
    struct plan_record record;
    code = record_read(o->record, in->model, arena, &record, r);
    if (code != SHOAL_OK)
        return code;
    if (summaries_alone(o) && !record.plan.count) // a record has them all the same
        outputs.items.count = 0;
    bool fixed = plan_is_fixed(o, choice.first), f32 = o->precision == SHOAL_F32;
    choice = choice_for(choice, in->system, fixed);
    out[PLAN_FIRST] = (struct kernel_plan){
        .method = choice.first,
        .stiff = choice.stiff,
        .controller = controller_of(o, choice.first),
        .f32 = f32,
        .dense = save_grid_kind(o) == SAMPLES_GRID,
        .steps = in->target->device && save_grid_kind(o) == SAMPLES_OWN,
        .counters = o->counters,
        .compensate = o->compensate,
        .apart = fixed && !has_square(plan_dt(o), f32),
        .target = in->target,
        .outputs = outputs.items.count,
        .output = outputs.items.items,
        .signal = driver_plans(in->model, driver_uses(in->system, in->model, arena), in->driver,
                               driver_rtol(o, choice.first), arena),
        .signals = in->model->signals.count,
        .watcher = in->watcher,
        .dose = in->doses ? &in->doses->plan : NULL,
        .record = record.plan,
        .summary = summary,
    };
    if (choice.stiff) {
        out[PLAN_STIFF] = alone(out[PLAN_FIRST], o, choice.stiff);
        out[PLAN_LAST] = alone(out[PLAN_FIRST], o, choice.first);
    }
    return SHOAL_OK;
}

static bool same_records(const struct record_plan *a, const struct record_plan *b) {
    return a->count == b->count &&
           (!a->count || !memcmp(a->event, b->event, a->count * sizeof *a->event));
}

static bool same_doses(const struct dose_plan *a, const struct dose_plan *b) {
    if (!a || !b)
        return a == b;
    return a->infusions == b->infusions &&
           (!a->infusions || !memcmp(a->infused, b->infused, a->infusions * sizeof *a->infused));
}

static bool same_signals(const struct kernel_plan *a, const struct kernel_plan *b) {
    for (uint32_t i = 0; i < a->signals; i++) {
        const struct signal_plan *x = &a->signal[i], *y = &b->signal[i];
        if (x->degree != y->degree || x->even != y->even || x->rough != y->rough ||
            x->periodic != y->periodic || x->zero != y->zero || x->extends != y->extends)
            return false;
    }
    return true;
}

bool plan_same_kernel(const struct kernel_plan *a, const struct kernel_plan *b) {
    return a->method == b->method && a->stiff == b->stiff && a->controller == b->controller &&
           a->f32 == b->f32 && a->dense == b->dense && a->steps == b->steps &&
           a->counters == b->counters && a->compensate == b->compensate && a->apart == b->apart &&
           variant_pack(&a->variant) == variant_pack(&b->variant) && a->target == b->target &&
           a->watcher == b->watcher && summary_same(a->summary, b->summary) &&
           same_doses(a->dose, b->dose) && same_records(&a->record, &b->record) &&
           a->signals == b->signals && same_signals(a, b) && a->outputs == b->outputs &&
           !memcmp(a->output, b->output, a->outputs * sizeof *a->output);
}

// ---- What is passed at run time -----------------------------------------------------------------

double plan_dt(const shoal_options *options) {
    return isnan(options->dt) ? options->dt_model : options->dt;
}

bool plan_chooses(const struct plan *p) {
    bool chooses = p->doses && !p->doses->for_all;
    for (uint32_t i = 0; i < p->model->signals.count; i++)
        chooses = chooses || (p->driver[i] && p->driver[i]->by);
    return chooses;
}

double plan_fixed_steps(const struct plan *p) {
    return ceil(fabs(p->t1 - p->t0) / p->dt * (1 - 1e-12));
}

static shoal_code set_steps(struct plan *p, const shoal_options *o, struct report *r) {
    bool fixed = plan_fixed(p);
    double most = p->kernel[PLAN_FIRST].f32 ? INT32_MAX : UINT32_MAX; // what the kernel can count
    p->t0 = o->t0;
    p->t1 = o->t1;
    p->settle = o->settle;
    p->dt = fixed ? plan_dt(o) : (double)NAN;
    p->dt0 = o->dt0;
    p->dt_min = o->dt_min;
    p->dt_max = o->dt_max;
    p->max_steps = o->max_steps ? o->max_steps : fixed ? 0 : MAX_STEPS;
    return fixed && plan_fixed_steps(p) > most
               ? report_error(r, SHOAL_INPUT, "--dt: more than %.0f steps", most)
               : SHOAL_OK;
}

// What happens at times is given with them in the order in which they come.
static shoal_code check_direction(const struct plan_input *in, struct report *r) {
    const struct dose_list *d = in->doses;
    if (!(in->options->t1 < in->options->t0))
        return SHOAL_OK;
    if (d)
        return report_error(r, SHOAL_INPUT,
                            "--doses: there are no doses in a run backwards in time");
    for (uint32_t i = 0; i < in->model->events.count; i++)
        if (in->model->events.items[i].kind != EVENT_WHEN)
            return report_error(r, SHOAL_INPUT,
                                "event `%s` is at times that are known in advance, which is not "
                                "possible in a run backwards in time",
                                in->model->events.items[i].name);
    return SHOAL_OK;
}

// What conditions on time, and tables, ask of steps; they get half of those that there are at most.
static void set_longest(struct plan *p, const struct plan_input *in, const struct signal_use *use,
                        struct arena *arena, struct report *r) {
    double way = fabs(p->t1 - p->t0);
    double step =
        plan_fixed(p) ? INFINITY : driver_step(in->system, in->model, use, p->t0, p->t1, arena);
    double least = p->max_steps ? way / fmax(1, (double)p->max_steps / 2) : 0;
    if (step < least && !(p->dt_max < least)) {
        report_note(r,
                    "a condition or table goes so fast in time that steps should be no longer than "
                    "%.3g; --max-steps leaves room for %.3g, and something may be passed over",
                    step, least);
        step = least;
    }
    if (!(p->dt_max < step) && isfinite(step))
        p->dt_max = step;
}

// What drivers ask of steps: none is longer than 32 samples, and all end where a driver jumps.
static shoal_code set_drivers(struct plan *p, const struct plan_input *in, struct arena *arena,
                              struct report *r) {
    const struct kernel_plan *k = &p->kernel[PLAN_FIRST];
    struct driver_block *b = &p->signals;
    const struct signal_use *use = driver_uses(in->system, in->model, arena);
    p->driver = in->driver;
    shoal_code code =
        driver_block_make(in->model, in->driver, k->signal, use, k->f32,
                          driver_rtol(in->options, k->method), p->t0, p->t1, arena, b, r);
    if (code != SHOAL_OK)
        return code;
    if (plan_fixed(p) && p->dt > b->step * (1 + 1e-9))
        return report_error(r, SHOAL_INPUT,
                            "--dt: a step of %g is longer than 32 samples of a driver; %g is not",
                            p->dt, b->step);
    if (!(p->dt_max < b->step) && isfinite(b->step))
        p->dt_max = b->step;
    double least = plan_fixed(p) || isnan(p->dt_max) ? 0 : fabs(p->t1 - p->t0) / p->dt_max;
    if (p->max_steps && b->stops >= p->max_steps)
        return report_error(r, SHOAL_INPUT,
                            "--max-steps: %llu are not enough: steps end at %llu times on the way "
                            "because of the %s `%s`",
                            (unsigned long long)p->max_steps, (unsigned long long)b->stops,
                            b->table ? "table" : "driver", b->who);
    if (p->max_steps && isfinite(b->step) && least > (double)p->max_steps)
        return report_error(r, SHOAL_INPUT,
                            "--max-steps: %llu are not enough: a step is at most 32 samples of a "
                            "driver, which makes %.0f steps",
                            (unsigned long long)p->max_steps, ceil(least));
    set_longest(p, in, use, arena, r);
    return SHOAL_OK;
}

static shoal_code set_tolerances(struct plan *p, const struct plan_input *in, struct arena *arena,
                                 struct report *r) {
    p->rtol = tolerances_rtol(in->options);
    p->atol = tolerances_atol(in->options);
    shoal_code code = SHOAL_OK;
    for (int i = 0; i < PLAN_ROLES && p->kernel[i].method && code == SHOAL_OK; i++)
        code = tolerances_make(in->options, in->model, &p->kernel[i], arena, &p->tolerances[i], r);
    return code;
}

// How the device is used, but for what a batch decides.
static void set_use(struct plan *p, const struct plan_input *in) {
    const shoal_options *o = in->options;
    p->model = in->model;
    p->doses = in->doses;
    p->threads = o->threads ? o->threads : cpus_usable();
    p->chunk = o->chunk;
    p->memory = o->memory;
    // Equal work gains nothing from it, and devices lose by it.
    p->refill = o->refill == SHOAL_REFILL_ON ||
                (o->refill == SHOAL_REFILL_AUTO && !(plan_fixed(p) && in->target->device));
    p->keep_failed = o->keep_failed;
}

// Whether a summary beside variables is called like what somebody who goes on from a file takes for
// an input, or where variables are in the same table for the end of a state.
static bool is_mistaken(const struct plan *p, const struct result_spec *spec, const char *name) {
    for (uint32_t i = 0; i < p->model->symbols.count && spec->vars; i++) {
        const struct symbol *s = &p->model->symbols.items[i];
        bool end = s->kind == SYMBOL_STATE && spec->kind == SAMPLES_ONE;
        if ((end || s->kind == SYMBOL_PAR) && !strcmp(s->name, name))
            return true;
    }
    return false;
}

// Behind what there is besides variables already.
static void add_mores(const struct plan *p, struct result_spec *spec, struct arena *arena) {
    uint32_t count = spec->mores + p->record.arrays;
    struct result_more *all = arena_new(arena, struct result_more, count + 1);
    for (uint32_t i = 0; i < count; i++)
        all[i] = i < spec->mores ? spec->more[i] : p->record.array[i - spec->mores];
    for (uint32_t i = 0; i < spec->mores; i++)
        if (is_mistaken(p, spec, all[i].name))
            all[i].name = arena_printf(arena, "%s_", all[i].name);
    spec->mores = count;
    spec->more = all;
}

static shoal_code make_list(struct plan *p, const struct plan_input *in,
                            const struct save_grid *grid, struct arena *arena, struct report *r) {
    const struct kernel_plan *k = &p->kernel[PLAN_FIRST];
    uint32_t vars = summaries_alone(in->options) ? 0 : k->outputs;
    const char **names = arena_new(arena, const char *, vars);
    bool *is_state = arena_new(arena, bool, vars + 1);
    struct result_spec spec = {.kind = grid->kind,
                               .samples = grid->count,
                               .times = grid->times,
                               .f32 = k->f32,
                               .counters = k->counters,
                               .vars = vars,
                               .var = names,
                               .mores = p->summary.arrays,
                               .more = p->summary.array,
                               .windows = p->summary.windowed ? p->summary.windows : 0,
                               .edges = p->summary.edges};
    for (uint32_t i = 0; i < vars; i++)
        names[i] = output_name(p->model, k->output[i]);
    for (uint32_t i = 0; i < vars; i++)
        is_state[i] = k->output[i] < p->model->states.count;
    spec.is_state = is_state;
    add_mores(p, &spec, arena);
    return result_list_make(&p->list, &spec, arena)
               ? SHOAL_OK
               : report_error(r, SHOAL_MEMORY, "out of memory");
}

static shoal_code lay_summaries(struct plan *p, const struct plan_input *in, struct arena *arena,
                                struct report *r) {
    const struct summary_plan *summary = p->kernel[PLAN_FIRST].summary;
    double begin = p->t1 < p->t0 ? p->t0 - p->settle : p->t0 + p->settle;
    return summaries_lay(summary, begin, p->t1, in->options->window, arena, &p->summary, r);
}

// Whether times at which something happens are among the results.
static bool shows_times(const struct plan *p) {
    const struct summary_plan *summary = p->kernel[PLAN_FIRST].summary;
    for (uint32_t i = 0; summary && i < summary->calls; i++)
        if (summary->call[i].kind->is_when)
            return true;
    return p->record.arrays != 0;
}

// Whether right-hand sides are made of t, besides by switches.
static bool reads_time(const struct system *s, struct arena *arena) {
    const uint32_t *uses = dag_uses(&s->dag, s->rhs, s->states, arena);
    for (uint32_t id = 0; id < s->dag.nodes.count; id++)
        if (uses[id] && s->dag.nodes.items[id].op == OP_TIME)
            return true;
    return false;
}

// In f32 they are single numbers, which far from 0 tell little of what happens in a short run.
static void note_coarse_times(const struct plan *p, const struct plan_input *in,
                              struct arena *arena, struct report *r) {
    double far = fmax(fabs(p->t0), fabs(p->t1)), apart = ldexp(far, -23);
    if (!p->kernel[PLAN_FIRST].f32 || !(apart > 1e-5 * fabs(p->t1 - p->t0)))
        return;
    const char *what = shows_times(p)                  ? "times in summaries and records are"
                       : reads_time(in->system, arena) ? "t in right-hand sides is"
                                                       : NULL;
    if (what)
        report_note(r,
                    "in f32 %s known to %.2g only where t is %g; count the time from the start of "
                    "the run, or take f64",
                    what, apart, far);
}

shoal_code plan_make(const struct plan_input *in, struct arena *arena, struct plan *out,
                     struct report *r) {
    struct save_grid grid;
    *out = (struct plan){0};
    shoal_code code = check_direction(in, r);
    if (code == SHOAL_OK)
        code = plan_kernels(in, arena, out->kernel, r);
    if (code == SHOAL_OK)
        code = set_steps(out, in->options, r);
    if (code == SHOAL_OK)
        code = set_drivers(out, in, arena, r);
    if (code == SHOAL_OK)
        code = set_tolerances(out, in, arena, r);
    if (code == SHOAL_OK)
        code = save_grid_make(in->options, arena, &grid, r);
    if (code == SHOAL_OK)
        code = lay_summaries(out, in, arena, r);
    if (code != SHOAL_OK)
        return code;
    code = record_read(in->options->record, in->model, arena, &out->record, r);
    if (code != SHOAL_OK)
        return code;
    record_lay(&out->record, in->model, &out->kernel[PLAN_FIRST], arena);
    note_coarse_times(out, in, arena, r);
    set_use(out, in);
    return make_list(out, in, &grid, arena, r);
}
