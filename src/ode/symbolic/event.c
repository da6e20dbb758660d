// SPDX-License-Identifier: MIT
// Events as nodes: a condition becomes a function whose sign tells whether it holds, an action the
// values it assigns.
//
// a < b is b - a, `and` is the smaller of two, `or` the larger, `not` the negative: each is
// positive where the condition holds and negative where it does not, and continuous as long as its
// parts are. On the boundary the sign says nothing, so the condition itself is kept beside it.
#include "ode/symbolic/dag.h"

#include <string.h>

enum { CHAIN_MOST = 8 };

struct making {
    struct builder *builder;
    struct system *system;
    const struct model *model;
    struct arena *scratch;
    struct diff *diff;
    uint32_t *position; // of a state or parameter in the list of its kind
    vec(node_id) zero;  // by node: the function of a condition
    struct node_walk walk;
    uint32_t chain[CHAIN_MOST], depth; // algebraic states that are on their way to be told
};

static bool is_connective(uint8_t op) { return op == OP_AND || op == OP_OR || op == OP_NOT; }

static bool is_truth(uint8_t op) {
    return op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE || is_connective(op);
}

static bool is_state(struct node n) { return n.op == OP_SYMBOL && n.leaf == LEAF_STATE; }

// Whether x moves only where something in it jumps.
static bool is_flat(struct making *k, node_id x) {
    struct dag *d = &k->system->dag;
    struct node_walk walk = {.arena = k->scratch};
    bool flat = node_is_value(d, diff_by_time(k->diff, x), 0);
    walk_from(&walk, d, x, NULL);
    for (uint32_t i = 0; i < walk.found.count && flat; i++) {
        struct node n = d->nodes.items[walk.found.items[i]];
        flat = !is_state(n) || node_is_value(d, diff_by(k->diff, x, LEAF_STATE, n.a), 0);
    }
    return flat;
}

// What is flat stays on the boundary where it is put there: on which side that is, the condition
// says, by a number that is less than any difference.
static node_id zero_of_comparison(struct making *k, struct node n) {
    struct dag *d = &k->system->dag;
    node_id zero = dag_op(d, OP_SUB, n.b, n.a, NODE_NONE);
    return is_flat(k, zero)
               ? dag_op(d, n.op == OP_LT ? OP_SUB : OP_ADD, zero, dag_number(d, 1e-37), NODE_NONE)
               : zero;
}

// What is flat, on the same side and far from its boundary: beside what moves it decides, or leaves
// alone how that comes to its boundary and goes on from there.
static node_id far_from_boundary(struct making *k, node_id flat) {
    struct dag *d = &k->system->dag;
    node_id size = dag_op(d, OP_ABS, flat, NODE_NONE, NODE_NONE);
    node_id side = dag_op(d, OP_DIV, flat, size, NODE_NONE);
    return dag_op(d, OP_MUL, side, dag_number(d, 1e30), NODE_NONE);
}

static node_id zero_of_two(struct making *k, uint8_t op, node_id a, node_id b) {
    bool flat_a = is_flat(k, a), flat_b = is_flat(k, b);
    if (flat_a && !flat_b)
        a = far_from_boundary(k, a);
    if (flat_b && !flat_a)
        b = far_from_boundary(k, b);
    return dag_op(&k->system->dag, op == OP_AND ? OP_MIN : OP_MAX, a, b, NODE_NONE);
}

static node_id zero_of_part(struct making *k, struct node n) {
    const node_id *zero = k->zero.items;
    if (n.op == OP_LT || n.op == OP_LE)
        return zero_of_comparison(k, n);
    if (!is_connective(n.op) || zero[n.a] == NODE_NONE)
        return NODE_NONE;
    if (n.op == OP_NOT)
        return dag_op(&k->system->dag, OP_NEG, zero[n.a], NODE_NONE, NODE_NONE);
    return zero[n.b] == NODE_NONE ? NODE_NONE : zero_of_two(k, n.op, zero[n.a], zero[n.b]);
}

// The function of a condition; NODE_NONE where one of its parts holds at single points.
static node_id zero_of(struct making *k, node_id condition) {
    walk_from(&k->walk, &k->system->dag, condition, is_connective);
    walk_sort(&k->walk);
    vec_reserve(k->scratch, &k->zero, (uint64_t)condition + 1);
    for (uint32_t i = 0; i < k->walk.found.count; i++) {
        node_id id = k->walk.found.items[i];
        k->zero.items[id] = zero_of_part(k, k->system->dag.nodes.items[id]);
    }
    return k->zero.items[condition];
}

