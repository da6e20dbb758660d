// SPDX-License-Identifier: MIT
// A run under way, for the files that share it: run.c, the loop over chunks, and takeover.c, the
// rows that another method takes over.
#ifndef SHOAL_RUN_JOURNEY_H
#define SHOAL_RUN_JOURNEY_H

#include "ode/run/chunk.h"

enum { ROWS_LEAST = 32 }; // a device that has no memory for so many is given up

struct journey;

// What the progress of a launch is about.
struct lookout {
    struct journey *journey;
    const struct chunk *chunk; // its rows may be taken over; NULL: none will be
    uint64_t before;           // rows that are done already
};

// Rows of a chunk that are run again.
struct again {
    uint32_t *row;      // [count], ascending
    unsigned char *was; // [count] status that the first method gave
    uint32_t count, room;
    struct lost { // of them, what was stiff and failed once more, with its counts
        uint32_t row, steps, rejected;
        uint64_t f_evals;
        bool back; // and finished in the end
    } * lost;      // [losses], room for all
    uint32_t losses;
};

struct journey {
    const struct run_setup *setup;
    struct run_setup stiff, last; // of the methods that take over, once their kernels are there
    bool first_only;              // the stiff one cannot run this model
    const struct batch *batch;
    const struct run_control *control;
    struct sink *sink;
    shoal_tally *summary;
    shoal_log *log;
    struct chunk chunk[RUN_SLOTS];
    struct lookout lookout[RUN_SLOTS + 1];
    struct again again;                // of the last chunk that finished
    uint64_t shown;                    // rows that progress was last called with
    uint64_t rows;                     // of a chunk
    uint64_t next;                     // row that the next chunk begins with
    uint32_t started, finished, ready; // chunks; slots that are made
    uint64_t start_ns;
    int stop; // what the device looks at
};

// Who is told of a launch, and what ends it.
void journey_watch(struct journey *j, struct chunk *c, struct lookout l);
shoal_code journey_begin(struct journey *j, struct chunk *c);
shoal_code journey_wait(struct journey *j, struct chunk *c);
// Ends the span of a transfer: which part of the batch it was about.
void journey_end_transfer(const struct journey *j, const struct chunk *c, int32_t span,
                          uint32_t rows, uint64_t bytes);

// How many rows of a chunk another method must run.
uint32_t takeover_rows(const struct chunk *c);
// Runs them and puts their results in place; those that were not finished are pending. `counting`:
// the first of two passes where steps are saved, that only counts.
shoal_code takeover_chunk(struct journey *j, struct chunk *c, bool counting);
// The rows are pending: there was a stop.
void takeover_give_up(struct journey *j, struct chunk *c);
// Counts those among the first `rows` rows of the chunk that was last taken over.
void takeover_tell(const struct journey *j, uint32_t rows);

#endif
