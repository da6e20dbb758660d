// SPDX-License-Identifier: MIT
// Looking a method up by name, what follows from its row, and the step size controllers.
//
// The exponents of a controller are multiples of 1/k, where the error norm of a step behaves as
// h^k: k = embedded + 1, never order + 1. The coefficients of the methods are in table.c.
#include "ode/method/method.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *const controller_names[CONTROLLER_COUNT] = {
    [CONTROLLER_FIXED] = "fixed",
    [CONTROLLER_I] = "i",
    [CONTROLLER_PI] = "pi",
    [CONTROLLER_PID] = "pid",
    [CONTROLLER_GUSTAFSSON] = "gustafsson",
};

// Multiples of 1/k.
//   i           the elementary controller
//   pi          that of Hairer's DOPRI5, stabilised with 0.04 at order 5: few rejections, few steps
//   pid         the default PID of SUNDIALS (ARKODE)
//   gustafsson  the predictive one of Hairer and Wanner II, IV.8, as in RADAU5
static const struct control control_gains[CONTROLLER_COUNT] = {
    [CONTROLLER_I] = {.a = 1},
    [CONTROLLER_PI] = {.a = 0.85, .b = 0.2},
    [CONTROLLER_PID] = {.a = 0.58, .b = 0.21, .c = 0.1},
    [CONTROLLER_GUSTAFSSON] = {.a = 2, .b = 1, .gustafsson = true},
};

struct control method_control(const struct method *m, enum controller c) {
    if (m->embedded == 0 || c == CONTROLLER_FIXED)
        return (struct control){0};
    struct control control = control_gains[c];
    double k = (double)m->embedded + 1;
    control.a /= k;
    control.b /= k;
    control.c /= k;
    control.reject = 1 / k;
    control.safety = m->safety > 0 ? m->safety : 0.9; // these three as in SciPy and OrdinaryDiffEq
    control.grow = 10;
    control.shrink = 0.2;
    return control;
}

double method_tolerance(const struct method *m, double rtol) {
    double scaled = m->calibration * sqrt(rtol);
    return m->calibration > 0 && scaled < 1 ? rtol * scaled : rtol;
}

static bool is_zero(const double *row, uint32_t count) {
    for (uint32_t j = 0; j < count; j++)
        if (row[j] != 0)
            return false;
    return true;
}

bool method_iterates(const struct method *m) {
    return m->scheme == DIRK || m->scheme == COLLOCATION;
}

// The solution is the state at which a Newton method's last stage is evaluated.
static bool ends_at_last_stage(const struct method *m) {
    uint32_t last = m->stages - 1;
    for (uint32_t j = 0; j < last; j++)
        if (m->b[j] != (m->scheme == DIRK ? m->a[last][j] : 0))
            return false;
    return m->b[last] == (m->scheme == DIRK ? m->gamma : 1);
}

static enum stage_place newton_place(const struct method *m, uint32_t i) {
    if (i == m->stages)
        return ends_at_last_stage(m) ? STAGE_SAME : STAGE_NEW;
    return m->c[i] == 0 ? STAGE_START : STAGE_NEW;
}

enum stage_place method_place(const struct method *m, uint32_t i) {
    if (method_iterates(m))
        return newton_place(m, i);
    const double *row = i < m->stages ? m->a[i] : m->b;
    if (i < m->stages && is_zero(row, i))
        return STAGE_START;
    bool follows = i > 0 && !is_zero(m->a[i - 1], i - 1);
    for (uint32_t j = 0; follows && j + 1 < i; j++)
        follows = row[j] == m->a[i - 1][j];
    if (!follows || (row[i - 1] != 0 && row[i - 1] != 1))
        return STAGE_NEW;
    return row[i - 1] == 0 ? STAGE_SAME : STAGE_NEXT;
}

bool method_stiffly_accurate(const struct method *m) {
    if (method_iterates(m))
        return ends_at_last_stage(m);
    return m->scheme == ROSENBROCK && method_place(m, m->stages) == STAGE_NEXT &&
           m->c[m->stages - 1] == 1;
}

// A step of a Newton method starts with the one that goes with its Jacobian.
uint32_t method_evaluations(const struct method *m) {
    if (method_iterates(m))
        return 1;
    uint32_t count = m->stages - m->fsal;
    for (uint32_t i = 1; i < m->stages && m->scheme == ROSENBROCK; i++) {
        enum stage_place place = method_place(m, i);
        count -= place == STAGE_START || place == STAGE_SAME;
    }
    return count;
}

enum { PREDICT_FROM = 3 };

// Adds the stage before i that is nearest to it in time, at a time of its own; the later of two.
static bool add_nearest(const struct method *m, uint32_t i, uint32_t *from, uint32_t count) {
    uint32_t best = i;
    for (uint32_t j = i; j-- > 0;) {
        bool is_new = true;
        for (uint32_t k = 0; k < count; k++)
            is_new = is_new && m->c[j] != m->c[from[k]];
        if (is_new && (best == i || fabs(m->c[j] - m->c[i]) < fabs(m->c[best] - m->c[i])))
            best = j;
    }
    from[count] = best;
    return best < i;
}

void method_predict(const struct method *m, uint32_t i, double weights[]) {
    uint32_t from[PREDICT_FROM], count = 0;
    while (count < PREDICT_FROM && add_nearest(m, i, from, count))
        count++;
    memset(weights, 0, i * sizeof *weights);
    for (uint32_t j = 0; j < count; j++) {
        double weight = 1;
        for (uint32_t k = 0; k < count; k++)
            if (k != j)
                weight *= (m->c[i] - m->c[from[k]]) / (m->c[from[j]] - m->c[from[k]]);
        weights[from[j]] = weight;
    }
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool same_word(const char *word, const char *name, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (lower(word[i]) != lower(name[i]))
            return false;
    return true;
}

// Is `name` of that length one of the blank-separated words?
static bool has_word(const char *words, const char *name, size_t length) {
    while (*words) {
        size_t word = strcspn(words, " ");
        if (word == length && same_word(words, name, length))
            return true;
        words += word;
        words += strspn(words, " ");
    }
    return false;
}

const struct method *method_find(const char *name) {
    size_t length = strlen(name);
    for (uint32_t i = 0; i < method_count; i++)
        if (has_word(methods[i].name, name, length) || has_word(methods[i].aliases, name, length))
            return &methods[i];
    return NULL;
}

void method_apart(const struct method *m, double apart[METHOD_STAGES]) {
    const uint32_t last = m->stages - 1;
    memset(apart, 0, METHOD_STAGES * sizeof *apart);
    for (uint32_t j = 0; j < last; j++)
        apart[j] = m->a[last][j] - m->a[last - 1][j];
}
