// SPDX-License-Identifier: MIT
// Summaries as somebody who watches: their expressions as functions, and the lists of their calls.
//
// Calls of equal expressions share one; those that are cut into segments come first. Slopes are of
// the interpolant: by the chain rule, of the slopes of states, which leaves stand for.
#include "kernel/files.h"
#include "ode/codegen/codegen.h"

#include <stdio.h>
#include <string.h>

enum { NODES_PLAIN = 3, NODES = 6 }; // at which slopes of states, of expressions are looked at
enum { APPROACHES = 16 };            // of expressions to where they jump, at most

// ---- Nodes --------------------------------------------------------------------------------------

struct maker {
    struct system *system;
    struct summary_code *code;
    struct diff *diff;
};

// How an expression changes: with the solution, or with theta on the interpolant.
static node_id change(struct maker *m, node_id of, bool inside) {
    struct system *s = m->system;
    struct dag *d = &s->dag;
    node_id sum = diff_by_time(m->diff, of);
    if (inside)
        sum = dag_pair(d, OP_MUL, sum, dag_leaf(d, LEAF_STEP, 0));
    for (uint32_t i = 0; i < s->states; i++) {
        node_id by = diff_by(m->diff, of, LEAF_STATE, i);
        const struct node *n = &d->nodes.items[by];
        if (n->op == OP_NUMBER && n->value == 0)
            continue;
        if (!inside && s->row_algebraic && s->row_algebraic[i])
            m->code->wrong = "--summary: the derivative of an expression with algebraic states is "
                             "not known";
        sum = dag_pair(d, OP_ADD, sum,
                       dag_pair(d, OP_MUL, by, inside ? dag_leaf(d, LEAF_SLOPE, i) : s->rhs[i]));
    }
    return sum;
}

// How much an expression may be off, as a sum over time, which is off by a step, and the states,
// which are off by their slopes.
static node_id sway_of(struct maker *m, node_id of) {
    struct dag *d = &m->system->dag;
    node_id by_time = dag_op(d, OP_ABS, diff_by_time(m->diff, of), NODE_NONE, NODE_NONE);
    node_id sum = dag_pair(d, OP_MUL, by_time, dag_leaf(d, LEAF_STEP, 0));
    for (uint32_t i = 0; i < m->system->states; i++) {
        node_id by = diff_by(m->diff, of, LEAF_STATE, i);
        node_id size = dag_op(d, OP_ABS, by, NODE_NONE, NODE_NONE);
        sum = dag_pair(d, OP_ADD, sum, dag_pair(d, OP_MUL, size, dag_leaf(d, LEAF_SLOPE, i)));
    }
    return sum;
}

static node_id call_node(struct maker *m, const struct summary_call *call) {
    node_id of = system_formula(m->system, &call->of);
    node_id level = call->level.count ? system_formula(m->system, &call->level) : NODE_NONE;
    if (of == NODE_NONE || (call->level.count && level == NODE_NONE)) {
        m->code->wrong = "--summary: an expression is too large once its functions are expanded";
        return dag_number(&m->system->dag, 0);
    }
    if (level != NODE_NONE)
        of = dag_pair(&m->system->dag, OP_SUB, of, level);
    for (uint32_t i = 0; i < call->order; i++)
        of = change(m, of, false);
    return of;
}

static uint32_t expression_of(struct summary_code *c, node_id node) {
    uint32_t i = 0;
    while (i < c->expressions && c->value[i] != node)
        i++;
    if (i == c->expressions)
        c->value[c->expressions++] = node;
    return i;
}

static void make_expressions(struct maker *m, const struct summary_plan *p, struct arena *arena) {
    struct summary_code *c = m->code;
    node_id *node = arena_new(arena, node_id, p->calls + 1);
    for (uint32_t i = 0; i < p->calls; i++)
        if (p->call[i].kind->form != SUMMARY_EVENTS)
            node[i] = call_node(m, &p->call[i]);
    for (int points = 0; points < 2; points++) {
        for (uint32_t i = 0; i < p->calls; i++)
            if (p->call[i].kind->form == (points ? SUMMARY_POINTS : SUMMARY_SEGMENTS))
                c->of_call[i] = expression_of(c, node[i]);
        if (!points)
            c->segmented = c->expressions;
    }
}

