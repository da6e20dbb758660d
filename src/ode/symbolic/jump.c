// SPDX-License-Identifier: MIT
// Jumps whose moments are searched for: conditions of the right-hand sides that depend on states,
// on drivers, or on time otherwise than switches in time do.
//
// Such a condition becomes a leaf, as a switch in time does, and an event of our own turns it where
// the function behind it crosses zero. Comparisons, heav and sign turn there; floor, ceil and mod
// where theirs is a whole number. Kinks need no search: abs, min and max are left as they are, and
// so is a condition on whose boundary the right-hand sides are the same on both sides, which is
// tried with numbers.
#include "ode/symbolic/dag.h"

#include <math.h>
#include <string.h>

enum {
    TRIED = 3,      // points of a boundary, for each range of states,
    MIXES = 4,      // and of what other conditions are there, besides what they are
    ATTEMPTS = 40,  // to find each
    HALVINGS = 60,  // of the way between two sides
    MOST = 1 << 15, // nodes times jumps: beyond, no numbers are tried
};
static const double tiny = 1e-9;        // part of a usual size
static const double same_within = 1e-4; // of right-hand sides; the error control sees to the rest

struct jumper {
    struct system *system;
    struct dag *dag;
    const struct model *model;
    struct arena *scratch;
    struct roots roots;
    uint32_t count;    // of nodes that were there before,
    bool *moves;       // and by node of those: it may change in a step
    bool *smooth;      // by node: a condition that is none to search for
    node_id condition; // under way
    vec(struct state_jump) found;
};

// ---- Leaves -------------------------------------------------------------------------------------

static uint32_t leaf_number(const struct jumper *k, uint32_t jump) {
    return k->system->switches + jump;
}

static node_id leaf_of(struct jumper *k, uint32_t jump) {
    return dag_intern(k->dag, (struct node){.op = OP_SYMBOL,
                                            .leaf = LEAF_SWITCH,
                                            .a = leaf_number(k, jump),
                                            .b = k->found.items[jump].plain,
                                            .c = NODE_NONE});
}

// What is rounded down turns where the function leaves [leaf, leaf + 1], wherever it goes from
// there. Where it is near a whole number n, it was n - 1 or n, and turns to the other one; an event
// may have taken it anywhere else.
static void turn_whole(struct jumper *k, struct state_jump *j, node_id leaf) {
    node_id one = dag_number(k->dag, 1), above = dag_pair(k->dag, OP_SUB, j->of, leaf);
    node_id nearest = dag_pair(k->dag, OP_FLOOR,
                               dag_pair(k->dag, OP_ADD, j->of, dag_number(k->dag, 0.5)), NODE_NONE);
    node_id other =
        dag_pair(k->dag, OP_SUB, dag_pair(k->dag, OP_MUL, dag_number(k->dag, 2), nearest), one);
    node_id near = dag_pair(k->dag, OP_OR, dag_pair(k->dag, OP_EQ, leaf, nearest),
                            dag_pair(k->dag, OP_EQ, leaf, dag_pair(k->dag, OP_SUB, nearest, one)));
    j->turns = dag_pair(k->dag, OP_MUL, above, dag_pair(k->dag, OP_SUB, one, above));
    j->holds = dag_pair(k->dag, OP_EQ, j->plain, leaf);
    j->next = dag_op(k->dag, OP_IF, near, dag_pair(k->dag, OP_SUB, other, leaf), j->plain);
}

static node_id add_jump(struct jumper *k, struct state_jump j) {
    for (uint32_t i = 0; i < k->found.count; i++)
        if (k->found.items[i].plain == j.plain)
            return leaf_of(k, i);
    j.condition = k->condition;
    *vec_push(k->scratch, &k->found) = j;
    node_id leaf = leaf_of(k, k->found.count - 1);
    struct state_jump *made = &k->found.items[k->found.count - 1];
    if (made->whole)
        turn_whole(k, made, leaf);
    else {
        made->next = dag_pair(k->dag, OP_SUB, dag_number(k->dag, 1), leaf);
        made->turns = made->zero;
        made->holds = dag_pair(k->dag, OP_EQ, made->plain, dag_number(k->dag, 0));
    }
    return leaf;
}

