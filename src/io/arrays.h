// SPDX-License-Identifier: MIT
// The arrays of a binary result file, and how chunks become pieces of them.
//
// NPZ and HDF5 hold the same arrays; this is the one list of them. A chunk is handed on piece by
// piece, each piece a box of one array in C order, dense in memory, so that a format only writes.
// What lies dense in the chunk already is not copied; the rest goes through a small buffer.
#ifndef SHOAL_IO_ARRAYS_H
#define SHOAL_IO_ARRAYS_H

#include "result/sink.h"

enum array_type { ARRAY_U1, ARRAY_U4, ARRAY_U8, ARRAY_F4, ARRAY_F8, ARRAY_TEXT };

enum array_axes {
    AXES_ROWS,    // [rows]
    AXES_SAMPLES, // [rows][samples]
    AXES_FLAT,    // [samples of all runs]: SINK_STEPS
    AXES_OFFSETS, // [rows + 1]: where each run begins in those, and their end
};

enum array_source {
    FROM_RUN,
    FROM_COLUMN,
    FROM_T,
    FROM_VALUES,
    FROM_STATUS,
    FROM_STEPS,
    FROM_REJECTED,
    FROM_F_EVALS,
    FROM_OFFSETS,
};

struct array {
    char *name; // as in the file
    enum array_type type;
    enum array_axes axes;
    enum array_source source;
    uint32_t index; // of the column or variable
};

struct arrays {
    struct array *items;
    uint32_t count;
    enum sink_shape shape;
    uint64_t rows;    // announced
    uint64_t samples; // of a row: SINK_SERIES; else 1
    double *times;    // SINK_SERIES: [samples], a copy
    char *meta;       // a copy
    uint64_t rows_done, flat_done;
    void *buffer;
};

// A box of an array: rows [row, row + rows) by samples [sample, sample + samples). Arrays of one
// axis have one sample.
struct piece {
    const void *data; // numbers, or const char *const * for ARRAY_TEXT
    uint64_t row, rows, sample, samples;
};

typedef shoal_code array_put(void *user, uint32_t array, const struct piece *p, struct report *r);

uint32_t array_type_bytes(enum array_type type); // 0 for text
// Bytes of all numbers of the result; what is not known before (steps, text) counts nothing.
uint64_t arrays_bytes(const struct sink_shape_info *info);

// `file` is for messages.
shoal_code arrays_begin(struct arrays *a, const struct sink_shape_info *info, const char *file,
                        struct report *r);
shoal_code arrays_chunk(struct arrays *a, const struct sink_chunk *c, array_put *put, void *user,
                        struct report *r);
void arrays_free(struct arrays *a);

#endif
