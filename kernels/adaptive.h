// SPDX-License-Identifier: MIT
// The adaptive loop of a worker: try a step in all groups, judge it, commit lane by lane.

#if COLD_PART
// Step limits and the stop flag; returns 1 to leave.
OUTLINE int look_around(struct worker *k, struct group *g) {
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

OUTLINE void attention(struct worker *k, struct group *g, const struct verdict *v) {
    const struct shoal_args *a = k->args;
    if (a->z.steps_saved)
        save_step(a, g, v->moved);
    u32 ended = v->done | v->failed;
    if (!ended)
        return;
    unsigned char status[W];
    for (int i = 0; i < W; i++)
        status[i] = verdict_status(v, i);
    turn_over(k, g, ended, status);
    if (a->z.max_steps && k->clock + a->z.max_steps < k->look_at)
        k->look_at = k->clock + a->z.max_steps;
}
#else
OUTLINE int look_around(struct worker *k, struct group *g);
OUTLINE void attention(struct worker *k, struct group *g, const struct verdict *v);
#endif

#if HOT_PART
INLINE void run_groups(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    const u32 every = a->z.steps_saved ? ~0u : 0;
    while (k->idle_ways < WAYS) {
        TRIALS(s, k);
        struct verdict v[WAYS];
        u32 notice = 0;
        UNROLL for (int w = 0; w < WAYS; w++) trial_begin(&k->limits, &g[w], &s[w]);
        UNROLL for (int i = 0; i < STAGES; i++) {
            UNROLL for (int w = 0; w < WAYS; w++) rk_stage(&g[w].x, g[w].p, &s[w], i);
        }
        UNROLL for (int w = 0; w < WAYS; w++) {
            v[w] = trial_judge(a, &k->limits, &g[w], &s[w]);
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
#endif
