// SPDX-License-Identifier: MIT
// UTF-8: one code point at a time.
#ifndef SHOAL_BASE_UTF8_H
#define SHOAL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The code point at *at, and *at moves past it; U+FFFD for a byte that starts none.
uint32_t utf8_decode(const char *text, size_t length, size_t *at);
// The same; false for a byte that starts none.
bool utf8_next(const char *text, size_t length, size_t *at);
// The bytes written; U+FFFD for what is no code point.
size_t utf8_encode(uint32_t point, char out[4]);

#endif
