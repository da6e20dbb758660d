// SPDX-License-Identifier: MIT
// Summaries watch trajectories: what a run, or each window of it, comes to.
//
// Every step that counts is looked at by its interpolant, and changes nothing. The part of it that
// lies in the window of a lane is a stretch. For calls that look at values a stretch is cut where
// an expression turns, so that it is monotone in each segment; the turns are looked for between
// nodes, by the sign of its slope. For calls that are integrals there are Gauss points. A call has
// a few numbers of its own in a lane, and functions in a file of kernels/summary:
//     void NAME_begin(SUMMARY_BEGIN)        the window of the lanes `on` begins
//     void NAME_segment(SUMMARY_SEGMENT)    a segment of the lanes x->on, or
//     void NAME_point(SUMMARY_POINT)        a point with its share of the time, or
//     void NAME_fired(SUMMARY_FIRED)        an event happens in the lanes `on`
//     real NAME_value(SUMMARY_VALUE)        what it comes to after a time of `length`
//     mask NAME_turns(SUMMARY_TURNS)        whether turns in a stretch, with that outlook, matter
// What the generator writes is which calls there are, on which expressions.

// A part of a step in which an expression does not turn: from and to as parts of the step, values,
// and times since the window began.
struct segment {
    real from, to, v0, v1, t0, t1;
    mask on;
};

struct stretch {
    real from, to, t0, t1;
    real origin; // time since the window began at the start of the step
    mask on;
};

// What an expression may come to inside a stretch, which may be less or more than at its ends only
// where it turns, and whether it may do that. What it is at the ends lies between two values.
struct outlook {
    real low, high, least, most;
    mask bent;
};

// A call: expression, first of its numbers, direction of crossings, and array where it has its own.
struct call {
    int expression, number, way, array;
};
enum { WAY_BOTH, WAY_RISING, WAY_FALLING };

INLINE struct call call_of(int expression, int number, int way, int array) {
    struct call c;
    c.expression = expression;
    c.number = number;
    c.way = way;
    c.array = array;
    return c;
}

#define SUMMARY_BEGIN                                                                              \
    const struct shoal_args *a, struct group *g, real *m, mask on, const struct call c
#define SUMMARY_SEGMENT                                                                            \
    const struct shoal_args *a, struct group *g, const struct trial *s, const struct segment *x,   \
        real *m, const struct call c
#define SUMMARY_TURNS                                                                              \
    const struct shoal_args *a, const struct outlook *o, const real *m, const struct call c
#define SUMMARY_POINT real v, real weight, mask on, real *m
#define SUMMARY_FIRED mask on, real *m
#define SUMMARY_VALUE                                                                              \
    const struct shoal_args *a, const struct group *g, real length, const real *m,                 \
        const struct call c

// ---- Arrays -------------------------------------------------------------------------------------

INLINE u64 summary_place(const struct shoal_args *a, const struct group *g, int i, int array,
                         u32 window, u64 item) {
    u64 element = a->slots[2 * array] + (u64)window * a->slots[2 * array + 1] + item;
    return element * a->head.rows + g->row[i];
}

// All that an array has for the window of lane i.
INLINE void summary_fill(const struct shoal_args *a, const struct group *g, int i, int array,
                         elem value) {
    ROLL for (u64 k = 0; k < a->slots[2 * array + 1]; k++)
        a->summary[summary_place(a, g, i, array, g->summary.window[i], k)] = value;
}

// Fills arrays of the lanes whose window has just begun, where `count` is -1, and sets that to 0.
// This waits for the first step, since lanes may begin that have no row of their own.
INLINE void summary_clear(const struct shoal_args *a, const struct group *g, int array, int arrays,
                          real *count, mask on, real value) {
    u32 lanes = m_lanes(m_and(on, r_lt(*count, R(0))));
    for (int i = 0; i < W; i++)
        for (int k = 0; (lanes >> i & 1) && k < arrays; k++)
            summary_fill(a, g, i, array + k, LANE(value, i));
    *count = select(m_of_lanes(lanes), R(0), *count);
}

// By how much moments may be apart that are meant to be one, where somebody makes moments.
#if WATCH_STEERS
#define summary_width(g, t) t_width(t, (g)->t0)
#else
#define summary_width(g, t) R(0)
#endif

