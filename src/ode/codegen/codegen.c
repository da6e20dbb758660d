// SPDX-License-Identifier: MIT
// Assembles a kernel from its components, in the order the compiler reads them.
#include "ode/codegen/codegen.h"

#include "kernel/files.h"
#include "log/log.h"

#include <math.h>
#include <string.h>

LOG_LABEL(jacobian, CODEGEN, 30, "derivatives and their sparsity");
LOG_LABEL(emit_dxdt, CODEGEN, 40, "text of the right-hand side");
LOG_LABEL(emit_jacobian, CODEGEN, 50, "text of the Jacobian");
LOG_LABEL(emit_linear_solve, CODEGEN, 60, "text of the factorisation");
LOG_LABEL(emit_derived, CODEGEN, 70, "text of the derived parameters");
LOG_LABEL(emit_initial_values, CODEGEN, 80, "text of the initial values");
LOG_LABEL(emit_observables, CODEGEN, 90, "text of the outputs");

enum {
    WAYS_STATES = 24,    // up to this size two groups are in flight,
    WAYS_EXPLICIT = 7,   // but eight states fill the multipliers where no matrix is factored;
    WAYS3_STATES = 6,    // up to this size three are, where steps are fixed;
    WAYS_MOST = 64,      // up to this size it is worth a try
    UNROLL_LEAST = 4,    // and from this size on it is whether state loops are written out,
    UNROLL_MOST = 64,    // up to this one
    QUICK_DIVISIONS = 5, // from this many on a right-hand side exists twice
    EVEN_LENGTH = 2500,  // up to this many statements a fixed step of a thread does
};

// What differs between a CPU's worker and a device's thread, which has many registers and needs
// all its arrays in them: sizes, and the files of kernels/ in the order of their components.
struct shape {
    uint32_t unroll_states; // up to this size the state loops are unrolled
    uint32_t unroll_length; // up to this many statements in a step its stage loop is unrolled
    uint32_t registers;     // for states and stages of an explicit method, as f32
    uint32_t held_length;   // unroll_length where those are enough
    uint32_t inline_length; // a function with more statements is not inlined
    uint32_t stiff_length;  // the same in implicit methods: there are more of them in a stage
    uint32_t stiff_unroll;  // unroll_length of implicit methods and few states
    uint32_t stack_states;  // larger systems keep their arrays in the workspace
    uint32_t factor_length; // up to this many statements a factorisation is written out
    const char *adaptive, *fixed, *entry;
};

static const struct shape worker_shape = {
    .unroll_states = 12,
    .unroll_length = UINT32_MAX,
    .inline_length = 150,
    .stiff_length = 80,
    .stiff_unroll = UINT32_MAX,
    .stack_states = 64,
    .factor_length = 3000,
    .adaptive = "adaptive.h",
    .fixed = "fixed.h",
    .entry = "entry.h",
};
static const struct shape thread_shape = {
    .unroll_states = 40,
    .unroll_length = 2000,
    .registers = 232,
    .held_length = 6000,
    .inline_length = 600,
    .stiff_length = 600,
    .stiff_unroll = 9000,
    .stack_states = 128,
    .factor_length = 1500,
    .adaptive = "thread_adaptive.h",
    .fixed = "thread_fixed.h",
    .entry = "thread_entry.h",
};

struct assembly {
    const struct kernel_plan *plan;
    struct system *system;
    const struct component_swap *swap;
    shoal_log *log;
    struct kernel_source *out;
    struct arena arena;
    bool used[OP_COUNT];
    bool adaptive;
    bool dense;      // somebody asks for the interpolant
    uint32_t shared; // values that parts of a long function hand to each other
    struct followers followers;
    struct linear linear;          // of an implicit method
    const struct watcher *watcher; // those who watch; NULL: nobody does
    struct summary_code *summary;  // NULL: there are none
    const struct shape *shape;
    struct kernel_variant variant; // of the plan, without what the default is anyway; and
    struct kernel_variant made;    // what each axis comes to
};

// Which components the text of a component speaks of; they stand before it. A component that a
// kernel does not have is passed over.
static const struct {
    const char *name, *children;
} built_on[] = {
    {"variant", ""},
    {"sizes", "variant"},
    {"prelude", "sizes"},
    {"bounds", "prelude"},
    {"abi", "sizes"},
    {"dialect", "sizes prelude"},
    {"math", "sizes prelude"},
    {"tableau", "sizes prelude"},
    {"gains", "sizes prelude"},
    {"lookup", "sizes dialect"},
    {"dxdt", "sizes dialect math lookup"},
    {"start", "sizes abi dialect math lookup"},
    {"observables", "sizes dialect math lookup"},
    {"jacobian", "sizes dialect math lookup"},
    {"linear_solve", "sizes dialect"},
    {"group", "sizes abi dialect tableau gains"},
    {"step", "group dxdt tableau jacobian linear_solve"},
    {"controller", "dialect gains"},
    {"signals", "abi group step lookup"},
    {"summaries", "group step observables signals"},
    {"save_summaries", "summaries"},
    {"take_summaries", "summaries save_summaries"},
    {"watchers", "group step observables signals take_summaries"},
    {"save_state", "group step observables watchers"},
    {"begin", "group step start gains save_state watchers signals"},
    {"stiffness", "group step tableau"},
    {"judge", "group step controller gains save_state stiffness watchers"},
    {"refill", "begin group save_state watchers"},
    {"loop", "begin judge refill step save_state"},
    {"batch_kernel", "loop bounds"},
};

