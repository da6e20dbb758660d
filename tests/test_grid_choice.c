// SPDX-License-Identifier: MIT
// Which device a batch of grids gets: PoCL stands for a GPU, and a driver without a device for one
// that fails.
#include "check.h"
#include "grid_fake.h"
#include "kernels.h"

#include "device/device.h"
#include "dispatch/machine.h"
#include "shoal/shoal.h"

#include <time.h>

enum { SIDE = 6, CELLS = SIDE * SIDE };

struct scene {
    shoal_log *log;
    shoal_options options;
    shoal_grid *grid;
    shoal_grids in;
    shoal_grids_out out;
};

static const char *words_of(const struct scene *s) {
    static char all[4096];
    all[0] = 0;
    for (size_t i = 0; i < shoal_log_message_count(s->log); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n",
                 shoal_log_message(s->log, i).text);
    return all;
}

// Grid i has the cells i, i + 1, ...
static struct scene scene_new(uint64_t most) {
    struct scene s = {.log = shoal_log_new()};
    int32_t *cells = check_keep(malloc(most * CELLS * sizeof *cells));
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    unsetenv("SHOAL_DEVICE");
    REQUIRE(!shoal_options_init(&s.options, NULL, s.log));
    s.options.threads = 2; // with many no batch here is long enough for another device
    for (uint64_t i = 0; i < most * CELLS; i++)
        cells[i] = (int32_t)(i / CELLS + i % CELLS);
    s.in = (shoal_grids){.size = sizeof s.in, .type = SHOAL_I32, .cells = cells};
    s.in.height = s.in.width = SIDE;
    s.out = (shoal_grids_out){.size = sizeof s.out, .type = SHOAL_I32, .room = most * CELLS};
    s.out.cells = check_keep(calloc(most * CELLS, sizeof(int32_t)));
    s.out.shapes = check_keep(malloc(2 * most * sizeof *s.out.shapes));
    s.out.offsets = check_keep(malloc(most * sizeof *s.out.offsets));
    s.out.status = check_keep(malloc(most));
    return s;
}

static void scene_grid(struct scene *s, const char *text) {
    shoal_code code = shoal_grid_new(text, &s->options, &s->grid, s->log);
    CHECK_MSG(!code, "%s", words_of(s));
    REQUIRE(s->grid);
}

static void scene_free(struct scene *s) {
    shoal_grid_free(s->grid);
    shoal_log_free(s->log);
}

static uint64_t count_of(const struct scene *s, const char *label) {
    for (size_t i = 0; i < shoal_log_sum_count(s->log); i++)
        if (!strcmp(shoal_log_sum(s->log, i).label, label))
            return shoal_log_sum(s->log, i).count;
    return 0;
}

// Grids from the first on whose cells are those of the input plus `more`.
static uint64_t grids_with(const struct scene *s, int32_t more) {
    const int32_t *in = s->in.cells, *out = s->out.cells;
    for (uint64_t i = 0; i < s->in.count; i++)
        for (uint64_t k = i * CELLS; k < (i + 1) * CELLS; k++)
            if (s->out.status[i] || out[k] != in[k] + more || s->out.shapes[2 * i] != SIDE)
                return i;
    return s->in.count;
}

static const char *device_after(struct scene *s, uint64_t grids) {
    s->in.count = grids;
    memset(s->out.cells, 0, s->out.room * sizeof(int32_t));
    shoal_code code = shoal_grid_run(s->grid, &s->in, &s->out, s->log);
    CHECK_MSG(!code, "%s", words_of(s));
    CHECK_INT(grids_with(s, 2), grids);
    return strstr(shoal_grid_device(s->grid), "PoCL") ? "opencl" : "cpu";
}

static void use_pocl(void) {
    char why[192];
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    if (!device_backend("opencl")->count(why, sizeof why))
        check_skip("opencl: %s", why);
    machine_takes_cpu_types = true;
}

