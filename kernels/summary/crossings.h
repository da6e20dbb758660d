// SPDX-License-Identifier: MIT
// How often a level is crossed: the last sign that was not 0 turns to the other. Touching is none,
// and a jump across counts, where a window begins in that one.
INLINE void crossings_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(0), m[0]);
    m[1] = select(summary_opens(g, on), R(0), m[1]);
}
INLINE void crossings_see(real *m, real v, mask on, int way) {
    mask turned = summary_turned(&m[1], v, on, way);
    m[0] = select(turned, m[0] + R(1), m[0]);
}
INLINE void crossings_segment(SUMMARY_SEGMENT) {
    real level = R(a->levels[2 * c.number]);
    crossings_see(m, x->v0 - level, x->on, c.way);
    crossings_see(m, x->v1 - level, x->on, c.way);
}
INLINE mask crossings_turns(SUMMARY_TURNS) { return summary_between(a, o, c); }
INLINE real crossings_value(SUMMARY_VALUE) { return m[0]; }
