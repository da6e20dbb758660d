// SPDX-License-Identifier: MIT
// How long the value is below lo, in each of n equal bins between lo and hi, and at hi or above.
// Where there is nothing between them it is not a number.
INLINE void histogram_begin(SUMMARY_BEGIN) { m[0] = select(on, R(-1), m[0]); }
INLINE void histogram_put(const struct shoal_args *a, struct group *g, const struct call c,
                          real bin, real time, mask on) {
    for (int i = 0; i < W; i++)
        if (m_lanes(on) >> i & 1)
            a->summary[summary_place(a, g, i, c.array, g->summary.window[i], (u64)LANE(bin, i))] +=
                LANE(time, i);
}
INLINE void histogram_segment(SUMMARY_SEGMENT) {
    real low = t_real(summary_number(a, g, c.number));
    real high = t_real(summary_number(a, g, c.number + 1)), n = R(a->levels[2 * c.number + 4]);
    real width = (high - low) / n, theta = x->from;
    mask wide = r_gt(width, R(0));
    summary_clear(a, g, c.array, 1, &m[0], x->on, select(wide, R(0), R(NAN_VALUE)));
    real bin = r_floor((x->v0 - low) / width) + R(1), end = r_floor((x->v1 - low) / width) + R(1);
    bin = r_min(r_max(bin, R(0)), n + R(1));
    end = r_min(r_max(end, R(0)), n + R(1));
    mask on = m_and(m_and(x->on, wide), m_and(r_eq(x->v0, x->v0), r_eq(x->v1, x->v1)));
    on = m_and(on, m_and(r_eq(bin, bin), r_eq(end, end)));
    real way = select(r_gt(end, bin), R(1), R(-1)), v = x->v0, t = x->t0;
    mask todo = m_and(on, r_ne(bin, end));
    struct sight look = sight_of(g, s, c.expression);
    ROLL while (any(todo)) { // at most n + 1 times
        real level = r_fma(select(r_gt(way, R(0)), bin, bin - R(1)), width, low);
        // Where rounding chose the bins, or the segment ends on the edge, that is ahead all the
        // way, or it is over.
        real f = (v - level) * way, h = (x->v1 - level) * way;
        mask ahead = r_lt(f, R(0)), across = m_and(ahead, r_gt(h, R(0)));
        real next = summary_root(g, s, &look, 0, level, theta, x->to, v - level, x->v1 - level,
                                 m_and(todo, across));
        mask inside = m_and(r_ge(next, theta), r_le(next, x->to));
        real other = select(m_andnot(ahead, across), x->to, theta);
        next = select(m_and(across, inside), next, other);
        real now = summary_since(g, s, x, next);
        histogram_put(a, g, c, bin, r_abs(now - t), todo);
        t = select(todo, now, t);
        theta = select(todo, next, theta);
        v = select(todo, level, v);
        bin = select(todo, bin + way, bin);
        todo = m_and(todo, r_ne(bin, end));
    }
    histogram_put(a, g, c, end, r_abs(x->t1 - t), on);
}
INLINE real histogram_value(SUMMARY_VALUE) { return m[0]; }