// Fires where `condition` turns true, or the other way.
static bool make_condition(struct making *k, const struct event *e, node_id condition, bool turned,
                           struct system_event *out) {
    struct dag *d = &k->system->dag;
    out->zero = zero_of(k, condition);
    out->truth = condition;
    out->edges = EVENT_RISING;
    if (out->zero == NODE_NONE)
        return builder_fail(k->builder, e->at,
                            "the condition of this event compares with `==` or `!=`, or takes a "
                            "number for a condition; an event happens where an expression crosses "
                            "zero, as in `when x-1`");
    if (turned) {
        out->zero = dag_op(d, OP_NEG, out->zero, NODE_NONE, NODE_NONE);
        out->truth = dag_op(d, OP_NOT, condition, NODE_NONE, NODE_NONE);
    }
    return true;
}

// An expression that fires by its sign, or as XPP's where it is at least, or at most, zero.
static void make_crossing(struct making *k, const struct event *e, node_id x,
                          struct system_event *out) {
    static const unsigned edges[] = {[EDGE_ANY] = EVENT_RISING | EVENT_FALLING,
                                     [EDGE_RISING] = EVENT_RISING,
                                     [EDGE_FALLING] = EVENT_FALLING,
                                     [EDGE_AT_LEAST] = EVENT_RISING,
                                     [EDGE_AT_MOST] = EVENT_RISING,
                                     [EDGE_ZERO] = EVENT_RISING | EVENT_FALLING};
    struct dag *d = &k->system->dag;
    node_id none = dag_number(d, 0);
    out->edges = edges[e->edge];
    out->at_start = e->edge == EDGE_ZERO;
    out->zero = e->edge == EDGE_AT_MOST ? dag_op(d, OP_NEG, x, NODE_NONE, NODE_NONE) : x;
    out->truth = e->edge == EDGE_AT_LEAST || e->edge == EDGE_AT_MOST
                     ? dag_op(d, OP_LE, none, out->zero, NODE_NONE)
                     : NODE_NONE;
}

static node_id way_of(struct making *k, node_id x, uint32_t self);

// How a state moves. An algebraic one moves so that its row stays 0, if all others in it are told.
static node_id way_of_state(struct making *k, uint32_t state) {
    struct system *s = k->system;
    struct dag *d = &s->dag;
    if (!s->row_algebraic || !s->row_algebraic[state])
        return s->rhs[state];
    if (k->depth == CHAIN_MOST)
        return NODE_NONE;
    k->chain[k->depth++] = state;
    node_id others = way_of(k, s->rhs[state], state);
    k->depth--;
    if (others == NODE_NONE)
        return NODE_NONE;
    node_id by = diff_by(k->diff, s->rhs[state], LEAF_STATE, state);
    return dag_op(d, OP_NEG, dag_op(d, OP_DIV, others, by, NODE_NONE), NODE_NONE, NODE_NONE);
}

static bool is_in_chain(const struct making *k, uint32_t state) {
    for (uint32_t i = 0; i < k->depth; i++)
        if (k->chain[i] == state)
            return true;
    return false;
}

// dx / dt along the solution, without what `self` brings; NODE_NONE: algebraic rows that are
// coupled would have to be solved for it.
static node_id way_of(struct making *k, node_id x, uint32_t self) {
    struct dag *d = &k->system->dag;
    struct node_walk walk = {.arena = k->scratch};
    node_id sum = diff_by_time(k->diff, x);
    walk_from(&walk, d, x, NULL);
    for (uint32_t i = 0; i < walk.found.count; i++) {
        struct node n = d->nodes.items[walk.found.items[i]];
        if (!is_state(n) || n.a == self)
            continue;
        node_id way = is_in_chain(k, n.a) ? NODE_NONE : way_of_state(k, n.a);
        if (way == NODE_NONE)
            return NODE_NONE;
        node_id by = diff_by(k->diff, x, LEAF_STATE, n.a);
        sum = dag_op(d, OP_ADD, sum, dag_op(d, OP_MUL, by, way, NODE_NONE), NODE_NONE);
    }
    return sum;
}

static node_id slope_of(struct making *k, node_id zero) { return way_of(k, zero, UINT32_MAX); }

static node_id plus_size(struct dag *d, node_id sum, node_id by, node_id x) {
    node_id part = dag_op(d, OP_ABS, dag_op(d, OP_MUL, by, x, NODE_NONE), NODE_NONE, NODE_NONE);
    return dag_op(d, OP_ADD, sum, part, NODE_NONE);
}

