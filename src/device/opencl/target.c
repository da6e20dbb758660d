// SPDX-License-Identifier: MIT
// Devices of OpenCL: what they are called, their contexts, host memory they copy from fast.
#include "device/opencl/opencl.h"

#include "base/process.h"
#include "base/thread.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opencl_block {
    void *memory;
    cl_buffer buffer;
    struct opencl_block *next;
};

uint32_t opencl_count(char *why, size_t room) {
    const struct opencl_list *list = opencl_list(why, room);
    return list ? list->count : 0;
}

static void text_of(const struct opencl *cl, cl_device device, unsigned what, char *text,
                    size_t room) {
    text[0] = 0;
    if (cl->device_info(device, what, room, text, NULL) != CL_OK)
        snprintf(text, room, "?");
}

static uint64_t number_of(const struct opencl *cl, cl_device device, unsigned what, size_t bytes) {
    uint64_t value = 0;
    return cl->device_info(device, what, bytes, &value, NULL) == CL_OK ? value : 0;
}

void opencl_describe(uint32_t index, struct shoal_card *out) {
    char why[192], name[OPENCL_NAME], version[OPENCL_NAME], driver[OPENCL_NAME];
    *out = (struct shoal_card){0};
    const struct opencl_list *list = opencl_list(why, sizeof why);
    if (!list || index >= list->count) {
        snprintf(out->text, sizeof out->text, "%s", list ? "there is no such device" : why);
        return;
    }
    const struct opencl *cl = &list->api;
    cl_device device = list->item[index].device;
    text_of(cl, device, CL_DEVICE_NAME, name, sizeof name);
    text_of(cl, device, CL_DEVICE_VERSION, version, sizeof version);
    text_of(cl, device, CL_DEVICE_DRIVER, driver, sizeof driver);
    uint64_t bytes = number_of(cl, device, CL_DEVICE_MEMORY, 8);
    out->units = (uint32_t)number_of(cl, device, CL_DEVICE_UNITS, sizeof(unsigned));
    out->is_cpu_type = number_of(cl, device, CL_DEVICE_TYPE, 8) & CL_TYPE_CPU;
    snprintf(out->text, sizeof out->text, "%.80s, %u units, %.0f GiB, %.40s, driver %.32s%s", name,
             out->units, (double)bytes / 1073741824.0, version, driver,
             number_of(cl, device, CL_DEVICE_F64, 8) ? "" : ", no f64");
    snprintf(out->identity, sizeof out->identity, "%.120s, %u, %llu bytes, %.80s, %.40s", name,
             out->units, (unsigned long long)bytes, version, driver);
}

static shoal_code make_context(struct shoal_device *d, struct report *r) {
    sigset_t old;
    int error = CL_OK;
    thread_block_signals(&old);
    d->context = d->cl->context_new(NULL, 1, &d->device, NULL, NULL, &error);
    if (d->context)
        d->queue = d->cl->queue_new(d->context, d->device, 0, &error);
    thread_restore_signals(&old);
    return d->queue ? SHOAL_OK : opencl_error("starting the device", error, r);
}

shoal_code opencl_open(uint32_t index, const char *target, bool fast_math,
                       struct shoal_device **out, struct report *r) {
    char why[192];
    *out = NULL;
    if (target) // its compilers are the drivers of devices that are there
        return SHOAL_OK;
    const struct opencl_list *list = opencl_list(why, sizeof why);
    if (!list || index >= list->count)
        return report_error(r, SHOAL_DEVICE, "opencl: %s", list ? "there is no such device" : why);
    struct shoal_device *d = calloc(1, sizeof *d);
    if (!d)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    d->cl = &list->api;
    d->index = index;
    d->platform = list->item[index].platform;
    d->device = list->item[index].device;
    d->pid = process_id();
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->busy.lock, NULL);
    text_of(d->cl, d->device, CL_DEVICE_NAME, d->name, sizeof d->name);
    d->is_cpu = number_of(d->cl, d->device, CL_DEVICE_TYPE, 8) & CL_TYPE_CPU;
    d->units = (uint32_t)number_of(d->cl, d->device, CL_DEVICE_UNITS, sizeof(unsigned));
    d->units = d->units ? d->units : 1;
    d->shared_bytes = number_of(d->cl, d->device, CL_DEVICE_SHARED_BYTES, 8);
    d->target = (struct shoal_target){.name = d->name,
                                      .prelude = "prelude_opencl.h",
                                      .device = true,
                                      .blocks = !d->is_cpu,
                                      .lanes64 = 1,
                                      .fast_math = fast_math};
    shoal_code code = make_context(d, r);
    if (code == SHOAL_OK)
        *out = d;
    else
        opencl_close(d);
    return code;
}

