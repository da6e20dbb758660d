// SPDX-License-Identifier: MIT
// The mean distance of rising crossings of a level: the first, the last, and how many.
INLINE void period_level_begin(SUMMARY_BEGIN) {
    UNROLL for (int i = 0; i < 3; i++) m[i] = select(on, R(0), m[i]);
    m[3] = select(summary_opens(g, on), R(0), m[3]);
}
INLINE void period_level_see(real *m, real t, mask on) {
    m[0] = select(m_and(on, r_eq(m[2], R(0))), t, m[0]);
    m[1] = select(on, t, m[1]);
    m[2] = select(on, m[2] + R(1), m[2]);
}
INLINE void period_level_segment(SUMMARY_SEGMENT) {
    real t, level = R(a->levels[2 * c.number]);
    struct call rising = c;
    rising.way = WAY_RISING;
    period_level_see(m, x->t0, summary_jumped(x, &m[3], level, WAY_RISING));
    mask across = summary_across(g, s, x, &m[3], level, rising, &t);
    period_level_see(m, t, across);
}
INLINE mask period_level_turns(SUMMARY_TURNS) { return summary_between(a, o, c); }
INLINE real period_level_value(SUMMARY_VALUE) {
    return select(r_gt(m[2], R(1)), r_abs(m[1] - m[0]) / (m[2] - R(1)), R(NAN_VALUE));
}
