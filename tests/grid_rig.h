// SPDX-License-Identifier: MIT
// For tests of the grid engine: batches of random grids, pipelines at random, and runs of both by
// the oracle, by stages and by kernels.
#ifndef SHOAL_TESTS_GRID_RIG_H
#define SHOAL_TESTS_GRID_RIG_H

#include "check.h"
#include "grid/run.h"
#include "grid_oracle.h"

// A batch with memory of its own.
struct grid_rig {
    struct grid_batch batch;
    int32_t *shapes;
    uint64_t *offsets;
    void *cells;
    uint64_t cell_count;
    void *map; // it and pages before and behind it
    size_t map_bytes;
};

uint32_t rig_random(uint64_t *seed, uint32_t below);
// Grids of all kinds of shapes up to `side`, or all of one shape where h is not 0. `values`: 0
// few small ones, 1 with negative ones, 2 any.
struct grid_rig grid_rig_new(uint64_t seed, uint32_t count, enum grid_type type, int side, int h,
                             int w, int values);
void grid_rig_free(struct grid_rig *g);
struct oracle_grid grid_rig_at(const struct grid_rig *g, uint64_t i); // cells are malloc'ed

// A text of some stages.
void grid_rig_pipeline(uint64_t *seed, char *text, size_t room);

// Runs a pipeline one way and compares with the oracle, cell by cell. False: the text is refused,
// and the oracle marks every grid too.
bool grid_rig_compare(const char *text, const struct grid_rig *g, const char *device,
                      enum grid_way way, enum grid_type out);

// The same for pipelines of one module, which is built once.
enum { RIG_MODULE = 100 };
struct rig_module {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    struct grid_plan *plan[RIG_MODULE];
    struct grid_code code[RIG_MODULE];
    struct shoal_bytes bytes;
    uint32_t count;
    enum grid_type in, out;
};
// Not 0: on a device that is a CPU, too, their kernels work by blocks of so many threads. A chunk
// is one grid then: PoCL's compiler writes back what it has read behind the cells of a block, while
// another block may have written there.
extern uint32_t rig_block;
struct rig_module rig_module_of(const char *const *texts, uint32_t count, const char *device,
                                enum grid_type in, enum grid_type out);
// Of random texts from a seed on; those that are refused are passed over.
struct rig_module rig_module_new(uint64_t seed, uint32_t count, const char *device,
                                 enum grid_type in, enum grid_type out);
void rig_module_compare(struct rig_module *m, uint32_t number, const struct grid_rig *g);
void rig_module_free(struct rig_module *m);

#endif
