// SPDX-License-Identifier: MIT
// The choice of a device as a pure function of a table: machines that are made up.
#include "check.h"

#include "dispatch/cost.h"

OWN_CACHE

static struct cost_row cpu_of(double cores) {
    return (struct cost_row){.device = {.name = "cpu",
                                        .load = 1e-3,
                                        .launch = 20e-6,
                                        .in_rate = 5e9,
                                        .out_rate = 5e9,
                                        .lane = 8,
                                        .at_once = 8 * cores},
                             .kernel = {.open = true, .cached = true, .compile = 0.2}};
}

static struct cost_row gpu_of(const char *name, double at_once) {
    struct cost_row d = {.device = {.start = 0.25,
                                    .load = 5e-3,
                                    .launch = 60e-6,
                                    .in_rate = 10e9,
                                    .out_rate = 10e9,
                                    .lane = 200,
                                    .at_once = at_once},
                         .kernel = {.compile = 0.8}};
    snprintf(d.device.name, sizeof d.device.name, "%s", name);
    return d;
}

static struct cost_table machine(double cores) {
    return (struct cost_table){2, {cpu_of(cores), gpu_of("cuda:0", 60000)}};
}

static struct cost_job job_of(uint64_t rows) {
    return (struct cost_job){.rows = rows,
                             .in_bytes = 8,
                             .out_bytes = 40,
                             .work = 10e-6,
                             .spread = 1.5,
                             .reuses = 1,
                             .noun = "runs"};
}

static uint32_t choose(const struct cost_table *t, uint64_t rows) {
    struct cost_job j = job_of(rows);
    return cost_choose(t, &j, COST_NONE);
}

static void set_state(struct cost_table *t, uint32_t row, int state) { // 0: nothing, 3: loaded
    t->row[row].kernel.cached = state > 0;
    t->row[row].kernel.open = state > 1;
    t->row[row].kernel.loaded = state > 2;
}

TEST(choice_cost_by_hand) {
    struct cost_table t = machine(4);
    struct cost_job j = job_of(1000);
    // 1000 rows in 32 lanes of 80 us, and 48,000 bytes
    CHECK_NEAR(cost_warm(&t.row[0], &j), 20e-6 + 48e3 / 5e9 + 10e-6 * 1000 / 4, 1e-12);
    CHECK_NEAR(cost_now(&t.row[0], &j), cost_warm(&t.row[0], &j) + 1e-3, 1e-12);
    CHECK_NEAR(cost_warm(&t.row[1], &j), 60e-6 + 48e3 / 10e9 + 10e-6 * 200 * 1.5, 1e-12);
    CHECK_NEAR(cost_now(&t.row[1], &j), cost_warm(&t.row[1], &j) + 0.25 + 0.8, 1e-12);
    j.reuses = 4;
    CHECK_NEAR(cost_now(&t.row[1], &j), cost_warm(&t.row[1], &j) + 0.25 + 0.2, 1e-12);
    // With chunks copies hide behind kernels, but for one chunk of either.
    j.rows = 1000000;
    t.row[1].kernel.chunk_rows = 100000;
    double copy = 1e6 * 48 / 10e9, work = 10e-6 * 200 * (1e6 / 60000);
    CHECK_NEAR(cost_warm(&t.row[1], &j), 10 * 60e-6 + work + copy / 10, 1e-12);
}

TEST(choice_cost_work_comes_back) {
    struct cost_table t = machine(4);
    for (uint64_t rows = 1; rows < 1000000; rows *= 7) {
        struct cost_job j = job_of(rows);
        for (uint32_t i = 0; i < 2; i++)
            CHECK_NEAR(cost_work(&t.row[i].device, &j, cost_warm(&t.row[i], &j)), j.work, 1e-12);
    }
}

// Once the GPU has it, more rows do not go back to the CPU, in whatever state the kernels are.
TEST(choice_cost_monotone) {
    for (int state = 0; state < 16; state++)
        for (double cores = 1; cores <= 64; cores *= 4) {
            struct cost_table t = machine(cores);
            set_state(&t, 0, state & 3);
            set_state(&t, 1, state >> 2);
            t.row[1].kernel.chunk_rows = 50000;
            uint32_t before = 0;
            for (double rows = 1; rows < 1e8; rows = floor(rows * 1.07) + 1) {
                uint32_t now = choose(&t, (uint64_t)rows);
                CHECK_MSG(now >= before, "%g rows go back, state %d, %g cores", rows, state, cores);
                before = now;
            }
            CHECK_INT(before, 1);
        }
}