// Exact at the boundary, to and fro, and nothing is made twice.
TEST(device_grid_threshold) {
    use_pocl();
    struct scene s = scene_new(300);
    s.options.threshold = 100;
    scene_grid(&s, "in + 2");
    static const uint64_t grids[] = {99, 100, 101, 99, 1, 300, 100, 99};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        const char *wanted = grids[i] < 100 ? "cpu" : "opencl";
        CHECK_STR(device_after(&s, grids[i]), wanted);
        CHECK_MSG(!strncmp(shoal_grid_reason(s.grid), wanted, strlen(wanted)), "%s",
                  shoal_grid_reason(s.grid));
    }
    CHECK_STR(shoal_grid_reason(s.grid), "cpu: 99 grids, fewer than the threshold, 100");
    CHECK_INT(count_of(&s, "module_load"), 1); // the CPU's stages did
    s.in.count = 100;
    CHECK(!shoal_grid_plan(s.grid, &s.in, SHOAL_I32, s.log));
    CHECK_STR(shoal_grid_reason(s.grid), "opencl: 100 grids, not fewer than the threshold, 100");
    CHECK_HAS(shoal_grid_device(s.grid), "PoCL");
    scene_free(&s);
}

// Few grids go by stages, until somebody asks for the kernel.
TEST(grid_choice_is_made_ready) {
    struct scene s = scene_new(10);
    s.options.device = "cpu";
    scene_grid(&s, "in + 2");
    device_after(&s, 10);
    CHECK_INT(count_of(&s, "module_load"), 0);
    CHECK_INT(shoal_grid_ready(s.grid, &s.in, SHOAL_I32, s.log), SHOAL_OK);
    CHECK_INT(count_of(&s, "compile_kernel"), 1);
    CHECK_INT(count_of(&s, "module_load"), 1);
    CHECK_INT(shoal_grid_ready(s.grid, &s.in, SHOAL_I32, s.log), SHOAL_OK);
    uint64_t launches = count_of(&s, "kernel_launch");
    device_after(&s, 10);
    CHECK_INT(count_of(&s, "kernel_launch"), launches + 1);
    CHECK_INT(count_of(&s, "module_load"), 1);
    scene_free(&s);
    s = scene_new(10); // without a compiler there are the stages
    s.options.device = "cpu";
    use_script("exit 1");
    setenv("SHOAL_CACHE_DIR", check_path("other cache"), 1);
    scene_grid(&s, "in + 2");
    CHECK_INT(shoal_grid_ready(s.grid, &s.in, SHOAL_I32, s.log), SHOAL_OK);
    CHECK(!strstr(words_of(&s), "error:"));
    device_after(&s, 10);
    scene_free(&s);
}

// What stages are done with before the compiler has said what it is waits for no look into the
// cache; who goes on gets the kernel that is there.
TEST(grid_choice_few_do_not_look) {
    struct scene s = scene_new(1000);
    shoal_warm_result warm;
    s.options.device = "cpu";
    s.options.threads = 1;
    REQUIRE(!shoal_grid_warm("in + 2", &s.options, SHOAL_I32, SHOAL_I32, NULL, &warm, s.log));
    uint64_t asked = count_of(&s, "compiler_identity");
    CHECK(asked > 0);
    scene_grid(&s, "in + 2");
    for (int i = 0; i < 10; i++)
        device_after(&s, 1000);
    CHECK_INT(count_of(&s, "compiler_identity"), asked);
    CHECK_INT(count_of(&s, "module_load"), 0);
    for (int i = 0; i < 1000; i++)
        device_after(&s, 1000);
    CHECK(count_of(&s, "compiler_identity") > asked);
    CHECK_INT(count_of(&s, "module_load"), 1);
    scene_free(&s);
}

// Where there is no kernel it looks now and then, not with each batch.
TEST(grid_choice_looks_now_and_then) {
    struct scene s = scene_new(1000);
    s.options.device = "cpu";
    s.options.threads = 1;
    scene_grid(&s, "in + 2");
    for (int i = 0; i < 1000; i++)
        device_after(&s, 1000);
    uint64_t looks = count_of(&s, "compiler_identity");
    CHECK_MSG(looks >= 2 && looks <= 4, "%llu looks", (unsigned long long)looks);
    CHECK_INT(count_of(&s, "compile_kernel"), 0);
    scene_free(&s);
}

