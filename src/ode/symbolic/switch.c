// SPDX-License-Identifier: MIT
// Switches in time: conditions of the right-hand sides whose moments can be computed.
//
// A right-hand side that jumps at known times is smooth between them. What jumps is taken out of
// it: where a condition depends on time alone and its moments are roots of lines a + b t, a and b
// being free of time, the condition becomes a leaf that is constant within a step, and the steps
// end at the moments. Comparisons, heav, sign, abs, min and max turn when a line is 0; floor, ceil
// and mod when it is a whole number; a sine against a level is two of the latter, and functions
// that can be turned round are compared with what their inverse makes of the level. Since inner
// ones are leaves by the time outer ones are looked at, a line may be made of other switches. A
// table that is looked up along a line bends at its samples, so each interval of it is a switch,
// too. The first line of numbers of a table is followed as drivers are (src/ode/run/driver_use.c).
#include "ode/symbolic/dag.h"

#include <math.h>
#include <string.h>

enum { OF_STATE = 1, OF_TIME = 2, JUMPS = 4 }; // facts of a node; it jumps at some times
enum { STAND_IN = UINT32_MAX };                // index of a leaf in the place of a node
enum { SAMPLES_MOST = 4096 };                  // of a table at which steps end
enum { TURNED_MOST = 5 };                      // functions inside of each other

struct line { // a + b t
    node_id a, b;
};

struct finder {
    struct system *system;
    const struct model *model;
    struct dag *dag;
    struct diff *diff;
    struct arena *scratch;
    struct roots roots;
    vec(uint8_t) facts;    // of the nodes
    struct node_walk walk; // what the node that was looked at last is made of, ascending
    vec(node_id) now;      // by node: what it was replaced by then
    node_id condition;     // under way
    uint32_t turned;       // functions around the one that is looked at
    node_id still;         // holds where the outermost of them does not move
    struct line *followed; // by signal: the line of numbers that is seen to elsewhere
    vec(struct time_switch) found;
};

static uint8_t facts_of_operands(const struct finder *f, const struct node *n) {
    uint8_t all = 0;
    for (uint32_t i = 0; i < op_operands[n->op]; i++)
        all |= f->facts.items[node_operand(n, i)];
    return all & (OF_STATE | OF_TIME | JUMPS);
}

// The table that is looked up; NULL: it is a driver, or one of too many samples.
static const struct signal *table_of(const struct finder *f, const struct node *n) {
    const struct signal *s = &f->model->signals.items[(uint32_t)f->dag->nodes.items[n->b].value];
    return s->table && s->count >= 2 && s->count <= SAMPLES_MOST ? s : NULL;
}

static uint8_t find_facts(const struct finder *f, const struct node *n) {
    if (n->op == OP_TIME)
        return OF_TIME;
    if (n->op == OP_SYMBOL)
        return n->leaf == LEAF_STATE ? OF_STATE : 0;
    uint8_t facts = facts_of_operands(f, n);
    if (n->op == OP_LOOKUP)
        return facts & OF_TIME && table_of(f, n) ? facts | JUMPS : facts;
    uint8_t decides = n->op == OP_IF ? f->facts.items[n->a] : !op_is_smooth(n->op) ? facts : 0;
    return decides & OF_TIME ? facts | JUMPS : facts;
}

static uint8_t facts(struct finder *f, node_id id) {
    while (f->facts.count <= id) {
        uint8_t of = find_facts(f, &f->dag->nodes.items[f->facts.count]);
        *vec_push(f->scratch, &f->facts) = of;
    }
    return f->facts.items[id];
}

// ---- Making nodes -------------------------------------------------------------------------------

static node_id choose(struct finder *f, node_id condition, node_id yes, node_id no) {
    return dag_op(f->dag, OP_IF, condition, yes, no);
}

