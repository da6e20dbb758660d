// SPDX-License-Identifier: MIT
// Why a trajectory failed: it is run once more to its last good point, and the model's expressions
// are looked at there, number by number.
//
// Where all of them are finite at that point, the way ahead is tried with steps of growing size:
// what ended the run lies a little further on. Nothing here takes longer than a person waits.
#include "api/model.h"
#include "api/options.h"

#include "io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- The run again ------------------------------------------------------------------------------

enum { COMPILE_S = 10, RUN_S = 5 }; // as long as anybody waits for a hint

struct patience {
    int stop; // what the solver looks at
    const volatile int *stop_too;
};

static void look(struct patience *p, bool enough) {
    if (enough || (p->stop_too && *p->stop_too))
        p->stop = 1;
}

static void on_compile(const shoal_compile *now, void *user) {
    look(user, now->elapsed_s > COMPILE_S);
}
static void on_progress(const shoal_progress *now, void *user) { look(user, now->seconds > RUN_S); }

// A batch of that run alone.
static shoal_code batch_of(const shoal_model *model, const shoal_batch *batch, uint64_t run,
                           shoal_batch **out) {
    shoal_code code = shoal_batch_new(model, out, NULL);
    for (uint32_t i = 0; i < shoal_batch_input_count(batch) && code == SHOAL_OK; i++) {
        double value = shoal_batch_value(batch, i, run);
        code = shoal_batch_values(*out, shoal_batch_input_name(batch, i), &value, 1, NULL);
    }
    return code;
}

// To the last good values of all states.
static shoal_code run_again(const shoal_model *model, const shoal_options *options,
                            const shoal_batch *one, shoal_result **out) {
    struct patience p = {.stop_too = options->stop};
    shoal_solver *solver = NULL;
    shoal_options o = *options;
    o.save = SHOAL_SAVE_FINAL;
    o.vars = o.summary = o.record = o.keep_source = o.job = NULL;
    o.keep_failed = true;
    o.stop = &p.stop;
    o.on_compile = on_compile;
    o.on_compile_user = &p;
    shoal_code code = shoal_solver_new(model, &o, &solver, NULL);
    if (code == SHOAL_OK) {
        shoal_solver_on_progress(solver, on_progress, &p);
        code = shoal_solver_run(solver, one, out, NULL);
    }
    shoal_solver_free(solver);
    return code;
}

// ---- The model there ----------------------------------------------------------------------------

struct scene {
    shoal_model *model; // with the values of the run
    const struct system *system;
    uint32_t states;
    double t, *y;   // the last good point
    double *start;  // of all nodes, at the start,
    double *values; // and where it was looked at last
};

static bool evaluate(struct scene *p, double t, const double *y) {
    free(p->values);
    p->values = api_evaluate(p->model, p->start, t, y);
    return p->values;
}

static bool find_states(const struct scene *p, shoal_failure *f) {
    f->count = 0;
    for (uint32_t i = 0; i < p->states; i++) {
        if (isfinite(f->initial ? p->y[i] : p->values[p->system->rhs[i]]))
            continue;
        if (f->count < SHOAL_FAILURE_STATES)
            f->state[f->count] = i;
        f->count++;
    }
    return f->count;
}

// Along the derivatives, from the smallest step that time can take to the end of the run.
static void try_ahead(struct scene *p, double t1, shoal_failure *f) {
    double span = t1 - p->t, h = copysign(fmax(fabs(p->t) * 0x1p-52, fabs(span) * 0x1p-60), span);
    double *dydt = malloc(2 * p->states * sizeof *dydt), *y = dydt ? dydt + p->states : NULL;
    for (uint32_t i = 0; y && i < p->states; i++)
        dydt[i] = p->system->row_algebraic && p->system->row_algebraic[i]
                      ? 0
                      : p->values[p->system->rhs[i]];
    for (f->ahead = true; y && !f->count && fabs(h) <= fabs(span); h *= 2) {
        for (uint32_t i = 0; i < p->states; i++)
            y[i] = p->y[i] + h * dydt[i];
        if (!evaluate(p, p->t + h, y) || find_states(p, f))
            break;
    }
    free(dydt);
}

// ---- The operation that has no finite value -----------------------------------------------------

struct cause {
    node_id id;
    const double *values; // of all nodes, where it has none
};

// Where a leaf was computed, and that is at the start.
static node_id formula_of(const struct scene *p, const struct node *n, bool start) {
    if (n->op != OP_SYMBOL)
        return NODE_NONE;
    return n->leaf == LEAF_DERIVED                               ? p->system->derive[n->a]
           : n->leaf == LEAF_STATE && start && p->system->starts ? p->system->init[n->a]
                                                                 : NODE_NONE;
}

// From a node that is not finite down to the first one that is made of finite numbers.
static struct cause find_cause(const struct scene *p, node_id id) {
    const struct node *nodes = p->system->dag.nodes.items;
    struct cause c = {id, p->values};
    for (;;) {
        const struct node *n = &nodes[c.id];
        node_id next = formula_of(p, n, c.values == p->start);
        if (next != NODE_NONE)
            c.values = p->start;
        for (uint32_t i = 0; i < op_operands[n->op] && next == NODE_NONE; i++) {
            bool idle = n->op == OP_IF && i == (c.values[n->a] != 0 ? 2 : 1);
            if (!idle && !isfinite(c.values[node_operand(n, i)]))
                next = node_operand(n, i);
        }
        if (next == NODE_NONE || isfinite(c.values[next]))
            return c;
        c.id = next;
    }
}