// --device, then SHOAL_DEVICE, then --threshold.
TEST(device_grid_order) {
    use_pocl();
    static const struct {
        const char *option, *variable, *got;
    } cases[] = {{"cpu", NULL, "cpu"},     {"auto", NULL, "opencl"},   {"auto", "cpu", "cpu"},
                 {"cpu", "opencl", "cpu"}, {"auto", "auto", "opencl"}, {"opencl", "cpu", "opencl"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s = scene_new(20);
        s.options.threshold = 20;
        s.options.device = cases[i].option;
        if (cases[i].variable)
            setenv("SHOAL_DEVICE", cases[i].variable, 1);
        scene_grid(&s, "in + 2");
        CHECK_STR(device_after(&s, 20), cases[i].got);
        scene_free(&s);
    }
    struct scene s = scene_new(20); // what SHOAL_DEVICE says is for batches of any size
    s.options.threshold = 20;
    setenv("SHOAL_DEVICE", "opencl", 1);
    scene_grid(&s, "in + 2");
    CHECK_STR(device_after(&s, 5), "opencl");
    CHECK_STR(shoal_grid_reason(s.grid), "");
    scene_free(&s);
}

// Few grids, and all that are done before a device has started, ask nobody.
TEST(device_grid_early) {
    use_pocl();
    struct scene s = scene_new(200);
    setenv("SHOAL_DEVICES_PROGRAM", "/nowhere", 1);
    scene_grid(&s, "in + 2");
    CHECK_STR(device_after(&s, 16), "cpu");
    CHECK_STR(shoal_grid_reason(s.grid), "cpu: 16 grids, which are too few for any other device");
    CHECK_STR(device_after(&s, 200), "cpu");
    CHECK_STR(shoal_grid_reason(s.grid),
              "cpu: 200 grids, which are done before another device has started");
    CHECK_INT(count_of(&s, "choose_device"), 2);
    scene_free(&s);
}

// A machine that was measured to have such a device.
static void pretend(double start, double lane, double full) {
    struct machine m;
    struct tune *t = check_keep(calloc(1, sizeof *t));
    char name[TUNE_NAME];
    int64_t ns = (int64_t)time(NULL) * 1000000000;
    machine_find(&m, NULL);
    REQUIRE(m.count > 1);
    const char *device = m.known[1]->name;
    machine_point(device, MACHINE_START, NULL, name);
    tune_set(t, name, start, 0, 10, ns);
    machine_point(device, MACHINE_LAUNCH, NULL, name);
    tune_set(t, name, 50e-6, 0, 10, ns);
    machine_point(device, MACHINE_IN, NULL, name);
    tune_set(t, name, 1e13, 0, 10, ns);
    machine_point(device, MACHINE_OUT, NULL, name);
    tune_set(t, name, 1e13, 0, 10, ns);
    machine_point(device, MACHINE_LANE, "grid-i32", name);
    tune_set(t, name, lane, 0, 1000, ns);
    machine_point(device, MACHINE_FULL, "grid-i32", name);
    tune_set(t, name, full, 0, 1000, ns);
    struct cache *c = cache_open(NULL);
    tune_save(t, c, m.digest, ns);
    cache_close(c);
}

// Batches as long as the CPU is done with all of them before a device would have started; the
// device of the first one behind.
static const char *device_in_the_end(struct scene *s, uint64_t grids) {
    const char *device = "";
    for (int i = 0; i < 100 && (!i || strstr(shoal_grid_reason(s->grid), "has started")); i++)
        device = device_after(s, grids);
    return device;
}

// Large batches go where they are done first, which is measured; small ones stay on the CPU.
TEST(device_grid_measured) {
    enum { MANY = 200000 };
    use_pocl();
    struct scene s = scene_new(MANY);
    pretend(0, 20, 1e-6);
    s.options.reuses = 1000000;
    scene_grid(&s, "in + 2");
    CHECK_STR(device_after(&s, 20), "cpu");
    CHECK_STR(device_in_the_end(&s, MANY), "opencl");
    CHECK_HAS(shoal_grid_reason(s.grid), "opencl: 200,000 grids ~ ");
    CHECK_HAS(shoal_grid_reason(s.grid), "; cpu ~ ");
    CHECK_HAS(shoal_grid_reason(s.grid), "(break-even ");
    const char *cpu = strstr(shoal_grid_reason(s.grid), "; cpu ~ "); // of work, not of a compiler
    CHECK_MSG(cpu && (strstr(cpu, " ms") || strstr(cpu, " us")), "%s", shoal_grid_reason(s.grid));
    CHECK_INT(count_of(&s, "pilot_run"), 1);
    uint64_t even = shoal_grid_break_even(s.grid);
    CHECK_MSG(even > 17 && even < MANY, "%llu", (unsigned long long)even);
    CHECK_STR(device_after(&s, 17), "cpu");
    CHECK_STR(device_after(&s, 16), "cpu");
    CHECK_INT(count_of(&s, "module_load"), 2);
    scene_free(&s);
}

// A handle has a kernel for each pair of types, and what was measured of one is not that of
// another.
TEST(device_grid_types) {
    use_pocl();
    struct scene s = scene_new(100);
    s.options.threshold = 50;
    scene_grid(&s, "in + 2");
    CHECK_STR(device_after(&s, 100), "opencl");
    s.out.type = SHOAL_I16;
    for (uint64_t grids = 49; grids <= 50; grids++) {
        s.in.count = grids;
        memset(s.out.cells, 0, s.out.room * sizeof(int32_t));
        REQUIRE(!shoal_grid_run(s.grid, &s.in, &s.out, s.log));
        for (uint64_t i = 0; i < grids * CELLS; i++)
            CHECK_INT(((int16_t *)s.out.cells)[i], ((const int32_t *)s.in.cells)[i] + 2);
        CHECK((grids == 50) == !!strstr(shoal_grid_device(s.grid), "PoCL"));
    }
    s.out.type = SHOAL_I32;
    CHECK_STR(device_after(&s, 100), "opencl");
    scene_free(&s);
}

// A device that is slow, whatever the reason, gets nothing.
TEST(device_grid_slow_device) {
    enum { MANY = 200000 };
    use_pocl();
    struct scene s = scene_new(MANY);
    pretend(0.5, 1000, 10);
    scene_grid(&s, "in + 2");
    CHECK_STR(device_in_the_end(&s, MANY), "cpu");
    CHECK_HAS(shoal_grid_reason(s.grid), "cpu: 200,000 grids, which are too few");
    CHECK_INT(count_of(&s, "pilot_run"), 0);
    scene_free(&s);
}

// ---- A device that fails ------------------------------------------------------------------------

// The fake device adds 1, and the CPU what the text says.
static struct scene failing(const char *device) {
    struct scene s = scene_new(1000);
    s.options.device = device;
    s.options.threshold = 20;
    s.options.chunk = 64;
    s.in.count = 1000;
    scene_grid(&s, "in + 2");
    return s;
}

static uint64_t grids_of_device(const struct scene *s) {
    const int32_t *in = s->in.cells, *out = s->out.cells;
    uint64_t n = grids_with(s, 1);
    for (uint64_t k = n * CELLS; k < s->in.count * CELLS; k++)
        CHECK_MSG(out[k] == in[k] + 2, "cell %llu", (unsigned long long)k);
    return n;
}

TEST(grid_choice_fails_in_the_middle) {
    struct fake_cuda *fake = use_fake_grids();
    static const char *const devices[] = {"auto", "cuda"};
    for (size_t d = 0; d < 2; d++)
        for (const struct fake_fault *f = fake_faults; f->call; f++) {
            char named[64];
            struct scene s = failing(devices[d]);
            fake_fail(fake, f);
            CHECK_MSG(!shoal_grid_run(s.grid, &s.in, &s.out, s.log), "%s: %s", f->call,
                      words_of(&s));
            fake_fail(fake, NULL);
            uint64_t grids = grids_of_device(&s);
            CHECK_MSG(grids >= 64 * f->least && grids <= 64 * f->most && grids % 64 == 0,
                      "%s: %llu grids", f->call, (unsigned long long)grids);
            CHECK(s.out.needed == 1000 * CELLS && s.out.height == SIDE);
            snprintf(named, sizeof named, "grids %llu to 999 were left to the CPU",
                     (unsigned long long)grids);
            CHECK_HAS(words_of(&s), named);
            CHECK(!strstr(words_of(&s), "error:"));
            if (d == 0) { // it is not asked again
                CHECK(!shoal_grid_run(s.grid, &s.in, &s.out, s.log));
                CHECK_INT(grids_of_device(&s), 0);
            }
            scene_free(&s);
        }
}

// Grids of all shapes, whose results lie one behind the other.
TEST(grid_choice_fails_with_shapes) {
    enum { N = 400 };
    struct fake_cuda *fake = use_fake_grids();
    struct scene s = failing("cuda");
    int32_t *shapes = check_keep(malloc(2 * N * sizeof *shapes));
    uint64_t *offsets = check_keep(malloc(N * sizeof *offsets)), at = 0;
    for (int i = 0; i < N; i++) {
        shapes[2 * i] = i % 5 + 1;
        shapes[2 * i + 1] = i % 3 + 1;
        offsets[i] = at;
        at += (uint64_t)shapes[2 * i] * (uint64_t)shapes[2 * i + 1];
    }
    s.in.count = N;
    s.in.shapes = shapes;
    s.in.offsets = offsets;
    fake_fail(fake, &fake_faults[1]);
    REQUIRE(!shoal_grid_run(s.grid, &s.in, &s.out, s.log));
    fake->fail = NULL;
    const int32_t *in = s.in.cells, *out = s.out.cells;
    uint64_t k = 0;
    while (k < at && out[k] == in[k] + 1)
        k++;
    CHECK(k > 0 && k < at);
    for (; k < at; k++)
        CHECK_INT(out[k], in[k] + 2);
    CHECK_INT(s.out.needed, at);
    CHECK(!memcmp(s.out.offsets, offsets, N * sizeof *offsets));
    CHECK(!memcmp(s.out.shapes, shapes, 2 * N * sizeof *shapes));
    scene_free(&s);
}

TEST(grid_choice_fails_without_fallback) {
    struct fake_cuda *fake = use_fake_grids();
    struct scene s = failing("auto");
    shoal_grid_free(s.grid);
    s.options.no_fallback = true;
    scene_grid(&s, "in + 2");
    fake_fail(fake, &fake_faults[1]);
    CHECK_INT(shoal_grid_run(s.grid, &s.in, &s.out, s.log), SHOAL_DEVICE);
    CHECK_HAS(words_of(&s), "error: ");
    scene_free(&s);
}

// The device cannot be opened, or does not take the kernel.
TEST(grid_choice_fails_at_the_start) {
    static const char *const calls[] = {"cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx",
                                        "cuModuleGetFunction"};
    struct fake_cuda *fake = use_fake_grids();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct scene s = failing("auto");
        fake->fail = calls[i];
        fake->fail_result = 2;
        CHECK_MSG(!shoal_grid_run(s.grid, &s.in, &s.out, s.log), "%s: %s", calls[i], words_of(&s));
        CHECK_INT(grids_of_device(&s), 0);
        CHECK_HAS(words_of(&s), "cuda:0 cannot be used, so the CPU is");
        CHECK(!strstr(words_of(&s), "error:"));
        fake->fail = NULL;
        scene_free(&s);
    }
}

