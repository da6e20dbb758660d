// SPDX-License-Identifier: MIT
// Several devices that run one batch: `cuda:0,1`, `cuda:all`, `cpu+cuda:0`.
//
// A solver with such a device has the first of them itself, and a solver for each of the others.
// Each takes ranges of rows by a thread of its own, so that slower ones get fewer, and a gather
// puts them together. A device that fails gives its rows back to the others.
#ifndef SHOAL_API_SEVERAL_H
#define SHOAL_API_SEVERAL_H

#include "api/gather.h"

enum { SEVERAL_MOST = 64, SEVERAL_NAME = 32 };

struct several {
    uint32_t count; // of the others
    shoal_solver *other[SEVERAL_MOST];
    char name[SEVERAL_MOST + 1][SEVERAL_NAME]; // of the first, and of the others
};

// Whether a name (may be NULL) means several devices; all of them by names of their own. *count 0
// without an error: it is one.
bool several_is(const char *device);
shoal_code several_names(const char *device, char name[SEVERAL_MOST + 1][SEVERAL_NAME],
                         uint32_t *count, struct report *r);

// The solvers of the others, where the device of a solver that is being made is several. All must
// give the same bits, unless the options say otherwise.
shoal_code several_make(shoal_solver *s, shoal_log *log);
void several_free(struct several *v); // NULL is fine

// Runs a batch into a sink; with one device, where rows are there ahead of others.
shoal_code several_run(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                       shoal_tally *tally, shoal_log *log);

#endif