// What zero is the difference of, as far as rounding goes: how much of it moves with the states and
// with the time, all of one sign.
static node_id size_of(struct making *k, node_id zero) {
    struct dag *d = &k->system->dag;
    node_id sum = plus_size(d, dag_number(d, 0), diff_by_time(k->diff, zero), dag_time(d));
    walk_from(&k->walk, d, zero, NULL);
    for (uint32_t i = 0; i < k->walk.found.count; i++) {
        node_id id = k->walk.found.items[i];
        struct node n = d->nodes.items[id];
        if (is_state(n))
            sum = plus_size(d, sum, diff_by(k->diff, zero, LEAF_STATE, n.a), id);
    }
    return sum;
}

static bool make_when(struct making *k, const struct event *e, struct system_event *out) {
    node_id x;
    if (!builder_make(k->builder, e->when, e->at, &x))
        return false;
    if (!is_truth(k->system->dag.nodes.items[x].op))
        make_crossing(k, e, x, out);
    else if (!make_condition(k, e, x, e->edge == EDGE_FALLING || e->edge == EDGE_AT_MOST, out))
        return false;
    return true;
}

static bool make_times(struct making *k, const struct event *e, struct system_event *out) {
    struct arena *arena = &k->system->arena;
    out->times = e->times.count;
    out->time = arena_new(arena, node_id, out->times + 1);
    for (uint32_t i = 0; i < out->times; i++) {
        out->time[i] = NODE_NONE;
        if (e->times.items[i].count &&
            !builder_make(k->builder, e->times.items[i], e->at, &out->time[i]))
            return false;
    }
    if (e->kind != EVENT_EVERY)
        return true;
    const struct node *period = &k->system->dag.nodes.items[out->time[EVERY_PERIOD]];
    return period->op != OP_NUMBER || period->value > 0 ||
           builder_fail(k->builder, e->at, "the period of this event is not positive");
}

static bool make_actions(struct making *k, const struct event *e, struct system_event *out) {
    struct system *s = k->system;
    out->actions = e->actions.count;
    out->value = arena_new(&s->arena, node_id, out->actions + 1);
    out->target = arena_new(&s->arena, uint32_t, out->actions + 1);
    for (uint32_t i = 0; i < out->actions; i++) {
        const struct event_action *a = &e->actions.items[i];
        out->target[i] = a->target == ACTION_STOP ? ACTION_STOP : k->position[a->target];
        if (!a->expr.count)
            out->value[i] = dag_number(&s->dag, 1);
        else if (!builder_make(k->builder, a->expr, a->at, &out->value[i]))
            return false;
    }
    return true;
}

// Whether the event's own actions may change its function.
static bool touches(struct making *k, const struct system_event *v) {
    const struct system *s = k->system;
    walk_from(&k->walk, &k->system->dag, v->zero, NULL);
    for (uint32_t i = 0; i < k->walk.found.count; i++) {
        struct node n = s->dag.nodes.items[k->walk.found.items[i]];
        for (uint32_t a = 0; n.op == OP_SYMBOL && a < v->actions; a++) {
            uint32_t to = v->target[a];
            bool par = to != ACTION_STOP && to >= s->states;
            if ((n.leaf == LEAF_STATE && to == n.a) || (n.leaf == LEAF_DERIVED && par) ||
                (n.leaf == LEAF_PAR && par && to - s->states == n.a))
                return true;
        }
    }
    return false;
}

// ---- Derived parameters -------------------------------------------------------------------------

static void mark_assigned(const struct making *k, bool *assigned) {
    const struct system *s = k->system;
    for (uint32_t i = 0; i < s->events; i++)
        for (uint32_t n = 0; n < s->event[i].actions; n++)
            if (s->event[i].target[n] != ACTION_STOP && s->event[i].target[n] >= s->states)
                assigned[s->event[i].target[n] - s->states] = true;
}

// What a derived one is made of that an event changes, and whether it is made of what is known at
// the start only.
static void look_at(struct making *k, uint32_t derived, const bool *assigned, const bool *changed,
                    bool *changes, bool *initial) {
    const struct system *s = k->system;
    walk_from(&k->walk, &k->system->dag, s->derive[derived], NULL);
    *changes = *initial = false;
    for (uint32_t i = 0; i < k->walk.found.count; i++) {
        const struct node *n = &s->dag.nodes.items[k->walk.found.items[i]];
        *initial |= n->op == OP_TIME || (n->op == OP_SYMBOL && n->leaf == LEAF_STATE);
        if (n->op == OP_SYMBOL)
            *changes |= (n->leaf == LEAF_PAR && assigned[n->a]) ||
                        (n->leaf == LEAF_DERIVED && changed[n->a]);
    }
}

