// SPDX-License-Identifier: MIT
// From what is known to a choice, with an engine that only writes down what it is asked for.
#include "check.h"

#include "dispatch/choose.h"

OWN_CACHE

static struct scene {
    struct chooser chooser;
    struct device_known gpu[2];
    bool cached[3]; // kernels of the CPU and of both devices
    double compile; // of a device, seconds
    struct choose_pilot pilot;
    shoal_code pilot_code;
    uint32_t looks, pilots, pilot_rows, compiles;
    int settled; // -1: not, else whether it was wanted
    bool free;   // of targets
    bool loads;  // the pilot, the CPU's kernel
    bool ready;  // the device that is made ready beside the pilot is, after it
    struct choose_trial trial;
    shoal_code trial_code;
    uint32_t trials, tried;
    uint64_t trial_rows;
    bool loses; // the device, in the trial
} scene;

static shoal_code look(void *user, uint32_t row, struct cost_kernel *out, char key[KEY_HEX]) {
    (void)user;
    scene.looks++;
    out->cached = scene.cached[row];
    out->compile = row ? scene.compile : 0.2;
    snprintf(key, KEY_HEX, "%064x", row + 1);
    return SHOAL_OK;
}

static shoal_code pilot(void *user, uint32_t rows, struct choose_pilot *out) {
    (void)user;
    scene.pilots++;
    scene.pilot_rows = rows;
    if (scene.loads)
        choose_loaded(&scene.chooser, 0, "0");
    *out = scene.pilot;
    out->rows = rows;
    return scene.pilot_code;
}

static void begin_compile(void *user, uint32_t row) {
    (void)user;
    CHECK_INT(scene.pilots, 0); // beside it
    scene.compiles += row;
}

static void settle(void *user, bool wanted) {
    (void)user;
    scene.settled = wanted;
}

static bool is_target_free(void *user, uint32_t row) {
    (void)user, (void)row;
    return scene.free;
}

static bool is_ready(void *user) {
    (void)user;
    return scene.ready;
}

static shoal_code trial(void *user, uint32_t row, uint64_t rows, struct choose_trial *out) {
    (void)user;
    scene.trials++;
    scene.tried = row;
    scene.trial_rows = rows;
    if (scene.loses)
        choose_failed(&scene.chooser, row);
    *out = scene.trial;
    return scene.trial_code;
}

static const struct choose_engine engine = {.look = look,
                                            .pilot = pilot,
                                            .begin_compile = begin_compile,
                                            .settle = settle,
                                            .is_ready = is_ready,
                                            .is_target_free = is_target_free,
                                            .trial = trial};

static void set_scene(uint32_t devices) {
    memset(&scene, 0, sizeof scene);
    scene.settled = -1;
    scene.compile = 1;
    scene.cached[0] = scene.cached[1] = scene.cached[2] = true;
    struct chooser *c = &scene.chooser;
    c->machine.count = 1 + devices;
    c->machine.cpus = 4;
    for (uint32_t i = 0; i < devices; i++) {
        snprintf(scene.gpu[i].name, sizeof scene.gpu[i].name, "cuda:%u", i);
        scene.gpu[i].units = i ? 132 : 20;
        c->machine.known[i + 1] = &scene.gpu[i];
    }
    snprintf(c->class, sizeof c->class, "toy-f64");
    c->cpu = (struct machine_cpu){.threads = 4, .lanes = 8};
    choose_begin(c);
}

static uint32_t choose(uint64_t rows, uint64_t threshold) {
    uint32_t row = 99;
    struct choose_request q = {.rows = rows,
                               .in_bytes = 8,
                               .out_bytes = 24,
                               .threshold = threshold,
                               .reuses = 1,
                               .noun = "rows",
                               .engine = &engine};
    CHECK(choose_device(&scene.chooser, &q, &row) == SHOAL_OK);
    return row;
}

