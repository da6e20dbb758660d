// SPDX-License-Identifier: MIT
// The CUDA backend on machines without a GPU: a fake driver (tests/fakes/libcuda.c) shows what is
// asked of the real one, in which order, and that nothing leaks; NVRTC needs no device. What only a
// device can show is in test_backend*.c, run by `make test-gpu`.
#include "check.h"
#include "fake_gpu.h"
#include "rig.h"

#include "../kernels/ode/abi.h"
#include "cache/cache.h"
#include "device/cuda/cuda.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- The fake driver ----------------------------------------------------------------------------

// As little of a cubin as passes.
static struct shoal_bytes small_cubin(unsigned arch) {
    static const char section_name[] = ".text.shoal_kernel";
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, 8},
                       .e_machine = 190,
                       .e_flags = arch << 8,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shoff = sizeof(Elf64_Ehdr),
                       .e_shnum = 1};
    Elf64_Shdr section = {.sh_type = SHT_STRTAB,
                          .sh_offset = sizeof head + sizeof section,
                          .sh_size = sizeof section_name};
    struct shoal_bytes b = {.length = sizeof head + sizeof section + sizeof section_name};
    b.data = malloc(b.length);
    REQUIRE(b.data);
    memcpy(b.data, &head, sizeof head);
    memcpy(b.data + sizeof head, &section, sizeof section);
    memcpy(b.data + sizeof head + sizeof section, section_name, sizeof section_name);
    return b;
}

static const char entry[] = "shoal_kernel";

struct stage {
    struct fake_cuda *fake;
    shoal_log *log;
    struct shoal_device *device;
    struct shoal_module *module;
    struct shoal_facts facts;
    struct shoal_slot *slot[OFFLOAD_SLOTS];
};

static struct stage stage_new(void) {
    struct stage s = {.fake = use_fake_cuda(), .log = shoal_log_new()};
    struct shoal_bytes b = small_cubin(90);
    REQUIRE(cuda_backend.open(0, NULL, false, &s.device, log_report(s.log)) == SHOAL_OK);
    shoal_code code =
        cuda_backend.load(s.device, &b, entry, &s.module, &s.facts, log_report(s.log));
    CHECK_MSG(code == SHOAL_OK, "%s", rig_messages(s.log));
    REQUIRE(code == SHOAL_OK);
    free(b.data);
    for (uint32_t i = 0; i < OFFLOAD_SLOTS; i++) {
        s.slot[i] = cuda_backend.slot_open(s.device, i);
        REQUIRE(s.slot[i]);
    }
    return s;
}

static void stage_free(struct stage *s) {
    const struct fake_cuda *f = s->fake;
    for (uint32_t i = 0; i < OFFLOAD_SLOTS; i++)
        cuda_backend.slot_close(s->slot[i]);
    cuda_backend.unload(s->module);
    cuda_backend.close(s->device);
    shoal_log_free(s->log);
    CHECK_INT(f->contexts, 0);
    CHECK_INT(f->modules, 0);
    CHECK_INT(f->streams, 0);
    CHECK_INT(f->events, 0);
    CHECK_INT(f->buffers, 0);
    CHECK_INT(f->host_blocks, 0);
    CHECK_INT(f->pushed, 0);
}

// A chunk for the kernel of the fake: values are three times the inputs.
struct chunk {
    struct shoal_call call;
    struct shoal_launch launch;
    struct shoal_piece read, written[2];
    const struct shoal_piece *pieces; // of read, where there is more than the one
    struct shoal_place place[4];
    struct shoal_fill fill[2];
    unsigned rows;
    double *in, *values;
    unsigned char *status;
    const unsigned long long *totals;
};

static void describe(struct chunk *c) {
    size_t values = sizeof(double) * c->rows, status = (c->rows + 7u) / 8 * 8;
    size_t totals = 8 * TOTAL_COUNT;
    c->call = (struct shoal_call){
        .head = {.rows = c->rows}, .totals = 0, .status = totals, .values = totals + status};
    c->read = (struct shoal_piece){log_label_find("h2d_transfer_parameters"), 0, values};
    c->written[0] =
        (struct shoal_piece){log_label_find("d2h_transfer_status_codes"), 0, totals + status};
    c->written[1] =
        (struct shoal_piece){log_label_find("d2h_transfer_state"), totals + status, values};
    c->place[0] = (struct shoal_place){SHOAL_READ, 0, values};
    c->place[1] = (struct shoal_place){SHOAL_WRITTEN, 0, totals};
    c->place[2] = (struct shoal_place){SHOAL_WRITTEN, totals, c->rows};
    c->place[3] = (struct shoal_place){SHOAL_WRITTEN, totals + status, values};
    c->fill[0] = (struct shoal_fill){totals, c->rows, SHOAL_ROW_PENDING};
    c->fill[1] = (struct shoal_fill){0, totals, 0};
}

