// SPDX-License-Identifier: MIT
// The order in which a sparse matrix is eliminated, to keep its fill-in low.
//
// What is left of the matrix is kept as rows and as columns, both as sets of bits: a pivot joins
// its row into all rows that have its column, then leaves. Memory goes with the square of the size.
#include "ode/symbolic/lu.h"

#include <string.h>

struct rest {
    uint32_t size, words;
    uint64_t *rows, *columns;           // sets, `words` each; without what was eliminated
    uint32_t *row_count, *column_count; // members, with the diagonal
    uint64_t *left;                     // states not yet eliminated
};

// Adds the columns of a set to a row; returns how many are new.
static uint32_t join(struct rest *r, uint32_t row, const uint64_t *set) {
    uint32_t before = r->row_count[row];
    uint64_t *to = r->rows + (size_t)row * r->words;
    for (uint32_t w = 0; w < r->words; w++)
        for (uint64_t added = set[w] & ~to[w]; added; added &= added - 1) {
            uint32_t column = w * 64 + (uint32_t)__builtin_ctzll(added);
            set_add(to, column);
            set_add(r->columns + (size_t)column * r->words, row);
            r->row_count[row]++;
            r->column_count[column]++;
        }
    return r->row_count[row] - before;
}

static struct rest rest_new(const struct sparsity *p, struct arena *arena) {
    struct rest r = {.size = p->rows, .words = set_words(p->rows)};
    r.rows = arena_new(arena, uint64_t, (size_t)r.size * r.words);
    r.columns = arena_new(arena, uint64_t, (size_t)r.size * r.words);
    r.row_count = arena_new(arena, uint32_t, r.size);
    r.column_count = arena_new(arena, uint32_t, r.size);
    r.left = arena_new(arena, uint64_t, r.words);
    uint64_t *set = arena_new(arena, uint64_t, r.words);
    for (uint32_t row = 0; row < r.size; row++) {
        memset(set, 0, r.words * sizeof *set);
        set_add(r.left, row);
        set_add(set, row);
        for (uint32_t i = p->row_start[row]; i < p->row_start[row + 1]; i++)
            set_add(set, p->columns[i]);
        join(&r, row, set);
    }
    return r;
}

static uint32_t cheapest(const struct rest *r) {
    uint64_t best = UINT64_MAX;
    uint32_t pivot = 0;
    SET_EACH(i, r->left, r->size) {
        uint64_t cost = (uint64_t)(r->row_count[i] - 1) * (r->column_count[i] - 1);
        if (cost < best) {
            best = cost;
            pivot = i;
        }
    }
    return pivot;
}

// Returns the steps of work it was.
static uint64_t eliminate(struct rest *r, uint32_t pivot) {
    enum { WORDS = 64, FILLED = 16 }; // that are one
    uint64_t filled = 0, words = r->size / 4 + (uint64_t)r->column_count[pivot] * r->words;
    uint64_t *row = r->rows + (size_t)pivot * r->words;
    uint64_t *column = r->columns + (size_t)pivot * r->words;
    set_drop(r->left, pivot);
    set_drop(row, pivot);
    set_drop(column, pivot);
    SET_EACH(i, column, r->size) {
        filled += join(r, i, row);
        set_drop(r->rows + (size_t)i * r->words, pivot);
        r->row_count[i]--;
    }
    SET_EACH(j, row, r->size) {
        set_drop(r->columns + (size_t)j * r->words, pivot);
        r->column_count[j]--;
    }
    return words / WORDS + filled / FILLED;
}

uint32_t *lu_order(const struct sparsity *pattern, struct arena *arena) {
    struct rest r = rest_new(pattern, arena);
    uint32_t *order = arena_new(arena, uint32_t, r.size);
    for (uint32_t k = 0; k < r.size; k++) {
        order[k] = cheapest(&r);
        arena_spend(arena, eliminate(&r, order[k]));
    }
    return order;
}
