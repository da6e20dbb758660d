// SPDX-License-Identifier: MIT
// The value at the beginning.
INLINE void first_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(NAN_VALUE), m[0]);
    m[1] = select(on, R(0), m[1]);
}
INLINE void first_segment(SUMMARY_SEGMENT) {
    m[0] = select(m_and(x->on, r_eq(m[1], R(0))), x->v0, m[0]);
    m[1] = select(x->on, R(1), m[1]);
}
INLINE real first_value(SUMMARY_VALUE) { return m[0]; }
