// SPDX-License-Identifier: MIT
// Random models: their text, and what they mean, from one number.
//
//     struct random_model *m = random_model_new(seed, (struct random_shape){.states = 7, ...});
//     char *text = random_model_text(m);
//     random_model_evaluate(m, &point, &values);
//
// The meaning is computed from the generator's own expression trees, in long double, with
// derivatives carried along: nothing of the library takes part but its list of operators. A model
// that fails a test can be made smaller while it still fails.
#ifndef SHOAL_TESTS_RANDOM_MODEL_H
#define SHOAL_TESTS_RANDOM_MODEL_H

#include "ode/model/op.h"

#include <stdbool.h>
#include <stdint.h>

// Random numbers: the same on every machine.
uint64_t random_bits(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t count);
double random_real(uint64_t *state, double low, double high);

// Which operators a model may have: those that give the same bits everywhere, or all of them.
enum random_kind { RANDOM_EXACT, RANDOM_ALL };

struct random_shape {
    uint32_t states;    // with a derivative; at least 1
    uint32_t algebraic; // without
    uint32_t size;      // of an expression: operators, roughly
    uint32_t temporaries;
    enum random_kind kind;
    bool gentle; // a state is drawn to 0 by what is bounded, so that it can be integrated
};

struct random_model;
struct random_model *random_model_new(uint64_t seed, struct random_shape shape);
struct random_model *random_model_copy(const struct random_model *m);
void random_model_free(struct random_model *m);
// Lines; the caller frees.
char *random_model_text(const struct random_model *m);

// Gives everything another name.
void random_model_rename(struct random_model *m);

// Names, and what stands in the text: states first those with a derivative.
uint32_t random_model_states(const struct random_model *m);
uint32_t random_model_parameters(const struct random_model *m);
uint32_t random_model_observables(const struct random_model *m);
const char *random_model_state(const struct random_model *m, uint32_t i);
const char *random_model_parameter(const struct random_model *m, uint32_t i);
const char *random_model_observable(const struct random_model *m, uint32_t i);
double random_model_parameter_value(const struct random_model *m, uint32_t i);
// Whether its initial value is a formula.
bool random_model_starts_by_formula(const struct random_model *m, uint32_t state);

// Where a model is evaluated, and along which direction it is differentiated. What a precision
// makes of it: every operation is wrong by up to `noise` of its result, drawn from the seed; 0 is
// as exact as long double.
struct random_point {
    const double *state, *parameter;
    double t;
    const double *state_slope; // d state / d s; NULL: none
    double t_slope;
    double noise;
    uint64_t seed;
};
struct random_dual {
    long double v, d;
    double least, most; // sizes of what it was made of, but 0
    bool nan;           // was met on the way
};
// Any array may be NULL. Of an algebraic state the slope is its row.
struct random_values {
    struct random_dual *slope, *observable, *start;
};
void random_model_evaluate(const struct random_model *m, const struct random_point *at,
                           struct random_values *out);

// Makes the model smaller, as long as `fails` says so and at most `trials` times.
void random_model_shrink(struct random_model *m, bool (*fails)(void *user), void *user,
                         uint32_t trials);

#endif
