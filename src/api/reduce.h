// SPDX-License-Identifier: MIT
// A sink that keeps statistics over runs, and hands them to another sink as rows of groups.
#ifndef SHOAL_API_REDUCE_H
#define SHOAL_API_REDUCE_H

#include "base/team.h"
#include "ode/batch/batch_axes.h"
#include "result/reduce_list.h"
#include "result/sink.h"

struct reduce_order {
    const struct reduce_spec *spec;
    const char *by;  // names, or NULL
    uint64_t memory; // bytes it may take; 0: as this machine has it
    uint32_t threads;
    struct team **team;
};

// What a reduction comes to: groups, list of arrays, bytes. More than memory allows is an error.
struct reduce_plan {
    struct batch_by by;
    struct table columns;
    struct reduce_list list;
    uint64_t bytes;
};
shoal_code reduce_plan_make(const struct reduce_order *o, const struct batch *b,
                            const struct result_list *list, struct arena *arena,
                            struct reduce_plan *out, struct report *r);

// A sink in front of `to`, which it does not free; NULL: out of memory. Where `to` was to keep a
// journal, this one keeps it instead (io/snapshot.h).
struct sink *reduce_sink_new(const struct reduce_order *o, const struct batch *b, struct sink *to);
// States of rows of the batch that somebody else ran, of which a journal is read up to the end of
// its head; after `begin`.
struct journal_reader;
shoal_code reduce_sink_load(struct sink *sink, struct journal_reader *d, struct sink_there *there,
                            struct report *r);

#endif