static bool make_rederived(struct making *k) {
    struct system *s = k->system;
    bool *assigned = arena_new(k->scratch, bool, s->pars + 1);
    bool *changed = arena_new(k->scratch, bool, s->derived + 1);
    s->rederive = arena_new(&s->arena, uint32_t, s->derived + 1);
    mark_assigned(k, assigned);
    for (uint32_t i = 0; i < s->derived; i++) {
        bool initial;
        look_at(k, i, assigned, changed, &changed[i], &initial);
        if (!changed[i])
            continue;
        if (initial)
            return builder_fail(k->builder, k->model->symbols.items[k->model->derived.items[i]].at,
                                "an event assigns a parameter that this derived parameter is made "
                                "of, together with initial values or t");
        s->rederive[s->rederives++] = i;
    }
    return true;
}

// What actions from `first` on assign to a leaf; the leaf itself where that is nothing.
static node_id assigned_to(const struct making *k, const struct system_event *v, uint32_t first,
                           uint32_t count, node_id leaf) {
    struct node n = k->system->dag.nodes.items[leaf];
    uint32_t states = k->system->states;
    for (uint32_t a = first; a < first + count; a++)
        if (v->target[a] != ACTION_STOP && ((n.leaf == LEAF_STATE && v->target[a] == n.a) ||
                                            (n.leaf == LEAF_PAR && v->target[a] == states + n.a)))
            return v->value[a];
    return leaf;
}

// The formula that a leaf is computed by, and again when an action changed what it is made of;
// NODE_NONE where there is none.
static node_id formula_of_leaf(const struct system *s, struct node leaf) {
    if (leaf.leaf == LEAF_SWITCH)
        return leaf.b;
    if (leaf.leaf != LEAF_DERIVED)
        return NODE_NONE;
    uint32_t low = 0, high = s->rederives;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->rederive[middle] < leaf.a)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->rederives && s->rederive[low] == leaf.a ? s->derive[leaf.a] : NODE_NONE;
}

// Actions of an event, and what leaves with formulas are after them.
struct after {
    const struct system_event *event;
    uint32_t first, count;
    vec(node_id) told; // by leaf, and one more than the node; 0: it is not told yet
};

static node_id after_actions(struct making *k, struct after *x, node_id id);

// A leaf whose formula is what it was stays.
static node_id leaf_after(struct making *k, struct after *x, node_id leaf) {
    vec_reserve(k->scratch, &x->told, (uint64_t)leaf + 1);
    if (!x->told.items[leaf]) {
        node_id formula = formula_of_leaf(k->system, k->system->dag.nodes.items[leaf]);
        node_id then = formula == NODE_NONE ? assigned_to(k, x->event, x->first, x->count, leaf)
                                            : after_actions(k, x, formula);
        x->told.items[leaf] = 1 + (then == formula ? leaf : then);
    }
    return x->told.items[leaf] - 1;
}

// `id` as it is after the actions, made of what is before them.
static node_id after_actions(struct making *k, struct after *x, node_id id) {
    struct dag *d = &k->system->dag;
    walk_from(&k->walk, d, id, NULL);
    walk_sort(&k->walk);
    const uint32_t count = k->walk.found.count;
    arena_spend(k->scratch, count);
    node_id *found = arena_new(k->scratch, node_id, count);
    node_id *leaf = arena_new(k->scratch, node_id, count);
    memcpy(found, k->walk.found.items, count * sizeof *found);
    for (uint32_t i = 0; i < count; i++) // which walk elsewhere
        if (d->nodes.items[found[i]].op == OP_SYMBOL)
            leaf[i] = leaf_after(k, x, found[i]);
    vec_reserve(k->scratch, &k->zero, (uint64_t)id + 1);
    for (uint32_t i = 0; i < count; i++) {
        node_id at = found[i], now[3] = {NODE_NONE, NODE_NONE, NODE_NONE};
        struct node n = d->nodes.items[at];
        bool same = true;
        for (uint32_t q = 0; q < op_operands[n.op]; q++) {
            now[q] = k->zero.items[node_operand(&n, q)];
            same &= now[q] == node_operand(&n, q);
        }
        k->zero.items[at] = n.op == OP_SYMBOL ? leaf[i]
                            : same            ? at
                                              : dag_op(d, n.op, now[0], now[1], now[2]);
    }
    return k->zero.items[id];
}

