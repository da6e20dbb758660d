// SPDX-License-Identifier: MIT
// The texts of --sweep, --sample, --zip and --only-runs: what they mean, and what is refused.
#include "test_batch.h"

static void check_values(const char *spec, const char *name, uint64_t count, const double *want) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, spec);
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), count);
    CHECK_INT(batch_inputs(bed->batch), 1);
    CHECK_STR(batch_input_name(bed->batch, 0), name);
    for (uint64_t k = 0; k < count && batch_runs(bed->batch) == count; k++)
        CHECK_MSG(batch_value(bed->batch, 0, k) == want[k], "%s: value %d is %.17g, not %.17g",
                  spec, (int)k, batch_value(bed->batch, 0, k), want[k]);
    bed_free(bed);
}

#define VALUES(spec, name, ...)                                                                    \
    check_values(spec, name, sizeof((double[]){__VA_ARGS__}) / sizeof(double),                     \
                 (double[]){__VA_ARGS__})

TEST(batch_spec_sweep_forms) {
    VALUES("rho=1,2,5", "rho", 1, 2, 5);
    VALUES("rho=7", "rho", 7);
    VALUES(" rho = 1 , 2 ", "rho", 1, 2);
    VALUES("rho=lin:0:1:3", "rho", 0, 0.5, 1);
    VALUES("rho=lin(0,1,3)", "rho", 0, 0.5, 1);
    VALUES("rho= lin ( 0 , 1 , 3 ) ", "rho", 0, 0.5, 1);
    VALUES("rho=log:1:100:3", "rho", 1, 10, 100);
    VALUES("rho=log(1,100,3)", "rho", 1, 10, 100);
    VALUES("rho=log:100:1:3", "rho", 100, 10, 1);
    VALUES("rho=log:-1:-100:3", "rho", -1, -10, -100);
    VALUES("rho=lin:0:1:1e0", "rho", 0);
    VALUES("rho=8/3,2*pi", "rho", 8.0 / 3, 2 * M_PI);
    VALUES("rho=lin:k:2*pi:2", "rho", 3, 2 * M_PI);
    VALUES("rho=log(10)", "rho", log(10));
    VALUES("rho=max(1,2)", "rho", 2);
    VALUES("rho=max(1,2),log(10)", "rho", 2, log(10));
}

TEST(batch_spec_sweep_keeps_duplicates) {
    VALUES("rho=2,2,1,2", "rho", 2, 2, 1, 2);
    VALUES("rho=lin:3:3:4", "rho", 3, 3, 3, 3);
    VALUES("rho=log:3:3:3", "rho", 3, 3, 3);
}

TEST(batch_spec_names) {
    VALUES("x(0)=1,2", "x(0)", 1, 2);
    VALUES("x (0)=1", "x(0)", 1);
    VALUES("x( 0 )=1", "x(0)", 1);
    VALUES("z[2](0)=1", "z2(0)", 1);
    VALUES("z2(0)=1", "z2(0)", 1);
    VALUES("x=1,2", "x(0)", 1, 2); // a state is its initial value
    VALUES("z[3]=1", "z3(0)", 1);
    VALUES("rho=lin:0:2:.003k", "rho", 0, 1, 2); // counts are decimal
    VALUES("rho=lin:0:2:3e0", "rho", 0, 1, 2);
    VALUES("gain=4", "Gain", 4); // the only name that matches ignoring case
}

// As if each point had been rounded once.
TEST(batch_spec_lin_is_well_rounded) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, "rho=lin:0:100:1001");
    SWEEP(bed, "b=lin:-1:1:201");
    GOOD(bed, batch_only(bed->batch, "0:201201", &bed->report));
    READY(bed);
    for (uint64_t k = 0; k < 1001; k++)
        CHECK_MSG(batch_value(bed->batch, 0, k * 201) == (double)k / 10, "point %d", (int)k);
    for (uint64_t k = 0; k < 201; k++)
        CHECK(batch_value(bed->batch, 1, k) == ((double)k - 100) / 100);
    bed_free(bed);
    VALUES("rho=lin:1:0:11", "rho", 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0);
    VALUES("rho=log:0.001:1000:7", "rho", 0.001, 0.01, 0.1, 1, 10, 100, 1000);
}

