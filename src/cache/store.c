// SPDX-License-Identifier: MIT
// Reading and writing entries.
//
// An entry is read whole into memory and checked there, so that the bytes handed out are the bytes
// that were checked. It is written under a name of its own and renamed: a reader sees an old entry,
// a new one or none. Whatever fails is a miss or a skipped store.
#include "cache/store.h"

#include "base/file.h"
#include "cache/entry.h"
#include "cache/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { QUICK_MS = 5, TEMP_TRIES = 8, BAD_KEPT = 8 };
static const int64_t touch_ns = (int64_t)3600 * 1000000000;
static const uint64_t space_least = (uint64_t)64 << 20;

static bool explain(char reason[CACHE_REASON], const char *text) {
    snprintf(reason, CACHE_REASON, "%s", text);
    return false;
}

void store_entry_name(const unsigned char key[KEY_BYTES], char name[STORE_NAME]) {
    char hex[KEY_HEX];
    key_hex(key, hex);
    snprintf(name, STORE_NAME, "v1/%.2s/%s.k", hex, hex + 2);
}

// ---- Directories --------------------------------------------------------------------------------

static int open_below(int root, const char *sub) {
    char name[STORE_NAME];
    snprintf(name, sizeof name, strcmp(sub, STORE_TUNE) ? "v1/%s" : "%s", sub);
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(root, name, flags);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    if ((mkdirat(root, "v1", 0700) < 0 && errno != EEXIST) ||
        (mkdirat(root, name, 0700) < 0 && errno != EEXIST))
        return -1;
    return openat(root, name, flags);
}

// A root that was deleted is made again under the same descriptor, which other threads may use.
static bool revive_root(struct cache *c) {
    struct stat s;
    if (fstat(c->tiers[0].fd, &s) < 0 || s.st_nlink > 0)
        return false;
    struct buf why = {0};
    int fd = place_open(c->tiers[0].place, true, false, &why);
    buf_free(&why);
    if (fd < 0)
        return false;
    bool moved = dup3(fd, c->tiers[0].fd, O_CLOEXEC) >= 0;
    close(fd);
    return moved;
}

int store_dir(struct cache *c, const char *sub) {
    int fd = open_below(c->tiers[0].fd, sub);
    if (fd < 0 && errno == ENOENT && revive_root(c))
        fd = open_below(c->tiers[0].fd, sub);
    return fd;
}

// ---- Reading ------------------------------------------------------------------------------------

static const char *open_reason(int error) {
    if (error == ENOENT)
        return "absent";
    if (error == ELOOP || error == ENOTDIR || error == ENXIO)
        return "corrupt: not a file";
    return error == EMFILE || error == ENFILE ? "unreadable: too many open files" : "unreadable";
}

static const char *check_file(const struct stat *s, bool root_may_own) {
    if (!S_ISREG(s->st_mode))
        return "corrupt: not a file";
    if (s->st_uid != geteuid() && !(root_may_own && s->st_uid == 0))
        return "owner";
    if (s->st_mode & 022)
        return "mode";
    if (s->st_size < ENTRY_HEADER + ENTRY_TRAILER || s->st_size > ENTRY_MOST)
        return "corrupt: length";
    return NULL;
}

bool store_trusts(const struct cache *c, int tier, const struct stat *s,
                  const unsigned char *header, const unsigned char *mac) {
    const struct cache_tier *t = &c->tiers[tier];
    return t->listed || (t->of_root && s->st_uid == 0) ||
           (c->has_secret && entry_is_signed(header, mac, c->secret));
}

static const char *read_file(const struct cache *c, int tier, int fd, const struct stat *s,
                             const unsigned char key[KEY_BYTES], struct cache_item *out) {
    size_t length = (size_t)s->st_size;
    unsigned char *bytes = malloc(length);
    if (!bytes)
        return "memory";
    errno = 0;
    const char *wrong = NULL;
    if (file_read_at(fd, "", 0, bytes, length, NULL) != SHOAL_OK)
        wrong = errno ? "unreadable" : "corrupt: too short"; // it was cut in the meantime
    else
        wrong = entry_decode(bytes, length, key, out);
    if (!wrong && !store_trusts(c, tier, s, bytes, bytes + entry_mac_offset(length)))
        wrong = "foreign";
    if (wrong)
        free(bytes);
    else
        out->block = bytes;
    return wrong;
}

