// SPDX-License-Identifier: MIT
// What the generated function grid_body is given, and its loops over cells. Given: IN_T and OUT_T,
// the types of cells.
struct grid_row {
    const GLOBAL IN_T *in;
    GLOBAL OUT_T *out;
    GLOBAL int *shape;            // of the result
    GLOBAL unsigned char *status; // three bytes
    GLOBAL int *store;            // workspace
    int height, width;
    int first, team; // cells that this thread makes
};

#if THREADS
#define EACH_CELL_OF_TEAM(h, w)                                                                    \
    for (int i = g.first; i < (h) * (w); i += g.team)                                              \
        for (int r0 = i / (w), c0 = i - r0 * (w), once = 1; once; once = 0)
#else
#define EACH_CELL_OF_TEAM(h, w) EACH_CELL(h, w)
#endif
#define EACH_CELL(h, w)                                                                            \
    for (int r0 = 0; r0 < (h); r0++)                                                               \
        for (int c0 = 0; c0 < (w); c0++)
