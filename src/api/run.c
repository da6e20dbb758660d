// SPDX-License-Identifier: MIT
// Running a solver: into a file, into the caller's arrays.
#include "api/solver.h"

#include "base/file.h"
#include "dispatch/team.h"
#include "io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

LOG_SHARED_LABEL(solve_ivp_execution, RUNTIME, 10, "one call that runs a batch");
LOG_LABEL(solver_solve_execution, RUNTIME, 20, "the solver's part of it");

// ---- What it is ---------------------------------------------------------------------------------

const char *shoal_solver_key(const shoal_solver *solver) {
    return solver ? solver->first.key : NULL;
}

bool shoal_solver_cached(const shoal_solver *solver) { return solver && solver->first.cached; }

const char *shoal_solver_device(const shoal_solver *solver) {
    return solver ? solver->device_text : NULL;
}

uint32_t shoal_solver_var_count(const shoal_solver *solver) {
    return solver ? solver->setup.outputs : 0;
}

const char *shoal_solver_var_name(const shoal_solver *solver, uint32_t index) {
    return index < shoal_solver_var_count(solver) ? solver->setup.output[index] : NULL;
}

uint64_t shoal_solver_save_count(const shoal_solver *solver) {
    const struct save_grid *g = solver ? &solver->setup.grid : NULL;
    return !g ? 0 : g->shape == SINK_SERIES ? g->count : g->shape == SINK_FINAL;
}

double shoal_solver_save_time(const shoal_solver *solver, uint64_t index) {
    if (index >= shoal_solver_save_count(solver))
        return (double)NAN;
    const struct save_grid *g = &solver->setup.grid;
    return g->shape == SINK_SERIES ? g->times[index] : solver->setup.t1;
}

// ---- Stops --------------------------------------------------------------------------------------

void shoal_solver_on_progress(shoal_solver *solver,
                              void (*call)(const shoal_progress *now, void *user), void *user) {
    if (!solver)
        return;
    solver->progress = call;
    solver->progress_user = user;
}

// Only what is under way: the next call begins with the flag down.
void shoal_solver_stop(shoal_solver *solver) {
    if (solver && __atomic_load_n(&solver->under_way, __ATOMIC_SEQ_CST))
        __atomic_store_n(&solver->stop, 1, __ATOMIC_SEQ_CST);
}

shoal_code solver_enter(shoal_solver *s, shoal_log *log) {
    if (__atomic_load_n(&s->under_way, __ATOMIC_SEQ_CST))
        return report_error(log_report(log), SHOAL_USAGE,
                            "another call of this solver is under way; one at a time");
    __atomic_store_n(&s->stop, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&s->under_way, 1, __ATOMIC_SEQ_CST);
    return SHOAL_OK;
}

void solver_leave(shoal_solver *s) { __atomic_store_n(&s->under_way, 0, __ATOMIC_SEQ_CST); }

static bool is_stopped(const struct compile_flags *w) {
    return dispatch_is_set(&w->solver->stop) || dispatch_is_set(w->options.stop);
}

// Called while a compilation goes on.
static void on_compile(const shoal_compile *now, void *user) {
    struct compile_flags *w = user;
    if (is_stopped(w))
        __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
    if (w->options.on_compile)
        w->options.on_compile(now, w->options.on_compile_user);
}

shoal_options solver_watched(const shoal_solver *s, const shoal_options *o,
                             struct compile_flags *watch) {
    shoal_options out = *o;
    *watch = (struct compile_flags){.solver = s, .options = *o};
    watch->stop = is_stopped(watch);
    out.stop = o->stop ? &watch->stop : &s->stop; // one flag is seen at once
    out.on_compile = on_compile;
    out.on_compile_user = watch;
    return out;
}

static struct dispatch_control control_of(shoal_solver *s) {
    return (struct dispatch_control){
        .stop = {&s->stop, s->stop_too}, .progress = s->progress, .user = s->progress_user};
}

