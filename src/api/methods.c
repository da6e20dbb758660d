// SPDX-License-Identifier: MIT
// The method table, for those outside.
#include "ode/run/choice.h"

uint32_t shoal_method_count(void) { return method_count; }

shoal_method_info shoal_method_at(uint32_t index) {
    if (index >= method_count)
        return (shoal_method_info){.name = "",
                                   .aliases = "",
                                   .controller = "",
                                   .good_for = "",
                                   .stability = "",
                                   .interpolant = ""};
    static const char *const stability[] = {
        [STABILITY_LIMITED] = "", [A_STABLE] = "A", [L_STABLE] = "L"};
    const struct method *m = &methods[index];
    return (shoal_method_info){
        .name = m->name,
        .aliases = m->aliases,
        .controller = controller_names[m->controller],
        .order = m->order,
        .embedded_order = m->embedded,
        .stages = m->stages,
        .fsal = m->fsal,
        .stability = stability[m->stability],
        .stiffly_accurate = method_stiffly_accurate(m),
        .interpolant = m->degree ? "own" : "cubic Hermite",
        .good_for = m->good_for,
    };
}

uint32_t shoal_method_parts(const char *name, const char *parts[2]) {
    struct choice c = name ? choice_find(name) : (struct choice){0};
    if (!parts)
        return 0;
    parts[0] = c.first ? c.first->name : NULL;
    parts[1] = c.stiff ? c.stiff->name : NULL;
    return (uint32_t)(c.first != NULL) + (c.stiff != NULL);
}
