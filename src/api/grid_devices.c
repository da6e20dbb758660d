// SPDX-License-Identifier: MIT
// Opens devices of a pipeline, chooses one for a batch, and takes over from one that fails.
#include "api/grid_devices.h"

#include "api/learn.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/process.h"
#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPEATS_MOST = 16, // the same batch again and again is thought about now and then
    PILOT_TIMES = 3,
};
static const double call_s = 2e-6;   // a call that the CPU does nothing in, about
static const double pilot_s = 10e-3; // a part of a pilot that takes so long is the last

// ---- Opening and closing ------------------------------------------------------------------------

static void set_runner(const shoal_grid *g, struct grid_runner *r) {
    const shoal_options *o = &g->given;
    r->plan = g->plan;
    r->threads = o->threads ? o->threads : cpus_usable();
    r->chunk = o->chunk;
    r->memory = o->memory;
    r->cache = o->cache;
    r->keep_source = o->keep_source;
    r->stop = o->stop;
    r->on_compile = o->on_compile;
    r->on_compile_user = o->on_compile_user;
}

static void worker_free(struct grid_worker *w) {
    if (!w)
        return;
    grid_runner_free(&w->runner);
    if (!w->for_target)
        kernel_device_close(w->runner.device);
    else if (w->runner.device)
        w->runner.backend->close(w->runner.device);
    free(w);
}

static shoal_code start_device(struct grid_worker *w, uint32_t index, struct report *r) {
    struct grid_runner *run = &w->runner;
    w->starts = !kernel_device_opens(run->backend, index);
    shoal_code code = kernel_device_open(run->backend, index, false, &run->device, r);
    if (code != SHOAL_OK)
        return code;
    run->backend->describe(index, &w->card);
    if (run->backend->prepare)
        run->backend->prepare(run->device);
    return code;
}

// The device of a backend as that of a row; with a target one that nothing runs on.
static shoal_code open_worker(shoal_grid *g, uint32_t row, const struct shoal_backend *backend,
                              uint32_t index, const char *target, shoal_log *log) {
    struct grid_worker *w = calloc(1, sizeof *w);
    if (!w)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    w->pid = process_id();
    w->index = index;
    w->for_target = target;
    w->runner.backend = backend;
    set_runner(g, &w->runner);
    shoal_code code = target ? device_open_target(target, false, &w->runner.backend,
                                                  &w->runner.device, log_report(log))
                             : start_device(w, index, log_report(log));
    if (code == SHOAL_OK)
        g->worker[row] = w;
    else
        worker_free(w);
    return code;
}

shoal_code grid_devices_open(shoal_grid *g, const char *device, const char *target,
                             shoal_log *log) {
    const struct shoal_backend *backend = NULL;
    uint32_t index = 0;
    if (target) {
        g->shown = 1;
        return open_worker(g, 1, NULL, 0, target, log);
    }
    g->is_free = device_is_free(device);
    known_watch(g->given.stop, NULL);
    shoal_code code = device_choose(device, &backend, &index, log_report(log));
    known_watch(NULL, NULL);
    if (code != SHOAL_OK)
        return code;
    g->shown = strcmp(backend->name, "cpu") ? 1 : 0;
    return open_worker(g, g->shown, backend, index, NULL, log);
}

void grid_devices_close(shoal_grid *g) {
    if (g->chooser)
        learn_save(g->chooser);
    free(g->chooser);
    for (uint32_t i = 0; i < COST_DEVICES; i++)
        worker_free(g->worker[i]);
}

static shoal_code worker_of(shoal_grid *g, uint32_t row, shoal_log *log) {
    const struct device_known *d = g->chooser ? g->chooser->machine.known[row] : NULL;
    const struct grid_worker *w = g->worker[row];
    if (!w)
        return open_worker(g, row, d ? d->backend : device_backend("cpu"), d ? d->index : 0, NULL,
                           log);
    if (w->runner.backend->target(w->runner.device)->device && w->pid != process_id())
        return report_error(log_report(log), SHOAL_DEVICE, "%s: " DEVICE_FORKED,
                            w->runner.backend->name);
    return SHOAL_OK;
}

