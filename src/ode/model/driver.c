// SPDX-License-Identifier: MIT
// Drivers and tables: what is looked up in samples, by the time or by an argument.
//
// In an expression a look-up is OP_LOOKUP on the argument (of a driver OP_TIME), the number of the
// signal and 0, the order of the derivative. Samples of a driver come with a run and are no part of
// the model. Those of a table are made by its formula, or are read from the text of XPP's file,
// which somebody else opens. A formula is computed whenever it is asked for, because parameters and
// constants change.
#include "ode/model/parse.h"

#include "base/ascii.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MOST = 1 << 20 }; // samples of a table

static const char *argument_names[] = {"t"};
const struct arguments driver_argument = {argument_names, 1};

// ---- Declaration of a table ---------------------------------------------------------------------

// The next word of text[*at..to), without blanks; *at moves behind it and the blanks that follow.
static struct span next_word(const struct parser *p, uint32_t *at, uint32_t to) {
    struct span w = {*at, *at};
    while (w.end < to && !text_blank(p->text[w.end]))
        w.end++;
    *at = w.end;
    while (*at < to && text_blank(p->text[*at]))
        ++*at;
    return w;
}

static bool next_number(struct parser *p, uint32_t *at, uint32_t to, double *value) {
    struct span w = next_word(p, at, to);
    if (number_all(p->text + w.first, w.end - w.first, NUMBER_SIGNED, value) && isfinite(*value))
        return true;
    return parse_error(p, w.first, "expected a number here, as in `table f %% 101 -5 5 exp(-t^2)`");
}

static const char *wrong_range(double count, double lo, double hi) {
    if (!(count >= 2 && count <= TABLE_MOST && count == floor(count)))
        return "a table has 2 to 1048576 samples";
    return lo < hi && isfinite(hi - lo) ? NULL : "a table goes from a number to a larger one";
}

static void declare_formula(struct parser *p, struct line *l, uint32_t at, uint32_t signal) {
    double count, lo, hi;
    uint32_t first = at;
    if (!next_number(p, &at, l->to, &count) || !next_number(p, &at, l->to, &lo) ||
        !next_number(p, &at, l->to, &hi))
        return;
    const char *why = wrong_range(count, lo, hi);
    if (why) {
        parse_error(p, first, "%s", why);
        return;
    }
    struct signal *s = &p->m->signals.items[signal];
    s->count = (uint32_t)count;
    s->lo = lo;
    s->hi = hi;
    if (lines_lex(p, l, at))
        declare_statement(p, STATEMENT_TABLE, signal, s->at, l->tokens, (struct index){0});
}

void driver_table(struct parser *p, struct line *l, uint32_t from) {
    uint32_t at = from;
    struct span name = next_word(p, &at, l->to);
    for (uint32_t i = name.first; i < name.end; i++)
        if (i == name.first ? !text_letter(p->text[i]) : !text_word(p->text[i])) {
            parse_error(p, i, "expected the name of a table here");
            return;
        }
    if (at == l->to) {
        parse_error(p, from, "expected `%% count lo hi formula` or the name of a file behind it");
        declare_bad(p, p->text + name.first, name.end - name.first);
        return;
    }
    uint32_t signal = declare_signal(p, p->text + name.first, name.end - name.first, name.first);
    if (signal == UINT32_MAX)
        return;
    struct signal *s = &p->m->signals.items[signal];
    s->table = true;
    if (p->text[at] != '%') {
        s->file = arena_strndup(&p->m->arena, p->text + at, l->to - at);
        return;
    }
    for (at++; at < l->to && text_blank(p->text[at]);)
        at++;
    declare_formula(p, l, at, signal);
}

// ---- Values of a table --------------------------------------------------------------------------

// The next number of a text, one or more a line; false at its end or where there is none.
static bool file_number(const char **at, const char *end, double *value) {
    while (*at < end && (text_blank(**at) || strchr("\r\n\t,", **at)))
        ++*at;
    const char *word = *at;
    while (*at < end && !text_blank(**at) && !strchr("\r\n\t,", **at))
        ++*at;
    return number_all(word, (size_t)(*at - word), NUMBER_SIGNED, value) && isfinite(*value);
}

