// SPDX-License-Identifier: MIT
// A model becomes nodes: constants as numbers, temporaries and functions expanded.
//
// A stack machine over the model's postfix code. A call, and a temporary that is met for the first
// time, push a frame; nothing recurses. What a function gives for certain argument nodes is
// remembered, so f(x)=g(x)+g(x) of g(x)=h(x)+h(x) ... is one visit of each. What still grows too
// large ends with an error at the statement that did it. Temporaries nobody uses are never built.
// The model was checked by the parser; code that makes no sense is an error here, not a crash.
#include "ode/symbolic/dag.h"

#include <stdlib.h>

// What a text may become: what its functions and arrays are expanded to is bounded, what it writes
// out is not.
enum { NODES = 1 << 19, MOST_NODES = 1 << 21, WORK = 1 << 21, MOST_WORK = 1 << 24 };
enum { BUDGET_WORK = 1 << 22, BUDGET_MIB = 108 };

static uint32_t most_nodes(const struct model *m) {
    uint64_t most = NODES + 2 * (uint64_t)m->source.length;
    return most < MOST_NODES ? (uint32_t)most : MOST_NODES;
}

static uint32_t most_work(const struct model *m) {
    uint64_t most = WORK + 16 * (uint64_t)m->source.length;
    return most < MOST_WORK ? (uint32_t)most : MOST_WORK;
}

struct budget system_budget(const struct system *s, const volatile int *stop) {
    return (struct budget){.work = BUDGET_WORK + 64 * (uint64_t)s->text_length,
                           .bytes = ((uint64_t)BUDGET_MIB << 20) + 1024 * (uint64_t)s->text_length,
                           .stop = stop};
}

shoal_code system_failure(const struct budget *b, struct report *r) {
    if (b->stopped)
        return SHOAL_STOPPED;
    if (b->spent)
        return report_error(r, SHOAL_INPUT,
                            "the model is too large: its equations and their derivatives would "
                            "take too much memory or time");
    return report_error(r, SHOAL_MEMORY, "not enough memory for the equations of the model");
}

// Values of slots besides node numbers: NODE_NONE is not yet built.
enum { UNDER_WAY = UINT32_MAX - 1 };

struct frame {
    const struct item *next, *end; // code still to run
    uint32_t base, args;           // the arguments' place on the stack, and how many
    uint32_t slot;                 // where the value is kept, besides the stack
};

struct builder {
    struct system *system;
    const struct model *model;
    struct report *report;
    struct arena *arena;
    uint32_t *position; // of a symbol in the list of its kind
    // What was built: by function (those without arguments), by symbol (temporaries), then by call.
    vec(node_id) slots;
    struct pairs calls; // (slot, argument) to slot, see call_slot
    vec(struct frame) frames;
    vec(node_id) stack;
    uint32_t work, most_work, most_nodes;
    uint32_t at; // of the statement being built
};

static bool fail(struct builder *b, const char *why) {
    uint32_t at = b->at;
    struct source source = model_source(b->model, &at);
    report_at(b->report, SHOAL_ERROR, &source, at, "%s", why);
    return false;
}

static bool fail_malformed(struct builder *b) { return fail(b, "this expression is not complete"); }

static bool push(struct builder *b, node_id id) {
    *vec_push(b->arena, &b->stack) = id;
    return true;
}

static bool push_frame(struct builder *b, struct expr code, uint32_t args, uint32_t slot) {
    uint64_t end = (uint64_t)code.first + code.count;
    if (end > b->model->code.count)
        return fail_malformed(b);
    const struct item *items = b->model->code.items;
    *vec_push(b->arena, &b->frames) =
        (struct frame){items + code.first, items + end, b->stack.count - args, args, slot};
    return true;
}

