// SPDX-License-Identifier: MIT
// Nodes as text that people read, with the model's names; long ones are cut short.
#include "ode/symbolic/dag.h"

#include <math.h>

enum { DEEPEST = 12, LONGEST = 160 };

// How firmly an operator binds; 0: it is written as a function.
static int binding(uint8_t op) {
    switch (op) {
    case OP_OR:
        return 1;
    case OP_AND:
        return 2;
    case OP_LT:
    case OP_LE:
    case OP_EQ:
    case OP_NE:
        return 3;
    case OP_ADD:
    case OP_SUB:
        return 4;
    case OP_MUL:
    case OP_DIV:
    case OP_NEG:
        return 5;
    case OP_POW:
        return 6;
    default:
        return 0;
    }
}

static void print_at(struct buf *out, const struct system *s, const struct model *m, node_id id,
                     int outer, int depth);

static void print_leaf(struct buf *out, const struct system *s, const struct model *m,
                       const struct node *n, int depth) {
    const char *name = n->leaf == LEAF_STATE     ? m->symbols.items[m->states.items[n->a]].name
                       : n->leaf == LEAF_PAR     ? m->symbols.items[m->pars.items[n->a]].name
                       : n->leaf == LEAF_DERIVED ? m->symbols.items[m->derived.items[n->a]].name
                                                 : NULL;
    if (name)
        buf_puts(out, name);
    else
        print_at(out, s, m, n->b, 0, depth + 1);
}

// A driver has no argument.
static void print_lookup(struct buf *out, const struct system *s, const struct model *m,
                         const struct node *n, int depth) {
    const struct signal *signal = &m->signals.items[(uint32_t)s->dag.nodes.items[n->b].value];
    buf_puts(out, signal->name);
    if (!signal->table)
        return;
    buf_putc(out, '(');
    print_at(out, s, m, n->a, 0, depth + 1);
    buf_putc(out, ')');
}

static void print_call(struct buf *out, const struct system *s, const struct model *m,
                       const struct node *n, int depth) {
    buf_puts(out, op_names[n->op]);
    for (uint32_t i = 0; i < op_operands[n->op]; i++) {
        buf_puts(out, i ? ", " : "(");
        print_at(out, s, m, node_operand(n, i), 0, depth + 1);
    }
    buf_putc(out, ')');
}

static void print_at(struct buf *out, const struct system *s, const struct model *m, node_id id,
                     int outer, int depth) {
    const struct node *n = &s->dag.nodes.items[id];
    int own = binding(n->op);
    if (depth > DEEPEST || out->length > LONGEST) {
        buf_puts(out, "...");
    } else if (n->op == OP_NUMBER) {
        buf_printf(out, n->value < 0 && outer ? "(%.6g)" : "%.6g", n->value);
    } else if (n->op == OP_TIME) {
        buf_putc(out, 't');
    } else if (n->op == OP_SYMBOL) {
        print_leaf(out, s, m, n, depth);
    } else if (n->op == OP_LOOKUP) {
        print_lookup(out, s, m, n, depth);
    } else if (!own) {
        print_call(out, s, m, n, depth);
    } else {
        buf_puts(out, own <= outer ? "(" : "");
        if (op_operands[n->op] > 1)
            print_at(out, s, m, n->a, own - 1, depth + 1);
        buf_puts(out, op_names[n->op]);
        print_at(out, s, m, op_operands[n->op] > 1 ? n->b : n->a, own, depth + 1);
        buf_puts(out, own <= outer ? ")" : "");
    }
}

void system_print(struct buf *out, const struct system *s, const struct model *m, node_id id) {
    print_at(out, s, m, id, 0, 0);
}
