// SPDX-License-Identifier: MIT
// Going through the files of a cache: all entries, with what is in them, and removing them.
// Files that vanish meanwhile or are none of ours are passed by.
#include "base/file.h"
#include "cache/entry.h"
#include "cache/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool each_of(int root, const char *path, unsigned prefix, bool entries, store_each each,
                    void *user) {
    int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool on = true;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    for (struct dirent *e; on && (e = readdir(dir));) {
        bool wanted = entries ? strlen(e->d_name) == 64 && !strcmp(e->d_name + 62, ".k") &&
                                    strspn(e->d_name, "0123456789abcdef") == 62
                              : e->d_name[0] != '.';
        if (wanted)
            on = each(user, fd, e->d_name, prefix);
    }
    closedir(dir);
    return on;
}

void store_scan(int root, store_each each, void *user) {
    for (unsigned prefix = 0; prefix < 256; prefix++) {
        char path[8];
        snprintf(path, sizeof path, "v1/%02x", prefix);
        if (!each_of(root, path, prefix, true, each, user))
            return;
    }
}

void store_list(int root, const char *sub, store_each each, void *user) {
    char path[STORE_NAME];
    snprintf(path, sizeof path, "v1/%s", sub);
    each_of(root, path, 0, false, each, user);
}

// ---- Walk ---------------------------------------------------------------------------------------

struct walking {
    struct cache *c;
    const struct cache_walk *walk;
    int tier;
    bool ended;
};

static int hex_value(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static void key_of_name(const char *name, unsigned prefix, unsigned char key[KEY_BYTES]) {
    key[0] = (unsigned char)prefix;
    for (int i = 0; i < KEY_BYTES - 1; i++)
        key[i + 1] = (unsigned char)(hex_value(name[2 * i]) << 4 | hex_value(name[2 * i + 1]));
}

// Header, record and meta of an entry; the payload stays on the disk.
static const char *read_front(const struct walking *w, int dir, const char *name,
                              const unsigned char key[KEY_BYTES], struct cache_item *out,
                              struct stat *s) {
    unsigned char header[ENTRY_HEADER], mac[ENTRY_MAC];
    struct cache_item head;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return "unreadable";
    const char *wrong = "unreadable";
    unsigned char *bytes = NULL;
    if (fstat(fd, s) == 0)
        wrong = !S_ISREG(s->st_mode) ? "corrupt: not a file" : NULL;
    if (!wrong && file_read_at(fd, "", 0, header, sizeof header, NULL) != SHOAL_OK)
        wrong = "corrupt: too short";
    if (!wrong)
        wrong = entry_header(header, (uint64_t)s->st_size, &head);
    if (!wrong) {
        size_t length = ENTRY_HEADER + head.record_length + head.meta_length;
        bytes = malloc(length);
        if (!bytes || file_read_at(fd, "", 0, bytes, length, NULL) != SHOAL_OK)
            wrong = "unreadable";
        else
            wrong = entry_front(bytes, length, (uint64_t)s->st_size, key, out);
    }
    if (!wrong && file_read_at(fd, "", entry_mac_offset((size_t)s->st_size), mac, sizeof mac,
                               NULL) != SHOAL_OK)
        wrong = "unreadable";
    if (!wrong && !store_trusts(w->c, w->tier, s, bytes, mac))
        wrong = "foreign";
    close(fd);
    if (wrong) {
        free(bytes);
        *out = (struct cache_item){0};
    } else
        out->block = bytes;
    return wrong;
}

static bool walk_one(void *user, int dir, const char *name, unsigned prefix) {
    struct walking *w = user;
    struct stat s = {0};
    struct cache_item item = {0};
    unsigned char key[KEY_BYTES];
    char path[STORE_NAME];
    key_of_name(name, prefix, key);
    store_entry_name(key, path);
    const char *wrong = w->walk->payload ? store_read(w->c, w->tier, path, key, false, &item, &s)
                                         : read_front(w, dir, name, key, &item, &s);
    if (wrong && fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return true; // gone
    item.tier = w->tier;
    memcpy(item.key, key, KEY_BYTES);
    struct buf file = {0};
    buf_printf(&file, "%s/%s", w->c->tiers[w->tier].place, path);
    w->ended = file.failed ||
               !w->walk->entry(w->walk->user, &item, file.data, (uint64_t)s.st_size,
                               (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec, wrong);
    buf_free(&file);
    cache_item_free(&item);
    return !w->ended;
}

void cache_walk(struct cache *c, const struct cache_walk *walk) {
    struct walking w = {.c = c, .walk = walk};
    for (; w.tier < c->tier_count && !w.ended; w.tier++)
        if (c->tiers[w.tier].fd >= 0)
            store_scan(c->tiers[w.tier].fd, walk_one, &w);
}

// ---- Removing -----------------------------------------------------------------------------------

static bool remove_one(void *user, int dir, const char *name, unsigned prefix) {
    uint64_t *count = user;
    (void)prefix;
    if (unlinkat(dir, name, 0) == 0 || (errno == EISDIR && unlinkat(dir, name, AT_REMOVEDIR) == 0))
        ++*count;
    return true;
}

uint64_t cache_remove(struct cache *c, const unsigned char key[KEY_BYTES]) {
    uint64_t count = 0, bad = 0;
    char name[STORE_NAME];
    if (!store_writable(c))
        return 0;
    if (key) {
        store_entry_name(key, name);
        return unlinkat(c->tiers[0].fd, name, 0) == 0;
    }
    store_scan(c->tiers[0].fd, remove_one, &count);
    store_list(c->tiers[0].fd, "bad", remove_one, &bad);
    return count;
}
