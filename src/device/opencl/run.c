// SPDX-License-Identifier: MIT
// Chunks on queues: copies in, kernel, copies out, in order on the queue of a slot; those of other
// slots overlap where the device can. Nothing waits but `finish`.
//
// The kernel looks at a word now and then: that is how a stop reaches it. The word is host memory,
// which CPUs and devices that share memory see at once; for others it is also written by another
// queue. OpenCL does not promise that a running kernel sees either; all drivers known do one.
#include "device/opencl/opencl.h"

#include "base/clock.h"
#include "device/offload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_STEP = 4096 };

static void buffer_free(const struct opencl *cl, struct opencl_buffer *b) {
    if (b->buffer)
        cl->buffer_free(b->buffer);
    *b = (struct opencl_buffer){0};
}

static int buffer_grow(const struct shoal_device *d, struct opencl_buffer *b, size_t bytes) {
    int error = CL_OK;
    if (b->buffer && b->bytes >= bytes)
        return CL_OK;
    size_t room = (bytes / ROOM_STEP + 1) * ROOM_STEP;
    buffer_free(d->cl, b);
    b->buffer = d->cl->buffer_new(d->context, CL_BUFFER_READ_WRITE, room, NULL, &error);
    b->bytes = b->buffer ? room : 0;
    return b->buffer ? CL_OK : error;
}

static void forget_marks(const struct opencl *cl, struct opencl_slot *s) {
    for (uint32_t i = 0; i < s->marks; i++)
        if (s->mark[i])
            cl->event_free(s->mark[i]);
    s->marks = 0;
}

void opencl_slot_free(const struct opencl *cl, struct opencl_slot *s) {
    struct opencl_buffer *const buffers[] = {&s->in, &s->out, &s->workspace, &s->next};
    if (s->queue)
        cl->finish(s->queue);
    forget_marks(cl, s);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        buffer_free(cl, buffers[i]);
    if (s->stop)
        cl->buffer_free(s->stop);
    if (s->queue)
        cl->queue_free(s->queue);
    free((void *)(uintptr_t)s->stop_word);
    *s = (struct opencl_slot){0};
}

// ---- Start --------------------------------------------------------------------------------------

static int slot_ready(struct shoal_module *m, uint32_t index) {
    const struct shoal_device *d = m->device;
    struct opencl_slot *s = &m->slot[index];
    int error = CL_OK;
    snprintf(s->track, sizeof s->track, "opencl:%u queue %u", d->index, index);
    if (!s->queue)
        s->queue = d->cl->queue_new(d->context, d->device, CL_QUEUE_PROFILING, &error);
    if (!s->stop_word)
        s->stop_word = aligned_alloc(OPENCL_LINE, OPENCL_LINE);
    if (!s->stop_word)
        return CL_NO_HOST_ROOM;
    *s->stop_word = 0;
    if (s->queue && !s->stop)
        s->stop = d->cl->buffer_new(d->context, CL_BUFFER_READ_ONLY | CL_BUFFER_USE_HOST,
                                    OPENCL_LINE, (void *)(uintptr_t)s->stop_word, &error);
    return s->stop ? CL_OK : error;
}

// Work-items of a chunk. Without refill every row has its own. With it there are as many as run at
// a time: a batch that is no larger needs none, and large systems, whose items need memory, always
// have it.
static size_t items_of(const struct shoal_module *m, size_t workspace, struct shoal_sizes *z) {
    z->refill = z->rows > m->resident && (z->refill || workspace);
    size_t rows = z->refill ? m->resident : z->rows;
    return (rows + m->group - 1) / m->group * m->group;
}

static int make_room(struct shoal_module *m, uint32_t index, const struct shoal_launch *l,
                     const struct offload *o, size_t items) {
    const struct shoal_device *d = m->device;
    struct opencl_slot *s = &m->slot[index];
    int error = slot_ready(m, index);
    if (error == CL_OK)
        error = buffer_grow(d, &s->in, o->in.bytes);
    if (error == CL_OK)
        error = buffer_grow(d, &s->out, o->out.bytes);
    if (error == CL_OK)
        error = buffer_grow(d, &s->workspace, l->workspace * items);
    if (error == CL_OK)
        error = buffer_grow(d, &s->next, sizeof(unsigned));
    return error;
}

