// SPDX-License-Identifier: MIT
// One scan finds where a number ends and what its digits are. Where these are not too many and the
// power of ten is small, one operation on doubles or on integers of 128 bits rounds once; the rest
// goes to the C library, as digits and an exponent, in the locale "C".
#include "base/number.h"

#include "base/ascii.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXPONENT_MOST = 1000000000, // of what is written: larger ones are as good
    DIGITS_MOST = 800,          // no more than 768 decide how a double is rounded
    PLAIN_DIGITS = 19           // that fit 64 bits, whatever they are
};

struct cursor {
    const char *at, *end;
};

static char peek(const struct cursor *c, size_t ahead) {
    return (size_t)(c->end - c->at) > ahead ? c->at[ahead] : 0;
}

static bool digit_at(const struct cursor *c, size_t ahead) { return ascii_digit(peek(c, ahead)); }

// ---- Scanning -----------------------------------------------------------------------------------

// The digits that are looked at, and the zeros among them that are held back: they count once
// another digit follows, so that 1.500000000000000000000 fits.
struct scan {
    struct decimal *out;
    uint64_t zeros;
    uint32_t kept; // digits behind the first that is not 0, at most PLAIN_DIGITS
};

static bool push_digit(struct scan *s, uint32_t digit) {
    struct decimal *d = s->out;
    if (digit == 0) {
        s->zeros++;
        return true;
    }
    for (uint64_t i = 0; i <= s->zeros; i++)
        if (__builtin_mul_overflow(d->digits, 10u, &d->digits))
            return false;
    s->zeros = 0;
    return !__builtin_add_overflow(d->digits, digit, &d->digits);
}

// How many digits there are from here on; they move into the number.
static size_t scan_digits(struct cursor *c, struct scan *s) {
    const char *first = c->at, *at = first, *end = c->end;
    struct decimal *d = s->out;
    for (; at < end && ascii_digit(*at) && s->kept < PLAIN_DIGITS; at++) {
        d->digits = d->digits * 10 + (uint64_t)(*at - '0');
        s->kept += d->digits != 0;
    }
    for (; at < end && ascii_digit(*at); at++)
        d->exact = d->exact && push_digit(s, (uint32_t)(*at - '0'));
    c->at = at;
    return (size_t)(at - first);
}

static bool takes_point(const struct cursor *c, unsigned how) {
    if (peek(c, 0) != '.')
        return false;
    if (how & NUMBER_JSON)
        return digit_at(c, 1);
    return !(how & NUMBER_BEFORE_DOTS) || peek(c, 1) != '.';
}

static void scan_exponent(struct cursor *c, struct decimal *d) {
    char sign = peek(c, 1);
    size_t skip = sign == '+' || sign == '-' ? 2 : 1;
    if ((peek(c, 0) != 'e' && peek(c, 0) != 'E') || !digit_at(c, skip))
        return;
    int64_t value = 0;
    for (c->at += skip; digit_at(c, 0); c->at++)
        value = value < EXPONENT_MOST ? value * 10 + (*c->at - '0') : value;
    d->exponent += sign == '-' ? -value : value;
}

size_t number_scan(const char *text, size_t length, unsigned how, struct decimal *out) {
    struct cursor c = {text, text + length};
    struct scan s = {.out = out};
    *out = (struct decimal){.exact = true};
    if (how & (NUMBER_SIGNED | NUMBER_JSON)) {
        out->minus = peek(&c, 0) == '-';
        c.at += out->minus || (!(how & NUMBER_JSON) && peek(&c, 0) == '+');
    }
    size_t digits = 0;
    if ((how & NUMBER_JSON) && peek(&c, 0) == '0')
        digits = 1, c.at++;
    else
        digits = scan_digits(&c, &s);
    if ((digits || !(how & NUMBER_JSON)) && takes_point(&c, how)) {
        c.at++;
        size_t behind = scan_digits(&c, &s);
        out->exponent -= (int64_t)behind;
        digits += behind;
    }
    if (!digits)
        return 0;
    if (out->exact)
        out->exponent += (int64_t)s.zeros;
    scan_exponent(&c, out);
    return (size_t)(c.at - text);
}

