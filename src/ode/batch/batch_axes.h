// SPDX-License-Identifier: MIT
// Runs of a batch in groups, for reductions (src/result/reduce.h).
#ifndef SHOAL_ODE_BATCH_AXES_H
#define SHOAL_ODE_BATCH_AXES_H

#include "ode/batch/batch.h"
#include "result/reduce.h"

// A column that runs are grouped by: an input, or one that is only copied.
struct batch_named {
    uint32_t group; // of the batch
    uint32_t input;
    const struct table_column *extra; // or NULL
};

// An axis of the result.
struct batch_shape {
    uint64_t keys;
    uint32_t group;
    const uint32_t *first; // [keys]: the first point of each; NULL: the point itself
};

struct batch_by {
    struct reduce_axes axes;
    vec(struct reduce_axis) axis;
    vec(struct batch_named) named; // slowest first
    vec(struct batch_shape) shape; // of those that are named
};

// Groups by 'NAME,...' (inputs that are swept or in the table, and `_` columns); NULL: one of all
// runs. The batch has been checked; the arena must have a handler for its end.
shoal_code batch_group(const struct batch *b, const char *names, struct arena *arena,
                       struct batch_by *by, struct report *r);
// The named columns with a row for each group; false: out of memory.
bool batch_group_columns(const struct batch *b, const struct batch_by *by, struct arena *arena,
                         struct table *out);

#endif
