// SPDX-License-Identifier: MIT
// What summaries do with a step, and with a window: see summary.h. Behind it stand the functions of
// calls, and the lists of them.

// ---- Stretches ----------------------------------------------------------------------------------

#if SUMMARY_SEGMENTED
INLINE real summary_node(const struct stretch *x, int i) {
    if (i == SUMMARY_NODES - 1)
        return x->to;
    return r_fma(x->to - x->from, R((elem)i / (SUMMARY_NODES - 1)), x->from);
}

INLINE real summary_since_start(const struct stretch *x, const struct trial *s, real theta) {
    real t = r_fma(theta, s->h, x->origin);
    return select(r_eq(theta, x->to), x->t1, select(r_eq(theta, x->from), x->t0, t));
}

// Which way an expression goes, as far as nodes have told.
struct course {
    mask up, down;
};

// Returns where it turns.
INLINE mask course_on(struct course *c, real slope) {
    mask up = r_gt(slope, R(0)), down = r_lt(slope, R(0));
    mask turns = m_or(m_and(c->up, down), m_and(c->down, up));
    c->up = m_or(up, m_andnot(c->up, down));
    c->down = m_or(down, m_andnot(c->down, up));
    return turns;
}

// Segments of lanes for which an expression turns in the stretch.
INLINE void summary_walk(const struct shoal_args *a, struct group *g, const struct trial *s,
                         const struct stretch *x, int e, real v0, mask on) {
    struct sight look = sight_of(g, s, e);
    struct course c;
    struct segment y;
    real slope = sight_slope(&look, g, s, x->from);
    c.up = c.down = m_of_lanes(0);
    y.to = x->from;
    y.v1 = v0;
    y.t1 = x->t0;
    course_on(&c, slope);
    ROLL for (int i = 1; i < SUMMARY_NODES; i++) {
        real end = summary_node(x, i), start = y.to, next = sight_slope(&look, g, s, end);
        mask turns = m_and(on, course_on(&c, next));
        real turn = end;
        if (any(turns)) {
            turn = summary_root(g, s, &look, 1, R(0), start, end, slope, next, turns);
            turn = select(turns, turn, end);
        }
        ROLL for (int part = 0; part < 2; part++) {
            y.on = part ? turns : on;
            if (!any(y.on))
                continue;
            y.from = y.to;
            y.v0 = y.v1;
            y.t0 = y.t1;
            y.to = part ? end : turn;
            y.v1 = sight_value(&look, g, s, y.to);
            y.t1 = summary_since_start(x, s, y.to);
            summary_segments(a, g, s, &y, e);
        }
        y.to = end;
        slope = next;
    }
}

// The slopes at the ends of a stretch.
struct ends {
    real first, last;
};

// Bounds of the values in a stretch that turns: where the slopes of its ends have two signs, the
// tangent at the gentler one. Else there is none.
INLINE void summary_bounds(const struct ends *d, real v0, real v1, real width, real *low,
                           real *high) {
    real reach = r_min(r_abs(d->first), r_abs(d->last)) * width;
    mask top = m_and(r_gt(d->first, R(0)), r_lt(d->last, R(0)));
    mask bottom = m_and(r_lt(d->first, R(0)), r_gt(d->last, R(0)));
    *high = select(bottom, r_max(v0, v1), select(top, r_max(v0, v1) + reach, R(INFINITY_VALUE)));
    *low = select(top, r_min(v0, v1), select(bottom, r_min(v0, v1) - reach, R(-INFINITY_VALUE)));
}

