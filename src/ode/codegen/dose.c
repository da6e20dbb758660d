// SPDX-License-Identifier: MIT
// Doses as somebody who watches. The rate of an infusion is a number of the lane, behind switches
// and jumps, that is added to the right-hand side of its state.
#include "kernel/files.h"
#include "ode/codegen/codegen.h"

#include <string.h>

node_id *codegen_infused(const struct kernel_plan *p, struct system *s, struct arena *arena) {
    node_id *rhs = arena_new(arena, node_id, s->states);
    memcpy(rhs, s->rhs, s->states * sizeof *rhs);
    for (uint32_t i = 0; p->dose && i < p->dose->infusions; i++) {
        node_id rate = dag_leaf(&s->dag, LEAF_SWITCH, s->switches + s->jumps + i);
        node_id *of = &rhs[p->dose->infused[i]];
        *of = dag_op(&s->dag, OP_ADD, *of, rate, NODE_NONE);
    }
    return rhs;
}

struct system_event *codegen_infused_events(struct system *s, struct arena *arena) {
    struct system_event *given = s->event, *copy = arena_new(arena, struct system_event, s->events);
    memcpy(copy, given, s->events * sizeof *copy);
    s->event = copy;
    event_find_slopes(s, arena);
    s->event = given;
    return copy;
}

struct watcher codegen_doses(const struct kernel_plan *p, const struct system *s,
                             struct arena *arena) {
    const char *state = "#define INFUSIONS %u\n#define INFUSIONS_AT %u\n"
                        "struct dose_state {\n"
                        "    u32 next[W], end[W]; // of the doses of a row\n"
                        "};\n";
    return (struct watcher){.name = "dose",
                            .calls = WATCH_STOPS | WATCH_STARTS,
                            .state = arena_printf(arena, state, p->dose->infusions,
                                                  s->pars + s->derived + s->switches + s->jumps),
                            .text = kernel_file_find("ode", "dose.h")->text};
}
