// SPDX-License-Identifier: MIT
// Grids on the fake CUDA driver. Blocks, teams of threads, chunks and shapes that come first are
// those of the engine.
#include "grid_fake.h"
#include "grid_rig.h"

#include "device/device.h"
#include "log/log.h"

static void compare(const char *text, const struct grid_rig *g) {
    REQUIRE(grid_rig_compare(text, g, "cuda", GRID_BY_KERNEL, GRID_I32));
}

TEST(grid_on_the_fake_driver) {
    struct fake_cuda *fake = use_fake_grids();
    struct grid_rig stack = grid_rig_new(3, 500, GRID_I32, 0, 7, 5, 1);
    struct grid_rig ragged = grid_rig_new(4, 300, GRID_I32, 20, 0, 0, 0);
    compare("in + 1", &stack);
    compare("in + 1", &ragged);
    CHECK_INT(fake->shared, 0);
    grid_fake_rows = true;
    for (uint64_t i = 0; i < ragged.batch.count; i++) // heights, some too large
        ((int32_t *)ragged.cells)[ragged.offsets[i]] = 1 + (int32_t)i % (ragged.shapes[2 * i] + 1);
    compare("crop(0, 0, min(crop(0,0,1,1)), w) + 1", &ragged);
    CHECK_INT(fake->block, 32); // for each grid, with what its threads share
    CHECK_INT(fake->shared, GRID_WORDS * sizeof(int32_t));
    shoal_cache_forget();
    CHECK_INT(fake->buffers + fake->host_blocks + fake->streams + fake->modules, 0);
    grid_rig_free(&stack);
    grid_rig_free(&ragged);
}
