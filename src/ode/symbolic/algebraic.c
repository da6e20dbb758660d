// SPDX-License-Identifier: MIT
// Algebraic rows: which of them determines which state, and whether they can.
//
// A row of -J has no 1 on its diagonal, so rows are given to states such that the diagonal is
// there: a perfect matching of rows and algebraic states, constant derivatives first, since they
// cannot vanish on the way. Without one the system has an index above 1, or contradicts itself, and
// what is left over says where. Then the order of elimination is found as always, and tried on
// numbers: constants as they are, everything else at random. Where a pivot cancels, rows change
// places.
#include "ode/symbolic/index.h"
#include "ode/symbolic/lu.h"

#include <math.h>
#include <string.h>

enum { TRIED_STATES = 1500 }; // more algebraic ones are not tried on numbers

// Of the whole Jacobian, which is in *whole then.
static struct block block_new(struct system *s, struct sparsity *whole, struct arena *arena) {
    node_id *entries;
    const struct sparsity p = *whole = system_nonzeros(s, &entries, arena);
    struct block b = {.size = s->algebraic};
    uint32_t *number = arena_new(arena, uint32_t, s->states), count = 0, used = 0;
    b.state = arena_new(arena, uint32_t, b.size);
    for (uint32_t i = 0; i < s->states; i++)
        if (s->row_algebraic[i]) {
            number[i] = count;
            b.state[count++] = i;
        }
    b.start = arena_new(arena, uint32_t, b.size + 1);
    b.column = arena_new(arena, uint32_t, p.row_start[p.rows] + 1);
    b.entry = arena_new(arena, node_id, p.row_start[p.rows] + 1);
    for (uint32_t row = 0; row < b.size; row++) {
        uint32_t i = p.row_start[b.state[row]], end = p.row_start[b.state[row] + 1];
        for (; i < end; i++)
            if (s->row_algebraic[p.columns[i]]) {
                b.column[used] = number[p.columns[i]];
                b.entry[used++] = entries[i];
            }
        b.start[row + 1] = used;
    }
    return b;
}

// ---- Matching -----------------------------------------------------------------------------------

static void matching_flip(struct block *b, uint32_t column, uint32_t from) {
    for (uint32_t row, next; column != NOTHING; column = next) {
        row = b->via[column];
        next = row == from ? NOTHING : b->column_of[row];
        b->row_of[column] = row;
        b->column_of[row] = column;
    }
}

// A column for one more row, by an alternating path, breadth first. Where there is none, `via` says
// which columns were reached.
static bool matching_extend(const struct system *s, struct block *b, uint32_t from, bool constant) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->size; i++)
        b->via[i] = NOTHING;
    b->queue[count++] = from;
    b->looked += b->size / 8 + 1;
    for (uint32_t q = 0; q < count; q++)
        for (uint32_t row = b->queue[q], i = b->start[row]; i < b->start[row + 1]; i++) {
            b->looked++;
            uint32_t column = b->column[i];
            if (b->via[column] != NOTHING || (constant && !node_is_number(&s->dag, b->entry[i])))
                continue;
            b->via[column] = row;
            if (b->row_of[column] == NOTHING) {
                matching_flip(b, column, from);
                return true;
            }
            b->queue[count++] = b->row_of[column];
        }
    return false;
}

// The first row without a column, or NOTHING.
static uint32_t matching_find(const struct system *s, struct block *b, struct arena *arena) {
    enum { ENTRIES = 32 }; // that are a step of work
    b->row_of = arena_new(arena, uint32_t, b->size);
    b->column_of = arena_new(arena, uint32_t, b->size);
    b->via = arena_new(arena, uint32_t, b->size);
    b->queue = arena_new(arena, uint32_t, b->size + 1);
    for (uint32_t i = 0; i < b->size; i++)
        b->row_of[i] = b->column_of[i] = NOTHING;
    uint32_t lost = NOTHING;
    for (int constant = 1; constant >= 0; constant--)
        for (uint32_t row = 0; row < b->size; row++) {
            b->looked = 0;
            if (b->column_of[row] == NOTHING && !matching_extend(s, b, row, constant) &&
                !constant && lost == NOTHING)
                lost = row;
            arena_spend(arena, b->looked / ENTRIES);
        }
    return lost;
}

static void give_rows(struct system *s, const struct block *b, struct arena *arena) {
    node_id *rows = arena_new(arena, node_id, b->size);
    for (uint32_t row = 0; row < b->size; row++)
        rows[b->column_of[row]] = s->rhs[b->state[row]];
    for (uint32_t i = 0; i < b->size; i++)
        s->rhs[b->state[i]] = rows[i];
}

