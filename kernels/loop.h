// SPDX-License-Identifier: MIT
// The trajectory loop: WAYS groups step side by side, finished lanes take the next row.
//
// New trajectories are made ready W at a time in a waiting room (start values, derived parameters,
// first step), so that starting costs a lane its share and not a whole vector. Rows come in run
// order from blocks that workers draw from a common counter. The hot part has no branch but the one
// to attention(), which is taken when a lane is done, has failed or has a sample to write, or when
// the clock says it is time to look at the stop flag and the step limits.

struct room {
    struct group g;
    u32 count, used;   // lanes ready, lanes taken
    u32 row, row_end;  // rest of the block
};

struct worker {
    const struct shoal_args *args;
    struct room room;
#if LARGE
    struct trial trial[WAYS];
    struct point point[WAYS];
#endif
    u64 clock;      // attempts since the start, the same for all lanes
    u64 look_at;    // clock at which to look around
    u32 idle_ways;
};

// One for each group, for the time of a function.
#if LARGE
#define TRIALS(s, k) struct trial *s = (k)->trial
#define POINTS(x, k) struct point *x = (k)->point
#else
#define TRIALS(s, k) struct trial s[WAYS]
#define POINTS(x, k) struct point x[WAYS]
#endif

enum { LOOK_EVERY = N < 64 ? 1024 : 65536 / N + 1, BURST = 64 };

INLINE elem input(const struct shoal_args *a, u32 i, u32 row) {
    return ((const elem *)a->in)[a->offset[i] + (u64)a->step[i] * row];
}

// Loads rows into the lanes of the waiting room; lanes without a row repeat the first.
INLINE void room_load(const struct shoal_args *a, struct room *r) {
    struct group *g = &r->g;
    for (int i = 0; i < W; i++) {
        u32 row = g->row[i] = r->row + ((u32)i < r->count ? (u32)i : 0);
        const elem *t0 = (const elem *)a->t0 + 2 * (u64)a->z.t_step * row;
        const elem *t1 = (const elem *)a->t1 + 2 * (u64)a->z.t_step * row;
        for (u32 n = 0; n < NPAR; n++)
            LANE(g->p[n], i) = input(a, n, row);
        for (u32 n = 0; n < N; n++)
            LANE(g->x.y[n], i) = a->offset[NPAR + n] == SHOAL_FORMULA ? 0 : input(a, NPAR + n, row);
        T_SET(g->t0, i, t0[0], t0[1]);
        T_SET(g->t1, i, t1[0], t1[1]);
        LANE(g->left, i) = (ielem)a->z.fixed_steps;
        g->sample[i] = 0;
        g->extra[i] = FSAL;
    }
    g->x.t = g->t0;
    g->dir = select(r_lt(t_diff(g->t1, g->t0), R(0)), R(-1), R(1));
}

INLINE void room_init(const struct shoal_args *a, struct group *g) {
    model_derive(g->p);
#if HAS_INIT
    SPARE(y, N, g->spare[0]);
    model_init(t_real(g->t0), g->p, y);
    STATES(j, 0) if (a->offset[NPAR + j] == SHOAL_FORMULA) g->x.y[j] = y[j];
#endif
}

#if ADAPTIVE
INLINE real norm2(const struct shoal_args *a, const real *x, const real *y) {
    real sum = R(0), rtol = R(((const elem *)a->control)[CONTROL_RTOL]);
    STATES(j, 0) {
        real q = x[j] / r_fma(rtol, r_abs(y[j]), R(((const elem *)a->atol)[j]));
        sum = r_fma(q, q, sum);
    }
    return sum * R(1.0 / N);
}

