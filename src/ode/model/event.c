// SPDX-License-Identifier: MIT
// Events: `event NAME when|at|every ... : actions` and XPP's `global SIGN CONDITION {actions}`.
//
// A line is cut into its parts here, once for each j of a range in its name or, of a `global`, in
// its condition. Targets and expressions are read when all names are known (event_read). What a
// condition means as a function of time is symbolic/event.c's business.
#include "ode/model/parse.h"

#include "base/ascii.h"

#include <string.h>

static bool is_word(const struct parser *p, uint32_t pos, const char *word) {
    const struct token *t = &p->tokens.items[pos];
    return t->kind == TOKEN_NAME && t->length == strlen(word) &&
           ascii_same_prefix(p->text + t->at, word, t->length);
}

static uint8_t kind_at(const struct parser *p, uint32_t pos) { return p->tokens.items[pos].kind; }

static bool expected(struct parser *p, uint32_t pos, const char *what) {
    const struct token *t = &p->tokens.items[pos];
    return parse_error(p, t->at, "expected %s here, found %s", what, parse_token_text(p, t));
}

// ---- The parts of a line ------------------------------------------------------------------------

// What is the same for all j.
struct parts {
    enum event_kind kind;
    enum event_edge edge;
    bool sequential;
    struct span when, times[EVERY_TIMES]; // of EVENT_AT: the first is the list
    struct span actions;
};

// The first colon outside of parentheses that is not one of a ternary; `end`: there is none.
static uint32_t find_colon(const struct parser *p, uint32_t pos, uint32_t end) {
    uint32_t depth = 0, questions = 0;
    for (; pos < end; pos++) {
        uint8_t kind = kind_at(p, pos);
        depth += kind == TOKEN_OPEN;
        depth -= kind == TOKEN_CLOSE && depth > 0;
        if (depth)
            continue;
        questions += kind == TOKEN_QUESTION;
        if (kind == TOKEN_COLON && !questions)
            break;
        questions -= kind == TOKEN_COLON;
    }
    return pos;
}

// Behind this token a word is not a value.
static bool ends_value(const struct parser *p, uint32_t pos) {
    uint8_t kind = kind_at(p, pos);
    return kind == TOKEN_NUMBER || kind == TOKEN_NAME || kind == TOKEN_CLOSE || kind == TOKEN_INDEX;
}

static bool read_when(struct parser *p, uint32_t first, uint32_t end, struct parts *out) {
    out->kind = EVENT_WHEN;
    bool rising = end > first + 1 && is_word(p, end - 1, "rising");
    bool falling = end > first + 1 && is_word(p, end - 1, "falling");
    if ((rising || falling) && ends_value(p, end - 2)) {
        out->edge = rising ? EDGE_RISING : EDGE_FALLING;
        end--;
    }
    out->when = (struct span){first, end};
    return end > first || expected(p, first, "a condition");
}

static bool read_every(struct parser *p, uint32_t first, uint32_t end, struct parts *out) {
    static const char *const words[] = {[EVERY_FROM] = "from", [EVERY_UNTIL] = "until"};
    int part = EVERY_PERIOD;
    out->kind = EVENT_EVERY;
    for (uint32_t pos = first; pos <= end; pos++) {
        int next = EVERY_TIMES;
        for (int k = EVERY_FROM; k < EVERY_TIMES && pos < end; k++)
            if (is_word(p, pos, words[k]) && pos > first && ends_value(p, pos - 1))
                next = k;
        if (next == EVERY_TIMES && pos < end)
            continue;
        if (pos == first)
            return expected(p, pos, part == EVERY_PERIOD ? "how often" : "a time");
        out->times[part] = (struct span){first, pos};
        if (pos == end)
            return true;
        if (out->times[next].end)
            return parse_error(p, p->tokens.items[pos].at, "`%s` is given twice", words[next]);
        part = next;
        first = pos + 1;
    }
    return expected(p, end, "a time");
}

