// SPDX-License-Identifier: MIT
// The solver handle: a kernel, loaded, and how to run it.
#ifndef SHOAL_API_SOLVER_H
#define SHOAL_API_SOLVER_H

#include "api/model.h"
#include "api/reduce.h"
#include "ode/run/run.h"
#include "result/result_names.h"
#include "shoal/backend.h"

#include <sys/types.h>

// A snapshot: what is changed in the model and the options it was made of does not reach it. All
// that follows from them is made anew by every change, as a second solver that takes its place when
// nothing went wrong; it shares device and kernels, and gets the blocks.
struct shoal_solver {
    shoal_model *model;      // its own copy
    shoal_options given;     // its own copy
    bool plans;              // it gets no kernel
    bool rehearses;          // nothing is learned from what it runs now
    struct several *several; // other devices that it has besides; NULL: none
    struct front *front;     // it chooses among others for each batch; NULL: it has one device
    shoal_solver *owner;     // the one that chose it; NULL: it is the caller's
    shoal_solver *spare;     // on the CPU, made when the device had failed
    struct learner *learner; // what it has measured, without a front; NULL: nothing yet
    const struct shoal_backend *backend;
    struct shoal_device *device;
    uint32_t device_index;
    bool starts;             // nobody in this process had opened it before,
    double opened_s;         // which took so long, with its context; else 0
    pid_t pid;               // of the process that opened it
    const struct plan *plan; // in the arena
    struct runner runner;
    struct arena arena;
    struct reduce_spec reduce; // without items: rows of runs
    struct result_list shown;  // the plan's list, or what it is reduced to; but for the batch's
    struct result_names names; // of these, in files
    struct buf options;        // JSON object, for result files
    struct shoal_card card;    // what the device is
    int under_way;             // a call that shoal_solver_stop ends; atomic
    int stop;                  // it was asked for; atomic
    void (*progress)(const shoal_progress *now, void *user);
    void *progress_user;
};

// Between these a stop counts. SHOAL_USAGE: another call is under way, whose callback this is.
shoal_code solver_enter(shoal_solver *s, shoal_log *log);
void solver_leave(shoal_solver *s);

// What is compiled in, by a model and options, which are checked; in the arena.
shoal_code solver_kernels(const shoal_model *model, const shoal_options *o,
                          const struct shoal_target *target, struct arena *arena,
                          struct kernel_plan out[PLAN_ROLES], shoal_log *log);
// How kernels are made, by them, on a device.
struct build_how solver_how(const shoal_model *model, const shoal_options *o,
                            const struct shoal_backend *backend, struct shoal_device *device);

// A device and what is compiled in, without a solver. target: a name to build for, or NULL for the
// device of the options. order_close may be called whatever order_open returned.
struct order {
    shoal_model *model; // a copy
    const struct shoal_backend *backend;
    struct shoal_device *device;
    bool for_target;        // the device is this order's alone
    char variants[KEY_HEX]; // of the device, see build_how; "": of a target
    struct kernel_plan kernel[PLAN_ROLES];
    struct arena arena;
};
shoal_code order_open(const shoal_model *model, const shoal_options *o, const char *target,
                      struct order *out, shoal_log *log);
void order_close(struct order *o);

// A solver of its own out of a model, which it owns from here on, and options; what it can take
// over from another one (may be NULL) is still the other's.
shoal_code solver_make(shoal_model *model, const shoal_options *options, const shoal_solver *from,
                       shoal_solver *owner, bool plans, shoal_solver **out, shoal_log *log);
// The solver with another model (which is its from here on) and options, or as it was.
shoal_code solver_change(shoal_solver *s, shoal_model *model, const shoal_options *options,
                         shoal_effect *effect, shoal_log *log);
// The flag by which a call of it is stopped.
const volatile int *solver_flag(const shoal_solver *s);

// Before a run: all is there, the batch fits, and a stop counts. `worker` is who runs it, the
// solver itself or the one it chose. With SHOAL_OK, solver_leave of the solver ends it.
shoal_code solver_open(shoal_solver *s, const shoal_batch *batch, const char *call,
                       shoal_solver **worker, shoal_log *log);
// The same without a worker: nothing is to run.
shoal_code solver_enter_batch(shoal_solver *s, const shoal_batch *batch, const char *call,
                              shoal_log *log);
// Who may end its runs, and who is told how far they are.
struct dispatch_control solver_control(const shoal_solver *s);
// Whether it can run at all: it has a kernel, and this process its device.
shoal_code solver_check_run(const shoal_solver *s, shoal_log *log);
// The event around a run; log_end ends it.
int32_t solver_begin_event(shoal_log *log);
// Runs into a file (opens and leaves by itself).
shoal_code solver_write(shoal_solver *s, const shoal_batch *batch, const char *path,
                        shoal_tally *tally, shoal_log *log);
// Runs a batch into a sink, with everything around it; meta may be NULL. The sink gets groups of
// runs where these are reduced.
shoal_code solver_run_into(shoal_solver *s, struct batch *b, struct sink *sink, const char *meta,
                           shoal_tally *tally, shoal_log *log);

// The same into memory.
shoal_code solver_run_result(shoal_solver *s, const shoal_batch *batch, shoal_result **out,
                             shoal_log *log);
shoal_code solver_run_arrays(shoal_solver *s, const shoal_batch *batch, const shoal_array *arrays,
                             size_t count, shoal_tally *tally, shoal_log *log);

// Copies the arrays of a chunk that have rows and are not in their place already, by several
// threads when it is worth it.
void array_copy(const struct result_list *list, const struct result_chunk *c,
                const struct array_target *to, uint32_t threads, struct team **team);

// What a reduction of such rows comes to.
shoal_code solver_reduced(shoal_solver *s, const struct batch *b, const struct result_list *list,
                          struct arena *arena, struct reduce_plan *out, struct report *r);

// Where the arrays of a list are that a run has filled.
struct written {
    struct array_target *to; // one for each of the list; those of the batch have none
    const uint64_t *offsets; // SAMPLES_OWN: of flat arrays, [rows + 1]
    uint64_t rows;           // that are there, the first ones
    bool complete;
};
typedef shoal_code written_find(void *user, struct result_list *list, struct written *out,
                                struct report *r);
// Writes them to a file, as if they came from a run.
shoal_code solver_write_found(shoal_solver *s, const shoal_batch *batch, const char *path,
                              const char *call, written_find *find, void *user, shoal_log *log);

// Metadata of a result: a JSON object.
void solver_meta(const shoal_solver *s, const shoal_batch *b, struct buf *out);

#endif
