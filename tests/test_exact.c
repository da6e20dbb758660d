// SPDX-License-Identifier: MIT
// Exact sums: against sums of whole numbers, against closed forms, and in any order.
#include "check.h"
#include "result/exact.h"

#include <float.h>

static double mean_of(const double *x, size_t n) {
    struct exact_sum s = {0};
    exact_add(&s, x, n);
    return exact_mean(&s, n);
}

static double std_of(const double *x, size_t n) {
    struct exact_sum s = {0};
    struct exact_squares q = {0};
    exact_add(&s, x, n);
    exact_add_squares(&q, x, n);
    return exact_std(&s, &q, n);
}

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define CHECK_SAME(got, want)                                                                      \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        CHECK_MSG(!memcmp(&got_, &want_, sizeof got_), "%s is %.17g, not %.17g", #got, got_,       \
                  want_);                                                                          \
    } while (0)

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

TEST(exact_means_of_few_numbers) {
    CHECK_SAME(mean_of((double[]){1e308, 1e-308, -1e308}, 3), 1e-308 / 3);
    CHECK_SAME(mean_of((double[]){DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}, 4), DBL_MAX);
    CHECK_SAME(mean_of((double[]){1, 0x1p-53, 0x1p-53, -1}, 4), 0x1p-54);
    CHECK_SAME(mean_of((double[]){1e16, 1, -1e16, 1}, 4), 0.5);
    CHECK_SAME(mean_of((double[]){-0.0, -0.0}, 2), 0.0);
    CHECK_SAME(mean_of((double[]){-3}, 1), -3.0);
    CHECK_SAME(mean_of((double[]){DBL_TRUE_MIN}, 1), DBL_TRUE_MIN);
    CHECK_SAME(mean_of((double[]){DBL_TRUE_MIN, 0}, 2), 0.0);                  // half, to even
    CHECK_SAME(mean_of((double[]){3 * DBL_TRUE_MIN, 0}, 2), 2 * DBL_TRUE_MIN); // half, to even
    CHECK_SAME(mean_of((double[]){2 * DBL_TRUE_MIN, 0, 0}, 3), DBL_TRUE_MIN);
    CHECK_SAME(mean_of((double[]){-DBL_MIN, DBL_TRUE_MIN}, 2), -(DBL_MIN - DBL_TRUE_MIN) / 2);
    CHECK_SAME(mean_of((double[]){0.1, 0.2, 0.3}, 3), 0.2); // of what these are, rounded once
}

// Numbers of one scale are whole numbers, whose sums fit 128 bits: mean and variance are fractions
// of these.
static double nearest_fraction(__int128 over, __int128 under) {
    bool minus = over < 0;
    unsigned __int128 a = minus ? -(unsigned __int128)over : (unsigned __int128)over,
                      b = (unsigned __int128)under;
    int up = 0;
    while (a && a < (unsigned __int128)1 << 125 && up < 200)
        a <<= 1, up++;
    unsigned __int128 q = a / b;
    bool rest = a % b != 0;
    int down = 0;
    bool half = false;
    while (q >= (unsigned __int128)1 << 53) {
        rest = rest || half;
        half = q & 1;
        q >>= 1;
        down++;
    }
    q += half && (rest || (q & 1));
    double x = ldexp((double)(uint64_t)q, down - up);
    return minus ? -x : x;
}

TEST(exact_means_are_rounded_once) {
    for (int trial = 0; trial < 2000; trial++) {
        double x[50];
        size_t n = 1 + random_bits() % 50;
        int scale = (int)(random_bits() % 1900) - 1000, shift = (int)(random_bits() % 12);
        __int128 sum = 0;
        for (size_t i = 0; i < n; i++) {
            int64_t whole = (int64_t)random_bits() >> (11 + shift); // 53 bits with its sign
            sum += whole;
            x[i] = ldexp((double)whole, scale);
        }
        CHECK_SAME(mean_of(x, n), ldexp(nearest_fraction(sum, (__int128)n), scale));
    }
}