// The time of the last use is the file's mtime, to the hour.
static void touch(struct cache *c, int fd, const struct stat *s) {
    int64_t used = (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
    int64_t age = store_now_ns() - used;
    if (store_writable(c) && (age > touch_ns || age < -touch_ns))
        (void)futimens(fd, NULL);
}

const char *store_read(struct cache *c, int tier, const char *name,
                       const unsigned char key[KEY_BYTES], bool use, struct cache_item *out,
                       struct stat *s) {
    // Not blocked by a pipe that stands in the way.
    int fd =
        openat(c->tiers[tier].fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int error = errno;
        *s = (struct stat){0};
        if (error != ENOENT)
            (void)fstatat(c->tiers[tier].fd, name, s, AT_SYMLINK_NOFOLLOW);
        return open_reason(error);
    }
    const char *wrong = fstat(fd, s) < 0 ? "unreadable" : check_file(s, tier > 0);
    if (!wrong)
        wrong = read_file(c, tier, fd, s, key, out);
    if (!wrong) {
        out->tier = tier;
        if (use && tier == 0)
            touch(c, fd, s);
    }
    close(fd);
    return wrong;
}

bool store_has(struct cache *c, const unsigned char key[KEY_BYTES]) {
    char name[STORE_NAME];
    struct stat s;
    struct cache_item item = {0};
    store_entry_name(key, name);
    bool good = c->tiers[0].fd >= 0 && !store_read(c, 0, name, key, false, &item, &s);
    cache_item_free(&item);
    return good;
}

// One tier; a defective entry of our own is moved away. A foreign one stays: it may be somebody's.
static const char *look(struct cache *c, int tier, const unsigned char key[KEY_BYTES], uint32_t abi,
                        struct cache_item *out) {
    char name[STORE_NAME];
    struct stat s;
    store_entry_name(key, name);
    const char *wrong = store_read(c, tier, name, key, true, out, &s);
    if (!wrong && out->abi != abi) {
        cache_item_free(out);
        wrong = "wrong-abi";
    }
    bool defect = wrong && (!strncmp(wrong, "corrupt", 7) || !strcmp(wrong, "wrong-abi"));
    if (defect && tier == 0 && store_writable(c)) {
        store_quarantine(c, name, &s);
        stat_add(c, &(struct stat_change){.add[STAT_CORRUPT] = 1});
    }
    return wrong;
}

bool cache_get(struct cache *c, const struct key_record *key, uint32_t abi, struct cache_item *out,
               char reason[CACHE_REASON]) {
    *out = (struct cache_item){0};
    if (c->off || c->mode == CACHE_OFF)
        return explain(reason, "off");
    if (c->mode == CACHE_REFRESH)
        return explain(reason, "refresh");
    if (key->bytes.failed)
        return explain(reason, "memory");
    unsigned char digest[KEY_BYTES];
    key_digest(key, digest);
    const char *why = "absent";
    for (int i = 0; i < c->tier_count; i++) {
        const char *wrong = c->tiers[i].fd < 0 ? "absent" : look(c, i, digest, abi, out);
        if (!wrong) {
            *reason = 0;
            return true;
        }
        if (!strcmp(why, "absent"))
            why = wrong;
    }
    return explain(reason, why);
}

// ---- Writing ------------------------------------------------------------------------------------

static int create_temp(int dir, const char *name, char temp[STORE_NAME]) {
    char host[33] = "";
    gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++)
        if (*p == '/' || *p == '.' || (unsigned char)*p < 0x20)
            *p = '-';
    for (int i = 0; i < TEMP_TRIES; i++) {
        uint64_t number = 0;
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
            number = (uint64_t)store_now_ns();
        snprintf(temp, STORE_NAME, "%.16s.%s.%ld.%016llx", name, host, (long)getpid(),
                 (unsigned long long)number);
        int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int fill_temp(int fd, const void *bytes, size_t length) {
    int error = 0;
    if (fallocate(fd, 0, 0, (off_t)length) < 0 && (errno == ENOSPC || errno == EDQUOT))
        error = errno;
    errno = 0;
    if (!error && file_write(fd, "", bytes, length, NULL) != SHOAL_OK)
        error = errno ? errno : EIO;
    while (!error && fsync(fd) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EINVAL && errno != ENOSYS) // a file system that cannot
            error = errno;
        break;
    }
    if (close(fd) < 0 && !error && errno != EINTR)
        error = errno;
    return error;
}

static int publish_once(struct cache *c, const char *sub, const char *name, const void *bytes,
                        size_t length, bool durable) {
    char temp[STORE_NAME];
    int error = 0, from = store_dir(c, "tmp"), to = from < 0 ? -1 : store_dir(c, sub);
    int fd = to < 0 ? -1 : create_temp(from, name, temp);
    if (fd < 0)
        error = errno;
    else {
        error = fill_temp(fd, bytes, length);
        if (!error && renameat(from, temp, to, name) < 0)
            error = errno;
        if (error)
            unlinkat(from, temp, 0);
        else if (durable)
            (void)fsync(to);
    }
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
    return error;
}

int store_publish(struct cache *c, const char *sub, const char *name, const void *bytes,
                  size_t length, bool durable) {
    int error = publish_once(c, sub, name, bytes, length, durable);
    return error == ENOENT ? publish_once(c, sub, name, bytes, length, durable) : error;
}

static bool has_space(struct cache *c, size_t length) {
    struct statvfs s;
    if (fstatvfs(c->tiers[0].fd, &s) < 0 || !s.f_blocks)
        return true; // nobody knows
    uint64_t least = (uint64_t)length * 2 > space_least ? (uint64_t)length * 2 : space_least;
    return s.f_bavail >= least / (s.f_frsize ? s.f_frsize : 1);
}

static bool not_stored(struct cache *c, int error, char reason[CACHE_REASON]) {
    store_warn(c, error);
    snprintf(reason, CACHE_REASON, "not stored: %s", strerror(error));
    return false;
}

static bool put_bytes(struct cache *c, const unsigned char key[KEY_BYTES],
                      const unsigned char *bytes, size_t length, bool durable,
                      char reason[CACHE_REASON]) {
    char name[STORE_NAME], sub[3];
    store_entry_name(key, name);
    snprintf(sub, sizeof sub, "%.2s", name + 3);
    evict_for(c, length);
    if (!has_space(c, length))
        return not_stored(c, ENOSPC, reason);
    int error = store_publish(c, sub, name + 6, bytes, length, durable);
    if (error == EISDIR || error == ENOTEMPTY || error == EEXIST) { // a directory has its name
        store_quarantine(c, name, NULL);
        error = store_publish(c, sub, name + 6, bytes, length, durable);
    }
    if (error)
        return not_stored(c, error, reason);
    stat_add(c, &(struct stat_change){.add[STAT_STORED] = 1, .add[STAT_STORED_BYTES] = length});
    *reason = 0;
    return true;
}

static bool can_store(struct cache *c, char reason[CACHE_REASON]) {
    if (store_writable(c))
        return true;
    return explain(reason, c->off || c->mode == CACHE_OFF ? "off"
                           : c->mode == CACHE_RO          ? "read-only"
                                                          : "no place of its own");
}

bool cache_put(struct cache *c, struct cache_item *item, bool durable, char reason[CACHE_REASON]) {
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, item->record, item->record_length);
    sha256_end(&hash, item->key);
    if (!can_store(c, reason))
        return false;
    if (item->wall_ms < QUICK_MS)
        return explain(reason, "quick: made again sooner than read");
    if (!item->created_ns)
        item->created_ns = (uint64_t)store_now_ns();
    size_t length;
    unsigned char *bytes = entry_encode(item, &length);
    if (!bytes)
        return explain(reason, "limit: too large, or no memory");
    entry_sign(bytes, length, c->secret);
    bool stored = put_bytes(c, item->key, bytes, length, durable, reason);
    free(bytes);
    return stored;
}

