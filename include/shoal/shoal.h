// SPDX-License-Identifier: MIT
// Shoal: one small dynamical system, written as text, integrated millions of times.
//
// Read top to bottom; the simple use comes first. One call that does it all is shoal_solve; its
// parts:
//
//     shoal_log *log = shoal_log_new();
//     shoal_model *model;
//     shoal_batch *batch;
//     shoal_solver *solver;
//     shoal_options options;
//     if (shoal_model_load("lorenz.ode", &model, log) == SHOAL_OK &&
//         shoal_options_init(&options, model, log) == SHOAL_OK &&
//         shoal_batch_new(model, &batch, log) == SHOAL_OK &&
//         shoal_batch_sweep(batch, "rho=lin:0:21:1000", log) == SHOAL_OK &&
//         shoal_solver_new(model, &options, &solver, log) == SHOAL_OK)
//         shoal_solver_run_file(solver, batch, "out.npz", NULL, log);
//
// Rules. Every call that can fail returns a shoal_code and explains itself in the log it was given
// (which may be NULL). A call that failed has changed nothing. A trajectory that fails is data in
// the result, never an error of a call. Inputs are borrowed for the call only, unless a comment
// says otherwise. Without a handle that it needs a call returns SHOAL_USAGE or, when it returns no
// code, nothing: 0, NULL, NaN, false. Every *_free accepts NULL. A handle may be used by one thread
// at a time; different handles by different threads. The library prints nothing, installs no
// signal handler, obeys no locale.
#ifndef SHOAL_H
#define SHOAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SHOAL_API __attribute__((visibility("default")))
#else
#define SHOAL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// #if SHOAL_VERSION_NUMBER >= 102 (0.1.2); shoal_version tells that of the library itself.
#define SHOAL_VERSION "0.1.0"
#define SHOAL_VERSION_MAJOR 0
#define SHOAL_VERSION_MINOR 1
#define SHOAL_VERSION_PATCH 0
#define SHOAL_VERSION_NUMBER                                                                       \
    (SHOAL_VERSION_MAJOR * 10000 + SHOAL_VERSION_MINOR * 100 + SHOAL_VERSION_PATCH)

// ---- Outcome of a call --------------------------------------------------------------------------

// name, exit code of the command line, meaning
#define SHOAL_CODES(X)                                                                             \
    X(OK, 0, "done")                                                                               \
    X(INPUT, 1, "error in the input or options")                                                   \
    X(USAGE, 2, "the call itself is wrong")                                                        \
    X(DEVICE, 3, "device or compiler")                                                             \
    X(IO, 4, "files and I/O")                                                                      \
    X(MEMORY, 1, "not enough memory")                                                              \
    X(STOPPED, 130, "stopped on request")

typedef enum shoal_code {
#define X(name, exit_code, text) SHOAL_##name,
    SHOAL_CODES(X)
#undef X
} shoal_code;

SHOAL_API const char *shoal_code_text(shoal_code code);
SHOAL_API int shoal_code_exit(shoal_code code);
SHOAL_API const char *shoal_version(void);

// ---- Outcome of a trajectory --------------------------------------------------------------------

// name (also the word in result files), meaning, what to try
#define SHOAL_STATUSES(X)                                                                          \
    X(ok, "reached the end time", "")                                                              \
    X(stopped, "stopped by a terminal event", "")                                                  \
    X(max_steps, "used up its steps", "raise --max-steps, or loosen --rtol")                       \
    X(dt_min, "step became too small",                                                             \
      "the solution may blow up or be stiff; loosen --rtol, or lower --dt-min if it was given")    \
    X(nonfinite, "became infinite or not a number",                                                \
      "the solution may blow up or leave where the model is defined; steps that are fixed may be " \
      "too large")                                                                                 \
    X(newton, "Newton did not converge",                                                           \
      "use another method, or smaller steps where they are fixed")                                 \
    X(singular, "singular matrix", "check the model for redundant equations")                      \
    X(bad_init, "no consistent initial values", "give better guesses")                             \
    X(events, "endless events", "check the reset of the event, and its times: 0/0 is none")

typedef enum shoal_status {
#define X(name, text, hint) SHOAL_STATUS_##name,
    SHOAL_STATUSES(X)
#undef X
        SHOAL_STATUS_COUNT,
    SHOAL_STATUS_PENDING = 255 // not finished, after a stop
} shoal_status;

SHOAL_API const char *shoal_status_word(int status);
SHOAL_API const char *shoal_status_text(int status);
SHOAL_API const char *shoal_status_hint(int status);

// ---- Log: messages and time ---------------------------------------------------------------------

typedef struct shoal_log shoal_log;

typedef enum shoal_severity { SHOAL_NOTE, SHOAL_WARNING, SHOAL_ERROR } shoal_severity;

typedef struct shoal_message {
    shoal_severity severity;
    shoal_code code;       // of an error
    const char *text;      // as it is shown: "file:line:column: error: ...", the line, a caret
    const char *file;      // NULL when it is about no place in a file
    uint32_t line, column; // from 1; 0 when unknown
} shoal_message;

SHOAL_API shoal_log *shoal_log_new(void);
SHOAL_API void shoal_log_free(shoal_log *log);
// The newest hundred messages, oldest first; texts live until newer ones take their place. Of very
// many about one text, in one call, the first are kept and the rest is counted.
SHOAL_API size_t shoal_log_message_count(const shoal_log *log);
SHOAL_API shoal_message shoal_log_message(const shoal_log *log, size_t index);
SHOAL_API uint64_t shoal_log_message_gone(const shoal_log *log); // older ones that made room
// Forgets messages, spans and times, as if it were new; labels, files and who listens stay.
// SHOAL_USAGE while a span is open.
SHOAL_API shoal_code shoal_log_clear(shoal_log *log);

// Time. The log records spans of the thread that uses it; they nest, and each instant belongs to
// the innermost open one, so the parts and what no span covers (`other`) make the total.
// docs/timing.md lists the spans and describes the files.
typedef enum shoal_timing {
    SHOAL_TIMING_NONE,    // record nothing, unless a file is open or a program listens
    SHOAL_TIMING_DEFAULT, // record
    SHOAL_TIMING_VERBOSE, // also measure what takes extra work: each kernel function compiled alone
    SHOAL_TIMING_DEBUG    // the same; for those who show each start and stop
} shoal_timing;

typedef enum shoal_category {
    SHOAL_CODEGEN,
    SHOAL_BUILD,
    SHOAL_COMPILE,
    SHOAL_RUNTIME,
    SHOAL_CATEGORY_COUNT
} shoal_category;

typedef enum shoal_span_kind {
    SHOAL_SPAN,     // of the calling thread; only these are part of the total
    SHOAL_ON_TRACK, // of a device or another thread, at the same time as something else
    SHOAL_APART     // a measurement made for its own sake
} shoal_span_kind;

typedef struct shoal_span {
    const char *label;
    shoal_category category;
    shoal_span_kind kind;
    const char *track; // "main", "separate", or the stream, engine or thread it happened on
    int32_t parent;    // index of the span it happened in, -1 at the top
    bool open;         // not ended yet
    uint64_t t0_ns;    // since the log was made
    uint64_t dur_ns;   // 0 while it is open
    const char *meta;  // JSON object text, or NULL: none, or open
} shoal_span;

// All spans of one label and track.
typedef struct shoal_span_sum {
    const char *label, *description;
    shoal_category category;
    shoal_span_kind kind;
    const char *track;
    uint64_t count;  // ended ones
    uint64_t ns;     // from start to stop
    uint64_t own_ns; // of SHOAL_SPAN: without the spans inside, so that these add up
    uint64_t bytes;  // sum of their `nbytes`
} shoal_span_sum;

SHOAL_API void shoal_log_set_timing(shoal_log *log, shoal_timing timing); // of a new log: DEFAULT
SHOAL_API shoal_timing shoal_log_timing(const shoal_log *log);
SHOAL_API const char *shoal_category_name(shoal_category category);
// The first 65,536 spans, in the order they began; all of them are in the sums.
SHOAL_API size_t shoal_log_span_count(const shoal_log *log);
SHOAL_API shoal_span shoal_log_span(const shoal_log *log, size_t index);
// One value of a span's metadata as text, cut to `size`; false when it has none of that name.
SHOAL_API bool shoal_log_meta(const shoal_log *log, size_t span, const char *key, char *text,
                              size_t size);
SHOAL_API uint64_t shoal_log_elapsed_ns(const shoal_log *log); // since it was made or cleared
// Time of each category by the innermost open span; what no span covers goes to *other.
SHOAL_API void shoal_log_totals(const shoal_log *log, uint64_t ns[SHOAL_CATEGORY_COUNT],
                                uint64_t *other);
// Where the time went, in words: that of each category, `other` and the total; with
// SHOAL_TIMING_VERBOSE a line for each label, too. Or, of a category below SHOAL_CATEGORY_COUNT,
// its own lines. Parts are rounded so that they add up. Cut to `size`, with a zero byte at the end;
// returns the length of the whole.
SHOAL_API size_t shoal_log_summary(const shoal_log *log, shoal_category category, char *text,
                                   size_t size);
