// SPDX-License-Identifier: MIT
// Lines: what each one is, by its first word or by its left side, and the names it defines.
//
// A line is a declaration if its first word is a keyword, a blank follows, and then not `=`; all
// else is an equation. Lines with a range in their name, and lines between `%[a..b]` and `%`, are
// gone through once for every j. Values are only noted here (declare_statement): they are read when
// all names are known. What we do not run is refused by its name.
#include "ode/model/parse.h"

#include "base/ascii.h"

#include <string.h>

enum action {
    ACT_PAR,
    ACT_CONST,
    ACT_INIT,
    ACT_ALGEBRAIC,
    ACT_AUX,
    ACT_DRIVER,
    ACT_TABLE,
    ACT_SET,
    ACT_EVENT,
    ACT_GLOBAL,
    ACT_DONE,
    ACT_BDRY,
    ACT_IGNORE,
    ACT_REFUSE
};

static const struct keyword {
    const char *word;
    enum action action;
    const char *why; // ACT_REFUSE
} keywords[] = {
    {"par", ACT_PAR, NULL},
    {"p", ACT_PAR, NULL},
    {"param", ACT_PAR, NULL},
    {"params", ACT_PAR, NULL},
    {"parameter", ACT_PAR, NULL},
    {"parameters", ACT_PAR, NULL},
    {"const", ACT_CONST, NULL},
    {"num", ACT_CONST, NULL},
    {"n", ACT_CONST, NULL},
    {"number", ACT_CONST, NULL},
    {"init", ACT_INIT, NULL},
    {"i", ACT_INIT, NULL},
    {"alg", ACT_ALGEBRAIC, NULL},
    {"solv", ACT_ALGEBRAIC, NULL},
    {"solve", ACT_ALGEBRAIC, NULL},
    {"aux", ACT_AUX, NULL},
    {"observe", ACT_AUX, NULL},
    {"set", ACT_SET, NULL},
    {"done", ACT_DONE, NULL},
    {"d", ACT_DONE, NULL},
    {"bdry", ACT_BDRY, NULL},
    {"bndry", ACT_BDRY, NULL},
    {"b", ACT_BDRY, NULL},
    {"only", ACT_IGNORE, NULL},
    {"option", ACT_IGNORE, NULL},
    {"options", ACT_IGNORE, NULL},
    {"event", ACT_EVENT, NULL},
    {"global", ACT_GLOBAL, NULL},
    {"driver", ACT_DRIVER, NULL},
    {"table", ACT_TABLE, NULL},
    {"tabular", ACT_TABLE, NULL},
    {"special", ACT_REFUSE, "XPP's network operators (`special`) are not supported"},
    {"network", ACT_REFUSE, "XPP's network operators (`network`) are not supported"},
    {"volt", ACT_REFUSE, "Volterra equations (`volt`) are not supported"},
    {"volterra", ACT_REFUSE, "Volterra equations (`volterra`) are not supported"},
    {"wiener", ACT_REFUSE, "stochastic equations (`wiener`) are not supported"},
    {"markov", ACT_REFUSE, "Markov processes (`markov`) are not supported"},
    {"export", ACT_REFUSE, "external functions (`export`) are not supported"},
};

static const struct keyword *find_keyword(const struct parser *p, const struct line *l,
                                          uint32_t *rest) {
    uint32_t at = l->from;
    while (at < l->to && text_word(p->text[at]))
        at++;
    uint32_t length = at - l->from;
    if (!length || (at < l->to && !text_blank(p->text[at])))
        return NULL;
    while (at < l->to && text_blank(p->text[at]))
        at++;
    bool leibniz = length == 1 && (p->text[l->from] | 0x20) == 'd' && p->text[at] == '/';
    if (at < l->to && (p->text[at] == '=' || leibniz)) // `d / dt(x)=` is an equation
        return NULL;
    *rest = at;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i].word) == length &&
            ascii_same_prefix(keywords[i].word, p->text + l->from, length))
            return &keywords[i];
    return NULL;
}

