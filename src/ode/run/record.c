// SPDX-License-Identifier: MIT
// Which events are recorded, and where their arrays lie.
#include "ode/run/record.h"

#include "base/amount.h"
#include "base/ascii.h"
#include "ode/run/outputs.h"

#include <string.h>

enum { RECORD_MOST = 1 << 20 };

struct reader {
    const struct model *model;
    struct arena *arena;
    struct report *report;
    vec(uint32_t) event, most;
};

// The next piece up to a comma, without blanks; *text moves behind it.
static char *next_piece(struct reader *x, const char **text) {
    const char *from = *text, *to = from + strcspn(from, ",");
    *text = *to ? to + 1 : to;
    while (from < to && ascii_space(*from))
        from++;
    while (to > from && ascii_space(to[-1]))
        to--;
    return arena_strndup(x->arena, from, (size_t)(to - from));
}

static shoal_code unknown_event(struct reader *x, const char *name) {
    const struct model *m = x->model;
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < m->events.count; i++)
        nearest_offer(&n, m->events.items[i].name);
    const char *best = nearest_best(&n);
    return report_error(x->report, SHOAL_INPUT, "--record: the model has no event `%.60s`%s%s%s",
                        name, best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
}

// Whether an event is an element of the array.
static bool is_element(const char *event, const char *array) {
    size_t length = strlen(array);
    const char *digits = event + length;
    return !strncmp(event, array, length) && *digits &&
           strspn(digits, "0123456789") == strlen(digits);
}

static shoal_code add_record(struct reader *x, uint32_t event, uint64_t most) {
    for (uint32_t i = 0; i < x->event.count; i++)
        if (x->event.items[i] == event)
            return report_error(x->report, SHOAL_INPUT, "--record: `%.60s` is there twice",
                                x->model->events.items[event].name);
    *vec_push(x->arena, &x->event) = event;
    *vec_push(x->arena, &x->most) = (uint32_t)most;
    return SHOAL_OK;
}

// The event of that name, or all elements of the array.
static shoal_code add_named(struct reader *x, const char *name, uint64_t most) {
    const struct model *m = x->model;
    bool found = false;
    shoal_code code = SHOAL_OK;
    for (uint32_t i = 0; i < m->events.count; i++)
        if (!strcmp(m->events.items[i].name, name))
            return add_record(x, i, most);
    for (uint32_t i = 0; i < m->events.count && code == SHOAL_OK; i++)
        if (is_element(m->events.items[i].name, name)) {
            found = true;
            code = add_record(x, i, most);
        }
    return found ? code : unknown_event(x, name);
}

static shoal_code read_one(struct reader *x, const char **text) {
    const char *name = next_piece(x, text), *count = next_piece(x, text);
    uint64_t most = 0;
    bool counted = amount_count(count, &most) && most >= 1 && most <= RECORD_MOST;
    shoal_code code = add_named(x, name, most);
    if (code == SHOAL_OK && !counted)
        code =
            report_error(x->report, SHOAL_INPUT,
                         "--record: expected a number from 1 to %d behind `%.60s`, as in %.60s,10",
                         RECORD_MOST, name, name);
    return code;
}

shoal_code record_read(const char *text, const struct model *m, struct arena *arena,
                       struct plan_record *out, struct report *r) {
    struct reader x = {.model = m, .arena = arena, .report = r};
    shoal_code code = SHOAL_OK;
    *out = (struct plan_record){0};
    while (text && *text && code == SHOAL_OK)
        code = read_one(&x, &text);
    out->plan = (struct record_plan){.count = x.event.count, .event = x.event.items};
    out->most = x.most.items;
    return code;
}

static void add_array(struct plan_record *p, const char *event, const char *column, uint32_t index,
                      uint32_t most, struct arena *arena) {
    p->array[p->arrays++] =
        (struct result_more){.name = arena_printf(arena, "%s.%s", event, column),
                             .role = ROLE_RECORD,
                             .field = FIELD_record,
                             .index = index,
                             .axis = {most},
                             .words = {.table = event, .stem = column}};
}

void record_lay(struct plan_record *p, const struct model *m, const struct kernel_plan *k,
                struct arena *arena) {
    uint32_t elements = 0, count = p->plan.count;
    p->first = arena_new(arena, uint32_t, count + 1);
    p->array = arena_new(arena, struct result_more, count * (k->outputs + (size_t)1) + 1);
    for (uint32_t i = 0; i < count; i++) {
        const char *event = m->events.items[p->plan.event[i]].name;
        p->first[i] = elements;
        add_array(p, event, "t", elements, p->most[i], arena);
        for (uint32_t v = 0; v < k->outputs; v++)
            add_array(p, event, output_name(m, k->output[v]), elements + (v + 1) * p->most[i],
                      p->most[i], arena);
        elements += (k->outputs + 1) * p->most[i];
    }
}
