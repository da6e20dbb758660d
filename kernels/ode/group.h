// SPDX-License-Identifier: MIT
// A group is one vector of trajectories on their way; for a thread, which is one trajectory, W
// is 1.
//
// Idle lanes hold the values of a trajectory that is or was alive and a step size of 0, so that
// whatever is computed for them is harmless and changes nothing.

#ifndef WATCHED // by anybody besides saving (watch.h): so nobody else asks for the interpolant
#define WATCHED 0
#define WATCH_STOPS 0
#define WATCH_LIMITS 0
#define WATCH_STEPS 0
#define WATCH_STARTS 0
#define WATCH_STEERS 0
#define WATCH_QUICK 0
#define SAVE_GRID DENSE
#endif
// Whether somebody may shorten a step or change its end: those who only look cost nothing else.
// Fixed steps have a goal whoever watches.
#define STEERED (WATCHED && (WATCH_STEERS || !ADAPTIVE))
// Whether the loop of a CPU asks them first what is left to see.
#define QUICK (WATCH_QUICK && !THREADS && !LARGE && DEGREE && !EXTRA)

#ifndef JUMPS
#define JUMPS 0
#endif
#ifndef COUNTERS
#define COUNTERS 0
#endif
#ifndef CENTRED
#define CENTRED 0
#endif
#ifndef COMPENSATED
#define COMPENSATED 0
#endif

// Whether steps are samples. That is compiled into the kernel of a device, where what is not used
// costs registers and the time to compile it.
#ifndef SAVE_STEPS
#define SAVE_STEPS 0
#endif
#if THREADS
#define saves_steps(a) SAVE_STEPS
#else
#define saves_steps(a) (a)->z.steps_saved
#endif

#if COUNTERS // why a step was rejected
enum { REASON_ERROR, REASON_NEWTON, REASON_NONFINITE, REASON_SINGULAR, REASONS };
#endif

// No target has arrays of no elements.
enum { OUT_ROOM = NOUT ? NOUT : 1 };

// This is where a step starts.
struct point {
    treal t;
    ARRAY(y, N);
    ARRAY(f0, N); // f(t, y), the first stage of the next step
#if COMPENSATED
    ARRAY(low, N); // what y has lost when it was rounded
#endif
};

// These are the limits that the host sets for all rows, as reals.
struct limits {
    real rtol, dt_min, dt_max;
    real smallest; // step
#if NEWTON
    real enough; // squared norm of what iterations may leave undone
#endif
#if NEWTON && defined FENCES
    const GLOBAL elem *atol; // one array less to hold
#else
    ARRAY(atol, N);
#endif
};

// What a method remembers of the steps before, lane by lane, besides f0 and the next step. A lane
// that begins gets it by past_init, one that moves by past_copy; where a state was changed the
// steps before say nothing, and past_restart forgets them. Other lanes keep what they have.
struct past {
    real l1, l2, hlast; // controller: log2 of the last accepted steps' squared errors and size
    real top;           // largest growth allowed: 1 after a rejection
#if NEWTON
    real rate; // of convergence
#endif
#if DETECT_STIFF
    u32 look[W];            // next attempt to look at
    u32 hits[W], misses[W]; // so far; misses in a row
#endif
};

struct group {
    struct point x;
    struct past past;
    ARRAY(p, NP + SHARED); // parameters, derived ones, and what parts of a long function share
    treal t0, t1;
    real dir; // +1 forwards, -1 backwards in time
    real h;   // next step, positive; of idle lanes see lane_rests
    ireal accepted;
#if NEWTON
    ireal work; // evaluations of iterations
#endif
    ireal left; // fixed steps still to do
#if COUNTERS
    ireal refused[REASONS]; // steps, by reason
#endif
#if WATCHED
    treal goal;   // where the next step ends at the latest: t1, a stop or a limit
    mask limited; // it is a limit
#if !ADAPTIVE
    mask between; // the last step ended inside one of the fixed steps
#endif
    u32 again[W]; // steps that were taken again to a limit
    u32 ended;    // lanes whose row ends where the last step that was shown does, or at t0,
    u32 endless;  // and of them, those with events without end
#define X(name) struct name##_state name;
    WATCHERS(X)
#undef X
#endif
    mask active;
    u64 born[W]; // clock at which the lane started
    u32 row[W];
    u32 sample[W];          // next sample of the lane
    u32 extra[W];           // evaluations beyond the steps' own
    u64 total[TOTAL_COUNT]; // over the rows that ended here
#if SAVE_GRID
    treal next_save;
#endif
#if ALGEBRAIC
    SPACE real *m; // room for the matrix of its start
#endif
#if ALGEBRAIC || WATCH_STARTS
    u32 unfit; // lanes for which no start was found, or whose row is over at t0
#endif
#if LARGE
    ARRAY(out, OUT_ROOM);
    ARRAY(spare[3], N);
#endif
};

