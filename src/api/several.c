// SPDX-License-Identifier: MIT
// See several.h.
#include "api/several.h"

#include "base/thread.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- Names --------------------------------------------------------------------------------------

bool several_is(const char *device) {
    return device && (strpbrk(device, ",+") || strstr(device, ":all"));
}

static shoal_code too_many(struct report *r) {
    return report_error(r, SHOAL_INPUT, "--device: more than %d devices", SEVERAL_MOST);
}

struct names {
    char (*name)[SEVERAL_NAME];
    uint32_t count;
};

static shoal_code add_name(struct names *n, const char *kind, size_t kind_length, const char *index,
                           size_t index_length, struct report *r) {
    if (n->count > SEVERAL_MOST)
        return too_many(r);
    int length = snprintf(n->name[n->count], SEVERAL_NAME, "%.*s%s%.*s", (int)kind_length, kind,
                          index_length ? ":" : "", (int)index_length, index);
    if (length < 1 || length >= SEVERAL_NAME)
        return report_error(r, SHOAL_INPUT, "--device: '%.*s' is no device", (int)kind_length,
                            kind);
    n->count++;
    return SHOAL_OK;
}

// All that there are of a kind.
static shoal_code add_all(struct names *n, const char *kind, size_t length, struct report *r) {
    uint32_t all = shoal_device_count(), before = n->count;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < all && code == SHOAL_OK; i++) {
        shoal_device_info d = shoal_device_at(i);
        if (d.usable && !strncmp(d.name, kind, length) && d.name[length] == ':')
            code = add_name(n, d.name, strlen(d.name), "", 0, r);
    }
    if (code == SHOAL_OK && n->count == before)
        code = report_error(r, SHOAL_DEVICE, "--device: there is no %.*s here", (int)length, kind);
    return code;
}

// KIND, KIND:I,J,... or KIND:all, of `length` bytes.
static shoal_code add_kind(struct names *n, const char *text, size_t length, struct report *r) {
    size_t kind = strcspn(text, ":");
    if (kind >= length)
        return add_name(n, text, length, "", 0, r);
    const char *at = text + kind + 1, *end = text + length;
    if (end - at == 3 && !strncmp(at, "all", 3))
        return add_all(n, text, kind, r);
    shoal_code code = SHOAL_OK;
    while (code == SHOAL_OK) {
        size_t digits = strcspn(at, ",");
        digits = digits < (size_t)(end - at) ? digits : (size_t)(end - at);
        if (!digits || strspn(at, "0123456789") < digits)
            return report_error(r, SHOAL_INPUT, "--device: '%.*s' is not a list of devices",
                                (int)length, text);
        code = add_name(n, text, kind, at, digits, r);
        at += digits;
        if (at == end)
            break;
        at++;
    }
    return code;
}

shoal_code several_names(const char *device, char name[SEVERAL_MOST + 1][SEVERAL_NAME],
                         uint32_t *count, struct report *r) {
    struct names n = {.name = name};
    shoal_code code = SHOAL_OK;
    *count = 0;
    for (const char *at = device; several_is(device) && code == SHOAL_OK;) {
        size_t length = strcspn(at, "+");
        code = add_kind(&n, at, length, r);
        if (!at[length])
            break;
        at += length + 1;
    }
    *count = n.count;
    return code;
}

// ---- Solvers ------------------------------------------------------------------------------------

// The result is that of one device, whichever had a row.
static shoal_code check_bits(const shoal_solver *s, const shoal_solver *other, const char *name,
                             struct report *r) {
    if (s->given.mixed_bits || !strcmp(s->runner.kernel[PLAN_FIRST].computation,
                                       other->runner.kernel[PLAN_FIRST].computation))
        return SHOAL_OK;
    return report_error(r, SHOAL_INPUT,
                        "--device %s: %s and %s may differ in their last digits for this model; "
                        "--mixed-bits allows that",
                        s->given.device, s->several->name[0], name);
}

// A solver that a thread makes.
struct making {
    shoal_solver *owner, *made;
    shoal_model *model;
    shoal_options options;
    shoal_log *log;
    pthread_t thread;
    bool started;
    shoal_code code;
};

static void *make_one(void *user) {
    struct making *m = user;
    m->code = solver_make(m->model, &m->options, NULL, m->owner, m->owner->plans, &m->made, m->log);
    return NULL;
}

