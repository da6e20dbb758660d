// SPDX-License-Identifier: MIT
// The adaptive loop of a thread.

// What follows a step in which a lane of the warp ended, saved, or has to look.
INLINE void attention(const struct shoal_args *a, struct thread *k, struct group *g,
                      const struct verdict *v) {
    u32 ended = v->done | v->failed, status = verdict_status(v, 0);
    if (v->done)
        g->x.t = g->t1;
    if (a->z.steps_saved && v->moved)
        save_step(a, g, 1);
    if (!ended && g->active && k->clock == k->look_at) {
        thread_look(a, k, g);
        ended = k->look_at == k->clock;
        status = STATUS_max_steps;
    }
    if (ended)
        thread_end(a, k, g, status);
    if (k->stopped)
        g->active = 0;
}

// Steps until `idle` lanes of the warp are without a row.
INLINE void thread_run(const struct shoal_args *a, struct thread *k, struct group *g,
                       struct trial *s, struct point *x, u32 idle) {
    const u32 every = a->z.steps_saved ? ~0u : 0;
    for (;;) {
        trial_begin(g, s);
        STAGE_LOOP(i, STAGES) rk_stage(&g->x, g->p, s, i);
        struct verdict v = trial_judge(a, g, s);
        k->clock++;
        if (warp_any((v.done | v.failed | (v.moved & every)) != 0 || k->clock == k->look_at)) {
            attention(a, k, g, &v);
            if (warp_count(!g->active) >= idle)
                return;
        }
    }
}
