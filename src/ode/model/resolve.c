// SPDX-License-Identifier: MIT
// Dependencies: the order of temporaries, derived parameters, constants and functions; cycles; and
// what an expression may be made of.
//
// One depth-first walk with its own stack over symbols and functions together, so that a cycle is
// found whichever way it goes. It runs twice: early from the constants alone, whose values are
// needed for the bounds of sum(), and at the end over everything. Where derived parameters are made
// of states, which are initial values there, a third walk finds the order of the start.
#include "ode/model/parse.h"

#include "base/buf.h"

#include <string.h>

enum { WHITE, GREY, BLACK };

struct graph {
    struct parser *p;
    struct model *m;
    bool start;              // of the start: a state is its initial value
    uint32_t symbols, nodes; // functions are numbered behind the symbols
    uint8_t *color, *uses, *in_cycle;
    uint32_t *cursor;
    vec(uint32_t) path;
    vec(uint32_t) order;
};

static struct graph graph_new(struct parser *p) {
    struct graph g = {.p = p, .m = p->m, .symbols = p->m->symbols.count};
    g.nodes = g.symbols + p->m->functions.count;
    g.color = arena_new(&p->scratch, uint8_t, g.nodes + 1);
    g.uses = arena_new(&p->scratch, uint8_t, g.nodes + 1);
    g.in_cycle = arena_new(&p->scratch, uint8_t, g.nodes + 1);
    g.cursor = arena_new(&p->scratch, uint32_t, g.nodes + 1);
    return g;
}

// What the node is computed from. States depend on nothing, their value is there, but at the start.
static struct expr source_of(const struct graph *g, uint32_t node) {
    if (node >= g->symbols)
        return g->m->functions.items[node - g->symbols].body;
    const struct symbol *s = &g->m->symbols.items[node];
    switch (s->kind) {
    case SYMBOL_PAR:
    case SYMBOL_CONST:
        return s->given;
    case SYMBOL_DERIVED:
    case SYMBOL_TEMP:
        return s->expr;
    case SYMBOL_STATE:
        return g->start ? s->init : (struct expr){0};
    }
    return (struct expr){0};
}

static const char *name_of(const struct graph *g, uint32_t node) {
    return node < g->symbols ? g->m->symbols.items[node].name
                             : g->m->functions.items[node - g->symbols].name;
}

static bool is_start_value(const struct graph *g, uint32_t node) {
    return g->start && node < g->symbols && g->m->symbols.items[node].kind == SYMBOL_STATE;
}

static uint32_t at_of(const struct graph *g, uint32_t node) {
    if (is_start_value(g, node))
        return g->m->code.items[g->m->symbols.items[node].init.first].at;
    return node < g->symbols ? g->m->symbols.items[node].at
                             : g->m->functions.items[node - g->symbols].at;
}

static uint32_t node_of(const struct graph *g, const struct item *i) {
    return i->op == OP_SYMBOL ? i->index : i->op == OP_CALL ? g->symbols + i->index : UINT32_MAX;
}

static uint8_t item_uses(const struct graph *g, const struct item *i) {
    static const uint8_t kinds[] = {[SYMBOL_STATE] = USES_STATE,
                                    [SYMBOL_PAR] = USES_PAR,
                                    [SYMBOL_CONST] = 0,
                                    [SYMBOL_DERIVED] = USES_DERIVED,
                                    [SYMBOL_TEMP] = USES_TEMP};
    if (i->op == OP_TIME)
        return USES_TIME;
    if (i->op == OP_CALL)
        return g->uses[g->symbols + i->index];
    return i->op == OP_SYMBOL ? kinds[g->m->symbols.items[i->index].kind] : 0;
}

static uint8_t expr_uses(const struct graph *g, struct expr e) {
    uint8_t uses = 0;
    for (uint32_t i = e.first; i < e.first + e.count; i++)
        uses |= item_uses(g, &g->m->code.items[i]);
    return uses;
}

// ---- Cycles -------------------------------------------------------------------------------------

static void put_name(const struct graph *g, uint32_t node, struct buf *out) {
    buf_printf(out, "%.40s%s", name_of(g, node), is_start_value(g, node) ? "(0)" : "");
}

static void report_cycle(struct graph *g, uint32_t node) {
    enum { SHOWN = 8 };
    uint32_t from = g->path.count;
    bool known = false;
    while (g->path.items[--from] != node)
        known |= g->in_cycle[g->path.items[from]];
    known |= g->in_cycle[node];
    for (uint32_t i = from; i < g->path.count; i++)
        g->in_cycle[g->path.items[i]] = 1;
    if (known)
        return;
    struct buf text = {0};
    for (uint32_t i = from; i < g->path.count; i++)
        if (i < from + SHOWN) {
            put_name(g, g->path.items[i], &text);
            buf_puts(&text, " -> ");
        }
    if (g->path.count - from > SHOWN)
        buf_puts(&text, "... -> ");
    put_name(g, node, &text);
    bool function = node >= g->symbols;
    parse_error(g->p, at_of(g, node), "%s: %s",
                function ? "a function cannot call itself" : "circular definition",
                text.data ? text.data : "");
    buf_free(&text);
}

