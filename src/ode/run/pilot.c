// SPDX-License-Identifier: MIT
// Runs some rows to see what they take, and keeps what they gave.
#include "ode/run/pilot.h"

#include "base/clock.h"
#include "base/thread.h"
#include "ode/run/chunk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// All of it, and once; it runs up to so often.
static const double most_s = 20e-3, once_s = 10e-3;
enum { TIMES = 3, PATIENCE = 4, TRIAL_BEFORE = 32 };

// ---- The kind of run ----------------------------------------------------------------------------

static const char *method_word(const struct method *m) {
    static const char *const words[] = {
        [EXPLICIT] = "erk",
        [ROSENBROCK] = "ros",
        [DIRK] = "dirk",
        [COLLOCATION] = "irk",
    };
    return words[m->scheme];
}

void pilot_class(const struct plan *p, char out[MACHINE_CLASS]) {
    static const uint32_t sizes[] = {3, 10, 20, 100};
    uint32_t i = 0, n = p->model->states.count;
    while (i + 1 < sizeof sizes / sizeof *sizes && n > sizes[i])
        i++;
    const struct kernel_plan *k = &p->kernel[PLAN_FIRST];
    snprintf(out, MACHINE_CLASS, "ode-%s-n%u-%s", k->f32 ? "f32" : "f64", sizes[i],
             method_word(k->method));
}

uint32_t pilot_lanes(const struct plan *p) {
    const struct kernel_plan *k = &p->kernel[PLAN_FIRST];
    return k->target->lanes64 * (k->f32 && k->target->lanes64 > 1 ? 2 : 1);
}

void pilot_bytes(const struct plan *p, const struct batch *b, const struct result_list *list,
                 double *in, double *out) {
    uint64_t of_host, of_row = chunk_row_bytes(p, b, list, &of_host);
    uint64_t elem = p->kernel[PLAN_FIRST].f32 ? sizeof(float) : sizeof(double);
    uint64_t inputs = batch_inputs(b) * elem;
    *in = (double)inputs;
    *out = (double)(of_row > inputs ? of_row - inputs : 0);
}

// ---- Time's up ----------------------------------------------------------------------------------

struct alarm {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool started, over;
    double seconds;
    int stop;
};

// Of all threads: less than what a clock on the wall says only where they did not get to run, which
// is not the time of a row.
static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_until(struct alarm *a, uint64_t end) {
    struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    while (!a->over && pthread_cond_timedwait(&a->ended, &a->lock, &until) != ETIMEDOUT)
        ;
}

// Rows that had no processor for half of the time have as much again, up to four times: where none
// of them ended nothing is known of any.
static void *wait_and_stop(void *user) {
    struct alarm *a = user;
    double before = processor_seconds();
    uint64_t begin = clock_ns(), ns = (uint64_t)(a->seconds * 1e9);
    pthread_mutex_lock(&a->lock);
    for (uint64_t i = 1; i <= PATIENCE && !a->over; i++) {
        wait_until(a, begin + i * ns);
        if (processor_seconds() - before > a->seconds / 2)
            break;
    }
    __atomic_store_n(&a->stop, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void alarm_begin(struct alarm *a) {
    pthread_mutex_init(&a->lock, NULL);
    thread_condition(&a->ended);
    a->started = thread_start(&a->thread, wait_and_stop, a) == 0;
}

static void alarm_end(struct alarm *a) {
    pthread_mutex_lock(&a->lock);
    a->over = true;
    pthread_cond_signal(&a->ended);
    pthread_mutex_unlock(&a->lock);
    if (a->started)
        pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->ended);
    pthread_mutex_destroy(&a->lock);
}

// ---- The pilot ----------------------------------------------------------------------------------

struct count_sink {
    struct sink base;
    const struct result_list *list;
    struct kept *kept; // NULL: rows are dropped
    uint32_t times;    // that the kept rows have room for, where there are none yet; 0: for none
    uint32_t f_evals;  // array of the list
    uint64_t rows, sum, most;
};

static shoal_code count_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct count_sink *s = (struct count_sink *)sink;
    const struct result_array *wanted = result_list_ours(list, FIELD_f_evals);
    (void)r;
    s->list = list;
    if (s->times)
        s->kept = kept_new(list, s->times);
    s->f_evals = (uint32_t)(wanted - list->array);
    for (uint32_t i = 0; i < list->count && !s->kept; i++)
        list->array[i].wanted = &list->array[i] == wanted;
    return SHOAL_OK;
}

