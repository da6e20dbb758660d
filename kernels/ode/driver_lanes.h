// SPDX-License-Identifier: MIT
// Signals of a lane: which samples are its own, and on which piece of them it is.
//
// SIGNALS(X) lists all signals: number, place in p, degree, equal distances, periodic, place in the
// state of those whose pieces end at stops (-1: it has none), whether there may be jumps. A piece
// is the time between two jumps of a held signal, or up to 32 intervals of which a step sees enough
// (src/ode/run/driver_cut.c), or all that is before or behind the samples. Within a step a lane is
// on one piece, whatever rounding makes of a time: a step that ends where a piece ends is followed
// by one on the next.

INLINE const GLOBAL SHOAL_U64 *signal_of(const struct shoal_args *a, u32 signal, u32 row) {
    u64 which = a->signal[signal];
    if (a->driver_row)
        which += a->driver_row[(u64)signal * a->head.rows + row];
    return a->signal + SIGNAL_COUNT + which * SIGNAL_WORDS;
}

#if SIGNAL_STOPS
// What ends piece `piece`, or for -1 begins the first.
INLINE const GLOBAL elem *piece_of(const struct shoal_args *a, const GLOBAL SHOAL_U64 *s,
                                   int piece) {
    return a->driver + s[SIGNAL_PIECES] + (u64)(piece + 1) * PIECE_NUMBERS;
}

// The time at lane i's piece (before < 0: at its beginning), `turn` periods later.
INLINE treal pieces_end(const struct shoal_args *a, const struct group *g, u32 signal, int state,
                        int periodic, const int *piece, real before) {
    treal at = g->t1, period = g->t1;
    for (int i = 0; i < W; i++) {
        const GLOBAL SHOAL_U64 *s = signal_of(a, signal, g->row[i]);
        const GLOBAL elem *end = piece_of(a, s, piece[i] - (LANE(before, i) < 0)),
                          *head = a->driver + s[SIGNAL_HEAD];
        T_SET(at, i, end[PIECE_END], end[PIECE_END + 1]);
        T_SET(period, i, head[SIGNAL_PERIOD], head[SIGNAL_PERIOD + 1]);
    }
    if (!periodic)
        return at;
    real turn = g->driver.turn[state];
#if F32
    real whole = turn * period.hi, rest = r_fma(turn, period.hi, -whole);
    return t_add(t_add(at, whole), r_fma(turn, period.lo, rest));
#else
    return r_fma(turn, period, at);
#endif
}

// The numbers of lane i for the piece that it is on.
INLINE void piece_load(const struct shoal_args *a, struct group *g, u32 signal, int place,
                       int degree, int even, int periodic, int state, int i) {
    const GLOBAL SHOAL_U64 *s = signal_of(a, signal, g->row[i]);
    const GLOBAL elem *now = piece_of(a, s, g->driver.piece[state][i]);
    SPACE real *p = g->p + place;
    if (degree == 0) {
        LANE(p[0], i) = now[PIECE_VALUE];
    } else if (even && !periodic) {
        LANE(p[ADDRESS + 2], i) = now[PIECE_LOW];
        LANE(p[ADDRESS + 3], i) = now[PIECE_HIGH];
    } else if (!even) {
        u64 first = ((const GLOBAL uelem *)now)[PIECE_FIRST];
        address_put(p, i, a->driver + s[SIGNAL_KNOTS] + first);
        address_put(p + ADDRESS, i, a->driver + s[SIGNAL_COEFFICIENTS] + first * (u32)(degree + 1));
        LANE(p[2 * ADDRESS], i) = now[PIECE_HIGH];
        if (periodic)
            LANE(p[2 * ADDRESS + 1], i) =
                LANE(g->driver.turn[state], i) * (a->driver + s[SIGNAL_HEAD])[SIGNAL_PERIOD];
    }
}

// Lane i goes to the next piece in its direction.
INLINE void piece_next(const struct shoal_args *a, struct group *g, u32 signal, int periodic,
                       int state, int i) {
    int count = (int)signal_of(a, signal, g->row[i])[SIGNAL_PIECE_COUNT];
    int way = LANE(g->dir, i) < 0 ? -1 : 1, *piece = &g->driver.piece[state][i];
    *piece += way;
    if (periodic && (*piece < 0 || *piece == count)) {
        *piece -= way * count;
        LANE(g->driver.turn[state], i) += (elem)way;
    }
}

