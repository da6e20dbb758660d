// SPDX-License-Identifier: MIT
// Runs a kernel on a chunk: one worker a thread, all drawing rows from one counter.
//
// The thread that starts a chunk is free until it finishes it; then it waits and reports progress.
// A small chunk runs in that thread when it is started, and so does a part of one that several
// threads are done with in a moment. Threads stay with their slot, awake for a while: starting them
// for each chunk would cost more than a small one takes. Workers look at the stop flag of the
// launch and block all signals, so that a handler never runs in one of them.
#include "device/cpu/cpu.h"

#include "base/clock.h"
#include "base/team.h"
#include "device/launch.h"
#include "device/spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LOG_LABEL(kernel_worker, RUNTIME, 65, "rows of a chunk, by one thread of the CPU");

enum { INLINE_ROWS = 16, TICK_MS = 50 };

struct worker {
    struct shoal_slot *slot;
    char *workspace;
    uint64_t begin_ns, end_ns;
};

struct shoal_slot {
    const struct shoal_module *module;
    const struct shoal_launch *launch; // NULL: nothing under way
    struct worker *worker;             // [room], kept from one chunk to the next
    size_t workspace;                  // bytes that each of them has
    uint32_t room, workers;            // workers: of them, those of a chunk
    bool waits;                        // they have threads of their own, for which somebody waits
    uint32_t next;                     // work counter
    struct team *team;
};

// ---- Resident blocks ----------------------------------------------------------------------------

struct shoal_resident {
    size_t bytes;
    char *data;
};

shoal_code cpu_resident_open(struct shoal_device *d, const struct shoal_block *b, shoal_log *log,
                             struct shoal_resident **out, struct report *r) {
    (void)d;
    shoal_code code = launch_check_block(b, "cpu", r);
    if (code != SHOAL_OK)
        return code;
    size_t bytes = launch_used(b), room = (bytes / CPU_ALIGN + 1) * CPU_ALIGN;
    struct shoal_resident *resident = malloc(sizeof *resident);
    char *data = resident ? aligned_alloc(CPU_ALIGN, room) : NULL;
    if (!data) {
        free(resident);
        return SHOAL_MEMORY;
    }
    *resident = (struct shoal_resident){bytes, data};
    for (uint32_t i = 0; i < b->pieces; i++) {
        const struct shoal_piece *p = &b->piece[i];
        uint64_t begin = clock_ns();
        memcpy(data + p->offset, (const char *)b->data + p->offset, p->bytes);
        if (spans_wanted(log))
            spans_copy(&(struct spans){log, "cpu", NULL}, p, begin, clock_ns() - begin);
    }
    *out = resident;
    return SHOAL_OK;
}

void cpu_resident_close(struct shoal_resident *b) {
    if (b)
        free(b->data);
    free(b);
}

// ---- Slots --------------------------------------------------------------------------------------

struct shoal_slot *cpu_slot_open(struct shoal_device *d, uint32_t number) {
    (void)d, (void)number;
    return calloc(1, sizeof(struct shoal_slot));
}

static void workers_free(struct shoal_slot *s) {
    for (uint32_t i = 0; i < s->room; i++)
        free(s->worker[i].workspace);
    free(s->worker);
    s->worker = NULL;
    s->room = s->workers = 0;
}

void cpu_slot_close(struct shoal_slot *s) {
    if (!s)
        return;
    workers_free(s);
    team_free(s->team);
    free(s);
}

static bool workers_new(struct shoal_slot *s, uint32_t count, size_t bytes) {
    workers_free(s);
    s->worker = calloc(count, sizeof *s->worker);
    s->room = s->worker ? count : 0;
    s->workspace = bytes;
    bool ok = s->worker;
    for (uint32_t i = 0; i < count && ok; i++) {
        s->worker[i].slot = s;
        s->worker[i].workspace = aligned_alloc(CPU_ALIGN, bytes);
        ok = s->worker[i].workspace;
    }
    return ok;
}

// As many as a chunk needs; a slot that had more, or larger ones, keeps them.
static shoal_code need_workers(struct shoal_slot *s, uint32_t count, struct report *r) {
    size_t bytes = (s->module->workspace / CPU_ALIGN + 1) * CPU_ALIGN;
    bool ok = (count <= s->room && bytes <= s->workspace) || workers_new(s, count, bytes);
    s->workers = ok ? count : 0;
    if (ok)
        return SHOAL_OK;
    workers_free(s);
    return report_error(r, SHOAL_MEMORY, "out of memory: a worker needs %zu bytes", bytes);
}