// The lanes whose window has begun at a time that their step reaches.
INLINE mask summary_begun(const struct group *g, treal t, u32 lanes) {
    real since = t_diff(t, g->summary.begin) * g->dir;
    return m_and(m_of_lanes(lanes), r_ge(since, -summary_width(g, t)));
}

// The lanes of `on` that begin their first window. What was before any other one is known.
INLINE mask summary_opens(const struct group *g, mask on) {
    u32 lanes = 0;
    for (int i = 0; i < W; i++)
        lanes |= (u32)(g->summary.window[i] == 0) << i;
    return m_and(on, m_of_lanes(lanes));
}

// ---- Sums ---------------------------------------------------------------------------------------

// A sum of many terms: m[0] and, in f32, what has to be taken from it since it was rounded. A
// million of them would else be off by a hundredth.
INLINE void summary_sum_begin(real *m, mask on) {
    UNROLL for (int i = 0; i < 2; i++) m[i] = select(on, R(0), m[i]);
}

#if F32
INLINE void summary_add_rest(real *m, real more, mask on) { // less what has to be taken
    real sum = m[0] + more, off = (sum - m[0]) - more;
    m[1] = select(on, select(r_lt(r_abs(off), R(INFINITY_VALUE)), off, R(0)), m[1]);
    m[0] = select(on, sum, m[0]);
}
INLINE void summary_add(real *m, real more, mask on) { summary_add_rest(m, more - m[1], on); }
INLINE void summary_add_product(real *m, real v, real weight, mask on) {
    summary_add_rest(m, r_fms(v, weight, m[1]), on);
}
#else
INLINE void summary_add(real *m, real more, mask on) { m[0] = select(on, m[0] + more, m[0]); }
INLINE void summary_add_product(real *m, real v, real weight, mask on) {
    m[0] = select(on, r_fma(v, weight, m[0]), m[0]);
}
#endif

// ---- Squares ------------------------------------------------------------------------------------

// What is squared is made of the value and a power of two, the unit, that follows the largest value
// so far: the squares of 1e160 and 1e-170 are beyond numbers. Bits are those of plain squares. Much
// smaller values count for nothing beside the largest.
#if F32
#define UNIT_FIRST 0x1p120 // for what is near 0
#define UNIT_REACH 0x1p32  // values in a unit are below that
#else
#define UNIT_FIRST 0x1p1000
#define UNIT_REACH 0x1p256
#endif

INLINE void summary_unit_begin(real *unit, mask on) { *unit = select(on, R(UNIT_FIRST), *unit); }

// Lanes in which a value needs another unit.
INLINE mask summary_outgrown(real unit, real v, mask on) {
    return m_and(on, r_ge(r_abs(v) * unit, R(UNIT_REACH)));
}

// Takes the unit of v in the lanes `on`; returns what values in the one before are multiplied by.
INLINE real summary_unit_of(real *unit, real v, mask on) {
    real power = r_of_bits((r_bits(r_abs(v)) >> MANTISSA) << MANTISSA);
    power = r_max(r_min(power, R(UNIT_FIRST)), R(1 / UNIT_FIRST));
    real before = *unit;
    *unit = select(on, R(1) / power, before);
    return *unit / before;
}

// ---- Expressions in a step ----------------------------------------------------------------------

INLINE real summary_moment(const struct group *g, const struct trial *s, real theta) {
    return select(r_eq(theta, R(1)), t_real(s->t_new), t_at(g->x.t, theta * s->h));
}

#if SUMMARY_JUMPS
// An expression may jump where a stretch ends: it has not there, and has where the next one begins,
// which may be another window's, or go on from other states. At the end of a run it is what it is.
INLINE real summary_time(const struct group *g, const struct trial *s, real theta) {
    return r_min(r_max(summary_moment(g, s, theta), g->summary.least), g->summary.most);
}

INLINE void summary_keep(struct group *g, const struct trial *s, treal from, treal to, u32 lanes) {
    real first = t_real(from), last = t_real(to);
    real off = R(2 * EPSILON) * r_max(r_abs(last), r_abs(s->h)) * g->dir;
    mask before = r_gt(t_diff(g->t1, to) * g->dir, t_width(to, g->t0));
    last = select(before, last - off, last);
    last = select(r_lt((last - first) * g->dir, R(0)), first, last);
    mask some = m_of_lanes(lanes);
    g->summary.least = select(some, r_min(first, last), g->summary.least);
    g->summary.most = select(some, r_max(first, last), g->summary.most);
}
#else
#define summary_time summary_moment
#define summary_keep(g, s, from, to, lanes)
#endif