// Whether a node is made of states or time.
static bool is_moving(const struct dag *d, node_id node, struct arena *arena) {
    const uint32_t *uses = dag_uses(d, &node, 1, arena);
    for (node_id id = 0; id < d->nodes.count; id++) {
        const struct node *n = &d->nodes.items[id];
        if (uses[id] && (n->op == OP_TIME || (n->op == OP_SYMBOL && n->leaf == LEAF_STATE)))
            return true;
    }
    return false;
}

// What tells, smoothly, how near the node is to where it jumps or bends; NODE_NONE: it does
// neither.
static node_id approach_of(struct dag *d, node_id id) {
    const struct node n = d->nodes.items[id];
    node_id pi = dag_number(d, 3.141592653589793), turns = n.a;
    switch (n.op) {
    case OP_LT:
    case OP_LE:
    case OP_EQ:
    case OP_NE:
    case OP_MIN:
    case OP_MAX:
        return dag_pair(d, OP_SUB, n.a, n.b);
    case OP_HEAV:
    case OP_SIGN:
    case OP_ABS:
        return n.a;
    case OP_MOD:
        turns = dag_pair(d, OP_DIV, n.a, n.b);
        break;
    case OP_FLOOR:
    case OP_CEIL:
        break;
    default:
        return NODE_NONE;
    }
    return dag_pair(d, OP_SIN, dag_pair(d, OP_MUL, pi, turns), NODE_NONE);
}

// An expression that jumps may be flat for longer than it is anything else. So what it hangs on is
// looked at as well, where pieces of a step are measured: behind the expressions that are called.
static void add_approaches(struct maker *m, struct arena *arena) {
    struct summary_code *c = m->code;
    struct dag *d = &m->system->dag;
    uint32_t nodes = d->nodes.count, some = 0, most = c->expressions + APPROACHES;
    uint32_t *uses = dag_uses(d, c->value, c->expressions, arena);
    node_id *value = arena_new(arena, node_id, most + 1);
    memcpy(value, c->value, c->expressions * sizeof *value);
    c->value = value;
    for (node_id id = 0; id < nodes && some < APPROACHES; id++) {
        node_id of = uses[id] && is_moving(d, id, arena) ? approach_of(d, id) : NODE_NONE;
        if (of == NODE_NONE)
            continue;
        expression_of(c, of);
        some++;
    }
}

// The state that an expression is; UINT32_MAX: it is none.
static uint32_t state_of(const struct dag *d, node_id node) {
    const struct node *n = &d->nodes.items[node];
    return n->op == OP_SYMBOL && n->leaf == LEAF_STATE ? n->a : UINT32_MAX;
}

static void make_slopes(struct maker *m) {
    struct summary_code *c = m->code;
    const struct dag *d = &m->system->dag;
    c->nodes = NODES_PLAIN;
    for (uint32_t i = 0; i < c->segmented; i++) {
        if (state_of(d, c->value[i]) == UINT32_MAX)
            c->nodes = NODES;
        c->slope[i] = change(m, c->value[i], true);
    }
    for (uint32_t i = 0; i < c->expressions; i++)
        c->sway[i] = sway_of(m, c->value[i]);
}

// Only what does not change with time may stand beside calls.
static void check_item(struct maker *m, node_id node, struct arena *arena) {
    if (is_moving(&m->system->dag, node, arena))
        m->code->wrong = "--summary: beside calls of summaries there can be parameters and "
                         "constants only; states and t belong into a call, as in max(x)";
}

static void make_number(struct maker *m, const struct formula *f, uint32_t place,
                        struct arena *arena) {
    struct summary_code *c = m->code;
    node_id node = system_formula(m->system, f);
    if (node == NODE_NONE) {
        c->wrong = "--summary: an expression is too large once its functions are expanded";
        return;
    }
    if (is_moving(&m->system->dag, node, arena))
        c->wrong = "--summary: behind the expression of quantile, histogram and at there can be "
                   "parameters and constants only; levels may be made of states and t";
    c->number[c->coded] = node;
    c->place[c->coded++] = place;
}

