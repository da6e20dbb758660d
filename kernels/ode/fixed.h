// SPDX-License-Identifier: MIT
// The fixed-step loop of a worker takes bursts of all groups, and single steps where something
// happens.

#if HOT_PART
// Takes one step with all its consequences.
INLINE void careful_step(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    TRIALS(s, k);
    fixed_begin(a, &k->limits, g, s);
    s->h = select(g->active, s->h, R(0));
    STAGE_LOOP(i, STAGES) method_stage(&g->x, g->p, s, i);
    struct outcome o = fixed_commit(a, &k->limits, g, s, 1);
    if (saves_steps(a))
        save_step(a, g, &g->x.t, g->x.y, o.shown);
    u32 ended = m_lanes(g->active) & outcome_ended(&o);
    if (!ended)
        return;
    unsigned char status[W];
    for (int i = 0; i < W; i++)
        status[i] = outcome_status(&o, i);
    turn_over(k, g, ended, status);
}

// Takes `count` steps of all groups without masks. Returns 0, with everything as before, when a
// live lane did not stay finite.
INLINE int burst(struct worker *k, struct group *g, u32 count) {
    const struct shoal_args *a = k->args;
    POINTS(x, k);
    TRIALS(s, k);
    int fine = 1;
    real h = R(a->control[CONTROL_DT]) * g[0].dir; // one for all: fewer registers
    for (int w = 0; w < WAYS; w++) {
        x[w].t = g[w].x.t;
        STATES(j, 0) x[w].y[j] = g[w].x.y[j];
#if COMPENSATED
        STATES(j, 0) x[w].low[j] = g[w].x.low[j];
#endif
        STATES(j, 0) x[w].f0[j] = g[w].x.f0[j];
        s[w].h = h;
#if IMPLICIT
        s[w].limits = &k->limits;
#endif
#if NEWTON
        newton_trial(g[w].active, g[w].past.rate, &s[w].n);
#endif
    }
    fixed_burst(a, g, x, s, count);
    for (int w = 0; w < WAYS; w++)
        fine &= !any(m_andnot(g[w].active, finite_all(x[w].y)));
    for (int w = 0; w < WAYS && fine; w++) {
        g[w].left = g[w].left - (ielem)count;
        g[w].accepted = g[w].accepted + (ielem)count;
#if NEWTON
        newton_count(&g[w], &s[w]);
#endif
        g[w].x.t = fixed_time(a, &g[w], fixed_done(a, &g[w]));
        STATES(j, 0) g[w].x.y[j] = x[w].y[j];
#if COMPENSATED
        STATES(j, 0) g[w].x.low[j] = x[w].low[j];
#endif
        STATES(j, 0) g[w].x.f0[j] = x[w].f0[j];
    }
    return fine;
}

INLINE void run_groups(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    u32 careful = 0; // steps to go one by one
    while (k->idle_ways < WAYS) {
        u32 quiet = careful || saves_steps(a) ? 0 : BURST;
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
#endif