// Every label that is known, whether it happened or not; then those of other tracks.
SHOAL_API size_t shoal_log_sum_count(const shoal_log *log);
SHOAL_API shoal_span_sum shoal_log_sum(const shoal_log *log, size_t index);

// Spans of the program's own, between the library's. A label is up to 63 printable ASCII
// characters without \" and \\; the description is up to the program. Registering a known label
// again is fine in the same category. start and stop return false, and do nothing, when the label
// is not registered, nothing is recorded, or (stop) no such span is open; a stop also ends what
// was started after it.
SHOAL_API shoal_code shoal_log_register(shoal_log *log, const char *label, shoal_category category,
                                        const char *description);
SHOAL_API bool shoal_log_start(shoal_log *log, const char *label);
SHOAL_API bool shoal_log_stop(shoal_log *log, const char *label);

// Called at each start and stop as it happens (other kinds than SHOAL_SPAN: once). The span may be
// read in the call, not later; no other may be started or stopped in it. call NULL: none.
SHOAL_API void shoal_log_on_span(shoal_log *log,
                                 void (*call)(const shoal_log *log, size_t span, bool ended,
                                              void *user),
                                 void *user);
// Every span into a file as it happens, those so far first: one JSON object a line, or a trace for
// Perfetto and Chrome. A line is one write, so what a killed program leaves can be read.
SHOAL_API shoal_code shoal_log_json(shoal_log *log, const char *path);
SHOAL_API shoal_code shoal_log_trace(shoal_log *log, const char *path);
// Ends the files, which shoal_log_free does too; SHOAL_IO when one could not be written.
SHOAL_API shoal_code shoal_log_close(shoal_log *log);

// ---- Model --------------------------------------------------------------------------------------

typedef struct shoal_model shoal_model;

// "-" is standard input.
SHOAL_API shoal_code shoal_model_load(const char *path, shoal_model **out, shoal_log *log);
// `name` stands for the file in messages.
SHOAL_API shoal_code shoal_model_parse(const char *name, const char *text, size_t length,
                                       shoal_model **out, shoal_log *log);
SHOAL_API void shoal_model_free(shoal_model *model);

// "a=1,x(0)=2": another value for a parameter, an initial value (also as x=2) or a constant.
SHOAL_API shoal_code shoal_model_set(shoal_model *model, const char *assignments, shoal_log *log);

// One more event, as a line of the model has it; the word `event` may be left out. It comes before
// values are changed.
SHOAL_API shoal_code shoal_model_add_event(shoal_model *model, const char *line, shoal_log *log);

// Samples of a driver, which the model keeps a copy of and hands on to batches and solvers that are
// made of it. Others replace them; solvers that there are keep theirs.
typedef struct shoal_driver {
    const char *name; // of the driver
    // As behind the file of --driver: held, linear (which NULL is), cubic (which is notaknot),
    // natural, notaknot, clamped, periodic or monotone, then ends=hold, periodic, zero or error,
    // then by=_COLUMN of the batch: "cubic,ends=hold,by=_ID".
    const char *how;
    uint64_t count;
    const double *t, *values; // [count], finite, times ascending
    const double *id;         // [count] with by=: which value of the column a sample is for; runs
                              // take the samples of their own. Else NULL.
    const char *const *words; // [count] the same where that column has words; else NULL
} shoal_driver;
SHOAL_API shoal_code shoal_model_driver(shoal_model *model, const shoal_driver *driver,
                                        shoal_log *log);
// NAME=FILE[:COLUMN][,how]: the same from a file (.csv, .npy, .npz, .h5), whose time is in a column
// `t` or `time`, or in the first one. COLUMN is the one of the driver's name, or the only other
// one.
SHOAL_API shoal_code shoal_model_driver_file(shoal_model *model, const char *text, shoal_log *log);
// What a driver was given; false: nothing yet. Texts live as long as these samples.
typedef struct shoal_driver_info {
    const char *between, *ends; // words of `how`
    const char *by;             // column of the batch; NULL: one signal for all runs
    uint32_t signals;
    uint64_t samples; // of all signals, and their ranges
    double t_first, t_last, least, most;
} shoal_driver_info;
SHOAL_API bool shoal_model_driver_at(const shoal_model *model, uint32_t index,
                                     shoal_driver_info *out);

// What a file of --doses comes to in runs from t0 on. An error of the file is one here.
typedef struct shoal_dose_info {
    uint32_t ids;                // 0: the same for all runs
    uint32_t at_once, infusions; // of all IDs, with those that ADDL adds
    double t_first, t_last;      // when the first and the last begin
} shoal_dose_info;
SHOAL_API shoal_code shoal_model_doses(const shoal_model *model, const char *path, double t0,
                                       shoal_dose_info *out, shoal_log *log);

typedef enum shoal_kind {
    SHOAL_STATE,      // value: its initial value
    SHOAL_PARAMETER,  // value: its value
    SHOAL_CONSTANT,   // folded into the kernel
    SHOAL_DERIVED,    // computed from parameters and initial values once per trajectory
    SHOAL_OBSERVABLE, // aux, observe
    SHOAL_SET,        // named set of values, for shoal_model_use; it has no value
    SHOAL_EVENT,      // it has no value; shoal_model_event is its line
    SHOAL_DRIVER,     // signal in time, with samples of shoal_model_driver; it has no value
    SHOAL_TABLE,      // function of one argument by samples; it has no value
} shoal_kind;

SHOAL_API const char *shoal_model_name(const shoal_model *model); // as given to load or parse
SHOAL_API const char *shoal_model_text(const shoal_model *model); // without events that were added
SHOAL_API const char *shoal_model_event(const shoal_model *model, uint32_t index); // its line
SHOAL_API uint32_t shoal_model_count(const shoal_model *model, shoal_kind kind);
SHOAL_API const char *shoal_model_symbol(const shoal_model *model, shoal_kind kind, uint32_t index);
SHOAL_API double shoal_model_value(const shoal_model *model, shoal_kind kind, uint32_t index);
// All values of a kind (SHOAL_STATE to SHOAL_DERIVED) with formulas computed at t0, where
// shoal_model_value takes 0; `values` has an item for each.
SHOAL_API void shoal_model_values(const shoal_model *model, shoal_kind kind, double t0,
                                  double *values);
// What a name means where a value is given: a state (x or x(0)), a parameter or a constant. False:
// none of these.
SHOAL_API bool shoal_model_find(const shoal_model *model, const char *name, shoal_kind *kind,
                                uint32_t *index);
// Whether a state is determined by algebraic rows (0=...); its initial value is then a guess.
SHOAL_API bool shoal_model_algebraic(const shoal_model *model, uint32_t state);
// Right-hand side at t with the model's own parameter values; y and dydt have one item per state.
// What depends on a driver without samples, or with one signal per run, is NaN.
// An algebraic state gets the value of the row that determines it, which should be 0. Derived
// parameters made of initial values are those of the model's own, and t in them is this t.
SHOAL_API void shoal_model_rhs(const shoal_model *model, double t, const double *y, double *dydt);
// Conditions at which a right-hand side jumps, one by one from index 0: how long its text is, of
// which `room` bytes are filled; 0 behind the last. `exact`: it depends on time alone, and steps
// end where it turns; others are searched for in every step.
SHOAL_API size_t shoal_model_switch(const shoal_model *model, uint32_t index, char *text,
                                    size_t room, bool *exact);
// Non-zeros of the Jacobian; rows and columns (each of that many items) may be NULL. SIZE_MAX when
// it is too large to be found.
SHOAL_API size_t shoal_model_sparsity(const shoal_model *model, uint32_t *rows, uint32_t *columns);

// ---- Options ------------------------------------------------------------------------------------

typedef enum shoal_save {
    SHOAL_SAVE_FINAL,
    SHOAL_SAVE_N,
    SHOAL_SAVE_EVERY,
    SHOAL_SAVE_AT,
    SHOAL_SAVE_STEPS
} shoal_save;
typedef enum shoal_precision { SHOAL_F64, SHOAL_F32 } shoal_precision;
typedef enum shoal_refill { SHOAL_REFILL_AUTO, SHOAL_REFILL_ON, SHOAL_REFILL_OFF } shoal_refill;

// A compilation under way.
typedef struct shoal_compile {
    const char *what; // "kernel"
    double elapsed_s;
    double predicted_s; // NaN: unknown
    long holder;        // the process that compiles it while this one waits; 0: it is this one
} shoal_compile;

