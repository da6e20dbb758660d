// SPDX-License-Identifier: MIT
// The text of a random model: lines in any order, operators and functions in any of their
// spellings, parentheses where precedence asks for them and here and there where not.
#include "base/buf.h"
#include "check.h"
#include "random_tree.h"

enum { TERNARY = 1, NOT = 4, SIGN = 8, POWER = 9, PRIMARY = 10 };

static const uint8_t levels[OP_COUNT] = {
    [OP_OR] = 2,  [OP_AND] = 3, [OP_LT] = 5,      [OP_LE] = 5,  [OP_GT] = 5,
    [OP_GE] = 5,  [OP_EQ] = 5,  [OP_NE] = 5,      [OP_ADD] = 6, [OP_SUB] = 6,
    [OP_MUL] = 7, [OP_DIV] = 7, [OP_POW] = POWER,
};

struct scribe {
    const struct random_model *m;
    struct buf out;
    const struct tree_item *function; // whose body is written, or NULL
};

static void put(struct scribe *s, uint32_t tree, uint32_t least);

static void put_number(struct scribe *s, double value, uint32_t form) {
    char text[40];
    snprintf(text, sizeof text, form == 0 ? "%.17e" : "%.17g", value);
    const char *from = form == 1 && value > 0 && value < 1 && text[0] == '0' ? text + 1 : text;
    buf_puts(&s->out, from); // .5 is a number too
}

static void put_symbol(struct scribe *s, const struct tree *t) {
    static const uint8_t list[] = {[TREE_STATE] = LIST_STATE,
                                   [TREE_PARAMETER] = LIST_PARAMETER,
                                   [TREE_CONSTANT] = LIST_CONSTANT,
                                   [TREE_DERIVED] = LIST_DERIVED,
                                   [TREE_TEMPORARY] = LIST_TEMPORARY};
    static const char *const beside[] = {"-1", "", "+1"};
    switch (t->leaf) {
    case TREE_ELEMENT:
        buf_printf(&s->out, "%s[j%s]", s->m->array_name, beside[t->index]);
        break;
    case TREE_POSITION:
        buf_puts(&s->out, "[j]");
        break;
    case TREE_SHIFTED:
        buf_printf(&s->out, "shift(%s0,i')", s->m->array_name);
        break;
    case TREE_COUNTER:
        buf_puts(&s->out, "i'");
        break;
    default:
        buf_puts(&s->out, s->m->list[list[t->leaf]].items[t->index].name);
    }
}

static const char *function_name(const struct tree *t) {
    if (t->op == OP_LN && t->form & 1)
        return "log";
    return t->op == OP_FLOOR && t->form & 1 ? "flr" : op_names[t->op];
}

static void put_list(struct scribe *s, const char *name, const struct tree *t) {
    buf_printf(&s->out, "%s(", name);
    for (uint32_t i = 0; i < tree_operands(s->m, t); i++) {
        buf_puts(&s->out, i ? "," : "");
        put(s, t->operand[i], TERNARY);
    }
    buf_puts(&s->out, ")");
}

static void put_choice(struct scribe *s, const struct tree *t) {
    static const char *const words[2][4] = {{"if(", ")then(", ")else(", ")"},
                                            {"((", ")?(", "):(", "))"}};
    for (int i = 0; i < 4; i++) {
        buf_puts(&s->out, words[t->form & 1][i]);
        if (i < 3)
            put(s, t->operand[i], TERNARY);
    }
}

static const char *operator_text(const struct tree *t) {
    if (t->op == OP_AND)
        return t->form & 1 ? "&" : " and ";
    if (t->op == OP_OR)
        return t->form & 1 ? "|" : " or ";
    return t->op == OP_POW && t->form & 1 ? "**" : op_names[t->op];
}

static void put_binary(struct scribe *s, const struct tree *t) {
    const char *blank = t->form & 2 ? " " : "";
    put(s, t->operand[0], levels[t->op]);
    buf_printf(&s->out, "%s%s%s", blank, operator_text(t), blank);
    put(s, t->operand[1], levels[t->op] + 1);
}

static void put_prefix(struct scribe *s, const struct tree *t) {
    buf_puts(&s->out, t->op == OP_NEG ? "-" : "not(");
    put(s, t->operand[0], t->op == OP_NEG ? POWER : TERNARY);
    buf_puts(&s->out, t->op == OP_NEG ? "" : ")");
}

static void put_plain(struct scribe *s, const struct tree *t) {
    if (t->op == OP_NUMBER)
        put_number(s, t->value, t->form);
    else if (t->op == OP_TIME)
        buf_puts(&s->out, "t");
    else if (t->op == OP_SYMBOL)
        put_symbol(s, t);
    else if (t->op == OP_ARG)
        buf_puts(&s->out, s->function->arg[t->index]);
    else if (t->op == OP_CALL)
        put_list(s, s->m->list[LIST_FUNCTION].items[t->index].name, t);
    else if (t->op == OP_IF)
        put_choice(s, t);
    else if (t->op == OP_NEG || t->op == OP_NOT)
        put_prefix(s, t);
    else if (levels[t->op])
        put_binary(s, t);
    else
        put_list(s, function_name(t), t);
}

static void put(struct scribe *s, uint32_t tree, uint32_t least) {
    const struct tree *t = &s->m->trees[tree];
    if (t->op == TREE_SUM) {
        buf_printf(&s->out, "sum(%u,%u)of(", t->index, t->last);
        put(s, t->operand[0], TERNARY);
        buf_puts(&s->out, ")");
        return;
    }
    uint32_t level = t->op == OP_NEG   ? SIGN
                     : t->op == OP_NOT ? NOT
                     : levels[t->op]   ? levels[t->op]
                                       : PRIMARY;
    bool open = level < least || (level < PRIMARY && !(t->form & 0x1c));
    buf_puts(&s->out, open ? "(" : "");
    put_plain(s, t);
    buf_puts(&s->out, open ? ")" : "");
}

