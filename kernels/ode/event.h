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
    EVENT_TOGETHER = 32
};
enum { EVENT_UP = 1, EVENT_DOWN = 2 }; // edges

// ---- Signs --------------------------------------------------------------------------------------

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

// ---- The earliest turn in a step ----------------------------------------------------------------

// A part of the step in which an event turned: not yet at `low`, but at `high`.
struct event_bracket {
    real low, high;   // parts of the step
    real under, over; // how far from the turn they are, 0 or less and more, halved now and then
    real side[WHENS]; // at `low`
    real was[WHENS];  // before the last place that was looked at
    u32 due[WHENS];   // lanes in which it turned
    u32 met[WHENS];   // those in which it had not at the beginning of the step
    u32 found;        // lanes that have one
};

// How far the events that are due are beyond their turn; the largest.
INLINE real event_beyond(const struct event_bracket *b, const real *zero) {
    real most = R(-INFINITY_VALUE);
    WHEN_LOOP(e) {
        real far = select(r_lt(b->side[e], R(0)), zero[e], -zero[e]);
        most = select(m_of_lanes(b->due[e]), r_max(far, most), most);
    }
    return most;
}

INLINE real event_time(const struct group *g, const struct trial *s, real part) {
    return select(r_eq(part, R(1)), t_real(s->t_new), t_at(g->x.t, part * s->h));
}

INLINE void event_state_at(const struct group *g, const struct trial *s, real part, mask end,
                           SPACE real *y) {
    dense_at(g, s, part, y);
    STATES(j, 0) y[j] = select(end, s->y1[j], y[j]);
}

// Looks at places inside the step one after the other. Where nothing turns, its end is looked at
// here as well, before somebody changes what the functions are made of.
INLINE void event_search(struct group *g, const struct trial *s, u32 good, SPACE real *y,
                         struct event_bracket *b) {
    real zero[WHENS], told[WHENS], sign[WHENS], from = R(0);
    u32 flat[WHENS], stays = m_lanes(r_gt(r_abs(s->h), R(EVENT_NEAR) * event_shortest(g->x.t)));
    WHEN_LOOP(e) {
        b->side[e] = g->event.side[e];
        b->due[e] = 0;
        flat[e] = 0;
    }
    b->found = 0;
    b->low = R(0);
    b->high = b->over = R(1);
    b->under = R(0);
    ROLL for (int n = 1; n <= EVENT_NODES && good & ~b->found; n++) {
        real part = R(n) * R(1.0 / EVENT_NODES);
        u32 open = good & ~b->found, here = 0;
        if (n == EVENT_NODES)
            STATES(j, 0) y[j] = s->y1[j];
        else
            dense_at(g, s, part, y);
        event_signs(event_time(g, s, part), y, g->p, zero, told);
        WHEN_LOOP(e) sign[e] = told[e];
        event_mute(g, event_time(g, s, part), y, zero, sign);
        WHEN_LOOP(e) {
            b->was[e] = b->side[e];
            u32 turned = open & m_lanes(event_turned(e, b->side[e], sign[e]));
            b->due[e] |= turned;
            here |= turned;
        }
        mask now = m_of_lanes(here);
        b->found |= here;
        b->low = select(now, from, b->low);
        b->high = select(now, part, b->high);
        b->over = select(now, event_beyond(b, zero), b->over);
        mask on = m_of_lanes(open & ~here);
        if (n == EVENT_NODES) {
            WHEN_LOOP(e) event_settle(g, e, zero[e], told[e], open & ~here);
        }
        // A condition that does not hold on its boundary, and stays there, is false.
        WHEN_LOOP(e) {
            b->side[e] = select(on, event_side(b->side[e], sign[e]), b->side[e]);
            u32 rests = open & stays & m_lanes(m_and(r_eq(zero[e], R(0)), r_eq(sign[e], R(0))));
            if (IS_CONDITION(e))
                b->side[e] = select(m_of_lanes(flat[e] & rests & ~here), R(-1), b->side[e]);
            flat[e] = rests;
        }
        from = part;
    }
}

