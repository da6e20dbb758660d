// SPDX-License-Identifier: MIT
// Statistics over runs instead of rows for each: what --reduce asks for, kept group by group while
// the rows come, in memory that does not grow with their number.
//
// A run has a group and a position in it, which both follow from its number alone. A cell is a
// column of the result at one time (or window, or as it is where there is none); each group has one
// state for each cell. What a state gives depends on which rows came, not on their order, the
// chunks they came in, or who added them to which part: states of parts of a batch can be joined.
//
// Rows that failed and NaN are left out. Infinite values count: they may be a minimum, a maximum or
// a quantile; a mean is then infinite, or NaN where both kinds meet; a standard deviation is NaN.
#ifndef SHOAL_RESULT_REDUCE_H
#define SHOAL_RESULT_REDUCE_H

#include "base/arena.h"
#include "base/report.h"
#include "result/quantile.h"
#include "result/result_list.h"

// ---- What is asked for --------------------------------------------------------------------------

// The words of --reduce without parentheses; quantile(Q,...) is beside them.
#define REDUCE_WORDS(X) X(mean) X(std) X(min) X(max)

enum reduce_kind {
#define X(word) REDUCE_##word,
    REDUCE_WORDS(X)
#undef X
        REDUCE_quantile,
    REDUCE_KINDS
};

struct reduce_item {
    enum reduce_kind kind;
    double fraction;  // REDUCE_quantile
    const char *name; // behind the point: mean, q0.05
};

struct reduce_spec {
    vec(struct reduce_item) items;
    bool wants[REDUCE_KINDS];
};

// 'mean,std,min,max,quantile(0.05,0.5,0.95)': the text is borrowed for the call; lists are in the
// arena, which must have a handler for its end.
shoal_code reduce_read(const char *text, struct arena *arena, struct reduce_spec *out,
                       struct report *r);

// ---- Groups -------------------------------------------------------------------------------------

// Inputs that advance together: run / inner % count is the point of a run. Without `key` an axis is
// either all in one group (keys 1) or has a group for each point.
struct reduce_axis {
    uint64_t count, inner;
    uint64_t keys;
    const uint32_t *key;  // [count], or NULL
    const uint32_t *rank; // [count]: how many points before have the same key
    const uint32_t *same; // [keys]: how many points have the key
};

struct reduce_axes {
    uint32_t count;
    const struct reduce_axis *axis; // the slowest first; no two neighbours have keys 1
    uint64_t groups;
};

// Rows of a chunk that follow each other in one group.
struct reduce_part {
    uint64_t group, position;
    uint32_t first, rows;
};

// Cuts rows into such parts; returns how many. There is room for `rows` of them.
uint32_t reduce_cut(const struct reduce_axes *a, const uint64_t *run, uint32_t rows,
                    struct reduce_part *out);
// Positions of the largest group.
uint64_t reduce_positions(const struct reduce_axes *a);
uint64_t reduce_positions_of(const struct reduce_axes *a, uint64_t group);

// ---- States -------------------------------------------------------------------------------------

struct reduce {
    const struct reduce_spec *spec;
    uint64_t groups, cells;
    size_t state_bytes;
    char *state;      // [groups][cells]
    uint64_t *failed; // [groups]: rows that failed
};

// Bytes that all states may take after so many rows, with gaps between their runs (quantile.h).
uint64_t reduce_bytes(const struct reduce_spec *spec, const struct reduce_axes *a, uint64_t cells,
                      uint64_t rows, uint64_t gaps);
// False: out of memory. The spec must outlive it.
bool reduce_make(struct reduce *x, const struct reduce_spec *spec, uint64_t groups, uint64_t cells);
void reduce_free(struct reduce *x);

// What a thread needs beside.
struct reduce_scratch {
    struct quantile_scratch quantile;
    double finite[QUANTILE_BLOCK];
};

// Values of one cell for all rows that were cut; NaN: none. Cells may be filled side by side.
bool reduce_put(struct reduce *x, uint64_t cell, const struct reduce_part *part, uint32_t parts,
                const double *values, struct reduce_scratch *scratch);
// Takes over the states of other runs of the same batch, and frees them.
bool reduce_join(struct reduce *x, struct reduce *other, struct reduce_scratch *scratch);
// As bytes, before anything is closed; and joined with states of other rows of the same batch,
// `rows` of them. What is read may be anybody's: SHOAL_INPUT where it ends too early or cannot be,
// SHOAL_MEMORY where memory does not last. After that the states are good for nothing.
void reduce_save(const struct reduce *x, struct saved_to *to);
shoal_code reduce_load(struct reduce *x, const struct reduce_axes *a, uint64_t rows,
                       struct saved_from *from, struct reduce_scratch *scratch);
// Nothing more will come to a cell of a group. Then it has values.
bool reduce_close(struct reduce *x, uint64_t group, uint64_t cell, struct reduce_scratch *scratch);
double reduce_value(const struct reduce *x, uint64_t group, uint64_t cell,
                    const struct reduce_item *item);
uint64_t reduce_count(const struct reduce *x, uint64_t group, uint64_t cell); // of values

#endif
