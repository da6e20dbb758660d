// SPDX-License-Identifier: MIT
// A random model under test: points, what is right there, and what becomes of a failure.
#include "random_trial.h"

#include "check.h"

#include <stdarg.h>

void trial_fail(struct trial *t, const char *format, ...) {
    va_list args;
    if (t->failure)
        return;
    va_start(args, format);
    if (vasprintf(&t->failure, format, args) < 0)
        t->failure = NULL;
    va_end(args);
}

void trial_fail_call(struct trial *t, const char *what) {
    struct buf text = {0};
    for (size_t i = 0; i < shoal_log_message_count(t->log); i++)
        if (shoal_log_message(t->log, i).severity == SHOAL_ERROR)
            buf_printf(&text, "%s\n", shoal_log_message(t->log, i).text);
    trial_fail(t, "%s: %.3000s", what, text.data ? text.data : "");
    buf_free(&text);
}

// ---- Points -------------------------------------------------------------------------------------

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

struct point point_new(const struct random_model *m, uint64_t *rng, bool f32, bool own) {
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

void point_free(struct point *p) {
    free(p->state);
    free(p->state_slope);
    free(p->parameter);
}

// ---- What is right, and how sure that is --------------------------------------------------------

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

struct oracle oracle_new(const struct random_model *m, const struct point *p,
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

void oracle_free(struct oracle *o) {
    values_free(&o->exact);
    for (uint32_t i = 0; i < SAMPLES; i++)
        values_free(&o->noisy[i]);
}

// Sizes that a kernel's numbers keep: rewriting may move a product beyond these, but not far.
static bool is_tame(const struct oracle *o, const struct random_dual *x) {
    double most = o->f32 ? 1e15 : 1e120, least = o->f32 ? 1e-15 : 1e-120;
    return !x->nan && x->most < most && x->least > least;
}

static struct expected expected_of(const struct oracle *o, const struct random_dual *exact,
                                   const struct random_dual *noisy[SAMPLES], bool slope) {
    struct expected e = {slope ? exact->d : exact->v, 0};
    bool tame = is_tame(o, exact);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        long double away = fabsl((slope ? noisy[i]->d : noisy[i]->v) - e.v);
        e.tolerance = fmaxl(e.tolerance, away);
        tame &= !isnan(away) && !noisy[i]->nan;
    }
    e.tolerance = 64 * e.tolerance + 8 * (long double)o->unit * fabsl(e.v);
    e.tolerance += o->f32 ? 1e-30L : 1e-250L; // what underflows
    if (!tame || !isfinite(e.v) || !isfinite(e.tolerance))
        e.tolerance = INFINITY;
    return e;
}

static const struct random_dual *array_of(const struct random_values *v, enum random_array what) {
    return what == SLOPE ? v->slope : what == OBSERVABLE ? v->observable : v->start;
}

struct expected oracle_at(const struct oracle *o, enum random_array what, uint32_t i, bool slope) {
    const struct random_dual *noisy[SAMPLES];
    for (uint32_t k = 0; k < SAMPLES; k++)
        noisy[k] = &array_of(&o->noisy[k], what)[i];
    return expected_of(o, &array_of(&o->exact, what)[i], noisy, slope);
}

void trial_compare(struct trial *t, const char *what, const char *name, double got,
                   struct expected want) {
    bool vague = !isfinite(want.tolerance) || !(want.tolerance <= 1e-3L * (1 + fabsl(want.v)));
    t->vague += vague;
    t->sure += !vague;
    if (!vague && !(fabsl((long double)got - want.v) <= want.tolerance))
        trial_fail(t, "%s: of %s is %.17g, not %.17Lg within %.3Lg", what, name, got, want.v,
                   want.tolerance);
}

// ---- Model and options --------------------------------------------------------------------------

void trial_set(struct trial *t, const char *name, const char *value) {
    if (!t->failure && shoal_options_set(&t->options, name, value, t->log) != SHOAL_OK)
        trial_fail_call(t, name);
}

// Behind the states: they are there too, in their order.
char *trial_outputs(const struct trial *t) {
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

void trial_open(struct trial *t, const char *text) {
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
        trial_fail_call(t, "refused");
    t->passed_over = t->failure && strstr(t->failure, "this is not finite"); // an initial value
    trial_set(t, "method", s->method);
    trial_set(t, "t0", START_TIME_TEXT);
    trial_set(t, "t1", END_TIME_TEXT);
    trial_set(t, "max-steps", "2000");
    if (is_fixed(s->method))
        trial_set(t, "dt", "0.125");
    trial_set(t, "precision", s->f32 ? "f32" : "f64");
    t->options.fast_math = s->fast_math;
    trial_set(t, "save", s->save ? s->save : "final");
    trial_set(t, "device", s->device ? s->device : "cpu");
    t->options.cache = NULL;
}

void trial_close(struct trial *t) {
    shoal_model_free(t->parsed);
    shoal_log_free(t->log);
    t->parsed = NULL;
    t->log = NULL;
}

// ---- Trials -------------------------------------------------------------------------------------

uint64_t trial_setting(const char *name, uint64_t otherwise) {
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

void trial_attempt(struct trial *t, struct random_shape shape) {
    t->model = random_model_new(t->seed, shape);
    t->run(t);
    if (t->failure && !t->passed_over) {
        t->first = t->failure;
        t->failure = NULL;
        random_model_shrink(t->model, fails_again, t,
                            (uint32_t)trial_setting("SHOAL_RANDOM_SHRINK", 120));
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
