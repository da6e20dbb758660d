// SPDX-License-Identifier: MIT
// Runs a plan on a batch of grids: by a kernel, or by the stages of the library where a compiler
// would take longer than they do, or is missing. Both give the same.
#ifndef SHOAL_GRID_RUN_H
#define SHOAL_GRID_RUN_H

#include "dispatch/dispatch.h"
#include "grid/codegen.h"
#include "grid/stages.h"
#include "kernel/kernel.h"

// Cells that stayed in the memory of a device.
struct grid_kept {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    struct shoal_resident *block; // NULL: there are no cells
    size_t at;                    // of the first cell in it
    uint32_t index;               // of the device, for whoever looks for it
};
void grid_kept_free(struct grid_kept *k);
// All of them, to memory of the host.
shoal_code grid_kept_read(const struct grid_kept *k, size_t bytes, void *to, struct report *r);

// Grids one behind the other: all of one shape, or each with its own at its offset.
struct grid_batch {
    uint64_t count;
    enum grid_type type;
    const void *cells;
    const struct grid_kept *kept; // not NULL: they are there instead
    int32_t height, width;        // of all, without shapes
    const int32_t *shapes;        // [2 count], or NULL
    const uint64_t *offsets;      // [count] in cells, with shapes
};

// Results in the caller's memory. They are a stack where one shape is known before: then marked
// grids are zeros. Else each has its offset, and a marked one the shape 0 by 0.
struct grid_result {
    enum grid_type type;
    void *cells;            // NULL: shapes only
    struct grid_kept *keep; // not NULL: they stay there, in one chunk, and `cells` is not looked at
    uint64_t room;          // in cells
    bool stack;
    int32_t height, width; // of a stack
    int32_t *shapes;       // [2 count]
    uint64_t *offsets;     // [count]
    unsigned char *status; // [count]: enum grid_status
    uint64_t needed;       // cells of all
    uint64_t delivered;    // grids that are done, from the first on, where a run failed
};

enum grid_way { GRID_BY_CHOICE, GRID_BY_KERNEL, GRID_BY_STAGES };

// All borrowed, but for what is kept from one run to the next.
// A shape, and what becomes of it.
enum { GRID_SHAPES = 1024 };
struct grid_shape {
    int32_t height, width; // height 0: none
    struct stages_out out;
};

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
        char key[KEY_HEX];
        double compile_s, load_s; // that its making took; 0: it was there
        struct kernel_field field[2];
        char words[64];
    } made[GRID_TYPE_COUNT][GRID_TYPE_COUNT];
    struct dispatch_pool pool;
    bool by_stages;                // the last run was
    uint64_t cells;                // of all batches
    uint64_t staged_us, looked_us; // that stages took for them, or would have; when it last looked
    struct grid_shape shape[GRID_SHAPES]; // that were asked for, each in the place of its sides
};

void grid_runner_free(struct grid_runner *r);
// The kernel for these types.
shoal_code grid_kernel(struct grid_runner *r, enum grid_type in, enum grid_type out,
                       shoal_log *log);
// Whether it is at hand; nothing is made.
struct grid_found {
    bool cached, refused;
    double compile_s; // that making it would take; 0: nobody knows
    char key[KEY_HEX];
};
shoal_code grid_kernel_look(struct grid_runner *r, enum grid_type in, enum grid_type out,
                            struct grid_found *found, shoal_log *log);
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
// Marks a grid of a result: there are no cells.
void grid_mark(struct grid_result *out, uint64_t i, enum grid_status status);
// Cells of the results before one, of which those before it are done.
uint64_t grid_cells_before(const struct grid_result *out, uint64_t i);

// What a batch is to whoever chooses a device for it.
struct grid_load {
    double units;               // of work that a grid is, on average: its cells times the stages
    double in_bytes, out_bytes; // of a grid
    bool alone;                 // a CPU computes all of it in the calling thread
    bool ready;                 // it needs no kernel for it that it has not loaded
};
struct grid_load grid_load_of(struct grid_runner *r, const struct grid_batch *b,
                              enum grid_type out);
// A CPU is done with it, and was with all before it, in less time than any device takes to start.
bool grid_is_early(const struct grid_runner *r, const struct grid_batch *b);

#endif
