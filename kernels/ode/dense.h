// SPDX-License-Identifier: MIT
// The interpolant of a step: the solution at any time inside it, for whoever asks.
//
// It belongs to the method, and knows nothing of those who look at it. While the group still holds
// the start of a step whose stages are done, dense_prepare computes what the interpolant needs
// besides, and dense_at gives the states.

#if DENSE && (COLD_PART || QUICK)
#if THREADS && UNROLL_STAGES
#define DENSE_LOOP STAGE_LOOP
#else
#define DENSE_LOOP(q, count) ROLL for (int q = 0; q < count; q++)
#endif
#if DEGREE
#if CENTRED // rows of rk_p are powers of this
#define DENSE_POWER(theta) ((theta)-R(0.5))
#else
#define DENSE_POWER(theta) (theta)
#endif
// The weight of stage q, theta times its row of rk_p, as one polynomial: its coefficient of power
// d.
INLINE elem dense_coefficient(int q, int d) {
#if CENTRED
    return (d ? rk_p[q][d - 1] : 0) + (d < DEGREE ? rk_p[q][d] / 2 : 0);
#else
    return d ? rk_p[q][d - 1] : 0;
#endif
}
#endif

// The solution at t0 + theta h inside the step; g still holds its start.
INLINE void dense_at(const struct group *g, const struct trial *s, real theta, SPACE real *y) {
#if DEGREE
    real power = DENSE_POWER(theta);
    STATES(j, 0) y[j] = R(0);
    DENSE_LOOP(q, STAGES + EXTRA) {
        real w = R(rk_p[q][DEGREE - 1]);
        UNROLL for (int d = DEGREE - 2; d >= 0; d--) w = r_fma(w, power, R(rk_p[q][d]));
        STATES(j, 0) y[j] = r_fma(w, s->k[q][j], y[j]);
    }
#if IMPLICIT // there a stage is a difference of states, not a slope
    real scale = theta;
#else
    real scale = theta * s->h;
#endif
    STATES(j, 0) y[j] = r_fma(scale, y[j], g->x.y[j]);
#else // cubic Hermite
    real one = R(1) - theta, both = theta * one;
    STATES(j, 0) {
        real d = s->y1[j] - g->x.y[j], a = s->h * s->k[0][j], b = s->h * s->f1[j];
        real bend = r_fma(one, a - d, theta * (d - b));
        y[j] = r_fma(theta, d, g->x.y[j]) + both * bend;
    }
#endif
}

// Extra stages of the interpolant, or f(t1, y1) for Hermite; counted for the lanes that need them,
// once.
INLINE void dense_prepare(struct group *g, struct trial *s, u32 lanes) {
#if WATCHED
    lanes &= ~s->ready;
    s->ready |= lanes;
    if (!lanes)
        return;
#endif
#if EXTRA
    STAGE_LOOP(i, EXTRA) {
        SPARE(w, N, s->spare[0]);
        real scale = s->h * R(rk_extra_a_first[i]);
        stages_add(g->x.y, s->k, rk_extra_a[i], scale, STAGES + i, w);
        model_rhs(t_at(g->x.t, s->h * R(rk_extra_c[i])), w, g->p, s->k[STAGES + i]);
    }
    for (int i = 0; i < W; i++)
        g->extra[i] += (lanes >> i & 1) * EXTRA;
#elif !DEGREE && FSAL
    STATES(j, 0) s->f1[j] = s->k[STAGES - 1][j];
#elif !DEGREE
    model_rhs(t_at(g->x.t, s->h), s->y1, g->p, s->f1);
    for (int i = 0; i < W; i++)
        g->extra[i] += lanes >> i & 1;
#endif
}
#endif
