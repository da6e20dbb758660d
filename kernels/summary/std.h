// SPDX-License-Identifier: MIT
// The standard deviation over time: the time, the mean so far, squares of distances from it, which
// are never negative (West's update of Welford's), and their unit. The mean is that of what values
// are beside the first one, since many steps would change nothing of a mean that is large.
INLINE void std_begin(SUMMARY_BEGIN) {
    UNROLL for (int i = 0; i < 3; i++) summary_sum_begin(m + 2 * i, on);
    summary_unit_begin(m + 6, on);
}
INLINE void std_point(SUMMARY_POINT) {
    mask large = summary_outgrown(m[6], v, on);
    if (m_lanes(large)) {
        real less = summary_unit_of(m + 6, v, large);
        UNROLL for (int i = 2; i < 6; i++) m[i] = i < 4 ? m[i] * less : m[i] * less * less;
    }
    m[7] = select(m_and(on, r_eq(m[0], R(0))), v, m[7]);
    real way = v * m[6] - m[7] * m[6];
    real w = r_abs(weight), off = way - m[2], share = w / (m[0] + w);
    real more = m[0] * share * (off * off);
    mask some = m_and(on, r_gt(w, R(0)));
    summary_add_product(m + 2, off, share, some);
    summary_add(m + 4, more, some);
    summary_add(m, w, on);
}
INLINE real std_value(SUMMARY_VALUE) { return r_sqrt(m[4] / m[0]) / m[6]; }
