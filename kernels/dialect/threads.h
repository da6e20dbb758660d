// SPDX-License-Identifier: MIT
// What the preludes of devices have in common: a thread is one trajectory, a real one number, a
// vector has one lane. Follows the prelude, which has the types elem, ielem, uelem and mask.
typedef elem real;
typedef ielem ireal;
typedef uelem ubits;
#define THREADS 1
#define LANE(v, i) (v)
#define R(x) ((elem)(x))
#define r_lt(a, b) ((a) < (b))
#define r_le(a, b) ((a) <= (b))
#define r_eq(a, b) ((a) == (b))
#define m_and(a, b) ((mask)((a) & (b)))
#define m_or(a, b) ((mask)((a) | (b)))
#define m_not(a) (!(a))
#define m_andnot(a, b) ((mask)((a) & !(b)))
#define m_lanes(m) ((u32)(m))
#define m_of_lanes(bits) ((mask)((bits)&1))
#ifndef I_COUNT
#define i_count(n, m) ((n) + (m))
#endif
#ifndef HOLD // where a number is from here on: the compiler keeps none of before beside it
#define HOLD(x) (void)(x)
#endif
#define select(m, a, b) ((m) ? (a) : (b))
INLINE real r_min(real a, real b) { return a < b ? a : b; }
INLINE real r_max(real a, real b) { return b < a ? a : b; }
INLINE int stop_asked(const volatile GLOBAL int *stop) { return stop && *stop; }