static bool read_parts(struct parser *p, uint32_t pos, uint32_t end, struct parts *out) {
    uint32_t colon = find_colon(p, pos + 1, end);
    if (pos == end || colon == end)
        return expected(p, end, "`: ` and what happens, as in `event hit when x>1 : x=0`");
    out->actions = (struct span){colon + 1, end};
    if (is_word(p, pos, "when"))
        return read_when(p, pos + 1, colon, out);
    if (is_word(p, pos, "every"))
        return read_every(p, pos + 1, colon, out);
    if (!is_word(p, pos, "at"))
        return expected(p, pos, "`when`, `at` or `every`");
    out->kind = EVENT_AT;
    out->times[0] = (struct span){pos + 1, colon};
    return colon > pos + 1 || expected(p, colon, "a time");
}

// ---- What is noted ------------------------------------------------------------------------------

static struct event_line *declare(struct parser *p, const struct line *l, const struct parts *parts,
                                  const char *name, uint32_t length, uint32_t at,
                                  struct index index) {
    struct model *m = p->m;
    if (names_exact(p->happen, name, length)) {
        parse_error(p, at, "there is already an event `%.*s`", (int)length, name);
        return NULL;
    }
    if (m->events.count >= p->symbols_most) {
        parse_limit(p, at, "the model has too many events");
        return NULL;
    }
    name = arena_strndup(&m->arena, name, length);
    names_add(&p->scratch, p->happen, name, length);
    *vec_push(&m->arena, &m->events) =
        (struct event){.name = name,
                       .line = arena_strndup(&m->arena, p->text + l->from, l->to - l->from),
                       .kind = parts->kind,
                       .edge = parts->edge,
                       .sequential = parts->sequential,
                       .at = at};
    struct event_line *e = vec_push(&p->scratch, &p->events);
    *e = (struct event_line){.index = index, .when = parts->when};
    return e;
}

// The end of a value: a comma outside of parentheses.
static uint32_t item_end(const struct parser *p, uint32_t pos, uint32_t end) {
    uint32_t depth = 0;
    for (; pos < end; pos++) {
        depth += kind_at(p, pos) == TOKEN_OPEN;
        depth -= kind_at(p, pos) == TOKEN_CLOSE && depth > 0;
        if (!depth && kind_at(p, pos) == TOKEN_COMMA)
            break;
    }
    return pos;
}

static void add_times(struct parser *p, struct event_line *l, const struct parts *parts) {
    if (parts->kind == EVENT_EVERY)
        for (int k = 0; k < EVERY_TIMES; k++)
            *vec_push(&p->scratch, &l->times) = parts->times[k];
    if (parts->kind != EVENT_AT)
        return;
    for (uint32_t pos = parts->times[0].first; pos < parts->times[0].end; pos++) {
        uint32_t end = item_end(p, pos, parts->times[0].end);
        *vec_push(&p->scratch, &l->times) = (struct span){pos, end};
        pos = end;
    }
}

// One assignment, to the element that the index says.
static bool add_assignment(struct parser *p, struct event_line *l, struct span s,
                           struct index index) {
    struct action_line a = {.at = p->tokens.items[s.first].at, .index = index};
    uint32_t pos = s.first, length;
    const char *name = arrays_name(p, &pos, index, &length);
    if (!name)
        return false;
    if (pos == s.end || kind_at(p, pos) != TOKEN_ASSIGN)
        return expected(p, pos, "`=`");
    a.name = arena_strndup(&p->scratch, name, length);
    a.value = (struct span){pos + 1, s.end};
    if (pos + 1 == s.end)
        return expected(p, s.end, "a value");
    *vec_push(&p->scratch, &l->actions) = a;
    return true;
}

// An assignment, those of a range, or `stop`.
static bool add_action(struct parser *p, struct event_line *l, struct span s) {
    const struct token *range = NULL;
    if (s.first == s.end || kind_at(p, s.first) != TOKEN_NAME)
        return expected(p, s.first, "an assignment or `stop`");
    if (s.end == s.first + 1 && is_word(p, s.first, "stop")) {
        *vec_push(&p->scratch, &l->actions) =
            (struct action_line){.at = p->tokens.items[s.first].at, .index = l->index};
        return true;
    }
    arrays_name_tokens(p, s.first, &range, NULL);
    if (!range)
        return add_assignment(p, l, s, l->index);
    if (l->index.known)
        return parse_error(p, range->at, "two ranges in one line; use [j]");
    if (!arrays_check_name(p, s.first, range))
        return false;
    for (int64_t j = range->times; j <= range->plus && !p->stop; j++)
        if (!add_assignment(p, l, s, (struct index){j, true, j > range->times}))
            return false;
    return true;
}

