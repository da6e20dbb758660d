// SPDX-License-Identifier: MIT
// A second engine, as small as can be: text, key, cache, build, load, chunks, time log, stop and
// lack of memory are the runtime's, and nothing of another engine is needed. On the CPU, OpenCL
// and the fake CUDA driver, against a loop in C, bit for bit.
#include "fake_gpu.h"
#include "kernels.h"

#include "../kernels/dialect/head.h"
#include "device/device.h"
#include "device_test.h"
#include "dispatch/dispatch.h"

typedef unsigned u32; // what the kernel's text needs of a prelude
#define INLINE static inline
#define stop_asked(stop) (*(stop) != 0)
#include "toy_kernel.h"

OWN_CACHE

LOG_LABEL(test_toy_table, RUNTIME, 9001, "table to the device");
LOG_LABEL(test_toy_in, RUNTIME, 9002, "input of a chunk");
LOG_LABEL(test_toy_out, RUNTIME, 9003, "output of a chunk");

// ROOM: rows of a chunk that the device has memory for, in one of the runs.
enum { ROWS = 100000, CHUNK = 9000, ROOM = 2500, TABLE = 7 };
static const double table[TABLE] = {0.1, -2, 1e-3, 7, 1.0 / 3, 0, 5e9}, factor = 1.1;
static double input(uint64_t row) { return (double)row / 3; }

struct toy_chunk {
    struct dispatch_chunk base;
    struct toy_args args;
    struct shoal_piece read, written;
    struct shoal_place place[4];
    struct shoal_fill fill;
};

static struct {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    struct kernel *kernel;
    struct shoal_resident *resident;
    struct dispatch_pool pool;
    struct dispatch loop;
    struct toy_chunk chunk[DISPATCH_SLOTS];
    shoal_log *log;
    uint64_t wait, delivered; // rows
    uint32_t largest;         // chunk that came
    int stop;
} toy;

static enum kernel_origin get_kernel(void) {
    struct cache *cache = cache_open(NULL);
    struct kernel_source source = {.one_unit = true};
    struct kernel_making making;
    const struct kernel_request q = {.backend = toy.backend,
                                     .device = toy.device,
                                     .source = &source,
                                     .entry = "toy",
                                     .abi = 77,
                                     .field = &(struct kernel_field){"model", "toy"},
                                     .fields = 1,
                                     .cache = cache,
                                     .log = toy.log};
    kernel_component_begin(&source, "prelude", "");
    buf_puts(&source.text, "#define W 1\n#define F32 0\n");
    kernel_source_prelude(&source, toy.backend->target(toy.device));
    kernel_source_file(&source, "toy", "head.h");
    kernel_component_end(&source);
    kernel_component_begin(&source, "toy", "prelude");
    buf_puts(&source.text, check_keep(check_read("tests/toy_kernel.h")));
    kernel_component_end(&source);
    shoal_code code = kernel_identify(&q, &making);
    if (code == SHOAL_OK)
        code = kernel_get(&making, &toy.kernel);
    CHECK_MSG(code == SHOAL_OK, "%s", rig_messages(toy.log));
    REQUIRE(toy.kernel);
    kernel_making_free(&making);
    kernel_source_free(&source);
    cache_close(cache);
    return making.origin;
}

// ---- What the loop asks for ---------------------------------------------------------------------

static shoal_code make(void *user, uint32_t place, uint32_t rows, struct dispatch_chunk **out) {
    struct toy_chunk *c = &toy.chunk[place];
    struct shoal_launch launch = {.places = 4, .fills = 1, .threads = 2, .resident = toy.resident};
    (void)user, (void)rows;
    launch.args = &c->args;
    launch.args_bytes = sizeof c->args;
    launch.place = c->place;
    launch.fill = &c->fill;
    *c = (struct toy_chunk){.base.launch = launch};
    *out = &c->base;
    c->base.module = toy.kernel->module;
    c->base.head = &c->args.head;
    c->base.resident = toy.kernel->facts.resident;
    return SHOAL_OK;
}

static shoal_code fill(void *user, struct dispatch_chunk *chunk) {
    struct toy_chunk *c = &toy.chunk[chunk->place];
    size_t rows = chunk->rows, out = rows * sizeof(double), all = out + rows;
    double *in = pool_block(&toy.pool, chunk->place, DISPATCH_READ, out);
    void *written = pool_block(&toy.pool, chunk->place, DISPATCH_WRITTEN, all);
    (void)user;
    REQUIRE(in && written);
    int32_t span = log_begin(toy.log, LOG_test_toy_in);
    for (uint32_t i = 0; i < rows; i++)
        in[i] = input(chunk->first_row + i);
    dispatch_end_transfer(&toy.loop, chunk, span, chunk->rows, out);
    c->args = (struct toy_args){.a = factor, .count = TABLE, .wait = toy.wait, .done = out};
    c->read = (struct shoal_piece){LOG_test_toy_in, 0, out};
    c->written = (struct shoal_piece){LOG_test_toy_out, 0, all};
    c->place[0] = (struct shoal_place){SHOAL_READ, 0, out};
    c->place[1] = (struct shoal_place){SHOAL_WRITTEN, 0, out};
    c->place[2] = (struct shoal_place){SHOAL_WRITTEN, out, rows};
    c->place[3] = (struct shoal_place){SHOAL_RESIDENT, 0, sizeof table};
    c->fill = (struct shoal_fill){out, rows, 0};
    chunk->launch.read =
        (struct shoal_block){.data = in, .bytes = out, .pieces = 1, .piece = &c->read};
    chunk->launch.written =
        (struct shoal_block){.data = written, .bytes = all, .pieces = 1, .piece = &c->written};
    return SHOAL_OK;
}