INLINE void summary_state_at(const struct group *g, const struct trial *s, real theta,
                             SPACE real *y) {
    mask end = r_eq(theta, R(1));
    dense_at(g, s, theta, y);
    STATES(j, 0) y[j] = select(end, s->y1[j], y[j]);
}

// Of a state's interpolant: its slope at the start of a step, at the end and in the middle, the
// value there, and the mean value. All are sums of stages with weights that are known. Where the
// last stage is the slope at the end it is taken as it is.
enum { PLAIN_START, PLAIN_END, PLAIN_MIDDLE_SLOPE, PLAIN_MIDDLE, PLAIN_MEAN };

#if CENTRED
INLINE elem plain_weight(int q, int what) {
    elem mean = 0, power = 1; // of 1/2
    UNROLL for (int d = 0; d <= DEGREE; d += 2) {
        mean += dense_coefficient(q, d) * power / (elem)(d + 1);
        power /= 4;
    }
    return what == PLAIN_START          ? q == 0
           : what == PLAIN_MIDDLE_SLOPE ? dense_coefficient(q, 1)
           : what == PLAIN_MIDDLE       ? dense_coefficient(q, 0)
                                        : mean;
}
#elif DEGREE
INLINE elem plain_weight(int q, int what) {
    elem weight = 0, power = 1; // of 1/2
    UNROLL for (int i = 0; i < DEGREE; i++) {
        elem n = (elem)(i + 1), p = rk_p[q][i];
        weight += what == PLAIN_START          ? (i ? 0 : p)
                  : what == PLAIN_END          ? p * n
                  : what == PLAIN_MIDDLE_SLOPE ? p * n * power
                  : what == PLAIN_MIDDLE       ? p * power / 2
                                               : p / (n + 1);
        power /= 2;
    }
    return weight;
}
#endif

INLINE real plain_sum(const struct group *g, const struct trial *s, int j, int what) {
    int is_slope = what < PLAIN_MIDDLE;
#if DEGREE
    real sum = R(0);
    int begun = 0;
#if FSAL && !IMPLICIT
    if (what == PLAIN_END)
        return s->h * LAST_SLOPE(s, j);
#endif
    UNROLL for (int q = 0; q < STAGES + EXTRA; q++) {
        elem weight = plain_weight(q, what);
        if (weight == 0)
            continue;
        sum = begun         ? r_weigh(weight, s->k[q][j], sum)
              : weight == 1 ? s->k[q][j]
                            : R(weight) * s->k[q][j];
        begun = 1;
    }
#if !IMPLICIT
    return is_slope ? s->h * sum : r_fma(s->h, sum, g->x.y[j]);
#else
    return is_slope ? sum : g->x.y[j] + sum;
#endif
#else
    real a = s->h * s->k[0][j], b = s->h * s->f1[j], change = s->y1[j] - g->x.y[j];
    real mid = r_fma(change, R(0.5), g->x.y[j]);
    return what == PLAIN_START          ? a
           : what == PLAIN_END          ? b
           : what == PLAIN_MIDDLE_SLOPE ? r_fma(a + b, R(-0.25), change * R(1.5))
           : what == PLAIN_MIDDLE       ? r_fma(a - b, R(0.125), mid)
                                        : r_fma(a - b, R(1.0 / 12), mid);
#endif
}

// The interpolant of a state in a step: coefficients of the powers of theta, or of theta - 1/2
// where the method's rows are centred, ascending.
#if !DEGREE
#define DENSE_POWER(theta) (theta)
#endif
#define CURVE_TERMS (DEGREE ? DEGREE + 1 : 4)
struct curve {
    real c[CURVE_TERMS];
};

