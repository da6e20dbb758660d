// SPDX-License-Identifier: MIT
// The integral over time, which is signed: backwards it is that of the way back.
INLINE void integral_begin(SUMMARY_BEGIN) { summary_sum_begin(m, on); }
INLINE void integral_point(SUMMARY_POINT) { summary_add_product(m, v, weight, on); }
INLINE real integral_value(SUMMARY_VALUE) { return m[0]; }
