// SPDX-License-Identifier: MIT
// The quick divisions and roots of kernels/dialect/quick.h, here with the hardware's approximations
// played by correctly rounded ones, or by ones that are some ulp beside. What a range lets pass
// must be what / and sqrtf give, bit for bit.
//
// A quotient is right whatever the approximation is, within 3 ulp. A reciprocal and a root have one
// iteration only: a few dozen of the mantissas need an approximation that is better than its
// documentation says. The sequences are the compiler's own, so the hardware's is; the device tests
// show it for all mantissas.
#include "check.h"

#define INLINE static inline
#define SIGN_BIT 0x80000000u
#define R(x) ((float)(x))
typedef float real;
typedef uint32_t u32;
typedef int mask;

static int beside; // ulp

INLINE u32 r_bits(real a) {
    u32 u;
    memcpy(&u, &a, sizeof u);
    return u;
}
INLINE real r_of_bits(u32 u) {
    real a;
    memcpy(&a, &u, sizeof a);
    return a;
}
static real flushed(real a) { return fpclassify(a) == FP_SUBNORMAL ? copysignf(0, a) : a; }
static real moved(real a) { return isnormal(a) ? r_of_bits(r_bits(a) + (u32)beside) : a; }
INLINE real r_rcp_approx(real a) { return flushed(moved(1 / flushed(a))); }
INLINE real r_rsqrt_approx(real a) {
    return flushed(a) == 0 ? INFINITY : moved((real)(1 / sqrt((double)a)));
}
INLINE real r_fma(real a, real b, real c) { return fmaf(a, b, c); }
#define FN(name) name##f
INLINE real r_at_most(real a, real b) { return fminf(a, b); }
INLINE real r_at_least(real a, real b) { return fmaxf(a, b); }
INLINE real r_worst(real a, real b) {
    return isnan(a) || isnan(b) ? NAN : fmaxf(fabsf(a), fabsf(b));
}

#include "../kernels/dialect/quick.h"

static bool same(real a, real b) { return r_bits(a) == r_bits(b) || (isnan(a) && isnan(b)); }

static uint64_t random_bits(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

// ---- All mantissas ------------------------------------------------------------------------------

// How many of the numbers from 1 to below 2 (roots: 4) come out wrong.
static uint32_t wrong_mantissas(bool root, uint32_t step) {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < (root ? 1u << 24 : 1u << 23); i += step) {
        struct range g = RANGE_NEW;
        real x = r_of_bits(0x3f800000u + i);
        real got = root ? r_sqrt_quick(&g, x) : r_rcp_quick(&g, x);
        wrong += !range_holds(&g) || !same(got, root ? sqrtf(x) : 1 / x);
    }
    return wrong;
}

static void check_mantissas(uint32_t step) {
    for (int root = 0; root < 2; root++) {
        beside = 0;
        CHECK_INT(wrong_mantissas(root, step), 0);
        for (beside = -2; beside <= 2; beside++) {
            uint32_t wrong = wrong_mantissas(root, step);
            CHECK_MSG(wrong < 50, "%u wrong, %d ulp beside", wrong, beside);
        }
    }
}

TEST(quick_mantissas) { check_mantissas(101); }
LONG_TEST(quick_mantissas_all) { check_mantissas(1); }

static void check_quotients(uint64_t count) {
    uint64_t state = 88172645463325252u;
    for (uint64_t i = 0; i < count; i++) {
        struct range g = RANGE_NEW;
        uint64_t draw = random_bits(&state);
        real a = r_of_bits(0x3f800000u | (draw & 0x7fffff));
        real b = r_of_bits(0x3f800000u | (draw >> 32 & 0x7fffff));
        beside = (int)(draw >> 60) % 7 - 3;
        real got = r_div_quick(&g, a, b);
        REQUIRE(range_holds(&g));
        if (!same(got, a / b))
            check_fail(__FILE__, __LINE__, "%a / %a is %a, %d ulp beside", a, b, got, beside);
    }
}

TEST(quick_quotients) { check_quotients(1000000); }
LONG_TEST(quick_quotients_many) { check_quotients(100000000); }

// ---- The range ----------------------------------------------------------------------------------

