// SPDX-License-Identifier: MIT
// Where the factors of a sparse matrix have entries, and what they cost.
//
// A row gets, for each entry left of its diagonal, the part of that pivot's row right of its own.
#include "ode/symbolic/lu.h"

struct rows {
    uint64_t *given, *filled; // sets of columns, `words` for each row, by position
    uint32_t words;
};

static struct rows rows_of(const struct sparsity *p, const struct lu *l, struct arena *arena) {
    struct rows r = {.words = set_words(l->size)};
    r.given = arena_new(arena, uint64_t, (size_t)l->size * r.words);
    r.filled = arena_new(arena, uint64_t, (size_t)l->size * r.words);
    for (uint32_t row = 0; row < l->size; row++) {
        uint64_t *set = r.given + (size_t)l->position[row] * r.words;
        set_add(set, l->position[row]);
        for (uint32_t i = p->row_start[row]; i < p->row_start[row + 1]; i++)
            set_add(set, l->position[p->columns[i]]);
    }
    return r;
}

// Returns the steps of work it was.
static uint64_t fill_row(const struct rows *r, uint32_t k) {
    enum { WORDS = 64 }; // that are one
    uint64_t words = r->words;
    const uint64_t *given = r->given + (size_t)k * r->words;
    uint64_t *row = r->filled + (size_t)k * r->words;
    for (uint32_t w = 0; w < r->words; w++)
        row[w] = given[w];
    for (uint32_t j = set_next(row, 0, k); j < k; j = set_next(row, j + 1, k)) {
        const uint64_t *above = r->filled + (size_t)j * r->words;
        row[j / 64] |= above[j / 64] >> j % 64 << j % 64;
        for (uint32_t w = j / 64 + 1; w < r->words; w++)
            row[w] |= above[w];
        words += r->words;
    }
    return words / WORDS + 1;
}

static void count_operations(struct lu *l) {
    for (uint32_t k = 0; k < l->size; k++)
        for (uint32_t i = l->row_start[k]; i < l->diagonal[k]; i++) {
            uint32_t j = l->column[i];
            l->factor += l->row_start[j + 1] - l->diagonal[j]; // the multiplier, and U's row
        }
    l->solve = l->entries;
}

// Which entries a row is taken away from.
static void find_places(struct lu *l, struct arena *arena) {
    bool *changed = arena_new(arena, bool, l->entries + 1);
    for (uint32_t k = 0; k < l->size; k++)
        for (uint32_t e = l->row_start[k]; e < l->diagonal[k]; e++) {
            uint32_t j = l->column[e], at = e;
            for (uint32_t u = l->diagonal[j] + 1; u < l->row_start[j + 1]; u++) {
                while (l->column[at] != l->column[u])
                    at++;
                changed[at] = true;
            }
        }
    for (uint32_t k = 0; k < l->size; k++)
        changed[l->diagonal[k]] = true;
    l->place = arena_new(arena, uint32_t, l->entries + 1);
    for (uint32_t e = 0; e < l->entries; e++)
        l->place[e] = changed[e] ? l->kept++ : LU_NOWHERE;
}

struct lu lu_plan(const struct sparsity *pattern, uint32_t *order, struct arena *arena) {
    enum { ENTRIES = 8 }; // that are a step of work
    struct lu l = {.size = pattern->rows, .state = order};
    l.position = arena_new(arena, uint32_t, l.size);
    for (uint32_t k = 0; k < l.size; k++)
        l.position[l.state[k]] = k;
    struct rows r = rows_of(pattern, &l, arena);
    vec(uint32_t) columns = {0};
    vec(bool) fill = {0};
    l.row_start = arena_new(arena, uint32_t, (size_t)l.size + 1);
    l.diagonal = arena_new(arena, uint32_t, l.size);
    for (uint32_t k = 0; k < l.size; k++) {
        arena_spend(arena, fill_row(&r, k));
        SET_EACH(j, r.filled + (size_t)k * r.words, l.size) {
            bool given = set_has(r.given + (size_t)k * r.words, j);
            if (j == k)
                l.diagonal[k] = columns.count;
            l.given += given;
            *vec_push(arena, &columns) = j;
            *vec_push(arena, &fill) = !given;
        }
        l.row_start[k + 1] = columns.count;
        arena_spend(arena, (l.row_start[k + 1] - l.row_start[k]) / ENTRIES);
    }
    l.column = columns.items;
    l.fill = fill.items;
    l.entries = columns.count;
    count_operations(&l);
    find_places(&l, arena);
    return l;
}

uint32_t lu_entry(const struct lu *l, uint32_t row, uint32_t column) {
    uint32_t k = l->position[row], j = l->position[column];
    uint32_t low = l->row_start[k], high = l->row_start[k + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (l->column[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->row_start[k + 1] && l->column[low] == j ? low : UINT32_MAX;
}
