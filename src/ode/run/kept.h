// SPDX-License-Identifier: MIT
// Rows of a batch that ran before it did, kept so that nobody computes them again: those of a
// pilot or a trial, where the device that they ran on gets the batch.
//
// What a row gives does not depend on the rows beside it, so these are the bits that the batch
// would have given.
#ifndef SHOAL_ODE_RUN_KEPT_H
#define SHOAL_ODE_RUN_KEPT_H

#include "ode/batch/batch.h"
#include "result/sink.h"

struct kept {
    uint32_t rows, room;
    uint64_t *at;       // [rows] which rows of the batch they are, ascending,
    uint64_t *run;      // [rows] and which runs
    struct batch *rest; // the batch without them
    shoal_tally tally;  // theirs, but for how they ended
    void **data;        // of each array of their list, row by row; NULL: it has no rows
    struct arena arena;
};

// Room for so many times the rows of a list whose arrays are all wanted. NULL: they are not kept,
// because they are too large or have no fixed size.
struct kept *kept_new(const struct result_list *list, uint32_t times);
void kept_free(struct kept *k); // NULL is fine
// The rows of a chunk, behind those that came before.
void kept_add(struct kept *k, const struct result_list *list, const struct result_chunk *c);
// No more come: they are the first of `count` that batch_pick picks of the batch. NULL, and what
// was kept is gone: there are none.
struct kept *kept_close(struct kept *k, const struct batch *b, uint32_t count,
                        const shoal_tally *tally);

// They are the first of the batch. More may come, of another run, and then this is called again.
struct kept *kept_close_first(struct kept *k, const struct batch *b, const shoal_tally *tally);

// From row i on, how many are rows of the batch that follow each other,
uint32_t kept_stretch(const struct kept *k, uint32_t i);
// and so many as a chunk, by the list of a run of the batch; `view` has room for its arrays.
struct result_chunk kept_view(const struct kept *k, uint32_t i, uint32_t rows,
                              const struct result_list *list, struct result_view *view);
unsigned char kept_status(const struct kept *k, uint32_t i, const struct result_list *list);

#endif
