// SPDX-License-Identifier: MIT
// A batch by words: every option that says which runs there are, and none else.
#include "check.h"

#include "api/options.h"

static const char model_text[] = "par a=1, b=2\nx'=-a*x+b\ninit x=1\n@ t1=1\n";

static shoal_batch *make_batch(shoal_log *log) {
    shoal_model *model = NULL;
    shoal_batch *batch = NULL;
    REQUIRE(!shoal_model_parse("m.ode", model_text, strlen(model_text), &model, log));
    REQUIRE(!shoal_batch_new(model, &batch, log));
    shoal_model_free(model);
    return batch;
}

static const char *last_message(shoal_log *log) {
    size_t count = shoal_log_message_count(log);
    return count ? shoal_log_message(log, count - 1).text : "";
}

TEST(batch_option_table) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < option_table_count; i++) {
        const struct option *o = &option_table[i];
        CHECK_MSG(o->info.in_batch == (o->add != NULL), "%s", o->info.name);
        bool kept = o->info.kept || !strcmp(o->info.name, "shard"); // of which results hold nothing
        CHECK_MSG(!o->info.in_batch || (kept && !o->info.field), "%s", o->info.name);
        found += o->info.in_batch;
    }
    CHECK_INT(found, 11);
}

// Words in any order are what the calls of their own are.
TEST(batch_option_is_the_call) {
    static const char *const words[][2] = {
        {"only_runs", "3:"}, {"seed", "7"}, {"zip", "a,x"},        {"sampler", "sobol"},
        {"sweep", "a=1,2"},  {"runs", "4"}, {"sweep", "x(0)=3,4"}, {"sample", "b=uniform:0:1"}};
    shoal_log *log = shoal_log_new();
    shoal_batch *words_of = make_batch(log), *calls = make_batch(log);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        CHECK_INT(shoal_batch_option(words_of, words[i][0], words[i][1], log), SHOAL_OK);
    CHECK_INT(shoal_batch_sweep(calls, "a=1,2", log), SHOAL_OK);
    CHECK_INT(shoal_batch_sweep(calls, "x(0)=3,4", log), SHOAL_OK);
    CHECK_INT(shoal_batch_zip(calls, "a,x", log), SHOAL_OK);
    CHECK_INT(shoal_batch_sample(calls, "b=uniform:0:1", log), SHOAL_OK);
    CHECK_INT(shoal_batch_sampler(calls, "sobol", 4, 7, log), SHOAL_OK);
    CHECK_INT(shoal_batch_only(calls, "3:", log), SHOAL_OK);
    CHECK_INT(shoal_batch_runs(words_of), 8);
    CHECK_INT(shoal_batch_rows(words_of), 5);
    REQUIRE(shoal_batch_runs(calls) == 8 && shoal_batch_rows(calls) == 5);
    REQUIRE(shoal_batch_input_count(words_of) == 3 && shoal_batch_input_count(calls) == 3);
    for (uint32_t k = 0; k < 3; k++)
        for (uint64_t run = 0; run < 8; run++)
            CHECK(shoal_batch_value(words_of, k, run) == shoal_batch_value(calls, k, run));
    shoal_batch_free(words_of);
    shoal_batch_free(calls);
    shoal_log_free(log);
}

TEST(batch_option_reads_files) {
    const char *path = check_path("b.csv");
    shoal_log *log = shoal_log_new();
    shoal_batch *batch = make_batch(log);
    check_write(path, "a\n1\n2\n3\n");
    CHECK_INT(shoal_batch_option(batch, "batch", path, log), SHOAL_OK);
    CHECK_INT(shoal_batch_runs(batch), 3);
    shoal_batch_free(batch);
    shoal_log_free(log);
}

TEST(batch_option_refuses) {
    static const struct {
        const char *name, *value, *message;
    } bad[] = {
        {"sweeps", "a=1,2", "did you mean sweep"},
        {"t1", "4", "--t1: does not say which runs there are"},
        {"set", "a=1", "--set: does not say which runs there are"},
        {"sampler", "sobel", "'sobel' is not one of random, lhs or sobol"},
        {"runs", "0", "must be at least 1"},
        {"runs", "many", "not a whole number"},
        {"seed", "-1", "must not be negative"},
        {"sweep", "c=1,2", "c"},
    };
    shoal_log *log = shoal_log_new();
    shoal_batch *batch = make_batch(log);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(shoal_batch_option(batch, bad[i].name, bad[i].value, log), SHOAL_INPUT);
        CHECK_HAS(last_message(log), bad[i].message);
    }
    CHECK_INT(shoal_batch_option(NULL, "runs", "1", log), SHOAL_USAGE);
    CHECK_INT(shoal_batch_option(batch, NULL, "1", log), SHOAL_USAGE);
    CHECK_INT(shoal_batch_option(batch, "runs", NULL, log), SHOAL_USAGE);
    CHECK_INT(shoal_batch_runs(batch), 1); // as it was
    shoal_batch_free(batch);
    shoal_log_free(log);
}
