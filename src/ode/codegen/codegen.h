// SPDX-License-Identifier: MIT
// Kernel source: a system, a method and a target become one text that the compiler sees as it is.
//
// Its components are sizes, prelude, tableau, right-hand side, step, controller, loop, ... Nothing
// here reads files or the machine: what depends on the machine is in the
// target, and equal arguments give equal bytes.
#ifndef SHOAL_CODEGEN_CODEGEN_H
#define SHOAL_CODEGEN_CODEGEN_H

#include "kernel/measure.h"
#include "kernel/source.h"
#include "ode/codegen/summary.h"
#include "ode/codegen/variant.h"
#include "ode/method/method.h"
#include "ode/symbolic/lu.h"
#include "shoal/backend.h"

// Where a math function comes from.
enum math_source {
    MATH_LIBM,   // the C library's, lane by lane
    MATH_SLEEF,  // Sleef_finz_*, the same bits whatever the neighbours are
    MATH_MVEC,   // glibc's libmvec
    MATH_DEVICE, // built in
};

// Another text for a component. Tests use it to show that nothing else identifies a kernel.
struct component_swap {
    const char *name, *text; // a NULL name ends a list
};

// Somebody who watches trajectories besides saving, and what of the contract in
// kernels/ode/watch.h its text has.
enum {
    WATCH_STOPS = 1,   // next_stop
    WATCH_LIMITS = 2,  // limit, which needs the interpolant
    WATCH_STEPS = 4,   // take is to see all steps
    WATCH_INSIDE = 8,  // take needs the interpolant
    WATCH_STARTS = 16, // start
    WATCH_ENDS = 32,   // over, end
    WATCH_LOOKS = 64,  // take only looks: no step is shortened for it, no end changed
    WATCH_QUICK = 128, // glance
};
struct watcher {
    const char *name; // a NULL name ends a list
    unsigned calls;
    const char *state, *text;           // struct NAME_state; the functions
    const struct component_swap *parts; // the functions as components of their own; NULL: the text
};

// Doses, which lie in arrays; what is compiled in is which states have infusions.
struct dose_plan {
    uint32_t infusions;
    const uint32_t *infused; // [infusions] states
};

// Events that are recorded.
struct record_plan {
    uint32_t count;
    const uint32_t *event; // [count] their numbers
};

// How a signal of the model is looked up: what is compiled in of it.
struct signal_plan {
    uint8_t degree; // of the polynomials: 0 (held), 1, 3
    bool even;      // samples at equal distances
    bool rough;     // steps end at some of them
    bool periodic;
    bool zero;    // beyond its ends
    bool extends; // beyond its ends as between the last samples: a table
};

// All that is compiled in besides the model: two kernels of equal models and plans are one.
struct kernel_plan {
    const struct method *method;
    const struct method *stiff; // takes over from trajectories that end as stiff; NULL: none do
    enum controller controller;
    bool f32;
    bool dense;      // samples on a grid, between steps
    bool steps;      // each step is a sample: a kernel of a device
    bool counters;   // of iterations, and of rejected steps by reason
    bool compensate; // what states lose when they are rounded is carried along
    bool apart;      // no state follows another: numbers do not hold the square of a fixed step
    const struct shoal_target *target;
    uint32_t outputs;
    const uint32_t *output; // states first: j < states is a state, else observable j - states
    const struct signal_plan *signal; // [signals] of the model
    uint32_t signals;
    const struct watcher *watcher; // besides what the model brings; NULL: none
    const struct dose_plan *dose;  // NULL: none
    struct record_plan record;
    const struct summary_plan *summary; // NULL: none
    struct kernel_variant variant;      // what changes its speed and none of its bits
};

// Whether the kernel is compiled with LONE (kernels/dialect/head.h), which is for batches that are
// over in a moment: runs of fixed or implicit steps are longer, and compilers treat the steps
// differently for it.
bool codegen_is_lone(const struct kernel_plan *p);

// Output leaves and derivatives may be added to the system's DAG. `stop` ends it early when it is
// not 0; the log gets the times of emit_... `swap`, `stop` and `log` may be NULL.
shoal_code codegen_kernel(const struct kernel_plan *p, struct system *s,
                          const struct component_swap *swap, const volatile int *stop,
                          struct kernel_source *out, shoal_log *log);
// The variants that differ from the plan's in one axis and from each other, as far as the text can
// be told to: what is left to find out is which is fastest. Returns how many.
uint32_t codegen_variants(const struct kernel_plan *p, uint32_t states, enum variant_axis axis,
                          struct kernel_variant out[VARIANT_VALUES]);