// ---- What the choice asks -----------------------------------------------------------------------

// A batch on its way to a device.
struct asking {
    shoal_grid *grid;
    const struct grid_batch *batch;
    enum grid_type out;
    shoal_log *log;
};

// The device of a row as far as it can be had without its driver, which a target says.
static shoal_code open_probe(const struct device_known *d, struct grid_runner *r) {
    char word[KNOWN_TARGET];
    const char *target = known_target(d, word);
    r->backend = d->backend;
    return target ? device_open_target(target, false, &r->backend, &r->device, NULL)
                  : kernel_device_open(d->backend, d->index, false, &r->device, NULL);
}

static void close_probe(const struct device_known *d, struct grid_runner *r) {
    char word[KNOWN_TARGET];
    grid_runner_free(r);
    if (known_target(d, word))
        r->backend->close(r->device);
    else
        kernel_device_close(r->device);
}

static shoal_code look_without(const struct asking *a, uint32_t row, struct grid_found *found) {
    const struct device_known *d = a->grid->chooser->machine.known[row];
    struct grid_runner probe = {0};
    set_runner(a->grid, &probe);
    shoal_code code = open_probe(d, &probe);
    if (code != SHOAL_OK)
        return code;
    code = grid_kernel_look(&probe, a->batch->type, a->out, found, NULL);
    close_probe(d, &probe);
    return code;
}

// What cannot be found out counts as a miss: whoever makes the kernel says what is wrong.
static shoal_code look(void *user, uint32_t row, struct cost_kernel *out, char key[KEY_HEX]) {
    struct asking *a = user;
    struct grid_found found = {0};
    struct grid_worker *w = a->grid->worker[row];
    shoal_code code = w ? grid_kernel_look(&w->runner, a->batch->type, a->out, &found, NULL)
                        : look_without(a, row, &found);
    if (code != SHOAL_OK || (found.refused && row)) {
        choose_failed(a->grid->chooser, row);
        return SHOAL_OK;
    }
    out->open = out->open || w;
    out->cached = found.cached;
    out->compile = found.compile_s > 0 ? found.compile_s : out->compile;
    memcpy(key, found.key, KEY_HEX);
    return SHOAL_OK;
}

// Memory for the results of some grids, which are dropped.
static shoal_code scratch_new(struct grid_runner *r, const struct grid_batch *some,
                              struct grid_result *out, shoal_log *log) {
    out->shapes = malloc(some->count * 2 * sizeof *out->shapes);
    out->offsets = malloc(some->count * sizeof *out->offsets);
    out->status = malloc(some->count);
    bool ok = out->shapes && out->offsets && out->status;
    shoal_code code = ok ? grid_shapes(r, some, out, log) : SHOAL_MEMORY;
    out->room = out->needed;
    out->cells = code == SHOAL_OK ? malloc(out->room * grid_type_bytes(out->type) + 1) : NULL;
    return code == SHOAL_OK && !out->cells ? SHOAL_MEMORY : code;
}

static void scratch_free(struct grid_result *out) {
    free(out->shapes);
    free(out->offsets);
    free(out->status);
    free(out->cells);
}

// The first grids of a batch, one and then more of them, until it has taken long enough.
static shoal_code time_some(struct asking *a, uint32_t rows, struct choose_pilot *p) {
    struct grid_runner *r = &a->grid->worker[0]->runner;
    const struct dispatch_control control = {.stop = {a->grid->given.stop}};
    struct grid_batch some = *a->batch;
    struct grid_result out = {.type = a->out};
    some.count = rows;
    shoal_code code = scratch_new(r, &some, &out, a->log);
    for (uint32_t n = 1; code == SHOAL_OK && p->seconds < pilot_s && p->rows < rows; n *= 4) {
        some.count = n < rows ? n : rows;
        for (int i = 0; i < PILOT_TIMES && code == SHOAL_OK && p->seconds < pilot_s; i++) {
            uint64_t begin = clock_ns();
            code = grid_run(r, &some, &out, &control, a->log);
            p->seconds = (double)(clock_ns() - begin) * 1e-9;
        }
        p->rows = (uint32_t)some.count;
    }
    scratch_free(&out);
    return code;
}

