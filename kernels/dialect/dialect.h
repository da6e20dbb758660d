// SPDX-License-Identifier: MIT
// What every target shares on top of its prelude: sign tricks, the controllers' log2 and exp2,
// time.
//
// Only + - * fma, comparisons and bit operations, so that the bits are the same everywhere.

// Loop over the states from `first`, unrolled for small systems; over stages; over anything else
// that a thread keeps in registers.
#if N <= UNROLL_STATES
#define STATES(j, first) UNROLL for (int j = first; j < N; j++)
#elif THREADS
#define STATES(j, first) UNROLL_SOME for (int j = first; j < N; j++)
#else
#define STATES(j, first) ROLL for (int j = first; j < N; j++)
#endif
#if UNROLL_STAGES
#define STAGE_LOOP(i, count) UNROLL for (int i = 0; i < count; i++)
#else
#define STAGE_LOOP(i, count) ROLL for (int i = 0; i < count; i++)
#endif
#if THREADS && N <= UNROLL_STATES
#define ITEMS(i, count) UNROLL for (int i = 0; i < count; i++)
#else
#define ITEMS(i, count) ROLL for (int i = 0; i < count; i++)
#endif
#if THREADS
#define any(m) (m)
#endif
// What a CPU keeps apart from its loop is OUTLINE and stands in COLD_PART; for a thread it would
// force registers out. SHOAL_PART splits a text into two units that are compiled side by side: 1 is
// the loop, 2 is the rest; without it the text is one unit.
#ifndef SHOAL_PART
#define SHOAL_PART 0
#endif
#define HOT_PART (SHOAL_PART != 2)
#define COLD_PART (SHOAL_PART != 1)
#if THREADS && N <= UNROLL_STATES
#define OUTLINE INLINE
#elif SHOAL_PART
#define OUTLINE __attribute__((noinline, visibility("hidden")))
#else
#define OUTLINE NOINLINE
#endif
// Arrays of reals lie in SPACE. An array for the time of a function is a variable, or in large
// systems, which do not fit on a stack, a place in the workspace. Threads keep all arrays of large
// systems there, and then structs have pointers to them.
#if THREADS && LARGE
#define SPACE GLOBAL
#define ARRAY(name, size) SPACE real *name
#else
#define SPACE
#define ARRAY(name, size) real name[size]
#endif
#if LARGE
#define SPARE(name, size, place) SPACE real *name = place
#else
#define SPARE(name, size, place) real name[size]
#endif

// sum + w x for a constant w, of the same bits with one operand less where w is 1
#define r_weigh(w, x, sum) ((w) == 1 ? (sum) + (x) : r_fma(R(w), x, sum))
#define r_fms(a, b, c) r_fma(a, b, -(c))  // a*b - c
#define r_fnma(a, b, c) r_fma(-(a), b, c) // c - a*b

#if F32
#define MANTISSA 23
#define EXPONENT_BIAS 127
#define EPSILON 1.1920929e-7
#define TIME_EPSILON 1.4210854715202004e-14 // of a pair
#define ROUND_MAGIC 12582912.0              // 1.5 * 2^23
#define EXPONENT_MAGIC 0x4b000000u          // 2^23 as bits
#define EXPONENT_SHIFT (8388608.0 + 127.0)
#define SIGN_BIT 0x80000000u
#define ONE_BITS 0x3f800000u
#define RECIPROCAL_BITS 0x7ef311c7u
#define COARSE_SHIFT 8
#define COARSE_UNIT 32768.0 // 2^15
#define COARSE_OFFSET (8388608.0 + 126.957 * COARSE_UNIT)
#define HUGE_ERROR 1e30
#define SMALLEST_STEP 1e-36
#define SMALLEST_SCALE 1e-37
#define LARGEST_SCALE 1e37
#define LARGEST_PIVOT 0x1p126
#define PIVOT_OVERFLOWS 4.0 // times LARGEST_PIVOT
#else
#define MANTISSA 52
#define EXPONENT_BIAS 1023
#define EPSILON 2.220446049250313e-16
#define TIME_EPSILON EPSILON
#define ROUND_MAGIC 6755399441055744.0     // 1.5 * 2^52
#define EXPONENT_MAGIC 0x4330000000000000u // 2^52 as bits
#define EXPONENT_SHIFT (4503599627370496.0 + 1023.0)
#define SIGN_BIT 0x8000000000000000u
#define ONE_BITS 0x3ff0000000000000u
#define RECIPROCAL_BITS 0x7fde623822fc16e6u
#define COARSE_SHIFT 12
#define COARSE_UNIT 1099511627776.0 // 2^40
#define COARSE_OFFSET (4503599627370496.0 + 1022.957 * COARSE_UNIT)
#define HUGE_ERROR 1e60
#define SMALLEST_STEP 1e-300
#define SMALLEST_SCALE 1e-300
#define LARGEST_SCALE 1e300
#define LARGEST_PIVOT 0x1p996
#define PIVOT_OVERFLOWS 268435456.0 // 2^28 times LARGEST_PIVOT
#endif