// ---- Running ------------------------------------------------------------------------------------

// A batch fits a solver whose model has the same names, and that was not given the same values.
static shoal_code check_batch(const shoal_solver *s, const shoal_batch *batch, shoal_log *log) {
    struct report *r = log_report(log);
    struct name_difference d;
    if (!model_same_names(batch->model, s->model->model, &d)) {
        const char *here = d.here ? d.here : "none", *there = d.there ? d.there : "none";
        return report_error(r, SHOAL_INPUT,
                            "the batch was made for another model (%s) than the solver (%s): where "
                            "one has the %s `%s` the other has `%s`",
                            batch->model->source.name, s->model->model->source.name, d.kind, here,
                            there);
    }
    shoal_code code = batch_check(batch->batch, r);
    return code ? code : batch_check_set(batch->batch, s->model->model, r);
}

shoal_code solver_open(shoal_solver *s, const shoal_batch *batch, const char *call,
                       shoal_log *log) {
    if (!s || !batch)
        return api_usage(log, call, "solver or batch");
    shoal_code code = solver_enter(s, log);
    if (code == SHOAL_OK && (code = check_batch(s, batch, log)) != SHOAL_OK)
        solver_leave(s);
    return code;
}

void solver_meta(const shoal_solver *s, const shoal_batch *b, struct buf *out) {
    buf_puts(out, "{\"shoal\":");
    buf_json(out, SHOAL_VERSION);
    buf_puts(out, ",\"model\":");
    buf_json(out, s->model->model->source.name);
    buf_puts(out, ",\"model_text\":");
    buf_json(out, s->model->model->source.text);
    buf_puts(out, ",\"key\":");
    buf_json(out, s->first.key);
    if (s->setup.takeover)
        buf_printf(out, ",\"methods\":\"%s %s\"", s->setup.method, s->setup.takeover->method);
    buf_puts(out, ",\"options\":");
    buf_put(out, s->options.data, s->options.length);
    if (s->given.job) {
        buf_puts(out, ",\"job\":");
        buf_json(out, s->given.job);
    }
    if (b->digest[0])
        buf_printf(out, ",\"batch_sha256\":\"%s\"", b->digest);
    buf_puts(out, ",\"grid\":");
    batch_describe(b->batch, out);
    buf_putc(out, '}');
}

shoal_code solver_run_into(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                           shoal_tally *tally, shoal_log *log) {
    struct sink_shape_info info;
    struct arena arena = {0};
    struct dispatch_control control = control_of(s);
    if (s->plans)
        return report_error(log_report(log), SHOAL_USAGE, "this solver was made to plan only");
    if (s->backend->target(s->device)->device && s->pid != getpid())
        return report_error(log_report(log), SHOAL_DEVICE,
                            "%s: a process that was forked cannot use the device of its parent; "
                            "fork first, or use the CPU",
                            s->backend->name);
    int32_t span = log_begin(log, LOG_solver_solve_execution);
    shoal_code code = run_shape(&s->setup, b, meta, &arena, &info, log_report(log));
    if (code == SHOAL_OK)
        code = run_batch(&s->setup, b, sink, &info, &control, tally, log);
    log_end(log, span);
    arena_free(&arena);
    return code;
}

shoal_code shoal_solver_plan(shoal_solver *solver, const shoal_batch *batch, const char *path,
                             shoal_plan *plan, shoal_log *log) {
    struct sink_shape_info info;
    struct arena arena = {0};
    if (!plan)
        return api_usage(log, "shoal_solver_plan", "place for the plan");
    shoal_code code = solver_open(solver, batch, "shoal_solver_plan", log);
    if (code != SHOAL_OK)
        return code;
    *plan = run_plan(&solver->setup, batch->batch);
    if (path)
        code = run_shape(&solver->setup, batch->batch, "{}", &arena, &info, log_report(log));
    if (code == SHOAL_OK && path)
        plan->disk_bytes = io_sink_bytes(path, &info);
    if (code == SHOAL_OK)
        plan->disk_free = path && strcmp(path, "-") ? file_free_bytes(path) : UINT64_MAX;
    arena_free(&arena);
    solver_leave(solver);
    return code;
}

