// SPDX-License-Identifier: MIT
// See beside.h.
#include "ode/run/beside.h"

#include "base/thread.h"
#include "ode/run/under_way.h"

static void *make(void *user) {
    struct beside *b = user;
    b->code = takeover_build(b->plan, b->role, &b->how, &b->out, b->log);
    return NULL;
}

void beside_begin(struct beside *b, const struct plan *p, enum plan_role role,
                  const struct build_how *how) {
    *b = (struct beside){.plan = p, .role = role, .how = *how, .log = shoal_log_new()};
    b->how.on_compile = NULL; // nobody is called from another thread
    b->runs = thread_start(&b->thread, make, b) == 0;
}

shoal_code beside_end(struct beside *b, struct runner *runner, shoal_log *log) {
    if (!b->plan)
        return SHOAL_OK;
    if (b->runs)
        pthread_join(b->thread, NULL);
    else
        make(b);
    if (b->code == SHOAL_OK)
        runner->kernel[b->role] = b->out;
    bool is_needless = b->code == SHOAL_INPUT && b->role == PLAN_STIFF;
    if (!is_needless)
        log_pass_on(b->log, log_report(log));
    shoal_log_free(b->log);
    return is_needless ? SHOAL_OK : b->code;
}
