// SPDX-License-Identifier: MIT
// Characters and words by the rules of ASCII, whatever locale the program has set.
//
// A model means the same everywhere: the C library's isalpha, tolower and strcasecmp would ask the
// locale (Turkish has another small letter for I), and its printf the decimal comma.
#ifndef SHOAL_BASE_ASCII_H
#define SHOAL_BASE_ASCII_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool ascii_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool ascii_word(char c) { return ascii_letter(c) || ascii_digit(c) || c == '_'; }
static inline bool ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline char ascii_lower(char c) {
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}
static inline char ascii_upper(char c) {
    return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}

// Whether the first `length` bytes are the same ignoring case, or end the same before that.
bool ascii_same_prefix(const char *a, const char *b, size_t length);
bool ascii_same(const char *a, const char *b);

// vsnprintf with a decimal point.
int ascii_vprintf(char *text, size_t room, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
