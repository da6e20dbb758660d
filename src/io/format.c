// SPDX-License-Identifier: MIT
// Numbers as text: the shortest decimal that reads back as the same binary number.
//
// The method is Giulietti's Schubfach: with g, the 128 leading bits of a power of ten, the ends and
// the middle of the interval that rounds to the number are scaled to integers (rounded to odd,
// which keeps comparisons exact), and the shortest, then nearest, decimal inside is picked. The
// powers are computed exactly, once, with long integers: no table to trust, 10 kB, some 50 us on
// first use. Doubles and floats share all of it; only their intervals differ.
//
// Style: 0.1, 3, -0, 1e-5, 1.5e300; an exponent below 1e-4 and from 1e16 on. Obeys no locale.
#include "io/io.h"

#include <pthread.h>
#include <string.h>

// ---- Powers of ten ------------------------------------------------------------------------------

enum { POWER_MIN = -292, POWER_MAX = 324, LIMBS = 27 }; // 27 * 32 bits hold 2^832 and 5^324

struct power {
    uint64_t high, low;
};

static struct power powers[POWER_MAX - POWER_MIN + 1]; // set once, before its first use
static pthread_once_t powers_once = PTHREAD_ONCE_INIT;

// The 128 leading bits of a long integer, plus 1 when the power they stand for is not exact.
static struct power leading_bits(const uint32_t *limb, bool inexact) {
    int top = LIMBS - 1;
    while (limb[top] == 0)
        top--;
    unsigned __int128 bits = 0;
    for (int i = top; i > top - 4; i--)
        bits = bits << 32 | (i >= 0 ? limb[i] : 0);
    int shift = __builtin_clz(limb[top]);
    uint32_t next = top >= 4 ? limb[top - 4] : 0;
    if (shift)
        bits = bits << shift | next >> (32 - shift);
    bits += inexact;
    return (struct power){(uint64_t)(bits >> 64), (uint64_t)bits};
}