INLINE struct curve curve_of(const struct group *g, const struct trial *s, int j) {
    struct curve x;
    x.c[0] = g->x.y[j];
#if DEGREE
    UNROLL for (int i = CENTRED ? 0 : 1; i <= DEGREE; i++) {
        real sum = R(0);
        UNROLL for (int q = 0; q < STAGES + EXTRA; q++) {
            if (dense_coefficient(q, i) != 0)
                sum = r_fma(R(dense_coefficient(q, i)), s->k[q][j], sum);
        }
#if IMPLICIT // there a stage is a difference of states
        x.c[i] = sum;
#else
        x.c[i] = i ? s->h * sum : r_fma(s->h, sum, g->x.y[j]);
#endif
    }
#else
    real change = s->y1[j] - g->x.y[j], a = s->h * s->k[0][j], b = s->h * s->f1[j];
    x.c[1] = a;
    x.c[2] = R(3) * change - R(2) * a - b;
    x.c[3] = a + b - R(2) * change;
#endif
    return x;
}

INLINE real curve_at(const struct curve *x, real theta) {
    real v = x->c[CURVE_TERMS - 1];
    real power = DENSE_POWER(theta);
    UNROLL for (int i = CURVE_TERMS - 2; i >= 0; i--) v = r_fma(v, power, x->c[i]);
    return v;
}

INLINE real curve_slope(const struct curve *x, real theta) {
    real d = x->c[CURVE_TERMS - 1] * R(CURVE_TERMS - 1);
    real power = DENSE_POWER(theta);
    UNROLL for (int i = CURVE_TERMS - 2; i >= 1; i--) d = r_fma(d, power, x->c[i] * R(i));
    return d;
}

INLINE real curve_bend(const struct curve *x, real theta) {
    real d = x->c[CURVE_TERMS - 1] * R((CURVE_TERMS - 1) * (CURVE_TERMS - 2));
    real power = DENSE_POWER(theta);
    UNROLL for (int i = CURVE_TERMS - 2; i >= 2; i--) d = r_fma(d, power, x->c[i] * R(i * (i - 1)));
    return d;
}

// At the start of the step.
INLINE real curve_first(const struct curve *x) { return CENTRED ? curve_at(x, R(0)) : x->c[0]; }
INLINE real curve_first_slope(const struct curve *x) {
    return CENTRED ? curve_slope(x, R(0)) : x->c[1];
}

#ifdef SUMMARY_GAUSS
// The mean value of a state in a stretch, which is exact.
INLINE real plain_mean(const struct group *g, const struct trial *s, const struct stretch *x, int j,
                       int whole) {
    if (whole)
        return plain_sum(g, s, j, PLAIN_MEAN);
    struct curve y = curve_of(g, s, j);
    real sum = R(0);
#define X(at, weight)                                                                              \
    sum = r_fma(curve_at(&y, r_fma(x->to - x->from, R(at), x->from)), R(weight), sum);
    SUMMARY_GAUSS(X)
#undef X
    return sum;
}
#endif

INLINE void summary_look_then(struct group *g, const struct trial *s, real theta, real t, real *v) {
    SPARE(y, N, s->spare[2]);
    summary_state_at(g, s, theta, y);
    summary_values(t, y, g->p, v);
}

INLINE void summary_look(struct group *g, const struct trial *s, real theta, real *v) {
    summary_look_then(g, s, theta, summary_time(g, s, theta), v);
}

// How much states may be off at the end of a step, times ten: by their tolerance, or with fixed
// steps by their rounding.
INLINE void state_noises(const struct shoal_args *a, const struct trial *s, SPACE real *d) {
#if ADAPTIVE
    real rtol = R(a->control[CONTROL_RTOL]);
    STATES(j, 0) d[j] = R(10) * r_fma(rtol, r_abs(s->y1[j]), R(a->atol[j]));
#else
    STATES(j, 0) d[j] = R(100 * EPSILON) * r_abs(s->y1[j]);
#endif
}

#if SUMMARY_PIECES
// Between which values an expression was, in the window so far.
#define SUMMARY_LOW(g, e) (g)->summary.of[SUMMARY_SPANS + 2 * (e)]
#define SUMMARY_HIGH(g, e) (g)->summary.of[SUMMARY_SPANS + 2 * (e) + 1]

INLINE void summary_unspanned(struct group *g, mask on) {
    UNROLL for (int e = 0; e < SUMMARY_EXPRESSIONS; e++) {
        SUMMARY_LOW(g, e) = select(on, R(INFINITY_VALUE), SUMMARY_LOW(g, e));
        SUMMARY_HIGH(g, e) = select(on, R(-INFINITY_VALUE), SUMMARY_HIGH(g, e));
    }
}

