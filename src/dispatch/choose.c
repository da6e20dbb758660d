// SPDX-License-Identifier: MIT
// From what is known to a choice: first what needs no measurement, then the pilot, then the model.
#include "dispatch/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pilot_seconds = 20e-3; // at most
static const double pilot_share = 0.05;    // of what the batch takes, where the pilot is not needed
// Times more or less work than the tune file says of a kernel, which runs with any tolerance: one
// of a thousandth takes a method of fifth order 1000^(1/5) times the steps.
static const double doubt = 4;
// Of a row, where none is known and one must be named: a Lorenz run of bench-dispatch, about. And
// of one that few exceed: twenty Hodgkin-Huxley runs.
static const double some_work = 1e-5, much_work = 1e-3;

// The CPU's compiler is two processes, and that of a device a thread. Beside a batch of the CPU a
// device starts with two threads, for its context and for its compiler: less than as many for the
// batch are not worth a change of devices.
enum { CORES_TO_COMPILE = 3, CORES_TO_SHARE = 4 };
static const double short_wait = 20e-3; // for a device, that nobody fills: that of a pilot
// A device that is later than was predicted takes as much longer, in parts of what it took so far:
// starts and compilers of one kernel on one machine differ by that (measurements.md, HIRES cold).
static const double late_share = 0.2;

// A trial: both devices run some rows where that is a small share of the batch, and where what is
// known, of few batches, says that they are about as fast.
static const double trial_gain = 1.3, trial_share = 0.05, trial_bytes = 8 << 20;
enum { TRIAL_SAMPLES = 10 };

void choose_begin(struct chooser *c) {
    machine_costs(&c->machine, &c->cpu, &c->tune, c->class, &c->table);
    memset(c->key, 0, sizeof c->key);
    c->last = COST_NONE;
    c->work = c->spread = 0;
    c->piloted = false;
    for (uint32_t i = 0; i < c->machine.count; i++)
        if (c->failed[i])
            choose_failed(c, i);
}

void choose_loaded(struct chooser *c, uint32_t row, const char *key) {
    struct cost_kernel *k = &c->table.row[row].kernel;
    k->open = k->loaded = k->cached = true;
    k->missed = 0; // it is paid
    snprintf(c->key[row], KEY_HEX, "%s", key);
}

void choose_failed(struct chooser *c, uint32_t row) {
    c->failed[row] = true;
    c->table.row[row].device.launch = (double)INFINITY;
}

// ---- Parts --------------------------------------------------------------------------------------

static double units_of(const struct choose_request *q) { return q->units > 0 ? q->units : 1; }

static struct cost_job job_of(const struct chooser *c, const struct choose_request *q) {
    return (struct cost_job){.rows = q->rows,
                             .in_bytes = q->in_bytes,
                             .out_bytes = q->out_bytes,
                             .work = c->work > 0 ? c->work * units_of(q) : some_work,
                             .spread = c->spread > 1 ? c->spread : 1,
                             .reuses = q->reuses,
                             .noun = q->noun};
}

static const struct tune_kernel *kernel_of(const struct chooser *c, uint32_t row) {
    return c->key[row][0] ? tune_kernel(&c->tune, c->key[row]) : NULL;
}

// What the tune file knows of a kernel that is to run on some row.
static bool recall(struct chooser *c) {
    for (uint32_t i = 0; i < c->table.count; i++) {
        const struct tune_kernel *k = kernel_of(c, i);
        if (k && k->work > 0) {
            c->work = k->work;
            c->spread = k->spread;
            return true;
        }
    }
    return false;
}

double choose_predict(struct chooser *c, const struct choose_request *q, uint32_t row) {
    bool known = c->work > 0 || recall(c);
    struct cost_job j = job_of(c, q);
    return known ? cost_now(&c->table.row[row], &j) : (double)NAN;
}