// Enters the names of a line that cannot be read, up to one of `ends`, as bad ones.
static void give_up(struct parser *p, uint32_t from, uint32_t to, const char *ends) {
    const char *s = p->text;
    for (uint32_t at = from; at < to && !strchr(ends, s[at]);) {
        uint32_t length = 0;
        while (at + length < to && text_word(s[at + length]))
            length++;
        if (length && text_letter(s[at])) {
            declare_bad(p, s + at, length);
            if (s[at] == 'd' && at + length < to && s[at + length] == '/')
                declare_bad(p, s + at + 1, length - 1);
        }
        at += length ? length : 1;
    }
}

bool lines_lex(struct parser *p, struct line *l, uint32_t from) {
    if (!l->lexed) {
        l->lexed = true;
        l->bad = !lexer_read(p, from, l->to, &l->tokens);
        if (l->bad)
            give_up(p, l->from, l->to, "={%");
    }
    return !l->bad;
}

// ---- Equations ----------------------------------------------------------------------------------

enum left_kind { LEFT_DERIVATIVE, LEFT_INIT, LEFT_FUNCTION, LEFT_TEMP, LEFT_DERIVED, LEFT_ROW };

struct left {
    enum left_kind kind;
    uint32_t name;    // first token of the name, or the 0 of a row
    uint32_t skip;    // bytes of it that are not the name: the d of dx/dt
    struct span args; // LEFT_FUNCTION
    uint32_t value;   // first token of the right side
};

static bool token_is(const struct parser *p, uint32_t pos, const char *word) {
    const struct token *t = &p->tokens.items[pos];
    return t->kind == TOKEN_NAME && t->length == strlen(word) &&
           ascii_same_prefix(p->text + t->at, word, t->length);
}

static bool kinds_are(const struct parser *p, uint32_t pos, uint32_t count,
                      const enum token_kind *kinds) {
    for (uint32_t i = 0; i < count; i++) // stops at TOKEN_END, which is never asked for
        if (p->tokens.items[pos + i].kind != kinds[i])
            return false;
    return true;
}
#define KINDS(p, pos, ...)                                                                         \
    kinds_are((p), (pos),                                                                          \
              (uint32_t)(sizeof((enum token_kind[]){__VA_ARGS__}) / sizeof(enum token_kind)),      \
              (enum token_kind[]){__VA_ARGS__})

// dx/dt= and d/dt(x)=; pos is at the `/`.
static bool read_leibniz(const struct parser *p, uint32_t pos, struct left *left) {
    const struct token *d = &p->tokens.items[left->name];
    if (p->tokens.items[pos].op != OP_DIV || (p->text[d->at] != 'd' && p->text[d->at] != 'D') ||
        !token_is(p, pos + 1, "dt"))
        return false;
    left->kind = LEFT_DERIVATIVE;
    pos += 2;
    if (d->length > 1) {
        left->skip = 1;
        left->value = pos + 1;
        return text_letter(p->text[d->at + 1]) && p->tokens.items[pos].kind == TOKEN_ASSIGN;
    }
    if (!KINDS(p, pos, TOKEN_OPEN, TOKEN_NAME))
        return false;
    left->name = pos + 1;
    pos += 1 + arrays_name_tokens(p, left->name, NULL, NULL);
    left->value = pos + 2;
    return KINDS(p, pos, TOKEN_CLOSE, TOKEN_ASSIGN);
}

// x(0)= and f(a,b)=; pos is behind the `(`.
static bool read_parenthesis(struct parser *p, uint32_t pos, struct left *left) {
    const struct token *t = p->tokens.items;
    if (KINDS(p, pos, TOKEN_NUMBER, TOKEN_CLOSE, TOKEN_ASSIGN) && t[pos].value == 0) {
        left->kind = LEFT_INIT;
        left->value = pos + 3;
        return true;
    }
    if (token_is(p, pos, "t") && KINDS(p, pos + 1, TOKEN_OPERATOR, TOKEN_NUMBER, TOKEN_CLOSE))
        return parse_error(p, t[left->name].at, "maps (`x(t+1)=`) are not supported");
    left->kind = LEFT_FUNCTION;
    left->args.first = pos;
    while (KINDS(p, pos, TOKEN_NAME, TOKEN_COMMA))
        pos += 2;
    left->args.end = pos + 1;
    left->value = pos + 3;
    return KINDS(p, pos, TOKEN_NAME, TOKEN_CLOSE, TOKEN_ASSIGN) ||
           parse_error(p, t[pos].at, "expected the name of an argument here, as in f(a,b)=a+b");
}

