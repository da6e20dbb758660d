// SPDX-License-Identifier: MIT
// The rule for blocks of rows, and the one for refill.
#include "dispatch/share.h"

enum { BLOCK_LEAST = 8, BLOCK_MOST = 256, BLOCKS_OF_THREAD = 8 };

// Large enough that the counter is no bottleneck, small enough that all end at about the same time.
static unsigned block_of(unsigned rows, uint32_t threads) {
    uint64_t count = threads < rows ? threads : rows;
    uint64_t block = count ? rows / (count * BLOCKS_OF_THREAD) : 0;
    return block < BLOCK_LEAST ? BLOCK_LEAST : block > BLOCK_MOST ? BLOCK_MOST : (unsigned)block;
}

// A chunk that a device holds as a whole needs no refill. One whose threads need memory always has
// it where it is larger: there is memory for those that run at a time only.
void share_rows(struct shoal_head *head, const struct share *s) {
    head->block = block_of(head->rows, s->threads ? s->threads : 1);
    head->refill = (s->refill || s->workspace) && head->rows > s->resident;
}
