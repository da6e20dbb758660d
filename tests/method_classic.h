// SPDX-License-Identifier: MIT
// A row of the method table in its classical form: stages are slopes k_i, and weights of the table
// times `back` are weights of slopes, without h. For an explicit method that is the row itself. A
// Rosenbrock method has the matrix gamma too. A collocation method has one row more, the start of
// the step, which its error estimate uses.
#ifndef SHOAL_TESTS_METHOD_CLASSIC_H
#define SHOAL_TESTS_METHOD_CLASSIC_H

#include "ode/method/method.h"

typedef long double wide;

struct classic {
    uint32_t rows;
    wide a[METHOD_ROWS][METHOD_ROWS], gamma[METHOD_ROWS][METHOD_ROWS];
    wide back[METHOD_ROWS][METHOD_ROWS];
};

struct classic classic_of(const struct method *m);
// The weight of stage i in the dense output at t0 + s h.
wide classic_weight(const struct method *m, uint32_t i, wide s);

#endif
