// SPDX-License-Identifier: MIT
// What a model makes of time: which signals its conditions look at, which tables are looked up
// along a line of time, and how short steps must be so that the rest is not passed over.
//
// A condition is looked at where a step ends and at four places inside. What it is made of may turn
// between them unseen where nothing else shortens steps, as in x'=heav(u-0.9), so steps end where
// its drivers turn (driver_block.c), and are short where it depends on time in another way. The
// same is true of a table whose argument depends on time: steps end at its samples if the argument
// is a line of numbers, or of what is constant in a step (src/ode/symbolic/switch.c, which sees to
// further lines of one table, too), and are no longer than from sample to sample else. How fast
// such functions go is looked at with the model's own parameters.
#include "ode/run/driver.h"

#include <math.h>

// What a node depends on; OF_OTHER: parameters and the like.
enum { OF_STATE = 1, OF_TIME = 2, CURVED = 4, OF_OTHER = 8, OF_SIGNAL = 16 };
enum { PARTS = 16 };        // of the run, in one of which a condition goes fastest
enum { STEPS_LEAST = 400 }; // where a condition depends on time alone
enum { LOOKS = 1024, LOOKS_LEAST = 64, WORK = 1 << 23 }; // at functions, and nodes in all

static const double NEAR = 1e-7; // of the way: between two looks that give a slope
static const double SWEEP = 2;   // steps in which a condition goes through all its values
static const double GOLDEN = 0.6180339887498949; // so that looks fall on all parts of a period

// By node: what it depends on, and where that is time alone and not CURVED, a + b t.
struct fact {
    uint8_t of;
    double a, b;
};

static bool is_line(const struct fact *f) { return !(f->of & ~OF_TIME); }

static struct fact fact_of_leaf(const struct node *n) {
    if (n->op == OP_NUMBER)
        return (struct fact){.a = n->value};
    if (n->op == OP_TIME)
        return (struct fact){.of = OF_TIME, .b = 1};
    return (struct fact){.of = n->leaf == LEAF_STATE ? OF_STATE : OF_OTHER};
}

// A look-up by the time is seen to by itself.
static struct fact fact_of(const struct node *n, const struct fact *all) {
    if (!op_operands[n->op])
        return fact_of_leaf(n);
    const struct fact *x = &all[n->a], *y = op_operands[n->op] > 1 ? &all[n->b] : x;
    uint8_t both = 0;
    for (uint32_t i = 0; i < op_operands[n->op]; i++)
        both |= all[node_operand(n, i)].of;
    struct fact f = {.of = both};
    switch (n->op) {
    case OP_LOOKUP:
        f.of = OF_SIGNAL | (both & OF_STATE);
        break;
    case OP_NEG:
        f.a = -x->a, f.b = -x->b;
        break;
    case OP_ADD:
        f.a = x->a + y->a, f.b = x->b + y->b;
        break;
    case OP_SUB:
        f.a = x->a - y->a, f.b = x->b - y->b;
        break;
    case OP_MUL:
        f.a = x->a * y->a, f.b = x->a * y->b + x->b * y->a;
        f.of |= x->of & y->of & OF_TIME ? CURVED : 0;
        break;
    case OP_DIV:
        f.a = x->a / y->a, f.b = x->b / y->a;
        f.of |= y->of & OF_TIME ? CURVED : 0;
        break;
    default:
        f.of |= both & OF_TIME ? CURVED : both ? 0 : OF_OTHER;
    }
    return f;
}

// ---- Signals ------------------------------------------------------------------------------------

struct survey {
    const struct system *system;
    const struct model *model;
    struct arena *arena;
    const struct fact *fact;
    uint32_t *uses, *watches; // by node: in right-hand sides and conditions, in conditions
};

static struct survey survey_of(const struct system *s, const struct model *m, struct arena *arena) {
    struct survey v = {.system = s, .model = m, .arena = arena};
    uint32_t count = s->dag.nodes.count, watched = 0;
    struct fact *fact = arena_new(arena, struct fact, count + 1);
    node_id *root = arena_new(arena, node_id, s->states + s->events + 1);
    for (node_id id = 0; id < count; id++)
        fact[id] = fact_of(&s->dag.nodes.items[id], fact);
    for (uint32_t i = 0; i < s->events; i++)
        if (s->event[i].kind == EVENT_WHEN)
            root[watched++] = s->event[i].zero;
    v.fact = fact;
    v.watches = dag_uses(&s->dag, root, watched, arena);
    for (uint32_t i = 0; i < s->states; i++)
        root[watched + i] = s->rhs[i];
    v.uses = dag_uses(&s->dag, root, watched + s->states, arena);
    return v;
}