// Lists the nodes that `id` is made of, and itself.
static void look_at(struct finder *f, node_id id) {
    walk_from(&f->walk, f->dag, id, NULL);
    walk_sort(&f->walk);
    arena_spend(f->scratch, f->walk.found.count);
}

// `id` with another node in the place of `old`.
static node_id replace(struct finder *f, node_id id, node_id old, node_id other) {
    look_at(f, id);
    vec_reserve(f->scratch, &f->now, (uint64_t)id + 1);
    for (uint32_t k = 0; k < f->walk.found.count; k++) {
        node_id i = f->walk.found.items[k], x[3] = {NODE_NONE, NODE_NONE, NODE_NONE};
        struct node n = f->dag->nodes.items[i];
        bool same = true;
        for (uint32_t q = 0; q < op_operands[n.op]; q++) {
            x[q] = f->now.items[node_operand(&n, q)];
            same &= x[q] == node_operand(&n, q);
        }
        f->now.items[i] = i == old ? other : same ? i : dag_op(f->dag, n.op, x[0], x[1], x[2]);
    }
    return f->now.items[id];
}

static node_id dag_switch(struct dag *d, uint32_t index, node_id plain) {
    return dag_intern(
        d, (struct node){
               .op = OP_SYMBOL, .leaf = LEAF_SWITCH, .a = index, .b = plain, .c = NODE_NONE});
}

// ---- Lines --------------------------------------------------------------------------------------

static bool is_line(struct finder *f, node_id id, struct line *out) {
    if ((facts(f, id) & (OF_STATE | OF_TIME | JUMPS)) != OF_TIME)
        return false;
    out->b = diff_by_time(f->diff, id);
    if (facts(f, out->b) & (OF_STATE | OF_TIME))
        return false;
    out->a = replace(f, id, dag_time(f->dag), dag_number(f->dag, 0));
    return !(facts(f, out->a) & OF_TIME);
}

static uint32_t level_of(struct finder *f, node_id id) {
    uint32_t level = 0;
    look_at(f, id);
    for (uint32_t k = 0; k < f->walk.found.count; k++) {
        const struct node *n = &f->dag->nodes.items[f->walk.found.items[k]];
        if (n->op == OP_SYMBOL && n->leaf == LEAF_SWITCH) {
            uint32_t above = f->found.items[n->a].level + 1;
            level = above > level ? above : level;
        }
    }
    return level;
}

// The leaf of a switch, which is `plain` as a formula.
static node_id add_switch(struct finder *f, enum switch_kind kind, struct line l, node_id plain) {
    for (uint32_t i = 0; i < f->found.count; i++) {
        const struct time_switch *s = &f->found.items[i];
        if (s->kind == kind && s->a == l.a && s->b == l.b)
            return dag_switch(f->dag, i, s->plain);
    }
    uint32_t la = level_of(f, l.a), lb = level_of(f, l.b);
    *vec_push(f->scratch, &f->found) = (struct time_switch){.kind = kind,
                                                            .level = la > lb ? la : lb,
                                                            .a = l.a,
                                                            .b = l.b,
                                                            .plain = plain,
                                                            .condition = f->condition,
                                                            .argument = NODE_NONE};
    return dag_switch(f->dag, f->found.count - 1, plain);
}

static node_id floor_switch(struct finder *f, node_id id) {
    struct line l;
    return is_line(f, id, &l)
               ? add_switch(f, SWITCH_FLOOR, l, dag_pair(f->dag, OP_FLOOR, id, NODE_NONE))
               : NODE_NONE;
}

// ---- A sine against a level ---------------------------------------------------------------------

// The only sine or cosine of a line through which `id` depends on time; NODE_NONE: there is none.
static node_id find_wave(struct finder *f, node_id id) {
    node_id wave = NODE_NONE;
    look_at(f, id);
    for (uint32_t k = 0; k < f->walk.found.count; k++) {
        node_id i = f->walk.found.items[k];
        uint8_t op = f->dag->nodes.items[i].op;
        if ((op != OP_SIN && op != OP_COS) || !(facts(f, i) & OF_TIME))
            continue;
        if (wave != NODE_NONE)
            return NODE_NONE;
        wave = i;
    }
    return wave;
}

