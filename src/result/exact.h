// SPDX-License-Identifier: MIT
// Exact sums of numbers and of their squares, so that a mean does not depend on any order.
//
// A sum is a number of fixed point that reaches from the smallest to the largest double (of a
// square: of their squares), in digits of 32 bits with 31 more for carries that wait. Adding never
// rounds; a mean and a standard deviation are rounded once, to the nearest double. Only finite
// numbers are added: who has others counts them apart.
#ifndef SHOAL_RESULT_EXACT_H
#define SHOAL_RESULT_EXACT_H

#include "result/saved.h"

// Bits of the largest sum, and room for 2^63 of them.
enum { EXACT_SUM_DIGITS = 68, EXACT_SQUARE_DIGITS = 134 };

struct exact_sum {
    uint64_t pending;                // numbers since carries were propagated
    int64_t digit[EXACT_SUM_DIGITS]; // the first counts 2^-1074
};

struct exact_squares {
    uint64_t pending;
    int64_t digit[EXACT_SQUARE_DIGITS]; // the first counts 2^-2148
};

// Both begin with zeros.
void exact_add(struct exact_sum *s, const double *values, size_t count);
void exact_add_squares(struct exact_squares *s, const double *values, size_t count);
void exact_join(struct exact_sum *s, const struct exact_sum *other);
void exact_join_squares(struct exact_squares *s, const struct exact_squares *other);

// Sums as bytes and back: false: there are no more bytes, or they are no sum.
void exact_save(const struct exact_sum *s, struct saved_to *to);
void exact_save_squares(const struct exact_squares *s, struct saved_to *to);
bool exact_load(struct exact_sum *s, struct saved_from *from);
bool exact_load_squares(struct exact_squares *s, struct saved_from *from);
// Whether there are so many numbers that have these sums.
bool exact_could_be(const struct exact_sum *s, const struct exact_squares *squares, uint64_t count);

double exact_mean(const struct exact_sum *s, uint64_t count); // count > 0
// The sample standard deviation: squares are divided by count - 1; count > 1.
double exact_std(const struct exact_sum *s, const struct exact_squares *squares, uint64_t count);

#endif
