// SPDX-License-Identifier: MIT
// Backends when things go wrong: sources that do not compile, stops, too little memory, processes
// that were forked, binaries that are none.
#include "device_test.h"

#include "device/device.h"
#include "ode/run/chunk.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

OWN_CACHE

static const char decay[] = "par a=1; init x=1; x'=-a*x";
// Two steps an oscillation, for longer than anybody waits.
static const char endless[] = "par a=1; init x=1, y=0; x'=a*y; y'=-a*x";

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct inputs some(uint64_t rows) {
    const char *names[RIG_NAMES] = {"a"};
    struct inputs in = inputs_new(rows, names);
    for (uint64_t i = 0; i < rows; i++)
        in.value[0][i] = 1 + (double)i;
    return in;
}

// ---- The compiler -------------------------------------------------------------------------------

static shoal_code build_text(struct rig *rig, const char *text, const volatile int *stop,
                             struct shoal_bytes *bytes) {
    shoal_solver *s = rig->solver;
    struct shoal_kernel_text k = {
        .text = text, .length = strlen(text), .digest = "00", .needs_libm = true};
    return s->backend->build(s->device, &k, stop, bytes, log_report(rig->log));
}

DEVICE_TEST(build_error) {
    struct rig rig = device_rig(device, decay, "t1=1");
    struct shoal_bytes bytes = {0};
    CHECK(build_text(&rig, "#error swordfish\n", NULL, &bytes) == SHOAL_DEVICE);
    CHECK(!bytes.data);
    char *messages = rig_messages(rig.log);
    CHECK_MSG(strstr(messages, "swordfish"), "%s", messages);
    free(messages);
    rig_free(&rig);
}

DEVICE_TEST(build_stop) {
    struct rig rig = device_rig(device, decay, "t1=1");
    struct shoal_bytes bytes = {0};
    char *source = rig_source(&rig);
    const volatile int stop = 1;
    double start = seconds();
    CHECK(build_text(&rig, source, &stop, &bytes) == SHOAL_STOPPED);
    CHECK_MSG(seconds() - start < 10, "a stop took %g s", seconds() - start);
    CHECK(!bytes.data);
    CHECK(build_text(&rig, source, NULL, &bytes) == SHOAL_OK); // while the other one still works
    CHECK(bytes.length > 0);
    free(bytes.data);
    free(source);
    rig_free(&rig);
}

DEVICE_TEST(load_garbage) {
    struct rig rig = device_rig(device, decay, "t1=1");
    shoal_solver *s = rig.solver;
    static const char *const texts[] = {"", "garbage that is no kernel at all", "\177ELF"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct shoal_module *module = NULL;
        struct shoal_bytes bytes = {(unsigned char *)(uintptr_t)texts[i], strlen(texts[i])};
        CHECK(s->backend->load(s->device, &bytes, "shoal_kernel", &module, NULL, NULL) != SHOAL_OK);
        CHECK(!module);
    }
    rig_free(&rig);
}

DEVICE_TEST(second_time_from_cache) {
    struct inputs in = some(20);
    setenv("SHOAL_CACHE_DIR", check_path("mine"), 1);
    struct rig first = device_rig(device, decay, "t1=1 method=rk4 dt=0.1");
    struct rig second = device_rig(device, decay, "t1=1 method=rk4 dt=0.1");
    CHECK(!first.solver->runner.kernel[PLAN_FIRST].cached);
    CHECK(second.solver->runner.kernel[PLAN_FIRST].cached);
    struct outcome want = rig_run(&first, &in, NULL, 0, NULL);
    struct outcome got = rig_run(&second, &in, NULL, 0, NULL);
    device_same(&want, &got, "from the cache");
    outcome_free(&want);
    outcome_free(&got);
    rig_free(&first);
    rig_free(&second);
    inputs_free(&in);
}

// ---- Stops --------------------------------------------------------------------------------------

