// SPDX-License-Identifier: MIT
// The right-hand side of a thread may exist twice: quick, and exact for what the quick one cannot
// do. The exact one is a call, and gets copies: arrays whose address is known elsewhere do
// not stay in registers. Nothing comes of what a lane gets whose first state is not a number: it is
// idle, or its step fails; and idle lanes must not make their warp take the long way.

INLINE void model_rhs(real t, const real *y, const real *p, real *d) {
    if (model_rhs_quick(t, y, p, d) | (y[0] != y[0]))
        return;
    real y_copy[N], p_copy[NP], d_copy[N];
    STATES(j, 0) y_copy[j] = y[j];
    ITEMS(i, NP) p_copy[i] = p[i];
    model_rhs_exact(t, y_copy, p_copy, d_copy);
    STATES(j, 0) d[j] = d_copy[j];
}
