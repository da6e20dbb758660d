// SPDX-License-Identifier: MIT
// The slope of a step's interpolant: how the solution of dense.h changes with theta.
INLINE void dense_slope(const struct group *g, const struct trial *s, real theta, SPACE real *d) {
#if DEGREE
    STATES(j, 0) d[j] = R(0);
    DENSE_LOOP(q, STAGES + EXTRA) {
        real w = R(rk_p[q][DEGREE - 1] * DEGREE);
        UNROLL for (int i = DEGREE - 2; i >= 0; i--) w = r_fma(w, theta, R(rk_p[q][i] * (i + 1)));
        STATES(j, 0) d[j] = r_fma(w, s->k[q][j], d[j]);
    }
#if !IMPLICIT
    STATES(j, 0) d[j] = s->h * d[j];
#endif
#else
    real one = R(1) - theta, both = theta * one;
    STATES(j, 0) {
        real change = s->y1[j] - g->x.y[j], a = s->h * s->k[0][j], b = s->h * s->f1[j];
        real bend = r_fma(one, a - change, theta * (change - b));
        d[j] = r_fma(one - theta, bend, change) + both * ((change - a) + (change - b));
    }
#endif
}
