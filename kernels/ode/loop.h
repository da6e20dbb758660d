// SPDX-License-Identifier: MIT
// In the trajectory loop WAYS groups step side by side, and finished lanes take the next row.
//
// New trajectories are made ready W at a time in a waiting room (start values, derived parameters,
// first step), so that starting costs a lane its share and not a whole vector. Rows come in run
// order from blocks that workers draw from a common counter. The hot part has no branch but the one
// to attention(), which is taken when a lane is done, has failed or has a sample to write, or when
// the clock says it is time to look at the stop flag and the step limits.

struct room {
    struct group g;
    u32 count, used;  // lanes ready, lanes taken
    u32 row, row_end; // rest of the block
#if ALGEBRAIC
    real m[LINEAR];
#endif
};

struct worker {
    const struct shoal_args *args;
    struct limits limits;
    struct room room;
#if LARGE
    struct trial trial[WAYS];
    struct point point[WAYS];
#endif
    u64 clock;   // attempts since the start, the same for all lanes
    u64 look_at; // clock at which to look around
    u32 idle_ways;
};

// There is one of these for each group, for the time of a function.
#if LARGE
#define TRIALS(s, k) struct trial *s = (k)->trial
#define POINTS(x, k) struct point *x = (k)->point
#else
#define TRIALS(s, k) struct trial s[WAYS]
#define POINTS(x, k) struct point x[WAYS]
#endif

#if COLD_PART
INLINE void group_copy_lane(struct group *to, int i, const struct group *from, int j) {
    for (int n = 0; n < N; n++) {
        LANE(to->x.y[n], i) = LANE(from->x.y[n], j);
        LANE(to->x.f0[n], i) = LANE(from->x.f0[n], j);
#if COMPENSATED
        LANE(to->x.low[n], i) = LANE(from->x.low[n], j);
#endif
    }
    for (int n = 0; n < NP; n++)
        LANE(to->p[n], i) = LANE(from->p[n], j);
    T_COPY(to->x.t, i, from->x.t, j);
    T_COPY(to->t0, i, from->t0, j);
    T_COPY(to->t1, i, from->t1, j);
    LANE(to->dir, i) = LANE(from->dir, j);
    LANE(to->h, i) = LANE(from->h, j);
    past_copy(&to->past, i, &from->past, j);
    LANE(to->left, i) = LANE(from->left, j);
    LANE(to->accepted, i) = LANE(from->accepted, j);
#if NEWTON
    LANE(to->work, i) = LANE(from->work, j);
#endif
#if COUNTERS
    for (int n = 0; n < REASONS; n++)
        LANE(to->refused[n], i) = LANE(from->refused[n], j);
#endif
    to->row[i] = from->row[j];
    to->sample[i] = from->sample[j];
    to->extra[i] = from->extra[j];
#if SAVE_GRID
    T_COPY(to->next_save, i, from->next_save, j);
#endif
#if WATCHED
    watch_copy(to, i, from, j);
#endif
}

// Makes up to W trajectories ready; lanes without a row repeat the first. Returns 0 when there are
// no more rows.
NOINLINE int room_fill(struct worker *k) {
    const struct shoal_args *a = k->args;
    struct room *r = &k->room;
    if (r->row == r->row_end) {
        r->row = work_take(a->next, a->head.block);
        if (r->row >= a->head.rows) {
            r->row = r->row_end = a->head.rows;
            r->count = r->used = 0;
            return 0;
        }
        r->row_end = a->head.rows - r->row < a->head.block ? a->head.rows : r->row + a->head.block;
    }
    r->count = r->row_end - r->row < W ? r->row_end - r->row : W;
    r->used = 0;
    for (int i = 0; i < W; i++)
        r->g.row[i] = r->row + ((u32)i < r->count ? (u32)i : 0);
    r->row += r->count;
#if ALGEBRAIC
    r->g.m = r->m;
#endif
    past_init(&r->g.past, ~0u);
    group_begin(a, &k->limits, &r->g, r->count == 32 ? ~0u : (1u << r->count) - 1);
    return 1;
}

// An idle lane makes the steps of others and keeps none of them: adaptive ones are of the size that
// its last had, whose numbers are not so small that a processor computes with them slowly; fixed
// ones are kept unseen, and lead nowhere.
INLINE void lane_rests(struct group *g, int i) {
    if (!ADAPTIVE)
        LANE(g->h, i) = 0;
}

// Gives the lanes the next trajectories; those for which there is none stay idle, with the values
// they had, or at the very start with those of the waiting room.
OUTLINE void fill_lanes(struct worker *k, struct group *g, u32 lanes) {
    struct room *r = &k->room;
    u32 live = m_lanes(g->active);
    for (int i = 0; i < W; i++) {
        if (!(lanes >> i & 1))
            continue;
        int more = r->used < r->count || room_fill(k);
#if ALGEBRAIC || WATCH_STARTS
        while (more && (r->g.unfit >> r->used & 1)) { // a row that ends where it begins
            u32 status = unfit_status(&r->g, (int)r->used);
            group_copy_lane(g, i, &r->g, (int)r->used++);
            finish_lane(k->args, g, i, status, 0);
            more = !stop_asked(k->args->stop) && (r->used < r->count || room_fill(k));
        }
#endif
        if (more || k->clock == 0)
            group_copy_lane(g, i, &r->g, more ? (int)r->used++ : 0);
        g->born[i] = k->clock;
        if (more)
            live |= 1u << i;
        else
            lane_rests(g, i);
    }
    g->active = m_of_lanes(live);
    k->idle_ways += !live;
}

// Ends the lanes in `ended` (status by lane) and refills.
OUTLINE void turn_over(struct worker *k, struct group *g, u32 ended, const unsigned char *status) {
    const struct shoal_args *a = k->args;
    u32 live = m_lanes(g->active) & ~ended;
    u32 fine = 0;
    for (int i = 0; i < W; i++)
        fine |= (u32)((ended >> i & 1) && status[i] <= STATUS_stopped) << i;
    if (fine && !SAVE_GRID && !saves_steps(a))
        save_lanes(a, g, &g->x.t, g->x.y, fine);
    for (int i = 0; i < W; i++)
        if (ended >> i & 1) {
            finish_lane(a, g, i, status[i], (u32)(k->clock - g->born[i]));
            lane_rests(g, i);
        }
    g->active = m_of_lanes(live);
    if (!live || a->head.refill)
        fill_lanes(k, g, ~live);
}
#else
OUTLINE void fill_lanes(struct worker *k, struct group *g, u32 lanes);
OUTLINE void turn_over(struct worker *k, struct group *g, u32 ended, const unsigned char *status);
#endif
