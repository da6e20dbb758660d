// SPDX-License-Identifier: MIT
// How the rows of a chunk are shared out among the threads that run it.
#ifndef SHOAL_DISPATCH_SHARE_H
#define SHOAL_DISPATCH_SHARE_H

#include "../kernels/dialect/head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Who runs a chunk.
struct share {
    bool refill;       // lanes that are done should take the next row
    size_t workspace;  // bytes that a device's thread needs
    uint32_t resident; // threads that a device runs at a time; 0: a CPU
    uint32_t threads;  // of a CPU
};

// Sets block and refill for the rows of the head.
void share_rows(struct shoal_head *head, const struct share *s);

#endif