static void make_numbers(struct maker *m, const struct summary_plan *p, struct arena *arena) {
    m->code->number = arena_new(arena, node_id, p->numbers + 1);
    m->code->place = arena_new(arena, uint32_t, p->numbers + 1);
    for (uint32_t i = 0; i < p->calls; i++)
        for (uint32_t k = 0; k < SUMMARY_NUMBERS; k++)
            if (p->call[i].coded[k].count)
                make_number(m, &p->call[i].coded[k], p->call[i].number + k, arena);
}

static void make_items(struct maker *m, const struct summary_plan *p, struct arena *arena) {
    node_id *call = arena_new(arena, node_id, p->calls + 1);
    for (uint32_t i = 0; i < p->calls; i++)
        call[i] = dag_leaf(&m->system->dag, LEAF_SUMMARY, i);
    for (uint32_t i = 0, n = 0; i < p->items; i++) {
        if (p->item[i].arrays)
            continue;
        node_id node = system_formula_of(m->system, &p->item[i].value, call, p->calls);
        if (node == NODE_NONE)
            m->code->wrong = "--summary: an item is too large once its functions are expanded";
        m->code->item[n] = node == NODE_NONE ? call[0] : node;
        check_item(m, m->code->item[n++], arena);
    }
}

struct summary_code *codegen_summary_nodes(const struct summary_plan *p, struct system *s,
                                           struct arena *arena) {
    struct summary_code *c = arena_new(arena, struct summary_code, 1);
    struct maker m = {.system = s, .code = c, .diff = diff_new(&s->dag, arena)};
    c->plan = p;
    c->value = arena_new(arena, node_id, p->calls + 1);
    c->slope = arena_new(arena, node_id, p->calls + 1);
    c->of_call = arena_new(arena, uint32_t, p->calls + 1);
    c->item = arena_new(arena, node_id, p->items + 1);
    make_expressions(&m, p, arena);
    add_approaches(&m, arena);
    c->sway = arena_new(arena, node_id, c->expressions + 1);
    make_slopes(&m);
    make_items(&m, p, arena);
    make_numbers(&m, p, arena);
    return c;
}

// ---- Functions ----------------------------------------------------------------------------------

enum { FUNCTIONS = 5 };

// The functions that are made of nodes; `like` says of which system.
static void functions_of(const struct summary_code *c, const struct emit *like,
                         struct emit out[FUNCTIONS]) {
    struct emit values = *like, slopes = *like, items = *like, sways = *like, numbers = *like;
    values.roots = c->value;
    values.count = c->expressions;
    values.name = "summary_values";
    values.parameters = "real t, const SPACE real *y, const SPACE real *p, real *out";
    slopes.roots = c->slope;
    slopes.count = c->segmented;
    slopes.name = "summary_slopes";
    slopes.parameters = "real t, const SPACE real *y, const SPACE real *d, const SPACE real *p, "
                        "real h, real *out";
    items.roots = c->item;
    items.count = c->plan->scalars;
    items.name = "summary_items";
    items.parameters = "const real *r, const SPACE real *p, real *out";
    sways.roots = c->sway;
    sways.count = c->expressions;
    sways.name = "summary_sways";
    sways.parameters = slopes.parameters;
    numbers.roots = c->number;
    numbers.count = c->coded;
    numbers.name = "summary_coded";
    numbers.parameters = "const SPACE real *p, real *out";
    values.result = slopes.result = items.result = sways.result = numbers.result = "out";
    out[0] = values;
    out[1] = slopes;
    out[2] = items;
    out[3] = sways;
    out[4] = numbers;
}

void codegen_summary_used(const struct summary_code *c, const struct emit *like,
                          bool used[OP_COUNT], struct arena *arena) {
    struct emit e[FUNCTIONS];
    functions_of(c, like, e);
    for (int i = 0; i < FUNCTIONS; i++)
        codegen_used(&e[i], used, arena);
}

// Long ones are not cut: parts would hand values to each other in an array of the model's own.
static void put_functions(struct buf *out, const struct summary_code *c, const struct emit *like,
                          struct arena *arena) {
    struct emit e[FUNCTIONS];
    functions_of(c, like, e);
    for (int i = 0; i < FUNCTIONS; i++) {
        if (codegen_length(&e[i], arena) > e[i].inline_length)
            e[i].form = EMIT_WHOLE;
        codegen_function(out, &e[i], arena);
    }
}

