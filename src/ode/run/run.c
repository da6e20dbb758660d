// SPDX-License-Identifier: MIT
// What the loop over chunks asks of this engine: fill a chunk, count steps where they are saved,
// have rows run again, count and hand on what came back.
#include "ode/run/run.h"

#include "base/clock.h"
#include "dispatch/choose.h"
#include "dispatch/search.h"
#include "kernel/later.h"
#include "ode/run/tuned.h"
#include "ode/run/under_way.h"

#include <stdlib.h>
#include <string.h>

LOG_SHARED_LABEL(solve_ivp_execution, RUNTIME, 10, "one call that runs a batch");
LOG_SHARED_LABEL(solver_solve_execution, RUNTIME, 20, "the solver's part of it");
LOG_LABEL(kernel_run_execution, RUNTIME, 30, "all chunks");
LOG_LABEL(finish_output, RUNTIME, 110,
          "the end of the result: what is left to write, sync, rename");

LOG_LABEL(h2d_transfer_driver_coefficients, RUNTIME, 55,
          "samples of drivers and tables to the device");

static const double search_least_s = 0.1;        // what takes less is no search
static const uint64_t ask_again_ns = 1000000000; // for a kernel that was to take another's place
enum {
    STEPS_ROWS = 4096,  // of a chunk whose steps are saved
    RELIEF_ROWS = 2048, // at least, of a chunk of CHOOSE_RELIEF: they keep 16 threads busy 16 times
};

// ---- Plan ---------------------------------------------------------------------------------------

static struct dispatch_size size_of(const struct plan *p, const struct runner *r,
                                    const struct batch *b, const struct result_list *list) {
    const struct kernel *kernel = r->kernel[PLAN_FIRST].kernel; // NULL: nothing is to run
    uint64_t of_host, of_row = chunk_row_bytes(p, b, list, &of_host), inputs = batch_inputs(b);
    uint64_t most = inputs > 4 ? (UINT32_MAX - 65536u) / inputs : 1u << 30; // 32-bit offsets, rows
    bool steps = p->list.of.kind == SAMPLES_OWN; // how long they are shows only when they ran
    if (steps && !p->chunk && most > STEPS_ROWS)
        most = STEPS_ROWS;
    return (struct dispatch_size){.rows = batch_rows(b),
                                  .row_bytes = of_row,
                                  .row_host = of_host,
                                  .most = most,
                                  .chunk = p->chunk,
                                  .memory = p->memory,
                                  .extra = plan_takes_over(p),
                                  .resident = kernel ? kernel->facts.resident : 0,
                                  .limits = &p->limits};
}

shoal_plan run_plan(const struct plan *p, const struct runner *r, const struct batch *b,
                    const struct result_list *list) {
    struct dispatch_size size = size_of(p, r, b, list);
    return dispatch_plan(&size, p->threads);
}

static void list_columns(const struct batch *b, struct result_column *column) {
    uint32_t inputs = batch_inputs(b);
    for (uint32_t i = 0; i < inputs; i++)
        column[i].name = batch_input_name(b, i);
    for (uint32_t i = 0; i < batch_extras(b); i++) {
        column[inputs + i].name = batch_extra(b, i)->name;
        column[inputs + i].text = batch_extra(b, i)->text != NULL;
    }
}

shoal_code run_list(const struct plan *p, const struct batch *b, const char *meta,
                    struct arena *arena, struct result_list *list, struct report *r) {
    struct result_spec spec = p->list.of;
    spec.rows = batch_rows(b);
    spec.columns = batch_inputs(b) + batch_extras(b);
    spec.meta = meta;
    struct result_column *column = arena_new(arena, struct result_column, spec.columns + 1);
    spec.column = column;
    if (column)
        list_columns(b, column);
    return column && result_list_make(list, &spec, arena)
               ? SHOAL_OK
               : report_error(r, SHOAL_MEMORY, "out of memory");
}

