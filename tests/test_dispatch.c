// SPDX-License-Identifier: MIT
// The loop over chunks with an engine and a device that only write down what they are asked for:
// s starts a chunk, w waits for it, d delivers it, m mends it; then the rows.
#include "check.h"

#include "dispatch/dispatch.h"

enum { TRACE = 4096 };

static struct scene {
    char trace[TRACE];
    size_t at;
    uint32_t device_rows;  // that the device has memory for; 0: any
    uint32_t stop_in_wait; // number of the wait in which a stop comes; 0: never
    uint32_t stopped_rows; // that are finished then
    uint32_t waits;
    bool stop_in_measure, measures, mends;
    uint32_t fail_delivery; // number of the delivery that fails; 0: none
    uint32_t deliveries;
    int stop;
    uint64_t next_row; // that must be delivered next
    struct dispatch_chunk chunk[DISPATCH_PLACES];
    struct shoal_head head[DISPATCH_PLACES];
    struct dispatch loop;
} scene;

static void note(char what, uint64_t first, uint32_t rows) {
    scene.at += (size_t)snprintf(scene.trace + scene.at, TRACE - scene.at, "%s%c%llu+%u",
                                 scene.at ? " " : "", what, (unsigned long long)first, rows);
}

// ---- The device ---------------------------------------------------------------------------------

static const struct dispatch_chunk *under_way[DISPATCH_PLACES];

static const struct dispatch_chunk *chunk_of(const struct shoal_launch *l) {
    return (const struct dispatch_chunk *)l->user;
}

static struct shoal_slot *slot_open(struct shoal_device *d, uint32_t place) {
    (void)d;
    return (struct shoal_slot *)(uintptr_t)&under_way[place];
}

static shoal_code device_start(struct shoal_module *m, struct shoal_slot *slot,
                               const struct shoal_launch *l, struct report *r) {
    const struct dispatch_chunk *c = chunk_of(l);
    (void)m, (void)r;
    CHECK(c->head->base == c->first_row && c->head->rows == c->rows && c->head->block >= 8);
    CHECK(c->head->refill == c->refill);
    if (scene.device_rows && c->rows > scene.device_rows)
        return SHOAL_MEMORY;
    *(const struct dispatch_chunk **)(void *)slot = c;
    note('s', c->first_row, c->rows);
    return SHOAL_OK;
}

static shoal_code device_finish(struct shoal_slot *slot, struct report *r) {
    const struct dispatch_chunk *c = *(const struct dispatch_chunk **)(void *)slot;
    (void)r;
    note('w', c->first_row, c->rows);
    if (scene.stop_in_wait && ++scene.waits == scene.stop_in_wait)
        scene.stop = 1;
    return scene.stop ? SHOAL_STOPPED : SHOAL_OK;
}

static const struct shoal_backend device = {
    .name = "paper", .slot_open = slot_open, .start = device_start, .finish = device_finish};

static struct dispatch_pool pool = {.backend = &device};

// ---- The engine ---------------------------------------------------------------------------------

static shoal_code make(void *user, uint32_t place, uint32_t rows, struct dispatch_chunk **out) {
    (void)user, (void)rows;
    scene.chunk[place] = (struct dispatch_chunk){.head = &scene.head[place], .refill = true};
    *out = &scene.chunk[place];
    return SHOAL_OK;
}

static shoal_code fill(void *user, struct dispatch_chunk *c) {
    (void)user, (void)c;
    return SHOAL_OK;
}

static shoal_code measure(void *user, struct dispatch_chunk *c) {
    (void)user;
    if (!scene.measures)
        return SHOAL_OK;
    if (scene.stop_in_measure && c->first_row)
        scene.stop = 1;
    return dispatch_run(&scene.loop, c);
}

static shoal_code mend(void *user, struct dispatch_chunk *c, shoal_code code) {
    (void)user;
    if (scene.mends)
        note('m', c->first_row, c->rows);
    return code;
}

static uint32_t finished(void *user, const struct dispatch_chunk *c) {
    (void)user;
    return scene.stopped_rows < c->rows ? scene.stopped_rows : c->rows;
}

static shoal_code deliver(void *user, struct dispatch_chunk *c, uint32_t rows) {
    (void)user;
    note('d', c->first_row, rows);
    CHECK_INT(c->first_row, scene.next_row);
    scene.next_row += rows;
    return ++scene.deliveries == scene.fail_delivery ? SHOAL_IO : SHOAL_OK;
}

