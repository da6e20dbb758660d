// SPDX-License-Identifier: MIT
// Followers are states whose slope is another state, x' = v, as in all equations of motion.
//
// The slopes of x in a step are the values of v at its stages: v's start and sums of v's slopes. So
// x is moved by that start and those slopes, with weights that are products of the tableau's, and
// no slope of its own is kept or summed. In exact numbers it is the same method; in floating point
// the large part of v is not rounded into every sum.
//
// leads[j] is whom state j follows, who follows nobody, or -1. In loops that are not written out
// followers are the states from FOLLOW_FROM on, either the first or the last, and their leaders are
// FOLLOW_BY behind. RESTING says that only followers read the others inside a step. rk_aa and rk_ba
// are the products a a and b a, relative to a row's first weight that is not 0; rk_e_follow is e a,
// and so on.
//
// Where there is an interpolant, nobody rests, and it finds slopes of x in k, as the right-hand
// side gives them.

#if FOLLOWERS
#define FOLLOWS(j) (leads[j] >= 0)
#if N > UNROLL_STATES && defined(FOLLOW_FROM)
#define LEADER(j) ((j) + FOLLOW_BY)
#define FOLLOWING(j) ROLL for (int j = FOLLOW_FROM; j < FOLLOW_FROM + FOLLOWERS; j++)
#define OTHERS(j)                                                                                  \
    ROLL for (int j = FOLLOW_FROM ? 0 : FOLLOWERS; j < (FOLLOW_FROM ? FOLLOW_FROM : N); j++)
#else
#define LEADER(j) leads[j]
#define FOLLOWING(j)                                                                               \
    STATES(j, 0) if (!FOLLOWS(j)) continue;                                                        \
    else
#define OTHERS(j)                                                                                  \
    STATES(j, 0) if (FOLLOWS(j)) continue;                                                         \
    else
#endif

// What stages_add does, for all but followers. Inside a step those who rest stay where they
// started.
INLINE void others_add(const SPACE real *base, SPACE real (*k)[N], const TABLE elem *weights,
                       real scale, int count, SPACE real *out, int inside) {
#if STATE_BY_STATE
    if (inside && RESTING) {
        OTHERS(j) out[j] = base[j];
    } else {
        OTHERS(j) out[j] = stages_add_to(base, k, weights, scale, count, j);
    }
#else // the compiler leaves out what is not read
    (void)inside;
    stages_add(base, k, weights, scale, count, out);
#endif
}

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

// Sets the followers' values at stage i, `way` behind the start; scale is that of rk_aa.
INLINE void follow_stage(const struct point *x, const SPACE real (*k)[N], real way, real scale,
                         int i, SPACE real *out) {
    FOLLOWING(j) {
        int begun, m = LEADER(j);
        real sum = follow_sum(k, rk_aa[i], i, m, &begun);
        real near = rk_c[i] == 0 ? x->y[j] : r_fma(way, x->y[m], x->y[j]);
        out[j] = begun ? r_fma(scale, sum, near) : near;
    }
}

// Sets the followers' solution; compensated, the way there alone (BASE_OF). scale is that of rk_ba.
INLINE void follow_end(const struct point *x, const SPACE real (*k)[N], real h, real scale,
                       SPACE real *out) {
    FOLLOWING(j) {
        int begun, m = LEADER(j);
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
#else
#define OTHERS(j) STATES(j, 0)
#define FOLLOWS(j) 0
#endif
