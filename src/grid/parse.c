// SPDX-License-Identifier: MIT
// The text of a pipeline to a plan: words, then expressions by descent of bounded depth.
//
// There is no tree in between: nodes are made as their text is read. Which grid `_` is must be
// known by then, and `f(g, a)` is `g | f(a)` only where f takes one argument; so the arguments
// inside each pair of parentheses are counted before anything is read.
#include "grid/parse.h"

#include "base/ascii.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_MOST = 100, STAGES_MOST = 1024 };

// ---- Words --------------------------------------------------------------------------------------

static bool is_rule_char(char c) { return c >= '0' && c <= '8'; }

// Bytes of the rule that a text begins with; 0: it begins with none. Bit n: born with n
// neighbours; bit 9 + n: stays with n.
static size_t read_rule(const char *text, size_t length, int32_t *rule) {
    size_t i = 1;
    *rule = 0;
    for (; i < length && is_rule_char(text[i]); i++)
        *rule |= 1 << (text[i] - '0');
    if (i + 1 >= length || text[i] != '/' || text[i + 1] != 'S')
        return 0;
    for (i += 2; i < length && is_rule_char(text[i]); i++)
        *rule |= 1 << (text[i] - '0' + 9);
    return i;
}

static void skip_blanks(struct grid_parser *p, size_t *at) {
    const struct source *s = p->source;
    while (*at < s->length) {
        char c = s->text[*at];
        if (c == '#')
            while (*at < s->length && s->text[*at] != '\n')
                ++*at;
        else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            ++*at;
        else
            return;
    }
}

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

static size_t read_number(struct grid_parser *p, size_t at, struct grid_token *t) {
    const struct source *s = p->source;
    size_t i = at;
    for (; i < s->length && ascii_digit(s->text[i]); i++) {
        t->number = t->number * 10 + (uint64_t)(s->text[i] - '0');
        if (t->number > 1ull << 31)
            grid_fail(p, at, "this number is above 2147483648");
    }
    if (i < s->length && ascii_word(s->text[i]))
        grid_fail(p, i, "a number ends with its digits");
    return i - at;
}

static size_t read_name(struct grid_parser *p, size_t at) {
    const struct source *s = p->source;
    size_t i = at;
    while (i < s->length && (is_lower(s->text[i]) || ascii_digit(s->text[i]) || s->text[i] == '_'))
        i++;
    if (i < s->length && ascii_letter(s->text[i]))
        grid_fail(p, i, "names are lower case");
    return i - at;
}

static size_t read_sign(struct grid_parser *p, size_t at, struct grid_token *t) {
    const char *text = p->source->text + at;
    static const char *const twos[] = {"==", "!=", "<=", ">="};
    for (size_t i = 0; i < 4 && at + 1 < p->source->length; i++)
        if (text[0] == twos[i][0] && text[1] == twos[i][1]) {
            t->kind = (char)(text[0] == '='   ? 'E'
                             : text[0] == '!' ? 'N'
                             : text[0] == '<' ? 'L'
                                              : 'G');
            return 2;
        }
    if (!*text || !strchr("(),;=|+-*/%<>_", *text))
        grid_fail(p, at, "this character begins nothing");
    t->kind = *text;
    return 1;
}

static size_t read_token(struct grid_parser *p, size_t at, struct grid_token *t) {
    const struct source *s = p->source;
    char c = s->text[at];
    *t = (struct grid_token){.at = at};
    if (ascii_digit(c)) {
        t->kind = '0';
        return read_number(p, at, t);
    }
    if (is_lower(c)) {
        t->kind = 'a';
        return read_name(p, at);
    }
    if (c == 'B') {
        t->kind = 'B';
        size_t length = read_rule(s->text + at, s->length - at, &t->rule);
        if (!length)
            grid_fail(p, at, "a rule is written as B3/S23");
        return length;
    }
    return read_sign(p, at, t);
}

static bool is_border(const struct grid_parser *p, const struct grid_token *t) {
    return grid_border_of(p->source->text + t->at, t->length) >= 0;
}

