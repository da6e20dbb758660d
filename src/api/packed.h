// SPDX-License-Identifier: MIT
// Some rows of a result as bytes, for another thread or process: what kernels made of them.
//
// A head, then the arrays of the list that a kernel writes (and offsets, where runs have samples of
// their own), one after the other, dense, each at a multiple of eight bytes. Run numbers, inputs
// and times that all runs share are known to whoever has the batch, and are not among them.
//
// Where who ran rows writes the numbers of variables and summaries to their place in the file
// itself, a checksum of eight bytes is there instead of each of these arrays.
//
// Bytes may come from anywhere: sizes, offsets and statuses are looked at before anything is taken
// from them.
#ifndef SHOAL_API_PACKED_H
#define SHOAL_API_PACKED_H

#include "api/solver.h"

enum { PACKED_JOB = 32 }; // bytes of a digest

// What rows took, as a tally counts it.
#define PACKED_COUNTS(X)                                                                           \
    X(steps) X(rejected) X(f_evals) X(found_stiff) X(failed_first) X(taken_back)

struct packed_head {
    uint64_t magic;
    unsigned char job[PACKED_JOB]; // the digest of what they are of
    uint64_t first, rows, samples; // rows of the batch; samples of their own that they have
#define X(name) uint64_t name;
    PACKED_COUNTS(X)
#undef X
};

// The digest of a job: rows of the same one may be put together.
shoal_code packed_job(const shoal_solver *s, const shoal_batch *b, unsigned char job[PACKED_JOB],
                      struct report *r);

// Whether an array is among the bytes.
bool packed_has(const struct result_array *a);

// A sink that hands on the rows of a run as bytes, those of `first` and behind it in the batch.
struct packed_order {
    const unsigned char *job; // [PACKED_JOB]
    const shoal_ranges *to;
    uint64_t first;
    const shoal_tally *tally; // of the run
    uint32_t threads;
    struct team **team;
};
struct sink *packed_sink_new(const struct packed_order *o); // NULL: out of memory

// Looks at bytes that should be rows of a list and a job; SHOAL_INPUT: they are not. view[i].data
// of those arrays that are there points into them.
// there[i] says which are in the file; `there` NULL: none may be.
shoal_code packed_open(const void *bytes, size_t length, const struct result_list *list,
                       const unsigned char job[PACKED_JOB], struct packed_head *head,
                       struct result_view *view, struct result_there *there, struct report *r);

// Whether an array may be in the file, and whether those of these rows are.
bool packed_may_be_there(const struct result_array *a);
bool packed_is_there(const struct packed_head *head);
// The bytes of rows whose numbers are there; false: out of memory.
bool packed_without(const struct packed_head *head, const struct result_list *list,
                    const struct result_view *view, const struct result_there *there,
                    struct buf *out);

#endif
