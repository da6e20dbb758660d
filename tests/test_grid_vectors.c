// SPDX-License-Identifier: MIT
// The pass of a result by vectors against the oracle: lanes of every size, on every width of
// vectors that this CPU has, for grids that are shorter than a vector, a little longer, and much
// larger.
#include "grid_rig.h"

#include "device/device.h"

// Values of each list need lanes of one size, if cells are bytes.
static const char *const bytes[] = {"rot90",
                                    "rot90 | mask(v>5) | flip_h",
                                    "rot90(in) + (in>5)",
                                    "antitranspose(in) - transpose(in)",
                                    "in + rot180",
                                    "in - 130",
                                    "in + 252",
                                    "flip_h(in) - flip_v(in)",
                                    "nmax8(wrap)",
                                    "nmin8(edge) * (nmax4 > 7)",
                                    "select(at(-1,1,wrap) > at(1,-1,edge), at(0,1), rot180)",
                                    "flip_v | nmin4(wrap)",
                                    "rot90(in)*(in>0) + (nsum4(in)>0)",
                                    "(nsum8(in) > 254) + rot270(in)",
                                    "(nsum4(in,wrap) + (in>3) == 254) + 2*(nsum8(in,edge) <= 19)",
                                    "select(nsum8, transpose(in), 7) + (not nsum4 or nsum8 != 0)",
                                    "(in>1)*rot90(in) + ((in + rot90(in)) + (in>0) > 100)"};
static const char *const shorts[] = {"nsum8(wrap) - 300", "nsum4(edge) + row*3 - col",
                                     "transpose(in) * 2", "max(in - 9, col - row)",
                                     "(nsum8(in) > 255) + rot270(in)"};
static const char *const ints[] = {"nsum8(wrap) * in", "rot270 + col*row",
                                   "flip_h(in) * rot180(in)", "antitranspose(in) - 1"};
enum { BYTES = sizeof bytes / sizeof *bytes };
enum { SHORTS = sizeof shorts / sizeof *shorts };
enum { INTS = sizeof ints / sizeof *ints };

static void compare_shapes(const char *const *texts, uint32_t count, enum grid_type in,
                           enum grid_type out) {
    static const int shapes[][2] = {{1, 1},   {1, 7},   {9, 1},   {5, 5},   {8, 8},  {16, 4},
                                    {4, 16},  {25, 25}, {31, 17}, {17, 31}, {3, 64}, {64, 3},
                                    {30, 30}, {32, 32}, {33, 70}, {70, 33}, {64, 64}};
    struct rig_module m = rig_module_of(texts, count, "cpu", in, out);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_MSG(m.code[i].vectors, "`%s` is not made by vectors", texts[i]);
        for (uint32_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            struct grid_rig g =
                grid_rig_new(i + 100 * k, 18, in, 0, shapes[k][0], shapes[k][1], (int)k % 3);
            rig_module_compare(&m, i, &g);
            grid_rig_free(&g);
        }
        struct grid_rig ragged = grid_rig_new(i, 20, in, 70, 0, 0, 2);
        rig_module_compare(&m, i, &ragged);
        grid_rig_free(&ragged);
    }
    rig_module_free(&m);
}

static void use_target(const char *target) {
    const struct shoal_backend *cpu;
    struct shoal_device *device;
    uint32_t index = 0;
    setenv("SHOAL_CPU_TARGET", target, 1);
    REQUIRE(!device_choose("cpu", &cpu, &index, NULL));
    if (kernel_device_open(cpu, index, false, &device, NULL))
        check_skip("this CPU is no %s", target);
    CHECK_STR(cpu->target(device)->name, target);
    kernel_device_close(device);
}

static void compare_lanes(const char *target) {
    use_target(target);
    compare_shapes(shorts, SHORTS, GRID_U8, GRID_U8);
    compare_shapes(shorts, SHORTS, GRID_I16, GRID_I16);
    compare_shapes(ints, INTS, GRID_I32, GRID_I32);
    compare_shapes(bytes, BYTES, GRID_U8, GRID_I32);
}

// ---- Expressions at random ----------------------------------------------------------------------

struct author {
    uint64_t *seed;
    char *at, *end;
};

static void say(struct author *a, const char *text) {
    while (*text && a->at < a->end)
        *a->at++ = *text++;
    *a->at = 0;
}

