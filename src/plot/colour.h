// SPDX-License-Identifier: MIT
// Colours: maps of equal perceived steps, and lines that colour-blind readers can tell apart.
#ifndef SHOAL_PLOT_COLOUR_H
#define SHOAL_PLOT_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t colour; // 0xrrggbb

// name: anchors are in colour.c
#define COLOUR_MAPS(X)                                                                             \
    X(viridis)                                                                                     \
    X(magma)                                                                                       \
    X(cividis)                                                                                     \
    X(grey)

enum colour_map {
#define X(name) MAP_##name,
    COLOUR_MAPS(X)
#undef X
        COLOUR_MAP_COUNT
};

colour colour_at(enum colour_map map, double at); // 0 to 1; what is outside is at the end
colour colour_mix(colour a, colour b, double share_of_b);

struct theme {
    colour paper, ink, soft, grid; // soft: lines of axes and small text
    colour line[7];
    bool dark;
};
enum { THEME_LINES = 7 };
const struct theme *theme_get(bool dark);

#endif
