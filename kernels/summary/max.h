// SPDX-License-Identifier: MIT
// The largest value. What is not a number stays.
INLINE void max_begin(SUMMARY_BEGIN) { m[0] = select(on, R(-INFINITY_VALUE), m[0]); }
INLINE void max_segment(SUMMARY_SEGMENT) {
    m[0] = select(x->on, summary_larger(m[0], summary_larger(x->v0, x->v1)), m[0]);
}
INLINE mask max_turns(SUMMARY_TURNS) { return summary_exceeds(o, m[0]); }
INLINE real max_value(SUMMARY_VALUE) { return m[0] + R(0); }
