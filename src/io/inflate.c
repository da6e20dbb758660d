// SPDX-License-Identifier: MIT
// Deflate streams (RFC 1951) from memory to memory, for members of np.savez_compressed.
//
// The size of the result is known before, so nothing grows. Codes are looked up in one table of the
// longest code's width. The input is not trusted: every distance, length and table is checked, and
// each round of a loop takes input or gives output, so it always ends.
#include "io/zip.h"

#include <stdlib.h>
#include <string.h>

enum { LITERALS = 288, DISTANCES = 32, CODE_BITS = 15, END = 256 };

struct codes { // entry: symbol << 4 | bits, by the next `width` bits; 0 is no code
    uint16_t entry[1 << CODE_BITS];
    uint32_t width;
};

struct stream {
    const unsigned char *in, *in_end;
    unsigned char *out, *out_start, *out_end;
    uint64_t hold; // bits that were read ahead
    uint32_t held;
    uint32_t missing; // bits beyond the end that were made up, as zeros
    struct codes literals, distances;
};

// At least `n` <= 32 bits in s->hold.
static void need(struct stream *s, uint32_t n) {
    while (s->held < n) {
        if (s->in < s->in_end)
            s->hold |= (uint64_t)*s->in++ << s->held;
        else
            s->missing += 8;
        s->held += 8;
    }
}

static void drop(struct stream *s, uint32_t n) {
    s->hold >>= n;
    s->held -= n;
}

static bool ran_out(const struct stream *s) { return s->missing > s->held; }

static uint32_t take(struct stream *s, uint32_t n) {
    need(s, n);
    uint32_t bits = (uint32_t)(s->hold & ((1ull << n) - 1));
    drop(s, n);
    return bits;
}

static uint32_t reversed(uint32_t code, uint32_t bits) {
    uint32_t r = 0;
    for (uint32_t i = 0; i < bits; i++)
        r |= (code >> i & 1) << (bits - 1 - i);
    return r;
}

// Canonical codes from their lengths; false when there are more than fit.
static bool make_codes(struct codes *c, const uint8_t *length, uint32_t count) {
    uint32_t of_length[CODE_BITS + 1] = {0}, next[CODE_BITS + 2] = {0};
    c->width = 1;
    for (uint32_t i = 0; i < count; i++) {
        of_length[length[i]]++;
        if (length[i] > c->width)
            c->width = length[i];
    }
    of_length[0] = 0;
    uint32_t left = 1;
    for (uint32_t bits = 1; bits <= CODE_BITS; bits++) {
        left <<= 1;
        if (of_length[bits] > left)
            return false;
        left -= of_length[bits];
        next[bits + 1] = (next[bits] + of_length[bits]) << 1;
    }
    memset(c->entry, 0, sizeof *c->entry << c->width);
    for (uint32_t i = 0; i < count; i++)
        if (length[i]) {
            uint32_t first = reversed(next[length[i]]++, length[i]);
            for (uint32_t at = first; at < 1u << c->width; at += 1u << length[i])
                c->entry[at] = (uint16_t)(i << 4 | length[i]);
        }
    return true;
}

// The next symbol, or -1.
static int symbol(struct stream *s, const struct codes *c) {
    need(s, CODE_BITS);
    uint16_t e = c->entry[s->hold & ((1u << c->width) - 1)];
    drop(s, e & 15);
    return e ? e >> 4 : -1;
}

static bool copy_back(struct stream *s, int code) {
    static const uint16_t base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                    2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t far_base[] = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    if (code - 257 >= (int)(sizeof base / sizeof *base))
        return false;
    size_t length = base[code - 257] + take(s, extra[code - 257]);
    int far = symbol(s, &s->distances);
    if (far < 0 || far >= (int)(sizeof far_base / sizeof *far_base))
        return false;
    size_t distance = far_base[far] + take(s, far < 4 ? 0 : (uint32_t)far / 2 - 1);
    if (distance > (size_t)(s->out - s->out_start) || length > (size_t)(s->out_end - s->out))
        return false;
    for (const unsigned char *from = s->out - distance; length; length--)
        *s->out++ = *from++; // may overlap what it writes: that repeats it
    return true;
}