void run_fill_known(const struct batch *b, const struct result_array *a, uint64_t row,
                    uint32_t rows, void *out) {
    if (a->role == ROLE_RUN)
        batch_fill_runs(b, row, rows, out);
    else if (a->index < batch_inputs(b))
        batch_fill(b, a->index, row, rows, out);
    else
        batch_fill_extra(b, a->index - batch_inputs(b), row, rows, out);
}

// ---- Results -----------------------------------------------------------------------------------

static void note_failed(shoal_tally *tally, uint64_t run) {
    uint32_t n = tally->failed_ranges;
    if (n && tally->failed[n - 1].end == run && !tally->failed_more)
        tally->failed[n - 1].end++;
    else if (n < SHOAL_FAILED_RANGES) {
        tally->failed[n].first = run;
        tally->failed[n].end = run + 1;
        tally->failed_ranges++;
    } else
        tally->failed_more = true;
}

void run_count_row(shoal_tally *tally, unsigned char status, uint64_t run) {
    if (!tally->by_status[status]++)
        tally->first[status] = run;
    if (status != SHOAL_STATUS_ok && status != SHOAL_STATUS_stopped)
        note_failed(tally, run);
}

// How many rows in front have ended well, the usual case; by whole words, so there may be more.
static uint32_t rows_ok(const unsigned char *status, uint32_t rows) {
    uint64_t w[8];
    uint32_t n = 0;
    for (; rows - n >= sizeof w; n += (uint32_t)sizeof w) {
        memcpy(w, status + n, sizeof w);
        if (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7])
            break;
    }
    for (; rows - n >= sizeof *w; n += (uint32_t)sizeof *w) {
        memcpy(w, status + n, sizeof *w);
        if (*w)
            break;
    }
    return n;
}

// Rows of a chunk whose statuses there are.
static void count_rows(shoal_tally *tally, const struct chunk *c, uint32_t first, uint32_t rows) {
    const unsigned char *status = c->args.status + first;
    uint64_t row = c->base.first_row + first;
    for (uint32_t i = 0; i < rows;) {
        uint32_t ok = rows_ok(status + i, rows - i);
        if (!ok) {
            run_count_row(tally, status[i], batch_run_of_row(c->batch, row + i));
            i++;
            continue;
        }
        if (!tally->by_status[SHOAL_STATUS_ok])
            tally->first[SHOAL_STATUS_ok] = batch_run_of_row(c->batch, row + i);
        tally->by_status[SHOAL_STATUS_ok] += ok;
        i += ok;
    }
    tally->done += rows;
}

static void count_chunk(shoal_tally *tally, const struct chunk *c) {
    tally->steps += c->args.totals[TOTAL_STEPS];
    tally->rejected += c->args.totals[TOTAL_REJECTED];
    tally->f_evals += c->args.totals[TOTAL_F_EVALS];
}

// A device may have written anything.
static shoal_code check_rows(const struct chunk *c, uint32_t rows, struct report *r) {
    uint32_t row = 0;
    for (uint32_t ok; row < rows && c->args.status[row] < SHOAL_STATUS_COUNT; row += ok ? ok : 1)
        ok = rows_ok(c->args.status + row, rows - row);
    if (row == rows)
        return SHOAL_OK;
    uint64_t run = batch_run_of_row(c->batch, c->base.first_row + row);
    return report_error(r, SHOAL_DEVICE,
                        "run %llu came back from %s with the status %u, which "
                        "there is not",
                        (unsigned long long)run, c->runner->how.backend->name, c->args.status[row]);
}

// ---- What the loop asks for ---------------------------------------------------------------------

struct chunk under_way_chunk(const struct batch_run *b, enum plan_role role, enum chunk_use use) {
    return (struct chunk){.plan = b->plan,
                          .runner = b->runner,
                          .role = role,
                          .batch = b->batch,
                          .list = b->list,
                          .chosen = b->chosen,
                          .use = use};
}

// A kernel that was compiled in a hurry gives way to the one that was compiled meanwhile.
static void replace_hurried(struct runner *r, enum plan_role role) {
    struct loaded *k = &r->kernel[role];
    struct kernel *other =
        k->hurried && !r->replaced[role] ? kernel_find(r->how.device, k->key) : NULL;
    if (!other)
        return;
    r->replaced[role] = k->kernel;
    k->kernel = other;
    k->hurried = false;
}