// ---- Results that stay --------------------------------------------------------------------------

// The same shapes, status and cells, grid by grid: marked grids may have a place, or none.
static bool same_grids(const shoal_grids_out *a, const shoal_grids_out *b, uint64_t count) {
    const int32_t *x = a->cells, *y = b->cells;
    bool same = a->height == b->height && a->width == b->width &&
                !memcmp(a->status, b->status, count) &&
                !memcmp(a->shapes, b->shapes, 2 * count * sizeof *a->shapes);
    for (uint64_t i = 0; same && i < count; i++) {
        size_t cells = (size_t)a->shapes[2 * i] * (size_t)a->shapes[2 * i + 1];
        same = !memcmp(x + a->offsets[i], y + b->offsets[i], cells * sizeof *x);
    }
    return same;
}

static shoal_grids_out room_for(uint64_t count, uint64_t cells) {
    shoal_grids_out out = {.size = sizeof out, .type = SHOAL_I32, .room = cells};
    out.cells = check_keep(malloc(cells * sizeof(int32_t)));
    memset(out.cells, 0x55, cells * sizeof(int32_t));
    out.shapes = check_keep(malloc(2 * count * sizeof *out.shapes));
    out.offsets = check_keep(malloc(count * sizeof *out.offsets));
    out.status = check_keep(malloc(count));
    return out;
}

