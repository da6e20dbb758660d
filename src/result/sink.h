// SPDX-License-Identifier: MIT
// Where results go: a sink is told the shape, gets chunks in run order, and is closed.
//
// The run layer calls begin once, chunk for each finished chunk, end once. Sinks are in src/io
// (files) and src/api (memory). All pointers of a chunk are borrowed for the call.
#ifndef SHOAL_RUN_SINK_H
#define SHOAL_RUN_SINK_H

#include "base/report.h"

enum sink_shape {
    SINK_FINAL,  // one sample a run
    SINK_SERIES, // `samples` samples a run on a common grid
    SINK_STEPS,  // as many samples as the run took steps, plus its start
};

// One column that every run has: an input name given by sweep, sample or batch, or a `_` column
// that is copied from the batch file (text then, else numbers).
struct sink_column {
    const char *name;
    bool text;
};

// What a sink looks at besides values and status; the rest may be NULL in its chunks.
enum {
    SINK_WANTS_T = 1,
    SINK_WANTS_COUNTS = 2, // steps, rejected, f_evals
    SINK_WANTS_INPUTS = 4, // run, number, text
    SINK_WANTS_ALL = 7,
};

struct sink_shape_info {
    enum sink_shape shape;
    uint64_t rows;       // runs that will come
    uint64_t samples;    // SINK_SERIES: per run; SINK_FINAL: 1; SINK_STEPS: 0
    const double *times; // SINK_SERIES: the grid
    uint32_t columns;    // input columns
    const struct sink_column *column;
    uint32_t vars;
    const char *const *var; // labels; result_names.h makes them and the columns' unique
    uint32_t value_bytes;   // 8 or 4: type of values
    const char *meta;       // JSON object: model text, every option, version, key, grid
};

struct sink_chunk {
    uint64_t first_row; // position among the rows, not the run index
    uint32_t rows;
    const uint64_t *run;            // [rows] run index
    const double *const *number;    // [columns] -> [rows], NULL for text columns
    const char *const *const *text; // [columns] -> [rows], NULL for number columns; may be NULL
    const double *t;                // SINK_FINAL: [rows] time reached; SINK_STEPS: [offsets[rows]];
                                    // SINK_SERIES: NULL, the grid holds for all
    const void *values;             // element (var, row, sample) is at
                                    // var*var_stride + row*row_stride + sample*sample_stride;
                                    // SINK_STEPS: var*var_stride + offsets[row] + sample
    size_t var_stride, row_stride, sample_stride; // in elements
    const uint64_t *offsets;                      // SINK_STEPS: [rows + 1], first is 0
    const uint8_t *status;                        // [rows] shoal_status
    const uint32_t *steps, *rejected;             // [rows]
    const uint64_t *f_evals;                      // [rows]
};

struct sink {
    unsigned wants; // SINK_WANTS_*
    shoal_code (*begin)(struct sink *s, const struct sink_shape_info *info, struct report *r);
    shoal_code (*chunk)(struct sink *s, const struct sink_chunk *c, struct report *r);
    // Makes the file whole under its own name. With complete == false (a stop) it holds the rows
    // that came, and says so in its metadata. Not called after an error: then only free is.
    shoal_code (*end)(struct sink *s, bool complete, struct report *r);
    void (*free)(struct sink *s); // also removes an unfinished .part file
};

#endif
