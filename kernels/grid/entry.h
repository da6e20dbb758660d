// SPDX-License-Identifier: MIT
// The function that the host calls: grids one after the other, each by grid_body, which is
// generated and stands before. Given: SLOTS and PLANES, what a workspace has. Several pipelines in
// one text have each their own; then these names are macros.
INLINE void grid_one(const struct grid_args *a, const GLOBAL char *read, GLOBAL char *written,
                     const volatile GLOBAL int *stop, GLOBAL char *workspace, u32 row) {
    struct grid_row g;
    u32 number = row / a->team;
    g.first = (int)(row % a->team);
    g.team = (int)a->team;
    g.store = (GLOBAL int *)workspace;
    grid_find(a, read, number, &g);
    grid_find_result(a, read, written, number, &g);
    int status = g.height < 1 || g.width < 1                             ? GRID_STATUS_EMPTY
                 : g.height > GRID_SIDE_MOST || g.width > GRID_SIDE_MOST ? GRID_STATUS_SIZE
                                                                         : grid_body(a, g, stop);
    if (g.first == 0 && !stop_asked(stop))
        g.status[0] = (unsigned char)(status + 1);
}

#if THREADS
KERNEL void shoal_grid(struct grid_args a, const GLOBAL char *read, GLOBAL char *written,
                       const GLOBAL char *resident, GLOBAL u32 *next,
                       const volatile GLOBAL int *stop, GLOBAL char *workspace) {
    GLOBAL char *own = workspace + (a.workspace ? thread_number() * a.workspace : 0);
    u32 row = a.head.refill ? work_take_one(next, 1) : thread_number();
    while (row < a.head.rows) {
        grid_one(&a, read, written, stop, own, row);
        if (!a.head.refill || stop_asked(stop))
            return;
        row = work_take_one(next, 1);
    }
}
#else
KERNEL void shoal_grid(const struct grid_args *a, const char *read, char *written,
                       const char *resident, u32 *next, const volatile int *stop, char *workspace) {
    for (u32 row; (row = work_take(next, a->head.block)) < a->head.rows && !stop_asked(stop);)
        for (u32 i = row * a->group; i < (row + a->head.block) * a->group && i < a->grids; i++)
            grid_one(a, read, written, stop, workspace, i);
}
KERNEL u64 shoal_grid_workspace(void) { return ((u64)SLOTS << 22) + (u64)PLANES * (5 << 20); }
#endif
