// SPDX-License-Identifier: MIT
// What backends of devices with their own memory have in common: which pieces are copied, the steps
// of a chunk in their order, waiting, times, libraries that are opened.
#ifndef SHOAL_DEVICE_OFFLOAD_H
#define SHOAL_DEVICE_OFFLOAD_H

#include "device/launch.h"
#include "device/spans.h"

#include <pthread.h>

// Chunks that keep such a device busy: one computes, one is copied in, one out.
enum { OFFLOAD_SLOTS = 3 };

// Blocks that together are no larger are copied in one piece each: a copy costs more than its
// bytes. Its time is then its pieces', by their bytes.
enum { OFFLOAD_SMALL = 64 << 10 };

// What a block needs on the device.
struct offload_copies {
    uint32_t count; // of copies
    size_t bytes;   // that are in use
    uint32_t pieces;
    const struct shoal_piece *piece;
    struct shoal_piece whole; // stands for them all, in small chunks
    bool small;
};

// A chunk as a device gets it.
struct offload {
    const struct shoal_launch *launch;
    struct offload_copies read, written;
    bool small;
};
struct offload offload_of(const struct shoal_launch *l);

// Walks over the bytes of a piece: those that lie elsewhere, and those of the block between them.
struct offload_walk {
    const struct shoal_block *block;
    size_t at, end;
    uint32_t next; // stretch that lies elsewhere
    // Set by each step:
    size_t offset, bytes;
    char *host;
};
struct offload_walk offload_walk(const struct shoal_block *b, const struct shoal_piece *p);
bool offload_next(struct offload_walk *w);

// The steps of a chunk on its stream or queue; each returns 0 or the error of the driver.
struct offload_steps {
    int (*prepare)(struct shoal_slot *s); // fills, and words that kernel and host share
    int (*copy_in)(struct shoal_slot *s, const struct shoal_piece *p);
    int (*launch)(struct shoal_slot *s);
    int (*copy_out)(struct shoal_slot *s, const struct shoal_piece *p);
    int (*end)(struct shoal_slot *s);
};
// All of them in order, up to the first that fails; *what says in words what that was.
int offload_enqueue(const struct offload_steps *steps, struct shoal_slot *s,
                    const struct offload *o, const char **what);

// The slots of a device in which a chunk is under way, of whichever thread: a stop goes to all that
// it is for, since a kernel that was not told may keep the device from one that was.
struct offload_link {
    struct offload_link *next;
    const struct shoal_launch *launch;
    struct shoal_slot *slot;
};
struct offload_busy {
    pthread_mutex_t lock;
    struct offload_link *first;
};
void offload_busy_add(struct offload_busy *b, struct offload_link *link);
void offload_busy_remove(struct offload_busy *b, const struct offload_link *link);

// Waits until `poll` is not 0, and returns that: quick for chunks of microseconds, patient for
// those of minutes. When the launch is to stop, `stop` is called for all slots that are, now and
// then. Calls progress now and then, with no rows: nobody knows how many were taken.
struct offload_wait {
    struct offload_busy *busy;
    const struct offload_link *link;
    int (*poll)(struct shoal_slot *s); // 0: not yet
    void (*stop)(struct shoal_slot *s);
};
int offload_wait(const struct offload_wait *w);

// Spans of the copies and of the kernel, in the order of the steps. `time` says when step i was, in
// times of clock_ns; false: nobody knows, nor of those that follow.
void offload_tell(const struct offload *o, const char *track,
                  bool (*time)(struct shoal_slot *s, uint32_t i, uint64_t *t0_ns, uint64_t *ns),
                  struct shoal_slot *s);

// The first of `names` that can be opened as a library, or NULL.
void *offload_open_library(const char *const *names);

#endif
