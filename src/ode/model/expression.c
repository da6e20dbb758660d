// SPDX-License-Identifier: MIT
// Expressions: tokens to postfix code, by two stacks and no recursion.
//
// Values go straight into model.code; operators, parentheses, calls, if-then-else, sum() and
// shift() wait on a stack of `pending` entries. sum() is expanded here: its body is read again for
// every index. Precedence is the usual one, powers associate to the left, and a sign binds weaker
// than a power: -2^2 is -4. What stands where a value is wanted is expression_value.c's.
#include "ode/model/expression.h"

#include "base/ascii.h"

#include <math.h>
#include <string.h>

static const uint8_t precedences[OP_COUNT] = {
    [OP_OR] = 2, [OP_AND] = 3, [OP_LT] = 5,  [OP_LE] = 5,  [OP_GT] = 5,  [OP_GE] = 5,  [OP_EQ] = 5,
    [OP_NE] = 5, [OP_ADD] = 6, [OP_SUB] = 6, [OP_MUL] = 7, [OP_DIV] = 7, [OP_POW] = 9,
};

// XPP's: a comparison is as tight as a power, & as a product, | as a sum, and a sign binds weaker
// than a comparison.
static const uint8_t xpp_precedences[OP_COUNT] = {
    [OP_OR] = 1, [OP_ADD] = 1, [OP_SUB] = 1, [OP_AND] = 2, [OP_MUL] = 2, [OP_DIV] = 2, [OP_NEG] = 3,
    [OP_LT] = 4, [OP_LE] = 4,  [OP_GT] = 4,  [OP_GE] = 4,  [OP_EQ] = 4,  [OP_NE] = 4,  [OP_POW] = 4,
};

const struct token *expression_token(const struct reader *x, uint32_t pos) {
    static const struct token end = {.kind = TOKEN_END};
    return pos < x->end ? &x->p->tokens.items[pos] : &end;
}

// Offset of the token, or of the end of the expression.
uint32_t expression_place(const struct reader *x, uint32_t pos) {
    const struct token *t = x->p->tokens.items;
    if (pos < x->end)
        return t[pos].at;
    return x->end ? t[x->end - 1].at + t[x->end - 1].length : 0;
}

bool expression_wrong(const struct reader *x, const char *expected) {
    const struct token *t = expression_token(x, x->pos);
    return parse_error(x->p, expression_place(x, x->pos), "expected %s, found %s", expected,
                       t->kind == TOKEN_END ? "the end of the expression"
                                            : parse_token_text(x->p, t));
}

// ---- Code and the stack -------------------------------------------------------------------------

bool expression_emit(struct reader *x, enum op op, uint32_t at, uint32_t index, double value) {
    struct model *m = x->p->m;
    if (m->code.count >= x->p->code_most)
        return parse_limit(x->p, at, "the model is too large when arrays and sums are written out");
    if (op == OP_DIV) {
        const struct item *divisor = &m->code.items[m->code.count - 1];
        if (divisor->op == OP_NUMBER && divisor->value == 0)
            return parse_error(x->p, at, "division by zero");
    }
    *vec_push(&m->arena, &m->code) =
        (struct item){.op = (uint8_t)op, .index = index, .at = at, .value = value};
    return true;
}

struct pending *expression_top(const struct reader *x) {
    uint32_t n = x->p->pending.count;
    return n ? &x->p->pending.items[n - 1] : NULL;
}

struct pending *expression_push(struct reader *x, enum pending_kind kind, uint32_t at) {
    struct pending *e = vec_push(&x->p->scratch, &x->p->pending);
    *e = (struct pending){.kind = (uint8_t)kind, .at = at, .code = x->p->m->code.count};
    return e;
}

static bool is_open(const struct pending *e) { return e->kind >= PENDING_PAREN; }

// Emits what waits on the stack and binds at least as tightly, down to what is open.
static bool pop_operators(struct reader *x, uint8_t precedence) {
    for (struct pending *e;
         (e = expression_top(x)) && !is_open(e) && e->precedence >= precedence;) {
        if (e->kind == PENDING_QUESTION)
            return parse_error(x->p, e->at, "`?` without its `:`");
        enum op op = e->kind == PENDING_COLON ? OP_IF : e->op;
        x->p->pending.count--;
        if (!expression_emit(x, op, e->at, 0, 0))
            return false;
    }
    return true;
}

// ---- Operators and what closes ------------------------------------------------------------------

