// SPDX-License-Identifier: MIT
// From runs to the tune file and back.
#include "api/learn.h"

#include "api/front.h"
#include "base/clock.h"
#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LOG_LABEL(choose_device, RUNTIME, 12, "which device gets the batch");
LOG_LABEL(tune_store, RUNTIME, 120, "what was measured, into its file");

static const int64_t save_ns = (int64_t)5 * 1000000000; // not more often

struct learner {
    struct chooser chooser;
    uint32_t
        row; // of the solver's device; the machine's count: there is none, and nothing to learn
};

// ---- The file -----------------------------------------------------------------------------------

void learn_class(struct chooser *c, const shoal_solver *s) {
    pilot_class(s->plan, c->class);
    c->cpu = (struct machine_cpu){.threads = s->plan->threads, .lanes = pilot_lanes(s->plan)};
}

void learn_open(struct chooser *c, const char *place) {
    struct cache *cache = cache_open(place);
    snprintf(c->place, sizeof c->place, "%s", place ? place : "");
    if (cache)
        tune_load(&c->tune, cache, c->machine.digest, clock_unix_ns());
    cache_close(cache);
}

void learn_begin(struct chooser *c, const shoal_solver *s) {
    learn_open(c, s->given.cache);
    learn_class(c, s);
    choose_begin(c);
}

void learn_save(struct chooser *c) {
    struct cache *cache =
        tune_is_changed(&c->tune) ? cache_open(c->place[0] ? c->place : NULL) : NULL;
    c->saved_ns = clock_unix_ns();
    if (cache)
        tune_save(&c->tune, cache, c->machine.digest, c->saved_ns);
    cache_close(cache);
}

static void save_now_and_then(struct chooser *c, shoal_log *log) {
    if (!tune_is_changed(&c->tune) || clock_unix_ns() - c->saved_ns < save_ns)
        return;
    int32_t span = log_begin(log, LOG_tune_store);
    learn_save(c);
    log_end(log, span);
}

// ---- Around a choice ----------------------------------------------------------------------------

int32_t learn_begin_choice(shoal_log *log) { return log_begin(log, LOG_choose_device); }

void learn_end_choice(shoal_log *log, int32_t span, const char *device, const char *reason) {
    log_text(log, span, "device", device);
    log_text(log, span, "reason", reason);
    log_end(log, span);
}

// ---- Who learns ---------------------------------------------------------------------------------

void learner_free(struct learner *l) {
    if (l)
        learn_save(&l->chooser);
    free(l);
}

// The row of a machine that a device is; its count: none.
static uint32_t row_of(const struct machine *m, const shoal_solver *s) {
    uint32_t row = strcmp(s->backend->name, "cpu") ? 1 : 0;
    while (row && row < m->count &&
           (m->known[row]->backend != s->backend || m->known[row]->index != s->device_index))
        row++;
    return row;
}

// Made when it is first needed; NULL: there is none.
static struct learner *learner_of(shoal_solver *s) {
    bool cpu = !strcmp(s->backend->name, "cpu");
    if (s->learner || (cpu && !device_is_free(s->given.device)))
        return s->learner;
    struct learner *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    machine_find(&l->chooser.machine, NULL);
    l->row = row_of(&l->chooser.machine, s);
    if (l->row < l->chooser.machine.count)
        learn_begin(&l->chooser, s);
    return s->learner = l;
}

static struct chooser *chooser_of(shoal_solver *s, uint32_t *row) {
    if (s->owner && s->owner->front) {
        *row = front_row(s->owner, s);
        return &s->owner->front->chooser;
    }
    struct learner *l = learner_of(s);
    *row = l ? l->row : 0;
    return l && l->row < l->chooser.machine.count ? &l->chooser : NULL;
}