// ---- Rounding -----------------------------------------------------------------------------------

// Digits that fit 53 bits, times or divided by a power of ten that is exact: one correct rounding.
static bool exact_value(const struct decimal *d, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!d->exact || d->digits > (uint64_t)1 << 53 || d->exponent < -22 || d->exponent > 22)
        return false;
    double digits = (double)d->digits;
    *value = d->exponent < 0 ? digits / powers[-d->exponent] : digits * powers[d->exponent];
    return true;
}

// Digits that fit 64 bits but not 53, in 128 bits. Of a quotient at least 57 are there, the last of
// which stands for all that follow, so that the conversion rounds once.
static bool wide_value(const struct decimal *d, double *value) {
    if (!d->exact || d->digits <= (uint64_t)1 << 53 || d->exponent < -18 || d->exponent > 18)
        return false;
    uint64_t power = 1;
    for (int64_t e = d->exponent < 0 ? -d->exponent : d->exponent; e > 0; e--)
        power *= 10;
    unsigned __int128 wide = d->digits;
    if (d->exponent >= 0) {
        *value = (double)(wide * power);
        return true;
    }
    wide <<= 64;
    unsigned __int128 quotient = wide / power;
    quotient |= quotient * power != wide;
    *value = (double)quotient * 0x1p-64;
    return true;
}

// The digits as a whole number: at most DIGITS_MOST of them, then a 1 where one that is left out is
// not 0. Returns how many places it lacks.
static int64_t copy_digits(const char *at, const char *end, char *out, size_t *length) {
    int64_t lacking = 0;
    bool more = false;
    *length = 0;
    for (; at < end && (ascii_digit(*at) || *at == '.'); at++) {
        if (*at == '.' || (*at == '0' && *length == 0))
            continue;
        if (*length < DIGITS_MOST) {
            out[(*length)++] = *at;
            continue;
        }
        more = more || *at != '0';
        lacking++;
    }
    if (more)
        out[(*length)++] = '1';
    return lacking - more;
}

// In decimal; returns the length.
static size_t put_whole(uint64_t value, char *out) {
    char reversed[20];
    size_t n = 0;
    do
        reversed[n++] = (char)('0' + value % 10);
    while (value /= 10);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

static locale_t c_locale; // set once, before its first use
static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

static void make_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static bool long_value(const char *text, size_t length, const struct decimal *d, double *value) {
    char digits[DIGITS_MOST + 32];
    size_t n = 0;
    int64_t exponent = d->exponent;
    if (d->exact)
        n = put_whole(d->digits, digits);
    else
        exponent +=
            copy_digits(text + !(ascii_digit(*text) || *text == '.'), text + length, digits, &n);
    digits[n++] = 'e';
    if (exponent < 0)
        digits[n++] = '-';
    n += put_whole((uint64_t)(exponent < 0 ? -exponent : exponent), digits + n);
    digits[n] = 0;
    pthread_once(&locale_once, make_locale);
    if (c_locale)
        *value = strtod_l(digits, NULL, c_locale);
    return c_locale != (locale_t)0;
}

size_t number_read(const char *text, size_t length, unsigned how, double *out) {
    struct decimal d;
    size_t n = number_scan(text, length, how, &d);
    if (!n || !(exact_value(&d, out) || wide_value(&d, out) || long_value(text, n, &d, out)))
        return 0;
    *out = d.minus ? -*out : *out;
    return n;
}

bool number_all(const char *text, size_t length, unsigned how, double *out) {
    return length && number_read(text, length, how, out) == length;
}

bool number_finite(const char *text, double *out) {
    return number_all(text, strlen(text), NUMBER_SIGNED, out) && isfinite(*out);
}
