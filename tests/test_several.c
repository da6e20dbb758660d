// SPDX-License-Identifier: MIT
// Several devices that run one batch: the bits of one, whoever fails on the way.
#include "check.h"
#include "fake_gpu.h"

#include "device/device.h"
#include "shoal/shoal.h"

#include <unistd.h>

#define SHOAL(...) RUN(check_shoal(), __VA_ARGS__)

static void place(void) {
    check_enter();
    check_write("m.ode", "par k=1\ninit x=1\nx'=k-x*x/4\n@ t1=2, method=tsit5\n");
    check_write("e.ode", "par k=1\ninit x=1\nx'=k-exp(x)\n@ t1=2, method=tsit5\n");
}

static void need_pocl(void) {
    char why[192];
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    if (!device_backend("opencl")->count(why, sizeof why))
        check_skip("opencl: %s", why);
}

static bool same(const char *a, const char *b) { return RUN("cmp", a, b).status == 0; }

TEST(device_several_give_the_bits_of_one) {
    static const char *const devices[] = {"opencl:0,0", "cpu+opencl:0", "opencl:all"};
    need_pocl();
    place();
    struct check_output o =
        SHOAL("run", "m.ode", "-q", "--device", "cpu", "--sweep", "k=lin:1:2:20000", "-o", "r.npz");
    REQUIRE(o.status == 0);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        o = SHOAL("run", "m.ode", "--device", devices[i], "--sweep", "k=lin:1:2:20000", "--chunk",
                  "500", "-o", "o.npz");
        CHECK_MSG(o.status == 0, "%s: %s", devices[i], o.err);
        CHECK_HAS(o.err, "20,000 trajectories: 20,000 ok");
        CHECK(!strstr(o.err, "warning"));
        CHECK_MSG(same("r.npz", "o.npz"), "%s", devices[i]);
    }
    o = SHOAL("run", "m.ode", "-q", "--device", "cpu+opencl:0", "--sweep", "k=lin:1:2:2000",
              "--chunk", "50", "--reduce", "mean", "-o", "o.csv");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = SHOAL("run", "m.ode", "-q", "--device", "cpu", "--sweep", "k=lin:1:2:2000", "--reduce",
              "mean", "-o", "r.csv");
    CHECK(same("r.csv", "o.csv"));
}

// What a device is compiled for is no part of what is computed: equal bits are equal files.
TEST(device_several_kernels_write_one_key) {
    static const char *const how[][4] = {
        {"--method", "tsit5", "--save", "n=3"},     {"--method", "rk4", "--dt", "0.01"},
        {"--method", "euler", "--dt", "0.01"},      {"--method", "tsit5", "--save", "steps"},
        {"--method", "rodas5p", "--save", "steps"}, {"--method", "auto", "--summary", "max(x)"},
    };
    need_pocl();
    place();
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        const char *const *h = how[i];
        for (int k = 0; k < 2; k++) {
            struct check_output o =
                SHOAL("run", "m.ode", "-q", "--device", k ? "opencl" : "cpu", "--sweep",
                      "k=lin:1:2:40", h[0], h[1], h[2], h[3], "-o", k ? "o.npz" : "r.npz");
            CHECK_MSG(o.status == 0, "%s", o.err);
        }
        CHECK_MSG(same("r.npz", "o.npz"), "%s %s %s", h[1], h[2], h[3]);
    }
}

