// SPDX-License-Identifier: MIT
// A problem ready to run: model, options, batch, solver, arrays for the results.
#ifndef SHOAL_BENCH_JOB_H
#define SHOAL_BENCH_JOB_H

#include "program.h"

struct job {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
    uint64_t n;
    void *in; // lent to the batch, or NULL
    void *values;
    uint8_t *status;
    uint64_t steps;
};

// A macro, so that who does not need it has none. Diffusion along 100 cells, and a decay in each.
#define STIFF_CHAIN                                                                                \
    "par k=1\ninit x[1..100]=1\nx1'=100*k*(x2-x1)-x1^3\n"                                          \
    "x[2..99]'=100*k*(x[j-1]-2*x[j]+x[j+1])-x[j]^3\nx100'=100*k*(x99-x100)-x100^3\n@ t1=1\n"

// The model of a text, or (NULL) of a file, with options; the rest is the caller's.
static inline struct job job_load(const char *text, const char *file,
                                  const char *const settings[][2]) {
    struct job j = {.log = shoal_log_new()};
    shoal_code code = text ? shoal_model_parse("bench", text, strlen(text), &j.model, j.log)
                           : shoal_model_load(file, &j.model, j.log);
    if (code || shoal_options_init(&j.options, j.model, j.log))
        die("model", j.log);
    for (int i = 0; settings[i][0]; i++)
        if (shoal_options_set(&j.options, settings[i][0], settings[i][1], j.log))
            die("options", j.log);
    return j;
}

// What a first run would pay is paid here: what is measured is warm.
static inline void job_warm(struct job *j) {
    if (shoal_solver_warm(j->solver, j->batch, j->log))
        die("warm-up", j->log);
}

static inline void job_free(struct job *j) {
    shoal_solver_free(j->solver);
    shoal_batch_free(j->batch);
    shoal_model_free(j->model);
    shoal_log_free(j->log);
    free(j->in);
    free(j->values);
    free(j->status);
    shoal_cache_forget(); // the next one finds the device as if it came alone
}

#endif
