// SPDX-License-Identifier: MIT
// The journal of a result that rows are reduced to: how many rows it has, and what they came to.
//
// It is a journal (journal.h) with ranges from the first row on, an empty line, which ends it, its
// checksum again, the saved states (result/saved.h), and the checksum of these two, of 4 bytes
// each. Every few seconds one takes the place of the one before, as a whole: written under another
// name, put onto the disk and renamed. While the result out.npz is made it is out.npz.part.journal,
// after a stop, and beside a shard, out.npz.journal; what rows came to is not in the result. A run
// that goes on loads the states.
//
// A snapshot may come from anywhere. Its checksums are compared first, and whoever loads the states
// believes none of them.
#ifndef SHOAL_IO_SNAPSHOT_H
#define SHOAL_IO_SNAPSHOT_H

#include "io/journal.h"
#include "result/saved.h"

typedef void snapshot_save(void *user, struct saved_to *to);
// States of so many rows; SHOAL_INPUT: they cannot be, and what there was before is there again.
typedef shoal_code snapshot_load(void *user, uint64_t rows, struct saved_from *from);

struct snapshot {
    const struct journal_order *order; // NULL: none is kept, and all calls do nothing
    char *path, *left;                 // while it is made, and after a stop
    struct journal journal;            // the next one
    uint64_t begun_ms;
    struct sink_there before; // rows of earlier runs,
    struct sink_there rows;   // and of this one
    bool ours, has;           // there is one of this run, and with rows
    uint64_t due_ns;
    snapshot_save *save;
    snapshot_load *load;
    void *user;
};

// Whether there is one that a run of this job may not go on from: another job's, with an error that
// says how it differs. Nothing is changed.
shoal_code snapshot_check(const struct journal_order *order, struct report *r);
// Goes on from what there is, where that is wanted, or begins; the .part of the result is locked.
// `save`, `load`, `user` and `order` are set. *there: the rows that were found.
shoal_code snapshot_begin(struct snapshot *s, const struct result_list *list,
                          struct sink_there *there, struct report *r);
// What became of more rows, which are in the states by now; writes one where it is time.
shoal_code snapshot_rows(struct snapshot *s, const struct result_list *list,
                         const struct result_chunk *c, struct report *r);
// No more rows come, and the result gets its name next: the last one is written where it stays.
shoal_code snapshot_seal(struct snapshot *s, bool complete, struct report *r);
// It has its name.
void snapshot_end(struct snapshot *s, bool complete);
// Frees; one without rows is removed.
void snapshot_close(struct snapshot *s);

// The states of a result that is there already, such as a shard's; the reader is behind the head of
// its journal. SHOAL_INPUT: it is damaged, or `load` said so.
shoal_code snapshot_read(struct journal_reader *d, snapshot_load *load, void *user,
                         struct sink_there *there, struct report *r);

#endif
