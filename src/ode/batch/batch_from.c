// SPDX-License-Identifier: MIT
// Runs that go on where those of a result ended (--from): inputs as they were, final states as
// initial values, and the time of these.
//
// The file may come from anywhere. A run that failed, or whose states are not finite, is lost: its
// initial values are not numbers, and it ends as bad_init.
#include "ode/batch/batch_data.h"
#include "ode/symbolic/symbolic.h"

#include <math.h>
#include <string.h>

static double number_of(const struct table_column *c, uint64_t row) {
    return c->number ? c->number[row] : (double)c->number32[row];
}

static bool is_number(const struct table_column *c) { return c->number || c->number32; }

// The parameter or state that a column is called like; NULL: none. In a result of ours case counts.
static const struct symbol *namesake(struct batch *b, const struct table_column *c,
                                     enum symbol_kind kind) {
    const char *name = batch_column_symbol(b, c->name, kind);
    uint32_t symbol = model_find(b->model, name, "", NULL);
    const struct symbol *s = symbol == UINT32_MAX ? NULL : &b->model->symbols.items[symbol];
    bool is = s && s->kind == kind && (c->kind == TABLE_ANY || !strcmp(s->name, name));
    return is && !(result_name_is_ours(c->name)) && is_number(c) ? s : NULL;
}

// What a column is to the model; NULL: nothing that a run begins with. In a result of ours an input
// is a parameter, since initial values have no name alone, and a variable a state.
static const struct symbol *meaning(struct batch *b, const struct table_column *c) {
    const struct symbol *par =
        c->kind == TABLE_ANY || c->kind == TABLE_INPUT ? namesake(b, c, SYMBOL_PAR) : NULL;
    bool ends = c->kind == TABLE_ANY || c->kind == TABLE_VARIABLE;
    return par ? par : ends ? namesake(b, c, SYMBOL_STATE) : NULL;
}

// ---- Which runs, and when -----------------------------------------------------------------------

static bool ended_well(const char *status) {
    return status && (!strcmp(status, shoal_status_word(SHOAL_STATUS_ok)) ||
                      !strcmp(status, shoal_status_word(SHOAL_STATUS_stopped)));
}

static shoal_code find_lost(struct batch *b, const struct table *t, struct report *r) {
    const struct table_column *status = table_find(t, RESULT_STATUS);
    bool *lost = arena_new(&b->arena, bool, t->rows);
    uint64_t left = 0;
    for (uint64_t k = 0; k < t->rows; k++)
        lost[k] = !status || !status->text || !ended_well(status->text[k]);
    for (uint32_t i = 0; i < t->columns.count; i++) {
        const struct table_column *c = &t->columns.items[i];
        const struct symbol *s = meaning(b, c);
        for (uint64_t k = 0; s && s->kind == SYMBOL_STATE && k < t->rows; k++)
            lost[k] = lost[k] || !isfinite(number_of(c, k));
    }
    for (uint64_t k = 0; k < t->rows; k++)
        left += !lost[k];
    b->lost = lost;
    if (left && left < t->rows)
        report_note(r,
                    "--from: %llu of %llu runs of %s failed, or it does not hold how they ended: "
                    "these end as bad_init",
                    (unsigned long long)(t->rows - left), (unsigned long long)t->rows, t->source);
    return left ? SHOAL_OK
                : report_error(r, SHOAL_INPUT, "--from: none of the runs of %s reached its end",
                               t->source);
}

static shoal_code find_t0(struct batch *b, const struct table *t, struct report *r) {
    const struct table_column *time = table_find(t, RESULT_T);
    bool found = false;
    b->start = BATCH_AT_ONE_TIME;
    for (uint64_t k = 0; time && is_number(time) && k < t->rows; k++) {
        double at = number_of(time, k);
        if (b->lost[k])
            continue;
        if (!isfinite(at))
            return report_error(r, SHOAL_INPUT, "--from: %s: a run ends at a time that is none",
                                t->source);
        if (found && at != b->t0)
            b->start = BATCH_AT_MANY_TIMES;
        b->t0 = found ? b->t0 : at;
        found = true;
    }
    return found ? SHOAL_OK
                 : report_error(r, SHOAL_INPUT, "--from: %s does not say when its runs end",
                                t->source);
}

static void compare_numbers(struct batch *b, const struct table *t) {
    const struct table_column *run = table_find(t, RESULT_RUN);
    b->renumbered = false;
    for (uint64_t k = 0; run && is_number(run) && k < t->rows; k++)
        b->renumbered = b->renumbered || number_of(run, k) != (double)k;
}

// ---- Columns ------------------------------------------------------------------------------------

// The end of a state; of runs that are lost NaN.
static shoal_code add_end(struct batch *b, const struct table *t, const struct table_column *c,
                          const struct symbol *s, struct report *r) {
    struct input input = {.source = b->table, .kind = INPUT_TABLE};
    shoal_code code = spec_resolve(b->model, &b->arena, s->name, t->source, &input.name, r);
    if (code != SHOAL_OK)
        return code;
    double *copy = arena_new(&b->arena, double, t->rows);
    for (uint64_t k = 0; k < t->rows; k++)
        copy[k] = b->lost[k] ? (double)NAN : number_of(c, k);
    input.column = copy;
    return batch_add_input(b, input, r);
}

