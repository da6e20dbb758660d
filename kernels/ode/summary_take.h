// SPDX-License-Identifier: MIT
// What summaries do with a step: see summary.h. Before it stand the functions of calls, the lists
// of them, and windows.

// ---- Stretches ----------------------------------------------------------------------------------

INLINE real summary_since_start(const struct stretch *x, const struct trial *s, real theta) {
    real t = r_fma(theta, s->h, x->origin);
    return select(r_eq(theta, x->to), x->t1, select(r_eq(theta, x->from), x->t0, t));
}

#if SUMMARY_SEGMENTED
INLINE real summary_node(const struct stretch *x, int i) {
    if (i == SUMMARY_NODES - 1)
        return x->to;
    return r_fma(x->to - x->from, R((elem)i / (SUMMARY_NODES - 1)), x->from);
}

// Whether an expression turns between two nodes, or at the second, by its slopes there.
INLINE mask summary_bends(real slope, real next) {
    return m_or(m_and(r_gt(slope, R(0)), r_le(next, R(0))),
                m_and(r_lt(slope, R(0)), r_ge(next, R(0))));
}

// An expression at the ends of a stretch: values, and slopes by the part of the stretch.
struct ends {
    real v0, v1, d0, d1;
};

#if SUMMARY_TIMED && !ALGEBRAIC
// The slope of an expression that the right-hand side says, by theta.
INLINE real summary_true_slope(struct group *g, const struct trial *s, real theta, int e) {
    SPARE(y, N, s->spare[2]);
    SPARE(slope, N, s->spare[1]);
    real d[SUMMARY_EXPRESSIONS], t = summary_time(g, s, theta);
    summary_state_at(g, s, theta, y);
    model_rhs(t, y, g->p, slope);
    STATES(j, 0) slope[j] = s->h * slope[j];
    summary_slopes(t, y, slope, g->p, s->h, d);
    return d[e];
}

// Where an expression turns, which the interpolant says to be `at`, between two parts of the step:
// its slope is of a lower order than its values, and that of the right-hand side is not. Where an
// expression bends sharply neither is 0, but they are the same.
INLINE real summary_turn(struct group *g, const struct trial *s, const struct sight *x, real low,
                         real high, real at, mask on) {
    const real apart = R(F32 ? 1e-2 : 1e-4);
    real bend = sight_slope(x, g, s, at + apart) - sight_slope(x, g, s, at - apart);
    real off = sight_slope(x, g, s, at) - summary_true_slope(g, s, at, x->e);
    real move = off * (R(2) * apart) / bend;
    mask small = r_lt(r_abs(move), R(0.1));
    real next = r_at_least(low, r_at_most(at + move, high));
    for (int i = 0; i < W; i++)
        g->extra[i] += m_lanes(on) >> i & 1;
    return select(m_and(on, small), next, at);
}
#else
#define summary_turn(g, s, x, low, high, at, on) (at)
#endif

// Segments of lanes for which an expression may turn in the stretch: a segment ends where the
// slopes of two nodes have other signs, and the last one where the stretch does.
INLINE void summary_walk(const struct shoal_args *a, struct group *g, const struct trial *s,
                         const struct stretch *x, int e, const struct ends *ends, mask on) {
    struct sight look = sight_of(g, s, e);
    struct segment y;
    real slope = ends->d0, start = x->from;
    y.to = x->from;
    y.v1 = ends->v0;
    y.t1 = x->t0;
    ROLL for (int i = 1; i <= SUMMARY_NODES; i++) {
        real to = x->to, v = ends->v1, next = ends->d1;
        y.on = on;
        if (i < SUMMARY_NODES) {
            real end = summary_node(x, i);
            if (i < SUMMARY_NODES - 1)
                next = sight_slope(&look, g, s, end) * (x->to - x->from);
            y.on = m_and(on, summary_bends(slope, next));
            if (any(y.on)) {
                to = summary_root(g, s, &look, 1, R(0), start, end, slope, next, y.on);
                to = summary_turn(g, s, &look, start, end, to, y.on);
                v = sight_value(&look, g, s, to);
            }
            start = end;
            slope = next;
        }
        if (!any(y.on))
            continue;
        y.from = y.to;
        y.v0 = y.v1;
        y.t0 = y.t1;
        y.to = select(y.on, to, y.to);
        y.v1 = select(y.on, v, y.v1);
        y.t1 = select(y.on, summary_since_start(x, s, to), y.t1);
        summary_segments(a, g, s, &y, e);
    }
}