static uint32_t signal_of(const struct survey *v, const struct node *n) {
    return (uint32_t)v->system->dag.nodes.items[n->b].value;
}

static bool follows(const struct signal_use *u, const struct fact *line) {
    return u->along && u->at_0 == line->a && u->slope == line->b;
}

// Whether switches end steps at the samples of a table with this argument.
static bool is_switched(const struct system *s, node_id argument) {
    for (uint32_t i = 0; i < s->switches; i++)
        if (s->time_switch[i].argument == argument)
            return true;
    return false;
}

// The first line of a table is the one whose samples steps end at; switches see to others.
static void note_use(const struct survey *v, node_id id, struct signal_use *use) {
    const struct node *n = &v->system->dag.nodes.items[id];
    uint32_t k = signal_of(v, n);
    const struct fact *f = &v->fact[n->a];
    use[k].watched |= v->watches[id] > 0;
    if (v->model->signals.items[k].table && !use[k].along && is_line(f) && f->b != 0 &&
        isfinite(f->a / f->b) && isfinite(f->b) && !is_switched(v->system, n->a))
        use[k] = (struct signal_use){
            .watched = use[k].watched, .along = true, .at_0 = f->a, .slope = f->b};
}

struct signal_use *driver_uses(const struct system *s, const struct model *m, struct arena *arena) {
    struct signal_use *use = arena_new(arena, struct signal_use, m->signals.count + 1);
    if (!m->signals.count)
        return use;
    struct survey v = survey_of(s, m, arena);
    for (node_id id = 0; id < s->dag.nodes.count; id++)
        if (v.uses[id] && s->dag.nodes.items[id].op == OP_LOOKUP)
            note_use(&v, id, use);
    return use;
}

// ---- Steps --------------------------------------------------------------------------------------

// A function of time that steps must be short for.
struct course {
    node_id of;
    const struct signal *table; // it is the argument of this one; NULL: of a condition
    double low, high;           // what it was,
    double way[PARTS];          // the sum of its slopes,
    uint32_t looks[PARTS];      // and of how many
    double fastest;             // inside of the table
    double steps;               // at least, in a run
};

static double *values_at(const struct survey *v, const struct leaf_values *leaves, double *values) {
    dag_evaluate(&v->system->dag, leaves, values);
    return values;
}

static void look(struct course *c, uint32_t part, double now, double soon, double time) {
    double slope = fabs(soon - now) / time;
    if (!isfinite(slope))
        return;
    c->low = fmin(c->low, now);
    c->high = fmax(c->high, now);
    c->way[part] += slope;
    c->looks[part]++;
    if (c->table && fmax(now, soon) >= c->table->lo && fmin(now, soon) <= c->table->hi)
        c->fastest = fmax(c->fastest, slope);
}

static double no_signal(const void *user, uint32_t signal, double at) {
    (void)user, (void)signal, (void)at;
    return 0;
}

// States are what they are at the start, signals are 0, and conditions hold on between two looks.
static void look_at_all(const struct survey *v, double t0, double t1, struct course *course,
                        uint32_t count) {
    const struct system *s = v->system;
    const struct model *m = v->model;
    uint32_t nodes = s->dag.nodes.count, looks = WORK / nodes;
    looks = looks < LOOKS_LEAST ? LOOKS_LEAST : looks < LOOKS ? looks : LOOKS;
    double *par = arena_new(v->arena, double, s->pars + s->states + s->switches + s->jumps + 1);
    double *state = par + s->pars, *turned = state + s->states;
    double *now = arena_new(v->arena, double, 2 * (size_t)nodes + 1), *soon = now + nodes;
    for (uint32_t i = 0; i < s->pars; i++)
        par[i] = m->symbols.items[m->pars.items[i]].value;
    for (uint32_t i = 0; i < s->states; i++)
        state[i] = m->symbols.items[m->states.items[i]].value;
    for (uint32_t k = 0; k < looks; k++) {
        double part = (k + fmod(k * GOLDEN, 1)) / looks, time = NEAR * fabs(t1 - t0);
        struct leaf_values at = {.t = t0 + part * (t1 - t0), .state = state, .par = par};
        at.derive = s->derive;
        at.signal = no_signal;
        values_at(v, &at, now);
        for (uint32_t i = 0; i < s->switches; i++)
            turned[i] = now[s->time_switch[i].plain];
        for (uint32_t i = 0; i < s->jumps; i++)
            turned[s->switches + i] = now[s->jump[i].plain];
        at.t += time;
        at.switches = turned;
        values_at(v, &at, soon);
        for (uint32_t i = 0; i < count; i++)
            look(&course[i], k * PARTS / looks, now[course[i].of], soon[course[i].of], time);
    }
}

