// SPDX-License-Identifier: MIT
// The value that is not exceeded for a part q of the time: from a histogram of 256 bins. It is
// moved when a value lies outside, and made twice as wide when that does not help: so at least half
// of it is in use. Kept are where it begins, the width of a bin (0: all values were the same), the
// time in which they were, the bins, and what the last sum was rounded by: it goes into the next
// one, so that no time is lost where each is much less than what a bin has.
enum { QUANTILE_BINS = 256, QUANTILE_LOST = 3 + QUANTILE_BINS };
// A segment may be a power of the time as high as the interpolant's: straight pieces leave 0.6 % of
// t^4, and 0.5 % of t^7.
enum { QUANTILE_PIECES = DEGREE > 4 ? 32 : 16 };

INLINE void quantile_begin(SUMMARY_BEGIN) {
    ROLL for (int i = 0; i <= QUANTILE_LOST; i++) m[i] = select(on, R(0), m[i]);
}

INLINE void quantile_add(real *m, int to, int i, elem time) {
    elem more = time + LANE(m[QUANTILE_LOST], i), before = LANE(m[to], i), after = before + more;
    LANE(m[to], i) = after;
    LANE(m[QUANTILE_LOST], i) = more - (after - before);
}

INLINE void quantile_widen(real *m, int i) {
    ROLL for (int k = 0; k < QUANTILE_BINS; k++) {
        int there = 2 * k < QUANTILE_BINS, from = there ? 2 * k : 0;
        LANE(m[3 + k], i) = there ? LANE(m[3 + from], i) + LANE(m[4 + from], i) : 0;
    }
    LANE(m[1], i) *= 2;
}

// Bin k becomes bin k - by.
INLINE void quantile_move(real *m, int i, int by) {
    ROLL for (int n = 0; n < QUANTILE_BINS; n++) {
        int k = by > 0 ? n : QUANTILE_BINS - 1 - n, from = k + by;
        int there = from >= 0 && from < QUANTILE_BINS;
        LANE(m[3 + k], i) = there ? LANE(m[3 + (there ? from : 0)], i) : 0;
    }
    LANE(m[0], i) += (elem)by * LANE(m[1], i);
}

// The first bin with something in it (way 1), or the last (-1).
INLINE int quantile_used(const real *m, int i, int way) {
    int k = way > 0 ? 0 : QUANTILE_BINS - 1;
    ROLL while (k >= 0 && k < QUANTILE_BINS - 1 + (way < 0) && LANE(m[3 + k], i) == 0) k += way;
    return k;
}

// Makes room for values from `least` to `most`, what is in use being in the middle.
INLINE void quantile_fit(real *m, int i, elem least, elem most) {
    ROLL for (int n = 0; n < 2200; n++) { // as many as there are powers of two
        elem low = LANE(m[0], i), width = LANE(m[1], i);
        elem first = (elem)quantile_used(m, i, 1), last = (elem)(quantile_used(m, i, -1) + 1);
        elem from = (least - low) / width, to = (most - low) / width;
        from = from < first ? from : first;
        to = to > last ? to : last;
        if (to - from < QUANTILE_BINS - 1) {
            elem spare = (elem)(int)((QUANTILE_BINS - 1 - (to - from)) / 2);
            quantile_move(m, i, (int)(from < 0 ? from - 1 : from) - (int)spare);
            return;
        }
        quantile_widen(m, i);
    }
}

INLINE void quantile_reach(real *m, int i, elem least, elem most) {
    if (LANE(m[2], i) == 0)
        LANE(m[0], i) = least;
    if (LANE(m[1], i) == 0) {
        elem low = LANE(m[0], i), all = LANE(m[2], i);
        elem from = least < low ? least : low, to = most > low ? most : low;
        elem width = (to - from) / (QUANTILE_BINS - 1);
        if (!(width > 0))
            return;
        LANE(m[0], i) = from;
        LANE(m[1], i) = width;
        LANE(m[3 + (int)((low - from) / width)], i) = all;
    }
    if (least < LANE(m[0], i) || most >= LANE(m[0], i) + LANE(m[1], i) * QUANTILE_BINS)
        quantile_fit(m, i, least, most);
}

// A time in which the value goes evenly from one to the other.
INLINE void quantile_spread(real *m, int i, elem v0, elem v1, elem time) {
    elem least = v0 < v1 ? v0 : v1, most = v0 < v1 ? v1 : v0;
    if (!(most - least < (elem)LARGEST_SCALE) || !(time > 0))
        return;
    quantile_reach(m, i, least, most);
    elem low = LANE(m[0], i), width = LANE(m[1], i);
    if (!(width > 0)) {
        quantile_add(m, 2, i, time);
        return;
    }
    if (LANE(m[2], i) == 0)
        LANE(m[2], i) = time; // there was some
    elem from = (least - low) / width, to = (most - low) / width;
    int first = (int)from, last = (int)to;
    last = last < 0 ? 0 : last < QUANTILE_BINS ? last : QUANTILE_BINS - 1;
    first = first < 0 ? 0 : first < last ? first : last;
    elem rate = first == last ? time : time / (to - from);
    ROLL for (int k = first; k <= last; k++) {
        elem begin = k == first ? from : (elem)k, end = k == last ? to : (elem)(k + 1);
        quantile_add(m, 3 + k, i, first == last ? rate : rate * (end - begin));
    }
}

INLINE void quantile_segment(SUMMARY_SEGMENT) {
    real v = x->v0;
    ROLL for (int n = 1; n <= QUANTILE_PIECES; n++) {
        real part = R((elem)n / QUANTILE_PIECES), theta = r_fma(x->to - x->from, part, x->from);
        real next = n == QUANTILE_PIECES ? x->v1 : summary_value_at(g, s, theta, c.expression);
        real time = r_abs(x->t1 - x->t0) * R((elem)1 / QUANTILE_PIECES);
        for (int i = 0; i < W; i++)
            if (m_lanes(x->on) >> i & 1)
                quantile_spread(m, i, LANE(v, i), LANE(next, i), LANE(time, i));
        v = next;
    }
}

INLINE real quantile_value(SUMMARY_VALUE) {
    real q = t_real(summary_number(a, g, c.number)), all = R(0), sum = R(0);
    ROLL for (int k = 0; k < QUANTILE_BINS; k++) all = all + m[3 + k];
    real want = q * all;
    mask known = m_and(r_gt(m[2], R(0)), m_and(r_ge(q, R(0)), r_le(q, R(1))));
    real v = m[0];
    mask todo = r_gt(m[1], R(0));
    ROLL for (int k = 0; k < QUANTILE_BINS; k++) {
        real bin = m[3 + k], part = select(r_gt(bin, R(0)), (want - sum) / bin, R(0));
        part = r_min(r_max(part, R(0)), R(1));
        v = select(m_and(todo, r_gt(bin, R(0))), r_fma(R((elem)k) + part, m[1], m[0]), v);
        sum = sum + bin;
        todo = m_and(todo, m_or(r_lt(sum, want), r_eq(sum, R(0))));
    }
    return select(known, v, R(NAN_VALUE));
}
