// SPDX-License-Identifier: MIT
// A model: what the text of a .ode file says, with every name resolved.
//
// Expressions are kept in postfix order (operands before operators) as slices of one flat array, so
// that nothing that reads them needs recursion: a stack of values and one loop do. Arrays, `%`
// blocks, sum() and shift() are expanded by the parser; user functions stay calls.
// This folder knows text and names; what expressions mean to a kernel is src/symbolic's business.
#ifndef SHOAL_MODEL_MODEL_H
#define SHOAL_MODEL_MODEL_H

#include "base/arena.h"
#include "base/report.h"
#include "ode/model/op.h"

#include <stdbool.h>

struct item {
    uint8_t op;     // enum op
    uint32_t index; // SYMBOL, ARG, CALL
    uint32_t at;    // byte offset in the model text, for messages
    double value;   // NUMBER
};

struct expr {
    uint32_t first, count; // slice of model.code; count 0: no expression
};

enum symbol_kind {
    SYMBOL_STATE,   // expr: derivative; none where it is algebraic
    SYMBOL_PAR,     // value
    SYMBOL_CONST,   // value
    SYMBOL_DERIVED, // expr, once per trajectory (!name=), of initial values and t0
    SYMBOL_TEMP,    // expr
};

struct symbol {
    const char *name; // as the user wrote it, array elements as x1, x2, ...
    enum symbol_kind kind;
    struct expr expr;  // derivative, derived or temporary
    struct expr init;  // state: x(0)=expr where it is more than constants; else count 0
    struct expr given; // par, const, state: its value as an expression of constants
    double value;      // par, const, state's initial value when init.count is 0; from `given`
    uint32_t at;       // where it was declared
    bool has_value;    // par, const, state: a value was given in the text
    bool set;          // changed by model_set
    bool structural;   // const: a bound of sum() or shift(), so it cannot be set any more
    bool algebraic;    // state: without a derivative; its initial value is a guess
};

struct function {
    const char *name;
    uint32_t args; // how many
    struct expr body;
    uint32_t at;
};

// 0 = expr. Which of the rows determines which algebraic state is not said: there are as many.
struct row {
    struct expr expr;
    uint32_t at;
};

// What is looked up in samples: a driver by the time, a table by its argument.
struct signal {
    const char *name;
    bool table;
    // Of a table: samples at equal distances from lo to hi, from a file or by a formula.
    uint32_t count;
    double lo, hi;
    const char *file;     // as the text names it; NULL: none
    const double *values; // [count] of the file, once somebody has read it
    struct expr formula;  // of its argument, which is OP_ARG
    uint32_t at;
};

struct observable {
    const char *label; // own name space
    struct expr expr;
    uint32_t at;
};

// What happens at certain times, or when something turns true.
enum event_kind {
    EVENT_WHEN,  // times: none
    EVENT_AT,    // times: all of them
    EVENT_EVERY, // times: EVERY_...
};
enum { EVERY_PERIOD, EVERY_FROM, EVERY_UNTIL, EVERY_TIMES }; // count 0: not given

// An expression fires when it crosses zero, either way or one way; a condition when it turns true,
// or with EDGE_FALLING false. XPP's `global` is the condition that an expression is at least 0, or
// at most; or crosses zero, or is zero at t0.
enum event_edge { EDGE_ANY, EDGE_RISING, EDGE_FALLING, EDGE_AT_LEAST, EDGE_AT_MOST, EDGE_ZERO };

struct event_action {
    uint32_t target;  // state or parameter; ACTION_STOP: the trajectory ends where expr > 0
    struct expr expr; // count 0: it ends anyway
    uint32_t at;
};
enum { ACTION_STOP = UINT32_MAX };

struct event {
    const char *name; // own name space
    const char *line; // as it was written, without comments
    enum event_kind kind;
    enum event_edge edge; // EVENT_WHEN
    struct expr when;     // EVENT_WHEN
    vec(struct expr) times;
    vec(struct event_action) actions;
    bool sequential; // an action sees what those before it did; else all see what was before
    uint32_t at;
};

// An `@ name=value` or an item of a set; kept as text, judged by src/api's option table.
struct setting {
    const char *name, *value; // value is empty when there was none
    uint32_t at, value_at;    // in the model text
};

struct value_set {
    const char *name;
    vec(struct setting) settings;
    uint32_t at;
};

