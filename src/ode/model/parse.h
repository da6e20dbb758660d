// SPDX-License-Identifier: MIT
// What the files of this folder share: the parser's state, tokens, statements and the name table.
//
// The way of a model: text.c makes a clean copy (comments and continuations blanked, offsets kept),
// lines.c cuts it into lines and sorts them by their first word, lexer.c makes tokens once per
// line, arrays.c runs over index ranges, lists.c and lines.c declare names and note statements;
// expression.c then turns the tokens of every statement into postfix code (all names are known by
// then), resolve.c sorts and checks dependencies, values.c computes. Nothing here recurses on what
// the user wrote. Not for use outside this folder.
#ifndef SHOAL_MODEL_PARSE_H
#define SHOAL_MODEL_PARSE_H

#include "ode/model/model.h"

enum {
    TEXT_MOST = 256 << 20,  // bytes of a model
    CODE_MOST = 4 << 20,    // items of all expressions
    SYMBOLS_MOST = 1 << 20, // names, and statements
    ARGUMENTS_MOST = 256,   // of one function
    STEPS_MOST = 16 << 20,  // of all evaluations and expansions of sum()
    // The same for a text of no length: arrays, sums and functions make much out of little. What a
    // text writes out itself adds to it.
    CODE_LEAST = 1 << 20,
    SYMBOLS_LEAST = 1 << 17,
    STEPS_LEAST = 1 << 22,
    PARSE_ERRORS_MOST = 100, // then parsing stops
};

// ---- Tokens -------------------------------------------------------------------------------------

enum token_kind {
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_INDEX,    // [3], [j], [j+2], [j-2], [j*2]
    TOKEN_RANGE,    // [1..3]
    TOKEN_OPERATOR, // a binary operator
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
    TOKEN_ASSIGN,
    TOKEN_PRIME,
    TOKEN_QUESTION,
    TOKEN_COLON,
    TOKEN_END, // of the line
};

struct token {
    uint8_t kind;
    uint8_t op; // of TOKEN_OPERATOR
    bool glued; // a piece of the name before it: x[j]p is three pieces
    uint32_t at, length;
    union {
        double value;
        struct {
            int32_t times, plus; // TOKEN_INDEX: j * times + plus; TOKEN_RANGE: from, to
        };
    };
};

struct span {
    uint32_t first, end; // of parser.tokens
};

// The value of j where a line is being read.
struct index {
    int64_t j;
    bool known;
    bool repeated; // not the first time for this line: notes were made
};

// ---- Names --------------------------------------------------------------------------------------

enum name_kind {
    NAME_NONE,
    NAME_SYMBOL,   // index: into model.symbols
    NAME_FUNCTION, // index: into model.functions
    NAME_SIGNAL,   // index: into model.signals
    NAME_OP,       // index: enum op, a built-in function
    NAME_TIME,
    NAME_PI,
    NAME_WORD,    // index: enum word
    NAME_REFUSED, // index: into names.c's table of refused functions
    NAME_BAD,     // an error was reported; uses of it are not errors of their own
};

enum word {
    WORD_IF,
    WORD_THEN,
    WORD_ELSE,
    WORD_SUM,
    WORD_OF,
    WORD_SHIFT,
    WORD_AND,
    WORD_OR,
    WORD_NOT
};

struct name_entry {
    const char *name;
    uint32_t length;
    uint8_t kind;
    bool reserved; // a model cannot define it
    bool alias;    // another spelling of a name; not looked at when case is ignored
    uint32_t index;
    uint32_t hash[2]; // as written, ignoring case
};

struct symbol_table {
    vec(struct name_entry) entries;
    uint32_t *exact, *folded; // open addressing: entry number + 1, 0 empty; folded ignores case
    uint32_t slots;           // of either, a power of two
};

struct symbol_table *names_empty(struct arena *a);
struct symbol_table *names_new(struct arena *a); // with the built-in names
// NULL when there is no such name.
struct name_entry *names_exact(const struct symbol_table *t, const char *name, uint32_t length);
// The only entry that matches ignoring case; NULL when there is none or more than one.
struct name_entry *names_folded(const struct symbol_table *t, const char *name, uint32_t length);
// The name must not be there. The text is borrowed.
struct name_entry *names_add(struct arena *a, struct symbol_table *t, const char *name,
                             uint32_t length);