// Counts the arguments inside of each pair, without borders and rules.
static void count_arguments(struct grid_parser *p) {
    uint32_t open[DEPTH_MOST], depth = 0;
    for (uint32_t i = 0; i < p->tokens.count; i++) {
        struct grid_token *t = &p->tokens.items[i];
        if (t->kind == '(') {
            if (depth == DEPTH_MOST)
                grid_fail(p, t->at, "more than %d parentheses are open", DEPTH_MOST);
            open[depth++] = i;
        } else if (t->kind == ')' && depth) {
            depth--;
        }
        // The first word of an argument: behind an opening or a comma.
        const struct grid_token *before = i ? t - 1 : NULL;
        bool starts = before && (before->kind == '(' || before->kind == ',') && t->kind != ')' &&
                      t->kind != ',';
        uint32_t outer = t->kind == '(' ? depth - 1 : depth;
        if (starts && outer && t->kind != 'B' && !(t->kind == 'a' && is_border(p, t)))
            p->tokens.items[open[outer - 1]].arguments++;
    }
}

static void read_tokens(struct grid_parser *p) {
    size_t at = 0;
    for (skip_blanks(p, &at); at < p->source->length; skip_blanks(p, &at)) {
        struct grid_token t;
        t.length = 0;
        size_t length = read_token(p, at, &t);
        t.length = length;
        *vec_push(&p->plan->arena, &p->tokens) = t;
        at += length;
    }
    count_arguments(p);
    *vec_push(&p->plan->arena, &p->tokens) = (struct grid_token){.at = p->source->length};
}

// ---- Where we are -------------------------------------------------------------------------------

static const struct grid_token *now(const struct grid_parser *p) { return &p->tokens.items[p->at]; }

static bool take(struct grid_parser *p, char kind) {
    bool is = now(p)->kind == kind;
    p->at += is;
    return is;
}

static bool is_word(const struct grid_parser *p, const struct grid_token *t, const char *word) {
    return t->kind == 'a' && t->length == strlen(word) &&
           !memcmp(p->source->text + t->at, word, t->length);
}

static bool take_word(struct grid_parser *p, const char *word) {
    bool is = is_word(p, now(p), word);
    p->at += is;
    return is;
}

static void expect(struct grid_parser *p, char kind, const char *why) {
    if (!take(p, kind))
        grid_fail(p, now(p)->at, "`%c` is missing%s", kind, why);
}

// ---- Expressions --------------------------------------------------------------------------------

static struct grid_value read_pipe(struct grid_parser *p);

struct grid_value grid_combine(struct grid_parser *p, enum grid_op op, struct grid_value a,
                               struct grid_value b, struct grid_value c, size_t at) {
    uint8_t broken = 0;
    grid_no_box(p, a, at);
    grid_no_box(p, b, at);
    grid_no_box(p, c, at);
    uint32_t node = grid_cellwise(p->plan, op, a.node, b.node, c.node, &broken);
    if (broken)
        grid_fail(p, at, "these grids never have the same shape");
    return (struct grid_value){.node = node};
}

static struct grid_value two(struct grid_parser *p, enum grid_op op, struct grid_value a,
                             struct grid_value b, size_t at) {
    return grid_combine(p, op, a, b, (struct grid_value){0}, at);
}

static struct grid_value cell_word(struct grid_parser *p, const struct grid_token *t) {
    struct grid_value own = p->own;
    if (is_word(p, t, "v"))
        return own;
    const struct grid_node g = *grid_want_cells(p, own, t->at, "it");
    if (is_word(p, t, "h"))
        return (struct grid_value){.node = g.height};
    if (is_word(p, t, "w"))
        return (struct grid_value){.node = g.width};
    struct grid_node n = {.op = is_word(p, t, "row") ? GRID_ROW : GRID_COL,
                          .cells = true,
                          .args = 2,
                          .arg = {g.height, g.width},
                          .height = g.height,
                          .width = g.width};
    return (struct grid_value){.node = grid_node_put(p->plan, n)};
}

static bool is_cell_word(const struct grid_parser *p, const struct grid_token *t) {
    static const char *const words[] = {"v", "row", "col", "h", "w"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(p, t, words[i]))
            return true;
    return false;
}

static const struct grid_stage *find_stage(const struct grid_parser *p,
                                           const struct grid_token *t) {
    for (uint32_t i = 0; i < p->stages.count; i++)
        if (is_word(p, t, p->stages.items[i].name))
            return &p->stages.items[i];
    return NULL;
}

