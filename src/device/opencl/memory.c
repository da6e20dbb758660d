// SPDX-License-Identifier: MIT
// Memory of the device: buffers that grow, and resident blocks.
#include "device/opencl/opencl.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM_STEP = 4096 };

void opencl_buffer_free(const struct opencl *cl, struct opencl_buffer *b) {
    if (b->buffer)
        cl->buffer_free(b->buffer);
    *b = (struct opencl_buffer){0};
}

int opencl_buffer_grow(const struct shoal_device *d, struct opencl_buffer *b, size_t bytes) {
    int error = CL_OK;
    if (b->buffer && b->bytes >= bytes)
        return CL_OK;
    size_t room = (bytes / ROOM_STEP + 1) * ROOM_STEP;
    opencl_buffer_free(d->cl, b);
    b->buffer = d->cl->buffer_new(d->context, CL_BUFFER_READ_WRITE, room, NULL, &error);
    b->bytes = b->buffer ? room : 0;
    return b->buffer ? CL_OK : error;
}

// ---- Resident blocks ----------------------------------------------------------------------------

// The pieces one after the other, each until it is there: it happens once.
static int upload(const struct shoal_resident *b, const struct shoal_block *from, shoal_log *log) {
    const struct shoal_device *d = b->device;
    char track[40];
    int error = CL_OK;
    snprintf(track, sizeof track, "opencl:%u", d->index);
    for (uint32_t i = 0; i < from->pieces && error == CL_OK; i++) {
        const struct shoal_piece *p = &from->piece[i];
        uint64_t begin = clock_ns();
        error = d->cl->write(d->queue, b->buffer.buffer, 1, p->offset, p->bytes,
                             (const char *)from->data + p->offset, 0, NULL, NULL);
        if (error == CL_OK && spans_wanted(log))
            spans_copy(&(struct spans){log, track, NULL}, p, begin, clock_ns() - begin);
    }
    return error;
}

shoal_code opencl_resident_open(struct shoal_device *d, const struct shoal_block *b, shoal_log *log,
                                struct shoal_resident **out, struct report *r) {
    shoal_code code = launch_check_block(b, "opencl", r);
    if (code == SHOAL_OK)
        code = opencl_same_process(d, r);
    if (code != SHOAL_OK)
        return code;
    struct shoal_resident *resident = calloc(1, sizeof *resident);
    int error = CL_NO_HOST_ROOM;
    if (resident) {
        *resident = (struct shoal_resident){.device = d, .bytes = launch_used(b)};
        error = opencl_buffer_grow(d, &resident->buffer, resident->bytes);
    }
    if (error == CL_OK)
        error = upload(resident, b, log);
    if (error == CL_OK) {
        *out = resident;
        return SHOAL_OK;
    }
    opencl_resident_close(resident);
    return opencl_no_memory(error) ? SHOAL_MEMORY
                                   : opencl_error("copying a block to the device", error, r);
}

void opencl_resident_close(struct shoal_resident *b) {
    if (b && opencl_same_process(b->device, NULL) == SHOAL_OK)
        opencl_buffer_free(b->device->cl, &b->buffer);
    free(b);
}

struct shoal_resident *opencl_resident_take(struct shoal_slot *s) {
    struct shoal_resident *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct shoal_resident){
        .device = s->device, .buffer = s->written, .bytes = s->written.bytes};
    s->written = (struct opencl_buffer){0};
    return b;
}

shoal_code opencl_resident_read(struct shoal_resident *b, size_t offset, size_t bytes, void *to,
                                struct report *r) {
    const struct shoal_device *d = b->device;
    shoal_code code = opencl_same_process(d, r);
    if (code != SHOAL_OK)
        return code;
    int error = d->cl->read(d->queue, b->buffer.buffer, 1, offset, bytes, to, 0, NULL, NULL);
    return error == CL_OK ? SHOAL_OK : opencl_error("copying a block from the device", error, r);
}
