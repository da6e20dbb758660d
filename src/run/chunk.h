// SPDX-License-Identifier: MIT
// The arrays of one chunk, and the kernel's arguments that point into them.
#ifndef SHOAL_RUN_CHUNK_H
#define SHOAL_RUN_CHUNK_H

#include "run/run.h"

#include "../kernels/abi.h"

struct chunk {
    struct shoal_args args;
    uint32_t rows_most;
    size_t elem;             // bytes of a number
    uint32_t inputs;         // varying inputs
    unsigned *offset, *step; // [parameters + states]
    void *in;                // uniform values, then one array an input
    double **number;         // [columns] as the sink sees them; f64 inputs are shared with `in`
    const char ***text;      // [columns], NULL for numbers
    uint64_t *run;
    void *t0, *t1, *settle, *save_t, *atol, *control; // in the kernel's type
    void *values, *t_pairs;
    double *t;             // as the sink sees it
    uint64_t *offsets;     // samples of rows, where steps are saved
    uint64_t samples_room; // SINK_STEPS: how many samples `values` has room for
    unsigned char *status;
    unsigned *steps, *rejected, *saved;
    unsigned long long *f_evals;
    struct arena arena; // owns all but what grows (values, t_pairs, t of SINK_STEPS)
};

// Bytes a row takes in memory; steps are counted with `samples_guess`.
uint64_t chunk_row_bytes(const struct run_setup *s, const struct batch *b);

shoal_code chunk_init(struct chunk *c, const struct run_setup *s, const struct batch *b,
                      uint32_t rows, struct report *r);
void chunk_free(struct chunk *c);
// Inputs of the rows from `first_row` on.
void chunk_fill(struct chunk *c, const struct run_setup *s, const struct batch *b,
                uint64_t first_row, uint32_t rows);
// SINK_STEPS, between the counting and the saving pass: offsets from the counts, and room.
shoal_code chunk_make_room(struct chunk *c, const struct run_setup *s, struct report *r);
// What the sink sees of the first `rows` rows.
struct sink_chunk chunk_view(struct chunk *c, const struct run_setup *s, uint64_t first_row,
                             uint32_t rows);

#endif
