// SPDX-License-Identifier: MIT
// Rows that came ahead of their turn, beside a result that is being made: FILE.part.ahead.
//
// A result takes rows in order. Where several devices or processes make them, those that come early
// wait in memory, and a copy of each waits here, so that a kill does not cost them. The file is
// only ever a copy: where it cannot be written, rows would be run again, and nothing else happens.
//
// It begins with a head, the digest of the job, and has records: a range of rows, the length of its
// bytes and a checksum, then the bytes, which are whoever's who put them. What is damaged ends it
// there. It is there from the first record on.
#ifndef SHOAL_IO_AHEAD_H
#define SHOAL_IO_AHEAD_H

#include "base/report.h"

enum { AHEAD_JOB = 32 }; // bytes of a digest

struct ahead {
    char *path; // NULL: none is kept
    int fd;     // -1: not open yet
    uint64_t size;
    unsigned char job[AHEAD_JOB];
};

struct ahead_rows {
    uint64_t first, rows;
    void *bytes;
    size_t length;
};

// Beside a .part; nothing is opened.
shoal_code ahead_init(struct ahead *a, const char *part, const unsigned char job[AHEAD_JOB],
                      struct report *r);
// Takes what an earlier run of the same job left. `take` is called for each record, until it
// returns false; bytes are there for the call only.
void ahead_read(struct ahead *a, bool (*take)(void *user, const struct ahead_rows *rows),
                void *user);
// One more. What cannot be written is a warning, and none are kept from then on.
void ahead_put(struct ahead *a, const struct ahead_rows *rows, struct report *r);
// These are all that still wait, of so many bytes: what is not among them may go.
void ahead_keep(struct ahead *a, const struct ahead_rows *rows, size_t count, uint64_t bytes,
                struct report *r);
void ahead_remove(struct ahead *a); // the file, which may come again
void ahead_free(struct ahead *a);   // and leaves the file

// Rows from `first` on that are in the file beside a journal, which may be called either way.
uint64_t ahead_count(const char *journal, uint64_t first);

#endif
