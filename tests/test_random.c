// SPDX-License-Identifier: MIT
// Random models through the generator and the compilers.
//
// Of a kernel, the functions that are written for the model (right-hand side, outputs, initial
// values, Jacobian, factorisation) are compiled and called as they are, and compared with what
// tests/random_value.c makes of the model. Whole kernels are run on every target and compared bit
// for bit where the operators allow it. Kernels for CUDA are compiled.
//
// A model that fails is made smaller and printed, with its seed. SHOAL_RANDOM_SEED=n and
// SHOAL_RANDOM_COUNT=n take other models.
#include "api/solver.h"
#include "check.h"
#include "device/device.h"
#include "device_test.h"
#include "random_model.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#define START_TIME 0.75
#define START_TIME_TEXT "0.75"
#define END_TIME_TEXT "1.75"
enum { POINTS = 16 }; // a multiple of the lanes of every target

struct variant {
    const char *method;
    bool f32, fast_math;
    const char *target; // of SHOAL_CPU_TARGET
    const char *compiler;
    const char *save; // of the options, NULL: final
    const char *device;
};

// A model under test, and what is wrong with it.
struct trial {
    struct random_model *model;
    uint64_t seed;
    struct variant variant;
    shoal_log *log;
    shoal_model *parsed;
    shoal_options options;
    bool passed_over;     // refused, and rightly so
    char *failure;        // NULL: nothing
    char *first;          // what was wrong before it was made smaller
    uint64_t sure, vague; // comparisons that could fail, and those that rounding makes void
    void (*run)(struct trial *t);
};

// What is before the first colon is the kind of failure.
__attribute__((format(printf, 2, 3))) static void fail(struct trial *t, const char *format, ...) {
    va_list args;
    if (t->failure)
        return;
    va_start(args, format);
    if (vasprintf(&t->failure, format, args) < 0)
        t->failure = NULL;
    va_end(args);
}

static void fail_call(struct trial *t, const char *what) {
    struct buf text = {0};
    for (size_t i = 0; i < shoal_log_message_count(t->log); i++)
        if (shoal_log_message(t->log, i).severity == SHOAL_ERROR)
            buf_printf(&text, "%s\n", shoal_log_message(t->log, i).text);
    fail(t, "%s: %.3000s", what, text.data ? text.data : "");
    buf_free(&text);
}

// ---- Points -------------------------------------------------------------------------------------

struct point {
    double *state, *parameter, *state_slope;
    double t, t_slope;
};

static double some_value(uint64_t *rng, bool f32, bool positive) {
    static const double plain[] = {0, 1, -1, 0.5, 2, -0.25, 3, -2};
    uint32_t which = random_below(rng, 16);
    double x = which < 3    ? plain[random_below(rng, 8)]
               : which == 3 ? random_real(rng, -100, 100)
               : which == 4 ? random_real(rng, -1e-3, 1e-3)
                            : random_real(rng, -2, 2);
    x = positive ? fabs(x) : x;
    return f32 ? (double)(float)x : x;
}

static struct point point_new(const struct random_model *m, uint64_t *rng, bool f32, bool own) {
    uint32_t states = random_model_states(m), parameters = random_model_parameters(m);
    struct point p = {.state = calloc(states, sizeof(double)),
                      .state_slope = calloc(states, sizeof(double)),
                      .parameter = calloc(parameters + 1, sizeof(double)),
                      .t = some_value(rng, f32, true),
                      .t_slope = 0};
    REQUIRE(p.state && p.state_slope && p.parameter);
    for (uint32_t i = 0; i < states; i++) {
        p.state[i] = some_value(rng, f32, false);
        p.state_slope[i] = random_below(rng, 3) ? random_real(rng, -1, 1) : 0;
    }
    for (uint32_t i = 0; i < parameters; i++) {
        double given = random_model_parameter_value(m, i);
        p.parameter[i] = own ? given : some_value(rng, f32, random_below(rng, 2));
        if (f32)
            p.parameter[i] = (double)(float)p.parameter[i];
    }
    return p;
}

static void point_free(struct point *p) {
    free(p->state);
    free(p->state_slope);
    free(p->parameter);
}

// ---- What is right, and how sure that is --------------------------------------------------------

enum { SAMPLES = 5 };

struct oracle {
    struct random_values exact, noisy[SAMPLES];
    bool f32;
    double unit;
};

static struct random_values values_new(const struct random_model *m) {
    struct random_values v = {.slope = calloc(random_model_states(m), sizeof *v.slope),
                              .start = calloc(random_model_states(m), sizeof *v.start),
                              .observable =
                                  calloc(random_model_observables(m) + 1, sizeof *v.observable)};
    REQUIRE(v.slope && v.start && v.observable);
    return v;
}

static void values_free(struct random_values *v) {
    free(v->slope);
    free(v->start);
    free(v->observable);
}

static struct oracle oracle_new(const struct random_model *m, const struct point *p,
                                const struct variant *s) {
    struct oracle o = {.f32 = s->f32, .unit = s->f32 ? 0x1p-24 : 0x1p-53};
    struct random_point at = {.state = p->state,
                              .parameter = p->parameter,
                              .t = p->t,
                              .state_slope = p->state_slope,
                              .t_slope = p->t_slope};
    o.exact = values_new(m);
    random_model_evaluate(m, &at, &o.exact);
    at.noise = o.unit * (s->fast_math ? 16 : 4);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        at.seed = i;
        o.noisy[i] = values_new(m);
        random_model_evaluate(m, &at, &o.noisy[i]);
    }
    return o;
}

static void oracle_free(struct oracle *o) {
    values_free(&o->exact);
    for (uint32_t i = 0; i < SAMPLES; i++)
        values_free(&o->noisy[i]);
}

