// SPDX-License-Identifier: MIT
// Switches in time: numbers that the right-hand side has as parameters, which change at moments
// that are known in advance. Steps end there, and the next one begins with the new values.
//
// A switch belongs to a line a + b t. The moment at which it has a value is computed by one
// formula, and which side of it the time is on decides: never the value of the line there, which is
// rounded. So a step that ends at a moment is followed by one that begins behind it.

// When b t + a is `value`.
INLINE treal line_time(wide value, wide a, wide b) { return w_time(w_div(w_sub(value, a), b)); }

// How far ahead of t a moment is.
INLINE real line_ahead(const struct group *g, treal moment, treal t) {
    return t_diff(moment, t) * g->dir;
}

// The switch's value from t on, and the moment after t at which it changes; a NaN: none.
INLINE wide switch_at_zero(const struct group *g, treal t, wide a, wide b, mask still,
                           treal *next) {
    treal moment = line_time(w_of(R(0)), a, b);
    real way = b.hi * g->dir;
    mask ahead = r_gt(line_ahead(g, moment, t), R(0));
    *next = t_select(ahead, moment, t_pair((elem)NAN_VALUE, 0));
    mask below = m_or(m_and(r_gt(way, R(0)), ahead), m_andnot(r_lt(way, R(0)), ahead));
    below = m_or(below, m_and(r_eq(way, R(0)), still));
    return w_of(select(below, R(1), R(0)));
}

INLINE wide switch_BELOW(const struct group *g, treal t, wide a, wide b, treal *next) {
    return switch_at_zero(g, t, a, b, r_lt(a.hi, R(0)), next);
}

INLINE wide switch_UPTO(const struct group *g, treal t, wide a, wide b, treal *next) {
    return switch_at_zero(g, t, a, b, r_le(a.hi, R(0)), next);
}

// Rounding may be off by one, on either side.
INLINE wide switch_FLOOR(const struct group *g, treal t, wide a, wide b, treal *next) {
    real way = b.hi * g->dir;
    real rises = select(r_gt(way, R(0)), R(1), R(0)), step = R(2) * rises - R(1);
    mask moves = r_ne(way, R(0));
    wide k = w_floor(w_add(w_mul(b, w_of_time(t)), a));
    wide here = w_of(R(1) - rises), onward = w_of(rises);
    for (int i = 0; i < 2; i++) {
        mask early = r_gt(line_ahead(g, line_time(w_add(k, here), a, b), t), R(0));
        k = w_add(k, w_of(select(m_and(moves, early), -step, R(0))));
        mask late = r_le(line_ahead(g, line_time(w_add(k, onward), a, b), t), R(0));
        k = w_add(k, w_of(select(m_and(moves, late), step, R(0))));
    }
    *next = t_select(moves, line_time(w_add(k, onward), a, b), t_pair((elem)NAN_VALUE, 0));
    return k;
}

#if COLD_PART
// Between two moments the right-hand side keeps away from both by as much as rounding may take what
// turns there, a line or the sine of one, to its other side: the root of mod(t,0.1) has a value.
INLINE void switches_keep(struct group *g, treal t, treal next, u32 lanes) {
    mask some = m_of_lanes(lanes), on = r_gt(g->dir, R(0));
    real from = t_real(t), to = t_real(next);
    from = r_fma(r_abs(from) * g->dir, R(8 * EPSILON), from);
    to = select(r_lt(r_abs(to), R(LARGEST_SCALE)), r_fma(r_abs(to) * g->dir, R(-8 * EPSILON), to),
                g->dir * R(INFINITY_VALUE));
    mask apart = r_ge((to - from) * g->dir, R(0));
    real between = (from + to) * R(0.5);
    from = select(apart, from, between);
    to = select(apart, to, between);
    g->p[WITHIN_FROM] = select(some, select(on, from, to), g->p[WITHIN_FROM]);
    g->p[WITHIN_TO] = select(some, select(on, to, from), g->p[WITHIN_TO]);
}

// Sets the switches of the lanes to what they are from t on; returns where one changed. A level's
// lines are made of the switches before it. One that turns faster than time can tell has no end.
OUTLINE u32 switches_refresh(const struct shoal_args *a, struct group *g, treal t, u32 lanes) {
    mask some = m_of_lanes(lanes), changed = m_of_lanes(0), endless = m_of_lanes(0);
    wide line[2 * SWITCHES], k[SWITCHES];
    treal soonest = g->t1, edge = t_pair((elem)NAN_VALUE, 0);
    (void)a;
#define X(i, kind)                                                                                 \
    {                                                                                              \
        treal next;                                                                                \
        k[i] = switch_##kind(g, t, line[2 * i], line[2 * i + 1], &next);                           \
        real now = k[i].hi, before = g->p[SWITCHES_AT + i];                                        \
        changed = m_or(changed, m_and(some, r_ne(now, before)));                                   \
        g->p[SWITCHES_AT + i] = select(some, now, before);                                         \
        real ahead = line_ahead(g, next, t);                                                       \
        endless = m_or(endless, r_le(ahead, R(0)));                                                \
        edge = t_select(m_andnot(r_eq(ahead, ahead), r_ge(line_ahead(g, next, edge), R(0))), next, \
                        edge);                                                                     \
        soonest = t_select(r_lt(line_ahead(g, next, soonest), R(0)), next, soonest);               \
    }
#define LEVEL(n)                                                                                   \
    model_lines_##n(g->p, k, line);                                                                \
    SWITCHES_OF_##n(X)
    SWITCH_LEVELS(LEVEL)
#undef LEVEL
#undef X
    real least = r_fma(r_abs(t_real(t)), R(8 * TIME_EPSILON), R(SMALLEST_STEP));
    soonest = t_select(endless, t_add(t, least * g->dir), soonest);
    g->switches.next = t_select(some, soonest, g->switches.next);
    g->switches.endless = (g->switches.endless & ~lanes) | (m_lanes(endless) & lanes);
    switches_keep(g, t, edge, lanes);
    return m_lanes(changed);
}
#else
OUTLINE u32 switches_refresh(const struct shoal_args *a, struct group *g, treal t, u32 lanes);
#endif

INLINE void switches_begin(const struct shoal_args *a, struct group *g) {
    g->switches.endless = 0;
    ITEMS(i, SWITCHES) g->p[SWITCHES_AT + i] = R(0);
    switches_refresh(a, g, g->t0, ~0u);
}

INLINE void switches_copy(struct switches_state *to, int i, const struct switches_state *from,
                          int j) {
    T_COPY(to->next, i, from->next, j);
    to->endless = (to->endless & ~(1u << i)) | (from->endless >> j & 1) << i;
}

INLINE treal switches_next_stop(const struct shoal_args *a, const struct group *g) {
    (void)a;
    return g->switches.next;
}

// A row ends with the values it had until then.
INLINE u32 switches_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    mask due = r_le(line_ahead(g, g->switches.next, s->t_new), R(0));
    mask goes_on = r_ne(t_diff(g->t1, s->t_new), R(0));
    u32 lanes = moved & m_lanes(m_and(due, goes_on)), lost = lanes & g->switches.endless;
    g->ended |= lost;
    g->endless |= lost;
    return lanes ? switches_refresh(a, g, s->t_new, lanes) : 0;
}
