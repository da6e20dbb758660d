// SPDX-License-Identifier: MIT
// What a random model means: values and derivatives of its trees, in long double, by the rules of
// the language and libm.
//
// With noise, the result of an operation is wrong by a random part of it. What several such
// evaluations differ by says how much the arithmetic of a kernel may make of rounding, and where a
// decision (a comparison, a floor) is not certain. Small binary fractions stay as they are, so that
// decisions among those are.
#include "check.h"
#include "random_tree.h"

struct reader {
    const struct random_model *m;
    const struct random_point *at;
    struct random_values *out;
    struct random_dual *temporary, *derived;
    bool *known;                   // [temporaries]
    const struct random_dual *arg; // of the function that is evaluated
    uint32_t position, counter;    // in the array, in a sum
    uint64_t rng;
};

static struct random_dual value_of(struct reader *r, uint32_t tree);

static struct random_dual dual(long double v, long double d) {
    return (struct random_dual){.v = v, .d = d, .least = INFINITY};
}

static bool is_short(long double v) {
    int exponent;
    long double part = ldexpl(frexpl(v, &exponent), 20);
    return part == floorl(part);
}

static long double blur(struct reader *r, long double v) {
    return v * (1 + (long double)r->at->noise * (long double)random_real(&r->rng, -1, 1));
}

// The nearest number of the precision with that noise.
static long double narrow(const struct reader *r, long double v) {
    return r->at->noise > 1e-10 ? (long double)(float)v : (long double)(double)v;
}

// What x is made of becomes what y is made of.
static void trace(struct random_dual *y, const struct random_dual *x) {
    y->least = fmin(y->least, x->least);
    y->most = fmax(y->most, x->most);
    y->nan |= x->nan;
}

// A result as a kernel would have it.
static struct random_dual rounded(struct reader *r, struct random_dual x, bool exact) {
    double size = (double)fabsl(x.v);
    struct random_dual own = {
        .least = x.v != 0 ? fmax(size, 0x1p-1070) : INFINITY, .most = size, .nan = isnan(x.v)};
    trace(&x, &own);
    if (r->at->noise > 0 && !(exact && is_short(x.v)))
        x.v = r->at->seed ? blur(r, x.v) : narrow(r, x.v);
    if (r->at->noise > 0 && !is_short(x.d))
        x.d = blur(r, x.d);
    return x;
}

// ---- Operators ----------------------------------------------------------------------------------

static struct random_dual power(struct random_dual a, struct random_dual b) {
    long double v = powl(a.v, b.v), d = 0;
    if (a.d != 0)
        d = b.v == 0 ? 0 : b.v * powl(a.v, b.v - 1) * a.d;
    if (b.d != 0 && a.v != 0)
        d += v * logl(a.v) * b.d;
    return dual(v, d);
}

// What rounds up to b is 0 for a kernel. Of many times b nothing is left but noise.
static struct random_dual modulo(struct reader *r, struct random_dual a, struct random_dual b) {
    long double n = floorl(a.v / b.v), v = a.v - n * b.v;
    bool full = fabsl(v) >= fabsl(blur(r, b.v));
    struct random_dual y = dual(full ? 0 : v, a.d - n * b.d);
    y.nan = fabsl(n) * (long double)r->at->noise > 1e-4L;
    return y;
}

// NaN is handed on by both.
static struct random_dual smaller(struct random_dual a, struct random_dual b) {
    return isnan(a.v) || a.v < b.v ? a : b;
}
static struct random_dual larger(struct random_dual a, struct random_dual b) {
    return isnan(a.v) || a.v > b.v ? a : b;
}

