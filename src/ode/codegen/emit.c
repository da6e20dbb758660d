// SPDX-License-Identifier: MIT
// Statements of the kernel dialect from a DAG.
//
// Every live node becomes one constant. A product that is used once, by a sum, is written as part
// of an fma. Truth values live in masks and become numbers only where a number is asked for. What
// another part of a long function computed is read from the shared array `s`.
#include "ode/codegen/emit.h"

#include <math.h>
#include <string.h>

void codegen_number(struct buf *out, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bits >> 63)
        buf_putc(out, '-');
    double size = fabs(value);
    if (size < 1e15 && size == floor(size)) {
        buf_printf(out, "%llu.0", (unsigned long long)size);
        return;
    }
    if (!isfinite(value)) {
        buf_puts(out, isnan(value) ? "NAN_VALUE" : "INFINITY_VALUE");
        return;
    }
    int exponent = (int)(bits >> 52 & 0x7ff);
    unsigned long long mantissa = bits & 0xfffffffffffffull;
    buf_printf(out, "0x%d.%013llxp%d", exponent ? 1 : 0, mantissa,
               exponent ? exponent - 1023 : -1022);
}

static bool is_truth(uint8_t op) {
    return (op >= OP_LT && op <= OP_NE) || op == OP_AND || op == OP_OR || op == OP_NOT;
}
static bool takes_truth(uint8_t op, int operand) {
    return op == OP_AND || op == OP_OR || op == OP_NOT || (op == OP_IF && operand == 0);
}

static node_id operand(const struct node *n, int i) { return i == 0 ? n->a : i == 1 ? n->b : n->c; }

static bool is_elsewhere(const struct writer *w, node_id id) { return w->part[id] != w->now; }

static uint32_t place_in_p(const struct emit *e, uint8_t leaf) {
    return leaf == LEAF_PAR ? 0 : leaf == LEAF_DERIVED ? e->pars : e->pars + e->derived;
}

static bool is_wide(const struct writer *w) { return w->e->form == EMIT_WIDE; }

// What is no more than a real is written so, and widened.
static void put_widened(struct writer *w, const struct node *n) {
    const struct kernel_plan *p = w->e->plan;
    double hi = p && p->f32 ? (double)(float)n->value : n->value;
    if (n->op == OP_NUMBER) {
        buf_puts(w->out, "w_pair(R(");
        codegen_number(w->out, hi);
        buf_puts(w->out, "), R(");
        codegen_number(w->out, isfinite(hi) ? n->value - hi : 0);
        buf_puts(w->out, "))");
    } else if (n->leaf == LEAF_SWITCH)
        buf_printf(w->out, "k[%u]", n->a);
    else
        buf_printf(w->out, "w_of(p[%u])", n->a + place_in_p(w->e, n->leaf));
}

void emit_value(struct writer *w, node_id id) {
    const struct node *n = &w->e->dag->nodes.items[id];
    if (is_wide(w) && (n->op == OP_NUMBER || n->op == OP_SYMBOL)) {
        put_widened(w, n);
        return;
    }
    switch (n->op) {
    case OP_NUMBER:
        buf_puts(w->out, "R(");
        codegen_number(w->out, n->value);
        buf_puts(w->out, ")");
        break;
    case OP_TIME:
        buf_puts(w->out, "t");
        break;
    case OP_SYMBOL:
        if (n->leaf == LEAF_STATE)
            buf_printf(w->out, "y[%u]", n->a);
        else if (n->leaf == LEAF_SLOPE)
            buf_printf(w->out, "d[%u]", n->a);
        else if (n->leaf == LEAF_STEP)
            buf_puts(w->out, "h");
        else if (n->leaf == LEAF_SUMMARY)
            buf_printf(w->out, "r[%u]", n->a);
        else
            buf_printf(w->out, "p[%u]", n->a + place_in_p(w->e, n->leaf));
        break;
    default:
        if (is_elsewhere(w, id))
            buf_printf(w->out, "s[%u]", w->slot[id]);
        else
            buf_printf(w->out, "v%u", id);
    }
}

