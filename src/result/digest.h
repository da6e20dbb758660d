// SPDX-License-Identifier: MIT
// A sink that keeps one number of a result: equal results have the same, whatever chunks they came
// in.
#ifndef SHOAL_RESULT_DIGEST_H
#define SHOAL_RESULT_DIGEST_H

#include "result/sink.h"

struct digest_sink {
    struct sink base;
    const struct result_list *list;
    bool looks; // else it wants no array but the status, for rows that are only timed
    uint64_t digest;
};

// Needs no free. Arrays of a length of their own in each row (SAMPLES_OWN) and texts do not count.
void digest_sink_init(struct digest_sink *s, bool looks);

#endif