// One that nobody makes any more: the process is a copy, a compiler failed, or it was unloaded.
static void ask_again(const struct plan *p, struct runner *r, enum plan_role role) {
    struct loaded *k = &r->kernel[role], other = {0};
    struct build_how how = r->how;
    how.on_compile = NULL;
    if (takeover_build(p, role, &how, &other, NULL) != SHOAL_OK)
        return;
    if (other.hurried)
        kernel_drop(other.kernel);
    else {
        kernel_drop(k->kernel);
        *k = other;
    }
}

// Before a run, when no chunk is under way.
static void renew_kernels(const struct plan *p, struct runner *r) {
    bool asks = clock_ns() >= r->ask_ns;
    runner_drop_replaced(r);
    for (enum plan_role i = PLAN_FIRST; i < PLAN_ROLES; i++) {
        replace_hurried(r, i);
        if (!asks || !r->kernel[i].hurried || later_is_made(r->kernel[i].key))
            continue;
        ask_again(p, r, i);
        r->ask_ns = clock_ns() + ask_again_ns;
    }
    runner_drop_replaced(r);
}

void runner_drop_replaced(struct runner *r) {
    for (enum plan_role i = PLAN_FIRST; i < PLAN_ROLES; i++) {
        kernel_drop(r->replaced[i]);
        r->replaced[i] = NULL;
    }
}

bool runner_is_hurried(const struct runner *r) {
    bool hurried = false;
    for (enum plan_role i = PLAN_FIRST; i < PLAN_ROLES; i++)
        hurried |= r->replaced[i] || r->kernel[i].hurried;
    return hurried;
}

void under_way_kernel(const struct batch_run *b, enum plan_role role, struct dispatch_chunk *c) {
    replace_hurried(b->runner, role);
    struct kernel *k = b->runner->kernel[role].kernel;
    c->module = k->module;
    c->first = kernel_runs_first(k);
}

static struct chunk *own(const struct dispatch_chunk *c) { return (struct chunk *)(uintptr_t)c; }

// Another device is made ready meanwhile, and may take the rest.
static bool may_be_relieved(const struct batch_run *b) {
    return b->help && b->help->is_relieved && !b->plan->kernel[PLAN_FIRST].target->device;
}

// A compiler that works meanwhile has a core for itself.
static shoal_code make(void *user, uint32_t place, uint32_t rows, struct dispatch_chunk **out) {
    struct batch_run *b = user;
    struct chunk *c = &b->chunk[place];
    *c = under_way_chunk(b, PLAN_FIRST, CHUNK_WHOLE);
    if (!b->help || !b->help->kept) // then rows are where the sink will have them
        c->sink = b->sink;
    shoal_code code = chunk_init(c, place, rows, log_report(b->log));
    if (may_be_relieved(b) && c->base.launch.threads > 1)
        c->base.launch.threads--;
    b->made += code == SHOAL_OK;
    *out = &c->base;
    return code;
}

static void end_filling(struct batch_run *b, struct chunk *c, int32_t span,
                        const struct log_label *label) {
    const struct shoal_block *read = &c->base.launch.read;
    size_t bytes = 0;
    for (uint32_t i = 0; i < read->pieces; i++)
        bytes += read->piece[i].label == label ? read->piece[i].bytes : 0;
    dispatch_end_transfer(&b->loop, &c->base, span, c->base.rows, bytes);
}

