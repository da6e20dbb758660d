// SPDX-License-Identifier: MIT
// A binary file whose arrays lie at known places, while it is made: what NPZ and HDF5 have in
// common.
//
// A format says where arrays begin whose length is known; rows go to their place there. The status
// of all rows is `pending` first, and that of a chunk is written last, so that no row reads as done
// before it is. What has no known length (`steps`, text) waits in files beside it, FILE.part.N.
// Both are noted in a journal (journal.h) from which another run can go on; memory does not grow
// with the number of rows.
#ifndef SHOAL_IO_PLACED_H
#define SHOAL_IO_PLACED_H

#include "io/journal.h"
#include "io/pieces.h"

struct placed_array {
    int spool;      // descriptor of the waiting file, or -1
    uint64_t start; // of its data, in the file it is in; the format's to set
    uint64_t bytes; // that came
    uint64_t width; // text: widest so far, in code points
    uint32_t crc;   // of these data
};

struct placed {
    const char *path;
    struct file_part part;
    char *name; // of the part
    bool again; // it goes on from what was left, which is never removed
    const struct journal_order *order;
    struct journal journal;
    struct pieces pieces;
    const struct result_there *there; // of a chunk
    uint32_t arrays;
    struct placed_array *array; // [arrays]
    struct buf text;
};

// Whether it waits.
bool placed_waits(const struct result_array *a);
// Whether rows of it have their place.
bool placed_has_place(const struct result_array *a);
uint64_t placed_bytes(const struct placed *p, uint32_t array); // of all rows

// In this order; placed_free at any time. `path` is kept.
void placed_init(struct placed *p, const char *path);
shoal_code placed_begin(struct placed *p, const struct journal_order *order,
                        const struct result_list *list, struct report *r);
// Opens FILE.part: what an earlier run left (*found), or an empty one.
shoal_code placed_open(struct placed *p, uint64_t bytes, struct journal_reader *d, bool *found,
                       struct report *r);
// Arrays have their places now. Goes on from what is there, or begins.
shoal_code placed_start(struct placed *p, struct journal_reader *d, bool found,
                        struct sink_there *there, struct report *r);
shoal_code placed_chunk(struct placed *p, const struct result_chunk *c, struct report *r);
// The file is whole, and gets its name.
shoal_code placed_commit(struct placed *p, bool complete, struct report *r);
void placed_free(struct placed *p);

// Calls for each text of an array that waits, in order.
typedef shoal_code placed_text(void *user, const char *text, uint32_t length, struct report *r);
shoal_code placed_texts(struct placed *p, uint32_t array, placed_text *call, void *user,
                        struct report *r);

#endif
