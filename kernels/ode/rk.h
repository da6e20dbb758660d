// SPDX-License-Identifier: MIT
// This is one explicit Runge-Kutta step of a vector of trajectories, and its error.
//
// The tableau is in rk_a, rk_b, rk_c, rk_e as compile-time constants, so that zeros vanish. Slopes
// are summed before they are added to the state, which is rounded once that way: a row of rk_a or
// rk_b is relative to its first entry that is not 0, and that one is in rk_a_first or rk_b_first.

#if EVEN_STEPS
enum { LENGTHS = FOLLOWERS ? 3 + 3 * STAGES : 2 + STAGES };
#endif

struct trial {
#if THREADS && (LARGE || !UNROLL_STAGES)
    SPACE real (*k)[N]; // an array that is indexed would draw the struct out of the registers
#else
    real k[STAGES + EXTRA][N];
#endif
    ARRAY(y1, N);
#if COMPENSATED
    ARRAY(low1, N); // what it has lost
#endif
#if DENSE && !DEGREE
    ARRAY(f1, N); // f where it ends, for the interpolant
#endif
    real size; // of the step
    real h;    // the same, signed
#if EVEN_STEPS
    int even; // as long as most: `length` has h and its products
    real length[LENGTHS];
#endif
    treal t_new; // where it ends
    mask last;   // ends at t1
#if WATCHED
    mask lands; // it ends where it was planned to
#if !ADAPTIVE
    mask split; // that is inside one of the fixed steps
#endif
    u32 ready; // lanes whose interpolant is prepared
#endif
#if LARGE
    ARRAY(spare[SPARES], N);
#endif
};

// A slope of no weight is looked at all the same, since nothing may come of one that is not finite:
// 0 times it is not a number then. Adaptive methods do so in the error.
#define COUNTS_IN_SUM(q) (rk_b[q] != 0 || !ADAPTIVE)
#define COUNTS_IN_ERROR(q, weights) (weights[q] != 0 || (weights == rk_e && rk_b[q] == 0))

#define LAST_SLOPE(s, j) (s)->k[STAGES - 1][j]

// h, and what it is multiplied with: sums of slopes of a stage and of the solution; and of
// followers.
#if EVEN_STEPS
#define LENGTH(s, at, product) ((s)->even ? (s)->length[at] : (product))
#else
#define LENGTH(s, at, product) (product)
#endif
#define STEP_WHOLE(s) LENGTH(s, 0, (s)->h)
#define STAGE_LENGTH(s, i) LENGTH(s, 1 + i, (s)->h * R(rk_a_first[i]))
#define STEP_LENGTH(s) LENGTH(s, 1 + STAGES, (s)->h * R(rk_b_first))
#define FOLLOW_WAY(s, i) LENGTH(s, 2 + STAGES + i, (s)->h * R(rk_c[i]))
#define FOLLOW_STAGE(s, i) LENGTH(s, 2 + 2 * STAGES + i, (s)->h * (s)->h * R(rk_aa_first[i]))
#define FOLLOW_STEP(s) LENGTH(s, 2 + 3 * STAGES, (s)->h * R(rk_ba_first))

#if FSAL
// The argument of a stage is in y1; that of the last one is the solution.
INLINE void method_stage(const struct point *x, const SPACE real *p, struct trial *s, int i) {
    if (i == 0) {
        STATES(j, 0) s->k[0][j] = x->f0[j];
    } else {
        int inside = i < STAGES - 1;
        const SPACE real *from = inside ? x->y : BASE_OF(x);
#if FOLLOWERS
        others_add(from, s->k, rk_a[i], STAGE_LENGTH(s, i), i, s->y1, inside);
        if (inside)
            follow_stage(x, s->k, FOLLOW_WAY(s, i), FOLLOW_STAGE(s, i), i, s->y1);
        else
            follow_end(x, s->k, STEP_WHOLE(s), FOLLOW_STEP(s), s->y1);
#else
        stages_add(from, s->k, rk_a[i], STAGE_LENGTH(s, i), i, s->y1);
#endif
        if (!inside) {
            SOLUTION(x, s)
        }
        model_rhs(t_at(x->t, s->h * R(rk_c[i])), s->y1, p, s->k[i]);
    }
}
#else
// y1 is the sum of the slopes, so that a stage nobody else needs can be forgotten; in the end it is
// the solution.
INLINE void method_stage(const struct point *x, const SPACE real *p, struct trial *s, int i) {
    SPARE(w, N, s->spare[0]);
#if FOLLOWERS
    others_add(x->y, s->k, rk_a[i], STAGE_LENGTH(s, i), i, w, 1);
    follow_stage(x, s->k, FOLLOW_WAY(s, i), FOLLOW_STAGE(s, i), i, w);
#else
    stages_add(x->y, s->k, rk_a[i], STAGE_LENGTH(s, i), i, w);
#endif
    model_rhs(t_at(x->t, s->h * R(rk_c[i])), w, p, s->k[i]);
    if (i == 0) {
        OTHERS(j) s->y1[j] = COUNTS_IN_SUM(i) ? s->k[i][j] * R(rk_b[i]) : R(0);
    } else if (COUNTS_IN_SUM(i)) {
        OTHERS(j) s->y1[j] = r_weigh(rk_b[i], s->k[i][j], s->y1[j]);
    }
    real scale = STEP_LENGTH(s);
    if (i == STAGES - 1) {
#if COMPENSATED
        OTHERS(j) s->y1[j] = scale * s->y1[j];
#else
        OTHERS(j) s->y1[j] = r_fma(scale, s->y1[j], x->y[j]);
#endif
#if FOLLOWERS
        follow_end(x, s->k, STEP_WHOLE(s), FOLLOW_STEP(s), s->y1);
#endif
        SOLUTION(x, s)
    }
}
#endif

