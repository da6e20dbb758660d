// SPDX-License-Identifier: MIT
// Doses: what each row is given at which times, from arrays that the host makes.
//
// An entry of `doses` has a time, a target and a value: the value is added to a state, or becomes
// the rate at which a state is given more, which the right-hand side has as a number of the lane.
// Where there are events, these give what is due between them (event_fire), and nothing is left.

enum { DOSE_T, DOSE_T_LO, DOSE_TARGET, DOSE_VALUE, DOSE_SIZE };

#if COLD_PART
INLINE void dose_begin(const struct shoal_args *a, struct group *g) {
    for (int i = 0; i < W; i++) {
        g->dose.next[i] = a->dose_offset[2 * (u64)g->row[i]];
        g->dose.end[i] = a->dose_offset[2 * (u64)g->row[i] + 1];
    }
    ITEMS(k, INFUSIONS) g->p[INFUSIONS_AT + k] = R(0);
}

INLINE void dose_copy(struct dose_state *to, int i, const struct dose_state *from, int j) {
    to->next[i] = from->next[j];
    to->end[i] = from->end[j];
}

// When the next one comes; not a number where there is none.
INLINE treal dose_next(const struct shoal_args *a, const struct group *g) {
    treal at = t_pair((elem)NAN_VALUE, 0);
    for (int i = 0; i < W; i++)
        if (g->dose.next[i] < g->dose.end[i]) {
            const GLOBAL elem *d = a->doses + DOSE_SIZE * (u64)g->dose.next[i];
            T_SET(at, i, d[DOSE_T], d[DOSE_T_LO]);
        }
    return at;
}

INLINE treal dose_next_stop(const struct shoal_args *a, const struct group *g) {
    treal at = dose_next(a, g);
    return meet_looks(a, g, at, t_width(at, g->t0));
}

INLINE void dose_give(struct group *g, SPACE real *y, int i, u32 target, elem value) {
    STATES(j, 0) if ((u32)j == target) LANE(y[j], i) += value;
    ITEMS(k, INFUSIONS) if ((u32)(N + k) == target) LANE(g->p[INFUSIONS_AT + k], i) = value;
}

// The lanes that get a dose at t, where what is right behind it is meant to be.
INLINE u32 dose_waits(const struct shoal_args *a, const struct group *g, treal t, u32 lanes) {
    return lanes & m_lanes(r_le(t_diff(dose_next(a, g), t), t_width(t, g->t0)));
}

// Gives the lanes what is due at t, and returns those that got something.
OUTLINE u32 dose_due(const struct shoal_args *a, struct group *g, treal t, SPACE real *y,
                     u32 lanes) {
    u32 given = 0, due = dose_waits(a, g, t, lanes);
    while (due) { // each time every lane has one behind it
        for (int i = 0; i < W; i++) {
            if (!(due >> i & 1))
                continue;
            const GLOBAL elem *d = a->doses + DOSE_SIZE * (u64)g->dose.next[i]++;
            dose_give(g, y, i, (u32)d[DOSE_TARGET], d[DOSE_VALUE]);
        }
        given |= due;
        due = dose_waits(a, g, t, lanes);
    }
    return given;
}

INLINE u32 dose_start(const struct shoal_args *a, struct group *g) {
    return dose_due(a, g, g->t0, g->x.y, before_end(g, g->t0) & ~g->ended);
}

// Nothing is given at t1.
INLINE u32 dose_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    return dose_due(a, g, s->t_new, s->y1, moved & ~g->ended & before_end(g, s->t_new));
}
#endif
