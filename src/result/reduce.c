// SPDX-License-Identifier: MIT
// States: see reduce.h. A state is a head and behind it what the spec needs, in memory that is
// zeroed and not touched before a group's first row comes.
#include "result/reduce.h"

#include "result/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

// ---- As bytes -----------------------------------------------------------------------------------

static void save_state(const struct reduce *x, struct state *s, struct saved_to *to) {
    const struct reduce_spec *spec = x->spec;
    saved_put(to, s, s->count ? sizeof *s : sizeof s->count);
    if (s->count && has_sum(spec))
        exact_save(sum_of(s), to);
    if (s->count && spec->wants[REDUCE_std])
        exact_save_squares(squares_of(x, s), to);
    if (spec->wants[REDUCE_quantile])
        quantile_save(quantile_of(x, s), to);
}

void reduce_save(const struct reduce *x, struct saved_to *to) {
    for (uint64_t g = 0; g < x->groups && !to->failed; g++) {
        saved_put_u64(to, x->failed[g]);
        for (uint64_t c = 0; c < x->cells; c++)
            save_state(x, state_at(x, g, c), to);
    }
}

// A group that is being loaded: its positions, and how many came and failed.
struct loaded {
    const struct reduce *reduce;
    uint64_t positions, failed;
    struct state *state; // with all behind it
    struct saved_from *from;
    bool memory; // ran out
};

static bool head_could_be(const struct state *s) {
    uint64_t least = ~s->least, bottom = quantile_key(-(double)INFINITY),
             top = quantile_key((double)INFINITY);
    if (!s->count)
        return !s->most && !s->least && !s->infinite[0] && !s->infinite[1];
    return s->infinite[0] <= s->count && s->infinite[1] <= s->count - s->infinite[0] &&
           least >= bottom && s->most <= top && least <= s->most &&
           (s->infinite[0] > 0) == (least == bottom) && (s->infinite[1] > 0) == (s->most == top);
}

// A mean is rounded, and still not beyond what is the most.
static bool sums_could_be(const struct loaded *l) {
    const struct reduce_spec *spec = l->reduce->spec;
    struct state *s = l->state;
    const struct exact_squares *squares = spec->wants[REDUCE_std] ? squares_of(l->reduce, s) : NULL;
    uint64_t finite = s->count - s->infinite[0] - s->infinite[1];
    if (!exact_could_be(sum_of(s), squares, finite))
        return false;
    if (!finite || finite < s->count)
        return true;
    double least = quantile_value(~s->least), most = quantile_value(s->most),
           mean = exact_mean(sum_of(s), finite);
    return mean >= least && mean <= most &&
           (!squares || finite < 2 || exact_std(sum_of(s), squares, finite) <= most - least);
}

static bool load_quantile(struct loaded *l, uint64_t *came) {
    struct state *s = l->state;
    struct quantile_limits limits = {
        .positions = l->positions, .least = ~s->least, .most = s->most};
    bool good = quantile_load(quantile_of(l->reduce, s), &limits, l->from);
    l->memory = limits.memory;
    *came = limits.covered;
    return good && limits.count == s->count;
}

// Behind the count, which comes first, there is something only where it is not 0.
static bool load_head(struct state *s, struct saved_from *from) {
    return saved_get_u64(from, &s->count) &&
           (!s->count ||
            saved_get(from, (char *)s + sizeof s->count, sizeof *s - sizeof s->count)) &&
           head_could_be(s);
}

// What comes to `came` is at least what there must have been.
static bool load_state(struct loaded *l, uint64_t *came) {
    const struct reduce_spec *spec = l->reduce->spec;
    struct state *s = l->state;
    memset(s, 0, l->reduce->state_bytes);
    if (!load_head(s, l->from))
        return false;
    *came = s->count;
    if (s->count && has_sum(spec) && !exact_load(sum_of(s), l->from))
        return false;
    if (s->count && spec->wants[REDUCE_std] &&
        !exact_load_squares(squares_of(l->reduce, s), l->from))
        return false;
    if (s->count && has_sum(spec) && !sums_could_be(l))
        return false;
    return (!spec->wants[REDUCE_quantile] || load_quantile(l, came)) && s->count <= *came;
}

// Rows are counted once; those that failed have no value anywhere.
static bool adds_up(const struct loaded *l, const struct state *there, uint64_t there_failed,
                    uint64_t came) {
    const struct state *s = l->state;
    return came <= l->positions && l->failed <= l->positions && s->count <= came &&
           s->count <= l->positions - l->failed && there_failed <= l->positions - l->failed &&
           there->count <= l->positions - l->failed - there_failed - s->count;
}

static bool join_loaded(struct reduce *x, struct loaded *l, struct state *there,
                        struct reduce_scratch *scratch) {
    if (x->spec->wants[REDUCE_quantile] &&
        !quantile_apart(quantile_of(x, there), quantile_of(x, l->state)))
        return false;
    l->memory = !join_state(x, there, l->state, scratch);
    return !l->memory;
}

static bool load_group(struct reduce *x, uint64_t g, struct loaded *l, uint64_t *came,
                       struct reduce_scratch *scratch) {
    bool quantiles = x->spec->wants[REDUCE_quantile];
    if (!saved_get_u64(l->from, &l->failed))
        return false;
    for (uint64_t c = 0; c < x->cells; c++) {
        struct state *there = state_at(x, g, c);
        uint64_t n = 0;
        bool good = load_state(l, &n) && adds_up(l, there, x->failed[g], n) &&
                    (!quantiles || !c || n == *came) && join_loaded(x, l, there, scratch);
        if (quantiles)
            quantile_free(quantile_of(x, l->state));
        if (!good)
            return false;
        n = quantiles ? n : n + l->failed;
        *came = n > *came ? n : *came;
    }
    x->failed[g] += l->failed;
    return true;
}

shoal_code reduce_load(struct reduce *x, const struct reduce_axes *a, uint64_t rows,
                       struct saved_from *from, struct reduce_scratch *scratch) {
    struct loaded l = {.reduce = x, .from = from, .state = malloc(x->state_bytes)};
    uint64_t all = 0;
    bool good = true;
    if (!l.state)
        return SHOAL_MEMORY;
    for (uint64_t g = 0; g < x->groups && good; g++) {
        uint64_t came = 0;
        l.positions = reduce_positions_of(a, g);
        good = load_group(x, g, &l, &came, scratch) && came <= rows - all;
        all += came;
    }
    bool exact = x->spec->wants[REDUCE_quantile] && x->cells;
    good = good && (!exact || all == rows);
    free(l.state);
    return good ? SHOAL_OK : l.memory ? SHOAL_MEMORY : SHOAL_INPUT;
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