// Made by shoal_options_init; change fields, or use shoal_options_set with the words of the command
// line. Text is borrowed until the solver is made; stop and on_compile as long as it lives, because
// method auto may compile in the middle of a run. `shoal options` lists every field's meaning.
typedef struct shoal_options {
    size_t size;        // of the struct that the program knows: later fields have their defaults
    double t0, t1;      // NaN: not given
    double settle;      // nothing is saved before t0 + settle
    const char *method; // auto, or any name or alias of shoal_method_info
    const char *controller; // fixed, i, pi, pid, gustafsson; NULL: by method
    double rtol, atol;      // NaN: by precision
    const char *atol_list;  // "x=1e-15,y=1e-12" on top of atol, or NULL
    double dt, dt0;         // NaN: not given, automatic
    double dt_model;        // the model's own: dt of a fixed run where none is given; NaN: none
    double dt_min, dt_max;  // NaN: none
    uint64_t max_steps;     // 0: 100000 attempts of an adaptive run, no limit for a fixed one
    shoal_precision precision;
    shoal_save save;
    uint64_t save_n;     // SHOAL_SAVE_N
    double save_every;   // SHOAL_SAVE_EVERY
    const char *save_at; // SHOAL_SAVE_AT: "1,2,5.5"
    const char *vars;    // NULL: all states; with summaries, and only final values saved: none
    const char *summary; // "peak=max(x),mean(y)", or NULL
    double window;       // length of the windows that summaries are of; NaN: there is one, the run
    bool save_states;    // states are saved beside summaries, where `vars` and `save` do not say so
    const char *reduce;  // "mean,std,min,max,quantile(0.05,0.5,0.95)" over runs; NULL: rows of runs
    const char *by;      // inputs and `_` columns that runs are grouped by; NULL: one group
    const char *device;  // auto: chosen for each batch; cpu, cuda:0, ...
    uint32_t threads;    // 0: CPUs of the affinity mask and cgroup quota
    uint64_t chunk;      // 0: by memory
    uint64_t memory;     // 0: by device
    shoal_refill refill;
    bool keep_failed, fast_math;
    const char *cache;        // directory of the kernel cache; NULL: by the environment
    const char *keep_source;  // directory the kernel source is written to, or NULL
    const char *job;          // text of this run's options, one "name = value" a line, that is kept
                              // in result files; NULL: none
    const volatile int *stop; // set it to non-zero to end a compilation or a run early; may be NULL
    // Called by the calling thread before a compiler is asked anything, which is when `stop` begins
    // to be looked at, and then 10 to 20 times a second while a kernel is compiled, by it or by
    // another process that it waits for; the log of the call must not be used in it. May be NULL.
    void (*on_compile)(const shoal_compile *now, void *user);
    void *on_compile_user;
    const char *doses;  // file of doses, or NULL
    const char *record; // "NAME,n": events whose first n times are kept, or NULL
    bool counters;      // Newton iterations of each run, and its rejected steps by reason
    // Of device `auto`: fewer runs go to the CPU, that many and more to a GPU; 0: by measurement.
    uint64_t threshold;
    uint32_t reuses;  // batches that a kernel, once compiled, is for; 0: 1
    bool no_fallback; // a device that fails ends the run, instead of leaving the rest to the CPU
    bool compensate;  // what states lose when they are rounded is carried from step to step
    const char *time_unit; // that time is measured in, for figures: "ms"; NULL: it is not said
    // Of a result file: goes on from what a run of the same job has left there, if one has
    // (docs/cluster.md); what is there must have been computed by a kernel that gives the same
    // bits, unless mixed_bits.
    bool resume, mixed_bits;
    bool tune; // shoal_solver_warm tries variants of its kernels, and keeps the fastest
    // For programs that stay: where a CPU's kernel takes long to compile, the first runs have one
    // that was compiled in a hurry, slower and of the same bits, until a thread has the other. A
    // process that ends before waits for it, two seconds at most.
    bool soon;
} shoal_options;

// A row of the one table that makes parser, help, checks and documentation.
typedef struct shoal_option_info {
    const char *name;         // as on the command line, without the dashes
    char letter;              // -o; 0: none
    const char *group;        // heading it is listed under
    const char *commands;     // of the command line that take it, blank-separated
    const char *metavar;      // NULL for a flag
    const char *default_text; // "" when there is none
    const char *help;
    bool field;      // a field of shoal_options; otherwise the command line's own
    bool in_kernel;  // another value means another kernel
    bool repeatable; // several are kept; otherwise the last wins
    bool in_model;   // may be given in a model: @ name=value
    bool in_batch;   // for shoal_batch_option
    bool kept;       // the numbers depend on it: kept in results, and taken from them
} shoal_option_info;

SHOAL_API shoal_code shoal_options_init_sized(shoal_options *options, size_t size,
                                              const shoal_model *model, shoal_log *log);
// Defaults, then the model's own `@` options. The model may be NULL; its text is borrowed by the
// options.
static inline shoal_code shoal_options_init(shoal_options *options, const shoal_model *model,
                                            shoal_log *log) {
    return shoal_options_init_sized(options, sizeof *options, model, log);
}
// A named set of the model: its parameters, initial values and options.
SHOAL_API shoal_code shoal_model_use(shoal_model *model, const char *set, shoal_options *options,
                                     shoal_log *log);
// One option by its command line name.
SHOAL_API shoal_code shoal_options_set(shoal_options *options, const char *name, const char *value,
                                       shoal_log *log);
// The value of a field as shoal_options_set takes it, cut to `size`; false when it was not given.
SHOAL_API bool shoal_options_get(const shoal_options *options, const char *name, char *text,
                                 size_t size);
SHOAL_API uint32_t shoal_option_count(void);
SHOAL_API shoal_option_info shoal_option_at(uint32_t index);

// What a value means by the option's row; checks it and changes nothing.
typedef struct shoal_option_value {
    double number;
    uint64_t count;  // also bytes
    uint32_t choice; // index of the word; of a flag 0 or 1
} shoal_option_value;
SHOAL_API shoal_code shoal_option_read(const char *name, const char *value, shoal_option_value *out,
                                       shoal_log *log);

// The known name that is nearest to a misspelt one, for "did you mean"; NULL when none is near.
SHOAL_API const char *shoal_nearest(const char *wanted, const char *const *known, size_t count);

// Options in a file: `name = value` lines, # comments; or those kept in a result file (.npz, .h5).
// Names and values are checked when it is loaded; errors say file, line and column. A text is the
// user's own. A result may be anybody's: an option that is not `kept` in it is an error.
typedef struct shoal_job shoal_job;

SHOAL_API shoal_code shoal_job_load(const char *path, shoal_job **out, shoal_log *log);
SHOAL_API void shoal_job_free(shoal_job *job);
SHOAL_API uint32_t shoal_job_count(const shoal_job *job);
SHOAL_API const char *shoal_job_name(const shoal_job *job,
                                     uint32_t index); // of an option, or model
SHOAL_API const char *shoal_job_value(const shoal_job *job, uint32_t index);
// Whether the doses of a job that is a result are those it was made with.
SHOAL_API shoal_code shoal_job_doses(const shoal_job *job, shoal_log *log);
SHOAL_API const char *shoal_job_model_text(const shoal_job *job); // of a result file, or NULL

// ---- Methods ------------------------------------------------------------------------------------

typedef struct shoal_method_info {
    const char *name;
    const char *aliases;                    // blank-separated, "" when there are none
    const char *controller;                 // default
    uint32_t order, embedded_order, stages; // embedded_order 0: fixed steps only
    bool fsal;
    const char *stability; // "A" or "L" for stiff problems, else ""
    bool stiffly_accurate;
    const char *interpolant;
    const char *good_for;
} shoal_method_info;

SHOAL_API uint32_t shoal_method_count(void);
SHOAL_API shoal_method_info shoal_method_at(uint32_t index);
// The methods behind a name, by their own: of auto two, the second for the runs that are stiff; of
// any other one. Returns how many; 0: there is no such method.
SHOAL_API uint32_t shoal_method_parts(const char *name, const char *parts[2]);

// Arithmetic of one attempted step of a method, without its norms and step control, and the entries
// of I - h J before and after fill-in. All 0 for a model that is too large for it.
typedef struct shoal_cost {
    uint64_t adds, muls, divs, functions;
    uint64_t iterations; // Newton's that are assumed for each stage; 0 where there are none
    uint64_t matrix, factors;
} shoal_cost;

SHOAL_API shoal_code shoal_model_cost(const shoal_model *model, const char *method, shoal_cost *out,
                                      shoal_log *log);

// ---- Batch: which runs --------------------------------------------------------------------------

// A description; its values are computed when needed, so 1e9 runs take no memory. It knows the
// model as it was when the batch was made, and fits every solver whose model has the same names of
// every kind, in the same order; another one refuses it.
//
// A sweep of one point is its first value (lin:A:B:1 is A); ends may be in either order; a
// logarithmic sweep has two ends of the same sign. Values that are not finite are refused, but for
// those of a lent array, which nobody looks at before the run: they are handed on, and such a run
// ends as its equations say, most often as nonfinite.
typedef struct shoal_batch shoal_batch;