static uint32_t line_of(const char *text, const char *at) {
    uint32_t line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

static shoal_code bad_file(const char *name, const char *text, const char *at, const char *what,
                           struct report *r) {
    return report_error(r, SHOAL_INPUT, "%s:%u: %s", name, line_of(text, at), what);
}

shoal_code model_read_table(struct model *m, uint32_t signal, const char *name, const char *text,
                            size_t length, struct report *r) {
    struct signal *s = &m->signals.items[signal];
    const char *at = text, *end = text + length;
    double head[3] = {0};
    for (int i = 0; i < 3; i++)
        if (!file_number(&at, end, &head[i]))
            return bad_file(name, text, at, "a table begins with its count, lo and hi", r);
    const char *why = wrong_range(head[0], head[1], head[2]);
    if (why)
        return bad_file(name, text, at, why, r);
    uint32_t count = (uint32_t)head[0];
    double *values = arena_new(&m->arena, double, count);
    if (!values)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        if (!file_number(&at, end, &values[i]))
            return bad_file(name, text, at, "expected a finite number here, one for each sample",
                            r);
    while (at < end && (text_blank(*at) || strchr("\r\n\t,", *at)))
        at++;
    if (at < end)
        return bad_file(name, text, at, "there are more numbers than the table has samples", r);
    s->count = count;
    s->lo = head[1];
    s->hi = head[2];
    s->values = values;
    return SHOAL_OK;
}

shoal_code model_take_tables(struct model *m, const struct model *from, struct report *r) {
    for (uint32_t i = 0; i < m->signals.count && i < from->signals.count; i++) {
        struct signal *to = &m->signals.items[i];
        const struct signal *s = &from->signals.items[i];
        double *values = s->values ? arena_new(&m->arena, double, s->count) : NULL;
        if (!s->values)
            continue;
        if (!values)
            return report_error(r, SHOAL_MEMORY, "out of memory");
        memcpy(values, s->values, s->count * sizeof *values);
        to->count = s->count;
        to->lo = s->lo;
        to->hi = s->hi;
        to->values = values;
    }
    return SHOAL_OK;
}

static double argument_of(const struct signal *s, uint32_t i) {
    return i + 1 == s->count ? s->hi : s->lo + i * ((s->hi - s->lo) / (s->count - 1));
}

static shoal_code compute_table(struct parser *p, const struct signal *s, double *values) {
    uint32_t at;
    for (uint32_t i = 0; i < s->count; i++)
        values[i] = argument_of(s, i);
    const char *why = values_compute_all(p, s->formula, s->count, values, &at);
    return why ? report_error(p->r, SHOAL_INPUT, "%s: table `%s` at %g: %s", p->source->name,
                              s->name, argument_of(s, at), why)
               : SHOAL_OK;
}

shoal_code model_table(struct model *m, uint32_t signal, double *values, struct report *r) {
    const struct signal *s = &m->signals.items[signal];
    if (s->file && !s->values)
        return report_error(r, SHOAL_INPUT,
                            "%s: the file of table `%s` is read only for a model that is loaded "
                            "from a file itself",
                            m->source.name, s->name);
    if (s->values) {
        memcpy(values, s->values, s->count * sizeof *values);
        return SHOAL_OK;
    }
    jmp_buf oom;
    struct parser p = {
        .m = m, .r = r, .source = &m->source, .values = true, .steps_most = STEPS_MOST};
    p.scratch.oom = &oom;
    shoal_code code =
        setjmp(oom) ? report_error(r, SHOAL_MEMORY, "out of memory") : compute_table(&p, s, values);
    p.scratch.oom = NULL;
    arena_free(&p.scratch);
    return code;
}

static bool uses(const struct model *m, struct expr e, uint32_t symbol) {
    for (uint32_t i = e.first; i < e.first + e.count; i++)
        if (m->code.items[i].op == OP_SYMBOL && m->code.items[i].index == symbol)
            return true;
    return false;
}

static void mark_calls(const struct model *m, struct expr e, bool *called) {
    for (uint32_t i = e.first; i < e.first + e.count; i++)
        if (m->code.items[i].op == OP_CALL)
            called[m->code.items[i].index] = true;
}

// Callees come before the functions that call them, so one way from the last to the first finds all
// that are called.
bool model_table_uses(const struct model *m, uint32_t signal, uint32_t symbol) {
    struct expr formula = m->signals.items[signal].formula;
    bool found = uses(m, formula, symbol), *called = calloc(m->functions.count + 1, sizeof *called);
    if (!called)
        return true; // it may
    mark_calls(m, formula, called);
    for (uint32_t f = m->functions.count; f-- > 0 && !found;)
        if (called[f]) {
            mark_calls(m, m->functions.items[f].body, called);
            found = uses(m, m->functions.items[f].body, symbol);
        }
    free(called);
    return found;
}

// ---- Names --------------------------------------------------------------------------------------

uint32_t model_find_driver(const struct model *m, const char *name, const char *where,
                           struct report *r) {
    struct nearest n = {.wanted = name};
    uint32_t folded = UINT32_MAX, matches = 0;
    for (uint32_t i = 0; i < m->signals.count; i++) {
        const struct signal *s = &m->signals.items[i];
        if (s->table)
            continue;
        if (!strcmp(s->name, name))
            return i;
        nearest_offer(&n, s->name);
        if (ascii_same(s->name, name)) {
            folded = i;
            matches++;
        }
    }
    if (matches == 1) {
        report_note(r, "%s: `%s` is read as `%s`", where, name, m->signals.items[folded].name);
        return folded;
    }
    const char *best = nearest_best(&n);
    report_error(r, SHOAL_INPUT, "%s: the model has no driver `%.60s`%s%s%s", where, name,
                 best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
    return UINT32_MAX;
}
