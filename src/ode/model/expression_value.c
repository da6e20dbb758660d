// SPDX-License-Identifier: MIT
// Expressions where a value is wanted: numbers, names of every kind, and calls that open here.
//
// All names are known when this runs, so they are resolved at once.
#include "ode/model/expression.h"

#include "base/ascii.h"

#include <math.h>
#include <string.h>

static bool open_frame(struct reader *x, enum pending_kind kind, uint32_t at, uint32_t index) {
    if (expression_token(x, x->pos)->kind != TOKEN_OPEN)
        return expression_wrong(x, "`(`");
    expression_push(x, kind, at)->index = index;
    x->pos++;
    return true;
}

static const struct name_entry *folded_entry(struct reader *x, const char *name, uint32_t length,
                                             uint32_t at) {
    struct parser *p = x->p;
    struct name_entry *e = names_folded(p->m->by_name, name, length);
    if (!e || e->kind == NAME_BAD)
        return NULL;
    if (e->kind == NAME_OP || e->kind == NAME_WORD || e->kind == NAME_REFUSED)
        return e;
    if (!x->index.repeated)
        parse_note(p, at, "`%s` is read as `%s`", name, e->name);
    if (p->values)
        return e;
    // Under this spelling too, so that the note comes once.
    name = arena_strndup(&p->m->arena, name, length);
    return names_alias(&p->m->arena, p->m->by_name, name, e);
}

// What a name that is no argument stands for: exactly that one, else the only one ignoring case.
static const struct name_entry *find_entry(struct reader *x, const char *name, uint32_t length,
                                           uint32_t at) {
    const struct name_entry *e = names_exact(x->p->m->by_name, name, length);
    return e ? e : folded_entry(x, name, length, at);
}

// Arguments hide every other name, whatever the case: f(V)=v^2 squares its argument, as in XPP.
static uint32_t argument_of(const struct reader *x, const char *name) {
    const struct arguments *a = x->arguments;
    for (uint32_t i = 0; a && i < a->count; i++)
        if (ascii_same(a->names[i], name))
            return i;
    return UINT32_MAX;
}

static bool open_shift(struct reader *x, uint32_t at) {
    if (!open_frame(x, PENDING_SHIFT, at, 0))
        return false;
    if (expression_token(x, x->pos)->kind != TOKEN_NAME)
        return expression_wrong(x, "a name, as in shift(x0,2)");
    uint32_t length, name_at = expression_place(x, x->pos);
    const char *name = arrays_name(x->p, &x->pos, x->index, &length);
    if (!name)
        return false;
    if (argument_of(x, name) != UINT32_MAX)
        return parse_error(x->p, name_at,
                           "shift() needs a name of the model first; `%s` is an "
                           "argument",
                           name);
    const struct name_entry *e = find_entry(x, name, length, name_at);
    if (e && e->kind == NAME_BAD)
        return false;
    if (!e || e->kind != NAME_SYMBOL)
        return parse_error(x->p, name_at, "shift() needs a name of the model first; `%s` is none",
                           name);
    expression_top(x)->index = e->index;
    if (expression_token(x, x->pos)->kind != TOKEN_COMMA)
        return expression_wrong(x, "`,`");
    x->pos++;
    return true;
}

static bool read_word(struct reader *x, enum word word, uint32_t at) {
    switch (word) {
    case WORD_IF:
        return open_frame(x, PENDING_IF, at, 0);
    case WORD_SUM:
        return open_frame(x, PENDING_SUM, at, 0);
    case WORD_SHIFT:
        return open_shift(x, at);
    case WORD_NOT:
        if (expression_token(x, x->pos)->kind == TOKEN_OPEN)
            return open_frame(x, PENDING_OP, at, OP_NOT);
        *expression_push(x, PENDING_PREFIX, at) = (struct pending){
            .kind = PENDING_PREFIX, .op = OP_NOT, .precedence = PRECEDENCE_NOT, .at = at};
        return true;
    case WORD_THEN:
    case WORD_ELSE:
    case WORD_OF:
    case WORD_AND:
    case WORD_OR:
        break;
    }
    x->pos--;
    return expression_wrong(x, "a value");
}

