// SPDX-License-Identifier: MIT
// Functions that no vector library has: Bessel functions of whole order and lgamma, lane by lane.
//
// The order is cut to a whole number, as XPP does it; there is no value from ORDERS on, where the
// libraries take for ever. OpenCL has no besselj and bessely: a model with them is refused there.

#define ORDERS 1000
#define OF_ORDER(f, a, b) ((a) > -ORDERS && (a) < ORDERS ? f((int)(a), b) : (b)*0 / ((b)*0))

// The power series, whose terms have one sign.
INLINE elem bessel_i(int n, elem x) {
    elem half_x = x * (elem)0.5, term = 1;
    n = n < 0 ? -n : n;
    for (int k = 1; k <= n; k++)
        term *= half_x / (elem)k;
    elem sum = term;
    for (int k = 1; k < 2000; k++) {
        term *= half_x * half_x / ((elem)k * (elem)(k + n));
        elem next = sum + term;
        if (next == sum || next != next)
            return next;
        sum = next;
    }
    return sum;
}

#ifdef SPECIAL_HOST
#elif THREADS
INLINE real r_besseli(real a, real b) { return OF_ORDER(bessel_i, a, b); }
INLINE real r_lgamma(real a) { return FN(lgamma)(a); }
#ifndef __OPENCL_VERSION__
INLINE real r_besselj(real a, real b) { return OF_ORDER(FN(jn), a, b); }
INLINE real r_bessely(real a, real b) { return OF_ORDER(FN(yn), a, b); }
#endif
#else
#if F32
#define LGAMMA lgammaf_r
#else
#define LGAMMA lgamma_r
#endif
extern elem FN(jn)(int, elem);
extern elem FN(yn)(int, elem);
extern elem LGAMMA(elem, int *);
#define LANES(expression)                                                                          \
    real r = a;                                                                                    \
    for (int i = 0; i < W; i++)                                                                    \
        LANE(r, i) = expression;                                                                   \
    return r
INLINE real r_besseli(real a, real b) { LANES(OF_ORDER(bessel_i, LANE(a, i), LANE(b, i))); }
INLINE real r_besselj(real a, real b) { LANES(OF_ORDER(FN(jn), LANE(a, i), LANE(b, i))); }
INLINE real r_bessely(real a, real b) { LANES(OF_ORDER(FN(yn), LANE(a, i), LANE(b, i))); }
INLINE real r_lgamma(real a) {
    int sign;
    LANES(LGAMMA(LANE(a, i), &sign));
}
#endif