static void add_actions(struct parser *p, struct event_line *l, struct span actions) {
    if (actions.first == actions.end)
        expected(p, actions.end, "an assignment or `stop`");
    for (uint32_t pos = actions.first; pos < actions.end;) {
        uint32_t end = item_end(p, pos, actions.end);
        if (!add_action(p, l, (struct span){pos, end}))
            return;
        pos = end + 1;
        if (pos == actions.end)
            expected(p, pos, "an assignment or `stop`");
    }
}

static void declare_one(struct parser *p, const struct line *l, const struct parts *parts,
                        uint32_t name, struct index index) {
    uint32_t pos = name, length, at = p->tokens.items[name].at;
    const char *text = arrays_name(p, &pos, index, &length);
    struct event_line *e = text ? declare(p, l, parts, text, length, at, index) : NULL;
    if (!e)
        return;
    add_times(p, e, parts);
    add_actions(p, e, parts->actions);
}

void event_line(struct parser *p, struct line *l, uint32_t from, struct index index) {
    if (!lines_lex(p, l, from))
        return;
    uint32_t first = l->tokens.first, end = l->tokens.end;
    struct parts parts = {0};
    const struct token *range = NULL;
    if (first == end || kind_at(p, first) != TOKEN_NAME) {
        expected(p, first, "the name of an event");
        return;
    }
    uint32_t behind = first + arrays_name_tokens(p, first, &range, NULL);
    if (!read_parts(p, behind, end, &parts))
        return;
    if (!range)
        declare_one(p, l, &parts, first, index);
    else if (index.known)
        parse_error(p, range->at, "a range inside a `%%` block: use [j]");
    else if (arrays_check_name(p, first, range)) {
        int32_t low = range->times, high = range->plus;
        for (int64_t j = low; j <= high && !p->stop; j++)
            declare_one(p, l, &parts, first, (struct index){j, true, j > low});
    }
}

// ---- XPP's ----------------------------------------------------------------------------------

// Bytes of a line of XPP's kind: the condition, and what stands in the last braces.
struct global_text {
    enum event_edge edge;
    uint32_t when, when_end, actions, actions_end;
};

static uint32_t skip_blanks(const struct parser *p, uint32_t at, uint32_t to) {
    while (at < to && text_blank(p->text[at]))
        at++;
    return at;
}

static bool cut_global(struct parser *p, const struct line *l, uint32_t at,
                       struct global_text *out) {
    const char *s = p->text;
    bool minus = s[at] == '-';
    uint32_t digit = at + (minus || s[at] == '+');
    if (digit >= l->to || (s[digit] != '0' && s[digit] != '1') || text_word(s[digit + 1]))
        return parse_error(p, at, "expected a sign here, -1, 0 or 1, as in `global 1 x-1 {x=0}`");
    out->edge = s[digit] == '0' ? EDGE_ZERO : minus ? EDGE_AT_MOST : EDGE_AT_LEAST;
    at = skip_blanks(p, digit + 1, l->to);
    bool braced = at < l->to && s[at] == '{';
    const char *end = at < l->to ? memchr(s + at, braced ? '}' : '{', l->to - at) : NULL;
    if (!end)
        return parse_error(p, at,
                           "expected a condition and actions in braces here, as in `global "
                           "1 x-1 {x=0}`");
    out->when = at + braced;
    out->when_end = (uint32_t)(end - s);
    at = skip_blanks(p, out->when_end + braced, l->to);
    if (at >= l->to || s[at] != '{' || s[l->to - 1] != '}')
        return parse_error(p, at, "expected actions in braces here, as in `{x=0;y=1}`");
    out->actions = at + 1;
    out->actions_end = l->to - 1;
    return true;
}

