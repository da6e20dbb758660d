// SPDX-License-Identifier: MIT
// Switches in time as somebody who watches: their lists, level by level, for kernels/ode.
#include "kernel/files.h"
#include "ode/codegen/codegen.h"

static const char *const kind_names[] = {
    [SWITCH_BELOW] = "BELOW", [SWITCH_UPTO] = "UPTO", [SWITCH_FLOOR] = "FLOOR"};

uint32_t codegen_switch_levels(const struct system *s) {
    uint32_t levels = 0;
    for (uint32_t i = 0; i < s->switches; i++)
        if (s->time_switch[i].level >= levels)
            levels = s->time_switch[i].level + 1;
    return levels;
}

// SWITCH_LEVELS calls its argument with each level, SWITCHES_OF_n its own with each switch.
static void put_lists(struct buf *out, const struct system *s) {
    uint32_t levels = codegen_switch_levels(s);
    buf_printf(out, "enum { SWITCHES = %u, SWITCHES_AT = %u };\n#define SWITCH_LEVELS(L)",
               s->switches, s->pars + s->derived);
    for (uint32_t level = 0; level < levels; level++)
        buf_printf(out, " L(%u)", level);
    for (uint32_t level = 0; level < levels; level++) {
        buf_printf(out, "\n#define SWITCHES_OF_%u(X)", level);
        for (uint32_t i = 0; i < s->switches; i++)
            if (s->time_switch[i].level == level)
                buf_printf(out, " X(%u, %s)", i, kind_names[s->time_switch[i].kind]);
    }
    buf_puts(out, "\n");
}

struct watcher codegen_switches(const struct system *s, struct arena *arena) {
    struct buf text = {0};
    put_lists(&text, s);
    buf_puts(&text, kernel_file_find("ode", "switches.h")->text);
    struct watcher w = {.name = "switches",
                        .calls = WATCH_STOPS,
                        .state =
                            "struct switches_state {\n"
                            "    treal next;\n"
                            "    u32 endless; // lanes in which one turns faster than time tells\n"
                            "};\n",
                        .text = text.failed ? "" : arena_strdup(arena, text.data)};
    buf_free(&text);
    return w;
}
