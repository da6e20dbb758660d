// SPDX-License-Identifier: MIT
// Reading zip archives; see zip.h. The file is not trusted: offsets and sizes are checked against
// its length, members may not add up to more than it, and what is unpacked is bounded by what
// deflate can do, so a small file cannot ask for much memory.
#include "base/file.h"
#include "io/zip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MOST = 65535,
    RATIO_MOST = 1032, // of deflate
    STORED = 0,
    DEFLATED = 8,
};

static uint64_t number(const char *bytes, int count) {
    uint64_t n = 0;
    for (int i = 0; i < count; i++)
        n |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    return n;
}

static shoal_code damaged(const struct zip *z, const char *what, struct report *r) {
    return report_error(r, SHOAL_INPUT, "%s: is no zip archive, or a damaged one: %s", z->path,
                        what);
}

struct extent {
    uint64_t offset, size, count;
};

// The Zip64 end record, when a locator in front of the plain one points to it.
static shoal_code find_end64(const struct zip *z, uint64_t end_at, struct extent *x,
                             struct report *r) {
    char locator[LOCATOR_BYTES], end[END64_BYTES];
    if (end_at < LOCATOR_BYTES)
        return SHOAL_OK;
    shoal_code code =
        file_read_at(z->fd, z->path, end_at - LOCATOR_BYTES, locator, sizeof locator, r);
    if (code != SHOAL_OK || number(locator, 4) != 0x07064b50)
        return code;
    uint64_t at = number(locator + 8, 8);
    if (at > z->file_size || z->file_size - at < END64_BYTES)
        return damaged(z, "its Zip64 record is missing", r);
    code = file_read_at(z->fd, z->path, at, end, sizeof end, r);
    if (code == SHOAL_OK && number(end, 4) != 0x06064b50)
        code = damaged(z, "its Zip64 record is missing", r);
    x->count = number(end + 32, 8);
    x->size = number(end + 40, 8);
    x->offset = number(end + 48, 8);
    return code;
}

static shoal_code find_directory(const struct zip *z, struct extent *x, struct report *r) {
    size_t length = END_BYTES + COMMENT_MOST;
    if (z->file_size < length)
        length = (size_t)z->file_size;
    uint64_t start = z->file_size - length;
    char *tail = malloc(length + 1);
    if (!tail)
        return SHOAL_MEMORY;
    shoal_code code = file_read_at(z->fd, z->path, start, tail, length, r);
    bool found = false;
    for (size_t at = length; code == SHOAL_OK && !found && at-- > 0;)
        if (length - at >= END_BYTES && number(tail + at, 4) == 0x06054b50 &&
            number(tail + at + 20, 2) == length - at - END_BYTES) {
            found = true;
            *x = (struct extent){.offset = number(tail + at + 16, 4),
                                 .size = number(tail + at + 12, 4),
                                 .count = number(tail + at + 10, 2)};
            code = find_end64(z, start + at, x, r);
        }
    free(tail);
    if (code == SHOAL_OK && !found)
        code = damaged(z, "it has no directory", r);
    if (code == SHOAL_OK && (x->offset > z->file_size || x->size > z->file_size - x->offset ||
                             x->count > x->size / ENTRY_BYTES))
        code = damaged(z, "its directory is not in it", r);
    return code;
}

// Sizes and offset that do not fit into 4 bytes, in this order, those that are needed.
static bool read_zip64(struct zip_entry *e, const char *extra, size_t length) {
    uint64_t *const wanted[] = {&e->size, &e->packed, &e->offset};
    while (length >= 4) {
        size_t bytes = (size_t)number(extra + 2, 2);
        if (bytes > length - 4)
            return false;
        if (number(extra, 2) == 1) {
            const char *at = extra + 4;
            for (int i = 0; i < 3; i++)
                if (*wanted[i] == 0xffffffffu) {
                    if (bytes < 8)
                        return false;
                    *wanted[i] = number(at, 8);
                    at += 8;
                    bytes -= 8;
                }
            return true;
        }
        extra += 4 + bytes;
        length -= 4 + bytes;
    }
    return true;
}

// One entry at `at`; returns its bytes, 0 when it is damaged. The name is moved one byte down, over
// what was read already, to make room for its end.
static size_t read_entry(struct zip_entry *e, char *at, size_t left) {
    if (left < ENTRY_BYTES || number(at, 4) != 0x02014b50)
        return 0;
    size_t name = (size_t)number(at + 28, 2), extra = (size_t)number(at + 30, 2),
           comment = (size_t)number(at + 32, 2);
    if (left - ENTRY_BYTES < name + extra + comment)
        return 0;
    *e = (struct zip_entry){.name = at + ENTRY_BYTES - 1,
                            .offset = number(at + 42, 4),
                            .packed = number(at + 20, 4),
                            .size = number(at + 24, 4),
                            .crc = (uint32_t)number(at + 16, 4),
                            .method = (uint16_t)number(at + 10, 2)};
    if (number(at + 8, 2) & 1)
        e->method = UINT16_MAX; // encrypted
    if (!read_zip64(e, at + ENTRY_BYTES + name, extra))
        return 0;
    memmove(at + ENTRY_BYTES - 1, at + ENTRY_BYTES, name);
    at[ENTRY_BYTES - 1 + name] = 0;
    return ENTRY_BYTES + name + extra + comment;
}

