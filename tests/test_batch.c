// SPDX-License-Identifier: MIT
// How inputs combine into runs: order, zips, tables, parts of a batch, and values as pure
// functions.
#include "test_batch.h"

static struct table *table_of(uint64_t rows) {
    struct table *t = calloc(1, sizeof *t);
    t->columns.items = calloc(16, sizeof *t->columns.items);
    t->source = "runs.csv";
    t->rows = rows;
    return t;
}

static void add(struct table *t, struct table_column c) {
    t->columns.items[t->columns.count++] = c;
}

static void table_free(struct table *t) {
    free(t->columns.items);
    free(t);
}

static char *described(const struct batch_bed *bed) {
    struct buf b = {0};
    batch_describe(bed->batch, &b);
    return b.data;
}

TEST(batch_of_nothing_is_one_run) {
    struct batch_bed *bed = bed_new();
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), 1);
    CHECK_INT(batch_rows(bed->batch), 1);
    CHECK_INT(batch_inputs(bed->batch), 0);
    CHECK_INT(batch_extras(bed->batch), 0);
    CHECK_INT(batch_run_of_row(bed->batch, 0), 0);
    CHECK_INT(batch_table_row(bed->batch, 0), 0);
    char *text = described(bed);
    CHECK_STR(text, "[]");
    free(text);
    bed_free(bed);
    batch_free(NULL);
}

TEST(batch_leftmost_sweep_is_slowest) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, "rho=1,2");
    SWEEP(bed, "x(0)=10,20,30");
    SWEEP(bed, "b=5,6");
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), 12);
    for (uint64_t run = 0; run < 12; run++) {
        CHECK(batch_value(bed->batch, 0, run) == 1 + (double)(run / 6));
        CHECK(batch_value(bed->batch, 1, run) == 10 * (1 + (double)(run / 2 % 3)));
        CHECK(batch_value(bed->batch, 2, run) == 5 + (double)(run % 2));
    }
    struct batch_target x = batch_input_target(bed->batch, 1),
                        b = batch_input_target(bed->batch, 2);
    CHECK(x.initial && x.index == 0);
    CHECK(!b.initial && b.index == 3);
    char *text = described(bed);
    CHECK_STR(text, "[{\"names\":[\"rho\"],\"count\":2},{\"names\":[\"x(0)\"],\"count\":3},"
                    "{\"names\":[\"b\"],\"count\":2}]");
    free(text);
    bed_free(bed);
}

// One axis at the place of its first member, whatever the order of the calls and of the names.
TEST(batch_zip_is_one_axis) {
    struct batch_bed *bed = bed_new();
    GOOD(bed, batch_zip(bed->batch, "b, rho", &bed->report));
    SWEEP(bed, "rho=1,2,3");
    SWEEP(bed, "sigma=10,20");
    SWEEP(bed, "b=lin:4:6:3");
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), 6);
    for (uint64_t run = 0; run < 6; run++) {
        CHECK(batch_value(bed->batch, 0, run) == 1 + (double)(run / 2));
        CHECK(batch_value(bed->batch, 1, run) == 10 + 10 * (double)(run % 2));
        CHECK(batch_value(bed->batch, 2, run) == 4 + (double)(run / 2));
    }
    char *text = described(bed);
    CHECK_STR(text,
              "[{\"names\":[\"rho\",\"b\"],\"count\":3},{\"names\":[\"sigma\"],\"count\":2}]");
    free(text);
    bed_free(bed);
}