SHOAL_API shoal_code shoal_batch_new(const shoal_model *model, shoal_batch **out, shoal_log *log);
SHOAL_API void shoal_batch_free(shoal_batch *batch);
SHOAL_API shoal_code shoal_batch_sweep(shoal_batch *batch, const char *spec, shoal_log *log);
SHOAL_API shoal_code shoal_batch_zip(shoal_batch *batch, const char *names, shoal_log *log);
SHOAL_API shoal_code shoal_batch_sample(shoal_batch *batch, const char *spec, shoal_log *log);
// sampler: "random", "lhs" or "sobol"
SHOAL_API shoal_code shoal_batch_sampler(shoal_batch *batch, const char *sampler, uint64_t runs,
                                         uint64_t seed, shoal_log *log);
// A .csv, .npz or .h5 file; "-" is CSV or NPZ on standard input.
SHOAL_API shoal_code shoal_batch_file(shoal_batch *batch, const char *path, shoal_log *log);
// Goes on where the runs of a result file ended: its inputs and `_` columns, and its final states
// as initial values, run by run. Runs that had failed end as bad_init.
SHOAL_API shoal_code shoal_batch_from(shoal_batch *batch, const char *path, shoal_log *log);
// The time at which such runs begin, for shoal_options; of another batch *t0 stays as it is. An
// error when they had ended at different times.
SHOAL_API shoal_code shoal_batch_t0(const shoal_batch *batch, double *t0, shoal_log *log);
// The batch file that the job names. Of a result it is looked for under its name and beside the
// result, and must have the content that the result was made with.
SHOAL_API shoal_code shoal_batch_job(shoal_batch *batch, const shoal_job *job, shoal_log *log);
// The same for the result that its runs go on from.
SHOAL_API shoal_code shoal_batch_job_from(shoal_batch *batch, const shoal_job *job, shoal_log *log);
// One value a row, copied; all such arrays have the same count. A name that starts with `_` is a
// column that is only copied, as in a batch file: runs are grouped and choose signals by it.
SHOAL_API shoal_code shoal_batch_values(shoal_batch *batch, const char *name, const double *values,
                                        uint64_t count, shoal_log *log);
// The same without a copy, of floats or doubles: the array must outlive the batch. Its values are
// read when they are needed, by a run and by shoal_batch_value, so they may be filled after this
// call and change between runs, but not in one.
SHOAL_API shoal_code shoal_batch_lend(shoal_batch *batch, const char *name, const void *values,
                                      shoal_precision precision, uint64_t count, shoal_log *log);
// The same for words, which only such a column may have; copied.
SHOAL_API shoal_code shoal_batch_texts(shoal_batch *batch, const char *name,
                                       const char *const *texts, uint64_t count, shoal_log *log);
SHOAL_API shoal_code shoal_batch_only(shoal_batch *batch, const char *runs, shoal_log *log);
// Part i, from 0, of n of the same job: "i/n", runs that follow each other; "i/n:strided", every
// n-th; "auto" by the task of a SLURM array that this is. shoal_merge puts results together.
SHOAL_API shoal_code shoal_batch_shard(shoal_batch *batch, const char *shard, shoal_log *log);
// The same by words: the name of an option that is `in_batch` (sweep, zip, sample, runs, seed,
// sampler, batch, only-runs) and its value as text.
SHOAL_API shoal_code shoal_batch_option(shoal_batch *batch, const char *name, const char *value,
                                        shoal_log *log);
// Checks what was described as a whole; the calls below and the solver do it too. A batch that is
// wrong has 0 runs; beyond its end a run is UINT64_MAX, a name NULL, a value NaN.
SHOAL_API shoal_code shoal_batch_check(shoal_batch *batch, shoal_log *log);
SHOAL_API uint64_t shoal_batch_runs(const shoal_batch *batch);              // of the whole batch
SHOAL_API uint64_t shoal_batch_rows(const shoal_batch *batch);              // those picked by only
SHOAL_API uint64_t shoal_batch_run(const shoal_batch *batch, uint64_t row); // its run index
SHOAL_API uint32_t shoal_batch_input_count(const shoal_batch *batch);
SHOAL_API const char *shoal_batch_input_name(const shoal_batch *batch, uint32_t input);
SHOAL_API double shoal_batch_value(const shoal_batch *batch, uint32_t input, uint64_t run);
// Columns that are only copied. One has numbers, and then the text is NULL, or words, and then the
// value is NaN.
SHOAL_API uint32_t shoal_batch_column_count(const shoal_batch *batch);
SHOAL_API const char *shoal_batch_column_name(const shoal_batch *batch, uint32_t column);
SHOAL_API double shoal_batch_column_value(const shoal_batch *batch, uint32_t column, uint64_t run);
SHOAL_API const char *shoal_batch_column_text(const shoal_batch *batch, uint32_t column,
                                              uint64_t run);
// Words of such a column in the groups that a reduction makes `by` some names, in the order of its
// result, which has `count` of them (`rows` of shoal_plan). They live as long as the batch.
SHOAL_API shoal_code shoal_batch_group_texts(const shoal_batch *batch, const char *by,
                                             const char *column, const char **texts, uint64_t count,
                                             shoal_log *log);

// ---- Solver -------------------------------------------------------------------------------------

typedef struct shoal_solver shoal_solver;

// Generates the kernel, and loads it from the cache or compiles and keeps it. A solver is a
// snapshot of the model, its values and the options: either may be changed or freed right away, and
// what is changed does not reach it.
SHOAL_API shoal_code shoal_solver_new(const shoal_model *model, const shoal_options *options,
                                      shoal_solver **out, shoal_log *log);
// The same without a kernel: it can plan, and say whether the kernel is cached.
SHOAL_API shoal_code shoal_solver_new_plan(const shoal_model *model, const shoal_options *options,
                                           shoal_solver **out, shoal_log *log);
SHOAL_API void shoal_solver_free(shoal_solver *solver);

// What a change of a solver took. A method that only takes over stiff runs has its kernel made when
// the first of them needs it.
typedef enum shoal_effect {
    SHOAL_KEPT,    // the kernel is the same
    SHOAL_LOADED,  // another one that was there: loaded in this process, or in the cache
    SHOAL_COMPILED // another one, compiled and kept in the cache
} shoal_effect;

// Changes of a live solver, which is then what a new one would be; after an error or a stop it is
// as it was. What the calls further down returned by pointer is gone. effect may be NULL.
// One option by its command line name:
SHOAL_API shoal_code shoal_solver_set(shoal_solver *solver, const char *option, const char *value,
                                      shoal_effect *effect, shoal_log *log);
// "a=1,x(0)=2": parameters, initial values, constants, as shoal_model_set.
SHOAL_API shoal_code shoal_solver_set_values(shoal_solver *solver, const char *assignments,
                                             shoal_effect *effect, shoal_log *log);
// Several options at once: those that it has (text is borrowed until the next change), and others.
SHOAL_API shoal_code shoal_solver_options_sized(const shoal_solver *solver, shoal_options *out,
                                                size_t size, shoal_log *log);
static inline shoal_code shoal_solver_options(const shoal_solver *solver, shoal_options *out,
                                              shoal_log *log) {
    return shoal_solver_options_sized(solver, out, sizeof *out, log);
}
SHOAL_API shoal_code shoal_solver_set_options(shoal_solver *solver, const shoal_options *options,
                                              shoal_effect *effect, shoal_log *log);

// The kernel source without compiling it. Free the text with free().
SHOAL_API shoal_code shoal_model_source(const shoal_model *model, const shoal_options *options,
                                        char **source, shoal_log *log);
// Of a solver that chooses its device these three are about the last batch; before the first one
// the key is "".
SHOAL_API const char *shoal_solver_key(const shoal_solver *solver);    // 64 hex digits
SHOAL_API bool shoal_solver_cached(const shoal_solver *solver);        // it was not compiled now
SHOAL_API const char *shoal_solver_device(const shoal_solver *solver); // in words
// Why the last batch went where it did; "" where there was nothing to choose.
SHOAL_API const char *shoal_solver_reason(const shoal_solver *solver);
// Variables: what the options choose of states and observables, by their names in the model.
SHOAL_API uint32_t shoal_solver_var_count(const shoal_solver *solver);
SHOAL_API const char *shoal_solver_var_name(const shoal_solver *solver, uint32_t index);
SHOAL_API uint64_t shoal_solver_save_count(const shoal_solver *solver); // samples a run; 0: steps
SHOAL_API double shoal_solver_save_time(const shoal_solver *solver, uint64_t index);

// The arrays of a result, whatever the batch. Its inputs come on top; where one has the name of a
// variable, the variable gets one more `_` than here.
typedef enum shoal_array_type {
    SHOAL_ARRAY_U8,
    SHOAL_ARRAY_U32,
    SHOAL_ARRAY_U64,
    SHOAL_ARRAY_F32,
    SHOAL_ARRAY_F64,
    SHOAL_ARRAY_TEXT // const char *, the batch's
} shoal_array_type;
typedef struct shoal_array_info {
    const char *name; // as in result files; NULL: there is none of that index
    shoal_array_type type;
    bool per_sample;  // else there is one value a run, or as many as axis says
    bool is_variable; // a state or observable
    bool is_summary;  // else it is one that every result has
    uint64_t axis[2]; // lengths of the axes of a summary behind the runs; 0: there is no such axis
    bool once;        // the edges of windows: there are none of each run
} shoal_array_info;
SHOAL_API uint32_t shoal_solver_array_count(const shoal_solver *solver);
SHOAL_API shoal_array_info shoal_solver_array_at(const shoal_solver *solver, uint32_t index);