#if SUMMARY_PLAIN
INLINE void plain_ends(struct group *g, const struct trial *s, const struct stretch *x, int e,
                       int whole, struct ends *y) {
    int j = summary_state_of(e);
    if (whole) {
        y->v0 = g->x.y[j];
        y->v1 = s->y1[j];
        y->d0 = plain_sum(g, s, j, PLAIN_START);
        y->d1 = plain_sum(g, s, j, PLAIN_END);
        return;
    }
    struct sight look = sight_of(g, s, e);
    real width = x->to - x->from;
    y->v0 = sight_value(&look, g, s, x->from);
    y->v1 = sight_value(&look, g, s, x->to);
    y->d0 = curve_slope(&look.y, x->from) * width;
    y->d1 = curve_slope(&look.y, x->to) * width;
}

// All is finite here, so that controllers' forms will do.
INLINE void outlook_end(struct outlook *o, const struct ends *y) {
    o->least = r_at_most(y->v0, y->v1);
    o->most = r_at_least(y->v0, y->v1);
    o->bent = m_or(r_lt(o->low, o->least), r_gt(o->high, o->most));
}

// A cubic lies between its ends and two more points, a third of the slopes away from them. Half of
// the slopes leave room for what is nearly one.
INLINE struct outlook outlook_of(const struct ends *y) {
    struct outlook o;
    real first = r_fma(y->d0, R(0.5), y->v0), second = r_fma(y->d1, R(-0.5), y->v1);
    o.low = r_at_most(first, second);
    o.high = r_at_least(first, second);
    outlook_end(&o, y);
    return o;
}

// Methods of high order take steps that are no longer nearly cubic, but their halves are.
INLINE struct outlook plain_outlook(struct group *g, const struct trial *s, const struct stretch *x,
                                    int e, int whole, const struct ends *y) {
#if DEGREE > 4
    struct ends first = *y, second = *y;
    int j = summary_state_of(e);
    if (whole) {
        first.v1 = plain_sum(g, s, j, PLAIN_MIDDLE);
        first.d1 = plain_sum(g, s, j, PLAIN_MIDDLE_SLOPE) * R(0.5);
    } else {
        struct sight look = sight_of(g, s, e);
        real width = x->to - x->from, middle = r_fma(width, R(0.5), x->from);
        first.v1 = sight_value(&look, g, s, middle);
        first.d1 = curve_slope(&look.y, middle) * width * R(0.5);
    }
    first.d0 = y->d0 * R(0.5);
    second.v0 = first.v1;
    second.d0 = first.d1;
    second.d1 = y->d1 * R(0.5);
    struct outlook a = outlook_of(&first), b = outlook_of(&second);
    a.low = r_at_most(r_at_most(a.low, b.low), first.v1);
    a.high = r_at_least(r_at_least(a.high, b.high), first.v1);
    outlook_end(&a, y);
    return a;
#else
    return outlook_of(y);
#endif
}
#else
// Slopes are looked at between the ends as well. Where those of the ends have two signs and so it
// turns, no value is beyond the tangent at the gentler one; else nothing is known.
INLINE void expression_outlooks(struct group *g, const struct trial *s, const struct stretch *x,
                                struct ends *y, struct outlook *o) {
    real v0[SUMMARY_EXPRESSIONS], v1[SUMMARY_EXPRESSIONS], d[SUMMARY_EXPRESSIONS];
    summary_look(g, s, x->from, v0);
    summary_look(g, s, x->to, v1);
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) y[e].d1 = R(0);
    UNROLL for (int i = 0; i < SUMMARY_NODES; i++) {
        summary_look_slopes(g, s, summary_node(x, i), d);
        UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
            real before = y[e].d1;
            y[e].d1 = d[e] * (x->to - x->from);
            if (i == 0)
                y[e].d0 = y[e].d1;
            mask bends = summary_bends(before, y[e].d1); // none is before the first
            o[e].bent = i ? m_or(o[e].bent, bends) : bends;
        }
    }
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
        real low = r_min(v0[e], v1[e]), high = r_max(v0[e], v1[e]);
        real reach = r_min(r_abs(y[e].d0), r_abs(y[e].d1));
        mask top = m_and(r_gt(y[e].d0, R(0)), r_lt(y[e].d1, R(0)));
        mask bottom = m_and(r_lt(y[e].d0, R(0)), r_gt(y[e].d1, R(0)));
        y[e].v0 = v0[e];
        y[e].v1 = v1[e];
        o[e].most = high;
        o[e].least = low;
        mask up = m_andnot(o[e].bent, bottom), down = m_andnot(o[e].bent, top);
        o[e].high = select(up, select(top, high + reach, R(INFINITY_VALUE)), high);
        o[e].low = select(down, select(bottom, low - reach, R(-INFINITY_VALUE)), low);
    }
}
#endif

