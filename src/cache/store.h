// SPDX-License-Identifier: MIT
// Inside of the cache: the handle, and the files under its root.
//
//   CACHEDIR.TAG              tells backup programs to pass by
//   v1/aa/<62 hex>.k          an entry, by its key
//   v1/tmp/                   entries being written
//   v1/bad/                   the last few that were defective or refused
//   v1/probe/<64 hex>.k       what is known of a tool
//   v1/stat/<0-f>, time, scan counters, compile times, the last look for old entries
//   tune/<16 hex>.t           what was measured on a machine
//
// The handle has no lock: what changes in it is atomic, so a child of fork can go on with it.
#ifndef SHOAL_CACHE_STORE_H
#define SHOAL_CACHE_STORE_H

#include "cache/cache.h"
#include "cache/secret.h"

#include <stdatomic.h>
#include <sys/stat.h>

enum { STORE_TIERS = 9, STORE_NOTES = 16, STORE_NAME = 96 };

struct cache_tier {
    int fd; // -1: not there
    char *place;
    bool of_root; // read-only and root's: root's files in it need no signature
    bool listed;  // read-only and on root's list: no file in it needs one
};

struct cache {
    enum cache_mode mode;
    struct cache_tier tiers[STORE_TIERS]; // 0: the cache itself
    int tier_count;
    bool has_secret;
    unsigned char secret[SECRET_BYTES];
    const char *off;                 // NULL: usable
    char *off_text;                  // own copy, or NULL
    uint64_t cap_bytes, cap_entries; // UINT64_MAX: no limit
    char *notes[STORE_NOTES];        // of the opening, said once
    int note_count;
    _Atomic uint64_t pending, said; // warnings by bit: notes, then the rows of warnings
};

bool store_writable(const struct cache *c);
void store_warn(struct cache *c, int error); // remembers that files failed with this errno
int64_t store_now_ns(void);                  // Unix time

#define STORE_TUNE "tune"
// Opens v1/SUB of the local cache, or the directory of what was measured, making what is missing;
// -1 with errno.
int store_dir(struct cache *c, const char *sub);
void store_entry_name(const unsigned char key[KEY_BYTES], char name[STORE_NAME]); // v1/aa/...k

// Whether the file of a tier, of which these are the header and the signature, may be used: the
// user signed it, or root answers for it.
bool store_trusts(const struct cache *c, int tier, const struct stat *s,
                  const unsigned char *header, const unsigned char *mac);
// Reads and checks a file of a tier. NULL: good, `out` owns its bytes; else why not. With `use` it
// counts as used now.
const char *store_read(struct cache *c, int tier, const char *name,
                       const unsigned char key[KEY_BYTES], bool use, struct cache_item *out,
                       struct stat *s);
// Writes bytes under a temporary name and puts them in place as NAME in
// such a directory. 0, or an errno.
int store_publish(struct cache *c, const char *sub, const char *name, const void *bytes,
                  size_t length, bool durable);
// Signs and stores an entry that was decoded to `item`.
bool store_put_entry(struct cache *c, unsigned char *bytes, size_t length,
                     const struct cache_item *item, char reason[CACHE_REASON]);
// Moves a defective file out of the way, if it is still the one that was seen (s NULL: any).
void store_quarantine(struct cache *c, const char *name, const struct stat *s);
// Is there an entry that reads well?
bool store_has(struct cache *c, const unsigned char key[KEY_BYTES]);

// Calls `each` for every name of an entry; `dir` is the descriptor of its directory. False ends.
typedef bool (*store_each)(void *user, int dir, const char *name, unsigned prefix);
void store_scan(int root, store_each each, void *user);
// Calls `each` for every file of v1/SUB, sorted by nothing.
void store_list(int root, const char *sub, store_each each, void *user);

// Counters. Lost when all files are busy or cannot be written.
enum stat_counter {
    STAT_HITS,
    STAT_HITS_READ_ONLY,
    STAT_MISSES,
    STAT_CORRUPT,
    STAT_REFUSED,
    STAT_EVICTED,
    STAT_STORED,
    STAT_STORED_BYTES,
    STAT_SAVED_MS,
    STAT_COUNTERS
};
struct stat_change {
    uint64_t add[STAT_COUNTERS];
    const char *reason; // of a miss, up to its colon
};
void stat_add(struct cache *c, const struct stat_change *change);
void stat_sum(struct cache *c, struct cache_stat *out, uint64_t *stored_bytes);

// What the last scan found, so that a store knows when the caps are near.
struct stat_scan {
    uint64_t bytes, entries;               // that were there
    uint64_t stored_bytes, stored_entries; // counters at that time
    int64_t time_ns;
};
// Opens and locks the file of the scan (tries only); -1 when somebody else has it.
int stat_scan_lock(struct cache *c);
bool stat_scan_read(struct cache *c, struct stat_scan *out);
void stat_scan_write(int fd, const struct stat_scan *scan);

// Makes room for `more` bytes if the caps ask for it.
void evict_for(struct cache *c, uint64_t more);
// The same whatever the running total says; false when another process is at it.
bool evict_now(struct cache *c, uint64_t more);

#endif