static struct chunk chunk_new(struct stage *s, unsigned rows) {
    struct chunk c = {.rows = rows};
    describe(&c);
    size_t bytes = c.written[1].offset + c.written[1].bytes;
    char *in = cuda_backend.alloc(s->device, c.read.bytes);
    char *out = cuda_backend.alloc(s->device, bytes);
    REQUIRE(in && out);
    c.in = (double *)(void *)in;
    c.totals = (unsigned long long *)(void *)out;
    c.status = (unsigned char *)out + c.call.status;
    c.values = (double *)(void *)(out + c.call.values);
    c.launch.read = (struct shoal_block){.data = in, .bytes = c.read.bytes, .pieces = 1};
    c.launch.written = (struct shoal_block){.data = out, .bytes = bytes, .pieces = 2};
    for (unsigned i = 0; i < rows; i++)
        c.in[i] = i;
    memset(out, 0x77, bytes);
    return c;
}

static shoal_code begin(struct stage *s, uint32_t slot, struct chunk *c) {
    struct shoal_launch *l = &c->launch;
    l->args = &c->call;
    l->args_bytes = sizeof c->call;
    l->read.piece = c->pieces ? c->pieces : &c->read;
    l->written.piece = c->written;
    l->place = c->place;
    l->places = 4;
    l->fill = c->fill;
    l->fills = 2;
    l->log = s->log;
    return cuda_backend.start(s->module, s->slot[slot], l, log_report(s->log));
}

static shoal_code wait_for(struct stage *s, uint32_t slot) {
    return cuda_backend.finish(s->slot[slot], log_report(s->log));
}

static void check_done(const struct chunk *c) {
    for (unsigned i = 0; i < c->rows; i++)
        if (c->values[i] != 3.0 * i || c->status[i]) {
            check_fail(__FILE__, __LINE__, "row %u: %g, status %d", i, c->values[i], c->status[i]);
            break;
        }
    CHECK_INT(c->totals[TOTAL_STEPS], c->rows);
    CHECK_INT(c->totals[TOTAL_F_EVALS], 0);
}

static void chunk_end(struct stage *s, struct chunk *c) {
    cuda_backend.release(s->device, c->launch.read.data);
    cuda_backend.release(s->device, c->launch.written.data);
}

// ---- Chunks -------------------------------------------------------------------------------------

TEST(cuda_small_chunk) {
    struct stage s = stage_new();
    struct chunk c = chunk_new(&s, 8);
    for (int i = 0; i < 3; i++) {
        memset(c.launch.written.data, 0x77, c.launch.written.bytes);
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
        CHECK(c.values[0] != 0); // nothing is there before it is waited for
        REQUIRE(wait_for(&s, 0) == SHOAL_OK);
        check_done(&c);
    }
    CHECK_INT(s.fake->copies_in, 3); // one a block, and nothing else
    CHECK_INT(s.fake->copies_out, 3);
    CHECK_INT(s.fake->fills, 1); // counter and stop, once for all
    CHECK_INT(s.fake->grid, 1);
    CHECK_INT(s.fake->block, 32);
    chunk_end(&s, &c);
    stage_free(&s);
}

TEST(cuda_small_chunk_that_writes_to_the_host) {
    struct stage s = stage_new();
    for (unsigned rows = 1; rows < 100; rows += 31) { // 32 are one warp
        struct chunk c = chunk_new(&s, rows);
        int copied = s.fake->copies_out;
        c.launch.writes_only = true;
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
        CHECK(c.values[0] != 0);
        CHECK_INT(c.status[0], 0x77);
        REQUIRE(wait_for(&s, 0) == SHOAL_OK);
        check_done(&c);
        CHECK_INT(s.fake->copies_out - copied, rows > 32);
        chunk_end(&s, &c);
    }
    stage_free(&s);
}

// A single warp gets its inputs with its arguments, and says itself that it is done.
TEST(cuda_lone_warp) {
    static const struct {
        unsigned rows;
        bool lone, copied, hasty; // hasty: it said that it was done before it had ended
    } table[] = {{1, true, false, true},
                 {31, true, false, true},
                 {32, true, false, true},
                 {33, true, true, false},
                 {32, false, true, false}};
    for (size_t i = 0; i < 2 * sizeof table / sizeof *table; i++) {
        struct stage s = stage_new();
        bool timed = i % 2, hasty = table[i / 2].hasty && !timed;
        int waits = s.fake->waits;
        shoal_log_set_timing(s.log, timed ? SHOAL_TIMING_VERBOSE : SHOAL_TIMING_NONE);
        struct chunk c = chunk_new(&s, table[i / 2].rows);
        c.launch.writes_only = true;
        c.launch.lone = table[i / 2].lone;
        for (int again = 0; again < 3; again++) {
            int copies = s.fake->copies_in;
            memset(c.launch.written.data, 0x77, c.launch.written.bytes);
            c.in[0] = 0;
            REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
            c.in[0] = 1e9; // it is not read any more
            CHECK(c.values[0] != 0);
            REQUIRE(wait_for(&s, 0) == SHOAL_OK);
            check_done(&c);
            CHECK_INT(s.fake->copies_in - copies, table[i / 2].copied);
        }
        c.in[0] = 0;
        chunk_end(&s, &c);
        struct fake_cuda *fake = s.fake;
        stage_free(&s);
        CHECK_INT(fake->waits - waits, hasty);
    }
}