// The texts whose compile times differ by one function each, for measure_functions. Returns how
// many; the caller frees them.
enum { CODEGEN_UNITS = 12 };
uint32_t codegen_units(const struct kernel_source *s, struct kernel_unit units[CODEGEN_UNITS]);
// What a component is built on, blank-separated; NULL: there is no such component.
const char *codegen_children(const char *component);

// ---- Pieces, shared by the files of this folder -------------------------------------------------

// A literal that reads back exactly in C, CUDA and OpenCL, without the locale's decimal point.
void codegen_number(struct buf *out, double value);

// A function that computes roots[] and stores root i in RESULT[slots[i]], each as soon as it is
// known, so a root may read what an earlier one stored. A long function becomes several, which hand
// values to each other behind the NP parameters in p; returns how many.
enum emit_form {
    EMIT_PARTS,
    EMIT_WHOLE, // one function whatever its length, not inlined: it hands on nothing
    EMIT_QUICK, // one, inlined, with divisions of quick.h; returns whether their range holds
    EMIT_WIDE,  // one, whose numbers are those of wide.h, and of switches in the array k
};
struct emit {
    const struct dag *dag;
    const node_id *roots;
    const uint32_t *slots; // NULL: RESULT[i]
    uint32_t count;
    const char *name, *parameters, *arguments; // model_rhs, "real t, ...", "t, ..."
    const char *result;
    const bool *initial;    // [count] root is an initial value of y, of use where none is given;
                            // NULL: none is
    uint32_t pars, derived; // in p derived parameters follow the parameters, then switches,
    const struct kernel_plan *plan; // and then what its signals need, from
    uint32_t signals_at;            // here on
    uint32_t inline_length;         // a longer function is not inlined
    bool within;                    // t stays between the moments of switches
    enum emit_form form;
};
uint32_t codegen_function(struct buf *out, const struct emit *e, struct arena *arena);
// Its statements and stores.
uint32_t codegen_length(const struct emit *e, struct arena *arena);
// Which math functions the live nodes of the roots use.
void codegen_used(const struct emit *e, bool used[OP_COUNT], struct arena *arena);
// How many divisions and square roots they are.
uint32_t codegen_divisions(const struct emit *e, struct arena *arena);
// Where the numbers of signals begin in p.
uint32_t codegen_signals_at(const struct kernel_plan *p, const struct system *s);
// Numbers of a lane for signals, the first `count` of the plan's.
uint32_t codegen_signal_numbers(const struct kernel_plan *p, uint32_t count);
// Whether steps end where pieces of the signal do, and whether it may jump there.
bool codegen_signal_stops(const struct signal_plan *s);
bool codegen_signal_jumps(const struct signal_plan *s);
// What kernels/ode/driver_lanes.h is told of them, which are in p from there on.
void codegen_signal_sizes(struct buf *out, const struct kernel_plan *p, uint32_t signals_at);
// The value of a signal, or a derivative of it, at `argument`.
void codegen_signal(struct buf *out, const struct emit *e, uint32_t signal, uint32_t order,
                    const char *argument);
// Somebody who watches for the ends of pieces; false: nobody needs to.
bool codegen_signal_watcher(const struct kernel_plan *p, struct watcher *out, struct arena *arena);
// Declarations of the math functions in `used`.
void codegen_math(struct kernel_source *s, struct buf *out, const struct kernel_plan *p,
                  const bool used[OP_COUNT]);
// Those who watch: summaries, before anybody changes the end of a step, then switches and events of
// the system, then those of the plan; NULL: nobody does. `like` says what a function of the model
// is.
struct summary_code;
const struct watcher *codegen_watchers(const struct kernel_plan *p, const struct system *s,
                                       const struct summary_code *summary, const struct emit *like,
                                       struct arena *arena);
// Summaries as nodes of the system. Calls of one expression share it.
struct summary_code {
    const struct summary_plan *plan;
    uint32_t expressions, segmented; // of them the first so many are cut into segments
    node_id *value, *slope;          // [expressions], [segmented]
    node_id *sway;     // [expressions] how much it may be off where states are off by their slopes
    uint32_t *of_call; // [calls] expression
    node_id *item;     // [items]
    uint32_t coded;    // numbers of calls that are code,
    node_id *number;   // [coded],
    uint32_t *place;   // [coded] and which of all they are
    uint32_t nodes;    // of a step, at which slopes are looked at
    const char *wrong; // why they cannot be computed; NULL: they can
};
struct summary_code *codegen_summary_nodes(const struct summary_plan *p, struct system *s,
                                           struct arena *arena);
void codegen_summary_used(const struct summary_code *c, const struct emit *like,
                          bool used[OP_COUNT], struct arena *arena);
