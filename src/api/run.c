// SPDX-License-Identifier: MIT
// Running a solver, into any sink and into a file.
#include "api/front.h"
#include "api/keep.h"
#include "api/learn.h"
#include "api/several.h"
#include "api/solver.h"

#include "base/file.h"
#include "base/process.h"
#include "device/device.h"
#include "io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- What it is ---------------------------------------------------------------------------------

const char *shoal_solver_key(const shoal_solver *solver) {
    return solver ? front_shown(solver)->runner.kernel[PLAN_FIRST].key : NULL;
}

const char *shoal_solver_variant(const shoal_solver *solver, double *gain) {
    const struct loaded *k = solver ? &front_shown(solver)->runner.kernel[PLAN_FIRST] : NULL;
    bool has = k && k->words[0];
    if (gain)
        *gain = has && k->gain > 0 ? k->gain : 1;
    return k ? k->words : NULL;
}

bool shoal_solver_cached(const shoal_solver *solver) {
    return solver && front_shown(solver)->runner.kernel[PLAN_FIRST].cached;
}

const char *shoal_solver_device(const shoal_solver *solver) {
    return solver ? front_shown(solver)->card.text : NULL;
}

const char *shoal_solver_reason(const shoal_solver *solver) {
    if (!solver)
        return NULL;
    return solver->front ? solver->front->chooser.reason : "";
}

uint32_t shoal_solver_array_count(const shoal_solver *solver) {
    return solver ? solver->shown.count : 0;
}

shoal_array_info shoal_solver_array_at(const shoal_solver *solver, uint32_t index) {
    static const shoal_array_type types[RESULT_TYPES] = {
        [TYPE_U8] = SHOAL_ARRAY_U8,     [TYPE_U32] = SHOAL_ARRAY_U32, [TYPE_U64] = SHOAL_ARRAY_U64,
        [TYPE_F32] = SHOAL_ARRAY_F32,   [TYPE_F64] = SHOAL_ARRAY_F64, [TYPE_TIME] = SHOAL_ARRAY_F64,
        [TYPE_TEXT] = SHOAL_ARRAY_TEXT,
    };
    if (index >= shoal_solver_array_count(solver))
        return (shoal_array_info){0};
    const struct result_array *a = &solver->shown.array[index];
    return (shoal_array_info){.name = solver->names.name[index],
                              .type = types[a->type],
                              .per_sample = a->axes == AXES_PER_SAMPLE || a->axes == AXES_FLAT ||
                                            (a->axes == AXES_GRID && a->role == ROLE_TIME),
                              .is_variable = result_is_variable(a),
                              .is_summary = a->role == ROLE_SUMMARY,
                              .axis = {a->axis[0], a->axis[1]},
                              .once = a->role == ROLE_EDGES};
}

uint32_t shoal_solver_var_count(const shoal_solver *solver) {
    return solver ? solver->plan->list.of.vars : 0;
}

const char *shoal_solver_var_name(const shoal_solver *solver, uint32_t index) {
    return index < shoal_solver_var_count(solver) ? solver->plan->list.of.var[index] : NULL;
}

uint64_t shoal_solver_save_count(const shoal_solver *solver) {
    return solver ? solver->plan->list.of.samples : 0;
}