// Another spelling, of the same length, of a name that is there.
struct name_entry *names_alias(struct arena *a, struct symbol_table *t, const char *name,
                               const struct name_entry *of);
const char *names_refusal(uint32_t index); // why a refused function is refused
// What the word or name nearest to `wanted` is; NULL when none is near.
const char *names_nearest(const struct model *m, const char *wanted, uint32_t length,
                          const char *const *extra, uint32_t extra_count);

// ---- Statements ---------------------------------------------------------------------------------

enum statement_kind {
    STATEMENT_VALUE,      // par, const: symbol.given
    STATEMENT_INIT,       // init x=, x(0)=
    STATEMENT_EXPR,       // derivative, derived, temporary: symbol.expr
    STATEMENT_FUNCTION,   // function.body
    STATEMENT_OBSERVABLE, // observable.expr
    STATEMENT_ROW,        // row.expr
    STATEMENT_TABLE,      // signal.formula
};

struct statement {
    uint8_t kind;
    struct index index;
    uint32_t target;   // symbol, function, observable, row or signal
    const char *name;  // STATEMENT_INIT: of the state
    uint32_t at;       // of the name
    struct span value; // tokens
};

struct arguments {
    const char **names;
    uint32_t count;
};

struct line {
    uint32_t from, to; // bytes of parser.text
    struct span tokens;
    bool lexed, bad; // tokens are there; an error was found while making them
};

// ---- The parser ---------------------------------------------------------------------------------

struct pending; // expression.c

// An event as it was written; its names are looked up when all are known.
struct action_line {
    const char *name; // NULL: stop
    uint32_t at;
    struct index index;
    struct span value; // {0,0}: none
};
struct event_line {
    struct index index;
    struct span when;
    vec(struct span) times;
    vec(struct action_line) actions;
};

struct parser {
    struct model *m;
    struct report *r;
    const struct source *source; // that messages point into
    struct arena scratch;
    char *text; // clean copy, NUL-terminated
    uint32_t length;
    uint8_t *reported; // by offset: an error about this place was reported
    uint32_t errors;
    bool stop;   // a limit was reached
    bool values; // reading the value of an option: errors about names are not remembered
    struct arguments observables;      // labels that are names too, in formulas from outside
    const struct formula_holes *holes; // in these; NULL: none
    vec(struct token) tokens;
    vec(struct line) lines;
    vec(struct statement) statements;
    vec(struct arguments) arguments;              // of model.functions
    vec(struct event_line) events;                // of model.events
    struct symbol_table *labels, *sets, *happen;  // names of observables, of sets, of events
    uint32_t globals;                             // events of XPP's kind
    uint32_t out_put_at;                          // first place + 1 of XPP's out_put
    vec(char) word;                               // the last name put together by arrays_name
    vec(struct pending) pending;                  // stack of expression.c
    uint64_t steps, computed;                     // of expansions, of evaluations
    uint32_t code_most, symbols_most, steps_most; // for this text
    bool constants_known;                         // values of constants can be used in bounds
    bool after_refusal; // lines of a refused construct that start with `{` are skipped
    uint32_t power_at;  // first place + 1 of a chained power
    uint32_t chain_at;  // and of a comparison with a comparison
    struct comparison {
        uint32_t at;
        uint8_t first, second; // operators that bind otherwise in XPP there
        bool left;             // the first one binds tighter here
    } comparison[16];          // of each kind the first place
    uint32_t comparisons;
    uint32_t boundary_at, again_at; // bdry, and an initial value given twice
};

// Makes the clean copy and the rest ready. False after an error (not a text).
bool text_open(struct parser *p);
bool text_blank(char c);
bool text_letter(char c); // starts a name
bool text_word(char c);   // goes on in one

