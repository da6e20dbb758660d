// SPDX-License-Identifier: MIT
// A result in memory: arrays that the library owns.
#include "api/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shoal_result {
    uint64_t rows, samples;
    uint32_t vars;
    bool f32, series;
    void *values;
    double *t;
    uint8_t *status;
    shoal_summary summary;
};

void shoal_result_free(shoal_result *result) {
    if (!result)
        return;
    free(result->values);
    free(result->t);
    free(result->status);
    free(result);
}

// Refuses what cannot fit, before anything is computed.
static shoal_code check_memory(double bytes, struct report *r) {
    double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (bytes > all || bytes > (double)SIZE_MAX / 2)
        return report_error(r, SHOAL_MEMORY,
                            "the result takes %.3g GB and this machine has %.3g GB (%.3g free); "
                            "write it to a file with -o, or save less",
                            bytes * 1e-9, all * 1e-9, free_bytes * 1e-9);
    return SHOAL_OK;
}

static shoal_code allocate(shoal_result *x, struct report *r) {
    double elem = x->f32 ? 4 : 8, points = (double)x->rows * (double)x->samples;
    shoal_code code = check_memory(points * x->vars * elem + (double)x->rows * 9, r);
    if (code != SHOAL_OK)
        return code;
    size_t n = (size_t)(x->rows * x->samples);
    x->values = malloc((size_t)elem * n * x->vars);
    x->t = malloc(sizeof(double) * n);
    x->status = malloc(x->rows);
    if (!x->values || !x->t || !x->status)
        return report_error(r, SHOAL_MEMORY, "out of memory for a result of %.3g GB",
                            points * x->vars * elem * 1e-9);
    return SHOAL_OK;
}

shoal_code shoal_solver_run(shoal_solver *solver, const shoal_batch *batch, shoal_result **out,
                            shoal_log *log) {
    *out = NULL;
    shoal_code code = batch_check(batch->batch, log_report(log));
    if (code != SHOAL_OK)
        return code;
    if (solver->setup.grid.shape == SINK_STEPS)
        return report_error(log_report(log), SHOAL_INPUT,
                            "--save steps needs a file: its size is not known before");
    shoal_result *x = calloc(1, sizeof *x);
    if (!x)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    x->rows = batch_rows(batch->batch);
    x->samples = shoal_solver_save_count(solver);
    x->vars = solver->setup.outputs;
    x->f32 = solver->setup.f32;
    code = allocate(x, log_report(log));
    if (code == SHOAL_OK) {
        shoal_arrays a = {.values = x->values, .t = x->t, .status = x->status};
        code = shoal_solver_run_arrays(solver, batch, &a, &x->summary, log);
    }
    if (code == SHOAL_OK || code == SHOAL_STOPPED)
        *out = x;
    else
        shoal_result_free(x);
    return code;
}

uint64_t shoal_result_rows(const shoal_result *result) { return result->summary.done; }

uint64_t shoal_result_samples(const shoal_result *result, uint64_t row) {
    return row < result->summary.done ? result->samples : 0;
}

static bool inside(const shoal_result *x, uint64_t row, uint64_t sample) {
    return row < x->summary.done && sample < x->samples;
}

double shoal_result_value(const shoal_result *result, uint32_t var, uint64_t row,
                          uint64_t sample) {
    if (var >= result->vars || !inside(result, row, sample))
        return (double)NAN;
    size_t at = (size_t)((var * result->rows + row) * result->samples + sample);
    return result->f32 ? (double)((float *)result->values)[at] : ((double *)result->values)[at];
}

double shoal_result_t(const shoal_result *result, uint64_t row, uint64_t sample) {
    return inside(result, row, sample) ? result->t[row * result->samples + sample] : (double)NAN;
}

int shoal_result_status(const shoal_result *result, uint64_t row) {
    return row < result->summary.done ? result->status[row] : -1;
}

shoal_summary shoal_result_summary(const shoal_result *result) { return result->summary; }
