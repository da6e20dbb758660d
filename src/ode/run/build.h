// SPDX-License-Identifier: MIT
// A kernel of this engine on its way through src/kernel: its text, the words that describe it, and
// the functions whose compile times are measured.
#ifndef SHOAL_RUN_BUILD_H
#define SHOAL_RUN_BUILD_H

#include "kernel/kernel.h"
#include "ode/codegen/codegen.h"

extern const uint32_t build_abi; // of the arguments of all kernels that are made here

// How kernels are made; all borrowed.
struct build_how {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    const struct model *model;
    const struct component_swap *swap; // tests: other text for parts of the kernel; NULL: none
    const char *cache, *keep_source;   // as the options have them
    char variants[KEY_HEX]; // the file of the device's variants (dispatch/tune.h); "": none are
                            // looked for
    const volatile int *stop[2]; // any of them non-zero ends it; may be NULL
    void (*on_compile)(const shoal_compile *now, void *user); // NULL: nobody watches
    void *on_compile_user;
    bool hurries; // an implicit method begins with a kernel that is compiled in a hurry
    bool (*on_miss)(void *user); // the kernel will be compiled; whether, where that is allowed,
                                 // this one may begin so, too; NULL: nobody asks
    void *on_miss_user;
};

enum { BUILD_FIELDS = 8 };

struct build {
    struct kernel_source source;
    struct kernel_field field[BUILD_FIELDS];
    char states[16], outputs[16], words[VARIANT_TEXT];
    struct kernel_making making;
    const struct build_how *how;
    bool f32, implicit;
    // Of the kernel that it is a variant of, and what was found out of it.
    char base[KEY_HEX], computation[KEY_HEX];
    struct kernel_variant variant;
    double gain;
    int stop; // of two flags
};

// The model's expressions; NULL with an error in the log. system_free frees them.
struct system *build_system(const struct model *m, shoal_log *log);

// Generates the text and its key: of the plan's variant or, where that is the default, of the one
// that was measured to be the fastest. `s` are the model's expressions, which no kernel of another
// plan was made of: that would have left nodes in them. build_free may be called whatever it
// returned.
shoal_code build_begin(const struct kernel_plan *p, struct system *s, const struct build_how *how,
                       struct cache *cache, struct build *out, shoal_log *log);
void build_free(struct build *b);
// Records what each function took to compile; it is compiled again and again for that.
void build_measure(const struct build *b);

// A kernel that is ready to run.
struct loaded {
    struct kernel *kernel; // NULL: only planned
    bool hurried;          // it was compiled in a hurry, until there is that of the key
    size_t workspace;
    char key[65];
    char base[65];        // of the default variant
    char computation[65]; // digest of what decides its bits; that is `base`, unless they are the
                          // same on every target
    char words[VARIANT_TEXT]; // the variant that it is; "": the default
    double gain;              // of it; 0: nobody has looked for one
    bool cached;              // it was there already, in the cache or loaded, or would be
    bool target_free; // of a CPU: on every target that rounds correctly it has the same bits
    size_t length;    // of its text
    double compile_s, load_s; // 0: it was not, in this process
    shoal_effect effect;
};
// All of it: `have` (may be NULL) when that is the kernel, else one that is loaded, cached or
// compiled. With `plans` only whether it is there. kernel_drop gives out->kernel back.
shoal_code build_kernel(const struct kernel_plan *p, struct system *s, const struct build_how *how,
                        bool plans, const struct loaded *have, struct loaded *out, shoal_log *log);

#endif
