// SPDX-License-Identifier: MIT
// Random models through the generator and the compilers.
//
// Of a kernel, the functions that are written for the model (right-hand side, outputs, initial
// values, Jacobian, factorisation) are compiled and called as they are, and compared with what
// tests/random_value.c makes of the model. Whole kernels are run on every target and compared bit
// for bit where the operators allow it. Kernels for CUDA are compiled.
//
// A model that fails is made smaller and printed, with its seed. SHOAL_RANDOM_SEED=n and
// SHOAL_RANDOM_COUNT=n take other models; SHOAL_RANDOM_SHRINK=n tries so often to make one smaller.
#include "device/device.h"
#include "device_test.h"
#include "random_trial.h"

// ---- Which models, and how ----------------------------------------------------------------------

// Sizes at which something changes in a kernel, and one more.
static uint32_t some_size(uint64_t *rng, uint32_t most) {
    static const uint32_t sizes[] = {1,  2,  3,  4,  6,  7,  12,  13,  20,  21,  24, 25,
                                     40, 41, 50, 64, 65, 90, 100, 128, 129, 200, 300};
    uint32_t n;
    do
        n = sizes[random_below(rng, sizeof sizes / sizeof *sizes)];
    while (n > most);
    return n;
}

static struct random_shape some_shape(uint64_t *rng, uint32_t most, enum random_kind kind) {
    uint32_t few = most < 13 ? most : 13;
    struct random_shape s = {.states = some_size(rng, random_below(rng, 3) ? few : most),
                             .kind = kind,
                             .gentle = random_below(rng, 2)};
    s.size = s.states < 14 ? 4 + random_below(rng, 60) : 2 + random_below(rng, 12);
    s.temporaries = random_below(rng, 2) ? random_below(rng, s.states + 4) : 0;
    return s;
}

static const char *const explicit_methods[] = {"euler",  "rk4",  "heun-21", "tsit5",
                                               "dop853", "auto", "vern9"};
static const char *const implicit_methods[] = {
    "rodas4", "rosenbrock23",   "ros3p",  "kvaerno3",         "trbdf2",
    "sdirk4", "crank-nicolson", "radau5", "gauss-legendre-4", "backward-euler"};

static struct variant some_variant(uint64_t *rng, bool implicit) {
    static const char *const targets[] = {NULL, "scalar", "x86-64-v3", "x86-64"};
    const char *target = targets[random_below(rng, 4)];
    struct variant s = {.f32 = random_below(rng, 2), .fast_math = !random_below(rng, 4)};
    s.method =
        implicit ? implicit_methods[random_below(rng, 10)] : explicit_methods[random_below(rng, 7)];
    s.target = target && rig_has_target(target) ? target : NULL;
    return s;
}

static bool has_clang(void) {
    static int known = -1;
    if (known < 0)
        known = RUN("clang", "--version").status == 0;
    return known;
}

static bool is_explicit(const char *method) {
    for (size_t i = 0; i < sizeof explicit_methods / sizeof *explicit_methods; i++)
        if (!strcmp(method, explicit_methods[i]))
            return true;
    return false;
}

// A number of models from a seed on, each with its own variant. `vary` changes what it was given.
struct campaign {
    void (*run)(struct trial *t);
    enum random_kind kind;
    uint32_t most; // states
    uint32_t size; // of an expression, at most; 0: any
    const char *device;
    void (*vary)(struct trial *t, struct random_shape *shape, uint64_t *rng);
};

static void attempt_many(const struct campaign *c, uint64_t count) {
    uint64_t first = trial_setting("SHOAL_RANDOM_SEED", 1), sure = 0, vague = 0;
    count = trial_setting("SHOAL_RANDOM_COUNT", count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t rng = seed * 7919;
        struct trial t = {.seed = seed, .run = c->run};
        t.variant = some_variant(&rng, random_below(&rng, 2));
        t.variant.device = c->device;
        struct random_shape shape = some_shape(&rng, c->most, c->kind);
        bool rows = !is_explicit(t.variant.method) && !random_below(&rng, 3);
        shape.algebraic = rows ? 1 + random_below(&rng, 4) : 0;
        if (c->size && shape.size > c->size)
            shape.size = c->size;
        if (c->vary)
            c->vary(&t, &shape, &rng);
        trial_attempt(&t, shape);
        sure += t.sure;
        vague += t.vague;
    }
    if (getenv("SHOAL_RANDOM_COUNT"))
        fprintf(stderr, "%llu sure, %llu vague\n", (unsigned long long)sure,
                (unsigned long long)vague);
    CHECK_MSG(sure >= vague, "%llu comparisons, %llu void", (unsigned long long)sure,
              (unsigned long long)vague);
}

