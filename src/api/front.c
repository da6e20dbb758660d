// SPDX-License-Identifier: MIT
// The solvers behind a front, and what the choice of a device asks about them.
#include "api/front.h"

#include "api/early.h"
#include "api/learn.h"
#include "base/clock.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LOG_SHARED_LABEL(pilot_run, RUNTIME, 14,
                 "some rows of the batch on the CPU, to see what each takes");
LOG_LABEL(trial_run, RUNTIME, 16,
          "rows of the batch on the CPU and on a device, to see which is faster");
LOG_LABEL(wait_for_device, BUILD, 6, "a device that another thread makes ready");

// ---- Making and changing ------------------------------------------------------------------------

bool front_is_wanted(const shoal_solver *s, struct report *r) {
    return device_is_free(s->given.device) && machine_has_choice(r);
}

shoal_code front_make(shoal_solver *s, shoal_log *log) {
    struct front *f = calloc(1, sizeof *f);
    if (!f)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    s->front = f;
    machine_find(&f->chooser.machine, NULL);
    learn_begin(&f->chooser, s);
    char *text = s->card.text;
    snprintf(text, sizeof s->card.text, "chosen for each batch: cpu");
    for (uint32_t i = 1; i < f->chooser.machine.count; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof s->card.text - n, ", %s", f->chooser.machine.known[i]->name);
    }
    return SHOAL_OK;
}

void front_free(struct front *f) {
    if (!f)
        return;
    learn_save(&f->chooser);
    early_end(f);
    for (uint32_t i = 0; i < COST_DEVICES; i++)
        shoal_solver_free(f->child[i]);
    kept_free(f->kept);
    free(f);
}

// The options of a child: those of the front, on its device.
static shoal_options options_of(const shoal_solver *s, uint32_t row) {
    shoal_options o = s->given;
    const struct device_known *d = s->front->chooser.machine.known[row];
    o.device = d ? d->name : "cpu";
    return o;
}

// Kernels that were kept tell that all are; else each must be looked for again.
static void change_chooser(struct chooser *c, const shoal_solver *next, const struct chooser *old,
                           bool kept) {
    bool same = !strcmp(c->class, old->class) && c->cpu.threads == old->cpu.threads;
    *c = *old;
    cost_forget(&c->table); // other options may be other work
    learn_class(c, next);
    if (kept && same)
        return;
    double work = c->work, spread = c->spread;
    choose_begin(c);
    if (same) { // about what it was, until a batch tells
        c->work = work;
        c->spread = spread;
        c->last = old->last;
        c->piloted = old->piloted;
    }
}

shoal_code front_take_over(shoal_solver *next, shoal_solver *old, shoal_effect *effect,
                           shoal_log *log) {
    struct front *f = next->front, *from = old->front;
    shoal_solver *last = from->child[from->shown];
    *effect = SHOAL_KEPT;
    shoal_options o = options_of(next, from->shown);
    shoal_code code =
        last ? solver_change(last, api_model_copy(next->model), &o, effect, log) : SHOAL_OK;
    if (code != SHOAL_OK)
        return code;
    change_chooser(&f->chooser, next, &from->chooser, last && *effect == SHOAL_KEPT);
    for (uint32_t i = 0; i < COST_DEVICES; i++) {
        f->child[i] = from->child[i];
        f->stale[i] = i != from->shown;
        from->child[i] = NULL;
        if (f->child[i])
            f->chooser.table.row[i].kernel.open = true;
    }
    f->shown = from->shown;
    if (last)
        choose_loaded(&f->chooser, f->shown, last->runner.kernel[PLAN_FIRST].key);
    return SHOAL_OK;
}

// The solver that another thread makes, or has made, becomes a child; or nothing does, where it was
// told to stop.
static shoal_code adopt(shoal_solver *s, shoal_log *log) {
    struct front *f = s->front;
    uint32_t row = early_row(f->early);
    int32_t span = log_begin(log, LOG_wait_for_device);
    shoal_code code = early_take(f, &f->child[row], log);
    const struct loaded *k = f->child[row] ? &f->child[row]->runner.kernel[PLAN_FIRST] : NULL;
    if (k) {
        log_f64(log, span, "compile_ms", k->compile_s * 1e3);
        log_f64(log, span, "load_ms", k->load_s * 1e3);
        log_text(log, span, "key", k->key);
    }
    log_end(log, span);
    return code;
}

