// SPDX-License-Identifier: MIT
// Numbers as unevaluated pairs, with twice the digits: for moments in time, of which one is often
// the small difference of two large ones. hi is the number, rounded, and lo what that took from it.

typedef struct {
    real hi, lo;
} wide;

// hi + lo, of which hi is the larger; where it is not finite, nothing was rounded.
INLINE wide w_pair(real hi, real lo) {
    real s = hi + lo, e = lo - (s - hi);
    mask whole = r_eq(e, e);
    wide r = {select(whole, s, hi), select(whole, e, R(0))};
    return r;
}
INLINE wide w_of(real x) {
    wide r = {x, R(0)};
    return r;
}
INLINE wide w_neg(wide x) {
    wide r = {-x.hi, -x.lo};
    return r;
}
INLINE wide w_select(mask m, wide a, wide b) {
    wide r = {select(m, a.hi, b.hi), select(m, a.lo, b.lo)};
    return r;
}

// What rounding took from s = a + b.
INLINE real w_lost(real a, real b, real s) {
    real back = s - a;
    return (a - (s - back)) + (b - back);
}
INLINE wide w_add(wide a, wide b) {
    real s = a.hi + b.hi, t = a.lo + b.lo, e = w_lost(a.hi, b.hi, s) + t;
    wide r = w_pair(s, e);
    return w_pair(r.hi, r.lo + w_lost(a.lo, b.lo, t));
}
INLINE wide w_sub(wide a, wide b) { return w_add(a, w_neg(b)); }
INLINE wide w_mul(wide a, wide b) {
    real p = a.hi * b.hi;
    return w_pair(p, r_fma(a.hi, b.hi, -p) + r_fma(a.hi, b.lo, a.lo * b.hi));
}
INLINE wide w_div(wide a, wide b) {
    real q = a.hi / b.hi, rest = r_fnma(q, b.hi, a.hi) + r_fnma(q, b.lo, a.lo);
    return w_pair(q, rest / b.hi);
}
INLINE wide w_sqrt(wide x) {
    real s = r_sqrt(x.hi), rest = r_fnma(s, s, x.hi) + x.lo;
    return w_pair(s, rest / (s + s));
}
INLINE wide w_floor(wide x) {
    real hi = r_floor(x.hi);
    return w_pair(hi, select(r_eq(hi, x.hi), r_floor(x.lo), R(0)));
}

INLINE mask w_lt(wide a, wide b) {
    return m_or(r_lt(a.hi, b.hi), m_and(r_eq(a.hi, b.hi), r_lt(a.lo, b.lo)));
}
INLINE mask w_eq(wide a, wide b) { return m_and(r_eq(a.hi, b.hi), r_eq(a.lo, b.lo)); }
INLINE mask w_le(wide a, wide b) { return m_or(w_lt(a, b), w_eq(a, b)); }
INLINE mask w_ne(wide a, wide b) { return m_or(r_ne(a.hi, b.hi), r_ne(a.lo, b.lo)); }
INLINE wide w_abs(wide x) { return w_select(r_lt(x.hi, R(0)), w_neg(x), x); }
// A NaN stays one, as in min and max of models.
INLINE wide w_min(wide a, wide b) { return w_select(m_or(w_lt(b, a), r_ne(b.hi, b.hi)), b, a); }
INLINE wide w_max(wide a, wide b) { return w_select(m_or(w_lt(a, b), r_ne(b.hi, b.hi)), b, a); }

#if F32
INLINE wide w_of_time(treal t) {
    wide r = {t.hi, t.lo};
    return r;
}
INLINE treal w_time(wide x) {
    treal t = {x.hi, x.lo};
    return t;
}
#else
INLINE wide w_of_time(treal t) { return w_of(t); }
INLINE treal w_time(wide x) { return x.hi; }
#endif
