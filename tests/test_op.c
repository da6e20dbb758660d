// SPDX-License-Identifier: MIT
// Values of operators and functions on numbers.
#include "check.h"
#include "ode/model/op.h"

static double value(enum op op, double a, double b) { return op_value(op, a, b, 0); }

TEST(op_tables_are_complete) {
    for (int op = 0; op < OP_COUNT; op++) {
        CHECK(op_names[op] && *op_names[op]);
        CHECK(op_operands[op] <= 3);
    }
    CHECK_STR(op_names[OP_ATAN2], "atan2");
    CHECK_INT(op_operands[OP_ATAN2], 2);
    CHECK_INT(op_operands[OP_IF], 3);
    CHECK_INT(op_operands[OP_CALL], 0);
}

TEST(op_arithmetic) {
    CHECK(value(OP_NUMBER, 7, 0) == 7);
    CHECK(value(OP_NEG, 7, 0) == -7);
    CHECK(value(OP_ADD, 7, 2) == 9);
    CHECK(value(OP_SUB, 7, 2) == 5);
    CHECK(value(OP_MUL, 7, 2) == 14);
    CHECK(value(OP_DIV, 7, 2) == 3.5);
    CHECK(value(OP_POW, 7, 2) == 49);
    CHECK(value(OP_MIN, 7, 2) == 2 && value(OP_MAX, 7, 2) == 7);
    CHECK(value(OP_MIN, 2, 7) == 2 && value(OP_MAX, 2, 7) == 7);
    CHECK(value(OP_ABS, -3, 0) == 3);
    CHECK(value(OP_FLOOR, -1.5, 0) == -2 && value(OP_CEIL, -1.5, 0) == -1);
}

TEST(op_truth_is_one_or_zero) {
    CHECK(value(OP_LT, 1, 2) == 1 && value(OP_LT, 2, 2) == 0 && value(OP_LT, 3, 2) == 0);
    CHECK(value(OP_LE, 1, 2) == 1 && value(OP_LE, 2, 2) == 1 && value(OP_LE, 3, 2) == 0);
    CHECK(value(OP_GT, 1, 2) == 0 && value(OP_GT, 2, 2) == 0 && value(OP_GT, 3, 2) == 1);
    CHECK(value(OP_GE, 1, 2) == 0 && value(OP_GE, 2, 2) == 1 && value(OP_GE, 3, 2) == 1);
    CHECK(value(OP_EQ, 2, 2) == 1 && value(OP_EQ, 2, 3) == 0);
    CHECK(value(OP_NE, 2, 2) == 0 && value(OP_NE, 2, 3) == 1);
    CHECK(value(OP_AND, 0.5, -3) == 1 && value(OP_AND, 0.5, 0) == 0);
    CHECK(value(OP_OR, 0, -3) == 1 && value(OP_OR, 0, -0.0) == 0);
    CHECK(value(OP_NOT, 0, 0) == 1 && value(OP_NOT, 0.1, 0) == 0);
    CHECK(op_value(OP_IF, 0.1, 5, 6) == 5 && op_value(OP_IF, 0, 5, 6) == 6);
}

TEST(op_steps_at_zero) {
    CHECK(value(OP_HEAV, 0, 0) == 1);
    CHECK(value(OP_HEAV, -0.0, 0) == 1);
    CHECK(value(OP_HEAV, -1e-300, 0) == 0);
    CHECK(value(OP_SIGN, 0, 0) == 0);
    CHECK(value(OP_SIGN, 1e-300, 0) == 1);
    CHECK(value(OP_SIGN, -1e-300, 0) == -1);
}

TEST(op_mod_stays_in_range) {
    CHECK(value(OP_MOD, 7, 3) == 1);
    CHECK(value(OP_MOD, -7, 3) == 2);
    CHECK(value(OP_MOD, 6, 3) == 0);
    CHECK(value(OP_MOD, -6, 3) == 0);
    CHECK(value(OP_MOD, 7, -3) == -2);
    CHECK(value(OP_MOD, 0.75, 0.5) == 0.25);
    CHECK(isnan(value(OP_MOD, 1, 0)));
    // Where x/y or the sum rounds: never y, never below 0.
    const double ys[] = {1, 0.1, 3, 2 * M_PI, 1e-3, 1e10};
    for (size_t i = 0; i < sizeof ys / sizeof *ys; i++)
        for (int k = -50; k <= 50; k++)
            for (int side = -1; side <= 1; side++) {
                double x = ys[i] * k, y = ys[i];
                x = side ? nextafter(x, side * (double)INFINITY) : x;
                double r = value(OP_MOD, x, y), mirrored = value(OP_MOD, -x, -y);
                CHECK_MSG(r >= 0 && r < y, "mod(%.17g, %.17g) is %.17g", x, y, r);
                CHECK_MSG(mirrored <= 0 && mirrored > -y, "mod(%.17g, %.17g) is %.17g", -x, -y,
                          mirrored);
            }
    CHECK(value(OP_MOD, -1e-20, 1) == 0);
    CHECK(value(OP_MOD, 1e300, 3) >= 0 && value(OP_MOD, 1e300, 3) < 3);
    CHECK(value(OP_MOD, -1e300, 3) >= 0 && value(OP_MOD, -1e300, 3) < 3);
}