// By the kernel, which the CPU needs for such a batch in any case.
static shoal_code pilot(void *user, uint32_t rows, struct choose_pilot *out) {
    struct asking *a = user;
    struct grid_runner *r = &a->grid->worker[0]->runner;
    uint64_t mark = report_mark(log_report(a->log));
    char why[64];
    int32_t span = log_begin(a->log, LOG_pilot_run);
    *out = (struct choose_pilot){.spread = 1};
    r->way = GRID_BY_KERNEL;
    shoal_code code = grid_kernel(r, a->batch->type, a->out, a->log);
    if (code == SHOAL_OK)
        code = time_some(a, rows, out);
    r->way = GRID_BY_CHOICE;
    if (code == SHOAL_OK)
        choose_loaded(a->grid->chooser, 0, r->made[a->batch->type][a->out].key);
    else // whoever runs the batch says what is wrong; without a compiler there are the stages
        report_withdraw(log_report(a->log), mark, why, sizeof why);
    log_u64(a->log, span, "grids", out->rows);
    log_end(a->log, span);
    return code;
}

static const struct choose_engine measuring = {.look = look, .pilot = pilot},
                                  planning = {.look = look};

// ---- The choice ---------------------------------------------------------------------------------

static struct choose_request request_of(const shoal_grid *g, const struct grid_batch *b,
                                        enum grid_type out) {
    struct grid_load load = grid_load_of(&g->worker[0]->runner, b, out);
    return (struct choose_request){.rows = b->count,
                                   .in_bytes = load.in_bytes,
                                   .out_bytes = load.out_bytes,
                                   .units = load.units,
                                   .threshold = g->given.threshold,
                                   .reuses = g->given.reuses ? g->given.reuses : 1,
                                   .noun = "grids"};
}

// The CPU works on the caller's memory, so nothing is copied; few cells are computed in the calling
// thread, and by stages where there is no kernel.
static void set_cpu(shoal_grid *g, const struct grid_batch *b, enum grid_type out) {
    struct chooser *c = g->chooser;
    struct cost_device *cpu = &c->table.row[0].device;
    struct grid_load load = grid_load_of(&g->worker[0]->runner, b, out);
    cpu->in_rate = cpu->out_rate = (double)INFINITY;
    cpu->launch = call_s;
    cpu->lane = 1;
    cpu->at_once = load.alone ? 1 : g->at_once;
    c->table.row[0].kernel.loaded = load.ready;
}

// Another kernel, which nothing is known of yet.
static void begin_kernel(shoal_grid *g, enum grid_type in, enum grid_type out) {
    static const char *const words[] = {
#define GRID_CLASS(name, word, ctype, least, most) "grid-" word,
        GRID_TYPES(GRID_CLASS)};
    struct chooser *c = g->chooser;
    snprintf(c->class, sizeof c->class, "%s", words[in]);
    choose_begin(c);
    g->at_once = c->table.row[0].device.at_once;
    g->in_type = in;
    g->out_type = out;
}

static bool is_about(const shoal_grid *g, const struct asking *a) {
    return g->in_type == a->batch->type && g->out_type == a->out;
}

static shoal_code find_devices(shoal_grid *g, const struct asking *a) {
    shoal_log *log = a->log;
    struct chooser *c = g->chooser = calloc(1, sizeof *c);
    if (!c)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    machine_find(&c->machine, log_report(log));
    learn_open(c, g->given.cache);
    c->cpu = (struct machine_cpu){.threads = g->worker[0]->runner.threads, .lanes = 1};
    begin_kernel(g, a->batch->type, a->out);
    return SHOAL_OK;
}

// Without a question to anybody.
static bool is_the_cpus(shoal_grid *g, const struct grid_batch *b, const struct choose_request *q) {
    if (choose_few(q, g->reason))
        return true;
    if (g->chooser || q->threshold || !grid_is_early(&g->worker[0]->runner, b))
        return false;
    choose_reason(q, "cpu", "which are done before another device has started", g->reason);
    return true;
}

