// SPDX-License-Identifier: MIT
// Writing deflate streams (RFC 1951), and zlib streams around them (RFC 1950); reading is in
// inflate.c.
//
// Blocks of tokens, each with Huffman codes of its own. Repetitions are found by a hash of three
// bytes and a short chain: pictures of few colours shrink to little, and speed matters more here
// than the last percent. Memory: the output, and 400 KB.
#include "io/deflate.h"

#include <stdlib.h>
#include <string.h>

enum {
    HASH_BITS = 15,
    REACH = 32768,
    LENGTH_LEAST = 3,
    LENGTH_MOST = 258,
    CHAIN = 24,
    GOOD = 64, // a repetition so long is taken without a look at others
    TOKENS = 1 << 15,
    LITERALS = 286,
    DISTANCES = 30,
    LENGTHS = 19,
    END = 256,
    BITS_MOST = 15,
};

struct deflate {
    struct buf *out;
    uint64_t bits;
    uint32_t bit_count;
    int32_t head[1 << HASH_BITS], before[REACH];
    uint32_t token[TOKENS]; // literal, or length | distance << 9
    uint32_t tokens;
};

static const uint16_t length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                       15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                       67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                       2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_extra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                         6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

static void put_bits(struct deflate *d, uint32_t value, uint32_t count) {
    d->bits |= (uint64_t)value << d->bit_count;
    for (d->bit_count += count; d->bit_count >= 8; d->bit_count -= 8) {
        buf_putc(d->out, (char)(d->bits & 0xff));
        d->bits >>= 8;
    }
}

static uint32_t last_at_most(const uint16_t *base, uint32_t count, uint32_t value) {
    uint32_t i = count - 1;
    while (base[i] > value)
        i--;
    return i;
}

static uint32_t length_code(uint32_t length) { return last_at_most(length_base, 29, length); }
static uint32_t distance_code(uint32_t distance) {
    return last_at_most(distance_base, DISTANCES, distance);
}

// ---- Codes --------------------------------------------------------------------------------------

struct code {
    uint8_t length[LITERALS];
    uint16_t bits[LITERALS]; // reversed, as they are written
};

struct node {
    uint64_t weight;
    int parent;
};

// Lengths of a Huffman code by the weights; false where one is longer than `most`.
static bool find_lengths(const uint32_t *count, int n, uint32_t most, uint8_t *length) {
    struct node node[2 * LITERALS];
    int used = 0, symbol[LITERALS];
    for (int i = 0; i < n; i++) {
        length[i] = 0;
        if (count[i]) {
            symbol[used] = i;
            node[used++] = (struct node){count[i], -1};
        }
    }
    int nodes = used;
    for (int left = used; left > 1; left--) {
        int least[2] = {-1, -1};
        for (int i = 0; i < nodes; i++) {
            if (node[i].parent >= 0)
                continue;
            if (least[0] < 0 || node[i].weight < node[least[0]].weight) {
                least[1] = least[0];
                least[0] = i;
            } else if (least[1] < 0 || node[i].weight < node[least[1]].weight)
                least[1] = i;
        }
        node[nodes] = (struct node){node[least[0]].weight + node[least[1]].weight, -1};
        node[least[0]].parent = node[least[1]].parent = nodes++;
    }
    bool fits = true;
    for (int i = 0; i < used; i++) {
        uint32_t depth = 0;
        for (int k = i; node[k].parent >= 0; k = node[k].parent)
            depth++;
        length[symbol[i]] = (uint8_t)(depth ? depth : 1);
        fits = fits && depth <= most;
    }
    return fits;
}

static void assign_bits(struct code *c, int n) {
    uint32_t next = 0;
    for (uint32_t l = 1; l <= BITS_MOST; l++, next <<= 1)
        for (int i = 0; i < n; i++) {
            if (c->length[i] != l)
                continue;
            uint32_t reversed = 0;
            for (uint32_t b = 0; b < l; b++)
                reversed |= (next >> b & 1) << (l - 1 - b);
            c->bits[i] = (uint16_t)reversed;
            next++;
        }
}

// Weights are made more alike until no code is too long.
static void make_code(struct code *c, uint32_t *count, int n, uint32_t most) {
    while (!find_lengths(count, n, most, c->length))
        for (int i = 0; i < n; i++)
            count[i] = count[i] ? count[i] / 2 + 1 : 0;
    assign_bits(c, n);
}

// ---- Blocks -------------------------------------------------------------------------------------

