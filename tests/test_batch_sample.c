// SPDX-License-Identifier: MIT
// Samplers and distributions: what each promises, checked on its numbers.
#include "ode/batch/sample.h"
#include "test_batch.h"

// Numbers of one name, uniform:0:1.
static double *draw(enum sampler sampler, uint64_t count, uint64_t seed, const char *name,
                    uint32_t dimension) {
    static uint64_t prefix[SOBOL_BITS];
    sobol_prefixes(dimension, prefix);
    struct sample s = {.law = LAW_UNIFORM, .a = 0, .b = 1};
    sample_init(&s, sampler, count, seed, name, prefix);
    double *u = malloc(count * sizeof *u);
    REQUIRE(u != NULL);
    sample_values(&s, 0, count, u);
    return u;
}

static double correlation(const double *a, const double *b, uint64_t n) {
    double ab = 0, aa = 0, bb = 0;
    for (uint64_t k = 0; k < n; k++) {
        ab += (a[k] - 0.5) * (b[k] - 0.5);
        aa += (a[k] - 0.5) * (a[k] - 0.5);
        bb += (b[k] - 0.5) * (b[k] - 0.5);
    }
    return ab / sqrt(aa * bb);
}

// Whether stratum s of n holds u, without rounding: s/n <= u < (s+1)/n.
static uint64_t stratum(double u, uint64_t n) {
    unsigned __int128 scaled = (unsigned __int128)(uint64_t)ldexp(u, 63) * n; // u has 2^-63 at most
    return (uint64_t)(scaled >> 63);
}

TEST(sample_lhs_has_one_value_in_each_stratum) {
    static const uint64_t counts[] = {1, 2, 3, 7, 64, 1000, 4097};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            uint64_t n = counts[c];
            double *u = draw(SAMPLER_LHS, n, seed, "rho", 0);
            char *seen = calloc(n, 1);
            for (uint64_t k = 0; k < n; k++) {
                REQUIRE(u[k] > 0 && u[k] < 1);
                seen[stratum(u[k], n)]++;
            }
            for (uint64_t k = 0; k < n; k++)
                CHECK_MSG(seen[k] == 1, "stratum %d of %d: %d values", (int)k, (int)n, seen[k]);
            free(seen);
            free(u);
        }
}

// Neighbouring strata of a huge number of runs are still told apart, and nothing leaves (0, 1).
TEST(sample_lhs_of_huge_counts) {
    static const uint64_t counts[] = {1000000000000, UINT64_C(1) << 50, INT64_MAX};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct sample s = {.law = LAW_UNIFORM, .a = 0, .b = 1};
        sample_init(&s, SAMPLER_LHS, counts[c], 1, "rho", NULL);
        double u[1000], mean = 0;
        for (uint64_t part = 0; part < 3; part++) {
            sample_values(&s, part * (counts[c] / 2 - 500), 1000, u);
            for (int k = 0; k < 1000; k++) {
                CHECK(u[k] > 0 && u[k] < 1);
                mean += u[k] / 3000;
            }
        }
        CHECK_NEAR(mean, 0.5, 0.03);
    }
}

// All orders of three strata are about equally likely.
TEST(sample_lhs_orders_are_fair) {
    int seen[27] = {0};
    for (uint64_t seed = 0; seed < 6000; seed++) {
        double *u = draw(SAMPLER_LHS, 3, seed, "rho", 0);
        seen[stratum(u[0], 3) * 9 + stratum(u[1], 3) * 3 + stratum(u[2], 3)]++;
        free(u);
    }
    for (int k = 0; k < 27; k++) {
        bool permutation = k / 9 != k / 3 % 3 && k / 9 != k % 3 && k / 3 % 3 != k % 3;
        if (permutation) // 1000 expected, standard deviation 29
            CHECK_MSG(abs(seen[k] - 1000) < 150, "order %d came %d times", k, seen[k]);
        else
            CHECK_INT(seen[k], 0);
    }
}

// Where stratum 0 .. 7 of 8 goes is uniform over the eight positions.
TEST(sample_lhs_positions_are_fair) {
    int seen[8][8] = {{0}};
    for (uint64_t seed = 0; seed < 8000; seed++) {
        double *u = draw(SAMPLER_LHS, 8, seed, "x(0)", 0);
        for (int k = 0; k < 8; k++)
            seen[k][stratum(u[k], 8)]++;
        free(u);
    }
    for (int k = 0; k < 64; k++)
        CHECK_MSG(abs(seen[k / 8][k % 8] - 1000) < 150, "%d at %d: %d", k % 8, k / 8,
                  seen[k / 8][k % 8]);
}