static shoal_code child_of(shoal_solver *s, uint32_t row, shoal_solver **out, shoal_log *log) {
    struct front *f = s->front;
    shoal_options o = options_of(s, row);
    shoal_solver **child = &f->child[row];
    shoal_code code = SHOAL_OK;
    if (!*child && f->early && early_row(f->early) == row)
        code = adopt(s, log);
    if (code == SHOAL_OK && !*child)
        code = solver_make(api_model_copy(s->model), &o, NULL, s, s->plans, child, log);
    else if (f->stale[row])
        code = solver_change(*child, api_model_copy(s->model), &o, NULL, log);
    *out = *child;
    if (code != SHOAL_OK)
        return code;
    f->stale[row] = false;
    if (!s->plans)
        choose_loaded(&f->chooser, row, (*child)->runner.kernel[PLAN_FIRST].key);
    return SHOAL_OK;
}

shoal_code front_cpu(shoal_solver *s, shoal_solver **out, shoal_log *log) {
    return child_of(s, 0, out, log);
}

const shoal_solver *front_shown(const shoal_solver *s) {
    const shoal_solver *child = s->front ? s->front->child[s->front->shown] : NULL;
    return child ? child : s;
}

// ---- What the choice asks -----------------------------------------------------------------------

static void look_up(const struct order *order, enum plan_role role, const shoal_options *o,
                    struct system *system, struct cost_kernel *out, char key[KEY_HEX]) {
    struct build_how how = solver_how(order->model, o, order->backend, order->device);
    struct cache *cache = cache_open(how.cache);
    struct build b = {0};
    how.keep_source = NULL; // nobody makes it yet
    memcpy(how.variants, order->variants, sizeof how.variants);
    if (cache && build_begin(&order->kernel[role], system, &how, cache, &b, NULL) == SHOAL_OK) {
        uint32_t ms = cache_predict(cache, order->backend->kind, b.source.text.length);
        out->cached = kernel_is_cached(&b.making);
        out->compile = ms ? ms / 1e3 : out->compile;
        memcpy(key, b.making.hex, KEY_HEX);
    }
    build_free(&b);
    cache_close(cache);
}

// A device that was not opened is known by what was said of it.
static void name_variants(const shoal_solver *s, uint32_t row, struct order *order) {
    const struct device_known *d = s->front->chooser.machine.known[row];
    if (d)
        machine_known(d, order->variants);
}

// What cannot be found out counts as a miss: whoever makes the kernel says what is wrong.
static shoal_code look(void *user, uint32_t row, struct cost_kernel *out, char key[KEY_HEX]) {
    shoal_solver *s = user;
    struct order order;
    char word[KNOWN_TARGET];
    shoal_options o = options_of(s, row);
    const char *target = known_target(s->front->chooser.machine.known[row], word);
    shoal_code code = order_open(s->model, &o, target, &order, NULL);
    struct system *system = code == SHOAL_OK ? api_system(order.model, NULL) : NULL;
    name_variants(s, row, &order);
    if (system)
        look_up(&order, PLAN_FIRST, &o, system, out, key);
    else
        choose_failed(&s->front->chooser, row);
    order_close(&order);
    return SHOAL_OK;
}

// Rows of the pilot were stiff: a device must have the kernel that takes over, too.
static void look_for_stiff(shoal_solver *s, uint32_t row) {
    struct cost_kernel *out = &s->front->chooser.table.row[row].kernel, stiff = *out;
    struct order order;
    char word[KNOWN_TARGET], key[KEY_HEX];
    shoal_options o = options_of(s, row);
    const char *target = known_target(s->front->chooser.machine.known[row], word);
    shoal_code code = order_open(s->model, &o, target, &order, NULL);
    struct system *system = code == SHOAL_OK ? build_system(order.model->model, NULL) : NULL;
    name_variants(s, row, &order);
    if (system)
        look_up(&order, PLAN_STIFF, &o, system, &stiff, key);
    if (system && !stiff.cached) {
        out->compile = stiff.compile + (out->cached ? 0 : out->compile);
        out->cached = false;
    }
    system_free(system);
    order_close(&order);
}