static void put_lengths(struct deflate *d, const struct code *literal,
                        const struct code *distance) {
    static const uint8_t order[LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint32_t count[LENGTHS] = {0};
    struct code lengths = {0};
    for (int i = 0; i < LITERALS; i++)
        count[literal->length[i]]++;
    for (int i = 0; i < DISTANCES; i++)
        count[distance->length[i]]++;
    make_code(&lengths, count, LENGTHS, 7);
    put_bits(d, LITERALS - 257, 5);
    put_bits(d, DISTANCES - 1, 5);
    put_bits(d, LENGTHS - 4, 4);
    for (int i = 0; i < LENGTHS; i++)
        put_bits(d, lengths.length[order[i]], 3);
    for (int i = 0; i < LITERALS + DISTANCES; i++) {
        uint8_t l = i < LITERALS ? literal->length[i] : distance->length[i - LITERALS];
        put_bits(d, lengths.bits[l], lengths.length[l]);
    }
}

static void count_tokens(const struct deflate *d, uint32_t *literal, uint32_t *distance) {
    for (uint32_t i = 0; i < d->tokens; i++) {
        uint32_t token = d->token[i];
        if (token < 256)
            literal[token]++;
        else {
            literal[257 + length_code(token & 511)]++;
            distance[distance_code(token >> 9)]++;
        }
    }
    literal[END]++;
    if (!distance[0]) // at least two codes, which every reader takes
        distance[0] = 1;
    if (!distance[1])
        distance[1] = 1;
}

static void put_repetition(struct deflate *d, uint32_t token, const struct code *literal,
                           const struct code *distance) {
    uint32_t length = token & 511, far = token >> 9;
    uint32_t l = length_code(length), k = distance_code(far);
    put_bits(d, literal->bits[257 + l], literal->length[257 + l]);
    put_bits(d, length - length_base[l], length_extra[l]);
    put_bits(d, distance->bits[k], distance->length[k]);
    put_bits(d, far - distance_base[k], distance_extra[k]);
}

static void put_block(struct deflate *d, bool last) {
    uint32_t literals[LITERALS] = {0}, distances[DISTANCES] = {0};
    struct code literal = {0}, distance = {0};
    count_tokens(d, literals, distances);
    make_code(&literal, literals, LITERALS, BITS_MOST);
    make_code(&distance, distances, DISTANCES, BITS_MOST);
    put_bits(d, last, 1);
    put_bits(d, 2, 2);
    put_lengths(d, &literal, &distance);
    for (uint32_t i = 0; i < d->tokens; i++)
        if (d->token[i] < 256)
            put_bits(d, literal.bits[d->token[i]], literal.length[d->token[i]]);
        else
            put_repetition(d, d->token[i], &literal, &distance);
    put_bits(d, literal.bits[END], literal.length[END]);
    d->tokens = 0;
}

// ---- Repetitions --------------------------------------------------------------------------------

static uint32_t hash_of(const unsigned char *p) {
    return ((uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]) * 0x9e3779b1u >> (32 - HASH_BITS);
}

static void remember(struct deflate *d, const unsigned char *p, size_t at) {
    uint32_t h = hash_of(p + at);
    d->before[at % REACH] = d->head[h];
    d->head[h] = (int32_t)at;
}

// The longest repetition at `at`; its length, and how far back.
static uint32_t find_match(const struct deflate *d, const unsigned char *p, size_t at, size_t size,
                           uint32_t *distance) {
    uint32_t best = 0, most = size - at < LENGTH_MOST ? (uint32_t)(size - at) : LENGTH_MOST;
    int32_t from = d->head[hash_of(p + at)];
    for (int tries = CHAIN; tries > 0 && from >= 0 && at - (size_t)from <= REACH - 1; tries--) {
        uint32_t n = 0;
        if (best < most && p[(size_t)from + best] == p[at + best])
            while (n < most && p[(size_t)from + n] == p[at + n])
                n++;
        if (n > best) {
            best = n;
            *distance = (uint32_t)(at - (size_t)from);
            if (best >= GOOD)
                break;
        }
        int32_t older = d->before[(size_t)from % REACH];
        from = older < from ? older : -1;
    }
    return best;
}

static void compress(struct deflate *d, const unsigned char *p, size_t size) {
    for (size_t at = 0; at < size;) {
        uint32_t distance = 0, length = 0;
        if (size - at >= LENGTH_LEAST) {
            length = find_match(d, p, at, size, &distance);
            remember(d, p, at);
        }
        if (length >= LENGTH_LEAST) {
            d->token[d->tokens++] = length | distance << 9;
            for (size_t i = at + 1; i < at + length && size - i >= LENGTH_LEAST; i++)
                remember(d, p, i);
            at += length;
        } else
            d->token[d->tokens++] = p[at++];
        if (d->tokens == TOKENS)
            put_block(d, false);
    }
    put_block(d, true);
    put_bits(d, 0, (8 - d->bit_count) % 8);
}

void deflate_bytes(struct buf *out, const void *bytes, size_t size) {
    struct deflate *d = size < INT32_MAX ? calloc(1, sizeof *d) : NULL;
    if (!d) {
        out->failed = true;
        return;
    }
    d->out = out;
    memset(d->head, 0xff, sizeof d->head);
    compress(d, bytes, size);
    free(d);
}

static uint32_t adler(const unsigned char *p, size_t size) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

void deflate_zlib(struct buf *out, const void *bytes, size_t size) {
    uint32_t sum = adler(bytes, size);
    buf_put(out, "\x78\x9c", 2);
    deflate_bytes(out, bytes, size);
    for (int i = 3; i >= 0; i--)
        buf_putc(out, (char)(sum >> 8 * i & 0xff));
}
