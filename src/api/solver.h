// SPDX-License-Identifier: MIT
// The solver handle: a kernel, loaded, and how to run it.
#ifndef SHOAL_API_SOLVER_H
#define SHOAL_API_SOLVER_H

#include "api/model.h"
#include "ode/run/build.h"
#include "ode/run/outputs.h"
#include "ode/run/run.h"
#include "result/result_names.h"
#include "shoal/backend.h"

#include <sys/types.h>

LOG_DECLARE_LABEL(solve_ivp_execution);

// The kernels that take over from the first one, made when the first trajectory needs them.
enum { TAKEOVER_STIFF, TAKEOVER_LAST, TAKEOVERS };
struct takeover {
    struct shoal_solver *solver;
    struct codegen_request request; // its system is made with the kernel; method NULL: none
    struct loaded kernel;
    struct run_takeover run;
};

// A snapshot: what is changed in the model and the options it was made of does not reach it. All
// that follows from them is made anew by every change, as a second solver that takes its place when
// nothing went wrong; it shares device and kernels, and gets the blocks.
struct shoal_solver {
    shoal_model *model;  // its own copy
    shoal_options given; // its own copy
    bool plans;          // it gets no kernel
    const struct shoal_backend *backend;
    struct shoal_device *device;
    uint32_t device_index;
    pid_t pid;              // of the process that opened it
    struct run_setup setup; // its arrays live in the arena, the grid is owned
    struct dispatch_pool pool;
    struct arena arena;
    struct result_list list;   // arrays of a result, but for those of a batch; in the arena
    struct result_names names; // of them, in files
    struct buf options;        // JSON object, for result files
    struct loaded first;
    struct codegen_request request; // of the first kernel; its system is the model's
    struct takeover takeover[TAKEOVERS];
    char device_text[192];
    int under_way;                // a call that shoal_solver_stop ends; atomic
    int stop;                     // it was asked for; atomic
    const volatile int *stop_too; // by the caller's flag
    void (*progress)(const shoal_progress *now, void *user);
    void *progress_user;
};

// Between these a stop counts. SHOAL_USAGE: another call is under way, whose callback this is.
shoal_code solver_enter(shoal_solver *s, shoal_log *log);
void solver_leave(shoal_solver *s);

// Options whose compilations end by either of the solver's flags as well. `watch` must outlive
// them.
struct compile_flags {
    const shoal_solver *solver;
    shoal_options options;
    int stop;
};
shoal_options solver_watched(const shoal_solver *s, const shoal_options *o,
                             struct compile_flags *watch);

// What the generator is asked for; the request points into the arena and the target.
shoal_code solver_request(const shoal_model *model, const shoal_options *o,
                          const struct shoal_target *target, struct arena *arena,
                          struct codegen_request *out, shoal_log *log);

// The request of the kernel that takes over, for the one of the first, without a system; and its
// system, which is system_free's in the end.
struct codegen_request takeover_request(const shoal_options *o,
                                        const struct codegen_request *first);
shoal_code takeover_system(const shoal_model *model, struct codegen_request *q, shoal_log *log);
// Makes ready what the kernels will take; and what points into the solver, wherever that is.
shoal_code takeover_begin(shoal_solver *s, const shoal_options *o, shoal_log *log);
void takeover_settle(shoal_solver *s);

// How kernels are made by the options, on a device; the cache is opened.
shoal_code solver_how(const shoal_options *o, const struct shoal_backend *backend,
                      struct shoal_device *device, struct kernel_request *out, shoal_log *log);

// A kernel on the solver's device: `have` (may be NULL) when that is it, else from the cache or
// compiled. A solver that plans only learns whether it is there.
shoal_code solver_kernel(const shoal_solver *s, const struct codegen_request *q,
                         const shoal_options *o, const struct loaded *have, struct loaded *out,
                         shoal_log *log);
shoal_code solver_tolerances(shoal_solver *s, const struct codegen_request *q,
                             const shoal_options *o, struct run_tolerances *out, struct report *r);
enum controller solver_controller(const shoal_options *o, const struct method *m);

// A device and what the generator is asked for, without a solver. target: a name to build for, or
// NULL for the device of the options. order_close may be called whatever order_open returned.
struct order {
    shoal_model *model; // a copy
    const struct shoal_backend *backend;
    struct shoal_device *device;
    bool for_target; // the device is this order's alone
    struct codegen_request request;
    struct arena arena;
};
shoal_code order_open(const shoal_model *model, const shoal_options *o, const char *target,
                      struct order *out, shoal_log *log);
void order_close(struct order *o);

// Before a run: all is there, the batch fits, and a stop counts. With SHOAL_OK, solver_leave ends
// it.
shoal_code solver_open(shoal_solver *s, const shoal_batch *batch, const char *call, shoal_log *log);
// Runs into a file (opens and leaves by itself).
shoal_code solver_write(shoal_solver *s, const shoal_batch *batch, const char *path,
                        shoal_tally *tally, shoal_log *log);
// Runs a batch into a sink, with everything around it; meta may be NULL.
shoal_code solver_run_into(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                           shoal_tally *tally, shoal_log *log);

// Where an array of a list goes in memory, with strides in elements; `data` NULL: nowhere.
struct array_target {
    void *data;
    size_t row_stride, sample_stride;
};
// Copies the arrays of a chunk that have rows, by several threads when it is worth it.
void array_copy(const struct result_list *list, const struct result_chunk *c,
                const struct array_target *to, uint32_t threads, struct team **team);

// Metadata of a result: a JSON object.
void solver_meta(const shoal_solver *s, const shoal_batch *b, struct buf *out);

#endif