#if WATCHED
// The lanes in which t is before the end, and not meant to be there.
INLINE u32 before_end(const struct group *g, treal t) {
    return m_lanes(r_gt(t_diff(g->t1, t) * g->dir, t_width(t, g->t0)));
}

#if COLD_PART
// Sets lane i of `at` to the time of the list, in the direction of the run, that is meant by it and
// lies behind it by no more than `width`.
INLINE void meet_time(const GLOBAL elem *times, u32 count, elem dir, elem width, treal *at, int i) {
    u32 first = 0, end = count;
    while (first < end) {
        u32 n = first + (end - first) / 2;
        elem behind = ((times[2 * n] - T_LANE(*at, i)) + (times[2 * n + 1] - T_LANE_LO(*at, i)));
        if (behind * dir >= 0)
            end = n;
        else
            first = n + 1;
    }
    if (first == count)
        return;
    elem behind = (times[2 * first] - T_LANE(*at, i)) + (times[2 * first + 1] - T_LANE_LO(*at, i));
    if (behind * dir <= width)
        T_SET(*at, i, times[2 * first], times[2 * first + 1]);
}

// When something happens that is due `at`: where somebody looks at a time that rounding alone tells
// apart from that, a sample or the edge of a window, it is then, and so behind the look.
INLINE treal meet_looks(const struct shoal_args *a, const struct group *g, treal at, real width) {
    for (int i = 0; i < W; i++) {
        if (!(T_LANE(at, i) == T_LANE(at, i)))
            continue;
#if SAVE_GRID
        meet_time(a->save_t, a->z.samples, LANE(g->dir, i), LANE(width, i), &at, i);
#endif
        if (a->z.windows)
            meet_time(a->edges, a->z.windows + 1, LANE(g->dir, i), LANE(width, i), &at, i);
    }
    return at;
}
#endif
#endif

enum { LOOK_EVERY = N < 64 ? 1024 : 65536 / N + 1, BURST = THREADS ? 1024 : 64 };
enum { STIFF_FIRST = 32 }; // see stiff.h

INLINE void limits_load(struct limits *l, const struct shoal_args *a) {
    l->rtol = R(a->control[CONTROL_RTOL]);
    l->dt_min = R(a->control[CONTROL_DT_MIN]);
    l->dt_max = R(a->control[CONTROL_DT_MAX]);
    l->smallest = r_max(l->dt_min, R(SMALLEST_STEP));
#if NEWTON
    real least = R(10 * EPSILON) / l->rtol, enough = r_max(R(NEWTON_ENOUGH), least);
    l->enough = enough * enough;
#endif
#if NEWTON && defined FENCES
    l->atol = a->atol;
#elif ADAPTIVE || IMPLICIT
    STATES(j, 0) l->atol[j] = R(a->atol[j]);
#endif
}

#if !ADAPTIVE
#define CONTROL_B 0
#define CONTROL_C 0
#endif
// These tell which of its numbers the controller uses.
#define KEEPS_L1 (CONTROL_B != 0 || CONTROL_C != 0)
#define KEEPS_L2 (CONTROL_C != 0)
#define KEEPS_H CONTROL_GUSTAFSSON

// The lanes remember again what they did `before`.
INLINE void past_keep(struct past *p, const struct past *before, mask lanes) {
    if (KEEPS_L1)
        p->l1 = select(lanes, before->l1, p->l1);
    if (KEEPS_L2)
        p->l2 = select(lanes, before->l2, p->l2);
    if (KEEPS_H)
        p->hlast = select(lanes, before->hlast, p->hlast);
    p->top = select(lanes, before->top, p->top);
#if NEWTON
    p->rate = select(lanes, before->rate, p->rate);
#endif
}

INLINE void past_restart(struct past *p, u32 lanes) {
    struct past none;
    none.l1 = none.l2 = R(0);
    none.hlast = R(-10000); // no step before
    none.top = R(CONTROL_GROW);
#if NEWTON
    none.rate = R(1);
#endif
    past_keep(p, &none, m_of_lanes(lanes));
#if DETECT_STIFF
    for (int i = 0; i < W; i++)
        if (lanes >> i & 1)
            p->hits[i] = p->misses[i] = 0;
#endif
}

INLINE void past_init(struct past *p, u32 lanes) {
    past_restart(p, lanes);
#if DETECT_STIFF
    for (int i = 0; i < W; i++)
        if (lanes >> i & 1)
            p->look[i] = STIFF_FIRST;
#endif
}

INLINE void past_copy(struct past *to, int i, const struct past *from, int j) {
    if (KEEPS_L1)
        LANE(to->l1, i) = LANE(from->l1, j);
    if (KEEPS_L2)
        LANE(to->l2, i) = LANE(from->l2, j);
    if (KEEPS_H)
        LANE(to->hlast, i) = LANE(from->hlast, j);
    LANE(to->top, i) = LANE(from->top, j);
#if NEWTON
    LANE(to->rate, i) = LANE(from->rate, j);
#endif
#if DETECT_STIFF
    to->look[i] = from->look[j];
    to->hits[i] = from->hits[j];
    to->misses[i] = from->misses[j];
#endif
}

