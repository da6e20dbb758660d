// SPDX-License-Identifier: MIT
// What events do at a time, what they remember of it, and whom they turn by it (see event.h).

#if COLD_PART
#if ALGEBRAIC
INLINE u32 group_settle(struct group *g, treal t, SPACE real *x, u32 lanes);
#endif

// After an action that assigned a parameter.
INLINE void event_refresh(const struct shoal_args *a, struct group *g, treal t, u32 lanes) {
#if REDERIVES
    real before[REDERIVES];
    ITEMS(i, REDERIVES) before[i] = g->p[rederive[i]];
    event_derive(g->p);
    ITEMS(i, REDERIVES)
    g->p[rederive[i]] = select(m_of_lanes(lanes), g->p[rederive[i]], before[i]);
#endif
#if EVENT_SWITCHES
    switches_refresh(a, g, t, lanes);
#endif
    (void)a, (void)g, (void)t, (void)lanes;
}

// Makes algebraic states consistent in the lanes that were changed, so that whoever comes next sees
// what the last one left; adds lanes where nothing is.
INLINE void event_settle_rows(struct group *g, treal t, SPACE real *y, u32 changed, u32 *lost) {
#if ALGEBRAIC
    if (changed)
        *lost |= group_settle(g, t, y, changed);
#else
    (void)g, (void)t, (void)y, (void)changed, (void)lost;
#endif
}

INLINE u32 event_act(const struct shoal_args *a, struct group *g, int e, treal t, SPACE real *y,
                     u32 lanes, u32 *lost) {
    int what = event_assign(g, e, t_real(t), y, lanes);
    if (what & EVENT_ASSIGNS_PARAMETER)
        event_refresh(a, g, t, lanes);
    event_settle_rows(g, t, y, what ? lanes : 0, lost);
    return what ? lanes : 0;
}

#if WHENS
// What event e remembers after it acted in the lanes. Where its function was not changed it is
// still on its boundary, and whether it goes on to the side it turned to or back says which side it
// is on. That way one that is turned back and does not get away from its boundary fires again, and
// so does one that is put onto it, which shows a cascade without end. Where it goes as it `went`
// before anything acted it goes on, whatever its slope says: that is 0 on the near side of
// max(0,x)>0.
// `touch` is 0 where its own action leaves its function as it goes; where not, the action says
// where it is.
INLINE void event_remember(struct group *g, int e, treal t, const SPACE real *y, real before,
                           real after, real went, real now, real touch, u32 lanes) {
    mask some = m_of_lanes(lanes);
    real far = when_edges[e] == EVENT_UP     ? R(1)
               : when_edges[e] == EVENT_DOWN ? R(-1)
                                             : -g->event.from[e];
    real slope = far, back = -far, way[WHENS + TOUCHES], rounding[WHENS];
    event_ways(g, t_real(t), y, way);
    event_rounding(g, t, y, way, rounding);
    if (when_slope[e])
        slope = way[e];
    // What an action moves by less than it was away, or than rounding does, is still there.
    real near = r_fma(r_abs(before), R(0.5), rounding[e]);
    mask still = r_le(r_abs(after - before), near), onwards = r_gt(slope * far, R(0));
    mask same = m_or(r_eq(way[e], went), m_and(r_ne(way[e], way[e]), r_ne(went, went)));
    onwards = m_or(onwards, same);
    // What was not met on the way was turned by something else, and is where it is; and so is what
    // leapt to there.
    mask leapt = m_of_lanes(g->event.leap[e]);
    still = m_andnot(m_and(still, m_of_lanes(g->event.met[e])), leapt);
    if (when_touched[e] == 1) // nobody knows how it goes
        still = m_and(still, r_ne(after, R(0)));
    if (when_touched[e] > 1)
        still = m_and(still, r_eq(touch, R(0)));
    if (when_edges[e] == (EVENT_UP | EVENT_DOWN))
        back = select(r_eq(slope, slope), r_sign(slope), R(0));
    // What is put onto its boundary and goes back from there may be true on it, but not beyond.
    mask returns = m_and(r_le(r_abs(after), rounding[e]), r_lt(slope * far, R(0)));
    returns = m_andnot(returns, leapt);
    real side = select(returns, -far, select(r_ne(now, R(0)), now, back));
    side = select(still, select(onwards, far, -far), side);
    if (when_jump[e] >= 0) // it has turned, whatever becomes of it
        side = event_jump_side(g, e), still = returns = m_of_lanes(0);
    g->event.side[e] = select(some, side, g->event.side[e]);
    real fuzz = R(2) * (rounding[e] + r_abs(after));
    real noise = select(m_and(still, onwards), fuzz, R(0));
    g->event.noise[e] = select(some, noise, g->event.noise[e]);
    u32 stuck = m_lanes(m_and(m_or(returns, m_andnot(still, onwards)), r_eq(now, far)));
    if (when_slope[e])
        g->event.stuck[e] = (g->event.stuck[e] & ~lanes) | (stuck & lanes);
}

