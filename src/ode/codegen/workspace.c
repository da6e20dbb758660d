// SPDX-License-Identifier: MIT
// The arrays that a device's thread keeps in its part of the workspace: the list is walked once,
// and says both how long that part is and which array lies where (kernels/ode/thread_entry.h).
#include "ode/codegen/codegen.h"

#include <stdio.h>

struct walk {
    struct buf *out;
    uint32_t elements;
};

static void put_array(struct walk *w, const char *place, uint32_t elements) {
    buf_printf(w->out, " \\\n    X(%s, %u)", place, elements);
    w->elements += elements;
}

static void put_group(struct walk *w, const struct thread_arrays *t) {
    put_array(w, "k->limits.atol", t->states);
    put_array(w, "g->x.y", t->states);
    put_array(w, "g->x.f0", t->states);
    put_array(w, "g->spare[0]", t->states);
    put_array(w, "g->spare[1]", t->states);
    put_array(w, "g->spare[2]", t->states);
    put_array(w, "g->p", t->parameters);
    put_array(w, "g->out", t->outputs);
    put_array(w, "x->y", t->states);
    put_array(w, "x->f0", t->states);
    if (t->compensates) {
        put_array(w, "g->x.low", t->states);
        put_array(w, "x->low", t->states);
        put_array(w, "s->low1", t->states);
    }
}

static void put_trial(struct walk *w, const struct thread_arrays *t) {
    put_array(w, "s->y1", t->states);
    if (t->hermite)
        put_array(w, "s->f1", t->states);
    for (uint32_t i = 0; i < t->spares; i++) {
        char place[32];
        snprintf(place, sizeof place, "s->spare[%u]", i);
        put_array(w, place, t->states);
    }
    put_array(w, "stages", t->stages * t->states);
    if (t->linear) {
        put_array(w, "s->m", t->linear);
        put_array(w, "s->f", t->states);
    }
    if (t->iterates)
        put_array(w, "s->n.weight", t->states);
    if (t->collocates) {
        put_array(w, "s->w", t->stages * t->states);
        put_array(w, "s->g", t->stages * t->states);
    }
}

uint32_t codegen_workspace(struct buf *out, const struct thread_arrays *t) {
    struct walk w = {.out = out};
    buf_puts(out, "#define WORKSPACE_ARRAYS(X)");
    put_group(&w, t);
    put_trial(&w, t);
    buf_printf(out, "\n#define WORKSPACE %u\n", w.elements);
    return w.elements;
}
