// SPDX-License-Identifier: MIT
// A solver that tests turn this way and that: one kernel, many ways to run it, results compared bit
// for bit.
//
//     struct rig rig = rig_new("x86-64-v3", "x'=-a*x; ...", "method=tsit5 t1=1");
//     struct outcome all = rig_run(&rig, &inputs, NULL, 0, NULL);
//
// What a call refuses ends the test, with its messages.
#ifndef SHOAL_TESTS_RIG_H
#define SHOAL_TESTS_RIG_H

#include "api/solver.h"

struct rig {
    shoal_log *log;
    shoal_model *model;
    shoal_solver *solver;
    shoal_options options;
    char *words; // the options point into it
};

// True when this machine can run kernels for the target.
bool rig_has_target(const char *target);
// target: of SHOAL_CPU_TARGET, NULL for the machine's own. Lines of a model without newlines are
// separated by ';'. Options are blank-separated words name=value, as on the command line.
struct rig rig_new(const char *target, const char *text, const char *options);
// The same with somebody who watches (codegen.h).
struct rig rig_new_watched(const char *target, const char *text, const char *options,
                           const struct watcher *watcher);
// The same with samples of drivers, up to one without a name.
struct rig rig_new_driven(const char *target, const char *text, const char *options,
                          const shoal_driver *driver);
// Another way to run the same kernel; no compiler is asked. 0: as if it were not given, but for
// threads, which stay then.
struct rig_way {
    uint64_t chunk, memory;
    uint32_t threads;
    shoal_refill refill;
};
void rig_turn(shoal_solver *solver, struct rig_way way);
// The kernel's source, and the same solver with another kernel made from a source.
char *rig_source(struct rig *rig);
void rig_replace_kernel(struct rig *rig, const char *source);
void rig_replace_text(struct rig *rig, const struct shoal_kernel_text *k);
void rig_free(struct rig *rig);
// The code of a call that must be SHOAL_OK.
void rig_need(struct rig *rig, shoal_code code, const char *what);
// All messages of a log, one below the other; the caller frees.
char *rig_messages(const shoal_log *log);

// The batch: values of up to four names, one a row.
enum { RIG_NAMES = 4 };
struct inputs {
    uint64_t rows;
    const char *name[RIG_NAMES];
    double *value[RIG_NAMES];
};
struct inputs inputs_new(uint64_t rows, const char *const *names);
void inputs_free(struct inputs *in);

struct outcome {
    uint32_t vars;
    uint64_t rows, samples;
    bool f32;
    void *values; // [var][row][sample]
    double *t;    // final: [row]; else [row][sample]
    uint8_t *status;
    uint32_t *steps, *rejected;
    uint64_t *f_evals;
    shoal_tally tally;
    shoal_code code;
};

// Row i of the batch is row order[i] of the inputs (order NULL: all, as they are). `only`: as
// --only-runs, or NULL; rows that are left out are not in the outcome. SHOAL_STOPPED is no failure.
struct outcome rig_run(struct rig *rig, const struct inputs *in, const uint64_t *order,
                       uint64_t count, const char *only);
void outcome_free(struct outcome *o);
double outcome_value(const struct outcome *o, uint32_t var, uint64_t row, uint64_t sample);
// Row i of a and row j of b are the same: values and times bit for bit (any two NaN are the same),
// status and counts. The last sample only: a series against a final value, without f_evals, which
// count what interpolation needed. Says what differs.
bool outcome_same(const struct outcome *a, uint64_t i, const struct outcome *b, uint64_t j,
                  const char *what);
bool outcome_same_end(const struct outcome *a, uint64_t i, const struct outcome *b, uint64_t j,
                      const char *what);

#endif
