// SPDX-License-Identifier: MIT
// States: see reduce.h. A state is a head and behind it what the spec needs, in memory that is
// zeroed and not touched before a group's first row comes.
#include "result/reduce.h"

#include "result/exact.h"

#include <math.h>
#include <stdlib.h>

struct state {
    uint64_t count;       // values, infinite ones among them
    uint64_t infinite[2]; // below 0 and above
    uint64_t most, least; // keys of the largest and, inverted, of the smallest: 0 is none of them
};

// ---- Layout -------------------------------------------------------------------------------------

static bool has_sum(const struct reduce_spec *s) {
    return s->wants[REDUCE_mean] || s->wants[REDUCE_std];
}

static size_t sum_bytes(const struct reduce_spec *s) {
    return has_sum(s) ? sizeof(struct exact_sum) : 0;
}

static size_t square_bytes(const struct reduce_spec *s) {
    return s->wants[REDUCE_std] ? sizeof(struct exact_squares) : 0;
}

static size_t state_bytes(const struct reduce_spec *s) {
    return sizeof(struct state) + sum_bytes(s) + square_bytes(s) +
           (s->wants[REDUCE_quantile] ? sizeof(struct quantile) : 0);
}

static struct state *state_at(const struct reduce *x, uint64_t group, uint64_t cell) {
    return (struct state *)(void *)(x->state + (group * x->cells + cell) * x->state_bytes);
}

static struct exact_sum *sum_of(struct state *s) { return (struct exact_sum *)(s + 1); }

static struct exact_squares *squares_of(const struct reduce *x, struct state *s) {
    return (struct exact_squares *)(void *)((char *)(s + 1) + sum_bytes(x->spec));
}

static struct quantile *quantile_of(const struct reduce *x, struct state *s) {
    return (struct quantile *)(void *)((char *)squares_of(x, s) + square_bytes(x->spec));
}

// The product of three, or the largest number.
static uint64_t product(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t ab, abc;
    return __builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(ab, c, &abc) ? UINT64_MAX
                                                                                    : abc;
}

uint64_t reduce_bytes(const struct reduce_spec *spec, const struct reduce_axes *a, uint64_t cells,
                      uint64_t rows, uint64_t gaps) {
    uint64_t all = product(state_bytes(spec), cells, a->groups);
    if (!spec->wants[REDUCE_quantile])
        return all;
    uint64_t by_groups = product(quantile_bytes(reduce_positions(a), gaps), cells, a->groups);
    uint64_t by_rows = product(quantile_bytes(1, 0), cells, rows); // no row is kept twice
    uint64_t least = by_groups < by_rows ? by_groups : by_rows;
    return all > UINT64_MAX - least ? UINT64_MAX : all + least;
}

bool reduce_make(struct reduce *x, const struct reduce_spec *spec, uint64_t groups,
                 uint64_t cells) {
    *x = (struct reduce){
        .spec = spec, .groups = groups, .cells = cells, .state_bytes = state_bytes(spec)};
    uint64_t states;
    if (__builtin_mul_overflow(groups, cells, &states))
        return false;
    x->state = calloc(states ? states : 1, x->state_bytes);
    x->failed = calloc(groups, sizeof *x->failed);
    return x->state && x->failed;
}

void reduce_free(struct reduce *x) {
    bool quantiles = x->state && x->spec->wants[REDUCE_quantile];
    for (uint64_t i = 0; quantiles && i < x->groups * x->cells; i++)
        quantile_free(quantile_of(x, state_at(x, 0, i)));
    free(x->state);
    free(x->failed);
    *x = (struct reduce){0};
}

// ---- Rows ---------------------------------------------------------------------------------------

// Counts what there is and gathers what is finite; returns how many these are.
static size_t look_at(struct state *s, const double *values, size_t count, double *finite) {
    size_t n = 0, numbers = 0;
    uint64_t most = s->most, least = s->least;
    for (size_t i = 0; i < count; i++) {
        double x = values[i];
        if (isnan(x))
            continue;
        uint64_t key = quantile_key(x);
        most = key > most ? key : most;
        least = ~key > least ? ~key : least;
        numbers++;
        finite[n] = x;
        n += isfinite(x) != 0;
        s->infinite[x > 0] += isinf(x) != 0;
    }
    s->most = most;
    s->least = least;
    s->count += numbers;
    return n;
}

