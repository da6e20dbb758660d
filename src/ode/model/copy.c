// SPDX-License-Identifier: MIT
// A model beside another: copies that share the text, and whether two have the same names.
//
// Once a model is parsed only the values of its symbols change. A copy has its own of these and
// looks at everything else in the model that was parsed, which lives until the last of them is
// freed; so two threads may use a model and its copies.
#include "ode/model/model.h"

#include <stdlib.h>
#include <string.h>

static struct model *origin_of(struct model *m) { return m->origin ? m->origin : m; }

enum { CODE_ROOM = 256 }; // for expressions of values that are set

// Code that a copy has in memory of its own, because values were set, is not there for its copies.
static bool copy_code(struct model *copy, const struct model *m) {
    copy->code.cap = m->code.count; // what is added moves to memory of its own
    if (!m->origin || m->code.cap == m->code.count)
        return true;
    copy->code.cap += CODE_ROOM;
    copy->code.items = arena_new(&copy->arena, struct item, copy->code.cap);
    if (copy->code.items)
        memcpy(copy->code.items, m->code.items, m->code.count * sizeof *m->code.items);
    return copy->code.items != NULL;
}

struct model *model_copy(struct model *m) {
    if (!m->users)
        m->users = arena_new(&m->arena, unsigned, 1);
    struct model *copy = m->users ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    *copy = *m;
    copy->arena = (struct arena){0};
    copy->symbols.items = arena_new(&copy->arena, struct symbol, m->symbols.count + 1);
    if (!copy->symbols.items || !copy_code(copy, m)) {
        arena_free(&copy->arena);
        free(copy);
        return NULL;
    }
    memcpy(copy->symbols.items, m->symbols.items, m->symbols.count * sizeof *m->symbols.items);
    copy->symbols.cap = m->symbols.count;
    copy->origin = origin_of(m);
    __atomic_add_fetch(copy->users, 1, __ATOMIC_RELAXED);
    return copy;
}

void model_free(struct model *m) {
    if (!m)
        return;
    struct model *origin = origin_of(m);
    unsigned *users = m->users;
    if (m != origin) {
        arena_free(&m->arena);
        free(m);
    }
    if (users && __atomic_fetch_sub(users, 1, __ATOMIC_ACQ_REL) > 0)
        return; // somebody still looks at the text
    arena_free(&origin->arena);
    free(origin);
}

bool model_same_kernel(const struct model *a, const struct model *b) {
    for (uint32_t i = 0; i < a->symbols.count; i++) {
        const struct symbol *x = &a->symbols.items[i], *y = &b->symbols.items[i];
        if (x->kind == SYMBOL_CONST && memcmp(&x->value, &y->value, sizeof x->value))
            return false;
        if (x->init.first != y->init.first || x->init.count != y->init.count)
            return false;
    }
    return true;
}

// ---- Names --------------------------------------------------------------------------------------

struct names {
    const char *what; // they are, in words
    uint32_t count;
    const uint32_t *symbol; // NULL: observables, events or signals
};

enum { LIST_OBSERVABLES = 4, LIST_EVENTS, LIST_SIGNALS, LISTS };

static void lists_of(const struct model *m, struct names out[LISTS]) {
    out[0] = (struct names){"state", m->states.count, m->states.items};
    out[1] = (struct names){"parameter", m->pars.count, m->pars.items};
    out[2] = (struct names){"constant", m->consts.count, m->consts.items};
    out[3] = (struct names){"derived parameter", m->derived.count, m->derived.items};
    out[LIST_OBSERVABLES] = (struct names){"observable", m->observables.count, NULL};
    out[LIST_EVENTS] = (struct names){"event", m->events.count, NULL};
    out[LIST_SIGNALS] = (struct names){"driver or table", m->signals.count, NULL};
}

static const char *name_at(const struct model *m, const struct names *n, int list, uint32_t i) {
    if (i >= n->count)
        return NULL;
    return n->symbol              ? m->symbols.items[n->symbol[i]].name
           : list == LIST_EVENTS  ? m->events.items[i].name
           : list == LIST_SIGNALS ? m->signals.items[i].name
                                  : m->observables.items[i].label;
}

bool model_same_names(const struct model *a, const struct model *b, struct name_difference *out) {
    struct names x[LISTS], y[LISTS];
    if (origin_of((struct model *)(uintptr_t)a) == origin_of((struct model *)(uintptr_t)b))
        return true;
    lists_of(a, x);
    lists_of(b, y);
    for (int k = 0; k < LISTS; k++)
        for (uint32_t i = 0; i < x[k].count || i < y[k].count; i++) {
            const char *p = name_at(a, &x[k], k, i), *q = name_at(b, &y[k], k, i);
            if (p && q && !strcmp(p, q))
                continue;
            *out = (struct name_difference){.kind = x[k].what, .here = p, .there = q};
            return false;
        }
    return true;
}
