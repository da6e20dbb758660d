// SPDX-License-Identifier: MIT
// Fixed steps end at t_i = t0 + i dt; the last one is what (n - 1) dt leave of t1 - t0.
//
// Runs of steps in which no lane ends and no sample falls go without masks (a burst); whether
// everything stayed finite is looked at once behind a burst, and if not, the burst is taken back
// and repeated in smaller ones, in the end step by step, so that a failure is dated exactly.

#if THREADS && N * STAGES <= 16
#define AT_ONCE (F32 ? 8 : 4) // steps of a burst are written out, so that counting costs less
#else
#define AT_ONCE 1
#endif

// Returns how many of the `quiet` steps surely end before something that is so far away.
INLINE u32 quiet_before(const struct shoal_args *a, elem gap, u32 quiet) {
    elem steps = gap / a->control[CONTROL_DT] - (elem)2;
    return !(steps < (elem)quiet) ? quiet : steps > 0 ? (u32)steps : 0;
}

// Returns how many steps every lane of the group can take before something happens to one.
INLINE u32 quiet_steps(const struct shoal_args *a, const struct group *g) {
    u32 active = m_lanes(g->active), quiet = WATCH_LIMITS || WATCH_STEPS ? 0 : BURST;
#if SAVE_GRID
    real gap = t_diff(g->next_save, g->x.t) * g->dir;
#endif
#if WATCHED
    real way = t_diff(g->goal, g->x.t) * g->dir;
    if (m_lanes(g->between) & active)
        return 0;
#endif
    for (int i = 0; i < W; i++) {
        if (!(active >> i & 1))
            continue;
        u64 left = (u64)LANE(g->left, i), done = (u64)LANE(g->accepted, i);
        if (left - 1 < quiet)
            quiet = (u32)(left - 1);
        if (a->z.max_steps && a->z.max_steps - done - 1 < quiet)
            quiet = (u32)(a->z.max_steps - done - 1);
#if SAVE_GRID
        quiet = quiet_before(a, LANE(gap, i), quiet);
#endif
#if WATCHED
        quiet = quiet_before(a, LANE(way, i), quiet);
#endif
    }
    return quiet;
}

// Returns how many fixed steps are behind the lanes: one that is split counts when it is over.
INLINE ireal fixed_done(const struct shoal_args *a, const struct group *g) {
#if WATCHED
    return (ielem)a->z.fixed_steps - g->left;
#else
    return g->accepted;
#endif
}

// Returns t0 + i dt, where i is how many steps are done.
INLINE treal fixed_time(const struct shoal_args *a, const struct group *g, ireal done) {
    treal dt = t_pair(a->control[CONTROL_DT], a->control[CONTROL_DT_LO]);
    return t_index(g->t0, done, t_signed(dt, g->dir));
}

// Returns how long the row's last step is, signed, when `done` come before it.
INLINE real fixed_rest(const struct shoal_args *a, const struct group *g, ireal done) {
    treal dt = t_pair(a->control[CONTROL_DT], a->control[CONTROL_DT_LO]);
    return t_real(t_index(t_between(g->t0, g->t1), done, t_signed(dt, -g->dir)));
}

#if WATCHED
// A goal inside a step splits it. A piece is as long as the difference of its ends. A goal that
// only rounding puts behind the end of the step is that end.
INLINE void fixed_split(const struct shoal_args *a, const struct group *g, struct trial *s) {
    treal end = t_select(s->last, g->t1, fixed_time(a, g, fixed_done(a, g) + 1));
    real beyond = t_diff(end, g->goal) * g->dir;
    mask there = m_and(r_lt(beyond, R(0)), r_le(-beyond, t_width(end, g->t0)));
    s->split = r_gt(beyond, R(0));
    s->lands = m_or(r_ge(beyond, R(0)), there);
    s->last = m_andnot(s->last, s->split);
    s->t_new = t_select(m_or(s->split, there), g->goal, end);
    s->h = select(m_or(s->split, g->between), t_diff(s->t_new, g->x.t), s->h);
    s->ready = 0;
}
#endif

INLINE void fixed_begin(const struct shoal_args *a, const struct limits *l, const struct group *g,
                        struct trial *s) {
#if IMPLICIT
    s->limits = l;
#endif
#if NEWTON
    newton_trial(g->active, g->past.rate, &s->n);
#endif
    u32 last = 0;
    for (int i = 0; i < W; i++)
        last |= (u32)(LANE(g->left, i) == 1) << i;
    s->last = m_of_lanes(last);
    s->h = g->h * g->dir;
    if (last)
        s->h = select(s->last, fixed_rest(a, g, fixed_done(a, g)), s->h);
#if WATCHED
    fixed_split(a, g, s);
#endif
}

// Takes the n-th step of a burst in all groups.
INLINE void fixed_step(const struct shoal_args *a, const struct group *g, struct point *x,
                       struct trial *s, u32 n) {
    STAGE_LOOP(i, STAGES) {
        UNROLL for (int w = 0; w < WAYS; w++) method_stage(&x[w], g[w].p, &s[w], i);
    }
    UNROLL for (int w = 0; w < WAYS; w++) {
        STATES(j, 0) x[w].y[j] = s[w].y1[j];
#if COMPENSATED
        STATES(j, 0) x[w].low[j] = s[w].low1[j];
#endif
#if FSAL
        STATES(j, 0) x[w].f0[j] = LAST_SLOPE(&s[w], j);
#endif
#if USES_TIME
        x[w].t = fixed_time(a, &g[w], fixed_done(a, &g[w]) + (ielem)n);
#endif
    }
}

