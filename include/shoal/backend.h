// SPDX-License-Identifier: MIT
// For authors of backends: what a device must do, and nothing else.
//
// A backend turns kernel source into bytes (build), bytes into something that runs (load), and runs
// it on chunks of rows. build and load are apart so that a cache between them serves every backend.
// A backend knows nothing of models, methods or files.
#ifndef SHOAL_BACKEND_H
#define SHOAL_BACKEND_H

#include "shoal/shoal.h"

struct cache;
struct key_record;
struct report;
struct shoal_args;
struct shoal_device; // a backend's own
struct shoal_module; // a loaded kernel, a backend's own

// What the generator must know of a device, resolved: never "native".
struct shoal_target {
    const char *name;         // x86-64-v4, ...; part of what identifies a kernel
    const char *prelude;      // file of kernels/ that makes the dialect: prelude_c.h, ...
    bool device;              // one thread is one trajectory
    uint32_t lanes64;         // doubles in a register; 1: scalar code
    const char *sleef_suffix; // of SLEEF's functions for these lanes; NULL: SLEEF is not used
    const char *mvec_letter;  // of libmvec's mangled names; NULL: libmvec is not used
    bool quick_division;      // the prelude has what kernels/quick.h takes, in f32
    bool fast_math;           // 3.5 ulp functions, divisions as products with reciprocals
};

struct shoal_kernel_text {
    const char *text;
    size_t length;
    const char *digest; // SHA-256 of the text, hex: a seed for whatever a compiler draws at random
    bool needs_sleef, needs_mvec, needs_libm; // what must be linked
    bool one_unit; // SHOAL_PART does not split it: it is a piece of a kernel, or none of ours
};

struct shoal_bytes {
    unsigned char *data; // malloc
    size_t length;
};

// A part of a block: copied by itself where memory is not shared, and timed under its label.
struct shoal_piece {
    const char *label;
    size_t offset, bytes;
};

enum { SHOAL_PIECES = 4 };

struct shoal_block {
    void *data; // of `alloc`
    size_t bytes;
    uint32_t pieces; // in order, without gaps, together the part of the block that is in use
    struct shoal_piece piece[SHOAL_PIECES];
};

// One chunk. The arrays of `args` lie in the blocks; it is complete but for workspace, next and
// stop, which are the backend's.
struct shoal_launch {
    struct shoal_args *args;
    struct shoal_block in, out;
    uint32_t threads;
    uint32_t chunk;           // its number, for the time log
    bool chunked;             // there are others
    size_t workspace;         // bytes a thread of a device needs; a CPU's kernel says it itself
    const volatile int *stop; // non-zero: come back soon; rows not done stay pending
    void (*progress)(void *user, uint32_t rows_taken); // may be NULL; called by the calling thread
    void *user;
    shoal_log *log; // may be NULL; device spans go there
};

// What the planner must know of a device.
struct shoal_limits {
    uint32_t slots;       // chunks that can be on their way at a time
    uint32_t rows_wanted; // a chunk with fewer rows leaves the device half empty
    uint64_t memory;      // bytes that are free for blocks now; 0: it is the host's memory
    bool rows_fastest;    // it writes well when neighbouring rows are neighbours in memory
};

// What is known of a loaded kernel; 0: nothing.
struct shoal_facts {
    uint32_t registers; // of a thread
    uint32_t spills;    // bytes of a thread's own memory
    double occupancy;   // threads that run at a time, of those that could
    uint32_t block;     // threads of a block, in large batches
};

struct shoal_backend {
    const char *name; // as in --device
    const char *kind; // of what build makes, in the cache: 1 to 15 small letters and digits
    const char *source_ending; // of a file with source for it: c, cu, cl

    // REQUIRED, in the order they are called.
    // How many devices; 0 with a reason in `why` when it cannot be used here.
    uint32_t (*count)(char *why, size_t room);
    void (*describe)(uint32_t index, char *text, size_t room);
    shoal_code (*open)(uint32_t index, bool fast_math, struct shoal_device **out, struct report *r);
    void (*close)(struct shoal_device *d);
    const struct shoal_target *(*target)(const struct shoal_device *d);
    // Adds to the key all that build depends on besides the text: the target, the compiler (every
    // program and library of it by build-id or content, never by path or date), its arguments in
    // order with their count, what is linked. Each is a labelled field. What cannot be found out is
    // a field `unknown` that says what: such a kernel is never kept. Answers that take long to find
    // are kept in `probes` (may be NULL) and checked on use. Ends early, with SHOAL_STOPPED, when
    // *stop (may be NULL) becomes non-zero.
    shoal_code (*identity)(struct shoal_device *d, const struct shoal_kernel_text *k,
                           struct cache *probes, const volatile int *stop, struct key_record *key,
                           struct report *r);
    // Compiles. Ends early, with SHOAL_STOPPED, when *stop (may be NULL) becomes non-zero.
    shoal_code (*build)(struct shoal_device *d, const struct shoal_kernel_text *k,
                        const volatile int *stop, struct shoal_bytes *out, struct report *r);
    // Whether the bytes are a kernel for the device's target, entry points and all, judged without
    // loading them. They may come from anywhere.
    shoal_code (*check)(struct shoal_device *d, const struct shoal_bytes *b, struct report *r);
    // Checks and loads from memory: the bytes given are the bytes that run.
    shoal_code (*load)(struct shoal_device *d, const struct shoal_bytes *b,
                       struct shoal_module **out, struct report *r);
    void (*unload)(struct shoal_module *m);
    struct shoal_limits (*limits)(struct shoal_device *d);
    // Host memory for blocks, from which the device copies fast; NULL: there is none.
    void *(*alloc)(struct shoal_device *d, size_t bytes);
    void (*release)(struct shoal_device *d, void *block);
    // Starts a chunk in a slot (0 ... slots - 1) that is not in use. The launch, its args and
    // blocks stay untouched until `finish` of that slot. SHOAL_MEMORY: the device has not enough
    // for it now; nothing was started.
    shoal_code (*start)(struct shoal_module *m, uint32_t slot, const struct shoal_launch *l,
                        struct report *r);
    // Waits for the chunk in that slot, calling its progress now and then.
    shoal_code (*finish)(struct shoal_module *m, uint32_t slot, struct report *r);

    // OPTIONAL.
    // A device that builds for a target by its name, whether or not this machine has one, and that
    // nothing is loaded into. *out stays NULL when the name is none of this backend's.
    shoal_code (*open_target)(const char *name, bool fast_math, struct shoal_device **out,
                              struct report *r);
    struct shoal_facts (*facts)(const struct shoal_module *m);
    // Whether `open` would give the same now: environment, compiler, libraries. Without it, always.
    bool (*is_current)(const struct shoal_device *d);
};

#endif
