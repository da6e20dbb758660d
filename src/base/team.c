// SPDX-License-Identifier: MIT
// The threads of a team: they take parts of a range, are awake for a moment, and sleep.
//
// One word says which call it is, how many parts it has, and how many of them are taken. Whoever
// takes a part by changing it may look at the call: that is changed only when all parts are done.
#include "base/team.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS_MOST = 12, SPIN_NS = 50000 }; // more workers do not copy faster

struct team {
    pid_t pid; // threads do not outlive a fork
    uint32_t workers;
    pthread_t worker[WORKERS_MOST];
    pthread_mutex_t mutex;
    pthread_cond_t call;
    uint64_t taken; // atomic, see struct taken
    uint32_t done;  // atomic: parts of the call that are
    bool over;      // atomic
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
    t->work(t->user, of_part * i, k.next + 1 == k.parts ? t->items : of_part * (i + 1));
    __atomic_add_fetch(&t->done, 1, __ATOMIC_RELEASE);
    return true;
}

static bool is_new(const struct team *t, uint32_t seen, uint32_t *calls) {
    uint64_t word;
    *calls = taken_of(t, &word).calls;
    return *calls != seen;
}

// Waits for another call than `seen`: awake for a moment, since chunks follow each other closely.
static uint32_t next_call(struct team *t, uint32_t seen) {
    uint64_t start = clock_ns();
    uint32_t calls;
    while (!is_new(t, seen, &calls) && clock_ns() - start < SPIN_NS)
        ;
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

static struct team *team_new(uint32_t workers) {
    struct team *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->call, NULL);
    t->pid = getpid();
    for (uint32_t i = 0; i < workers; i++)
        if (thread_start(&t->worker[t->workers], serve, t) == 0)
            t->workers++;
    return t;
}

void team_free(struct team *team) {
    if (!team)
        return;
    bool ours = team->pid == getpid();
    __atomic_store_n(&team->over, true, __ATOMIC_RELAXED);
    if (ours)
        announce(team, 0);
    for (uint32_t i = 0; ours && i < team->workers; i++)
        pthread_join(team->worker[i], NULL);
    pthread_cond_destroy(&team->call);
    pthread_mutex_destroy(&team->mutex);
    free(team);
}

void team_run(struct team **team, uint32_t threads, size_t items, size_t grain,
              void (*work)(void *user, size_t first, size_t end), void *user) {
    uint32_t most = threads < WORKERS_MOST ? threads : WORKERS_MOST;
    size_t parts = items / grain < most ? items / grain : most;
    if (*team && (*team)->pid != getpid())
        *team = NULL; // the parent's
    if (parts >= 2 && !*team)
        *team = team_new(most - 1);
    struct team *t = *team;
    if (parts < 2 || !t || t->workers == 0) {
        work(user, 0, items);
        return;
    }
    parts = parts < t->workers + 1 ? parts : t->workers + 1;
    t->work = work;
    t->user = user;
    t->items = items;
    __atomic_store_n(&t->done, 0, __ATOMIC_RELAXED);
    announce(t, parts);
    while (do_part(t))
        ;
    while (__atomic_load_n(&t->done, __ATOMIC_ACQUIRE) < parts)
        ;
}
