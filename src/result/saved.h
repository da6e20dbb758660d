// SPDX-License-Identifier: MIT
// States as bytes, one number after the other, in the order of this machine's bytes. What is read
// may be anybody's: whoever reads looks at each number before it is used.
#ifndef SHOAL_RESULT_SAVED_H
#define SHOAL_RESULT_SAVED_H

#include "base/buf.h"

#include <stdint.h>

// Bytes go to `put` in pieces; once it fails, or memory does, nothing more is written.
struct saved_to {
    bool (*put)(void *user, const void *bytes, size_t length);
    void *user;
    struct buf piece;
    bool failed;
};
void saved_put(struct saved_to *s, const void *bytes, size_t length);
void saved_put_u64(struct saved_to *s, uint64_t x);
// What waits is put, and memory freed; whether all was well.
bool saved_end(struct saved_to *s);

// Exactly so many bytes, or false: there are no more.
struct saved_from {
    bool (*get)(void *user, void *bytes, size_t length);
    void *user;
};
bool saved_get(struct saved_from *s, void *bytes, size_t length);
bool saved_get_u64(struct saved_from *s, uint64_t *x);

#endif
