// SPDX-License-Identifier: MIT
#include "cache/key.h"

#include <string.h>

enum { KEY_SCHEMA = 1 };

void key_begin(struct key *k) {
    unsigned char schema = KEY_SCHEMA;
    sha256_init(&k->hash);
    key_field(k, "schema", &schema, 1);
}

void key_field(struct key *k, const char *label, const void *bytes, size_t length) {
    unsigned char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)length >> (8 * i));
    sha256_add(&k->hash, label, strlen(label) + 1);
    sha256_add(&k->hash, size, sizeof size);
    sha256_add(&k->hash, bytes, length);
}

void key_end(struct key *k, char hex[65]) {
    unsigned char digest[32];
    sha256_end(&k->hash, digest);
    sha256_hex(digest, hex);
}