TEST(batch_spec_lin_of_any_ends_is_well_rounded) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, "rho=lin:0.1:0.8:8");
    SWEEP(bed, "b=lin:-0.7:12345.6:1013");
    READY(bed);
    for (uint64_t k = 0; k < 8 * 1013; k++) {
        long double i = k / 1013, j = k % 1013;
        long double rho = (0.1 * (7 - i) + 0.8 * i) / 7;
        long double b = (-0.7 * (1012 - j) + 12345.6 * j) / 1012;
        double got[2] = {batch_value(bed->batch, 0, k), batch_value(bed->batch, 1, k)};
        for (int n = 0; n < 2;
             n++) { // half a unit in the last place, and the reference's own error
            double ulp = nextafter(fabs(got[n]), INFINITY) - fabs(got[n]);
            CHECK(fabsl(got[n] - (n ? b : rho)) <= 0.52L * ulp || fabs(got[n]) < 1e-9);
        }
    }
    bed_free(bed);
}

TEST(batch_spec_scales_are_symmetric_and_monotone) {
    static const char *const ends[][2] = {{"0.3", "17.7"},
                                          {"-5e-3", "2e9"},
                                          {"1e-300", "1e300"},
                                          {"-1.7e308", "1.7e308"},
                                          {"5e-324", "1"}};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (int log = 0; log < 2; log++) {
            if (log && ends[e][0][0] == '-')
                continue;
            struct batch_bed *bed = bed_new();
            char spec[2][64];
            const char *scale = log ? "log" : "lin";
            snprintf(spec[0], 64, "rho=%s:%s:%s:98", scale, ends[e][0], ends[e][1]);
            snprintf(spec[1], 64, "b=%s:%s:%s:98", scale, ends[e][1], ends[e][0]);
            SWEEP(bed, spec[0]);
            SWEEP(bed, spec[1]);
            GOOD(bed, batch_zip(bed->batch, "rho,b", &bed->report));
            READY(bed);
            CHECK(batch_value(bed->batch, 0, 0) == atof(ends[e][0]));
            CHECK(batch_value(bed->batch, 0, 97) == atof(ends[e][1]));
            for (uint64_t k = 0; k < 98; k++) {
                double v = batch_value(bed->batch, 0, k);
                CHECK(isfinite(v) && v == batch_value(bed->batch, 1, 97 - k));
                CHECK(k == 0 || v > batch_value(bed->batch, 0, k - 1));
            }
            bed_free(bed);
        }
}

#define BAD_SWEEP(spec, part) BAD(bed, batch_sweep(bed->batch, spec, &bed->report), part)

TEST(batch_spec_bad_sweeps) {
    struct batch_bed *bed = bed_new();
    BAD_SWEEP("rho", "write NAME=lin:A:B:N");
    BAD_SWEEP("", "write NAME=lin:A:B:N");
    BAD_SWEEP("=1,2", "name before `=` is missing");
    BAD_SWEEP("(0)=1,2", "name is missing");
    BAD_SWEEP("rho=", "values are missing");
    BAD_SWEEP("rho=1,,2", "number is missing");
    BAD_SWEEP("rho=1,2,", "number is missing");
    BAD_SWEEP("rho=one", "neither a finite number nor an expression of the model's constants");
    BAD_SWEEP("rho=1,2,1e999", "neither a finite number");
    BAD_SWEEP("rho=nan", "neither a finite number");
    BAD_SWEEP("rho=lin:0:1", "lin takes the first value, the last value and how many");
    BAD_SWEEP("rho=lin:0:1:2:3", "lin:A:B:N");
    BAD_SWEEP("rho=log(1,2)", "log takes the first value");
    BAD_SWEEP("rho=lin:0:1:0", "at least one point");
    BAD_SWEEP("rho=lin:0:1:-3", "at least one point");
    BAD_SWEEP("rho=lin:0:1:2.5", "whole number");
    BAD_SWEEP("rho=lin:0:1:2.0005k", "number");
    BAD_SWEEP("rho=lin:0:1:9999999T", "number");
    BAD_SWEEP("rho=lin:0:1:1e16", "at most 2^53");
    BAD_SWEEP("rho=lin:0::3", "number is missing");
    BAD_SWEEP("rho=lni:0:1:3", "did you mean `lin`?");
    BAD_SWEEP("rho=geometric:0:1:3", "unknown word; write NAME=lin");
    BAD_SWEEP("rho=log:0:1:3", "same sign");
    BAD_SWEEP("rho=log:-1:1:3", "same sign");
    BAD_SWEEP("rho=((((", "neither a finite number");
    BAD_SWEEP("rho=))),1", "neither a finite number");
    CHECK_INT(bed->report.messages.items[0].severity, SHOAL_ERROR);
    READY(bed); // nothing of all that was kept
    CHECK_INT(batch_runs(bed->batch), 1);
    CHECK_INT(batch_inputs(bed->batch), 0);
    bed_free(bed);
}