// The functions of kernels, for every target and both compilers.
static void vary_functions(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    (void)shape;
    t->variant.compiler = random_below(rng, 2) && has_clang() ? "clang" : NULL;
}

static const struct campaign functions = {
    .run = random_run_functions, .kind = RANDOM_ALL, .most = 65, .vary = vary_functions};
static const struct campaign large_functions = {
    .run = random_run_functions, .kind = RANDOM_ALL, .most = 300, .vary = vary_functions};

TEST(random_functions) { attempt_many(&functions, 15); }
LONG_TEST(random_functions_many) { attempt_many(&large_functions, 2000); }

// Kernels on all targets: the same bits.
static void vary_kernels(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    static const char *const saves[] = {"final", "n=5", "at=0.9,1.3,1.75", "steps"};
    t->variant.fast_math = false;
    t->variant.save = saves[random_below(rng, 4)];
    shape->gentle = random_below(rng, 8) != 0;
    bool one_lane = t->variant.target && !strcmp(t->variant.target, "scalar");
    t->variant.compiler = (random_below(rng, 2) || one_lane) && has_clang() ? "clang" : NULL;
    if (one_lane && !has_clang())
        t->variant.target = NULL;
}

static const struct campaign kernels = {
    .run = random_run_kernels, .kind = RANDOM_EXACT, .most = 25, .vary = vary_kernels};
static const struct campaign large_kernels = {
    .run = random_run_kernels, .kind = RANDOM_EXACT, .most = 300, .vary = vary_kernels};

TEST(random_kernels) { attempt_many(&kernels, 2); }
LONG_TEST(random_kernels_many) { attempt_many(&large_kernels, 600); }

// Kernels on a device: the same bits, and with all functions the right numbers.
static void vary_device(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    vary_kernels(t, shape, rng);
    t->variant.target = t->variant.compiler = NULL;
}

static void vary_euler(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    (void)rng;
    t->variant.method = "euler";
    t->variant.target = NULL;
    shape->algebraic = 0;
}

static void on_device(const char *device, uint32_t most, uint32_t size, uint64_t count) {
    attempt_many(
        &(struct campaign){random_run_kernels, RANDOM_EXACT, most, size, device, vary_device},
        count);
    attempt_many(&(struct campaign){random_run_euler, RANDOM_ALL, most, size, device, vary_euler},
                 count);
}

DEVICE_TEST(random_models) {
    if (!device_test_is_cpu(device))
        on_device(device, 4, 8, 1);
}
LONG_DEVICE_TEST(random_models_many) { on_device(device, 300, 0, 120); }

// Names of the user do not reach the source, for any target.
static void vary_names(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    static const char *const targets[] = {"scalar", "x86-64-v3", "x86-64-v4", "sm_75", "sm_90"};
    vary_kernels(t, shape, rng);
    t->variant.compiler = NULL;
    t->variant.target = targets[random_below(rng, 5)];
}

TEST(random_names) {
    attempt_many(&(struct campaign){random_run_names, RANDOM_ALL, 65, 0, NULL, vary_names}, 100);
}
LONG_TEST(random_names_many) {
    attempt_many(&(struct campaign){random_run_names, RANDOM_ALL, 300, 0, NULL, vary_names}, 3000);
}

// CUDA's compiler takes them all.
static void vary_cuda(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    static const char *const architectures[] = {"sm_75", "sm_80", "sm_90"};
    vary_kernels(t, shape, rng);
    t->variant.fast_math = !random_below(rng, 4);
    t->variant.compiler = NULL;
    t->variant.target = architectures[random_below(rng, 3)];
}

