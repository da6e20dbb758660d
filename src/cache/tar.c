// SPDX-License-Identifier: MIT
// Entries as a tar archive (POSIX ustar), out and in.
//
// An archive is not trusted: a member must have the name of an entry, nothing else is ever used as
// a path, and its bytes must be an entry of that name. Every other member is refused by its name;
// directories are passed by. Whether its kernels may be run is the word of the user who imports it:
// entries go out without a signature and are signed when they come in.
#include "base/file.h"
#include "cache/entry.h"
#include "cache/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512, NAME_LENGTH = 70, MEMBERS_MOST = 1000000, REFUSED_SAID = 50 };

struct ustar {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK, "a tar header is one block");

static const unsigned char zeros[2 * BLOCK];

static unsigned header_sum(const struct ustar *h) {
    struct ustar copy = *h;
    memset(copy.sum, ' ', sizeof copy.sum);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof copy; i++)
        sum += ((const unsigned char *)&copy)[i];
    return sum;
}

static uint64_t padded(uint64_t size) { return (size + BLOCK - 1) / BLOCK * BLOCK; }

// ---- Export -------------------------------------------------------------------------------------

struct exporting {
    struct file_part file;
    struct report *r;
    uint64_t count;
    shoal_code code;
};

static void make_header(struct ustar *h, const char *name, uint64_t size, int64_t used_ns) {
    *h = (struct ustar){.type = '0', .magic = "ustar", .version = {'0', '0'}};
    snprintf(h->name, sizeof h->name, "%s", name);
    snprintf(h->mode, sizeof h->mode, "%07o", 0600u);
    snprintf(h->uid, sizeof h->uid, "%07o", 0u);
    snprintf(h->gid, sizeof h->gid, "%07o", 0u);
    snprintf(h->size, sizeof h->size, "%011llo", (unsigned long long)size);
    uint64_t seconds = used_ns > 0 ? (uint64_t)used_ns / 1000000000 : 0;
    snprintf(h->mtime, sizeof h->mtime, "%011llo", (unsigned long long)(seconds & 077777777777));
    snprintf(h->sum, sizeof h->sum, "%06o", header_sum(h));
    h->sum[7] = ' ';
}

static shoal_code write_bytes(struct exporting *e, const void *bytes, size_t length) {
    return file_write(e->file.fd, e->file.part, bytes, length, e->r);
}

static bool export_one(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                       int64_t used_ns, const char *reason) {
    struct exporting *e = user;
    if (reason || item->tier > 0) {
        if (reason)
            report_warning(e->r, "%s: left out: %s", file, reason);
        return true;
    }
    struct ustar h;
    char name[STORE_NAME];
    store_entry_name(item->key, name);
    make_header(&h, name, bytes, used_ns);
    entry_sign(item->block, (size_t)bytes, NULL);
    e->code = write_bytes(e, &h, sizeof h);
    if (e->code == SHOAL_OK)
        e->code = write_bytes(e, item->block, (size_t)bytes);
    if (e->code == SHOAL_OK)
        e->code = write_bytes(e, zeros, (size_t)(padded(bytes) - bytes));
    e->count += e->code == SHOAL_OK;
    return e->code == SHOAL_OK;
}

shoal_code cache_export(struct cache *c, const char *path, uint64_t *count, struct report *r) {
    struct exporting e = {.file = {.fd = -1}, .r = r};
    *count = 0;
    e.code = file_part_open(&e.file, path, r);
    if (e.code == SHOAL_OK)
        cache_walk(c, &(struct cache_walk){.payload = true, .entry = export_one, .user = &e});
    if (e.code == SHOAL_OK)
        e.code = write_bytes(&e, zeros, sizeof zeros);
    if (e.code == SHOAL_OK)
        e.code = file_part_commit(&e.file, r);
    file_part_discard(&e.file);
    *count = e.code == SHOAL_OK ? e.count : 0;
    return e.code;
}

// ---- Import -------------------------------------------------------------------------------------

struct importing {
    struct cache *c;
    const char *path;
    int fd;
    uint64_t size, at; // of the archive
    uint64_t count, refused;
    struct report *r;
};