// Value, and derivative by the operand, of functions of one: by formulas that lose digits where
// those of a kernel do, as 1 - x^2 does beside 1. The value is w there, and x^2 is `square`.
#define TWO_PI_ROOT 1.128379167095512573896158903121545172L // 2 / sqrt(pi)
#define FUNCTIONS(X)                                                                               \
    X(SIN, sinl(x), cosl(x))                                                                       \
    X(COS, cosl(x), -sinl(x))                                                                      \
    X(TAN, tanl(x), 1 / (cosl(x) * cosl(x)))                                                       \
    X(ASIN, asinl(x), 1 / sqrtl(1 - square))                                                       \
    X(ACOS, acosl(x), -1 / sqrtl(1 - square))                                                      \
    X(ATAN, atanl(x), 1 / (1 + x * x))                                                             \
    X(SINH, sinhl(x), coshl(x))                                                                    \
    X(COSH, coshl(x), sinhl(x))                                                                    \
    X(TANH, tanhl(x), 1 - w * w)                                                                   \
    X(ASINH, asinhl(x), 1 / sqrtl(x * x + 1))                                                      \
    X(ACOSH, acoshl(x), 1 / sqrtl(square - 1))                                                     \
    X(ATANH, atanhl(x), 1 / (1 - square))                                                          \
    X(EXP, expl(x), expl(x))                                                                       \
    X(EXPM1, expm1l(x), w + 1)                                                                     \
    X(LN, logl(x), 1 / x)                                                                          \
    X(LOG10, log10l(x), 1 / (x * logl(10)))                                                        \
    X(LOG2, log2l(x), 1 / (x * logl(2)))                                                           \
    X(LOG1P, log1pl(x), 1 / (1 + x))                                                               \
    X(SQRT, sqrtl(x), 0.5L / sqrtl(x))                                                             \
    X(CBRT, cbrtl(x), 1 / (3 * cbrtl(x) * cbrtl(x)))                                               \
    X(ERF, erfl(x), TWO_PI_ROOT *expl(-x *x))                                                      \
    X(ERFC, erfcl(x), -TWO_PI_ROOT *expl(-x *x))                                                   \
    X(ABS, fabsl(x), x > 0 ? 1 : x < 0 ? -1 : 0)                                                   \
    X(SIGN, x > 0 ? 1 : x < 0 ? -1 : x, 0)                                                         \
    X(HEAV, x >= 0 ? 1 : x < 0 ? 0 : x, 0)                                                         \
    X(FLOOR, floorl(x), 0)                                                                         \
    X(CEIL, ceill(x), 0)

static struct random_dual function(struct reader *r, uint8_t op, struct random_dual a) {
    long double x = a.v, v = NAN, slope = NAN, w, square = blur(r, x * x);
    switch (op) {
#define X(name, value, derivative)                                                                 \
    case OP_##name:                                                                                \
        v = (value);                                                                               \
        w = blur(r, v);                                                                            \
        (void)w;                                                                                   \
        slope = (derivative);                                                                      \
        break;
        FUNCTIONS(X)
#undef X
    default:
        check_fail(__FILE__, __LINE__, "no value for %s", op_names[op]);
    }
    struct random_dual y = dual(v, a.d == 0 ? 0 : slope * a.d);
    bool angle = op == OP_SIN || op == OP_COS || op == OP_TAN; // of many turns noise is left
    y.nan = angle && fabsl(x) * (long double)r->at->noise > 1e-4L;
    return y;
}

static struct random_dual truth(bool t) { return dual(t, 0); }

// Numbers that are the same but for noise are the same in every second evaluation.
static bool equal(const struct reader *r, long double a, long double b) {
    long double room = 4 * (long double)r->at->noise * fmaxl(fabsl(a), fabsl(b));
    bool certain = a == b && is_short(a);
    return !certain && fabsl(a - b) <= room ? r->at->seed % 2 : a == b;
}

static struct random_dual apply(struct reader *r, uint8_t op, const struct random_dual *x) {
    struct random_dual a = x[0], b = x[1];
    switch (op) {
    case OP_NEG:
        return dual(-a.v, -a.d);
    case OP_ADD:
        return dual(a.v + b.v, a.d + b.d);
    case OP_SUB:
        return dual(a.v - b.v, a.d - b.d);
    case OP_MUL:
        return dual(a.v * b.v, a.d * b.v + a.v * b.d);
    case OP_DIV:
        return dual(a.v / b.v, (a.d - a.v / b.v * b.d) / b.v);
    case OP_POW:
        return power(a, b);
    case OP_LT:
        return truth(a.v < b.v);
    case OP_LE:
        return truth(a.v <= b.v);
    case OP_GT:
        return truth(a.v > b.v);
    case OP_GE:
        return truth(a.v >= b.v);
    case OP_EQ:
        return truth(equal(r, a.v, b.v));
    case OP_NE:
        return truth(!equal(r, a.v, b.v));
    case OP_AND:
        return truth(a.v != 0 && b.v != 0);
    case OP_OR:
        return truth(a.v != 0 || b.v != 0);
    case OP_NOT:
        return truth(a.v == 0);
    case OP_IF:
        return a.v != 0 ? b : x[2];
    case OP_ATAN2:
        return dual(atan2l(a.v, b.v), (a.d * b.v - a.v * b.d) / (a.v * a.v + b.v * b.v));
    case OP_MOD:
        return modulo(r, a, b);
    case OP_MIN:
        return smaller(a, b);
    case OP_MAX:
        return larger(a, b);
    default:
        return function(r, op, a);
    }
}

// ---- Trees --------------------------------------------------------------------------------------

static struct random_dual state_of(const struct reader *r, uint32_t i) {
    const struct random_point *at = r->at;
    return dual((long double)at->state[i], at->state_slope ? (long double)at->state_slope[i] : 0);
}