static shoal_code read_directory(struct zip *z, const struct extent *x, struct report *r) {
    z->directory = malloc((size_t)x->size + 1);
    z->entries = calloc((size_t)x->count + 1, sizeof *z->entries);
    if (!z->directory || !z->entries)
        return SHOAL_MEMORY;
    shoal_code code = file_read_at(z->fd, z->path, x->offset, z->directory, (size_t)x->size, r);
    uint64_t total = 0;
    size_t at = 0;
    for (uint64_t i = 0; i < x->count && code == SHOAL_OK; i++) {
        struct zip_entry *e = &z->entries[i];
        size_t bytes = read_entry(e, z->directory + at, (size_t)x->size - at);
        at += bytes;
        if (!bytes)
            code = damaged(z, "its directory cannot be read", r);
        else if (e->packed > z->file_size || e->offset > z->file_size ||
                 (total += e->packed) > z->file_size)
            code = damaged(z, "its members are longer than the file", r);
        else if (e->method == STORED ? e->size != e->packed : e->size / RATIO_MOST > e->packed + 1)
            code = damaged(z, "a member has an impossible size", r);
    }
    z->count = (uint32_t)x->count;
    return code;
}

shoal_code zip_open(struct zip *z, const char *path, struct report *r) {
    int fd;
    uint64_t size;
    *z = (struct zip){.path = path, .fd = -1};
    shoal_code code = file_open(path, &fd, &size, r);
    return code == SHOAL_OK ? zip_open_fd(z, path, fd, size, r) : code;
}

shoal_code zip_open_fd(struct zip *z, const char *name, int fd, uint64_t size, struct report *r) {
    *z = (struct zip){.path = name, .fd = fd, .file_size = size};
    struct extent x = {0};
    shoal_code code = find_directory(z, &x, r);
    if (code == SHOAL_OK && x.count > UINT32_MAX / 2)
        code = damaged(z, "too many members", r);
    return code == SHOAL_OK ? read_directory(z, &x, r) : code;
}

void zip_close(struct zip *z) {
    if (z->fd >= 0)
        close(z->fd);
    free(z->entries);
    free(z->directory);
    *z = (struct zip){.fd = -1};
}

shoal_code zip_locate(const struct zip *z, const struct zip_entry *e, uint64_t *offset,
                      struct report *r) {
    char local[LOCAL_BYTES];
    if (z->file_size - e->offset < LOCAL_BYTES)
        return damaged(z, "a member is not in it", r);
    shoal_code code = file_read_at(z->fd, z->path, e->offset, local, sizeof local, r);
    if (code != SHOAL_OK)
        return code;
    *offset = e->offset + LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (number(local, 4) != 0x04034b50 || *offset > z->file_size ||
        z->file_size - *offset < e->packed)
        return damaged(z, "a member is not in it", r);
    return SHOAL_OK;
}

bool zip_is_stored(const struct zip_entry *e) { return e->method == STORED; }

// The bytes of the member as they are in the archive.
static shoal_code read_packed(const struct zip *z, const struct zip_entry *e, char *bytes,
                              struct report *r) {
    uint64_t data;
    shoal_code code = zip_locate(z, e, &data, r);
    return code ? code : file_read_at(z->fd, z->path, data, bytes, (size_t)e->packed, r);
}

shoal_code zip_read(const struct zip *z, const struct zip_entry *e, char **bytes,
                    struct report *r) {
    *bytes = NULL;
    if (e->method != STORED && e->method != DEFLATED)
        return report_error(
            r, SHOAL_INPUT,
            "%s: %s is encrypted or compressed in a way not read here; save it with "
            "numpy.savez",
            z->path, e->name);
    char *packed = malloc((size_t)e->packed + 1), *out = packed;
    shoal_code code = packed ? read_packed(z, e, packed, r) : SHOAL_MEMORY;
    if (code == SHOAL_OK && e->method == DEFLATED) {
        out = malloc((size_t)e->size + 1);
        if (!out)
            code = SHOAL_MEMORY;
        else if (!inflate_bytes(packed, (size_t)e->packed, out, (size_t)e->size))
            code = report_error(r, SHOAL_INPUT, "%s: %s is damaged", z->path, e->name);
        free(packed);
    }
    if (code == SHOAL_OK && zip_crc(0, out, (size_t)e->size) != e->crc)
        code = report_error(r, SHOAL_INPUT, "%s: %s is damaged: its checksum is wrong", z->path,
                            e->name);
    if (code == SHOAL_OK)
        *bytes = out;
    else
        free(out);
    return code;
}
