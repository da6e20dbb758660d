// SPDX-License-Identifier: MIT
// shoal-mpi: `shoal run` by many processes, each with the same words.
//
// Rank 0 hands out ranges of rows, takes what they gave and writes the file; it computes, too. The
// others ask for rows, run them and send what they gave. main.c is the program, messages.c what
// ranks say to each other, first.c is rank 0, other.c any other, place.c finds the device and the
// threads of a rank.
//
// Whoever waits sleeps: no call of MPI is made that waits by itself. On rank 0 one thread makes all
// calls while another computes, so MPI_THREAD_SERIALIZED is what is needed.
#ifndef SHOAL_MPI_RANKS_H
#define SHOAL_MPI_RANKS_H

#include "../cli/cli.h"

#include <mpi.h>

// ---- messages.c ---------------------------------------------------------------------------------

// What a message is, and who sends it.
enum {
    TAG_ASK = 1, // other: struct ask
    TAG_ROWS,    // first: struct rows
    TAG_MORE,    // other: bytes that a TAG_DATA ends
    TAG_DATA,    // other: bytes of rows that are done
    TAG_LEFT,    // other: struct left; the last that it says
    TAG_STOP,    // first: nothing; what is under way is to end
    TAG_END,     // first: struct end; the last that it says
};

struct ask {
    uint64_t least, wanted;
};
struct rows {
    uint64_t first, rows; // rows 0: there are no more
    uint64_t mark;        // of the file; 0: rows are to be sent
};
struct left {
    int64_t code;         // a shoal_code: of the run, or of what was before
    uint64_t first, done; // the last range that it knows of, and how much of it it sent
};
struct end {
    int64_t status; // exit code of the program
    int64_t told;   // the first rank has said what was wrong
};

// Sleeps longer each time it is called in a row; *us begins with 0.
void nap(long *us);
// Sends, and sleeps until the message is on its way; one with rows, until it is received.
void send_bytes(const void *bytes, size_t length, int to, int tag);
// Whether there is a message.
bool look(int from, int tag, MPI_Status *status);
void receive(const MPI_Status *status, void *bytes, size_t length);

// ---- place.c ------------------------------------------------------------------------------------

// Among the ranks of this machine: device and threads. `place_find` is called by all ranks.
void place_find(void);
void place_settle(shoal_options *options);

// ---- first.c, other.c ---------------------------------------------------------------------------

extern const struct ranks first_ranks, other_ranks;
// The program has ended so: waits for the other ranks and tells them, or is told; the exit code of
// all.
int first_end(int status);
int other_end(int status);

#endif