TEST(batch_bad_zips) {
    struct batch_bed *bed = bed_new();
    BAD(bed, batch_zip(bed->batch, "rho", &bed->report), "two names or more");
    BAD(bed, batch_zip(bed->batch, "", &bed->report), "name is missing");
    BAD(bed, batch_zip(bed->batch, "rho,", &bed->report), "name is missing");
    BAD(bed, batch_zip(bed->batch, "rho,rho", &bed->report), "--zip names `rho` twice");
    GOOD(bed, batch_zip(bed->batch, "rho,b", &bed->report));
    BAD(bed, batch_zip(bed->batch, "b,sigma", &bed->report), "--zip names `b` twice");
    SWEEP(bed, "rho=1,2,3");
    BAD(bed, batch_check(bed->batch, &bed->report), "--zip names `b`, which has no --sweep");
    SWEEP(bed, "b=1,2");
    BAD(bed, batch_check(bed->batch, &bed->report),
        "--zip pairs `rho` with `b`, but the first has 3 values and the second 2");
    bed_free(bed);
    bed = bed_new();
    GOOD(bed, batch_zip(bed->batch, "rho,x(0)", &bed->report));
    SWEEP(bed, "rho=1,2");
    SAMPLE(bed, "x(0)=uniform:0:1");
    SAMPLER(bed, SAMPLER_LHS, 3, 0);
    BAD(bed, batch_check(bed->batch, &bed->report), "--zip names `x(0)`, which has no --sweep");
    bed_free(bed);
}

static struct batch_bed *mixed(enum sampler sampler) {
    struct batch_bed *bed = bed_new();
    struct table *t = table_of(3);
    add(t, (struct table_column){.name = "sigma", .number = (double[]){7, 8, 9}});
    add(t, (struct table_column){.name = "_tag", .text = (const char *[]){"a", "b", NULL}});
    SAMPLE(bed, "b=normal:0:1");
    SWEEP(bed, "rho=lin:0:1:5");
    SWEEP(bed, "x(0)=log:1:1000:4");
    SAMPLE(bed, "y(0)=loguniform:1:2");
    GOOD(bed, batch_use_table(bed->batch, t, &bed->report));
    SAMPLER(bed, sampler, 16, 11);
    READY(bed);
    table_free(t);
    return bed;
}

TEST(batch_table_is_slowest_and_samples_fastest) {
    struct batch_bed *bed = mixed(SAMPLER_LHS);
    CHECK_INT(batch_runs(bed->batch), 3 * 5 * 4 * 16);
    static const char *const names[] = {"sigma", "rho", "x(0)", "b", "y(0)"};
    CHECK_INT(batch_inputs(bed->batch), 5);
    for (uint32_t k = 0; k < 5; k++)
        CHECK_STR(batch_input_name(bed->batch, k), names[k]);
    for (uint64_t run = 0; run < 960; run++) {
        CHECK(batch_value(bed->batch, 0, run) == 7 + (double)(run / 320));
        CHECK_INT(batch_table_row(bed->batch, run), run / 320);
        CHECK(batch_value(bed->batch, 1, run) == (double)(run / 64 % 5) / 4);
        CHECK(batch_value(bed->batch, 3, run) == batch_value(bed->batch, 3, run % 16));
    }
    CHECK_INT(batch_extras(bed->batch), 1);
    CHECK_STR(batch_extra(bed->batch, 0)->name, "_tag");
    CHECK_STR(batch_extra(bed->batch, 0)->text[1], "b");
    CHECK_STR(batch_extra(bed->batch, 0)->text[2], "");
    char *text = described(bed);
    CHECK_STR(text,
              "[{\"names\":[\"sigma\"],\"count\":3},{\"names\":[\"rho\"],\"count\":5},"
              "{\"names\":[\"x(0)\"],\"count\":4},{\"names\":[\"b\",\"y(0)\"],\"count\":16}]");
    free(text);
    bed_free(bed);
}

// Whatever the chunks, whatever the order: the same bits.
TEST(batch_fill_equals_value_in_any_chunks) {
    for (int sampler = SAMPLER_RANDOM; sampler <= SAMPLER_SOBOL; sampler++) {
        struct batch_bed *bed = mixed((enum sampler)sampler);
        static double out[960];
        for (uint32_t input = 0; input < 5; input++)
            for (uint32_t chunk = 1; chunk <= 960; chunk += chunk < 70 ? 1 : 97)
                for (uint64_t row = 960 / chunk * chunk;; row -= chunk) {
                    uint32_t n = row + chunk > 960 ? (uint32_t)(960 - row) : chunk;
                    batch_fill(bed->batch, input, row, n, out);
                    for (uint32_t k = 0; k < n; k++)
                        CHECK_MSG(out[k] == batch_value(bed->batch, input, row + k),
                                  "input %u, chunk %u, row %u", input, chunk, (unsigned)row + k);
                    if (row == 0)
                        break;
                }
        bed_free(bed);
    }
}

