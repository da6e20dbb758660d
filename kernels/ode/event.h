// SPDX-License-Identifier: MIT
// Events: what happens at times known in advance, or where a function of the solution changes its
// sign, and what it does to states and parameters.
//
// The generator writes the functions (event_values: the functions of the WHENS events that are
// searched for, then the truth of those that are conditions; event_slopes; event_times;
// event_assign) and the lists. An event remembers its last sign, and fires when that turns. Signs
// are looked at where a step ends and at four places inside it; what lies between two of them may
// be missed. The earliest turn is narrowed down on the interpolant until the time tells no more
// apart, and the step ends there. Events that turn at the same time act in the order of the file,
// each on what the last one left, and so do those that an action turns.
//
// event_times.h has the times, event_sign.h the signs, event_search.h the turn in a step,
// event_act.h what happens then; here is who calls them, where rows begin and steps end.

#if COLD_PART
INLINE void event_begin(const struct shoal_args *a, struct group *g) {
    (void)a;
    g->event.at = t_pair((elem)NAN_VALUE, 0);
#if TIMES
    g->event.over = t_add(g->t0, -(t_width(g->t0, g->t0) + R(SMALLEST_STEP)));
#endif
#if RECORDS
    for (int k = 0; k < RECORDS; k++)
        for (int i = 0; i < W; i++)
            g->event.noted[k][i] = 0;
#endif
#if WHENS
    g->event.crawl = R(0);
    WHEN_LOOP(e) {
        g->event.side[e] = R(NAN_VALUE);
        g->event.from[e] = g->event.was[e] = R(0);
        g->event.due[e] = g->event.stuck[e] = g->event.met[e] = g->event.leap[e] = 0;
        g->event.noise[e] = R(0);
        g->event.last[e] = t_pair((elem)NAN_VALUE, 0);
        for (int i = 0; i < W; i++)
            g->event.streak[e][i] = 0;
    }
#endif
}

#if EVENT_ZEROS
// Those that happen at t0 where they are zero there.
INLINE void event_zeros(struct group *g, u32 lanes, u32 *due) {
    real zero[WHENS], sign[WHENS];
    event_signs(t_real(g->t0), g->x.y, g->p, zero, sign);
    EVENT_LOOP(e) {
        const int k = event_when[e];
        if (k >= 0 && when_start[k])
            due[e] = lanes & m_lanes(r_eq(zero[k], R(0)));
    }
}
#endif

// At t0 only what is timed happens, doses, XPP's that are zero, and what these turn.
INLINE u32 event_start(const struct shoal_args *a, struct group *g) {
#if TIMES || EVENT_ZEROS || (WHENS && DOSED)
    u32 due[EVENTS], lanes = before_end(g, g->t0);
    EVENT_LOOP(e) due[e] = 0;
#if WHENS
    event_orient(g);
#endif
#if TIMES
    event_timed(a, g, g->t0, lanes, due, 1);
#endif
#if EVENT_ZEROS
    event_zeros(g, lanes, due);
#endif
    u32 any_due = dose_waits(a, g, g->t0, lanes);
    EVENT_LOOP(e) any_due |= due[e];
    return any_due ? event_fire(a, g, g->t0, g->x.y, lanes, R(0), due, 1) : 0;
#else
    return 0;
#endif
}

// All but that lane. Memory that a worker begins with has bits beyond the last.
INLINE u32 event_others(u32 lanes, int i) { return lanes & ((2u << (W - 1)) - 1) & ~(1u << i); }

INLINE void event_copy(struct event_state *to, int i, const struct event_state *from, int j) {
    T_COPY(to->at, i, from->at, j);
#if TIMES
    T_COPY(to->over, i, from->over, j);
#endif
#if RECORDS
    for (int k = 0; k < RECORDS; k++)
        to->noted[k][i] = from->noted[k][j];
#endif
#if WHENS
    LANE(to->crawl, i) = LANE(from->crawl, j);
    WHEN_LOOP(e) {
        LANE(to->side[e], i) = LANE(from->side[e], j);
        LANE(to->from[e], i) = LANE(from->from[e], j);
        LANE(to->was[e], i) = LANE(from->was[e], j);
        LANE(to->noise[e], i) = LANE(from->noise[e], j);
        to->due[e] = event_others(to->due[e], i);
        to->met[e] = event_others(to->met[e], i);
        to->leap[e] = event_others(to->leap[e], i);
        to->stuck[e] = event_others(to->stuck[e], i);
        T_COPY(to->last[e], i, from->last[e], j);
        to->streak[e][i] = from->streak[e][j];
    }
#endif
}

#if WHENS
// How late or early the events are that were to happen at the end of the step: they were found on
// the interpolant, and then the step was taken anew.
INLINE real event_late(const struct group *g, const struct trial *s, u32 lanes, const real *zero) {
    real way[WHENS + TOUCHES], most = R(0);
    event_ways(g, t_real(s->t_new), s->y1, way);
    WHEN_LOOP(e) {
        real late = r_min(r_abs(zero[e] / way[e]), r_abs(s->h));
        mask counts = m_and(m_of_lanes(lanes & g->event.due[e]), r_eq(late, late));
        most = when_slope[e] ? select(counts, r_max(most, late), most) : most;
    }
    return R(2) * most;
}

