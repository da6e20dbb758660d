// SPDX-License-Identifier: MIT
// Those who watch trajectories, as lists that the files of kernels/ode walk.
#include "ode/codegen/codegen.h"

bool codegen_watches(const struct watcher *w, unsigned calls) {
    for (; w && w->name; w++)
        if (w->calls & calls)
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

void codegen_watch_sizes(struct buf *out, const struct kernel_plan *p) {
    if (!p->watcher)
        return;
    buf_puts(out, "#define WATCHED 1\n");
    buf_printf(out, "#define WATCH_STOPS %d\n", codegen_watches(p->watcher, WATCH_STOPS));
    buf_printf(out, "#define WATCH_LIMITS %d\n", codegen_watches(p->watcher, WATCH_LIMITS));
    buf_printf(out, "#define WATCH_STEPS %d\n", codegen_watches(p->watcher, WATCH_STEPS));
    buf_printf(out, "#define SAVE_GRID %d\n", p->dense);
    put_list(out, "WATCHERS", p->watcher, 0);
    put_list(out, "STOPPERS", p->watcher, WATCH_STOPS);
    put_list(out, "LIMITERS", p->watcher, WATCH_LIMITS);
}