TEST(batch_long_sweeps_are_filled_by_blocks) {
    struct batch_bed *bed = bed_new();
    static double out[3000];
    SWEEP(bed, "rho=lin:0:1:1500");
    SWEEP(bed, "b=1,2,3");
    READY(bed);
    for (uint64_t first = 0; first <= 1500; first += 499) {
        batch_fill(bed->batch, 0, first, 3000, out);
        for (uint64_t k = 0; k < 3000; k++)
            CHECK(out[k] == (double)((first + k) / 3) / 1499);
    }
    bed_free(bed);
}

// A name's samples do not depend on what else is sampled or swept, nor on how it was spelt.
TEST(batch_samples_belong_to_their_name) {
    struct batch_bed *one = bed_new(), *two = bed_new();
    SAMPLE(one, "Gain=uniform:0:1");
    SAMPLE(one, "z2(0)=uniform:0:1");
    SAMPLER(one, SAMPLER_LHS, 50, 3);
    SAMPLE(two, "z[2](0)=uniform:0:1");
    SWEEP(two, "rho=1,2,3");
    SAMPLE(two, "gain=uniform:0:1");
    SAMPLER(two, SAMPLER_LHS, 50, 3);
    READY(one);
    READY(two);
    for (uint64_t run = 0; run < 50; run++) {
        CHECK(batch_value(one->batch, 0, run) == batch_value(two->batch, 2, run));
        CHECK(batch_value(one->batch, 1, run) == batch_value(two->batch, 1, run + 100));
        CHECK(batch_value(one->batch, 0, run) != batch_value(one->batch, 1, run));
    }
    bed_free(one);
    bed_free(two);
}

TEST(batch_samples_need_runs_and_runs_need_samples) {
    struct batch_bed *bed = bed_new();
    SAMPLER(bed, SAMPLER_LHS, 10, 0);
    BAD(bed, batch_check(bed->batch, &bed->report), "--runs needs --sample");
    SAMPLER(bed, SAMPLER_LHS, 0, 0);
    SAMPLE(bed, "rho=uniform:0:1");
    BAD(bed, batch_check(bed->batch, &bed->report), "--sample needs --runs N");
    SAMPLER(bed, SAMPLER_LHS, 10, 0);
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), 10);
    bed_free(bed);
}

TEST(batch_sobol_limits) {
    struct batch_bed *bed = bed_new();
    SAMPLE(bed, "rho=uniform:0:1");
    SAMPLER(bed, SAMPLER_SOBOL, 64, 0);
    READY(bed);
    CHECK_INT(bed->report.messages.count, 0);
    SAMPLER(bed, SAMPLER_SOBOL, 100, 0);
    READY(bed);
    CHECK_HAS(bed_said(bed), "power of two; 100 is not");
    READY(bed);
    CHECK_INT(bed->report.messages.count, 1); // said once
    SAMPLER(bed, SAMPLER_SOBOL, (UINT64_C(1) << 52) + 1, 0);
    BAD(bed, batch_check(bed->batch, &bed->report), "2^52 points");
    SAMPLER(bed, SAMPLER_SOBOL, UINT64_C(1) << 52, 0);
    READY(bed);
    double last[2];
    batch_fill(bed->batch, 0, (UINT64_C(1) << 52) - 2, 2, last);
    CHECK(last[1] == batch_value(bed->batch, 0, (UINT64_C(1) << 52) - 1));
    bed_free(bed);

    struct buf text = {0};
    for (int k = 0; k < 257; k++)
        buf_printf(&text, "par p%d=1\n", k);
    buf_puts(&text, "x'=-x\n");
    bed = bed_of(text.data);
    for (int k = 0; k < 257; k++) {
        char spec[32];
        snprintf(spec, sizeof spec, "p%d=uniform:0:1", k);
        SAMPLE(bed, spec);
        if (k == 255) {
            SAMPLER(bed, SAMPLER_SOBOL, 64, 0);
            READY(bed);
        }
    }
    BAD(bed, batch_check(bed->batch, &bed->report), "257 are sampled; use --sampler lhs");
    SAMPLER(bed, SAMPLER_LHS, 64, 0);
    READY(bed);
    buf_free(&text);
    bed_free(bed);
}