// Sizes that a kernel's numbers keep: rewriting may move a product beyond these, but not far.
static bool is_tame(const struct oracle *o, const struct random_dual *x) {
    double most = o->f32 ? 1e15 : 1e120, least = o->f32 ? 1e-15 : 1e-120;
    return !x->nan && x->most < most && x->least > least;
}

struct expected {
    long double v, tolerance; // infinite: unknown
};

static struct expected expected_of(const struct oracle *o, const struct random_dual *exact,
                                   const struct random_dual *noisy[SAMPLES], bool slope) {
    struct expected e = {slope ? exact->d : exact->v, 0};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        long double away = fabsl((slope ? noisy[i]->d : noisy[i]->v) - e.v);
        e.tolerance = !(away <= e.tolerance) ? away : e.tolerance;
    }
    e.tolerance = 64 * e.tolerance + 8 * (long double)o->unit * fabsl(e.v);
    e.tolerance += o->f32 ? 1e-30L : 1e-250L; // what underflows
    if (!is_tame(o, exact) || !isfinite(e.v) || !isfinite(e.tolerance))
        e.tolerance = INFINITY;
    return e;
}

enum what { SLOPE, OBSERVABLE, START };

static const struct random_dual *array_of(const struct random_values *v, enum what what) {
    return what == SLOPE ? v->slope : what == OBSERVABLE ? v->observable : v->start;
}

static struct expected oracle_at(const struct oracle *o, enum what what, uint32_t i, bool slope) {
    const struct random_dual *noisy[SAMPLES];
    for (uint32_t k = 0; k < SAMPLES; k++)
        noisy[k] = &array_of(&o->noisy[k], what)[i];
    return expected_of(o, &array_of(&o->exact, what)[i], noisy, slope);
}

static void compare(struct trial *t, const char *what, const char *name, double got,
                    struct expected want) {
    bool vague = !isfinite(want.tolerance) || !(want.tolerance <= 1e-3L * (1 + fabsl(want.v)));
    t->vague += vague;
    t->sure += !vague;
    if (!vague && !(fabsl((long double)got - want.v) <= want.tolerance))
        fail(t, "%s: of %s is %.17g, not %.17Lg within %.3Lg", what, name, got, want.v,
             want.tolerance);
}

// ---- Model and options --------------------------------------------------------------------------

static void set_option(struct trial *t, const char *name, const char *value) {
    if (!t->failure && shoal_options_set(&t->options, name, value, t->log) != SHOAL_OK)
        fail_call(t, name);
}

// Behind the states: they are there too, in their order.
static char *all_outputs(const struct trial *t) {
    struct buf b = {0};
    for (uint32_t i = 0; i < random_model_states(t->model); i++)
        buf_printf(&b, "%s%s", i ? "," : "", random_model_state(t->model, i));
    for (uint32_t i = 0; i < random_model_observables(t->model); i++)
        buf_printf(&b, ",%s", random_model_observable(t->model, i));
    REQUIRE(b.data && !b.failed);
    return b.data;
}

static bool is_fixed(const char *method) {
    static const char *const fixed[] = {"euler", "midpoint",       "ralston-33",
                                        "rk4",   "backward-euler", "implicit-midpoint"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!strcmp(method, fixed[i]))
            return true;
    return false;
}

static void open_model(struct trial *t, const char *text) {
    const struct variant *s = &t->variant;
    if (s->compiler)
        setenv("SHOAL_CC", s->compiler, 1);
    else
        unsetenv("SHOAL_CC");
    if (s->target)
        setenv("SHOAL_CPU_TARGET", s->target, 1);
    else
        unsetenv("SHOAL_CPU_TARGET");
    t->log = shoal_log_new();
    if (shoal_model_parse("random.ode", text, strlen(text), &t->parsed, t->log) != SHOAL_OK ||
        shoal_options_init(&t->options, t->parsed, t->log) != SHOAL_OK)
        fail_call(t, "refused");
    t->passed_over = t->failure && strstr(t->failure, "this is not finite"); // an initial value
    set_option(t, "method", s->method);
    set_option(t, "t0", START_TIME_TEXT);
    set_option(t, "t1", END_TIME_TEXT);
    set_option(t, "max-steps", "2000");
    if (is_fixed(s->method))
        set_option(t, "dt", "0.125");
    set_option(t, "precision", s->f32 ? "f32" : "f64");
    t->options.fast_math = s->fast_math;
    set_option(t, "save", s->save ? s->save : "final");
    set_option(t, "device", s->device ? s->device : "cpu");
    t->options.cache = NULL;
}

static void close_model(struct trial *t) {
    shoal_model_free(t->parsed);
    shoal_log_free(t->log);
    t->parsed = NULL;
    t->log = NULL;
}

// ---- Functions of a kernel ----------------------------------------------------------------------

// What is compiled behind the generated functions: it calls them all.
static const char probe_text[] =
    "\nstruct probe { const real *t, *y, *scale, *b; real *p, *d, *o, *y0, *m, *f, *w, *x; };\n"
    "KERNEL void probe(const struct probe *q) {\n"
    "    model_derive(q->p);\n"
    "    model_rhs(*q->t, q->y, q->p, q->d);\n"
    "    model_outputs(*q->t, q->y, q->p, q->o);\n"
    "#if HAS_INIT\n"
    "    model_init(*q->t, q->p, q->y0);\n"
    "#endif\n"
    "#if IMPLICIT\n"
    "    model_linear(*q->t, q->y, q->p, q->m);\n"
    "    linear_factor(*q->scale, q->m, q->f, q->w);\n"
    "    for (int i = 0; i < N; i++) q->x[i] = q->b[i];\n"
    "    linear_solve(q->f, q->w, q->x);\n"
    "#endif\n"
    "}\n"
    "KERNEL const int probe_lanes = W, probe_np = NP, probe_shared = SHARED;\n";