// Six digits tell enough; what follows them behind the point is left out.
static void put_number(struct buf *out, double value) {
    enum { DIGITS = 6 };
    char text[32];
    size_t length = io_format_double(value, text);
    int digits = 0;
    bool point = false;
    for (size_t i = 0; i < length; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (text[i] == 'e') { // the rest is the exponent
            buf_put(out, text + i, length - i);
            return;
        }
        point = point || text[i] == '.';
        digits += digit && (digits || text[i] != '0');
        if (!point || digits <= DIGITS)
            buf_putc(out, text[i]);
    }
}

// "sqrt(-0.5)", "1/0"; nothing where it is no operation.
static void describe(const struct scene *p, struct cause c, struct buf *out) {
    const struct node *n = &p->system->dag.nodes.items[c.id];
    uint32_t operands = op_operands[n->op];
    bool infix = operands == 2 && n->op <= OP_POW;
    if (!operands)
        return;
    buf_puts(out, infix ? "" : op_names[n->op]);
    bool parentheses = !infix || c.values[n->a] < 0;
    buf_puts(out, parentheses ? "(" : "");
    put_number(out, c.values[n->a]);
    buf_puts(out, infix && parentheses ? ")" : "");
    buf_puts(out, infix ? op_names[n->op] : operands > 1 ? "," : "");
    if (operands > 1)
        put_number(out, c.values[n->b]);
    buf_puts(out, infix ? "" : ")");
}

static void tell_cause(const struct scene *p, shoal_failure *f) {
    uint32_t state = f->state[0];
    node_id root = f->initial ? p->system->init[state] : p->system->rhs[state];
    struct buf text = {0};
    if (root == NODE_NONE || isfinite(p->values[root]))
        return;
    describe(p, find_cause(p, root), &text);
    if (text.data && !text.failed && text.length < sizeof f->cause)
        memcpy(f->cause, text.data, text.length + 1);
    buf_free(&text);
}

static void explain(struct scene *p, double t0, double t1, shoal_failure *f) {
    f->at_start = p->t == t0;
    f->initial = true;
    f->initial = find_states(p, f);
    if (p->model->model->signals.count) // what is looked up in samples is not known here
        return;
    if (!evaluate(p, p->t, p->y))
        return;
    if (!f->initial && !find_states(p, f))
        try_ahead(p, t1, f);
    if (!f->count)
        f->ahead = false;
    else if (p->values)
        tell_cause(p, f);
}

// ---- All ----------------------------------------------------------------------------------------

// The inputs of the run become values of the model.
static void set_values(struct model *m, const shoal_batch *one) {
    for (uint32_t i = 0; i < shoal_batch_input_count(one); i++) {
        struct batch_target to = batch_input_target(one->batch, i);
        struct symbol *s =
            &m->symbols.items[to.initial ? m->states.items[to.index] : m->pars.items[to.index]];
        s->value = shoal_batch_value(one, i, 0);
        s->init = (struct expr){0};
    }
}

// The model of the run, and where it ended.
static bool make_place(struct scene *p, const shoal_model *model, double t0, const shoal_batch *one,
                       const shoal_result *result) {
    p->model = api_model_copy(model);
    if (!p->model)
        return false;
    set_values(p->model->model, one);
    p->system = api_system(p->model, NULL);
    p->states = shoal_model_count(p->model, SHOAL_STATE);
    p->y = malloc(sizeof(double) * p->states);
    p->start = api_start(p->model, t0);
    if (!p->start || !p->y)
        return false;
    p->t = shoal_result_t(result, 0, 0);
    for (uint32_t i = 0; i < p->states; i++)
        p->y[i] = shoal_result_value(result, i, 0, 0);
    return true;
}

shoal_code shoal_model_failure(const shoal_model *model, const shoal_options *options,
                               const shoal_batch *batch, uint64_t run, shoal_failure *out,
                               shoal_log *log) {
    struct scene p = {0};
    shoal_batch *one = NULL;
    shoal_result *result = NULL;
    if (!model || !batch || !out)
        return api_usage(log, "shoal_model_failure", "model, batch or place for the answer");
    *out = (shoal_failure){0};
    shoal_options o;
    shoal_code code = options_take(options, "shoal_model_failure", &o, log);
    if (code)
        return code;
    if (run >= shoal_batch_runs(batch))
        return report_error(log_report(log), SHOAL_USAGE,
                            "shoal_model_failure: there is no run %llu", (unsigned long long)run);
    if (o.doses) // whose they are is known in the whole batch only
        return SHOAL_OK;
    code = batch_of(model, batch, run, &one);
    if (code == SHOAL_OK)
        code = run_again(model, &o, one, &result);
    if (code == SHOAL_OK && !make_place(&p, model, o.t0, one, result))
        code = SHOAL_MEMORY;
    if (code == SHOAL_OK) {
        out->status = (shoal_status)shoal_result_status(result, 0);
        out->t = p.t;
        if (out->status != SHOAL_STATUS_ok && out->status != SHOAL_STATUS_stopped)
            explain(&p, o.t0, o.t1, out);
    }
    free(p.y);
    free(p.start);
    free(p.values);
    shoal_model_free(p.model);
    shoal_result_free(result);
    shoal_batch_free(one);
    return code;
}
