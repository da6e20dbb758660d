// SPDX-License-Identifier: MIT
// A result is a list of arrays: this is the one place that says which there are.
//
// The rows of RESULT_ROWS are the arrays that are ours, with the names that they have in files. The
// inputs of a batch stand between `run` and `t`, the variables of the model behind `t`, and behind
// them what else a run has to say (struct result_more). Whoever lays arrays out in memory, shows
// them, copies or writes them walks the list that is made of these; a new array is a new row.
// Nobody else knows how many there are or what they are called.
#ifndef SHOAL_RESULT_RESULT_LIST_H
#define SHOAL_RESULT_RESULT_LIST_H

#include "base/arena.h"

// What an array is for: files and the time log put arrays of a kind together.
enum result_role {
    ROLE_RUN,        // which run a row is
    ROLE_INPUT,      // given by sweep, sample or batch, or copied from the batch file
    ROLE_TIME,       // of the values
    ROLE_STATE,      // values
    ROLE_OBSERVABLE, // values
    ROLE_SUMMARY,    // what a run or a window comes to
    ROLE_RECORD,     // what was noted on its way
    ROLE_STATUS,     // how a run ended
    ROLE_FAILED,     // how many runs of a group failed
    ROLE_COUNT,      // what a run took
    ROLE_COUNTER,    // the same in detail, when asked for
    ROLE_OFFSETS,    // where the samples of a run begin
    ROLE_EDGES,      // of windows
    ROLE_INTERNAL,   // what only the engine looks at
    RESULT_ROLES
};

enum result_type {
    TYPE_U8,
    TYPE_U32,
    TYPE_U64,
    TYPE_F32,
    TYPE_F64,
    TYPE_TIME, // f64; a kernel writes a pair of its numbers
    TYPE_TEXT, // const char *, NULL for an empty one
    RESULT_TYPES
};

enum result_axes {
    AXES_PER_RUN,    // [rows]
    AXES_PER_SAMPLE, // [rows][samples]
    AXES_WIDE,       // [rows] and the array's own axes
    AXES_FLAT,       // [samples of all runs]
    AXES_OFFSETS,    // [rows + 1]: where each run begins in those, and their end
    AXES_GRID,       // the array's own axis, the same for all runs
    AXES_SAVED,      // only in RESULT_ROWS: as the values are saved
};

enum result_from {
    FROM_KERNEL,     // a field of what it writes
    FROM_COLUMN,     // of the batch
    FROM_RUN,        // the number of the run
    FROM_OFFSETS,    // made of the counts of samples
    FROM_KNOWN,      // before
    FROM_STATISTICS, // over the runs of a group
};

// How many samples a run has.
enum result_samples {
    SAMPLES_ONE,  // its end
    SAMPLES_GRID, // those of a grid that all runs share
    SAMPLES_OWN,  // as many as it took steps, and its start
};

// name (and field of the kernel), role, type, axes, from, and whether it is always there, only
// where runs have their own samples, where there are windows, or where counters are asked for.
#define RESULT_ROWS(X)                                                                             \
    X(run, RUN, U64, PER_RUN, RUN, ALWAYS)                                                         \
    X(t, TIME, TIME, SAVED, KERNEL, ALWAYS)                                                        \
    X(status, STATUS, U8, PER_RUN, KERNEL, ALWAYS)                                                 \
    X(steps, COUNT, U32, PER_RUN, KERNEL, ALWAYS)                                                  \
    X(rejected, COUNT, U32, PER_RUN, KERNEL, ALWAYS)                                               \
    X(f_evals, COUNT, U64, PER_RUN, KERNEL, ALWAYS)                                                \
    X(newton_iterations, COUNTER, U32, PER_RUN, KERNEL, COUNTERS)                                  \
    X(rejected_error, COUNTER, U32, PER_RUN, KERNEL, COUNTERS)                                     \
    X(rejected_newton, COUNTER, U32, PER_RUN, KERNEL, COUNTERS)                                    \
    X(rejected_nonfinite, COUNTER, U32, PER_RUN, KERNEL, COUNTERS)                                 \
    X(rejected_singular, COUNTER, U32, PER_RUN, KERNEL, COUNTERS)                                  \
    X(offsets, OFFSETS, U64, OFFSETS, OFFSETS, OWN)                                                \
    X(window_t, EDGES, F64, GRID, KNOWN, WINDOWS)                                                  \
    X(saved, INTERNAL, U32, PER_RUN, KERNEL, OWN)

// Those that readers look for.
#define RESULT_RUN "run"
#define RESULT_T "t"
#define RESULT_STATUS "status"
#define RESULT_OFFSETS "offsets"

// The table of text with a line for each window of a run.
#define RESULT_WINDOWS "windows"