struct probe {
    void *t, *y, *scale, *b, *p, *d, *o, *y0, *m, *f, *w, *x;
};

struct kernel_functions {
    void *library;
    void (*call)(const struct probe *q);
    uint32_t lanes, np, shared;
    struct order order;
    struct linear linear;
    struct sparsity pattern;
    struct arena arena;
};

static size_t offset_of(const struct kernel_source *s, const char *component) {
    for (uint32_t i = 0; i < s->components; i++)
        if (!strcmp(s->component[i].name, component))
            return s->component[i].offset;
    return 0;
}

static void *load_bytes(const struct shoal_bytes *b) {
    char path[64];
    int fd = memfd_create("probe", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, b->data, b->length) == (ssize_t)b->length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(fd);
    return library;
}

static void build_functions(struct trial *t, struct kernel_functions *k) {
    struct kernel_source s;
    struct shoal_bytes bytes = {0};
    if (codegen_kernel(&k->order.request, &s, log_report(t->log)) != SHOAL_OK) {
        fail_call(t, "codegen");
        return;
    }
    s.text.length = offset_of(&s, "group");
    buf_puts(&s.text, probe_text);
    struct shoal_kernel_text text = {.text = s.text.data,
                                     .length = s.text.length,
                                     .needs_sleef = s.needs_sleef,
                                     .needs_mvec = s.needs_mvec,
                                     .needs_libm = s.needs_libm,
                                     .one_unit = true};
    if (k->order.backend->build(k->order.device, &text, NULL, &bytes, log_report(t->log)) !=
        SHOAL_OK)
        fail_call(t, "compiler");
    else if (!(k->library = load_bytes(&bytes)))
        fail(t, "load: %s", dlerror());
    free(bytes.data);
    codegen_free(&s);
}

static void find_functions(struct trial *t, struct kernel_functions *k) {
    jmp_buf oom;
    struct system *s = k->order.request.system;
    *(void **)&k->call = dlsym(k->library, "probe");
    k->lanes = (uint32_t) * (const int *)dlsym(k->library, "probe_lanes");
    k->np = (uint32_t) * (const int *)dlsym(k->library, "probe_np");
    k->shared = (uint32_t) * (const int *)dlsym(k->library, "probe_shared");
    k->arena.oom = s->arena.oom = &oom;
    if (setjmp(oom))
        fail(t, "memory: none");
    else if (k->order.request.method->scheme != EXPLICIT) {
        node_id *entries;
        k->linear = codegen_linearise(s, k->order.request.method, &k->arena);
        k->pattern = system_nonzeros(s, &entries, &k->arena);
    }
    s->arena.oom = NULL;
}

// Numbers of all lanes, behind one another: item i of lane l is at i * lanes + l.
static void *lanes_new(const struct kernel_functions *k, size_t items, bool f32) {
    size_t bytes = (items + 1) * k->lanes * (f32 ? sizeof(float) : sizeof(double));
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    REQUIRE(p);
    memset(p, 0, (bytes + 63) / 64 * 64);
    return p;
}

static void lane_set(void *array, size_t at, bool f32, double x) {
    if (f32)
        ((float *)array)[at] = (float)x;
    else
        ((double *)array)[at] = x;
}

static double lane_get(const void *array, size_t at, bool f32) {
    return f32 ? (double)((const float *)array)[at] : ((const double *)array)[at];
}

static struct probe probe_new(const struct trial *t, const struct kernel_functions *k) {
    bool f32 = t->variant.f32;
    uint32_t states = random_model_states(t->model);
    uint32_t outputs = states + random_model_observables(t->model);
    return (struct probe){.t = lanes_new(k, 1, f32),
                          .y = lanes_new(k, states, f32),
                          .scale = lanes_new(k, 1, f32),
                          .b = lanes_new(k, states, f32),
                          .p = lanes_new(k, k->np + k->shared, f32),
                          .d = lanes_new(k, states, f32),
                          .o = lanes_new(k, outputs, f32),
                          .y0 = lanes_new(k, states, f32),
                          .m = lanes_new(k, k->linear.size, f32),
                          .f = lanes_new(k, k->linear.size, f32),
                          .w = lanes_new(k, states, f32),
                          .x = lanes_new(k, states, f32)};
}

