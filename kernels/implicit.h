// SPDX-License-Identifier: MIT
// What the steps of all implicit methods share: sums of stages, the matrix, the error's norm.
//
// The matrix of a step, I - h gamma J, is made and factored with its first stage. Every attempt does
// so: the Jacobian would outlive a rejection, and factors a step of the same size, but in a vector or
// warp hardly ever all lanes agree on that.
//
// m is the array of the model's linearisation: the matrix, then f, then df/dt where it is needed.
//
// An algebraic row is 0 = f. In the matrix it is that of -J: like the others, divided by h gamma and
// without the 1, and so are right-hand sides. What stands for M y' in them is not there.

#if ALGEBRAIC
#define HAS_SLOPE(j) (!row_algebraic[j])
#else
#define HAS_SLOPE(j) 1
#endif

#if NEWTON
struct newton {
    const struct limits *limits;
    mask active; // lanes that count
    mask failed; // of those, where iterations did not converge
    real rate;   // what an iteration leaves to do, relative to it
    real most;   // iterations of the slowest stage
    ireal work;  // evaluations
    ARRAY(weight, N); // of a state in the norm of a correction
};
#endif

struct trial {
#if THREADS && (LARGE || !UNROLL_STAGES)
    SPACE real (*k)[N]; // an array that is indexed would draw the struct out of the registers
#else
    real k[STAGES][N];
#endif
#if THREADS
    SPACE real *m;
#else
    real m[LINEAR];
#endif
    ARRAY(f, N);
    ARRAY(y1, N);  // where a stage evaluates; in the end the solution
    real size;     // of the step
    real h;        // the same, signed
    treal t_new;   // where it ends
    mask last;     // ends at t1
    mask singular; // its matrix is
#if FSAL
    real per_h; // 1 / h
#endif
#if NEWTON
    struct newton n;
#endif
#if COLLOCATION && THREADS && (LARGE || !UNROLL_STAGES)
    SPACE real *w, *g; // the stages, transformed; their slopes, and corrections
#elif COLLOCATION
    real w[STAGES * N], g[STAGES * N];
#endif
#if LARGE
    ARRAY(spare[SPARES], N);
#endif
};

INLINE real stage_sum_at(real sum, const struct trial *s, const TABLE elem *weights, int count,
                         int j) {
    UNROLL for (int q = 0; q < count; q++) if (weights[q] != 0) sum =
        r_fma(R(weights[q]), s->k[q][j], sum);
    return sum;
}

// out = out + sum of the weighted stages
INLINE void stage_sum(const struct trial *s, const TABLE elem *weights, int count,
                      SPACE real *out) {
#if UNROLL_STAGES
    STATES(j, 0) out[j] = stage_sum_at(out[j], s, weights, count, j);
#else
    ROLL for (int q = 0; q < count; q++) {
        real weight = R(weights[q]);
        if (weights[q] != 0)
            STATES(j, 0) out[j] = r_fma(weight, s->k[q][j], out[j]);
    }
#endif
}

// The Jacobian, f and df/dt of the step's start.
INLINE void linearise(const struct point *x, const SPACE real *p, SPACE real *m) {
#if LU_LOOPS
    ROLL for (int e = 0; e < LU_ENTRIES; e++) m[e] = R(0);
#endif
    model_linear(t_at(x->t, R(0)), x->y, p, m);
}

// The factors of I - h gamma J, at `to` in m.
INLINE void factor(struct trial *s, int to) {
    SPARE(w, N, s->spare[0]);
    real least = linear_factor(s->h * R(-GAMMA), s->m, s->m + to, w);
    s->singular = r_lt(least, R(SMALLEST_SCALE));
}

#if ADAPTIVE
INLINE real stage_error(const struct trial *s, int j) {
    return stage_sum_at(R(0), s, rk_e, STAGES, j);
}

// Square of the error norm: RMS of e / (atol + rtol max(|y0|, |y1|)). Not a number or infinite when
// anything of the step is, y1 included: then the reciprocal is not finite.
INLINE real error_norm2(const struct point *x, const struct trial *s, const struct limits *l,
                        const SPACE real *error) {
    real sum = R(0);
    STATES(j, 0) {
        real scale = r_fma(l->rtol, r_size(x->y[j], s->y1[j]), l->atol[j]);
        real weighted = (error ? error[j] : stage_error(s, j)) * r_reciprocal_rough(scale);
        sum = r_fma(weighted, weighted, sum);
    }
    return select(s->singular, R(NAN_VALUE), sum * R(1.0 / N));
}
#endif
