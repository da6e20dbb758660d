// SPDX-License-Identifier: MIT
// The dialect in C with GCC/Clang vector extensions: a real is a vector of W trajectories.
//
// Given: W (lanes: 1, 2, 4, 8, 16) and F32 (0 or 1). W is the width of a register; W = 1 is plain
// scalar code with the same bits. No system header: <immintrin.h> alone would double compile time.
// Everything an ISA can do in one instruction is taken from the compiler's builtins, the rest is
// written lane by lane or with vector operators. Contraction is off; fma is always explicit.
#define CONSTANT static const
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#define KERNEL __attribute__((visibility("default")))

typedef unsigned int u32;
typedef unsigned long long u64;

#if F32
typedef float elem;
typedef int ielem;
typedef unsigned int uelem;
#define ELEM_BITS 32
#define FN(name) name##f
#else
typedef double elem;
typedef long long ielem;
typedef unsigned long long uelem;
#define ELEM_BITS 64
#define FN(name) name
#endif

#if W == 1
typedef elem real;
typedef ielem ireal;
typedef uelem ubits;
typedef int mask;
#define LANE(v, i) (v)
#else
typedef elem real __attribute__((vector_size(W * sizeof(elem))));
typedef ielem ireal __attribute__((vector_size(W * sizeof(elem))));
typedef uelem ubits __attribute__((vector_size(W * sizeof(elem))));
#define LANE(v, i) (v)[i]
#endif

#define R(x) r_set((elem)(x))

#if W == 1
INLINE real r_set(elem x) { return x; }
INLINE ubits r_bits(real a) {
    union {
        real r;
        ubits u;
    } x = {a};
    return x.u;
}
INLINE real r_of_bits(ubits a) {
    union {
        ubits u;
        real r;
    } x = {a};
    return x.r;
}
#else
#if W == 2
#define SPLAT(x) {x, x}
#elif W == 4
#define SPLAT(x) {x, x, x, x}
#elif W == 8
#define SPLAT(x) {x, x, x, x, x, x, x, x}
#else
#define SPLAT(x) {x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}
#endif
INLINE real r_set(elem x) { return (real)SPLAT(x); }
INLINE ubits r_bits(real a) { return (ubits)a; } // the same bits
INLINE real r_of_bits(ubits a) { return (real)a; }
#endif