static void put_real(struct writer *w, node_id id) {
    emit_value(w, id);
    buf_puts(w->out, is_wide(w) ? ".hi" : "");
}

static void put_truth(struct writer *w, node_id id) {
    if (is_truth(w->e->dag->nodes.items[id].op) && !is_elsewhere(w, id)) {
        buf_printf(w->out, "m%u", id);
        return;
    }
    buf_puts(w->out, "r_ne(");
    put_real(w, id);
    buf_puts(w->out, ", R(0))");
}

// Operations on pairs; others are made of rounded numbers.
static const char *const wide_names[OP_COUNT] = {
    [OP_NEG] = "w_neg", [OP_ADD] = "w_add",   [OP_SUB] = "w_sub",   [OP_MUL] = "w_mul",
    [OP_DIV] = "w_div", [OP_SQRT] = "w_sqrt", [OP_ABS] = "w_abs",   [OP_FLOOR] = "w_floor",
    [OP_MIN] = "w_min", [OP_MAX] = "w_max",   [OP_LT] = "w_lt",     [OP_LE] = "w_le",
    [OP_EQ] = "w_eq",   [OP_NE] = "w_ne",     [OP_IF] = "w_select",
};

static void put_operands(struct writer *w, const struct node *n, int first) {
    for (int i = first; i < op_operands[n->op]; i++) {
        if (i > first)
            buf_puts(w->out, ", ");
        if (takes_truth(n->op, i))
            put_truth(w, operand(n, i));
        else if (wide_names[n->op])
            emit_value(w, operand(n, i));
        else
            put_real(w, operand(n, i));
    }
    buf_puts(w->out, ")");
}

static void put_call(struct writer *w, const char *name, const struct node *n) {
    buf_printf(w->out, "%s(", name);
    put_operands(w, n, 0);
}

static void put_lookup(struct writer *w, const struct node *n) {
    const struct node *items = w->e->dag->nodes.items;
    struct writer argument = *w;
    struct buf text = {0};
    argument.out = &text;
    put_real(&argument, n->a);
    codegen_signal(w->out, w->e, (uint32_t)items[n->b].value, (uint32_t)items[n->c].value,
                   text.data ? text.data : "");
    w->out->failed |= text.failed;
    buf_free(&text);
}

static bool is_division(uint8_t op) { return op == OP_DIV || op == OP_SQRT; }

// Whether divisions and roots are the hardware's approximations.
static bool is_fast(const struct writer *w) {
    const struct kernel_plan *p = w->e->plan; // NULL: of no kernel
    return p && p->f32 && p->target->fast_math && p->target->quick_division;
}

// In a division by sqrt(x) or x sqrt(x): x, and which power of 1/sqrt(x) is meant.
static node_id root_below(const struct writer *w, const struct node *n, int *power) {
    const struct node *items = w->e->dag->nodes.items, *below;
    *power = 1;
    if (n->op != OP_DIV)
        return NODE_NONE;
    below = &items[n->b];
    if (below->op == OP_SQRT)
        return below->a;
    *power = 3;
    if (below->op != OP_MUL)
        return NODE_NONE;
    if (items[below->a].op == OP_SQRT && items[below->a].a == below->b)
        return below->b;
    return items[below->b].op == OP_SQRT && items[below->b].a == below->a ? below->a : NODE_NONE;
}

// A quick division is a reciprocal, or has a number above it, or something that must be looked at.
static void put_quick(struct writer *w, const struct node *n) {
    const struct node *above = &w->e->dag->nodes.items[n->a];
    bool divides = n->op == OP_DIV, number = divides && above->op == OP_NUMBER;
    bool one = number && above->value == 1;
    int power;
    if (one && root_below(w, n, &power) != NODE_NONE && power == 3) {
        buf_puts(w->out, "r_rcp_sure(");
        put_operands(w, n, 1);
        return;
    }
    bool fair = number && fabs(above->value) > 0x1p-20 && fabs(above->value) < 0x1p20;
    buf_printf(w->out, "r_%s_quick(&range, ",
               one       ? "rcp"
               : fair    ? "over"
               : divides ? "div"
                         : "sqrt");
    put_operands(w, n, one);
}