// Returns where every component is finite: x*0 is 0 for those, and not a number otherwise.
INLINE mask finite_all(const SPACE real *y) {
    real s = y[0] * R(0);
    STATES(j, 1) s = r_fma(y[j], R(0), s);
    return r_eq(s, R(0));
}

// Where stages are written out, a CPU sums them state by state, which needs fewer registers at a
// time. The compiler of a device finds its own order, and has a branch less for each state and
// stage to think about when they are summed stage by stage: that takes up to a quarter less time.
#define STATE_BY_STATE (UNROLL_STAGES && !THREADS)

// A thread that has too many states for its registers sums some of them at a time: one by one each
// sum would wait for memory, to be read and written for every stage.
#if THREADS && N > UNROLL_STATES
#define IN_BLOCKS 1
enum { BLOCK = N < 8 ? N : 8, LAST_BLOCK = N % BLOCK };
#define WHOLE_BLOCKS(at) ROLL for (int at = 0; at + BLOCK <= N; at += BLOCK)
#define BLOCK_STATES(b, size) UNROLL for (int b = 0; b < size; b++)
#else
#define IN_BLOCKS 0
#endif

// Base plus scale times a sum, which there is or not; without a base that alone.
INLINE real stages_sum_on(const SPACE real *base, int j, real scale, real sum, int begun) {
    return !begun ? base ? base[j] : sum : base ? r_fma(scale, sum, base[j]) : scale * sum;
}

#if IN_BLOCKS
INLINE void stages_add_block(const SPACE real *base, SPACE real (*k)[N], const TABLE elem *weights,
                             real scale, int count, SPACE real *out, int at, const int size) {
    real sum[BLOCK];
    int begun = 0;
    BLOCK_STATES(b, size) sum[b] = R(0);
    ROLL for (int q = 0; q < count; q++) {
        if (weights[q] == 0)
            continue;
        real weight = R(weights[q]);
        if (begun)
            BLOCK_STATES(b, size) sum[b] = r_fma(weight, k[q][at + b], sum[b]);
        else
            BLOCK_STATES(b, size) sum[b] = k[q][at + b];
        begun = 1;
    }
    BLOCK_STATES(b, size) out[at + b] = stages_sum_on(base, at + b, scale, sum[b], begun);
}
#endif

#if STATE_BY_STATE
INLINE real stages_add_to(const SPACE real *base, SPACE real (*k)[N], const TABLE elem *weights,
                          real scale, int count, int j) {
    real sum = R(0);
    int begun = 0;
    UNROLL for (int q = 0; q < count; q++) {
        if (weights[q] == 0)
            continue;
        sum = begun ? r_weigh(weights[q], k[q][j], sum) : k[q][j];
        begun = 1;
    }
    return stages_sum_on(base, j, scale, sum, begun);
}
#endif

// Sets out to base plus scale times the sum of the weighted stages, or without a base to that
// alone. Stages are summed before they are added to the state, which is rounded once that way.
// Weights are relative to the first that is not 0, which is part of the scale.
INLINE void stages_add(const SPACE real *base, SPACE real (*k)[N], const TABLE elem *weights,
                       real scale, int count, SPACE real *out) {
#if STATE_BY_STATE
    STATES(j, 0) out[j] = stages_add_to(base, k, weights, scale, count, j);
#elif IN_BLOCKS
    WHOLE_BLOCKS(at) stages_add_block(base, k, weights, scale, count, out, at, BLOCK);
    if (LAST_BLOCK)
        stages_add_block(base, k, weights, scale, count, out, N - LAST_BLOCK, LAST_BLOCK);
#else
    int begun = 0;
    STAGE_LOOP(q, count) {
        if (weights[q] == 0)
            continue;
        real weight = R(weights[q]);
        if (begun)
            STATES(j, 0) out[j] = r_fma(weight, k[q][j], out[j]);
        else
            STATES(j, 0) out[j] = k[q][j];
        begun = 1;
    }
    STATES(j, 0) out[j] = stages_sum_on(base, j, scale, begun ? out[j] : R(0), begun);
#endif
}

// A solution is the start of its step and the way from there. Compensated, y1 has the way alone at
// first (BASE_OF is no start), and what was lost before goes with it.
#if COMPENSATED
#define BASE_OF(x) 0
#define SOLUTION(x, s)                                                                             \
    STATES(j, 0) {                                                                                 \
        real way = (s)->y1[j] + (x)->low[j], from = (x)->y[j];                                     \
        (s)->y1[j] = from + way;                                                                   \
        (s)->low1[j] = way - ((s)->y1[j] - from);                                                  \
    }
#else
#define BASE_OF(x) (x)->y
#define SOLUTION(x, s)
#endif
