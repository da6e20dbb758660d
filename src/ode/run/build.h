// SPDX-License-Identifier: MIT
// A kernel of this engine on its way through src/kernel: its text, the words that describe it, and
// the functions whose compile times are measured.
#ifndef SHOAL_RUN_BUILD_H
#define SHOAL_RUN_BUILD_H

#include "kernel/kernel.h"
#include "ode/codegen/codegen.h"

enum { BUILD_FIELDS = 7 };

struct build {
    struct kernel_source source;
    struct kernel_field field[BUILD_FIELDS];
    char states[16], outputs[16];
    struct kernel_making making;
};

// Generates the text and its key. `how` is complete but for the source, its ABI and its words;
// `model` is a name for people. build_free may be called whatever it returned.
shoal_code build_begin(const struct codegen_request *q, const char *model,
                       const struct kernel_request *how, struct build *out);
void build_free(struct build *b);
// Records what each function took to compile; it is compiled again and again for that.
void build_measure(const struct build *b);

// A kernel that is ready to run.
struct loaded {
    struct kernel *kernel; // NULL: only planned
    size_t workspace;
    char key[65];
    bool cached; // it was there already, in the cache or loaded, or would be
    shoal_effect effect;
};
// All of it: `have` (may be NULL) when that is the kernel, else one that is loaded, cached or
// compiled. With `plans` only whether it is there. kernel_drop gives out->kernel back.
shoal_code build_kernel(const struct codegen_request *q, const char *model,
                        const struct kernel_request *how, bool plans, const struct loaded *have,
                        struct loaded *out);

#endif