// With the parameters goes all that is neither one nor an initial value.
static shoal_code fill(void *user, struct dispatch_chunk *chunk) {
    struct batch_run *b = user;
    struct chunk *c = own(chunk);
    int32_t span = log_begin(b->log, LOG_h2d_transfer_parameters);
    shoal_code code = chunk_place(c, chunk->first_row, chunk->rows, log_report(b->log));
    if (code != SHOAL_OK) {
        log_end(b->log, span);
        return code;
    }
    under_way_kernel(b, PLAN_FIRST, chunk);
    chunk->reruns = plan_takes_over(b->plan);
    chunk_fill_rows(c);
    chunk_fill(c, 0, c->parameters);
    end_filling(b, c, span, LOG_h2d_transfer_parameters);
    span = log_begin(b->log, LOG_h2d_transfer_initial_values);
    chunk_fill(c, c->parameters, c->inputs);
    end_filling(b, c, span, LOG_h2d_transfer_initial_values);
    return SHOAL_OK;
}

// Where steps are saved the first pass counts and the second saves: a trajectory is the same each
// time.
static shoal_code measure(void *user, struct dispatch_chunk *chunk) {
    struct batch_run *b = user;
    if (b->plan->list.of.kind != SAMPLES_OWN)
        return SHOAL_OK;
    shoal_code code = dispatch_run(&b->loop, chunk);
    if (code == SHOAL_OK && plan_takes_over(b->plan))
        code = takeover_chunk(b, own(chunk), true);
    return code == SHOAL_OK ? chunk_make_room(own(chunk), log_report(b->log)) : code;
}

static shoal_code mend(void *user, struct dispatch_chunk *chunk, shoal_code code) {
    struct batch_run *b = user;
    if (!plan_takes_over(b->plan))
        return code;
    if (code == SHOAL_OK)
        return takeover_chunk(b, own(chunk), false);
    takeover_give_up(b, own(chunk));
    return code;
}

static uint32_t undone(void *user, const struct dispatch_chunk *chunk) {
    (void)user;
    return takeover_rows(own(chunk));
}

static uint32_t finished(void *user, const struct dispatch_chunk *chunk) {
    const struct chunk *c = own(chunk);
    uint32_t n = 0;
    (void)user;
    while (n < chunk->rows && c->args.status[n] != SHOAL_ROW_PENDING)
        n++;
    return n;
}

// Runs that go on from one that failed have nothing to begin with.
static void mark_lost(struct chunk *c, uint32_t rows) {
    for (uint32_t i = 0; i < rows && batch_has_lost(c->batch); i++)
        if (batch_is_lost(c->batch, batch_run_of_row(c->batch, c->base.first_row + i)))
            c->args.status[i] = SHOAL_STATUS_bad_init;
}

// The sink takes all arrays of a chunk at once: its time is theirs by their bytes.
static void tell_delivery(const struct batch_run *b, const struct dispatch_chunk *chunk,
                          uint32_t rows, uint64_t t0_ns) {
    const struct shoal_block *written = &chunk->launch.written;
    uint64_t all = 0, bytes = 0, told = 0, took = log_now_ns(b->log) - t0_ns;
    for (uint32_t i = 0; i < written->pieces; i++)
        all += written->piece[i].bytes;
    for (uint32_t i = 0; i < written->pieces; i++) {
        const struct shoal_piece *p = &written->piece[i];
        bytes += p->bytes;
        uint64_t until = (uint64_t)((double)took * (double)bytes / (double)all);
        int32_t span = log_past(b->log, p->label, t0_ns + told, until - told);
        dispatch_end_transfer(&b->loop, chunk, span, rows, p->bytes);
        told = until;
    }
}

static shoal_code hand_on(struct batch_run *b, const struct result_chunk *view) {
    shoal_code code = b->sink->chunk(b->sink, view, log_report(b->log));
    b->sink_failed = code != SHOAL_OK;
    return code;
}

// Rows of a chunk as one of their own.
static struct result_chunk slice(const struct batch_run *b, const struct result_chunk *of,
                                 uint32_t first, uint32_t rows) {
    for (uint32_t i = 0; i < b->list->count; i++) {
        const struct result_array *a = &b->list->array[i];
        struct result_view v = of->view[i];
        size_t stride = a->axes == AXES_PER_RUN ? 1 : v.row_stride;
        if (a->wanted && v.data)
            v.data = (const char *)v.data + first * stride * result_type_bytes(a->type);
        b->slice[i] = v;
    }
    return (struct result_chunk){.rows = rows, .view = b->slice};
}