// 1 where the wave is at or above the level, else 0: the whole turns that lie behind where it
// rises to the level, less those where it falls.
static node_id at_or_above(struct finder *f, node_id wave, node_id level) {
    struct node n = f->dag->nodes.items[wave];
    const double pi = acos(-1.0);
    node_id one = dag_number(f->dag, 1);
    node_id angle =
        n.op == OP_SIN ? n.a : dag_pair(f->dag, OP_ADD, n.a, dag_number(f->dag, pi / 2));
    node_id within =
        dag_pair(f->dag, OP_MAX, dag_pair(f->dag, OP_MIN, level, one), dag_number(f->dag, -1));
    node_id rise = dag_pair(f->dag, OP_ASIN, within, NODE_NONE);
    node_id fall = dag_pair(f->dag, OP_SUB, dag_number(f->dag, pi), rise);
    node_id turn = dag_number(f->dag, 2 * pi);
    node_id rises =
        floor_switch(f, dag_pair(f->dag, OP_DIV, dag_pair(f->dag, OP_SUB, angle, rise), turn));
    node_id falls =
        floor_switch(f, dag_pair(f->dag, OP_DIV, dag_pair(f->dag, OP_SUB, angle, fall), turn));
    return rises == NODE_NONE || falls == NODE_NONE ? NODE_NONE
                                                    : dag_pair(f->dag, OP_SUB, rises, falls);
}

// ---- Linear in a node ---------------------------------------------------------------------------

// `id` = slope * part + base, both free of time.
struct linear {
    node_id slope, base;
};

static bool is_linear(struct finder *f, node_id id, node_id part, struct linear *out) {
    node_id zero = dag_number(f->dag, 0), q = dag_leaf(f->dag, LEAF_SWITCH, STAND_IN);
    node_id with = replace(f, id, part, q);
    if (facts(f, with) & (OF_TIME | JUMPS))
        return false;
    out->slope = diff_by(f->diff, with, LEAF_SWITCH, STAND_IN);
    if (replace(f, out->slope, q, zero) != out->slope)
        return false;
    out->base = replace(f, with, q, zero);
    return true;
}

// Where the part has this value, the whole is 0.
static node_id level_of_part(struct finder *f, struct linear l) {
    return dag_pair(f->dag, OP_NEG, dag_pair(f->dag, OP_DIV, l.base, l.slope), NODE_NONE);
}

// 1 where the whole is below 0, of nodes that tell where the part is below that level, and where
// not. Where the slope is 0 it does not matter.
static node_id whole_below(struct finder *f, struct linear l, node_id less, node_id more) {
    return choose(f, dag_pair(f->dag, OP_LT, dag_number(f->dag, 0), l.slope), less, more);
}

// A node that is 1 where a number, free of time, is below 0 (or, SWITCH_UPTO, 0).
static node_id plain_below(struct finder *f, node_id id, enum switch_kind kind) {
    node_id zero = dag_number(f->dag, 0);
    node_id truth = dag_pair(f->dag, kind == SWITCH_BELOW ? OP_LT : OP_LE, id, zero);
    return choose(f, truth, dag_number(f->dag, 1), zero);
}

// `less`, but where `still` holds `id` does not move, and may be 0 all the time: it is what it is
// at any time at which it has a value, and 0/0 has none.
static node_id unless_still(struct finder *f, node_id id, enum switch_kind kind, node_id still,
                            node_id less) {
    node_id time = dag_time(f->dag);
    node_id now = replace(f, id, time, dag_number(f->dag, 0.57721566490153286));
    node_id other = replace(f, id, time, dag_number(f->dag, -1729.4142135623731));
    now = choose(f, dag_pair(f->dag, OP_EQ, now, now), now, other);
    return choose(f, still, plain_below(f, now, kind), less);
}

