// SPDX-License-Identifier: MIT
// Records what a device did, in the time log of whoever started it.
#include "device/spans.h"

#include "device/device.h"
#include "device/launch.h"

#include <stdio.h>

LOG_SHARED_LABEL(device_memory, BUILD, 14, "memory for chunks, of the host and of the device");
LOG_SHARED_LABEL(kernel_launch, RUNTIME, 60, "the kernel, on one chunk");

bool spans_wanted(const shoal_log *log) { return log && log->recording; }

int32_t spans_begin(const struct spans *s, const struct log_label *label, uint64_t t0_ns,
                    uint64_t dur_ns) {
    shoal_log *log = s->log;
    uint64_t t0 = t0_ns > log->start_ns ? t0_ns - log->start_ns : 0;
    int32_t span = log_device(log, s->track, label, log->open, t0, dur_ns ? dur_ns : 1);
    if (s->launch)
        log_u64(log, span, "chunk_index", s->launch->chunk);
    return span;
}

void spans_copy(const struct spans *s, const struct shoal_piece *piece, uint64_t t0_ns,
                uint64_t dur_ns) {
    int32_t span = spans_begin(s, piece->label, t0_ns, dur_ns);
    log_nbytes(s->log, span, piece->bytes);
    if (s->launch) {
        const struct shoal_head *head = launch_head(s->launch);
        char slice[48];
        snprintf(slice, sizeof slice, "%llu:%llu", head->base, head->base + head->rows);
        log_text(s->log, span, "chunk_slice", slice);
        log_u64(s->log, span, "is_chunked", s->launch->chunked);
    }
    log_end(s->log, span);
}

void spans_kernel(const struct spans *s, uint64_t t0_ns, uint64_t dur_ns) {
    int32_t span = spans_begin(s, LOG_kernel_launch, t0_ns, dur_ns);
    log_u64(s->log, span, "numruns", launch_head(s->launch)->rows);
    log_f64(s->log, span, "gpu_time_ms", (double)dur_ns * 1e-6);
    log_end(s->log, span);
}