static shoal_code count_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct count_sink *s = (struct count_sink *)sink;
    const uint64_t *evals = c->view[s->f_evals].data;
    (void)r;
    for (uint32_t i = 0; evals && i < c->rows; i++) {
        s->sum += evals[i];
        s->most = evals[i] > s->most ? evals[i] : s->most;
    }
    s->rows += c->rows;
    if (s->kept)
        kept_add(s->kept, s->list, c);
    return SHOAL_OK;
}

static shoal_code count_end(struct sink *s, bool complete, struct report *r) {
    (void)s, (void)complete, (void)r;
    return SHOAL_OK;
}

static void count_free(struct sink *s) { (void)s; }

// Of rows that did not end in time only the time is known, which is too short.
static void judge(const struct count_sink *s, double seconds, struct choose_pilot *out) {
    double mean = s->rows ? (double)s->sum / (double)s->rows : 0;
    *out = (struct choose_pilot){.rows = s->rows ? (uint32_t)s->rows : 1,
                                 .seconds = seconds,
                                 .spread = mean > 0 ? (double)s->most / mean : 1};
}

struct pilot {
    const struct plan *plan;
    struct runner *runner;
    const struct batch *batch, *pick;
    struct choose_pilot best;
    struct kept *kept; // of the run that was the best
};

static double rate(const struct choose_pilot *p) { return p->rows / p->seconds; }

// The run that did most of its rows in the least time tells what others take.
static void take(struct pilot *p, struct count_sink *s, const shoal_tally *tally) {
    struct choose_pilot now;
    uint32_t count = (uint32_t)batch_rows(p->pick);
    struct kept *kept = s->kept ? kept_close(s->kept, p->batch, count, tally) : NULL;
    judge(s, tally->seconds, &now);
    if (p->best.rows && rate(&now) <= rate(&p->best)) {
        kept_free(kept);
        return;
    }
    kept_free(p->kept);
    p->kept = kept;
    p->best = now;
}

static shoal_code run(struct pilot *p, double seconds, double *took) {
    struct count_sink sink = {
        .base = {.begin = count_begin, .chunk = count_chunk, .end = count_end, .free = count_free},
        .times = 1};
    struct alarm alarm = {.seconds = seconds};
    struct dispatch_control control = {.stop = {&alarm.stop}};
    struct arena arena = {0};
    struct result_list list;
    shoal_tally tally = {0};
    shoal_code code = run_list(p->plan, p->pick, "{}", &arena, &list, NULL);
    double before = processor_seconds();
    alarm_begin(&alarm);
    if (code == SHOAL_OK)
        code =
            run_batch(p->plan, p->runner, p->pick, &sink.base, &list, &control, NULL, &tally, NULL);
    alarm_end(&alarm);
    double worked = processor_seconds() - before;
    *took = tally.seconds;
    tally.seconds = worked > 0 && worked < *took ? worked : *took;
    if (code == SHOAL_OK || code == SHOAL_STOPPED)
        take(p, &sink, &tally);
    else
        kept_free(sink.kept);
    arena_free(&arena);
    return code == SHOAL_STOPPED ? SHOAL_OK : code;
}

