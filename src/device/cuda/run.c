// SPDX-License-Identifier: MIT
// Chunks on streams: copies in, kernel, copies out, in order on the stream of a slot; those of
// other slots overlap. Nothing waits but `finish`.
//
// The kernel looks at a word of the device's memory now and then, and a stream of its own writes
// it: that is how a stop reaches it (a word of host memory would cost every look a trip over the
// bus). Times come from events between the steps of a chunk, made only when somebody wants them;
// they are read when the chunk is done, which `finish` waits for anyway. A kernel's time includes
// what it waits for room on a device that the kernel of another slot fills.
//
// What a small chunk takes is the number of its steps: its inputs and what its results are filled
// with go to one buffer in one copy. A single warp is given its inputs with the arguments, writes
// its results to the host's memory by itself, and behind them a word that says so: a copy would
// wake an engine that takes longer than all of them, and an event comes later than the word. More
// warps would wait for each other's sums there, longer than for the copy.
#include "device/cuda/cuda.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A small chunk's results lie behind its inputs.
enum { WARP = 32, OUT_ALIGN = 256, STAGE = OFFLOAD_SMALL + 4096, DONE_AT = STAGE - 64 };
enum { LOOKS = 1024 }; // at a word, after which the driver is asked whether the kernel failed

// ---- Slots --------------------------------------------------------------------------------------

struct shoal_slot *cuda_slot_open(struct shoal_device *d, uint32_t number) {
    struct shoal_slot *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->device = d;
    snprintf(s->track, sizeof s->track, "cuda:%u stream %u", d->index, number);
    return s;
}

static void free_all(struct shoal_slot *s) {
    const struct cuda_driver *cu = s->device->cu;
    if (s->stream)
        cu->stream_wait(s->stream);
    cuda_buffer_free(cu, &s->read);
    cuda_buffer_free(cu, &s->written);
    cuda_buffer_free(cu, &s->workspace);
    if (s->words)
        cu->memory_free(s->words);
    for (uint32_t i = 0; i < s->marks_most; i++)
        cu->event_free(s->mark[i]);
    if (s->done)
        cu->event_free(s->done);
    if (s->stage)
        cu->host_free(s->stage);
    if (s->stopper)
        cu->stream_free(s->stopper);
    if (s->stream)
        cu->stream_free(s->stream);
}

void cuda_slot_close(struct shoal_slot *s) {
    if (!s)
        return;
    if (s->stream && cuda_enter(s->device, NULL) == SHOAL_OK) {
        free_all(s);
        cuda_leave(s->device);
    }
    free(s->mark);
    free(s);
}

// ---- Room ---------------------------------------------------------------------------------------

static int need_marks(struct shoal_slot *s, uint32_t count) {
    if (count <= s->marks_most)
        return CU_OK;
    cu_event *mark = realloc(s->mark, count * sizeof *mark);
    if (!mark)
        return CU_OUT_OF_MEMORY;
    s->mark = mark;
    int result = CU_OK;
    while (s->marks_most < count && result == CU_OK) {
        result = s->device->cu->event_new(&mark[s->marks_most], 0);
        s->marks_most += result == CU_OK;
    }
    return result;
}

static int slot_ready(struct shoal_slot *s) {
    const struct cuda_driver *cu = s->device->cu;
    int result = CU_OK;
    if (!s->stream)
        result = cu->stream_new(&s->stream, CU_STREAM_NON_BLOCKING);
    if (result == CU_OK && !s->done)
        result = cu->event_new(&s->done, CU_EVENT_NO_TIMING);
    if (result == CU_OK && !s->words)
        result = cu->memory_new(&s->words, sizeof(int) * CUDA_WORDS);
    if (result == CU_OK && s->timed)
        result = need_marks(s, s->chunk.read.count + s->chunk.written.count + 2);
    return result;
}

enum { ROWS_OF_A_LANE = 32 }; // from which on the end of a batch is short beside it