// std^2 = (n Q - S^2) / (n (n - 1)) in whole numbers; the root is right when the squares of its two
// halfway neighbours lie on both sides.
TEST(exact_deviations_are_rounded_once) {
    for (int trial = 0; trial < 2000; trial++) {
        double x[20];
        int64_t whole[20];
        size_t n = 2 + random_bits() % 19;
        int scale = (int)(random_bits() % 900) - 450;
        for (size_t i = 0; i < n; i++) {
            whole[i] = (int64_t)random_bits() >> 36;
            x[i] = ldexp((double)whole[i], scale);
        }
        __int128 s = 0, q = 0;
        for (size_t i = 0; i < n; i++) {
            s += whole[i];
            q += (__int128)whole[i] * whole[i];
        }
        long double variance = (long double)((__int128)n * q - s * s) / (long double)(n * (n - 1));
        double got = ldexp(std_of(x, n), -scale), ulp = nextafter(got, INFINITY) - got;
        long double below = (long double)got - (long double)ulp / 2,
                    above = (long double)got + (long double)ulp / 2;
        CHECK_MSG(below * below <= variance * (1 + 1e-18L) &&
                      above * above >= variance * (1 - 1e-18L),
                  "%.17g of %zu", got, n);
    }
}

TEST(exact_deviations_of_few_numbers) {
    CHECK_SAME(std_of((double[]){1, 2, 3, 4}, 4), sqrt(5.0 / 3));
    CHECK_SAME(std_of((double[]){5, 5, 5}, 3), 0.0);
    CHECK_SAME(std_of((double[]){1e8 + 1, 1e8 + 2, 1e8 + 3}, 3), 1.0); // rounded sums give 0 or NaN
    CHECK_SAME(std_of((double[]){1e308, -1e308}, 2), 1e308 * 1.4142135623730951);
    CHECK_SAME(std_of((double[]){DBL_MAX, -DBL_MAX}, 2), (double)INFINITY);
    CHECK_SAME(std_of((double[]){0x1p-1030, 0x3p-1030, 0x2p-1030}, 3), 0x1p-1030);
    CHECK_SAME(std_of((double[]){DBL_TRUE_MIN, 3 * DBL_TRUE_MIN, 2 * DBL_TRUE_MIN}, 3),
               DBL_TRUE_MIN);
    CHECK_SAME(std_of((double[]){0x1p1000, 0x1p1000, 0x1.0000000000003p1000}, 3),
               ldexp(sqrt(3), 948)); // 3 ulp / sqrt(3)
}

// Any order and any way to split gives the same bits.
TEST(exact_sums_are_the_same_in_any_order) {
    enum { N = 5000 };
    static double x[N];
    for (int i = 0; i < N; i++)
        x[i] = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 1900) - 1050);
    double mean = mean_of(x, N), deviation = std_of(x, N);
    for (int trial = 0; trial < 20; trial++) {
        for (int i = N - 1; i > 0; i--) {
            size_t k = random_bits() % (size_t)(i + 1);
            double t = x[i];
            x[i] = x[k];
            x[k] = t;
        }
        struct exact_sum a = {0}, b = {0};
        struct exact_squares p = {0}, q = {0};
        size_t cut = random_bits() % N;
        exact_add(&a, x, cut);
        exact_add(&b, x + cut, N - cut);
        exact_add_squares(&p, x, cut);
        exact_add_squares(&q, x + cut, N - cut);
        exact_join(&a, &b);
        exact_join_squares(&p, &q);
        CHECK_SAME(exact_mean(&a, N), mean);
        CHECK_SAME(exact_std(&a, &p, N), deviation);
    }
}

// Carries wait for long, but not for ever.
TEST(exact_sums_of_many_numbers) {
    enum { N = 4096, ROUNDS = 1 << 19 }; // 2^31 in all
    static double x[N];
    for (int i = 0; i < N; i++)
        x[i] = -0x1.fffffffffffffp+31;
    struct exact_sum s = {0}, block = {0};
    exact_add(&block, x, N);
    for (int i = 0; i < 19; i++) { // doubled
        s = block;
        exact_join(&block, &s);
    }
    CHECK_SAME(exact_mean(&block, (uint64_t)N << 19), x[0]);
    s = (struct exact_sum){.pending = (1 << 30) - 5};
    exact_add(&s, x, N);
    CHECK_SAME(exact_mean(&s, N), x[0]);
    CHECK(s.pending < N + 1);
}
