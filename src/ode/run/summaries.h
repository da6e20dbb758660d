// SPDX-License-Identifier: MIT
// --summary and --window: what they ask for, as calls that are compiled, numbers and arrays.
#ifndef SHOAL_RUN_SUMMARIES_H
#define SHOAL_RUN_SUMMARIES_H

#include "base/report.h"
#include "ode/codegen/summary.h"
#include "result/result_list.h"

// Where an array begins, in elements of a row, and how many a window has.
struct summary_slot {
    uint64_t first;
    uint32_t width;
};

// Summaries as a run has them: numbers, windows, and the arrays that they come out in.
struct run_summary {
    uint32_t levels;
    const double *level;
    uint32_t windows;    // 0: there are no summaries
    const double *edges; // [windows + 1]
    bool windowed;       // there is an axis of windows
    uint32_t arrays;
    const struct result_more *array; // as they are asked for
    const struct summary_slot *slot; // [arrays], as the kernel counts them
};

// What the text of --summary asks for, in the arena; NULL where the text is.
shoal_code summaries_read(const char *text, struct model *m, struct arena *arena,
                          const struct summary_plan **out, struct report *r);
// The rest of it, which is not compiled in. `begin` is where the first window begins.
shoal_code summaries_lay(const struct summary_plan *p, double begin, double t1, double window,
                         struct arena *arena, struct run_summary *out, struct report *r);
// Whether states are saved beside them.
bool summaries_alone(const shoal_options *o);

#endif