// Conditions. AVX-512 has mask registers; elsewhere a mask is an integer vector of 0 and -1.
#if W == 1
INLINE mask r_lt(real a, real b) { return a < b; }
INLINE mask r_le(real a, real b) { return a <= b; }
INLINE mask r_eq(real a, real b) { return a == b; }
INLINE mask m_and(mask a, mask b) { return a & b; }
INLINE mask m_or(mask a, mask b) { return a | b; }
INLINE mask m_not(mask a) { return !a; }
INLINE mask m_andnot(mask a, mask b) { return a & !b; }
INLINE real select(mask m, real a, real b) { return m ? a : b; }
INLINE ireal i_count(ireal n, mask m) { return n + m; }
INLINE int any(mask m) { return m; }
INLINE u32 m_lanes(mask m) { return (u32)m; }
INLINE mask m_of_lanes(u32 bits) { return (mask)(bits & 1); }
#elif defined(__AVX512F__) && W * ELEM_BITS == 512
#if F32
typedef unsigned short mask;
#define MASK_ALL ((mask)0xffff)
#define CMP(a, b, how) (mask) __builtin_ia32_cmpps512_mask(a, b, how, MASK_ALL, 4)
#else
typedef unsigned char mask;
#define MASK_ALL ((mask)0xff)
#define CMP(a, b, how) (mask) __builtin_ia32_cmppd512_mask(a, b, how, MASK_ALL, 4)
#endif
INLINE mask r_lt(real a, real b) { return CMP(a, b, 17); } // ordered, quiet
INLINE mask r_le(real a, real b) { return CMP(a, b, 18); }
INLINE mask r_eq(real a, real b) { return CMP(a, b, 0); }
INLINE mask m_and(mask a, mask b) { return a & b; }
INLINE mask m_or(mask a, mask b) { return a | b; }
INLINE mask m_not(mask a) { return (mask)~a; }
INLINE mask m_andnot(mask a, mask b) { return (mask)(a & ~b); }
INLINE real select(mask m, real a, real b) {
#if F32 && defined(__clang__)
    return __builtin_ia32_selectps_512(m, a, b);
#elif F32
    return __builtin_ia32_blendmps_512_mask(b, a, m);
#elif defined(__clang__)
    return __builtin_ia32_selectpd_512(m, a, b);
#else
    return __builtin_ia32_blendmpd_512_mask(b, a, m);
#endif
}
INLINE ireal i_count(ireal n, mask m) {
    return (ireal)r_bits(select(m, r_of_bits((ubits)(n + 1)), r_of_bits((ubits)n)));
}
INLINE int any(mask m) { return m != 0; }
INLINE u32 m_lanes(mask m) { return m; }
INLINE mask m_of_lanes(u32 bits) { return (mask)bits; }
#else
typedef ireal mask;
INLINE mask r_lt(real a, real b) { return (mask)(a < b); }
INLINE mask r_le(real a, real b) { return (mask)(a <= b); }
INLINE mask r_eq(real a, real b) { return (mask)(a == b); }
INLINE mask m_and(mask a, mask b) { return a & b; }
INLINE mask m_or(mask a, mask b) { return a | b; }
INLINE mask m_not(mask a) { return ~a; }
INLINE mask m_andnot(mask a, mask b) { return a & ~b; }
INLINE ireal i_count(ireal n, mask m) { return n - m; }
#if defined(__AVX2__) && F32 && W == 8
INLINE real select(mask m, real a, real b) {
    return __builtin_ia32_blendvps256(b, a, (real)m);
}
INLINE u32 m_lanes(mask m) { return (u32)__builtin_ia32_movmskps256((real)m); }
#elif defined(__AVX2__) && !F32 && W == 4
INLINE real select(mask m, real a, real b) {
    return __builtin_ia32_blendvpd256(b, a, (real)m);
}
INLINE u32 m_lanes(mask m) { return (u32)__builtin_ia32_movmskpd256((real)m); }
#else
INLINE real select(mask m, real a, real b) {
    return r_of_bits((r_bits(a) & (ubits)m) | (r_bits(b) & ~(ubits)m));
}
INLINE u32 m_lanes(mask m) {
    u32 bits = 0;
    UNROLL for (int i = 0; i < W; i++) bits |= (u32)(m[i] & 1) << i;
    return bits;
}
#endif
INLINE int any(mask m) { return m_lanes(m) != 0; }
INLINE mask m_of_lanes(u32 bits) {
    mask m;
    UNROLL for (int i = 0; i < W; i++) m[i] = -(ielem)(bits >> i & 1);
    return m;
}
#endif

