// SPDX-License-Identifier: MIT
// The right-hand side of a thread may exist twice: quick, and exact for what the quick one cannot
// do. The exact one is a call, and gets copies: arrays whose address is known elsewhere do
// not stay in registers. A lane whose time is not a number is idle: nothing comes of what it gets.

INLINE void model_rhs(real t, const real *y, const real *p, real *d) {
    if (model_rhs_quick(t, y, p, d) | (USES_TIME && t != t))
        return;
    real y_copy[N], p_copy[NP], d_copy[N];
    STATES(j, 0) y_copy[j] = y[j];
    ITEMS(i, NP) p_copy[i] = p[i];
    model_rhs_exact(t, y_copy, p_copy, d_copy);
    STATES(j, 0) d[j] = d_copy[j];
}
