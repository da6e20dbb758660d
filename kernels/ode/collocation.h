// SPDX-License-Identifier: MIT
// This is one step of a collocation method (Gauss, Radau), and its error.
//
// All stages z_i = h sum a_ij f(t0 + c_j h, y0 + z_j) are found at once. With a = t D ti and
// z = t w the equations of an iteration fall apart into one with sigma - J for each mu of D, where
// sigma is 1 / (h mu): real for a single number, complex for a pair of w. The iterations start from
// the equations of the step's start made linear, which takes no evaluation. An algebraic row is
// f = 0 in all stages, that is -J g = ti f for all mu.

#define PAIRS (STAGES / 2)
#define SINGLE (STAGES % 2) // the first of w belongs to a real mu, which is gamma

// Solves for a pair, which is one complex vector.
INLINE void pair_solve(struct trial *s, int pair, SPACE real *g0, SPACE real *g1) {
    const SPACE cplx *m = (const SPACE cplx *)(s->m + LU_PAIRS) + pair * LU_KEPT;
#if LARGE
    SPACE cplx *room = (SPACE cplx *)s->spare[0], *v = (SPACE cplx *)s->spare[2];
#else
    cplx room[N], v[N];
#endif
    STATES(j, 0) v[j] = c_of(g0[j], g1[j]);
    complex_solve(s->m, m, room, v);
    STATES(j, 0) g0[j] = v[j].re;
    STATES(j, 0) g1[j] = v[j].im;
}

// The smaller of two pivots' sizes; not finite where one is not.
INLINE real least_pivot(real a, real b) { return r_fma(a + b, R(0), r_min(a, b)); }

INLINE cplx pair_sigma(const struct trial *s, int pair) {
    return c_of(s->per_h * R(col_sigma[SINGLE + pair][0]),
                s->per_h * R(col_sigma[SINGLE + pair][1]));
}

// The real factors come last, in the place of the Jacobian; what all share is not changed by them.
INLINE void collocation_factor(struct trial *s) {
    real pivot = R(LARGEST_SCALE);
    s->per_h = R(1) / s->h;
    STAGE_LOOP(q, PAIRS) {
        SPACE cplx *m = (SPACE cplx *)(s->m + LU_PAIRS) + q * LU_KEPT;
#if LARGE
        SPACE cplx *room = (SPACE cplx *)s->spare[0];
#else
        cplx room[N];
#endif
        pivot = least_pivot(complex_factor(pair_sigma(s, q), s->m, m, room), pivot);
        FENCE(FENCE_FACTORED)
    }
#if SINGLE || ADAPTIVE // the error's matrix is real, too
    SPARE(w, N, s->spare[0]);
    s->pivot = least_pivot(shifted_factor(s->per_h * R(1 / GAMMA), s->m, s->m, w), pivot);
    FENCE(FENCE_FACTORED)
#else
    s->pivot = pivot;
#endif
}

// Makes corrections of w from the slopes: (sigma - J) g = sigma (h mu g - w). What the product h mu
// is rounded by is in all steps the same, so that there is no other rounding in what w becomes.
INLINE void collocation_solve(struct trial *s) {
#if SINGLE
    SPARE(room, N, s->spare[0]);
    real hm = s->h * R(GAMMA), per_hm = s->per_h * R(1 / GAMMA);
    STATES(j, 0) if (HAS_SLOPE(j)) s->g[j] = per_hm * r_fms(hm, s->g[j], s->w[j]);
    shifted_solve(s->m, s->m, room, s->g);
#endif
    STAGE_LOOP(q, PAIRS) {
        int at = (SINGLE + 2 * q) * N;
        real re = s->h * R(col_mu[SINGLE + q][0]), im = s->h * R(col_mu[SINGLE + q][1]);
        cplx sigma = pair_sigma(s, q);
        STATES(j, 0) if (HAS_SLOPE(j)) {
            real g0 = s->g[at + j], g1 = s->g[at + N + j];
            real r0 = r_fma(im, g1, r_fms(re, g0, s->w[at + j]));
            real r1 = r_fnma(im, g0, r_fms(re, g1, s->w[at + N + j]));
            s->g[at + j] = r_fnma(sigma.im, r1, sigma.re * r0);
            s->g[at + N + j] = r_fma(sigma.im, r0, sigma.re * r1);
        }
        pair_solve(s, q, s->g + at, s->g + at + N);
    }
}

