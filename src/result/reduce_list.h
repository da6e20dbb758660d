// SPDX-License-Identifier: MIT
// The list of arrays of a reduced result: a row for each group, and in the place of each column one
// array for each statistic of it, `x.mean`, and the number of values, `x.n`.
#ifndef SHOAL_RESULT_REDUCE_LIST_H
#define SHOAL_RESULT_REDUCE_LIST_H

#include "result/reduce.h"
#include "result/sink.h"
#include "result/table.h"

// A column that is reduced: an array of the list that runs have.
struct reduce_column {
    uint32_t array;
    uint32_t first;       // array of its first statistic in the new list
    uint64_t cell, cells; // the first, and how many: of all times or windows
};

struct reduce_list {
    struct result_list list;
    vec(struct reduce_column) columns;
    uint64_t cells;
    uint32_t failed; // array of the rows that failed
};

// `by` holds the columns that groups are by, with a row for each group, and `along` which axis each
// is of; `shape` are the lengths of its axes. All is in the arena, which must have a handler, or
// points to what the lists do.
void reduce_list_make(struct reduce_list *out, const struct result_list *from,
                      const struct reduce_spec *spec, const struct table *by, const uint32_t *along,
                      const uint64_t *shape, uint32_t axes, struct arena *arena);

#endif
