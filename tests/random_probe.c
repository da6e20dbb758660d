// SPDX-License-Identifier: MIT
// The functions of a kernel that are written for the model, by themselves: right-hand side,
// outputs, initial values, Jacobian, factorisation. They are compiled as they are for a kernel,
// with a function behind them that calls them all, for a register full of points at a time.
#include "check.h"
#include "random_trial.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POINTS = 16 }; // a multiple of the lanes of every target

// What is compiled behind the generated functions: it calls them all.
static const char probe_text[] =
    "\nstruct probe { const real *t, *y, *scale, *b; real *p, *d, *o, *y0, *m, *f, *w, *x; };\n"
    "KERNEL void probe(const struct probe *q) {\n"
    "    model_derive(q->p);\n"
    "#ifdef TIME_WITHIN\n"
    "    q->p[WITHIN_FROM] = R(-INFINITY_VALUE);\n"
    "    q->p[WITHIN_TO] = R(INFINITY_VALUE);\n"
    "#endif\n"
    "    model_conditions(*q->t, q->y, q->p);\n"
    "    model_rhs(*q->t, q->y, q->p, q->d);\n"
    "    model_outputs(*q->t, q->y, q->p, q->o);\n"
    "#if HAS_INIT\n"
    "    model_init(*q->t, q->p, q->y0);\n"
    "#endif\n"
    "#if IMPLICIT\n"
    "    model_linear(*q->t, q->y, q->p, q->m);\n"
    "#if COLLOCATION\n"
    "    real sigma = R(-1) / *q->scale;\n"
    "    shifted_factor(sigma, q->m, q->f, q->w);\n"
    "    for (int i = 0; i < N; i++) q->x[i] = q->b[i] * sigma;\n"
    "#if ALGEBRAIC\n"
    "    for (int i = 0; i < N; i++) if (row_algebraic[i]) q->x[i] = q->b[i];\n"
    "#endif\n"
    "    shifted_solve(q->m, q->f, q->w, q->x);\n"
    "#else\n"
    "    linear_factor(*q->scale, q->m, q->f, q->w);\n"
    "    for (int i = 0; i < N; i++) q->x[i] = q->b[i];\n"
    "    linear_solve(q->f, q->w, q->x);\n"
    "#endif\n"
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

// A kernel sets switches where a step begins; here they are what their formulas say.
static void put_conditions(struct buf *out, const struct system *s, struct arena *arena) {
    uint32_t count = s->switches + s->jumps, *slots = arena_new(arena, uint32_t, count + 1);
    node_id *roots = arena_new(arena, node_id, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        roots[i] = i < s->switches ? s->time_switch[i].plain : s->jump[i - s->switches].plain;
        slots[i] = s->pars + s->derived + i;
    }
    struct emit e = {.dag = &s->dag,
                     .roots = roots,
                     .slots = slots,
                     .count = count,
                     .name = "model_conditions",
                     .parameters = "real t, const SPACE real *y, SPACE real *p",
                     .arguments = "t, y, p",
                     .result = "p",
                     .pars = s->pars,
                     .derived = s->derived,
                     .inline_length = UINT32_MAX,
                     .form = EMIT_WHOLE};
    codegen_function(out, &e, arena);
}

static void build_functions(struct trial *t, struct kernel_functions *k) {
    struct kernel_source s;
    struct shoal_bytes bytes = {0};
    if (codegen_kernel(&k->order.kernel[PLAN_FIRST], k->order.model->found->system, NULL, NULL, &s,
                       t->log) != SHOAL_OK) {
        trial_fail_call(t, "codegen");
        return;
    }
    s.text.length = offset_of(&s, "group");
    put_conditions(&s.text, k->order.model->found->system, &k->arena);
    buf_puts(&s.text, probe_text);
    struct shoal_kernel_text text = {.text = s.text.data,
                                     .length = s.text.length,
                                     .needs_sleef = s.needs_sleef,
                                     .needs_mvec = s.needs_mvec,
                                     .needs_libm = s.needs_libm,
                                     .one_unit = true};
    if (k->order.backend->build(k->order.device, &text, NULL, &bytes, log_report(t->log)) !=
        SHOAL_OK)
        trial_fail_call(t, "compiler");
    else if (!(k->library = load_bytes(&bytes)))
        trial_fail(t, "load: %s", dlerror());
    free(bytes.data);
    kernel_source_free(&s);
}

