// SPDX-License-Identifier: MIT
// A group: one vector of trajectories on their way, and what it takes to move a lane between groups.
//
// Idle lanes hold the values of a trajectory that is or was alive and a step size of 0, so that
// whatever is computed for them is harmless and changes nothing.

// Where a step starts.
struct point {
    treal t;
    real y[N];
    real f0[N]; // f(t, y), the first stage of the next step
};

struct group {
    struct point x;
    real p[NP + SHARED]; // parameters, derived ones, and what parts of a long function share
    treal t0, t1;
    real dir;   // +1 forwards, -1 backwards in time
    real h;     // next step, positive; idle lanes: 0
    real l1, l2, hlast; // controller: log2 of the last accepted steps' squared errors and size
    real top;   // largest growth allowed: 1 after a rejection
    ireal accepted;
    ireal left; // fixed steps still to do
    mask active;
    u64 born[W]; // clock at which the lane started
    u32 row[W];
    u32 sample[W]; // next sample of the lane
    u32 extra[W];  // evaluations beyond the steps' own
    u64 total[TOTAL_COUNT]; // over the rows that ended here
#if DENSE
    treal next_save;
#endif
#if LARGE
    real out[NOUT];
    real spare[2][N];
#endif
};

INLINE void group_copy_lane(struct group *to, int i, const struct group *from, int j) {
    for (int n = 0; n < N; n++) {
        LANE(to->x.y[n], i) = LANE(from->x.y[n], j);
        LANE(to->x.f0[n], i) = LANE(from->x.f0[n], j);
    }
    for (int n = 0; n < NP; n++)
        LANE(to->p[n], i) = LANE(from->p[n], j);
    T_COPY(to->x.t, i, from->x.t, j);
    T_COPY(to->t0, i, from->t0, j);
    T_COPY(to->t1, i, from->t1, j);
    LANE(to->dir, i) = LANE(from->dir, j);
    LANE(to->h, i) = LANE(from->h, j);
    LANE(to->l1, i) = 0;
    LANE(to->l2, i) = 0;
    LANE(to->hlast, i) = -10000; // no step before
    LANE(to->top, i) = CONTROL_GROW;
    LANE(to->accepted, i) = 0;
    LANE(to->left, i) = LANE(from->left, j);
    to->row[i] = from->row[j];
    to->sample[i] = from->sample[j];
    to->extra[i] = from->extra[j];
#if DENSE
    T_COPY(to->next_save, i, from->next_save, j);
#endif
}

// Every component finite: x*0 is 0 for those, and not a number otherwise.
INLINE mask finite_all(const real *y) {
    real s = y[0] * R(0);
    STATES(j, 1) s = r_fma(y[j], R(0), s);
    return r_eq(s, R(0));
}
