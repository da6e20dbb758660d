// SPDX-License-Identifier: MIT
// Kernels for GPUs go through the compilers of GPUs: NVRTC and whatever OpenCL there is. Neither
// needs a GPU. Checked are that every variant compiles, that an f32 kernel has no f64 in it, and
// that a small system lives in registers. What the kernels compute is tested with the backends.
//
// A library that is missing skips the test. The quick tests take each method once, in turn with
// each precision, loop and kind of output; the long one takes all combinations for all targets.
#include "check.h"
#include "grid/codegen.h"
#include "listing.h"
#include "ode/method/method.h"
#include "ode/model/op.h"
#include "watchers.h"

#include <dlfcn.h>

static const struct shoal_target cuda = {.name = "sm_90",
                                         .prelude = "prelude_cuda.h",
                                         .device = true,
                                         .blocks = true,
                                         .lanes64 = 1,
                                         .quick_division = true};
static const struct shoal_target opencl = {
    .name = "opencl", .prelude = "prelude_opencl.h", .device = true, .lanes64 = 1};

static const char lorenz[] = "par rho=28; const sigma=10, beta=8/3; init x=1, y=0, z=0;"
                             "x'=sigma*(y-x); y'=x*(rho-z)-y; z'=x*y-beta*z";

// A model that uses every function and operator, time, a derived parameter, an initial value that
// is a formula, and an output that is no state. The first functions are sine, cosine and tangent.
// OpenCL has no Bessel functions.
static char *functions_from(unsigned first, bool bessel) {
    struct buf m = {0};
    buf_puts(&m, "par a=0.5, b=2; !d=a*b+1; x(0)=d/4+t; init y=0.2;"
                 "y'=if(x>a and not(y==b))then(-y^a)else(x/(y+b)-t)+(x<=a or y!=0)*d; x'=-x");
    for (unsigned op = first; op < OP_COUNT; op++)
        if (bessel || (op != OP_BESSELJ && op != OP_BESSELY))
            buf_printf(&m, op_operands[op] == 2 ? "+%s(x,y+1)" : "+%s(x)", op_names[op]);
    buf_puts(&m, "; aux r=sqrt(x*x+y*y)");
    REQUIRE(!m.failed);
    return m.data;
}

// Lorenz 96 with any number of states.
static char *ring(int n) {
    struct buf m = {0};
    buf_puts(&m, "par F=8;");
    for (int i = 0; i < n; i++)
        buf_printf(&m, "init x%d=%d; x%d'=(x%d-x%d)*x%d-x%d+F;", i, 8 + !i, i, (i + 1) % n,
                   (i + n - 2) % n, (i + n - 1) % n, i);
    REQUIRE(!m.failed);
    return m.data;
}

// Rows without a derivative: a chain of them behind one state, each a function of the last.
static char *algebraic(int n) {
    struct buf m = {0};
    buf_puts(&m, "par q=1; init x0=1; x0'=-x1*t");
    for (int i = 1; i <= n; i++)
        buf_printf(&m, "; alg x%d=1; 0=x%d+q*x%d^3-2*x%d", i, i, i, i - 1);
    REQUIRE(!m.failed);
    return m.data;
}

// Derived parameters of initial values, some of which are formulas of such.
static const char begun[] = "par a=1; init x=1; y(0)=b*a; !b=sqrt(x)+t; !c=y/b; x'=-c*x; y'=-b*y";

static const struct {
    int states;
    const char *options;
} algebraic_kernels[] = {
    {2, "method=rodas5p t1=1 precision=f32 save=n=5"},
    {60, "method=ros3p t1=1 controller=fixed dt=0.1"},
    {150, "method=rosenbrock23 t1=1"},
    {2, "method=kvaerno3 t1=1 precision=f32"},
    {3, "method=radau-iia-5 t1=1 save=n=5"},
    {150, "method=radau-iia-5 t1=1 controller=fixed dt=0.1 precision=f32"},
};
enum { ALGEBRAIC = sizeof algebraic_kernels / sizeof *algebraic_kernels };

