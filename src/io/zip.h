// SPDX-License-Identifier: MIT
// Zip archives, as far as NPZ needs them: writing stored members, reading stored and deflated ones.
//
// Members and archives over 4 GiB use the Zip64 records. Not here: encryption, several disks, other
// compressions, and archives with something else in front (self-extracting ones).
#ifndef SHOAL_IO_ZIP_H
#define SHOAL_IO_ZIP_H

#include "base/buf.h"
#include "base/report.h"

uint32_t zip_crc(uint32_t crc, const void *bytes, size_t length); // start with 0
// The checksum of a followed by b.
uint32_t zip_crc_join(uint32_t a, uint32_t b, uint64_t b_length);

// ---- Writing ------------------------------------------------------------------------------------

struct zip_member {
    const char *name;
    uint64_t offset; // of its local header; the data follow zip_local_bytes later
    uint64_t size;
    uint32_t crc;
};

size_t zip_local_bytes(const char *name);
void zip_put_local(struct buf *out, const struct zip_member *m);
// The directory, which ends the archive; `offset` is where it will be.
void zip_put_directory(struct buf *out, const struct zip_member *m, uint32_t count,
                       uint64_t offset);

// ---- Reading ------------------------------------------------------------------------------------

struct zip_entry {
    const char *name;      // NUL-terminated, owned by the archive
    uint64_t offset;       // of the local header
    uint64_t packed, size; // bytes in the archive, bytes of the member
    uint32_t crc;
    uint16_t method;
};

struct zip {
    const char *path;
    int fd;
    uint64_t file_size;
    struct zip_entry *entries;
    uint32_t count;
    char *directory; // its bytes; names point into it
};

// `path` is kept. zip_close is to be called whether it succeeds or not.
shoal_code zip_open(struct zip *z, const char *path, struct report *r);
// The same for a file that is open, which becomes the archive's; `name` is for messages.
shoal_code zip_open_fd(struct zip *z, const char *name, int fd, uint64_t size, struct report *r);
void zip_close(struct zip *z);
// The bytes of a member, malloc'ed, checked against its checksum.
shoal_code zip_read(const struct zip *z, const struct zip_entry *e, char **bytes, struct report *r);

// Where the bytes of a member begin in the archive; of a stored one they are its own.
shoal_code zip_locate(const struct zip *z, const struct zip_entry *e, uint64_t *offset,
                      struct report *r);
bool zip_is_stored(const struct zip_entry *e);

// Decodes a deflate stream (RFC 1951) of exactly `size` bytes. False when it is damaged.
bool inflate_bytes(const void *packed, size_t packed_size, void *out, size_t size);

#endif
