// SPDX-License-Identifier: MIT
// Devices are looked for by another program: a driver that crashes or hangs costs nobody else, an
// answer is asked for once, and who computes on the CPU loads no driver.
#include "device/known.h"

#include "check.h"
#include "device/device.h"
#include "fake_gpu.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

static const char lorenz[] = "par a=1\nx'=-a*x\ninit x=1\n@ t1=1\n";

static void build(const char *library, const char *soname) {
    char flag[64];
    snprintf(flag, sizeof flag, "-Wl,-soname,%s", soname);
    struct check_output o =
        RUN("cc", "-shared", "-fPIC", "-o", library, flag, "tests/fakes/bad_driver.c");
    if (o.status == 127)
        check_skip("there is no cc");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

// Drivers of CUDA and OpenCL for children, that do this when they are loaded.
static void use_bad_drivers(const char *what) {
    const char *folder = check_path("drivers");
    char path[4096];
    if (mkdir(folder, 0755) == 0) {
        static const char *const names[] = {"libcuda.so.1", "libOpenCL.so.1"};
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            build(path, names[i]);
        }
        check_write(check_path("m.ode"), lorenz);
    }
    setenv("LD_LIBRARY_PATH", folder, 1);
    setenv("FAKE_LOADS", check_path("loads"), 1);
    setenv("FAKE_DRIVER", what, 1);
}

// Since the last time.
static size_t loads(void) {
    char *text = check_read(check_path("loads"));
    size_t n = text ? strlen(text) : 0;
    unlink(check_path("loads"));
    free(text);
    return n;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// A program that has the library in it, and not shoal-devices beside it, asks by a copy of itself.
TEST(known_by_a_copy) {
    struct check_output with = RUN(check_shoal(), "devices");
    REQUIRE(RUN("cp", check_shoal(), check_path("shoal")).status == 0);
    setenv("SHOAL_CACHE_DIR", check_path("other"), 1);
    struct check_output without = RUN(check_path("shoal"), "devices");
    CHECK_INT(without.status, 0);
    CHECK_STR(without.out, with.out);
}

// ---- Drivers that misbehave ---------------------------------------------------------------------

TEST(known_driver_that_crashes) {
    use_bad_drivers("abort");
    struct check_output o = RUN(check_shoal(), "devices");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "cpu ");
    CHECK_HAS(o.out, "cuda       not usable: the driver (libcuda.so.1) crashed: Aborted");
    CHECK_HAS(o.out, "opencl     not usable: the driver");
    CHECK_HAS(o.out, "crashed: Aborted");
    o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "opencl");
    CHECK_INT(o.status, 3);
    CHECK_HAS(o.err, "error: opencl: the driver");
    CHECK_HAS(o.err, "crashed: Aborted");
    o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cuda:0");
    CHECK_INT(o.status, 3);
    CHECK_HAS(o.err, "error: cuda: the driver (libcuda.so.1) crashed");
    setenv("SHOAL_DEVICE", "cuda", 1);
    o = RUN(check_shoal(), "run", check_path("m.ode"));
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "SHOAL_DEVICE cannot be used, so the CPU is");
}

TEST(known_driver_that_hangs) {
    use_bad_drivers("hang");
    setenv("SHOAL_DRIVER_SECONDS", "0.3", 1);
    double start = seconds();
    struct check_output o = RUN(check_shoal(), "devices");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "cuda       not usable: the driver (libcuda.so.1) did not answer in 0.3 s");
    CHECK(seconds() - start < 5);
    o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cuda");
    CHECK_INT(o.status, 3);
    CHECK_HAS(o.err, "did not answer");
}

TEST(known_driver_that_exits) {
    use_bad_drivers("exit");
    struct check_output o = RUN(check_shoal(), "devices");
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.out, "(libcuda.so.1) ended the program that asked it (status 7)");
}

// One driver of OpenCL that crashes leaves the others: PoCL beside one that aborts.
TEST(device_known_vendor_that_crashes) {
    char *icd = check_read("/etc/OpenCL/vendors/pocl.icd"), text[4200];
    const char *folder = check_path("vendors"), *driver = check_path("libbad.so");
    if (!icd)
        check_skip("there is no PoCL");
    REQUIRE(mkdir(folder, 0755) == 0 && mkdir(check_path("tmp"), 0700) == 0);
    setenv("TMPDIR", check_path("tmp"), 1);
    build(driver, "libbad.so");
    check_write(check_path("vendors/pocl.icd"), icd);
    snprintf(text, sizeof text, "%s\n", driver);
    check_write(check_path("vendors/bad.icd"), text);
    free(icd);
    setenv("OCL_ICD_VENDORS", check_path("tmp"), 1); // without a driver in it
    if (strstr(RUN(check_shoal(), "devices").out, "opencl:0"))
        check_skip("this loader of OpenCL does not look where OCL_ICD_VENDORS says");
    setenv("OCL_ICD_VENDORS", folder, 1);
    setenv("FAKE_DRIVER", "abort", 1);
    check_write(check_path("m.ode"), lorenz);
    for (int i = 0; i < 2; i++) { // asked, then remembered
        struct check_output o = RUN(check_shoal(), "devices");
        CHECK_INT(o.status, 0);
        CHECK_HAS(o.out, "opencl:0   ");
        CHECK_HAS(o.out, "opencl     not usable: the driver of ");
        CHECK_HAS(o.out, "vendors/bad.icd crashed: Aborted");
        CHECK(!strstr(o.out, "pocl.icd"));
    }
    struct check_output o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "opencl");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN("ls", check_path("tmp"));
    CHECK_STR(o.out, ""); // nothing is left behind
}