// Whether zero, made of what is before the event's own actions, goes another way with them than
// without. Of `x>1 and t>2` it does not while the time is what it waits for, whatever becomes of x,
// nor of `x>1 : x=if(ready)then(0)else(x)` where it is not ready.
static node_id touch_of(struct making *k, const struct system_event *v) {
    struct dag *d = &k->system->dag;
    node_id after = v->zero;
    for (uint32_t a = v->sequential ? v->actions : 1; a-- > 0;) {
        struct after x = {.event = v, .first = a, .count = v->sequential ? 1 : v->actions};
        for (uint32_t i = 0; i < k->system->rederives; i++) // in order, so that none waits for many
            leaf_after(k, &x, dag_leaf(d, LEAF_DERIVED, k->system->rederive[i]));
        after = after_actions(k, &x, after);
    }
    node_id slope = slope_of(k, after);
    if (v->slope == NODE_NONE || slope == NODE_NONE)
        return NODE_NONE;
    node_id other = dag_op(d, OP_SUB, slope, v->slope, NODE_NONE);
    node_id size = dag_op(d, OP_ADD, dag_op(d, OP_ABS, slope, NODE_NONE, NODE_NONE),
                          dag_op(d, OP_ABS, v->slope, NODE_NONE, NODE_NONE), NODE_NONE);
    node_id little = dag_op(d, OP_MUL, dag_number(d, 1e-4), size, NODE_NONE);
    return dag_op(d, OP_LT, little, dag_op(d, OP_ABS, other, NODE_NONE, NODE_NONE), NODE_NONE);
}

// A condition whose parts compare what nodes have become.
static node_id condition_now(struct making *k, node_id condition, const node_id *now) {
    struct dag *d = &k->system->dag;
    walk_from(&k->walk, d, condition, is_connective);
    walk_sort(&k->walk);
    vec_reserve(k->scratch, &k->zero, (uint64_t)condition + 1);
    for (uint32_t i = 0; i < k->walk.found.count; i++) {
        node_id id = k->walk.found.items[i];
        const node_id *of = is_connective(d->nodes.items[id].op) ? k->zero.items : now;
        struct node n = d->nodes.items[id];
        k->zero.items[id] =
            !is_truth(n.op)
                ? now[id]
                : dag_op(d, n.op, of[n.a], n.b == NODE_NONE ? NODE_NONE : of[n.b], NODE_NONE);
    }
    return k->zero.items[condition];
}

void event_conditions_become(struct system *s, const node_id *now, struct arena *scratch) {
    struct making k = {.system = s, .scratch = scratch, .walk = {.arena = scratch}};
    for (uint32_t i = 0; i < s->events; i++)
        if (s->event[i].truth != NODE_NONE)
            s->event[i].truth = condition_now(&k, s->event[i].truth, now);
}

void event_find_slopes(struct system *s, struct arena *scratch) {
    struct making k = {.system = s, .scratch = scratch, .walk = {.arena = scratch}};
    k.diff = diff_new(&s->dag, scratch);
    for (uint32_t i = 0; i < s->events; i++) {
        struct system_event *e = &s->event[i];
        if (e->zero == NODE_NONE || e->jump)
            continue;
        e->slope = slope_of(&k, e->zero);
        e->size = size_of(&k, e->zero);
        if (e->touched)
            e->touch = touch_of(&k, e);
    }
}

bool event_build(struct builder *b, struct system *s, const struct model *m,
                 struct arena *scratch) {
    struct making k = {
        .builder = b, .system = s, .model = m, .scratch = scratch, .walk = {.arena = scratch}};
    if (!m->events.count)
        return true;
    k.diff = diff_new(&s->dag, scratch);
    k.position = arena_new(scratch, uint32_t, m->symbols.count);
    for (uint32_t i = 0; i < s->states; i++)
        k.position[m->states.items[i]] = i;
    for (uint32_t i = 0; i < s->pars; i++)
        k.position[m->pars.items[i]] = s->states + i;
    s->event = arena_new(&s->arena, struct system_event, m->events.count);
    for (; s->events < m->events.count; s->events++) {
        const struct event *e = &m->events.items[s->events];
        struct system_event *out = &s->event[s->events];
        *out = (struct system_event){.kind = e->kind,
                                     .zero = NODE_NONE,
                                     .truth = NODE_NONE,
                                     .slope = NODE_NONE,
                                     .size = NODE_NONE,
                                     .touch = NODE_NONE,
                                     .sequential = e->sequential};
        if ((e->kind == EVENT_WHEN && !make_when(&k, e, out)) || !make_times(&k, e, out) ||
            !make_actions(&k, e, out))
            return false;
        out->touched = e->kind == EVENT_WHEN && touches(&k, out);
    }
    return make_rederived(&k);
}