static void put_fast(struct writer *w, const struct node *n) {
    int power;
    node_id x = root_below(w, n, &power);
    if (n->op == OP_DIV) {
        emit_value(w, n->a);
        buf_puts(w->out, " * ");
    }
    buf_puts(w->out, x != NODE_NONE    ? power == 1 ? "r_rsqrt_approx(" : "r_cube(r_rsqrt_approx("
                     : n->op == OP_DIV ? "r_rcp_approx("
                                       : "r_sqrt_approx(");
    emit_value(w, x != NODE_NONE ? x : n->op == OP_DIV ? n->b : n->a);
    buf_puts(w->out, x != NODE_NONE && power == 3 ? "))" : ")");
}

static void put_infix(struct writer *w, const struct node *n, const char *sign) {
    emit_value(w, n->a);
    buf_printf(w->out, " %s ", sign);
    emit_value(w, n->b);
}

static void put_fused(struct writer *w, const char *name, node_id product, node_id rest) {
    const struct node *m = &w->e->dag->nodes.items[product];
    buf_printf(w->out, "%s(", name);
    emit_value(w, m->a);
    buf_puts(w->out, ", ");
    emit_value(w, m->b);
    buf_puts(w->out, ", ");
    emit_value(w, rest);
    buf_puts(w->out, ")");
}

static void put_sum(struct writer *w, const struct node *n) {
    bool minus = n->op == OP_SUB;
    if (w->fused[n->a])
        put_fused(w, minus ? "r_fms" : "r_fma", n->a, n->b);
    else if (w->fused[n->b])
        put_fused(w, minus ? "r_fnma" : "r_fma", n->b, n->a);
    else
        put_infix(w, n, minus ? "-" : "+");
}

static void put_named(struct writer *w, const struct node *n) {
    static const char *const special[OP_COUNT] = {
        [OP_POW] = "r_pow", [OP_LT] = "r_lt",   [OP_LE] = "r_le",         [OP_GT] = "r_gt",
        [OP_GE] = "r_ge",   [OP_EQ] = "r_eq",   [OP_NE] = "r_ne",         [OP_AND] = "m_and",
        [OP_OR] = "m_or",   [OP_NOT] = "m_not", [OP_MIN] = "r_model_min", [OP_MAX] = "r_model_max",
    };
    char name[24] = "r_";
    put_call(w, special[n->op] ? special[n->op] : strcat(name, op_names[n->op]), n);
}

static void put_wide(struct writer *w, const struct node *n) {
    if (wide_names[n->op]) {
        put_call(w, wide_names[n->op], n);
        return;
    }
    bool truth = is_truth(n->op);
    buf_puts(w->out, truth ? "" : "w_of(");
    if (n->op == OP_LOOKUP)
        put_lookup(w, n);
    else
        put_named(w, n);
    buf_puts(w->out, truth ? "" : ")");
}

static void put_expression(struct writer *w, const struct node *n) {
    if (is_wide(w)) {
        put_wide(w, n);
        return;
    }
    if (w->e->form == EMIT_QUICK && is_division(n->op)) {
        put_quick(w, n);
        return;
    }
    if (is_division(n->op) && is_fast(w)) {
        put_fast(w, n);
        return;
    }
    switch (n->op) {
    case OP_NEG:
        buf_puts(w->out, "-");
        emit_value(w, n->a);
        break;
    case OP_ADD:
    case OP_SUB:
        put_sum(w, n);
        break;
    case OP_MUL:
        put_infix(w, n, "*");
        break;
    case OP_DIV:
        put_infix(w, n, "/");
        break;
    case OP_LOOKUP:
        put_lookup(w, n);
        break;
    case OP_IF:
        put_call(w, "select", n);
        break;
    default:
        put_named(w, n);
    }
}

