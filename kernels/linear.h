// SPDX-License-Identifier: MIT
// The matrix of a step, or of a start, made and factored: what the model's linearisation and the
// factorisation are together. m becomes the factors, then f, then df/dt; w is room for one row.

// `scale` is -h gamma. Returns where the matrix is singular.
INLINE mask linearise(real scale, real t, const SPACE real *y, const SPACE real *p, SPACE real *m,
                      SPACE real *w) {
#if LU_LOOPS
    ROLL for (int e = 0; e < LU_ENTRIES; e++) m[e] = R(0);
#endif
    model_linear(t, y, p, m);
    real least = linear_factor(scale, m, w);
    return r_lt(least, R(SMALLEST_SCALE));
}
