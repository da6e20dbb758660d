// SPDX-License-Identifier: MIT
// A device's thread: one trajectory at a time, everything in registers.
//
// Lanes of a warp step together. One whose row ends stays idle, repeating a step that changes
// nothing, until enough of them are (or all): then all idle lanes take rows and start together, which
// shares the cost of starting. Without refill a warp is done when its last lane is. Where threads
// cannot vote, a warp is one thread.

enum { REFILL_LANES = WARP < 8 ? WARP : 8 };

struct thread {
    u32 clock;   // attempts since the start, the same for all lanes of a warp
    u32 look_at; // clock at which to look at limits
    u32 stop_at; // clock at which to look at the stop flag
    int stopped;
};

// Looks at the stop flag when it is time, and sets when to look next.
INLINE void thread_look(const struct shoal_args *a, struct thread *k, const struct group *g) {
    if ((int)(k->clock - k->stop_at) >= 0) {
        k->stopped = stop_asked(a->stop);
        k->stop_at = k->clock + LOOK_EVERY;
    }
    u32 wait = k->stop_at - k->clock;
    u64 left = a->z.max_steps - (u32)(k->clock - (u32)g->born[0]);
    if (a->z.max_steps && left < wait)
        wait = (u32)left;
    k->look_at = k->clock + wait;
}

// A row that is not there makes the lane idle, with values that are harmless.
INLINE void thread_begin(const struct shoal_args *a, struct thread *k, struct group *g, u32 row) {
    g->born[0] = k->clock;
    thread_look(a, k, g);
    g->active = row < a->z.rows && !k->stopped;
    g->row[0] = g->active ? row : 0;
    group_begin(a, g, (u32)g->active);
    lane_reset(g, 0);
}

INLINE void thread_end(const struct shoal_args *a, struct thread *k, struct group *g, u32 status) {
    if (status == STATUS_ok && !DENSE && !a->z.steps_saved)
        save_lanes(a, g, &g->x.t, g->x.y, 1);
    finish_lane(a, g, 0, status, k->clock - (u32)g->born[0]);
    g->active = 0;
}
