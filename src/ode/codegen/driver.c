// SPDX-License-Identifier: MIT
// Signals in a kernel: where their numbers are in p, how they are looked up, who watches them.
#include "ode/codegen/codegen.h"

bool codegen_signal_jumps(const struct signal_plan *s) { return s->degree == 0 || s->zero; }

bool codegen_signal_stops(const struct signal_plan *s) {
    return codegen_signal_jumps(s) || !s->even || s->rough;
}

uint32_t codegen_signals_at(const struct kernel_plan *p, const struct system *s) {
    uint32_t infusions = p->dose ? p->dose->infusions : 0;
    return s->pars + s->derived + s->switches + s->jumps + infusions;
}

// As kernels/ode/driver.h has them.
static uint32_t numbers_of(const struct kernel_plan *p, const struct signal_plan *s) {
    uint32_t address = p->f32 ? 2 : 1;
    if (s->degree == 0)
        return 1;
    return s->even ? address + 4 : 2 * address + 1 + s->periodic;
}

uint32_t codegen_signal_numbers(const struct kernel_plan *p, uint32_t count) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += numbers_of(p, &p->signal[i]);
    return sum;
}

static uint32_t stops_of(const struct kernel_plan *p, uint32_t count) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += codegen_signal_stops(&p->signal[i]);
    return sum;
}

void codegen_signal_sizes(struct buf *out, const struct kernel_plan *p, uint32_t signals_at) {
    buf_printf(out, "#define SIGNAL_COUNT %u\n", p->signals);
    buf_printf(out, "#define SIGNALS_AT %u\n", signals_at);
    buf_printf(out, "#define SIGNAL_NUMBERS %u\n", codegen_signal_numbers(p, p->signals));
    buf_printf(out, "#define SIGNAL_STOPS %u\n", stops_of(p, p->signals));
    buf_puts(out, "#define SIGNALS(X)");
    for (uint32_t i = 0; i < p->signals; i++) {
        const struct signal_plan *s = &p->signal[i];
        int state = codegen_signal_stops(s) ? (int)stops_of(p, i) : -1;
        buf_printf(out, " X(%u, %u, %u, %d, %d, %d, %d)", i,
                   signals_at + codegen_signal_numbers(p, i), s->degree, s->degree && s->even,
                   s->periodic, state, codegen_signal_jumps(s));
    }
    buf_puts(out, "\n");
}

void codegen_signal(struct buf *out, const struct emit *e, uint32_t signal, uint32_t order,
                    const char *argument) {
    const struct signal_plan *s = &e->plan->signal[signal];
    uint32_t at = e->signals_at + codegen_signal_numbers(e->plan, signal);
    if (s->degree < order)
        buf_puts(out, "R(0)");
    else if (s->degree == 0)
        buf_printf(out, "p[%u]", at);
    else if (s->even)
        buf_printf(out, "lookup_even(%s, p + %u, %u, %u, %d, %d)", argument, at, s->degree, order,
                   s->periodic, s->extends);
    else
        buf_printf(out, "lookup_uneven(%s, p + %u, %u, %u, %d)", argument, at, s->degree, order,
                   s->periodic);
}

bool codegen_signal_watcher(const struct kernel_plan *p, struct watcher *out, struct arena *arena) {
    uint32_t stops = stops_of(p, p->signals);
    *out = (struct watcher){
        .name = "driver",
        .calls = WATCH_STOPS,
        .state = arena_printf(arena, "struct driver_state { int piece[%u][W]; real turn[%u]; };\n",
                              stops, stops),
        .text = "", // see driver_lanes.h
    };
    return stops;
}
