// SPDX-License-Identifier: MIT
// Public calls on models.
#include "api/model.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/file.h"
#include "ode/run/build.h"
#include "ode/run/driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LOG_LABEL(parse, CODEGEN, 10, "model text to names and expressions");

enum { MODEL_BYTES = 64 << 20 };

static shoal_model *new_model(void) {
    shoal_model *m = calloc(1, sizeof *m);
    if (m && (m->found = calloc(1, sizeof *m->found)))
        return m;
    free(m);
    return NULL;
}

// Its places for the samples of drivers, with those of another model.
static bool make_drivers(shoal_model *m, const shoal_model *from) {
    uint32_t count = m->model->signals.count;
    m->driver = calloc(count + 1, sizeof *m->driver);
    for (uint32_t i = 0; m->driver && from && i < count; i++)
        m->driver[i] = driver_keep(from->driver[i]);
    return m->driver;
}

shoal_code shoal_model_parse(const char *name, const char *text, size_t length, shoal_model **out,
                             shoal_log *log) {
    if (out)
        *out = NULL;
    if (!out || !name || (!text && length))
        return api_usage(log, "shoal_model_parse", "name, text or place for the model");
    shoal_model *m = new_model();
    if (!m)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    report_begin(log_report(log));
    int32_t span = log_begin(log, LOG_parse);
    m->model = model_parse(name, text ? text : "", length, log_report(log));
    log_u64(log, span, "bytes", length);
    log_end(log, span);
    // Whether functions can be expanded shows only now, and whether algebraic rows determine their
    // states once they are differentiated.
    if (!m->model || !make_drivers(m, NULL) || !api_system(m, log)) {
        shoal_model_free(m);
        return SHOAL_INPUT;
    }
    *out = m;
    return SHOAL_OK;
}

static bool is_set(const struct model *m) {
    for (uint32_t i = 0; i < m->symbols.count; i++)
        if (m->symbols.items[i].set)
            return true;
    return false;
}

static bool starts_with(const char *line, const char *word) {
    size_t n = strlen(word);
    line += strspn(line, " \t");
    return ascii_same_prefix(line, word, n) && (line[n] == ' ' || line[n] == '\t');
}

// The lines that were added so far, and this one.
static char *added_lines(const struct model *m, const char *line) {
    struct buf out = {0};
    bool whole = starts_with(line, "event") || starts_with(line, "global");
    buf_puts(&out, m->source.text + m->added);
    buf_printf(&out, "%s%s\n", whole ? "" : "event ", line);
    if (!out.failed)
        return out.data;
    buf_free(&out);
    return NULL;
}

shoal_code shoal_model_add_event(shoal_model *model, const char *line, shoal_log *log) {
    struct report *r = log_report(log);
    if (!model || !line)
        return api_usage(log, "shoal_model_add_event", "model or line");
    if (is_set(model->model))
        return report_error(r, SHOAL_USAGE,
                            "shoal_model_add_event: events come before values are changed");
    if (strpbrk(line, "\n\r"))
        return report_error(r, SHOAL_INPUT, "--event: an event is one line");
    const struct model *m = model->model;
    char *added = added_lines(m, line);
    shoal_model *more = added ? new_model() : NULL;
    shoal_code code = more ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK) {
        report_begin(r);
        more->model = model_parse_more(m->source.name, m->text, strlen(m->text), added, r);
        code = more->model ? model_take_tables(more->model, m, r) : SHOAL_INPUT;
    }
    if (code == SHOAL_OK && !make_drivers(more, model))
        code = report_error(r, SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK && !api_system(more, log))
        code = SHOAL_INPUT;
    if (code == SHOAL_OK) {
        more->swap = model->swap;
        more->watcher = model->watcher;
        api_model_swap(model, more);
    }
    shoal_model_free(more);
    free(added);
    return code;
}

shoal_code shoal_model_load(const char *path, shoal_model **out, shoal_log *log) {
    char *text = NULL;
    size_t length = 0;
    if (out)
        *out = NULL;
    if (!out || !path)
        return api_usage(log, "shoal_model_load", "path or place for the model");
    shoal_code code = file_read_input(path, MODEL_BYTES, &text, &length, log_report(log));
    if (code == SHOAL_OK)
        code = shoal_model_parse(file_input_name(path), text, length, out, log);
    free(text);
    if (code == SHOAL_OK && (code = api_read_tables(*out, path, log)) != SHOAL_OK) {
        shoal_model_free(*out);
        *out = NULL;
    }
    return code;
}