// A stretch that is one segment.
INLINE void summary_one(const struct shoal_args *a, struct group *g, const struct trial *s,
                        const struct stretch *x, int e, const struct ends *y, mask on) {
    struct segment all;
    all.from = x->from;
    all.to = x->to;
    all.v0 = y->v0;
    all.v1 = y->v1;
    all.t0 = x->t0;
    all.t1 = x->t1;
    all.on = on;
    summary_segments(a, g, s, &all, e);
}

// Segments of an expression in a stretch: one where it does not turn, or where nobody needs to
// know.
INLINE void summary_cut(const struct shoal_args *a, struct group *g, const struct trial *s,
                        const struct stretch *x, int e, const struct ends *y,
                        const struct outlook *o) {
    mask walks = m_and(x->on, summary_turns(a, g, o, e));
    mask straight = m_andnot(x->on, walks);
    if (any(walks)) {
        summary_walk(a, g, s, x, e, y, walks);
        if (W == 1)
            return;
    }
    if (any(straight))
        summary_one(a, g, s, x, e, y, straight);
}

#if SUMMARY_PLAIN
INLINE void summary_cut_states(const struct shoal_args *a, struct group *g, const struct trial *s,
                               const struct stretch *x, int whole) {
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
        struct ends y;
        plain_ends(g, s, x, e, whole, &y);
        struct outlook o = plain_outlook(g, s, x, e, whole, &y);
        summary_cut(a, g, s, x, e, &y, &o);
    }
}
#endif
#endif

#if SUMMARY_PIECES
// How much expressions may be off in a step: by what its states may be, and by rounding. It is what
// is less at its end or in its middle, since a slope may have no bounds at one of them.
struct noises {
    real off[SUMMARY_EXPRESSIONS], rounding[SUMMARY_EXPRESSIONS];
    int known;
};

INLINE void summary_least_sways(struct group *g, real t, const SPACE real *y, const SPACE real *d,
                                real h, real *least) {
    real sway[SUMMARY_EXPRESSIONS];
    summary_sways(t, y, d, g->p, h, sway);
    UNROLL for (int e = 0; e < SUMMARY_EXPRESSIONS; e++) least[e] =
        select(r_lt(sway[e], least[e]), sway[e], least[e]);
}

