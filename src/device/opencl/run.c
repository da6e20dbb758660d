// SPDX-License-Identifier: MIT
// Chunks on queues: copies in, kernel, copies out, in order on the queue of a slot; those of other
// slots overlap where the device can. Nothing waits but `finish`.
//
// The kernel looks at a word now and then: that is how a stop reaches it. The word is host memory,
// which CPUs and devices that share memory see at once; for others it is also written by another
// queue. OpenCL does not promise that a running kernel sees either; all drivers known do one.
#include "device/opencl/opencl.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Slots --------------------------------------------------------------------------------------

struct shoal_slot *opencl_slot_open(struct shoal_device *d, uint32_t number) {
    struct shoal_slot *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->device = d;
    snprintf(s->track, sizeof s->track, "opencl:%u queue %u", d->index, number);
    return s;
}

static void forget_marks(struct shoal_slot *s) {
    for (uint32_t i = 0; i < s->marks; i++)
        if (s->mark[i])
            s->device->cl->event_free(s->mark[i]);
    s->marks = 0;
}

static void free_all(struct shoal_slot *s) {
    const struct opencl *cl = s->device->cl;
    struct opencl_buffer *const buffers[] = {&s->read, &s->written, &s->workspace, &s->next};
    if (s->queue)
        cl->finish(s->queue);
    forget_marks(s);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        opencl_buffer_free(cl, buffers[i]);
    if (s->stop)
        cl->buffer_free(s->stop);
    if (s->queue)
        cl->queue_free(s->queue);
}

void opencl_slot_close(struct shoal_slot *s) {
    if (!s)
        return;
    if (opencl_same_process(s->device, NULL) == SHOAL_OK)
        free_all(s);
    free((void *)(uintptr_t)s->stop_word);
    free(s->mark);
    free(s);
}

// ---- Room ---------------------------------------------------------------------------------------

static int need_marks(struct shoal_slot *s) {
    uint32_t count = s->chunk.read.count + s->chunk.written.count + 1;
    if (count <= s->marks_most)
        return CL_OK;
    cl_event *mark = realloc(s->mark, count * sizeof *mark);
    if (!mark)
        return CL_NO_HOST_ROOM;
    s->mark = mark;
    s->marks_most = count;
    return CL_OK;
}