static void *stop_soon(void *solver) {
    struct timespec wait = {.tv_nsec = 300000000};
    nanosleep(&wait, NULL);
    shoal_solver_stop(solver);
    return NULL;
}

// In one chunk, and with others on their way.
static void check_stop(const char *device, uint64_t chunk) {
    struct inputs in = some(500);
    struct rig rig = device_rig(device, endless, "t1=1e9 max-steps=1000000000 method=tsit5");
    rig_turn(rig.solver, (struct rig_way){.chunk = chunk});
    pthread_t thread;
    double start = seconds();
    REQUIRE(pthread_create(&thread, NULL, stop_soon, rig.solver) == 0);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL);
    pthread_join(thread, NULL);
    CHECK(o.code == SHOAL_STOPPED);
    CHECK(!o.tally.complete);
    CHECK_MSG(seconds() - start < 20, "a stop took %g s", seconds() - start);
    outcome_free(&o);
    rig_free(&rig);
    inputs_free(&in);
}
DEVICE_TEST(stop) {
    check_stop(device, 0);
    check_stop(device, 100);
}

// ---- Memory -------------------------------------------------------------------------------------

DEVICE_TEST(out_of_memory) {
    if (device_test_is_cpu(device))
        return; // its blocks are the caller's
    struct rig rig = device_rig(device, decay, "t1=1 method=rk4 dt=0.1");
    shoal_solver *s = rig.solver;
    char small[64];
    struct shoal_call call = {.head = {.rows = 1}};
    struct shoal_piece piece = {LOG_d2h_transfer_state, 0, (size_t)1 << 50};
    struct shoal_launch l = {
        .args = &call,
        .args_bytes = sizeof call,
        .written = {.data = small, .bytes = (size_t)1 << 50, .pieces = 1, .piece = &piece}};
    struct shoal_slot *slot = s->backend->slot_open(s->device, 0);
    size_t before = shoal_log_message_count(rig.log);
    REQUIRE(slot);
    CHECK(s->backend->start(s->runner.kernel[PLAN_FIRST].kernel->module, slot, &l,
                            log_report(rig.log)) == SHOAL_MEMORY);
    CHECK_INT(shoal_log_message_count(rig.log), before); // the caller tries with less
    s->backend->slot_close(slot);
    struct inputs in = some(50);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL); // and that works
    CHECK(o.code == SHOAL_OK);
    outcome_free(&o);
    inputs_free(&in);
    rig_free(&rig);
}

DEVICE_TEST(array_outside_block) {
    struct rig rig = device_rig(device, decay, "t1=1 method=rk4 dt=0.1");
    char small[64];
    struct shoal_call call = {.head = {.rows = 1}};
    struct shoal_piece piece = {LOG_d2h_transfer_state, 0, 32}; // less than the block
    const struct shoal_place places[] = {{SHOAL_WRITTEN, 32, 1},
                                         {SHOAL_WRITTEN, SIZE_MAX, 2},
                                         {SHOAL_READ, 0, 1},
                                         {SHOAL_RESIDENT, 0, 1},
                                         {SHOAL_WRITTEN, 0, 33}};
    const shoal_solver *s = rig.solver;
    struct shoal_slot *slot = s->backend->slot_open(s->device, 0);
    REQUIRE(slot);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct shoal_launch l = {
            .args = &call,
            .args_bytes = sizeof call,
            .written = {.data = small, .bytes = sizeof small, .pieces = 1, .piece = &piece},
            .place = &places[i],
            .places = 1};
        CHECK(s->backend->start(s->runner.kernel[PLAN_FIRST].kernel->module, slot, &l,
                                log_report(rig.log)) == SHOAL_DEVICE);
    }
    s->backend->slot_close(slot);
    rig_free(&rig);
}

// ---- Processes ----------------------------------------------------------------------------------

