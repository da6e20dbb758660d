// SPDX-License-Identifier: MIT
// Compares words by the rules of ASCII, and prints in the C locale.
#include "base/ascii.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

bool ascii_same_prefix(const char *a, const char *b, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (ascii_lower(a[i]) != ascii_lower(b[i]))
            return false;
        if (!a[i])
            return true;
    }
    return true;
}

bool ascii_same(const char *a, const char *b) { return ascii_same_prefix(a, b, SIZE_MAX); }

int ascii_vprintf(char *text, size_t room, const char *format, va_list args) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old = (locale_t)0;
    if (c)
        old = uselocale(c);
    int length = vsnprintf(text, room, format, args);
    if (c) {
        uselocale(old);
        freelocale(c);
    }
    return length;
}