// The events that were found at the end of the step or turned there. Where something `timed`
// happens, those that turn right behind it are meant to be at the same time. Returns how well the
// time of all is known.
INLINE real event_found(struct group *g, struct trial *s, u32 lanes, u32 timed, u32 *due) {
    real zero[WHENS], told[WHENS], sign[WHENS], next[WHENS], late = R(0);
    u32 here = m_lanes(r_eq(t_diff(g->event.at, s->t_new), R(0)));
    event_signs(t_real(s->t_new), s->y1, g->p, zero, told);
    WHEN_LOOP(e) sign[e] = told[e];
    event_mute(g, t_real(s->t_new), s->y1, zero, sign);
    WHEN_LOOP(e) next[e] = sign[e];
    if (timed) {
        SPARE(y, N, s->spare[1]);
        real ahead[WHENS], part = R(1) + event_together(s);
        dense_prepare(g, s, timed);
        dense_at(g, s, part, y);
        event_look(g, t_at(g->x.t, part * s->h), y, ahead, next);
        WHEN_LOOP(e) next[e] = select(m_of_lanes(timed), next[e], sign[e]);
    }
    u32 acting = timed, met = 0, fell_short = 0, found[WHENS], all[WHENS];
    WHEN_LOOP(k) met |= lanes & here & g->event.due[k];
    if (met)
        late = event_late(g, s, met, zero);
    WHEN_LOOP(k) {
        mask turned = m_or(event_turned(k, g->event.side[k], sign[k]),
                           event_turned(k, g->event.side[k], next[k]));
        found[k] = lanes & g->event.due[k] & here;
        // The step to what jumps or leaps may have ended short of it: then it is ahead.
        u32 beyond = when_jump[k] >= 0 ? found[k] : found[k] & g->event.leap[k];
        fell_short |= beyond & ~m_lanes(turned);
        found[k] &= ~beyond | m_lanes(turned);
        all[k] = found[k] | (lanes & m_lanes(turned));
        acting |= all[k];
    }
    if (acting) {
        SPARE(y, N, s->spare[1]);
        event_meant(g, s, s->t_new, R(1), s->y1, zero, g->event.side, acting, y, all);
        event_grazes(g, s, zero, all, sign);
    }
    EVENT_LOOP(e) {
        const int k = event_when[e];
        if (k < 0)
            continue;
        real side = g->event.side[k];
        due[e] = all[k];
        event_settle(g, k, zero[k], told[k], lanes & ~due[e]);
        g->event.due[k] &= ~lanes;
        g->event.leap[k] &= found[k] | ~lanes;
        u32 ahead = due[e] & ~m_lanes(event_turned(k, side, sign[k]));
        g->event.met[k] = (g->event.met[k] & (found[k] | ~lanes)) | (ahead & ~found[k]);
        g->event.from[k] = select(m_of_lanes(due[e] & ~found[k]), side, g->event.from[k]);
    }
    real crawl =
        r_max(event_shortest(s->t_new) * R(EVENT_TOGETHER), r_abs(t_real(s->t_new)) * R(EPSILON));
    crawl = select(m_of_lanes(fell_short), r_max(crawl, R(4) * g->event.crawl), R(0));
    g->event.crawl = select(m_of_lanes(lanes), crawl, g->event.crawl);
    if (acting) {
        real doubt[WHENS];
        event_doubt(g, s->t_new, s->y1, late, doubt);
        WHEN_LOOP(k) {
            mask near = m_and(m_of_lanes(acting), r_le(r_abs(zero[k]), doubt[k]));
            sign[k] = select(near, R(0), sign[k]);
        }
    }
    EVENT_LOOP(e) {
        const int k = event_when[e];
        if (k < 0)
            continue;
        // What is there for all that is known is still where it was before.
        u32 calm = lanes & ~due[e];
        mask there = m_and(m_of_lanes(calm & acting), r_eq(sign[k], R(0)));
        real side = select(there, g->event.was[k], g->event.side[k]);
        g->event.side[k] = select(m_of_lanes(calm), event_side(side, sign[k]), side);
    }
    return late;
}
#endif

// Nothing happens at t1.
INLINE u32 event_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    u32 lanes = moved & before_end(g, s->t_new), any_due = 0, due[EVENTS];
    real late = R(0);
    EVENT_LOOP(e) due[e] = 0;
#if TIMES
    event_timed(a, g, s->t_new, lanes, due, 0);
    EVENT_LOOP(e) any_due |= due[e];
#endif
    any_due |= dose_waits(a, g, s->t_new, lanes);
#if WHENS
    event_orient(g);
    late = event_found(g, s, lanes, any_due, due);
    EVENT_LOOP(e) any_due |= due[e];
#endif
#if ALGEBRAIC
    g->m = s->m;
#endif
    return any_due ? event_fire(a, g, s->t_new, s->y1, lanes, late, due, 0) : 0;
}
#endif
