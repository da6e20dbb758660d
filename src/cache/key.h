// SPDX-License-Identifier: MIT
// The key of a kernel: SHA-256 over labelled, length-prefixed fields of what the compiler sees.
#ifndef SHOAL_CACHE_KEY_H
#define SHOAL_CACHE_KEY_H

#include "base/sha256.h"

struct key {
    struct sha256 hash;
};

void key_begin(struct key *k);
void key_field(struct key *k, const char *label, const void *bytes, size_t length);
void key_end(struct key *k, char hex[65]);

#endif