// The first time pays for threads and memory that later rows have, and perhaps for the kernel of a
// method that took over, which is not the time of a row at all. One that took long may have met
// something else: there is a second in any case.
static shoal_code run_again(struct pilot *p) {
    const struct kernel *before = p->runner->kernel[PLAN_STIFF].kernel;
    double left = most_s, took = 0;
    shoal_code code = run(p, once_s, &took);
    if (code == SHOAL_OK && p->runner->kernel[PLAN_STIFF].kernel != before) {
        p->best.rows = 0;
        took = 0;
    }
    for (int i = 1; i < TIMES && code == SHOAL_OK; i++) {
        left -= took;
        if (i > 1 && left < most_s / 4)
            break;
        code = run(p, i > 1 && left < once_s ? left : once_s, &took);
    }
    return code;
}

shoal_code pilot_run(const struct plan *plan, struct runner *runner, const struct batch *b,
                     uint32_t rows, struct choose_pilot *out, struct kept **kept) {
    struct pilot p = {.plan = plan, .runner = runner, .batch = b};
    struct batch *pick = batch_pick(b, rows < batch_rows(b) ? rows : (uint32_t)batch_rows(b));
    if (!pick)
        return SHOAL_MEMORY;
    p.pick = pick;
    shoal_code code = runner_complete(plan, runner, NULL);
    if (code == SHOAL_OK)
        code = run_again(&p);
    *out = p.best;
    *kept = p.kept;
    free(pick);
    return code;
}

// ---- A trial ------------------------------------------------------------------------------------

// The rows from `first` on, once. SHOAL_STOPPED: they did not all run.
static shoal_code run_stretch(const struct trial_side *side, const struct batch *b, uint64_t first,
                              uint64_t rows, const struct dispatch_control *control,
                              struct count_sink *sink, shoal_tally *tally) {
    struct batch *some = batch_stretch(b, first, rows);
    struct arena arena = {0};
    struct result_list list;
    shoal_code code = some ? run_list(side->plan, some, "{}", &arena, &list, NULL) : SHOAL_MEMORY;
    if (code == SHOAL_OK)
        code = run_batch(side->plan, side->runner, some, &sink->base, &list, control, NULL, tally,
                         NULL);
    arena_free(&arena);
    free(some);
    return code;
}

// Before it counts: what a device pays once. Rows that another method takes over may need its
// kernel, so these are some of the rows that follow.
static shoal_code run_before(const struct trial_side *side, const struct batch *b, uint64_t first,
                             uint64_t rows, const struct dispatch_control *control) {
    struct count_sink sink = {
        .base = {.begin = count_begin, .chunk = count_chunk, .end = count_end, .free = count_free}};
    shoal_tally tally = {0};
    if (side->runner->launches)
        return SHOAL_OK;
    return run_stretch(side, b, first, rows < TRIAL_BEFORE ? rows : TRIAL_BEFORE, control, &sink,
                       &tally);
}

shoal_code trial_run(const struct trial_side *side, const struct batch *b, uint64_t first,
                     uint64_t rows, const struct dispatch_control *control, struct kept **kept,
                     struct trial_time *out) {
    struct count_sink sink = {
        .base = {.begin = count_begin, .chunk = count_chunk, .end = count_end, .free = count_free},
        .kept = *kept,
        .times = *kept ? 0 : 2};
    const struct kernel *stiff;
    shoal_tally tally = {0};
    shoal_code code = runner_complete(side->plan, side->runner, NULL);
    if (code == SHOAL_OK)
        code = run_before(side, b, first, rows, control);
    *out = (struct trial_time){0};
    if (code != SHOAL_OK)
        return code;
    stiff = side->runner->kernel[PLAN_STIFF].kernel;
    code = run_stretch(side, b, first, rows, control, &sink, &tally);
    if (code == SHOAL_OK && sink.kept)
        *kept = kept_close_first(sink.kept, b, &tally);
    else if (!*kept)
        kept_free(sink.kept);
    if (code == SHOAL_OK && side->runner->kernel[PLAN_STIFF].kernel == stiff)
        *out = (struct trial_time){tally.seconds, (double)sink.sum};
    return code;
}