shoal_code shoal_output_check(const char *path, const shoal_options *options, bool replace,
                              shoal_log *log) {
    if (!path || !options)
        return api_usage(log, "shoal_output_check", "path or options");
    return io_sink_check(path, options->save != SHOAL_SAVE_FINAL, replace, log_report(log));
}

shoal_code solver_write(shoal_solver *s, const shoal_batch *batch, const char *path,
                        shoal_tally *tally, shoal_log *log) {
    struct sink *sink = NULL;
    struct buf meta = {0};
    shoal_tally own;
    if (tally)
        *tally = (shoal_tally){0};
    shoal_code code = solver_open(s, batch, "shoal_solver_run_file", log);
    if (code != SHOAL_OK)
        return code;
    code = io_sink_new(path, &sink, log_report(log));
    if (code == SHOAL_OK) {
        solver_meta(s, batch, &meta);
        code = meta.failed
                   ? report_error(log_report(log), SHOAL_MEMORY, "out of memory")
                   : solver_run_into(s, batch->batch, sink, meta.data, tally ? tally : &own, log);
    }
    if (sink)
        sink->free(sink);
    buf_free(&meta);
    solver_leave(s);
    return code;
}

shoal_code shoal_solver_run_file(shoal_solver *solver, const shoal_batch *batch, const char *path,
                                 shoal_tally *tally, shoal_log *log) {
    if (!path)
        return api_usage(log, "shoal_solver_run_file", "path");
    int32_t span = log_begin(log, LOG_solve_ivp_execution);
    shoal_code code = solver_write(solver, batch, path, tally, log);
    log_end(log, span);
    return code;
}

// ---- Into memory --------------------------------------------------------------------------------

struct array_sink {
    struct sink base;
    shoal_arrays to;
    uint64_t samples, rows;
    uint32_t vars, threads;
    struct team **team;
    size_t elem;
};

enum { COPY_GRAIN = 1 << 19 }; // bytes a thread copies at least

static bool is_folded(size_t stride, uint64_t count) { return stride == 0 && count > 1; }

static shoal_code array_begin(struct sink *s, const struct sink_shape_info *info,
                              struct report *r) {
    struct array_sink *a = (struct array_sink *)s;
    if (info->shape == SINK_STEPS)
        return report_error(r, SHOAL_INPUT,
                            "--save steps cannot go into arrays of a fixed size; "
                            "write a file, or save n, every or at");
    a->samples = info->samples;
    a->rows = info->rows;
    a->vars = info->vars;
    a->elem = info->value_bytes;
    if (!a->to.var_stride && !a->to.row_stride && !a->to.sample_stride) {
        a->to.sample_stride = 1;
        a->to.row_stride = info->samples;
        a->to.var_stride = info->samples * info->rows;
    }
    if (a->to.values &&
        (is_folded(a->to.var_stride, info->vars) || is_folded(a->to.row_stride, info->rows) ||
         is_folded(a->to.sample_stride, info->samples)))
        return report_error(r, SHOAL_USAGE,
                            "shoal_solver_run_arrays: a stride of 0 puts values on top of each "
                            "other; give all three, or none");
    if (a->to.status)
        memset(a->to.status, SHOAL_STATUS_PENDING, info->rows);
    for (uint64_t i = 0; a->to.t && info->times && i < info->rows * info->samples; i++)
        a->to.t[i] = info->times[i % info->samples];
    return SHOAL_OK;
}

struct copy {
    const struct array_sink *a;
    const struct sink_chunk *c;
};