// What rounding of the states and of the time makes of expressions, where that is less.
INLINE void summary_least_roundings(struct group *g, const struct trial *s, real t,
                                    const SPACE real *y, real *least) {
    SPARE(d, N, s->spare[1]);
    STATES(j, 0) d[j] = R(4 * EPSILON) * r_abs(s->y1[j]);
    summary_least_sways(g, t, y, d, R(2 * EPSILON) * r_abs(t), least);
}

INLINE void summary_noises(const struct shoal_args *a, struct group *g, const struct trial *s,
                           struct noises *x) {
    SPARE(y, N, s->spare[2]);
    SPARE(d, N, s->spare[1]);
    UNROLL for (int e = 0; e < SUMMARY_EXPRESSIONS; e++) x->off[e] = x->rounding[e] =
        R(INFINITY_VALUE);
    ROLL for (int i = 0; i < 2; i++) {
        real theta = R(i ? 0.5 : 1), t = summary_time(g, s, theta);
        summary_state_at(g, s, theta, y);
        state_noises(a, s, d);
        summary_least_sways(g, t, y, d, R(0), x->off);
        summary_least_roundings(g, s, t, y, x->rounding);
    }
    x->known = 1;
}

// The polynomial through five values, at 0.3 or at 0.7 (mirrored) of a piece.
INLINE real rough_curve(real v[7][SUMMARY_EXPRESSIONS], int mirrored, int e) {
    int a = mirrored ? 4 : 0, b = mirrored ? 3 : 1;
    real sum = r_fma(R(-0.308), v[a][e], R(0.616) * v[2][e]);
    sum = r_fma(R(0.8222176684690384), v[b][e], sum);
    sum = r_fma(R(-0.2622176684690384), v[4 - b][e], sum);
    return r_fma(R(0.132), v[4 - a][e], sum);
}

// Of the lanes in which expressions are `above` what they may be off, those in which that is not
// rounding where they are: elsewhere in the step they may not move.
INLINE mask summary_surely(struct group *g, const struct trial *s, real theta, const real *above,
                           mask rough) {
    SPARE(y, N, s->spare[2]);
    real rounding[SUMMARY_EXPRESSIONS];
    mask sure = m_of_lanes(0);
    summary_state_at(g, s, theta, y);
    UNROLL for (int e = 0; e < SUMMARY_EXPRESSIONS; e++) rounding[e] = R(INFINITY_VALUE);
    summary_least_roundings(g, s, summary_time(g, s, theta), y, rounding);
    UNROLL for (int e = 0; e < SUMMARY_EXPRESSIONS; e++) {
        real least = select(r_lt(rounding[e], R(INFINITY_VALUE)), rounding[e], R(0));
        sure = m_or(sure, r_gt(above[e], least));
    }
    return m_and(rough, sure);
}

