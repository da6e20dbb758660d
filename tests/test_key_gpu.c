// SPDX-License-Identifier: MIT
// Kernels of GPUs in the cache, all the way from a model to a solve, with a driver and a compiler
// that are fakes (tests/fakes).
#include "check.h"
#include "fake_gpu.h"
#include "kernels.h"
#include "rig.h"

#include <sys/wait.h>
#include <unistd.h>

OWN_CACHE

static const char base[] = "par a=1; init x=1; x'=-a*x; @ t1=1";

static struct made on_gpu(bool plan) {
    struct made m = make_solver(base, "device=cuda", plan, NULL);
    for (size_t i = 0; m.code && i < shoal_log_message_count(m.log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(m.log, i).text);
    REQUIRE(m.code == SHOAL_OK);
    return m;
}

// One solve, and whether its kernel was there.
static void check_solve(bool cached) {
    double values[8];
    struct made m = on_gpu(false);
    CHECK_INT(m.solver->runner.kernel[PLAN_FIRST].cached, cached);
    CHECK_INT(run_one(&m, values), 1);
    made_free(&m);
}

// Each device gets the kernel of its architecture, in one process.
TEST(key_gpu_two_devices) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    for (int round = 0; round < 2; round++)
        for (int major = 8; major <= 9; major++) {
            fake->major = major;
            check_solve(round > 0);
        }
    CHECK_INT(kernels_kept(), 2);
}

// A device that does not start says nothing about the kernels that are kept for it.
TEST(key_gpu_context_that_fails) {
    struct fake_cuda *fake = use_fake_cuda();
    use_fake_nvrtc("aa01");
    check_solve(false);
    shoal_cache_forget();
    fake->fail = "cuDevicePrimaryCtxRetain";
    fake->fail_result = 2;
    struct made m = make_solver(base, "device=cuda", false, NULL);
    CHECK(m.code != SHOAL_OK);
    made_free(&m);
    fake->fail = NULL;
    CHECK_INT(kernels_kept(), 1);
    check_solve(true);
}

TEST(key_gpu_other_build_of_the_compiler) {
    use_fake_cuda();
    use_fake_nvrtc("aa01");
    check_solve(false);
    use_fake_nvrtc("bb02"); // the same version
    check_solve(false);
    check_solve(true);
    CHECK_INT(kernels_kept(), 2);
}

// The same while a solver that has the device is alive: the next one looks for the compiler anew.
TEST(key_gpu_other_build_beside_a_solver) {
    use_fake_cuda();
    use_fake_nvrtc("aa01");
    struct made first = on_gpu(false), second = on_gpu(false);
    CHECK(!first.solver->runner.kernel[PLAN_FIRST].cached &&
          second.solver->runner.kernel[PLAN_FIRST].cached);
    CHECK(second.solver->device == first.solver->device);
    CHECK(second.solver->runner.kernel[PLAN_FIRST].kernel ==
          first.solver->runner.kernel[PLAN_FIRST].kernel);
    use_fake_nvrtc("bb02");
    struct made third = on_gpu(false);
    CHECK(!third.solver->runner.kernel[PLAN_FIRST].cached);
    CHECK(strcmp(shoal_solver_key(third.solver), shoal_solver_key(first.solver)) != 0);
    made_free(&second);
    made_free(&first);
    made_free(&third);
}

// Whole and right, but made for another architecture.
TEST(key_gpu_for_another_target) {
    struct fake_cuda *fake = use_fake_cuda();
    const struct shoal_backend *backend = NULL;
    struct shoal_bytes bytes = {0};
    use_fake_nvrtc("aa01");
    fake->major = 8;
    struct made m = on_gpu(true);
    backend = m.solver->backend;
    struct shoal_kernel_text k = {.text = "", .length = 0};
    REQUIRE(backend->build(m.solver->device, &k, NULL, &bytes, NULL) == SHOAL_OK);
    made_free(&m);
    fake->major = 9;
    m = on_gpu(true);
    plant_kernel(&m, bytes.data, bytes.length);
    made_free(&m);
    check_solve(false);
    check_solve(true);
    free(bytes.data);
}

// A child cannot use the device of its parent, and says so; the parent goes on.
TEST(key_gpu_after_fork) {
    double values[8];
    int status = 1;
    use_fake_cuda();
    use_fake_nvrtc("aa01");
    struct made m = on_gpu(false);
    pid_t pid = fork();
    if (pid == 0) {
        shoal_batch *batch = NULL;
        shoal_array arrays = {.data = values};
        shoal_batch_new(m.model, &batch, m.log);
        shoal_code code = shoal_solver_run_arrays(m.solver, batch, &arrays, 1, NULL, m.log);
        char *messages = rig_messages(m.log);
        _exit(code == SHOAL_DEVICE && strstr(messages, "forked") ? 0 : 1);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(run_one(&m, values), 1);
    made_free(&m);
    check_solve(true);
}

// What the driver knows of the kernel is in its entry.
TEST(key_gpu_registers_are_kept) {
    use_fake_cuda();
    use_fake_nvrtc("aa01");
    struct made m = on_gpu(false);
    CHECK_STR(span_says(m.log, "module_load", "registers"), "42");
    struct check_output o =
        RUN(check_shoal(), "cache", "show", (char[]){shoal_solver_key(m.solver)[0], 0});
    CHECK_HAS(o.out, "registers              42\n");
    CHECK_HAS(o.out, "spills                 16\n");
    made_free(&m);
}

// Kernels for GPUs that are not here.
TEST(key_gpu_warm_targets) {
    use_fake_nvrtc("aa01");
    check_write(check_path("m.ode"), "init x=1\nx'=-x\n@ t1=1\n");
    struct check_output o =
        RUN(check_shoal(), "warm", check_path("m.ode"), "--target", "sm_80,sm_90");
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.out, "sm_80");
    CHECK_HAS(o.out, "sm_90");
    CHECK_INT(kernels_kept(), 4);
}

// Whether steps are samples is compiled in, on a device and nowhere else.
TEST(key_gpu_steps_have_their_kernel) {
    static const char *const saves[] = {"steps", "final", "steps"};
    char final[65], steps[65];
    key_of(base, "device=cpu", final);
    key_of(base, "device=cpu save=steps", steps);
    CHECK_STR(steps, final);
    use_fake_cuda();
    use_fake_nvrtc("aa01");
    struct made m = on_gpu(false);
    CHECK_INT(kernels_kept(), 1);
    for (size_t i = 0; i < sizeof saves / sizeof *saves; i++) {
        CHECK_INT(shoal_solver_set(m.solver, "save", saves[i], NULL, m.log), SHOAL_OK);
        CHECK_INT(m.solver->plan->kernel[PLAN_FIRST].steps, !strcmp(saves[i], "steps"));
        CHECK_INT(kernels_kept(), 2);
    }
    made_free(&m);
}