// Walks from one node; nodes end up in g->order behind all they depend on.
static void walk(struct graph *g, uint32_t start) {
    if (g->color[start] != WHITE)
        return;
    g->color[start] = GREY;
    *vec_push(&g->p->scratch, &g->path) = start;
    while (g->path.count) {
        uint32_t node = g->path.items[g->path.count - 1], next = UINT32_MAX;
        struct expr e = source_of(g, node);
        while (g->cursor[node] < e.count && next == UINT32_MAX)
            next = node_of(g, &g->m->code.items[e.first + g->cursor[node]++]);
        if (next == UINT32_MAX) {
            g->color[node] = BLACK;
            g->uses[node] = expr_uses(g, e);
            g->path.count--;
            *vec_push(&g->p->scratch, &g->order) = node;
        } else if (g->color[next] == GREY)
            report_cycle(g, next);
        else if (g->color[next] == WHITE) {
            g->color[next] = GREY;
            *vec_push(&g->p->scratch, &g->path) = next;
        }
    }
}

// ---- What may be used where ---------------------------------------------------------------------

// Says which part of an expression is not allowed, and why. `rule` completes "only ...".
static bool check_uses(struct graph *g, struct expr e, uint8_t allowed, const char *what,
                       const char *name, const char *rule) {
    for (uint32_t k = e.first; k < e.first + e.count; k++) {
        const struct item *i = &g->m->code.items[k];
        uint8_t uses = item_uses(g, i);
        if (!(uses & ~allowed))
            continue;
        bool driver = i->op == OP_TIME && k + 3 < e.first + e.count && i[3].op == OP_LOOKUP &&
                      i[3].at == i->at; // whose argument is t
        if (driver)
            return parse_error(g->p, i->at, "%s `%s` cannot use the driver `%s`", what, name,
                               g->m->signals.items[(uint32_t)i[1].value].name);
        if (i->op == OP_TIME)
            return parse_error(g->p, i->at, "%s `%s` cannot use the time `t`", what, name);
        if (i->op == OP_CALL)
            return parse_error(g->p, i->at, "%s `%s` can only use %s, but `%s` uses more", what,
                               name, rule, g->m->functions.items[i->index].name);
        const struct symbol *s = &g->m->symbols.items[i->index];
        return parse_error(g->p, i->at, "%s `%s` can only use %s; `%s` is %s", what, name, rule,
                           s->name, declare_kind_words(s->kind));
    }
    return true;
}

bool resolve_constants(struct parser *p) {
    struct model *m = p->m;
    uint32_t errors = p->errors;
    struct graph g = graph_new(p);
    for (uint32_t i = 0; i < m->consts.count; i++)
        walk(&g, m->consts.items[i]);
    for (uint32_t i = 0; i < m->consts.count; i++) {
        const struct symbol *s = &m->symbols.items[m->consts.items[i]];
        check_uses(&g, s->given, 0, "the constant", s->name, "numbers and other constants");
    }
    m->const_order.count = 0;
    for (uint32_t i = 0; i < g.order.count; i++)
        if (g.order.items[i] < g.symbols && m->symbols.items[g.order.items[i]].kind == SYMBOL_CONST)
            *vec_push(&m->arena, &m->const_order) = g.order.items[i];
    return p->errors == errors;
}

// Times are known in advance.
static void check_events(struct graph *g) {
    for (uint32_t i = 0; i < g->m->events.count; i++) {
        const struct event *e = &g->m->events.items[i];
        for (uint32_t k = 0; k < e->times.count; k++)
            check_uses(g, e->times.items[k], USES_PAR | USES_DERIVED, "the times of event", e->name,
                       "parameters and constants");
    }
}

static void check_all(struct graph *g) {
    struct model *m = g->m;
    for (uint32_t i = 0; i < m->pars.count; i++) {
        const struct symbol *s = &m->symbols.items[m->pars.items[i]];
        check_uses(g, s->given, 0, "the value of", s->name,
                   "numbers and constants (write !name=... for a derived parameter)");
    }
    for (uint32_t i = 0; i < m->states.count; i++) {
        struct symbol *s = &m->symbols.items[m->states.items[i]];
        check_uses(g, s->init, USES_PAR | USES_DERIVED | USES_TIME, "the initial value of", s->name,
                   "parameters, constants and t");
        if (s->init.count && !expr_uses(g, s->init)) {
            s->given = s->init;
            s->init = (struct expr){0};
        }
    }
    check_events(g);
    for (uint32_t i = 0; i < m->signals.count; i++)
        check_uses(g, m->signals.items[i].formula, USES_PAR, "the table", m->signals.items[i].name,
                   "its argument t, parameters and constants");
}

