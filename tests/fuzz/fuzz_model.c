// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as a model, then as values for it.
//
// clang -std=gnu17 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc
//     src/base/{arena,buf,report}.c src/model/*.c tests/fuzz/fuzz_model.c -lm
//
// Besides not crashing: a model that is refused has an error, one that is accepted has none, and
// every expression is well-formed postfix code of known names.
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

// Depth of the stack that the code needs, and that one value is left.
static void check_expr(const struct model *m, struct expr e, uint32_t args) {
    uint32_t depth = 0;
    require(e.count > 0 && (uint64_t)e.first + e.count <= m->code.count);
    for (uint32_t i = e.first; i < e.first + e.count; i++) {
        const struct item *item = &m->code.items[i];
        require(item->op < OP_COUNT && item->at <= m->source.length);
        uint32_t takes = op_operands[item->op];
        if (item->op == OP_CALL) {
            require(item->index < m->functions.count);
            takes = m->functions.items[item->index].args;
        } else if (item->op == OP_SYMBOL)
            require(item->index < m->symbols.count);
        else if (item->op == OP_ARG)
            require(item->index < args);
        require(depth >= takes);
        depth = depth - takes + 1;
    }
    require(depth == 1);
}

static void check_model(const struct model *m) {
    require(m->states.count > 0);
    for (uint32_t i = 0; i < m->symbols.count; i++) {
        const struct symbol *s = &m->symbols.items[i];
        bool has_expr = s->kind != SYMBOL_PAR && s->kind != SYMBOL_CONST && !s->algebraic;
        require(s->name && *s->name && has_expr == (s->expr.count > 0));
        if (has_expr)
            check_expr(m, s->expr, 0);
        if (s->init.count)
            check_expr(m, s->init, 0);
        if (s->given.count)
            check_expr(m, s->given, 0);
    }
    uint32_t algebraic = 0;
    for (uint32_t i = 0; i < m->states.count; i++)
        algebraic += m->symbols.items[m->states.items[i]].algebraic;
    require(algebraic == m->rows.count);
    for (uint32_t i = 0; i < m->rows.count; i++)
        check_expr(m, m->rows.items[i].expr, 0);
    for (uint32_t i = 0; i < m->functions.count; i++)
        check_expr(m, m->functions.items[i].body, m->functions.items[i].args);
    for (uint32_t i = 0; i < m->observables.count; i++)
        check_expr(m, m->observables.items[i].expr, 0);
}

static void use_model(struct model *m, const uint8_t *data, size_t size, struct report *r) {
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    double value;
    uint32_t code = m->code.count;
    model_number(m, text, &value);
    model_set(m, text, "--set", r);
    const struct value_set *rest;
    for (uint32_t i = 0; i < m->sets.count && i < 4; i++)
        model_use(m, m->sets.items[i].name, &rest, r);
    model_find(m, text, "--vars", r);
    require(m->code.count == code);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *cut = memchr(data, '\f', size); // behind a form feed: values to set
    size_t length = cut ? (size_t)(cut - data) : size;
    struct report r = {0};
    struct model *m = model_parse("fuzz", (const char *)data, length, &r);
    require((m != NULL) == (r.errors == 0));
    if (m) {
        check_model(m);
        use_model(m, cut ? cut + 1 : data, cut ? size - length - 1 : 0, &r);
        check_model(m);
    }
    model_free(m);
    report_free(&r);
    return 0;
}
