// SPDX-License-Identifier: MIT
// Memory of the device: buffers that grow, and resident blocks.
#include "device/cuda/cuda.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM_STEP = 64 << 10 }; // it is taken in steps

void cuda_buffer_free(const struct cuda_driver *cu, struct cuda_buffer *b) {
    if (b->at)
        cu->memory_free(b->at);
    *b = (struct cuda_buffer){0};
}

int cuda_buffer_grow(const struct cuda_driver *cu, struct cuda_buffer *b, size_t bytes) {
    if (b->bytes >= bytes)
        return CU_OK;
    size_t room = (bytes + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
    cuda_buffer_free(cu, b);
    int result = cu->memory_new(&b->at, room);
    if (result == CU_OK)
        b->bytes = room;
    else
        b->at = 0;
    return result;
}

// ---- Resident blocks ----------------------------------------------------------------------------

// The pieces one after the other, each until it is there: it happens once.
static int upload(const struct shoal_resident *b, const struct shoal_block *from, cu_stream stream,
                  shoal_log *log) {
    const struct cuda_driver *cu = b->device->cu;
    char track[40];
    int result = CU_OK;
    snprintf(track, sizeof track, "cuda:%u", b->device->index);
    for (uint32_t i = 0; i < from->pieces && result == CU_OK; i++) {
        const struct shoal_piece *p = &from->piece[i];
        uint64_t begin = clock_ns();
        result = cu->copy_in(b->buffer.at + p->offset, (const char *)from->data + p->offset,
                             p->bytes, stream);
        if (result == CU_OK)
            result = cu->stream_wait(stream);
        if (result == CU_OK && spans_wanted(log))
            spans_copy(&(struct spans){log, track, NULL}, p, begin, clock_ns() - begin);
    }
    return result;
}

static int fill(struct shoal_resident *b, const struct shoal_block *from, shoal_log *log) {
    const struct cuda_driver *cu = b->device->cu;
    cu_stream stream = NULL;
    int result = cuda_buffer_grow(cu, &b->buffer, b->bytes);
    if (result == CU_OK)
        result = cu->stream_new(&stream, CU_STREAM_NON_BLOCKING);
    if (result == CU_OK) {
        result = upload(b, from, stream, log);
        cu->stream_free(stream);
    }
    return result;
}

shoal_code cuda_resident_open(struct shoal_device *d, const struct shoal_block *b, shoal_log *log,
                              struct shoal_resident **out, struct report *r) {
    shoal_code code = launch_check_block(b, "cuda", r);
    if (code == SHOAL_OK)
        code = cuda_enter(d, r);
    if (code != SHOAL_OK)
        return code;
    struct shoal_resident *resident = calloc(1, sizeof *resident);
    int result = CU_OUT_OF_MEMORY;
    if (resident) {
        resident->device = d;
        resident->bytes = launch_used(b);
        result = fill(resident, b, log);
    }
    cuda_leave(d);
    if (result == CU_OK) {
        *out = resident;
        return SHOAL_OK;
    }
    cuda_resident_close(resident);
    return result == CU_OUT_OF_MEMORY
               ? SHOAL_MEMORY
               : cuda_error(d->cu, "copying a block to the device", result, r);
}

void cuda_resident_close(struct shoal_resident *b) {
    if (b && cuda_enter(b->device, NULL) == SHOAL_OK) {
        cuda_buffer_free(b->device->cu, &b->buffer);
        cuda_leave(b->device);
    }
    free(b);
}

struct shoal_resident *cuda_resident_take(struct shoal_slot *s) {
    struct shoal_resident *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct shoal_resident){s->device, s->written, s->written.bytes};
    s->written = (struct cuda_buffer){0};
    return b;
}

shoal_code cuda_resident_read(struct shoal_resident *b, size_t offset, size_t bytes, void *to,
                              struct report *r) {
    const struct cuda_driver *cu = b->device->cu;
    cu_stream stream = NULL;
    shoal_code code = cuda_enter(b->device, r);
    if (code != SHOAL_OK)
        return code;
    int result = cu->stream_new(&stream, CU_STREAM_NON_BLOCKING);
    if (result == CU_OK) {
        result = cu->copy_out(to, b->buffer.at + offset, bytes, stream);
        if (result == CU_OK)
            result = cu->stream_wait(stream);
        cu->stream_free(stream);
    }
    cuda_leave(b->device);
    return result == CU_OK ? SHOAL_OK
                           : cuda_error(cu, "copying a block from the device", result, r);
}
