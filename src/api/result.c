// SPDX-License-Identifier: MIT
// A result in memory: arrays that the library owns.
//
// Runs on a common grid go into dense arrays of a known size. Where steps are saved nobody knows
// how many there will be, so their arrays grow with each chunk.
#include "api/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shoal_result {
    uint64_t rows, samples; // samples of a row; steps: of all rows so far
    uint64_t room;          // steps: samples the arrays have room for
    uint64_t *offsets;      // steps: row i has samples offsets[i] to offsets[i + 1], else NULL
    uint32_t vars;
    bool f32;
    void *values; // [var][row][sample]; steps: [sample][var]
    double *t;
    uint8_t *status;
    shoal_tally tally;
};

void shoal_result_free(shoal_result *result) {
    if (!result)
        return;
    free(result->offsets);
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

static shoal_code run_dense(shoal_solver *solver, const shoal_batch *batch, shoal_result *x,
                            shoal_log *log) {
    shoal_code code = allocate(x, log_report(log));
    shoal_arrays a = {.values = x->values, .t = x->t, .status = x->status};
    return code ? code : solver_run_arrays(solver, batch, &a, &x->tally, log);
}

// ---- Steps --------------------------------------------------------------------------------------

struct steps_sink {
    struct sink base;
    shoal_result *to;
};

static shoal_code steps_begin(struct sink *s, const struct sink_shape_info *info,
                              struct report *r) {
    shoal_result *x = ((struct steps_sink *)s)->to;
    bool fits = info->rows < SIZE_MAX / 16;
    x->offsets = fits ? calloc(info->rows + 1, sizeof *x->offsets) : NULL;
    x->status = fits ? malloc(info->rows) : NULL;
    return x->offsets && x->status
               ? SHOAL_OK
               : report_error(r, SHOAL_MEMORY, "out of memory for the steps of %llu runs",
                              (unsigned long long)info->rows);
}

// Room for that many samples in all.
static bool reserve(shoal_result *x, uint64_t samples, size_t elem) {
    if (samples <= x->room)
        return true;
    uint64_t room = samples < x->room * 2 ? x->room * 2 : samples;
    double *t = realloc(x->t, room * sizeof *t);
    x->t = t ? t : x->t;
    void *values = realloc(x->values, room * x->vars * elem);
    x->values = values ? values : x->values;
    x->room = t && values ? room : x->room;
    return t && values;
}

static shoal_code steps_chunk(struct sink *s, const struct sink_chunk *c, struct report *r) {
    shoal_result *x = ((struct steps_sink *)s)->to;
    size_t elem = x->f32 ? sizeof(float) : sizeof(double);
    uint64_t count = c->offsets[c->rows];
    if (!reserve(x, x->samples + count, elem))
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for the steps of so many runs; write a file instead");
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t v = 0; v < x->vars; v++)
            memcpy((char *)x->values + ((x->samples + i) * x->vars + v) * elem,
                   (const char *)c->values + (v * c->var_stride + i) * elem, elem);
    memcpy(x->t + x->samples, c->t, count * sizeof *x->t);
    memcpy(x->status + c->first_row, c->status, c->rows);
    for (uint32_t i = 0; i < c->rows; i++)
        x->offsets[c->first_row + i + 1] = x->samples + c->offsets[i + 1];
    x->samples += count;
    return SHOAL_OK;
}

static shoal_code steps_end(struct sink *s, bool complete, struct report *r) {
    (void)s, (void)complete, (void)r;
    return SHOAL_OK;
}

static void steps_free(struct sink *s) { (void)s; }

static shoal_code run_steps(shoal_solver *solver, const shoal_batch *batch, shoal_result *x,
                            shoal_log *log) {
    struct steps_sink sink = {.base = {.wants = SINK_WANTS_T,
                                       .begin = steps_begin,
                                       .chunk = steps_chunk,
                                       .end = steps_end,
                                       .free = steps_free},
                              .to = x};
    return solver_run_into(solver, batch->batch, &sink.base, NULL, &x->tally, log);
}

// ---- All ----------------------------------------------------------------------------------------

static shoal_code run(shoal_solver *s, const shoal_batch *batch, shoal_result **out,
                      shoal_log *log) {
    shoal_result *x = calloc(1, sizeof *x);
    if (!x)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    x->rows = batch_rows(batch->batch);
    x->samples = shoal_solver_save_count(s);
    x->vars = s->setup.outputs;
    x->f32 = s->setup.f32;
    shoal_code code = s->setup.grid.shape == SINK_STEPS ? run_steps(s, batch, x, log)
                                                        : run_dense(s, batch, x, log);
    if (code == SHOAL_OK || code == SHOAL_STOPPED)
        *out = x;
    else
        shoal_result_free(x);
    return code;
}

shoal_code shoal_solver_run(shoal_solver *solver, const shoal_batch *batch, shoal_result **out,
                            shoal_log *log) {
    if (!out)
        return api_usage(log, "shoal_solver_run", "place for the result");
    *out = NULL;
    int32_t span = log_begin(log, LOG_solve_ivp_execution);
    shoal_code code = solver_open(solver, batch, "shoal_solver_run", log);
    if (code == SHOAL_OK) {
        code = run(solver, batch, out, log);
        solver_leave(solver);
    }
    log_end(log, span);
    return code;
}

uint64_t shoal_result_rows(const shoal_result *result) { return result ? result->tally.done : 0; }

uint64_t shoal_result_samples(const shoal_result *result, uint64_t row) {
    if (row >= shoal_result_rows(result))
        return 0;
    return result->offsets ? result->offsets[row + 1] - result->offsets[row] : result->samples;
}

static bool inside(const shoal_result *x, uint64_t row, uint64_t sample) {
    return sample < shoal_result_samples(x, row);
}

// Position among the samples of all rows.
static uint64_t position(const shoal_result *x, uint64_t row, uint64_t sample) {
    return (x->offsets ? x->offsets[row] : row * x->samples) + sample;
}

double shoal_result_value(const shoal_result *result, uint32_t var, uint64_t row, uint64_t sample) {
    if (!inside(result, row, sample) || var >= result->vars)
        return (double)NAN;
    uint64_t sample_at = position(result, row, sample);
    size_t at = (size_t)(result->offsets ? sample_at * result->vars + var
                                         : var * result->rows * result->samples + sample_at);
    return result->f32 ? (double)((float *)result->values)[at] : ((double *)result->values)[at];
}

double shoal_result_t(const shoal_result *result, uint64_t row, uint64_t sample) {
    return inside(result, row, sample) ? result->t[position(result, row, sample)] : (double)NAN;
}

int shoal_result_status(const shoal_result *result, uint64_t row) {
    return row < shoal_result_rows(result) ? result->status[row] : -1;
}

shoal_tally shoal_result_tally(const shoal_result *result) {
    return result ? result->tally : (shoal_tally){0};
}