// More inputs than arguments hold are copied; its word is waited for all the same.
TEST(cuda_lone_warp_with_many_inputs) {
    struct stage s = stage_new();
    struct chunk c = chunk_new(&s, 4);
    cuda_backend.release(s.device, c.launch.read.data);
    for (size_t words = SHOAL_LONE_WORDS - 1; words <= SHOAL_LONE_WORDS + 1; words++) {
        int copies = s.fake->copies_in;
        c.read.bytes = 4 * words;
        c.in = c.launch.read.data = cuda_backend.alloc(s.device, c.read.bytes);
        REQUIRE(c.in);
        c.launch.read.bytes = c.read.bytes;
        for (unsigned i = 0; i < 4; i++)
            c.in[i] = i;
        c.launch.writes_only = c.launch.lone = true;
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK && wait_for(&s, 0) == SHOAL_OK);
        check_done(&c);
        CHECK_INT(s.fake->copies_in - copies, words > SHOAL_LONE_WORDS);
        cuda_backend.release(s.device, c.launch.read.data);
    }
    c.launch.read.data = NULL;
    chunk_end(&s, &c);
    stage_free(&s);
}

TEST(cuda_chunks_in_flight) {
    struct stage s = stage_new();
    struct chunk c[OFFLOAD_SLOTS];
    for (uint32_t i = 0; i < OFFLOAD_SLOTS; i++) {
        c[i] = chunk_new(&s, 9000 + i);
        REQUIRE(begin(&s, i, &c[i]) == SHOAL_OK);
    }
    CHECK_INT(s.fake->launches, OFFLOAD_SLOTS);
    CHECK_INT(s.fake->copies_in, OFFLOAD_SLOTS);
    CHECK_INT(s.fake->copies_out, 2 * OFFLOAD_SLOTS); // too large to be copied as one
    CHECK_INT(s.fake->fills, 3 * OFFLOAD_SLOTS);      // status, totals, counter and stop
    for (uint32_t i = 0; i < OFFLOAD_SLOTS; i++) {
        REQUIRE(wait_for(&s, i) == SHOAL_OK);
        check_done(&c[i]);
        chunk_end(&s, &c[i]);
    }
    stage_free(&s);
}

TEST(cuda_shapes) { // the fake holds 2 blocks on each of 2 multiprocessors
    static const struct {
        unsigned rows, refill, grid, block, refilled;
    } table[] = {
        {1, 1, 1, 32, 0},    {128, 1, 4, 32, 0},    {129, 1, 4, 32, 1},
        {5000, 1, 4, 32, 1}, {5000, 0, 40, 128, 0}, {200, 0, 7, 32, 0},
    };
    struct stage s = stage_new();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct chunk c = chunk_new(&s, table[i].rows);
        c.call.head.refill = table[i].refill && c.rows > s.facts.resident;
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
        REQUIRE(wait_for(&s, 0) == SHOAL_OK);
        check_done(&c);
        CHECK_INT(s.fake->grid, table[i].grid);
        CHECK_INT(s.fake->block, table[i].block);
        CHECK_INT(s.fake->refill, table[i].refilled);
        chunk_end(&s, &c);
    }
    CHECK_INT(s.facts.registers, 42);
    CHECK_INT(s.facts.spills, 16);
    CHECK(s.facts.occupancy == 1);
    CHECK_INT(s.facts.resident, 128);
    stage_free(&s);
}

TEST(cuda_spans) {
    static const char *const labels[] = {"h2d_transfer_parameters", "kernel_launch",
                                         "d2h_transfer_status_codes", "d2h_transfer_state"};
    struct stage s = stage_new();
    shoal_log_set_timing(s.log, SHOAL_TIMING_VERBOSE);
    struct chunk c = chunk_new(&s, 9000);
    REQUIRE(begin(&s, 1, &c) == SHOAL_OK);
    REQUIRE(wait_for(&s, 1) == SHOAL_OK);
    CHECK_STR(shoal_log_span(s.log, 0).label, "device_memory"); // the first time
    REQUIRE(shoal_log_clear(s.log) == SHOAL_OK);
    REQUIRE(begin(&s, 1, &c) == SHOAL_OK);
    REQUIRE(wait_for(&s, 1) == SHOAL_OK);
    REQUIRE(shoal_log_span_count(s.log) == 4);
    uint64_t end = 0;
    for (size_t i = 0; i < 4; i++) {
        shoal_span e = shoal_log_span(s.log, i);
        CHECK_STR(e.label, labels[i]);
        CHECK_STR(e.track, "cuda:0 stream 1");
        CHECK_INT(e.dur_ns, 1000000); // each op of the fake takes a millisecond
        CHECK(i == 0 || e.t0_ns == end);
        end = e.t0_ns + e.dur_ns;
    }
    chunk_end(&s, &c);
    stage_free(&s);
}

