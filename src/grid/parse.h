// SPDX-License-Identifier: MIT
// Between parse.c, which reads a text, and words.c, which knows what its words mean.
#ifndef SHOAL_GRID_PARSE_H
#define SHOAL_GRID_PARSE_H

#include "grid/plan.h"

struct grid_token {
    char kind; // 0: the end; '0' number, 'a' name, 'B' rule, E N L G: == != <= >=; else itself
    size_t at, length;
    uint64_t number;
    int32_t rule;
    uint32_t arguments; // of an opening
};

// A number or grid; `box`: the four numbers of the bounding box of a grid.
struct grid_value {
    uint32_t node;
    bool box;
};

struct grid_stage {
    const char *name;
    struct grid_value value;
};

struct grid_parser {
    struct grid_plan *plan;
    const struct source *source;
    struct report *report;
    vec(struct grid_token) tokens;
    vec(struct grid_stage) stages;
    uint32_t at; // token
    uint32_t depth;
    uint32_t stage;            // of the statement, from 1
    const char *statement;     // its name, or NULL
    struct grid_value in, own; // own: what _ is
    bool failed;
};

struct grid_call {
    size_t at;
    struct grid_value own;
    struct grid_value arg[GRID_ARGS];
    size_t arg_at[GRID_ARGS];
    uint32_t args;
    uint8_t border;
    bool has_border, has_rule;
    int32_t rule;
};

enum { GRID_TAKES_BORDER = 1, GRID_TAKES_RULE = 2 };

struct grid_word {
    const char *name;
    const char *arguments; // in words, for messages
    uint8_t counts[2];     // arguments that it takes without its grid; 255: there is no second way
    bool no_own;           // the second way has no grid of its own (min, max), or none has (select)
    uint8_t takes;
    int32_t value; // for `build`
    struct grid_value (*build)(struct grid_parser *p, const struct grid_word *w,
                               struct grid_call *c);
};
extern const struct grid_word grid_words[]; // ends with a row without a name

const struct grid_word *grid_word_find(const char *name, size_t length);
// Whether a word may have so many arguments, and whether the first is its grid.
bool grid_word_takes(const struct grid_word *w, uint32_t count, bool *own);
int grid_border_of(const char *name, size_t length); // -1: none

// An error at a place of the text; does not come back.
_Noreturn void grid_fail(struct grid_parser *p, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// `a op b` for numbers and grids.
struct grid_value grid_combine(struct grid_parser *p, enum grid_op op, struct grid_value a,
                               struct grid_value b, struct grid_value c, size_t at);
void grid_no_box(struct grid_parser *p, struct grid_value v, size_t at);
const struct grid_node *grid_want_cells(struct grid_parser *p, struct grid_value v, size_t at,
                                        const char *who);
// The grid that a pipeline's result is.
uint32_t grid_final(struct grid_parser *p, struct grid_value v, size_t at);

#endif
