// SPDX-License-Identifier: MIT
// The stiff ensembles that Shoal and its peer share: HIRES and POLLU of the Test Set for IVP
// Solvers, one rate constant spread evenly in its logarithm over two decades around its value.
//
// The first and the last trajectory and those evenly between are the samples whose end states are
// compared; ensembles of STIFF_SIZE(m) trajectories all have the same samples.
#ifndef SHOAL_BENCH_STIFF_H
#define SHOAL_BENCH_STIFF_H

#include <math.h>
#include <stdint.h>
#include <time.h>

enum { STIFF_SAMPLES = 64, STIFF_STATES = 20 };
#define STIFF_SIZE(m) ((uint64_t)(STIFF_SAMPLES - 1) * (m) + 1)

struct stiff_ensemble {
    const char *name;
    double low, high; // of the rate constant
    double t1;
    double floor; // atol is rtol times this
    uint64_t states;
    double start[STIFF_STATES];
};

static const struct stiff_ensemble stiff_ensembles[] = {
    {"HIRES", 28, 2800, 321.8122, 1e-4, 8, {1, 0, 0, 0, 0, 0, 0, 0.0057}},
    {"POLLU",
     0.035,
     3.5,
     60,
     1e-9,
     20,
     {[1] = 0.2, [3] = 0.04, [6] = 0.1, [7] = 0.3, [8] = 0.01, [16] = 0.007}},
};
enum { STIFF_HIRES, STIFF_POLLU, STIFF_ENSEMBLES };

static inline double stiff_rate(const struct stiff_ensemble *e, uint64_t i, uint64_t n) {
    return e->low * pow(e->high / e->low, (double)i / (double)(n - 1));
}

static inline uint64_t stiff_sample(uint64_t s, uint64_t n) {
    return s * ((n - 1) / (STIFF_SAMPLES - 1));
}

// Processor time.
static inline double stiff_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
