// SPDX-License-Identifier: MIT
// Windows of summaries: where they begin and end, and what is written when one is over.

// Lane i is in a window. Steps that end before its goal lie in the window: that is the window's
// end, as a number that grows along the run; the last one has no end, and one that has not begun
// none that any step ends before. Where somebody makes moments, a step may be meant to end with the
// window: so the goal is before it by more than such moments are apart, the last window has one,
// too, and none has begun before its first step was looked at.
INLINE void summary_set_window(const struct shoal_args *a, struct group *g, int i, u32 window,
                               int begun) {
    const GLOBAL elem *edge = a->edges + 2 * (u64)window;
    elem far = (elem)INFINITY_VALUE, goal = LANE(g->dir, i) * edge[2];
#if WATCH_STEERS
    int last = 0;
    elem t0 = T_LANE(g->t0, i);
    goal -= ((edge[2] < 0 ? -edge[2] : edge[2]) + (t0 < 0 ? -t0 : t0)) * (elem)(8 * EPSILON);
#else
    int last = window + 1 >= a->z.windows;
#endif
    g->summary.window[i] = window;
    T_SET(g->summary.begin, i, edge[0], edge[1]);
    LANE(g->summary.goal, i) = !begun ? -far : last ? far : goal;
}

// Where the windows of lanes end. The number of a lane that has no row yet may be anything, and
// that of one whose row has ended is behind the last.
INLINE treal summary_ends(const struct shoal_args *a, const struct group *g) {
    treal end = g->summary.begin;
    for (int i = 0; i < W; i++) {
        u32 window = g->summary.window[i];
        const GLOBAL elem *edge = a->edges + 2 * (u64)(window < a->z.windows ? window : 0);
        T_SET(end, i, edge[2], edge[3]);
    }
    return end;
}

#if WATCH_STEERS
// By how much what happens at the edge of a window may be beside it: of a short window a part.
INLINE real summary_slack(const struct shoal_args *a, const struct group *g, treal t) {
    real length = t_diff(summary_ends(a, g), g->summary.begin);
    return r_min(summary_width(g, t), r_abs(length) * R(0.25));
}
#endif

// Writes what the window of lane i comes to after a time of `length`; nothing was seen in a time
// that is not positive.
INLINE void summary_write(const struct shoal_args *a, struct group *g, int i, const real *out,
                          real length, int good) {
    good = good && LANE(length, i) * LANE(g->dir, i) > 0;
    ITEMS(k, SUMMARY_ITEMS)
    a->summary[summary_place(a, g, i, k, g->summary.window[i], 0)] =
        good ? LANE(out[k], i) : (elem)NAN_VALUE;
    ROLL for (int k = SUMMARY_ITEMS; k < SUMMARY_ARRAYS && !good; k++)
        summary_fill(a, g, i, k, (elem)NAN_VALUE);
}

#if COLD_PART
// The windows of the lanes are over, and the next ones begin.
OUTLINE void summary_next(const struct shoal_args *a, struct group *g, u32 lanes) {
    real out[SUMMARY_ITEMS + 1];
    real length = t_diff(summary_ends(a, g), g->summary.begin);
    summary_results(a, g, length, out);
    for (int i = 0; i < W; i++)
        if (lanes >> i & 1) {
            summary_write(a, g, i, out, length, 1);
            summary_set_window(a, g, i, g->summary.window[i] + 1, !WATCH_STEERS);
        }
    summary_start(a, g, m_of_lanes(lanes));
}
#endif

// Windows that were not reached have nothing. One at the beginning of which a run is over has seen
// nothing.
INLINE void summary_end(const struct shoal_args *a, struct group *g, int i, u32 status) {
    real out[SUMMARY_ITEMS + 1];
    real length = t_diff(g->x.t, g->summary.begin);
#if WATCH_STEERS
    if (status != STATUS_ok)
        length = select(r_le(r_abs(length), summary_slack(a, g, g->x.t)), R(0), length);
#endif
    int good = status == STATUS_ok || status == STATUS_stopped || a->z.keep_failed;
    summary_results(a, g, length, out);
    summary_write(a, g, i, out, length, good);
    ROLL while (++g->summary.window[i] < a->z.windows) summary_write(a, g, i, out, length, 0);
}