// 10^k and 5^k have the same leading bits; 5^-k is a quotient of 2^832 cut off at each division,
// which is the same as cut off once. 5^55 is the last that fits in 128 bits.
static void compute_powers(void) {
    uint32_t limb[LIMBS] = {1};
    for (int k = 0; k <= POWER_MAX; k++) {
        powers[k - POWER_MIN] = leading_bits(limb, k > 55);
        uint64_t carry = 0;
        for (int i = 0; i < LIMBS; i++) {
            carry += (uint64_t)limb[i] * 5;
            limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    memset(limb, 0, sizeof limb);
    limb[LIMBS - 1] = 1;
    for (int k = -1; k >= POWER_MIN; k--) {
        uint64_t rest = 0;
        for (int i = LIMBS - 1; i >= 0; i--) {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t)(rest / 5);
            rest %= 5;
        }
        powers[k - POWER_MIN] = leading_bits(limb, true);
    }
}

// ---- Shortest decimal ---------------------------------------------------------------------------

struct decimal { // digits * 10^exponent
    uint64_t digits;
    int exponent;
};

// floor(x * 2^-s) of negative numbers too
static int shift_down(int x, int s) { return x >> s; }

// g * x / 2^128; the last bit also stands for all that was cut off.
static uint64_t scale(struct power g, uint64_t x) {
    unsigned __int128 low = (unsigned __int128)g.low * x;
    unsigned __int128 high = (unsigned __int128)g.high * x + (uint64_t)(low >> 64);
    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

// The number is c * 2^q; `narrow` when its neighbour below is only half as far as the one above.
static struct decimal shortest(uint64_t c, int q, bool narrow) {
    // 1262611 / 2^22 is log10(2), 524031 / 2^22 is log10(4/3), 1741647 / 2^19 is log2(10)
    int k = shift_down(q * 1262611 - (narrow ? 524031 : 0), 22);
    int h = q + shift_down(-k * 1741647, 19) + 1;
    struct power g = powers[-k - POWER_MIN];
    uint64_t below = scale(g, (4 * c - (narrow ? 1 : 2)) << h);
    uint64_t value = scale(g, (4 * c) << h);
    uint64_t above = scale(g, (4 * c + 2) << h);
    if (c & 1) { // halves round to even: the ends belong to the neighbours
        below++;
        above--;
    }
    uint64_t s = value / 4, tens = s / 10;
    if (s >= 10) { // one digit less?
        bool down = below <= 40 * tens, up = 40 * tens + 40 <= above;
        if (down != up)
            return (struct decimal){tens + up, k + 1};
    }
    bool down = below <= 4 * s, up = 4 * s + 4 <= above;
    if (down != up)
        return (struct decimal){s + up, k};
    uint64_t middle = 4 * s + 2;
    return (struct decimal){s + (value > middle || (value == middle && (s & 1))), k};
}

// ---- Text ---------------------------------------------------------------------------------------

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343"
    "5363738394041424344454647484950515253545556575859606162636465666768697"
    "07172737475767778798081828384858687888990919293949596979899";

static uint32_t digits_of(uint64_t n) {
    static const uint64_t tens[] = {0,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    uint32_t bits = 64 - (uint32_t)__builtin_clzll(n | 1);
    uint32_t guess = bits * 1233 >> 12; // 1233 / 2^12 is log10(2)
    return guess + (n >= tens[guess]);
}

// Four digits; in two steps that do not wait for each other.
static inline void put4(char *at, uint32_t n) {
    memcpy(at, pairs + 2 * (n / 100), 2);
    memcpy(at + 2, pairs + 2 * (n % 100), 2);
}

uint32_t io_format_uint(uint64_t n, char *out) {
    uint32_t count = digits_of(n);
    char *at = out + count;
    while (n >= 100000000) {
        uint32_t low = (uint32_t)(n % 100000000);
        n /= 100000000;
        at -= 8;
        put4(at, low / 10000);
        put4(at + 4, low % 10000);
    }
    uint32_t rest = (uint32_t)n;
    for (; rest >= 100; rest /= 100) {
        at -= 2;
        memcpy(at, pairs + 2 * (rest % 100), 2);
    }
    if (rest >= 10)
        memcpy(at - 2, pairs + 2 * rest, 2);
    else
        at[-1] = (char)('0' + rest);
    return count;
}

static uint32_t put_exponent(int exponent, char *out) {
    uint32_t n = 0;
    out[n++] = 'e';
    if (exponent < 0)
        out[n++] = '-';
    return n + io_format_uint((uint64_t)(exponent < 0 ? -exponent : exponent), out + n);
}

static uint32_t put_decimal(struct decimal d, char *out) {
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    char digits[20];
    int count = (int)io_format_uint(d.digits, digits);
    int point = count + d.exponent; // the number is 0.digits * 10^point
    if (point > 16 || point < -3) {
        uint32_t n = 1;
        out[0] = digits[0];
        if (count > 1) {
            out[n++] = '.';
            memcpy(out + n, digits + 1, (size_t)count - 1);
            n += (uint32_t)count - 1;
        }
        return n + put_exponent(point - 1, out + n);
    }
    if (point <= 0) {
        memcpy(out, "0.000", 5);
        memcpy(out + 2 - point, digits, (size_t)count);
        return (uint32_t)(2 - point + count);
    }
    if (point >= count) {
        memcpy(out, digits, (size_t)count);
        memset(out + count, '0', (size_t)(point - count));
        return (uint32_t)point;
    }
    memcpy(out, digits, (size_t)point);
    out[point] = '.';
    memcpy(out + point + 1, digits + point, (size_t)(count - point));
    return (uint32_t)count + 1;
}

// sign, fraction and exponent fields of a binary format with `width` bits of fraction
static uint32_t put_binary(bool negative, uint64_t fraction, int field, int width, int field_max,
                           char *out) {
    uint32_t n = 0;
    if (field == field_max && fraction) {
        memcpy(out, "nan", 3);
        return 3;
    }
    if (negative)
        out[n++] = '-';
    if (field == field_max) {
        memcpy(out + n, "inf", 3);
        return n + 3;
    }
    uint64_t c = field ? fraction | 1ull << width : fraction;
    int q = (field ? field : 1) - field_max / 2 - width;
    if (c == 0) {
        out[n] = '0';
        return n + 1;
    }
    if (q <= 0 && q > -64 && (c & ((1ull << -q) - 1)) == 0) // an integer below 2^(width + 1)
        return n + io_format_uint(c >> -q, out + n);
    pthread_once(&powers_once, compute_powers);
    return n + put_decimal(shortest(c, q, fraction == 0 && field > 1), out + n);
}

uint32_t io_format_double(double value, char *out) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_binary(bits >> 63, bits & ((1ull << 52) - 1), (int)(bits >> 52 & 0x7ff), 52, 0x7ff,
                      out);
}

uint32_t io_format_float(float value, char *out) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_binary(bits >> 31, bits & ((1u << 23) - 1), (int)(bits >> 23 & 0xff), 23, 0xff, out);
}
