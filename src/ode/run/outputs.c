// SPDX-License-Identifier: MIT
// Which variables are kept: --vars. Names are matched exactly first, else the only one ignoring
// case, with a note, as in a model.
#include "ode/run/outputs.h"

#include "base/ascii.h"

#include <string.h>

const char *output_name(const struct model *m, uint32_t output) {
    return output < m->states.count ? m->symbols.items[m->states.items[output]].name
                                    : m->observables.items[output - m->states.count].label;
}

static void add(struct output_list *out, uint32_t output, struct arena *arena) {
    for (uint32_t i = 0; i < out->items.count; i++)
        if (out->items.items[i] == output)
            return; // named twice: one column
    *vec_push(arena, &out->items) = output;
}

// Whether a name is that item, or as an element (x1, x2) one of the array of that name.
static bool is_named(const char *name, const char *item, size_t length, bool element, bool fold) {
    if (fold ? !ascii_same_prefix(name, item, length) : strncmp(name, item, length))
        return false;
    const char *rest = name + length;
    return element ? *rest && !rest[strspn(rest, "0123456789")] : !*rest;
}

// The variable of that name, or all elements of the array; false when there is none.
static bool add_named(const struct model *m, const char *item, size_t length,
                      struct output_list *out, struct arena *arena) {
    uint32_t count = m->states.count + m->observables.count;
    bool found = false;
    for (int element = 0; element < 2 && !found; element++)
        for (uint32_t i = 0; i < count; i++)
            if (is_named(output_name(m, i), item, length, element, false)) {
                add(out, i, arena);
                found = true;
            }
    return found;
}

// The only name that starts with the item in another case and is it, or of its elements; NULL when
// there is none or more than one.
static const char *other_case(const struct model *m, const char *item, size_t length) {
    uint32_t count = m->states.count + m->observables.count;
    const char *found = NULL;
    for (int element = 0; element < 2 && !found; element++)
        for (uint32_t i = 0; i < count; i++) {
            const char *name = output_name(m, i);
            if (!is_named(name, item, length, element, true))
                continue;
            if (found && strncmp(found, name, length))
                return NULL;
            found = name;
        }
    return found;
}

static shoal_code add_item(const struct model *m, const char *item, size_t length,
                           struct output_list *out, struct arena *arena, struct report *r) {
    if (add_named(m, item, length, out, arena))
        return SHOAL_OK;
    const char *other = length ? other_case(m, item, length) : NULL;
    if (other) {
        report_note(r, "--vars: `%.*s` is read as `%.*s`", (int)length, item, (int)length, other);
        add_named(m, other, length, out, arena);
        return SHOAL_OK;
    }
    uint32_t count = m->states.count + m->observables.count;
    char *wanted = arena_strndup(arena, item, length);
    struct nearest n = {.wanted = wanted};
    for (uint32_t i = 0; i < count; i++)
        nearest_offer(&n, output_name(m, i));
    const char *best = nearest_best(&n);
    return report_error(r, SHOAL_INPUT, "--vars: '%s' is no state or observable of the model%s%s%s",
                        wanted, best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
}

shoal_code outputs_choose(const struct model *m, const char *vars, struct arena *arena,
                          struct output_list *out, struct report *r) {
    *out = (struct output_list){0};
    if (!vars) {
        for (uint32_t i = 0; i < m->states.count; i++)
            *vec_push(arena, &out->items) = i;
        return SHOAL_OK;
    }
    shoal_code result = SHOAL_OK;
    for (const char *p = vars;;) {
        size_t length = strcspn(p, ",");
        const char *from = p, *to = p + length;
        while (from < to && ascii_space(*from))
            from++;
        while (to > from && ascii_space(to[-1]))
            to--;
        shoal_code code = add_item(m, from, (size_t)(to - from), out, arena, r);
        result = code != SHOAL_OK ? code : result;
        if (!p[length])
            return result;
        p += length + 1;
    }
}
