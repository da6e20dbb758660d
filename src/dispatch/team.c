// SPDX-License-Identifier: MIT
// The threads of a team: each does its part of a range, is awake for a moment, and sleeps.
#include "dispatch/team.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS_MOST = 12, SPIN_NS = 50000 }; // more workers do not copy faster

struct worker {
    pthread_t thread;
    struct team *team;
    uint32_t number; // its part of the work, from 0
};

struct team {
    pid_t pid; // threads do not outlive a fork
    uint32_t workers;
    struct worker worker[WORKERS_MOST];
    pthread_mutex_t mutex;
    pthread_cond_t call;
    uint32_t calls;   // works announced so far
    uint32_t working; // workers that are not done with the last one
    bool over;
    void (*work)(void *user, size_t first, size_t end);
    void *user;
    size_t items, parts;
};

// Part `i` of the work.
static void do_part(const struct team *t, size_t i) {
    t->work(t->user, t->items / t->parts * i,
            i + 1 == t->parts ? t->items : t->items / t->parts * (i + 1));
}

// Waits for another call than `seen`: awake for a moment, since chunks follow each other closely.
static uint32_t next_call(struct team *t, uint32_t seen) {
    uint64_t start = clock_ns();
    uint32_t calls;
    while ((calls = __atomic_load_n(&t->calls, __ATOMIC_ACQUIRE)) == seen &&
           clock_ns() - start < SPIN_NS)
        ;
    if (calls != seen)
        return calls;
    pthread_mutex_lock(&t->mutex);
    while ((calls = t->calls) == seen)
        pthread_cond_wait(&t->call, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
    return calls;
}

static void *serve(void *arg) {
    const struct worker *w = arg;
    struct team *t = w->team;
    for (uint32_t seen = 0;;) {
        seen = next_call(t, seen);
        if (t->over)
            return NULL;
        if (w->number + 1 < t->parts) // the last is the caller's
            do_part(t, w->number);
        __atomic_sub_fetch(&t->working, 1, __ATOMIC_RELEASE);
    }
}

static void announce(struct team *t) {
    pthread_mutex_lock(&t->mutex);
    t->working = t->workers;
    __atomic_add_fetch(&t->calls, 1, __ATOMIC_RELEASE);
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
    for (uint32_t i = 0; i < workers; i++) {
        struct worker *w = &t->worker[t->workers];
        *w = (struct worker){.team = t, .number = t->workers};
        if (thread_start(&w->thread, serve, w) == 0)
            t->workers++;
    }
    return t;
}

void team_free(struct team *team) {
    if (!team)
        return;
    bool ours = team->pid == getpid();
    team->over = true;
    if (ours)
        announce(team);
    for (uint32_t i = 0; ours && i < team->workers; i++)
        pthread_join(team->worker[i].thread, NULL);
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
    t->work = work;
    t->user = user;
    t->items = items;
    t->parts = parts < t->workers + 1 ? parts : t->workers + 1;
    announce(t);
    do_part(t, t->parts - 1);
    while (__atomic_load_n(&t->working, __ATOMIC_ACQUIRE))
        ;
}
