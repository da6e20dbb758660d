// SPDX-License-Identifier: MIT
// Events at times known in advance: when the next one is, and which happen now.
//
// The generator writes event_times, time_low, time_made and the lists EVENTS_AT and EVENTS_EVERY.
// What is timed has happened up to g->event.over, so that each happens once; times that are nearer
// to each other than t_width are one.

#if COLD_PART
// The shortest way from t on that times tell apart; what an event ends may be shorter than steps
// may be by themselves. At 0 that is nothing, but one over its square, which complex matrices are
// made of, must be a number.
INLINE real event_shortest(treal t) {
    return r_abs(t_real(t) * R(4 * TIME_EPSILON)) + R(F32 ? SMALLEST_STEP : 1e-150);
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

// When an event at such a time happens: never, where that is infinite.
INLINE treal event_due(const real *time, int i) {
    mask finite = r_lt(r_abs(time[i]), R(INFINITY_VALUE));
    return t_select(finite, event_moment(time, i), t_pair((elem)NAN_VALUE, 0));
}

// How many times as far times may be from what they are meant to be that are made of parameters,
// since they are no better than those are.
INLINE elem event_made(elem made) { return (elem)(made > 0 ? EPSILON / TIME_EPSILON / 4 : 1); }

// When something happens that is due `at`, or so far beside it: where that is meant to be the end
// of the run, or somebody looks there, then. What is made of parameters may be meant to be at a
// look that is before it by what f32 makes of them.
INLINE treal event_meets(const struct shoal_args *a, const struct group *g, treal at, real width) {
    at = t_select(r_le(r_abs(t_diff(g->t1, at)), width), g->t1, at);
#if F32 && TIMES_MADE
    real before = select(r_gt(width, R(2) * t_width(at, g->t0)), width, R(0));
    treal first = t_add(at, -before * g->dir), look = meet_looks(a, g, first, width + before);
    return t_select(r_eq(t_diff(look, first), R(0)), at, look);
#else
    return meet_looks(a, g, at, width);
#endif
}

// When something that comes every so often comes: the first time, how often, and until when, with
// what rounding makes of that.
struct event_round {
    treal from, period, until;
    real slack;
    elem made_from, made_period; // of parameters, where they are not 0
};

#define ROUNDS_MOST R(F32 ? 5e8 : 5e14) // as far as whole numbers count, and as much again

INLINE struct event_round event_round_of(const struct group *g, const real *time, int period,
                                         int from, int until) {
    struct event_round r;
    r.from = from < 0 ? g->t0 : event_moment(time, from < 0 ? 0 : from);
    r.period = event_moment(time, period);
    mask far = r_gt(t_real(r.period), R(LARGEST_SCALE)); // none of them times 0 is 0
    r.period = t_select(far, t_pair((elem)LARGEST_SCALE, 0), r.period);
    r.until =
        until < 0 ? t_pair((elem)INFINITY_VALUE, 0) : event_moment(time, until < 0 ? 0 : until);
    r.made_from = from < 0 ? 0 : time_made[from < 0 ? 0 : from];
    r.made_period = time_made[period];
    elem made = r.made_period + r.made_from + (until < 0 ? 0 : time_made[until < 0 ? 0 : until]);
    r.slack = t_width(r.until, r.from) * event_made(made);
    r.slack = r_min(r.slack, R(0.5) * t_real(r.period));
    return r;
}

// How far the round `at` may be from where it is meant to be. Where that is half a period, who
// knows which one it is?
INLINE real event_round_width(const struct group *g, const struct event_round *r, treal at) {
    real width = t_width(at, g->t0), made = r_abs(t_diff(at, r->from)) * event_made(r->made_period);
    made = (made + r_abs(t_real(r->from)) * event_made(r->made_from)) * R(4 * TIME_EPSILON);
    return select(r_lt(made, R(0.5) * t_real(r->period)), r_max(width, made), width);
}

// Goes on by so many rounds, to none below 0.
INLINE ireal event_round_count(ireal k, real more) {
    real whole = r_max(r_min(r_floor(more), ROUNDS_MOST), -ROUNDS_MOST);
    for (int i = 0; i < W; i++) {
        ielem n = LANE(k, i) + (ielem)LANE(whole, i);
        LANE(k, i) = n < 0 ? 0 : n;
    }
    return k;
}

// Whether there is a first one, as far as the times tell.
INLINE mask event_round_comes(const struct event_round *r) {
    mask begins = r_lt(r_abs(t_real(r->from)), R(INFINITY_VALUE));
    return m_and(begins, r_eq(t_real(r->until), t_real(r->until)));
}

// Whether nobody knows when it begins, or ends.
INLINE mask event_round_unknown(const struct event_round *r) {
    return m_or(r_ne(t_real(r->from), t_real(r->from)), r_ne(t_real(r->until), t_real(r->until)));
}

// The first one after t; not a number where there is none. A quotient of many rounds is good to its
// last bits, so what it leaves is divided again; and t may be one of them.
INLINE treal event_round_next(const struct event_round *r, treal t) {
    treal at = r->from, none = t_pair((elem)NAN_VALUE, 0);
    ireal k = {0};
    for (int i = 0; i < 2; i++) {
        k = event_round_count(k, t_diff(t, at) / t_real(r->period));
        at = t_index(r->from, k, r->period);
    }
    for (int i = 0; i < 2; i++) {
        k = event_round_count(k, select(r_gt(t_diff(at, t), R(0)), R(0), R(1)));
        at = t_index(r->from, k, r->period);
    }
    mask comes = m_and(event_round_comes(r), r_le(t_diff(at, r->until), r->slack));
    return t_select(comes, at, none);
}

// The first one after t that is meant to be after t, too: when it is `meant` to be, and by how much
// it may be beside that.
INLINE treal event_round_meant(const struct shoal_args *a, const struct group *g,
                               const struct event_round *r, treal t, treal *meant, real *width) {
    treal at = event_round_next(r, t);
    *width = event_round_width(g, r, at);
    *meant = event_meets(a, g, at, *width);
#if F32 && TIMES_MADE
    treal later = event_round_next(r, at);
    mask over = r_le(t_diff(*meant, t), R(0));
    at = t_select(over, later, at);
    *width = event_round_width(g, r, at);
    *meant = t_select(over, event_meets(a, g, at, *width), *meant);
#endif
    return at;
}

// The period must be above this for rounds until t to be counted.
INLINE real event_round_least(const struct event_round *r, treal t) {
    return r_min(t_diff(t, r->from), t_diff(r->until, r->from)) / ROUNDS_MOST;
}

INLINE treal event_sooner(treal t, treal at, treal other) {
    mask ahead = r_gt(t_diff(other, t), R(0));
    return t_select(m_and(ahead, m_not(r_le(t_diff(at, other), R(0)))), other, at);
}

// Lanes in which something comes so often that two of its times are one, that time does not go on
// from one to the next, or that they cannot be counted; or comes at what is not a number.
INLINE mask event_crowded(const struct shoal_args *a, const struct group *g, treal t,
                          const real *time) {
    mask crowded = m_of_lanes(0);
    real least = r_max(event_shortest(t), R(2) * t_width(t, g->t0));
    (void)time, (void)least;
#define X(e, first, count)                                                                         \
    ITEMS(i, count) crowded = m_or(crowded, r_ne(time[first + i], time[first + i]));
    EVENTS_AT(X)
#undef X
#define X(e, period, from, until)                                                                  \
    {                                                                                              \
        struct event_round r = event_round_of(g, time, period, from, until);                       \
        real countable = r_max(least, event_round_least(&r, t));                                   \
        mask often = m_not(r_gt(time[period], countable));                                         \
        crowded = m_or(crowded, m_and(event_round_comes(&r), often));                              \
        crowded = m_or(crowded, event_round_unknown(&r));                                          \
    }
    EVENTS_EVERY(X)
#undef X
    return crowded;
}

// The moments that come next of all that is timed, and how far each may be from where it is meant
// to be.
INLINE void event_moments(const struct shoal_args *a, const struct group *g, const real *time,
                          treal *moment, real *width) {
    int n = 0;
#define X(e, first, count)                                                                         \
    ITEMS(i, count) {                                                                              \
        treal due = event_due(time, first + i);                                                    \
        width[n] = t_width(due, g->t0) * event_made(time_made[first + i]);                         \
        moment[n] = event_meets(a, g, due, width[n]);                                              \
        n++;                                                                                       \
    }
    EVENTS_AT(X)
#undef X
#define X(e, period, from, until)                                                                  \
    {                                                                                              \
        struct event_round r = event_round_of(g, time, period, from, until);                       \
        event_round_meant(a, g, &r, g->event.over, &moment[n], &width[n]);                         \
        n++;                                                                                       \
    }
    EVENTS_EVERY(X)
#undef X
    for (; n < TIMES; n++) {
        moment[n] = t_pair((elem)NAN_VALUE, 0);
        width[n] = R(0);
    }
}

INLINE treal event_next_stop(const struct shoal_args *a, const struct group *g) {
    real time[TIMES], width[TIMES];
    treal at = t_pair((elem)NAN_VALUE, 0), moment[TIMES];
    event_times(g->p, time);
    event_moments(a, g, time, moment, width);
    // What waits is over as far as it is one with what is ahead.
    mask waits = r_lt(t_diff(g->event.over, g->x.t), R(0));
    treal since = t_select(waits, g->x.t, g->event.over);
    ITEMS(i, TIMES) at = event_sooner(since, at, moment[i]);
    ITEMS(i, TIMES) at = stop_together(g, at, moment[i], width[i]);
    mask crowded = event_crowded(a, g, g->x.t, time);
    return t_select(crowded, t_step(g->x.t, event_shortest(g->x.t)), at);
}

// Lanes in which something comes that has not happened yet, not after t.
INLINE u32 event_comes(treal over, treal moment, treal t) {
    mask ahead = r_gt(t_diff(moment, over), R(0));
    return m_lanes(m_and(ahead, r_le(t_diff(moment, t), R(0))));
}

// Adds the lanes in which a moment that is meant to be at `meant` comes until `end`, and to `waits`
// those that are between the two: there a step ended by chance. At t1 nothing is waited for.
INLINE void event_come(const struct group *g, treal over, treal moment, treal meant, treal end,
                       u32 *due, u32 *waits) {
    u32 later = m_lanes(r_gt(t_diff(meant, end), R(0))) & before_end(g, meant);
    *due |= event_comes(over, meant, end);
    *waits |= event_comes(over, moment, end) & later;
}

// The last time that is one with t: sums round, and differences do not.
INLINE treal event_reach(treal t, real width) {
    treal end = t_add(t, width);
    mask beyond = r_gt(t_diff(end, t), width);
    return t_select(beyond, t_add(t, width - r_abs(t_real(t)) * R(0.5 * TIME_EPSILON)), end);
}

// The timed events that happen at t: those until a bit later, which are meant to be there, and at
// the start those that may be meant to be there.
INLINE void event_timed(const struct shoal_args *a, struct group *g, treal t, u32 lanes, u32 *due,
                        int start) {
    real time[TIMES];
    treal end = event_reach(t, t_width(t, g->t0)), over = g->event.over;
    u32 waits = 0;
    event_times(g->p, time);
#define X(e, first, count)                                                                         \
    ITEMS(i, count) {                                                                              \
        real width = t_width(t, g->t0) * event_made(time_made[first + i]);                         \
        treal since = start ? t_add(over, -width) : over, at = event_due(time, first + i);         \
        event_come(g, since, at, event_meets(a, g, at, width), end, &due[e], &waits);              \
    }
    EVENTS_AT(X)
#undef X
#define X(e, period, from, until)                                                                  \
    {                                                                                              \
        struct event_round r = event_round_of(g, time, period, from, until);                       \
        treal since = start ? t_add(over, -event_round_width(g, &r, t)) : over;                    \
        real width;                                                                                \
        treal meant, at = event_round_meant(a, g, &r, since, &meant, &width);                      \
        event_come(g, since, at, meant, end, &due[e], &waits);                                     \
    }
    EVENTS_EVERY(X)
#undef X
    for (int e = 0; e < EVENTS; e++) // what is due before that with which it is one waits, too
        due[e] &= lanes & ~waits;
    g->event.over = t_select(m_of_lanes(lanes & ~waits), end, over);
    u32 crowded = lanes & m_lanes(event_crowded(a, g, t, time));
    g->ended |= crowded;
    g->endless |= crowded;
}

// The lanes in which time i was put to t, where it was not `before`: else it would have happened,
// or would never.
INLINE u32 event_put_here(const struct group *g, treal t, const real *before, const real *time,
                          int i, u32 lanes) {
    treal moment = event_moment(time, i);
    mask near = r_le(t_diff(t, moment), t_width(t, g->t0) * event_made(time_made[i]));
    mask over = r_le(t_diff(moment, g->event.over), R(0));
    return lanes & m_lanes(m_and(m_and(near, over), r_ne(time[i], before[i])));
}

// The lanes in which rounds may still come at t.
INLINE u32 event_not_over(const struct event_round *r, treal t) {
    return m_lanes(r_le(t_diff(t, r->until), r->slack));
}

// The timed events whose time, or first time, an action put to t.
INLINE u32 event_retimed(const struct group *g, treal t, u32 lanes, const real *before,
                         const u32 *fired, u32 *due) {
    real time[TIMES];
    u32 any_due = 0;
    event_times(g->p, time);
#define X(e, first, count)                                                                         \
    ITEMS(i, count) {                                                                              \
        due[e] |= event_put_here(g, t, before, time, first + i, lanes & ~fired[e]);                \
    }                                                                                              \
    any_due |= due[e];
    EVENTS_AT(X)
#undef X
#define X(e, period, from, until)                                                                  \
    if (from >= 0) {                                                                               \
        struct event_round r = event_round_of(g, time, period, from, until);                       \
        u32 open = lanes & ~fired[e] & event_not_over(&r, t);                                      \
        due[e] |= event_put_here(g, t, before, time, from < 0 ? 0 : from, open);                   \
        any_due |= due[e];                                                                         \
    }
    EVENTS_EVERY(X)
#undef X
    return any_due;
}
#endif
#endif