static int slot_ready(struct shoal_slot *s) {
    const struct shoal_device *d = s->device;
    int error = need_marks(s);
    if (error != CL_OK)
        return error;
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

// Without refill every row has its work-item, with it there are as many as run at a time. Teams are
// groups.
static void choose_items(struct shoal_slot *s) {
    const struct shoal_module *m = s->module;
    const struct shoal_launch *l = s->chunk.launch;
    const struct shoal_head *head = launch_head(l);
    size_t rows = head->refill && head->rows > m->resident ? m->resident : head->rows;
    s->group = l->team ? l->team : m->group;
    s->items = (rows + s->group - 1) / s->group * s->group;
}

// Bytes that a chunk needs on the device.
struct needs {
    size_t read, written, workspace;
};

static struct needs needs_of(const struct shoal_slot *s) {
    return (struct needs){.read = s->chunk.read.bytes,
                          .written = s->chunk.written.bytes + s->chunk.launch->stays,
                          .workspace = s->chunk.launch->workspace * s->items};
}

static bool has_room(const struct shoal_slot *s, const struct needs *n) {
    return s->queue && s->read.bytes >= n->read && s->written.bytes >= n->written &&
           s->workspace.bytes >= n->workspace && s->next.bytes;
}

static int grow(struct shoal_slot *s, const struct needs *n) {
    const struct shoal_device *d = s->device;
    int error = opencl_buffer_grow(d, &s->read, n->read);
    if (error == CL_OK)
        error = opencl_buffer_grow(d, &s->written, n->written);
    if (error == CL_OK)
        error = opencl_buffer_grow(d, &s->workspace, n->workspace);
    if (error == CL_OK)
        error = opencl_buffer_grow(d, &s->next, sizeof(unsigned));
    return error;
}

static int make_room(struct shoal_slot *s) {
    shoal_log *log = s->chunk.launch->log;
    struct needs n = needs_of(s);
    int32_t span = has_room(s, &n) ? -1 : log_begin(log, LOG_device_memory);
    int error = slot_ready(s);
    if (error == CL_OK)
        error = grow(s, &n);
    log_nbytes(log, span, n.read + n.written + n.workspace);
    log_end(log, span);
    return error;
}

// ---- Start --------------------------------------------------------------------------------------

static int prepare(struct shoal_slot *s) {
    const struct opencl *cl = s->device->cl;
    const struct shoal_launch *l = s->chunk.launch;
    const unsigned zero = 0;
    const int go = 0;
    int error = CL_OK;
    for (uint32_t i = 0; i < l->fills && error == CL_OK; i++)
        if (l->fill[i].bytes)
            error = cl->fill(s->queue, s->written.buffer, &l->fill[i].value, 1, l->fill[i].offset,
                             l->fill[i].bytes, 0, NULL, NULL);
    if (error == CL_OK)
        error =
            cl->fill(s->queue, s->next.buffer, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL);
    if (error == CL_OK && !s->device->is_cpu)
        error = cl->write(s->queue, s->stop, 1, 0, sizeof go, &go, 0, NULL, NULL);
    s->t0_ns = clock_ns();
    return error;
}

// Where the event of the next command goes.
static cl_event *next_mark(struct shoal_slot *s) {
    s->mark[s->marks] = NULL;
    return &s->mark[s->marks++];
}

static int copy_in(struct shoal_slot *s, const struct shoal_piece *p) {
    const char *from = s->chunk.launch->read.data;
    return s->device->cl->write(s->queue, s->read.buffer, 0, p->offset, p->bytes, from + p->offset,
                                0, NULL, next_mark(s));
}

static int copy_out(struct shoal_slot *s, const struct shoal_piece *p) {
    char *to = s->chunk.launch->written.data;
    return s->device->cl->read(s->queue, s->written.buffer, 0, p->offset, p->bytes, to + p->offset,
                               0, NULL, next_mark(s));
}

static int set_arguments(const struct shoal_slot *s) {
    const struct shoal_launch *l = s->chunk.launch;
    const cl_buffer none = NULL;
    const struct {
        size_t bytes;
        const void *value;
    } arguments[] = {
        {l->args_bytes, l->args},
        {sizeof(cl_buffer), &s->read.buffer},
        {sizeof(cl_buffer), &s->written.buffer},
        {sizeof(cl_buffer), l->resident ? &l->resident->buffer.buffer : &none},
        {sizeof(cl_buffer), &s->next.buffer},
        {sizeof(cl_buffer), &s->stop},
        {sizeof(cl_buffer), &s->workspace.buffer},
        {l->shared, NULL}, // the last one of those that work in teams
    };
    const unsigned count = sizeof arguments / sizeof *arguments - !l->team;
    int error = CL_OK;
    for (unsigned i = 0; i < count && error == CL_OK; i++)
        error = s->device->cl->kernel_argument(s->module->kernel, i, arguments[i].bytes,
                                               arguments[i].value);
    return error;
}

static int launch(struct shoal_slot *s) {
    struct shoal_module *m = s->module;
    pthread_mutex_lock(&m->lock);
    int error = set_arguments(s);
    if (error == CL_OK)
        error = s->device->cl->launch(s->queue, m->kernel, 1, NULL, &s->items, &s->group, 0, NULL,
                                      next_mark(s));
    pthread_mutex_unlock(&m->lock);
    return error;
}

static int end(struct shoal_slot *s) { return s->device->cl->flush(s->queue); }

static const struct offload_steps steps = {prepare, copy_in, launch, copy_out, end};

static shoal_code start(struct shoal_slot *s, struct report *r) {
    const char *what = "taking memory of the device";
    choose_items(s);
    int error = make_room(s);
    if (error == CL_OK)
        error = offload_enqueue(&steps, s, &s->chunk, &what);
    if (error == CL_OK) {
        s->launch = s->chunk.launch;
        s->busy = (struct offload_link){.launch = s->launch, .slot = s};
        offload_busy_add(&s->device->busy, &s->busy);
        return SHOAL_OK;
    }
    if (s->queue)
        s->device->cl->finish(s->queue); // the blocks are the caller's again
    forget_marks(s);
    return opencl_no_memory(error) ? SHOAL_MEMORY : opencl_error(what, error, r);
}

shoal_code opencl_start(struct shoal_module *m, struct shoal_slot *s, const struct shoal_launch *l,
                        struct report *r) {
    shoal_code code = opencl_same_process(s->device, r);
    if (code == SHOAL_OK)
        code = launch_check(l, l->resident ? l->resident->bytes : 0, false, "opencl", r);
    if (code != SHOAL_OK)
        return code;
    s->module = m;
    s->chunk = offload_of(l);
    return start(s, r);
}

// ---- Finish -------------------------------------------------------------------------------------

static int poll_done(struct shoal_slot *s) {
    int error = s->device->cl->event_info(s->mark[s->marks - 1], CL_EVENT_STATUS, sizeof s->state,
                                          &s->state, NULL);
    if (error != CL_OK)
        s->state = error;
    return s->state <= 0;
}

static void stop(struct shoal_slot *s) {
    static const int yes = 1;
    const struct shoal_device *d = s->device;
    *s->stop_word = 1;
    if (!d->is_cpu &&
        d->cl->write(d->queue, s->stop, 0, 0, sizeof yes, &yes, 0, NULL, NULL) == CL_OK)
        d->cl->flush(d->queue);
}

static uint64_t event_ns(const struct shoal_slot *s, uint32_t i, unsigned what) {
    uint64_t ns = 0;
    return s->device->cl->event_time(s->mark[i], what, sizeof ns, &ns, NULL) == CL_OK ? ns : 0;
}

// The device's clock is the host's but for an offset, which the first command gives.
static bool time_of(struct shoal_slot *s, uint32_t i, uint64_t *t0_ns, uint64_t *ns) {
    if (i == 0)
        s->origin_ns = event_ns(s, 0, CL_TIME_QUEUED);
    uint64_t start = event_ns(s, i, CL_TIME_START), end = event_ns(s, i, CL_TIME_END);
    *t0_ns = s->t0_ns + (start > s->origin_ns ? start - s->origin_ns : 0);
    *ns = end > start ? end - start : 0;
    return true;
}

shoal_code opencl_finish(struct shoal_slot *s, struct report *r) {
    const struct shoal_launch *l = s->launch;
    if (!l)
        return SHOAL_OK;
    shoal_code code = opencl_same_process(s->device, r);
    if (code != SHOAL_OK)
        return code;
    offload_wait(&(struct offload_wait){&s->device->busy, &s->busy, poll_done, stop});
    offload_busy_remove(&s->device->busy, &s->busy);
    if (s->state == 0 && spans_wanted(l->log))
        offload_tell(&s->chunk, s->track, time_of, s);
    else if (s->state)
        s->device->cl->finish(s->queue);
    forget_marks(s);
    s->launch = NULL;
    if (s->state)
        return opencl_error("running the kernel", s->state, r);
    return l->stop && *l->stop ? SHOAL_STOPPED : SHOAL_OK;
}
