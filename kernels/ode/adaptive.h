// SPDX-License-Identifier: MIT
// The adaptive loop of a worker tries a step in all groups, judges it and commits it lane by lane.

#if COLD_PART
// Makes sure that lanes that begin now are looked at before their limits are passed.
INLINE void look_at_new(struct worker *k) {
    u64 most = k->args->z.max_steps;
#if DETECT_STIFF
    most = most && most < STIFF_FIRST - 1 ? most : STIFF_FIRST - 1;
#endif
    if (most && k->clock + most < k->look_at)
        k->look_at = k->clock + most;
}

#if DETECT_STIFF
// Returns the lanes that their next attempt shows to be stiff. It is made here, for this alone, so
// that the loop has nothing to keep.
INLINE u32 stiff_lanes(struct worker *k, struct group *g) {
    u32 active = m_lanes(g->active), due = 0, hits = 0, found = 0;
    for (int i = 0; i < W; i++)
        due |= (u32)((active >> i & 1) && (u32)(k->clock - g->born[i]) + 1 >= g->past.look[i]) << i;
    if (due) {
        TRIALS(s, k);
        trial_begin(&k->limits, g, s);
        if (due & m_lanes(stiff_far(g, s))) {
            UNROLL for (int i = 0; i < STAGES; i++) method_stage(&g->x, g->p, s, i);
            hits = m_lanes(stiff_hit(&k->limits, g, s));
        }
    }
    for (int i = 0; i < W; i++) {
        if (due >> i & 1)
            found |= (u32)stiff_note(&g->past, i, (u32)(k->clock - g->born[i]) + 1, hits >> i & 1)
                     << i;
        u64 next = g->born[i] + g->past.look[i] - 1;
        if ((active >> i & 1) && next < k->look_at)
            k->look_at = next;
    }
    return found;
}
#else
INLINE u32 stiff_lanes(struct worker *k, struct group *g) { return 0; }
#endif

// Looks at step limits, stiffness and the stop flag; returns 1 to leave.
OUTLINE int look_around(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    if (stop_asked(a->stop))
        return 1;
    k->look_at = k->clock + LOOK_EVERY;
    for (int w = 0; w < WAYS; w++) {
        unsigned char status[W];
        u32 ended = stiff_lanes(k, &g[w]), active = m_lanes(g[w].active);
        for (int i = 0; i < W; i++) {
            u64 end = g[w].born[i] + a->z.max_steps;
            status[i] = a->z.max_steps && k->clock >= end ? STATUS_max_steps : SHOAL_ROW_STIFF;
            if (!(active >> i & 1) || !a->z.max_steps)
                continue;
            if (k->clock >= end)
                ended |= 1u << i;
            else if (end < k->look_at)
                k->look_at = end;
        }
        if (ended)
            turn_over(k, &g[w], ended, status);
    }
    look_at_new(k);
    return 0;
}

OUTLINE void attention(struct worker *k, struct group *g, const struct verdict *v) {
    const struct shoal_args *a = k->args;
    if (saves_steps(a))
        save_step(a, g, &g->x.t, g->x.y, v->moved);
    u32 ended = v->done | v->failed;
    if (!ended)
        return;
    unsigned char status[W];
    for (int i = 0; i < W; i++)
        status[i] = verdict_status(v, i);
    turn_over(k, g, ended, status);
    look_at_new(k);
}
#else
OUTLINE int look_around(struct worker *k, struct group *g);
OUTLINE void attention(struct worker *k, struct group *g, const struct verdict *v);
#endif

#if HOT_PART
INLINE void run_groups(struct worker *k, struct group *g) {
    const struct shoal_args *a = k->args;
    const u32 every = saves_steps(a) ? ~0u : 0;
    while (k->idle_ways < WAYS) {
        TRIALS(s, k);
        struct verdict v[WAYS];
        u32 notice = 0;
        UNROLL for (int w = 0; w < WAYS; w++) trial_begin(&k->limits, &g[w], &s[w]);
        UNROLL for (int i = 0; i < STAGES; i++) {
            UNROLL for (int w = 0; w < WAYS; w++) method_stage(&g[w].x, g[w].p, &s[w], i);
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
