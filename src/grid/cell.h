// SPDX-License-Identifier: MIT
// The arithmetic of kernels/grid/cells.h on the host, by the operation of a node.
#ifndef SHOAL_GRID_CELL_H
#define SHOAL_GRID_CELL_H

#include "grid/plan.h"

#ifndef INLINE
#define INLINE static inline
#endif
#include "../kernels/grid/cells.h"

static inline int32_t cell_compute(enum grid_op op, int32_t a, int32_t b, int32_t c) {
    switch ((int)op) {
    case GRID_NEG:
        return c_neg(a);
    case GRID_NOT:
        return c_not(a);
    case GRID_ADD:
        return c_add(a, b);
    case GRID_SUB:
        return c_sub(a, b);
    case GRID_MUL:
        return c_mul(a, b);
    case GRID_DIV:
        return c_div(a, b);
    case GRID_MOD:
        return c_mod(a, b);
    case GRID_LEAST:
        return c_least(a, b);
    case GRID_MOST:
        return c_most(a, b);
    case GRID_EQ:
        return c_eq(a, b);
    case GRID_NE:
        return c_ne(a, b);
    case GRID_LT:
        return c_lt(a, b);
    case GRID_LE:
        return c_le(a, b);
    case GRID_AND:
        return c_and(a, b);
    case GRID_OR:
        return c_or(a, b);
    default:
        return c_select(a, b, c);
    }
}

#endif
