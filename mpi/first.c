// SPDX-License-Identifier: MIT
// Rank 0: a thread answers the other ranks, while this one computes like any of them.
#include "ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STOP_SECONDS = 10 }; // that the others have to end, after a stop

// Another rank, as far as this one knows.
struct other {
    bool met, left;  // it has said something; it will not say anything any more
    bool asks;       // and waits for an answer
    bool stopped;    // it was told to
    struct ask ask;  // what it asked for
    struct rows has; // the range that it was given
    char *more;      // bytes that came so far of a message in pieces
    size_t more_length;
};

static struct first {
    int count;           // ranks, with this one
    struct other *other; // [count]; the first is not used
    int met, left;
    int failed;           // ranks that left because they had to
    shoal_gather *gather; // NULL: not yet, or no more
    uint64_t mark;        // of its file
    bool over;            // nobody gets rows any more
    shoal_code code;      // of the gather
    shoal_log *log;       // of the thread
    bool ends;            // the thread is to
    bool measures;        // what follows
    struct cost {
        uint64_t count, bytes;
        double seconds; // of a processor
    } asked, came;      // ranges that others asked for, and messages with rows
    char *bytes;
    size_t room;
    pthread_mutex_t lock; // of all that both threads look at
} first = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool begin(struct first *f) {
    MPI_Comm_size(MPI_COMM_WORLD, &f->count);
    if (!f->other)
        f->other = calloc((size_t)f->count, sizeof *f->other);
    return f->other;
}

// ---- What others say ----------------------------------------------------------------------------

static void answer(struct first *f, int rank) {
    struct other *o = &f->other[rank];
    char name[32];
    snprintf(name, sizeof name, "rank %d", rank);
    shoal_taker taker = {(uint64_t)(f->count - f->left), o->ask.least, o->ask.wanted,
                         (uint32_t)rank, name};
    shoal_take take = f->over ? SHOAL_TAKE_NONE
                      : f->gather
                          ? shoal_gather_take(f->gather, &taker, &o->has.first, &o->has.rows)
                          : SHOAL_TAKE_LATER;
    if (take == SHOAL_TAKE_LATER)
        return;
    if (take == SHOAL_TAKE_NONE)
        o->has = (struct rows){0};
    o->asks = false;
    o->has.mark = f->mark;
    send_bytes(&o->has, sizeof o->has, rank, TAG_ROWS);
}

static bool make_room(struct first *f, size_t length) {
    if (length <= f->room)
        return true;
    free(f->bytes);
    f->bytes = malloc(length);
    f->room = f->bytes ? length : 0;
    return f->bytes;
}

// A message in pieces is put together.
static void take_piece(struct first *f, const MPI_Status *status, size_t length) {
    struct other *o = &f->other[status->MPI_SOURCE];
    char *bigger = realloc(o->more, o->more_length + length);
    if (!bigger)
        MPI_Abort(MPI_COMM_WORLD, shoal_code_exit(SHOAL_MEMORY));
    o->more = bigger;
    receive(status, o->more + o->more_length, length);
    o->more_length += length;
}

static void put(struct first *f, const void *bytes, size_t length) {
    shoal_code code = f->gather ? shoal_gather_put(f->gather, bytes, length, f->log) : SHOAL_OK;
    if (code && !f->code)
        f->code = code;
    f->over = f->over || code;
}

static void take_data(struct first *f, const MPI_Status *status, size_t length) {
    struct other *o = &f->other[status->MPI_SOURCE];
    if (o->more_length) {
        take_piece(f, status, length);
        put(f, o->more, o->more_length);
        free(o->more);
        o->more = NULL;
        o->more_length = 0;
        return;
    }
    if (!make_room(f, length))
        MPI_Abort(MPI_COMM_WORLD, shoal_code_exit(SHOAL_MEMORY));
    receive(status, f->bytes, length);
    put(f, f->bytes, length);
}

// What it was given and did not do is there for others.
static void take_leave(struct first *f, const MPI_Status *status) {
    struct other *o = &f->other[status->MPI_SOURCE];
    struct left left;
    receive(status, &left, sizeof left);
    uint64_t done = left.first == o->has.first ? left.done : 0;
    if (f->gather && o->has.rows > done)
        shoal_gather_give_back(f->gather, o->has.first + done, o->has.rows - done, f->log);
    o->left = true;
    o->asks = false;
    f->left++;
    f->failed += left.code != SHOAL_OK && left.code != SHOAL_STOPPED;
}

