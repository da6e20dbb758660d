// SPDX-License-Identifier: MIT
// A trajectory is stiff when its steps are held down by stability, and a long way is left.
//
// The last two stages of the method are both at the end of the step. What their slopes differ by,
// over what their states differ by, is the size of the fastest eigenvalue (Hairer and Wanner II,
// IV.2); their states differ by h times stiff_apart over the stages. An attempt is a hit when the
// square of h times the eigenvalue is more than STIFF_LIMIT2, which is nearly where the stability
// of the method ends, and more than STIFF_LEFT steps of its size are left: on a shorter way another
// method gains nothing.
//
// Attempts STIFF_FIRST, four times that and so on are looked at, then one in STIFF_EVERY, and from
// a hit on each one until STIFF_MISSES in a row are none. With STIFF_HITS hits the trajectory ends
// as stiff. All of it is the lane's own: its attempts are counted from its start. How far it is to
// the end is known before an attempt, so where that is not far none is made for a look.

enum { STIFF_EVERY = 4096, STIFF_HITS = 15, STIFF_MISSES = 6, STIFF_LEFT = 2000 };

INLINE mask stiff_far(const struct group *g, const struct trial *s) {
    return r_gt(t_diff(g->t1, s->t_new) * g->dir, s->size * R(STIFF_LEFT));
}

INLINE mask stiff_hit(const struct limits *l, const struct group *g, const struct trial *s) {
    real slopes = R(0), states = R(0);
    WEIGHTED(apart, stiff_apart, s->spare[0]);
    STATES(j, 0) {
        real scale = r_fma(l->rtol, r_abs(s->y1[j]), l->atol[j]);
        real weight = s->size * r_reciprocal_rough(scale);
#if FOLLOWERS
        real f = FOLLOWS(j) ? s->h * WEIGHTED_OF(apart, stiff_apart, leads[j]) * weight
                            : (s->k[STAGES - 1][j] - s->k[STAGES - 2][j]) * weight;
#else
        real f = (s->k[STAGES - 1][j] - s->k[STAGES - 2][j]) * weight;
#endif
        real y = WEIGHTED_AT(apart, stiff_apart, j) * weight;
        slopes = r_fma(f, f, slopes);
        states = r_fma(y, y, states);
    }
    return m_and(r_gt(slopes, states * R(STIFF_LIMIT2)), stiff_far(g, s));
}

// Takes note of an attempt that was looked at; 1: the trajectory is stiff.
INLINE int stiff_note(struct past *p, int i, u32 attempt, u32 hit) {
    p->hits[i] += hit;
    p->misses[i] = hit ? 0 : p->misses[i] + 1;
    p->look[i] = attempt + 1;
    if (!p->hits[i] || p->misses[i] == STIFF_MISSES) {
        p->hits[i] = p->misses[i] = 0;
        p->look[i] = attempt + (attempt < STIFF_EVERY ? 3 * attempt : STIFF_EVERY);
    }
    return p->hits[i] == STIFF_HITS;
}
