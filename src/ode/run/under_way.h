// SPDX-License-Identifier: MIT
// A run of a batch under way, for the files that share it: run.c, what the loop over chunks asks of
// this engine, and takeover.c, the rows that another method takes over.
#ifndef SHOAL_ODE_RUN_UNDER_WAY_H
#define SHOAL_ODE_RUN_UNDER_WAY_H

#include "ode/run/chunk.h"

// A row that was stiff and that the method which took over could not finish either.
struct lost_row {
    uint32_t row, steps, rejected;
    uint64_t f_evals;
    bool back; // the first method finished it in the end
};

// Rows of a chunk that another method runs.
struct taken_rows {
    uint32_t *row;      // [count], ascending
    unsigned char *was; // [count] status that the first method gave
    uint32_t count, room;
    struct lost_row *lost; // [losses], room for all
    uint32_t losses;
};

struct batch_run {
    const struct plan *plan;
    struct runner *runner;
    bool first_only;           // the stiff method cannot run this model
    const struct batch *batch; // without rows that are kept
    const struct run_help *help;
    uint64_t delivered;        // rows of it
    uint32_t kept;             // rows that were, and were handed on
    struct result_view *slice; // of a part of a chunk; NULL: chunks are handed on whole
    struct sink *sink;
    bool begun, sink_failed; // the sink
    bool tunes;              // a faster kernel may be looked for,
    double search_s;         // which may take so long; 0: it is not due
    const struct result_list *list;
    uint32_t *chosen; // [signals][rows of the batch's table] see driver_choose; NULL: none are
    shoal_tally *tally;
    shoal_log *log;
    struct dispatch loop;
    struct chunk chunk[DISPATCH_SLOTS];
    uint32_t made;                           // of them
    struct taken_rows taken[DISPATCH_SLOTS]; // of each
};

// A chunk that one of the kernels runs, for chunk_init.
struct chunk under_way_chunk(const struct batch_run *b, enum plan_role role, enum chunk_use use);

// The kernel that a chunk runs.
void under_way_kernel(const struct batch_run *b, enum plan_role role, struct dispatch_chunk *c);
// What the loop over chunks gets, with chunks of so many rows; samples of drivers are on the
// device.
shoal_code under_way_begin(struct batch_run *b, const struct dispatch_control *control,
                           struct arena *arena, struct dispatch_job *out);

// A kernel that takes over, for plan and model alone: nothing of a run is touched.
shoal_code takeover_build(const struct plan *p, enum plan_role role, const struct build_how *how,
                          struct loaded *out, shoal_log *log);
// How many rows of a chunk another method must run.
uint32_t takeover_rows(const struct chunk *c);
// Runs them and puts their results in place; those that were not finished are pending. `counting`:
// the first of two passes where steps are saved, that only counts.
shoal_code takeover_chunk(struct batch_run *b, struct chunk *c, bool counting);
// The rows are pending: there was a stop.
void takeover_give_up(struct batch_run *b, struct chunk *c);
// Counts those among its first `rows` rows.
void takeover_tell(const struct batch_run *b, const struct chunk *c, uint32_t rows);
void takeover_free(struct batch_run *b);

#endif