bool choose_is_faster(const struct chooser *c, const struct choose_request *q, uint32_t row,
                      double seconds) {
    struct cost_job j = job_of(c, q);
    j.work = cost_work(&c->table.row[0].device, &j, seconds);
    return cost_warm(&c->table.row[row], &j) < seconds;
}

uint64_t choose_break_even(const struct chooser *c, const struct choose_request *q) {
    struct cost_job j = job_of(c, q);
    uint64_t least = 0;
    for (uint32_t i = 1; i < c->table.count && c->work > 0; i++) {
        uint64_t n =
            c->failed[i] ? 0 : cost_break_even(&c->table.row[0], &c->table.row[i], &j, true);
        least = n && (!least || n < least) ? n : least;
    }
    return least;
}

static uint32_t best_other(const struct chooser *c, const struct cost_job *j) {
    uint32_t best = 1;
    for (uint32_t i = 2; i < c->table.count; i++)
        if (cost_now(&c->table.row[i], j) < cost_now(&c->table.row[best], j))
            best = i;
    return best;
}

static bool has_other(const struct chooser *c) {
    for (uint32_t i = 1; i < c->table.count; i++)
        if (!c->failed[i])
            return true;
    return false;
}

// CPU and another device had such batches.
static bool are_seen(const struct chooser *c, const struct cost_job *j) {
    return cost_is_seen(&c->table.row[0], j) && cost_is_seen(&c->table.row[best_other(c, j)], j);
}

// At best every kernel is in the cache.
static bool is_plain(const struct chooser *c, const struct cost_job *j) {
    struct cost_table t = c->table;
    if (are_seen(c, j))
        return false;
    for (uint32_t i = 0; i < t.count; i++)
        t.row[i].kernel.cached = true;
    return cost_is_plain(&t, j);
}

static shoal_code look(struct chooser *c, const struct choose_request *q) {
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < c->table.count && code == SHOAL_OK; i++)
        if (!c->key[i][0] && !c->failed[i])
            code = q->engine->look(q->user, i, &c->table.row[i].kernel, c->key[i]);
    return code;
}

// ---- The work of a row --------------------------------------------------------------------------

// Whether the choice would be the same with much more or much less work.
static bool is_clear(const struct chooser *c, const struct cost_job *j) {
    struct cost_job less = *j, more = *j;
    if (are_seen(c, j))
        return true;
    less.work /= doubt;
    more.work *= doubt;
    return cost_choose(&c->table, &less, c->last) == cost_choose(&c->table, &more, c->last);
}

static double pilot_cost(const struct chooser *c, const struct cost_job *j) {
    const struct cost_row *cpu = &c->table.row[0];
    double rows = j->work * cpu->device.lane * j->spread;
    double kernel = cpu->kernel.loaded   ? 0
                    : cpu->kernel.cached ? cpu->device.load
                                         : cpu->kernel.compile;
    return kernel + (rows < pilot_seconds ? rows : pilot_seconds);
}

static uint32_t pilot_rows(uint64_t rows) {
    uint64_t part = rows / CHOOSE_PILOT_PART;
    return part < 1 ? 1 : part > CHOOSE_PILOT_MOST ? CHOOSE_PILOT_MOST : (uint32_t)part;
}

// Both kernels have to be compiled: they are, side by side.
static bool is_double_miss(const struct chooser *c, uint32_t other) {
    return !c->table.row[0].kernel.cached && !c->table.row[other].kernel.cached;
}

// Whether a device is made ready before it is known to be needed. Where it could only win with rows
// of more work than almost any has, or where there is no core for it, that is time lost for the
// CPU.
static bool compiles_beside(const struct chooser *c, const struct choose_request *q,
                            uint32_t other) {
    struct cost_job j = job_of(c, q);
    return q->engine->begin_compile && !c->failed[other] && is_double_miss(c, other) &&
           c->machine.cpus >= CORES_TO_COMPILE &&
           cost_even_work(&c->table.row[0], &c->table.row[other], &j) < much_work;
}

