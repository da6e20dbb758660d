// SPDX-License-Identifier: MIT
// The function that the host calls: grids one after the other, each by grid_body, which is
// generated and stands before. Given: SLOTS and PLANES, what a workspace has; FLAT, whether grids
// of one shape may be one grid; TURNS, the planes of turns_begin; BLOCKS, whether the threads of a
// device that work on a grid are a block. Several pipelines in one text
// have each their own; then these names are macros.
INLINE void grid_one(const struct grid_args *a, const GLOBAL char *read, GLOBAL char *written,
                     const volatile GLOBAL int *stop, struct grid_row g, u32 row,
                     const int windows) {
#if THREADS
    u32 number = row / a->team;
    g.first = (int)(row % a->team);
    g.team = (int)a->team;
#else
    u32 number = row;
    g.first = 0;
#endif
    grid_find(a, read, number, windows > 0, &g);
    grid_find_result(a, read, written, number, &g);
    int status = GRID_STATUS_OK;
    if (!windows && (g.height < 1 || g.width < 1))
        status = GRID_STATUS_EMPTY;
    else if (!windows && (g.height > GRID_SIDE_MOST || g.width > GRID_SIDE_MOST))
        status = GRID_STATUS_SIZE;
    else
        status = grid_body(a, g, stop, windows);
    if (g.first == 0 && !stop_asked(stop))
        g.status[0] = (unsigned char)(status + 1);
}

#if THREADS && BLOCKS
// The row of the next grid, the same for all threads of the block. A row that is none ends it.
INLINE u32 block_take(const struct grid_args *a, const struct grid_row *g, GLOBAL u32 *next,
                      const volatile GLOBAL int *stop) {
    if (g->first == 0)
        g->words[GRID_NOTE] = (int)(stop_asked(stop) ? a->head.rows : work_take(next, a->team));
    block_barrier();
    u32 row = (u32)g->words[GRID_NOTE];
    block_barrier();
    return row;
}

KERNEL void shoal_grid(struct grid_args a, const GLOBAL char *read, GLOBAL char *written,
                       const GLOBAL char *resident, GLOBAL u32 *next,
                       const volatile GLOBAL int *stop,
                       GLOBAL char *workspace SHARED_PARAMETER(shared)) {
    SHARED_MEMORY(shared);
    struct grid_row g;
    u32 row = thread_number(), own = row % a.team;
    g.from = a.resident ? resident : read;
    g.store = (GLOBAL int *)(workspace + (row - own) * a.workspace);
    g.words = (LOCAL int *)shared;
    g.cells = g.words + GRID_WORDS;
    g.first = (int)own;
    g.folds = 0;
    if (!a.head.refill) {
        grid_one(&a, read, written, stop, g, row, 0);
        return;
    }
    while ((row = block_take(&a, &g, next, stop)) < a.head.rows)
        grid_one(&a, read, written, stop, g, row + own, 0);
}
#elif THREADS
KERNEL void shoal_grid(struct grid_args a, const GLOBAL char *read, GLOBAL char *written,
                       const GLOBAL char *resident, GLOBAL u32 *next,
                       const volatile GLOBAL int *stop, GLOBAL char *workspace) {
    struct grid_row g;
    g.from = a.resident ? resident : read;
    g.store = (GLOBAL int *)(workspace + (a.workspace ? thread_number() * a.workspace : 0));
    u32 row = a.head.refill ? work_take_one(next, 1) : thread_number();
    while (row < a.head.rows) {
        grid_one(&a, read, written, stop, g, row, 0);
        if (!a.head.refill || stop_asked(stop))
            return;
        row = work_take_one(next, 1);
    }
}
#else
#if FLAT
// Grids of one shape as one with one row. 0: one of them is marked, and each has to be looked at.
INLINE int grid_run(const struct grid_args *a, const char *read, char *written,
                    const volatile int *stop, struct grid_row g, u32 first, u32 end) {
    const u64 all = (end - first) * (u64)a->height * (u64)a->width;
    int shape[2];
    unsigned char marks[3] = {0};
    if (a->shapes != SHOAL_NOWHERE || a->places != SHOAL_NOWHERE || a->shapes_only ||
        a->height < 1 || a->width < 1 || a->height > GRID_SIDE_MOST || a->width > GRID_SIDE_MOST ||
        all > 1 << 30)
        return 0;
    grid_find(a, read, first, 1, &g);
    grid_find_result(a, read, written, first, &g);
    int *shapes = g.shape;
    unsigned char *status = g.status;
    g.shape = shape;
    g.status = marks;
    g.height = 1;
    g.width = (int)all;
    g.first = g.around = 0;
    if (grid_body(a, g, stop, 0) != GRID_STATUS_OK || marks[2])
        return 0;
    for (u32 i = 0; i < end - first; i++) {
        shapes[2 * (u64)i] = a->height;
        shapes[2 * (u64)i + 1] = a->width;
        status[3 * (u64)i] = GRID_STATUS_OK + 1;
    }
    return 1;
}
#else
#define grid_run(a, read, written, stop, g, first, end) 0
#endif

// All that this worker takes; `windows`: of turns_begin.
INLINE void grid_all(const struct grid_args *a, const char *read, char *written, u32 *next,
                     const volatile int *stop, struct grid_row g, const int windows) {
#if TURNS && IN_BYTES == 1 && BITS
    const struct turns turns = turns_of(g.lines, windows ? TURNS : 0, windows);
    g.turns = &turns;
#endif
    for (u32 row; (row = work_take(next, a->head.block)) < a->head.rows && !stop_asked(stop);) {
        u32 first = row * a->group, end = (row + a->head.block) * a->group;
        end = end < a->grids ? end : a->grids;
        if (!grid_run(a, read, written, stop, g, first, end))
            for (u32 i = first; i < end; i++)
                grid_one(a, read, written, stop, g, i, windows);
    }
}

KERNEL void shoal_grid(const struct grid_args *args, const char *read, char *written,
                       const char *resident, u32 *next, const volatile int *stop, char *workspace) {
    const struct grid_args own = *args, *const a = &own; // which nothing that is written can change
    struct grid_row g;
    g.from = read;
    g.store = (int *)workspace;
#if PLANES
    struct lines lines;
    lines_begin(&lines);
    g.lines = &lines;
#endif
#if TURNS && IN_BYTES == 1 && BITS
    switch (turns_begin(&lines, a, TURNS)) {
#define GRID_ALL(n)                                                                                \
    case n:                                                                                        \
        grid_all(a, read, written, next, stop, g, n);                                              \
        return;
        WINDOW_COUNTS(GRID_ALL)
    }
#endif
    grid_all(a, read, written, next, stop, g, 0);
}
KERNEL u64 shoal_grid_workspace(void) { return ((u64)SLOTS << 22) + (u64)PLANES * (5 << 20); }
#endif
