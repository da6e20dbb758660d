// SPDX-License-Identifier: MIT
// The standard deviation over time: the time, the mean so far, and squares of distances from it,
// which are never negative (West's update of Welford's).
INLINE void std_begin(SUMMARY_BEGIN) {
    UNROLL for (int i = 0; i < 3; i++) summary_sum_begin(m + 2 * i, on);
}
INLINE void std_point(SUMMARY_POINT) {
    real w = r_abs(weight), off = v - m[2], share = w / (m[0] + w);
    real more = m[0] * share * (off * off);
    mask some = m_and(on, r_gt(w, R(0)));
    summary_add_product(m + 2, off, share, some);
    summary_add(m + 4, more, some);
    summary_add(m, w, on);
}
INLINE real std_value(SUMMARY_VALUE) { return r_sqrt(m[4] / m[0]); }