// Steps are made for states, and may be too long for an expression. It is, between two parts of a
// step, where two rules for its mean value differ by more than a tenth of the root of the
// tolerance: the better one's own error is about that to the power of 3/2. Where an expression may
// jump both are as good, and it is a tenth of the tolerance itself. The nodes of both lie evenly
// about the middle, so that a sixth value is compared with the polynomial through them: it sees
// what is odd there. A seventh one leaves less room between them for what jumps up and down again.
//
// The tolerance is one of the size of an expression or, since a constant beside it is to change
// nothing, of how far it has moved in the window. What it was as large as may be a term of it
// still, where they leave nearly nothing, and is rounded. Where it moves by no more than its noise
// it is taken as it is. Elsewhere noise, which is as smooth as states are, hides little of what
// moves. A piece in which some values are no numbers is too long as well.
INLINE mask summary_rough(const struct shoal_args *a, struct group *g, const struct trial *s,
                          struct noises *noise, real from, real to, mask on) {
    enum { VALUES = SUMMARY_JUMPS ? 7 : 6 };
    real v[7][SUMMARY_EXPRESSIONS], width = to - from;
    real above[SUMMARY_EXPRESSIONS], spread[SUMMARY_EXPRESSIONS];
    real rtol = R(ADAPTIVE ? a->control[CONTROL_RTOL] : (elem)1e-6);
    real share = R(0.1) * (SUMMARY_JUMPS ? rtol : r_sqrt(rtol));
    mask rough = m_of_lanes(0), doubted = m_of_lanes(0);
    summary_look(g, s, from, v[0]);
    summary_look(g, s, r_fma(width, R(0.1127016653792583), from), v[1]);
    summary_look(g, s, r_fma(width, R(0.5), from), v[2]);
    summary_look(g, s, r_fma(width, R(0.8872983346207417), from), v[3]);
    summary_look(g, s, to, v[4]);
    summary_look(g, s, r_fma(width, R(0.3), from), v[5]);
    if (SUMMARY_JUMPS)
        summary_look(g, s, r_fma(width, R(0.7), from), v[6]);
    UNROLL for (int e = 0; e < SUMMARY_EXPRESSIONS; e++) {
        real ends = v[0][e] + v[4][e], middle = v[2][e];
        real gauss = r_fma(R(5.0 / 18), v[1][e] + v[3][e], R(8.0 / 18) * middle);
        real simpson = r_fma(R(1.0 / 6), ends, R(4.0 / 6) * middle);
        real apart = r_abs(rough_curve(v, 0, e) - v[5][e]);
        if (SUMMARY_JUMPS)
            apart = r_max(apart, r_abs(rough_curve(v, 1, e) - v[6][e]));
        real low = v[0][e], high = v[0][e];
        mask some = r_lt(r_abs(v[0][e]), R(INFINITY_VALUE)), all = some;
        UNROLL for (int i = 1; i < VALUES; i++) {
            mask finite = r_lt(r_abs(v[i][e]), R(INFINITY_VALUE));
            low = r_min(v[i][e], low);
            high = r_max(v[i][e], high);
            some = m_or(some, finite);
            all = m_and(all, finite);
        }
        real size = r_max(r_abs(low), r_abs(high));
        spread[e] = high - low;
        real span = summary_span(g, e, low, high, m_and(on, all));
        real seen = r_max(r_abs(SUMMARY_LOW(g, e)), r_abs(SUMMARY_HIGH(g, e)));
        seen = select(r_lt(seen, R(LARGEST_SCALE)), r_max(size, seen), size);
        real bar = r_fma(share, r_min(size, R(2) * span), R(8 * EPSILON) * seen);
        above[e] = r_max(r_abs(gauss - simpson), apart) - bar;
        doubted = m_or(doubted, m_and(all, r_gt(above[e], R(0))));
        rough = m_or(rough, m_andnot(some, all));
    }
    if (!any(doubted))
        return rough;
    if (!noise->known)
        summary_noises(a, g, s, noise);
    mask sure = m_of_lanes(0);
    UNROLL for (int e = 0; e < SUMMARY_EXPRESSIONS; e++) {
        real off = noise->off[e], most = R(1e-4) * (SUMMARY_HIGH(g, e) - SUMMARY_LOW(g, e));
        off = select(r_lt(spread[e], R(3) * off), off, r_min(off, most));
        above[e] = above[e] - select(r_lt(off, R(INFINITY_VALUE)), off, R(0));
        real rounding = noise->rounding[e];
        rounding = select(r_lt(rounding, R(INFINITY_VALUE)), rounding, R(0));
        sure = m_or(sure, m_and(doubted, r_gt(above[e], rounding)));
    }
    if (any(m_andnot(sure, rough)))
        sure = summary_surely(g, s, r_fma(width, R(0.5), from), above, sure);
    return m_or(rough, sure);
}

// `scale`: the time of a step.
INLINE void summary_piece(const struct shoal_args *a, struct group *g, const struct trial *s,
                          const struct stretch *x, real scale) {
#if SUMMARY_SEGMENTED && !SUMMARY_PLAIN
    struct ends y[SUMMARY_SEGMENTED];
    struct outlook o[SUMMARY_SEGMENTED];
    expression_outlooks(g, s, x, y, o);
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) summary_cut(a, g, s, x, e, &y[e], &o[e]);
#endif
#if defined SUMMARY_GAUSS && !SUMMARY_ALL_CLOSED
    real v[SUMMARY_EXPRESSIONS], time = (x->to - x->from) * scale;
