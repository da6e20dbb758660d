// SPDX-License-Identifier: MIT
// Has drivers asked by another program (shoal-devices), or where that is not there by a copy of
// this process; each backend's by one process.
//
// An answer is a record (cache/key.h): `device` (its text) for each device, followed by `identity`,
// `units`, `cpu`; or `why` there is none; `file` and `stamp` of the libraries that had a part in
// it; and at last `end`. Nobody relies on it: what is malformed is no answer. Where drivers of
// OpenCL were left out there follow `why`, and `without`: their files.
#ifndef SHOAL_DEVICE_ASK_H
#define SHOAL_DEVICE_ASK_H

#include "base/buf.h"
#include "shoal/backend.h"

struct ask {
    const struct shoal_backend *backend;
    struct buf answer; // a record; else empty
    char why[192];     // no answer: what became of the program
    bool unasked;      // it could not be started
};

// All of them side by side, until known_is_stopped; `answer` is the caller's to free.
void ask_all(struct ask *ask, uint32_t count);

// In the program: the answer of this process.
void ask_here(const struct shoal_backend *b, struct buf *out);

#endif