// Reports a name nobody defined, once, and remembers it as bad.
static bool unknown_name(struct reader *x, const char *name, uint32_t length, uint32_t at) {
    struct parser *p = x->p;
    uint32_t base = length;
    while (base > 1 && name[base - 1] >= '0' && name[base - 1] <= '9')
        base--;
    struct name_entry *e = names_exact(p->m->by_name, name, base);
    if ((!e || e->kind != NAME_BAD) && !parse_is_reported(p, at)) {
        const struct arguments *a = x->arguments ? x->arguments : &p->observables;
        const char *near = names_nearest(p->m, name, length, a->names, a->count);
        if (ascii_same(name, "pow") || ascii_same(name, "power"))
            parse_error(p, at, "`%s` is not defined; a power is written x^y", name);
        else
            parse_error(p, at, "`%.60s` is not defined%s%s%s", name, near ? "; did you mean `" : "",
                        near ? near : "", near ? "`?" : "");
    }
    if (!p->values)
        declare_bad(p, name, length);
    return !p->values;
}

static bool read_bad(struct reader *x, uint32_t at) {
    if (expression_token(x, x->pos)->kind == TOKEN_OPEN)
        return open_frame(x, PENDING_BAD, at, 0);
    x->want_value = false;
    return expression_emit(x, OP_NUMBER, at, 0, 1);
}

// The argument of a look-up is there; what it is looked up in follows.
bool expression_lookup(struct reader *x, uint32_t signal, uint32_t at) {
    return expression_emit(x, OP_NUMBER, at, 0, signal) &&
           expression_emit(x, OP_NUMBER, at, 0, 0) && expression_emit(x, OP_LOOKUP, at, 0, 0);
}

static bool read_signal(struct reader *x, const struct name_entry *e, uint32_t at) {
    if (x->p->m->signals.items[e->index].table)
        return open_frame(x, PENDING_TABLE, at, e->index);
    if (expression_token(x, x->pos)->kind == TOKEN_OPEN)
        return parse_error(x->p, at, "`%s` is a driver, not a function", e->name);
    x->want_value = false;
    return expression_emit(x, OP_TIME, at, 0, 0) && expression_lookup(x, e->index, at);
}

static bool read_entry(struct reader *x, const struct name_entry *e, uint32_t at) {
    switch ((enum name_kind)e->kind) {
    case NAME_FUNCTION:
        return open_frame(x, PENDING_CALL, at, e->index);
    case NAME_OP:
        return open_frame(x, PENDING_OP, at, e->index);
    case NAME_SIGNAL:
        return read_signal(x, e, at);
    case NAME_WORD:
        return read_word(x, e->index, at);
    case NAME_REFUSED:
        return parse_error(x->p, at, "%s", names_refusal(e->index));
    case NAME_SYMBOL:
        if (expression_token(x, x->pos)->kind == TOKEN_OPEN)
            return parse_error(x->p, at, "`%s` is %s, not a function", e->name,
                               declare_kind_words(x->p->m->symbols.items[e->index].kind));
        x->want_value = false;
        return expression_emit(x, OP_SYMBOL, at, e->index, 0);
    case NAME_TIME:
        x->want_value = false;
        return expression_emit(x, OP_TIME, at, 0, 0);
    case NAME_PI:
        x->want_value = false;
        return expression_emit(x, OP_NUMBER, at, 0, M_PI);
    case NAME_NONE:
    case NAME_BAD:
        break;
    }
    return read_bad(x, at);
}

// The observable of that label where they are names: exactly, else the only one ignoring case.
// Other names come first.
static const struct observable *find_observable(struct reader *x, const char *name, uint32_t length,
                                                uint32_t at) {
    const struct arguments *labels = &x->p->observables;
    const struct model *m = x->p->m;
    const struct observable *found = NULL;
    if (!labels->count || names_exact(m->by_name, name, length))
        return NULL;
    for (uint32_t i = 0; i < labels->count; i++)
        if (!strcmp(labels->names[i], name))
            return &m->observables.items[i];
    if (names_folded(m->by_name, name, length))
        return NULL;
    for (uint32_t i = 0; i < labels->count; i++)
        if (ascii_same(labels->names[i], name)) {
            if (found)
                return NULL;
            found = &m->observables.items[i];
        }
    if (found)
        parse_note(x->p, at, "`%s` is read as `%s`", name, found->label);
    return found;
}