// Segments of all expressions in a stretch: one where it does not turn, or where nobody needs to
// know. `whole`: it is the step.
INLINE void summary_cut(const struct shoal_args *a, struct group *g, const struct trial *s,
                        const struct stretch *x, int whole) {
    real v0[SUMMARY_EXPRESSIONS], v1[SUMMARY_EXPRESSIONS], d[SUMMARY_EXPRESSIONS];
    struct ends look[SUMMARY_SEGMENTED];
    struct course c[SUMMARY_SEGMENTED];
    mask bent[SUMMARY_SEGMENTED];
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
        c[e].up = c[e].down = bent[e] = m_of_lanes(0);
    }
    UNROLL for (int i = 0; i < SUMMARY_NODES; i++) {
        int end = i == 0 ? PLAIN_START : PLAIN_END, inside = i > 0 && i < SUMMARY_NODES - 1;
        if (inside || !whole || !SUMMARY_PLAIN)
            summary_look_slopes(g, s, summary_node(x, i), d);
        UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
            if (whole && !inside && SUMMARY_PLAIN)
                d[e] = plain_sum(g, s, summary_state_of(e), end);
            bent[e] = m_or(bent[e], course_on(&c[e], d[e]));
            if (i == 0)
                look[e].first = d[e];
            look[e].last = d[e];
        }
    }
    summary_look(g, s, x->from, v0);
    summary_look(g, s, x->to, v1);
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
        struct segment y;
        mask walks = m_and(x->on, bent[e]);
        if (any(walks)) {
            real low, high;
            summary_bounds(&look[e], v0[e], v1[e], x->to - x->from, &low, &high);
            walks = m_and(walks, summary_turns(a, g, low, high, e));
        }
        y.from = x->from;
        y.to = x->to;
        y.v0 = v0[e];
        y.v1 = v1[e];
        y.t0 = x->t0;
        y.t1 = x->t1;
        y.on = m_andnot(x->on, walks);
        if (any(y.on))
            summary_segments(a, g, s, &y, e);
        if (any(walks))
            summary_walk(a, g, s, x, e, v0[e], walks);
    }
}
#endif

INLINE void summary_stretch(const struct shoal_args *a, struct group *g, const struct trial *s,
                            const struct stretch *x, int whole) {
#if SUMMARY_SEGMENTED
    summary_cut(a, g, s, x, whole);
#endif
    real time = (x->to - x->from) * s->h;
    if (whole)
        summary_closed(g, s, time, x->on);
#ifdef SUMMARY_GAUSS
    if (whole && SUMMARY_ALL_CLOSED)
        return;
    real v[SUMMARY_EXPRESSIONS];
#define X(at, weight)                                                                              \
    summary_look(g, s, r_fma(x->to - x->from, R(at), x->from), v);                                 \
    summary_points(v, time *R(weight), x->on, g->summary.of, whole);
    SUMMARY_GAUSS(X)
#undef X
#endif
}

// ---- Windows ------------------------------------------------------------------------------------

INLINE void summary_set_window(const struct shoal_args *a, struct group *g, int i, u32 window) {
    const GLOBAL elem *edge = a->edges + 2 * (u64)window;
    g->summary.window[i] = window;
    T_SET(g->summary.begin, i, edge[0], edge[1]);
    T_SET(g->summary.end, i, edge[2], edge[3]);
}

// Writes what the window of lane i comes to after a time of `length`; nothing was seen in a time
// that is not positive.
INLINE void summary_write(const struct shoal_args *a, struct group *g, int i, const real *out,
                          real length, int good) {
    good = good && LANE(length, i) * LANE(g->dir, i) > 0;
    ITEMS(k, SUMMARY_ITEMS)
    a->summary[summary_place(a, g, i, k, g->summary.window[i], 0)] =
        good ? LANE(out[k], i) : (elem)NAN_VALUE;
    ROLL for (int k = SUMMARY_ITEMS; k < SUMMARY_ARRAYS && !good; k++)
        summary_fill(a, g, i, k, (elem)NAN_VALUE);
}

// The windows of the lanes are over, and the next ones begin.
OUTLINE void summary_next(const struct shoal_args *a, struct group *g, u32 lanes) {
    real out[SUMMARY_ITEMS + 1];
    real length = t_diff(g->summary.end, g->summary.begin);
    summary_results(a, g, length, out);
    for (int i = 0; i < W; i++)
        if (lanes >> i & 1) {
            summary_write(a, g, i, out, length, 1);
            summary_set_window(a, g, i, g->summary.window[i] + 1);
        }
    summary_start(a, g, m_of_lanes(lanes));
}