// 1 where `of` is below 0, or (upto) 0; else 0.
static node_id below(struct jumper *k, node_id of, bool upto) {
    node_id zero = dag_number(k->dag, 0), truth = dag_pair(k->dag, upto ? OP_LE : OP_LT, of, zero);
    struct state_jump j = {.of = of, .zero = of};
    j.plain = dag_op(k->dag, OP_IF, truth, dag_number(k->dag, 1), zero);
    return add_jump(k, j);
}

// Crosses zero where `of` is a whole number, and has the other sign between the next two.
static node_id waves(struct jumper *k, node_id of) {
    node_id one = dag_number(k->dag, 1), two = dag_number(k->dag, 2);
    node_id whole = dag_pair(k->dag, OP_FLOOR, of, NODE_NONE),
            part = dag_pair(k->dag, OP_SUB, of, whole);
    node_id pairs = dag_pair(k->dag, OP_FLOOR, dag_pair(k->dag, OP_DIV, whole, two), NODE_NONE);
    node_id odd = dag_pair(k->dag, OP_SUB, whole, dag_pair(k->dag, OP_MUL, two, pairs));
    node_id sign = dag_pair(k->dag, OP_SUB, one, dag_pair(k->dag, OP_MUL, two, odd));
    return dag_pair(k->dag, OP_MUL, sign,
                    dag_pair(k->dag, OP_MUL, part, dag_pair(k->dag, OP_SUB, one, part)));
}

static node_id rounded_down(struct jumper *k, node_id of) {
    struct state_jump j = {.of = of, .whole = true};
    j.plain = dag_pair(k->dag, OP_FLOOR, of, NODE_NONE);
    j.zero = waves(k, of);
    return add_jump(k, j);
}

// How often b is in a, so that what is left has no other sign than b, whatever rounding does.
static node_id times_in(struct jumper *k, node_id a, node_id b) {
    struct dag *d = k->dag;
    node_id zero = dag_number(d, 0), one = dag_number(d, 1), of = dag_pair(d, OP_DIV, a, b);
    node_id whole = dag_pair(d, OP_FLOOR, of, NODE_NONE);
    node_id rest = dag_pair(d, OP_SUB, a, dag_pair(d, OP_MUL, b, whole));
    node_id over = dag_pair(d, OP_LT, dag_pair(d, OP_MUL, rest, b), zero);
    node_id under = dag_pair(d, OP_LE, zero, dag_pair(d, OP_MUL, dag_pair(d, OP_SUB, rest, b), b));
    struct state_jump j = {.of = of, .whole = true, .zero = waves(k, of)};
    j.plain = dag_op(d, OP_IF, over, dag_pair(d, OP_SUB, whole, one),
                     dag_op(d, OP_IF, under, dag_pair(d, OP_ADD, whole, one), whole));
    return add_jump(k, j);
}

// The node with leaves for what jumps in it, or NODE_NONE.
static node_id jumping(struct jumper *k, const struct node *n) {
    node_id x;
    switch (n->op) {
    case OP_LT:
    case OP_LE:
        x = below(k, dag_pair(k->dag, OP_SUB, n->a, n->b), n->op == OP_LE);
        return dag_pair(k->dag, OP_NE, x, dag_number(k->dag, 0));
    case OP_HEAV:
        return dag_pair(k->dag, OP_SUB, dag_number(k->dag, 1), below(k, n->a, false));
    case OP_SIGN:
        x = below(k, dag_pair(k->dag, OP_NEG, n->a, NODE_NONE), false);
        return dag_pair(k->dag, OP_SUB, x, below(k, n->a, false));
    case OP_FLOOR:
        return rounded_down(k, n->a);
    case OP_CEIL:
        x = rounded_down(k, dag_pair(k->dag, OP_NEG, n->a, NODE_NONE));
        return dag_pair(k->dag, OP_NEG, x, NODE_NONE);
    case OP_MOD:
        x = times_in(k, n->a, n->b);
        return dag_pair(k->dag, OP_SUB, n->a, dag_pair(k->dag, OP_MUL, n->b, x));
    default:
        return NODE_NONE;
    }
}