void shoal_model_free(shoal_model *model) {
    if (!model)
        return;
    system_free(model->found->system);
    free(model->found);
    for (uint32_t i = 0; model->driver && i < model->model->signals.count; i++)
        driver_drop(model->driver[i]);
    free(model->driver);
    model_free(model->model);
    free(model);
}

shoal_code api_usage(shoal_log *log, const char *call, const char *what) {
    return report_error(log_report(log), SHOAL_USAGE, "%s: no %s", call, what);
}

shoal_model *api_model_copy(const shoal_model *model) {
    shoal_model *copy = new_model();
    if (!copy)
        return NULL;
    copy->model = model_copy(model->model);
    if (!copy->model || !make_drivers(copy, model)) {
        shoal_model_free(copy);
        return NULL;
    }
    copy->swap = model->swap;
    copy->watcher = model->watcher;
    return copy;
}

void api_model_swap(shoal_model *a, shoal_model *b) {
    shoal_model was = *a;
    *a = *b;
    *b = was;
}

void api_model_changed(shoal_model *model) {
    system_free(model->found->system);
    model->found->system = NULL;
}

struct system *api_system(const shoal_model *model, shoal_log *log) {
    struct model_found *f = model->found;
    if (!f->system)
        f->system = build_system(model->model, log);
    return f->system;
}

shoal_code shoal_model_set(shoal_model *model, const char *assignments, shoal_log *log) {
    if (!model || !assignments)
        return api_usage(log, "shoal_model_set", "model or assignments");
    report_begin(log_report(log));
    shoal_code code = model_set(model->model, assignments, "--set", log_report(log));
    if (code == SHOAL_OK)
        api_model_changed(model);
    return code;
}

const char *shoal_model_name(const shoal_model *model) {
    return model ? model->model->source.name : NULL;
}

const char *shoal_model_text(const shoal_model *model) { return model ? model->model->text : NULL; }

const char *shoal_model_event(const shoal_model *model, uint32_t index) {
    return index < shoal_model_count(model, SHOAL_EVENT) ? model->model->events.items[index].line
                                                         : NULL;
}

static const struct symbol *symbol_at(const shoal_model *model, shoal_kind kind, uint32_t index) {
    const struct model *m = model->model;
    const uint32_t *lists[] = {[SHOAL_STATE] = m->states.items,
                               [SHOAL_PARAMETER] = m->pars.items,
                               [SHOAL_CONSTANT] = m->consts.items,
                               [SHOAL_DERIVED] = m->derived.items};
    return &m->symbols.items[lists[kind][index]];
}

static uint32_t tables_of(const struct model *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->signals.count; i++)
        count += m->signals.items[i].table;
    return count;
}

// The index-th of the drivers, or of the tables.
static const struct signal *signal_at(const struct model *m, bool table, uint32_t index) {
    const struct signal *s = m->signals.items;
    while (s->table != table || index--)
        s++;
    return s;
}

uint32_t shoal_model_count(const shoal_model *model, shoal_kind kind) {
    if (!model)
        return 0;
    const struct model *m = model->model;
    switch (kind) {
    case SHOAL_STATE:
        return m->states.count;
    case SHOAL_PARAMETER:
        return m->pars.count;
    case SHOAL_CONSTANT:
        return m->consts.count;
    case SHOAL_DERIVED:
        return m->derived.count;
    case SHOAL_OBSERVABLE:
        return m->observables.count;
    case SHOAL_SET:
        return m->sets.count;
    case SHOAL_EVENT:
        return m->events.count;
    case SHOAL_DRIVER:
        return m->signals.count - tables_of(m);
    case SHOAL_TABLE:
        return tables_of(m);
    }
    return 0;
}

const char *shoal_model_symbol(const shoal_model *model, shoal_kind kind, uint32_t index) {
    if (index >= shoal_model_count(model, kind))
        return NULL;
    if (kind == SHOAL_OBSERVABLE)
        return model->model->observables.items[index].label;
    if (kind == SHOAL_SET)
        return model->model->sets.items[index].name;
    if (kind == SHOAL_EVENT)
        return model->model->events.items[index].name;
    if (kind == SHOAL_DRIVER || kind == SHOAL_TABLE)
        return signal_at(model->model, kind == SHOAL_TABLE, index)->name;
    return symbol_at(model, kind, index)->name;
}

