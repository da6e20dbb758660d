// SPDX-License-Identifier: MIT
// Those who watch a trajectory besides saving, put together: their stops, limits and changes.
//
// A watcher NAME, which the generator lists in WATCHERS, has in the group what it keeps of the
// lanes, g->NAME, a struct NAME_state, and these functions:
//     void NAME_begin(a, g)              all lanes begin; it may set g->x.y and g->p as they start
//     u32 NAME_start(a, g)               (STARTERS) what happens at t0, once algebraic states are
//                                        consistent; returns the lanes that were changed
//     void NAME_copy(to, i, from, j)     lane j of a state becomes lane i of another one
//     treal NAME_next_stop(a, g)         (STOPPERS) the next time known in advance, which may lie
//                                        behind t1; the step may end as much behind it as rounding
//                                        tells times apart, but not behind t1
//     treal NAME_limit(a, g, s, good)    (LIMITERS) where the good step of these lanes must end
//     u32 NAME_glance(a, g, s, moved)    (WATCH_QUICK: it is the only one, and only looks) takes
//                                        the step of those lanes for which that is soon done, in
//                                        the loop, and returns the others
//     u32 NAME_take(a, g, s, moved)      the step of these lanes counts
//     void NAME_over(a, g, s, lanes)     (ENDERS) their rows end with the step, whose end somebody
//                                        has changed; and then, as of all rows,
//     void NAME_end(a, g, i, status)     the row of lane i is over
// A step is planned to end at the earliest stop. One that is good is shown with its interpolant,
// and is taken again to the earliest time inside it that somebody returns; that one is not shown
// again. A time that does not lie ahead stands for none. What counts in the end is taken: with
// limits or WATCH_STEPS in all steps, else in those that end at a stop or at t1. The group is then
// at the start of the step and the trial at its end, after all samples are written: `take` may
// change s->y1 and g->p, and returns the lanes where it did so, which start again from there. Rows
// of lanes that `start` or `take` adds to g->ended are over then, as STATUS_stopped; those that are
// in g->endless besides as STATUS_events.
//
// A step that was shortened for somebody changes neither the controller's history nor the step that
// comes next. Whoever needs the interpolant in `take` calls dense_prepare for its lanes. Nothing is
// changed at t1, where a row is over. Stops bound a burst of fixed steps; where all steps are shown
// there are none, so that nothing that was taken has to be taken back.

#if COLD_PART
// The earlier one of two times of which the first lies ahead.
INLINE treal watch_earlier(const struct group *g, treal at, treal other) {
    mask ahead = r_gt(t_diff(other, g->x.t) * g->dir, R(0));
    return t_select(m_and(ahead, r_lt(t_diff(other, at) * g->dir, R(0))), other, at);
}

#if WATCH_STOPS
// When the next stop is. Those that rounding alone tells apart are one, and so is a look that is
// meant to be there, which shows what was before.
INLINE treal watch_next_stop(const struct shoal_args *a, const struct group *g) {
#define X(name) treal name##_at = name##_next_stop(a, g);
    STOPPERS(X)
#undef X
    treal goal = g->t1;
#define X(name) goal = watch_earlier(g, goal, name##_at);
    STOPPERS(X)
#undef X
    real width = t_width(goal, g->t0);
#define X(name) goal = stop_together(g, goal, name##_at, width);
    STOPPERS(X)
#undef X
    goal = meet_looks(a, g, goal, t_width(goal, g->t0));
    return t_select(r_gt(t_diff(goal, g->t1) * g->dir, R(0)), g->t1, goal);
}
#endif

// The next step of the lanes ends at the next stop, at the latest.
OUTLINE void watch_plan(const struct shoal_args *a, struct group *g, u32 lanes) {
    mask some = m_of_lanes(lanes);
    treal goal = g->t1;
#if WATCH_STOPS
    goal = watch_next_stop(a, g);
#endif
    g->goal = t_select(some, goal, g->goal);
    g->limited = m_andnot(g->limited, some);
}

INLINE void watch_begin(const struct shoal_args *a, struct group *g) {
    g->ended = g->endless = 0;
#define X(name) name##_begin(a, g);
    WATCHERS(X)
#undef X
    g->limited = m_of_lanes(0);
#if !ADAPTIVE
    g->between = m_of_lanes(0);
#endif
    for (int i = 0; i < W; i++)
        g->again[i] = 0;
}

#if WATCH_STARTS
INLINE u32 watch_start(const struct shoal_args *a, struct group *g) {
    u32 changed = 0;
#define X(name) changed |= name##_start(a, g);
    STARTERS(X)
#undef X
    return changed;
}
#endif

// To a lane whose last step, if any, ended where it was planned to.
INLINE void watch_copy(struct group *to, int i, const struct group *from, int j) {
#define X(name) name##_copy(&to->name, i, &from->name, j);
    WATCHERS(X)
#undef X
    T_COPY(to->goal, i, from->goal, j);
    to->limited = m_of_lanes(m_lanes(to->limited) & ~(1u << i));
#if !ADAPTIVE
    to->between = m_of_lanes(m_lanes(to->between) & ~(1u << i));
#endif
    to->again[i] = from->again[j];
}

#if WATCH_LIMITS
// The lanes of `good` whose step must end earlier: that is their goal then.
OUTLINE u32 watch_limit(const struct shoal_args *a, struct group *g, struct trial *s, u32 good) {
    treal at = s->t_new;
    good &= ~m_lanes(g->limited);
    if (!good)
        return 0;
    dense_prepare(g, s, good);
#define X(name) at = watch_earlier(g, at, name##_limit(a, g, s, good));
    LIMITERS(X)
#undef X
    u32 held = good & m_lanes(r_lt(t_diff(at, s->t_new) * g->dir, R(0)));
    g->goal = t_select(m_of_lanes(held), at, g->goal);
    g->limited = m_or(g->limited, m_of_lanes(held));
    for (int i = 0; i < W; i++)
        g->again[i] += held >> i & 1;
    return held;
}
#endif

// Returns the lanes whose end somebody changed.
OUTLINE u32 watch_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    u32 changed = 0;
#define X(name) changed |= name##_take(a, g, s, moved);
    WATCHERS(X)
#undef X
#if STEERED
#define X(name)                                                                                    \
    if (changed & moved & g->ended)                                                                \
        name##_over(a, g, s, changed &moved & g->ended);
    ENDERS(X)
#undef X
#endif
    return changed & moved;
}
#else
OUTLINE void watch_plan(const struct shoal_args *a, struct group *g, u32 lanes);
OUTLINE u32 watch_limit(const struct shoal_args *a, struct group *g, struct trial *s, u32 good);
OUTLINE u32 watch_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved);
#endif

#if !WATCH_LIMITS
#define watch_limit(a, g, s, good) 0u
#endif

#if COLD_PART
INLINE void watch_end(const struct shoal_args *a, struct group *g, int i, u32 status) {
#define X(name) name##_end(a, g, i, status);
    ENDERS(X)
#undef X
}
#endif

// The lanes of a counted step that `take` is to see. Those who only look see idle threads, too,
// which have no time.
INLINE u32 watch_shown(const struct group *g, const struct trial *s, mask moved) {
    if (THREADS && !STEERED)
        return m_lanes(moved);
    mask shown = m_and(moved, g->active);
    return m_lanes(WATCH_STEPS || WATCH_LIMITS ? shown : m_and(shown, s->lands));
}
