// SPDX-License-Identifier: MIT
// Samples of drivers and tables: checked, grouped into signals, and as the block that kernels read.
//
// A driver has one signal for all runs, or several among which runs choose by a column of the
// batch. It never changes once it is made, and is shared by all models and solvers that have it.
#ifndef SHOAL_ODE_RUN_DRIVER_H
#define SHOAL_ODE_RUN_DRIVER_H

#include "../kernels/ode/abi.h"
#include "ode/batch/batch.h"
#include "ode/codegen/codegen.h"
#include "ode/run/spline.h"

// What a driver is beyond its first and last sample; the word behind ends=
#define DRIVER_ENDS(X)                                                                             \
    X(error)                                                                                       \
    X(hold)                                                                                        \
    X(periodic)                                                                                    \
    X(zero)

enum driver_ends {
#define X(name) ENDS_##name,
    DRIVER_ENDS(X)
#undef X
        DRIVER_ENDS_COUNT
};
extern const char *const driver_ends_names[DRIVER_ENDS_COUNT];

enum { DRIVER_SAMPLES_MOST = 1 << 24 }; // of a signal, so that f32 can count them

// What a driver is made of; all borrowed.
struct driver_input {
    const char *name, *source; // of the driver; of the samples, for messages
    enum spline_kind kind;
    enum driver_ends ends;
    const char *by; // column of the batch; NULL: one signal for all
    uint64_t count;
    const double *t, *v;
    // With `by`: whose a sample is, [count], one of the two.
    const double *number;
    const char *const *text;
};

struct driver_signal {
    uint64_t count;
    const double *t, *v; // t ascends strictly
    double number;       // whose it is
    const char *text;
};

struct driver {
    enum spline_kind kind;
    enum driver_ends ends;
    const char *name, *by;
    bool even;     // all signals have their samples at equal distances
    double missed; // by steps of 32 samples, as driver_missed has it
    uint32_t signals;
    struct driver_signal *signal; // by ascending number or text
    unsigned users;
    struct arena arena;
};

shoal_code driver_new(const struct driver_input *in, struct driver **out, struct report *r);
struct driver *driver_keep(struct driver *d); // NULL is fine
void driver_drop(struct driver *d);

// ---- What a model makes of time (driver_use.c) --------------------------------------------------

struct signal_use {
    bool watched;       // a condition looks at it
    bool along;         // of a table: it is looked up at at_0 + slope t,
    double at_0, slope; // where steps end at its samples
};
// Of each signal of the model.
struct signal_use *driver_uses(const struct system *s, const struct model *m, struct arena *arena);
// The longest step that passes over no condition on time alone, and no sample of a table whose
// argument depends on time and is no such line; as far as the model's own parameters tell.
double driver_step(const struct system *s, const struct model *m, const struct signal_use *use,
                   double t0, double t1, struct arena *arena);

// ---- Kernels ------------------------------------------------------------------------------------

// What is compiled in for each signal of the model; NULL in `driver` (or for it): none is given
// yet, and the default stands in. `rtol` is that of the run, INFINITY: its steps are fixed.
const struct signal_plan *driver_plans(const struct model *m, const struct signal_use *use,
                                       struct driver *const *driver, double rtol,
                                       struct arena *arena);

// The block of a model's drivers and tables, in numbers of the kernel.
struct driver_block {
    void *data;      // NULL: there are no signals
    size_t bytes;    // of it
    size_t driver;   // where the numbers begin, behind the records
    bool choice;     // some driver has signals to choose from
    double step;     // a step may be this long: 32 samples at equal distances
    uint64_t stops;  // that steps end at on the way, at least
    bool table;      // it is a table's
    const char *who; // the driver or table that has most of them
};
// All drivers are given, and those that end with an error cover the way from t0 to t1.
shoal_code driver_block_make(struct model *m, struct driver *const *driver,
                             const struct signal_plan *plan, const struct signal_use *use, bool f32,
                             double rtol, double t0, double t1, struct arena *arena,
                             struct driver_block *out, struct report *r);

// Of a driver that ends with an error: the signal covers the way. Of one that is periodic: the way
// is not more periods off than are counted.
shoal_code driver_check_span(const struct driver *d, const struct driver_signal *s, double t0,
                             double t1, bool f32, struct report *r);

// The samples of all drivers, and whose they are.
void driver_digest(const struct model *m, struct driver *const *driver, struct sha256 *h);

// What a driver is at a time, or a table for an argument; NaN where nothing says so, and where each
// run has its own. Makes all its polynomials each time.
double driver_value(struct model *m, struct driver *const *driver, uint32_t signal, double at);

// ---- Where steps end (driver_cut.c) -------------------------------------------------------------

// What a step may miss of a signal, as a part of its range. `bends`: it is linear between samples.
double driver_room(bool bends, double rtol);
// What steps of up to 32 samples, which are at equal distances, miss, as a part of the range; where
// that is more than any run has room for, some number above it.
double driver_missed(uint64_t count, const double *v, bool bends, enum driver_ends ends);
// Cuts samples into pieces that a step sees, of 32 intervals at most. Returns how many; `lengths`
// has room for count - 1.
uint64_t driver_cut(uint64_t count, const double *t, const double *v, bool bends, double room,
                    uint32_t *lengths);

// ---- Which signal a run takes -------------------------------------------------------------------

// Which signal of each driver the rows of the batch's table take: [signals of the model][table
// rows]; in the arena. NULL without an error: nothing is chosen.
shoal_code driver_choose(const struct model *m, struct driver *const *driver, const struct batch *b,
                         double t0, double t1, bool f32, struct arena *arena, uint32_t **out,
                         struct report *r);
// No table of the model is made with a parameter that differs between runs.
shoal_code driver_check_inputs(const struct model *m, const struct batch *b, struct report *r);

#endif
