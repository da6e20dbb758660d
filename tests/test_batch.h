// SPDX-License-Identifier: MIT
// What the tests of the batch share: a model with every kind of name, and short calls.
#ifndef SHOAL_TESTS_TEST_BATCH_H
#define SHOAL_TESTS_TEST_BATCH_H

#include "check.h"
#include "ode/batch/batch.h"

static const char batch_model_text[] = "par rho=28, sigma=10, Gain=2, b=1\n"
                                       "const k=3\n"
                                       "!twice=2*rho\n"
                                       "sum1=x+y\n"
                                       "x'=sigma*(y-x)\n"
                                       "y'=x*rho-sum1*k*b\n"
                                       "z[1..3]'=-Gain*z[j]*twice\n"
                                       "init x=1\n"
                                       "@ t1=1\n";

struct batch_bed {
    struct report report;
    struct model *model;
    struct batch *batch;
};

static inline struct batch_bed *bed_of(const char *text) {
    struct batch_bed *bed = calloc(1, sizeof *bed);
    REQUIRE(bed != NULL);
    bed->model = model_parse("bed.ode", text, strlen(text), &bed->report);
    REQUIRE(bed->model != NULL);
    bed->batch = batch_new(bed->model);
    REQUIRE(bed->batch != NULL);
    report_free(&bed->report); // notes about the model are not what is tested here
    bed->report = (struct report){0};
    return bed;
}

static inline struct batch_bed *bed_new(void) { return bed_of(batch_model_text); }

static inline void bed_free(struct batch_bed *bed) {
    batch_free(bed->batch);
    model_free(bed->model);
    report_free(&bed->report);
    free(bed);
}

// The text of the newest message.
static inline const char *bed_said(const struct batch_bed *bed) {
    uint32_t n = bed->report.messages.count;
    return n ? bed->report.messages.items[n - 1].text : "(nothing)";
}

#define GOOD(bed, call)                                                                            \
    do {                                                                                           \
        shoal_code code_ = (call);                                                                 \
        CHECK_MSG(code_ == SHOAL_OK, "%s is not fine: %s", #call, bed_said(bed));                  \
    } while (0)
// The call fails, and its message has that part.
#define BAD(bed, call, part)                                                                       \
    do {                                                                                           \
        uint32_t errors_ = (bed)->report.errors;                                                   \
        CHECK_INT((call), SHOAL_INPUT);                                                            \
        CHECK_MSG((bed)->report.errors > errors_, "%s says nothing", #call);                       \
        CHECK_HAS(bed_said(bed), part);                                                            \
    } while (0)

#define SWEEP(bed, spec) GOOD(bed, batch_sweep((bed)->batch, spec, &(bed)->report))
#define SAMPLE(bed, spec) GOOD(bed, batch_sample((bed)->batch, spec, &(bed)->report))
#define SAMPLER(bed, sampler, runs, seed)                                                          \
    do {                                                                                           \
        batch_set_sampler((bed)->batch, sampler);                                                  \
        batch_set_samples((bed)->batch, runs);                                                     \
        batch_set_seed((bed)->batch, seed);                                                        \
    } while (0)
#define READY(bed) GOOD(bed, batch_check((bed)->batch, &(bed)->report))

#endif
