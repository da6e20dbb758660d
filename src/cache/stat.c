// SPDX-License-Identifier: MIT
// Counters and compile times: small files of fixed form with a sum, nothing anybody depends on.
//
// There are 16 files of counters, chosen by process and thread; an update locks one of them without
// waiting, reads, adds and writes it. A file that is missing or damaged starts again from zero.
#include "cache/crc32c.h"
#include "cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { FILES = 16, REASONS = 16, REASON_ROOM = 32, KINDS = 8, SIZES = 32 };
static const uint64_t counter_magic = 0x317461745368, time_magic = 0x32656d695468,
                      scan_magic = 0x316e61635368;

struct head { // of each file; the sum covers what follows it
    uint64_t magic;
    uint32_t sum, size;
};

struct counters {
    struct head head;
    uint64_t count[STAT_COUNTERS];
    struct {
        char reason[REASON_ROOM];
        uint64_t count;
    } reasons[REASONS];
};

struct times { // mean compile time by kind and magnitude of the source; 0: unknown
    struct head head;
    struct kind_times {
        char kind[CACHE_KIND]; // "": a row that is free
        uint32_t mean_ms[SIZES];
    } kinds[KINDS];
};

struct scan_file {
    struct head head;
    struct stat_scan scan;
};

// ---- Files with a head --------------------------------------------------------------------------

static bool load(int fd, void *file, size_t size, uint64_t magic) {
    struct head *h = file;
    ssize_t got = pread(fd, file, size, 0);
    if (got == (ssize_t)size && h->magic == magic && h->size == size &&
        h->sum == crc32c(h + 1, size - sizeof *h))
        return true;
    memset(file, 0, size);
    return false;
}

static void save(int fd, void *file, size_t size, uint64_t magic) {
    struct head *h = file;
    *h = (struct head){
        .magic = magic, .sum = crc32c(h + 1, size - sizeof *h), .size = (uint32_t)size};
    ssize_t ignored = pwrite(fd, file, size, 0);
    (void)ignored;
}

static int open_stat(struct cache *c, const char *name, int flags) {
    char path[STORE_NAME];
    snprintf(path, sizeof path, "v1/stat/%s", name);
    flags |= O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = openat(c->tiers[0].fd, path, flags, 0600);
    if (fd < 0 && errno == ENOENT && (flags & O_CREAT)) {
        int dir = store_dir(c, "stat");
        if (dir < 0)
            return -1;
        fd = openat(dir, name, flags, 0600);
        close(dir);
    }
    return fd;
}

// For change: locked, or -1.
static int open_locked(struct cache *c, const char *name) {
    int fd = store_writable(c) ? open_stat(c, name, O_RDWR | O_CREAT) : -1;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

// ---- Counters -----------------------------------------------------------------------------------

static void counter_name(unsigned number, char name[2]) {
    name[0] = "0123456789abcdef"[number % FILES];
    name[1] = 0;
}

// What there is no room for is counted in the last row, as "other".
static void count_reason(struct counters *s, const char *reason) {
    char word[REASON_ROOM];
    size_t n = strcspn(reason, ":");
    snprintf(word, sizeof word, "%.*s", n < REASON_ROOM ? (int)n : REASON_ROOM - 1, reason);
    int i = 0;
    while (i < REASONS - 1 && s->reasons[i].count &&
           strncmp(s->reasons[i].reason, word, REASON_ROOM) != 0)
        i++;
    snprintf(s->reasons[i].reason, REASON_ROOM, "%s", i < REASONS - 1 ? word : "other");
    s->reasons[i].count++;
}

void stat_add(struct cache *c, const struct stat_change *change) {
    int fd = -1;
    unsigned first = (unsigned)gettid();
    if (!store_writable(c))
        return;
    for (unsigned i = 0; i < FILES && fd < 0; i++) {
        char name[2];
        counter_name(first + i, name);
        fd = open_locked(c, name);
        if (fd < 0 && errno != EWOULDBLOCK)
            return;
    }
    if (fd < 0)
        return;
    struct counters s;
    load(fd, &s, sizeof s, counter_magic);
    for (int i = 0; i < STAT_COUNTERS; i++)
        s.count[i] += change->add[i];
    if (change->reason)
        count_reason(&s, change->reason);
    save(fd, &s, sizeof s, counter_magic);
    close(fd);
}

void cache_count(struct cache *c, bool hit, const char *reason, int tier, uint32_t saved_ms) {
    struct stat_change change = {.reason = hit ? NULL : reason};
    change.add[hit ? (tier > 0 ? STAT_HITS_READ_ONLY : STAT_HITS) : STAT_MISSES] = 1;
    change.add[STAT_SAVED_MS] = hit ? saved_ms : 0;
    stat_add(c, &change);
}

static void sum_reason(struct cache_stat *out, const char *reason, uint64_t count) {
    int i = 0;
    while (i < REASONS - 1 && out->by_reason[i].count &&
           strncmp(out->by_reason[i].reason, reason, REASON_ROOM) != 0)
        i++;
    snprintf(out->by_reason[i].reason, REASON_ROOM, "%.*s", REASON_ROOM - 1, reason);
    out->by_reason[i].count += count;
}

void stat_sum(struct cache *c, struct cache_stat *out, uint64_t *stored_bytes) {
    uint64_t total[STAT_COUNTERS] = {0};
    for (unsigned i = 0; i < FILES; i++) {
        char name[2];
        struct counters s;
        counter_name(i, name);
        int fd = open_stat(c, name, O_RDONLY);
        if (fd < 0)
            continue;
        load(fd, &s, sizeof s, counter_magic);
        close(fd);
        for (int k = 0; k < STAT_COUNTERS; k++)
            total[k] += s.count[k];
        for (int k = 0; k < REASONS; k++)
            if (s.reasons[k].count)
                sum_reason(out, s.reasons[k].reason, s.reasons[k].count);
    }
    out->hits = total[STAT_HITS];
    out->hits_read_only = total[STAT_HITS_READ_ONLY];
    out->misses = total[STAT_MISSES];
    out->corrupt = total[STAT_CORRUPT];
    out->refused = total[STAT_REFUSED];
    out->evicted = total[STAT_EVICTED];
    out->stored = total[STAT_STORED];
    out->saved_ms = total[STAT_SAVED_MS];
    *stored_bytes = total[STAT_STORED_BYTES];
}

static bool measure(void *user, int dir, const char *name, unsigned prefix) {
    struct cache_stat *out = user;
    struct stat s;
    (void)prefix;
    if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) == 0) {
        out->entries++;
        out->bytes += (uint64_t)s.st_size;
    }
    return true;
}

