// SPDX-License-Identifier: MIT
// The mean distance of maxima that stand out: the first, the last, and how many.
INLINE void period_begin(SUMMARY_BEGIN) {
    UNROLL for (int i = 0; i < 3; i++) m[i] = select(on, R(0), m[i]);
    ridge_begin(m + 3, on);
}
INLINE void period_segment(SUMMARY_SEGMENT) {
    real noise = summary_noise(a, g, s, c.expression);
    UNROLL for (int end = 0; end < 2; end++) {
        mask found = ridge_see(m + 3, end ? x->v1 : x->v0, end ? x->t1 : x->t0, noise, x->on);
        m[0] = select(m_and(found, r_eq(m[2], R(0))), m[3 + RIDGE_TIME], m[0]);
        m[1] = select(found, m[3 + RIDGE_TIME], m[1]);
        m[2] = select(found, m[2] + R(1), m[2]);
    }
}
INLINE real period_value(SUMMARY_VALUE) {
    return select(r_gt(m[2], R(1)), r_abs(m[1] - m[0]) / (m[2] - R(1)), R(NAN_VALUE));
}