static node_id is_zero(struct finder *f, node_id id) {
    return dag_pair(f->dag, OP_EQ, id, dag_number(f->dag, 0));
}

static node_id either(struct finder *f, node_id x, node_id y) {
    return dag_pair(f->dag, OP_OR, x, y);
}

static node_id opposite(struct finder *f, node_id truth) {
    return dag_pair(f->dag, OP_SUB, dag_number(f->dag, 1), truth);
}

// Whether `id` = A wave + B is below 0.
static node_id wave_below(struct finder *f, node_id id, enum switch_kind kind) {
    struct linear l;
    struct line angle;
    node_id wave = find_wave(f, id);
    if (wave == NODE_NONE || !is_linear(f, id, wave, &l) ||
        !is_line(f, f->dag->nodes.items[wave].a, &angle))
        return NODE_NONE;
    node_id above = at_or_above(f, wave, level_of_part(f, l));
    if (above == NODE_NONE)
        return NODE_NONE;
    node_id still = either(f, is_zero(f, l.slope), is_zero(f, angle.b));
    f->still = f->turned ? either(f, f->still, still) : still;
    return unless_still(f, id, kind, still, whole_below(f, l, opposite(f, above), above));
}

// ---- Functions that can be turned round ---------------------------------------------------------

// exp(-(t-a)^2)>c is asked of (t-a)^2, and that of t-a: what a function is compared with goes
// through its inverse. Whether something is at its level, and not below it, matters only where it
// stays there: f->still tells.
static node_id below(struct finder *f, node_id id, enum switch_kind kind);

static const struct inverse {
    uint8_t op, back;
    double low, high; // between which its values are
    double some;      // one of them
} inverses[] = {
    {OP_EXP, OP_LN, 0, INFINITY, 1},
    {OP_EXPM1, OP_LOG1P, -1, INFINITY, 0},
    {OP_TANH, OP_ATANH, -1, 1, 0},
    {OP_ATAN, OP_TAN, -1.5707963267948966, 1.5707963267948966, 0},
    {OP_SINH, OP_ASINH, -INFINITY, INFINITY, 0},
    {OP_ASINH, OP_SINH, -INFINITY, INFINITY, 0},
};

static const struct inverse *inverse_of(uint8_t op) {
    for (size_t i = 0; i < sizeof inverses / sizeof *inverses; i++)
        if (inverses[i].op == op)
            return &inverses[i];
    return NULL;
}

// 1 where `id` is below 0, which need not depend on time.
static node_id side(struct finder *f, node_id id) {
    return facts(f, id) & (OF_STATE | OF_TIME | JUMPS) ? below(f, id, SWITCH_BELOW)
                                                       : plain_below(f, id, SWITCH_BELOW);
}

static node_id differ(struct finder *f, node_id x, node_id y) {
    if (x == NODE_NONE || y == NODE_NONE)
        return NODE_NONE;
    return choose(f, dag_pair(f->dag, OP_NE, x, y), dag_number(f->dag, 1), dag_number(f->dag, 0));
}

static node_id inverse_below(struct finder *f, const struct inverse *v, node_id of, node_id level) {
    node_id yes = dag_number(f->dag, 1), above = yes, under = yes;
    if (isfinite(v->low))
        above = dag_pair(f->dag, OP_LT, dag_number(f->dag, v->low), level);
    if (isfinite(v->high))
        under = dag_pair(f->dag, OP_LT, level, dag_number(f->dag, v->high));
    node_id within =
        choose(f, dag_pair(f->dag, OP_AND, above, under), level, dag_number(f->dag, v->some));
    node_id at = dag_pair(f->dag, v->back, within, NODE_NONE);
    node_id less = side(f, dag_pair(f->dag, OP_SUB, of, at));
    return less == NODE_NONE ? less
                             : choose(f, under, choose(f, above, less, dag_number(f->dag, 0)), yes);
}

