// SPDX-License-Identifier: MIT
// The dialect in CUDA C++ for NVRTC: a thread is one trajectory, a real is one number.
//
// Compiled with --fmad=false: an fma is always explicit, so that the bits are those of the CPU. No
// header is included; what is used of CUDA are its built-in functions.
#define WARP 32
#define GLOBAL
#define LOCAL
#define TABLE
#define CONSTANT static __device__ constexpr
#define INLINE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__
#define UNROLL _Pragma("unroll")
#define ROLL _Pragma("unroll 1")
#define UNROLL_SOME _Pragma("unroll 4")
#define KERNEL extern "C" __global__
#define HOLD(x) asm("" : "+r"(x))

typedef unsigned int u32;
typedef unsigned long long u64;
typedef bool mask;

#if F32
typedef float elem;
typedef int ielem;
typedef unsigned int uelem;
#define FN(name) name##f
#define NAN_VALUE __uint_as_float(0x7fc00000u)
#define INFINITY_VALUE __uint_as_float(0x7f800000u)
INLINE uelem r_bits(elem a) { return __float_as_uint(a); }
INLINE elem r_of_bits(uelem a) { return __uint_as_float(a); }
INLINE elem r_fma(elem a, elem b, elem c) { return __fmaf_rn(a, b, c); }
INLINE elem r_sqrt(elem a) { return __fsqrt_rn(a); }
#else
typedef double elem;
typedef long long ielem;
typedef unsigned long long uelem;
#define FN(name) name
#define NAN_VALUE __longlong_as_double(0x7ff8000000000000)
#define INFINITY_VALUE __longlong_as_double(0x7ff0000000000000)
INLINE uelem r_bits(elem a) { return (uelem)__double_as_longlong(a); }
INLINE elem r_of_bits(uelem a) { return __longlong_as_double((long long)a); }
INLINE elem r_fma(elem a, elem b, elem c) { return __fma_rn(a, b, c); }
INLINE elem r_sqrt(elem a) { return __dsqrt_rn(a); }
#endif
// One instruction: of a sum the compiler makes another number, and then a choice.
#define I_COUNT 1
INLINE ielem i_count(ielem n, mask m) {
#if F32
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p add.s32 %0, %0, 1; }" : "+r"(n) : "r"((u32)m));
#else
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p add.s64 %0, %0, 1; }" : "+l"(n) : "r"((u32)m));
#endif
    return n;
}

#define r_floor(a) FN(floor)(a)
#define r_at_most(a, b) FN(fmin)(a, b)
#define r_at_least(a, b) FN(fmax)(a, b)
#if F32 && __CUDA_ARCH__ >= 800
INLINE elem r_size(elem a, elem b) {
    elem r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(fabsf(a)), "f"(fabsf(b)));
    return r;
}
#else
#define r_size(a, b) r_max(FN(fabs)(a), FN(fabs)(b))
#endif

