// SPDX-License-Identifier: MIT
// Growth: the least recently used entries go when there are too many, and leftovers go.
//
// Stores keep a running total (counters of stat.c on top of what the last scan found); when it
// passes a cap, or a day after the last scan, the process that is storing looks at all entries. It
// deletes the oldest down to 80 % of the caps. What was used within a day stays, until there is
// twice as much as allowed. A clock that jumps must neither empty the cache nor make an entry
// immortal: a time in the future counts as now and is set to now, and of entries that are too old
// an eighth goes at a time.
#include "cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOFT = 8, HARD = 18 }; // tenths of a cap
enum { WAITS = 20, WAIT_US = 10000 };

static const int64_t hour_ns = (int64_t)3600 * 1000000000, day_ns = 24 * hour_ns,
                     age_ns = 90 * day_ns;

struct found {
    char name[65];
    unsigned char prefix;
    ino_t inode;
    int64_t size, used_ns, mtime_ns; // used: mtime, but not in the future
};

struct finding {
    struct found *items;
    size_t count, capacity;
    int64_t now_ns;
    uint64_t bytes;
};

static int64_t mtime_of(const struct stat *s) {
    return (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
}

static bool find(void *user, int dir, const char *name, unsigned prefix) {
    struct finding *f = user;
    struct stat s;
    if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    if (f->count == f->capacity) {
        size_t capacity = f->capacity ? f->capacity * 2 : 1024;
        struct found *bigger = realloc(f->items, capacity * sizeof *bigger);
        if (!bigger)
            return false;
        f->items = bigger;
        f->capacity = capacity;
    }
    struct found *e = &f->items[f->count++];
    *e = (struct found){.prefix = (unsigned char)prefix,
                        .inode = s.st_ino,
                        .size = s.st_size,
                        .mtime_ns = mtime_of(&s)};
    memcpy(e->name, name, 65); // store_scan gives names of this length only
    e->used_ns = e->mtime_ns > f->now_ns ? f->now_ns : e->mtime_ns;
    if (e->mtime_ns > f->now_ns + hour_ns && utimensat(dir, name, NULL, AT_SYMLINK_NOFOLLOW) == 0)
        e->mtime_ns = fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) == 0 ? mtime_of(&s) : 0;
    f->bytes += (uint64_t)s.st_size;
    return true;
}