TEST(choice_cost_exact_at_the_threshold) {
    for (int warm = 0; warm < 2; warm++) {
        struct cost_table t = machine(4);
        struct cost_job j = job_of(1);
        set_state(&t, 1, warm ? 3 : 0);
        set_state(&t, 0, 3);
        uint64_t n = cost_break_even(&t.row[0], &t.row[1], &j, warm);
        REQUIRE(n > 2);
        CHECK_INT(choose(&t, n - 1), 0);
        CHECK_INT(choose(&t, n), 1);
        CHECK_INT(choose(&t, n + 1), 1);
        // No cliff: what the two take there is the same but for one row.
        j.rows = n;
        CHECK(fabs(cost_now(&t.row[1], &j) / cost_now(&t.row[0], &j) - 1) < 0.01);
    }
}

TEST(choice_cost_hit_or_miss_flips) {
    struct cost_table t = machine(4);
    uint64_t rows = 200000; // 0.5 s on the CPU
    set_state(&t, 0, 1);
    CHECK_INT(choose(&t, rows), 0);
    set_state(&t, 1, 1);
    CHECK_INT(choose(&t, rows), 1);
    // The same with a compiler of the CPU that takes long, and with many batches to come.
    set_state(&t, 1, 0);
    set_state(&t, 0, 0);
    t.row[0].kernel.compile = 5;
    CHECK_INT(choose(&t, rows), 1);
    set_state(&t, 0, 1);
    struct cost_job j = job_of(rows);
    j.reuses = 1000;
    CHECK_INT(cost_choose(&t, &j, COST_NONE), 1);
}

TEST(choice_cost_machines) {
    struct cost_table alone = {1, {cpu_of(4)}};
    CHECK_INT(choose(&alone, 1), 0);
    CHECK_INT(choose(&alone, 100000000), 0);
    struct cost_job j = job_of(5);
    CHECK(cost_is_plain(&alone, &j));

    // Two GPUs: the faster one, whichever comes first; the one that is started where it is enough.
    struct cost_table two = {3, {cpu_of(4), gpu_of("cuda:0", 5000), gpu_of("cuda:1", 60000)}};
    CHECK_INT(choose(&two, 10000000), 2);
    set_state(&two, 1, 3);
    set_state(&two, 0, 3);
    CHECK_INT(choose(&two, 5000), 1);
    CHECK_INT(choose(&two, 10000000), 2);

    // One core: the break-even comes sooner by as much.
    struct cost_table one = machine(1), many = machine(16);
    set_state(&one, 1, 3);
    set_state(&many, 1, 3);
    uint64_t few = cost_break_even(&one.row[0], &one.row[1], &j, true),
             most = cost_break_even(&many.row[0], &many.row[1], &j, true);
    CHECK(few * 12 < most && most < few * 20);

    // A GPU that others use is as slow as it was measured to be.
    struct cost_table busy = machine(4);
    set_state(&busy, 1, 3);
    CHECK_INT(choose(&busy, 20000), 1);
    busy.row[1].device.lane *= 30;
    busy.row[1].device.at_once /= 30;
    CHECK_INT(choose(&busy, 20000), 0);
}

TEST(choice_cost_hysteresis) {
    struct cost_table t = machine(4);
    set_state(&t, 0, 3);
    set_state(&t, 1, 3);
    struct cost_job j = job_of(1);
    uint64_t n = cost_break_even(&t.row[0], &t.row[1], &j, true);
    uint64_t up = 0, down = 0; // where a batch that grows, or shrinks, changes sides
    int last = 0;
    for (j.rows = 1; j.rows < 4 * n && !up; j.rows++)
        if ((last = (int)cost_choose(&t, &j, last)) == 1)
            up = j.rows;
    for (j.rows = 4 * n; j.rows && !down; j.rows--)
        if ((last = (int)cost_choose(&t, &j, last)) == 0)
            down = j.rows;
    CHECK(down < n && n < up);
    j.rows = up;
    CHECK_NEAR(cost_now(&t.row[1], &j) / cost_now(&t.row[0], &j), 0.9, 0.01);
    j.rows = down;
    CHECK_NEAR(cost_now(&t.row[1], &j) / cost_now(&t.row[0], &j), 1.1, 0.01);
}

// Few rows are the CPU's whatever they take: a lane of a GPU is slower than a core.
TEST(choice_cost_plain) {
    struct cost_table t = machine(4);
    struct cost_job j = job_of(17);
    CHECK(cost_is_plain(&t, &j));
    for (double work = 1e-9; work < 1e6; work *= 10) {
        j.work = work;
        CHECK_INT(cost_choose(&t, &j, COST_NONE), 0);
    }
    j.rows = 100000;
    CHECK(!cost_is_plain(&t, &j));
    double even = cost_even_work(&t.row[0], &t.row[1], &j);
    j.work = even * 1.02;
    CHECK_INT(cost_choose(&t, &j, COST_NONE), 1);
    j.work = even * 0.98;
    CHECK_INT(cost_choose(&t, &j, COST_NONE), 0);
}

