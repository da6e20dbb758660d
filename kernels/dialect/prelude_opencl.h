// SPDX-License-Identifier: MIT
// The dialect in OpenCL C 1.2: a work item is one trajectory, a real is one number.
//
// Contraction is off and an fma is always explicit, so that the bits are those of the CPU. There
// are no votes between work items: each decides for itself.
#pragma OPENCL FP_CONTRACT OFF
#if !F32
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define WARP 1
#define GLOBAL __global
#define LOCAL __local
#define SHOAL_U64 ulong
#define TABLE __constant
#define CONSTANT __constant
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define UNROLL _Pragma("unroll")
#define ROLL _Pragma("unroll 1")
#define UNROLL_SOME _Pragma("unroll 4")
#define INFINITY_VALUE INFINITY
#define KERNEL __kernel
#define FN(name) name // one name for all types

typedef uint u32;
typedef ulong u64;
typedef int mask;

#if F32
typedef float elem;
typedef int ielem;
typedef uint uelem;
#define r_bits(a) as_uint(a)
#define r_of_bits(a) as_float(a)
#define NAN_VALUE as_float(0x7fc00000u) // that of the other dialects, unlike NAN
#else
typedef double elem;
typedef long ielem;
typedef ulong uelem;
#define r_bits(a) as_ulong(a)
#define r_of_bits(a) as_double(a)
#define NAN_VALUE as_double(0x7ff8000000000000ul)
#endif

#define r_fma(a, b, c) fma((real)(a), (real)(b), (real)(c))
#define r_sqrt(a) sqrt((real)(a))
#define r_floor(a) floor((real)(a))
#define r_at_most r_min
#define r_at_least r_max
#define r_size(a, b) r_max(fabs((real)(a)), fabs((real)(b)))

// ---- threads ------------------------------------------------------------------------------------

INLINE u32 thread_number(void) { return (u32)get_global_id(0); }
INLINE int warp_any(int p) { return p; }
INLINE u32 warp_count(int p) { return p ? 1 : 0; }
INLINE u32 divided_roughly(u32 a, u32 b) { return a / b; }

// The next number of the counter, where one is wanted.
INLINE u32 work_take_one(volatile GLOBAL u32 *counter, int wanted) {
    return wanted ? atomic_inc(counter) : 0;
}

// In two halves: 64-bit atomics are an extension. Whoever makes the low half wrap carries.
INLINE void total_add(GLOBAL u64 *total, u64 value) {
    volatile GLOBAL u32 *word = (volatile GLOBAL u32 *)total;
#ifdef __ENDIAN_LITTLE__
    const int low_at = 0;
#else
    const int low_at = 1;
#endif
    u32 low = (u32)value, high = (u32)(value >> 32);
    if (low)
        high += atomic_add(word + low_at, low) + low < low;
    if (high)
        atomic_add(word + 1 - low_at, high);
}

#define LONE_PARAMETER(name)
#define LONE_BEGIN(name, read)
#define LONE_END(name)

// ---- blocks: work-groups ------------------------------------------------------------------------

// Memory that a group shares, as many bytes as the launch says: the last parameter of a kernel, and
// the first line of its body. atomic_add, atomic_min and atomic_max are the language's.
#define SHARED_PARAMETER(name) , LOCAL u64 *name
#define SHARED_MEMORY(name)
#define block_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
INLINE u32 work_take(volatile GLOBAL u32 *counter, u32 count) { return atomic_add(counter, count); }
INLINE int warp_leads(void) { return 1; }
INLINE int warp_add(int v) { return v; }
INLINE int warp_min(int v) { return v; }
INLINE int warp_max(int v) { return v; }