#define X(at, weight)                                                                              \
    summary_look(g, s, r_fma(x->to - x->from, R(at), x->from), v);                                 \
    summary_points(v, time *R(weight), x->on, g->summary.of);
    SUMMARY_GAUSS(X)
#undef X
#endif
}

enum { PIECES_MOST = 4096, PIECES_JUMPS = 1024, PIECES_DEEP = 1 << 21 };

// The shortest piece of a stretch of a length: a jump in it is not worth more than the tolerance,
// and parts of a step can still be told apart. An expression that has taken too many of them is
// nothing but jumps, and then one of PIECES_MOST parts of a stretch is short.
INLINE real summary_least(const struct shoal_args *a, real all, mask jumps) {
    elem rtol = ADAPTIVE ? a->control[CONTROL_RTOL] : (elem)1e-6;
    real deep = select(jumps, R(1.0 / PIECES_MOST), R(rtol * (elem)1e-3));
    return r_max(all * deep, R(8 * EPSILON));
}

// A jump is one however often rounding lets states go to and fro across it: a piece that is shorter
// than this reaches to where the next one, which is as long or longer, shows none.
#define PIECE_CLEAR ((DEGREE > 5 ? 1024 : 128) * EPSILON)
#define PIECE_CLEAR_MOST 1e-3

// Expressions are taken in pieces that are short enough for them: up to `wall` the rest of what was
// not, and behind it longer and longer ones. Up to `at` there is nothing left to look at, and from
// y.from on it is still to be taken.
INLINE void summary_pieces(const struct shoal_args *a, struct group *g, const struct trial *s,
                           const struct stretch *x, real scale) {
    struct stretch y = *x;
    struct noises noise;
    real at = x->from, width = x->to - x->from, all = width, wall = at;
    real clear = R(PIECE_CLEAR), jumps = R(0);
    mask todo = x->on, waits = m_of_lanes(0);
    noise.known = 0;
    ROLL for (int n = 0; n < 4 * PIECES_MOST + PIECES_DEEP && any(todo); n++) {
        mask last = r_ge(at + width, x->to);
        y.to = select(last, x->to, at + width);
        y.t1 = summary_since_start(x, s, y.to);
        width = y.to - at;
        mask rough = m_and(todo, summary_rough(a, g, s, &noise, at, y.to, todo));
        mask many = r_ge(jumps, R(n < PIECES_DEEP ? PIECES_JUMPS : 0));
        mask short_enough = m_or(waits, r_le(width, summary_least(a, all, many)));
        mask split = m_andnot(rough, short_enough);
        jumps = jumps + r_num(m_and(rough, short_enough));
        waits = m_and(m_and(rough, short_enough), r_le(width, clear));
        waits = m_andnot(m_and(waits, r_lt(clear, R(PIECE_CLEAR_MOST))), last);
        y.on = m_andnot(m_andnot(todo, split), waits);
        if (any(y.on))
            summary_piece(a, g, s, &y, scale);
        y.from = select(y.on, y.to, y.from);
        y.t0 = select(y.on, y.t1, y.t0);
        at = select(split, at, y.to);
        wall = select(split, y.to, wall);
        real more = width * select(r_lt(width, all * R(1.0 / 64)), R(4), R(2));
        width = select(split, width * R(0.5), select(r_gt(wall, at), wall - at, more));
        width = select(waits, clear, width);
        clear = select(waits, clear * R(2), R(PIECE_CLEAR));
        todo = m_andnot(todo, m_and(y.on, last));
    }
}
#endif