static bool read_left(struct parser *p, uint32_t first, struct left *left) {
    const struct token *t = p->tokens.items;
    if (KINDS(p, first, TOKEN_NUMBER, TOKEN_ASSIGN) && t[first].value == 0) {
        *left = (struct left){.kind = LEFT_ROW, .name = first, .value = first + 2};
        return true;
    }
    *left = (struct left){.kind = LEFT_TEMP, .name = first};
    if (t[first].kind == TOKEN_NAME) {
        uint32_t pos = first + arrays_name_tokens(p, first, NULL, NULL);
        left->value = pos + 1;
        if (t[pos].kind == TOKEN_ASSIGN)
            return true;
        if (KINDS(p, pos, TOKEN_PRIME, TOKEN_ASSIGN)) {
            left->kind = LEFT_DERIVATIVE;
            left->value = pos + 2;
            return true;
        }
        if (KINDS(p, pos, TOKEN_PRIME, TOKEN_PRIME))
            return parse_error(p, t[pos].at,
                               "write a second derivative as two equations: "
                               "x'=v and v'=...");
        if (t[pos].kind == TOKEN_OPEN)
            return read_parenthesis(p, pos + 1, left);
        if (t[pos].kind == TOKEN_OPERATOR && read_leibniz(p, pos, left))
            return true;
    }
    return parse_error(p, t[first].at,
                       "this line is not understood; expected a declaration such as `par a=1` or "
                       "an equation such as x'=...");
}

static void declare_arguments(struct parser *p, uint32_t function, struct span args) {
    struct arguments a = {0};
    a.count = (args.end - args.first + 1) / 2;
    if (a.count > ARGUMENTS_MOST) {
        parse_error(p, p->tokens.items[args.first].at, "a function has at most %d arguments",
                    ARGUMENTS_MOST);
        a.count = ARGUMENTS_MOST;
    }
    a.names = arena_new(&p->scratch, const char *, a.count);
    for (uint32_t i = 0; i < a.count; i++) {
        const struct token *t = &p->tokens.items[args.first + 2 * i];
        a.names[i] = arena_strndup(&p->scratch, p->text + t->at, t->length);
        for (uint32_t k = 0; k < i; k++)
            if (ascii_same(a.names[i], a.names[k]))
                parse_error(p, t->at, "`%s` is twice among the arguments%s", a.names[i],
                            strcmp(a.names[i], a.names[k]) ? ", which ignore case" : "");
    }
    p->arguments.items[function] = a;
    p->m->functions.items[function].args = a.count;
}

static void declare_row(struct parser *p, uint32_t at, struct span value, struct index index) {
    struct model *m = p->m;
    if (m->rows.count >= p->symbols_most) {
        parse_limit(p, at, "the model has too many algebraic rows");
        return;
    }
    declare_statement(p, STATEMENT_ROW, m->rows.count, at, value, index);
    *vec_push(&m->arena, &m->rows) = (struct row){.at = at};
}

static void declare_left(struct parser *p, const struct line *l, const struct left *left,
                         struct index index) {
    static const enum symbol_kind kinds[] = {[LEFT_DERIVATIVE] = SYMBOL_STATE,
                                             [LEFT_TEMP] = SYMBOL_TEMP,
                                             [LEFT_DERIVED] = SYMBOL_DERIVED};
    uint32_t pos = left->name, length, at = p->tokens.items[pos].at + left->skip;
    struct span value = {left->value, l->tokens.end};
    if (left->kind == LEFT_ROW) {
        declare_row(p, at, value, index);
        return;
    }
    const char *name = arrays_name(p, &pos, index, &length);
    if (!name)
        return;
    name += left->skip;
    length -= left->skip;
    if (left->kind == LEFT_INIT) {
        declare_statement(p, STATEMENT_INIT, 0, at, value, index)->name =
            arena_strndup(&p->scratch, name, length);
    } else if (left->kind == LEFT_FUNCTION) {
        uint32_t f = declare_function(p, name, length, at);
        if (f == UINT32_MAX)
            return;
        declare_arguments(p, f, left->args);
        declare_statement(p, STATEMENT_FUNCTION, f, at, value, index);
    } else {
        uint32_t s = declare_symbol(p, kinds[left->kind], name, length, at);
        if (s != UINT32_MAX)
            declare_statement(p, STATEMENT_EXPR, s, at, value, index);
    }
}

