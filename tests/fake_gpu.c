// SPDX-License-Identifier: MIT
// Compiles the driver and the compiler of tests/fakes, and puts them in the place of real ones.
#include "fake_gpu.h"

#include "../kernels/ode/abi.h"

#include "check.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

static void build(const char *source, const char *path, const char *flag) {
    unlink(path); // what is loaded stays as it is
    struct check_output o =
        RUN("cc", "-std=gnu17", "-shared", "-fPIC", "-O1", "-o", path, flag, source);
    if (o.status == 127)
        check_skip("there is no cc");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

// For children: this process has its search path already.
static void search_in(const char *folder) {
    const char *old = getenv("LD_LIBRARY_PATH");
    char path[8192];
    snprintf(path, sizeof path, "%s%s%s", folder, old ? ":" : "", old ? old : "");
    setenv("LD_LIBRARY_PATH", path, 1);
}

// The loader knows libraries by their soname: whoever opens libcuda.so.1 after this gets the fake.
struct fake_cuda *use_fake_cuda(void) {
    const char *path = check_path("fake.so"), *folder = check_path("fake_drivers");
    char name[4096];
    build("tests/fakes/libcuda.c", path, "-Wl,-soname,libcuda.so.1");
    snprintf(name, sizeof name, "%s/libcuda.so.1", folder);
    if (mkdir(folder, 0755) == 0) {
        CHECK(symlink(path, name) == 0);
        search_in(folder);
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(library);
    struct fake_cuda *(*get)(void);
    *(void **)&get = dlsym(library, "fake_cuda");
    REQUIRE(get);
    return get();
}

void use_fake_nvrtc(const char *build_id) {
    const char *path = check_path("libnvrtc.so.12");
    char flag[64];
    snprintf(flag, sizeof flag, "-Wl,--build-id=0x%s", build_id);
    build("tests/fakes/libnvrtc.c", path, flag);
    check_write(check_path("libnvrtc-builtins.so.12.4"), "builtins");
    setenv("SHOAL_NVRTC", path, 1);
}

const struct fake_fault fake_faults[] = {
    {"cuLaunchKernel", 719, 0, 0, 0},     {"cuLaunchKernel", 719, 4, 1, 4},
    {"cuLaunchKernel", 719, 9, 6, 9},     {"cuMemAlloc_v2", 2, 0, 0, 0},
    {"cuEventQuery", 700, 3, 0, 9},       {"cuStreamCreate", 999, 0, 0, 0},
    {"cuMemcpyHtoDAsync_v2", 1, 5, 0, 5}, {0},
};

void fake_fail(struct fake_cuda *fake, const struct fake_fault *fault) {
    fake->fail = fault ? fault->call : NULL;
    fake->fail_result = fault ? fault->result : 0;
    fake->fail_after = fault ? fault->after : 0;
}

uint64_t fake_evals_of_row = 100;

// x = 3 k, of which nobody can think that it came from the CPU.
bool fake_triple(const void *args, const char *read, char *written, const char *resident,
                 const volatile int *stop) {
    const struct shoal_call *call = args;
    const unsigned *offset = (const unsigned *)(const void *)(read + call->offset);
    const unsigned *step = (const unsigned *)(const void *)(read + call->step);
    const double *in = (const double *)(const void *)(read + call->in);
    double *values = (double *)(void *)(written + call->values);
    uint64_t *evals =
        call->f_evals == SHOAL_NOWHERE ? NULL : (uint64_t *)(void *)(written + call->f_evals);
    (void)resident, (void)stop;
    for (unsigned r = 0; r < call->head.rows; r++) {
        values[r * call->z.row_stride] = 3 * in[offset[0] + step[0] * r];
        written[call->status + r] = 0;
        if (evals)
            evals[r] = fake_evals_of_row;
    }
    return true;
}

struct fake_cuda *use_fake_triple(void) {
    struct fake_cuda *fake = use_fake_cuda();
    fake->kernel = fake_triple;
    fake->args_bytes = sizeof(struct shoal_call);
    use_fake_nvrtc("1234");
    unsetenv("SHOAL_DEVICE");
    return fake;
}