TEST(batch_spec_errors_point_at_the_place) {
    struct batch_bed *bed = bed_new();
    BAD_SWEEP("rho=lin:0: one:3", "--sweep:1:12: error: neither a finite number nor");
    CHECK_HAS(bed_said(bed), "\n  rho=lin:0: one:3\n             ^");
    BAD(bed, batch_sample(bed->batch, "rho=normal:0:-1", &bed->report), "--sample:1:12: error:");
    BAD(bed, batch_only(bed->batch, "1,2x", &bed->report), "--only-runs:1:4: error:");
    bed_free(bed);
}

TEST(batch_spec_bad_names) {
    struct batch_bed *bed = bed_new();
    BAD_SWEEP("roh=1,2", "rho");
    BAD_SWEEP("sgima=1,2", "sigma");
    BAD_SWEEP("rho(0)=1,2", "`rho` is a parameter");
    BAD_SWEEP("x(1)=1,2", "an initial value is written `x(0)`");
    BAD_SWEEP("x()=1,2", "an initial value is written `x(0)`");
    BAD_SWEEP("k=1,2", "`k` is a constant, which is folded into the kernel; use --set");
    BAD_SWEEP("k=1,2", "`par`");
    BAD_SWEEP("twice=1,2", "`twice` is computed from other names");
    BAD_SWEEP("sum1=1,2", "`sum1` is computed from other names");
    BAD(bed, batch_zip(bed->batch, "rho,sgima", &bed->report), "sigma");
    BAD(bed, batch_sample(bed->batch, "roh=uniform:0:1", &bed->report), "rho");
    bed_free(bed);
}

#define BAD_SAMPLE(spec, part) BAD(bed, batch_sample(bed->batch, spec, &bed->report), part)

TEST(batch_spec_bad_samples) {
    struct batch_bed *bed = bed_new();
    BAD_SAMPLE("rho", "write NAME=uniform:A:B");
    BAD_SAMPLE("rho=", "a distribution is missing");
    BAD_SAMPLE("rho=3", "a distribution is missing");
    BAD_SAMPLE("rho=unifrom:0:1", "did you mean `uniform`?");
    BAD_SAMPLE("rho=gauss(0,1)", "unknown word");
    BAD_SAMPLE("rho=uniform:0", "uniform takes two numbers");
    BAD_SAMPLE("rho=uniform:0:1:2", "uniform takes two numbers");
    BAD_SAMPLE("rho=uniform:0:0", "smaller than the second");
    BAD_SAMPLE("rho=uniform:2:1", "smaller than the second");
    BAD_SAMPLE("rho=loguniform:0:1", "must be positive");
    BAD_SAMPLE("rho=loguniform:-1:1", "must be positive");
    BAD_SAMPLE("rho=normal:0:-1", "must not be negative");
    BAD_SAMPLE("rho=normal:0:1e308", "too large or too small");
    BAD_SAMPLE("rho=lognormal:0:2", "median must be positive");
    BAD_SAMPLE("rho=lognormal:1:0.5", "1 or more");
    BAD_SAMPLE("rho=lognormal:1:1e200", "too large or too small");
    BAD_SAMPLE("rho=lognormal:1e-300:1e30", "too large or too small");
    BAD_SAMPLE("rho=normal:a:1", "neither a finite number");
    SAMPLE(bed, "rho=uniform(0,1)");
    SAMPLE(bed, "sigma=loguniform(1, 1e3)");
    SAMPLE(bed, "x(0)=normal:8/3:0");
    SAMPLE(bed, "b=lognormal:k:1");
    bed_free(bed);
}

