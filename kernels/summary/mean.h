// SPDX-License-Identifier: MIT
// The mean over time.
INLINE void mean_begin(SUMMARY_BEGIN) { m[0] = select(on, R(0), m[0]); }
INLINE void mean_point(SUMMARY_POINT) { m[0] = select(on, r_fma(v, weight, m[0]), m[0]); }
INLINE real mean_value(SUMMARY_VALUE) { return m[0] / length; }