// A second pipeline on what a first one kept, against both at once. Grids that were marked stay
// marked.
static void check_kept(const char *device, const struct scene *base, const char *first,
                       const char *second) {
    struct scene s = *base;
    uint64_t n = s.in.count;
    shoal_grids_out want = room_for(n, 4 * s.out.room), got = room_for(n, 4 * s.out.room);
    shoal_kept *kept = NULL, *again = NULL;
    char text[128];
    snprintf(text, sizeof text, "%s | %s", first, second);
    s.options.device = device;
    scene_grid(&s, text);
    CHECK_MSG(!shoal_grid_run(s.grid, &s.in, &want, s.log), "%s", words_of(&s));
    shoal_grid_free(s.grid);
    scene_grid(&s, first);
    CHECK_MSG(!shoal_grid_keep(s.grid, &s.in, &s.out, &kept, s.log), "%s", words_of(&s));
    REQUIRE(kept);
    shoal_grid_free(s.grid); // what it made outlives it
    scene_grid(&s, second);
    shoal_grids in = shoal_kept_grids(kept);
    CHECK(in.count == n && in.kept == kept);
    CHECK_MSG(!shoal_grid_run(s.grid, &in, &got, s.log), "%s: %s", text, words_of(&s));
    CHECK_MSG(same_grids(&want, &got, n), "%s on %s", text, device);
    got = room_for(n, 4 * s.out.room);
    CHECK(!shoal_grid_keep(s.grid, &in, &got, &again, s.log));
    CHECK(!shoal_kept_fetch(again, got.cells, got.needed, s.log));
    CHECK_MSG(same_grids(&want, &got, n), "%s on %s, kept", text, device);
    CHECK_INT(shoal_kept_fetch(again, got.cells, got.needed - 1, s.log), SHOAL_USAGE);
    shoal_kept_free(again);
    shoal_kept_free(kept);
    shoal_grid_free(s.grid);
}