#define BAD_ONLY(spec, part) BAD(bed, batch_only(bed->batch, spec, &bed->report), part)

TEST(batch_spec_bad_runs) {
    struct batch_bed *bed = bed_new();
    BAD_ONLY("", "4711,5000:6000");
    BAD_ONLY("1,,2", "4711,5000:6000");
    BAD_ONLY("-1", "a number of a run is expected");
    BAD_ONLY("1.5", "a number of a run is expected");
    BAD_ONLY("5:1e", "a number of a run is expected");
    BAD_ONLY(":0", "empty range");
    BAD_ONLY("-5:", "a number of a run is expected");
    BAD_ONLY("1:2:3", "a number of a run is expected");
    BAD_ONLY("5:5", "empty range");
    BAD_ONLY("6:5", "empty range");
    BAD_ONLY("99999999999999999999", "no run has so large a number");
    bed_free(bed);
}

// Ranges with an end left out, and letters.
TEST(batch_spec_open_runs) {
    static const struct {
        const char *only;
        uint64_t rows, first, last;
    } cases[] = {{"7:", 2993, 7, 2999},
                 {":3", 3, 0, 2},
                 {":", 3000, 0, 2999},
                 {"2.9k:", 100, 2900, 2999},
                 {"1k:2k", 1000, 1000, 1999},
                 {"2999:", 1, 2999, 2999},
                 {"5, 2e3:,10:20", 1011, 5, 2999},
                 {"100:,50:200", 2950, 50, 2999}};
    struct batch_bed *bed = bed_new();
    GOOD(bed, batch_sweep(bed->batch, "x=lin:0:1:3k", &bed->report));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GOOD(bed, batch_only(bed->batch, cases[i].only, &bed->report));
        READY(bed);
        CHECK_INT(batch_rows(bed->batch), cases[i].rows);
        CHECK_INT(batch_run_of_row(bed->batch, 0), cases[i].first);
        CHECK_INT(batch_run_of_row(bed->batch, cases[i].rows - 1), cases[i].last);
    }
    GOOD(bed, batch_only(bed->batch, "3000:", &bed->report));
    BAD(bed, batch_check(bed->batch, &bed->report), "there is no run 3000");
    bed_free(bed);
}

// Both names of an initial value at once are the same name twice, whoever gives it.
TEST(batch_spec_one_state_twice) {
    struct batch_bed *bed = bed_new();
    const double values[] = {1, 2};
    GOOD(bed, batch_sweep(bed->batch, "x=1,2", &bed->report));
    BAD_SWEEP("x(0)=1,2", "--sweep gives `x(0)` twice");
    BAD(bed, batch_sample(bed->batch, "x=uniform:0:1", &bed->report), "`x(0)` is given by both");
    BAD(bed, batch_add_values(bed->batch, "x", values, 2, &bed->report), "`x(0)` is given by both");
    BAD(bed, batch_zip(bed->batch, "x,x(0)", &bed->report), "--zip names `x(0)` twice");
    GOOD(bed, model_set(bed->model, "x=3", "--set", &bed->report));
    BAD(bed, batch_check(bed->batch, &bed->report), "`x(0)` is given by both --set and --sweep");
    BAD(bed, model_set(bed->model, "x=1,x(0)=2", "--set", &bed->report), "`x(0)` is given twice");
    BAD(bed, model_set(bed->model, "rho=1,RHO=2", "--set", &bed->report), "`rho` is given twice");
    bed_free(bed);
}

// Any bytes are refused or taken, never worse.
TEST(batch_spec_survives_noise) {
    static const char alphabet[] = "rhox(0)=:,.lingou1e9-[]+*/ \t\n\\\"%s_b?\xc3\xff";
    struct batch_bed *bed = bed_new();
    uint64_t state = 1;
    for (int round = 0; round < 3000; round++) {
        char text[24] = "rho=";
        size_t length = round % 2 ? 4 : 0, end = 3 + (size_t)(round % 19);
        for (; length < end; length++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[length] = alphabet[(state >> 40) % (sizeof alphabet - 1)];
        }
        text[length] = 0;
        batch_sweep(bed->batch, text, NULL);
        batch_sample(bed->batch, text, NULL);
        batch_only(bed->batch, text, NULL);
        batch_zip(bed->batch, text, NULL);
    }
    bed_free(bed);
}
