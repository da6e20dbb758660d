// SPDX-License-Identifier: MIT
// A kernel on its way from a request to a loaded module: source, key, cache, build, load.
//
// kernel.c        identify, look up, build, load
// store.c  what an entry says about its kernel, and storing it
//
// What was just compiled is used from memory; the cache may be absent, full or hostile and the
// module is the same.
#ifndef SHOAL_KERNEL_KERNEL_H
#define SHOAL_KERNEL_KERNEL_H

#include "cache/cache.h"
#include "ode/codegen/codegen.h"

enum { KERNEL_SCHEMA = 1 };

struct kernel {
    // Given; all borrowed.
    const struct shoal_backend *backend;
    struct shoal_device *device;
    const struct codegen_request *request;
    const char *model; // what it is called, for people
    const volatile int *stop;
    void (*on_compile)(const shoal_compile *now, void *user); // NULL: nobody watches
    void *on_compile_user;
    const char *keep_source; // directory, or NULL
    struct cache *cache;
    shoal_log *log;
    // Made by kernel_identify.
    struct kernel_source source;
    struct shoal_kernel_text text;
    struct key_record record;
    unsigned char key[KEY_BYTES];
    char hex[KEY_HEX];
    char digest[KEY_HEX]; // of the source
    bool keep;            // false: the compiler could not be identified, so nothing is looked up
    // Made by kernel_get.
    bool compiled, stored;       // in this call
    char unstored[CACHE_REASON]; // why it is not
    uint32_t wall_ms, cpu_ms;
    struct shoal_facts facts; // where the backend knows any
};

// A kernel for a request of the options; `model` is its name. Nothing is done yet.
struct kernel kernel_of(const struct shoal_backend *backend, struct shoal_device *device,
                        const struct codegen_request *request, const char *model,
                        const shoal_options *o, struct cache *cache, shoal_log *log);
// Generates the source and the key, and keeps the source where the options want it. kernel_free may
// be called whatever it returned.
shoal_code kernel_identify(struct kernel *k);
void kernel_free(struct kernel *k);
// The key of a text that was generated before. The text and its flags are set.
shoal_code kernel_key(struct kernel *k);
// Whether the cache has it; nothing is loaded or counted.
bool kernel_is_cached(struct kernel *k);
// From the cache, else compiled and stored.
shoal_code kernel_get(struct kernel *k, struct shoal_module **out);
// The same for a device that nothing is loaded into.
shoal_code kernel_warm(struct kernel *k);
// Compiles and times. The caller frees the bytes.
shoal_code kernel_build(struct kernel *k, struct shoal_bytes *out);

void kernel_store(struct kernel *k, const struct shoal_bytes *bytes, bool durable);

#endif