static bool is_curved_in_time(const struct fact *f) {
    return f->of & CURVED && !(f->of & (OF_STATE | OF_SIGNAL));
}

// Conditions. One that depends on states or signals, too, goes as they do at the start, which may
// be 0, and at least as fast as what is of time alone in it.
static uint32_t find_conditions(const struct survey *v, struct course *out) {
    const struct system *s = v->system;
    uint32_t count = 0, nodes = s->dag.nodes.count;
    bool *noted = arena_new(v->arena, bool, nodes + 1);
    for (uint32_t i = 0; i < s->events; i++) {
        node_id zero = s->event[i].zero;
        if (s->event[i].kind == EVENT_WHEN && v->fact[zero].of & CURVED && !noted[zero]) {
            double steps = v->fact[zero].of & OF_STATE ? 1 : STEPS_LEAST;
            out[count++] = (struct course){.of = zero, .steps = steps};
            noted[zero] = true;
        }
    }
    for (node_id id = 0; id < nodes; id++) {
        const struct node *n = &s->dag.nodes.items[id];
        for (uint32_t i = 0; v->watches[id] && i < op_operands[n->op]; i++) {
            node_id part = node_operand(n, i);
            if (is_curved_in_time(&v->fact[id]) || !is_curved_in_time(&v->fact[part]) ||
                noted[part])
                continue;
            out[count++] = (struct course){.of = part, .steps = 1};
            noted[part] = true;
        }
    }
    return count;
}

static uint32_t find_courses(const struct survey *v, const struct signal_use *use,
                             struct course *out) {
    const struct system *s = v->system;
    uint32_t count = find_conditions(v, out);
    for (node_id id = 0; id < s->dag.nodes.count; id++) {
        const struct node *n = &s->dag.nodes.items[id];
        if (!v->uses[id] || n->op != OP_LOOKUP || !(v->fact[n->a].of & OF_TIME))
            continue;
        const struct signal *table = &v->model->signals.items[signal_of(v, n)];
        bool ends = is_line(&v->fact[n->a]) && follows(&use[signal_of(v, n)], &v->fact[n->a]);
        if (table->table && !ends && !is_switched(s, n->a))
            out[count++] = (struct course){.of = n->a, .table = table};
    }
    for (uint32_t i = 0; i < count; i++)
        out[i].low = INFINITY, out[i].high = -INFINITY;
    return count;
}

static double step_for(const struct course *c, double way) {
    if (c->table)
        return c->fastest > 0 ? (c->table->hi - c->table->lo) / (c->table->count - 1) / c->fastest
                              : INFINITY;
    double fastest = 0;
    for (uint32_t i = 0; i < PARTS; i++)
        fastest = c->looks[i] ? fmax(fastest, c->way[i] / c->looks[i]) : fastest;
    double sweeps = c->high > c->low ? fastest * way / (c->high - c->low) : 0;
    return way / fmax(c->steps, SWEEP * sweeps);
}

double driver_step(const struct system *s, const struct model *m, const struct signal_use *use,
                   double t0, double t1, struct arena *arena) {
    struct survey v = survey_of(s, m, arena);
    uint32_t most = s->events + 1;
    double step = INFINITY;
    for (node_id id = 0; id < s->dag.nodes.count; id++)
        most += v.watches[id] || (v.uses[id] && s->dag.nodes.items[id].op == OP_LOOKUP) ? 2 : 0;
    struct course *course = arena_new(arena, struct course, most);
    uint32_t count = find_courses(&v, use, course);
    if (count)
        look_at_all(&v, t0, t1, course, count);
    for (uint32_t i = 0; i < count; i++)
        step = fmin(step, step_for(&course[i], fabs(t1 - t0)));
    return step;
}