// ---- Variants -----------------------------------------------------------------------------------

enum { F32 = 1, DENSE = 2, FIXED = 4, VARIANTS = 8 };

// The options of a method's variant; false where there is no such one.
static bool variant_options(const struct method *m, unsigned variant, char *text, size_t room) {
    if (!m->embedded && !(variant & FIXED))
        return false;
    snprintf(text, room, "method=%s t1=1 precision=%s save=%s%s", m->name,
             variant & F32 ? "f32" : "f64", variant & DENSE ? "n=5" : "final",
             variant & FIXED ? " controller=fixed dt=0.1" : "");
    return true;
}

typedef void compile_fn(const char *model, const char *options, const char *arch);

// One of `every` methods, in one of its variants.
static void each_method_once(compile_fn *compile, const char *model, const char *arch,
                             uint32_t every) {
    for (uint32_t i = 0; i < method_count; i++) {
        char options[160];
        unsigned variant = i * 3 % VARIANTS;
        if (!check_does(i, 0, every))
            continue;
        if (variant_options(&methods[i], variant, options, sizeof options) ||
            variant_options(&methods[i], variant | FIXED, options, sizeof options))
            compile(model, options, arch);
    }
}

static void variants_of(const struct method *m, compile_fn *compile, const char *model,
                        const char *arch) {
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        char options[160];
        if (variant_options(m, variant, options, sizeof options))
            compile(model, options, arch);
    }
}

static void every_variant(compile_fn *compile, const char *model, const char *arch) {
    for (uint32_t i = 0; i < method_count; i++)
        variants_of(&methods[i], compile, model, arch);
}

// ---- NVRTC --------------------------------------------------------------------------------------

