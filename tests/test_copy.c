// SPDX-License-Identifier: MIT
// Copies around the caches, of all lengths and places within a line.
#include "check.h"

#include "base/copy.h"

#include <string.h>

TEST(copy_around_of_any_place_and_length) {
    enum { ROOM = 512, MOST = 300, MARK = 0xee };
    unsigned char from[ROOM], to[ROOM];
    for (int i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    for (int at = 0; at < 70; at++)
        for (int source = 0; source < 70; source += 23)
            for (size_t bytes = 0; bytes <= MOST; bytes += bytes < 140 ? 1 : 37) {
                memset(to, MARK, sizeof to);
                copy_around(to + at, from + source, bytes);
                bool good = !memcmp(to + at, from + source, bytes);
                for (size_t i = 0; i < ROOM; i++)
                    if (i < (size_t)at || i >= (size_t)at + bytes)
                        good = good && to[i] == MARK;
                CHECK_MSG(good, "%zu bytes from %d to %d", bytes, source, at);
            }
}
