// SPDX-License-Identifier: MIT
// The threads of a team: they take parts of a range, are awake for a moment, and sleep.
//
// One word says which call it is, how many parts it has, and how many of them are taken. Whoever
// takes a part by changing it may look at the call: that is changed only when all parts are done.
#include "base/team.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { COPIERS_MOST = 12, SPIN_NS = 50000 }; // more do not copy faster

struct team {
    pid_t pid; // threads do not outlive a fork
    uint32_t workers, room;
    pthread_t *worker;
    pthread_mutex_t mutex;
    pthread_cond_t call, ended;
    uint32_t started; // parts of a call that its caller waits for by and by; 0: he takes part
    uint64_t taken;   // atomic, see struct taken
    uint32_t done;    // atomic: parts of the call that are
    bool over;        // atomic
    void (*work)(void *user, size_t first, size_t end);
    void *user;
    size_t items;
};

// Calls so far, parts of the last one, and of them those that are taken.
struct taken {
    uint32_t calls;
    uint16_t parts, next;
};
static struct taken taken_of(const struct team *t, uint64_t *word) {
    *word = __atomic_load_n(&t->taken, __ATOMIC_ACQUIRE);
    return (struct taken){(uint32_t)(*word >> 32), (uint16_t)(*word >> 16), (uint16_t)*word};
}

// Takes a part and does it; false: all are taken.
static bool do_part(struct team *t) {
    uint64_t word;
    struct taken k = taken_of(t, &word);
    size_t i = k.next;
    if (k.next >= k.parts)
        return false;
    if (!__atomic_compare_exchange_n(&t->taken, &word, word + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return true; // somebody else has it: there may be others
    size_t of_part = t->items / k.parts;
    uint32_t started = t->started;
    t->work(t->user, of_part * i, k.next + 1 == k.parts ? t->items : of_part * (i + 1));
    if (__atomic_add_fetch(&t->done, 1, __ATOMIC_ACQ_REL) == started) {
        pthread_mutex_lock(&t->mutex);
        pthread_cond_signal(&t->ended);
        pthread_mutex_unlock(&t->mutex);
    }
    return true;
}

static bool is_new(const struct team *t, uint32_t seen, uint32_t *calls) {
    uint64_t word;
    *calls = taken_of(t, &word).calls;
    return *calls != seen;
}

// Waits for another call than `seen`: awake for a moment, since chunks follow each other closely,
// but not in the way of whoever has to make the next one.
static uint32_t next_call(struct team *t, uint32_t seen) {
    uint64_t start = clock_ns();
    uint32_t calls;
    while (!is_new(t, seen, &calls) && clock_ns() - start < SPIN_NS)
        sched_yield();
    if (calls != seen)
        return calls;
    pthread_mutex_lock(&t->mutex);
    while (!is_new(t, seen, &calls))
        pthread_cond_wait(&t->call, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
    return calls;
}

static void *serve(void *arg) {
    struct team *t = arg;
    for (uint32_t seen = 0;;) {
        seen = next_call(t, seen);
        if (__atomic_load_n(&t->over, __ATOMIC_RELAXED))
            return NULL;
        while (do_part(t))
            ;
    }
}

static void announce(struct team *t, size_t parts) {
    uint64_t word;
    pthread_mutex_lock(&t->mutex);
    uint64_t calls = (uint64_t)taken_of(t, &word).calls + 1;
    __atomic_store_n(&t->taken, calls << 32 | (uint64_t)parts << 16, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&t->call);
    pthread_mutex_unlock(&t->mutex);
}

static struct team *team_new(void) {
    struct team *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->call, NULL);
    thread_condition(&t->ended);
    t->pid = process_id();
    return t;
}

// As many threads as can be had, up to so many; nothing is under way. 0, or why there are fewer.
static int add_workers(struct team *t, uint32_t workers) {
    int failed = 0;
    if (workers > t->room) {
        pthread_t *worker = realloc(t->worker, workers * sizeof *worker);
        if (!worker)
            return ENOMEM;
        t->worker = worker;
        t->room = workers;
    }
    while (t->workers < workers && !failed) {
        failed = thread_start(&t->worker[t->workers], serve, t);
        t->workers += !failed;
    }
    return failed;
}

// One that is the parent's is none.
static bool need_team(struct team **team) {
    if (*team && (*team)->pid != process_id())
        *team = NULL;
    if (!*team)
        *team = team_new();
    return *team;
}

static void begin(struct team *t, size_t items, size_t parts, uint32_t started,
                  void (*work)(void *user, size_t first, size_t end), void *user) {
    t->work = work;
    t->user = user;
    t->items = items;
    t->started = started;
    __atomic_store_n(&t->done, 0, __ATOMIC_RELAXED);
    announce(t, parts);
}

void team_free(struct team *team) {
    if (!team)
        return;
    bool ours = team->pid == process_id();
    __atomic_store_n(&team->over, true, __ATOMIC_RELAXED);
    if (ours)
        announce(team, 0);
    for (uint32_t i = 0; ours && i < team->workers; i++)
        pthread_join(team->worker[i], NULL);
    pthread_cond_destroy(&team->call);
    pthread_cond_destroy(&team->ended);
    pthread_mutex_destroy(&team->mutex);
    free(team->worker);
    free(team);
}

void team_run(struct team **team, uint32_t threads, size_t items, size_t grain,
              void (*work)(void *user, size_t first, size_t end), void *user) {
    uint32_t most = threads < COPIERS_MOST ? threads : COPIERS_MOST;
    size_t parts = items / grain < most ? items / grain : most;
    struct team *t = parts >= 2 && need_team(team) ? *team : NULL;
    if (t && t->workers == 0)
        add_workers(t, most - 1);
    if (!t || t->workers == 0) {
        work(user, 0, items);
        return;
    }
    parts = parts < t->workers + 1 ? parts : t->workers + 1;
    begin(t, items, parts, 0, work, user);
    while (do_part(t))
        ;
    while (__atomic_load_n(&t->done, __ATOMIC_ACQUIRE) < parts)
        ;
}

int team_start(struct team **team, uint32_t threads,
               void (*work)(void *user, size_t first, size_t end), void *user) {
    if (!need_team(team))
        return ENOMEM;
    int failed = add_workers(*team, threads);
    if (!(*team)->workers)
        return failed;
    begin(*team, threads, threads, threads, work, user);
    return 0;
}

void team_wait(struct team *t, uint32_t tick_ms, void (*tick)(void *user), void *user) {
    pthread_mutex_lock(&t->mutex);
    while (__atomic_load_n(&t->done, __ATOMIC_ACQUIRE) < t->started) {
        uint64_t end = clock_ns() + (uint64_t)tick_ms * 1000000;
        struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
        if (pthread_cond_timedwait(&t->ended, &t->mutex, &until) == ETIMEDOUT) {
            pthread_mutex_unlock(&t->mutex);
            tick(user);
            pthread_mutex_lock(&t->mutex);
        }
    }
    pthread_mutex_unlock(&t->mutex);
}