static node_id square_below(struct finder *f, node_id of, node_id level) {
    node_id most = dag_pair(f->dag, OP_MAX, level, dag_number(f->dag, 0));
    node_id root = dag_pair(f->dag, OP_SQRT, most, NODE_NONE);
    return differ(f, side(f, dag_pair(f->dag, OP_SUB, of, root)),
                  side(f, dag_pair(f->dag, OP_ADD, of, root)));
}

// 1 where node n is below the level; NODE_NONE: it cannot be turned round.
static node_id turned_below(struct finder *f, const struct node *n, node_id level) {
    const struct inverse *v = inverse_of(n->op);
    if (v)
        return inverse_below(f, v, n->a, level);
    if (n->op == OP_MUL && n->a == n->b)
        return square_below(f, n->a, level);
    if (n->op != OP_DIV || facts(f, n->a) & OF_TIME)
        return NODE_NONE;
    node_id rest = dag_pair(f->dag, OP_SUB, n->a, dag_pair(f->dag, OP_MUL, level, n->b));
    node_id still = either(f, f->still, is_zero(f, n->a)), less = side(f, rest);
    f->still = still; // the level may be 0, of which `rest` is still
    return differ(f, less, side(f, n->b));
}

static bool can_turn(struct finder *f, node_id id) {
    const struct node *n = &f->dag->nodes.items[id];
    return facts(f, id) & OF_TIME &&
           (n->op == OP_DIV || inverse_of(n->op) || (n->op == OP_MUL && n->a == n->b));
}

// Whether `id` = A part + B is below 0, where the part is a function that can be turned round.
static node_id part_below(struct finder *f, node_id id, enum switch_kind kind) {
    look_at(f, id);
    uint32_t count = f->walk.found.count, before = f->found.count;
    node_id *all = arena_new(f->scratch, node_id, count);
    node_id still = f->turned ? f->still : dag_number(f->dag, 0);
    memcpy(all, f->walk.found.items, count * sizeof *all);
    for (uint32_t k = count; k-- > 0 && f->turned < TURNED_MOST;) {
        struct linear l;
        if (!can_turn(f, all[k]) || !is_linear(f, id, all[k], &l))
            continue;
        struct node n = f->dag->nodes.items[all[k]];
        f->still = either(f, still, is_zero(f, l.slope));
        f->turned++;
        node_id less = turned_below(f, &n, level_of_part(f, l));
        f->turned--;
        if (less == NODE_NONE) {
            f->found.count = before;
            continue;
        }
        less = whole_below(f, l, less, opposite(f, less));
        return f->turned ? less : unless_still(f, id, kind, f->still, less);
    }
    return NODE_NONE;
}

// ---- Conditions ---------------------------------------------------------------------------------

// A node that is 1 where `id` is below 0 (or, SWITCH_UPTO, 0), else 0; NODE_NONE: no switch.
static node_id below(struct finder *f, node_id id, enum switch_kind kind) {
    struct line l;
    if ((facts(f, id) & (OF_STATE | OF_TIME | JUMPS)) != OF_TIME)
        return NODE_NONE;
    if (!is_line(f, id, &l)) {
        node_id wave = wave_below(f, id, kind);
        return wave == NODE_NONE ? part_below(f, id, kind) : wave;
    }
    f->still = f->turned ? either(f, f->still, is_zero(f, l.b)) : f->still;
    node_id zero = dag_number(f->dag, 0);
    node_id truth = dag_pair(f->dag, kind == SWITCH_BELOW ? OP_LT : OP_LE, id, zero);
    return add_switch(f, kind, l, choose(f, truth, dag_number(f->dag, 1), zero));
}

static node_id difference(struct finder *f, const struct node *n) {
    return dag_pair(f->dag, OP_SUB, n->a, n->b);
}

