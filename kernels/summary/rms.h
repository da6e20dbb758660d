// SPDX-License-Identifier: MIT
// The root of the mean square over time.
INLINE void rms_begin(SUMMARY_BEGIN) { m[0] = select(on, R(0), m[0]); }
INLINE void rms_point(SUMMARY_POINT) { m[0] = select(on, r_fma(v * v, weight, m[0]), m[0]); }
INLINE real rms_value(SUMMARY_VALUE) { return r_sqrt(r_abs(m[0] / length)); }