static shoal_code add_columns(struct batch *b, const struct table *t, struct report *r) {
    shoal_code result = SHOAL_OK;
    for (uint32_t i = 0; i < t->columns.count; i++) {
        const struct table_column *c = &t->columns.items[i];
        const struct symbol *s = c->name[0] == '_' ? NULL : meaning(b, c);
        shoal_code code = SHOAL_OK;
        if (c->name[0] == '_')
            batch_add_extra(b, t, c);
        else if (!s && c->kind >= TABLE_VARIABLE && namesake(b, c, SYMBOL_PAR))
            report_note(r,
                        "--from: `%s` is there what came out of the runs; the parameter is not "
                        "changed by it",
                        c->name);
        else if (s)
            code = s->kind == SYMBOL_STATE ? add_end(b, t, c, s, r) : batch_add_column(b, t, c, r);
        result = result ? result : code;
    }
    return result;
}

static shoal_code check_states(const struct batch *b, const struct table *t, struct report *r) {
    for (uint32_t k = 0; k < b->model->states.count; k++) {
        uint32_t symbol = b->model->states.items[k], input = b->slots[symbol].input;
        if (input && b->inputs.items[input - 1].kind == INPUT_TABLE)
            continue;
        return report_error(r, SHOAL_INPUT,
                            "--from: %s has no end of `%s`; a run goes on from all states: keep "
                            "them with --vars",
                            t->source, b->model->symbols.items[symbol].name);
    }
    return SHOAL_OK;
}

// ---- What a result does not hold ----------------------------------------------------------------

// What begins with t0 or initial values begins anew; one long run would not do so.
static void note_anew(const struct batch *b, struct report *r) {
    const struct model *m = b->model;
    for (uint32_t i = 0; i < m->events.count; i++) {
        const struct event *e = &m->events.items[i];
        if (e->kind == EVENT_EVERY && !e->times.items[EVERY_FROM].count)
            report_note(r,
                        "--from: event `%s` is counted from t0, which is another one now; say "
                        "`from` in the model for one rhythm in all segments",
                        e->name);
    }
    struct system *s = m->derived.count ? system_new(m, NULL) : NULL;
    if (s && s->starts)
        report_note(r, "--from: derived parameters are made of initial values or t0, which are "
                       "those of this segment");
    system_free(s);
}

// Whether somebody said what the parameter is at the start of this segment.
static bool is_said(const struct batch *b, const struct model *m, uint32_t symbol) {
    uint32_t input = b->slots[symbol].input;
    return m->symbols.items[symbol].set ||
           (input && b->inputs.items[input - 1].kind != INPUT_TABLE);
}

shoal_code batch_check_from(const struct batch *b, const struct model *m, struct report *r) {
    for (uint32_t i = 0; i < m->events.count && b->start != BATCH_AT_ANY_TIME; i++) {
        const struct event *e = &m->events.items[i];
        for (uint32_t k = 0; k < e->actions.count; k++) {
            uint32_t to = e->actions.items[k].target;
            if (to == ACTION_STOP || m->symbols.items[to].kind != SYMBOL_PAR || is_said(b, m, to))
                continue;
            const char *name = m->symbols.items[to].name;
            return report_error(r, SHOAL_INPUT,
                                "--from: event `%s` changes `%s`, and a result does not hold what "
                                "a parameter was at the end: make it a state (%s'=0)%s%s",
                                e->name, name, name, b->slots[to].input ? "" : ", or give --set ",
                                b->slots[to].input ? "" : name);
        }
    }
    return SHOAL_OK;
}

static shoal_code continue_table(struct batch *b, const void *table, struct report *r) {
    const struct table *t = table;
    shoal_code code = batch_begin_table(b, t, r);
    if (code == SHOAL_OK)
        code = find_lost(b, t, r);
    if (code == SHOAL_OK)
        code = find_t0(b, t, r);
    compare_numbers(b, t);
    if (code == SHOAL_OK)
        code = add_columns(b, t, r);
    if (code == SHOAL_OK)
        code = check_states(b, t, r);
    if (code == SHOAL_OK)
        note_anew(b, r);
    return code;
}

shoal_code batch_continue(struct batch *b, const struct table *t, struct report *r) {
    const bool *lost = b->lost;
    enum batch_start start = b->start;
    double t0 = b->t0;
    shoal_code code = batch_guard(b, continue_table, t, r);
    if (code != SHOAL_OK) {
        b->lost = lost;
        b->start = start;
        b->t0 = t0;
    }
    return code;
}

enum batch_start batch_start(const struct batch *b, double *t0) {
    *t0 = b->t0;
    return b->start;
}

bool batch_has_lost(const struct batch *b) { return b->lost != NULL; }

bool batch_renumbers(const struct batch *b) {
    return b->lost && (b->renumbered || batch_runs(b) != batch_table_rows(b));
}

bool batch_is_lost(const struct batch *b, uint64_t run) {
    return b->lost && b->lost[batch_table_row(b, run)];
}
