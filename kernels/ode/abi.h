// SPDX-License-Identifier: MIT
// Kernel ABI: what the host hands to a kernel. Included by the host and by every kernel.
//
// `elem` is the kernel's number type (double or float). Times come as unevaluated pairs of elem,
// [2*i] the leading and [2*i+1] the trailing part (0 in f64). Inputs are one array `in`: the value
// of input i in row r is in[offset[i] + step[i]*r], step 0 for what is the same in all rows.
//
// The kernel, shoal_kernel, is given struct shoal_call as dialect/head.h says, and makes struct
// shoal_args of it, in which arrays are pointers. Whatever changes here changes SHOAL_ABI.
#ifndef SHOAL_ABI
#define SHOAL_ABI 7

#ifndef SHOAL_HEAD // a kernel has it before this
#include "../dialect/head.h"
#endif
#ifndef SHOAL_ELEM
#define SHOAL_ELEM void
#endif

#define SHOAL_FORMULA 0xffffffffu // offset of an initial value that the model computes
#define SHOAL_LENGTHS 54

struct shoal_sizes {
    unsigned keep_failed; // 1: a failed row keeps its last good values instead of NaN
    unsigned samples;     // on the save grid
    unsigned steps_saved; // 1: every accepted step is a sample, at values[sample_offset[row]...];
                          // the kernel of a device is compiled for it (saves_steps)
    unsigned fixed_steps; // number of steps of a fixed-step run
    unsigned has_dt0;     // 1: dt0 is the first step, else it is found automatically
    unsigned windows;     // of summaries; 0: there are none
    unsigned t_step;      // 0: t0 and t1 are the same for all rows, 1: one pair a row
    SHOAL_U64 max_steps;  // attempts; 0: no limit
    SHOAL_U64 var_stride, row_stride, sample_stride; // of values, in elements
    SHOAL_U64 length[SHOAL_LENGTHS]; // bits of elems, of explicit fixed steps: dt, signed, and
                                     // what codegen_lengths makes of it
};

// The arrays: block, name, type. Those that are written, all but status and totals, may be NULL:
// not wanted.
#define SHOAL_ARRAYS(X)                                                                            \
    X(read, offset, unsigned) /* [parameters], then [states] initial values */                     \
    X(read, step, unsigned)                                                                        \
    X(read, in, SHOAL_ELEM)                                                                        \
    X(read, t0, SHOAL_ELEM) /* pairs; of row r: [2*r*t_step]; all in one direction */              \
    X(read, t1, SHOAL_ELEM)                                                                        \
    X(read, settle, SHOAL_ELEM)       /* pair: no sample of a step before it (steps_saved) */      \
    X(read, save_t, SHOAL_ELEM)       /* pairs, in the direction of integration */                 \
    X(read, atol, SHOAL_ELEM)         /* [states], neither tiny nor huge */                        \
    X(read, control, SHOAL_ELEM)      /* rtol, dt, dt_lo, dt0, dt_min, dt_max */                   \
    X(read, sample_offset, SHOAL_U64) /* steps_saved: [rows + 1]; may be NULL */                   \
    X(read, levels, SHOAL_ELEM)       /* pairs: numbers of summaries, as they count them */        \
    X(read, edges, SHOAL_ELEM)        /* pairs: of the windows of summaries, [windows + 1] */      \
    X(read, slots, SHOAL_U64)         /* of summaries: first element, and how many a window has */ \
    X(read, doses, SHOAL_ELEM)        /* quadruples, see dose.h; may be NULL */                    \
    X(read, dose_offset, unsigned)    /* of each row its first, and the one behind its last */     \
    X(read, records, unsigned)        /* of each: first element of a run, and how many times */    \
    X(written, record, SHOAL_ELEM)    /* (element of a run, row), the last fastest */              \
    X(read, driver_row, unsigned)     /* [signals][rows] which of its samples; NULL: the first */  \
    X(resident, signal, SHOAL_U64)    /* [signals] first record, then SIGNAL_WORDS for each */     \
    X(resident, driver, SHOAL_ELEM)   /* heads, coefficients, knots and pieces of signals */       \
    X(written, values, SHOAL_ELEM)    /* (var, row, sample), by strides; NULL: count only */       \
    X(written, summary, SHOAL_ELEM)   /* (element of a run, row), the last fastest */              \
    X(written, t, SHOAL_ELEM)         /* pairs: time reached; steps_saved: of each sample */       \
    X(written, status, unsigned char) /* [rows] */                                                 \
    X(written, steps, unsigned)       /* [rows] accepted */                                        \
    X(written, rejected, unsigned)    /* [rows] */                                                 \
    X(written, saved, unsigned)       /* [rows] samples of a row, where steps are saved */         \
    X(written, f_evals, SHOAL_U64)    /* [rows] */                                                 \
    X(written, newton_iterations, unsigned) /* [rows] these five with COUNTERS */                  \
    X(written, rejected_error, unsigned)    /* rejected steps, by reason */                        \
    X(written, rejected_newton, unsigned)                                                          \
    X(written, rejected_nonfinite, unsigned)                                                       \
    X(written, rejected_singular, unsigned)                                                        \
    X(written, totals, SHOAL_U64) /* [TOTAL_COUNT] sums over the rows that ended: added to */

// A record of `signal`: where in `driver` something begins, and how many pieces there are.
enum {
    SIGNAL_HEAD,
    SIGNAL_COEFFICIENTS,
    SIGNAL_KNOTS,
    SIGNAL_PIECES, // behind a piece whose end is the beginning of the first
    SIGNAL_PIECE_COUNT,
    SIGNAL_WORDS
};
// A head; and a piece, which ends where the next begins (kernels/ode/driver_lanes.h).
enum {
    SIGNAL_FIRST, // time, or argument
    SIGNAL_INVERSE,
    SIGNAL_LOW,
    SIGNAL_HIGH,
    SIGNAL_PERIOD, // pair
    SIGNAL_HEAD_NUMBERS = 8
};
enum {
    PIECE_END, // pair
    PIECE_VALUE = 2,
    PIECE_LOW = 2,
    PIECE_FIRST = 2, // interval, as an integer of the same size
    PIECE_HIGH = 3,
    PIECE_NUMBERS
};
enum { SIGNAL_BLOCK = 32 }; // intervals of a piece, where distances are not equal

#define SHOAL_CONST_read const
#define SHOAL_CONST_written
#define SHOAL_CONST_resident const

// What the host hands over: arrays are byte offsets in their blocks.
struct shoal_call {
    struct shoal_head head;
    struct shoal_sizes z;
#define X(block, name, type) SHOAL_U64 name;
    SHOAL_ARRAYS(X)
#undef X
};

struct shoal_args {
    struct shoal_head head;
    struct shoal_sizes z;
#define X(block, name, type) SHOAL_CONST_##block GLOBAL type *name;
    SHOAL_ARRAYS(X)
#undef X
    GLOBAL unsigned *next;           // work counter, atomic
    const GLOBAL volatile int *stop; // non-zero: leave; may be NULL on a device
};

#ifdef INLINE // in a kernel
INLINE void args_make(struct shoal_args *a, const struct shoal_call *call, const GLOBAL char *read,
                      GLOBAL char *written, const GLOBAL char *resident) {
    (void)resident;
    a->head = call->head;
    a->z = call->z;
#define X(block, name, type)                                                                       \
    a->name =                                                                                      \
        call->name == SHOAL_NOWHERE ? 0 : (SHOAL_CONST_##block GLOBAL type *)(block + call->name);
    SHOAL_ARRAYS(X)
#undef X
}
#endif

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
