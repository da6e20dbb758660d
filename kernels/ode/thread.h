// SPDX-License-Identifier: MIT
// A device's thread runs one trajectory at a time, with everything in registers.
//
// Lanes of a warp step together. One whose row ends stays idle until what is lost by waiting is
// what starting costs, or all are idle: then all idle lanes take rows and start together, which
// shares that cost. Without refill a warp is done when its last lane is. Where threads cannot vote,
// a warp is one thread.
//
// An idle lane goes on with its steps, but its time is not a number: so no step is its last or too
// short, no sample is due, and nothing comes of it.

enum { PATIENCE = 6 * WARP }; // lanes times steps: what a start costs, on the generous side

struct thread {
    struct limits limits;
    u32 look_at; // clock (attempts since the start) at which to look at limits
    u32 wait;    // attempts until then
    u32 stop_at; // clock at which to look at the stop flag
    int stopped;
};

INLINE u32 thread_clock(const struct thread *k) { return k->look_at - k->wait; }

// Returns how many attempts the row has made.
INLINE u32 thread_attempts(const struct thread *k, const struct group *g) {
    return thread_clock(k) - (u32)g->born[0];
}

// Looks at the stop flag when it is time, and sets when to look next.
INLINE void thread_look(const struct shoal_args *a, struct thread *k, const struct group *g) {
    u32 clock = thread_clock(k);
    if ((int)(clock - k->stop_at) >= 0) {
        k->stopped = stop_asked(a->stop);
        k->stop_at = clock + LOOK_EVERY;
    }
    u64 left = a->z.max_steps - thread_attempts(k, g);
#if DETECT_STIFF
    u32 look = g->past.look[0] - thread_attempts(k, g);
#endif
    k->wait = saves_steps(a) ? 1 : k->stop_at - clock;
    if (a->z.max_steps && left < k->wait)
        k->wait = (u32)left;
#if DETECT_STIFF
    if (look < k->wait)
        k->wait = look;
#endif
    k->look_at = clock + k->wait;
}

// Looks after `most` attempts at the latest.
INLINE void thread_look_by(struct thread *k, u32 most) {
    if (k->wait > most) {
        k->look_at -= k->wait - most;
        k->wait = most;
    }
}

INLINE void thread_rest(struct group *g) {
    g->active = 0;
    g->x.t = t_pair((elem)NAN_VALUE, 0);
}

INLINE void thread_end(const struct shoal_args *a, struct thread *k, struct group *g, u32 status) {
    finish_lane(a, g, 0, status, thread_attempts(k, g));
    thread_rest(g);
}

// A row that is not there makes the lane idle, with values that are harmless.
INLINE void thread_begin(const struct shoal_args *a, struct thread *k, struct group *g, u32 row) {
    g->born[0] = thread_clock(k);
    past_init(&g->past, 1); // which says when to look
    thread_look(a, k, g);
    g->active = row < a->head.rows && !k->stopped;
    g->row[0] = g->active ? row : 0;
    group_begin(a, &k->limits, g, (u32)g->active);
    if (!g->active)
        thread_rest(g);
#if ALGEBRAIC || WATCH_STARTS
    if (g->active && g->unfit) { // a row that ends where it begins
        thread_end(a, k, g, unfit_status(g, 0));
        k->stop_at = thread_clock(k); // many of them take no step in which to look
    }
#endif
}
