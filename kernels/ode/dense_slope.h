// SPDX-License-Identifier: MIT
// The slope of a step's interpolant: how the solution of dense.h changes with theta.
INLINE void dense_slope(const struct group *g, const struct trial *s, real theta, SPACE real *d) {
#if DEGREE
    real power = DENSE_POWER(theta);
    STATES(j, 0) d[j] = R(0);
    DENSE_LOOP(q, STAGES + EXTRA) {
        real w = R(dense_coefficient(q, DEGREE) * DEGREE);
        UNROLL for (int i = DEGREE - 1; i > 0; i--) w =
            r_fma(w, power, R(dense_coefficient(q, i) * i));
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
