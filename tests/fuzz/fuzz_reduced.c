// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as saved states of a reduction, joined with states of rows.
//
// Besides not crashing: states that are accepted can be closed, and a mean is between the least and
// the most.
#include "../saved_bytes.h"
#include "result/reduce.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct reduce_scratch scratch;

static void check(struct reduce *x) {
    const struct reduce_item *item = x->spec->items.items;
    if (!reduce_close(x, 0, 0, &scratch))
        abort();
    double mean = reduce_value(x, 0, 0, &item[0]), least = reduce_value(x, 0, 0, &item[2]),
           most = reduce_value(x, 0, 0, &item[3]), middle = reduce_value(x, 0, 0, &item[4]);
    if (reduce_count(x, 0, 0) && isfinite(least) && isfinite(most) &&
        !(mean >= least && mean <= most && middle >= least && middle <= most))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { ROWS = 100 };
    static const struct reduce_axis axis = {1 << 20, 1, 1, NULL, NULL, NULL};
    static const struct reduce_axes axes = {1, &axis, 1};
    static struct arena arena;
    static struct reduce_spec spec;
    static double value[ROWS];
    jmp_buf oom;
    struct reduce x;
    struct reduce_part part = {.rows = ROWS};
    uint64_t rows = size;
    if (setjmp(oom))
        abort();
    arena.oom = &oom;
    if (!spec.items.count &&
        reduce_read("mean,std,min,max,quantile(0.5)", &arena, &spec, NULL) != SHOAL_OK)
        abort();
    if (!reduce_make(&x, &spec, 1, 1) || !reduce_put(&x, 0, &part, 1, value, &scratch))
        abort();
    if (size >= sizeof rows)
        memcpy(&rows, data, sizeof rows);
    struct saved_bytes bytes = {0};
    struct saved_from from = {.get = saved_bytes_get, .user = &bytes};
    buf_put(&bytes.data, data, size);
    bytes.at = size >= sizeof rows ? sizeof rows : 0;
    if (reduce_load(&x, &axes, rows, &from, &scratch) == SHOAL_OK)
        check(&x);
    reduce_free(&x);
    buf_free(&bytes.data);
    return 0;
}