// Events are made as needed, for as many pieces as there are.
TEST(cuda_many_pieces) {
    enum { PIECES = 20 };
    struct stage s = stage_new();
    struct shoal_piece piece[PIECES];
    struct chunk c = chunk_new(&s, 10000);
    shoal_log_set_timing(s.log, SHOAL_TIMING_VERBOSE);
    REQUIRE(begin(&s, 0, &c) == SHOAL_OK && wait_for(&s, 0) == SHOAL_OK);
    int events = s.fake->events;
    for (uint32_t i = 0; i < PIECES; i++)
        piece[i] =
            (struct shoal_piece){c.read.label, c.read.bytes / PIECES * i, c.read.bytes / PIECES};
    REQUIRE(piece[PIECES - 1].offset + piece[PIECES - 1].bytes == c.read.bytes);
    c.launch.read.pieces = PIECES;
    c.pieces = piece;
    for (int i = 0; i < 2; i++) {
        shoal_log_clear(s.log);
        memset(c.launch.written.data, 0x77, c.launch.written.bytes);
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK && wait_for(&s, 0) == SHOAL_OK);
        check_done(&c);
        CHECK_INT(shoal_log_span_count(s.log), PIECES + 3);
        CHECK_INT(s.fake->events, events + PIECES - 1);
    }
    chunk_end(&s, &c);
    stage_free(&s);
}

// A slot serves any module of its device.
// Bytes that lie elsewhere: at either end, one behind the other, across pieces, none of its own.
TEST(cuda_stretches) {
    static const size_t cuts[][6] = {
        {0, 1, 9000}, {5, 17, 4000, 4000, 8999}, {0, 9000}, {8999, 9000}};
    struct stage s = stage_new();
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        for (int small = 0; small < 2; small++) {
            unsigned rows = small ? 9 : 9000;
            struct chunk c = chunk_new(&s, rows);
            struct shoal_piece piece[2] = {c.read, c.read};
            double *in = calloc(rows, sizeof *in), *out = calloc(rows, sizeof *out);
            struct shoal_stretch read[8], written[8];
            uint32_t n = 0;
            REQUIRE(in && out);
            piece[0].bytes = piece[1].offset = 3 * sizeof *in + 5;
            piece[1].bytes -= piece[0].bytes;
            c.pieces = piece;
            c.launch.read.pieces = 2;
            for (int k = 0; k < 5 && cuts[i][k + 1]; k++) {
                size_t first = cuts[i][k] * rows / 9000, end = cuts[i][k + 1] * rows / 9000;
                for (size_t r = first; r < end; r++) {
                    in[r] = (double)r;
                    c.in[r] = -1;
                }
                if (end > first) {
                    size_t at = first * sizeof *in, bytes = (end - first) * sizeof *in;
                    read[n] = (struct shoal_stretch){at, bytes, in + first};
                    written[n++] = (struct shoal_stretch){c.call.values + at, bytes, out + first};
                }
            }
            c.launch.read.stretch = read;
            c.launch.written.stretch = written;
            c.launch.read.stretches = c.launch.written.stretches = n;
            REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
            REQUIRE(wait_for(&s, 0) == SHOAL_OK);
            for (uint32_t k = 0; k < n; k++) { // elsewhere, and nowhere else
                double *own = c.values + (written[k].offset - c.call.values) / sizeof *own;
                CHECK(memcmp(own, written[k].host, written[k].bytes) != 0);
                memcpy(own, written[k].host, written[k].bytes);
            }
            check_done(&c);
            chunk_end(&s, &c);
            free(in);
            free(out);
        }
    stage_free(&s);
}

TEST(cuda_reaches_what_is_pinned) {
    struct stage s = stage_new();
    char plain[64], *pinned = cuda_backend.alloc(s.device, 1000);
    CHECK(cuda_backend.reaches(s.device, pinned, 1000));
    CHECK(cuda_backend.reaches(s.device, pinned + 999, 1));
    CHECK(!cuda_backend.reaches(s.device, pinned, 1001));
    CHECK(!cuda_backend.reaches(s.device, pinned, 0));
    CHECK(!cuda_backend.reaches(s.device, plain, sizeof plain));
    cuda_backend.release(s.device, pinned);
    CHECK(!cuda_backend.reaches(s.device, pinned, 1000));
    stage_free(&s);
}

