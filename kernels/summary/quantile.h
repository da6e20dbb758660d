// SPDX-License-Identifier: MIT
// The value that is not exceeded for a part q of the time: from a histogram of 256 bins, which is
// made twice as wide when a value lies outside. Kept are where it begins, the width of a bin (0:
// all values were the same), the time in all, and the bins.
enum { QUANTILE_BINS = 256, QUANTILE_PIECES = 8 };

INLINE void quantile_begin(SUMMARY_BEGIN) {
    ROLL for (int i = 0; i < QUANTILE_BINS + 3; i++) m[i] = select(on, R(0), m[i]);
}

// Twice as wide, down or up.
INLINE void quantile_widen(real *m, int i, int down) {
    elem low = LANE(m[0], i), width = LANE(m[1], i);
    ROLL for (int n = 0; n < QUANTILE_BINS; n++) {
        int k = down ? QUANTILE_BINS - 1 - n : n, from = down ? 2 * k - QUANTILE_BINS : 2 * k;
        int there = from >= 0 && from < QUANTILE_BINS;
        LANE(m[3 + k], i) = there ? LANE(m[3 + from], i) + LANE(m[4 + from], i) : 0;
    }
    LANE(m[0], i) = down ? low - width * QUANTILE_BINS : low;
    LANE(m[1], i) = width * 2;
}

// Makes room for values between `least` and `most`.
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
    ROLL for (int n = 0; n < 2000; n++) {
        if (least < LANE(m[0], i))
            quantile_widen(m, i, 1);
        else if (most >= LANE(m[0], i) + LANE(m[1], i) * QUANTILE_BINS)
            quantile_widen(m, i, 0);
        else
            break;
    }
}

// A time in which the value goes evenly from one to the other.
INLINE void quantile_spread(real *m, int i, elem v0, elem v1, elem time) {
    elem least = v0 < v1 ? v0 : v1, most = v0 < v1 ? v1 : v0;
    if (!(most - least < (elem)LARGEST_SCALE) || !(time > 0))
        return;
    quantile_reach(m, i, least, most);
    elem low = LANE(m[0], i), width = LANE(m[1], i);
    LANE(m[2], i) += time;
    if (!(width > 0))
        return;
    elem from = (least - low) / width, to = (most - low) / width;
    int first = (int)from, last = (int)to;
    last = last < QUANTILE_BINS ? last : QUANTILE_BINS - 1;
    first = first < last ? first : last;
    elem rate = first == last ? time : time / (to - from);
    ROLL for (int k = first; k <= last; k++) {
        elem begin = k == first ? from : (elem)k, end = k == last ? to : (elem)(k + 1);
        LANE(m[3 + k], i) += first == last ? rate : rate * (end - begin);
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
    real want = R(a->levels[2 * c.number]) * m[2], sum = R(0);
    real v = select(r_gt(m[2], R(0)), m[0], R(NAN_VALUE));
    mask todo = r_gt(m[1], R(0));
    ROLL for (int k = 0; k < QUANTILE_BINS; k++) {
        real bin = m[3 + k], part = select(r_gt(bin, R(0)), (want - sum) / bin, R(0));
        part = r_min(r_max(part, R(0)), R(1));
        v = select(m_and(todo, r_gt(bin, R(0))), r_fma(R((elem)k) + part, m[1], m[0]), v);
        sum = sum + bin;
        todo = m_and(todo, r_lt(sum, want));
    }
    return v;
}
