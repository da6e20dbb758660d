// SPDX-License-Identifier: MIT
// The tables of operators and functions, and their values on numbers.
//
// op_value is what folding, `shoal info` and the tests compute with, in double; a kernel computes
// the same functions with its own code. Comparisons with NaN are false, except `!=`. min and max
// give NaN when either operand is one. heav(0) = 1, sign(0) = 0, mod has the sign of y and is
// nearer to 0 than y. It does not know user functions and samples: a CALL and a LOOKUP, like every
// leaf without a value, give NaN.
#include "ode/model/op.h"

#include <math.h>

#define INLINE static
#define elem double
#define SPECIAL_HOST
#include "../kernels/dialect/special.h"

#define NAMES(name, operands, text) text,
const char *const op_names[OP_COUNT] = {MODEL_OPERATORS(NAMES) MODEL_FUNCTIONS(NAMES)};

#define OPERANDS(name, operands, text) operands,
const unsigned char op_operands[OP_COUNT] = {MODEL_OPERATORS(OPERANDS) MODEL_FUNCTIONS(OPERANDS)};

bool op_is_smooth(enum op op) {
    switch (op) {
    case OP_LT:
    case OP_LE:
    case OP_EQ:
    case OP_NE:
    case OP_AND:
    case OP_OR:
    case OP_NOT:
    case OP_ABS:
    case OP_SIGN:
    case OP_HEAV:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_MOD:
    case OP_MIN:
    case OP_MAX:
        return false;
    default:
        return true;
    }
}

static double op_sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

static double op_heav(double x) { return x >= 0 ? 1 : x < 0 ? 0 : x; }

static double op_min(double x, double y) { return x < y || isnan(x) ? x : y; }

static double op_max(double x, double y) { return x > y || isnan(x) ? x : y; }

// x/y may round up to the next integer and r + y to y: both would leave [0, y).
static double op_mod(double x, double y) {
    double r = x - y * floor(x / y);
    if (y > 0 ? r < 0 : r > 0)
        r += y;
    return fabs(r) >= fabs(y) ? 0 : r;
}

static double op_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign); // lgamma writes a global
}

double op_value(enum op op, double a, double b, double c) {
    switch (op) {
#define VALUE(name, expression)                                                                    \
    case OP_##name:                                                                                \
        return (expression);
        VALUE(NUMBER, a)
        VALUE(NEG, -a)
        VALUE(ADD, a + b)
        VALUE(SUB, a - b)
        VALUE(MUL, a * b)
        VALUE(DIV, a / b)
        VALUE(POW, pow(a, b))
        VALUE(LT, a < b)
        VALUE(LE, a <= b)
        VALUE(GT, a > b)
        VALUE(GE, a >= b)
        VALUE(EQ, a == b)
        VALUE(NE, a != b)
        VALUE(AND, a != 0 && b != 0)
        VALUE(OR, a != 0 || b != 0)
        VALUE(NOT, a == 0)
        VALUE(IF, a != 0 ? b : c)
        VALUE(SIN, sin(a))
        VALUE(COS, cos(a))
        VALUE(TAN, tan(a))
        VALUE(ASIN, asin(a))
        VALUE(ACOS, acos(a))
        VALUE(ATAN, atan(a))
        VALUE(ATAN2, atan2(a, b))
        VALUE(SINH, sinh(a))
        VALUE(COSH, cosh(a))
        VALUE(TANH, tanh(a))
        VALUE(ASINH, asinh(a))
        VALUE(ACOSH, acosh(a))
        VALUE(ATANH, atanh(a))
        VALUE(EXP, exp(a))
        VALUE(EXPM1, expm1(a))
        VALUE(LN, log(a))
        VALUE(LOG10, log10(a))
        VALUE(LOG2, log2(a))
        VALUE(LOG1P, log1p(a))
        VALUE(SQRT, sqrt(a))
        VALUE(CBRT, cbrt(a))
        VALUE(ERF, erf(a))
        VALUE(ERFC, erfc(a))
        VALUE(LGAMMA, op_lgamma(a))
        VALUE(BESSELJ, OF_ORDER(jn, a, b))
        VALUE(BESSELY, OF_ORDER(yn, a, b))
        VALUE(BESSELI, OF_ORDER(bessel_i, a, b))
        VALUE(ABS, fabs(a))
        VALUE(SIGN, op_sign(a))
        VALUE(HEAV, op_heav(a))
        VALUE(FLOOR, floor(a))
        VALUE(CEIL, ceil(a))
        VALUE(MOD, op_mod(a, b))
        VALUE(MIN, op_min(a, b))
        VALUE(MAX, op_max(a, b))
#undef VALUE
    case OP_TIME:
    case OP_SYMBOL:
    case OP_ARG:
    case OP_CALL:
    case OP_LOOKUP:
    case OP_COUNT:
        break;
    }
    return NAN;
}