double shoal_solver_save_time(const shoal_solver *solver, uint64_t index) {
    if (index >= shoal_solver_save_count(solver))
        return (double)NAN;
    const double *times = solver->plan->list.of.times;
    return times ? times[index] : solver->plan->t1;
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

struct dispatch_control solver_control(const shoal_solver *s) {
    const shoal_solver *of = s->owner ? s->owner : s;
    return (struct dispatch_control){.stop = {solver_flag(s), s->given.stop},
                                     .progress = of->progress,
                                     .user = of->progress_user};
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
    uint64_t shard, shards;
    bool strided;
    shoal_code code = batch_check(batch->batch, r);
    if (code == SHOAL_OK)
        code = batch_check_table(batch->batch, plan_chooses(s->plan), r);
    if (code == SHOAL_OK && s->reduce.wants[REDUCE_quantile] &&
        batch_shard(batch->batch, &shard, &shards, &strided) && strided)
        code = report_error(r, SHOAL_INPUT,
                            "--shard: quantiles (--reduce) are of stretches of runs that follow "
                            "each other, so that :strided cannot be merged; leave it out");
    if (code == SHOAL_OK && s->plan->doses)
        code = dose_list_check(s->plan->doses, batch->batch, s->plan->t0, r);
    if (code == SHOAL_OK)
        code = batch_check_from(batch->batch, s->model->model, r);
    return code ? code : batch_check_set(batch->batch, s->model->model, r);
}

shoal_code solver_enter_batch(shoal_solver *s, const shoal_batch *batch, const char *call,
                              shoal_log *log) {
    if (!s || !batch)
        return api_usage(log, call, "solver or batch");
    shoal_code code = solver_enter(s, log);
    if (code != SHOAL_OK)
        return code;
    code = check_batch(s, batch, log);
    if (code != SHOAL_OK)
        solver_leave(s);
    return code;
}

shoal_code solver_open(shoal_solver *s, const shoal_batch *batch, const char *call,
                       shoal_solver **worker, shoal_log *log) {
    shoal_code code = solver_enter_batch(s, batch, call, log);
    if (code != SHOAL_OK)
        return code;
    *worker = s;
    if (s->front)
        code = front_worker(s, batch, worker, log);
    if (code != SHOAL_OK)
        solver_leave(s);
    return code;
}

void solver_meta(const shoal_solver *s, const shoal_batch *b, struct buf *out) {
    buf_puts(out, "{\"shoal\":");
    buf_json(out, SHOAL_VERSION);
    buf_puts(out, ",\"model\":");
    buf_json(out, s->model->model->source.name);
    buf_puts(out, ",\"model_text\":");
    buf_json(out, s->model->model->text);
    buf_puts(out, ",\"key\":");
    buf_json(out, s->runner.kernel[PLAN_FIRST].computation);
    if (plan_takes_over(s->plan))
        buf_printf(out, ",\"methods\":\"%s %s\"", s->plan->kernel[PLAN_FIRST].method->name,
                   s->plan->kernel[PLAN_STIFF].method->name);
    buf_puts(out, ",\"options\":");
    buf_put(out, s->options.data, s->options.length);
    if (s->given.job) {
        buf_puts(out, ",\"job\":");
        buf_json(out, s->given.job);
    }
    char doses[65];
    if (s->given.doses && api_file_digest(s->given.doses, doses))
        buf_printf(out, ",\"doses_sha256\":\"%s\"", doses);
    if (b->digest[0])
        buf_printf(out, ",\"batch_sha256\":\"%s\"", b->digest);
    if (b->from_digest[0])
        buf_printf(out, ",\"from_sha256\":\"%s\"", b->from_digest);
    const struct result_spec *of = &s->plan->list.of;
    for (uint32_t i = 0; i < of->vars; i++) {
        buf_puts(out, i ? "," : ",\"vars\":[");
        buf_json(out, of->var[i]);
    }
    buf_puts(out, of->vars ? "],\"grid\":" : ",\"vars\":[],\"grid\":");
    batch_describe(b->batch, out);
    buf_putc(out, '}');
}

// A program may have begun it, to have the making of its solver in it.
int32_t solver_begin_event(shoal_log *log) {
    bool begun = log_find_open(log, LOG_solve_ivp_execution) >= 0;
    return begun ? -1 : log_begin(log, LOG_solve_ivp_execution);
}

static struct reduce_order order_of(shoal_solver *s) {
    return (struct reduce_order){.spec = &s->reduce,
                                 .by = s->given.by,
                                 .memory = s->plan->memory,
                                 .threads = s->plan->threads,
                                 .team = &s->runner.pool.team};
}

// ---- Where a device fails, or another takes over ------------------------------------------------

struct relay {
    shoal_solver *solver; // whose device begins,
    shoal_solver *now;    // and whose goes on
    shoal_log *log;
};

static bool is_device(const shoal_solver *s) { return s->backend->target(s->device)->device; }

static shoal_code hand_over(struct relay *r, shoal_solver *to, const struct plan **plan,
                            struct runner **runner) {
    r->now = to;
    *plan = to->plan;
    *runner = &to->runner;
    return SHOAL_OK;
}

// The CPU of the same solver: that of the front, or one that is made now.
static shoal_code open_spare(void *user, const struct plan **plan, struct runner **runner) {
    struct relay *r = user;
    shoal_solver *s = r->solver, *cpu = s->spare;
    shoal_code code = SHOAL_OK;
    if (!is_device(r->now))
        return SHOAL_DEVICE;
    if (s->owner)
        code = front_cpu(s->owner, &cpu, r->log);
    else if (!cpu) {
        shoal_options o = s->given;
        o.device = "cpu";
        code = solver_make(api_model_copy(s->model), &o, NULL, s, false, &s->spare, r->log);
        cpu = s->spare;
    }
    if (code != SHOAL_OK)
        return code;
    if (s->owner)
        front_lost(s->owner, r->now);
    return hand_over(r, cpu, plan, runner);
}

static bool is_relieved(void *user, uint64_t rows, double seconds) {
    const struct relay *r = user;
    return front_is_relieved(r->solver->owner, rows, seconds);
}

static shoal_code open_relief(void *user, const struct plan **plan, struct runner **runner) {
    struct relay *r = user;
    shoal_solver *next = NULL;
    shoal_code code = front_relief(r->solver->owner, &next, r->log);
    return code == SHOAL_OK ? hand_over(r, next, plan, runner) : code;
}

static struct run_help help_of(struct relay *r) {
    const shoal_solver *s = r->solver;
    const struct front *f = s->owner && !s->rehearses ? s->owner->front : NULL;
    bool begins = f && f->next;
    struct run_help help = {
        .user = r, .tunes = !s->rehearses, .kept = f && !s->given.resume ? f->kept : NULL};
    if (begins) {
        help.is_relieved = is_relieved;
        help.relief = open_relief;
    }
    if ((is_device(s) || begins) && !s->given.no_fallback)
        help.spare = open_spare;
    return help;
}

// A run whose rows become those of groups, where that is asked for.
static shoal_code run_sink(shoal_solver *s, struct batch *b, struct sink *sink,
                           struct result_list *list, shoal_tally *tally, shoal_log *log) {
    struct dispatch_control control = solver_control(s);
    struct reduce_order order = order_of(s);
    struct sink *reduce = s->reduce.items.count ? reduce_sink_new(&order, b, sink) : NULL;
    if (s->reduce.items.count && !reduce)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    struct relay relay = {.solver = s, .now = s, .log = log};
    struct run_help help = help_of(&relay);
    bool first = !s->runner.launches;
    shoal_code code = run_batch(s->plan, &s->runner, b, reduce ? reduce : sink, list, &control,
                                &help, tally, log);
    if (reduce)
        reduce->free(reduce);
    if (code == SHOAL_OK && relay.now == s && !s->rehearses && !tally->resumed)
        learn_from(s, help.kept ? help.kept->rest : b, tally->seconds, first, log);
    return code;
}

shoal_code solver_check_run(const shoal_solver *s, shoal_log *log) {
    if (s->plans)
        return report_error(log_report(log), SHOAL_USAGE, "this solver was made to plan only");
    if (is_device(s) && s->pid != process_id())
        return report_error(log_report(log), SHOAL_DEVICE, "%s: " DEVICE_FORKED, s->backend->name);
    return SHOAL_OK;
}

shoal_code solver_run_into(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                           shoal_tally *tally, shoal_log *log) {
    struct result_list list;
    struct arena arena = {0};
    shoal_code code = solver_check_run(s, log);
    if (code != SHOAL_OK)
        return code;
    if (s->several || (sink->order && sink->order->ahead))
        return several_run(s, b, sink, meta, tally, log);
    int32_t span = log_begin(log, LOG_solver_solve_execution);
    code = run_list(s->plan, b, meta, &arena, &list, log_report(log));
    if (code == SHOAL_OK)
        code = run_sink(s, b, sink, &list, tally, log);
    log_end(log, span);
    arena_free(&arena);
    return code;
}

shoal_code solver_reduced(shoal_solver *s, const struct batch *b, const struct result_list *list,
                          struct arena *arena, struct reduce_plan *out, struct report *r) {
    struct reduce_order order = order_of(s);
    jmp_buf oom;
    arena->oom = &oom;
    shoal_code code = setjmp(oom) ? report_error(r, SHOAL_MEMORY, "out of memory")
                                  : reduce_plan_make(&order, b, list, arena, out, r);
    arena->oom = NULL;
    return code;
}

// The list of the reduced result takes the place of that of the runs.
static shoal_code plan_reduced(shoal_solver *s, const struct batch *b, struct arena *arena,
                               struct result_list *list, shoal_plan *plan, struct report *r) {
    struct reduce_plan reduced;
    shoal_code code = solver_reduced(s, b, list, arena, &reduced, r);
    if (code != SHOAL_OK)
        return code;
    plan->host_bytes += reduced.bytes;
    *list = reduced.list.list;
    return SHOAL_OK;
}

shoal_code shoal_solver_plan(shoal_solver *solver, const shoal_batch *batch, const char *path,
                             shoal_plan *plan, shoal_log *log) {
    struct result_list list;
    struct arena arena = {0};
    if (!plan)
        return api_usage(log, "shoal_solver_plan", "place for the plan");
    shoal_solver *worker;
    shoal_code code = solver_open(solver, batch, "shoal_solver_plan", &worker, log);
    if (code != SHOAL_OK)
        return code;
    code = run_list(solver->plan, batch->batch, "{}", &arena, &list, log_report(log));
    if (code == SHOAL_OK)
        *plan = run_plan(worker->plan, &worker->runner, batch->batch, &list);
    if (code == SHOAL_OK && solver->reduce.items.count)
        code = plan_reduced(solver, batch->batch, &arena, &list, plan, log_report(log));
    if (code == SHOAL_OK) {
        plan->rows = list.of.rows;
        plan->seconds = learn_estimate(worker, batch->batch);
    }
    if (code == SHOAL_OK && path)
        plan->disk_bytes = io_sink_bytes(path, &list);
    if (code == SHOAL_OK)
        plan->disk_free = path && strcmp(path, "-") ? file_free_bytes(path) : UINT64_MAX;
    arena_free(&arena);
    solver_leave(solver);
    return code;
}

enum { RECORDS_CHECKED = 16 };

// The names of a copy of `NAME,n,NAME,n`, which is cut at its commas.
static uint32_t record_names(char *text, const char **out) {
    uint32_t n = 0;
    bool name = true;
    for (char *rest, *piece = text ? strtok_r(text, ", ", &rest) : NULL;
         piece && n < RECORDS_CHECKED; piece = strtok_r(NULL, ", ", &rest), name = !name)
        if (name)
            out[n++] = piece;
    return n;
}

shoal_code shoal_output_check(const char *path, const shoal_options *options, bool replace,
                              shoal_log *log) {
    if (!path || !options)
        return api_usage(log, "shoal_output_check", "path or options");
    bool windows = options->summary && !isnan(options->window);
    bool runs =
        options->save != SHOAL_SAVE_FINAL || (windows && !options->vars && !options->save_states);
    char *records = options->record ? strdup(options->record) : NULL;
    const char *side[3 + RECORDS_CHECKED] = {0};
    uint32_t n = record_names(records, side);
    if (options->reduce) // groups have such a table only for what has no time
        runs = options->save != SHOAL_SAVE_FINAL && options->summary && !windows;
    if (runs)
        side[n++] = "runs";
    if (windows)
        side[n++] = RESULT_WINDOWS;
    shoal_code code = io_sink_check(path, side, replace, log_report(log));
    free(records);
    return code;
}

// Whether several devices or processes left rows ahead of others.
static bool has_ahead(const char *path) {
    shoal_journal_info info;
    return shoal_journal_read(path, &info, NULL) == SHOAL_OK && info.ahead;
}

static shoal_code run_file(shoal_solver *w, const shoal_batch *batch, const char *path,
                           shoal_tally *tally, shoal_log *log) {
    struct report *r = log_report(log);
    struct sink *sink = NULL;
    struct buf meta = {0};
    struct keep keep;
    shoal_code code = keep_make(&keep, w, batch, path, r);
    if (code == SHOAL_OK)
        code = io_sink_new(path, w->plan->threads, &sink, r);
    if (code == SHOAL_OK) {
        solver_meta(w, batch, &meta);
        keep.order.ahead = w->given.resume && !w->reduce.items.count && has_ahead(path);
        sink->order = keep_order(&keep);
        code = meta.failed ? report_error(r, SHOAL_MEMORY, "out of memory")
                           : solver_run_into(w, batch->batch, sink, meta.data, tally, log);
    }
    if (sink)
        sink->free(sink);
    keep_free(&keep);
    buf_free(&meta);
    return code;
}

shoal_code solver_write(shoal_solver *s, const shoal_batch *batch, const char *path,
                        shoal_tally *tally, shoal_log *log) {
    shoal_tally own;
    shoal_solver *w;
    if (tally)
        *tally = (shoal_tally){0};
    shoal_code code = solver_open(s, batch, "shoal_solver_run_file", &w, log);
    if (code != SHOAL_OK)
        return code;
    code = run_file(w, batch, path, tally ? tally : &own, log);
    solver_leave(s);
    return code;
}

shoal_code shoal_solver_run_file(shoal_solver *solver, const shoal_batch *batch, const char *path,
                                 shoal_tally *tally, shoal_log *log) {
    if (!path)
        return api_usage(log, "shoal_solver_run_file", "path");
    int32_t span = solver_begin_event(log);
    shoal_code code = solver_write(solver, batch, path, tally, log);
    log_end(log, span);
    return code;
}