// Counts events that come one right after the other: where there is no end of them, the row ends.
INLINE void event_count(const struct shoal_args *a, struct group *g, int e, treal t, u32 lanes) {
    real gap = r_abs(t_diff(t, g->event.last[e]));
    real few = event_shortest(t) * R(EVENT_NEAR);
#if F32 // and what the states of a run so far tell apart
    few = r_max(few, r_abs(t_diff(t, g->t0)) * R(4 * EPSILON));
#endif
#if !ADAPTIVE // where no number of steps is an end
    few = r_max(few, R(a->control[CONTROL_DT]) * R(1.0 / EVENT_CROWD));
#endif
    u32 near = m_lanes(r_le(gap, few));
    g->event.last[e] = t_select(m_of_lanes(lanes), t, g->event.last[e]);
    for (int i = 0; i < W; i++) {
        if (!(lanes >> i & 1))
            continue;
        g->event.streak[e][i] = near >> i & 1 ? g->event.streak[e][i] + 1 : 0;
        if (g->event.streak[e][i] >= EVENT_STREAK) {
            g->ended |= 1u << i;
            g->endless |= 1u << i;
        }
    }
}
#endif

#if WHENS
// A condition that was on its boundary all the time was false there.
INLINE mask event_made_true(int e, real before, real now) {
    mask first = m_and(r_eq(before, R(0)), r_gt(now, R(0)));
    mask turned = event_turned(e, before, now);
    return when_truth[e] == e ? turned : m_or(turned, first);
}

// The lanes in which a jump is turned. Conditions may be made of jumps, so they wait for them.
INLINE u32 event_jumping(const struct group *g, const real *sign, u32 lanes, const u32 *fired) {
    u32 turning = 0;
    EVENT_LOOP(e) {
        const int k = event_when[e];
        if (event_is_jump(e))
            turning |= ~fired[e] & m_lanes(event_made_true(k, g->event.side[k], sign[k]));
    }
    return turning & lanes;
}

// Those that the actions at this time turned, which did not act themselves; the others' sides.
// What is near its boundary as it was before, or by rounding, is not turned yet: it goes on from
// there. A condition that is put exactly there and does not hold is false.
INLINE u32 event_follow(struct group *g, treal t, const SPACE real *y, u32 lanes, const real *near,
                        const u32 *fired, u32 *due) {
    real zero[WHENS], sign[WHENS], doubt[WHENS];
    u32 any_due = 0;
    event_look(g, t_real(t), y, zero, sign);
    event_doubt(g, t, y, R(0), doubt);
    WHEN_LOOP(e) {
        mask put = m_and(r_eq(zero[e], R(0)), r_lt(near[e], R(0)));
        mask close = r_le(r_abs(zero[e]), r_max(doubt[e], near[e]));
        if (when_truth[e] != e)
            sign[e] = select(m_and(put, r_eq(sign[e], R(0))), R(-1), sign[e]);
        sign[e] = select(m_andnot(close, put), R(0), sign[e]);
    }
    u32 jumping = event_jumping(g, sign, lanes, fired);
    EVENT_LOOP(e) {
        const int k = event_when[e];
        due[e] = 0;
        if (k < 0)
            continue;
        real side = g->event.side[k];
        u32 calm = lanes & ~fired[e] & (event_is_jump(e) ? ~0u : ~jumping);
        due[e] = calm & m_lanes(event_made_true(k, side, sign[k]));
        mask goes = m_and(m_of_lanes(calm & ~due[e]), r_eq(side, side));
        g->event.side[k] = select(goes, event_side(side, sign[k]), side);
        g->event.from[k] = select(m_of_lanes(due[e]), side, g->event.from[k]);
        any_due |= due[e];
    }
    return any_due;
}
#else
INLINE u32 event_follow(u32 *due) {
    EVENT_LOOP(e) due[e] = 0;
    return 0;
}
#define event_follow(g, t, y, lanes, near, fired, due) event_follow(due)
#endif
#if !TIMES
#define event_retimed(g, t, lanes, before, fired, due) 0u
#endif