INLINE void fixed_steps(const struct shoal_args *a, const struct group *g, struct point *x,
                        struct trial *s, u32 count) {
    u32 n = 0;
#if AT_ONCE > 1
    ROLL for (; n + AT_ONCE <= count; n += AT_ONCE) {
        UNROLL for (u32 i = 1; i <= AT_ONCE; i++) fixed_step(a, g, x, s, n + i);
    }
#endif
    ROLL for (; n < count; n++) fixed_step(a, g, x, s, n + 1);
}

// Takes `count` steps from x on without looking.
INLINE void fixed_burst(const struct shoal_args *a, const struct group *g, struct point *x,
                        struct trial *s, u32 count) {
#if EVEN_STEPS
    s->even = s->h == r_of_bits((uelem)a->z.length[0]);
    if (!s->even) { // the last one of a row, or one against the direction of the plan
        ROLL for (u32 n = 1; n <= count; n++) fixed_step(a, g, x, s, n);
        return;
    }
    s->even = 1; // and not just any number but 0, which a compiler would look at again
    UNROLL for (int i = 0; i < LENGTHS; i++) s->length[i] = r_of_bits((uelem)a->z.length[i]);
#endif
    fixed_steps(a, g, x, s, count);
}

// What became of the steps, as lane bits.
struct outcome {
    u32 moved, last, over; // finite; the row's last; as many as are allowed
    u32 shown;             // what is to be saved where steps are: moved; see struct verdict
#if WATCHED
    u32 held;           // taken again to a limit
    u32 ended, endless; // over before t1; of them, those with events without end
    u32 lost;           // changed to what no consistent state is near
#endif
#if IMPLICIT
    u32 singular;
#endif
#if NEWTON
    u32 newton;
#endif
};

// Commits the last of `count` steps, or all of them, where they stayed finite: g is where they
// began, and only a single step may have a sample in it.
INLINE struct outcome fixed_commit(const struct shoal_args *a, const struct limits *l,
                                   struct group *g, struct trial *s, u32 count) {
    struct outcome o;
    o.last = m_lanes(s->last);
    o.over = 0;
    mask fine = m_and(g->active, finite_all(s->y1));
#if !WATCHED
    ireal before = g->accepted;
#else
    o.held = watch_limit(a, g, s, m_lanes(fine));
    fine = m_andnot(fine, m_of_lanes(o.held));
#endif
    o.moved = m_lanes(fine);
#if IMPLICIT
    o.singular = m_lanes(is_singular(s)) & ~o.moved;
#endif
#if NEWTON
    o.newton = m_lanes(s->n.failed) & ~o.moved;
    if (count == 1 || o.moved)
        newton_count(g, s);
#endif
    for (int i = 0; i < W; i++) {
        LANE(g->accepted, i) += (ielem)((o.moved >> i & 1) * count);
        o.over |= (u32)((u64)LANE(g->accepted, i) == a->z.max_steps) << i;
    }
#if WATCHED
    u32 whole = o.moved & ~m_lanes(s->split);
    for (int i = 0; i < W; i++)
        LANE(g->left, i) -= (ielem)((whole >> i & 1) * count);
    if (count > 1)
        s->t_new = fixed_time(a, g, fixed_done(a, g));
    g->between = m_or(m_andnot(g->between, fine), m_and(fine, s->split));
    u32 changed = commit_step(a, g, s, fine), landed = m_lanes(m_and(fine, s->lands));
    o.shown = changed & ~o.last;
    o.ended = g->ended & m_lanes(g->active);
    o.endless = g->endless;
    o.lost = (landed | changed) & ~o.ended
                 ? lanes_go_on(a, l, g, s, landed & ~o.ended, o.shown & ~o.ended)
                 : 0;
#else
    s->t_new = t_select(s->last, g->t1, fixed_time(a, g, g->accepted));
    commit_step(a, g, s, fine);
    g->left = g->left - (g->accepted - before);
    o.shown = o.moved;
#endif
    return o;
}

// Returns the lanes whose row is over; bits of idle lanes mean nothing.
INLINE u32 outcome_ended(const struct outcome *o) {
#if WATCHED
    return ((o->last | o->over | ~o->moved) & ~o->held) | o->lost | o->ended;
#else
    return o->last | o->over | ~o->moved;
#endif
}

INLINE unsigned char outcome_status(const struct outcome *o, int i) {
#if WATCHED
    if (o->ended >> i & 1)
        return o->endless >> i & 1 ? STATUS_events : STATUS_stopped;
    if (o->lost >> i & 1)
        return STATUS_newton;
#endif
#if IMPLICIT
    if (o->singular >> i & 1)
        return STATUS_singular;
#endif
#if NEWTON
    if (o->newton >> i & 1)
        return STATUS_newton;
#endif
    return (unsigned char)(!(o->moved >> i & 1) ? STATUS_nonfinite
                           : o->last >> i & 1   ? STATUS_ok
                                                : STATUS_max_steps);
}