bool shoal_model_find(const shoal_model *model, const char *name, shoal_kind *kind,
                      uint32_t *index) {
    static const shoal_kind kinds[] = {SHOAL_STATE, SHOAL_PARAMETER, SHOAL_CONSTANT};
    if (!model || !name || !kind || !index)
        return false;
    size_t length = strlen(name);
    bool initial = length > 3 && !strcmp(name + length - 3, "(0)");
    char *base = strndup(name, initial ? length - 3 : length);
    uint32_t found = base ? model_find(model->model, base, "", NULL) : UINT32_MAX;
    free(base);
    for (size_t k = 0; found != UINT32_MAX && k < (initial ? 1 : sizeof kinds / sizeof *kinds); k++)
        for (uint32_t i = 0; i < shoal_model_count(model, kinds[k]); i++)
            if (symbol_at(model, kinds[k], i) == &model->model->symbols.items[found]) {
                *kind = kinds[k];
                *index = i;
                return true;
            }
    return false;
}

bool shoal_model_algebraic(const shoal_model *model, uint32_t state) {
    return state < shoal_model_count(model, SHOAL_STATE) &&
           symbol_at(model, SHOAL_STATE, state)->algebraic;
}

// All nodes, and room for numbers of leaves behind them.
static double *nodes_new(const struct system *s, size_t leaves) {
    return s ? malloc(sizeof(double) * (s->dag.nodes.count + leaves + 1)) : NULL;
}

static void get_values(const shoal_model *model, shoal_kind kind, double *values) {
    for (uint32_t i = 0; i < shoal_model_count(model, kind); i++)
        values[i] = symbol_at(model, kind, i)->value;
}

static double look_up(const void *user, uint32_t signal, double at) {
    const shoal_model *model = user;
    return driver_value(model->model, model->driver, signal, at);
}

bool shoal_model_driver_at(const shoal_model *model, uint32_t index, shoal_driver_info *out) {
    if (!out || index >= shoal_model_count(model, SHOAL_DRIVER))
        return false;
    const struct signal *of = signal_at(model->model, false, index);
    const struct driver *d = model->driver[of - model->model->signals.items];
    *out = (shoal_driver_info){0};
    if (!d)
        return false;
    *out = (shoal_driver_info){.between = spline_names[d->kind],
                               .ends = driver_ends_names[d->ends],
                               .by = d->by,
                               .signals = d->signals,
                               .t_first = (double)INFINITY,
                               .t_last = -(double)INFINITY,
                               .least = (double)INFINITY,
                               .most = -(double)INFINITY};
    for (uint32_t i = 0; i < d->signals; i++) {
        const struct driver_signal *s = &d->signal[i];
        out->samples += s->count;
        out->t_first = fmin(out->t_first, s->t[0]);
        out->t_last = fmax(out->t_last, s->t[s->count - 1]);
        for (uint64_t k = 0; k < s->count; k++) {
            out->least = fmin(out->least, s->v[k]);
            out->most = fmax(out->most, s->v[k]);
        }
    }
    return true;
}

double *api_start(const shoal_model *model, double t0) {
    struct system *s = api_system(model, NULL);
    double *values = nodes_new(s, s ? (size_t)s->pars + s->states : 0);
    if (!values)
        return NULL;
    double *par = values + s->dag.nodes.count, *state = par + s->pars;
    get_values(model, SHOAL_PARAMETER, par);
    get_values(model, SHOAL_STATE, state);
    struct leaf_values v = {.t = t0,
                            .state = state,
                            .par = par,
                            .derive = s->derive,
                            .init = s->starts ? s->init : NULL,
                            .signal = look_up,
                            .user = model};
    dag_evaluate(&s->dag, &v, values);
    return values;
}

double *api_evaluate(const shoal_model *model, const double *start, double t, const double *y) {
    struct system *s = api_system(model, NULL);
    double *values = start ? nodes_new(s, s ? (size_t)s->pars + s->derived : 0) : NULL;
    if (!values)
        return NULL;
    double *par = values + s->dag.nodes.count, *derived = par + s->pars;
    get_values(model, SHOAL_PARAMETER, par);
    for (uint32_t i = 0; i < s->derived; i++)
        derived[i] = start[s->derive[i]];
    struct leaf_values v = {
        .t = t, .state = y, .par = par, .derived = derived, .signal = look_up, .user = model};
    dag_evaluate(&s->dag, &v, values);
    return values;
}

