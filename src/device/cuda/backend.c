// SPDX-License-Identifier: MIT
// The table of the CUDA backend.
#include "device/cuda/cuda.h"

static const struct shoal_target *target(const struct shoal_device *d) { return &d->target; }

static const char *const depends[] = {
    "libcuda.so.1",
    "/dev/nvidia*",
    "/dev/dxg",
    "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/gpus/*/information",
    "$CUDA_VISIBLE_DEVICES",
    "$CUDA_DEVICE_ORDER",
    NULL,
};

const struct shoal_backend cuda_backend = {
    .name = "cuda",
    .kind = "cubin",
    .source_ending = "cu",
    .depends = depends,
    .count = cuda_count,
    .describe = cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .target = target,
    .identity = cuda_identity,
    .build = cuda_build,
    .load = cuda_load,
    .unload = cuda_unload,
    .limits = cuda_limits,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .resident_open = cuda_resident_open,
    .resident_close = cuda_resident_close,
    .slot_open = cuda_slot_open,
    .slot_close = cuda_slot_close,
    .start = cuda_start,
    .finish = cuda_finish,
    .prepare = cuda_prepare,
    .ready = cuda_ready,
    .resident_take = cuda_resident_take,
    .resident_read = cuda_resident_read,
    .leave = cuda_leave_all,
    .reaches = cuda_reaches,
    .is_current = cuda_is_current,
};
