// SPDX-License-Identifier: MIT
// What is kept between runs, so that a small run allocates next to nothing: blocks of chunks, slots
// of the device, and threads that fill and copy.
#ifndef SHOAL_DISPATCH_POOL_H
#define SHOAL_DISPATCH_POOL_H

#include "base/team.h"
#include "shoal/backend.h"

// Chunks that are there at a time, at most; the last place has blocks for rows that run again.
enum { DISPATCH_SLOTS = 4, DISPATCH_PLACES = DISPATCH_SLOTS + 1, DISPATCH_AGAIN = DISPATCH_SLOTS };

enum dispatch_block { DISPATCH_READ, DISPATCH_WRITTEN, DISPATCH_BLOCKS };

struct dispatch_pool {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    struct {
        void *data;
        size_t bytes;
    } block[DISPATCH_PLACES][DISPATCH_BLOCKS];
    struct shoal_slot *slot[DISPATCH_SLOTS];
    struct team *team; // that fills and copies
    shoal_log *log;    // of the run under way; NULL: none
};

// A block with at least that many bytes, for the chunk of a place; NULL: out of memory. What it
// held is lost.
void *pool_block(struct dispatch_pool *pool, uint32_t place, enum dispatch_block which,
                 size_t bytes);
// The device's slot of a place; NULL: out of memory.
struct shoal_slot *pool_slot(struct dispatch_pool *pool, uint32_t place);
// The pool is empty afterwards, and can be used again.
void pool_free(struct dispatch_pool *pool);

#endif
