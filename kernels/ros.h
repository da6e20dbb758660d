// SPDX-License-Identifier: MIT
// One Rosenbrock step of a vector of trajectories, and its error.
//
// The tableau is in rk_a, rk_b, rk_c, rk_e, ros_c (coupling times gamma) and ros_d (d times gamma).
// The matrix of a step, I - h gamma J, is made and factored with its first stage; a stage is then one
// solution with it. Every attempt does so: the Jacobian would outlive a rejection, but in a vector or
// warp hardly ever all lanes reject at once.
//
// m is the array of the model's linearisation: the matrix, then f, then df/dt.
//
// An algebraic row, 0 = f, is that of -J u = f + h d df/dt: the others' divided by h gamma, without
// what M y' = f has from M.

enum { STAGE_START, STAGE_SAME, STAGE_NEXT, STAGE_NEW }; // where a stage evaluates: ros_place

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
#if LARGE
    ARRAY(spare[3], N);
#endif
};

// out = base + sum of the weighted stages
INLINE void ros_sum(const SPACE real *base, const struct trial *s, const TABLE elem *weights,
                    int count, SPACE real *out) {
#if UNROLL_STAGES
    STATES(j, 0) {
        real sum = base[j];
        UNROLL for (int q = 0; q < count; q++) if (weights[q] != 0) sum =
            r_fma(R(weights[q]), s->k[q][j], sum);
        out[j] = sum;
    }
#else
    STATES(j, 0) out[j] = base[j];
    ROLL for (int q = 0; q < count; q++) {
        real weight = R(weights[q]);
        if (weights[q] != 0)
            STATES(j, 0) out[j] = r_fma(weight, s->k[q][j], out[j]);
    }
#endif
}

INLINE void ros_linearise(const struct point *x, const SPACE real *p, struct trial *s) {
    SPARE(w, N, s->spare[0]);
    s->singular = linearise(s->h * R(-ROS_GAMMA), t_at(x->t, R(0)), x->y, p, s->m, w);
}

// The right-hand side of stage i's linear equations, and their solution. What waits for f, which is
// evaluated last, is one fma.
INLINE void ros_solve(struct trial *s, const SPACE real *f, int i) {
    SPARE(w, N, s->spare[0]);
    SPACE real *u = s->k[i];
    real hg = s->h * R(ROS_GAMMA);
#if TIMED
    real hd = s->h * s->h * R(ros_d[i]);
    STATES(j, 0) u[j] = hd * s->m[LU_ENTRIES + N + j];
#else
    STATES(j, 0) u[j] = R(0);
#endif
    ros_sum(u, s, ros_c[i], i, u);
#if ALGEBRAIC
#if TIMED
    real late = s->h * (R(ros_d[i]) / R(ROS_GAMMA));
    STATES(j, 0) if (row_algebraic[j]) u[j] = r_fma(late, s->m[LU_ENTRIES + N + j], f[j]);
#else
    STATES(j, 0) if (row_algebraic[j]) u[j] = f[j];
#endif
    STATES(j, 0) if (!row_algebraic[j]) u[j] = r_fma(hg, f[j], u[j]);
#else
    STATES(j, 0) u[j] = r_fma(hg, f[j], u[j]);
#endif
    linear_solve(s->m, w, u);
}

INLINE void ros_stage(const struct point *x, const SPACE real *p, struct trial *s, int i) {
    if (i == 0)
        ros_linearise(x, p, s);
    if (ros_place[i] == STAGE_START) {
        ros_solve(s, s->m + LU_ENTRIES, i);
    } else {
        if (ros_place[i] == STAGE_NEW)
            ros_sum(x->y, s, rk_a[i], i, s->y1);
        else if (ros_place[i] == STAGE_NEXT)
            STATES(j, 0) s->y1[j] = s->y1[j] + s->k[i - 1][j];
        if (ros_place[i] != STAGE_SAME)
            model_rhs(t_at(x->t, s->h * R(rk_c[i])), s->y1, p, s->f);
        ros_solve(s, s->f, i);
    }
    if (i != STAGES - 1)
        return;
#if STIFFLY_ACCURATE
    STATES(j, 0) s->y1[j] = s->y1[j] + s->k[STAGES - 1][j];
#else
    ros_sum(x->y, s, rk_b, STAGES, s->y1);
#endif
}

#if ADAPTIVE
// Square of the error norm: RMS of e / (atol + rtol max(|y0|, |y1|)). Not a number or infinite when
// anything of the step is, y1 included: then the reciprocal is not finite.
INLINE real ros_error2(const struct point *x, const struct trial *s, const struct limits *l) {
    real sum = R(0);
    STATES(j, 0) {
        real scale = r_fma(l->rtol, r_size(x->y[j], s->y1[j]), l->atol[j]), e = R(0);
        UNROLL for (int q = ERROR_FROM; q < STAGES; q++) if (rk_e[q] != 0) e =
            r_fma(R(rk_e[q]), s->k[q][j], e);
        real weighted = e * r_reciprocal_rough(scale);
        sum = r_fma(weighted, weighted, sum);
    }
    return select(s->singular, R(NAN_VALUE), sum * R(1.0 / N));
}
#endif

// What the loops call a step's parts, whatever the method.
#define rk_stage ros_stage
#define rk_error2 ros_error2
