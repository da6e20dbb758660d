// SPDX-License-Identifier: MIT
// Decimal numbers out of text: the one parser for models, options, tables, amounts and JSON.
//
// A number is digits with at most one point among them and perhaps an exponent; there are no
// hexadecimals and no words such as inf and nan. It is rounded correctly, obeys no locale, takes no
// memory, and never looks at or beyond the end of the text.
#ifndef SHOAL_BASE_NUMBER_H
#define SHOAL_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NUMBER_PLAIN = 0,
    NUMBER_SIGNED = 1,      // + or - may stand in front
    NUMBER_BEFORE_DOTS = 2, // a point that another follows is no part of it: 1..3 begins with 1
    NUMBER_JSON = 4, // as JSON has it: only - in front, no 01, a digit on each side of a point
};

// digits * 10^exponent, with `minus` its negative
struct decimal {
    uint64_t digits; // of very many without zeros at the end
    int64_t exponent;
    bool exact; // false: it has more digits than fit, and `exponent` is that of the last one
    bool minus;
};

// Bytes of the number that the text begins with, 0: it begins with none. An `e` that no digits
// follow is not part of it. number_read gives infinity for what is too large.
size_t number_scan(const char *text, size_t length, unsigned how, struct decimal *out);
size_t number_read(const char *text, size_t length, unsigned how, double *out);
// The whole text is a number.
bool number_all(const char *text, size_t length, unsigned how, double *out);
// The whole text is a number with or without a sign, and not too large.
bool number_finite(const char *text, double *out);

#endif
