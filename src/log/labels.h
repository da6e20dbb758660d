// SPDX-License-Identifier: MIT
// Every event that the library records: label, category, what it is. The one list that makes ids,
// sums, docs/timing.md and checks.
#ifndef SHOAL_LOG_LABELS_H
#define SHOAL_LOG_LABELS_H

#define LOG_LABELS(X)                                                                              \
    X(parse, CODEGEN, "model text to names and expressions")                                       \
    X(simplify, CODEGEN, "expressions to a folded graph")                                          \
    X(jacobian, CODEGEN, "derivatives and their sparsity")                                         \
    X(emit_dxdt, CODEGEN, "text of the right-hand side")                                           \
    X(emit_jacobian, CODEGEN, "text of the Jacobian")                                              \
    X(emit_linear_solve, CODEGEN, "text of the factorisation")                                     \
    X(emit_derived, CODEGEN, "text of the derived parameters")                                     \
    X(emit_initial_values, CODEGEN, "text of the initial values")                                  \
    X(emit_observables, CODEGEN, "text of the outputs")                                            \
    X(emit_drivers, CODEGEN, "text of the driver lookups")                                         \
    X(emit_events, CODEGEN, "text of the event functions")                                         \
    X(assemble_source, BUILD, "components to one kernel source")                                   \
    X(cache_lookup, BUILD, "looking for the kernel in the cache")                                  \
    X(cache_store, BUILD, "keeping the kernel in the cache")                                       \
    X(module_load, BUILD, "kernel bytes to something that runs")                                   \
    X(compile_kernel, COMPILE, "the compiler, on the whole kernel")                                \
    X(compile_dxdt, COMPILE, "right-hand side, compiled alone")                                    \
    X(compile_jacobian, COMPILE, "Jacobian, compiled alone")                                       \
    X(compile_linear_solve, COMPILE, "linear solver, compiled alone")                              \
    X(compile_step, COMPILE, "step of the method, compiled alone")                                 \
    X(compile_controller, COMPILE, "step size controller, compiled alone")                         \
    X(compile_loop, COMPILE, "trajectory loop, compiled alone")                                    \
    X(compile_save_state, COMPILE, "saving of states, compiled alone")                             \
    X(compile_update_summaries, COMPILE, "update of summaries, compiled alone")                    \
    X(compile_save_summaries, COMPILE, "saving of summaries, compiled alone")                      \
    X(compile_observables, COMPILE, "observables, compiled alone")                                 \
    X(compile_drivers, COMPILE, "driver lookups, compiled alone")                                  \
    X(compile_events, COMPILE, "event functions, compiled alone")                                  \
    X(measure_functions, COMPILE, "functions compiled alone, at verbose, only to time them")       \
    X(solve_ivp_execution, RUNTIME, "one call that runs a batch")                                  \
    X(solver_solve_execution, RUNTIME, "the solver's part of it")                                  \
    X(kernel_run_execution, RUNTIME, "all chunks")                                                 \
    X(h2d_transfer_initial_values, RUNTIME, "initial values of a chunk to the device")             \
    X(h2d_transfer_parameters, RUNTIME, "parameters of a chunk to the device")                     \
    X(h2d_transfer_driver_coefficients, RUNTIME, "driver samples to the device")                   \
    X(kernel_launch, RUNTIME, "the kernel, on one chunk")                                          \
    X(d2h_transfer_state, RUNTIME, "states of a chunk from the device, and into the result")       \
    X(d2h_transfer_observables, RUNTIME, "observables of a chunk from the device")                 \
    X(d2h_transfer_summaries, RUNTIME, "summaries of a chunk from the device")                     \
    X(d2h_transfer_status_codes, RUNTIME, "status of each run from the device")                    \
    X(d2h_transfer_iteration_counters, RUNTIME, "step counts of each run from the device")         \
    X(finish_output, RUNTIME, "the end of the result: what is left to write, sync, rename")

enum log_label {
#define X(name, category, text) LOG_##name,
    LOG_LABELS(X)
#undef X
        LOG_LABEL_COUNT
};

#endif