static bool put_part(struct reduce *x, struct state *s, uint64_t position, const double *values,
                     size_t count, struct reduce_scratch *scratch) {
    const struct reduce_spec *spec = x->spec;
    for (size_t done = 0; done < count;) {
        size_t n = count - done < QUANTILE_BLOCK ? count - done : QUANTILE_BLOCK;
        size_t finite = look_at(s, values + done, n, scratch->finite);
        if (has_sum(spec))
            exact_add(sum_of(s), scratch->finite, finite);
        if (spec->wants[REDUCE_std])
            exact_add_squares(squares_of(x, s), scratch->finite, finite);
        done += n;
    }
    return !spec->wants[REDUCE_quantile] ||
           quantile_put(quantile_of(x, s), position, values, count, &scratch->quantile);
}

bool reduce_put(struct reduce *x, uint64_t cell, const struct reduce_part *part, uint32_t parts,
                const double *values, struct reduce_scratch *scratch) {
    bool ok = true;
    for (uint32_t i = 0; i < parts && ok; i++)
        ok = put_part(x, state_at(x, part[i].group, cell), part[i].position, values + part[i].first,
                      part[i].rows, scratch);
    return ok;
}

static bool join_state(struct reduce *x, struct state *a, struct state *b,
                       struct reduce_scratch *scratch) {
    const struct reduce_spec *spec = x->spec;
    a->count += b->count;
    a->infinite[0] += b->infinite[0];
    a->infinite[1] += b->infinite[1];
    a->most = b->most > a->most ? b->most : a->most;
    a->least = b->least > a->least ? b->least : a->least;
    if (has_sum(spec))
        exact_join(sum_of(a), sum_of(b));
    if (spec->wants[REDUCE_std])
        exact_join_squares(squares_of(x, a), squares_of(x, b));
    return !spec->wants[REDUCE_quantile] ||
           quantile_join(quantile_of(x, a), quantile_of(x, b), &scratch->quantile);
}

bool reduce_join(struct reduce *x, struct reduce *other, struct reduce_scratch *scratch) {
    bool ok = true;
    for (uint64_t g = 0; g < x->groups && ok; g++) {
        x->failed[g] += other->failed[g];
        for (uint64_t c = 0; c < x->cells && ok; c++)
            ok = join_state(x, state_at(x, g, c), state_at(other, g, c), scratch);
    }
    reduce_free(other);
    return ok;
}

// ---- Results ------------------------------------------------------------------------------------

bool reduce_close(struct reduce *x, uint64_t group, uint64_t cell, struct reduce_scratch *scratch) {
    return !x->spec->wants[REDUCE_quantile] ||
           quantile_close(quantile_of(x, state_at(x, group, cell)), &scratch->quantile);
}

static double mean_of(struct state *s) {
    if (s->infinite[0] || s->infinite[1])
        return s->infinite[0] && s->infinite[1] ? (double)NAN
               : s->infinite[1]                 ? (double)INFINITY
                                                : -(double)INFINITY;
    return exact_mean(sum_of(s), s->count);
}

double reduce_value(const struct reduce *x, uint64_t group, uint64_t cell,
                    const struct reduce_item *item) {
    struct state *s = state_at(x, group, cell);
    if (!s->count)
        return (double)NAN;
    double least = quantile_value(~s->least), most = quantile_value(s->most);
    switch (item->kind) {
    case REDUCE_mean:
        return mean_of(s);
    case REDUCE_std:
        return s->count < 2 || s->infinite[0] || s->infinite[1]
                   ? (double)NAN
                   : exact_std(sum_of(s), squares_of(x, s), s->count);
    case REDUCE_min:
        return least;
    case REDUCE_max:
        return most;
    case REDUCE_quantile:
        return quantile_at(quantile_of(x, s), item->fraction, least, most);
    case REDUCE_KINDS:
        break;
    }
    return (double)NAN;
}

uint64_t reduce_count(const struct reduce *x, uint64_t group, uint64_t cell) {
    return state_at(x, group, cell)->count;
}