static const struct dispatch_engine engine = {.make = make,
                                              .fill = fill,
                                              .measure = measure,
                                              .mend = mend,
                                              .finished = finished,
                                              .deliver = deliver};

static shoal_code run(uint32_t slots, uint32_t at_once, uint64_t rows, uint32_t chunk_rows) {
    struct dispatch_control control = {.stop = {&scene.stop, NULL}};
    struct dispatch_job job = {.engine = &engine,
                               .pool = &pool,
                               .limits = {.slots = slots, .at_once = at_once, .memory = 1},
                               .rows = rows,
                               .chunk_rows = chunk_rows,
                               .one_at_a_time = scene.measures,
                               .control = &control};
    return dispatch_all(&scene.loop, &job);
}

// ---- Order --------------------------------------------------------------------------------------

// One chunk computes while the one before it is delivered.
TEST(dispatch_overlaps_delivery) {
    CHECK_INT(run(2, 1, 30, 10), SHOAL_OK);
    CHECK_STR(scene.trace, "s0+10 w0+10 s10+10 d0+10 w10+10 s20+10 d10+10 w20+10 d20+10");
}

TEST(dispatch_fills_all_slots) {
    CHECK_INT(run(3, 3, 45, 10), SHOAL_OK);
    CHECK_STR(scene.trace, "s0+10 s10+10 s20+10 w0+10 d0+10 s30+10 w10+10 d10+10 s40+5 w20+10 "
                           "d20+10 w30+10 d30+10 w40+5 d40+5");
}

TEST(dispatch_one_slot) {
    CHECK_INT(run(1, 1, 20, 10), SHOAL_OK);
    CHECK_STR(scene.trace, "s0+10 w0+10 d0+10 s10+10 w10+10 d10+10");
}

// Rows are mended before the device gets the next chunk.
TEST(dispatch_mends_first) {
    scene.mends = true;
    CHECK_INT(run(2, 1, 20, 10), SHOAL_OK);
    CHECK_STR(scene.trace, "s0+10 w0+10 m0+10 s10+10 d0+10 w10+10 m10+10 d10+10");
}

TEST(dispatch_nothing_to_do) {
    CHECK_INT(run(2, 1, 0, 1), SHOAL_OK);
    CHECK_STR(scene.trace, "");
}

// ---- Memory -------------------------------------------------------------------------------------

// A chunk that is alone and does not fit is halved; one that is not waits for the others first.
TEST(dispatch_backs_off) {
    scene.device_rows = 64;
    CHECK_INT(run(3, 3, 200, 200), SHOAL_OK);
    CHECK_STR(scene.trace, "s0+50 s50+50 s100+50 w0+50 d0+50 s150+50 w50+50 d50+50 w100+50 d100+50 "
                           "w150+50 d150+50");
}

TEST(dispatch_gives_up) {
    scene.device_rows = 1;
    CHECK_INT(run(3, 3, 200, 200), SHOAL_MEMORY);
    CHECK_STR(scene.trace, "");
}

// ---- Stops and errors ---------------------------------------------------------------------------

// What was finished without a gap is delivered, the device is waited for, nothing else happens.
TEST(dispatch_stop_keeps_the_front) {
    scene.stop_in_wait = 2;
    scene.stopped_rows = 4;
    CHECK_INT(run(3, 3, 100, 10), SHOAL_STOPPED);
    CHECK_STR(scene.trace, "s0+10 s10+10 s20+10 w0+10 d0+10 s30+10 w10+10 d10+4 w20+10 w30+10");
}

// A chunk that came back whole is delivered even when the next one is stopped while it is measured.
TEST(dispatch_stop_in_a_measurement) {
    scene.measures = scene.stop_in_measure = true;
    scene.stopped_rows = 0;
    CHECK_INT(run(2, 1, 30, 10), SHOAL_STOPPED);
    CHECK_STR(scene.trace, "s0+10 w0+10 s0+10 w0+10 s10+10 w10+10 d0+10");
}

TEST(dispatch_stop_before_the_start) {
    scene.stop = 1;
    CHECK_INT(run(2, 1, 30, 10), SHOAL_STOPPED);
    CHECK_STR(scene.trace, "");
}

