// SPDX-License-Identifier: MIT
// A result in memory: arrays that the library owns.
//
// What has a row for each run goes into dense arrays of a known size. Where steps are saved nobody
// knows how many there will be, so their arrays grow with each chunk.
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
    double *times;           // of the grid, else NULL
    uint32_t arrays;         // of the list,
    struct array_target *to; // and where they are
    uint32_t first_var, t, status;
    uint32_t first_summary, summaries; // which follow each other
    shoal_tally tally;
};

struct memory_sink {
    struct sink base;
    shoal_result *to;
    const struct result_list *list;
    uint32_t threads;
    struct team **team;
};

void shoal_result_free(shoal_result *result) {
    if (!result)
        return;
    for (uint32_t i = 0; result->to && i < result->arrays; i++)
        free(result->to[i].data);
    free(result->to);
    free(result->offsets);
    free(result->times);
    free(result);
}

// ---- Begin --------------------------------------------------------------------------------------

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

// What a run has made; the rest is known without it.
static void choose(shoal_result *x, struct result_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        struct result_array *a = &list->array[i];
        a->wanted = a->from == FROM_KERNEL;
        if (a->role == ROLE_TIME)
            x->t = i;
        else if (a->role == ROLE_STATUS)
            x->status = i;
        else if (a->role == ROLE_SUMMARY && !x->summaries++)
            x->first_summary = i;
    }
    x->first_var = list->first_var;
    x->vars = list->of.vars;
    x->f32 = list->of.f32;
    x->rows = list->of.rows;
    x->samples = list->of.samples;
}

static bool allocate(shoal_result *x, const struct result_list *list) {
    bool ok = (x->to = calloc(list->count, sizeof *x->to)) != NULL;
    x->arrays = list->count;
    for (uint32_t i = 0; i < list->count && ok; i++) {
        const struct result_array *a = &list->array[i];
        size_t width = (size_t)result_width(list, a), rows = (size_t)x->rows;
        if (!a->wanted || a->axes == AXES_GRID || a->axes == AXES_FLAT)
            continue;
        x->to[i] =
            (struct array_target){malloc(rows * width * result_type_bytes(a->type)), width, 1};
        ok = x->to[i].data != NULL;
    }
    if (ok && list->of.kind == SAMPLES_OWN)
        ok = (x->offsets = calloc(x->rows + 1, sizeof *x->offsets)) != NULL;
    if (ok && list->of.times)
        ok = (x->times = malloc((size_t)x->samples * sizeof *x->times)) != NULL;
    return ok;
}

static shoal_code memory_begin(struct sink *sink, struct result_list *list, struct report *r) {
    struct memory_sink *s = (struct memory_sink *)sink;
    shoal_result *x = s->to;
    s->list = list;
    choose(x, list);
    double bytes = (double)result_list_bytes(list);
    shoal_code code = check_memory(bytes, r);
    if (code != SHOAL_OK)
        return code;
    if (!allocate(x, list))
        return report_error(r, SHOAL_MEMORY, "out of memory for a result of %.3g GB", bytes * 1e-9);
    if (x->times)
        memcpy(x->times, list->of.times, (size_t)x->samples * sizeof *x->times);
    return SHOAL_OK;
}

// ---- Chunks -------------------------------------------------------------------------------------

// Room for that many samples in all, in the arrays that grow.
static bool reserve(shoal_result *x, const struct result_list *list, uint64_t samples) {
    bool ok = true;
    if (samples <= x->room)
        return true;
    uint64_t room = samples < x->room * 2 ? x->room * 2 : samples;
    for (uint32_t i = 0; i < list->count && ok; i++) {
        const struct result_array *a = &list->array[i];
        if (!a->wanted || a->axes != AXES_FLAT)
            continue;
        void *bigger = realloc(x->to[i].data, room * result_type_bytes(a->type));
        x->to[i].data = bigger ? bigger : x->to[i].data;
        ok = bigger != NULL;
    }
    x->room = ok ? room : x->room;
    return ok;
}

static shoal_code put_steps(const struct memory_sink *s, const struct result_chunk *c,
                            struct report *r) {
    shoal_result *x = s->to;
    uint64_t count = c->offsets[c->rows];
    if (!reserve(x, s->list, x->samples + count))
        return report_error(r, SHOAL_MEMORY,
                            "out of memory for the steps of so many runs; write a file instead");
    for (uint32_t i = 0; i < s->list->count; i++) {
        size_t bytes = result_type_bytes(s->list->array[i].type);
        if (s->list->array[i].wanted && s->list->array[i].axes == AXES_FLAT && count)
            memcpy((char *)x->to[i].data + x->samples * bytes, c->view[i].data, count * bytes);
    }
    for (uint32_t i = 0; i < c->rows; i++)
        x->offsets[c->first_row + i + 1] = x->samples + c->offsets[i + 1];
    x->samples += count;
    return SHOAL_OK;
}