// Without refill every row has its thread, with it there are as many threads as run at a time.
// Batches that do not fill the device are spread over it. Teams are blocks.
static void choose_shape(struct shoal_slot *s) {
    const struct shoal_module *m = s->module;
    const struct shoal_launch *l = s->chunk.launch;
    const struct shoal_head *head = launch_head(l);
    const struct cuda_shape *c = &m->plain;
    struct cuda_shape team = {l->team, 0};
    if (l->team) {
        unsigned blocks = head->refill ? cuda_resident_blocks(m, l->team, l->shared) : 0;
        team.resident = blocks ? blocks : 1;
        c = &team;
    } else if (head->refill)
        c = head->rows / ROWS_OF_A_LANE < m->refill.resident * m->refill.block ? &m->few
                                                                               : &m->refill;
    else if (head->rows <= (unsigned)m->device->multiprocessors * m->plain.block)
        c = &m->tiny;
    s->block = c->block;
    s->grid = (head->rows + c->block - 1) / c->block;
    if (head->refill && s->grid > c->resident)
        s->grid = c->resident;
    s->straight = s->chunk.small && l->writes_only && s->grid * s->block == WARP;
}

// What a single warp is given besides. Times of a chunk end with its events, which then are waited
// for.
static void choose_lone(struct shoal_slot *s) {
    size_t bytes = s->chunk.read.bytes;
    bool lone = s->straight && s->chunk.launch->lone && s->device->has_lone;
    s->lone.words = lone && bytes <= sizeof s->lone.word ? (unsigned)((bytes + 3) / 4) : 0;
    s->lone.done = lone && !s->timed ? (uintptr_t)(s->stage + DONE_AT) : 0;
    if (!++s->lone.number) // the word is 0 at first
        s->lone.number = 1;
    s->looks = 0;
    if (s->lone.done) // of a module that several threads may run
        __atomic_store_n(&s->module->hasty, true, __ATOMIC_RELAXED);
}

static int need_stage(struct shoal_slot *s) {
    void *stage = NULL;
    if (s->stage)
        return CU_OK;
    int result = s->device->cu->host_new(&stage, STAGE, CU_HOST_PORTABLE);
    s->stage = result == CU_OK ? stage : NULL;
    if (s->stage)
        memset(s->stage + DONE_AT, 0, sizeof s->lone.number);
    return result;
}

// Bytes that a chunk needs on the device.
struct needs {
    size_t read, written, workspace;
};

// Where a small chunk's results begin.
static size_t behind_inputs(const struct offload *o) {
    return (o->read.bytes + OUT_ALIGN - 1) / OUT_ALIGN * OUT_ALIGN;
}

static struct needs needs_of(const struct shoal_slot *s) {
    const struct offload *o = &s->chunk;
    size_t threads = (size_t)s->grid * s->block;
    return (struct needs){.read = o->small ? behind_inputs(o) + o->written.bytes : o->read.bytes,
                          .written = o->small ? 0 : o->written.bytes + o->launch->stays,
                          .workspace = o->launch->workspace * threads};
}

static bool has_room(const struct shoal_slot *s, const struct needs *n) {
    return s->stream && s->read.bytes >= n->read && s->written.bytes >= n->written &&
           s->workspace.bytes >= n->workspace && (s->stage || !s->chunk.small);
}

static int grow(struct shoal_slot *s, const struct needs *n) {
    const struct cuda_driver *cu = s->device->cu;
    int result = cuda_buffer_grow(cu, &s->read, n->read);
    if (result == CU_OK)
        result = cuda_buffer_grow(cu, &s->written, n->written);
    if (result == CU_OK && s->chunk.small)
        result = need_stage(s);
    if (result == CU_OK)
        result = cuda_buffer_grow(cu, &s->workspace, n->workspace);
    return result;
}

static int make_room(struct shoal_slot *s) {
    shoal_log *log = s->chunk.launch->log;
    struct needs n = needs_of(s);
    int32_t span = has_room(s, &n) ? -1 : log_begin(log, LOG_device_memory);
    int result = slot_ready(s);
    if (result == CU_OK)
        result = grow(s, &n);
    s->read_at = s->read.at;
    s->written_at = s->written.at;
    if (s->chunk.small) // pinned memory has the same address everywhere
        s->written_at =
            (s->straight ? (cu_address)(uintptr_t)s->stage : s->read.at) + behind_inputs(&s->chunk);
    log_nbytes(log, span, n.read + n.written + n.workspace);
    log_end(log, span);
    return result;
}