#define NVRTC_FUNCTIONS(X)                                                                         \
    X(CreateProgram,                                                                               \
      (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    X(CompileProgram, (void *, int, const char *const *))                                          \
    X(DestroyProgram, (void **))                                                                   \
    X(GetProgramLogSize, (void *, size_t *))                                                       \
    X(GetProgramLog, (void *, char *))                                                             \
    X(GetPTXSize, (void *, size_t *))                                                              \
    X(GetPTX, (void *, char *))

static struct {
#define X(name, arguments) int(*name) arguments;
    NVRTC_FUNCTIONS(X)
#undef X
} nvrtc;

static void nvrtc_open(void) {
    static const char *const places[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                         "/usr/local/cuda/lib64/libnvrtc.so"};
    const char *wanted = getenv("SHOAL_NVRTC");
    void *library = wanted ? dlopen(wanted, RTLD_NOW) : NULL;
    for (size_t i = 0; !library && i < sizeof places / sizeof *places; i++)
        library = dlopen(places[i], RTLD_NOW);
    if (!library)
        check_skip("no NVRTC");
#define X(name, arguments) *(void **)&nvrtc.name = dlsym(library, "nvrtc" #name);
    NVRTC_FUNCTIONS(X)
#undef X
    REQUIRE(nvrtc.CompileProgram && nvrtc.GetPTX);
}

// The PTX of a source; the caller frees. `arch`: sm_90 goes all the way, compute_90 to PTX only.
static char *cuda_compile(const char *source, const char *arch, const char *what) {
    char target[64];
    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    const char *const options[] = {target, "--fmad=false", "--prec-div=true", "--prec-sqrt=true",
                                   "--ftz=false"};
    void *program = NULL;
    size_t size = 0;
    REQUIRE(nvrtc.CreateProgram(&program, source, "kernel.cu", 0, NULL, NULL) == 0);
    int failed = nvrtc.CompileProgram(program, sizeof options / sizeof *options, options);
    nvrtc.GetProgramLogSize(program, &size);
    char *log = calloc(size + 1, 1), *ptx = NULL;
    REQUIRE(log);
    nvrtc.GetProgramLog(program, log);
    CHECK_MSG(!failed, "%s for %s: %s", what, arch, log);
    free(log);
    if (!failed && nvrtc.GetPTXSize(program, &size) == 0)
        ptx = calloc(size + 1, 1);
    REQUIRE(ptx);
    nvrtc.GetPTX(program, ptx);
    nvrtc.DestroyProgram(&program);
    return ptx;
}

static void compile_cuda(const char *model, const char *options, const char *arch) {
    struct listing s = listing_new(model, options, &cuda);
    char *ptx = cuda_compile(s.kernel.text.data, arch, options);
    CHECK_HAS(ptx, ".entry shoal_kernel");
    if (strstr(options, "f32") && !strstr(model, "sin(")) // CUDA's sine of a huge number has some
        CHECK_MSG(!strstr(ptx, ".f64"), "%s: f64 in an f32 kernel", options);
    if (model == lorenz)
        CHECK_MSG(!strstr(ptx, ".local"), "%s: local memory", options);
    free(ptx);
    listing_free(&s);
}

TEST(kernel_gpu_cuda_methods) {
    nvrtc_open();
    each_method_once(compile_cuda, lorenz, "compute_75", 4);
    compile_cuda(lorenz, "method=tsit5 t1=1 precision=f32", "sm_90");
    compile_cuda(lorenz, "method=auto t1=1 precision=f32 save=n=5", "sm_90");
    compile_cuda(lorenz, "method=auto t1=1", "compute_75");
    compile_cuda(lorenz, "method=rodas4 t1=1 precision=f32 save=n=5", "compute_75");
    compile_cuda(lorenz, "method=kvaerno3 t1=1 counters=on", "compute_75");
}

LONG_TEST(kernel_gpu_cuda_functions) {
    nvrtc_open();
    char *model = functions_from(OP_SIN, true), *rest = functions_from(OP_ASIN, true);
    compile_cuda(model, "method=euler dt=0.1 t1=1 precision=f32 save=n=3", "compute_80");
    compile_cuda(model, "method=euler dt=0.1 t1=1 vars=r", "compute_90");
    compile_cuda(rest, "method=euler dt=0.1 t1=1 precision=f32", "compute_80");
    free(model);
    free(rest);
}

LONG_TEST(kernel_gpu_cuda_sizes) {
    static const int sizes[] = {32, 100, 200};
    nvrtc_open();
    for (size_t i = 0; i < 3; i++) {
        char *model = ring(sizes[i]);
        compile_cuda(model, "method=tsit5 t1=1 save=n=3", "compute_90");
        if (sizes[i] != 100) {
            if (check_does(i / 2, 1, 2))
                compile_cuda(model, "method=rodas4 t1=1 precision=f32", "compute_90");
            compile_cuda(model, "method=kvaerno3 t1=1 precision=f32 save=n=3", "compute_75");
            if (check_does(i / 2, 0, 2))
                compile_cuda(model, "method=radau5 t1=1", "compute_90");
        } else {
            compile_cuda(model, "method=auto t1=1", "compute_90");
        }
        free(model);
    }
}

LONG_TEST(kernel_gpu_cuda_algebraic) {
    nvrtc_open();
    for (size_t i = 0; i < ALGEBRAIC; i++) {
        char *model = algebraic(algebraic_kernels[i].states);
        compile_cuda(model, algebraic_kernels[i].options, i ? "compute_75" : "sm_90");
        free(model);
    }
}

// Pipelines of grids in one module: passes over cells, whole grids, numbers.
static void compile_grids(const char *arch, const char *const texts[3]) {
    enum { TEXTS = 3 };
    struct grid_plan *plans[TEXTS];
    struct grid_code codes[TEXTS];
    struct kernel_source source = {0};
    const struct grid_target target = {&cuda, GRID_U8, GRID_I32};
    nvrtc_open();
    for (size_t i = 0; i < TEXTS; i++) {
        plans[i] = grid_parse("pipeline", texts[i], strlen(texts[i]), NULL);
        REQUIRE(plans[i]);
    }
    REQUIRE(grid_codegen((const struct grid_plan *const *)plans, TEXTS, &target, codes, &source));
    char *ptx = cuda_compile(source.text.data, arch, "pipelines of grids");
    CHECK_HAS(ptx, ".entry shoal_grid_2");
    free(ptx);
    kernel_source_free(&source);
    for (size_t i = 0; i < TEXTS; i++)
        grid_plan_free(plans[i]);
}
TEST(kernel_gpu_cuda_grids) {
    static const char *const texts[] = {"rot90(in)*(in>0) + (nsum4(in)>0)", "label4",
                                        "histogram(3) / (1 + sum)"};
    compile_grids("compute_75", texts);
}
LONG_TEST(kernel_gpu_cuda_grids_all) {
    static const char *const texts[] = {"rot90(in)*(in>0) + (nsum4(in)>0)",
                                        "step(B3/S23, 9, wrap) | label4 | fill(0, 0, max(size8))",
                                        "histogram(3) / (most_common + 1)"};
    compile_grids("compute_75", texts);
    compile_grids("sm_90", texts);
}

// Kernels with somebody who watches.
TEST(kernel_gpu_cuda_watched) {
    static const char *const options[] = {
        "method=tsit5 t1=1 precision=f32 save=n=5",
        "method=rk4 dt=0.1 t1=1 precision=f32",
        "method=rodas4 t1=1 precision=f32",
        "method=kvaerno3 t1=1",
        "method=radau5 t1=1 save=n=3",
        "method=tsit5 t1=1 precision=f32 summary=max(x),mean(y),q=quantile(x,0.5),p=peaks(y*x,3)"};
    static const char model[] = "par k=1, d1=0.3, d2=0.7, amount=0.5; init x=1, y=1, v=0, w=0;"
                                "x'=-k*x; y'=v; v'=-10; w'=0";
    nvrtc_open();
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!check_does(i, i / 2, 3))
            continue;
        struct listing s = listing_new_watched(model, options[i], &cuda, watch_all);
        char *ptx = cuda_compile(s.kernel.text.data, "compute_75", options[i]);
        CHECK_MSG(!strstr(options[i], "f32") || !strstr(ptx, ".f64"), "%s: f64", options[i]);
        free(ptx);
        listing_free(&s);
    }
}

