// SPDX-License-Identifier: MIT
// An adaptive step: how long it is, and once it is taken, whether it counts and what comes next.
//
// A step is as long as the difference of its ends, as numbers: far from t = 0 that is not what was
// asked for. The shortest one is a few times what the time can tell apart; one that fails there is
// the end.

INLINE real shortest_step(const struct limits *l, const struct group *g) {
    return r_abs(t_real(g->x.t) * R(4 * TIME_EPSILON)) + l->smallest;
}

#if STEERED
#define GOAL(g) (g)->goal
#else
#define GOAL(g) (g)->t1
#endif

INLINE void trial_begin(const struct limits *l, const struct group *g, struct trial *s) {
#if IMPLICIT
    s->limits = l;
#endif
#if NEWTON
    newton_trial(g->active, g->past.rate, &s->n);
#endif
    real rest = t_diff(GOAL(g), g->x.t), h = r_at_least(g->h, shortest_step(l, g));
    s->last = r_le(rest * g->dir, h * R(1 + 1e-10));
    s->t_new = t_step(g->x.t, h * g->dir);
    s->h = select(s->last, rest, t_diff(s->t_new, g->x.t));
    s->size = r_abs(s->h);
#if !THREADS || DENSE || WATCHED // else it is set when the row ends
    s->t_new = t_select(s->last, GOAL(g), s->t_new);
#endif
#if STEERED
    s->lands = s->last;
    s->last = m_and(s->last, r_eq(t_diff(g->goal, g->t1), R(0)));
#endif
#if WATCHED
    s->ready = 0;
#endif
}

// What became of a trial, as lane bits.
struct verdict {
    u32 done, failed, bad; // bad: of the failed, those that are not finite
#if STEERED
    u32 ended, endless; // over, though they did not fail; of them, those without an end
#endif
    u32 moved; // accepted; where somebody may change ends of steps: changed
#if STEERED && ALGEBRAIC
    u32 lost; // changed to what no consistent state is near
#endif
#if IMPLICIT
    u32 singular; // of the failed
#endif
#if NEWTON
    u32 newton; // of the failed
#endif
};

#if STEERED
// Lanes get another goal where the step ended at theirs, or failed on the way to a limit, which was
// one of that step alone. Where ends are changed the steps themselves are saved already.
INLINE void trial_go_on(const struct shoal_args *a, const struct limits *l, struct group *g,
                        struct trial *s, mask held, u32 changed, struct verdict *v) {
    u32 active = m_lanes(g->active), landed = v->moved & m_lanes(s->lands),
        missed = m_lanes(m_andnot(g->limited, held)) & ~v->moved, lost = 0;
    v->ended = g->ended & active;
    v->endless = g->endless;
    v->moved = changed & ~v->done;
    if (active & ~v->ended & (landed | missed | changed))
        lost = lanes_go_on(a, l, g, s, active & (landed | missed), v->moved & ~v->ended);
    v->failed |= v->ended;
#if ALGEBRAIC
    v->lost = lost;
    v->failed |= lost;
#else
    (void)lost;
#endif
}
#endif

#if COUNTERS
// Counts the lanes whose step does not count, each for one reason: that which would end its row.
INLINE void refused_count(struct group *g, const struct trial *s, real error2, mask refused) {
    ireal *n = g->refused;
#if IMPLICIT
    mask singular = m_and(refused, is_singular(s));
    n[REASON_SINGULAR] = i_count(n[REASON_SINGULAR], singular);
    refused = m_andnot(refused, singular);
#endif
    mask finite = m_and(refused, r_lt(error2, R(HUGE_ERROR)));
    n[REASON_NONFINITE] = i_count(n[REASON_NONFINITE], m_andnot(refused, finite));
    refused = finite;
#if NEWTON
    mask newton = m_and(refused, s->n.failed);
    n[REASON_NEWTON] = i_count(n[REASON_NEWTON], newton);
    refused = m_andnot(refused, newton);
#endif
    n[REASON_ERROR] = i_count(n[REASON_ERROR], refused);
    (void)s;
}
#endif

INLINE struct verdict trial_judge(const struct shoal_args *a, const struct limits *l,
                                  struct group *g, struct trial *s) {
    real error2 = method_error2(&g->x, s, l);
#ifdef INSIDE
    real inside2 = inside_error2(&g->x, g->p, s, l);
    error2 = select(r_gt(inside2, error2), inside2, error2);
#endif
    mask accepted = r_le(error2, R(1));
    mask stuck = m_andnot(r_le(s->size, shortest_step(l, g) * R(1.25)), accepted);
#if !THREADS
    accepted = m_and(accepted, g->active);
    stuck = m_and(stuck, g->active);
#endif
#if STEERED
    struct past before = g->past;
    real planned = g->h;
    mask held = m_of_lanes(watch_limit(a, g, s, m_lanes(m_and(accepted, g->active))));
    accepted = m_andnot(accepted, held);
#endif
#if COUNTERS && STEERED
    refused_count(g, s, error2, m_andnot(m_andnot(g->active, accepted), held));
#elif COUNTERS
    refused_count(g, s, error2, m_andnot(g->active, accepted));
#endif
    real next = control_next(&g->past, error2, s->size, accepted);
#if NEWTON
    next = select(accepted, next * newton_caution(&s->n), next);
    newton_count(g, s);
#endif
    next = r_at_most(next, l->dt_max); // one that is too short is taken at the shortest
    g->h = THREADS ? next : select(g->active, next, g->h); // idle lanes go on as they were
#if STEERED // a step that was shortened, or is going to be, says nothing of the next one
    mask kept = m_or(held, m_and(accepted, s->lands));
    past_keep(&g->past, &before, kept);
    g->h = select(kept, planned, g->h);
#endif
    struct verdict v;
    v.done = m_lanes(m_and(accepted, s->last));
    v.failed = m_lanes(stuck);
#if NEWTON // a thread spills less with a mask where it iterates, and with numbers elsewhere
    v.bad = v.failed ? m_lanes(m_andnot(stuck, r_lt(error2, R(HUGE_ERROR)))) : 0;
#else
    v.bad = 0;
    if (v.failed) {
        u32 finite = m_lanes(r_lt(error2, R(HUGE_ERROR)));
        v.bad = v.failed & ~finite;
    }
#endif
#if IMPLICIT
    v.singular = v.failed & m_lanes(is_singular(s));
#endif
#if NEWTON
    v.newton = v.failed & m_lanes(s->n.failed) & ~v.bad;
#endif
    v.moved = m_lanes(accepted);
    u32 changed = commit_step(a, g, s, accepted);
    g->accepted = i_count(g->accepted, accepted);
#if STEERED
    trial_go_on(a, l, g, s, held, changed, &v);
#else
    (void)changed;
#endif
    return v;
}

INLINE unsigned char verdict_status(const struct verdict *v, int i) {
#if STEERED
    if (v->ended >> i & 1)
        return v->endless >> i & 1 ? STATUS_events : STATUS_stopped;
#endif
#if STEERED && ALGEBRAIC
    if (v->lost >> i & 1)
        return STATUS_newton;
#endif
#if IMPLICIT
    if (v->singular >> i & 1)
        return STATUS_singular;
#endif
#if NEWTON
    if (v->newton >> i & 1)
        return STATUS_newton;
#endif
    return (unsigned char)(v->done >> i & 1  ? STATUS_ok
                           : v->bad >> i & 1 ? STATUS_nonfinite
                                             : STATUS_dt_min);
}
