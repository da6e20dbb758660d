// SPDX-License-Identifier: MIT
// Values from outside: model_set, model_use and model_number.
//
// The assignments are a text of their own that messages point into ("--set:1:3: error: ..."); those
// of a set are in the model's text. Values are computed at once, with the constants as the
// assignments before have left them. When anything is wrong nothing is changed.
#include "ode/model/parse.h"

#include "base/ascii.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

struct setter {
    struct parser *p;
    const char *where;
    struct symbol *before; // all symbols as they were; NULL when nothing can have changed
    bool stale;            // a constant was set: what depends on it has not been computed again
    bool *seen;            // [symbols] given by this text; NULL: a name may come again
};

// ---- One value ----------------------------------------------------------------------------------

static bool uses_names(const struct model *m, struct expr e) {
    for (uint32_t i = 0; i < e.count; i++)
        if (m->code.items[e.first + i].op == OP_SYMBOL || m->code.items[e.first + i].op == OP_CALL)
            return true;
    return false;
}

static bool read_number(struct setter *s, struct span text, double *value) {
    struct parser *p = s->p;
    struct span tokens;
    struct expr e;
    uint32_t code = p->m->code.count;
    if (!lexer_read(p, text.first, text.end, &tokens) ||
        !expression_read(p, tokens, (struct index){0}, NULL, &e))
        return false;
    if (s->stale && uses_names(p->m, e)) {
        if (!values_constants(p))
            return false;
        s->stale = false;
    }
    const char *why = values_compute(p, e, value);
    p->m->code.count = code;
    return !why || parse_error(p, text.first, "%s", why);
}

static bool has_initial_mark(const char *name, size_t *base) {
    size_t n = strlen(name);
    *base = n;
    if (n < 3 || strcmp(name + n - 3, "(0)"))
        return false;
    *base = n - 3;
    return true;
}

// The symbol that an assignment to `name` is about; UINT32_MAX after an error.
static uint32_t find_target(struct setter *s, const struct setting *item) {
    struct parser *p = s->p;
    size_t base;
    bool initial = has_initial_mark(item->name, &base);
    const char *name = arena_strndup(&p->scratch, item->name, base);
    uint32_t found = model_find(p->m, name, s->where, p->r);
    if (found == UINT32_MAX) {
        p->errors++;
        return UINT32_MAX;
    }
    const struct symbol *symbol = &p->m->symbols.items[found];
    if (initial && symbol->kind != SYMBOL_STATE)
        parse_error(p, item->at, "`%s` is %s and has no initial value", symbol->name,
                    declare_kind_words(symbol->kind));
    else if (symbol->kind == SYMBOL_DERIVED)
        parse_error(p, item->at, "`%s` is computed from parameters (!%s=...) and cannot be set",
                    symbol->name, symbol->name);
    else if (symbol->kind == SYMBOL_TEMP)
        parse_error(p, item->at, "`%s` is computed by the model and cannot be set", symbol->name);
    else if (symbol->structural)
        parse_error(p, item->at, "`%s` is a bound of a sum and cannot be set; change the model",
                    symbol->name);
    else if (s->seen && s->seen[found])
        parse_error(p, item->at, "`%s%s` is given twice", symbol->name,
                    symbol->kind == SYMBOL_STATE ? "(0)" : "");
    else
        return found;
    return UINT32_MAX;
}

static void assign(struct setter *s, const struct setting *item) {
    struct span text = {item->value_at, item->value_at + (uint32_t)strlen(item->value)};
    uint32_t target = find_target(s, item);
    double value;
    if (target == UINT32_MAX)
        return;
    if (s->seen)
        s->seen[target] = true;
    if (!*item->value) {
        parse_error(s->p, item->at, "expected name=value here");
        return;
    }
    if (!read_number(s, text, &value))
        return;
    struct symbol *symbol = &s->p->m->symbols.items[target];
    if (symbol->kind == SYMBOL_CONST) {
        s->stale = true;
        report_note(s->p->r, "%s: `%s` is a constant, so another kernel is compiled", s->where,
                    symbol->name);
    }
    symbol->value = value;
    symbol->given = symbol->init = (struct expr){0};
    symbol->has_value = symbol->set = true;
}

// ---- All or nothing -----------------------------------------------------------------------------

typedef void assign_fn(struct setter *s, void *context);

static void restore(struct setter *s) {
    struct model *m = s->p->m;
    if (s->before)
        memcpy(m->symbols.items, s->before, m->symbols.count * sizeof *m->symbols.items);
}

static shoal_code assign_all(struct setter *s, assign_fn *each, void *context) {
    struct parser *p = s->p;
    struct model *m = p->m;
    struct symbol *copy = arena_new(&p->scratch, struct symbol, m->symbols.count);
    memcpy(copy, m->symbols.items, m->symbols.count * sizeof *copy);
    s->before = copy;
    each(s, context);
    if (!p->errors && values_constants(p) && values_rest(p))
        return SHOAL_OK;
    restore(s);
    return SHOAL_INPUT;
}

static shoal_code out_of_memory(struct setter *s) {
    restore(s);
    return report_error(s->p->r, SHOAL_MEMORY, "out of memory");
}

