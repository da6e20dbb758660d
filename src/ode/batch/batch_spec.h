// SPDX-License-Identifier: MIT
// The little languages of --sweep, --zip, --sample and --only-runs: from text to numbers.
//
// A spec is opened with the option's name and the text; errors point into that text. Names are
// resolved against the model, numbers may be expressions of its constants. What the parts mean
// together is batch.c's business.
#ifndef SHOAL_RUN_BATCH_SPEC_H
#define SHOAL_RUN_BATCH_SPEC_H

#include "ode/batch/sample.h"
#include "ode/batch/sweep.h"

struct spec {
    struct model *model;
    struct arena *arena; // with an oom handler
    struct report *report;
    struct source source;
    char *rest; // of the copy of the text that is cut into pieces
    char *copy;
};

// An input: a parameter, or the initial value of a state, which may be given as `x` too.
struct spec_name {
    uint32_t symbol; // in model.symbols
    bool initial;
    const char *text; // "rho", "x(0)": as the model spells it, not as it was given
};

// Runs from first to end, without the end; SPEC_OPEN: up to the last one.
#define SPEC_OPEN UINT64_MAX
struct spec_range {
    uint64_t first, end;
};
struct spec_ranges {
    struct spec_range *items;
    uint32_t count;
};

void spec_open(struct spec *s, struct model *m, struct arena *a, const char *option,
               const char *text, struct report *r);
// The input of that name; `where` says who asks, as in model_find.
shoal_code spec_resolve(struct model *m, struct arena *a, const char *name, const char *where,
                        struct spec_name *out, struct report *r);
// NAME=lin:A:B:N, log:A:B:N, V,V,...
shoal_code spec_sweep(struct spec *s, struct spec_name *name, struct sweep *out);
// NAME=uniform:A:B and the other laws; of the sample only law, a and b are set.
shoal_code spec_sample(struct spec *s, struct spec_name *name, struct sample *out);
// The next word of a list, and the next that is a name; false at the end, and after an error, which
// is then in *code.
bool spec_next_word(struct spec *s, const char **out, shoal_code *code);
bool spec_next_name(struct spec *s, struct spec_name *out, shoal_code *code);
// Sorted, overlaps and neighbours joined.
shoal_code spec_runs(struct spec *s, struct spec_ranges *out);

#endif