// ---- Pivots -------------------------------------------------------------------------------------

// In [0.5, 1.5), the same for the same number.
static double sample(uint32_t number) {
    return 0.5 + (double)(hash_mix(1, number) >> 11) * 0x1p-53;
}

static double *sample_nodes(const struct system *s, struct arena *arena) {
    uint32_t most = s->states > s->pars ? s->states : s->pars;
    most = most > s->derived ? most : s->derived;
    double *leaves = arena_new(arena, double, 3 * (size_t)most);
    for (uint32_t i = 0; i < 3 * most; i++)
        leaves[i] = sample(i);
    struct leaf_values v = {.t = sample(0),
                            .state = leaves,
                            .par = leaves + most,
                            .derived = leaves + 2 * (size_t)most};
    double *values = arena_new(arena, double, s->dag.nodes.count);
    dag_evaluate(&s->dag, &v, values);
    return values;
}

// The block in numbers, row by row, in the order of elimination; `state` by position.
static double *sample_block(const struct system *s, const struct block *b, uint32_t *state,
                            struct arena *arena) {
    const double *values = sample_nodes(s, arena);
    double *a = arena_new(arena, double, (size_t)b->size * b->size);
    uint32_t *place = arena_new(arena, uint32_t, s->states), count = 0;
    for (uint32_t k = 0; k < s->states; k++)
        if (s->row_algebraic[s->order[k]]) {
            place[s->order[k]] = count;
            state[count++] = s->order[k];
        }
    for (uint32_t row = 0; row < b->size; row++)
        for (uint32_t i = b->start[row]; i < b->start[row + 1]; i++) {
            double value = values[b->entry[i]];
            a[(size_t)place[b->state[row]] * b->size + place[b->state[b->column[i]]]] =
                isfinite(value) ? value : sample(i);
        }
    return a;
}

static uint32_t largest_below(const double *a, uint32_t size, uint32_t k) {
    uint32_t best = k;
    for (uint32_t i = k + 1; i < size; i++)
        if (fabs(a[(size_t)i * size + k]) > fabs(a[(size_t)best * size + k]))
            best = i;
    return best;
}

// Returns how many numbers it has changed.
static uint64_t eliminate(double *a, uint32_t size, uint32_t k) {
    uint64_t changed = 0;
    const double *pivot = a + (size_t)k * size;
    for (uint32_t i = k + 1; i < size; i++) {
        double *row = a + (size_t)i * size, factor = pivot[k] != 0 ? row[k] / pivot[k] : 0;
        for (uint32_t j = k + 1; factor != 0 && j < size; j++)
            row[j] -= factor * pivot[j];
        changed += factor != 0 ? size - k : 0;
    }
    return changed;
}

// A pivot that is next to nothing beside what is below it has cancelled: that row comes instead.
static void try_pivots(struct system *s, const struct block *b, struct arena *arena) {
    enum { NUMBERS = 64 }; // that are a step of work
    uint32_t *state = arena_new(arena, uint32_t, b->size), n = b->size;
    double *a = sample_block(s, b, state, arena);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t best = largest_below(a, n, k);
        if (fabs(a[(size_t)k * n + k]) < 1e-8 * fabs(a[(size_t)best * n + k])) {
            node_id row = s->rhs[state[k]];
            s->rhs[state[k]] = s->rhs[state[best]];
            s->rhs[state[best]] = row;
            for (uint32_t j = 0; j < n; j++) {
                double value = a[(size_t)k * n + j];
                a[(size_t)k * n + j] = a[(size_t)best * n + j];
                a[(size_t)best * n + j] = value;
            }
        }
        arena_spend(arena, (n + eliminate(a, n, k)) / NUMBERS);
    }
}

bool algebraic_arrange(struct system *s, const struct model *m, struct arena *scratch,
                       struct report *r) {
    if (s->states > LU_MOST_STATES) {
        report_error(r, SHOAL_INPUT, "a model with algebraic rows can have up to %d states",
                     LU_MOST_STATES);
        return false;
    }
    struct sparsity p;
    struct block b = block_new(s, &p, scratch);
    uint32_t lost = matching_find(s, &b, scratch);
    if (lost != NOTHING) {
        index_report(&b, m, lost, scratch, r);
        return false;
    }
    give_rows(s, &b, scratch);
    b = block_new(s, &p, scratch);
    s->order = arena_new(&s->arena, uint32_t, s->states);
    memcpy(s->order, lu_order(&p, scratch), s->states * sizeof *s->order);
    if (b.size <= TRIED_STATES)
        try_pivots(s, &b, scratch);
    return true;
}