// A number of a call: as it was given, or what the parameters of a lane make of it.
static void put_numbers(struct buf *out, const struct summary_code *c) {
    buf_puts(out, "INLINE treal summary_number(const struct shoal_args *a, const struct group *g,\n"
                  "                            int n) {\n");
    if (c->coded)
        buf_printf(out, "    real x[%u];\n    summary_coded(g->p, x);\n", c->coded);
    for (uint32_t i = 0; i < c->coded; i++)
        buf_printf(out, "    if (n == %u)\n        return t_add(t_pair(0, 0), x[%u]);\n",
                   c->place[i], i);
    buf_puts(out, "    return t_load(a->levels + 2 * n);\n}\n");
}

// ---- Lists of calls -----------------------------------------------------------------------------

static void put_files(struct buf *out, const struct summary_plan *p) {
    for (uint32_t i = 0; i < p->calls; i++) {
        bool known = false;
        for (uint32_t k = 0; k < i; k++)
            known |= p->call[k].kind == p->call[i].kind;
        char name[40];
        snprintf(name, sizeof name, "%s.h", p->call[i].kind->file);
        if (!known)
            buf_puts(out, kernel_file_find("summary", name)->text);
    }
}

static uint32_t room_before(const struct summary_plan *p, uint32_t call) {
    uint32_t room = 0;
    for (uint32_t i = 0; i < call; i++)
        room += p->call[i].kind->room;
    return room;
}

// What is known of a call.
static void put_call(struct buf *out, const struct summary_code *c, uint32_t call) {
    const struct summary_call *x = &c->plan->call[call];
    buf_printf(out, "call_of(%u, %u, %d, %u)", c->of_call[call], x->number, x->way, x->array);
}

// Its numbers in a lane, and that.
static void put_call_end(struct buf *out, const struct summary_code *c, uint32_t call) {
    buf_printf(out, "g->summary.of + %u, ", room_before(c->plan, call));
    put_call(out, c, call);
    buf_puts(out, ");\n");
}

static void put_segments(struct buf *out, const struct summary_code *c) {
    buf_puts(out, "INLINE void summary_segments(const struct shoal_args *a, struct group *g,\n"
                  "                             const struct trial *s, const struct segment *x,\n"
                  "                             int e) {\n");
    for (uint32_t e = 0; e < c->segmented; e++) {
        buf_printf(out, "    if (e == %u) {\n", e);
        for (uint32_t i = 0; i < c->plan->calls; i++)
            if (c->of_call[i] == e && c->plan->call[i].kind->form == SUMMARY_SEGMENTS) {
                buf_printf(out, "        %s_segment(a, g, s, x, ", c->plan->call[i].kind->file);
                put_call_end(out, c, i);
            }
        buf_puts(out, "    }\n");
    }
    buf_puts(out, "}\n");
}

static bool has_points(const struct summary_plan *p) {
    for (uint32_t i = 0; i < p->calls; i++)
        if (p->call[i].kind->form == SUMMARY_POINTS)
            return true;
    return false;
}

// Whether a call is an integral of a state, which stages give at once.
static bool is_closed(const struct summary_code *c, const struct dag *d, uint32_t call) {
    return c->plan->call[call].kind->linear &&
           state_of(d, c->value[c->of_call[call]]) != UINT32_MAX;
}

static void put_point(struct buf *out, const struct summary_code *c, uint32_t call,
                      const char *value, const char *of) {
    buf_printf(out, "%s_point(%s, weight, on, %s + %u);\n", c->plan->call[call].kind->file, value,
               of, room_before(c->plan, call));
}

static void put_points(struct buf *out, const struct summary_code *c, const struct dag *d) {
    buf_puts(out, "INLINE void summary_points(const real *v, real weight, mask on, real *of) {\n");
    bool all = true;
    for (uint32_t i = 0; i < c->plan->calls; i++)
        if (c->plan->call[i].kind->form == SUMMARY_POINTS && !is_closed(c, d, i)) {
            char value[24];
            snprintf(value, sizeof value, "v[%u]", c->of_call[i]);
            buf_puts(out, "    ");
            put_point(out, c, i, value, "of");
            all = false;
        }
    buf_printf(out, "}\n#define SUMMARY_ALL_CLOSED %d\n", all);
}