TEST(kernel_gpu_cuda_events) {
    static const char *const options[] = {"method=tsit5 t1=1 precision=f32 save=n=5",
                                          "method=rk4 dt=0.1 t1=1 precision=f32",
                                          "method=rodas4 t1=1", "method=auto t1=1 record=low,3"};
    static const char model[] =
        "par a=1, b=2; init x=1, y=0; !d=2*a; x'=y*d; y'=-x; event up when x rising : x=a;"
        "event low when x<0 & y>0 : a=b, y=x, stop; event at1 at a, b : x=0; "
        "event round every d from a until 9 : y=1; event tick every b : b=b+1";
    nvrtc_open();
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct listing s = listing_new(model, options[i], &cuda);
        char *ptx = cuda_compile(s.kernel.text.data, "compute_75", options[i]);
        CHECK_MSG(!strstr(options[i], "f32") || !strstr(ptx, ".f64"), "%s: f64", options[i]);
        free(ptx);
        listing_free(&s);
    }
}

TEST(kernel_gpu_cuda_derived_of_states) {
    nvrtc_open();
    compile_cuda(begun, "method=tsit5 t1=1", "sm_90");
    compile_cuda(begun, "method=rodas4 t1=1 precision=f32 save=n=5", "compute_75");
}

// Variants of a method of each kind up to its PTX, for the architectures in turn. The long test
// takes all methods for all of them, and assembles them too.
static void every_ptx(const char *const *kinds, size_t count) {
    static const char *const arch[] = {"compute_75", "compute_80", "compute_90"};
    nvrtc_open();
    for (size_t i = 0; i < count; i++)
        for (unsigned variant = 0; variant < VARIANTS; variant++) {
            char options[160];
            const struct method *m = method_find(kinds[i]);
            if (check_does(variant, i % 2, 2) &&
                variant_options(m, variant, options, sizeof options))
                compile_cuda(lorenz, options, arch[(i + variant) % 3]);
        }
}
LONG_TEST(kernel_gpu_cuda_variants) {
    static const char *const kinds[] = {"rk4", "heun-21", "tsit5", "dop853", "vern9"};
    every_ptx(kinds, 5);
}
LONG_TEST(kernel_gpu_cuda_variants_implicit) {
    static const char *const kinds[] = {"rodas4", "kvaerno3", "radau5"};
    every_ptx(kinds, 3);
}

