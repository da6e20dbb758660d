// SPDX-License-Identifier: MIT
// What the generated function grid_body is given, and its loops over cells. Given: IN_T and OUT_T,
// the types of cells.
struct grid_row {
    const GLOBAL char *from; // block that has the cells of all inputs
    const GLOBAL IN_T *in;
    GLOBAL OUT_T *out;
    GLOBAL int *shape;            // of the result
    GLOBAL unsigned char *status; // three bytes
    GLOBAL int *store;            // workspace
    int height, width;
    int around;      // cells of other grids before and behind it, at least
    int first, team; // cells that this thread makes
#if THREADS
    LOCAL int *words; // GRID_WORDS of a block,
    LOCAL int *cells; // and room for a grid, twice
    int folds;        // that there were
#else
    struct lines *lines; // of vector.h, as are these
    const struct turns *turns;
#endif
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

// The input's place and shape; `alike`: there are no shapes, as a caller knows.
INLINE void grid_find(const struct grid_args *a, const GLOBAL char *read, u32 number,
                      const int alike, struct grid_row *g) {
    const u64 each = (u64)a->height * (u64)a->width, all = a->grids * each;
    u64 at = number * each;
    u64 behind = all - at - each, around = at < behind ? at : behind;
    g->height = a->height;
    g->width = a->width;
    g->around = around < 1u << 20 ? (int)around : 1 << 20;
    if (!alike && a->shapes != SHOAL_NOWHERE) {
        const GLOBAL int *shape = (const GLOBAL int *)(read + a->shapes) + 2 * (u64)number;
        g->around = 0;
        g->height = shape[0];
        g->width = shape[1];
        at = ((const GLOBAL u64 *)(read + a->offsets))[number];
    }
    g->in = (const GLOBAL IN_T *)(g->from + a->cells) + at;
}

INLINE void grid_find_result(const struct grid_args *a, const GLOBAL char *read,
                             GLOBAL char *written, u32 number, struct grid_row *g) {
    u64 at = (u64)number * (u64)a->out_height * (u64)a->out_width;
    if (a->places != SHOAL_NOWHERE)
        at = ((const GLOBAL u64 *)(read + a->places))[number];
    g->out = (GLOBAL OUT_T *)(written + a->out) + at;
    g->shape = (GLOBAL int *)(written + a->out_shapes) + 2 * (u64)number;
    g->status = (GLOBAL unsigned char *)(written + a->status) + 3 * (u64)number;
}
