// SPDX-License-Identifier: MIT
// Which runs: sweeps, samples, tables, and the value of (run, name) as a pure function.
//
// run = (table row * sweep points + sweep point) * samples + sample; of the sweeps the leftmost is
// the slowest; zipped sweeps count as one, at the place of the first of them. Nothing is stored per
// run but the rows of a table, so that 1e9 runs are described in a few hundred bytes. A call that
// fails leaves the batch as it was; after batch_check everything below it is const and may be
// called by several threads.
#ifndef SHOAL_RUN_BATCH_H
#define SHOAL_RUN_BATCH_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/report.h"
#include "base/sha256.h"
#include "ode/model/model.h"
#include "result/table.h"

enum sampler { SAMPLER_RANDOM, SAMPLER_LHS, SAMPLER_SOBOL };

struct batch;

// What an input drives.
struct batch_target {
    bool initial;   // initial value of state `index`, else parameter `index`
    uint32_t index; // position in model.states or model.pars
};

struct batch *batch_new(struct model *m); // NULL: out of memory; the model must outlive it
void batch_free(struct batch *b);

// NAME=lin:A:B:N, log:A:B:N, V,V,...; lin(A,B,N) too. NAME is a parameter, or x(0) or
// x for the initial value of a state.
shoal_code batch_sweep(struct batch *b, const char *spec, struct report *r);
shoal_code batch_zip(struct batch *b, const char *names, struct report *r);
// NAME=uniform:A:B, loguniform:A:B, normal:M:S, lognormal:MEDIAN:GSD
shoal_code batch_sample(struct batch *b, const char *spec, struct report *r);
// Without these calls: lhs, seed 0, and 0 samples, which is none given.
void batch_set_sampler(struct batch *b, enum sampler sampler);
void batch_set_samples(struct batch *b, uint64_t count);
void batch_set_seed(struct batch *b, uint64_t seed);
// One sample for each row of the table, instead of all for each.
void batch_set_per_row(struct batch *b, bool per_row);
// Columns run, t, status are ignored, `_` columns are kept as extras; any other must be an input.
// Tables and arrays together are one table, so their rows must agree. Both are copied, and their
// values must be finite; but for batch_lend_values, whose array (of float or double) is looked at
// whenever a value is asked for, and never before: what is in it then is handed on.
shoal_code batch_use_table(struct batch *b, const struct table *t, struct report *r);
shoal_code batch_add_values(struct batch *b, const char *name, const double *values, uint64_t count,
                            struct report *r);
shoal_code batch_lend_values(struct batch *b, const char *name, const void *values, bool f32,
                             uint64_t count, struct report *r);
// Words of a column that is only copied, copied.
shoal_code batch_add_texts(struct batch *b, const char *name, const char *const *texts,
                           uint64_t count, struct report *r);
// Goes on where the runs of a result ended (io_ends_read), each a row of the table.
shoal_code batch_continue(struct batch *b, const struct table *t, struct report *r);
// "4711,5000:6000": single runs, and ranges without their end, so that 0:1000 and 1000:2000 meet;
// 5000: goes on to the last run, :5000 begins with the first.
// A later call replaces an earlier one.
shoal_code batch_only(struct batch *b, const char *runs, struct report *r);
// Part `shard`, from 0, of `shards`: rows that follow each other, or every `shards`-th.
void batch_set_shard(struct batch *b, uint64_t shard, uint64_t shards, bool strided);
// Must be called (again) after the last change, before the rest.
shoal_code batch_check(struct batch *b, struct report *r);
// The rows of a table must differ: by its inputs or, where something is `chosen` by its `_`
// columns, by those.
shoal_code batch_check_table(const struct batch *b, bool chosen, struct report *r);
// No input has a value of its own in that model, which has the same names as the batch's.
shoal_code batch_check_set(const struct batch *b, const struct model *m, struct report *r);
// That the events of that model change no parameter whose last value those runs do not know that go
// on from others.
shoal_code batch_check_from(const struct batch *b, const struct model *m, struct report *r);
// When runs begin that go on from others.
enum batch_start { BATCH_AT_ANY_TIME, BATCH_AT_ONE_TIME, BATCH_AT_MANY_TIMES };
enum batch_start batch_start(const struct batch *b, double *t0);
bool batch_has_lost(const struct batch *b);              // some may be
bool batch_renumbers(const struct batch *b);             // they had other numbers there
bool batch_is_lost(const struct batch *b, uint64_t run); // what it goes on from had failed
void batch_refresh(struct batch *b); // checks when something changed; wrong: there are 0 runs

uint64_t batch_runs(const struct batch *b);
uint64_t batch_rows(const struct batch *b);     // after --only-runs and --shard
uint64_t batch_all_rows(const struct batch *b); // of all shards
// Which shard it is; false: of none.
bool batch_shard(const struct batch *b, uint64_t *shard, uint64_t *shards, bool *strided);
uint64_t batch_run_of_row(const struct batch *b, uint64_t row); // run index of the row
// A batch of `count` rows of another one, far from each other, of which it borrows all that it is.
// free() frees it; NULL: out of memory. Which they are: the middles of as many equal stretches.
struct batch *batch_pick(const struct batch *b, uint32_t count);
uint64_t batch_picked_row(const struct batch *b, uint32_t count, uint32_t i);
// In the same way, all rows but the first `taken` of those; NULL, too, of a strided shard.
struct batch *batch_without(const struct batch *b, uint32_t count, uint32_t taken);
// And `rows` rows from `first` on; of a strided shard, too.
struct batch *batch_stretch(const struct batch *b, uint64_t first, uint64_t rows);
uint64_t batch_gaps(const struct batch *b); // places where rows that follow each other are no
                                            // runs that do
void batch_fill_runs(const struct batch *b, uint64_t first_row, uint32_t rows, uint64_t *out);
uint32_t batch_inputs(const struct batch *b); // first the table's, then sweeps, then samples
const char *batch_input_name(const struct batch *b, uint32_t input); // "rho", "x(0)"
struct batch_target batch_input_target(const struct batch *b, uint32_t input);
// Values of one input for consecutive rows.
void batch_fill(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                double *out);
void batch_fill_f32(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                    float *out);
double batch_value(const struct batch *b, uint32_t input, uint64_t run);
// Where these values lie one behind the other in an array of that type; NULL: nowhere.
const void *batch_lies(const struct batch *b, uint32_t input, uint64_t first_row, uint32_t rows,
                       bool f32);
// Whether some of the memory is of an array that was lent.
bool batch_borrows(const struct batch *b, const void *memory, size_t bytes);
// Copied `_` columns of the table.
uint32_t batch_extras(const struct batch *b);
const struct table_column *batch_extra(const struct batch *b, uint32_t extra);
// Its numbers or texts for some rows of the batch.
void batch_fill_extra(const struct batch *b, uint32_t extra, uint64_t first_row, uint32_t rows,
                      void *out);
uint64_t batch_table_row(const struct batch *b, uint64_t run);
uint64_t batch_table_rows(const struct batch *b); // 0: there is no table
// All that decides the value of (run, name), and which runs there are.
void batch_digest(const struct batch *b, struct sha256 *h);
// Grid for the metadata: JSON array of [{"names":[...],"count":N}, ...], slowest first.
void batch_describe(const struct batch *b, struct buf *out);

#endif
