// SPDX-License-Identifier: MIT
// The host calls this function once per worker thread, with the worker's own workspace.

struct workspace {
    struct shoal_args args;
    struct worker worker;
    struct group group[WAYS];
};

// What comes before the loop and after it, apart from the loop.
#if COLD_PART
OUTLINE void worker_begin(struct workspace *space, const struct shoal_call *call, const char *read,
                          char *written, const char *resident, u32 *next,
                          const volatile int *stop) {
    struct worker *k = &space->worker;
    struct shoal_args *args = &space->args;
    args_make(args, call, read, written, resident);
    args->next = next;
    args->stop = stop;
    k->args = args;
    limits_load(&k->limits, args);
    k->clock = 0;
    k->look_at = 0;
    k->idle_ways = 0;
    k->room.count = k->room.used = k->room.row = k->room.row_end = 0;
    for (int w = 0; w < WAYS; w++) {
        space->group[w].active = m_of_lanes(0);
        for (int i = 0; i < TOTAL_COUNT; i++)
            space->group[w].total[i] = 0;
        fill_lanes(k, &space->group[w], ~0u);
    }
}

OUTLINE void worker_end(struct workspace *space) {
    for (int w = 0; w < WAYS; w++)
        for (int i = 0; i < TOTAL_COUNT; i++)
            __atomic_fetch_add(&space->args.totals[i], space->group[w].total[i], __ATOMIC_RELAXED);
}
#else
OUTLINE void worker_begin(struct workspace *space, const struct shoal_call *call, const char *read,
                          char *written, const char *resident, u32 *next, const volatile int *stop);
OUTLINE void worker_end(struct workspace *space);
#endif

#if HOT_PART
KERNEL void shoal_kernel(const struct shoal_call *call, const char *read, char *written,
                         const char *resident, u32 *next, const volatile int *stop,
                         char *workspace);
KERNEL u64 shoal_kernel_workspace(void);

KERNEL void shoal_kernel(const struct shoal_call *call, const char *read, char *written,
                         const char *resident, u32 *next, const volatile int *stop,
                         char *workspace) {
    struct workspace *space = (struct workspace *)workspace;
    worker_begin(space, call, read, written, resident, next, stop);
    run_groups(&space->worker, space->group);
    worker_end(space);
}

KERNEL u64 shoal_kernel_workspace(void) { return sizeof(struct workspace); }
#endif
