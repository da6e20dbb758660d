// SPDX-License-Identifier: MIT
// The table of the OpenCL backend.
#include "device/opencl/opencl.h"

static const struct shoal_target *target(const struct shoal_device *d) { return &d->target; }

// PoCL looks at the processors that /sys tells of.
static const char *const depends[] = {
    "libOpenCL.so.1",
    "/etc/OpenCL/vendors/*",
    "$OCL_ICD_VENDORS",
    "$OCL_ICD_FILENAMES",
    "$OPENCL_VENDOR_PATH",
    "/dev/dri/*",
    "/dev/kfd",
    "/dev/nvidia*",
    "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/gpus/*/information",
    "/sys/devices/system/cpu/possible",
    "$CUDA_VISIBLE_DEVICES",
    "$ROCR_VISIBLE_DEVICES",
    "$GPU_DEVICE_ORDINAL",
    "$ZE_AFFINITY_MASK",
    "$POCL_DEVICES",
    NULL,
};

const struct shoal_backend opencl_backend = {
    .name = "opencl",
    .kind = "clbin",
    .source_ending = "cl",
    .depends = depends,
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
    .resident_take = opencl_resident_take,
    .resident_read = opencl_resident_read,
    .leave = opencl_leave,
};
