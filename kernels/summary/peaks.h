// SPDX-License-Identifier: MIT
// The first maxima that stand out, and their times: they are written to their places as they come.
INLINE void peaks_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(-1), m[0]);
    ridge_begin(m + 1, on);
}
INLINE void peaks_segment(SUMMARY_SEGMENT) {
    ridge_clear(a, g, m, c, x->on);
    real doubt = SUMMARY_DOUBT(g, c.expression);
    UNROLL for (int end = 0; end < 2; end++) {
        mask found = ridge_see(m + 1, end ? x->v1 : x->v0, end ? x->t1 : x->t0, doubt, x->on);
        if (any(found))
            ridge_put(a, g, m, c, m[1 + RIDGE_VALUE], found);
    }
}
INLINE real peaks_value(SUMMARY_VALUE) { return m[0]; }