static bool can_jump(uint8_t op) {
    return op == OP_LT || op == OP_LE || op == OP_HEAV || op == OP_SIGN || op == OP_FLOOR ||
           op == OP_CEIL || op == OP_MOD;
}

// ---- Right-hand sides ---------------------------------------------------------------------------

static void find_moving(struct jumper *k) {
    uint32_t count = k->count = k->dag->nodes.count;
    k->moves = arena_new(k->scratch, bool, count);
    k->smooth = arena_new(k->scratch, bool, count);
    for (node_id id = 0; id < count; id++) {
        const struct node *n = &k->dag->nodes.items[id];
        k->moves[id] = n->op == OP_TIME || (n->op == OP_SYMBOL && n->leaf == LEAF_STATE);
        for (uint32_t i = 0; i < op_operands[n->op]; i++)
            k->moves[id] |= k->moves[node_operand(n, i)];
    }
}

// The roots with leaves, but for the smooth ones; *all: what nodes have become.
static node_id *rewrite(struct jumper *k, node_id **all) {
    uint32_t count = k->count, *uses = roots_uses(&k->roots, k->dag, k->scratch);
    node_id *now = *all = arena_new(k->scratch, node_id, count);
    node_id *made = arena_new(k->scratch, node_id, k->roots.count + 1);
    k->found.count = 0;
    for (node_id id = 0; id < count; id++) {
        struct node n = k->dag->nodes.items[id];
        now[id] = id;
        if (!uses[id] || !op_operands[n.op] || !k->moves[id])
            continue;
        n.a = now[n.a];
        n.b = op_operands[n.op] > 1 ? now[n.b] : NODE_NONE;
        n.c = op_operands[n.op] > 2 ? now[n.c] : NODE_NONE;
        k->condition = id;
        bool same = n.a == k->dag->nodes.items[id].a && n.b == k->dag->nodes.items[id].b &&
                    n.c == k->dag->nodes.items[id].c;
        if (can_jump(n.op) && !k->smooth[id])
            now[id] = jumping(k, &n);
        else if (!same)
            now[id] = dag_op(k->dag, n.op, n.a, n.b, n.c);
    }
    for (uint32_t i = 0; i < k->roots.count; i++)
        made[i] = now[*k->roots.items[i]];
    return made;
}

// ---- Kinks --------------------------------------------------------------------------------------

// How far from where they start states are tried, those that a boundary is made of and the others:
// what is about usual sizes alone is no kink yet, and who sweeps a parameter takes it elsewhere.
enum range { NARROW, OTHERS_WIDE, WIDE, RANGES };

// Numbers of all nodes at points between two.
struct trial {
    struct leaf_values leaves;
    double *from, *to, *state; // time, then states
    double *start;             // of the states
    double *first, *usual;     // of the roots: on one side, and their size away from there
    double *par, *switches, *values, *forced;
    bool *near;  // time and states that the boundary is made of
    bool *told;  // by root: it depends on the jump
    double part; // of the way that was gone
    uint32_t drawn;
};

static double draw(struct trial *t) { // in (-1, 1)
    return (double)(hash_mix(7, ++t->drawn) >> 11) * 0x1p-52 - 1;
}

// In the place of a driver or a table: one that goes through all values of a usual size.
static double stand_in(const void *user, uint32_t signal, double at) {
    double x = at - 5 - signal / 8.0;
    (void)user;
    return x * x * x;
}

static struct trial trial_new(const struct jumper *k) {
    const struct system *s = k->system;
    struct trial t = {0};
    size_t point = s->states + (size_t)1, leaves = s->switches + (size_t)k->found.count;
    t.from = arena_new(k->scratch, double, 4 * point);
    t.to = t.from + point;
    t.state = t.to + point;
    t.start = t.state + point;
    t.par = arena_new(k->scratch, double, s->pars + leaves + 2 * (size_t)k->roots.count);
    t.switches = t.par + s->pars;
    t.first = t.switches + leaves;
    t.usual = t.first + k->roots.count;
    t.values = arena_new(k->scratch, double, k->dag->nodes.count);
    t.forced = arena_new(k->scratch, double, k->dag->nodes.count);
    t.near = arena_new(k->scratch, bool, point);
    t.told = arena_new(k->scratch, bool, k->roots.count + 1);
    t.leaves = (struct leaf_values){.par = t.par, .derive = s->derive, .signal = stand_in};
    return t;
}

