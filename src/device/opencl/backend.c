// SPDX-License-Identifier: MIT
// The table of the OpenCL backend.
#include "device/opencl/opencl.h"

static const struct shoal_target *target(const struct shoal_device *d) { return &d->target; }

const struct shoal_backend opencl_backend = {
    .name = "opencl",
    .kind = "clbin",
    .source_ending = "cl",
    .count = opencl_count,
    .describe = opencl_describe,
    .open = opencl_open,
    .close = opencl_close,
    .target = target,
    .identity = opencl_identity,
    .build = opencl_build,
    .load = opencl_load,
    .unload = opencl_unload,
    .limits = opencl_limits,
    .alloc = opencl_alloc,
    .release = opencl_release,
    .resident_open = opencl_resident_open,
    .resident_close = opencl_resident_close,
    .slot_open = opencl_slot_open,
    .slot_close = opencl_slot_close,
    .start = opencl_start,
    .finish = opencl_finish,
};
