// SPDX-License-Identifier: MIT
// The first minima that stand out, and their times: maxima of the negative.
INLINE void troughs_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(-1), m[0]);
    ridge_begin(m + 1, on);
}
INLINE void troughs_segment(SUMMARY_SEGMENT) {
    ridge_clear(a, g, m, c, x->on);
    real doubt = SUMMARY_DOUBT(g, c.expression);
    UNROLL for (int end = 0; end < 2; end++) {
        mask found = ridge_see(m + 1, end ? -x->v1 : -x->v0, end ? x->t1 : x->t0, doubt, x->on);
        if (any(found))
            ridge_put(a, g, m, c, -m[1 + RIDGE_VALUE], found);
    }
}
INLINE real troughs_value(SUMMARY_VALUE) { return m[0]; }
