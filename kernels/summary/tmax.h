// SPDX-License-Identifier: MIT
// When the largest value is reached for the first time. Where that is not a number, nobody knows.
INLINE void tmax_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(-INFINITY_VALUE), m[0]);
    m[1] = select(on, R(NAN_VALUE), m[1]);
}
INLINE void tmax_see(real *m, real v, real t, mask on) {
    mask more = m_and(on, r_gt(v, m[0])), lost = m_and(on, r_ne(v, v));
    m[0] = select(m_or(more, lost), v, m[0]);
    m[1] = select(lost, v, select(more, t, m[1]));
}
INLINE void tmax_segment(SUMMARY_SEGMENT) {
    tmax_see(m, x->v0, x->t0, x->on);
    tmax_see(m, x->v1, x->t1, x->on);
}
INLINE mask tmax_turns(SUMMARY_TURNS) { return summary_exceeds(o, m[0]); }
INLINE real tmax_value(SUMMARY_VALUE) { return t_at(g->summary.begin, m[1]); }