#if F32
// Below: approximations, for quick.h and for fast math; the larger size, NaN when one is (a NaN has
// the larger bits).
INLINE elem r_rcp_approx(elem a) {
    elem r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
INLINE elem r_rsqrt_approx(elem a) {
    elem r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
INLINE elem r_sqrt_approx(elem a) {
    elem r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
INLINE elem r_cube(elem a) { return a * a * a; }
#if __CUDA_ARCH__ >= 800
#define r_worst(a, b) r_size(a, b)
#else
#define r_worst(a, b) r_of_bits(max(r_bits(fabsf(a)), r_bits(fabsf(b))))
#endif
#endif

// What the compiler makes of 1/a is this, and a branch to a long sequence for extreme exponents:
// many such branches keep it from overlapping anything. Bits below those of the first guess make
// the last rounding the right one for all mantissas.
#if F32
INLINE elem r_inverse_short(elem a) {
    elem y = r_rcp_approx(a);
    return r_fma(y, r_fma(-a, y, 1.0f), y);
}
#else
INLINE elem r_inverse_short(elem a) {
    elem y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
    y = __hiloint2double(__double2hiint(y), __double2hiint(a) + 0x300402);
    elem e = r_fma(-a, y, 1.0);
    y = r_fma(y, r_fma(e, e, e), y);
    return r_fma(y, r_fma(-a, y, 1.0), y);
}
#endif
#define r_inverse(a) r_inverse_short(a)

#ifdef FENCES
// Work is not moved across a call, even of nothing.
static __device__ __noinline__ void fence(void) { asm volatile("" ::: "memory"); }
#define FENCE(where)                                                                               \
    if ((where)&FENCES)                                                                            \
        fence();
#endif

// ---- threads ------------------------------------------------------------------------------------

#define ALL_LANES 0xffffffffu
INLINE u32 thread_number(void) { return blockIdx.x * blockDim.x + threadIdx.x; }
INLINE int warp_any(int p) { return __any_sync(ALL_LANES, p); }
INLINE u32 warp_count(int p) { return (u32)__popc(__ballot_sync(ALL_LANES, p)); }
// a / b of small numbers, or one less; the right one takes twenty instructions.
INLINE u32 divided_roughly(u32 a, u32 b) { return (u32)__fdividef((float)a, (float)b); }

// The next number of the counter for each lane that wants one; called by all lanes of a warp.
INLINE u32 work_take_one(u32 *counter, int wanted) {
    u32 lane = threadIdx.x & 31, lanes = __ballot_sync(ALL_LANES, wanted), first = 0;
    int leader = __ffs((int)lanes) - 1;
    if (wanted && lane == (u32)leader)
        first = atomicAdd(counter, (u32)__popc(lanes));
    first = __shfl_sync(ALL_LANES, first, leader & 31);
    return first + (u32)__popc(lanes & ((1u << lane) - 1));
}

// Adds up over the warp, then once to the total, which was 0; called by all lanes of a warp. Values
// are below 2^54. A warp that is alone just sets it, since adding would wait for memory of the host
// (writes_only). A branch, or sizes of the grid in C, would change how the steps are compiled: up
// to 3 % of their time.
INLINE void total_add(u64 *total, u64 value) {
#if __CUDA_ARCH__ >= 800
    u64 low = __reduce_add_sync(ALL_LANES, (u32)value & 0x7ffffff);
    value = low + ((u64)__reduce_add_sync(ALL_LANES, (u32)(value >> 27)) << 27);
#else
    UNROLL for (int d = 16; d; d /= 2) value += __shfl_down_sync(ALL_LANES, value, (u32)d);
#endif
    if ((threadIdx.x & 31) == 0 && value)
        asm volatile("{ .reg .pred alone; .reg .u32 n, m;"
                     " mov.u32 n, %%nctaid.x; mov.u32 m, %%ntid.x; mul.lo.u32 n, n, m;"
                     " setp.eq.u32 alone, n, 32;"
                     " @alone st.global.u64 [%0], %1; @!alone red.global.add.u64 [%0], %1; }"
                     :
                     : "l"(total), "l"(value)
                     : "memory");
}

// A struct shoal_lone, which a thread reads where it lies, 16 bytes at a time.
#if defined LONE && __CUDA_ARCH__ >= 700
#define LONE_PARAMETER(name) , const __grid_constant__ struct shoal_lone name
#define LONE_BEGIN(name, read)                                                                     \
    if ((name).words) {                                                                            \
        ROLL for (u32 i = threadIdx.x; 4 * i < (name).words; i += WARP) {                          \
            ((uint4 *)(read))[i] = ((const uint4 *)(name).word)[i];                                \
        }                                                                                          \
        __syncwarp();                                                                              \
    }
#define LONE_END(name)                                                                             \
    if ((name).done) {                                                                             \
        __syncwarp();                                                                              \
        if (threadIdx.x == 0) {                                                                    \
            __threadfence_system();                                                                \
            *(volatile u32 *)(name).done = (name).number;                                          \
        }                                                                                          \
    }
#else
#define LONE_PARAMETER(name)
#define LONE_BEGIN(name, read)
#define LONE_END(name)
#endif

// ---- blocks -------------------------------------------------------------------------------------

// Memory that a block shares, as many bytes as the launch says: the last parameter of a kernel, and
// the first line of its body.
#define SHARED_PARAMETER(name)
#define SHARED_MEMORY(name) extern __shared__ u64 name[]
#define block_barrier() __syncthreads() // for all memory; called by all threads of a block
#define atomic_add(at, value) atomicAdd(at, value)
#define atomic_min(at, value) atomicMin(at, value)
#define atomic_max(at, value) atomicMax(at, value)
INLINE u32 work_take(u32 *counter, u32 count) { return atomicAdd(counter, count); }

// Of the values of a warp, for all its lanes, which call it together.
INLINE int warp_leads(void) { return (threadIdx.x & 31) == 0; }
#if __CUDA_ARCH__ >= 800
INLINE int warp_add(int v) { return (int)__reduce_add_sync(ALL_LANES, (u32)v); }
INLINE int warp_min(int v) { return __reduce_min_sync(ALL_LANES, v); }
INLINE int warp_max(int v) { return __reduce_max_sync(ALL_LANES, v); }
#else
INLINE int warp_add(int v) {
    u32 sum = (u32)v;
    UNROLL for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, d);
    return (int)sum;
}
INLINE int warp_min(int v) {
    UNROLL for (int d = 16; d; d /= 2) v = min(v, __shfl_xor_sync(ALL_LANES, v, d));
    return v;
}
INLINE int warp_max(int v) {
    UNROLL for (int d = 16; d; d /= 2) v = max(v, __shfl_xor_sync(ALL_LANES, v, d));
    return v;
}
#endif
