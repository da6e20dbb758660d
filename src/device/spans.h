// SPDX-License-Identifier: MIT
// Spans of devices in the time log: one track a stream, queue or worker, recorded after the fact,
// with times of clock_ns.
#ifndef SHOAL_DEVICE_SPANS_H
#define SHOAL_DEVICE_SPANS_H

#include "log/log.h"
#include "shoal/backend.h"

LOG_DECLARE_LABEL(device_memory);

struct spans {
    shoal_log *log;
    const char *track;
    const struct shoal_launch *launch; // NULL: of a resident block
};

bool spans_wanted(const shoal_log *log); // may be NULL
// The span of a kernel without its rows, or of anything else; for metadata, until log_end.
int32_t spans_begin(const struct spans *s, const struct log_label *label, uint64_t t0_ns,
                    uint64_t dur_ns);
void spans_kernel(const struct spans *s, uint64_t t0_ns, uint64_t dur_ns);
void spans_copy(const struct spans *s, const struct shoal_piece *piece, uint64_t t0_ns,
                uint64_t dur_ns);

#endif