const char *codegen_children(const char *component) {
    for (size_t i = 0; i < sizeof built_on / sizeof *built_on; i++)
        if (!strcmp(built_on[i].name, component))
            return built_on[i].children;
    return NULL;
}

static void begin(struct assembly *a, const char *name) {
    kernel_component_begin(a->out, name, codegen_children(name));
}

// A component whose numbers are the model's.
static void begin_model(struct assembly *a, const char *name) {
    kernel_component_begin(a->out, name, codegen_children(name))->numbers = true;
}

static void end(struct assembly *a) {
    struct kernel_source *s = a->out;
    const struct kernel_component *c = &s->component[s->components];
    for (const struct component_swap *w = a->swap; w && w->name; w++)
        if (!strcmp(w->name, c->name)) {
            s->text.length = c->offset;
            buf_puts(&s->text, w->text);
        }
    kernel_component_end(s);
}

static void put_file(struct assembly *a, const char *file) {
    kernel_source_file(a->out, "ode", file);
}

// A file of kernels/ as a component.
static void include(struct assembly *a, const char *name, const char *file) {
    begin(a, name);
    put_file(a, file);
    end(a);
}

static void define(struct assembly *a, const char *name, uint32_t value) {
    buf_printf(&a->out->text, "#define %s %u\n", name, value);
}

static void define_real(struct assembly *a, const char *name, double value) {
    buf_printf(&a->out->text, "#define %s ((elem)", name);
    codegen_number(&a->out->text, value);
    buf_puts(&a->out->text, ")\n");
}

// As the kernel's numbers have it.
static double kernel_real(const struct assembly *a, double x) {
    return a->plan->f32 ? (double)(float)x : x;
}

static uint32_t lanes(const struct kernel_plan *p) {
    return p->target->device || p->target->lanes64 == 1 ? 1 : p->target->lanes64 * (p->f32 ? 2 : 1);
}

uint32_t codegen_inline_length(const struct kernel_plan *p) {
    const struct shape *shape = p->target->device ? &thread_shape : &worker_shape;
    return p->method->scheme != EXPLICIT ? shape->stiff_length : shape->inline_length;
}

static struct emit emit_of(const struct assembly *a, const node_id *roots, uint32_t count) {
    return (struct emit){.dag = &a->system->dag,
                         .roots = roots,
                         .count = count,
                         .pars = a->system->pars,
                         .derived = a->system->derived,
                         .plan = a->plan,
                         .signals_at = codegen_signals_at(a->plan, a->system),
                         .inline_length = codegen_inline_length(a->plan)};
}

// Vectors that a step needs now and then; complex numbers take two.
static uint32_t spares(const struct method *m) { return m->scheme == COLLOCATION ? 4 : 3; }

static bool is_implicit(const struct assembly *a) { return a->plan->method->scheme != EXPLICIT; }

static struct emit emit_linear(const struct assembly *a) {
    struct emit e = emit_of(a, a->linear.roots, a->linear.count);
    e.slots = a->linear.slots;
    e.name = "model_linear";
    e.within = a->system->switches != 0;
    e.parameters = "real t, const SPACE real *y, const SPACE real *p, SPACE real *m";
    e.arguments = "t, y, p, m";
    e.result = "m";
    return e;
}

// What the linear equations add to it: loops count as nothing.
static uint64_t linear_length(struct assembly *a) {
    struct emit e = emit_linear(a);
    const struct linear *l = &a->linear;
    const struct method *m = a->plan->method;
    uint64_t solve = l->loops ? 0 : codegen_solve_length(&l->lu);
    uint64_t factor = l->loops ? 0 : codegen_factor_length(&l->lu);
    if (m->scheme == COLLOCATION) // a complex one is four times as long
        return codegen_length(&e, &a->arena) + (4 * l->pairs + 1) * (factor + solve);
    return codegen_length(&e, &a->arena) + factor + m->stages * solve;
}

// Statements of a step whose stages and states are all written out.
static uint64_t step_length(struct assembly *a) {
    const struct method *m = a->plan->method;
    const struct system *s = a->system;
    struct emit e = emit_of(a, s->rhs, s->states);
    uint32_t sums = 0;
    for (uint32_t i = 1; i < m->stages; i++)
        for (uint32_t k = 0; k < i; k++)
            sums += (m->a[i][k] != 0 ? 1u : 0) + (m->coupling[i][k] != 0 ? 1u : 0);
    uint64_t linear = is_implicit(a) ? linear_length(a) : 0;
    return linear + m->stages * codegen_length(&e, &a->arena) + (uint64_t)sums * s->states;
}

// Whether steps that are as long as all others have a text of their own, in which that length is an
// argument of the launch: an operand that needs no register and no port to one.
static bool has_even_steps(struct assembly *a) {
    return a->plan->target->device && !a->adaptive && !is_implicit(a) && !a->watcher &&
           a->system->states <= a->shape->unroll_states && step_length(a) <= EVEN_LENGTH;
}

