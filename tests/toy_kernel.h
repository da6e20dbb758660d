// SPDX-License-Identifier: MIT
// The kernel of the toy engine (test_engine.c), for all targets and for the host:
// out = a in + table[row of the batch modulo count], and a byte that says that the row is done.
struct toy_args {
    struct shoal_head head;
    double a;
    SHOAL_U64 count;     // of the table
    SHOAL_U64 wait;      // row of the batch that waits for the stop, and so do all behind it
    SHOAL_U64 in;        // of the block that is read
    SHOAL_U64 out, done; // of the one that is written
    SHOAL_U64 table;     // of the resident one
};

// 0: the row waits.
INLINE int toy_row(const struct toy_args *a, const GLOBAL char *read, GLOBAL char *written,
                   const GLOBAL char *resident, const volatile GLOBAL int *stop, u32 row) {
    const GLOBAL double *in = (const GLOBAL double *)(read + a->in);
    const GLOBAL double *table = (const GLOBAL double *)(resident + a->table);
    SHOAL_U64 number = a->head.base + row;
    if (number >= a->wait)
        return stop_asked(stop);
    ((GLOBAL double *)(written + a->out))[row] = a->a * in[row] + table[number % a->count];
    ((GLOBAL unsigned char *)(written + a->done))[row] = 1;
    return 1;
}

#if defined KERNEL && THREADS
KERNEL void toy(struct toy_args a, const GLOBAL char *read, GLOBAL char *written,
                const GLOBAL char *resident, GLOBAL u32 *next, const volatile GLOBAL int *stop,
                GLOBAL char *workspace) {
    u32 row = thread_number();
    while (row < a.head.rows && !toy_row(&a, read, written, resident, stop, row)) {
    }
}
#elif defined KERNEL
KERNEL void toy(const struct toy_args *a, const char *read, char *written, const char *resident,
                u32 *next, const volatile int *stop, char *workspace) {
    for (u32 row; (row = work_take(next, a->head.block)) < a->head.rows;)
        for (u32 i = row; i < row + a->head.block && i < a->head.rows;)
            i += (u32)toy_row(a, read, written, resident, stop, i);
}
KERNEL u64 toy_workspace(void) { return 0; }
#endif
