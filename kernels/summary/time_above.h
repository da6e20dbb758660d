// SPDX-License-Identifier: MIT
// How long the value is above a level.
INLINE void time_above_begin(SUMMARY_BEGIN) { m[0] = select(on, R(0), m[0]); }
INLINE void time_above_segment(SUMMARY_SEGMENT) {
    real level = R(a->levels[2 * c.number]), t = x->t1;
    mask first = r_gt(x->v0, level), last = r_gt(x->v1, level);
    mask across = m_and(x->on, m_or(m_andnot(first, last), m_andnot(last, first)));
    if (any(across))
        t = summary_since(g, s, x, summary_crossing(g, s, x, c.expression, level, across));
    real from = select(first, x->t0, t), to = select(last, x->t1, t);
    mask some = m_and(x->on, m_or(first, last));
    m[0] = select(some, m[0] + r_abs(to - from), m[0]);
}
INLINE mask time_above_turns(SUMMARY_TURNS) { return summary_between(a, o, c); }
INLINE real time_above_value(SUMMARY_VALUE) { return m[0]; }
