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

// ---- Arguments and pieces -----------------------------------------------------------------------

static bool offset_of(const void *array, const struct shoal_block *b, unsigned long long *offset) {
    *offset = SHOAL_NOWHERE;
    if (!array)
        return true;
    uintptr_t at = (uintptr_t)array, start = (uintptr_t)b->data;
    if (at < start || at - start > b->bytes)
        return false;
    *offset = at - start;
    return true;
}

static struct offload_copies copies_of(const struct shoal_block *b, bool small) {
    struct offload_copies c = {0};
    size_t largest = 0;
    for (uint32_t i = 0; i < b->pieces; i++) {
        const struct shoal_piece *p = &b->piece[i];
        if (!p->bytes)
            continue;
        if (!small || !c.count)
            c.piece[c.count++] = *p;
        if (small && p->bytes > largest)
            c.piece[0].label = p->label;
        largest = p->bytes > largest ? p->bytes : largest;
        c.bytes = p->offset + p->bytes;
    }
    if (small && c.count)
        c.piece[0].bytes = c.bytes - c.piece[0].offset;
    return c;
}

static size_t end_of(const struct shoal_block *b) {
    size_t end = 0;
    for (uint32_t i = 0; i < b->pieces; i++)
        end = b->piece[i].bytes ? b->piece[i].offset + b->piece[i].bytes : end;
    return end;
}

// Whether an array that every chunk has comes back.
static bool comes_back(const struct offload *o, unsigned long long offset, size_t bytes) {
    return offset <= o->out.bytes && bytes <= o->out.bytes - offset;
}

bool offload_prepare(const struct shoal_launch *l, struct offload *out) {
    size_t in = end_of(&l->in);
    bool ok = true;
    out->small = in && in <= OFFLOAD_SMALL && end_of(&l->out) <= OFFLOAD_SMALL - in;
    out->in = copies_of(&l->in, out->small);
    out->out = copies_of(&l->out, out->small);
    out->args.z = l->args->z;
#define X(name, type) ok = offset_of(l->args->name, &l->in, &out->args.name) && ok;
    SHOAL_INPUTS(X)
#undef X
#define X(name, type) ok = offset_of(l->args->name, &l->out, &out->args.name) && ok;
    SHOAL_OUTPUTS(X)
#undef X
    return ok && comes_back(out, out->args.status, l->args->z.rows) &&
           comes_back(out, out->args.totals, TOTAL_COUNT * sizeof(uint64_t));
}

// ---- Waiting ------------------------------------------------------------------------------------

static void rest(uint64_t waited_ns) {
    struct timespec nap = {.tv_nsec = waited_ns < SLEEP_AFTER_NS ? NAP_NS : SLEEP_NS};
    if (waited_ns > SPIN_NS)
        nanosleep(&nap, NULL);
}

int offload_wait(const struct offload_wait *w) {
    const struct shoal_launch *l = w->launch;
    uint64_t start = clock_ns(), tick = start + TICK_NS;
    bool told = false;
    int state;
    while (!(state = w->poll(w->user))) {
        uint64_t now = clock_ns();
        if (now >= tick && l->progress) // may ask for a stop
            l->progress(l->user, w->taken ? w->taken(w->user) : 0);
        if (now >= tick)
            tick = now + TICK_NS;
        if (!told && l->stop && *l->stop) {
            w->stop(w->user);
            told = true;
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
