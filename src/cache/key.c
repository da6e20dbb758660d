// SPDX-License-Identifier: MIT
// Writes and reads the fields of a record, and makes the key of it.
#include "cache/key.h"

#include <string.h>

void key_add(struct key_record *k, const char *label, const void *bytes, size_t length) {
    unsigned char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)length >> (8 * i));
    buf_put(&k->bytes, label, strlen(label) + 1);
    buf_put(&k->bytes, size, sizeof size);
    buf_put(&k->bytes, bytes, length);
}

void key_add_text(struct key_record *k, const char *label, const char *text) {
    key_add(k, label, text, strlen(text));
}

void key_free(struct key_record *k) { buf_free(&k->bytes); }

void key_digest(const struct key_record *k, unsigned char key[KEY_BYTES]) {
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, k->bytes.data, k->bytes.length);
    sha256_end(&hash, key);
}

void key_hex(const unsigned char key[KEY_BYTES], char hex[KEY_HEX]) { sha256_hex(key, hex); }

bool key_next(const unsigned char *record, size_t length, size_t *at, struct key_field *out) {
    const unsigned char *end = *at < length ? memchr(record + *at, 0, length - *at) : NULL;
    if (!end || (size_t)(record + length - end) < 9)
        return false;
    uint64_t size = 0;
    for (int i = 0; i < 8; i++)
        size |= (uint64_t)end[1 + i] << (8 * i);
    if (size > (uint64_t)(record + length - end - 9))
        return false;
    *out = (struct key_field){
        .label = (const char *)record + *at, .bytes = end + 9, .length = (size_t)size};
    *at = (size_t)(end + 9 - record) + (size_t)size;
    return true;
}