// A pilot that fails is none: whoever runs the batch says what is wrong. Returns what it took.
static double measure(struct chooser *c, const struct choose_request *q) {
    struct choose_pilot p = {0};
    struct cost_job j = job_of(c, q);
    c->piloted = true;
    if (q->engine->pilot(q->user, pilot_rows(q->rows), &p) != SHOAL_OK || !p.rows)
        return p.took;
    j.rows = p.rows;
    c->spread = j.spread = p.spread > 1 ? p.spread : 1;
    c->work = cost_work(&c->table.row[0].device, &j, p.seconds) / units_of(q);
    return p.took;
}

// Where nothing is known a pilot is worth its price; where something is, only if the choice depends
// on it and it takes little of the time.
static bool needs_pilot(const struct chooser *c, const struct choose_request *q, bool known) {
    struct cost_job j = job_of(c, q);
    if (c->piloted || !q->engine->pilot)
        return false;
    if (!known)
        return true;
    double best = cost_now(&c->table.row[cost_choose(&c->table, &j, c->last)], &j);
    return !is_clear(c, &j) && pilot_cost(c, &j) <= pilot_share * best;
}

// A device was made ready for so many seconds: what is left of its price. One that is late is no
// more about to be ready than any other.
static double still_to_pay(const struct cost_row *d, const struct cost_job *j, double took,
                           bool ready) {
    double left = cost_price(d, j) - d->kernel.missed - took;
    double least = late_share * took / (j->reuses >= 1 ? j->reuses : 1);
    return ready ? 0 : left > least ? left : least;
}

// The pilot, while a device is made ready. Of its price what was paid meanwhile does not count.
static void measure_beside(struct chooser *c, const struct choose_request *q, uint32_t other) {
    struct cost_row *d = &c->table.row[other];
    double before = d->kernel.missed;
    q->engine->begin_compile(q->user, other);
    double took = measure(c, q);
    struct cost_job j = job_of(c, q);
    d->kernel.missed = cost_price(d, &j) - still_to_pay(d, &j, took, q->engine->is_ready(q->user));
    bool wanted = cost_choose(&c->table, &j, c->last) == other;
    if (!wanted && d->kernel.missed > before) // what was done for it is lost
        d->kernel.missed = before;
    q->engine->settle(q->user, wanted);
}

static void find_work(struct chooser *c, const struct choose_request *q) {
    bool known = c->work > 0 || recall(c);
    struct cost_job j = job_of(c, q);
    uint32_t other = best_other(c, &j);
    if (!needs_pilot(c, q, known))
        return;
    if (compiles_beside(c, q, other))
        measure_beside(c, q, other);
    else
        measure(c, q);
}

// ---- What rows tell -----------------------------------------------------------------------------

static double mixed(double old, double new) { return old > 0 ? (old + new) / 2 : new; }

// Of a device that is far from full a batch tells how fast a row is; of one that is, how fast all
// of them are.
static void learn_device(struct chooser *c, const struct cost_job *j, uint32_t row, double seconds,
                         int64_t now) {
    struct cost_device *d = &c->table.row[row].device;
    double slower = cost_work(d, j, seconds) / j->work; // than predicted
    double fill = (double)j->rows / d->at_once / j->spread, full = d->lane / d->at_once;
    char name[TUNE_NAME];
    if (fill > 0.5 && fill < 2)
        return;
    machine_point(d->name, fill < 1 ? MACHINE_LANE : MACHINE_FULL, c->class, name);
    tune_learn(&c->tune, name, (fill < 1 ? d->lane : full) * slower, now);
    double *learned = fill < 1 ? &d->lane : &full;
    *learned = tune_mean(&c->tune, name, *learned);
    d->at_once = d->lane / full;
}