// The row that comes next is one that was kept; so may be some behind it.
static shoal_code hand_on_kept(struct batch_run *b, const struct kept *k) {
    uint32_t first = b->kept, rows = kept_stretch(k, first);
    struct result_chunk view = kept_view(k, first, rows, b->list, b->slice);
    for (uint32_t i = first; i < first + rows; i++)
        run_count_row(b->tally, kept_status(k, i, b->list), k->run[i]);
    b->tally->done += rows;
    b->kept += rows;
    return hand_on(b, &view);
}

// Rows of a chunk, with those between them that are kept.
static shoal_code hand_on_between(struct batch_run *b, struct chunk *c, uint32_t rows,
                                  const struct kept *k) {
    const struct result_chunk all = chunk_view(c, rows);
    shoal_code code = SHOAL_OK;
    for (uint32_t first = 0; code == SHOAL_OK;) {
        uint64_t until = b->kept < k->rows ? k->at[b->kept] - b->tally->done : UINT64_MAX;
        uint32_t n = rows - first < until ? rows - first : (uint32_t)until;
        if (!until) {
            code = hand_on_kept(b, k);
            continue;
        }
        if (!n)
            break;
        struct result_chunk part = slice(b, &all, first, n);
        part.first_row = b->tally->done;
        count_rows(b->tally, c, first, n);
        code = hand_on(b, &part);
        first += n;
    }
    return code;
}

static shoal_code deliver(void *user, struct dispatch_chunk *chunk, uint32_t rows) {
    struct batch_run *b = user;
    struct chunk *c = own(chunk);
    const struct kept *kept = b->help ? b->help->kept : NULL;
    uint64_t t0_ns = log_now_ns(b->log);
    mark_lost(c, rows);
    shoal_code code = check_rows(c, rows, log_report(b->log));
    if (code != SHOAL_OK)
        return code;
    count_chunk(b->tally, c);
    takeover_tell(b, c, rows);
    b->delivered += rows;
    if (kept)
        code = hand_on_between(b, c, rows, kept);
    else {
        struct result_chunk view = chunk_view(c, rows);
        count_rows(b->tally, c, 0, rows);
        code = hand_on(b, &view);
    }
    if (b->log && b->log->recording)
        tell_delivery(b, chunk, rows, t0_ns);
    return code;
}

// What is left would take as long as what is done, row by row.
static bool is_relieved(void *user, uint64_t next) {
    const struct batch_run *b = user;
    uint64_t first = b->loop.job->first, left = batch_rows(b->batch) - next;
    double took = (double)(clock_ns() - b->loop.start_ns) * 1e-9;
    return b->help->is_relieved(b->help->user, left, took / (double)(next - first) * (double)left);
}

// A faster kernel is looked for where the rest, which would take as long as what is done, is so
// long that this is a small part of it. Chunks that are under way count as done, so it is no less.
static bool is_search_due(void *user, uint64_t next) {
    struct batch_run *b = user;
    double took = (double)(clock_ns() - b->loop.start_ns) * 1e-9,
           rest =
               took / (double)(next - b->loop.job->first) * (double)(batch_rows(b->batch) - next),
           most = rest * search_share;
    if (!b->tunes || !b->loop.waited || most < search_least_s)
        return false;
    bool due = search_is_worth(rest, tuned_cost(b->plan, b->runner));
    b->tunes = due; // a rest that does not pay for it will not, later
    b->search_s = due ? most : 0;
    return due;
}

static const struct dispatch_engine engine = {.make = make,
                                              .fill = fill,
                                              .measure = measure,
                                              .mend = mend,
                                              .finished = finished,
                                              .undone = undone,
                                              .deliver = deliver};

// ---- Drivers and tables -------------------------------------------------------------------------

void runner_forget(struct runner *r) {
    if (r->signals)
        r->how.backend->resident_close(r->signals);
    r->signals = NULL;
}