static bool is_repeat(shoal_grid *g, const struct asking *a, const struct choose_request *q) {
    const struct choose_request *l = &g->last;
    return g->chooser && !g->chooser->failed[g->shown] && is_about(g, a) && l->rows == q->rows &&
           l->units == q->units && l->in_bytes == q->in_bytes && l->out_bytes == q->out_bytes &&
           g->repeats++ < REPEATS_MOST;
}

static shoal_code choose_from_all(shoal_grid *g, struct asking *a, struct choose_request *q,
                                  uint32_t *row) {
    shoal_code code = g->chooser ? SHOAL_OK : find_devices(g, a);
    if (code != SHOAL_OK)
        return code;
    if (!is_about(g, a))
        begin_kernel(g, a->batch->type, a->out);
    g->reason[0] = 0;
    if (g->chooser->machine.count < 2)
        return SHOAL_OK;
    set_cpu(g, a->batch, a->out);
    q->user = a;
    code = choose_device(g->chooser, q, row);
    snprintf(g->reason, sizeof g->reason, "%s", g->chooser->reason);
    g->last = *q;
    g->repeats = 0;
    return code;
}

// Who has grids that were kept, if this pipeline may run there.
static shoal_code holder_of(shoal_grid *g, const struct asking *a, uint32_t *row) {
    const struct grid_kept *k = a->batch->kept;
    shoal_code code = g->is_free && !g->chooser ? find_devices(g, a) : SHOAL_OK;
    uint32_t rows = g->is_free && g->chooser ? g->chooser->machine.count : 2;
    for (*row = 1; *row < rows && code == SHOAL_OK; ++*row) {
        const struct device_known *d = g->is_free ? g->chooser->machine.known[*row] : NULL;
        const struct grid_worker *w = g->worker[*row];
        if (w ? w->runner.device == k->device
              : d && d->backend == k->backend && d->index == k->index)
            return SHOAL_OK;
    }
    if (code != SHOAL_OK)
        return code;
    return report_error(log_report(a->log), SHOAL_USAGE,
                        "the grids that were kept are on %s:%u, where this pipeline does not run; "
                        "shoal_kept_fetch copies them",
                        k->backend->name, k->index);
}

static shoal_code choose(shoal_grid *g, struct asking *a, struct choose_request *q, uint32_t *row) {
    *row = g->shown;
    if (a->batch->kept)
        return holder_of(g, a, row);
    if (!g->is_free || is_repeat(g, a, q))
        return SHOAL_OK;
    *row = 0;
    g->last.rows = 0;
    int32_t span = learn_begin_choice(a->log);
    shoal_code code = is_the_cpus(g, a->batch, q) ? SHOAL_OK : choose_from_all(g, a, q, row);
    const char *name = *row ? g->chooser->table.row[*row].device.name : "cpu";
    learn_end_choice(a->log, span, name, g->reason);
    return code;
}

// ---- Running ------------------------------------------------------------------------------------

static void learn(shoal_grid *g, struct asking *a, const struct choose_request *q, uint32_t row,
                  double seconds, bool first) {
    const struct grid_worker *w = g->worker[row];
    const struct grid_made *m = &w->runner.made[a->batch->type][a->out];
    if (!g->chooser || g->chooser->machine.count < 2 || w->runner.by_stages || !m->kernel ||
        !is_about(g, a))
        return;
    set_cpu(g, a->batch, a->out);
    learn_times(g->chooser, q, row,
                &(struct learn_times){.key = m->key,
                                      .seconds = seconds,
                                      .compile = m->compile_s,
                                      .load = m->load_s,
                                      .opened = w->opened_s,
                                      .first = first},
                a->log);
}

static shoal_code run_on(shoal_grid *g, uint32_t row, const struct grid_batch *b,
                         struct grid_result *out, const struct dispatch_control *control,
                         shoal_log *log) {
    struct grid_runner *r = &g->worker[row]->runner;
    return out->cells ? grid_run(r, b, out, control, log) : grid_shapes(r, b, out, log);
}