static void take_message(struct first *f, const MPI_Status *status) {
    struct other *o = &f->other[status->MPI_SOURCE];
    int length = 0;
    MPI_Get_count(status, MPI_BYTE, &length);
    f->met += !o->met;
    o->met = true;
    if (status->MPI_TAG == TAG_ASK) {
        receive(status, &o->ask, sizeof o->ask);
        o->has = (struct rows){0};
        o->asks = true;
        answer(f, status->MPI_SOURCE);
    } else if (status->MPI_TAG == TAG_DATA)
        take_data(f, status, (size_t)length);
    else if (status->MPI_TAG == TAG_MORE)
        take_piece(f, status, (size_t)length);
    else if (status->MPI_TAG == TAG_LEFT)
        take_leave(f, status);
}

static double cpu_seconds(void) {
    struct timespec cpu;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    return (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
}

// What it takes is told with --verbose.
static void take_measured(struct first *f, const MPI_Status *status) {
    double before = cpu_seconds();
    int length = 0;
    struct cost *c = status->MPI_TAG == TAG_ASK ? &f->asked : &f->came;
    MPI_Get_count(status, MPI_BYTE, &length);
    take_message(f, status);
    c->count++;
    c->bytes += (uint64_t)length;
    c->seconds += cpu_seconds() - before;
}

static void answer_all(struct first *f) {
    for (int i = 1; i < f->count; i++) {
        struct other *o = &f->other[i];
        if (o->asks)
            answer(f, i);
        if (f->over && o->met && !o->left && !o->stopped) {
            o->stopped = true;
            send_bytes("", 0, i, TAG_STOP);
        }
    }
}

// One message, if there is one; *us is how long the last nap was.
static void attend(struct first *f, long *us) {
    MPI_Status status;
    pthread_mutex_lock(&f->lock);
    bool there = look(MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
    if (there)
        (f->measures ? take_measured : take_message)(f, &status);
    else
        answer_all(f);
    f->over = f->over || *stop_flag();
    pthread_mutex_unlock(&f->lock);
    if (there)
        *us = 0;
    else
        nap(us);
}

static void *serve(void *user) {
    struct first *f = user;
    for (long us = 0; !__atomic_load_n(&f->ends, __ATOMIC_ACQUIRE);)
        attend(f, &us);
    return NULL;
}

// ---- Rows of its own ----------------------------------------------------------------------------

struct own {
    struct first *f;
    const struct ranks_job *job;
    struct rows has; // what is left of its range
    struct timespec start;
};

static double seconds_since(const struct timespec *start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

// How far all ranks are.
static void show(struct own *o) {
    shoal_progress now = {.done = shoal_gather_done(o->f->gather),
                          .total = shoal_batch_rows(o->job->batch),
                          .seconds = seconds_since(&o->start)};
    o->job->progress(&now, o->job->user);
}

static void on_progress(const shoal_progress *now, void *user) {
    struct own *o = user;
    (void)now;
    if (__atomic_load_n(&o->f->over, __ATOMIC_RELAXED))
        shoal_solver_stop(o->job->solver);
    show(o);
}

static int others(struct first *f, const int *number) {
    pthread_mutex_lock(&f->lock);
    int n = *number;
    pthread_mutex_unlock(&f->lock);
    return n;
}

// Rows that others may give back are waited for.
static bool next(void *user, uint64_t least, uint64_t wanted, uint64_t *start, uint64_t *rows) {
    struct own *o = user;
    struct first *f = o->f;
    for (long us = 0; !__atomic_load_n(&f->over, __ATOMIC_RELAXED); nap(&us)) {
        int left = others(f, &f->left);
        shoal_taker taker = {(uint64_t)(f->count - left), least, wanted, 0, "rank 0"};
        shoal_take take = shoal_gather_take(f->gather, &taker, start, rows);
        if (take == SHOAL_TAKE_ROWS) {
            o->has = (struct rows){*start, *rows, 0};
            return true;
        }
        if (take == SHOAL_TAKE_NONE && left == f->count - 1)
            return false;
        show(o);
    }
    return false;
}

static shoal_code done(void *user, uint64_t start, uint64_t rows, const void *bytes,
                       size_t length) {
    struct own *o = user;
    (void)start;
    o->has.first += rows;
    o->has.rows -= rows;
    return shoal_gather_put(o->f->gather, bytes, length, o->job->log);
}

// Other ranks go on where this one's device failed.
static shoal_code compute(struct own *o) {
    struct first *f = o->f;
    const struct ranks_job *job = o->job;
    shoal_ranges ranges = {sizeof ranges, o, next, done};
    shoal_code code = shoal_solver_run_ranges(job->solver, job->batch, &ranges, job->log);
    shoal_gather_give_back(f->gather, o->has.first, o->has.rows, job->log);
    pthread_mutex_lock(&f->lock);
    f->failed += code != SHOAL_OK && code != SHOAL_STOPPED;
    f->over = f->over || code == SHOAL_STOPPED || code == SHOAL_IO;
    pthread_mutex_unlock(&f->lock);
    struct timespec stopped = {0};
    for (long us = 0; others(f, &f->left) < f->count - 1; nap(&us)) {
        if (!*stop_flag() || !stopped.tv_sec)
            clock_gettime(CLOCK_MONOTONIC, &stopped);
        if (seconds_since(&stopped) > STOP_SECONDS)
            break;
    }
    return code;
}

// ---- All of it ----------------------------------------------------------------------------------

// All ranks have read what they must: from here on files change their names.
static bool meet(struct first *f) {
    for (long us = 0; others(f, &f->met) < f->count - 1; nap(&us))
        if (*stop_flag())
            return false;
    return true;
}

static shoal_code close_file(struct first *f, const struct ranks_job *job, shoal_code code) {
    shoal_code ended = f->code ? f->code : shoal_gather_end(f->gather, job->tally, job->log);
    if (!ended && f->failed)
        fprintf(stderr, "warning: %d of %d ranks failed, and others did their rows\n", f->failed,
                f->count);
    if (ended != SHOAL_STOPPED || *stop_flag())
        return ended;
    fprintf(stderr, "error: %d of %d ranks failed, and rows are missing; --resume goes on\n",
            f->failed, f->count);
    return code && code != SHOAL_STOPPED ? code : SHOAL_DEVICE;
}

static shoal_code share_out(struct first *f, const struct ranks_job *job) {
    struct own own = {.f = f, .job = job};
    shoal_gather *gather = NULL;
    clock_gettime(CLOCK_MONOTONIC, &own.start);
    if (!meet(f))
        return SHOAL_STOPPED;
    shoal_code code = shoal_gather_new(job->solver, job->batch, job->path, &gather, job->log);
    if (code)
        return code;
    pthread_mutex_lock(&f->lock);
    f->gather = gather;
    f->mark = f->count > 1 ? shoal_gather_mark(gather) : 0;
    pthread_mutex_unlock(&f->lock);
    shoal_solver_on_progress(job->solver, on_progress, &own);
    code = compute(&own);
    pthread_mutex_lock(&f->lock); // nothing more is taken
    code = close_file(f, job, code);
    f->gather = NULL;
    f->over = true;
    pthread_mutex_unlock(&f->lock);
    shoal_gather_free(gather);
    return code;
}

static void pass_on(const shoal_log *log) {
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(log, i).text);
}

static double each_us(const struct cost *c) {
    return c->count ? c->seconds * 1e6 / (double)c->count : 0;
}

static void say_cost(const struct first *f) {
    fprintf(
        stderr,
        "ranks    %d, which asked %llu times (%.2f us each), sent %llu messages (%.2f us each), "
        "%llu bytes\n",
        f->count, (unsigned long long)f->asked.count, each_us(&f->asked),
        (unsigned long long)f->came.count, each_us(&f->came), (unsigned long long)f->came.bytes);
}

static shoal_code run(const struct ranks_job *job) {
    struct first *f = &first;
    pthread_t thread;
    if (!begin(f))
        return SHOAL_MEMORY;
    f->log = shoal_log_new();
    f->measures = job->verbose;
    if (pthread_create(&thread, NULL, serve, f))
        return SHOAL_MEMORY;
    shoal_code code = share_out(f, job);
    __atomic_store_n(&f->ends, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    if (job->verbose)
        say_cost(f);
    pass_on(f->log);
    shoal_log_free(f->log);
    f->log = NULL;
    return code;
}

// What is left of the others: they are told that there is nothing to do, and then the exit code.
int first_end(int status) {
    struct first *f = &first;
    bool ran = f->other;
    if (!begin(f))
        MPI_Abort(MPI_COMM_WORLD, status);
    f->over = true;
    for (long us = 0; f->left < f->count - 1;)
        attend(f, &us);
    struct end end = {status, status && !ran};
    for (int i = 1; i < f->count; i++)
        send_bytes(&end, sizeof end, i, TAG_END);
    free(f->other);
    free(f->bytes);
    return status;
}

const struct ranks first_ranks = {.first = true, .settle = place_settle, .run = run};
