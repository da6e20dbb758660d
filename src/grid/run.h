// SPDX-License-Identifier: MIT
// Runs a plan on a batch of grids: by a kernel, or by the stages of the library where a compiler
// would take longer than they do, or is missing. Both give the same.
#ifndef SHOAL_GRID_RUN_H
#define SHOAL_GRID_RUN_H

#include "dispatch/dispatch.h"
#include "grid/codegen.h"
#include "grid/stages.h"
#include "kernel/kernel.h"

// Grids one behind the other: all of one shape, or each with its own at its offset.
struct grid_batch {
    uint64_t count;
    enum grid_type type;
    const void *cells;
    int32_t height, width;   // of all, without shapes
    const int32_t *shapes;   // [2 count], or NULL
    const uint64_t *offsets; // [count] in cells, with shapes
};

// Results in the caller's memory. They are a stack where one shape is known before: then marked
// grids are zeros. Else each has its offset, and a marked one the shape 0 by 0.
struct grid_result {
    enum grid_type type;
    void *cells;   // NULL: shapes only
    uint64_t room; // in cells
    bool stack;
    int32_t height, width; // of a stack
    int32_t *shapes;       // [2 count]
    uint64_t *offsets;     // [count]
    unsigned char *status; // [count]: enum grid_status
    uint64_t needed;       // cells of all
};

enum grid_way { GRID_BY_CHOICE, GRID_BY_KERNEL, GRID_BY_STAGES };

// All borrowed, but for what is kept from one run to the next.
struct grid_runner {
    const struct grid_plan *plan;
    const struct shoal_backend *backend;
    struct shoal_device *device;
    uint32_t threads;
    uint64_t chunk, memory; // 0: not given
    const char *cache;      // directory, or NULL
    const char *keep_source;
    const volatile int *stop;
    void (*on_compile)(const shoal_compile *now, void *user);
    void *on_compile_user;
    enum grid_way way;
    // Kept.
    struct grid_made {
        struct grid_code code;
        struct kernel_source source;
        struct kernel *kernel;
        bool coded, refused; // refused: the plan is not for a kernel
        struct kernel_field field[2];
        char words[64];
    } made[GRID_TYPE_COUNT][GRID_TYPE_COUNT];
    struct dispatch_pool pool;
    bool by_stages;  // the last run was
    uint64_t staged; // cells times nodes that stages have computed, or would have
};

void grid_runner_free(struct grid_runner *r);
// The kernel for these types: `look` says only whether there is one at hand, in *found.
shoal_code grid_kernel(struct grid_runner *r, enum grid_type in, enum grid_type out, bool look,
                       bool *found, shoal_log *log);
// Into the cache; `making` tells what became of it.
shoal_code grid_kernel_warm(struct grid_runner *r, enum grid_type in, enum grid_type out,
                            struct kernel_making *making, shoal_log *log);
// The text, for those who want to read it; malloc.
char *grid_kernel_text(struct grid_runner *r, enum grid_type in, enum grid_type out);

// Shapes, offsets and `needed`; status words as far as shapes tell.
shoal_code grid_shapes(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                       shoal_log *log);
// All of it. Where shapes are known before, grid_shapes need not have been called.
shoal_code grid_run(struct grid_runner *r, const struct grid_batch *b, struct grid_result *out,
                    const struct dispatch_control *control, shoal_log *log);

size_t grid_type_bytes(enum grid_type type);

#endif
