// SPDX-License-Identifier: MIT
// Devices, their architectures as targets, their contexts and memory.
//
// A device uses its primary context, which libraries in the same process share; it is made current
// for the time of a call only, so a handle can go from one thread to another.
#include "device/cuda/cuda.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/thread.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t cuda_count(char *why, size_t room) {
    const struct cuda_driver *cu = cuda_driver(why, room);
    int count = 0;
    if (!cu)
        return 0;
    if (cu->device_count(&count) != CU_OK || count < 1) {
        snprintf(why, room, "the driver found no CUDA device");
        return 0;
    }
    return (uint32_t)count;
}

static int attribute(const struct cuda_driver *cu, cu_device device, int which) {
    int value = 0;
    return cu->device_attribute(&value, which, device) == CU_OK ? value : 0;
}

void cuda_describe(uint32_t index, struct shoal_card *out) {
    char why[192], name[96] = "CUDA device";
    size_t bytes = 0;
    cu_device device = 0;
    *out = (struct shoal_card){0};
    const struct cuda_driver *cu = cuda_driver(why, sizeof why);
    if (!cu || cu->device_get(&device, (int)index) != CU_OK) {
        snprintf(out->text, sizeof out->text, "%s",
                 cu ? "the driver does not give this device" : why);
        return;
    }
    cu->device_name(name, sizeof name, device);
    cu->device_memory(&bytes, device);
    int units = attribute(cu, device, CU_DEVICE_MULTIPROCESSORS);
    int major = attribute(cu, device, CU_DEVICE_MAJOR),
        minor = attribute(cu, device, CU_DEVICE_MINOR);
    out->units = units > 0 ? (uint32_t)units : 0;
    snprintf(out->text, sizeof out->text,
             "%s, sm_%d%d, %d multiprocessors, %.0f GiB, driver for CUDA %d.%d", name, major, minor,
             units, (double)bytes / 1073741824.0, cu->version / 1000, cu->version % 1000 / 10);
    snprintf(out->identity, sizeof out->identity, "%s, sm_%d%d, %d, %zu bytes, CUDA %d, %s", name,
             major, minor, units, bytes, cu->version, cu->file);
}

static struct shoal_device *new_device(const char *arch, bool fast_math, struct report *r) {
    struct shoal_device *d = calloc(1, sizeof *d);
    if (!d) {
        report_error(r, SHOAL_MEMORY, "out of memory");
        return NULL;
    }
    snprintf(d->arch, sizeof d->arch, "%s", arch);
    d->has_lone = atoi(arch + 3) >= 70;
    d->pid = process_id();
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->context_lock, NULL);
    pthread_mutex_init(&d->busy.lock, NULL);
    d->target = (struct shoal_target){.name = d->arch,
                                      .prelude = "prelude_cuda.h",
                                      .device = true,
                                      .blocks = true,
                                      .lanes64 = 1,
                                      .quick_division = true,
                                      .fast_math = fast_math};
    return d;
}

static shoal_code open_index(uint32_t index, bool fast_math, struct shoal_device **out,
                             struct report *r) {
    char why[192], arch[16];
    cu_device device = 0;
    const struct cuda_driver *cu = cuda_driver(why, sizeof why);
    if (!cu)
        return report_error(r, SHOAL_DEVICE, "cuda: %s", why);
    int result = cu->device_get(&device, (int)index);
    if (result != CU_OK)
        return cuda_error(cu, "opening the device", result, r);
    snprintf(arch, sizeof arch, "sm_%d%d", attribute(cu, device, CU_DEVICE_MAJOR),
             attribute(cu, device, CU_DEVICE_MINOR));
    struct shoal_device *d = new_device(arch, fast_math, r);
    if (!d)
        return SHOAL_MEMORY;
    d->cu = cu;
    cuda_search(d, d->search);
    d->index = index;
    d->device = device;
    d->multiprocessors = attribute(cu, device, CU_DEVICE_MULTIPROCESSORS);
    d->threads = attribute(cu, device, CU_DEVICE_THREADS);
    d->cache_bytes = attribute(cu, device, CU_DEVICE_SHARED_BYTES); // the two share a memory
    d->shared_bytes = attribute(cu, device, CU_DEVICE_BLOCK_SHARED_BYTES);
    *out = d;
    return SHOAL_OK;
}

// sm_80, sm_90a, ...: digits, then at most one letter.
static bool is_architecture(const char *name) {
    if (strncmp(name, "sm_", 3))
        return false;
    size_t digits = strspn(name + 3, "0123456789");
    const char *rest = name + 3 + digits;
    return digits >= 2 && digits <= 3 && (!*rest || (strchr("af", *rest) && !rest[1]));
}

shoal_code cuda_open(uint32_t index, const char *target, bool fast_math, struct shoal_device **out,
                     struct report *r) {
    *out = NULL;
    if (!target)
        return open_index(index, fast_math, out, r);
    if (!is_architecture(target))
        return SHOAL_OK;
    *out = new_device(target, fast_math, r);
    return *out ? SHOAL_OK : SHOAL_MEMORY;
}

