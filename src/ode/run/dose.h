// SPDX-License-Identifier: MIT
// Doses: a table in the columns that pharmacometricians have becomes what a kernel is told of it.
//
// ID TIME AMT CMT RATE II ADDL: a dose is given at once, or (RATE above 0) as an infusion; ADDL
// more follow, II apart. ID is the batch's `_ID`, or without one the number of the run; without the
// column all runs get the same.
#ifndef SHOAL_ODE_RUN_DOSE_H
#define SHOAL_ODE_RUN_DOSE_H

#include "ode/batch/batch.h"
#include "ode/codegen/codegen.h"

// Something that happens at a time: `value` is added to state `target`, or becomes the rate of the
// infusion target - states.
struct dose {
    double t, value;
    uint32_t target;
};

// The doses of one ID, in the order of time.
struct dose_group {
    double number;       // the ID,
    const char *text;    // where it is no number, or one that others could be; else NULL
    const char *written; // as it stands in a file of text; or NULL
    uint32_t first, count;
};

struct dose_list {
    struct dose *dose;
    uint32_t count;
    struct dose_group *group; // sorted by ID
    uint32_t groups;
    bool for_all;                // there are no IDs, and one group
    struct dose_plan plan;       // what a kernel has to be made for
    double earliest, latest;     // of all
    uint32_t at_once, infusions; // how many of each, with those that ADDL adds
    const char *source;          // name of the file
};

// Lives in the arena, which needs an `oom` handler. All errors are reported. Of what was given
// before t0 there is what is still going on then.
shoal_code dose_list_make(const struct table *t, const struct model *m, double t0, bool f32,
                          struct arena *arena, struct dose_list *out, struct report *r);
// Whether every ID is one of the batch's, and whether runs that go on from others have had what was
// given before t0; all others have not.
shoal_code dose_list_check(const struct dose_list *l, const struct batch *b, double t0,
                           struct report *r);
// The doses of a row of the batch; NULL: it gets none.
const struct dose_group *dose_list_find(const struct dose_list *l, const struct batch *b,
                                        uint64_t row);

#endif