// Once for all runs of a solver.
static shoal_code upload_signals(struct batch_run *b) {
    const struct driver_block *s = &b->plan->signals;
    struct runner *runner = b->runner;
    if (!s->data || runner->signals)
        return SHOAL_OK;
    struct shoal_piece piece = {LOG_h2d_transfer_driver_coefficients, 0, s->bytes};
    struct shoal_block block = {.data = s->data, .bytes = s->bytes, .pieces = 1, .piece = &piece};
    shoal_code code = runner->pool.backend->resident_open(runner->pool.device, &block, b->log,
                                                          &runner->signals, log_report(b->log));
    return code == SHOAL_MEMORY ? report_error(log_report(b->log), SHOAL_MEMORY,
                                               "the device has no room for the samples of drivers")
                                : code;
}

static shoal_code prepare_signals(struct batch_run *b, struct arena *arena) {
    const struct plan *p = b->plan;
    struct report *r = log_report(b->log);
    shoal_code code = driver_check_inputs(p->model, b->batch, r);
    if (code == SHOAL_OK)
        code = driver_choose(p->model, p->driver, b->batch, p->t0, p->t1, p->kernel[PLAN_FIRST].f32,
                             arena, &b->chosen, r);
    return code == SHOAL_OK ? upload_signals(b) : code;
}

// ---- A run --------------------------------------------------------------------------------------

// A batch that another device or another kernel may take over has borders where it can.
static uint32_t chunk_rows(const struct batch_run *b, uint32_t rows) {
    uint64_t part = batch_rows(b->batch) / CHOOSE_RELIEF;
    bool changes = may_be_relieved(b) || runner_is_hurried(b->runner),
         cuts = changes && !b->plan->chunk && part < rows;
    return !cuts ? rows : part > RELIEF_ROWS ? (uint32_t)part : RELIEF_ROWS;
}

static struct dispatch_job job_of(struct batch_run *b, const struct dispatch_control *control) {
    const struct plan *p = b->plan;
    struct dispatch_size size = size_of(p, b->runner, b->batch, b->list);
    uint32_t rows = chunk_rows(b, dispatch_rows(&size));
    return (struct dispatch_job){.engine = &engine,
                                 .user = b,
                                 .pool = &b->runner->pool,
                                 .limits = p->limits,
                                 .is_relieved = may_be_relieved(b) ? is_relieved
                                                : b->tunes         ? is_search_due
                                                                   : NULL,
                                 .first = b->delivered,
                                 .rows = batch_rows(b->batch),
                                 .beside = b->help && b->help->kept ? b->help->kept->rows : 0,
                                 .chunk_rows = rows,
                                 .tapers = dispatch_tapers(&size) && rows == dispatch_rows(&size),
                                 .one_at_a_time = p->list.of.kind == SAMPLES_OWN,
                                 .control = control,
                                 .log = b->log};
}

shoal_code under_way_begin(struct batch_run *b, const struct dispatch_control *control,
                           struct arena *arena, struct dispatch_job *out) {
    *out = job_of(b, control);
    return prepare_signals(b, arena);
}

static shoal_code run_chunks(struct batch_run *b, const struct dispatch_control *control) {
    struct dispatch_job job = job_of(b, control);
    shoal_code code = dispatch_all(&b->loop, &job);
    if (code == SHOAL_OK)
        dispatch_show(&b->loop, b->delivered);
    return code;
}

static shoal_code finish_output(struct batch_run *b, shoal_code code) {
    int32_t span = log_begin(b->log, LOG_finish_output);
    shoal_code ended = b->sink->end(b->sink, code == SHOAL_OK, log_report(b->log));
    log_end(b->log, span);
    return ended != SHOAL_OK ? ended : code;
}

// How much it was, on the event of all chunks and on those around it.
static void tell_amount(const struct batch_run *b, int32_t span, uint64_t chunks) {
    const int32_t events[] = {span, log_find_open(b->log, LOG_solver_solve_execution),
                              log_find_open(b->log, LOG_solve_ivp_execution)};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (events[i] < 0 || b->log->spans[events[i]].meta >= 0)
            continue; // of two runs in one of a program's, the first
        log_u64(b->log, events[i], "total_runs", b->tally->runs);
        log_u64(b->log, events[i], "num_chunks", chunks);
    }
}