// ---- Start --------------------------------------------------------------------------------------

// Kernels leave the upper halves of vector registers in use, since GCC is told to spend no time on
// cleaning them. Each instruction of the caller that knows only the lower halves would then take
// ten times as long on some processors.
#if defined(__x86_64__)
static void leave_vectors(void) {
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
}
#else
static void leave_vectors(void) {}
#endif

static void run_kernel(const struct worker *w) {
    static const volatile int never = 0;
    struct shoal_slot *s = w->slot;
    const struct shoal_launch *l = s->launch;
    s->module->kernel(l->args, l->read.data, l->written.data,
                      l->resident ? l->resident->data : NULL, &s->next, l->stop ? l->stop : &never,
                      w->workspace);
    leave_vectors();
}

static void run_some(void *user, size_t first, size_t end) {
    struct shoal_slot *s = user;
    for (size_t i = first; i < end; i++) {
        s->worker[i].begin_ns = clock_ns();
        run_kernel(&s->worker[i]);
        s->worker[i].end_ns = clock_ns();
    }
}

static bool is_alone(const struct shoal_launch *l) {
    return launch_head(l)->rows <= INLINE_ROWS && !l->progress;
}

static uint32_t workers_for(const struct shoal_launch *l) {
    uint32_t rows = launch_head(l)->rows, threads = l->threads ? l->threads : 1;
    threads = l->brief && l->brief < threads ? l->brief : threads;
    return is_alone(l) || !rows ? 1 : threads < rows ? threads : rows;
}

shoal_code cpu_start(struct shoal_module *m, struct shoal_slot *s, const struct shoal_launch *l,
                     struct report *r) {
    shoal_code code = launch_check(l, l->resident ? l->resident->bytes : 0, false, "cpu", r);
    if (code != SHOAL_OK)
        return code;
    s->module = m;
    s->next = 0;
    code = need_workers(s, workers_for(l), r);
    if (code != SHOAL_OK)
        return code;
    s->launch = l;
    for (uint32_t i = 0; i < l->fills; i++)
        memset((char *)l->written.data + l->fill[i].offset, l->fill[i].value, l->fill[i].bytes);
    s->waits = !is_alone(l) && !l->brief;
    if (!s->waits) {
        team_run(&s->team, l->threads, s->workers, 1, run_some, s);
        return SHOAL_OK;
    }
    int failed = team_start(&s->team, s->workers, run_some, s);
    if (!failed)
        return SHOAL_OK;
    s->launch = NULL;
    return report_error(r, SHOAL_DEVICE, "cannot start a thread: %s", strerror(failed));
}

// ---- Finish -------------------------------------------------------------------------------------

// One track a worker: what each did meanwhile.
static void tell_times(const struct shoal_slot *s) {
    shoal_log *log = s->launch->log;
    char track[32];
    for (uint32_t i = 0; spans_wanted(log) && s->waits && i < s->workers; i++) {
        const struct worker *w = &s->worker[i];
        snprintf(track, sizeof track, "cpu worker %u", i);
        struct spans spans = {log, track, s->launch};
        log_end(log, spans_begin(&spans, LOG_kernel_worker, w->begin_ns, w->end_ns - w->begin_ns));
    }
}

// May ask for a stop.
static void tell_progress(void *user) {
    const struct shoal_slot *s = user;
    const struct shoal_launch *l = s->launch;
    uint32_t rows = launch_head(l)->rows, taken = __atomic_load_n(&s->next, __ATOMIC_RELAXED);
    if (l->progress)
        l->progress(l->user, taken < rows ? taken : rows);
}

shoal_code cpu_finish(struct shoal_slot *s, struct report *r) {
    const struct shoal_launch *l = s->launch;
    (void)r;
    if (!l)
        return SHOAL_OK;
    if (s->waits)
        team_wait(s->team, TICK_MS, tell_progress, s);
    tell_times(s);
    s->launch = NULL;
    return l->stop && *l->stop ? SHOAL_STOPPED : SHOAL_OK;
}