// What binary files hold besides.
#define RESULT_STATUS_WORDS "status_words"
#define RESULT_META "meta"
// What a reduced result has in the place of `status`.
#define RESULT_FAILED "failed"

enum result_field {
#define X(name, role, type, axes, from, when) FIELD_##name,
    RESULT_ROWS(X)
#undef X
        FIELD_values, // of the variables, one after the other
    FIELD_summary,    // of the summaries: element i of all rows, then element i + 1
    FIELD_record,     // of the records, the same way
    RESULT_FIELDS
};

enum { RESULT_AXES = 2 }; // behind the runs, at most

// How a table of text shows an array of several elements a run. Without words they are columns of
// the table of runs.
struct result_words {
    const char *table; // has a line for each element of the first axis; NULL: none has
    const char *stem;  // of a column's name, which a number from 1 follows
    bool open;         // the first column is STEM below, the last STEM above
    const char *tail;  // of the name, behind the number; NULL: none
};

struct result_array {
    const char *name; // ours, or as the batch or the model has it; result_names.h makes it unique
    enum result_role role;
    enum result_type type;
    enum result_axes axes;
    enum result_from from;
    enum result_field field;    // FROM_KERNEL
    uint32_t index;             // FROM_KERNEL: in the field; FROM_COLUMN: of the column
    bool wanted;                // by the sink; the others may be missing in its chunks
    uint64_t axis[RESULT_AXES]; // AXES_WIDE, AXES_GRID: lengths; 0: there is no such axis
    const double *known;        // FROM_KNOWN
    struct result_words words;  // AXES_WIDE
};

// An array behind the variables: a number a run, or (axis[0] not 0) several. Of a field that the
// kernel writes it is the elements from `index` on.
struct result_more {
    const char *name;
    enum result_role role;
    enum result_field field;
    uint32_t index;
    uint64_t axis[RESULT_AXES];
    struct result_words words;
};

struct result_column {
    const char *name;
    bool text;
    uint32_t axis; // of a reduced result: which of its axes it is of
};

// What a list is made of.
struct result_spec {
    enum result_samples kind;
    uint64_t rows;
    uint64_t samples;    // of a run; SAMPLES_OWN: 0
    const double *times; // SAMPLES_GRID: [samples]
    bool f32;
    bool counters;
    uint32_t vars;          // variables
    const bool *is_state;   // [vars]; NULL: none is
    const char *const *var; // their names
    uint32_t mores;
    const struct result_more *more; // behind them
    uint64_t windows;
    const double *edges; // of the windows: [windows + 1]
    uint32_t columns;
    const struct result_column *column;
    const char *meta; // JSON object: model text, every option, version, key, grid
    // A reduced result (reduce_list.h) has groups of runs for rows, and these axes in files.
    bool reduced;
    uint32_t axes;
    const uint64_t *shape; // [axes]
};

struct result_list {
    struct result_spec of;
    uint32_t count, internal;         // arrays that are shown, and how many follow them
    uint32_t first_column, first_var; // arrays of the first column and of the first variable
    struct result_array *array;
};

// All arrays are wanted at first. The list lives in the arena and points to what the spec does;
// false: out of memory.
bool result_list_make(struct result_list *l, const struct result_spec *spec, struct arena *arena);

// The array that is ours, or NULL where there is none.
const struct result_array *result_list_ours(const struct result_list *l, enum result_field field);

// Of the model.
static inline bool result_is_variable(const struct result_array *a) {
    return a->role == ROLE_STATE || a->role == ROLE_OBSERVABLE;
}
// Behind those.
static inline bool result_is_more(const struct result_array *a) {
    return a->role == ROLE_SUMMARY || a->role == ROLE_RECORD;
}
// Its name is.
static inline bool result_is_ours(const struct result_array *a) {
    return a->role != ROLE_INPUT && !result_is_variable(a) && !result_is_more(a);
}
uint32_t result_type_bytes(enum result_type type); // of an element as sinks see it
// Elements of the first axis, where runs have `flat` samples of their own in all; and of each of
// these.
uint64_t result_length(const struct result_array *a, uint64_t rows, uint64_t flat);
uint64_t result_width(const struct result_list *l, const struct result_array *a);
// The lengths of all axes, where the first has `length`; returns how many there are.
int result_shape(const struct result_list *l, const struct result_array *a, uint64_t length,
                 uint64_t shape[1 + RESULT_AXES]);
// The same in a file, where groups of runs have axes of their own instead of the first.
enum { RESULT_SHAPE_MOST = 8 };
int result_file_shape(const struct result_list *l, const struct result_array *a, uint64_t length,
                      uint64_t shape[RESULT_SHAPE_MOST]);
// Bytes of all wanted numbers in a file; what is not known before (samples of SAMPLES_OWN, text)
// counts nothing.
uint64_t result_list_bytes(const struct result_list *l);

#endif
