// SPDX-License-Identifier: MIT
// See exact.h. What becomes of a sum at the end is computed with whole numbers of many digits:
// mean = S / n, and std = sqrt((n Q - S^2) / (n (n - 1))) with the sums S and Q of numbers and
// squares, where nothing cancels, because nothing was rounded.
#include "result/exact.h"

#include <math.h>
#include <string.h>

enum {
    PENDING_MOST = 1 << 30, // numbers below 2^32 that a digit takes
    MANTISSA = 52,
    SUM_UNIT = -1074, // exponent of a sum's first bit
    EXTRA = 8,        // digits that a quotient has below that
    WIDE = 2 * EXACT_SUM_DIGITS + 4 + EXTRA,
};

// ---- Adding -------------------------------------------------------------------------------------

// x = (negative ? -1 : 1) mantissa 2^(place - 1074)
struct parts {
    uint64_t mantissa;
    uint32_t place;
    int64_t sign; // 0 or -1
};

static inline struct parts split(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t exponent = bits >> MANTISSA & 0x7ff;
    uint64_t fraction = bits & (((uint64_t)1 << MANTISSA) - 1);
    return (struct parts){fraction | (uint64_t)(exponent != 0) << MANTISSA,
                          exponent - (exponent != 0), -(int64_t)(bits >> 63)};
}

static inline int64_t low32(unsigned __int128 x) { return (int64_t)(uint32_t)x; }

// Digits from 0 to 2^32 - 1, but for the last, which has the sign.
static void propagate(int64_t *digit, int digits, uint64_t *pending) {
    int64_t carry = 0;
    for (int i = 0; i + 1 < digits; i++) {
        int64_t sum = digit[i] + carry;
        digit[i] = sum & UINT32_MAX;
        carry = sum >> 32;
    }
    digit[digits - 1] += carry;
    *pending = 1;
}

void exact_add(struct exact_sum *s, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct parts p = split(values[i]);
        unsigned __int128 m = (unsigned __int128)p.mantissa << (p.place & 31);
        int64_t *d = s->digit + (p.place >> 5);
        d[0] += (low32(m) ^ p.sign) - p.sign;
        d[1] += (low32(m >> 32) ^ p.sign) - p.sign;
        d[2] += (low32(m >> 64) ^ p.sign) - p.sign;
        if (++s->pending >= PENDING_MOST)
            propagate(s->digit, EXACT_SUM_DIGITS, &s->pending);
    }
}

void exact_add_squares(struct exact_squares *s, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct parts p = split(values[i]);
        unsigned __int128 square = (unsigned __int128)p.mantissa * p.mantissa;
        uint32_t place = 2 * p.place, shift = place & 31;
        unsigned __int128 low = (square & UINT64_MAX) << shift, high = (square >> 64) << shift;
        int64_t *d = s->digit + (place >> 5);
        d[0] += low32(low);
        d[1] += low32(low >> 32);
        d[2] += low32(low >> 64) + low32(high);
        d[3] += low32(high >> 32);
        d[4] += low32(high >> 64);
        s->pending += 2; // d[2] gets two
        if (s->pending >= PENDING_MOST)
            propagate(s->digit, EXACT_SQUARE_DIGITS, &s->pending);
    }
}

void exact_join(struct exact_sum *s, const struct exact_sum *other) {
    struct exact_sum o = *other;
    propagate(s->digit, EXACT_SUM_DIGITS, &s->pending);
    propagate(o.digit, EXACT_SUM_DIGITS, &o.pending);
    for (int i = 0; i < EXACT_SUM_DIGITS; i++)
        s->digit[i] += o.digit[i];
    propagate(s->digit, EXACT_SUM_DIGITS, &s->pending);
}

void exact_join_squares(struct exact_squares *s, const struct exact_squares *other) {
    struct exact_squares o = *other;
    propagate(s->digit, EXACT_SQUARE_DIGITS, &s->pending);
    propagate(o.digit, EXACT_SQUARE_DIGITS, &o.pending);
    for (int i = 0; i < EXACT_SQUARE_DIGITS; i++)
        s->digit[i] += o.digit[i];
    propagate(s->digit, EXACT_SQUARE_DIGITS, &s->pending);
}

// ---- As bytes -----------------------------------------------------------------------------------

// Digits that are not those of a number close to 0: where they begin, how many there are, the sign.
struct saved_digits {
    uint8_t first, count, negative, zero;
};

