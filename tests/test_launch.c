// SPDX-License-Identifier: MIT
// Launches as backends see them, with a kernel that is no engine's: blocks, places, fills, resident
// blocks, slots and modules that threads share. That of the CUDA backend is in test_cuda_backend.c,
// with the fake driver.
#include "device_test.h"

#include "../kernels/dialect/head.h"
#include "device/device.h"
#include "kernel/files.h"
#include "log/log.h"

#include <glob.h>
#include <pthread.h>

OWN_CACHE

// out[row] = factor * in[row] + table[row % 4]; seen[row] goes up by one. A factor below 0 means:
// wait for the stop.
struct toy_args {
    struct shoal_head head;
    double factor;
    SHOAL_U64 in, out, seen, table;
};

static const char toy_rows[] =
    "struct toy_args { struct shoal_head head; double factor; SHOAL_U64 in, out, seen, table; };\n"
    "INLINE void toy_row(const struct toy_args *a, const GLOBAL char *read, GLOBAL char *written,\n"
    "                    const GLOBAL char *resident, const volatile GLOBAL int *stop, u32 row) {\n"
    "    const GLOBAL double *in = (const GLOBAL double *)(read + a->in);\n"
    "    const GLOBAL double *table = (const GLOBAL double *)(resident + a->table);\n"
    "    double more = a->table == SHOAL_NOWHERE ? 0 : table[row % 4];\n"
    "    while (a->factor < 0 && !stop_asked(stop)) ;\n"
    "    ((GLOBAL double *)(written + a->out))[row] = a->factor * in[row] + more;\n"
    "    ((GLOBAL unsigned char *)(written + a->seen))[row]++;\n"
    "}\n";
static const char toy_worker[] =
    "KERNEL void toy(const struct toy_args *a, const char *read, char *written,\n"
    "                const char *resident, u32 *next, const volatile int *stop, char *space) {\n"
    "    for (u32 row; (row = work_take(next, a->head.block)) < a->head.rows;)\n"
    "        for (u32 i = row; i < row + a->head.block && i < a->head.rows; i++)\n"
    "            toy_row(a, read, written, resident, stop, i);\n"
    "    *space = 1;\n"
    "}\n"
    "KERNEL u64 toy_workspace(void) { return 1; }\n";
static const char toy_thread[] =
    "KERNEL void toy(struct toy_args a, const GLOBAL char *read, GLOBAL char *written,\n"
    "                const GLOBAL char *resident, GLOBAL u32 *next,\n"
    "                const volatile GLOBAL int *stop, GLOBAL char *space) {\n"
    "    if (thread_number() < a.head.rows)\n"
    "        toy_row(&a, read, written, resident, stop, thread_number());\n"
    "}\n";

struct toy {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    struct shoal_module *module;
    struct shoal_facts facts;
    shoal_log *log;
};

static void need(const struct toy *t, shoal_code code, const char *what) {
    if (code == SHOAL_OK)
        return;
    char *messages = rig_messages(t->log);
    check_fail(__FILE__, __LINE__, "%s: %s", what, messages);
    check_end();
}

static void put_file(struct buf *text, const char *name) {
    const struct kernel_file *k = kernel_file_find("dialect", name);
    REQUIRE(k->name);
    buf_put(text, k->text, k->length);
}

static struct toy toy_new(const char *device) {
    struct toy t = {.log = shoal_log_new()};
    struct buf text = {0};
    struct shoal_bytes bytes = {0};
    uint32_t index = 0;
    need(&t, device_choose(device, &t.backend, &index, log_report(t.log)), device);
    need(&t, t.backend->open(index, NULL, false, &t.device, log_report(t.log)), "open");
    const struct shoal_target *target = t.backend->target(t.device);
    buf_puts(&text, "#define W 1\n#define F32 0\n");
    put_file(&text, target->prelude);
    if (target->device)
        put_file(&text, "threads.h");
    put_file(&text, "head.h");
    buf_puts(&text, toy_rows);
    buf_puts(&text, target->device ? toy_thread : toy_worker);
    struct shoal_kernel_text k = {.text = text.data,
                                  .length = text.length,
                                  .digest = "00",
                                  .needs_libm = true,
                                  .one_unit = true};
    need(&t, t.backend->build(t.device, &k, NULL, &bytes, log_report(t.log)), "build");
    need(&t, t.backend->load(t.device, &bytes, "toy", &t.module, &t.facts, log_report(t.log)),
         "load");
    free(bytes.data);
    buf_free(&text);
    return t;
}