// `whole`: the stretch is the step. Else its time is what its ends say, however short it is.
INLINE void summary_stretch(const struct shoal_args *a, struct group *g, const struct trial *s,
                            const struct stretch *x, int whole) {
    // First: its times are not kept meanwhile, which would cost a thread registers.
    summary_closed(g, s, x, x->on, whole ? s->h : x->t1 - x->t0, whole);
#if SUMMARY_SEGMENTED && SUMMARY_PLAIN
    summary_cut_states(a, g, s, x, whole);
#endif
#if SUMMARY_PIECES
    real h = s->h;
    if (!whole) // one so short that it is no part of the step has no pieces with a time
        h = select(r_gt(x->to, x->from), (x->t1 - x->t0) / (x->to - x->from), h);
    summary_pieces(a, g, s, x, h);
#endif
}

// ---- Windows ------------------------------------------------------------------------------------

// Where a step surely ends before its window does. A pair of numbers is not before another whose
// first is less.
INLINE mask summary_lies_inside(const struct group *g, const struct trial *s) {
    return r_gt(g->summary.goal, t_real(s->t_new) * g->dir);
}

// A step that lies in its window.
INLINE struct stretch summary_step(const struct group *g, const struct trial *s, mask on) {
    struct stretch x;
    x.from = R(0);
    x.to = R(1);
    x.origin = x.t0 = t_diff(g->x.t, g->summary.begin);
    x.t1 = t_diff(s->t_new, g->summary.begin);
    x.on = on;
    return x;
}

#if COLD_PART
// The lanes for which there is a window behind theirs.
INLINE u32 summary_has_next(const struct shoal_args *a, const struct group *g) {
    u32 lanes = 0;
    for (int i = 0; i < W; i++)
        lanes |= (u32)(g->summary.window[i] + 1 < a->z.windows) << i;
    return lanes;
}

// A step that does not lie in one window: stretch by stretch, and in each another window. What it
// ends for is meant to be at the end of a window that rounding alone tells apart from it.
OUTLINE void summary_divide(const struct shoal_args *a, struct group *g, struct trial *s,
                            u32 lanes) {
    while (lanes) { // at most as often as there are windows
        struct stretch x;
        treal end = summary_ends(a, g);
        real since = t_diff(g->x.t, g->summary.begin), left = t_diff(end, s->t_new);
#if WATCH_STEERS
        left = select(r_le(r_abs(left), summary_slack(a, g, s->t_new)), R(0), left);
#endif
        u32 more = summary_has_next(a, g);
        mask begun = r_ge(since * g->dir, R(0));
        mask inside = m_or(r_ge(left * g->dir, R(0)), m_not(m_of_lanes(more)));
        x.on = m_of_lanes(lanes);
        x.origin = since;
        x.from = select(begun, R(0), -since / s->h);
        x.to = select(inside, R(1), t_diff(end, g->x.t) / s->h);
        x.t0 = select(begun, since, R(0));
        x.t1 = select(inside, t_diff(s->t_new, g->summary.begin), t_diff(end, g->summary.begin));
        summary_keep(g, s, t_select(begun, g->x.t, g->summary.begin),
                     t_select(inside, s->t_new, end), lanes);
        summary_stretch(a, g, s, &x, 0);
        for (int i = 0; i < W; i++)
            if (lanes >> i & 1)
                summary_set_window(a, g, i, g->summary.window[i], 1);
        u32 over = lanes & more & m_lanes(r_le(left * g->dir, R(0)));
        lanes = over & m_lanes(r_lt(left * g->dir, R(0)));
        if (over)
            summary_next(a, g, over);
    }
}

// Where a step is one of its window. What lies between moments that are meant to be one, at the
// edge where the window begins or at the end of the run, is no time, unless there is no other.
INLINE mask summary_is_time(const struct shoal_args *a, const struct group *g,
                            const struct trial *s) {
    real since = t_diff(s->t_new, g->summary.begin) * g->dir;
#if WATCH_STEERS
    real slack = summary_slack(a, g, s->t_new), before = t_diff(g->x.t, g->summary.begin) * g->dir;
    mask more = m_of_lanes(before_end(g, s->t_new));
    mask over = m_and(r_le(t_diff(g->t1, g->x.t) * g->dir, slack), r_gt(before, slack));
    return m_andnot(r_gt(since, select(more, slack, R(0))), over);
#else
    (void)a;
    return r_gt(since, R(0));
#endif
}