struct watcher codegen_summary(const struct summary_code *c, const struct emit *like,
                               const struct method *m, struct arena *arena);
// What kernels/ode/group.h is told of them.
void codegen_watch_sizes(struct buf *out, const struct watcher *w, bool dense);
// The switches of a system that has some, and how many levels they have.
struct watcher codegen_switches(const struct system *s, struct arena *arena);
uint32_t codegen_switch_levels(const struct system *s);
// The events of a system that has some; and their functions, of which it returns how many.
struct watcher codegen_events(const struct kernel_plan *p, const struct system *s,
                              struct arena *arena);
uint32_t codegen_event_functions(const struct kernel_plan *p, const struct system *s,
                                 struct emit **out, struct arena *arena);
// Doses, and the right-hand sides with what they add to them.
struct watcher codegen_doses(const struct kernel_plan *p, const struct system *s,
                             struct arena *arena);
node_id *codegen_infused(const struct kernel_plan *p, struct system *s, struct arena *arena);
// The events, with functions that move as these right-hand sides say.
struct system_event *codegen_infused_events(struct system *s, struct arena *arena);
// Up to so many statements a function is inlined.
uint32_t codegen_inline_length(const struct kernel_plan *p);
// Whether somebody of `w`, which may be NULL, has one of the calls.
bool codegen_watches(const struct watcher *w, unsigned calls);
void codegen_tableau(struct buf *out, const struct method *m, bool dense, bool inside, bool f32);
// The states whose slope is another state, in steps of explicit methods (kernels/ode/follow.h): who
// they are, what a kernel is told of them, and the method's weights for them.
struct followers {
    uint32_t count;
    int32_t *leads; // whom each state follows, or -1
};
struct followers codegen_followers(const struct system *s, struct arena *arena);
void codegen_leaders(struct buf *out, const struct followers *f, const struct system *s, bool dense,
                     struct arena *arena);
void codegen_follow(struct buf *out, const struct method *m, bool stiff, bool f32);
// What explicit steps of length h multiply sums of slopes with, rounded as a kernel rounds it: that
// of each stage and of the solution; then of followers, the way to each stage, what its sum is
// multiplied with, and that of the solution. Returns how many.
uint32_t codegen_lengths(const struct method *m, double h, bool f32, double *out);
// What the weights of stages in its errors are relative to.
double codegen_error_unit(const struct method *m);
// What kernels/ode/stiff.h needs of a method.
void codegen_stiff(struct buf *out, const struct method *m, bool f32);

// What an implicit method needs of a system: one array of a step, that holds the non-zeros of the
// Jacobian where the factors of I - h gamma J will be, then f, then for a Rosenbrock method df/dt
// if there is any. A collocation method has the factors for each pair of complex numbers behind.
struct linear {
    struct lu lu;
    bool shifted; // of a collocation method
    uint32_t pairs;
    uint32_t complex_factors; // where they begin
    node_id *roots;           // what goes into the array, and where
    uint32_t *slots;
    uint32_t count;
    uint32_t size;            // of the array
    uint32_t *doubt;          // slots of what is no polynomial of states and time
    uint32_t doubts, damping; // of them, those of the matrix, which come first
    bool timed;               // has df/dt
    bool loops;               // the factorisation is loops over tables, not statements
    bool fenced;              // its pivots are apart (FENCE_PIVOTS)
};
struct linear codegen_linearise(struct system *s, const struct method *m, struct arena *arena);
// Arithmetic of one attempted step, without its norm and control, with so many iterations where the
// method has some; `l` is that of the system.
enum { COST_ITERATIONS = 2 };
struct op_counts codegen_cost(struct system *s, const struct method *m, const struct linear *l,
                              struct arena *arena);
// What a device's thread keeps in the workspace where a system is large: writes where its arrays
// lie, and returns how many elements they are.
struct thread_arrays {
    uint32_t states, stages, spares, outputs;
    uint32_t parameters; // and derived ones, and what parts of a long function share
    uint32_t linear;     // of an implicit method, else 0
    bool hermite;        // the interpolant needs a slope
    bool iterates, collocates, compensates;
};
uint32_t codegen_workspace(struct buf *out, const struct thread_arrays *t);
// Statements of the factorisation and of a solution, when it is not loops.
uint64_t codegen_factor_length(const struct lu *l);
uint64_t codegen_solve_length(const struct lu *l);
// The functions linear_factor and linear_solve, or those of a collocation method; texts are
// kernels/ode/lu.h and lu_shifted.h.
void codegen_factors(struct buf *out, const struct linear *l, uint32_t inline_length,
                     const char *loops, const char *shifted_loops);

#endif
