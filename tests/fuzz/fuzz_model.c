// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as a model, then as values for it, then differentiated.
//
// clang -std=gnu17 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc
//     src/base/{arena,ascii,buf,report}.c src/ode/model/*.c src/ode/symbolic/*.c
//     tests/fuzz/fuzz_model.c -lm
//
// Besides not crashing: a model that is refused has an error, one that is accepted has none, every
// expression is well-formed postfix code of known names, and no message has a control character.
#include "ode/model/model.h"
#include "ode/symbolic/lu.h"

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

static void differentiate(const struct model *m, struct report *r) {
    uint32_t errors = r->errors;
    struct system *s = system_new(m, r);
    require((s != NULL) == (r->errors == errors));
    if (!s)
        return;
    struct arena arena = {0};
    struct budget budget = system_budget(s, NULL);
    jmp_buf oom;
    arena.oom = s->arena.oom = &oom;
    arena.budget = s->arena.budget = &budget;
    if (!setjmp(oom) && s->states <= LU_MOST_STATES) {
        node_id *entries;
        struct sparsity p = system_nonzeros(s, &entries, &arena);
        lu_plan(&p, lu_order(&p, &arena), &arena);
    }
    arena_free(&arena);
    system_free(s);
}

static void check_messages(const struct report *r) {
    for (uint32_t i = 0; i < r->messages.count; i++)
        for (const char *c = r->messages.items[i].text; *c; c++)
            require((unsigned char)*c >= 0x20 ? *c != 0x7f : *c == '\n');
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
        differentiate(m, &r);
    }
    check_messages(&r);
    model_free(m);
    report_free(&r);
    return 0;
}