typedef struct shoal_progress {
    uint64_t done, total; // trajectories
    double seconds;       // since the run began,
    uint64_t before;      // before which so many were done
} shoal_progress;

// Called by the thread that runs, a few times a second.
SHOAL_API void shoal_solver_on_progress(shoal_solver *solver,
                                        void (*call)(const shoal_progress *now, void *user),
                                        void *user);
// Asks the run or change under way to end early; safe in a signal handler and from another thread.
// When there is none it does nothing: the next one is not affected, whenever the stop came. The
// flag `stop` of the options is for what is to end all of them.
SHOAL_API void shoal_solver_stop(shoal_solver *solver);

enum { SHOAL_FAILED_RANGES = 16 };

typedef struct shoal_tally {
    uint64_t runs, done; // asked for, finished
    uint64_t by_status[SHOAL_STATUS_COUNT];
    struct {
        uint64_t first, end;            // runs from first to end - 1
    } failed[SHOAL_FAILED_RANGES];      // the first ranges of failed runs,
    uint32_t failed_ranges;             // how many of them,
    bool failed_more;                   // and whether there are more
    uint64_t first[SHOAL_STATUS_COUNT]; // the first run of each status that there is
    const char *method;                 // that ran them; of `auto` the first,
    const char *stiff_method;           // and the one that may take over; else NULL
    uint64_t found_stiff;               // runs that it took over because they are stiff,
    uint64_t failed_first;              // and because they failed with the first;
    uint64_t taken_back;                // of the stiff ones those that only the first could finish
    uint64_t steps, rejected, f_evals;
    double seconds;
    bool complete;
    uint64_t resumed; // of `done`, those that an earlier run has left
} shoal_tally;

// Where and why a trajectory failed: the states whose derivative is not finite at its last good
// point, or a little further on.
enum { SHOAL_FAILURE_STATES = 4 };
typedef struct shoal_failure {
    shoal_status status;
    double t;       // of the last good point
    bool at_start;  // no step was good
    bool initial;   // the initial values of these states are not finite, not their derivatives
    bool ahead;     // at that point all is finite, but not behind it
    uint32_t count; // how many states; 0: all derivatives are finite
    uint32_t state[SHOAL_FAILURE_STATES]; // the first of them
    char cause[96]; // the operation that has no finite value, such as sqrt(-0.5); "": unknown
} shoal_failure;
// Runs that run of the batch again, with the options it had; it gives up with SHOAL_STOPPED after a
// few seconds.
SHOAL_API shoal_code shoal_model_failure(const shoal_model *model, const shoal_options *options,
                                         const shoal_batch *batch, uint64_t run, shoal_failure *out,
                                         shoal_log *log);

// What a run would take.
typedef struct shoal_plan {
    uint64_t runs, chunks, chunk_runs;
    uint64_t rows; // of the result: runs, or groups of them
    uint64_t host_bytes, device_bytes, disk_bytes;
    uint64_t disk_free; // where the file would be; UINT64_MAX: unknown
    uint32_t threads;
    double seconds; // that it is likely to take, with what must be compiled, but for the file; NaN:
                    // nothing like it has run here yet
} shoal_plan;
SHOAL_API shoal_code shoal_solver_plan(shoal_solver *solver, const shoal_batch *batch,
                                       const char *path, shoal_plan *plan, shoal_log *log);

// For a process that stays: pays before it matters what the first run of such a batch would pay and
// later ones do not. Builds and loads, side by side, every kernel that a run may need (with method
// auto also those that take over), takes memory for as many chunks as are on their way at a time,
// and runs each kernel on the first rows until the device is awake. Batches of other sizes need no
// other kernel, and memory only where they are larger. Results are thrown away.
// With the option `tune` it tries variants of the kernels on rows of the batch: more or fewer
// vectors in flight, loops or straight code, all of the same bits. Which is the fastest is kept for
// this process and later ones; a note in the log says what it gains. That takes seconds. A run that
// is predicted to take much longer than that does it by itself, once for a kernel.
SHOAL_API shoal_code shoal_solver_warm(shoal_solver *solver, const shoal_batch *batch,
                                       shoal_log *log);

// The variant that its kernel is, in words ("ways=3"), and how many times as fast that was
// measured to be as the default (`gain` may be NULL); "" and 1: it is the default.
SHOAL_API const char *shoal_solver_variant(const shoal_solver *solver, double *gain);

// Whether a result with these options could be written to that path, before anything is compiled or
// run. A file that is there already and no result of ours is an error, unless `replace`.
SHOAL_API shoal_code shoal_output_check(const char *path, const shoal_options *options,
                                        bool replace, shoal_log *log);

// Writes a result file by the ending of its name (.csv, .npz, .h5); "-" is CSV on standard output.
// The file appears under its name when it is complete, or marked incomplete after a stop, which
// returns SHOAL_STOPPED. tally may be NULL.
SHOAL_API shoal_code shoal_solver_run_file(shoal_solver *solver, const shoal_batch *batch,
                                           const char *path, shoal_tally *tally, shoal_log *log);

// Puts results of shards (shoal_batch_shard) together, in memory that does not grow with them, to
// the bytes of one run. `solver` (shoal_solver_new_plan is enough) and `batch` are those of the
// whole job. Shards must be of that job, which their journals say, and each be there once; with
// `allow_missing` rows that are not there are NaN and have the status pending, and *whole (may be
// NULL) is false.
SHOAL_API shoal_code shoal_solver_merge(shoal_solver *solver, const shoal_batch *batch,
                                        const char *path, const char *const *shards, size_t count,
                                        bool allow_missing, bool *whole, shoal_log *log);

// ---- One batch, run by several ------------------------------------------------------------------

// Solvers in several threads, processes or machines that run one batch together: each asks for
// ranges of rows, runs them, and hands on what they gave as bytes; one of them gathers these into
// the file that one run would have written, to the byte. All have the same model, options and
// batch; each solver has one device. build/shoal-mpi is such a program (docs/cluster.md).
//
// Who takes rows.
typedef struct shoal_taker {
    uint64_t takers;        // that there are
    uint64_t least, wanted; // rows that keep it busy, and that it would like
    uint32_t number;        // which of them it is, from 0,
    const char *name;       // and its track in the time log; NULL: it is not there
} shoal_taker;

typedef struct shoal_ranges {
    size_t size; // of this struct: sizeof(shoal_ranges)
    void *user;
    // Rows to run next; false: there are no more. `least` rows keep the device busy, and `wanted`
    // take it about half a second.
    bool (*next)(void *user, uint64_t least, uint64_t wanted, uint64_t *first, uint64_t *rows);
    // Some of these rows are done, in order; bytes are there for the call only. An error ends the
    // run.
    shoal_code (*done)(void *user, uint64_t first, uint64_t rows, const void *bytes, size_t length);
} shoal_ranges;
// SHOAL_STOPPED, or an error of the device: rows of the last range that were not handed on are not
// done. Progress counts the rows of this call.
SHOAL_API shoal_code shoal_solver_run_ranges(shoal_solver *solver, const shoal_batch *batch,
                                             const shoal_ranges *ranges, shoal_log *log);

typedef struct shoal_gather shoal_gather;
// Solver and batch must be there until it is freed; the solver may run ranges meanwhile. With the
// option `resume` it goes on from what there is.
SHOAL_API shoal_code shoal_gather_new(shoal_solver *solver, const shoal_batch *batch,
                                      const char *path, shoal_gather **out, shoal_log *log);
// These four may be called by several threads, each with a log of its own.
typedef enum shoal_take {
    SHOAL_TAKE_ROWS,  // here are some
    SHOAL_TAKE_LATER, // what came ahead of its turn fills the memory: ask again
    SHOAL_TAKE_NONE   // all were handed out, though not all may be done
} shoal_take;
SHOAL_API shoal_take shoal_gather_take(shoal_gather *gather, const shoal_taker *taker,
                                       uint64_t *first, uint64_t *rows);
// Rows that were taken and will not be done by who took them.
SHOAL_API shoal_code shoal_gather_give_back(shoal_gather *gather, uint64_t first, uint64_t rows,
                                            shoal_log *log);
// What shoal_ranges.done got, in any order. Bytes may come from anywhere: what is not as it should
// be is SHOAL_INPUT, and changes nothing. Any other error is one of the file, and final.
SHOAL_API shoal_code shoal_gather_put(shoal_gather *gather, const void *bytes, size_t length,
                                      shoal_log *log);