// Returns the span with what was seen now.
INLINE real summary_span(struct group *g, int e, real low, real high, mask on) {
    SUMMARY_LOW(g, e) = select(on, r_min(low, SUMMARY_LOW(g, e)), SUMMARY_LOW(g, e));
    SUMMARY_HIGH(g, e) = select(on, r_max(high, SUMMARY_HIGH(g, e)), SUMMARY_HIGH(g, e));
    return SUMMARY_HIGH(g, e) - SUMMARY_LOW(g, e);
}
#else
#define summary_unspanned(g, on)
#endif

#if !SUMMARY_RIDGES
#define summary_doubt(a, g, s, on)
#define summary_trust(g)
#endif

#if SUMMARY_SEGMENTED
#if ADAPTIVE && defined SUMMARY_RIPPLE
// How far the interpolant of a state is from the cubic with the same ends.
INLINE real curve_apart(const struct curve *x, real theta) {
    real d0 = curve_first_slope(x), d1 = curve_slope(x, R(1)), one = R(1) - theta;
    real first = curve_first(x), change = curve_at(x, R(1)) - first;
    real bend = r_fma(one, d0 - change, theta * (change - d1));
    return r_abs(first + theta * change + theta * one * bend - curve_at(x, theta));
}

// A state at rest, whose steps stability holds down, ripples by some hundred tolerances. A step is
// then longer than such a motion takes: the slope changes by more than the state ever moves, and
// other interpolants are as far away. What is smaller than a hundred noises must stand out from
// that as well, where steps are more than a third of a period long. Elsewhere it must from the
// wiggle of the interpolant between ends that are right, which its last coefficient shows.
INLINE real state_ripple(const struct group *g, const struct trial *s, int j, real noise) {
    struct curve x = curve_of(g, s, j);
    real first = curve_first_slope(&x), last = curve_slope(&x, R(1)),
         middle = curve_slope(&x, R(0.5));
    real bend = r_abs(first + last - middle - middle);
    real steepest = r_at_least(r_abs(middle), r_at_least(r_abs(first), r_abs(last)));
    real apart = r_at_least(curve_apart(&x, R(0.5)), curve_apart(&x, R(0.83)));
    real ripple = r_fma(r_abs(last - first) + bend, R(SUMMARY_RIPPLE), apart * R(4));
    real wiggle = r_abs(x.c[CURVE_TERMS - 1]) * R(SUMMARY_WIGGLE);
    ripple = select(r_gt(bend, steepest * R(1.2)), ripple, wiggle);
    return r_at_most(ripple, R(100) * noise);
}
#else
#define state_ripple(g, s, j, noise) R(0)
#endif

#if SUMMARY_RIDGES
// By how much an expression must rise and fall to count as moving: by more than this step may be
// off, and than ripples lately, which fade. Those of steps before a window count as well.
#define SUMMARY_DOUBT(g, e) (g)->summary.of[SUMMARY_DOUBTS + 2 * (e)]
#define SUMMARY_RIPPLES(g, e) (g)->summary.of[SUMMARY_DOUBTS + 2 * (e) + 1]

INLINE void summary_doubt(const struct shoal_args *a, struct group *g, const struct trial *s,
                          mask on) {
    real noise[SUMMARY_EXPRESSIONS], out[SUMMARY_EXPRESSIONS];
    SPARE(d, N, s->spare[1]);
    state_noises(a, s, d);
    summary_sways(t_real(s->t_new), s->y1, d, g->p, R(0), noise);
    STATES(j, 0) d[j] = state_ripple(g, s, j, d[j]);
    summary_sways(t_real(s->t_new), s->y1, d, g->p, R(0), out);
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
        real ripple = select(r_lt(out[e], R(INFINITY_VALUE)), out[e], R(0));
        ripple = r_max(ripple, SUMMARY_RIPPLES(g, e) * R(0.996));
        SUMMARY_RIPPLES(g, e) = select(on, ripple, SUMMARY_RIPPLES(g, e));
        SUMMARY_DOUBT(g, e) = select(on, r_max(noise[e], ripple), SUMMARY_DOUBT(g, e)); // or NaN
    }
}

INLINE void summary_trust(struct group *g) {
    UNROLL for (int k = 0; k < 2 * SUMMARY_SEGMENTED; k++) g->summary.of[SUMMARY_DOUBTS + k] = R(0);
}
#endif