static shoal_code memory_chunk(struct sink *sink, const struct result_chunk *c, struct report *r) {
    struct memory_sink *s = (struct memory_sink *)sink;
    shoal_code code = c->offsets ? put_steps(s, c, r) : SHOAL_OK;
    if (code == SHOAL_OK)
        array_copy(s->list, c, s->to->to, s->threads, s->team);
    return code;
}

static shoal_code memory_end(struct sink *s, bool complete, struct report *r) {
    (void)s, (void)complete, (void)r;
    return SHOAL_OK;
}

static void memory_free(struct sink *s) { (void)s; }

// ---- All ----------------------------------------------------------------------------------------

shoal_code solver_run_result(shoal_solver *s, const shoal_batch *batch, shoal_result **out,
                             shoal_log *log) {
    shoal_result *x = calloc(1, sizeof *x);
    if (!x)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    struct memory_sink sink = {.base = {.begin = memory_begin,
                                        .chunk = memory_chunk,
                                        .end = memory_end,
                                        .free = memory_free},
                               .to = x,
                               .threads = s->plan->threads,
                               .team = &s->runner.pool.team};
    shoal_code code = solver_run_into(s, batch->batch, &sink.base, NULL, &x->tally, log);
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
    if (solver && solver->reduce.items.count)
        return report_error(log_report(log), SHOAL_INPUT,
                            "statistics over runs go into a file, or into arrays by "
                            "shoal_solver_run_arrays");
    int32_t span = solver_begin_event(log);
    shoal_solver *worker;
    shoal_code code = solver_open(solver, batch, "shoal_solver_run", &worker, log);
    if (code == SHOAL_OK) {
        code = solver_run_result(worker, batch, out, log);
        solver_leave(solver);
    }
    log_end(log, span);
    return code;
}

// Whether the result can be one of such a list.
static bool fits(const shoal_result *x, const struct result_list *list) {
    return x->arrays == list->count && x->rows == list->of.rows && x->vars == list->of.vars &&
           x->f32 == list->of.f32 && !x->offsets == (list->of.kind != SAMPLES_OWN) &&
           (x->offsets || x->samples == list->of.samples);
}

static shoal_code find_result(void *user, struct result_list *list, struct written *out,
                              struct report *r) {
    const shoal_result *x = user;
    if (!fits(x, list))
        return report_error(r, SHOAL_USAGE,
                            "shoal_result_write: the result is of another solver or batch");
    memcpy(out->to, x->to, x->arrays * sizeof *x->to);
    out->offsets = x->offsets;
    out->rows = x->tally.done;
    out->complete = x->tally.complete;
    return SHOAL_OK;
}

shoal_code shoal_result_write(const shoal_result *result, shoal_solver *solver,
                              const shoal_batch *batch, const char *path, shoal_log *log) {
    if (!result || !path)
        return api_usage(log, "shoal_result_write", "result or path");
    return solver_write_found(solver, batch, path, "shoal_result_write", find_result,
                              (void *)result, log);
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
static size_t position(const shoal_result *x, uint64_t row, uint64_t sample) {
    return (size_t)((x->offsets ? x->offsets[row] : row * x->samples) + sample);
}

double shoal_result_value(const shoal_result *result, uint32_t var, uint64_t row, uint64_t sample) {
    if (!inside(result, row, sample) || var >= result->vars)
        return (double)NAN;
    const void *values = result->to[result->first_var + var].data;
    size_t at = position(result, row, sample);
    return result->f32 ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

double shoal_result_summary(const shoal_result *result, uint32_t summary, uint64_t row,
                            uint64_t item) {
    if (row >= shoal_result_rows(result) || summary >= result->summaries)
        return (double)NAN;
    const struct array_target *to = &result->to[result->first_summary + summary];
    size_t at = (size_t)(row * to->row_stride + item);
    if (item >= to->row_stride)
        return (double)NAN;
    return result->f32 ? (double)((const float *)to->data)[at] : ((const double *)to->data)[at];
}

double shoal_result_t(const shoal_result *result, uint64_t row, uint64_t sample) {
    if (!inside(result, row, sample))
        return (double)NAN;
    const double *t = result->to[result->t].data;
    return result->times ? result->times[sample] : t[position(result, row, sample)];
}

int shoal_result_status(const shoal_result *result, uint64_t row) {
    if (row >= shoal_result_rows(result))
        return -1;
    return ((const uint8_t *)result->to[result->status].data)[row];
}

shoal_tally shoal_result_tally(const shoal_result *result) {
    return result ? result->tally : (shoal_tally){0};
}
