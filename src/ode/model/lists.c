// SPDX-License-Identifier: MIT
// Lists: `par a=1, b=2`, `init x=1 y=2`, `alg z=1`, `@ total=40,dt=.05`, `set name {a=1,b=2}`.
//
// Items are separated by commas, or by a blank before the next `name =`. In declarations a range in
// a name holds for the items after it on the same line, which may use [j]. Options and sets are
// kept as text: what they mean is judged by the option table.
#include "ode/model/parse.h"

#include <string.h>

// ---- Declarations -------------------------------------------------------------------------------

struct item_text {
    uint32_t name;     // first token
    struct span value; // {0,0}: none was given
};

// What follows the name at pos: behind it, and behind the (0) of an initial value.
static uint32_t behind_name(const struct parser *p, uint32_t pos, bool initial) {
    const struct token *t = p->tokens.items;
    pos += arrays_name_tokens(p, pos, NULL, NULL);
    if (initial && t[pos].kind == TOKEN_OPEN && t[pos + 1].kind == TOKEN_NUMBER &&
        t[pos + 1].value == 0 && t[pos + 2].kind == TOKEN_CLOSE)
        pos += 3;
    return pos;
}

static uint32_t value_end(const struct parser *p, uint32_t pos, uint32_t end, bool initial) {
    uint32_t depth = 0;
    for (; pos < end; pos++) {
        const struct token *t = &p->tokens.items[pos];
        if (t->kind == TOKEN_OPEN)
            depth++;
        else if (t->kind == TOKEN_CLOSE)
            depth -= depth > 0;
        else if (depth == 0 && t->kind == TOKEN_COMMA)
            break;
        else if (depth == 0 && t->kind == TOKEN_NAME && !t->glued &&
                 p->tokens.items[behind_name(p, pos, initial)].kind == TOKEN_ASSIGN)
            break;
    }
    return pos;
}

static void declare_item(struct parser *p, const struct item_text *item, enum list_kind kind,
                         struct index index) {
    static const enum symbol_kind kinds[] = {
        [LIST_PAR] = SYMBOL_PAR, [LIST_CONST] = SYMBOL_CONST, [LIST_ALGEBRAIC] = SYMBOL_STATE};
    uint32_t pos = item->name, length, at = p->tokens.items[pos].at;
    const char *name = arrays_name(p, &pos, index, &length);
    if (!name)
        return;
    uint32_t symbol = 0;
    if (kind == LIST_DRIVER) {
        if (item->value.end)
            parse_error(p, at, "a driver has no value here; its samples come with --driver");
        declare_signal(p, name, length, at);
        return;
    }
    if (kind != LIST_INIT)
        symbol = declare_symbol(p, kinds[kind], name, length, at);
    if (symbol == UINT32_MAX)
        return;
    if (kind == LIST_ALGEBRAIC)
        p->m->symbols.items[symbol].algebraic = true;
    if (kind == LIST_INIT || (kind == LIST_ALGEBRAIC && item->value.end))
        declare_statement(p, STATEMENT_INIT, 0, at, item->value, index)->name =
            arena_strndup(&p->scratch, name, length);
    else if (item->value.end)
        declare_statement(p, STATEMENT_VALUE, symbol, at, item->value, index);
}

// An item for every j of the range that holds here; once when it uses none.
static void declare_items(struct parser *p, const struct item_text *item, enum list_kind kind,
                          struct index index, struct token *range) {
    const struct token *own = NULL;
    bool uses_j = false;
    arrays_name_tokens(p, item->name, &own, &uses_j);
    if (own && index.known) {
        parse_error(p, own->at, "a range inside a `%%` block: use [j]");
        return;
    }
    if (own && !arrays_check_name(p, item->name, own))
        return;
    if (own)
        *range = *own;
    if (index.known || range->kind != TOKEN_RANGE || (!own && !uses_j)) {
        declare_item(p, item, kind, index);
        return;
    }
    for (int64_t j = range->times; j <= range->plus && !p->stop; j++)
        declare_item(p, item, kind, (struct index){j, true, j > range->times});
}