static struct random_dual temporary_of(struct reader *r, uint32_t i) {
    if (!r->known[i]) {
        r->temporary[i] = value_of(r, r->m->list[LIST_TEMPORARY].items[i].tree);
        r->known[i] = true;
    }
    return r->temporary[i];
}

static struct random_dual symbol_of(struct reader *r, const struct tree *t) {
    switch (t->leaf) {
    case TREE_STATE:
        return state_of(r, t->index);
    case TREE_PARAMETER:
        return dual((long double)r->at->parameter[t->index], 0);
    case TREE_CONSTANT:
        return rounded(r, dual((long double)r->m->list[LIST_CONSTANT].items[t->index].value, 0),
                       true);
    case TREE_DERIVED:
        return r->derived[t->index];
    case TREE_TEMPORARY:
        return temporary_of(r, t->index);
    case TREE_ELEMENT:
        return state_of(r, r->m->array_first + r->position + t->index - 1);
    case TREE_POSITION:
        return dual(r->position, 0);
    case TREE_SHIFTED:
        return state_of(r, r->m->array_first + r->counter);
    default:
        return dual(r->counter, 0);
    }
}

static struct random_dual sum_of(struct reader *r, const struct tree *t) {
    struct random_dual sum = dual(0, 0);
    uint32_t outer = r->counter; // a temporary in a sum may have its own
    for (uint32_t i = t->index; i <= t->last; i++) {
        r->counter = i;
        struct random_dual x = value_of(r, t->operand[0]);
        struct random_dual next = dual(sum.v + x.v, sum.d + x.d);
        trace(&next, &sum);
        trace(&next, &x);
        sum = rounded(r, next, true);
    }
    r->counter = outer;
    return sum;
}

// A body sees its arguments only; what it calls sees its own.
static struct random_dual call_of(struct reader *r, const struct tree *t,
                                  const struct random_dual *arg) {
    const struct random_dual *outer = r->arg;
    r->arg = arg;
    struct random_dual v = value_of(r, r->m->list[LIST_FUNCTION].items[t->index].tree);
    r->arg = outer;
    return v;
}

static struct random_dual value_of(struct reader *r, uint32_t tree) {
    const struct tree *t = &r->m->trees[tree];
    struct random_dual x[3] = {dual(0, 0), dual(0, 0), dual(0, 0)}, y;
    switch (t->op) {
    case OP_NUMBER:
        return rounded(r, dual((long double)t->value, 0), true);
    case OP_TIME:
        return dual((long double)r->at->t, (long double)r->at->t_slope);
    case OP_SYMBOL:
        return symbol_of(r, t);
    case OP_ARG:
        return r->arg[t->index];
    case TREE_SUM:
        return sum_of(r, t);
    default:
        break;
    }
    for (uint32_t i = 0; i < tree_operands(r->m, t); i++)
        x[i] = value_of(r, t->operand[i]);
    if (t->op == OP_CALL)
        return call_of(r, t, x);
    bool exact = (t->op <= OP_IF && t->op != OP_DIV && t->op != OP_POW) || t->op >= OP_ABS;
    y = apply(r, t->op, x);
    for (uint32_t i = 0; i < tree_operands(r->m, t); i++)
        if (t->op != OP_IF || i == 0) // of the others one does not matter
            trace(&y, &x[i]);
    return rounded(r, y, exact && t->op != OP_MOD);
}

static void evaluate_states(struct reader *r) {
    const struct tree_list *l = &r->m->list[LIST_STATE];
    for (uint32_t i = 0; i < l->count; i++) {
        r->position = i - r->m->array_first;
        if (r->out->slope)
            r->out->slope[i] = value_of(r, l->items[i].tree);
        if (r->out->start && l->items[i].start != NO_TREE)
            r->out->start[i] = value_of(r, l->items[i].start);
    }
}

void random_model_evaluate(const struct random_model *m, const struct random_point *at,
                           struct random_values *out) {
    const struct tree_list *derived = &m->list[LIST_DERIVED], *o = &m->list[LIST_OBSERVABLE];
    struct reader r = {.m = m, .at = at, .out = out, .rng = at->seed};
    r.temporary = calloc(m->list[LIST_TEMPORARY].count + 1, sizeof *r.temporary);
    r.known = calloc(m->list[LIST_TEMPORARY].count + 1, sizeof *r.known);
    r.derived = calloc(derived->count + 1, sizeof *r.derived);
    REQUIRE(r.temporary && r.known && r.derived);
    for (uint32_t i = 0; i < derived->count; i++)
        r.derived[i] = value_of(&r, derived->items[i].tree);
    evaluate_states(&r);
    for (uint32_t i = 0; out->observable && i < o->count; i++)
        out->observable[i] = value_of(&r, o->items[i].tree);
    free(r.temporary);
    free(r.known);
    free(r.derived);
}
