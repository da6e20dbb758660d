// SPDX-License-Identifier: MIT
// The integral over time, which is signed: backwards it is that of the way back.
INLINE void integral_begin(SUMMARY_BEGIN) { m[0] = select(on, R(0), m[0]); }
INLINE void integral_point(SUMMARY_POINT) { m[0] = select(on, r_fma(v, weight, m[0]), m[0]); }
INLINE real integral_value(SUMMARY_VALUE) { return m[0]; }