static void no_such_name(struct grid_parser *p, const struct grid_token *t) {
    char *name = arena_strndup(&p->plan->arena, p->source->text + t->at, t->length);
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < p->stages.count; i++)
        nearest_offer(&n, p->stages.items[i].name);
    for (const struct grid_word *w = grid_words; w->name; w++)
        nearest_offer(&n, w->name);
    const char *best = nearest_best(&n);
    grid_fail(p, t->at, "there is no `%.40s`%s%s%s", name, best ? "; did you mean `" : "",
              best ? best : "", best ? "`?" : "");
}

static void take_special(struct grid_parser *p, const struct grid_word *w, struct grid_call *c) {
    const struct grid_token *t = now(p);
    if (t->kind == 'B' ? !(w->takes & GRID_TAKES_RULE) : !(w->takes & GRID_TAKES_BORDER))
        grid_fail(p, t->at, "`%s` takes no %s", w->name, t->kind == 'B' ? "rule" : "border");
    if (t->kind == 'B' ? c->has_rule : c->has_border)
        grid_fail(p, t->at, "there is one already");
    if (t->kind == 'B') {
        c->has_rule = true;
        c->rule = t->rule;
    } else {
        c->has_border = true;
        c->border = (uint8_t)grid_border_of(p->source->text + t->at, t->length);
    }
    p->at++;
}

// The arguments inside the parentheses; the first may be the grid.
static void read_arguments(struct grid_parser *p, const struct grid_word *w, uint32_t count,
                           bool own, struct grid_call *c) {
    uint32_t read = 0;
    do {
        const struct grid_token *t = now(p);
        if (t->kind == 'B' || (t->kind == 'a' && is_border(p, t))) {
            take_special(p, w, c);
            continue;
        }
        size_t at = t->at;
        struct grid_value v = read_pipe(p);
        if (own && read == 0) {
            p->own = v;
        } else if (c->args < GRID_ARGS) {
            c->arg_at[c->args] = at;
            c->arg[c->args++] = v;
        }
        read++;
    } while (take(p, ','));
    if (read != count)
        grid_fail(p, now(p)->at, "an argument is missing");
}

static struct grid_value read_call(struct grid_parser *p, const struct grid_word *w) {
    const struct grid_token *t = now(p);
    struct grid_call c = {.at = t->at};
    struct grid_value outer = p->own;
    p->at++;
    uint32_t count = now(p)->kind == '(' ? now(p)->arguments : 0;
    bool own = false;
    if (!grid_word_takes(w, count, &own))
        grid_fail(p, t->at, "`%s` takes %s, not %u argument%s", w->name, w->arguments, count,
                  count == 1 ? "" : "s");
    if (take(p, '(') && !take(p, ')')) {
        read_arguments(p, w, count, own, &c);
        expect(p, ')', " behind the arguments");
    }
    c.own = p->own;
    p->own = outer;
    if ((w->takes & GRID_TAKES_RULE) && !c.has_rule)
        grid_fail(p, t->at, "`%s` needs a rule, such as B3/S23", w->name);
    return w->build(p, w, &c);
}

static struct grid_value read_name_value(struct grid_parser *p) {
    const struct grid_token *t = now(p);
    const struct grid_stage *stage = find_stage(p, t);
    const struct grid_word *w = grid_word_find(p->source->text + t->at, t->length);
    if (is_word(p, t, "in") || is_cell_word(p, t) || stage) {
        p->at++;
        if (now(p)->kind == '(')
            grid_fail(p, t->at, "this is no operation, so it takes no arguments");
        return stage ? stage->value : is_word(p, t, "in") ? p->in : cell_word(p, t);
    }
    if (w)
        return read_call(p, w);
    if (is_border(p, t) || is_word(p, t, "and") || is_word(p, t, "or"))
        grid_fail(p, t->at, "`%.*s` cannot stand here", (int)t->length, p->source->text + t->at);
    no_such_name(p, t);
    return p->in;
}