// What chunks took, for those who ask what they will.
static void note_times(struct runner *r, const struct dispatch *d) {
    uint32_t later = d->waited > 1 ? d->waited - 1 : 0;
    if (!d->waited || runner_is_hurried(r))
        return;
    double first = (double)d->first_ns * 1e-9,
           mean = later ? (double)d->later_ns * 1e-9 / later : 0;
    if (!r->launches)
        r->first_s = first;
    else if (!later)
        mean = first;
    if (mean > 0)
        r->typical_s = r->typical_s > 0 ? (3 * r->typical_s + mean) / 4 : mean;
    r->launches += d->waited;
}

static void end_chunks(struct batch_run *b) {
    for (uint32_t i = 0; i < b->made; i++)
        chunk_free(&b->chunk[i]);
    b->made = 0;
    takeover_free(b);
}

// Room for views of a part of a chunk, where chunks are cut.
static shoal_code make_slice(struct batch_run *b, struct arena *arena) {
    b->slice = NULL;
    if (b->help && b->help->kept &&
        !(b->slice = arena_new(arena, struct result_view, b->list->count)))
        return report_error(log_report(b->log), SHOAL_MEMORY, "out of memory");
    return SHOAL_OK;
}

void run_count_there(shoal_tally *tally, const struct sink_there *t) {
    tally->done += t->rows;
    tally->resumed = t->rows;
    tally->steps += t->steps;
    tally->rejected += t->rejected;
    tally->f_evals += t->f_evals;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++) {
        tally->by_status[i] += t->by_status[i];
        tally->first[i] = t->first[i];
        tally->failed_more |= t->by_status[i] && i != SHOAL_STATUS_ok && i != SHOAL_STATUS_stopped;
    }
}

// Rows that are not done yet, with the plan and the runner that the run has; what these were needed
// for is given back. The sink knows its list from the first call on.
static shoal_code run_rest(struct batch_run *b, bool begin, struct result_list *list,
                           const struct dispatch_control *control, uint64_t *chunks) {
    struct arena arena = {0};
    shoal_code code = prepare_signals(b, &arena);
    if (code == SHOAL_OK)
        code = make_slice(b, &arena);
    if (code == SHOAL_OK && begin) {
        code = b->sink->begin(b->sink, list, log_report(b->log));
        b->begun = code == SHOAL_OK;
        b->sink_failed = code != SHOAL_OK;
        if (b->begun) {
            b->delivered = b->sink->there.rows;
            run_count_there(b->tally, &b->sink->there);
        }
    }
    if (code == SHOAL_OK)
        code = run_chunks(b, control);
    if (code == SHOAL_OK)
        note_times(b->runner, &b->loop);
    *chunks += b->loop.started;
    end_chunks(b);
    arena_free(&arena);
    return code;
}

static bool is_device_failure(const struct batch_run *b, shoal_code code) {
    return !b->sink_failed && (code == SHOAL_DEVICE || code == SHOAL_MEMORY);
}

// Another device goes on where this one was.
static void change_device(struct batch_run *b, const struct plan *plan, struct runner *runner) {
    *b = (struct batch_run){.plan = plan,
                            .runner = runner,
                            .batch = b->batch,
                            .help = b->help,
                            .delivered = b->delivered,
                            .kept = b->kept,
                            .begun = b->begun,
                            .sink = b->sink,
                            .list = b->list,
                            .tally = b->tally,
                            .log = b->log};
}