TEST(sample_names_and_seeds_are_independent) {
    enum { N = 10000 };
    for (int sampler = SAMPLER_RANDOM; sampler <= SAMPLER_LHS; sampler++) {
        double *sets[] = {draw(sampler, N, 0, "rho", 0), draw(sampler, N, 0, "sigma", 0),
                          draw(sampler, N, 0, "rho(0)", 0), draw(sampler, N, 1, "rho", 0),
                          draw(sampler, N, UINT64_MAX, "rho", 0)};
        for (int a = 0; a < 5; a++) {
            for (int b = 0; b < a; b++)
                CHECK_NEAR(correlation(sets[a], sets[b], N), 0, 0.045);
            CHECK_NEAR(correlation(sets[a], sets[a] + 1, N - 1), 0, 0.045);
        }
        for (int a = 0; a < 5; a++)
            free(sets[a]);
    }
}

TEST(sample_random_fills_the_square) {
    enum { N = 64000, CELLS = 16 };
    double *a = draw(SAMPLER_RANDOM, N, 3, "a", 0), *b = draw(SAMPLER_RANDOM, N, 3, "b", 0);
    int seen[CELLS][CELLS] = {{0}};
    for (int k = 0; k < N; k++)
        seen[(int)(a[k] * CELLS)][(int)(b[k] * CELLS)]++;
    double chi = 0, expected = (double)N / (CELLS * CELLS);
    for (int k = 0; k < CELLS * CELLS; k++)
        chi += pow(seen[k / CELLS][k % CELLS] - expected, 2) / expected;
    CHECK_NEAR(chi, CELLS * CELLS - 1, 120); // standard deviation 23
    free(a);
    free(b);
}

// The first points of the sequence itself, as published with the direction numbers.
TEST(sobol_directions_are_those_of_joe_and_kuo) {
    static const double want[][4] = {// dimensions 1, 2, 3, 4 at index 1, 2, 3
                                     {0.5, 0.5, 0.5, 0.5},
                                     {0.25, 0.75, 0.75, 0.75},
                                     {0.75, 0.25, 0.25, 0.25}};
    for (uint32_t d = 0; d < 4; d++) {
        uint64_t v[SOBOL_BITS];
        sobol_directions(d, v);
        for (uint32_t i = 1; i <= 3; i++) {
            uint64_t x = (i & 1 ? v[0] : 0) ^ (i & 2 ? v[1] : 0);
            CHECK_NEAR(ldexp((double)x, -64), want[i - 1][d], 0);
        }
    }
    static const struct {
        uint32_t dimension, index;
        double want;
    } far[] = {{100, 777, 0.5205078125},
               {100, 1023, 0.3759765625},
               {255, 777, 0.2158203125},
               {255, 1023, 0.1728515625}};
    for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
        uint64_t v[SOBOL_BITS], x = 0;
        sobol_directions(far[k].dimension, v);
        for (uint32_t bit = 0; bit < 10; bit++)
            x ^= far[k].index >> bit & 1 ? v[bit] : 0;
        CHECK_NEAR(ldexp((double)x, -64), far[k].want, 0);
    }
}

// Every dimension: each of the first 2^k intervals gets exactly one of the first 2^k points.
TEST(sobol_is_stratified_in_each_dimension) {
    for (uint32_t d = 0; d < SOBOL_DIMENSIONS; d++) {
        double *u = draw(SAMPLER_SOBOL, 1024, d, "rho", d);
        for (uint32_t n = 1; n <= 1024; n *= 2) {
            char seen[1024] = {0};
            for (uint32_t k = 0; k < n; k++)
                seen[(uint32_t)(u[k] * n)]++;
            for (uint32_t k = 0; k < n; k++)
                CHECK_MSG(seen[k] == 1, "dimension %u, interval %u of %u", d, k, n);
        }
        free(u);
    }
}

// Dimensions 1 and 2 are a (0,2)-sequence: all shapes of boxes of volume 2^-k hold one point each.
TEST(sobol_first_two_dimensions_are_a_net) {
    double *a = draw(SAMPLER_SOBOL, 4096, 5, "rho", 0),
           *b = draw(SAMPLER_SOBOL, 4096, 5, "x(0)", 1);
    for (uint32_t block = 0; block < 4096; block += 256)
        for (uint32_t wide = 1; wide <= 256; wide *= 2) {
            char seen[256] = {0};
            uint32_t high = 256 / wide;
            for (uint32_t k = block; k < block + 256; k++)
                seen[(uint32_t)(a[k] * wide) * high + (uint32_t)(b[k] * high)]++;
            for (uint32_t k = 0; k < 256; k++)
                CHECK_MSG(seen[k] == 1, "block %u, %u wide, box %u", block, wide, k);
        }
    free(a);
    free(b);
}

