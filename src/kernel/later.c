// SPDX-License-Identifier: MIT
// See later.h.
#include "kernel/later.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST = 2,             // threads
    WAIT = 16,            // kernels, with those that are made
    DELAY_NS = 100000000, // what is needed at once is compiled first
};
static const uint64_t leave_ns = 2000000000; // that a process waits at its end

struct later {
    struct kernel_request q;
    struct kernel_source source;
    struct arena arena; // of texts
    const char *place;  // of the cache
    char key[KEY_HEX];
    bool taken; // by a thread
    struct later *next;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_once_t once;
    struct later *list;    // in the order they came
    struct later *parents; // those of processes that this is a copy of, whose threads have them
    uint32_t threads;
    bool leaving;
    int stop; // atomic
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void enter(void) { pthread_mutex_lock(&all.mutex); }
static void leave(void) { pthread_mutex_unlock(&all.mutex); }

// Threads are the parent's, and so is what they may be at.
static void start_child(void) {
    struct later **end = &all.list;
    thread_condition(&all.changed);
    while (*end)
        end = &(*end)->next;
    *end = all.parents;
    all.parents = all.list;
    all.list = NULL;
    all.threads = 0;
    leave();
}

static struct timespec at(uint64_t ns) {
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

// After a while compilers are stopped, which takes a moment.
static void end_process(void) {
    struct timespec until = at(clock_ns() + leave_ns);
    enter();
    all.leaving = true;
    pthread_cond_broadcast(&all.changed);
    while (all.threads && pthread_cond_timedwait(&all.changed, &all.mutex, &until) == 0)
        ;
    __atomic_store_n(&all.stop, 1, __ATOMIC_RELAXED);
    while (all.threads)
        pthread_cond_wait(&all.changed, &all.mutex);
    leave();
}

static void start(void) {
    thread_condition(&all.changed);
    pthread_atfork(enter, leave, start_child);
    if (atexit(end_process))
        all.leaving = true; // nothing is begun that nobody would wait for
}

// ---- A thread -----------------------------------------------------------------------------------

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

// The next one; NULL: there is none, and this thread ends.
static struct later *take(void) {
    enter();
    struct later *l = all.list;
    while (l && l->taken)
        l = l->next;
    if (l)
        l->taken = true;
    else {
        all.threads--;
        pthread_cond_broadcast(&all.changed);
    }
    leave();
    return l;
}

// False: it is not in the list.
static bool take_out(const struct later *l) {
    struct later **p = &all.list;
    while (*p && *p != l)
        p = &(*p)->next;
    if (!*p)
        return false;
    *p = l->next;
    return true;
}

static void *work(void *user) {
    (void)user;
    hold_back();
    for (struct later *l; (l = take()) != NULL;) {
        if (!__atomic_load_n(&all.stop, __ATOMIC_RELAXED))
            compile(l);
        enter();
        take_out(l);
        leave();
        later_free(l);
    }
    return NULL;
}

// ---- The list -----------------------------------------------------------------------------------

bool later_is_made(const char key[KEY_HEX]) {
    bool found = false;
    enter();
    for (const struct later *l = all.list; l; l = l->next)
        found |= !strcmp(l->key, key);
    leave();
    return found;
}

static bool is_full(void) {
    uint32_t count = 0;
    enter();
    for (const struct later *l = all.list; l; l = l->next)
        count++;
    bool full = all.leaving || count >= WAIT;
    leave();
    return full;
}

static bool copy(struct later *l, const struct kernel_making *k) {
    struct kernel_field *field = arena_new(&l->arena, struct kernel_field, k->q.fields + 1);
    l->place = arena_strdup(&l->arena, cache_place(k->q.cache));
    memcpy(l->key, k->hex, KEY_HEX);
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

// Puts it at the end; true when a thread is to be started.
static bool put(struct later *l) {
    struct later **p = &all.list;
    enter();
    while (*p)
        p = &(*p)->next;
    *p = l;
    bool starts = all.threads < MOST;
    all.threads += starts;
    leave();
    return starts;
}

// Another thread may have taken the kernel, or will.
static void start_failed(struct later *l) {
    enter();
    all.threads--;
    bool left = !all.threads && take_out(l);
    leave();
    if (left)
        later_free(l);
}

void later_begin(const struct kernel_making *k) {
    pthread_t thread;
    pthread_once(&all.once, start);
    struct later *l = is_full() || later_is_made(k->hex) ? NULL : calloc(1, sizeof *l);
    if (!l)
        return;
    if (!copy(l, k))
        later_free(l);
    else if (put(l)) {
        if (thread_start(&thread, work, NULL) == 0)
            pthread_detach(thread);
        else
            start_failed(l);
    }
}
