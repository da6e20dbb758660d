// SPDX-License-Identifier: MIT
// What the public calls on the kernel cache share.
//
// cache.c          open, list, show, stat, clear, export, import
// cache_explain.c  which field sets a kernel apart
// cache_verify.c   entries compiled again; entries whose compiler is gone
// cache_doctor.c   facts about the place and the compilers
// warm.c           kernels built before they are needed
#ifndef SHOAL_API_CACHE_H
#define SHOAL_API_CACHE_H

#include "kernel/kernel.h"

struct shoal_cache {
    struct cache *cache;
};

enum { ENTRY_TEXT = 64 };

// An entry in words; text lives in the struct.
struct entry_text {
    shoal_cache_entry entry;
    char key[KEY_HEX];
    char backend[ENTRY_TEXT], target[ENTRY_TEXT], model[ENTRY_TEXT], method[ENTRY_TEXT],
        precision[ENTRY_TEXT];
};
void entry_describe(const struct cache_item *item, const char *file, uint64_t bytes,
                    int64_t used_ns, const char *reason, struct entry_text *out);
// The value of a field, cut to `room`; "" when there is none.
void field_text(const unsigned char *record, size_t length, const char *label, char *text,
                size_t room);
bool field_find(const unsigned char *record, size_t length, const char *label,
                struct key_field *out);

// Whether this machine would make that kernel with the same compiler and libraries now. On true
// *kernel can be built; rebuild_close in any case.
struct rebuild {
    struct kernel_making kernel;
    const struct shoal_backend *backend;
    struct shoal_device *device;
};
bool rebuild_open(const struct cache_item *item, struct cache *cache, struct rebuild *out);
void rebuild_close(struct rebuild *r);

#endif