// A look at a part of the step in the lanes, which makes it the bracket's one end or the other.
INLINE u32 event_try(const struct group *g, const struct trial *s, real part, u32 lanes,
                     SPACE real *y, struct event_bracket *b) {
    real zero[WHENS], sign[WHENS];
    u32 due[WHENS], hit = 0;
    event_state_at(g, s, part, r_ge(part, R(1)), y);
    event_look(g, event_time(g, s, part), y, zero, sign);
    WHEN_LOOP(e) {
        due[e] = b->due[e] & lanes & m_lanes(event_turned(e, b->side[e], sign[e]));
        hit |= due[e];
    }
    WHEN_LOOP(e) b->due[e] = (b->due[e] & ~hit) | due[e];
    real beyond = event_beyond(b, zero);
    mask up = m_of_lanes(hit), down = m_of_lanes(lanes & ~hit);
    b->high = select(up, part, b->high);
    b->over = select(up, beyond, b->over);
    b->low = select(down, part, b->low);
    b->under = select(down, beyond, b->under);
    return hit;
}

// Where to look next: the secant's place (halving the far end's weight, which is Illinois), or the
// middle where that says nothing, and every third time.
INLINE real event_guess(const struct event_bracket *b, real least, int pass) {
    real middle = (b->low + b->high) * R(0.5), width = b->high - b->low;
    real guess = b->high - width * b->over / (b->over - b->under);
    guess = r_min(r_max(guess, b->low + least * R(0.5)), b->high - least * R(0.5));
    mask inside = m_and(r_gt(guess, b->low), r_lt(guess, b->high));
    mask told = m_and(r_gt(b->over, R(0)), r_le(b->under, R(0)));
    return pass % 3 == 2 ? middle : select(m_and(inside, told), guess, middle);
}

INLINE void event_values_at(const struct group *g, const struct trial *s, real part, SPACE real *y,
                            real *zero) {
    real sign[WHENS];
    event_state_at(g, s, part, r_ge(part, R(1)), y);
    event_signs(event_time(g, s, part), y, g->p, zero, sign);
}

// How large the functions are in a bracket, at its ends and at two places that no symmetry has in
// common with them, or what rounding makes of them where that is more.
INLINE void event_extent(const struct group *g, const struct trial *s,
                         const struct event_bracket *b, SPACE real *y, real *extent) {
    real zero[WHENS], size[WHENS], least[WHENS], width = b->high - b->low;
    WHEN_LOOP(e) extent[e] = R(0), least[e] = R(LARGEST_SCALE);
    ROLL for (int n = 0; n < 4; n++) {
        real share = n == 0 ? R(0) : n == 1 ? R(0.3) : n == 2 ? R(0.62) : R(1);
        real part = n == 3 ? b->high : r_fma(width, share, b->low);
        event_values_at(g, s, part, y, zero);
        event_sizes(event_time(g, s, part), y, g->p, size);
        WHEN_LOOP(e) {
            extent[e] = r_max(extent[e], r_abs(zero[e]));
            least[e] = select(r_lt(size[e], least[e]), size[e], least[e]);
        }
    }
    WHEN_LOOP(e) extent[e] = r_max(extent[e], least[e] * R(EVENT_LEAP * 16 * EPSILON));
}

// The lanes in which a function that is due leaps over its boundary, at a pole or where it jumps:
// in what is left of a bracket of so much `width` it changes by a good part of its `extent` in all
// of it. How far it is from 0 says nothing of where it is.
INLINE void event_leaps(const struct group *g, const struct trial *s, const struct event_bracket *b,
                        real width, const real *extent, SPACE real *y, u32 *leap) {
    real low[WHENS], high[WHENS];
    event_values_at(g, s, b->low, y, low);
    event_values_at(g, s, b->high, y, high);
    mask narrow = r_lt((b->high - b->low) * R(EVENT_NARROW), width);
    WHEN_LOOP(e) {
        real change = r_abs(high[e] - low[e]) * R(EVENT_LEAP);
        leap[e] = b->due[e] & m_lanes(m_and(narrow, r_gt(change, extent[e])));
    }
}