TEST(dispatch_error_waits_for_all) {
    scene.fail_delivery = 1;
    CHECK_INT(run(3, 3, 100, 10), SHOAL_IO);
    CHECK_STR(scene.trace, "s0+10 s10+10 s20+10 w0+10 d0+10 w10+10 w20+10");
}

// ---- Rows that run again ------------------------------------------------------------------------

static struct dispatch_chunk part;

static shoal_code begin_part(void *user, uint32_t first, uint32_t rows,
                             struct dispatch_chunk **out) {
    (void)user;
    part = (struct dispatch_chunk){.first_row = first, .rows = rows, .head = &scene.head[0]};
    *out = &part;
    return SHOAL_OK;
}

static void end_part(void *user, struct dispatch_chunk *c, bool came_back) {
    (void)user;
    note(came_back ? 'e' : 'x', c->first_row, c->rows);
}

static shoal_code run_parts(uint32_t count, uint32_t *done) {
    static const struct dispatch_parts parts = {
        .begin = begin_part, .end = end_part, .what = "rows"};
    static struct dispatch_control control = {.stop = {&scene.stop, NULL}};
    static const struct dispatch_job job = {
        .engine = &engine, .pool = &pool, .limits = {.at_once = 1}, .control = &control};
    scene.loop.job = &job;
    struct dispatch_chunk whole = {.slot = slot_open(NULL, 0)};
    return dispatch_parts(&scene.loop, &whole, &parts, count, done);
}

TEST(dispatch_parts_fit_in) {
    uint32_t done;
    scene.device_rows = 40;
    CHECK_INT(run_parts(100, &done), SHOAL_OK);
    CHECK_INT(done, 100);
    CHECK_STR(scene.trace, "x0+100 x0+50 s0+25 w0+25 e0+25 s25+25 w25+25 e25+25 s50+25 w50+25 "
                           "e50+25 s75+25 w75+25 e75+25");
}

TEST(dispatch_parts_give_up) {
    uint32_t done;
    scene.device_rows = 1;
    CHECK_INT(run_parts(40, &done), SHOAL_MEMORY);
    CHECK_INT(done, 0);
    CHECK_STR(scene.trace, "x0+40 x0+20");
}

TEST(dispatch_parts_stop) {
    uint32_t done;
    scene.device_rows = 40;
    scene.stop_in_wait = 2;
    CHECK_INT(run_parts(120, &done), SHOAL_STOPPED);
    CHECK_INT(done, 60);
    CHECK_STR(scene.trace, "x0+120 x0+60 s0+30 w0+30 e0+30 s30+30 w30+30 e30+30");
}

// ---- Sizes --------------------------------------------------------------------------------------

TEST(dispatch_rows_of_a_chunk) {
    struct shoal_limits host = {.slots = 2, .at_once = 1, .rows_wanted = 5000},
                        gpu = {.slots = 3, .memory = 1 << 30};
    struct dispatch_size s = {
        .rows = 1000, .row_bytes = 8, .row_host = 16, .most = 1 << 30, .limits = &host};
    CHECK_INT(dispatch_rows(&s), 1000);
    s.rows = 16000;
    CHECK_INT(dispatch_rows(&s), 5000);
    s.rows = 80000;
    CHECK_INT(dispatch_rows(&s), 10000); // eight chunks, to write some while others run
    s.rows = 1000;
    s.memory = 16 * 2 * 100; // two chunks of a hundred rows
    CHECK_INT(dispatch_rows(&s), 100);
    s.chunk = 7;
    CHECK_INT(dispatch_rows(&s), 7);
    s.most = 3;
    CHECK_INT(dispatch_rows(&s), 3);
    s = (struct dispatch_size){
        .rows = 1 << 20, .row_bytes = 1 << 20, .row_host = 1, .most = 1 << 30, .limits = &gpu};
    CHECK_INT(dispatch_rows(&s), 256); // three quarters of the memory, three chunks
    s.row_bytes = (uint64_t)1 << 40;
    CHECK_INT(dispatch_rows(&s), 1);
}