// The value of a slot in place of the topmost `args` of the stack, by running `code` when it is the
// first time.
static bool run_slot(struct builder *b, uint32_t slot, struct expr code, uint32_t args) {
    node_id known = b->slots.items[slot];
    uint64_t deepest = (uint64_t)b->model->functions.count + b->model->symbols.count;
    if (known == UNDER_WAY || (known == NODE_NONE && b->frames.count > deepest))
        return fail(b, "this expression depends on itself");
    if (known != NODE_NONE) {
        b->stack.count -= args;
        return push(b, known);
    }
    b->slots.items[slot] = UNDER_WAY;
    return push_frame(b, code, args, slot);
}

static bool run_symbol(struct builder *b, uint32_t index) {
    if (index >= b->model->symbols.count)
        return fail_malformed(b);
    const struct symbol *symbol = &b->model->symbols.items[index];
    struct dag *d = &b->system->dag;
    uint32_t position = b->position[index];
    node_id derived;
    switch (symbol->kind) {
    case SYMBOL_STATE:
        return push(b, dag_leaf(d, LEAF_STATE, position));
    case SYMBOL_PAR:
        return push(b, dag_leaf(d, LEAF_PAR, position));
    case SYMBOL_CONST:
        return push(b, dag_number(d, symbol->value));
    case SYMBOL_DERIVED:
        derived = b->system->derive[position];
        return push(b, derived != NODE_NONE && node_is_number(d, derived)
                           ? derived
                           : dag_leaf(d, LEAF_DERIVED, position));
    case SYMBOL_TEMP:
        return run_slot(b, b->model->functions.count + index, symbol->expr, 0);
    }
    return fail_malformed(b);
}

// A call is the chain (function, first argument), (that, second argument), ...: each a slot.
static uint32_t call_slot(struct builder *b, uint32_t function, const node_id *args,
                          uint32_t count) {
    uint32_t slot = function;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *next = pairs_at(&b->calls, b->arena, slot, args[i]);
        if (*next == UINT32_MAX) {
            *next = b->slots.count;
            *vec_push(b->arena, &b->slots) = NODE_NONE;
        }
        slot = *next;
    }
    return slot;
}

static bool run_call(struct builder *b, uint32_t index, uint32_t height) {
    if (index >= b->model->functions.count)
        return fail_malformed(b);
    const struct function *f = &b->model->functions.items[index];
    if (height < f->args)
        return fail_malformed(b);
    const node_id *args = b->stack.items + b->stack.count - f->args;
    return run_slot(b, call_slot(b, index, args, f->args), f->body, f->args);
}

static bool run_operator(struct builder *b, enum op op, uint32_t height) {
    uint32_t operands = op < OP_COUNT ? op_operands[op] : 0;
    if (operands == 0 || height < operands)
        return fail_malformed(b);
    node_id x[3] = {NODE_NONE, NODE_NONE, NODE_NONE};
    for (uint32_t i = operands; i-- > 0;)
        x[i] = b->stack.items[--b->stack.count];
    return push(b, dag_op(&b->system->dag, op, x[0], x[1], x[2]));
}

static bool run_item(struct builder *b, const struct item *item, const struct frame *f) {
    uint32_t height = b->stack.count - f->base - f->args;
    switch (item->op) {
    case OP_NUMBER:
        return push(b, dag_number(&b->system->dag, item->value));
    case OP_TIME:
        return push(b, dag_time(&b->system->dag));
    case OP_SYMBOL:
        return run_symbol(b, item->index);
    case OP_ARG:
        return item->index < f->args ? push(b, b->stack.items[f->base + item->index])
                                     : fail_malformed(b);
    case OP_CALL:
        return run_call(b, item->index, height);
    default:
        return run_operator(b, item->op, height);
    }
}

static bool end_frame(struct builder *b) {
    struct frame f = b->frames.items[--b->frames.count];
    if (b->stack.count != f.base + f.args + 1)
        return fail_malformed(b);
    node_id value = b->stack.items[b->stack.count - 1];
    b->stack.count = f.base;
    if (f.slot != UINT32_MAX)
        b->slots.items[f.slot] = value;
    return push(b, value);
}

