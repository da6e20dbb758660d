// SPDX-License-Identifier: MIT
// Kernel ABI: what the host hands to a kernel. Included by the host and by every kernel.
//
// `elem` is the kernel's number type (double or float). Times come as unevaluated pairs of elem,
// [2*i] the leading and [2*i+1] the trailing part (0 in f64). Inputs are one array `in`: the value
// of input i in row r is in[offset[i] + step[i]*r], step 0 for what is the same in all rows.
//
// All arrays lie in two blocks, one that is read and one that is written, so that a device with its
// own memory needs two buffers: it gets struct shoal_device_args, where an array is a byte offset
// in its block, and makes struct shoal_args of it. Whatever changes here changes SHOAL_ABI.
//
// A device's kernel is
//     shoal_kernel(struct shoal_device_args args, const char *in_block, char *out_block,
//                  unsigned *next, const volatile int *stop, char *workspace)
// in groups of threads that are a multiple of 32. Without refill a thread's row is its global
// number, and there are at least `rows` threads. With refill there are as many threads as can be
// resident; all their rows come from *next, which starts at 0 either way. `stop` may be NULL.
// `workspace` has the bytes per thread that the generator says, times the threads; NULL when 0.
#ifndef SHOAL_ABI
#define SHOAL_ABI 3

#ifndef SHOAL_ELEM
#define SHOAL_ELEM void
#endif
#ifndef GLOBAL // address space of arrays
#define GLOBAL
#endif
#ifndef SHOAL_U64 // 64 bits, wherever
#define SHOAL_U64 unsigned long long
#endif

#define SHOAL_FORMULA 0xffffffffu     // offset of an initial value that the model computes
#define SHOAL_NOWHERE (~(SHOAL_U64)0) // byte offset of an array that is not wanted

struct shoal_sizes {
    SHOAL_U64 base;       // row of the batch that row 0 of this chunk is
    unsigned rows;        // of this chunk
    unsigned block;       // rows a worker takes at a time
    unsigned refill;      // 1: a finished lane takes the next row at once
    unsigned keep_failed; // 1: a failed row keeps its last good values instead of NaN
    unsigned samples;     // on the save grid
    unsigned steps_saved; // 1: every accepted step is a sample, at values[sample_offset[row]...]
    unsigned fixed_steps; // number of steps of a fixed-step run
    unsigned has_dt0;     // 1: dt0 is the first step, else it is found automatically
    SHOAL_U64 max_steps;  // attempts; 0: no limit
    unsigned t_step;      // 0: t0 and t1 are the same for all rows, 1: one pair a row
    unsigned unused;
    SHOAL_U64 var_stride, row_stride, sample_stride; // of values, in elements
};

// Arrays that are read: name, type.
#define SHOAL_INPUTS(X)                                                                            \
    X(offset, unsigned) /* [parameters], then [states] initial values */                           \
    X(step, unsigned)                                                                              \
    X(in, SHOAL_ELEM)                                                                              \
    X(t0, SHOAL_ELEM) /* pairs; of row r: [2*r*t_step]; all in one direction */                    \
    X(t1, SHOAL_ELEM)                                                                              \
    X(settle, SHOAL_ELEM)       /* pair: no sample of a step before it (steps_saved) */            \
    X(save_t, SHOAL_ELEM)       /* pairs, in the direction of integration */                       \
    X(atol, SHOAL_ELEM)         /* [states] */                                                     \
    X(control, SHOAL_ELEM)      /* rtol, dt, dt_lo, dt0, dt_min, dt_max */                         \
    X(sample_offset, SHOAL_U64) /* steps_saved: [rows + 1]; may be NULL */

// Arrays that are written; all but status and totals may be NULL: not wanted.
#define SHOAL_OUTPUTS(X)                                                                           \
    X(values, SHOAL_ELEM)    /* (var, row, sample), by strides; NULL: count only */                \
    X(t, SHOAL_ELEM)         /* pairs: time reached; steps_saved: of each sample */                \
    X(status, unsigned char) /* [rows] */                                                          \
    X(steps, unsigned)       /* [rows] accepted */                                                 \
    X(rejected, unsigned)    /* [rows] */                                                          \
    X(saved, unsigned)       /* [rows] samples of a row, where steps are saved */                  \
    X(f_evals, SHOAL_U64)    /* [rows] */                                                          \
    X(totals, SHOAL_U64)     /* [TOTAL_COUNT] sums over the rows that ended: added to */

struct shoal_args {
    struct shoal_sizes z;
#define X(name, type) const GLOBAL type *name;
    SHOAL_INPUTS(X)
#undef X
#define X(name, type) GLOBAL type *name;
    SHOAL_OUTPUTS(X)
#undef X
    GLOBAL unsigned *next;           // work counter, atomic
    const GLOBAL volatile int *stop; // non-zero: leave; may be NULL on a device
    GLOBAL void *workspace;          // of this worker; large systems live here
};

struct shoal_device_args {
    struct shoal_sizes z;
#define X(name, type) SHOAL_U64 name;
    SHOAL_INPUTS(X)
    SHOAL_OUTPUTS(X)
#undef X
};

enum {
    CONTROL_RTOL,
    CONTROL_DT,
    CONTROL_DT_LO,
    CONTROL_DT0,
    CONTROL_DT_MIN,
    CONTROL_DT_MAX,
    CONTROL_COUNT
};
enum {
    TOTAL_STEPS,
    TOTAL_REJECTED,
    TOTAL_F_EVALS,
    TOTAL_TAKEN, // rows that failed or are stiff, where another method takes them over
    TOTAL_COUNT
};

#define SHOAL_ROW_PENDING 255 // status of a row that was not finished
#define SHOAL_ROW_STIFF 254   // of one that was found stiff: another method is to run it

#endif
