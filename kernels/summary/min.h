// SPDX-License-Identifier: MIT
// The smallest value. What is not a number stays.
INLINE void min_begin(SUMMARY_BEGIN) { m[0] = select(on, R(INFINITY_VALUE), m[0]); }
INLINE void min_segment(SUMMARY_SEGMENT) {
    m[0] = select(x->on, summary_smaller(m[0], summary_smaller(x->v0, x->v1)), m[0]);
}
INLINE mask min_turns(SUMMARY_TURNS) { return summary_falls_below(o, m[0]); }
INLINE real min_value(SUMMARY_VALUE) { return m[0] + R(0); }