// Rows `first` to `end` of the chunk, of every variable.
static void copy_values(void *user, size_t first, size_t end) {
    const struct copy *copy = user;
    const struct array_sink *a = copy->a;
    const struct sink_chunk *c = copy->c;
    bool dense = (a->samples == 1 || (c->sample_stride == 1 && a->to.sample_stride == 1)) &&
                 c->row_stride == a->samples && a->to.row_stride == a->samples;
    for (uint32_t v = 0; dense && v < a->vars; v++)
        memcpy((char *)a->to.values +
                   (v * a->to.var_stride + (c->first_row + first) * a->samples) * a->elem,
               (const char *)c->values + (v * c->var_stride + first * a->samples) * a->elem,
               (end - first) * a->samples * a->elem);
    for (uint32_t v = 0; !dense && v < a->vars; v++)
        for (size_t i = first; i < end; i++)
            for (uint64_t k = 0; k < a->samples; k++) {
                size_t from = v * c->var_stride + i * c->row_stride + k * c->sample_stride;
                size_t to = v * a->to.var_stride + (c->first_row + i) * a->to.row_stride +
                            k * a->to.sample_stride;
                memcpy((char *)a->to.values + to * a->elem,
                       (const char *)c->values + from * a->elem, a->elem);
            }
}

static shoal_code array_chunk(struct sink *s, const struct sink_chunk *c, struct report *r) {
    struct array_sink *a = (struct array_sink *)s;
    (void)r;
    if (a->to.values)
        team_run(a->team, a->threads, c->rows, COPY_GRAIN / (a->samples * a->vars * a->elem) + 1,
                 copy_values, &(struct copy){a, c});
    if (a->to.t && c->t)
        memcpy(a->to.t + c->first_row, c->t, c->rows * sizeof *c->t);
    if (a->to.status)
        memcpy(a->to.status + c->first_row, c->status, c->rows);
    if (a->to.steps)
        memcpy(a->to.steps + c->first_row, c->steps, c->rows * sizeof *c->steps);
    if (a->to.rejected)
        memcpy(a->to.rejected + c->first_row, c->rejected, c->rows * sizeof *c->rejected);
    if (a->to.f_evals)
        memcpy(a->to.f_evals + c->first_row, c->f_evals, c->rows * sizeof *c->f_evals);
    return SHOAL_OK;
}

static shoal_code array_end(struct sink *s, bool complete, struct report *r) {
    (void)s, (void)complete, (void)r;
    return SHOAL_OK;
}

static void array_free(struct sink *s) { (void)s; }

shoal_code solver_run_arrays(shoal_solver *s, const shoal_batch *batch, const shoal_arrays *arrays,
                             shoal_tally *tally, shoal_log *log) {
    struct array_sink sink = {
        .base = {.begin = array_begin, .chunk = array_chunk, .end = array_end, .free = array_free},
        .threads = s->setup.threads,
        .team = &s->pool.team,
        .to = *arrays};
    sink.base.wants = arrays->t ? SINK_WANTS_T : 0;
    if (arrays->steps || arrays->rejected || arrays->f_evals)
        sink.base.wants |= SINK_WANTS_COUNTS;
    return solver_run_into(s, batch->batch, &sink.base, NULL, tally, log);
}

shoal_code shoal_solver_run_arrays(shoal_solver *solver, const shoal_batch *batch,
                                   const shoal_arrays *arrays, shoal_tally *tally, shoal_log *log) {
    shoal_tally own;
    if (tally)
        *tally = (shoal_tally){0};
    if (!arrays)
        return api_usage(log, "shoal_solver_run_arrays", "arrays");
    int32_t span = log_begin(log, LOG_solve_ivp_execution);
    shoal_code code = solver_open(solver, batch, "shoal_solver_run_arrays", log);
    if (code == SHOAL_OK) {
        code = solver_run_arrays(solver, batch, arrays, tally ? tally : &own, log);
        solver_leave(solver);
    }
    log_end(log, span);
    return code;
}