// Whether a stage is needed when the one at `now` begins: by that or a later one, or the error.
static bool is_alive(const struct method *m, uint32_t stage, uint32_t now) {
    bool alive = m->e[stage] != 0 || m->e2[stage] != 0;
    for (uint32_t i = now; i < m->stages && !alive; i++)
        alive = m->a[i][stage] != 0;
    return alive;
}

// Numbers for each state that an explicit step has at a time, at most: the state, stages, and their
// sum or the argument of the next one.
static uint32_t numbers_at_a_time(const struct method *m) {
    uint32_t most = 0;
    for (uint32_t now = 1; now < m->stages; now++) {
        uint32_t count = m->fsal ? 1 : 2;
        for (uint32_t i = 0; i < now; i++)
            count += is_alive(m, i, now);
        most = count > most ? count : most;
    }
    return most;
}

static bool is_held(const struct assembly *a) {
    const struct method *m = a->plan->method;
    uint32_t size = a->plan->f32 ? 1 : 2;
    return m->scheme == EXPLICIT && a->system->states <= a->shape->unroll_states &&
           size * a->system->states * numbers_at_a_time(m) <= a->shape->registers;
}

// The stages of a system in registers are worth more statements.
static bool is_unrolled(struct assembly *a) {
    bool far = is_implicit(a) && a->system->states <= a->shape->unroll_states;
    return step_length(a) <= (far          ? a->shape->stiff_unroll
                              : is_held(a) ? a->shape->held_length
                                           : a->shape->unroll_length);
}

static bool has_second_error(const struct method *m) {
    for (uint32_t i = 0; i < m->stages; i++)
        if (m->e2[i] != 0)
            return true;
    return false;
}

static bool any_init(const struct system *s) {
    for (uint32_t i = 0; i < s->states; i++)
        if (s->init[i] != NODE_NONE)
            return true;
    return false;
}

// A matrix is large before a system is.
static bool is_large(const struct assembly *a) {
    return a->system->states > a->shape->stack_states ||
           a->linear.size > 16 * a->shape->stack_states;
}

static void define_newton(struct assembly *a) {
    const struct method *m = a->plan->method;
    const struct linear *l = &a->linear;
    define(a, "FIRST_IMPLICIT", m->c[0] == 0);
    define(a, "FILTERED", m->filtered);
    define(a, "ITERATION_EVALUATIONS", l->pairs ? m->stages : 1);
    define_real(a, "NEWTON_ENOUGH", a->adaptive ? 0.03 : 1e-3);
    if (l->pairs) {
        define(a, "LU_PAIRS", l->complex_factors);
        define(a, "LU_KEPT", l->lu.kept);
        define_real(a, "ERROR_START", kernel_real(a, m->e0));
    }
}

// Where the compiler of a thread must move nothing, by measurement: kernels/dialect/dialect.h. What
// has its numbers in registers needs no fence.
static const char *fences(struct assembly *a) {
    const struct method *m = a->plan->method;
    uint32_t numbers = a->linear.size + a->system->states * (m->stages + 2);
    bool held = (a->plan->f32 ? 1 : 2) * numbers <= a->shape->registers;
    if (!a->plan->target->device || held || is_large(a) || !is_unrolled(a))
        return NULL;
    if (m->scheme == ROSENBROCK)
        return method_evaluations(m) > 2 ? "FENCE_FACTORED | FENCE_SOLVED"
                                         : "FENCE_PIVOTS | FENCE_ARGUMENT";
    if (m->scheme == COLLOCATION)
        return "FENCE_FACTORED";
    return "FENCE_FACTORED | FENCE_GUESS";
}

static void define_fences(struct assembly *a) {
    const char *where = fences(a);
    if (where)
        buf_printf(&a->out->text, "#define FENCES (%s)\n", where);
    a->linear.fenced = where && strstr(where, "PIVOTS");
}

static void define_linear(struct assembly *a) {
    const struct method *m = a->plan->method;
    define(a, "IMPLICIT", 1);
    define(a, "NEWTON", method_iterates(m));
    define(a, "COLLOCATION", m->scheme == COLLOCATION);
    define_real(a, "GAMMA", kernel_real(a, m->gamma));
    define(a, "TIMED", a->linear.timed);
    define(a, "LINEAR", a->linear.size);
    define(a, "LU_ENTRIES", a->linear.lu.entries);
    define(a, "LU_LOOPS", a->linear.loops);
    define(a, "DOUBTS", a->linear.doubts);
    define(a, "DAMPING", a->linear.damping);
    if (a->system->algebraic)
        define(a, "ALGEBRAIC", a->system->algebraic);
    define(a, "STIFFLY_ACCURATE", method_stiffly_accurate(m));
    define(a, "RESIDUE", m->residue[0] != 0);
    if (method_iterates(m))
        define_newton(a);
    define_fences(a);
}

// Numbers of a lane that the model's functions find in p.
static uint32_t lane_numbers(const struct assembly *a) {
    uint32_t count =
        codegen_signals_at(a->plan, a->system) + codegen_signal_numbers(a->plan, a->plan->signals);
    count += a->system->switches ? 2 : 0; // between which times the right-hand side stays
    return count ? count : 1;
}

// ---- Variants -----------------------------------------------------------------------------------