// 64 rows of so much work in 4 threads of 8 lanes, of which 0.85 are of use, after the start.
static void pilot_takes(double work) {
    scene.pilot = (struct choose_pilot){0, 50e-6 + 64 * work / (4 * 0.85), 1, 0.2};
}

TEST(choice_choose_nothing_is_asked) {
    set_scene(0);
    CHECK_INT(choose(1000000, 0), 0);
    CHECK_STR(scene.chooser.reason, "cpu: 1,000,000 rows, and there is no other device");
    set_scene(1);
    CHECK_INT(choose(1, 0), 0);
    CHECK_INT(choose(16, 0), 0);
    CHECK_INT(choose(17, 0), 0);
    CHECK_INT(choose(500, 0), 0); // fewer than a lane is slower than the cores
    CHECK_INT(choose(999, 1000), 0);
    CHECK_INT(choose(1000, 1000), 1);
    CHECK_INT(choose(1001, 1000), 1);
    CHECK_INT(choose(1, 1), 1);
    CHECK_INT(scene.looks + scene.pilots, 0);
}

TEST(choice_choose_pilot) {
    static const struct {
        uint64_t rows;
        uint32_t of_pilot;
    } sizes[] = {{1000, 62}, {1023, 63}, {1024, 64}, {1000000, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        set_scene(1);
        pilot_takes(1e-3);
        choose(sizes[i].rows, 0);
        CHECK_INT(scene.pilots, 1);
        CHECK_INT(scene.pilot_rows, sizes[i].of_pilot);
    }
    // Once for a solver; what it told is enough for batches of any size.
    set_scene(1);
    pilot_takes(1e-6);
    CHECK_INT(choose(10000, 0), 0);
    CHECK_INT(choose(20000, 0), 0);
    CHECK_INT(choose(100000000, 0), 1);
    CHECK_INT(choose(10000, 0), 0);
    CHECK_INT(scene.pilots, 1);
    CHECK_INT(scene.looks, 2);
    CHECK_NEAR(scene.chooser.work, 1e-6, 2e-7);
    CHECK_HAS(scene.chooser.reason, "cpu: 10,000 rows ~ ");
    // One that fails tells nothing, and is not tried again.
    set_scene(1);
    scene.pilot_code = SHOAL_DEVICE;
    choose(100000, 0);
    choose(100000, 0);
    CHECK_INT(scene.pilots, 1);
    CHECK_HAS(scene.chooser.reason, "nobody knows yet");
}

// Hit or miss decides, and both compilers run at once where neither kernel is there.
TEST(choice_choose_compilers) {
    set_scene(1);
    pilot_takes(20e-6);
    CHECK_INT(choose(100000, 0), 1); // 0.6 s on the CPU, 0.3 s for the start
    CHECK_INT(scene.compiles, 0);
    set_scene(1);
    scene.cached[1] = false;
    pilot_takes(20e-6);
    CHECK_INT(choose(100000, 0), 0);
    CHECK_INT(scene.compiles, 0);
    set_scene(1);
    scene.cached[0] = scene.cached[1] = false;
    pilot_takes(20e-6);
    CHECK_INT(choose(100000, 0), 0);
    CHECK_INT(scene.compiles, 1);
    CHECK_INT(scene.settled, 0);
    set_scene(1);
    scene.cached[0] = scene.cached[1] = false;
    pilot_takes(200e-6);
    CHECK_INT(choose(100000, 0), 1);
    CHECK_INT(scene.settled, 1);
}

// A second compiler is time lost where there is no core for it, or where hardly any batch of that
// size is the device's; and what it has done meanwhile need not be paid again.
TEST(choice_choose_compilers_beside) {
    static const struct {
        uint32_t cpus;
        uint64_t rows;
        bool beside;
    } cases[] = {{1, 1000000, false}, {2, 1000000, false}, {3, 1000000, true}, {16, 1000000, true},
                 {16, 100000, true},  {16, 5000, true},    {16, 3000, false},  {16, 1000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_scene(1);
        scene.chooser.machine.cpus = cases[i].cpus;
        scene.cached[0] = scene.cached[1] = false;
        pilot_takes(1e-6);
        choose(cases[i].rows, 0);
        CHECK_INT(scene.pilots, 1);
        CHECK_MSG(scene.compiles == cases[i].beside, "case %zu", i);
        CHECK_INT(scene.settled, cases[i].beside ? 0 : -1);
    }
    double work = 0; // of the first row that is the device's
    for (int took = 0; took < 2; took++) {
        uint32_t row = 0;
        for (double w = 1e-6; !row; w *= 1.1) {
            set_scene(1);
            scene.cached[0] = scene.cached[1] = false;
            pilot_takes(w);
            scene.pilot.took = took;
            row = choose(100000, 0);
            CHECK(!row || !took || w < work);
            work = row ? w : work;
        }
    }
}

// A device that should be ready by now and is not is not waited for where the CPU, whose kernel is
// there, is done before: that it is late says nothing about how late it will be.
TEST(choice_choose_late_device) {
    for (int ready = 0; ready < 2; ready++) {
        set_scene(1);
        scene.cached[0] = scene.cached[1] = false;
        scene.ready = ready;
        scene.loads = true;
        pilot_takes(20e-6); // 60 ms on the CPU, 8 on the device
        scene.pilot.took = 2;
        CHECK_INT(choose(10000, 0), ready);
        CHECK_INT(scene.settled, ready);
        CHECK(scene.chooser.table.row[1].kernel.missed == 0 || ready);
    }
    // One that should have been ready at once costs more than was thought.
    set_scene(1);
    scene.cached[0] = scene.cached[1] = false;
    scene.loads = true;
    scene.chooser.table.row[1].device.start = 0;
    scene.compile = 1e-3;
    pilot_takes(20e-6);
    scene.pilot.took = 2;
    CHECK_INT(choose(10000, 0), 0);
    CHECK_INT(scene.settled, 0);
    choose_loaded(&scene.chooser, 1, "1"); // until it is there
    CHECK_INT(choose(10000, 0), 1);
    // With more rows it is, and the CPU begins with them where bits are the same.
    for (int is_free = 0; is_free < 2; is_free++) {
        set_scene(1);
        scene.cached[0] = scene.cached[1] = false;
        scene.loads = true;
        scene.free = is_free;
        scene.chooser.table.row[1].device.at_once = 3000;
        pilot_takes(60e-6);
        scene.pilot.took = 2;
        CHECK_INT(choose(200000, 0), 1);
        CHECK_INT(scene.chooser.meanwhile, is_free);
    }
}

// The CPU begins with the batch of a device that must be made ready first, where both give the same
// bits, it has cores for both, and what it does is worth it.
TEST(choice_choose_meanwhile) {
    static const struct {
        bool cpu, gpu, free;
        uint32_t cpus;
        double work;
        bool meanwhile;
    } cases[] = {
        {true, false, true, 4, 60e-6, true},    {true, true, true, 4, 60e-6, true},
        {false, false, true, 4, 200e-6, false}, {true, false, false, 4, 60e-6, false},
        {true, false, true, 2, 60e-6, false},   {true, false, true, 4, 1e-6, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_scene(1);
        scene.chooser.table.row[1].device.at_once = 3000; // four times the CPU
        scene.chooser.machine.cpus = cases[i].cpus;
        scene.cached[0] = cases[i].cpu;
        scene.cached[1] = cases[i].gpu;
        scene.free = cases[i].free;
        pilot_takes(cases[i].work);
        uint32_t row = choose(200000, 0);
        CHECK_INT(row, cases[i].work > 1e-5);
        CHECK_MSG(scene.chooser.meanwhile == cases[i].meanwhile, "case %zu", i);
    }
    set_scene(1); // eight times the CPU, if its compiler is as quick as predicted: who knows
    scene.free = true;
    scene.cached[1] = false;
    scene.compile = 0.3;
    scene.chooser.table.row[1].device.at_once = 6000;
    pilot_takes(60e-6);
    CHECK_INT(choose(200000, 0), 1);
    CHECK(scene.chooser.meanwhile);
    set_scene(1); // a device that is much faster loses more than it gains
    scene.free = true;
    pilot_takes(100e-6);
    CHECK_INT(choose(1000000, 0), 1);
    CHECK(!scene.chooser.meanwhile);
    set_scene(1); // nothing is to be made ready
    scene.free = true;
    scene.chooser.table.row[1].device.at_once = 3000;
    choose_loaded(&scene.chooser, 1, "1");
    pilot_takes(100e-6);
    CHECK_INT(choose(1000000, 0), 1);
    CHECK(!scene.chooser.meanwhile);
}

// What the tune file says of the kernel makes a pilot needless where the choice is clear, or where
// it would take more than a twentieth of the time.
TEST(choice_choose_from_the_file) {
    char key[KEY_HEX];
    snprintf(key, sizeof key, "%064x", 1);
    set_scene(1);
    tune_note(&scene.chooser.tune, key, 1)->work = 1e-9;
    CHECK_INT(choose(100000, 0), 0);
    CHECK_INT(scene.pilots, 0);
    set_scene(1);
    tune_note(&scene.chooser.tune, key, 1)->work = 1e-3;
    CHECK_INT(choose(1000000, 0), 1);
    CHECK_INT(scene.pilots, 0);
    set_scene(1); // near the break-even
    tune_note(&scene.chooser.tune, key, 1)->work = 11e-6;
    pilot_takes(11e-6);
    choose(100000, 0);
    CHECK_INT(scene.pilots, 1);
    set_scene(1); // the same, but the CPU's kernel would have to be compiled for it
    scene.cached[0] = false;
    tune_note(&scene.chooser.tune, key, 1)->work = 11e-6;
    choose(100000, 0);
    CHECK_INT(scene.pilots, 0);
    set_scene(1); // and no other compiler makes that cheaper
    scene.cached[0] = scene.cached[1] = false;
    tune_note(&scene.chooser.tune, key, 1)->work = 30e-6;
    choose(100000, 0);
    CHECK_INT(scene.pilots + scene.compiles, 0);
}

TEST(choice_choose_devices) {
    set_scene(2);
    pilot_takes(1e-3);
    CHECK_INT(choose(1000000, 0), 2); // the larger one
    choose_failed(&scene.chooser, 2);
    CHECK_INT(choose(1000000, 0), 1);
    choose_failed(&scene.chooser, 1);
    CHECK_INT(choose(1000000, 0), 0);
    CHECK_INT(choose(1000000, 10), 0);
    CHECK_HAS(scene.chooser.reason, "there is no other device");
}

// What threads are worth was measured for one, two, four, and all; for others it is as below.
TEST(choice_choose_threads) {
    static const struct {
        uint32_t threads;
        double at_once;
    } cases[] = {{1, 8}, {2, 16 * 0.9}, {3, 24 * 0.9}, {4, 32 * 0.6}, {6, 48 * 0.3}, {7, 56 * 0.6}};
    struct tune *t = check_keep(calloc(1, sizeof *t));
    struct cost_table table;
    set_scene(0);
    tune_set(t, "cpu efficiency 1", 1, 0, 7, 1);
    tune_set(t, "cpu efficiency 2", 0.9, 0, 7, 1);
    tune_set(t, "cpu efficiency 4", 0.6, 0, 7, 1);
    tune_set(t, "cpu efficiency 6", 0.3, 0, 7, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine_cpu cpu = {.threads = cases[i].threads, .lanes = 8};
        machine_costs(&scene.chooser.machine, &cpu, t, "toy-f64", &table);
        CHECK_NEAR(table.row[0].device.at_once, cases[i].at_once, 1e-9);
    }
}

// A GPU that others use: runs that take longer are learned, and the next batch goes elsewhere.
TEST(choice_choose_learns) {
    struct choose_request q = {
        .rows = 1000000, .in_bytes = 8, .out_bytes = 24, .reuses = 1, .noun = "rows"};
    set_scene(1);
    pilot_takes(10e-6);
    CHECK_INT(choose(q.rows, 0), 1);
    choose_loaded(&scene.chooser, 0, "0");
    choose_loaded(&scene.chooser, 1, "1");
    double before = choose_predict(&scene.chooser, &q, 1);
    choose_learn(&scene.chooser, &q, 1, before * 100, true, 1); // the first tells nothing
    CHECK_NEAR(choose_predict(&scene.chooser, &q, 1), before, 1e-9);
    for (int i = 0; i < 3; i++)
        choose_learn(&scene.chooser, &q, 1, before * 100, false, 1);
    CHECK_NEAR(choose_predict(&scene.chooser, &q, 1) / before, 100, 5);
    CHECK_INT(choose(q.rows, 0), 0);
    // The work of a row is learned from the CPU, whose prediction then fits.
    for (int i = 0; i < 20; i++)
        choose_learn(&scene.chooser, &q, 0, 1.5, false, 1);
    CHECK_NEAR(choose_predict(&scene.chooser, &q, 0), 1.5, 0.01);
}

// Batches in a loop, each too small to pay for the start of a device: after some of them it is
// paid, and no more is lost than twice that.
TEST(choice_choose_in_a_loop) {
    set_scene(1);
    pilot_takes(1e-3);
    struct choose_request q = {.rows = 1000,
                               .in_bytes = 8,
                               .out_bytes = 24,
                               .reuses = 1,
                               .noun = "rows",
                               .engine = &engine};
    const struct cost_row *r = scene.chooser.table.row;
    struct cost_job j = {.rows = 1000, .in_bytes = 8, .out_bytes = 24, .work = 1e-3, .spread = 1};
    double price = 0, lost = 0;
    int batches = 0;
    for (uint32_t row = 0; batches < 1000; batches++) {
        CHECK(choose_device(&scene.chooser, &q, &row) == SHOAL_OK);
        if (row)
            break;
        lost += cost_warm(&r[0], &j) - cost_warm(&r[1], &j);
        choose_learn(&scene.chooser, &q, 0, cost_warm(&r[0], &j), false, 1);
    }
    price = r[1].device.start + r[1].device.load;
    CHECK_MSG(batches > 1 && batches < 1000, "%d batches", batches);
    CHECK_MSG(lost <= price && lost > price / 3, "%g s lost for %g s", lost, price);
}

// ---- A trial ------------------------------------------------------------------------------------

// Both kernels are loaded, and the device is predicted to take so many times what the CPU does for
// a batch that fills it many times over; the work of a row is known.
static void set_pair(double times) {
    char key[KEY_HEX];
    set_scene(1);
    for (uint32_t row = 0; row < 2; row++) {
        snprintf(key, sizeof key, "%064x", row + 1);
        choose_loaded(&scene.chooser, row, key);
    }
    scene.chooser.work = 10e-6;
    scene.chooser.piloted = true;
    struct cost_device *d = &scene.chooser.table.row[1].device;
    d->lane = 50;
    d->at_once = d->lane * 4 * 0.85 / times;
    scene.trial = (struct choose_trial){.cpu = 1, .other = 1, .now = 1};
}

static double predicted(uint64_t rows, uint32_t row) {
    struct choose_request q = {
        .rows = rows, .in_bytes = 8, .out_bytes = 24, .reuses = 1, .noun = "rows"};
    return choose_predict(&scene.chooser, &q, row);
}

// Only where it is about as fast, and for little of the work.
TEST(choice_choose_trial) {
    static const struct {
        double times;
        uint64_t rows;
        bool tries;
    } cases[] = {{1.1, 1000000, true},  {0.9, 1000000, true},  {1.25, 1000000, true},
                 {1.4, 1000000, false}, {0.7, 1000000, false}, {1.1, 300, false},
                 {1.1, 17, false},      {1.1, 10000000, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_pair(cases[i].times);
        double best = fmin(predicted(cases[i].rows, 0), predicted(cases[i].rows, 1));
        double cost[2] = {0};
        choose(cases[i].rows, 0);
        CHECK_MSG(scene.trials == cases[i].tries, "case %zu", i);
        if (!cases[i].tries)
            continue;
        CHECK_INT(scene.tried, 1);
        set_pair(cases[i].times);
        for (uint32_t row = 0; row < 2; row++)
            cost[row] = predicted(scene.trial_rows, row);
        CHECK_MSG(fmax(cost[0], cost[1]) <= 0.05 * best, "case %zu: %g of %g", i, cost[1], best);
    }
    set_pair(1.1); // what must be started first is no small part
    scene.chooser.table.row[1].kernel.loaded = scene.chooser.table.row[1].kernel.open = false;
    scene.cached[1] = true;
    choose(100000, 0);
    CHECK_INT(scene.trials, 0);
    set_pair(1.1); // and a threshold asks nobody
    choose(1000000, 5);
    CHECK_INT(scene.trials, 0);
}

// The faster one has the batch, whatever was predicted, and the next prediction knows.
TEST(choice_choose_trial_decides) {
    for (uint32_t winner = 0; winner < 2; winner++)
        for (double times = 0.85; times < 1.3; times += 0.3) {
            set_pair(times);
            choose(1000000, 0); // how many rows it would be
            uint64_t rows = scene.trial_rows;
            set_pair(times);
            double cpu = predicted(rows, 0);
            scene.trial =
                (struct choose_trial){.cpu = cpu, .other = winner ? cpu / 2 : cpu * 2, .now = 1};
            CHECK_INT(choose(1000000, 0), winner);
            CHECK_HAS(scene.chooser.reason, ", by a trial of ");
            double all = cpu * 1e6 / (double)rows;
            CHECK_NEAR(predicted(1000000, 0), all, 0.1 * all);
            double ratio = predicted(1000000, 1) / predicted(1000000, 0);
            CHECK_MSG(winner ? ratio < 0.9 : ratio > 1.1, "%g after a trial", ratio);
            CHECK_INT(choose(1000000, 0), winner);
        }
}

// After ten of them the device is known; the file remembers that.
TEST(choice_choose_trial_ends) {
    set_pair(1.05);
    choose(1000000, 0);
    uint64_t rows = scene.trial_rows;
    set_pair(1.05);
    for (int i = 0; i < 30; i++) {
        scene.trial.cpu = predicted(rows, 0);
        scene.trial.other = predicted(rows, 1);
        choose(1000000, 0);
    }
    CHECK_INT(scene.trials, 10);
    struct buf bytes = {0};
    struct tune *t = check_keep(calloc(1, sizeof *t));
    tune_encode(&scene.chooser.tune, &bytes);
    CHECK(tune_decode(t, bytes.data, bytes.length, 1));
    buf_free(&bytes);
    set_pair(1.05);
    scene.chooser.tune = *t;
    choose(1000000, 0);
    CHECK_INT(scene.trials, 0);
}

// One that tells nothing leaves the choice as it was; a device that fails in it is out.
TEST(choice_choose_trial_fails) {
    set_pair(0.9);
    scene.trial = (struct choose_trial){0};
    CHECK_INT(choose(1000000, 0), 1);
    CHECK(!strstr(scene.chooser.reason, "trial"));
    set_pair(0.9);
    scene.trial = (struct choose_trial){0};
    scene.loses = true;
    CHECK_INT(choose(1000000, 0), 0);
    set_pair(0.9);
    scene.trial_code = SHOAL_STOPPED;
    uint32_t row;
    struct choose_request q = {.rows = 1000000, .reuses = 1, .noun = "rows", .engine = &engine};
    CHECK_INT(choose_device(&scene.chooser, &q, &row), SHOAL_STOPPED);
}