// Takes note of two operators that XPP binds otherwise, once for each two.
static void add_comparison(struct parser *p, uint32_t at, enum op first, enum op second,
                           bool left) {
    for (uint32_t i = 0; i < p->comparisons; i++)
        if (p->comparison[i].first == first && p->comparison[i].second == second &&
            p->comparison[i].left == left)
            return;
    if (p->comparisons < sizeof p->comparison / sizeof *p->comparison)
        p->comparison[p->comparisons++] =
            (struct comparison){at, (uint8_t)first, (uint8_t)second, left};
}

// Whether the value before the operator at hand is not(...), with that parenthesis closing last.
static bool follows_not(const struct reader *x) {
    uint32_t at = x->pos, depth = 0;
    const struct token *t;
    while (at > 0) {
        uint8_t kind = expression_token(x, --at)->kind;
        depth += kind == TOKEN_CLOSE;
        if (!depth)
            return false;
        depth -= kind == TOKEN_OPEN;
        if (!depth)
            break;
    }
    t = at ? expression_token(x, at - 1) : NULL;
    return t && t->kind == TOKEN_NAME && t->length == 3 &&
           ascii_same_prefix(x->p->text + t->at, "not", 3);
}

// Notes where XPP would bind otherwise: the same operators wait there as here up to the first about
// which the two do not agree. Its `not` reaches over a comparison, parenthesis or none.
static void compare_with_xpp(struct reader *x, enum op op, uint32_t at) {
    struct parser *p = x->p;
    if (x->index.repeated)
        return;
    if (op >= OP_LT && op <= OP_NE && follows_not(x))
        add_comparison(p, at, OP_NOT, op, true);
    for (uint32_t n = p->pending.count; n-- > 0 && !is_open(&p->pending.items[n]);) {
        const struct pending *e = &p->pending.items[n];
        if (!xpp_precedences[e->op])
            return; // XPP has no such operator
        bool ours = e->precedence >= precedences[op];
        bool same = ours == (xpp_precedences[e->op] >= xpp_precedences[op]);
        if (!same)
            add_comparison(p, at, e->op, op, ours);
        if (!ours || !same)
            return;
    }
}

static bool orders(uint8_t op) { return op >= OP_LT && op <= OP_GE; }

// Notes a comparison of what a comparison gives, which is 0 or 1.
static void note_chain(struct reader *x, enum op op, uint32_t at) {
    const struct parser *p = x->p;
    uint32_t n = p->pending.count;
    bool chain = false;
    while (n-- > 0 && !is_open(&p->pending.items[n]) &&
           p->pending.items[n].precedence >= precedences[op])
        chain =
            chain || (p->pending.items[n].kind == PENDING_BINARY && orders(p->pending.items[n].op));
    if (orders((uint8_t)op) && chain && !x->index.repeated && !p->chain_at)
        x->p->chain_at = at + 1;
}

static bool read_binary(struct reader *x, enum op op, uint32_t at) {
    uint8_t precedence = precedences[op];
    const struct pending *e = expression_top(x);
    if (op == OP_POW && e && e->op == OP_POW && !x->index.repeated && !x->p->power_at)
        x->p->power_at = at + 1;
    note_chain(x, op, at);
    compare_with_xpp(x, op, at);
    if (!pop_operators(x, precedence))
        return false;
    struct pending *b = expression_push(x, PENDING_BINARY, at);
    b->op = (uint8_t)op;
    b->precedence = precedence;
    x->pos++;
    x->want_value = true;
    return true;
}

static bool read_ternary(struct reader *x, bool colon) {
    uint32_t at = expression_place(x, x->pos);
    if (!colon) {
        if (!pop_operators(x, PRECEDENCE_TERNARY + 1))
            return false;
        struct pending *q = expression_push(x, PENDING_QUESTION, at);
        q->precedence = 0;
    } else {
        while (expression_top(x) && !is_open(expression_top(x)) &&
               expression_top(x)->kind != PENDING_QUESTION)
            if (!pop_operators(x, expression_top(x)->precedence))
                return false;
        struct pending *q = expression_top(x);
        if (!q || q->kind != PENDING_QUESTION)
            return parse_error(x->p, at, "`:` without a `?` before it");
        q->kind = PENDING_COLON;
        q->precedence = PRECEDENCE_TERNARY;
    }
    x->pos++;
    x->want_value = true;
    return true;
}

// Goes over a word and the parenthesis behind it.
static bool expect_word(struct reader *x, const char *word) {
    const struct token *t = expression_token(x, x->pos);
    char quoted[16] = "`";
    strcat(strcat(strcat(quoted, word), "("), "`");
    if (t->kind != TOKEN_NAME || t->length != strlen(word) ||
        !ascii_same_prefix(x->p->text + t->at, word, t->length) ||
        expression_token(x, x->pos + 1)->kind != TOKEN_OPEN)
        return expression_wrong(x, quoted);
    x->pos += 2;
    x->want_value = true;
    return true;
}

