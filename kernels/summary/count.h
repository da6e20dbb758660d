// SPDX-License-Identifier: MIT
// How often an event happens.
INLINE void count_begin(SUMMARY_BEGIN) { m[0] = select(on, R(0), m[0]); }
INLINE void count_fired(SUMMARY_FIRED) { m[0] = select(on, m[0] + R(1), m[0]); }
INLINE real count_value(SUMMARY_VALUE) { return m[0]; }