// Stopped, and gone on with by the words of the journal alone; each device has a track.
TEST(several_go_on_after_a_stop) {
    place();
    check_write("l.ode", "par rho=28\nx'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\n"
                         "init x=1, y=1, z=1\n@ t1=10, method=tsit5\n");
    struct check_output o =
        RUN("sh", "-c",
            "\"$0\" run l.ode -q --device cpu+cpu --sweep rho=lin:0:28:100000 --chunk 200 "
            "-o o.npz & pid=$!\n"
            "for i in $(seq 1000); do grep -q ^range o.npz.part.journal && break; sleep 0.01; done "
            "2> log\n"
            "kill -USR1 $pid; wait $pid",
            check_shoal());
    CHECK_MSG(o.status == 75, "%d: %s", o.status, o.err);
    o = SHOAL("resume", "o.npz", "--timing-json", "t.json");
    CHECK_MSG(o.status == 0, "%s", o.err);
    char *times = check_keep(check_read("t.json"));
    CHECK_HAS(times, "\"track\":\"0: cpu\"");
    CHECK_HAS(times, "\"track\":\"1: cpu\"");
    o = SHOAL("run", "l.ode", "-q", "--device", "cpu", "--sweep", "rho=lin:0:28:100000", "-o",
              "r.npz");
    CHECK(same("r.npz", "o.npz"));
}

// Functions of a library differ from one device to another.
TEST(device_several_refuse_other_bits) {
    need_pocl();
    place();
    struct check_output o =
        SHOAL("run", "e.ode", "-q", "--device", "cpu+opencl:0", "--sweep", "k=1,2", "-o", "o.csv");
    CHECK_INT(o.status, 1);
    CHECK_HAS(o.err, "cpu and opencl:0 may differ in their last digits");
    o = SHOAL("run", "e.ode", "-q", "--device", "cpu+opencl:0", "--sweep", "k=1,2", "--mixed-bits",
              "-o", "o.csv");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

TEST(several_names_are_checked) {
    static const char *const wrong[] = {"cpu,0",         "cuda:0,", "cuda:,0",   "auto+cpu",
                                        "cpu+",          "+cpu",    "cuda:0,x",  "cpu:0,1",
                                        "cuda:0+nosuch", "cpu:all", "cuda:all,0"};
    place();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct check_output o =
            SHOAL("run", "m.ode", "-q", "--device", wrong[i], "--sweep", "k=1,2", "-o", "o.csv");
        CHECK_MSG(o.status == 1 && strstr(o.err, "error: --device"), "%s: %d %s", wrong[i],
                  o.status, o.err);
    }
}

// ---- Devices that die ---------------------------------------------------------------------------

static const char text[] = "par k=1\ninit x=1\nx'=k-x*x/4\n@ t1=2, method=tsit5\n";
enum { ROWS = 2000 };

struct outcome {
    shoal_code code;
    uint64_t by_fake, by_cpu;
    char words[2048];
};

static void read_words(const shoal_log *log, struct outcome *out) {
    for (size_t i = 0; i < shoal_log_message_count(log); i++) {
        size_t n = strlen(out->words);
        snprintf(out->words + n, sizeof out->words - n, "%s\n", shoal_log_message(log, i).text);
    }
}

static void run(const char *device, double *x, struct outcome *out) {
    shoal_log *log = shoal_log_new();
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver = NULL;
    shoal_tally tally = {0};
    REQUIRE(shoal_model_parse("m.ode", text, strlen(text), &model, log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&options, model, log) == SHOAL_OK);
    options.device = device;
    options.chunk = 100;
    REQUIRE(shoal_batch_new(model, &batch, log) == SHOAL_OK);
    REQUIRE(shoal_batch_sweep(batch, "k=lin:1:2000:2000", log) == SHOAL_OK);
    shoal_array arrays[] = {{.name = "x", .data = x}};
    out->code = shoal_solver_new(model, &options, &solver, log);
    if (out->code == SHOAL_OK)
        out->code = shoal_solver_run_arrays(solver, batch, arrays, 1, &tally, log);
    CHECK(tally.complete == (out->code == SHOAL_OK));
    read_words(log, out);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_model_free(model);
    shoal_log_free(log);
}