// A device that cannot be used, or does not take the kernel, leaves the batch to the CPU.
static shoal_code without(shoal_grid *g, uint32_t *row, uint64_t mark, shoal_log *log) {
    char why[256];
    report_withdraw(log_report(log), mark, why, sizeof why);
    report_warning(log_report(log), "%s cannot be used, so the CPU is: %s",
                   g->chooser->table.row[*row].device.name, why);
    choose_failed(g->chooser, *row);
    *row = 0;
    return worker_of(g, 0, log);
}

static bool is_failure(const shoal_grid *g, uint32_t row, shoal_code code) {
    return row && !g->given.no_fallback && (code == SHOAL_DEVICE || code == SHOAL_MEMORY);
}

// The kernel of a device; what that takes besides compiling and loading is the device's start.
static shoal_code get_kernel(struct grid_worker *w, const struct asking *a, uint64_t begin_ns) {
    const struct grid_made *m = &w->runner.made[a->batch->type][a->out];
    shoal_code code = grid_kernel(&w->runner, a->batch->type, a->out, a->log);
    double rest = (double)(clock_ns() - begin_ns) * 1e-9 - m->compile_s - m->load_s;
    if (w->starts && !w->ran && rest > 0)
        w->opened_s = rest;
    return code;
}

// The worker of a row, and, of a device, its kernel.
static shoal_code make_ready(shoal_grid *g, const struct asking *a, uint32_t *row) {
    uint64_t mark = report_mark(log_report(a->log)), begin = clock_ns();
    shoal_code code = worker_of(g, *row, a->log);
    if (code == SHOAL_OK && *row)
        code = get_kernel(g->worker[*row], a, begin);
    return g->is_free && is_failure(g, *row, code) ? without(g, row, mark, a->log) : code;
}

// The grids from one on, and their results, which lie behind those of the ones before.
static struct grid_batch rest_of(const struct grid_batch *b, uint64_t first) {
    struct grid_batch rest = *b;
    uint64_t cells = first * (uint64_t)b->height * (uint64_t)b->width;
    rest.count -= first;
    if (b->shapes) {
        rest.shapes += 2 * first;
        rest.offsets += first;
    } else
        rest.cells = (const char *)b->cells + cells * grid_type_bytes(b->type);
    return rest;
}

static shoal_code run_rest(shoal_grid *g, const struct grid_batch *b, struct grid_result *out,
                           uint64_t first, const struct dispatch_control *control, shoal_log *log) {
    const struct grid_batch rest = rest_of(b, first);
    struct grid_result later = *out;
    uint64_t before = grid_cells_before(out, first);
    if (out->cells)
        later.cells = (char *)out->cells + before * grid_type_bytes(out->type);
    later.room -= out->cells ? before : 0;
    later.shapes += 2 * first;
    later.offsets += first;
    later.status += first;
    shoal_code code = run_on(g, 0, &rest, &later, control, log);
    for (uint64_t i = 0; i < rest.count; i++)
        later.offsets[i] += before;
    out->needed = before + later.needed;
    out->stack = later.stack;
    out->height = later.height;
    out->width = later.width;
    return code;
}

// Cells that are kept by the CPU.
static shoal_code make_host_room(shoal_grid *g, const struct grid_batch *b, struct grid_result *out,
                                 shoal_log *log) {
    struct grid_kept *keep = out->keep;
    out->keep = NULL;
    out->cells = NULL;
    shoal_code code = grid_shapes(&g->worker[0]->runner, b, out, log);
    out->room = out->needed;
    out->cells = code == SHOAL_OK ? malloc(out->needed * grid_type_bytes(out->type) + 1) : NULL;
    if (out->cells || code != SHOAL_OK)
        return code;
    out->keep = keep;
    return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
}

// What was handed on before the device failed stays.
static shoal_code take_over(shoal_grid *g, uint32_t row, const struct grid_batch *b,
                            struct grid_result *out, uint64_t mark,
                            const struct dispatch_control *control, shoal_log *log) {
    char why[256];
    shoal_code code = worker_of(g, 0, log);
    if (code == SHOAL_OK && out->keep) {
        out->delivered = 0;
        code = make_host_room(g, b, out, log);
    }
    if (code != SHOAL_OK)
        return code;
    report_withdraw(log_report(log), mark, why, sizeof why);
    report_warning(log_report(log), "%s failed, and grids %llu to %llu were left to the CPU: %s",
                   g->worker[row]->runner.backend->name, (unsigned long long)out->delivered,
                   (unsigned long long)b->count - 1, why);
    if (g->chooser)
        choose_failed(g->chooser, row);
    return run_rest(g, b, out, out->delivered, control, log);
}