static void probe_free(struct probe *q) {
    void *all[] = {q->t, q->y, q->scale, q->b, q->p, q->d, q->o, q->y0, q->m, q->f, q->w, q->x};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

// The kernel's number of a state or parameter.
static uint32_t position_of(const shoal_model *m, shoal_kind kind, const char *name) {
    for (uint32_t i = 0; i < shoal_model_count(m, kind); i++)
        if (!strcmp(shoal_model_symbol(m, kind, i), name))
            return i;
    check_fail(__FILE__, __LINE__, "%s is not in the model", name);
    check_end();
}

// Where each state of the random model is in the kernel.
static uint32_t *state_positions(const struct trial *t) {
    uint32_t count = random_model_states(t->model), *p = calloc(count, sizeof *p);
    REQUIRE(p);
    for (uint32_t i = 0; i < count; i++)
        p[i] = position_of(t->parsed, SHOAL_STATE, random_model_state(t->model, i));
    return p;
}

static void probe_put(const struct trial *t, const struct kernel_functions *k, struct probe *q,
                      uint32_t lane, const struct point *p, const uint32_t *position) {
    bool f32 = t->variant.f32;
    for (uint32_t i = 0; i < random_model_states(t->model); i++) {
        lane_set(q->y, position[i] * k->lanes + lane, f32, p->state[i]);
        lane_set(q->b, position[i] * k->lanes + lane, f32, p->state_slope[i]);
    }
    for (uint32_t i = 0; i < random_model_parameters(t->model); i++) {
        uint32_t at = position_of(t->parsed, SHOAL_PARAMETER, random_model_parameter(t->model, i));
        lane_set(q->p, at * k->lanes + lane, f32, p->parameter[i]);
    }
    lane_set(q->t, lane, f32, p->t);
}

// J times the slopes of the point, row by row, against derivatives that were carried along.
static void compare_jacobian(struct trial *t, const struct kernel_functions *k,
                             const struct probe *q, uint32_t lane, const struct point *p,
                             const struct oracle *o, const uint32_t *position) {
    uint32_t states = random_model_states(t->model);
    for (uint32_t i = 0; i < states; i++) {
        uint32_t row = position[i];
        long double sum = 0, size = 0;
        for (uint32_t j = 0; j < states; j++) {
            uint32_t e = lu_entry(&k->linear.lu, row, position[j]);
            if (e == UINT32_MAX || k->linear.lu.fill[e] || p->state_slope[j] == 0)
                continue;
            long double x = (long double)(lane_get(q->m, e * k->lanes + lane, t->variant.f32)) *
                            (long double)p->state_slope[j];
            sum += x;
            size += fabsl(x);
        }
        struct expected want = oracle_at(o, SLOPE, i, true);
        want.tolerance += 16 * (long double)o->unit * size;
        compare(t, "jacobian", random_model_state(t->model, i), (double)sum, want);
    }
}

// A row of I + scale J, or of -J where it is algebraic, with the kernel's own Jacobian: its product
// with x, and its sizes on the diagonal and off it.
struct row_sums {
    double product, size, diagonal, rest;
};

static struct row_sums sum_row(const struct trial *t, const struct kernel_functions *k,
                               const struct probe *q, uint32_t lane, uint32_t row) {
    const struct lu *lu = &k->linear.lu;
    bool f32 = t->variant.f32, algebraic = lu->algebraic && lu->algebraic[row];
    double scale = algebraic ? -1 : lane_get(q->scale, lane, f32);
    struct row_sums s = {0};
    uint32_t at = lu->position[row];
    for (uint32_t e = lu->row_start[at]; e < lu->row_start[at + 1]; e++) {
        bool diagonal = e == lu->diagonal[at];
        double a = lu->fill[e] ? 0 : scale * lane_get(q->m, e * k->lanes + lane, f32);
        a += diagonal && !algebraic ? 1 : 0;
        double x = a * lane_get(q->x, lu->state[lu->column[e]] * k->lanes + lane, f32);
        s.product += x;
        s.size += fabs(x);
        s.diagonal += diagonal ? fabs(a) : 0;
        s.rest += diagonal ? 0 : fabs(a);
    }
    return s;
}

// A scale with which the matrix is far from singular, whatever the Jacobian.
static void choose_scale(const struct trial *t, const struct kernel_functions *k, struct probe *q,
                         uint32_t lane) {
    double most = 1;
    lane_set(q->scale, lane, t->variant.f32, 1);
    for (uint32_t row = 0; row < k->linear.lu.size; row++) {
        struct row_sums s = sum_row(t, k, q, lane, row);
        if (!(k->linear.lu.algebraic && k->linear.lu.algebraic[row]))
            most = fmax(most, s.diagonal + s.rest);
    }
    lane_set(q->scale, lane, t->variant.f32, -0.2 / most);
}

// What was solved for, where no pivot can be small.
static void compare_solution(struct trial *t, const struct kernel_functions *k,
                             const struct probe *q, uint32_t lane) {
    bool f32 = t->variant.f32, fair = true;
    double most = 0, worst = 0;
    for (uint32_t row = 0; row < k->linear.lu.size; row++) {
        struct row_sums s = sum_row(t, k, q, lane, row);
        double b = lane_get(q->b, row * k->lanes + lane, f32);
        fair &= s.diagonal > 1.5 * s.rest && s.diagonal < 1e3; // not where one is NaN
        most = fmax(most, s.size + fabs(b));
        worst = !(fabs(s.product - b) <= worst) ? fabs(s.product - b) : worst;
    }
    t->vague += !fair;
    t->sure += fair;
    if (fair && !(worst <= (f32 ? 1e-5 : 1e-13) * most))
        fail(t, "solution: what is left is %g, of %g", worst, most);
}

static void compare_lane(struct trial *t, const struct kernel_functions *k, const struct probe *q,
                         uint32_t lane, const struct point *p, const uint32_t *position) {
    const struct random_model *m = t->model;
    struct oracle o = oracle_new(m, p, &t->variant);
    bool f32 = t->variant.f32;
    for (uint32_t i = 0; i < random_model_states(m); i++) {
        size_t at = position[i] * k->lanes + lane;
        compare(t, "right-hand side", random_model_state(m, i), lane_get(q->d, at, f32),
                oracle_at(&o, SLOPE, i, false));
        bool formula = k->order.request.system->init[position[i]] != NODE_NONE;
        if (random_model_starts_by_formula(m, i))
            compare(t, "initial value", random_model_state(m, i),
                    formula ? lane_get(q->y0, at, f32)
                            : shoal_model_value(t->parsed, SHOAL_STATE, position[i]),
                    oracle_at(&o, START, i, false));
    }
    for (uint32_t i = 0; i < random_model_observables(m); i++)
        compare(t, "observable", random_model_observable(m, i),
                lane_get(q->o, (random_model_states(m) + i) * k->lanes + lane, f32),
                oracle_at(&o, OBSERVABLE, i, false));
    if (k->linear.count) {
        compare_jacobian(t, k, q, lane, p, &o, position);
        compare_solution(t, k, q, lane);
    }
    oracle_free(&o);
}

static void compare_functions(struct trial *t, const struct kernel_functions *k) {
    uint64_t rng = t->seed;
    uint32_t *position = state_positions(t);
    for (uint32_t first = 0; first < POINTS && !t->failure; first += k->lanes) {
        struct probe q = probe_new(t, k);
        struct point p[POINTS];
        for (uint32_t l = 0; l < k->lanes; l++) {
            p[l] = point_new(t->model, &rng, t->variant.f32, l == 0);
            probe_put(t, k, &q, l, &p[l], position);
        }
        k->call(&q); // for the Jacobian
        for (uint32_t l = 0; l < k->lanes && k->linear.count; l++)
            choose_scale(t, k, &q, l);
        k->call(&q);
        for (uint32_t l = 0; l < k->lanes; l++) {
            if (!t->failure)
                compare_lane(t, k, &q, l, &p[l], position);
            point_free(&p[l]);
        }
        probe_free(&q);
    }
    free(position);
}

// What the library itself makes of the right-hand side.
static void compare_host(struct trial *t) {
    uint64_t rng = t->seed;
    uint32_t states = random_model_states(t->model), *position = state_positions(t);
    struct point p = point_new(t->model, &rng, false, true);
    struct variant f64 = {0};
    struct oracle o = oracle_new(t->model, &p, &f64);
    double *y = calloc(states, sizeof *y), *d = calloc(states, sizeof *d);
    REQUIRE(y && d);
    for (uint32_t i = 0; i < states; i++)
        y[position[i]] = p.state[i];
    shoal_model_rhs(t->parsed, p.t, y, d);
    for (uint32_t i = 0; i < states; i++)
        compare(t, "host", random_model_state(t->model, i), d[position[i]],
                oracle_at(&o, SLOPE, i, false));
    free(y);
    free(d);
    free(position);
    oracle_free(&o);
    point_free(&p);
}

static void run_functions(struct trial *t) {
    struct kernel_functions k = {0};
    char *text = random_model_text(t->model), *outputs = all_outputs(t);
    open_model(t, text);
    set_option(t, "vars", outputs);
    if (!t->failure)
        compare_host(t);
    if (!t->failure && order_open(t->parsed, &t->options, NULL, &k.order, t->log) != SHOAL_OK)
        fail_call(t, "order");
    if (!t->failure)
        build_functions(t, &k);
    if (!t->failure)
        find_functions(t, &k);
    if (!t->failure)
        compare_functions(t, &k);
    if (k.library)
        dlclose(k.library);
    order_close(&k.order);
    arena_free(&k.arena);
    close_model(t);
    free(text);
    free(outputs);
}

// ---- Whole kernels ------------------------------------------------------------------------------

enum { ROWS = 19 }; // more than any target has lanes, and no multiple

struct run {
    uint32_t vars;
    uint64_t samples;
    double *values; // [var][row][sample]
    double *t;      // [row][sample]
    uint8_t status[ROWS];
    uint32_t steps[ROWS], rejected[ROWS];
    uint64_t f_evals[ROWS];
    char *text; // of a file, where every step is kept
};

static void run_free(struct run *r) {
    free(r->values);
    free(r->t);
    free(r->text);
    *r = (struct run){0};
}

static struct point *points_new(const struct trial *t) {
    uint64_t rng = t->seed;
    struct point *p = calloc(ROWS, sizeof *p);
    REQUIRE(p);
    for (uint32_t i = 0; i < ROWS; i++) {
        p[i] = point_new(t->model, &rng, t->variant.f32, i == 0);
        p[i].t = START_TIME;
    }
    return p;
}

static void points_free(struct point *p) {
    for (uint32_t i = 0; i < ROWS; i++)
        point_free(&p[i]);
    free(p);
}

static void give(struct trial *t, shoal_batch *b, const char *name, const struct point *p,
                 uint32_t index, bool state) {
    double values[ROWS];
    char column[64];
    for (uint32_t i = 0; i < ROWS; i++)
        values[i] = state ? p[i].state[index] : p[i].parameter[index];
    snprintf(column, sizeof column, state ? "%s(0)" : "%s", name);
    if (!t->failure && shoal_batch_values(b, column, values, ROWS, t->log) != SHOAL_OK)
        fail_call(t, "batch");
}

// All parameters; initial values but for formulas, unless `all`.
static shoal_batch *batch_of(struct trial *t, const struct point *p, bool all, const char *only) {
    shoal_batch *b = NULL;
    if (shoal_batch_new(t->parsed, &b, t->log) != SHOAL_OK) {
        fail_call(t, "batch");
        return NULL;
    }
    for (uint32_t i = 0; i < random_model_parameters(t->model); i++)
        give(t, b, random_model_parameter(t->model, i), p, i, false);
    for (uint32_t i = 0; i < random_model_states(t->model); i++)
        if (all || !random_model_starts_by_formula(t->model, i))
            give(t, b, random_model_state(t->model, i), p, i, true);
    if (only && shoal_batch_only(b, only, t->log) != SHOAL_OK)
        fail_call(t, "batch");
    return b;
}

static void widen(struct run *r, uint64_t count) {
    for (uint64_t i = count; i-- > 0;) {
        float narrow;
        memcpy(&narrow, (const char *)r->values + i * sizeof narrow, sizeof narrow);
        r->values[i] = (double)narrow;
    }
}

static void run_arrays(struct trial *t, shoal_solver *s, shoal_batch *b, struct run *r) {
    uint64_t rows = shoal_batch_rows(b);
    r->vars = shoal_solver_var_count(s);
    r->samples = shoal_solver_save_count(s);
    r->values = calloc(r->vars * rows * r->samples + 1, sizeof *r->values);
    r->t = calloc(rows * r->samples + 1, sizeof *r->t);
    REQUIRE(r->values && r->t);
    shoal_arrays a = {.values = r->values,
                      .t = r->t,
                      .status = r->status,
                      .steps = r->steps,
                      .rejected = r->rejected,
                      .f_evals = r->f_evals};
    if (shoal_solver_run_arrays(s, b, &a, NULL, t->log) != SHOAL_OK)
        fail_call(t, "run");
    else if (t->variant.f32)
        widen(r, r->vars * rows * r->samples);
}

static void run_file(struct trial *t, shoal_solver *s, shoal_batch *b, struct run *r) {
    const char *path = check_path("steps.csv");
    unlink(path);
    if (shoal_solver_run_file(s, b, path, NULL, t->log) != SHOAL_OK)
        fail_call(t, "run");
    else
        r->text = check_read(path);
}

// ---- The same bits ------------------------------------------------------------------------------

static bool same_number(double a, double b) {
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

// Row i of a against row k of b, where they have so many rows.
static void compare_rows(struct trial *t, const struct run *a, uint32_t i, uint32_t rows_a,
                         const struct run *b, uint32_t k, uint32_t rows_b, const char *what) {
    if (a->status[i] != b->status[k] || a->steps[i] != b->steps[k] ||
        a->rejected[i] != b->rejected[k] || a->f_evals[i] != b->f_evals[k])
        fail(t, "%s: row %u is %s, %u steps, %u rejected, %llu evaluations; not %s, %u, %u, %llu",
             what, i, shoal_status_word(b->status[k]), b->steps[k], b->rejected[k],
             (unsigned long long)b->f_evals[k], shoal_status_word(a->status[i]), a->steps[i],
             a->rejected[i], (unsigned long long)a->f_evals[i]);
    for (uint32_t v = 0; v < a->vars; v++)
        for (uint64_t n = 0; n < a->samples; n++) {
            double x = a->values[(v * rows_a + i) * a->samples + n];
            double y = b->values[(v * rows_b + k) * b->samples + n];
            t->sure++;
            if (!same_number(x, y))
                fail(t, "%s: row %u, output %u, sample %llu is %.17g, not %.17g", what, i, v,
                     (unsigned long long)n, y, x);
        }
}

// Says which line is another one.
static void compare_texts(struct trial *t, const char *a, const char *b, const char *what) {
    while (*a && !strncmp(a, b, strcspn(a, "\n") + 1)) {
        a += strcspn(a, "\n") + 1;
        b += strcspn(b, "\n") + 1;
        t->sure++;
    }
    if (*a || *b)
        fail(t, "%s: a line is %.*s, not %.*s", what, (int)strcspn(b, "\n"), b,
             (int)strcspn(a, "\n"), a);
}

static void compare_runs(struct trial *t, const struct run *want, const struct run *got,
                         const char *what) {
    if (want->text && got->text)
        compare_texts(t, want->text, got->text, what);
    for (uint32_t i = 0; i < ROWS && !t->failure && !want->text; i++)
        compare_rows(t, want, i, ROWS, got, i, ROWS, what);
}

// The kernel again: in chunks, with and without refill, a row alone.
static void run_again(struct trial *t, shoal_solver *s, const struct point *p,
                      const struct run *want) {
    static const struct {
        uint64_t chunk;
        bool refill;
        const char *what;
    } ways[] = {{7, true, "chunks"}, {0, false, "no refill"}, {5, false, "chunks, no refill"}};
    for (size_t i = 0; i < 3 && !t->failure; i++) {
        struct run got = {0};
        shoal_batch *b = batch_of(t, p, false, NULL);
        s->setup.chunk = ways[i].chunk;
        s->setup.refill = ways[i].refill;
        if (!t->failure)
            run_arrays(t, s, b, &got);
        if (!t->failure)
            compare_runs(t, want, &got, ways[i].what);
        run_free(&got);
        shoal_batch_free(b);
    }
    struct run alone = {0};
    shoal_batch *b = t->failure ? NULL : batch_of(t, p, false, "11");
    if (b && !t->failure)
        run_arrays(t, s, b, &alone);
    if (b && !t->failure)
        compare_rows(t, want, 11, ROWS, &alone, 0, 1, "alone");
    run_free(&alone);
    shoal_batch_free(b);
}

static struct run run_variant(struct trial *t, const struct point *p, bool again) {
    struct run r = {0};
    shoal_solver *s = NULL;
    shoal_batch *b = NULL;
    char *text = random_model_text(t->model), *outputs = all_outputs(t);
    bool steps = t->variant.save && !strcmp(t->variant.save, "steps");
    open_model(t, text);
    set_option(t, "vars", outputs);
    if (!t->failure && shoal_solver_new(t->parsed, &t->options, &s, t->log) != SHOAL_OK)
        fail_call(t, "solver");
    if (!t->failure)
        b = batch_of(t, p, false, NULL);
    if (!t->failure && steps)
        run_file(t, s, b, &r);
    else if (!t->failure)
        run_arrays(t, s, b, &r);
    if (!t->failure && !steps && again)
        run_again(t, s, p, &r);
    shoal_batch_free(b);
    shoal_solver_free(s);
    close_model(t);
    free(text);
    free(outputs);
    return r;
}

// The reference is the machine's own target; the variant is given. (One lane of GCC's is none: it
// makes -fma(a, b, c) to fma(-a, b, -c), which is another 0 where that is 0.)
static void run_kernels(struct trial *t) {
    struct point *p = points_new(t);
    struct variant given = t->variant;
    struct run want = {0}, got = {0};
    t->variant.target = t->variant.compiler = t->variant.device = NULL;
    want = run_variant(t, p, false);
    t->variant = given;
    if (!t->failure)
        got = run_variant(t, p, true);
    if (!t->failure)
        compare_runs(t, &want, &got, "bits");
    run_free(&want);
    run_free(&got);
    points_free(p);
}

// ---- One step of Euler's ------------------------------------------------------------------------

// Of a whole kernel with every function: the slopes from a step of 1, the observables of its start.
static void compare_euler(struct trial *t, const struct run *r, const struct point *p,
                          uint32_t row) {
    const struct random_model *m = t->model;
    struct oracle o = oracle_new(m, p, &t->variant);
    uint32_t states = random_model_states(m);
    for (uint32_t i = 0; i < states && r->status[row] == SHOAL_STATUS_ok; i++) {
        struct expected want = oracle_at(&o, SLOPE, i, false);
        want.v += (long double)p->state[i];
        want.tolerance +=
            2 * (long double)o.unit * (fabsl(want.v) + fabsl((long double)p->state[i]));
        compare(t, "euler", random_model_state(m, i), r->values[(i * ROWS + row) * 2 + 1], want);
    }
    for (uint32_t i = 0; i < random_model_observables(m); i++)
        compare(t, "observable", random_model_observable(m, i),
                r->values[((states + i) * ROWS + row) * 2], oracle_at(&o, OBSERVABLE, i, false));
    oracle_free(&o);
}

static void run_euler(struct trial *t) {
    struct run r = {0};
    struct point *p = points_new(t);
    shoal_solver *s = NULL;
    shoal_batch *b = NULL;
    char *text = random_model_text(t->model), *outputs = all_outputs(t);
    open_model(t, text);
    set_option(t, "vars", outputs);
    set_option(t, "dt", "1");
    set_option(t, "save", "n=2");
    if (!t->failure && shoal_solver_new(t->parsed, &t->options, &s, t->log) != SHOAL_OK)
        fail_call(t, "solver");
    if (!t->failure)
        b = batch_of(t, p, true, NULL);
    if (!t->failure)
        run_arrays(t, s, b, &r);
    for (uint32_t i = 0; i < ROWS && !t->failure; i++)
        compare_euler(t, &r, &p[i], i);
    shoal_batch_free(b);
    shoal_solver_free(s);
    close_model(t);
    run_free(&r);
    points_free(p);
    free(text);
    free(outputs);
}

// ---- Compilers without a device -----------------------------------------------------------------

static void run_compiler(struct trial *t) {
    struct order order = {0};
    struct kernel_source source;
    struct shoal_bytes bytes = {0};
    char *text = random_model_text(t->model), *outputs = all_outputs(t);
    const char *target = t->variant.target;
    t->variant.target = NULL; // it is no CPU's
    open_model(t, text);
    t->variant.target = target;
    set_option(t, "vars", outputs);
    if (!t->failure && order_open(t->parsed, &t->options, target, &order, t->log) != SHOAL_OK)
        fail_call(t, "order");
    if (!t->failure && codegen_kernel(&order.request, &source, log_report(t->log)) != SHOAL_OK)
        fail_call(t, "codegen");
    if (!t->failure) {
        struct shoal_kernel_text k = {.text = source.text.data, .length = source.text.length};
        if (order.backend->build(order.device, &k, NULL, &bytes, log_report(t->log)) != SHOAL_OK)
            fail_call(t, "compiler");
        codegen_free(&source);
    }
    free(bytes.data);
    order_close(&order);
    close_model(t);
    free(text);
    free(outputs);
}

// ---- Names --------------------------------------------------------------------------------------

// The kernel's source for the variant's target; the caller frees.
static char *source_of(struct trial *t) {
    struct order order = {0};
    struct kernel_source source = {0};
    char *text = random_model_text(t->model), *outputs = all_outputs(t);
    const char *target = t->variant.target;
    t->variant.target = NULL; // it need not be one of this CPU
    open_model(t, text);
    t->variant.target = target;
    set_option(t, "vars", outputs);
    if (!t->failure && order_open(t->parsed, &t->options, target, &order, t->log) != SHOAL_OK)
        fail_call(t, "order");
    if (!t->failure && codegen_kernel(&order.request, &source, log_report(t->log)) != SHOAL_OK)
        fail_call(t, "codegen");
    order_close(&order);
    close_model(t);
    free(text);
    free(outputs);
    return source.text.data;
}

// The same model twice, and under other names, is the same source.
static void run_names(struct trial *t) {
    char *first = source_of(t), *again = t->failure ? NULL : source_of(t);
    struct random_model *own = t->model;
    t->model = random_model_copy(own);
    random_model_rename(t->model);
    char *renamed = t->failure ? NULL : source_of(t);
    if (!t->failure && strcmp(first, again))
        fail(t, "again: another source");
    if (!t->failure && strcmp(first, renamed))
        fail(t, "names: they change the source");
    t->sure++;
    random_model_free(t->model);
    t->model = own;
    free(first);
    free(again);
    free(renamed);
}

// ---- Trials -------------------------------------------------------------------------------------

static uint64_t setting_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool same_kind(const char *a, const char *b) {
    size_t n = strcspn(a, ":");
    return n == strcspn(b, ":") && !strncmp(a, b, n);
}

static bool fails_again(void *user) {
    struct trial *t = user;
    free(t->failure);
    t->failure = NULL;
    t->run(t);
    return t->failure && same_kind(t->failure, t->first);
}

static void show(const struct trial *t) {
    const struct variant *s = &t->variant;
    check_fail(__FILE__, __LINE__,
               "seed %llu, method %s, %s%s, target %s, compiler %s, save %s, %s",
               (unsigned long long)t->seed, s->method, s->f32 ? "f32" : "f64",
               s->fast_math ? ", fast math" : "", s->target ? s->target : "own",
               s->compiler ? s->compiler : "cc", s->save ? s->save : "final",
               s->device ? s->device : "cpu");
}

static void attempt(struct trial *t, struct random_shape shape) {
    t->model = random_model_new(t->seed, shape);
    t->run(t);
    if (t->failure && !t->passed_over) {
        t->first = t->failure;
        t->failure = NULL;
        random_model_shrink(t->model, fails_again, t,
                            (uint32_t)setting_of("SHOAL_RANDOM_SHRINK", 120));
        char *text = random_model_text(t->model);
        fails_again(t);
        show(t);
        fprintf(stderr, "first %s\nthen %s\n%s\n", t->first, t->failure ? t->failure : "nothing",
                text);
        free(text);
        free(t->first);
    }
    free(t->failure);
    random_model_free(t->model);
}

// ---- Tests --------------------------------------------------------------------------------------

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
    struct random_shape s = {.states = some_size(rng, random_below(rng, 3) ? 13 : most),
                             .kind = kind,
                             .gentle = random_below(rng, 2)};
    s.size = s.states < 14 ? 4 + random_below(rng, 60) : 2 + random_below(rng, 12);
    s.temporaries = random_below(rng, 2) ? random_below(rng, s.states + 4) : 0;
    return s;
}

static const char *const explicit_methods[] = {"euler", "rk4",    "heun-21",
                                               "tsit5", "dop853", "auto"};
static const char *const implicit_methods[] = {
    "rodas4", "rosenbrock23",   "ros3p",  "kvaerno3",         "trbdf2",
    "sdirk4", "crank-nicolson", "radau5", "gauss-legendre-4", "backward-euler"};

static struct variant some_variant(uint64_t *rng, bool implicit) {
    static const char *const targets[] = {NULL, "scalar", "x86-64-v3", "x86-64"};
    const char *target = targets[random_below(rng, 4)];
    struct variant s = {.f32 = random_below(rng, 2), .fast_math = !random_below(rng, 4)};
    s.method =
        implicit ? implicit_methods[random_below(rng, 10)] : explicit_methods[random_below(rng, 6)];
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
struct plan {
    void (*run)(struct trial *t);
    enum random_kind kind;
    uint32_t most; // states
    uint32_t size; // of an expression, at most; 0: any
    const char *device;
    void (*vary)(struct trial *t, struct random_shape *shape, uint64_t *rng);
};

static void attempt_many(const struct plan *plan, uint64_t count) {
    uint64_t first = setting_of("SHOAL_RANDOM_SEED", 1), sure = 0, vague = 0;
    count = setting_of("SHOAL_RANDOM_COUNT", count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t rng = seed * 7919;
        struct trial t = {.seed = seed, .run = plan->run};
        t.variant = some_variant(&rng, random_below(&rng, 2));
        t.variant.device = plan->device;
        struct random_shape shape = some_shape(&rng, plan->most, plan->kind);
        bool rows = !is_explicit(t.variant.method) && !random_below(&rng, 3);
        shape.algebraic = rows ? 1 + random_below(&rng, 4) : 0;
        if (plan->size && shape.size > plan->size)
            shape.size = plan->size;
        if (plan->vary)
            plan->vary(&t, &shape, &rng);
        attempt(&t, shape);
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

static const struct plan functions = {
    .run = run_functions, .kind = RANDOM_ALL, .most = 65, .vary = vary_functions};
static const struct plan large_functions = {
    .run = run_functions, .kind = RANDOM_ALL, .most = 300, .vary = vary_functions};

TEST(random_functions) { attempt_many(&functions, 30); }
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

static const struct plan kernels = {
    .run = run_kernels, .kind = RANDOM_EXACT, .most = 25, .vary = vary_kernels};
static const struct plan large_kernels = {
    .run = run_kernels, .kind = RANDOM_EXACT, .most = 300, .vary = vary_kernels};

TEST(random_kernels) { attempt_many(&kernels, 5); }
LONG_TEST(random_kernels_many) { attempt_many(&large_kernels, 1000); }

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
    attempt_many(&(struct plan){run_kernels, RANDOM_EXACT, most, size, device, vary_device}, count);
    attempt_many(&(struct plan){run_euler, RANDOM_ALL, most, size, device, vary_euler}, count);
}

DEVICE_TEST(random_models) {
    if (!device_test_is_cpu(device))
        on_device(device, 4, 8, 2);
}
LONG_DEVICE_TEST(random_models_many) { on_device(device, 300, 0, 300); }

// Names of the user do not reach the source, for any target.
static void vary_names(struct trial *t, struct random_shape *shape, uint64_t *rng) {
    static const char *const targets[] = {"scalar", "x86-64-v3", "x86-64-v4", "sm_75", "sm_90"};
    vary_kernels(t, shape, rng);
    t->variant.compiler = NULL;
    t->variant.target = targets[random_below(rng, 5)];
}

TEST(random_names) {
    attempt_many(&(struct plan){run_names, RANDOM_ALL, 65, 0, NULL, vary_names}, 100);
}
LONG_TEST(random_names_many) {
    attempt_many(&(struct plan){run_names, RANDOM_ALL, 300, 0, NULL, vary_names}, 3000);
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

TEST(random_cuda) {
    need_nvrtc();
    attempt_many(&(struct plan){run_compiler, RANDOM_ALL, 4, 12, NULL, vary_cuda}, 3);
}
LONG_TEST(random_cuda_many) {
    need_nvrtc();
    attempt_many(&(struct plan){run_compiler, RANDOM_ALL, 300, 0, NULL, vary_cuda}, 600);
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
    attempt_many(&(struct plan){run_compiler, RANDOM_EXACT, 300, 0, NULL, vary_large}, 36);
}
LONG_DEVICE_TEST(random_large) {
    attempt_many(&(struct plan){run_compiler, RANDOM_EXACT, 300, 0, device, vary_large}, 18);
}

// ---- What was found -----------------------------------------------------------------------------

// NaN has bits that no two machines need to agree on: nothing may depend on them, not even the
// number of steps of a trajectory that fails at its start.
TEST(random_bits_of_nan_do_not_matter) {
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