// The keyword that a word is the beginning of (XPP takes `w` for wiener), or that is near.
static const struct keyword *nearest_keyword(const char *word) {
    struct nearest n = {.wanted = word};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        nearest_offer(&n, keywords[i].word);
    const char *best = nearest_best(&n);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (best ? best == keywords[i].word
                 : ascii_same_prefix(word, keywords[i].word, strlen(word)))
            return &keywords[i];
    return NULL;
}

// A line of words without `=` that starts with none of the keywords: `parm a`, `mksol b {c}`; or
// of one word, when it is near a keyword: `dome`.
static bool is_unknown_declaration(struct parser *p, const struct line *l) {
    uint32_t at = l->from;
    while (at < l->to && text_word(p->text[at]))
        at++;
    uint32_t length = at - l->from;
    if (!length || !text_letter(p->text[l->from]) || (at < l->to && !text_blank(p->text[at])))
        return false;
    bool alone = at == l->to;
    while (at < l->to && text_blank(p->text[at]))
        at++;
    if (!alone && !text_letter(p->text[at]) && p->text[at] != '{')
        return false;
    const char *word = arena_strndup(&p->scratch, p->text + l->from, length);
    const struct keyword *k = nearest_keyword(word);
    if (alone && !k)
        return false;
    const char *why = k && k->action == ACT_REFUSE ? k->why : "";
    parse_error(p, l->from, "`%.40s` is not a declaration we know%s%s%s%s%s", word,
                k ? "; did you mean `" : "", k ? k->word : "", k ? "`?" : "", *why ? " " : "", why);
    give_up(p, at, l->to, "=");
    return true;
}

static void read_equation(struct parser *p, struct line *l, struct index index) {
    bool derived = p->text[l->from] == '!';
    if (is_unknown_declaration(p, l))
        return;
    if (!lines_lex(p, l, l->from + derived))
        return;
    struct left left = {0};
    if (!read_left(p, l->tokens.first, &left)) {
        give_up(p, l->from + derived, l->to, "={%");
        return;
    }
    if (derived && left.kind != LEFT_TEMP) {
        parse_error(p, l->from, "expected a derived parameter here, as in !name=expression");
        return;
    }
    if (derived)
        left.kind = LEFT_DERIVED;
    const struct token *range = NULL;
    arrays_name_tokens(p, left.name, &range, NULL);
    if (!range) {
        declare_left(p, l, &left, index);
        return;
    }
    if (index.known) {
        parse_error(p, range->at, "a range inside a `%%` block: use [j]");
        return;
    }
    if (!arrays_check_name(p, left.name, range))
        return;
    int32_t from = range->times, to = range->plus;
    for (int64_t j = from; j <= to && !p->stop; j++)
        declare_left(p, l, &left, (struct index){j, true, j > from});
}

// ---- Observables --------------------------------------------------------------------------------

static void declare_observable(struct parser *p, const struct line *l, const char *label,
                               uint32_t length, uint32_t at, struct index index) {
    struct model *m = p->m;
    if (names_exact(p->labels, label, length)) {
        parse_error(p, at, "there is already an observable `%.*s`", (int)length, label);
        return;
    }
    if (m->observables.count >= p->symbols_most) {
        parse_limit(p, at, "the model has too many observables");
        return;
    }
    label = arena_strndup(&m->arena, label, length);
    names_add(&p->scratch, p->labels, label, length);
    declare_statement(p, STATEMENT_OBSERVABLE, m->observables.count, at, l->tokens, index);
    *vec_push(&m->arena, &m->observables) = (struct observable){.label = label, .at = at};
}

