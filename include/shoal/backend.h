// SPDX-License-Identifier: MIT
// For authors of backends: what a device must do, and nothing else.
//
// A backend turns kernel source into bytes (build), bytes into something that runs (load), and runs
// it on chunks of rows. build and load are apart so that a cache between them serves every backend.
// A backend knows nothing of models, methods or files, nor of what a kernel computes: it looks into
// the arguments of a launch no further than their head (kernels/dialect/head.h).
//
// A device may be used by several threads at a time, and so may a module, which never changes. What
// a chunk under way needs is in a slot, and a slot is used by one thread at a time.
#ifndef SHOAL_BACKEND_H
#define SHOAL_BACKEND_H

#include "shoal/shoal.h"

struct cache;
struct key_record;
struct log_label;
struct report;
struct shoal_device;   // a backend's own, like the following
struct shoal_module;   // a loaded kernel: code, shared by all who run it
struct shoal_slot;     // what a chunk under way needs: stream, buffers, threads
struct shoal_resident; // a block that was copied to the device once, for many chunks

// What the generator must know of a device, resolved: never "native".
struct shoal_target {
    const char *name;         // x86-64-v4, ...; part of what identifies a kernel
    const char *prelude;      // file of kernels/ that makes the dialect: prelude_c.h, ...
    bool device;              // one thread is one trajectory
    bool blocks;              // whose threads come in blocks that share fast memory
    uint32_t lanes64;         // doubles in a register; 1: scalar code
    const char *sleef_suffix; // of SLEEF's functions for these lanes; NULL: SLEEF is not used
    const char *mvec_letter;  // of libmvec's mangled names; NULL: libmvec is not used
    bool quick_division;      // the prelude has the hardware's approximations, in f32
    bool fast_math;           // 3.5 ulp functions, divisions as products with reciprocals
    bool hurries;             // its compiler may be told to: see shoal_kernel_text
};

struct shoal_kernel_text {
    const char *text;
    size_t length;
    const char *digest; // SHA-256 of the text, hex: a seed for whatever a compiler draws at random
    bool needs_sleef, needs_mvec, needs_libm; // what must be linked
    bool one_unit; // SHOAL_PART (kernels/dialect/dialect.h) does not split it in two
    bool hurried;  // slower code of the same bits, as soon as can be
};

struct shoal_bytes {
    unsigned char *data; // malloc
    size_t length;
};

// A part of a block: copied by itself where memory is not shared, and timed under its label.
struct shoal_piece {
    const struct log_label *label;
    size_t offset, bytes;
};

// Bytes of a block that lie elsewhere in memory of the host, which the device `reaches`: they are
// copied from or to there, and what the block has in their place is not looked at.
struct shoal_stretch {
    size_t offset, bytes;
    void *host;
};

struct shoal_block {
    void *data; // of `alloc`, where it is to be copied fast
    size_t bytes;
    uint32_t pieces; // in order, without gaps, none empty, together the part that is in use
    const struct shoal_piece *piece;
    uint32_t stretches; // in order, none empty, none on top of another, in the part that is in use
    const struct shoal_stretch *stretch;
};

// An array that the arguments hold.
enum shoal_block_name { SHOAL_READ, SHOAL_WRITTEN, SHOAL_RESIDENT };
struct shoal_place {
    enum shoal_block_name block;
    size_t offset, bytes;
};

// Bytes of the written block that the kernel finds set.
struct shoal_fill {
    size_t offset, bytes;
    unsigned char value;
};

// One chunk.
struct shoal_launch {
    const void *args; // the engine's, without pointers, beginning with a struct shoal_head
    size_t args_bytes;
    struct shoal_block read, written;
    size_t stays; // bytes of the device's behind the written block, which are not copied back
    const struct shoal_resident *resident; // NULL: there is none
    const struct shoal_place *place;       // [places]; all must lie in the used parts of the blocks
    uint32_t places;
    uint32_t fills;
    const struct shoal_fill *fill; // [fills]
    uint32_t threads;              // of a CPU
    uint32_t brief;                // of them, those that are done with it in a moment; 0: who knows
    uint32_t chunk;                // its number, for the time log
    bool chunked;                  // there are others
    size_t workspace;              // bytes a device's thread needs; a CPU's kernel says it itself
    uint32_t team; // rows whose threads are a block of a device, which takes them together; 0: each
                   // thread is alone
    size_t shared; // bytes that they share
    bool writes_only; // the kernel does not read what it wrote, nor what a fill set, but for sums
                      // that warps add to
    bool lone;        // the kernel was compiled with LONE
    const volatile int *stop;                          // non-zero: come back soon; NULL: never
    void (*progress)(void *user, uint32_t rows_taken); // may be NULL; called by `finish`
    void *user;
    shoal_log *log; // may be NULL; device spans go there
};

