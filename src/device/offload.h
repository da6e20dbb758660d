// SPDX-License-Identifier: MIT
// What backends of devices with their own memory have in common: arguments as offsets, pieces to
// copy, waiting, spans of the time log, libraries that start threads.
#ifndef SHOAL_DEVICE_OFFLOAD_H
#define SHOAL_DEVICE_OFFLOAD_H

#include "../kernels/ode/abi.h"
#include "base/report.h"
#include "shoal/backend.h"

#include <signal.h>

// Blocks that together are no larger are copied in one piece each: a copy costs more than its
// bytes. Its span then has the largest piece's label and all bytes.
enum { OFFLOAD_SMALL = 64 << 10 };

// What a block needs on the device.
struct offload_copies {
    uint32_t count;
    size_t bytes; // to the end of the last piece
    struct shoal_piece piece[SHOAL_PIECES];
};

// A chunk as a device gets it.
struct offload {
    struct shoal_device_args args;
    struct offload_copies in, out;
    bool small; // copied in one piece each
};

// False when an array lies outside of its block, or status or totals would not come back.
bool offload_prepare(const struct shoal_launch *l, struct offload *out);

// Waits until `poll` is not 0, and returns that: quick for chunks of microseconds, patient for
// those of minutes. Calls `stop` once when the launch is to stop, and progress now and then with
// what `taken` (may be NULL) says.
struct offload_wait {
    const struct shoal_launch *launch;
    void *user;
    int (*poll)(void *user); // 0: not yet
    void (*stop)(void *user);
    uint32_t (*taken)(void *user);
};
int offload_wait(const struct offload_wait *w);

bool offload_timed(const struct shoal_launch *l); // somebody wants spans
// Spans of a track, recorded after the fact; times are those of clock_ns.
struct offload_spans {
    const struct shoal_launch *launch;
    const char *track;
};
void offload_span_copy(const struct offload_spans *s, const struct shoal_piece *piece,
                       uint64_t t0_ns, uint64_t dur_ns);
void offload_span_kernel(const struct offload_spans *s, uint64_t t0_ns, uint64_t dur_ns);

// The first of `names` that can be opened as a library, or NULL.
void *offload_open_library(const char *const *names);

#endif