// Who stops need not wait for a driver.
TEST(known_asking_can_be_stopped) {
    use_bad_drivers("hang");
    static const char *const devices[] = {"auto", "cuda"};
    for (int i = 0; i < 2; i++) {
        double start = seconds();
        struct check_output o =
            RUN("timeout", "-s", "INT", "0.5", check_shoal(), "run", check_path("m.ode"),
                "--device", devices[i], "--sweep", "a=lin:1:2:100");
        CHECK_INT(o.status, 124);
        CHECK(seconds() - start < 4); // of 30
        CHECK_HAS(o.err, "stopped");
        CHECK(!strstr(o.err, "did not answer"));
    }
}

TEST(known_asking_for_grids_can_be_stopped) {
    use_bad_drivers("hang");
    check_write(check_path("g.txt"), "1 2\n3 4\n");
    static const char *const devices[] = {"auto", "cuda"};
    for (int i = 0; i < 2; i++) {
        double start = seconds();
        struct check_output o =
            RUN("timeout", "-s", "INT", "0.5", check_shoal(), "grid", "rot90", "--in",
                check_path("g.txt"), "--device", devices[i], "--threshold", "1", "-o", "-");
        CHECK_INT(o.status, 124);
        CHECK(seconds() - start < 4); // of 30
        CHECK_HAS(o.err, "stopped");
        CHECK(!strstr(o.err, "did not answer"));
    }
}

// ---- Who loads drivers --------------------------------------------------------------------------

TEST(known_cpu_loads_no_driver) {
    use_bad_drivers("abort");
    struct check_output o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cpu");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(check_shoal(), "warm", check_path("m.ode"), "--device", "cpu");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(check_shoal(), "env");
    CHECK_INT(o.status, 0);
    o = RUN(check_shoal(), "run", check_path("m.ode"), "--sweep", "a=lin:1:2:16"); // plainly its
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_INT(loads(), 0);
    RUN(check_shoal(), "run", check_path("m.ode"), "--sweep", "a=lin:1:2:17");
    CHECK(loads() > 0);
}

// The list of this process, by the program.
static uint32_t list(const struct device_known **out) { return device_known(out, NULL); }

TEST(known_by_a_fake_driver) {
    use_fake_cuda();
    setenv("OCL_ICD_VENDORS", check_path("none"), 1);
    const struct device_known *d = NULL, *again = NULL;
    REQUIRE(list(&d) == 1);
    CHECK_STR(d->name, "cuda:0");
    CHECK(d->backend == device_backend("cuda"));
    CHECK_INT(d->index, 0);
    CHECK_STR(d->text, "Fake 9000, sm_90, 2 multiprocessors, 1 GiB, driver for CUDA 13.0");
    CHECK_INT(strlen(d->digest), 64);
    CHECK_INT(d->units, 2);
    CHECK(!d->is_cpu_type);
    CHECK_INT(list(&again), 1);
    CHECK(again == d);
    known_doubt(d->backend);
    CHECK_INT(list(&again), 1);
    CHECK(again == d); // nothing has changed
    shoal_device_info info = shoal_device_at(1);
    CHECK(info.usable);
    CHECK_STR(info.name, "cuda:0");
    CHECK_STR(info.description, d->text);
}

// ---- What is remembered -------------------------------------------------------------------------

// A program in the place of the one that asks, which counts; it answers with the fake driver.
static void count_asking(void) {
    char text[1024];
    const char *build = getenv("SHOAL_BUILD"), *program = check_path("asker");
    snprintf(text, sizeof text, "%s/shoal-devices", build ? build : "build");
    char *real = realpath(text, NULL);
    REQUIRE(real);
    snprintf(text, sizeof text, "#!/bin/sh\nprintf x >> %s\nexec %s \"$@\"\n", check_path("loads"),
             real);
    check_write(program, text);
    chmod(program, 0755);
    setenv("SHOAL_DEVICES_PROGRAM", program, 1);
    free(real);
}

TEST(known_is_remembered) {
    use_fake_cuda();
    count_asking();
    setenv("OCL_ICD_VENDORS", check_path("none"), 1);
    check_write(check_path("m.ode"), lorenz);
    struct check_output o = RUN(check_shoal(), "devices");
    CHECK_HAS(o.out, "cuda:0     Fake 9000, sm_90");
    CHECK_INT(loads(), 2); // both backends
    o = RUN(check_shoal(), "devices");
    CHECK_HAS(o.out, "cuda:0     Fake 9000, sm_90");
    CHECK_INT(loads(), 1); // OpenCL's no is not believed by somebody who looks
    RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cuda");
    CHECK_INT(loads(), 0);
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cuda");
    CHECK_INT(loads(), 1);
    RUN("touch", check_path("fake.so")); // another driver
    RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cuda");
    CHECK_INT(loads(), 1);
    o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cuda:3");
    CHECK_INT(o.status, 3);
    CHECK_HAS(o.err, "cuda: there is no device 3, only 1");
    CHECK_INT(loads(), 1); // what is remembered is not believed when it says no
}