// Parameters as the model has them, or of that size: nothing may hang on one that happens to be 0,
// or equal to another.
static void draw_parameters(const struct jumper *k, struct trial *t, bool others) {
    const struct system *s = k->system;
    for (uint32_t i = 0; i < s->pars; i++) {
        double usual = k->model->symbols.items[k->model->pars.items[i]].value, by = draw(t);
        double other = usual != 0 ? usual * exp2(by) : by < 0 ? by - 0.1 : by + 0.1;
        t->par[i] = others ? other : usual;
    }
    for (uint32_t i = 0; i < s->states; i++)
        t->start[i] = k->model->symbols.items[k->model->states.items[i]].value;
    t->leaves.state = t->start;
    t->leaves.switches = t->leaves.forced = NULL;
    t->leaves.t = 0;
    dag_evaluate(k->dag, &t->leaves, t->values);
    for (uint32_t i = 0; i < s->states; i++)
        if (s->init[i] != NODE_NONE && isfinite(t->values[s->init[i]]))
            t->start[i] = t->values[s->init[i]];
    t->leaves.state = t->state + 1;
}

// Around the start, some states far from it and some near.
static void draw_point(const struct jumper *k, struct trial *t, enum range range, double *point) {
    for (uint32_t i = 0; i <= k->system->states; i++) {
        bool wide = range == WIDE || (range == OTHERS_WIDE && !t->near[i]);
        double reach = pow(10, (wide ? 5 : 1.5) * draw(t)), at = i ? t->start[i - 1] : 0;
        point[i] = i ? at + reach * (1 + fabs(at)) * draw(t) : (wide ? reach : 10) * fabs(draw(t));
    }
}

// A node so far on the way.
static double look(const struct jumper *k, struct trial *t, node_id of, double part) {
    for (uint32_t i = 0; i <= k->system->states; i++)
        t->state[i] = t->from[i] + part * (t->to[i] - t->from[i]);
    t->leaves.t = t->state[0];
    t->leaves.switches = t->leaves.forced = NULL;
    dag_evaluate(k->dag, &t->leaves, t->values);
    return t->values[of];
}

// Halves the way to where the node changes its sign; false: it does not.
static bool go_to_root(const struct jumper *k, struct trial *t, node_id of) {
    double low = 0, high = 1, a = look(k, t, of, 0), b = look(k, t, of, 1);
    if (!(a * b < 0))
        return false;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (look(k, t, of, middle) * a > 0)
            low = middle;
        else
            high = middle;
    }
    t->part = high;
    return true;
}

static bool find_root(const struct jumper *k, struct trial *t, enum range range, node_id of) {
    for (int n = 0; n < ATTEMPTS; n++) {
        draw_point(k, t, range, t->from);
        draw_point(k, t, range, t->to);
        if (go_to_root(k, t, of))
            return true;
    }
    return false;
}

// Goes to a point of the boundary. A narrow gap, as |v| < 1e-6, is found by its middle.
static bool find_boundary(const struct jumper *k, struct trial *t, enum range range,
                          uint32_t jump) {
    node_id zero = k->found.items[jump].zero;
    if (find_root(k, t, range, zero))
        return true;
    uint32_t *uses = dag_uses(k->dag, &zero, 1, k->scratch);
    for (node_id id = 0; id <= zero; id++) {
        const struct node *n = &k->dag->nodes.items[id];
        if (!uses[id] || n->op != OP_ABS || !find_root(k, t, range, n->a))
            continue;
        memcpy(t->from, t->state, (k->system->states + 1) * sizeof *t->from);
        if (go_to_root(k, t, zero))
            return true;
    }
    return false;
}

// A condition on parameters alone.
static bool is_fixed_condition(const struct jumper *k, node_id id) {
    uint8_t op = k->dag->nodes.items[id].op;
    return (op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE) && id < k->count &&
           !k->moves[id];
}