// Narrows the bracket of the lanes in `found` down to what the time can tell apart; `leap` is told
// the lanes in which an event that is due does not pass 0.
INLINE void event_narrow(const struct group *g, const struct trial *s, SPACE real *y, real reach,
                         real together, struct event_bracket *b, u32 *leap) {
    real zero[WHENS], sign[WHENS], extent[WHENS], width = b->high - b->low;
    u32 all[WHENS];
    event_extent(g, s, b, y, extent);
    WHEN_LOOP(e) all[e] = b->due[e];
    event_state_at(g, s, b->low, m_of_lanes(0), y);
    event_look(g, t_at(g->x.t, b->low * s->h), y, zero, sign);
    b->under = event_beyond(b, zero);
    WHEN_LOOP(e) b->met[e] = ~m_lanes(event_turned(e, b->side[e], sign[e]));
    // What has turned by the end of the shortest step is not looked for any closer.
    mask at_once = m_and(r_eq(b->low, R(0)), r_lt(reach, b->high));
    u32 done = m_lanes(at_once) & b->found;
    if (done)
        done = event_try(g, s, reach, done, y, b);
    u32 before = 0, open = b->found & ~done;
    ROLL for (int pass = 0; pass < EVENT_PASSES && open; pass++) {
        real least = r_max(b->high * R(EPSILON), reach * R(0.25));
        u32 hit = event_try(g, s, event_guess(b, least, pass), open, y, b);
        u32 same = pass ? ~(hit ^ before) & open : 0;
        b->under = select(m_of_lanes(same & hit), b->under * R(0.5), b->under);
        b->over = select(m_of_lanes(same & ~hit), b->over * R(0.5), b->over);
        before = hit;
        open &= m_lanes(r_gt(b->high - b->low, least));
    }
    event_leaps(g, s, b, width, extent, y, leap);
    b->low = select(m_of_lanes(done), reach, b->low);
    // Those that turn right behind it are meant to be at the same time.
    real behind = r_min(b->high + together, R(1));
    event_state_at(g, s, behind, r_ge(behind, R(1)), y);
    event_look(g, event_time(g, s, behind), y, zero, sign);
    WHEN_LOOP(e) b->due[e] |= all[e] & m_lanes(event_turned(e, b->side[e], sign[e]));
}

// The part of a step by which moments at its end that are meant to be one may differ.
INLINE real event_together(const struct trial *s) {
    return R(EVENT_TOGETHER) * event_shortest(s->t_new) / r_abs(s->h);
}

INLINE treal event_limit(const struct shoal_args *a, struct group *g, struct trial *s, u32 good) {
    struct event_bracket b;
    SPARE(y, N, s->spare[1]);
    (void)a;
    event_orient(g);
    event_search(g, s, good, y, &b);
    WHEN_LOOP(e) g->event.due[e] &= ~good;
    // What the end of the step says before somebody changes what it is made of, or where something
    // turns in it the places before that.
    WHEN_LOOP(e) {
        mask told = m_of_lanes(good & ~b.due[e]);
        g->event.side[e] = select(told, b.side[e], g->event.side[e]);
        g->event.was[e] = select(m_of_lanes(good), b.was[e], g->event.was[e]);
    }
    if (!b.found)
        return s->t_new;
    real reach = event_shortest(g->x.t) / r_abs(s->h);
    real together = event_together(s);
    u32 leap[WHENS];
    event_narrow(g, s, y, reach, together, &b, leap);
    mask found = m_of_lanes(b.found);
    // On this side of the boundary: one that an action turns back has nothing to come back over. A
    // jump is taken, and so it is on the other side, and so is a leap. A stop that is next to it is
    // meant to be at the same time.
    u32 events = 0;
    WHEN_LOOP(e) events |= when_jump[e] < 0 ? b.due[e] & ~leap[e] : 0;
    real part = r_max(select(m_of_lanes(events), b.low, b.high), reach);
    part = select(m_of_lanes(events), part, r_max(part, g->event.crawl / r_abs(s->h)));
    mask near = m_and(s->lands, r_ge(part + together, R(1)));
    mask end = m_or(near, r_ge(part, R(1)));
    treal at = t_select(end, s->t_new, t_add(g->x.t, part * s->h));
    g->event.at = t_select(found, at, g->event.at);
    WHEN_LOOP(e) {
        g->event.due[e] |= b.due[e] & b.found;
        g->event.leap[e] = (g->event.leap[e] & ~b.found) | (leap[e] & b.found);
        g->event.met[e] = (g->event.met[e] & ~b.found) | (b.met[e] & b.found);
        g->event.from[e] = select(found, b.side[e], g->event.from[e]);
    }
    return t_select(found, at, s->t_new);
}
#endif

// ---- What they do -------------------------------------------------------------------------------

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

