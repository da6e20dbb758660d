// SPDX-License-Identifier: MIT
// Tokens: numbers, names, operators, and the brackets of arrays.
//
// Brackets are read here as a whole: [1..3] is a range, [j], [j+2], [j-2], [j*2] and [3] are
// indices, and a bracket that touches a name is a piece of that name. Numbers are read without
// regard to the locale. What the tokens mean together is the business of others.
#include "ode/model/parse.h"

#include "base/ascii.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Digits that fit 53 bits, times or divided by a power of ten that is exact: one correct rounding.
static bool exact_value(uint64_t digits, int64_t exponent, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits > (uint64_t)1 << 53 || exponent < -22 || exponent > 22)
        return false;
    *value = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
    return true;
}

static double slow_value(const char *s, uint32_t length) {
    char small[64], *copy = length < sizeof small ? small : malloc((size_t)length + 1);
    if (!copy)
        return NAN;
    memcpy(copy, s, length);
    copy[length] = 0;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = c ? strtod_l(copy, NULL, c) : NAN;
    if (c)
        freelocale(c);
    if (copy != small)
        free(copy);
    return value;
}

uint32_t lexer_number(const char *s, const char *end, double *value) {
    const char *at = s;
    uint64_t digits = 0;
    uint32_t seen = 0, kept = 0;
    int64_t exponent = 0;
    bool fraction = false;
    for (; at < end; at++) {
        if (*at == '.' && !fraction && !(at + 1 < end && at[1] == '.'))
            fraction = true;
        else if (ascii_digit(*at)) {
            seen++;
            kept += digits || *at != '0';
            digits = kept < 20 ? digits * 10 + (uint64_t)(*at - '0') : digits;
            exponent -= fraction;
        } else
            break;
    }
    if (!seen)
        return 0;
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *e = at + 1;
        bool minus = e < end && *e == '-';
        e += e < end && (*e == '-' || *e == '+');
        if (e < end && ascii_digit(*e)) {
            int64_t power = 0;
            for (; e < end && ascii_digit(*e); e++)
                power = power < 1000000000 ? power * 10 + (*e - '0') : power;
            exponent += minus ? -power : power;
            at = e;
        }
    }
    if (kept >= 20 || !exact_value(digits, exponent, value))
        *value = slow_value(s, (uint32_t)(at - s));
    return (uint32_t)(at - s);
}

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
        t->length = lexer_number(c->at, c->end, &t->value);
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