// ---- Start --------------------------------------------------------------------------------------

// The next of the marks that a timed chunk has.
static int mark(struct shoal_slot *s) {
    return s->timed ? s->device->cu->event_record(s->mark[s->marks++], s->stream) : CU_OK;
}

static int prepare(struct shoal_slot *s) {
    const struct cuda_driver *cu = s->device->cu;
    const struct shoal_launch *l = s->chunk.launch;
    int result = CU_OK;
    for (uint32_t i = 0; i < l->fills && result == CU_OK && !s->chunk.small; i++)
        if (l->fill[i].bytes)
            result = cu->fill(s->written_at + l->fill[i].offset, l->fill[i].value, l->fill[i].bytes,
                              s->stream);
    if (result == CU_OK && !s->words_clean)
        result = cu->fill(s->words, 0, sizeof(int) * CUDA_WORDS, s->stream);
    s->words_clean = !launch_head(l)->refill;
    s->t0_ns = clock_ns();
    return result == CU_OK ? mark(s) : result;
}

// The inputs of a small chunk and what its results are filled with.
static int copy_small(struct shoal_slot *s) {
    const struct shoal_launch *l = s->chunk.launch;
    size_t behind = behind_inputs(&s->chunk), end = s->chunk.read.bytes;
    memcpy(s->lone.words ? (char *)s->lone.word : s->stage, l->read.data, end);
    for (uint32_t i = 0; i < l->fills; i++) {
        const struct shoal_fill *f = &l->fill[i];
        memset(s->stage + behind + f->offset, f->value, f->bytes);
        if (!s->straight && behind + f->offset + f->bytes > end)
            end = behind + f->offset + f->bytes;
    }
    return s->lone.words ? CU_OK : s->device->cu->copy_in(s->read_at, s->stage, end, s->stream);
}

static int copy_in(struct shoal_slot *s, const struct shoal_piece *p) {
    struct offload_walk w = offload_walk(&s->chunk.launch->read, p);
    int result = s->chunk.small ? copy_small(s) : CU_OK;
    while (!s->chunk.small && result == CU_OK && offload_next(&w))
        result = s->device->cu->copy_in(s->read_at + w.offset, w.host, w.bytes, s->stream);
    return result == CU_OK ? mark(s) : result;
}

static int launch(struct shoal_slot *s) {
    const struct shoal_launch *l = s->chunk.launch;
    cu_address resident = l->resident ? l->resident->buffer.at : 0;
    cu_address next = s->words + sizeof(int) * CUDA_NEXT, stop = s->words + sizeof(int) * CUDA_STOP;
    // The driver takes as many as the kernel has parameters: without LONE it is one less.
    void *arguments[] = {
        (void *)(uintptr_t)l->args, &s->read_at, &s->written_at, &resident, &next, &stop,
        &s->workspace.at,           &s->lone};
    int result = s->device->cu->launch(s->module->kernel, s->grid, 1, 1, s->block, 1, 1,
                                       (unsigned)l->shared, s->stream, arguments, NULL);
    return result == CU_OK ? mark(s) : result;
}

static int copy_out(struct shoal_slot *s, const struct shoal_piece *p) {
    struct offload_walk w = offload_walk(&s->chunk.launch->written, p);
    int result = CU_OK;
    while (!s->straight && result == CU_OK && offload_next(&w))
        result = s->device->cu->copy_out(w.host, s->written_at + w.offset, w.bytes, s->stream);
    return result == CU_OK ? mark(s) : result;
}

static int end(struct shoal_slot *s) {
    return s->lone.done ? CU_OK : s->device->cu->event_record(s->done, s->stream);
}

static const struct offload_steps steps = {prepare, copy_in, launch, copy_out, end};