#if THREADS // costs nothing in most of a device's instructions
INLINE real r_abs(real a) { return FN(fabs)(a); }
#else
INLINE real r_abs(real a) { return r_of_bits(r_bits(a) & ~(uelem)SIGN_BIT); }
#endif
INLINE mask r_gt(real a, real b) { return r_lt(b, a); }
INLINE mask r_ge(real a, real b) { return r_le(b, a); }
INLINE mask r_ne(real a, real b) { return m_not(r_eq(a, b)); }
// Those of a model hand on what is not a number, whichever operand it is.
INLINE real r_model_min(real a, real b) { return select(r_eq(a, a), r_min(a, b), a); }
INLINE real r_model_max(real a, real b) { return select(r_eq(a, a), r_max(a, b), a); }
INLINE real r_ceil(real a) { return -r_floor(-a); }
INLINE real r_num(mask m) { return select(m, R(1), R(0)); }
INLINE real r_sign(real a) {
    return select(r_gt(a, R(0)), R(1), select(r_lt(a, R(0)), R(-1), a)); // keeps 0 and NaN
}
INLINE real r_heav(real a) { return select(r_ge(a, R(0)), R(1), select(r_lt(a, R(0)), R(0), a)); }
INLINE real r_mod(real a, real b) { // in [0, b), whatever rounding does
    real r = a - b * r_floor(a / b);
    r = select(r_lt(r * r_sign(b), R(0)), r + b, r);
    return select(r_ge(r_abs(r), r_abs(b)), R(0), r);
}

// What a factorisation is made of; complex numbers have the same with c_.
#define r_mul(a, b) ((a) * (b))
#define r_scale(scale, x) ((scale) * (x))
#define r_scale_one(scale, x) r_fma(scale, x, R(1))
#define r_minus(x) (-(x))
#define r_magnitude(a) r_abs(a)
#define r_less(a, b) ((a) - (b))
#define r_on(a, x, sum) r_fma(a, x, sum) // x is real, whatever the others are
#define r_zero R(0)
// A step of many numbers is one long block of code. A GPU's compiler begins early what comes late
// in it, until hundreds of numbers wait in memory: FENCES says where it must not.
enum {
    FENCE_FACTORED = 1,
    FENCE_SOLVED = 2,
    FENCE_GUESS = 4,
    FENCE_PIVOTS = 8,
    FENCE_ARGUMENT = 16, // of the right-hand side
};
#ifndef FENCE
#define FENCE(where)
#endif

// 1/a where the size of a is from SMALLEST_SCALE to below LARGEST_PIVOT; else it may be anything.
#ifndef r_inverse
#define r_inverse(a) (R(1) / (a))
#endif

// 1/x of a positive normal number that is not huge, to 1.3e-4: a guess by the exponent, and one
// iteration of third order. Not finite when x is not.
INLINE real r_reciprocal_rough(real x) {
    real r = r_of_bits((uelem)RECIPROCAL_BITS - r_bits(x));
    real e = r_fnma(x, r, R(1));
    return r_fma(r, r_fma(e, e, e), r);
}