// Finds the piece that a step from t0 on is on: one ends behind t0, the one before it does not.
INLINE void pieces_begin(const struct shoal_args *a, struct group *g, u32 signal, int periodic,
                         int state) {
    int low[W], high[W], middle[W], left = 1;
    real turn = R(0), ends = R(1);
    for (int i = 0; i < W; i++) {
        const GLOBAL SHOAL_U64 *s = signal_of(a, signal, g->row[i]);
        const GLOBAL elem *head = a->driver + s[SIGNAL_HEAD];
        low[i] = 0;
        high[i] = (int)s[SIGNAL_PIECE_COUNT] - 1;
        if (periodic)
            LANE(turn, i) = (T_LANE(g->t0, i) - head[SIGNAL_FIRST]) / head[SIGNAL_PERIOD];
    }
    g->driver.turn[state] = periodic ? r_floor(turn) : R(0);
    for (int pass = 0; pass < 32 && left; pass++) {
        left = 0;
        for (int i = 0; i < W; i++)
            middle[i] = (low[i] + high[i]) / 2;
        real rest = t_diff(pieces_end(a, g, signal, state, periodic, middle, ends), g->t0);
        for (int i = 0; i < W; i++) {
            int behind = LANE(rest, i) > 0 || (LANE(rest, i) == 0 && LANE(g->dir, i) < 0);
            if (low[i] < high[i] && behind)
                high[i] = middle[i];
            else if (low[i] < high[i])
                low[i] = middle[i] + 1;
            left |= low[i] < high[i];
        }
    }
    for (int i = 0; i < W; i++)
        g->driver.piece[state][i] = low[i];
    if (!periodic)
        return;
    // Rounding of the turn may be off by one, on either side.
    for (int side = -1; side <= 1; side += 2) {
        real rest =
            t_diff(pieces_end(a, g, signal, state, 1, g->driver.piece[state], R(side) * g->dir),
                   g->t0) *
            g->dir;
        for (int i = 0; i < W; i++) {
            elem dir = LANE(g->dir, i);
            if (side > 0 ? LANE(rest, i) <= 0 : LANE(rest, i) > 0) {
                LANE(g->dir, i) = dir * (elem)side;
                piece_next(a, g, signal, 1, state, i);
                LANE(g->dir, i) = dir;
            }
        }
    }
}
#else
#define pieces_begin(a, g, signal, periodic, state) (void)0
#define piece_load(a, g, signal, place, degree, even, periodic, state, i) (void)0
#endif

// The numbers of lanes that begin.
INLINE void signals_begin(const struct shoal_args *a, struct group *g) {
    ITEMS(n, SIGNAL_NUMBERS) g->p[SIGNALS_AT + n] = R(0);
#define X(signal, place, degree, even, periodic, state, jumps)                                     \
    if (state >= 0)                                                                                \
        pieces_begin(a, g, signal, periodic, state);                                               \
    for (int i = 0; i < W; i++) {                                                                  \
        const GLOBAL SHOAL_U64 *s = signal_of(a, signal, g->row[i]);                               \
        const GLOBAL elem *head = a->driver + s[SIGNAL_HEAD];                                      \
        if (even) {                                                                                \
            address_put(g->p + place, i, a->driver + s[SIGNAL_COEFFICIENTS]);                      \
            for (int n = 0; n < 4; n++)                                                            \
                LANE(g->p[place + ADDRESS + n], i) = head[SIGNAL_FIRST + n];                       \
        }                                                                                          \
        if (state >= 0)                                                                            \
            piece_load(a, g, signal, place, degree, even, periodic, state, i);                     \
    }
    SIGNALS(X)
#undef X
}

#if SIGNAL_STOPS
INLINE void driver_begin(const struct shoal_args *a, struct group *g) { (void)a, (void)g; }

INLINE void driver_copy(struct driver_state *to, int i, const struct driver_state *from, int j) {
    ITEMS(k, SIGNAL_STOPS) {
        to->piece[k][i] = from->piece[k][j];
        LANE(to->turn[k], i) = LANE(from->turn[k], j);
    }
}

#if COLD_PART
// A piece ends ahead of where a lane is.
INLINE treal driver_earlier(const struct group *g, treal at, treal other) {
    return t_select(r_lt(t_diff(other, at) * g->dir, R(0)), other, at);
}

INLINE treal driver_next_stop(const struct shoal_args *a, const struct group *g) {
    treal at = g->t1;
#define X(signal, place, degree, even, periodic, state, jumps)                                     \
    if (state >= 0)                                                                                \
        at = driver_earlier(                                                                       \
            g, at, pieces_end(a, g, signal, state, periodic, g->driver.piece[state], g->dir));
    SIGNALS(X)
#undef X
    return at;
}

// The lanes whose piece of a signal is over at t.
INLINE u32 driver_over(const struct shoal_args *a, const struct group *g, u32 signal, int state,
                       int periodic, treal t, u32 lanes) {
    treal at = pieces_end(a, g, signal, state, periodic, g->driver.piece[state], g->dir);
    return lanes & m_lanes(r_le(t_diff(at, t) * g->dir, R(0)));
}

// A row ends on the piece that it was on until then.
INLINE u32 driver_take(const struct shoal_args *a, struct group *g, struct trial *s, u32 moved) {
    u32 changed = 0, goes_on = moved & m_lanes(r_ne(t_diff(g->t1, s->t_new), R(0)));
#define X(signal, place, degree, even, periodic, state, jumps)                                     \
    if (state >= 0) {                                                                              \
        u32 over = driver_over(a, g, signal, state, periodic, s->t_new, goes_on);                  \
        changed |= jumps ? over : 0;                                                               \
        while (over) { /* the next piece ends later: the host sees to it that turns count */       \
            for (int i = 0; i < W; i++)                                                            \
                if (over >> i & 1) {                                                               \
                    piece_next(a, g, signal, periodic, state, i);                                  \
                    piece_load(a, g, signal, place, degree, even, periodic, state, i);             \
                }                                                                                  \
            over = driver_over(a, g, signal, state, periodic, s->t_new, over);                     \
        }                                                                                          \
    }
    SIGNALS(X)
#undef X
    return changed;
}
#endif
#endif
