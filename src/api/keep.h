// SPDX-License-Identifier: MIT
// What a run is, in facts that a journal holds (io/journal.h): a run that goes on must have the
// same.
#ifndef SHOAL_API_KEEP_H
#define SHOAL_API_KEEP_H

#include "api/solver.h"
#include "io/journal.h"

enum { KEEP_FACTS = 96 };

struct keep {
    struct journal_order order;
    struct journal_fact is[KEEP_FACTS], how[KEEP_FACTS];
    struct arena arena;
};

// Of a batch that a solver is to run into a file, whose path is kept; keep_free in any case.
shoal_code keep_make(struct keep *k, const shoal_solver *s, const shoal_batch *b, const char *path,
                     struct report *r);
// For the sink of that file; NULL: standard output, which nothing can go on from.
const struct journal_order *keep_order(const struct keep *k);
void keep_free(struct keep *k);

#endif
