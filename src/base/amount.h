// SPDX-License-Identifier: MIT
// How many, as people write it: 4096, 1e6, 1.5k, 2G, 64Ki, 800MB.
//
// Of a count the letters are decimal (k is 1000, M a million), of bytes binary (K is 1024), and Ki,
// Mi, Gi, Ti are binary in both. The arithmetic is exact, and nothing obeys the locale.
#ifndef SHOAL_BASE_AMOUNT_H
#define SHOAL_BASE_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

// False when it is no such text, no whole number, or 2^64 and more. A part of a byte is dropped
// where a letter stands behind the number.
bool amount_count(const char *text, uint64_t *out);
bool amount_bytes(const char *text, uint64_t *out);

#endif
