// SPDX-License-Identifier: MIT
// Followers are states whose slope is another state, x' = v, as in all equations of motion.
//
// The slopes of x in a step are the values of v at its stages: v's start and sums of v's slopes. So
// x is moved by that start and those slopes, with weights that are products of the tableau's, and no
// slope of its own is kept or summed, nor a value of v formed that nobody reads. In exact numbers it
// is the same method; in floating point the large part of v is not rounded into every sum.
//
// leads[j] is the place of v, which follows nobody, or -1. rk_aa and rk_ba are the products a a and
// b a, relative to a row's first weight that is not 0; rk_e_follow is e a, and so on.
//
// Uses of the interpolant still find slopes of x in k, as the right-hand side gives them.

// The sum of the slopes of state m with relative weights; *begun: there are any.
INLINE real follow_sum(const SPACE real (*k)[N], const TABLE elem *weights, int count, int m,
                       int *begun) {
    real sum = R(0);
    *begun = 0;
    STAGE_LOOP(q, count) {
        if (weights[q] == 0)
            continue;
        sum = *begun ? r_weigh(weights[q], k[q][m], sum) : k[q][m];
        *begun = 1;
    }
    return sum;
}

// Sets the followers' values at stage i.
INLINE void follow_stage(const struct point *x, const SPACE real (*k)[N], real h, int i,
                         SPACE real *out) {
    real way = h * R(rk_c[i]), scale = h * h * R(rk_aa_first[i]);
    STATES(j, 0) {
        if (!FOLLOWS(j))
            continue;
        int begun, m = leads[j];
        real sum = follow_sum(k, rk_aa[i], i, m, &begun);
        real near = rk_c[i] == 0 ? x->y[j] : r_fma(way, x->y[m], x->y[j]);
        out[j] = begun ? r_fma(scale, sum, near) : near;
    }
}

// Sets the followers' solution; compensated, the way there alone (BASE_OF).
INLINE void follow_end(const struct point *x, const SPACE real (*k)[N], real h, SPACE real *out) {
    real scale = h * R(rk_ba_first);
    STATES(j, 0) {
        if (!FOLLOWS(j))
            continue;
        int begun, m = leads[j];
        real sum = follow_sum(k, rk_ba, STAGES, m, &begun);
        real mean = begun ? r_fma(scale, sum, x->y[m]) : x->y[m];
#if COMPENSATED
        out[j] = h * mean;
#else
        out[j] = r_fma(h, mean, x->y[j]);
#endif
    }
}

// The weighted sum of a follower's slopes, of which the weights add up to 0; its leader is m.
INLINE real follow_weighted(const SPACE real (*k)[N], real h, const TABLE elem *weights, int m) {
    real sum = R(0);
    STAGE_LOOP(q, STAGES) {
        if (weights[q] != 0)
            sum = r_fma(k[q][m], R(weights[q]), sum);
    }
    return h * sum;
}