LONG_TEST(kernel_gpu_cuda_every_variant) {
    static const char *const arch[] = {"sm_75", "sm_80", "sm_90"};
    nvrtc_open();
    char *model = functions_from(OP_SIN, true);
    for (size_t i = 0; i < 3; i++) {
        every_variant(compile_cuda, lorenz, arch[i]);
        each_method_once(compile_cuda, model, arch[i], 1);
    }
    every_variant(compile_cuda, model, "compute_90");
    free(model);
}

// Systems that fit stay in registers; the rest of a thread's arrays are in local memory.
TEST(kernel_gpu_cuda_registers) {
    nvrtc_open();
    char *model = ring(32);
    static const char *const options[] = {"method=rk4 dt=0.01 t1=1 precision=f32",
                                          "method=tsit5 t1=1 precision=f32"};
    for (size_t i = 0; i < 2; i++) {
        struct listing s = listing_new(model, options[i], &cuda);
        char *ptx = cuda_compile(s.kernel.text.data, "compute_90", "ring of 32");
        CHECK_MSG(!strstr(ptx, ".local"), "%s", options[i]);
        CHECK(!strstr(ptx, ".f64"));
        free(ptx);
        listing_free(&s);
    }
    free(model);
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

// Many divisions and roots: the loop has the quick ones, and those of IEEE are in one function,
// which is called.
TEST(kernel_gpu_cuda_quick_divisions) {
    static const char model[] =
        "par a=1, b=2; init x=1, y=2; x'=1/(x+a)+3/(y+b)+x/(y+a)+sqrt(x*x+a);"
        "y'=1/(y+a)-y/(x+b)-sqrt(y*y+b)*t";
    static const char *const arch[] = {"compute_75", "compute_90"};
    nvrtc_open();
    for (size_t i = 0; i < 2; i++) {
        struct listing s = listing_new(model, "method=rk4 dt=0.1 t1=1 precision=f32", &cuda);
        char *ptx = cuda_compile(s.kernel.text.data, arch[i], "quick divisions");
        CHECK_INT(count(ptx, "sqrt.rn.f32"), 2);
        CHECK_INT(count(ptx, "rcp.rn.f32"), 2);
        CHECK_INT(count(ptx, "div.rn.f32"), 3);
        CHECK_MSG(count(ptx, "rsqrt.approx.ftz.f32") % 2 == 0 &&
                      count(ptx, "rsqrt.approx.ftz.f32") >= 8,
                  "%d roots", count(ptx, "rsqrt.approx.ftz.f32"));
        CHECK_INT(count(ptx, "rcp.approx.ftz.f32") * 2, count(ptx, "rsqrt.approx.ftz.f32") * 5);
        CHECK(!strstr(ptx, ".f64"));
        free(ptx);
        listing_free(&s);
    }
}

// Fast math has nothing of IEEE, and 1/(q sqrt(q)) is one instruction, cubed; also where the parts
// of a long function hand it to each other.
TEST(kernel_gpu_cuda_fast_divisions) {
    static const char model[] =
        "par a=1; init x=1, y=2; x'=1/(x+a)+3/((y+a)*sqrt(y+a))+x/sqrt(x*x+a);"
        "y'=-y/(sqrt(x*x+a)*(x*x+a))-sqrt(y*y+a)";
    struct shoal_target fast = cuda;
    fast.fast_math = true;
    nvrtc_open();
    struct listing s = listing_new(model, "method=rk4 dt=0.1 t1=1 precision=f32", &fast);
    char *ptx = cuda_compile(s.kernel.text.data, "compute_90", "fast divisions");
    CHECK(!strstr(ptx, "sqrt.rn.f32") && !strstr(ptx, "rcp.rn.f32") && !strstr(ptx, "div.rn.f32"));
    int roots = count(ptx, "\tsqrt.approx.ftz.f32");
    CHECK_MSG(roots >= 4, "%d roots", roots);
    CHECK_INT(count(ptx, "rcp.approx.ftz.f32"), roots);
    CHECK_INT(count(ptx, "rsqrt.approx.ftz.f32"), 3 * roots);
    free(ptx);
    listing_free(&s);
}

// Seven stars, their distances shared: so many statements that a function of that length would be
// split if it were not there twice.
static char *pleiades(void) {
    enum { STARS = 7 };
    struct buf m = {0};
    for (int i = 1; i <= STARS; i++)
        for (int j = i + 1; j <= STARS; j++)
            buf_printf(&m, "q%d%d=(x%d-x%d)^2+(y%d-y%d)^2; w%d%d=q%d%d*sqrt(q%d%d);", i, j, i, j, i,
                       j, i, j, i, j, i, j);
    for (int i = 1; i <= STARS; i++)
        for (int axis = 'x'; axis <= 'y'; axis++) {
            buf_printf(&m, "par m%d%c=%d; init %c%d=%d; %c%d'=%c%d; %c%d'=0", i, axis, i, axis, i,
                       i * i % 5, axis, i, axis - 3, i, axis - 3, i);
            for (int j = 1; j <= STARS; j++)
                if (j != i)
                    buf_printf(&m, "+m%d%c*(%c%d-%c%d)/w%d%d", j, axis, axis, j, axis, i,
                               i < j ? i : j, i < j ? j : i);
            buf_puts(&m, ";");
        }
    REQUIRE(!m.failed);
    return m.data;
}

TEST(kernel_gpu_cuda_quick_divisions_of_long_functions) {
    nvrtc_open();
    char *model = pleiades();
    compile_cuda(model, "method=rk4 dt=0.1 t1=1 precision=f32", "sm_90");
    if (check_does(0, 1, 2)) {
        compile_cuda(model, "method=tsit5 t1=1 precision=f32 save=n=3", "compute_75");
        compile_cuda(model, "method=rodas4 t1=1 precision=f32", "compute_80");
    }
    free(model);
}

// ---- OpenCL -------------------------------------------------------------------------------------

#define OPENCL_FUNCTIONS(X)                                                                        \
    X(int, GetPlatformIDs, (uint32_t, void **, uint32_t *))                                        \
    X(int, GetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *))                        \
    X(void *, CreateContext, (const intptr_t *, uint32_t, void *const *, void *, void *, int *))   \
    X(void *, CreateProgramWithSource, (void *, uint32_t, const char **, const size_t *, int *))   \
    X(int, BuildProgram, (void *, uint32_t, void *const *, const char *, void *, void *))          \
    X(int, GetProgramBuildInfo, (void *, void *, uint32_t, size_t, void *, size_t *))              \
    X(int, ReleaseProgram, (void *))

