// SPDX-License-Identifier: MIT
// The algebraic part of a Jacobian, and what is said where its rows cannot be matched with its
// columns. For algebraic.c.
#ifndef SHOAL_SYMBOLIC_INDEX_H
#define SHOAL_SYMBOLIC_INDEX_H

#include "ode/symbolic/dag.h"

enum { NOTHING = UINT32_MAX };

// Rows and columns are counted among the algebraic ones; row k is the k-th `0=` of the model.
struct block {
    uint32_t size;
    uint32_t *state;       // [size] of a column
    uint32_t *start;       // [size + 1]
    uint32_t *column;      // entries row by row
    node_id *entry;        // their derivatives
    uint32_t *row_of;      // [size] by column, NOTHING: not matched
    uint32_t *column_of;   // [size] by row
    uint32_t *via, *queue; // of a search: the row that reached a column; rows reached
    uint64_t looked;       // entries that searches have looked at
};

// The error: the rows that are too many for their states, and the states that have too few rows.
// `lost` is a row that could not be matched, of a matching that is as large as can be.
void index_report(const struct block *b, const struct model *m, uint32_t lost, struct arena *arena,
                  struct report *r);

#endif
