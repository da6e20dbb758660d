// SPDX-License-Identifier: MIT
// The adaptive loop: try a step, judge it, commit lane by lane.

INLINE void trial_begin(const struct group *g, struct trial *s) {
    real rest = t_diff(g->t1, g->x.t) * g->dir;
    s->last = r_le(rest, g->h * R(1 + 1e-10));
    s->h = select(s->last, rest, g->h) * g->dir;
    s->h = select(r_eq(g->h, R(0)), R(0), s->h); // idle lanes stand still
    s->t_new = t_select(s->last, g->t1, t_add(g->x.t, s->h));
}

// What became of a trial, as lane bits.
struct verdict {
    u32 done, failed, bad; // bad: of the failed, those that are not finite
    u32 moved;             // accepted
};

INLINE struct verdict trial_judge(const struct shoal_args *a, struct group *g, struct trial *s) {
    const elem *control = (const elem *)a->control;
    real error2 = rk_error2(&g->x, s, R(control[CONTROL_RTOL]), (const elem *)a->atol);
    mask accepted = m_and(r_le(error2, R(1)), g->active);
    real h = r_abs(s->h);
    real floor_h = r_max(r_fma(r_abs(t_real(g->x.t)), R(4 * EPSILON), R(SMALLEST_STEP)),
                         R(control[CONTROL_DT_MIN]));
    mask stuck = m_and(m_andnot(g->active, accepted), r_le(h, floor_h));
    real next = control_next(g, error2, h, accepted);
    next = r_min(r_max(next, R(control[CONTROL_DT_MIN])), R(control[CONTROL_DT_MAX]));
    g->h = select(g->active, next, R(0));
    struct verdict v;
    v.moved = m_lanes(accepted);
    v.done = m_lanes(m_and(accepted, s->last));
    v.failed = m_lanes(stuck);
    v.bad = v.failed ? v.failed & ~m_lanes(r_lt(error2, R(HUGE_ERROR))) : 0;
#if DENSE
    if (m_lanes(save_due(g, s->t_new)) & v.moved)
        save_grid(a, g, s, v.moved);
#endif
    STATES(j, 0) g->x.y[j] = select(accepted, s->y1[j], g->x.y[j]);
#if FSAL
    STATES(j, 0) g->x.f0[j] = select(accepted, s->k[STAGES - 1][j], g->x.f0[j]);
#endif
    g->x.t = t_select(accepted, s->t_new, g->x.t);
    g->accepted = i_count(g->accepted, accepted);
    return v;
}

// Step limits and the stop flag; returns 1 to leave.
NOINLINE int look_around(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    if (stop_asked(a->stop))
        return 1;
    k->look_at = k->clock + LOOK_EVERY;
    if (!a->z.max_steps)
        return 0;
    for (int w = 0; w < WAYS; w++) {
        unsigned char status[W];
        u32 ended = 0, active = m_lanes(g[w].active);
        for (int i = 0; i < W; i++) {
            u64 end = g[w].born[i] + a->z.max_steps;
            status[i] = STATUS_max_steps;
            if (!(active >> i & 1))
                continue;
            if (k->clock >= end)
                ended |= 1u << i;
            else if (end < k->look_at)
                k->look_at = end;
        }
        if (ended)
            turn_over(k, &g[w], ended, status);
    }
    // lanes that were just refilled
    if (a->z.max_steps < LOOK_EVERY && k->clock + a->z.max_steps < k->look_at)
        k->look_at = k->clock + a->z.max_steps;
    return 0;
}

NOINLINE void attention(struct worker *k, struct group *g, const struct verdict *v) {
    const struct shoal_args *a = k->args;
    if (a->z.steps_saved)
        save_step(a, g, v->moved);
    u32 ended = v->done | v->failed;
    if (!ended)
        return;
    unsigned char status[W];
    for (int i = 0; i < W; i++)
        status[i] = (unsigned char)(v->done >> i & 1    ? STATUS_ok
                                    : v->bad >> i & 1   ? STATUS_nonfinite
                                                        : STATUS_dt_min);
    turn_over(k, g, ended, status);
    if (a->z.max_steps && k->clock + a->z.max_steps < k->look_at)
        k->look_at = k->clock + a->z.max_steps;
}

INLINE void run_groups(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    const u32 every = a->z.steps_saved ? ~0u : 0;
    while (k->idle_ways < WAYS) {
        TRIALS(s, k);
        struct verdict v[WAYS];
        u32 notice = 0;
        UNROLL for (int w = 0; w < WAYS; w++) trial_begin(&g[w], &s[w]);
        UNROLL for (int i = 0; i < STAGES; i++) {
            UNROLL for (int w = 0; w < WAYS; w++) rk_stage(&g[w].x, g[w].p, &s[w], i);
        }
        UNROLL for (int w = 0; w < WAYS; w++) {
            v[w] = trial_judge(a, &g[w], &s[w]);
            notice |= v[w].done | v[w].failed | (v[w].moved & every);
        }
        k->clock++;
        if (notice) {
            for (int w = 0; w < WAYS; w++)
                if (any(g[w].active))
                    attention(k, &g[w], &v[w]);
        }
        if (k->clock >= k->look_at && look_around(k, g))
            return;
    }
}