static struct grid_value read_primary(struct grid_parser *p, bool negative) {
    const struct grid_token *t = now(p);
    if (take(p, '0')) {
        if (t->number == 1ull << 31 && !negative)
            grid_fail(p, t->at, "2147483648 is too large; only -2147483648 is a number");
        return (struct grid_value){.node = grid_number(p->plan, (int32_t)(uint32_t)t->number)};
    }
    if (take(p, '_'))
        return p->own;
    if (t->kind == 'a')
        return read_name_value(p);
    if (!take(p, '('))
        grid_fail(p, t->at,
                  t->kind ? "a grid or a number should stand here"
                          : "the text ends where a grid or a number should stand");
    struct grid_value outer = p->own, v = read_pipe(p);
    p->own = outer;
    expect(p, ')', "");
    return v;
}

static struct grid_value read_unary(struct grid_parser *p) {
    uint32_t minus = 0;
    size_t at = now(p)->at;
    while (take(p, '-'))
        minus++;
    struct grid_value v = read_primary(p, minus);
    for (; minus; minus--)
        v = two(p, GRID_NEG, v, (struct grid_value){0}, at);
    return v;
}

static struct grid_value read_product(struct grid_parser *p) {
    struct grid_value v = read_unary(p);
    for (;;) {
        const struct grid_token *t = now(p);
        enum grid_op op = t->kind == '*' ? GRID_MUL : t->kind == '/' ? GRID_DIV : GRID_MOD;
        if (!take(p, '*') && !take(p, '/') && !take(p, '%'))
            return v;
        v = two(p, op, v, read_unary(p), t->at);
    }
}

static struct grid_value read_sum(struct grid_parser *p) {
    struct grid_value v = read_product(p);
    for (;;) {
        const struct grid_token *t = now(p);
        if (!take(p, '+') && !take(p, '-'))
            return v;
        v = two(p, t->kind == '+' ? GRID_ADD : GRID_SUB, v, read_product(p), t->at);
    }
}

static bool is_comparison(char kind) { return kind && strchr("EN<L>G", kind); }

static struct grid_value read_compare(struct grid_parser *p) {
    struct grid_value a = read_sum(p);
    const struct grid_token *t = now(p);
    if (!is_comparison(t->kind))
        return a;
    p->at++;
    struct grid_value b = read_sum(p);
    if (is_comparison(now(p)->kind))
        grid_fail(p, now(p)->at, "comparisons do not chain: write `a < b and b < c`");
    switch (t->kind) {
    case 'E':
        return two(p, GRID_EQ, a, b, t->at);
    case 'N':
        return two(p, GRID_NE, a, b, t->at);
    case '<':
        return two(p, GRID_LT, a, b, t->at);
    case 'L':
        return two(p, GRID_LE, a, b, t->at);
    case '>':
        return two(p, GRID_LT, b, a, t->at);
    default:
        return two(p, GRID_LE, b, a, t->at);
    }
}

static struct grid_value read_not(struct grid_parser *p) {
    uint32_t count = 0;
    size_t at = now(p)->at;
    while (take_word(p, "not"))
        count++;
    struct grid_value v = read_compare(p);
    for (; count; count--)
        v = two(p, GRID_NOT, v, (struct grid_value){0}, at);
    return v;
}

static struct grid_value read_and(struct grid_parser *p) {
    struct grid_value v = read_not(p);
    for (const struct grid_token *t = now(p); take_word(p, "and"); t = now(p))
        v = two(p, GRID_AND, v, read_not(p), t->at);
    return v;
}

static struct grid_value read_or(struct grid_parser *p) {
    struct grid_value v = read_and(p);
    for (const struct grid_token *t = now(p); take_word(p, "or"); t = now(p))
        v = two(p, GRID_OR, v, read_and(p), t->at);
    return v;
}

static struct grid_value read_pipe(struct grid_parser *p) {
    struct grid_value outer = p->own;
    uint32_t stage = p->stage;
    bool inner = p->depth++;
    struct grid_value v = read_or(p);
    while (take(p, '|')) {
        p->stage += !inner;
        p->own = v;
        v = read_or(p);
    }
    p->depth--;
    p->stage = stage;
    p->own = outer;
    return v;
}

// ---- Statements ---------------------------------------------------------------------------------

