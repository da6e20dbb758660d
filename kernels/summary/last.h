// SPDX-License-Identifier: MIT
// The value at the end.
INLINE void last_begin(SUMMARY_BEGIN) { m[0] = select(on, R(NAN_VALUE), m[0]); }
INLINE void last_segment(SUMMARY_SEGMENT) { m[0] = select(x->on, x->v1, m[0]); }
INLINE real last_value(SUMMARY_VALUE) { return m[0]; }
