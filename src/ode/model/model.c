// SPDX-License-Identifier: MIT
// model_parse: from text to a model, and the notes and checks that are about the whole.
//
// First all lines, which declare every name; then functions and constants, whose values the bounds
// of sum() may need; then everything else. Errors do not end this early: what can be read is read,
// so that one call reports all that is wrong. Notes are given only for a model without errors.
// Memory that runs out anywhere below lands here.
#include "ode/model/parse.h"

#include "base/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Reading the noted statements ---------------------------------------------------------------

static void read_initial(struct parser *p, const struct statement *s) {
    struct model *m = p->m;
    uint32_t length = (uint32_t)strlen(s->name);
    struct name_entry *e = names_exact(m->by_name, s->name, length);
    if (!e && (e = names_folded(m->by_name, s->name, length)) && e->kind == NAME_SYMBOL &&
        !s->index.repeated)
        parse_note(p, s->at, "`%s` is read as `%s`", s->name, e->name);
    if (e && e->kind == NAME_BAD)
        return;
    if (!e || e->kind != NAME_SYMBOL) {
        if (parse_is_reported(p, s->at))
            return;
        struct nearest n = {.wanted = s->name};
        for (uint32_t i = 0; i < m->states.count; i++)
            nearest_offer(&n, m->symbols.items[m->states.items[i]].name);
        const char *best = nearest_best(&n);
        parse_error(p, s->at, "there is no equation for `%.60s`, so it has no initial value%s%s%s",
                    s->name, best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
        return;
    }
    struct symbol *symbol = &m->symbols.items[e->index];
    if (symbol->kind != SYMBOL_STATE) {
        parse_error(p, s->at, "`%s` is %s and has no initial value", symbol->name,
                    declare_kind_words(symbol->kind));
        return;
    }
    if (symbol->has_value && !p->again_at)
        p->again_at = s->at + 1;
    symbol->has_value = true;
    symbol->init = (struct expr){0};
    if (s->value.end)
        expression_read(p, s->value, s->index, NULL, &symbol->init);
}

// A column of the results cannot be a state and an observable at the same time.
static void check_label(struct parser *p, const struct observable *o) {
    const struct name_entry *e = names_exact(p->m->by_name, o->label, (uint32_t)strlen(o->label));
    if (e && e->kind == NAME_SYMBOL && p->m->symbols.items[e->index].kind == SYMBOL_STATE)
        parse_error(p, o->at, "an observable cannot have the name of a state: `%s`", o->label);
}

static void read_statement(struct parser *p, const struct statement *s) {
    struct model *m = p->m;
    struct expr e;
    const struct arguments *a = NULL;
    if (s->kind == STATEMENT_INIT) {
        read_initial(p, s);
        return;
    }
    if (s->kind == STATEMENT_FUNCTION)
        a = &p->arguments.items[s->target];
    else if (s->kind == STATEMENT_TABLE)
        a = &driver_argument;
    if (!expression_read(p, s->value, s->index, a, &e))
        return;
    switch ((enum statement_kind)s->kind) {
    case STATEMENT_VALUE:
        m->symbols.items[s->target].given = e;
        m->symbols.items[s->target].has_value = true;
        break;
    case STATEMENT_EXPR:
        m->symbols.items[s->target].expr = e;
        break;
    case STATEMENT_FUNCTION:
        m->functions.items[s->target].body = e;
        break;
    case STATEMENT_OBSERVABLE:
        check_label(p, &m->observables.items[s->target]);
        m->observables.items[s->target].expr = e;
        break;
    case STATEMENT_ROW:
        m->rows.items[s->target].expr = e;
        break;
    case STATEMENT_TABLE:
        m->signals.items[s->target].formula = e;
        break;
    case STATEMENT_INIT:
        break;
    }
}

// Constants are needed before the rest, functions for the constants.
static bool comes_first(const struct parser *p, const struct statement *s) {
    return s->kind == STATEMENT_FUNCTION ||
           (s->kind == STATEMENT_VALUE && p->m->symbols.items[s->target].kind == SYMBOL_CONST);
}

static void read_statements(struct parser *p, bool first) {
    for (uint32_t i = 0; i < p->statements.count && !p->stop; i++)
        if (comes_first(p, &p->statements.items[i]) == first)
            read_statement(p, &p->statements.items[i]);
}

// ---- Notes --------------------------------------------------------------------------------------

static void note_missing(struct parser *p) {
    enum { SHOWN = 6 };
    const struct model *m = p->m;
    struct buf names = {0};
    uint32_t missing = 0;
    for (uint32_t i = 0; i < m->states.count; i++) {
        const struct symbol *s = &m->symbols.items[m->states.items[i]];
        if (s->has_value || s->algebraic)
            continue;
        if (missing++ < SHOWN)
            buf_printf(&names, "%s%.40s", missing > 1 ? ", " : "", s->name);
    }
    if (missing > SHOWN)
        buf_printf(&names, " and %u more", missing - SHOWN);
    if (missing)
        report_note(p->r, "%s: no initial value for %s; 0 is used", p->source->name, names.data);
    buf_free(&names);
}

// The two operators where XPP binds otherwise, as they are read here and there.
static void note_comparison(struct parser *p, const struct comparison *c) {
    const char *first = op_names[c->first], *second = op_names[c->second];
    if (c->first == OP_NOT)
        parse_note(p, c->at, "not(a)%sb is read as (not a)%sb; XPP reads not(a%sb)", second, second,
                   second);
    else if (c->first == OP_NEG)
        parse_note(p, c->at, "-a%sb is read as (-a)%sb; XPP reads -(a%sb)", second, second, second);
    else if (!c->left)
        parse_note(p, c->at, "a%sb%sc is read as a%s(b%sc); XPP reads (a%sb)%sc", first, second,
                   first, second, first, second);
    else
        parse_note(p, c->at, "a%sb%sc is read as (a%sb)%sc; XPP reads a%s(b%sc)", first, second,
                   first, second, first, second);
}

// The value of an item that is a number, a constant or a parameter; NaN of any other.
static double leaf_value(const struct model *m, const struct item *i) {
    if (i->op == OP_NUMBER)
        return i->value;
    if (i->op != OP_SYMBOL)
        return NAN;
    const struct symbol *s = &m->symbols.items[i->index];
    return s->kind == SYMBOL_PAR || s->kind == SYMBOL_CONST ? s->value : NAN;
}

// mod(x,y) has the sign of y here; XPP gives something else for a negative one.
static void note_modulus(struct parser *p) {
    const struct model *m = p->m;
    for (uint32_t k = 2; k < m->code.count; k++) {
        const struct item *i = &m->code.items[k];
        if (i->op != OP_MOD)
            continue;
        double divisor = i[-1].op == OP_NEG ? -leaf_value(m, i - 2) : leaf_value(m, i - 1);
        if (!(divisor < 0))
            continue;
        parse_note(p, i->at, "mod(x,y) is in (y,0] for a negative y; XPP's is not");
        return;
    }
}

static void note_all(struct parser *p) {
    if (p->boundary_at)
        parse_note(p, p->boundary_at - 1, "boundary conditions are ignored");
    if (p->again_at)
        parse_note(p, p->again_at - 1, "an initial value is given twice; the last one counts");
    if (p->power_at)
        parse_note(p, p->power_at - 1, "a^b^c is read as (a^b)^c, as XPP does");
    if (p->chain_at)
        parse_note(p, p->chain_at - 1,
                   "a<b<c is read as (a<b)<c, where a<b is 0 or 1; between two is `a<b and b<c`");
    for (uint32_t i = 0; i < p->comparisons; i++)
        note_comparison(p, &p->comparison[i]);
    if (p->out_put_at)
        parse_note(p, p->out_put_at - 1, "out_put does nothing here; --record keeps events");
    note_modulus(p);
    note_missing(p);
}

// ---- Algebraic rows -----------------------------------------------------------------------------

enum { ROWS_SHOWN = 6 };

static void put_lines(const struct parser *p, struct buf *text) {
    const struct model *m = p->m;
    for (uint32_t i = 0; i < m->rows.count && i < ROWS_SHOWN; i++)
        buf_printf(text, "%s%u",
                   i                   ? ", "
                   : m->rows.count > 1 ? " in lines "
                                       : " in line ",
                   parse_line_number(p, m->rows.items[i].at));
    if (m->rows.count > ROWS_SHOWN)
        buf_printf(text, " and %u more", m->rows.count - ROWS_SHOWN);
}

// As many rows as states, or an error that names them: at the first row or state too many.
static void check_rows(struct parser *p) {
    const struct model *m = p->m;
    struct buf rows = {0}, names = {0};
    uint32_t states = 0, at = 0;
    for (uint32_t i = 0; i < m->states.count; i++) {
        const struct symbol *s = &m->symbols.items[m->states.items[i]];
        if (!s->algebraic)
            continue;
        if (states == m->rows.count)
            at = s->at;
        if (states++ < ROWS_SHOWN)
            buf_printf(&names, "%s`%.40s`", states > 1 ? ", " : " (", s->name);
    }
    buf_puts(&names, states > ROWS_SHOWN ? ", ...)" : states ? ")" : "");
    put_lines(p, &rows);
    if (m->rows.count > states)
        at = m->rows.items[states].at;
    if (m->rows.count != states)
        parse_error(p, at,
                    "the model has %u algebraic row%s (`0=...`)%s but %u algebraic state%s%s; "
                    "declare a state for each row, as in `alg z=guess`",
                    m->rows.count, m->rows.count == 1 ? "" : "s", rows.data ? rows.data : "",
                    states, states == 1 ? "" : "s", names.data ? names.data : "");
    buf_free(&rows);
    buf_free(&names);
}

// ---- The whole ----------------------------------------------------------------------------------

static bool parse_model(struct parser *p) {
    struct model *m = p->m;
    if (!text_open(p))
        return false;
    m->by_name = names_new(&m->arena);
    p->labels = names_empty(&p->scratch);
    p->sets = names_empty(&p->scratch);
    p->happen = names_empty(&p->scratch);
    lines_read(p);
    if (!p->lines.count && !p->errors) {
        p->errors++;
        report_error(p->r, SHOAL_INPUT, "%s: the model is empty", p->source->name);
    }
    uint32_t errors = p->errors;
    read_statements(p, true);
    p->constants_known =
        p->errors == errors && !p->stop && resolve_constants(p) && values_constants(p);
    read_statements(p, false);
    event_read(p);
    if (!p->stop && resolve_all(p))
        values_rest(p);
    if (!m->states.count && !p->errors) {
        p->errors++;
        report_error(p->r, SHOAL_INPUT, "%s: the model has no differential equation (x'=...)",
                     p->source->name);
    }
    if (!p->errors)
        check_rows(p);
    if (!p->errors)
        note_all(p);
    return !p->errors;
}

static bool guarded_parse(struct parser *p) {
    jmp_buf oom;
    bool good = false;
    p->m->arena.oom = p->scratch.oom = &oom;
    if (setjmp(oom))
        report_error(p->r, SHOAL_MEMORY, "out of memory");
    else
        good = parse_model(p);
    p->m->arena.oom = p->scratch.oom = NULL;
    return good;
}

// The text, and behind it, if there are any, the lines that are added; nothing of it goes on there.
static void take_text(struct model *m, const char *text, size_t length, const char *added) {
    size_t more = added ? strlen(added) : 0;
    m->text = arena_strndup(&m->arena, text, length);
    m->source.text = m->text;
    m->source.length = m->added = length;
    if (!more || !m->text)
        return;
    char *all = arena_alloc(&m->arena, length + more + 3);
    m->source.text = all;
    if (!all)
        return;
    memcpy(all, text, length);
    memcpy(all + length, "\n\n", 2);
    memcpy(all + length + 2, added, more);
    m->added = length + 2;
    m->source.length = m->added + more;
}

struct model *model_parse(const char *name, const char *text, size_t length, struct report *r) {
    return model_parse_more(name, text, length, NULL, r);
}

struct model *model_parse_more(const char *name, const char *text, size_t length, const char *added,
                               struct report *r) {
    struct model *m = calloc(1, sizeof *m);
    struct parser *p = calloc(1, sizeof *p);
    bool good = false;
    if (m && p) {
        m->source.name = arena_strdup(&m->arena, name);
        take_text(m, text, length, added);
        *p = (struct parser){.m = m, .r = r, .source = &m->source};
        if (m->source.name && m->source.text)
            good = guarded_parse(p);
        else
            report_error(r, SHOAL_MEMORY, "out of memory");
        arena_free(&p->scratch);
    } else
        report_error(r, SHOAL_MEMORY, "out of memory");
    free(p);
    if (good)
        return m;
    model_free(m);
    return NULL;
}