// Squares of the difference from the volume of [0, x) x [0, y), by Warnock's formula.
static double discrepancy(const double *a, const double *b, uint32_t n) {
    double sum = 1.0 / 9;
    for (uint32_t i = 0; i < n; i++) {
        sum -= (1 - a[i] * a[i]) * (1 - b[i] * b[i]) / (2.0 * n);
        for (uint32_t j = 0; j < n; j++)
            sum += (1 - fmax(a[i], a[j])) * (1 - fmax(b[i], b[j])) / ((double)n * n);
    }
    return sqrt(fabs(sum));
}

TEST(sobol_is_more_even_than_random) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        double *a = draw(SAMPLER_SOBOL, 512, seed, "a", 4),
               *b = draw(SAMPLER_SOBOL, 512, seed, "b", 5);
        double *c = draw(SAMPLER_RANDOM, 512, seed, "a", 0),
               *d = draw(SAMPLER_RANDOM, 512, seed, "b", 0);
        CHECK(discrepancy(a, b, 512) * 3 < discrepancy(c, d, 512));
        free(a), free(b), free(c), free(d);
    }
}

// Seeds move every digit: the first point is uniform over seeds, the second independent of it
// within its half.
TEST(sobol_scramble_is_fair) {
    enum { N = 4096 };
    int first[16] = {0}, second[16][2] = {{0}};
    double a[N], b[N];
    for (uint64_t seed = 0; seed < N; seed++) {
        double *u = draw(SAMPLER_SOBOL, 2, seed, "rho", 0);
        a[seed] = u[0];
        b[seed] = fmod(u[1], 0.5) * 2;
        first[(int)(u[0] * 16)]++;
        second[(int)(fmod(u[0], 0.5) * 32)][fmod(u[1], 0.5) >= 0.25]++;
        free(u);
    }
    for (int k = 0; k < 16; k++) {
        CHECK_MSG(abs(first[k] - 256) < 80, "part %d: %d", k, first[k]);
        CHECK_MSG(abs(second[k][0] - 128) < 57, "part %d: %d then low", k, second[k][0]);
    }
    CHECK_NEAR(correlation(a, b, N), 0, 0.07);
}

// A nested scramble: whether a digit is flipped is a coin toss for each prefix on its own.
TEST(sobol_scramble_is_nested) {
    enum { SEEDS = 2000, POINTS = 16 };
    int same[POINTS][POINTS] = {{0}}; // of digit 5, for two prefixes of four digits
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double *u = draw(SAMPLER_SOBOL, 2 * POINTS, seed, "rho", 0);
        int digit[POINTS]; // fifth digit of point k of the first 16; point k + 16 has the other one
        for (int k = 0; k < POINTS; k++) {
            CHECK((int)(u[k] * 32) == ((int)(u[k + POINTS] * 32) ^ 1));
            digit[k] = (int)(u[k] * 32) & 1;
        }
        for (int k = 0; k < POINTS; k++)
            for (int j = 0; j < k; j++)
                same[k][j] += digit[k] == digit[j];
        free(u);
    }
    for (int k = 0; k < POINTS; k++)
        for (int j = 0; j < k; j++) // standard deviation 22
            CHECK_MSG(abs(same[k][j] - SEEDS / 2) < 110, "%d and %d: %d", k, j, same[k][j]);
}

