// SPDX-License-Identifier: MIT
// The dialect in C with GCC/Clang vector extensions: a real is a vector of W trajectories.
//
// Given: W (lanes: 1, 2, 4, 8, 16) and F32 (0 or 1). W is the width of a register; W = 1 is plain
// scalar code with the same bits. No system header: <immintrin.h> alone would double compile time.
// Everything an ISA can do in one instruction is taken from the compiler's builtins, the rest is
// written lane by lane or with vector operators. Contraction is off; fma is always explicit.
#define THREADS 0
#define TABLE
#define CONSTANT static const
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define ROLL
#define NAN_VALUE (0.0 / 0.0)
#define INFINITY_VALUE (1.0 / 0.0)
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
#define LANE(v, i) (v)
#else
typedef elem real __attribute__((vector_size(W * sizeof(elem))));
typedef ielem ireal __attribute__((vector_size(W * sizeof(elem))));
typedef uelem ubits __attribute__((vector_size(W * sizeof(elem))));
#define LANE(v, i) (v)[i]
#endif

#if W == 2
#define SPLAT(x)                                                                                   \
    { x, x }
#define LANE_BITS                                                                                  \
    { 1, 2 }
#elif W == 4
#define SPLAT(x)                                                                                   \
    { x, x, x, x }
#define LANE_BITS                                                                                  \
    { 1, 2, 4, 8 }
#elif W == 8
#define SPLAT(x)                                                                                   \
    { x, x, x, x, x, x, x, x }
#define LANE_BITS                                                                                  \
    { 1, 2, 4, 8, 16, 32, 64, 128 }
#elif W == 16
#define SPLAT(x)                                                                                   \
    { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x }
#endif

// The primitives, one block for each kind of machine: R (a literal in all lanes), bits,
// comparisons, masks, select, lane bits of a mask, counting, fma, square root, floor, min, max.
// What is used most is a macro: an inline function in every place costs more compile time than
// anything else. min and max are as x86 has them: the second operand when one is not a number.
// r_at_most and r_at_least are the same for a second operand that is a number and, where both are
// 0, of one sign: one instruction everywhere. r_size(a, b) is max(|a|, |b|), not a number when b is
// not.

#if W == 1 // scalar

typedef int mask;
#define R(x) ((elem)(x))
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
#define r_lt(a, b) ((a) < (b))
#define r_le(a, b) ((a) <= (b))
#define r_eq(a, b) ((a) == (b))
#define m_and(a, b) ((a) & (b))
#define m_or(a, b) ((a) | (b))
#define m_not(a) (!(a))
#define m_andnot(a, b) ((a) & !(b))
#define select(m, a, b) ((m) ? (a) : (b))
#define m_lanes(m) ((u32)(m))
#define m_of_lanes(bits) ((mask)((bits)&1))
#define i_count(n, m) ((n) + (m))
// GCC makes -fma(a, b, c) to fma(-a, b, -c), which is another 0 where that is 0, unless it cannot
// see where the number comes from.
INLINE real r_fma(real a, real b, real c) {
    real r = FN(__builtin_fma)(a, b, c);
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
    __asm__("" : "+x"(r));
#endif
    return r;
}
#define r_sqrt(a) FN(__builtin_sqrt)(a)
#define r_floor(a) FN(__builtin_floor)(a)
INLINE real r_min(real a, real b) { return a < b ? a : b; }
INLINE real r_max(real a, real b) { return b < a ? a : b; }

#elif defined(__AVX512F__) && W * ELEM_BITS == 512 // masks have registers

#define R(x) ((real)SPLAT((elem)(x)))
#define r_bits(a) ((ubits)(a))
#define r_of_bits(a) ((real)(a))
#if F32
typedef unsigned short mask;
#define X86_S(pd, ps) ps
#define MASK_ALL ((mask)0xffff)
#else
typedef unsigned char mask;
#define X86_S(pd, ps) pd
#define MASK_ALL ((mask)0xff)
#endif
#define CMP(a, b, how)                                                                             \
    ((mask)X86_S(__builtin_ia32_cmppd512_mask, __builtin_ia32_cmpps512_mask)(a, b, how, MASK_ALL,  \
                                                                             4))
#define r_lt(a, b) CMP(a, b, 17) // ordered, quiet
#define r_le(a, b) CMP(a, b, 18)
#define r_eq(a, b) CMP(a, b, 0)
#define m_and(a, b) ((mask)((a) & (b)))
#define m_or(a, b) ((mask)((a) | (b)))
#define m_not(a) ((mask) ~(a))
#define m_andnot(a, b) ((mask)((a) & ~(b)))
#define m_lanes(m) ((u32)(m))
#define m_of_lanes(bits) ((mask)(bits))
#define r_fma(a, b, c)                                                                             \
    X86_S(__builtin_ia32_vfmaddpd512_mask, __builtin_ia32_vfmaddps512_mask)(a, b, c, MASK_ALL, 4)
