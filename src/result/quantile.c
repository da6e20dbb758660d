// SPDX-License-Identifier: MIT
// See quantile.h.
#include "result/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGIT_VALUES = 1 << DIGIT_BITS, DIGITS = 64 / DIGIT_BITS, ROOM_LEAST = 16 };

// ---- Sorting ------------------------------------------------------------------------------------

static void count_digits(const uint64_t *key, uint32_t count, uint32_t seen[DIGITS][DIGIT_VALUES]) {
    memset(seen, 0, DIGITS * sizeof *seen);
    for (uint32_t i = 0; i < count; i++)
        for (int d = 0; d < DIGITS; d++)
            seen[d][key[i] >> (d * DIGIT_BITS) & (DIGIT_VALUES - 1)]++;
}

// By digits, the lowest first; those that are the same in all keys are passed over.
static void sort(uint64_t *key, uint32_t count, uint64_t *other) {
    uint32_t seen[DIGITS][DIGIT_VALUES];
    uint64_t *from = key, *to = other;
    count_digits(key, count, seen);
    for (int d = 0; d < DIGITS && count; d++) {
        int shift = d * DIGIT_BITS;
        if (seen[d][key[0] >> shift & (DIGIT_VALUES - 1)] == count)
            continue;
        uint32_t at = 0;
        for (int v = 0; v < DIGIT_VALUES; v++) {
            uint32_t n = seen[d][v];
            seen[d][v] = at;
            at += n;
        }
        for (uint32_t i = 0; i < count; i++)
            to[seen[d][from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
        uint64_t *was = from;
        from = to;
        to = was;
    }
    if (from != key)
        memcpy(key, from, count * sizeof *key);
}

// ---- Nodes --------------------------------------------------------------------------------------

static uint32_t keys_of(const struct quantile_node *n) {
    return n->count < QUANTILE_BLOCK ? (uint32_t)n->count : QUANTILE_BLOCK;
}

// What a key of the node stands for, in parts of QUANTILE_BLOCK.
static uint64_t weight_of(const struct quantile_node *n) {
    return n->count < QUANTILE_BLOCK ? QUANTILE_BLOCK : n->count;
}

static bool reserve(struct quantile_node *n, uint32_t keys) {
    if (keys <= n->room)
        return true;
    uint32_t room = n->room ? n->room : ROOM_LEAST;
    while (room < keys)
        room *= 2;
    uint64_t *key = realloc(n->key, room * sizeof *key);
    if (!key)
        return false;
    n->key = key;
    n->room = room;
    return true;
}

// All keys of two nodes in order; there is room for them in `out`.
static void merge_all(const struct quantile_node *a, const struct quantile_node *b, uint64_t *out) {
    uint32_t i = 0, k = 0, an = keys_of(a), bn = keys_of(b);
    while (i < an && k < bn) {
        bool first = a->key[i] <= b->key[k];
        *out++ = first ? a->key[i] : b->key[k];
        i += first;
        k += !first;
    }
    memcpy(out, a->key + i, (an - i) * sizeof *out);
    memcpy(out + (an - i), b->key + k, (bn - k) * sizeof *out);
}

// QUANTILE_BLOCK of them, each from the middle of those that it will stand for. Of two that are
// equally near it is the lower and the higher in turn, or ranks would move to one side level by
// level.
static void merge_some(const struct quantile_node *a, const struct quantile_node *b,
                       uint64_t *out) {
    uint64_t wa = weight_of(a), wb = weight_of(b);
    unsigned __int128 count = a->count + b->count, passed = 0; // parts are 4,096 times as many
    uint32_t i = 0, k = 0, an = keys_of(a), bn = keys_of(b), n = 0;
    while (n < QUANTILE_BLOCK) {
        bool first = k == bn || (i < an && a->key[i] <= b->key[k]);
        uint64_t key = first ? a->key[i] : b->key[k];
        passed += first ? wa : wb;
        i += first;
        k += !first;
        for (; n < QUANTILE_BLOCK && (2 * n + 1) * count + (n & 1) <= 2 * passed; n++)
            out[n] = key;
    }
}

// The parent of two nodes takes the place of the first; the second is empty afterwards.
static bool merge(struct quantile_node *a, struct quantile_node *b,
                  struct quantile_scratch *scratch) {
    uint64_t count = a->count + b->count, *out = scratch->key[0];
    uint32_t keys = count < QUANTILE_BLOCK ? (uint32_t)count : QUANTILE_BLOCK;
    if (count <= QUANTILE_BLOCK)
        merge_all(a, b, out);
    else
        merge_some(a, b, out);
    if (!reserve(a, keys))
        return false;
    memcpy(a->key, out, keys * sizeof *out);
    a->count = count;
    free(b->key);
    *b = (struct quantile_node){0};
    return true;
}

// ---- The tree -----------------------------------------------------------------------------------

static uint32_t find(const struct quantile *q, uint32_t level, uint64_t index) {
    uint32_t i = q->nodes; // the newest is the likeliest
    while (i > 0 && (q->node[i - 1].level != level || q->node[i - 1].index != index))
        i--;
    return i ? i - 1 : UINT32_MAX;
}

static uint32_t add(struct quantile *q, struct quantile_node node) {
    if (q->nodes == q->room) {
        uint32_t room = q->room ? q->room * 2 : 4;
        struct quantile_node *bigger = realloc(q->node, room * sizeof *bigger);
        if (!bigger)
            return UINT32_MAX;
        q->node = bigger;
        q->room = room;
    }
    q->node[q->nodes] = node;
    return q->nodes++;
}

static void take_out(struct quantile *q, uint32_t i) { q->node[i] = q->node[--q->nodes]; }

static bool is_complete(const struct quantile_node *n) {
    return n->level || n->covered == QUANTILE_BLOCK;
}

// A node is complete: with its sibling, if that is too, it becomes their parent, and so on.
static bool rise(struct quantile *q, uint32_t i, struct quantile_scratch *scratch) {
    for (;;) {
        struct quantile_node *n = &q->node[i];
        uint32_t k = find(q, n->level, n->index ^ 1);
        if (k == UINT32_MAX || !is_complete(&q->node[k]))
            return true;
        if (!merge(n, &q->node[k], scratch))
            return false;
        n->level++;
        n->index /= 2;
        take_out(q, k);
        if (i == q->nodes) // it was the last, and has taken the place of the other
            i = k;
    }
}

static bool block_is_full(struct quantile *q, uint32_t i, struct quantile_scratch *scratch) {
    struct quantile_node *n = &q->node[i];
    if (n->covered < QUANTILE_BLOCK)
        return true;
    sort(n->key, keys_of(n), scratch->key[0]);
    return rise(q, i, scratch);
}

static bool put_block(struct quantile *q, uint64_t position, const double *values, uint32_t count,
                      struct quantile_scratch *scratch) {
    uint64_t index = position / QUANTILE_BLOCK;
    uint32_t i = find(q, 0, index);
    if (i == UINT32_MAX)
        i = add(q, (struct quantile_node){.index = index});
    struct quantile_node *n = i == UINT32_MAX ? NULL : &q->node[i];
    if (!n || n->covered + count > QUANTILE_BLOCK || !reserve(n, (uint32_t)n->count + count))
        return false;
    uint64_t at = n->count;
    for (uint32_t v = 0; v < count; v++) {
        n->key[at] = quantile_key(values[v]);
        at += isnan(values[v]) ? 0 : 1;
    }
    n->count = at;
    n->covered += count;
    return block_is_full(q, i, scratch);
}

bool quantile_put(struct quantile *q, uint64_t first, const double *values, size_t count,
                  struct quantile_scratch *scratch) {
    for (size_t done = 0; done < count;) {
        size_t left = QUANTILE_BLOCK - (size_t)((first + done) % QUANTILE_BLOCK);
        size_t n = count - done < left ? count - done : left;
        if (!put_block(q, first + done, values + done, (uint32_t)n, scratch))
            return false;
        done += n;
    }
    return true;
}

// Two parts of one block.
static bool join_block(struct quantile *q, uint32_t i, const struct quantile_node *part,
                       struct quantile_scratch *scratch) {
    struct quantile_node *n = &q->node[i];
    if (n->covered + part->covered > QUANTILE_BLOCK ||
        !reserve(n, (uint32_t)(n->count + part->count)))
        return false;
    memcpy(n->key + n->count, part->key, part->count * sizeof *n->key);
    n->count += part->count;
    n->covered += part->covered;
    return block_is_full(q, i, scratch);
}

// What is moved is gone from the part, what is copied is still there.
static bool join_node(struct quantile *q, struct quantile_node *part,
                      struct quantile_scratch *scratch) {
    bool complete = is_complete(part);
    uint32_t i = complete ? UINT32_MAX : find(q, 0, part->index);
    if (i != UINT32_MAX)
        return join_block(q, i, part, scratch);
    i = add(q, *part);
    if (i == UINT32_MAX)
        return false;
    *part = (struct quantile_node){0};
    return !complete || rise(q, i, scratch);
}

bool quantile_join(struct quantile *q, struct quantile *other, struct quantile_scratch *scratch) {
    while (other->nodes) {
        struct quantile_node *part = &other->node[other->nodes - 1];
        if (!join_node(q, part, scratch))
            return false;
        free(part->key);
        other->nodes--;
    }
    quantile_free(other);
    return true;
}

// ---- As bytes -----------------------------------------------------------------------------------

enum { LEVEL_MOST = 51 }; // a block has 2^12 positions

struct saved_node {
    uint64_t index, count;
    uint32_t level, covered;
};

void quantile_save(const struct quantile *q, struct saved_to *to) {
    saved_put_u64(to, q->nodes);
    for (uint32_t i = 0; i < q->nodes; i++) {
        const struct quantile_node *n = &q->node[i];
        struct saved_node head = {n->index, n->count, n->level, n->level ? 0 : n->covered};
        saved_put(to, &head, sizeof head);
        saved_put(to, n->key, keys_of(n) * sizeof *n->key);
    }
}

// Positions that a node stands for; those of a block may not all have come.
static uint64_t first_of(const struct quantile_node *n) {
    return (n->index << n->level) * QUANTILE_BLOCK;
}

static uint64_t came_of(const struct quantile_node *n) {
    return n->level ? (uint64_t)QUANTILE_BLOCK << n->level : n->covered;
}

static bool head_could_be(const struct saved_node *h, uint64_t positions) {
    if (h->level > LEVEL_MOST || (h->level ? h->covered != 0 : h->covered > QUANTILE_BLOCK) ||
        h->index > positions / QUANTILE_BLOCK >> h->level)
        return false;
    struct quantile_node n = {.index = h->index, .level = h->level, .covered = h->covered};
    uint64_t first = first_of(&n), came = came_of(&n);
    return came && first <= positions && came <= positions - first && h->count <= came;
}

static bool keys_could_be(const struct quantile_node *n, const struct quantile_limits *l) {
    for (uint32_t i = 0; i < keys_of(n); i++)
        if (n->key[i] < l->least || n->key[i] > l->most ||
            (i && is_complete(n) && n->key[i] < n->key[i - 1]))
            return false;
    return true;
}

static bool is_apart(const struct quantile_node *a, const struct quantile_node *b) {
    uint64_t x = first_of(a), y = first_of(b);
    uint64_t of_a = (uint64_t)QUANTILE_BLOCK << a->level,
             of_b = (uint64_t)QUANTILE_BLOCK << b->level;
    return x < y ? y - x >= of_a : x - y >= of_b;
}

static bool load_node(struct quantile *q, struct quantile_limits *l, struct saved_from *from) {
    struct saved_node h;
    if (!saved_get(from, &h, sizeof h) || !head_could_be(&h, l->positions))
        return false;
    struct quantile_node n = {
        .index = h.index, .count = h.count, .level = h.level, .covered = h.covered};
    for (uint32_t i = 0; i < q->nodes; i++)
        if (!is_apart(&q->node[i], &n))
            return false;
    uint32_t at = reserve(&n, keys_of(&n)) ? add(q, n) : UINT32_MAX;
    if (at == UINT32_MAX) {
        free(n.key);
        l->memory = true;
        return false;
    }
    l->count += n.count;
    l->covered += came_of(&n);
    return saved_get(from, n.key, keys_of(&n) * sizeof *n.key) && keys_could_be(&n, l);
}

bool quantile_load(struct quantile *q, struct quantile_limits *l, struct saved_from *from) {
    uint64_t nodes;
    if (!saved_get_u64(from, &nodes))
        return false;
    for (; nodes; nodes--)
        if (!load_node(q, l, from))
            return false;
    return true;
}

bool quantile_apart(const struct quantile *q, const struct quantile *other) {
    for (uint32_t i = 0; i < q->nodes; i++)
        for (uint32_t k = 0; k < other->nodes; k++) {
            const struct quantile_node *a = &q->node[i], *b = &other->node[k];
            bool parts = !is_complete(a) && !is_complete(b) && a->index == b->index;
            if (parts ? a->covered + b->covered > QUANTILE_BLOCK : !is_apart(a, b))
                return false;
        }
    return true;
}

// ---- End ----------------------------------------------------------------------------------------

static void sort_blocks(struct quantile *q, struct quantile_scratch *scratch) {
    for (uint32_t i = 0; i < q->nodes; i++)
        if (!is_complete(&q->node[i]))
            sort(q->node[i].key, keys_of(&q->node[i]), scratch->key[0]);
}

// One level up: siblings become their parents, and so do those who have none.
static bool close_level(struct quantile *q, uint32_t level, struct quantile_scratch *scratch) {
    for (uint32_t i = 0; i < q->nodes; i++) {
        struct quantile_node *n = &q->node[i];
        if (n->level != level)
            continue;
        uint32_t k = find(q, level, n->index ^ 1);
        if (k != UINT32_MAX && !merge(n, &q->node[k], scratch))
            return false;
        n->level++;
        n->index /= 2;
        if (k != UINT32_MAX) // it is behind, or it would have come first
            take_out(q, k);
    }
    return true;
}

bool quantile_close(struct quantile *q, struct quantile_scratch *scratch) {
    bool ok = true;
    sort_blocks(q, scratch);
    for (uint32_t level = 0; q->nodes > 1 && ok; level++)
        ok = close_level(q, level, scratch);
    return ok;
}

// The value of a rank, counted from 0: the one whose share of the ranks has its middle in it.
static double at_rank(const struct quantile_node *n, uint64_t rank) {
    unsigned __int128 place = (2 * (unsigned __int128)rank + 1) * keys_of(n);
    return quantile_value(n->key[(uint32_t)(place / (2 * (unsigned __int128)n->count))]);
}

double quantile_at(const struct quantile *q, double fraction, double least, double most) {
    const struct quantile_node *n = q->nodes ? q->node : NULL;
    if (!n || !n->count)
        return (double)NAN;
    double place = fraction * (double)(n->count - 1), low = floor(place);
    uint64_t rank = (uint64_t)low;
    double below = rank == 0 ? least : at_rank(n, rank);
    if (rank + 1 >= n->count)
        return most;
    double above = rank + 2 >= n->count ? most : at_rank(n, rank + 1);
    double part = place - low;
    return part == 0 || below == above ? below : below * (1 - part) + above * part;
}

void quantile_free(struct quantile *q) {
    for (uint32_t i = 0; i < q->nodes; i++)
        free(q->node[i].key);
    free(q->node);
    *q = (struct quantile){0};
}

uint64_t quantile_bytes(uint64_t positions, uint64_t gaps) {
    uint64_t blocks = positions / QUANTILE_BLOCK, keys = ROOM_LEAST, levels = 1;
    while (keys < positions && keys < QUANTILE_BLOCK)
        keys *= 2;
    for (levels += blocks != 0; blocks; blocks /= 2)
        levels++;
    return levels * (1 + 2 * gaps) * (keys * sizeof(uint64_t) + sizeof(struct quantile_node));
}
