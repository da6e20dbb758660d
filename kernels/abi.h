// SPDX-License-Identifier: MIT
// Kernel ABI: what the host hands to a kernel. Included by the host and by every kernel.
//
// `elem` is the kernel's number type (double or float). Times come as unevaluated pairs of elem,
// [2*i] the leading and [2*i+1] the trailing part (0 in f64). Inputs are one array `in`: the value
// of input i in row r is in[offset[i] + step[i]*r], step 0 for what is the same in all rows.
// Whatever changes here changes SHOAL_ABI.
#ifndef SHOAL_ABI
#define SHOAL_ABI 1

#ifndef SHOAL_ELEM
#define SHOAL_ELEM void
#endif

#define SHOAL_FORMULA 0xffffffffu // offset of an initial value that the model computes

struct shoal_args {
    unsigned long long base; // row of the batch that row 0 of this chunk is
    unsigned rows;           // of this chunk
    unsigned block;          // rows a worker takes at a time
    unsigned refill;         // 1: a finished lane takes the next row at once
    unsigned keep_failed;    // 1: a failed row keeps its last good values instead of NaN
    unsigned samples;        // on the save grid
    unsigned steps_saved;    // 1: every accepted step is a sample, at values[sample_offset[row]...]
    unsigned fixed_steps;    // number of steps of a fixed-step run
    unsigned has_dt0;        // 1: dt0 is the first step, else it is found automatically
    unsigned long long max_steps; // attempts; 0: no limit
    const unsigned *offset, *step; // [parameters], then [states] initial values
    const SHOAL_ELEM *in;
    const SHOAL_ELEM *t0, *t1;     // pairs; of row r: [2*r*t_step]; all rows in one direction
    unsigned t_step;
    const SHOAL_ELEM *settle;      // pair: no sample of a step before this time (steps_saved)
    const SHOAL_ELEM *save_t;      // pairs, in the direction of integration
    const SHOAL_ELEM *atol;        // [states]
    const SHOAL_ELEM *control;     // rtol, dt, dt_lo, dt0, dt_min, dt_max
    SHOAL_ELEM *values;            // (var, row, sample), strides in elements; NULL: count only
    unsigned long long var_stride, row_stride, sample_stride;
    const unsigned long long *sample_offset; // steps_saved: [rows + 1]
    SHOAL_ELEM *t;                 // pairs: time reached; steps_saved: of each sample
    unsigned char *status;         // [rows]
    unsigned *steps, *rejected;    // [rows]
    unsigned *saved;               // [rows] samples of a row, where steps are saved
    unsigned long long *f_evals;   // [rows]
    unsigned *next;                // work counter, atomic
    const int *stop;               // non-zero: leave
    SHOAL_ELEM *workspace;         // of this worker; large systems live here
};

enum { CONTROL_RTOL, CONTROL_DT, CONTROL_DT_LO, CONTROL_DT0, CONTROL_DT_MIN, CONTROL_DT_MAX,
       CONTROL_COUNT };

#define SHOAL_ROW_PENDING 255 // status of a row that was not finished

#endif