// The lanes for which there is a window behind theirs.
INLINE u32 summary_has_next(const struct shoal_args *a, const struct group *g) {
    u32 lanes = 0;
    for (int i = 0; i < W; i++)
        lanes |= (u32)(g->summary.window[i] + 1 < a->z.windows) << i;
    return lanes;
}

// A step that does not lie in one window: stretch by stretch, and in each another window.
OUTLINE void summary_divide(const struct shoal_args *a, struct group *g, struct trial *s,
                            u32 lanes) {
    while (lanes) { // at most as often as there are windows
        struct stretch x;
        real since = t_diff(g->x.t, g->summary.begin), left = t_diff(g->summary.end, s->t_new);
        mask begun = r_ge(since * g->dir, R(0)), inside = r_ge(left * g->dir, R(0));
        lanes &= m_lanes(r_gt(t_diff(s->t_new, g->summary.begin) * g->dir, R(0)));
        x.on = m_of_lanes(lanes);
        x.origin = since;
        x.from = select(begun, R(0), -since / s->h);
        x.to = select(inside, R(1), t_diff(g->summary.end, g->x.t) / s->h);
        x.t0 = select(begun, since, R(0));
        x.t1 = select(inside, t_diff(s->t_new, g->summary.begin),
                      t_diff(g->summary.end, g->summary.begin));
        if (lanes)
            summary_stretch(a, g, s, &x, 0);
        u32 over = lanes & m_lanes(r_le(left * g->dir, R(0))) & summary_has_next(a, g);
        lanes = over & m_lanes(r_lt(left * g->dir, R(0)));
        if (over)
            summary_next(a, g, over);
    }
}

INLINE u32 summary_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    dense_prepare(g, s, moved);
    real since = t_diff(g->x.t, g->summary.begin), left = t_diff(g->summary.end, s->t_new);
    u32 whole = moved & m_lanes(m_and(r_ge(since * g->dir, R(0)), r_gt(left * g->dir, R(0))));
    u32 last = ~summary_has_next(a, g) & m_lanes(r_eq(left, R(0)));
    whole |= moved & last & m_lanes(r_ge(since * g->dir, R(0)));
    if (whole) {
        struct stretch x;
        x.from = R(0);
        x.to = R(1);
        x.origin = x.t0 = since;
        x.t1 = t_diff(s->t_new, g->summary.begin);
        x.on = m_of_lanes(whole);
        summary_stretch(a, g, s, &x, 1);
    }
    if (moved & ~whole)
        summary_divide(a, g, s, moved & ~whole);
    return 0;
}

INLINE void summary_begin(const struct shoal_args *a, struct group *g) {
    for (int i = 0; i < W; i++)
        summary_set_window(a, g, i, 0);
    summary_start(a, g, m_of_lanes(~0u));
}

INLINE void summary_copy(struct summary_state *to, int i, const struct summary_state *from, int j) {
    for (int n = 0; n < SUMMARY_ROOM; n++)
        LANE(to->of[n], i) = LANE(from->of[n], j);
    T_COPY(to->begin, i, from->begin, j);
    T_COPY(to->end, i, from->end, j);
    to->window[i] = from->window[j];
}

// Windows that were not reached have nothing.
INLINE void summary_end(const struct shoal_args *a, struct group *g, int i, u32 status) {
    real out[SUMMARY_ITEMS + 1];
    real length = t_diff(g->x.t, g->summary.begin);
    int good = status == STATUS_ok || status == STATUS_stopped || a->z.keep_failed;
    summary_results(a, g, length, out);
    summary_write(a, g, i, out, length, good);
    ROLL while (++g->summary.window[i] < a->z.windows) summary_write(a, g, i, out, length, 0);
}