static void need_nvrtc(void) {
    const struct shoal_backend *backend = NULL;
    struct shoal_device *d = NULL;
    struct shoal_bytes bytes = {0};
    struct shoal_kernel_text k = {.text = "", .length = 0};
    shoal_code code = device_open_target("sm_80", false, &backend, &d, NULL);
    if (code == SHOAL_OK)
        code = backend->build(d, &k, NULL, &bytes, NULL);
    if (d)
        backend->close(d);
    free(bytes.data);
    if (code != SHOAL_OK)
        check_skip("no NVRTC");
}

LONG_TEST(random_cuda) {
    need_nvrtc();
    attempt_many(&(struct campaign){random_run_compiler, RANDOM_ALL, 4, 12, NULL, vary_cuda}, 3);
}
LONG_TEST(random_cuda_many) {
    need_nvrtc();
    attempt_many(&(struct campaign){random_run_compiler, RANDOM_ALL, 300, 0, NULL, vary_cuda}, 250);
}

// Systems beyond what a thread keeps to itself, of each kind of method, through the compilers of
// devices.
static void vary_large(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    static const char *const kinds[] = {"rk4", "tsit5", "rodas4", "kvaerno3", "radau5", "dop853"};
    static const uint32_t sizes[] = {129, 300, 1000};
    vary_cuda(t, shape, rng);
    t->variant.method = kinds[t->seed % 6];
    shape->states = sizes[t->seed / 6 % 3];
    shape->size = 1 + random_below(rng, 3);
    shape->algebraic = 0;
    shape->gentle = true; // not every state depends on every other
    shape->temporaries = random_below(rng, 40);
    if (t->variant.device)
        t->variant.target = NULL;
}

LONG_TEST(random_cuda_large) {
    need_nvrtc();
    attempt_many(&(struct campaign){random_run_compiler, RANDOM_EXACT, 300, 0, NULL, vary_large},
                 36);
}
LONG_DEVICE_TEST(random_large) {
    attempt_many(&(struct campaign){random_run_compiler, RANDOM_EXACT, 300, 0, device, vary_large},
                 18);
}

// ---- What was found -----------------------------------------------------------------------------

// NaN has bits that no two machines need to agree on: nothing may depend on them, not even the
// number of steps of a trajectory that fails at its start.
LONG_TEST(random_bits_of_nan_do_not_matter) {
    static const char model[] = "par a=0; init x=1; x'=(1/a)*(1/a)-1/a; y'=x/a; alg z=0; 0=z";
    static const char *const tried[] = {"rodas4", "radau5"};
    for (size_t i = 0; i < 4; i++) {
        char options[80];
        const char *names[RIG_NAMES] = {"a"};
        snprintf(options, sizeof options, "method=%s t1=1 precision=%s", tried[i / 2],
                 i % 2 ? "f32" : "f64");
        struct inputs in = inputs_new(3, names);
        struct rig one = rig_new("scalar", model, options),
                   other = rig_new("x86-64", model, options);
        struct outcome a = rig_run(&one, &in, NULL, 0, NULL),
                       b = rig_run(&other, &in, NULL, 0, NULL);
        outcome_same(&a, 0, &b, 0, options);
        outcome_free(&a);
        outcome_free(&b);
        rig_free(&one);
        rig_free(&other);
        inputs_free(&in);
    }
}

// -fma(a, b, c) is another 0 than fma(-a, b, -c) where both are 0; ceil(x) is -floor(-x).
TEST(random_sign_of_zero) {
    static const char model[] = "par a=0, b=2; init x=0; x'=0; aux o=ceil(x*b+a); aux n=-(x*b+a)";
    for (int f32 = 0; f32 < 2; f32++) {
        const char *names[RIG_NAMES] = {"a"};
        const char *options = f32 ? "method=euler dt=1 t1=1 vars=o,n precision=f32"
                                  : "method=euler dt=1 t1=1 vars=o,n";
        struct inputs in = inputs_new(2, names);
        in.value[0][1] = -0.0;
        struct rig one = rig_new("scalar", model, options), own = rig_new(NULL, model, options);
        struct outcome a = rig_run(&one, &in, NULL, 0, NULL);
        struct outcome b = rig_run(&own, &in, NULL, 0, NULL);
        for (uint64_t i = 0; i < 2; i++)
            outcome_same(&a, i, &b, i, options);
        outcome_free(&a);
        outcome_free(&b);
        rig_free(&one);
        rig_free(&own);
        inputs_free(&in);
    }
}
