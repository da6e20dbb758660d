// SPDX-License-Identifier: MIT
// Where results go: a sink is told the list of arrays, gets chunks in run order, and is closed.
//
// Whoever runs calls begin once, chunk for each finished chunk, end once. Sinks are in src/io
// (files) and src/api (memory). All pointers of a chunk are borrowed for the call; the list stays
// until `end` is over, but need not be there any more for `free`.
#ifndef SHOAL_RESULT_SINK_H
#define SHOAL_RESULT_SINK_H

#include "base/report.h"
#include "result/result_list.h"

// Where a chunk has an array. Element (row, sample) is at row*row_stride + sample*sample_stride,
// and for AXES_WIDE a sample is an element of all its axes, the last one fastest; of one axis only,
// elements follow each other.
struct result_view {
    const void *data;                 // NULL: the array is not wanted, or known by the list
    size_t row_stride, sample_stride; // in elements; AXES_PER_SAMPLE, AXES_WIDE
};

// Whether the rows of an array are in their place in the file already (sink.place), and their
// checksum. The view then has no data.
struct result_there {
    bool is;
    uint32_t crc;
};

struct result_chunk {
    uint64_t first_row; // position among the rows, not the run index
    uint32_t rows;
    const uint64_t *offsets;          // SAMPLES_OWN: [rows + 1] of flat arrays, first is 0
    const struct result_view *view;   // one for each array of the list that is shown
    const struct result_there *there; // NULL: none is; or one for each array
};

// Where whoever asked for a result has an array, of all rows. Strides are in elements.
struct array_target {
    void *data; // NULL: nowhere
    size_t row_stride, sample_stride;
};

struct journal_order;
struct journal;

// Rows that an earlier run has left, from the first on, and how they ended.
struct sink_there {
    uint64_t rows;
    uint64_t by_status[SHOAL_STATUS_COUNT], first[SHOAL_STATUS_COUNT];
    uint64_t steps, rejected, f_evals;
};

struct sink {
    // May take back what the list says is wanted: that is not computed then, nor copied.
    shoal_code (*begin)(struct sink *s, struct result_list *list, struct report *r);
    shoal_code (*chunk)(struct sink *s, const struct result_chunk *c, struct report *r);
    // Makes the file whole under its own name. With complete == false (a stop) it holds the rows
    // that came, and says so in its metadata. Not called after an error: then only free is.
    shoal_code (*end)(struct sink *s, bool complete, struct report *r);
    // Also removes an unfinished .part file, or leaves it for a run that goes on.
    void (*free)(struct sink *s);
    // OPTIONAL: where the rows of an array begin in the file, once it has begun, for others that
    // write them there; *fd is the file, whose first bytes are free until the end.
    uint64_t (*place)(const struct sink *s, uint32_t array, int *fd);
    // OPTIONAL: the memory that `chunk` copies an array to, once it has begun. A device may write
    // rows there by itself, ahead of `chunk` and also such that are never handed on; a view that
    // lies in its place already is not copied.
    struct array_target (*memory)(const struct sink *s, uint32_t array);
    const struct journal_order *order; // set before `begin`: a journal is kept (io/journal.h)
    struct journal *journal;           // of a file: what is kept of it, if anything
    struct sink_there there;           // set by `begin`: the first chunk follows these rows
};

#endif
