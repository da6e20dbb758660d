// SPDX-License-Identifier: MIT
// The kernel cache: a store of checked bytes under keys. It knows no backend and no model.
//
// One entry is one file that checks itself; nothing depends on a lock; any defect is a miss with a
// reason, never an error. A cache that cannot be used is off and says why: every function here then
// does nothing, and results stay the same. A handle may be used by several threads.
#ifndef SHOAL_CACHE_CACHE_H
#define SHOAL_CACHE_CACHE_H

#include "cache/key.h"
#include "log/log.h"

enum cache_mode { CACHE_ON, CACHE_OFF, CACHE_RO, CACHE_REFRESH, CACHE_VERIFY };

struct cache;

// Opens the cache at `dir`, or where the environment says (NULL). Never NULL but for lack of
// memory.
struct cache *cache_open(const char *dir);
void cache_close(struct cache *c);
enum cache_mode cache_mode(const struct cache *c);
const char *cache_place(const struct cache *c); // the root as text, "" when there is none
const char *cache_off(const struct cache *c);   // NULL: usable; else why not

// What went wrong with files or settings and the user should hear: each once, then NULL.
const char *cache_warning(struct cache *c);
// All of them, and why it is off if nobody asked for that; each once in this process, for handles
// come and go.
void cache_tell(struct cache *c, struct report *r);

// What an entry is, a word of the backend's such as so or cubin: the field `kind` of its record, 1
// to 15 small letters and digits. What is no kernel has one of these two.
enum { CACHE_KIND = 16 };
#define CACHE_PROBE "probe"
#define CACHE_TUNE "tune"

// An entry in memory. `block` owns the rest (malloc); of an entry to store it may be NULL.
struct cache_item {
    char kind[CACHE_KIND]; // of an entry that was read; the record says it
    uint32_t abi;
    unsigned char key[KEY_BYTES];
    uint64_t created_ns;         // Unix time
    uint32_t wall_ms, cpu_ms;    // of the compilation
    const unsigned char *record; // fields as in key.h
    const unsigned char *meta;   // fields of the same form: model, method, registers, source, ...
    const unsigned char *payload;
    size_t record_length, meta_length, payload_length;
    int tier; // 0: the cache itself; 1, ...: a read-only one
    unsigned char *block;
};
void cache_item_free(struct cache_item *item);
bool cache_is_kernel(const struct cache_item *item);

enum { CACHE_REASON = 96 };

// Looks an entry up. A miss leaves its reason: absent, corrupt, version, foreign (not signed with
// the user's secret), wrong-abi, owner, mode, off, refresh, ... The bytes handed out are the bytes
// that were checked.
bool cache_get(struct cache *c, const struct key_record *key, uint32_t abi, struct cache_item *out,
               char reason[CACHE_REASON]);
// Stores, signed; `item`'s key is made from its record, which says its kind. false with a reason
// when nothing was stored: off, read-only, quick (a kernel compiled in under 5 ms), not stored: ...
// With `durable` the directory is synced too.
bool cache_put(struct cache *c, struct cache_item *item, bool durable, char reason[CACHE_REASON]);
// An entry that checked but that the loader refused: counted, and quarantined where it is ours.
void cache_refuse(struct cache *c, const struct cache_item *item);

// Avoids compiling the same key twice at a time, in this process and between processes of this
// machine. Returns at once when it is the caller's turn; else waits, at most `predicted_ms` twice
// (a second at least) or 120 s, until the holder is done, has died, or *stop is set. `waiting` (may
// be NULL) is called about every 100 ms with the holder's pid.
enum cache_turn {
    CACHE_TURN_MINE,   // compile (then cache_done); nobody else does, or the wait is over
    CACHE_TURN_LOOK,   // somebody finished: look the entry up again
    CACHE_TURN_SHARED, // another thread of this process finished: *out has its bytes or error
    CACHE_TURN_STOPPED,
};
struct cache_work; // in-flight compilation
struct cache_shared {
    shoal_code code; // SHOAL_OK: payload (a copy, malloc) is set; else `error` says what failed
    unsigned char *payload;
    size_t payload_length;
    char *error; // malloc
};
enum cache_turn cache_turn(struct cache *c, const unsigned char key[KEY_BYTES],
                           uint32_t predicted_ms, const volatile int *stop,
                           void (*waiting)(void *user, long pid), void *user,
                           struct cache_work **work, struct cache_shared *out);
// Ends the caller's turn and hands the outcome to threads that wait. Bytes are borrowed.
void cache_done(struct cache *c, struct cache_work *work, shoal_code code, const void *payload,
                size_t length, const char *error);

// Counts a lookup and, on a hit, the compile time it saved.
void cache_count(struct cache *c, bool hit, const char *reason, int tier, uint32_t saved_ms);

// Compile time of `bytes` of source, predicted from earlier entries of that kind; 0: unknown.
uint32_t cache_predict(struct cache *c, const char *kind, uint64_t bytes);
void cache_learn(struct cache *c, const char *kind, uint64_t bytes, uint32_t wall_ms);

// Walks all entries of the local cache and the read-only ones; `entry` false: the walk ends.
// Items have no payload unless asked for; a defective file comes with a reason and no record.
struct cache_walk {
    bool payload;
    bool (*entry)(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                  int64_t used_ns, const char *reason);
    void *user;
};
void cache_walk(struct cache *c, const struct cache_walk *walk);
// Removes an entry, or (NULL) all.
uint64_t cache_remove(struct cache *c, const unsigned char key[KEY_BYTES]);

struct cache_stat {
    uint64_t entries, bytes, cap_bytes, cap_entries;
    uint64_t hits, hits_read_only, misses, corrupt, refused, evicted, stored;
    uint64_t saved_ms;
    struct {
        char reason[32];
        uint64_t count;
    } by_reason[16];
};
void cache_stat(struct cache *c, struct cache_stat *out);

// All entries as a tar archive without signatures, and back: each entry is checked again and
// signed, what is refused is named.
shoal_code cache_export(struct cache *c, const char *path, uint64_t *count, struct report *r);
shoal_code cache_import(struct cache *c, const char *path, uint64_t *count, uint64_t *refused,
                        struct report *r);

// What a machine tool is, kept by its path, size, mtime and ctime (see device/cpu/identity.c),
// signed as kernels are.
bool cache_probe_get(struct cache *c, const char *name, struct buf *out);
void cache_probe_put(struct cache *c, const char *name, const void *bytes, size_t length);
// What was measured on a machine, which is named by all that it depends on; the same way.
bool cache_tune_get(struct cache *c, const char *machine, struct buf *out);
void cache_tune_put(struct cache *c, const char *machine, const void *bytes, size_t length);

#endif