static bool is_formula(const shoal_model *model, shoal_kind kind, uint32_t index) {
    return kind == SHOAL_DERIVED ||
           (kind == SHOAL_STATE && symbol_at(model, kind, index)->init.count);
}

static double formula_value(const shoal_model *model, shoal_kind kind, uint32_t index,
                            const double *nodes) {
    const struct system *s = model->found->system;
    return !nodes                ? (double)NAN
           : kind == SHOAL_STATE ? nodes[s->init[index]]
                                 : nodes[s->derive[index]];
}

void shoal_model_values(const shoal_model *model, shoal_kind kind, double t0, double *values) {
    uint32_t count = values && kind <= SHOAL_DERIVED ? shoal_model_count(model, kind) : 0;
    double *nodes = NULL;
    bool failed = false;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = symbol_at(model, kind, i)->value;
        if (!is_formula(model, kind, i))
            continue;
        if (!nodes && !failed)
            failed = !(nodes = api_start(model, t0));
        values[i] = formula_value(model, kind, i, nodes);
    }
    free(nodes);
}

double shoal_model_value(const shoal_model *model, shoal_kind kind, uint32_t index) {
    if (kind > SHOAL_DERIVED || index >= shoal_model_count(model, kind))
        return (double)NAN;
    if (!is_formula(model, kind, index))
        return symbol_at(model, kind, index)->value;
    double *nodes = api_start(model, 0), value = formula_value(model, kind, index, nodes);
    free(nodes);
    return value;
}

void shoal_model_rhs(const shoal_model *model, double t, const double *y, double *dydt) {
    if (!model || !y || !dydt)
        return;
    double *start = api_start(model, t), *values = api_evaluate(model, start, t, y);
    struct system *s = api_system(model, NULL);
    for (uint32_t i = 0; i < shoal_model_count(model, SHOAL_STATE); i++)
        dydt[i] = values ? values[s->rhs[i]] : (double)NAN;
    free(start);
    free(values);
}

// The index-th condition among those of switches, then of jumps, each once.
static node_id condition_at(const struct system *s, uint32_t index, bool *exact) {
    *exact = true;
    for (uint32_t i = 0; i < s->switches; i++) {
        node_id condition = s->time_switch[i].condition;
        bool seen = false;
        for (uint32_t k = 0; k < i; k++)
            seen |= s->time_switch[k].condition == condition;
        if (!seen && !index--)
            return condition;
    }
    *exact = false;
    for (uint32_t i = 0; i < s->jumps; i++) {
        bool seen = i && s->jump[i - 1].condition == s->jump[i].condition;
        if (!seen && !index--)
            return s->jump[i].condition;
    }
    return NODE_NONE;
}

size_t shoal_model_switch(const shoal_model *model, uint32_t index, char *text, size_t room,
                          bool *exact) {
    struct system *s = model ? api_system(model, NULL) : NULL;
    bool known;
    node_id condition = s ? condition_at(s, index, &known) : NODE_NONE;
    struct buf out = {0};
    if (condition == NODE_NONE)
        return 0;
    system_print(&out, s, model->model, condition);
    if (room)
        snprintf(text, room, "%s", out.failed ? "..." : out.data);
    if (exact)
        *exact = known;
    size_t length = out.length;
    buf_free(&out);
    return length;
}

size_t shoal_model_sparsity(const shoal_model *model, uint32_t *rows, uint32_t *columns) {
    if (!model)
        return 0;
    struct system *s = api_system(model, NULL);
    struct arena arena = {0};
    struct budget budget;
    jmp_buf oom;
    volatile size_t count = SIZE_MAX;
    if (!s)
        return count;
    budget = system_budget(s, NULL);
    arena.oom = &oom;
    arena.budget = &budget;
    if (!setjmp(oom)) {
        struct sparsity p = system_sparsity(s, &arena);
        count = p.row_start[p.rows];
        for (uint32_t i = 0; i < p.rows; i++)
            for (uint32_t k = p.row_start[i]; k < p.row_start[i + 1]; k++) {
                if (rows)
                    rows[k] = i;
                if (columns)
                    columns[k] = p.columns[k];
            }
    }
    arena_free(&arena);
    return count;
}