SHOAL_API uint64_t shoal_gather_done(shoal_gather *gather); // rows that came, or were there
// Closes the file. SHOAL_STOPPED: rows are missing; it has those before the first that is, and can
// be gone on from. tally may be NULL.
SHOAL_API shoal_code shoal_gather_end(shoal_gather *gather, shoal_tally *tally, shoal_log *log);
SHOAL_API void shoal_gather_free(shoal_gather *gather);

// Who ran rows may write their numbers to their place in the file, and hand on the rest of their
// bytes. A mark in the file, which who gathers has told it, shows that it is the same file.
// 0: the file is not of such a format (NPZ is), or the rows are reduced.
SHOAL_API uint64_t shoal_gather_mark(shoal_gather *gather);
typedef struct shoal_direct shoal_direct;
// Of the same solver, batch and path; before rows are run.
SHOAL_API shoal_code shoal_direct_new(shoal_solver *solver, const shoal_batch *batch,
                                      const char *path, shoal_direct **out, shoal_log *log);
// False: the file cannot be reached, or is on a file system (NFS and the like) where others may not
// see what is written. Rows are then handed on as they are.
SHOAL_API bool shoal_direct_open(shoal_direct *direct, uint64_t mark);
// What shoal_ranges.done got; *out is what is handed on, until the next call. After an error the
// rows can be handed on as they are.
SHOAL_API shoal_code shoal_direct_put(shoal_direct *direct, const void *bytes, size_t length,
                                      const void **out, size_t *out_length, shoal_log *log);
// Before the gather ends.
SHOAL_API void shoal_direct_free(shoal_direct *direct);

// How far a run into a file is, or was when it ended, by its journal; from any process.
typedef struct shoal_journal_info {
    uint64_t rows, done; // asked for, finished
    uint64_t ahead;      // besides, finished by several devices before those that come first
    uint64_t by_status[SHOAL_STATUS_COUNT];
    double begun_s, last_s; // when it was begun or gone on with, and when the last runs were
                            // finished; seconds since 1970
    double rate;            // runs a second since it was begun or gone on with; NaN: nobody knows
    bool running;           // somebody writes it now
    bool complete, stopped; // it is whole; it was stopped
    char device[64];        // that it began on
    char shard[64];         // which it is, as shoal_batch_shard takes it; "": the whole job
} shoal_journal_info;
// path: the result, its .part or its journal. SHOAL_INPUT: there is no journal.
SHOAL_API shoal_code shoal_journal_read(const char *path, shoal_journal_info *out, shoal_log *log);

// An array of the caller's, for all rows of the batch, or of groups of them where `reduce` is given
// (shoal_plan says how many rows there are; its arrays are named, `x.mean`, and their inputs are
// those of `by`). It is called as in result files: `t`,
// `status`, `steps`, a variable, an input of the batch (shoal_solver_array_at lists all but inputs,
// which are doubles, one a run); in a series `t` is the same in all rows. Strides are in elements:
// all of them, or none for the dense layout, [row] or [row][sample].
typedef struct shoal_array {
    const char *name; // NULL: all variables in one block, [var][row][sample]
    void *data;       // of the array's type; NULL: it is not wanted
    size_t row_stride, sample_stride;
    size_t var_stride; // of the block
} shoal_array;
SHOAL_API shoal_code shoal_solver_run_arrays(shoal_solver *solver, const shoal_batch *batch,
                                             const shoal_array *arrays, size_t count,
                                             shoal_tally *tally, shoal_log *log);
// Writes such arrays to a file, without running anything: the one that shoal_solver_run_file of the
// same solver and batch makes. All arrays are needed but those of inputs, `run`, and times that all
// rows share. Rows that a stop has left (SHOAL_STATUS_PENDING) are left out, and the file says so.
SHOAL_API shoal_code shoal_solver_write_arrays(shoal_solver *solver, const shoal_batch *batch,
                                               const shoal_array *arrays, size_t count,
                                               const char *path, shoal_log *log);

// All of it in one call, timed as one: `words` are options of `shoal run` as name=value, a flag by
// its name, up to a NULL (or NULL: none); the last of an option that is not repeatable wins.
//
//     const char *words[] = {"t1=40", "set=sigma=9", "sweep=rho=lin:0:21:1000", NULL};
//     shoal_solve("lorenz.ode", words, "out.npz", NULL, log);
SHOAL_API shoal_code shoal_solve(const char *model, const char *const *words, const char *path,
                                 shoal_tally *tally, shoal_log *log);

// A method in a comparison.
typedef struct shoal_rank {
    const char *method;
    double rtol, atol;     // that it needs;
    double error, seconds; // what comes of them. NaN, all four: it takes no part,
    char why[64];          // because of this; else ""
} shoal_rank;
enum { SHOAL_RANKS = 64 };
typedef struct shoal_comparison {
    uint64_t runs; // of the batch, spread over it
    double error;  // that methods are compared at, the options' rtol: the root mean square over
                   // runs, samples and variables of |y - reference| / (atol / rtol + |reference|)
    const char *reference[2]; // methods that agree on the reference,
    double agreement;         // to this error
    uint32_t count;
    shoal_rank rank[SHOAL_RANKS]; // the fastest first
} shoal_comparison;
// Adaptive methods, and `auto`, at an equal achieved error: each is run with the tolerances at
// which its error is that of `out`, or a little less. Their kernels are made. An error where no two
// methods agree well enough on a reference, as in chaotic systems.
SHOAL_API shoal_code shoal_compare_methods(const shoal_model *model, const shoal_options *options,
                                           const shoal_batch *batch, shoal_comparison *out,
                                           shoal_log *log);

// ---- Result in memory ---------------------------------------------------------------------------

typedef struct shoal_result shoal_result;

SHOAL_API shoal_code shoal_solver_run(shoal_solver *solver, const shoal_batch *batch,
                                      shoal_result **out, shoal_log *log);
SHOAL_API void shoal_result_free(shoal_result *result);
SHOAL_API uint64_t shoal_result_rows(const shoal_result *result);
SHOAL_API uint64_t shoal_result_samples(const shoal_result *result, uint64_t row);
SHOAL_API double shoal_result_value(const shoal_result *result, uint32_t var, uint64_t row,
                                    uint64_t sample);
SHOAL_API double shoal_result_t(const shoal_result *result, uint64_t row, uint64_t sample);
// Element `item` of a summary, counted over its axes with the last one fastest; summaries are
// counted as shoal_solver_array_at lists them.
SHOAL_API double shoal_result_summary(const shoal_result *result, uint32_t summary, uint64_t row,
                                      uint64_t item);
SHOAL_API int shoal_result_status(const shoal_result *result, uint64_t row);
SHOAL_API shoal_tally shoal_result_tally(const shoal_result *result);
// To a file, as shoal_solver_write_arrays; solver and batch are those it came from.
SHOAL_API shoal_code shoal_result_write(const shoal_result *result, shoal_solver *solver,
                                        const shoal_batch *batch, const char *path, shoal_log *log);

// ---- Devices ------------------------------------------------------------------------------------

typedef struct shoal_device_info {
    char name[32];         // cpu, cuda:0
    char description[192]; // hardware, lanes, compiler; or why it cannot be used
    bool usable;
} shoal_device_info;

SHOAL_API uint32_t shoal_device_count(void);
SHOAL_API shoal_device_info shoal_device_at(uint32_t index);

// Memory for arrays that are lent to batches and that results are written to. A CUDA device copies
// from and to it by itself, where the values lie as its kernels have them: those of lent arrays in
// the kernel's precision, one a row and nothing else that varies; those of results with a row
// stride of 1, as arrays without samples have by default. Other devices, and arrays that lie
// otherwise, use it like any memory. `device` is what the options say (NULL: auto). Where no such
// device can be used the memory is ordinary, so that a program needs no other way; where it refuses
// to pin so much, too, and the log has a note. What is in it is not said. Pages that are pinned are
// missing to everybody else: take what runs again and again. While such a run is under way, and
// after one that stopped or failed, rows whose status is not there yet may hold anything.
SHOAL_API shoal_code shoal_alloc(size_t bytes, const char *device, void **out, shoal_log *log);
// No run may use it any more. Does nothing with memory that is not of shoal_alloc or was freed; in
// a process that was forked what the parent took stays the parent's.
SHOAL_API void shoal_free(void *memory);

// Whether the options leave it open which device gets a batch of so many runs, and it is the CPU
// all the same because they are few. A program that runs no larger one may set `device` to "cpu":
// then no driver is asked for devices, also the first time on a machine.
SHOAL_API bool shoal_options_few(const shoal_options *options, uint64_t runs);

// For a program that is about to end, with nothing under way: what is freed from here on is not
// given back to devices, which takes longer (a context 0.07 s) than the end of a process. True when
// there is such a device, or a compiler of one that was told to stop and has not; then end by
// _exit, for the driver would do the same at exit. No device can be used afterwards.
SHOAL_API bool shoal_devices_leave(void);

// ---- Calibration --------------------------------------------------------------------------------

