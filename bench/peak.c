// SPDX-License-Identifier: MIT
// Measured peak of one core: fused multiply-add instructions per second, at full vector width.
//
// The ceiling that a kernel's own rate is compared with. Twelve independent accumulators cover the
// latency of two FMA units (4 cycles each on current cores) and fit the 16 registers of AVX2 beside
// the two constants. Compile with -march=native -ffp-contract=fast; the loop is then nothing but
// FMA, a counter and a branch. Prints f64_gfma_per_s and f32_gfma_per_s (1e9 instructions per
// second), f64_lanes, f32_lanes, and fused, which is 0 where the target has no FMA and a multiply
// and an add were counted as one.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FUSED 1
#else
#define FUSED 0
#endif

typedef double f64 __attribute__((vector_size(BYTES)));
typedef float f32 __attribute__((vector_size(BYTES)));

enum { CHAINS = 12, UNROLL = 4 };

#define STEP(i) a##i = a##i * m + c
#define STEPS                                                                                      \
    STEP(0), STEP(1), STEP(2), STEP(3), STEP(4), STEP(5), STEP(6), STEP(7), STEP(8), STEP(9),      \
        STEP(10), STEP(11)
// The accumulators are locals by name: an array of them would not stay in registers at every level
// of optimisation. Every lane is used at the end, else a compiler may leave lanes out; m and c come
// as vectors, else clang may take half the width. The accumulators converge to c / (1 - m), so
// nothing overflows or becomes subnormal.
#define DEFINE_CHAINS(type, number)                                                                \
    __attribute__((noinline)) static number chains_##type(uint64_t rounds, type m, type c) {       \
        type a0 = c, a1 = c + 1, a2 = c + 2, a3 = c + 3, a4 = c + 4, a5 = c + 5, a6 = c + 6,       \
             a7 = c + 7, a8 = c + 8, a9 = c + 9, a10 = c + 10, a11 = c + 11;                       \
        for (uint64_t i = 0; i < rounds; i++) {                                                    \
            STEPS;                                                                                 \
            STEPS;                                                                                 \
            STEPS;                                                                                 \
            STEPS;                                                                                 \
        }                                                                                          \
        type sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;                    \
        number all = 0;                                                                            \
        for (size_t i = 0; i < sizeof sum / sizeof all; i++)                                       \
            all += sum[i];                                                                         \
        return all;                                                                                \
    }
DEFINE_CHAINS(f64, double)
DEFINE_CHAINS(f32, float)

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Volatile, so that a compiler neither folds the chains nor moves them past the clock.
static volatile double scale = 0.5, add = 1.0, sink;

static double time_f64(uint64_t rounds) {
    double start = seconds_now();
    sink = chains_f64(rounds, (f64){0} + scale, (f64){0} + add);
    return seconds_now() - start;
}

static double time_f32(uint64_t rounds) {
    double start = seconds_now();
    sink = (double)chains_f32(rounds, (f32){0} + (float)scale, (f32){0} + (float)add);
    return seconds_now() - start;
}

// Best of several runs of about 50 ms, in 1e9 instructions per second.
static double measure(double (*run)(uint64_t rounds), int repetitions) {
    const double target = 0.05;
    uint64_t rounds = 1 << 16;
    while (run(rounds) < target)
        rounds *= 2;
    double best = INFINITY;
    for (int i = 0; i < repetitions; i++) {
        double seconds = run(rounds);
        best = seconds < best ? seconds : best;
    }
    return (double)rounds * (CHAINS * UNROLL) / best * 1e-9;
}

int main(int argc, char **argv) {
    int repetitions = argc > 1 ? atoi(argv[1]) : 5;
    if (argc > 2 || repetitions < 1) {
        fprintf(stderr, "usage: %s [REPETITIONS]\n", argv[0]);
        return 2;
    }
    printf("f64_gfma_per_s %.6g\n", measure(time_f64, repetitions));
    printf("f64_lanes %d\n", (int)(sizeof(f64) / sizeof(double)));
    printf("f32_gfma_per_s %.6g\n", measure(time_f32, repetitions));
    printf("f32_lanes %d\n", (int)(sizeof(f32) / sizeof(float)));
    printf("fused %d\n", FUSED);
    return 0;
}