struct choose_request learn_request(const shoal_solver *s, const struct batch *b) {
    struct choose_request q = {.rows = batch_rows(b),
                               .threshold = s->given.threshold,
                               .reuses = s->given.reuses ? s->given.reuses : 1,
                               .noun = "runs"};
    pilot_bytes(s->plan, b, &s->plan->list, &q.in_bytes, &q.out_bytes);
    return q;
}

// ---- Kernels ------------------------------------------------------------------------------------

static void put_time(double *to, double seconds) { *to = seconds > 0 ? seconds : *to; }

static bool is_near(double a, double b) { return fabs(a - b) <= 0.2 * b || a == b; }

// A file that says the same already is not written again.
static void note_kernel(struct chooser *c, const struct learn_times *t, int64_t now) {
    const struct tune_kernel *known = tune_kernel(&c->tune, t->key);
    struct tune_kernel new = known ? *known : (struct tune_kernel){0};
    put_time(&new.compile, t->compile);
    put_time(&new.load, t->load);
    put_time(&new.first, t->launch);
    put_time(&new.typical, t->typical);
    if (known && is_near(new.compile, known->compile) && is_near(new.load, known->load) &&
        is_near(new.first, known->first) && is_near(new.typical, known->typical))
        return;
    struct tune_kernel *to = tune_note(&c->tune, t->key, now);
    to->compile = new.compile;
    to->load = new.load;
    to->first = new.first;
    to->typical = new.typical;
}

// What the start of a device took, once in a process; and that of a kernel from the cache.
static void note_device(struct chooser *c, const struct learn_times *t, uint32_t row, int64_t now) {
    const char *device = c->table.row[row].device.name;
    char name[TUNE_NAME];
    if (!row)
        return;
    if (t->opened > 0) {
        machine_point(device, MACHINE_START, NULL, name);
        tune_learn(&c->tune, name, t->opened, now);
    }
    if (t->load > 0) {
        machine_point(device, MACHINE_LOAD, NULL, name);
        tune_learn(&c->tune, name, t->load, now);
    }
}

void learn_times(struct chooser *c, const struct choose_request *q, uint32_t row,
                 const struct learn_times *t, shoal_log *log) {
    int64_t now = clock_unix_ns();
    choose_loaded(c, row, t->key);
    choose_learn(c, q, row, t->seconds, t->first, now);
    note_kernel(c, t, now);
    if (t->first)
        note_device(c, t, row, now);
    save_now_and_then(c, log);
}

void learn_ready(shoal_solver *worker) {
    uint32_t row;
    struct chooser *c = chooser_of(worker, &row);
    if (c)
        c->saved_ns = clock_unix_ns();
}

void learn_from(shoal_solver *worker, const struct batch *b, double seconds, bool first,
                shoal_log *log) {
    uint32_t row = 0;
    const struct loaded *k = &worker->runner.kernel[PLAN_FIRST];
    struct chooser *c = chooser_of(worker, &row);
    if (!c || !batch_rows(b) || runner_is_hurried(&worker->runner))
        return;
    struct choose_request q = learn_request(worker, b);
    learn_times(c, &q, row,
                &(struct learn_times){.key = k->key,
                                      .seconds = seconds,
                                      .compile = k->compile_s,
                                      .load = k->load_s,
                                      .launch = worker->runner.first_s,
                                      .typical = worker->runner.typical_s,
                                      .opened = worker->opened_s,
                                      .first = first},
                log);
}

// ---- A run to come ------------------------------------------------------------------------------

double learn_estimate(shoal_solver *worker, const struct batch *b) {
    uint32_t row = 0;
    struct chooser *c = chooser_of(worker, &row);
    if (!c)
        return (double)NAN;
    const struct loaded *k = &worker->runner.kernel[PLAN_FIRST];
    struct choose_request q = learn_request(worker, b);
    snprintf(c->key[row], KEY_HEX, "%s", k->key);
    c->table.row[row].kernel.cached = k->cached;
    return choose_predict(c, &q, row);
}
