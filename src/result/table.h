// SPDX-License-Identifier: MIT
// A table: named columns of numbers or text, as a file reader gives them and an engine takes them.
#ifndef SHOAL_RESULT_TABLE_H
#define SHOAL_RESULT_TABLE_H

#include "base/arena.h"
#include "base/report.h"

// What a column of a result is.
enum table_kind {
    TABLE_ANY,      // nobody knows: what its name says
    TABLE_INPUT,    // it was given
    TABLE_VARIABLE, // it is how a variable ended
    TABLE_COMPUTED, // something else that came out of the run
};

struct table_column {
    const char *name;
    enum table_kind kind;
    const double *number;    // [rows], or NULL when it is the next, or
    const float *number32;   // [rows]
    const char *const *text; // [rows] text; only columns that start with `_` may be text, unless
                             // the reader was told that all may
    size_t at;               // of the name, in the table's head
};

struct table {
    const char *source; // name of the file, for messages
    struct source head; // its beginning, up to the names; text NULL: not a text file
    uint64_t rows;
    bool lent;  // its numbers stay where they are
    bool times; // whoever reads it takes the column `t`, too
    bool texts; // any column may hold text
    vec(struct table_column) columns;
};

// Adds a column of the table's length, zeroed, to be filled; NULL when memory ran out. The arena
// must have no handler for that.
double *table_numbers(struct arena *arena, struct table *t, const char *name);
const char **table_texts(struct arena *arena, struct table *t, const char *name);

// The column of that name, or NULL.
const struct table_column *table_find(const struct table *t, const char *name);

// Says that a file holds steps of runs, of which only ends are wanted. Returns SHOAL_INPUT.
shoal_code table_of_steps(const char *path, struct report *r);

// Every number of the column is finite; `name` is what messages call it.
shoal_code table_check_finite(const struct table *t, const struct table_column *c, const char *name,
                              struct report *r);

#endif
