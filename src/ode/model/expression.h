// SPDX-License-Identifier: MIT
// What the two files that read expressions share: what waits on the stack, and where they are.
#ifndef SHOAL_MODEL_EXPRESSION_H
#define SHOAL_MODEL_EXPRESSION_H

#include "ode/model/parse.h"

enum pending_kind {
    PENDING_PREFIX, // - and not
    PENDING_BINARY,
    PENDING_QUESTION, // c ? a, waiting for the colon
    PENDING_COLON,    // c ? a : b
    // From here on something is open that `)` closes.
    PENDING_PAREN,
    PENDING_OP,   // a built-in function
    PENDING_CALL, // a function of the model
    PENDING_TABLE,
    PENDING_BAD, // a call of something unknown
    PENDING_IF,
    PENDING_THEN,
    PENDING_ELSE,
    PENDING_SUM,  // the bounds
    PENDING_BODY, // what is summed
    PENDING_SHIFT,
};

struct pending {
    uint8_t kind;
    uint8_t op;
    uint8_t precedence;
    uint32_t at;    // where it was opened
    uint32_t index; // symbol, function
    uint32_t args;  // commas so far
    uint32_t code;  // model.code.count when it was opened
    uint32_t token; // first token of the body of a sum
    int32_t i, last;
};

struct reader {
    struct parser *p;
    struct index index;
    const struct arguments *arguments;
    uint32_t pos, end;
    uint32_t sums; // open sum() bodies
    bool want_value;
};

enum { PRECEDENCE_TERNARY = 1, PRECEDENCE_NOT = 4, PRECEDENCE_COMPARE = 5, PRECEDENCE_SIGN = 8 };

// The token at a place, and its offset; at the end those of the end of the expression.
const struct token *expression_token(const struct reader *x, uint32_t pos);
uint32_t expression_place(const struct reader *x, uint32_t pos);
// An error, always false.
bool expression_wrong(const struct reader *x, const char *expected);

bool expression_emit(struct reader *x, enum op op, uint32_t at, uint32_t index, double value);
// What waits on top of the stack, or NULL; and something more.
struct pending *expression_top(const struct reader *x);
struct pending *expression_push(struct reader *x, enum pending_kind kind, uint32_t at);

// Where a value is wanted: a number, a name, or what opens something.
bool expression_value(struct reader *x);
bool expression_lookup(struct reader *x, uint32_t signal, uint32_t at);

#endif
