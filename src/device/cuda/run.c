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
// What a small chunk takes is the number of its steps: its inputs and the first state of its
// results go to one buffer in one copy.
#include "device/cuda/cuda.h"

#include "base/clock.h"
#include "device/offload.h"

#include <stdio.h>
#include <string.h>

// Device memory is taken in steps. A small chunk's results lie behind its inputs.
enum { ROOM_STEP = 64 << 10, OUT_ALIGN = 256, STAGE = OFFLOAD_SMALL + 4096 };

static void buffer_free(const struct cuda_driver *cu, struct cuda_buffer *b) {
    if (b->at)
        cu->memory_free(b->at);
    *b = (struct cuda_buffer){0};
}

static int buffer_grow(const struct cuda_driver *cu, struct cuda_buffer *b, size_t bytes) {
    if (b->bytes >= bytes)
        return CU_OK;
    size_t room = (bytes + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
    buffer_free(cu, b);
    int result = cu->memory_new(&b->at, room);
    if (result == CU_OK)
        b->bytes = room;
    else
        b->at = 0;
    return result;
}

void cuda_slot_free(const struct cuda_driver *cu, struct cuda_slot *s) {
    if (s->stream)
        cu->stream_wait(s->stream);
    buffer_free(cu, &s->in);
    buffer_free(cu, &s->out);
    buffer_free(cu, &s->workspace);
    for (int i = 0; i < CUDA_MARKS; i++)
        if (s->mark[i])
            cu->event_free(s->mark[i]);
    if (s->done)
        cu->event_free(s->done);
    if (s->stage)
        cu->host_free(s->stage);
    if (s->stream)
        cu->stream_free(s->stream);
    *s = (struct cuda_slot){0};
}

// ---- Start --------------------------------------------------------------------------------------

static int slot_ready(struct shoal_module *m, uint32_t index, bool timed) {
    const struct cuda_driver *cu = m->device->cu;
    struct cuda_slot *s = &m->slot[index];
    int result = CU_OK;
    if (!s->stream)
        result = cu->stream_new(&s->stream, CU_STREAM_NON_BLOCKING);
    if (result == CU_OK && !s->done)
        result = cu->event_new(&s->done, CU_EVENT_NO_TIMING);
    for (int i = 0; timed && result == CU_OK && i < CUDA_MARKS; i++)
        if (!s->mark[i])
            result = cu->event_new(&s->mark[i], 0);
    snprintf(s->track, sizeof s->track, "cuda:%u stream %u", m->device->index, index);
    return result;
}

struct shape {
    unsigned grid, block;
};

// Without refill every row has its thread. With it there are as many threads as run at a time: a
// batch that is no larger needs none, and large systems, whose threads need memory, always have it.
static struct shape shape_of(const struct shoal_module *m, size_t workspace,
                             struct shoal_sizes *z) {
    const struct cuda_shape *c = &m->plain;
    z->refill = z->rows > m->refill.resident * m->refill.block && (z->refill || workspace);
    if (z->refill)
        c = &m->refill;
    else if (z->rows <= (unsigned)m->device->multiprocessors * m->plain.block)
        c = &m->tiny;
    unsigned grid = (z->rows + c->block - 1) / c->block;
    if (z->refill && grid > c->resident)
        grid = c->resident;
    return (struct shape){grid, c->block};
}

static int mark(const struct cuda_driver *cu, struct cuda_slot *s, bool timed, int *marks) {
    return timed ? cu->event_record(s->mark[(*marks)++], s->stream) : CU_OK;
}

// The first state of the results.
static int reset(const struct cuda_driver *cu, const struct cuda_slot *s, const struct offload *o) {
    int result =
        cu->fill_bytes(s->out_at + o->args.status, SHOAL_ROW_PENDING, o->args.z.rows, s->stream);
    if (result == CU_OK)
        result = cu->fill_words(s->out_at + o->args.totals, 0,
                                TOTAL_COUNT * sizeof(uint64_t) / sizeof(unsigned), s->stream);
    return result;
}

// The inputs of a small chunk and the first state of its results.
static int copy_small(const struct cuda_driver *cu, struct cuda_slot *s,
                      const struct shoal_launch *l, const struct offload *o) {
    size_t out = (size_t)(s->out_at - s->in_at), totals = TOTAL_COUNT * sizeof(uint64_t);
    size_t status_end = out + o->args.status + o->args.z.rows;
    size_t totals_end = out + o->args.totals + totals;
    memcpy(s->stage, l->in.data, o->in.bytes);
    memset(s->stage + out + o->args.status, SHOAL_ROW_PENDING, o->args.z.rows);
    memset(s->stage + out + o->args.totals, 0, totals);
    return cu->copy_in(s->in_at, s->stage, status_end > totals_end ? status_end : totals_end,
                       s->stream);
}

static int copy_in(const struct cuda_driver *cu, struct cuda_slot *s, const struct shoal_launch *l,
                   const struct offload *o, bool timed, int *marks) {
    int result = CU_OK;
    for (uint32_t i = 0; i < o->in.count && result == CU_OK; i++) {
        const struct shoal_piece *p = &o->in.piece[i];
        result = o->small ? copy_small(cu, s, l, o)
                          : cu->copy_in(s->in_at + p->offset, (const char *)l->in.data + p->offset,
                                        p->bytes, s->stream);
        if (result == CU_OK)
            result = mark(cu, s, timed, marks);
    }
    return result;
}

static int copy_out(const struct cuda_driver *cu, struct cuda_slot *s, const struct shoal_launch *l,
                    const struct offload_copies *c, bool timed, int *marks) {
    int result = CU_OK;
    for (uint32_t i = 0; i < c->count && result == CU_OK; i++) {
        const struct shoal_piece *p = &c->piece[i];
        result = cu->copy_out((char *)l->out.data + p->offset, s->out_at + p->offset, p->bytes,
                              s->stream);
        if (result == CU_OK)
            result = mark(cu, s, timed, marks);
    }
    return result;
}

static int launch(struct shoal_module *m, uint32_t index, struct offload *o,
                  const struct shape *shape) {
    struct cuda_slot *s = &m->slot[index];
    cu_address words = m->words + CUDA_LINE * index;
    cu_address next = words + sizeof(int) * CUDA_NEXT, stop = words + sizeof(int) * CUDA_STOP;
    void *arguments[] = {&o->args, &s->in_at, &s->out_at, &next, &stop, &s->workspace.at};
    return m->device->cu->launch(m->kernel, shape->grid, 1, 1, shape->block, 1, 1, 0, s->stream,
                                 arguments, NULL);
}

// All of a chunk onto its stream; what failed is in *what.
static int enqueue(struct shoal_module *m, uint32_t index, const struct shoal_launch *l,
                   struct offload *o, const struct shape *shape, const char **what) {
    const struct cuda_driver *cu = m->device->cu;
    struct cuda_slot *s = &m->slot[index];
    bool timed = offload_timed(l);
    int marks = 0;
    *what = "preparing a chunk";
    int result = o->small ? CU_OK : reset(cu, s, o);
    if (result == CU_OK && !s->words_clean)
        result = cu->fill_words(m->words + CUDA_LINE * index, 0, CUDA_WORDS, s->stream);
    s->words_clean = !o->args.z.refill;
    s->t0_ns = clock_ns();
    if (result == CU_OK)
        result = mark(cu, s, timed, &marks);
    *what = "copying to the device";
    if (result == CU_OK)
        result = copy_in(cu, s, l, o, timed, &marks);
    if (result != CU_OK)
        return result;
    *what = "launching the kernel";
    result = launch(m, index, o, shape);
    if (result == CU_OK)
        result = mark(cu, s, timed, &marks);
    if (result != CU_OK)
        return result;
    *what = "copying from the device";
    result = copy_out(cu, s, l, &o->out, timed, &marks);
    return result == CU_OK ? cu->event_record(s->done, s->stream) : result;
}

static int make_room(struct shoal_module *m, uint32_t index, const struct shoal_launch *l,
                     const struct offload *o, const struct shape *shape) {
    const struct cuda_driver *cu = m->device->cu;
    struct cuda_slot *s = &m->slot[index];
    size_t threads = (size_t)shape->grid * shape->block;
    size_t behind = (o->in.bytes + OUT_ALIGN - 1) / OUT_ALIGN * OUT_ALIGN;
    int result = slot_ready(m, index, offload_timed(l));
    if (result == CU_OK)
        result = buffer_grow(cu, &s->in, o->small ? behind + o->out.bytes : o->in.bytes);
    if (result == CU_OK && !o->small)
        result = buffer_grow(cu, &s->out, o->out.bytes);
    if (result == CU_OK && o->small && !s->stage) {
        void *stage = NULL;
        result = cu->host_new(&stage, STAGE, CU_HOST_PORTABLE);
        s->stage = result == CU_OK ? stage : NULL;
    }
    if (result == CU_OK)
        result = buffer_grow(cu, &s->workspace, l->workspace * threads);
    s->in_at = s->in.at;
    s->out_at = o->small ? s->in.at + behind : s->out.at;
    return result;
}

static shoal_code start(struct shoal_module *m, uint32_t index, const struct shoal_launch *l,
                        struct report *r) {
    const struct cuda_driver *cu = m->device->cu;
    struct offload o;
    if (!offload_prepare(l, &o))
        return report_error(r, SHOAL_DEVICE, "cuda: an array of the chunk lies outside its block");
    struct shape shape = shape_of(m, l->workspace, &o.args.z);
    const char *what = "taking memory of the device";
    int result = make_room(m, index, l, &o, &shape);
    if (result == CU_OUT_OF_MEMORY)
        return SHOAL_MEMORY;
    if (result == CU_OK)
        result = enqueue(m, index, l, &o, &shape, &what);
    if (result == CU_OK) {
        m->slot[index].launch = l;
        return SHOAL_OK;
    }
    if (m->slot[index].stream)
        cu->stream_wait(m->slot[index].stream); // the blocks are the caller's again
    return result == CU_OUT_OF_MEMORY ? SHOAL_MEMORY : cuda_error(cu, what, result, r);
}

shoal_code cuda_start(struct shoal_module *m, uint32_t slot, const struct shoal_launch *l,
                      struct report *r) {
    shoal_code code = cuda_enter(m->device, r);
    if (code != SHOAL_OK)
        return code;
    code = start(m, slot, l, r);
    cuda_leave(m->device);
    return code;
}

// ---- Finish -------------------------------------------------------------------------------------

struct watch {
    struct shoal_module *module;
    uint32_t slot;
    int result; // of the chunk
};

static int poll_done(void *user) {
    struct watch *w = user;
    w->result = w->module->device->cu->event_query(w->module->slot[w->slot].done);
    return w->result != CU_NOT_READY;
}

// A stop is for all chunks under way.
static void stop_all(void *user) {
    static const int yes = 1;
    struct shoal_module *m = ((const struct watch *)user)->module;
    const struct cuda_driver *cu = m->device->cu;
    if (!m->stopper && cu->stream_new(&m->stopper, CU_STREAM_NON_BLOCKING) != CU_OK)
        return;
    for (unsigned i = 0; i < CUDA_SLOTS; i++) {
        const struct shoal_launch *l = m->slot[i].launch;
        if (!l || !l->stop || !*l->stop)
            continue;
        m->slot[i].words_clean = false;
        cu->copy_in(m->words + CUDA_LINE * i + sizeof(int) * CUDA_STOP, &yes, sizeof yes,
                    m->stopper);
    }
    cu->stream_wait(m->stopper);
}

// The spans of a chunk that is done: the time between two marks is a copy's or the kernel's.
static void tell_times(const struct cuda_driver *cu, const struct cuda_slot *s) {
    const struct shoal_launch *l = s->launch;
    struct offload o;
    float from = 0, to = 0;
    struct offload_spans spans = {l, s->track};
    if (!offload_timed(l) || !s->mark[0] || !offload_prepare(l, &o))
        return;
    uint32_t count = o.in.count + 1 + o.out.count;
    for (uint32_t i = 0; i < count; i++, from = to) {
        if (cu->event_elapsed(&to, s->mark[0], s->mark[i + 1]) != CU_OK)
            return;
        uint64_t t0 = s->t0_ns + (uint64_t)((double)from * 1e6);
        uint64_t ns = to > from ? (uint64_t)(((double)to - (double)from) * 1e6) : 0;
        if (i == o.in.count)
            offload_span_kernel(&spans, t0, ns);
        else
            offload_span_copy(
                &spans, i < o.in.count ? &o.in.piece[i] : &o.out.piece[i - o.in.count - 1], t0, ns);
    }
}

static shoal_code finish(struct shoal_module *m, uint32_t index, struct report *r) {
    const struct cuda_driver *cu = m->device->cu;
    struct cuda_slot *s = &m->slot[index];
    const struct shoal_launch *l = s->launch;
    struct watch watch = {.module = m, .slot = index};
    struct offload_wait wait = {.launch = l, .user = &watch, .poll = poll_done, .stop = stop_all};
    offload_wait(&wait);
    if (watch.result == CU_OK)
        tell_times(cu, s);
    s->launch = NULL;
    if (watch.result != CU_OK)
        return cuda_error(cu, "running the kernel", watch.result, r);
    return l->stop && *l->stop ? SHOAL_STOPPED : SHOAL_OK;
}

shoal_code cuda_finish(struct shoal_module *m, uint32_t slot, struct report *r) {
    if (!m->slot[slot].launch)
        return SHOAL_OK;
    shoal_code code = cuda_enter(m->device, r);
    if (code != SHOAL_OK)
        return code;
    code = finish(m, slot, r);
    cuda_leave(m->device);
    return code;
}