static shoal_code start(struct shoal_slot *s, struct report *r) {
    const struct cuda_driver *cu = s->device->cu;
    const char *what = "taking memory of the device";
    choose_shape(s);
    int result = make_room(s);
    if (result == CU_OK) {
        choose_lone(s);
        result = offload_enqueue(&steps, s, &s->chunk, &what);
        if (result == CU_OK) {
            s->launch = s->chunk.launch;
            s->busy = (struct offload_link){.launch = s->launch, .slot = s};
            offload_busy_add(&s->device->busy, &s->busy);
            return SHOAL_OK;
        }
        cu->stream_wait(s->stream); // the blocks are the caller's again
        s->words_clean = false;
    }
    return result == CU_OUT_OF_MEMORY ? SHOAL_MEMORY : cuda_error(cu, what, result, r);
}

shoal_code cuda_start(struct shoal_module *m, struct shoal_slot *s, const struct shoal_launch *l,
                      struct report *r) {
    shoal_code code = cuda_enter(s->device, r);
    if (code != SHOAL_OK)
        return code;
    code = launch_check(l, l->resident ? l->resident->bytes : 0, true, "cuda", r);
    if (code == SHOAL_OK) {
        s->module = m;
        s->chunk = offload_of(l);
        s->timed = spans_wanted(l->log);
        s->marks = 0;
        code = start(s, r);
    }
    cuda_leave(s->device);
    return code;
}

// ---- Finish -------------------------------------------------------------------------------------

static bool said_done(const struct shoal_slot *s) {
    const unsigned *word = (const unsigned *)(const void *)(s->stage + DONE_AT);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == s->lone.number;
}

// A kernel that failed says nothing.
static int look_at_word(struct shoal_slot *s) {
    if (said_done(s))
        return CU_OK;
    if (++s->looks % LOOKS)
        return CU_NOT_READY;
    int result = s->device->cu->stream_query(s->stream);
    return result == CU_OK && !said_done(s) ? CU_UNKNOWN : result;
}

static int poll_done(struct shoal_slot *s) {
    s->result = s->lone.done ? look_at_word(s) : s->device->cu->event_query(s->done);
    return s->result != CU_NOT_READY;
}

static void stop(struct shoal_slot *s) {
    static const int yes = 1;
    const struct cuda_driver *cu = s->device->cu;
    if (!s->stopper && cu->stream_new(&s->stopper, CU_STREAM_NON_BLOCKING) != CU_OK)
        return;
    s->words_clean = false;
    cu->copy_in(s->words + sizeof(int) * CUDA_STOP, &yes, sizeof yes, s->stopper);
    cu->stream_wait(s->stopper);
}

// The time between two marks is a copy's or the kernel's.
static bool time_of(struct shoal_slot *s, uint32_t i, uint64_t *t0_ns, uint64_t *ns) {
    float from = i ? s->told_ms : 0, to = 0;
    if (s->device->cu->event_elapsed(&to, s->mark[0], s->mark[i + 1]) != CU_OK)
        return false;
    *t0_ns = s->t0_ns + (uint64_t)((double)from * 1e6);
    *ns = to > from ? (uint64_t)(((double)to - (double)from) * 1e6) : 0;
    s->told_ms = to;
    return true;
}

static shoal_code finish(struct shoal_slot *s, struct report *r) {
    const struct shoal_launch *l = s->launch;
    offload_wait(&(struct offload_wait){&s->device->busy, &s->busy, poll_done, stop});
    offload_busy_remove(&s->device->busy, &s->busy);
    if (s->result == CU_OK && s->timed)
        offload_tell(&s->chunk, s->track, time_of, s);
    s->launch = NULL;
    if (s->result == CU_OK && s->straight)
        memcpy(l->written.data, s->stage + behind_inputs(&s->chunk), s->chunk.written.bytes);
    if (s->result != CU_OK) {
        s->device->cu->stream_wait(s->stream); // what it was to copy to is the caller's again
        return cuda_error(s->device->cu, "running the kernel", s->result, r);
    }
    return l->stop && *l->stop ? SHOAL_STOPPED : SHOAL_OK;
}

shoal_code cuda_finish(struct shoal_slot *s, struct report *r) {
    if (!s->launch)
        return SHOAL_OK;
    shoal_code code = cuda_enter(s->device, r);
    if (code != SHOAL_OK)
        return code;
    code = finish(s, r);
    cuda_leave(s->device);
    return code;
}
