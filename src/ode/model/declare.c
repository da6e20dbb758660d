// SPDX-License-Identifier: MIT
// Declarations: every name of a model is entered here, once.
//
// A name that is already taken is an error that says where. Names of lines that could not be read
// are entered as bad, so that their uses are not reported again.
#include "ode/model/parse.h"

#include <string.h>

static const char *const kind_words[] = {
    [SYMBOL_STATE] = "a state",    [SYMBOL_PAR] = "a parameter",
    [SYMBOL_CONST] = "a constant", [SYMBOL_DERIVED] = "a derived parameter",
    [SYMBOL_TEMP] = "a temporary",
};

const char *declare_kind_words(enum symbol_kind kind) { return kind_words[kind]; }

// Whether the text has the name there as it is, and not as an array element.
static bool is_spelled(const struct parser *p, const struct name_entry *e, uint32_t at) {
    return e->length <= p->length - at && !memcmp(p->text + at, e->name, e->length);
}

static bool taken(struct parser *p, const struct name_entry *e, uint32_t at) {
    const struct model *m = p->m;
    if (parse_is_reported(p, at))
        return false;
    bool function = e->kind == NAME_FUNCTION, signal = e->kind == NAME_SIGNAL;
    uint32_t first = function ? m->functions.items[e->index].at
                     : signal ? m->signals.items[e->index].at
                              : m->symbols.items[e->index].at;
    const char *what = function                                     ? "a function"
                       : signal && m->signals.items[e->index].table ? "a table"
                       : signal                                     ? "a driver"
                                : kind_words[m->symbols.items[e->index].kind];
    bool element = !is_spelled(p, e, at) || !is_spelled(p, e, first);
    return parse_error(p, at, "`%s` is already %s, see line %u%s", e->name, what,
                       parse_line_number(p, first),
                       element ? "; an array element such as x[1] has the name x1" : "");
}

// The entry for a new name, NULL after an error.
static struct name_entry *claim(struct parser *p, const char *name, uint32_t length, uint32_t at) {
    struct symbol_table *t = p->m->by_name;
    struct name_entry *e = names_exact(t, name, length);
    if (e && e->reserved) {
        parse_error(p, at, "`%s` is a reserved name", e->name);
        return NULL;
    }
    if (e && (e->kind == NAME_SYMBOL || e->kind == NAME_FUNCTION || e->kind == NAME_SIGNAL)) {
        taken(p, e, at);
        return NULL;
    }
    if (p->m->symbols.count + p->m->functions.count + p->m->signals.count >= p->symbols_most) {
        parse_limit(p, at, "the model has too many names");
        return NULL;
    }
    if (e)
        return e;
    return names_add(&p->m->arena, t, arena_strndup(&p->m->arena, name, length), length);
}

uint32_t declare_symbol(struct parser *p, enum symbol_kind kind, const char *name, uint32_t length,
                        uint32_t at) {
    struct model *m = p->m;
    struct name_entry *e = claim(p, name, length, at);
    if (!e)
        return UINT32_MAX;
    uint32_t symbol = m->symbols.count;
    e->kind = NAME_SYMBOL;
    e->index = symbol;
    *vec_push(&m->arena, &m->symbols) = (struct symbol){.name = e->name, .kind = kind, .at = at};
    switch (kind) {
    case SYMBOL_STATE:
        *vec_push(&m->arena, &m->states) = symbol;
        break;
    case SYMBOL_PAR:
        *vec_push(&m->arena, &m->pars) = symbol;
        break;
    case SYMBOL_CONST:
        *vec_push(&m->arena, &m->consts) = symbol;
        break;
    case SYMBOL_DERIVED:
        *vec_push(&m->arena, &m->derived) = symbol;
        break;
    case SYMBOL_TEMP:
        *vec_push(&m->arena, &m->temps) = symbol;
        break;
    }
    return symbol;
}

uint32_t declare_function(struct parser *p, const char *name, uint32_t length, uint32_t at) {
    struct model *m = p->m;
    struct name_entry *e = claim(p, name, length, at);
    if (!e)
        return UINT32_MAX;
    e->kind = NAME_FUNCTION;
    e->index = m->functions.count;
    *vec_push(&m->arena, &m->functions) = (struct function){.name = e->name, .at = at};
    *vec_push(&p->scratch, &p->arguments) = (struct arguments){0};
    return e->index;
}

uint32_t declare_signal(struct parser *p, const char *name, uint32_t length, uint32_t at) {
    struct model *m = p->m;
    struct name_entry *e = claim(p, name, length, at);
    if (!e)
        return UINT32_MAX;
    e->kind = NAME_SIGNAL;
    e->index = m->signals.count;
    *vec_push(&m->arena, &m->signals) = (struct signal){.name = e->name, .at = at};
    return e->index;
}

void declare_bad(struct parser *p, const char *name, uint32_t length) {
    struct symbol_table *t = p->m->by_name;
    if (!length || names_exact(t, name, length))
        return;
    name = arena_strndup(&p->m->arena, name, length);
    names_add(&p->m->arena, t, name, length)->kind = NAME_BAD;
}

struct statement *declare_statement(struct parser *p, enum statement_kind kind, uint32_t target,
                                    uint32_t at, struct span value, struct index index) {
    if (p->statements.count >= 2 * p->symbols_most)
        parse_limit(p, at, "the model has too many statements");
    struct statement *s = vec_push(&p->scratch, &p->statements);
    *s = (struct statement){
        .kind = (uint8_t)kind, .index = index, .target = target, .at = at, .value = value};
    return s;
}