static void toy_free(struct toy *t) {
    t->backend->unload(t->module);
    t->backend->close(t->device);
    shoal_log_free(t->log);
}

// ---- A chunk ------------------------------------------------------------------------------------

enum { PIECES = 9 };

struct chunk {
    struct toy_args args;
    struct shoal_launch launch;
    struct shoal_slot *slot;
    struct shoal_piece piece[2][PIECES]; // of read and written
    struct shoal_place place[4];
    uint32_t places;
    struct shoal_fill fill;
    double *in, *out;
    unsigned char *seen;
};

static struct shoal_block cut(struct shoal_piece piece[PIECES], void *data, size_t bytes) {
    for (uint32_t i = 0; i < PIECES; i++) {
        size_t first = bytes / PIECES * i;
        piece[i] = (struct shoal_piece){log_label_find("h2d_transfer_parameters"), first,
                                        i + 1 < PIECES ? bytes / PIECES : bytes - first};
    }
    return (struct shoal_block){.data = data, .bytes = bytes, .pieces = PIECES, .piece = piece};
}

static struct chunk *chunk_new(const struct toy *t, uint32_t rows) {
    struct chunk *c = calloc(1, sizeof *c);
    size_t in = sizeof(double) * rows;
    REQUIRE(c);
    c->in = t->backend->alloc(t->device, in);
    c->out = t->backend->alloc(t->device, in + rows);
    c->slot = t->backend->slot_open(t->device, 0);
    REQUIRE(c->in && c->out && c->slot);
    c->seen = (unsigned char *)(c->out + rows);
    c->args = (struct toy_args){.head = {.rows = rows, .block = 8},
                                .factor = 2,
                                .out = 0,
                                .seen = in,
                                .table = SHOAL_NOWHERE};
    c->place[0] = (struct shoal_place){SHOAL_READ, 0, in};
    c->place[1] = (struct shoal_place){SHOAL_WRITTEN, 0, in};
    c->place[2] = (struct shoal_place){SHOAL_WRITTEN, in, rows};
    c->fill = (struct shoal_fill){in, rows, 40};
    c->launch = (struct shoal_launch){.args = &c->args,
                                      .args_bytes = sizeof c->args,
                                      .read = cut(c->piece[0], c->in, in),
                                      .written = cut(c->piece[1], c->out, in + rows),
                                      .place = c->place,
                                      .places = 3,
                                      .fill = &c->fill,
                                      .fills = 1,
                                      .threads = 2,
                                      .log = t->log};
    for (uint32_t i = 0; i < rows; i++)
        c->in[i] = i;
    memset(c->out, 0x77, in + rows);
    return c;
}

static void chunk_free(const struct toy *t, struct chunk *c) {
    t->backend->slot_close(c->slot);
    t->backend->release(t->device, c->in);
    t->backend->release(t->device, c->out);
    free(c);
}

static shoal_code start(const struct toy *t, struct chunk *c) {
    return t->backend->start(t->module, c->slot, &c->launch, log_report(t->log));
}

static void run(const struct toy *t, struct chunk *c) {
    need(t, start(t, c), "start");
    need(t, t->backend->finish(c->slot, log_report(t->log)), "finish");
}

static void check_rows(const struct chunk *c, const double table[4]) {
    for (uint32_t i = 0; i < c->args.head.rows; i++)
        if (c->out[i] != c->args.factor * i + (table ? table[i % 4] : 0) || c->seen[i] != 41) {
            check_fail(__FILE__, __LINE__, "row %u: %g, seen %d", i, c->out[i], c->seen[i]);
            break;
        }
}

// ---- What a launch holds ------------------------------------------------------------------------

static size_t on_device(const shoal_log *log) {
    size_t n = 0;
    for (size_t i = 0; i < shoal_log_span_count(log); i++)
        n += shoal_log_span(log, i).kind == SHOAL_ON_TRACK;
    return n;
}

