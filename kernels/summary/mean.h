// SPDX-License-Identifier: MIT
// The mean over time.
INLINE void mean_begin(SUMMARY_BEGIN) { summary_sum_begin(m, on); }
INLINE void mean_point(SUMMARY_POINT) { summary_add_product(m, v, weight, on); }
INLINE real mean_value(SUMMARY_VALUE) { return m[0] / length; }