// Events that are counted; those of the model come first in a system.
static void put_fired(struct buf *out, const struct summary_plan *p) {
    bool any = false;
    for (uint32_t i = 0; i < p->calls; i++)
        any = any || p->call[i].kind->form == SUMMARY_EVENTS;
    if (!any)
        return;
    buf_puts(out, "#define SUMMARY_COUNTS\n"
                  "INLINE void summary_fired(struct group *g, int e, treal t, u32 lanes) {\n"
                  "    mask on = summary_begun(g, t, lanes);\n");
    for (uint32_t i = 0; i < p->calls; i++)
        if (p->call[i].kind->form == SUMMARY_EVENTS)
            buf_printf(out, "    if (e == %u)\n        %s_fired(on, g->summary.of + %u);\n",
                       p->call[i].event, p->call[i].kind->file, room_before(p, i));
    buf_puts(out, "}\n");
}

// Integrals of states, whose mean value in a stretch stands for all points.
static void put_closed(struct buf *out, const struct summary_code *c, const struct dag *d) {
    buf_puts(out, "INLINE void summary_closed(struct group *g, const struct trial *s,\n"
                  "                           const struct stretch *x, mask on, real weight,\n"
                  "                           int whole) {\n");
    for (uint32_t i = 0; i < c->plan->calls; i++)
        if (c->plan->call[i].kind->form == SUMMARY_POINTS && is_closed(c, d, i)) {
            char value[64];
            snprintf(value, sizeof value, "plain_mean(g, s, x, %u, whole)",
                     state_of(d, c->value[c->of_call[i]]));
            buf_puts(out, "    ");
            put_point(out, c, i, value, "g->summary.of");
        }
    buf_puts(out, "}\n");
}

// Whether all that is cut into segments are states.
static bool all_states(const struct summary_code *c, const struct dag *d) {
    for (uint32_t e = 0; e < c->segmented; e++)
        if (state_of(d, c->value[e]) == UINT32_MAX)
            return false;
    return true;
}

static bool some_ridged(const struct summary_plan *p) {
    for (uint32_t i = 0; i < p->calls; i++)
        if (p->call[i].kind->ridged)
            return true;
    return false;
}

// Whether steps are taken in pieces, which states and their integrals do not need.
static bool in_pieces(const struct summary_code *c, const struct dag *d) {
    for (uint32_t i = 0; i < c->plan->calls; i++)
        if (c->plan->call[i].kind->form == SUMMARY_POINTS && !is_closed(c, d, i))
            return true;
    return !all_states(c, d);
}

// Behind the numbers of calls stand two of doubts of each expression that is segmented, and then
// two of the span of each expression: where there are any.
static uint32_t doubts_end(const struct summary_code *c) {
    return room_before(c->plan, c->plan->calls) + (some_ridged(c->plan) ? 2 * c->segmented : 0);
}

static uint32_t spans_end(const struct summary_code *c, const struct dag *d) {
    return doubts_end(c) + (in_pieces(c, d) ? 2 * c->expressions : 0);
}

// Whether all calls are of a few operations, on states.
static bool all_quick(const struct summary_code *c, const struct dag *d) {
    for (uint32_t i = 0; i < c->plan->calls; i++) {
        const struct summary_kind *k = c->plan->call[i].kind;
        if (k->form == SUMMARY_EVENTS ||
            (k->form == SUMMARY_SEGMENTS ? !k->quick : !is_closed(c, d, i)))
            return false;
    }
    return all_states(c, d);
}

// Which state each expression is, where all are states.
static void put_states(struct buf *out, const struct summary_code *c, const struct dag *d) {
    bool plain = c->segmented && all_states(c, d);
    buf_printf(out, "#define SUMMARY_PLAIN %d\nINLINE int summary_state_of(int e) {\n", plain);
    for (uint32_t e = 0; e < c->segmented && plain; e++)
        buf_printf(out, "    if (e == %u)\n        return %u;\n", e, state_of(d, c->value[e]));
    buf_puts(out, "    return 0;\n}\n");
}