// Whether an error at this place would not be shown: ask before looking for what was meant.
bool parse_is_reported(const struct parser *p, uint32_t at);
// An error at a place, once per place. Always false.
bool parse_error(struct parser *p, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void parse_note(struct parser *p, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// One error for the whole model, and the end of parsing. Always false.
bool parse_limit(struct parser *p, uint32_t at, const char *what);
uint32_t parse_line_number(const struct parser *p, uint32_t at);
// The token as the user wrote it, for messages.
const char *parse_token_text(struct parser *p, const struct token *t);

// Appends the tokens of text[from..to) and a TOKEN_END. False after an error.
bool lexer_read(struct parser *p, uint32_t from, uint32_t to, struct span *out);

// The name that starts at token *pos, for this index; *pos moves behind it. Valid until the next
// call. NULL after an error.
const char *arrays_name(struct parser *p, uint32_t *pos, struct index index, uint32_t *length);
// How many tokens the name at pos has, and whether they hold a range or use j.
uint32_t arrays_name_tokens(const struct parser *p, uint32_t pos, const struct token **range,
                            bool *uses_j);
bool arrays_check_range(struct parser *p, const struct token *range);
// The same of a name's range, and that it has no other.
bool arrays_check_name(struct parser *p, uint32_t pos, const struct token *range);
bool arrays_value(struct parser *p, const struct token *t, struct index index, int64_t *value);

void lines_read(struct parser *p); // cuts, sorts, declares
// The tokens of a line from there, made the first time. False after an error.
bool lines_lex(struct parser *p, struct line *l, uint32_t from);
// What a list declares: names with values, initial values, or states with a guess.
enum list_kind { LIST_PAR, LIST_CONST, LIST_INIT, LIST_ALGEBRAIC, LIST_DRIVER };
void lists_read(struct parser *p, struct line *l, uint32_t from, enum list_kind kind,
                struct index index);
// The next `name=value` of text[*at..to), copied into the arena; false when there is none, or after
// an error.
bool lists_next(struct parser *p, struct arena *a, uint32_t *at, uint32_t to, struct setting *out);
void lists_options(struct parser *p, const struct line *l, uint32_t from);
void lists_set(struct parser *p, const struct line *l, uint32_t from);

void event_line(struct parser *p, struct line *l, uint32_t from, struct index index);
void event_global(struct parser *p, struct line *l, uint32_t from, struct index index);
void event_read(struct parser *p); // the noted events
void driver_table(struct parser *p, struct line *l,
                  uint32_t from);              // `table n % ...`, `table n file`
extern const struct arguments driver_argument; // of a table's formula: t

const char *declare_kind_words(enum symbol_kind kind); // "a parameter"
// A new symbol; UINT32_MAX after an error.
uint32_t declare_symbol(struct parser *p, enum symbol_kind kind, const char *name, uint32_t length,
                        uint32_t at);
uint32_t declare_function(struct parser *p, const char *name, uint32_t length, uint32_t at);
uint32_t declare_signal(struct parser *p, const char *name, uint32_t length, uint32_t at);
void declare_bad(struct parser *p, const char *name, uint32_t length);
struct statement *declare_statement(struct parser *p, enum statement_kind kind, uint32_t target,
                                    uint32_t at, struct span value, struct index index);

// The tokens of `value` as postfix code at the end of model.code. False after an error.
bool expression_read(struct parser *p, struct span value, struct index index,
                     const struct arguments *arguments, struct expr *out);

// The order and the kind of constants; functions and constants were read. False after an error.
bool resolve_constants(struct parser *p);
// The order of everything else, and what may use what. False after an error.
bool resolve_all(struct parser *p);

enum uses { USES_STATE = 1, USES_PAR = 2, USES_DERIVED = 4, USES_TEMP = 8, USES_TIME = 16 };

// The number an expression of constants has. NULL, or why it has none ("division by zero").
const char *values_compute(struct parser *p, struct expr e, double *value);
// The same of an expression of one argument, and of parameters too: arguments become values. *at is
// the first that has none.
const char *values_compute_all(struct parser *p, struct expr e, uint32_t count, double *values,
                               uint32_t *at);
// Values of constants in order of dependency, then of parameters and states. `at` of the symbol.
bool values_constants(struct parser *p);
bool values_rest(struct parser *p);

#endif
