// SPDX-License-Identifier: MIT
// The steps of all implicit methods share sums of stages, the matrix, and the error's norm.
//
// The matrix of a step, I - h gamma J, is made and factored with its first stage. Every attempt
// does so: the Jacobian would outlive a rejection, and factors a step of the same size, but in a
// vector or warp hardly ever all lanes agree on that.
//
// m is the array of the model's linearisation: the matrix, then f, then df/dt where it is needed.
//
// A Jacobian that is no polynomial may be infinite at a state where f is not, or so large that it
// says nothing of f as near as tolerances go: sqrt(y) at 0, or y/(y+1e-20). Its damping would keep
// the solution where it is, and no estimate would see it. So where such an entry damps a step, the
// Jacobian is taken beside that state, by a small part of the tolerances, and what is not finite
// there either is left out; and the step is in doubt: it fails where f turns out not to be what the
// Jacobian says.
//
// An algebraic row is 0 = f. In the matrix it is that of -J: like the others, divided by h gamma
// and without the 1, and so are right-hand sides. What stands for M y' in them is not there.

#if ALGEBRAIC
#define HAS_SLOPE(j) (!row_algebraic[j])
#else
#define HAS_SLOPE(j) 1
#endif

#if NEWTON
// Where factors fill the memory of a thread, weights are made again for each norm.
#if COLLOCATION && defined FENCES
#define NEWTON_WEIGHT(s, x, j) newton_weight(x, (s)->limits, j)
#else
#define NEWTON_WEIGHT(s, x, j) (s)->n.weight[j]
#endif
struct newton {
    mask active; // lanes that count
    mask failed; // of those, where iterations did not converge
#if DOUBTS
    mask forced; // of those, where they would be done if the Jacobian could be trusted
#endif
    real rate;        // what an iteration leaves to do, relative to it
    real most;        // iterations of the slowest stage
    ireal work;       // evaluations
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
    const struct limits *limits;
    ARRAY(f, N);
    ARRAY(y1, N); // where a stage evaluates; in the end the solution
#if COMPENSATED
    ARRAY(low1, N); // what it has lost
#endif
    real size;   // of the step
    real h;      // the same, signed
    treal t_new; // where it ends
    mask last;   // ends at t1
#if WATCHED
    mask lands; // it ends where it was planned to
#if !ADAPTIVE
    mask split; // that is inside one of the fixed steps
#endif
    u32 ready; // lanes whose interpolant is prepared
#endif
    real pivot; // the smallest of its matrix; not a number when something there is not finite
#if DOUBTS
    mask doubt; // the Jacobian damps it and may say nothing
#endif
#if FSAL || COLLOCATION
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

#if IN_BLOCKS
INLINE void stage_sum_block(const struct trial *s, const TABLE elem *weights, int count,
                            SPACE real *out, int at, const int size) {
    real sum[BLOCK];
    BLOCK_STATES(b, size) sum[b] = out[at + b];
    ROLL for (int q = 0; q < count; q++) {
        real weight = R(weights[q]);
        if (weights[q] != 0)
            BLOCK_STATES(b, size) sum[b] = r_fma(weight, s->k[q][at + b], sum[b]);
    }
    BLOCK_STATES(b, size) out[at + b] = sum[b];
}
#endif

// Adds the sum of the weighted stages to out.
INLINE void stage_sum(const struct trial *s, const TABLE elem *weights, int count,
                      SPACE real *out) {
#if STATE_BY_STATE
    STATES(j, 0) out[j] = stage_sum_at(out[j], s, weights, count, j);
#elif IN_BLOCKS
    WHOLE_BLOCKS(at) stage_sum_block(s, weights, count, out, at, BLOCK);
    if (LAST_BLOCK)
        stage_sum_block(s, weights, count, out, N - LAST_BLOCK, LAST_BLOCK);
#else
    STAGE_LOOP(q, count) {
        real weight = R(weights[q]);
        if (weights[q] != 0)
            STATES(j, 0) out[j] = r_fma(weight, s->k[q][j], out[j]);
    }
#endif
}

// Computes the Jacobian, f and df/dt at a point.
INLINE void linearise(real t, const SPACE real *y, const SPACE real *p, SPACE real *m) {
#if LU_LOOPS
    ROLL for (int e = 0; e < LU_ENTRIES; e++) m[e] = R(0);
#endif
    model_linear(t, y, p, m);
}

#if DOUBTS
#if LU_LOOPS
#define DOUBT_LOOP(i, first, end) ROLL for (int i = first; i < end; i++)
#else
#define DOUBT_LOOP(i, first, end) UNROLL for (int i = first; i < end; i++)
#endif

// Return the squared size of the Jacobian's entries; of df/dt only whether they are finite.
INLINE real linear_size2(const SPACE real *m) {
    real size2 = R(0);
    DOUBT_LOOP(i, 0, DAMPING) {
        real entry = m[linear_doubts[i]];
        size2 = r_fma(entry, entry, size2);
    }
    return size2;
}
INLINE mask linear_timely(const SPACE real *m) {
    real sum = R(0);
    DOUBT_LOOP(i, DAMPING, DOUBTS) sum = r_fma(m[linear_doubts[i]], R(0), sum);
    return r_eq(sum, R(0));
}

// Returns whether a way is more than the rounding of the state it starts from.
INLINE mask is_leap(real way, real y) { return r_gt(r_abs(way), r_abs(y) * R(1e4 * EPSILON)); }

// Returns where the Jacobian of state j is taken in a step of h: less far than tolerances can tell,
// more than rounding, the way f goes. A fixed step cannot be repeated shorter: there it is its
// middle.
INLINE real beside(const struct limits *l, real h, real y, real f, int j) {
#if ADAPTIVE
    real rtol = r_max(l->rtol * R(0.01), R(4 * EPSILON));
    return r_fma(r_sign(f * h), r_fma(rtol, r_abs(y), l->atol[j] * R(0.01)), y);
#else
    return r_fma(h * R(0.5), f, y);
#endif
}

// The linearisation of a step has f at its start, and the rest perhaps from beside it; df/dt only
// where it is not finite. With fixed steps a Jacobian that is as large in the middle of the step is
// right where it is. Lanes that are not in doubt get what they had.
INLINE void linearise_step(const struct point *x, const SPACE real *p, struct trial *s) {
    SPARE(y, N, s->spare[0]);
    real t = t_at(x->t, R(0)), size2 = R(0);
    STATES(j, 0) y[j] = x->y[j];
    ROLL for (int pass = 0; pass < (ADAPTIVE ? 2 : 3); pass++) {
        linearise(t, y, p, s->m);
        if (pass == 0) {
            mask timely = linear_timely(s->m);
            size2 = linear_size2(s->m);
            s->doubt = m_not(r_le(size2 * (s->h * s->h), R(1)));
            if (!any(m_or(s->doubt, m_not(timely))))
                return;
            STATES(j, 0) s->f[j] = s->m[LU_ENTRIES + j];
            STATES(j, 0) y[j] = select(s->doubt, beside(s->limits, s->h, y[j], s->f[j], j), y[j]);
            t = t_at(x->t, select(timely, R(0), s->h * R(ADAPTIVE ? 0.0625 : 0.5)));
        } else if (pass == 1 && !ADAPTIVE) {
            mask same = m_and(s->doubt, r_ge(linear_size2(s->m) * R(16), size2));
            if (!any(same))
                break;
            STATES(j, 0) y[j] = select(same, x->y[j], y[j]);
        }
    }
    STATES(j, 0) s->m[LU_ENTRIES + j] = s->f[j];
    DOUBT_LOOP(i, 0, DOUBTS) {
        real entry = s->m[linear_doubts[i]];
        s->m[linear_doubts[i]] = select(r_eq(entry * R(0), R(0)), entry, R(0));
    }
}
#else
INLINE void linearise_step(const struct point *x, const SPACE real *p, struct trial *s) {
    linearise(t_at(x->t, R(0)), x->y, p, s->m);
}
#endif

#if !COLLOCATION
// Makes the factors of I - h gamma J in the place of J.
INLINE void factor(struct trial *s) {
    SPARE(w, N, s->spare[0]);
    s->pivot = linear_factor(s->h * R(-GAMMA), s->m, s->m, w);
    FENCE(FENCE_FACTORED)
}
#endif

// Solves with I - h gamma J.
INLINE void step_solve(struct trial *s, SPACE real *x) {
    SPARE(w, N, s->spare[0]);
#if COLLOCATION
    real sigma = s->per_h * R(1 / GAMMA);
    STATES(j, 0) if (HAS_SLOPE(j)) x[j] = sigma * x[j];
    shifted_solve(s->m, s->m, w, x);
#else
    linear_solve(s->m, w, x);
#endif
}

INLINE mask is_singular(const struct trial *s) { return r_lt(s->pivot, R(SMALLEST_SCALE)); }
// It is neither singular nor is something in it that is not finite.
INLINE mask is_sound(const struct trial *s) { return r_ge(s->pivot, R(SMALLEST_SCALE)); }

#if ADAPTIVE
INLINE real stage_error(const struct trial *s, int j) {
    return stage_sum_at(R(0), s, rk_e, STAGES, j);
}

// Returns the square of the error norm, the RMS of e / (atol + rtol max(|y0|, |y1|)). It is not a
// number or infinite when anything of the step is, y1 included: then the reciprocal is not finite.
INLINE real error_norm2(const struct point *x, const struct trial *s, const struct limits *l,
                        const SPACE real *error) {
    real sum = R(0);
    STATES(j, 0) {
        real scale = r_fma(l->rtol, r_size(x->y[j], s->y1[j]), l->atol[j]);
        real weighted = (error ? error[j] : stage_error(s, j)) * r_reciprocal_rough(scale);
        sum = r_fma(weighted, weighted, sum);
    }
    return select(is_sound(s), sum * R(1.0 / N), R(NAN_VALUE));
}
#endif

#ifdef INSIDE
#define INSIDE_SHARE 0.0625 // four tolerances
// Returns the same norm of how far the interpolant is off at one place inside the step. A component
// that follows another at once is right at the end of any step, and damped in its error; between
// the ends it may be anything. What f says there and the slope does not, solved with the step's
// matrix, is how far it is off; of slow components it is some times that. Where f has no value
// nothing is said. Of methods that do not damp, the end is looked at, but for algebraic states:
// what these are off there stays however short steps are.
INLINE real inside_error2(const struct point *x, const SPACE real *p, struct trial *s,
                          const struct limits *l) {
    SPARE(y, N, s->spare[1]);
    STATES(j, 0) y[j] = stage_sum_at(x->y[j], s, rk_inside, STAGES, j);
    model_rhs(t_at(x->t, s->h * R(INSIDE)), y, p, s->f);
    STATES(j, 0) {
        real missed = r_fms(s->h, s->f[j], stage_sum_at(R(0), s, rk_inside_slope, STAGES, j));
        y[j] = HAS_SLOPE(j) ? missed * R(GAMMA) : INSIDE < 1 ? s->f[j] : R(0);
    }
    step_solve(s, y);
    return r_min(R(1e8), error_norm2(x, s, l, y) * R(INSIDE_SHARE));
}
#endif