shoal_code opencl_same_process(const struct shoal_device *d, struct report *r) {
    if (d->pid == process_id())
        return SHOAL_OK;
    return report_error(r, SHOAL_DEVICE, "opencl: " DEVICE_FORKED);
}

// As in a process that was forked: the device is another's.
void opencl_leave(struct shoal_device *d) { d->pid = 0; }

void opencl_close(struct shoal_device *d) {
    if (!d)
        return;
    while (d->blocks)
        opencl_release(d, d->blocks->memory);
    if (d->queue && d->pid == process_id())
        d->cl->queue_free(d->queue);
    if (d->context && d->pid == process_id())
        d->cl->context_free(d->context);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->busy.lock);
    free(d);
}

// ---- Memory -------------------------------------------------------------------------------------

struct shoal_limits opencl_limits(struct shoal_device *d) {
    uint64_t memory = number_of(d->cl, d->device, CL_DEVICE_MEMORY, 8);
    return (struct shoal_limits){
        .slots = OFFLOAD_SLOTS,
        .at_once = OFFLOAD_SLOTS,
        .rows_wanted = (d->is_cpu ? 256 : 4096) * d->units,
        .memory = memory ? memory / 2 : (uint64_t)1 << 28, // nobody says what is free
        .rows_fastest = !d->is_cpu,
    };
}

// A processor copies from anywhere, and its queue would not map while a kernel runs.
static bool alloc_plain(struct opencl_block *b, size_t bytes) {
    b->memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return b->memory != NULL;
}

static bool alloc_mapped(struct shoal_device *d, struct opencl_block *b, size_t bytes) {
    int error = CL_OK;
    b->buffer = d->cl->buffer_new(d->context, CL_BUFFER_READ_WRITE | CL_BUFFER_ALLOC_HOST, bytes,
                                  NULL, &error);
    if (b->buffer)
        b->memory =
            d->cl->buffer_map(d->queue, b->buffer, 1, CL_MAP_BOTH, 0, bytes, 0, NULL, NULL, &error);
    if (b->buffer && !b->memory)
        d->cl->buffer_free(b->buffer);
    return b->memory != NULL;
}

void *opencl_alloc(struct shoal_device *d, size_t bytes) {
    struct opencl_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    bytes = bytes ? bytes : 1;
    if (bytes > SIZE_MAX - 64 || !(d->is_cpu ? alloc_plain(b, bytes) : alloc_mapped(d, b, bytes))) {
        free(b);
        return NULL;
    }
    pthread_mutex_lock(&d->lock);
    b->next = d->blocks;
    d->blocks = b;
    pthread_mutex_unlock(&d->lock);
    return b->memory;
}

static struct opencl_block *unlink_block(struct shoal_device *d, const void *memory) {
    pthread_mutex_lock(&d->lock);
    struct opencl_block **at = &d->blocks;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    struct opencl_block *b = *at;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&d->lock);
    return b;
}

void opencl_release(struct shoal_device *d, void *block) {
    struct opencl_block *b = unlink_block(d, block);
    if (!b)
        return;
    if (!b->buffer) {
        free(b->memory);
    } else if (d->pid == process_id()) {
        d->cl->buffer_unmap(d->queue, b->buffer, b->memory, 0, NULL, NULL);
        d->cl->finish(d->queue);
        d->cl->buffer_free(b->buffer);
    }
    free(b);
}