// The device of a batch, which is ready then, or would be.
static shoal_code find_row(shoal_grid *g, struct asking *a, struct choose_request *q, bool plans,
                           uint32_t *row) {
    known_watch(g->given.stop, NULL);
    shoal_code code = choose(g, a, q, row);
    known_watch(NULL, NULL);
    if (code != SHOAL_OK)
        return code;
    return plans ? worker_of(g, *row, a->log) : make_ready(g, a, row);
}

shoal_code grid_devices_run(shoal_grid *g, const struct grid_batch *b, struct grid_result *out,
                            const struct dispatch_control *control, bool plans, shoal_log *log) {
    struct asking a = {.grid = g, .batch = b, .out = out->type, .log = log};
    struct choose_request q = g->is_free ? request_of(g, b, out->type) : (struct choose_request){0};
    uint32_t row = 0;
    q.engine = plans ? &planning : &measuring;
    shoal_code code = find_row(g, &a, &q, plans, &row);
    if (code != SHOAL_OK)
        return code;
    g->shown = row;
    if (plans)
        return SHOAL_OK;
    if (out->keep)
        out->keep->index = g->worker[row]->index;
    uint64_t mark = report_mark(log_report(log)), begin = clock_ns();
    if (out->keep && !row)
        code = make_host_room(g, b, out, log);
    if (code == SHOAL_OK)
        code = run_on(g, row, b, out, control, log);
    double seconds = (double)(clock_ns() - begin) * 1e-9;
    bool first = !g->worker[row]->ran;
    g->worker[row]->ran = true;
    if (is_failure(g, row, code) && !b->kept)
        code = take_over(g, row, b, out, mark, control, log);
    else if (code == SHOAL_OK && out->cells && !out->keep && !b->kept)
        learn(g, &a, &q, row, seconds, first);
    return code;
}

shoal_code grid_devices_ready(shoal_grid *g, enum grid_type in, enum grid_type out,
                              shoal_log *log) {
    struct grid_runner *r = &g->worker[g->shown]->runner;
    uint64_t mark = report_mark(log_report(log));
    char why[64];
    shoal_code code = grid_kernel(r, in, out, log);
    bool has_stages = !g->shown && (code == SHOAL_DEVICE || r->made[in][out].refused);
    if (has_stages)
        report_withdraw(log_report(log), mark, why, sizeof why);
    return has_stages ? SHOAL_OK : code;
}

// ---- Calibration --------------------------------------------------------------------------------

shoal_code grid_devices_find(shoal_grid *g, enum grid_type in, enum grid_type out, shoal_log *log) {
    const struct grid_batch none = {.type = in};
    const struct asking a = {.grid = g, .batch = &none, .out = out, .log = log};
    g->is_free = true;
    return g->chooser ? SHOAL_OK : find_devices(g, &a);
}

shoal_code grid_devices_time(shoal_grid *g, uint32_t row, const struct grid_batch *b,
                             struct grid_result *out, double *seconds, shoal_log *log) {
    struct asking a = {.grid = g, .batch = b, .out = out->type, .log = log};
    const struct dispatch_control control = {.stop = {g->given.stop}};
    struct choose_request q = request_of(g, b, out->type);
    uint64_t begin = clock_ns();
    shoal_code code = worker_of(g, row, log);
    if (code == SHOAL_OK)
        code = get_kernel(g->worker[row], &a, begin);
    if (code != SHOAL_OK)
        return code;
    bool first = !g->worker[row]->ran;
    g->worker[row]->ran = true;
    begin = clock_ns();
    code = run_on(g, row, b, out, &control, log);
    *seconds = (double)(clock_ns() - begin) * 1e-9;
    if (code == SHOAL_OK)
        learn(g, &a, &q, row, *seconds, first);
    return code;
}