// A range in the condition goes over the whole line; its place becomes [j].
static bool take_range(struct parser *p, struct span tokens, struct index index,
                       struct token *range) {
    for (uint32_t i = tokens.first; i < tokens.end; i++) {
        struct token *t = &p->tokens.items[i];
        if (t->kind != TOKEN_RANGE)
            continue;
        if (index.known)
            return parse_error(p, t->at, "a range inside a `%%` block: use [j]");
        if (!arrays_check_range(p, t))
            return false;
        if (range->kind == TOKEN_RANGE && (range->times != t->times || range->plus != t->plus))
            return parse_error(p, t->at, "two ranges in one line");
        *range = *t;
        t->kind = TOKEN_INDEX;
        t->times = 1;
        t->plus = 0;
    }
    return true;
}

// Tokens of the actions, one span after the other; `arret` and `out_put` are XPP's own.
static void add_global_actions(struct parser *p, struct event_line *l, const struct span *actions,
                               uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct span s = actions[i];
        bool given = s.end > s.first + 2 && kind_at(p, s.first + 1) == TOKEN_ASSIGN;
        if (given && is_word(p, s.first, "out_put")) {
            if (!p->out_put_at)
                p->out_put_at = p->tokens.items[s.first].at + 1;
        } else if (given && is_word(p, s.first, "arret")) {
            *vec_push(&p->scratch, &l->actions) =
                (struct action_line){.at = p->tokens.items[s.first].at,
                                     .index = l->index,
                                     .value = {s.first + 2, s.end}};
        } else if (!add_action(p, l, s))
            return;
    }
}

void event_global(struct parser *p, struct line *l, uint32_t from, struct index index) {
    struct global_text g = {0};
    struct parts parts = {.kind = EVENT_WHEN, .sequential = true};
    struct token range = {.kind = TOKEN_END};
    vec(struct span) actions = {0};
    if (!cut_global(p, l, from, &g) || !lexer_read(p, g.when, g.when_end, &parts.when))
        return;
    parts.edge = g.edge;
    for (uint32_t at = g.actions; at < g.actions_end;) {
        const char *end = memchr(p->text + at, ';', g.actions_end - at);
        uint32_t to = end ? (uint32_t)(end - p->text) : g.actions_end;
        struct span s;
        if (!lexer_read(p, at, to, &s))
            return;
        if (s.end > s.first)
            *vec_push(&p->scratch, &actions) = s;
        at = to + 1;
    }
    if (!take_range(p, parts.when, index, &range))
        return;
    bool over = range.kind == TOKEN_RANGE;
    int64_t low = over ? range.times : 0, high = over ? range.plus : 0;
    for (int64_t j = low; j <= high && !p->stop; j++) {
        const char *name = arena_printf(&p->scratch, "global%u", ++p->globals);
        struct index here = over ? (struct index){j, true, j > low} : index;
        struct event_line *e = declare(p, l, &parts, name, (uint32_t)strlen(name), l->from, here);
        if (!e)
            return;
        add_global_actions(p, e, actions.items, actions.count);
    }
}

// ---- Reading them -------------------------------------------------------------------------------

