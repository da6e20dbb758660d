// SPDX-License-Identifier: MIT
// Puts the results of shards together, in memory that does not grow with their rows.
//
// A shard is a result and its journal, which was found to be of the same job. What is read of it is
// compared with the checksums of the journal first; nothing of a file is believed that is not in
// there. Arrays are read from where a result of ours has them, so that no file is parsed.
#ifndef SHOAL_IO_MERGE_H
#define SHOAL_IO_MERGE_H

#include "io/journal.h"
#include "result/result_list.h"
#include "result/sink.h"

#include <sys/types.h>

struct merge_shard {
    const char *path; // NULL: it is missing
    uint64_t rows;    // that a shard of this number has,
    uint64_t done;    // and that are there
    int fd;           // -1: not open, for there may be more than can be
    dev_t device;     // the file that was looked at
    ino_t inode;
    uint64_t *start;               // [arrays] of data
    struct journal_stream *stream; // [streams] of all ranges together
};

// What is known of a row without its shard.
typedef void merge_fill(void *user, uint32_t array, uint64_t row, uint64_t rows, void *out);

struct merge {
    struct merge_shard *shard; // [shards]
    uint64_t shards;
    bool strided;
    uint64_t open;                  // the one that is, where they come one after the other
    const char *path;               // of the whole,
    const struct result_list *list; // and what it is
    merge_fill *fill;               // run numbers, inputs and texts
    void *user;
};

// The row of a shard that comes `row`-th in the whole, and which one; and the rows that follow it
// in the same one.
uint64_t merge_find(const struct merge *m, uint64_t row, uint64_t *shard);

// Looks at the data of a shard by the journal, which is behind its head, and opens it; SHOAL_INPUT
// with what is wrong.
shoal_code merge_open(struct merge *m, uint64_t shard, struct journal_reader *d, struct report *r);
void merge_close(struct merge *m);
// Into the file; *whole false: rows are missing, and have the status pending.
shoal_code merge_write(struct merge *m, bool *whole, struct report *r);

#endif
