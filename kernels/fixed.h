// SPDX-License-Identifier: MIT
// The fixed-step loop: t_i = t0 + i dt, the last step shortened.
//
// Runs of steps in which no lane ends and no sample falls go without masks (a burst); whether
// everything stayed finite is looked at once behind a burst, and if not, the burst is taken back
// and repeated step by step, so that a failure is dated exactly.

// Steps every lane of the group can take before something happens to one.
INLINE u32 quiet_steps(const struct shoal_args *a, const struct group *g) {
    const elem *control = (const elem *)a->control;
    u32 active = m_lanes(g->active), quiet = BURST;
#if DENSE
    real gap = t_diff(g->next_save, g->x.t) * g->dir;
#endif
    for (int i = 0; i < W; i++) {
        if (!(active >> i & 1))
            continue;
        u64 left = (u64)LANE(g->left, i), done = (u64)LANE(g->accepted, i);
        if (left - 1 < quiet)
            quiet = (u32)(left - 1);
        if (a->z.max_steps && a->z.max_steps - done - 1 < quiet)
            quiet = (u32)(a->z.max_steps - done - 1);
#if DENSE
        elem steps = LANE(gap, i) / control[CONTROL_DT] - (elem)2;
        if (steps < (elem)quiet)
            quiet = steps > 0 ? (u32)steps : 0;
#endif
    }
    return quiet;
}

// t0 + i dt, i being the steps done.
INLINE treal fixed_time(const struct shoal_args *a, const struct group *g, ireal done) {
    const elem *control = (const elem *)a->control;
    treal dt = t_pair(control[CONTROL_DT], control[CONTROL_DT_LO]);
    return t_index(g->t0, done, t_signed(dt, g->dir));
}

// One step with all its consequences.
INLINE void careful_step(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    TRIALS(s, k);
    unsigned char status[W];
    u32 active = m_lanes(g->active), last = 0, over = 0;
    for (int i = 0; i < W; i++) {
        last |= (u32)(LANE(g->left, i) == 1) << i;
        over |= (u32)(a->z.max_steps && (u64)LANE(g->accepted, i) + 1 == a->z.max_steps) << i;
    }
    s->last = m_of_lanes(last);
    s->h = select(s->last, t_diff(g->t1, g->x.t), g->h * g->dir);
    s->h = select(g->active, s->h, R(0));
    UNROLL for (int i = 0; i < STAGES; i++) rk_stage(&g->x, g->p, s, i);
    mask fine = m_and(g->active, finite_all(s->y1));
    u32 moved = m_lanes(fine);
    ireal before = g->accepted;
    g->accepted = i_count(g->accepted, fine);
    s->t_new = t_select(s->last, g->t1, fixed_time(a, g, g->accepted));
#if DENSE
    if (m_lanes(save_due(g, s->t_new)) & moved)
        save_grid(a, g, s, moved);
#endif
    STATES(j, 0) g->x.y[j] = select(fine, s->y1[j], g->x.y[j]);
#if FSAL
    STATES(j, 0) g->x.f0[j] = select(fine, s->k[STAGES - 1][j], g->x.f0[j]);
#endif
    g->x.t = t_select(fine, s->t_new, g->x.t);
    g->left = g->left - (g->accepted - before);
    if (a->z.steps_saved)
        save_step(a, g, moved);
    u32 ended = active & (last | over | ~moved);
    if (!ended)
        return;
    for (int i = 0; i < W; i++)
        status[i] = (unsigned char)(!(moved >> i & 1) ? STATUS_nonfinite
                                    : last >> i & 1   ? STATUS_ok
                                                      : STATUS_max_steps);
    turn_over(k, g, ended, status);
}

// `count` steps of all groups without masks. Returns 0, with everything as before, when a live lane
// did not stay finite.
INLINE int burst(struct worker *k, struct group *g, u32 count) {
    const struct shoal_args *a = k->args;
    POINTS(x, k);
    TRIALS(s, k);
    int fine = 1;
    real h = R(((const elem *)a->control)[CONTROL_DT]) * g[0].dir; // one for all: fewer registers
    for (int w = 0; w < WAYS; w++) {
        x[w].t = g[w].x.t;
        STATES(j, 0) x[w].y[j] = g[w].x.y[j];
        STATES(j, 0) x[w].f0[j] = g[w].x.f0[j];
        s[w].h = h;
    }
    for (u32 n = 1; n <= count; n++) {
        UNROLL for (int i = 0; i < STAGES; i++) {
            UNROLL for (int w = 0; w < WAYS; w++) rk_stage(&x[w], g[w].p, &s[w], i);
        }
        UNROLL for (int w = 0; w < WAYS; w++) {
            STATES(j, 0) x[w].y[j] = s[w].y1[j];
#if FSAL
            STATES(j, 0) x[w].f0[j] = s[w].k[STAGES - 1][j];
#endif
#if USES_TIME
            x[w].t = fixed_time(a, &g[w], g[w].accepted + (ielem)n);
#endif
        }
    }
    for (int w = 0; w < WAYS; w++)
        fine &= !any(m_andnot(g[w].active, finite_all(x[w].y)));
    for (int w = 0; w < WAYS && fine; w++) {
        g[w].left = g[w].left - (ielem)count;
        g[w].accepted = g[w].accepted + (ielem)count;
        g[w].x.t = fixed_time(a, &g[w], g[w].accepted);
        STATES(j, 0) g[w].x.y[j] = x[w].y[j];
        STATES(j, 0) g[w].x.f0[j] = x[w].f0[j];
    }
    return fine;
}

INLINE void run_groups(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    u32 careful = 0; // steps to go one by one
    while (k->idle_ways < WAYS) {
        u32 quiet = careful || a->z.steps_saved ? 0 : BURST;
        for (int w = 0; w < WAYS && quiet; w++) {
            u32 q = quiet_steps(a, &g[w]);
            quiet = q < quiet ? q : quiet;
        }
        if (quiet) {
            if (burst(k, g, quiet))
                k->clock += quiet;
            else
                careful = quiet;
        } else {
            k->clock++;
            careful -= careful > 0;
            for (int w = 0; w < WAYS; w++)
                if (any(g[w].active))
                    careful_step(k, &g[w]);
        }
        if (k->clock >= k->look_at) {
            if (stop_asked(a->stop))
                return;
            k->look_at = k->clock + LOOK_EVERY;
        }
    }
}