bool store_put_entry(struct cache *c, unsigned char *bytes, size_t length,
                     const struct cache_item *item, char reason[CACHE_REASON]) {
    if (!can_store(c, reason))
        return false;
    entry_sign(bytes, length, c->secret);
    return put_bytes(c, item->key, bytes, length, false, reason);
}

// ---- Quarantine ---------------------------------------------------------------------------------

struct oldest {
    int count;
    char name[NAME_MAX + 1];
};

// Names end in the time they came, in hexadecimal of fixed length.
static bool find_oldest(void *user, int dir, const char *name, unsigned prefix) {
    struct oldest *o = user;
    size_t n = strlen(name), m = strlen(o->name);
    (void)dir, (void)prefix;
    if (!o->count++ || (n >= 16 && m >= 16 && strcmp(name + n - 16, o->name + m - 16) < 0))
        snprintf(o->name, sizeof o->name, "%s", name);
    return true;
}

static void trim_quarantine(struct cache *c, int dir) {
    for (int i = 0; i < 2; i++) { // two out for one in: an overfull place empties
        struct oldest o = {0};
        store_list(c->tiers[0].fd, "bad", find_oldest, &o);
        if (o.count <= BAD_KEPT)
            return;
        if (unlinkat(dir, o.name, 0) < 0 && (errno == EISDIR || errno == EPERM))
            (void)unlinkat(dir, o.name, AT_REMOVEDIR);
    }
}

void store_quarantine(struct cache *c, const char *name, const struct stat *s) {
    struct stat now;
    int root = c->tiers[0].fd;
    if (fstatat(root, name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
        (s && s->st_ino && (now.st_ino != s->st_ino || now.st_dev != s->st_dev)))
        return;
    int dir = store_dir(c, "bad");
    if (dir < 0)
        return;
    char bad[STORE_NAME + 24];
    snprintf(bad, sizeof bad, "%.2s%.62s.%016llx", name + 3, name + 6,
             (unsigned long long)store_now_ns());
    (void)renameat(root, name, dir, bad);
    trim_quarantine(c, dir);
    close(dir);
}

void cache_refuse(struct cache *c, const struct cache_item *item) {
    char name[STORE_NAME];
    if (!store_writable(c))
        return;
    store_entry_name(item->key, name);
    if (item->tier == 0)
        store_quarantine(c, name, NULL);
    stat_add(c, &(struct stat_change){.add[STAT_REFUSED] = 1});
}
