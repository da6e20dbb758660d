// SPDX-License-Identifier: MIT
// Keys and kernels for tests of the cache: from model text and options to a key without compiling,
// or to a solver and its results.
//
//     char key[65];
//     key_of("x'=-x; @ t1=1", "method=rk4 dt=0.1", key);
#ifndef SHOAL_TESTS_KERNELS_H
#define SHOAL_TESTS_KERNELS_H

#include "api/solver.h"
#include "kernel/kernel.h"

struct made {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_solver *solver; // NULL when it could not be made
    shoal_code code;
    char *words;
};

// Lines of a model are separated by ';'. Options are blank-separated words name=value. plan: no
// kernel is made. swap: other text for components, or NULL.
struct made make_solver(const char *text, const char *options, bool plan,
                        const struct component_swap *swap);
// The next solver finds what another process would; or what this one has loaded.
void made_free(struct made *m);
void made_free_all_but_kernels(struct made *m);
void key_of(const char *text, const char *options, char key[65]);
// What the span of that label says under a key; "" when there is none. A fresh string each call.
char *span_says(const shoal_log *log, const char *label, const char *key);
// The final values of one run, all variables; returns how many.
uint32_t run_one(struct made *m, double values[8]);
// A shell script as the compiler (SHOAL_CC) at check_path("compiler").
const char *use_script(const char *script);
// Puts bytes under the key that the model and options have, with all checks right.
void plant_kernel(struct made *m, const void *bytes, size_t length);
// How many kernels the test's cache has.
uint64_t kernels_kept(void);

#endif
