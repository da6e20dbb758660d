// SPDX-License-Identifier: MIT
// The benchmark problem that Shoal and its peers share, for C and C++.
//
// Lorenz with sigma = 10, beta = 8/3, rho spaced evenly over [0, 21], y(0) = (1, 0, 0), t in [0,
// 1], rtol = atol = 1e-6. A program integrates all n trajectories, and samples of the final states
// are compared with a Taylor series solution in long double, which shares no code with any of them.
// Errors are absolute, over the components of the samples.
#ifndef SHOAL_BENCH_LORENZ_H
#define SHOAL_BENCH_LORENZ_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LORENZ_SIGMA 10.0
#define LORENZ_BETA (8.0 / 3.0)
#define LORENZ_RHO_MAX 21.0
#define LORENZ_T1 1.0
#define LORENZ_TOLERANCE 1e-6
#define LORENZ_SAMPLES 64

static inline double lorenz_rho(uint64_t i, uint64_t n) {
    return n > 1 ? LORENZ_RHO_MAX * (double)i / (double)(n - 1) : 0.0;
}

// One step of length h of the Taylor series.
static inline void lorenz_taylor_step(long double rho, long double h, long double y[3]) {
    enum { ORDER = 24 };
    const long double sigma = 10.0L, beta = 8.0L / 3.0L;
    long double a[ORDER + 1], b[ORDER + 1], c[ORDER + 1];
    a[0] = y[0], b[0] = y[1], c[0] = y[2];
    for (int k = 0; k < ORDER; k++) {
        long double ac = 0, ab = 0;
        for (int j = 0; j <= k; j++) {
            ac += a[j] * c[k - j];
            ab += a[j] * b[k - j];
        }
        long double r = 1.0L / (long double)(k + 1);
        a[k + 1] = sigma * (b[k] - a[k]) * r;
        b[k + 1] = (rho * a[k] - ac - b[k]) * r;
        c[k + 1] = (ab - beta * c[k]) * r;
    }
    y[0] = a[ORDER], y[1] = b[ORDER], y[2] = c[ORDER];
    for (int k = ORDER - 1; k >= 0; k--) {
        y[0] = y[0] * h + a[k];
        y[1] = y[1] * h + b[k];
        y[2] = y[2] * h + c[k];
    }
}

static inline void lorenz_reference(double rho, double out[3]) {
    enum { STEPS = 128 };
    long double y[3] = {1, 0, 0};
    for (int i = 0; i < STEPS; i++)
        lorenz_taylor_step(rho, (long double)LORENZ_T1 / STEPS, y);
    for (int k = 0; k < 3; k++)
        out[k] = (double)y[k];
}

static inline double lorenz_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The arguments of a peer: N [REPETITIONS]. Both are at least 1.
struct lorenz_job {
    uint64_t n, repetitions;
};
static inline struct lorenz_job lorenz_arguments(int argc, char **argv) {
    struct lorenz_job job = {100000, 1};
    if (argc > 1)
        job.n = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        job.repetitions = strtoull(argv[2], NULL, 10);
    if (argc > 3 || job.n < 1 || job.n > UINT64_C(1) << 32 || job.repetitions < 1) {
        fprintf(stderr, "usage: %s [TRAJECTORIES [REPETITIONS]]\n", argv[0]);
        exit(2);
    }
    return job;
}

// Prints what a peer prints: `name value` lines. `final` holds n states of 3 numbers.
static inline void lorenz_print(uint64_t n, double seconds, const double *final) {
    uint64_t samples = n < LORENZ_SAMPLES ? n : LORENZ_SAMPLES;
    double max = 0, sum = 0;
    for (uint64_t s = 0; s < samples; s++) {
        uint64_t i = samples > 1 ? s * (n - 1) / (samples - 1) : 0;
        double want[3];
        lorenz_reference(lorenz_rho(i, n), want);
        for (int k = 0; k < 3; k++) {
            double e = fabs(final[3 * i + (uint64_t)k] - want[k]);
            max = e <= max ? max : e; // keeps a NaN
            sum += e * e;
        }
    }
    printf("seconds %.9g\n", seconds);
    printf("trajectories_per_s %.9g\n", (double)n / seconds);
    printf("error_max %.6g\n", max);
    printf("error_rms %.6g\n", sqrt(sum / (3.0 * (double)samples)));
}

#endif