// Where running out of memory is caught. Without `assigns` no value can change.
static shoal_code guarded(struct setter *s, assign_fn *each, void *context, bool assigns) {
    jmp_buf oom;
    s->p->m->arena.oom = s->p->scratch.oom = &oom;
    if (setjmp(oom))
        return out_of_memory(s);
    if (!text_open(s->p))
        return SHOAL_INPUT;
    if (assigns)
        return assign_all(s, each, context);
    each(s, context);
    return s->p->errors ? SHOAL_INPUT : SHOAL_OK;
}

static shoal_code set_values(struct setter *s, assign_fn *each, void *context, bool assigns) {
    struct model *m = s->p->m;
    uint32_t code_count = m->code.count;
    shoal_code code = guarded(s, each, context, assigns);
    m->arena.oom = s->p->scratch.oom = NULL;
    m->code.count = code_count;
    arena_free(&s->p->scratch);
    return code;
}

static void assign_text(struct setter *s, void *context) {
    (void)context;
    struct parser *p = s->p;
    struct setting item;
    uint32_t at = 0, count = 0;
    s->seen = arena_new(&p->scratch, bool, p->m->symbols.count);
    for (; lists_next(p, &p->scratch, &at, p->length, &item); count++)
        assign(s, &item);
    if (!count && !p->errors)
        parse_error(p, 0, "expected name=value here");
}

shoal_code model_set(struct model *m, const char *assignments, const char *where,
                     struct report *r) {
    struct source source = {where, assignments, strlen(assignments)};
    struct parser p = {.m = m, .r = r, .source = &source, .values = true};
    struct setter s = {.p = &p, .where = where};
    return set_values(&s, assign_text, NULL, true);
}

// ---- Sets ---------------------------------------------------------------------------------------

struct use {
    const struct value_set *set;
    struct value_set *rest; // what is no parameter, constant or state of the model
};

static bool is_input(struct setter *s, const char *name) {
    const struct model *m = s->p->m;
    size_t base;
    has_initial_mark(name, &base);
    char *plain = arena_alloc(&s->p->scratch, base + 1);
    uint32_t length = 0;
    for (size_t i = 0; i < base; i++)
        if (!strchr("[]", name[i]))
            plain[length++] = name[i];
    const struct name_entry *e = names_exact(m->by_name, plain, length);
    if (!e)
        e = names_folded(m->by_name, plain, length);
    if (!e || e->kind != NAME_SYMBOL)
        return false;
    enum symbol_kind kind = m->symbols.items[e->index].kind;
    return kind == SYMBOL_PAR || kind == SYMBOL_STATE || kind == SYMBOL_CONST;
}

static void assign_set(struct setter *s, void *context) {
    struct use *use = context;
    struct model *m = s->p->m;
    use->rest = arena_new(&m->arena, struct value_set, 1);
    use->rest->name = use->set->name;
    use->rest->at = use->set->at;
    for (uint32_t i = 0; i < use->set->settings.count; i++) {
        const struct setting *item = &use->set->settings.items[i];
        if (is_input(s, item->name))
            assign(s, item);
        else
            *vec_push(&m->arena, &use->rest->settings) = *item;
    }
}

// Exactly that name, else the only one ignoring case, with a note; NULL after an error.
static const struct value_set *find_set(const struct model *m, const char *name, struct report *r) {
    const struct value_set *found = NULL;
    uint32_t folded = 0;
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < m->sets.count; i++) {
        const struct value_set *set = &m->sets.items[i];
        if (!strcmp(set->name, name))
            return set;
        nearest_offer(&n, set->name);
        if (ascii_same(set->name, name)) {
            found = set;
            folded++;
        }
    }
    if (folded == 1) {
        report_note(r, "--use: `%s` is read as `%s`", name, found->name);
        return found;
    }
    const char *best = nearest_best(&n);
    report_error(r, SHOAL_INPUT, "--use: %s has no set `%s`%s%s%s", m->source.name, name,
                 best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
    return NULL;
}

shoal_code model_use(struct model *m, const char *set, const struct value_set **rest,
                     struct report *r) {
    struct use use = {.set = find_set(m, set, r)};
    if (!use.set)
        return SHOAL_INPUT;
    struct parser p = {.m = m, .r = r, .source = &m->source, .values = true};
    struct setter s = {.p = &p, .where = "--use"};
    shoal_code code = set_values(&s, assign_set, &use, true);
    *rest = use.rest;
    return code;
}

// ---- Numbers ------------------------------------------------------------------------------------

static bool plain_number(const char *text, double *value) {
    const char *end = text + strlen(text);
    while (*text == ' ')
        text++;
    while (end > text && end[-1] == ' ')
        end--;
    return number_all(text, (size_t)(end - text), NUMBER_SIGNED, value) && isfinite(*value);
}

struct wanted {
    double value;
    bool good;
};

static void compute_text(struct setter *s, void *context) {
    struct wanted *w = context;
    w->good = read_number(s, (struct span){0, s->p->length}, &w->value);
}

bool model_number(struct model *m, const char *text, double *value) {
    if (plain_number(text, value))
        return true;
    struct source source = {"value", text, strlen(text)};
    struct parser p = {.m = m, .source = &source, .values = true};
    struct setter s = {.p = &p, .where = "value"};
    struct wanted w = {0};
    set_values(&s, compute_text, &w, false);
    if (w.good)
        *value = w.value;
    return w.good;
}
