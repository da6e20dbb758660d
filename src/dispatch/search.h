// SPDX-License-Identifier: MIT
// Which of several kernels that give the same bits is the fastest, by running them on the same
// rows.
//
// The machine may be busy with other things, so a kernel is judged by the least time of several,
// measured in turn with the one that it is to replace. One that is not clearly faster is not taken,
// and one whose bits differ never is. Nothing here knows what a kernel is, nor a clock: times are
// the engine's.
#ifndef SHOAL_DISPATCH_SEARCH_H
#define SHOAL_DISPATCH_SEARCH_H

#include "shoal/shoal.h"

#include <stdbool.h>
#include <stdint.h>

// Of the predicted rest of a run that a search may take. Only tests change it.
extern double search_share;
enum { SEARCH_MOST = 8 };

struct search_engine {
    // Makes kernel i ready; i = 0 is the one that is there. *same: it can be used, and rows that it
    // ran have the bits of kernel 0. An error ends the search.
    shoal_code (*make)(void *user, uint32_t i, bool *same);
    // Runs the rows once more.
    shoal_code (*run)(void *user, uint32_t i, double *seconds);
    // Seconds since the search began, with all that was compiled for it.
    double (*spent)(void *user);
};

struct search {
    uint32_t count;  // kernels, with the one that is there
    double budget_s; // that it may take; what was not judged by then is left
};

struct search_result {
    uint32_t best; // 0: the one that is there
    double gain;   // times as fast as that
    uint32_t tried, differed;
    bool whole; // there was time for all of it
};

shoal_code search_kernels(const struct search *s, const struct search_engine *e, void *user,
                          struct search_result *out);

// Whether a run that is predicted to take so much longer pays for a search of a cost.
bool search_is_worth(double rest_s, double cost_s);

#endif