// Sets z = t w.
INLINE void collocation_stages(struct trial *s) {
    STAGE_LOOP(i, STAGES) {
        STATES(j, 0) {
            real z = R(0);
            UNROLL for (int q = 0; q < STAGES; q++) z = r_fma(R(col_t[i][q]), s->w[q * N + j], z);
            s->k[i][j] = z;
        }
    }
}

// Sets g = ti f, where f are those of the stages.
INLINE void collocation_slopes(const struct point *x, const SPACE real *p, struct trial *s) {
    ITEMS(j, STAGES * N) s->g[j] = R(0);
    STAGE_LOOP(i, STAGES) {
        STATES(j, 0) s->y1[j] = x->y[j] + s->k[i][j];
        model_rhs(t_at(x->t, s->h * R(rk_c[i])), s->y1, p, s->f);
        UNROLL for (int q = 0; q < STAGES; q++) {
            real weight = R(col_ti[q][i]);
            STATES(j, 0) s->g[q * N + j] = r_fma(weight, s->f[j], s->g[q * N + j]);
        }
    }
}

// Round 0 makes the start, iterations follow.
INLINE void collocation_iterate(const struct point *x, const SPACE real *p, struct trial *s) {
    mask open = newton_open(s);
    real before = R(0);
#if DOUBTS
    real leap_before = R(0);
#endif
    ITEMS(j, STAGES * N) s->w[j] = R(0);
    ROLL for (int n = 0; n <= NEWTON_MOST && any(open); n++) {
        if (n == 0) {
            UNROLL for (int q = 0; q < STAGES; q++) {
                STATES(j, 0) s->g[q * N + j] = s->m[LU_ENTRIES + j] * R(col_start[q]);
            }
        } else {
            collocation_stages(s);
            collocation_slopes(x, p, s);
        }
        collocation_solve(s);
        ITEMS(j, STAGES * N) s->w[j] = select(open, s->w[j] + s->g[j], s->w[j]);
        if (n == 0)
            continue;
        real n2 = R(0);
        UNROLL for (int q = 0; q < STAGES; q++) n2 = n2 + newton_norm2(s, x, s->g + q * N);
        n2 = n2 * R(1.0 / (STAGES * N));
        mask going = newton_go_on(s, open, n - 1, n2, before);
#if DOUBTS
        real leap2 = R(0);
        UNROLL for (int q = 0; q < STAGES; q++) leap2 = leap2 + newton_leap2(s, x, s->g + q * N);
        going = newton_doubt(s, open, going, n - 1, leap2, leap_before);
        leap_before = leap2;
#endif
        open = going;
        before = n2;
    }
    collocation_stages(s);
}

INLINE void method_stage(const struct point *x, const SPACE real *p, struct trial *s, int i) {
    if (i > 0)
        return;
    newton_begin(x, s);
    linearise_step(x, p, s);
    collocation_factor(s);
    collocation_iterate(x, p, s);
    stages_add(BASE_OF(x), s->k, rk_b, R(rk_b_first), STAGES, s->y1);
    SOLUTION(x, s)
    newton_end(s);
}

#if ADAPTIVE
INLINE real method_error2(const struct point *x, struct trial *s, const struct limits *l) {
    SPARE(error, N, s->spare[1]);
    real h0 = s->h * R(ERROR_START);
    STATES(j, 0)
    error[j] = HAS_SLOPE(j) ? r_fma(h0, s->m[LU_ENTRIES + j], stage_error(s, j)) : R(0);
    step_solve(s, error);
    return newton_error2(s, error_norm2(x, s, l, error));
}
#endif
