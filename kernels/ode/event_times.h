// SPDX-License-Identifier: MIT
// Events at times known in advance: when the next one is, and which happen now.
//
// The generator writes event_times, and the lists EVENTS_AT and EVENTS_EVERY. What is timed has
// happened up to g->event.over, so that each happens once; times that are nearer to each other than
// t_width are one.

#if COLD_PART
// The shortest step from t on.
INLINE real event_shortest(const struct shoal_args *a, treal t) {
    real least = r_max(R(a->control[CONTROL_DT_MIN]), R(SMALLEST_STEP));
    return r_abs(t_real(t) * R(4 * TIME_EPSILON)) + least;
}

#if TIMES
INLINE treal event_moment(const real *time, int i) {
#if F32
    treal moment = {time[i], R(time_low[i])};
    return moment;
#else
    return time[i];
#endif
}

// When something that comes every so often comes: the first time, how often, and the last one's
// number.
struct event_round {
    treal from, period;
    real last;
};

INLINE struct event_round event_round_of(const struct group *g, const real *time, int period,
                                         int from, int until) {
    struct event_round r;
    r.from = from < 0 ? g->t0 : event_moment(time, from < 0 ? 0 : from);
    r.period = event_moment(time, period);
    r.last = R(F32 ? 1e9 : 1e15); // as far as numbers count
    if (until >= 0) {             // both ends count, whatever rounding makes of their distance
        treal end = event_moment(time, until < 0 ? 0 : until);
        real rounds = t_diff(end, r.from) / t_real(r.period);
        r.last = r_floor(r_fma(r_abs(rounds), R(8 * EPSILON), rounds) + R(8 * EPSILON));
    }
    return r;
}

INLINE treal event_round_time(const struct event_round *r, real k) {
    ireal n;
    real whole = r_max(r_min(k, R(F32 ? 1e9 : 1e15)), R(0));
    for (int i = 0; i < W; i++)
        LANE(n, i) = (ielem)LANE(whole, i);
    return t_index(r->from, n, r->period);
}

// The first one after t; not a number where there is none.
INLINE treal event_round_next(const struct event_round *r, treal t) {
    real k = r_max(r_floor(t_diff(t, r->from) / t_real(r->period)), R(0));
    for (int i = 0; i < 2; i++) // rounding may be off by one, and t may be one of them
        k = select(r_gt(t_diff(event_round_time(r, k), t), R(0)), k, k + R(1));
    treal none = t_pair((elem)NAN_VALUE, 0);
    return t_select(r_le(k, r->last), event_round_time(r, k), none);
}

INLINE treal event_sooner(treal t, treal at, treal other) {
    mask ahead = r_gt(t_diff(other, t), R(0));
    return t_select(m_and(ahead, m_not(r_le(t_diff(at, other), R(0)))), other, at);
}

// Lanes in which something comes so often that time does not go on.
INLINE mask event_crowded(const struct shoal_args *a, treal t, const real *time) {
    mask crowded = m_of_lanes(0);
    (void)time;
#define X(e, period, from, until)                                                                  \
    crowded = m_or(crowded, m_not(r_gt(time[period], event_shortest(a, t))));
    EVENTS_EVERY(X)
#undef X
    return crowded;
}

INLINE treal event_next_stop(const struct shoal_args *a, const struct group *g) {
    real time[TIMES];
    treal at = t_pair((elem)NAN_VALUE, 0);
    event_times(g->p, time);
#define X(e, first, count)                                                                         \
    ITEMS(i, count) at = event_sooner(g->event.over, at, event_moment(time, first + i));
    EVENTS_AT(X)
#undef X
#define X(e, period, from, until)                                                                  \
    {                                                                                              \
        struct event_round r = event_round_of(g, time, period, from, until);                       \
        at = event_sooner(g->event.over, at, event_round_next(&r, g->event.over));                 \
    }
    EVENTS_EVERY(X)
#undef X
    mask crowded = event_crowded(a, g->x.t, time);
    return t_select(crowded, t_step(g->x.t, event_shortest(a, g->x.t)), at);
}

// Lanes in which something comes that has not happened yet, not after t.
INLINE u32 event_comes(const struct group *g, treal moment, treal t) {
    mask ahead = r_gt(t_diff(moment, g->event.over), R(0));
    return m_lanes(m_and(ahead, r_le(t_diff(moment, t), R(0))));
}

// The timed events that happen at t: those until a bit later, which are meant to be there.
INLINE void event_timed(const struct shoal_args *a, struct group *g, treal t, u32 lanes, u32 *due) {
    real time[TIMES];
    treal end = t_add(t, t_width(t, g->t0));
    event_times(g->p, time);
#define X(e, first, count)                                                                         \
    ITEMS(i, count) due[e] |= lanes & event_comes(g, event_moment(time, first + i), end);
    EVENTS_AT(X)
#undef X
#define X(e, period, from, until)                                                                  \
    {                                                                                              \
        struct event_round r = event_round_of(g, time, period, from, until);                       \
        due[e] |= lanes & event_comes(g, event_round_next(&r, g->event.over), end);                \
    }
    EVENTS_EVERY(X)
#undef X
    g->event.over = t_select(m_of_lanes(lanes), end, g->event.over);
    u32 crowded = lanes & m_lanes(event_crowded(a, t, time));
    g->ended |= crowded;
    g->endless |= crowded;
}
#endif
#endif
