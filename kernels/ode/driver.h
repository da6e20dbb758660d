// SPDX-License-Identifier: MIT
// Looks values up in samples: a driver by the time, a table by its argument.
//
// Between two samples a signal is a polynomial whose coefficients lie side by side. What a lane
// needs to find them is in its numbers p, at the place of the signal, so that whoever has p can
// look up: addresses, bit by bit in as many numbers as that takes, and behind them
//     samples at equal distances   first time, 1 / distance, lowest and highest interval (of a
//                                  periodic signal 1 / intervals stands for the lowest)
//     others                       highest interval counted from the address, and of a periodic
//                                  signal the time by which it is shifted
// A signal that is held has its value there. In the second case the address is that of the few
// intervals that a step can see, and is changed where a step ends (driver_lanes.h).
//
// All that an idle lane may have for a time, and all that rounding may do, finds some interval.

#if F32
enum { ADDRESS = 2 };
#else
enum { ADDRESS = 1 };
#endif
enum { BLOCK_HALF = 16 }; // of the intervals between two stops

INLINE const GLOBAL elem *address_get(const SPACE real *p, int i) {
    ubits low = r_bits(p[0]);
#if F32
    ubits high = r_bits(p[1]);
    return (const GLOBAL elem *)((u64)LANE(high, i) << 32 | LANE(low, i));
#else
    return (const GLOBAL elem *)(u64)LANE(low, i);
#endif
}

INLINE void address_put(SPACE real *p, int i, const GLOBAL elem *at) {
    ubits low = r_bits(p[0]);
    LANE(low, i) = (uelem)(u64)at;
    p[0] = r_of_bits(low);
#if F32
    ubits high = r_bits(p[1]);
    LANE(high, i) = (uelem)((u64)at >> 32);
    p[1] = r_of_bits(high);
#endif
}

#if W == 1
typedef struct {
    const GLOBAL elem *lane[1];
} places;
INLINE places places_get(const SPACE real *p) {
    places x;
    x.lane[0] = address_get(p, 0);
    return x;
}

// The coefficients of an interval, lowest first; they lie so that a device loads them at once.
INLINE void lookup_load(const places *x, const u32 *offset, int degree, real *c) {
    const GLOBAL elem *at = x->lane[0] + offset[0];
#if defined(__CUDA_ARCH__) && F32
    if (degree == 3) {
        float4 all = __ldg((const float4 *)at);
        c[0] = all.x, c[1] = all.y, c[2] = all.z, c[3] = all.w;
    } else {
        float2 both = __ldg((const float2 *)at);
        c[0] = both.x, c[1] = both.y;
    }
#elif defined(__CUDA_ARCH__)
    UNROLL for (int k = 0; k < degree; k += 2) {
        double2 both = __ldg((const double2 *)at + k / 2);
        c[k] = both.x, c[k + 1] = both.y;
    }
#else
    UNROLL for (int k = 0; k <= degree; k++) c[k] = at[k];
#endif
}

INLINE void lanes_get(real x, elem *lane) { lane[0] = x; }
INLINE real lanes_put(const elem *lane) { return lane[0]; }
#else
// Lanes go through memory: an element of a vector that is counted up to costs far more.
typedef struct {
    const elem *lane[W];
} places;
INLINE void lanes_get(real x, elem *lane) { __builtin_memcpy(lane, &x, sizeof x); }
INLINE real lanes_put(const elem *lane) {
    real x;
    __builtin_memcpy(&x, lane, sizeof x);
    return x;
}

INLINE places places_get(const real *p) {
    places x;
    uelem low[W];
    __builtin_memcpy(low, &p[0], sizeof low);
#if F32
    uelem high[W];
    __builtin_memcpy(high, &p[1], sizeof high);
    UNROLL for (int i = 0; i < W; i++) x.lane[i] = (const elem *)((u64)high[i] << 32 | low[i]);
#else
    UNROLL for (int i = 0; i < W; i++) x.lane[i] = (const elem *)low[i];
#endif
    return x;
}

INLINE void lookup_load(const places *x, const u32 *offset, int degree, real *c) {
    elem all[4][W];
    UNROLL for (int i = 0; i < W; i++) {
        const elem *at = x->lane[i] + offset[i];
        UNROLL for (int k = 0; k <= degree; k++) all[k][i] = at[k];
    }
    UNROLL for (int k = 0; k <= degree; k++) c[k] = lanes_put(all[k]);
}
#endif

// The polynomial or one of its derivatives.
INLINE real lookup_polynomial(const real *c, int degree, int order, real x) {
    if (order > degree)
        return R(0);
    real sum = R(0);
    UNROLL for (int k = degree; k >= order; k--) {
        elem factor = 1;
        UNROLL for (int d = 0; d < order; d++) factor *= (elem)(k - d);
        real term = order ? c[k] * R(factor) : c[k];
        sum = k == degree ? term : r_fma(sum, x, term);
    }
    return sum;
}

INLINE real lookup_even(real t, const SPACE real *p, int degree, int order, int periodic,
                        int extends) {
    const SPACE real *q = p + ADDRESS;
    real c[4], u = (t - q[0]) * q[1], low = periodic ? R(0) : q[2];
    if (periodic)
        u = r_fnma(q[3] + R(1), r_floor(u * q[2]), u);
    real at = r_min(r_max(r_floor(u), low), q[3]), x = u - at;
    if (!extends)
        x = r_min(r_max(x, R(0)), R(1));
    elem number[W];
    u32 offset[W];
    places from = places_get(p);
    lanes_get(at, number);
    UNROLL for (int i = 0; i < W; i++) offset[i] = (u32)number[i] * (u32)(degree + 1);
    lookup_load(&from, offset, degree, c);
    real value = lookup_polynomial(c, degree, order, x);
    for (int k = 0; k < order; k++)
        value = value * q[1];
    return value;
}

INLINE real lookup_uneven(real t, const SPACE real *p, int degree, int order, int periodic) {
    real c[4], s = periodic ? t - p[2 * ADDRESS + 1] : t;
    elem time[W], top[W], begin[W], end[W];
    u32 offset[W];
    places knots = places_get(p), from = places_get(p + ADDRESS);
    lanes_get(s, time);
    lanes_get(p[2 * ADDRESS], top);
    UNROLL for (int i = 0; i < W; i++) {
        const GLOBAL elem *knot = knots.lane[i];
        u32 at = 0, most = (u32)top[i];
        UNROLL for (u32 way = BLOCK_HALF; way; way /= 2) at += time[i] >= knot[at + way] ? way : 0;
        at = at < most ? at : most;
        begin[i] = knot[at];
        end[i] = knot[at + 1];
        offset[i] = at * (u32)(degree + 1);
    }
    lookup_load(&from, offset, degree, c);
    real first = lanes_put(begin), last = lanes_put(end);
    return lookup_polynomial(c, degree, order, r_min(r_max(s, first), last) - first);
}