// The events in `due` act at t, in the order of the file; `fired` is told which, and `left` where
// their functions are then. Before all of them they `went` so.
INLINE u32 event_act_due(const struct shoal_args *a, struct group *g, treal t, SPACE real *y,
                         const u32 *due, u32 *fired, const real *went, real *left, int start,
                         u32 *lost) {
    u32 changed = 0;
#if WHENS
    real before[WHENS], zero[WHENS], sign[WHENS], touch = R(1);
    event_signs(t_real(t), y, g->p, before, sign);
#endif
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
            event_remember(g, k, t, y, before[k], zero[k], went[k], sign[k], touch, acts);
            left[k] = select(m_of_lanes(acts), zero[k], left[k]);
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
INLINE void event_moved(struct group *g, treal t, const SPACE real *y, const real *left,
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
        mask moved = r_gt(r_abs(zero[k] - left[k]), rounding[k]);
        moved = m_and(moved, m_of_lanes(fired[e]));
        mask calm = m_andnot(moved, event_turned(k, side, sign[k]));
        g->event.noise[k] = select(moved, R(0), g->event.noise[k]);
        g->event.stuck[k] &= ~m_lanes(moved);
        g->event.side[k] = select(calm, event_side(side, sign[k]), side);
    }
}
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
    u32 fired[EVENTS], changed = 0, lost = 0;
    EVENT_LOOP(e) fired[e] = 0;
    real left[WHENS + 1], went[WHENS + TOUCHES + 1], times[TIMES + 1];
    (void)late, (void)left, (void)went, (void)times;
#if TIMES
    event_times(g->p, times);
#endif
#if WHENS
    real zero[WHENS], sign[WHENS], near[WHENS];
    event_signs(t_real(t), y, g->p, zero, sign);
    event_ways(g, t_real(t), y, went);
    event_doubt(g, t, y, late, near);
    WHEN_LOOP(e) left[e] = zero[e];
    WHEN_LOOP(e) {
        // What turned back and is still beyond is there, however it goes when others have acted.
        real far = r_abs(zero[e]);
        near[e] = select(m_of_lanes(g->event.stuck[e]), far + near[e], near[e]);
        near[e] = select(r_le(far, near[e]), near[e], R(-1));
    }
#endif
    u32 any_due;
    do {
        changed |= event_act_due(a, g, t, y, due, fired, went, left, start, &lost);
        u32 given = dose_due(a, g, t, y, lanes & ~g->ended);
        event_settle_rows(g, t, y, given, &lost);
        changed |= given;
        event_free_jumps(due, given, fired);
#if WHENS
        event_moved(g, t, y, left, fired);
#endif
        any_due = event_follow(g, t, y, lanes & ~g->ended, near, fired, due);
        any_due |= event_retimed(g, t, lanes & ~g->ended, times, fired, due);
    } while (any_due);
    // A row does not end with what is no state: it goes on from there, and fails.
    g->ended &= g->endless | ~(lost | ~m_lanes(finite_all(y)));
    return changed;
}

// ---- The watcher --------------------------------------------------------------------------------

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
    u32 acting = timed, met = 0;
    u32 fell_short = 0;
    WHEN_LOOP(e) met |= lanes & here & g->event.due[e];
    if (met)
        late = event_late(g, s, met, zero);
    EVENT_LOOP(e) {
        const int k = event_when[e];
        if (k < 0)
            continue;
        real side = g->event.side[k];
        u32 found = lanes & g->event.due[k] & here;
        mask turned = m_or(event_turned(k, side, sign[k]), event_turned(k, side, next[k]));
        // The step to what jumps or leaps may have ended short of it: then it is ahead.
        u32 beyond = when_jump[k] >= 0 ? found : found & g->event.leap[k];
        fell_short |= beyond & ~m_lanes(turned);
        found &= ~beyond | m_lanes(turned);
        due[e] = found | (lanes & m_lanes(turned));
        event_settle(g, k, zero[k], told[k], lanes & ~due[e]);
        g->event.due[k] &= ~lanes;
        g->event.leap[k] &= found | ~lanes;
        u32 ahead = due[e] & ~m_lanes(event_turned(k, side, sign[k]));
        g->event.met[k] = (g->event.met[k] & (found | ~lanes)) | (ahead & ~found);
        g->event.from[k] = select(m_of_lanes(due[e] & ~found), side, g->event.from[k]);
        acting |= due[e];
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
