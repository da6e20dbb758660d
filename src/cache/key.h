// SPDX-License-Identifier: MIT
// The key of a kernel: SHA-256 over labelled, length-prefixed fields of what the compiler sees.
//
// The record is the list of fields (label, zero byte, 64-bit little-endian length, bytes); the key
// is the SHA-256 of the record. An entry keeps its record, so that a collision or a renamed file
// shows, and so that two keys can be compared field by field.
#ifndef SHOAL_CACHE_KEY_H
#define SHOAL_CACHE_KEY_H

#include "base/buf.h"
#include "base/sha256.h"

enum { KEY_BYTES = 32, KEY_HEX = 65 };

struct key_record {
    struct buf bytes; // failed: out of memory, and then there is no key
};

void key_add(struct key_record *k, const char *label, const void *bytes, size_t length);
void key_add_text(struct key_record *k, const char *label, const char *text);
void key_free(struct key_record *k);
void key_digest(const struct key_record *k, unsigned char key[KEY_BYTES]);
void key_hex(const unsigned char key[KEY_BYTES], char hex[KEY_HEX]);

// One field of a record; both point into it.
struct key_field {
    const char *label;
    const unsigned char *bytes;
    size_t length;
};
// The field at *at, which moves on; false at the end, or where the record is malformed (then *at is
// not the record's length).
bool key_next(const unsigned char *record, size_t length, size_t *at, struct key_field *out);

#endif