static uint8_t default_ways(const struct assembly *a) {
    uint32_t states = a->system->states;
    if (a->plan->target->device || states > WAYS_STATES || method_iterates(a->plan->method))
        return 1;
    if (a->adaptive)
        return is_implicit(a) || states <= WAYS_EXPLICIT ? 2 : 1;
    return states > WAYS3_STATES ? 2 : 3;
}

static uint8_t loop_of(bool unrolled) { return unrolled ? VARIANT_WRITTEN_OUT : VARIANT_LOOPS; }

// What each axis is by default.
static struct kernel_variant default_variant(struct assembly *a) {
    uint32_t states = a->system->states;
    return (struct kernel_variant){{[VARIANT_WAYS] = default_ways(a),
                                    [VARIANT_STATES] = loop_of(states <= a->shape->unroll_states),
                                    [VARIANT_STAGES] = loop_of(is_unrolled(a))}};
}

// What is not the default's is a component of its own, which says so.
static void put_variant(struct assembly *a) {
    char text[VARIANT_TEXT];
    a->made = default_variant(a);
    for (int i = 0; i < VARIANT_AXES; i++) {
        uint8_t asked = a->plan->variant.value[i];
        if (asked && asked != a->made.value[i])
            a->made.value[i] = a->variant.value[i] = asked;
    }
    if (variant_is_default(&a->variant))
        return;
    variant_text(&a->variant, text);
    begin(a, "variant");
    buf_printf(&a->out->text, "// ---- variant: %s\n", text);
    end(a);
}

static bool is_cuda(const struct kernel_plan *p) {
    return !strcmp(p->target->prelude, "prelude_cuda.h");
}

// How many registers a thread may have, behind the prelude, which names what a kernel is.
static void put_bounds(struct assembly *a) {
    uint8_t value = a->variant.value[VARIANT_REGISTERS];
    if (!value || !is_cuda(a->plan))
        return;
    begin(a, "bounds");
    buf_printf(&a->out->text,
               "#undef KERNEL\n#define KERNEL extern \"C\" __global__ __launch_bounds__(128, %u)\n",
               variant_blocks[value]);
    end(a);
}

// How many values of an axis are worth a try.
static uint8_t values_of(const struct kernel_plan *p, uint32_t states, enum variant_axis axis) {
    bool device = p->target->device;
    switch (axis) {
    case VARIANT_WAYS:
        return device || states > WAYS_MOST ? 0 : VARIANT_VALUES;
    case VARIANT_STATES: // registers of a few are never short, and a page of statements compiles
                         // long
        return states < UNROLL_LEAST || states > UNROLL_MOST ? 0 : VARIANT_LOOPS;
    case VARIANT_STAGES: // a CPU was always slower with loops
        return device && states >= UNROLL_LEAST && states <= UNROLL_MOST ? VARIANT_LOOPS : 0;
    case VARIANT_REGISTERS:
        return is_cuda(p) ? VARIANT_VALUES : 0;
    case VARIANT_AXES:
        break;
    }
    return 0;
}

uint32_t codegen_variants(const struct kernel_plan *p, uint32_t states, enum variant_axis axis,
                          struct kernel_variant out[VARIANT_VALUES]) {
    uint8_t count = values_of(p, states, axis);
    for (uint8_t i = 0; i < count; i++) {
        out[i] = p->variant;
        out[i].value[axis] = (uint8_t)(i + 1);
    }
    return count;
}

bool codegen_is_lone(const struct kernel_plan *p) {
    return p->target->device && p->controller != CONTROLLER_FIXED && p->method->scheme == EXPLICIT;
}

// Whether the interpolant counts in the error of a step: somebody looks at it, or at its end.
static bool looks_inside(const struct assembly *a) {
    double inside = a->plan->method->inside;
    return a->adaptive && inside > 0 && (a->dense || inside == 1);
}

