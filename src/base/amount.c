// SPDX-License-Identifier: MIT
#include "base/amount.h"

#include <string.h>

// digits * 10^exponent
struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool exact; // false: it has more digits than fit
};

enum { EXPONENT_MOST = 100000 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Zeros are held back until another digit follows, so that 1.500000000000000000000 fits.
static bool push_digit(struct decimal *d, uint32_t digit, uint64_t *zeros) {
    if (digit == 0) {
        ++*zeros;
        return true;
    }
    for (uint64_t i = 0; i <= *zeros && d->digits; i++)
        if (__builtin_mul_overflow(d->digits, 10u, &d->digits))
            return false;
    *zeros = 0;
    return !__builtin_add_overflow(d->digits, digit, &d->digits);
}

static const char *read_exponent(const char *p, struct decimal *d) {
    int64_t value = 0;
    if (*p != 'e' && *p != 'E')
        return p;
    const char *digits = p + 1 + (p[1] == '+' || p[1] == '-');
    if (!is_digit(*digits))
        return p;
    for (const char *q = digits; is_digit(*q); q++)
        value = value < EXPONENT_MOST ? value * 10 + (*q - '0') : value;
    d->exponent += p[1] == '-' ? -value : value;
    return digits + strspn(digits, "0123456789");
}

// Where the number ends; `text` itself when there is none.
static const char *read_decimal(const char *text, struct decimal *d) {
    const char *p = text;
    uint64_t zeros = 0;
    bool any = false, point = false;
    *d = (struct decimal){.exact = true};
    for (; is_digit(*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        d->exact = d->exact && push_digit(d, (uint32_t)(*p - '0'), &zeros);
        d->exponent -= point;
    }
    if (!any)
        return text;
    d->exponent += (int64_t)zeros;
    return read_exponent(p, d);
}

// "", k, K, Ki, and for bytes B behind them; 0 when it is none of these.
static uint64_t read_letters(const char *p, bool bytes) {
    static const char letters[] = "KMGT";
    char c = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
    const char *letter = c ? strchr(letters, c) : NULL;
    uint64_t scale = 1, base = bytes || (letter && p[1] == 'i') ? 1024 : 1000;
    for (long i = letter ? letter - letters : -1; i >= 0; i--)
        scale *= base;
    p += letter != NULL;
    p += letter && *p == 'i';
    p += bytes && (*p == 'B' || *p == 'b');
    return *p ? 0 : scale;
}

// The product, where it is a whole number that fits; with `floor`, without its fraction.
static bool multiply(const struct decimal *d, uint64_t scale, bool floor, uint64_t *out) {
    unsigned __int128 value = (unsigned __int128)d->digits * scale;
    bool rest = false;
    for (int64_t e = d->exponent; e > 0 && value; e--) {
        value *= 10;
        if (value > UINT64_MAX)
            return false;
    }
    for (int64_t e = d->exponent; e < 0 && value; e++) {
        rest = rest || value % 10;
        value /= 10;
    }
    *out = (uint64_t)value;
    return value <= UINT64_MAX && (floor || !rest);
}

static bool read_amount(const char *text, bool bytes, uint64_t *out) {
    struct decimal d;
    const char *end = read_decimal(text, &d);
    uint64_t scale = end > text ? read_letters(end, bytes) : 0;
    return scale && d.exact && multiply(&d, scale, bytes && scale > 1, out);
}

bool amount_count(const char *text, uint64_t *out) { return read_amount(text, false, out); }
bool amount_bytes(const char *text, uint64_t *out) { return read_amount(text, true, out); }
