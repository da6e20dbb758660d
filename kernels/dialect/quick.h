// SPDX-License-Identifier: MIT
// Division and square root in f32 without branches, for numbers that are not extreme.
//
// What a GPU's compiler makes of a division or a root is a short sequence, and a branch to a long
// one for extreme exponents; many such branches keep it from overlapping anything. Here are its
// short sequences alone, with the same bits, and a range that collects whether each of them was
// enough. The prelude gives r_rcp_approx and r_rsqrt_approx, the hardware's, which are good to an
// ulp or two and flush what is denormal to 0.
//
// Where the range holds, every result is the correctly rounded one. It holds for divisors from
// 2^-126 to 2^126, if the quotient is 0, or lies between 2^-100 and 2^100 and its numerator is not
// below 2^-100; for roots of numbers from 2^-80 to 2^80, so that the range of a root says enough of
// a reciprocal of x sqrt(x). It does not hold for a divisor of a reciprocal or a variable, or a
// radicand, that is not a number.

struct range {
    real error;     // the largest of 1 - b (1/b): infinite, not a number or 1 for an extreme b
    u32 root;       // the largest of the radicands' bits, counted from those of ROOT_LEAST
    real low, high; // of quotients, and low of their numerators; of what divides a number
};
#define RANGE_NEW                                                                                  \
    { 0, 0, 1, 1 }
#define RANGE_ERROR 0x1p-20f
#define RANGE_LOW 0x1p-100f // what remains of a smaller numerator would lose bits
#define RANGE_HIGH 0x1p100f
#define ROOT_LEAST 0x17800000u // bits of 2^-80
#define ROOT_MOST 0x67800000u  // bits of 2^80

INLINE mask range_holds(const struct range *g) {
    return (g->error < RANGE_ERROR) & (g->root <= ROOT_MOST - ROOT_LEAST) & (g->low >= RANGE_LOW) &
           (g->high <= RANGE_HIGH);
}

// One iteration of Newton's.
INLINE real rcp_refined(real b, real *error) {
    real y = r_rcp_approx(b);
    *error = r_fma(-b, y, R(1));
    return r_fma(y, *error, y);
}

INLINE real r_rcp_quick(struct range *g, real b) {
    real error, y = rcp_refined(b, &error);
    g->error = r_worst(g->error, error);
    return y;
}

// b is x sqrt(x), and x is known to be in range.
INLINE real r_rcp_sure(real b) {
    real error;
    return rcp_refined(b, &error);
}

// a is a number, its size from 2^-20 to 2^20, so that the divisor's says enough.
INLINE real r_over_quick(struct range *g, real a, real b) {
    real error, y = rcp_refined(b, &error), q = a * y;
    g->low = r_at_most(FN(fabs)(b), g->low);
    g->high = r_at_least(FN(fabs)(b), g->high);
    return r_fma(y, r_fma(-b, q, a), q);
}

// What remains of a 0 is +0, which would take the sign from a quotient -0.
INLINE real r_div_quick(struct range *g, real a, real b) {
    real error, y = rcp_refined(b, &error), q = a * y;
    real low = r_at_most(FN(fabs)(a), r_at_most(FN(fabs)(q), g->low));
    g->error = r_worst(g->error, error);
    g->low = a == 0 ? g->low : low;
    g->high = r_at_least(FN(fabs)(q), g->high);
    return a == 0 ? q : r_fma(y, r_fma(-b, q, a), q);
}

INLINE real r_sqrt_quick(struct range *g, real a) {
    real y = r_rsqrt_approx(a), root = a * y;
    u32 above = r_bits(a) - ROOT_LEAST;
    g->root = above > g->root ? above : g->root;
    return r_fma(r_fma(-root, root, a), y * R(0.5), root);
}