// Who needs to know of turns.
static void put_turns(struct buf *out, const struct summary_code *c) {
    buf_puts(out, "INLINE mask summary_turns(const struct shoal_args *a, const struct group *g,\n"
                  "                          const struct outlook *o, int e) {\n"
                  "    mask turns = m_of_lanes(0);\n");
    for (uint32_t i = 0; i < c->plan->calls; i++) {
        const struct summary_kind *k = c->plan->call[i].kind;
        if (k->form != SUMMARY_SEGMENTS || k->turns == TURNS_NEVER)
            continue;
        buf_printf(out, "    if (e == %u)\n        turns = ", c->of_call[i]);
        if (k->turns == TURNS_ALWAYS) {
            buf_puts(out, "o->bent;\n");
            continue;
        }
        buf_printf(out, "m_or(turns, %s_turns(a, o, g->summary.of + %u, ", k->file,
                   room_before(c->plan, i));
        put_call(out, c, i);
        buf_puts(out, "));\n");
    }
    buf_puts(out, "    return turns;\n}\n");
}

static void put_starts(struct buf *out, const struct summary_code *c) {
    buf_puts(out, "INLINE void summary_start(const struct shoal_args *a, struct group *g, mask on) "
                  "{\n");
    for (uint32_t i = 0; i < c->plan->calls; i++) {
        buf_printf(out, "    %s_begin(a, g, g->summary.of + %u, on, ", c->plan->call[i].kind->file,
                   room_before(c->plan, i));
        put_call(out, c, i);
        buf_puts(out, ");\n");
    }
    buf_puts(out, "    summary_unspanned(g, on);\n}\n");
}

static void put_results(struct buf *out, const struct summary_code *c) {
    buf_printf(out,
               "INLINE void summary_results(const struct shoal_args *a, const struct group *g,\n"
               "                            real length, real *out) {\n    real r[%u];\n",
               c->plan->calls + 1);
    for (uint32_t i = 0; i < c->plan->calls; i++) {
        buf_printf(out, "    r[%u] = %s_value(a, g, length, ", i, c->plan->call[i].kind->file);
        put_call_end(out, c, i);
    }
    buf_puts(out, "    summary_items(r, g->p, out);\n}\n");
}

// Whether values are squared.
static bool some_squared(const struct summary_plan *p) {
    for (uint32_t i = 0; i < p->calls; i++)
        if (p->call[i].kind->form == SUMMARY_POINTS && !p->call[i].kind->linear)
            return true;
    return false;
}

// Gauss points and weights on [0, 1], as many as the interpolant's degree is worth. A piece of a
// step may be any cubic, and three points do not tell the square of that from 0.
static void put_gauss(struct buf *out, const struct summary_plan *p, const struct method *m) {
    static const double at[3][5] = {
        {-0.7745966692414834, 0, 0.7745966692414834},
        {-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526},
        {-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831, 0.9061798459386640}};
    static const double weight[3][5] = {
        {5.0 / 9, 8.0 / 9, 5.0 / 9},
        {0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538},
        {0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665,
         0.2369268850561891}};
    uint32_t row = m->degree <= 5 ? some_squared(p) : m->degree <= 7 ? 1 : 2;
    buf_puts(out, "#define SUMMARY_GAUSS(X)");
    for (uint32_t i = 0; i < row + 3; i++) {
        buf_puts(out, " X(");
        codegen_number(out, (1 + at[row][i]) / 2);
        buf_puts(out, ", ");
        codegen_number(out, weight[row][i] / 2);
        buf_puts(out, ")");
    }
    buf_puts(out, "\n");
}

// By which part of the change of its slope in a step a ripple is less: that change is two to three
// times the eigenvalue, in steps, of what the state is off its rest, and a ripple less than three.
// Interpolants of high order show it more by being apart. A wiggle between right ends is twice as
// far from the cubic with these ends as the last coefficient says: an interpolant of degree 4 is
// that coefficient away times the square of theta (1 - theta), and one of degree 7, in steps at the
// limit of its stability, 0.0012 of it; both are about ten times the least that a polynomial with
// that coefficient can be, and so is what is taken for degree 9.
static void put_ripple(struct buf *out, const struct method *m) {
    if (m->scheme != EXPLICIT)
        return;
    buf_puts(out, "#define SUMMARY_RIPPLE ");
    codegen_number(out, m->order > 5 ? 0.15 : 1.75 / method_stability(m));
    buf_puts(out, "\n#define SUMMARY_WIGGLE ");
    codegen_number(out, m->degree < 4    ? 0
                        : m->degree == 4 ? 0.125
                        : m->degree > 7  ? 0.00015
                                         : 0.0024);
    buf_puts(out, "\n");
}

