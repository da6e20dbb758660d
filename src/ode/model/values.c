// SPDX-License-Identifier: MIT
// Values: the numbers that expressions of constants stand for.
//
// Evaluation walks postfix code with a stack of values and a stack of calls, and gives up after too
// many items in all, because functions that call each other twice can double the work at every
// name.
#include "ode/model/parse.h"

#include <math.h>
#include <string.h>

// ---- Evaluation ---------------------------------------------------------------------------------

struct call {
    uint32_t at, end; // the code being walked
    uint32_t base;    // where its arguments are on the stack
};

struct machine {
    struct parser *p;
    const struct model *m;
    vec(double) stack;
    vec(struct call) calls;
    bool parameters; // have values, too
    bool zero_division;
};

// One item that is no call; false when it has no value.
static bool compute_item(struct machine *x, const struct item *i, uint32_t base) {
    double value = i->value;
    if (i->op == OP_SYMBOL) {
        const struct symbol *s = &x->m->symbols.items[i->index];
        if (s->kind != SYMBOL_CONST && !(x->parameters && s->kind == SYMBOL_PAR))
            return false;
        value = s->value;
    } else if (i->op == OP_ARG) {
        value = x->stack.items[base + i->index];
    } else if (i->op == OP_TIME) {
        return false;
    } else if (i->op != OP_NUMBER) {
        double v[3] = {0};
        uint32_t n = op_operands[i->op];
        x->stack.count -= n;
        memcpy(v, x->stack.items + x->stack.count, n * sizeof *v);
        x->zero_division |= i->op == OP_DIV && v[1] == 0;
        value = op_value(i->op, v[0], v[1], v[2]);
    }
    *vec_push(&x->p->scratch, &x->stack) = value;
    return true;
}

static bool run(struct machine *x) {
    while (x->calls.count) {
        struct call *c = &x->calls.items[x->calls.count - 1];
        if (c->at == c->end) { // its arguments give way to its value
            double value = x->stack.items[x->stack.count - 1];
            x->stack.count = c->base + 1;
            x->stack.items[c->base] = value;
            x->calls.count--;
            continue;
        }
        const struct item *i = &x->m->code.items[c->at++];
        if (x->p->computed++ > x->p->steps_most)
            return false;
        if (i->op == OP_CALL) {
            const struct function *f = &x->m->functions.items[i->index];
            uint32_t base = x->stack.count - f->args;
            if (!f->body.count || x->calls.count > x->m->functions.count)
                return false;
            *vec_push(&x->p->scratch, &x->calls) =
                (struct call){f->body.first, f->body.first + f->body.count, base};
        } else if (!compute_item(x, i, c->base))
            return false;
    }
    return true;
}

// Its arguments are on the machine's stack.
static const char *compute(struct machine *x, struct expr e, double *value) {
    struct parser *p = x->p;
    *vec_push(&p->scratch, &x->calls) = (struct call){e.first, e.first + e.count, 0};
    if (!run(x))
        return p->computed > p->steps_most ? "this takes too long to compute"
                                           : "this is not a number or an expression of constants";
    *value = x->stack.items[0];
    return isfinite(*value) ? NULL : x->zero_division ? "division by zero" : "this is not finite";
}

const char *values_compute(struct parser *p, struct expr e, double *value) {
    const struct model *m = p->m;
    if (!e.count)
        return "there is no value";
    if (e.count == 1 && m->code.items[e.first].op == OP_NUMBER) {
        *value = m->code.items[e.first].value;
        return NULL;
    }
    struct machine x = {.p = p, .m = m};
    return compute(&x, e, value);
}

const char *values_compute_all(struct parser *p, struct expr e, uint32_t count, double *values,
                               uint32_t *at) {
    struct machine x = {.p = p, .m = p->m, .parameters = true};
    const char *why = NULL;
    for (*at = 0; *at < count && !why; ++*at) {
        x.stack.count = x.calls.count = 0;
        *vec_push(&p->scratch, &x.stack) = values[*at];
        why = compute(&x, e, &values[*at]);
    }
    *at -= why != NULL;
    return why;
}

static bool compute_given(struct parser *p, uint32_t symbol) {
    struct symbol *s = &p->m->symbols.items[symbol];
    if (!s->given.count)
        return true;
    const char *why = values_compute(p, s->given, &s->value);
    if (!why)
        return true;
    if (!p->values) // a place in the model, not in what is being set
        return parse_error(p, s->at, "`%s` has no value: %s", s->name, why);
    report_error(p->r, SHOAL_INPUT, "`%s` has no value then: %s", s->name, why);
    return false;
}

bool values_constants(struct parser *p) {
    bool good = true;
    for (uint32_t i = 0; i < p->m->const_order.count && good; i++)
        good = compute_given(p, p->m->const_order.items[i]);
    return good;
}

bool values_rest(struct parser *p) {
    struct model *m = p->m;
    bool good = true;
    for (uint32_t i = 0; i < m->pars.count; i++)
        good &= compute_given(p, m->pars.items[i]);
    for (uint32_t i = 0; i < m->states.count; i++)
        good &= compute_given(p, m->states.items[i]);
    return good;
}