INLINE void summary_look_slopes(struct group *g, const struct trial *s, real theta, real *d) {
    SPARE(y, N, s->spare[2]);
    SPARE(slope, N, s->spare[1]);
    summary_state_at(g, s, theta, y);
    dense_slope(g, s, theta, slope);
    summary_slopes(summary_time(g, s, theta), y, slope, g->p, s->h, d);
}

INLINE real summary_value_at(struct group *g, const struct trial *s, real theta, int e) {
    real v[SUMMARY_EXPRESSIONS];
    summary_look(g, s, theta, v);
    return v[e];
}

// The same where somebody asks for that very moment: of what jumps there what it is then.
INLINE real summary_value_then(struct group *g, const struct trial *s, real theta, int e) {
    real v[SUMMARY_EXPRESSIONS];
    summary_look_then(g, s, theta, summary_moment(g, s, theta), v);
    return v[e];
}

// The larger and the smaller of two values. States are finite, and then the controllers' forms do;
// which 0 they return of two is open, so that a result has 0 added. What is not a number stays.
#if SUMMARY_PLAIN
#define summary_larger(a, b) r_at_least(a, b)
#define summary_smaller(a, b) r_at_most(a, b)
#else
#define summary_larger(a, b) r_model_max(a, b)
#define summary_smaller(a, b) r_model_min(a, b)
#endif

// ---- Roots --------------------------------------------------------------------------------------

enum { ROOT_PASSES = 60 };

// An expression in a step, for those who look at it often: of a state its interpolant, and else
// nothing.
struct sight {
    int e;
#if SUMMARY_PLAIN
    struct curve y;
#endif
};

INLINE struct sight sight_of(const struct group *g, const struct trial *s, int e) {
    struct sight x;
    x.e = e;
#if SUMMARY_PLAIN
    x.y = curve_of(g, s, summary_state_of(e));
#endif
    return x;
}

INLINE real sight_value(const struct sight *x, struct group *g, const struct trial *s, real theta) {
#if SUMMARY_PLAIN
    real end = s->y1[summary_state_of(x->e)], v = curve_at(&x->y, theta);
#if CENTRED // which begins a rounding off the state
    v = select(r_eq(theta, R(0)), g->x.y[summary_state_of(x->e)], v);
#endif
    return select(r_eq(theta, R(1)), end, v);
#else
    return summary_value_at(g, s, theta, x->e);
#endif
}

INLINE real sight_slope(const struct sight *x, struct group *g, const struct trial *s, real theta) {
#if SUMMARY_PLAIN
    return curve_slope(&x->y, theta);
#else
    real d[SUMMARY_EXPRESSIONS];
    summary_look_slopes(g, s, theta, d);
    return d[x->e];
#endif
}

#if SUMMARY_PLAIN
// Behind a step of Newton's method that is this short nothing is left to do.
#define NEWTON_SHORT (F32 ? 1e-3 : 1e-8)

