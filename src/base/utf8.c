// SPDX-License-Identifier: MIT
// Reads and writes code points; what is no UTF-8 becomes a replacement character.
#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd, NONE = 0xffffffff };

static bool is_point(uint32_t point) {
    return point <= 0x10ffff && (point < 0xd800 || point >= 0xe000);
}

static uint32_t decode(const unsigned char *s, size_t length, size_t *at) {
    unsigned char first = s[(*at)++];
    if (first < 0x80)
        return first;
    int more = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
    if (more == 0 || first >= 0xf5 || *at + (size_t)more > length)
        return NONE;
    uint32_t point = first & (0x3f >> more);
    for (int i = 0; i < more; i++) {
        if ((s[*at + (size_t)i] & 0xc0) != 0x80)
            return NONE;
        point = point << 6 | (s[*at + (size_t)i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || !is_point(point))
        return NONE;
    *at += (size_t)more;
    return point;
}

uint32_t utf8_decode(const char *text, size_t length, size_t *at) {
    uint32_t point = decode((const unsigned char *)text, length, at);
    return point == NONE ? REPLACEMENT : point;
}

bool utf8_next(const char *text, size_t length, size_t *at) {
    return decode((const unsigned char *)text, length, at) != NONE;
}

size_t utf8_encode(uint32_t point, char out[4]) {
    uint32_t c = is_point(point) ? point : REPLACEMENT;
    if (c < 0x80)
        return out[0] = (char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> n) | c);
    return n;
}
