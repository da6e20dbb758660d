// SPDX-License-Identifier: MIT
// Saved states in memory.
#ifndef SHOAL_TESTS_SAVED_BYTES_H
#define SHOAL_TESTS_SAVED_BYTES_H

#include "result/saved.h"

#include <string.h>

struct saved_bytes {
    struct buf data;
    size_t at; // that was read
};

static inline bool saved_bytes_put(void *user, const void *bytes, size_t length) {
    struct saved_bytes *b = user;
    buf_put(&b->data, bytes, length);
    return !b->data.failed;
}

static inline bool saved_bytes_get(void *user, void *bytes, size_t length) {
    struct saved_bytes *b = user;
    if (length > b->data.length - b->at)
        return false;
    if (length)
        memcpy(bytes, b->data.data + b->at, length);
    b->at += length;
    return true;
}

#endif