// Sets the leaves to what their formulas are, or other conditions than `jump` to anything, those on
// parameters too.
static void set_switches(const struct jumper *k, struct trial *t, uint32_t jump, bool mixed) {
    const struct system *s = k->system;
    for (uint32_t i = 0; i < s->switches; i++) {
        double now = t->values[s->time_switch[i].plain];
        bool whole = s->time_switch[i].kind == SWITCH_FLOOR;
        t->switches[i] = !mixed ? now : whole ? now + floor(3 * draw(t)) : draw(t) > 0;
    }
    for (uint32_t i = 0; i < k->found.count; i++) {
        double now = t->values[k->found.items[i].plain];
        bool whole = k->found.items[i].whole;
        t->switches[s->switches + i] = !mixed || i == jump ? now
                                       : whole             ? now + floor(3 * draw(t))
                                                           : draw(t) > 0;
    }
    for (node_id id = 0; id < k->dag->nodes.count; id++)
        t->forced[id] = mixed && is_fixed_condition(k, id) ? draw(t) > 0 : (double)NAN;
    t->leaves.switches = t->switches;
    t->leaves.forced = t->forced;
}

// The largest part by which right-hand sides that are told differ on the two sides of where the
// trial is; *some: there are numbers of one on both.
static double difference(const struct jumper *k, struct trial *t, uint32_t jump,
                         const node_id *root, bool *some) {
    const struct system *s = k->system;
    uint32_t own = s->switches + jump;
    double most = 0, *first = t->first;
    dag_evaluate(k->dag, &t->leaves, t->values);
    for (uint32_t i = 0; i < k->roots.count; i++)
        first[i] = t->values[root[i]];
    t->switches[own] = t->values[k->found.items[jump].next];
    dag_evaluate(k->dag, &t->leaves, t->values);
    for (uint32_t i = 0; i < k->roots.count; i++) {
        double a = first[i], b = t->values[root[i]], size = fabs(a) + fabs(b) + tiny * t->usual[i];
        double part = a == b ? 0 : fabs(a - b) / size;
        if (!t->told[i] || (!isfinite(a) && !isfinite(b)))
            continue;
        *some = true;
        most = part <= most ? most : part; // not a number: so it is
    }
    return most;
}

enum finding { SAME, DIFFERENT, UNKNOWN };

// Whether the sides of a jump are the same somewhere.
static enum finding try_sides(const struct jumper *k, struct trial *t, enum range range,
                              uint32_t jump, const node_id *root) {
    bool some = false;
    if (!find_boundary(k, t, range, jump))
        return UNKNOWN;
    look(k, t, root[0], 1);
    for (uint32_t q = 0; q < k->roots.count; q++)
        t->usual[q] = isfinite(t->values[root[q]]) ? fabs(t->values[root[q]]) : 0;
    for (int mix = 0; mix <= MIXES; mix++) {
        look(k, t, root[0], t->part);
        set_switches(k, t, jump, mix > 0);
        if (!(difference(k, t, jump, root, &some) <= same_within))
            return DIFFERENT;
    }
    return some ? SAME : UNKNOWN;
}

// Marks the roots that depend on the jump, and what its boundary is made of.
static void tell(const struct jumper *k, struct trial *t, uint32_t jump, const node_id *root) {
    uint32_t count = k->dag->nodes.count, leaf = leaf_number(k, jump);
    bool *has = arena_new(k->scratch, bool, count);
    uint32_t *uses = dag_uses(k->dag, &k->found.items[jump].zero, 1, k->scratch);
    memset(t->near, 0, (k->system->states + (size_t)1) * sizeof *t->near);
    for (node_id id = 0; id < count; id++) {
        const struct node *n = &k->dag->nodes.items[id];
        bool symbol = n->op == OP_SYMBOL;
        has[id] = symbol && n->leaf == LEAF_SWITCH && n->a == leaf;
        for (uint32_t i = 0; i < op_operands[n->op]; i++)
            has[id] |= has[node_operand(n, i)];
        if (uses[id] && n->op == OP_TIME)
            t->near[0] = true;
        if (uses[id] && symbol && n->leaf == LEAF_STATE)
            t->near[n->a + 1] = true;
    }
    for (uint32_t i = 0; i < k->roots.count; i++)
        t->told[i] = has[root[i]];
}

