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

void codegen_watch_sizes(struct buf *out, const struct codegen_request *q) {
    if (!q->watcher)
        return;
    buf_puts(out, "#define WATCHED 1\n");
    buf_printf(out, "#define WATCH_STOPS %d\n", codegen_watches(q->watcher, WATCH_STOPS));
    buf_printf(out, "#define WATCH_LIMITS %d\n", codegen_watches(q->watcher, WATCH_LIMITS));
    buf_printf(out, "#define WATCH_STEPS %d\n", codegen_watches(q->watcher, WATCH_STEPS));
    buf_printf(out, "#define SAVE_GRID %d\n", q->dense);
    put_list(out, "WATCHERS", q->watcher, 0);
    put_list(out, "STOPPERS", q->watcher, WATCH_STOPS);
    put_list(out, "LIMITERS", q->watcher, WATCH_LIMITS);
}