TEST(normal_quantile_is_accurate) {
    static const double golden[][2] = {
        // p, quantile
        {0x1p-53, -8.2095361516013868556}, {1e-15, -7.9413453261709967713},
        {1e-12, -7.0344838253011319326},   {1.3887943864964021e-11, -6.6579046435011035837},
        {1e-9, -5.9978070150076868614},    {1e-5, -4.2648907939228246102},
        {0.001, -3.0902323061678135354},   {0.01, -2.3263478740408410931},
        {0.0749, -1.4402382675279636631},  {0.0751, -1.4388253927525399824},
        {0.1, -1.2815515655446004353},     {0.25, -0.6744897501960817432},
        {0.4, -0.25334710313579974132},    {0.4999, -0.00025066283008800749239},
        {0.75, 0.6744897501960817432},     {0.97, 1.8807936081512505473},
        {0.999, 3.0902323061678132778},    {0.9999847412109375, 4.169569323349105755},
    };
    for (size_t k = 0; k < sizeof golden / sizeof *golden; k++)
        CHECK_NEAR(normal_quantile(golden[k][0]), golden[k][1], 1e-15 * fabs(golden[k][1]));
    CHECK_NEAR(normal_quantile(0.5), 0, 0);
    for (double p = 0x1p-53; p < 0.5; p *= 3)
        CHECK(normal_quantile(p) == -normal_quantile(1 - p) || p < 1e-3); // 1 - p must be exact
}

static void moments(enum sampler sampler, enum law law, double a, double b, double mean,
                    double sd) {
    enum { N = 16384 };
    static uint64_t prefix[SOBOL_BITS];
    static double v[N];
    sobol_prefixes(7, prefix);
    struct sample s = {.law = law, .a = a, .b = b};
    CHECK(sample_complaint(&s) == NULL);
    sample_init(&s, sampler, N, 42, "rho", prefix);
    sample_values(&s, 0, N, v);
    bool logarithms = law == LAW_LOGUNIFORM || law == LAW_LOGNORMAL;
    double sum = 0, squares = 0;
    for (int k = 0; k < N; k++) {
        double x = logarithms ? log(v[k]) : v[k];
        sum += x / N;
        squares += x * x / N;
    }
    double slack = sampler == SAMPLER_RANDOM ? 0.03 : 0.002;
    CHECK_NEAR(sum, mean, slack * sd);
    CHECK_NEAR(sqrt(squares - sum * sum), sd, slack * sd);
}

TEST(sample_distributions_have_their_moments) {
    for (int sampler = SAMPLER_RANDOM; sampler <= SAMPLER_SOBOL; sampler++) {
        moments(sampler, LAW_UNIFORM, -2, 5, 1.5, 7 / sqrt(12));
        moments(sampler, LAW_LOGUNIFORM, 0.01, 100, 0, log(1e4) / sqrt(12));
        moments(sampler, LAW_NORMAL, 3, 0.5, 3, 0.5);
        moments(sampler, LAW_LOGNORMAL, 2, 1.5, log(2), log(1.5));
    }
}

TEST(sample_quantiles_of_lhs_are_exact) {
    enum { N = 1000 };
    static double v[N];
    struct sample s = {.law = LAW_LOGNORMAL, .a = 10, .b = 3};
    sample_init(&s, SAMPLER_LHS, N, 9, "rho", NULL);
    sample_values(&s, 0, N, v);
    int below_median = 0, below_minus_sd = 0;
    for (int k = 0; k < N; k++) {
        below_median += v[k] < 10;
        below_minus_sd += v[k] < 10.0 / 3; // 15.87 %
    }
    CHECK_INT(below_median, N / 2);
    CHECK(below_minus_sd == 158 || below_minus_sd == 159);
}

// The end is never reached, even when no number lies between; a spread of zero is allowed.
TEST(sample_values_stay_in_their_interval) {
    static const struct sample laws[] = {
        {.law = LAW_UNIFORM, .a = 1, .b = 1 + 0x1p-52},
        {.law = LAW_UNIFORM, .a = -1.7e308, .b = 1.7e308},
        {.law = LAW_UNIFORM, .a = 0, .b = 5e-324},
        {.law = LAW_LOGUNIFORM, .a = 1, .b = 1 + 0x1p-52},
        {.law = LAW_LOGUNIFORM, .a = 5e-324, .b = 1.7e308},
        {.law = LAW_NORMAL, .a = 2, .b = 0},
        {.law = LAW_LOGNORMAL, .a = 2, .b = 1},
    };
    for (size_t l = 0; l < sizeof laws / sizeof *laws; l++)
        for (int sampler = SAMPLER_RANDOM; sampler <= SAMPLER_LHS; sampler++) {
            struct sample s = laws[l];
            double v[500];
            CHECK(sample_complaint(&s) == NULL);
            sample_init(&s, sampler, 500, 0, "rho", NULL);
            sample_values(&s, 0, 500, v);
            for (int k = 0; k < 500; k++)
                CHECK_MSG(l < 5 ? v[k] >= s.a && v[k] < s.b : v[k] == 2, "law %d: %a", (int)l,
                          v[k]);
        }
}

