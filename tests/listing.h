// SPDX-License-Identifier: MIT
// Kernel source of a model for any target, without a device.
//
//     struct listing l = listing_new("x'=-a*x; ...", "method=tsit5 t1=1", &target);
//
// What a call refuses ends the test, with its messages.
#ifndef SHOAL_TESTS_LISTING_H
#define SHOAL_TESTS_LISTING_H

#include "ode/codegen/codegen.h"

struct listing {
    shoal_log *log;
    shoal_model *model;
    struct kernel_source kernel;
};

// Lines of a model without newlines are separated by ';'. Options are blank-separated words
// name=value, as on the command line.
struct listing listing_new(const char *model, const char *options,
                           const struct shoal_target *target);
// The same with somebody who watches.
struct listing listing_new_watched(const char *model, const char *options,
                                   const struct shoal_target *target,
                                   const struct watcher *watcher);
void listing_free(struct listing *s);

#endif