// The label with its bracket (text[open..close)) replaced by a number.
static void declare_element(struct parser *p, const struct line *l, struct span label,
                            struct span bracket, int64_t value, struct index index) {
    const char *s = p->text;
    const char *name = arena_printf(&p->scratch, "%.*s%lld%.*s", (int)(bracket.first - label.first),
                                    s + label.first, (long long)value,
                                    (int)(label.end - bracket.end), s + bracket.end);
    declare_observable(p, l, name, (uint32_t)strlen(name), label.first, index);
}

// Whether the text behind a `[` is meant as an index: [3], [1..3], [j+1]; a label may hold others.
static bool is_index(const char *s) {
    while (text_blank(*s))
        s++;
    return (*s >= '0' && *s <= '9') || *s == '-' || ((*s == 'j' || *s == 'J') && !text_word(s[1]));
}

static void read_observable(struct parser *p, struct line *l, uint32_t from, struct index index) {
    const char *s = p->text, *equals = memchr(s + from, '=', l->to - from);
    struct span label = {from, equals ? (uint32_t)(equals - s) : l->to};
    while (label.end > from && text_blank(s[label.end - 1]))
        label.end--;
    if (!equals || label.end == label.first) {
        parse_error(p, from, "expected a label and `=` here, as in `aux r=sqrt(x^2+y^2)`");
        return;
    }
    if (!lines_lex(p, l, (uint32_t)(equals - s) + 1))
        return;
    const char *open = memchr(s + label.first, '[', label.end - label.first);
    const char *close = open ? memchr(open, ']', (size_t)(s + label.end - open)) : NULL;
    if (!close || !is_index(open + 1)) {
        declare_observable(p, l, s + label.first, label.end - label.first, label.first, index);
        return;
    }
    const char *second = memchr(close, '[', (size_t)(s + label.end - close));
    if (second && is_index(second + 1)) {
        parse_error(p, (uint32_t)(second - s), "two indices in one label; use names such as x12");
        return;
    }
    struct span bracket = {(uint32_t)(open - s), (uint32_t)(close - s) + 1}, tokens;
    if (!lexer_read(p, bracket.first, bracket.end, &tokens))
        return;
    const struct token t = p->tokens.items[tokens.first];
    int64_t value;
    if (t.kind == TOKEN_INDEX) {
        if (arrays_value(p, &t, index, &value))
            declare_element(p, l, label, bracket, value, index);
    } else if (index.known)
        parse_error(p, t.at, "a range inside a `%%` block: use [j]");
    else if (arrays_check_range(p, &t))
        for (int64_t j = t.times; j <= t.plus && !p->stop; j++)
            declare_element(p, l, label, bracket, j, (struct index){j, true, j > t.times});
}

// ---- All lines ----------------------------------------------------------------------------------

static void refuse(struct parser *p, const struct line *l, uint32_t rest, const char *why) {
    parse_error(p, l->from, "%s", why);
    give_up(p, rest, l->to, "={%");
    p->after_refusal = true;
}

