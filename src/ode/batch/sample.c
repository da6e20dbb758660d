// SPDX-License-Identifier: MIT
// Samplers and distributions; sample.h says what is promised.
//
// Each sampler fills an array with numbers u, 2^-53 <= u <= 1 - 2^-53; the distribution then maps
// them to values, in place. Nothing here allocates or fails.
#include "ode/batch/sample.h"

#include <math.h>
#include <string.h>

// ---- Bits ---------------------------------------------------------------------------------------

static const uint64_t golden = 0x9e3779b97f4a7c15; // 2^64 / golden ratio, odd

// Every bit of the result depends on every bit of x (the finaliser of SplitMix64).
static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// Two rounds with two keys: the streams of two names are no shifted copies of each other.
static inline uint64_t hash(const struct sample *s, uint64_t index) {
    return mix(mix(index * golden + s->key[0]) ^ s->key[1]);
}

static uint64_t hash_text(const char *text) {
    uint64_t h = 0xcbf29ce484222325; // FNV-1a
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h;
}

// The middle of one of 2^52 equal parts of the unit interval, exactly.
static const double unit_least = 0x1p-53, unit_most = 1 - 0x1p-53;
static inline double unit(uint64_t bits) { return ((double)(bits >> 12) + 0.5) * 0x1p-52; }

static inline uint64_t reverse_bits(uint64_t x) {
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(x);
}

// ---- Latin hypercube ----------------------------------------------------------------------------

// A keyed hash of x < 2^32, below `end`.
static inline uint64_t feistel(uint64_t x, const uint64_t key[2], uint64_t end) {
    x = x * key[0] + key[1];
    x = (x ^ x >> 32) * golden; // without it, sums of such hashes stay close to straight lines
    return (uint64_t)((unsigned __int128)x * end >> 64);
}

// A keyed permutation of 0 .. count-1: a Feistel network permutes the pairs of a left < high and a
// right < low, of which there are hardly more than `count`, and is applied again until the result
// is in range.
static inline uint64_t permute(const struct sample *s, uint64_t left, uint64_t right) {
    do {
        for (int k = 0; k < SAMPLE_KEYS; k += 4) {
            left += feistel(right, s->key + k, s->high);
            left -= left >= s->high ? s->high : 0;
            right += feistel(left, s->key + k + 2, s->low);
            right -= right >= s->low ? s->low : 0;
        }
    } while (left * s->low + right >= s->count);
    return left * s->low + right;
}

static inline double clamp(double x, double least, double most) {
    return x < least ? least : x > most ? most : x;
}

// The place within a stratum keeps off its edges by more than rounding can move it.
static void fill_lhs(const struct sample *s, uint64_t first, uint64_t n, double *u) {
    double width = 1 / (double)s->count;
    double least = fmin((double)s->count * 0x1p-51, 0.5), most = 1 - least;
    uint64_t left = first / s->low, right = first % s->low;
    for (uint64_t k = 0; k < n; k++) {
        double place = clamp(unit(hash(s, first + k)), least, most);
        double stratum = (double)permute(s, left, right);
        u[k] = clamp((stratum + place) * width, unit_least, unit_most);
        if (++right == s->low) {
            left++;
            right = 0;
        }
    }
}

// ---- Sobol --------------------------------------------------------------------------------------

static uint32_t degree(uint32_t polynomial) { return 31 - (uint32_t)__builtin_clz(polynomial); }

void sobol_directions(uint32_t dimension, uint64_t out[SOBOL_BITS]) {
    uint32_t polynomial = dimension ? sobol_polynomials[dimension - 1] : 1, s = degree(polynomial);
    const uint16_t *m = sobol_initials;
    for (uint32_t d = 1; d < dimension; d++)
        m += degree(sobol_polynomials[d - 1]);
    for (uint32_t k = 0; k < SOBOL_BITS; k++) {
        if (s == 0 || k < s) {
            out[k] = (uint64_t)(s ? m[k] : 1) << (63 - k);
            continue;
        }
        out[k] = out[k - s] ^ out[k - s] >> s;
        for (uint32_t j = 1; j < s; j++)
            if (polynomial >> (s - j) & 1)
                out[k] ^= out[k - j];
    }
}

void sobol_prefixes(uint32_t dimension, uint64_t out[SOBOL_BITS]) {
    sobol_directions(dimension, out);
    for (uint32_t k = 0; k < SOBOL_BITS; k++)
        out[k] = reverse_bits(out[k]) ^ (k ? out[k - 1] : 0);
}

// Digits are reversed here, the most significant in bit 0. Each line lets a digit depend only on
// itself and on more significant ones, so that equal intervals of any power of two stay intervals.
static inline uint64_t scramble(const struct sample *s, uint64_t x) {
    for (int k = 0; k < 8; k += 2) {
        x += s->key[k];
        x ^= x * (s->key[k + 1] << 1);
    }
    return x;
}

// The point of an index is the xor of the directions at its set bits. In terms of their prefixes
// these are the set bits of its Gray code, and a step to the next index is a single prefix.
static void fill_sobol(const struct sample *s, uint64_t first, uint64_t n, double *u) {
    uint64_t x = 0;
    for (uint64_t gray = first ^ first >> 1; gray; gray &= gray - 1)
        x ^= s->prefix[__builtin_ctzll(gray)];
    for (uint64_t k = 0; k < n; k++) {
        if (k)
            x ^= s->prefix[__builtin_ctzll(first + k)];
        u[k] = unit(reverse_bits(scramble(s, x)));
    }
}

