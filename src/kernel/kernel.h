// SPDX-License-Identifier: MIT
// From the source of a kernel to a loaded one: key, cache, build, load.
//
// files.c    the files of kernels/
// source.c   the text and its components, filled by an engine
// kernel.c   identify, look up, build, load
// store.c    the cache it is in, what an entry says about its kernel, and storing it
// later.c    kernels that are compiled while hurried ones run
// table.c    devices that are open and kernels that are loaded in this process
// compile.c  a compilation that somebody watches
// measure.c  how long each function of a kernel takes to compile
//
// What a kernel computes is not known here: an engine gives its text, what identifies it and words
// that describe it. What was just compiled is used from memory; the cache may be absent, full or
// hostile and the module is the same.
#ifndef SHOAL_KERNEL_KERNEL_H
#define SHOAL_KERNEL_KERNEL_H

#include "cache/cache.h"
#include "kernel/source.h"
#include "kernel/table.h"

enum { KERNEL_SCHEMA = 1 };

// The cache of a directory (NULL: the usual one), for a kernel. `to_keep`: that is what it is made
// for, and a cache that keeps nothing is an error.
shoal_code kernel_cache_open(const char *directory, bool to_keep, struct cache **out,
                             shoal_log *log);
// What there is to tell of it goes to the log; whoever made a kernel goes on without it.
void kernel_cache_close(struct cache *c, shoal_log *log);

// What an entry of the cache says of its kernel, for people.
struct kernel_field {
    const char *label, *text;
};

// All borrowed.
struct kernel_request {
    const struct shoal_backend *backend;
    struct shoal_device *device;        // to load into: of kernel_device_open
    const struct kernel_source *source; // NULL: a text that has no components
    const char *entry;                  // name of the kernel in it
    uint32_t abi;                       // of the engine's arguments
    const struct kernel_field *field;   // [fields]
    uint32_t fields;
    const volatile int *stop;
    void (*on_compile)(const shoal_compile *now, void *user); // NULL: nobody watches
    void *on_compile_user;
    // It will be compiled. True: a hurried one will do until it is; whoever gets that knows it by
    // its key, which is not k->hex. NULL: nobody asks.
    bool (*on_miss)(void *user);
    void *on_miss_user;
    const char *keep_source; // directory, or NULL
    struct cache *cache;
    shoal_log *log;
};

// Where a kernel came from.
enum kernel_origin { KERNEL_COMPILED, KERNEL_FROM_CACHE, KERNEL_FROM_TABLE };

// A kernel on its way.
struct kernel_making {
    struct kernel_request q;
    // Made by kernel_identify.
    struct shoal_kernel_text text;
    struct key_record record;
    unsigned char key[KEY_BYTES];
    char hex[KEY_HEX];
    char digest[KEY_HEX]; // of the source
    bool keep;            // false: the compiler could not be identified, so nothing is looked up
    // Made by kernel_get and kernel_warm.
    enum kernel_origin origin;
    bool stored;
    char unstored[CACHE_REASON]; // why it is not
    uint32_t wall_ms, cpu_ms;    // of the compilation
    uint64_t load_ns;            // of the loading; 0: it was loaded
    struct shoal_facts facts;    // where the backend knows any
};

// True in tests that are about numbers: kernels are compiled in a hurry and have their own keys,
// where the backend hurries at all and functions of libraries are not called.
extern bool kernel_all_hurried;

// The key of a source. kernel_making_free may be called whatever it returned.
shoal_code kernel_identify(const struct kernel_request *q, struct kernel_making *out);
// Keeps its text where that is wanted.
shoal_code kernel_keep_source(const struct kernel_making *k);
void kernel_making_free(struct kernel_making *k);
// The key of a text from anywhere. The request, the text and what it needs are set.
shoal_code kernel_key(struct kernel_making *k);
// Whether kernel_get would find it; nothing is loaded or counted.
bool kernel_is_cached(struct kernel_making *k);
// One that this process has loaded already, else from the cache, else compiled and stored.
// kernel_drop gives it back.
shoal_code kernel_get(struct kernel_making *k, struct kernel **out);
// Into the cache, for a device that nothing is loaded into.
shoal_code kernel_warm(struct kernel_making *k);
// Compiles and times. The caller frees the bytes.
shoal_code kernel_build(struct kernel_making *k, struct shoal_bytes *out);

void kernel_store(struct kernel_making *k, const struct shoal_bytes *bytes, bool durable);

#endif
