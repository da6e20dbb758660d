// SPDX-License-Identifier: MIT
// What tests of the kernel cache share: entries made of a number, and processes that use a cache.
#ifndef SHOAL_TESTS_CACHE_SHELF_H
#define SHOAL_TESTS_CACHE_SHELF_H

#include "cache/entry.h"
#include "cache/store.h"
#include "check.h"

#include <sys/types.h>

enum { SHELF_ABI = 7, SHELF_PAYLOAD = 3000 };

// Entry number n: key record, meta and payload follow from it. The caller frees with shelf_free.
struct shelf_entry {
    struct key_record record, meta;
    unsigned char *payload;
    struct cache_item item;
};
struct shelf_entry shelf_entry(unsigned n, size_t payload);
void shelf_free(struct shelf_entry *e);

bool shelf_put(struct cache *c, unsigned n);
bool shelf_put_size(struct cache *c, unsigned n, size_t payload);
// Looks entry n up. True: it was there, and its bytes are right (a wrong byte fails the test).
bool shelf_get(struct cache *c, unsigned n);
const char *shelf_reason(void); // of the last shelf_put or shelf_get
// The last shelf_get had no good entry, for this reason (up to a colon).
#define CHECK_MISS(c, n, why)                                                                      \
    do {                                                                                           \
        CHECK(!shelf_get(c, n));                                                                   \
        CHECK_MSG(!strncmp(shelf_reason(), why, strlen(why)), "miss: %s, not %s", shelf_reason(),  \
                  why);                                                                            \
    } while (0)

const char *shelf_file(struct cache *c, unsigned n); // path of entry n
struct cache *shelf_open(void);                      // of the test's directory
size_t shelf_count(const char *dir);                 // files in v1/DIR of the test's cache
unsigned char *shelf_load(const char *path, size_t *length);
void shelf_save(const char *path, const void *bytes, size_t length);
void shelf_age(const char *path, int64_t seconds); // sets its mtime that long ago

// Runs a function in a process of its own; its result is the exit status (128 + signal).
pid_t shelf_start(int (*run)(void *user), void *user);
int shelf_wait(pid_t pid);
int shelf_child(int (*run)(void *user), void *user);
// In a child: becomes another user, if the test runs as root; false when it cannot.
bool shelf_drop_rights(const char *dir);

#endif