TEST(cuda_slot_of_two_modules) {
    struct stage s = stage_new();
    struct shoal_module *first = s.module, *second = NULL;
    struct shoal_bytes b = small_cubin(90);
    REQUIRE(cuda_backend.load(s.device, &b, entry, &second, NULL, NULL) == SHOAL_OK);
    struct chunk c = chunk_new(&s, 8), d = chunk_new(&s, 8);
    for (int i = 0; i < 3; i++) {
        s.module = i % 2 ? second : first;
        memset(c.launch.written.data, 0x77, c.launch.written.bytes);
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK && begin(&s, 1, &d) == SHOAL_OK);
        REQUIRE(wait_for(&s, 0) == SHOAL_OK && wait_for(&s, 1) == SHOAL_OK);
        check_done(&c);
        check_done(&d);
    }
    CHECK_INT(s.fake->streams, 2);
    CHECK_INT(s.fake->fills, 2); // the words of each slot, once
    CHECK_INT(s.fake->buffers, 4);
    s.module = first;
    cuda_backend.unload(second); // while the slots are there
    REQUIRE(begin(&s, 0, &c) == SHOAL_OK && wait_for(&s, 0) == SHOAL_OK);
    free(b.data);
    chunk_end(&s, &c);
    chunk_end(&s, &d);
    stage_free(&s);
}

TEST(cuda_resident) {
    struct stage s = stage_new();
    double table[] = {0.5, 7};
    struct shoal_piece piece[] = {{log_label_find("h2d_transfer_parameters"), 0, 8},
                                  {log_label_find("h2d_transfer_initial_values"), 8, 8}};
    struct shoal_block block = {.data = table, .bytes = sizeof table, .pieces = 2, .piece = piece};
    struct shoal_resident *resident = NULL;
    shoal_log_set_timing(s.log, SHOAL_TIMING_VERBOSE);
    REQUIRE(cuda_backend.resident_open(s.device, &block, s.log, &resident, NULL) == SHOAL_OK);
    CHECK_INT(s.fake->copies_in, 2);
    CHECK_INT(s.fake->streams, 0);
    REQUIRE(shoal_log_span_count(s.log) == 2);
    CHECK_STR(shoal_log_span(s.log, 1).label, "h2d_transfer_initial_values");
    CHECK_STR(shoal_log_span(s.log, 1).track, "cuda:0");
    table[0] = 99;
    struct chunk c = chunk_new(&s, 8);
    c.launch.resident = resident;
    for (int k = 0; k < 2; k++) {
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK && wait_for(&s, 0) == SHOAL_OK);
        for (unsigned i = 0; i < c.rows; i++)
            CHECK(c.values[i] == 3.0 * i + 0.5);
    }
    CHECK_INT(s.fake->copies_in, 4); // it was there
    c.place[0] = (struct shoal_place){SHOAL_RESIDENT, 8, 9};
    CHECK(begin(&s, 0, &c) == SHOAL_DEVICE);
    cuda_backend.resident_close(resident);
    chunk_end(&s, &c);
    stage_free(&s);
}

// ---- Faults -------------------------------------------------------------------------------------

TEST(cuda_memory) {
    struct stage s = stage_new();
    struct chunk large = chunk_new(&s, 100000), small = chunk_new(&s, 100);
    s.fake->memory = 1 << 20;
    CHECK(begin(&s, 0, &large) == SHOAL_MEMORY);
    CHECK_INT(shoal_log_message_count(s.log), 0); // the caller tries with less
    CHECK_INT(s.fake->launches, 0);
    REQUIRE(begin(&s, 0, &small) == SHOAL_OK);
    REQUIRE(wait_for(&s, 0) == SHOAL_OK);
    check_done(&small);
    chunk_end(&s, &large);
    chunk_end(&s, &small);
    stage_free(&s);
}

static void check_message(shoal_log *log, const char *words) {
    char *messages = rig_messages(log);
    CHECK_MSG(strstr(messages, words), "'%s' is not in: %s", words, messages);
    free(messages);
}

TEST(cuda_errors) {
    static const struct {
        const char *function;
        int result;
        const char *words;
    } table[] = {
        {"cuLaunchKernel", 719,
         "cuda: launching the kernel failed: a fake error (CUDA_ERROR_FAKE)"},
        {"cuMemcpyHtoDAsync_v2", 999, "cuda: copying to the device failed"},
        {"cuMemcpyDtoHAsync_v2", 999, "cuda: copying from the device failed"},
        {"cuEventQuery", 700, "this process cannot use the device any more"},
        {"cuEventRecord", 999, "cuda: copying from the device failed"},
    };
    struct stage s = stage_new();
    struct chunk c = chunk_new(&s, 100);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        s.fake->fail = table[i].function;
        s.fake->fail_result = table[i].result;
        shoal_code code = begin(&s, 0, &c);
        if (code == SHOAL_OK)
            code = wait_for(&s, 0);
        CHECK(code == SHOAL_DEVICE);
        check_message(s.log, table[i].words);
        s.fake->fail = NULL;
        REQUIRE(begin(&s, 0, &c) == SHOAL_OK); // the slot is as good as new
        REQUIRE(wait_for(&s, 0) == SHOAL_OK);
        check_done(&c);
    }
    chunk_end(&s, &c);
    stage_free(&s);
}