// Octal digits, then a space or zero; false for anything else.
static bool read_octal(const char *field, size_t room, uint64_t *out) {
    size_t i = 0;
    *out = 0;
    for (; i < room && field[i] >= '0' && field[i] <= '7'; i++)
        *out = *out << 3 | (uint64_t)(field[i] - '0');
    return i > 0 && i < room && (!field[i] || field[i] == ' ');
}

// v1/aa/<62 hex>.k, and nothing else.
static bool is_entry_name(const char *name) {
    static const char hex[] = "0123456789abcdef";
    return strnlen(name, 100) == NAME_LENGTH && !strncmp(name, "v1/", 3) &&
           strspn(name + 3, hex) == 2 && name[5] == '/' && strspn(name + 6, hex) == 62 &&
           !strncmp(name + 68, ".k", 3);
}

static void refuse(struct importing *m, const struct ustar *h, const char *why) {
    char name[101];
    snprintf(name, sizeof name, "%.100s", h->name);
    for (char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    if (m->refused++ < REFUSED_SAID)
        report_warning(m->r, "%s: '%s' is refused: %s", m->path, name, why);
}

static const char *decode_member(const char *name, const unsigned char *bytes, size_t length,
                                 struct cache_item *item) {
    char own[STORE_NAME];
    const char *wrong = entry_decode(bytes, length, NULL, item);
    if (wrong)
        return wrong;
    store_entry_name(item->key, own);
    if (strcmp(own, name) != 0)
        return "its key is another";
    return cache_is_kernel(item) ? NULL : "it is no kernel";
}

static shoal_code import_entry(struct importing *m, const struct ustar *h, uint64_t size) {
    char reason[CACHE_REASON];
    struct cache_item item;
    unsigned char *bytes = malloc(size ? (size_t)size : 1);
    if (!bytes)
        return report_error(m->r, SHOAL_MEMORY, "%s: not enough memory", m->path);
    shoal_code code = file_read_at(m->fd, m->path, m->at, bytes, (size_t)size, m->r);
    if (code == SHOAL_OK) {
        const char *wrong = decode_member(h->name, bytes, (size_t)size, &item);
        if (wrong)
            refuse(m, h, wrong);
        else if (store_put_entry(m->c, bytes, (size_t)size, &item, reason))
            m->count++;
        else
            code = report_error(m->r, SHOAL_IO, "%s: %s", cache_place(m->c), reason);
    }
    free(bytes);
    return code;
}

// One member; *end at the end of the archive.
static shoal_code import_member(struct importing *m, bool *end) {
    struct ustar h;
    uint64_t size, sum;
    shoal_code code = file_read_at(m->fd, m->path, m->at, &h, sizeof h, m->r);
    if (code != SHOAL_OK)
        return code;
    *end = !memcmp(&h, zeros, sizeof h);
    if (*end)
        return SHOAL_OK;
    m->at += BLOCK;
    if (!read_octal(h.sum, sizeof h.sum, &sum) || sum != header_sum(&h) ||
        !read_octal(h.size, sizeof h.size, &size) || padded(size) > m->size - m->at)
        return report_error(m->r, SHOAL_INPUT, "%s: not a tar archive, or damaged, at byte %llu",
                            m->path, (unsigned long long)(m->at - BLOCK));
    if (h.type == '5' && size == 0)
        return SHOAL_OK;
    if ((h.type != '0' && h.type != 0) || h.prefix[0])
        refuse(m, &h, "it is not a plain file");
    else if (!is_entry_name(h.name))
        refuse(m, &h, "it is not the name of an entry");
    else if (size > ENTRY_MOST)
        refuse(m, &h, "it is too long");
    else
        code = import_entry(m, &h, size);
    m->at += padded(size);
    return code;
}

shoal_code cache_import(struct cache *c, const char *path, uint64_t *count, uint64_t *refused,
                        struct report *r) {
    struct importing m = {.c = c, .path = path, .fd = -1, .r = r};
    *count = *refused = 0;
    if (!store_writable(c))
        return report_error(r, SHOAL_IO, "the kernel cache cannot be written: %s",
                            c->off ? c->off : "it is read-only");
    shoal_code code = file_open(path, &m.fd, &m.size, r);
    bool end = false;
    for (int i = 0; code == SHOAL_OK && !end && i < MEMBERS_MOST; i++)
        code = import_member(&m, &end);
    if (m.fd >= 0)
        close(m.fd);
    *count = m.count;
    *refused = m.refused;
    return code;
}