DEVICE_TEST(after_fork) {
    if (device_test_is_cpu(device))
        return;
    struct rig rig = device_rig(device, decay, "t1=1 method=rk4 dt=0.1");
    struct inputs in = some(5);
    pid_t pid = fork();
    if (pid == 0) {
        struct shoal_launch l = {0};
        const shoal_solver *s = rig.solver;
        struct shoal_device *again = NULL; // drivers may wait for threads of the parent for ever
        shoal_code opened = s->backend->open(0, NULL, false, &again, NULL);
        struct shoal_slot *slot = s->backend->slot_open(s->device, 0);
        shoal_code started =
            s->backend->start(s->runner.kernel[PLAN_FIRST].kernel->module, slot, &l, NULL);
        _exit(opened == SHOAL_DEVICE && started == SHOAL_DEVICE ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct outcome o = rig_run(&rig, &in, NULL, 0, NULL); // the parent's is as it was
    CHECK(o.code == SHOAL_OK);
    outcome_free(&o);
    rig_free(&rig);
    inputs_free(&in);
}

// ---- Choosing -----------------------------------------------------------------------------------

static void refused(const char *name, shoal_code code, const char *words) {
    const struct shoal_backend *backend = NULL;
    uint32_t index;
    shoal_log *log = shoal_log_new();
    CHECK(device_choose(name, &backend, &index, log_report(log)) == code);
    char *messages = rig_messages(log);
    CHECK_MSG(strstr(messages, words), "%s: %s", name, messages);
    free(messages);
    shoal_log_free(log);
}

TEST(choosing_a_device) {
    refused("opncl", SHOAL_INPUT, "did you mean 'opencl'");
    refused("cuda:x", SHOAL_INPUT, "there is no device 'cuda:x'");
    refused("cpu:7", SHOAL_DEVICE, "there is no device 7, only 1");
    refused("opencl:", SHOAL_INPUT, "there is no device 'opencl:'");
    setenv("SHOAL_DEVICE", "cuad", 1);
    refused("auto", SHOAL_INPUT, "SHOAL_DEVICE: there is no device 'cuad'");
}

TEST(auto_falls_back_to_the_cpu) {
    const struct shoal_backend *backend = NULL;
    uint32_t index = 9;
    shoal_log *log = shoal_log_new();
    setenv("SHOAL_DEVICE", "opencl:99999", 1);
    CHECK(device_choose("auto", &backend, &index, log_report(log)) == SHOAL_OK);
    REQUIRE(backend);
    CHECK_STR(backend->name, "cpu");
    CHECK_INT(index, 0);
    char *messages = rig_messages(log);
    CHECK_MSG(strstr(messages, "SHOAL_DEVICE cannot be used, so the CPU is"), "%s", messages);
    free(messages);
    shoal_log_free(log);
    refused("opencl:99999", SHOAL_DEVICE, "opencl: "); // by its name it is an error
}

// Starting a GPU takes longer than a small batch.
TEST(auto_loads_no_library_of_a_gpu) {
    check_write(check_path("m.ode"), "par a=1\ninit x=1\nx'=-a*x\n@ t1=1\n");
    setenv("LD_DEBUG", "files", 1);
    struct check_output o = RUN(check_shoal(), "run", check_path("m.ode"), "--device", "auto",
                                "--sweep", "a=lin:0:1:8", "-o", check_path("o.csv"));
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "libc.so.6"); // it was heard
    CHECK(!strstr(o.err, "libcuda") && !strstr(o.err, "libOpenCL") && !strstr(o.err, "libnvrtc"));
}

TEST(every_backend_is_listed) {
    static const char *const names[] = {"cpu", "cuda", "opencl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool found = false;
        for (uint32_t k = 0; k < shoal_device_count(); k++) {
            shoal_device_info info = shoal_device_at(k);
            found = found || !strncmp(info.name, names[i], strlen(names[i]));
            CHECK(info.description[0]); // what it is, or why it cannot be used
        }
        CHECK_MSG(found, "%s is not listed", names[i]);
    }
}