static bool check_count(struct reader *x, const struct pending *e, const char *name,
                        uint32_t wanted) {
    if (e->args + 1 == wanted)
        return true;
    return parse_error(x->p, e->at, "`%s` takes %u argument%s, not %u", name, wanted,
                       wanted == 1 ? "" : "s", e->args + 1);
}

// The whole number that the code from `first` on stands for; the code is taken back.
static bool take_integer(struct reader *x, uint32_t first, uint32_t at, const char *what,
                         int32_t *out) {
    struct parser *p = x->p;
    struct model *m = p->m;
    struct expr e = {first, m->code.count - first};
    double value;
    for (uint32_t i = first; i < m->code.count; i++) {
        const struct item *item = &m->code.items[i];
        if (item->op == OP_SYMBOL && m->symbols.items[item->index].kind == SYMBOL_CONST) {
            if (!p->constants_known && p->errors)
                return false;
            m->symbols.items[item->index].structural = true;
        }
    }
    if (values_compute(p, e, &value))
        return parse_error(p, at, "%s must be numbers or constants", what);
    m->code.count = first;
    if (value != rint(value) || fabs(value) > 1e9)
        return parse_error(p, at, "%s must be whole numbers, not %g", what, value);
    *out = (int32_t)value;
    return true;
}

static void skip_body(struct reader *x) {
    uint32_t depth = 1;
    for (; x->pos < x->end; x->pos++) {
        uint8_t kind = expression_token(x, x->pos)->kind;
        depth += kind == TOKEN_OPEN;
        depth -= kind == TOKEN_CLOSE;
        if (!depth)
            return;
    }
}

static bool close_bounds(struct reader *x, struct pending *e) {
    if (e->args != 1)
        return parse_error(x->p, e->at, "expected two bounds, as in sum(1,3)of(...)");
    int32_t from, to;
    uint32_t second = e->index;
    if (!take_integer(x, second, e->at, "the bounds of sum()", &to) ||
        !take_integer(x, e->code, e->at, "the bounds of sum()", &from) || !expect_word(x, "of"))
        return false;
    e = expression_top(x);
    if (from > to) {
        x->p->pending.count--;
        skip_body(x);
        x->pos++;
        x->want_value = false;
        return expression_emit(x, OP_NUMBER, e->at, 0, 0);
    }
    e->kind = PENDING_BODY;
    e->i = from;
    e->last = to;
    e->token = x->pos;
    e->args = 0;
    x->sums++;
    return true;
}

static bool close_body(struct reader *x, struct pending *e) {
    if (e->args && !expression_emit(x, OP_ADD, e->at, 0, 0))
        return false;
    e->args = 1;
    if (e->i < e->last) {
        e->i++;
        x->pos = e->token;
        x->want_value = true;
        return true;
    }
    x->sums--;
    x->p->pending.count--;
    return true;
}

// The k-th name after the first, in the order they were written, of the same kind.
static bool close_shift(struct reader *x, struct pending *e) {
    struct model *m = x->p->m;
    int32_t k;
    uint32_t at = e->at, symbol = e->index;
    if (!take_integer(x, e->code, at, "the distance of shift()", &k))
        return false;
    x->p->pending.count--;
    enum symbol_kind kind = m->symbols.items[symbol].kind;
    const uint32_t *list = NULL;
    uint32_t count = 0;
    switch (kind) {
    case SYMBOL_STATE:
        list = m->states.items, count = m->states.count;
        break;
    case SYMBOL_PAR:
        list = m->pars.items, count = m->pars.count;
        break;
    case SYMBOL_CONST:
        list = m->consts.items, count = m->consts.count;
        break;
    case SYMBOL_DERIVED:
        list = m->derived.items, count = m->derived.count;
        break;
    case SYMBOL_TEMP:
        list = m->temps.items, count = m->temps.count;
        break;
    }
    uint32_t low = 0, high = count; // symbols are numbered in written order, so the list is sorted
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t target = (int64_t)low + k;
    if (target < 0 || target >= count)
        return parse_error(x->p, at, "there is no name %d places from `%s`", k,
                           m->symbols.items[symbol].name);
    return expression_emit(x, OP_SYMBOL, at, list[target], 0);
}

