// SPDX-License-Identifier: MIT
// From model text to summaries through the public header, for tests.
//
//     struct summed s = summed_run("x' = -x", "a=1,2", "t1=1 summary=max(x)");
//     CHECK_NEAR(summed_value(&s, "max(x)", 0, 0), ...);
//     summed_free(&s);
//
// As solve.h has it; options are words without blanks.
#ifndef SHOAL_TESTS_SUMMED_H
#define SHOAL_TESTS_SUMMED_H

#include "shoal/shoal.h"

struct summed {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
    shoal_result *result;
    char *words;
};

struct summed summed_run(const char *text, const char *sweep, const char *options, ...)
    __attribute__((format(printf, 3, 4)));
// Element `item` of a summary by its name in files.
double summed_value(const struct summed *s, const char *name, uint64_t row, uint64_t item);
// Whether two have the same bits in all summaries of all rows.
bool summed_same(const struct summed *a, const struct summed *b);
void summed_free(struct summed *s);
// The first error of these options, or "".
const char *summed_error(const char *text, const char *options);

#endif
