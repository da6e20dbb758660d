// SPDX-License-Identifier: MIT
// Compiles the driver and the compiler of tests/fakes, and puts them in the place of real ones.
#include "fake_gpu.h"

#include "check.h"

#include <dlfcn.h>
#include <unistd.h>

static void build(const char *source, const char *path, const char *flag) {
    unlink(path); // what is loaded stays as it is
    struct check_output o =
        RUN("cc", "-std=gnu17", "-shared", "-fPIC", "-O1", "-o", path, flag, source);
    if (o.status == 127)
        check_skip("there is no cc");
    CHECK_MSG(o.status == 0, "%s", o.err);
}

// The loader knows libraries by their soname: whoever opens libcuda.so.1 after this gets the fake.
struct fake_cuda *use_fake_cuda(void) {
    const char *path = check_path("fake.so");
    build("tests/fakes/libcuda.c", path, "-Wl,-soname,libcuda.so.1");
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
