// SPDX-License-Identifier: MIT
// Formulas from outside: expressions of a model's names in the text of an option.
//
// They are read as the model's own are, but that labels of observables are names too. What an
// observable stands for is copied into the formula, so that whoever takes it needs nothing new.
// Nothing is left behind in the model.
#include "ode/model/parse.h"

#include <string.h>

static void know_observables(struct parser *p) {
    const struct model *m = p->m;
    p->observables.names = arena_new(&p->scratch, const char *, m->observables.count + 1);
    for (uint32_t i = 0; i < m->observables.count; i++)
        p->observables.names[i] = m->observables.items[i].label;
    p->observables.count = m->observables.count;
}

static bool read_formula(struct parser *p, struct span text, struct arena *arena,
                         struct formula *out) {
    struct span tokens;
    struct expr e;
    if (!text_open(p))
        return false;
    know_observables(p);
    if (!lexer_read(p, text.first, text.end, &tokens) ||
        !expression_read(p, tokens, (struct index){0}, NULL, &e))
        return false;
    struct item *items = arena_new(arena, struct item, e.count);
    if (!items)
        longjmp(*p->scratch.oom, 1);
    memcpy(items, p->m->code.items + e.first, e.count * sizeof *items);
    *out = (struct formula){items, e.count};
    return true;
}

bool model_formula_in(struct model *m, const struct source *source, uint32_t from, uint32_t to,
                      const struct formula_holes *holes, struct arena *arena, struct formula *out,
                      struct report *r) {
    struct parser p = {.m = m, .r = r, .source = source, .values = true, .holes = holes};
    uint32_t code_count = m->code.count;
    volatile bool good = false;
    jmp_buf oom;
    m->arena.oom = p.scratch.oom = &oom;
    if (!setjmp(oom))
        good = read_formula(&p, (struct span){from, to}, arena, out);
    else
        report_error(r, SHOAL_MEMORY, "out of memory");
    m->arena.oom = p.scratch.oom = NULL;
    m->code.count = code_count;
    arena_free(&p.scratch);
    return good;
}

bool model_formula(struct model *m, const char *text, size_t length, const char *where,
                   struct arena *arena, struct formula *out, struct report *r) {
    struct source source = {where, text, length};
    uint32_t end = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX; // text_open refuses it
    return model_formula_in(m, &source, 0, end, NULL, arena, out, r);
}