static int reset(struct shoal_module *m, uint32_t index, const struct offload *o) {
    const struct opencl *cl = m->device->cl;
    const struct opencl_slot *s = &m->slot[index];
    const unsigned char pending = SHOAL_ROW_PENDING;
    const unsigned zero = 0;
    const int go = 0;
    int error = cl->fill(s->queue, s->out.buffer, &pending, 1, o->args.status, o->args.z.rows, 0,
                         NULL, NULL);
    if (error == CL_OK)
        error = cl->fill(s->queue, s->out.buffer, &zero, sizeof zero, o->args.totals,
                         TOTAL_COUNT * sizeof(uint64_t), 0, NULL, NULL);
    if (error == CL_OK)
        error =
            cl->fill(s->queue, s->next.buffer, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL);
    if (error == CL_OK && !m->device->is_cpu)
        error = cl->write(s->queue, s->stop, 1, 0, sizeof go, &go, 0, NULL, NULL);
    return error;
}

// Where the event of the next command goes.
static cl_event *next_mark(struct opencl_slot *s) {
    s->mark[s->marks] = NULL;
    return &s->mark[s->marks++];
}

static int launch(struct shoal_module *m, uint32_t index, const struct offload *o, size_t items) {
    const struct opencl *cl = m->device->cl;
    struct opencl_slot *s = &m->slot[index];
    const struct {
        size_t bytes;
        const void *value;
    } arguments[] = {
        {sizeof o->args, &o->args},          {sizeof(cl_buffer), &s->in.buffer},
        {sizeof(cl_buffer), &s->out.buffer}, {sizeof(cl_buffer), &s->next.buffer},
        {sizeof(cl_buffer), &s->stop},       {sizeof(cl_buffer), &s->workspace.buffer},
    };
    size_t group = m->group;
    int error = CL_OK;
    for (unsigned i = 0; i < sizeof arguments / sizeof *arguments && error == CL_OK; i++)
        error = cl->kernel_argument(m->kernel, i, arguments[i].bytes, arguments[i].value);
    return error == CL_OK
               ? cl->launch(s->queue, m->kernel, 1, NULL, &items, &group, 0, NULL, next_mark(s))
               : error;
}

// All of a chunk onto its queue; what failed is in *what.
static int enqueue(struct shoal_module *m, uint32_t index, const struct shoal_launch *l,
                   const struct offload *o, size_t items, const char **what) {
    const struct opencl *cl = m->device->cl;
    struct opencl_slot *s = &m->slot[index];
    *what = "preparing a chunk";
    int error = reset(m, index, o);
    s->t0_ns = clock_ns();
    for (uint32_t i = 0; i < o->in.count && error == CL_OK; i++) {
        const struct shoal_piece *p = &o->in.piece[i];
        *what = "copying to the device";
        error = cl->write(s->queue, s->in.buffer, 0, p->offset, p->bytes,
                          (const char *)l->in.data + p->offset, 0, NULL, next_mark(s));
    }
    if (error != CL_OK)
        return error;
    *what = "launching the kernel";
    error = launch(m, index, o, items);
    for (uint32_t i = 0; i < o->out.count && error == CL_OK; i++) {
        const struct shoal_piece *p = &o->out.piece[i];
        *what = "copying from the device";
        error = cl->read(s->queue, s->out.buffer, 0, p->offset, p->bytes,
                         (char *)l->out.data + p->offset, 0, NULL, next_mark(s));
    }
    return error == CL_OK ? cl->flush(s->queue) : error;
}