TEST(batch_tables_name_their_columns) {
    struct batch_bed *bed = bed_new();
    double one[] = {1, 2}, two[] = {3, 4};
    const char *words[] = {"ok", "max_steps"};
    struct table *t = table_of(2);
    add(t, (struct table_column){.name = "run", .number = one});
    add(t, (struct table_column){.name = "rho", .number = one});
    add(t, (struct table_column){.name = "t", .number = one});
    add(t, (struct table_column){.name = "z[3](0)", .number = two});
    add(t, (struct table_column){.name = "status", .text = words});
    add(t, (struct table_column){.name = "_weight", .number = (double[]){NAN, 1}});
    GOOD(bed, batch_use_table(bed->batch, t, &bed->report));
    READY(bed);
    one[0] = two[0] = 99; // it has its own copy
    CHECK_INT(batch_runs(bed->batch), 2);
    CHECK_INT(batch_inputs(bed->batch), 2);
    CHECK_STR(batch_input_name(bed->batch, 1), "z3(0)");
    CHECK_INT(batch_input_target(bed->batch, 1).index, 4);
    CHECK(batch_value(bed->batch, 0, 0) == 1 && batch_value(bed->batch, 1, 1) == 4);
    CHECK(isnan(batch_extra(bed->batch, 0)->number[0]));
    table_free(t);
    bed_free(bed);
}

// Floats of a table are copied as doubles are, extras too.
TEST(batch_tables_of_floats) {
    struct batch_bed *bed = bed_new();
    float one[] = {1.5f, 2}, two[] = {3, 4};
    struct table *t = table_of(2);
    add(t, (struct table_column){.name = "rho", .number32 = one});
    add(t, (struct table_column){.name = "_weight", .number32 = two});
    GOOD(bed, batch_use_table(bed->batch, t, &bed->report));
    READY(bed);
    one[0] = two[0] = 99;
    CHECK(batch_value(bed->batch, 0, 0) == 1.5 && batch_value(bed->batch, 0, 1) == 2);
    REQUIRE(batch_extra(bed->batch, 0)->number);
    CHECK(batch_extra(bed->batch, 0)->number[0] == 3);
    table_free(t);
    bed_free(bed);
}

#define BAD_TABLE(part, ...)                                                                       \
    do {                                                                                           \
        struct table *table_ = table_of(2);                                                        \
        struct table_column c_[] = {__VA_ARGS__};                                                  \
        for (size_t k_ = 0; k_ < sizeof c_ / sizeof *c_; k_++)                                     \
            add(table_, c_[k_]);                                                                   \
        BAD(bed, batch_use_table(bed->batch, table_, &bed->report), part);                         \
        table_free(table_);                                                                        \
    } while (0)