TEST(cuda_lone_warp_that_fails) {
    struct stage s = stage_new();
    struct chunk c = chunk_new(&s, 8);
    c.launch.writes_only = c.launch.lone = true;
    shoal_log_set_timing(s.log, SHOAL_TIMING_NONE);
    s.fake->fail = "cuStreamQuery";
    s.fake->fail_result = 700;
    REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
    CHECK(wait_for(&s, 0) == SHOAL_DEVICE);
    check_message(s.log, "cuda: running the kernel failed");
    s.fake->fail = NULL;
    s.fake->silent = true; // a kernel that has no such parameter has not seen its inputs
    REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
    CHECK(wait_for(&s, 0) == SHOAL_DEVICE);
    s.fake->silent = false;
    REQUIRE(begin(&s, 0, &c) == SHOAL_OK && wait_for(&s, 0) == SHOAL_OK);
    check_done(&c);
    chunk_end(&s, &c);
    stage_free(&s);
}

// Every call that loading makes fails once; nothing is left behind.
TEST(cuda_load_errors) {
    static const char *const functions[] = {"cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx",
                                            "cuModuleGetFunction",
                                            "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
    struct fake_cuda *fake = use_fake_cuda();
    struct shoal_bytes b = small_cubin(90);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct stage s = {.fake = fake, .log = shoal_log_new()};
        REQUIRE(cuda_backend.open(0, NULL, false, &s.device, NULL) == SHOAL_OK);
        fake->fail = functions[i];
        fake->fail_result = 46;
        CHECK(cuda_backend.load(s.device, &b, entry, &s.module, &s.facts, log_report(s.log)) ==
              SHOAL_DEVICE);
        CHECK(!s.module);
        CHECK_INT(shoal_log_message_count(s.log), 1);
        fake->fail = NULL;
        stage_free(&s);
    }
    free(b.data);
}

static void count_calls(void *user, uint32_t rows) {
    (void)rows;
    struct chunk *c = user;
    static int stop;
    stop = 1; // on the first call
    c->launch.stop = &stop;
}

TEST(cuda_stop) {
    struct stage s = stage_new();
    struct chunk c = chunk_new(&s, 50), second = chunk_new(&s, 50);
    int never = 0;
    s.fake->slow = true;
    c.launch.progress = count_calls;
    c.launch.user = &c;
    second.launch.stop = &never;
    REQUIRE(begin(&s, 0, &c) == SHOAL_OK);
    CHECK(wait_for(&s, 0) == SHOAL_STOPPED);
    for (unsigned i = 0; i < c.rows; i++)
        CHECK(c.status[i] == SHOAL_ROW_PENDING);
    s.fake->slow = false;
    REQUIRE(begin(&s, 0, &second) == SHOAL_OK); // the stop is over
    REQUIRE(wait_for(&s, 0) == SHOAL_OK);
    check_done(&second);
    chunk_end(&s, &c);
    chunk_end(&s, &second);
    stage_free(&s);
}

// A stop is for the chunks that were asked, in whatever slot.
TEST(cuda_stop_of_one_slot) {
    struct stage s = stage_new();
    struct chunk c = chunk_new(&s, 50), other = chunk_new(&s, 50);
    int yes = 1, never = 0;
    s.fake->slow = true;
    c.launch.stop = &yes;
    other.launch.stop = &never;
    REQUIRE(begin(&s, 0, &c) == SHOAL_OK && begin(&s, 1, &other) == SHOAL_OK);
    CHECK(wait_for(&s, 0) == SHOAL_STOPPED);
    s.fake->slow = false;
    CHECK(wait_for(&s, 1) == SHOAL_OK);
    check_done(&other);
    chunk_end(&s, &c);
    chunk_end(&s, &other);
    stage_free(&s);
}

// Every call that a resident block needs fails once; nothing is left behind.
TEST(cuda_resident_errors) {
    static const struct {
        const char *function;
        int result;
        shoal_code code;
    } table[] = {{"cuMemAlloc_v2", 2, SHOAL_MEMORY},
                 {"cuStreamCreate", 999, SHOAL_DEVICE},
                 {"cuMemcpyHtoDAsync_v2", 999, SHOAL_DEVICE},
                 {"cuStreamSynchronize", 700, SHOAL_DEVICE}};
    struct stage s = stage_new();
    double number = 1;
    struct shoal_piece piece = {log_label_find("h2d_transfer_parameters"), 0, sizeof number};
    struct shoal_block block = {
        .data = &number, .bytes = sizeof number, .pieces = 1, .piece = &piece};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct shoal_resident *resident = NULL;
        size_t before = shoal_log_message_count(s.log);
        s.fake->fail = table[i].function;
        s.fake->fail_result = table[i].result;
        CHECK_INT(cuda_backend.resident_open(s.device, &block, s.log, &resident, log_report(s.log)),
                  table[i].code);
        CHECK(!resident);
        CHECK_INT(shoal_log_message_count(s.log) - before, table[i].code != SHOAL_MEMORY);
        s.fake->fail = NULL;
        CHECK_INT(s.fake->buffers, 0);
        CHECK_INT(s.fake->streams, 0);
    }
    stage_free(&s);
}

