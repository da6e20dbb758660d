// SPDX-License-Identifier: MIT
// Quantiles of a stream in little memory, with the same bits whatever the order it comes in.
//
// Every value has a position among those of its stream. Blocks of 4,096 positions are the leaves of
// a binary tree over all of them. A node is complete when all its positions have come, be it with a
// value or without; then it holds 4,096 values at most, each standing for as many others as the
// rest, and takes the place of its children. Which nodes there are, and what is in them, follows
// from what has come, not from when it came: streams can be cut anywhere and joined again.
//
// A merge moves a rank by at most half of what a value of the new node stands for. So a rank is off
// by at most one part in 8,192 for each level of the tree, less than 0.5 % up to 2^52 positions;
// and not at all up to 4,096 values.
#ifndef SHOAL_RESULT_QUANTILE_H
#define SHOAL_RESULT_QUANTILE_H

#include "result/saved.h"

#include <string.h>

enum { QUANTILE_BLOCK = 4096 };

// Numbers as whole ones of the same order, in which -0 comes before 0.
static inline uint64_t quantile_key(double x) {
    uint64_t bits, sign = (uint64_t)1 << 63;
    memcpy(&bits, &x, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}
static inline double quantile_value(uint64_t key) {
    uint64_t sign = (uint64_t)1 << 63, bits = key & sign ? key & ~sign : ~key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

struct quantile_node {
    uint64_t index;   // in its level: positions index * 2^level blocks and on
    uint64_t count;   // values that it stands for
    uint32_t level;   // 0: a block
    uint32_t covered; // positions that came, of a block; of others all did
    uint32_t room;    // keys that there is memory for
    uint64_t *key;    // min(count, QUANTILE_BLOCK): in order, but in a block
                      // that is not complete
};

// Begins with zeros.
struct quantile {
    uint32_t nodes, room;
    struct quantile_node *node;
};

// What sorting and merging needs beside; a thread has its own.
struct quantile_scratch {
    uint64_t key[2][QUANTILE_BLOCK];
};

// Values at the positions first, first + 1, ...; NaN: none. Each position comes once. False: out of
// memory, or it came before.
bool quantile_put(struct quantile *q, uint64_t first, const double *values, size_t count,
                  struct quantile_scratch *scratch);
// Takes over what another stream has of the same positions, and leaves it empty.
bool quantile_join(struct quantile *q, struct quantile *other, struct quantile_scratch *scratch);
// Nothing more will come: one node is left, or none where there were no positions.
bool quantile_close(struct quantile *q, struct quantile_scratch *scratch);
// After that: the value at `fraction` (0 to 1) of the way from the smallest to the largest, between
// two of them on the straight line; NaN where there is none.
double quantile_at(const struct quantile *q, double fraction, double least, double most);
void quantile_free(struct quantile *q);

// As bytes, before it is closed; and back into an empty one of a stream with so many positions,
// with the values that there are and the positions that came. False: there are no more bytes, what
// they say cannot be, or (*memory) memory ran out.
void quantile_save(const struct quantile *q, struct saved_to *to);
struct quantile_limits {
    uint64_t positions;
    uint64_t least, most; // keys
    uint64_t count, covered;
    bool memory;
};
bool quantile_load(struct quantile *q, struct quantile_limits *l, struct saved_from *from);
// Whether two streams have no position in common, as far as whole blocks tell; then they can be
// joined.
bool quantile_apart(const struct quantile *q, const struct quantile *other);

// Bytes that it may take for so many positions that come in order but for `gaps` places.
uint64_t quantile_bytes(uint64_t positions, uint64_t gaps);

#endif
