// SPDX-License-Identifier: MIT
// What stands behind the public handles.
#ifndef SHOAL_API_MODEL_H
#define SHOAL_API_MODEL_H

#include "log/log.h"
#include "ode/batch/batch.h"
#include "ode/model/model.h"
#include "ode/symbolic/symbolic.h"

LOG_DECLARE_LABEL(read_table); // around all that reads a table from a file

struct driver;
struct component_swap;
struct watcher;

// What a model is asked for now and then: found when it is needed, dropped when a value changes.
// It is no part of the model, which may be const.
struct model_found {
    struct system *system; // NULL: not so far
};

struct shoal_model {
    struct model *model;
    struct model_found *found;
    struct driver **driver; // [signals of the model] samples, shared; NULL: none are given
    const struct component_swap *swap; // tests: other text for parts of the kernel; NULL: none
    const struct watcher *watcher;     // tests: who watches besides saving; NULL: nobody
};

// The model is the batch's own copy.
struct shoal_batch {
    struct batch *batch;
    struct model *model;
    char digest[65];      // SHA-256 of the batch file that was read, as digits; "": none was
    char from_digest[65]; // of the result that it goes on from
};

// The digest of a plain file; false when it is none or cannot be read.
bool api_file_digest(const char *path, char digest[65]);

// The model's expressions; NULL with an error in the log.
struct system *api_system(const shoal_model *model, shoal_log *log);
// Values of all nodes with the model's own values: at the start of a trajectory, where they are
// those of the derived parameters and of formulas of initial values, and at a point of it. Free
// with free(); NULL: out of memory.
double *api_start(const shoal_model *model, double t0);
double *api_evaluate(const shoal_model *model, const double *start, double t, const double *y);
void api_model_changed(shoal_model *model);
// The files of a model's tables, from the directory of `path`.
shoal_code api_read_tables(shoal_model *model, const char *path, shoal_log *log);
// With the same values, on its own; NULL: out of memory.
shoal_model *api_model_copy(const shoal_model *model);
void api_model_swap(shoal_model *a, shoal_model *b); // what stands behind the two handles
// A public call was given no `what`. Returns SHOAL_USAGE.
shoal_code api_usage(shoal_log *log, const char *call, const char *what);

#endif
