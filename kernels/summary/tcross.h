// SPDX-License-Identifier: MIT
// When a level is crossed for the first time.
INLINE void tcross_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(NAN_VALUE), m[0]);
    m[1] = select(summary_opens(g, on), R(0), m[1]);
}
INLINE void tcross_segment(SUMMARY_SEGMENT) {
    real t, level = R(a->levels[2 * c.number]);
    mask jumped = summary_jumped(x, &m[1], level, c.way);
    mask across = summary_across(g, s, x, &m[1], level, c, &t);
    mask none = r_ne(m[0], m[0]);
    m[0] = select(m_and(none, across), t, m[0]);
    m[0] = select(m_and(none, jumped), x->t0, m[0]);
}
INLINE mask tcross_turns(SUMMARY_TURNS) { return summary_between(a, o, c); }
INLINE real tcross_value(SUMMARY_VALUE) { return t_at(g->summary.begin, m[0]); }