// Where a state has the level, or (turn) its slope is 0, between two parts of the step at which
// that has different signs, f and h: Newton's method where it stays between them, which a rough
// reciprocal costs a few bits of each step, else the middle. Where f is 0 that is the first. Lanes
// that are not in `on` have no meaning.
INLINE real summary_root(struct group *g, const struct trial *s, const struct sight *x, int turn,
                         real level, real low, real high, real f, real h, mask on) {
    real share = r_abs(f) * r_reciprocal_rough(r_abs(f) + r_abs(h));
    real at = r_at_least(low, r_at_most(r_fma(high - low, share, low), high));
    real up = select(r_lt(f, R(0)), R(1), R(-1));
    mask todo = m_and(on, r_ne(f, R(0))); // there the interpolant may be off to either side
    ROLL for (int pass = 0; pass < ROOT_PASSES && any(todo); pass++) {
        real v = up * (turn ? curve_slope(&x->y, at) : curve_at(&x->y, at) - level);
        real d = up * (turn ? curve_bend(&x->y, at) : curve_slope(&x->y, at));
        mask upper = r_gt(v, R(0)), lower = r_lt(v, R(0));
        high = select(upper, at, high);
        low = select(lower, at, low);
        real next = r_fnma(v, r_reciprocal_rough(d), at);
        mask inside = m_and(r_lt(low, next), r_lt(next, high));
        if (pass > 8 && (pass & 1)) // it does not get there
            inside = m_of_lanes(0);
        next = select(inside, next, r_fma(high - low, R(0.5), low));
        todo = m_and(todo, m_or(upper, lower));
        real move = r_abs(next - at);
        at = select(todo, next, at);
        todo = m_and(todo, r_gt(move, select(inside, R(NEWTON_SHORT), R(EPSILON))));
    }
    return at;
}
#else
// Where an expression has the level, or (turn) its slope is 0, between two parts of the step at
// which that has different signs, f and h: the secant with Illinois' halving, and now and then the
// middle. Lanes that are not in `on` have no meaning.
INLINE real summary_root(struct group *g, const struct trial *s, const struct sight *x, int turn,
                         real level, real low, real high, real f, real h, mask on) {
    real at = low, side = R(0);
    mask todo = m_and(on, r_ne(f, R(0)));
    ROLL for (int pass = 0; pass < ROOT_PASSES && any(todo); pass++) {
        real middle = r_fma(high - low, R(0.5), low), next = low - f * ((high - low) / (h - f));
        mask inside = m_and(r_lt(low, next), r_lt(next, high));
        next = pass > 8 && pass % 3 == 0 ? middle : select(inside, next, middle);
        real v = turn ? sight_slope(x, g, s, next) : sight_value(x, g, s, next) - level;
        mask upper = m_or(m_and(r_gt(v, R(0)), r_gt(h, R(0))), m_and(r_lt(v, R(0)), r_lt(h, R(0))));
        mask near = r_le(r_abs(next - at), R(2 * EPSILON) * r_max(next, R(0.01)));
        at = select(todo, next, at);
        f = select(m_and(upper, r_gt(side, R(0))), f * R(0.5), f);
        h = select(m_andnot(r_lt(side, R(0)), upper), h * R(0.5), h);
        side = select(upper, R(1), R(-1));
        high = select(upper, next, high);
        h = select(upper, v, h);
        low = select(upper, low, next);
        f = select(upper, f, v);
        todo = m_andnot(todo, m_or(near, m_or(r_eq(v, R(0)), r_ne(v, v))));
    }
    return at;
}
#endif

// Where a segment that goes across a level has it.
INLINE real summary_crossing(struct group *g, const struct trial *s, const struct segment *x, int e,
                             real level, mask on) {
    struct sight y = sight_of(g, s, e);
    return summary_root(g, s, &y, 0, level, x->from, x->to, x->v0 - level, x->v1 - level, on);
}

// The time since the window began at a part of the step that lies in the segment.
INLINE real summary_since(const struct group *g, const struct trial *s, const struct segment *x,
                          real theta) {
    real t = r_fma(theta, s->h, t_diff(g->x.t, g->summary.begin));
    return select(r_ge(theta, x->to), x->t1, select(r_le(theta, x->from), x->t0, t));
}

// Whether a turn may be more, or less, than the ends and all values so far.
INLINE mask summary_exceeds(const struct outlook *o, real so_far) {
    return r_gt(o->high, summary_larger(so_far, o->most));
}
INLINE mask summary_falls_below(const struct outlook *o, real so_far) {
    return r_lt(o->low, summary_smaller(so_far, o->least));
}

// ---- Crossings ----------------------------------------------------------------------------------

// Whether v has another sign than the last that was not 0, which is kept; in one direction or both.
INLINE mask summary_turned(real *last, real v, mask on, int way) {
    mask up = r_gt(v, R(0)), down = r_lt(v, R(0));
    mask rises = m_and(up, r_lt(*last, R(0))), falls = m_and(down, r_gt(*last, R(0)));
    *last = select(m_and(on, up), R(1), select(m_and(on, down), R(-1), *last));
    mask turned = way == WAY_RISING ? rises : way == WAY_FALLING ? falls : m_or(rises, falls);
    return m_and(on, turned);
}

INLINE mask summary_between(const struct shoal_args *a, const struct outlook *o,
                            const struct call c) {
    real level = R(a->levels[2 * c.number]);
    mask below = m_or(r_lt(o->low, level), r_lt(o->least, level));
    mask above = m_or(r_gt(o->high, level), r_gt(o->most, level));
    return m_and(o->bent, m_and(below, above));
}

// Whether the value before a segment and that at its start lie on two sides.
INLINE mask summary_jumped(const struct segment *x, real *last, real level, int way) {
    return summary_turned(last, x->v0 - level, x->on, way);
}

