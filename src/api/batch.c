// SPDX-License-Identifier: MIT
// Public calls on batches.
#include "api/model.h"
#include "api/options.h"

#include "base/file.h"
#include "base/sha256.h"
#include "io/io.h"
#include "ode/batch/batch_axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

LOG_SHARED_LABEL(read_table, RUNTIME, 5, "a table from a file: a batch, a driver, doses, a result");

shoal_code shoal_batch_new(const shoal_model *model, shoal_batch **out, shoal_log *log) {
    if (out)
        *out = NULL;
    if (!model || !out)
        return api_usage(log, "shoal_batch_new", "model or place for the batch");
    shoal_batch *b = calloc(1, sizeof *b);
    if (b)
        b->model = model_copy(model->model);
    if (b && b->model)
        b->batch = batch_new(b->model);
    if (!b || !b->batch) {
        shoal_batch_free(b);
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    }
    *out = b;
    return SHOAL_OK;
}

void shoal_batch_free(shoal_batch *batch) {
    if (!batch)
        return;
    batch_free(batch->batch);
    model_free(batch->model);
    free(batch);
}

// ---- Describing ---------------------------------------------------------------------------------

// A call with one text.
typedef shoal_code add_text(struct batch *b, const char *text, struct report *r);

static shoal_code add(shoal_batch *batch, add_text *call, const char *name, const char *text,
                      shoal_log *log) {
    if (!batch || !text)
        return api_usage(log, name, "batch or text");
    report_begin(log_report(log));
    return call(batch->batch, text, log_report(log));
}

shoal_code shoal_batch_sweep(shoal_batch *batch, const char *spec, shoal_log *log) {
    return add(batch, batch_sweep, "shoal_batch_sweep", spec, log);
}

shoal_code shoal_batch_zip(shoal_batch *batch, const char *names, shoal_log *log) {
    return add(batch, batch_zip, "shoal_batch_zip", names, log);
}

shoal_code shoal_batch_sample(shoal_batch *batch, const char *spec, shoal_log *log) {
    return add(batch, batch_sample, "shoal_batch_sample", spec, log);
}

shoal_code shoal_batch_only(shoal_batch *batch, const char *runs, shoal_log *log) {
    return add(batch, batch_only, "shoal_batch_only", runs, log);
}

// The words of the option are in the order of the enum.
shoal_code api_batch_sampler(shoal_batch *batch, const char *sampler, shoal_log *log) {
    shoal_option_value v;
    shoal_code code = shoal_option_read("sampler", sampler, &v, log);
    if (code == SHOAL_OK)
        batch_set_sampler(batch->batch, (enum sampler)v.choice);
    return code;
}

shoal_code api_batch_samples(shoal_batch *batch, const char *count, shoal_log *log) {
    shoal_option_value v;
    shoal_code code = shoal_option_read("runs", count, &v, log);
    if (code == SHOAL_OK)
        batch_set_samples(batch->batch, v.count);
    return code;
}

shoal_code api_batch_seed(shoal_batch *batch, const char *seed, shoal_log *log) {
    shoal_option_value v;
    shoal_code code = shoal_option_read("seed", seed, &v, log);
    if (code == SHOAL_OK)
        batch_set_seed(batch->batch, v.count);
    return code;
}

shoal_code api_batch_per_row(shoal_batch *batch, const char *flag, shoal_log *log) {
    shoal_option_value v;
    shoal_code code = shoal_option_read("sample-per-row", flag, &v, log);
    if (code == SHOAL_OK)
        batch_set_per_row(batch->batch, v.choice != 0);
    return code;
}

shoal_code shoal_batch_sampler(shoal_batch *batch, const char *sampler, uint64_t runs,
                               uint64_t seed, shoal_log *log) {
    if (!batch || !sampler)
        return api_usage(log, "shoal_batch_sampler", "batch or sampler");
    shoal_code code = api_batch_sampler(batch, sampler, log);
    if (code)
        return code;
    batch_set_samples(batch->batch, runs);
    batch_set_seed(batch->batch, seed);
    return SHOAL_OK;
}

