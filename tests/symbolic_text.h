// SPDX-License-Identifier: MIT
// Expressions as text for the tests of src/symbolic: postfix in, infix out.
//
// Postfix words: numbers, t, x y z w (states 0 to 3), p q (parameters 0 and 1), d (derived 0),
// `neg` and the names of operators and functions. Infix has all its parentheses.
#ifndef SHOAL_TESTS_SYMBOLIC_TEXT_H
#define SHOAL_TESTS_SYMBOLIC_TEXT_H

#include "base/buf.h"
#include "check.h"
#include "ode/symbolic/symbolic.h"

// A DAG that ends the test when memory runs out.
struct scene {
    struct arena arena;
    struct dag dag;
};

static inline struct scene *scene_new(void) {
    struct scene *s = calloc(1, sizeof *s);
    REQUIRE(s);
    dag_init(&s->dag, &s->arena);
    return s;
}

static inline void scene_free(struct scene *s) {
    arena_free(&s->arena);
    free(s);
}

static inline enum op word_op(const char *word) {
    if (!strcmp(word, "neg"))
        return OP_NEG;
    for (enum op op = OP_ADD; op < OP_COUNT; op++)
        if (!strcmp(word, op_names[op]))
            return op;
    return OP_COUNT;
}

static inline node_id word_leaf(struct dag *d, const char *word) {
    static const char names[] = "xyzwpqd";
    const char *at = strchr(names, word[0]);
    if (!strcmp(word, "t"))
        return dag_time(d);
    if (!at || word[1])
        return dag_number(d, strtod(word, NULL));
    uint32_t i = (uint32_t)(at - names);
    return i < 4   ? dag_leaf(d, LEAF_STATE, i)
           : i < 6 ? dag_leaf(d, LEAF_PAR, i - 4)
                   : dag_leaf(d, LEAF_DERIVED, 0);
}

static inline node_id from_postfix(struct dag *d, const char *text) {
    node_id stack[64];
    uint32_t height = 0;
    char *copy = strdup(text), *rest = copy;
    REQUIRE(copy);
    for (char *word; (word = strsep(&rest, " "));) {
        enum op op = word_op(word);
        if (op == OP_COUNT) {
            REQUIRE(height < 64);
            stack[height++] = word_leaf(d, word);
            continue;
        }
        REQUIRE(height >= op_operands[op]);
        height -= op_operands[op];
        node_id *x = stack + height++;
        *x = dag_op(d, op, x[0], op_operands[op] > 1 ? x[1] : NODE_NONE,
                    op_operands[op] > 2 ? x[2] : NODE_NONE);
    }
    REQUIRE(height == 1);
    free(copy);
    return stack[0];
}

static inline void put_node(struct buf *b, const struct dag *d, node_id id) {
    const struct node *n = &d->nodes.items[id];
    static const char *const leaves[] = {"x", "p", "d"};
    if (n->op == OP_NUMBER) {
        buf_printf(b, "%.15g", n->value);
    } else if (n->op == OP_TIME) {
        buf_puts(b, "t");
    } else if (n->op == OP_SYMBOL) {
        buf_printf(b, "%s%u", leaves[n->leaf], n->a);
    } else if (op_operands[n->op] == 2 && n->op < OP_NOT) {
        buf_puts(b, "(");
        put_node(b, d, n->a);
        buf_printf(b, " %s ", op_names[n->op]);
        put_node(b, d, n->b);
        buf_puts(b, ")");
    } else {
        buf_printf(b, "%s(", op_names[n->op]);
        for (uint32_t i = 0; i < op_operands[n->op]; i++) {
            buf_puts(b, i ? ", " : "");
            put_node(b, d, node_operand(n, i));
        }
        buf_puts(b, ")");
    }
}

// Infix text, which nobody needs to free.
static inline const char *to_infix(const struct dag *d, node_id id) {
    struct buf b = {0};
    put_node(&b, d, id);
    REQUIRE(!b.failed);
    return check_keep(b.data);
}

#endif