static void put_sizes(struct assembly *a) {
    const struct kernel_plan *p = a->plan;
    const struct system *s = a->system;
    const struct method *m = p->method;
    begin(a, "sizes");
    buf_puts(&a->out->text, "#define SHOAL_ELEM elem\n");
    define(a, "W", lanes(p));
    define(a, "F32", p->f32);
    define(a, "WAYS", a->made.value[VARIANT_WAYS]);
    define(a, "N", s->states);
    define(a, "NPAR", s->pars);
    define(a, "NP", lane_numbers(a));
    if (s->switches)
        buf_puts(&a->out->text, "enum { WITHIN_FROM = NP - 2, WITHIN_TO };\n"
                                "#define TIME_WITHIN(t, p) "
                                "r_min(r_max(t, (p)[WITHIN_FROM]), (p)[WITHIN_TO])\n");
    define(a, "NOUT", p->outputs);
    define(a, "HAS_INIT", any_init(s));
    if (s->starts)
        define(a, "START_IN_ORDER", 1);
    define(a, "USES_TIME", a->used[OP_TIME]);
    define(a, "UNROLL_STATES",
           !a->variant.value[VARIANT_STATES]                         ? a->shape->unroll_states
           : a->variant.value[VARIANT_STATES] == VARIANT_WRITTEN_OUT ? s->states
                                                                     : 0);
    define(a, "UNROLL_STAGES", a->made.value[VARIANT_STAGES] == VARIANT_WRITTEN_OUT);
    define(a, "LARGE", is_large(a));
    define(a, "SPARES", spares(m));
    define(a, "ADAPTIVE", a->adaptive);
    define(a, "DENSE", a->dense);
    define(a, "ORDER", m->order);
    define(a, "STAGES", m->stages);
    define(a, "FSAL", m->fsal);
    define(a, "EVALUATIONS", method_evaluations(m) + looks_inside(a));
    define(a, "SECOND_ERROR", has_second_error(m));
    if (a->adaptive && !is_implicit(a)) {
        double unit = codegen_error_unit(m);
        define_real(a, "ERROR_SCALE", kernel_real(a, unit * unit / s->states));
    }
    if (has_even_steps(a))
        define(a, "EVEN_STEPS", 1);
    if (!is_implicit(a))
        define(a, "FOLLOWERS", a->followers.count);
    define(a, "EXTRA", a->dense ? m->extra : 0);
    define(a, "DEGREE", a->dense ? m->degree : 0);
    if (a->dense && m->centred)
        define(a, "CENTRED", 1);
    if (is_implicit(a))
        define_linear(a);
    if (looks_inside(a))
        define_real(a, "INSIDE", kernel_real(a, m->inside));
    if (p->stiff)
        define(a, "DETECT_STIFF", 1);
    if (p->counters)
        define(a, "COUNTERS", 1);
    if (p->compensate)
        define(a, "COMPENSATED", 1);
    if (p->steps)
        define(a, "SAVE_STEPS", 1);
    if (s->jumps)
        define(a, "JUMPS", s->jumps);
    if (p->signals)
        codegen_signal_sizes(&a->out->text, p, codegen_signals_at(p, s));
    if (a->watcher)
        codegen_watch_sizes(&a->out->text, a->watcher, p->dense);
    buf_puts(&a->out->text, "enum {");
#define X(word, meaning, hint) buf_puts(&a->out->text, " STATUS_" #word ",");
    SHOAL_STATUSES(X)
#undef X
    buf_puts(&a->out->text, " };\n");
    end(a);
}

static void put_gains(struct assembly *a) {
    begin(a, "gains");
    struct control c = method_control(a->plan->method, a->plan->controller);
    define(a, "CONTROL_GUSTAFSSON", c.gustafsson);
    define(a, "CONTROL_COARSE", c.b != 0 || c.c != 0);
    define_real(a, "CONTROL_GROW", c.grow);
    define_real(a, "CONTROL_SHRINK", c.shrink);
    if (a->adaptive) { // the kernel takes log2 of squared norms, hence the halves
        define_real(a, "CONTROL_SAFETY", log2(c.safety));
        define_real(a, "CONTROL_A", c.a / 2);
        define_real(a, "CONTROL_B", c.b / 2);
        define_real(a, "CONTROL_C", c.c / 2);
        define_real(a, "CONTROL_REJECT", c.reject / 2);
        // A step that fails to converge comes out at 0.4 of it.
        if (method_iterates(a->plan->method))
            define_real(a, "NEWTON_FAILED", pow(0.4 / c.safety, -2 / c.reject));
    }
    end(a);
}

static void put_function(struct assembly *a, const struct emit *e, const struct log_label *label) {
    size_t before = a->out->text.length;
    int32_t span = log_begin(a->log, label);
    uint32_t shared = codegen_function(&a->out->text, e, &a->arena);
    log_u64(a->log, span, "bytes", a->out->text.length - before);
    log_end(a->log, span);
    a->shared = a->shared < shared ? shared : a->shared;
}

// Where there are many divisions and roots, a right-hand side for those in range, and one for all,
// which is given copies: they have no room for what parts of it would hand to each other.
static void put_rhs_twice(struct assembly *a, struct emit *e) {
    put_file(a, "quick.h");
    e->name = "model_rhs_exact";
    e->form = EMIT_WHOLE;
    put_function(a, e, LOG_emit_dxdt);
    e->name = "model_rhs_quick";
    e->form = EMIT_QUICK;
    put_function(a, e, LOG_emit_dxdt);
    put_file(a, "rhs_quick.h");
}

static bool is_twice(struct assembly *a, const struct emit *e) {
    const struct shoal_target *t = a->plan->target;
    return t->quick_division && !t->fast_math && a->plan->f32 &&
           e->count <= a->shape->stack_states && codegen_length(e, &a->arena) <= e->inline_length &&
           codegen_divisions(e, &a->arena) >= QUICK_DIVISIONS;
}

static void put_rhs(struct assembly *a) {
    const struct system *s = a->system;
    struct emit e = emit_of(a, s->rhs, s->states);
    begin_model(a, "dxdt");
    e.within = s->switches != 0;
    e.name = "model_rhs";
    e.parameters = "real t, const SPACE real *y, const SPACE real *p, SPACE real *d";
    e.arguments = "t, y, p, d";
    e.result = "d";
    if (is_twice(a, &e))
        put_rhs_twice(a, &e);
    else
        put_function(a, &e, LOG_emit_dxdt);
    end(a);
}

static void put_jacobian(struct assembly *a) {
    struct emit e = emit_linear(a);
    begin(a, "jacobian");
    put_function(a, &e, LOG_emit_jacobian);
    end(a);
}

