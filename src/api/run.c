// SPDX-License-Identifier: MIT
// Running a solver: into a file, into the caller's arrays.
#include "api/solver.h"

#include "base/file.h"
#include "io/io.h"
#include "run/parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *shoal_solver_key(const shoal_solver *solver) { return solver->key; }
bool shoal_solver_cached(const shoal_solver *solver) { return solver->cached; }
const char *shoal_solver_device(const shoal_solver *solver) { return solver->device_text; }
uint32_t shoal_solver_var_count(const shoal_solver *solver) { return solver->setup.outputs; }

const char *shoal_solver_var_name(const shoal_solver *solver, uint32_t index) {
    return index < solver->setup.outputs ? solver->setup.output[index] : NULL;
}

uint64_t shoal_solver_save_count(const shoal_solver *solver) {
    const struct save_grid *g = &solver->setup.grid;
    return g->shape == SINK_SERIES ? g->count : g->shape == SINK_FINAL ? 1 : 0;
}

double shoal_solver_save_time(const shoal_solver *solver, uint64_t index) {
    const struct save_grid *g = &solver->setup.grid;
    if (g->shape == SINK_SERIES)
        return index < g->count ? g->times[index] : (double)NAN;
    return g->shape == SINK_FINAL && index == 0 ? solver->setup.t1 : (double)NAN;
}

void shoal_solver_on_progress(shoal_solver *solver,
                              void (*call)(const shoal_progress *now, void *user), void *user) {
    solver->progress = call;
    solver->progress_user = user;
}

void shoal_solver_stop(shoal_solver *solver) { solver->stop = 1; }

static struct run_control control_of(shoal_solver *s) {
    return (struct run_control){
        .stop = {&s->stop, s->stop_too}, .progress = s->progress, .user = s->progress_user};
}

void solver_meta(const shoal_solver *s, const shoal_batch *b, struct buf *out) {
    buf_puts(out, "{\"shoal\":");
    buf_json(out, SHOAL_VERSION);
    buf_puts(out, ",\"model\":");
    buf_json(out, s->model->model->source.name);
    buf_puts(out, ",\"model_text\":");
    buf_json(out, s->model->model->source.text);
    buf_puts(out, ",\"key\":");
    buf_json(out, s->key);
    buf_puts(out, ",\"device\":");
    buf_json(out, s->device_text);
    if (s->takeover.request.method) {
        buf_printf(out, ",\"methods\":\"%s %s\"", s->setup.method,
                   s->takeover.request.method->name);
    }
    buf_puts(out, ",\"options\":");
    buf_put(out, s->options.data, s->options.length);
    if (s->job) {
        buf_puts(out, ",\"job\":");
        buf_json(out, s->job);
    }
    if (b->digest[0])
        buf_printf(out, ",\"batch_sha256\":\"%s\"", b->digest);
    buf_puts(out, ",\"grid\":");
    batch_describe(b->batch, out);
    buf_putc(out, '}');
}

shoal_code solver_run_into(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                           shoal_summary *summary, shoal_log *log) {
    struct sink_shape_info info;
    struct arena arena = {0};
    struct run_control control = control_of(s);
    if (!s->setup.module)
        return report_error(log_report(log), SHOAL_USAGE, "this solver was made to plan only");
    if (s->backend->target(s->device)->device && s->pid != getpid())
        return report_error(log_report(log), SHOAL_DEVICE,
                            "%s: a process that was forked cannot use the device of its parent; "
                            "fork first, or use the CPU",
                            s->backend->name);
    int32_t span = log_begin(log, LOG_solver_solve_execution);
    shoal_code code = run_shape(&s->setup, b, meta, &arena, &info, log_report(log));
    if (code == SHOAL_OK)
        code = run_batch(&s->setup, b, sink, &info, &control, summary, log);
    log_end(log, span);
    arena_free(&arena);
    if (code == SHOAL_STOPPED)
        s->stop = 0; // a stop ends one run
    return code;
}

shoal_code shoal_solver_plan(shoal_solver *solver, const shoal_batch *batch, const char *path,
                             shoal_plan *plan, shoal_log *log) {
    struct sink_shape_info info;
    struct arena arena = {0};
    shoal_code code = batch_check(batch->batch, log_report(log));
    if (code == SHOAL_OK)
        code = run_plan(&solver->setup, batch->batch, plan, log_report(log));
    if (code == SHOAL_OK && path)
        code = run_shape(&solver->setup, batch->batch, "{}", &arena, &info, log_report(log));
    if (code == SHOAL_OK && path)
        plan->disk_bytes = io_sink_bytes(path, &info);
    if (code == SHOAL_OK)
        plan->disk_free = path && strcmp(path, "-") ? file_free_bytes(path) : UINT64_MAX;
    arena_free(&arena);
    return code;
}

shoal_code shoal_output_check(const char *path, shoal_log *log) {
    return io_sink_check(path, log_report(log));
}

shoal_code shoal_solver_run_file(shoal_solver *solver, const shoal_batch *batch, const char *path,
                                 shoal_summary *summary, shoal_log *log) {
    struct sink *sink = NULL;
    struct buf meta = {0};
    shoal_summary own;
    int32_t span = log_begin(log, LOG_solve_ivp_execution);
    shoal_code code = batch_check(batch->batch, log_report(log));
    if (code == SHOAL_OK)
        code = io_sink_new(path, &sink, log_report(log));
    if (code == SHOAL_OK) {
        solver_meta(solver, batch, &meta);
        code = meta.failed ? report_error(log_report(log), SHOAL_MEMORY, "out of memory")
                           : solver_run_into(solver, batch->batch, sink, meta.data,
                                             summary ? summary : &own, log);
    }
    if (sink)
        sink->free(sink);
    buf_free(&meta);
    log_end(log, span);
    return code;
}

// ---- Into memory --------------------------------------------------------------------------------

struct array_sink {
    struct sink base;
    shoal_arrays to;
    uint64_t samples, rows;
    uint32_t vars, threads;
    struct crew **crew;
    size_t elem;
};

enum { COPY_GRAIN = 1 << 19 }; // bytes a thread copies at least

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
        run_parallel(a->crew, a->threads, c->rows,
                     COPY_GRAIN / (a->samples * a->vars * a->elem) + 1, copy_values,
                     &(struct copy){a, c});
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

shoal_code shoal_solver_run_arrays(shoal_solver *solver, const shoal_batch *batch,
                                   const shoal_arrays *arrays, shoal_summary *summary,
                                   shoal_log *log) {
    struct array_sink sink = {
        .base = {.begin = array_begin, .chunk = array_chunk, .end = array_end, .free = array_free},
        .threads = solver->setup.threads,
        .crew = &solver->pool.crew,
        .to = *arrays};
    sink.base.wants = arrays->t ? SINK_WANTS_T : 0;
    if (arrays->steps || arrays->rejected || arrays->f_evals)
        sink.base.wants |= SINK_WANTS_COUNTS;
    shoal_summary own;
    int32_t span = log_begin(log, LOG_solve_ivp_execution);
    shoal_code code = batch_check(batch->batch, log_report(log));
    if (code == SHOAL_OK)
        code =
            solver_run_into(solver, batch->batch, &sink.base, NULL, summary ? summary : &own, log);
    log_end(log, span);
    return code;
}
