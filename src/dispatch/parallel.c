// SPDX-License-Identifier: MIT
// The threads of a crew: each does its part of a range, is awake for a moment, and sleeps.
#include "dispatch/parallel.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { HANDS_MOST = 12, SPIN_NS = 50000 }; // more hands do not copy faster

struct hand {
    pthread_t thread;
    struct crew *crew;
    uint32_t number; // its part of the work, from 0
};

struct crew {
    pid_t pid; // threads do not outlive a fork
    uint32_t hands;
    struct hand hand[HANDS_MOST];
    pthread_mutex_t mutex;
    pthread_cond_t call;
    uint32_t calls;   // works announced so far
    uint32_t working; // hands that are not done with the last one
    bool over;
    void (*work)(void *user, size_t first, size_t end);
    void *user;
    size_t items, parts;
};

// Part `i` of the work; the crew has all but the last.
static void do_part(const struct crew *c, size_t i) {
    if (i < c->parts)
        c->work(c->user, c->items / c->parts * i,
                i + 1 == c->parts ? c->items : c->items / c->parts * (i + 1));
}

// Waits for another call than `seen`: awake for a moment, since chunks follow each other closely.
static uint32_t next_call(struct crew *c, uint32_t seen) {
    uint64_t start = clock_ns();
    uint32_t calls;
    while ((calls = __atomic_load_n(&c->calls, __ATOMIC_ACQUIRE)) == seen &&
           clock_ns() - start < SPIN_NS)
        ;
    if (calls != seen)
        return calls;
    pthread_mutex_lock(&c->mutex);
    while ((calls = c->calls) == seen)
        pthread_cond_wait(&c->call, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
    return calls;
}

static void *serve(void *arg) {
    const struct hand *h = arg;
    struct crew *c = h->crew;
    for (uint32_t seen = 0;;) {
        seen = next_call(c, seen);
        if (c->over)
            return NULL;
        do_part(c, h->number);
        __atomic_sub_fetch(&c->working, 1, __ATOMIC_RELEASE);
    }
}

static void announce(struct crew *c) {
    pthread_mutex_lock(&c->mutex);
    c->working = c->hands;
    __atomic_add_fetch(&c->calls, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&c->call);
    pthread_mutex_unlock(&c->mutex);
}

static struct crew *crew_new(uint32_t hands) {
    struct crew *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->call, NULL);
    c->pid = getpid();
    for (uint32_t i = 0; i < hands; i++) {
        struct hand *h = &c->hand[c->hands];
        *h = (struct hand){.crew = c, .number = c->hands};
        if (thread_start(&h->thread, serve, h) == 0)
            c->hands++;
    }
    return c;
}

void run_crew_free(struct crew *crew) {
    if (!crew)
        return;
    bool ours = crew->pid == getpid();
    crew->over = true;
    if (ours)
        announce(crew);
    for (uint32_t i = 0; ours && i < crew->hands; i++)
        pthread_join(crew->hand[i].thread, NULL);
    pthread_cond_destroy(&crew->call);
    pthread_mutex_destroy(&crew->mutex);
    free(crew);
}

void run_parallel(struct crew **crew, uint32_t threads, size_t items, size_t grain,
                  void (*work)(void *user, size_t first, size_t end), void *user) {
    uint32_t most = threads < HANDS_MOST ? threads : HANDS_MOST;
    size_t parts = items / grain < most ? items / grain : most;
    if (*crew && (*crew)->pid != getpid())
        *crew = NULL; // the parent's
    if (parts >= 2 && !*crew)
        *crew = crew_new(most - 1);
    struct crew *c = *crew;
    if (parts < 2 || !c || c->hands == 0) {
        work(user, 0, items);
        return;
    }
    c->work = work;
    c->user = user;
    c->items = items;
    c->parts = parts < c->hands + 1 ? parts : c->hands + 1;
    announce(c);
    do_part(c, c->parts - 1);
    while (__atomic_load_n(&c->working, __ATOMIC_ACQUIRE))
        ;
}