static void put_linear_solve(struct assembly *a) {
    int32_t span = log_begin(a->log, LOG_emit_linear_solve);
    begin(a, "linear_solve");
    codegen_factors(&a->out->text, &a->linear, codegen_inline_length(a->plan),
                    kernel_file_find("ode", "lu.h")->text,
                    kernel_file_find("ode", "lu_shifted.h")->text);
    end(a);
    log_u64(a->log, span, "entries", a->linear.lu.entries);
    log_end(a->log, span);
}

static void put_derive(struct assembly *a) {
    const struct system *s = a->system;
    struct emit e = emit_of(a, s->derive, s->derived);
    uint32_t *slots = arena_new(&a->arena, uint32_t, s->derived + 1);
    for (uint32_t i = 0; i < s->derived; i++)
        slots[i] = s->pars + i;
    e.slots = slots;
    e.name = "model_derive";
    e.parameters = "SPACE real *p";
    e.arguments = e.result = "p";
    put_function(a, &e, LOG_emit_derived);
}

// The states whose initial value is a formula, and which those are.
static struct emit init_roots(struct assembly *a) {
    const struct system *s = a->system;
    node_id *roots = arena_new(&a->arena, node_id, s->states);
    uint32_t *slots = arena_new(&a->arena, uint32_t, s->states), count = 0;
    for (uint32_t i = 0; i < s->states; i++)
        if (s->init[i] != NODE_NONE) {
            roots[count] = s->init[i];
            slots[count++] = i;
        }
    struct emit e = emit_of(a, roots, count);
    e.slots = slots;
    return e;
}

// Both in one function, where derived parameters are made of initial values.
static void put_start_in_order(struct assembly *a) {
    const struct system *s = a->system;
    node_id *roots = arena_new(&a->arena, node_id, s->starts);
    uint32_t *slots = arena_new(&a->arena, uint32_t, s->starts);
    bool *initial = arena_new(&a->arena, bool, s->starts);
    for (uint32_t k = 0; k < s->starts; k++) {
        uint32_t i = s->start[k];
        initial[k] = i >= s->derived;
        roots[k] = initial[k] ? s->init[i - s->derived] : s->derive[i];
        slots[k] = initial[k] ? i - s->derived : s->pars + i;
    }
    struct emit e = emit_of(a, roots, s->starts);
    e.slots = slots;
    e.initial = initial;
    e.name = "model_start";
    e.parameters = "const struct shoal_args *a, real t, SPACE real *y, SPACE real *p";
    e.arguments = "a, t, y, p";
    e.result = "p";
    put_function(a, &e, LOG_emit_derived);
}

static void put_derive_and_init(struct assembly *a) {
    put_derive(a);
    struct emit e = init_roots(a);
    e.name = "model_init";
    e.parameters = "real t, const SPACE real *p, SPACE real *y";
    e.arguments = "t, p, y";
    e.result = "y";
    if (e.count)
        put_function(a, &e, LOG_emit_initial_values);
}

// a and b of the lines of a level's switches.
static struct emit emit_lines(struct assembly *a, uint32_t level) {
    const struct system *s = a->system;
    node_id *roots = arena_new(&a->arena, node_id, 2 * s->switches);
    uint32_t *slots = arena_new(&a->arena, uint32_t, 2 * s->switches), count = 0;
    for (uint32_t i = 0; i < s->switches; i++)
        if (s->time_switch[i].level == level) {
            roots[count] = s->time_switch[i].a;
            slots[count++] = 2 * i;
            roots[count] = s->time_switch[i].b;
            slots[count++] = 2 * i + 1;
        }
    struct emit e = emit_of(a, roots, count);
    e.slots = slots;
    e.name = arena_printf(&a->arena, "model_lines_%u", level);
    e.parameters = "const SPACE real *p, const wide *k, wide *line";
    e.arguments = "p, k, line";
    e.result = "line";
    e.form = EMIT_WIDE;
    return e;
}

static void put_lines(struct assembly *a) {
    if (a->system->switches)
        put_file(a, "wide.h");
    for (uint32_t level = 0; level < codegen_switch_levels(a->system); level++) {
        struct emit e = emit_lines(a, level);
        put_function(a, &e, LOG_emit_derived);
    }
}

// Which side of their boundaries the jumps are on.
static struct emit emit_sides(struct assembly *a) {
    const struct system *s = a->system;
    node_id *roots = arena_new(&a->arena, node_id, s->jumps + 1);
    uint32_t *slots = arena_new(&a->arena, uint32_t, s->jumps + 1);
    for (uint32_t i = 0; i < s->jumps; i++) {
        roots[i] = s->jump[i].plain;
        slots[i] = s->pars + s->derived + s->switches + i;
    }
    struct emit e = emit_of(a, roots, s->jumps);
    e.slots = slots;
    e.name = "model_sides";
    e.parameters = "real t, const SPACE real *y, SPACE real *p";
    e.arguments = "t, y, p";
    e.result = "p";
    return e;
}

static void put_sides(struct assembly *a) {
    struct emit e = emit_sides(a);
    if (a->system->jumps)
        put_function(a, &e, LOG_emit_derived);
}

static void put_start(struct assembly *a) {
    begin_model(a, "start");
    if (a->system->starts)
        put_start_in_order(a);
    else
        put_derive_and_init(a);
    put_lines(a);
    put_sides(a);
    end(a);
}