// log2 of a positive normal number, to 2e-5. Any other gives a number all the same: 0 a small one,
// and what is not finite a large one.
INLINE real r_log2_rough(real x) {
    ubits b = r_bits(x);
    real e = r_of_bits((b >> MANTISSA) | (uelem)EXPONENT_MAGIC) - R(EXPONENT_SHIFT);
    real m = r_of_bits((b & (((uelem)1 << MANTISSA) - 1)) | (uelem)ONE_BITS);
    real p = r_fma(m, R(0.043004957791727826), R(-0.402513393548008));
    p = r_fma(p, m, R(1.5894742949724239));
    p = r_fma(p, m, R(-3.489878550680221));
    p = r_fma(p, m, R(5.047855413438107));
    return r_fma(p, m, R(-2.7879262073031468)) + e;
}

// COARSE_UNIT times log2, to 0.043 of it: the bits of a number are its log2, nearly.
INLINE real r_log2_coarse(real x) {
    return r_of_bits((r_bits(x) >> COARSE_SHIFT) + (uelem)EXPONENT_MAGIC) - R(COARSE_OFFSET);
}

// 2^x for |x| < 100, to 3e-6; coarse to 2e-3.
INLINE real r_exp2_rough(real x) {
    real n = x + R(ROUND_MAGIC);
    real r = x - (n - R(ROUND_MAGIC));
    real p = r_fma(r, R(0.009666368515338686), R(0.05592197584225338));
    p = r_fma(p, r, R(0.24022349038021354));
    p = r_fma(p, r, R(0.6931210452034274));
    p = r_fma(p, r, R(1));
    return r_of_bits(r_bits(p) + (r_bits(n) << MANTISSA));
}
INLINE real r_exp2_coarse(real x) {
    real n = x + R(ROUND_MAGIC);
    real r = x - (n - R(ROUND_MAGIC));
    real p = r_fma(r, R(0.23842893572290194), R(0.7034480059415668));
    p = r_fma(p, r, R(1.000443141974744));
    return r_of_bits(r_bits(p) + (r_bits(n) << MANTISSA));
}

#if COLLOCATION
typedef struct {
    real re, im;
} cplx;
INLINE cplx c_of(real re, real im) {
    cplx c = {re, im};
    return c;
}
#define c_minus(x) c_of(-(x), R(0))
INLINE cplx c_scale(cplx a, real x) { return c_of(a.re * x, a.im * x); }
INLINE cplx c_mul(cplx a, cplx b) {
    return c_of(r_fma(a.re, b.re, -(a.im * b.im)), r_fma(a.re, b.im, a.im * b.re));
}
INLINE cplx c_fnma(cplx a, cplx b, cplx c) { // c - a b
    return c_of(r_fma(a.im, b.im, r_fnma(a.re, b.re, c.re)),
                r_fnma(a.im, b.re, r_fnma(a.re, b.im, c.im)));
}
INLINE cplx c_fma(cplx a, cplx b, cplx c) { // c + a b
    return c_of(r_fnma(a.im, b.im, r_fma(a.re, b.re, c.re)),
                r_fma(a.im, b.re, r_fma(a.re, b.im, c.im)));
}
INLINE cplx c_less(cplx a, real x) { return c_of(a.re - x, a.im); }
INLINE cplx c_on(cplx a, real x, cplx sum) {
    return c_of(r_fma(a.re, x, sum.re), r_fma(a.im, x, sum.im));
}
#define c_zero c_of(R(0), R(0))
INLINE real c_magnitude(cplx a) { return r_abs(a.re) + r_abs(a.im); }
INLINE cplx c_inverse(cplx a) { // scaled, so that no square overflows
    real scale = r_reciprocal_rough(c_magnitude(a));
    real re = a.re * scale, im = a.im * scale, q = scale * r_inverse(r_fma(re, re, im * im));
    return c_of(re * q, -(im * q));
}
#endif

