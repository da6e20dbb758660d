// SPDX-License-Identifier: MIT
// One call from model text to numbers, for tests that look at results.
//
//     struct solved s = solve("x' = -x; ...", "a=1,2,3", "method=%s t1=1 rtol=%g", name, rtol);
//     CHECK_NEAR(solved_value(&s, 0, 1, 0), ...);
//     solved_free(&s);
//
// Uses the public header only. A model without line ends has ';' between its lines. Options are
// words `name=value` with the names of the command line. Whatever a call refuses ends the test,
// with its messages. Values of an f32 run are widened.
#ifndef SHOAL_TESTS_SOLVE_H
#define SHOAL_TESTS_SOLVE_H

#include "shoal/shoal.h"

struct solved {
    uint64_t rows, samples;
    uint32_t vars;
    double *values; // [var][row][sample]
    double *t;      // [row][sample]
    uint8_t *status;
    uint32_t *steps, *rejected;
    uint64_t *f_evals;
    shoal_tally tally;
};

// `sweep` may be NULL; several are separated by blanks. Not for save=steps.
struct solved solve(const char *text, const char *sweep, const char *options, ...)
    __attribute__((format(printf, 3, 4)));
// The same for save=steps, one run: values are [var][step], and there are no counts.
struct solved solve_steps(const char *text, const char *options, ...)
    __attribute__((format(printf, 2, 3)));
double solved_value(const struct solved *s, uint32_t var, uint64_t row, uint64_t sample);
double solved_last(const struct solved *s, uint32_t var, uint64_t row); // at its last sample
void solved_free(struct solved *s);

#endif