// Seeds and names mean the same numbers for ever: a change here breaks everybody's old batches.
TEST(sample_values_never_change) {
    static const double golden[3][2] = {{0.067041878647033371, 0.65897298929265491},
                                        {0.43067041878647033, 0.18658972989292655},
                                        {0.071857588296491026, 0.62019465585089228}};
    for (int sampler = SAMPLER_RANDOM; sampler <= SAMPLER_SOBOL; sampler++) {
        double *u = draw(sampler, 100, 1, "rho", 1);
        for (int k = 0; k < 2; k++)
            CHECK_NEAR(u[98 + k], golden[sampler][k], 0);
        free(u);
    }
}

// ---- A sample for each row ----------------------------------------------------------------------

static void use_column(struct batch_bed *bed, const char *name, const double *values) {
    struct table t = {.source = "rows.csv", .rows = 4};
    struct table_column column = {.name = name, .number = values};
    t.columns.items = &column;
    t.columns.count = 1;
    GOOD(bed, batch_use_table(bed->batch, &t, &bed->report));
}

// The sample of a row is that of its number, whatever is swept besides.
TEST(sample_per_row_is_drawn_once_a_row) {
    static const enum sampler samplers[] = {SAMPLER_RANDOM, SAMPLER_LHS, SAMPLER_SOBOL};
    static const double rho[] = {1, 2, 3, 4};
    for (int k = 0; k < 3; k++) {
        struct batch_bed *bed = bed_new(), *alone = bed_new();
        use_column(bed, "rho", rho);
        SWEEP(bed, "b=5,6,7");
        SAMPLE(bed, "x(0)=normal:0:1");
        SAMPLE(bed, "sigma=uniform:0:1");
        SAMPLER(bed, samplers[k], 0, 9);
        batch_set_per_row(bed->batch, true);
        READY(bed);
        SAMPLE(alone, "x(0)=normal:0:1");
        SAMPLE(alone, "sigma=uniform:0:1");
        SAMPLER(alone, samplers[k], 4, 9);
        READY(alone);
        CHECK_INT(batch_runs(bed->batch), 12);
        for (uint64_t run = 0; run < 12; run++) {
            CHECK_NEAR(batch_value(bed->batch, 0, run), rho[run / 3], 0);
            CHECK_NEAR(batch_value(bed->batch, 1, run), (double)(5 + run % 3), 0);
            for (uint32_t i = 0; i < 2; i++)
                CHECK_NEAR(batch_value(bed->batch, 2 + i, run),
                           batch_value(alone->batch, i, run / 3), 0);
        }
        double all[12];
        batch_fill(bed->batch, 2, 0, 12, all);
        for (uint64_t run = 0; run < 12; run++)
            CHECK_NEAR(all[run], batch_value(bed->batch, 2, run), 0);
        bed_free(bed);
        bed_free(alone);
    }
}

// A table may hold nothing but who the rows are.
TEST(sample_per_row_of_names_only) {
    static const double id[] = {11, 12, 13, 14};
    struct batch_bed *bed = bed_new();
    batch_set_per_row(bed->batch, true);
    use_column(bed, "_id", id);
    SAMPLE(bed, "rho=uniform:0:1");
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), 4);
    CHECK_INT(batch_table_row(bed->batch, 3), 3);
    CHECK(batch_value(bed->batch, 0, 0) != batch_value(bed->batch, 0, 1));
    batch_set_per_row(bed->batch, false);
    batch_set_samples(bed->batch, 2);
    READY(bed);
    BAD(bed, batch_check_table(bed->batch, false, &bed->report),
        "no column named after a parameter");
    CHECK_INT(batch_check_table(bed->batch, true, &bed->report), SHOAL_OK);
    bed_free(bed);
}

TEST(sample_per_row_refuses) {
    static const double rho[] = {1, 2, 3, 4};
    struct batch_bed *bed = bed_new();
    batch_set_per_row(bed->batch, true);
    SAMPLE(bed, "b=uniform:0:1");
    BAD(bed, batch_check(bed->batch, &bed->report), "give --batch");
    use_column(bed, "rho", rho);
    READY(bed);
    batch_set_samples(bed->batch, 4);
    BAD(bed, batch_check(bed->batch, &bed->report), "leave --runs out");
    bed_free(bed);
    bed = bed_new();
    batch_set_per_row(bed->batch, true);
    use_column(bed, "rho", rho);
    BAD(bed, batch_check(bed->batch, &bed->report), "needs --sample");
    bed_free(bed);
}