static int by_use(const void *a, const void *b) {
    const struct found *x = a, *y = b;
    return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

// Only if it is still the file that was seen: somebody may have used or replaced it.
static bool delete_entry(struct cache *c, const struct found *e) {
    char path[STORE_NAME] = "v1/00/";
    struct stat s;
    path[3] = "0123456789abcdef"[e->prefix >> 4];
    path[4] = "0123456789abcdef"[e->prefix & 15];
    memcpy(path + 6, e->name, sizeof e->name);
    int root = c->tiers[0].fd;
    if (fstatat(root, path, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    return s.st_ino == e->inode && s.st_size == e->size && mtime_of(&s) == e->mtime_ns &&
           unlinkat(root, path, 0) == 0;
}

// `part` tenths of a cap; UINT64_MAX stays without limit.
static uint64_t tenths(uint64_t cap, uint64_t part) {
    return cap == UINT64_MAX ? cap : cap / 10 * part + cap % 10 * part / 10;
}

// `bytes` and `entries` are what is there and is to come; what stays goes to *scan.
static void delete_oldest(struct cache *c, struct finding *f, uint64_t more,
                          struct stat_scan *scan) {
    uint64_t evicted = 0, aged = f->count / 8 + 16;
    uint64_t bytes = f->bytes + more, entries = f->count + (more > 0);
    // A little before twice the cap, for those who store at the same time.
    bool hard = bytes > tenths(c->cap_bytes, HARD) || entries > tenths(c->cap_entries, HARD);
    bool over = bytes > c->cap_bytes || entries > c->cap_entries;
    if (f->count)
        qsort(f->items, f->count, sizeof *f->items, by_use);
    for (size_t i = 0; i < f->count; i++) {
        const struct found *e = &f->items[i];
        int64_t age = f->now_ns - e->used_ns;
        bool full =
            over && (bytes > tenths(c->cap_bytes, SOFT) || entries > tenths(c->cap_entries, SOFT));
        bool old = age > age_ns && aged > 0;
        if (!old && (!full || (age < day_ns && !hard)))
            break;
        if (delete_entry(c, e)) {
            aged -= old;
            evicted++;
            bytes -= (uint64_t)e->size;
            entries--;
        }
    }
    scan->bytes = bytes - more;
    scan->entries = entries - (more > 0);
    if (evicted)
        stat_add(c, &(struct stat_change){.add[STAT_EVICTED] = evicted});
}

struct leftovers {
    int64_t now_ns, most_ns;
};

static bool delete_leftover(void *user, int dir, const char *name, unsigned prefix) {
    const struct leftovers *l = user;
    struct stat s;
    (void)prefix;
    if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    int64_t age = l->now_ns - mtime_of(&s);
    if (age < -hour_ns)
        (void)utimensat(dir, name, NULL, AT_SYMLINK_NOFOLLOW);
    else if (age > l->most_ns)
        (void)unlinkat(dir, name, 0);
    return true;
}

bool evict_now(struct cache *c, uint64_t more) {
    int lock = stat_scan_lock(c);
    if (lock < 0)
        return false;
    struct stat_scan scan = {.time_ns = store_now_ns()};
    struct cache_stat counters = {0};
    stat_sum(c, &counters, &scan.stored_bytes);
    scan.stored_entries = counters.stored;
    struct finding f = {.now_ns = scan.time_ns};
    store_scan(c->tiers[0].fd, find, &f);
    delete_oldest(c, &f, more, &scan);
    store_list(c->tiers[0].fd, "tmp", delete_leftover, &(struct leftovers){f.now_ns, hour_ns});
    store_list(c->tiers[0].fd, "probe", delete_leftover, &(struct leftovers){f.now_ns, age_ns});
    stat_scan_write(lock, &scan);
    close(lock);
    free(f.items);
    return true;
}

enum need { NEED_NOTHING, NEED_SCAN, NEED_ROOM };

// Was over the cap after the last scan: that one could not help, wait for twice the cap.
static enum need need_of(uint64_t last, uint64_t now, uint64_t cap) {
    if (now > tenths(cap, HARD))
        return NEED_ROOM;
    return last <= cap && now > cap ? NEED_SCAN : NEED_NOTHING;
}

static enum need look_at_total(struct cache *c, uint64_t more) {
    struct stat_scan scan;
    struct cache_stat counters = {0};
    uint64_t stored_bytes;
    bool known = stat_scan_read(c, &scan);
    stat_sum(c, &counters, &stored_bytes);
    int64_t age = store_now_ns() - scan.time_ns;
    if (!known || stored_bytes < scan.stored_bytes || counters.stored < scan.stored_entries ||
        age > day_ns || age < -hour_ns)
        return NEED_SCAN;
    uint64_t bytes = scan.bytes + (stored_bytes - scan.stored_bytes) + more;
    uint64_t entries = scan.entries + (counters.stored - scan.stored_entries) + 1;
    enum need a = need_of(scan.bytes, bytes, c->cap_bytes);
    enum need b = need_of(scan.entries, entries, c->cap_entries);
    return a > b ? a : b;
}

// Where room is needed and another process is making it, this one waits a little: many writers
// would else outrun the one that deletes.
void evict_for(struct cache *c, uint64_t more) {
    for (int i = 0; i < WAITS; i++) {
        enum need need = look_at_total(c, more);
        if (need == NEED_NOTHING || evict_now(c, more) || need != NEED_ROOM)
            return;
        usleep(WAIT_US);
    }
}