// Without a C compiler, say, the CPU is none to choose.
static shoal_code pilot_child(shoal_solver *s, shoal_solver **cpu) {
    struct report *r = log_report(s->front->log);
    uint64_t mark = report_mark(r);
    char why[256];
    shoal_code code = child_of(s, 0, cpu, s->front->log);
    if (code == SHOAL_DEVICE) {
        report_withdraw(r, mark, why, sizeof why);
        report_note(r, "the CPU cannot be used: %s", why);
        choose_failed(&s->front->chooser, 0);
    }
    return code;
}

static shoal_code pilot(void *user, uint32_t rows, struct choose_pilot *out) {
    shoal_solver *s = user, *cpu = NULL;
    struct front *f = s->front;
    uint64_t begin = clock_ns();
    shoal_code code = pilot_child(s, &cpu);
    if (code != SHOAL_OK)
        return code;
    int32_t span = log_begin(f->log, LOG_pilot_run);
    code = pilot_run(cpu->plan, &cpu->runner, f->batch->batch, rows, out, &f->kept);
    f->kept_by = 0;
    log_u64(f->log, span, "runs", out->rows);
    log_u64(f->log, span, "kept", f->kept ? f->kept->rows : 0);
    log_f64(f->log, span, "spread", out->spread);
    log_end(f->log, span);
    out->took = (double)(clock_ns() - begin) * 1e-9;
    for (uint32_t i = 1; cpu->runner.kernel[PLAN_STIFF].kernel && i < f->chooser.machine.count; i++)
        if (!f->child[i] && !f->chooser.failed[i])
            look_for_stiff(s, i);
    return code;
}

// ---- Side by side -------------------------------------------------------------------------------

static void begin_compile(void *user, uint32_t row) {
    shoal_solver *s = user;
    early_begin(s, row, options_of(s, row));
}

// One that is wanted is waited for by whoever needs it.
static void settle(void *user, bool wanted) {
    shoal_solver *s = user;
    if (!wanted)
        early_stop(s->front->early);
}

static bool is_ready(void *user) {
    const shoal_solver *s = user;
    return s->front->early && early_is_ready(s->front->early);
}

// A device may round divisions of f32 as it likes, unless its driver can be told not to.
static bool is_target_free(void *user, uint32_t row) {
    shoal_solver *s = user, *cpu = NULL;
    char word[KNOWN_TARGET];
    bool rounds = !s->plan->kernel[PLAN_FIRST].f32 ||
                  known_target(s->front->chooser.machine.known[row], word);
    return rounds && child_of(s, 0, &cpu, s->front->log) == SHOAL_OK &&
           cpu->runner.kernel[PLAN_FIRST].target_free;
}

// A device that cannot be used, or does not take the kernel, leaves the batch to the CPU.
static shoal_code without(shoal_solver *s, uint32_t row, uint64_t mark, shoal_log *log) {
    char why[256];
    if (s->given.no_fallback || !row)
        return SHOAL_DEVICE;
    report_withdraw(log_report(log), mark, why, sizeof why);
    report_warning(log_report(log), "%s cannot be used, so the CPU is: %s",
                   s->front->chooser.table.row[row].device.name, why);
    choose_failed(&s->front->chooser, row);
    return SHOAL_OK;
}

// ---- A trial -----------------------------------------------------------------------------------

static void drop_kept(struct front *f) {
    kept_free(f->kept);
    f->kept = NULL;
}