static node_id comparison(struct finder *f, const struct node *n) {
    node_id less = below(f, difference(f, n), n->op == OP_LT ? SWITCH_BELOW : SWITCH_UPTO);
    return less == NODE_NONE ? less : dag_pair(f->dag, OP_NE, less, dag_number(f->dag, 0));
}

// EQ holds where `up to` and `below` differ.
static node_id equality(struct finder *f, const struct node *n) {
    node_id less = below(f, difference(f, n), SWITCH_BELOW);
    if (less == NODE_NONE)
        return less;
    node_id upto = below(f, difference(f, n), SWITCH_UPTO);
    return dag_pair(f->dag, n->op == OP_EQ ? OP_NE : OP_EQ, upto, less);
}

static node_id sign(struct finder *f, node_id x) {
    node_id less = below(f, x, SWITCH_BELOW);
    node_id more = below(f, dag_pair(f->dag, OP_NEG, x, NODE_NONE), SWITCH_BELOW);
    return less == NODE_NONE || more == NODE_NONE ? NODE_NONE
                                                  : dag_pair(f->dag, OP_SUB, more, less);
}

static node_id smaller(struct finder *f, const struct node *n) {
    node_id less = below(f, difference(f, n), SWITCH_BELOW);
    if (less == NODE_NONE)
        return less;
    bool min = n->op == OP_MIN;
    return choose(f, dag_pair(f->dag, OP_NE, less, dag_number(f->dag, 0)), min ? n->a : n->b,
                  min ? n->b : n->a);
}

static node_id modulo(struct finder *f, const struct node *n) {
    if (facts(f, n->b) & (OF_TIME | OF_STATE))
        return NODE_NONE;
    node_id turns = floor_switch(f, dag_pair(f->dag, OP_DIV, n->a, n->b));
    return turns == NODE_NONE
               ? turns
               : dag_pair(f->dag, OP_SUB, n->a, dag_pair(f->dag, OP_MUL, n->b, turns));
}

// Whether a table along this line of numbers is followed as drivers are.
static bool is_followed(struct finder *f, const struct node *n, struct line l) {
    struct line *first = &f->followed[(uint32_t)f->dag->nodes.items[n->b].value];
    if (!node_is_number(f->dag, l.a) || !node_is_number(f->dag, l.b))
        return false;
    if (first->b == NODE_NONE)
        *first = l;
    return first->a == l.a && first->b == l.b;
}

// The number of the interval while the argument is inside of the table, else 0. The look-up stays
// as it is; the switch ends steps.
static node_id tell_samples(struct finder *f, const struct node *n) {
    const struct signal *s = table_of(f, n);
    struct line l;
    if (!s || !is_line(f, n->a, &l) || is_followed(f, n, l))
        return NODE_NONE;
    node_id lo = dag_number(f->dag, s->lo), hi = dag_number(f->dag, s->hi);
    node_id step = dag_number(f->dag, (s->hi - s->lo) / (s->count - 1));
    node_id from = dag_pair(f->dag, OP_SUB, n->a, lo), to = dag_pair(f->dag, OP_SUB, n->a, hi);
    node_id inside =
        dag_pair(f->dag, OP_SUB, below(f, to, SWITCH_BELOW), below(f, from, SWITCH_BELOW));
    node_id number = dag_pair(f->dag, OP_MUL, inside, dag_pair(f->dag, OP_DIV, from, step));
    node_id leaf = floor_switch(f, number);
    if (leaf != NODE_NONE)
        f->found.items[f->dag->nodes.items[leaf].a].argument = n->a;
    return NODE_NONE;
}

