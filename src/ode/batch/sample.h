// SPDX-License-Identifier: MIT
// Random and quasi-random numbers: sample i of a name, without looking at any other sample.
//
// A value is a pure function of seed, name, index and (Latin hypercube) the number of samples, so
// any part of a batch can be computed anywhere, in any order, in constant memory:
//   random  a hash of the key of seed and name, and the index;
//   lhs     one value in each of `count` equal strata, in the order of a keyed permutation;
//   sobol   the Sobol sequence with a nested (Owen) scramble by seed and name; the dimension is the
//           position among the sampled names.
#ifndef SHOAL_RUN_SAMPLE_H
#define SHOAL_RUN_SAMPLE_H

#include "ode/batch/batch.h"

enum { SOBOL_DIMENSIONS = 256, SOBOL_BITS = 52, SAMPLE_KEYS = 12 };

extern const uint16_t sobol_polynomials[SOBOL_DIMENSIONS - 1];
extern const uint16_t sobol_initials[];

// The numbers of a distribution are called a and b in this order.
enum law {
    LAW_UNIFORM,    // a <= v < b
    LAW_LOGUNIFORM, // a <= v < b, both positive
    LAW_NORMAL,     // mean, standard deviation
    LAW_LOGNORMAL,  // median, geometric standard deviation
};

struct sample {
    enum law law;
    double a, b;
    // The rest is made by sample_init.
    enum sampler sampler;
    uint64_t count;            // how many samples there are
    uint64_t key[SAMPLE_KEYS]; // from seed and name
    uint64_t high, low;        // lhs: stratum = left * low + right with left < high, right < low
    const uint64_t *prefix;    // sobol: [SOBOL_BITS], see sobol_prefixes
};

// Why a and b cannot be the numbers of that law, or NULL.
const char *sample_complaint(const struct sample *s);
// `prefix` is for sobol only and must outlive the sample.
void sample_init(struct sample *s, enum sampler sampler, uint64_t count, uint64_t seed,
                 const char *name, const uint64_t *prefix);
// Values of the samples first, first + 1, ...
void sample_values(const struct sample *s, uint64_t first, uint64_t n, double *out);

// Direction numbers v_1, v_2, ... of a dimension (from 0), the most significant digit in bit 63.
void sobol_directions(uint32_t dimension, uint64_t out[SOBOL_BITS]);
// The same, digits reversed, each item xored with all before it.
void sobol_prefixes(uint32_t dimension, uint64_t out[SOBOL_BITS]);

// Quantile of the standard normal distribution, 0 < p < 1, to about 1e-15 relative.
double normal_quantile(double p);

#endif