shoal_code shoal_batch_option(shoal_batch *batch, const char *name, const char *value,
                              shoal_log *log) {
    struct report *r = log_report(log);
    if (!batch || !name || !value)
        return api_usage(log, "shoal_batch_option", "batch, name or value");
    const struct option *o = option_find(name);
    if (!o)
        return option_unknown(name, NULL, r);
    return o->add ? o->add(batch, value, log)
                  : option_wrong(o, NULL, r, "does not say which runs there are");
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

static shoal_code add_file(struct batch *b, const char *path, struct report *r) {
    struct arena arena = {0};
    struct table table = {0};
    shoal_code code = io_table_read(path, &arena, &table, r);
    if (code == SHOAL_OK)
        code = batch_use_table(b, &table, r);
    arena_free(&arena);
    return code;
}

shoal_code shoal_batch_file(shoal_batch *batch, const char *path, shoal_log *log) {
    char digest[65];
    int32_t span = log_begin(log, LOG_read_table);
    bool known = path && !file_is_input(path) && api_file_digest(path, digest);
    shoal_code code = add(batch, add_file, "shoal_batch_file", path, log);
    if (code == SHOAL_OK && known)
        memcpy(batch->digest, digest, sizeof digest);
    log_end(log, span);
    return code;
}

static shoal_code add_from(struct batch *b, const char *path, struct report *r) {
    struct arena arena = {0};
    struct table table = {0};
    shoal_code code = io_ends_read(path, &arena, &table, r);
    if (code == SHOAL_OK)
        code = batch_continue(b, &table, r);
    arena_free(&arena);
    return code;
}

shoal_code shoal_batch_from(shoal_batch *batch, const char *path, shoal_log *log) {
    char digest[65];
    int32_t span = log_begin(log, LOG_read_table);
    bool known = path && api_file_digest(path, digest);
    shoal_code code = add(batch, add_from, "shoal_batch_from", path, log);
    if (code == SHOAL_OK && known)
        memcpy(batch->from_digest, digest, sizeof digest);
    log_end(log, span);
    return code;
}

shoal_code shoal_batch_t0(const shoal_batch *batch, double *t0, shoal_log *log) {
    double at;
    if (!batch || !t0)
        return api_usage(log, "shoal_batch_t0", "batch or place for the time");
    enum batch_start start = batch_start(batch->batch, &at);
    if (start == BATCH_AT_MANY_TIMES)
        return report_error(log_report(log), SHOAL_INPUT,
                            "--from: the runs end at different times, so t0 must be said: give "
                            "--t0 T");
    if (start == BATCH_AT_ONE_TIME)
        *t0 = at;
    return SHOAL_OK;
}

shoal_code shoal_batch_values(shoal_batch *batch, const char *name, const double *values,
                              uint64_t count, shoal_log *log) {
    if (!batch || !name || (!values && count))
        return api_usage(log, "shoal_batch_values", "batch, name or values");
    return batch_add_values(batch->batch, name, values, count, log_report(log));
}

shoal_code shoal_batch_lend(shoal_batch *batch, const char *name, const void *values,
                            shoal_precision precision, uint64_t count, shoal_log *log) {
    if (!batch || !name || (!values && count))
        return api_usage(log, "shoal_batch_lend", "batch, name or values");
    if (precision != SHOAL_F32 && precision != SHOAL_F64)
        return api_usage(log, "shoal_batch_lend", "precision that there is");
    return batch_lend_values(batch->batch, name, values, precision == SHOAL_F32, count,
                             log_report(log));
}

shoal_code shoal_batch_texts(shoal_batch *batch, const char *name, const char *const *texts,
                             uint64_t count, shoal_log *log) {
    if (!batch || !name || (!texts && count))
        return api_usage(log, "shoal_batch_texts", "batch, name or texts");
    return batch_add_texts(batch->batch, name, texts, count, log_report(log));
}

shoal_code shoal_batch_check(shoal_batch *batch, shoal_log *log) {
    return batch ? batch_check(batch->batch, log_report(log))
                 : api_usage(log, "shoal_batch_check", "batch");
}

// ---- Looking ------------------------------------------------------------------------------------

// The description as it is now; what is wrong with it is told by shoal_batch_check and the solver.
// NULL: no batch.
static struct batch *checked(const shoal_batch *batch) {
    if (batch)
        batch_refresh(batch->batch);
    return batch ? batch->batch : NULL;
}

uint64_t shoal_batch_runs(const shoal_batch *batch) {
    struct batch *b = checked(batch);
    return b ? batch_runs(b) : 0;
}

uint64_t shoal_batch_rows(const shoal_batch *batch) {
    struct batch *b = checked(batch);
    return b ? batch_rows(b) : 0;
}

uint32_t shoal_batch_input_count(const shoal_batch *batch) {
    struct batch *b = checked(batch);
    return b ? batch_inputs(b) : 0;
}

const char *shoal_batch_input_name(const shoal_batch *batch, uint32_t input) {
    return input < shoal_batch_input_count(batch) ? batch_input_name(batch->batch, input) : NULL;
}

double shoal_batch_value(const shoal_batch *batch, uint32_t input, uint64_t run) {
    return input < shoal_batch_input_count(batch) && run < batch_runs(batch->batch)
               ? batch_value(batch->batch, input, run)
               : (double)NAN;
}

uint64_t shoal_batch_run(const shoal_batch *batch, uint64_t row) {
    return row < shoal_batch_rows(batch) ? batch_run_of_row(batch->batch, row) : UINT64_MAX;
}

// ---- Columns that are only copied ---------------------------------------------------------------

uint32_t shoal_batch_column_count(const shoal_batch *batch) {
    struct batch *b = checked(batch);
    return b ? batch_extras(b) : 0;
}

const char *shoal_batch_column_name(const shoal_batch *batch, uint32_t column) {
    return column < shoal_batch_column_count(batch) ? batch_extra(batch->batch, column)->name
                                                    : NULL;
}

// NULL: there is no such column or run.
static const struct table_column *column_of(const shoal_batch *batch, uint32_t column,
                                            uint64_t run) {
    return column < shoal_batch_column_count(batch) && run < batch_runs(batch->batch)
               ? batch_extra(batch->batch, column)
               : NULL;
}

double shoal_batch_column_value(const shoal_batch *batch, uint32_t column, uint64_t run) {
    const struct table_column *c = column_of(batch, column, run);
    if (!c || c->text)
        return (double)NAN;
    uint64_t row = batch_table_row(batch->batch, run);
    return c->number ? c->number[row] : (double)c->number32[row];
}

const char *shoal_batch_column_text(const shoal_batch *batch, uint32_t column, uint64_t run) {
    const struct table_column *c = column_of(batch, column, run);
    return c && c->text ? c->text[batch_table_row(batch->batch, run)] : NULL;
}

static shoal_code fill_texts(const struct batch *b, const char *by, const char *column,
                             const char **texts, uint64_t count, struct arena *arena,
                             struct report *r) {
    struct batch_by groups = {0};
    struct table table;
    shoal_code code = batch_group(b, by, arena, &groups, r);
    if (code != SHOAL_OK)
        return code;
    if (!batch_group_columns(b, &groups, arena, &table))
        return report_error(r, SHOAL_MEMORY, "out of memory");
    const struct table_column *c = table_find(&table, column);
    if (!c || !c->text)
        return report_error(r, SHOAL_INPUT, "groups by '%s' have no words `%s`", by, column);
    if (table.rows != count)
        return report_error(r, SHOAL_USAGE, "there are %llu groups, not %llu",
                            (unsigned long long)table.rows, (unsigned long long)count);
    if (count)
        memcpy(texts, c->text, count * sizeof *texts);
    return SHOAL_OK;
}

shoal_code shoal_batch_group_texts(const shoal_batch *batch, const char *by, const char *column,
                                   const char **texts, uint64_t count, shoal_log *log) {
    if (!batch || !by || !column || !texts)
        return api_usage(log, "shoal_batch_group_texts", "batch, names, column or texts");
    struct report *r = log_report(log);
    jmp_buf oom;
    struct arena arena = {.oom = &oom};
    shoal_code code = batch_check(batch->batch, r);
    if (code == SHOAL_OK)
        code = setjmp(oom) ? report_error(r, SHOAL_MEMORY, "out of memory")
                           : fill_texts(batch->batch, by, column, texts, count, &arena, r);
    arena_free(&arena);
    return code;
}