#if ADAPTIVE
// Weights of the error are relative to the first, which is 1 then; ERROR_SCALE has it.
#define WEIGH(sum, begun, q, x, weights)                                                           \
    (!begun ? (weights[q] == 1 ? (x) : (x)*R(weights[q])) : r_fma(x, R(weights[q]), sum))
#if STATE_BY_STATE || (UNROLL_STAGES && STAGES > 11) // else that many take more registers
INLINE real rk_weighted(const struct trial *s, const TABLE elem *weights, int j) {
    real e = R(0);
    int begun = 0;
    UNROLL for (int q = 0; q < STAGES; q++) {
        if (!COUNTS_IN_ERROR(q, weights))
            continue;
        e = WEIGH(e, begun, q, s->k[q][j], weights);
        begun = 1;
    }
    return e;
}
#define WEIGHTED(name, weights, place)
#define WEIGHTED_OF(name, weights, j) rk_weighted(s, weights, j)
#else
#if IN_BLOCKS
INLINE void rk_weighted_block(const struct trial *s, const TABLE elem *weights, SPACE real *e,
                              int at, const int size) {
    real sum[BLOCK];
    BLOCK_STATES(b, size) sum[b] = R(0);
    ROLL for (int q = 0; q < STAGES; q++) {
        if (COUNTS_IN_ERROR(q, weights))
            BLOCK_STATES(b, size) sum[b] = r_fma(s->k[q][at + b], R(weights[q]), sum[b]);
    }
    BLOCK_STATES(b, size) e[at + b] = sum[b];
}
#endif

// This is done for all states at once, so that a weight is read and looked at once.
INLINE void rk_weighted_all(const struct trial *s, const TABLE elem *weights, SPACE real *e) {
#if IN_BLOCKS
    WHOLE_BLOCKS(at) rk_weighted_block(s, weights, e, at, BLOCK);
    if (LAST_BLOCK)
        rk_weighted_block(s, weights, e, N - LAST_BLOCK, LAST_BLOCK);
#else
    int begun = 0;
    STATES(j, 0) e[j] = R(0);
    STAGE_LOOP(q, STAGES) {
        if (!COUNTS_IN_ERROR(q, weights))
            continue;
        STATES(j, 0) e[j] = WEIGH(e[j], begun, q, s->k[q][j], weights);
        begun = 1;
    }
#endif
}
#define WEIGHTED(name, weights, place)                                                             \
    SPARE(name, N, place);                                                                         \
    rk_weighted_all(s, weights, name)
#define WEIGHTED_OF(name, weights, j) name[j]
#endif
#if FOLLOWERS
#define WEIGHTED_AT(name, weights, j)                                                              \
    (FOLLOWS(j) ? follow_weighted(s->k, s->h, weights##_follow, leads[j])                          \
                : WEIGHTED_OF(name, weights, j))
#else
#define WEIGHTED_AT(name, weights, j) WEIGHTED_OF(name, weights, j)
#endif

// Returns the square of the error norm, the RMS of h e / (atol + rtol max(|y0|, |y1|)). It is not a
// number or infinite when anything of the step is, y1 included: then the reciprocal is not finite.
INLINE real method_error2(const struct point *x, const struct trial *s, const struct limits *l) {
    real sum = R(0);
    WEIGHTED(e, rk_e, s->spare[0]);
#if SECOND_ERROR
    real sum2 = R(0);
    WEIGHTED(e2, rk_e2, s->spare[1]);
#endif
    STATES(j, 0) {
        real scale = r_fma(l->rtol, r_size(x->y[j], s->y1[j]), l->atol[j]);
        real weight = r_reciprocal_rough(scale);
        real q = WEIGHTED_AT(e, rk_e, j) * weight;
        sum = r_fma(q, q, sum);
#if SECOND_ERROR
        real q2 = WEIGHTED_AT(e2, rk_e2, j) * weight;
        sum2 = r_fma(q2, q2, sum2);
#endif
    }
    real h2 = s->h * s->h * R(ERROR_SCALE);
#if SECOND_ERROR
    real both = r_fma(R(0.01), sum2, sum);
    sum = r_fma(both, R(0), select(r_gt(both, R(0)), sum * (sum / both), sum + sum2));
#endif
    return h2 * sum;
}
#endif
