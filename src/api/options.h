// SPDX-License-Identifier: MIT
// Options: the table that every option is a row of, and the checks that need more than one of them.
//
// A row says how an option is called, listed, read and stored; parser, help, `shoal options`, job
// files, `@` lines and checks all come from it. Reading a value never changes anything; storing it
// is a second step. Text fields of shoal_options are borrowed, see shoal.h.
#ifndef SHOAL_API_OPTIONS_H
#define SHOAL_API_OPTIONS_H

#include "base/arena.h"
#include "base/report.h"
#include "ode/method/method.h"
#include "ode/model/model.h"

enum option_type {
    OPTION_FLAG,   // bool; no value, or on and off
    OPTION_NUMBER, // double
    OPTION_COUNT,  // uint64_t or uint32_t; 1e6 and 10k are fine
    OPTION_BYTES,  // uint64_t with an optional K, M or G
    OPTION_AGE,    // a number of seconds, as 30d or 3h50m: s, m, h, d and w are understood
    OPTION_CHOICE, // an enum in the order of `words`
    OPTION_WORD,   // one of `words`, kept as text
    OPTION_TEXT,   // any text but none
    OPTION_METHOD, // text: the method's name
    OPTION_DEVICE, // text: one of `words`, with :INDEX where it is not auto or cpu
    OPTION_ATOL,   // number and list
    OPTION_SAVE,   // kind and its value
};

enum option_range { OPTION_ANY, OPTION_POSITIVE, OPTION_NOT_NEGATIVE };

struct option {
    shoal_option_info info;
    enum option_type type;
    enum option_range range; // OPTION_NUMBER
    uint64_t least, most;    // OPTION_COUNT, OPTION_BYTES; most 0: no limit
    const char *words;       // OPTION_CHOICE, OPTION_WORD, OPTION_DEVICE: blank-separated
    size_t offset, size;     // of the field, where info.field
    // Where info.in_batch: adds the value to a batch.
    shoal_code (*add)(shoal_batch *batch, const char *value, shoal_log *log);
};

// Parts of shoal_batch_sampler, and a flag beside it, each from its text.
shoal_code api_batch_sampler(shoal_batch *batch, const char *sampler, shoal_log *log);
shoal_code api_batch_samples(shoal_batch *batch, const char *count, shoal_log *log);
shoal_code api_batch_seed(shoal_batch *batch, const char *seed, shoal_log *log);
shoal_code api_batch_per_row(shoal_batch *batch, const char *flag, shoal_log *log);

extern const struct option option_table[];
extern const uint32_t option_table_count;

// By name, `-` and `_` being the same; NULL when there is none.
const struct option *option_find(const char *name);

// Who gave a value, for messages: a place in a text, or (source NULL) the command line or a caller.
struct option_origin {
    const struct source *source;
    size_t at;
    struct model *model; // its constants may be used in numbers; may be NULL
};

// Says what is wrong with a value (or a name) at its origin. Returns SHOAL_INPUT.
shoal_code option_wrong(const struct option *o, const struct option_origin *origin,
                        struct report *r, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// No option has that name: names the nearest.
shoal_code option_unknown(const char *name, const struct option_origin *origin, struct report *r);
shoal_code option_read(const struct option *o, const char *text, const struct option_origin *origin,
                       shoal_option_value *out, struct report *r);
shoal_code option_store(const struct option *o, const char *text,
                        const struct option_origin *origin, shoal_options *options,
                        struct report *r);

// What XPP takes where a model says nothing: its end after t0, and its step.
#define XPP_T1 20.0
#define XPP_DT 0.05
// `@` lines, or what a set holds besides values: our names and XPP's. All errors are reported.
shoal_code xpp_apply(shoal_options *options, struct model *m, const struct setting *settings,
                     uint32_t count, bool in_set, struct report *r);
extern const char xpp_fixed[]; // the controller where a model has named a method of fixed steps
// Whether the model's `@` lines give an option of ours, by whichever name.
bool xpp_gives(const struct model *m, const char *ours);
// Notes what became of the model's own step, and which defaults of XPP stand in for what it lacks.
void xpp_tell(const shoal_options *options, const struct method *method, const struct model *m,
              struct report *r);

// ---- The struct itself --------------------------------------------------------------------------

// The options that a public call was given, in full: what a program that was built with an older
// header does not have is the default. SHOAL_USAGE: there are none, or shoal_options_init did not
// make them, or they hold what only a newer library knows.
shoal_code options_take(const shoal_options *given, const char *call, shoal_options *out,
                        shoal_log *log);
// The other way: as much as a struct of that size has room for; what lies behind is 0.
shoal_code options_give(const shoal_options *o, const char *call, shoal_options *out, size_t size,
                        shoal_log *log);
// The same options with all text in the arena.
shoal_options options_own(const shoal_options *o, struct arena *arena);

// ---- For the solver: after the last change ------------------------------------------------------

// Everything that depends on several options. With SHOAL_OK, of a fixed run `dt` is there, of an
// adaptive one it is to be ignored; t1 is not t0; settle < |t1 - t0|; save times are in order and
// inside.
shoal_code options_check(const shoal_options *options, const struct method *method,
                         struct report *r);

#endif
