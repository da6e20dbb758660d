// SPDX-License-Identifier: MIT
// Trajectories start here: with inputs, derived parameters, initial values, first step and sample.
//
// Algebraic states are given as guesses. Newton's method finds what the algebraic rows make of
// them, the other states being held: with a step of 0 the matrix of a step is just its matrix.

INLINE elem input(const struct shoal_args *a, u32 i, u32 row) {
    return a->in[a->offset[i] + (u64)a->step[i] * row];
}

// Loads row[i] into lane i.
INLINE void group_load(const struct shoal_args *a, struct group *g) {
    for (int i = 0; i < W; i++) {
        u32 row = g->row[i];
        const GLOBAL elem *t0 = a->t0 + 2 * (u64)a->z.t_step * row;
        const GLOBAL elem *t1 = a->t1 + 2 * (u64)a->z.t_step * row;
        ITEMS(n, NPAR) LANE(g->p[n], i) = input(a, n, row);
        ITEMS(n, N)
        LANE(g->x.y[n], i) = a->offset[NPAR + n] == SHOAL_FORMULA ? 0 : input(a, NPAR + n, row);
        T_SET(g->t0, i, t0[0], t0[1]);
        T_SET(g->t1, i, t1[0], t1[1]);
        LANE(g->left, i) = (ielem)a->z.fixed_steps;
        LANE(g->accepted, i) = 0;
#if NEWTON
        LANE(g->work, i) = 0;
#endif
#if COUNTERS
        UNROLL for (int n = 0; n < REASONS; n++) LANE(g->refused[n], i) = 0;
#endif
        g->sample[i] = 0;
        g->extra[i] = 0;
    }
    g->x.t = g->t0;
    g->dir = select(r_lt(t_diff(g->t1, g->t0), R(0)), R(-1), R(1));
#if SIGNAL_COUNT
    signals_begin(a, g);
#endif
}

INLINE void group_init(const struct shoal_args *a, struct group *g) {
#if START_IN_ORDER
    model_start(a, t_real(g->t0), g->x.y, g->p);
#else
    model_derive(g->p);
#endif
#if HAS_INIT && !START_IN_ORDER
    SPARE(y, N, g->spare[0]);
    model_init(t_real(g->t0), g->p, y);
    STATES(j, 0) if (a->offset[NPAR + j] == SHOAL_FORMULA) g->x.y[j] = y[j];
#endif
}

#if ALGEBRAIC
// A change this small is within the reach of Newton's last steps, and above rounding.
enum { START_PASSES = 50 };
#define START_RTOL (F32 ? 1e-5 : 1e-9)
#define START_ATOL (F32 ? 1e-7 : 1e-12)

// Solves for a change of the algebraic states; x comes as the residual. Returns its squared size.
INLINE real start_change(const struct group *g, const SPACE real *y, SPACE real *w, SPACE real *x) {
    STATES(j, 0) if (!row_algebraic[j]) x[j] = R(0);
    linear_solve(g->m, w, x);
    real sum = R(0);
    STATES(j, 0) if (row_algebraic[j]) {
        real scale = r_fma(R(START_RTOL), r_abs(y[j]), R(START_ATOL));
        real q = x[j] * r_reciprocal_rough(scale);
        sum = r_fma(q, q, sum);
    }
    return sum * R(1.0 / ALGEBRAIC);
}

// A pass takes the part `reach` of Newton's step where the next step, with the same matrix, would
// be shorter, else halves it. A lane is done when two steps in turn were small; returns those that
// are not in the end, or whose matrix is singular or not finite. Nothing depends on other lanes,
// and those that are not in `lanes` keep what they have.
INLINE u32 group_settle(struct group *g, treal at, SPACE real *y, u32 lanes) {
    SPARE(w, N, g->spare[0]);
    SPARE(y1, N, g->spare[1]);
    SPARE(next, N, g->spare[2]);
    SPACE real *step = g->m + LU_ENTRIES;
    mask todo = m_of_lanes(lanes), near = m_of_lanes(0);
    real t = t_real(at), reach = R(1);
    u32 lost = 0;
    ROLL for (int pass = 0; pass < START_PASSES && m_lanes(todo); pass++) {
        linearise(t_at(at, R(0)), y, g->p, g->m);
        mask firm = r_ge(linear_factor(R(0), g->m, g->m, w), R(SMALLEST_SCALE));
        real size = start_change(g, y, w, step);
        mask small = r_le(size, R(1));
        reach = select(small, R(1), reach);
        STATES(j, 0) y1[j] = r_fma(reach, step[j], y[j]);
        model_rhs(t, y1, g->p, next);
        real least = r_fma(reach, R(-0.25), R(1));
        mask shorter = r_le(start_change(g, y, w, next), least * least * size);
        mask sound = m_and(r_lt(size, R(LARGEST_SCALE)), firm);
        for (int i = 0; i < W; i++)
            g->extra[i] += 2 * (m_lanes(todo) >> i & 1);
        lost |= m_lanes(m_andnot(todo, sound));
        mask moved = m_and(m_and(todo, sound), m_or(small, shorter));
        STATES(j, 0) y[j] = select(moved, y1[j], y[j]);
        reach = select(moved, r_min(reach * R(2), R(1)), reach * R(0.5));
        todo = m_andnot(m_and(todo, sound), m_and(small, near));
        near = small;
    }
    return lost | m_lanes(todo);
}