// Without a thread it is made now.
static void begin_other(shoal_solver *s, uint32_t i, struct making *m) {
    *m = (struct making){
        .owner = s, .model = api_model_copy(s->model), .options = s->given, .log = shoal_log_new()};
    m->options.device = s->several->name[i + 1];
    m->options.on_compile = NULL; // that is the calling thread's
    m->started = !thread_start(&m->thread, make_one, m);
    if (!m->started)
        make_one(m);
}

static shoal_code end_other(shoal_solver *s, struct making *m, struct report *r) {
    if (m->started)
        pthread_join(m->thread, NULL);
    if (m->code == SHOAL_OK)
        s->several->other[s->several->count++] = m->made;
    log_pass_on(m->log, r);
    shoal_log_free(m->log);
    return m->code == SHOAL_OK ? check_bits(s, m->made, m->options.device, r) : m->code;
}

static void describe(shoal_solver *s) {
    size_t n = strlen(s->card.text);
    for (uint32_t i = 0; i < s->several->count && n < sizeof s->card.text; i++)
        n += (size_t)snprintf(s->card.text + n, sizeof s->card.text - n, " + %s",
                              s->several->name[i + 1]);
}

// Drivers and contexts start side by side.
shoal_code several_make(shoal_solver *s, shoal_log *log) {
    uint32_t count = 0;
    struct report *r = log_report(log);
    if (!several_is(s->given.device))
        return SHOAL_OK;
    struct several *v = s->several = calloc(1, sizeof *v);
    struct making *making = calloc(SEVERAL_MOST, sizeof *making);
    shoal_code code = v && making ? several_names(s->given.device, v->name, &count, r)
                                  : report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; code == SHOAL_OK && i + 1 < count; i++)
        begin_other(s, i, &making[i]);
    for (uint32_t i = 0; making && i < SEVERAL_MOST && making[i].owner; i++) {
        shoal_code ended = end_other(s, &making[i], r);
        code = code ? code : ended;
    }
    if (code == SHOAL_OK)
        describe(s);
    free(making);
    return code;
}

void several_free(struct several *v) {
    for (uint32_t i = 0; v && i < v->count; i++)
        shoal_solver_free(v->other[i]);
    free(v);
}

// ---- A run --------------------------------------------------------------------------------------

struct run {
    shoal_gather *gather;
    const struct batch *batch;
    uint32_t devices;
    struct dispatch_control control;
    uint64_t start_ns;
};

// A device and the thread that has it.
struct hand {
    struct run *run;
    shoal_solver *solver;
    const char *name;
    uint32_t number;
    char track[2 * SEVERAL_NAME]; // number and name: a device may be there twice
    struct dispatch_control control;
    shoal_log *log;
    pthread_t thread;
    uint64_t first, rows; // what is left of its range
    bool sink_failed;
    shoal_code code;
};

static void show(const struct run *run) {
    if (run->control.progress)
        run->control.progress(
            &(shoal_progress){.done = shoal_gather_done(run->gather),
                              .total = batch_rows(run->batch),
                              .seconds = (double)(clock_ns() - run->start_ns) * 1e-9},
            run->control.user);
}

static void on_progress(const shoal_progress *now, void *user) {
    (void)now;
    show(user);
}

static bool is_stopped(const struct hand *h) {
    return dispatch_is_set(h->control.stop[0]) || dispatch_is_set(h->control.stop[1]);
}