// Who takes part: the CPU and a device. One that cannot be used leaves nothing to try, which is no
// error; false: there is nothing to try.
static bool open_sides(shoal_solver *s, uint32_t row, struct trial_side side[2], shoal_code *code) {
    shoal_solver *cpu = NULL, *other = NULL;
    struct front *f = s->front;
    uint64_t mark = report_mark(log_report(f->log));
    *code = pilot_child(s, &cpu);
    if (*code == SHOAL_OK)
        *code = child_of(s, row, &other, f->log);
    bool failed = *code == SHOAL_DEVICE || *code == SHOAL_MEMORY;
    if (failed)
        *code = cpu ? without(s, row, mark, f->log) : SHOAL_OK;
    if (failed || *code != SHOAL_OK)
        return false;
    side[0] = (struct trial_side){cpu->plan, &cpu->runner};
    side[1] = (struct trial_side){other->plan, &other->runner};
    return true;
}

// The first rows of the batch on the CPU; the same on the device, or, where both are to be kept,
// those that follow.
static shoal_code try_sides(shoal_solver *s, const struct trial_side side[2], uint64_t rows,
                            bool is_free, struct kept *kept[2], struct trial_time time[2]) {
    const struct dispatch_control control = {.stop = {&s->stop, s->given.stop}};
    const struct batch *b = s->front->batch->batch;
    shoal_code code = trial_run(&side[0], b, 0, rows, &control, &kept[0], &time[0]);
    struct kept **to = is_free ? &kept[0] : &kept[1];
    if (code == SHOAL_OK)
        code = trial_run(&side[1], b, is_free && kept[0] ? rows : 0, rows, &control, to, &time[1]);
    return code;
}

// Rows that are not the same differ in their work, which evaluations tell.
static void judge(const struct trial_time time[2], struct choose_trial *out) {
    out->now = clock_unix_ns();
    out->cpu = time[0].seconds;
    bool counted = time[0].evals > 0 && time[1].evals > 0;
    out->other = time[1].seconds * (counted ? time[0].evals / time[1].evals : 1);
}

static void keep_faster(struct front *f, uint32_t row, bool is_free, struct kept *kept[2],
                        const struct choose_trial *t) {
    bool is_other = t->other < t->cpu;
    drop_kept(f); // a pilot's
    f->kept = kept[is_other && !is_free];
    f->kept_by = is_other ? row : 0;
    kept_free(kept[!(is_other && !is_free)]);
}

// What fails here is left to the run, which says what is wrong.
static shoal_code trial(void *user, uint32_t row, uint64_t rows, struct choose_trial *out) {
    shoal_solver *s = user;
    struct front *f = s->front;
    struct trial_side side[2];
    struct trial_time time[2] = {{0}};
    struct kept *kept[2] = {NULL, NULL};
    shoal_code code = SHOAL_OK;
    if (s->plan->list.of.kind == SAMPLES_OWN)
        return SHOAL_OK;
    int32_t span = log_begin(f->log, LOG_trial_run);
    bool open = open_sides(s, row, side, &code), is_free = open && is_target_free(s, row);
    bool ran = open && try_sides(s, side, rows, is_free, kept, time) == SHOAL_OK;
    if (ran && time[0].seconds > 0 && time[1].seconds > 0) {
        judge(time, out);
        keep_faster(f, row, is_free, kept, out);
    } else {
        kept_free(kept[0]);
        kept_free(kept[1]);
    }
    log_u64(f->log, span, "runs", rows);
    log_u64(f->log, span, "kept", out->cpu > 0 && f->kept ? f->kept->rows : 0);
    log_end(f->log, span);
    return code;
}

static const struct choose_engine measuring = {.look = look,
                                               .pilot = pilot,
                                               .begin_compile = begin_compile,
                                               .settle = settle,
                                               .is_ready = is_ready,
                                               .is_target_free = is_target_free,
                                               .trial = trial},
                                  planning = {.look = look};

// ---- A batch ------------------------------------------------------------------------------------

static shoal_code choose(shoal_solver *s, const shoal_batch *batch, uint32_t *row, shoal_log *log) {
    struct front *f = s->front;
    struct choose_request q = learn_request(s, batch->batch);
    q.engine = s->plans ? &planning : &measuring;
    q.user = s;
    f->batch = batch;
    f->log = log;
    int32_t span = learn_begin_choice(log);
    shoal_code code = choose_device(&f->chooser, &q, row);
    learn_end_choice(log, span, f->chooser.table.row[*row].device.name, f->chooser.reason);
    return code;
}