static void fill_random(const struct sample *s, uint64_t first, uint64_t n, double *u) {
    for (uint64_t k = 0; k < n; k++)
        u[k] = unit(hash(s, first + k));
}

// ---- Distributions ------------------------------------------------------------------------------

// Rational approximations of M. J. Wichura, algorithm AS 241 (1988): numerator, denominator, each
// from the constant term up.
typedef const double ratio[2][8];
static ratio quantile_middle = {
    {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727},
    {1, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077, 21213.794301586595867,
     39307.895800092710610, 28729.085735721942674, 5226.4952788528545610}};
static ratio quantile_near = {
    {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 0.241780725177450611770, 2.27238449892691845833e-2,
     7.74545014278341407640e-4},
    {1, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9}};
static ratio quantile_far = {
    {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     0.296560571828504891230, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1, 0.599832206555887937690, 0.136929880922735805310, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15}};

static inline double evaluate(ratio c, double x) {
    double above = c[0][7], below = c[1][7];
    for (int k = 6; k >= 0; k--) {
        above = above * x + c[0][k];
        below = below * x + c[1][k];
    }
    return above / below;
}

double normal_quantile(double p) {
    double q = p - 0.5;
    if (fabs(q) <= 0.425)
        return q * evaluate(quantile_middle, 0.180625 - q * q);
    double r = sqrt(-log(q < 0 ? p : 1 - p));
    double z = r <= 5 ? evaluate(quantile_near, r - 1.6) : evaluate(quantile_far, r - 5);
    return q < 0 ? -z : z;
}

// Between a and b without ever being outside, or b itself; a < b.
static inline double within(double v, double a, double b, double before_b) {
    return v < a ? a : v >= b ? before_b : v;
}

// Weights that add up to one, not a + u (b - a), whose difference may overflow.
static inline double blend(double a, double b, double u) { return a * (1 - u) + b * u; }

static void distribute(const struct sample *s, uint64_t n, double *v) {
    double a = s->a, b = s->b;
    bool logarithms = s->law == LAW_LOGUNIFORM || s->law == LAW_LOGNORMAL;
    double log_a = logarithms ? log(a) : 0, log_b = logarithms ? log(b) : 0;
    double before_b = nextafter(b, a);
    switch (s->law) {
    case LAW_UNIFORM:
        for (uint64_t k = 0; k < n; k++)
            v[k] = within(blend(a, b, v[k]), a, b, before_b);
        break;
    case LAW_LOGUNIFORM:
        for (uint64_t k = 0; k < n; k++)
            v[k] = within(exp(blend(log_a, log_b, v[k])), a, b, before_b);
        break;
    case LAW_NORMAL:
        for (uint64_t k = 0; k < n; k++)
            v[k] = a + b * normal_quantile(v[k]);
        break;
    case LAW_LOGNORMAL:
        for (uint64_t k = 0; k < n; k++)
            v[k] = a * exp(log_b * normal_quantile(v[k]));
        break;
    }
}

const char *sample_complaint(const struct sample *s) {
    double a = s->a, b = s->b;
    if ((s->law == LAW_UNIFORM || s->law == LAW_LOGUNIFORM) && !(a < b))
        return "the first number must be smaller than the second";
    if (s->law == LAW_LOGUNIFORM && !(a > 0))
        return "both numbers must be positive";
    if (s->law == LAW_NORMAL && !(b >= 0))
        return "the standard deviation must not be negative";
    if (s->law == LAW_LOGNORMAL && !(a > 0))
        return "the median must be positive";
    if (s->law == LAW_LOGNORMAL && !(b >= 1))
        return "the geometric standard deviation must be 1 or more (1.2 is a spread of about 20 %)";
    double ends[2] = {unit_least, unit_most};
    distribute(s, 2, ends);
    if (!isfinite(ends[0]) || !isfinite(ends[1]) || (s->law == LAW_LOGNORMAL && ends[0] <= 0))
        return "such values are too large or too small for a floating-point number";
    return NULL;
}

// ---- Samples ------------------------------------------------------------------------------------

void sample_init(struct sample *s, enum sampler sampler, uint64_t count, uint64_t seed,
                 const char *name, const uint64_t *prefix) {
    s->sampler = sampler;
    s->count = count;
    s->prefix = prefix;
    uint64_t base = mix(mix(seed + golden) ^ hash_text(name));
    for (int k = 0; k < SAMPLE_KEYS; k++)
        s->key[k] = mix(base + (uint64_t)(k + 1) * golden);
    s->high = (uint64_t)ceil(sqrt((double)count)); // less than 2^32: counts are below 2^63
    s->low = count / s->high + (count % s->high != 0);
}

void sample_values(const struct sample *s, uint64_t first, uint64_t n, double *out) {
    switch (s->sampler) {
    case SAMPLER_RANDOM:
        fill_random(s, first, n, out);
        break;
    case SAMPLER_LHS:
        fill_lhs(s, first, n, out);
        break;
    case SAMPLER_SOBOL:
        fill_sobol(s, first, n, out);
        break;
    }
    distribute(s, n, out);
}
