// SPDX-License-Identifier: MIT
// The standard deviation over time: the mean so far, and squares of distances from it, which are
// never negative (West's update of Welford's).
INLINE void std_begin(SUMMARY_BEGIN) {
    UNROLL for (int i = 0; i < 3; i++) m[i] = select(on, R(0), m[i]);
}
INLINE void std_point(SUMMARY_POINT) {
    real w = r_abs(weight), all = m[0] + w, off = v - m[1], share = w / all;
    real mean = r_fma(off, share, m[1]), more = m[0] * share * (off * off);
    m[1] = select(m_and(on, r_gt(w, R(0))), mean, m[1]);
    m[2] = select(m_and(on, r_gt(w, R(0))), m[2] + more, m[2]);
    m[0] = select(on, all, m[0]);
}
INLINE real std_value(SUMMARY_VALUE) { return r_sqrt(m[2] / m[0]); }