static struct scene with_shapes(uint64_t count) {
    struct scene s = scene_new(count);
    int32_t *shapes = check_keep(malloc(2 * count * sizeof *shapes));
    uint64_t *offsets = check_keep(malloc(count * sizeof *offsets)), at = 0;
    for (uint64_t i = 0; i < count; i++) {
        shapes[2 * i] = (int32_t)(i % 5);
        shapes[2 * i + 1] = (int32_t)(i % 3 + 1);
        offsets[i] = at;
        at += (uint64_t)shapes[2 * i] * (uint64_t)shapes[2 * i + 1];
    }
    s.in.count = count;
    s.in.shapes = shapes;
    s.in.offsets = offsets;
    return s;
}

static const char *const chains[][2] = {
    {"in + 2", "rot90 - col"},
    {"100/(in % 60)", "_ + 1"}, // divisions by 0
    {"mask(v % 3 == 0) | crop_to_content(0)", "upscale(2)"},
    {"rot90", "replace(max, 0) | crop_to_content(0)"},
};

TEST(device_grid_kept) {
    use_pocl();
    struct scene stack = scene_new(300), ragged = with_shapes(200);
    stack.in.count = 300;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        if (check_does(i, 1, 4))
            check_kept("opencl", &stack, chains[i][0], chains[i][1]);
        if (check_does(i, 2, 4))
            check_kept("opencl", &ragged, chains[i][0], chains[i][1]);
    }
    stack.options.threshold = 1; // chosen for the first, and for the second where they are
    check_kept("auto", &stack, chains[1][0], chains[1][1]);
    shoal_log_free(stack.log);
    shoal_log_free(ragged.log);
}