// What a batch of one size takes. Numbers are NaN where there is no other device, or no time.
typedef struct shoal_calibration {
    const char *workload; // in words
    const char *device;   // the one beside the CPU; NULL: there is none
    uint64_t runs;
    double cpu_s;       // on the CPU, everything loaded
    double cold_s;      // on the device: with its start and the compilation of the kernel,
    double warm_s;      // and once both are there
    const char *choice; // cpu, cuda:0: what `auto` takes for the next such batch
} shoal_calibration;
typedef void shoal_calibrate_visit(const shoal_calibration *row, void *user);
// Measures this machine, in about that many seconds (less than 30 where it is 0), and keeps the
// numbers for `auto`: of workloads that the engines have, or (model not NULL) of runs of that
// model, over the values around its own. Each size is told as soon as it is known; what is compiled
// for it goes into the cache.
SHOAL_API shoal_code shoal_calibrate(const shoal_model *model, const shoal_options *options,
                                     double seconds, shoal_calibrate_visit *visit, void *user,
                                     shoal_log *log);

// ---- Kernel cache -------------------------------------------------------------------------------

// Solvers use the cache by themselves; these calls are for people who look after it.
typedef struct shoal_cache shoal_cache;

// `directory` NULL: where the environment says. A cache that cannot be used opens too, empty.
SHOAL_API shoal_code shoal_cache_open(const char *directory, shoal_cache **out, shoal_log *log);
SHOAL_API void shoal_cache_close(shoal_cache *cache);
SHOAL_API const char *shoal_cache_place(const shoal_cache *cache); // "" when it is nowhere
SHOAL_API const char *shoal_cache_off(const shoal_cache *cache);   // why it is off; NULL: it is on

// Text is "" where it is not known, and there for the call only.
typedef struct shoal_cache_entry {
    const char *key;  // 64 hex digits
    const char *kind; // a word of the backend: so, cubin, clbin
    const char *backend, *target, *model, *method, *precision;
    const char *file;   // in its directory
    const char *defect; // NULL: it is whole
    uint32_t states;
    uint32_t tier; // 0: the cache itself; 1, ...: a read-only one
    uint64_t bytes;
    double compile_s;
    int64_t created, used; // seconds since 1970
} shoal_cache_entry;

typedef bool shoal_cache_visit(const shoal_cache_entry *entry, void *user); // false: enough
// Kernels of a model, or (NULL) all that there is.
SHOAL_API void shoal_cache_list(shoal_cache *cache, const char *model, shoal_cache_visit *visit,
                                void *user);

typedef struct shoal_cache_field {
    const char *label, *text; // text ends with a zero byte that length does not count
    size_t length;
    bool in_key; // it identifies the kernel; else it only describes it
} shoal_cache_field;
// One kernel by the first digits of its key, with all its fields.
SHOAL_API shoal_code shoal_cache_show(shoal_cache *cache, const char *key, shoal_cache_visit *visit,
                                      void (*field)(const shoal_cache_field *field, void *user),
                                      void *user, shoal_log *log);

enum { SHOAL_CACHE_REASONS = 16 };

typedef struct shoal_cache_counts {
    uint64_t entries, bytes, cap_bytes, cap_entries;
    uint64_t hits, hits_read_only, misses, corrupt, refused, evicted, stored;
    double saved_s; // compile time that hits saved
    struct {
        char reason[32];
        uint64_t count;
    } missed[SHOAL_CACHE_REASONS]; // ends with a count of 0
} shoal_cache_counts;
SHOAL_API void shoal_cache_stat(shoal_cache *cache, shoal_cache_counts *out);

enum { SHOAL_CACHE_DIFFERENCES = 32, SHOAL_CACHE_WORDS = 8 };

// Why a model's kernel is not there: what sets it apart from the kernel that is most like it.
typedef struct shoal_cache_explanation {
    char key[65];
    bool cached;
    char nearest[65]; // "": there is no other kernel
    char nearest_model[64];
    uint32_t same, differences; // fields; only the first differences are listed
    struct {
        char label[64], here[96], there[96]; // "": it has no such field
    } difference[SHOAL_CACHE_DIFFERENCES];
    uint32_t words; // what was asked for and is another there: method, precision, outputs, ...
    struct {
        char label[32], here[64], there[64];
    } word[SHOAL_CACHE_WORDS];
} shoal_cache_explanation;
SHOAL_API shoal_code shoal_cache_explain(shoal_cache *cache, const shoal_model *model,
                                         const shoal_options *options, shoal_cache_explanation *out,
                                         shoal_log *log);

typedef struct shoal_cache_check {
    uint64_t good, bad;
    uint64_t recompiled, differ; // with recompile
    uint64_t stale;              // made by a compiler that is not here now: not compiled again
} shoal_cache_check;
// Checks every entry; with `recompile` also that the compiler makes the same bytes again. `visit`
// (may be NULL) gets those that are bad or differ, with the defect.
SHOAL_API shoal_code shoal_cache_verify(shoal_cache *cache, bool recompile,
                                        shoal_cache_visit *visit, void *user,
                                        shoal_cache_check *out, shoal_log *log);

// Which kernels to remove: those that meet all that is set.
typedef struct shoal_cache_filter {
    double unused_s;   // not used for so long; 0: whenever
    const char *model; // NULL: of any
    bool stale;        // its compiler or a library is not here now
} shoal_cache_filter;
SHOAL_API shoal_code shoal_cache_clear(shoal_cache *cache, const shoal_cache_filter *filter,
                                       uint64_t *removed, shoal_log *log);
// A few kernels stay loaded when their solvers are freed, for the next one that needs them. This
// unloads them; shoal_cache_clear of all kernels does too.
SHOAL_API void shoal_cache_forget(void);

// All kernels as a tar archive, and back. Each is checked; what is refused is named in the log.
SHOAL_API shoal_code shoal_cache_export(shoal_cache *cache, const char *path, uint64_t *count,
                                        shoal_log *log);
SHOAL_API shoal_code shoal_cache_import(shoal_cache *cache, const char *path, uint64_t *count,
                                        uint64_t *refused, shoal_log *log);

// Facts about the place and the compilers, one call each; `good` false: this is a problem.
SHOAL_API shoal_code shoal_cache_doctor(shoal_cache *cache,
                                        void (*fact)(const char *name, const char *text, bool good,
                                                     void *user),
                                        void *user, shoal_log *log);

// Builds and keeps the kernels that a solver would need, without running them: one, or with method
// auto that of each method. target: a name such as x86-64-v3 or sm_90, of a device that need not be
// here; NULL: the device of the options. count: how many of `out` were made.
enum { SHOAL_WARM_MOST = 2 };
typedef struct shoal_warm_result {
    char key[65];
    char target[32];
    const char *method;
    bool compiled; // false: it was there
    double seconds;
} shoal_warm_result;
SHOAL_API shoal_code shoal_model_warm(const shoal_model *model, const shoal_options *options,
                                      const char *target, shoal_warm_result out[SHOAL_WARM_MOST],
                                      uint32_t *count, shoal_log *log);

// ---- Figures ------------------------------------------------------------------------------------

// name, what it shows
#define SHOAL_PLOTS(X)                                                                             \
    X(line, "values over an input, as a line")                                                     \
    X(points, "values over an input or over each other")                                           \
    X(heat, "a value over two inputs, or over an input and time, as colours")                      \
    X(series, "values of some runs over time")                                                     \
    X(fan, "values of all runs over time: median, and where 50 and 90 % of them are")              \
    X(phase, "values of some runs over each other")                                                \
    X(raster, "when events happened (--record), a row for each run or event")                      \
    X(next, "a value over the one before it: peaks, records, samples of a run")                    \
    X(density, "how many points there are at each place, of any number of them")                   \
    X(histogram, "how often a value occurs")                                                       \
    X(grid, "grids of integers (shoal grid), a panel for each")                                    \
    X(flame, "a time log (--timing-json): what was called when")

typedef enum shoal_plot_kind {
#define X(name, text) SHOAL_PLOT_##name,
    SHOAL_PLOTS(X)
#undef X
        SHOAL_PLOT_AUTO // what suits the file
} shoal_plot_kind;
SHOAL_API const char *shoal_plot_name(int kind);
SHOAL_API const char *shoal_plot_about(int kind);

// Colours of a density: by the logarithm of the number, its rank, or the number itself.
typedef enum shoal_shade { SHOAL_SHADE_LOG, SHOAL_SHADE_EQUAL, SHOAL_SHADE_LINEAR } shoal_shade;

