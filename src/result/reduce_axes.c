// SPDX-License-Identifier: MIT
// Runs to groups and positions. Of runs of one group the position counts those that come before, so
// that positions of a group come in order when runs do.
#include "result/reduce.h"

static uint64_t key_of(const struct reduce_axis *x, uint64_t point) {
    return x->key ? x->key[point] : x->keys == 1 ? 0 : point;
}

static uint64_t rank_of(const struct reduce_axis *x, uint64_t point) {
    return x->key ? x->rank[point] : x->keys == 1 ? point : 0;
}

static uint64_t same_as(const struct reduce_axis *x, uint64_t key) {
    return x->key ? x->same[key] : x->keys == 1 ? x->count : 1;
}

static struct reduce_part part_of(const struct reduce_axes *a, uint64_t run) {
    struct reduce_part p = {0};
    for (uint32_t i = 0; i < a->count; i++) {
        const struct reduce_axis *x = &a->axis[i];
        uint64_t point = run / x->inner % x->count, key = key_of(x, point);
        p.group = p.group * x->keys + key;
        p.position = p.position * same_as(x, key) + rank_of(x, point);
    }
    return p;
}

// How many runs from this one on, if they follow each other, are in its group.
static uint64_t length_of(const struct reduce_axes *a, uint64_t run) {
    const struct reduce_axis *last = a->count ? &a->axis[a->count - 1] : NULL;
    return !last ? UINT64_MAX : last->keys == 1 ? last->count - run % last->count : 1;
}

// How many of the runs, which grow, follow each other.
static uint32_t follow(const uint64_t *run, uint32_t rows) {
    uint32_t low = 1, high = rows;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (run[middle - 1] - run[0] == middle - 1)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

uint32_t reduce_cut(const struct reduce_axes *a, const uint64_t *run, uint32_t rows,
                    struct reduce_part *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i += out[n++].rows) {
        uint64_t most = length_of(a, run[i]);
        uint32_t length = most < rows - i ? (uint32_t)most : rows - i;
        out[n] = part_of(a, run[i]);
        out[n].first = i;
        out[n].rows = follow(run + i, length);
    }
    return n;
}

uint64_t reduce_positions(const struct reduce_axes *a) {
    uint64_t positions = 1;
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t most = same_as(&a->axis[i], 0);
        for (uint64_t key = 1; a->axis[i].key && key < a->axis[i].keys; key++)
            most = a->axis[i].same[key] > most ? a->axis[i].same[key] : most;
        positions *= most;
    }
    return positions;
}

uint64_t reduce_positions_of(const struct reduce_axes *a, uint64_t group) {
    uint64_t positions = 1;
    for (uint32_t i = a->count; i-- > 0; group /= a->axis[i].keys)
        positions *= same_as(&a->axis[i], group % a->axis[i].keys);
    return positions;
}