static const char *one_of(struct author *a, const char *const *words, uint32_t count) {
    return words[rig_random(a->seed, count)];
}
#define ONE_OF(a, ...)                                                                             \
    one_of(a, (const char *const[]){__VA_ARGS__},                                                  \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void say_cell(struct author *a, int depth) {
    bool leaf = depth == 0;
    switch (rig_random(a->seed, leaf ? 4 : 8)) {
    case 0:
        say(a, ONE_OF(a, "in", "in", "row", "col", "3", "1", "250"));
        return;
    case 1:
        say(a, ONE_OF(a, "rot90(in)", "rot180(in)", "flip_h(in)", "flip_v(in)", "transpose(in)",
                      "antitranspose(in)", "rot270(in)"));
        return;
    case 2:
        say(a, ONE_OF(a, "at(in,-1,0", "at(in,1,1", "at(flip_v(in),0,-1", "at(rot90(in),-1,1",
                      "at(in,1,-1"));
        say(a, ONE_OF(a, ")", ",wrap)", ",edge)"));
        return;
    case 3:
        say(a, ONE_OF(a, "nsum4(in", "nmax8(in", "nmin4(rot180(in)", "nmin8(in"));
        say(a, ONE_OF(a, ")", ",wrap)", ",edge)"));
        return;
    case 4:
        say(a, "select(");
        say_cell(a, depth - 1);
        say(a, ",");
        say_cell(a, depth - 1);
        say(a, ",");
        break;
    case 5:
        say(a, ONE_OF(a, "(not ", "(-", "("));
        say_cell(a, depth - 1);
        say(a, ONE_OF(a, " and ", " or ", "<"));
        break;
    default:
        say(a, "(");
        say_cell(a, depth - 1);
        say(a, ONE_OF(a, "+", "-", "*", "<=", "==", ">", "!="));
    }
    say_cell(a, depth - 1);
    say(a, ")");
}

// All of a module have lanes as wide as the widest, so those with narrow ones are alone.
static void compare_expressions(uint64_t seed, uint32_t count, enum grid_type in,
                                enum grid_type out) {
    enum { COUNT = 40, ROOM = 600 };
    static char room[COUNT][ROOM];
    const char *texts[COUNT];
    for (uint32_t i = 0; i < count; i++) {
        struct author a = {&seed, room[i], room[i] + ROOM - 1};
        texts[i] = room[i];
        say(&a, "in*0 + "); // a number alone is 1 by 1, and no pass
        say_cell(&a, 1 + (int)((seed + i) % 3));
    }
    compare_shapes(texts, count, in, out);
}

static void compare_target(const char *target) {
    use_target(target);
    for (uint64_t seed = 10; seed < 40; seed++)
        compare_expressions(seed, 1, GRID_U8, GRID_U8);
    compare_expressions(2, 40, GRID_U8, GRID_I32);
    compare_expressions(3, 40, GRID_I16, GRID_I16);
    compare_expressions(4, 40, GRID_I32, GRID_I32);
}

LONG_TEST(grid_vectors_random_avx512) { compare_target("x86-64-v4"); }
LONG_TEST(grid_vectors_random_avx2) { compare_target("x86-64-v3"); }
LONG_TEST(grid_vectors_random_sse2) { compare_target("x86-64"); }

// ---- What users take most -----------------------------------------------------------------------

TEST(grid_vectors_avx512) {
    use_target("x86-64-v4");
    compare_shapes(bytes, BYTES, GRID_U8, GRID_U8);
}
TEST(grid_vectors_avx2) {
    use_target("x86-64-v3");
    compare_shapes(bytes, BYTES, GRID_U8, GRID_U8);
}
TEST(grid_vectors_sse2) {
    use_target("x86-64");
    compare_shapes(bytes, BYTES, GRID_U8, GRID_U8);
}
LONG_TEST(grid_vectors_lanes_avx512) { compare_lanes("x86-64-v4"); }
LONG_TEST(grid_vectors_lanes_avx2) { compare_lanes("x86-64-v3"); }
LONG_TEST(grid_vectors_lanes_sse2) { compare_lanes("x86-64"); }
LONG_TEST(grid_vectors_lanes_scalar) { compare_lanes("scalar"); }
