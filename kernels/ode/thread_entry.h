// SPDX-License-Identifier: MIT
// The kernel of a device: each thread makes its arguments of the blocks, and takes rows.

#if LARGE
// Gives the arrays of a thread their places in its part of the workspace.
INLINE void thread_place(GLOBAL real *at, struct thread *k, struct group *g, struct trial *s,
                         struct point *x) {
    GLOBAL real *stages;
#define X(place, size) place = at, at += size;
    WORKSPACE_ARRAYS(X)
#undef X
    s->k = (GLOBAL real(*)[N])stages;
}
#endif

INLINE void thread_rows(const struct shoal_args *a, GLOBAL char *workspace) {
    struct thread k;
    struct group g;
    struct trial s;
    struct point x;
#if LARGE
    thread_place((GLOBAL real *)workspace + (u64)thread_number() * WORKSPACE, &k, &g, &s, &x);
#elif !UNROLL_STAGES
    real stages[STAGES + EXTRA][N];
    s.k = stages;
#endif
#if IMPLICIT && !LARGE
    real linear[LINEAR];
    s.m = linear;
#endif
#if ALGEBRAIC
    g.m = s.m;
#endif
#if COLLOCATION && !LARGE && !UNROLL_STAGES
    real transformed[2 * STAGES * N];
    s.w = transformed;
    s.g = transformed + STAGES * N;
#endif
    limits_load(&k.limits, a);
    k.look_at = k.wait = k.stop_at = LOOK_EVERY;
    k.stopped = 0;
    for (int i = 0; i < TOTAL_COUNT; i++)
        g.total[i] = 0;
    g.active = 0;
    u32 refill = a->head.refill, first = 1;
    for (;;) {
        int wanted = !g.active && !k.stopped;
        u32 row = a->head.refill ? work_take_one(a->next, wanted) : first ? thread_number() : ~0u;
        int dry = wanted && row >= a->head.rows;
        if (wanted && (first || !dry))
            thread_begin(a, &k, &g, row);
        if (warp_any(dry))
            refill = 0;
        first = 0;
        if (!warp_any(g.active)) {
#if ALGEBRAIC || WATCH_STARTS
            if (a->head.refill && !warp_any(dry || k.stopped))
                continue; // all rows ended where they began
#endif
            break;
        }
        thread_run(a, &k, &g, &s, &x, refill);
    }
    for (int i = 0; i < TOTAL_COUNT; i++)
        total_add(&a->totals[i], g.total[i]);
}

KERNEL void shoal_kernel(struct shoal_call call, const GLOBAL char *read, GLOBAL char *written,
                         const GLOBAL char *resident, GLOBAL u32 *next,
                         const GLOBAL volatile int *stop,
                         GLOBAL char *workspace LONE_PARAMETER(lone)) {
    struct shoal_args a;
    LONE_BEGIN(lone, read)
    args_make(&a, &call, read, written, resident);
    a.next = next;
    a.stop = stop;
    thread_rows(&a, workspace);
    LONE_END(lone)
}