void lists_read(struct parser *p, struct line *l, uint32_t from, enum list_kind kind,
                struct index index) {
    if (!lines_lex(p, l, from))
        return;
    bool initial = kind == LIST_INIT || kind == LIST_ALGEBRAIC;
    struct token range = {.kind = TOKEN_END};
    for (uint32_t pos = l->tokens.first; pos < l->tokens.end && !p->stop;) {
        const struct token *t = &p->tokens.items[pos];
        if (t->kind == TOKEN_COMMA) {
            pos++;
            continue;
        }
        if (t->kind != TOKEN_NAME) {
            parse_error(p, t->at, "expected a name here, found %s", parse_token_text(p, t));
            return;
        }
        struct item_text item = {.name = pos};
        pos = behind_name(p, pos, initial);
        if (p->tokens.items[pos].kind == TOKEN_ASSIGN) {
            item.value.first = pos + 1;
            pos = item.value.end = value_end(p, pos + 1, l->tokens.end, initial);
        }
        declare_items(p, &item, kind, index, &range);
    }
}

// ---- Options and sets ---------------------------------------------------------------------------

static bool ends_name(char c) { return text_blank(c) || c == '=' || c == ',' || c == '}'; }

static uint32_t skip_blanks(const struct parser *p, uint32_t at, uint32_t to) {
    while (at < to && text_blank(p->text[at]))
        at++;
    return at;
}

// Whether `name =` is here.
static bool starts_item(const struct parser *p, uint32_t at, uint32_t to) {
    if (at >= to || !text_letter(p->text[at]))
        return false;
    while (at < to && !ends_name(p->text[at]))
        at++;
    at = skip_blanks(p, at, to);
    return at < to && p->text[at] == '=' && !(at + 1 < to && p->text[at + 1] == '=');
}

static uint32_t setting_end(const struct parser *p, uint32_t at, uint32_t to) {
    uint32_t depth = 0;
    for (; at < to; at++) {
        char c = p->text[at];
        if (c == '(')
            depth++;
        else if (c == ')')
            depth -= depth > 0;
        else if (depth == 0 && c == ',')
            break;
        else if (depth == 0 && text_blank(c)) {
            at = skip_blanks(p, at, to) - 1;
            if (starts_item(p, at + 1, to))
                break;
        }
    }
    return at;
}

// Where the quote ends that a value is in; 0: it is in none.
static uint32_t quote_end(const struct parser *p, uint32_t at, uint32_t to) {
    char quote = at < to ? p->text[at] : 0;
    if (quote != '\'' && quote != '"')
        return 0;
    const char *end = memchr(p->text + at + 1, quote, to - at - 1);
    return end ? (uint32_t)(end - p->text) : 0;
}

bool lists_next(struct parser *p, struct arena *a, uint32_t *at, uint32_t to, struct setting *out) {
    while (*at < to && (text_blank(p->text[*at]) || p->text[*at] == ','))
        ++*at;
    if (*at == to)
        return false;
    uint32_t name = *at;
    while (*at < to && !ends_name(p->text[*at]))
        ++*at;
    if (!text_letter(p->text[name]))
        return parse_error(p, name, "expected name=value here");
    *out = (struct setting){.at = name, .value = "", .value_at = *at};
    out->name = arena_strndup(a, p->text + name, *at - name);
    uint32_t equals = skip_blanks(p, *at, to);
    if (equals == to || p->text[equals] != '=')
        return true;
    uint32_t value = skip_blanks(p, equals + 1, to), end = quote_end(p, value, to);
    *at = end ? end + 1 : setting_end(p, value, to);
    value += end != 0;
    end = end ? end : *at;
    while (end > value && text_blank(p->text[end - 1]))
        end--;
    out->value = arena_strndup(a, p->text + value, end - value);
    out->value_at = value;
    return true;
}

void lists_options(struct parser *p, const struct line *l, uint32_t from) {
    struct setting s;
    while (lists_next(p, &p->m->arena, &from, l->to, &s))
        *vec_push(&p->m->arena, &p->m->options) = s;
}

void lists_set(struct parser *p, const struct line *l, uint32_t from) {
    struct arena *a = &p->m->arena;
    uint32_t name = from;
    while (from < l->to && text_word(p->text[from]))
        from++;
    uint32_t length = from - name, open = skip_blanks(p, from, l->to);
    if (!length || open == l->to || p->text[open] != '{' || p->text[l->to - 1] != '}') {
        parse_error(p, name, "expected a name and values in braces here, as in `set one {a=1}`");
        return;
    }
    struct value_set set = {.name = arena_strndup(a, p->text + name, length), .at = name};
    if (names_exact(p->sets, set.name, length)) {
        parse_error(p, name, "there is already a set `%s`", set.name);
        return;
    }
    names_add(&p->scratch, p->sets, set.name, length);
    struct setting s;
    for (uint32_t at = open + 1; lists_next(p, a, &at, l->to - 1, &s);)
        *vec_push(a, &set.settings) = s;
    *vec_push(a, &p->m->sets) = set;
}