#if RECORDS
// The first times of an event, and the variables there.
OUTLINE void event_note(const struct shoal_args *a, struct group *g, int e, treal t,
                        const SPACE real *y, u32 lanes) {
    const int k = event_record[e];
    lanes &= m_lanes(r_ge(t_diff(t, t_load(a->settle)) * g->dir, R(0)));
    if (k < 0 || !lanes)
        return;
    SPARE(out, OUT_ROOM, g->out);
    model_outputs(t_real(t), y, g->p, out);
    u32 first = a->records[2 * k], most = a->records[2 * k + 1];
    for (int i = 0; i < W; i++) {
        u32 n = g->event.noted[k][i];
        if (!(lanes >> i & 1) || n >= most)
            continue;
        GLOBAL elem *to = a->record + (first + n) * (u64)a->head.rows + g->row[i];
        *to = T_LANE(t, i) + T_LANE_LO(t, i);
        ITEMS(v, NOUT) to[(v + 1) * (u64)most * a->head.rows] = LANE(out[v], i);
        g->event.noted[k][i]++;
    }
}
#else
#define event_note(a, g, e, t, y, lanes) (void)0
#endif
#ifndef SUMMARY_COUNTS // of events
#define summary_fired(g, e, t, lanes) (void)0
#endif

#if DOSED
OUTLINE u32 dose_due(const struct shoal_args *a, struct group *g, treal t, SPACE real *y,
                     u32 lanes);
INLINE u32 dose_waits(const struct shoal_args *a, const struct group *g, treal t, u32 lanes);
#else
#define dose_due(a, g, t, y, lanes) 0u
#define dose_waits(a, g, t, lanes) 0u
#endif

#if TOUCHES
// Before an event acts: whether that leaves its function as it goes.
INLINE real event_touch(const struct group *g, int k, real t, const SPACE real *y) {
    real way[WHENS + TOUCHES];
    if (k < 0 || when_touched[k] < 2)
        return R(1);
    event_ways(g, t, y, way);
    return way[when_touched[k] - 1];
}
#endif

#if WHENS
// What is known of those that acted: how they went before anything acted, from where their own
// action left their function where, and in which lanes others moved it since.
struct event_acts {
    real went[WHENS + TOUCHES], before[WHENS], left[WHENS], touch[WHENS];
    u32 moved[WHENS];
};
#else
struct event_acts {
    int none;
};
#endif

// The events in `due` act at t, in the order of the file; `fired` is told which.
INLINE u32 event_act_due(const struct shoal_args *a, struct group *g, treal t, SPACE real *y,
                         const u32 *due, u32 *fired, struct event_acts *acted, int start,
                         u32 *lost) {
    u32 changed = 0;
#if WHENS
    real before[WHENS], zero[WHENS], sign[WHENS], touch = R(1);
    event_signs(t_real(t), y, g->p, before, sign);
#endif
    (void)acted;
    EVENT_LOOP(e) {
        u32 acts = due[e] & ~g->ended;
        if (!acts)
            continue;
#if TOUCHES
        touch = event_touch(g, event_when[e], t_real(t), y);
#endif
        if (!start)
            event_note(a, g, e, t, y, acts);
        changed |= event_act(a, g, e, t, y, acts, lost);
        if (start)
            event_note(a, g, e, t, y, acts);
        summary_fired(g, e, t, acts);
#if WHENS
        const int k = event_when[e];
        event_signs(t_real(t), y, g->p, zero, sign);
        if (k >= 0) { // what others did to it counts, too
            mask some = m_of_lanes(acts);
            event_remember(g, k, t, y, before[k], zero[k], acted->went[k], sign[k], touch, acts);
            acted->before[k] = select(some, before[k], acted->before[k]);
            acted->left[k] = select(some, zero[k], acted->left[k]);
            acted->touch[k] = select(some, touch, acted->touch[k]);
            event_count(a, g, k, t, acts);
        }
#endif
        fired[e] |= acts;
    }
    return changed;
}

