// SPDX-License-Identifier: MIT
// The adaptive loop of a thread steps until its warp is idle or has waited long enough.

// This follows a step in which a lane of the warp ended, or has to look.
INLINE void attention(const struct shoal_args *a, struct thread *k, struct group *g,
                      const struct verdict *v, u32 hit) {
    u32 ended = v->done | v->failed, status = verdict_status(v, 0);
#if DETECT_STIFF
    u32 attempt = thread_attempts(k, g);
    if (attempt >= g->past.look[0] && stiff_note(&g->past, 0, attempt, hit)) {
        ended = 1;
        status = SHOAL_ROW_STIFF;
    }
#endif
    if (v->done)
        g->x.t = g->t1;
    if (saves_steps(a) && v->moved)
        save_step(a, g, &g->x.t, g->x.y, 1);
    if (!ended && k->wait == 0) {
        ended = a->z.max_steps && thread_attempts(k, g) >= a->z.max_steps;
        status = STATUS_max_steps;
    }
    if (ended)
        thread_end(a, k, g, status);
    else if (k->wait == 0)
        thread_look(a, k, g);
    if (k->stopped)
        thread_rest(g);
}

// Steps until all lanes of the warp are idle, or (refill) those that are have waited long enough
// together.
INLINE void thread_run(const struct shoal_args *a, struct thread *k, struct group *g,
                       struct trial *s, struct point *x, u32 refill) {
    u32 due = 0, waiting = 0;
    for (;;) {
        trial_begin(&k->limits, g, s);
        STAGE_LOOP(i, STAGES) method_stage(&g->x, g->p, s, i);
        u32 hit = 0;
#if DETECT_STIFF // while the stages are at hand
        if (k->wait == 1)
            hit = stiff_hit(&k->limits, g, s);
#endif
        struct verdict v = trial_judge(a, &k->limits, g, s);
        k->wait--;
        HOLD(k->wait);
        if (!warp_any(v.done || v.failed || k->wait == 0))
            continue;
        if (g->active)
            attention(a, k, g, &v, hit);
        u32 idle = warp_count(!g->active), clock = thread_clock(k);
        if (idle == WARP)
            return;
        if (!idle || !refill)
            continue;
        u32 until = clock + divided_roughly(PATIENCE, idle);
        if (!waiting || (int)(until - due) < 0)
            due = until;
        waiting = 1;
        if ((int)(clock - due) >= 0)
            return;
        thread_look_by(k, due - clock);
    }
}