TEST(op_functions_by_name) {
    CHECK_NEAR(value(OP_LN, M_E, 0), 1, 1e-15);
    CHECK(value(OP_LOG10, 1000, 0) == 3);
    CHECK(value(OP_LOG2, 8, 0) == 3);
    CHECK_NEAR(value(OP_LOG1P, 1e-10, 0), 1e-10, 1e-19);
    CHECK_NEAR(value(OP_EXPM1, 1e-10, 0), 1e-10, 1e-19);
    CHECK_NEAR(value(OP_ATAN2, 1, -1), 3 * M_PI / 4, 1e-15);
    CHECK_NEAR(value(OP_CBRT, -27, 0), -3, 1e-15);
    CHECK_NEAR(value(OP_ERF, 0.5, 0), 0.5204998778130465, 1e-15);
    CHECK_NEAR(value(OP_ERFC, 0.5, 0), 0.4795001221869535, 1e-15);
    CHECK_NEAR(value(OP_LGAMMA, 0.5, 0), 0.5723649429247001, 1e-15);
    CHECK_NEAR(value(OP_LGAMMA, -0.5, 0), 1.2655121234846454, 1e-15);
    CHECK_NEAR(value(OP_BESSELJ, 0, 2), 0.22389077914123567, 1e-15);
    CHECK_NEAR(value(OP_BESSELJ, 1.7, 2), 0.5767248077568734, 1e-15); // of order 1
    CHECK_NEAR(value(OP_BESSELJ, -1, 2), -0.5767248077568734, 1e-15);
    CHECK_NEAR(value(OP_BESSELY, 1, 2), -0.10703243154093755, 1e-15);
    CHECK_NEAR(value(OP_BESSELI, 0, 2), 2.279585302336067, 1e-15);
    CHECK_NEAR(value(OP_BESSELI, 3, -2), -0.21273995923985264, 1e-15);
    CHECK_NEAR(value(OP_BESSELI, 2, 700) / 1.5252262036997753e302, 1, 1e-9);
    CHECK(isnan(value(OP_BESSELJ, 1e9, 2)) && isnan(value(OP_BESSELI, NAN, 2)));
    CHECK(isnan(value(OP_BESSELI, 1, NAN)) && isinf(value(OP_BESSELI, 1, INFINITY)));
    CHECK_NEAR(value(OP_SINH, 1, 0), 1.1752011936438014, 1e-15);
    CHECK_NEAR(value(OP_COSH, 1, 0), 1.5430806348152437, 1e-15);
    CHECK_NEAR(value(OP_TANH, 1, 0), 0.7615941559557649, 1e-15);
    CHECK_NEAR(value(OP_ASINH, 1.1752011936438014, 0), 1, 1e-15);
    CHECK_NEAR(value(OP_ACOSH, 1.5430806348152437, 0), 1, 1e-15);
    CHECK_NEAR(value(OP_ATANH, 0.7615941559557649, 0), 1, 1e-15);
    CHECK_NEAR(value(OP_TAN, M_PI / 4, 0), 1, 1e-15);
    CHECK_NEAR(value(OP_ASIN, 1, 0) + value(OP_ACOS, 1, 0) + value(OP_ATAN, 1, 0), 0.75 * M_PI,
               1e-15);
}

TEST(op_nan_is_not_lost) {
    const enum op ops[] = {OP_MIN, OP_MAX, OP_ADD, OP_MUL, OP_MOD};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        CHECK(isnan(value(ops[i], NAN, 1)));
        CHECK(isnan(value(ops[i], 1, NAN)));
    }
    CHECK(isnan(value(OP_SIGN, NAN, 0)) && isnan(value(OP_HEAV, NAN, 0)));
    CHECK(value(OP_LT, NAN, 1) == 0 && value(OP_NE, NAN, NAN) == 1);
    CHECK(isnan(value(OP_TIME, 1, 1)) && isnan(value(OP_SYMBOL, 1, 1)));
    CHECK(isnan(value(OP_ARG, 1, 1)) && isnan(value(OP_CALL, 1, 1)));
}
