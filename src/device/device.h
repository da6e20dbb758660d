// SPDX-License-Identifier: MIT
// The registry of backends.
#ifndef SHOAL_DEVICE_DEVICE_H
#define SHOAL_DEVICE_DEVICE_H

#include "base/report.h"
#include "log/label.h"
#include "shoal/backend.h"

LOG_DECLARE_LABEL(kernel_launch);

// All backends: the name, and the number that people may write behind it. A new one is a folder
// that defines NAME_backend, and a row.
#define DEVICE_BACKENDS(X)                                                                         \
    X(cpu, "")                                                                                     \
    X(cuda, "[:I]")                                                                                \
    X(opencl, "[:I]")

// Why a child of fork has no device: drivers keep threads, which it has not.
#define DEVICE_FORKED                                                                              \
    "a process that was forked cannot use the device of its parent; spawn it, or use the CPU"

#define DEVICE_ONE(name, number) +1 // to count them

extern const struct shoal_backend *const device_backends[]; // ends with NULL

// "auto", "cpu", "cuda:0": the backend and the index; an error that lists what there is. With auto
// (or NULL) the CPU stands in, with a note, for a SHOAL_DEVICE that cannot be used.
shoal_code device_choose(const char *name, const struct shoal_backend **backend, uint32_t *index,
                         struct report *r);
// Whether a name (may be NULL) and SHOAL_DEVICE leave the choice open.
bool device_is_free(const char *name);
// By its name, or NULL.
const struct shoal_backend *device_backend(const char *name);
// A device that builds for a target of any backend: x86-64-v3, sm_90, ...
shoal_code device_open_target(const char *target, bool fast_math,
                              const struct shoal_backend **backend, struct shoal_device **out,
                              struct report *r);

#endif
