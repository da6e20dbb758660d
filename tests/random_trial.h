// SPDX-License-Identifier: MIT
// A random model under test: how it is compiled and run, what is wrong with it, and how sure that
// is.
//
//     struct trial t = {.seed = 7, .run = random_run_functions, .variant = {.method = "tsit5"}};
//     trial_attempt(&t, shape);
//
// A model that fails is made smaller while it fails in the same way, and printed with its seed.
#ifndef SHOAL_TESTS_RANDOM_TRIAL_H
#define SHOAL_TESTS_RANDOM_TRIAL_H

#include "api/solver.h"
#include "random_model.h"

// How it is compiled and run.
struct variant {
    const char *method;
    bool f32, fast_math;
    const char *target; // of SHOAL_CPU_TARGET
    const char *compiler;
    const char *save; // of the options, NULL: final
    const char *device;
};

// A model under test, and what is wrong with it.
struct trial {
    struct random_model *model;
    uint64_t seed;
    struct variant variant;
    shoal_log *log;
    shoal_model *parsed;
    shoal_options options;
    bool passed_over;     // refused, and rightly so
    char *failure;        // NULL: nothing
    char *first;          // what was wrong before it was made smaller
    uint64_t sure, vague; // comparisons that could fail, and those that rounding makes void
    void (*run)(struct trial *t);
};

void trial_attempt(struct trial *t, struct random_shape shape);
// The number that a variable of the environment has.
uint64_t trial_setting(const char *name, uint64_t otherwise);

// What `run` may be.
void random_run_functions(struct trial *t); // of a kernel, against the oracle
void random_run_kernels(struct trial *t);   // against those of the machine's own target
void random_run_euler(struct trial *t);     // a step of a whole kernel, against the oracle
void random_run_compiler(struct trial *t);  // no more
void random_run_names(struct trial *t);     // of the user, against others: one source

// ---- For those --------------------------------------------------------------------------------

// Only the first failure counts. What is before its first colon is its kind.
void trial_fail(struct trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
// With the messages of the log.
void trial_fail_call(struct trial *t, const char *what);
// The model and the options of the variant; trial_close whatever became of it.
void trial_open(struct trial *t, const char *text);
void trial_close(struct trial *t);
void trial_set(struct trial *t, const char *name, const char *value);
// States, then observables, as --vars has them; the caller frees.
char *trial_outputs(const struct trial *t);

// Where a model is looked at. Runs go from START_TIME to 1 after it.
#define START_TIME 0.75
#define START_TIME_TEXT "0.75"
#define END_TIME_TEXT "1.75"
struct point {
    double *state, *parameter, *state_slope;
    double t, t_slope;
};
// own: with the parameters of the model.
struct point point_new(const struct random_model *m, uint64_t *rng, bool f32, bool own);
void point_free(struct point *p);

// What is right there, and what rounding may make of it.
enum { SAMPLES = 5 };

struct oracle {
    struct random_values exact, noisy[SAMPLES];
    bool f32;
    double unit;
};
struct oracle oracle_new(const struct random_model *m, const struct point *p,
                         const struct variant *s);
void oracle_free(struct oracle *o);
struct expected {
    long double v, tolerance; // infinite: unknown
};
enum random_array { SLOPE, OBSERVABLE, START };
// slope: its derivative along the slopes of the point.
struct expected oracle_at(const struct oracle *o, enum random_array what, uint32_t i, bool slope);
void trial_compare(struct trial *t, const char *what, const char *name, double got,
                   struct expected want);

#endif
