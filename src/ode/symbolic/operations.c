// SPDX-License-Identifier: MIT
// Counts the arithmetic that a set of expressions takes, to choose between inlining and calls and
// to tell the user.
//
// Each live node counts once, by what it costs on a vector unit.
#include "ode/symbolic/symbolic.h"

enum cost { ADDS, MULS, DIVS, FUNCTIONS, NOTHING, COSTS };

// Operators that are not listed are single instructions, or few: ADDS.
static const uint8_t costs[OP_COUNT] = {
    [OP_NUMBER... OP_CALL] = NOTHING,
    [OP_MUL] = MULS,
    [OP_DIV] = DIVS,
    [OP_SQRT] = DIVS,
    [OP_LOOKUP] = FUNCTIONS,
    [OP_MOD] = DIVS,
    [OP_POW] = FUNCTIONS,
    [OP_SIN... OP_LOG1P] = FUNCTIONS,
    [OP_CBRT... OP_BESSELI] = FUNCTIONS,
};

struct op_counts dag_count(const struct dag *d, const node_id *roots, uint32_t count,
                           struct arena *scratch) {
    const uint32_t *uses = dag_uses(d, roots, count, scratch);
    uint32_t sums[COSTS] = {0};
    for (node_id id = 0; id < d->nodes.count; id++)
        if (uses[id])
            sums[costs[d->nodes.items[id].op]]++;
    return (struct op_counts){sums[ADDS], sums[MULS], sums[DIVS], sums[FUNCTIONS]};
}