static void name_stage(struct grid_parser *p) {
    const struct grid_token *t = now(p);
    const char *name = arena_strndup(&p->plan->arena, p->source->text + t->at, t->length);
    if (grid_word_find(name, t->length) || is_word(p, t, "in") || is_cell_word(p, t) ||
        is_border(p, t) || is_word(p, t, "and") || is_word(p, t, "or") || is_word(p, t, "not"))
        grid_fail(p, t->at, "`%s` is a word of the language", name);
    if (p->stages.count == STAGES_MOST)
        grid_fail(p, t->at, "more than %d stages have names", STAGES_MOST);
    p->statement = name;
    p->at += 2;
    struct grid_value v = read_pipe(p);
    expect(p, ';', " behind a stage with a name");
    for (uint32_t i = 0; i < p->stages.count; i++)
        if (!strcmp(p->stages.items[i].name, name)) {
            p->stages.items[i].value = v;
            return;
        }
    *vec_push(&p->plan->arena, &p->stages) = (struct grid_stage){name, v};
}

static void begin_statement(struct grid_parser *p) {
    p->own = p->in;
    p->stage = 1;
    p->statement = NULL;
}

static void read_program(struct grid_parser *p) {
    for (begin_statement(p); now(p)->kind == 'a' && now(p)[1].kind == '='; begin_statement(p))
        name_stage(p);
    size_t at = now(p)->at;
    struct grid_value v = read_pipe(p);
    take(p, ';');
    if (now(p)->kind)
        grid_fail(p, now(p)->at,
                  now(p)->kind == ')' ? "there is no `(` for this"
                                      : "the pipeline should end here");
    p->plan->result = grid_final(p, v, at);
}

// ---- Plans --------------------------------------------------------------------------------------

static void make_input(struct grid_parser *p) {
    struct grid_plan *plan = p->plan;
    uint32_t h = grid_node_put(plan, (struct grid_node){.op = GRID_IN_HEIGHT});
    uint32_t w = grid_node_put(plan, (struct grid_node){.op = GRID_IN_WIDTH});
    struct grid_node in = {.op = GRID_IN, .cells = true, .height = h, .width = w};
    p->in.node = grid_node_put(plan, in);
}

static void judge_shape(struct grid_plan *p) {
    const struct grid_node *result = grid_at(p, p->result);
    p->one_shape = !grid_at(p, result->height)->data && !grid_at(p, result->width)->data;
    for (uint32_t i = 0; i < p->checks.count; i++)
        p->one_shape &= !grid_at(p, p->checks.items[i].number)->data;
}

_Noreturn void grid_fail(struct grid_parser *p, size_t at, const char *format, ...) {
    char text[256], where[128] = "";
    va_list list;
    va_start(list, format);
    ascii_vprintf(text, sizeof text, format, list);
    va_end(list);
    if (p->stage && p->statement)
        snprintf(where, sizeof where, " (in stage %u of `%.60s`)", p->stage, p->statement);
    else if (p->stage)
        snprintf(where, sizeof where, " (in stage %u)", p->stage);
    report_at(p->report, SHOAL_ERROR, p->source, at, "%s%s", text, where);
    p->failed = true;
    longjmp(*p->plan->arena.oom, 1);
}

struct grid_plan *grid_parse(const char *name, const char *text, size_t length, struct report *r) {
    jmp_buf oom;
    struct budget budget = {.bytes = 256 << 20, .work = GRID_NODES_MOST};
    struct arena first = {0};
    struct grid_plan *plan = arena_new(&first, struct grid_plan, 1);
    if (!plan || length > GRID_TEXT_MOST) {
        report_error(r, plan ? SHOAL_INPUT : SHOAL_MEMORY,
                     plan ? "a pipeline has at most 65536 characters" : "out of memory");
        arena_free(&first);
        return NULL;
    }
    plan->arena = first;
    struct grid_parser p = {.plan = plan, .source = &plan->source, .report = r};
    plan->arena.oom = &oom;
    plan->arena.budget = &budget;
    if (setjmp(oom)) {
        if (!p.failed)
            report_error(r, budget.spent ? SHOAL_INPUT : SHOAL_MEMORY,
                         budget.spent ? "the pipeline is too large" : "out of memory");
        grid_plan_free(plan);
        return NULL;
    }
    plan->source = (struct source){arena_strdup(&plan->arena, name),
                                   arena_strndup(&plan->arena, text, length), length};
    read_tokens(&p);
    make_input(&p);
    read_program(&p);
    judge_shape(plan);
    plan->arena.oom = NULL;
    plan->arena.budget = NULL;
    return plan;
}
