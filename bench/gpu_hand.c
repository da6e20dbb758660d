// SPDX-License-Identifier: MIT
// The measure for generated kernels: Lorenz by the classical Runge-Kutta method, written by hand.
//
// One thread a trajectory, three states in registers, 1024 steps, nothing else: no saves, no
// checks. What it takes is what the arithmetic takes. Prints `name value` lines; opens the driver
// and NVRTC by itself.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "#define SLOPE(a, b, c) dx = 10 * (b - a), dy = a * (r - c) - b, dz = a * b - (NUMBER)(8.0 / "
    "3) * c\n"
    "extern \"C\" __global__ void lorenz(const NUMBER *rho, NUMBER *out, int n, NUMBER h) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i >= n) return;\n"
    "    NUMBER x = 1, y = 0, z = 0, r = rho[i], dx, dy, dz;\n"
    "    const NUMBER half = h / 2, third = h / 3, sixth = h / 6;\n"
    "    for (int step = 0; step < 1024; step++) {\n"
    "        NUMBER sx = x, sy = y, sz = z;\n"
    "        SLOPE(x, y, z);\n"
    "        { NUMBER ax = x + half * dx, ay = y + half * dy, az = z + half * dz;\n"
    "          sx += sixth * dx, sy += sixth * dy, sz += sixth * dz; SLOPE(ax, ay, az); }\n"
    "        { NUMBER ax = x + half * dx, ay = y + half * dy, az = z + half * dz;\n"
    "          sx += third * dx, sy += third * dy, sz += third * dz; SLOPE(ax, ay, az); }\n"
    "        { NUMBER ax = x + h * dx, ay = y + h * dy, az = z + h * dz;\n"
    "          sx += third * dx, sy += third * dy, sz += third * dz; SLOPE(ax, ay, az); }\n"
    "        x = sx + sixth * dx, y = sy + sixth * dy, z = sz + sixth * dz;\n"
    "    }\n"
    "    out[i] = x, out[n + i] = y, out[2 * n + i] = z;\n"
    "}\n";

// Functions of the driver and of NVRTC, as a list: library, name, arguments.
#define FUNCTIONS(X)                                                                               \
    X(cuda, cuInit, (unsigned))                                                                    \
    X(cuda, cuDeviceGet, (int *, int))                                                             \
    X(cuda, cuDevicePrimaryCtxRetain, (void **, int))                                              \
    X(cuda, cuCtxSetCurrent, (void *))                                                             \
    X(cuda, cuModuleLoadData, (void **, const void *))                                             \
    X(cuda, cuModuleGetFunction, (void **, void *, const char *))                                  \
    X(cuda, cuMemAlloc_v2, (uint64_t *, size_t))                                                   \
    X(cuda, cuMemsetD8_v2, (uint64_t, unsigned char, size_t))                                      \
    X(cuda, cuEventCreate, (void **, unsigned))                                                    \
    X(cuda, cuEventRecord, (void *, void *))                                                       \
    X(cuda, cuEventSynchronize, (void *))                                                          \
    X(cuda, cuEventElapsedTime, (float *, void *, void *))                                         \
    X(cuda, cuLaunchKernel,                                                                        \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,       \
       void **, void **))                                                                          \
    X(nvrtc, nvrtcCreateProgram,                                                                   \
      (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    X(nvrtc, nvrtcCompileProgram, (void *, int, const char *const *))                              \
    X(nvrtc, nvrtcGetCUBINSize, (void *, size_t *))                                                \
    X(nvrtc, nvrtcGetCUBIN, (void *, char *))

#define X(library, name, arguments) static int(*name) arguments;
FUNCTIONS(X)
#undef X

static void check(int code, const char *what) {
    if (!code)
        return;
    fprintf(stderr, "gpu_hand: %s: error %d\n", what, code);
    exit(1);
}
#define DO(call) check(call, #call)

static void *library(const char *const *names) {
    void *handle = NULL;
    for (; *names && !handle; names++)
        handle = dlopen(*names, RTLD_NOW);
    if (!handle)
        fprintf(stderr, "gpu_hand: %s\n", dlerror()), exit(1);
    return handle;
}

static void find_functions(void) {
    static const char *const of_cuda[] = {"libcuda.so.1", NULL};
    static const char *const of_nvrtc[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                           "/usr/local/cuda/lib64/libnvrtc.so", NULL};
    void *cuda = library(of_cuda), *nvrtc = library(of_nvrtc);
#define X(library, name, arguments)                                                                \
    *(void **)&name = dlsym(library, #name);                                                       \
    check(!name, #name);
    FUNCTIONS(X)
#undef X
}

static void *compile(const char *type) {
    char define[32];
    const char *options[] = {"--gpu-architecture=sm_90", define};
    void *program, *module, *function;
    size_t bytes;
    snprintf(define, sizeof define, "-DNUMBER=%s", type);
    DO(nvrtcCreateProgram(&program, text, "lorenz", 0, NULL, NULL));
    DO(nvrtcCompileProgram(program, 2, options));
    DO(nvrtcGetCUBINSize(program, &bytes));
    char *cubin = malloc(bytes);
    DO(nvrtcGetCUBIN(program, cubin));
    DO(cuModuleLoadData(&module, cubin));
    DO(cuModuleGetFunction(&function, module, "lorenz"));
    free(cubin);
    return function;
}

// Least time of the kernel in ms over the block sizes that are worth a try.
static float best_ms(void *function, bool f32, int n) {
    uint64_t rho, out;
    void *from, *to;
    float best = 1e30f, h32 = 1.0f / 1024;
    double h64 = 1.0 / 1024;
    size_t size = f32 ? 4 : 8;
    DO(cuMemAlloc_v2(&rho, (size_t)n * size));
    DO(cuMemAlloc_v2(&out, 3 * (size_t)n * size));
    DO(cuMemsetD8_v2(rho, 0x40, (size_t)n * size));
    DO(cuEventCreate(&from, 0));
    DO(cuEventCreate(&to, 0));
    void *arguments[] = {&rho, &out, &n, f32 ? (void *)&h32 : (void *)&h64};
    for (unsigned block = 32; block <= 256; block *= 2)
        for (int i = 0; i < 10; i++) {
            float ms;
            DO(cuEventRecord(from, NULL));
            DO(cuLaunchKernel(function, ((unsigned)n + block - 1) / block, 1, 1, block, 1, 1, 0,
                              NULL, arguments, NULL));
            DO(cuEventRecord(to, NULL));
            DO(cuEventSynchronize(to));
            DO(cuEventElapsedTime(&ms, from, to));
            best = ms < best ? ms : best;
        }
    return best;
}

int main(void) {
    int device;
    void *context;
    find_functions();
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    printf("lorenz_rk4_f32_ms %.4f\n", (double)best_ms(compile("float"), true, 1 << 23));
    printf("lorenz_rk4_f64_ms %.4f\n", (double)best_ms(compile("double"), false, 1 << 23));
    return 0;
}
