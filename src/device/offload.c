// SPDX-License-Identifier: MIT
// Prepares a chunk for a device with its own memory, waits for it, and opens its libraries.
#include "device/offload.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <time.h>

enum {
    SPIN_NS = 200000,
    NAP_NS = 20000,
    SLEEP_AFTER_NS = 20000000,
    SLEEP_NS = 500000,
    TICK_NS = 50000000
};

// ---- Pieces -------------------------------------------------------------------------------------

static struct offload_copies copies_of(const struct shoal_block *b, bool small) {
    struct offload_copies c = {.count = b->pieces,
                               .bytes = launch_used(b),
                               .pieces = b->pieces,
                               .piece = b->piece,
                               .small = small};
    if (small && c.count) {
        c.count = 1;
        c.whole = (struct shoal_piece){b->piece->label, 0, c.bytes};
    }
    return c;
}

struct offload offload_of(const struct shoal_launch *l) {
    size_t read = launch_used(&l->read), written = launch_used(&l->written);
    bool small = read && read <= OFFLOAD_SMALL && written <= OFFLOAD_SMALL - read && !l->stays &&
                 !l->read.stretches && !l->written.stretches;
    return (struct offload){.launch = l,
                            .read = copies_of(&l->read, small),
                            .written = copies_of(&l->written, small),
                            .small = small};
}

static const struct shoal_piece *piece_of(const struct offload_copies *c, uint32_t i) {
    return c->small ? &c->whole : &c->piece[i];
}

struct offload_walk offload_walk(const struct shoal_block *b, const struct shoal_piece *p) {
    struct offload_walk w = {.block = b, .at = p->offset, .end = p->offset + p->bytes};
    while (w.next < b->stretches && b->stretch[w.next].offset + b->stretch[w.next].bytes <= w.at)
        w.next++;
    return w;
}

bool offload_next(struct offload_walk *w) {
    const struct shoal_stretch *d =
        w->next < w->block->stretches ? &w->block->stretch[w->next] : NULL;
    bool elsewhere = d && d->offset <= w->at;
    size_t end = !d ? w->end : elsewhere ? d->offset + d->bytes : d->offset;
    end = end < w->end ? end : w->end;
    w->offset = w->at;
    w->bytes = end - w->at;
    w->host = elsewhere ? (char *)d->host + (w->at - d->offset) : (char *)w->block->data + w->at;
    w->next += elsewhere;
    w->at = end;
    return w->bytes > 0;
}

// ---- Steps --------------------------------------------------------------------------------------

int offload_enqueue(const struct offload_steps *steps, struct shoal_slot *s,
                    const struct offload *o, const char **what) {
    *what = "preparing a chunk";
    int error = steps->prepare(s);
    for (uint32_t i = 0; i < o->read.count && !error; i++) {
        *what = "copying to the device";
        error = steps->copy_in(s, piece_of(&o->read, i));
    }
    if (error)
        return error;
    *what = "launching the kernel";
    error = steps->launch(s);
    for (uint32_t i = 0; i < o->written.count && !error; i++) {
        *what = "copying from the device";
        error = steps->copy_out(s, piece_of(&o->written, i));
    }
    return error ? error : steps->end(s);
}

// The time of a copy is that of its pieces, by their bytes.
static void tell_copy(const struct spans *spans, const struct offload_copies *c, uint32_t i,
                      uint64_t t0_ns, uint64_t ns) {
    if (!c->small) {
        spans_copy(spans, &c->piece[i], t0_ns, ns);
        return;
    }
    uint64_t told = 0, bytes = 0;
    for (uint32_t k = 0; k < c->pieces; k++) {
        bytes += c->piece[k].bytes;
        uint64_t until = (uint64_t)((double)ns * (double)bytes / (double)c->bytes);
        spans_copy(spans, &c->piece[k], t0_ns + told, until - told);
        told = until;
    }
}

void offload_tell(const struct offload *o, const char *track,
                  bool (*time)(struct shoal_slot *s, uint32_t i, uint64_t *t0_ns, uint64_t *ns),
                  struct shoal_slot *s) {
    struct spans spans = {o->launch->log, track, o->launch};
    uint32_t kernel = o->read.count, count = kernel + 1 + o->written.count;
    uint64_t t0 = 0, ns = 0;
    for (uint32_t i = 0; i < count && time(s, i, &t0, &ns); i++) {
        if (i == kernel)
            spans_kernel(&spans, t0, ns);
        else if (i < kernel)
            tell_copy(&spans, &o->read, i, t0, ns);
        else
            tell_copy(&spans, &o->written, i - kernel - 1, t0, ns);
    }
}

// ---- Waiting ------------------------------------------------------------------------------------

static void rest(uint64_t waited_ns) {
    struct timespec nap = {.tv_nsec = waited_ns < SLEEP_AFTER_NS ? NAP_NS : SLEEP_NS};
    if (waited_ns > SPIN_NS)
        nanosleep(&nap, NULL);
}

void offload_busy_add(struct offload_busy *b, struct offload_link *link) {
    pthread_mutex_lock(&b->lock);
    link->next = b->first;
    b->first = link;
    pthread_mutex_unlock(&b->lock);
}

void offload_busy_remove(struct offload_busy *b, const struct offload_link *link) {
    pthread_mutex_lock(&b->lock);
    struct offload_link **at = &b->first;
    while (*at && *at != link)
        at = &(*at)->next;
    if (*at)
        *at = link->next;
    pthread_mutex_unlock(&b->lock);
}

static void stop_all(const struct offload_wait *w) {
    pthread_mutex_lock(&w->busy->lock);
    for (const struct offload_link *i = w->busy->first; i; i = i->next)
        if (i->launch->stop && *i->launch->stop)
            w->stop(i->slot);
    pthread_mutex_unlock(&w->busy->lock);
}

int offload_wait(const struct offload_wait *w) {
    const struct shoal_launch *l = w->link->launch;
    uint64_t start = clock_ns(), tick = start + TICK_NS, tell = 0;
    int state;
    while (!(state = w->poll(w->link->slot))) {
        uint64_t now = clock_ns();
        if (now >= tick && l->progress) // may ask for a stop
            l->progress(l->user, 0);
        if (now >= tick)
            tick = now + TICK_NS;
        if (l->stop && *l->stop && now >= tell) { // again and again: what a launch that waits for
            stop_all(w);                          // others fills before it starts undoes it
            tell = now + TICK_NS;
        }
        rest(now - start);
    }
    return state;
}

// ---- Libraries ----------------------------------------------------------------------------------

void *offload_open_library(const char *const *names) {
    void *handle = NULL;
    for (; *names && !handle; names++)
        handle = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
    return handle;
}
