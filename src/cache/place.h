// SPDX-License-Identifier: MIT
// Where the cache is: directories that nobody else can change, and what the environment says.
#ifndef SHOAL_CACHE_PLACE_H
#define SHOAL_CACHE_PLACE_H

#include "cache/cache.h"

// Opens a directory (an absolute path) after checking the whole way to it: every directory above
// belongs to root or to us and nobody else can write to it, or it is sticky; the last one is no
// link, belongs to us (or to root, where that is allowed) and nobody else can write to it.
// Directories that are missing are made, for us alone, where asked. -1: `why` says what is wrong.
int place_open(const char *path, bool create, bool root_may_own, struct buf *why);

// Puts the path of `below` in the home of the password file; nothing where there is no home.
void place_home(struct buf *b, const char *below);

// The settings of the environment.
struct place_settings {
    enum cache_mode mode;
    char *root;                      // malloc; NULL: none
    char *read_only;                 // malloc; directories with colons between, or NULL
    uint64_t cap_bytes, cap_entries; // UINT64_MAX: no limit
    struct buf off;                  // not empty: why there can be no cache
    struct buf notes;                // settings that were not understood, one a line
};
void place_read(struct place_settings *s, const char *dir);
void place_settings_free(struct place_settings *s);

// True where locks and renames are not seen by all at once: network file systems and FUSE.
bool place_is_remote(int fd);

#endif