// Whether an expression may jump, or bend sharply.
static bool some_jump(const struct summary_code *c, const struct dag *d, struct arena *arena) {
    const uint32_t *uses = dag_uses(d, c->value, c->expressions, arena);
    for (node_id id = 0; id < d->nodes.count; id++)
        if (uses[id] && !op_is_smooth(d->nodes.items[id].op))
            return true;
    return false;
}

static bool some_timed(const struct summary_plan *p) {
    for (uint32_t i = 0; i < p->calls; i++)
        if (p->call[i].kind->timed)
            return true;
    return false;
}

static void put_calls(struct buf *out, const struct summary_code *c, const struct emit *like,
                      const struct method *m, struct arena *arena) {
    buf_printf(out,
               "#define SUMMARY_EXPRESSIONS %u\n#define SUMMARY_SEGMENTED %u\n"
               "#define SUMMARY_NODES %u\n#define SUMMARY_ITEMS %u\n#define SUMMARY_ARRAYS %u\n"
               "#define SUMMARY_JUMPS %d\n#define SUMMARY_TIMED %d\n#define SUMMARY_RIDGES %d\n"
               "#define SUMMARY_DOUBTS %u\n#define SUMMARY_PIECES %d\n#define SUMMARY_SPANS %u\n",
               c->expressions, c->segmented, c->nodes, c->plan->scalars, c->plan->arrays,
               some_jump(c, like->dag, arena), some_timed(c->plan), some_ridged(c->plan),
               room_before(c->plan, c->plan->calls), in_pieces(c, like->dag), doubts_end(c));
    if (has_points(c->plan))
        put_gauss(out, c->plan, m);
    put_ripple(out, m);
    put_functions(out, c, like, arena);
    if (c->segmented)
        buf_puts(out, kernel_file_find("ode", "dense_slope.h")->text);
    put_states(out, c, like->dag);
    buf_puts(out, kernel_file_find("ode", "summary.h")->text);
    put_numbers(out, c);
    put_files(out, c->plan);
    put_segments(out, c);
    put_turns(out, c);
    put_points(out, c, like->dag);
    put_closed(out, c, like->dag);
    put_fired(out, c->plan);
    put_starts(out, c);
}

// A component of the kernel, which is there where the interpolant is; the buffer is empty again.
static struct component_swap part_of(const char *name, struct buf *text, struct arena *arena) {
    const char *body = text->failed ? "" : text->data;
    struct component_swap part = {name,
                                  arena_printf(arena, "#if COLD_PART || QUICK\n%s#endif\n", body)};
    buf_free(text);
    *text = (struct buf){0};
    return part;
}

struct watcher codegen_summary(const struct summary_code *c, const struct emit *like,
                               const struct method *m, struct arena *arena) {
    struct buf text = {0};
    struct component_swap *part = arena_new(arena, struct component_swap, 4);
    put_calls(&text, c, like, m, arena);
    part[0] = part_of("summaries", &text, arena);
    put_results(&text, c);
    buf_puts(&text, kernel_file_find("ode", "summary_save.h")->text);
    part[1] = part_of("save_summaries", &text, arena);
    buf_puts(&text, kernel_file_find("ode", "summary_take.h")->text);
    part[2] = part_of("take_summaries", &text, arena);
    uint32_t room = spans_end(c, like->dag);
    const char *edges = some_jump(c, like->dag, arena) ? ", least, most" : "";
    unsigned quick = all_quick(c, like->dag) ? WATCH_QUICK : 0;
    return (struct watcher){
        .name = "summary",
        .calls = WATCH_STEPS | WATCH_INSIDE | WATCH_ENDS | WATCH_LOOKS | quick,
        .state = arena_printf(arena,
                              "#define SUMMARY_ROOM %u\nstruct summary_state {\n"
                              "    real of[SUMMARY_ROOM], goal%s;\n    treal begin;\n"
                              "    u32 window[W];\n};\n",
                              room ? room : 1, edges),
        .parts = part};
}
