// SPDX-License-Identifier: MIT
// The knobs and counters of the fake driver.
#ifndef SHOAL_TESTS_FAKES_LIBCUDA_H
#define SHOAL_TESTS_FAKES_LIBCUDA_H

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_DEVICES = 4 };

struct fake_cuda {
    // knobs
    int version;
    int major;                        // of its architecture
    size_t memory;                    // bytes of the device
    const char *fail;                 // this function fails ...
    int fail_result;                  // ... with this result,
    int fail_after;                   // but not the first so many times
    int fail_only;                    // on this device, from 1; 0: on any
    unsigned launch_us[FAKE_DEVICES]; // that a kernel takes on them
    bool slow;                        // kernels run until they are stopped
    bool silent;                      // no kernel says that it is done
    int start_ms;                     // that a context takes
    // What its kernel does, and the bytes of its arguments; false: it goes on. NULL: see libcuda.c.
    bool (*kernel)(const void *args, const char *read, char *written, const char *resident,
                   const volatile int *stop);
    size_t args_bytes;
    // counters
    int contexts, modules, streams, events, buffers, host_blocks; // alive
    int pushed;                                                   // contexts that are current
    size_t used;                                                  // bytes of the device
    int made; // buffers and host blocks, all that ever were
    int copies_in, copies_out, launches, fills, waits; // waits for a context
    int launched[FAKE_DEVICES];
    unsigned grid, block, refill, shared; // of the last launch
};

#endif
