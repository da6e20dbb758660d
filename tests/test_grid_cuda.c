// SPDX-License-Identifier: MIT
// Grids on the fake CUDA driver: its kernel is the entry of kernels/grid around a body written by
// hand, one call a thread. Blocks, teams of threads, chunks and shapes that come first are those of
// the engine.
#include "fake_gpu.h"
#include "grid_rig.h"

#include "device/device.h"
#include "log/log.h"

typedef unsigned u32;
typedef unsigned long long u64;
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

// in + 1, or the first row where shapes are asked for first; the check is that of both.
static int first_row;
static int grid_body(const struct grid_args *a, struct grid_row g, const volatile int *stop) {
    (void)stop;
    int rows = first_row ? g.in[0] : g.height; // decided by a cell
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

static void compare(const char *text, const struct grid_rig *g) {
    REQUIRE(grid_rig_compare(text, g, "cuda", GRID_BY_KERNEL, GRID_I32));
}

TEST(grid_on_the_fake_driver) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = run_threads;
    fake->args_bytes = sizeof(struct grid_args);
    struct grid_rig stack = grid_rig_new(3, 500, GRID_I32, 0, 7, 5, 1);
    struct grid_rig ragged = grid_rig_new(4, 300, GRID_I32, 20, 0, 0, 0);
    compare("in + 1", &stack);
    compare("in + 1", &ragged);
    first_row = 1;
    for (uint64_t i = 0; i < ragged.batch.count; i++) // heights, some too large
        ((int32_t *)ragged.cells)[ragged.offsets[i]] = 1 + (int32_t)i % (ragged.shapes[2 * i] + 1);
    compare("crop(0, 0, min(crop(0,0,1,1)), w) + 1", &ragged);
    shoal_cache_forget();
    CHECK_INT(fake->buffers + fake->host_blocks + fake->streams + fake->modules, 0);
    grid_rig_free(&stack);
    grid_rig_free(&ragged);
}
