// SPDX-License-Identifier: MIT
// The fixed-step loop of a thread: bursts, of one step where something happens.

// What follows `count` steps that ended as `o` says; returns how many to repeat one by one.
INLINE u32 attention(const struct shoal_args *a, struct thread *k, struct group *g,
                     const struct outcome *o, u32 count) {
    if (!o->moved && count > 1)
        return count;
    k->wait -= count;
    if (a->z.steps_saved && o->moved)
        save_step(a, g, 1);
    if (o->last | o->over | !o->moved)
        thread_end(a, k, g, outcome_status(o, 0));
    else if ((int)k->wait <= 0)
        thread_look(a, k, g);
    if (k->stopped)
        thread_rest(g);
    return 0;
}

// Steps until `idle` lanes of the warp are without a row.
INLINE void thread_run(const struct shoal_args *a, struct thread *k, struct group *g,
                       struct trial *s, struct point *x, u32 idle) {
    u32 careful = 0; // steps to go one by one
    do {
        u32 count = careful || a->z.steps_saved ? 1 : quiet_steps(a, g);
        count = !g->active ? 0 : count ? count : 1;
        fixed_begin(g, s);
        x->t = g->x.t;
        STATES(j, 0) s->y1[j] = x->y[j] = g->x.y[j];
#if FSAL
        STATES(j, 0) x->f0[j] = g->x.f0[j];
#endif
        fixed_burst(a, g, x, s, count);
        struct outcome o = fixed_commit(a, g, s, count);
        careful -= careful > 0;
        if (g->active)
            careful += attention(a, k, g, &o, count);
    } while (warp_count(!g->active) < idle);
}