static bool close_frame(struct reader *x, struct pending *e) {
    struct model *m = x->p->m;
    uint32_t at = e->at, index = e->index;
    switch ((enum pending_kind)e->kind) {
    case PENDING_OP:
        if (!check_count(x, e, op_names[index], op_operands[index]))
            return false;
        x->p->pending.count--;
        return expression_emit(x, (enum op)index, at, 0, 0);
    case PENDING_CALL:
        if (!check_count(x, e, m->functions.items[index].name, m->functions.items[index].args))
            return false;
        x->p->pending.count--;
        return expression_emit(x, OP_CALL, at, index, 0);
    case PENDING_TABLE:
        if (!check_count(x, e, m->signals.items[index].name, 1))
            return false;
        x->p->pending.count--;
        return expression_lookup(x, index, at);
    case PENDING_BAD:
        m->code.count = e->code;
        x->p->pending.count--;
        return expression_emit(x, OP_NUMBER, at, 0, 1);
    case PENDING_IF:
        e->kind = PENDING_THEN;
        return expect_word(x, "then");
    case PENDING_THEN:
        e->kind = PENDING_ELSE;
        return expect_word(x, "else");
    case PENDING_ELSE:
        x->p->pending.count--;
        return expression_emit(x, OP_IF, at, 0, 0);
    case PENDING_SUM:
        return close_bounds(x, e);
    case PENDING_BODY:
        return close_body(x, e);
    case PENDING_SHIFT:
        return close_shift(x, e);
    case PENDING_PREFIX:
    case PENDING_BINARY:
    case PENDING_QUESTION:
    case PENDING_COLON:
    case PENDING_PAREN:
        break;
    }
    x->p->pending.count--;
    return true;
}

static bool read_close(struct reader *x) {
    uint32_t at = expression_place(x, x->pos);
    if (!pop_operators(x, 0))
        return false;
    struct pending *e = expression_top(x);
    if (!e)
        return parse_error(x->p, at, "`)` closes nothing");
    x->pos++;
    return close_frame(x, e);
}

static bool read_comma(struct reader *x) {
    uint32_t at = expression_place(x, x->pos);
    if (!pop_operators(x, 0))
        return false;
    struct pending *e = expression_top(x);
    bool list = e && (e->kind == PENDING_OP || e->kind == PENDING_CALL ||
                      e->kind == PENDING_TABLE || e->kind == PENDING_BAD || e->kind == PENDING_SUM);
    if (!list)
        return parse_error(x->p, at, "`,` has no meaning here");
    if (e->kind == PENDING_SUM)
        e->index = x->p->m->code.count;
    e->args++;
    x->pos++;
    x->want_value = true;
    return true;
}

static bool read_operator(struct reader *x) {
    const struct token *t = expression_token(x, x->pos);
    switch (t->kind) {
    case TOKEN_OPERATOR:
        return read_binary(x, t->op, t->at);
    case TOKEN_CLOSE:
        return read_close(x);
    case TOKEN_COMMA:
        return read_comma(x);
    case TOKEN_QUESTION:
    case TOKEN_COLON:
        return read_ternary(x, t->kind == TOKEN_COLON);
    case TOKEN_PRIME:
        return parse_error(x->p, t->at,
                           "a derivative cannot be used in an expression; give it a "
                           "name of its own, as in xp=... and x'=xp");
    case TOKEN_ASSIGN:
        return parse_error(x->p, t->at, "`=` inside an expression; a comparison is `==`");
    case TOKEN_NAME: {
        const struct name_entry *e = names_folded(x->p->m->by_name, x->p->text + t->at, t->length);
        if (e && e->kind == NAME_WORD && e->index == WORD_AND)
            return read_binary(x, OP_AND, t->at);
        if (e && e->kind == NAME_WORD && e->index == WORD_OR)
            return read_binary(x, OP_OR, t->at);
        break;
    }
    default:
        break;
    }
    return parse_error(x->p, t->at, "an operator is missing before %s", parse_token_text(x->p, t));
}

static bool finish(struct reader *x) {
    if (x->want_value)
        return expression_wrong(x, "a value");
    if (!pop_operators(x, 0))
        return false;
    const struct pending *e = expression_top(x);
    return !e || parse_error(x->p, e->at, "the parenthesis opened here is not closed");
}

bool expression_read(struct parser *p, struct span value, struct index index,
                     const struct arguments *arguments, struct expr *out) {
    struct reader x = {.p = p,
                       .index = index,
                       .arguments = arguments,
                       .pos = value.first,
                       .end = value.end,
                       .want_value = true};
    uint32_t first = p->m->code.count;
    p->pending.count = 0;
    bool good = true;
    while (good && x.pos < x.end) {
        good = x.want_value ? expression_value(&x) : read_operator(&x);
        if (good && p->steps++ > p->steps_most)
            good =
                parse_limit(p, expression_place(&x, x.pos), "the sums of the model are too large");
    }
    good = good && finish(&x);
    if (!good)
        p->m->code.count = first;
    *out = (struct expr){first, p->m->code.count - first};
    return good;
}