// First step after Hairer, Norsett and Wanner (II.4), limited by the interval.
INLINE void first_step(const struct shoal_args *a, struct group *g, real *f0) {
    const elem *control = (const elem *)a->control;
    real span = r_abs(t_diff(g->t1, g->t0));
    SPARE(y1, N, g->spare[0]);
    SPARE(f1, N, g->spare[1]);
    real d0 = r_sqrt(norm2(a, g->x.y, g->x.y)), d1 = r_sqrt(norm2(a, f0, g->x.y));
    real h0 = select(m_or(r_lt(d0, R(1e-5)), r_lt(d1, R(1e-5))), R(1e-6), R(0.01) * (d0 / d1));
    h0 = r_min(h0, span);
    real hs = h0 * g->dir;
    STATES(j, 0) y1[j] = r_fma(hs, f0[j], g->x.y[j]);
    model_rhs(t_at(g->x.t, hs), y1, g->p, f1);
    STATES(j, 0) f1[j] = f1[j] - f0[j];
    real d2 = r_sqrt(norm2(a, f1, g->x.y)) / h0;
    real d = r_max(d1, d2);
    real l = r_log2_rough(r_min(r_max(d * R(100), R(1e-30)), R(1e30)));
    real h1 = r_exp2_rough(r_max(l * R(-1.0 / ORDER), R(-90))); // the error goes as h^ORDER
    h1 = select(r_lt(d, R(1e-15)), r_max(R(1e-6), h0 * R(1e-3)), h1);
    real h = r_min(R(100) * h0, h1);
    if (a->z.has_dt0)
        h = R(control[CONTROL_DT0]);
    h = select(r_gt(h, R(0)), r_min(h, span), span * R(1e-3)); // not a number: anything will do
    h = r_min(r_max(h, R(control[CONTROL_DT_MIN])), R(control[CONTROL_DT_MAX]));
    g->h = h;
}
#endif

// Makes up to W trajectories ready. Returns 0 when there are no more rows.
NOINLINE int room_fill(const struct shoal_args *a, struct room *r) {
    if (r->row == r->row_end) {
        r->row = work_take(a->next, a->z.block);
        if (r->row >= a->z.rows) {
            r->row = r->row_end = a->z.rows;
            r->count = r->used = 0;
            return 0;
        }
        r->row_end = a->z.rows - r->row < a->z.block ? a->z.rows : r->row + a->z.block;
    }
    struct group *g = &r->g;
    r->count = r->row_end - r->row < W ? r->row_end - r->row : W;
    r->used = 0;
    room_load(a, r);
    r->row += r->count;
    room_init(a, g);
    u32 lanes = r->count == 32 ? ~0u : (1u << r->count) - 1;
#if FSAL || ADAPTIVE
    model_rhs(t_real(g->x.t), g->x.y, g->p, g->x.f0);
#else
    STATES(j, 0) g->x.f0[j] = R(0);
#endif
#if ADAPTIVE
    first_step(a, g, g->x.f0);
    for (int i = 0; i < W; i++)
        g->extra[i] = FSAL + (a->z.has_dt0 ? 0 : 1 + !FSAL);
#else
    g->h = R(((const elem *)a->control)[CONTROL_DT]);
#endif
#if DENSE
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
    if (a->z.steps_saved) {
        treal settle = t_load((const elem *)a->settle);
        save_lanes(a, g, &g->x.t, g->x.y, m_lanes(r_ge(t_diff(g->x.t, settle) * g->dir, R(0))) & lanes);
    }
#endif
    return 1;
}

// Gives the lanes the next trajectories; those for which there is none stay idle, with the values
// they had, or at the very start with those of the waiting room.
NOINLINE void fill_lanes(struct worker *k, struct group *g, u32 lanes) {
    struct room *r = &k->room;
    u32 live = m_lanes(g->active);
    for (int i = 0; i < W; i++) {
        if (!(lanes >> i & 1))
            continue;
        int more = r->used < r->count || room_fill(k->args, r);
        if (more || k->clock == 0)
            group_copy_lane(g, i, &r->g, more ? (int)r->used++ : 0);
        g->born[i] = k->clock;
        if (more)
            live |= 1u << i;
        else
            LANE(g->h, i) = 0;
    }
    g->active = m_of_lanes(live);
    k->idle_ways += !live;
}

// Ends the lanes in `ended` (status by lane) and refills.
NOINLINE void turn_over(struct worker *k, struct group *g, u32 ended, const unsigned char *status) {
    const struct shoal_args *a = k->args;
    u32 live = m_lanes(g->active) & ~ended;
    u32 fine = 0;
    for (int i = 0; i < W; i++)
        fine |= (u32)((ended >> i & 1) && status[i] == 0) << i;
    if (fine && !DENSE && !a->z.steps_saved)
        save_lanes(a, g, &g->x.t, g->x.y, fine);
    for (int i = 0; i < W; i++)
        if (ended >> i & 1) {
            finish_lane(a, g, i, status[i], (u32)(k->clock - g->born[i]));
            LANE(g->h, i) = 0;
        }
    g->active = m_of_lanes(live);
    if (!live || a->z.refill)
        fill_lanes(k, g, ~live);
}
