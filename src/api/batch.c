// SPDX-License-Identifier: MIT
// Public calls on batches.
#include "api/model.h"

#include "base/file.h"
#include "base/sha256.h"
#include "io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

shoal_code shoal_batch_new(const shoal_model *model, shoal_batch **out, shoal_log *log) {
    shoal_batch *b = calloc(1, sizeof *b);
    *out = NULL;
    if (b)
        b->batch = batch_new(model->model);
    if (!b || !b->batch) {
        free(b);
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    }
    *out = b;
    return SHOAL_OK;
}

void shoal_batch_free(shoal_batch *batch) {
    if (!batch)
        return;
    batch_free(batch->batch);
    free(batch);
}

shoal_code shoal_batch_sweep(shoal_batch *batch, const char *spec, shoal_log *log) {
    return batch_sweep(batch->batch, spec, log_report(log));
}

shoal_code shoal_batch_zip(shoal_batch *batch, const char *names, shoal_log *log) {
    return batch_zip(batch->batch, names, log_report(log));
}

shoal_code shoal_batch_sample(shoal_batch *batch, const char *spec, shoal_log *log) {
    return batch_sample(batch->batch, spec, log_report(log));
}

shoal_code shoal_batch_sampler(shoal_batch *batch, const char *sampler, uint64_t runs,
                               uint64_t seed, shoal_log *log) {
    static const char *const names[] = {
        [SAMPLER_RANDOM] = "random", [SAMPLER_LHS] = "lhs", [SAMPLER_SOBOL] = "sobol"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(sampler, names[i]))
            return batch_sampler(batch->batch, (enum sampler)i, runs, seed, log_report(log));
    return report_error(log_report(log), SHOAL_INPUT,
                        "unknown sampler '%s'; there is: random, lhs, sobol", sampler);
}

bool api_file_digest(const char *path, char digest[65]) {
    enum { PIECE = 1 << 16 };
    unsigned char *piece = malloc(PIECE), sum[32];
    struct sha256 hash;
    uint64_t size = 0, at = 0;
    int fd = -1;
    bool good = piece && file_open(path, &fd, &size, NULL) == SHOAL_OK;
    sha256_init(&hash);
    for (size_t n; good && at < size; at += n) {
        n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        good = file_read_at(fd, path, at, piece, n, NULL) == SHOAL_OK;
        sha256_add(&hash, piece, good ? n : 0);
    }
    sha256_end(&hash, sum);
    sha256_hex(sum, digest);
    if (fd >= 0)
        close(fd);
    free(piece);
    return good;
}

shoal_code shoal_batch_file(shoal_batch *batch, const char *path, shoal_log *log) {
    struct arena arena = {0};
    struct batch_table table = {0};
    char digest[65];
    bool known = path && api_file_digest(path, digest);
    shoal_code code = io_table_read(path, &arena, &table, log_report(log));
    if (code == SHOAL_OK)
        code = batch_use_table(batch->batch, &table, log_report(log));
    if (code == SHOAL_OK && known)
        memcpy(batch->digest, digest, sizeof digest);
    arena_free(&arena);
    return code;
}

shoal_code shoal_batch_values(shoal_batch *batch, const char *name, const double *values,
                              uint64_t count, shoal_log *log) {
    return batch_add_values(batch->batch, name, values, count, log_report(log));
}

shoal_code shoal_batch_lend(shoal_batch *batch, const char *name, const void *values,
                            shoal_precision precision, uint64_t count, shoal_log *log) {
    return batch_lend_values(batch->batch, name, values, precision == SHOAL_F32, count,
                             log_report(log));
}

shoal_code shoal_batch_only(shoal_batch *batch, const char *runs, shoal_log *log) {
    return batch_only(batch->batch, runs, log_report(log));
}

shoal_code shoal_batch_check(shoal_batch *batch, shoal_log *log) {
    return batch_check(batch->batch, log_report(log));
}

// The description as it is now; what is wrong with it is told by shoal_batch_check and the solver.
static struct batch *checked(const shoal_batch *batch) {
    batch_refresh(batch->batch);
    return batch->batch;
}

uint64_t shoal_batch_runs(const shoal_batch *batch) { return batch_runs(checked(batch)); }
uint64_t shoal_batch_rows(const shoal_batch *batch) { return batch_rows(checked(batch)); }
uint32_t shoal_batch_input_count(const shoal_batch *batch) { return batch_inputs(checked(batch)); }

const char *shoal_batch_input_name(const shoal_batch *batch, uint32_t input) {
    struct batch *b = checked(batch);
    return input < batch_inputs(b) ? batch_input_name(b, input) : NULL;
}

double shoal_batch_value(const shoal_batch *batch, uint32_t input, uint64_t run) {
    struct batch *b = checked(batch);
    return input < batch_inputs(b) && run < batch_runs(b) ? batch_value(b, input, run)
                                                          : (double)NAN;
}

uint64_t shoal_batch_run(const shoal_batch *batch, uint64_t row) {
    struct batch *b = checked(batch);
    return row < batch_rows(b) ? batch_run_of_row(b, row) : UINT64_MAX;
}
