// SPDX-License-Identifier: MIT
// When the smallest value is reached for the first time. Where that is not a number, nobody knows.
INLINE void tmin_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(INFINITY_VALUE), m[0]);
    m[1] = select(on, R(NAN_VALUE), m[1]);
}
INLINE void tmin_see(real *m, real v, real t, mask on) {
    mask less = m_and(on, r_lt(v, m[0])), lost = m_and(on, r_ne(v, v));
    m[0] = select(m_or(less, lost), v, m[0]);
    m[1] = select(lost, v, select(less, t, m[1]));
}
INLINE void tmin_segment(SUMMARY_SEGMENT) {
    tmin_see(m, x->v0, x->t0, x->on);
    tmin_see(m, x->v1, x->t1, x->on);
}
INLINE mask tmin_turns(SUMMARY_TURNS) { return summary_falls_below(o, m[0]); }
INLINE real tmin_value(SUMMARY_VALUE) { return t_at(g->summary.begin, m[1]); }