// What the planner must know of a device.
struct shoal_limits {
    uint32_t slots;       // chunks that there should be at a time, to keep it busy
    uint32_t at_once;     // of them, those that should be under way
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
    uint32_t resident;  // threads that a chunk with refill gets; 0 on a CPU: those of the launch
    uint32_t team;      // threads that a block may have,
    size_t shared;      // and bytes that they may share
};

// What a device is.
struct shoal_card {
    char text[192];     // for people
    char identity[320]; // model, architecture, units, memory, driver: what its speed depends on
    uint32_t units;     // multiprocessors
    bool is_cpu_type;   // a CPU behind the interface of another device
};

struct shoal_backend {
    const char *name; // as in --device
    const char *kind; // of what build makes, in the cache: 1 to 15 small letters and digits
    const char *source_ending; // of a file with source for it: c, cu, cl
    // What `count` and `describe` depend on, for answers that are remembered: $VARIABLE, a path
    // (* and ? stand for any), the name of a library; ends with NULL. NULL: no driver is loaded for
    // them, and they are called as they are; else another process calls them first.
    const char *const *depends;

    // REQUIRED, in the order they are called.
    // How many devices; 0 with a reason in `why` when it cannot be used here.
    uint32_t (*count)(char *why, size_t room);
    void (*describe)(uint32_t index, struct shoal_card *out);
    // Device `index`; or, with the name of a target, one that builds for that, whether or not this
    // machine has it, and that nothing is loaded into. *out stays NULL when the name is none of
    // this backend's.
    shoal_code (*open)(uint32_t index, const char *target, bool fast_math,
                       struct shoal_device **out, struct report *r);
    void (*close)(struct shoal_device *d); // its modules, slots and blocks are gone
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
    // Checks that the bytes, which may come from anywhere, are a kernel for the device's target
    // with that entry point, and loads them from memory: the bytes given are the bytes that run.
    // With `out` NULL they are only judged. `facts` may be NULL.
    shoal_code (*load)(struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                       struct shoal_module **out, struct shoal_facts *facts, struct report *r);
    void (*unload)(struct shoal_module *m); // nothing of it is under way
    struct shoal_limits (*limits)(struct shoal_device *d);
    // Host memory for blocks, from which the device copies fast; NULL: there is none.
    void *(*alloc)(struct shoal_device *d, size_t bytes);
    void (*release)(struct shoal_device *d, void *block);
    // Copies a block to the device, for all chunks that name it; the time log (may be NULL) gets
    // its pieces. SHOAL_MEMORY, without a word: the device has not enough for it now.
    shoal_code (*resident_open)(struct shoal_device *d, const struct shoal_block *b, shoal_log *log,
                                struct shoal_resident **out, struct report *r);
    void (*resident_close)(struct shoal_resident *b); // no chunk under way names it
    // A slot for chunks of the device's modules, one after the other, with a number for the time
    // log; NULL: there is no memory.
    struct shoal_slot *(*slot_open)(struct shoal_device *d, uint32_t number);
    void (*slot_close)(struct shoal_slot *s); // nothing is under way in it
    // Starts a chunk in a slot that is not in use, and comes back without waiting for it, unless it
    // is so small that it is done by then. The launch and all that it points to stay untouched
    // until `finish` of that slot. SHOAL_MEMORY, without a word: the device has not enough for it
    // now; nothing was started.
    shoal_code (*start)(struct shoal_module *m, struct shoal_slot *s, const struct shoal_launch *l,
                        struct report *r);
    // Waits for the chunk in that slot, calling its progress now and then. SHOAL_STOPPED: it was
    // asked to stop.
    shoal_code (*finish)(struct shoal_slot *s, struct report *r);

    // OPTIONAL.
    // Begins what `open` left undone because it takes long (a context), in a thread of its own;
    // whoever needs it waits for it.
    void (*prepare)(struct shoal_device *d);
    // Waits for that, or does it now. *took_ns: how long it took, whoever waited.
    shoal_code (*ready)(struct shoal_device *d, uint64_t *took_ns, struct report *r);
    // The process is about to end: what is freed from here on is not given back to the device,
    // which takes longer than the end of a process.
    void (*leave)(struct shoal_device *d);
    // What the last chunk in a slot wrote, all of it with what stays, becomes a resident block; the
    // slot gets another one. NULL: there is no memory. Devices with their own memory have both.
    struct shoal_resident *(*resident_take)(struct shoal_slot *s);
    // Some bytes of such a block.
    shoal_code (*resident_read)(struct shoal_resident *b, size_t offset, size_t bytes, void *to,
                                struct report *r);
    // Whether the device copies from and to that memory of the host by itself, as fast as from and
    // to blocks of `alloc`; then blocks may name it (shoal_stretch). Without it, none.
    bool (*reaches)(struct shoal_device *d, const void *memory, size_t bytes);
    // Whether `open` would give the same now: environment, compiler, libraries. Without it, always.
    bool (*is_current)(struct shoal_device *d);
};

#endif
