// SPDX-License-Identifier: MIT
// Math functions of the targets: SLEEF, libmvec, or libm lane by lane; a device's own.
//
// Only functions the model uses are declared, so that nothing is linked that is not needed. A
// device has them built in, under the names of C as its prelude's FN makes them.
#include "ode/codegen/codegen.h"

#include <stdio.h>
#include <string.h>

// op, name in C, SLEEF's accuracy suffix, and the one of --fast-math where there is a lesser one.
// What is missing here is in the dialect itself.
static const struct {
    uint8_t op;
    const char *name, *ulp, *fast;
} functions[] = {
    {OP_SIN, "sin", "u10", "u35"},     {OP_COS, "cos", "u10", "u35"},
    {OP_TAN, "tan", "u10", "u35"},     {OP_ASIN, "asin", "u10", "u35"},
    {OP_ACOS, "acos", "u10", "u35"},   {OP_ATAN, "atan", "u10", "u35"},
    {OP_ATAN2, "atan2", "u10", "u35"}, {OP_SINH, "sinh", "u10", "u35"},
    {OP_COSH, "cosh", "u10", "u35"},   {OP_TANH, "tanh", "u10", "u35"},
    {OP_ASINH, "asinh", "u10", "u10"}, {OP_ACOSH, "acosh", "u10", "u10"},
    {OP_ATANH, "atanh", "u10", "u10"}, {OP_EXP, "exp", "u10", "u10"},
    {OP_EXPM1, "expm1", "u10", "u10"}, {OP_LN, "log", "u10", "u35"},
    {OP_LOG10, "log10", "u10", "u10"}, {OP_LOG2, "log2", "u10", "u35"},
    {OP_LOG1P, "log1p", "u10", "u10"}, {OP_CBRT, "cbrt", "u10", "u35"},
    {OP_ERF, "erf", "u10", "u10"},     {OP_ERFC, "erfc", "u15", "u15"},
    {OP_POW, "pow", "u10", "u10"},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

// The name of a math function in a library; returns its number of arguments, 0 when it is no
// library function.
static uint32_t library_name(const struct shoal_target *t, bool f32, enum math_source from,
                             uint32_t op, char *name, size_t room) {
    for (int i = 0; i < FUNCTIONS; i++) {
        if (functions[i].op != op)
            continue;
        const char *base = functions[i].name, *f = f32 ? "f" : "";
        uint32_t lanes = t->lanes64 == 1 ? 1 : t->lanes64 * (f32 ? 2 : 1);
        if (from == MATH_SLEEF)
            snprintf(name, room, "Sleef_finz_%s%s%u_%s%s", base, f32 ? "f" : "d", lanes,
                     t->fast_math ? functions[i].fast : functions[i].ulp, t->sleef_suffix);
        else if (from == MATH_MVEC)
            snprintf(name, room, "_ZGV%sN%u%s_%s%s", t->mvec_letter, lanes,
                     op_operands[op] == 2 ? "vv" : "v", base, f);
        else if (from == MATH_DEVICE)
            snprintf(name, room, "FN(%s)", base);
        else
            snprintf(name, room, "%s%s", base, f);
        return op_operands[op];
    }
    return 0;
}

static enum math_source source_of(const struct shoal_target *t) {
    return t->device         ? MATH_DEVICE
           : t->sleef_suffix ? MATH_SLEEF
           : t->mvec_letter  ? MATH_MVEC
                             : MATH_LIBM;
}

static void put_body(struct buf *out, const char *name, bool lane_by_lane, uint32_t args) {
    const char *second = args == 2 ? lane_by_lane ? ", b[i]" : ", b" : "";
    if (lane_by_lane)
        buf_printf(out, "real r; for (int i = 0; i < W; i++) r[i] = %s(a[i]%s); return r; }\n",
                   name, second);
    else
        buf_printf(out, "return %s(a%s); }\n", name, second);
}

void codegen_math(struct kernel_source *s, struct buf *out, const struct kernel_plan *p,
                  const bool used[OP_COUNT]) {
    char name[64];
    const enum math_source from = source_of(p->target);
    const char *type = from == MATH_LIBM ? "elem" : "real";
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        uint32_t args = used[op] ? library_name(p->target, p->f32, from, op, name, sizeof name) : 0;
        if (!args)
            continue;
        s->needs_sleef |= from == MATH_SLEEF;
        s->needs_mvec |= from == MATH_MVEC;
        s->needs_libm |= from == MATH_LIBM;
        if (from != MATH_DEVICE)
            buf_printf(out, "extern %s %s(%s%s%s) __attribute__((const));\n", type, name, type,
                       args == 2 ? ", " : "", args == 2 ? type : "");
        buf_printf(out, "INLINE real r_%s(real a%s) { ", op == OP_POW ? "pow" : op_names[op],
                   args == 2 ? ", real b" : "");
        put_body(out, name, from == MATH_LIBM && p->target->lanes64 != 1, args);
    }
}