// Time: f64 as it is, f32 as an unevaluated pair.
#if F32
typedef struct {
    real hi, lo;
} treal;
INLINE treal t_pair(elem hi, elem lo) {
    treal t = {R(hi), R(lo)};
    return t;
}
INLINE treal t_load(const GLOBAL elem *pair) { return t_pair(pair[0], pair[1]); }
INLINE treal t_add(treal t, real h) { // t + h
    real s = t.hi + h, b = s - t.hi;
    real e = ((t.hi - (s - b)) + (h - b)) + t.lo;
    treal r = {s + e, R(0)};
    r.lo = e - (r.hi - s);
    return r;
}
// t + h with the rounding of h: what is lost of the sum is kept, as in Kahan's.
INLINE treal t_step(treal t, real h) {
    real y = h + t.lo;
    treal r = {t.hi + y, R(0)};
    r.lo = y - (r.hi - t.hi);
    return r;
}
INLINE real t_diff(treal a, treal b) { return (a.hi - b.hi) + (a.lo - b.lo); }
INLINE treal t_between(treal a, treal b) { return t_add(t_add(b, -a.hi), -a.lo); } // b - a
INLINE real t_real(treal t) { return t.hi; }
INLINE real t_at(treal t, real ch) { return t.hi + (t.lo + ch); } // t + ch as a number
INLINE treal t_select(mask m, treal a, treal b) {
    treal r = {select(m, a.hi, b.hi), select(m, a.lo, b.lo)};
    return r;
}
// t0 + i dt; i splits into two exact halves, products are exact by fma.
INLINE treal t_index(treal t0, ireal i, treal dt) {
    ireal low = i & 0xfff;
    real ih, il;
#if W == 1
    ih = (real)(i - low), il = (real)low;
#else
    ih = __builtin_convertvector(i - low, real), il = __builtin_convertvector(low, real);
#endif
    real p = ih * dt.hi, q = il * dt.hi;
    treal t = t_add(t_add(t0, p), q);
    real small = r_fma(ih, dt.hi, -p) + r_fma(il, dt.hi, -q) + (ih + il) * dt.lo;
    return t_add(t, small);
}
INLINE treal t_signed(treal t, real sign) {
    treal r = {t.hi * sign, t.lo * sign};
    return r;
}
#define T_LANE(t, i) LANE((t).hi, i)
#define T_LANE_LO(t, i) LANE((t).lo, i)
#define T_SET(t, i, a, b) (LANE((t).hi, i) = (a), LANE((t).lo, i) = (b))
#define T_COPY(to, i, from, j) T_SET(to, i, LANE((from).hi, j), LANE((from).lo, j))
#else
typedef real treal;
INLINE treal t_pair(elem hi, elem lo) { return R(hi); }
INLINE treal t_load(const GLOBAL elem *pair) { return R(pair[0]); }
INLINE treal t_add(treal t, real h) { return t + h; }
INLINE treal t_step(treal t, real h) { return t + h; }
INLINE real t_diff(treal a, treal b) { return a - b; }
INLINE treal t_between(treal a, treal b) { return b - a; }
INLINE real t_real(treal t) { return t; }
INLINE real t_at(treal t, real ch) { return t + ch; }
INLINE treal t_select(mask m, treal a, treal b) { return select(m, a, b); }
INLINE treal t_index(treal t0, ireal i, treal dt) { // i < 2^51
    real n = r_of_bits((ubits)i + (uelem)EXPONENT_MAGIC) - R(4503599627370496.0);
    return r_fma(n, dt, t0);
}
INLINE treal t_signed(treal t, real sign) { return t * sign; }
#define T_LANE(t, i) LANE(t, i)
#define T_LANE_LO(t, i) (elem)0
#define T_SET(t, i, a, b) ((void)(b), LANE(t, i) = (a))
#define T_COPY(to, i, from, j) (LANE(to, i) = LANE(from, j))
#endif
// By how much times of a run from t0 differ that are meant to be one: 3 * 0.1 and 0.3. A sum or
// product is off by half an epsilon, and so are the numbers in it: with the one that it is to be,
// from + k * period has four such halves, and four more are left for what parameters make of those.
// What is nearer counts as one, so it is no more than that.
INLINE real t_width(treal t, treal t0) {
    return (r_abs(t_real(t)) + r_abs(t_real(t0))) * R(4 * TIME_EPSILON);
}