static void read_line(struct parser *p, struct line *l, struct index index) {
    if (p->text[l->from] == '{' && p->after_refusal)
        return;
    p->steps += index.repeated ? 8 : 0; // a line costs more than an item
    if (p->steps > p->steps_most) {
        parse_limit(p, l->from, "the `%` blocks of the model are too large");
        return;
    }
    p->after_refusal = false;
    if (p->text[l->from] == '#') {
        parse_error(p, l->from, "`#include` is not supported; copy the file to this place");
        return;
    }
    uint32_t rest;
    const struct keyword *k = find_keyword(p, l, &rest);
    if (index.known &&
        (p->text[l->from] == '@' || (k && (k->action == ACT_SET || k->action == ACT_TABLE)))) {
        parse_error(p, l->from, "this cannot be inside a `%%` block");
        return;
    }
    if (p->text[l->from] == '@') {
        lists_options(p, l, l->from + 1);
        return;
    }
    if (!k) {
        read_equation(p, l, index);
        return;
    }
    switch (k->action) {
    case ACT_PAR:
        lists_read(p, l, rest, LIST_PAR, index);
        break;
    case ACT_CONST:
        lists_read(p, l, rest, LIST_CONST, index);
        break;
    case ACT_INIT:
        lists_read(p, l, rest, LIST_INIT, index);
        break;
    case ACT_ALGEBRAIC:
        lists_read(p, l, rest, LIST_ALGEBRAIC, index);
        break;
    case ACT_AUX:
        read_observable(p, l, rest, index);
        break;
    case ACT_DRIVER:
        lists_read(p, l, rest, LIST_DRIVER, index);
        break;
    case ACT_TABLE:
        driver_table(p, l, rest);
        break;
    case ACT_SET:
        lists_set(p, l, rest);
        break;
    case ACT_EVENT:
        event_line(p, l, rest, index);
        break;
    case ACT_GLOBAL:
        event_global(p, l, rest, index);
        break;
    case ACT_BDRY:
        if (!p->boundary_at)
            p->boundary_at = l->from + 1;
        break;
    case ACT_REFUSE:
        refuse(p, l, rest, k->why);
        break;
    case ACT_DONE: // see is_done
        parse_error(p, l->from, "`d` and a blank is the end of a model; write dx/dt=...");
        give_up(p, rest, l->to, "/");
        break;
    case ACT_IGNORE:
        break;
    }
}

static void cut_lines(struct parser *p) {
    for (uint32_t from = 0; from < p->length;) {
        const char *end = memchr(p->text + from, '\n', p->length - from);
        uint32_t to = end ? (uint32_t)(end - p->text) : p->length, next = to + 1;
        while (from < to && text_blank(p->text[from]))
            from++;
        while (to > from && text_blank(p->text[to - 1]))
            to--;
        if (to > from)
            *vec_push(&p->scratch, &p->lines) = (struct line){.from = from, .to = to};
        from = next;
    }
}

// `x/dt=`, which was `dx/dt=` but for a blank.
static bool is_half_derivative(const char *s) {
    s += strcspn(s, "/=\n");
    s += *s == '/';
    s += strspn(s, " ");
    return ascii_same_prefix(s, "dt", 2) && s[2 + strspn(s + 2, " ")] == '=';
}

static bool is_done(const struct parser *p, const struct line *l) {
    uint32_t rest;
    const struct keyword *k = find_keyword(p, l, &rest);
    return k && k->action == ACT_DONE && !is_half_derivative(p->text + rest);
}

// The lines of a `%[a..b]` block, whose head is line `head`; returns the line of its closing `%`.
static uint32_t read_block(struct parser *p, uint32_t head) {
    struct line *l = p->lines.items;
    uint32_t end = head + 1;
    while (end < p->lines.count && p->text[l[end].from] != '%' && !is_done(p, &l[end]))
        end++;
    struct span tokens;
    if (end >= p->lines.count || p->text[l[end].from] != '%') {
        parse_error(p, l[head].from, "this `%%` block is not closed by a line with `%%`");
        return end - 1;
    }
    if (!lexer_read(p, l[head].from + 1, l[head].to, &tokens))
        return end;
    const struct token range = p->tokens.items[tokens.first];
    if (range.kind != TOKEN_RANGE || tokens.end != tokens.first + 1) {
        parse_error(p, l[head].from, "expected a range after `%%`, as in %%[1..3]");
        return end;
    }
    if (!arrays_check_range(p, &range) || end == head + 1)
        return end;
    for (int64_t j = range.times; j <= range.plus && !p->stop; j++)
        for (uint32_t i = head + 1; i < end && !p->stop; i++)
            read_line(p, &l[i], (struct index){j, true, j > range.times});
    return end;
}

void lines_read(struct parser *p) {
    cut_lines(p);
    for (uint32_t i = 0; i < p->lines.count && !p->stop; i++) {
        struct line *l = &p->lines.items[i];
        if (is_done(p, l)) {
            p->m->done = true;
            while (i + 1 < p->lines.count && p->lines.items[i + 1].from < p->m->added)
                i++;
            continue;
        }
        if (p->text[l->from] != '%')
            read_line(p, l, (struct index){0});
        else if (l->to > l->from + 1)
            i = read_block(p, i);
        else
            parse_error(p, l->from, "this `%%` closes no block");
    }
}
