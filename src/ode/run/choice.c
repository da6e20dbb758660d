// SPDX-License-Identifier: MIT
// The two methods of `auto`, and when one of them is enough.
#include "ode/run/choice.h"

#include "base/ascii.h"
#include "ode/symbolic/lu.h"

const char choice_auto[] = "auto";
static const char explicit_name[] = "tsit5", stiff_name[] = "rodas5p";

const char *choice_name(const char *name) {
    if (ascii_same(name, choice_auto))
        return choice_auto;
    const struct method *m = method_find(name);
    return m ? m->name : NULL;
}

struct choice choice_find(const char *name) {
    if (ascii_same(name, choice_auto))
        return (struct choice){method_find(explicit_name), method_find(stiff_name)};
    return (struct choice){method_find(name), NULL};
}

// Equations that are not differential are for implicit methods.
static bool explicit_is_possible(const struct system *s) { return s->algebraic == 0; }

struct choice choice_for(struct choice c, const struct system *s, bool fixed) {
    if (!c.stiff)
        return c;
    if (!explicit_is_possible(s))
        return (struct choice){c.stiff, NULL};
    // Fixed steps cannot tell, and the matrices of a large system do not fit.
    if (fixed || s->states > LU_MOST_STATES)
        c.stiff = NULL;
    return c;
}