static uint32_t unknown_target(struct parser *p, const struct action_line *a) {
    const struct model *m = p->m;
    if (parse_is_reported(p, a->at))
        return UINT32_MAX;
    struct nearest n = {.wanted = a->name};
    for (uint32_t i = 0; i < m->states.count; i++)
        nearest_offer(&n, m->symbols.items[m->states.items[i]].name);
    for (uint32_t i = 0; i < m->pars.count; i++)
        nearest_offer(&n, m->symbols.items[m->pars.items[i]].name);
    const char *best = nearest_best(&n);
    parse_error(p, a->at, "there is no state or parameter `%.60s`%s%s%s", a->name,
                best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
    return UINT32_MAX;
}

// The symbol that is assigned; UINT32_MAX after an error.
static uint32_t find_target(struct parser *p, const struct action_line *a, bool repeated) {
    const struct model *m = p->m;
    uint32_t length = (uint32_t)strlen(a->name);
    const struct name_entry *e = names_exact(m->by_name, a->name, length);
    if (!e && (e = names_folded(m->by_name, a->name, length)) && e->kind == NAME_SYMBOL &&
        !repeated)
        parse_note(p, a->at, "`%s` is read as `%s`", a->name, e->name);
    if (e && e->kind == NAME_BAD)
        return UINT32_MAX;
    if (!e || e->kind != NAME_SYMBOL)
        return unknown_target(p, a);
    enum symbol_kind kind = m->symbols.items[e->index].kind;
    if (kind == SYMBOL_STATE || kind == SYMBOL_PAR)
        return e->index;
    parse_error(p, a->at, "`%s` is %s; an event assigns states and parameters", e->name,
                declare_kind_words(kind));
    return UINT32_MAX;
}

// `last` has for each symbol, and behind them for `stop`, the event that assigned it last.
static void check_twice(struct parser *p, const struct event *e, const struct event_action *a,
                        const struct event **last) {
    const struct model *m = p->m;
    bool stop = a->target == ACTION_STOP;
    const struct event **of = &last[stop ? m->symbols.count : a->target];
    if (*of == e && !e->sequential)
        parse_error(p, a->at, "`%s` is there twice in one event",
                    stop ? "stop" : m->symbols.items[a->target].name);
    *of = e;
}

// Tables are made once, before a run.
static void check_tables(struct parser *p, const struct event_action *a) {
    const struct model *m = p->m;
    bool par = a->target != ACTION_STOP && m->symbols.items[a->target].kind == SYMBOL_PAR;
    for (uint32_t i = 0; par && i < m->signals.count; i++)
        if (model_table_uses(m, i, a->target))
            parse_error(p, a->at, "the table `%s` is made with `%s`, so an event cannot change it",
                        m->signals.items[i].name, m->symbols.items[a->target].name);
}

static uint32_t operands_of(const struct model *m, const struct item *i) {
    return i->op == OP_CALL ? m->functions.items[i->index].args : op_operands[i->op];
}

// A condition that is true at single points of time cannot be found by its sign. What is wrong
// hides behind `and`, `or` and `not` only.
static void check_condition(struct parser *p, struct expr e) {
    const struct item *code = p->m->code.items;
    uint32_t left = 1; // operands of such operators still to come
    for (uint32_t i = e.first + e.count; i-- > e.first && left;) {
        uint8_t op = code[i].op;
        if (op == OP_AND || op == OP_OR || op == OP_NOT) {
            left += op_operands[op] - 1u;
            continue;
        }
        if (op == OP_EQ || op == OP_NE)
            parse_error(p, code[i].at,
                        "`%s` cannot be the condition of an event; an event happens where an "
                        "expression crosses zero, as in `when x-1`",
                        op_names[op]);
        left--;
        for (uint32_t need = operands_of(p->m, &code[i]); need && i > e.first; need--)
            need += operands_of(p->m, &code[--i]);
    }
}

static void read_event(struct parser *p, struct event *e, const struct event_line *l,
                       const struct event **last) {
    struct model *m = p->m;
    if (e->kind == EVENT_WHEN && expression_read(p, l->when, l->index, NULL, &e->when))
        check_condition(p, e->when);
    for (uint32_t i = 0; i < l->times.count; i++) {
        struct expr *time = vec_push(&m->arena, &e->times);
        *time = (struct expr){0};
        if (l->times.items[i].end)
            expression_read(p, l->times.items[i], l->index, NULL, time);
    }
    for (uint32_t i = 0; i < l->actions.count; i++) {
        const struct action_line *line = &l->actions.items[i];
        struct event_action a = {.target = ACTION_STOP, .at = line->at};
        if (line->name && (a.target = find_target(p, line, line->index.repeated)) == UINT32_MAX)
            continue;
        if (line->value.end)
            expression_read(p, line->value, line->index, NULL, &a.expr);
        check_twice(p, e, &a, last);
        check_tables(p, &a);
        *vec_push(&m->arena, &e->actions) = a;
    }
}

void event_read(struct parser *p) {
    const struct event **last =
        arena_new(&p->scratch, const struct event *, p->m->symbols.count + (size_t)1);
    for (uint32_t i = 0; i < p->events.count && !p->stop; i++)
        read_event(p, &p->m->events.items[i], &p->events.items[i], last);
}
