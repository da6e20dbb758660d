// SPDX-License-Identifier: MIT
// The grid engine against the oracle: every operation, the texts of the specification and random
// pipelines, on grids of all shapes and values; by stages, and by kernels on every device.
#include "device_test.h"
#include "grid_rig.h"

static const char *const texts[] = {
    "rot90 | mask(v>5) | flip_h",
    "rot90(in) + (in>5)",
    "rot90(in)*(in>0) + (nsum4(in)>0)",
    "rot90 | flip_v",
    "rot90*(v>5)",
    "r = rot90(in); r*(in>0)",
    "replace(most_common, 0) | crop_to_content(0) | upscale(2)",
    "hconcat(rot90, flip_h)",
    "in*(size4 == max(size4))",
    "step(B3/S23, 10)",
    "crop(bbox(v==3))",
    "shift(1,0,wrap) - min | clamp(0,9)",
};
enum { TEXTS = sizeof texts / sizeof *texts };

TEST(grid_texts_by_stages) {
    struct grid_rig g = grid_rig_new(1, 40, GRID_I32, 12, 0, 0, 1);
    for (int i = 0; i < TEXTS; i++)
        CHECK_MSG(grid_rig_compare(texts[i], &g, "cpu", GRID_BY_STAGES, GRID_I32), "%s", texts[i]);
    grid_rig_free(&g);
}

static void compare_random(uint64_t seed, int count, const char *device, enum grid_way way) {
    int run = 0;
    for (int i = 0; i < count; i++) {
        char text[600];
        uint64_t own = seed + (uint64_t)i * 977;
        grid_rig_pipeline(&own, text, sizeof text);
        enum grid_type in = (enum grid_type)(i % 3), out = i % 4 ? GRID_I32 : in;
        bool stack = i % 2;
        struct grid_rig g =
            grid_rig_new(own, 8, in, i % 8 ? 9 : 64, stack ? 1 + i % 7 : 0, 1 + i % 5, i / 3 % 3);
        run += grid_rig_compare(text, &g, device, way, out);
        grid_rig_free(&g);
    }
    CHECK_MSG(run > count / 3, "%d of %d texts were run", run, count);
}

TEST(grid_random_by_stages) { compare_random(1, 200, "cpu", GRID_BY_STAGES); }
LONG_TEST(grid_random_by_stages_long) { compare_random(1000003, 10000, "cpu", GRID_BY_STAGES); }

// One kernel is the pipeline of a user, with its way through key and cache; the rest are entries of
// one module. Of cells of a byte sums and turns are made in lanes of 16 bits, of others in 32.
DEVICE_TEST(grid_texts) {
    static const enum grid_type types[] = {GRID_U8, GRID_I32};
    struct grid_rig g = grid_rig_new(2, 40, GRID_U8, 40, 0, 0, 2);
    grid_rig_compare(texts[0], &g, device, GRID_BY_KERNEL, GRID_U8);
    for (int k = 0; k < (device_test_is_cpu(device) ? 2 : 1); k++) {
        struct rig_module m = rig_module_of(texts + 1, k ? 2 : 3, device, types[k], types[k]);
        struct grid_rig ragged = grid_rig_new(6, 40, types[k], 40, 0, 0, 2);
        struct grid_rig stack = grid_rig_new(7, 40, types[k], 0, 25, 25, 1);
        for (uint32_t i = 0; i < m.count; i++) {
            rig_module_compare(&m, i, &ragged);
            rig_module_compare(&m, i, &stack);
        }
        grid_rig_free(&ragged);
        grid_rig_free(&stack);
        rig_module_free(&m);
    }
    grid_rig_free(&g);
}

// Rows that end before, at and behind the end of a word, with the bits beside them.
static const char *const generations[] = {
    "in%2 | step(B3/S23, 5)", "in%2 | step(B368/S238, 3, wrap)",
    "in%2 | step(B01278/S0178, 2, edge)", "step(B4567/S456, 0)"};
