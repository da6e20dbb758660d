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

INLINE void lookup_clear(real *c) { UNROLL for (int k = 0; k < 4; k++) c[k] = R(0); }

// The coefficients of an interval, lowest first, for lane i.
INLINE void lookup_load(const GLOBAL elem *at, int degree, int i, real *c) {
#if defined(__CUDA_ARCH__) && F32
    if (degree == 3) {
        float4 all = __ldg((const float4 *)at);
        c[0] = all.x, c[1] = all.y, c[2] = all.z, c[3] = all.w;
    } else {
        float2 both = __ldg((const float2 *)at);
        c[0] = both.x, c[1] = both.y;
    }
#elif defined(__CUDA_ARCH__)
    for (int k = 0; k < degree; k += 2) {
        double2 both = __ldg((const double2 *)at + k / 2);
        c[k] = both.x, c[k + 1] = both.y;
    }
#else
    UNROLL for (int k = 0; k <= degree; k++) LANE(c[k], i) = at[k];
#endif
}

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
    lookup_clear(c);
    for (int i = 0; i < W; i++)
        lookup_load(address_get(p, i) + (u32)LANE(at, i) * (u32)(degree + 1), degree, i, c);
    real value = lookup_polynomial(c, degree, order, x);
    for (int k = 0; k < order; k++)
        value = value * q[1];
    return value;
}

INLINE real lookup_uneven(real t, const SPACE real *p, int degree, int order, int periodic) {
    real c[4], s = periodic ? t - p[2 * ADDRESS + 1] : t, from = s, to = s;
    lookup_clear(c);
    for (int i = 0; i < W; i++) {
        const GLOBAL elem *knot = address_get(p, i);
        u32 at = 0, top = (u32)LANE(p[2 * ADDRESS], i);
        UNROLL for (u32 way = BLOCK_HALF; way; way /= 2) at +=
            LANE(s, i) >= knot[at + way] ? way : 0;
        at = at < top ? at : top;
        LANE(from, i) = knot[at];
        LANE(to, i) = knot[at + 1];
        lookup_load(address_get(p + ADDRESS, i) + at * (u32)(degree + 1), degree, i, c);
    }
    return lookup_polynomial(c, degree, order, r_min(r_max(s, from), to) - from);
}