static bool read_observable(struct reader *x, const struct observable *o, uint32_t at) {
    if (expression_token(x, x->pos)->kind == TOKEN_OPEN)
        return parse_error(x->p, at, "`%s` is an observable, not a function", o->label);
    for (uint32_t i = 0; i < o->expr.count; i++) {
        struct item item = x->p->m->code.items[o->expr.first + i];
        if (!expression_emit(x, item.op, at, item.index, item.value))
            return false;
    }
    x->want_value = false;
    return true;
}

// `i'` inside sum(): the index of the innermost one.
static bool read_sum_index(struct reader *x, uint32_t at) {
    uint32_t n = x->p->pending.count;
    while (x->p->pending.items[--n].kind != PENDING_BODY) {
    }
    x->pos += 2;
    x->want_value = false;
    return expression_emit(x, OP_NUMBER, at, 0, x->p->pending.items[n].i);
}

// What stands for the text from there on; NULL: it stands for itself.
static const struct formula_hole *find_hole(const struct reader *x, uint32_t at) {
    const struct formula_holes *h = x->p->holes;
    for (uint32_t i = 0; h && i < h->count; i++)
        if (h->hole[i].from == at)
            return &h->hole[i];
    return NULL;
}

static bool read_hole(struct reader *x, const struct formula_hole *h) {
    while (x->pos < x->end && expression_token(x, x->pos)->at < h->to)
        x->pos++;
    for (uint32_t i = 0; i < h->count; i++)
        if (!expression_emit(x, h->item[i].op, h->from, h->item[i].index, h->item[i].value))
            return false;
    x->want_value = false;
    return true;
}

static bool read_name(struct reader *x) {
    struct parser *p = x->p;
    const struct token *t = expression_token(x, x->pos);
    uint32_t at = t->at, length = t->length;
    const struct formula_hole *hole = find_hole(x, at);
    if (hole)
        return read_hole(x, hole);
    const char *name = p->text + at;
    bool index = length == 1 && ascii_lower(*name) == 'i';
    if (x->sums && index && expression_token(x, x->pos + 1)->kind == TOKEN_PRIME)
        return read_sum_index(x, at);
    const struct token *range = NULL;
    if (expression_token(x, x->pos + 1)->glued) {
        arrays_name_tokens(p, x->pos, &range, NULL);
        if (range)
            return parse_error(p, range->at, "a range can only be in the name that a line defines");
    }
    name = arrays_name(p, &x->pos, x->index, &length);
    if (!name)
        return false;
    uint32_t argument = argument_of(x, name);
    if (argument != UINT32_MAX) {
        x->want_value = false;
        return expression_emit(x, OP_ARG, at, argument, 0);
    }
    const struct observable *o = find_observable(x, name, length, at);
    if (o)
        return read_observable(x, o, at);
    const struct name_entry *e = find_entry(x, name, length, at);
    if (e)
        return read_entry(x, e, at);
    if (index && expression_token(x, x->pos)->kind == TOKEN_PRIME)
        return parse_error(p, at, "`i'` is only known inside sum(a,b)of(...)");
    return unknown_name(x, name, length, at) && read_bad(x, at);
}

bool expression_value(struct reader *x) {
    const struct token *t = expression_token(x, x->pos);
    int64_t n;
    switch (t->kind) {
    case TOKEN_NUMBER:
        x->pos++;
        x->want_value = false;
        return expression_emit(x, OP_NUMBER, t->at, 0, t->value);
    case TOKEN_INDEX:
    case TOKEN_RANGE:
        if (!arrays_value(x->p, t, x->index, &n))
            return false;
        x->pos++;
        x->want_value = false;
        return expression_emit(x, OP_NUMBER, t->at, 0, (double)n);
    case TOKEN_NAME:
        return read_name(x);
    case TOKEN_OPEN:
        expression_push(x, PENDING_PAREN, t->at);
        x->pos++;
        return true;
    case TOKEN_OPERATOR:
        if (t->op != OP_SUB && t->op != OP_ADD)
            break;
        if (t->op == OP_SUB)
            *expression_push(x, PENDING_PREFIX, t->at) = (struct pending){
                .kind = PENDING_PREFIX, .op = OP_NEG, .precedence = PRECEDENCE_SIGN, .at = t->at};
        x->pos++;
        return true;
    default:
        break;
    }
    return expression_wrong(x, "a value");
}