struct model {
    struct arena arena;
    struct source source; // own copies; lines that were added follow the text
    const char *text;     // without them
    size_t added;         // where they begin in it; its length: there are none
    vec(struct item) code;
    vec(struct symbol) symbols;
    vec(uint32_t) states, pars, consts, derived, temps; // indices into symbols, in written order;
                                                        // temps and derived by dependency
    vec(struct function) functions;                     // by dependency: callees first
    vec(struct row) rows;                               // algebraic, in written order
    vec(struct signal) signals;                         // drivers and tables, in written order
    vec(struct observable) observables;
    vec(struct event) events; // in written order
    vec(struct setting) options;
    vec(struct value_set) sets;
    bool done;                    // ended by XPP's `done`
    struct symbol_table *by_name; // see model_find
    vec(uint32_t) const_order;    // consts by dependency
    vec(uint32_t) start;          // derived and states by dependency; none: derived take no states
    struct model *origin;         // of a copy: the model that was parsed; else NULL
    unsigned *users;              // copies that there are, counted atomically; NULL: never any
};

// Parses; every error that can be found is in the report, and then the result is NULL.
// The text need not be NUL-terminated and is copied.
struct model *model_parse(const char *name, const char *text, size_t length, struct report *r);
// The same with lines that are added behind the end; messages about them say `--event`.
struct model *model_parse_more(const char *name, const char *text, size_t length, const char *added,
                               struct report *r);
// The text that a place of the model is in, and where in that.
struct source model_source(const struct model *m, uint32_t *at);
void model_free(struct model *m);

// A model with the same text and values, whose values change by themselves; either may be freed
// first. NULL: out of memory.
struct model *model_copy(struct model *m);
// Whether two copies of a model give the same kernel: constants and formulas of initial values are
// folded into it, other values are not.
bool model_same_kernel(const struct model *a, const struct model *b);
// Whether states, parameters, constants, derived parameters, observables and events have the same
// names in the same order; if not, the first pair that differs (NULL: there is no such name any
// more).
struct name_difference {
    const char *kind, *here, *there;
};
bool model_same_names(const struct model *a, const struct model *b, struct name_difference *out);

// The symbol of that name: exactly, else the only one that matches ignoring case (with a note), an
// array element also as x[3]; UINT32_MAX with an error that names the nearest otherwise. `where`
// says who asks ("--set").
uint32_t model_find(struct model *m, const char *name, const char *where, struct report *r);

// "a=1,x(0)=2" or "a=1" pieces: changes values of parameters, initial values, constants. Values may
// be expressions of constants. All or nothing.
shoal_code model_set(struct model *m, const char *assignments, const char *where, struct report *r);

// Applies the values of a named set, all or nothing, and leaves what is not a parameter, constant
// or state of the model in *rest, which lives as long as the model.
shoal_code model_use(struct model *m, const char *set, const struct value_set **rest,
                     struct report *r);

// An expression of states, observables (by their labels, where no other name is that), parameters,
// derived ones, temporaries, constants, functions and t that stands outside of the model's text.
struct formula {
    const struct item *item; // in postfix order; of the arena
    uint32_t count;
};
// `where` says who asks ("--summary"), and is the name that messages have. The text need not be
// NUL-terminated. False after an error.
bool model_formula(struct model *m, const char *text, size_t length, const char *where,
                   struct arena *arena, struct formula *out, struct report *r);
// A place in the text of a formula for which something else stands: it begins with a name, and is
// as a value there. Items of OP_ARG are arguments of the formula.
struct formula_hole {
    uint32_t from, to;
    const struct item *item;
    uint32_t count;
};
struct formula_holes {
    const struct formula_hole *hole;
    uint32_t count;
};
// The same of a piece of a text that messages show whole, with holes in it or NULL.
bool model_formula_in(struct model *m, const struct source *source, uint32_t from, uint32_t to,
                      const struct formula_holes *holes, struct arena *arena, struct formula *out,
                      struct report *r);

// A number, or an expression of the model's constants: `8/3`, `2*pi`. Any trailing text is an
// error.
bool model_number(struct model *m, const char *text, double *value);

// The driver of that name, as model_find; UINT32_MAX with an error otherwise.
uint32_t model_find_driver(const struct model *m, const char *name, const char *where,
                           struct report *r);
// What was read of files for the tables of a model with the same lines.
shoal_code model_take_tables(struct model *m, const struct model *from, struct report *r);
// XPP's file of a table: count, lo, hi, values. `name` is for messages. Must come before any copy.
shoal_code model_read_table(struct model *m, uint32_t signal, const char *name, const char *text,
                            size_t length, struct report *r);
// The values of a table, with the values that parameters and constants have now.
shoal_code model_table(struct model *m, uint32_t signal, double *values, struct report *r);
// Whether the formula of a table is made with the symbol.
bool model_table_uses(const struct model *m, uint32_t signal, uint32_t symbol);

#endif