DEVICE_TEST(launch_many_pieces) {
    static const uint32_t rows[] = {1, 16, 17, 1000, 20000};
    struct toy t = toy_new(device);
    shoal_log_set_timing(t.log, SHOAL_TIMING_VERBOSE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct chunk *c = chunk_new(&t, rows[i] < PIECES ? PIECES : rows[i]);
        size_t before = on_device(t.log);
        run(&t, c);
        run(&t, c); // and again in the same slot
        check_rows(c, NULL);
        if (!device_test_is_cpu(device) && rows[i] == 20000) // large: each piece by itself
            CHECK_INT(on_device(t.log) - before, 2 * (2 * PIECES + 1));
        chunk_free(&t, c);
    }
    toy_free(&t);
}

DEVICE_TEST(launch_refused) {
    static const struct log_label stranger = {.name = "stranger"};
    struct toy t = toy_new(device);
    struct chunk *c = chunk_new(&t, 100), was = *c;
    c->piece[0][3].offset++; // a gap
    CHECK(start(&t, c) == SHOAL_DEVICE);
    memcpy(c->piece, was.piece, sizeof was.piece);
    c->piece[1][PIECES - 1].bytes++; // more than the block
    CHECK(start(&t, c) == SHOAL_DEVICE);
    memcpy(c->piece, was.piece, sizeof was.piece);
    c->piece[1][2].label = &stranger;
    CHECK(start(&t, c) == SHOAL_DEVICE);
    CHECK_HAS(rig_messages(t.log), "label of the time log");
    c->piece[1][2].label = NULL;
    CHECK(start(&t, c) == SHOAL_DEVICE);
    memcpy(c->piece, was.piece, sizeof was.piece);
    c->fill.bytes++;
    CHECK(start(&t, c) == SHOAL_DEVICE);
    c->fill = was.fill;
    c->launch.args_bytes = 8;
    CHECK(start(&t, c) == SHOAL_DEVICE);
    c->launch.args_bytes = was.launch.args_bytes;
    struct shoal_stretch stretch[2] = {{8, 8, c->in}, {8, 8, c->in}}; // one on top of the other
    c->launch.read.stretch = stretch;
    c->launch.read.stretches = 2;
    CHECK(start(&t, c) == SHOAL_DEVICE);
    CHECK_HAS(rig_messages(t.log), "bytes that lie elsewhere");
    stretch[1].offset = 100 * sizeof(double); // behind the block
    CHECK(start(&t, c) == SHOAL_DEVICE);
    c->launch.read.stretches = 1;
    CHECK(t.backend->reaches || start(&t, c) == SHOAL_DEVICE); // there is no elsewhere
    c->launch.read.stretches = 0;
    run(&t, c); // the slot is as good as new
    check_rows(c, NULL);
    chunk_free(&t, c);
    toy_free(&t);
}

// ---- Resident blocks ----------------------------------------------------------------------------

DEVICE_TEST(launch_resident) {
    struct toy t = toy_new(device);
    double table[] = {100, 200, 300, 400}, same[4];
    struct shoal_piece piece = {log_label_find("h2d_transfer_parameters"), 0, sizeof table};
    struct shoal_block block = {.data = table, .bytes = sizeof table, .pieces = 1, .piece = &piece};
    struct shoal_resident *resident = NULL;
    memcpy(same, table, sizeof table);
    shoal_log_set_timing(t.log, SHOAL_TIMING_VERBOSE);
    need(&t, t.backend->resident_open(t.device, &block, t.log, &resident, log_report(t.log)),
         "resident");
    REQUIRE(shoal_log_span_count(t.log) == 1);
    CHECK_STR(shoal_log_span(t.log, 0).label, "h2d_transfer_parameters");
    memset(table, 0, sizeof table); // it was the caller's for the time of the call
    struct chunk *c = chunk_new(&t, 1000);
    c->launch.resident = resident;
    c->args.table = 0;
    c->place[c->launch.places++] = (struct shoal_place){SHOAL_RESIDENT, 0, sizeof table};
    for (int i = 0; i < 3; i++) {
        c->args.factor = i;
        run(&t, c);
        check_rows(c, same);
    }
    c->place[3].bytes++;
    CHECK(start(&t, c) == SHOAL_DEVICE);
    piece.bytes++;
    struct shoal_resident *none = NULL;
    CHECK(t.backend->resident_open(t.device, &block, t.log, &none, NULL) == SHOAL_DEVICE);
    CHECK(!none);
    chunk_free(&t, c);
    t.backend->resident_close(resident);
    t.backend->resident_close(NULL);
    toy_free(&t);
}