static const real special[] = {0,
                               0x1p-149f,
                               0x1.8p-140f,
                               0x1.fffffcp-127f,
                               0x1p-126f,
                               0x1.fp-126f,
                               0x1p-125f,
                               0x1p-102f,
                               0x1.8p-102f,
                               0x1p-101f,
                               0x1p-100f,
                               0x1.2p-100f,
                               0x1.fffffep-81f,
                               0x1p-80f,
                               0x1p80f,
                               0x1.000002p80f,
                               0x1p-61f,
                               0x1p-21f,
                               0x1p-20f,
                               1,
                               0x1.8p0f,
                               0x1.fffffep0f,
                               3,
                               0x1p20f,
                               0x1p60f,
                               0x1.8p99f,
                               0x1p100f,
                               0x1.2p100f,
                               0x1p125f,
                               0x1.8p125f,
                               0x1p126f,
                               0x1.000002p126f,
                               0x1p127f,
                               0x1.fffffep127f,
                               INFINITY,
                               NAN};
enum { SPECIALS = sizeof special / sizeof *special };

static bool between(real a, real low, real high) { return fabsf(a) >= low && fabsf(a) <= high; }

// What the range says of one operation; where it holds, the result must be right.
static bool check_one(real got, real want, const struct range *g, real a, real b) {
    if (range_holds(g) && !same(got, want))
        check_fail(__FILE__, __LINE__, "%a, %a: %a instead of %a", a, b, got, want);
    return range_holds(g);
}

static void check_pair(real a, real b) {
    struct range root = RANGE_NEW, one = RANGE_NEW, pair = RANGE_NEW, over = RANGE_NEW;
    bool fair = check_one(r_sqrt_quick(&root, a), sqrtf(a), &root, a, 0);
    CHECK_MSG(fair == (a >= 0x1p-80f && a <= 0x1p80f), "sqrt(%a)", a);
    real cube = a * sqrtf(a);
    if (fair)
        check_one(r_rcp_sure(cube), 1 / cube, &root, 1, cube);
    bool normal = check_one(r_rcp_quick(&one, b), 1 / b, &one, 1, b);
    CHECK_MSG(normal == between(b, 0x1p-126f, 0x1p126f), "1 / %a", b);
    fair = check_one(r_div_quick(&pair, a, b), a / b, &pair, a, b);
    if (!isnan(a))
        CHECK_MSG(fair == (normal && (a == 0 || (fabsf(a) >= 0x1p-100f &&
                                                 between(a / b, 0x1p-100f, 0x1p100f)))),
                  "%a / %a", a, b);
    fair =
        !between(a, 0x1p-20f, 0x1p20f) || check_one(r_over_quick(&over, a, b), a / b, &over, a, b);
    CHECK_MSG(fair || !between(b, 0x1p-100f, 0x1p100f), "number %a / %a", a, b);
}

TEST(quick_range_of_special_numbers) {
    for (int i = 0; i < 2 * SPECIALS; i++)
        for (int k = 0; k < 2 * SPECIALS; k++)
            check_pair(i % 2 ? -special[i / 2] : special[i / 2],
                       k % 2 ? -special[k / 2] : special[k / 2]);
}

TEST(quick_range_of_all_exponents) {
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 1000000; i++) {
        uint64_t draw = random_bits(&state);
        check_pair(r_of_bits((u32)draw), r_of_bits((u32)(draw >> 32)));
    }
}

// One operation out of range is remembered, whatever comes behind it.
TEST(quick_range_remembers) {
    static const real outside[][2] = {{1, 0}, {1, INFINITY}, {0x1p-101f, 1}, {0x1p101f, 1}, {3, 0}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        struct range pair = RANGE_NEW, one = RANGE_NEW, root = RANGE_NEW;
        r_div_quick(&pair, outside[i][0], outside[i][1]);
        r_rcp_quick(&one, outside[i][1]);
        r_sqrt_quick(&root, -outside[i][0]);
        CHECK(!range_holds(&pair));
        CHECK(range_holds(&one) == (outside[i][1] == 1));
        for (int k = 1; k < 9; k++) {
            r_div_quick(&pair, 1, (real)k);
            r_rcp_quick(&one, (real)k);
            r_sqrt_quick(&root, (real)k);
        }
        CHECK(!range_holds(&pair));
        CHECK(range_holds(&one) == (outside[i][1] == 1));
        CHECK(!range_holds(&root));
    }
}