TEST(batch_bad_tables) {
    struct batch_bed *bed = bed_new();
    double fine[] = {1, 2}, nan[] = {1, NAN}, inf[] = {-INFINITY, 1};
    const char *words[] = {"a", "b"};
    struct table_column rho = {.name = "rho", .number = fine}, tag = {.name = "_t", .number = fine};
    BAD_TABLE("rho", {.name = "roh", .number = fine});
    CHECK_HAS(bed_said(bed), "runs.csv");
    BAD_TABLE("gives `x(0)` twice", {.name = "x(0)", .number = fine},
              {.name = "x", .number = fine});
    BAD_TABLE("`k` is a constant", rho, {.name = "k", .number = fine});
    BAD_TABLE("", rho, {.name = "", .number = fine});
    BAD_TABLE("column `rho`, row 1 (counted from 0): nan", {.name = "rho", .number = nan});
    BAD_TABLE("row 0 (counted from 0): an infinite", {.name = "rho", .number = inf});
    BAD_TABLE("column `rho` holds text", {.name = "rho", .text = words});
    BAD_TABLE("runs.csv gives `rho` twice", rho, rho);
    BAD_TABLE("runs.csv gives `_t` twice", rho, tag, tag);
    BAD_TABLE("no column named after a parameter", {.name = "run", .number = fine});
    struct table *empty = table_of(0);
    add(empty, rho);
    BAD(bed, batch_use_table(bed->batch, empty, &bed->report), "no rows");
    table_free(empty);
    READY(bed); // nothing of all that was kept
    CHECK_INT(batch_inputs(bed->batch), 0);
    CHECK_INT(batch_runs(bed->batch), 1);
    CHECK_INT(batch_extras(bed->batch), 0);
    uint32_t before = bed->report.errors; // all bad columns are reported at once
    BAD_TABLE("", {.name = "roh", .number = fine}, {.name = "sgima", .number = fine});
    CHECK_INT(bed->report.errors, before + 2);
    bed_free(bed);
}

// A parameter called like a column of ours can be given as in the result files, with a `_`.
TEST(batch_table_of_a_model_with_our_names) {
    struct batch_bed *bed = bed_of("par run=1, status=2, a=3\nx'=-a*x*run*status\n");
    double fine[] = {1, 2};
    struct table *t = table_of(2);
    add(t, (struct table_column){.name = "run", .number = fine});
    add(t, (struct table_column){.name = "status_", .number = fine});
    GOOD(bed, batch_use_table(bed->batch, t, &bed->report));
    CHECK_HAS(bed_said(bed), "column `run` is ignored");
    CHECK_HAS(bed_said(bed), "run_");
    READY(bed);
    CHECK_INT(batch_inputs(bed->batch), 1);
    CHECK_STR(batch_input_name(bed->batch, 0), "status");
    table_free(t);
    bed_free(bed);
}

TEST(batch_takes_arrays) {
    struct batch_bed *bed = bed_new();
    double rho[] = {1, 2, 3}, x[] = {4, 5, 6};
    GOOD(bed, batch_add_values(bed->batch, "rho", rho, 3, &bed->report));
    GOOD(bed, batch_add_values(bed->batch, "x(0)", x, 3, &bed->report));
    BAD(bed, batch_add_values(bed->batch, "b", x, 2, &bed->report),
        "an array of values has 2 rows, but an array of values has 3");
    BAD(bed, batch_add_values(bed->batch, "b", x, 0, &bed->report), "no rows");
    BAD(bed, batch_add_values(bed->batch, "x(0)", x, 3, &bed->report), "gives `x(0)` twice");
    BAD(bed, batch_add_values(bed->batch, "roh", x, 3, &bed->report), "rho");
    BAD(bed, batch_add_values(bed->batch, "b", (double[]){1, 2, NAN}, 3, &bed->report), "row 2");
    READY(bed);
    rho[2] = 0;
    CHECK_INT(batch_runs(bed->batch), 3);
    CHECK(batch_value(bed->batch, 0, 2) == 3 && batch_value(bed->batch, 1, 2) == 6);
    bed_free(bed);
}