// Two devices of one kind are as fast whatever a row takes, to the last bit of what is added up.
TEST(choice_cost_equal_devices) {
    struct cost_row a = cpu_of(2), b = cpu_of(2);
    struct cost_job j = job_of(1);
    for (j.rows = 1; j.rows < 100000; j.rows = j.rows * 3 + 1)
        CHECK_NEAR(cost_even_work(&a, &b, &j), 0, 0);
}

TEST(choice_cost_in_words) {
    char text[COST_REASON];
    struct cost_table t = machine(4);
    struct cost_job j = job_of(200);
    cost_reason(&t, &j, 0, text);
    CHECK_STR(text, "cpu: 200 runs ~ 1.5 ms; cuda ~ 1.1 s cold, 3.1 ms warm (break-even 420,000 "
                    "runs cold, 1,200 warm)");
    set_state(&t, 0, 3);
    set_state(&t, 1, 3);
    j.rows = 1234567;
    cost_reason(&t, &j, 1, text);
    CHECK_STR(text, "cuda: 1,234,567 runs ~ 47 ms; cpu ~ 3.1 s (break-even 1,200 runs)");
    t.count = 1;
    j.rows = 1;
    cost_reason(&t, &j, 0, text);
    CHECK_STR(text, "cpu: 1 run ~ 140 us; there is no other device");
    t.count = 2;
    t.row[1].device.at_once = 1; // slower than a core
    j.rows = 100000000;
    cost_reason(&t, &j, 0, text);
    CHECK_STR(text, "cpu: 100,000,000 runs ~ 4.2 min; cuda ~ 56 h"
                    " (no break-even)");
}

// What batches of that size took is believed at once where it is near the model, and after three
// where it is not; other sizes follow, up to four times as large, and other rows do not.
TEST(choice_cost_what_was_seen) {
    struct cost_table t = machine(4);
    struct cost_job j = job_of(1000), more = job_of(1500), most = job_of(9000);
    set_state(&t, 0, 3);
    set_state(&t, 1, 3);
    double model[] = {cost_warm(&t.row[0], &j), cost_warm(&t.row[1], &j)};
    double far = cost_warm(&t.row[1], &most);
    CHECK_INT(choose(&t, 1000), 0);
    cost_see(&t, 0, &j, 1.5 * model[0]);
    CHECK_NEAR(cost_warm(&t.row[0], &j), 1.5 * model[0], 1e-12);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(cost_warm(&t.row[1], &j), model[1], 1e-12);
        CHECK(!cost_is_seen(&t.row[1], &j));
        cost_see(&t, 1, &j, model[1] / 10);
    }
    CHECK_NEAR(cost_warm(&t.row[1], &j), model[1] / 10, 1e-12);
    CHECK_INT(choose(&t, 1000), 1);
    CHECK_INT(choose(&t, 1500), 1);
    CHECK(cost_is_seen(&t.row[1], &more) && !cost_is_seen(&t.row[1], &most));
    CHECK_NEAR(cost_warm(&t.row[1], &most), far, 1e-12);
    struct cost_job other = j;
    other.out_bytes *= 2;
    CHECK(!cost_is_seen(&t.row[1], &other));
}

// One that took much longer is of other work, or the device has changed: nothing that was seen
// counts any more.
TEST(choice_cost_what_was_seen_changes) {
    struct cost_table t = machine(4);
    struct cost_job j = job_of(1000);
    double model = cost_warm(&t.row[0], &j);
    cost_see(&t, 0, &j, model);
    cost_see(&t, 1, &j, cost_warm(&t.row[1], &j));
    cost_see(&t, 0, &j, 1.2 * model);
    CHECK_NEAR(cost_warm(&t.row[0], &j), 1.1 * model, 1e-12);
    cost_see(&t, 0, &j, 5 * model);
    CHECK(!cost_is_seen(&t.row[0], &j) && !cost_is_seen(&t.row[1], &j));
    CHECK_NEAR(cost_warm(&t.row[0], &j), model, 1e-12);
    cost_see(&t, 0, &j, 5 * model);
    cost_see(&t, 0, &j, 5 * model);
    CHECK_NEAR(cost_warm(&t.row[0], &j), 5 * model, 1e-12);
    t.row[0].device.launch = INFINITY; // it failed
    CHECK(isinf(cost_warm(&t.row[0], &j)));
}