// What is known already is not written again.
static void note_work(struct chooser *c, uint32_t row, int64_t now) {
    const struct tune_kernel *known = kernel_of(c, row);
    bool same = known && fabs(known->work - c->work) <= 0.2 * c->work &&
                (!row || known->batches >= TRIAL_SAMPLES);
    if (same || !c->key[row][0] || !(c->work > 0))
        return;
    struct tune_kernel *k = tune_note(&c->tune, c->key[row], now);
    k->work = c->work;
    k->spread = c->spread > 1 ? c->spread : 1;
    k->batches += k->batches < TRIAL_SAMPLES;
}

// Rows that ran, by themselves or as a whole batch.
static void learn_rows(struct chooser *c, const struct choose_request *q, uint32_t row,
                       double seconds, bool first, int64_t now) {
    struct cost_job j = job_of(c, q);
    if (row == 0)
        c->work = mixed(c->work, cost_work(&c->table.row[0].device, &j, seconds) / units_of(q));
    else if (!first && c->work > 0)
        learn_device(c, &j, row, seconds, now);
    if (!first) {
        j = job_of(c, q);
        cost_see(&c->table, row, &j, seconds);
    }
    note_work(c, row, now);
}

// ---- A trial ------------------------------------------------------------------------------------

// Batches that told of the device; the fewer there were, the less is its prediction worth.
static uint32_t samples_of(const struct chooser *c, uint32_t row) {
    const struct tune_kernel *k = kernel_of(c, row);
    return k ? k->batches : 0;
}

// How many rows CPU and device are to run to see which one is faster; 0: that is clear, or would
// cost too much.
static uint64_t trial_rows(const struct chooser *c, const struct choose_request *q,
                           uint32_t other) {
    const struct cost_row *cpu = &c->table.row[0], *d = &c->table.row[other];
    struct cost_job j = job_of(c, q);
    double a = cost_now(cpu, &j), b = cost_now(d, &j);
    if (!q->engine->trial || c->failed[0] || c->failed[other] || !(c->work > 0) ||
        a >= trial_gain * b || b >= trial_gain * a || samples_of(c, other) >= TRIAL_SAMPLES ||
        are_seen(c, &j))
        return 0;
    uint64_t rows = cost_trial(cpu, d, &j, trial_share);
    double room = trial_bytes / (q->out_bytes > 1 ? q->out_bytes : 1);
    return (double)rows > room ? (uint64_t)room : rows;
}

// The row that was faster; `row` where there was no trial, or it told nothing.
static shoal_code try_both(struct chooser *c, const struct choose_request *q, uint32_t *row,
                           uint64_t *tried) {
    struct cost_job j = job_of(c, q);
    uint32_t other = *row ? *row : best_other(c, &j);
    struct choose_request some = *q;
    struct choose_trial t = {0};
    *tried = 0;
    some.rows = trial_rows(c, q, other);
    if (!some.rows)
        return SHOAL_OK;
    shoal_code code = q->engine->trial(q->user, other, some.rows, &t);
    if (code != SHOAL_OK)
        return code;
    if (!(t.cpu > 0) || !(t.other > 0)) { // one that cannot be used is none to choose
        *row = cost_choose(&c->table, &j, c->last);
        return SHOAL_OK;
    }
    learn_rows(c, &some, 0, t.cpu, false, t.now);
    learn_rows(c, &some, other, t.other, false, t.now);
    *row = t.other < t.cpu ? other : 0;
    *tried = some.rows;
    return SHOAL_OK;
}

// ---- The choice ---------------------------------------------------------------------------------

void choose_reason(const struct choose_request *q, const char *device, const char *why,
                   char reason[COST_REASON]) {
    char name[COST_NAME], rows[COST_NAME];
    cost_name(device, name);
    cost_count(q->rows, rows);
    snprintf(reason, COST_REASON, "%s: %s %s, %s", name, rows, q->noun, why);
}

static shoal_code say(struct chooser *c, const struct choose_request *q, uint32_t row,
                      const char *why) {
    choose_reason(q, c->table.row[row].device.name, why, c->reason);
    return SHOAL_OK;
}

