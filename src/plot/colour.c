// SPDX-License-Identifier: MIT
// See colour.h. Maps are ten colours each, and straight lines between them: viridis and magma (van
// der Walt and Smith), cividis (Nuñez, Anderton, Renslow), and greys. Lines have the colours of
// Okabe and Ito.
#include "plot/colour.h"

enum { ANCHORS = 10 };

static const colour maps[COLOUR_MAP_COUNT][ANCHORS] = {
    [MAP_viridis] = {0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58,
                     0xb5de2b, 0xfde725},
    [MAP_magma] = {0x000004, 0x180f3e, 0x451077, 0x721f81, 0x9f2f7f, 0xcd4071, 0xf1605d, 0xfd9567,
                   0xfeca8d, 0xfcfdbf},
    [MAP_cividis] = {0x00204d, 0x00336f, 0x39486b, 0x575d6d, 0x707173, 0x8a8779, 0xa69d75, 0xc4b56c,
                     0xe4cf5b, 0xffea46},
    [MAP_grey] = {0x111111, 0x2a2a2a, 0x444444, 0x5e5e5e, 0x787878, 0x929292, 0xacacac, 0xc6c6c6,
                  0xe0e0e0, 0xf8f8f8},
};

static uint32_t mix_part(colour a, colour b, double share, int shift) {
    double x = (double)(a >> shift & 0xff), y = (double)(b >> shift & 0xff);
    return (uint32_t)(x + (y - x) * share + 0.5) << shift;
}

colour colour_mix(colour a, colour b, double share) {
    share = share > 0 ? share < 1 ? share : 1 : 0;
    return mix_part(a, b, share, 16) | mix_part(a, b, share, 8) | mix_part(a, b, share, 0);
}

colour colour_at(enum colour_map map, double at) {
    double place = (at > 0 ? at < 1 ? at : 1 : 0) * (ANCHORS - 1);
    int low = place < ANCHORS - 1 ? (int)place : ANCHORS - 2;
    return colour_mix(maps[map][low], maps[map][low + 1], place - low);
}

static const struct theme themes[2] = {
    {.paper = 0xffffff,
     .ink = 0x1b1f24,
     .soft = 0x57606a,
     .grid = 0xe4e7eb,
     .line = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x1b1f24}},
    {.paper = 0x0d1117,
     .ink = 0xe6edf3,
     .soft = 0x9aa4af,
     .grid = 0x262c36,
     .line = {0x56b4e9, 0xe69f00, 0x2fc79b, 0xe58fc0, 0xf0e442, 0xff7f50, 0xe6edf3},
     .dark = true},
};

const struct theme *theme_get(bool dark) { return &themes[dark]; }
