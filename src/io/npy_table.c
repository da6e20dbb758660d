// SPDX-License-Identifier: MIT
// Samples from an NPY file: an array of two columns, the time and a value.
#include "base/file.h"
#include "io/formats.h"
#include "io/npy.h"

#include <stdlib.h>

enum { NPY_MOST = 1 << 30 }; // bytes of a file

static shoal_code take_columns(const struct npy *a, struct arena *arena, struct table *out) {
    out->rows = a->shape[0];
    double *t = table_numbers(arena, out, "t"),
           *value = t ? table_numbers(arena, out, "value") : NULL;
    for (uint64_t i = 0; value && i < out->rows; i++) {
        t[i] = npy_number(a, a->columns ? i : 2 * i);
        value[i] = npy_number(a, a->columns ? out->rows + i : 2 * i + 1);
    }
    return value ? SHOAL_OK : SHOAL_MEMORY;
}

static shoal_code npy_table_read(const char *path, struct arena *arena, struct table *out,
                                 struct report *r) {
    struct npy a;
    char *bytes = NULL;
    size_t length = 0;
    shoal_code code = file_read(path, NPY_MOST, &bytes, &length, r);
    const char *wrong = code == SHOAL_OK ? npy_parse(&a, bytes, length) : NULL;
    if (wrong)
        code = report_error(r, SHOAL_INPUT, "%s: %s", path, wrong);
    else if (code == SHOAL_OK && (!npy_is_number(&a) || a.dims != 2 || a.shape[1] != 2))
        code = report_error(r, SHOAL_INPUT,
                            "%s: expected numbers in two columns, the time and a value", path);
    else if (code == SHOAL_OK)
        code = take_columns(&a, arena, out);
    free(bytes);
    return code;
}

const struct io_format npy_format = {
    .name = "NPY", .endings = {".npy"}, .table_read = npy_table_read};
