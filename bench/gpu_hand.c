// SPDX-License-Identifier: MIT
// The measure for generated kernels, written by hand: Lorenz by the classical Runge-Kutta method,
// and Lorenz96 with 32 states by that of Tsitouras.
//
// One thread a trajectory, states and stages in registers, nothing else: no saves, no checks, in
// Lorenz96 one tolerance for all and the plainest controller. What it takes is what the arithmetic
// takes. Prints `name value` lines; opens the driver and NVRTC by itself.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char lorenz[] =
    "#define SLOPE(a, b, c) dx = 10 * (b - a), dy = a * (r - c) - b, dz = a * b - (NUMBER)(8.0 / "
    "3) * c\n"
    "extern \"C\" __global__ void run(const NUMBER *rho, NUMBER *out, int n, NUMBER h) {\n"
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

// F, y and the six stages that are alive at a time are 225 numbers of the 255 registers. The sum of
// the error is formed with the solution, so that no stage outlives it.
static const char lorenz96[] =
    "enum { N = 32 };\n"
    "typedef float states[N];\n"
    "#define EACH(j) _Pragma(\"unroll\") for (int j = 0; j < N; j++)\n"
    "__device__ __forceinline__ void slope(const states &x, float f, states &d) {\n"
    "    EACH(j) d[j] = fmaf(x[(j + 1) % N] - x[(j + N - 2) % N], x[(j + N - 1) % N], f - x[j]);\n"
    "}\n"
    "static __device__ constexpr float a[7][6] = {\n"
    "    {0},\n"
    "    {0.161f},\n"
    "    {-0.0084806554923569885f, 0.33548065549235699f},\n"
    "    {2.8971530571054933f, -6.3594484899750754f, 4.3622954328695814f},\n"
    "    {5.3258648284392572f, -11.748883564062828f, 7.4955393428898365f, "
    "-0.092495066361755248f},\n"
    "    {5.8614554429464204f, -12.92096931784711f, 8.1593678985761586f, -0.071584973281400997f,\n"
    "     -0.028269050394068383f},\n"
    "    {0.096460766818065227f, 0.01f, 0.47988965041449961f, 1.379008574103742f,\n"
    "     -3.2900695154360811f, 2.324710524099774f}};\n"
    "static __device__ constexpr float e[7] = {\n"
    "    -0.0017800110522257773f, -0.0008164344596567469f, 0.007880878010261996f,\n"
    "    -0.1447110071732629f, 0.58235716545255527f, -0.45808210592918695f, 1.0f / 66};\n"
    "template <int S> __device__ __forceinline__ float sum(const float (&w)[S], const states *k,\n"
    "                                                      int count, int j) {\n"
    "    float s = w[0] * k[0][j];\n"
    "    _Pragma(\"unroll\") for (int q = 1; q < count; q++) s = fmaf(w[q], k[q][j], s);\n"
    "    return s;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(32) run(const float *force, float *out, int "
    "n,\n"
    "                                                     float tolerance) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i >= n) return;\n"
    "    states y, k[6], y1, f1, error;\n"
    "    float f = force[i], t = 0, h = 0.01f;\n"
    "    EACH(j) y[j] = j ? 8 : 9;\n"
    "    slope(y, f, k[0]);\n"
    "    while (t < 1) {\n"
    "        bool last = t + h >= 1;\n"
    "        h = last ? 1 - t : h;\n"
    "        _Pragma(\"unroll\") for (int q = 1; q < 6; q++) {\n"
    "            EACH(j) y1[j] = fmaf(h, sum(a[q], k, q, j), y[j]);\n"
    "            slope(y1, f, k[q]);\n"
    "        }\n"
    "        EACH(j) y1[j] = fmaf(h, sum(a[6], k, 6, j), y[j]), error[j] = sum(e, k, 6, j);\n"
    "        slope(y1, f, f1);\n"
    "        float norm = 0;\n"
    "        EACH(j) {\n"
    "            float scale = fmaf(tolerance, fmaxf(fabsf(y[j]), fabsf(y1[j])), tolerance);\n"
    "            float r = __fdividef(h * fmaf(e[6], f1[j], error[j]), scale);\n"
    "            norm = fmaf(r, r, norm);\n"
    "        }\n"
    "        bool good = norm <= N;\n"
    "        EACH(j) y[j] = good ? y1[j] : y[j], k[0][j] = good ? f1[j] : k[0][j];\n"
    "        t = !good ? t : last ? 1 : t + h;\n"
    "        h *= fminf(fmaxf(0.9f * exp2f(-0.1f * __log2f(norm / N + 1e-12f)), 0.2f), 5.0f);\n"
    "    }\n"
    "    EACH(j) out[j * n + i] = y[j];\n"
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
    X(cuda, cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                     \
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

static void *compile(const char *text, const char *type) {
    char define[32];
    const char *options[] = {"--gpu-architecture=sm_90", define};
    void *program, *module, *function;
    size_t bytes;
    snprintf(define, sizeof define, "-DNUMBER=%s", type);
    DO(nvrtcCreateProgram(&program, text, "hand", 0, NULL, NULL));
    DO(nvrtcCompileProgram(program, 2, options));
    DO(nvrtcGetCUBINSize(program, &bytes));
    char *cubin = malloc(bytes);
    DO(nvrtcGetCUBIN(program, cubin));
    DO(cuModuleLoadData(&module, cubin));
    DO(cuModuleGetFunction(&function, module, "run"));
    free(cubin);
    return function;
}

// Least time of the kernel in ms over the block sizes up to `most`.
static float best_ms(void *function, void *arguments[], int n, unsigned most) {
    void *from, *to;
    float best = 1e30f;
    DO(cuEventCreate(&from, 0));
    DO(cuEventCreate(&to, 0));
    for (unsigned block = 32; block <= most; block *= 2)
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

// The inputs are all the same, but for Lorenz96, whose runs differ in length.
static uint64_t inputs(int n, size_t size) {
    uint64_t in;
    DO(cuMemAlloc_v2(&in, (size_t)n * size));
    DO(cuMemsetD8_v2(in, 0x40, (size_t)n * size));
    return in;
}

static uint64_t outputs(int n, size_t size) {
    uint64_t out;
    DO(cuMemAlloc_v2(&out, (size_t)n * size));
    return out;
}

static void time_lorenz(bool f32) {
    int n = 1 << 23;
    float h32 = 1.0f / 1024;
    double h64 = 1.0 / 1024;
    size_t size = f32 ? 4 : 8;
    uint64_t rho = inputs(n, size), out = outputs(n, 3 * size);
    void *arguments[] = {&rho, &out, &n, f32 ? (void *)&h32 : (void *)&h64};
    void *function = compile(lorenz, f32 ? "float" : "double");
    printf("lorenz_rk4_f%d_ms %.4f\n", f32 ? 32 : 64, (double)best_ms(function, arguments, n, 256));
}

static void time_lorenz96(void) {
    int n = 1 << 17;
    float tolerance = 1e-5f, *force = malloc((size_t)n * sizeof *force);
    uint64_t in = inputs(n, sizeof *force), out = outputs(n, 32 * sizeof *force);
    for (int i = 0; i < n; i++)
        force[i] = 16.0f * (float)i / (float)(n - 1);
    DO(cuMemcpyHtoD_v2(in, force, (size_t)n * sizeof *force));
    void *arguments[] = {&in, &out, &n, &tolerance};
    printf("lorenz96_tsit5_f32_ms %.4f\n",
           (double)best_ms(compile(lorenz96, "float"), arguments, n, 32));
    free(force);
}

int main(void) {
    int device;
    void *context;
    find_functions();
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    time_lorenz(true);
    time_lorenz(false);
    time_lorenz96();
    return 0;
}