static void wait_for_opener(struct shoal_device *d) {
    if (d->opening)
        pthread_join(d->opener, NULL);
    d->opening = false;
}

void cuda_close(struct shoal_device *d) {
    if (!d || (d->opening && d->pid != process_id())) // its opener may still be at work
        return;
    wait_for_opener(d);
    if (d->context && d->pid == process_id())
        d->cu->context_release(d->device);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->context_lock);
    pthread_mutex_destroy(&d->busy.lock);
    free(d);
}

// ---- The context --------------------------------------------------------------------------------

static int make_context(struct shoal_device *d) {
    sigset_t old;
    uint64_t begin = clock_ns();
    thread_block_signals(&old);
    int result = d->cu->context_retain(&d->context, d->device);
    thread_restore_signals(&old);
    if (result != CU_OK)
        d->context = NULL;
    d->context_ns = clock_ns() - begin;
    return result;
}

// Where it fails, whoever needs the context tries again and tells why.
static void *open_context(void *user) {
    struct shoal_device *d = user;
    pthread_mutex_lock(&d->context_lock);
    if (!d->context)
        make_context(d);
    pthread_mutex_unlock(&d->context_lock);
    return NULL;
}

void cuda_prepare(struct shoal_device *d) {
    pthread_mutex_lock(&d->lock); // the other is held while a context is made
    if (d->cu && !d->opening && d->pid == process_id())
        d->opening = thread_start(&d->opener, open_context, d) == 0;
    pthread_mutex_unlock(&d->lock);
}

shoal_code cuda_ready(struct shoal_device *d, uint64_t *took_ns, struct report *r) {
    shoal_code code = cuda_enter(d, r);
    *took_ns = d->context_ns;
    if (code == SHOAL_OK)
        cuda_leave(d);
    return code;
}

// As in a process that was forked: the device is another's.
void cuda_leave_all(struct shoal_device *d) { d->pid = 0; }

shoal_code cuda_enter(struct shoal_device *d, struct report *r) {
    if (!d->cu)
        return report_error(r, SHOAL_DEVICE,
                            "cuda: %s was given as a target to build for; nothing runs on it",
                            d->arch);
    if (d->pid != process_id())
        return report_error(r, SHOAL_DEVICE, "cuda: " DEVICE_FORKED);
    pthread_mutex_lock(&d->context_lock);
    int result = d->context ? CU_OK : make_context(d);
    pthread_mutex_unlock(&d->context_lock);
    if (result != CU_OK)
        return cuda_error(d->cu, "starting the device", result, r);
    result = d->cu->context_push(d->context);
    return result == CU_OK ? SHOAL_OK : cuda_error(d->cu, "using the device", result, r);
}

void cuda_leave(const struct shoal_device *d) {
    cu_context ours;
    d->cu->context_pop(&ours);
}

// ---- Memory -------------------------------------------------------------------------------------

struct shoal_limits cuda_limits(struct shoal_device *d) {
    size_t available = 0, total = 0;
    if (cuda_enter(d, NULL) == SHOAL_OK) {
        if (d->cu->memory_info(&available, &total) != CU_OK)
            available = 0;
        cuda_leave(d);
    }
    size_t spare = available / 16 + ((size_t)64 << 20); // for the stacks of threads, and for others
    return (struct shoal_limits){
        .slots = OFFLOAD_SLOTS,
        .at_once = OFFLOAD_SLOTS,
        .rows_wanted = 2 * (uint32_t)d->multiprocessors * (uint32_t)d->threads,
        .memory = available > spare ? available - spare : 1,
        .rows_fastest = true,
    };
}

void *cuda_alloc(struct shoal_device *d, size_t bytes) {
    void *memory = NULL;
    if (cuda_enter(d, NULL) != SHOAL_OK)
        return NULL;
    if (d->cu->host_new(&memory, bytes, CU_HOST_PORTABLE) != CU_OK)
        memory = NULL;
    cuda_leave(d);
    return memory;
}

void cuda_release(struct shoal_device *d, void *block) {
    if (!block || cuda_enter(d, NULL) != SHOAL_OK)
        return;
    d->cu->host_free(block);
    cuda_leave(d);
}

// Memory that nobody has pinned is none that the driver knows.
static bool is_pinned(const struct cuda_driver *cu, const void *at) {
    unsigned type = 0;
    return cu->pointer_attribute(&type, CU_POINTER_MEMORY_TYPE, (uintptr_t)at) == CU_OK &&
           type == CU_MEMORY_HOST;
}

bool cuda_reaches(struct shoal_device *d, const void *memory, size_t bytes) {
    if (!bytes || cuda_enter(d, NULL) != SHOAL_OK)
        return false;
    bool pinned = is_pinned(d->cu, memory) && is_pinned(d->cu, (const char *)memory + bytes - 1);
    cuda_leave(d);
    return pinned;
}
