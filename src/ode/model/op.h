// SPDX-License-Identifier: MIT
// The operators and functions of the model language: one list makes the enum, the parser's table,
// the evaluator, the derivatives' test and the generated code.
#ifndef SHOAL_MODEL_OP_H
#define SHOAL_MODEL_OP_H

#include <stdbool.h>

// Leaves and operators: name, number of operands, text
#define MODEL_OPERATORS(X)                                                                         \
    X(NUMBER, 0, "number")                                                                         \
    X(TIME, 0, "t")                                                                                \
    X(SYMBOL, 0, "symbol") /* index: into model.symbols */                                         \
    X(ARG, 0, "argument")  /* index: position among the arguments of the function being defined */ \
    X(CALL, 0, "call") /* index: into model.functions; takes as many operands as it has args */    \
    X(NEG, 1, "-")                                                                                 \
    X(ADD, 2, "+")                                                                                 \
    X(SUB, 2, "-")                                                                                 \
    X(MUL, 2, "*")                                                                                 \
    X(DIV, 2, "/")                                                                                 \
    X(POW, 2, "^")                                                                                 \
    X(LT, 2, "<")                                                                                  \
    X(LE, 2, "<=")                                                                                 \
    X(GT, 2, ">")                                                                                  \
    X(GE, 2, ">=")                                                                                 \
    X(EQ, 2, "==")                                                                                 \
    X(NE, 2, "!=")                                                                                 \
    X(AND, 2, "&")                                                                                 \
    X(OR, 2, "|")                                                                                  \
    X(NOT, 1, "not")                                                                               \
    X(LOOKUP, 3, "lookup") /* argument, number of the signal, order of the derivative */           \
    X(IF, 3, "if")

// Functions: name, number of arguments, C name (libm) of those that are a math library call or NULL
#define MODEL_FUNCTIONS(X)                                                                         \
    X(SIN, 1, "sin")                                                                               \
    X(COS, 1, "cos")                                                                               \
    X(TAN, 1, "tan")                                                                               \
    X(ASIN, 1, "asin")                                                                             \
    X(ACOS, 1, "acos")                                                                             \
    X(ATAN, 1, "atan")                                                                             \
    X(ATAN2, 2, "atan2")                                                                           \
    X(SINH, 1, "sinh")                                                                             \
    X(COSH, 1, "cosh")                                                                             \
    X(TANH, 1, "tanh")                                                                             \
    X(ASINH, 1, "asinh")                                                                           \
    X(ACOSH, 1, "acosh")                                                                           \
    X(ATANH, 1, "atanh")                                                                           \
    X(EXP, 1, "exp")                                                                               \
    X(EXPM1, 1, "expm1")                                                                           \
    X(LN, 1, "ln")                                                                                 \
    X(LOG10, 1, "log10")                                                                           \
    X(LOG2, 1, "log2")                                                                             \
    X(LOG1P, 1, "log1p")                                                                           \
    X(SQRT, 1, "sqrt")                                                                             \
    X(CBRT, 1, "cbrt")                                                                             \
    X(ERF, 1, "erf")                                                                               \
    X(ERFC, 1, "erfc")                                                                             \
    X(LGAMMA, 1, "lgamma")                                                                         \
    X(BESSELJ, 2, "besselj") /* order, cut to a whole number, and argument */                      \
    X(BESSELY, 2, "bessely")                                                                       \
    X(BESSELI, 2, "besseli")                                                                       \
    X(ABS, 1, "abs")                                                                               \
    X(SIGN, 1, "sign") /* sign(0) = 0 */                                                           \
    X(HEAV, 1, "heav") /* heav(0) = 1 */                                                           \
    X(FLOOR, 1, "floor")                                                                           \
    X(CEIL, 1, "ceil")                                                                             \
    X(MOD, 2, "mod") /* in [0, y) */                                                               \
    X(MIN, 2, "min")                                                                               \
    X(MAX, 2, "max")

enum op {
#define X(name, operands, text) OP_##name,
    MODEL_OPERATORS(X) MODEL_FUNCTIONS(X)
#undef X
        OP_COUNT
};

extern const char *const op_names[OP_COUNT];
extern const unsigned char op_operands[OP_COUNT];
// Whether its value neither jumps nor bends sharply where its operands do not (GT and GE, which
// nodes do not have, aside).
bool op_is_smooth(enum op op);

// The value of an operator on numbers; operands beyond its count are ignored. Truth is 1 or 0,
// anything but 0 is true. Leaves other than NUMBER give NaN.
double op_value(enum op op, double a, double b, double c);

#endif
