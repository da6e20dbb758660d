// SPDX-License-Identifier: MIT
// Those who watch trajectories, as lists that the files of kernels/ode walk.
#include "ode/codegen/codegen.h"

bool codegen_watches(const struct watcher *w, unsigned calls) {
    for (; w && w->name; w++)
        if (w->calls & calls)
            return true;
    return false;
}

// Whether one of them does more than look.
static bool steers(const struct watcher *w) {
    for (; w->name; w++)
        if (!(w->calls & WATCH_LOOKS))
            return true;
    return false;
}

// Those that have one of the calls.
static void put_list(struct buf *out, const char *list, const struct watcher *w, unsigned calls) {
    buf_printf(out, "#define %s(X)", list);
    for (; w->name; w++)
        if (!calls || w->calls & calls)
            buf_printf(out, " X(%s)", w->name);
    buf_puts(out, "\n");
}

const struct watcher *codegen_watchers(const struct kernel_plan *p, const struct system *s,
                                       const struct summary_code *summary, const struct emit *like,
                                       struct arena *arena) {
    vec(struct watcher) list = {0};
    if (summary)
        *vec_push(arena, &list) = codegen_summary(summary, like, p->method, arena);
    if (s->switches)
        *vec_push(arena, &list) = codegen_switches(s, arena);
    struct watcher driver;
    if (codegen_signal_watcher(p, &driver, arena))
        *vec_push(arena, &list) = driver;
    if (s->events)
        *vec_push(arena, &list) = codegen_events(p, s, arena);
    if (p->dose)
        *vec_push(arena, &list) = codegen_doses(p, s, arena);
    for (const struct watcher *w = p->watcher; w && w->name; w++)
        *vec_push(arena, &list) = *w;
    if (!list.count)
        return NULL;
    *vec_push(arena, &list) = (struct watcher){0};
    return list.items;
}

void codegen_watch_sizes(struct buf *out, const struct watcher *w, bool dense) {
    buf_puts(out, "#define WATCHED 1\n");
    buf_printf(out, "#define WATCH_STOPS %d\n", codegen_watches(w, WATCH_STOPS));
    buf_printf(out, "#define WATCH_LIMITS %d\n", codegen_watches(w, WATCH_LIMITS));
    buf_printf(out, "#define WATCH_STEPS %d\n", codegen_watches(w, WATCH_STEPS));
    buf_printf(out, "#define WATCH_STARTS %d\n", codegen_watches(w, WATCH_STARTS));
    buf_printf(out, "#define WATCH_STEERS %d\n", steers(w));
    buf_printf(out, "#define WATCH_QUICK %d\n", (w->calls & WATCH_QUICK) && !w[1].name);
    buf_printf(out, "#define SAVE_GRID %d\n", dense);
    put_list(out, "WATCHERS", w, 0);
    put_list(out, "STARTERS", w, WATCH_STARTS);
    put_list(out, "STOPPERS", w, WATCH_STOPS);
    put_list(out, "LIMITERS", w, WATCH_LIMITS);
    put_list(out, "ENDERS", w, WATCH_ENDS);
}