shoal_code opencl_start(struct shoal_module *m, uint32_t slot, const struct shoal_launch *l,
                        struct report *r) {
    struct opencl_slot *s = &m->slot[slot];
    struct offload o;
    shoal_code code = opencl_same_process(m->device, r);
    if (code != SHOAL_OK)
        return code;
    if (!offload_prepare(l, &o))
        return report_error(r, SHOAL_DEVICE,
                            "opencl: an array of the chunk lies outside its block");
    size_t items = items_of(m, l->workspace, &o.args.z);
    const char *what = "taking memory of the device";
    int error = make_room(m, slot, l, &o, items);
    if (error == CL_OK)
        error = enqueue(m, slot, l, &o, items, &what);
    if (error == CL_OK) {
        s->launch = l;
        return SHOAL_OK;
    }
    if (s->queue)
        m->device->cl->finish(s->queue); // the blocks are the caller's again
    forget_marks(m->device->cl, s);
    return opencl_no_memory(error) ? SHOAL_MEMORY : opencl_error(what, error, r);
}

// ---- Finish -------------------------------------------------------------------------------------

struct watch {
    struct shoal_module *module;
    uint32_t slot;
    int status; // of the last command: 0 done, negative an error
};

static int poll_done(void *user) {
    struct watch *w = user;
    const struct opencl_slot *s = &w->module->slot[w->slot];
    int error = w->module->device->cl->event_info(s->mark[s->marks - 1], CL_EVENT_STATUS,
                                                  sizeof w->status, &w->status, NULL);
    if (error != CL_OK)
        w->status = error;
    return w->status <= 0;
}

// A stop is for all chunks under way.
static void stop_all(void *user) {
    static const int stop = 1;
    const struct watch *w = user;
    const struct shoal_device *d = w->module->device;
    for (int i = 0; i < OPENCL_SLOTS; i++) {
        struct opencl_slot *s = &w->module->slot[i];
        if (!s->launch || !s->launch->stop || !*s->launch->stop)
            continue;
        *s->stop_word = 1;
        if (!d->is_cpu &&
            d->cl->write(d->queue, s->stop, 0, 0, sizeof stop, &stop, 0, NULL, NULL) == CL_OK)
            d->cl->flush(d->queue);
    }
}

static uint64_t time_of(const struct opencl *cl, cl_event event, unsigned what) {
    uint64_t ns = 0;
    return cl->event_time(event, what, sizeof ns, &ns, NULL) == CL_OK ? ns : 0;
}

// The device's clock is the host's but for an offset, which the first command gives.
static void tell_times(const struct opencl *cl, const struct opencl_slot *s) {
    struct offload o;
    struct offload_spans spans = {s->launch, s->track};
    if (!offload_timed(s->launch) || !offload_prepare(s->launch, &o))
        return;
    uint64_t origin = time_of(cl, s->mark[0], CL_TIME_QUEUED);
    for (uint32_t i = 0; i < s->marks; i++) {
        uint64_t start = time_of(cl, s->mark[i], CL_TIME_START);
        uint64_t end = time_of(cl, s->mark[i], CL_TIME_END);
        uint64_t t0 = s->t0_ns + (start > origin ? start - origin : 0);
        uint64_t ns = end > start ? end - start : 0;
        if (i == o.in.count)
            offload_span_kernel(&spans, t0, ns);
        else
            offload_span_copy(
                &spans, i < o.in.count ? &o.in.piece[i] : &o.out.piece[i - o.in.count - 1], t0, ns);
    }
}

shoal_code opencl_finish(struct shoal_module *m, uint32_t slot, struct report *r) {
    const struct opencl *cl = m->device->cl;
    struct opencl_slot *s = &m->slot[slot];
    const struct shoal_launch *l = s->launch;
    if (!l)
        return SHOAL_OK;
    shoal_code code = opencl_same_process(m->device, r);
    if (code != SHOAL_OK)
        return code;
    struct watch watch = {.module = m, .slot = slot};
    struct offload_wait wait = {.launch = l, .user = &watch, .poll = poll_done, .stop = stop_all};
    offload_wait(&wait);
    if (watch.status == 0)
        tell_times(cl, s);
    else
        cl->finish(s->queue);
    forget_marks(cl, s);
    s->launch = NULL;
    if (watch.status)
        return opencl_error("running the kernel", watch.status, r);
    return l->stop && *l->stop ? SHOAL_STOPPED : SHOAL_OK;
}
