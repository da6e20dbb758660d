// SPDX-License-Identifier: MIT
// Reads tolerances out of the options, and makes those of the steps of a method of them.
#include "ode/run/tolerances.h"

#include "base/ascii.h"
#include "base/list.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

double tolerances_rtol(const shoal_options *options) {
    double standard = options->precision == SHOAL_F32 ? 1e-4 : 1e-6;
    return isnan(options->rtol) ? standard : options->rtol;
}

double tolerances_atol(const shoal_options *options) {
    double standard = options->precision == SHOAL_F32 ? 1e-6 : 1e-9;
    return isnan(options->atol) ? standard : options->atol;
}

// True when `name` is `base` followed by digits: an element of the array `base`.
static bool is_element(const char *name, const char *base, bool fold) {
    size_t n = strlen(base);
    bool same = fold ? ascii_same_prefix(name, base, n) : !strncmp(name, base, n);
    return same && name[n] && strspn(name + n, "0123456789") == strlen(name + n);
}

// The elements of an array; those of one that is written in another case only if there are no
// others.
static uint32_t set_elements(const struct model *m, const char *base, double value, double *atol) {
    uint32_t set = 0;
    for (int fold = 0; fold < 2 && !set; fold++)
        for (uint32_t i = 0; i < m->states.count; i++)
            if (is_element(m->symbols.items[m->states.items[i]].name, base, fold)) {
                atol[i] = value;
                set++;
            }
    return set;
}

static shoal_code set_atol(struct model *m, const char *name, double value, double *atol,
                           struct report *r) {
    uint32_t symbol = model_find(m, name, "--atol", NULL), set = 0;
    for (uint32_t i = 0; i < m->states.count; i++)
        if (m->states.items[i] == symbol) {
            atol[i] = value;
            set++;
        }
    if (symbol == UINT32_MAX)
        set = set_elements(m, name, value, atol);
    if (set)
        return SHOAL_OK;
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < m->states.count; i++)
        nearest_offer(&n, m->symbols.items[m->states.items[i]].name);
    const char *best = nearest_best(&n);
    return report_error(r, SHOAL_INPUT, "--atol: '%s' is not a state of the model%s%s%s", name,
                        best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
}

shoal_code tolerances_of_states(const shoal_options *options, struct model *m, double *atol,
                                struct report *r) {
    for (uint32_t i = 0; i < m->states.count; i++)
        atol[i] = tolerances_atol(options);
    shoal_code result = SHOAL_OK;
    for (const char *at = options->atol_list; at && *at;) {
        char item[256];
        double value;
        char *text = list_item(&at, item, sizeof item) ? list_split(item) : NULL;
        if (!text || !number_finite(text, &value) || !(value > 0))
            return report_error(r, SHOAL_INPUT, "--atol: '%s' is not a list of STATE=NUMBER",
                                options->atol_list);
        shoal_code code = set_atol(m, item, value, atol, r);
        result = code ? code : result;
    }
    return result;
}

shoal_code tolerances_make(const shoal_options *o, struct model *m, const struct kernel_plan *k,
                           struct arena *arena, struct tolerances *out, struct report *r) {
    double *atol = arena_new(arena, double, m->states.count);
    shoal_code code = tolerances_of_states(o, m, atol, r);
    double rtol = tolerances_rtol(o);             // what the user asked for
    double floor = k->f32 ? fmin(rtol, 1e-6) : 0; // of what f32 can tell apart
    double of_step = k->controller == CONTROLLER_FIXED ? rtol : method_tolerance(k->method, rtol);
    out->rtol = fmax(of_step, floor);
    for (uint32_t i = 0; i < m->states.count; i++)
        atol[i] *= out->rtol / rtol;
    out->atol = atol;
    return code;
}