// ---- Lines --------------------------------------------------------------------------------------

struct lines {
    char **line;
    uint32_t count;
};

// By a pure function of the seed.
static void shuffle(struct lines *l, uint64_t rng) {
    for (uint32_t i = l->count; i-- > 1;) {
        uint32_t pick = random_below(&rng, i + 1);
        char *line = l->line[pick];
        l->line[pick] = l->line[i];
        l->line[i] = line;
    }
}

static void end_line(struct scribe *s, struct lines *l) {
    REQUIRE(!s->out.failed);
    l->line = realloc(l->line, (l->count + 1) * sizeof *l->line);
    REQUIRE(l->line);
    l->line[l->count++] = s->out.data;
    s->out = (struct buf){0};
}

static void put_assignment(struct scribe *s, struct lines *l, uint32_t tree) {
    buf_puts(&s->out, "=");
    put(s, tree, TERNARY);
    end_line(s, l);
}

static void put_values(struct scribe *s, struct lines *l) {
    const struct tree_list *list = s->m->list;
    for (uint32_t i = 0; i < list[LIST_PARAMETER].count; i++) {
        buf_printf(&s->out, "par %s=%.17g", list[LIST_PARAMETER].items[i].name,
                   list[LIST_PARAMETER].items[i].value);
        end_line(s, l);
    }
    for (uint32_t i = 0; i < list[LIST_CONSTANT].count; i++) {
        if (list[LIST_CONSTANT].items[i].gone)
            continue;
        buf_printf(&s->out, "const %s=%.17g", list[LIST_CONSTANT].items[i].name,
                   list[LIST_CONSTANT].items[i].value);
        end_line(s, l);
    }
}

static void put_function(struct scribe *s, struct lines *l, const struct tree_item *f) {
    buf_printf(&s->out, "%s(", f->name);
    for (uint32_t i = 0; i < f->args; i++)
        buf_printf(&s->out, "%s%s", i ? "," : "", f->arg[i]);
    buf_puts(&s->out, ")");
    s->function = f;
    put_assignment(s, l, f->tree);
    s->function = NULL;
}

static void put_formulas(struct scribe *s, struct lines *l) {
    static const struct {
        uint8_t list;
        const char *head;
    } kinds[] = {{LIST_DERIVED, "!"}, {LIST_TEMPORARY, ""}, {LIST_OBSERVABLE, "aux "}};
    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0; i < s->m->list[kinds[k].list].count; i++) {
            const struct tree_item *f = &s->m->list[kinds[k].list].items[i];
            if (f->gone)
                continue;
            buf_printf(&s->out, "%s%s", kinds[k].head, f->name);
            put_assignment(s, l, f->tree);
        }
    for (uint32_t i = 0; i < s->m->list[LIST_FUNCTION].count; i++)
        if (!s->m->list[LIST_FUNCTION].items[i].gone)
            put_function(s, l, &s->m->list[LIST_FUNCTION].items[i]);
}

static void put_state(struct scribe *s, struct lines *l, uint32_t i) {
    static const char *const forms[] = {"%s'", "d%s/dt", "d/dt(%s)"};
    const struct random_model *m = s->m;
    uint32_t first = m->array_first + 1;
    bool element = m->array_count && i >= first && i < first + m->array_count;
    if (element && i != first)
        return; // one line for all
    if (element)
        buf_printf(&s->out, "%s[1..%u]'", m->array_name, m->array_count);
    else
        buf_printf(&s->out, forms[(i + m->seed) % 3], m->list[LIST_STATE].items[i].name);
    put_assignment(s, l, m->list[LIST_STATE].items[i].tree);
}

static void put_algebraic(struct scribe *s, struct lines *rows, struct lines *others, uint32_t i) {
    const struct tree_item *z = &s->m->list[LIST_STATE].items[i];
    buf_puts(&s->out, "0");
    put_assignment(s, others, z->tree);
    buf_printf(&s->out, "alg %s=%.17g", z->name, z->value);
    end_line(s, rows);
}

static void put_start(struct scribe *s, struct lines *l, uint32_t i) {
    const struct tree_item *x = &s->m->list[LIST_STATE].items[i];
    if (x->start != NO_TREE) {
        buf_printf(&s->out, "%s(0)", x->name);
        put_assignment(s, l, x->start);
    } else if (x->value != 0) {
        buf_printf(&s->out, "init %s=%.17g", x->name, x->value);
        end_line(s, l);
    }
}

// The lines of states stay in their order, which shift() goes by; they stand anywhere among others.
char *random_model_text(const struct random_model *m) {
    struct scribe s = {.m = m};
    struct lines rows = {0}, others = {0};
    put_values(&s, &others);
    put_formulas(&s, &others);
    for (uint32_t i = 0; i < m->list[LIST_STATE].count; i++) {
        if (i >= m->shape.states) {
            put_algebraic(&s, &rows, &others, i);
            continue;
        }
        put_state(&s, &rows, i);
        put_start(&s, &others, i);
    }
    uint64_t rng = m->seed;
    shuffle(&others, random_bits(&rng));
    for (uint32_t i = 0, k = 0; i + k < rows.count + others.count;) {
        bool row = i < rows.count && (k == others.count || random_below(&rng, 2));
        char *line = row ? rows.line[i++] : others.line[k++];
        buf_printf(&s.out, "%s\n", line);
        free(line);
    }
    free(rows.line);
    free(others.line);
    REQUIRE(s.out.data && !s.out.failed);
    return s.out.data;
}