TEST(grid_choice_kept_by_the_cpu) {
    struct scene stack = scene_new(300), ragged = with_shapes(200);
    stack.in.count = 300;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        check_kept("cpu", &stack, chains[i][0], chains[i][1]);
        check_kept("auto", &ragged, chains[i][0], chains[i][1]);
    }
    shoal_log_free(stack.log);
    shoal_log_free(ragged.log);
}

// On the fake driver, whose kernels add 1: three times, without a copy of cells in between.
TEST(grid_choice_kept_on_cuda) {
    enum { N = 1000 };
    struct fake_cuda *fake = use_fake_grids();
    struct scene s = scene_new(N), cpu = scene_new(N);
    shoal_kept *one = NULL, *two = NULL;
    s.in.count = N;
    s.options.device = "cuda";
    scene_grid(&s, "in + 1");
    cpu.options.device = "cpu";
    scene_grid(&cpu, "in + 1");
    CHECK_MSG(!shoal_grid_keep(s.grid, &s.in, &s.out, &one, s.log), "%s", words_of(&s));
    REQUIRE(one);
    shoal_grids in = shoal_kept_grids(one);
    CHECK(!in.cells);
    CHECK(!shoal_grid_keep(s.grid, &in, &s.out, &two, s.log));
    in = shoal_kept_grids(two);
    CHECK(!shoal_grid_run(s.grid, &in, &s.out, s.log));
    CHECK_INT(grids_with(&s, 3), N);
    CHECK(!shoal_kept_fetch(one, s.out.cells, s.out.room, s.log));
    CHECK_INT(grids_with(&s, 1), N);
    // Another device does not have them, and says where they are.
    CHECK_INT(shoal_grid_run(cpu.grid, &in, &cpu.out, cpu.log), SHOAL_USAGE);
    CHECK_HAS(words_of(&cpu), "the grids that were kept are on cuda:0");
    // A device that fails has taken what was there with it.
    fake->fail = "cuLaunchKernel";
    fake->fail_result = 719;
    CHECK_INT(shoal_grid_run(s.grid, &in, &s.out, s.log), SHOAL_DEVICE);
    fake->fail = NULL;
    shoal_kept_free(one);
    shoal_kept_free(two);
    scene_free(&s);
    scene_free(&cpu);
    shoal_cache_forget();
    CHECK_INT(fake->buffers + fake->host_blocks + fake->streams + fake->modules, 0);
}

// What cannot stay there is computed by the CPU, and stays there.
TEST(grid_choice_kept_after_a_failure) {
    struct fake_cuda *fake = use_fake_grids();
    struct scene s = failing("auto");
    shoal_kept *kept = NULL;
    fake->fail = "cuLaunchKernel";
    fake->fail_result = 719;
    CHECK_MSG(!shoal_grid_keep(s.grid, &s.in, &s.out, &kept, s.log), "%s", words_of(&s));
    fake->fail = NULL;
    CHECK_HAS(words_of(&s), "grids 0 to 999 were left to the CPU");
    CHECK(!shoal_kept_fetch(kept, s.out.cells, s.out.room, s.log));
    CHECK_INT(grids_with(&s, 2), 1000);
    shoal_kept_free(kept);
    scene_free(&s);
}