static struct outcome run_with(const char *device, const double *want) {
    struct outcome out = {0};
    double x[ROWS] = {0};
    run(device, x, &out);
    for (int i = 0; i < ROWS; i++) {
        out.by_fake += x[i] == 3.0 * (i + 1);
        out.by_cpu += x[i] == want[i];
    }
    return out;
}

// A device that fails, at once or later, and is the first or another, leaves its rows to the rest.
TEST(several_go_on_without_one) {
    static const struct {
        const char *device;
        int after; // launches
        bool cpu;
    } cases[] = {
        {"cpu+cuda:0", 0, true}, {"cuda:0+cpu", 0, true},   {"cpu+cuda:0", 2, true},
        {"cuda:0+cpu", 3, true}, {"cuda:0,0+cpu", 1, true}, {"cuda:0,0", 2, false},
    };
    struct fake_cuda *fake = use_fake_triple();
    double want[ROWS];
    struct outcome o = {0};
    run("cpu", want, &o);
    REQUIRE(o.code == SHOAL_OK);
    o = run_with("cuda:0,0", want);
    CHECK_MSG(o.code == SHOAL_OK && o.by_fake == ROWS, "%s", o.words);
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake->fail = "cuLaunchKernel";
        fake->fail_result = 719;
        fake->fail_after = cases[i].after;
        o = run_with(cases[i].device, want);
        fake->fail = NULL;
        bool failed = fake->fail_after < 0; // else the CPU was done before
        failures += failed;
        if (cases[i].cpu) {
            CHECK_MSG(o.code == SHOAL_OK, "%s: %s", cases[i].device, o.words);
            CHECK_MSG(o.by_fake + o.by_cpu == ROWS, "%s: %d and %d", cases[i].device,
                      (int)o.by_fake, (int)o.by_cpu);
            const char *said =
                strstr(o.words, "warning: cuda:0 failed, and its runs were left to the other");
            CHECK_MSG(failed == (said != NULL), "%s: %s", cases[i].device, o.words);
            CHECK(!strstr(o.words, "error:"));
        } else {
            CHECK_INT(o.code, SHOAL_DEVICE);
            CHECK_HAS(o.words, "error:");
        }
    }
    CHECK(failures > 2);
}

// Launches of each card since `before`; whether all have had one.
static bool all_took(const struct fake_cuda *fake, const int before[4], int took[4]) {
    bool all = true;
    for (int i = 0; i < 4; i++)
        all = (took[i] = fake->launched[i] - before[i]) > 0 && all;
    return all;
}

// Four cards, each half as fast as the one before: all take part, unless a thread begins when
// others have done it all, and the fastest takes the most. One that dies leaves its rows to the
// others.
TEST(several_cards_of_different_speed) {
    setenv("FAKE_CUDA_DEVICES", "4", 1);
    struct fake_cuda *fake = use_fake_triple();
    double want[ROWS] = {0};
    for (int i = 0; i < 4; i++)
        fake->launch_us[i] = 2000u << i;
    for (int dies = 0; dies < 2; dies++) {
        int before[4], took[4] = {0}, told = 0;
        memcpy(before, fake->launched, sizeof before);
        for (int tries = 0; tries < 20 && (tries == 0 || !all_took(fake, before, took)); tries++) {
            fake->fail = dies ? "cuLaunchKernel" : NULL;
            fake->fail_only = 2;
            fake->fail_result = 719;
            fake->fail_after = 1;
            struct outcome o = run_with(dies ? "cuda:0,1,2,3" : "cuda:all", want);
            fake->fail = NULL;
            CHECK_MSG(o.code == SHOAL_OK && o.by_fake == ROWS, "%d rows: %s", (int)o.by_fake,
                      o.words);
            told += !!strstr(o.words, "warning: cuda:1 failed, and its runs were left to");
        }
        CHECK_MSG(all_took(fake, before, took) && took[0] > took[3], "%d, %d, %d and %d launches",
                  took[0], took[1], took[2], took[3]);
        CHECK(dies == (told > 0));
    }
}