// ---- The start ----------------------------------------------------------------------------------

static bool has_start_order(const struct graph *g) {
    const struct model *m = g->m;
    uint8_t uses = 0;
    for (uint32_t i = 0; i < m->derived.count; i++)
        uses |= expr_uses(g, m->symbols.items[m->derived.items[i]].expr);
    return uses & (USES_STATE | USES_TEMP | USES_TIME);
}

// XPPAUT computes them when it reads the file, and once more when it integrates, with temporaries
// and a time that are there by then only in some files. One note is enough.
static void note_temporaries(const struct graph *g) {
    for (uint32_t i = 0; i < g->m->derived.count; i++) {
        const struct symbol *s = &g->m->symbols.items[g->m->derived.items[i]];
        if (!(expr_uses(g, s->expr) & (USES_TEMP | USES_TIME)))
            continue;
        parse_note(g->p, s->at,
                   "`%s` takes t and temporaries as they are at t0; XPPAUT may take them as 0",
                   s->name);
        return;
    }
}

// What the start of a trajectory takes of an algebraic state is not what its row makes of it.
static void note_guess(const struct graph *g) {
    for (uint32_t i = 0; i < g->order.count; i++) {
        uint32_t node = g->order.items[i];
        if (!is_start_value(g, node) || !g->m->symbols.items[node].algebraic)
            continue;
        parse_note(g->p, g->m->symbols.items[node].at,
                   "`%s` is algebraic: derived parameters take its guess", name_of(g, node));
        return;
    }
}

// Derived parameters and initial values, each behind all it is computed from.
static void order_start(struct parser *p) {
    struct model *m = p->m;
    struct graph g = graph_new(p);
    g.start = true;
    for (uint32_t i = 0; i < m->derived.count; i++)
        walk(&g, m->derived.items[i]);
    if (!p->errors) { // a cycle goes through a derived parameter
        note_temporaries(&g);
        note_guess(&g);
    }
    for (uint32_t i = 0; i < m->states.count; i++)
        walk(&g, m->states.items[i]);
    for (uint32_t i = 0; i < g.order.count; i++) {
        uint32_t node = g.order.items[i];
        if (is_start_value(&g, node) ||
            (node < g.symbols && m->symbols.items[node].kind == SYMBOL_DERIVED))
            *vec_push(&m->arena, &m->start) = node;
    }
}

// ---- All ----------------------------------------------------------------------------------------

// Functions change places so that callees come first; calls follow.
static void sort_functions(struct graph *g) {
    struct model *m = g->m;
    uint32_t count = m->functions.count, n = 0;
    if (!count)
        return;
    struct function *sorted = arena_new(&m->arena, struct function, count);
    uint32_t *place = arena_new(&g->p->scratch, uint32_t, count);
    for (uint32_t i = 0; i < g->order.count; i++)
        if (g->order.items[i] >= g->symbols) {
            uint32_t f = g->order.items[i] - g->symbols;
            place[f] = n;
            sorted[n++] = m->functions.items[f];
        }
    m->functions.items = sorted;
    m->functions.cap = count;
    for (uint32_t i = 0; i < m->code.count; i++)
        if (m->code.items[i].op == OP_CALL)
            m->code.items[i].index = place[m->code.items[i].index];
    for (uint32_t i = 0; i < m->by_name->entries.count; i++)
        if (m->by_name->entries.items[i].kind == NAME_FUNCTION)
            m->by_name->entries.items[i].index = place[m->by_name->entries.items[i].index];
}

bool resolve_all(struct parser *p) {
    struct model *m = p->m;
    struct graph g = graph_new(p);
    for (uint32_t node = g.symbols; node < g.nodes; node++)
        walk(&g, node);
    for (uint32_t node = 0; node < g.symbols; node++)
        walk(&g, node);
    check_all(&g);
    if (!p->errors && has_start_order(&g))
        order_start(p);
    if (p->errors)
        return false;
    sort_functions(&g);
    m->temps.count = m->derived.count = 0;
    for (uint32_t i = 0; i < g.order.count; i++) {
        uint32_t node = g.order.items[i];
        if (node >= g.symbols)
            continue;
        if (m->symbols.items[node].kind == SYMBOL_TEMP)
            m->temps.items[m->temps.count++] = node;
        else if (m->symbols.items[node].kind == SYMBOL_DERIVED)
            m->derived.items[m->derived.count++] = node;
    }
    return true;
}