INLINE real r_floor(real a) {
    return X86_S(__builtin_ia32_rndscalepd_mask, __builtin_ia32_rndscaleps_mask)(a, 9, a, MASK_ALL,
                                                                                 4);
}
#ifdef __clang__
#define select(m, a, b) X86_S(__builtin_ia32_selectpd_512, __builtin_ia32_selectps_512)(m, a, b)
#define r_sqrt(a) X86_S(__builtin_ia32_sqrtpd512, __builtin_ia32_sqrtps512)(a, 4)
#define r_min(a, b) X86_S(__builtin_ia32_minpd512, __builtin_ia32_minps512)(a, b, 4)
#define r_max(a, b) X86_S(__builtin_ia32_maxpd512, __builtin_ia32_maxps512)(a, b, 4)
#else
#define select(m, a, b)                                                                            \
    X86_S(__builtin_ia32_blendmpd_512_mask, __builtin_ia32_blendmps_512_mask)(b, a, m)
INLINE real r_sqrt(real a) {
    return X86_S(__builtin_ia32_sqrtpd512_mask, __builtin_ia32_sqrtps512_mask)(a, a, MASK_ALL, 4);
}
INLINE real r_min(real a, real b) {
    return X86_S(__builtin_ia32_minpd512_mask, __builtin_ia32_minps512_mask)(a, b, a, MASK_ALL, 4);
}
INLINE real r_max(real a, real b) {
    return X86_S(__builtin_ia32_maxpd512_mask, __builtin_ia32_maxps512_mask)(a, b, a, MASK_ALL, 4);
}
#endif
INLINE ireal i_count(ireal n, mask m) {
    return (ireal)select(m, (real)(n + 1), (real)n); // moves bits only
}

#else // masks are integer vectors of 0 and -1

typedef ireal mask;
#define R(x) ((real)SPLAT((elem)(x)))
#define r_bits(a) ((ubits)(a))
#define r_of_bits(a) ((real)(a))
#define r_lt(a, b) ((mask)((a) < (b)))
#define r_le(a, b) ((mask)((a) <= (b)))
#define r_eq(a, b) ((mask)((a) == (b)))
#define m_and(a, b) ((a) & (b))
#define m_or(a, b) ((a) | (b))
#define m_not(a) (~(a))
#define m_andnot(a, b) ((a) & ~(b))
#define i_count(n, m) ((n) - (m))
INLINE mask m_of_lanes(u32 bits) {
    const ireal lane = LANE_BITS;
    return (mask)(((ireal)SPLAT((ielem)bits) & lane) == lane);
}
#if defined(__AVX2__) && defined(__FMA__) && W * ELEM_BITS == 256
#if F32
#define X86_S(pd, ps) ps
#else
#define X86_S(pd, ps) pd
#endif
#define select(m, a, b)                                                                            \
    X86_S(__builtin_ia32_blendvpd256, __builtin_ia32_blendvps256)(b, a, (real)(m))
#define m_lanes(m) ((u32)X86_S(__builtin_ia32_movmskpd256, __builtin_ia32_movmskps256)((real)(m)))
#if defined(__clang__) && __clang_major__ >= 18 // later ones lack the names of instructions
#define r_fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#define r_sqrt(a) __builtin_elementwise_sqrt(a)
#else
#define r_fma(a, b, c) X86_S(__builtin_ia32_vfmaddpd256, __builtin_ia32_vfmaddps256)(a, b, c)
#define r_sqrt(a) X86_S(__builtin_ia32_sqrtpd256, __builtin_ia32_sqrtps256)(a)
#endif
#define r_floor(a) X86_S(__builtin_ia32_roundpd256, __builtin_ia32_roundps256)(a, 9)
#define r_min(a, b) X86_S(__builtin_ia32_minpd256, __builtin_ia32_minps256)(a, b)
#define r_max(a, b) X86_S(__builtin_ia32_maxpd256, __builtin_ia32_maxps256)(a, b)
#else
INLINE real select(mask m, real a, real b) {
    return r_of_bits((r_bits(a) & (ubits)m) | (r_bits(b) & ~(ubits)m));
}
INLINE u32 m_lanes(mask m) {
    u32 bits = 0;
    UNROLL for (int i = 0; i < W; i++) bits |= (u32)(m[i] & 1) << i;
    return bits;
}
#define BY_LANE(expression)                                                                        \
    real r;                                                                                        \
    UNROLL for (int i = 0; i < W; i++) r[i] = expression;                                          \
    return r
INLINE real r_fma(real a, real b, real c) { BY_LANE(FN(__builtin_fma)(a[i], b[i], c[i])); }
INLINE real r_sqrt(real a) { BY_LANE(FN(__builtin_sqrt)(a[i])); }
INLINE real r_floor(real a) { BY_LANE(FN(__builtin_floor)(a[i])); }
INLINE real r_min(real a, real b) { return select(r_lt(a, b), a, b); }
INLINE real r_max(real a, real b) { return select(r_lt(b, a), a, b); }
#endif

#endif

#define any(m) (m_lanes(m) != 0)
#define r_at_most(a, b) r_min(a, b)
#define r_at_least(a, b) r_max(a, b)
#define r_size(a, b) r_max(r_abs(a), r_abs(b))

INLINE u32 work_take(u32 *counter, u32 count) {
    return __atomic_fetch_add(counter, count, __ATOMIC_RELAXED);
}
INLINE int stop_asked(const volatile int *stop) { return __atomic_load_n(stop, __ATOMIC_RELAXED); }
