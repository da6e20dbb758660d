// SPDX-License-Identifier: MIT
// Text as numbers: decimal, correctly rounded, in no locale.
//
// What is written with up to 19 digits and a small power of ten is exact in two operations on
// doubles; the rest goes to the C library in the "C" locale. Only plain decimals are numbers here:
// no hexadecimal, no words such as nan or inf.
#include "io/io.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale; // set once, before its first use
static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

static void make_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static bool slow_parse(const char *text, size_t length, double *out) {
    char small[64], *copy = length < sizeof small ? small : malloc(length + 1);
    if (!copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    pthread_once(&locale_once, make_locale);
    char *end = copy;
    *out = c_locale ? strtod_l(copy, &end, c_locale) : 0;
    bool all = end == copy + length;
    if (copy != small)
        free(copy);
    return all;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct scan {
    uint64_t digits; // the first 19 significant ones
    int count;       // significant ones, at most 20
    int64_t exponent;
    bool negative;
};

// The grammar: sign, digits with at most one point among them, exponent.
static bool scan(const char *c, const char *end, struct scan *s) {
    *s = (struct scan){.negative = c < end && *c == '-'};
    if (c < end && (*c == '-' || *c == '+'))
        c++;
    bool any = false, point = false;
    for (; c < end && (is_digit(*c) || (*c == '.' && !point)); c++) {
        if (*c == '.') {
            point = true;
            continue;
        }
        any = true;
        s->exponent -= point;
        if (s->count == 0 && *c == '0')
            continue;
        if (s->count < 19)
            s->digits = s->digits * 10 + (uint64_t)(*c - '0');
        s->count += s->count < 20;
    }
    if (!any)
        return false;
    if (c < end && (*c == 'e' || *c == 'E')) {
        c++;
        bool down = c < end && *c == '-';
        if (c < end && (*c == '-' || *c == '+'))
            c++;
        int64_t n = 0;
        if (c == end)
            return false;
        for (; c < end && is_digit(*c); c++)
            n = n < 1000000 ? n * 10 + (*c - '0') : n;
        s->exponent += down ? -n : n;
    }
    return c == end;
}

bool io_parse_double(const char *text, size_t length, double *out) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct scan s;
    if (!scan(text, text + length, &s))
        return false;
    if (s.count > 19 || s.digits > 1ull << 53 || s.exponent > 22 || s.exponent < -22)
        return slow_parse(text, length, out);
    double x = (double)s.digits;
    x = s.exponent < 0 ? x / tens[-s.exponent] : x * tens[s.exponent];
    *out = s.negative ? -x : x;
    return true;
}