TEST(cuda_old_driver) {
    char why[192];
    struct fake_cuda *fake = use_fake_cuda();
    fake->version = 11080;
    CHECK_INT(cuda_backend.count(why, sizeof why), 0);
    CHECK_STR(why, "the driver is too old: it is made for CUDA 11.8, and 12.0 is needed");
}

TEST(cuda_no_device) {
    char why[192];
    struct fake_cuda *fake = use_fake_cuda();
    fake->fail = "cuInit";
    fake->fail_result = 100;
    CHECK_INT(cuda_backend.count(why, sizeof why), 0);
    CHECK_STR(why, "the driver found no CUDA device");
}

TEST(cuda_described) {
    struct shoal_card card;
    char why[192];
    use_fake_cuda();
    REQUIRE(cuda_backend.count(why, sizeof why) == 1);
    cuda_backend.describe(0, &card);
    CHECK_INT(card.units, 2);
    CHECK_STR(card.identity, "Fake 9000, sm_90, 2, 1073741824 bytes, CUDA 13000, fake.so");
    CHECK_STR(card.text, "Fake 9000, sm_90, 2 multiprocessors, 1 GiB, driver for CUDA 13.0");
}

// ---- Cubins -------------------------------------------------------------------------------------

TEST(cuda_cubin_checked) {
    struct shoal_device *d = NULL;
    struct shoal_module *m = NULL;
    REQUIRE(cuda_backend.open(0, "sm_90", false, &d, NULL) == SHOAL_OK && d);
    struct shoal_bytes whole = small_cubin(90), other = small_cubin(80);
    CHECK(cuda_backend.load(d, &whole, entry, NULL, NULL, NULL) == SHOAL_OK);
    CHECK(cuda_backend.load(d, &other, entry, NULL, NULL, NULL) == SHOAL_DEVICE); // made for sm_80
    CHECK(cuda_backend.load(d, &whole, entry, &m, NULL, NULL) ==
          SHOAL_DEVICE); // nothing to load it into
    for (size_t n = 0; n < whole.length; n++) {
        struct shoal_bytes part = {malloc(n ? n : 1), n}; // as long as it says, for sanitizers
        memcpy(part.data, whole.data, n);
        CHECK_MSG(cuda_backend.load(d, &part, entry, NULL, NULL, NULL) != SHOAL_OK,
                  "%zu bytes pass", n);
        free(part.data);
    }
    free(whole.data);
    free(other.data);
    cuda_backend.close(d);
}

