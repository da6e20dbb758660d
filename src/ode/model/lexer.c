// SPDX-License-Identifier: MIT
// Tokens: numbers, names, operators, and the brackets of arrays.
//
// Brackets are read here as a whole: [1..3] is a range, [j], [j+2], [j-2], [j*2] and [3] are
// indices, and a bracket that touches a name is a piece of that name. What the tokens mean together
// is the business of others.
#include "ode/model/parse.h"

#include "base/ascii.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

// ---- Brackets -----------------------------------------------------------------------------------

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c) {
    while (c->at < c->end && text_blank(*c->at))
        c->at++;
}

static bool read_integer(struct cursor *c, int32_t *value) {
    skip_blanks(c);
    const char *s = c->at;
    bool minus = s < c->end && *s == '-';
    s += minus;
    int64_t n = 0;
    const char *digits = s;
    for (; s < c->end && ascii_digit(*s); s++)
        n = n < 10000000000 ? n * 10 + (*s - '0') : n;
    if (s == digits || n > INT32_MAX)
        return false;
    *value = (int32_t)(minus ? -n : n);
    c->at = s;
    skip_blanks(c);
    return true;
}

static bool read_index(struct cursor *c, struct token *t) {
    t->kind = TOKEN_INDEX;
    t->times = 1;
    c->at++;
    skip_blanks(c);
    char op = c->at < c->end ? *c->at : ']';
    if (op == ']')
        return true;
    c->at++;
    int32_t n;
    if (!strchr("+-*", op) || !read_integer(c, &n))
        return false;
    if (op == '*')
        t->times = n;
    else
        t->plus = op == '-' ? -n : n;
    return true;
}

// The inside of a bracket; c is behind `[` before, behind `]` afterwards.
static bool read_bracket(struct cursor *c, struct token *t) {
    skip_blanks(c);
    if (c->at < c->end && (*c->at == 'j' || *c->at == 'J')) {
        if (!read_index(c, t))
            return false;
    } else {
        t->kind = TOKEN_INDEX;
        if (!read_integer(c, &t->plus))
            return false;
        if (c->end - c->at > 2 && c->at[0] == '.' && c->at[1] == '.') {
            c->at += 2;
            t->kind = TOKEN_RANGE;
            t->times = t->plus;
            if (!read_integer(c, &t->plus))
                return false;
        }
    }
    skip_blanks(c);
    return c->at < c->end && *c->at++ == ']';
}

// ---- Everything ---------------------------------------------------------------------------------

static const struct {
    const char *text;
    uint8_t kind, op;
} signs[] = {
    {"**", TOKEN_OPERATOR, OP_POW}, {"<=", TOKEN_OPERATOR, OP_LE}, {">=", TOKEN_OPERATOR, OP_GE},
    {"==", TOKEN_OPERATOR, OP_EQ},  {"!=", TOKEN_OPERATOR, OP_NE}, {"&&", TOKEN_OPERATOR, OP_AND},
    {"||", TOKEN_OPERATOR, OP_OR},  {"+", TOKEN_OPERATOR, OP_ADD}, {"-", TOKEN_OPERATOR, OP_SUB},
    {"*", TOKEN_OPERATOR, OP_MUL},  {"/", TOKEN_OPERATOR, OP_DIV}, {"^", TOKEN_OPERATOR, OP_POW},
    {"<", TOKEN_OPERATOR, OP_LT},   {">", TOKEN_OPERATOR, OP_GT},  {"&", TOKEN_OPERATOR, OP_AND},
    {"|", TOKEN_OPERATOR, OP_OR},   {"(", TOKEN_OPEN, 0},          {")", TOKEN_CLOSE, 0},
    {",", TOKEN_COMMA, 0},          {"=", TOKEN_ASSIGN, 0},        {"'", TOKEN_PRIME, 0},
    {"?", TOKEN_QUESTION, 0},       {":", TOKEN_COLON, 0},
};

