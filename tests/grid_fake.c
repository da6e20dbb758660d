// SPDX-License-Identifier: MIT
// The entry of kernels/grid as a function of the host, and a body.
#include "grid_fake.h"

#include "check.h"
#include "grid/plan.h"

typedef unsigned u32;
typedef unsigned long long u64;
#define GLOBAL
#define LOCAL
#define INLINE static inline
#define KERNEL static
#define THREADS 1
#define IN_T int
#define OUT_T int
static u32 thread;
static u32 thread_number(void) { return thread; }
static u32 work_take_one(u32 *next, int wanted) { return wanted ? (*next)++ : 0; }
#define stop_asked(stop) ((stop) && *(stop))
#include "../kernels/grid/row.h"

// The check is that of both.
bool grid_fake_rows;
static int grid_body(const struct grid_args *a, struct grid_row g, const volatile int *stop,
                     const int windows) {
    (void)stop;
    (void)windows;
    int rows = grid_fake_rows ? g.in[0] : g.height; // decided by a cell
    if (rows > g.height)
        return GRID_STATUS_BOUNDS;
    if (g.first == 0) {
        g.shape[0] = rows;
        g.shape[1] = g.width;
    }
    if (a->shapes_only)
        return GRID_STATUS_OK;
    EACH_CELL_OF_TEAM(rows, g.width) { g.out[r0 * g.width + c0] = g.in[r0 * g.width + c0] + 1; }
    return GRID_STATUS_OK;
}
#define shoal_grid run_thread // which is a type on the host
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../kernels/grid/entry.h"
#undef shoal_grid

static bool run_threads(const void *args, const char *read, char *written, const char *resident,
                        const volatile int *stop) {
    const struct grid_args *a = args;
    u32 next = 0;
    for (thread = 0; thread < a->head.rows; thread++)
        run_thread(*a, read, written, resident, &next, stop, NULL);
    return true;
}

struct fake_cuda *use_fake_grids(void) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = run_threads;
    fake->args_bytes = sizeof(struct grid_args);
    return fake;
}