TEST(cuda_targets) {
    static const struct {
        const char *name;
        bool ours;
    } table[] = {{"sm_80", true},    {"sm_90a", true},  {"sm_120", true},     {"sm_", false},
                 {"sm_9", false},    {"sm_90x", false}, {"x86-64-v3", false}, {"sm_90 -I/", false},
                 {"sm_90aa", false}, {"sm_1234", false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct shoal_device *d = NULL;
        CHECK(cuda_backend.open(0, table[i].name, false, &d, NULL) == SHOAL_OK);
        CHECK_MSG((d != NULL) == table[i].ours, "%s", table[i].name);
        cuda_backend.close(d);
    }
}

// ---- NVRTC --------------------------------------------------------------------------------------

static const char toy[] = "extern \"C\" __global__ void shoal_kernel(double *x) { x[0] = 1; }";

static struct shoal_device *open_nvrtc(void) {
    struct shoal_device *d = NULL;
    REQUIRE(cuda_backend.open(0, "sm_90", false, &d, NULL) == SHOAL_OK && d);
    if (cuda_nvrtc_load(&d->nvrtc, NULL, 0, NULL) != SHOAL_OK)
        check_skip("NVRTC is not installed");
    return d;
}

static shoal_code build(struct shoal_device *d, const char *text, const volatile int *stop,
                        struct shoal_bytes *out, shoal_log *log) {
    struct shoal_kernel_text k = {.text = text, .length = strlen(text), .digest = "00"};
    return cuda_backend.build(d, &k, stop, out, log_report(log));
}

TEST(cuda_nvrtc) {
    struct shoal_device *d = open_nvrtc();
    struct shoal_bytes b = {0}, again = {0};
    shoal_log *log = shoal_log_new();
    const volatile int stop = 1;
    REQUIRE(build(d, toy, NULL, &b, log) == SHOAL_OK);
    CHECK(cuda_backend.load(d, &b, entry, NULL, NULL, log_report(log)) == SHOAL_OK);
    CHECK(build(d, toy, &stop, &again, log) == SHOAL_STOPPED);
    REQUIRE(build(d, toy, NULL, &again, log) == SHOAL_OK);
    CHECK(again.length == b.length && !memcmp(b.data, again.data, b.length));
    free(b.data);
    free(again.data);
    if (d->nvrtc.major >= 13) {
        struct shoal_kernel_text k = {.text = toy, .length = strlen(toy), .hurried = true};
        CHECK(cuda_backend.build(d, &k, NULL, &b, log_report(log)) == SHOAL_OK);
        free(b.data);
    }
    CHECK(build(d, "#error swordfish", NULL, &b, log) == SHOAL_DEVICE);
    check_message(log, "swordfish");
    CHECK(build(d, "#include <stdio.h>\n", NULL, &b, log) == SHOAL_DEVICE);
    snprintf(d->arch, sizeof d->arch, "sm_999");
    CHECK(build(d, toy, NULL, &b, log) == SHOAL_DEVICE);
    check_message(log, "for sm_999");
    shoal_log_free(log);
    cuda_backend.close(d);
}

TEST(cuda_nvrtc_missing) {
    struct shoal_device *d = NULL;
    struct shoal_bytes b = {0};
    shoal_log *log = shoal_log_new();
    setenv("SHOAL_NVRTC", check_path("nothing.so"), 1);
    REQUIRE(cuda_backend.open(0, "sm_90", false, &d, NULL) == SHOAL_OK);
    CHECK(build(d, toy, NULL, &b, log) == SHOAL_DEVICE);
    check_message(log, "nothing.so");
    shoal_log_free(log);
    cuda_backend.close(d);
}

static void key_of(const char *target, bool fast_math, struct cache *probes, char hex[KEY_HEX]) {
    struct shoal_device *d = NULL;
    struct key_record key = {0};
    unsigned char digest[KEY_BYTES];
    struct shoal_kernel_text k = {.text = toy, .length = sizeof toy - 1, .digest = "00"};
    REQUIRE(cuda_backend.open(0, target, fast_math, &d, NULL) == SHOAL_OK && d);
    REQUIRE(cuda_backend.identity(d, &k, probes, NULL, &key, NULL) == SHOAL_OK);
    key_digest(&key, digest);
    key_hex(digest, hex);
    key_free(&key);
    cuda_backend.close(d);
}

// Words of exactness would win over those of speed.
TEST(cuda_fast_math_is_all_or_nothing) {
    for (int fast = 0; fast < 2; fast++) {
        char arch[48];
        const char *options[CUDA_OPTIONS];
        struct shoal_device *d = NULL;
        REQUIRE(cuda_backend.open(0, "sm_90", fast, &d, NULL) == SHOAL_OK);
        int exact = 0, count = cuda_options(d, false, arch, options), speed = 0;
        for (int i = 0; i < count; i++) {
            exact += !strncmp(options[i], "--prec", 6) || !strncmp(options[i], "--ftz", 5) ||
                     !strncmp(options[i], "--fmad", 6);
            speed += !strcmp(options[i], "--use_fast_math");
        }
        CHECK_INT(exact, fast ? 0 : 4);
        CHECK_INT(speed, fast);
        cuda_backend.close(d);
    }
}

// An NVRTC that can be told to hurry is, in words that are part of the key.
TEST(cuda_hurries) {
    use_fake_nvrtc("aa01");
    for (int newer = 0; newer < 2; newer++)
        for (int fast = 0; fast < 2; fast++) {
            struct shoal_device *d = NULL;
            unsigned char digest[2][KEY_BYTES];
            if (newer)
                setenv("FAKE_NVRTC_MAJOR", "13", 1);
            REQUIRE(cuda_backend.open(0, "sm_90", fast, &d, NULL) == SHOAL_OK);
            for (int hurried = 0; hurried < 2; hurried++) {
                struct shoal_kernel_text k = {.text = toy, .digest = "00", .hurried = hurried};
                struct key_record key = {0};
                REQUIRE(cuda_backend.identity(d, &k, NULL, NULL, &key, NULL) == SHOAL_OK);
                key_digest(&key, digest[hurried]);
                key_free(&key);
            }
            CHECK_INT(cuda_backend.target(d)->hurries, newer && !fast);
            CHECK(memcmp(digest[0], digest[1], KEY_BYTES) != 0);
            cuda_backend.close(d);
        }
}

TEST(cuda_key) {
    char first[KEY_HEX], kept[KEY_HEX], other[KEY_HEX], arch[KEY_HEX], fast[KEY_HEX];
    struct cache *probes = cache_open(NULL);
    REQUIRE(probes && !cache_off(probes));
    use_fake_nvrtc("aa01");
    key_of("sm_90", false, NULL, first);
    key_of("sm_90", false, probes, kept); // asked
    CHECK_STR(kept, first);
    key_of("sm_90", false, probes, kept); // remembered
    CHECK_STR(kept, first);
    key_of("sm_80", false, probes, arch);
    key_of("sm_90", true, probes, fast);
    CHECK(strcmp(arch, first) && strcmp(fast, first) && strcmp(arch, fast));
    use_fake_nvrtc("bb02"); // the same version, another build
    key_of("sm_90", false, probes, other);
    CHECK_MSG(strcmp(other, first), "another build of NVRTC has the same key");
    cache_close(probes);
}