static struct {
#define X(type, name, arguments) type(*name) arguments;
    OPENCL_FUNCTIONS(X)
#undef X
    void *device, *context;
} cl;

enum { CL_BUILD_LOG = 0x1183 };

static void opencl_open(void) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *platform = NULL;
    const uint64_t any = 0xffffffffu;
    int error = 0;
    if (!library)
        check_skip("no OpenCL");
    setenv("POCL_CACHE_DIR", check_dir(), 1);
#define X(type, name, arguments) *(void **)&cl.name = dlsym(library, "cl" #name);
    OPENCL_FUNCTIONS(X)
#undef X
    if (cl.GetPlatformIDs(1, &platform, NULL) ||
        cl.GetDeviceIDs(platform, any, 1, &cl.device, NULL))
        check_skip("no OpenCL device");
    cl.context = cl.CreateContext(NULL, 1, &cl.device, NULL, NULL, &error);
    REQUIRE(cl.context);
}

static void compile_opencl(const char *model, const char *options, const char *arch) {
    struct listing s = listing_new(model, options, &opencl);
    const char *text = s.kernel.text.data;
    int error = 0;
    char log[4000] = "";
    void *program = cl.CreateProgramWithSource(cl.context, 1, &text, NULL, &error);
    REQUIRE(program);
    error = cl.BuildProgram(program, 1, &cl.device, arch, NULL, NULL);
    if (error)
        cl.GetProgramBuildInfo(program, cl.device, CL_BUILD_LOG, sizeof log - 1, log, NULL);
    CHECK_MSG(!error, "%s: error %d: %s", options, error, log);
    cl.ReleaseProgram(program);
    listing_free(&s);
}

