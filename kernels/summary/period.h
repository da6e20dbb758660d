// SPDX-License-Identifier: MIT
// The mean distance of maxima that stand out: the first, the last, and how many. It must not hang
// on how much they have to: it is kept twice, the second time for those that stand out by half
// more, and where both are not the same, or differ by a quarter of a period in all, there is none.
enum {
    PERIOD_FIRST,
    PERIOD_LAST,
    PERIOD_COUNT,
    PERIOD_RIDGE,
    PERIOD_ROOM = PERIOD_RIDGE + RIDGE_ROOM
};

INLINE void period_begin(SUMMARY_BEGIN) {
    UNROLL for (int i = 0; i < 2; i++) {
        real *x = m + i * PERIOD_ROOM;
        UNROLL for (int k = 0; k < PERIOD_RIDGE; k++) x[k] = select(on, R(0), x[k]);
        ridge_begin(x + PERIOD_RIDGE, on);
    }
}
INLINE void period_see(real *m, real v, real t, real doubt, mask on) {
    mask found = ridge_see(m + PERIOD_RIDGE, v, t, doubt, on);
    real top = m[PERIOD_RIDGE + RIDGE_TIME];
    mask first = m_and(found, r_eq(m[PERIOD_COUNT], R(0)));
    m[PERIOD_FIRST] = select(first, top, m[PERIOD_FIRST]);
    m[PERIOD_LAST] = select(found, top, m[PERIOD_LAST]);
    m[PERIOD_COUNT] = select(found, m[PERIOD_COUNT] + R(1), m[PERIOD_COUNT]);
}
INLINE void period_segment(SUMMARY_SEGMENT) {
    real doubt = SUMMARY_DOUBT(g, c.expression);
    UNROLL for (int end = 0; end < 2; end++) {
        real v = end ? x->v1 : x->v0, t = end ? x->t1 : x->t0;
        period_see(m, v, t, doubt, x->on);
        period_see(m + PERIOD_ROOM, v, t, doubt * R(1.5), x->on);
    }
}
INLINE real period_mean(const real *m) {
    real length = r_abs(m[PERIOD_LAST] - m[PERIOD_FIRST]), gaps = m[PERIOD_COUNT] - R(1);
    return select(r_gt(gaps, R(0)), length / gaps, R(NAN_VALUE));
}
INLINE real period_value(SUMMARY_VALUE) {
    real period = period_mean(m), off = r_abs(period - period_mean(m + PERIOD_ROOM));
    real all = off * r_max(m[PERIOD_COUNT] - R(1), R(2.5));
    return select(r_le(all, period * R(0.25)), period, R(NAN_VALUE));
}