void cache_stat(struct cache *c, struct cache_stat *out) {
    uint64_t stored_bytes;
    *out = (struct cache_stat){.cap_bytes = c->cap_bytes, .cap_entries = c->cap_entries};
    if (c->tiers[0].fd < 0)
        return;
    stat_sum(c, out, &stored_bytes);
    store_scan(c->tiers[0].fd, measure, out);
}

// ---- The last scan ------------------------------------------------------------------------------

int stat_scan_lock(struct cache *c) { return open_locked(c, "scan"); }

bool stat_scan_read(struct cache *c, struct stat_scan *out) {
    struct scan_file s = {0};
    int fd = open_stat(c, "scan", O_RDONLY);
    bool good = fd >= 0 && load(fd, &s, sizeof s, scan_magic);
    if (fd >= 0)
        close(fd);
    *out = s.scan;
    return good;
}

void stat_scan_write(int fd, const struct stat_scan *scan) {
    struct scan_file s = {.scan = *scan};
    save(fd, &s, sizeof s, scan_magic);
}

// ---- Compile times ------------------------------------------------------------------------------

static int magnitude(uint64_t bytes) {
    int n = 0;
    while (bytes >>= 1)
        n++;
    return n < SIZES ? n : SIZES - 1;
}

// The row of a kind, or a free one; the last serves all for which there is none.
static struct kind_times *times_of(struct times *t, const char *kind) {
    int i = 0;
    while (i < KINDS - 1 && t->kinds[i].kind[0] && strncmp(t->kinds[i].kind, kind, CACHE_KIND))
        i++;
    return &t->kinds[i];
}

// How time grows with the source: the slope of the line through all that is known, both axes
// logarithmic; 1 where less than two sizes are known.
static double slope_of(const uint32_t mean_ms[SIZES]) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < SIZES; i++)
        if (mean_ms[i]) {
            double time = log2(mean_ms[i]);
            n += 1, x += i, y += time, xx += (double)i * i, xy += i * time;
        }
    double slope = n > 1 ? (n * xy - x * y) / (n * xx - x * x) : 1;
    return slope < 0.25 ? 0.25 : slope > 3 ? 3 : slope;
}

// From the nearest size that is known, along that line.
uint32_t cache_predict(struct cache *c, const char *kind, uint64_t bytes) {
    struct times t = {0};
    int fd = c->tiers[0].fd < 0 ? -1 : open_stat(c, "time", O_RDONLY);
    if (fd < 0)
        return 0;
    load(fd, &t, sizeof t, time_magic);
    close(fd);
    const uint32_t *mean = times_of(&t, kind)->mean_ms;
    int size = magnitude(bytes);
    for (int d = 0; d < SIZES; d++)
        for (int at = size + d; at >= size - d; at -= d ? 2 * d : 1)
            if (at >= 0 && at < SIZES && mean[at]) {
                double ms = mean[at] * exp2(slope_of(mean) * (size - at));
                return ms < 1 ? 1 : ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
            }
    return 0;
}

void cache_learn(struct cache *c, const char *kind, uint64_t bytes, uint32_t wall_ms) {
    struct times t;
    int fd = open_locked(c, "time");
    if (fd < 0)
        return;
    load(fd, &t, sizeof t, time_magic);
    struct kind_times *row = times_of(&t, kind);
    uint32_t *mean = &row->mean_ms[magnitude(bytes)];
    snprintf(row->kind, CACHE_KIND, "%s", kind);
    uint64_t next =
        *mean ? ((uint64_t)*mean * 3 + wall_ms + 2) / 4 : wall_ms; // the last count most
    *mean = next ? (uint32_t)next : 1;
    save(fd, &t, sizeof t, time_magic);
    close(fd);
}