static node_id *output_roots(struct assembly *a) {
    const struct kernel_plan *p = a->plan;
    struct system *s = a->system;
    node_id *roots = arena_new(&a->arena, node_id, p->outputs);
    for (uint32_t i = 0; i < p->outputs; i++)
        roots[i] = p->output[i] < s->states ? dag_leaf(&s->dag, LEAF_STATE, p->output[i])
                                            : s->observable[p->output[i] - s->states];
    return roots;
}

static void put_workspace(struct assembly *a) {
    const struct system *s = a->system;
    const struct method *m = a->plan->method;
    struct thread_arrays t = {.states = s->states,
                              .compensates = a->plan->compensate,
                              .stages = m->stages + (a->dense ? m->extra : 0),
                              .spares = spares(m),
                              .outputs = a->plan->outputs,
                              .parameters = lane_numbers(a) + a->shared,
                              .linear = is_implicit(a) ? a->linear.size : 0,
                              .hermite = a->dense && !m->degree,
                              .iterates = method_iterates(m),
                              .collocates = m->scheme == COLLOCATION};
    uint32_t elements = codegen_workspace(&a->out->text, &t);
    a->out->workspace = (size_t)elements * (a->plan->f32 ? sizeof(float) : sizeof(double));
}

static void put_outputs(struct assembly *a, const node_id *roots) {
    begin_model(a, "observables");
    struct emit e = emit_of(a, roots, a->plan->outputs);
    e.name = "model_outputs";
    e.parameters = "real t, const SPACE real *y, const SPACE real *p, SPACE real *out";
    e.arguments = "t, y, p, out";
    e.result = "out";
    put_function(a, &e, LOG_emit_observables);
    define(a, "SHARED", a->shared);
    if (a->plan->target->device && is_large(a))
        put_workspace(a);
    end(a);
}

static void put_group(struct assembly *a) {
    begin(a, "group");
    for (const struct watcher *w = a->watcher; w && w->name; w++)
        buf_puts(&a->out->text, w->state);
    put_file(a, "group.h");
    end(a);
}

static void put_watchers(struct assembly *a) {
    for (const struct watcher *w = a->watcher; w->name; w++)
        for (const struct component_swap *part = w->parts; part && part->name; part++) {
            begin(a, part->name);
            buf_puts(&a->out->text, part->text);
            end(a);
        }
    begin(a, "watchers");
    if (codegen_watches(a->watcher, WATCH_STOPS))
        put_file(a, "stops.h");
    for (const struct watcher *w = a->watcher; w->name; w++)
        if (!w->parts)
            buf_puts(&a->out->text, w->text);
    put_file(a, "watch.h");
    end(a);
}

static void put_step(struct assembly *a) {
    static const char *const file[] = {[EXPLICIT] = "rk.h",
                                       [ROSENBROCK] = "ros.h",
                                       [DIRK] = "dirk.h",
                                       [COLLOCATION] = "collocation.h"};
    begin(a, "step");
    if (is_implicit(a))
        put_file(a, "implicit.h");
    if (method_iterates(a->plan->method))
        put_file(a, "newton.h");
    if (!is_implicit(a))
        put_file(a, "follow.h");
    put_file(a, file[a->plan->method->scheme]);
    put_file(a, "dense.h");
    end(a);
}