TEST(batch_refuses_a_name_given_twice) {
    struct batch_bed *bed = bed_new();
    double values[] = {1, 2};
    SWEEP(bed, "rho=1,2");
    BAD(bed, batch_sweep(bed->batch, "RHO=3,4", &bed->report), "--sweep gives `rho` twice");
    BAD(bed, batch_sample(bed->batch, "rho=uniform:0:1", &bed->report),
        "`rho` is given by both --sweep and --sample");
    BAD(bed, batch_add_values(bed->batch, "rho", values, 2, &bed->report),
        "both --sweep and an array");
    BAD_TABLE("`rho` is given by both --sweep and runs.csv", {.name = "rho", .number = values});
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), 2);
    GOOD(bed, model_set(bed->model, "b=2", "--set", &bed->report));
    SWEEP(bed, "b=1,2");
    BAD(bed, batch_check(bed->batch, &bed->report), "`b` is given by both --set and --sweep");
    bed_free(bed);
    bed = bed_new();
    SAMPLE(bed, "x(0)=normal:0:1");
    SAMPLER(bed, SAMPLER_RANDOM, 5, 0);
    READY(bed);
    GOOD(bed, model_set(bed->model, "x(0)=2", "--set", &bed->report)); // also when set afterwards
    BAD(bed, batch_check(bed->batch, &bed->report), "`x(0)` is given by both --set and --sample");
    bed_free(bed);
}

TEST(batch_only_runs) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, "rho=lin:0:99:100");
    SWEEP(bed, "b=1,2");
    READY(bed);
    GOOD(bed, batch_only(bed->batch, "150, 3,10:13,12:14,3,199,14", &bed->report));
    READY(bed);
    static const uint64_t want[] = {3, 10, 11, 12, 13, 14, 150, 199};
    CHECK_INT(batch_runs(bed->batch), 200);
    REQUIRE(batch_rows(bed->batch) == 8);
    double out[2][8];
    batch_fill(bed->batch, 0, 0, 8, out[0]);
    batch_fill(bed->batch, 1, 2, 5, out[1] + 2);
    for (uint64_t row = 0; row < 8; row++) {
        CHECK_INT(batch_run_of_row(bed->batch, row), want[row]);
        CHECK(out[0][row] == (double)(want[row] / 2));
        CHECK(row < 2 || row == 7 || out[1][row] == 1 + (double)(want[row] % 2));
    }
    GOOD(bed, batch_only(bed->batch, "190:201", &bed->report));
    BAD(bed, batch_check(bed->batch, &bed->report), "there is no run 200; the batch has 200");
    GOOD(bed, batch_only(bed->batch, "0:200", &bed->report)); // the last one counts
    READY(bed);
    CHECK_INT(batch_rows(bed->batch), 200);
    bed_free(bed);
}

TEST(batch_of_very_many_runs_is_described_at_once) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, "rho=lin:0:1:1000000000");
    SWEEP(bed, "b=1,2");
    SAMPLE(bed, "sigma=normal:0:1");
    SAMPLER(bed, SAMPLER_LHS, 1000000000, 0);
    READY(bed);
    CHECK_INT(batch_runs(bed->batch), 2000000000000000000);
    uint64_t last = batch_runs(bed->batch) - 1;
    CHECK(batch_value(bed->batch, 0, last) == 1 && batch_value(bed->batch, 1, last) == 2);
    CHECK(isfinite(batch_value(bed->batch, 2, last)));
    double out[4];
    batch_fill(bed->batch, 1, 999999998, 4, out);
    CHECK(out[1] == 1 && out[2] == 2);
    GOOD(bed, batch_only(bed->batch, "7,1999999999999999990:2000000000000000000", &bed->report));
    READY(bed);
    CHECK_INT(batch_rows(bed->batch), 11);
    CHECK_INT(batch_run_of_row(bed->batch, 10), last);
    SWEEP(bed, "Gain=lin:0:1:5");
    BAD(bed, batch_check(bed->batch, &bed->report), "more than 2^63 runs");
    bed_free(bed);
}

TEST(batch_overflow_of_runs_is_an_error) {
    struct batch_bed *bed = bed_new();
    SWEEP(bed, "rho=lin:0:1:4294967296");
    SWEEP(bed, "b=lin:0:1:4294967296");
    BAD(bed, batch_check(bed->batch, &bed->report), "more than 2^63 runs");
    SWEEP(bed, "sigma=lin:0:1:4503599627370496");
    SWEEP(bed, "x(0)=lin:0:1:4503599627370496");
    BAD(bed, batch_check(bed->batch, &bed->report), "more than 2^63 runs");
    bed_free(bed);
}
