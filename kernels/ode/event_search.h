// SPDX-License-Identifier: MIT
// The earliest turn of an event in a step: a bracket between places that are looked at, narrowed
// down on the interpolant, where the step is to end (see event.h).

#if COLD_PART && WHENS
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

// The lanes in which a condition that does not hold on its boundary is there, and would not be if
// it moved: that would show between two places that are looked at.
INLINE void event_rests(const struct group *g, const struct trial *s, real t, const SPACE real *y,
                        const real *zero, const real *told, u32 lanes, u32 *rests) {
    u32 some = 0;
    WHEN_LOOP(e) {
        mask there = m_and(r_eq(zero[e], R(0)), r_eq(told[e], R(0)));
        rests[e] = IS_CONDITION(e) ? lanes & m_lanes(there) : 0;
        some |= rests[e];
    }
    if (!some)
        return;
    real way[WHENS + TOUCHES], rounding[WHENS];
    event_ways(g, t, y, way);
    event_rounding(g, s->t_new, y, way, rounding);
    WHEN_LOOP(e) {
        real moves = r_abs(way[e] * s->h) * R(1.0 / EVENT_NODES);
        rests[e] &= ~m_lanes(m_and(r_gt(moves, R(0)), r_le(moves, rounding[e])));
    }
}

// Looks at places inside the step one after the other. Where nothing turns, its end is looked at
// here as well, before somebody changes what the functions are made of.
INLINE void event_search(struct group *g, const struct trial *s, u32 good, SPACE real *y,
                         struct event_bracket *b) {
    real zero[WHENS], told[WHENS], sign[WHENS], from = R(0);
    u32 flat[WHENS], rests[WHENS],
        stays = m_lanes(r_gt(r_abs(s->h), R(EVENT_NEAR) * event_shortest(g->x.t)));
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
        event_rests(g, s, event_time(g, s, part), y, zero, told, open & stays, rests);
        WHEN_LOOP(e) { // what stays on its boundary, where it does not hold, is false
            b->side[e] = select(on, event_side(b->side[e], sign[e]), b->side[e]);
            b->side[e] = select(m_of_lanes(flat[e] & rests[e] & ~here), R(-1), b->side[e]);
            flat[e] = rests[e];
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

// Adds the lanes in which events are exactly on their boundary at t, in `at`, which is that part of
// the step, and beyond it as soon as that can be seen: with what happens there they are meant to be
// at the same time. What rests on its boundary, touches it, or is a corner there stays.
INLINE void event_meant(struct group *g, struct trial *s, treal t, real part, const SPACE real *at,
                        const real *zero, const real *side, u32 lanes, SPACE real *y, u32 *due) {
    real way[WHENS + TOUCHES], rounding[WHENS], ahead[WHENS], sign[WHENS];
    u32 there[WHENS], some = 0;
    WHEN_LOOP(e) {
        there[e] = when_jump[e] < 0 ? lanes & m_lanes(r_eq(zero[e], R(0))) : 0;
        some |= there[e];
    }
    if (!some)
        return;
    event_ways(g, t_real(t), at, way);
    event_rounding(g, t, at, way, rounding);
    dense_prepare(g, s, some);
    WHEN_LOOP(e) {
        if (!there[e])
            continue;
        real far = R(4) * rounding[e] / r_abs(way[e] * s->h);
        far = select(r_lt(far, R(1.0 / EVENT_NODES)), far, R(1.0 / EVENT_NODES));
        dense_at(g, s, part + far, y);
        event_signs(t_real(t_add(g->x.t, (part + far) * s->h)), y, g->p, ahead, sign);
        mask over = m_and(event_turned(e, side[e], sign[e]), r_gt(r_abs(ahead[e]), rounding[e]));
        due[e] |= there[e] & m_lanes(over);
    }
}

#if !ALGEBRAIC
// Takes out of `due` the lanes in which events are beyond their boundary at the end of the step by
// rounding alone, and back where they were as soon as that can be seen: conditions of which one
// ends when another begins. That is too near for an interpolant, whose own rounding is larger and
// whose step may be shorter still.
INLINE void event_grazes(struct group *g, const struct trial *s, const real *zero, u32 *due,
                         real *sign) {
    real way[WHENS + TOUCHES], rounding[WHENS], ahead[WHENS], next[WHENS];
    u32 grazes[WHENS], some = 0;
    event_ways(g, t_real(s->t_new), s->y1, way);
    event_rounding(g, s->t_new, s->y1, way, rounding);
    WHEN_LOOP(e) {
        u32 near = m_lanes(r_le(r_abs(zero[e]), rounding[e])) & ~g->event.leap[e];
        grazes[e] = when_jump[e] < 0 ? due[e] & near : 0;
        some |= grazes[e];
    }
    if (!some)
        return;
    SPARE(y, N, s->spare[1]);
    SPARE(f, N, s->spare[2]);
    real most = event_shortest(s->t_new) * R(EVENT_NARROW);
    model_rhs(t_real(s->t_new), s->y1, g->p, f);
    for (int i = 0; i < W; i++)
        g->extra[i] += some >> i & 1;
    WHEN_LOOP(e) {
        if (!grazes[e])
            continue;
        real far = R(EVENT_SEEN) * rounding[e] / r_abs(way[e]);
        mask seen = r_lt(far, most); // what nearly touches its boundary is not
        far = select(seen, far, R(0)) * g->dir;
        STATES(j, 0) y[j] = r_fma(far, f[j], s->y1[j]);
        event_signs(t_real(t_add(s->t_new, far)), y, g->p, ahead, next);
        mask back = r_gt(next[e] * g->event.side[e], R(0));
        back = m_and(m_and(back, seen), r_gt(r_abs(ahead[e]), rounding[e]));
        grazes[e] &= m_lanes(back);
        due[e] &= ~grazes[e];
        sign[e] = select(m_of_lanes(grazes[e]), R(0), sign[e]);
    }
}
#else
#define event_grazes(g, s, zero, due, sign) (void)0
#endif

// Narrows the bracket of the lanes in `found` down to what the time can tell apart; `leap` is told
// the lanes in which an event that is due does not pass 0.
INLINE void event_narrow(struct group *g, struct trial *s, SPACE real *y, real reach, real together,
                         struct event_bracket *b, u32 *leap) {
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
    event_values_at(g, s, b->high, y, zero);
    event_meant(g, s, t_add(g->x.t, b->high * s->h), b->high, y, zero, b->side, b->found, y,
                b->due);
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