bool choose_few(const struct choose_request *q, char reason[COST_REASON]) {
    char n[COST_NAME], why[2 * COST_NAME] = "which are too few for any other device";
    if (q->rows >= (q->threshold ? q->threshold : CHOOSE_CPU_MOST + 1))
        return false;
    cost_count(q->threshold, n);
    if (q->threshold)
        snprintf(why, sizeof why, "fewer than the threshold, %s", n);
    choose_reason(q, "cpu", why, reason);
    return true;
}

static shoal_code by_threshold(struct chooser *c, const struct choose_request *q, uint32_t *row) {
    struct cost_job j = job_of(c, q);
    char n[COST_NAME], why[2 * COST_NAME];
    cost_count(q->threshold, n);
    snprintf(why, sizeof why, "not fewer than the threshold, %s", n);
    *row = best_other(c, &j);
    return say(c, q, *row, why);
}

// In `wait` the CPU does what would take the device warm / cpu of it, and the device is ready in
// the middle of a chunk of the CPU. This is also what a compiler that takes longer than predicted
// costs least: the CPU just goes on.
static bool gains_meanwhile(double wait, double warm, double cpu) {
    return wait > short_wait && wait * warm / cpu > cpu / CHOOSE_RELIEF;
}

// While a device is made ready that has the same bits the CPU does what it can of the batch.
static bool begins_meanwhile(const struct chooser *c, const struct choose_request *q,
                             uint32_t row) {
    const struct cost_row *d = &c->table.row[row], *cpu = &c->table.row[0];
    struct cost_job j = job_of(c, q);
    double warm = cost_warm(d, &j);
    return row && !d->kernel.loaded && cpu->kernel.cached && !c->failed[0] && c->work > 0 &&
           c->machine.cpus >= CORES_TO_SHARE &&
           gains_meanwhile(cost_now(d, &j) - warm, warm, cost_warm(cpu, &j)) &&
           q->engine->is_target_free && q->engine->is_target_free(q->user, row);
}

static void explain(struct chooser *c, const struct choose_request *q, uint32_t row,
                    uint64_t tried) {
    struct cost_job j = job_of(c, q);
    char n[COST_NAME];
    if (!(c->work > 0)) {
        say(c, q, row, "and nobody knows yet what each of them takes");
        return;
    }
    cost_reason(&c->table, &j, row, c->reason);
    size_t at = strlen(c->reason);
    cost_count(tried, n);
    if (tried)
        snprintf(c->reason + at, COST_REASON - at, ", by a trial of %s %s", n, q->noun);
}

shoal_code choose_device(struct chooser *c, const struct choose_request *q, uint32_t *row) {
    struct cost_job j = job_of(c, q);
    *row = 0;
    c->meanwhile = false;
    if (!has_other(c))
        return say(c, q, 0, "and there is no other device");
    if (choose_few(q, c->reason))
        return SHOAL_OK;
    if (q->threshold)
        return by_threshold(c, q, row);
    if (is_plain(c, &j))
        return say(c, q, 0, "which are too few for any other device, whatever each takes");
    shoal_code code = look(c, q);
    if (code != SHOAL_OK)
        return code;
    find_work(c, q);
    j = job_of(c, q);
    *row = cost_choose(&c->table, &j, c->last);
    uint64_t tried;
    code = try_both(c, q, row, &tried);
    if (code != SHOAL_OK)
        return code;
    explain(c, q, *row, tried);
    c->meanwhile = begins_meanwhile(c, q, *row);
    return SHOAL_OK;
}

// ---- After the run ------------------------------------------------------------------------------

void choose_learn(struct chooser *c, const struct choose_request *q, uint32_t row, double seconds,
                  bool first, int64_t now) {
    c->last = (int)row;
    learn_rows(c, q, row, seconds, first, now);
    struct cost_job j = job_of(c, q);
    if (row == 0)
        cost_miss(&c->table, &j);
}
