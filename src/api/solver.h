// SPDX-License-Identifier: MIT
// The solver handle: a kernel, loaded, and how to run it.
#ifndef SHOAL_API_SOLVER_H
#define SHOAL_API_SOLVER_H

#include "api/model.h"
#include "codegen/codegen.h"
#include "run/run.h"
#include "shoal/backend.h"

#include <sys/types.h>

struct shoal_solver {
    const shoal_model *model;
    const struct shoal_backend *backend;
    struct shoal_device *device;
    pid_t pid;              // of the process that opened it
    struct run_setup setup; // its arrays live in the arena, the grid is owned
    struct run_pool pool;
    struct arena arena;
    struct buf options; // JSON object, for result files
    const char *job;    // own copy, or NULL
    char key[65];
    bool cached; // the kernel came from the cache, or would
    char device_text[192];
    volatile int stop;            // by shoal_solver_stop
    const volatile int *stop_too; // by the caller's flag
    void (*progress)(const shoal_progress *now, void *user);
    void *progress_user;
};

// --vars: positions among states, then observables; an array's base name means all its elements.
struct output_list {
    vec(uint32_t) items;
};
shoal_code outputs_choose(const struct model *m, const char *vars, struct arena *arena,
                          struct output_list *out, struct report *r);
const char *output_name(const struct model *m, uint32_t output);

// What the generator is asked for; the request points into the arena and the target.
shoal_code solver_request(const shoal_model *model, const shoal_options *o,
                          const struct shoal_target *target, struct arena *arena,
                          struct codegen_request *out, shoal_log *log);

// A device and what the generator is asked for, without a solver. target: a name to build for, or
// NULL for the device of the options. order_close may be called whatever order_open returned.
struct order {
    const struct shoal_backend *backend;
    struct shoal_device *device;
    struct codegen_request request;
    struct arena arena;
};
shoal_code order_open(const shoal_model *model, const shoal_options *o, const char *target,
                      struct order *out, shoal_log *log);
void order_close(struct order *o);

// Runs a batch into a sink, with everything around it; meta may be NULL.
shoal_code solver_run_into(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                           shoal_summary *summary, shoal_log *log);

// Metadata of a result: a JSON object.
void solver_meta(const shoal_solver *s, const struct batch *b, struct buf *out);

#endif