// Rows that another device has may come back, until all are done.
static bool next(void *user, uint64_t least, uint64_t wanted, uint64_t *first, uint64_t *rows) {
    enum { NAP_NS = 200000 };
    struct hand *h = user;
    struct run *run = h->run;
    shoal_taker taker = {run->devices, least, wanted, h->number, h->track};
    while (!is_stopped(h)) {
        shoal_take take = shoal_gather_take(run->gather, &taker, first, rows);
        if (take == SHOAL_TAKE_ROWS) {
            h->first = *first;
            h->rows = *rows;
            return true;
        }
        if (shoal_gather_done(run->gather) == batch_rows(run->batch) ||
            (take == SHOAL_TAKE_NONE && gather_failed(run->gather)))
            return false;
        if (h->control.progress)
            show(run);
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    return false;
}

static shoal_code done(void *user, uint64_t first, uint64_t rows, const void *bytes,
                       size_t length) {
    struct hand *h = user;
    (void)first;
    h->first += rows;
    h->rows -= rows;
    shoal_code code = shoal_gather_put(h->run->gather, bytes, length, h->log);
    h->sink_failed = code != SHOAL_OK;
    return code;
}

static const unsigned char no_job[PACKED_JOB];

static void *work(void *user) {
    struct hand *h = user;
    shoal_ranges ranges = {sizeof ranges, h, next, done};
    h->code = ranges_run(h->solver, h->run->batch, no_job, &ranges, &h->control, h->log);
    shoal_gather_give_back(h->run->gather, h->first, h->rows, h->log);
    return NULL;
}

static bool has_failed(const struct hand *h) {
    return h->code != SHOAL_OK && h->code != SHOAL_STOPPED;
}

// What went wrong is a warning where others did the work, and else the error.
static void tell(struct hand *h, bool complete, uint64_t mark, shoal_log *log) {
    char why[256] = "";
    struct report *r = log_report(log);
    if (has_failed(h) && complete) {
        report_withdraw(h->log == log ? r : log_report(h->log), h->log == log ? mark : 0, why,
                        sizeof why);
        report_warning(r, "%s failed, and its runs were left to the other devices: %s", h->name,
                       why);
    }
    if (h->log != log)
        log_pass_on(h->log, r);
}

static struct hand hand_of(struct run *run, shoal_solver *s, const struct several *v,
                           uint32_t number, shoal_log *log) {
    struct hand h = {.run = run,
                     .solver = s,
                     .name = v ? v->name[number] : s->backend->name,
                     .number = number,
                     .control = solver_control(s),
                     .log = log};
    snprintf(h.track, sizeof h.track, "%u: %s", number, h.name);
    return h;
}

// The calling thread has the first device, and the others one each.
static void run_hands(struct run *run, shoal_solver *s, struct hand *hand, shoal_log *log) {
    struct several *v = s->several;
    uint32_t started = 1;
    hand[0] = hand_of(run, s, v, 0, log);
    if (hand[0].control.progress) {
        hand[0].control.progress = on_progress;
        hand[0].control.user = run;
    }
    for (; v && started <= v->count; started++) {
        struct hand *h = &hand[started];
        *h = hand_of(run, v->other[started - 1], v, started, shoal_log_new());
        h->control.progress = NULL;
        if (thread_start(&h->thread, work, h)) {
            shoal_log_free(h->log);
            break;
        }
    }
    work(&hand[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(hand[i].thread, NULL);
    run->devices = started;
}

// Why rows are missing: an error, or a stop.
static shoal_code code_of(const struct run *run, const struct hand *hand) {
    for (uint32_t i = 0; i < run->devices; i++)
        if (has_failed(&hand[i]))
            return hand[i].code;
    return SHOAL_STOPPED;
}

static shoal_code run_all(struct run *run, shoal_solver *s, struct hand *hand, shoal_tally *tally,
                          shoal_log *log) {
    uint64_t mark = report_mark(log_report(log));
    int32_t span = log_begin(log, LOG_solver_solve_execution);
    run_hands(run, s, hand, log);
    bool complete = shoal_gather_done(run->gather) == batch_rows(run->batch);
    shoal_code code = complete ? SHOAL_OK : code_of(run, hand);
    for (uint32_t i = 0; i < run->devices; i++) {
        tell(&hand[i], complete && !hand[i].sink_failed, mark, log);
        if (i)
            shoal_log_free(hand[i].log);
    }
    if (code == SHOAL_OK || code == SHOAL_STOPPED) {
        shoal_code ended = shoal_gather_end(run->gather, tally, log);
        code = ended != SHOAL_OK ? ended : code;
    }
    log_end(log, span);
    return code;
}

shoal_code several_run(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                       shoal_tally *tally, shoal_log *log) {
    struct run run = {.batch = b,
                      .devices = s->several ? s->several->count + 1 : 1,
                      .control = solver_control(s),
                      .start_ns = clock_ns()};
    struct hand *hand = calloc(run.devices, sizeof *hand);
    shoal_code code = hand ? gather_open(s, b, no_job, sink, meta, &run.gather, log)
                           : report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        code = run_all(&run, s, hand, tally, log);
    shoal_gather_free(run.gather);
    free(hand);
    return code;
}
