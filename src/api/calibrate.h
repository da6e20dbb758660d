// SPDX-License-Identifier: MIT
// What calibrations of models and of grids share: sizes of batches, and the number that counts of
// several times.
#ifndef SHOAL_API_CALIBRATE_H
#define SHOAL_API_CALIBRATE_H

#include "shoal/shoal.h"

enum { CALIBRATE_SIZES = 8, CALIBRATE_FACTOR = 4, CALIBRATE_REPEATS = 7 };

// Rows of a size; those of the next are CALIBRATE_FACTOR times as many.
uint64_t calibrate_rows(uint32_t size);
// Of times, which are sorted.
double calibrate_median(double *t, uint32_t count);

// The workloads of grids, up to a point in time; what is measured goes into the tune file.
shoal_code calibrate_grids(const shoal_options *options, uint64_t end_ns,
                           shoal_calibrate_visit *visit, void *user, shoal_log *log);

#endif