DEVICE_TEST(launch_resident_without_memory) {
    if (device_test_is_cpu(device))
        return; // it would have to be there first
    struct toy t = toy_new(device);
    double table[1] = {0};
    struct shoal_piece piece = {log_label_find("h2d_transfer_parameters"), 0, (size_t)1 << 50};
    struct shoal_block block = {.data = table, .bytes = piece.bytes, .pieces = 1, .piece = &piece};
    struct shoal_resident *resident = NULL;
    CHECK(t.backend->resident_open(t.device, &block, NULL, &resident, log_report(t.log)) ==
          SHOAL_MEMORY);
    CHECK(!resident);
    CHECK_INT(shoal_log_message_count(t.log), 0); // the caller tries with less
    toy_free(&t);
}

// ---- Slots and modules --------------------------------------------------------------------------

// The kernel waits for what the calling thread does after the start.
DEVICE_TEST(launch_leaves_the_caller_free) {
    struct toy t = toy_new(device);
    struct chunk *c = chunk_new(&t, 64), *other = chunk_new(&t, 64);
    volatile int stop = 0;
    c->args.factor = -1;
    c->launch.stop = &stop;
    need(&t, start(&t, c), "start");
    if (device_test_is_cpu(device)) { // where a slot of a device may wait for another
        run(&t, other);
        check_rows(other, NULL);
    }
    stop = 1;
    CHECK(t.backend->finish(c->slot, log_report(t.log)) == SHOAL_STOPPED);
    CHECK(t.backend->finish(c->slot, log_report(t.log)) == SHOAL_OK); // nothing is under way
    chunk_free(&t, c);
    chunk_free(&t, other);
    toy_free(&t);
}

struct running {
    const struct toy *toy;
    struct chunk *chunk;
    double factor;
    int wrong;
};

static void *run_many(void *user) {
    struct running *r = user;
    const struct shoal_backend *b = r->toy->backend;
    struct chunk *c = r->chunk;
    for (int i = 0; i < 100; i++) {
        c->args.factor = r->factor + i;
        r->wrong += b->start(r->toy->module, c->slot, &c->launch, NULL) != SHOAL_OK;
        r->wrong += b->finish(c->slot, NULL) != SHOAL_OK;
        for (uint32_t k = 0; k < c->args.head.rows; k++)
            r->wrong += c->out[k] != c->args.factor * k;
    }
    return NULL;
}

DEVICE_TEST(launch_module_of_many_threads) {
    enum { THREADS = 3 };
    struct toy t = toy_new(device);
    struct running r[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct running){&t, chunk_new(&t, 40 + (uint32_t)i), 1000.0 * i, 0};
        r[i].chunk->launch.log = NULL; // a log is one thread's
        REQUIRE(pthread_create(&thread[i], NULL, run_many, &r[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK_INT(r[i].wrong, 0);
        chunk_free(&t, r[i].chunk);
    }
    toy_free(&t);
}

// ---- What a backend must not know ---------------------------------------------------------------

TEST(launch_backends_know_no_engine) {
    static const char *const words[] = {"kernels/ode",      "src/ode",    "\"ode/",
                                        "\"shoal_kernel\"", "SHOAL_ROW_", "status[",
                                        "totals",           "f_evals",    "samples"};
    glob_t found;
    REQUIRE(glob("src/device/*.[ch]", 0, NULL, &found) == 0);
    REQUIRE(glob("src/device/*/*.[ch]", GLOB_APPEND, NULL, &found) == 0);
    REQUIRE(glob("include/shoal/backend.h", GLOB_APPEND, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *text = check_read(found.gl_pathv[i]);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            CHECK_MSG(!strstr(text, words[k]), "%s knows of '%s'", found.gl_pathv[i], words[k]);
    }
    CHECK(found.gl_pathc > 30);
    globfree(&found);
}
