// SPDX-License-Identifier: MIT
// Compiling with somebody watching: the backend builds while the caller's thread tells how long it
// has taken so far.
#ifndef SHOAL_KERNEL_COMPILE_H
#define SHOAL_KERNEL_COMPILE_H

#include "base/report.h"
#include "shoal/backend.h"

struct compile_watch {
    void (*call)(const shoal_compile *now, void *user); // NULL: nobody watches
    void *user;
    const char *what;   // "kernel"
    double predicted_s; // NaN: unknown
    const volatile int *stop;
};

// backend->build, and w->call every 50 ms by the calling thread until it is done.
shoal_code compile_build(const struct shoal_backend *backend, struct shoal_device *device,
                         const struct shoal_kernel_text *text, const struct compile_watch *w,
                         struct shoal_bytes *out, struct report *r);

#endif