// Arithmetic that has no operator.
#if W == 1
INLINE real r_fma(real a, real b, real c) { return FN(__builtin_fma)(a, b, c); }
INLINE real r_sqrt(real a) { return FN(__builtin_sqrt)(a); }
INLINE real r_floor(real a) { return FN(__builtin_floor)(a); }
#elif defined(__AVX512F__) && W * ELEM_BITS == 512
#if F32
INLINE real r_fma(real a, real b, real c) {
    return __builtin_ia32_vfmaddps512_mask(a, b, c, MASK_ALL, 4);
}
INLINE real r_floor(real a) { return __builtin_ia32_rndscaleps_mask(a, 9, a, MASK_ALL, 4); }
#ifdef __clang__
INLINE real r_sqrt(real a) { return __builtin_ia32_sqrtps512(a, 4); }
#else
INLINE real r_sqrt(real a) { return __builtin_ia32_sqrtps512_mask(a, a, MASK_ALL, 4); }
#endif
#else
INLINE real r_fma(real a, real b, real c) {
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, MASK_ALL, 4);
}
INLINE real r_floor(real a) { return __builtin_ia32_rndscalepd_mask(a, 9, a, MASK_ALL, 4); }
#ifdef __clang__
INLINE real r_sqrt(real a) { return __builtin_ia32_sqrtpd512(a, 4); }
#else
INLINE real r_sqrt(real a) { return __builtin_ia32_sqrtpd512_mask(a, a, MASK_ALL, 4); }
#endif
#endif
#elif defined(__FMA__) && F32 && W == 8
INLINE real r_fma(real a, real b, real c) { return __builtin_ia32_vfmaddps256(a, b, c); }
INLINE real r_sqrt(real a) { return __builtin_ia32_sqrtps256(a); }
INLINE real r_floor(real a) { return __builtin_ia32_roundps256(a, 9); }
#elif defined(__FMA__) && !F32 && W == 4
INLINE real r_fma(real a, real b, real c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
INLINE real r_sqrt(real a) { return __builtin_ia32_sqrtpd256(a); }
INLINE real r_floor(real a) { return __builtin_ia32_roundpd256(a, 9); }
#else
#define BY_LANE(expression)                                                                        \
    real r;                                                                                        \
    UNROLL for (int i = 0; i < W; i++) r[i] = expression;                                          \
    return r
INLINE real r_fma(real a, real b, real c) { BY_LANE(FN(__builtin_fma)(a[i], b[i], c[i])); }
INLINE real r_sqrt(real a) { BY_LANE(FN(__builtin_sqrt)(a[i])); }
INLINE real r_floor(real a) { BY_LANE(FN(__builtin_floor)(a[i])); }
#endif

// min and max as x86 has them: the second operand when one is not a number.
#if defined(__AVX512F__) && W * ELEM_BITS == 512 && !F32 && !defined(__clang__)
INLINE real r_min(real a, real b) { return __builtin_ia32_minpd512_mask(a, b, a, MASK_ALL, 4); }
INLINE real r_max(real a, real b) { return __builtin_ia32_maxpd512_mask(a, b, a, MASK_ALL, 4); }
#elif defined(__AVX512F__) && W * ELEM_BITS == 512 && F32 && !defined(__clang__)
INLINE real r_min(real a, real b) { return __builtin_ia32_minps512_mask(a, b, a, MASK_ALL, 4); }
INLINE real r_max(real a, real b) { return __builtin_ia32_maxps512_mask(a, b, a, MASK_ALL, 4); }
#elif defined(__AVX512F__) && W * ELEM_BITS == 512 && !F32
INLINE real r_min(real a, real b) { return __builtin_ia32_minpd512(a, b, 4); }
INLINE real r_max(real a, real b) { return __builtin_ia32_maxpd512(a, b, 4); }
#elif defined(__AVX512F__) && W * ELEM_BITS == 512 && F32
INLINE real r_min(real a, real b) { return __builtin_ia32_minps512(a, b, 4); }
INLINE real r_max(real a, real b) { return __builtin_ia32_maxps512(a, b, 4); }
#elif defined(__AVX2__) && !F32 && W == 4
INLINE real r_min(real a, real b) { return __builtin_ia32_minpd256(a, b); }
INLINE real r_max(real a, real b) { return __builtin_ia32_maxpd256(a, b); }
#elif defined(__AVX2__) && F32 && W == 8
INLINE real r_min(real a, real b) { return __builtin_ia32_minps256(a, b); }
INLINE real r_max(real a, real b) { return __builtin_ia32_maxps256(a, b); }
#else
INLINE real r_min(real a, real b) { return select(r_lt(a, b), a, b); }
INLINE real r_max(real a, real b) { return select(r_lt(b, a), a, b); }
#endif

INLINE u32 work_take(u32 *counter, u32 count) {
    return __atomic_fetch_add(counter, count, __ATOMIC_RELAXED);
}
INLINE int stop_asked(const int *stop) { return __atomic_load_n(stop, __ATOMIC_RELAXED); }
