// SPDX-License-Identifier: MIT
// The solver handle: a kernel, loaded, and how to run it.
#ifndef SHOAL_API_SOLVER_H
#define SHOAL_API_SOLVER_H

#include "api/model.h"
#include "codegen/codegen.h"
#include "run/run.h"
#include "shoal/backend.h"

#include <sys/types.h>

// A kernel that is ready to run.
struct loaded {
    struct shoal_module *module; // NULL: only planned
    size_t workspace;
    char key[65];
    bool cached; // it came from the cache, or would
};

// The kernel that takes over from the first one. It is made when the first trajectory needs it:
// until then here is all that it takes, of its own, so that no other solver of the model and no
// change of it meets that.
struct takeover {
    struct codegen_request request; // method NULL: none takes over
    shoal_options options;
    struct loaded kernel;
    int stop; // what the compiler looks at: either flag of the solver
    struct run_takeover run;
};

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
    struct takeover takeover;
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

// The request of the kernel that takes over, for the one of the first; its system is its own, and
// system_free's in the end.
shoal_code takeover_request(const shoal_model *model, const shoal_options *o,
                            const struct codegen_request *first, struct codegen_request *out,
                            shoal_log *log);
// Makes ready what the kernel will take. The request's outputs live in the solver's arena.
shoal_code takeover_begin(shoal_solver *s, const struct codegen_request *first,
                          const shoal_options *o, shoal_log *log);
void takeover_free(shoal_solver *s);

// A kernel on the solver's device, from the cache or compiled; with plan_only, whether it is there.
shoal_code solver_kernel(const shoal_solver *s, const struct codegen_request *q,
                         const shoal_options *o, struct loaded *out, shoal_log *log);
shoal_code solver_tolerances(shoal_solver *s, const struct codegen_request *q,
                             const shoal_options *o, struct run_tolerances *out, struct report *r);
enum controller solver_controller(const shoal_options *o, const struct method *m);

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
void solver_meta(const shoal_solver *s, const shoal_batch *b, struct buf *out);

#endif
