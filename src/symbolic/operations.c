// SPDX-License-Identifier: MIT
// Counts the arithmetic that a set of expressions takes, to choose between inlining and calls and
// to tell the user.
//
// Each live node counts once, as one of four classes by what it costs on a CPU's vector unit.
#include "symbolic/symbolic.h"

enum class { ADDS, MULS, DIVS, FUNCTIONS, NOTHING, CLASSES };

static enum class class_of(enum op op) {
    static const uint8_t classes[OP_COUNT] =
        {
            [OP_NUMBER] = NOTHING,
            [OP_TIME] = NOTHING,
            [OP_SYMBOL] = NOTHING,
            [OP_ARG] = NOTHING,
            [OP_CALL] = NOTHING,
            [OP_MUL] = MULS,
            [OP_DIV] = DIVS,
            [OP_SQRT] = DIVS,
            [OP_MOD] = DIVS,
            [OP_POW] = FUNCTIONS, // the rest: by the range below
        };
    if (op >= OP_SIN && op <= OP_ERFC && op != OP_SQRT) return FUNCTIONS;
    return classes[op];
}

struct op_counts dag_count(const struct dag *d, const node_id *roots, uint32_t count,
                           struct arena *scratch) {
    const uint32_t *uses = dag_uses(d, roots, count, scratch);
    uint32_t sums[CLASSES] = {0};
    for (node_id id = 0; id < d->nodes.count; id++)
        if (uses[id])
            sums[class_of(d->nodes.items[id].op)]++;
    return (struct op_counts){sums[ADDS], sums[MULS], sums[DIVS], sums[FUNCTIONS]};
}
