// SPDX-License-Identifier: MIT
// Whether a trajectory is stiff: its steps are held down by stability, and a long way is left.
//
// The last two stages of the method are both at the end of the step. What their slopes differ by,
// over what their states differ by, is the size of the fastest eigenvalue (Hairer and Wanner II,
// IV.2); their states differ by h times stiff_apart over the stages. A step is a hit when h times the
// eigenvalue is beyond the stability of the method, whose square is STIFF_LIMIT2, and more than
// STIFF_LEFT steps of its size are left: another method would gain nothing on a shorter way.
//
// One accepted step in STIFF_EVERY is looked at, and each one from a hit on until STIFF_MISSES in a row
// are none. STIFF_HITS hits, and the trajectory ends as stiff. All of it is the lane's own.

enum { STIFF_HITS = 15, STIFF_MISSES = 6, STIFF_LEFT = 2000 };

INLINE mask stiff_hit(const struct limits *l, const struct group *g, const struct trial *s) {
    real slopes = R(0), states = R(0);
    WEIGHTED(apart, stiff_apart, s->spare[0]);
    STATES(j, 0) {
        real scale = r_fma(l->rtol, r_size(g->x.y[j], s->y1[j]), l->atol[j]);
        real weight = s->size * r_reciprocal_rough(scale);
        real f = (s->k[STAGES - 1][j] - s->k[STAGES - 2][j]) * weight;
        real y = WEIGHTED_AT(apart, stiff_apart, j) * weight;
        slopes = r_fma(f, f, slopes);
        states = r_fma(y, y, states);
    }
    real left = t_diff(g->t1, s->t_new) * g->dir;
    return m_and(r_gt(slopes, states * R(STIFF_LIMIT2)), r_gt(left, s->size * R(STIFF_LEFT)));
}

// Lanes of `moved` that this step shows to be stiff. Before the step is committed.
INLINE u32 stiff_found(const struct limits *l, struct group *g, const struct trial *s, mask moved) {
    mask due = m_and(i_ge(g->accepted, g->look), moved);
    if (!m_lanes(due))
        return 0;
    mask hit = m_and(due, stiff_hit(l, g, s)), miss = m_andnot(due, hit);
    g->hits = select(hit, g->hits + R(1), g->hits);
    g->misses = select(hit, R(0), select(miss, g->misses + R(1), g->misses));
    mask calm = m_and(miss, m_or(r_eq(g->hits, R(0)), r_ge(g->misses, R(STIFF_MISSES))));
    g->hits = select(calm, R(0), g->hits);
    g->look = i_select(calm, g->accepted + STIFF_EVERY, i_select(hit, g->accepted, g->look));
    return m_lanes(m_and(hit, r_ge(g->hits, R(STIFF_HITS))));
}
