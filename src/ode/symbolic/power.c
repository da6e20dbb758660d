// SPDX-License-Identifier: MIT
// Powers as multiplications: what x^3, x^-2, x^0.5 and x^1.5 become.
//
// Exponents that are multiples of 1/2 up to 64 in size become repeated squares, multiplied from the
// lowest up (x^7 = (x * x^2) * x^4), so that different powers of the same base share their squares;
// the half is a sqrt, a negative exponent a division. Everything else stays a POW node: 2^x, x^n
// with a parameter, x^(1/3) (which is NaN for a negative x, unlike cbrt).
#include "ode/symbolic/dag.h"

#include <math.h>

static node_id power_integer(struct dag *d, node_id base, uint32_t exponent) {
    node_id product = NODE_NONE, square = base;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            product = product == NODE_NONE ? square : dag_op(d, OP_MUL, product, square, NODE_NONE);
        if (exponent > 1)
            square = dag_op(d, OP_MUL, square, square, NODE_NONE);
    }
    return product;
}

node_id power_halves(struct dag *d, node_id base, int32_t halves) {
    if (halves > POWER_MOST_HALVES || halves < -POWER_MOST_HALVES)
        return NODE_NONE;
    uint32_t size = (uint32_t)(halves < 0 ? -halves : halves);
    node_id product = power_integer(d, base, size / 2);
    if (size & 1) {
        node_id root = dag_op(d, OP_SQRT, base, NODE_NONE, NODE_NONE);
        product = product == NODE_NONE ? root : dag_op(d, OP_MUL, product, root, NODE_NONE);
    }
    if (product == NODE_NONE)
        return dag_number(d, 1);
    return halves < 0 ? dag_op(d, OP_DIV, dag_number(d, 1), product, NODE_NONE) : product;
}

node_id power_simplify(struct dag *d, node_id base, node_id exponent) {
    if (node_is_value(d, base, 1))
        return base;
    if (!node_is_number(d, exponent))
        return NODE_NONE;
    double halves = 2 * d->nodes.items[exponent].value;
    if (!(fabs(halves) <= POWER_MOST_HALVES) || halves != floor(halves))
        return NODE_NONE;
    return power_halves(d, base, (int32_t)halves);
}