// What the node is with switches, or NODE_NONE.
static node_id switched(struct finder *f, const struct node *n) {
    node_id x;
    switch (n->op) {
    case OP_LT:
    case OP_LE:
        return comparison(f, n);
    case OP_EQ:
    case OP_NE:
        return equality(f, n);
    case OP_HEAV:
        x = below(f, n->a, SWITCH_BELOW);
        return x == NODE_NONE ? x : dag_pair(f->dag, OP_SUB, dag_number(f->dag, 1), x);
    case OP_SIGN:
        return sign(f, n->a);
    case OP_ABS:
        x = sign(f, n->a);
        return x == NODE_NONE ? x : dag_pair(f->dag, OP_MUL, n->a, x);
    case OP_FLOOR:
        return floor_switch(f, n->a);
    case OP_CEIL:
        x = floor_switch(f, dag_pair(f->dag, OP_NEG, n->a, NODE_NONE));
        return x == NODE_NONE ? x : dag_pair(f->dag, OP_NEG, x, NODE_NONE);
    case OP_LOOKUP:
        return tell_samples(f, n);
    case OP_MOD:
        return modulo(f, n);
    case OP_MIN:
    case OP_MAX:
        return smaller(f, n);
    default:
        return NODE_NONE;
    }
}

static bool jumps_in_time(struct finder *f) {
    bool some = false;
    for (uint32_t i = 0; i < f->roots.count; i++)
        some |= (facts(f, *f->roots.items[i]) & JUMPS) != 0;
    return some;
}

// By operands first: an outer condition sees what inner ones have become.
static void rewrite(struct finder *f) {
    uint32_t count = f->dag->nodes.count;
    uint32_t *uses = roots_uses(&f->roots, f->dag, f->scratch);
    node_id *now = arena_new(f->scratch, node_id, count);
    for (node_id id = 0; id < count; id++) {
        struct node n = f->dag->nodes.items[id];
        now[id] = id;
        if (!uses[id] || !op_operands[n.op] || !(facts(f, id) & JUMPS))
            continue;
        n.a = now[n.a];
        n.b = op_operands[n.op] > 1 ? now[n.b] : NODE_NONE;
        n.c = op_operands[n.op] > 2 ? now[n.c] : NODE_NONE;
        f->condition = id;
        now[id] = !op_is_smooth(n.op) || n.op == OP_LOOKUP ? switched(f, &n) : NODE_NONE;
        if (now[id] == NODE_NONE)
            now[id] = dag_op(f->dag, n.op, n.a, n.b, n.c);
    }
    for (uint32_t i = 0; i < f->roots.count; i++)
        *f->roots.items[i] = now[*f->roots.items[i]];
    event_conditions_become(f->system, now, f->scratch);
}

struct roots roots_of(struct system *s, struct arena *arena) {
    struct roots r = {0};
    for (uint32_t i = 0; i < s->states; i++)
        *vec_push(arena, &r) = &s->rhs[i];
    for (uint32_t i = 0; i < s->events; i++)
        if (s->event[i].zero != NODE_NONE)
            *vec_push(arena, &r) = &s->event[i].zero;
    return r;
}

uint32_t *roots_uses(const struct roots *r, const struct dag *d, struct arena *arena) {
    node_id *ids = arena_new(arena, node_id, r->count + 1);
    for (uint32_t i = 0; i < r->count; i++)
        ids[i] = *r->items[i];
    return dag_uses(d, ids, r->count, arena);
}

void switches_find(struct system *s, const struct model *m, struct arena *scratch) {
    struct finder f = {
        .system = s, .model = m, .dag = &s->dag, .scratch = scratch, .walk = {.arena = scratch}};
    f.roots = roots_of(s, scratch);
    if (!jumps_in_time(&f))
        return;
    f.diff = diff_new(&s->dag, scratch);
    f.followed = arena_new(scratch, struct line, m->signals.count + 1);
    for (uint32_t i = 0; i < m->signals.count; i++)
        f.followed[i].b = NODE_NONE;
    rewrite(&f);
    s->switches = f.found.count;
    s->time_switch = arena_new(&s->arena, struct time_switch, f.found.count + 1);
    if (f.found.count)
        memcpy(s->time_switch, f.found.items, f.found.count * sizeof *s->time_switch);
}