static bool coded_block(struct stream *s) {
    for (;;) {
        int code = symbol(s, &s->literals);
        if (code < 0 || ran_out(s))
            return false;
        if (code == END)
            return true;
        if (code > END) {
            if (!copy_back(s, code))
                return false;
        } else if (s->out < s->out_end)
            *s->out++ = (unsigned char)code;
        else
            return false;
    }
}

static bool stored_block(struct stream *s) {
    drop(s, s->held & 7);
    uint32_t length = take(s, 16), check = take(s, 16);
    if ((length ^ check) != 0xffff || ran_out(s))
        return false;
    for (; length && s->held; length--) { // what was read ahead first
        if (s->out == s->out_end)
            return false;
        *s->out++ = (unsigned char)take(s, 8);
    }
    if (ran_out(s) || length > (size_t)(s->in_end - s->in) ||
        length > (size_t)(s->out_end - s->out))
        return false;
    if (length)
        memcpy(s->out, s->in, length);
    s->in += length;
    s->out += length;
    return true;
}

static bool fixed_block(struct stream *s) {
    uint8_t length[LITERALS], far[DISTANCES];
    for (int i = 0; i < LITERALS; i++)
        length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(far, 5, sizeof far);
    return make_codes(&s->literals, length, LITERALS) &&
           make_codes(&s->distances, far, DISTANCES) && coded_block(s);
}

// Code lengths, themselves coded, with runs.
static bool read_lengths(struct stream *s, const struct codes *c, uint8_t *length, uint32_t count) {
    for (uint32_t n = 0; n < count;) {
        int code = symbol(s, c);
        if (code < 0 || ran_out(s))
            return false;
        if (code < 16) {
            length[n++] = (uint8_t)code;
            continue;
        }
        if (code == 16 && n == 0)
            return false;
        uint8_t value = code == 16 ? length[n - 1] : 0;
        uint32_t repeat = code == 16   ? 3 + take(s, 2)
                          : code == 17 ? 3 + take(s, 3)
                                       : 11 + take(s, 7);
        if (repeat > count - n)
            return false;
        memset(length + n, value, repeat);
        n += repeat;
    }
    return true;
}

static bool dynamic_block(struct stream *s) {
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t length[LITERALS + DISTANCES] = {0}, of_lengths[sizeof order] = {0};
    uint32_t literals = take(s, 5) + 257, distances = take(s, 5) + 1, given = take(s, 4) + 4;
    if (literals > LITERALS)
        return false;
    for (uint32_t i = 0; i < given; i++)
        of_lengths[order[i]] = (uint8_t)take(s, 3);
    return make_codes(&s->literals, of_lengths, sizeof of_lengths) &&
           read_lengths(s, &s->literals, length, literals + distances) &&
           make_codes(&s->literals, length, literals) &&
           make_codes(&s->distances, length + literals, distances) && coded_block(s);
}

bool inflate_bytes(const void *packed, size_t packed_size, void *out, size_t size) {
    static bool (*const block[])(struct stream *) = {stored_block, fixed_block, dynamic_block};
    struct stream *s = malloc(sizeof *s);
    if (!s)
        return false;
    s->in = packed;
    s->in_end = s->in + packed_size;
    s->out = s->out_start = out;
    s->out_end = s->out + size;
    s->hold = s->held = s->missing = 0;
    bool ok = true, last = false;
    while (ok && !last) {
        last = take(s, 1);
        uint32_t kind = take(s, 2);
        ok = kind < 3 && !ran_out(s) && block[kind](s);
    }
    ok = ok && s->out == s->out_end;
    free(s);
    return ok;
}