#if WHENS
// What acted and was then moved by others is where they put it, but for what they turned: that acts
// again.
INLINE void event_moved(struct group *g, treal t, const SPACE real *y, struct event_acts *acted,
                        const u32 *fired) {
    real zero[WHENS], sign[WHENS], way[WHENS + TOUCHES], rounding[WHENS];
    event_signs(t_real(t), y, g->p, zero, sign);
    event_ways(g, t_real(t), y, way);
    event_rounding(g, t, y, way, rounding);
    EVENT_LOOP(e) {
        const int k = event_when[e];
        if (k < 0 || when_jump[k] >= 0)
            continue;
        real side = g->event.side[k];
        mask moved = r_gt(r_abs(zero[k] - acted->left[k]), rounding[k]);
        moved = m_and(moved, m_of_lanes(fired[e]));
        acted->moved[k] |= m_lanes(moved);
        mask calm = m_andnot(moved, event_turned(k, side, sign[k]));
        g->event.noise[k] = select(moved, R(0), g->event.noise[k]);
        g->event.stuck[k] &= ~m_lanes(moved);
        g->event.side[k] = select(calm, event_side(side, sign[k]), side);
    }
}

// What acted goes from here as all that happened leaves it: what its own action turned back,
// another may have turned again. Where others moved it, it is where they put it.
INLINE void event_recall(struct group *g, treal t, const SPACE real *y,
                         const struct event_acts *acted, const u32 *fired, u32 given) {
    real zero[WHENS], sign[WHENS];
    u32 some = given, several = 0;
    EVENT_LOOP(e) {
        several |= some & fired[e];
        some |= fired[e];
    }
    if (!several)
        return;
    event_signs(t_real(t), y, g->p, zero, sign);
    EVENT_LOOP(e) {
        const int k = event_when[e];
        if (k < 0 || when_jump[k] >= 0)
            continue;
        u32 lanes = fired[e] & several & ~acted->moved[k];
        if (lanes)
            event_remember(g, k, t, y, acted->before[k], acted->left[k], acted->went[k], sign[k],
                           acted->touch[k], lanes);
    }
}
#else
#define event_recall(g, t, y, acted, fired, given) (void)(given)
#endif

// Jumps may turn again in the lanes in which somebody else acted.
INLINE void event_free_jumps(const u32 *due, u32 given, u32 *fired) {
#if JUMPS
    u32 acted = given;
    EVENT_LOOP(e) acted |= event_is_jump(e) ? 0 : due[e];
    EVENT_LOOP(e) fired[e] &= event_is_jump(e) ? ~acted : ~0u;
#else
    (void)due, (void)given, (void)fired;
#endif
}

// The events in `due` act at t, then doses, as if they were events behind all others, and then the
// events that these actions turn, or whose times they put to t, each once. Returns the lanes that
// were changed. What is recorded is what was before, but at the start. `late` is how well the time
// is known.
OUTLINE u32 event_fire(const struct shoal_args *a, struct group *g, treal t, SPACE real *y,
                       u32 lanes, real late, u32 *due, int start) {
    u32 fired[EVENTS], changed = 0, dosed = 0, lost = 0;
    EVENT_LOOP(e) fired[e] = 0;
    struct event_acts acted;
    real times[TIMES + 1];
    (void)late, (void)times;
#if TIMES
    event_times(g->p, times);
#endif
#if WHENS
    real zero[WHENS], sign[WHENS], near[WHENS];
    event_signs(t_real(t), y, g->p, zero, sign);
    event_ways(g, t_real(t), y, acted.went);
    event_doubt(g, t, y, late, near);
    WHEN_LOOP(e) {
        acted.before[e] = acted.left[e] = zero[e];
        acted.touch[e] = R(0);
        acted.moved[e] = 0;
    }
    WHEN_LOOP(e) {
        // What turned back and is still beyond is there, however it goes when others have acted.
        real far = r_abs(zero[e]);
        near[e] = select(m_of_lanes(g->event.stuck[e]), far + near[e], near[e]);
        near[e] = select(r_le(far, near[e]), near[e], R(-1));
    }
#endif
    u32 any_due;
    do {
        changed |= event_act_due(a, g, t, y, due, fired, &acted, start, &lost);
        u32 given = dose_due(a, g, t, y, lanes & ~g->ended);
        event_settle_rows(g, t, y, given, &lost);
        changed |= given;
        dosed |= given;
        event_free_jumps(due, given, fired);
#if WHENS
        event_moved(g, t, y, &acted, fired);
#endif
        any_due = event_follow(g, t, y, lanes & ~g->ended, near, fired, due);
        any_due |= event_retimed(g, t, lanes & ~g->ended, times, fired, due);
    } while (any_due);
    event_recall(g, t, y, &acted, fired, dosed);
    // A row does not end with what is no state: it goes on from there, and fails.
    g->ended &= g->endless | ~(lost | ~m_lanes(finite_all(y)));
    return changed;
}
#endif