static uint32_t finished(void *user, const struct dispatch_chunk *chunk) {
    const unsigned char *done = (unsigned char *)chunk->launch.written.data + chunk->rows * 8ul;
    uint32_t rows = 0;
    (void)user;
    while (rows < chunk->rows && done[rows])
        rows++;
    return rows;
}

static double want(uint64_t row) { return factor * input(row) + table[row % TABLE]; }

static shoal_code deliver(void *user, struct dispatch_chunk *chunk, uint32_t rows) {
    const double *out = chunk->launch.written.data;
    CHECK(chunk->first_row == toy.delivered && finished(user, chunk) >= rows);
    for (uint32_t i = 0; i < rows; i++)
        CHECK(!memcmp(&out[i], &(double){want(toy.delivered++)}, sizeof *out));
    toy.largest = rows > toy.largest ? rows : toy.largest;
    return SHOAL_OK;
}

static void on_progress(const shoal_progress *now, void *user) {
    (void)user;
    toy.stop |= now->done >= toy.wait / CHUNK * CHUNK; // the chunk that waits is under way
}

// Row `wait` and those behind it do not come.
static shoal_code run(uint64_t wait, uint32_t rows) {
    static const struct dispatch_engine engine = {
        .make = make, .fill = fill, .finished = finished, .deliver = deliver};
    const struct dispatch_control control = {.stop = {&toy.stop}, .progress = on_progress};
    struct dispatch_job job = {.engine = &engine, .rows = ROWS, .chunk_rows = rows};
    job.pool = &toy.pool;
    job.limits = toy.backend->limits(toy.device);
    job.control = &control;
    job.log = toy.log;
    job.one_at_a_time = wait < ROWS; // what waits must not keep another chunk from ending
    toy.wait = wait;
    toy.delivered = toy.largest = 0;
    toy.stop = 0;
    return dispatch_all(&toy.loop, &job);
}

// ---- Checks -------------------------------------------------------------------------------------

static shoal_code start_few(struct shoal_module *m, struct shoal_slot *s,
                            const struct shoal_launch *l, struct report *r) {
    bool fits = ((const struct shoal_head *)l->args)->rows <= ROOM;
    return fits ? toy.backend->start(m, s, l, r) : SHOAL_MEMORY;
}

static void check_engine(const char *device) {
    uint32_t index = 0;
    struct shoal_piece piece = {LOG_test_toy_table, 0, sizeof table};
    struct shoal_block block = {
        .data = (void *)(uintptr_t)table, .bytes = sizeof table, .pieces = 1, .piece = &piece};
    toy.log = shoal_log_new();
    shoal_log_set_timing(toy.log, SHOAL_TIMING_VERBOSE);
    REQUIRE(!device_choose(device, &toy.backend, &index, NULL));
    REQUIRE(!kernel_device_open(toy.backend, index, false, &toy.device, NULL));
    CHECK_INT(get_kernel(), KERNEL_COMPILED);
    kernel_drop(toy.kernel);
    shoal_cache_forget(); // as in another process
    CHECK_INT(get_kernel(), KERNEL_FROM_CACHE);
    kernel_drop(toy.kernel);
    CHECK_INT(get_kernel(), KERNEL_FROM_TABLE);
    REQUIRE(!toy.backend->resident_open(toy.device, &block, toy.log, &toy.resident, NULL));
    CHECK_STR(span_says(toy.log, "test_toy_table", "nbytes"), "56");
    struct shoal_backend scarce = *toy.backend;
    scarce.start = start_few;
    toy.pool = (struct dispatch_pool){.backend = toy.backend, .device = toy.device};
    REQUIRE(run(UINT64_MAX, CHUNK) == SHOAL_OK);
    CHECK_INT(toy.delivered, ROWS);
    CHECK_STR(span_says(toy.log, "test_toy_in", "chunk_index"), "11");
    CHECK_STR(span_says(toy.log, "test_toy_in", "nbytes"), "8000"); // the last thousand
    CHECK_INT(run(4 * CHUNK + 100, CHUNK), SHOAL_STOPPED);
    CHECK(toy.delivered >= 4 * CHUNK && toy.delivered <= 4 * CHUNK + 100);
    toy.pool.backend = &scarce;
    REQUIRE(run(UINT64_MAX, 40000) == SHOAL_OK);
    CHECK(toy.delivered == ROWS && toy.largest == ROOM);
    pool_free(&toy.pool);
    toy.backend->resident_close(toy.resident);
    kernel_drop(toy.kernel);
    kernel_device_close(toy.device);
    shoal_log_free(toy.log);
    shoal_cache_forget();
}

DEVICE_TEST(engine) { check_engine(device); }

// The rows, as the fake device works them off; false: some wait.
static bool toy_kernel(const void *args, const char *read, char *written, const char *resident,
                       const volatile int *stop) {
    const struct toy_args *a = args;
    for (u32 i = 0; i < a->head.rows; i++)
        if (!toy_row(a, read, written, resident, stop, i))
            return false;
    return true;
}

TEST(engine_on_the_fake_driver) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    fake->kernel = toy_kernel;
    fake->args_bytes = sizeof(struct toy_args);
    check_engine("cuda");
    CHECK_INT(fake->buffers + fake->host_blocks + fake->streams + fake->modules, 0);
}