// A device that was there and cannot be opened now is asked for again.
TEST(known_is_a_hint) {
    const struct device_known *d = NULL;
    use_fake_cuda();
    count_asking();
    setenv("OCL_ICD_VENDORS", check_path("none"), 1);
    check_write(check_path("m.ode"), lorenz);
    REQUIRE(list(&d) == 1);
    loads();
    setenv("FAKE_CUDA_FAIL", "cuInit", 1);
    struct check_output o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "cuda");
    CHECK_INT(o.status, 3);
    CHECK_HAS(o.err, "cuda: the driver");
    CHECK_INT(loads(), 0);
    o = RUN(check_shoal(), "devices");
    CHECK_HAS(o.out, "cuda       not usable: the driver");
    CHECK(loads() >= 1);
}

// A record that others wrote is not believed, whatever it says.
TEST(known_record_is_signed) {
    use_fake_cuda();
    count_asking();
    setenv("OCL_ICD_VENDORS", check_path("none"), 1);
    RUN(check_shoal(), "devices");
    loads();
    RUN("sh", "-c",
        "for f in \"$0\"/v1/probe/*; do chmod u+w \"$f\"; sed -i 's/Fake 9000/Evil 9000/' \"$f\"; "
        "done",
        check_path("cache"));
    struct check_output o = RUN(check_shoal(), "devices");
    CHECK_HAS(o.out, "Fake 9000");
    CHECK(!strstr(o.out, "Evil"));
    CHECK_INT(loads(), 2);
}

TEST(known_without_a_process) {
    const struct device_known *d = NULL;
    use_fake_cuda();
    setenv("SHOAL_DEVICES_PROGRAM", check_path("nothing"), 1);
    CHECK_INT(list(&d), 0);
    shoal_device_info info = shoal_device_at(1);
    CHECK(!info.usable);
    CHECK_HAS(info.description, "a process that asks its driver cannot start");
    const struct shoal_backend *b = NULL; // who names it gets it
    uint32_t index = 7;
    CHECK_INT(device_choose("cuda", &b, &index, NULL), SHOAL_OK);
    CHECK(b == device_backend("cuda") && index == 0);
}

// What comes back may be anything.
TEST(known_answers_are_not_believed) {
    static const char *const scripts[] = {
        "exit 0",
        "printf 'device\\0\\1\\0\\0\\0\\0\\0\\0\\0A'", // no end
        "printf 'device\\0\\377\\377\\377\\377\\377\\377\\377\\377A'",
        "printf 'end'",
        "exec head -c 1000000 /dev/zero",
    };
    setenv("SHOAL_CACHE", "off", 1);
    const char *program = check_path("asker");
    char text[512];
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        snprintf(text, sizeof text, "#!/bin/sh\n%s\n", scripts[i]);
        check_write(program, text);
        chmod(program, 0755);
        setenv("SHOAL_DEVICES_PROGRAM", program, 1);
        struct check_output o = RUN(check_shoal(), "devices");
        CHECK_INT(o.status, 0);
        CHECK_HAS(o.out, "cuda       not usable: the driver");
    }
    check_write(program, // control characters, and more devices than there can be
                "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0; do printf "
                "'device\\0\\3\\0\\0\\0\\0\\0\\0\\0A\\033B'; done; printf "
                "'end\\0\\0\\0\\0\\0\\0\\0\\0\\0'\n");
    struct check_output o = RUN(check_shoal(), "devices");
    CHECK_HAS(o.out, "cuda:15    A B");
    CHECK(!strstr(o.out, "cuda:16"));
}

// The first run on a machine has its kernel made while drivers are asked.
TEST(known_asked_beside_a_compiler) {
    use_bad_drivers("hang");
    setenv("SHOAL_DRIVER_SECONDS", "1.5", 1);
    const char *json = check_path("t.json");
    struct check_output o = RUN(check_shoal(), "run", check_path("m.ode"), "--sweep",
                                "a=lin:1:2:100", "--timing-json", json, "-o", "-");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.err, "cuda is left out");
    char *text = check_read(json), *compile = text ? strstr(text, "\"compile_kernel\"") : NULL;
    REQUIRE(compile);
    const char *t0 = strstr(compile, "\"t0_ns\":");
    CHECK_MSG(t0 && atof(t0 + 8) < 1.5e9, "%.200s", compile); // it began before they were given up
    free(text);
    setenv("SHOAL_DRIVER_SECONDS", "30", 1);
    o = RUN(check_shoal(), "run", check_path("m.ode"), "--sweep", "a=lin:1:2:100", "-o",
            "-"); // what they said is remembered
    CHECK_INT(o.status, 0);
}
