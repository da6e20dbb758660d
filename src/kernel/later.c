// SPDX-License-Identifier: MIT
// See later.h.
#include "kernel/later.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST = 2,             // at a time
    DELAY_NS = 100000000, // what is needed at once is compiled first
};
static const uint64_t leave_ns = 2000000000; // that a process waits at its end

struct later {
    struct kernel_request q;
    struct kernel_source source;
    struct arena arena; // of texts
    const char *place;  // of the cache
    uint32_t slot;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_once_t once;
    char key[MOST][KEY_HEX]; // that are made; "": none
    bool leaving;
    int stop; // atomic
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void enter(void) { pthread_mutex_lock(&all.mutex); }
static void leave(void) { pthread_mutex_unlock(&all.mutex); }

// Threads are the parent's.
static void start_child(void) {
    thread_condition(&all.changed);
    memset(all.key, 0, sizeof all.key);
    leave();
}

static struct timespec at(uint64_t ns) {
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static bool is_any(void) {
    bool any = false;
    for (uint32_t i = 0; i < MOST; i++)
        any |= all.key[i][0] != 0;
    return any;
}

// After a while compilers are stopped, which takes a moment.
static void end_process(void) {
    struct timespec until = at(clock_ns() + leave_ns);
    enter();
    all.leaving = true;
    pthread_cond_broadcast(&all.changed);
    while (is_any() && pthread_cond_timedwait(&all.changed, &all.mutex, &until) == 0)
        ;
    __atomic_store_n(&all.stop, 1, __ATOMIC_RELAXED);
    while (is_any())
        pthread_cond_wait(&all.changed, &all.mutex);
    leave();
}

static void start(void) {
    thread_condition(&all.changed);
    pthread_atfork(enter, leave, start_child);
    if (atexit(end_process))
        all.leaving = true; // nothing is begun that nobody would wait for
}

static void hold_back(void) {
    struct timespec until = at(clock_ns() + DELAY_NS);
    enter();
    while (!all.leaving && pthread_cond_timedwait(&all.changed, &all.mutex, &until) == 0)
        ;
    leave();
}

// One that cannot be made is not missed: the hurried one goes on.
static void compile(struct later *l) {
    struct kernel_making making;
    struct kernel *kernel = NULL;
    if (kernel_cache_open(l->place, false, &l->q.cache, NULL) != SHOAL_OK)
        return;
    if (kernel_identify(&l->q, &making) == SHOAL_OK && kernel_get(&making, &kernel) == SHOAL_OK)
        kernel_drop(kernel); // it stays loaded
    kernel_making_free(&making);
    cache_close(l->q.cache);
}

static void later_free(struct later *l) {
    kernel_source_free(&l->source);
    kernel_device_close(l->q.device);
    arena_free(&l->arena);
    free(l);
}

static void *work(void *user) {
    struct later *l = user;
    uint32_t slot = l->slot;
    hold_back();
    compile(l);
    later_free(l);
    enter();
    all.key[slot][0] = 0;
    pthread_cond_broadcast(&all.changed);
    leave();
    return NULL;
}

// A place for it; MOST: there is none, or it is there.
static uint32_t take_slot(const char key[KEY_HEX]) {
    uint32_t slot = MOST;
    enter();
    for (uint32_t i = MOST; i-- > 0;)
        slot = all.key[i][0] ? slot : i;
    for (uint32_t i = 0; i < MOST; i++)
        slot = strcmp(all.key[i], key) ? slot : MOST;
    if (all.leaving)
        slot = MOST;
    if (slot < MOST)
        memcpy(all.key[slot], key, KEY_HEX);
    leave();
    return slot;
}

static void give_slot(uint32_t slot) {
    enter();
    all.key[slot][0] = 0;
    leave();
}

static bool copy(struct later *l, const struct kernel_making *k) {
    struct kernel_field *field = arena_new(&l->arena, struct kernel_field, k->q.fields + 1);
    l->place = arena_strdup(&l->arena, cache_place(k->q.cache));
    l->source = *k->q.source;
    l->source.text = (struct buf){0};
    buf_put(&l->source.text, k->text.text, k->text.length);
    l->q = (struct kernel_request){.backend = k->q.backend,
                                   .device = k->q.device,
                                   .source = &l->source,
                                   .entry = k->q.entry,
                                   .abi = k->q.abi,
                                   .field = field,
                                   .fields = k->q.fields,
                                   .stop = &all.stop};
    bool fits = field && l->place && !l->source.text.failed;
    for (uint32_t i = 0; i < k->q.fields && fits; i++) {
        field[i].label = k->q.field[i].label;
        field[i].text = arena_strdup(&l->arena, k->q.field[i].text);
        fits = field[i].text != NULL;
    }
    kernel_device_keep(l->q.device);
    return fits;
}

void later_begin(const struct kernel_making *k) {
    pthread_t thread;
    pthread_once(&all.once, start);
    uint32_t slot = take_slot(k->hex);
    struct later *l = slot < MOST ? calloc(1, sizeof *l) : NULL;
    if (slot == MOST)
        return;
    bool begun = l && copy(l, k);
    if (begun) {
        l->slot = slot;
        begun = thread_start(&thread, work, l) == 0;
    }
    if (begun) {
        pthread_detach(thread);
        return;
    }
    if (l)
        later_free(l);
    give_slot(slot);
}
