// SPDX-License-Identifier: MIT
// This is one Rosenbrock step of a vector of trajectories, and its error.
//
// The tableau is in rk_a, rk_b, rk_c, rk_e, ros_c (coupling times gamma) and ros_d (d times gamma).
// A stage is one solution with the step's matrix. From stage ROS_KEPT on, which others go on from,
// y1 is the way from the start to where a stage evaluates, not the place itself, so that in the end
// the state is rounded once.

enum { STAGE_START, STAGE_SAME, STAGE_NEXT, STAGE_NEW }; // where a stage evaluates: ros_place

// Makes the right-hand side of stage i's linear equations, and solves them. What waits for f, which
// is evaluated last, is one fma.
INLINE void ros_solve(struct trial *s, const SPACE real *f, int i) {
    SPARE(w, N, s->spare[0]);
    SPACE real *u = s->k[i];
    real hg = s->h * R(GAMMA);
#if TIMED
    real hd = s->h * s->h * R(ros_d[i]);
#define ROS_START(j) (hd * s->m[LU_ENTRIES + N + (j)])
#else
#define ROS_START(j) R(0)
#endif
#if STATE_BY_STATE
    STATES(j, 0) u[j] = r_fma(hg, f[j], stage_sum_at(ROS_START(j), s, ros_c[i], i, j));
#else
    STATES(j, 0) u[j] = ROS_START(j);
    stage_sum(s, ros_c[i], i, u);
    STATES(j, 0) u[j] = r_fma(hg, f[j], u[j]);
#endif
#if ALGEBRAIC && TIMED
    real late = s->h * (R(ros_d[i]) / R(GAMMA));
    STATES(j, 0) if (row_algebraic[j]) u[j] = r_fma(late, s->m[LU_ENTRIES + N + j], f[j]);
#elif ALGEBRAIC
    STATES(j, 0) if (row_algebraic[j]) u[j] = f[j];
#endif
    linear_solve(s->m, w, u);
    FENCE(FENCE_SOLVED)
}

// Computes where stage i evaluates.
INLINE void ros_argument(const struct point *x, struct trial *s, int i, SPACE real *y) {
    if (i < ROS_KEPT) {
        stages_add(x->y, s->k, rk_a[i], R(rk_a_first[i]), i, y);
        return;
    }
    if (i == ROS_KEPT)
        stages_add(0, s->k, rk_a[i], R(rk_a_first[i]), i, s->y1);
    else
        STATES(j, 0) s->y1[j] = s->y1[j] + s->k[i - 1][j];
    STATES(j, 0) y[j] = x->y[j] + s->y1[j];
}

#if DOUBTS && ADAPTIVE
// Leaves those in doubt whose f at the second stage is not what the linearisation says: what it
// misses of the change of f would move the state by more than tolerances, and is a good part of
// that change, although the stage is as near to the start as a hundred tolerances.
INLINE void ros_doubt(const struct point *x, struct trial *s) {
    const struct limits *l = s->limits;
    const SPACE real *f0 = s->m + LU_ENTRIES;
    real way2 = R(0), change2 = R(0), missed2 = R(0), a = R(rk_a_first[1]);
    STATES(j, 0) {
        real weight = r_reciprocal_rough(r_fma(l->rtol, r_abs(x->y[j]), l->atol[j]));
        real way = a * s->k[0][j], start = s->h * R(GAMMA) * f0[j],
             change = s->h * (s->f[j] - f0[j]);
#if TIMED
        real slope = s->h * s->h * s->m[LU_ENTRIES + N + j];
        start = r_fma(R(ros_d[0]), slope, start);
        change = r_fnma(R(rk_c[1]), slope, change);
#endif
        real said = a * R(1 / GAMMA) * (s->k[0][j] - start), missed = (change - said) * weight;
        mask counts = HAS_SLOPE(j) ? is_leap(way, x->y[j]) : r_lt(R(1), R(0));
        said = said * weight;
        way = way * weight;
        way2 = r_fma(way, way, way2);
        change2 = select(counts, r_fma(said, said, change2), change2);
        missed2 = select(counts, r_fma(missed, missed, missed2), missed2);
    }
    mask bent = m_and(r_gt(missed2, R(N)), r_gt(missed2, change2 * R(0.25)));
    s->doubt = m_and(s->doubt, m_and(bent, r_le(way2, R(1e4 * N))));
}
#endif

INLINE void method_stage(const struct point *x, const SPACE real *p, struct trial *s, int i) {
    if (i == 0) {
        linearise_step(x, p, s);
        factor(s);
    }
    if (ros_place[i] == STAGE_START) {
        ros_solve(s, s->m + LU_ENTRIES, i);
    } else {
        if (ros_place[i] != STAGE_SAME) {
            SPARE(y, N, s->spare[0]);
            ros_argument(x, s, i, y);
            FENCE(FENCE_ARGUMENT)
            model_rhs(t_at(x->t, s->h * R(rk_c[i])), y, p, s->f);
        }
#if DOUBTS && ADAPTIVE
        if (i == 1)
            ros_doubt(x, s);
#endif
        ros_solve(s, s->f, i);
    }
    if (i != STAGES - 1)
        return;
#if STIFFLY_ACCURATE && COMPENSATED
    STATES(j, 0) s->y1[j] = s->y1[j] + s->k[STAGES - 1][j];
#elif STIFFLY_ACCURATE
    STATES(j, 0) s->y1[j] = x->y[j] + (s->y1[j] + s->k[STAGES - 1][j]);
#else
    stages_add(BASE_OF(x), s->k, rk_b, R(rk_b_first), STAGES, s->y1);
#endif
    SOLUTION(x, s)
}

#if ADAPTIVE
INLINE real ros_estimate2(const struct point *x, struct trial *s, const struct limits *l) {
#if RESIDUE
    SPARE(w, N, s->spare[0]);
    SPARE(error, N, s->spare[1]);
    SPARE(rest, N, s->spare[2]);
    STATES(j, 0) {
        real residue = stage_sum_at(R(0), s, ros_residue, STAGES, j);
        error[j] = stage_error(s, j) + residue;
        rest[j] = HAS_SLOPE(j) ? residue : R(0);
    }
    linear_solve(s->m, w, rest);
    STATES(j, 0) error[j] = error[j] - rest[j];
    return error_norm2(x, s, l, error);
#else
    return error_norm2(x, s, l, 0);
#endif
}

INLINE real method_error2(const struct point *x, struct trial *s, const struct limits *l) {
    real error2 = ros_estimate2(x, s, l);
#if DOUBTS
    error2 = select(s->doubt, r_fma(error2, R(0), R(1e4)), error2); // a step much shorter
#endif
    return error2;
}
#endif