// The spare takes the place of the device that failed, with a warning instead of its error.
static shoal_code take_spare(struct batch_run *b, uint64_t mark) {
    const struct plan *plan = NULL;
    struct runner *runner = NULL;
    const char *failed = b->runner->how.backend->name;
    char why[256];
    shoal_code code = b->help->spare(b->help->user, &plan, &runner);
    if (code != SHOAL_OK)
        return code;
    uint64_t first = batch_run_of_row(b->batch, b->delivered),
             last = batch_run_of_row(b->batch, batch_rows(b->batch) - 1);
    report_withdraw(log_report(b->log), mark, why, sizeof why);
    report_warning(log_report(b->log),
                   "%s failed, and runs %llu to %llu were left to the CPU, whose last digits may "
                   "differ: %s",
                   failed, (unsigned long long)first, (unsigned long long)last, why);
    change_device(b, plan, runner);
    return SHOAL_OK;
}

static bool is_left(const struct batch_run *b, shoal_code code) {
    return code == SHOAL_OK && b->delivered < batch_rows(b->batch);
}

// The rest with the fastest kernel.
static shoal_code run_tuned(struct batch_run *b, struct result_list *list,
                            const struct dispatch_control *control, uint64_t *chunks) {
    shoal_code code = tuned_search(b->plan, b->runner, b->batch, b->search_s, control, b->log);
    change_device(b, b->plan, b->runner);
    return code == SHOAL_OK ? run_rest(b, false, list, control, chunks) : code;
}

// What the first device leaves is another's: of one that is faster, or, where it failed, a spare.
static shoal_code run_all(struct batch_run *b, struct result_list *list,
                          const struct dispatch_control *control, uint64_t *chunks) {
    uint64_t mark = report_mark(log_report(b->log));
    shoal_code code = run_rest(b, true, list, control, chunks);
    if (is_left(b, code) && b->search_s > 0)
        code = run_tuned(b, list, control, chunks);
    if (is_left(b, code)) {
        const struct plan *plan = NULL;
        struct runner *runner = NULL;
        code = b->help->relief(b->help->user, &plan, &runner);
        if (code != SHOAL_OK)
            return code;
        change_device(b, plan, runner);
        code = run_rest(b, false, list, control, chunks);
    }
    if (!b->help || !b->help->spare || !is_device_failure(b, code))
        return code;
    shoal_code taken = take_spare(b, mark);
    return taken == SHOAL_OK ? run_rest(b, !b->begun, list, control, chunks) : code;
}

// What rows that are kept were, but for how they ended.
static void add_kept(shoal_tally *tally, const struct kept *k) {
    tally->found_stiff += k->tally.found_stiff;
    tally->failed_first += k->tally.failed_first;
    tally->taken_back += k->tally.taken_back;
    tally->steps += k->tally.steps;
    tally->rejected += k->tally.rejected;
    tally->f_evals += k->tally.f_evals;
}

shoal_code run_batch(const struct plan *p, struct runner *runner, const struct batch *b,
                     struct sink *sink, struct result_list *list,
                     const struct dispatch_control *control, const struct run_help *help,
                     shoal_tally *tally, shoal_log *log) {
    const struct kept *kept = help ? help->kept : NULL;
    const struct method *first = p->kernel[PLAN_FIRST].method,
                        *stiff = p->kernel[PLAN_STIFF].method;
    struct batch_run run = {.plan = p,
                            .runner = runner,
                            .batch = kept ? kept->rest : b,
                            .help = help,
                            .sink = sink,
                            .list = list,
                            .tally = tally,
                            .log = log};
    uint64_t start_ns = clock_ns(), chunks = 0;
    *tally = (shoal_tally){
        .runs = batch_rows(b), .method = first->name, .stiff_method = stiff ? stiff->name : NULL};
    int32_t span = log_begin(log, LOG_kernel_run_execution);
    if (kept)
        add_kept(tally, kept);
    renew_kernels(p, runner);
    run.tunes = help && help->tunes && runner->kernel[PLAN_FIRST].gain == 0 &&
                !runner->kernel[PLAN_FIRST].hurried;
    shoal_code code = run_all(&run, list, control, &chunks);
    tally->complete = code == SHOAL_OK;
    if (code == SHOAL_OK || code == SHOAL_STOPPED)
        code = finish_output(&run, code);
    tell_amount(&run, span, chunks);
    log_end(log, span);
    tally->seconds = (double)(clock_ns() - start_ns) * 1e-9;
    return code;
}
