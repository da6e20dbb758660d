// SPDX-License-Identifier: MIT
#include "run/parallel.h"

#include <pthread.h>
#include <signal.h>

enum { HANDS_MOST = 8 }; // more do not copy faster

struct hand {
    pthread_t thread;
    void (*work)(void *user, size_t first, size_t end);
    void *user;
    size_t first, end;
};

static void *run_hand(void *arg) {
    const struct hand *h = arg;
    h->work(h->user, h->first, h->end);
    return NULL;
}

void run_parallel(uint32_t threads, size_t items, size_t grain,
                  void (*work)(void *user, size_t first, size_t end), void *user) {
    struct hand hands[HANDS_MOST];
    size_t parts = items / grain, started = 0;
    parts = parts > threads ? threads : parts;
    parts = parts > HANDS_MOST ? HANDS_MOST : parts;
    if (parts < 2) {
        work(user, 0, items);
        return;
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); // a handler never runs in one of them
    for (size_t i = 0; i + 1 < parts; i++) {
        struct hand *h = &hands[started];
        *h = (struct hand){.work = work,
                           .user = user,
                           .first = items / parts * i,
                           .end = items / parts * (i + 1)};
        if (pthread_create(&h->thread, NULL, run_hand, h) == 0)
            started++;
        else
            work(user, h->first, h->end);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    work(user, items / parts * (parts - 1), items);
    for (size_t i = 0; i < started; i++)
        pthread_join(hands[i].thread, NULL);
}