// f0 has what an algebraic row is, but is to have slopes. Where the first stage of a step takes
// them, they are those with which the rows stay 0: -J f0 = df/dt. Elsewhere they only help to find
// a first step.
INLINE void start_slopes(struct group *g, SPACE real *f0) {
#if FSAL
    SPARE(w, N, g->spare[0]);
    linearise(t_at(g->x.t, R(0)), g->x.y, g->p, g->m);
    linear_factor(R(0), g->m, g->m, w);
#endif
#if FSAL && TIMED
    STATES(j, 0) if (row_algebraic[j]) f0[j] = g->m[LU_ENTRIES + N + j];
#else
    STATES(j, 0) if (row_algebraic[j]) f0[j] = R(0);
#endif
#if FSAL
    linear_solve(g->m, w, f0);
#endif
}
#endif

#if ADAPTIVE
// Returns log2 of the squared norm of x, and some number even where that is 0 or not finite.
INLINE real log2_norm2(const struct limits *l, const SPACE real *x, const SPACE real *y) {
    real sum = R(0);
    STATES(j, 0) {
        real q = x[j] * r_reciprocal_rough(r_fma(l->rtol, r_abs(y[j]), l->atol[j]));
        sum = r_fma(q, q, sum);
    }
    return r_log2_rough(r_min(sum * R(1.0 / N), R(LARGEST_SCALE)));
}

// Finds the first step after Hairer, Norsett and Wanner (II.4), within the rest of the interval.
// Where nothing moves, that tells nothing; the step before is then as good, `again`.
INLINE real first_step(const struct shoal_args *a, const struct limits *l, struct group *g,
                       const SPACE real *f0, int again) {
    real span = r_abs(t_diff(g->t1, g->x.t));
    SPARE(y1, N, g->spare[0]);
    SPARE(f1, N, g->spare[1]);
    // d0, d1, d2 of the book are here log2 of their squares: that takes no roots and no divisions.
    real l0 = log2_norm2(l, g->x.y, g->x.y), l1 = log2_norm2(l, f0, g->x.y);
    mask flat = m_or(r_lt(l0, R(-33.2)), r_lt(l1, R(-33.2))); // 1e-5
    real ratio = r_min(r_max((l0 - l1) * R(0.5), R(-110)), R(110));
    real least = again ? R(0.01) * g->h : R(1e-6);
    real h0 = r_min(select(flat, least, R(0.01) * r_exp2_rough(ratio)), span);
    real hs = h0 * g->dir;
    STATES(j, 0) y1[j] = r_fma(hs, f0[j], g->x.y[j]);
    model_rhs(t_at(g->x.t, hs), y1, g->p, f1);
#if ALGEBRAIC
    STATES(j, 0) f1[j] = row_algebraic[j] ? R(0) : f1[j] - f0[j];
#else
    STATES(j, 0) f1[j] = f1[j] - f0[j];
#endif
    real l2 = log2_norm2(l, f1, g->x.y) - R(2) * r_log2_rough(h0);
    real top = r_max(l1, l2);
    real h1 = r_exp2_rough(r_max((top + R(13.287712379549449)) * R(-0.5 / ORDER), R(-90)));
    real slow = again ? g->h : r_max(R(1e-6), h0 * R(1e-3));
    h1 = select(r_lt(top, R(-99.6)), slow, h1); // 1e-15
    real h = r_min(R(100) * h0, h1);
    if (a->z.has_dt0)
        h = R(a->control[CONTROL_DT0]);
    h = select(r_gt(h, R(0)), r_min(h, span), span * R(1e-3)); // not a number: anything will do
    return r_min(r_max(h, l->dt_min), l->dt_max);
}
#endif

