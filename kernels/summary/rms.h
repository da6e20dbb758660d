// SPDX-License-Identifier: MIT
// The root of the mean square over time.
INLINE void rms_begin(SUMMARY_BEGIN) { summary_sum_begin(m, on); }
INLINE void rms_point(SUMMARY_POINT) { summary_add_product(m, v * v, weight, on); }
INLINE real rms_value(SUMMARY_VALUE) { return r_sqrt(r_abs(m[0] / length)); }