static void find_used(struct assembly *a, const node_id *outputs) {
    const struct system *s = a->system;
    const struct emit all[] = {
        emit_of(a, s->rhs, s->states),
        emit_of(a, outputs, a->plan->outputs),
        emit_of(a, s->derive, s->derived),
        init_roots(a),
        emit_linear(a),
        emit_sides(a),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        codegen_used(&all[i], a->used, &a->arena);
    for (uint32_t level = 0; level < codegen_switch_levels(s); level++) {
        struct emit lines = emit_lines(a, level);
        codegen_used(&lines, a->used, &a->arena);
    }
    struct emit *events;
    uint32_t count = codegen_event_functions(a->plan, s, &events, &a->arena);
    for (uint32_t i = 0; i < count; i++)
        codegen_used(&events[i], a->used, &a->arena);
    if (a->summary) {
        struct emit like = emit_of(a, NULL, 0);
        codegen_summary_used(a->summary, &like, a->used, &a->arena);
    }
}

static void linearise(struct assembly *a) {
    int32_t span = log_begin(a->log, LOG_jacobian);
    struct linear *l = &a->linear;
    *l = codegen_linearise(a->system, a->plan->method, &a->arena);
    l->loops =
        codegen_factor_length(&l->lu) + codegen_solve_length(&l->lu) > a->shape->factor_length;
    log_u64(a->log, span, "nonzeros", l->lu.given);
    log_u64(a->log, span, "entries", l->lu.entries);
    log_end(a->log, span);
}

static bool is_special(uint8_t op) {
    return op == OP_LGAMMA || op == OP_BESSELJ || op == OP_BESSELY || op == OP_BESSELI;
}

static void put_special(struct assembly *a) {
    bool special = false;
    for (unsigned op = 0; op < OP_COUNT; op++)
        special |= a->used[op] && is_special((uint8_t)op);
    if (!special)
        return;
    put_file(a, "special.h");
    a->out->needs_libm |= !a->plan->target->device;
}

// A function of the model that the target has none for: OpenCL's library has no Bessel functions.
static enum op missing_function(const struct assembly *a) {
    bool opencl = !strcmp(a->plan->target->prelude, "prelude_opencl.h");
    return !opencl               ? OP_NUMBER
           : a->used[OP_BESSELJ] ? OP_BESSELJ
           : a->used[OP_BESSELY] ? OP_BESSELY
                                 : OP_NUMBER;
}

static void assemble(struct assembly *a) {
    const struct kernel_plan *p = a->plan;
    a->system->rhs = codegen_infused(p, a->system, &a->arena);
    if (p->dose && p->dose->infusions && a->system->events)
        a->system->event = codegen_infused_events(a->system, &a->arena);
    if (p->summary)
        a->summary = codegen_summary_nodes(p->summary, a->system, &a->arena);
    struct emit like = emit_of(a, NULL, 0);
    a->watcher = codegen_watchers(p, a->system, a->summary, &like, &a->arena);
    a->dense = p->dense || codegen_watches(a->watcher, WATCH_LIMITS | WATCH_INSIDE);
    if (is_implicit(a))
        linearise(a);
    if (!is_implicit(a) && !p->apart)
        a->followers = codegen_followers(a->system, &a->arena);
    node_id *outputs = output_roots(a);
    find_used(a, outputs);
    put_variant(a);
    put_sizes(a);
    begin(a, "prelude");
    if (codegen_is_lone(p))
        define(a, "LONE", 1);
    kernel_source_prelude(a->out, p->target);
    end(a);
    put_bounds(a);
    begin(a, "abi");
    put_file(a, "head.h");
    put_file(a, "abi.h");
    end(a);
    include(a, "dialect", "dialect.h");
    begin(a, "math");
    codegen_math(a->out, &a->out->text, p, a->used);
    put_special(a);
    end(a);
    begin(a, "tableau");
    codegen_tableau(&a->out->text, p->method, a->dense, looks_inside(a), p->f32);
    if (p->stiff)
        codegen_stiff(&a->out->text, p->method, p->f32);
    if (a->followers.count) {
        codegen_follow(&a->out->text, p->method, p->stiff, p->f32);
        codegen_leaders(&a->out->text, &a->followers, a->system, a->dense, &a->arena);
    }
    end(a);
    put_gains(a);
    if (p->signals)
        include(a, "lookup", "driver.h");
    put_rhs(a);
    put_start(a);
    if (is_implicit(a)) {
        put_jacobian(a);
        put_linear_solve(a);
    }
    put_outputs(a, outputs);
    put_group(a);
    put_step(a);
    if (p->signals)
        include(a, "signals", "driver_lanes.h");
    if (a->watcher)
        put_watchers(a);
    if (a->adaptive)
        include(a, "controller", "control.h");
    include(a, "save_state", "save.h");
    include(a, "begin", "start.h");
    if (p->stiff)
        include(a, "stiffness", "stiff.h");
    include(a, "judge", a->adaptive ? "adaptive_step.h" : "fixed_step.h");
    include(a, "refill", p->target->device ? "thread.h" : "loop.h");
    include(a, "loop", a->adaptive ? a->shape->adaptive : a->shape->fixed);
    include(a, "batch_kernel", a->shape->entry);
}

shoal_code codegen_kernel(const struct kernel_plan *p, struct system *s,
                          const struct component_swap *swap, const volatile int *stop,
                          struct kernel_source *out, shoal_log *log) {
    struct assembly a = {.plan = p,
                         .system = s,
                         .swap = swap,
                         .log = log,
                         .out = out,
                         .adaptive = p->controller != CONTROLLER_FIXED,
                         .shape = p->target->device ? &thread_shape : &worker_shape};
    struct report *r = log_report(log);
    jmp_buf oom;
    struct budget budget = system_budget(s, stop);
    *out = (struct kernel_source){0};
    if (is_implicit(&a) && s->states > LU_MOST_STATES)
        return report_error(r, SHOAL_INPUT, "method %s is for up to %d states", p->method->name,
                            LU_MOST_STATES);
    if (!is_implicit(&a) && s->algebraic)
        return report_error(r, SHOAL_INPUT,
                            "method %s cannot run a model with algebraic rows (`0=...`); take an "
                            "implicit one, as in --method rodas5p",
                            p->method->name);
    a.arena.oom = s->arena.oom = &oom;
    a.arena.budget = s->arena.budget = &budget;
    node_id *rhs = s->rhs;
    struct system_event *event = s->event;
    bool failed = setjmp(oom) != 0;
    if (!failed)
        assemble(&a);
    s->rhs = rhs;
    s->event = event;
    s->arena.oom = NULL;
    s->arena.budget = NULL;
    const char *wrong = !failed && a.summary ? a.summary->wrong : NULL;
    arena_free(&a.arena);
    enum op missing = missing_function(&a);
    if (!failed && !wrong && !out->text.failed && missing == OP_NUMBER && !out->missing)
        return SHOAL_OK;
    kernel_source_free(out);
    if (wrong)
        return report_error(r, SHOAL_INPUT, "%s", wrong);
    if (out->missing)
        return kernel_source_check(out, r);
    if (!failed && missing != OP_NUMBER)
        return report_error(r, SHOAL_INPUT,
                            "`%s` is not there on OpenCL devices; take another --device",
                            op_names[missing]);
    return system_failure(&budget, r);
}