static void save_digits(int64_t *digit, int digits, struct saved_to *to) {
    uint64_t pending;
    propagate(digit, digits, &pending);
    bool negative = digit[digits - 1] < 0;
    int64_t fill = negative ? UINT32_MAX : 0;
    digit[digits - 1] &= UINT32_MAX;
    int first = 0, end = digits;
    while (end > 0 && digit[end - 1] == fill)
        end--;
    while (first < end && !digit[first])
        first++;
    struct saved_digits head = {(uint8_t)first, (uint8_t)(end - first), negative, 0};
    saved_put(to, &head, sizeof head);
    for (int i = first; i < end; i++) {
        uint32_t word = (uint32_t)digit[i];
        saved_put(to, &word, sizeof word);
    }
}

static bool load_digits(int64_t *digit, int digits, struct saved_from *from) {
    struct saved_digits head;
    if (!saved_get(from, &head, sizeof head) || head.first + head.count > digits ||
        head.negative > 1 || head.zero)
        return false;
    for (int i = 0; i < digits; i++) {
        uint32_t word = i >= head.first && head.negative ? UINT32_MAX : 0;
        if (i >= head.first && i < head.first + head.count && !saved_get(from, &word, sizeof word))
            return false;
        digit[i] = word;
    }
    digit[digits - 1] = (int32_t)(uint32_t)digit[digits - 1];
    return (digit[digits - 1] < 0) == head.negative;
}

void exact_save(const struct exact_sum *s, struct saved_to *to) {
    struct exact_sum copy = *s;
    save_digits(copy.digit, EXACT_SUM_DIGITS, to);
}

void exact_save_squares(const struct exact_squares *s, struct saved_to *to) {
    struct exact_squares copy = *s;
    save_digits(copy.digit, EXACT_SQUARE_DIGITS, to);
}

bool exact_load(struct exact_sum *s, struct saved_from *from) {
    *s = (struct exact_sum){.pending = 1};
    return load_digits(s->digit, EXACT_SUM_DIGITS, from);
}

bool exact_load_squares(struct exact_squares *s, struct saved_from *from) {
    *s = (struct exact_squares){.pending = 1};
    return load_digits(s->digit, EXACT_SQUARE_DIGITS, from);
}

// ---- Whole numbers ------------------------------------------------------------------------------

// Digits of 32 bits, the lowest first.
struct whole {
    int digits;
    uint32_t digit[WIDE];
};

// The size of a sum, `extra` digits up; returns whether it is negative.
static bool whole_of_sum(const struct exact_sum *s, int extra, struct whole *out) {
    struct exact_sum sum = *s;
    propagate(sum.digit, EXACT_SUM_DIGITS, &sum.pending);
    bool negative = sum.digit[EXACT_SUM_DIGITS - 1] < 0;
    for (int i = 0; i < EXACT_SUM_DIGITS && negative; i++)
        sum.digit[i] = -sum.digit[i];
    propagate(sum.digit, EXACT_SUM_DIGITS, &sum.pending);
    *out = (struct whole){.digits = EXACT_SUM_DIGITS + extra};
    for (int i = 0; i < EXACT_SUM_DIGITS; i++)
        out->digit[i + extra] = (uint32_t)sum.digit[i];
    return negative;
}

// Sets x = x / n; returns whether something is left.
static bool divide(struct whole *x, uint64_t n) {
    uint64_t rest = 0;
    for (int i = x->digits; i-- > 0;) {
        unsigned __int128 part = (unsigned __int128)rest << 32 | x->digit[i];
        x->digit[i] = (uint32_t)(part / n); // below 2^32, since rest < n
        rest = (uint64_t)(part % n);
    }
    return rest != 0;
}