typedef struct shoal_plot_options {
    size_t size; // of this struct, set by shoal_plot_options_init
    shoal_plot_kind kind;
    const char *x, *y;             // names of columns; y may be several, "x,v". NULL: chosen
    const char *fix;               // "a=1,b=2": only runs whose inputs are nearest to that, or NULL
    const char *runs;              // "3,10:20": of these runs; NULL: chosen
    const char *x_range, *y_range; // "A:B"; NULL: that of the values
    const char *log;    // axes that are logarithmic, "x", "y", "z" (colours), "x,y"; or NULL
    const char *map;    // viridis, magma, cividis, grey; NULL: chosen
    const char *levels; // of lines in a heat map: "auto", "none", "1,2.5"; NULL: auto
    const char *title;  // NULL: made of the metadata
    shoal_shade shade;
    bool dark;
    bool bare;              // the picture alone: no axes, no text
    uint32_t width, height; // in units of 1/96 inch; 0: 900 and 560
    double dpi;             // pixels per inch of a PNG; 0: 96
    // Of text: size of the terminal, whether it knows Unicode, and how many colours (0, 256, 1 <<
    // 24).
    uint32_t columns, rows;
    bool unicode;
    uint32_t colours;
} shoal_plot_options;

SHOAL_API shoal_code shoal_plot_options_init(shoal_plot_options *options);
// Draws a result file (.csv, .npz, .h5), grids (.json, .npy, .txt) or a time log (.ndjson) into a
// file, .svg, .pdf or .png by its ending; or, where `output` is NULL, as text for a terminal, to be
// freed with free(). Notes of the log say what was chosen. Large files are read in pieces, more
// than once; memory does not grow with them.
SHOAL_API shoal_code shoal_plot(const char *result, const shoal_plot_options *options,
                                const char *output, char **text, shoal_log *log);

// What a report says besides what the result file holds; each may be NULL.
typedef struct shoal_report_facts {
    size_t size;            // of this struct: sizeof(shoal_report_facts)
    const char *command;    // that repeats the run
    const char *device;     // it ran on
    const char *machine;    // and where that is
    const char *model_text; // of results that do not hold it (.csv)
    const shoal_log *times; // where the time went
} shoal_report_facts;
// One page about a run, self-contained: what was asked, figures, statuses, numbers, times. HTML.
SHOAL_API shoal_code shoal_report(const char *result, const shoal_report_facts *facts,
                                  const char *output, shoal_log *log);

// ---- Grids --------------------------------------------------------------------------------------

// A second engine: pipelines on batches of small integer grids, docs/grid.md. A pipeline is one
// kernel, kept, warmed and timed like those of models; batches that are done before a compiler is
// run by functions of the library instead, with the same results.
//
//     shoal_grid *grid;
//     shoal_grid_new("rot90 | mask(v>5) | flip_h", &options, &grid, log);
//     shoal_grid_run(grid, &in, &out, log);
typedef struct shoal_grid shoal_grid;

typedef enum shoal_cell { SHOAL_U8, SHOAL_I16, SHOAL_I32 } shoal_cell;

// Results that stay on the device that made them, see shoal_grid_keep.
typedef struct shoal_kept shoal_kept;

// Grids one behind the other, row by row: all of one shape, or each with its own. Sides are 1 to
// 1024; a grid with others is marked.
typedef struct shoal_grids {
    size_t size; // of this struct: sizeof(shoal_grids)
    uint64_t count;
    shoal_cell type;
    const void *cells;
    int32_t height, width;   // of all, where shapes is NULL
    const int32_t *shapes;   // [2 count]: height and width of each, or NULL
    const uint64_t *offsets; // [count]: cells before each, with shapes; in order
    const shoal_kept *kept;  // not NULL: these, and nothing else of the struct is looked at
} shoal_grids;

// The results, in the caller's memory. Where all grids have one shape and the pipeline makes one of
// it, they are a stack of height by width, in which a marked grid is zeros. Else each has its shape
// and offset, and a marked one is 0 by 0.
typedef struct shoal_grids_out {
    size_t size; // of this struct: sizeof(shoal_grids_out)
    shoal_cell type;
    void *cells;       // of shoal_grid_run
    uint64_t room;     // cells that there is memory for
    int32_t *shapes;   // [2 count]
    uint64_t *offsets; // [count]
    uint8_t *status;   // [count]: 0 is ok, see shoal_grid_status_word
    // Set by the call:
    uint64_t needed;       // cells of all results
    int32_t height, width; // of a stack; 0: it is none
} shoal_grids_out;

// Compiles nothing. Options of which these count: device, threshold, reuses, no_fallback, threads,
// chunk, memory, cache, keep_source, stop, on_compile. With device auto each batch goes to the
// device that is likely to be done first (docs/devices.md); small ones load no driver.
SHOAL_API shoal_code shoal_grid_new(const char *text, const shoal_options *options,
                                    shoal_grid **out, shoal_log *log);
SHOAL_API void shoal_grid_free(shoal_grid *grid);
// Shapes, offsets and `needed`, and status words as far as shapes tell; `cells` and `room` are left
// alone. Where cells decide shapes this is a pass over them.
SHOAL_API shoal_code shoal_grid_shapes(shoal_grid *grid, const shoal_grids *in,
                                       shoal_grids_out *out, shoal_log *log);
// All of it. A grid that a pipeline cannot be applied to is marked, and none of the others. Less
// room than is needed is SHOAL_USAGE.
SHOAL_API shoal_code shoal_grid_run(shoal_grid *grid, const shoal_grids *in, shoal_grids_out *out,
                                    shoal_log *log);
// The same, but for the cells, which stay on the device: `cells` and `room` are not looked at. They
// are the input of any pipeline that runs on that device (with device auto, one that is free to),
// while they last; the pipeline that made them may be freed. A grid that was marked is marked with
// the same word in all that is made of it. To be freed with shoal_kept_free.
SHOAL_API shoal_code shoal_grid_keep(shoal_grid *grid, const shoal_grids *in, shoal_grids_out *out,
                                     shoal_kept **kept, shoal_log *log);
// As input of shoal_grid_run, shoal_grid_shapes and shoal_grid_keep.
SHOAL_API shoal_grids shoal_kept_grids(const shoal_kept *kept);
// The cells, in the order that offsets say; less room than there are cells is SHOAL_USAGE.
SHOAL_API shoal_code shoal_kept_fetch(const shoal_kept *kept, void *cells, uint64_t room,
                                      shoal_log *log);
SHOAL_API void shoal_kept_free(shoal_kept *kept);
SHOAL_API void shoal_grid_on_progress(shoal_grid *grid,
                                      void (*call)(const shoal_progress *now, void *user),
                                      void *user);
// Says which device a batch would go to: shoal_grid_device and shoal_grid_reason tell. Nothing
// runs.
SHOAL_API shoal_code shoal_grid_plan(shoal_grid *grid, const shoal_grids *in, shoal_cell out,
                                     shoal_log *log);
// Does so, and compiles and loads the kernel there, however small the batch is: small ones would go
// without until there were many.
SHOAL_API shoal_code shoal_grid_ready(shoal_grid *grid, const shoal_grids *in, shoal_cell out,
                                      shoal_log *log);
// The device of the last batch, and why it had it; "": there was no choice.
SHOAL_API const char *shoal_grid_device(const shoal_grid *grid);
SHOAL_API const char *shoal_grid_reason(const shoal_grid *grid);
// The fewest grids like those of the last batch for which another device is faster than the CPU; 0:
// nobody knows, or there is no such number.
SHOAL_API uint64_t shoal_grid_break_even(const shoal_grid *grid);
// Status words of grids: ok, shape, bounds, ...; NULL: there is none of that number.
SHOAL_API const char *shoal_grid_status_word(int status);
SHOAL_API const char *shoal_grid_status_text(int status);

// The kernel into the cache, for cells of these types; target: a name to build for, or NULL.
SHOAL_API shoal_code shoal_grid_warm(const char *text, const shoal_options *options, shoal_cell in,
                                     shoal_cell out, const char *target, shoal_warm_result *result,
                                     shoal_log *log);
// Its source, to be freed with free().
SHOAL_API shoal_code shoal_grid_source(const char *text, const shoal_options *options,
                                       shoal_cell in, shoal_cell out, char **source,
                                       shoal_log *log);

// Grids of a file: .json (a list of grids, one grid, or what `select` names of it: "train.input"),
// .npy, .npz, .txt; "-" is standard input. To be freed with shoal_grid_file_free.
typedef struct shoal_grid_file shoal_grid_file;
SHOAL_API shoal_code shoal_grid_file_read(const char *path, const char *select,
                                          shoal_grid_file **out, shoal_log *log);
SHOAL_API void shoal_grid_file_free(shoal_grid_file *file);
SHOAL_API shoal_grids shoal_grid_file_grids(const shoal_grid_file *file);
SHOAL_API bool shoal_grid_file_exact(const shoal_grid_file *file);  // numbers without a type
SHOAL_API bool shoal_grid_file_single(const shoal_grid_file *file); // one grid, not a list of it
// Results of `in` to a file, by its ending; "-" is JSON on standard output. single: a list of one
// is written as that grid.
SHOAL_API shoal_code shoal_grid_file_write(const char *path, const shoal_grids *in,
                                           const shoal_grids_out *out, bool single, shoal_log *log);

#ifdef __cplusplus
}
#endif
#endif