static void find_functions(struct trial *t, struct kernel_functions *k) {
    jmp_buf oom;
    struct system *s = k->order.model->found->system;
    *(void **)&k->call = dlsym(k->library, "probe");
    k->lanes = (uint32_t) * (const int *)dlsym(k->library, "probe_lanes");
    k->np = (uint32_t) * (const int *)dlsym(k->library, "probe_np");
    k->shared = (uint32_t) * (const int *)dlsym(k->library, "probe_shared");
    k->arena.oom = s->arena.oom = &oom;
    if (setjmp(oom))
        trial_fail(t, "memory: none");
    else if (k->order.kernel[PLAN_FIRST].method->scheme != EXPLICIT) {
        node_id *entries;
        k->linear = codegen_linearise(s, k->order.kernel[PLAN_FIRST].method, &k->arena);
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
        trial_compare(t, "jacobian", random_model_state(t->model, i), (double)sum, want);
    }
}

// df/dt, where the method takes it and there is any.
static void compare_times(struct trial *t, const struct kernel_functions *k, const struct probe *q,
                          uint32_t lane, const struct point *p, const uint32_t *position) {
    uint32_t states = random_model_states(t->model);
    double *still = calloc(states, sizeof *still);
    struct point moving = *p;
    moving.state_slope = still;
    moving.t_slope = 1;
    REQUIRE(still);
    struct oracle o = oracle_new(t->model, &moving, &t->variant);
    for (uint32_t i = 0; i < states; i++) {
        size_t at = k->linear.lu.entries + states + position[i];
        trial_compare(t, "time derivative", random_model_state(t->model, i),
                      lane_get(q->m, at * k->lanes + lane, t->variant.f32),
                      oracle_at(&o, SLOPE, i, true));
    }
    oracle_free(&o);
    free(still);
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
        trial_fail(t, "solution: what is left is %g, of %g", worst, most);
}

static void compare_lane(struct trial *t, const struct kernel_functions *k, const struct probe *q,
                         uint32_t lane, const struct point *p, const uint32_t *position) {
    const struct random_model *m = t->model;
    struct oracle o = oracle_new(m, p, &t->variant);
    bool f32 = t->variant.f32;
    for (uint32_t i = 0; i < random_model_states(m); i++) {
        size_t at = position[i] * k->lanes + lane;
        trial_compare(t, "right-hand side", random_model_state(m, i), lane_get(q->d, at, f32),
                      oracle_at(&o, SLOPE, i, false));
        bool formula = k->order.model->found->system->init[position[i]] != NODE_NONE;
        if (random_model_starts_by_formula(m, i))
            trial_compare(t, "initial value", random_model_state(m, i),
                          formula ? lane_get(q->y0, at, f32)
                                  : shoal_model_value(t->parsed, SHOAL_STATE, position[i]),
                          oracle_at(&o, START, i, false));
    }
    for (uint32_t i = 0; i < random_model_observables(m); i++)
        trial_compare(t, "observable", random_model_observable(m, i),
                      lane_get(q->o, (random_model_states(m) + i) * k->lanes + lane, f32),
                      oracle_at(&o, OBSERVABLE, i, false));
    if (k->linear.count) {
        compare_jacobian(t, k, q, lane, p, &o, position);
        compare_solution(t, k, q, lane);
    }
    if (k->linear.timed)
        compare_times(t, k, q, lane, p, position);
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
        trial_compare(t, "host", random_model_state(t->model, i), d[position[i]],
                      oracle_at(&o, SLOPE, i, false));
    free(y);
    free(d);
    free(position);
    oracle_free(&o);
    point_free(&p);
}

void random_run_functions(struct trial *t) {
    struct kernel_functions k = {0};
    char *text = random_model_text(t->model), *outputs = trial_outputs(t);
    trial_open(t, text);
    trial_set(t, "vars", outputs);
    if (!t->failure)
        compare_host(t);
    if (!t->failure && order_open(t->parsed, &t->options, NULL, &k.order, t->log) != SHOAL_OK)
        trial_fail_call(t, "order");
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
    trial_close(t);
    free(text);
    free(outputs);
}