// Runs what is on the stack of frames, down to its end.
static bool run_frames(struct builder *b, node_id *out) {
    while (b->frames.count) {
        struct frame *top = &b->frames.items[b->frames.count - 1];
        if (b->work++ >= b->most_work || b->system->dag.nodes.count >= b->most_nodes)
            return fail(b, "the model is too large once its functions are expanded; are they "
                           "nested too deeply?");
        if (top->next == top->end) {
            if (!end_frame(b))
                return false;
        } else {
            struct frame now = *top; // the stack of frames may move
            top->next++;
            if (!run_item(b, now.next, &now))
                return false;
        }
    }
    *out = b->stack.items[0];
    return true;
}

static bool build(struct builder *b, struct expr code, uint32_t at, node_id *out) {
    b->at = at;
    if (code.count && code.first < b->model->code.count)
        b->at = b->model->code.items[code.first].at;
    b->stack.count = b->frames.count = 0;
    return push_frame(b, code, 0, UINT32_MAX) && run_frames(b, out);
}

bool builder_make(struct builder *b, struct expr code, uint32_t at, node_id *out) {
    return build(b, code, at, out);
}

bool builder_fail(struct builder *b, uint32_t at, const char *why) {
    b->at = at;
    return fail(b, why);
}

static node_id *unbuilt(struct arena *arena, uint32_t count) {
    node_id *ids = arena_new(arena, node_id, count);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = NODE_NONE;
    return ids;
}

static void number_symbols(struct builder *b) {
    const struct model *m = b->model;
    b->position = arena_new(b->arena, uint32_t, m->symbols.count);
    for (uint32_t i = 0; i < m->states.count; i++)
        b->position[m->states.items[i]] = i;
    for (uint32_t i = 0; i < m->pars.count; i++)
        b->position[m->pars.items[i]] = i;
    for (uint32_t i = 0; i < m->derived.count; i++)
        b->position[m->derived.items[i]] = i;
    for (uint32_t i = 0; i < m->functions.count + m->symbols.count; i++)
        *vec_push(b->arena, &b->slots) = NODE_NONE;
}

// Row k of the algebraic ones goes to the k-th algebraic state for now.
static bool build_rhs(struct builder *b) {
    struct system *s = b->system;
    const struct model *m = b->model;
    uint32_t row = 0;
    for (uint32_t i = 0; i < s->states; i++) {
        const struct symbol *symbol = &m->symbols.items[m->states.items[i]];
        struct expr expr = symbol->expr;
        if (symbol->algebraic) {
            if (row == m->rows.count)
                return fail_malformed(b);
            expr = m->rows.items[row++].expr;
            s->row_algebraic[i] = true;
        }
        if (!build(b, expr, symbol->at, &s->rhs[i]) ||
            (symbol->init.count && s->init[i] == NODE_NONE &&
             !build(b, symbol->init, symbol->at, &s->init[i])))
            return false;
    }
    return true;
}

static bool build_derived(struct builder *b, uint32_t index) {
    const struct symbol *symbol = &b->model->symbols.items[b->model->derived.items[index]];
    return build(b, symbol->expr, symbol->at, &b->system->derive[index]);
}

// A leaf that stands for an initial value comes behind the nodes of its formula.
static bool build_start(struct builder *b) {
    struct system *s = b->system;
    const struct model *m = b->model;
    s->start = arena_new(b->arena, uint32_t, m->start.count + 1);
    for (uint32_t k = 0; k < m->start.count; k++) {
        const struct symbol *symbol = &m->symbols.items[m->start.items[k]];
        uint32_t i = b->position[m->start.items[k]];
        bool state = symbol->kind == SYMBOL_STATE;
        if (state && !symbol->init.count)
            continue;
        if (state ? !build(b, symbol->init, symbol->at, &s->init[i]) : !build_derived(b, i))
            return false;
        s->start[s->starts++] = state ? s->derived + i : i;
    }
    return true;
}

