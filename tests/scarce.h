// SPDX-License-Identifier: MIT
// For tests of programs whose memory runs out.
#ifndef SHOAL_TESTS_SCARCE_H
#define SHOAL_TESTS_SCARCE_H

// Runs our program with the words behind it, with the n-th allocation denied and with all from
// there on, for n up to `most`: it may fail, not crash, and what it prints when it does not fail is
// `expected` (NULL: anything). Skips the test where the allocator is a sanitizer's.
void scarce_check(const char *const *words, int most, const char *expected);

#endif
