// SPDX-License-Identifier: MIT
// The root of the mean square over time: a sum, and its unit.
INLINE void rms_begin(SUMMARY_BEGIN) {
    summary_sum_begin(m, on);
    summary_unit_begin(m + 2, on);
}
INLINE void rms_point(SUMMARY_POINT) {
    mask large = summary_outgrown(m[2], v, on);
    if (m_lanes(large)) {
        real less = summary_unit_of(m + 2, v, large);
        UNROLL for (int i = 0; i < 2; i++) m[i] = m[i] * less * less;
    }
    real x = v * m[2];
    summary_add_product(m, x * x, weight, on);
}
INLINE real rms_value(SUMMARY_VALUE) { return r_sqrt(r_abs(m[0] / length)) / m[2]; }
