// SPDX-License-Identifier: MIT
// Saving watches trajectories: it takes samples inside a step, ends of steps, and the final state.
//
// It has no stop and no limit, so that nothing it does changes the steps; that the interpolant
// counts in the error of implicit ones is the method's. Samples of a grid come from the interpolant
// while the step is at hand; everything else is read from the group.

#if COLD_PART
// Writes the outputs of a lane, or NaN, to their place.
INLINE void store_lane(const struct shoal_args *a, const SPACE real *out, int i, u64 at, int good) {
    GLOBAL elem *to = a->values + at;
    ITEMS(v, NOUT) {
        *to = good ? LANE(out[v], i) : (elem)NAN_VALUE;
        to += a->z.var_stride;
    }
}

OUTLINE void save_lanes(const struct shoal_args *a, struct group *g, const treal *t,
                        const SPACE real *y, u32 lanes) {
    SPARE(out, OUT_ROOM, g->out);
    if (a->values)
        model_outputs(t_real(*t), y, g->p, out);
    for (int i = 0; i < W; i++) {
        if (!(lanes >> i & 1))
            continue;
        u64 at = saves_steps(a) ? a->sample_offset ? a->sample_offset[g->row[i]] + g->sample[i] : 0
                                : g->row[i] * a->z.row_stride + g->sample[i] * a->z.sample_stride;
        g->sample[i]++;
        if (!a->values)
            continue;
        // where another method takes over the room is that method's
        if (saves_steps(a) && at >= a->sample_offset[g->row[i] + 1])
            continue;
        store_lane(a, out, i, at, 1);
        if (saves_steps(a)) {
            a->t[2 * at] = T_LANE(*t, i);
            a->t[2 * at + 1] = T_LANE_LO(*t, i);
        }
    }
}
#else
OUTLINE void save_lanes(const struct shoal_args *a, struct group *g, const treal *t,
                        const SPACE real *y, u32 lanes);
OUTLINE void save_grid(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved);
#endif

#if SAVE_GRID
INLINE void next_save_lane(const struct shoal_args *a, struct group *g, int i) {
    u32 n = g->sample[i];
    if (n < a->z.samples) {
        T_SET(g->next_save, i, a->save_t[2 * n], a->save_t[2 * n + 1]);
    } else {
        T_SET(g->next_save, i, LANE(g->dir, i) * (elem)INFINITY_VALUE, 0);
    }
}

// Returns the lanes whose next sample is not after `t`.
INLINE mask save_due(const struct group *g, treal t) {
    return r_ge(t_diff(t, g->next_save) * g->dir, R(0));
}

#if COLD_PART
// Writes all samples of the lanes in `moved` that lie in the step. Its end is exact: a sample there
// is y1 itself.
OUTLINE void save_grid(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    SPARE(y, N, s->spare[2]);
    u32 lanes = m_lanes(save_due(g, s->t_new)) & moved;
    dense_prepare(g, s, lanes);
    while (lanes) { // at most a->z.samples times
        real theta = t_diff(g->next_save, g->x.t) / s->h;
        mask end = r_eq(t_diff(g->next_save, s->t_new), R(0));
        dense_at(g, s, theta, y);
        STATES(j, 0) y[j] = select(end, s->y1[j], y[j]);
        treal at = g->next_save;
        save_lanes(a, g, &at, y, lanes);
        for (int i = 0; i < W; i++)
            if (lanes >> i & 1)
                next_save_lane(a, g, i);
        lanes &= m_lanes(save_due(g, s->t_new));
    }
}
#endif
#endif

// Saves the ends of steps, of the lanes that moved, from the settle time on.
INLINE void save_step(const struct shoal_args *a, struct group *g, const treal *t,
                      const SPACE real *y, u32 moved) {
    treal settle = t_load(a->settle);
    u32 lanes = moved & m_lanes(r_ge(t_diff(*t, settle) * g->dir, R(0)));
    if (lanes)
        save_lanes(a, g, t, y, lanes);
}

#if QUICK
// What those who only look see of a step, piece by piece: so the loop keeps its own in registers.
INLINE void trial_show(const struct trial *s, struct trial *to) {
    UNROLL for (int q = 0; q < STAGES; q++) STATES(j, 0) to->k[q][j] = s->k[q][j];
    STATES(j, 0) to->y1[j] = s->y1[j];
    to->h = s->h;
    to->t_new = s->t_new;
    to->ready = s->ready;
}
#endif

