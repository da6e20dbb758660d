// SPDX-License-Identifier: MIT
// NPZ files of a test's own, made of arrays of doubles.
#ifndef SHOAL_TESTS_NPZ_FILE_H
#define SHOAL_TESTS_NPZ_FILE_H

#include <stdint.h>

struct npz_array {
    const char *name;
    const double *data;
    uint32_t dims;
    uint64_t shape[3];
};

// `meta` may be NULL.
void npz_file_write(const char *path, const struct npz_array *array, uint32_t count,
                    const char *meta);

#endif