static bool read_sign(const struct cursor *c, struct token *t) {
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i].text);
        if ((size_t)(c->end - c->at) >= n && !memcmp(c->at, signs[i].text, n)) {
            t->kind = signs[i].kind;
            t->op = signs[i].op;
            t->length = (uint32_t)n;
            return true;
        }
    }
    return false;
}

static bool is_integral(const struct cursor *c, const struct token *t) {
    if (t->length != 3 || !ascii_same_prefix(c->at, "int", 3))
        return false;
    struct cursor next = {c->at + 3, c->end};
    skip_blanks(&next);
    return next.at < next.end && (*next.at == '{' || *next.at == '[');
}

// One token at c, which does not move.
static bool read_token(struct parser *p, const struct cursor *c, struct token *t) {
    char first = *c->at;
    if (ascii_digit(first) || (first == '.' && c->end - c->at > 1 && ascii_digit(c->at[1]))) {
        t->kind = TOKEN_NUMBER;
        t->length =
            (uint32_t)number_read(c->at, (size_t)(c->end - c->at), NUMBER_BEFORE_DOTS, &t->value);
        return isfinite(t->value) || parse_error(p, t->at, "this number is too large");
    }
    if (text_letter(first)) {
        t->kind = TOKEN_NAME;
        while (c->at + t->length < c->end && text_word(c->at[t->length]))
            t->length++;
        return !is_integral(c, t) ||
               parse_error(p, t->at, "Volterra integrals (`int{...}`) are not supported");
    }
    if (first == '[') {
        struct cursor inside = {c->at + 1, c->end};
        bool good = read_bracket(&inside, t);
        t->length = (uint32_t)(inside.at - c->at);
        if (!good && inside.at == c->end)
            return parse_error(p, t->at, "this bracket is not closed");
        return good ||
               parse_error(p, t->at, "expected [j], [j+2], [j-2], [j*2], [3] or [1..3] here");
    }
    if (first == '#' || (first == '/' && c->end - c->at > 1 && c->at[1] == '/'))
        return parse_error(p, t->at,
                           first == '#'
                               ? "`#` cannot be in a name; a comment needs a blank before it"
                               : "`//` is a comment, which needs a blank before it; a division is "
                                 "`/`");
    if (read_sign(c, t))
        return true;
    if (first == '{' || first == '}')
        return parse_error(p, t->at, "a brace has no meaning here");
    if ((unsigned char)first >= 0x80)
        return parse_error(p, t->at, "only ASCII letters, digits and `_` can be in names");
    return parse_error(p, t->at, "`%c` has no meaning here", first);
}

// A bracket that touches a name, and what touches such a bracket, belong to the name.
static bool is_glued(const struct token *before, const struct token *t) {
    if (before->at + before->length != t->at)
        return false;
    bool bracket = t->kind == TOKEN_INDEX || t->kind == TOKEN_RANGE;
    if (before->kind == TOKEN_NAME)
        return bracket;
    return before->glued && (bracket || t->kind == TOKEN_NAME);
}

bool lexer_read(struct parser *p, uint32_t from, uint32_t to, struct span *out) {
    out->first = p->tokens.count;
    struct cursor c = {p->text + from, p->text + to};
    for (skip_blanks(&c); c.at < c.end; skip_blanks(&c)) {
        struct token t = {.at = (uint32_t)(c.at - p->text)};
        if (!read_token(p, &c, &t))
            return false;
        if (p->tokens.count > out->first)
            t.glued = is_glued(&p->tokens.items[p->tokens.count - 1], &t);
        *vec_push(&p->scratch, &p->tokens) = t;
        c.at += t.length;
    }
    while (to > from && text_blank(p->text[to - 1]))
        to--;
    out->end = p->tokens.count;
    *vec_push(&p->scratch, &p->tokens) = (struct token){.kind = TOKEN_END, .at = to};
    return true;
}
