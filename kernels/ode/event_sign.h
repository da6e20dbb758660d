// SPDX-License-Identifier: MIT
// Which side of its boundary each event is on, and when that says nothing (see event.h).

#if COLD_PART
#if WHENS <= 8
#define WHEN_LOOP(e) UNROLL for (int e = 0; e < WHENS; e++)
#else
#define WHEN_LOOP(e) ROLL for (int e = 0; e < WHENS; e++)
#endif
#if EVENTS <= 8 && !ALGEBRAIC // one place in which rows are solved
#define EVENT_LOOP(e) UNROLL for (int e = 0; e < EVENTS; e++)
#else
#define EVENT_LOOP(e) ROLL for (int e = 0; e < EVENTS; e++)
#endif
enum {
    EVENT_NODES = 5,
    EVENT_PASSES = 192,
    EVENT_STREAK = 1000,
    EVENT_NEAR = 100,
    EVENT_CROWD = 50,
    EVENT_LEAP = 64,
    EVENT_NARROW = 4096,
    EVENT_TOGETHER = 32,
    EVENT_SEEN = 64
};
enum { EVENT_UP = 1, EVENT_DOWN = 2 }; // edges

#if WHENS
// The functions, and which side of its boundary each event is on: 1, -1, or 0, which says nothing.
// A jump on its boundary is on the side that its formula says, however long it stays there.
OUTLINE void event_signs(real t, const SPACE real *y, const SPACE real *p, real *zero, real *sign) {
    real value[WHENS + TRUTHS];
    event_values(t, y, p, value);
    WHEN_LOOP(e) {
        mask under = when_jump[e] < 0 ? r_lt(value[e], R(0)) : r_eq(value[e], value[e]);
        real below = select(under, R(-1), R(0));
        mask above = when_truth[e] == e ? r_gt(value[e], R(0)) : r_ne(value[when_truth[e]], R(0));
        if (when_jump[e] >= 0)
            above = m_and(above, under);
        zero[e] = value[e];
        sign[e] = select(above, R(1), below);
    }
}

// Where the functions go, in the direction of the run.
INLINE void event_ways(const struct group *g, real t, const SPACE real *y, real *way) {
    event_slopes(t, y, g->p, way); // and behind them the touches
    WHEN_LOOP(e) way[e] = way[e] * g->dir;
}

// What rounding, of the states and of the time, makes of the functions.
INLINE void event_rounding(const struct group *g, treal t, const SPACE real *y, const real *way,
                           real *rounding) {
    event_sizes(t_real(t), y, g->p, rounding);
    WHEN_LOOP(e) {
        real size = r_fma(event_shortest(t), r_abs(way[e]), rounding[e] * R(16 * EPSILON));
        rounding[e] = select(r_lt(size, R(LARGEST_SCALE)), size, R(0));
    }
}

// Signs say nothing as long as an event that acted is no farther from its boundary than rounding
// took it; or has turned back, but is still beyond, and on its way out.
INLINE void event_mute(const struct group *g, real t, const SPACE real *y, const real *zero,
                       real *sign) {
    u32 stuck = 0;
    WHEN_LOOP(e) {
        sign[e] = select(r_lt(r_abs(zero[e]), g->event.noise[e]), R(0), sign[e]);
        stuck |= g->event.stuck[e];
    }
    if (!stuck)
        return;
    real way[WHENS + TOUCHES];
    event_ways(g, t, y, way);
    WHEN_LOOP(e) {
        mask out = m_not(r_lt(way[e] * g->event.side[e], R(0)));
        mask beyond = r_lt(sign[e] * g->event.side[e], R(0));
        mask mute = m_and(m_of_lanes(g->event.stuck[e]), m_and(out, beyond));
        sign[e] = select(mute, R(0), sign[e]);
    }
}

INLINE void event_look(const struct group *g, real t, const SPACE real *y, real *zero, real *sign) {
    event_signs(t, y, g->p, zero, sign);
    event_mute(g, t, y, zero, sign);
}

// How near to their boundaries events are at moments that are meant to be one, or are not known
// better than `late`: what is nearer when something acts has not crossed yet, for all that is
// known.
INLINE void event_doubt(const struct group *g, treal t, const SPACE real *y, real late,
                        real *doubt) {
    real way[WHENS + TOUCHES], width = r_fma(event_shortest(t), R(EVENT_TOGETHER), late);
    event_ways(g, t_real(t), y, way);
    event_rounding(g, t, y, way, doubt);
    WHEN_LOOP(e) {
        real near = r_fma(width, r_abs(way[e]), doubt[e]);
        doubt[e] = select(r_eq(near, near), near, R(0));
    }
}

#if TRUTHS
#define IS_CONDITION(e) (when_truth[e] != e && when_jump[e] < 0)
#else
#define IS_CONDITION(e) 0
#endif

// Where a step ends: what kept signs from speaking is over once it is left behind, and a condition
// that is false on its boundary is not beyond.
INLINE void event_settle(struct group *g, int e, real zero, real sign, u32 lanes) {
    mask some = m_of_lanes(lanes), back = r_gt(sign * g->event.side[e], R(0));
    mask away = m_and(some, r_ge(r_abs(zero), g->event.noise[e]));
    g->event.noise[e] = select(away, R(0), g->event.noise[e]);
    if (IS_CONDITION(e))
        back = m_or(back, r_eq(sign, R(0)));
    g->event.stuck[e] &= ~(lanes & m_lanes(back));
}

// The side that is remembered where the sign says `now`.
INLINE real event_side(real before, real now) {
    return select(r_ne(now, R(0)), now, select(r_eq(before, before), before, R(0)));
}

INLINE mask event_turned(int e, real before, real now) {
    mask up = m_and(r_lt(before, R(0)), r_gt(now, R(0)));
    mask down = m_and(r_gt(before, R(0)), r_lt(now, R(0)));
    return when_edges[e] == EVENT_UP ? up : when_edges[e] == EVENT_DOWN ? down : m_or(up, down);
}

INLINE int event_is_jump(int e) { return event_when[e] >= 0 && when_jump[event_when[e]] >= 0; }

// The side that belongs to what a jump is now.
INLINE real event_jump_side(const struct group *g, int e) {
    real now = g->p[when_jump[e] < 0 ? 0 : when_jump[e]];
    return when_whole[e] ? R(1) : R(1) - R(2) * now;
}

// The side that event e goes to from its boundary; 0: who knows.
INLINE real event_goes(int e, real way) {
    return when_slope[e] ? select(r_eq(way, way), r_sign(way), R(0)) : R(0);
}

// Lanes that begin have a side that is not a number: where they are is no event.
INLINE void event_orient(struct group *g) {
    mask fresh = m_of_lanes(0);
    WHEN_LOOP(e) fresh = m_or(fresh, r_ne(g->event.side[e], g->event.side[e]));
    if (!m_lanes(fresh))
        return;
    real zero[WHENS], sign[WHENS], way[WHENS + TOUCHES];
    event_signs(t_real(g->x.t), g->x.y, g->p, zero, sign);
    event_ways(g, t_real(g->x.t), g->x.y, way);
    WHEN_LOOP(e) {
        real side = g->event.side[e], goes = event_goes(e, way[e]);
        real first =
            when_jump[e] < 0 ? select(r_ne(sign[e], R(0)), sign[e], goes) : event_jump_side(g, e);
        g->event.side[e] = select(r_eq(side, side), side, first);
    }
}
#endif
#endif
