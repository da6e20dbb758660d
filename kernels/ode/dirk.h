// SPDX-License-Identifier: MIT
// This is one step of a diagonally implicit Runge-Kutta method, and its error.
//
// Stage i is u = h f(t0 + c_i h, y0 + d + gamma u), d = sum a_ij u_j. The iterations find u, not
// the argument, and never take f at the solution for it, so that u is exact for stiff components
// too. They start where the stages before point to (dirk_predict); the first one starts from the
// equations at the step's start. An algebraic row has f(...) = 0 instead: its u is what brings the
// argument there.

// Solves u = h f0 + h J (d + gamma u), which is the first stage's equation made linear.
INLINE void dirk_guess(struct trial *s, const SPACE real *d, SPACE real *u) {
    SPARE(w, N, s->spare[0]);
    const SPACE real *f = s->m + LU_ENTRIES;
    STATES(j, 0) u[j] = HAS_SLOPE(j) ? r_fma(s->h, f[j], d[j] * R(1 / GAMMA)) : f[j] * R(1 / GAMMA);
    FENCE(FENCE_GUESS)
    linear_solve(s->m, w, u);
    STATES(j, 0) u[j] = r_fnma(d[j], R(1 / GAMMA), u[j]);
}

INLINE void dirk_iterate(const struct point *x, const SPACE real *p, struct trial *s, int i,
                         const SPACE real *d) {
    SPARE(w, N, s->spare[0]);
    SPARE(r, N, s->spare[2]);
    SPACE real *u = s->k[i];
    mask open = newton_open(s);
    real before = R(0);
#if DOUBTS
    real leap_before = R(0);
#endif
    ROLL for (int n = 0; n < NEWTON_MOST && any(open); n++) {
        STATES(j, 0) s->y1[j] = x->y[j] + r_fma(R(GAMMA), u[j], d[j]);
        model_rhs(t_at(x->t, s->h * R(rk_c[i])), s->y1, p, s->f);
        STATES(j, 0) r[j] = HAS_SLOPE(j) ? r_fms(s->h, s->f[j], u[j]) : s->f[j] * R(1 / GAMMA);
        linear_solve(s->m, w, r);
        real n2 = newton_norm2(s, x, r) * R(GAMMA * GAMMA / N);
        STATES(j, 0) u[j] = select(open, u[j] + r[j], u[j]);
        mask going = newton_go_on(s, open, n, n2, before);
#if DOUBTS
        real leap2 = newton_leap2(s, x, r);
        going = newton_doubt(s, open, going, n, leap2, leap_before);
        leap_before = leap2;
#endif
        open = going;
        before = n2;
    }
}

INLINE void method_stage(const struct point *x, const SPACE real *p, struct trial *s, int i) {
    if (i == 0) {
        newton_begin(x, s);
        linearise_step(x, p, s);
        factor(s);
    }
    if (i < FIRST_IMPLICIT) {
        STATES(j, 0) s->k[i][j] = s->h * x->f0[j];
        return;
    }
    SPARE(d, N, s->spare[1]);
    stages_add(0, s->k, rk_a[i], R(rk_a_first[i]), i, d);
    if (i == FIRST_IMPLICIT) {
        dirk_guess(s, d, s->k[i]);
    } else {
        STATES(j, 0) s->k[i][j] = R(0);
        stage_sum(s, dirk_predict[i], i, s->k[i]);
    }
    dirk_iterate(x, p, s, i, d);
    if (i != STAGES - 1)
        return;
#if STIFFLY_ACCURATE && COMPENSATED
    STATES(j, 0) s->y1[j] = r_fma(R(GAMMA), s->k[i][j], d[j]);
#elif STIFFLY_ACCURATE
    STATES(j, 0) s->y1[j] = x->y[j] + r_fma(R(GAMMA), s->k[i][j], d[j]);
#else
    stages_add(BASE_OF(x), s->k, rk_b, R(rk_b_first), STAGES, s->y1);
#endif
    SOLUTION(x, s)
    newton_end(s);
#if FSAL
    s->per_h = R(1) / s->h;
#endif
}
#define LAST_SLOPE(s, j) (s)->k[STAGES - 1][j] * (s)->per_h

#if ADAPTIVE
INLINE real method_error2(const struct point *x, struct trial *s, const struct limits *l) {
#if FILTERED
    SPARE(w, N, s->spare[0]);
    SPARE(error, N, s->spare[1]);
    STATES(j, 0) error[j] = HAS_SLOPE(j) ? stage_error(s, j) : R(0);
    linear_solve(s->m, w, error);
    return newton_error2(s, error_norm2(x, s, l, error));
#else
    return newton_error2(s, error_norm2(x, s, l, 0));
#endif
}
#endif
