// SPDX-License-Identifier: MIT
// Which variables are kept: --vars. Names are matched exactly first, else ignoring case, as in a
// model.
#include "api/solver.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

typedef int compare(const char *a, const char *b, size_t length);

// x is the base name of x1, x2, ...
static bool is_element_of(const char *name, const char *base, size_t length, compare *differ) {
    if (differ(name, base, length) || !name[length])
        return false;
    for (const char *p = name + length; *p; p++)
        if (!isdigit((unsigned char)*p))
            return false;
    return true;
}

static bool same(const char *name, const char *item, size_t length, compare *differ) {
    return strlen(name) == length && !differ(name, item, length);
}

// The variable of that name, or all elements of the array; false when there is none.
static bool add_named(const struct model *m, const char *item, size_t length, compare *differ,
                      struct output_list *out, struct arena *arena) {
    uint32_t count = m->states.count + m->observables.count;
    bool found = false;
    for (uint32_t i = 0; i < count; i++)
        if (same(output_name(m, i), item, length, differ)) {
            add(out, i, arena);
            return true;
        }
    for (uint32_t i = 0; i < count; i++)
        if (is_element_of(output_name(m, i), item, length, differ)) {
            add(out, i, arena);
            found = true;
        }
    return found;
}

static shoal_code add_item(const struct model *m, const char *item, size_t length,
                           struct output_list *out, struct arena *arena, struct report *r) {
    if (add_named(m, item, length, strncmp, out, arena) ||
        (length && add_named(m, item, length, strncasecmp, out, arena)))
        return SHOAL_OK;
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
        while (from < to && isspace((unsigned char)*from))
            from++;
        while (to > from && isspace((unsigned char)to[-1]))
            to--;
        shoal_code code = add_item(m, from, (size_t)(to - from), out, arena, r);
        result = code != SHOAL_OK ? code : result;
        if (!p[length])
            return result;
        p += length + 1;
    }
}