static bool build_system(struct builder *b) {
    struct system *s = b->system;
    const struct model *m = b->model;
    number_symbols(b);
    s->derive = unbuilt(b->arena, s->derived);
    s->rhs = unbuilt(b->arena, s->states);
    s->init = unbuilt(b->arena, s->states);
    s->observable = unbuilt(b->arena, s->observables);
    if (!build_start(b))
        return false;
    for (uint32_t i = 0; i < s->derived && !s->starts; i++)
        if (!build_derived(b, i))
            return false;
    if (s->algebraic)
        s->row_algebraic = arena_new(b->arena, bool, s->states);
    if (!build_rhs(b))
        return false;
    for (uint32_t i = 0; i < s->observables; i++) {
        const struct observable *o = &m->observables.items[i];
        if (!build(b, o->expr, o->at, &s->observable[i]))
            return false;
    }
    for (uint32_t i = 0; i < s->states; i++) // whatever is asked for later, derivatives come next
        dag_leaf(&s->dag, LEAF_STATE, i);
    dag_time(&s->dag);
    return true;
}

static bool build_all(struct system *s, const struct model *m, struct arena *scratch,
                      struct report *r) {
    dag_init(&s->dag, &s->arena);
    struct builder *b = s->builder = arena_new(&s->arena, struct builder, 1);
    *b = (struct builder){.system = s,
                          .model = m,
                          .report = r,
                          .arena = &s->arena,
                          .most_work = most_work(m),
                          .most_nodes = most_nodes(m)};
    if (!build_system(b))
        return false;
    if (!event_build(b, s, m, scratch))
        return false;
    switches_find(s, m, scratch);
    jumps_find(s, m, scratch);
    if (s->algebraic && !algebraic_arrange(s, m, scratch, r))
        return false;
    event_find_slopes(s, scratch);
    jumps_become_events(s);
    return true;
}

static bool build_or_run_out(struct system *s, const struct model *m, struct report *r) {
    struct arena scratch = {0};
    struct budget budget = system_budget(s, NULL);
    jmp_buf oom;
    volatile bool built = false;
    s->arena.oom = scratch.oom = &oom;
    s->arena.budget = scratch.budget = &budget;
    if (!setjmp(oom))
        built = build_all(s, m, &scratch, r);
    else
        system_failure(&budget, r);
    s->arena.oom = NULL;
    s->arena.budget = NULL;
    arena_free(&scratch);
    return built;
}

struct system *system_new(const struct model *m, struct report *r) {
    struct system *s = calloc(1, sizeof *s);
    if (!s) {
        report_error(r, SHOAL_MEMORY, "not enough memory to expand the model");
        return NULL;
    }
    s->states = m->states.count;
    s->pars = m->pars.count;
    s->derived = m->derived.count;
    s->observables = m->observables.count;
    s->algebraic = m->rows.count;
    s->text_length = m->source.length;
    if (build_or_run_out(s, m, r))
        return s;
    system_free(s);
    return NULL;
}

node_id system_formula(struct system *s, const struct formula *f) {
    return system_formula_of(s, f, NULL, 0);
}

node_id system_formula_of(struct system *s, const struct formula *f, const node_id *argument,
                          uint32_t arguments) {
    struct builder *b = s->builder;
    node_id out;
    b->report = NULL; // that of the model's own expressions
    b->work = 0;
    b->most_nodes = s->dag.nodes.count + most_nodes(b->model);
    b->stack.count = b->frames.count = 0;
    for (uint32_t i = 0; i < arguments; i++)
        push(b, argument[i]);
    *vec_push(b->arena, &b->frames) =
        (struct frame){f->item, f->item + f->count, 0, arguments, UINT32_MAX};
    return run_frames(b, &out) ? out : NODE_NONE;
}

void system_free(struct system *s) {
    if (!s)
        return;
    arena_free(&s->arena);
    free(s);
}