// Decides which products disappear into an fma: used once, by a sum whose other operand is not
// already such a product.
static void find_fused(struct writer *w) {
    const struct dag *d = w->e->dag;
    for (node_id id = 0; id < d->nodes.count; id++) {
        const struct node *n = &d->nodes.items[id];
        if (!w->uses[id] || (n->op != OP_ADD && n->op != OP_SUB))
            continue;
        if (d->nodes.items[n->a].op == OP_MUL && w->uses[n->a] == 1)
            w->fused[n->a] = true;
        else if (d->nodes.items[n->b].op == OP_MUL && w->uses[n->b] == 1)
            w->fused[n->b] = true;
    }
}

static void find_numbers(struct writer *w) {
    const struct dag *d = w->e->dag;
    for (node_id id = 0; id < d->nodes.count; id++) {
        const struct node *n = &d->nodes.items[id];
        if (!w->uses[id] || n->op == OP_SYMBOL)
            continue;
        for (int i = 0; i < op_operands[n->op]; i++)
            if (!takes_truth(n->op, i))
                w->number[operand(n, i)] = true;
    }
    for (uint32_t i = 0; i < w->e->count; i++)
        w->number[w->e->roots[i]] = true;
}

void emit_prepare(struct writer *w) {
    if (!is_wide(w))
        find_fused(w);
    find_numbers(w);
}

bool emit_is_statement(const struct writer *w, node_id id) {
    return w->uses[id] && !w->fused[id] && w->e->dag->nodes.items[id].op > OP_SYMBOL;
}

node_id emit_operand(const struct writer *w, node_id id, uint32_t i) {
    const struct node *n = &w->e->dag->nodes.items[id];
    node_id read[6];
    uint32_t count = 0;
    int power;
    node_id root = is_fast(w) ? root_below(w, n, &power) : NODE_NONE;
    for (int k = 0; k < op_operands[n->op]; k++) {
        node_id x = operand(n, k);
        const struct node *product = &w->e->dag->nodes.items[x];
        read[count++] = w->fused[x] ? product->a : x;
        if (w->fused[x])
            read[count++] = product->b;
    }
    if (root != NODE_NONE)
        read[count++] = root;
    return i < count ? read[i] : NODE_NONE;
}

void emit_statement(struct writer *w, node_id id) {
    const struct node *n = &w->e->dag->nodes.items[id];
    bool truth = is_truth(n->op);
    const char *type = is_wide(w) ? "wide" : "real";
    buf_printf(w->out, "    const %s %c%u = ", truth ? "mask" : type, truth ? 'm' : 'v', id);
    put_expression(w, n);
    buf_puts(w->out, ";\n");
    if (truth && w->number[id])
        buf_printf(w->out,
                   is_wide(w) ? "    const wide v%u = w_of(r_num(m%u));\n"
                              : "    const real v%u = r_num(m%u);\n",
                   id, id);
    if (w->slot[id] == NO_SLOT)
        return;
    buf_printf(w->out, truth ? "    s[%u] = r_num(m%u);\n" : "    s[%u] = v%u;\n", w->slot[id], id);
}

void codegen_used(const struct emit *e, bool used[OP_COUNT], struct arena *arena) {
    const uint32_t *uses = dag_uses(e->dag, e->roots, e->count, arena);
    for (node_id id = 0; id < e->dag->nodes.count; id++)
        if (uses[id])
            used[e->dag->nodes.items[id].op] = true;
}

uint32_t codegen_divisions(const struct emit *e, struct arena *arena) {
    const uint32_t *uses = dag_uses(e->dag, e->roots, e->count, arena);
    uint32_t count = 0;
    for (node_id id = 0; id < e->dag->nodes.count; id++)
        count += uses[id] && is_division(e->dag->nodes.items[id].op);
    return count;
}
