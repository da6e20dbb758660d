// SPDX-License-Identifier: MIT
// The fixed-step loop of a thread takes bursts, of one step where something happens.

// This follows `count` steps that ended as `o` says.
INLINE void attention(const struct shoal_args *a, struct thread *k, struct group *g,
                      const struct outcome *o, u32 count) {
    k->wait -= count;
    if (saves_steps(a) && o->shown)
        save_step(a, g, &g->x.t, g->x.y, 1);
    if (outcome_ended(o) & 1)
        thread_end(a, k, g, outcome_status(o, 0));
    else if ((int)k->wait <= 0)
        thread_look(a, k, g);
    if (k->stopped)
        thread_rest(g);
}

// Returns whether the last step is as long as the others, so that it can go with them.
INLINE int ends_evenly(const struct shoal_args *a, const struct group *g) {
    real last = fixed_rest(a, g, g->accepted + g->left - 1);
    return !SAVE_GRID && !WATCHED && !a->z.max_steps && last == g->h * g->dir;
}

// Steps until all lanes of the warp are idle, or (refill) one is. A burst that did not stay
// finite is repeated in halves until a single step fails.
INLINE void thread_run(const struct shoal_args *a, struct thread *k, struct group *g,
                       struct trial *s, struct point *x, u32 refill) {
    u32 most = saves_steps(a) ? 1 : BURST;
    do {
        u32 quiet = quiet_steps(a, g), count = quiet < most ? quiet : most;
        if (quiet < most && quiet + 1 == (u32)g->left && ends_evenly(a, g))
            count = quiet + 1;
        count = !g->active ? 0 : count ? count : 1;
        fixed_begin(a, &k->limits, g, s);
#if !WATCHED // there it is known already
        s->last = (u32)g->left == count;
#endif
        x->t = g->x.t;
        STATES(j, 0) s->y1[j] = x->y[j] = g->x.y[j];
#if COMPENSATED
        STATES(j, 0) s->low1[j] = x->low[j] = g->x.low[j];
#endif
#if FSAL
        STATES(j, 0) x->f0[j] = g->x.f0[j];
#endif
        fixed_burst(a, g, x, s, count);
        struct outcome o = fixed_commit(a, &k->limits, g, s, count);
        if (!o.moved && count > 1)
            most = count / 2;
        else if (g->active)
            attention(a, k, g, &o, count);
    } while (warp_count(!g->active) < (refill ? 1 : WARP));
}