// Takes the step to its end in the lanes that moved. Those who watch take it first: samples in it
// are written before somebody may change its end, and returned are the lanes where that was done.
// Where nobody can, steps are saved when they are over, out of the way of the loop.
INLINE u32 commit_step(const struct shoal_args *a, struct group *g, struct trial *s, mask moved) {
    u32 changed = 0;
#if SAVE_GRID
    if (m_lanes(save_due(g, s->t_new)) & m_lanes(moved))
        save_grid(a, g, s, m_lanes(moved));
#endif
#if STEERED
    g->ended = g->endless = 0;
    if (saves_steps(a))
        save_step(a, g, &s->t_new, s->y1, m_lanes(m_and(moved, g->active)));
#endif
#if WATCHED
    u32 shown = watch_shown(g, s, moved);
#if QUICK
#define X(name) shown = name##_glance(a, g, s, shown);
    WATCHERS(X)
#undef X
    if (shown) {
        struct trial step;
        trial_show(s, &step);
        watch_take(a, g, &step, shown);
    }
#else
    if (shown)
        changed = watch_take(a, g, s, shown);
#endif
#endif
    STATES(j, 0) g->x.y[j] = select(moved, s->y1[j], g->x.y[j]);
#if COMPENSATED
    STATES(j, 0) g->x.low[j] = select(moved, s->low1[j], g->x.low[j]);
#endif
#if FSAL
    STATES(j, 0) g->x.f0[j] = select(moved, LAST_SLOPE(s, j), g->x.f0[j]);
#endif
    g->x.t = t_select(moved, s->t_new, g->x.t);
    return changed;
}

// On a device this loop decides how the compiler treats the steps: explicit methods lose 2 % when
// it is written out, and implicit ones up to 10 % when it is not.
#if IMPLICIT
#define LAST_LOOP
#else
#define LAST_LOOP ROLL
#endif

#if COLD_PART && COUNTERS
// A fixed step that fails ends its row: the status says why.
INLINE void counters_store(const struct shoal_args *a, const struct group *g, int i, u32 status,
                           u32 rejected) {
    u32 row = g->row[i], n[REASONS];
    for (int k = 0; k < REASONS; k++)
        n[k] = (u32)LANE(g->refused[k], i);
#if !ADAPTIVE
    n[status == STATUS_newton     ? REASON_NEWTON
      : status == STATUS_singular ? REASON_SINGULAR
                                  : REASON_NONFINITE] = rejected;
#endif
    (void)status, (void)rejected;
#if NEWTON
    u32 iterations = (u32)LANE(g->work, i);
#else
    u32 iterations = 0;
#endif
    if (a->newton_iterations)
        a->newton_iterations[row] = iterations;
    if (a->rejected_error)
        a->rejected_error[row] = n[REASON_ERROR];
    if (a->rejected_newton)
        a->rejected_newton[row] = n[REASON_NEWTON];
    if (a->rejected_nonfinite)
        a->rejected_nonfinite[row] = n[REASON_NONFINITE];
    if (a->rejected_singular)
        a->rejected_singular[row] = n[REASON_SINGULAR];
}
#endif

#if COLD_PART
// A row ends: this writes its status, its counts, and the samples that are not written yet, which
// are those it does not reach; without a grid the final one, unless lanes wrote it together.
OUTLINE void finish_lane(const struct shoal_args *a, struct group *g, int i, u32 status,
                         u32 attempts) {
    u32 row = g->row[i], accepted = (u32)LANE(g->accepted, i);
    u32 samples = a->z.samples ? a->z.samples : 1, rejected = attempts - accepted;
#if WATCHED
    rejected -= g->again[i];
    watch_end(a, g, i, status);
#endif
    if (saves_steps(a)) {
        a->saved[row] = g->sample[i];
    } else if (a->values && g->sample[i] < samples) {
        int over = status == STATUS_ok || (!SAVE_GRID && status == STATUS_stopped);
        int good = over || (status > STATUS_stopped && a->z.keep_failed);
        SPARE(out, OUT_ROOM, g->out);
        if (good)
            model_outputs(t_real(g->x.t), g->x.y, g->p, out);
        LAST_LOOP for (u32 n = g->sample[i]; n < samples; n++)
            store_lane(a, out, i, row * a->z.row_stride + n * a->z.sample_stride, good);
    }
    if (a->t && !saves_steps(a)) {
        a->t[2 * (u64)row] = T_LANE(g->x.t, i);
        a->t[2 * (u64)row + 1] = T_LANE_LO(g->x.t, i);
    }
    u64 f_evals = (u64)attempts * EVALUATIONS + g->extra[i];
#if NEWTON
    f_evals += (u64)LANE(g->work, i) * ITERATION_EVALUATIONS;
#endif
    a->status[row] = (unsigned char)status;
    if (a->steps)
        a->steps[row] = accepted;
    if (a->rejected)
        a->rejected[row] = rejected;
    if (a->f_evals)
        a->f_evals[row] = f_evals;
#if COUNTERS
    counters_store(a, g, i, status, rejected);
#endif
#if DETECT_STIFF
    // another method takes over, and counts
    if (status > STATUS_stopped && status != STATUS_events) {
        g->total[TOTAL_TAKEN]++;
        return;
    }
#endif
    g->total[TOTAL_STEPS] += accepted;
    g->total[TOTAL_REJECTED] += rejected;
    g->total[TOTAL_F_EVALS] += f_evals;
}
#endif
