// SPDX-License-Identifier: MIT
// Batches of grids that are stopped in the middle, and such for which there is no memory.
#include "check.h"
#include "device_test.h"
#include "grid_rig.h"
#include "scarce.h"

#include "base/clock.h"
#include "device/device.h"
#include "log/log.h"

#include <pthread.h>
#include <time.h>

static int flag;

static void *stop_soon(void *user) {
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
    return user;
}

// Generations without end: what comes back, and how soon.
static void check_stop(const char *device, enum grid_way way) {
    static const char text[] = "step(B3/S23, 2000000000)";
    struct grid_rig g = grid_rig_new(1, 40, GRID_U8, 0, 64, 64, 0);
    shoal_log *log = shoal_log_new();
    struct grid_plan *plan = grid_parse("pipeline", text, strlen(text), log_report(log));
    REQUIRE(plan);
    struct grid_runner r = {.plan = plan, .threads = 2, .way = way};
    struct grid_result out = {.type = GRID_U8, .room = g.cell_count};
    const struct dispatch_control control = {.stop = {&flag}};
    uint32_t index = 0;
    pthread_t thread;
    REQUIRE(!device_choose(device, &r.backend, &index, NULL));
    REQUIRE(!kernel_device_open(r.backend, index, false, &r.device, NULL));
    if (way == GRID_BY_KERNEL)
        REQUIRE(!grid_kernel(&r, GRID_U8, GRID_U8, log));
    out.cells = calloc(g.cell_count, 1);
    out.shapes = calloc(2 * g.batch.count, sizeof *out.shapes);
    out.offsets = calloc(g.batch.count, sizeof *out.offsets);
    out.status = calloc(g.batch.count, 1);
    flag = 0;
    REQUIRE(!pthread_create(&thread, NULL, stop_soon, NULL));
    uint64_t begin = clock_ns();
    shoal_code code = grid_run(&r, &g.batch, &out, &control, log);
    double seconds = (double)(clock_ns() - begin) * 1e-9;
    pthread_join(thread, NULL);
    CHECK_MSG(code == SHOAL_STOPPED, "%s: %s", device, shoal_code_text(code));
    CHECK_MSG(seconds < 20, "%s: %g s", device, seconds);
    CHECK_INT(out.delivered, 0);
    free(out.cells);
    free(out.shapes);
    free(out.offsets);
    free(out.status);
    grid_runner_free(&r);
    kernel_device_close(r.device);
    grid_plan_free(plan);
    shoal_log_free(log);
    grid_rig_free(&g);
}

TEST(grid_stop_stages) { check_stop("cpu", GRID_BY_STAGES); }
TEST(grid_stop_kernel) { check_stop("cpu", GRID_BY_KERNEL); }
DEVICE_TEST(grid_stop) { check_stop(device, GRID_BY_KERNEL); }

// ---- Between chunks -----------------------------------------------------------------------------

// Whoever watches stops after a third: what was handed on is right, and there is no more of it.
static void stop_at_a_third(const shoal_progress *now, void *user) {
    if (now->done > now->total / 3)
        *(int *)user = 1;
}

DEVICE_TEST(grid_stop_between_chunks) {
    enum { N = 4000 };
    shoal_log *log = shoal_log_new();
    shoal_options options;
    shoal_grid *grid;
    int stop = 0;
    REQUIRE(!shoal_options_init(&options, NULL, log));
    options.device = device;
    options.chunk = 64;
    options.stop = &stop;
    REQUIRE(!shoal_grid_new("in + 1", &options, &grid, log));
    shoal_grid_on_progress(grid, stop_at_a_third, &stop);
    uint8_t *cells = check_keep(calloc(N, 9)), *out = check_keep(calloc(N, 9));
    shoal_grids in = {.size = sizeof in, .count = N, .cells = cells, .height = 3, .width = 3};
    shoal_grids_out got = {.size = sizeof got, .cells = out, .room = N * 9};
    got.shapes = check_keep(malloc(2 * N * sizeof *got.shapes));
    got.offsets = check_keep(malloc(N * sizeof *got.offsets));
    got.status = check_keep(malloc(N));
    shoal_code code = shoal_grid_run(grid, &in, &got, log);
    uint64_t done = 0;
    while (done < N * 9 && out[done] == 1)
        done++;
    // Chunks of microseconds may all be done before anybody is asked.
    CHECK_MSG(code == SHOAL_STOPPED ? done < N * 9 : code == SHOAL_OK && done == N * 9, "%s",
              shoal_code_text(code));
    CHECK_INT(done % 9, 0);
    for (uint64_t i = done; i < N * 9; i++)
        CHECK(out[i] == 0);
    stop = 0;
    shoal_grid_on_progress(grid, NULL, NULL);
    CHECK(!shoal_grid_run(grid, &in, &got, log));
    CHECK(out[N * 9 - 1] == 1);
    shoal_grid_free(grid);
    shoal_log_free(log);
}

// ---- Without memory -----------------------------------------------------------------------------

TEST(grid_stop_without_memory) {
    const char *g = check_path("g.json");
    check_write(g, "[[[1,2,3],[4,5,6]],[[7,8,9],[0,1,2]]]");
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    scarce_check((const char *const[]){"grid", "rot90 | _ + count(v>2)", "--in", g, NULL}, 70,
                 "[[[7, 10], [6, 9], [5, 8]],\n [[12, 5], [11, 4], [10, 3]]]\n");
}
