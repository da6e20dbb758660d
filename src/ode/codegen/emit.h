// SPDX-License-Identifier: MIT
// Between emit.c (the text of one statement) and function.c (which statements, in which function).
#ifndef SHOAL_CODEGEN_EMIT_H
#define SHOAL_CODEGEN_EMIT_H

#include "ode/codegen/codegen.h"

enum { NO_SLOT = UINT32_MAX };

struct writer {
    struct buf *out;
    const struct emit *e;
    const uint32_t *uses;
    bool *fused;    // [nodes] product written inside an fma
    bool *number;   // [nodes] truth value needed as a number
    uint32_t *part; // [nodes] part of the function that computes it
    uint32_t *slot; // [nodes] place in the shared array of what other parts need, or NO_SLOT
    uint32_t now;   // part being written
};

// Fills fused and number.
void emit_prepare(struct writer *w);
// True for a node that gets a statement of its own.
bool emit_is_statement(const struct writer *w, node_id id);
// The i-th node that the statement of `id` reads, looking through what is fused; NODE_NONE after
// the last.
node_id emit_operand(const struct writer *w, node_id id, uint32_t i);
void emit_statement(struct writer *w, node_id id);
void emit_value(struct writer *w, node_id id);

#endif