// The method starts where the lanes are, with slopes and a next step. Others go on as they were.
INLINE void method_start(const struct shoal_args *a, const struct limits *l, struct group *g,
                         u32 lanes, int again) {
    mask starts = m_of_lanes(lanes);
#if COMPENSATED
    STATES(j, 0) g->x.low[j] = select(starts, R(0), g->x.low[j]);
#endif
#if FSAL || ADAPTIVE
    SPARE(f0, N, g->spare[2]);
    model_rhs(t_real(g->x.t), g->x.y, g->p, f0);
#if ALGEBRAIC
    start_slopes(g, f0);
#endif
    STATES(j, 0) g->x.f0[j] = select(starts, f0[j], g->x.f0[j]);
#else
    STATES(j, 0) g->x.f0[j] = R(0);
#endif
#if ADAPTIVE
    g->h = select(starts, first_step(a, l, g, f0, again), g->h);
    u32 evaluations = FSAL + (a->z.has_dt0 ? 0 : 1 + !FSAL);
#else
    g->h = select(starts, R(a->control[CONTROL_DT]), g->h);
    u32 evaluations = FSAL;
#endif
    for (int i = 0; i < W; i++)
        g->extra[i] += (lanes >> i & 1) * evaluations;
}

#if WATCHED
#if COLD_PART
// The first step after a restart is a cautious guess; its error tells how far the next one can go.
enum { RESTART_GROW = 64 };

// A step ended where it was planned to, or its end was changed, or it failed on the way to a limit:
// lanes that were changed start again, and all get their next goal. Returns the lanes for which no
// start was found.
OUTLINE u32 lanes_go_on(const struct shoal_args *a, const struct limits *l, struct group *g,
                        struct trial *s, u32 lanes, u32 changed) {
    u32 lost = 0;
    if (changed) {
#if ALGEBRAIC
        g->m = s->m;
        lost = group_settle(g, g->x.t, g->x.y, changed);
#endif
        method_start(a, l, g, changed, 1);
        past_restart(&g->past, changed);
        g->past.top = select(m_of_lanes(changed), R(RESTART_GROW), g->past.top);
    }
    watch_plan(a, g, lanes | changed);
    return lost;
}
#else
OUTLINE u32 lanes_go_on(const struct shoal_args *a, const struct limits *l, struct group *g,
                        struct trial *s, u32 lanes, u32 changed);
#endif
#endif

#if COLD_PART
// Makes the trajectories of row[], whose past is set, ready; `lanes` are those that count.
INLINE void group_begin(const struct shoal_args *a, const struct limits *l, struct group *g,
                        u32 lanes) {
    group_load(a, g);
    group_init(a, g);
#if WATCHED
    watch_begin(a, g);
#endif
#if JUMPS
    model_sides(t_real(g->t0), g->x.y, g->p);
#endif
#if ALGEBRAIC || WATCH_STARTS
    g->unfit = 0;
#endif
#if ALGEBRAIC
    g->unfit = group_settle(g, g->x.t, g->x.y, lanes);
#endif
#if WATCH_STARTS
    u32 changed = watch_start(a, g) & lanes & ~g->unfit;
#if ALGEBRAIC
    if (changed)
        g->unfit |= group_settle(g, g->x.t, g->x.y, changed);
#endif
    (void)changed;
#endif
#if ALGEBRAIC
    lanes &= ~g->unfit;
#endif
#if JUMPS && (ALGEBRAIC || WATCH_STARTS)
    model_sides(t_real(g->t0), g->x.y, g->p);
#endif
    method_start(a, l, g, ~0u, 0);
#if WATCHED
    watch_plan(a, g, ~0u);
#endif
#if SAVE_GRID
    for (int i = 0; i < W; i++)
        next_save_lane(a, g, i);
    u32 due = m_lanes(save_due(g, g->x.t)) & lanes;
    if (due) { // the start itself is a sample
        save_lanes(a, g, &g->x.t, g->x.y, due);
        for (int i = 0; i < W; i++)
            if (due >> i & 1)
                next_save_lane(a, g, i);
    }
#else
    if (saves_steps(a))
        save_step(a, g, &g->x.t, g->x.y, lanes);
#endif
#if WATCH_STARTS
    g->unfit |= g->ended & lanes;
#endif
}

#if ALGEBRAIC || WATCH_STARTS
// Why a row ends where it begins.
INLINE u32 unfit_status(const struct group *g, int i) {
#if WATCH_STARTS
    if (g->endless >> i & 1)
        return STATUS_events;
    if (g->ended >> i & 1)
        return STATUS_stopped;
#endif
    return STATUS_bad_init;
}
#endif
#endif
