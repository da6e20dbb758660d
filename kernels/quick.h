// SPDX-License-Identifier: MIT
// Division and square root in f32 without branches, for numbers that are not extreme.
//
// What a GPU's compiler makes of a division or a root is a short sequence, and a branch to a long
// one for extreme exponents; many such branches keep it from overlapping anything. Here are its
// short sequences alone, with the same bits, and a range that collects whether each of them was
// enough. The prelude gives r_rcp_approx and r_rsqrt_approx, the hardware's, which are good to an
// ulp or two and flush what is denormal to 0.
//
// Where the range holds, every result is the correctly rounded one. It holds for reciprocals of
// numbers from 2^-126 to 2^126, for roots of finite numbers from 2^-101 on, and for quotients whose
// divisor is between 2^-60 and 2^60, and so is the numerator or it is 0. Of what is not a number
// quotients are not, too, and nothing else has a range that holds.

struct range {
    real error;     // the largest of 1 - b (1/b): infinite, not a number or 1 for an extreme b
    u32 root;       // the largest of the radicands' bits, counted from those of ROOT_LEAST
    real low, high; // of divisors of quotients; high of their numerators, too
    u32 least;      // of the numerators' bits without sign, doubled, less 1: most for a 0
};
#define RANGE_NEW {0, 0, 1, 1, ~0u}
#define RANGE_ERROR 0x1p-20f
#define RANGE_LEAST 0x21800000u // bits of 2^-60
#define RANGE_MOST 0x5d800000u  // bits of 2^60
#define ROOT_LEAST 0x0d000000u  // bits of 2^-101: what remains below it would lose bits
#define ROOT_MOST 0x7f7fffffu   // bits of the largest number

INLINE mask range_holds(const struct range *g) {
    return (g->error < RANGE_ERROR) & (g->root <= ROOT_MOST - ROOT_LEAST) &
           (g->low >= r_of_bits(RANGE_LEAST)) & (g->high <= r_of_bits(RANGE_MOST)) &
           (g->least >= 2 * RANGE_LEAST - 1);
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

// a is a number between 2^-60 and 2^60.
INLINE real r_over_quick(struct range *g, real a, real b) {
    real error, y = rcp_refined(b, &error), q = a * y;
    g->low = r_at_most(r_abs(b), g->low);
    g->high = r_at_least(r_abs(b), g->high);
    return r_fma(y, r_fma(-b, q, a), q);
}

// What remains of a 0 is +0, and takes the sign from a quotient -0; hence the bits.
INLINE real r_div_quick(struct range *g, real a, real b) {
    real q = r_over_quick(g, a, b);
    u32 twice = 2 * r_bits(a) - 1;
    g->least = twice < g->least ? twice : g->least;
    g->high = r_at_least(r_abs(a), g->high);
    return r_of_bits(r_bits(q) | ((r_bits(a) ^ r_bits(b)) & SIGN_BIT));
}

INLINE real r_sqrt_quick(struct range *g, real a) {
    real y = r_rsqrt_approx(a), root = a * y;
    u32 above = r_bits(a) - ROOT_LEAST;
    g->root = above > g->root ? above : g->root;
    return r_fma(r_fma(-root, root, a), y * R(0.5), root);
}