// Idle lanes of threads have no time, so that nothing holds for them.
INLINE u32 summary_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    u32 whole = moved & m_lanes(summary_lies_inside(g, s));
    dense_prepare(g, s, moved);
    summary_doubt(a, g, s, m_of_lanes(moved));
    if (whole) {
        struct stretch x = summary_step(g, s, m_of_lanes(whole));
        summary_keep(g, s, g->x.t, s->t_new, whole);
        summary_stretch(a, g, s, &x, 1);
        if (W == 1)
            return 0;
    }
    if (moved & ~whole) {
        u32 rest = moved & ~whole & m_lanes(summary_is_time(a, g, s));
        if (rest)
            summary_divide(a, g, s, rest);
    }
    return 0;
}

#if STEERED
// No step begins where an action has taken the lanes, so that this is a stretch of its own.
INLINE void summary_over(const struct shoal_args *a, struct group *g, const struct trial *s,
                         u32 lanes) {
    struct stretch x;
    x.from = x.to = R(1);
    x.origin = t_diff(g->x.t, g->summary.begin);
    x.t0 = x.t1 = t_diff(s->t_new, g->summary.begin);
    x.on = summary_begun(g, s->t_new, lanes);
    summary_keep(g, s, s->t_new, s->t_new, lanes);
#if SUMMARY_SEGMENTED && SUMMARY_PLAIN
    summary_cut_states(a, g, s, &x, 0);
#endif
#if SUMMARY_PIECES
    summary_piece(a, g, s, &x, R(0));
#endif
}
#endif
#endif

#if QUICK
// Lanes whose step lies in their window, and in which the ends of the step tell all.
INLINE u32 summary_glance(const struct shoal_args *a, struct group *g, const struct trial *s,
                          u32 moved) {
    mask on = m_and(m_of_lanes(moved), summary_lies_inside(g, s));
    struct stretch x = summary_step(g, s, on);
#if SUMMARY_SEGMENTED
    struct ends y[SUMMARY_SEGMENTED];
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) {
        plain_ends(g, s, &x, e, 1, &y[e]);
        struct outlook o = plain_outlook(g, s, &x, e, 1, &y[e]);
        x.on = m_andnot(x.on, summary_turns(a, g, &o, e));
    }
    UNROLL for (int e = 0; e < SUMMARY_SEGMENTED; e++) summary_one(a, g, s, &x, e, &y[e], x.on);
#endif
    summary_closed(g, s, &x, x.on, s->h, 1);
    return moved & ~m_lanes(x.on);
}
#endif

INLINE void summary_begin(const struct shoal_args *a, struct group *g) {
    treal first = t_load(a->edges);
    u32 begun = m_lanes(r_ge(t_diff(g->t0, first) * g->dir, R(0)));
    for (int i = 0; i < W; i++)
        summary_set_window(a, g, i, 0, !WATCH_STEERS && (begun >> i & 1));
    summary_start(a, g, m_of_lanes(~0u));
    summary_trust(g);
}

INLINE void summary_copy(struct summary_state *to, int i, const struct summary_state *from, int j) {
    for (int n = 0; n < SUMMARY_ROOM; n++)
        LANE(to->of[n], i) = LANE(from->of[n], j);
    T_COPY(to->begin, i, from->begin, j);
    LANE(to->goal, i) = LANE(from->goal, j);
#if SUMMARY_JUMPS
    LANE(to->least, i) = LANE(from->least, j);
    LANE(to->most, i) = LANE(from->most, j);
#endif
    to->window[i] = from->window[j];
}
