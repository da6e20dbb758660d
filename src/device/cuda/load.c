// SPDX-License-Identifier: MIT
// A cubin into the device, and how its kernel is best launched there.
//
// Block sizes are those that were fastest on an H200 (docs/performance.md): 128 or 64 threads,
// whichever keeps more of them resident; with refill 32, because a block then ends when its own
// warp has nothing left. Batches that do not fill the device are spread in blocks of 32 over it.
//
// A thread that has more than its registers hold keeps the rest in local memory, which is fast as
// long as that of all resident threads is in the first-level cache. With refill a multiprocessor
// therefore gets no more warps than fit there, but two; if not even one fits, all it can hold.
//
// When rows run out, a warp goes on until the longest row of its lanes ends, and the end of a batch
// takes the longer, the more warps there are. Batches of few rows for each lane therefore get no
// more warps than keep the device nearly as busy: on an H200 Van der Pol with mu from 1 to 1000
// shuffled, 2^20 rows, takes 12 % less, and Lorenz, where all rows are alike, 2.5 % more.
#include "device/cuda/cuda.h"

#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUSY_WARPS = 16 }; // of a multiprocessor

unsigned cuda_resident_blocks(const struct shoal_module *m, unsigned block, size_t shared) {
    const struct shoal_device *d = m->device;
    int blocks = 0;
    if (d->cu->resident_blocks(&blocks, m->kernel, (int)block, shared) != CU_OK || blocks < 1)
        return 0;
    return (unsigned)blocks * (unsigned)d->multiprocessors;
}

// As many warps as have their local memory in nine tenths of the cache, or, since two leave half of
// the schedulers idle, three in all of it. Four schedulers share them: one or two more that make
// their number even for all gain more than they cost, up to what the cache really has, an eighth
// more than can be shared (rodas5p of 20 states 8 %, ros3p 4 %).
static unsigned cached_blocks(const struct shoal_module *m) {
    const struct shoal_device *d = m->device;
    double warp = 32.0 * m->local_bytes, fit = m->local_bytes ? 0.9 * d->cache_bytes / warp : 0;
    unsigned few = 3 * warp <= d->cache_bytes ? 3 : 2;
    unsigned blocks = fit < 1 ? UINT32_MAX : fit < few ? few : (unsigned)fit;
    unsigned even = fit < 1 ? blocks : (blocks + 3) / 4 * 4;
    if (even * warp <= 1.15 * d->cache_bytes)
        blocks = even;
    unsigned most = UINT32_MAX / (unsigned)d->multiprocessors;
    return (blocks < most ? blocks : most) * (unsigned)d->multiprocessors;
}

static void choose_shapes(struct shoal_module *m) {
    struct cuda_shape small = {64, cuda_resident_blocks(m, 64, 0)};
    struct cuda_shape large = {128, cuda_resident_blocks(m, 128, 0)};
    unsigned resident = cuda_resident_blocks(m, 32, 0), cached = cached_blocks(m);
    m->tiny = (struct cuda_shape){32, resident};
    m->refill = (struct cuda_shape){32, resident < cached ? resident : cached};
    unsigned busy = BUSY_WARPS * (unsigned)m->device->multiprocessors;
    m->few = (struct cuda_shape){32, m->refill.resident < busy ? m->refill.resident : busy};
    m->plain = large.resident * large.block > small.resident * small.block ? large : small;
}

static shoal_code find_kernel(struct shoal_module *m, const char *entry, struct report *r) {
    const struct cuda_driver *cu = m->device->cu;
    int result = cu->module_function(&m->kernel, m->module, entry);
    if (result != CU_OK)
        return cuda_error(cu, "finding the kernel in the compiled code", result, r);
    cu->function_attribute(&m->registers, CU_FUNCTION_REGISTERS, m->kernel);
    cu->function_attribute(&m->local_bytes, CU_FUNCTION_LOCAL_BYTES, m->kernel);
    cu->function_attribute(&m->block_threads, CU_FUNCTION_BLOCK_THREADS, m->kernel);
    choose_shapes(m);
    if (!m->tiny.resident || !m->plain.resident)
        return report_error(r, SHOAL_DEVICE,
                            "cuda: the kernel needs more registers or memory than a "
                            "multiprocessor has");
    return SHOAL_OK;
}

static shoal_code fill(struct shoal_module *m, const struct shoal_bytes *b, const char *entry,
                       struct report *r) {
    const struct cuda_driver *cu = m->device->cu;
    sigset_t old;
    thread_block_signals(&old);
    int result = cu->module_load(&m->module, b->data, 0, NULL, NULL);
    thread_restore_signals(&old);
    return result == CU_OK ? find_kernel(m, entry, r)
                           : cuda_error(cu, "loading the compiled kernel", result, r);
}

static struct shoal_facts facts_of(const struct shoal_module *m) {
    const struct shoal_device *d = m->device;
    double threads = (double)m->plain.resident * m->plain.block;
    double most = (double)d->multiprocessors * d->threads;
    return (struct shoal_facts){.registers = (uint32_t)m->registers,
                                .spills = (uint32_t)m->local_bytes,
                                .occupancy = most > 0 ? threads / most : 0,
                                .block = m->plain.block,
                                .resident = m->refill.resident * m->refill.block,
                                .team = (uint32_t)m->block_threads,
                                .shared = (size_t)d->shared_bytes};
}

shoal_code cuda_load(struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                     struct shoal_module **out, struct shoal_facts *facts, struct report *r) {
    shoal_code code = cuda_check(d, b, entry, r);
    if (code != SHOAL_OK || !out)
        return code;
    struct shoal_module *m = calloc(1, sizeof *m);
    if (!m)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    m->device = d;
    code = cuda_enter(d, r);
    if (code == SHOAL_OK) {
        code = fill(m, b, entry, r);
        cuda_leave(d);
    }
    if (code != SHOAL_OK) {
        cuda_unload(m);
        return code;
    }
    if (facts)
        *facts = facts_of(m);
    *out = m;
    return SHOAL_OK;
}

void cuda_unload(struct shoal_module *m) {
    if (!m)
        return;
    if (m->module && cuda_enter(m->device, NULL) == SHOAL_OK) {
        if (m->hasty)
            m->device->cu->context_wait();
        m->device->cu->module_unload(m->module);
        cuda_leave(m->device);
    }
    free(m);
}