static bool is_kink(const struct jumper *k, struct trial *t, uint32_t jump, const node_id *root) {
    tell(k, t, jump, root);
    for (int i = 0; i < TRIED * RANGES; i++) {
        enum range range = (enum range)(i % RANGES);
        draw_parameters(k, t, i >= RANGES);
        enum finding f = try_sides(k, t, range, jump, root);
        if (f == DIFFERENT || (f == UNKNOWN && range == NARROW))
            return false;
    }
    return true;
}

// By node: how often the functions of the jumps use it.
static uint32_t *uses_of_jumps(const struct jumper *k) {
    node_id *of = arena_new(k->scratch, node_id, k->found.count + 1);
    for (uint32_t i = 0; i < k->found.count; i++)
        of[i] = k->found.items[i].of;
    return dag_uses(k->dag, of, k->found.count, k->scratch);
}

// Marks the conditions that are kinks; true: there are some. What is rounded down inside of another
// condition, as in mod(x,1)<0.5, is none: a long step would miss how often that one turns.
static bool find_kinks(struct jumper *k, const node_id *root) {
    bool some = false;
    if ((uint64_t)k->dag->nodes.count * k->found.count > MOST)
        return false;
    struct trial t = trial_new(k);
    uint32_t *uses = uses_of_jumps(k);
    for (uint32_t i = 0; i < k->found.count; i++)
        if (!(k->found.items[i].whole && uses[leaf_of(k, i)]) && is_kink(k, &t, i, root))
            some = k->smooth[k->found.items[i].condition] = true;
    return some;
}

// ---- All ----------------------------------------------------------------------------------------

static bool some_can_jump(const struct jumper *k) {
    uint32_t *uses = roots_uses(&k->roots, k->dag, k->scratch);
    for (node_id id = 0; id < k->dag->nodes.count; id++)
        if (uses[id] && k->moves[id] && can_jump(k->dag->nodes.items[id].op))
            return true;
    return false;
}

void jumps_find(struct system *s, const struct model *m, struct arena *scratch) {
    struct jumper k = {.system = s, .dag = &s->dag, .model = m, .scratch = scratch};
    k.roots = roots_of(s, scratch);
    find_moving(&k);
    if (!some_can_jump(&k))
        return;
    node_id *now, *made = rewrite(&k, &now);
    if (find_kinks(&k, made))
        made = rewrite(&k, &now);
    for (uint32_t i = 0; i < k.roots.count; i++)
        *k.roots.items[i] = made[i];
    event_conditions_become(s, now, scratch);
    s->jumps = k.found.count;
    s->jump = arena_new(&s->arena, struct state_jump, k.found.count + 1);
    if (k.found.count)
        memcpy(s->jump, k.found.items, k.found.count * sizeof *s->jump);
}

// An event of the model's comes first where both happen at once.
void jumps_become_events(struct system *s) {
    struct system_event *all = arena_new(&s->arena, struct system_event, s->events + s->jumps + 1);
    if (s->events)
        memcpy(all, s->event, s->events * sizeof *all);
    s->event = all;
    for (uint32_t i = 0; i < s->jumps; i++) {
        struct system_event *e = &all[s->events++];
        *e = (struct system_event){.kind = EVENT_WHEN,
                                   .edges = EVENT_RISING | EVENT_FALLING,
                                   .zero = s->jump[i].turns,
                                   .truth = s->jump[i].holds,
                                   .slope = NODE_NONE,
                                   .size = dag_number(&s->dag, 0),
                                   .touch = NODE_NONE,
                                   .actions = 1,
                                   .jump = i + 1};
        e->value = arena_new(&s->arena, node_id, 1);
        e->target = arena_new(&s->arena, uint32_t, 1);
        e->value[0] = s->jump[i].next;
        e->target[0] = s->states + s->pars + s->derived + s->switches + i;
    }
}