// Whether a segment goes across, and when.
INLINE mask summary_across(struct group *g, const struct trial *s, const struct segment *x,
                           real *last, real level, const struct call c, real *t) {
    mask turned = summary_turned(last, x->v1 - level, x->on, c.way);
    *t = x->t1;
    if (any(turned))
        *t = summary_since(g, s, x, summary_crossing(g, s, x, c.expression, level, turned));
    return turned;
}

// ---- Maxima that stand out ----------------------------------------------------------------------

// A maximum counts when the value has risen to it, and fallen behind it, by more than a thousandth
// of the range so far, and than there is doubt about it. Kept are the range, the candidate and its
// time, the lowest value since, and whether it rises (1), falls (-1), or nothing is known (0).
enum { RIDGE_LOW, RIDGE_HIGH, RIDGE_VALUE, RIDGE_TIME, RIDGE_LEAST, RIDGE_WAY, RIDGE_ROOM };

INLINE void ridge_begin(real *m, mask on) {
    m[RIDGE_LOW] = select(on, R(INFINITY_VALUE), m[RIDGE_LOW]);
    m[RIDGE_LEAST] = select(on, R(INFINITY_VALUE), m[RIDGE_LEAST]);
    m[RIDGE_HIGH] = select(on, R(-INFINITY_VALUE), m[RIDGE_HIGH]);
    m[RIDGE_VALUE] = select(on, R(-INFINITY_VALUE), m[RIDGE_VALUE]);
    m[RIDGE_TIME] = select(on, R(0), m[RIDGE_TIME]);
    m[RIDGE_WAY] = select(on, R(0), m[RIDGE_WAY]);
}

// Returns where the candidate turns out to be one.
INLINE mask ridge_see(real *m, real v, real t, real doubt, mask on) {
    m[RIDGE_LOW] = select(on, r_min(v, m[RIDGE_LOW]), m[RIDGE_LOW]);
    m[RIDGE_HIGH] = select(on, r_max(v, m[RIDGE_HIGH]), m[RIDGE_HIGH]);
    real range = m[RIDGE_HIGH] - m[RIDGE_LOW];
    real enough = r_max(doubt, range * R(1e-3));
    mask falls = m_and(on, r_lt(m[RIDGE_WAY], R(0)));
    m[RIDGE_LEAST] = select(on, r_min(v, m[RIDGE_LEAST]), m[RIDGE_LEAST]);
    mask risen = m_and(on, r_gt(v, m[RIDGE_LEAST] + enough));
    risen = m_andnot(risen, r_gt(m[RIDGE_WAY], R(0)));
    mask higher = m_or(risen, m_andnot(m_and(on, r_gt(v, m[RIDGE_VALUE])), falls));
    m[RIDGE_VALUE] = select(higher, v, m[RIDGE_VALUE]);
    m[RIDGE_TIME] = select(higher, t, m[RIDGE_TIME]);
    mask fallen = m_andnot(m_and(on, r_lt(v, m[RIDGE_VALUE] - enough)), m_or(falls, risen));
    mask found = m_and(fallen, r_gt(m[RIDGE_WAY], R(0)));
    m[RIDGE_WAY] = select(risen, R(1), select(fallen, R(-1), m[RIDGE_WAY]));
    m[RIDGE_LEAST] = select(fallen, v, m[RIDGE_LEAST]);
    return found;
}

INLINE void ridge_clear(const struct shoal_args *a, const struct group *g, real *m,
                        const struct call c, mask on) {
    summary_clear(a, g, c.array, 2, &m[0], on, R(NAN_VALUE));
}

// Writes it to its place, if there is room.
INLINE void ridge_put(const struct shoal_args *a, struct group *g, real *m, const struct call c,
                      real v, mask found) {
    for (int i = 0; i < W; i++) {
        u64 n = (u64)LANE(m[0], i);
        if (!(m_lanes(found) >> i & 1) || n >= a->slots[2 * c.array + 1])
            continue;
        u32 window = g->summary.window[i];
        real t = t_at(g->summary.begin, m[1 + RIDGE_TIME]);
        a->summary[summary_place(a, g, i, c.array, window, n)] = LANE(v, i);
        a->summary[summary_place(a, g, i, c.array + 1, window, n)] = LANE(t, i);
    }
    m[0] = select(found, m[0] + R(1), m[0]);
}
#endif
