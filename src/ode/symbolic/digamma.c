// SPDX-License-Identifier: MIT
// The derivative of lgamma as an expression, because no library has it.
//
// The recurrence leads from x > 0 to x + 6, where five terms of the asymptotic series are good to
// 1e-10, and the reflection from x < 0 to 1 - x.
#include "ode/symbolic/dag.h"

#include <math.h>

enum { SHIFT = 6 };

static node_id scaled(struct dag *d, node_id a, double factor) {
    return dag_pair(d, OP_MUL, a, dag_number(d, factor));
}

static node_id reciprocal(struct dag *d, node_id a) {
    return dag_pair(d, OP_DIV, dag_number(d, 1), a);
}

// ln z - 1/2z - 1/12z^2 + 1/120z^4 - 1/252z^6 + 1/240z^8, less the reciprocals of x to z - 1
static node_id digamma_positive(struct dag *d, node_id x) {
    static const double terms[] = {1.0 / 240, -1.0 / 252, 1.0 / 120, -1.0 / 12};
    node_id z = dag_pair(d, OP_ADD, x, dag_number(d, SHIFT)), r = reciprocal(d, z);
    node_id w = dag_pair(d, OP_MUL, r, r), series = dag_number(d, 0);
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        series = dag_pair(d, OP_MUL, dag_pair(d, OP_ADD, series, dag_number(d, terms[i])), w);
    node_id sum = dag_pair(d, OP_SUB, dag_op(d, OP_LN, z, NODE_NONE, NODE_NONE), scaled(d, r, 0.5));
    sum = dag_pair(d, OP_ADD, sum, series);
    for (int k = 0; k < SHIFT; k++)
        sum = dag_pair(d, OP_SUB, sum, reciprocal(d, dag_pair(d, OP_ADD, x, dag_number(d, k))));
    return sum;
}

node_id digamma(struct dag *d, node_id x) {
    node_id tangent = dag_op(d, OP_TAN, scaled(d, x, M_PI), NODE_NONE, NODE_NONE);
    node_id mirrored = digamma_positive(d, dag_pair(d, OP_SUB, dag_number(d, 1), x));
    node_id negative =
        dag_pair(d, OP_SUB, mirrored, dag_pair(d, OP_DIV, dag_number(d, M_PI), tangent));
    return dag_op(d, OP_IF, dag_pair(d, OP_LT, dag_number(d, 0), x), digamma_positive(d, x),
                  negative);
}
