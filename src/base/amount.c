// SPDX-License-Identifier: MIT
// Reads amounts: digits, a decimal exponent and a letter, put together without rounding.
#include "base/amount.h"

#include "base/number.h"

#include <string.h>

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
    size_t length = number_scan(text, strlen(text), NUMBER_PLAIN, &d);
    uint64_t scale = length ? read_letters(text + length, bytes) : 0;
    return scale && d.exact && multiply(&d, scale, bytes && scale > 1, out);
}

bool amount_count(const char *text, uint64_t *out) { return read_amount(text, false, out); }
bool amount_bytes(const char *text, uint64_t *out) { return read_amount(text, true, out); }