// The first and the last chunks of a device are smaller, if nothing but copies decides their size.
TEST(dispatch_chunks_taper) {
    struct shoal_limits host = {.slots = 2, .at_once = 1, .rows_wanted = 5000},
                        gpu = {.slots = 3, .memory = 1 << 30, .rows_wanted = 500};
    struct dispatch_size s = {
        .rows = 8000, .row_bytes = 8, .row_host = 8, .most = 1 << 30, .limits = &gpu};
    static const uint32_t sizes[] = {251,  501,  1000, 1000, 1000, 1000,
                                     1000, 1000, 624,  312,  251,  61};
    uint64_t left = 8000, i = 0;
    CHECK(dispatch_tapers(&s));
    for (; left && i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_INT(dispatch_next_rows(left, 1000, i, true), sizes[i]);
        left -= dispatch_next_rows(left, 1000, i, true);
    }
    CHECK_INT(left, 0);
    CHECK_INT(dispatch_plan(&s, 1).chunks, i);
    CHECK_INT(dispatch_plan(&s, 1).chunk_runs, 1000);
    for (uint32_t rows = 1; rows < 40; rows++) // they come to an end whatever the size
        for (uint64_t all = 1; all < 400; all += 7) {
            uint64_t done = 0, n = 0;
            for (; done < all && n < 1000; n++)
                done += dispatch_next_rows(all - done, rows, n, true);
            CHECK_INT(done, all);
        }
    s.chunk = 1000;
    CHECK(!dispatch_tapers(&s));
    s.chunk = 0;
    s.rows = 3000; // fewer would leave the device half empty
    CHECK(!dispatch_tapers(&s));
    s.rows = 8000;
    s.limits = &host;
    CHECK(!dispatch_tapers(&s));
}

// Rows whose copies take a while are cut into chunks that keep the device just busy.
TEST(dispatch_chunks_of_large_rows) {
    struct shoal_limits gpu = {.slots = 3, .memory = (uint64_t)1 << 37, .rows_wanted = 540672};
    struct dispatch_size s = {
        .rows = 131072, .row_bytes = 133, .row_host = 133, .most = 1 << 30, .limits = &gpu};
    CHECK_INT(dispatch_rows(&s), 131072); // a kernel of which nothing is known
    s.resident = 33792;
    CHECK_INT(dispatch_rows(&s), 50688);
    s.resident = 25344;
    CHECK_INT(dispatch_rows(&s), 38016);
    uint32_t last = 0;
    for (s.rows = 1; s.rows < 200000; s.rows += s.rows / 16 + 1) {
        uint32_t rows = dispatch_rows(&s);
        CHECK_MSG(rows >= last, "%llu rows", (unsigned long long)s.rows);
        last = rows;
    }
    s.rows = 131072;
    s.row_bytes = 13; // 4 MB are a chunk
    CHECK_INT(dispatch_rows(&s), 131072);
    s.rows = 10000;
    s.row_bytes = 10000;
    CHECK_INT(dispatch_rows(&s), 10000);
    s.rows = 1 << 23;
    s.row_bytes = 13;
    CHECK_INT(dispatch_rows(&s), 1 << 20);
    s.row_bytes = 1 << 20;
    CHECK_INT(dispatch_rows(&s), 32768); // what memory allows
}

// Rows that run again have blocks of their own on the host, but run in the slot of their chunk.
TEST(dispatch_extra_places_are_the_hosts) {
    struct shoal_limits host = {.slots = 2, .rows_wanted = 5000},
                        gpu = {.slots = 3, .memory = 1 << 30};
    struct dispatch_size s = {.rows = 1 << 20,
                              .row_bytes = 1 << 20,
                              .row_host = 1 << 10,
                              .most = 1 << 30,
                              .extra = 1,
                              .limits = &gpu};
    shoal_plan plan = dispatch_plan(&s, 1);
    CHECK_INT(plan.chunk_runs, 256);
    CHECK_INT(plan.device_bytes, 3 * 256 << 20);
    CHECK_INT(plan.host_bytes, 4 * 256 << 10);
    s.memory = 3 << 20; // given by the user, for the device
    CHECK_INT(dispatch_rows(&s), 1);
    s.limits = &host;
    CHECK_INT(dispatch_rows(&s), (3 << 20) / 3 >> 10);
    plan = dispatch_plan(&s, 1);
    CHECK_INT(plan.device_bytes, 0);
    CHECK_INT(plan.host_bytes, 3 * 1024 << 10);
}