// Sets out = n Q - S^2; returns whether that is not negative, as it is of all numbers.
static bool spread(const struct exact_squares *q, const struct whole *s, uint64_t n,
                   struct whole *out) {
    struct exact_squares squares = *q;
    propagate(squares.digit, EXACT_SQUARE_DIGITS, &squares.pending);
    struct whole square = {.digits = out->digits};
    for (int i = 0; i < s->digits; i++) {
        uint64_t carry = 0;
        for (int k = 0; k < s->digits; k++) {
            carry += (uint64_t)s->digit[i] * s->digit[k] + square.digit[i + k];
            square.digit[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
        square.digit[i + s->digits] = (uint32_t)carry;
    }
    unsigned __int128 carry = 0;
    int64_t borrow = 0;
    for (int i = 0; i < out->digits; i++) {
        uint64_t digit = i < EXACT_SQUARE_DIGITS ? (uint64_t)squares.digit[i] : 0;
        carry += (unsigned __int128)digit * n;
        borrow += low32(carry) - (int64_t)square.digit[i];
        out->digit[i] = (uint32_t)borrow;
        borrow >>= 32;
        carry >>= 32;
    }
    return borrow == 0;
}

static int bits_of(const struct whole *x) {
    int i = x->digits - 1;
    while (i >= 0 && !x->digit[i])
        i--;
    return i < 0 ? 0 : 32 * i + 32 - __builtin_clz(x->digit[i]);
}

// `count` bits (at most 128) from bit `from` on; those below 0 are 0.
static unsigned __int128 bits_from(const struct whole *x, int from, int count) {
    unsigned __int128 out = 0;
    for (int bit = from + count - 1; bit >= from; bit--)
        out = out << 1 | (bit >= 0 && bit < 32 * x->digits && x->digit[bit / 32] >> (bit % 32) & 1);
    return out;
}

static bool any_below(const struct whole *x, int bit) {
    if (bit <= 0)
        return false;
    int whole = bit / 32 < x->digits ? bit / 32 : x->digits;
    for (int i = 0; i < whole; i++)
        if (x->digit[i])
            return true;
    return whole < x->digits && x->digit[whole] & (((uint32_t)1 << (bit % 32)) - 1);
}

// x 2^unit, and a little more where there is a rest, as the nearest double.
static double nearest(const struct whole *x, int unit, bool rest) {
    int bits = bits_of(x), last = bits - MANTISSA - 1; // the bit that a double has last
    if (last + unit < SUM_UNIT)
        last = SUM_UNIT - unit;
    uint64_t mantissa = (uint64_t)bits_from(x, last, MANTISSA + 1);
    bool half = bits_from(x, last - 1, 1), more = rest || any_below(x, last - 1);
    mantissa += half && (more || (mantissa & 1));
    return ldexp((double)mantissa, last + unit);
}

// ---- Results ------------------------------------------------------------------------------------

double exact_mean(const struct exact_sum *s, uint64_t count) {
    struct whole x;
    bool negative = whole_of_sum(s, EXTRA, &x), rest = divide(&x, count);
    double mean = nearest(&x, SUM_UNIT - 32 * EXTRA, rest);
    return negative ? -mean : mean;
}

static bool is_zero(const int64_t *digit, int digits) {
    for (int i = 0; i < digits; i++)
        if (digit[i])
            return false;
    return true;
}

bool exact_could_be(const struct exact_sum *s, const struct exact_squares *squares,
                    uint64_t count) {
    struct whole sum, all = {.digits = 2 * EXACT_SUM_DIGITS + 4};
    if (!count)
        return is_zero(s->digit, EXACT_SUM_DIGITS) &&
               (!squares || is_zero(squares->digit, EXACT_SQUARE_DIGITS));
    if (!isfinite(exact_mean(s, count)))
        return false;
    if (!squares)
        return true;
    whole_of_sum(s, 0, &sum);
    return squares->digit[EXACT_SQUARE_DIGITS - 1] >= 0 && spread(squares, &sum, count, &all);
}

static uint64_t square_root(unsigned __int128 x) {
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t next = root | (uint64_t)1 << bit;
        if ((unsigned __int128)next * next <= x)
            root = next;
    }
    return root;
}

// The first 127 or 128 bits of the variance are enough for 64 of its root, and whether something
// is left tells where the rest lies.
static double root_of(const struct whole *x, int unit, bool rest) {
    int from = bits_of(x) - 128;
    from += (from + unit) & 1;
    unsigned __int128 top = bits_from(x, from, 128);
    uint64_t root = square_root(top);
    rest = rest || any_below(x, from) || (unsigned __int128)root * root != top;
    struct whole out = {.digits = 2, .digit = {(uint32_t)root, (uint32_t)(root >> 32)}};
    return nearest(&out, (from + unit) / 2, rest);
}

double exact_std(const struct exact_sum *s, const struct exact_squares *squares, uint64_t count) {
    struct whole sum, all = {.digits = 2 * EXACT_SUM_DIGITS + 4}, x = {.digits = WIDE};
    whole_of_sum(s, 0, &sum);
    spread(squares, &sum, count, &all);
    memcpy(x.digit + EXTRA, all.digit, (size_t)all.digits * sizeof *all.digit);
    bool rest = divide(&x, count);
    rest = divide(&x, count - 1) || rest;
    return bits_of(&x) ? root_of(&x, 2 * SUM_UNIT - 32 * EXTRA, rest) : 0;
}
