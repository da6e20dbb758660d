// SPDX-License-Identifier: MIT
// What a batch is made of; for the files of this folder.
//
// Inputs that advance together are a group: all columns of the table, a sweep or some zipped ones,
// all samples; or samples and the table, where one is drawn for each row. Groups are ordered
// slowest first, and a run's point in a group is run / inner % count, with `inner` the product of
// the counts behind it. batch_check makes the groups out of what was given; before it nothing
// depends on the order of the calls.
#ifndef SHOAL_ODE_BATCH_DATA_H
#define SHOAL_ODE_BATCH_DATA_H

#include "ode/batch/batch.h"
#include "ode/batch/batch_spec.h"
#include "result/result_names.h"

enum input_kind { INPUT_TABLE, INPUT_SWEEP, INPUT_SAMPLE, INPUT_KINDS };

struct input {
    struct spec_name name;
    const char *source; // who gave it, for messages
    enum input_kind kind;
    uint32_t group;
    const double *column;  // INPUT_TABLE: [rows], or NULL and then
    const float *column32; // [rows]
    struct sweep sweep;
    struct sample sample;
    uint64_t *prefix; // of the sample, with sobol
};

struct group {
    uint64_t count, inner;
    const struct input *first; // for messages
};

// Consecutive runs that are computed, and the row of the first.
struct part {
    uint64_t first, end, row;
};

// What is known about each symbol of the model.
struct slot {
    uint32_t position; // in model.states or model.pars
    uint32_t input;    // + 1; 0: none
    uint32_t zip;      // + 1; 0: none
};

struct batch {
    struct arena arena;
    struct model *model;
    struct slot *slots; // [model.symbols.count]
    vec(struct input) inputs;
    vec(struct table_column) extras;
    const char *table; // name of the table, NULL: none
    uint64_t table_rows;
    uint32_t zips;
    enum sampler sampler;
    uint64_t samples, seed; // samples 0: not given
    struct spec_ranges only;
    uint64_t shard, shards; // which of how many parts of the rows; shards 0: all
    bool strided;           // rows that are `shards` apart, else such that follow each other
    const bool *lost;       // [table_rows]: runs that cannot go on; NULL: they need not
    bool renumbered;        // those that others go on with had other numbers
    enum batch_start start;
    double t0;
    bool per_row; // samples advance with the table
    bool noted;   // batch_check has given its notes
    bool fresh;   // nothing was added since batch_check
    // Made by batch_check.
    vec(struct group) groups;
    vec(uint32_t) order; // of the inputs: table, sweeps, samples
    vec(struct part) parts;
    uint64_t runs, rows;
    uint64_t all_rows; // of all shards
    uint64_t apart;    // rows of this shard are so far apart in `parts`; 0: they are all there is
};

// A step that adds to a batch or checks it.
typedef shoal_code batch_step(struct batch *b, const void *args, struct report *r);

// Runs a step; when it fails, also for lack of memory, takes back the inputs it added.
shoal_code batch_guard(struct batch *b, batch_step *call, const void *args, struct report *r);
// Adds an input, which nobody else may have given.
shoal_code batch_add_input(struct batch *b, struct input input, struct report *r);

// Columns of tables (batch_table.c). The first table sets the number of rows.
shoal_code batch_begin_table(struct batch *b, const struct table *t, struct report *r);
shoal_code batch_add_column(struct batch *b, const struct table *t, const struct table_column *c,
                            struct report *r);
void batch_add_extra(struct batch *b, const struct table *t, const struct table_column *c);
// The name of the model that a column stands for.
const char *batch_column_symbol(struct batch *b, const char *name, enum symbol_kind kind);

static inline uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

// In the order of the groups.
static inline const struct input *batch_input(const struct batch *b, uint32_t input) {
    return &b->inputs.items[b->order.items[input]];
}

#endif
