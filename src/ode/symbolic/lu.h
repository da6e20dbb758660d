// SPDX-License-Identifier: MIT
// The factorisation of a sparse matrix, before its numbers are known: order, fill-in, cost.
//
// The matrix is I - h J: every diagonal entry is there and dominates for small h, so pivots are
// taken from the diagonal, in an order that keeps the fill-in low, and no rows are exchanged at run
// time. An algebraic row is that of -J, whatever h; algebraic.c has put it where its pivot is. A
// row is numbered by its position in the order of elimination, as are the columns in it; `state`
// and `position` lead from one to the other.
//
// The factors share one array of entries, row by row: left of the diagonal L (its own diagonal is
// 1), right of it U, and on it the reciprocal of the pivot.
#ifndef SHOAL_SYMBOLIC_LU_H
#define SHOAL_SYMBOLIC_LU_H

#include "ode/symbolic/symbolic.h"

enum { LU_MOST_STATES = 16384 }; // memory goes with the square of it

struct lu {
    uint32_t size;
    uint32_t *state;     // [size] by position
    uint32_t *position;  // [size] by state
    uint32_t *row_start; // [size + 1]
    uint32_t *column;    // [entries] ascending in a row
    uint32_t *diagonal;  // [size] entry
    bool *fill;          // [entries] not in the matrix
    uint32_t entries;
    uint32_t given;        // entries of the matrix, with its diagonal
    uint64_t factor;       // multiplications of the factorisation, besides `size` divisions
    uint64_t solve;        // and of a solution
    const bool *algebraic; // [size] by state: a row of -J; NULL: none
    // Of L D^-1 U, entries that are those of the matrix stay there; others, and pivots, are kept.
    uint32_t *place; // [entries] among those that are kept; LU_NOWHERE: it is not
    uint32_t kept;
};
#define LU_NOWHERE UINT32_MAX

// Which state comes when: each time one whose row and column have the smallest product of other
// entries left (Markowitz), the first of equals. The diagonal need not be in the pattern.
uint32_t *lu_order(const struct sparsity *pattern, struct arena *arena);
// The factors in that order, which becomes part of them.
struct lu lu_plan(const struct sparsity *pattern, uint32_t *order, struct arena *arena);
// The entry of a row and column, both given as states; UINT32_MAX when there is none.
uint32_t lu_entry(const struct lu *l, uint32_t row, uint32_t column);

// A set of small numbers, as bits.
static inline uint32_t set_words(uint32_t size) { return (size + 63) / 64; }
static inline bool set_has(const uint64_t *set, uint32_t i) { return set[i / 64] >> i % 64 & 1; }
static inline void set_add(uint64_t *set, uint32_t i) { set[i / 64] |= UINT64_C(1) << i % 64; }
static inline void set_drop(uint64_t *set, uint32_t i) { set[i / 64] &= ~(UINT64_C(1) << i % 64); }
// The first member from i on; size when there is none.
static inline uint32_t set_next(const uint64_t *set, uint32_t i, uint32_t size) {
    for (uint32_t word = i / 64; word < set_words(size); word++) {
        uint64_t bits = word == i / 64 ? set[word] >> i % 64 << i % 64 : set[word];
        if (bits)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return size;
}
#define SET_EACH(i, set, size)                                                                     \
    for (uint32_t i = set_next(set, 0, size); i < (size); i = set_next(set, i + 1, size))

#endif