LONG_TEST(kernel_gpu_opencl_methods) {
    opencl_open();
    each_method_once(compile_opencl, lorenz, "-cl-std=CL1.2", 3); // tests on devices take more
}

LONG_TEST(kernel_gpu_opencl_functions) {
    opencl_open();
    char *model = functions_from(OP_SIN, false);
    compile_opencl(model, "method=euler dt=0.1 t1=1 precision=f32 save=n=3", "-cl-std=CL1.2");
    compile_opencl(model, "method=rk4 dt=0.1 t1=1 vars=r", "-cl-std=CL1.2");
    free(model);
}

TEST(kernel_gpu_opencl_sizes) {
    static const int sizes[] = {32, 100, 200};
    opencl_open();
    for (size_t i = 0; i < 3; i++) {
        char *model = ring(sizes[i]);
        compile_opencl(model, "method=tsit5 t1=1 save=n=3", "-cl-std=CL1.2");
        free(model);
    }
}

LONG_TEST(kernel_gpu_opencl_algebraic) {
    opencl_open();
    for (size_t i = 0; i < ALGEBRAIC; i++) {
        char *model = algebraic(algebraic_kernels[i].states);
        compile_opencl(model, algebraic_kernels[i].options, "-cl-std=CL1.2");
        free(model);
    }
}

// ---- Workspace ----------------------------------------------------------------------------------

static unsigned defined(const char *text, const char *name) {
    char line[64];
    unsigned value = 0;
    snprintf(line, sizeof line, "#define %s ", name);
    const char *at = strstr(text, line);
    REQUIRE(at && sscanf(at + strlen(line), "%u", &value) == 1);
    return value;
}

// As many elements as thread_entry.h gives out: vectors of all states, the matrix, and the rest.
TEST(kernel_gpu_workspace) {
    static const struct {
        const char *options;
        unsigned
            vectors; // 8 of the group, its point and limits, y1; spares, stages; f, weights, w, g
    } cases[] = {{"method=tsit5 t1=1 precision=f32", 9 + 3 + 7},
                 {"method=dop853 t1=1 precision=f32 save=n=3", 9 + 3 + 13 + 3},
                 {"method=rodas4 t1=1 precision=f32", 9 + 3 + 6 + 1},
                 {"method=kvaerno3 t1=1 precision=f32", 9 + 3 + 4 + 2},
                 {"method=radau5 t1=1 precision=f32 save=n=3", 9 + 4 + 3 + 2 + 6}};
    char *large = ring(200), *small = ring(100);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct listing s = listing_new(large, cases[i].options, &cuda);
        const char *text = s.kernel.text.data;
        unsigned matrix = strstr(text, "#define LINEAR ") ? defined(text, "LINEAR") : 0;
        unsigned want = 200 * cases[i].vectors + matrix + 1 + defined(text, "SHARED") + 200;
        CHECK_MSG(s.kernel.workspace == sizeof(float) * want, "%s: %zu bytes", cases[i].options,
                  s.kernel.workspace);
        listing_free(&s);
    }
    struct listing s = listing_new(small, "method=tsit5 t1=1", &cuda);
    CHECK_INT(s.kernel.workspace, 0);
    listing_free(&s);
    free(large);
    free(small);
}