// The solver of the row; where the CPU begins meanwhile, that one, and the other is made ready.
static shoal_code worker_of(shoal_solver *s, uint32_t *row, shoal_solver **out, shoal_log *log) {
    struct front *f = s->front;
    f->next = f->chooser.meanwhile ? *row : 0;
    if (f->next && !f->child[*row] && !f->early)
        early_begin(s, *row, options_of(s, *row));
    if (f->next && f->early && early_row(f->early) == f->next)
        *row = 0;
    else
        f->next = 0;
    return child_of(s, *row, out, log);
}

// What earlier batches left: rows of a pilot, and a device that is ready now.
static shoal_code settle_past(shoal_solver *s, shoal_log *log) {
    struct front *f = s->front;
    shoal_solver *child;
    drop_kept(f);
    if (f->early && early_is_ready(f->early))
        return child_of(s, early_row(f->early), &child, log);
    if (f->early && early_is_done(f->early))
        early_end(f);
    return SHOAL_OK;
}

shoal_code front_worker(shoal_solver *s, const shoal_batch *batch, shoal_solver **out,
                        shoal_log *log) {
    uint32_t row = 0;
    uint64_t mark = report_mark(log_report(log));
    struct front *f = s->front;
    shoal_code code = settle_past(s, log);
    if (code == SHOAL_OK)
        code = choose(s, batch, &row, log);
    if (code == SHOAL_OK)
        code = worker_of(s, &row, out, log);
    if (row && (code == SHOAL_DEVICE || code == SHOAL_MEMORY) &&
        without(s, row, mark, log) == SHOAL_OK)
        code = child_of(s, row = 0, out, log);
    if (row != f->kept_by)
        drop_kept(f);
    if (code != SHOAL_OK)
        early_stop(f->early);
    else
        f->shown = row;
    return code;
}

bool front_is_relieved(shoal_solver *s, uint64_t rows, double seconds) {
    struct front *f = s->front;
    if (!f->next || !f->early || !early_is_ready(f->early))
        return false;
    struct choose_request q = learn_request(s, f->batch->batch);
    q.rows = rows;
    return choose_is_faster(&f->chooser, &q, f->next, seconds);
}

shoal_code front_relief(shoal_solver *s, shoal_solver **out, shoal_log *log) {
    struct front *f = s->front;
    uint32_t row = f->next;
    f->next = 0;
    shoal_code code = child_of(s, row, out, log);
    if (code == SHOAL_OK)
        f->shown = row;
    return code;
}

shoal_code front_make_all(shoal_solver *s, shoal_log *log) {
    struct front *f = s->front;
    shoal_solver *child;
    drop_kept(f); // of the batch that the device was chosen for
    f->next = 0;
    if (f->chooser.machine.count > 1 && !f->child[1])
        early_begin(s, 1, options_of(s, 1));
    for (uint32_t i = 0; i < f->chooser.machine.count; i++) {
        uint64_t mark = report_mark(log_report(log));
        shoal_code code = f->chooser.failed[i] ? SHOAL_OK : child_of(s, i, &child, log);
        if (i && (code == SHOAL_DEVICE || code == SHOAL_MEMORY))
            code = without(s, i, mark, log);
        if (code != SHOAL_OK) {
            early_stop(f->early);
            return code;
        }
    }
    return SHOAL_OK;
}

static uint32_t row_of(const struct front *f, const shoal_solver *worker) {
    uint32_t row = 0;
    while (row < f->chooser.machine.count && f->child[row] != worker)
        row++;
    return row;
}

uint32_t front_row(const shoal_solver *s, const shoal_solver *worker) {
    return row_of(s->front, worker);
}

void front_lost(shoal_solver *s, const shoal_solver *worker) {
    choose_failed(&s->front->chooser, row_of(s->front, worker));
}
