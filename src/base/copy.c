// SPDX-License-Identifier: MIT
// Copies by stores that pass the caches, where the CPU has them. See copy.h.
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { LINE = 64, PARTS = LINE / sizeof(__m128i) };

static void copy_lines(char *to, const char *from, size_t lines) {
    for (size_t i = 0; i < lines; i++, to += LINE, from += LINE) {
        __m128i part[PARTS];
        for (int k = 0; k < (int)PARTS; k++)
            part[k] = _mm_loadu_si128((const __m128i *)(const void *)from + k);
        for (int k = 0; k < (int)PARTS; k++)
            _mm_stream_si128((__m128i *)(void *)to + k, part[k]);
    }
    _mm_sfence(); // whoever is told that it is done finds it
}

void copy_around(void *to, const void *from, size_t bytes) {
    size_t first = (LINE - (uintptr_t)to % LINE) % LINE;
    first = first < bytes ? first : bytes;
    size_t lines = (bytes - first) / LINE, done = first + lines * LINE;
    memcpy(to, from, first);
    copy_lines((char *)to + first, (const char *)from + first, lines);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}
#else
void copy_around(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
#endif