enum { GENERATIONS = sizeof generations / sizeof *generations };
static const int lives[][2] = {{1, 1},  {3, 1},  {2, 61},  {3, 62},   {3, 63},
                               {7, 64}, {4, 65}, {3, 126}, {66, 127}, {1, 128}};
enum { LIVES = sizeof lives / sizeof *lives };

static struct grid_rig life_rig(int i) {
    return grid_rig_new((uint64_t)i, 6, GRID_U8, 0, lives[i][0], lives[i][1], 0);
}

TEST(grid_generations_by_stages) {
    for (int k = 0; k < LIVES; k++) {
        struct grid_rig g = life_rig(k);
        for (int i = 0; i < GENERATIONS; i++)
            CHECK(grid_rig_compare(generations[i], &g, "cpu", GRID_BY_STAGES, GRID_U8));
        grid_rig_free(&g);
    }
}

DEVICE_TEST(grid_generations) {
    struct rig_module m = rig_module_of(generations, GENERATIONS, device, GRID_U8, GRID_U8);
    for (int k = 0; k < LIVES; k++) {
        struct grid_rig g = life_rig(k);
        for (uint32_t i = 0; i < m.count; i++)
            rig_module_compare(&m, i, &g);
        grid_rig_free(&g);
    }
    rig_module_free(&m);
}

// Kernels of a module, each on grids of its own.
static void compare_module(uint64_t seed, uint32_t count, const char *device, int kind) {
    enum grid_type in = (enum grid_type)(kind % 3), out = kind % 2 ? GRID_I32 : in;
    struct rig_module m = rig_module_new(seed, count, device, in, out);
    for (uint32_t i = 0; i < m.count; i++) {
        bool stack = i % 2;
        struct grid_rig g =
            grid_rig_new(seed + i, 8, in, i % 8 ? 9 : 64, stack ? 1 + (int)i % 7 : 0,
                         1 + (int)i % 5, (int)i / 3 % 3);
        rig_module_compare(&m, i, &g);
        grid_rig_free(&g);
    }
    rig_module_free(&m);
}

DEVICE_TEST(grid_random) {
    bool cpu = device_test_is_cpu(device);
    compare_module(5, cpu ? 10 : 3, device, cpu);
}
// In two parts, which may run side by side.
static void compare_modules(const char *device, int first, int end) {
    for (int i = first; i < end; i++)
        compare_module(100000007u * (uint64_t)(i + 1), RIG_MODULE, device, i);
}
LONG_DEVICE_TEST(grid_random_long) { compare_modules(device, 0, 5); }
LONG_DEVICE_TEST(grid_random_longer) { compare_modules(device, 5, 10); }

// What blocks do, in the memory that they share and beyond it; without a GPU by a driver that runs
// the threads of a block one after the other, and takes long to compile them.
static void compare_blocks(const char *device, uint32_t block, enum grid_type type,
                           const char *const *wholes, uint32_t count) {
    static const int shapes[][2] = {{0, 0}, {64, 64}, {1, 700}, {130, 70}};
    rig_block = block;
    struct rig_module m = rig_module_of(wholes, count, device, type, GRID_I32);
    for (int k = 0; k < 4; k++) {
        struct grid_rig g = grid_rig_new(31, 20, type, 30, shapes[k][0], shapes[k][1], k % 3);
        for (uint32_t i = 0; i < m.count; i++)
            rig_module_compare(&m, i, &g);
        grid_rig_free(&g);
    }
    rig_module_free(&m);
    rig_block = 0;
}
LONG_DEVICE_TEST(grid_blocks) {
    static const char *const wholes[] = {"label8", "fill(h/2, w/2, 9) | crop(bbox(v>0))",
                                         "histogram(7)", "in%2 | step(B3/S23, 3, wrap)"};
    compare_blocks(device, 8, GRID_U8, wholes, 4);
}
LONG_DEVICE_TEST(grid_blocks_of_64) {
    static const char *const wholes[] = {"size4 - min | _*sum", "1/in | least_common"};
    compare_blocks(device, 64, GRID_I32, wholes, 2);
}
